//! Descriptors beside the bytes of a message, `SCM_RIGHTS` of `unix(7)`.

use crate::by_reference::packets::DescriptorPort;
use crate::port::descriptors;
use ipcperf_core::{
    BackPressure, Direction, Family, KnobValue, Limit, Link, Mechanism, Meet, Memory, Missing,
    OnClose, Payload, Peers, Reach, Seat, SetupError, Shape, Spec, Syscalls, Wait, Wiring,
};
use ipcperf_sys::io::socket::{self, Kind};
use ipcperf_sys::io::wake::counter;

ipcperf_core::options! {
    /// Knobs of passing descriptors.
    pub struct FdPassOptions {
        /// Descriptors of each message; the kernel takes 253 at most (SCM_MAX_FD).
        pub fds: u64 = (1, "1", Count { min: 1, max: 253 }),
    }
}

impl FdPassOptions {
    fn count(&self) -> usize {
        usize::try_from(self.fds).unwrap_or(1)
    }
}

/// Descriptors under way in all. A user without CAP_SYS_RESOURCE may have as many as RLIMIT_NOFILE allows, which is 1024
/// by default, and other programs pass some too.
const UNDER_WAY: u64 = 512;

/// A socket pair that carries descriptors.
#[derive(Debug)]
pub struct FdPass;

impl Mechanism for FdPass {
    const SPEC: &'static Spec = &Spec {
        name: "fd-pass",
        variant: None,
        family: Family::ByReference,
        wait: Wait::Block,
        default: true,
        summary: "A UNIX sequenced-packet socket whose messages carry descriptors; the receiver counts and closes them.",
        manual: &["unix(7)", "sendmsg(2)", "recvmsg(2)", "cmsg(3)"],
        pitfalls: &[
            "Received descriptors must be closed, or the process runs out of them: one more system call for each.",
            "Without MSG_CMSG_CLOEXEC a program that is executed meanwhile inherits them.",
            "Descriptors under way count against RLIMIT_NOFILE of the user (ETOOMANYREFS), so a sender waits for credits here.",
            "A receiver with too little room for control messages loses the rest, and is told only by MSG_CTRUNC.",
        ],
        payload: Payload::Message { max: None },
        direction: Direction::TwoWay,
        reach: Reach::Related,
        producers: Peers::One,
        consumers: Peers::One,
        back_pressure: BackPressure::Blocks,
        on_close: OnClose::Told,
        on_death: OnClose::Told,
        descriptors: true,
        memory: Memory::Reused,
        copies: 2,
        syscalls: Syscalls { send: Some(1.0), recv: Some(2.0) },
        window: Some(UNDER_WAY as u32),
        needs: &["CONFIG_UNIX"],
    };
    type Options = FdPassOptions;
    type Port = DescriptorPort;

    fn probe(_: &FdPassOptions) -> Result<(), Missing> {
        let tried = socket::pair(Kind::SeqPacket).and_then(|_| counter::create());
        tried.map(drop).map_err(crate::missing)
    }

    fn limit(_: &FdPassOptions) -> Option<Limit> {
        let bytes = socket::largest_message(|| socket::pair(Kind::SeqPacket), None).ok()?;
        let raise = "sysctl net.core.wmem_default";
        Some(Limit { bytes, set_by: "SO_SNDBUF less 32 bytes", raise })
    }

    fn window(_: usize, options: &FdPassOptions) -> Option<u32> {
        let messages = UNDER_WAY.checked_div(options.fds).unwrap_or(1).max(1);
        u32::try_from(messages).ok()
    }

    fn open(_: &Shape, options: &FdPassOptions) -> Result<Link, SetupError> {
        let (lead, follow) = socket::pair(Kind::SeqPacket)?;
        // What is passed matters little; an event counter is small and has no peer.
        let (one, two) = counter::create()?;
        Ok(Link {
            lead: Wiring::of_fds([lead, one]),
            follow: Wiring::of_fds([follow, two]),
            guards: Vec::new(),
            effective: vec![("fd-pass.fds".into(), KnobValue::Number(options.fds))],
        })
    }

    fn attach(
        wiring: Wiring,
        _: Seat,
        shape: &Shape,
        options: &FdPassOptions,
        _: &mut dyn Meet,
    ) -> Result<Self::Port, SetupError> {
        let [own, object] = descriptors(wiring)?;
        DescriptorPort::new(own, object, options.count(), shape)
    }
}

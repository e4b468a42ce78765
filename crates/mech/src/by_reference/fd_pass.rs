//! Descriptors beside the bytes of a message, `SCM_RIGHTS` of `unix(7)`.

use crate::by_reference::BY_REFERENCE;
use crate::by_reference::packets::{DescriptorPort, Extras, UNDER_WAY};
use ipcperf_core::prelude::*;
use ipcperf_sys::io::socket::{self, Kind};

ipcperf_core::options! {
    /// Knobs of passing descriptors.
    pub struct FdPassOptions {
        /// Descriptors of each message; the kernel takes 253 at most (SCM_MAX_FD).
        pub fds: u64 = (1, "1", Count { min: 1, max: 253 }),
        /// Where both ends sleep: in the call that moves the message, or in select(2) before each.
        pub wait: String = ("block".into(), "block", Choice { words: &["block", "select"] }),
        /// Send buffer (SO_SNDBUF), which also limits the message; with it the socket stops the sender, and no credits do.
        pub sndbuf: Option<u64> = (None, "net.core.wmem_default (208K)", Bytes { min: 2048, max: 1 << 30 }),
    }
}

impl FdPassOptions {
    fn extras(&self) -> Extras {
        Extras { fds: self.fds, selects: self.wait == "select", sndbuf: self.sndbuf }
    }
}

/// A socket pair that carries descriptors.
#[derive(Debug)]
pub struct FdPass;

impl Mechanism for FdPass {
    const SPEC: &'static Spec = &Spec {
        name: "fd-pass",
        wait: Wait::Block,
        summary: "A UNIX sequenced-packet socket whose messages carry descriptors; the receiver counts and closes them.",
        manual: &["unix(7)", "sendmsg(2)", "recvmsg(2)", "cmsg(3)"],
        pitfalls: &[
            "Received descriptors must be closed, or the process runs out of them: one more system call for each.",
            "Without MSG_CMSG_CLOEXEC a program that is executed meanwhile inherits them.",
            "Descriptors in flight count against RLIMIT_NOFILE of the user (ETOOMANYREFS), so the sender waits for credits, with at most half of the limit in flight.",
            "A receiver with too little room for control messages loses the rest, which only MSG_CTRUNC shows.",
            "With wait=select each end makes one system call more than declared.",
        ],
        payload: Payload::Message { max: None },
        direction: Direction::TwoWay,
        reach: Reach::Related,
        producers: Peers::One,
        consumers: Peers::One,
        copies: 2,
        syscalls: Syscalls { send: Some(1.0), recv: Some(2.0) },
        window: Some(UNDER_WAY),
        needs: &["CONFIG_UNIX"],
        ..BY_REFERENCE
    };
    type Options = FdPassOptions;
    type Port = DescriptorPort;

    fn probe(options: &FdPassOptions) -> Result<(), Missing> {
        options.extras().probe(0)
    }

    fn limit(options: &FdPassOptions) -> Option<Limit> {
        let pair = || socket::pair(Kind::SeqPacket);
        let bytes = socket::largest_message(pair, options.sndbuf).ok()?;
        let raise = "--set fd-pass.sndbuf=BYTES, up to net.core.wmem_max";
        Some(Limit { bytes, set_by: "SO_SNDBUF less 32 bytes", raise })
    }

    fn window(_: usize, options: &FdPassOptions) -> Option<u32> {
        options.extras().window(0, UNDER_WAY)
    }

    fn open(_: &Shape, options: &FdPassOptions) -> Result<Link, SetupError> {
        let extras = options.extras();
        let ([lead, follow], sndbuf) = extras.open()?;
        Ok(extras.told(Link::of_fds(lead, follow), sndbuf))
    }

    fn attach(mut end: Attach<'_, FdPassOptions>) -> Result<Self::Port, SetupError> {
        let ends = end.descriptors()?;
        DescriptorPort::new(ends, end.options.extras(), end.shape)
    }
}

//! Anonymous files, `memfd_create(2)`: one made for each message and handed over, or a few that both ends keep.

use crate::budget;
use crate::by_reference::handover_port::{FreshMemory, HandoverPort};
use crate::by_reference::slotted_port::SlottedPort;
use crate::port::descriptors;
use ipcperf_core::{
    BackPressure, Direction, Family, KnobValue, Limit, Link, Mechanism, Meet, Memory, Missing,
    OnClose, Payload, Peers, Reach, Seat, SetupError, Shape, Spec, Syscalls, Wait, Wiring,
};
use ipcperf_sys::io::file::fresh;
use ipcperf_sys::io::memory::slots::Slots;
use ipcperf_sys::io::socket::{self, Kind};

ipcperf_core::options! {
    /// Knobs of anonymous files.
    pub struct MemfdOptions {
        /// Seals each file before it is sent, so that nobody can change it; a file that is kept, so that nobody can resize it.
        pub seal: bool = (true, "on", Flag),
    }
}

const LARGEST: Limit =
    Limit { bytes: fresh::LARGEST, set_by: "memory; this program stops at 1 GiB", raise: "" };

/// Bytes under way, and messages.
const UNDER_WAY: (usize, u32) = (64 << 20, 64);

fn needs_bytes(shape: &Shape) -> Result<(), SetupError> {
    if shape.size == 0 {
        let what = "an empty file cannot be mapped";
        return Err(Missing::new(what, "use a size of at least 1").into());
    }
    Ok(())
}

/// A fresh file for each message.
#[derive(Debug)]
pub struct Memfd;

impl Mechanism for Memfd {
    const SPEC: &'static Spec = &Spec {
        name: "memfd",
        variant: None,
        family: Family::ByReference,
        wait: Wait::Block,
        default: true,
        summary: "An anonymous file made, mapped, written and sealed for each message; its descriptor travels over a UNIX socket.",
        manual: &["memfd_create(2)", "mmap(2)", "fcntl_sealing(2)", "unix(7)"],
        pitfalls: &[
            "Page faults and the clearing of fresh pages cost more than a copy up to quite large messages.",
            "Without seals the sender can still change, or shorten, what the receiver reads; a shortened file ends the reader by SIGBUS.",
            "A receiver that does not trust its sender also asks for size and seals, two more system calls; here both ends know them.",
            "What is under way takes memory, not room in the socket, so a sender waits for credits here.",
        ],
        payload: Payload::Message { max: Some(LARGEST) },
        direction: Direction::TwoWay,
        reach: Reach::Related,
        producers: Peers::One,
        consumers: Peers::One,
        back_pressure: BackPressure::Blocks,
        on_close: OnClose::Told,
        on_death: OnClose::Told,
        descriptors: true,
        memory: Memory::Fresh,
        copies: 0,
        // memfd_create, ftruncate, mmap, munmap, fcntl (seals), sendmsg, close; recvmsg, mmap, munmap, close.
        syscalls: Syscalls { send: Some(7.0), recv: Some(4.0) },
        window: Some(UNDER_WAY.1),
        needs: &["memfd_create (Linux 3.17)"],
    };
    type Options = MemfdOptions;
    type Port = HandoverPort<FreshMemory>;

    fn probe(_: &MemfdOptions) -> Result<(), Missing> {
        fresh::try_memfd()
            .and_then(|()| socket::pair(Kind::SeqPacket))
            .map(drop)
            .map_err(crate::missing)
    }

    fn window(size: usize, _: &MemfdOptions) -> Option<u32> {
        Some(budget::messages(size, UNDER_WAY.0, UNDER_WAY.1))
    }

    fn open(shape: &Shape, options: &MemfdOptions) -> Result<Link, SetupError> {
        needs_bytes(shape)?;
        let messages = budget::messages(shape.size, UNDER_WAY.0, UNDER_WAY.1) as usize;
        budget::memory(
            shape.size.saturating_mul(messages),
            "messages under way",
            "smaller messages",
        )?;
        let (lead, follow) = socket::pair(Kind::SeqPacket)?;
        Ok(Link {
            lead: Wiring::of_fds([lead]),
            follow: Wiring::of_fds([follow]),
            guards: Vec::new(),
            effective: vec![("memfd.seal".into(), KnobValue::Flag(options.seal))],
        })
    }

    fn attach(
        wiring: Wiring,
        _: Seat,
        shape: &Shape,
        options: &MemfdOptions,
        _: &mut dyn Meet,
    ) -> Result<Self::Port, SetupError> {
        let [own] = descriptors(wiring)?;
        Ok(HandoverPort::new(own, FreshMemory { seal: options.seal }, shape))
    }
}

/// Slots of files that both ends keep mapped, beyond the window: credits that nobody has asked for may still wait.
const SPARE: usize = 4;
/// Bytes of the slots of one direction, and the window.
const KEPT: (usize, u32) = (8 << 20, 64);

fn slots(size: usize) -> usize {
    budget::messages(size, KEPT.0, KEPT.1) as usize + SPARE
}

/// A file for each direction that both ends keep mapped.
#[derive(Debug)]
pub struct MemfdReuse;

impl Mechanism for MemfdReuse {
    const SPEC: &'static Spec = &Spec {
        name: "memfd",
        variant: Some("reuse"),
        family: Family::ByReference,
        wait: Wait::Block,
        default: false,
        summary: "Slots in anonymous files that both ends keep mapped; the number of a slot travels over a UNIX socket.",
        manual: &["memfd_create(2)", "mmap(2)", "unix(7)"],
        pitfalls: &[
            "Slots are used in turn and nothing in the mechanism guards them: a sender waits for the receiver's credits, which come after it has looked, and there are more slots than messages may be under way.",
            "The receiver reads in place and must be done before it gives the credit.",
            "Files in use cannot be sealed against writing, so a sender that writes wildly changes what is being read.",
        ],
        payload: Payload::Message { max: Some(LARGEST) },
        direction: Direction::TwoWay,
        reach: Reach::Related,
        producers: Peers::One,
        consumers: Peers::One,
        back_pressure: BackPressure::Blocks,
        on_close: OnClose::Told,
        on_death: OnClose::Told,
        descriptors: true,
        memory: Memory::Reused,
        copies: 0,
        syscalls: Syscalls { send: Some(1.0), recv: Some(1.0) },
        window: Some(KEPT.1),
        needs: &["memfd_create (Linux 3.17)"],
    };
    type Options = MemfdOptions;
    type Port = SlottedPort;

    fn probe(options: &MemfdOptions) -> Result<(), Missing> {
        if !options.seal {
            let what =
                "files that both ends keep mapped are always sealed against a change of size";
            return Err(Missing::new(what, "memfd.seal=on, or memfd without /reuse"));
        }
        Memfd::probe(options)
    }

    fn window(size: usize, _: &MemfdOptions) -> Option<u32> {
        Some(budget::messages(size, KEPT.0, KEPT.1))
    }

    fn open(shape: &Shape, options: &MemfdOptions) -> Result<Link, SetupError> {
        let count = slots(shape.size);
        let bytes = Slots::bytes(shape.size, count).saturating_mul(2);
        budget::memory(bytes, "slots", "smaller messages")?;
        let (lead, follow) = socket::pair(Kind::SeqPacket)?;
        let [ping_rx, ping_tx] = Slots::create(shape.size, count)?;
        let [pong_rx, pong_tx] = Slots::create(shape.size, count)?;
        Ok(Link {
            lead: Wiring::of_fds([lead, pong_rx, ping_tx]),
            follow: Wiring::of_fds([follow, ping_rx, pong_tx]),
            guards: Vec::new(),
            effective: vec![("memfd.seal".into(), KnobValue::Flag(options.seal))],
        })
    }

    fn attach(
        wiring: Wiring,
        _: Seat,
        shape: &Shape,
        _: &MemfdOptions,
        _: &mut dyn Meet,
    ) -> Result<Self::Port, SetupError> {
        let [own, rx, tx] = descriptors(wiring)?;
        let slots = |fd| Slots::attach(fd, shape.size, slots(shape.size));
        Ok(SlottedPort::new(own, slots(rx)?, slots(tx)?))
    }
}

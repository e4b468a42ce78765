//! Anonymous files, `memfd_create(2)`: one made for each message and handed over, or a few that both ends keep.

use crate::budget;
use crate::by_reference::BY_REFERENCE;
use crate::by_reference::handover_port::{
    AnonymousFile, FreshMemory, HandoverPort, Origin, UnnamedFile,
};
use crate::by_reference::packets::Extras;
use crate::port::{fault, whole};
use ipcperf_core::prelude::*;
use ipcperf_sys::io::file::fresh;
use ipcperf_sys::io::memory::slots::Slots;
use ipcperf_sys::io::socket::{self, Kind};
use ipcperf_sys::io::{datagram, errno};
use std::os::fd::{AsFd, OwnedFd};

ipcperf_core::options! {
    /// Knobs of anonymous files.
    pub struct MemfdOptions {
        /// Seals each file before it is sent, so that nobody can change it; a file that is kept, so that nobody can resize it.
        pub seal: bool = (true, "on", Flag),
        /// How both ends reach what is in a file: mapped, or written and read like any other file.
        pub access: String = ("map".into(), "map", Choice { words: &["map", "write"] }),
        /// Further descriptors of each message, which the receiver closes.
        pub fds: u64 = (0, "0", Count { min: 0, max: 252 }),
        /// Where both ends sleep: in the call that moves the message, or in select(2) before each.
        pub wait: String = ("block".into(), "block", Choice { words: &["block", "select"] }),
        /// Send buffer (SO_SNDBUF); with it the socket stops the sender, and no credits do.
        pub sndbuf: Option<u64> = (None, "net.core.wmem_default (208K)", Bytes { min: 2048, max: 1 << 30 }),
    }
}

impl MemfdOptions {
    fn extras(&self) -> Extras {
        Extras { fds: self.fds, selects: self.wait == "select", sndbuf: self.sndbuf }
    }

    fn told(&self, link: Link, sndbuf: u64) -> Link {
        let link = link.granted("seal", self.seal).granted("access", &self.access);
        self.extras().told(link, sndbuf)
    }
}

const MESSAGES: Payload = Payload::up_to(fresh::LARGEST, "memory; this program stops at 1 GiB");

/// Bytes under way, and messages.
const UNDER_WAY: (usize, u32) = (64 << 20, 64);

/// A fresh file for each message.
#[derive(Debug)]
pub struct Memfd;

impl Mechanism for Memfd {
    const SPEC: &'static Spec = &Spec {
        name: "memfd",
        wait: Wait::Block,
        summary: "An anonymous file made, mapped, written and sealed for each message; its descriptor travels over a UNIX socket.",
        manual: &["memfd_create(2)", "mmap(2)", "fcntl_sealing(2)", "unix(7)"],
        pitfalls: &[
            "Page faults and clearing fresh pages cost more than a copy up to quite large messages.",
            "Without seals the sender can still change, or shorten, what the receiver reads; a shortened file ends the reader by SIGBUS.",
            "A receiver that does not trust its sender also asks for size and seals, two more system calls; here both ends know them.",
            "Messages in flight take memory, not room in the socket, so the sender waits for credits.",
            "With access=write the calls are memfd_create, write, fcntl, sendmsg, close; recvmsg, lseek, read, close. With wait=select each end makes one more, and the receiver one for each of fds.",
        ],
        payload: MESSAGES,
        direction: Direction::TwoWay,
        reach: Reach::Related,
        producers: Peers::One,
        consumers: Peers::One,
        memory: Memory::Fresh,
        copies: 0,
        // memfd_create, ftruncate, mmap, munmap, fcntl (seals), sendmsg, close; recvmsg, mmap, munmap, close.
        syscalls: Syscalls { send: Some(7.0), recv: Some(4.0) },
        window: Some(UNDER_WAY.1),
        needs: &["memfd_create (Linux 3.17)"],
        ..BY_REFERENCE
    };
    type Options = MemfdOptions;
    type Port = HandoverPort<AnonymousFile>;

    fn probe(options: &MemfdOptions) -> Result<(), Missing> {
        fresh::try_memfd().map_err(crate::missing)?;
        options.extras().probe(1)
    }

    fn window(size: usize, options: &MemfdOptions) -> Option<u32> {
        options.extras().window(1, budget::messages(size, UNDER_WAY.0, UNDER_WAY.1))
    }

    fn lends(options: &MemfdOptions) -> [Lends; 2] {
        if options.access == "write" { [Lends::Buffer; 2] } else { [Lends::Shared; 2] }
    }

    fn open(shape: &Shape, options: &MemfdOptions) -> Result<Link, SetupError> {
        budget::not_empty(shape.size, "an empty file cannot be mapped")?;
        let messages = budget::messages(shape.size, UNDER_WAY.0, UNDER_WAY.1) as usize;
        budget::memory(
            shape.size.saturating_mul(messages),
            "messages under way",
            "smaller messages",
        )?;
        let ([lead, follow], sndbuf) = options.extras().open()?;
        Ok(options.told(Link::of_fds(lead, follow), sndbuf))
    }

    fn attach(mut end: Attach<'_, MemfdOptions>) -> Result<Self::Port, SetupError> {
        let ends = end.descriptors()?;
        let (seal, extras) = (end.options.seal, end.options.extras());
        let transfer = if end.options.access == "write" {
            AnonymousFile::Copied(UnnamedFile::new(Origin::Memory, seal, end.shape)?)
        } else {
            AnonymousFile::Mapped(FreshMemory { seal })
        };
        Ok(HandoverPort::new(ends, transfer, extras, end.shape))
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
        wait: Wait::Block,
        default: false,
        summary: "Slots in anonymous files that both ends keep mapped; the number of a slot travels over a UNIX socket.",
        manual: &["memfd_create(2)", "mmap(2)", "unix(7)"],
        pitfalls: &[
            "Slots are used in turn and nothing in the mechanism guards them: the sender waits for credits, which the receiver gives after it has read, and there are more slots than messages in flight.",
            "The receiver reads in place and must finish before it gives the credit.",
            "Files in use cannot be sealed against writing, so a sender that writes wildly changes data while it is read.",
        ],
        payload: MESSAGES,
        direction: Direction::TwoWay,
        reach: Reach::Related,
        producers: Peers::One,
        consumers: Peers::One,
        copies: 0,
        syscalls: Syscalls { send: Some(1.0), recv: Some(1.0) },
        window: Some(KEPT.1),
        needs: &["memfd_create (Linux 3.17)"],
        ..BY_REFERENCE
    };
    type Options = MemfdOptions;
    type Port = SlottedPort;

    fn probe(options: &MemfdOptions) -> Result<(), Missing> {
        if !options.seal {
            let what =
                "files that both ends keep mapped are always sealed against a change of size";
            return Err(Missing::new(what, "memfd.seal=on, or memfd without /reuse"));
        }
        let Extras { fds, selects, sndbuf } = options.extras();
        if options.access != "map" || fds > 0 || selects || sndbuf.is_some() {
            let what = "slots that both ends keep mapped go by a plain message and by credits";
            let how = "the defaults of memfd.access, fds, wait and sndbuf, or memfd without /reuse";
            return Err(Missing::new(what, how));
        }
        Memfd::probe(options)
    }

    fn window(size: usize, _: &MemfdOptions) -> Option<u32> {
        Some(budget::messages(size, KEPT.0, KEPT.1))
    }

    fn lends(_: &MemfdOptions) -> [Lends; 2] {
        [Lends::Shared; 2]
    }

    fn open(shape: &Shape, options: &MemfdOptions) -> Result<Link, SetupError> {
        let count = slots(shape.size);
        let bytes = Slots::bytes(shape.size, count).saturating_mul(2);
        budget::memory(bytes, "slots", "smaller messages")?;
        let (lead, follow) = socket::pair(Kind::SeqPacket)?;
        let sndbuf = socket::set_buffers(&lead, None, None)?.send;
        let [ping_rx, ping_tx] = Slots::create(shape.size, count)?;
        let [pong_rx, pong_tx] = Slots::create(shape.size, count)?;
        let link = Link::of_fds([lead, pong_rx, ping_tx], [follow, ping_rx, pong_tx]);
        Ok(options.told(link, sndbuf))
    }

    fn attach(mut end: Attach<'_, MemfdOptions>) -> Result<Self::Port, SetupError> {
        let [own, rx, tx] = end.descriptors()?;
        let slots = |fd| Slots::attach(fd, end.shape.size, slots(end.shape.size));
        Ok(SlottedPort::new(own, slots(rx)?, slots(tx)?))
    }
}

/// One end: a socket, the slots it looks at, and the slots it writes, in turn.
pub struct SlottedPort {
    socket: OwnedFd,
    rx: Slots,
    tx: Slots,
    next: usize,
}

impl SlottedPort {
    /// One socket for both directions, and slots for each.
    #[must_use]
    pub fn new(socket: OwnedFd, rx: Slots, tx: Slots) -> Self {
        Self { socket, rx, tx, next: 0 }
    }

    #[cold]
    #[inline(never)]
    fn send_again(&self, word: [u8; 8], first: Result<usize, i32>) -> Result<(), Fault> {
        whole(word.len(), first, || datagram::send(self.socket.as_fd(), &word))
    }

    #[cold]
    #[inline(never)]
    fn receive_again(&self, first: Result<usize, i32>) -> Result<[u8; 8], Fault> {
        let mut word = [0; 8];
        let (mut step, mut ended) = (first, false);
        loop {
            match step {
                Ok(8) => return Ok(word),
                Ok(0) if ended => return Err(Fault::Closed),
                // It may be told ahead of a message that came just before it; told again, nothing is left.
                Ok(0) => ended = true,
                Ok(_) => return Err(Fault::Truncated),
                // A peer that closes with unread messages of ours is reported once, ahead of the messages of its own
                // that still wait here.
                Err(errno::EINTR | errno::ECONNRESET) => {}
                Err(code) => return Err(fault(code)),
            }
            step = datagram::receive(self.socket.as_fd(), &mut word);
        }
    }
}

impl Port for SlottedPort {
    #[inline(always)]
    fn send(&mut self, len: usize, fill: impl FnOnce(&mut [u8])) -> Result<(), Fault> {
        let slot = self.next;
        fill(self.tx.write(slot, len).ok_or(Fault::TooLong)?);
        self.next = if slot + 1 < self.tx.count() { slot + 1 } else { 0 };
        // Messages are at most 1 GiB.
        let word = ((slot as u64) << 32 | len as u64).to_ne_bytes();
        let step = datagram::send(self.socket.as_fd(), &word);
        if step == Ok(word.len()) { Ok(()) } else { self.send_again(word, step) }
    }

    #[inline(always)]
    fn recv<T>(
        &mut self,
        len: usize,
        take: impl FnOnce(&[u8]) -> Result<T, Fault>,
    ) -> Result<T, Fault> {
        let mut word = [0; 8];
        let step = datagram::receive(self.socket.as_fd(), &mut word);
        if step != Ok(word.len()) {
            word = self.receive_again(step)?;
        }
        let word = u64::from_ne_bytes(word);
        if word & u64::from(u32::MAX) != len as u64 {
            return Err(Fault::Truncated);
        }
        take(self.rx.read((word >> 32) as usize, len).ok_or(Fault::Corrupt)?)
    }

    fn finish(&mut self) -> Result<(), Fault> {
        socket::shutdown_send(&self.socket).map_err(fault)
    }
}

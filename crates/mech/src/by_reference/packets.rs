//! One connected socket that keeps boundaries and carries descriptors, for messages that are about something else.

use crate::port::{fault, whole};
use ipcperf_core::units::counted;
use ipcperf_core::{Fault, Link, Missing, Port, SetupError, Shape};
use ipcperf_sys::io::epoll::Interest;
use ipcperf_sys::io::file::fresh::Handle;
use ipcperf_sys::io::socket::rights::{Incoming, Outgoing};
use ipcperf_sys::io::socket::{self, Kind};
use ipcperf_sys::io::wake::counter;
use ipcperf_sys::io::{Buffer, errno, select};
use ipcperf_sys::limits;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

/// What knobs say of a socket whose messages carry descriptors.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Extras {
    /// Descriptors of each message beside those that it is about.
    pub(crate) fds: u64,
    /// Both ends sleep in `select` before each message.
    pub(crate) selects: bool,
    /// Send buffer; the socket stops the sender then, and credits do not.
    pub(crate) sndbuf: Option<u64>,
}

/// Descriptors under way in all, at the most.
pub(crate) const UNDER_WAY: u32 = 512;

/// Descriptors under way in all: a user without CAP_SYS_RESOURCE may have as many as RLIMIT_NOFILE allows, and other
/// programs pass some too.
fn under_way() -> u32 {
    u32::try_from(limits::open_files() / 2).unwrap_or(u32::MAX).min(UNDER_WAY)
}

/// Files that an end has open beside those that it received.
const ENDS: u64 = 16;

impl Extras {
    /// Messages under way before a credit is needed, at most `most`, of which each is about `own` descriptors.
    pub(crate) fn window(self, own: u64, most: u32) -> Option<u32> {
        let each = u32::try_from(own + self.fds).unwrap_or(u32::MAX);
        let all = under_way();
        let all = all.checked_div(each).unwrap_or(all).max(1);
        self.sndbuf.is_none().then_some(most.min(all))
    }

    /// Whether this host lets such messages through, each about `own` descriptors: the receiver has all of them open.
    pub(crate) fn probe(self, own: u64) -> Result<(), Missing> {
        let each = own + self.fds;
        let what = format!("a receiver of {}", counted(each, "descriptor"));
        match limits::too_few_open_files(&what, each + ENDS) {
            Some(missing) => Err(missing),
            None => self.open().map(drop).map_err(crate::missing),
        }
    }

    /// The socket and the object that its descriptors name, for both ends; with the buffer that the kernel granted.
    pub(crate) fn open(self) -> Result<([[OwnedFd; 2]; 2], u64), SetupError> {
        let (lead, follow) = socket::pair(Kind::SeqPacket)?;
        let granted = socket::set_buffers(&lead, self.sndbuf, None)?.send;
        socket::set_buffers(&follow, self.sndbuf, None)?;
        // What is passed matters little; an event counter is small and has no peer.
        let (one, two) = counter::create()?;
        Ok(([[lead, one], [follow, two]], granted))
    }

    /// A link with what the knobs have become.
    pub(crate) fn told(self, link: Link, sndbuf: u64) -> Link {
        let wait = if self.selects { "select" } else { "block" };
        link.granted("fds", self.fds).granted("wait", &wait.to_owned()).granted("sndbuf", sndbuf)
    }
}

/// A sequenced-packet socket, and room for descriptors in both directions.
#[derive(Debug)]
pub(crate) struct Packets {
    socket: OwnedFd,
    /// What descriptors name that no message is about.
    _object: OwnedFd,
    outgoing: Outgoing,
    incoming: Incoming,
    /// Descriptors of each message.
    count: usize,
    selects: bool,
}

impl Packets {
    /// Each message is about `own` descriptors, which come first; all others name `object`.
    pub(crate) fn new([socket, object]: [OwnedFd; 2], own: usize, extras: Extras) -> Self {
        let count = own + usize::try_from(extras.fds).unwrap_or(0);
        let mut outgoing = Outgoing::new(count);
        outgoing.set(object.as_fd());
        let incoming = Incoming::default();
        Self { socket, _object: object, outgoing, incoming, count, selects: extras.selects }
    }

    /// Out of line: nobody pays for it who does not ask for it.
    #[cold]
    #[inline(never)]
    fn select(&self, interest: Interest) -> Result<(), Fault> {
        loop {
            match select::wait(self.socket.as_fd(), interest) {
                Ok(()) => return Ok(()),
                Err(errno::EINTR) => {}
                Err(code) => return Err(fault(code)),
            }
        }
    }

    /// Sends one message about `fd`.
    #[inline(always)]
    pub(crate) fn send_about(&mut self, message: &[u8], fd: BorrowedFd<'_>) -> Result<(), Fault> {
        self.outgoing.place(0, fd);
        self.send(message)
    }

    /// Sends one message.
    #[inline(always)]
    pub(crate) fn send(&mut self, message: &[u8]) -> Result<(), Fault> {
        if self.selects {
            self.select(Interest::Writable)?;
        }
        let step = self.outgoing.send(self.socket.as_fd(), message);
        if step == Ok(message.len()) { Ok(()) } else { self.send_again(message, step) }
    }

    #[cold]
    #[inline(never)]
    fn send_again(&mut self, message: &[u8], first: Result<usize, i32>) -> Result<(), Fault> {
        whole(message.len(), first, || self.outgoing.send(self.socket.as_fd(), message))
    }

    /// Receives one message of exactly the length of `into`.
    #[inline(always)]
    pub(crate) fn receive(&mut self, into: &mut [u8]) -> Result<(), Fault> {
        if self.selects {
            self.select(Interest::Readable)?;
        }
        let step = self.incoming.receive(self.socket.as_fd(), into);
        if step == Ok(into.len()) && !self.incoming.is_empty() {
            Ok(())
        } else {
            self.receive_again(into, step)
        }
    }

    #[cold]
    #[inline(never)]
    fn receive_again(&mut self, into: &mut [u8], first: Result<usize, i32>) -> Result<(), Fault> {
        let (mut step, mut ended) = (first, false);
        loop {
            match step {
                // The end brings neither bytes nor descriptors. Told once, it may be ahead of a message that came
                // just before it; told again, nothing is left.
                Ok(0) if self.incoming.is_empty() && ended => return Err(Fault::Closed),
                Ok(0) if self.incoming.is_empty() => ended = true,
                Ok(bytes) if bytes == into.len() => return Ok(()),
                Ok(_) => {
                    // The next message would take their place, and nobody would ever close them.
                    self.close();
                    return Err(Fault::Truncated);
                }
                // A peer that closes with unread messages of ours is reported once, ahead of the messages of its own
                // that still wait here.
                Err(errno::EINTR | errno::ECONNRESET) => {}
                Err(code) => return Err(fault(code)),
            }
            step = self.incoming.receive(self.socket.as_fd(), into);
        }
    }

    /// The descriptor that the last message is about; `None` unless as many came as were to come.
    #[inline(always)]
    pub(crate) fn take(&mut self) -> Option<Handle> {
        if self.is_whole() {
            self.incoming.take_next()
        } else {
            self.close();
            None
        }
    }

    #[inline(always)]
    fn is_whole(&self) -> bool {
        self.incoming.count() == self.count && !self.incoming.is_cut()
    }

    /// Closes what came with the last message and nobody took.
    #[inline(always)]
    pub(crate) fn close(&mut self) {
        self.incoming.close_all();
    }

    pub(crate) fn finish(&self) -> Result<(), Fault> {
        socket::shutdown_send(&self.socket).map_err(fault)
    }
}

/// Messages that carry descriptors beside their bytes. The receiver counts them and closes them.
pub struct DescriptorPort {
    packets: Packets,
    buffer: Buffer,
}

impl DescriptorPort {
    /// One socket for both directions, and what its descriptors name.
    ///
    /// # Errors
    /// There is no memory.
    pub(crate) fn new(
        ends: [OwnedFd; 2],
        extras: Extras,
        shape: &Shape,
    ) -> Result<Self, SetupError> {
        let buffer = Buffer::new(shape.size, shape.buffer_offset)?;
        Ok(Self { packets: Packets::new(ends, 0, extras), buffer })
    }
}

impl Port for DescriptorPort {
    #[inline(always)]
    fn send(&mut self, len: usize, fill: impl FnOnce(&mut [u8])) -> Result<(), Fault> {
        let message = self.buffer.get_mut(len).ok_or(Fault::TooLong)?;
        fill(message);
        self.packets.send(message)
    }

    #[inline(always)]
    fn recv<T>(
        &mut self,
        len: usize,
        take: impl FnOnce(&[u8]) -> Result<T, Fault>,
    ) -> Result<T, Fault> {
        let into = self.buffer.get_mut(len).ok_or(Fault::TooLong)?;
        self.packets.receive(into)?;
        let is_whole = self.packets.is_whole();
        self.packets.close();
        if is_whole { take(into) } else { Err(Fault::Truncated) }
    }

    fn finish(&mut self) -> Result<(), Fault> {
        self.packets.finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ipcperf_sys::io::{pipe, stream};

    #[test]
    fn what_came_with_a_message_of_another_length_is_closed() {
        let extras = Extras { fds: 0, selects: false, sndbuf: None };
        let ([lead, follow], _) = extras.open().expect("a pair");
        let [mut lead, mut follow] = [lead, follow].map(|ends| Packets::new(ends, 1, extras));
        let pipe = pipe::pair().expect("a pipe");
        pipe::set_nonblocking(&pipe.read).expect("a descriptor");
        lead.send_about(b"longer", pipe.write.as_fd()).expect("room");
        drop(pipe.write);
        // Under way it keeps the pipe open.
        assert_eq!(stream::read(pipe.read.as_fd(), &mut [0]), Err(errno::EAGAIN));
        assert_eq!(follow.receive(&mut [0; 3]), Err(Fault::Truncated));
        assert_eq!(stream::read(pipe.read.as_fd(), &mut [0]), Ok(0));
    }
}

//! Messages in slots that both ends keep mapped; a word about where each one lies travels over a socket.

use crate::port::fault;
use ipcperf_core::{Fault, Port};
use ipcperf_sys::io::memory::slots::Slots;
use ipcperf_sys::io::{datagram, errno, socket};
use std::os::fd::{AsFd, OwnedFd};

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
        let mut step = first;
        loop {
            match step {
                Ok(8) => return Ok(()),
                Ok(_) => return Err(Fault::Truncated),
                Err(errno::EINTR) => {}
                Err(code) => return Err(fault(code)),
            }
            step = datagram::send(self.socket.as_fd(), &word);
        }
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

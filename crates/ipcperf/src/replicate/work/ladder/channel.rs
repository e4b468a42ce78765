//! One end of what the ladder climbs over, with messages of any size. Whatever the carrier, the first four bytes of a
//! message and, from eight bytes on, its last four are its stamp, written by the sender and compared by the receiver.

use ipcperf_core::{Fault, Port};

/// Bytes of an acknowledgement, and of a credit.
pub(super) const ACK: usize = 4;

/// One end.
pub(super) trait Channel {
    /// Messages may be lost. Then a fault of what arrives means a loss, and the channel goes on after
    /// [`Channel::drain`].
    const LOSSY: bool = false;

    /// The end now sends so many messages in a row, before it expects an answer.
    fn outgoing(&mut self, _messages: u64, _len: usize) {}

    /// The peer now sends so many.
    fn incoming(&mut self, _messages: u64, _len: usize) {}

    /// Sends one message.
    fn send(&mut self, len: usize, stamp: u32) -> Result<(), Fault>;

    /// Receives one message.
    fn receive(&mut self, len: usize, stamp: u32) -> Result<(), Fault>;

    /// After a loss: takes away whatever is still under way.
    fn drain(&mut self) {}
}

/// Writes the stamp.
#[inline(always)]
pub(super) fn mark(message: &mut [u8], stamp: u32) {
    if let Some((first, rest)) = message.split_first_chunk_mut() {
        *first = stamp.to_le_bytes();
        if let Some(last) = rest.last_chunk_mut() {
            *last = stamp.to_le_bytes();
        }
    }
}

/// Compares the stamp.
#[inline(always)]
pub(super) fn check(message: &[u8], stamp: u32) -> Result<(), Fault> {
    let stamp = stamp.to_le_bytes();
    let is_there = message.split_first_chunk().is_none_or(|(first, rest)| {
        *first == stamp && rest.last_chunk().is_none_or(|last| *last == stamp)
    });
    if is_there { Ok(()) } else { Err(Fault::Corrupt) }
}

/// A carrier that takes a message of any size as it is.
pub(super) struct Whole<P> {
    port: P,
    /// Where a message is copied from. Empty where the carrier copies out of memory of this process by itself.
    source: Box<[u8]>,
}

impl<P: Port> Whole<P> {
    /// The kernel copies the message out of the port's own buffer.
    pub(super) fn copied_by_the_kernel(port: P) -> Self {
        Self { port, source: Box::default() }
    }

    /// The sender copies messages of up to `largest` bytes into memory that both ends map.
    pub(super) fn copied_by_the_sender(port: P, largest: usize) -> Self {
        Self { port, source: vec![0x5a; largest].into_boxed_slice() }
    }
}

impl<P: Port> Channel for Whole<P> {
    #[inline(always)]
    fn send(&mut self, len: usize, stamp: u32) -> Result<(), Fault> {
        let source = self.source.get(..len);
        self.port.send(len, |out| {
            if let Some(source) = source {
                out.copy_from_slice(source);
            }
            mark(out, stamp);
        })
    }

    #[inline(always)]
    fn receive(&mut self, len: usize, stamp: u32) -> Result<(), Fault> {
        self.port.recv(len, |message| check(message, stamp))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stamp_is_found_at_both_ends_and_only_the_right_one() {
        for (len, last) in [(4, 3), (5, 3), (8, 7), (64, 63)] {
            let mut message = vec![0; len];
            mark(&mut message, 0x0102_0304);
            assert_eq!(check(&message, 0x0102_0304), Ok(()));
            assert_eq!(check(&message, 0x0102_0305), Err(Fault::Corrupt));
            message[last] ^= 1;
            assert_eq!(check(&message, 0x0102_0304), Err(Fault::Corrupt));
        }
    }
}

//! Many operations under way at a time: receives and sends of a server over all its sockets.
//!
//! # Safety
//! The memory of an operation is a vector that this value owns from when the operation is asked for until it has completed:
//! nobody else can look at it or free it. What is under way when this value is dropped is left to the kernel for ever.

use super::{Ring, no_memory, refused, while_freed};
use crate::io::uring::Enter;
use io_uring::{opcode, squeue, types};
use ipcperf_core::SetupError;
use std::mem::ManuallyDrop;
use std::ops::Range;
use std::os::fd::{AsRawFd, BorrowedFd};

/// Operations of one socket that may be under way: a receive and a send.
const EACH: usize = 2;

/// A ring for the calling thread, and what is under way in it.
pub struct Operations {
    ring: Ring<Enter>,
    /// The memory of what is under way, by number of the socket, receive before send.
    lent: ManuallyDrop<Vec<Option<Vec<u8>>>>,
}

/// An operation that has completed.
#[derive(Debug)]
pub struct Completed {
    /// The number of the socket.
    pub number: usize,
    /// It was a send.
    pub is_send: bool,
    /// The memory that was lent to it.
    pub memory: Vec<u8>,
    /// Bytes moved, or the `errno`.
    pub result: Result<usize, i32>,
}

impl Operations {
    /// For so many sockets.
    ///
    /// # Errors
    /// `Unavailable` where the host does not allow it.
    pub fn new(sockets: usize) -> Result<Self, SetupError> {
        let most = EACH * sockets.max(1);
        let entries = u32::try_from(most.next_power_of_two()).unwrap_or(u32::MAX);
        let ring = while_freed(|| Ring::sized(entries)).map_err(|error| {
            // The completion queue has twice as many entries as the submission queue.
            let bytes = most.next_power_of_two()
                * (size_of::<squeue::Entry>() + 2 * size_of::<io_uring::cqueue::Entry>());
            match error.raw_os_error() {
                Some(libc::ENOMEM) => no_memory("the io_uring of a server", bytes as u64),
                _ => refused(&error),
            }
        })?;
        let mut lent = Vec::new();
        lent.resize_with(most, || None);
        Ok(Self { ring, lent: ManuallyDrop::new(lent) })
    }

    /// Whether this socket has a receive under way.
    #[inline]
    #[must_use]
    pub fn is_receiving(&self, number: usize) -> bool {
        self.lent.get(EACH * number).is_some_and(Option::is_some)
    }

    /// Whether this socket has a send under way.
    #[inline]
    #[must_use]
    pub fn is_sending(&self, number: usize) -> bool {
        self.lent.get(EACH * number + 1).is_some_and(Option::is_some)
    }

    /// Receives into `memory` from byte `from` on. One at a time for each socket.
    ///
    /// # Panics
    /// There is no such socket, it has a receive under way, or the memory is shorter.
    #[inline]
    pub fn receive(&mut self, number: usize, fd: BorrowedFd<'_>, memory: Vec<u8>, from: usize) {
        let to = memory.len();
        self.push(EACH * number, memory, from..to, |place, len| {
            opcode::Recv::new(types::Fd(fd.as_raw_fd()), place, len).build()
        });
    }

    /// Sends that part of `memory`. One at a time for each socket.
    ///
    /// # Panics
    /// There is no such socket, it has a send under way, or the memory has no such part.
    #[inline]
    pub fn send(&mut self, number: usize, fd: BorrowedFd<'_>, memory: Vec<u8>, part: Range<usize>) {
        self.push(EACH * number + 1, memory, part, |place, len| {
            opcode::Send::new(types::Fd(fd.as_raw_fd()), place, len).build()
        });
    }

    #[inline]
    fn push(
        &mut self,
        at: usize,
        mut memory: Vec<u8>,
        part: Range<usize>,
        entry: impl FnOnce(*mut u8, u32) -> squeue::Entry,
    ) {
        let place = &mut self.lent[at];
        assert!(place.is_none(), "one operation of a kind at a time");
        let bytes = &mut memory[part];
        let len = bytes.len().min(super::stream::LARGEST_OPERATION) as u32;
        let entry = entry(bytes.as_mut_ptr(), len).user_data(at as u64);
        // A vector that moves leaves its bytes where they are.
        *place = Some(memory);
        // SAFETY: see the module.
        let pushed = unsafe { self.ring.ring.submission().push(&entry) };
        assert!(pushed.is_ok(), "the queue has room for all that can be under way");
    }

    /// Hands over what was asked for, and sleeps until something has completed if `waits`.
    ///
    /// # Errors
    /// The `errno`.
    #[inline]
    pub fn enter(&mut self, waits: bool) -> Result<(), i32> {
        let asked = self.ring.ring.submission().len();
        match self.ring.enter(asked, usize::from(waits), super::GET_EVENTS) {
            // What was not taken yet is handed over the next time.
            Ok(_) | Err(libc::EINTR | libc::EAGAIN | libc::EBUSY) => Ok(()),
            Err(code) => Err(code),
        }
    }

    /// Takes one that has completed.
    #[inline]
    pub fn completed(&mut self) -> Option<Completed> {
        let entry = self.ring.ring.completion().next()?;
        let at = usize::try_from(entry.user_data()).ok()?;
        let memory = self.lent.get_mut(at)?.take()?;
        let result = usize::try_from(entry.result()).map_err(|_| entry.result().wrapping_neg());
        Some(Completed { number: at / EACH, is_send: at % EACH == 1, memory, result })
    }
}

impl Drop for Operations {
    fn drop(&mut self) {
        if self.lent.iter().all(Option::is_none) {
            // SAFETY: it is not used again, and nothing is under way.
            unsafe { ManuallyDrop::drop(&mut self.lent) };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::io::socket::{Kind, pair};
    use crate::io::stream;
    use std::os::fd::AsFd;

    #[test]
    fn each_completion_has_the_memory_and_the_number_of_what_was_asked_for() {
        let mut all = match Operations::new(3) {
            Err(SetupError::Unavailable(missing)) => {
                return crate::skipped::skipped("an io_uring", missing);
            }
            made => made.unwrap_or_else(|error| panic!("{error}")),
        };
        let pairs: Vec<_> = (0..3).map(|_| pair(Kind::Stream).expect("sockets")).collect();
        for (number, (near, _)) in pairs.iter().enumerate() {
            all.receive(number, near.as_fd(), vec![number as u8; 8], 2);
        }
        all.enter(false).expect("a ring");
        assert!(all.completed().is_none(), "nothing has come");
        all.send(1, pairs[1].0.as_fd(), b"question".to_vec(), 0..5);
        stream::write(pairs[2].1.as_fd(), b"abc").expect("room");
        let mut told = Vec::new();
        while told.len() < 2 {
            all.enter(true).expect("a ring");
            told.extend(std::iter::from_fn(|| all.completed()));
        }
        told.sort_by_key(|one| one.number);
        let [sent, came] = told.as_slice() else { panic!("{told:?}") };
        assert_eq!((sent.number, sent.is_send, &sent.result), (1, true, &Ok(5)));
        assert_eq!((came.number, came.is_send, &came.result), (2, false, &Ok(3)));
        assert_eq!(came.memory, *b"\x02\x02abc\x02\x02\x02");
        let mut heard = [0; 8];
        assert_eq!(stream::read(pairs[1].1.as_fd(), &mut heard), Ok(5));
        assert_eq!(&heard[..5], b"quest");
        drop(pairs);
        // Two receives are still under way; their sockets have closed.
        all.enter(true).expect("a ring");
        let ended = all.completed().expect("an end");
        assert!(!ended.is_send && matches!(ended.result, Ok(0)), "{ended:?}");
    }

    /// The memory of what is under way must outlive it: a sanitizer or the kernel's write would show it.
    #[test]
    fn what_is_under_way_at_the_end_is_left_to_the_kernel() {
        let Ok(mut all) = Operations::new(1) else { return };
        let (near, far) = pair(Kind::Stream).expect("sockets");
        all.receive(0, near.as_fd(), vec![0; 64], 0);
        all.enter(false).expect("a ring");
        drop(all);
        stream::write(far.as_fd(), &[7; 64]).expect("room");
    }
}

//! Locks with priority inheritance, `FUTEX_LOCK_PI` of `futex(2)`, handed from one process to another: three for each
//! direction.
//!
//! The sender always holds the lock that the receiver will want next. To wake it, the sender takes the lock after that
//! one and then gives up the one it held. Two locks would do for one wake-up at a time; with the third the sender never
//! meets the receiver at the lock it takes.
//!
//! A lock is a word: 0, or the number of the thread that holds it, with a bit if others wait. The kernel sees only locks
//! that somebody waits for.
//!
//! # Safety
//! The words are atomics inside a mapping that outlives every use of them. The kernel writes nothing but the word.

use crate::io::memory::shared::{Atomics, Shared};
use crate::io::raw;
use ipcperf_core::{Seat, SetupError};
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicU32, Ordering};

/// Locks of one direction.
const LOCKS: usize = 3;

/// `FUTEX_OWNER_DIED` (`linux/futex.h`).
const OWNER_DIED: u32 = 0x4000_0000;

/// One direction: lines of their own, so that taking one lock does not disturb who waits at another.
type Locks = [PiWord; LOCKS];

#[repr(C, align(128))]
struct PiWord(AtomicU32);

// SAFETY: atomics.
unsafe impl Atomics for PiWord {}

/// One end of the locks of both directions. Only the thread that attached may use it: it is the holder.
pub struct Baton {
    both: Shared<Locks>,
    seat: Seat,
    thread: u32,
    sent: usize,
    received: usize,
}

impl Baton {
    /// Makes the locks of a channel, all free, and returns a descriptor for each end.
    ///
    /// # Errors
    /// The call that failed.
    pub fn create() -> Result<[OwnedFd; 2], SetupError> {
        Shared::<Locks>::create("ipcperf-locks")?.descriptors()
    }

    /// Becomes the end of `seat`, and takes the first lock that the peer will want.
    ///
    /// # Errors
    /// The descriptor is not of such memory, or the lock cannot be taken.
    pub fn attach(fd: OwnedFd, seat: Seat) -> Result<Self, SetupError> {
        let thread = rustix::thread::gettid().as_raw_nonzero().get().cast_unsigned();
        let baton = Self { both: Shared::from_fd(fd)?, seat, thread, sent: 0, received: 0 };
        let first = baton.lock(seat, 0);
        acquire(first, thread).map_err(|code| SetupError::sys("FUTEX_LOCK_PI", code))?;
        Ok(baton)
    }

    #[inline(always)]
    fn lock(&self, from: Seat, number: usize) -> &AtomicU32 {
        &self.both.of(from)[number % LOCKS].0
    }

    /// Hands a lock over to the peer.
    ///
    /// # Errors
    /// `EOWNERDEAD` or `ESRCH` where the peer died with a lock in its hands; otherwise the `errno`.
    #[inline(always)]
    pub fn pass(&mut self) -> Result<(), i32> {
        let next = self.sent.wrapping_add(1) % LOCKS;
        acquire(self.lock(self.seat, next), self.thread)?;
        release(self.lock(self.seat, self.sent), self.thread)?;
        self.sent = next;
        Ok(())
    }

    /// Waits for the lock that the peer hands over, and gives it back at once.
    ///
    /// # Errors
    /// As [`Baton::pass`].
    #[inline(always)]
    pub fn receive(&mut self) -> Result<(), i32> {
        let lock = self.lock(self.seat.other(), self.received);
        acquire(lock, self.thread)?;
        release(lock, self.thread)?;
        self.received = self.received.wrapping_add(1) % LOCKS;
        Ok(())
    }
}

#[inline(always)]
fn acquire(lock: &AtomicU32, thread: u32) -> Result<(), i32> {
    // Acquire: the next owner of the lock sees what was done under it.
    let free = lock.compare_exchange(0, thread, Ordering::Acquire, Ordering::Relaxed);
    if free.is_ok() {
        return Ok(());
    }
    match call(lock, libc::FUTEX_LOCK_PI) {
        // The holder is about to end: ask again, as after a signal.
        Err(libc::EAGAIN) => return Err(libc::EINTR),
        asked => asked?,
    }
    if lock.load(Ordering::Acquire) & OWNER_DIED == 0 { Ok(()) } else { Err(libc::EOWNERDEAD) }
}

#[inline(always)]
fn release(lock: &AtomicU32, thread: u32) -> Result<(), i32> {
    let alone = lock.compare_exchange(thread, 0, Ordering::Release, Ordering::Relaxed);
    // Somebody waits: the kernel hands the lock over.
    if alone.is_ok() { Ok(()) } else { call(lock, libc::FUTEX_UNLOCK_PI) }
}

#[inline(always)]
fn call(lock: &AtomicU32, operation: i32) -> Result<(), i32> {
    let args = [lock.as_ptr() as usize, operation as usize, 0, 0, 0, 0];
    // SAFETY: see the module. There is no time limit.
    unsafe { raw::call6(libc::SYS_futex, args) }.map(drop)
}

/// Whether the kernel has such locks: one is taken and given back.
///
/// # Errors
/// The call that failed, with `ENOSYS` where it has none.
pub fn probe() -> Result<(), SetupError> {
    let lock = AtomicU32::new(0);
    let tried = call(&lock, libc::FUTEX_LOCK_PI).and_then(|()| call(&lock, libc::FUTEX_UNLOCK_PI));
    tried.map_err(|code| SetupError::sys("FUTEX_LOCK_PI", code))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc;

    #[test]
    fn a_peer_that_ends_with_its_lock_is_told_after_what_it_sent() {
        let [lead, follow] = Baton::create().expect("a page of memory");
        let (attached, here) = mpsc::channel();
        std::thread::scope(|scope| {
            scope.spawn(move || {
                let mut lead = Baton::attach(lead, Seat::Lead).expect("the locks");
                attached.send(()).expect("somebody waits");
                assert_eq!(lead.pass(), Ok(()));
            });
            here.recv().expect("the first lock is taken");
            let mut follow = Baton::attach(follow, Seat::Follow).expect("the locks");
            assert_eq!(follow.receive(), Ok(()));
            // ESRCH where it had ended before, EOWNERDEAD where it ended meanwhile.
            let told = follow.receive();
            assert!(matches!(told, Err(libc::ESRCH | libc::EOWNERDEAD)), "{told:?}");
        });
    }
}

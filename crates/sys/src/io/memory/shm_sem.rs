//! One buffer in shared memory for each direction, guarded by two POSIX semaphores: `empty` counts buffers to fill,
//! `full` those to read.
//!
//! # Safety
//! - [`create`] initialises all four semaphores before a ticket of the memory leaves the process; they are
//!   touched by the C library only, and live as long as the mapping. On Linux they own nothing outside it.
//! - A direction is a `ShmSemHead` and `size` bytes behind it; both lie inside the mapping (checked when it is attached).
//! - The bytes are the sender's from its wait for `empty` until it posts `full`, and the receiver's from its wait for
//!   `full`, where `sent` says that a message has come, until it posts `empty`. There is one of each, so a slice of
//!   them never meets another access.

use crate::io::last_errno;
use crate::io::memory::segment::{Kind, Segment};
use ipcperf_core::{Fault, Seat, SetupError};
use std::cell::UnsafeCell;
use std::path::Path;
use std::sync::atomic::{AtomicU32, Ordering};

/// The largest message: 1 GiB.
pub const MAX_MESSAGE: usize = 1 << 30;

/// A semaphore with a cache line of its own.
#[repr(C, align(64))]
struct Semaphore(UnsafeCell<libc::sem_t>);

#[repr(C, align(128))]
struct ShmSemHead {
    empty: Semaphore,
    full: Semaphore,
    /// Messages sent so far.
    sent: AtomicU32,
    /// Bytes of the one in the buffer.
    len: AtomicU32,
    closed: AtomicU32,
}

/// Bytes from one direction to the other: whole pages.
fn stride(size: usize) -> usize {
    size_of::<ShmSemHead>().saturating_add(size).saturating_add(4095) & !4095
}

/// Bytes of both directions.
#[must_use]
pub fn bytes(size: usize) -> usize {
    stride(size).saturating_mul(2)
}

/// Makes the buffers for messages of up to `size` bytes, in memory of this kind.
///
/// # Errors
/// There is no memory, or no semaphores.
pub fn create(
    kind: Kind,
    size: usize,
    directory: Option<&Path>,
    name: &str,
) -> Result<Segment, SetupError> {
    let memory = Segment::create(kind, directory, name, bytes(size))?;
    for index in 0..2 {
        // SAFETY: a direction begins here, inside the mapping and page-aligned; zeros are a value of all fields.
        let head = unsafe { &*memory.as_ptr().add(index * stride(size)).cast::<ShmSemHead>() };
        for (semaphore, value) in [(&head.empty, 1), (&head.full, 0)] {
            // SAFETY: live memory for a semaphore that nobody has yet.
            if unsafe { libc::sem_init(semaphore.0.get(), 1, value) } != 0 {
                return Err(SetupError::sys("sem_init", last_errno()));
            }
        }
    }
    Ok(memory)
}

impl Semaphore {
    /// Takes one, and sleeps until there is one.
    #[inline(always)]
    fn wait(&self) -> Result<(), Fault> {
        // SAFETY: initialised; see the module.
        if unsafe { libc::sem_wait(self.0.get()) } == 0 { Ok(()) } else { self.wait_again() }
    }

    #[cold]
    #[inline(never)]
    fn wait_again(&self) -> Result<(), Fault> {
        loop {
            match last_errno() {
                libc::EINTR => {}
                code => return Err(Fault::Sys(code)),
            }
            // SAFETY: as in `wait`.
            if unsafe { libc::sem_wait(self.0.get()) } == 0 {
                return Ok(());
            }
        }
    }

    /// Adds one and wakes who waits for it.
    #[inline(always)]
    fn post(&self) -> Result<(), Fault> {
        // SAFETY: as in `wait`.
        if unsafe { libc::sem_post(self.0.get()) } == 0 { Ok(()) } else { Err(Self::failed()) }
    }

    #[cold]
    #[inline(never)]
    fn failed() -> Fault {
        Fault::Sys(last_errno())
    }
}

/// One end: it fills one buffer and reads the other.
#[derive(Debug)]
pub struct Ends {
    memory: Segment,
    size: usize,
    /// Where the direction it sends in starts, and the one it receives from.
    tx: usize,
    rx: usize,
    /// Messages received so far.
    received: u32,
    /// The peer has said that no more will come.
    is_over: bool,
}

impl Ends {
    /// The ends of `seat`, for which [`create`] has made memory of the same size.
    ///
    /// # Errors
    /// The memory is too small.
    pub fn attach(memory: Segment, seat: Seat, size: usize) -> Result<Self, SetupError> {
        if size > MAX_MESSAGE || memory.len() < bytes(size) {
            return Err(SetupError::Protocol("the memory is smaller than two buffers".into()));
        }
        // The lead sends in the first.
        let [tx, rx] = [seat, seat.other()].map(|from| from.index() * stride(size));
        Ok(Self { memory, size, tx, rx, received: 0, is_over: false })
    }

    #[inline(always)]
    fn direction(&self, at: usize) -> (&ShmSemHead, *mut u8) {
        // SAFETY: a direction begins at `at`, inside the mapping and page-aligned.
        let start = unsafe { self.memory.as_ptr().add(at) };
        // SAFETY: the payload lies in the same direction.
        let payload = unsafe { start.add(size_of::<ShmSemHead>()) };
        // SAFETY: as above; a head is atomics and cells.
        (unsafe { &*start.cast::<ShmSemHead>() }, payload)
    }

    /// Waits until the buffer is empty, lets `fill` write `len` bytes into it, and hands it over.
    ///
    /// # Errors
    /// [`Fault::TooLong`], or the failed call.
    #[inline(always)]
    pub fn send(&mut self, len: usize, fill: impl FnOnce(&mut [u8])) -> Result<(), Fault> {
        if len > self.size {
            return Err(Fault::TooLong);
        }
        let (head, payload) = self.direction(self.tx);
        head.empty.wait()?;
        // SAFETY: `len` bytes lie in the direction and are this end's now; see the module.
        fill(unsafe { std::slice::from_raw_parts_mut(payload, len) });
        // At most 2^30.
        head.len.store(len as u32, Ordering::Relaxed);
        let sent = head.sent.load(Ordering::Relaxed).wrapping_add(1);
        head.sent.store(sent, Ordering::Release);
        head.full.post()
    }

    /// Waits for a message, copies it into `out`, and gives the buffer back.
    ///
    /// # Errors
    /// [`Fault::Closed`], [`Fault::Truncated`] for a message of another length, or the failed call.
    #[inline(always)]
    pub fn receive(&mut self, out: &mut [u8]) -> Result<(), Fault> {
        if self.is_over {
            return Err(Fault::Closed);
        }
        let (head, payload) = self.direction(self.rx);
        head.full.wait()?;
        if head.sent.load(Ordering::Acquire) == self.received {
            // Posted by `close` alone.
            self.is_over = true;
            return Err(Fault::Closed);
        }
        let len = head.len.load(Ordering::Relaxed) as usize;
        let fits = len == out.len() && len <= self.size;
        if fits {
            // SAFETY: `len` bytes lie in the direction and are this end's now; see the module.
            out.copy_from_slice(unsafe { std::slice::from_raw_parts(payload, out.len()) });
        }
        head.empty.post()?;
        self.received = self.received.wrapping_add(1);
        if fits { Ok(()) } else { Err(Fault::Truncated) }
    }

    /// Ends the direction in which this end sends: the receiver takes what is there, then sees the end.
    ///
    /// # Errors
    /// The failed call.
    pub fn close(&mut self) -> Result<(), Fault> {
        let (head, _) = self.direction(self.tx);
        if head.closed.swap(1, Ordering::Relaxed) == 0 { head.full.post() } else { Ok(()) }
    }
}

//! The ring of `ipcperf-ring` in memory that two processes map.
//!
//! # Safety
//! - An end holds its mapping, declared after the ring's port so that it is dropped after it: the memory is valid for
//!   as long as the port lives.
//! - The memory is zeroed and initialised by [`create`] before a descriptor of it leaves the process, and is accessed
//!   through ring ports only.

use super::futex;
use crate::shm::SharedMemory;
use ipcperf_core::{Fault, SetupError};
use ipcperf_ring::{Consumer, Geometry, Producer, Sleep, Sleeper, Stop, Wait};
use std::os::fd::OwnedFd;
use std::sync::atomic::AtomicU32;

/// The largest message of a ring: 1 GiB.
pub const MAX_MESSAGE: usize = ipcperf_ring::MAX_PAYLOAD as usize;

/// How the ends of a ring wait, as a type, so that the spinning one contains no trace of sleeping.
pub trait Strategy: Wait + 'static {
    /// The only value.
    const NEW: Self;
}

/// Never sleeps.
pub type Spin = ipcperf_ring::Spin;
/// Spins for a bounded time, then sleeps in a futex; a system call is made only if somebody sleeps.
pub type SpinThenSleep = Sleep<SharedFutex>;

impl Strategy for Spin {
    const NEW: Self = ipcperf_ring::Spin;
}

impl Strategy for SpinThenSleep {
    const NEW: Self = Sleep { spins: futex::SPINS, sleeper: SharedFutex };
}

/// The futex between processes.
#[derive(Clone, Copy, Debug, Default)]
pub struct SharedFutex;

// SAFETY: neither call writes to the word.
unsafe impl Sleeper for SharedFutex {
    #[inline(always)]
    fn sleep(&self, word: &AtomicU32, expected: u32) {
        futex::wait(word, expected);
    }

    #[inline(always)]
    fn wake(&self, word: &AtomicU32) {
        futex::wake(word);
    }
}

/// Bytes one ring takes that carries messages of `size` bytes in about `budget` bytes of memory. A ring has at least
/// two slots, so it outgrows the budget where two messages do.
#[must_use]
pub fn bytes(size: usize, budget: usize) -> usize {
    Geometry::for_message(size, budget).bytes()
}

/// Makes a ring and returns two descriptors of it, one for each end.
///
/// # Errors
/// There is no memory.
pub fn create(size: usize, budget: usize) -> Result<[OwnedFd; 2], SetupError> {
    let geometry = Geometry::for_message(size, budget);
    let memory = SharedMemory::create("ipcperf-ring", geometry.bytes()).map_err(failed)?;
    // SAFETY: fresh, zeroed, page-aligned and at least `geometry.bytes()` long; no other process has it yet.
    unsafe { ipcperf_ring::init(memory.as_ptr(), geometry) };
    Ok([memory.duplicate_fd().map_err(failed)?, memory.duplicate_fd().map_err(failed)?])
}

fn failed(error: std::io::Error) -> SetupError {
    SetupError::sys("ring memory", error.raw_os_error().unwrap_or(libc::EIO))
}

fn refused(error: ipcperf_ring::AttachError) -> SetupError {
    SetupError::Protocol(format!("ring: {error}"))
}

#[cold]
fn fault(stop: Stop) -> Fault {
    match stop {
        Stop::Closed => Fault::Closed,
        Stop::TooLong => Fault::TooLong,
    }
}

/// The sending end.
#[derive(Debug)]
pub struct Sender<S> {
    port: Producer,
    wait: S,
    _memory: SharedMemory,
}

impl<S: Strategy> Sender<S> {
    /// Maps the ring and claims its sending end.
    ///
    /// # Errors
    /// It is no ring, or the end is taken.
    pub fn attach(fd: OwnedFd) -> Result<Self, SetupError> {
        let memory = SharedMemory::from_fd(fd).map_err(failed)?;
        // SAFETY: see the module.
        let port =
            unsafe { ipcperf_ring::producer(memory.as_ptr(), memory.len()) }.map_err(refused)?;
        Ok(Self { port, wait: S::NEW, _memory: memory })
    }

    /// Waits for a free slot, lets `fill` write `len` bytes into it, and hands it over.
    ///
    /// # Errors
    /// [`Fault::TooLong`], or [`Fault::Closed`].
    #[inline(always)]
    pub fn send(&mut self, len: usize, fill: impl FnOnce(&mut [u8])) -> Result<(), Fault> {
        self.port.send(&self.wait, len, fill).map_err(fault)
    }

    /// Ends the direction: the receiver drains, then sees the end.
    pub fn close(&mut self) {
        self.port.close(&self.wait);
    }
}

/// The receiving end.
#[derive(Debug)]
pub struct Receiver<S> {
    port: Consumer,
    wait: S,
    _memory: SharedMemory,
}

impl<S: Strategy> Receiver<S> {
    /// Maps the ring and claims its receiving end.
    ///
    /// # Errors
    /// It is no ring, or the end is taken.
    pub fn attach(fd: OwnedFd) -> Result<Self, SetupError> {
        let memory = SharedMemory::from_fd(fd).map_err(failed)?;
        // SAFETY: see the module.
        let port =
            unsafe { ipcperf_ring::consumer(memory.as_ptr(), memory.len()) }.map_err(refused)?;
        Ok(Self { port, wait: S::NEW, _memory: memory })
    }

    /// Waits for a message and shows it to `take`; the slot goes back when it returns.
    ///
    /// # Errors
    /// [`Fault::Closed`].
    #[inline(always)]
    pub fn receive<T>(&mut self, take: impl FnOnce(&[u8]) -> T) -> Result<T, Fault> {
        self.port.recv(&self.wait, take).map_err(fault)
    }
}

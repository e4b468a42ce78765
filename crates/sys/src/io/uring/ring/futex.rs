//! Sleeping on and waking by a word of shared memory, by operations of a ring (Linux 6.7).
//!
//! # Safety
//! The word is a live reference for the whole call, and the kernel never writes to it. A call that cannot wait until
//! its operation has completed leaves one behind that may at most find its word unmapped.

use super::{Ring, Sqe, has, try_out};
use crate::io::uring::Enter;
use io_uring::opcode;
use ipcperf_core::SetupError;
use std::sync::atomic::AtomicU32;

/// `FUTEX2_SIZE_U32` without `FUTEX2_PRIVATE` (`linux/futex.h`): a word of four bytes that processes share.
const SHARED_WORD: i32 = 2;
/// `FUTEX_BITSET_MATCH_ANY`.
const ANYBODY: u64 = 0xffff_ffff;

const OPERATIONS: &[(u8, &str)] = &[
    (opcode::FutexWait::CODE, "IORING_OP_FUTEX_WAIT (Linux 6.7)"),
    (opcode::FutexWake::CODE, "IORING_OP_FUTEX_WAKE (Linux 6.7)"),
];

/// A ring for the futex operations of one thread.
pub struct FutexRing(Ring<Enter>);

impl FutexRing {
    /// Makes one, where the kernel has the operations.
    ///
    /// # Errors
    /// `Unavailable` with the reason.
    pub fn new() -> Result<Self, SetupError> {
        let (ring, known) = try_out()?;
        has(&known, OPERATIONS)?;
        Ok(Self(ring))
    }

    /// Sleeps while the word holds `expected`. Also returns early, so callers look again.
    ///
    /// # Errors
    /// The `errno` of the ring.
    #[inline(always)]
    pub fn wait(&mut self, word: &AtomicU32, expected: u32) -> Result<(), i32> {
        self.run(opcode::FutexWait::CODE, word, expected.into())
    }

    /// Wakes one sleeper, in whatever process.
    ///
    /// # Errors
    /// The `errno` of the ring.
    #[inline(always)]
    pub fn wake(&mut self, word: &AtomicU32) -> Result<(), i32> {
        self.run(opcode::FutexWake::CODE, word, 1)
    }

    #[inline(always)]
    fn run(&mut self, operation: u8, word: &AtomicU32, value: u64) -> Result<(), i32> {
        let request = Sqe {
            operation,
            fd: SHARED_WORD,
            address: word.as_ptr() as u64,
            offset: value,
            third: ANYBODY,
            ..Sqe::default()
        };
        // SAFETY: see the module.
        let done = unsafe { self.0.run(request) }?;
        match done.result {
            // The value has changed before, or a signal came: callers look again.
            Ok(_) | Err(libc::EAGAIN | libc::EINTR) => Ok(()),
            Err(code) => Err(code),
        }
    }
}

//! Locks on a mapped file that two processes share, as types: each is another sequence of instructions.
//!
//! # Safety
//! A segment given to [`RobustMutex`] has a mutex at `MUTEX`, made by [`Lock::init`] before anybody locks it, which
//! lives as long as the mapping and is touched by the C library only. System calls get descriptors and pointers to
//! live structures.

use crate::io::memory::segment::Segment;
use crate::io::raw;
use ipcperf_core::{Fault, SetupError};

/// Where a mutex lies in the memory; it has a pair of cache lines to itself.
pub(crate) const MUTEX: usize = 128;
const _: () = assert!(size_of::<libc::pthread_mutex_t>() <= 128);

/// A lock on the whole of a mapped file.
pub trait Lock: Send + 'static {
    /// System calls of one lock and unlock that meet nobody.
    const CALLS: f64;

    /// Prepares fresh memory. Done once, before anybody locks.
    ///
    /// # Errors
    /// The call that failed.
    fn init(memory: &Segment) -> Result<(), SetupError>;

    /// Waits until nobody else holds the lock, and takes it.
    ///
    /// # Errors
    /// [`Fault::PeerDied`] where the lock tells that its holder has died; the lock is free then.
    fn lock(memory: &Segment) -> Result<(), Fault>;

    /// Gives it back.
    ///
    /// # Errors
    /// The failed call.
    fn unlock(memory: &Segment) -> Result<(), Fault>;
}

/// A record lock (`F_SETLKW`). It belongs to the process, and falls when the process closes any descriptor of the file.
#[derive(Debug)]
pub struct RecordLock;

impl RecordLock {
    #[inline(always)]
    fn set(memory: &Segment, kind: i32) -> Result<(), Fault> {
        let record = libc::flock {
            // F_RDLCK, F_WRLCK and F_UNLCK are 0 to 2.
            l_type: kind as libc::c_short,
            l_whence: libc::SEEK_SET as libc::c_short,
            l_start: 0,
            l_len: 1,
            l_pid: 0,
        };
        let (fd, at) = (memory.raw_fd() as usize, &raw const record as usize);
        loop {
            // SAFETY: the record is live; the kernel only reads it.
            match unsafe { raw::call3(libc::SYS_fcntl, fd, libc::F_SETLKW as usize, at) } {
                Ok(_) => return Ok(()),
                Err(code) => failed(code)?,
            }
        }
    }
}

impl Lock for RecordLock {
    const CALLS: f64 = 2.0;

    fn init(_: &Segment) -> Result<(), SetupError> {
        Ok(())
    }

    #[inline(always)]
    fn lock(memory: &Segment) -> Result<(), Fault> {
        Self::set(memory, libc::F_WRLCK)
    }

    #[inline(always)]
    fn unlock(memory: &Segment) -> Result<(), Fault> {
        Self::set(memory, libc::F_UNLCK)
    }
}

/// A lock of an open file (`flock`). It belongs to what `open` returned, so each end opens the file anew.
#[derive(Debug)]
pub struct FileLock;

impl FileLock {
    #[inline(always)]
    fn set(memory: &Segment, operation: i32) -> Result<(), Fault> {
        let fd = memory.raw_fd() as usize;
        loop {
            // SAFETY: takes two integers.
            match unsafe { raw::call3(libc::SYS_flock, fd, operation as usize, 0) } {
                Ok(_) => return Ok(()),
                Err(code) => failed(code)?,
            }
        }
    }
}

impl Lock for FileLock {
    const CALLS: f64 = 2.0;

    fn init(_: &Segment) -> Result<(), SetupError> {
        Ok(())
    }

    #[inline(always)]
    fn lock(memory: &Segment) -> Result<(), Fault> {
        Self::set(memory, libc::LOCK_EX)
    }

    #[inline(always)]
    fn unlock(memory: &Segment) -> Result<(), Fault> {
        Self::set(memory, libc::LOCK_UN)
    }
}

/// A mutex in the memory (`PTHREAD_PROCESS_SHARED`, `PTHREAD_MUTEX_ROBUST`). It makes a system call only where the two
/// ends meet, and tells when its holder has died.
#[derive(Debug)]
pub struct RobustMutex;

impl RobustMutex {
    #[inline(always)]
    fn mutex(memory: &Segment) -> *mut libc::pthread_mutex_t {
        // SAFETY: every segment is at least a page, so this is inside the mapping.
        unsafe { memory.as_ptr().add(MUTEX).cast() }
    }

    #[cold]
    #[inline(never)]
    fn refused(memory: &Segment, code: i32) -> Fault {
        if code != libc::EOWNERDEAD {
            return Fault::Sys(code);
        }
        // The lock is ours. What it guards is whole: each index is one store, made last.
        // SAFETY: see the module; this thread holds the mutex.
        unsafe { libc::pthread_mutex_consistent(Self::mutex(memory)) };
        // SAFETY: as above.
        unsafe { libc::pthread_mutex_unlock(Self::mutex(memory)) };
        Fault::PeerDied
    }
}

impl Lock for RobustMutex {
    const CALLS: f64 = 0.0;

    fn init(memory: &Segment) -> Result<(), SetupError> {
        let check = |call: &str, code: i32| {
            if code == 0 { Ok(()) } else { Err(SetupError::sys(call, code)) }
        };
        // SAFETY: a structure without pointers into itself, which the next call fills.
        let mut attributes: libc::pthread_mutexattr_t = unsafe { std::mem::zeroed() };
        let at = &raw mut attributes;
        // SAFETY: live attributes; on Linux they own nothing, so nothing has to be destroyed.
        check("pthread_mutexattr_init", unsafe { libc::pthread_mutexattr_init(at) })?;
        // SAFETY: initialised above, as for the call after it.
        let shared =
            unsafe { libc::pthread_mutexattr_setpshared(at, libc::PTHREAD_PROCESS_SHARED) };
        check("pthread_mutexattr_setpshared", shared)?;
        // SAFETY: as above.
        let robust = unsafe { libc::pthread_mutexattr_setrobust(at, libc::PTHREAD_MUTEX_ROBUST) };
        check("pthread_mutexattr_setrobust", robust)?;
        // SAFETY: aligned memory of our own for a mutex, which nobody else has yet.
        check("pthread_mutex_init", unsafe { libc::pthread_mutex_init(Self::mutex(memory), at) })
    }

    #[inline(always)]
    fn lock(memory: &Segment) -> Result<(), Fault> {
        // SAFETY: see the module.
        match unsafe { libc::pthread_mutex_lock(Self::mutex(memory)) } {
            0 => Ok(()),
            code => Err(Self::refused(memory, code)),
        }
    }

    #[inline(always)]
    fn unlock(memory: &Segment) -> Result<(), Fault> {
        // SAFETY: see the module; this thread holds the mutex.
        match unsafe { libc::pthread_mutex_unlock(Self::mutex(memory)) } {
            0 => Ok(()),
            code => Err(Fault::Sys(code)),
        }
    }
}

/// Whether to go on: an interrupted call is made again.
#[cold]
#[inline(never)]
fn failed(code: i32) -> Result<(), Fault> {
    if code == libc::EINTR { Ok(()) } else { Err(Fault::Sys(code)) }
}

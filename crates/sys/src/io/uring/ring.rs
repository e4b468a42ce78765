//! One ring, with one operation under way at a time; `many` has rings with any number of them.
//!
//! # Safety
//! - The memory of an operation stays valid and is not looked at until the operation has completed. `Ring::run`
//!   returns only then; where it cannot wait any longer it marks the ring as stuck, and who owns the memory must then
//!   leave it to the kernel for ever.
//! - The queues are only used through `&mut` of the ring, and a request has the layout of the kernel's
//!   (`struct io_uring_sqe`), 64 bytes of integers.

mod futex;
mod many;
mod stream;

pub use futex::FutexRing;
pub use many::{Completed, Operations};
pub use stream::{Transfer, probe};

use super::Drive;
use crate::io::futex::SPINS;
use crate::io::raw;
use crate::io::sched_attr::with_slice;
use crate::limits;
use crate::sysctl;
use io_uring::squeue::Entry;
use io_uring::{IoUring, Probe, opcode};
use ipcperf_core::units::format_size;
use ipcperf_core::{Missing, SetupError};
use std::hint::spin_loop;
use std::io;
use std::marker::PhantomData;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Entries of the submission queue. One operation at a time needs one; but the kernel's thread takes an operation off the
/// queue after it has told of its completion, and meanwhile the next may come.
const ENTRIES: u32 = 2;

/// How long the kernel's thread polls an empty queue before it sleeps, ms: the shortest time that can be asked for.
/// Where CPUs are few it polls on one that somebody needs; asleep it is woken by a call.
const KERNEL_THREAD_IDLE_MS: u32 = 1;

/// How long the kernel's thread may keep a CPU from an end that wants it: the shortest slice the scheduler grants
/// (`sched_setattr(2)`, Linux 6.12). With the usual one it polls on for several milliseconds.
const KERNEL_THREAD_SLICE_NS: u64 = 100_000;

/// `IORING_ENTER_GETEVENTS` and `IORING_ENTER_SQ_WAKEUP` (`linux/io_uring.h`).
const GET_EVENTS: usize = 1;
const WAKE_UP: usize = 1 << 1;

/// An operation as the kernel reads it (`struct io_uring_sqe`).
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
struct Sqe {
    operation: u8,
    flags: u8,
    priority: u16,
    fd: i32,
    offset: u64,
    address: u64,
    len: u32,
    operation_flags: u32,
    user_data: u64,
    /// Of a registered buffer its number, of provided buffers their group.
    buffer: u16,
    personality: u16,
    file_index: u32,
    third: u64,
    unused: u64,
}

/// What came of an operation.
#[derive(Clone, Copy, Debug)]
struct Completion {
    /// As the system call of the same name would return it.
    result: Result<usize, i32>,
    flags: u32,
}

/// A ring.
struct Ring<D> {
    ring: IoUring,
    is_stuck: bool,
    _drive: PhantomData<D>,
}

impl<D: Drive> Ring<D> {
    /// Makes one for the calling thread alone.
    ///
    /// # Errors
    /// `Unavailable` where the host does not allow it.
    fn new() -> Result<Self, SetupError> {
        while_freed(|| Self::sized(ENTRIES)).map_err(|error| refused(&error))
    }

    /// Likewise, with so many entries in its submission queue.
    fn sized(entries: u32) -> io::Result<Self> {
        Ok(Self { ring: build::<D>(entries)?, is_stuck: false, _drive: PhantomData })
    }

    /// An operation may still be under way, for ever.
    fn is_stuck(&self) -> bool {
        self.is_stuck
    }

    /// Where buffers are registered.
    fn submitter(&self) -> io_uring::Submitter<'_> {
        self.ring.submitter()
    }

    /// Hands over one operation and waits until it has completed.
    ///
    /// # Safety
    /// The memory that `request` names is valid for what it asks for, and the caller keeps to the module's rule.
    ///
    /// # Errors
    /// The `errno` of the wait; the operation may be under way still.
    #[inline(always)]
    unsafe fn run(&mut self, request: Sqe) -> Result<Completion, i32> {
        // SAFETY: both are 64 bytes with the layout of the kernel's structure; see the module.
        let entry = unsafe { std::mem::transmute::<Sqe, Entry>(request) };
        // SAFETY: the caller's promise.
        let pushed = unsafe { self.ring.submission().push(&entry) };
        if pushed.is_err() {
            // Cannot be: all but the last of what was in the queue has been taken off.
            return Err(libc::EBUSY);
        }
        if D::KERNEL_THREAD {
            self.watch()
        } else {
            // Its result is only looked at where nothing has completed.
            let _ = self.enter(1, 1, GET_EVENTS);
            match self.pop() {
                Some(done) => Ok(done),
                None => self.sleep(),
            }
        }
    }

    #[inline(always)]
    fn pop(&mut self) -> Option<Completion> {
        let entry = self.ring.completion().next()?;
        let (returned, flags) = (entry.result(), entry.flags());
        let result =
            if returned < 0 { Err(returned.wrapping_neg()) } else { Ok(returned as usize) };
        Some(Completion { result, flags })
    }

    #[inline(always)]
    fn enter(&self, submit: usize, wait: usize, flags: usize) -> Result<usize, i32> {
        let ring = self.ring.as_raw_fd() as usize;
        // SAFETY: no argument structure is passed; what the operations in the ring do to memory is the promise of who
        // pushed them.
        unsafe { raw::call6(libc::SYS_io_uring_enter, [ring, submit, wait, flags, 0, 0]) }
    }

    /// Watches the completion queue for a bounded time, then sleeps until there is something in it.
    #[inline(always)]
    fn watch(&mut self) -> Result<Completion, i32> {
        if self.ring.submission().need_wakeup() {
            self.wake()?;
        }
        // SAFETY: it does not leave this function, and the ring is borrowed all the while.
        let status = unsafe { self.ring.completion().status() };
        for _ in 0..SPINS {
            if !status.is_empty() {
                break;
            }
            spin_loop();
        }
        match self.pop() {
            Some(done) => Ok(done),
            None => self.sleep(),
        }
    }

    /// Sleeps until something has completed. Also where a signal has ended the wait, or where the kernel had no
    /// memory to take the operation from the ring.
    #[inline(never)]
    fn sleep(&mut self) -> Result<Completion, i32> {
        loop {
            let waiting = if D::KERNEL_THREAD { 0 } else { self.ring.submission().len() };
            let entered = self.enter(waiting, 1, GET_EVENTS);
            if let Some(done) = self.pop() {
                return Ok(done);
            }
            match entered {
                Ok(_) | Err(libc::EINTR | libc::EAGAIN | libc::EBUSY) => {}
                Err(code) => {
                    self.is_stuck = true;
                    return Err(code);
                }
            }
        }
    }

    #[inline(never)]
    fn wake(&mut self) -> Result<(), i32> {
        loop {
            match self.enter(1, 0, WAKE_UP) {
                Ok(_) => return Ok(()),
                Err(libc::EINTR | libc::EAGAIN | libc::EBUSY) => {}
                Err(code) => {
                    self.is_stuck = true;
                    return Err(code);
                }
            }
        }
    }
}

const _: () =
    assert!(size_of::<Sqe>() == size_of::<Entry>() && align_of::<Sqe>() == align_of::<Entry>());

/// Makes a ring with as much of what is good for one thread as the kernel has.
fn build<D: Drive>(entries: u32) -> io::Result<IoUring> {
    if D::KERNEL_THREAD {
        // The thread is made with the slice of its maker.
        return with_slice(KERNEL_THREAD_SLICE_NS, || {
            IoUring::builder().setup_sqpoll(KERNEL_THREAD_IDLE_MS).build(entries)
        });
    }
    let mut newest = IoUring::builder();
    newest.setup_single_issuer().setup_coop_taskrun();
    let mut deferred = newest.clone();
    // Completions are worked on where the end waits for them (Linux 6.1), without being interrupted (5.19).
    deferred.setup_defer_taskrun();
    let mut older = IoUring::builder();
    older.setup_coop_taskrun();
    let mut refused = None;
    for builder in [deferred, newest, older, IoUring::builder()] {
        match builder.build(entries) {
            Err(error) if error.raw_os_error() == Some(libc::EINVAL) => refused = Some(error),
            other => return other,
        }
    }
    Err(refused.unwrap_or_else(|| io::Error::from_raw_os_error(libc::EINVAL)))
}

/// How long the kernel may take to free the memory of rings that were closed: a few hundredths of a second, if it is not
/// busy. A process waits at most so long for all its rings.
const FREED: [Duration; 2] = [Duration::from_secs(2), Duration::from_secs(6)];

/// How long this process has waited without a result so far, ms.
static WAITED_MS: AtomicU64 = AtomicU64::new(0);

/// Tries again while memory is lacking that may soon be free: what a ring has locked counts against its user until some
/// time after it was closed, and here one ring follows another.
pub(super) fn while_freed<T>(mut attempt: impl FnMut() -> io::Result<T>) -> io::Result<T> {
    let begin = Instant::now();
    let [once, in_all] = FREED;
    let can_be = limits::may_lock() || limits::locked_memory() >= 2 * ring_bytes();
    let left = in_all.saturating_sub(Duration::from_millis(WAITED_MS.load(Ordering::Relaxed)));
    loop {
        match attempt() {
            Err(error) if error.raw_os_error() == Some(libc::ENOMEM) => {
                if !can_be || begin.elapsed() >= once.min(left) {
                    WAITED_MS.fetch_add(begin.elapsed().as_millis() as u64, Ordering::Relaxed);
                    return Err(error);
                }
                std::thread::sleep(Duration::from_millis(1));
            }
            done => return done,
        }
    }
}

/// What it means that memory is lacking for something that takes so many bytes of it.
fn no_memory(what: &str, bytes: u64) -> SetupError {
    let limit = limits::locked_memory();
    if limits::may_lock() {
        return unavailable(format!("there is no memory for {what}"), "free memory");
    }
    let allowed = format_size(limit);
    unavailable(
        format!(
            "{what} locks up to {} of memory, which is more than this user has left of RLIMIT_MEMLOCK ({allowed})",
            format_size(bytes)
        ),
        limits::more_locked_memory(limit.saturating_add(bytes)),
    )
}

/// Bytes of locked memory that a ring of a few entries takes, its queues and its entries: a page each.
fn ring_bytes() -> u64 {
    2 * rustix::param::page_size() as u64
}

/// What a refused ring means.
pub(super) fn refused(error: &io::Error) -> SetupError {
    const PROFILE: &str =
        "a container profile that allows io_uring_setup, io_uring_enter and io_uring_register";
    let (what, how) = match error.raw_os_error().unwrap_or(libc::EIO) {
        libc::ENOSYS => {
            ("this kernel has no io_uring, or a seccomp filter hides it", "CONFIG_IO_URING, or ")
        }
        libc::EPERM | libc::EACCES => match sysctl::number("kernel/io_uring_disabled") {
            Some(2) => {
                return unavailable(
                    "kernel.io_uring_disabled=2 forbids io_uring to everybody",
                    "sysctl kernel.io_uring_disabled=0",
                );
            }
            Some(1) => {
                return unavailable(
                    "kernel.io_uring_disabled=1 allows io_uring only to kernel.io_uring_group",
                    "sysctl kernel.io_uring_disabled=0, or join the group",
                );
            }
            _ => ("a seccomp filter or a security module forbids io_uring", ""),
        },
        // Two at each end are the most that a channel has.
        libc::ENOMEM => return no_memory("a channel of io_uring", 4 * ring_bytes()),
        code => return SetupError::sys("io_uring_setup", code),
    };
    unavailable(what, format!("{how}{PROFILE}"))
}

fn unavailable(what: impl Into<String>, how: impl Into<String>) -> SetupError {
    Missing::new(what, how).into()
}

/// Tries a ring that does nothing once; what operations the kernel has.
///
/// # Errors
/// `Unavailable` with the reason.
fn try_out<D: Drive>() -> Result<(Ring<D>, Probe), SetupError> {
    let mut ring = Ring::<D>::new()?;
    let mut known = Probe::new();
    // Linux 5.6; what is older has none of the operations that anybody asks for.
    let _ = ring.submitter().register_probe(&mut known);
    let nothing = Sqe { operation: opcode::Nop::CODE, ..Sqe::default() };
    // SAFETY: it names no memory.
    let done = unsafe { ring.run(nothing) }.and_then(|done| done.result);
    done.map_err(|code| refused(&io::Error::from_raw_os_error(code)))?;
    Ok((ring, known))
}

/// Whether the kernel has all of these operations.
///
/// # Errors
/// `Unavailable` with the first that it lacks.
fn has(known: &Probe, operations: &[(u8, &str)]) -> Result<(), SetupError> {
    match operations.iter().find(|(code, _)| !known.is_supported(*code)) {
        Some((_, name)) => {
            let what = format!("the io_uring of this kernel has no {name}");
            Err(unavailable(what, "a newer kernel; io_uring_enter(2) says since when"))
        }
        None => Ok(()),
    }
}

/// The descriptor as a request has it.
fn number(fd: BorrowedFd<'_>) -> i32 {
    fd.as_raw_fd()
}

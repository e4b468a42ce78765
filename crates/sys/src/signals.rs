//! Interrupts as a descriptor, so that the coordinator stays single-threaded and nothing runs in a handler; signals held
//! back; and a handler that only interrupts: for tests, and for calls that would wait for ever.

use crate::io::raw;
use crate::pulse::Pulse;
use std::io;
use std::marker::PhantomData;
use std::os::fd::{AsFd, BorrowedFd, FromRawFd, OwnedFd};
use std::sync::atomic::{AtomicU64, Ordering};

/// What a user sends to end a run.
const ENDING: [libc::c_int; 3] = [libc::SIGINT, libc::SIGTERM, libc::SIGHUP];

/// A set of these signals.
pub(crate) fn set_of(signals: &[libc::c_int]) -> libc::sigset_t {
    // SAFETY: all zeroes are a valid value, and sigemptyset initialises it before any other use.
    unsafe {
        let mut set = std::mem::zeroed();
        libc::sigemptyset(&raw mut set);
        for signal in signals {
            libc::sigaddset(&raw mut set, *signal);
        }
        set
    }
}

/// Blocks or unblocks these signals for this thread, or blocks them alone, as `pthread_sigmask(3)` is told.
pub(crate) fn mask(how: libc::c_int, signals: &[libc::c_int]) -> io::Result<()> {
    let set = set_of(signals);
    // SAFETY: `set` is initialised, and the old mask is not asked for.
    match unsafe { libc::pthread_sigmask(how, &raw const set, std::ptr::null_mut()) } {
        0 => Ok(()),
        code => Err(io::Error::from_raw_os_error(code)),
    }
}

/// Blocks these signals for this thread and opens a descriptor that is readable when one has come.
pub(crate) fn descriptor(signals: &[libc::c_int]) -> io::Result<OwnedFd> {
    mask(libc::SIG_BLOCK, signals)?;
    let set = set_of(signals);
    // SAFETY: `set` is initialised and the flags are valid.
    let fd = unsafe { libc::signalfd(-1, &raw const set, libc::SFD_CLOEXEC | libc::SFD_NONBLOCK) };
    if fd < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: a fresh descriptor nobody else owns.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

/// What a user sends to end a run, delivered through a descriptor instead of ending the process; and whether the process was
/// kept from running by signals that cannot be caught.
#[derive(Debug)]
pub struct Interrupts {
    fd: OwnedFd,
    pulse: Pulse,
}

impl Interrupts {
    /// Blocks the signals for this thread and opens the descriptor; those that are ignored stay ignored. Children inherit
    /// the mask; workers and programs empty it ([`block_none`]), so that they still end on SIGTERM.
    ///
    /// # Errors
    /// The kernel's.
    pub fn catch() -> io::Result<Self> {
        // A blocked signal arrives even if it is ignored: SIGHUP by `nohup`, SIGINT by a shell for background jobs.
        let is_meant = |signal: &libc::c_int| {
            // SAFETY: an all-zero sigaction is a valid place for the current one.
            let now = unsafe {
                let mut now = std::mem::zeroed::<libc::sigaction>();
                libc::sigaction(*signal, std::ptr::null(), &raw mut now);
                now
            };
            now.sa_sigaction != libc::SIG_IGN
        };
        let meant: Vec<_> = ENDING.into_iter().filter(is_meant).collect();
        descriptor(&meant).map(|fd| Self { fd, pulse: Pulse::default() })
    }

    /// SIGTERM alone, whether it was ignored or not.
    pub(crate) fn terminated() -> io::Result<Self> {
        descriptor(&[libc::SIGTERM]).map(|fd| Self { fd, pulse: Pulse::default() })
    }

    /// To poll on.
    #[must_use]
    pub fn fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }

    /// Whether this process ran when it had something to do.
    #[must_use]
    pub fn pulse(&self) -> &Pulse {
        &self.pulse
    }

    /// Whether one has arrived since the last call.
    #[must_use]
    pub fn arrived(&self) -> bool {
        let mut info = [0_u8; size_of::<libc::signalfd_siginfo>()];
        matches!(rustix::io::read(&self.fd, &mut info), Ok(n) if n > 0)
    }
}

/// Ends what [`Interrupts::catch`] began: what has come so far is forgotten, and what comes from now on ends the process,
/// as it ends any other. For what may wait for somebody else for ever, when no measurement can be lost by it any more.
pub fn let_end() {
    let set = set_of(&ENDING);
    // SAFETY: `set` is initialised, the time is a valid one, and the signal's facts are not asked for.
    unsafe {
        let at_once = std::mem::zeroed::<libc::timespec>();
        while libc::sigtimedwait(&raw const set, std::ptr::null_mut(), &raw const at_once) > 0 {}
    }
    let _ = mask(libc::SIG_UNBLOCK, &ENDING);
}

/// What a user sends to end a run is held back for as long as this lives, and has its effect afterwards: for what takes
/// moments and must not be left half done.
#[derive(Debug)]
pub struct Held {
    /// Those that were not blocked already.
    signals: Vec<libc::c_int>,
    /// A mask is that of a thread.
    stays: PhantomData<*const ()>,
}

/// Holds them back in this thread.
#[must_use]
pub fn hold() -> Held {
    let set = set_of(&ENDING);
    let mut before = set_of(&[]);
    // SAFETY: both sets are initialised.
    let held = unsafe { libc::pthread_sigmask(libc::SIG_BLOCK, &raw const set, &raw mut before) };
    // SAFETY: `before` is initialised.
    let is_new =
        |signal: &libc::c_int| unsafe { libc::sigismember(&raw const before, *signal) } == 0;
    let signals = if held == 0 { ENDING.into_iter().filter(is_new).collect() } else { Vec::new() };
    Held { signals, stays: PhantomData }
}

impl Drop for Held {
    fn drop(&mut self) {
        let _ = mask(libc::SIG_UNBLOCK, &self.signals);
    }
}

/// From now on this function, which must be safe whatever it interrupts, handles the signal.
fn handle(signal: libc::c_int, handler: extern "C" fn(libc::c_int)) -> io::Result<()> {
    // SAFETY: all zeroes are a valid action without flags; its handler is of the right type.
    let result = unsafe {
        let mut action = std::mem::zeroed::<libc::sigaction>();
        action.sa_sigaction = handler as libc::sighandler_t;
        libc::sigemptyset(&raw mut action.sa_mask);
        libc::sigaction(signal, &raw const action, std::ptr::null_mut())
    };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

extern "C" fn nothing(_: libc::c_int) {}

/// From now on a file that grows above its limit (`ulimit -f`) is an error of the call that writes (`EFBIG`), and not a
/// signal that ends the process without a word. Programs that are executed begin as ever: a handler is not inherited.
pub fn outlive_large_files() {
    let _ = handle(libc::SIGXFSZ, nothing);
}

/// Lets SIGINT end this process and what it starts, even where its parent had it ignored, as a shell has it for
/// background jobs: for tests.
pub fn heed_interrupt() {
    // SAFETY: the action is a default.
    unsafe { libc::signal(libc::SIGINT, libc::SIG_DFL) };
}

/// Lets this thread receive all signals. Fit to be called between `fork` and `exec`: it makes one system call.
///
/// # Errors
/// The kernel's.
pub fn block_none() -> io::Result<()> {
    mask(libc::SIG_SETMASK, &[])
}

static INTERRUPTIONS: AtomicU64 = AtomicU64::new(0);

extern "C" fn count(_: libc::c_int) {
    INTERRUPTIONS.fetch_add(1, Ordering::Relaxed);
}

/// From now on SIGUSR1 interrupts system calls with `EINTR` (no `SA_RESTART`) and is counted.
///
/// # Errors
/// The kernel's.
pub fn count_interruptions() -> io::Result<()> {
    handle(libc::SIGUSR1, count)
}

/// Interrupts a call of one thread of this process, by its number ([`own_thread`]), with SIGUSR1.
pub fn interrupt(thread: u32) {
    let pid = std::process::id() as usize;
    // SAFETY: it names no memory. A thread that has ended is not found, and nobody else is sent anything.
    let _ = unsafe { raw::call3(libc::SYS_tgkill, pid, thread as usize, libc::SIGUSR1 as usize) };
}

/// The number of the calling thread.
#[must_use]
pub fn own_thread() -> u32 {
    rustix::thread::gettid().as_raw_nonzero().get().cast_unsigned()
}

/// SIGUSR1 so far.
#[must_use]
pub fn interruptions() -> u64 {
    INTERRUPTIONS.load(Ordering::Relaxed)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::process::{Signal, getpid, kill_process};

    /// Whether this thread has each of the signals blocked that end a run.
    fn are_blocked() -> [bool; 3] {
        let (none, mut now) = (set_of(&[]), set_of(&[]));
        // SAFETY: the sets are initialised.
        unsafe { libc::pthread_sigmask(libc::SIG_BLOCK, &raw const none, &raw mut now) };
        // SAFETY: `now` is initialised.
        ENDING.map(|signal| unsafe { libc::sigismember(&raw const now, signal) } == 1)
    }

    #[test]
    fn what_is_held_back_is_as_it_was_afterwards() {
        block_none().expect("a mask");
        let held = hold();
        assert_eq!(are_blocked(), [true; 3]);
        drop(held);
        assert_eq!(are_blocked(), [false; 3]);
        mask(libc::SIG_BLOCK, &[libc::SIGTERM]).expect("a mask");
        {
            let (_outer, _inner) = (hold(), hold());
            assert_eq!(are_blocked(), [true; 3]);
        }
        assert_eq!(are_blocked(), [false, true, false], "who caught it goes on catching it");
    }

    #[test]
    fn a_signal_is_counted_and_ends_nothing() {
        count_interruptions().expect("a handler");
        let before = interruptions();
        kill_process(getpid(), Signal::USR1).expect("it is this process");
        // Another thread may be the one that takes it, a little later.
        let deadline = std::time::Instant::now() + std::time::Duration::from_secs(20);
        while interruptions() == before && std::time::Instant::now() < deadline {
            std::thread::yield_now();
        }
        assert_eq!(interruptions(), before + 1);
    }
}

//! A realtime signal with a value: sent by `rt_sigqueueinfo(2)` or `pidfd_send_signal(2)`, taken by
//! `rt_sigtimedwait(2)`, a signalfd or a handler.
//!
//! The signal is blocked before the peer learns of this process, and stays blocked: what a peer sends too late is never
//! delivered to nobody, which would end the process. Whatever is left of an earlier channel is taken away first.
//!
//! # Safety
//! Structures passed to the kernel are live, and laid out as it lays them out on 64-bit machines (`siginfo_t` of
//! asm-generic, which x86-64 and AArch64 use); a signal set is one 64-bit word.

mod handler;
pub mod probe;

pub use handler::Handler;

use crate::io::failed;
use crate::io::raw;
use ipcperf_core::SetupError;
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

/// Signals of one channel and direction that may be under way.
pub const WINDOW: u32 = 64;

/// The signal: the first that the C library leaves to programs.
fn number() -> i32 {
    libc::SIGRTMIN()
}

/// A set with nothing but the signal in it, as the kernel has it.
fn set() -> u64 {
    1 << (number() - 1)
}

/// `siginfo_t` of a queued signal (`include/uapi/asm-generic/siginfo.h`).
#[repr(C)]
#[derive(Clone, Copy)]
struct Info {
    signal: i32,
    error: i32,
    code: i32,
    padding: i32,
    pid: i32,
    uid: u32,
    value: u64,
    rest: [u64; 12],
}

const _: () = assert!(size_of::<Info>() == 128, "SI_MAX_SIZE");

impl Info {
    const NONE: Self =
        Self { signal: 0, error: 0, code: 0, padding: 0, pid: 0, uid: 0, value: 0, rest: [0; 12] };

    /// The value, if this comes from `peer` by one of the calls in here.
    #[inline(always)]
    fn value_from(&self, peer: i32) -> Option<u64> {
        (self.code == libc::SI_QUEUE && self.pid == peer).then_some(self.value)
    }
}

/// The signal is blocked in this thread, and nothing of it is pending.
#[derive(Debug)]
pub struct Blocked {
    /// All signals that were blocked besides.
    others: u64,
    /// The signal alone.
    set: u64,
}

impl Blocked {
    /// Blocks the signal for good.
    ///
    /// # Errors
    /// The call that failed.
    pub fn new() -> Result<Self, SetupError> {
        let others = block().map_err(|code| SetupError::sys("rt_sigprocmask", code))?;
        let blocked = Self { others, set: set() };
        while matches!(wait(blocked.set, &mut { Info::NONE }, true), Ok(_) | Err(libc::EINTR)) {}
        Ok(blocked)
    }

    /// Waits for the next value of the process `peer` and takes it; a signal of anybody else counts for nothing.
    ///
    /// # Errors
    /// The `errno`.
    #[inline(always)]
    pub fn receive(&self, peer: i32) -> Result<u64, i32> {
        let mut info = Info::NONE;
        loop {
            wait(self.set, &mut info, false)?;
            if let Some(value) = info.value_from(peer) {
                return Ok(value);
            }
        }
    }

    /// The mask under which the signal alone gets through besides what got through before.
    #[must_use]
    pub fn without(&self) -> Mask {
        Mask(self.others & !self.set)
    }
}

/// A signal mask.
#[derive(Clone, Copy, Debug)]
pub struct Mask(u64);

impl Mask {
    /// Sleeps under this mask until a handler has run. It is back as it was afterwards.
    #[inline(always)]
    pub(crate) fn suspend(&self) {
        let at = (&raw const self.0) as usize;
        // It always ends with EINTR.
        // SAFETY: the mask is live.
        let _ = unsafe { raw::call3(libc::SYS_rt_sigsuspend, at, size_of::<u64>(), 0) };
    }
}

/// Blocks the signal and returns what was blocked before.
fn block() -> Result<u64, i32> {
    let (set, mut before) = (set(), 0_u64);
    let args = [
        libc::SIG_BLOCK as usize,
        (&raw const set) as usize,
        (&raw mut before) as usize,
        size_of::<u64>(),
        0,
        0,
    ];
    // SAFETY: both sets are live.
    unsafe { raw::call6(libc::SYS_rt_sigprocmask, args) }?;
    Ok(before)
}

/// Takes one signal; sleeps while there is none, unless `nowait`.
#[inline(always)]
fn wait(set: u64, info: &mut Info, nowait: bool) -> Result<usize, i32> {
    let none = [0_u64; 2];
    let limit = if nowait { none.as_ptr() as usize } else { 0 };
    let args = [
        (&raw const set) as usize,
        std::ptr::from_mut(info) as usize,
        limit,
        size_of::<u64>(),
        0,
        0,
    ];
    // SAFETY: set, room for the facts, and time limit (two words of zero) are live.
    unsafe { raw::call6(libc::SYS_rt_sigtimedwait, args) }
}

/// What travels: everything but the value stays the same.
struct Letter(Info);

impl Letter {
    fn new() -> Self {
        let pid = std::process::id().cast_signed();
        let uid = rustix::process::getuid().as_raw();
        Self(Info { signal: number(), code: libc::SI_QUEUE, pid, uid, ..Info::NONE })
    }

    #[inline(always)]
    fn write(&mut self, value: u64) -> usize {
        self.0.value = value;
        (&raw const self.0) as usize
    }
}

/// Sends to a process by its number.
pub struct ByPid {
    letter: Letter,
    peer: i32,
}

impl ByPid {
    /// To the process with this number.
    #[must_use]
    pub fn new(peer: i32) -> Self {
        Self { letter: Letter::new(), peer }
    }

    /// Queues one signal with this value.
    ///
    /// # Errors
    /// The `errno`: `EAGAIN` at `RLIMIT_SIGPENDING`, `ESRCH` when the peer is gone.
    #[inline(always)]
    pub fn send(&mut self, value: u64) -> Result<(), i32> {
        let signal = self.letter.0.signal as usize;
        let at = self.letter.write(value);
        // SAFETY: the facts are live.
        unsafe { raw::call3(libc::SYS_rt_sigqueueinfo, self.peer as usize, signal, at) }.map(drop)
    }
}

/// Sends to a process by a descriptor of it.
pub struct ByDescriptor {
    letter: Letter,
    peer: OwnedFd,
}

impl ByDescriptor {
    /// To the process of this descriptor.
    #[must_use]
    pub fn new(peer: OwnedFd) -> Self {
        Self { letter: Letter::new(), peer }
    }

    /// Queues one signal with this value.
    ///
    /// # Errors
    /// As [`ByPid::send`].
    #[inline(always)]
    pub fn send(&mut self, value: u64) -> Result<(), i32> {
        let signal = self.letter.0.signal as usize;
        let at = self.letter.write(value);
        let args = [self.peer.as_raw_fd() as usize, signal, at, 0, 0, 0];
        // SAFETY: the facts are live.
        unsafe { raw::call6(libc::SYS_pidfd_send_signal, args) }.map(drop)
    }
}

/// A descriptor of this process, to be passed to the process that shall send it signals.
///
/// # Errors
/// `pidfd_open` failed, or signals cannot be sent through descriptors.
pub fn own_descriptor() -> Result<OwnedFd, SetupError> {
    use rustix::process::{PidfdFlags, getpid, pidfd_open};
    let fd = pidfd_open(getpid(), PidfdFlags::empty()).map_err(failed("pidfd_open"))?;
    // Signal 0 only asks whether one could be sent.
    let args = [fd.as_raw_fd() as usize, 0, 0, 0, 0, 0];
    // SAFETY: no facts are passed.
    let asked = unsafe { raw::call6(libc::SYS_pidfd_send_signal, args) };
    asked.map_err(|code| SetupError::sys("pidfd_send_signal", code))?;
    Ok(fd)
}

/// A descriptor from which the signal is read.
#[derive(Debug)]
pub struct Descriptor(OwnedFd);

impl Descriptor {
    /// Opens it.
    ///
    /// # Errors
    /// `signalfd4` failed.
    pub fn new(blocked: &Blocked) -> Result<Self, SetupError> {
        watch(blocked.set).map(Self)
    }

    /// As [`Blocked::receive`], by reading.
    ///
    /// # Errors
    /// The `errno`.
    #[inline(always)]
    pub fn receive(&self, peer: i32) -> Result<u64, i32> {
        let mut info = MaybeUninit::<libc::signalfd_siginfo>::zeroed();
        let (at, len) = (info.as_mut_ptr() as usize, size_of::<libc::signalfd_siginfo>());
        loop {
            // SAFETY: room for the facts of one signal; a read gives whole ones.
            unsafe { raw::call3(libc::SYS_read, self.0.as_raw_fd() as usize, at, len) }?;
            // SAFETY: integers, for which every content is a value.
            let info = unsafe { info.assume_init_ref() };
            if info.ssi_code == libc::SI_QUEUE && info.ssi_pid.cast_signed() == peer {
                return Ok(info.ssi_ptr);
            }
        }
    }
}

fn watch(set: u64) -> Result<OwnedFd, SetupError> {
    let flags = libc::SFD_CLOEXEC as usize;
    let args = [usize::MAX, (&raw const set) as usize, size_of::<u64>(), flags, 0, 0];
    // SAFETY: the set is live.
    let fd = unsafe { raw::call6(libc::SYS_signalfd4, args) }
        .map_err(|code| SetupError::sys("signalfd4", code))?;
    // SAFETY: a fresh descriptor nobody else owns; it fits the type of descriptors.
    Ok(unsafe { OwnedFd::from_raw_fd(fd as i32) })
}

//! How an end waits, as types: each is another sequence of instructions, so each is a variant with a name of its own.

use ipcperf_core::{SetupError, Spec, Syscalls, Wait as Class};
use ipcperf_sys::io::epoll::{Epoll as Instance, Interest};
use ipcperf_sys::io::{errno, pipe};
use std::hint::spin_loop;
use std::os::fd::{AsFd, OwnedFd};

/// How an end waits for something to receive or for room to send.
pub trait Wait: 'static {
    /// The variant's name; `None` for the plain one.
    const VARIANT: Option<&'static str>;
    /// The class it is ranked in.
    const CLASS: Class;
    /// System calls of one transfer when nobody has to wait.
    const SYSCALLS: Syscalls;
    /// What one direction needs for waiting.
    type Gate: Send + 'static;

    /// Prepares one direction of `fd`.
    ///
    /// # Errors
    /// The call that failed.
    fn gate(fd: &OwnedFd, interest: Interest) -> Result<Self::Gate, SetupError>;

    /// Makes `attempt`, a call that takes something out, until it finds something or fails.
    ///
    /// # Errors
    /// The `errno`; `EAGAIN` only from a call that sleeps itself and has a time limit.
    fn receive(
        gate: &Self::Gate,
        attempt: impl FnMut() -> Result<usize, i32>,
    ) -> Result<usize, i32>;

    /// Makes `attempt`, a call that puts something in, until there is room or it fails.
    ///
    /// # Errors
    /// As [`Wait::receive`].
    fn send(gate: &Self::Gate, attempt: impl FnMut() -> Result<usize, i32>) -> Result<usize, i32>;
}

/// Sleeps in the kernel, in the call that moves the data.
#[derive(Debug)]
pub struct Block;

impl Wait for Block {
    const VARIANT: Option<&'static str> = None;
    const CLASS: Class = Class::Block;
    const SYSCALLS: Syscalls = Syscalls { send: Some(1.0), recv: Some(1.0) };
    type Gate = ();

    fn gate(_: &OwnedFd, _: Interest) -> Result<(), SetupError> {
        Ok(())
    }

    #[inline(always)]
    fn receive((): &(), mut attempt: impl FnMut() -> Result<usize, i32>) -> Result<usize, i32> {
        attempt()
    }

    #[inline(always)]
    fn send((): &(), mut attempt: impl FnMut() -> Result<usize, i32>) -> Result<usize, i32> {
        attempt()
    }
}

/// Asks again and again.
#[derive(Debug)]
pub struct Spin;

impl Wait for Spin {
    const VARIANT: Option<&'static str> = Some("spin");
    const CLASS: Class = Class::Spin;
    const SYSCALLS: Syscalls = Syscalls { send: Some(1.0), recv: None };
    type Gate = ();

    fn gate(fd: &OwnedFd, _: Interest) -> Result<(), SetupError> {
        pipe::set_nonblocking(fd)
    }

    #[inline(always)]
    fn receive((): &(), mut attempt: impl FnMut() -> Result<usize, i32>) -> Result<usize, i32> {
        loop {
            match attempt() {
                Err(errno::EAGAIN) => spin_loop(),
                done => return done,
            }
        }
    }

    #[inline(always)]
    fn send((): &(), attempt: impl FnMut() -> Result<usize, i32>) -> Result<usize, i32> {
        Self::receive(&(), attempt)
    }
}

/// Sleeps in `epoll_wait`, level-triggered: before every receive, and before a send only where there was no room.
#[derive(Debug)]
pub struct Epoll;

impl Wait for Epoll {
    const VARIANT: Option<&'static str> = Some("epoll");
    const CLASS: Class = Class::Epoll;
    const SYSCALLS: Syscalls = Syscalls { send: Some(1.0), recv: Some(2.0) };
    type Gate = Instance;

    fn gate(fd: &OwnedFd, interest: Interest) -> Result<Instance, SetupError> {
        pipe::set_nonblocking(fd)?;
        Instance::watching(fd.as_fd(), interest)
    }

    #[inline(always)]
    fn receive(
        gate: &Instance,
        mut attempt: impl FnMut() -> Result<usize, i32>,
    ) -> Result<usize, i32> {
        loop {
            gate.wait()?;
            match attempt() {
                Err(errno::EAGAIN) => {}
                done => return done,
            }
        }
    }

    #[inline(always)]
    fn send(
        gate: &Instance,
        mut attempt: impl FnMut() -> Result<usize, i32>,
    ) -> Result<usize, i32> {
        loop {
            match attempt() {
                Err(errno::EAGAIN) => gate.wait()?,
                done => return done,
            }
        }
    }
}

/// Sleeps in `epoll_wait`, edge-triggered, as asynchronous runtimes do: data is taken out first, and an end sleeps where
/// there is none. It is woken by room to send as well, and then finds nothing and sleeps again.
#[derive(Debug)]
pub struct EpollEdge;

impl Wait for EpollEdge {
    const VARIANT: Option<&'static str> = Some("epoll-edge");
    const CLASS: Class = Class::Epoll;
    const SYSCALLS: Syscalls = Syscalls { send: Some(1.0), recv: None };
    type Gate = Instance;

    fn gate(fd: &OwnedFd, interest: Interest) -> Result<Instance, SetupError> {
        pipe::set_nonblocking(fd)?;
        match interest {
            Interest::Readable => Instance::edges(fd.as_fd()),
            Interest::Writable => Instance::watching(fd.as_fd(), interest),
        }
    }

    #[inline(always)]
    fn receive(gate: &Instance, attempt: impl FnMut() -> Result<usize, i32>) -> Result<usize, i32> {
        Epoll::send(gate, attempt)
    }

    #[inline(always)]
    fn send(gate: &Instance, attempt: impl FnMut() -> Result<usize, i32>) -> Result<usize, i32> {
        Epoll::send(gate, attempt)
    }
}

/// Sleeps in a futex. For mechanisms in shared memory, as are those below.
#[derive(Debug)]
pub struct Futex;

/// Spins for a bounded time, then sleeps in a futex.
#[derive(Debug)]
pub struct Adaptive;

/// Sleeps in `read(2)` of an event counter, which could be polled.
#[derive(Debug)]
pub struct Bell;

/// As [`Adaptive`], where the receiver reads the message in place instead of copying it.
#[derive(Debug)]
pub struct CopyFree;

/// The text for the class of a variant, so that one file describes all variants of its mechanism.
#[must_use]
pub(crate) const fn by_class(
    class: Class,
    block: &'static str,
    spin: &'static str,
    epoll: &'static str,
) -> &'static str {
    match class {
        Class::Spin => spin,
        Class::Epoll => epoll,
        _ => block,
    }
}

/// `base`, as a variant that waits in the way of `W`; the plain way is the default one.
#[must_use]
pub(crate) const fn waiting<W: Wait>(base: Spec) -> Spec {
    Spec {
        variant: W::VARIANT,
        wait: W::CLASS,
        default: W::VARIANT.is_none(),
        syscalls: W::SYSCALLS,
        ..base
    }
}

//! Signals with a value: ways to take and to send them, combined to one end.

use crate::wake_up::word_port::Courier;
use ipcperf_core::SetupError;
use ipcperf_sys::io::wake::queued_signal::{Blocked, ByDescriptor, ByPid, Descriptor, Handler};
use std::os::fd::OwnedFd;

/// How an end takes signals.
pub trait Receive: Sized + 'static {
    /// System calls to take one that is there already.
    const CALLS: f64;

    /// Prepares to take those of the process `peer` and of nobody else.
    ///
    /// # Errors
    /// The call that failed.
    fn new(blocked: Blocked, peer: i32) -> Result<Self, SetupError>;

    /// Takes the next value; sleeps while there is none.
    ///
    /// # Errors
    /// The `errno`.
    fn receive(&mut self) -> Result<u64, i32>;
}

/// How an end sends signals.
pub trait Send: Sized + 'static {
    /// What the peer needs to send to this process, beside its number.
    ///
    /// # Errors
    /// The call that failed.
    fn address() -> Result<Vec<OwnedFd>, SetupError>;

    /// Prepares to send to the process `peer`, which gave this address.
    ///
    /// # Errors
    /// The address is no such address.
    fn new(peer: i32, address: Vec<OwnedFd>) -> Result<Self, SetupError>;

    /// Queues one signal with this value.
    ///
    /// # Errors
    /// The `errno`.
    fn send(&mut self, value: u64) -> Result<(), i32>;
}

/// One end.
pub struct Signals<R, S> {
    rx: R,
    tx: S,
}

impl<R: Receive, S: Send> Signals<R, S> {
    /// The end that talks to the process `peer`.
    ///
    /// # Errors
    /// The call that failed.
    pub fn new(blocked: Blocked, peer: i32, address: Vec<OwnedFd>) -> Result<Self, SetupError> {
        Ok(Self { rx: R::new(blocked, peer)?, tx: S::new(peer, address)? })
    }
}

impl<R: Receive, S: Send> Courier for Signals<R, S> {
    #[inline(always)]
    fn give(&mut self, word: u64) -> Result<(), i32> {
        self.tx.send(word)
    }

    #[inline(always)]
    fn take(&mut self) -> Result<u64, i32> {
        self.rx.receive()
    }
}

/// Takes signals by waiting for them in `rt_sigtimedwait`.
pub struct Wait {
    blocked: Blocked,
    peer: i32,
}

impl Receive for Wait {
    const CALLS: f64 = 1.0;

    fn new(blocked: Blocked, peer: i32) -> Result<Self, SetupError> {
        Ok(Self { blocked, peer })
    }

    #[inline(always)]
    fn receive(&mut self) -> Result<u64, i32> {
        self.blocked.receive(self.peer)
    }
}

/// Takes signals by reading them from a signalfd.
pub struct Read {
    signals: Descriptor,
    peer: i32,
}

impl Receive for Read {
    const CALLS: f64 = 1.0;

    fn new(blocked: Blocked, peer: i32) -> Result<Self, SetupError> {
        Ok(Self { signals: Descriptor::new(&blocked)?, peer })
    }

    #[inline(always)]
    fn receive(&mut self) -> Result<u64, i32> {
        self.signals.receive(self.peer)
    }
}

impl Receive for Handler {
    /// `rt_sigsuspend`, and the handler's return.
    const CALLS: f64 = 2.0;

    fn new(blocked: Blocked, peer: i32) -> Result<Self, SetupError> {
        Self::new(&blocked, peer)
    }

    #[inline(always)]
    fn receive(&mut self) -> Result<u64, i32> {
        Ok(Self::receive(self))
    }
}

impl Send for ByPid {
    fn address() -> Result<Vec<OwnedFd>, SetupError> {
        Ok(Vec::new())
    }

    fn new(peer: i32, _: Vec<OwnedFd>) -> Result<Self, SetupError> {
        Ok(Self::new(peer))
    }

    #[inline(always)]
    fn send(&mut self, value: u64) -> Result<(), i32> {
        Self::send(self, value)
    }
}

impl Send for ByDescriptor {
    fn address() -> Result<Vec<OwnedFd>, SetupError> {
        Ok(vec![ipcperf_sys::io::wake::queued_signal::own_descriptor()?])
    }

    fn new(_: i32, address: Vec<OwnedFd>) -> Result<Self, SetupError> {
        match <[OwnedFd; 1]>::try_from(address) {
            Ok([fd]) => Ok(Self::new(fd)),
            Err(_) => Err(SetupError::Protocol("the pidfd of the peer was expected".into())),
        }
    }

    #[inline(always)]
    fn send(&mut self, value: u64) -> Result<(), i32> {
        Self::send(self, value)
    }
}

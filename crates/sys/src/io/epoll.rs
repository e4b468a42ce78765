//! One descriptor watched by one epoll instance.
//!
//! # Safety
//! The event array lies on the caller's stack and has room for the one event asked for.

use crate::io::failed;
use crate::io::raw;
use ipcperf_core::SetupError;
use rustix::event::epoll;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};

/// What to wait for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Interest {
    /// Data, or the end.
    Readable,
    /// Room, or the end.
    Writable,
}

/// An epoll instance, level-triggered unless it watches edges.
#[derive(Debug)]
pub struct Epoll(OwnedFd);

impl Epoll {
    /// Watches `fd`, which stays the caller's.
    ///
    /// # Errors
    /// `epoll_create1` or `epoll_ctl` failed.
    pub fn watching(fd: impl AsFd, interest: Interest) -> Result<Self, SetupError> {
        let flags = match interest {
            Interest::Readable => epoll::EventFlags::IN,
            Interest::Writable => epoll::EventFlags::OUT,
        };
        Self::of(fd, flags)
    }

    /// Watches `fd` for data, room and the end: each is told once, when it comes.
    ///
    /// # Errors
    /// As [`Epoll::watching`].
    pub fn edges(fd: impl AsFd) -> Result<Self, SetupError> {
        use epoll::EventFlags;
        Self::of(fd, EventFlags::IN | EventFlags::OUT | EventFlags::RDHUP | EventFlags::ET)
    }

    fn of(fd: impl AsFd, flags: epoll::EventFlags) -> Result<Self, SetupError> {
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC).map_err(failed("epoll_create1"))?;
        epoll::add(&epoll, fd, epoll::EventData::new_u64(0), flags).map_err(failed("epoll_ctl"))?;
        Ok(Self(epoll))
    }

    /// Sleeps until the descriptor is ready.
    ///
    /// # Errors
    /// The `errno`.
    #[inline(always)]
    pub fn wait(&self) -> Result<(), i32> {
        let mut event = std::mem::MaybeUninit::<libc::epoll_event>::uninit();
        let at = event.as_mut_ptr() as usize;
        // A timeout of -1 is none; the signal mask is null and keeps the one in force.
        let args = [self.0.as_raw_fd() as usize, at, 1, -1_isize as usize, 0, 8];
        // SAFETY: room for the one event; its content is not looked at.
        unsafe { raw::call6(libc::SYS_epoll_pwait, args) }.map(|_| ())
    }
}

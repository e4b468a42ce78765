//! Descriptors watched by one epoll instance: one, or many.
//!
//! # Safety
//! The event array has room for as many events as are asked for, and lives as long as the call.

use crate::io::failed;
use crate::io::raw;
use ipcperf_core::SetupError;
use rustix::event::{Timespec, epoll};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::time::Duration;

/// What to wait for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Interest {
    /// Data, or the end.
    Readable,
    /// Room, or the end.
    Writable,
}

/// Data, room and the end, each reported once.
const EDGES: epoll::EventFlags = epoll::EventFlags::IN
    .union(epoll::EventFlags::OUT)
    .union(epoll::EventFlags::RDHUP)
    .union(epoll::EventFlags::ET);

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
        Self::of(fd, EDGES)
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

/// Most events that one wait returns; the others come with the next.
const MOST_EVENTS: usize = 64;

/// An epoll instance with any number of descriptors, each under a number of its owner's choice; level-triggered.
pub struct EpollSet {
    epoll: OwnedFd,
    events: [libc::epoll_event; MOST_EVENTS],
    /// Whether the kernel takes limits in nanoseconds (Linux 5.11).
    is_exact: bool,
}

impl std::fmt::Debug for EpollSet {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("EpollSet").field("epoll", &self.epoll).finish_non_exhaustive()
    }
}

/// What is so of a descriptor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event {
    /// Its number.
    pub number: usize,
    /// There is something to read, an error, or the end.
    pub is_readable: bool,
    /// There is room.
    pub is_writable: bool,
}

impl EpollSet {
    /// Without a descriptor yet.
    ///
    /// # Errors
    /// `epoll_create1` failed.
    pub fn new() -> Result<Self, SetupError> {
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC).map_err(failed("epoll_create1"))?;
        let events = [libc::epoll_event { events: 0, u64: 0 }; MOST_EVENTS];
        Ok(Self { epoll, events, is_exact: true })
    }

    /// Watches `fd`, which stays the caller's, under this number for something to read.
    ///
    /// # Errors
    /// `epoll_ctl` failed.
    pub fn add(&self, fd: impl AsFd, number: usize) -> Result<(), SetupError> {
        let data = epoll::EventData::new_u64(number as u64);
        epoll::add(&self.epoll, fd, data, epoll::EventFlags::IN).map_err(failed("epoll_ctl"))
    }

    /// The same for data, room and the end: each is reported once, when it comes.
    ///
    /// # Errors
    /// `epoll_ctl` failed.
    pub fn add_edges(&self, fd: impl AsFd, number: usize) -> Result<(), SetupError> {
        let data = epoll::EventData::new_u64(number as u64);
        epoll::add(&self.epoll, fd, data, EDGES).map_err(failed("epoll_ctl"))
    }

    /// From now on waits for something to read, for room, for both, or for nothing but errors.
    ///
    /// # Errors
    /// The `errno`.
    pub fn change(
        &self,
        fd: impl AsFd,
        number: usize,
        reads: bool,
        writes: bool,
    ) -> Result<(), i32> {
        let data = epoll::EventData::new_u64(number as u64);
        let mut flags = epoll::EventFlags::empty();
        flags.set(epoll::EventFlags::IN, reads);
        flags.set(epoll::EventFlags::OUT, writes);
        epoll::modify(&self.epoll, fd, data, flags).map_err(|error| error.raw_os_error())
    }

    /// No longer watches it.
    ///
    /// # Errors
    /// The `errno`.
    pub fn remove(&self, fd: impl AsFd) -> Result<(), i32> {
        epoll::delete(&self.epoll, fd).map_err(|error| error.raw_os_error())
    }

    /// Sleeps until one of them is ready, at most for `limit`; returns for how many [`EpollSet::event`] tells it. A kernel
    /// before 5.11 counts the limit in milliseconds, rounded down: who waits for a moment then asks again until it is there.
    ///
    /// # Errors
    /// The `errno`.
    #[inline]
    pub fn wait(&mut self, limit: Option<Duration>) -> Result<usize, i32> {
        let (fd, at) = (self.epoll.as_raw_fd() as usize, self.events.as_mut_ptr() as usize);
        if let Some(limit) = limit
            && self.is_exact
        {
            let most = Timespec { tv_sec: i64::MAX, tv_nsec: 0 };
            let limit = Timespec::try_from(limit).unwrap_or(most);
            let limit = (&raw const limit) as usize;
            let args = [fd, at, MOST_EVENTS, limit, 0, 8];
            // SAFETY: the events have room for so many; the limit lives until the call is over; the signal mask is null.
            match unsafe { raw::call6(libc::SYS_epoll_pwait2, args) } {
                Err(libc::ENOSYS | libc::EPERM) => self.is_exact = false,
                done => return done,
            }
        }
        let millis = limit.map_or(-1, |limit| isize::try_from(limit.as_millis()).unwrap_or(-1));
        let args = [fd, at, MOST_EVENTS, millis.cast_unsigned(), 0, 8];
        // SAFETY: the events have room for so many; the signal mask is null and keeps the one in force.
        unsafe { raw::call6(libc::SYS_epoll_pwait, args) }
    }

    /// One of the events of the last wait.
    ///
    /// # Panics
    /// The last wait returned fewer.
    #[inline]
    #[must_use]
    pub fn event(&self, index: usize) -> Event {
        let libc::epoll_event { events, u64: number } = self.events[index];
        let has = |flags: i32| events & flags.cast_unsigned() != 0;
        Event {
            number: usize::try_from(number).unwrap_or(usize::MAX),
            is_readable: has(libc::EPOLLIN | libc::EPOLLERR | libc::EPOLLHUP | libc::EPOLLRDHUP),
            is_writable: has(libc::EPOLLOUT),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::io::socket::{Kind, pair};
    use crate::io::stream;

    #[test]
    fn each_descriptor_is_told_by_its_number_and_only_for_what_it_is_watched() {
        let mut set = EpollSet::new().expect("epoll");
        let pairs: Vec<_> = (0..3).map(|_| pair(Kind::Stream).expect("sockets")).collect();
        for (number, (near, _)) in pairs.iter().enumerate() {
            set.add(near, 10 + number).expect("a descriptor");
        }
        assert_eq!(set.wait(Some(Duration::from_micros(10))), Ok(0));
        stream::write(pairs[1].1.as_fd(), b"x").expect("room");
        assert_eq!(set.wait(None), Ok(1));
        let told = Event { number: 11, is_readable: true, is_writable: false };
        assert_eq!(set.event(0), told);
        set.change(&pairs[1].0, 11, false, false).expect("watched");
        assert_eq!(set.wait(Some(Duration::ZERO)), Ok(0));
        set.change(&pairs[1].0, 11, false, true).expect("watched");
        assert_eq!(set.wait(None), Ok(1));
        assert_eq!(set.event(0), Event { is_readable: false, is_writable: true, ..told });
        set.remove(&pairs[1].0).expect("watched");
        // A kernel that counts in milliseconds says the same.
        set.is_exact = false;
        assert_eq!(set.wait(Some(Duration::from_millis(1))), Ok(0));
    }
}

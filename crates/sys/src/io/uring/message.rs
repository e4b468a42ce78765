//! Messages from one io_uring to another, `IORING_OP_MSG_RING` of `io_uring_enter(2)`.
//!
//! An end has two rings: one in which the peer posts completions, and one to submit from. Descriptors of rings cannot
//! travel over sockets (Linux 6.8 refuses them), so each end fetches the other's with `pidfd_getfd(2)`.
//!
//! # Safety
//! A submitted entry refers to no memory, only to a descriptor that its owner keeps open. The rings are mapped as long
//! as the `IoUring` lives; the kernel writes to nothing else.

use super::ring::{refused, while_freed};
use crate::io::{failed, raw};
use io_uring::{IoUring, Probe, opcode, squeue, types};
use ipcperf_core::{Missing, SetupError};
use rustix::process::{PidfdFlags, PidfdGetfdFlags, getpid, pidfd_getfd, pidfd_open};
use std::os::fd::{AsRawFd, OwnedFd, RawFd};

/// Messages of one direction that may be under way.
pub const WINDOW: u32 = 64;

/// `IORING_ENTER_GETEVENTS` (`linux/io_uring.h`).
const GET_EVENTS: usize = 1;

/// Where messages arrive.
pub struct Inbox(IoUring);

impl Inbox {
    /// Makes a ring for messages.
    ///
    /// # Errors
    /// `Unavailable` where rings are forbidden or know no messages; otherwise the call that failed.
    pub fn new() -> Result<Self, SetupError> {
        // Credits for the other direction may be under way beside a window of messages.
        let ring = while_freed(|| IoUring::builder().setup_cqsize(2 * WINDOW).build(1));
        let ring = ring.map_err(|error| refused(&error))?;
        let mut known = Probe::new();
        ring.submitter().register_probe(&mut known).map_err(|error| {
            SetupError::sys("IORING_REGISTER_PROBE", error.raw_os_error().unwrap_or(libc::EIO))
        })?;
        if !known.is_supported(opcode::MsgRingData::CODE)
            || !ring.params().is_feature_skip_cqe_on_success()
        {
            let what = "this kernel has no messages between rings (IORING_OP_MSG_RING)";
            return Err(Missing::new(what, "Linux 5.18").into());
        }
        Ok(Self(ring))
    }

    /// The number of its descriptor in this process.
    #[must_use]
    pub fn number(&self) -> RawFd {
        self.0.as_raw_fd()
    }

    /// Takes one message; sleeps while there is none.
    ///
    /// # Errors
    /// The `errno`.
    #[inline(always)]
    pub fn receive(&mut self) -> Result<u64, i32> {
        loop {
            if let Some(message) = self.0.completion().next() {
                return Ok(message.user_data());
            }
            enter(self.0.as_raw_fd(), 0, 1, GET_EVENTS)?;
        }
    }
}

/// From where messages are sent.
pub struct Outbox {
    ring: IoUring,
    peer: OwnedFd,
}

impl Outbox {
    /// To the ring behind a descriptor of it.
    ///
    /// # Errors
    /// As [`Inbox::new`].
    pub fn to(peer: OwnedFd) -> Result<Self, SetupError> {
        let ring = while_freed(|| IoUring::new(1)).map_err(|error| refused(&error))?;
        Ok(Self { ring, peer })
    }

    /// Sends one message, by one system call.
    ///
    /// # Errors
    /// The `errno`. A message that could not be submitted stays where it is, and the next call submits it in place of
    /// its own.
    #[inline(always)]
    pub fn send(&mut self, message: u64) -> Result<(), i32> {
        // Success needs no completion here; a failure makes one.
        let entry = opcode::MsgRingData::new(types::Fd(self.peer.as_raw_fd()), 0, message, None)
            .build()
            .flags(squeue::Flags::SKIP_SUCCESS);
        let mut queue = self.ring.submission();
        if queue.is_empty() {
            // SAFETY: the entry refers to no memory.
            let _fits = unsafe { queue.push(&entry) };
        }
        drop(queue);
        if enter(self.ring.as_raw_fd(), 1, 0, 0)? == 0 {
            return Err(libc::EAGAIN);
        }
        match self.ring.completion().next() {
            None => Ok(()),
            Some(failure) => Err(-failure.result()),
        }
    }
}

#[inline(always)]
fn enter(ring: RawFd, submit: usize, wait: usize, flags: usize) -> Result<usize, i32> {
    // SAFETY: see the module. No signal mask is passed.
    unsafe { raw::call6(libc::SYS_io_uring_enter, [ring as usize, submit, wait, flags, 0, 0]) }
}

/// What another process needs to fetch descriptors of this one.
///
/// # Errors
/// `pidfd_open` failed.
pub fn own_process() -> Result<OwnedFd, SetupError> {
    pidfd_open(getpid(), PidfdFlags::empty()).map_err(failed("pidfd_open"))
}

/// Whom this process lets look into it, where only ancestors may otherwise (Yama). Dropping it takes the right back.
#[derive(Debug)]
pub struct Permission(());

impl Permission {
    /// For the process `peer`.
    #[must_use]
    pub fn grant(peer: u32) -> Self {
        permit(peer.into());
        Self(())
    }
}

impl Drop for Permission {
    fn drop(&mut self) {
        permit(0);
    }
}

fn permit(peer: libc::c_ulong) {
    // A kernel without Yama does not know the request; then nobody has to be permitted.
    // SAFETY: takes integers.
    let _ = unsafe { libc::prctl(libc::PR_SET_PTRACER, peer, 0, 0, 0) };
}

/// Fetches the descriptor with this number from another process.
///
/// # Errors
/// `Unavailable` where that is forbidden; otherwise the call that failed.
pub fn fetch(process: &OwnedFd, number: RawFd) -> Result<OwnedFd, SetupError> {
    pidfd_getfd(process, number, PidfdGetfdFlags::empty()).map_err(|error| match error {
        rustix::io::Errno::PERM => SetupError::from(Missing::new(
            "the ring of the other process cannot be fetched (pidfd_getfd is refused by seccomp or Yama)",
            "CAP_SYS_PTRACE, or sysctl kernel.yama.ptrace_scope=1 and a seccomp profile that allows pidfd_getfd",
        )),
        rustix::io::Errno::NOSYS => {
            Missing::new("this kernel has no pidfd_getfd", "Linux 5.6").into()
        }
        other => failed("pidfd_getfd")(other),
    })
}

/// Whether rings can be made here, send messages, and be fetched: a message to itself.
///
/// # Errors
/// As the other functions in here.
pub fn probe() -> Result<(), SetupError> {
    // A channel has both at each end at the same time.
    let other = Inbox::new()?;
    let _others = (Outbox::to(fetch(&own_process()?, other.number())?)?, other);
    let mut inbox = Inbox::new()?;
    let mut outbox = Outbox::to(fetch(&own_process()?, inbox.number())?)?;
    let moved = outbox.send(7).and_then(|()| inbox.receive());
    moved.map(drop).map_err(|code| SetupError::sys("io_uring_enter", code))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_beyond_the_ring_wait_in_the_kernel() {
        let mut inbox = match Inbox::new() {
            Err(SetupError::Unavailable(missing)) => {
                return crate::skipped::skipped("uring-msg-ring", missing);
            }
            made => made.unwrap_or_else(|error| panic!("{error}")),
        };
        let ring = fetch(&own_process().expect("a pidfd"), inbox.number()).expect("its own ring");
        let mut outbox = Outbox::to(ring).expect("another ring");
        for number in 0..1000 {
            assert_eq!(outbox.send(number), Ok(()), "message {number}");
        }
        for number in 0..1000 {
            assert_eq!(inbox.receive(), Ok(number));
        }
    }
}

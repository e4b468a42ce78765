//! What calls are for in a benchmark.

use super::{Call, Does, does};

/// Waiting until one of several things can go on, as [`Call::purpose`] has it.
pub(crate) const WAITING: &str = "waiting for events";

impl Call {
    /// It moved data that its process does not see.
    #[must_use]
    pub(crate) fn passes_on(&self) -> bool {
        does(self.number) == Some(Does::Passes) && self.result > 0
    }

    /// It ends a descriptor or a direction.
    #[must_use]
    pub(crate) fn closes(&self) -> bool {
        self.result >= 0 && [libc::SYS_close, libc::SYS_shutdown].contains(&self.number)
    }

    /// It makes or connects an end.
    #[must_use]
    pub(crate) fn connects(&self) -> bool {
        #[cfg(target_arch = "x86_64")]
        if [libc::SYS_accept, libc::SYS_pipe].contains(&self.number) {
            return self.result >= 0;
        }
        match self.number {
            libc::SYS_connect => [0, -i64::from(libc::EINPROGRESS)].contains(&self.result),
            libc::SYS_socket | libc::SYS_socketpair | libc::SYS_bind | libc::SYS_listen => {
                self.result >= 0
            }
            libc::SYS_accept4 | libc::SYS_pipe2 | libc::SYS_eventfd2 | libc::SYS_memfd_create => {
                self.result >= 0
            }
            _ => false,
        }
    }

    /// It makes an end, or one of something else.
    #[must_use]
    pub(crate) fn makes(&self) -> bool {
        let makes = [libc::SYS_socket, libc::SYS_socketpair, libc::SYS_pipe2, libc::SYS_eventfd2];
        makes.contains(&self.number) || self.number == libc::SYS_memfd_create
    }

    /// It loaded a program into its process.
    #[must_use]
    pub(crate) fn loads_program(&self) -> bool {
        self.result == 0 && does(self.number) == Some(Does::Executes)
    }

    /// What such a call takes without a tracer, ns, rounded down from a VM (fork and wait 250 us, execve 540 us, connect 20 us,
    /// close of a socket 8 us): less makes a note of a fault rather than a fault of a note.
    #[must_use]
    pub(crate) fn usual_ns(&self) -> u64 {
        match self.number {
            _ if self.loads_program() => 300_000,
            _ if self.made().is_some() || self.reaped() => 100_000,
            libc::SYS_connect => 20_000,
            libc::SYS_close | libc::SYS_shutdown => 1_000,
            _ => 3_000,
        }
    }

    /// What it has made, a process or a thread.
    #[must_use]
    pub(crate) fn made(&self) -> Option<u32> {
        #[cfg(target_arch = "x86_64")]
        let makes = [libc::SYS_clone, libc::SYS_clone3, libc::SYS_fork, libc::SYS_vfork];
        #[cfg(not(target_arch = "x86_64"))]
        let makes = [libc::SYS_clone, libc::SYS_clone3];
        u32::try_from(self.result).ok().filter(|made| *made > 0 && makes.contains(&self.number))
    }

    /// Of a plain write: how much it was given, and how much of that it took.
    #[must_use]
    pub(crate) fn given_and_taken(&self) -> Option<(u64, u64)> {
        let is_plain = [libc::SYS_write, libc::SYS_sendto].contains(&self.number);
        let taken = u64::try_from(self.result).ok().filter(|_| is_plain)?;
        Some((self.arguments[2], taken))
    }

    /// What it is for where several calls do the same; `None` of what is no part of an exchange, and of what failed: how
    /// often something is tried depends on time.
    #[must_use]
    pub(crate) fn purpose(&self) -> Option<&'static str> {
        let tries = self.number == libc::SYS_connect;
        if self.result < 0 && !tries {
            return None;
        }
        #[cfg(target_arch = "x86_64")]
        if self.number == libc::SYS_accept {
            return Some("accept");
        }
        Some(match (does(self.number)?, self.number) {
            (Does::Reads, _) => "receiving",
            (Does::Writes | Does::Sends, _) => "sending",
            (Does::Passes, _) => "passing on",
            (Does::Batches, _) => "batches",
            (Does::Connects, _) => "connect",
            (_, libc::SYS_futex | libc::SYS_nanosleep | libc::SYS_clock_nanosleep) => return None,
            (Does::Waits, _) => WAITING,
            (Does::Submits, _) => "io_uring",
            (_, libc::SYS_accept4) => "accept",
            (_, libc::SYS_socket) => "socket",
            (_, libc::SYS_close) => "close",
            (_, libc::SYS_fcntl) => "fcntl",
            (_, libc::SYS_ioctl) => "ioctl",
            (_, libc::SYS_setsockopt | libc::SYS_getsockopt) => "socket options",
            (_, libc::SYS_epoll_ctl) => "epoll_ctl",
            _ => return None,
        })
    }
}

//! What system calls do, as far as their number, arguments and result tell.

use super::{Call, Kind, Object};
use ipcperf_sys::trace::FOREIGN;

/// What a call does with the object of its first argument, or without one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Does {
    /// Takes as many bytes as it returns.
    Reads,
    /// Gives as many.
    Writes,
    /// Moves bytes that the process does not see, as many as it returns.
    Passes,
    /// Takes or gives a number of messages, whose sizes are not seen.
    Batches,
    /// Gives a message whose size is its third argument.
    Sends,
    /// Gives a message to a System V queue, which its first argument names; its size is the third.
    Posts,
    /// Takes one from there.
    Fetches,
    /// Connects.
    Connects,
    /// Ends a direction.
    ShutsDown,
    /// Asks about a socket.
    AsksOption,
    /// Something else with a descriptor.
    Uses,
    /// Waits for events.
    Waits,
    /// Submits work that no other call shows.
    Submits,
    /// Runs another program.
    Executes,
    /// Something else.
    Other,
}

/// What it does; `None` for calls that are not recorded.
#[must_use]
pub(crate) fn does(number: i64) -> Option<Does> {
    #[cfg(target_arch = "x86_64")]
    match number {
        libc::SYS_accept | libc::SYS_dup2 => return Some(Does::Uses),
        libc::SYS_epoll_wait | libc::SYS_poll | libc::SYS_select => return Some(Does::Waits),
        libc::SYS_pipe | libc::SYS_fork | libc::SYS_vfork => return Some(Does::Other),
        libc::SYS_time => return Some(Does::Other),
        _ => {}
    }
    Some(match number {
        libc::SYS_read | libc::SYS_readv | libc::SYS_recvfrom | libc::SYS_recvmsg => Does::Reads,
        libc::SYS_mq_timedreceive | libc::SYS_preadv2 => Does::Reads,
        libc::SYS_write | libc::SYS_writev | libc::SYS_sendto | libc::SYS_sendmsg => Does::Writes,
        libc::SYS_pwritev2 => Does::Writes,
        libc::SYS_sendfile => Does::Passes,
        libc::SYS_splice | libc::SYS_tee | libc::SYS_vmsplice => Does::Passes,
        libc::SYS_sendmmsg | libc::SYS_recvmmsg => Does::Batches,
        libc::SYS_mq_timedsend => Does::Sends,
        libc::SYS_connect => Does::Connects,
        libc::SYS_shutdown => Does::ShutsDown,
        libc::SYS_getsockopt => Does::AsksOption,
        libc::SYS_accept4 | libc::SYS_bind | libc::SYS_listen | libc::SYS_setsockopt => Does::Uses,
        libc::SYS_getsockname | libc::SYS_getpeername | libc::SYS_ioctl => Does::Uses,
        libc::SYS_dup | libc::SYS_dup3 | libc::SYS_fcntl => Does::Uses,
        libc::SYS_epoll_pwait | libc::SYS_ppoll | libc::SYS_pselect6 | libc::SYS_futex => {
            Does::Waits
        }
        libc::SYS_epoll_pwait2 | libc::SYS_nanosleep | libc::SYS_clock_nanosleep => Does::Waits,
        libc::SYS_io_uring_enter => Does::Submits,
        libc::SYS_execve | libc::SYS_execveat => Does::Executes,
        libc::SYS_close | libc::SYS_epoll_ctl | libc::SYS_socket | libc::SYS_socketpair => {
            Does::Other
        }
        libc::SYS_pipe2 | libc::SYS_eventfd2 | libc::SYS_memfd_create | libc::SYS_mmap => {
            Does::Other
        }
        libc::SYS_msgsnd => Does::Posts,
        libc::SYS_msgrcv => Does::Fetches,
        libc::SYS_semop | libc::SYS_semtimedop => Does::Other,
        libc::SYS_process_vm_readv | libc::SYS_process_vm_writev => Does::Other,
        libc::SYS_sched_yield | libc::SYS_rt_sigtimedwait | libc::SYS_kill | libc::SYS_tgkill => {
            Does::Other
        }
        libc::SYS_rt_sigreturn | libc::SYS_shmat | libc::SYS_openat => Does::Other,
        libc::SYS_getrusage | libc::SYS_times => Does::Other,
        libc::SYS_sched_setaffinity | libc::SYS_clock_gettime | libc::SYS_gettimeofday => {
            Does::Other
        }
        libc::SYS_clone | libc::SYS_clone3 | libc::SYS_wait4 | libc::SYS_waitid => Does::Other,
        FOREIGN => Does::Other,
        _ => return None,
    })
}

impl Does {
    /// Whether the first argument is a descriptor.
    #[must_use]
    pub(crate) fn has_descriptor(self) -> bool {
        !matches!(
            self,
            Self::Posts
                | Self::Fetches
                | Self::Waits
                | Self::Submits
                | Self::Executes
                | Self::Other
        )
    }
}

/// What a call has done to the object of its first argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Act {
    /// Took so many bytes.
    Read(u64),
    /// Gave so many.
    Wrote(u64),
    /// Connected it, or began to.
    Connected,
    /// Made others connect to it.
    Listened,
    /// Ended its outgoing direction.
    EndedDirection,
    /// Asked who its peer is.
    AskedPeer,
    /// Nothing of these.
    Other,
}

/// `SCM_RIGHTS` and `SCM_CREDENTIALS` as [`Call::control`] has them (`socket(7)`).
const RIGHTS: u32 = 2;
const CREDENTIALS: u32 = 3;

impl Call {
    /// What it has done.
    #[must_use]
    pub(crate) fn act(&self) -> Act {
        let bytes = self.result.cast_unsigned();
        let is = |at: usize, value: i32| self.arguments[at] == u64::from(value.cast_unsigned());
        match does(self.number) {
            // A message that stays where it is comes again.
            Some(Does::Reads) if self.result > 0 && !self.is_peek() => Act::Read(bytes),
            // What tee copies stays where it is, and splice names the source first.
            Some(Does::Passes) if self.number == libc::SYS_tee => Act::Other,
            Some(Does::Passes) if self.result > 0 && self.number == libc::SYS_splice => {
                Act::Read(bytes)
            }
            Some(Does::Writes | Does::Passes) if self.result > 0 => Act::Wrote(bytes),
            Some(Does::Fetches) if self.result > 0 => Act::Read(bytes),
            // Nothing but descriptors.
            Some(Does::Reads) if self.result == 0 && self.passes_descriptors() => Act::Read(0),
            Some(Does::Writes) if self.result == 0 && self.passes_descriptors() => Act::Wrote(0),
            Some(Does::Other) if self.object != 0 => match self.arguments[3].cast_signed() {
                0 => Act::Other,
                1.. => Act::Wrote(1),
                _ => Act::Read(1),
            },
            Some(Does::Sends | Does::Posts) if self.result == 0 => Act::Wrote(self.arguments[2]),
            // Nobody finishes a non-blocking one.
            Some(Does::Connects) if [0, -i64::from(libc::EINPROGRESS)].contains(&self.result) => {
                Act::Connected
            }
            Some(Does::ShutsDown) if self.result == 0 && is(1, libc::SHUT_WR) => {
                Act::EndedDirection
            }
            Some(Does::AsksOption) if is(1, libc::SOL_SOCKET) && is(2, libc::SO_PEERCRED) => {
                Act::AskedPeer
            }
            Some(Does::Uses) if self.number == libc::SYS_listen && self.result == 0 => {
                Act::Listened
            }
            _ => Act::Other,
        }
    }

    fn is_peek(&self) -> bool {
        let flags = match self.number {
            libc::SYS_recvfrom => self.arguments[3],
            libc::SYS_recvmsg => self.arguments[2],
            _ => 0,
        };
        flags & u64::from(libc::MSG_PEEK.cast_unsigned()) != 0
    }

    /// Descriptors went along.
    #[must_use]
    pub(crate) fn passes_descriptors(&self) -> bool {
        self.control == RIGHTS
    }

    /// Credentials did.
    #[must_use]
    pub(crate) fn passes_credentials(&self) -> bool {
        self.control == CREDENTIALS
    }

    /// Its object is a POSIX queue.
    #[must_use]
    pub(crate) fn is_of_queue(&self) -> bool {
        [libc::SYS_mq_timedsend, libc::SYS_mq_timedreceive].contains(&self.number)
    }

    /// The System V queue that it gave a message to, or took one from, as an object.
    #[must_use]
    pub(crate) fn queue(&self) -> Option<Object> {
        let is_one = matches!(does(self.number), Some(Does::Posts | Does::Fetches));
        (is_one && matches!(self.act(), Act::Read(_) | Act::Wrote(_))).then(|| Object {
            // No inode has such a number, and no place in the kernel.
            id: 1 << 62 | (self.arguments[0] & u64::from(u32::MAX)),
            kind: Kind::Queue,
            pair: [0; 2],
            name: String::new(),
            owns_name: false,
            ports: [0; 2],
            listens: false,
        })
    }

    /// What cannot be seen of what it does, in words.
    #[must_use]
    pub(crate) fn hides(&self) -> Option<&'static str> {
        Some(match self.number {
            libc::SYS_io_uring_enter => "io_uring: the data that it transfers",
            libc::SYS_sendmmsg | libc::SYS_recvmmsg => {
                "sendmmsg and recvmmsg: sizes of their messages"
            }
            libc::SYS_splice | libc::SYS_tee | libc::SYS_vmsplice => {
                "splice, tee and vmsplice: the end that is not their first argument"
            }
            libc::SYS_process_vm_readv | libc::SYS_process_vm_writev => {
                "process_vm_readv and process_vm_writev: the other process"
            }
            FOREIGN => "calls of 32-bit programs, or by int 0x80",
            _ => return None,
        })
    }
}

impl Object {
    /// It is a socket of datagrams.
    #[must_use]
    pub(crate) fn has_datagrams(&self) -> bool {
        matches!(self.kind, Kind::Unix(libc::SOCK_DGRAM) | Kind::Internet(libc::SOCK_DGRAM, _))
    }

    /// What it is called where programs talk over it; `None` if it is for something else.
    #[must_use]
    pub(crate) fn channel(&self) -> Option<&'static str> {
        Some(match self.kind {
            Kind::Unix(libc::SOCK_STREAM) => "unix-stream",
            Kind::Unix(libc::SOCK_SEQPACKET) => "unix-seqpacket",
            Kind::Unix(_) => "unix-dgram",
            Kind::Internet(libc::SOCK_STREAM, 6) => "tcp6",
            Kind::Internet(libc::SOCK_STREAM, _) => "tcp",
            Kind::Internet(_, 6) => "udp6",
            Kind::Internet(..) => "udp",
            Kind::Socket(_) => "socket",
            Kind::Pipe if self.name.is_empty() => "pipe",
            Kind::Pipe => "fifo",
            Kind::Queue => "sysv-mq",
            Kind::Semaphore => "sysv-sem",
            Kind::Other if self.name == "[eventfd]" => "eventfd",
            Kind::Other => return None,
        })
    }
}

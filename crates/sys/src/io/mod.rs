//! The measured path: system calls issued without the C library, and the kernel objects mechanisms are made of.
//!
//! Hot calls ([`stream`], [`datagram`], [`futex`], [`epoll`], [`queue`]) return `Result<_, i32>` with a
//! positive `errno` and do exactly one system call; callers retry `EINTR`, out of line. Cold calls create
//! objects, close-on-exec and private to this user, and return [`SetupError`] with the call
//! named.

mod buffer;
pub mod cgroup;
pub mod datagram;
pub mod epoll;
pub mod file;
pub mod futex;
pub mod memory;
pub mod names;
pub mod peer;
pub mod pipe;
pub mod pty;
pub mod queue;
pub(crate) mod raw;
pub(crate) mod reap;
pub(crate) mod sched_attr;
pub mod select;
pub mod socket;
pub mod stream;
mod system_v;
pub mod uring;
pub mod wake;

pub use buffer::Buffer;

use ipcperf_core::SetupError;
use rustix::io::Errno;
use std::os::fd::{AsFd, OwnedFd};

/// `errno` values a port tells apart.
pub mod errno {
    pub use libc::{
        E2BIG, EACCES, EAGAIN, EBADF, ECANCELED, ECONNREFUSED, ECONNRESET, EIDRM, EINTR, EINVAL,
        EMSGSIZE, ENOBUFS, ENOSYS, ENOTCONN, ENOTSOCK, EOWNERDEAD, EPERM, EPIPE, ESRCH, ETIMEDOUT,
    };
    pub use libc::{EALREADY, ECONNABORTED, EINPROGRESS, EISCONN};

    /// Its name, where connections meet it; otherwise its number in words.
    #[must_use]
    pub fn name(code: i32) -> String {
        let known = match code {
            libc::EACCES => "EACCES",
            libc::EADDRINUSE => "EADDRINUSE",
            libc::EADDRNOTAVAIL => "EADDRNOTAVAIL",
            libc::EAGAIN => "EAGAIN",
            libc::EALREADY => "EALREADY",
            libc::EBADF => "EBADF",
            libc::ECONNABORTED => "ECONNABORTED",
            libc::ECONNREFUSED => "ECONNREFUSED",
            libc::ECONNRESET => "ECONNRESET",
            libc::EEXIST => "EEXIST",
            libc::EHOSTUNREACH => "EHOSTUNREACH",
            libc::EINPROGRESS => "EINPROGRESS",
            libc::EINTR => "EINTR",
            libc::EINVAL => "EINVAL",
            libc::EMFILE => "EMFILE",
            libc::ENETUNREACH => "ENETUNREACH",
            libc::ENFILE => "ENFILE",
            libc::ENOBUFS => "ENOBUFS",
            libc::ENOENT => "ENOENT",
            libc::ENOMEM => "ENOMEM",
            libc::ENOTCONN => "ENOTCONN",
            libc::EPERM => "EPERM",
            libc::EPIPE => "EPIPE",
            libc::EPROTO => "EPROTO",
            libc::ETIMEDOUT => "ETIMEDOUT",
            _ => return format!("errno {code}"),
        };
        known.to_owned()
    }
}

/// A second, close-on-exec descriptor of the same object.
///
/// # Errors
/// `fcntl` failed, for example with `EMFILE`.
pub fn duplicate(fd: impl AsFd) -> Result<OwnedFd, SetupError> {
    rustix::io::fcntl_dupfd_cloexec(fd, 0).map_err(failed("F_DUPFD_CLOEXEC"))
}

/// Names the call that failed.
pub(crate) fn failed(call: impl Into<String>) -> impl FnOnce(Errno) -> SetupError {
    move |error| SetupError::sys(call, error.raw_os_error())
}

/// `errno` of the C library call that just failed.
fn last_errno() -> i32 {
    std::io::Error::last_os_error().raw_os_error().unwrap_or(libc::EIO)
}

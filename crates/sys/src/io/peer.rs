//! Reaching into another process: its memory (`process_vm_readv`, `process_vm_writev`) and its descriptors
//! (`pidfd_getfd`).
//!
//! # Safety
//! The local part is a slice that lives for the call and whose length is told. Addresses of the other process are
//! numbers here: the kernel checks them there, and the other process has told them as its own buffer.

use crate::io::file::fresh::Handle;
use crate::io::raw;
use crate::limits;
use crate::sysctl;
use ipcperf_core::{Missing, SetupError};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

/// Lets `pid` reach into this process, where the Yama module allows it only to ancestors otherwise.
pub fn admit(pid: u32) {
    // SAFETY: takes numbers. Without Yama it fails with EINVAL, and nothing is needed.
    let _ = unsafe { libc::prctl(libc::PR_SET_PTRACER, u64::from(pid), 0, 0, 0) };
}

/// Copies from an address of another process and returns how many bytes.
///
/// # Errors
/// The `errno`: `EPERM` where it is not allowed, `ESRCH` once the process is gone.
#[inline(always)]
pub fn read(pid: u32, from: usize, into: &mut [u8]) -> Result<usize, i32> {
    let local = libc::iovec { iov_base: into.as_mut_ptr().cast(), iov_len: into.len() };
    copy(libc::SYS_process_vm_readv, pid, &local, from)
}

/// Copies to an address of another process and returns how many bytes.
///
/// # Errors
/// As [`read`].
#[inline(always)]
pub fn write(pid: u32, to: usize, from: &[u8]) -> Result<usize, i32> {
    let local = libc::iovec { iov_base: from.as_ptr().cast_mut().cast(), iov_len: from.len() };
    copy(libc::SYS_process_vm_writev, pid, &local, to)
}

#[inline(always)]
fn copy(call: libc::c_long, pid: u32, local: &libc::iovec, remote: usize) -> Result<usize, i32> {
    let remote =
        libc::iovec { iov_base: std::ptr::without_provenance_mut(remote), iov_len: local.iov_len };
    let (local, remote) = ((&raw const *local) as usize, (&raw const remote) as usize);
    // SAFETY: one live part on each side; see the module.
    unsafe { raw::call6(call, [pid as usize, local, 1, remote, 1, 0]) }
}

/// A descriptor that stands for a process, for [`take`].
///
/// # Errors
/// `pidfd_open` failed.
pub fn open(pid: u32) -> Result<OwnedFd, SetupError> {
    // SAFETY: takes numbers. The descriptor is close-on-exec by nature.
    let made = unsafe { raw::call3(libc::SYS_pidfd_open, pid as usize, 0, 0) };
    let made = made.map_err(|code| SetupError::sys("pidfd_open", code))?;
    Ok(Handle::new(made).into_owned())
}

/// Takes a copy of descriptor `number` of another process. It is close-on-exec.
///
/// # Errors
/// The `errno`: `EPERM` where it is not allowed, `ESRCH` once the process is gone, `EBADF` for no descriptor.
#[inline(always)]
pub fn take(process: BorrowedFd<'_>, number: u32) -> Result<Handle, i32> {
    let fd = process.as_raw_fd() as usize;
    // SAFETY: takes numbers.
    unsafe { raw::call3(libc::SYS_pidfd_getfd, fd, number as usize, 0) }.map(Handle::new)
}

/// Tries one way on this process itself, which is always allowed unless the kernel or a filter lacks the call, and asks
/// what Yama says of others.
///
/// # Errors
/// What is missing.
pub fn probe_memory(reads: bool) -> Result<(), Missing> {
    let (own, mut target, source) = (std::process::id(), [0_u8], [7_u8]);
    let (call, tried) = if reads {
        ("process_vm_readv", read(own, source.as_ptr().expose_provenance(), &mut target))
    } else {
        let at = target.as_mut_ptr().expose_provenance();
        ("process_vm_writev", write(own, at, &source))
    };
    tried.map_err(|code| refused(call, code))?;
    yama(call)
}

/// As [`probe_memory`], for descriptors.
///
/// # Errors
/// What is missing.
pub fn probe_descriptors() -> Result<(), Missing> {
    let own = open(std::process::id()).map_err(|error| match error {
        SetupError::Sys { code, .. } => refused("pidfd_open", code),
        other => Missing::new(other.to_string(), ""),
    })?;
    let number = u32::try_from(own.as_raw_fd()).unwrap_or(0);
    take(own.as_fd(), number).map(drop).map_err(|code| refused("pidfd_getfd", code))?;
    yama("pidfd_getfd")
}

/// `kernel.yama.ptrace_scope`: 1 is helped by [`admit`] and lets ancestors, 2 needs a capability, 3 allows nobody.
///
/// # Errors
/// What is missing for this call to reach into another process.
pub fn yama(call: &str) -> Result<(), Missing> {
    match sysctl::number("kernel/yama/ptrace_scope") {
        Some(2) if !rustix::process::geteuid().is_root() => Err(refused(call, libc::EPERM)),
        Some(3) => Err(Missing::new(
            format!("kernel.yama.ptrace_scope is 3, which forbids {call} to all processes"),
            "restart with a lower kernel.yama.ptrace_scope",
        )),
        _ => Ok(()),
    }
}

/// Why one process may not reach into another.
#[must_use]
pub fn refused(call: &str, code: i32) -> Missing {
    match code {
        libc::ENOSYS => Missing::new(
            format!("{call} is not in this kernel, or a seccomp filter hides it"),
            "a newer kernel, CONFIG_CROSS_MEMORY_ATTACH, or a container that allows the call",
        ),
        libc::EPERM | libc::EACCES => Missing::new(
            format!("{call} of another process of the same user is refused (Yama or seccomp)"),
            "sysctl kernel.yama.ptrace_scope=1, or CAP_SYS_PTRACE (docker run --cap-add SYS_PTRACE; Kubernetes: seccompProfile Unconfined)",
        ),
        code => match limits::reached(code) {
            Some(limit) => Missing::new(format!("{call}: {}", limit.what), limit.how),
            None => Missing::new(format!("{call} fails: {}", ipcperf_core::errno::text(code)), ""),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_may_reach_into_itself() {
        let (source, mut target) = ([1_u8, 2, 3], [0_u8; 3]);
        let own = std::process::id();
        let at = source.as_ptr().expose_provenance();
        if let Err(missing) = probe_memory(true).and_then(|()| probe_memory(false)) {
            return crate::skipped::skipped("process-vm", missing);
        }
        assert_eq!(read(own, at, &mut target), Ok(3));
        assert_eq!(target, source);
        if let Err(missing) = probe_descriptors() {
            return crate::skipped::skipped("pidfd-getfd", missing);
        }
        let process = open(own).expect("a descriptor");
        let same = take(process.as_fd(), process.as_raw_fd() as u32).expect("a copy");
        assert!(same.fd().as_raw_fd() != process.as_raw_fd());
        assert_eq!(take(process.as_fd(), u32::MAX / 2).err(), Some(libc::EBADF));
    }
}

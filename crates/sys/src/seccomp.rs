//! System calls refused to the calling thread, as the sandbox of a container refuses them. For tests.
//!
//! # Safety
//! The program given to the kernel lives through the call that hands it over, and the kernel copies it. A filter
//! changes nothing but what system calls answer.

use std::io;

/// `BPF_LD | BPF_W | BPF_ABS`, `BPF_JMP | BPF_JEQ | BPF_K`, `BPF_RET | BPF_K` (`linux/bpf_common.h`).
const LOAD: u16 = 0x20;
const JUMP_IF_EQUAL: u16 = 0x15;
const RETURN: u16 = 0x06;
/// Where `struct seccomp_data` holds the number of the call.
const NUMBER: u32 = 0;

/// Calls that sandboxes refuse, that old kernels lack, or that mechanisms need to exist, by name.
pub const OFTEN_REFUSED: &[(&str, i64)] = &[
    ("pipe2", libc::SYS_pipe2),
    ("socket", libc::SYS_socket),
    ("socketpair", libc::SYS_socketpair),
    ("mknodat", libc::SYS_mknodat),
    ("memfd_create", libc::SYS_memfd_create),
    ("eventfd2", libc::SYS_eventfd2),
    ("signalfd4", libc::SYS_signalfd4),
    ("inotify_init1", libc::SYS_inotify_init1),
    ("mq_open", libc::SYS_mq_open),
    ("msgget", libc::SYS_msgget),
    ("semget", libc::SYS_semget),
    ("shmget", libc::SYS_shmget),
    ("io_uring_setup", libc::SYS_io_uring_setup),
    ("io_uring_enter", libc::SYS_io_uring_enter),
    ("io_uring_register", libc::SYS_io_uring_register),
    ("pidfd_open", libc::SYS_pidfd_open),
    ("pidfd_getfd", libc::SYS_pidfd_getfd),
    ("pidfd_send_signal", libc::SYS_pidfd_send_signal),
    ("rt_sigqueueinfo", libc::SYS_rt_sigqueueinfo),
    ("process_vm_readv", libc::SYS_process_vm_readv),
    ("process_vm_writev", libc::SYS_process_vm_writev),
    ("vmsplice", libc::SYS_vmsplice),
    ("splice", libc::SYS_splice),
    ("tee", libc::SYS_tee),
    ("sendfile", libc::SYS_sendfile),
    ("sendmmsg", libc::SYS_sendmmsg),
    ("recvmmsg", libc::SYS_recvmmsg),
];

/// How a call is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// `EPERM`, as container runtimes do by default.
    NotPermitted,
    /// `ENOSYS`, as old kernels do.
    NotImplemented,
}

/// From now on these calls of this thread, of its children and of the programs they execute fail. There is no
/// way back.
///
/// # Errors
/// The kernel has no filters, or refuses one more.
pub fn refuse(calls: &[i64], refusal: Refusal) -> io::Result<()> {
    let errno = match refusal {
        Refusal::NotPermitted => libc::EPERM,
        Refusal::NotImplemented => libc::ENOSYS,
    };
    let step = |code, k, jt| libc::sock_filter { code, jt, jf: 0, k };
    let mut program = vec![step(LOAD, NUMBER, 0)];
    for (at, call) in calls.iter().enumerate() {
        // A jump reaches 255 steps; there are never so many calls.
        let to_the_refusal = u8::try_from(calls.len() - at).map_err(io::Error::other)?;
        let number = u32::try_from(*call).map_err(io::Error::other)?;
        program.push(step(JUMP_IF_EQUAL, number, to_the_refusal));
    }
    program.push(step(RETURN, libc::SECCOMP_RET_ALLOW, 0));
    program.push(step(RETURN, libc::SECCOMP_RET_ERRNO | errno.cast_unsigned(), 0));
    let len = u16::try_from(program.len()).map_err(io::Error::other)?;
    let program = libc::sock_fprog { len, filter: program.as_mut_ptr() };
    // SAFETY: takes numbers only.
    if unsafe { libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) } != 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: see the module.
    let set = unsafe {
        libc::syscall(libc::SYS_seccomp, libc::SECCOMP_SET_MODE_FILTER, 0, &raw const program)
    };
    if set == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_refused_fails_in_this_thread_alone() {
        let named = [libc::SYS_memfd_create, libc::SYS_eventfd2];
        let make = || rustix::event::eventfd(0, rustix::event::EventfdFlags::CLOEXEC);
        let inside = std::thread::spawn(move || {
            refuse(&named, Refusal::NotImplemented).expect("a filter");
            (make().map(drop), rustix::pipe::pipe().map(drop))
        });
        let (refused, allowed) = inside.join().expect("it does not panic");
        assert_eq!(refused, Err(rustix::io::Errno::NOSYS));
        assert_eq!(allowed, Ok(()));
        assert!(make().is_ok());
    }
}

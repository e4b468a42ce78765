//! System calls by number: what they are for, and their names.

/// Calls that get, give back or change memory.
pub(crate) const MEMORY: &[i64] = &[
    libc::SYS_brk,
    libc::SYS_mmap,
    libc::SYS_munmap,
    libc::SYS_mremap,
    libc::SYS_madvise,
    libc::SYS_mprotect,
];

/// Tables of system calls, each as a function from the number of a call to its name.
macro_rules! calls {
    ($($(#[$of:meta])* $vis:vis fn $table:ident { $($call:ident)+ })+) => {$(
        $(#[$of])*
        $vis fn $table(number: i64) -> Option<&'static str> {
            match number {
                $(libc::$call => stringify!($call).strip_prefix("SYS_"),)+
                _ => None,
            }
        }
    )+};
}

calls! {
    /// Calls that move data, wait for it, or wake who waits for it; `None` for all others.
    #[must_use]
    pub fn transfer {
        SYS_read SYS_write SYS_readv SYS_writev SYS_sendto SYS_recvfrom SYS_sendmsg SYS_recvmsg
        SYS_sendmmsg SYS_recvmmsg
        SYS_splice SYS_vmsplice SYS_tee SYS_sendfile SYS_process_vm_readv SYS_process_vm_writev
        SYS_io_uring_enter SYS_futex
        SYS_ppoll SYS_pselect6 SYS_epoll_pwait SYS_mq_timedsend SYS_mq_timedreceive SYS_msgsnd
        SYS_msgrcv SYS_semop SYS_semtimedop
        SYS_rt_sigqueueinfo SYS_rt_sigtimedwait
    }

    fn other {
        SYS_brk SYS_mmap SYS_munmap SYS_mremap SYS_madvise SYS_mprotect
        SYS_clock_gettime SYS_gettimeofday SYS_clock_nanosleep SYS_nanosleep
        SYS_sched_yield SYS_sched_getaffinity SYS_sched_setaffinity
        SYS_ioctl SYS_fcntl SYS_flock SYS_fstat SYS_statx SYS_newfstatat SYS_statfs SYS_fstatfs
        SYS_faccessat SYS_faccessat2 SYS_readlinkat SYS_getdents64 SYS_getcwd
        SYS_lseek SYS_pread64 SYS_pwrite64 SYS_copy_file_range SYS_fadvise64 SYS_fsync SYS_fdatasync
        SYS_openat SYS_unlinkat SYS_close SYS_close_range SYS_dup SYS_dup3 SYS_pipe2
        SYS_memfd_create SYS_ftruncate
        SYS_socket SYS_socketpair SYS_bind SYS_listen SYS_accept4 SYS_connect SYS_shutdown
        SYS_setsockopt SYS_getsockopt SYS_getsockname SYS_getpeername
        SYS_epoll_create1 SYS_epoll_ctl SYS_eventfd2
        SYS_clone SYS_clone3 SYS_execve SYS_exit SYS_exit_group SYS_wait4 SYS_waitid SYS_kill
        SYS_tgkill
        SYS_rt_sigaction SYS_rt_sigprocmask SYS_rt_sigreturn SYS_rt_sigsuspend SYS_sigaltstack
        SYS_set_tid_address SYS_set_robust_list SYS_rseq SYS_prctl SYS_prlimit64 SYS_getrandom
        SYS_getpid SYS_getppid SYS_gettid SYS_getuid SYS_geteuid SYS_getgid SYS_getegid
        SYS_getrusage SYS_uname SYS_sysinfo
    }

    /// Calls that newer architectures do not have.
    #[cfg(target_arch = "x86_64")]
    fn older {
        SYS_open SYS_stat SYS_lstat SYS_access SYS_pipe SYS_select SYS_poll SYS_epoll_wait SYS_dup2
        SYS_fork SYS_vfork SYS_accept SYS_unlink SYS_readlink
        SYS_getpgrp SYS_arch_prctl SYS_alarm SYS_time
    }
}

#[cfg(not(target_arch = "x86_64"))]
fn older(_: i64) -> Option<&'static str> {
    None
}

/// Stands for the number of any call of a 32-bit program, or by `int 0x80`: such calls have numbers of their own.
pub const FOREIGN: i64 = 0xffff;

/// A call in words: its name where it is a common one, its number otherwise.
#[must_use]
pub fn name(number: i64) -> String {
    if number == FOREIGN {
        return "32-bit call".to_owned();
    }
    let known = transfer(number).or_else(|| other(number)).or_else(|| older(number));
    known.map_or_else(|| format!("system call {number}"), Into::into)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_are_told_apart() {
        assert_eq!(transfer(libc::SYS_write), Some("write"));
        assert_eq!(transfer(libc::SYS_mmap), None);
        assert_eq!(name(libc::SYS_getpid), "getpid");
        assert_eq!(name(-5), "system call -5");
    }
}

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

macro_rules! transfers {
    ($($name:ident $text:literal,)+) => {
        /// Calls that move data, wait for it, or wake who waits for it; `None` for all others.
        #[must_use]
        pub fn transfer(number: i64) -> Option<&'static str> {
            match number {
                $(libc::$name => Some($text),)+
                _ => None,
            }
        }
    };
}

transfers! {
    SYS_read "read",
    SYS_write "write",
    SYS_readv "readv",
    SYS_writev "writev",
    SYS_sendto "sendto",
    SYS_recvfrom "recvfrom",
    SYS_sendmsg "sendmsg",
    SYS_recvmsg "recvmsg",
    SYS_sendmmsg "sendmmsg",
    SYS_recvmmsg "recvmmsg",
    SYS_splice "splice",
    SYS_vmsplice "vmsplice",
    SYS_tee "tee",
    SYS_sendfile "sendfile",
    SYS_process_vm_readv "process_vm_readv",
    SYS_process_vm_writev "process_vm_writev",
    SYS_io_uring_enter "io_uring_enter",
    SYS_futex "futex",
    SYS_ppoll "ppoll",
    SYS_pselect6 "pselect6",
    SYS_epoll_pwait "epoll_pwait",
    SYS_mq_timedsend "mq_timedsend",
    SYS_mq_timedreceive "mq_timedreceive",
    SYS_msgsnd "msgsnd",
    SYS_msgrcv "msgrcv",
    SYS_semop "semop",
    SYS_semtimedop "semtimedop",
    SYS_rt_sigqueueinfo "rt_sigqueueinfo",
    SYS_rt_sigtimedwait "rt_sigtimedwait",
}

macro_rules! others {
    ($($name:ident $text:literal,)+) => {
        fn other(number: i64) -> Option<&'static str> {
            match number {
                $(libc::$name => Some($text),)+
                _ => None,
            }
        }
    };
}

others! {
    SYS_brk "brk",
    SYS_mmap "mmap",
    SYS_munmap "munmap",
    SYS_mremap "mremap",
    SYS_madvise "madvise",
    SYS_mprotect "mprotect",
    SYS_clock_gettime "clock_gettime",
    SYS_clock_nanosleep "clock_nanosleep",
    SYS_nanosleep "nanosleep",
    SYS_sched_yield "sched_yield",
    SYS_sched_getaffinity "sched_getaffinity",
    SYS_ioctl "ioctl",
    SYS_fcntl "fcntl",
    SYS_flock "flock",
    SYS_fstat "fstat",
    SYS_statx "statx",
    SYS_newfstatat "newfstatat",
    SYS_statfs "statfs",
    SYS_fstatfs "fstatfs",
    SYS_faccessat "faccessat",
    SYS_faccessat2 "faccessat2",
    SYS_readlinkat "readlinkat",
    SYS_getdents64 "getdents64",
    SYS_getcwd "getcwd",
    SYS_lseek "lseek",
    SYS_pread64 "pread64",
    SYS_pwrite64 "pwrite64",
    SYS_copy_file_range "copy_file_range",
    SYS_fadvise64 "fadvise64",
    SYS_fsync "fsync",
    SYS_fdatasync "fdatasync",
    SYS_openat "openat",
    SYS_unlinkat "unlinkat",
    SYS_close "close",
    SYS_close_range "close_range",
    SYS_dup "dup",
    SYS_dup3 "dup3",
    SYS_pipe2 "pipe2",
    SYS_memfd_create "memfd_create",
    SYS_ftruncate "ftruncate",
    SYS_socket "socket",
    SYS_socketpair "socketpair",
    SYS_bind "bind",
    SYS_listen "listen",
    SYS_accept4 "accept4",
    SYS_connect "connect",
    SYS_shutdown "shutdown",
    SYS_setsockopt "setsockopt",
    SYS_getsockopt "getsockopt",
    SYS_getsockname "getsockname",
    SYS_getpeername "getpeername",
    SYS_epoll_create1 "epoll_create1",
    SYS_epoll_ctl "epoll_ctl",
    SYS_eventfd2 "eventfd2",
    SYS_clone "clone",
    SYS_clone3 "clone3",
    SYS_execve "execve",
    SYS_exit "exit",
    SYS_exit_group "exit_group",
    SYS_wait4 "wait4",
    SYS_waitid "waitid",
    SYS_kill "kill",
    SYS_tgkill "tgkill",
    SYS_rt_sigaction "rt_sigaction",
    SYS_rt_sigprocmask "rt_sigprocmask",
    SYS_rt_sigreturn "rt_sigreturn",
    SYS_rt_sigsuspend "rt_sigsuspend",
    SYS_sigaltstack "sigaltstack",
    SYS_set_tid_address "set_tid_address",
    SYS_set_robust_list "set_robust_list",
    SYS_rseq "rseq",
    SYS_prctl "prctl",
    SYS_prlimit64 "prlimit64",
    SYS_getrandom "getrandom",
    SYS_getpid "getpid",
    SYS_getppid "getppid",
    SYS_gettid "gettid",
    SYS_getuid "getuid",
    SYS_geteuid "geteuid",
    SYS_getgid "getgid",
    SYS_getegid "getegid",
    SYS_getrusage "getrusage",
    SYS_uname "uname",
    SYS_sysinfo "sysinfo",
}

/// Calls that newer architectures do not have.
#[cfg(target_arch = "x86_64")]
fn older(number: i64) -> Option<&'static str> {
    Some(match number {
        libc::SYS_open => "open",
        libc::SYS_stat => "stat",
        libc::SYS_lstat => "lstat",
        libc::SYS_access => "access",
        libc::SYS_pipe => "pipe",
        libc::SYS_select => "select",
        libc::SYS_poll => "poll",
        libc::SYS_epoll_wait => "epoll_wait",
        libc::SYS_dup2 => "dup2",
        libc::SYS_fork => "fork",
        libc::SYS_vfork => "vfork",
        libc::SYS_accept => "accept",
        libc::SYS_unlink => "unlink",
        libc::SYS_readlink => "readlink",
        libc::SYS_getpgrp => "getpgrp",
        libc::SYS_arch_prctl => "arch_prctl",
        libc::SYS_alarm => "alarm",
        libc::SYS_time => "time",
        _ => return None,
    })
}

#[cfg(not(target_arch = "x86_64"))]
fn older(_: i64) -> Option<&'static str> {
    None
}

/// A call in words: its name where it is a common one, its number otherwise.
#[must_use]
pub fn name(number: i64) -> String {
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

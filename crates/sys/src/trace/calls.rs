//! System calls by number: what they are for, and their names.

/// Calls that get, give back or change memory.
#[must_use]
pub fn is_memory(number: i64) -> bool {
    [
        libc::SYS_brk,
        libc::SYS_mmap,
        libc::SYS_munmap,
        libc::SYS_mremap,
        libc::SYS_madvise,
        libc::SYS_mprotect,
    ]
    .contains(&number)
}

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

/// A call in words: its name where it is a common one, its number otherwise.
#[must_use]
pub fn name(number: i64) -> String {
    let other = match number {
        libc::SYS_brk => "brk",
        libc::SYS_mmap => "mmap",
        libc::SYS_munmap => "munmap",
        libc::SYS_mremap => "mremap",
        libc::SYS_madvise => "madvise",
        libc::SYS_mprotect => "mprotect",
        libc::SYS_clock_gettime => "clock_gettime",
        libc::SYS_clock_nanosleep => "clock_nanosleep",
        libc::SYS_sched_yield => "sched_yield",
        libc::SYS_ioctl => "ioctl",
        libc::SYS_fcntl => "fcntl",
        libc::SYS_fstat => "fstat",
        libc::SYS_statx => "statx",
        libc::SYS_lseek => "lseek",
        libc::SYS_openat => "openat",
        libc::SYS_unlinkat => "unlinkat",
        libc::SYS_close => "close",
        libc::SYS_memfd_create => "memfd_create",
        libc::SYS_ftruncate => "ftruncate",
        libc::SYS_getpid => "getpid",
        libc::SYS_getppid => "getppid",
        _ => return transfer(number).map_or_else(|| format!("system call {number}"), Into::into),
    };
    other.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_are_told_apart() {
        assert_eq!(transfer(libc::SYS_write), Some("write"));
        assert_eq!(transfer(libc::SYS_mmap), None);
        assert!(is_memory(libc::SYS_mmap) && !is_memory(libc::SYS_write));
        assert_eq!(name(libc::SYS_getpid), "getpid");
        assert_eq!(name(-5), "system call -5");
    }
}

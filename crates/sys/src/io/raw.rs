//! One system call, without the C library where the architecture is known.
//!
//! glibc's `read` and `write` are cancellation points, 11 to 17 percent slower per one-byte pipe operation once a
//! process has ever had a second thread (glibc 2.36), and `libc::syscall` is a variadic call through the GOT that
//! moves every argument once more.
//!
//! # Safety
//! A system call has the effects its manual page names. Callers of these functions pass pointers that are valid
//! for the lengths passed with them, and knows that the call does nothing else to this process's memory.

use std::ffi::c_long;

/// The kernel's return value: an error is `-errno`, between -4095 and -1.
#[inline(always)]
pub(crate) fn result(returned: isize) -> Result<usize, i32> {
    if (-4095..0).contains(&returned) {
        // In range by the line above.
        Err(-returned as i32)
    } else {
        Ok(returned as usize)
    }
}

/// A system call of three arguments.
///
/// # Safety
/// See the module.
#[inline(always)]
pub(crate) unsafe fn call3(number: c_long, a: usize, b: usize, c: usize) -> Result<usize, i32> {
    #[cfg(target_arch = "x86_64")]
    {
        let returned: isize;
        // SAFETY: the kernel's calling convention: it clobbers rcx and r11 and returns in rax; the stack and flags
        // stay. What it does to memory is the caller's promise.
        unsafe {
            core::arch::asm!("syscall", inlateout("rax") number as isize => returned,
                in("rdi") a, in("rsi") b, in("rdx") c, lateout("rcx") _, lateout("r11") _,
                options(nostack, preserves_flags));
        }
        result(returned)
    }
    #[cfg(target_arch = "aarch64")]
    {
        let returned: isize;
        // SAFETY: the kernel's calling convention: number in x8, result in x0, everything else stays. What it does to
        // memory is the caller's promise.
        unsafe {
            core::arch::asm!("svc 0", in("x8") number, inlateout("x0") a => returned, in("x1") b, in("x2") c,
                options(nostack, preserves_flags));
        }
        result(returned)
    }
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    {
        // SAFETY: the caller's promise.
        by_libc(unsafe { libc::syscall(number, a, b, c) })
    }
}

/// A system call of four to six arguments; those it does not take are ignored.
///
/// # Safety
/// See the module.
#[inline(always)]
pub(crate) unsafe fn call6(number: c_long, args: [usize; 6]) -> Result<usize, i32> {
    let [a, b, c, d, e, f] = args;
    #[cfg(target_arch = "x86_64")]
    {
        let returned: isize;
        // SAFETY: as in `call3`.
        unsafe {
            core::arch::asm!("syscall", inlateout("rax") number as isize => returned,
                in("rdi") a, in("rsi") b, in("rdx") c, in("r10") d, in("r8") e, in("r9") f,
                lateout("rcx") _, lateout("r11") _, options(nostack, preserves_flags));
        }
        result(returned)
    }
    #[cfg(target_arch = "aarch64")]
    {
        let returned: isize;
        // SAFETY: as in `call3`.
        unsafe {
            core::arch::asm!("svc 0", in("x8") number, inlateout("x0") a => returned, in("x1") b, in("x2") c,
                in("x3") d, in("x4") e, in("x5") f, options(nostack, preserves_flags));
        }
        result(returned)
    }
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    {
        // SAFETY: the caller's promise.
        by_libc(unsafe { libc::syscall(number, a, b, c, d, e, f) })
    }
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
#[inline(always)]
fn by_libc(returned: c_long) -> Result<usize, i32> {
    if returned == -1 { Err(super::last_errno()) } else { Ok(returned as usize) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_are_told_from_large_results() {
        assert_eq!(result(-4095), Err(4095));
        assert_eq!(result(-1), Err(1));
        assert_eq!(result(0), Ok(0));
        assert_eq!(result(-4096), Ok(usize::MAX - 4095));
    }

    #[test]
    fn the_kernel_answers_and_refuses() {
        // SAFETY: takes nothing, changes nothing.
        let pid = unsafe { call3(libc::SYS_getpid, 0, 0, 0) };
        assert_eq!(pid, Ok(std::process::id() as usize));
        // SAFETY: no descriptor has this number, so the null pointer is never looked at.
        let refused = unsafe { call3(libc::SYS_write, usize::MAX, 0, 0) };
        assert_eq!(refused, Err(libc::EBADF));
        // SAFETY: as above.
        let refused = unsafe { call6(libc::SYS_sendto, [usize::MAX, 0, 0, 0, 0, 0]) };
        assert_eq!(refused, Err(libc::EBADF));
    }
}

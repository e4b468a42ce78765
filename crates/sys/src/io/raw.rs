//! One system call, without the C library where the architecture is known.
//!
//! Two functions enter the kernel, and neither is ever inlined: every program calls a function for a system call and
//! returns from it, and its first return can be dear ([`crate::returns`] measures it). With the instruction in the timed
//! loop itself a pipe of 64 B on one CPU took 0.83 times as long as between programs in C. `cargo xtask asm` and a test below
//! hold it.
//!
//! Writing a byte to a pipe and reading it back (medians of 25 runs in turn, Zen 3, Safe RET) takes 599 ns with the
//! instruction inline, 821 ns by these functions, 821 ns by glibc's `read` and `write`, and 844 ns by those once the
//! process has had a second thread, as they are cancellation points. `libc::syscall` is a variadic call that moves every
//! argument once more.
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
    // SAFETY: the caller's promise.
    result(unsafe { enter3(a, b, c, number) })
}

/// A system call of four to six arguments; those it does not take are ignored.
///
/// # Safety
/// See the module.
#[inline(always)]
pub(crate) unsafe fn call6(number: c_long, args: [usize; 6]) -> Result<usize, i32> {
    let [a, b, c, d, e, f] = args;
    // SAFETY: the caller's promise.
    result(unsafe { enter6(a, b, c, d, e, f, number) })
}

/// Enters the kernel. The arguments stand where the kernel wants them, and the number moves, as in the C library.
///
/// # Safety
/// See the module.
#[inline(never)]
pub(crate) unsafe fn enter3(a: usize, b: usize, c: usize, number: c_long) -> isize {
    // SAFETY: the caller's promise.
    unsafe { inline3(a, b, c, number) }
}

/// The same with six arguments.
///
/// # Safety
/// See the module.
#[inline(never)]
pub(crate) unsafe fn enter6(
    a: usize,
    b: usize,
    c: usize,
    d: usize,
    e: usize,
    f: usize,
    number: c_long,
) -> isize {
    // SAFETY: the caller's promise.
    unsafe { inline6([a, b, c, d, e, f], number) }
}

/// The instruction where it stands, with no function around it and so no return after it. For [`crate::returns`] alone, which
/// measures what the return takes.
///
/// # Safety
/// See the module.
#[inline(always)]
pub(crate) unsafe fn inline3(a: usize, b: usize, c: usize, number: c_long) -> isize {
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
        returned
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
        returned
    }
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    {
        // SAFETY: the caller's promise.
        by_libc(unsafe { libc::syscall(number, a, b, c) })
    }
}

/// The same with six arguments.
///
/// # Safety
/// See the module.
#[inline(always)]
pub(crate) unsafe fn inline6(args: [usize; 6], number: c_long) -> isize {
    let [a, b, c, d, e, f] = args;
    #[cfg(target_arch = "x86_64")]
    {
        let returned: isize;
        // SAFETY: as in `inline3`.
        unsafe {
            core::arch::asm!("syscall", inlateout("rax") number as isize => returned,
                in("rdi") a, in("rsi") b, in("rdx") c, in("r10") d, in("r8") e, in("r9") f,
                lateout("rcx") _, lateout("r11") _, options(nostack, preserves_flags));
        }
        returned
    }
    #[cfg(target_arch = "aarch64")]
    {
        let returned: isize;
        // SAFETY: as in `inline3`.
        unsafe {
            core::arch::asm!("svc 0", in("x8") number, inlateout("x0") a => returned, in("x1") b, in("x2") c,
                in("x3") d, in("x4") e, in("x5") f, options(nostack, preserves_flags));
        }
        returned
    }
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    {
        // SAFETY: the caller's promise.
        by_libc(unsafe { libc::syscall(number, a, b, c, d, e, f) })
    }
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
#[inline(always)]
fn by_libc(returned: c_long) -> isize {
    if returned == -1 { -(super::last_errno() as isize) } else { returned as isize }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;
    use std::os::fd::AsRawFd;

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

    /// Where the kernel sees a thread come from that waits in this call for the first byte of a pipe; why that is not known.
    fn entered_at(call: fn(usize, usize)) -> Result<String, String> {
        let (reader, mut writer) = std::io::pipe().expect("a pipe");
        let (tell, hear) = std::sync::mpsc::channel();
        let waiting = std::thread::spawn(move || {
            // SAFETY: takes nothing, changes nothing.
            let thread = unsafe { call3(libc::SYS_gettid, 0, 0, 0) };
            tell.send(thread.expect("a thread has a number")).expect("the test listens");
            let mut byte = 0_u8;
            call(reader.as_raw_fd() as usize, (&raw mut byte) as usize);
        });
        let thread = hear.recv().expect("it says its number");
        let read = format!("{} ", libc::SYS_read);
        let found = loop {
            match std::fs::read_to_string(format!("/proc/self/task/{thread}/syscall")) {
                Ok(text) if text.starts_with(&read) => {
                    let last = text.split_ascii_whitespace().next_back();
                    break Ok(last.expect("the call has a place").to_owned());
                }
                Ok(_) => std::thread::yield_now(),
                Err(error) => break Err(error.to_string()),
            }
        };
        writer.write_all(&[1]).expect("the reader is there");
        waiting.join().expect("it reads its byte");
        found
    }

    #[test]
    fn callers_enter_the_kernel_at_one_place_and_so_return_from_a_function() {
        // An inlined call would be in each of the two callers.
        let one = |fd: usize, at| {
            // SAFETY: `at` is one writable byte for as long as the call takes.
            let _ = unsafe { call3(libc::SYS_read, fd, at, 1) };
        };
        let other = |fd: usize, at| {
            // SAFETY: `at` is one writable byte for as long as the call takes.
            let _ = unsafe { call3(libc::SYS_read, fd, at, 1) }.map(|got| got + fd);
        };
        let one6 = |fd: usize, at| {
            // SAFETY: as above.
            let _ = unsafe { call6(libc::SYS_read, [fd, at, 1, 0, 0, 0]) };
        };
        let other6 = |fd: usize, at| {
            // SAFETY: as above.
            let _ = unsafe { call6(libc::SYS_read, [fd, at, 1, 0, 0, 0]) }.map(|got| got + fd);
        };
        for [one, other] in [[one as fn(usize, usize), other], [one6, other6]] {
            match (entered_at(one), entered_at(other)) {
                (Ok(one), Ok(other)) => assert_eq!(one, other),
                (Err(why), _) | (_, Err(why)) => {
                    return crate::skipped::skipped("/proc/self/task/N/syscall", &why);
                }
            }
        }
    }
}

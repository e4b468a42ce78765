//! The system calls and the clock of the bare loops, with nothing between them and the kernel: no
//! C library wrapper (glibc's read and write take another path once a second thread has existed),
//! no error type, no retry that a C program would not have.

use std::sync::atomic::AtomicU32;

/// The negated `errno` of a failed call, or 0 for an unexpected end of file.
pub(crate) type Errno = i32;

#[cfg(target_arch = "x86_64")]
mod raw {
    /// # Safety
    /// The arguments must be what the system call expects.
    #[inline(always)]
    pub(crate) unsafe fn call3(number: i64, a: usize, b: usize, c: usize) -> isize {
        let result;
        // SAFETY: the caller vouches for the arguments; the kernel clobbers rcx and r11 only.
        unsafe {
            std::arch::asm!("syscall", inlateout("rax") number as isize => result,
                in("rdi") a, in("rsi") b, in("rdx") c,
                lateout("rcx") _, lateout("r11") _, options(nostack));
        }
        result
    }

    /// # Safety
    /// The arguments must be what the system call expects.
    #[inline(always)]
    pub(crate) unsafe fn call4(number: i64, a: usize, b: usize, c: usize, d: usize) -> isize {
        let result;
        // SAFETY: as in `call3`.
        unsafe {
            std::arch::asm!("syscall", inlateout("rax") number as isize => result,
                in("rdi") a, in("rsi") b, in("rdx") c, in("r10") d,
                lateout("rcx") _, lateout("r11") _, options(nostack));
        }
        result
    }

    /// Ticks before an operation: nothing of it runs before the reading, nothing earlier after.
    #[inline(always)]
    pub(crate) fn start_ticks() -> u64 {
        let ticks = stop_ticks();
        // SAFETY: exists on every x86-64 and touches no memory.
        unsafe { core::arch::x86_64::_mm_lfence() };
        ticks
    }

    /// Ticks after an operation: all of it has run before the reading.
    #[inline(always)]
    pub(crate) fn stop_ticks() -> u64 {
        // SAFETY: both instructions exist on every x86-64 and touch no memory.
        unsafe {
            core::arch::x86_64::_mm_lfence();
            core::arch::x86_64::_rdtsc()
        }
    }
}

#[cfg(not(target_arch = "x86_64"))]
mod raw {
    fn negated(result: libc::c_long) -> isize {
        if result < 0 {
            -(std::io::Error::last_os_error().raw_os_error().unwrap_or(libc::EIO) as isize)
        } else {
            result as isize
        }
    }

    /// # Safety
    /// The arguments must be what the system call expects.
    #[inline(always)]
    pub(crate) unsafe fn call3(number: i64, a: usize, b: usize, c: usize) -> isize {
        // SAFETY: the caller vouches for the arguments.
        negated(unsafe { libc::syscall(number as libc::c_long, a, b, c) })
    }

    /// # Safety
    /// The arguments must be what the system call expects.
    #[inline(always)]
    pub(crate) unsafe fn call4(number: i64, a: usize, b: usize, c: usize, d: usize) -> isize {
        // SAFETY: the caller vouches for the arguments.
        negated(unsafe { libc::syscall(number as libc::c_long, a, b, c, d) })
    }

    /// Nanoseconds.
    #[inline(always)]
    pub(crate) fn start_ticks() -> u64 {
        super::nanoseconds()
    }

    /// Nanoseconds.
    #[inline(always)]
    pub(crate) fn stop_ticks() -> u64 {
        super::nanoseconds()
    }
}

pub(crate) use raw::{start_ticks, stop_ticks};

/// Writes the whole buffer.
#[inline(always)]
pub(crate) fn write_all(fd: i32, buffer: &[u8]) -> Result<(), Errno> {
    let mut done = 0;
    while done < buffer.len() {
        // SAFETY: the range lies inside `buffer`.
        let result = unsafe {
            let from = buffer.as_ptr().add(done) as usize;
            raw::call3(libc::SYS_write, fd as usize, from, buffer.len() - done)
        };
        if result <= 0 {
            return Err(result as Errno);
        }
        done += result as usize;
    }
    Ok(())
}

/// Fills the whole buffer.
#[inline(always)]
pub(crate) fn read_exact(fd: i32, buffer: &mut [u8]) -> Result<(), Errno> {
    let mut done = 0;
    while done < buffer.len() {
        // SAFETY: the range lies inside `buffer`.
        let result = unsafe {
            let to = buffer.as_mut_ptr().add(done) as usize;
            raw::call3(libc::SYS_read, fd as usize, to, buffer.len() - done)
        };
        if result <= 0 {
            return Err(result as Errno);
        }
        done += result as usize;
    }
    Ok(())
}

/// Wakes one waiter, in whatever process.
#[inline(always)]
pub(crate) fn futex_wake(word: &AtomicU32) {
    // SAFETY: FUTEX_WAKE uses the address as a key and does not write.
    unsafe {
        raw::call3(libc::SYS_futex, word.as_ptr() as usize, libc::FUTEX_WAKE as usize, 1);
    }
}

/// Sleeps unless the word no longer holds `value`; may return early, so the caller looks again.
#[inline(always)]
pub(crate) fn futex_wait(word: &AtomicU32, value: u32) {
    // SAFETY: the word is alive; no timeout is passed.
    unsafe {
        let address = word.as_ptr() as usize;
        raw::call4(libc::SYS_futex, address, libc::FUTEX_WAIT as usize, value as usize, 0);
    }
}

/// The monotonic clock.
pub(crate) fn nanoseconds() -> u64 {
    let mut now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `now` is writable; the clock exists on every Linux.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &mut now) };
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

/// How many ticks a nanosecond has. Takes 50 ms: with a clock read of some 50 ns at either end the
/// error is about 2 parts in a million.
pub(crate) fn ticks_per_nanosecond() -> f64 {
    let (ticks_before, before) = (stop_ticks(), nanoseconds());
    while nanoseconds() - before < 50_000_000 {
        std::hint::spin_loop();
    }
    let (ticks_after, after) = (stop_ticks(), nanoseconds());
    (ticks_after - ticks_before) as f64 / (after - before) as f64
}

/// The smallest step in which the ticks advance, in ticks: some machines count by tens of them, and
/// no median is finer.
pub(crate) fn tick_step() -> u64 {
    let mut last = stop_ticks();
    let mut step = || {
        let now = stop_ticks();
        now - std::mem::replace(&mut last, now)
    };
    // All differences are multiples of the step; a thousand of them leave no common factor.
    (0..1000).fold(0, |common, _| common_divisor(common, step()))
}

fn common_divisor(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { common_divisor(b, a % b) }
}

/// Writes one fresh word per 64-byte line, as touch=cacheline asks of a sender.
#[inline(always)]
pub(crate) fn write_lines(buffer: &mut [u8], word: u64) {
    let (lines, rest) = buffer.as_chunks_mut::<64>();
    for line in lines {
        line[..8].copy_from_slice(&word.to_ne_bytes());
    }
    if let Some(rest) = rest.first_chunk_mut::<8>() {
        *rest = word.to_ne_bytes();
    } else if let Some(first) = rest.first_mut() {
        *first = word as u8;
    }
}

/// Loads one word per 64-byte line, as touch=cacheline asks of a receiver.
#[inline(always)]
pub(crate) fn read_lines(buffer: &[u8]) -> u64 {
    let (lines, rest) = buffer.as_chunks::<64>();
    let mut sum = 0_u64;
    for line in lines {
        // SAFETY: a line has at least 8 bytes, and any 8 bytes are a u64.
        sum = sum.wrapping_add(unsafe { line.as_ptr().cast::<u64>().read_unaligned() });
    }
    if let Some(rest) = rest.first_chunk::<8>() {
        sum.wrapping_add(u64::from_ne_bytes(*rest))
    } else {
        sum.wrapping_add(u64::from(rest.first().copied().unwrap_or(0)))
    }
}

/// The time between two reads; a sample of more than a second or so is all the same too long.
#[inline(always)]
pub(crate) fn elapsed(from: u64, to: u64) -> u32 {
    (to - from).min(u64::from(u32::MAX)) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_per_line_is_what_is_read_per_line() {
        for len in [1, 7, 8, 63, 64, 65, 72, 4096] {
            let mut buffer = vec![0; len];
            write_lines(&mut buffer, 3);
            let words = if len % 64 == 0 { len / 64 } else { len / 64 + 1 };
            assert_eq!(read_lines(&buffer), 3 * words as u64, "{len} bytes");
        }
    }

    #[test]
    fn the_step_is_the_greatest_common_divisor_of_differences() {
        assert_eq!([52, 78, 0, 104].into_iter().fold(0, common_divisor), 26);
        assert!(tick_step() > 0);
    }

    #[test]
    fn ticks_advance_with_the_clock() {
        let rate = ticks_per_nanosecond();
        assert!(rate.is_finite() && rate > 0.0, "{rate}");
    }
}

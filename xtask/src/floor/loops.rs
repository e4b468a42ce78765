//! The bare loops, apart from the product: raw calls and shared words in a loop, one word written and one loaded per
//! cache line, and a pair of time stamps. What they cost is what the mechanism costs. The two methods of an end are
//! compiled into the loop that calls them. A system call is a call of a function that returns, as in every program and in
//! ipcperf itself: without the return a pipe on one CPU takes a sixth less.

use std::fs::File;
use std::hint::{black_box, spin_loop};
use std::io;
use std::os::fd::AsRawFd;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::*};

use super::case::Pattern;

/// One end of a channel.
pub(crate) trait End {
    fn send(&mut self) -> io::Result<()>;
    fn receive(&mut self) -> io::Result<()>;
}

/// Runs `count` messages as the lead; a round trip leaves one sample per message, the mean of its batch.
pub(crate) fn lead(
    end: &mut impl End,
    pattern: Pattern,
    count: usize,
    batch: usize,
    samples: &mut [u32],
) -> io::Result<()> {
    match pattern {
        Pattern::PingPong => {
            for batch in samples[..count].chunks_mut(batch) {
                let start = start_ticks();
                for _ in 0..batch.len() {
                    end.send()?;
                    end.receive()?;
                }
                let elapsed = elapsed(start, stop_ticks());
                batch.fill(elapsed / batch.len() as u32);
            }
        }
        Pattern::Stream => {
            for _ in 0..count {
                end.send()?;
            }
        }
        Pattern::Serve => unreachable!("a server has loops of its own"),
    }
    Ok(())
}

/// Runs `count` messages as the follow.
pub(crate) fn follow(end: &mut impl End, pattern: Pattern, count: usize) -> io::Result<()> {
    match pattern {
        Pattern::PingPong => {
            for _ in 0..count {
                end.receive()?;
                end.send()?;
            }
        }
        Pattern::Stream => {
            for _ in 0..count {
                end.receive()?;
            }
        }
        Pattern::Serve => unreachable!("a server has loops of its own"),
    }
    Ok(())
}

/// Ticks before an operation: nothing of it runs before the reading, nothing earlier after.
#[inline(always)]
pub(crate) fn start_ticks() -> u64 {
    let ticks = stop_ticks();
    #[cfg(target_arch = "x86_64")]
    // SAFETY: exists on every x86-64 and touches no memory.
    unsafe {
        std::arch::x86_64::_mm_lfence();
    }
    ticks
}

/// Ticks after an operation: all of it has run before the reading.
#[inline(always)]
pub(crate) fn stop_ticks() -> u64 {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: both instructions exist on every x86-64 and touch no memory.
    unsafe {
        std::arch::x86_64::_mm_lfence();
        std::arch::x86_64::_rdtsc()
    }
    #[cfg(not(target_arch = "x86_64"))]
    {
        let mut now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
        // SAFETY: `now` is writable; the clock exists on every Linux.
        unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &mut now) };
        now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
    }
}

/// The time between two readings; a sample of more than a second or so is all the same too long.
#[inline(always)]
pub(crate) fn elapsed(from: u64, to: u64) -> u32 {
    (to - from).min(u64::from(u32::MAX)) as u32
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

/// A system call; the result is its own, or a negated `errno`. Never inlined, as no function of the C library is.
///
/// # Safety
/// The arguments must be what the system call expects.
#[inline(never)]
unsafe fn call(a: usize, b: usize, c: usize, d: usize, number: libc::c_long) -> isize {
    #[cfg(target_arch = "x86_64")]
    {
        let result;
        // SAFETY: the caller vouches for the arguments; the kernel clobbers rcx and r11 only.
        unsafe {
            std::arch::asm!("syscall", inlateout("rax") number as isize => result,
                in("rdi") a, in("rsi") b, in("rdx") c, in("r10") d,
                lateout("rcx") _, lateout("r11") _, options(nostack));
        }
        result
    }
    #[cfg(not(target_arch = "x86_64"))]
    // SAFETY: the caller vouches for the arguments.
    match unsafe { libc::syscall(number, a, b, c, d) } {
        -1 => -(io::Error::last_os_error().raw_os_error().unwrap_or(libc::EIO) as isize),
        result => result as isize,
    }
}

/// Reads or writes the whole buffer.
///
/// # Safety
/// The call takes a descriptor, an address and a length, and what it does to these bytes is permitted.
#[inline(always)]
unsafe fn transfer(
    number: libc::c_long,
    file: &impl AsRawFd,
    start: *const u8,
    len: usize,
) -> io::Result<()> {
    let mut done = 0;
    while done < len {
        let from = start.wrapping_add(done) as usize;
        // SAFETY: the range lies inside the buffer.
        match unsafe { call(file.as_raw_fd() as usize, from, len - done, 0, number) } {
            0 => return Err(io::ErrorKind::UnexpectedEof.into()),
            count if count > 0 => done += count as usize,
            errno => return Err(io::Error::from_raw_os_error(-errno as i32)),
        }
    }
    Ok(())
}

/// Reads until the buffer is full.
#[inline(always)]
pub(crate) fn whole(file: &impl AsRawFd, buffer: &mut [u8]) -> io::Result<()> {
    // SAFETY: the kernel writes inside the buffer only, and any bytes will do.
    unsafe { transfer(libc::SYS_read, file, buffer.as_mut_ptr(), buffer.len()) }
}

/// Writes all of the buffer.
#[inline(always)]
pub(crate) fn all(file: &impl AsRawFd, buffer: &[u8]) -> io::Result<()> {
    // SAFETY: the kernel reads the buffer only.
    unsafe { transfer(libc::SYS_write, file, buffer.as_ptr(), buffer.len()) }
}

/// Waits for events of an epoll instance without a limit; returns how many there are.
///
/// # Safety
/// There is room for so many events.
#[inline(always)]
pub(crate) unsafe fn wait(
    epoll: i32,
    events: *mut libc::epoll_event,
    most: usize,
) -> io::Result<usize> {
    loop {
        // SAFETY: the caller has the room; a limit of -1 is none.
        #[cfg(target_arch = "x86_64")]
        let count = unsafe {
            call(epoll as usize, events as usize, most, usize::MAX, libc::SYS_epoll_wait)
        };
        #[cfg(not(target_arch = "x86_64"))]
        // SAFETY: likewise.
        let count = match unsafe { libc::epoll_wait(epoll, events, most as i32, -1) } {
            -1 => -(io::Error::last_os_error().raw_os_error().unwrap_or(libc::EIO) as isize),
            count => count as isize,
        };
        match count {
            count if count >= 0 => return Ok(count as usize),
            errno if -errno as i32 == libc::EINTR => {}
            errno => return Err(io::Error::from_raw_os_error(-errno as i32)),
        }
    }
}

/// Descriptors: pipe, socket, eventfd.
pub(crate) struct Bytes {
    pub(crate) reader: File,
    pub(crate) writer: File,
    pub(crate) incoming: &'static mut [u8],
    pub(crate) outgoing: &'static mut [u8],
    pub(crate) seq: u64,
}

impl End for Bytes {
    #[inline(always)]
    fn send(&mut self) -> io::Result<()> {
        // Never 0, for which an eventfd would not wake its reader.
        self.seq += 1;
        write_lines(self.outgoing, self.seq);
        let (start, len) = (self.outgoing.as_ptr(), self.outgoing.len());
        // SAFETY: the kernel reads the buffer only.
        unsafe { transfer(libc::SYS_write, &self.writer, start, len) }
    }

    #[inline(always)]
    fn receive(&mut self) -> io::Result<()> {
        let (start, len) = (self.incoming.as_mut_ptr(), self.incoming.len());
        // SAFETY: the buffer is this end's alone, and any bytes will do.
        unsafe { transfer(libc::SYS_read, &self.reader, start, len)? };
        black_box(read_lines(self.incoming));
        Ok(())
    }
}

/// The words of one direction, in a pair of cache lines of their own: the prefetcher pulls lines in pairs.
#[derive(Default)]
#[repr(C, align(128))]
pub(crate) struct Line {
    flag: AtomicU32,
    payload: AtomicU64,
}

/// A turn word for each direction, woken and waited for in the kernel.
pub(crate) struct Futex {
    pub(crate) out: &'static Line,
    pub(crate) into: &'static Line,
    pub(crate) sent: u32,
    pub(crate) received: u32,
}

impl End for Futex {
    #[inline(always)]
    fn send(&mut self) -> io::Result<()> {
        self.sent = self.sent.wrapping_add(1);
        let word = &self.out.flag;
        word.store(self.sent, Release);
        // SAFETY: FUTEX_WAKE uses the address as a key and does not write.
        unsafe { call(word.as_ptr() as usize, libc::FUTEX_WAKE as usize, 1, 0, libc::SYS_futex) };
        Ok(())
    }

    #[inline(always)]
    fn receive(&mut self) -> io::Result<()> {
        self.received = self.received.wrapping_add(1);
        let word = &self.into.flag;
        loop {
            let value = word.load(Acquire);
            if value == self.received {
                return Ok(());
            }
            let (address, wait) = (word.as_ptr() as usize, libc::FUTEX_WAIT as usize);
            // SAFETY: the word is alive; there is no time limit. It may return early, so the word is read again.
            unsafe { call(address, wait, value as usize, 0, libc::SYS_futex) };
        }
    }
}

/// Eight bytes beside a flag, one store each: nothing that carries 8 bytes can do less.
pub(crate) struct Flag {
    pub(crate) out: &'static Line,
    pub(crate) into: &'static Line,
    pub(crate) sent: u32,
    pub(crate) received: u32,
}

impl End for Flag {
    #[inline(always)]
    fn send(&mut self) -> io::Result<()> {
        self.sent = self.sent.wrapping_add(1);
        self.out.payload.store(self.sent.into(), Relaxed);
        self.out.flag.store(self.sent, Release);
        Ok(())
    }

    #[inline(always)]
    fn receive(&mut self) -> io::Result<()> {
        self.received = self.received.wrapping_add(1);
        while self.into.flag.load(Acquire) != self.received {
            spin_loop();
        }
        black_box(self.into.payload.load(Relaxed));
        Ok(())
    }
}

/// What the slots of a ring take in all, about: a cache-sized ring beats a larger one by half.
const RING_BUDGET: usize = 1 << 20;

/// A slot: its turn, then the payload in the same line, then more lines. Small ones share a line, as in the product.
fn stride(bytes: usize) -> usize {
    let needed = 8 + bytes;
    if needed <= 64 { needed.next_power_of_two() } else { needed.next_multiple_of(64) }
}

/// A power of two, so that the turn of a slot is a shift away; the nearest, as in the product.
fn slots(bytes: usize) -> usize {
    1 << (RING_BUDGET * 3 / 2 / stride(bytes)).clamp(2, 1024).ilog2()
}

/// One direction. The word of a slot counts up: 2t while free for turn t, 2t + 1 while full, so each end learns from
/// the slot alone whether it may go on.
pub(crate) struct Ring {
    memory: *mut u8,
    bytes: usize,
    stride: usize,
    mask: u64,
    shift: u32,
    seq: u64,
}

impl Ring {
    /// Bytes of a ring for messages of `bytes`.
    pub(crate) fn size(bytes: usize) -> usize {
        slots(bytes) * stride(bytes)
    }

    /// # Safety
    /// There are [`Ring::size`] bytes at `memory`, aligned and zeroed, to the end of the process.
    pub(crate) unsafe fn new(memory: *mut u8, bytes: usize) -> Self {
        let slots = slots(bytes);
        let (mask, shift) = (slots as u64 - 1, slots.ilog2());
        Self { memory, bytes, stride: stride(bytes), mask, shift, seq: 0 }
    }

    /// The next slot: its word, its payload, and the word's value while it is free.
    #[inline(always)]
    fn next(&mut self) -> (&'static AtomicU32, *mut u8, u32) {
        let seq = self.seq;
        self.seq += 1;
        // SAFETY: the index is masked to the slots of the ring.
        unsafe {
            let start = self.memory.add((seq & self.mask) as usize * self.stride);
            let turn = ((seq >> self.shift) as u32).wrapping_mul(2);
            (AtomicU32::from_ptr(start.cast()), start.add(8), turn)
        }
    }
}

/// A ring for each direction. The sender writes into the slot, the receiver copies out of it.
pub(crate) struct Rings {
    pub(crate) out: Ring,
    pub(crate) into: Ring,
    pub(crate) own: &'static mut [u8],
}

impl End for Rings {
    #[inline(always)]
    fn send(&mut self) -> io::Result<()> {
        let (word, payload, turn) = self.out.next();
        while word.load(Acquire) != turn {
            spin_loop();
        }
        // SAFETY: the word says the slot is free, so this end has it alone until the store.
        let payload = unsafe { std::slice::from_raw_parts_mut(payload, self.out.bytes) };
        write_lines(payload, self.out.seq);
        word.store(turn.wrapping_add(1), Release);
        Ok(())
    }

    /// Copies the message, gives the slot back, then looks at the copy.
    #[inline(always)]
    fn receive(&mut self) -> io::Result<()> {
        let (word, payload, turn) = self.into.next();
        while word.load(Acquire) != turn.wrapping_add(1) {
            spin_loop();
        }
        // SAFETY: the word says the slot is full, so this end has it alone until the store.
        let payload = unsafe { std::slice::from_raw_parts(payload, self.own.len()) };
        self.own.copy_from_slice(payload);
        word.store(turn.wrapping_add(2), Release);
        black_box(read_lines(self.own));
        Ok(())
    }
}

pub(super) fn pin(cpu: usize) -> io::Result<()> {
    if cpu >= libc::CPU_SETSIZE as usize {
        return Err(io::Error::from_raw_os_error(libc::EINVAL));
    }
    // SAFETY: a zeroed set is an empty one, and the CPU lies within it.
    let failed = unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        libc::CPU_SET(cpu, &mut set);
        libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), &set)
    } != 0;
    if failed { Err(io::Error::last_os_error()) } else { Ok(()) }
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
    fn a_ring_is_about_a_mebibyte_unless_messages_are_tiny_or_huge() {
        for bytes in [64, 4 << 10, 64 << 10] {
            let about = RING_BUDGET / 16..=RING_BUDGET * 3 / 2;
            assert!(about.contains(&Ring::size(bytes)), "{bytes}");
        }
        assert_eq!((stride(1), stride(8), stride(57)), (16, 16, 128));
        assert_eq!([1 << 20, 64 << 10, 4 << 10].map(slots), [2, 16, 256]);
    }
}

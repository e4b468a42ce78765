//! The bare loops over a ring of slots in shared memory, as a stream and as a pair of rings for round trips. The sender
//! writes into the slot, the receiver copies out of it. Both ends spin, so they need two CPUs.

use std::hint::{black_box, spin_loop};
use std::sync::atomic::{AtomicU32, Ordering::*};

use super::bare_memory::{ring_bytes, slots, stride};
use super::bare_plumbing::Ends;
use super::bare_sys::{Errno, elapsed, read_lines, start_ticks, stop_ticks, write_lines};

/// One direction. The word of a slot counts up: 2t while free for turn t, 2t + 1 while full, so each end learns from
/// the slot alone whether it may go on.
struct Ring {
    memory: *mut u8,
    bytes: usize,
    stride: usize,
    mask: u64,
    shift: u32,
}

impl Ring {
    fn of(ends: &Ends, index: usize) -> Self {
        let (bytes, slots) = (ends.bytes, slots(ends.bytes));
        // SAFETY: the plumbing mapped two rings; they live until the process ends.
        let memory = unsafe { ends.memory.add(index * ring_bytes(bytes)) };
        Self { memory, bytes, stride: stride(bytes), mask: slots as u64 - 1, shift: slots.ilog2() }
    }

    #[inline(always)]
    fn slot(&self, seq: u64) -> (&'static AtomicU32, *mut u8, u32) {
        // SAFETY: the index is masked to the slots that the plumbing mapped.
        unsafe {
            let start = self.memory.add((seq & self.mask) as usize * self.stride);
            let turn = ((seq >> self.shift) as u32).wrapping_mul(2);
            (AtomicU32::from_ptr(start.cast()), start.add(8), turn)
        }
    }

    #[inline(always)]
    fn send(&self, seq: u64) {
        let (word, payload, turn) = self.slot(seq);
        while word.load(Acquire) != turn {
            spin_loop();
        }
        // SAFETY: the word says the slot is free, so this end has it alone until the store.
        write_lines(unsafe { std::slice::from_raw_parts_mut(payload, self.bytes) }, seq);
        word.store(turn.wrapping_add(1), Release);
    }

    /// Copies the message into `own`, gives the slot back, then looks at the copy.
    #[inline(always)]
    fn receive(&self, seq: u64, own: &mut [u8]) -> u64 {
        let (word, payload, turn) = self.slot(seq);
        while word.load(Acquire) != turn.wrapping_add(1) {
            spin_loop();
        }
        // SAFETY: the word says the slot is full, so this end has it alone until the store.
        own.copy_from_slice(unsafe { std::slice::from_raw_parts(payload, own.len()) });
        word.store(turn.wrapping_add(2), Release);
        read_lines(own)
    }
}

pub(crate) fn stream_lead(ends: &mut Ends, count: u64, _: &mut [u32]) -> Result<(), Errno> {
    let ring = Ring::of(ends, 0);
    for seq in ends.seq..ends.seq + count {
        ring.send(seq);
    }
    ends.seq += count;
    Ok(())
}

pub(crate) fn stream_follow(ends: &mut Ends, count: u64) -> Result<(), Errno> {
    let ring = Ring::of(ends, 0);
    let mut sum = 0_u64;
    for seq in ends.seq..ends.seq + count {
        sum = sum.wrapping_add(ring.receive(seq, ends.incoming));
    }
    black_box(sum);
    ends.seq += count;
    Ok(())
}

pub(crate) fn trip_lead(ends: &mut Ends, count: u64, samples: &mut [u32]) -> Result<(), Errno> {
    let (ping, pong) = (Ring::of(ends, 0), Ring::of(ends, 1));
    let (mut seq, mut sum) = (ends.seq, 0_u64);
    for batch in samples[..count as usize].chunks_mut(ends.batch as usize) {
        let start = start_ticks();
        for _ in 0..batch.len() {
            ping.send(seq);
            sum = sum.wrapping_add(pong.receive(seq, ends.incoming));
            seq += 1;
        }
        // Each gets the mean: the median over them is then that of the batches.
        let mean = elapsed(start, stop_ticks()) / batch.len() as u32;
        batch.fill(mean);
    }
    black_box(sum);
    ends.seq = seq;
    Ok(())
}

pub(crate) fn trip_follow(ends: &mut Ends, count: u64) -> Result<(), Errno> {
    let (ping, pong) = (Ring::of(ends, 0), Ring::of(ends, 1));
    let mut sum = 0_u64;
    for seq in ends.seq..ends.seq + count {
        sum = sum.wrapping_add(ping.receive(seq, ends.incoming));
        pong.send(seq);
    }
    black_box(sum);
    ends.seq += count;
    Ok(())
}

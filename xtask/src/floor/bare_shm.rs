//! The bare loops over shared memory: a flag, a flag with its payload, a ring of slots. Both ends
//! spin, so they need two CPUs.

use std::hint::{black_box, spin_loop};
use std::sync::atomic::{AtomicU32, Ordering::*};

use super::bare_loops::elapsed;
use super::bare_plumbing::Ends;
use super::bare_sys::{Errno, read_lines, start_ticks, stop_ticks, write_lines};

/// A cache line; the adjacent-line prefetcher pulls lines in pairs, so unrelated words keep two.
const LINE: usize = 64;

/// Bytes of one direction of the flag loop: the flag, then the payload, in one line if it fits.
pub(crate) fn lane_bytes(bytes: usize) -> usize {
    (payload_offset(bytes) + bytes).next_multiple_of(2 * LINE)
}

fn payload_offset(bytes: usize) -> usize {
    if bytes <= LINE - 8 { 8 } else { LINE }
}

/// One direction of the flag loop.
struct Lane {
    flag: &'static AtomicU32,
    payload: *mut u8,
    bytes: usize,
}

impl Lane {
    fn of(ends: &Ends, index: usize) -> Self {
        let bytes = ends.bytes;
        // SAFETY: the plumbing mapped two lanes; they live until the process ends.
        unsafe {
            let start = ends.memory.add(index * lane_bytes(bytes));
            Self {
                flag: AtomicU32::from_ptr(start.cast()),
                payload: start.add(payload_offset(bytes)),
                bytes,
            }
        }
    }

    #[inline(always)]
    fn send(&self, turn: u32) {
        // SAFETY: the peer looks at the payload only after the flag has changed, and has answered
        // the message before, so this end has the payload alone.
        write_lines(
            unsafe { std::slice::from_raw_parts_mut(self.payload, self.bytes) },
            turn.into(),
        );
        self.flag.store(turn, Release);
    }

    #[inline(always)]
    fn receive(&self, turn: u32) -> u64 {
        while self.flag.load(Acquire) != turn {
            spin_loop();
        }
        // SAFETY: the flag says the payload is complete, and the peer waits for the answer.
        read_lines(unsafe { std::slice::from_raw_parts(self.payload, self.bytes) })
    }
}

pub(crate) fn flag_lead(ends: &mut Ends, count: u64, samples: &mut [u32]) -> Result<(), Errno> {
    let (ping, pong) = (Lane::of(ends, 0), Lane::of(ends, 1));
    let mut turn = ends.seq as u32;
    let mut sum = 0_u64;
    if ends.bytes == 8 {
        for sample in &mut samples[..count as usize] {
            turn = turn.wrapping_add(1);
            let start = start_ticks();
            send_word(&ping, turn);
            sum = sum.wrapping_add(receive_word(&pong, turn));
            *sample = elapsed(start, stop_ticks());
        }
    } else {
        for sample in &mut samples[..count as usize] {
            turn = turn.wrapping_add(1);
            let start = start_ticks();
            ping.send(turn);
            sum = sum.wrapping_add(pong.receive(turn));
            *sample = elapsed(start, stop_ticks());
        }
    }
    black_box(sum);
    ends.seq += count;
    Ok(())
}

pub(crate) fn flag_follow(ends: &mut Ends, count: u64) -> Result<(), Errno> {
    let (ping, pong) = (Lane::of(ends, 0), Lane::of(ends, 1));
    let mut turn = ends.seq as u32;
    let mut sum = 0_u64;
    if ends.bytes == 8 {
        for _ in 0..count {
            turn = turn.wrapping_add(1);
            sum = sum.wrapping_add(receive_word(&ping, turn));
            send_word(&pong, turn);
        }
    } else {
        for _ in 0..count {
            turn = turn.wrapping_add(1);
            sum = sum.wrapping_add(ping.receive(turn));
            pong.send(turn);
        }
    }
    black_box(sum);
    ends.seq += count;
    Ok(())
}

/// Eight bytes beside the flag, one store: nothing that carries 8 bytes can do less.
#[inline(always)]
fn send_word(lane: &Lane, turn: u32) {
    // SAFETY: as in `Lane::send`; the payload of 8 bytes is at offset 8 of a line.
    unsafe { lane.payload.cast::<u64>().write_volatile(turn.into()) };
    lane.flag.store(turn, Release);
}

#[inline(always)]
fn receive_word(lane: &Lane, turn: u32) -> u64 {
    while lane.flag.load(Acquire) != turn {
        spin_loop();
    }
    // SAFETY: as in `Lane::receive`.
    unsafe { lane.payload.cast::<u64>().read_volatile() }
}

/// Nothing but the flag: the price of a cache line there and back.
pub(crate) fn line_lead(ends: &mut Ends, count: u64, samples: &mut [u32]) -> Result<(), Errno> {
    let (ping, pong) = (Lane::of(ends, 0).flag, Lane::of(ends, 1).flag);
    let mut turn = ends.seq as u32;
    for sample in &mut samples[..count as usize] {
        turn = turn.wrapping_add(1);
        let start = start_ticks();
        ping.store(turn, Release);
        while pong.load(Acquire) != turn {
            spin_loop();
        }
        *sample = elapsed(start, stop_ticks());
    }
    ends.seq += count;
    Ok(())
}

pub(crate) fn line_follow(ends: &mut Ends, count: u64) -> Result<(), Errno> {
    let (ping, pong) = (Lane::of(ends, 0).flag, Lane::of(ends, 1).flag);
    let mut turn = ends.seq as u32;
    for _ in 0..count {
        turn = turn.wrapping_add(1);
        while ping.load(Acquire) != turn {
            spin_loop();
        }
        pong.store(turn, Release);
    }
    ends.seq += count;
    Ok(())
}

/// What the slots of a ring take in all, about: a cache-sized ring beats a larger one by half.
const RING_BUDGET: usize = 1 << 20;

/// A slot: its turn, then the payload in the same line, then more lines.
fn stride(bytes: usize) -> usize {
    (8 + bytes).next_multiple_of(LINE)
}

/// A power of two, so that the turn of a slot is a shift away.
fn slots(bytes: usize) -> usize {
    let fitting = (RING_BUDGET / stride(bytes)).clamp(2, 1024);
    1 << fitting.ilog2()
}

/// Bytes of the ring for messages of `bytes`.
pub(crate) fn ring_bytes(bytes: usize) -> usize {
    slots(bytes) * stride(bytes)
}

/// One slot of the ring. Its word counts up: 2t while free for turn t, 2t + 1 while full, so each
/// end learns from the slot alone whether it may go on.
struct Slot {
    word: &'static AtomicU32,
    payload: *mut u8,
    turn: u32,
}

#[inline(always)]
fn slot(memory: *mut u8, seq: u64, mask: u64, shift: u32, stride: usize) -> Slot {
    // SAFETY: the index is masked to the slots that the plumbing mapped.
    unsafe {
        let start = memory.add((seq & mask) as usize * stride);
        Slot {
            word: AtomicU32::from_ptr(start.cast()),
            payload: start.add(8),
            turn: ((seq >> shift) as u32).wrapping_mul(2),
        }
    }
}

pub(crate) fn ring_lead(ends: &mut Ends, count: u64, _: &mut [u32]) -> Result<(), Errno> {
    let (bytes, stride, slots) = (ends.bytes, stride(ends.bytes), slots(ends.bytes));
    let (mask, shift) = (slots as u64 - 1, slots.ilog2());
    for seq in ends.seq..ends.seq + count {
        let slot = slot(ends.memory, seq, mask, shift, stride);
        while slot.word.load(Acquire) != slot.turn {
            spin_loop();
        }
        // SAFETY: the word says the slot is free, so this end has it alone until the store.
        write_lines(unsafe { std::slice::from_raw_parts_mut(slot.payload, bytes) }, seq);
        slot.word.store(slot.turn.wrapping_add(1), Release);
    }
    ends.seq += count;
    Ok(())
}

pub(crate) fn ring_follow(ends: &mut Ends, count: u64) -> Result<(), Errno> {
    let (bytes, stride, slots) = (ends.bytes, stride(ends.bytes), slots(ends.bytes));
    let (mask, shift) = (slots as u64 - 1, slots.ilog2());
    let mut sum = 0_u64;
    for seq in ends.seq..ends.seq + count {
        let slot = slot(ends.memory, seq, mask, shift, stride);
        while slot.word.load(Acquire) != slot.turn.wrapping_add(1) {
            spin_loop();
        }
        // SAFETY: the word says the slot is full, so this end has it alone until the store.
        sum = sum
            .wrapping_add(read_lines(unsafe { std::slice::from_raw_parts(slot.payload, bytes) }));
        slot.word.store(slot.turn.wrapping_add(2), Release);
    }
    black_box(sum);
    ends.seq += count;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ring_is_about_a_mebibyte_unless_one_message_is() {
        for bytes in [8, 64, 4 << 10, 64 << 10] {
            assert!((RING_BUDGET / 16..=RING_BUDGET).contains(&ring_bytes(bytes)), "{bytes}");
        }
        assert_eq!(slots(1 << 20), 2);
    }

    #[test]
    fn a_small_payload_shares_the_line_of_its_flag() {
        assert_eq!((lane_bytes(8), payload_offset(8)), (2 * LINE, 8));
        assert_eq!(payload_offset(57), LINE);
    }
}

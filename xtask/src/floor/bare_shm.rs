//! The bare loops over shared memory: a flag, a flag with its payload, a ring of slots. Both ends
//! spin, so they need two CPUs.

use std::hint::{black_box, spin_loop};
use std::sync::atomic::{AtomicU32, Ordering::*};

use super::bare_memory::{lane_bytes, payload_offset};
use super::bare_plumbing::Ends;
use super::bare_sys::{Errno, elapsed, read_lines, start_ticks, stop_ticks, write_lines};

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
    for batch in samples[..count as usize].chunks_mut(ends.batch as usize) {
        let start = start_ticks();
        if ends.bytes == 8 {
            for _ in 0..batch.len() {
                turn = turn.wrapping_add(1);
                send_word(&ping, turn);
                sum = sum.wrapping_add(receive_word(&pong, turn));
            }
        } else {
            for _ in 0..batch.len() {
                turn = turn.wrapping_add(1);
                ping.send(turn);
                sum = sum.wrapping_add(pong.receive(turn));
            }
        }
        // Each gets the mean: the median over them is then that of the batches.
        let mean = elapsed(start, stop_ticks()) / batch.len() as u32;
        batch.fill(mean);
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

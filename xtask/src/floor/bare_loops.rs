//! The bare loops over the kernel's carriers, written the way a C program would, apart from the
//! product: what they cost is what the mechanism costs.

use std::hint::black_box;
use std::sync::atomic::{AtomicU32, Ordering::*};

use super::bare_plumbing::Ends;
use super::bare_sys::{
    Errno, elapsed, futex_wait, futex_wake, read_exact, read_lines, start_ticks, stop_ticks,
    write_all, write_lines,
};
use super::case::{Carrier, Pattern};
use super::{bare_ring, bare_shm};

/// Runs `count` messages as the lead; a round trip leaves one sample per message.
pub(crate) type LeadLoop = fn(&mut Ends, u64, &mut [u32]) -> Result<(), Errno>;
/// Runs `count` messages as the follow.
pub(crate) type FollowLoop = fn(&mut Ends, u64) -> Result<(), Errno>;

/// Both ends of one bare loop.
#[derive(Clone, Copy)]
pub(crate) struct Loops {
    pub(crate) lead: LeadLoop,
    pub(crate) follow: FollowLoop,
    /// Whether the lead takes a sample per message.
    pub(crate) timed: bool,
}

impl Loops {
    /// The loop for a carrier. Carriers that serve one pattern only ignore the other.
    pub(crate) fn of(carrier: Carrier, pattern: Pattern) -> Self {
        let round_trip = |lead, follow| Self { lead, follow, timed: true };
        match (carrier, pattern) {
            (Carrier::Pipe | Carrier::UnixStream | Carrier::Tcp, Pattern::RoundTrip) => {
                round_trip(bytes_lead, bytes_follow)
            }
            (Carrier::Pipe | Carrier::UnixStream | Carrier::Tcp, Pattern::Stream) => {
                Self { lead: stream_lead, follow: stream_follow, timed: false }
            }
            (Carrier::Eventfd, _) => round_trip(bytes_lead, bytes_follow),
            (Carrier::Futex, _) => round_trip(futex_lead, futex_follow),
            (Carrier::Flag, _) => round_trip(bare_shm::flag_lead, bare_shm::flag_follow),
            (Carrier::CacheLine, _) => round_trip(bare_shm::line_lead, bare_shm::line_follow),
            (Carrier::Ring, Pattern::RoundTrip) => {
                round_trip(bare_ring::trip_lead, bare_ring::trip_follow)
            }
            (Carrier::Ring, Pattern::Stream) => {
                let (lead, follow) = (bare_ring::stream_lead, bare_ring::stream_follow);
                Self { lead, follow, timed: false }
            }
        }
    }
}

/// Descriptors: pipe, socket, eventfd (whose 8 bytes must be neither 0 nor all ones).
fn bytes_lead(ends: &mut Ends, count: u64, samples: &mut [u32]) -> Result<(), Errno> {
    let mut sum = 0_u64;
    for (seq, sample) in (1..=count).zip(samples) {
        let start = start_ticks();
        write_lines(ends.outgoing, seq);
        write_all(ends.write, ends.outgoing)?;
        read_exact(ends.read, ends.incoming)?;
        sum = sum.wrapping_add(read_lines(ends.incoming));
        *sample = elapsed(start, stop_ticks());
    }
    black_box(sum);
    Ok(())
}

fn bytes_follow(ends: &mut Ends, count: u64) -> Result<(), Errno> {
    let mut sum = 0_u64;
    for seq in 1..=count {
        read_exact(ends.read, ends.incoming)?;
        sum = sum.wrapping_add(read_lines(ends.incoming));
        write_lines(ends.outgoing, seq);
        write_all(ends.write, ends.outgoing)?;
    }
    black_box(sum);
    Ok(())
}

fn stream_lead(ends: &mut Ends, count: u64, _: &mut [u32]) -> Result<(), Errno> {
    for seq in 0..count {
        write_lines(ends.outgoing, seq);
        write_all(ends.write, ends.outgoing)?;
    }
    Ok(())
}

fn stream_follow(ends: &mut Ends, count: u64) -> Result<(), Errno> {
    let mut sum = 0_u64;
    for _ in 0..count {
        read_exact(ends.read, ends.incoming)?;
        sum = sum.wrapping_add(read_lines(ends.incoming));
    }
    black_box(sum);
    Ok(())
}

/// The words of the two directions, a line pair apart.
fn words(ends: &Ends) -> (&'static AtomicU32, &'static AtomicU32) {
    // SAFETY: a page of zeroes at least, aligned, alive until the process ends.
    unsafe {
        (AtomicU32::from_ptr(ends.memory.cast()), AtomicU32::from_ptr(ends.memory.add(128).cast()))
    }
}

#[inline(always)]
fn sleep_until(word: &AtomicU32, wanted: u32) {
    loop {
        let value = word.load(Acquire);
        if value == wanted {
            return;
        }
        futex_wait(word, value);
    }
}

fn futex_lead(ends: &mut Ends, count: u64, samples: &mut [u32]) -> Result<(), Errno> {
    let (ping, pong) = words(ends);
    let mut turn = ends.seq as u32;
    for sample in &mut samples[..count as usize] {
        turn = turn.wrapping_add(1);
        let start = start_ticks();
        ping.store(turn, Release);
        futex_wake(ping);
        sleep_until(pong, turn);
        *sample = elapsed(start, stop_ticks());
    }
    ends.seq += count;
    Ok(())
}

fn futex_follow(ends: &mut Ends, count: u64) -> Result<(), Errno> {
    let (ping, pong) = words(ends);
    let mut turn = ends.seq as u32;
    for _ in 0..count {
        turn = turn.wrapping_add(1);
        sleep_until(ping, turn);
        pong.store(turn, Release);
        futex_wake(pong);
    }
    ends.seq += count;
    Ok(())
}

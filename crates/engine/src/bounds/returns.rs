//! What the first return of a program takes after a system call: the same calls with a return after them and without one,
//! in turn, by the same two processes on one CPU.

use crate::page::Page;
use ipcperf_core::Seat;
use ipcperf_stats::median;
use ipcperf_sys::clock::Clock;
use ipcperf_sys::returns;
use std::sync::atomic::{AtomicU32, Ordering};

/// Pairs of blocks, with a return and without one. The first pair is not counted.
const PAIRS: u32 = 14;
/// Round trips in a block; each is timed.
const TRIPS: u32 = 50;
/// Calls without a switch in a batch.
const CALLS: u32 = 200;

/// After a call without a switch (`return:call`) and after a switch of tasks (`return:switch`), ticks; nothing where it is not
/// measured. Takes some 10 ms.
pub(super) fn costs(page: &Page, seat: Seat, clock: Clock) -> Vec<(String, f64)> {
    if returns::OBJECTION.is_some() {
        return Vec::new();
    }
    let word = page.line();
    page.gate().meet();
    let mut turn = 0;
    let mut beyond = Vec::new();
    for pair in 0..PAIRS {
        // The order changes, so that neither always comes first.
        let mut both = [0.0; 2];
        for at in [pair % 2, 1 - pair % 2] {
            both[at as usize] = match at {
                0 => block::<false>(word, &mut turn, seat, clock),
                _ => block::<true>(word, &mut turn, seat, clock),
            };
        }
        beyond.extend((pair > 0).then_some(both[1] - both[0]));
    }
    if seat == Seat::Follow {
        return Vec::new();
    }
    let calls: Vec<f64> =
        (0..PAIRS).map(|_| nulls::<true>(clock) - nulls::<false>(clock)).collect();
    // A round trip has two switches. Two of its calls return after one and two without, whether the process that wakes is
    // preempted by the other or falls asleep first.
    let call = median(&calls).unwrap_or_default();
    let switch = median(&beyond).unwrap_or_default() / 2.0 - call;
    vec![("return:call".to_owned(), call), ("return:switch".to_owned(), switch)]
}

/// Mean of calls without a switch, ticks.
#[inline(never)]
fn nulls<const RETURNS: bool>(clock: Clock) -> f64 {
    let start = clock.start();
    for _ in 0..CALLS {
        returns::null::<RETURNS>();
    }
    (clock.stop() - start) as f64 / f64::from(CALLS)
}

/// Median of round trips over a futex, ticks; both ends see it, the lead times it.
#[inline(never)]
fn block<const RETURNS: bool>(word: &AtomicU32, turn: &mut u32, seat: Seat, clock: Clock) -> f64 {
    let mut samples = [0.0; TRIPS as usize];
    for sample in &mut samples {
        let start = clock.start();
        match seat {
            Seat::Lead => {
                word.store(*turn + 1, Ordering::Release);
                returns::wake::<RETURNS>(word);
                sleep_until::<RETURNS>(word, *turn + 2);
            }
            Seat::Follow => {
                sleep_until::<RETURNS>(word, *turn + 1);
                word.store(*turn + 2, Ordering::Release);
                returns::wake::<RETURNS>(word);
            }
        }
        *sample = (clock.stop() - start) as f64;
        *turn += 2;
    }
    median(&samples).unwrap_or_default()
}

#[inline(always)]
fn sleep_until<const RETURNS: bool>(word: &AtomicU32, value: u32) {
    loop {
        let now = word.load(Ordering::Acquire);
        if now == value {
            return;
        }
        returns::wait::<RETURNS>(word, now);
    }
}

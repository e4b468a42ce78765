//! Paced round trips over ports of tests: an echo that never loses, one that loses, one that takes its time.

use super::super::{Pace, Recorder, Stamp, Trip};
use super::*;
use ipcperf_sys::pause;
use std::sync::atomic::AtomicU32;

/// A port whose replies are its own messages, turned round: single-threaded, so that times are its own.
struct Echo {
    sent: u64,
    last: Vec<u8>,
    /// Numbers of messages that get no reply.
    drop: Vec<u64>,
    /// How long a reply takes, by number, ns.
    slow: fn(u64) -> u64,
}

impl Port for Echo {
    const LOSSY: bool = true;

    fn send(&mut self, len: usize, fill: impl FnOnce(&mut [u8])) -> Result<(), Fault> {
        self.last = vec![0; len];
        fill(&mut self.last);
        self.sent += 1;
        Ok(())
    }

    fn recv<T>(
        &mut self,
        _: usize,
        take: impl FnOnce(&[u8]) -> Result<T, Fault>,
    ) -> Result<T, Fault> {
        if self.drop.contains(&(self.sent - 1)) {
            return Err(Fault::Timeout);
        }
        pause::sleep_ns((self.slow)(self.sent - 1));
        // The stamp of a reply is the complement.
        let reply: Vec<u8> = self.last.iter().map(|byte| !byte).collect();
        take(&reply)
    }

    fn finish(&mut self) -> Result<(), Fault> {
        Ok(())
    }
}

fn run(
    due: &[u64],
    pause: u64,
    samples: u64,
    drop: &[u64],
    slow: fn(u64) -> u64,
) -> (Tally, Vec<Trip>) {
    let slots: Vec<_> = (0..samples * SLOTS).map(|_| AtomicU32::new(0)).collect();
    let mut recorder = Recorder::new(&slots);
    let pace = Pace { due, pause, ns_per_tick: 1.0, ..Pace::default() };
    let plan = Plan { len: 8, answer: 8, samples, batch: 1, first: 1, pace, ..Plan::default() };
    let mut port = Echo { sent: 0, last: Vec::new(), drop: drop.to_vec(), slow };
    let tally = Paced::lead(&mut port, Clock::monotonic(), plan, Stamp::new(5), &mut recorder)
        .expect("it ends");
    let seen: Vec<u64> = slots.iter().map(Recorder::read).collect();
    (tally, seen.as_chunks().0.iter().copied().map(Trip::of).collect())
}

const MS: u64 = 1_000_000;

#[test]
fn messages_that_are_held_up_count_from_when_they_were_due() {
    // Eight messages, 20 ms apart; the reply to the third takes 200 ms, which delays all that come after it.
    let (apart, long) = (20 * MS, 200 * MS);
    let due: Vec<u64> = (1..=8).map(|at| at * apart).collect();
    let slow = |number| if number == 2 { 200 * MS } else { 0 };
    // A busy machine may hold up the third, too, now and then.
    for _ in 0..50 {
        let (tally, trips) = run(&due, 0, 8, &[], slow);
        assert_eq!((tally.sent, tally.received, tally.lost), (8, 8, 0));
        assert!(tally.end - tally.begin >= due[2] + long);
        assert!(trips[2].service >= long);
        for (at, trip) in trips.iter().enumerate().skip(3) {
            let waited = due[2] + long - due[at];
            assert!(trip.late >= waited && !trip.free, "{at}: {trip:?}");
            assert!(trip.response() >= waited + trip.service, "{at}: {trip:?}");
        }
        if trips[2].free {
            return;
        }
    }
    panic!("the third was never free");
}

#[test]
fn a_pause_comes_before_each_round_trip_and_is_no_part_of_it() {
    let (tally, trips) = run(&[], 2 * MS, 5, &[], |_| 0);
    assert!(tally.end - tally.begin >= 10 * MS);
    let all: u64 = trips.iter().map(|trip| trip.service).sum();
    assert!(trips.iter().all(|trip| trip.free) && all <= tally.end - tally.begin - 10 * MS);
}

#[test]
fn a_reply_that_never_comes_takes_longer_than_any() {
    let due: Vec<u64> = (1..=100).map(|at| at * 1000).collect();
    let (tally, trips) = run(&due, 0, 100, &[7, 50], |_| 0);
    assert_eq!((tally.sent, tally.received, tally.lost), (100, 98, 2));
    let lost: Vec<usize> = (0..100).filter(|at| trips[*at].response() == Recorder::LOST).collect();
    assert_eq!(lost, [7, 50]);
}

#[test]
fn lateness_of_any_length_is_kept_to_the_tick() {
    for late in [0, 1, (1 << LOW) - 1, 1 << LOW, 0x1234_5678_9abc, (1 << 54) - 1] {
        for free in [0, FREE] {
            let trip = Trip::of([3, late & ((1 << LOW) - 1), (late >> LOW) & (FREE - 1) | free]);
            assert_eq!(trip, Trip { service: 3, late, free: free != 0 });
        }
    }
}

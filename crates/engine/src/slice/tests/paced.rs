//! Whether a queue grows, tried on a simulated server: one message at a time, each takes the same time.

use super::*;
use crate::arrivals::schedule;
use ipcperf_core::Arrivals;
use ipcperf_stats::Rng;

/// Ticks a message takes.
const SERVICE: u64 = 10_000;

/// `count` messages at a share of what the server can do, with a stop before message `stop`.
fn served(load: f64, count: u64, seed: u64, stop: Option<(u64, u64)>) -> (Vec<Trip>, Segment) {
    let mean = SERVICE as f64 / load;
    let due = schedule(Arrivals::Poisson, count, mean, &mut Rng::from_seed(seed));
    let mut end = 0;
    let trips = due.iter().zip(0..).map(|(due, at)| {
        if let Some((_, length)) = stop.filter(|(before, _)| *before == at) {
            end += length;
        }
        let free = end <= *due;
        let start = end.max(*due);
        end = start + SERVICE;
        Trip { service: SERVICE, late: start - due, free }
    });
    let trips = trips.collect();
    (trips, Segment { end, due: due.last().copied().unwrap_or(0), ..Segment::default() })
}

fn found(load: f64, count: u64, stop: Option<(u64, u64)>) -> usize {
    (0..100)
        .filter(|seed| {
            let (trips, segment) = served(load, count, *seed, stop);
            saturated(&trips, &segment)
        })
        .count()
}

#[test]
fn a_growing_queue_is_noticed_and_a_long_one_that_ends_is_not() {
    for load in [1.05, 1.5, 3.0] {
        assert_eq!(found(load, 5000, None), 100, "{load}");
    }
    assert!(found(1.2, 200, None) >= 95);
    for load in [0.1, 0.5, 0.75] {
        assert_eq!(found(load, 5000, None), 0, "{load}");
    }
    assert!(found(0.9, 5000, None) <= 2);
    assert!(found(0.95, 5000, None) <= 10);
    // A stop for as long as 200 messages take, in the middle: served again long before the end.
    assert_eq!(found(0.5, 5000, Some((2500, 200 * SERVICE))), 0);
}

#[test]
fn no_messages_are_no_queue() {
    assert!(!saturated(&[], &Segment::default()));
    let (trips, segment) = served(3.0, 3, 1, None);
    assert!(!saturated(&trips, &segment), "three messages are not enough to tell");
}

/// The share of messages of a Poisson stream that wait for at most `time` service times before a server that takes
/// always the same time (Erlang).
fn waiting(load: f64, time: f64) -> f64 {
    let mut sum = 0.0;
    for done in 0..=time as u32 {
        let x = load * (time - f64::from(done));
        let factors: f64 = (1..=done).map(|k| -x / f64::from(k)).product();
        sum += factors * x.exp();
    }
    (1.0 - load) * sum
}

fn quantile_in_theory(load: f64, q: f64) -> f64 {
    let (mut low, mut high) = (0.0, 40.0);
    for _ in 0..60 {
        let middle = f64::midpoint(low, high);
        if waiting(load, middle) < q { low = middle } else { high = middle }
    }
    low + 1.0
}

#[test]
fn response_times_are_those_of_the_theory_of_queues() {
    for load in [0.5, 0.9] {
        let (trips, _) = served(load, 2_000_000, 7, None);
        let mut responses: Vec<u64> = trips.iter().map(|trip| trip.response()).collect();
        responses.sort_unstable();
        for q in [0.5, 0.99] {
            let seen = responses[(q * responses.len() as f64) as usize] as f64 / SERVICE as f64;
            let expected = quantile_in_theory(load, q);
            assert!((seen / expected - 1.0).abs() < 0.03, "{load} {q}: {seen} {expected}");
        }
    }
}

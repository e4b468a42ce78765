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

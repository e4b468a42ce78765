//! Several requests in flight, and the limit of the p99.9.

use super::*;
use ipcperf_core::result::Attempt;

fn attempt(inflight: u64, conns: u64, achieved_per_second: f64) -> Attempt {
    Attempt { inflight, conns, mechanism: "tcp".to_owned(), achieved_per_second }
}

/// A server that is asked for 20,000 requests per second.
fn asked(inflight: u64, conns: u64) -> Requirements {
    Requirements {
        rate_per_second: Some(20_000.0),
        inflight,
        conns,
        attempts: vec![attempt(1, 1, 11_000.0), attempt(2, 1, 17_000.0)],
        ..wanted(&[64], &[])
    }
}

/// Its cells.
fn served(wanted: &Requirements) -> ResultSet {
    let served = |name: &str, nanos: f64| {
        let mut cell = cell(name, 64, TWO).rtt(nanos, 90.0).open_loop(20_000.0);
        cell.key.pattern = PatternKind::Serve;
        cell.key.load = wanted.load(PatternKind::Serve);
        cell.rounds.iter_mut().for_each(|round| round.messages_per_second = Some(20_000.0));
        cell
    };
    set(vec![served("unix-stream", 62_000.0), served("tcp", 90_000.0)])
}

#[test]
fn the_answer_names_the_requests_in_flight_that_the_rate_takes() {
    let wanted = asked(4, 0);
    let text = written(&served(&wanted), &wanted, &Style { width: 200, ..Style::default() });
    for words in [
        "USE unix-stream with 4 requests in flight: 62.0 us for 64 B at 20.0 k/s",
        "Not enough for 20.0 k/s: tcp with 1 request in flight 11.0 k/s, tcp with 2 requests in flight 17.0 k/s.",
        "The same load: ipcperf run -m unix-stream -p serve -s 64 --rate 20000/s --inflight 4",
    ] {
        assert!(text.contains(words), "{words}: {text}");
    }
    let several = asked(16, 4);
    let text = written(&served(&several), &several, &Style { width: 200, ..Style::default() });
    let words = "for 64 B over 4 connections at 20.0 k/s on two CPUs (same-llc) with 16 requests in flight on each connection";
    assert!(text.contains(words), "{text}");
    assert!(text.contains("Needed: listener."), "several connections take a listener: {text}");
}

#[test]
fn where_no_attempt_reaches_the_rate_the_remedy_is_one_that_the_best_of_them_reached() {
    let wanted = asked(2, 0);
    let mut set = served(&wanted);
    for cell in &mut set.cells {
        let times = cell.rtt_ns.as_mut().unwrap();
        times.values_mut().for_each(|time| *time = Metric::missing("saturated"));
        cell.achieved_per_second = Some(sample::metric(16_000.0, 1.0));
    }
    let text = written(&set, &wanted, &Style { width: 200, ..Style::default() });
    assert!(text.contains("None keeps up with 20.0 k/s: "), "{text}");
    assert!(
        text.contains(" with 2 requests in flight comes nearest, and answers 16.0 k/s of 64 B."),
        "{text}"
    );
    assert!(text.contains("a lower rate: --rate 13000"), "{text}");
    assert!(!text.contains("--inflight 8") && !text.contains("connections over"), "{text}");
    // What the closed loop said is a share already.
    let closed = Requirements { attempts: vec![attempt(1, 1, 18_000.0)], ..wanted };
    let text = written(&set, &closed, &Style { width: 200, ..Style::default() });
    assert!(text.contains("a lower rate: --rate 18000"), "{text}");
    // One that answers as many as come, but not all of them in time, has no figure that is enough.
    let behind = Requirements { attempts: vec![attempt(4, 1, 20_000.0)], ..closed };
    let text = written(&set, &behind, &Style { width: 200, ..Style::default() });
    let (_, after) = text.split_once("Not enough for 20.0 k/s: ").expect(&text);
    assert!(after.contains(" with 4 requests in flight, which falls behind at times."), "{text}");
    assert!(!after.contains("20.0 k/s"), "{text}");
}

#[test]
fn a_limit_of_the_p999_excludes_what_exceeds_it_and_what_has_none() {
    let limited = Requirements { p999_ns: Some(120_000.0), ..wanted(&[64], &[]) };
    let mut set = set(vec![
        cell("pipe", 64, TWO).rtt(70_000.0, 90.0),
        cell("fifo", 64, TWO).rtt(75_000.0, 90.0),
        cell("tcp", 64, TWO).rtt(60_000.0, 90.0),
    ]);
    for (cell, p999) in set.cells.iter_mut().zip([110_000.0, 130_000.0]) {
        cell.rtt_ns.as_mut().unwrap().insert("p99.9".to_owned(), sample::metric(p999, 1.0));
    }
    assert_eq!(order(&set, &limited), ["pipe"]);
    let text = written(&set, &limited, &Style { width: 200, ..Style::default() });
    for words in [
        "Needed: p99.9 of at most 120 us",
        "p99.9 above 120 us: fifo 130 us",
        "no p99.9 known: tcp",
    ] {
        assert!(text.contains(words), "{words}: {text}");
    }
}

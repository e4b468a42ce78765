//! Open loops, and operations whose answer never came.

use super::*;
use crate::slice::Paced;
use ipcperf_core::result::Metric;
use ipcperf_stats::Histogram;

/// A slice in which `unanswered` of `samples` round trips never ended, the others took `ticks`.
fn lossy(round: u64, ticks: u64, samples: u64, unanswered: u64) -> SliceRun {
    let mut slice = round_trips(round, ticks, samples - unanswered);
    trips(&mut slice).unanswered = unanswered;
    slice.raw.operations = samples;
    let [lead, follow] = &mut slice.raw.counts;
    (lead.sent, lead.lost) = (samples, unanswered);
    follow.lost = unanswered;
    slice
}

fn figures(cell: &Cell) -> &BTreeMap<String, Metric> {
    cell.rtt_ns.as_ref().expect("round trips")
}

#[test]
fn a_quantile_among_the_lost_is_none_and_says_so() {
    // 2 % are lost: p90 stands, p99 lies among them.
    let slices = |n: u64| (0..n).map(|round| lossy(round, 5000, 4000, 80)).collect::<Vec<_>>();
    let (cell, set) = cell_of(PatternKind::PingPong, slices(7), None);
    let figures = figures(&cell);
    assert_eq!((cell.status, cell.lost, cell.messages), (Status::Ok, 560, 7 * 2 * 3920));
    assert!((figures["p50"].value.expect("a value") - 5000.0).abs() < 5.0);
    assert!((figures["p90"].value.expect("a value") - 5000.0).abs() < 5.0);
    assert!(cell.rounds.iter().all(|round| round.unanswered == 80 && round.rejected.is_none()));
    for name in ["p99", "p99.9", "max"] {
        let metric = &figures[name];
        assert_eq!((metric.value, metric.reason.as_deref()), (None, Some("lost")), "{name}");
    }
    assert!(has(&set, "W-LOSS"));
    // More than half are lost: not even a median stands, but the cell does.
    let (cell, _) =
        cell_of(PatternKind::Rate, (0..7).map(|round| lossy(round, 5000, 100, 60)).collect(), None);
    assert_eq!(cell.status, Status::Ok);
    let p50 = &self::figures(&cell)["p50"];
    assert_eq!((p50.value, p50.reason.as_deref()), (None, Some("lost")));
}

/// A slice of an open loop: `samples` messages, due every 10,000 ticks.
fn open(round: u64, response: u64, late: u64, saturated: bool) -> SliceRun {
    let samples = 4000;
    let mut slice = round_trips(round, response, samples);
    let of = |ticks| {
        let mut histogram = Histogram::new();
        histogram.record_n(ticks, samples);
        Compact::from(&histogram)
    };
    trips(&mut slice).paced = Some(Paced {
        service: of(2000),
        lateness: of(late),
        due: samples * 10_000,
        messages: samples,
        saturated,
    });
    slice.raw.elapsed = samples * if saturated { 20_000 } else { 10_000 };
    slice.raw.sides[0].peak = Some(4000.0);
    slice
}

fn value(metric: Option<&Metric>) -> f64 {
    metric.and_then(|metric| metric.value).expect("a value")
}

#[test]
fn an_open_loop_shows_what_was_asked_for_what_was_reached_and_both_times() {
    let slices = (0..7).map(|round| open(round, 3000, 100, false)).collect();
    let (cell, set) = cell_of(PatternKind::Rate, slices, None);
    assert!((value(cell.offered_per_second.as_ref()) - 100_000.0).abs() < 1.0);
    assert!((value(cell.achieved_per_second.as_ref()) - 100_000.0).abs() < 1.0);
    assert!((value(cell.peak_per_second.as_ref()) - 250_000.0).abs() < 1.0);
    assert!((value(figures(&cell).get("p99")) - 3000.0).abs() < 3.0);
    let service = cell.service_ns.as_ref().expect("service times");
    assert!((value(service.get("p99")) - 2000.0).abs() < 2.0);
    assert!((value(cell.pacing_ns.as_ref().expect("pacing").get("p99")) - 100.0).abs() < 1.0);
    assert!(!has(&set, "W-SATURATED") && !has(&set, "W-GENLIMIT"));
    let late = (0..7).map(|round| open(round, 3000, 400, false)).collect();
    assert!(has(&cell_of(PatternKind::Rate, late, None).1, "W-GENLIMIT"));
}

#[test]
fn of_a_saturated_open_loop_no_response_time_is_shown() {
    let slices = |bad: u64| (0..8).map(|round| open(round, 3000, 0, round < bad)).collect();
    let (cell, set) = cell_of(PatternKind::Rate, slices(4), None);
    assert_eq!(cell.status, Status::Ok);
    for (name, metric) in figures(&cell) {
        assert_eq!((metric.value, metric.reason.as_deref()), (None, Some("saturated")), "{name}");
    }
    assert!(value(cell.service_ns.as_ref().expect("service times").get("p50")) > 0.0);
    assert!(has(&set, "W-SATURATED"));
    assert!(cell.bound.is_none() && cell.cpu_ns_per_message.is_some());
    let (cell, set) = cell_of(PatternKind::Rate, slices(3), None);
    assert!(figures(&cell)["p50"].value.is_some() && !has(&set, "W-SATURATED"));
}

#[test]
fn a_burst_has_a_time_and_a_rate() {
    let burst = |round| {
        let mut slice = round_trips(round, 5000, 100);
        slice.raw.operations = 1600;
        slice.raw.counts[0].sent = 1600;
        slice.raw.counts[1].received = 1600;
        slice
    };
    let (cell, _) = cell_of(PatternKind::Burst, (0..7).map(burst).collect(), None);
    assert_eq!((cell.status, cell.messages, cell.verified), (Status::Ok, 7 * 1600, true));
    assert!((value(figures(&cell).get("p50")) - 5000.0).abs() < 5.0);
    let rate = value(cell.messages_per_second.as_ref());
    assert!((rate - 16.0 / 5000.0 * 1e9).abs() < rate * 0.001, "{rate}");
}

//! Statistics over many rounds: the interval of each, the mean, and modes within rounds.

use super::*;
use ipcperf_core::result::Metric;
use ipcperf_stats::Rng;
use serde_json::Value;

/// A slice in which these durations came so often.
fn mixed(round: u64, times: &[(u64, u64)]) -> SliceRun {
    let samples = times.iter().map(|(_, n)| n).sum();
    let mut slice = round_trips(round, 1000, samples);
    let mut histogram = ipcperf_stats::Histogram::new();
    times.iter().for_each(|(ticks, n)| histogram.record_n(*ticks, *n));
    slice.raw.elapsed = times.iter().map(|(ticks, n)| ticks * n).sum();
    trips(&mut slice).histogram = Compact::from(&histogram);
    slice
}

fn near(value: Option<f64>, to: f64) -> bool {
    // The length of a tick is that of a real clock here.
    value.is_some_and(|value| (value / to - 1.0).abs() < 0.01)
}

fn metric<'a>(cell: &'a Cell, name: &str) -> &'a Metric {
    &cell.rtt_ns.as_ref().expect("round trips")[name]
}

#[test]
fn a_round_in_which_both_cpus_were_one_does_not_decide_what_a_message_costs() {
    let slices = (0..9).map(|round| {
        let mut slice = round_trips(round, 5000, 100);
        let [lead, follow] = &mut slice.raw.sides;
        let cost = if round == 4 { 900_000 } else { 10_000 + round * 100 };
        (lead.spent.cpu_ns, follow.spent.cpu_ns) = (cost, 3 * cost);
        (lead.spent.user_ns, lead.spent.system_ns, follow.spent.system_ns) = (cost, 0, 3 * cost);
        slice
    });
    let (cell, _) = cell_of(PatternKind::PingPong, slices.collect(), None);
    let cost = cell.cpu_ns_per_message.expect("a cost");
    // The fifth of nine rounds: 10,500 and three times as much for 200 messages.
    assert_eq!(cost.total, Some(210.0), "{cost:?}");
    let [low, high] = cost.ci95.expect("nine rounds");
    assert!(low <= 210.0 && (210.0..220.0).contains(&high), "{cost:?}");
    assert_eq!((cost.lead, cost.follow), (52.5, 157.5), "a quarter and the rest");
    assert_eq!((cost.user, cost.system), (52.5, 157.5));
}

/// Every object that has an interval, with the figure it belongs to.
fn with_intervals(value: &Value, found: &mut Vec<(f64, [f64; 2], String)>) {
    match value {
        Value::Object(keys) => {
            if let Some([low, high]) = keys.get("ci95").and_then(Value::as_array).map(Vec::as_slice)
            {
                let figure = keys.get("total").or_else(|| keys.get("value"));
                let number = |value: &Value| value.as_f64().expect("a number");
                found.push((
                    figure.map_or(f64::NAN, number),
                    [number(low), number(high)],
                    value.to_string(),
                ));
            }
            keys.values().for_each(|value| with_intervals(value, found));
        }
        Value::Array(items) => items.iter().for_each(|item| with_intervals(item, found)),
        _ => {}
    }
}

#[test]
fn every_value_of_every_metric_lies_in_its_own_interval() {
    let mut rng = Rng::from_seed(9);
    let mut seen = 0;
    for case in 0..60 {
        let pattern = [PatternKind::PingPong, PatternKind::Burst, PatternKind::Stream][case % 3];
        let slices = (0..6 + rng.below(15)).map(|round| {
            let mut skewed = |scale: f64| (scale * (1.5 * rng.normal()).exp()) as u64 + 1;
            let times: Vec<(u64, u64)> = (0..20).map(|_| (skewed(3000.0), skewed(30.0))).collect();
            let mut slice = mixed(round, &times);
            // Now and then a round costs a hundred times as much as the others.
            let (level, factor) = (skewed(1e5) as f64, skewed(10.0) as f64);
            let costs: Vec<u64> = (0..4).map(|_| skewed(level * factor)).collect();
            let [lead, follow] = &mut slice.raw.sides;
            (lead.spent.cpu_ns, lead.spent.user_ns) = (costs[0] + costs[1], costs[1]);
            (follow.spent.cpu_ns, follow.spent.system_ns) = (costs[2] + costs[3], costs[3]);
            if pattern == PatternKind::Stream {
                let moved = slice.raw.operations;
                slice.raw.data = arrived(moved, skewed(1e9));
                slice.raw.counts[0].received = 0;
                slice.raw.counts[1].sent = 0;
            }
            slice
        });
        let slices: Vec<SliceRun> = slices.collect();
        let (cell, set) = cell_of(pattern, slices, None);
        assert_eq!(cell.status, Status::Ok, "case {case}: {:?}", cell.reason);
        let mut found = Vec::new();
        with_intervals(&serde_json::to_value(&set).expect("a document"), &mut found);
        for (value, [low, high], whole) in found {
            assert!(
                low <= value && value <= high,
                "case {case}: {value} in {low} to {high}: {whole}"
            );
            seen += 1;
        }
    }
    assert!(seen > 200, "{seen} intervals");
}

#[test]
fn the_mean_is_that_of_all_operations_and_its_interval_is_over_rounds() {
    let slices = (0..9).map(|round| mixed(round, &[(1000, 900), (11_000 + round * 100, 100)]));
    let (cell, _) = cell_of(PatternKind::PingPong, slices.collect(), None);
    let mean = metric(&cell, "mean");
    assert!(near(metric(&cell, "p50").value, 1000.0));
    assert!(near(mean.value, 2040.0), "{mean:?}");
    let [low, high] = mean.ci95.expect("nine rounds");
    assert!(near(Some(low), 2010.0) && near(Some(high), 2070.0), "{mean:?}");
    assert!(near(cell.rounds[8].mean_ns, 2080.0), "{:?}", cell.rounds[8].mean_ns);

    // Of batches it is still that of all operations, where the median is one of batch means.
    let batches = (0..6).map(|round| {
        let mut slice = mixed(round, &[(1000, 90), (11_000, 10)]);
        (slice.raw.batch, slice.raw.operations) = (10, 1000);
        slice.raw.counts.iter_mut().for_each(|count| (count.sent, count.received) = (1000, 1000));
        slice
    });
    let (cell, _) = cell_of(PatternKind::PingPong, batches.collect(), None);
    assert!(near(metric(&cell, "p50").value, 100.0) && near(metric(&cell, "mean").value, 200.0));
    assert!(cell.operation_modes.is_empty(), "no single operation was timed");
}

#[test]
fn an_answer_that_never_came_makes_the_mean_of_its_round_infinite() {
    let slices = |lossy: u64| {
        let slices = (0..9).map(|round| {
            let mut slice = round_trips(round, 5000, 100);
            if round < lossy {
                slice.raw.counts[0].received -= 1;
                slice.raw.counts[0].lost = 1;
                trips(&mut slice).unanswered = 1;
            }
            slice
        });
        cell_of(PatternKind::PingPong, slices.collect(), None).0
    };
    let one = slices(1);
    assert!(metric(&one, "mean").ci95.is_some() && one.rounds[0].mean_ns.is_none());
    let three = slices(3);
    let mean = metric(&three, "mean");
    assert!(near(mean.value, 5000.0) && mean.ci95.is_none(), "{mean:?}");
    assert_eq!(mean.reason.as_deref(), Some("lost"));
    assert_eq!(*metric(&slices(5), "mean"), Metric::missing("lost"));
}

#[test]
fn modes_within_rounds_are_told_with_the_time_they_take() {
    let slices = (0..9).map(|round| {
        let slow = if round == 0 { 0 } else { 150 };
        mixed(round, &[(461, 850), (10_000, slow)])
    });
    let (cell, set) = cell_of(PatternKind::PingPong, slices.collect(), None);
    assert!(metric(&cell, "p50").modes.is_empty(), "no round is of another kind as a whole");
    let [fast, slow] = cell.operation_modes.as_slice() else {
        panic!("{:?}", cell.operation_modes)
    };
    assert!(near(Some(fast.value), 461.0) && near(Some(slow.value), 10_000.0));
    assert_eq!((fast.rounds, slow.rounds), (9, 8));
    assert!((slow.share - 1200.0 / 8850.0).abs() < 1e-3, "{slow:?}");
    assert!((slow.time_share - 0.772).abs() < 0.01, "{slow:?}");
    let finding = set.noise.findings.iter().find(|finding| finding.code == "W-OPMODES");
    let finding = finding.expect("a finding");
    assert!(finding.text.contains("14 % near 10.0 us in 77 % of the time"), "{}", finding.text);
    assert_eq!(finding.cells, [cell.id]);
    let plain = (0..9).map(|round| mixed(round, &[(461, 970), (10_000, 30)])).collect();
    let (cell, set) = cell_of(PatternKind::PingPong, plain, None);
    assert!(cell.operation_modes.is_empty() && !has(&set, "W-OPMODES"), "a tail is no mode");
}

//! When the one-way time of a message may be reported, and the cost of a transform.

use super::*;
use crate::offset::Offset;
use crate::slice::Ways;
use ipcperf_core::{Load, Transform};

const KNOWN: Offset = Offset { ticks: 40, bound: 50, warps: 0, exchanges: 20_000 };

/// A slice whose ways took `ticks`.
fn timed(round: u64, ticks: u64) -> SliceRun {
    let mut slice = round_trips(round, 5000, 1000);
    let mut histogram = ipcperf_stats::Histogram::new();
    histogram.record_n(ticks, 1000);
    let histogram = Compact::from(&histogram);
    trips(&mut slice).ways = Ways { histogram, offset: Some(KNOWN), ..Ways::default() };
    slice.raw.sides[0].offset = Some(KNOWN);
    slice
}

fn one_way(slices: Vec<SliceRun>) -> (Option<f64>, Option<f64>, String) {
    let load = Load { one_way: true, ..Load::default() };
    let mut plan = plan(PatternKind::PingPong);
    plan.key.load = load;
    let set = set_of(plan, slices);
    let way = set.cells[0].one_way_ns.clone().expect("it was asked for");
    let p50 = way.quantiles.get("p50").and_then(|metric| metric.value);
    assert_eq!(p50.is_some(), way.reason.is_none(), "{way:?}");
    (p50, way.bound_ns, way.reason.unwrap_or_default())
}

#[test]
fn a_way_is_told_with_its_bound_or_refused_with_the_reason() {
    let with = |change: &dyn Fn(&mut SliceRun)| {
        one_way(
            (0..8)
                .map(|round| {
                    let mut slice = timed(round, 2500);
                    if round == 3 {
                        change(&mut slice);
                    }
                    slice
                })
                .collect(),
        )
    };
    let (p50, bound, _) = with(&|_| {});
    assert!((p50.expect("a way") - 2500.0).abs() < 5.0 && (bound.expect("it") - 50.0).abs() < 0.1);
    // A tenth of the way is the most by which it may be off.
    let vague = Offset { bound: 251, ..KNOWN };
    let refused = with(&|slice| trips(slice).ways.offset = Some(vague));
    assert!(refused.2.contains("more than a tenth"), "{refused:?}");
    let warped = Offset { warps: 1, ..KNOWN };
    let refused = with(&|slice| slice.raw.sides[0].offset = Some(warped));
    assert!(refused.2.contains("ran backwards"), "{refused:?}");
    let drifted = Offset { ticks: 141, ..KNOWN };
    let refused = with(&|slice| slice.raw.sides[0].offset = Some(drifted));
    assert!(refused.2.contains("went from 40 to 141"), "{refused:?}");
    assert!(with(&|slice| trips(slice).ways.negative = 1).2.contains("before they left"));
    assert!(with(&|slice| trips(slice).ways.unknown = 9).2.contains("were lost"));
    let blind = with(&|slice| trips(slice).ways.offset = None);
    assert!(blind.2.contains("not the CPU's counter") && blind.1.is_none(), "{blind:?}");
    let free = with(&|slice| {
        trips(slice).ways.offset = None;
        slice.cpus.clear();
    });
    assert!(free.2.contains("not pinned"), "{free:?}");
}

#[test]
fn the_cost_of_a_transform_is_the_median_over_rounds() {
    let load = Load { transform: Some(Transform::Lz4), ..Load::default() };
    let mut plan = CellPlan { wire: 2200, ratio: 1.9, ..plan(PatternKind::PingPong) };
    plan.key.load = load;
    let slices = (0..7)
        .map(|round| {
            let mut slice = round_trips(round, 5000, 100);
            slice.raw.sides[0].transform = Some([1000.0 + round as f64, 300.0]);
            slice
        })
        .collect();
    let set = set_of(plan, slices);
    let cost = set.cells[0].transform.clone().expect("it was asked for");
    assert!((cost.compress_ns - 1003.0).abs() < 0.1 && (cost.decompress_ns - 300.0).abs() < 0.1);
    assert_eq!((cost.name, cost.wire_bytes), (Transform::Lz4, 2200));
}

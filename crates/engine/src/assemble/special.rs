//! Additional figures of a cell: the one-way time of a message, and the cost of a transform.

use super::metric::{Timed, distribution};
use super::sliced::{Sliced, Ways};
use crate::job::SideReport;
use crate::measured::SliceRun;
use crate::plan::CellPlan;
use crate::slice;
use ipcperf_core::Transform;
use ipcperf_core::result::{OneWay, TransformCost};
use ipcperf_stats::median;

/// The largest uncertainty of the counters' difference, as a share of the median way.
const WORST_BOUND: f64 = 0.1;

impl Ways {
    /// Of a finished slice.
    pub(super) fn of(ways: &slice::Ways, slice: &SliceRun, ns: f64) -> Self {
        let [lead, _] = &slice.raw.sides;
        let bound = ways.offset.map_or(0, |offset| offset.bound);
        Self {
            histogram: ways.histogram.scaled(ns * 1000.0),
            bound_ns: bound as f64 * ns,
            objection: objection(ways, lead, !slice.cpus.is_empty()),
        }
    }
}

/// Why the counters of this slice must not be subtracted.
fn objection(ways: &slice::Ways, lead: &SideReport, pinned: bool) -> Option<String> {
    let (Some(before), Some(after)) = (ways.offset, lead.offset) else {
        return Some(if pinned {
            "the clock is not the CPU's counter; only counters of two CPUs can be compared".into()
        } else {
            "the ends are not pinned, so their counters cannot be compared".to_owned()
        });
    };
    let warps = before.warps + after.warps;
    if warps > 0 {
        let all = before.exchanges + after.exchanges;
        return Some(format!("the counters ran backwards from CPU to CPU {warps} times in {all}"));
    }
    if !before.agrees(&after) {
        return Some(format!(
            "the counters' difference went from {} to {} ticks during the slice",
            before.ticks, after.ticks
        ));
    }
    if ways.negative > 0 {
        return Some(format!("{} messages seem to arrive before they left", ways.negative));
    }
    (ways.unknown > 0)
        .then(|| format!("messages were lost, so {} one-way times cannot be matched", ways.unknown))
}

/// The way from lead to follow over the rounds that speak for the cell.
pub(super) fn one_way(kept: &[&Sliced]) -> OneWay {
    let ways: Vec<&Ways> = kept.iter().filter_map(|slice| Some(&slice.trips()?.ways)).collect();
    let bound = ways.iter().map(|ways| ways.bound_ns).fold(0.0, f64::max);
    let refused =
        |reason: String, bound_ns| OneWay { bound_ns, reason: Some(reason), ..OneWay::default() };
    if let Some(objection) = ways.iter().find_map(|ways| ways.objection.clone()) {
        return refused(objection, None);
    }
    let timed = Timed::answered(ways.iter().map(|ways| &ways.histogram));
    let quantiles = distribution(&timed, &timed);
    let median = quantiles.get("p50").and_then(|metric| metric.value);
    match median {
        None => refused("too few messages were timed".into(), Some(bound)),
        Some(median) if bound > WORST_BOUND * median => refused(
            format!(
                "the counters' difference is known to +-{bound:.0} ns, which is more than a tenth of the way \
                 ({median:.0} ns)"
            ),
            Some(bound),
        ),
        Some(_) => OneWay { quantiles, bound_ns: Some(bound), reason: None },
    }
}

/// What a transform costs by itself; `None` without one.
pub(super) fn transform(plan: &CellPlan, kept: &[&Sliced]) -> Option<TransformCost> {
    let name = plan.key.load.transform?;
    let part = |at: usize| {
        let values: Vec<f64> =
            kept.iter().filter_map(|slice| Some(slice.transform_ns?[at])).collect();
        median(&values)
    };
    Some(TransformCost {
        name,
        library: library(name).into(),
        ratio: plan.ratio,
        wire_bytes: plan.wire as u64,
        compress_ns: part(0)?,
        decompress_ns: part(1)?,
    })
}

/// What does it: another library of the same format has other costs.
fn library(transform: Transform) -> &'static str {
    match transform {
        Transform::None => "",
        Transform::Gzip => "miniz_oxide, level 6",
        Transform::Lz4 => "lz4_flex, blocks",
        Transform::Zstd => "ruzstd, fastest level",
        Transform::Crc32 => "crc32fast",
    }
}

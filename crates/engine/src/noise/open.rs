//! Open loops: whether they could be served, and whether the sender kept its times.

use ipcperf_core::findings;
use ipcperf_core::result::{Cell, Finding, Metric, Status};
use ipcperf_core::units::{counted, format_nanos, format_per_second};

fn value(metric: Option<&Metric>) -> Option<f64> {
    metric?.value
}

fn open_loops(cells: &[Cell]) -> impl Iterator<Item = &Cell> {
    cells.iter().filter(|cell| cell.status == Status::Ok && cell.key.pattern.facts().is_open)
}

/// Cells whose messages came faster than they were answered.
pub(super) fn saturated(cells: &[Cell]) -> Option<Finding> {
    let is_saturated = |cell: &&Cell| {
        let p50 = cell.rtt_ns.as_ref().and_then(|table| table.get("p50"));
        p50.is_some_and(|metric| metric.reason.as_deref() == Some("saturated"))
    };
    let hit: Vec<&Cell> = open_loops(cells).filter(is_saturated).collect();
    let first = hit.first()?;
    let offered = value(first.offered_per_second.as_ref())?;
    let achieved = value(first.achieved_per_second.as_ref())?;
    let detail = format!(
        " (first: {}, {} offered, {} answered)",
        first.id,
        format_per_second(offered),
        format_per_second(achieved),
    );
    let finding = findings::SATURATED.found(&[&counted(hit.len() as u64, "open loop"), &detail]);
    Some(finding.against(achieved / offered, 0.99).of(hit))
}

/// Cells in which the sender itself was late by more than a tenth of the typical response, which the times include.
pub(super) fn late_sender(cells: &[Cell]) -> Option<Finding> {
    let share = |cell: &Cell| {
        let late = value(cell.pacing_ns.as_ref()?.get("p99"))?;
        let response = value(cell.rtt_ns.as_ref()?.get("p50"))?;
        Some((late / response, late))
    };
    let hit: Vec<(&Cell, f64, f64)> = open_loops(cells)
        .filter_map(|cell| share(cell).map(|(share, late)| (cell, share, late)))
        .filter(|(_, share, _)| findings::GENLIMIT.is_passed(*share))
        .collect();
    let (cell, worst, late) = hit.iter().max_by(|a, b| a.1.total_cmp(&b.1))?;
    let detail = format!(
        " (worst: {}, p99 {}, {:.0} % of the median response)",
        cell.id,
        format_nanos(*late),
        worst * 100.0
    );
    let finding =
        findings::GENLIMIT.measured(*worst, &[&counted(hit.len() as u64, "open loop"), &detail]);
    Some(finding.of(hit.iter().map(|(cell, ..)| *cell)))
}

//! What an open loop tells about itself: whether it could be served, and whether the sender kept its times.

use ipcperf_core::result::{Cell, Finding, Metric, Status};
use ipcperf_core::units::{format_nanos, format_per_second};

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
    let text = format!(
        "messages came faster than they were answered in {} of the open loops (first: {}, {} offered, {} answered): \
         a response time there only tells how long the slice was",
        hit.len(),
        first.id,
        format_per_second(offered),
        format_per_second(achieved),
    );
    let finding = Finding::new("W-SATURATED", text, "a lower --rate");
    Some(finding.against(achieved / offered, 0.99).of(hit))
}

/// Cells in which the sender itself was late by more than a tenth of the typical response: that is in the figures.
pub(super) fn late_sender(cells: &[Cell]) -> Option<Finding> {
    const LIMIT: f64 = 0.1;
    let share = |cell: &Cell| {
        let late = value(cell.pacing_ns.as_ref()?.get("p99"))?;
        let response = value(cell.rtt_ns.as_ref()?.get("p50"))?;
        Some((late / response, late))
    };
    let hit: Vec<(&Cell, f64, f64)> = open_loops(cells)
        .filter_map(|cell| share(cell).map(|(share, late)| (cell, share, late)))
        .filter(|(_, share, _)| *share > LIMIT)
        .collect();
    let (cell, worst, late) = hit.iter().max_by(|a, b| a.1.total_cmp(&b.1))?;
    let text = format!(
        "the sender of {} of the open loops was late by itself (worst: {}, p99 {}, {:.0} % of the median response): \
         the response times contain that",
        hit.len(),
        cell.id,
        format_nanos(*late),
        worst * 100.0
    );
    let remedy =
        "two CPUs (--place), --idle poll, a quieter machine; the service times do not contain it";
    let finding = Finding::new("W-GENLIMIT", text, remedy).against(*worst, LIMIT);
    Some(finding.of(hit.iter().map(|(cell, ..)| *cell)))
}

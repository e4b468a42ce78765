//! Round trips on a schedule: the rate asked for, the rate reached, and how late the trips began.

use super::metric::{self, Timed, over_rounds};
pub(super) use super::sliced::PacedSlice;
use super::sliced::{Sliced, per_second};
use crate::job::SideReport;
use crate::slice::{Compact, Paced};
use ipcperf_core::map_of;
use ipcperf_core::result::{Cell, Metric};
use std::collections::BTreeMap;

/// Why a response time of an open loop is missing: it would depend on how long the slice was.
pub(super) const SATURATED: &str = "saturated";

impl PacedSlice {
    pub(super) fn of(paced: &Paced, lead: &SideReport, ns: f64) -> Self {
        let picos = |ticks: &Compact| ticks.scaled(ns * 1000.0);
        Self {
            service: picos(&paced.service),
            lateness: picos(&paced.lateness),
            offered: per_second(paced.messages, paced.due, ns),
            peak: lead.peak.map(|ticks| 1e9 / (ticks * ns)),
            saturated: paced.saturated,
        }
    }
}

/// Whether no response time stands for the cell: half of its slices are saturated.
pub(super) fn is_saturated(kept: &[&Sliced]) -> bool {
    let saturated = kept.iter().filter(|slice| slice.round.saturated).count();
    saturated > 0 && 2 * saturated >= kept.len()
}

/// Adds what the slices of the cell know beside their response times.
pub(super) fn measure(cell: &mut Cell, kept: &[&Sliced]) {
    let slices: Vec<(&PacedSlice, u64)> =
        kept.iter().filter_map(|slice| Some((slice.own.paced()?, slice.unanswered))).collect();
    if slices.is_empty() {
        return;
    }
    let lateness = Timed::answered(slices.iter().map(|(slice, _)| &slice.lateness));
    let late = |q| metric::merged(&lateness, q);
    cell.pacing_ns =
        Some(BTreeMap::from([("p50".to_owned(), late(0.5)), ("p99".to_owned(), late(0.99))]));
    if !cell.key.is_open() {
        return;
    }
    let offered: Vec<f64> = slices.iter().filter_map(|(slice, _)| slice.offered).collect();
    cell.offered_per_second = Some(over_rounds(&offered));
    cell.peak_per_second = slices.iter().find_map(|(slice, _)| slice.peak).map(|peak| Metric {
        value: Some(peak),
        method: Some("calibrated".into()),
        ..Metric::default()
    });
    let service: Vec<Timed<'_>> = slices
        .iter()
        .map(|(slice, unanswered)| Timed { histogram: &slice.service, unanswered: *unanswered })
        .collect();
    // A feed has no answer to wait for.
    if cell.key.pattern.many().is_none() {
        cell.service_ns = Some(metric::distribution(&service, &service));
    }
    if is_saturated(kept) {
        let names = cell.rtt_ns.iter().flatten().map(|(name, _)| name.clone());
        cell.rtt_ns = Some(map_of(names.map(|name| (name, Metric::missing(SATURATED)))));
        cell.operation_modes.clear();
        cell.bound = None;
    }
}

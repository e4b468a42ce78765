//! Which bound a cell is held against, and what is too good to be true.

use crate::plan::CellPlan;
use crate::run::BoundReadings;
use ipcperf_core::result::BoundRatio;
use ipcperf_core::{Idle, Limitation, Placement, Wait};
use ipcperf_stats::median;
use std::collections::BTreeMap;

/// A result this much better than its floor is a broken measurement, not a fast mechanism: the floors are medians of
/// noisy readings themselves.
const TOLERANCE: f64 = 0.9;

/// The bounds of one run, in ns and bytes per second.
#[derive(Clone, Debug, Default)]
pub(super) struct Floors {
    syscall: Option<f64>,
    copies: Vec<(u64, f64)>,
    /// Median and smallest cache-line round trip by placement.
    cacheline: BTreeMap<Placement, (f64, f64)>,
    futex: BTreeMap<(Placement, Idle), f64>,
}

impl Floors {
    /// Reads them off the bound measurements.
    pub(super) fn of(readings: &BoundReadings, ns: f64) -> Self {
        let alone = |name: &str| readings.alone.get(name).map(|ticks| ticks * ns);
        Self {
            syscall: alone("syscall"),
            copies: crate::bounds::COPY_SIZES
                .iter()
                .filter_map(|size| {
                    Some((*size as u64, *size as f64 / alone(&format!("copy:{size}"))? * 1e9))
                })
                .collect(),
            cacheline: readings
                .cacheline
                .iter()
                .filter_map(|(placement, ticks)| {
                    let smallest = ticks.iter().copied().reduce(f64::min)?;
                    Some((*placement, (median(ticks)? * ns, smallest * ns)))
                })
                .collect(),
            futex: readings
                .futex
                .iter()
                .filter_map(|(key, ticks)| Some((*key, median(ticks)? * ns)))
                .collect(),
        }
    }

    /// What no round trip of this cell can be below, ns, and why.
    pub(super) fn round_trip_floor(&self, plan: &CellPlan) -> Option<(f64, &'static str)> {
        if plan.entry.spec.is_floor() {
            return None;
        }
        match plan.key.placement {
            Placement::SameCpu => {
                // Both ends run one after the other and must each enter the kernel, or nobody else would run.
                Some((self.syscall? * 2.0 * TOLERANCE, "two system calls"))
            }
            Placement::Free => None,
            placement => {
                let (_, smallest) = self.cacheline.get(&placement)?;
                Some((smallest * TOLERANCE, "one cache line there and back"))
            }
        }
    }

    /// What no stream of this cell can exceed, bytes per second, and why.
    pub(super) fn stream_ceiling(&self, plan: &CellPlan) -> Option<(f64, &'static str)> {
        if plan.entry.spec.copies == 0 {
            return None;
        }
        let best = self.copies.iter().map(|(_, rate)| *rate).reduce(f64::max)?;
        Some((best / TOLERANCE, "copying in the fastest cache"))
    }

    /// The bound a user should hold this cell against, with the ratio of `value` to it.
    pub(super) fn ratio(&self, plan: &CellPlan, value: f64) -> Option<BoundRatio> {
        if plan.entry.spec.is_floor() {
            return None;
        }
        let (name, bound) = match (plan.key.pattern.facts().bound?, plan.key.placement) {
            (Limitation::Copy, _) => {
                let distance = |size: u64| {
                    (size.max(1) as f64 / plan.key.size_bytes.max(1) as f64).log2().abs()
                };
                let nearest =
                    self.copies.iter().min_by(|a, b| distance(a.0).total_cmp(&distance(b.0)))?;
                ("memcpy", nearest.1)
            }
            (Limitation::RoundTrip, Placement::Free) => return None,
            // What spins before it sleeps is held against the limit it can reach.
            (Limitation::RoundTrip, placement)
                if placement.is_two_cpus()
                    && matches!(plan.entry.spec.wait, Wait::Spin | Wait::SpinThenBlock) =>
            {
                ("cacheline_rtt_ns", self.cacheline.get(&placement)?.0)
            }
            (Limitation::RoundTrip, placement) => {
                ("futex_wake_rtt_ns", *self.futex.get(&(placement, plan.key.idle))?)
            }
        };
        Some(BoundRatio { name: name.into(), value: bound, ratio: value / bound })
    }
}

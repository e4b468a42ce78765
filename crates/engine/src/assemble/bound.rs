//! Chooses the bound that a cell must not beat, and rejects what is faster.

use crate::measured::BoundReadings;
use crate::plan::CellPlan;
use ipcperf_core::findings::{self, Row};
use ipcperf_core::result::{BoundRatio, Rejection};
use ipcperf_core::{Idle, Limitation, Placement, Touch, Wait, map_of, units};
use ipcperf_stats::median;
use std::collections::BTreeMap;

/// A result this much better than its limit is a broken measurement, not a fast mechanism. A tenth, because the limits are
/// noisy readings themselves: of cache-line round trips medians over half a millisecond.
const TOLERANCE: f64 = 0.9;

/// The bounds of one run, in ns and bytes per second.
#[derive(Clone, Debug, Default)]
pub(super) struct Floors {
    /// The fastest batch of system calls.
    syscall: Option<f64>,
    copies: Vec<(u64, f64)>,
    /// The same where one side stays in the first-level cache.
    halves: Vec<(u64, f64)>,
    /// Median and smallest cache-line round trip by placement.
    cacheline: BTreeMap<Placement, (f64, f64)>,
    futex: BTreeMap<(Placement, Idle), f64>,
}

impl Floors {
    /// Reads them off the bound measurements.
    pub(super) fn of(readings: &BoundReadings, ns: f64) -> Self {
        let alone = |name: &str| readings.alone.get(name).map(|ticks| ticks * ns);
        let rates = |name: &str| -> Vec<(u64, f64)> {
            let rate = |size: &usize| {
                Some((*size as u64, *size as f64 / alone(&format!("{name}:{size}"))? * 1e9))
            };
            crate::bounds::COPY_SIZES.iter().filter_map(rate).collect()
        };
        Self {
            syscall: alone("syscall:least"),
            copies: rates("copy"),
            halves: rates("half"),
            cacheline: map_of(readings.cacheline.iter().filter_map(|(placement, ticks)| {
                let smallest = ticks.iter().copied().reduce(f64::min)?;
                Some((*placement, (median(ticks)? * ns, smallest * ns)))
            })),
            futex: map_of(
                readings.futex.iter().filter_map(|(key, ticks)| Some((*key, median(ticks)? * ns))),
            ),
        }
    }

    /// Why a slice of this cell cannot have had this median round trip, ns; `lines` is what a cache line took between its
    /// CPUs just before and just after it.
    pub(super) fn too_fast(
        &self,
        plan: &CellPlan,
        lines: [Option<f64>; 2],
        got: f64,
    ) -> Option<Rejection> {
        if plan.entry.spec.is_floor() {
            return None;
        }
        let below = |row: &Row, least: f64, what: &str| {
            let least = least * TOLERANCE;
            let [shown, limit] = [got, least].map(units::format_nanos);
            let why = format!("a round trip of {shown} is below {limit} ({what})");
            (got < least).then(|| row.rejection(why))
        };
        match plan.key.placement {
            // Both ends run one after the other and must each enter the kernel, or nobody else would run.
            place if place.is_one_cpu() => {
                below(&findings::IMPOSSIBLE, self.syscall? * 2.0, "two system calls")
            }
            place if place.is_free() => None,
            placement => {
                let (_, smallest) = self.cacheline.get(&placement)?;
                let what = "a cache-line round trip";
                // The CPUs of a guest may be moved for the length of a slice and back. Then it is no lie, but it is not
                // this placement either.
                let moved = || {
                    let [Some(before), Some(after)] = lines else { return None };
                    below(
                        &findings::MOVED,
                        before.min(after),
                        "a cache line just before and after it",
                    )
                };
                below(&findings::IMPOSSIBLE, *smallest, what).or_else(moved)
            }
        }
    }

    /// Why a slice of this cell cannot have had this throughput, bytes per second.
    pub(super) fn too_much(&self, plan: &CellPlan, got: f64) -> Option<Rejection> {
        if plan.entry.spec.copies == 0 {
            return None;
        }
        let fastest = |rates: &[(u64, f64)], least: u64| {
            let rates = rates.iter().filter(|(size, _)| *size >= least).map(|(_, rate)| *rate);
            rates.reduce(f64::max)
        };
        // What nobody looks at need not be copied. Between two sizes that were measured the smaller one holds: it is
        // faster, and so are sizes above it only where a reading was disturbed.
        let is_read = matches!(plan.key.touch, Touch::CacheLine | Touch::Full | Touch::Copy);
        let sizes = || self.halves.iter().map(|(size, _)| *size);
        let size = sizes().filter(|size| *size <= plan.key.size_bytes).max().or(sizes().min());
        let own = size.filter(|_| is_read).and_then(|size| {
            let what = format!("copying {}, one side in the cache", units::format_bytes(size));
            Some((fastest(&self.halves, size)?, what))
        });
        let (most, what) = match own {
            Some(own) => own,
            // The other copies are medians, which are lower where others want the CPU too.
            None => {
                let all = [&*self.halves, &*self.copies].concat();
                (fastest(&all, 0)?, "copying in the fastest cache".to_owned())
            }
        };
        let most = most / TOLERANCE;
        let [shown, limit] = [got, most].map(units::format_bytes_per_second);
        let why = format!("{shown} is above {limit} ({what})");
        (got > most).then(|| findings::IMPOSSIBLE.rejection(why))
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
            (Limitation::RoundTrip, place) if place.is_free() => return None,
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

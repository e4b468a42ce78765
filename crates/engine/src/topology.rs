//! Slices whose two CPUs were not where they are in the other slices.
//!
//! A virtual machine's CPUs are threads of its host, which moves them: now two cores, now two threads of one core. What
//! tells is how long one cache line takes there and back, which every slice on two CPUs reads before and after it. The
//! figure of the slice is never asked.

use crate::measured::{BoundReadings, CellRun, Findings, SliceRun};
use ipcperf_core::findings;
use ipcperf_core::result::{CellKey, Rejection};
use ipcperf_core::units::format_nanos;
use ipcperf_core::{Neighbour, Placement, map_of};
use ipcperf_stats::{FEWEST_ROUNDS, median};
use std::collections::BTreeMap;

/// A reading this many times shorter or longer than the usual one of the pair is another pair of CPUs of the host. Seen
/// on a machine with two CPUs: 59 to 71 ns usually, 27 ns on one core, 330 ns between sockets.
const MOVED: f64 = 2.0;

/// What a cache line usually takes there and back at each placement, ticks: next to a neighbour, which may slow it down, and
/// without one.
#[derive(Clone, Debug)]
pub(crate) struct Usual {
    alone: BTreeMap<Placement, f64>,
    beside: BTreeMap<(Placement, Neighbour), f64>,
}

impl Usual {
    fn of(&self, key: &CellKey) -> Option<f64> {
        match key.load.neighbour.clone() {
            None => self.alone.get(&key.placement).copied(),
            Some(neighbour) => self.beside.get(&(key.placement, neighbour)).copied(),
        }
    }
}

/// The usual time by all readings so far.
pub(crate) fn usual(bounds: &BoundReadings) -> Usual {
    let alone = bounds.cacheline.iter();
    let beside = bounds.beside_neighbour.iter();
    Usual {
        alone: map_of(alone.filter_map(|(place, readings)| Some((*place, median(readings)?)))),
        beside: map_of(beside.filter_map(|(place, all)| Some((place.clone(), median(all)?)))),
    }
}

/// Whether the last slice of a cell is of this round and does not count: it was rejected, or by what is usual, where that is
/// asked, it will be.
pub(crate) fn is_rejected(cell: &CellRun, round: u64, usual: Option<&Usual>) -> bool {
    let last = cell.slices.last().filter(|slice| slice.round == round && cell.ended.is_none());
    let usual = usual.and_then(|usual| usual.of(&cell.plan.key));
    last.is_some_and(|slice| {
        slice.rejected.is_some() || usual.is_some_and(|usual| worst(slice, usual).is_some())
    })
}

/// Of the figures of a cell by rounds, those that count as far as is known so far: to decide what is measured next.
pub(crate) fn counting(
    cell: &CellRun,
    usual: &Usual,
    mut figures: BTreeMap<u64, f64>,
) -> BTreeMap<u64, f64> {
    if let Some(usual) = usual.of(&cell.plan.key) {
        let elsewhere = cell.slices.iter().filter(|slice| worst(slice, usual).is_some());
        let again = |round| {
            let mut slices = cell.slices.iter().filter(|slice| slice.round == round);
            slices.any(|slice| slice.rejected.is_none() && worst(slice, usual).is_none())
        };
        for round in elsewhere.map(|slice| slice.round).filter(|round| !again(*round)) {
            figures.remove(&round);
        }
    }
    figures
}

/// Rejects the slices that a reading of their own says were elsewhere. Of a round that was measured twice because the
/// readings up to then said so, and all readings do not, the first slice stays.
pub(crate) fn leave_out(findings: &mut Findings, ns: f64) {
    let usual = usual(&findings.bounds);
    for cell in &mut findings.cells {
        let accepted = cell.slices.iter_mut().filter(|slice| slice.rejected.is_none());
        let mut accepted: Vec<_> = accepted.collect();
        if let Some(usual) = usual.of(&cell.plan.key)
            // With fewer there is no claim that a slice from elsewhere could spoil, but soon no slice.
            && accepted.len() >= FEWEST_ROUNDS
        {
            for slice in &mut accepted {
                slice.rejected = worst(slice, usual).map(|reading| words(reading, usual, ns));
            }
        }
        let mut last = None;
        cell.slices.retain(|slice| {
            slice.rejected.is_some() || last.replace(slice.round) != Some(slice.round)
        });
    }
}

/// The reading beside a slice that says most clearly that it was elsewhere, ticks.
fn worst(slice: &SliceRun, usual: f64) -> Option<f64> {
    let factor = |reading: f64| (reading / usual).max(usual / reading);
    let readings = slice.raw.sides[0].cacheline.into_iter().flatten();
    let worst = readings.max_by(|a, b| factor(*a).total_cmp(&factor(*b)))?;
    (factor(worst) > MOVED).then_some(worst)
}

fn words(worst: f64, usual: f64, ns: f64) -> Rejection {
    let (took, normal) = (format_nanos(worst * ns), format_nanos(usual * ns));
    let what = if worst < usual {
        "the CPUs were nearer, perhaps one core"
    } else {
        "the CPUs were further apart"
    };
    findings::MOVED.rejection(format_args!(
        "a cache-line round trip took {took} instead of the usual {normal}: {what}"
    ))
}

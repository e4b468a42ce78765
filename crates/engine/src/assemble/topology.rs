//! Slices whose two CPUs were not where they are in the other slices.
//!
//! A virtual machine's CPUs are threads of its host, which moves them: now two cores, now two threads of one core. What
//! tells is how long one cache line takes there and back, which every slice on two CPUs reads before and after it. The
//! figure of the slice is never asked.

use crate::run::Findings;
use ipcperf_core::units::format_nanos;
use ipcperf_stats::median;

/// A reading this many times shorter or longer than the usual one of the pair is another pair of CPUs of the host. Seen
/// on a machine with two CPUs: 59 to 71 ns usually, 27 ns on one core, 330 ns between sockets.
const MOVED: f64 = 2.0;

/// Rounds from which on a cell can spare one. With fewer there is no interval, and no claim that a slice from elsewhere
/// could spoil, but soon no slice.
const FEWEST: usize = 6;

/// Rejects the slices that a reading of their own says were elsewhere.
pub(super) fn leave_out(findings: &mut Findings, ns: f64) {
    for cell in &mut findings.cells {
        if cell.slices.len() < FEWEST {
            continue;
        }
        let readings = findings.bounds.cacheline.get(&cell.plan.key.placement);
        let Some(usual) = readings.and_then(|readings| median(readings)) else { continue };
        for slice in cell.slices.iter_mut().filter(|slice| slice.rejected.is_none()) {
            slice.rejected = moved(slice.raw.sides[0].cacheline, usual, ns);
        }
    }
}

/// What a slice's own readings say against it, ticks.
fn moved(readings: [Option<f64>; 2], usual: f64, ns: f64) -> Option<String> {
    let factor = |reading: f64| (reading / usual).max(usual / reading);
    let worst = readings.into_iter().flatten().max_by(|a, b| factor(*a).total_cmp(&factor(*b)))?;
    let (took, normal) = (format_nanos(worst * ns), format_nanos(usual * ns));
    let what = if worst < usual {
        "the CPUs were nearer, perhaps one core"
    } else {
        "the CPUs were further apart"
    };
    (factor(worst) > MOVED).then(|| {
        format!("E-TOPOLOGY: a cache line took {took} there and back, {normal} is usual: {what}")
    })
}

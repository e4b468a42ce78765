//! An end that stood still while it was timed.

use crate::measured::SliceRun;
use crate::noise::LONGEST_NS;
use crate::slice::Gaps;
use ipcperf_core::Load;
use ipcperf_core::result::Standstill;

/// And how many times as long as the others on average: where all of them are long, one may be longer.
const TIMES: f64 = 4.0;

impl Gaps {
    /// By how much the longest is longer than the others on average, ns; 0 where it is not many times as long.
    fn excess(&self, ns: f64) -> f64 {
        let others = self.sum.saturating_sub(self.longest) as f64;
        let typical = others / self.count.saturating_sub(1).max(1) as f64;
        let longest = self.longest as f64;
        if longest > TIMES * typical { (longest - typical) * ns } else { 0.0 }
    }
}

/// Whether an end of this slice stood still: because the kernel says that a signal stopped it, or because for a while
/// nothing moved, and neither the host nor other work on the CPUs explains it.
pub(super) fn standstill(slice: &SliceRun, load: &Load, ns: f64) -> Option<Standstill> {
    let raw = &slice.raw;
    // Messages that were waited for in vain, or found no room, are reported as lost; and what was asked for is no surprise.
    let is_explained = load.stall_ns > 0 || raw.counts.iter().any(|count| count.lost > 0);
    let longest = if is_explained { 0.0 } else { raw.gaps.excess(ns) };
    if let Some(stop) = &raw.stopped {
        return Some(Standstill {
            ns: longest.max(stop.least_ns as f64),
            who: Some(stop.who.clone()),
        });
    }
    let waited: Option<u64> = raw.sides.iter().map(|side| side.run_delay_ns).sum();
    let left = longest - waited? as f64 - slice.steal_ns.unwrap_or(0) as f64;
    (left > LONGEST_NS).then_some(Standstill { ns: left, who: None })
}

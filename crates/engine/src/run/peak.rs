//! The most that an open loop can ask for: found out once in a run for each family of cells that differ in nothing but
//! their load, so that 10 % and 95 % are shares of the same number, in every round.

use super::bench::{Bench, Lengths};
use crate::job::FailureKind;
use crate::measured::CellRun;
use crate::plan::{CellPlan, Family};
use ipcperf_core::result::Status;
use ipcperf_stats::median;
use std::io;

/// Slices that find it out: the median of three does not depend on one that was disturbed.
pub const TRIALS: u64 = 3;

impl Bench<'_> {
    /// Finds the peaks of all open loops among these cells; true if the user interrupted.
    pub(super) fn calibrate(
        &mut self,
        cells: &mut [CellRun],
        lengths: Lengths,
    ) -> io::Result<bool> {
        for cell in cells {
            if self.find_peak(cell, lengths)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// The peak of a cell, ticks of a round trip; `None` for what is no open loop, and before it was found.
    pub(super) fn peak(&self, plan: &CellPlan) -> Option<f64> {
        let family = Family::of(plan)?;
        let known = self.peaks.iter().find(|(known, _)| *known == family);
        known.map(|(_, peak)| *peak)
    }

    /// Finds the peak of a cell, unless it is known or the cell has none. A cell without one ends. True if the user
    /// interrupted.
    pub(super) fn find_peak(&mut self, cell: &mut CellRun, lengths: Lengths) -> io::Result<bool> {
        let Some(family) = Family::of(&cell.plan) else { return Ok(false) };
        if cell.ended.is_some() || self.peak(&cell.plan).is_some() {
            return Ok(false);
        }
        let mut trial = CellRun::new(family.plan(&cell.plan));
        for round in 0..TRIALS {
            if trial.ended.is_none() && self.measure_one(&mut trial, lengths, round, 0)? {
                return Ok(true);
            }
        }
        let peaks: Vec<f64> =
            trial.slices.iter().filter_map(|slice| slice.raw.sides[0].peak).collect();
        match (trial.ended, median(&peaks)) {
            (None, Some(peak)) => self.peaks.push((family, peak)),
            (ended, _) => {
                let unknown = || {
                    let reason = "the peak of its closed loop was not found".to_owned();
                    (Status::Failed, FailureKind::Failed, reason)
                };
                cell.ended = Some(ended.unwrap_or_else(unknown));
            }
        }
        Ok(false)
    }
}

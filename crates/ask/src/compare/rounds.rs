//! Rounds of arms, and how this program measures them.

use crate::experiment;
use ipcperf_core::result::{Origin, ResultSet};
use ipcperf_engine::plan::CellPlan;
use ipcperf_engine::run::{self, Progress, Settings};
use ipcperf_kit::error::Stop;
use ipcperf_kit::measure;
use ipcperf_kit::progress::ProgressLine;
use ipcperf_sys::signals::Interrupts;
use std::time::Duration;

/// What some rounds have found.
pub(crate) struct Rounds {
    /// A, A again and B in one document.
    pub(crate) set: ResultSet,
    /// What the other build said of itself and the machine.
    pub(crate) other: Option<ResultSet>,
    /// How long one round took.
    pub(crate) each: Duration,
}

/// Rounds by this program: every cell of every arm in each, in random order, each in fresh processes.
pub(crate) fn measure(
    cells: &[CellPlan],
    settings: &Settings,
    interrupts: &Interrupts,
    line: &ProgressLine,
) -> Result<Rounds, Stop> {
    let plan = experiment::plan("compare", cells.len() as u64, settings, Duration::ZERO);
    let mut all = Duration::ZERO;
    let mut show = |progress: Progress<'_>| {
        if let Progress::Round { took, .. } = progress {
            all += took;
        }
        line.show(progress);
    };
    let set =
        measure::take(plan, settings.seed, Origin::default(), &jiff::Timestamp::now(), || {
            run::run(cells.to_vec(), settings, Some(interrupts), &mut show)
        })?;
    let each = all.div_f64(settings.rounds.max(1) as f64);
    Ok(Rounds { set, other: None, each })
}

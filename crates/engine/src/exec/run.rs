//! All rounds of several pipelines.

use super::ran::{PipelinePlan, PipelineRun, RoundRun};
use super::{Error, Watch};
use crate::run::{Bench, Findings, PAUSE, Progress};
use ipcperf_core::result::Status;
use ipcperf_stats::Rng;
use ipcperf_sys::procfs;
use ipcperf_sys::signals::Interrupts;
use std::io;
use std::time::{Duration, Instant};

/// Rounds in which calls are counted: they vary little.
const TRACED_ROUNDS: u64 = 3;
/// How much longer a run may take whose every call stops twice.
const TRACED_SLOWER: u32 = 10;

/// How the rounds are to go.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// Rounds.
    pub rounds: u64,
    /// How long one run may take.
    pub deadline: Duration,
    /// Count system calls in further rounds.
    pub trace_calls: bool,
    /// Seed of the order.
    pub seed: u64,
}

/// Runs all of `plans` in every round, in random order; then, where asked, some rounds more under a tracer.
///
/// # Errors
/// No run directory can be had.
pub fn run(
    plans: Vec<PipelinePlan>,
    settings: &Settings,
    interrupts: Option<&Interrupts>,
    progress: &mut dyn FnMut(Progress<'_>),
) -> io::Result<Findings> {
    let began = Instant::now();
    let steal_before = procfs::steal_ns();
    let mut bench = Bench::open(settings.seed, interrupts)?;
    let begin = |plan| PipelineRun { plan, rounds: Vec::new(), calls: Vec::new(), ended: None };
    let mut pipelines: Vec<PipelineRun> = plans.into_iter().map(begin).collect();
    let mut watch = Watch::default();
    let mut order = Rng::stream(settings.seed, "order");
    let traced = if settings.trace_calls { TRACED_ROUNDS.min(settings.rounds) } else { 0 };
    let mut interrupted = false;
    let total = (settings.rounds + traced) * pipelines.len() as u64;
    'rounds: for round in 0..settings.rounds + traced {
        let is_traced = round >= settings.rounds;
        if bench.pause(PAUSE)? {
            interrupted = true;
            break;
        }
        let runs = |at: &usize| pipelines.get(*at).is_some_and(|one| one.ended.is_none());
        let mut turn: Vec<usize> = (0..pipelines.len()).filter(runs).collect();
        order.shuffle(&mut turn);
        for (position, at) in turn.into_iter().enumerate() {
            let done = round * pipelines.len() as u64 + position as u64;
            let Some(one) = pipelines.get_mut(at) else { continue };
            progress(Progress::Slice { done, total, id: &one.plan.id() });
            let slower = if is_traced { TRACED_SLOWER } else { 1 };
            let deadline = Instant::now() + settings.deadline * slower;
            let outcome = if is_traced {
                watch.calls(&one.plan, deadline, interrupts).map(|calls| one.calls.push(calls))
            } else {
                let order = position as u64;
                watch
                    .once(&one.plan, deadline, interrupts)
                    .map(|ran| one.rounds.push(RoundRun { round, order, ran }))
            };
            match outcome {
                Ok(()) => {}
                Err(Error::Interrupted) => {
                    interrupted = true;
                    break 'rounds;
                }
                Err(error) => one.ended = Some(verdict(error, settings, is_traced)),
            }
        }
    }
    progress(Progress::Done);
    interrupted |= !interrupted && bench.pause_enough()?;
    let mut findings = bench.close(Vec::new(), interrupted, began, steal_before);
    findings.pipelines = pipelines;
    Ok(findings)
}

fn verdict(error: Error, settings: &Settings, is_traced: bool) -> (Status, String) {
    let under = if is_traced { " under a tracer" } else { "" };
    match error {
        Error::Deadline(names) => {
            let names: Vec<String> = names.iter().map(|name| format!("'{name}'")).collect();
            let slower = if is_traced { TRACED_SLOWER } else { 1 };
            let limit = (settings.deadline * slower).as_secs_f64();
            let who = names.join(", ");
            let text = format!(
                "{who} had not ended{under} after {limit} s and was killed; --deadline allows more"
            );
            (Status::Deadline, text)
        }
        error => (Status::Failed, format!("{error}{under}")),
    }
}

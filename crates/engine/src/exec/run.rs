//! All rounds of several pipelines.

use super::Watch;
use crate::keeper::Error;
use crate::measured::{PipelinePlan, PipelineRun, RoundRun};
use crate::run::{Arm, Bench, Findings, Measure, PAUSE, Progress, rounds};
use ipcperf_core::result::Status;
use ipcperf_stats::Rng;
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
    let bench = Bench::open(settings.seed, interrupts)?;
    let begin = |plan| PipelineRun { plan, rounds: Vec::new(), calls: Vec::new(), ended: None };
    let pipelines = plans.into_iter().map(begin).collect();
    let mut run = PipelinesRun { bench, pipelines, watch: Watch::default(), settings, interrupts };
    let traced = if settings.trace_calls { TRACED_ROUNDS.min(settings.rounds) } else { 0 };
    let mut order = Rng::stream(settings.seed, "order");
    let ran = rounds(&mut run, settings.rounds + traced, None, &mut order, progress)?;
    progress(Progress::Done);
    let findings = run.bench.finish(Vec::new(), ran.interrupted)?;
    Ok(Findings { pipelines: run.pipelines, ..findings })
}

/// The pipelines of a run.
struct PipelinesRun<'a> {
    bench: Bench<'a>,
    pipelines: Vec<PipelineRun>,
    watch: Watch,
    settings: &'a Settings,
    interrupts: Option<&'a Interrupts>,
}

impl Measure for PipelinesRun<'_> {
    type Error = io::Error;

    fn arms(&self) -> Vec<Arm<'_>> {
        let arm = |one: &PipelineRun| Arm {
            name: one.plan.id().into(),
            is_open: one.ended.is_none(),
            idle: None,
            block: 0,
        };
        self.pipelines.iter().map(arm).collect()
    }

    fn pause(&mut self) -> io::Result<bool> {
        self.bench.pause(PAUSE)
    }

    fn measure(&mut self, arm: usize, round: u64, order: u64) -> io::Result<bool> {
        let (settings, interrupts) = (self.settings, self.interrupts);
        let one = &mut self.pipelines[arm];
        let is_traced = round >= settings.rounds;
        let slower = if is_traced { TRACED_SLOWER } else { 1 };
        let deadline = Instant::now() + settings.deadline * slower;
        let outcome = if is_traced {
            self.watch.calls(&one.plan, deadline, interrupts).map(|calls| one.calls.push(calls))
        } else {
            let ran = self.watch.once(&one.plan, deadline, interrupts);
            ran.map(|ran| one.rounds.push(RoundRun { round, order, ran }))
        };
        match outcome {
            Ok(()) => {}
            Err(Error::Interrupted) => return Ok(true),
            Err(error) => one.ended = Some(verdict(error, settings, is_traced)),
        }
        Ok(false)
    }
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

//! One run of a pipeline, and all rounds of several.

use super::traced;
use super::{Error, Finished, Outlet, Programs, Seen};
use crate::run::{Bench, Findings, Progress};
use ipcperf_core::result::{ByteProof, ProofKind, Status};
use ipcperf_stats::Rng;
use ipcperf_sys::clock::monotonic_ns;
use ipcperf_sys::io::pipe;
use ipcperf_sys::procfs;
use ipcperf_sys::program::Orphans;
use ipcperf_sys::signals::Interrupts;
use std::collections::BTreeMap;
use std::io;
use std::os::fd::OwnedFd;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// What a program may read beyond what comes through its pipe and still agree with the count of the program before it:
/// its libraries, its locale, its own script.
const STARTING_BYTES: u64 = 1 << 20;
/// Rounds in which calls are counted: they vary little.
const TRACED_ROUNDS: u64 = 3;
/// How much longer a run may take whose every call stops twice.
const TRACED_SLOWER: u32 = 10;

/// A pipeline to measure.
#[derive(Clone, Debug)]
pub struct PipelinePlan {
    /// The programs with their arguments, none of them empty; each reads what the one before it writes.
    pub programs: Vec<Vec<String>>,
    /// The programs as they were typed.
    pub commands: Vec<String>,
}

impl PipelinePlan {
    /// All of it in words: `head -c 1G /dev/zero | wc -c`.
    #[must_use]
    pub fn id(&self) -> String {
        self.commands.join(" | ")
    }
}

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

/// All runs of one pipeline.
#[derive(Debug)]
pub struct PipelineRun {
    /// What was to be measured.
    pub plan: PipelinePlan,
    /// Its runs.
    pub rounds: Vec<RoundRun>,
    /// System calls by number, for each traced round and program.
    pub calls: Vec<Vec<BTreeMap<i64, u64>>>,
    /// Why no more runs were tried.
    pub ended: Option<(Status, String)>,
}

impl PipelineRun {
    /// How much its rounds differ.
    pub(crate) fn spread(&self) -> Option<f64> {
        let times = self.rounds.iter().map(|round| round.ran.elapsed_ns as f64);
        ipcperf_stats::robust_cv(&times.collect::<Vec<_>>())
    }
}

/// One run and its circumstances.
#[derive(Clone, Debug)]
pub struct RoundRun {
    /// Round.
    pub round: u64,
    /// Position in it.
    pub order: u64,
    /// What was seen.
    pub ran: Ran,
}

/// One run of a pipeline.
#[derive(Clone, Debug)]
pub struct Ran {
    /// From before the first program was started until all had ended, ns.
    pub elapsed_ns: u64,
    /// Bytes that came out.
    pub arrived_bytes: u64,
    /// The programs.
    pub programs: Vec<Seen>,
}

impl Ran {
    /// What the last program has read of what the one before it wrote, if there are two and the kernel counts.
    #[must_use]
    pub fn taken_bytes(&self) -> Option<u64> {
        match self.programs.as_slice() {
            [.., before, last] => {
                Some(before.written_bytes()?.saturating_sub(last.unread_bytes.unwrap_or(0)))
            }
            _ => None,
        }
    }

    /// Whether the counts agree at every joint and at the end; `commands` name the programs.
    #[must_use]
    pub fn proof(&self, commands: &[String]) -> ByteProof {
        match self.doubt(commands) {
            Some(reason) => ByteProof { kind: ProofKind::None, reason: Some(reason) },
            None => ByteProof { kind: ProofKind::Bytes, reason: None },
        }
    }

    fn doubt(&self, commands: &[String]) -> Option<String> {
        let name = |at: usize| commands.get(at).map_or("", String::as_str);
        for (at, pair) in self.programs.windows(2).enumerate() {
            let [before, after] = pair else { continue };
            let (from, to) = (name(at), name(at + 1));
            if let Some(left @ 1..) = after.unread_bytes {
                return Some(format!("'{to}' left {left} bytes of '{from}' unread"));
            }
            let (Some(written), Some(moved)) = (before.written_bytes(), after.ended.moved) else {
                return Some("this kernel does not count bytes (/proc/PID/io)".into());
            };
            // Calls like splice move bytes that the kernel does not count.
            let agrees = written > 0 && moved.read.wrapping_sub(written) <= STARTING_BYTES;
            if !agrees {
                let read = moved.read;
                return Some(format!("'{from}' wrote {written} bytes, '{to}' read {read}"));
            }
        }
        let last = self.programs.last()?;
        let arrived = self.arrived_bytes;
        match last.written_bytes() {
            None => Some("this kernel does not count bytes (/proc/PID/io)".into()),
            Some(written) if written != arrived => {
                let last = name(commands.len().saturating_sub(1));
                Some(format!("'{last}' wrote {written} bytes, {arrived} arrived"))
            }
            Some(_) => None,
        }
    }
}

/// Runs a pipeline once.
///
/// # Errors
/// Why it came to nothing; a pipeline that moved no byte is nothing, too.
pub fn once(
    plan: &PipelinePlan,
    deadline: Instant,
    interrupts: Option<&Interrupts>,
) -> Result<Ran, Error> {
    // Dropped last: whatever the programs have left behind.
    let _orphans = Orphans::adopt()?;
    let mut programs = Programs::new(deadline, interrupts);
    let start_ns = monotonic_ns();
    let output = connect(plan, |name, command, input| {
        let held = input.map(OwnedFd::try_clone).transpose()?;
        programs.start(name, command, held)
    })?;
    let Finished { programs, end_ns, arrived_bytes, .. } = programs.finish(Some(output))?;
    let elapsed_ns = end_ns.saturating_sub(start_ns);
    let ran = Ran { elapsed_ns, arrived_bytes, programs };
    if arrived_bytes == 0 && ran.taken_bytes().unwrap_or(0) == 0 {
        let last = plan.commands.last().map_or("", String::as_str);
        return Err(Error::Failed(format!("no bytes: nothing came out of '{last}'")));
    }
    Ok(ran)
}

/// Starts the programs of a pipeline one after the other, with pipes between them; returns where the last one writes
/// to. `start` is told the pipe that a program reads.
pub(super) fn connect(
    plan: &PipelinePlan,
    mut start: impl FnMut(&str, &mut Command, Option<&OwnedFd>) -> Result<(), Error>,
) -> Result<Outlet, Error> {
    let (output, theirs) = Outlet::open()?;
    let (mut theirs, mut input) = (Some(theirs), None::<OwnedFd>);
    for (at, words) in plan.programs.iter().enumerate() {
        let Some((program, arguments)) = words.split_first() else { continue };
        let mut command = Command::new(program);
        command.args(arguments);
        let stdin = input.as_ref().map(OwnedFd::try_clone).transpose()?;
        command.stdin(stdin.map_or_else(Stdio::null, Stdio::from));
        let mut next = None;
        if at + 1 == plan.programs.len() {
            command.stdout(theirs.take().map_or_else(Stdio::null, Stdio::from));
        } else {
            let pair = pipe::pair().map_err(|error| Error::Failed(error.to_string()))?;
            command.stdout(pair.write);
            next = Some(pair.read);
        }
        let name = plan.commands.get(at).unwrap_or(program);
        start(name, &mut command, input.as_ref())?;
        input = next;
    }
    Ok(output)
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
    let bench = Bench::open(settings.seed, interrupts)?;
    let begin = |plan| PipelineRun { plan, rounds: Vec::new(), calls: Vec::new(), ended: None };
    let mut pipelines: Vec<PipelineRun> = plans.into_iter().map(begin).collect();
    let mut order = Rng::stream(settings.seed, "order");
    let traced = if settings.trace_calls { TRACED_ROUNDS.min(settings.rounds) } else { 0 };
    let mut interrupted = false;
    let total = (settings.rounds + traced) * pipelines.len() as u64;
    'rounds: for round in 0..settings.rounds + traced {
        let is_traced = round >= settings.rounds;
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
                traced::once(&one.plan, deadline, interrupts).map(|calls| one.calls.push(calls))
            } else {
                let order = position as u64;
                once(&one.plan, deadline, interrupts)
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

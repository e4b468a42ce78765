//! A client and a server beside themselves over other sockets: in every round once as they are, once more, and exchanged, each
//! time started anew, under the same filter.

use super::clients::PrintedFigure;
use crate::swap::accounts::Worked;
use crate::swap::calls::Exchanged;
use crate::swap::watch::{Job, Swapped, watched};
use ipcperf_engine::run::{Arm, Bench, Findings, Measure, PAUSE, Progress, rounds};
use ipcperf_engine::task::TaskError;
use ipcperf_kit::error::Stop;
use ipcperf_stats::Rng;
use ipcperf_sys::file;
use ipcperf_sys::process::describe_end;
use ipcperf_sys::signals::Interrupts;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::os::fd::AsFd;
use std::time::{Duration, Instant};

/// How the rounds are to go.
#[derive(Clone, Debug)]
pub(crate) struct PredictSettings {
    /// Rounds of a session.
    pub(crate) rounds: u64,
    /// Sessions, one or more.
    pub(crate) sessions: u64,
    /// How long lies between the end of one and the begin of the next.
    pub(crate) apart: Duration,
    /// How long a server and its client may take once.
    pub(crate) deadline: Duration,
    /// Seed of the order.
    pub(crate) seed: u64,
    /// What each client has to print.
    pub(crate) figure: Option<PrintedFigure>,
    /// What the arms are called.
    pub(crate) arms: [&'static str; 3],
    /// The programs are known to end well as they are.
    pub(crate) a_works: bool,
}

/// The arms of a round: as they are, the same again, and exchanged.
pub(crate) const ARMS: [&str; 3] = ["unchanged", "unchanged, again", "exchanged"];

/// The same of two configurations that the user has made.
pub(crate) const CONFIGURED: [&str; 3] = ["A", "A again", "B"];

/// The arms that a round has as well where an exchange is held against a configuration by hand; no filter is in their way.
pub(crate) const BY_HAND: [&str; 2] = ["unchanged, without a filter", "B by hand"];

/// What a client did once.
#[derive(Clone, Debug)]
pub(crate) struct ClientWork {
    /// What it took.
    pub(crate) worked: Worked,
    /// What it said: the last of it.
    pub(crate) output: String,
    /// How many bytes it said in all.
    pub(crate) printed: u64,
    /// What was exchanged, or would have been.
    pub(crate) exchanged: Exchanged,
    /// What the filter adds to a call, ns.
    pub(crate) filter_ns: f64,
    /// The client failed early, and this is what it did when it was started once more.
    pub(crate) is_second_start: bool,
}

/// All rounds of a job.
#[derive(Debug)]
pub(crate) struct Predicted {
    /// The machine meanwhile.
    pub(crate) findings: Findings,
    /// Rounds in which all were measured.
    pub(crate) rounds: Vec<[ClientWork; 3]>,
    /// In the same rounds the programs as they are, and configured by hand; empty unless that was asked for.
    pub(crate) by_hand: Vec<[ClientWork; 2]>,
    /// How many of the rounds each session has.
    pub(crate) sessions: Vec<usize>,
    /// Runs that failed and were repeated.
    pub(crate) repeated: u64,
    /// Why it ended before all rounds were measured, if no user interrupted it.
    pub(crate) stopped: Option<String>,
}

/// Why nothing can be measured any more.
#[derive(Clone, Debug)]
pub(crate) enum PredictHalt {
    /// The user interrupted.
    Interrupted,
    /// A program failed, or took too long.
    Failed(String),
    /// What the user asked for does not fit the programs.
    Usage(String),
    /// The programs did something else than they do as they are.
    Different(String),
}

impl From<PredictHalt> for Stop {
    fn from(halt: PredictHalt) -> Self {
        match halt {
            PredictHalt::Interrupted => Self::interrupted("interrupted"),
            PredictHalt::Failed(why) => Self::internal(why),
            PredictHalt::Usage(why) => Self::usage(why),
            PredictHalt::Different(why) => Self::invalid(why),
        }
    }
}

/// Bytes of what a program says that are kept: its figure and its complaints come last.
const KEPT: u64 = 1 << 20;

/// Runs A and B, with a client each, in `settings.rounds` rounds of each session, and `by_hand` in the same ones. A complaint names
/// the arm.
///
/// # Errors
/// Why it came to nothing: a program failed, or took too long, in the first round. What ends later has the rounds before.
pub(crate) fn run(
    [a, b]: &[Job; 2],
    by_hand: Option<&[Job; 2]>,
    settings: &PredictSettings,
    interrupts: &Interrupts,
    progress: &mut dyn FnMut(Progress<'_>),
) -> Result<Predicted, PredictHalt> {
    let bench = Bench::open(settings.seed, Some(interrupts)).map_err(failed)?;
    let jobs: Vec<&Job> = [a, a, b].into_iter().chain(by_hand.into_iter().flatten()).collect();
    let mut run = PredictRun {
        bench,
        round: vec![None; jobs.len()],
        jobs,
        settings,
        interrupts,
        rounds: Vec::new(),
        by_hand: Vec::new(),
        repeated: 0,
        stopped: None,
    };
    let mut order = Rng::stream(settings.seed, "order");
    let (mut sessions, mut is_interrupted) = (Vec::new(), false);
    for session in 0..settings.sessions {
        if session > 0 && wait(session, settings, interrupts, progress) {
            is_interrupted = true;
            break;
        }
        let before = run.rounds.len();
        let ran = rounds(&mut run, settings.rounds, None, &mut order, progress)?;
        sessions.push(run.rounds.len() - before);
        if ran.interrupted {
            is_interrupted = true;
            break;
        }
    }
    progress(Progress::Done);
    let findings = run.bench.finish(Vec::new(), is_interrupted).map_err(failed)?;
    let PredictRun { rounds, by_hand, repeated, stopped, .. } = run;
    Ok(Predicted { findings, rounds, by_hand, sessions, repeated, stopped })
}

/// Waits until the next session begins; true if the user interrupted.
fn wait(
    done: u64,
    settings: &PredictSettings,
    interrupts: &Interrupts,
    progress: &mut dyn FnMut(Progress<'_>),
) -> bool {
    let until = Instant::now() + settings.apart;
    loop {
        let left = until.saturating_duration_since(Instant::now());
        if interrupts.arrived() || left.is_zero() {
            return interrupts.arrived();
        }
        let next = format!(
            "session {} of {} begins in {} s",
            done + 1,
            settings.sessions,
            left.as_secs() + 1
        );
        progress(Progress::Slice { done: 0, total: settings.rounds, id: &next, so_far: None });
        std::thread::sleep(left.min(Duration::from_millis(200)));
    }
}

fn failed(error: io::Error) -> PredictHalt {
    PredictHalt::Failed(error.to_string())
}

struct PredictRun<'a> {
    bench: Bench<'a>,
    /// Of each arm.
    jobs: Vec<&'a Job>,
    settings: &'a PredictSettings,
    interrupts: &'a Interrupts,
    /// What this round has so far.
    round: Vec<Option<ClientWork>>,
    rounds: Vec<[ClientWork; 3]>,
    by_hand: Vec<[ClientWork; 2]>,
    repeated: u64,
    stopped: Option<String>,
}

impl PredictRun<'_> {
    /// Whether the programs end well as they are, where this arm does not: if no run has shown it, one more does.
    fn a_works(&self, arm: usize) -> bool {
        let is_b = arm + 1 == ARMS.len();
        let is_seen = || {
            self.settings.a_works
                || !self.rounds.is_empty()
                || self.round[..ARMS.len() - 1].iter().any(Option::is_some)
        };
        is_b && (is_seen() || once(self.jobs[0], self.settings, self.interrupts).is_ok())
    }
}

impl Measure for PredictRun<'_> {
    type Error = PredictHalt;

    fn arms(&self) -> Vec<Arm<'_>> {
        let names = self.settings.arms.into_iter().chain(BY_HAND).take(self.jobs.len());
        names.map(|name| Arm { name: name.into(), is_open: true, idle: None, block: 0 }).collect()
    }

    fn pause(&mut self) -> Result<bool, PredictHalt> {
        self.bench.pause(PAUSE).map_err(failed)
    }

    fn measure(&mut self, arm: usize, _: u64, _: u64) -> Result<bool, PredictHalt> {
        let job = self.jobs[arm];
        let mut ran = once(job, self.settings, self.interrupts);
        if matches!(ran, Err(Failure::Programs(_))) {
            self.repeated += 1;
            ran = once(job, self.settings, self.interrupts);
        }
        match ran {
            Ok(work) => {
                self.repeated += u64::from(work.is_second_start);
                self.round[arm] = Some(work);
            }
            Err(Failure::Interrupted) => return Ok(true),
            Err(failure) => {
                let a_works = self.a_works(arm);
                let halt = failure.of(arm, a_works, self.settings);
                let (PredictHalt::Failed(why) | PredictHalt::Different(why), false) =
                    (&halt, self.rounds.is_empty())
                else {
                    return Err(halt);
                };
                // The rounds that are complete are no worse for it.
                self.stopped = Some(why.clone());
                return Ok(true);
            }
        }
        if self.round.iter().all(Option::is_some) {
            let all: Vec<ClientWork> = self.round.iter_mut().filter_map(Option::take).collect();
            if let [a, again, b, by_hand @ ..] = all.as_slice() {
                self.rounds.push([a.clone(), again.clone(), b.clone()]);
                self.by_hand.extend(<[ClientWork; 2]>::try_from(by_hand.to_vec()));
            }
        }
        Ok(false)
    }
}

/// Why a run of both programs came to nothing.
#[derive(Clone, Debug)]
pub(crate) enum Failure {
    /// The user interrupted.
    Interrupted,
    /// A program failed, which it may not do again.
    Programs(String),
    /// They were not done in time.
    Late(String),
    /// What the user asked for is not there.
    Usage(String),
    /// The client connected to nothing that is exchanged.
    Idle(String),
}

impl Failure {
    /// As the end of the command, where this arm failed. `a_works`: the programs end well as they are.
    pub(crate) fn of(self, arm: usize, a_works: bool, settings: &PredictSettings) -> PredictHalt {
        let names: Vec<&str> = settings.arms.into_iter().chain(BY_HAND).collect();
        let name = names[arm];
        match self {
            Self::Interrupted => PredictHalt::Interrupted,
            Self::Programs(why) | Self::Late(why) if a_works && arm + 1 == ARMS.len() => {
                PredictHalt::Different(format!(
                    "no verdict: {name}: {why}; {}: the client succeeded",
                    settings.arms[0]
                ))
            }
            Self::Programs(why) | Self::Late(why) => PredictHalt::Failed(format!("{name}: {why}")),
            Self::Usage(why) => PredictHalt::Usage(why),
            Self::Idle(why) => PredictHalt::Different(format!("no verdict: {name}: {why}")),
        }
    }
}

/// Server and client once.
///
/// # Errors
/// See [`Failure`].
pub(crate) fn once(
    job: &Job,
    settings: &PredictSettings,
    interrupts: &Interrupts,
) -> Result<ClientWork, Failure> {
    let failed = |error: io::Error| Failure::Programs(error.to_string());
    let null = File::open("/dev/null").map_err(failed)?;
    let said = || file::unnamed("said").map_err(failed);
    let said = [said()?, said()?];
    let streams = said.each_ref().map(|said| [null.as_fd(), said.as_fd(), said.as_fd()]);
    let until = Instant::now() + settings.deadline;
    let swapped = watched(job.clone(), streams, until, interrupts, &mut |_, _| ());
    let [of_server, of_client] = said.each_ref().map(complaint);
    let swapped = swapped.map_err(|error| match error {
        TaskError::Interrupted => Failure::Interrupted,
        TaskError::Deadline(_) => Failure::Late(format!(
            "not done after {} s: by then the server must listen{} and the client must end by itself; --deadline allows \
             more{}{}",
            settings.deadline.as_secs_f64(),
            if job.ready.is_empty() { "" } else { ", --ready must succeed" },
            of_server.words("the server printed"),
            of_client.words("the client printed")
        )),
        TaskError::Failed(why) => {
            Failure::Programs(format!("{why}{}", of_server.words("the server printed")))
        }
    })?;
    if swapped.is_interrupted {
        return Err(Failure::Interrupted);
    }
    let Some(worked) = swapped.worked else {
        let how = describe_end(swapped.status);
        return Err(Failure::Programs(format!(
            "the server ended before the client was started ({how}){}",
            of_server.after_colon()
        )));
    };
    if !swapped.status.success() {
        let how = describe_end(swapped.status);
        let why = match of_client.after_colon() {
            nothing if nothing.is_empty() => of_server.words("the server printed"),
            why => why,
        };
        return Err(Failure::Programs(format!("the client failed ({how}){why}")));
    }
    let Swapped { exchanged, filter_ns, is_second_start, .. } = swapped;
    if let ([(address, _), ..], 0) = (exchanged.bound.as_slice(), worked.connections) {
        return Err(Failure::Idle(format!(
            "the client succeeded but made no connection to {address}{}. Does it connect to the address of the server?",
            of_client.words("it printed")
        )));
    }
    let [_, of_client] = said;
    let printed = of_client.metadata().map_err(failed)?.len();
    let output = text(&of_client).map_err(failed)?;
    if let Some(Err(why)) = settings.figure.as_ref().map(|figure| figure.find(&output)) {
        return Err(Failure::Usage(why.to_string()));
    }
    Ok(ClientWork { worked, output, printed, exchanged, filter_ns, is_second_start })
}

/// The last of what a program has said.
pub(super) fn text(mut said: &File) -> io::Result<String> {
    let mut bytes = Vec::new();
    let all = said.metadata()?.len();
    said.seek(SeekFrom::Start(all.saturating_sub(KEPT)))?;
    said.take(KEPT).read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// The last lines of a program that have words: a program that fails says why at the end.
struct Complaint(String);

/// Lines that are quoted.
const LINES: usize = 3;

/// Signs of each of them.
const SIGNS: usize = 200;

fn complaint(said: &File) -> Complaint {
    let said = text(said).unwrap_or_default();
    let lines = said.lines().rev().map(str::trim).filter(|line| !line.is_empty()).take(LINES);
    let mut lines: Vec<String> = lines.map(|line| line.chars().take(SIGNS).collect()).collect();
    lines.reverse();
    Complaint(lines.join(" / "))
}

impl Complaint {
    fn after_colon(&self) -> String {
        if self.0.is_empty() { String::new() } else { format!(": {}", self.0) }
    }

    fn words(&self, head: &str) -> String {
        if self.0.is_empty() { String::new() } else { format!("; {head}: {}", self.0) }
    }
}

//! A client and a server beside themselves over other sockets: in every round once as they are, once more, and exchanged, each
//! time started anew, under the same filter.

use crate::swap::calls::Exchanged;
use crate::swap::watch::{Job, Worked, watched};
use ipcperf_engine::run::{Arm, Bench, Findings, Measure, PAUSE, Progress, rounds};
use ipcperf_engine::task::TaskError;
use ipcperf_stats::Rng;
use ipcperf_sys::file;
use ipcperf_sys::process::describe_end;
use ipcperf_sys::signals::Interrupts;
use std::fs::File;
use std::io::{self, Read, Seek};
use std::os::fd::AsFd;
use std::time::{Duration, Instant};

/// How the rounds are to go.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PredictSettings {
    /// Rounds.
    pub(crate) rounds: u64,
    /// How long a server and its client may take once.
    pub(crate) deadline: Duration,
    /// Seed of the order.
    pub(crate) seed: u64,
}

/// The arms of a round: as they are, the same again, and exchanged.
pub(crate) const ARMS: [&str; 3] = ["as it is", "as it is, again", "exchanged"];

/// What a client did once.
#[derive(Clone, Debug)]
pub(crate) struct ClientWork {
    /// What it took.
    pub(crate) worked: Worked,
    /// What it said: the first of it.
    pub(crate) output: String,
    /// What was exchanged, or would have been.
    pub(crate) exchanged: Exchanged,
    /// What the filter adds to a call, ns.
    pub(crate) filter_ns: f64,
}

/// All rounds of a job.
#[derive(Debug)]
pub(crate) struct Predicted {
    /// The machine meanwhile.
    pub(crate) findings: Findings,
    /// Rounds in which all three were measured.
    pub(crate) rounds: Vec<[ClientWork; 3]>,
}

/// Bytes of what a client says that are kept for its figure.
const KEPT: u64 = 1 << 20;

/// Runs a job with a client in `settings.rounds` rounds. What a complaint is about is told by the arm.
///
/// # Errors
/// Why it came to nothing: a program failed, or took too long. What was interrupted has the rounds before.
pub(crate) fn run(
    job: &Job,
    settings: &PredictSettings,
    interrupts: &Interrupts,
    progress: &mut dyn FnMut(Progress<'_>),
) -> Result<Predicted, TaskError> {
    let failed = |error: io::Error| TaskError::Failed(error.to_string());
    let bench = Bench::open(settings.seed, Some(interrupts)).map_err(failed)?;
    let mut run = PredictRun {
        bench,
        job,
        settings,
        interrupts,
        round: Default::default(),
        rounds: Vec::new(),
    };
    let mut order = Rng::stream(settings.seed, "order");
    let ran = rounds(&mut run, settings.rounds, None, &mut order, progress)?;
    progress(Progress::Done);
    let findings = run.bench.finish(Vec::new(), ran.interrupted).map_err(failed)?;
    Ok(Predicted { findings, rounds: run.rounds })
}

struct PredictRun<'a> {
    bench: Bench<'a>,
    job: &'a Job,
    settings: &'a PredictSettings,
    interrupts: &'a Interrupts,
    /// What this round has so far.
    round: [Option<ClientWork>; 3],
    rounds: Vec<[ClientWork; 3]>,
}

impl Measure for PredictRun<'_> {
    type Error = TaskError;

    fn arms(&self) -> Vec<Arm<'_>> {
        ARMS.map(|name| Arm { name: name.into(), is_open: true, idle: None, block: 0 }).into()
    }

    fn pause(&mut self) -> Result<bool, TaskError> {
        self.bench.pause(PAUSE).map_err(|error| TaskError::Failed(error.to_string()))
    }

    fn measure(&mut self, arm: usize, _: u64, _: u64) -> Result<bool, TaskError> {
        let Some(name) = ARMS.get(arm) else { return Ok(false) };
        let mut job = self.job.clone();
        job.is_as_it_is = arm + 1 < ARMS.len();
        match once(job, self.settings.deadline, self.interrupts) {
            Ok(Some(work)) => self.round[arm] = Some(work),
            Ok(None) | Err(TaskError::Interrupted) => return Ok(true),
            Err(TaskError::Deadline(_)) => {
                let limit = self.settings.deadline.as_secs_f64();
                return Err(TaskError::Deadline(format!(
                    "{name}: not done after {limit} s: the server has to listen by then and the client to end by itself; \
                     --deadline allows more"
                )));
            }
            Err(TaskError::Failed(why)) => return Err(TaskError::Failed(format!("{name}: {why}"))),
        }
        if let [Some(a), Some(again), Some(b)] = &self.round {
            self.rounds.push([a.clone(), again.clone(), b.clone()]);
            self.round = Default::default();
        }
        Ok(false)
    }
}

/// Server and client once; `None` if the user interrupted.
fn once(
    job: Job,
    deadline: Duration,
    interrupts: &Interrupts,
) -> Result<Option<ClientWork>, TaskError> {
    let failed = |error: io::Error| TaskError::Failed(error.to_string());
    let null = File::open("/dev/null").map_err(failed)?;
    let said = || file::unnamed("said").map_err(failed);
    let [of_server, of_client] = [said()?, said()?];
    let streams = [&of_server, &of_client].map(|said| [null.as_fd(), said.as_fd(), said.as_fd()]);
    let until = Instant::now() + deadline;
    let swapped = watched(job, streams, until, interrupts, &mut |_, _| ())?;
    if swapped.is_interrupted {
        return Ok(None);
    }
    let Some(worked) = swapped.worked else {
        let how = describe_end(swapped.status);
        let said = complaint(&text(of_server).map_err(failed)?);
        return Err(TaskError::Failed(format!(
            "the server ended before the client began ({how}){said}"
        )));
    };
    let output = text(of_client).map_err(failed)?;
    if !swapped.status.success() {
        let how = describe_end(swapped.status);
        return Err(TaskError::Failed(format!("the client failed ({how}){}", complaint(&output))));
    }
    let (exchanged, filter_ns) = (swapped.exchanged, swapped.filter_ns);
    Ok(Some(ClientWork { worked, output, exchanged, filter_ns }))
}

/// The first of what a program has said.
fn text(mut said: File) -> io::Result<String> {
    let mut bytes = Vec::new();
    said.rewind()?;
    said.take(KEPT).read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// The last line of it that has words: a program that fails says why at the end.
fn complaint(said: &str) -> String {
    let last = said.lines().rev().map(str::trim).find(|line| !line.is_empty());
    last.map(|line| format!(": {}", line.chars().take(300).collect::<String>())).unwrap_or_default()
}

//! The process that starts the programs of pipelines and waits for them. What they leave behind becomes its children
//! (`PR_SET_CHILD_SUBREAPER`). At the end of the coordinator it ends all of them, whatever ended that; if it is killed
//! itself, they become children of the coordinator, which ends them. It stays from one run of a pipeline to the next, so
//! that its own start is in no figure.

use super::connect;
use crate::job::Failure;
use crate::keeper::{Error, Finished, Keeper, Programs};
use crate::measured::{PipelinePlan, Ran};
use crate::supervisor::{Stop, Supervisor};
use crate::task::{TaskError, WorkerContext};
use ipcperf_sys::clock::monotonic_ns;
use ipcperf_sys::control::wait_any;
use ipcperf_sys::process::outlive_coordinator;
use ipcperf_sys::program::Orphans;
use ipcperf_sys::signals::Interrupts;
use ipcperf_sys::trace::Follow;
use ipcperf_sys::{file, limits};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read, Seek, Write};
use std::os::fd::AsFd;
use std::time::{Duration, Instant};

/// Its name among the tasks.
pub(crate) const TASK: &str = "programs";

/// What it is called where it fails.
const NAME: &str = "the watch over the programs";

/// How much longer than the programs it may take itself.
const GRACE: Duration = Duration::from_secs(10);

/// The calls of each program by number.
type Calls = Vec<BTreeMap<i64, u64>>;

/// What it does. A command line may be longer than a message, so this lies in a file that both have open, and so does what
/// comes of it.
#[derive(Debug, Serialize, Deserialize)]
struct Duty {
    plan: PipelinePlan,
    /// How long the programs may take.
    time: Duration,
    /// Counts system calls, and nothing else.
    traces: bool,
    /// Open files of the programs, the soft and the hard limit.
    files: Option<[Option<u64>; 2]>,
}

/// The watch as the coordinator sees it. It is started when it is needed first, and again after it has failed.
#[derive(Debug, Default)]
pub struct Watch(Option<Started>);

#[derive(Debug)]
struct Started {
    worker: Supervisor<'static>,
    file: File,
    /// Dropped last: what a watch that was killed has left.
    _orphans: Orphans,
}

impl Watch {
    /// Runs a pipeline once.
    ///
    /// # Errors
    /// Why it came to nothing; a pipeline that moved no byte is nothing, too.
    pub fn once(
        &mut self,
        plan: &PipelinePlan,
        deadline: Instant,
        interrupts: Option<&Interrupts>,
    ) -> Result<Ran, Error> {
        self.send(plan, deadline, interrupts, false)
    }

    /// Runs a pipeline once under a tracer.
    ///
    /// # Errors
    /// Why it came to nothing.
    pub(super) fn calls(
        &mut self,
        plan: &PipelinePlan,
        deadline: Instant,
        interrupts: Option<&Interrupts>,
    ) -> Result<Calls, Error> {
        self.send(plan, deadline, interrupts, true)
    }

    fn send<T: DeserializeOwned>(
        &mut self,
        plan: &PipelinePlan,
        deadline: Instant,
        interrupts: Option<&Interrupts>,
        traces: bool,
    ) -> Result<T, Error> {
        // A watch that did not come to an end is not asked again.
        let mut watch = match self.0.take() {
            Some(watch) => watch,
            None => Started::new(deadline, interrupts)?,
        };
        let time = deadline.saturating_duration_since(Instant::now());
        put(
            &mut watch.file,
            &Duty { plan: plan.clone(), time, traces, files: limits::of_programs() },
        )?;
        watch.worker.go(0, &())?;
        watch.wait(deadline, interrupts)?;
        let came = get(&mut watch.file)?;
        self.0 = Some(watch);
        came
    }
}

impl Started {
    fn new(deadline: Instant, interrupts: Option<&Interrupts>) -> Result<Self, Error> {
        let orphans = Orphans::adopt()?;
        let file = file::unnamed("ipcperf-programs")?;
        let mut worker = Supervisor::new(deadline, None);
        let who = worker.start(NAME, 0)?;
        worker.assign(who, TASK, &(), &[file.as_fd()])?;
        let mut started = Self { worker, file, _orphans: orphans };
        started.wait(deadline, interrupts)?;
        Ok(started)
    }

    /// Waits until it is ready for what comes next.
    fn wait(&mut self, deadline: Instant, interrupts: Option<&Interrupts>) -> Result<(), Error> {
        let deadline = deadline + GRACE;
        let control = self.worker.worker(0).control().fd();
        let fds: Vec<_> = [control].into_iter().chain(interrupts.map(Interrupts::fd)).collect();
        let ready = wait_any(&fds, deadline)?;
        if interrupts.is_some_and(Interrupts::arrived) {
            return Err(Error::Interrupted);
        }
        if ready.first() != Some(&true) {
            return Err(Error::Failed(format!("{NAME}: not done in time")));
        }
        self.worker.allow(deadline);
        self.worker.ready(0).map_err(|stop: Stop| Error::Failed(TaskError::from(stop).to_string()))
    }
}

/// The watch from the inside.
pub(crate) fn serve(context: &mut WorkerContext<'_>) -> Result<Value, Failure> {
    let end = outlive_coordinator()?;
    let file = context.fds.pop().ok_or_else(|| io::Error::from(io::ErrorKind::InvalidData))?;
    let mut file = File::from(file);
    // Ended by whom does not matter: a coordinator that is still there takes it for a failure.
    let told = |error| match error {
        Error::Interrupted => Error::Failed(format!("{NAME} was terminated")),
        error => error,
    };
    loop {
        context.ready(&())?;
        let Duty { plan, time, traces, files } = get(&mut file)?;
        files.into_iter().for_each(limits::take_of_programs);
        let deadline = Instant::now() + time;
        match traces {
            true => put(&mut file, &traced(&plan, deadline, &end).map_err(told))?,
            false => put(&mut file, &started(&plan, deadline, &end).map_err(told))?,
        }
    }
}

fn started(plan: &PipelinePlan, deadline: Instant, end: &Interrupts) -> Result<Ran, Error> {
    // Dropped last: whatever the programs have left behind.
    let _orphans = Orphans::adopt()?;
    let mut programs = Programs::new(deadline, Some(end));
    let start_ns = monotonic_ns();
    let output = connect(plan, &mut programs)?;
    let Finished { programs, end_ns, arrived_bytes, start } = programs.finish(Some(output))?;
    let elapsed_ns = end_ns.saturating_sub(start_ns);
    let ran = Ran { elapsed_ns, arrived_bytes, start, programs };
    if arrived_bytes == 0 && ran.taken_bytes().unwrap_or(0) == 0 {
        let last = plan.commands.last().map_or("", String::as_str);
        return Err(Error::Failed(format!("no bytes: nothing came out of '{last}'")));
    }
    Ok(ran)
}

/// One run under a tracer: which system calls it makes. It yields no times.
fn traced(plan: &PipelinePlan, deadline: Instant, end: &Interrupts) -> Result<Calls, Error> {
    let _orphans = Orphans::adopt()?;
    count_calls(plan, Programs::of(Keeper::Traced(Follow::new()?), deadline, Some(end)))
}

pub(super) fn count_calls(plan: &PipelinePlan, mut programs: Programs<'_>) -> Result<Calls, Error> {
    let mut output = connect(plan, &mut programs)?;
    programs.run(Some(&mut output))?;
    let Keeper::Traced(follow) = programs.keeper() else { return Ok(Calls::new()) };
    Ok(follow.programs().iter().map(|program| program.calls.clone()).collect())
}

/// Writes it in place of what is there.
fn put<T: Serialize>(file: &mut File, what: &T) -> io::Result<()> {
    file.set_len(0)?;
    file.rewind()?;
    file.write_all(&serde_json::to_vec(what)?)
}

fn get<T: DeserializeOwned>(file: &mut File) -> io::Result<T> {
    let mut bytes = Vec::new();
    file.rewind()?;
    file.read_to_end(&mut bytes)?;
    Ok(serde_json::from_slice(&bytes)?)
}

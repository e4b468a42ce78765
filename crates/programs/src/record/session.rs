//! Programs of others are recorded while they run: who talks to whom, with what sizes, how often.

use super::cpu::Cpu;
use super::log::Log;
use super::{audit, channels};
use crate::profile::{Audit, RecordedBy, RecordedChannel, RecordedProgram, SharedMapping};
use crate::record::calls::{Kernel, Shared, Traced, listening_ports, program_of};
use crate::server::{LISTENS_WITHIN, never_listens};
use ipcperf_engine::not_started;
use ipcperf_engine::task::TaskError;
use ipcperf_sys::control::wait_any;
use ipcperf_sys::process::{describe_end, exists};
use ipcperf_sys::process_tree::family;
use ipcperf_sys::program::{Orphans, Program};
use ipcperf_sys::signals::Interrupts;
use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{self, IsTerminal};
use std::ops::ControlFlow;
use std::process::{Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How long a program may take to end once it is asked to.
const GRACE: Duration = Duration::from_secs(5);

/// How long what a benchmark leaves behind is followed at most.
const LEFT: Duration = Duration::from_secs(60);

/// Between two looks at the events. The ring has room for half a second of the busiest programs.
const MOMENT: Duration = Duration::from_millis(20);

/// Between two looks at what the programs have mapped.
const LOOK: Duration = Duration::from_millis(200);

/// What is to be recorded.
#[derive(Clone, Debug, Default)]
pub(crate) struct Wanted {
    /// A program and its arguments; none if processes are given.
    pub(crate) program: Vec<String>,
    /// Another one that starts once the first listens; at its end the first is ended.
    pub(crate) client: Vec<String>,
    /// Processes that run already.
    pub(crate) processes: Vec<u32>,
    /// At most so long.
    pub(crate) during: Option<Duration>,
    /// In this way; otherwise by the best one there is.
    pub(crate) by: Option<RecordedBy>,
    /// Examine it as a benchmark.
    pub(crate) audit: Option<Audited>,
    /// What the programs print goes into these files, that of the program and that of its client, and is not shown.
    pub(crate) said: Option<[Arc<File>; 2]>,
}

impl Wanted {
    /// Where what the program (0) or its client (1) prints is kept.
    fn said_by(&self, at: usize) -> Option<&File> {
        self.said.as_ref().map(|said| said[at].as_ref())
    }
}

/// What is known of a benchmark that is examined.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Audited {
    /// The size of its messages.
    pub(crate) size: Option<u64>,
}

/// What was recorded.
#[derive(Clone, Debug)]
pub(crate) struct Recorded {
    /// How.
    pub(crate) by: RecordedBy,
    /// Why not by programs in the kernel.
    pub(crate) why: Option<String>,
    /// How the program ended; with a client, how that did; `None` of processes that run on.
    pub(crate) status: Option<ExitStatus>,
    /// It was asked to end.
    pub(crate) is_interrupted: bool,
    /// No more calls were kept.
    pub(crate) is_full: bool,
    /// For how long.
    pub(crate) elapsed: Duration,
    /// How many calls.
    pub(crate) calls: u64,
    /// How many events were lost.
    pub(crate) lost: u64,
    /// What recording added to a call, ns.
    pub(crate) price_ns: Option<f64>,
    /// The programs.
    pub(crate) programs: Vec<RecordedProgram>,
    /// What they said to each other.
    pub(crate) channels: Vec<RecordedChannel>,
    /// What memory they share.
    pub(crate) shared: Vec<SharedMapping>,
    /// What was not seen.
    pub(crate) unseen: BTreeMap<String, u64>,
    /// What is wrong with it as a benchmark, if that was asked.
    pub(crate) audit: Option<Audit>,
}

/// Where calls are heard from, and what runs.
enum CallSource {
    Kernel(Kernel, Vec<Running>),
    Traced(Traced),
}

/// A program, and how it ended if it has.
struct Running(Program, Option<ExitStatus>);

impl Running {
    fn ended(&mut self) -> io::Result<Option<ExitStatus>> {
        if self.1.is_none() && wait_any(&[self.0.pidfd()], Instant::now())?.contains(&true) {
            self.1 = Some(self.0.wait()?.status);
        }
        Ok(self.1)
    }
}

/// Records until the programs have ended, the time is over, or somebody interrupts.
///
/// # Errors
/// A program cannot be started, or nothing can be recorded here.
pub(crate) fn run(wanted: &Wanted, interrupts: &Interrupts) -> Result<Recorded, TaskError> {
    // Dropped last: whatever the programs have left behind.
    let _orphans = Orphans::adopt().map_err(failed)?;
    let mut session = Session::begin(wanted)?;
    let status = loop {
        match session.step(interrupts)? {
            ControlFlow::Continue(()) => session.source.nap(interrupts).map_err(failed)?,
            ControlFlow::Break(status) => break status,
        }
    };
    session.recorded(status)
}

fn failed(error: io::Error) -> TaskError {
    TaskError::Failed(error.to_string())
}

/// Programs that are being recorded.
struct Session<'a> {
    wanted: &'a Wanted,
    source: CallSource,
    /// Why it is not the best source.
    why: Option<String>,
    price_ns: Option<f64>,
    log: Log,
    shared: Shared,
    cpu: Cpu,
    began: Instant,
    /// When the mappings were last looked at.
    looked: Option<Instant>,
    /// When what has not ended by then is left.
    ends: Option<Instant>,
    /// What goes on after the end of the program.
    rest: Option<Rest>,
    has_client: bool,
    is_interrupted: bool,
    is_over: bool,
}

/// Processes that outlive the program that was started.
struct Rest {
    began: Instant,
    /// When data last moved, and how often it had by then.
    moved: Instant,
    moves: u64,
}

impl<'a> Session<'a> {
    fn begin(wanted: &'a Wanted) -> Result<Self, TaskError> {
        let (source, why, price_ns) = source(wanted)?;
        let mut session = Self {
            wanted,
            source,
            why,
            price_ns,
            log: Log::default(),
            shared: Shared::default(),
            cpu: Cpu::default(),
            began: Instant::now(),
            looked: None,
            ends: None,
            rest: None,
            has_client: false,
            is_interrupted: false,
            is_over: false,
        };
        session.log.listening = listening_ports();
        session.log.ignored = Some(std::process::id());
        for process in wanted.processes.iter().flat_map(|root| family(*root)) {
            if let Some(name) = program_of(process) {
                session.log.name(process, name);
                session.source.attach(process)?;
            }
        }
        // Loading programs and reading tables can take long, and is not part of the recording.
        session.began = Instant::now();
        if !wanted.program.is_empty() {
            session.source.start(&wanted.program, wanted.said_by(0))?;
        }
        session.look_at_cpu();
        session.cpu.begin();
        Ok(session)
    }

    fn look_at_cpu(&mut self) {
        self.log.processes().for_each(|process| self.cpu.look(process));
    }

    /// Looks at what has happened, and says how it ended once it is over.
    fn step(
        &mut self,
        interrupts: &Interrupts,
    ) -> Result<ControlFlow<Option<ExitStatus>>, TaskError> {
        let wanted = self.wanted;
        self.source.take(&mut self.log).map_err(failed)?;
        let now = Instant::now();
        if self.looked.is_none_or(|looked| now - looked > LOOK) {
            self.log.processes().for_each(|process| self.shared.look(process));
            // What the server does once its client is done is not for it.
            if self.ends.is_none() {
                self.look_at_cpu();
            }
            self.looked = Some(now);
        }
        let awaits_client = !wanted.client.is_empty() && !self.has_client && self.ends.is_none();
        if awaits_client && self.log.has_listener {
            self.look_at_cpu();
            self.cpu.begin();
            self.source.start(&wanted.client, wanted.said_by(1))?;
            self.has_client = true;
        }
        let ended = self.source.ended().map_err(failed)?;
        let [server, client] = [0, 1].map(|at| ended.get(at).copied().flatten());
        let is_late = self.ends.is_some_and(|ends| now > ends);
        match (server, client) {
            // The client is done, and so is its server.
            (server, Some(client)) if self.has_client && (server.is_some() || is_late) => {
                return Ok(ControlFlow::Break(Some(client)));
            }
            (Some(status), _) if awaits_client && !self.has_client => {
                return Err(TaskError::Failed(format!(
                    "the program ended before it listened, so that its client did not begin ({})",
                    describe_end(status)
                )));
            }
            (Some(status), _) if !self.has_client && !self.goes_on(now) => {
                return Ok(ControlFlow::Break(Some(status)));
            }
            _ if is_late => return Ok(ControlFlow::Break(client.or(server))),
            _ => {}
        }
        let is_waiting = awaits_client && !self.has_client && wanted.during.is_none();
        if is_waiting && now - self.began > LISTENS_WITHIN {
            return Err(TaskError::Failed(never_listens()));
        }
        let client_is_done = self.has_client && client.is_some();
        self.is_over = wanted.during.is_some_and(|during| self.began.elapsed() > during);
        self.is_interrupted |= interrupts.arrived();
        let is_done = self.is_over || self.is_interrupted || self.log.is_full();
        if wanted.program.is_empty() && (is_done || !is_alive(wanted)) {
            return Ok(ControlFlow::Break(None));
        }
        // A client without its server ends by itself or not at all.
        let is_alone = self.has_client && server.is_some();
        if self.ends.is_none() && (is_done || client_is_done || is_alone) {
            self.look_at_cpu();
            if is_done || client_is_done {
                self.log.cut.extend(self.source.left());
                self.source.terminate();
            }
            self.ends = Some(now + GRACE);
        }
        Ok(ControlFlow::Continue(()))
    }

    /// Whether what a benchmark has left behind is still followed: as long as data moves.
    fn goes_on(&mut self, now: Instant) -> bool {
        let is_followed = self.wanted.audit.is_some() && !self.is_interrupted && !self.is_over;
        if !is_followed || self.log.is_full() || self.source.left().is_empty() {
            return false;
        }
        let moves = self.log.moves;
        let rest = self.rest.get_or_insert(Rest { began: now, moved: now, moves });
        if rest.moves != moves {
            (rest.moved, rest.moves) = (now, moves);
        }
        now - rest.moved < GRACE && now - rest.began < LEFT
    }

    fn recorded(mut self, status: Option<ExitStatus>) -> Result<Recorded, TaskError> {
        self.source.take(&mut self.log).map_err(failed)?;
        let (by, lost) = match &self.source {
            CallSource::Kernel(kernel, _) => (RecordedBy::Bpf, kernel.lost().map_err(failed)?),
            CallSource::Traced(_) => (RecordedBy::Ptrace, 0),
        };
        self.log.cut.extend(self.source.left());
        let Self { mut log, cpu, shared, wanted, is_interrupted, is_over, .. } = self;
        let elapsed = self.began.elapsed();
        // What is left of the programs ends, and what ran before goes on.
        drop(self.source);
        let is_cut = is_interrupted || log.is_full() || is_over;
        log.part_queues();
        let audit = wanted.audit.map(|audited| audit::audit(&log, audited.size, is_cut));
        Ok(Recorded {
            by,
            why: self.why,
            status,
            is_interrupted,
            is_full: log.is_full(),
            elapsed,
            calls: log.calls.len() as u64,
            lost,
            price_ns: self.price_ns,
            programs: channels::programs(&log, &cpu),
            channels: channels::channels(&log),
            shared: mappings(&shared, &log),
            unseen: log.unseen(),
            audit,
        })
    }
}

/// Whether one of the given processes is still there.
fn is_alive(wanted: &Wanted) -> bool {
    wanted.processes.iter().any(|process| exists(*process))
}

/// The best way there is, and why it is not the first.
fn source(wanted: &Wanted) -> Result<(CallSource, Option<String>, Option<f64>), TaskError> {
    let mut why = None;
    if wanted.by != Some(RecordedBy::Ptrace) {
        let kernel = Kernel::new().and_then(|mut kernel| {
            let price = kernel.price()?;
            Ok((kernel, price))
        });
        match kernel {
            Ok((kernel, price)) => {
                return Ok((CallSource::Kernel(kernel, Vec::new()), None, Some(price)));
            }
            Err(error) if wanted.by.is_some() => return Err(TaskError::Failed(error.to_string())),
            Err(error) => why = Some(error.to_string()),
        }
    }
    let traced = Traced::new(wanted.audit.is_some())
        .map_err(|error| TaskError::Failed(error.to_string()))?;
    Ok((CallSource::Traced(traced), why, None))
}

impl CallSource {
    /// From now on a process is recorded that runs already.
    fn attach(&mut self, process: u32) -> Result<(), TaskError> {
        match self {
            Self::Kernel(kernel, _) => {
                kernel.add(process).map_err(|error| TaskError::Failed(error.to_string()))
            }
            Self::Traced(traced) => traced.attach(process).map_err(|error| {
                let how = match error.kind() {
                    io::ErrorKind::PermissionDenied => {
                        "; sysctl kernel.yama.ptrace_scope=0, CAP_SYS_PTRACE, or record it from its start"
                    }
                    _ => "",
                };
                TaskError::Failed(format!("process {process} cannot be traced ({error}){how}"))
            }),
        }
    }

    fn start(&mut self, words: &[String], said: Option<&File>) -> Result<(), TaskError> {
        let Some((name, arguments)) = words.split_first() else { return Ok(()) };
        let mut command = Command::new(name);
        command.args(arguments).env_remove("IPCPERF_PAD");
        // It has a process group of its own, and a terminal stops such a group when it reads.
        if io::stdin().is_terminal() {
            command.stdin(Stdio::null());
        }
        if let Some(said) = said {
            let [out, errors] = [said.try_clone(), said.try_clone()];
            command.stdout(out.map_err(failed)?).stderr(errors.map_err(failed)?);
        }
        let started = match self {
            Self::Kernel(kernel, programs) => {
                // What a recorded process makes is recorded before it runs. What this one does itself is not kept.
                let own = std::process::id();
                let program = kernel.add(own).and_then(|()| Program::start(&mut command));
                let program = program.and_then(|program| kernel.remove(own).map(|()| program));
                program.map(|program| programs.push(Running(program, None)))
            }
            Self::Traced(traced) => traced.start(&mut command),
        };
        started.map_err(|error| match error.kind() {
            io::ErrorKind::PermissionDenied if matches!(self, Self::Traced(_)) => {
                TaskError::Failed("ptrace is refused here; allow it to this user".to_owned())
            }
            _ => TaskError::Failed(
                not_started(&format!("'{name}' cannot be started"), &error).to_string(),
            ),
        })
    }

    fn take(&mut self, log: &mut Log) -> io::Result<()> {
        match self {
            Self::Kernel(kernel, _) => {
                kernel.take(&mut |heard| log.hear(heard));
                Ok(())
            }
            Self::Traced(traced) => traced.take(&mut |heard| log.hear(heard)),
        }
    }

    /// How each program has ended, if it has.
    fn ended(&mut self) -> io::Result<Vec<Option<ExitStatus>>> {
        match self {
            Self::Kernel(_, programs) => programs.iter_mut().map(Running::ended).collect(),
            Self::Traced(traced) => Ok(traced.programs().into_iter().map(|(_, end)| end).collect()),
        }
    }

    /// Tasks that have not ended, where that is known.
    fn left(&self) -> BTreeSet<u32> {
        match self {
            Self::Kernel(..) => BTreeSet::new(),
            Self::Traced(traced) => traced.left().collect(),
        }
    }

    fn terminate(&self) {
        match self {
            Self::Kernel(_, programs) => programs.iter().for_each(|running| running.0.terminate()),
            Self::Traced(traced) => traced.terminate(),
        }
    }

    /// Until something may have happened.
    fn nap(&self, interrupts: &Interrupts) -> io::Result<()> {
        let mut fds = vec![interrupts.fd()];
        match self {
            Self::Kernel(_, programs) => {
                let running = programs.iter().filter(|running| running.1.is_none());
                fds.extend(running.map(|running| running.0.pidfd()));
            }
            Self::Traced(traced) => fds.push(traced.fd()),
        }
        wait_any(&fds, Instant::now() + MOMENT).map(drop)
    }
}

/// Who shares how much memory, those with most first.
fn mappings(shared: &Shared, log: &Log) -> Vec<SharedMapping> {
    let mut all: BTreeMap<&BTreeSet<u32>, u64> = BTreeMap::new();
    for (processes, bytes) in shared.between() {
        *all.entry(processes).or_default() += bytes;
    }
    let mut found: Vec<_> = all
        .into_iter()
        .map(|(processes, bytes)| {
            let programs: BTreeSet<_> =
                processes.iter().map(|process| log.program(*process)).collect();
            SharedMapping {
                programs: programs.into_iter().map(str::to_owned).collect(),
                processes: processes.len() as u64,
                bytes,
            }
        })
        .collect();
    found.sort_by_key(|mapping| std::cmp::Reverse(mapping.bytes));
    found
}

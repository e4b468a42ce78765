//! Programs of others are recorded while they run: who talks to whom, with what sizes, how often.

use super::cpu::Cpu;
use super::log::Log;
use super::{audit, channels};
use crate::keeper::{self, CLIENT, LISTENS_WITHIN, SERVER, Session, never_listens};
use crate::profile::{Audit, RecordedBy, RecordedChannel, RecordedProgram, SharedMapping};
use crate::record::calls::{Kernel, Shared, Traced, listening_ports, process_of, program_of};
use ipcperf_engine::keeper::{GRACE, Keeper};
use ipcperf_engine::task::TaskError;
use ipcperf_sys::control::wait_any;
use ipcperf_sys::process::{describe_end, exists};
use ipcperf_sys::process_tree::family;
use ipcperf_sys::procfs::{self, Consumption, consumption};
use ipcperf_sys::program::Orphans;
use ipcperf_sys::signals::Interrupts;
use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{self, IsTerminal};
use std::process::{Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How long what a benchmark leaves behind is followed at most.
const LEFT: Duration = Duration::from_secs(60);

/// How often events are taken. The ring has room for half a second of the busiest programs.
const TAKES: Duration = Duration::from_millis(20);

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
    /// CPU time of ipcperf itself meanwhile, ns.
    pub(crate) own_cpu_ns: u64,
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
    Kernel(Box<Kernel>, Keeper),
    Traced(Traced),
}

/// Records until the programs have ended, the time is over, or somebody interrupts.
///
/// # Errors
/// A program cannot be started, or nothing can be recorded here.
pub(crate) fn run(wanted: &Wanted, interrupts: &Interrupts) -> Result<Recorded, TaskError> {
    // Dropped last: whatever the programs have left behind.
    let _orphans = Orphans::adopt().map_err(failed)?;
    let mut session = RecordSession::begin(wanted, interrupts)?;
    match wanted.program.is_empty() {
        true => session.follow()?,
        false => keeper::keep(&mut session, !wanted.client.is_empty())?,
    }
    session.recorded()
}

fn failed(error: io::Error) -> TaskError {
    TaskError::Failed(error.to_string())
}

/// Programs that are being recorded.
struct RecordSession<'a> {
    wanted: &'a Wanted,
    interrupts: &'a Interrupts,
    source: CallSource,
    /// Why it is not the best source.
    why: Option<String>,
    price_ns: Option<f64>,
    log: Log,
    shared: Shared,
    cpu: Cpu,
    began: Instant,
    /// What ipcperf itself had used by then.
    own: Consumption,
    /// When the mappings were last looked at.
    looked: Option<Instant>,
    /// What runs is about to end.
    is_ending: bool,
    /// What goes on after the end of the program.
    rest: Option<Rest>,
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

impl<'a> RecordSession<'a> {
    fn begin(wanted: &'a Wanted, interrupts: &'a Interrupts) -> Result<Self, TaskError> {
        let (source, why, price_ns) = source(wanted)?;
        let mut session = Self {
            wanted,
            interrupts,
            source,
            why,
            price_ns,
            log: Log::default(),
            shared: Shared::default(),
            cpu: Cpu::default(),
            began: Instant::now(),
            own: consumption(),
            looked: None,
            is_ending: false,
            rest: None,
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
        session.own = consumption();
        session.begin_cpu();
        Ok(session)
    }

    fn look_at_cpu(&mut self) {
        self.log.processes().for_each(|process| self.cpu.look(process));
    }

    /// What has been used so far does not count.
    fn begin_cpu(&mut self) {
        self.look_at_cpu();
        self.cpu.begin();
    }

    /// Until the given processes have ended.
    fn follow(&mut self) -> Result<(), TaskError> {
        loop {
            self.look()?;
            if self.is_done() || !self.wanted.processes.iter().any(|process| exists(*process)) {
                return Ok(());
            }
            self.nap(false)?;
        }
    }

    fn recorded(mut self) -> Result<Recorded, TaskError> {
        let [server, client] = self.look()?;
        let own_cpu_ns = consumption().since(&self.own).cpu_ns;
        let (by, lost) = match &self.source {
            CallSource::Kernel(kernel, _) => (RecordedBy::Bpf, kernel.lost().map_err(failed)?),
            CallSource::Traced(_) => (RecordedBy::Ptrace, 0),
        };
        self.log.cut.extend(self.source.keeper().left());
        let Self { mut log, cpu, shared, wanted, is_interrupted, is_over, .. } = self;
        let elapsed = self.began.elapsed();
        // What is left of the programs ends, and what ran before goes on.
        drop(self.source);
        let is_cut = is_interrupted || log.is_full() || is_over;
        log.part_queues();
        log.between = shared.between().map(|(processes, _)| processes.clone()).collect();
        let audit = wanted.audit.map(|audited| audit::audit(&log, audited.size, is_cut));
        channels::name_roles(&mut log);
        Ok(Recorded {
            by,
            why: self.why,
            status: client.or(server),
            is_interrupted,
            is_full: log.is_full(),
            elapsed,
            calls: log.calls.len() as u64,
            lost,
            price_ns: self.price_ns,
            own_cpu_ns,
            programs: channels::programs(&log, &cpu),
            channels: channels::channels(&log),
            shared: mappings(&shared, &log),
            unseen: log.unseen(),
            audit,
        })
    }
}

impl Session for RecordSession<'_> {
    type Error = TaskError;

    fn start(&mut self, at: usize) -> Result<(), TaskError> {
        let wanted = self.wanted;
        let words = [&wanted.program, &wanted.client][at];
        if at == CLIENT {
            self.begin_cpu();
        }
        self.source.start(words, wanted.said_by(at))
    }

    fn look(&mut self) -> Result<[Option<ExitStatus>; 2], TaskError> {
        self.source.take(&mut self.log).map_err(failed)?;
        let now = Instant::now();
        // What has just been mapped may be gone at the next look, and its process as well.
        let unlooked = std::mem::take(&mut self.log.unlooked);
        let reloaded = std::mem::take(&mut self.log.reloaded);
        reloaded.into_iter().for_each(|process| self.shared.forget(process));
        unlooked.into_iter().filter_map(process_of).for_each(|process| self.shared.look(process));
        if self.looked.is_none_or(|looked| now - looked > LOOK) {
            self.log.processes().for_each(|process| self.shared.look(process));
            // What the server does once its client is done is not for it.
            if !self.is_ending {
                self.look_at_cpu();
            }
            self.looked = Some(now);
        }
        let ended = self.source.keeper().ended();
        Ok([SERVER, CLIENT].map(|at| ended.get(at).copied().flatten()))
    }

    fn may_begin(&mut self, waited: Duration) -> Result<bool, TaskError> {
        let is_late = self.wanted.during.is_none() && waited > LISTENS_WITHIN;
        if is_late && !self.log.has_listener {
            return Err(TaskError::Failed(never_listens()));
        }
        Ok(self.log.has_listener)
    }

    fn loses_server(&mut self, status: ExitStatus, has_begun: bool) -> Result<(), TaskError> {
        if has_begun {
            return Ok(());
        }
        Err(TaskError::Failed(format!(
            "the program ended before it listened, so its client was not started ({})",
            describe_end(status)
        )))
    }

    /// What a benchmark has left behind is followed as long as data moves.
    fn goes_on(&mut self) -> bool {
        let is_followed = self.wanted.audit.is_some() && !self.is_interrupted && !self.is_over;
        if !is_followed || self.log.is_full() || self.source.keeper().left().is_empty() {
            return false;
        }
        let (now, moves) = (Instant::now(), self.log.moves);
        let rest = self.rest.get_or_insert(Rest { began: now, moved: now, moves });
        if rest.moves != moves {
            (rest.moved, rest.moves) = (now, moves);
        }
        now - rest.moved < GRACE && now - rest.began < LEFT
    }

    fn is_done(&mut self) -> bool {
        self.is_over = self.wanted.during.is_some_and(|during| self.began.elapsed() > during);
        self.is_interrupted |= self.interrupts.arrived();
        self.is_over || self.is_interrupted || self.log.is_full()
    }

    fn ends(&mut self, is_asked: bool) {
        if !std::mem::replace(&mut self.is_ending, true) {
            self.look_at_cpu();
        }
        if is_asked {
            self.log.cut.extend(self.source.keeper().left());
            self.source.keeper().terminate();
        }
    }

    fn nap(&mut self, _: bool) -> Result<(), TaskError> {
        let fds = self.source.keeper().fds().into_iter().chain([self.interrupts.fd()]);
        wait_any(&fds.collect::<Vec<_>>(), Instant::now() + TAKES).map(drop).map_err(failed)
    }
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
                let source = CallSource::Kernel(Box::new(kernel), Keeper::default());
                return Ok((source, None, Some(price)));
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
            Self::Traced(traced) => traced.keeper.attach(process).map_err(|error| {
                let how = match (error.kind(), procfs::tracer_of(process)) {
                    (_, Some(tracer)) => format!(": process {tracer} traces it already"),
                    (io::ErrorKind::PermissionDenied, None) => {
                        format!(
                            " ({error}); sysctl kernel.yama.ptrace_scope=0, CAP_SYS_PTRACE, or record it from its start"
                        )
                    }
                    _ => format!(" ({error})"),
                };
                TaskError::Failed(format!("process {process} cannot be traced{how}"))
            }),
        }
    }

    fn start(&mut self, words: &[String], said: Option<&File>) -> Result<(), TaskError> {
        let Some((name, arguments)) = words.split_first() else { return Ok(()) };
        let mut command = Command::new(name);
        command.args(arguments);
        // It has a process group of its own, and a terminal stops such a group when it reads.
        if io::stdin().is_terminal() {
            command.stdin(Stdio::null());
        }
        if let Some(said) = said {
            let [out, errors] = [said.try_clone(), said.try_clone()];
            command.stdout(out.map_err(failed)?).stderr(errors.map_err(failed)?);
        }
        let started = match self {
            Self::Kernel(kernel, keeper) => {
                // What a recorded process makes is recorded before it runs. What this one does itself is not kept.
                let own = std::process::id();
                kernel.add(own).map_err(failed)?;
                let started = keeper.start(&format!("'{name}'"), &mut command);
                started.and_then(|()| kernel.remove(own))
            }
            Self::Traced(traced) => traced.keeper.start(&format!("'{name}'"), &mut command),
        };
        started.map_err(failed)
    }

    fn take(&mut self, log: &mut Log) -> io::Result<()> {
        match self {
            Self::Kernel(kernel, keeper) => {
                kernel.take(&mut |heard| log.hear(heard));
                keeper.go_on()
            }
            Self::Traced(traced) => traced.take(&mut |heard| log.hear(heard)),
        }
    }

    /// What keeps the programs.
    fn keeper(&self) -> &Keeper {
        match self {
            Self::Kernel(_, keeper) => keeper,
            Self::Traced(traced) => &traced.keeper,
        }
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

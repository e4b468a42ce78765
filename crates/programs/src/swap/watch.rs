//! Programs whose sockets are exchanged for others while they run. A process of its own, the watch, starts them, answers the
//! calls that they hand over, and ends all that they have started, whatever ends first.

use crate::keeper::{self, CLIENT, LISTENS_WITHIN, SERVER, Session, never_listens};
use crate::listens::addresses;
use crate::swap::accounts::{Accounts, Worked};
use crate::swap::calls::handed::{Listener, Received, hand_over, price};
use crate::swap::calls::{Exchange, Exchanged, RELEASED_WITHIN, SIGNALS_WITHIN, Wanted};
pub(crate) use crate::swap::calls::{Knobs, To};
use ipcperf_core::text::join;
use ipcperf_engine::job::Failure;
use ipcperf_engine::keeper::{GRACE, Keeper};
use ipcperf_engine::protocol::{Kind, Word};
use ipcperf_engine::supervisor::{Event, Supervisor};
use ipcperf_engine::task::{TaskError, WorkerContext};
use ipcperf_engine::tasks::TaskRow;
use ipcperf_sys::control::wait_any;
use ipcperf_sys::limits;
use ipcperf_sys::process::{describe_end, outlive_coordinator};
use ipcperf_sys::process_tree::{Account, family};
use ipcperf_sys::program::{Ended, Orphans, exit_status};
use ipcperf_sys::rundir::RunDirectory;
use ipcperf_sys::signals::Interrupts;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::fs::File;
use std::io::{self, IsTerminal};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::PathBuf;
use std::process::{Command, ExitStatus};
use std::time::{Duration, Instant};

/// Its name among the tasks.
const TASK: &str = "swap";

/// The task of the watch.
pub(crate) const TASKS: &[TaskRow] = &[TaskRow {
    name: TASK,
    run: |_, context| serve(context),
    runs_mechanism: false,
    messages: &[
        Kind::of::<Job>("swap: job"),
        Kind::of::<Listens>("swap: listens"),
        Kind::of::<Swapped>("swap: report"),
    ],
}];

/// What it is called where it fails.
const NAME: &str = "the watch over the programs";

/// Between two looks at what nobody announces: room in a backlog, a server that begins to listen.
const MOMENT: Duration = Duration::from_millis(2);

/// A program that serves something else is given up once it has worked less than this for so long.
const SETTLES: Duration = Duration::from_secs(1);
const IDLE: Duration = Duration::from_millis(20);

/// A program that listens may still refuse work for as long as this.
const EARLY: Duration = Duration::from_secs(1);

/// What a client waits that is started once more, and a command that says whether the program is ready.
const AGAIN: Duration = Duration::from_millis(200);

/// Between two looks at the tables of the kernel.
const LOOK: Duration = Duration::from_millis(10);

/// How long a program may listen at other ports than the one that is to be exchanged.
const ELSEWHERE: Duration = Duration::from_secs(2);

/// Longer than any program runs.
const FOR_EVER: Duration = Duration::from_secs(100 * 365 * 24 * 3600);

/// Bytes of a path of a UNIX socket (`sockaddr_un`), without the 0 at its end.
const LONGEST_PATH: usize = 107;

/// A filter that hands calls over can be installed only once.
const TAKEN: &str = "the calls of this process are already intercepted: it runs under another swap, or in a sandbox that does \
                     the same";
const TOO_OLD: &str =
    "this kernel cannot hand over system calls (seccomp user notification; Linux 5.9 or newer)";

/// What is to be run.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Job {
    /// A program and its arguments.
    pub(crate) program: Vec<String>,
    /// Another one, that starts once the first listens; at its end the first is ended.
    pub(crate) client: Vec<String>,
    /// What its sockets become.
    pub(crate) to: To,
    /// This port alone.
    pub(crate) port: Option<u16>,
    /// How the other sockets are set up.
    pub(crate) knobs: Knobs,
    /// Nothing is exchanged; calls are handed over all the same.
    pub(crate) is_as_it_is: bool,
    /// Nothing is exchanged and no call is handed over.
    pub(crate) is_bare: bool,
    /// A command that succeeds once the client can begin; none if it is enough that the program listens.
    pub(crate) ready: Vec<String>,
    /// A client that fails within [`EARLY`] of the program's start is started once more.
    pub(crate) forgives: bool,
    /// Open files of the programs, the soft and the hard limit.
    files: Option<[Option<u64>; 2]>,
    folder: PathBuf,
}

impl Job {
    /// A program alone, all of whose sockets of TCP become UNIX sockets.
    #[must_use]
    pub(crate) fn of(program: Vec<String>) -> Self {
        let files = limits::of_programs();
        Self {
            program,
            client: Vec::new(),
            to: To::UnixStream,
            port: None,
            knobs: Knobs::default(),
            is_as_it_is: false,
            is_bare: false,
            ready: Vec::new(),
            forgives: false,
            files,
            folder: PathBuf::new(),
        }
    }
}

/// An address that is another one now: what it was, and the path.
type Listens = (String, String);

/// What came of it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Swapped {
    /// How the program ended; with a client, how that did.
    #[serde(with = "exit_status")]
    pub(crate) status: ExitStatus,
    /// Whether it was asked to end.
    pub(crate) is_interrupted: bool,
    /// What was exchanged.
    pub(crate) exchanged: Exchanged,
    /// What the filter adds to every call that is not handed over, ns.
    pub(crate) filter_ns: f64,
    /// The same of a `recv(2)` or `send(2)`, whose arguments it looks at.
    #[serde(default)]
    pub(crate) receive_ns: f64,
    /// A process that the program had left behind when it ended, by its name.
    #[serde(default)]
    pub(crate) left_behind: Option<String>,
    /// Of a client that has ended.
    pub(crate) worked: Option<Worked>,
    /// The client failed early and was started once more.
    pub(crate) is_second_start: bool,
}

/// Runs a job. Each address is told to `listens` as soon as it is another one.
///
/// # Errors
/// Why it came to nothing.
pub(crate) fn run(
    job: Job,
    interrupts: &Interrupts,
    listens: &mut dyn FnMut(&str, &str),
) -> Result<Swapped, TaskError> {
    let failed = |error: io::Error| TaskError::Failed(error.to_string());
    let (output, errors) = (io::stdout(), io::stderr());
    // Programs have process groups of their own, and a terminal stops such a group when it reads.
    let input = match io::stdin().is_terminal() {
        true => File::open("/dev/null").map_err(failed)?.into(),
        false => io::stdin().as_fd().try_clone_to_owned().map_err(failed)?,
    };
    let streams = [input.as_fd(), output.as_fd(), errors.as_fd()];
    watched(job, [streams; 2], Instant::now() + FOR_EVER, interrupts, listens)
}

/// Runs a job with these standard streams of the program and of the client.
///
/// # Errors
/// As [`run`], or they had not ended by the deadline.
pub(crate) fn watched(
    job: Job,
    streams: [[BorrowedFd<'_>; 3]; 2],
    deadline: Instant,
    interrupts: &Interrupts,
    listens: &mut dyn FnMut(&str, &str),
) -> Result<Swapped, TaskError> {
    let failed = |error: io::Error| TaskError::Failed(error.to_string());
    let reason = |failure: Failure| TaskError::Failed(failure.reason);
    let folder =
        RunDirectory::create().map_err(|missing| TaskError::Failed(missing.to_string()))?;
    // Dropped after the watch: what it has left if it was killed.
    let _orphans = Orphans::adopt().map_err(failed)?;
    let is_unix = matches!(job.to, To::UnixStream | To::UnixSeqpacket) && !job.knobs.is_abstract;
    let len = folder.path().as_os_str().len() + "/65535.sock".len();
    if is_unix && len > LONGEST_PATH {
        return Err(TaskError::Failed(format!(
            "the path of a UNIX socket in {} would have {len} bytes, and at most {LONGEST_PATH} are possible: set XDG_RUNTIME_DIR \
             or TMPDIR to a shorter one, or --to 'unix-stream bind=abstract'",
            folder.path().display()
        )));
    }
    let job = Job { folder: folder.path().to_owned(), ..job };
    let mut watch = Supervisor::new(deadline, Some(interrupts));
    let who = watch.start(NAME, 0).map_err(failed)?;
    watch.assign(who, TASK, &job, &streams.concat()).map_err(failed)?;
    let (mut is_interrupted, mut is_late) = (false, false);
    let late = || TaskError::Deadline("not done in time".to_owned());
    loop {
        match watch.event().map_err(failed)? {
            Event::Said(_, Word::Failed(_) | Word::Done(_)) if is_late => return Err(late()),
            Event::Said(_, Word::Failed(failure)) => return Err(TaskError::Failed(failure.reason)),
            Event::Said(_, word @ Word::Ready(_)) => {
                let told: Listens = word.ready().map_err(reason)?;
                listens(&told.0, &told.1);
                watch.go(who, &()).map_err(failed)?;
            }
            Event::Said(_, word) => return word.done().map_err(reason),
            Event::Died(_, end) => return Err(TaskError::Failed(format!("{NAME} {end}"))),
            // It ends the programs and says how they ended.
            Event::Interrupted => {
                is_interrupted = true;
                watch.worker(who).terminate();
                watch.hurry(2 * GRACE);
            }
            Event::Deadline if is_interrupted => return Err(TaskError::Interrupted),
            Event::Deadline if is_late => return Err(late()),
            // The programs end before what answers their calls does, or else these would fail and they would complain.
            Event::Deadline => {
                is_late = true;
                watch.worker(who).terminate();
                watch.allow(Instant::now() + 2 * GRACE);
            }
            Event::Alarm => {}
        }
    }
}

/// The watch from the inside.
fn serve(context: &mut WorkerContext<'_>) -> Result<Value, Failure> {
    let end = outlive_coordinator()?;
    // Dropped last: whatever the programs have left behind.
    let _orphans = Orphans::adopt()?;
    let job: Job = context.params()?;
    job.files.into_iter().for_each(limits::take_of_programs);
    let wanted = Wanted {
        to: job.to,
        port: job.port,
        is_as_it_is: job.is_as_it_is,
        knobs: job.knobs.clone(),
        folder: job.folder.clone(),
    };
    let exchange = Exchange::new(wanted)?;
    let [filter_ns, receive_ns] = match job.is_bare {
        true => [0.0; 2],
        false => price(&exchange.calls()).map_err(not_installed)?,
    };
    let streams = std::mem::take(&mut context.fds);
    let mut here = Here {
        job: &job,
        streams,
        end: &end,
        context,
        keeper: Keeper::default(),
        began: Instant::now(),
        not_before: None,
        is_interrupted: false,
        is_ending: false,
        is_second_start: false,
        left_behind: None,
        worked: None,
        exchange,
        listeners: Vec::new(),
        told: 0,
        accounts: None,
        elsewhere: None,
        trial: Readiness::default(),
    };
    keeper::keep(&mut here, !job.client.is_empty())?;
    here.kill()?;
    let ended = [CLIENT, SERVER].into_iter().find_map(|at| here.end_of(at));
    let status = ended.ok_or_else(|| "no program was started".to_owned())?.status;
    Ok(serde_json::to_value(Swapped {
        status,
        is_interrupted: here.is_interrupted,
        exchanged: here.exchange.exchanged.reported(),
        filter_ns,
        receive_ns,
        left_behind: here.left_behind,
        worked: here.worked,
        is_second_start: here.is_second_start,
    })?)
}

/// A process that is there although the program has ended, by its name; those of the client are not meant.
fn behind(client: Option<u32>) -> Option<String> {
    let of_client = client.map(family).unwrap_or_default();
    let all = family(std::process::id()).into_iter().filter(|pid| !of_client.contains(pid));
    // `1234 (name) S 1 ...` (`proc_pid_stat(5)`); one that has ended and was not waited for is a Z.
    all.filter_map(|pid| std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()).find_map(
        |stat| {
            let (begin, rest) = stat.rsplit_once(')')?;
            let (_, name) = begin.split_once('(')?;
            (!rest.trim_start().starts_with(['Z', 'X'])).then(|| name.to_owned())
        },
    )
}

/// The same, if it does not end within a moment, as what a server leaves behind does that has ended.
fn stays_behind(client: Option<u32>) -> Option<String> {
    let until = Instant::now() + ENDS_WITHIN;
    loop {
        let left = behind(client)?;
        if Instant::now() > until {
            return Some(left);
        }
        std::thread::sleep(10 * MOMENT);
    }
}

/// How long what a program leaves behind may take to end.
const ENDS_WITHIN: Duration = Duration::from_millis(400);

/// Why a program that goes into the background is refused.
fn in_background(left: &str) -> String {
    format!(
        "the program has ended, and {left}, which it started, goes on in the background: start it in the foreground \
         (daemonize no, daemon off, --foreground ...)"
    )
}

/// Why a filter that hands calls over cannot be had.
fn not_installed(error: io::Error) -> Failure {
    match error.kind() {
        io::ErrorKind::ResourceBusy => TAKEN.to_owned().into(),
        io::ErrorKind::InvalidInput | io::ErrorKind::Unsupported => TOO_OLD.to_owned().into(),
        _ => error.into(),
    }
}

/// Why a program that listens elsewhere has nothing to exchange at this port.
fn elsewhere(port: u16, server: u32) -> Option<String> {
    let at = addresses(server);
    let seconds = ELSEWHERE.as_secs();
    (!at.is_empty()).then(|| {
        format!(
            "nothing has bound port {port} within {seconds} s; the program listens on {}",
            join(&at)
        )
    })
}

/// What a client has printed that is started once more is not part of what it prints then.
fn forget(streams: &[OwnedFd]) -> io::Result<()> {
    if let [_, output, _] = streams {
        rustix::fs::ftruncate(output, 0)?;
        rustix::fs::seek(output, rustix::fs::SeekFrom::Start(0))?;
    }
    Ok(())
}

/// The command that looks whether a program is ready.
#[derive(Debug, Default)]
struct Readiness {
    /// The program was seen to listen.
    listens: bool,
    running: Option<Keeper>,
    not_before: Option<Instant>,
    /// How it ended last.
    last: Option<ExitStatus>,
}

impl Readiness {
    /// Why the client did not begin, if the program listens and this command has not succeeded.
    fn complaint(&self, job: &Job) -> Option<String> {
        let name = job.ready.first()?;
        let how = match self.last {
            Some(status) => describe_end(status),
            None if self.running.is_some() => "it is still running".to_owned(),
            None => return None,
        };
        let seconds = LISTENS_WITHIN.as_secs();
        Some(format!(
            "the program listens, but '{name}' has not succeeded within {seconds} s ({how})"
        ))
    }
}

/// What the watch looks after.
struct Here<'a, 'c> {
    job: &'a Job,
    /// Standard streams of the program, and those of its client.
    streams: Vec<OwnedFd>,
    end: &'a Interrupts,
    context: &'a mut WorkerContext<'c>,
    keeper: Keeper,
    began: Instant,
    /// A client that is started once more waits for this.
    not_before: Option<Instant>,
    is_interrupted: bool,
    /// What runs is about to end.
    is_ending: bool,
    is_second_start: bool,
    left_behind: Option<String>,
    worked: Option<Worked>,
    exchange: Exchange,
    listeners: Vec<Listener>,
    /// How many addresses the coordinator knows.
    told: usize,
    /// Once a client is there.
    accounts: Option<Accounts>,
    /// Since the program serves what is not exchanged: when it was last looked at, and what it had worked by then, ns.
    elsewhere: Option<(Instant, Account, u64)>,
    trial: Readiness,
}

impl Here<'_, '_> {
    /// Starts a program with these standard streams.
    fn started(
        &mut self,
        mut keeper: Keeper,
        words: &[String],
        streams: &[OwnedFd],
    ) -> Result<Keeper, Failure> {
        let (Some((name, arguments)), [input, output, errors]) = (words.split_first(), streams)
        else {
            return Err("a program and three streams are needed".to_owned().into());
        };
        let mut command = Command::new(name);
        command.args(arguments);
        command.stdin(input.try_clone()?).stdout(output.try_clone()?).stderr(errors.try_clone()?);
        let promise = match self.job.is_bare {
            true => None,
            false => Some(hand_over(&mut command, &self.exchange.calls())?),
        };
        keeper.start(&format!("'{name}'"), &mut command)?;
        if let Some(promise) = promise {
            self.listeners.push(promise.listener()?);
        }
        Ok(keeper)
    }

    /// What the program or its client was when it ended.
    fn end_of(&self, at: usize) -> Option<&Ended> {
        let Keeper::Untraced(programs) = &self.keeper else { return None };
        programs.get(at)?.ended()
    }

    /// Kills what has not ended.
    fn kill(&mut self) -> io::Result<()> {
        if let Keeper::Untraced(programs) = &mut self.keeper {
            for program in programs {
                program.kill();
                program.wait()?;
            }
        }
        self.note_work(Instant::now());
        Ok(())
    }

    /// Why a client need not wait any longer: the program serves something else, and does no more. One that is still busy may
    /// come to it.
    fn listens_elsewhere(&mut self) -> Option<String> {
        let other = self.exchange.other()?;
        let now = Instant::now();
        let Some((looked, account, worked)) = &mut self.elsewhere else {
            let mut account = Account::of(self.keeper.pid(SERVER)?);
            let worked = account.read().cpu_ns;
            self.elsewhere = Some((now, account, worked));
            return None;
        };
        if now - *looked < SETTLES {
            return None;
        }
        let before = std::mem::replace(worked, account.read().cpu_ns);
        *looked = now;
        let is_idle = worked.saturating_sub(before) < IDLE.as_nanos() as u64;
        is_idle.then(|| {
            format!("{other}, but on no socket of the kind that --to exchanges, so its client was not started")
        })
    }

    /// Whether the command that looks whether the program is ready has succeeded.
    fn has_succeeded(&mut self) -> Result<bool, Failure> {
        let Some(running) = &mut self.trial.running else {
            if self.trial.not_before.is_none_or(|time| Instant::now() >= time) {
                let null = File::options().read(true).write(true).open("/dev/null")?;
                let streams: [OwnedFd; 3] =
                    [null.try_clone()?.into(), null.try_clone()?.into(), null.into()];
                let ready = &self.job.ready;
                self.trial.running = Some(self.started(Keeper::default(), ready, &streams)?);
            }
            return Ok(false);
        };
        running.go_on()?;
        let Some(&Some(status)) = running.ended().first() else { return Ok(false) };
        self.trial.running = None;
        self.trial.last = Some(status);
        self.trial.not_before = Some(Instant::now() + AGAIN / 4);
        Ok(status.success())
    }

    /// The work of a client that has ended by this time.
    fn note_work(&mut self, now: Instant) {
        if self.end_of(CLIENT).is_some()
            && let Some(accounts) = self.accounts.take()
        {
            let ends = [SERVER, CLIENT].map(|at| self.end_of(at));
            self.worked = Some(accounts.worked(now, ends, self.exchange.exchanged.connected));
        }
    }

    /// Answers all that has come.
    fn answer(&mut self) -> Result<(), Failure> {
        self.exchange.retry()?;
        self.exchange.release_in_time(Instant::now())?;
        let mut at = 0;
        while let Some(listener) = self.listeners.get_mut(at) {
            let received = listener.receive()?;
            self.exchange.exchanged.taken_back += listener.taken_back();
            match received {
                Received::Call(call) => {
                    // Servers connect, too, but not to what they have bound.
                    if let Some(accounts) = &mut self.accounts
                        && self.exchange.is_connect(&call)
                    {
                        accounts.connects();
                    }
                    let began = Instant::now();
                    self.exchange.answer(call)?;
                    if let Some(accounts) = &mut self.accounts {
                        accounts.answered(began.elapsed());
                    }
                }
                Received::Nothing => at += 1,
                Received::Over => drop(self.listeners.remove(at)),
            }
        }
        while let Some((address, path)) = self.exchange.exchanged.bound.get(self.told) {
            self.context.ready(&(address, path))?;
            self.told += 1;
        }
        Ok(())
    }

    /// Readable when there is something to answer.
    fn awaited(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        self.listeners.iter().map(AsFd::as_fd).chain(self.exchange.awaited())
    }
}

impl Session for Here<'_, '_> {
    type Error = Failure;

    fn start(&mut self, at: usize) -> Result<(), Failure> {
        let (streams, keeper) =
            (std::mem::take(&mut self.streams), std::mem::take(&mut self.keeper));
        let job = self.job;
        let words = [&job.program, &job.client][at];
        let half = streams.len() / 2;
        self.keeper = self.started(keeper, words, &streams[at * half..(at + 1) * half])?;
        self.streams = streams;
        match [SERVER, CLIENT].map(|at| self.keeper.pid(at)) {
            [Some(server), Some(client)] => {
                let connected = self.exchange.exchanged.connected;
                self.accounts = Some(Accounts::of([server, client], connected));
            }
            _ => self.began = Instant::now(),
        }
        Ok(())
    }

    fn look(&mut self) -> Result<[Option<ExitStatus>; 2], Failure> {
        let now = Instant::now();
        self.answer()?;
        // To reap the program ends the others of its group.
        if self.end_of(SERVER).is_none() && wait_any(&self.keeper.fds()[..1], now)?.contains(&true)
        {
            let client = self.keeper.pid(CLIENT);
            self.left_behind = match (self.is_ending, client) {
                (true, Some(_)) => None,
                (false, _) if !self.job.client.is_empty() => stays_behind(client),
                (_, None | Some(_)) => behind(None),
            };
        }
        self.keeper.go_on()?;
        self.note_work(now);
        Ok([SERVER, CLIENT].map(|at| self.end_of(at).map(|ended| ended.status)))
    }

    fn may_begin(&mut self, waited: Duration) -> Result<bool, Failure> {
        if self.not_before.is_some_and(|time| Instant::now() < time) {
            return Ok(false);
        }
        let Some(server) = self.keeper.pid(SERVER) else { return Ok(false) };
        // It is not asked again once it is so.
        self.trial.listens = self.trial.listens
            || match self.job.is_bare {
                true => !addresses(server).is_empty(),
                false => self.exchange.is_listening(),
            };
        if self.trial.listens && (self.job.ready.is_empty() || self.has_succeeded()?) {
            return Ok(true);
        }
        let asks_port = self.job.port.filter(|_| !self.trial.listens && waited > ELSEWHERE);
        let why = asks_port.and_then(|port| elsewhere(port, server));
        let why = why.or_else(|| match waited > LISTENS_WITHIN {
            true => Some(self.trial.complaint(self.job).unwrap_or_else(never_listens)),
            false => self.listens_elsewhere(),
        });
        why.map_or(Ok(false), |why| Err(why.into()))
    }

    fn loses_server(&mut self, _: ExitStatus, _: bool) -> Result<(), Failure> {
        self.left_behind.take().map_or(Ok(()), |left| Err(in_background(&left).into()))
    }

    fn retries(&mut self, status: ExitStatus) -> Result<bool, Failure> {
        let is_early = !self.is_second_start && self.began.elapsed() < EARLY;
        let retries = self.job.forgives && is_early && !status.success();
        if retries && let Keeper::Untraced(programs) = &mut self.keeper {
            programs.truncate(CLIENT);
            self.is_second_start = true;
            self.not_before = Some(Instant::now() + AGAIN);
            self.worked = None;
            forget(&self.streams[self.streams.len() / 2..])?;
        }
        Ok(retries)
    }

    fn is_done(&mut self) -> bool {
        self.is_interrupted |= self.end.arrived();
        self.is_interrupted
    }

    fn ends(&mut self, is_asked: bool) {
        self.is_ending = true;
        if is_asked {
            self.exchange.expect_signals();
            self.keeper.terminate();
        }
    }

    fn nap(&mut self, awaits_client: bool) -> Result<(), Failure> {
        let nap = match () {
            () if self.job.is_bare && awaits_client => LOOK,
            () if self.exchange.is_waiting() || awaits_client || self.is_ending => MOMENT,
            () if self.exchange.may_be_interrupted() => SIGNALS_WITHIN,
            () if self.exchange.holds_names() => RELEASED_WITHIN,
            () => GRACE,
        };
        let until = Instant::now() + nap;
        let fds = self.keeper.fds().into_iter().chain([self.end.fd()]).chain(self.awaited());
        wait_any(&fds.collect::<Vec<_>>(), until)?;
        Ok(())
    }
}

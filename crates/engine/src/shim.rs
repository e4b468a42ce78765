//! A program at the place of the follow (`docs/ENDS.md`). This process, the shim, attaches as any follow does, hands its
//! descriptors to the program, keeps none of them, and stands at the page's gates in the program's place. While the lead
//! measures it sleeps. What the program has answered counts once the lead has proved it, so the shim moves nothing.
//!
//! It is the program's parent, and that of whatever the program leaves behind: all of it is ended with it, however it ends.

use crate::error::not_started;
use crate::hot::{Plan, Recorder, Tally};
use crate::job::{Failure, FailureKind, Job, ProgramJob, ProgramReport, SideReport};
use crate::keeper::Outlet;
use crate::page::{Page, WRONG};
use crate::protocol::Word;
use crate::task::WorkerContext;
use crate::worker;
use crate::worker::runner::{Form, Pass, Runner};
use ipcperf_core::result::CellKey;
use ipcperf_core::{
    Address, DynPort, Fault, Link, Missing, OnClose, Payload, Placement, Port, Seat, SetupError,
    Spec, Touch,
};
use ipcperf_sys::clock::{Clock, monotonic_ns};
use ipcperf_sys::control::{Control, wait_any};
use ipcperf_sys::io::pipe;
use ipcperf_sys::io::socket::{Kind, meeting};
use ipcperf_sys::process::{describe_end, outlive_coordinator};
use ipcperf_sys::process_tree::Account;
use ipcperf_sys::program::{Orphans, Program, end_children, give_third};
use ipcperf_sys::signals::Interrupts;
use ipcperf_sys::{limits, pause};
use std::cell::RefCell;
use std::os::fd::{AsFd, OwnedFd};
use std::process::Command;
use std::sync::Mutex;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// The protocol that a program is told: `IPCPERF_END`.
const PROTOCOL: &str = "1";

/// How long a program may take to end once it has read the end of the file.
const LAST: Duration = Duration::from_secs(1);

/// The same for one that is still at work.
const MOST: Duration = Duration::from_secs(5);

/// How long what the lead knows of a program that failed is waited for.
const MOMENT: Duration = Duration::from_millis(200);

/// What the lead says in the page once it has closed its end; until then which answer failed, or nothing.
const CLOSED: u64 = u64::MAX;

/// Lines of what a program reports that are kept.
const LINES: usize = 16;

/// Bytes of an answer's message that a program complements where `header` is touched: a cache line.
const HEADER: usize = 64;

/// How many leading bytes of a message its answer complements.
#[must_use]
pub fn flip(key: &CellKey) -> usize {
    match key.touch {
        Touch::Full => key.size(),
        _ => key.size().min(HEADER),
    }
}

/// What a program at the end of a cell is told in its environment.
#[must_use]
pub fn environment(key: &CellKey) -> [(&'static str, String); 6] {
    let answer = key.load.answer(key.pattern, key.size());
    [
        ("IPCPERF_END", PROTOCOL.to_owned()),
        ("IPCPERF_MECHANISM", key.mechanism.clone()),
        ("IPCPERF_SIZE", key.size().to_string()),
        ("IPCPERF_ANSWER", answer.to_string()),
        ("IPCPERF_BURST", key.load.burst.max(1).to_string()),
        ("IPCPERF_FLIP", flip(key).to_string()),
    ]
}

/// Why a cell cannot have a program as its follow, over a mechanism that moves messages by `read` and `write` alone or not.
/// `meeting`: the knob that is set and says how two ends of our own meet, if there is one.
#[must_use]
pub fn objection(key: &CellKey, is_plain: bool, meeting: Option<&str>) -> Option<Missing> {
    let load = &key.load;
    if load.is_ours() {
        return None;
    }
    if let Some(missing) = load.at.as_ref().and_then(|address| not_there(key, address, meeting)) {
        return Some(missing);
    }
    if !is_plain {
        let what = "a program of others cannot be its end: it gets descriptors for read and write that sleep, and there are none";
        let how = "pipe, fifo, pty, unix-stream, unix-seqpacket, unix-dgram, tcp and tcp6 have them, without a variant";
        return Some(Missing::new(what, how));
    }
    if key.size_bytes == 0 {
        return Some(Missing::new(
            "an empty message cannot be answered",
            "use a size of at least 1",
        ));
    }
    let refused = [
        (load.stall_ns > 0, "--stall stops a process of our own"),
        (load.packet > 0, "--packet puts headers of our own before each part"),
        (load.transform.is_some(), "--transform is undone by our own end only"),
        (load.one_way, "--one-way needs the clock of our own end"),
        (load.payload.is_some(), "--payload needs an end that has the file, too"),
        (load.align.is_some(), "--align says where buffers of our own begin"),
        (load.is_apart(), "--follow-in and --net move our own end into namespaces"),
        (
            load.schedules(Seat::Follow),
            "--sched, --nice and --cgroup-weight schedule our own end, the lead alone with lead=VALUE",
        ),
    ];
    let (_, what) = refused.into_iter().find(|(is_asked, _)| *is_asked)?;
    let (follow, flag) = match load.at {
        Some(_) => ("an end that is running already", "--at"),
        None => ("a program", "--follow"),
    };
    let how = format!("leave it out, or {flag}");
    Some(Missing::new(format!("{follow} is the follow: {what}"), how))
}

/// Why an end that is running already cannot be the follow of a cell.
fn not_there(key: &CellKey, address: &Address, meeting: Option<&str>) -> Option<Missing> {
    let known: &[&str] = match address {
        Address::Unix(_) => &["unix-stream", "unix-seqpacket"],
        Address::Tcp(_) => &["tcp"],
    };
    if !known.contains(&key.mechanism.as_str()) {
        let what = format!("{} does not reach an end at {address}", key.mechanism);
        return Some(Missing::new(what, format!("-m {}", known.join(" or "))));
    }
    if let Some(knob) = meeting {
        let what = format!(
            "{knob} says how our own two ends meet, and an end at {address} listens as it does"
        );
        return Some(Missing::new(what, format!("leave out {}.{knob}", key.mechanism)));
    }
    let is_free =
        matches!(key.placement, Placement::Free | Placement::OneEnd { seat: Seat::Lead, .. });
    (!is_free).then(|| {
        let what = "an end that is running already is where it is";
        Missing::new(what, "--place free, or CPU,free to pin the lead alone")
    })
}

/// In the coordinator: the channel to an end that is running already.
pub(crate) fn call(
    spec: &Spec,
    address: &Address,
    program: &mut Option<ProgramJob>,
) -> Result<Link, SetupError> {
    let kind = match spec.payload {
        Payload::Stream => Kind::Stream,
        _ => Kind::SeqPacket,
    };
    let start_ns = monotonic_ns();
    let (socket, peer) = meeting::call(kind, address)?;
    if let Some(program) = program {
        program.running = Some((peer, start_ns));
    }
    Ok(Link::of_fds([socket], []))
}

/// In the lead, before it closes its end: lets the program read 0 bytes where closing alone does not, by an empty message.
pub(crate) fn tell_the_end(port: &mut dyn DynPort, spec: &Spec) {
    let is_told = matches!(spec.payload, Payload::Stream) || spec.on_close != OnClose::Undetected;
    if !is_told {
        // A program that is gone has failed elsewhere.
        let _ = port.send(0, &mut |_| ());
    }
}

/// In the lead, once its end is closed.
pub(crate) fn closed(page: &Page) {
    let [_, reached] = page.progress(Seat::Lead);
    reached.store(CLOSED, Ordering::Release);
}

/// In a worker that is the follow: lets the program be it, which gets the descriptors of the port.
pub(crate) fn drive(
    port: Option<Box<dyn DynPort>>,
    task: &ProgramJob,
    job: &Job,
    page: &Page,
    context: &mut WorkerContext<'_>,
) -> Result<SideReport, Failure> {
    if let Some((peer, start_ns)) = task.running {
        return beside(peer, start_ns, job, page, context);
    }
    // Dropped last: whatever the program has left behind.
    let _orphans = Orphans::adopt()?;
    let end = outlive_coordinator()?;
    task.files.into_iter().for_each(limits::take_of_programs);
    let account = RefCell::new(Account::default());
    let (mut lines, third) = Outlet::open().map_err(|error| error.to_string())?;
    let start_ns = monotonic_ns();
    let mut program = start(task, job, port.as_deref(), third)?;
    // The program alone has its end, so that both are told when the other closes.
    drop(port);
    let pipe::Pair { read: done, write: finished } = pipe::pair()?;
    let control = context.control();
    let watch = ProgramKeeper { program: Mutex::new(&mut program), task, page, control, end: &end };
    let mut report = std::thread::scope(|scope| {
        let watched = scope.spawn(|| watch.look(&mut lines, &done));
        let report = worker::slice(&mut Absent(job), job, page, context, Some(&account));
        drop(finished);
        // It ends the process if it has something to say.
        let _ = watched.join();
        report
    })?;
    report.pid = program.pid();
    let mut account = account.into_inner();
    // What it consumes while it ends is no part of the slice, and what it loses then is none of it either.
    let (most, is_incomplete) = (account.most(), account.is_incomplete());
    await_end(&mut program, task, page, (&mut lines, &mut account))?;
    let said = values(&lines.text());
    report.program = Some(ProgramReport { start_ns, most, is_incomplete, said });
    Ok(report)
}

/// The same for an end that is running already: it is neither started nor ended.
fn beside(
    peer: Option<u32>,
    start_ns: u64,
    job: &Job,
    page: &Page,
    context: &mut WorkerContext<'_>,
) -> Result<SideReport, Failure> {
    // Nobody has the number 0.
    let account = RefCell::new(Account::of(peer.unwrap_or(0)));
    let report = worker::slice(&mut Absent(job), job, page, context, Some(&account))?;
    let account = account.into_inner();
    let (most, said) = (account.most(), Vec::new());
    let is_incomplete = account.is_incomplete() || most[0] == 0;
    let program = Some(ProgramReport { start_ns, most, is_incomplete, said });
    Ok(SideReport { pid: peer.unwrap_or(0), program, ..report })
}

/// Starts the program with the descriptors of a port.
fn start(
    task: &ProgramJob,
    job: &Job,
    port: Option<&dyn DynPort>,
    third: OwnedFd,
) -> Result<Program, Failure> {
    let none = || Failure::from("it has no descriptors to hand over".to_owned());
    let [rx, tx] = port.and_then(DynPort::descriptors).ok_or_else(none)?;
    let (name, arguments) = task.words.split_first().ok_or_else(none)?;
    let mut command = Command::new(name);
    command.args(arguments).envs(environment(&job.key));
    command.stdin(rx.try_clone_to_owned()?).stdout(tx.try_clone_to_owned()?);
    let _held = give_third(&mut command, third)?;
    Ok(Program::start(&mut command).map_err(|error| not_started("cannot be started", &error))?)
}

/// Takes what the program reports by itself. What it was measured at stands without that.
fn take(lines: &mut Outlet) {
    let _ = lines.take_all();
}

/// The lines that are a name and a value.
fn values(text: &str) -> Vec<String> {
    let lines = text.lines().map(str::trim).filter(|line| line.contains(' '));
    lines.take(LINES).map(ToOwned::to_owned).collect()
}

/// Waits until the program has read the end and ended.
fn await_end(
    program: &mut Program,
    task: &ProgramJob,
    page: &Page,
    (lines, account): (&mut Outlet, &mut Account),
) -> Result<(), Failure> {
    let until = Instant::now() + task.patience;
    let [_, reached] = page.progress(Seat::Lead);
    while reached.load(Ordering::Acquire) != CLOSED {
        if Instant::now() > until {
            return Err("the lead did not close its end".to_owned().into());
        }
        pause::sleep_ns(1_000_000);
    }
    let told = Instant::now();
    let mut allowed = LAST;
    loop {
        let mut ended = wait_any(&[program.pidfd()], told + allowed - MOMENT)?;
        let before = account.read().cpu_ns;
        if ended.first() != Some(&true) {
            ended = wait_any(&[program.pidfd()], told + allowed)?;
        }
        if ended.first() == Some(&true) {
            break;
        }
        // On a busy machine one that is at work may not have had its second.
        if account.read().cpu_ns > before && allowed < MOST {
            allowed += LAST;
            continue;
        }
        let seconds = allowed.as_secs();
        return Err(
            format!("it had not ended {seconds} s after end-of-file, and was killed").into()
        );
    }
    take(lines);
    let status = program.wait()?.status;
    if status.success() {
        return Ok(());
    }
    Err(format!("after end-of-file it ended with {}, not with exit code 0", describe_end(status))
        .into())
}

/// Who looks after the program while the rest of this process sleeps at a gate.
struct ProgramKeeper<'a> {
    program: Mutex<&'a mut Program>,
    task: &'a ProgramJob,
    page: &'a Page,
    control: &'a Control,
    end: &'a Interrupts,
}

impl ProgramKeeper<'_> {
    /// Until there is nothing more to look after. Whatever goes wrong it says itself, and ends the process.
    fn look(&self, lines: &mut Outlet, done: &OwnedFd) {
        let until = Instant::now() + self.task.patience;
        let Ok(mut program) = self.program.lock() else { return };
        loop {
            let mut fds = vec![done.as_fd(), self.end.fd(), program.pidfd()];
            fds.extend(lines.awaited());
            let Ok(ready) = wait_any(&fds, until) else { return };
            let is_ready = |at: usize| ready.get(at) == Some(&true);
            if is_ready(1) {
                give_up();
            }
            if is_ready(3) {
                take(lines);
            }
            if is_ready(2) {
                return self.has_ended(&mut program);
            }
            if is_ready(0) {
                return;
            }
            if !ready.contains(&true) {
                let seconds = self.task.patience.as_secs();
                // Any other process that has its end keeps the lead waiting.
                end_children();
                let which = self.which();
                self.fail(&format!(
                    "silent: {which} had not come after {seconds} s, and it was killed"
                ));
            }
        }
    }

    /// The program has ended: as it should if the lead has closed its end before.
    fn has_ended(&self, program: &mut Program) {
        let until = Instant::now() + MOMENT;
        let [_, reached] = self.page.progress(Seat::Lead);
        while reached.load(Ordering::Acquire) == 0 && Instant::now() < until {
            pause::sleep_ns(1_000_000);
        }
        if reached.load(Ordering::Acquire) & WRONG != 0 {
            // Closed, or wrong: the lead has noted that before it let go of its end, and says it.
            return;
        }
        let how = match program.wait() {
            Ok(ended) => describe_end(ended.status),
            Err(error) => error.to_string(),
        };
        end_children();
        let which = self.which();
        self.fail(&format!("it ended with {how} before {which}"));
    }

    /// The answer that failed, as the lead knows it.
    fn which(&self) -> String {
        let [_, reached] = self.page.progress(Seat::Lead);
        let until = Instant::now() + MOMENT;
        while reached.load(Ordering::Acquire) == 0 && Instant::now() < until {
            pause::sleep_ns(1_000_000);
        }
        match reached.load(Ordering::Acquire) {
            0 | CLOSED => "the last answer".to_owned(),
            answer => format!("answer {}", answer & !WRONG),
        }
    }

    fn fail(&self, reason: &str) {
        end_children();
        let failure = Failure { kind: FailureKind::Failed, reason: reason.to_owned() };
        let word = serde_json::to_string(&Word::Failed(failure)).unwrap_or_default();
        // The coordinator may be gone; then nobody is left to tell.
        let _ = self.control.send(&word, &[]);
        std::process::exit(1);
    }
}

/// The coordinator is gone, and the program with it.
fn give_up() {
    end_children();
    std::process::exit(1);
}

/// The loops of an end that somebody else is.
struct Absent<'a>(&'a Job);

impl Runner for Absent<'_> {
    fn run(
        &mut self,
        _: Pass,
        _: Seat,
        _: Clock,
        plan: Plan<'_>,
        _: &mut Recorder<'_>,
    ) -> Result<Tally, Fault> {
        let sent = plan.samples * plan.batch;
        Ok(Tally { sent, received: plan.operations(), ..Tally::default() })
    }

    fn form(&self, pass: Pass) -> Form {
        worker::runner::form(&self.0.key, pass)
    }

    fn port(&mut self) -> &mut dyn DynPort {
        self
    }
}

impl Port for Absent<'_> {
    fn send(&mut self, _: usize, _: impl FnOnce(&mut [u8])) -> Result<(), Fault> {
        Err(Fault::Closed)
    }

    fn recv<T>(&mut self, _: usize, _: impl FnOnce(&[u8]) -> Result<T, Fault>) -> Result<T, Fault> {
        Err(Fault::Closed)
    }

    fn finish(&mut self) -> Result<(), Fault> {
        Err(Fault::Closed)
    }
}

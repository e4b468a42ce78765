//! The clients of a connect slice: each asks, reads the answer to its end, hangs up, and asks again.

use super::super::report::{ClientReport, Counts, add};
use super::super::times::{Taker, Times};
use super::answer::Answers;
use super::plan::{Ask, ConnectPlan, PATIENCE};
use crate::job::Failure;
use crate::task::{WorkerContext, pin};
use ipcperf_core::{Closes, Missing, SetupError};
use ipcperf_sys::clock::Clock;
use ipcperf_sys::io::errno;
use ipcperf_sys::io::socket::listener::{Call, Caller};
use ipcperf_sys::meter::{CounterReading, Meter, Span};
use ipcperf_sys::procfs::{Consumption, consumption};
use ipcperf_sys::{limits, process, procfs, signals};
use serde_json::Value;
use std::fs::File;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Barrier, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Its name as a task.
pub(crate) const NAME: &str = "connect-clients";

/// What is timed of a request, in this order: all of it, making the socket, connecting, waiting for the first byte,
/// closing.
pub const PARTS: [&str; 5] = ["request", "socket", "connect", "first_byte", "close"];

/// One sample: ticks of each part.
type Sample = [u64; PARTS.len()];

/// What is used while the clients are at work.
#[derive(Debug, Default)]
struct Books {
    meter: Meter,
    begin: Option<(Consumption, CounterReading)>,
    spent: Consumption,
    machine: Span,
}

impl Books {
    fn open(&mut self) {
        self.meter = Meter::find();
        self.begin = Some((consumption(), self.meter.read()));
    }

    fn close(&mut self) {
        if let Some((spent, reading)) = &self.begin {
            self.spent = consumption().since(spent);
            self.machine = self.meter.since(reading);
        }
    }
}

/// The task.
pub(crate) fn call(context: &mut WorkerContext<'_>) -> Result<Value, Failure> {
    let ask: Ask = context.params()?;
    let file = context
        .fds
        .pop()
        .map(File::from)
        .ok_or_else(|| "connect: no file was handed over".to_owned())?;
    pin(ask.cpu)?;
    let site = ask.site();
    let callers = ask.clients.clone().map(|number| Caller::new(&site, number));
    let callers: Vec<Caller> = callers.collect::<Result<_, _>>()?;
    context.ready(&())?;
    let books = Mutex::new(Books::default());
    let lock = ask.plan.model.locks().then(|| Mutex::new(()));
    let gate = Barrier::new(callers.len());
    let patience = ask.plan.drops().then(|| Patience::of(callers.len())).transpose()?;
    // A client at the gate would wait for one that cannot be started: none goes there before all are started.
    let are_all_here = Mutex::new(false);
    let work = |at: usize, caller| {
        let go = *are_all_here.lock().unwrap_or_else(PoisonError::into_inner);
        let waiting = patience.as_ref().and_then(|patience| patience.clients.get(at));
        let client = || Client::new(&ask, caller, lock.as_ref(), waiting);
        go.then(|| client().run(&ask.plan, &gate, &books))
    };
    let clients = std::thread::scope(|scope| {
        let mut held = are_all_here.lock().unwrap_or_else(PoisonError::into_inner);
        let start = |(at, caller)| {
            let work = &work;
            std::thread::Builder::new().spawn_scoped(scope, move || work(at, caller))
        };
        let watching = patience
            .as_ref()
            .map(|patience| std::thread::Builder::new().spawn_scoped(scope, || patience.watch()));
        let threads: Result<Vec<_>, _> = callers.iter().enumerate().map(start).collect();
        let threads = watching.transpose().and(threads);
        *held = threads.is_ok();
        drop(held);
        // All of them are waited for, also behind one that failed.
        let ends = threads.map(|threads| {
            let ends = threads.into_iter().map(|thread| {
                thread.join().ok().flatten().ok_or_else(|| "a client panicked".to_owned())
            });
            ends.collect::<Vec<Result<Done, _>>>()
        });
        if let Some(patience) = &patience {
            patience.is_over.store(true, Ordering::Release);
        }
        ends.map_err(|error| no_thread(callers.len(), &error))
    })?;
    let mut told = ClientReport {
        pid: process::own_pid(),
        region: [u64::MAX, 0],
        longest: u64::MAX,
        cpu: ask.cpu.unwrap_or(0),
        tracer: procfs::tracer(),
        ..ClientReport::default()
    };
    let mut times = Times::default();
    for client in clients {
        let client = client?;
        for (sum, counts) in told.counts.iter_mut().zip(&client.counts) {
            sum.merge(counts);
        }
        let [begin, end] = told.region;
        told.region = [begin.min(client.region[0]), end.max(client.region[1])];
        told.longest = told.longest.min(client.times.parts[0].max().unwrap_or(0));
        times.merge(&client.times);
    }
    let books = books.into_inner().unwrap_or_else(PoisonError::into_inner);
    (told.spent, told.machine) = (books.spent, books.machine);
    times.write(&file).map_err(|error| format!("connect: {error}"))?;
    Ok(serde_json::to_value(told)?)
}

fn no_thread(clients: usize, error: &std::io::Error) -> SetupError {
    let missing = limits::not_started(error);
    let what = format!("{clients} clients are more threads than can be started: {}", missing.what);
    Missing::new(what, missing.how).into()
}

/// How long a client that does not block waits before it connects again to a UNIX socket whose backlog is full.
const NO_ROOM: Duration = Duration::from_micros(100);

/// How often is looked whether somebody waits for so long.
const LOOK: Duration = Duration::from_millis(50);

/// Number of the request of a client that has none under way.
const NONE: u64 = 0;

/// Sees to it that no client waits for ever where TCP drops connections: who found no room may believe to be connected
/// while the server has forgotten it (SYN cookies), and then nothing is ever sent again. It interrupts calls from
/// outside, so that waiting takes no other calls than where nothing is dropped.
struct Patience {
    clients: Vec<WatchedClient>,
    is_over: AtomicBool,
}

/// One client as seen by who watches it.
#[derive(Default)]
struct WatchedClient {
    thread: AtomicU32,
    /// Number of its request.
    request: AtomicU64,
    /// Number of a request that it has waited for in vain.
    late: AtomicU64,
}

impl Patience {
    fn of(clients: usize) -> std::io::Result<Self> {
        signals::count_interruptions()?;
        let clients = (0..clients).map(|_| WatchedClient::default()).collect();
        Ok(Self { clients, is_over: AtomicBool::new(false) })
    }

    fn watch(&self) {
        let mut seen = vec![(NONE, Instant::now()); self.clients.len()];
        while !self.is_over.load(Ordering::Acquire) {
            std::thread::sleep(LOOK);
            for (client, (request, since)) in self.clients.iter().zip(&mut seen) {
                let now = client.request.load(Ordering::Acquire);
                if now != *request {
                    (*request, *since) = (now, Instant::now());
                } else if now != NONE && since.elapsed() > PATIENCE {
                    // Again and again: it may not have been in a call yet.
                    client.late.store(now, Ordering::Release);
                    signals::interrupt(client.thread.load(Ordering::Acquire));
                }
            }
        }
    }
}

impl WatchedClient {
    /// From now on this is its request.
    fn ask(&self, request: u64) {
        self.request.store(request, Ordering::Release);
    }

    fn is_late(&self) -> bool {
        self.late.load(Ordering::Acquire) == self.request.load(Ordering::Relaxed)
    }
}

/// What one client did.
struct Done {
    counts: [Counts; 2],
    region: [u64; 2],
    times: Times<{ PARTS.len() }>,
}

/// One client.
struct Client<'a> {
    caller: &'a Caller,
    lock: Option<&'a Mutex<()>>,
    /// Whether it connects without blocking, and polls.
    polls: bool,
    /// Whether that was asked for, so that it tries again where there is no room.
    tries_again: bool,
    /// Whether it closes first.
    closes: bool,
    clock: Clock,
    answers: Answers,
    buffer: Vec<u8>,
    waiting: Option<&'a WatchedClient>,
    retried: u64,
    /// Connects in progress, and those that found no room.
    in_progress: u64,
    no_room: u64,
    resent: u64,
    /// Requests so far, with those that were asked again.
    number: u64,
}

/// Why a request was in vain.
enum Flaw {
    Errno(i32),
    Wrong,
    /// Nothing came.
    Late,
}

impl From<i32> for Flaw {
    fn from(code: i32) -> Self {
        Self::Errno(code)
    }
}

impl<'a> Client<'a> {
    fn new(
        ask: &Ask,
        caller: &'a Caller,
        lock: Option<&'a Mutex<()>>,
        waiting: Option<&'a WatchedClient>,
    ) -> Self {
        let answers = ask.answers();
        Self {
            caller,
            lock,
            polls: ask.plan.polls(),
            tries_again: ask.plan.nonblocking,
            closes: ask.plan.closes == Closes::Client,
            clock: ask.clock(),
            // One byte more than any answer: a longer one is wrong.
            buffer: vec![0; answers.len() + 1],
            answers,
            waiting,
            retried: 0,
            in_progress: 0,
            no_room: 0,
            resent: 0,
            number: NONE,
        }
    }

    fn run(mut self, ask: &ConnectPlan, gate: &Barrier, books: &Mutex<Books>) -> Done {
        let mut taker = Taker::new();
        // Between these two all clients are at work: threads that start and samples that are sorted cost nothing.
        let note = |mark: fn(&mut Books)| {
            if gate.wait().is_leader() {
                mark(&mut books.lock().unwrap_or_else(PoisonError::into_inner));
            }
            gate.wait();
        };
        if let Some(waiting) = self.waiting {
            waiting.thread.store(signals::own_thread(), Ordering::Release);
        }
        note(Books::open);
        let start = self.clock.stop();
        let mut warmup = Counts::of_kinds(1);
        let mut now = start;
        while now - start < ask.warmup {
            let done = self.request();
            self.count(&mut warmup, &done);
            now = self.clock.stop();
        }
        let begin = now;
        let mut timed = Counts::of_kinds(1);
        while timed.asked < ask.requests && now - begin < ask.slice {
            let done = self.request();
            self.count(&mut timed, &done);
            if let Ok((sample, _)) = done {
                taker.take(sample);
            }
            now = self.clock.stop();
        }
        if let Some(waiting) = self.waiting {
            waiting.ask(NONE);
        }
        note(Books::close);
        Done { counts: [warmup, timed], region: [begin, now], times: taker.into_times() }
    }

    #[inline]
    fn count(&mut self, counts: &mut Counts, done: &Result<(Sample, u64), Flaw>) {
        counts.asked += 1;
        counts.retried += std::mem::take(&mut self.retried);
        counts.resent += std::mem::take(&mut self.resent);
        let waited = [&mut self.in_progress, &mut self.no_room].map(std::mem::take);
        for (code, count) in [errno::EINPROGRESS, errno::EAGAIN].into_iter().zip(waited) {
            if count > 0 {
                *counts.not_at_once.entry(code).or_insert(0) += count;
            }
        }
        match done {
            Ok((_, sequence)) => {
                counts.answered[0] += 1;
                counts.sum = counts.sum.wrapping_add(*sequence);
            }
            Err(Flaw::Errno(code)) => add(&mut counts.errors, *code),
            // Who hears nothing asks again.
            Err(Flaw::Wrong | Flaw::Late) => counts.wrong += 1,
        }
    }

    /// Holds the lock that all clients share, in the model that has one.
    #[inline]
    fn turn(&self) -> Option<MutexGuard<'a, ()>> {
        self.lock.map(|lock| lock.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// One request: how long it and its parts took, and which answer came. Where it had to be asked again, the parts are
    /// those of the last time, and the whole is all of it.
    #[inline]
    fn request(&mut self) -> Result<(Sample, u64), Flaw> {
        let begin = self.clock.start();
        loop {
            match self.attempt(begin) {
                Err(Flaw::Late) => self.resent += 1,
                done => return done,
            }
        }
    }

    #[inline]
    fn attempt(&mut self, whole: u64) -> Result<(Sample, u64), Flaw> {
        let clock = self.clock;
        if let Some(waiting) = self.waiting {
            self.number += 1;
            waiting.ask(self.number);
        }
        let begin = if self.resent == 0 { whole } else { clock.start() };
        let mut call = {
            let _turn = self.turn();
            self.caller.socket(self.polls)?
        };
        let made = clock.stop();
        let asked = self.ask(&mut call, made);
        let closing = clock.stop();
        {
            let _turn = self.turn();
            self.caller.close(call);
        }
        let end = clock.stop();
        let (connected, first, sequence) = asked?;
        let sample =
            [end - whole, made - begin, connected - made, first - connected, end - closing];
        Ok((sample, sequence))
    }

    /// From the connect to the end of the answer: when it was connected, when the first byte came, and what.
    #[inline]
    fn ask(&mut self, call: &mut Call, made: u64) -> Result<(u64, u64, u64), Flaw> {
        self.connect(call)?;
        let connected = self.clock.stop().max(made);
        let mut filled = self.read(call, 0)?;
        let first = self.clock.stop();
        let mut last = filled;
        // Who closes first does not wait for the end.
        while last > 0 && !(self.closes && filled >= self.answers.len()) {
            last = self.read(call, filled)?;
            filled += last;
        }
        let sequence = self.buffer.get(..filled).and_then(|text| self.answers.read(text));
        Ok((connected, first, sequence.ok_or(Flaw::Wrong)?))
    }

    #[inline]
    fn connect(&mut self, call: &mut Call) -> Result<(), Flaw> {
        loop {
            let tried = {
                let _turn = self.turn();
                self.caller.connect(call)
            };
            match tried {
                Ok(()) | Err(errno::EISCONN) => return Ok(()),
                Err(code @ (errno::EINPROGRESS | errno::EALREADY)) if self.polls => {
                    self.in_progress += u64::from(code == errno::EINPROGRESS);
                    self.go_on(call.await_writable())?;
                }
                // No event tells when there is room again.
                Err(errno::EAGAIN) if self.tries_again => {
                    self.no_room += 1;
                    std::thread::sleep(NO_ROOM);
                }
                // The kernel goes on connecting; asked again it says how far it is.
                Err(errno::EINTR) => self.go_on(Err(errno::EINTR))?,
                Err(code) => return Err(code.into()),
            }
            self.retried += 1;
        }
    }

    #[inline]
    fn read(&mut self, call: &Call, filled: usize) -> Result<usize, Flaw> {
        loop {
            let got = {
                let _turn = self.turn();
                let room = self.buffer.get_mut(filled..).filter(|room| !room.is_empty());
                call.read(room.ok_or(Flaw::Wrong)?)
            };
            match got {
                Err(errno::EAGAIN) if self.polls => self.go_on(call.await_readable())?,
                Err(errno::EINTR) => self.go_on(Err(errno::EINTR))?,
                other => return Ok(other?),
            }
        }
    }

    /// A signal ends no wait but one that was in vain.
    #[inline]
    fn go_on(&self, waited: Result<(), i32>) -> Result<(), Flaw> {
        match waited {
            Err(errno::EINTR) if self.waiting.is_some_and(WatchedClient::is_late) => {
                Err(Flaw::Late)
            }
            Err(errno::EINTR) => Ok(()),
            other => Ok(other?),
        }
    }
}

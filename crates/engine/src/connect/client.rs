//! The clients of a connect slice: each asks, reads the answer to its end, hangs up, and asks again.

use super::answer::Answers;
use super::plan::{Ask, ConnectPlan, add};
use super::times::{Sample, Taker, Times};
use crate::job::Failure;
use crate::task::{WorkerContext, pin};
use ipcperf_core::{Missing, SetupError};
use ipcperf_sys::clock::Clock;
use ipcperf_sys::io::errno;
use ipcperf_sys::io::socket::doors::{Call, Caller};
use ipcperf_sys::meter::{Meter, Reading, Span};
use ipcperf_sys::process;
use ipcperf_sys::procfs::{Consumption, consumption};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs::File;
use std::sync::{Barrier, Mutex, MutexGuard, PoisonError};

/// Its name as a task.
pub(super) const NAME: &str = "connect-clients";

/// Requests of one region.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Counts {
    pub(super) asked: u64,
    pub(super) answered: u64,
    /// Sequence numbers of the answers, added up.
    pub(super) sum: u64,
    /// Connects that had to be tried again.
    pub(super) retried: u64,
    /// Answers that were not the server's.
    pub(super) wrong: u64,
    /// Requests that failed, by `errno`.
    pub(super) errors: BTreeMap<i32, u64>,
}

impl Counts {
    pub(super) fn merge(&mut self, other: &Self) {
        self.asked += other.asked;
        self.answered += other.answered;
        self.sum = self.sum.wrapping_add(other.sum);
        self.retried += other.retried;
        self.wrong += other.wrong;
        for (code, count) in &other.errors {
            *self.errors.entry(*code).or_insert(0) += count;
        }
    }
}

#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct Told {
    pub(super) pid: u32,
    /// Before the timed region.
    pub(super) warmup: Counts,
    pub(super) timed: Counts,
    /// Of the timed region, ticks.
    pub(super) begin: u64,
    pub(super) end: u64,
    /// In warm-up and timed region.
    pub(super) spent: Consumption,
    /// Likewise, of the whole machine.
    pub(super) machine: Span,
}

/// What is used while the clients are at work.
#[derive(Debug, Default)]
struct Books {
    meter: Meter,
    begin: Option<(Consumption, Reading)>,
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
pub(super) fn call(context: &mut WorkerContext<'_>) -> Result<Value, Failure> {
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
    // Whoever came would wait at the gate for whoever cannot be started: nobody goes there before all are.
    let are_all_here = Mutex::new(false);
    let work = |caller| {
        let go = *are_all_here.lock().unwrap_or_else(PoisonError::into_inner);
        go.then(|| Client::new(&ask, caller, lock.as_ref()).run(&ask.plan, &gate, &books))
    };
    let clients = std::thread::scope(|scope| {
        let mut held = are_all_here.lock().unwrap_or_else(PoisonError::into_inner);
        let start = |caller| {
            let work = &work;
            std::thread::Builder::new().spawn_scoped(scope, move || work(caller))
        };
        let threads: Result<Vec<_>, _> = callers.iter().map(start).collect();
        *held = threads.is_ok();
        drop(held);
        let threads = threads.map_err(|error| no_thread(callers.len(), &error))?;
        let ends = threads.into_iter().map(|thread| {
            thread.join().ok().flatten().ok_or_else(|| "a client panicked".to_owned())
        });
        // All of them are waited for, also behind one that failed.
        Ok::<_, SetupError>(ends.collect::<Vec<Result<Done, _>>>())
    })?;
    let mut told = Told { pid: process::own_pid(), begin: u64::MAX, ..Told::default() };
    let mut times = Times::default();
    for client in clients {
        let client = client?;
        told.warmup.merge(&client.warmup);
        told.timed.merge(&client.timed);
        told.begin = told.begin.min(client.begin);
        told.end = told.end.max(client.end);
        times.merge(&client.times);
    }
    let books = books.into_inner().unwrap_or_else(PoisonError::into_inner);
    (told.spent, told.machine) = (books.spent, books.machine);
    times.write(&file).map_err(|error| format!("connect: {error}"))?;
    Ok(serde_json::to_value(told)?)
}

fn no_thread(clients: usize, error: &std::io::Error) -> SetupError {
    let missing = process::not_started(error);
    let what = format!("{clients} clients are more threads than can be started: {}", missing.what);
    Missing::new(what, missing.how).into()
}

/// What one client did.
struct Done {
    warmup: Counts,
    timed: Counts,
    begin: u64,
    end: u64,
    times: Times,
}

/// One client.
struct Client<'a> {
    caller: &'a Caller,
    lock: Option<&'a Mutex<()>>,
    /// Whether it connects without blocking, and polls.
    polls: bool,
    clock: Clock,
    answers: Answers,
    buffer: Vec<u8>,
    retried: u64,
}

/// Why a request was in vain.
enum Flaw {
    Errno(i32),
    Wrong,
}

impl From<i32> for Flaw {
    fn from(code: i32) -> Self {
        Self::Errno(code)
    }
}

impl<'a> Client<'a> {
    fn new(ask: &Ask, caller: &'a Caller, lock: Option<&'a Mutex<()>>) -> Self {
        let answers = ask.answers();
        Self {
            caller,
            lock,
            polls: ask.plan.model.polls(ask.plan.door),
            clock: ask.clock(),
            // One byte more than any answer: a longer one is wrong.
            buffer: vec![0; answers.len() + 1],
            answers,
            retried: 0,
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
        note(Books::open);
        let start = self.clock.stop();
        let mut warmup = Counts::default();
        let mut now = start;
        while now - start < ask.warmup {
            let done = self.request();
            self.count(&mut warmup, &done);
            now = self.clock.stop();
        }
        let begin = now;
        let mut timed = Counts::default();
        while timed.asked < ask.requests && now - begin < ask.slice {
            let done = self.request();
            self.count(&mut timed, &done);
            if let Ok((sample, _)) = done {
                taker.take(sample);
            }
            now = self.clock.stop();
        }
        note(Books::close);
        Done { warmup, timed, begin, end: now, times: taker.into_times() }
    }

    #[inline]
    fn count(&mut self, counts: &mut Counts, done: &Result<(Sample, u64), Flaw>) {
        counts.asked += 1;
        counts.retried += std::mem::take(&mut self.retried);
        match done {
            Ok((_, sequence)) => {
                counts.answered += 1;
                counts.sum = counts.sum.wrapping_add(*sequence);
            }
            Err(Flaw::Errno(code)) => add(&mut counts.errors, *code),
            Err(Flaw::Wrong) => counts.wrong += 1,
        }
    }

    /// Holds the lock that all clients share, in the model that has one.
    #[inline]
    fn turn(&self) -> Option<MutexGuard<'a, ()>> {
        self.lock.map(|lock| lock.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// One request: how long it and its parts took, and which answer came.
    #[inline]
    fn request(&mut self) -> Result<(Sample, u64), Flaw> {
        let clock = self.clock;
        let begin = clock.start();
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
            [end - begin, made - begin, connected - made, first - connected, end - closing];
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
        while last > 0 {
            last = self.read(call, filled)?;
            filled += last;
        }
        let sequence = self.buffer.get(..filled).and_then(|text| self.answers.read(text));
        Ok((connected, first, sequence.ok_or(Flaw::Wrong)?))
    }

    #[inline]
    fn connect(&mut self, call: &mut Call) -> Result<(), i32> {
        loop {
            let tried = {
                let _turn = self.turn();
                self.caller.connect(call)
            };
            match tried {
                Ok(()) | Err(errno::EISCONN) => return Ok(()),
                Err(errno::EINPROGRESS | errno::EALREADY) if self.polls => call.await_writable()?,
                // The kernel goes on connecting; asked again it says how far it is.
                Err(errno::EINTR) => {}
                Err(code) => return Err(code),
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
                Err(errno::EAGAIN) if self.polls => call.await_readable()?,
                other => return Ok(other?),
            }
        }
    }
}

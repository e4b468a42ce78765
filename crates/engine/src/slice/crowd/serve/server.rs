//! The server of a serve slice: reads requests, works on each for as long as was asked, and answers.

use super::super::report::{ServerReport, add};
use super::line::{Broken, Done, ServedConnection};
use super::plan::{Connected, ServePlan};
use crate::hot::{AnyWork, Work};
use crate::job::Failure;
use crate::registry::Registry;
use crate::task::{WorkerContext, pin};
use ipcperf_core::{Fault, Missing, MixPart, Seat, ServerStyle, SetupError};
use ipcperf_stats::Rng;
use ipcperf_sys::clock::Clock;
use ipcperf_sys::io::epoll::EpollSet;
use ipcperf_sys::io::errno;
use ipcperf_sys::io::socket::hang_up;
use ipcperf_sys::io::uring::Operations;
use ipcperf_sys::procfs::{Consumption, consumption};
use ipcperf_sys::{limits, pause, process, procfs};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Its name as a task.
pub(crate) const NAME: &str = "serve-server";

/// For how long it is looked at while all connections are idle.
pub(super) const REST_NS: u64 = 10_000_000;

/// What a server used while all connections were idle.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct Rest {
    /// For so long, ns.
    pub(super) length_ns: u64,
    pub(super) rest_cpu_ns: u64,
}

/// The task. It is over when all clients have hung up.
pub(crate) fn serve(
    registry: &Registry,
    context: &mut WorkerContext<'_>,
) -> Result<Value, Failure> {
    let ask: Connected = context.params()?;
    pin(ask.cpu)?;
    let longest = ask.plan.parts().iter().map(|part| part.request).max().unwrap_or(0);
    let lines = ask.lines(registry, Seat::Follow, context, longest)?;
    let (told, before) = match ask.plan.style() {
        ServerStyle::Epoll => in_turns(&ask, lines, context)?,
        ServerStyle::Threads => in_threads(&ask, lines, context)?,
        ServerStyle::Edge => by_edges(&ask, lines, false, context)?,
        ServerStyle::Inq => by_edges(&ask, lines, true, context)?,
        ServerStyle::Uring => in_a_ring(&ask, lines, context)?,
        ServerStyle::Process => {
            let mut peers = Peer::all(&ask, lines);
            let before = rest(context)?;
            peers.iter_mut().try_for_each(Peer::run)?;
            (told_of(&peers), before)
        }
    };
    let (spent, effective) = (consumption().since(&before), std::mem::take(&mut context.effective));
    let cpu = ipcperf_sys::affinity::current_cpu();
    Ok(serde_json::to_value(ServerReport {
        pid: process::own_pid(),
        spent,
        ended: ask.plan.job.clock().stop(),
        cpu,
        tracer: procfs::tracer(),
        effective,
        ..told
    })?)
}

/// Says that it is there, looks at what it uses at rest, and waits for the word that requests will come; returns what it has
/// used by then.
pub(super) fn rest(context: &mut WorkerContext<'_>) -> Result<Consumption, Failure> {
    context.ready(&())?;
    let (before, clock) = (consumption(), Clock::monotonic());
    let begin = clock.stop();
    pause::sleep_ns(REST_NS);
    let (length_ns, rest_cpu_ns) = (clock.stop() - begin, consumption().since(&before).cpu_ns);
    context.ready(&Rest { length_ns, rest_cpu_ns })?;
    Ok(consumption())
}

/// What these connections came to.
fn told_of(peers: &[Peer]) -> ServerReport {
    let mut told = ServerReport::default();
    peers.iter().for_each(|peer| told.merge(&peer.told()));
    told
}

/// One connection of a server.
struct Peer {
    number: u64,
    line: ServedConnection,
    parts: Vec<MixPart>,
    head: usize,
    requests: AnyWork<'static>,
    answers: AnyWork<'static>,
    labour: Labour,
    served: u64,
    /// Why nothing more comes.
    end: Option<Broken>,
}

impl Peer {
    fn all(ask: &Connected, lines: Vec<ServedConnection>) -> Vec<Self> {
        let all = ask.connections.clone().zip(lines);
        all.map(|(number, line)| Self::new(&ask.plan, number, line)).collect()
    }

    fn new(plan: &ServePlan, number: u64, line: ServedConnection) -> Self {
        let requests = plan.work(number);
        Self {
            number,
            line,
            parts: plan.parts(),
            head: plan.head(),
            answers: requests.reversed(),
            requests,
            labour: Labour::new(plan, number),
            served: 0,
            end: None,
        }
    }

    fn told(&self) -> ServerReport {
        let mut told = ServerReport {
            served: self.served,
            eagain: self.line.eagain,
            ..ServerReport::default()
        };
        if let Some(Broken::Errno(code)) = self.end {
            add(&mut told.errors, code);
        }
        told
    }

    /// Answers every whole request that has come.
    #[inline]
    fn answer(&mut self) -> Result<(), Failure> {
        loop {
            let came = self.line.came();
            let kind = match (self.head, came.first()) {
                (_, None) => return Ok(()),
                (0, _) => 0,
                (_, Some(kind)) => usize::from(*kind),
            };
            let Some(part) = self.parts.get(kind) else {
                return Err(wrong("request", self.number));
            };
            let (request, reply) = (part.request as usize, part.reply as usize);
            let Some(message) = came.get(self.head..request) else { return Ok(()) };
            if self.requests.check(message, self.served).is_err() {
                return Err(wrong("request", self.number));
            }
            self.line.used(request);
            self.labour.work();
            self.answers.fill(self.line.room(reply), self.served);
            self.served += 1;
        }
    }

    /// Reads, answers, and writes as far as there is room.
    #[inline]
    fn step(&mut self) -> Result<Done, Failure> {
        let done = match self.line.read() {
            Ok(Done::Some) => {
                self.answer()?;
                self.line.write()
            }
            other => other,
        };
        Ok(self.note(done))
    }

    /// Reads and answers until nothing is left, or there is no room for an answer: an edge reports either.
    #[inline]
    fn drain(&mut self) -> Result<(), Failure> {
        self.line.has_news();
        while self.end.is_none() {
            if self.line.is_pending() {
                let written = self.line.write();
                if self.note(written) == Done::Later {
                    return Ok(());
                }
            }
            if self.line.is_drained() || self.step()? == Done::Later {
                return Ok(());
            }
        }
        Ok(())
    }

    #[inline]
    fn note(&mut self, done: Result<Done, Broken>) -> Done {
        done.unwrap_or_else(|end| {
            self.end = Some(end);
            Done::Some
        })
    }

    /// Asks a ring for what comes next: who has not taken its answers yet is asked nothing more.
    #[inline]
    fn go_on(&mut self, ring: &mut Operations, at: usize) -> Result<(), Failure> {
        if ring.is_sending(at) {
            return Ok(());
        }
        let is_next = !self.line.is_pending();
        if is_next {
            if ring.is_receiving(at) {
                return Ok(());
            }
            self.answer()?;
        }
        if self.line.is_pending() {
            self.line.send_in(ring, at);
        }
        if is_next {
            self.line.receive_in(ring, at);
        }
        Ok(())
    }

    /// Sleeps in `read` and in `write` until the client has hung up.
    fn run(&mut self) -> Result<(), Failure> {
        while self.end.is_none() {
            self.step()?;
        }
        Ok(())
    }
}

/// What is no message of this connection where it should be the next.
#[cold]
pub(super) fn wrong(what: &str, number: u64) -> Failure {
    let Failure { kind, reason } = Failure::from(Fault::Corrupt);
    Failure { kind, reason: format!("{what} on connection {number}: {reason}") }
}

/// The work on a request: the CPU is kept busy by the clock.
pub(super) struct Labour {
    clock: Clock,
    /// Mean, ticks; 0 for none.
    mean: f64,
    /// What random times are drawn from.
    rng: Option<Rng>,
}

impl Labour {
    pub(super) fn new(plan: &ServePlan, number: u64) -> Self {
        let service = plan.job.key.load.service;
        let mean = service.map_or(0.0, |service| service.mean_ns() as f64 / plan.job.ns_per_tick);
        let random = service.filter(|service| service.is_exponential());
        let rng = random.map(|_| Rng::from_seed(plan.job.seed ^ number.rotate_left(32)));
        Self { clock: plan.job.clock(), mean, rng }
    }

    #[inline]
    pub(super) fn work(&mut self) {
        if self.mean > 0.0 {
            self.burn();
        }
    }

    #[inline(never)]
    fn burn(&mut self) {
        let begin = self.clock.stop();
        let ticks = match &mut self.rng {
            Some(rng) => rng.exponential(self.mean),
            None => self.mean,
        };
        while ((self.clock.stop() - begin) as f64) < ticks {
            std::hint::spin_loop();
        }
    }
}

/// Sleeps until a connection is ready; returns how many are. A signal makes none ready.
#[inline]
fn wait(set: &mut EpollSet) -> Result<usize, Failure> {
    match set.wait(None) {
        Err(errno::EINTR) => Ok(0),
        waited => Ok(waited.map_err(|code| format!("epoll_wait: {}", limits::text(code)))?),
    }
}

/// One loop: waits for all connections, and answers those that have asked.
fn in_turns(
    ask: &Connected,
    lines: Vec<ServedConnection>,
    context: &mut WorkerContext<'_>,
) -> Result<(ServerReport, Consumption), Failure> {
    let mut peers = Peer::all(ask, lines);
    let mut set = EpollSet::new()?;
    for (at, peer) in peers.iter().enumerate() {
        peer.line.join(&set, at)?;
    }
    let before = rest(context)?;
    let mut open = peers.len();
    while open > 0 {
        for index in 0..wait(&mut set)? {
            let event = set.event(index);
            let Some(peer) = peers.get_mut(event.number) else { continue };
            // Who has not taken its answers yet is asked nothing more.
            let was_pending = peer.line.is_pending();
            if was_pending {
                let written = peer.line.write();
                peer.note(written);
            } else {
                peer.step()?;
            }
            let is_pending = peer.line.is_pending();
            if peer.end.is_some() {
                open -= 1;
                peer.line.leave(&set)?;
            } else if is_pending != was_pending {
                peer.line.watch(&set, event.number, !is_pending, is_pending)?;
            }
        }
    }
    Ok((told_of(&peers), before))
}

/// One loop: waits for what is new at all connections, and answers until nothing of it is left.
fn by_edges(
    ask: &Connected,
    lines: Vec<ServedConnection>,
    reports: bool,
    context: &mut WorkerContext<'_>,
) -> Result<(ServerReport, Consumption), Failure> {
    let mut peers = Peer::all(ask, lines);
    let mut set = EpollSet::new()?;
    for (at, peer) in peers.iter_mut().enumerate() {
        peer.line.join_edges(&set, at, reports)?;
    }
    let before = rest(context)?;
    let mut open = peers.len();
    while open > 0 {
        for index in 0..wait(&mut set)? {
            let event = set.event(index);
            let Some(peer) = peers.get_mut(event.number) else { continue };
            // Room matters only to an answer that waits for it.
            if peer.end.is_some() || !(event.is_readable || peer.line.is_pending()) {
                continue;
            }
            peer.drain()?;
            if peer.end.is_some() {
                open -= 1;
                peer.line.leave(&set)?;
            }
        }
    }
    Ok((told_of(&peers), before))
}

/// One ring: receives and sends of all connections are under way in it, and each round hands over the next and takes what has
/// completed by one call.
fn in_a_ring(
    ask: &Connected,
    lines: Vec<ServedConnection>,
    context: &mut WorkerContext<'_>,
) -> Result<(ServerReport, Consumption), Failure> {
    let mut peers = Peer::all(ask, lines);
    let mut ring = Operations::new(peers.len())?;
    let failed = |code| format!("io_uring_enter: {}", limits::text(code));
    for (at, peer) in peers.iter_mut().enumerate() {
        peer.go_on(&mut ring, at)?;
    }
    ring.enter(false).map_err(failed)?;
    let before = rest(context)?;
    let mut open = peers.len();
    while open > 0 {
        ring.enter(true).map_err(failed)?;
        while let Some(done) = ring.completed() {
            let at = done.number;
            let Some(peer) = peers.get_mut(at) else { continue };
            let was_open = peer.end.is_none();
            let back = peer.line.completed(done);
            if !was_open {
                continue;
            }
            match back {
                Ok(()) => peer.go_on(&mut ring, at)?,
                Err(end) => {
                    peer.end = Some(end);
                    open -= 1;
                }
            }
        }
    }
    Ok((told_of(&peers), before))
}

/// A thread for each connection.
fn in_threads(
    ask: &Connected,
    lines: Vec<ServedConnection>,
    context: &mut WorkerContext<'_>,
) -> Result<(ServerReport, Consumption), Failure> {
    let plan = &ask.plan;
    let mut doors = Vec::with_capacity(lines.len());
    for line in &lines {
        doors.push(ipcperf_sys::io::duplicate(line.fd())?);
    }
    let count = lines.len();
    let run = |number, line| {
        let mut peer = Peer::new(plan, number, line);
        peer.run().map(|()| peer.told())
    };
    std::thread::scope(|scope| {
        let (mut threads, mut refused) = (Vec::with_capacity(count), None);
        for (number, line) in ask.connections.clone().zip(lines) {
            let run = &run;
            let started =
                std::thread::Builder::new().spawn_scoped(scope, move || run(number, line));
            match started {
                Ok(thread) => threads.push(thread),
                Err(error) => {
                    refused = Some(no_thread(count, &error));
                    break;
                }
            }
        }
        let rested = refused.map_or_else(|| rest(context), |refused| Err(refused.into()));
        if rested.is_err() {
            // Those that sleep in `read` would do so for ever.
            for door in &doors {
                let _ = hang_up(door);
            }
        }
        drop(doors);
        let (mut told, mut failed) = (ServerReport::default(), None);
        for thread in threads {
            let panicked = |_| Err("a thread of the server panicked".to_owned().into());
            match thread.join().unwrap_or_else(panicked) {
                Ok(one) => told.merge(&one),
                Err(failure) => failed = failed.or(Some(failure)),
            }
        }
        match failed {
            Some(failure) => Err(failure),
            None => Ok((told, rested?)),
        }
    })
}

pub(super) fn no_thread(count: usize, error: &std::io::Error) -> SetupError {
    let missing = limits::not_started(error);
    let what = format!("a server with {count} threads: {}", missing.what);
    Missing::new(what, missing.how).into()
}

//! A client process of a serve slice: one loop over its connections, each of which asks, reads the answer and asks again, or
//! asks when it is due.

use super::super::report::{ClientReport, Counts, add};
use super::super::times::{Times, WAITING};
use super::line::{Broken, Done, ServedConnection};
use super::plan::{Connected, ServePlan, pick};
use super::server::wrong;
use crate::arrivals;
use crate::hot::{AnyWork, Trip, Work};
use crate::job::{Failure, FailureKind, Segment};
use crate::registry::Registry;
use crate::slice::is_saturated;
use crate::task::{WorkerContext, pin};
use ipcperf_core::{Arrivals, MixPart, Seat};
use ipcperf_stats::Rng;
use ipcperf_sys::clock::Clock;
use ipcperf_sys::io::epoll::EpollSet;
use ipcperf_sys::io::errno;
use ipcperf_sys::meter::Meter;
use ipcperf_sys::procfs::consumption;
use ipcperf_sys::{affinity, limits, pause, process, procfs};
use serde_json::Value;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::fs::File;
use std::time::Duration;

/// Its name as a task.
pub(crate) const NAME: &str = "serve-clients";

/// The task.
pub(crate) fn ask(registry: &Registry, context: &mut WorkerContext<'_>) -> Result<Value, Failure> {
    let (ask, file) = begin(context)?;
    let longest = ask.plan.parts().iter().map(|part| part.reply).max().unwrap_or(0);
    let lines = ask.lines(registry, Seat::Lead, context, longest)?;
    let mut client = Client::new(&ask, lines)?;
    let start: u64 = serde_json::from_value(context.ready(&())?)?;
    let mut told = client.run(start)?;
    told.effective = std::mem::take(&mut context.effective);
    client.times.write(&file)?;
    Ok(serde_json::to_value(told)?)
}

/// What a process of clients is told, and where it leaves its times.
pub(super) fn begin(context: &mut WorkerContext<'_>) -> Result<(Connected, File), Failure> {
    let ask: Connected = context.params()?;
    let file = context.fds.pop().map(File::from);
    let file = file.ok_or_else(|| "serve: no file was handed over".to_owned())?;
    pin(ask.cpu)?;
    // Requests are due at times, and pauses end, not up to 50 us later.
    pause::sharpen()?;
    Ok((ask, file))
}

/// A request that was sent.
#[derive(Clone, Copy, Debug)]
struct Departure {
    kind: usize,
    number: u64,
    /// When it was due, and when it was sent, ticks; the same in a closed loop.
    due: u64,
    sent: u64,
    /// A connection was free when it was due.
    free: bool,
    is_timed: bool,
}

/// One connection of a client.
struct Own {
    number: u64,
    line: ServedConnection,
    requests: AnyWork<'static>,
    answers: AnyWork<'static>,
    next: u64,
    under_way: VecDeque<Departure>,
    moved: u64,
    is_open: bool,
    /// What it is watched for.
    watched: [bool; 2],
}

/// When requests are sent.
enum Demand {
    /// After the answer before, and a pause, ticks.
    Closed { pause: u64, resting: BinaryHeap<Reverse<(u64, usize)>> },
    /// When they are due, on a connection that has room, which has had it since then. So many ticks before one is due the client
    /// watches the clock, because a sleeper wakes up late.
    Open { due: Vec<u64>, next: usize, room: VecDeque<(usize, u64)>, give_up: u64, near: u64 },
}

/// The client stops reading from its first connection.
struct Stall {
    from: u64,
    to: u64,
    has_begun: bool,
}

struct Client {
    clock: Clock,
    ns_per_tick: f64,
    head: usize,
    parts: Vec<MixPart>,
    rng: Rng,
    set: EpollSet,
    own: Vec<Own>,
    open: usize,
    under_way: u64,
    demand: Demand,
    inflight: u64,
    /// Whether the CPU is given away at each look at the clock, because others may need it.
    yields: bool,
    stall: Option<Stall>,
    /// Requests of the timed region at the most.
    most: u64,
    begin: u64,
    end: u64,
    last: u64,
    told: ClientReport,
    /// Those whose times the histograms do not have yet.
    trips: Vec<Trip>,
    /// Response, service, lateness; ticks.
    times: Times<3>,
}

impl Client {
    fn new(ask: &Connected, lines: Vec<ServedConnection>) -> Result<Self, Failure> {
        let plan = &ask.plan;
        let set = EpollSet::new()?;
        let mut own = Vec::with_capacity(lines.len());
        for (number, line) in ask.connections.clone().zip(lines) {
            line.join(&set, own.len())?;
            let requests = plan.work(number);
            own.push(Own {
                number,
                line,
                answers: requests.reversed(),
                requests,
                next: 0,
                under_way: VecDeque::new(),
                moved: 0,
                is_open: true,
                watched: [true, false],
            });
        }
        let parts = plan.parts();
        let most =
            plan.requests_until(ask.connections.end) - plan.requests_until(ask.connections.start);
        let stall = plan.job.key.load.stall_ns;
        let has_first = ask.connections.start == 0;
        // Touched before it is needed.
        let mut trips = vec![Trip { service: 0, late: 0, free: true }; WAITING];
        trips.clear();
        let mut client = Self {
            clock: plan.job.clock(),
            ns_per_tick: plan.job.ns_per_tick,
            head: plan.head(),
            rng: Rng::from_seed(plan.job.seed ^ ask.connections.start.rotate_left(17)),
            set,
            open: own.len(),
            under_way: 0,
            demand: Demand::Closed {
                pause: plan.ticks(plan.job.key.load.think_ns),
                resting: BinaryHeap::new(),
            },
            inflight: plan.job.key.load.inflight.max(1),
            yields: !plan.has_own_cpu(),
            stall: (stall > 0 && has_first).then(|| Stall {
                from: plan.job.slice / 4,
                to: plan.job.slice / 4 + plan.ticks(stall),
                has_begun: false,
            }),
            most: if plan.job.operations > 0 { most } else { u64::MAX },
            begin: plan.job.warmup,
            end: if plan.job.operations > 0 { u64::MAX } else { plan.job.slice },
            last: 0,
            told: ClientReport {
                counts: [0, 1].map(|_| Counts::of_kinds(parts.len())),
                ..ClientReport::default()
            },
            trips,
            times: Times::default(),
            parts,
            own,
        };
        if plan.job.operations > 0
            && let Some(stall) = &mut client.stall
        {
            (stall.from, stall.to) = (0, plan.ticks(plan.job.key.load.stall_ns));
        }
        if let Some(rate) = plan.rate() {
            client.schedule(plan, rate);
        }
        Ok(client)
    }

    /// Fixes when requests are due, from 0 on.
    fn schedule(&mut self, plan: &ServePlan, rate: f64) {
        let mean = 1e9 / (rate * self.own.len() as f64 / plan.conns() as f64) / self.ns_per_tick;
        let in_time = |ticks: u64| (ticks as f64 / mean).round() as u64;
        let warmups = in_time(plan.job.warmup);
        let timed =
            if plan.job.operations > 0 { self.most } else { in_time(plan.job.slice).max(1) };
        let mut due = arrivals::schedule(Arrivals::Poisson, warmups, mean, &mut self.rng);
        self.begin = (warmups as f64 * mean) as u64;
        let timed = arrivals::schedule(Arrivals::Poisson, timed, mean, &mut self.rng);
        self.told.due = timed.last().copied().unwrap_or(0);
        due.extend(timed.into_iter().map(|due| self.begin + due));
        self.end = self.told.due;
        self.trips.reserve(due.len());
        let room = (0..self.inflight).flat_map(|_| (0..self.own.len()).map(|at| (at, 0))).collect();
        let (give_up, near) = (plan.job.slice, plan.ticks(arrivals::NEAR_NS as u64));
        self.demand = Demand::Open { due, next: 0, room, give_up, near };
    }

    /// All of it, from `start` on, or from when it gets there.
    fn run(&mut self, start: u64) -> Result<ClientReport, Failure> {
        let meter = Meter::find();
        loop {
            let left = start.saturating_sub(self.clock.stop());
            if left == 0 {
                break;
            }
            pause::sleep_ns((left as f64 * self.ns_per_tick) as u64);
        }
        let (before, reading) = (consumption(), meter.read());
        // Who was kept from its CPU until later has as much time as the others.
        let begun = self.clock.stop();
        self.begin += begun;
        self.end = self.end.saturating_add(self.begin);
        if let Some(stall) = &mut self.stall {
            (stall.from, stall.to) = (stall.from + self.begin, stall.to + self.begin);
        }
        if let Demand::Open { due, give_up, .. } = &mut self.demand {
            due.iter_mut().for_each(|due| *due += begun);
            // Requests that are late by as much as all of the slice will not be in time any more.
            *give_up += self.end;
        }
        if matches!(self.demand, Demand::Closed { .. }) {
            for at in 0..self.own.len() {
                for _ in 0..self.inflight {
                    self.send_next(at, begun);
                }
                self.write(at)?;
            }
        }
        self.go_on()?;
        self.fold();
        let spent = consumption().since(&before);
        let machine = meter.since(&reading);
        let end = if self.end == u64::MAX || self.most < u64::MAX { self.last } else { self.end };
        let mut told = std::mem::take(&mut self.told);
        told.pid = process::own_pid();
        told.region = [self.begin, end.max(self.begin)];
        told.whole = [begun, self.clock.stop()];
        told.moved = self.own.iter().map(|own| own.moved).collect();
        told.eagain = self.own.iter().map(|own| own.line.eagain).sum();
        told.longest = self.times.parts[0].max().unwrap_or(0);
        (told.spent, told.machine, told.cpu) = (spent, machine, affinity::current_cpu());
        told.tracer = procfs::tracer();
        // The server goes on until all have hung up.
        self.own.clear();
        Ok(told)
    }

    fn go_on(&mut self) -> Result<(), Failure> {
        loop {
            let now = self.clock.stop();
            self.stall(now)?;
            self.send_due(now)?;
            if self.is_over(now) {
                return Ok(());
            }
            if self.open == 0 {
                let reason = "the server closed all connections".to_owned();
                return Err(Failure { kind: FailureKind::PeerGone, reason });
            }
            let limit = self.next_event(now).map(|at| {
                let ticks = at.saturating_sub(now);
                Duration::from_nanos((ticks as f64 * self.ns_per_tick) as u64)
            });
            let looks = limit == Some(Duration::ZERO);
            let count = match self.set.wait(limit) {
                Err(errno::EINTR) => 0,
                waited => waited.map_err(|code| format!("epoll_wait: {}", limits::text(code)))?,
            };
            if looks && count == 0 && self.yields {
                std::thread::yield_now();
            }
            for index in 0..count {
                let event = self.set.event(index);
                if event.is_writable {
                    self.write(event.number)?;
                }
                if event.is_readable {
                    self.read(event.number)?;
                }
            }
        }
    }

    /// Whether one more request may be sent now in a closed loop.
    fn may_send(&self, now: u64) -> bool {
        now < self.end && self.told.counts[1].asked < self.most
    }

    fn is_over(&mut self, now: u64) -> bool {
        match &mut self.demand {
            Demand::Closed { .. } => self.under_way == 0 && !self.may_send(now),
            Demand::Open { due, next, give_up, .. } => {
                if now > *give_up && *next < due.len() {
                    // Those of the warm-up do not count, also where even they were not sent.
                    let timed = due.partition_point(|due| *due < self.begin);
                    self.told.unsent = (due.len() - timed.max(*next)) as u64;
                    *next = due.len();
                }
                self.under_way == 0 && *next == due.len()
            }
        }
    }

    /// When something has to be done even if nothing comes.
    fn next_event(&self, now: u64) -> Option<u64> {
        let demand = match &self.demand {
            Demand::Closed { resting, .. } => {
                resting.peek().map(|Reverse((at, _))| (*at).min(self.end).max(now))
            }
            Demand::Open { due, next, room, give_up, near } => due
                .get(*next)
                .map(|due| if room.is_empty() { *give_up + 1 } else { due.saturating_sub(*near) }),
        };
        // Late, it waits for an answer.
        let stall = self.stall.as_ref().filter(|one| one.has_begun || one.from > now);
        let stall = stall.map(|one| if one.has_begun { one.to } else { one.from });
        demand.into_iter().chain(stall).min()
    }

    /// Begins and ends the time in which nothing is read from the first connection.
    fn stall(&mut self, now: u64) -> Result<(), Failure> {
        let Some(stall) = &mut self.stall else { return Ok(()) };
        // A client that was kept from its CPU may still wait for the warm-up, whose answers are not timed.
        let next = self.own.first().and_then(|own| own.under_way.front());
        let is_timed = next.is_none_or(|departure| departure.is_timed);
        if stall.has_begun && now >= stall.to {
            self.stall = None;
        } else if now >= stall.from && !stall.has_begun && is_timed {
            // As long as was asked for, however late it begins.
            stall.to = now + (stall.to - stall.from);
            stall.has_begun = true;
        } else {
            return Ok(());
        }
        self.watch(0)
    }

    fn is_stalled(&self, at: usize) -> bool {
        at == 0 && self.stall.as_ref().is_some_and(|stall| stall.has_begun)
    }

    /// Watches a connection for what it waits for by now.
    fn watch(&mut self, at: usize) -> Result<(), Failure> {
        let reads = !self.is_stalled(at);
        let Some(own) = self.own.get_mut(at).filter(|own| own.is_open) else { return Ok(()) };
        let wanted = [reads, own.line.is_pending()];
        if own.watched != wanted {
            own.watched = wanted;
            own.line.watch(&self.set, at, wanted[0], wanted[1])?;
        }
        Ok(())
    }

    /// Sends what is due.
    fn send_due(&mut self, now: u64) -> Result<(), Failure> {
        loop {
            let (at, due, free) = match &mut self.demand {
                Demand::Closed { resting, .. } => match resting.peek() {
                    Some(Reverse((due, at))) if *due <= now => {
                        let at = *at;
                        resting.pop();
                        self.send_next(at, now);
                        self.write(at)?;
                        continue;
                    }
                    _ => return Ok(()),
                },
                Demand::Open { due, next, room, .. } => {
                    let Some(moment) = due.get(*next).copied().filter(|due| *due <= now) else {
                        return Ok(());
                    };
                    let Some((at, since)) = room.pop_front() else { return Ok(()) };
                    *next += 1;
                    (at, moment, since <= moment)
                }
            };
            self.send(at, Some(due), free);
            self.write(at)?;
        }
    }

    /// Sends one more in a closed loop, if it may.
    #[inline]
    fn send_next(&mut self, at: usize, now: u64) {
        if self.may_send(now) {
            self.send(at, None, true);
        }
    }

    /// Puts a request where it is written from.
    #[inline]
    fn send(&mut self, at: usize, due: Option<u64>, free: bool) {
        let kind = pick(&self.parts, &mut self.rng);
        let (Some(part), Some(own)) = (self.parts.get(kind), self.own.get_mut(at)) else { return };
        if !own.is_open {
            return;
        }
        let sent = self.clock.start();
        let due = due.unwrap_or(sent);
        let is_timed = due >= self.begin;
        let message = own.line.room(part.request as usize);
        let (head, body) = message.split_at_mut(self.head);
        if let Some(head) = head.first_mut() {
            *head = kind as u8;
        }
        own.requests.fill(body, own.next);
        own.under_way.push_back(Departure { kind, number: own.next, due, sent, free, is_timed });
        own.next += 1;
        self.under_way += 1;
        self.told.counts[usize::from(is_timed)].asked += 1;
    }

    #[inline]
    fn write(&mut self, at: usize) -> Result<(), Failure> {
        let Some(own) = self.own.get_mut(at).filter(|own| own.is_open) else { return Ok(()) };
        match own.line.write() {
            Ok(_) if own.watched[1] == own.line.is_pending() => Ok(()),
            Ok(_) => self.watch(at),
            Err(broken) => self.close(at, broken),
        }
    }

    /// Takes the answers that have come on a connection, and asks again.
    #[inline]
    fn read(&mut self, at: usize) -> Result<(), Failure> {
        if self.is_stalled(at) {
            return Ok(());
        }
        let Some(own) = self.own.get_mut(at).filter(|own| own.is_open) else { return Ok(()) };
        match own.line.read() {
            Ok(Done::Some) => {}
            Ok(Done::Later) => return Ok(()),
            Err(broken) => return self.close(at, broken),
        }
        let now = self.clock.stop();
        if now >= self.end && self.last == 0 {
            self.lengthen(now);
        }
        loop {
            let Some(own) = self.own.get_mut(at) else { return Ok(()) };
            let Some(departure) = own.under_way.front().copied() else { break };
            let Some(part) = self.parts.get(departure.kind) else { break };
            let reply = part.reply as usize;
            let Some(answer) = own.line.came().get(..reply) else { break };
            if own.answers.check(answer, departure.number).is_err() {
                return Err(wrong("answer", own.number));
            }
            own.line.used(reply);
            own.under_way.pop_front();
            own.moved += u64::from(now >= self.begin && now < self.end);
            self.under_way -= 1;
            self.arrived(departure, now);
            match &mut self.demand {
                Demand::Open { room, .. } => room.push_back((at, now)),
                Demand::Closed { pause: 0, .. } => self.send_next(at, now),
                Demand::Closed { pause, resting } => resting.push(Reverse((now + *pause, at))),
            }
        }
        match self.own.get(at) {
            Some(own) if own.under_way.is_empty() && !own.line.came().is_empty() => {
                Err(wrong("answer", own.number))
            }
            _ => self.write(at),
        }
    }

    /// A client that was kept from its CPU for all of the timed region goes on until it has an answer in it.
    #[cold]
    fn lengthen(&mut self, now: u64) {
        if matches!(self.demand, Demand::Closed { .. }) {
            self.end = now + (self.end - self.begin);
        }
    }

    #[inline]
    fn arrived(&mut self, departure: Departure, now: u64) {
        self.told.counts[usize::from(departure.is_timed)].answered[departure.kind] += 1;
        if !departure.is_timed {
            return;
        }
        self.last = now;
        let Departure { due, sent, free, .. } = departure;
        self.trips.push(Trip {
            service: now.saturating_sub(sent),
            late: sent.saturating_sub(due),
            free,
        });
        if self.trips.len() == WAITING && matches!(self.demand, Demand::Closed { .. }) {
            self.fold();
        }
    }

    #[cold]
    fn fold(&mut self) {
        let [responses, services, lateness] = &mut self.times.parts;
        for trip in &self.trips {
            responses.record(trip.response());
            services.record(trip.service);
            if trip.free {
                lateness.record(trip.late);
            }
        }
        if matches!(self.demand, Demand::Open { .. }) {
            let segment = Segment {
                begin: self.begin,
                end: self.last.max(self.begin),
                due: self.told.due,
                ..Segment::default()
            };
            self.told.saturated = self.told.unsent > 0 || is_saturated(&self.trips, &segment);
        }
        self.trips.clear();
    }

    /// What was under way on a connection that is gone has failed.
    #[cold]
    fn close(&mut self, at: usize, broken: Broken) -> Result<(), Failure> {
        let Some(own) = self.own.get_mut(at) else { return Ok(()) };
        own.is_open = false;
        self.open -= 1;
        let lost = std::mem::take(&mut own.under_way);
        self.under_way -= lost.len() as u64;
        for _ in lost.iter().filter(|departure| departure.is_timed) {
            add(&mut self.told.counts[1].errors, broken.code());
        }
        if let Demand::Open { room, .. } = &mut self.demand {
            room.retain(|(one, _)| *one != at);
        }
        self.own[at].line.leave(&self.set)
    }
}

//! Serving by channels at each end of which a thread waits, as any mechanism allows it. Who receives a message has to know its
//! length before, so both ends draw the kinds of requests from the same numbers.

use super::super::report::{ClientReport, Counts, ServerReport};
use super::super::times::Times;
use super::channel::{attach, entry};
use super::client::begin;
use super::plan::{Connected, ServePlan, pick};
use super::server::{Labour, no_thread, rest, wrong};
use crate::hot::{AnyWork, Work};
use crate::job::{Failure, note};
use crate::registry::Registry;
use crate::task::{WorkerContext, pin};
use ipcperf_core::{DynPort, Fault, KnobValue, MixPart, Seat};
use ipcperf_stats::{Histogram, Rng};
use ipcperf_sys::meter::Meter;
use ipcperf_sys::procfs::consumption;
use ipcperf_sys::{affinity, pause, process, procfs};
use serde_json::Value;
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread;

/// The server as a task.
pub(crate) const SERVER: &str = "serve-channels-server";

/// A process of clients as a task.
pub(crate) const CLIENTS: &str = "serve-channels-clients";

/// Flips the highest bit of each byte in the number of a request: it is the last, and so is its answer. However short the
/// stamp, it is that of no request that could come.
const LAST: u64 = 0x8080_8080_8080_8080;

/// The task of a server. It is over when all clients have sent their last request.
pub(crate) fn serve(
    registry: &Registry,
    context: &mut WorkerContext<'_>,
) -> Result<Value, Failure> {
    let ask: Connected = context.params()?;
    pin(ask.cpu)?;
    let threads = Threads::start(registry, &ask, Seat::Follow, context, answer)?;
    let before = rest(context)?;
    let served = threads.done()?;
    Ok(serde_json::to_value(ServerReport {
        pid: process::own_pid(),
        served: served.iter().sum(),
        spent: consumption().since(&before),
        ended: ask.plan.job.clock().stop(),
        cpu: affinity::current_cpu(),
        tracer: procfs::tracer(),
        effective: threads.effective,
        ..ServerReport::default()
    })?)
}

/// The task of a process of clients.
pub(crate) fn ask(registry: &Registry, context: &mut WorkerContext<'_>) -> Result<Value, Failure> {
    let (ask, file) = begin(context)?;
    let (plan, clock) = (&ask.plan, ask.plan.job.clock());
    let threads = Threads::start(registry, &ask, Seat::Lead, context, demand)?;
    let start: u64 = serde_json::from_value(context.ready(&())?)?;
    let left = start.saturating_sub(clock.stop());
    pause::sleep_ns((left as f64 * plan.job.ns_per_tick) as u64);
    let meter = Meter::find();
    let (before, reading) = (consumption(), meter.read());
    // Who was kept from its CPU until later has as much time as the others.
    let begun = clock.stop().max(start);
    threads.go(begun);
    let asked = threads.done()?;
    let (spent, machine, end) = (consumption().since(&before), meter.since(&reading), clock.stop());
    let mut told = ClientReport {
        pid: process::own_pid(),
        counts: [0, 1].map(|_| Counts::of_kinds(plan.parts().len())),
        region: [begun + plan.job.warmup, begun + plan.job.warmup + plan.job.slice],
        whole: [begun, end],
        spent,
        machine,
        cpu: affinity::current_cpu(),
        tracer: procfs::tracer(),
        effective: threads.effective,
        ..ClientReport::default()
    };
    // Services and lateness are known where requests are due at times.
    let mut times = Times::<3>::default();
    for one in &asked {
        for (sum, counts) in told.counts.iter_mut().zip(&one.counts) {
            sum.merge(counts);
        }
        told.moved.push(one.moved);
        times.parts[0].merge(&one.times);
    }
    // Requests were counted, or nobody had an answer in time.
    if plan.job.operations > 0 || told.moved.iter().all(|moved| *moved == 0) {
        told.region[1] = asked.iter().map(|one| one.last).max().unwrap_or(0).max(told.region[0]);
        told.moved = asked.iter().map(|one| one.counts[1].answers()).collect();
    }
    told.longest = times.parts[0].max().unwrap_or(0);
    times.write(&file)?;
    Ok(serde_json::to_value(told)?)
}

/// One end of a channel, in a thread of its own.
struct ChannelEnd {
    plan: ServePlan,
    number: u64,
    parts: Vec<MixPart>,
    kinds: Rng,
    requests: AnyWork<'static>,
    answers: AnyWork<'static>,
    /// When the first request is sent, ticks.
    start: Receiver<u64>,
}

/// What goes into the thread of an end; the work stays in the thread that has made it.
struct Unattached {
    plan: ServePlan,
    number: u64,
    start: Receiver<u64>,
}

impl Unattached {
    fn attached(self) -> ChannelEnd {
        let Self { plan, number, start } = self;
        let requests = plan.work(number);
        ChannelEnd {
            parts: plan.parts(),
            kinds: Rng::from_seed(plan.job.seed ^ number.rotate_left(17)),
            answers: requests.reversed(),
            requests,
            plan,
            number,
            start,
        }
    }
}

impl ChannelEnd {
    /// Which kind of request is next, and the lengths of it and its answer.
    #[inline]
    fn next(&mut self) -> (usize, [usize; 2]) {
        let kind = pick(&self.parts, &mut self.kinds);
        let part = self.parts.get(kind).map_or([0; 2], |part| [part.request, part.reply]);
        (kind, part.map(|len| len as usize))
    }

    #[cold]
    fn failed(&self, fault: Fault, what: &str) -> Failure {
        match fault {
            Fault::Corrupt => wrong(what, self.number),
            other => other.into(),
        }
    }

    /// Asks, and waits for the answer.
    #[inline]
    fn exchange(
        &self,
        port: &mut dyn DynPort,
        [request, reply]: [usize; 2],
        number: u64,
    ) -> Result<(), Failure> {
        let sent = port.send(request, &mut |message| self.requests.fill(message, number));
        sent.and_then(|()| port.recv(reply, &mut |message| self.answers.check(message, number)))
            .map_err(|fault| self.failed(fault, "answer"))
    }
}

/// The server's end: how many requests it has answered.
fn answer(port: &mut dyn DynPort, mut end: ChannelEnd) -> Result<u64, Failure> {
    let mut labour = Labour::new(&end.plan, end.number);
    let mut served = 0;
    loop {
        let (_, [request, reply]) = end.next();
        let mut number = served;
        let taken = port.recv(request, &mut |message| {
            end.requests.check(message, served).or_else(|_| {
                number = served ^ LAST;
                end.requests.check(message, number)
            })
        });
        taken.map_err(|fault| end.failed(fault, "request"))?;
        let is_last = number != served;
        if !is_last {
            labour.work();
        }
        let sent = port.send(reply, &mut |message| end.answers.fill(message, number));
        let sent = sent.and_then(|()| port.flush());
        sent.map_err(|fault| end.failed(fault, "answer"))?;
        if is_last {
            return Ok(served);
        }
        served += 1;
    }
}

/// What was asked on one channel.
struct ChannelRequests {
    /// Requests of the warm-up and of the timed region, all of them answered.
    counts: [Counts; 2],
    /// Answers inside the timed region, whenever they were asked for.
    moved: u64,
    /// When the last answer came, ticks.
    last: u64,
    times: Histogram,
}

/// The client's end: asks, waits for the answer, and asks again.
fn demand(port: &mut dyn DynPort, mut end: ChannelEnd) -> Result<ChannelRequests, Failure> {
    let (clock, plan) = (end.plan.job.clock(), end.plan.clone());
    let share = plan.requests_until(end.number + 1) - plan.requests_until(end.number);
    let is_counted = plan.job.operations > 0;
    let start = end.start.recv().map_err(|_| "serve: the client got no start time".to_owned())?;
    let (begin, until) = (start + plan.job.warmup, start + plan.job.warmup + plan.job.slice);
    let think = plan.job.key.load.think_ns;
    let mut asked = ChannelRequests {
        counts: [0, 1].map(|_| Counts::of_kinds(end.parts.len())),
        moved: 0,
        last: 0,
        times: Histogram::new(),
    };
    let (mut number, mut timed) = (0, 0);
    loop {
        let sent = clock.start();
        let is_timed = sent >= begin;
        // Whom the scheduler kept away until all was over has one answer all the same.
        let is_over = if is_counted { timed >= share } else { sent >= until && timed > 0 };
        let (kind, lengths) = end.next();
        if is_timed && is_over {
            end.exchange(port, lengths, number ^ LAST)?;
            return Ok(asked);
        }
        end.exchange(port, lengths, number)?;
        let now = clock.stop();
        number += 1;
        let counts = &mut asked.counts[usize::from(is_timed)];
        counts.asked += 1;
        counts.answered[kind] += 1;
        asked.moved += u64::from(now >= begin && now < until);
        if is_timed {
            timed += 1;
            asked.last = now;
            asked.times.record(now.saturating_sub(sent));
        }
        if think > 0 {
            pause::sleep_ns(think);
        }
    }
}

/// What a thread says.
enum ThreadReport<T> {
    Attached(Vec<(String, KnobValue)>),
    Done(T),
}

/// A thread at each channel of a worker. One that fails ends the worker, and so do all that wait for it.
struct Threads<T> {
    said: Receiver<Result<ThreadReport<T>, Failure>>,
    go: Vec<Sender<u64>>,
    /// Knobs as granted.
    effective: Vec<(String, KnobValue)>,
}

impl<T: Send + 'static> Threads<T> {
    /// Attaches to all channels.
    fn start(
        registry: &Registry,
        ask: &Connected,
        seat: Seat,
        context: &mut WorkerContext<'_>,
        work: fn(&mut dyn DynPort, ChannelEnd) -> Result<T, Failure>,
    ) -> Result<Self, Failure> {
        let plan = &ask.plan;
        let entry = entry(registry, &plan.job.key.mechanism)?;
        let (say, said) = mpsc::channel();
        let mut threads = Self { said, go: Vec::new(), effective: Vec::new() };
        for number in ask.connections.clone() {
            let (wiring, say) = (context.wiring()?, say.clone());
            let (go, start) = mpsc::channel();
            let end = Unattached { plan: plan.clone(), number, start };
            let run = move || {
                let attached = attach(&end.plan.job, &entry, number, seat, wiring);
                let done = attached.and_then(|(mut port, granted)| {
                    let _ = say.send(Ok(ThreadReport::Attached(granted)));
                    let done = work(&mut *port, end.attached());
                    // Nothing more will come; the peer has gone, or goes by itself.
                    let _ = port.finish();
                    done
                });
                let _ = say.send(done.map(ThreadReport::Done));
            };
            let started = thread::Builder::new().spawn(run);
            started.map_err(|error| no_thread(threads.go.len() + 1, &error))?;
            threads.go.push(go);
        }
        for _ in 0..threads.go.len() {
            if let ThreadReport::Attached(granted) = threads.next()? {
                note(&mut threads.effective, granted);
            }
        }
        Ok(threads)
    }

    fn next(&self) -> Result<ThreadReport<T>, Failure> {
        self.said.recv().unwrap_or_else(|_| Err("a thread of serve ended".to_owned().into()))
    }

    /// Says when the first request is sent.
    fn go(&self, start: u64) {
        for thread in &self.go {
            let _ = thread.send(start);
        }
    }

    /// What all of them came to.
    fn done(&self) -> Result<Vec<T>, Failure> {
        let mut all = Vec::with_capacity(self.go.len());
        while all.len() < self.go.len() {
            if let ThreadReport::Done(one) = self.next()? {
                all.push(one);
            }
        }
        Ok(all)
    }
}

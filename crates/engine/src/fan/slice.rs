//! One slice of a fan, as the coordinator sees it.

use super::page::{CALLS, Page, ROWS};
use super::track::{Steady, Track, numbers, steady};
use super::{Ended, Order, Part, Phase, Ran, Said, TASK};
use crate::job::{Failure, FailureKind, Job, Names, Segment, SideReport};
use crate::registry::Entry;
use crate::slice::{Compact, Data, GRACE, Outcome, RawFan, RawSlice, Terms, Window, ended, rank};
use crate::task::{Answer, TaskError, WorkerHandle};
use ipcperf_core::result::Status;
use ipcperf_core::{KnobValue, Link, OptionSet, Seat, SetupError, Wiring};
use ipcperf_stats::Histogram;
use ipcperf_sys::control;
use ipcperf_sys::signals::Interrupts;
use std::os::fd::AsFd;
use std::time::Instant;

/// Passages of a warm-up, at most: each is up to eight times the one before.
const WARM_UPS: usize = 32;

/// Why a slice came to nothing.
enum Stop {
    Interrupted,
    Deadline,
    Failed(Failure),
}

impl<E: Into<Failure>> From<E> for Stop {
    fn from(error: E) -> Self {
        Self::Failed(error.into())
    }
}

impl From<TaskError> for Stop {
    fn from(error: TaskError) -> Self {
        match error {
            TaskError::Interrupted => Self::Interrupted,
            TaskError::Deadline(_) => Self::Deadline,
            TaskError::Failed(reason) => {
                Self::Failed(Failure { kind: FailureKind::Failed, reason })
            }
        }
    }
}

/// Runs one slice in fresh processes, one for each peer and one for the single end.
pub(crate) fn run(
    entry: &Entry,
    options: &OptionSet,
    terms: &Terms,
    interrupts: Option<&Interrupts>,
) -> Outcome {
    match attempt(entry, options, terms, interrupts) {
        Ok(slice) => Outcome::Measured(Box::new(slice)),
        Err(Stop::Interrupted) => Outcome::Interrupted,
        Err(Stop::Deadline) => {
            let reason = format!("not done after {} s", terms.deadline.as_secs());
            Outcome::Ended(Status::Deadline, FailureKind::Failed, reason)
        }
        Err(Stop::Failed(failure)) => ended(failure),
    }
}

/// All workers: the peers in their order, then the single end. Dropping it kills them.
struct Crowd<'a> {
    handles: Vec<(String, WorkerHandle<'a>)>,
    job: &'a Job,
    page: Page,
    deadline: Instant,
    interrupts: Option<&'a Interrupts>,
    /// Number of the next message of each producer.
    next: u64,
}

/// A phase and what all did in it.
struct Passage {
    phase: Phase,
    ran: Vec<Ran>,
}

fn attempt(
    entry: &Entry,
    options: &OptionSet,
    terms: &Terms,
    interrupts: Option<&Interrupts>,
) -> Result<RawSlice, Stop> {
    let job = &terms.job;
    let link = entry.open(&job.shape, options)?;
    // Kept until all workers are gone: whatever has a name is removed even if they were killed.
    let _guards = link.guards;
    let mut effective = link.effective;
    let link = Link { guards: Vec::new(), effective: Vec::new(), ..link };
    let spins = entry.spec.wait.burns_cpu();
    let mut crowd = Crowd::start(job, link, spins, terms, interrupts)?;
    for said in crowd.gather()? {
        let Said::Attached(granted) = said else { return Err(nonsense()) };
        note(&mut effective, granted);
    }
    let verified = crowd.passage(crowd.verification())?;
    let phase = crowd.warm_up()?;
    let passage = crowd.passage(phase)?;
    crowd.dismiss()?;
    let mut slice = crowd.raw(&passage)?;
    slice.effective = effective;
    slice.sides[0].verified = verified.phase.count * crowd.senders();
    Ok(slice)
}

fn note(effective: &mut Vec<(String, KnobValue)>, granted: Vec<(String, KnobValue)>) {
    for (knob, value) in granted {
        if !effective.iter().any(|(known, _)| *known == knob) {
            effective.push((knob, value));
        }
    }
}

fn nonsense() -> Stop {
    SetupError::Protocol("a worker of the fan said something else than was asked".into()).into()
}

impl<'a> Crowd<'a> {
    fn start(
        job: &'a Job,
        link: Link,
        spins: bool,
        terms: &Terms,
        interrupts: Option<&'a Interrupts>,
    ) -> Result<Self, Stop> {
        let peers = job.load.peers;
        let page = Page::create(peers)?;
        let deadline = Instant::now() + terms.deadline;
        let many = many(job);
        let Link { lead, follow, .. } = link;
        let (of_peers, of_one) =
            if many == Seat::Lead { (&lead, &follow) } else { (&follow, &lead) };
        let handle = |seat: Seat, wiring: &Wiring, number: u64| -> Result<WorkerHandle<'a>, Stop> {
            let cpu = job.cpus.get(seat.index()).copied();
            let names = Names { names: wiring.names.clone(), words: wiring.words.clone() };
            let job = Job { seat, cpu, ..job.clone() };
            let part = Part { job, names, number, spins };
            let mut fds = vec![page.fd()];
            fds.extend(wiring.fds.iter().map(AsFd::as_fd));
            // Peers differ in the layout of their stacks as rounds do.
            let pad = (terms.pads[seat.index()] + 528 * number as usize) % 4096;
            Ok(WorkerHandle::start(TASK, &part, &fds, pad, deadline, interrupts)?)
        };
        let [of_many, of_single] = match many {
            Seat::Lead => ["producer", "the consumer"],
            Seat::Follow => ["consumer", "the producer"],
        };
        let mut handles = Vec::new();
        for number in 0..peers {
            let name = format!("{of_many} {} of {peers}", number + 1);
            handles.push((name, handle(many, of_peers, number)?));
        }
        handles.push((of_single.to_owned(), handle(many.other(), of_one, 0)?));
        // The coordinator's descriptors go here, so that end-of-file works.
        drop((lead, follow));
        Ok(Self { handles, job, page, deadline, interrupts, next: 0 })
    }

    fn peers(&self) -> u64 {
        self.job.load.peers
    }

    fn fans_in(&self) -> bool {
        many(self.job) == Seat::Lead
    }

    /// Processes that send.
    fn senders(&self) -> u64 {
        if self.fans_in() { self.peers() } else { 1 }
    }

    /// One phase from the first order to the last report.
    fn passage(&mut self, phase: Phase) -> Result<Passage, Stop> {
        for (_, handle) in &self.handles {
            handle.go(&Order::Run(phase), &[])?;
        }
        let mut ran = Vec::new();
        for said in self.gather()? {
            let Said::Ran(report) = said else { return Err(nonsense()) };
            ran.push(*report);
        }
        self.next = phase.first + phase.count;
        let passage = Passage { phase, ran };
        passage.prove(self.fans_in(), self.senders())?;
        Ok(passage)
    }

    fn dismiss(&mut self) -> Result<(), Stop> {
        for (_, handle) in &self.handles {
            handle.go(&Order::End, &[])?;
        }
        for (_, handle) in &mut self.handles {
            let ended: Ended = handle.done()?;
            if let Some(failure) = ended {
                return Err(failure.into());
            }
        }
        Ok(())
    }

    /// What every worker says next, in their order.
    fn gather(&mut self) -> Result<Vec<Said>, Stop> {
        let mut said: Vec<Option<Said>> = self.handles.iter().map(|_| None).collect();
        let mut failures: Vec<Failure> = Vec::new();
        let mut gone = vec![false; said.len()];
        let mut deadline = self.deadline;
        loop {
            let awaited: Vec<usize> =
                (0..said.len()).filter(|at| said[*at].is_none() && !gone[*at]).collect();
            if awaited.is_empty() {
                break;
            }
            let mut fds: Vec<_> = awaited.iter().map(|at| self.handles[*at].1.fd()).collect();
            fds.extend(self.interrupts.map(Interrupts::fd));
            let ready = control::wait_any(&fds, deadline)?;
            if self.interrupts.is_some_and(Interrupts::arrived) {
                return Err(Stop::Interrupted);
            }
            let heard: Vec<usize> =
                awaited.iter().zip(ready).filter_map(|(at, ready)| ready.then_some(*at)).collect();
            if heard.is_empty() {
                // Whoever lost its peer may wait for ever; who explains it has spoken.
                break;
            }
            for at in heard {
                let (name, handle) = &mut self.handles[at];
                match answer(handle) {
                    Ok(word) => said[at] = Some(word),
                    Err(Stop::Failed(failure)) => {
                        let reason = match failure.kind {
                            FailureKind::Unavailable => failure.reason,
                            _ => format!("{name}: {}", failure.reason),
                        };
                        failures.push(Failure { reason, ..failure });
                        gone[at] = true;
                        deadline = deadline.min(Instant::now() + GRACE);
                    }
                    Err(stop) => return Err(stop),
                }
            }
        }
        if let Some(worst) = failures.into_iter().min_by_key(|failure| rank(failure.kind)) {
            return Err(Stop::Failed(worst));
        }
        said.into_iter().collect::<Option<_>>().ok_or(Stop::Deadline)
    }

    fn verification(&self) -> Phase {
        // Of a fan-out as many for each consumer, on average.
        let count = if self.fans_in() { 1 } else { self.peers() } * self.job.verify.max(1);
        Phase {
            is_verification: true,
            first: 0,
            count,
            every: 1,
            batch: 1 + count * self.senders() / ROWS,
        }
    }

    /// A phase of about `messages`, of which each takes `per_message` ticks.
    fn phase(&self, messages: f64, per_message: f64) -> Phase {
        let (senders, peers) = (self.senders(), self.peers());
        let count = (messages as u64).div_ceil(senders).max(1);
        let all = count * senders;
        // The clock may cost 1 %.
        let cheap = (100.0 * self.job.overhead as f64 / per_message).ceil() as u64;
        // Nobody gets more than its share in a fan-in; in a fan-out there is room for four times that.
        let timed = if self.fans_in() { CALLS } else { CALLS / 4 };
        // Odd, so as not to be in step with buffers, which hold powers of two.
        let every = (all / peers).div_ceil(timed).max(cheap) | 1;
        Phase {
            is_verification: false,
            first: self.next,
            count,
            every,
            batch: all.div_ceil(ROWS).max(cheap).max(1),
        }
    }

    /// Passages of growing length until the time for it is spent; returns the phase that will fill the slice.
    fn warm_up(&mut self) -> Result<Phase, Stop> {
        let (mut spent, mut wanted) = (0.0, 8.0 * self.peers() as f64);
        let mut per_message = f64::INFINITY;
        for _ in 0..WARM_UPS {
            let passage = self.passage(self.phase(wanted, per_message))?;
            let (took, moved) = (passage.span().max(1) as f64, passage.count(self.senders()));
            per_message = took / moved as f64;
            spent += took;
            let left = self.job.warmup as f64 - spent;
            if left <= 0.0 {
                break;
            }
            wanted = (left / per_message).clamp(self.peers() as f64, 8.0 * wanted);
        }
        let fitting = (self.job.slice as f64 / per_message).max(8.0 * self.peers() as f64);
        Ok(self.phase(fitting, per_message))
    }

    /// The timed phase as every slice tells it.
    fn raw(&self, passage: &Passage) -> Result<RawSlice, Stop> {
        let peers = self.handles.len() - 1;
        let (of_peers, of_one) = passage.ran.split_at(peers);
        let many = many(self.job);
        let (leads, follows) = match many {
            Seat::Lead => (of_peers, of_one),
            Seat::Follow => (of_one, of_peers),
        };
        let tracks: Vec<Track> = match (self.fans_in(), of_one) {
            (true, [one]) => {
                vec![Track::read(one.tally.begin, peers, self.page.rows_of_all(), &one.rows)]
            }
            _ => (0..)
                .zip(of_peers)
                .map(|(peer, ran)| Track::read(ran.tally.begin, 1, self.page.rows(peer), &ran.rows))
                .collect(),
        };
        let begin = passage.ran.iter().map(|ran| ran.met).max().unwrap_or(0);
        let end = leads.iter().map(|ran| ran.tally.end).min().unwrap_or(0);
        let Steady { ticks, messages, served } = steady(&tracks, begin, end);
        let mut calls = Histogram::new();
        for (peer, ran) in (0..).zip(of_peers) {
            for ticks in numbers(self.page.calls(peer), &ran.calls) {
                calls.record(ticks);
            }
        }
        let counts = [leads, follows].map(|side| Segment {
            sent: side.iter().map(|ran| ran.tally.sent).sum(),
            received: side.iter().map(|ran| ran.tally.received).sum(),
            lost: side.iter().map(|ran| ran.tally.lost).sum(),
            ..Segment::default()
        });
        let sides = [(leads, Seat::Lead), (follows, Seat::Follow)]
            .map(|(side, seat)| together(side, self.job.cpus.get(seat.index()).copied()));
        let data = Data::Fan(RawFan {
            window: Window { messages: messages.round() as u64, ticks },
            calls: Compact::from(&calls),
            served,
            pids: of_peers.iter().map(|ran| ran.side.pid).collect(),
        });
        Ok(RawSlice {
            batch: passage.phase.batch,
            operations: counts[1].received,
            elapsed: passage.span(),
            counts,
            sides,
            ..RawSlice::of(data)
        })
    }
}

/// The side of the many.
fn many(job: &Job) -> Seat {
    job.shape.pattern.crowd().unwrap_or(Seat::Lead)
}

fn answer(handle: &mut WorkerHandle<'_>) -> Result<Said, Stop> {
    match handle.answer()? {
        Answer::Ready(value) => Ok(serde_json::from_value(value).map_err(std::io::Error::other)?),
        Answer::Done(value) => {
            let ended: Ended = serde_json::from_value(value).map_err(std::io::Error::other)?;
            Err(ended.map_or_else(nonsense, Stop::Failed))
        }
        Answer::Failed(reason) => Err(TaskError::Failed(reason).into()),
    }
}

impl Passage {
    fn count(&self, senders: u64) -> u64 {
        self.phase.count * senders
    }

    /// From the first begin to the last end, ticks.
    fn span(&self) -> u64 {
        let begin = self.ran.iter().map(|ran| ran.tally.begin).min().unwrap_or(0);
        let end = self.ran.iter().map(|ran| ran.tally.end).max().unwrap_or(0);
        end.saturating_sub(begin)
    }

    /// That everything that was sent has come or is counted as lost, and nothing twice. The order was checked by the
    /// consumers, and in a fan-in the completeness of each producer too.
    fn prove(&self, fans_in: bool, senders: u64) -> Result<(), Failure> {
        let all = |part: fn(&Ran) -> u64| self.ran.iter().map(part).sum::<u64>();
        let (sent, received, lost) =
            (all(|ran| ran.tally.sent), all(|ran| ran.tally.received), all(|ran| ran.tally.lost));
        let wrong = |reason: String| Failure { kind: FailureKind::Invalid, reason };
        if sent != self.count(senders) || received + lost != sent {
            return Err(wrong(format!(
                "{sent} messages were sent, {received} arrived and {lost} were counted as lost"
            )));
        }
        let (mut sum, mut xor) = (0_u64, 0);
        for number in self.phase.first..self.phase.first + self.phase.count {
            sum = sum.wrapping_add(number);
            xor ^= number;
        }
        let got = self.ran.iter().fold((0_u64, 0), |(sum, xor), ran| {
            (sum.wrapping_add(ran.tally.sum), xor ^ ran.tally.xor)
        });
        if !fans_in && got != (sum, xor) {
            return Err(wrong("a message reached two consumers and another one none".into()));
        }
        Ok(())
    }
}

/// One side as a whole. Who was not on its CPU speaks for all.
fn together(side: &[Ran], cpu: Option<usize>) -> SideReport {
    let strays = |report: &SideReport| {
        cpu.is_some_and(|cpu| {
            report.cpu != cpu || report.allowed.as_deref().is_some_and(|allowed| allowed != [cpu])
        })
    };
    let reports = || side.iter().map(|ran| &ran.side);
    let speaker = reports().find(|report| strays(report)).or_else(|| reports().next());
    let sum = |part: fn(&SideReport) -> u64| reports().map(part).sum::<u64>();
    let known = |part: fn(&SideReport) -> Option<u64>| reports().map(part).sum::<Option<u64>>();
    SideReport {
        cpu_ns: sum(|report| report.cpu_ns),
        user_ns: sum(|report| report.user_ns),
        system_ns: sum(|report| report.system_ns),
        voluntary_switches: sum(|report| report.voluntary_switches),
        involuntary_switches: sum(|report| report.involuntary_switches),
        minor_faults: sum(|report| report.minor_faults),
        major_faults: sum(|report| report.major_faults),
        migrations: known(|report| report.migrations),
        run_delay_ns: known(|report| report.run_delay_ns),
        ipis: reports().find_map(|report| report.ipis),
        ..speaker.cloned().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hot::fan::Tally;

    fn passage(sent: &[u64], received: &[(u64, u64)]) -> Passage {
        let phase = Phase { is_verification: false, first: 10, count: 4, every: 1, batch: 1 };
        let ran = |tally| Ran { tally, ..Ran::default() };
        let mut all: Vec<Ran> =
            sent.iter().map(|sent| ran(Tally { sent: *sent, ..Tally::default() })).collect();
        for (sum, xor) in received {
            let (sum, xor) = (*sum, *xor);
            all.push(ran(Tally { received: 2, sum, xor, ..Tally::default() }));
        }
        Passage { phase, ran: all }
    }

    #[test]
    fn the_consumers_of_a_fan_out_must_have_every_message_once_together() {
        // 10, 13 and 11, 12; then 10, 12 and 11, 12.
        let good = passage(&[4], &[(23, 10 ^ 13), (23, 11 ^ 12)]);
        assert!(good.prove(false, 1).is_ok());
        let doubled = passage(&[4], &[(22, 10 ^ 12), (23, 11 ^ 12)]);
        let told = doubled.prove(false, 1).expect_err("13 is missing");
        assert_eq!(told.kind, FailureKind::Invalid);
        assert!(told.reason.contains("two consumers"), "{}", told.reason);
        let few = passage(&[4], &[(23, 10 ^ 13)]);
        assert!(few.prove(false, 1).is_err());
    }

    #[test]
    fn one_peer_on_a_wrong_cpu_speaks_for_its_side() {
        let on = |cpu| Ran {
            side: SideReport { cpu, cpu_ns: 5, migrations: Some(0), ..SideReport::default() },
            ..Ran::default()
        };
        let side = together(&[on(1), on(0), on(1)], Some(1));
        assert_eq!((side.cpu, side.cpu_ns, side.migrations), (0, 15, Some(0)));
        assert_eq!(together(&[on(1), on(1)], Some(1)).cpu, 1);
    }
}

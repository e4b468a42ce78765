//! One slice of a fan, as the coordinator sees it.

use super::feed;
use super::roles::Roles;
use super::tapes::{CALLS, ROWS, Tapes};
use super::track::{Steady, Track, behind, steady};
use super::{FanPart, Order, Phase, PhaseResult, Said, TASK, channel, pieces};
use crate::hot::Recorder;
use crate::hot::fan::{SHIFT, Tally};
use crate::job::{Failure, FailureKind, Job, Segment, SideReport, note};
use crate::offset::Offset;
use crate::page::Page;
use crate::protocol::Word;
use crate::registry::Entry;
use crate::slice::{Compact, Data, Gaps, RawFan, RawFeed, RawSlice, Terms, Window};
use crate::slice_length::{Expected, FEWEST, SliceLength};
use crate::supervisor::{Stop, Supervisor};
use ipcperf_core::{Link, OptionSet, Seat, SetupError};
use ipcperf_stats::Histogram;
use ipcperf_sys::procfs::Consumption;
use ipcperf_sys::signals::Interrupts;
use std::num::NonZeroU64;
use std::time::Instant;

/// Passages of a warm-up, at most: each is up to eight times the one before.
const WARM_UPS: usize = 32;

/// Timed passages where everything is as expected: each fills the buffers once more.
const TIMED: u32 = 2;

/// All workers: one side in its order, then the other ([`Roles::first`]).
struct Fan<'a> {
    workers: Supervisor<'a>,
    job: &'a Job,
    roles: Roles,
    pieces: NonZeroU64,
    page: Page,
    /// Number of the next message of each producer.
    next: u64,
}

/// A phase and what all did in it.
struct Passage {
    phase: Phase,
    ran: Vec<PhaseResult>,
}

/// What the timed passages came to.
#[derive(Default)]
struct FanTimes {
    data: RawFan,
    /// What leads and follows did, of all passages.
    ran: [Vec<PhaseResult>; 2],
    /// Of the last one.
    batch: u64,
    elapsed: u64,
    gaps: Gaps,
}

/// Runs one slice in fresh processes, one for each peer and one for the single end.
pub(crate) fn run(
    entry: &Entry,
    options: &OptionSet,
    terms: &Terms,
    interrupts: Option<&Interrupts>,
) -> Result<RawSlice, Stop> {
    let job = &terms.job;
    let mut links = open(entry, options, job)?;
    // Kept until all workers are gone: whatever has a name is removed even if they were killed.
    let _guards: Vec<_> =
        links.iter_mut().flat_map(|link| std::mem::take(&mut link.guards)).collect();
    let effective = links.first_mut().map(|link| std::mem::take(&mut link.effective));
    let mut effective = effective.unwrap_or_default();
    let mut fan = Fan::start(entry, job, links, terms, interrupts)?;
    for said in fan.gather()? {
        let Said::Attached(granted) = said else { return Err(nonsense()) };
        note(&mut effective, granted);
    }
    let verified = fan.passage(fan.verification())?;
    if fan.roles.is_feed() {
        let mut slice = fan.feed(&verified)?;
        slice.effective = effective;
        return Ok(slice);
    }
    let mut length = fan.warm_up()?;
    let mut timed = FanTimes::default();
    while let messages @ 1.. = length.next() {
        let passage = fan.passage(fan.phase(messages as f64, length.per_sample()))?;
        length.took(passage.count(fan.roles.producers), passage.span() as f64);
        // The next passage writes to the same tapes.
        fan.read(&passage, &mut timed);
    }
    fan.end()?;
    let mut slice = fan.raw(timed);
    slice.effective = effective;
    slice.stopped = fan.workers.stopped();
    slice.sides[0].verified = verified.phase.count * fan.roles.producers;
    Ok(slice)
}

/// The one object of all, or the channel of each consumer.
fn open(entry: &Entry, options: &OptionSet, job: &Job) -> Result<Vec<Link>, SetupError> {
    if Roles::of(&job.key).to_each() {
        if let Some(to_each) = entry.to_each {
            return Ok(vec![(to_each.open)(&job.shape, job.key.load.peers, options)?]);
        }
        let open = |consumer| entry.open(&channel(&job.shape, consumer), options);
        return (0..job.key.load.peers).map(open).collect();
    }
    Ok(vec![entry.open(&job.shape, options)?])
}

fn nonsense() -> Stop {
    "a worker of the fan said something else than was asked".to_owned().into()
}

impl<'a> Fan<'a> {
    fn start(
        entry: &Entry,
        job: &'a Job,
        links: Vec<Link>,
        terms: &Terms,
        interrupts: Option<&'a Interrupts>,
    ) -> Result<Self, Stop> {
        let roles = Roles::of(&job.key);
        let pieces = pieces(entry.spec, job.len);
        let part = |seat, number| {
            let spins = entry.spec.wait.burns_cpu();
            let job = Job { seat, cpu: job.cpu_of(seat), ..job.clone() };
            FanPart { job, number, pieces, spins }
        };
        let page = Page::create(roles.slots())?;
        page.reset(roles.all() as u32);
        let first = roles.first();
        let mut workers = Supervisor::new(Instant::now() + terms.deadline, interrupts);
        for seat in [first, first.other()] {
            let count = roles.on(seat);
            // One alone on its side of a fan has no number.
            let is_alone = roles.many() == Some(seat.other());
            let role = if seat == Seat::Lead { "producer" } else { "consumer" };
            for number in 0..count {
                let name = match is_alone {
                    true => format!("the {role}"),
                    false => format!("{role} {} of {count}", number + 1),
                };
                // Processes of a side differ in the layout of their stacks as rounds do.
                let pad = (terms.pads[seat.index()] + 528 * number as usize) % 4096;
                let who = workers.start(name, pad)?;
                workers.assign(who, TASK, &part(seat, number), &[page.fd()])?;
            }
        }
        let [of_first, of_all] = [roles.on(first), roles.all()].map(|at| at as usize);
        let has_own = roles.to_each() && links.len() == of_first;
        for (consumer, link) in links.into_iter().enumerate() {
            let [one, other] = match first {
                Seat::Lead => [link.lead, link.follow],
                Seat::Follow => [link.follow, link.lead],
            };
            workers.wire(if has_own { consumer..consumer + 1 } else { 0..of_first }, one)?;
            workers.wire(of_first..of_all, other)?;
        }
        Ok(Self { workers, job, roles, pieces, page, next: 0 })
    }

    /// All workers end.
    fn end(&mut self) -> Result<(), Stop> {
        self.order(Order::End)?;
        for word in self.workers.gather(&mut |_| ())? {
            word.done::<()>()?;
        }
        Ok(())
    }

    /// A feed, after what has verified it: the warm-up, the timed passages, and what verifies again. Between the two that
    /// verify the clocks must not have moved against each other.
    fn feed(&mut self, verified: &Passage) -> Result<RawSlice, Stop> {
        let interval = feed::interval(self.job)
            .ok_or_else(|| "a feed has a rate in messages per second".to_owned())?;
        let before = verified.offset()?;
        let warmup = (self.job.warmup as f64 / interval).clamp(1.0, feed::MOST as f64) as u64;
        self.passage(self.paced(warmup))?;
        let (mut data, mut ran) = (RawFeed::default(), [Vec::new(), Vec::new()]);
        let (mut gaps, mut elapsed) = (Gaps::default(), 0);
        for count in feed::passages(self.job.slice as f64, interval) {
            let passage = self.passage(self.paced(count))?;
            let times = self.times(&passage, before);
            data.add(&times, before.bound, &mut gaps);
            let last = times.read.iter().flatten().filter(|read| **read != Recorder::LOST).max();
            elapsed += last.map_or(0, |last| last.saturating_sub(times.begin));
            let (consumers, producer) = passage.ran.split_at(self.roles.peers() as usize);
            data.pids = consumers.iter().map(|ran| ran.side.pid).collect();
            ran[0].extend_from_slice(producer);
            ran[1].extend_from_slice(consumers);
        }
        let again = self.passage(self.verification())?;
        data.offsets = vec![before, again.offset()?];
        self.end()?;
        if let Some(reason) = data.objection() {
            return Err(Failure { kind: FailureKind::Unavailable, reason }.into());
        }
        let mut slice = RawSlice {
            operations: data.read.iter().sum(),
            elapsed,
            gaps,
            ..RawSlice::of(Data::Feed(Box::new(data)))
        };
        self.account(&mut slice, &ran);
        slice.stopped = self.workers.stopped();
        slice.sides[0].verified = verified.phase.count + again.phase.count;
        Ok(slice)
    }

    /// A passage of messages that are due at times of their own.
    fn paced(&self, count: u64) -> Phase {
        Phase {
            is_verification: false,
            first: self.next,
            count,
            every: 1,
            batch: 1,
            is_paced: true,
        }
    }

    /// When the messages of a passage, whose tapes lie in the page, were due, sent and read, by the producer's clock.
    fn times(&self, passage: &Passage, offset: Offset) -> feed::FeedTimes {
        let peers = self.roles.peers();
        let tapes = Tapes::new(&self.page, peers + 1);
        let Phase { first, count, .. } = passage.phase;
        let read = |(ran, peer): (&PhaseResult, u64)| {
            let steps = ran.calls.read(tapes.calls(peer));
            feed::moments(ran.tally.begin.wrapping_add_signed(-offset.ticks), &steps)
        };
        let all = || passage.ran.iter().zip(0..);
        let producer = all().nth(peers as usize);
        let begin = producer.map_or(0, |(ran, _)| ran.tally.begin);
        let steps = producer.map(|(ran, peer)| ran.calls.read(tapes.calls(peer)));
        feed::FeedTimes {
            due: feed::due(self.job, first, count).iter().map(|after| begin + after).collect(),
            sent: feed::moments(begin, &steps.unwrap_or_default()),
            read: all().take(peers as usize).map(read).collect(),
            begin,
        }
    }

    fn order(&self, order: Order) -> Result<(), Stop> {
        (0..self.roles.all() as usize).try_for_each(|who| Ok(self.workers.go(who, &order)?))
    }

    /// One phase from the first order to the last report.
    fn passage(&mut self, phase: Phase) -> Result<Passage, Stop> {
        self.order(Order::Run(phase))?;
        let mut ran = Vec::new();
        for said in self.gather()? {
            let Said::Ran(report) = said else { return Err(nonsense()) };
            ran.push(*report);
        }
        self.next = phase.first + phase.count;
        let passage = Passage { phase, ran };
        match self.roles.to_each() {
            true => passage.prove_each()?,
            false => {
                passage.prove(self.roles.fans_in(), self.roles.producers, self.pieces.get())?
            }
        }
        Ok(passage)
    }

    /// What every worker says next, in their order.
    fn gather(&mut self) -> Result<Vec<Said>, Stop> {
        let words = self.workers.gather(&mut |_| ())?;
        Ok(words.into_iter().map(Word::ready).collect::<Result<_, _>>()?)
    }

    fn verification(&self) -> Phase {
        // Where consumers share what comes, as many for each of them, on average.
        let Roles { producers: senders, consumers, .. } = self.roles;
        let for_all = if self.roles.to_each() { 1 } else { consumers.div_ceil(senders) };
        let count = for_all * self.job.verify.max(1);
        Phase {
            is_verification: true,
            first: 0,
            count,
            every: 1,
            batch: 1 + count * self.roles.producers / ROWS,
            is_paced: false,
        }
    }

    /// A phase of about `messages`, of which each takes `per_message` ticks.
    fn phase(&self, messages: f64, per_message: f64) -> Phase {
        let (senders, peers) = (self.roles.producers, self.roles.peers());
        let count = (messages as u64).div_ceil(senders).max(1);
        let all = count * senders;
        // The clock may cost 1 %.
        let cheap = (100.0 * self.job.overhead as f64 / per_message).ceil() as u64;
        // A producer sends its share, and a consumer of a broadcast gets all; in a fan-out there is room for four times a share.
        let is_known = self.roles.notes_producers() || self.roles.to_each();
        let timed = if is_known { CALLS } else { CALLS / 4 };
        let each = if self.roles.to_each() { all } else { all / peers };
        // Odd, so as not to be in step with buffers, which hold powers of two.
        let every = each.div_ceil(timed).max(cheap) | 1;
        Phase {
            is_verification: false,
            first: self.next,
            count,
            every,
            batch: all.div_ceil(ROWS).max(cheap).max(1),
            is_paced: false,
        }
    }

    /// Passages of growing length until the time for it is spent; returns how to fill the slice.
    fn warm_up(&mut self) -> Result<SliceLength, Stop> {
        // In a broadcast each of them gets every message.
        let shares = if self.roles.to_each() { 1 } else { self.roles.sharing() };
        let (mut spent, mut wanted) = (0.0, (FEWEST * shares) as f64);
        let mut expected = Expected::default();
        for _ in 0..WARM_UPS {
            let passage = self.passage(self.phase(wanted, expected.per_operation))?;
            let took = passage.span().max(1);
            expected.add(passage.count(self.roles.producers), took, 0);
            spent += took as f64;
            let left = self.job.warmup as f64 - spent;
            if left <= 0.0 {
                break;
            }
            wanted = (left / expected.per_operation).clamp(shares as f64, 8.0 * wanted);
        }
        let fewest = FEWEST * shares;
        Ok(SliceLength::of_time(self.job.slice, expected.per_operation, fewest, TIMED))
    }

    /// Adds a timed passage, whose tapes lie in the page.
    fn read(&self, passage: &Passage, timed: &mut FanTimes) {
        let tapes = Tapes::new(&self.page, self.roles.peers());
        let peers = self.roles.peers() as usize;
        let (leads, follows) = passage.sides(self.roles);
        let of_peers = if self.roles.notes_producers() { leads } else { follows };
        let of_all = self.roles.notes_producers();
        let track = |(number, ran): (u64, &PhaseResult)| match of_all {
            true => Track::read(ran.tally.begin, peers, tapes.rows_of_all(number), &ran.rows),
            false => Track::read(ran.tally.begin, 1, tapes.rows(number), &ran.rows),
        };
        let tracks: Vec<Track> = (0..).zip(follows).map(track).collect();
        // Who misses messages is never behind.
        let drops = of_peers.iter().any(|ran| ran.tally.lost > 0);
        if let (true, false, [one]) = (self.roles.to_each(), drops, leads) {
            let sent = Track::read(one.tally.begin, 1, tapes.rows_of_all(0), &one.rows);
            timed.data.behind.extend(tracks.iter().flat_map(|track| behind(&sent, track)));
        }
        timed.gaps.add_beside(&tracks.iter().map(Track::gaps).collect::<Vec<_>>());
        let begin = passage.ran.iter().map(|ran| ran.met).max().unwrap_or(0);
        let end = leads.iter().map(|ran| ran.tally.end).min().unwrap_or(0);
        let Steady { ticks, messages, served } = steady(&tracks, begin, end);
        let mut calls = Histogram::from(&timed.data.calls);
        for (peer, ran) in (0..).zip(of_peers) {
            for ticks in ran.calls.read(tapes.calls(peer)) {
                calls.record(ticks);
            }
        }
        timed.elapsed += passage.span();
        timed.batch = passage.phase.batch;
        let data = &mut timed.data;
        data.calls = Compact::from(&calls);
        data.pids = of_peers.iter().map(|ran| ran.side.pid).collect();
        let pieces = self.pieces.get() as f64;
        let window = Window { messages: (messages / pieces).round() as u64, ticks };
        if self.roles.is_grid() {
            // Of each consumer what it took of each producer.
            let sum_of =
                |column: usize| -> f64 { served.chunks(peers).map(|row| row[column]).sum() };
            let of_producers = (0..peers).filter(|_| !served.is_empty()).map(sum_of);
            let of_producers = of_producers.map(|count| count / pieces).collect();
            data.add(window, of_producers);
            let taken = served.chunks(peers).map(|row| row.iter().sum::<f64>() / pieces);
            add(&mut data.taken, taken.collect());
        } else {
            data.add(window, served);
        }
        if self.pieces.get() > 1 {
            let (mut arrived, mut all) = data.arrived.unwrap_or_default();
            for ran in follows {
                arrived.whole += ran.tally.arrived.whole;
                arrived.mixed += ran.tally.arrived.mixed;
            }
            all += passage.count(self.roles.producers);
            data.arrived = Some((arrived, all));
        }
        for (all, ran) in timed.ran.iter_mut().zip([leads, follows]) {
            all.extend_from_slice(ran);
        }
    }

    /// The timed passages as every slice tells it.
    fn raw(&self, timed: FanTimes) -> RawSlice {
        let FanTimes { data, ran, batch, elapsed, gaps } = timed;
        let mut slice = RawSlice { batch, elapsed, gaps, ..RawSlice::of(Data::Fan(data)) };
        self.account(&mut slice, &ran);
        slice.operations = slice.counts[1].received;
        slice
    }

    /// What leads and follows counted and consumed in all timed passages.
    fn account(&self, slice: &mut RawSlice, ran: &[Vec<PhaseResult>; 2]) {
        let pieces = self.pieces.get();
        slice.counts = ran.each_ref().map(|side| Segment {
            sent: side.iter().map(|ran| ran.tally.sent).sum::<u64>() / pieces,
            received: side.iter().map(|ran| ran.tally.received).sum::<u64>() / pieces,
            lost: side.iter().map(|ran| ran.tally.lost).sum(),
            ..Segment::default()
        });
        let [leads, follows] = ran;
        slice.sides = [(leads, Seat::Lead), (follows, Seat::Follow)].map(|(side, seat)| {
            let cpu = self.job.cpu_of(seat);
            together(side.iter().map(|ran| (&ran.side, cpu)))
        });
    }
}

impl RawFan {
    /// Adds a passage. One in which the first was done too soon says nothing of shares.
    fn add(&mut self, window: Window, served: Vec<f64>) {
        self.window.messages += window.messages;
        self.window.ticks += window.ticks;
        add(&mut self.served, served);
    }
}

fn add(sums: &mut Vec<f64>, more: Vec<f64>) {
    if sums.is_empty() {
        *sums = more;
    } else {
        sums.iter_mut().zip(more).for_each(|(sum, more)| *sum += more);
    }
}

impl Passage {
    /// What leads did, and what follows did.
    fn sides(&self, roles: Roles) -> (&[PhaseResult], &[PhaseResult]) {
        let first = roles.first();
        let of_first = roles.on(first) as usize;
        let (one, other) = self.ran.split_at(of_first.min(self.ran.len()));
        if first == Seat::Lead { (one, other) } else { (other, one) }
    }

    /// The difference of the clocks that a passage that verifies has found.
    fn offset(&self) -> Result<Offset, Failure> {
        let found = self.ran.last().and_then(|producer| producer.offset);
        found.ok_or_else(|| Failure {
            kind: FailureKind::Unavailable,
            reason: "the clock is not the CPU's counter; only counters of two CPUs can be compared"
                .into(),
        })
    }

    fn count(&self, senders: u64) -> u64 {
        self.phase.count * senders
    }

    /// From the first begin to the last end, ticks.
    fn span(&self) -> u64 {
        let begin = self.ran.iter().map(|ran| ran.tally.begin).min().unwrap_or(0);
        let end = self.ran.iter().map(|ran| ran.tally.end).max().unwrap_or(0);
        end.saturating_sub(begin)
    }

    /// That each consumer of a broadcast got every message, or knows how many it missed. Their order was checked there.
    fn prove_each(&self) -> Result<(), Failure> {
        let numbers = || self.phase.first..self.phase.first + self.phase.count;
        let sum = numbers().fold(0_u64, u64::wrapping_add);
        let xor = numbers().fold(0, |xor, number| xor ^ number);
        let all = [self.phase.count, sum, xor];
        let (consumers, producer) = match self.ran.split_last() {
            Some((producer, consumers)) => (consumers, producer),
            None => return Ok(()),
        };
        let got = |ran: &PhaseResult| [ran.tally.received, ran.tally.sum, ran.tally.xor];
        let is_told = |ran: &PhaseResult| {
            let Tally { received, lost, .. } = ran.tally;
            lost > 0 && received > 0 && received + lost == self.phase.count
        };
        let lacking = consumers.iter().position(|ran| got(ran) != all && !is_told(ran));
        let reason = match lacking {
            Some(at) => format!("consumer {} did not get every message once", at + 1),
            None if producer.tally.sent != self.phase.count * consumers.len() as u64 => {
                format!(
                    "{} messages were sent to {} consumers",
                    producer.tally.sent,
                    consumers.len()
                )
            }
            None => return Ok(()),
        };
        Err(Failure { kind: FailureKind::Invalid, reason })
    }

    /// That everything that was sent has come or is counted as lost, and nothing twice. The order was checked by the
    /// consumers, and in a fan-in the completeness of each producer too.
    fn prove(&self, fans_in: bool, senders: u64, pieces: u64) -> Result<(), Failure> {
        let all = |part: fn(&PhaseResult) -> u64| self.ran.iter().map(part).sum::<u64>();
        let (sent, received, lost) =
            (all(|ran| ran.tally.sent), all(|ran| ran.tally.received), all(|ran| ran.tally.lost));
        let wrong = |reason: String| Failure { kind: FailureKind::Invalid, reason };
        if sent != self.count(senders) * pieces || received + lost != sent {
            return Err(wrong(format!(
                "{sent} messages were sent, {received} arrived and {lost} were counted as lost"
            )));
        }
        let (mut sum, mut xor) = (0_u64, 0);
        let own = self.phase.first * pieces..(self.phase.first + self.phase.count) * pieces;
        for number in
            (0..senders).flat_map(|sender| own.clone().map(move |own| sender << SHIFT | own))
        {
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

/// The report of a side that is several processes, each with the CPU that it was put on. If one of them was not on its CPU,
/// the side was not.
pub(crate) fn together<'a>(
    side: impl Iterator<Item = (&'a SideReport, Option<usize>)> + Clone,
) -> SideReport {
    let strays = |(report, cpu): &(&SideReport, Option<usize>)| {
        cpu.is_some_and(|cpu| {
            report.cpu != cpu || report.allowed.as_deref().is_some_and(|allowed| allowed != [cpu])
        })
    };
    let reports = || side.clone().map(|(report, _)| report);
    let speaker = side.clone().find(strays).map(|(report, _)| report).or_else(|| reports().next());
    let known = |part: fn(&SideReport) -> Option<u64>| reports().map(part).sum::<Option<u64>>();
    SideReport {
        spent: reports().fold(Consumption::default(), |sum, report| sum.plus(&report.spent)),
        migrations: known(|report| report.migrations),
        run_delay_ns: known(|report| report.run_delay_ns),
        tracer: reports().find_map(|report| report.tracer),
        // The single end alone knows.
        ipis: reports().filter_map(|report| report.ipis).reduce(|sum, more| sum + more),
        ..speaker.cloned().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hot::fan::Tally;

    fn passage(sent: &[u64], received: &[(u64, u64)]) -> Passage {
        let phase = Phase {
            is_verification: false,
            first: 10,
            count: 4,
            every: 1,
            batch: 1,
            is_paced: false,
        };
        let ran = |tally| PhaseResult { tally, ..PhaseResult::default() };
        let mut all: Vec<PhaseResult> =
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
        assert!(good.prove(false, 1, 1).is_ok());
        let doubled = passage(&[4], &[(22, 10 ^ 12), (23, 11 ^ 12)]);
        let refused = doubled.prove(false, 1, 1).expect_err("13 is missing");
        assert_eq!(refused.kind, FailureKind::Invalid);
        assert!(refused.reason.contains("two consumers"), "{}", refused.reason);
        let few = passage(&[4], &[(23, 10 ^ 13)]);
        assert!(few.prove(false, 1, 1).is_err());
    }

    #[test]
    fn every_consumer_of_a_broadcast_must_have_every_message() {
        // 10 to 13 have the sum 46 and the exclusive or 0.
        let told = |sent, consumers: [(u64, u64, u64); 2]| {
            let phase = Phase {
                is_verification: false,
                first: 10,
                count: 4,
                every: 1,
                batch: 1,
                is_paced: false,
            };
            let of = consumers.map(|(received, sum, xor)| Tally {
                received,
                sum,
                xor,
                ..Tally::default()
            });
            let all = of.into_iter().chain([Tally { sent, ..Tally::default() }]);
            let ran = all.map(|tally| PhaseResult { tally, ..PhaseResult::default() }).collect();
            Passage { phase, ran }.prove_each().err().map(|failure| failure.reason)
        };
        assert_eq!(told(8, [(4, 46, 0); 2]), None);
        let lacks = "consumer 2 did not get every message once";
        assert_eq!(told(8, [(4, 46, 0), (3, 33, 0)]).as_deref(), Some(lacks));
        // One twice, another not at all.
        assert_eq!(told(8, [(4, 46, 0), (4, 45, 1)]).as_deref(), Some(lacks));
        assert!(told(7, [(4, 46, 0); 2]).is_some_and(|reason| reason.starts_with("7 messages")));
    }

    #[test]
    fn passages_add_up_and_one_that_was_too_short_says_nothing_of_shares() {
        let mut data = RawFan::default();
        let window = |messages, ticks| Window { messages, ticks };
        data.add(window(10, 100), Vec::new());
        data.add(window(20, 300), vec![15.0, 5.0]);
        data.add(window(20, 200), vec![5.0, 15.0]);
        data.add(window(1, 10), Vec::new());
        assert_eq!((data.window, data.served), (window(51, 610), vec![20.0, 20.0]));
        let known = |ipis| PhaseResult {
            side: SideReport { ipis, ..SideReport::default() },
            ..PhaseResult::default()
        };
        let ipis = |side: &[PhaseResult]| together(side.iter().map(|ran| (&ran.side, None))).ipis;
        assert_eq!(ipis(&[known(Some(3)), known(Some(4))]), Some(7));
        assert_eq!(ipis(&[known(None)]), None);
    }

    #[test]
    fn one_peer_on_a_wrong_cpu_speaks_for_its_side() {
        let on = |cpu| PhaseResult {
            side: SideReport {
                cpu,
                spent: Consumption { cpu_ns: 5, ..Consumption::default() },
                migrations: Some(0),
                ..SideReport::default()
            },
            ..PhaseResult::default()
        };
        let of = |side: [PhaseResult; 3]| together(side.iter().map(|ran| (&ran.side, Some(1))));
        let side = of([on(1), on(0), on(1)]);
        assert_eq!((side.cpu, side.spent.cpu_ns, side.migrations), (0, 15, Some(0)));
        assert_eq!(of([on(1), on(1), on(1)]).cpu, 1);
    }
}

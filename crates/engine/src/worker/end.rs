//! One end of a slice at work: its segments, and the decisions both ends share.

use super::runner::{Pass, Runner};
use crate::arrivals;
use crate::hot::{Pace, Plan, Recorder, Tally};
use crate::job::{Failure, FailureKind, Job, Segment};
use crate::page::{self, Page, WAYS};
use crate::slice_length::{self, Expected, FEWEST, Settling, SliceLength};
use ipcperf_core::units::counted;
use ipcperf_core::{Exchange, Fault, Missing, Offered, Rated, Seat, SetupError};
use ipcperf_stats::Rng;
use ipcperf_sys::clock::Clock;
use ipcperf_sys::meter::{Meter, Span};
use std::sync::atomic::{AtomicU32, Ordering};

/// The longest closed loop that finds the peak of an open one.
const PEAK_NS: f64 = 200e6;

/// The longest warm-up of a program: a runtime that compiles while it runs takes that long at times.
const SETTLED_NS: f64 = 2e9;

/// Segments of a timed region in which everything is as expected. Each costs a passing of the gate, about 50 us where both
/// ends sleep.
const OF_OPERATIONS: u32 = 4;

/// The same of a stream, in which the buffers are filled once more for each and what drains out of them does not count.
const OF_STREAM: u32 = 2;

/// So many samples are enough to cut the window of a stream at both ends.
const MOST_SAMPLES: u64 = 4096;

/// One end of one slice at work.
pub(super) struct End<'a> {
    pub(super) runner: &'a mut dyn Runner,
    pub(super) job: &'a Job,
    pub(super) page: &'a Page,
    clock: Clock,
    slots: &'a [AtomicU32],
    pub(super) recorder: Recorder<'a>,
    /// Samples in the slots of which the coordinator was not told yet.
    used: u64,
    /// Sequence number of the next message; both ends count alike.
    pub(super) next: u64,
    /// Decisions taken so far.
    agreements: u64,
    pub(super) meter: Meter,
    /// The machine in the timed segments; lead only.
    pub(super) machine: Span,
    /// When the round trips of the next segment begin.
    pace: Pace<'static>,
    /// Open loop: when its messages are due.
    pub(super) schedule: Vec<u64>,
}

impl<'a> End<'a> {
    /// Before its first segment.
    pub(super) fn new(
        runner: &'a mut dyn Runner,
        job: &'a Job,
        page: &'a Page,
        clock: Clock,
    ) -> Self {
        let [short, ..] = page.ways();
        let slots = if job.key.load.one_way { short } else { page.slots() };
        Self {
            runner,
            job,
            page,
            clock,
            slots,
            recorder: Recorder::new(slots),
            used: 0,
            next: 1,
            agreements: 0,
            meter: if job.seat == Seat::Lead { Meter::find() } else { Meter::default() },
            machine: Span::default(),
            pace: Pace::default(),
            schedule: Vec::new(),
        }
    }

    /// Samples of `batch` operations that fit the slots.
    fn capacity(&self, pass: Pass, batch: u64) -> u64 {
        let all = self.slots.len() as u64 / self.runner.form(pass).slots;
        let ways = if self.job.key.load.one_way { WAYS as u64 / batch.max(1) } else { all };
        all.min(ways)
    }

    /// Samples of `batch` operations that fit one segment, beside those that lead in.
    pub(super) fn room(&self, pass: Pass, batch: u64) -> u64 {
        let lead_in = self.runner.form(pass).lead_in;
        self.capacity(pass, batch).saturating_sub(lead_in).max(1)
    }

    /// Samples of a timed segment that do not count: none where the first bytes are what is asked for.
    pub(super) fn lead_in(&self) -> u64 {
        if self.job.key.load.fresh > 0 { 0 } else { self.runner.form(Pass::Timed).lead_in }
    }

    /// Whether a timed segment of so many samples fits behind those that are there.
    pub(super) fn has_room(&self, samples: u64, batch: u64) -> bool {
        self.used == 0 || self.used + samples <= self.capacity(Pass::Timed, batch)
    }

    /// Whether the samples that were asked for fit the slots, where they are not emptied meanwhile.
    pub(super) fn fits(&self, is_one_of_several: bool) -> Result<(), Failure> {
        let room = self.room(Pass::Timed, 1);
        if !is_one_of_several || self.job.operations <= room {
            return Ok(());
        }
        let what = format!("each of several channels keeps {room} samples at the most");
        Err(SetupError::from(Missing::new(what, format!("--samples {room}, or --slice"))).into())
    }

    /// From now on the slots are empty.
    pub(super) fn forget(&mut self) {
        self.used = 0;
    }

    /// Turns to the slots behind those that are used and makes what a timed segment writes resident; returns the first of
    /// them.
    pub(super) fn turn_to(&mut self, samples: u64) -> u64 {
        let slots = self.runner.form(Pass::Timed).slots;
        let at = self.used * slots;
        let free = usize::try_from(at).ok().and_then(|at| self.slots.get(at..));
        self.recorder = Recorder::new(free.unwrap_or_default());
        self.used += samples;
        self.recorder.touch(samples * slots);
        if self.job.key.load.one_way {
            let [_, left, arrived] = self.page.ways();
            page::touch(left);
            page::touch(arrived);
        }
        at
    }

    /// What the samples of a segment took that count, ticks. Of requests that are under way together by their share, or
    /// else all but those that lead in: where an end was put off its CPU, one of these is longer than all others.
    pub(super) fn took(&self, segment: &Segment) -> f64 {
        let all = segment.end.saturating_sub(segment.begin);
        if self.job.key.pattern.facts().rate == Some(Rated::Answered) {
            let counted = segment.samples.saturating_sub(segment.lead_in);
            return all as f64 * counted as f64 / segment.samples.max(1) as f64;
        }
        let at = usize::try_from(segment.at).unwrap_or(usize::MAX);
        let ticks = |(index, slot)| {
            let spill = segment.spills.iter().find(|spill| spill.index == index);
            let ticks = spill.map_or_else(|| Recorder::read(slot), |spill| spill.ticks);
            if ticks == Recorder::LOST { 0 } else { ticks }
        };
        let lead_in: u64 = (0..segment.lead_in).zip(self.slots.iter().skip(at)).map(ticks).sum();
        all.saturating_sub(lead_in) as f64
    }

    pub(super) fn leads(&self) -> bool {
        self.job.seat == Seat::Lead
    }

    /// Runs one segment; both ends have agreed on `samples` and `batch`.
    pub(super) fn segment(
        &mut self,
        pass: Pass,
        samples: u64,
        batch: u64,
    ) -> Result<Tally, Failure> {
        let (len, pattern) = (self.job.len, self.job.key.pattern);
        let [sent, _] = self.page.progress(Seat::Lead);
        let plan = Plan {
            len,
            answer: self.job.key.load.answer(pattern, len),
            samples,
            batch,
            first: self.next,
            window: self.job.window,
            burst: self.job.key.load.burst.max(1),
            pace: Pace { due: &self.schedule, ..self.pace },
            sent: Some(sent),
        };
        self.recorder.rewind();
        let ran = self.runner.run(pass, self.job.seat, self.clock, plan, &mut self.recorder);
        let mut tally = ran.map_err(|fault| self.failed(fault, plan))?;
        if self.job.program.is_some() {
            // What a program has answered is counted at its end once the lead has proved it.
            self.page.gate().meet();
        }
        if pattern.facts().exchange == Exchange::OneWay {
            // The answers to bursts are credits, too, and not counted.
            match self.job.seat {
                Seat::Lead => tally = Tally { received: 0, lost: 0, ..tally },
                Seat::Follow => tally.sent = 0,
            }
        }
        self.next += plan.operations() + self.runner.form(pass).extra;
        Ok(tally)
    }

    /// Why a segment came to nothing. Of a program's answers the wrong one is named.
    fn failed(&self, fault: Fault, plan: Plan<'_>) -> Failure {
        let Some(program) = self.job.program.as_ref().filter(|_| self.leads()) else {
            return fault.into();
        };
        let first = (plan.first - 1) / plan.burst + self.recorder.len() * plan.batch + 1;
        let [_, reached] = self.page.progress(Seat::Lead);
        let is_wrong = matches!(fault, Fault::Corrupt | Fault::Truncated);
        reached.store(if is_wrong { first | page::WRONG } else { first }, Ordering::Release);
        let answer = match plan.batch {
            1 => format!("answer {first}"),
            batch => format!("one of answers {first} to {}", first + batch - 1),
        };
        let reason = match fault {
            Fault::Corrupt => format!(
                "{answer} is wrong: it is not the message with its first {} complemented",
                counted(program.flip.min(plan.answer) as u64, "byte")
            ),
            Fault::Truncated => format!(
                "{answer} is wrong: it has another length than {}",
                counted(plan.answer as u64, "byte")
            ),
            Fault::Closed | Fault::PeerDied => {
                format!("{answer} did not come: the program has closed its end")
            }
            other => format!("{answer} did not come: {}", Failure::from(other).reason),
        };
        // A wrong answer is the fault of the program, and no doubt about what was measured over the mechanism.
        let kind = match Failure::from(fault).kind {
            FailureKind::Invalid => FailureKind::Failed,
            kind => kind,
        };
        Failure { kind, reason }
    }

    /// Ticks of a time in nanoseconds.
    pub(super) fn ticks(&self, nanos: f64) -> f64 {
        nanos / self.job.ns_per_tick
    }

    /// The lead decides on samples and operations per sample; both get its decision.
    pub(super) fn agree(&mut self, samples: u64, batch: u64) -> (u64, u64) {
        self.agree_with(Seat::Lead, samples, batch)
    }

    /// The same with a decision of this end.
    fn agree_with(&mut self, seat: Seat, samples: u64, batch: u64) -> (u64, u64) {
        let mine = (self.job.seat == seat).then_some([samples, batch]);
        let [samples, batch] = self.page.agree(self.agreements, mine);
        self.agreements += 1;
        (samples, batch)
    }

    /// The end that times decides how the timed region goes on; both get the decision. It takes no more than the passing of
    /// the gate that ends a segment.
    pub(super) fn go_on(&mut self, samples: u64) -> u64 {
        self.agree_with(self.job.key.pattern.facts().timed_by, samples, 0).0
    }

    /// Runs growing segments until the warm-up is over; returns what an operation takes. Only the lead knows.
    pub(super) fn warm_up(&mut self) -> Result<Expected, Failure> {
        let (mut spent, mut done, mut wanted) = (0, 0, 1);
        let mut expected = Expected::default();
        let mut settling = Settling::new(self.job.warmup, self.ticks(SETTLED_NS) as u64);
        let first = self.clock.start();
        loop {
            let (samples, batch) = self.agree(wanted, 1);
            if samples == 0 {
                return Ok(expected);
            }
            let begin = self.clock.start();
            self.segment(Pass::Eager, samples, batch)?;
            self.page.gate().meet();
            let elapsed = (self.clock.stop() - begin).max(1);
            if self.leads() {
                spent += elapsed;
                expected.add(samples, elapsed, self.recorder.median());
                done += samples;
                let next = match self.job.warmup_operations {
                    0 if self.job.program.is_some() => {
                        expected = Expected::of(samples, elapsed, self.recorder.median());
                        settling.next(samples, elapsed, self.clock.stop() - first)
                    }
                    0 => expected.next(self.job.warmup, spent, samples),
                    all => slice_length::counted(all, done, samples),
                };
                wanted = next.min(self.room(Pass::Eager, 1));
            }
        }
    }

    /// Ticks of a round trip in a closed loop, which is what an open loop can offer at most: mean, over a time that
    /// smooths what is sudden.
    pub(super) fn peak(&mut self, per_operation: f64) -> Result<f64, Failure> {
        let time =
            (self.job.slice as f64 / 5.0).min(self.ticks(PEAK_NS)).max(self.job.warmup as f64);
        let wanted = ((time / per_operation) as u64).clamp(1, self.room(Pass::Eager, 1));
        let (samples, batch) = self.agree(wanted, 1);
        let tally = self.segment(Pass::Eager, samples, batch)?;
        self.page.gate().meet();
        Ok((tally.end - tally.begin).max(1) as f64 / samples as f64)
    }

    /// Ticks from one operation of the timed region to the next, as asked for, and as it will be: an open loop that asks
    /// for more than the peak gets the peak.
    pub(super) fn intervals(&self, per_operation: f64) -> (f64, f64) {
        match self.job.key.load.rate {
            Some(Offered::PerSecond(rate)) => {
                let asked = self.ticks(1e9 / rate);
                (asked, asked.max(per_operation))
            }
            Some(Offered::OfPeak(share)) => {
                let asked = per_operation / share;
                (asked, asked.max(per_operation))
            }
            None => {
                let asked = per_operation + self.ticks(self.job.key.load.think_ns as f64);
                (asked, asked)
            }
        }
    }

    /// How the timed region goes, in which operations take `interval` and one of the warm-up took `median`, and the
    /// operations of a sample.
    pub(super) fn decide(&self, interval: f64, median: u64) -> (SliceLength, u64) {
        if self.job.operations > 0 {
            return (SliceLength::of_samples(self.job.operations), self.job.batch.max(1));
        }
        let operations = (self.job.slice as f64 / interval).ceil().max(1.0) as u64;
        let overhead = self.job.overhead.max(1);
        let load = &self.job.key.load;
        let facts = self.job.key.pattern.facts();
        if load.fresh > 0 {
            let messages = load.fresh.div_ceil(self.job.key.size_bytes.max(1));
            let batch = (messages / MOST_SAMPLES).max(1);
            return (SliceLength::of_samples(messages.div_ceil(batch).max(FEWEST)), batch);
        }
        if facts.is_open || load.think_ns > 0 || load.stall_ns > 0 {
            // A pause is seen in single operations only. As many as fit: pauses may be long, and a message that has a
            // time keeps it. A stop comes after a share of them.
            let fewest = if facts.is_open || load.think_ns > 0 { 1 } else { FEWEST };
            return (SliceLength::of_samples(operations.max(fewest)), 1);
        }
        let batch = if facts.timed_by == Seat::Follow {
            // The clock may cost 1 %, and some thousand samples are enough to cut the window at both ends.
            let cheap = (100.0 * overhead as f64 / interval).ceil() as u64;
            cheap.max(operations / MOST_SAMPLES).max(1)
        } else if !facts.is_batched {
            1
        } else {
            match self.job.batch {
                0 => slice_length::batch(median, overhead),
                given => given,
            }
        };
        let (segments, batch) = if load.channels > 0 {
            // Others do not pause meanwhile, and twice as many as expected have to fit.
            (1, batch.max((2 * operations).div_ceil(self.room(Pass::Timed, 1))))
        } else if facts.timed_by == Seat::Follow {
            (OF_STREAM, batch)
        } else {
            (OF_OPERATIONS, batch)
        };
        (SliceLength::of_time(self.job.slice, interval * batch as f64, FEWEST, segments), batch)
    }

    /// Fixes when the round trips of the next segment begin; both ends know the longest silence.
    pub(super) fn pace(&mut self, samples: u64, asked: f64, rng: &mut Rng) {
        let job = self.job;
        if let Some(arrivals) = job.key.load.arrivals {
            let mine = self.leads().then(|| {
                self.schedule = arrivals::schedule(arrivals, samples, asked, rng);
                arrivals::longest_gap(&self.schedule)
            });
            self.pace.longest = self.agree(mine.unwrap_or(0), 0).0;
            self.pace.near = self.ticks(arrivals::NEAR_NS) as u64;
        } else {
            self.pace.pause = self.ticks(job.key.load.think_ns as f64) as u64;
            self.pace.longest = self.pace.pause;
        }
        // On one CPU, or wherever the scheduler likes, the follow may need the CPU to get back to waiting.
        let apart = matches!(job.cpus.as_slice(), [lead, follow] if lead != follow);
        self.pace.yields = !apart;
        self.pace.ns_per_tick = job.ns_per_tick;
    }
}

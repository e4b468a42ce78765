//! A slice of two ends and a channel.

mod stall;
mod ways;

pub use ways::Ways;

use super::compact::{Compact, collect};
use super::paced;
use super::raw::{Data, Gaps, RawSlice, Surroundings, Terms, Trips, samples};
use super::window::Window;
use crate::hot::{Recorder, Trip};
use crate::job::{Failure, FailureKind, Job, Segment, note};
use crate::neighbour::{self, Running};
use crate::page::Page;
use crate::protocol::Word;
use crate::registry::Entry;
use crate::scheduled;
use crate::shim;
use crate::supervisor::{Stop, Supervisor};
use ipcperf_core::result::CellKey;
use ipcperf_core::{Link, OptionSet, Rated, Seat, Trail};
use ipcperf_stats::Histogram;
use ipcperf_sys::program::Orphans;
use ipcperf_sys::signals::Interrupts;
use stall::Stall;
use std::time::{Duration, Instant};

/// The name of one end as a task.
pub(crate) const TASK: &str = "slice";

/// How long the process of a plug-in may take to end.
const LINGERS: Duration = Duration::from_secs(1);

/// Operations that a run keeps one by one at the most: 400 MB.
pub const MOST_KEPT: u64 = 50_000_000;

/// Runs it in fresh processes.
pub(super) fn run(
    entry: &Entry,
    options: &OptionSet,
    terms: &Terms,
    around: Surroundings<'_>,
) -> Result<RawSlice, Stop> {
    let Surroundings { page, interrupts } = around;
    page.reset(2);
    let mut job = terms.job.clone();
    let mut link = match &job.key.load.at {
        Some(address) => shim::call(entry.spec, address, &mut job.program)?,
        None => entry.open(&job.shape, options)?,
    };
    let Some(mut trail) = link.trail.take() else {
        return over(entry, &job, terms, page, interrupts, link);
    };
    let mut slice = over(entry, &job, terms, page, interrupts, link)
        .map_err(|stop| explained(stop, &*trail))?;
    slice.sides[Seat::Lead.index()].events.extend(trail.close()?);
    Ok(slice)
}

/// A failure with what the ends were doing and what they wrote.
fn explained(stop: Stop, trail: &dyn Trail) -> Stop {
    let more = |reason: String, is_asked: &dyn Fn(Seat) -> bool| {
        let mut text = reason;
        for seat in Seat::BOTH.into_iter().filter(|seat| is_asked(*seat)) {
            if let Some(call) = trail.call(seat) {
                text.push_str(&format!("; the {} was in {call}", name(seat)));
            }
        }
        for seat in Seat::BOTH {
            let written = trail.written(seat);
            if !written.is_empty() {
                text.push_str(&format!("; the {} wrote: {written}", name(seat)));
            }
        }
        text
    };
    match stop {
        Stop::Deadline(reason) => Stop::Deadline(more(reason, &|_| true)),
        Stop::Failed(Failure { kind, reason }) => {
            let whose = reason.clone();
            let died = |seat| kind == FailureKind::Died && whose.starts_with(name(seat));
            Stop::Failed(Failure { kind, reason: more(reason, &died) })
        }
        Stop::Interrupted => Stop::Interrupted,
    }
}

/// Runs it over an open channel.
fn over(
    entry: &Entry,
    job: &Job,
    terms: &Terms,
    page: &Page,
    interrupts: Option<&Interrupts>,
    link: Link,
) -> Result<RawSlice, Stop> {
    let Terms { pads, deadline, .. } = terms;
    // Kept until both workers are gone: whatever has a name is removed even if they were killed.
    let mut guards = Some(link.guards);
    // Dropped after the workers: what a shim that was killed has left.
    let is_beside = job.key.load.neighbour.as_ref().is_some_and(|one| one.program().is_some());
    let is_foreign = job.program.is_some() || entry.is_plugin || is_beside;
    let _orphans = is_foreign.then(Orphans::adopt).transpose()?;
    let data = match job.key.pattern.facts().timed_by {
        Seat::Lead => Data::Trips(Box::new(Trips {
            kept: terms.room.map(|_| Vec::new()),
            ..Trips::default()
        })),
        Seat::Follow => Data::Stream(Window::default()),
    };
    let mut slice = RawSlice { effective: link.effective, ..RawSlice::of(data) };
    // Dropped after the workers, too.
    let neighbour = Running::start(job, page, *deadline)?;
    let job = &Job { neighbour: neighbour.as_ref().map(Running::pid), ..job.clone() };
    let (jobs, _groups) = scheduled::jobs(job)?;
    let mut workers = Supervisor::new(Instant::now() + *deadline, interrupts);
    // The one sets itself up while the other is started.
    for (seat, wiring) in [(Seat::Lead, link.lead), (Seat::Follow, link.follow)] {
        let named = match (job.key.load.end(), seat) {
            (Some(program), Seat::Follow) => program,
            _ => name(seat).to_owned(),
        };
        let who = workers.start(named, pads[seat.index()])?;
        workers.assign(who, TASK, &jobs[seat.index()], &[page.fd()])?;
        workers.wire(who..who + 1, wiring)?;
    }
    let mut stall = Stall::of(Duration::from_nanos(job.key.load.stall_ns));
    loop {
        let words = workers.gather(&mut |workers| match job.program {
            // Both ends are attached: what is held here would keep a program from the end of the file.
            Some(_) => drop(guards.take()),
            None => stall.step(workers),
        })?;
        if words.iter().all(|word| matches!(word, Word::Done(_))) {
            for (side, word) in slice.sides.iter_mut().zip(words) {
                *side = word.done()?;
                note(&mut slice.effective, std::mem::take(&mut side.effective));
            }
            let [lead, follow] = &mut slice.sides;
            let last = [lead, follow].map(|side| std::mem::take(&mut side.segments));
            slice.fold_all(&job.key, page, last);
            has_room(&slice, terms)?;
            break;
        }
        let [lead, follow]: [Word; 2] =
            words.try_into().map_err(|_| "a pair says two words".to_owned())?;
        slice.fold_all(&job.key, page, [lead.ready()?, follow.ready()?]);
        has_room(&slice, terms)?;
        for seat in Seat::BOTH {
            workers.go(seat.index(), &())?;
        }
    }
    neighbour.map_or(Ok(()), Running::finish)?;
    neighbour::proved(job, slice.sides[Seat::Lead.index()].neighbour)?;
    if stall.was_missed() {
        let reason = "the slice ended before the stop; use longer slices (--slice)";
        return Err(reason.to_owned().into());
    }
    if entry.is_plugin
        && let Some(who) = workers.lingering(LINGERS)?
    {
        let reason = format!("{who}: the process has not ended 1 s after detach");
        return Err(reason.into());
    }
    slice.stopped = workers.stopped();
    Ok(slice)
}

/// Ends a slice of which more operations would be kept than there is room for.
pub(super) fn has_room(slice: &RawSlice, terms: &Terms) -> Result<(), Stop> {
    match terms.room {
        Some(room) if slice.kept().len() as u64 > room => {
            let reason = format!(
                "a run keeps {MOST_KEPT} operations one by one at the most; use fewer (--samples), shorter slices \
                 (--slice), or fewer rounds or cells"
            );
            Err(reason.into())
        }
        _ => Ok(()),
    }
}

pub(crate) fn name(seat: Seat) -> &'static str {
    match seat {
        Seat::Lead => "lead",
        Seat::Follow => "follow",
    }
}

impl RawSlice {
    /// Adds the segments of both ends, which have the same number of them.
    pub(crate) fn fold_all(
        &mut self,
        key: &CellKey,
        page: &Page,
        [lead, follow]: [Vec<Segment>; 2],
    ) {
        for segment in lead.into_iter().zip(follow) {
            self.fold(key, page, &segment.into());
        }
    }

    /// Adds one segment, whose samples lie in the page.
    fn fold(&mut self, key: &CellKey, page: &Page, [lead, follow]: &[Segment; 2]) {
        let facts = key.pattern.facts();
        match &mut self.data {
            Data::Trips(trips) => {
                let samples = of_segment(page, lead);
                self.batch = lead.batch;
                let all = lead.end - lead.begin;
                if facts.is_open || key.load.think_ns > 0 {
                    self.operations += trips.pace(&samples, lead, facts.is_open, &mut self.gaps);
                    self.elapsed += all;
                } else {
                    self.gaps.add(samples.iter().copied());
                    let count = samples.len() as u64;
                    let answered = trips.unanswered;
                    let took = trips.record(&samples);
                    let is_whole = trips.unanswered == answered;
                    self.operations += count * lead.batch * key.load.burst.max(1);
                    // Operations may have been under way together, and what was waited for in vain took its time, too.
                    // Those that lead in are left out of both.
                    let is_alone = facts.rate != Some(Rated::Answered) && is_whole;
                    self.elapsed += if is_alone { took } else { all * count / lead.samples.max(1) };
                }
                trips.ways.fold(page, lead, follow);
            }
            Data::Stream(window) => {
                let samples = of_segment(page, follow);
                // All bytes of a channel that had carried nothing are what was asked for.
                let steady = match key.load.fresh {
                    0 => steady(&samples, follow, lead.end),
                    _ => Window {
                        messages: samples.len() as u64 * follow.batch,
                        ticks: samples.iter().sum(),
                    },
                };
                self.gaps.add(samples.into_iter().take((steady.messages / follow.batch) as usize));
                window.messages += steady.messages;
                window.ticks += steady.ticks;
                self.batch = follow.batch;
                self.operations += follow.received;
                self.elapsed += follow.end - follow.begin;
            }
            // They have no segments.
            Data::Fan(_) | Data::Feed(_) | Data::Crowd(_) => return,
        }
        for (sum, part) in self.counts.iter_mut().zip([lead, follow]) {
            sum.count(part);
        }
    }
}

impl Trips {
    /// Adds round trips that began at times of their own; those of an open loop count from when they were due. Returns
    /// how many they are.
    fn pace(&mut self, samples: &[u64], segment: &Segment, is_open: bool, gaps: &mut Gaps) -> u64 {
        let trips = paced::trips(samples);
        // A sender that nothing held up is late by itself.
        let late = |trip: &Trip| if trip.free { trip.late } else { 0 };
        gaps.add(trips.iter().map(|trip| trip.service.max(late(trip))));
        let took = |trip: &Trip| if is_open { trip.response() } else { trip.service };
        let times: Vec<u64> = trips.iter().map(took).collect();
        self.record(&times);
        self.paced.get_or_insert_default().add(&trips, segment);
        trips.len() as u64
    }

    /// Adds samples to the histogram; returns how long those took whose answer came.
    pub(super) fn record(&mut self, samples: &[u64]) -> u64 {
        let mut histogram = Histogram::from(&self.histogram);
        self.unanswered += collect(&mut histogram, samples);
        self.histogram = Compact::from(&histogram);
        let answered = samples.iter().copied().filter(|ticks| *ticks != Recorder::LOST);
        if let Some(kept) = &mut self.kept {
            kept.extend(answered.clone());
        }
        answered.sum()
    }
}

/// All samples of one segment.
pub(super) fn all_of_segment(page: &Page, segment: &Segment) -> Vec<u64> {
    let at = usize::try_from(segment.at).unwrap_or(usize::MAX);
    let slots = page.slots().get(at..).unwrap_or_default();
    samples(slots, segment.samples, &segment.spills)
}

/// The samples of one segment without its lead-in.
fn of_segment(page: &Page, segment: &Segment) -> Vec<u64> {
    let mut samples = all_of_segment(page, segment);
    samples.drain(..samples.len().min(usize::try_from(segment.lead_in).unwrap_or(0)));
    samples
}

/// Messages and ticks inside the steady window of a stream: from the first sample after the lead-in to the last one
/// that ended before the sender did. What arrives later is the drain of the mechanism's buffers. A stream so short
/// that it fits the buffers has no such window; then all of it is taken.
fn steady(samples: &[u64], segment: &Segment, sender_end: u64) -> Window {
    let total: u64 = samples.iter().sum();
    let mut now = segment.end.saturating_sub(total);
    let (mut ticks, mut count) = (0, 0);
    for sample in samples {
        now += sample;
        if now > sender_end {
            break;
        }
        ticks += sample;
        count += 1;
    }
    if count * 2 < samples.len() as u64 {
        return Window { messages: samples.len() as u64 * segment.batch, ticks: total };
    }
    Window { messages: count * segment.batch, ticks }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ipcperf_core::PatternKind;

    #[test]
    fn what_was_waited_for_in_vain_took_its_time_and_segments_lie_one_behind_the_other() {
        let key = CellKey { pattern: PatternKind::Burst, ..CellKey::default() };
        let page = Page::create(16).expect("memory");
        let segment = |at: u64, lost: bool, end| {
            let mut recorder = Recorder::new(&page.slots()[at as usize..]);
            for sample in 0..5 {
                if lost && sample == 3 { recorder.lose() } else { recorder.record(100 + at) }
            }
            let samples = recorder.len();
            Segment { at, samples, batch: 1, lead_in: 1, sent: 5, end, ..Segment::default() }
        };
        // The second of the two waited 10,000 ticks for an answer that never came.
        let leads = vec![segment(0, false, 500), segment(5, true, 10_420)];
        let follows = vec![Segment::default(); 2];
        let mut slice = RawSlice::of(Data::Trips(Box::default()));
        slice.fold_all(&key, &page, [leads, follows]);
        let Data::Trips(trips) = &slice.data else { panic!("the lead timed nothing") };
        let histogram = Histogram::from(&trips.histogram);
        assert_eq!((histogram.count(), trips.unanswered, slice.operations), (7, 1, 8));
        assert_eq!((histogram.min(), histogram.max()), (Some(100), Some(105)));
        assert_eq!(slice.elapsed, 400 + 10_420 * 4 / 5);
        // What nobody saw the end of is no gap.
        assert_eq!(slice.gaps, Gaps { longest: 105, sum: 400 + 315, count: 7 });
    }

    #[test]
    fn the_drain_after_the_senders_end_does_not_count() {
        // Ten samples of 100 ticks; the sender was done after the sixth, the rest came out of the buffers quickly.
        let samples = [100, 100, 100, 100, 100, 100, 10, 10, 10, 10];
        let segment = Segment { batch: 8, begin: 1000, end: 1640, ..Segment::default() };
        let window = |messages, ticks| Window { messages, ticks };
        assert_eq!(steady(&samples, &segment, 1600), window(48, 600));
        // A stream that fits the buffers: no steady window, everything counts.
        assert_eq!(steady(&samples, &segment, 1150), window(80, 640));
    }
}

//! A slice of several channels of the same kind that are at work at the same time. Each has two workers and a page of its
//! own, as in a slice of one channel; one more page has the gate at which the ends of all begin together. No worker waits
//! for the coordinator before its region is over, so that nothing disturbs the channels that are still at work.

use super::fan::together;
use super::pair::{TASK, all_of_segment, has_room, name};
use super::raw::{Data, Gaps, RawChannel, RawChannels, RawSlice, Terms, Trips};
use super::window::Window;
use crate::hot::Recorder;
use crate::job::{Job, Segment, SideReport, note};
use crate::page::{CAPACITY, Page};
use crate::registry::Entry;
use crate::supervisor::{Stop, Supervisor};
use ipcperf_core::{OptionSet, Seat};
use ipcperf_sys::signals::Interrupts;
use std::time::Instant;

/// What one channel did by when.
#[derive(Debug, Default)]
struct Course {
    /// Begin and end of each sample, ticks, and whether it speaks for the others: none of those that lead in does.
    samples: Vec<(u64, u64, bool)>,
    /// Operations of a sample.
    batch: u64,
    /// When it is over: at the end of what is sent, not of what is still in a buffer.
    end: u64,
}

impl Course {
    /// Adds a segment of the end that times, whose samples are these; the sender was done at `sender_end`.
    fn add(&mut self, samples: &[u64], segment: &Segment, sender_end: u64) {
        let known: u64 = samples.iter().filter(|ticks| **ticks != Recorder::LOST).sum();
        let lost = samples.iter().filter(|ticks| **ticks == Recorder::LOST).count() as u64;
        let all = segment.end.saturating_sub(segment.begin);
        // When these ended is not known.
        let each_lost = all.saturating_sub(known) / lost.max(1);
        let mut now = segment.end.saturating_sub(known + lost * each_lost);
        let first = self.samples.len();
        for (at, ticks) in (0..).zip(samples) {
            let is_lost = *ticks == Recorder::LOST;
            let end = now + if is_lost { each_lost } else { *ticks };
            self.samples.push((now, end, at >= segment.lead_in && !is_lost));
            now = end;
        }
        self.batch = segment.batch;
        let own = self.samples.get(first..).unwrap_or_default();
        let sent = own.iter().filter(|(_, end, _)| *end <= sender_end).count();
        // A stream that fits the buffers was sent before most of it had arrived.
        self.end = if 2 * sent < own.len() { segment.end } else { segment.end.min(sender_end) };
    }

    /// Operations until a moment.
    fn until(&self, moment: u64) -> f64 {
        let over = self.samples.partition_point(|(_, end, _)| *end <= moment);
        let part = self.samples.get(over).map_or(0.0, |(begin, end, _)| {
            moment.saturating_sub(*begin) as f64 / end.saturating_sub(*begin).max(1) as f64
        });
        (over as f64 + part) * self.batch as f64
    }

    /// What the samples took that speak for the others and lie between two moments, ticks.
    fn between(&self, begin: u64, end: u64) -> impl Iterator<Item = u64> {
        let inside = move |(from, to, _): &&(u64, u64, bool)| begin <= *from && *to <= end;
        let speaks = |(from, to, speaks): &(u64, u64, bool)| speaks.then_some(to - from);
        self.samples.iter().filter(inside).filter_map(speaks)
    }
}

/// Runs it in fresh processes.
pub(super) fn run(
    entry: &Entry,
    options: &OptionSet,
    terms: &Terms,
    interrupts: Option<&Interrupts>,
) -> Result<RawSlice, Stop> {
    let job = &terms.job;
    let count = job.key.load.channels;
    let all = Page::create(0)?;
    all.reset(2 * count as u32);
    // Kept until all workers are gone: whatever has a name is removed even if they were killed.
    let (mut guards, mut pages, mut effective) = (Vec::new(), Vec::new(), Vec::new());
    let deadline = Instant::now() + terms.deadline;
    let mut workers = Supervisor::new(deadline, interrupts).in_pairs();
    for channel in 0..count {
        let shape = job.shape.numbered(channel);
        let link = entry.open(&shape, options)?;
        let page = Page::create(CAPACITY)?;
        let cpus = terms.channel_cpus.get(channel as usize).cloned().unwrap_or_default();
        let job = Job { shape, channel, cpus, ..job.clone() };
        for (seat, wiring) in [(Seat::Lead, link.lead), (Seat::Follow, link.follow)] {
            let who = format!("{} of channel {} of {count}", name(seat), channel + 1);
            // Channels differ in the layout of their stacks as rounds do.
            let pad = (terms.pads[seat.index()] + 528 * channel as usize) % 4096;
            let who = workers.start(who, pad)?;
            let job = Job { seat, cpu: job.cpu_of(seat), ..job.clone() };
            workers.assign(who, TASK, &job, &[page.fd(), all.fd()])?;
            workers.wire(who..who + 1, wiring)?;
        }
        guards.extend(link.guards);
        note(&mut effective, link.effective);
        pages.push(page);
    }
    let mut sides = Vec::new();
    for word in workers.gather(&mut |_| ())? {
        let mut side: SideReport = word.done()?;
        note(&mut effective, std::mem::take(&mut side.effective));
        sides.push(side);
    }
    let (sides, rest) = sides.as_chunks_mut::<2>();
    if !rest.is_empty() || sides.len() != pages.len() {
        return Err("a channel has two ends".to_owned().into());
    }
    let mut slice = measured(sides, &pages, terms);
    has_room(&slice, terms)?;
    slice.effective = effective;
    slice.stopped = workers.stopped();
    Ok(slice)
}

/// What the reports of all ends come to.
fn measured(sides: &mut [[SideReport; 2]], pages: &[Page], terms: &Terms) -> RawSlice {
    let timed_by = terms.job.key.pattern.facts().timed_by;
    let mut courses = Vec::new();
    let mut each = Vec::new();
    for (pair, page) in sides.iter_mut().zip(pages) {
        let [leads, follows] = pair.each_mut().map(|side| std::mem::take(&mut side.segments));
        let (mut course, mut channel) = (Course::default(), RawChannel::default());
        for (lead, follow) in leads.iter().zip(&follows) {
            let timed = if timed_by == Seat::Lead { lead } else { follow };
            course.add(&all_of_segment(page, timed), timed, lead.end);
        }
        for (sum, segments) in channel.counts.iter_mut().zip([leads, follows]) {
            segments.iter().for_each(|part| sum.count(part));
        }
        channel.pids = pair.each_ref().map(|side| side.pid);
        channel.used_cpu = pair.iter().all(|side| side.spent.cpu_ns > 0);
        courses.push(course);
        each.push(channel);
    }
    let begin = sides.iter().flatten().map(|side| side.began).max().unwrap_or(0);
    let end = courses.iter().map(|course| course.end).min().unwrap_or(0);
    let ticks = end.saturating_sub(begin);
    for (channel, course) in each.iter_mut().zip(&courses) {
        channel.served = if ticks > 0 { course.until(end) - course.until(begin) } else { 0.0 };
    }
    let served: f64 = each.iter().map(|channel| channel.served).sum();
    let data = match timed_by {
        Seat::Lead => {
            let kept = terms.room.map(|_| Vec::new());
            let mut trips = Trips { kept, ..Trips::default() };
            let times: Vec<u64> =
                courses.iter().flat_map(|course| course.between(begin, end)).collect();
            trips.record(&times);
            trips.unanswered = each.iter().map(|channel| channel.counts[0].lost).sum();
            Data::Trips(Box::new(trips))
        }
        Seat::Follow => Data::Stream(Window { messages: served.round() as u64, ticks }),
    };
    let gaps: Vec<Gaps> = courses
        .iter()
        .map(|course| {
            let mut gaps = Gaps::default();
            gaps.add(course.samples.iter().map(|(begin, end, _)| end - begin));
            gaps
        })
        .collect();
    let of_all = |end: Seat| {
        let mut sum = Segment::default();
        each.iter().for_each(|channel| sum.count(&channel.counts[end.index()]));
        sum
    };
    let report = |end: Seat| {
        let cpu = |channel: usize| terms.channel_cpus.get(channel)?.get(end.index()).copied();
        let own = sides.iter().enumerate();
        together(own.map(|(channel, pair)| (&pair[end.index()], cpu(channel))))
    };
    let counts = Seat::BOTH.map(of_all);
    let batch = courses.first().map_or(1, |course| course.batch);
    let mut slice = RawSlice {
        batch,
        operations: counts[timed_by.index()].samples * batch,
        elapsed: ticks,
        sides: Seat::BOTH.map(report),
        counts,
        ..RawSlice::of(data)
    };
    slice.gaps.add_beside(&gaps);
    slice.channels = Some(RawChannels { ticks, each });
    slice
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The course of a channel with these samples, the first of which begins at 1000. The first two lead in.
    fn course(samples: &[u64], sender_end: u64) -> Course {
        let end = 1000 + samples.iter().filter(|ticks| **ticks != Recorder::LOST).sum::<u64>();
        let segment = Segment { begin: 1000, end, batch: 4, lead_in: 2, ..Segment::default() };
        let mut course = Course::default();
        course.add(samples, &segment, sender_end);
        course
    }

    #[test]
    fn an_operation_that_is_cut_counts_in_part_and_times_are_of_whole_ones() {
        let course = course(&[100; 10], 2000);
        assert_eq!((course.end, course.until(900), course.until(1000)), (2000, 0.0, 0.0));
        assert_eq!((course.until(1150), course.until(2000), course.until(9000)), (6.0, 40.0, 40.0));
        assert_eq!(course.between(1000, 2000).count(), 8, "those that lead in do not speak");
        assert_eq!(course.between(1250, 1650).collect::<Vec<_>>(), [100; 3]);
    }

    #[test]
    fn what_drains_after_the_senders_end_is_no_work_of_all_and_a_short_stream_is_whole() {
        assert_eq!(course(&[100; 10], 1700).end, 1700);
        assert_eq!(course(&[100; 10], 1100).end, 2000);
    }

    #[test]
    fn what_was_lost_took_the_time_that_is_left() {
        let mut course = Course::default();
        let segment = Segment { begin: 1000, end: 2000, batch: 1, ..Segment::default() };
        course.add(&[100, Recorder::LOST, 100], &segment, 2000);
        assert_eq!(course.until(1100), 1.0);
        assert_eq!(course.until(1500), 1.5);
        assert_eq!(course.between(0, 9000).collect::<Vec<_>>(), [100, 100]);
    }
}

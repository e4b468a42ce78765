//! What a feed came to: from when messages were due, sent and read to times, ages and backlogs. All numbers are ticks.

use crate::arrivals;
use crate::hot::{Recorder, Trip};
use crate::job::{Job, Segment};
use crate::slice::{Compact, Gaps, RawFeed, is_saturated};
use ipcperf_core::Offered;
use ipcperf_stats::{Histogram, Rng};

/// Messages of one passage at the most: the tapes hold no more.
pub(super) const MOST: u64 = super::tapes::CALLS;

/// How long after all have come the first interval begins, ns, and how much longer for each consumer, who first gets a CPU.
const SETTLES_NS: [f64; 2] = [1e6, 30e3];

/// Ticks from one message to the next, on average; `None` where no rate is asked for.
pub(super) fn interval(job: &Job) -> Option<f64> {
    match job.key.load.rate {
        Some(Offered::PerSecond(rate)) => Some(1e9 / rate / job.ns_per_tick),
        _ => None,
    }
}

/// When the messages of a passage are due, ticks after its begin: the same at the producer and at the coordinator.
pub(super) fn due(job: &Job, first: u64, count: u64) -> Vec<u64> {
    let Some(interval) = interval(job) else { return Vec::new() };
    let mut rng = Rng::from_seed(job.shape.nonce ^ first);
    arrivals::schedule(job.key.load.arrivals.unwrap_or_default(), count, interval, &mut rng)
}

/// Ticks from when all have come to the start of the first interval.
pub(super) fn settles(job: &Job) -> u64 {
    let [once, each] = SETTLES_NS;
    ((once + each * job.key.load.peers as f64) / job.ns_per_tick) as u64
}

/// How many messages each passage of a time has: at least two in all, since one alone replaces nothing.
pub(super) fn passages(time: f64, interval: f64) -> Vec<u64> {
    let all = ((time / interval).round() as u64).max(2);
    let count = all.div_ceil(MOST);
    (0..count).map(|at| all * (at + 1) / count - all * at / count).collect()
}

/// Of one passage: when messages were due, sent and read, all by the clock of the producer.
pub(super) struct FeedTimes {
    pub(super) due: Vec<u64>,
    pub(super) sent: Vec<u64>,
    /// By consumer; [`Recorder::LOST`] for what never came.
    pub(super) read: Vec<Vec<u64>>,
    /// When the first interval began.
    pub(super) begin: u64,
}

/// Moments from what went by between them since `begin`.
pub(super) fn moments(begin: u64, steps: &[u64]) -> Vec<u64> {
    let mut now = begin;
    let step = |step: &u64| match *step {
        Recorder::LOST => Recorder::LOST,
        step => {
            now += step;
            now
        }
    };
    steps.iter().map(step).collect()
}

impl RawFeed {
    /// Adds a passage. FeedTimes may be off by `bound`.
    pub(super) fn add(&mut self, times: &FeedTimes, bound: u64, gaps: &mut Gaps) {
        let FeedTimes { due, sent, read, begin } = times;
        let (mut latency, mut staleness) =
            (Histogram::from(&self.latency), Histogram::from(&self.staleness));
        self.by_consumer.resize(read.len(), Compact::default());
        self.read.resize(read.len(), 0);
        self.lost.resize(read.len(), 0);
        let mut longest = Vec::new();
        for (at, read) in read.iter().enumerate() {
            let mut own = Histogram::from(&self.by_consumer[at]);
            let (mut before, mut trips): (Option<(u64, u64)>, Vec<Trip>) = (None, Vec::new());
            for (due, read) in due.iter().zip(read) {
                if *read == Recorder::LOST {
                    self.lost[at] += 1;
                    continue;
                }
                self.read[at] += 1;
                self.negative += u64::from(read + bound < *due);
                let took = read.saturating_sub(*due);
                own.record(took);
                latency.record(took);
                // A consumer that was not done with the one before could not take this one yet.
                let free = before.is_none_or(|(_, read)| read <= *due);
                let from = before.map_or(*due, |(_, read)| read.max(*due)).min(*read);
                trips.push(Trip { service: read - from, late: from.saturating_sub(*due), free });
                if let Some((due, _)) = before {
                    staleness.record(read.saturating_sub(due));
                }
                before = Some((*due, *read));
            }
            self.by_consumer[at] = Compact::from(&own);
            let end = before.map_or(*begin, |(_, read)| read);
            let whole = due.last().map_or(0, |last| last - begin);
            let segment = Segment { begin: *begin, end, due: whole, ..Segment::default() };
            self.saturated |= is_saturated(&trips, &segment);
            let mut own = Gaps::default();
            own.add(trips.iter().map(|trip| trip.service));
            longest.push(own);
            self.count_unread(sent, read);
        }
        gaps.add_beside(&longest);
        self.latency = Compact::from(&latency);
        self.staleness = Compact::from(&staleness);
        self.count_late(due, sent);
        self.due += due.last().map_or(0, |last| last - begin);
        self.messages += due.len() as u64;
    }

    /// Why times of two CPUs must not be subtracted here.
    pub(super) fn objection(&self) -> Option<String> {
        let [before, after] = self.offsets.as_slice() else { return None };
        let warps = before.warps + after.warps;
        Some(if warps > 0 {
            let all = before.exchanges + after.exchanges;
            format!("the counters ran backwards from CPU to CPU {warps} times in {all}")
        } else if !before.agrees(after) {
            let [before, after] = [before.ticks, after.ticks];
            format!("the counters' difference went from {before} to {after} ticks during the slice")
        } else if self.negative > 0 {
            format!("{} messages seem to arrive before they were due", self.negative)
        } else {
            return None;
        })
    }

    /// How many were due and not sent whenever one was about to be sent, and how late those were that found none before them.
    fn count_late(&mut self, due: &[u64], sent: &[u64]) {
        let mut lateness = Histogram::from(&self.lateness);
        let mut before = None;
        for (at, (one, done)) in due.iter().zip(sent).enumerate() {
            if before.is_none_or(|before| before <= *one) {
                lateness.record(done.saturating_sub(*one));
            }
            let from = before.map_or(*one, |before: u64| before.max(*one));
            let were_due = due.partition_point(|due| *due <= from);
            self.late[0] = self.late[0].max(were_due.saturating_sub(at) as u64);
            before = Some(*done);
        }
        self.lateness = Compact::from(&lateness);
        let last = due.last().copied().unwrap_or(0);
        let by_then = sent.partition_point(|sent| *sent <= last);
        // The last one itself is due in this moment.
        let missing = sent.len().saturating_sub(by_then + 1) as u64;
        self.late[1] = self.late[1].max(missing);
    }

    /// How many were sent and not read whenever a consumer had read one, and in the end.
    fn count_unread(&mut self, sent: &[u64], read: &[u64]) {
        for (at, read) in read.iter().enumerate().filter(|(_, read)| **read != Recorder::LOST) {
            let were_sent = sent.partition_point(|sent| sent <= read);
            self.unread[0] = self.unread[0].max(were_sent.saturating_sub(at + 1) as u64);
        }
        let end = sent.last().copied().unwrap_or(0);
        // What was lost before the newest one that came by then is not waited for.
        let known = read.iter().rposition(|read| *read <= end).map_or(0, |at| at + 1);
        let left = read.iter().skip(known).filter(|read| **read != Recorder::LOST).count() as u64;
        self.unread = [self.unread[0].max(left), self.unread[1].max(left)];
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One message every 100 ticks from 1100 on.
    fn due(count: u64) -> Vec<u64> {
        (1..=count).map(|at| 1000 + 100 * at).collect()
    }

    fn of(sent: Vec<u64>, read: Vec<Vec<u64>>) -> RawFeed {
        let mut feed = RawFeed::default();
        let times = FeedTimes { due: due(sent.len() as u64), sent, read, begin: 1000 };
        feed.add(&times, 0, &mut Gaps::default());
        feed
    }

    fn known(compact: &Compact) -> Vec<u64> {
        let histogram = Histogram::from(compact);
        vec![
            histogram.count(),
            histogram.min().unwrap_or(0),
            histogram.max().unwrap_or(0),
            histogram.sum() as u64,
        ]
    }

    #[test]
    fn a_time_counts_from_when_a_message_was_due_and_an_age_from_when_the_one_before_was() {
        let feed = of(vec![1105, 1205, 1305], vec![vec![1110, 1210, 1310], vec![1120, 1220, 1340]]);
        assert_eq!(known(&feed.latency), [6, 10, 40, 110]);
        assert_eq!(known(&feed.by_consumer[0]), [3, 10, 10, 30]);
        assert_eq!(known(&feed.by_consumer[1]), [3, 20, 40, 80]);
        // Until the next one comes: an interval and its own latency.
        assert_eq!(known(&feed.staleness), [4, 110, 140, 110 + 110 + 120 + 140]);
        assert_eq!((feed.late, feed.unread), ([1, 0], [1, 1]));
        assert_eq!((feed.due, feed.messages, feed.saturated), (300, 3, false));
        assert_eq!((feed.read, feed.lost), (vec![3, 3], vec![0, 0]));
    }

    #[test]
    fn a_producer_that_is_held_up_makes_all_late_that_were_due_meanwhile() {
        // The third was held up for 450 ticks; those after it leave one by one behind it.
        let sent = vec![1105, 1205, 1755, 1760, 1765, 1770, 1775, 1805, 1905];
        let read = sent.iter().map(|sent| sent + 5).collect();
        let feed = of(sent, vec![read]);
        let histogram = Histogram::from(&feed.latency);
        assert_eq!(histogram.max(), Some(460));
        // 460, 365, 270, 175, 80: nothing is hidden by later messages.
        assert_eq!(histogram.count_above(79), 5);
        assert_eq!(feed.late[0], 4);
        assert_eq!(feed.late[1], 0);
    }

    #[test]
    fn what_never_came_is_counted_and_has_no_time_and_makes_the_rest_older() {
        let lost = Recorder::LOST;
        let feed = of(vec![1105, 1205, 1305, 1405], vec![vec![1110, lost, lost, 1410]]);
        assert_eq!((feed.lost, feed.read), (vec![2], vec![2]));
        assert_eq!(known(&feed.latency), [2, 10, 10, 20]);
        assert_eq!(known(&feed.staleness), [1, 310, 310, 310]);
    }

    #[test]
    fn a_consumer_that_does_not_keep_up_has_messages_left_to_read() {
        let sent = (1..=400).map(|at| 1005 + 100 * at).collect();
        let read = (1..=400).map(|at| 1010 + 150 * at).collect();
        let feed = of(sent, vec![read]);
        assert!(feed.saturated);
        assert!((132..=134).contains(&feed.unread[1]), "{:?}", feed.unread);
        assert_eq!(feed.unread[0], feed.unread[1]);
        assert_eq!(feed.late[1], 0);
    }

    #[test]
    fn a_time_before_it_was_due_is_no_time_unless_the_clocks_allow_it() {
        let mut feed = RawFeed::default();
        let times = FeedTimes {
            due: due(2),
            sent: vec![1100, 1200],
            read: vec![vec![1097, 1190]],
            begin: 1000,
        };
        feed.add(&times, 5, &mut Gaps::default());
        assert_eq!((feed.negative, known(&feed.latency)), (1, vec![2, 0, 0, 0]));
    }

    #[test]
    fn passages_share_the_messages_of_a_time() {
        assert_eq!(passages(1000.0, 100.0), [10]);
        assert_eq!(passages(1.0, 100.0), [2]);
        let many = passages(1e5, 1.0);
        assert_eq!((many.iter().sum::<u64>(), many.len()), (100_000, 4));
        assert!(many.iter().all(|count| *count <= MOST));
        assert_eq!(moments(10, &[1, Recorder::LOST, 5]), [11, Recorder::LOST, 16]);
    }
}

//! How much had come by when, and what each peer moved while all were at work.

use super::Left;
use crate::slice::Gaps;
use std::sync::atomic::AtomicU32;

/// What a consumer noted: ticks of a row, then its messages, one number for each column.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Track {
    begin: u64,
    rows: Vec<(u64, Vec<u64>)>,
    columns: usize,
}

impl Track {
    /// Rows of `columns` counts each, the first of which began at `begin`.
    pub(super) fn read(begin: u64, columns: usize, tape: &[AtomicU32], left: &Left) -> Self {
        let numbers = left.read(tape);
        let rows = numbers
            .chunks_exact(columns + 1)
            .filter_map(|row| row.split_first().map(|(ticks, counts)| (*ticks, counts.to_vec())))
            .collect();
        Self { begin, rows, columns }
    }

    /// How long its rows took.
    pub(super) fn gaps(&self) -> Gaps {
        let mut gaps = Gaps::default();
        gaps.add(self.rows.iter().map(|(ticks, _)| *ticks));
        gaps
    }

    /// When the last message was noted.
    pub(super) fn end(&self) -> u64 {
        self.begin + self.rows.iter().map(|(ticks, _)| ticks).sum::<u64>()
    }

    /// Messages of each column until `moment`; of a row it falls into, the part that is over.
    fn until(&self, moment: u64) -> Vec<f64> {
        let mut sums = vec![0.0; self.columns];
        let mut now = self.begin;
        for (ticks, counts) in &self.rows {
            if moment <= now {
                break;
            }
            let over = ((moment - now) as f64 / (*ticks).max(1) as f64).min(1.0);
            for (sum, count) in sums.iter_mut().zip(counts) {
                *sum += *count as f64 * over;
            }
            now += ticks;
        }
        sums
    }

    /// Messages of each column between two moments.
    pub(super) fn between(&self, from: u64, to: u64) -> Vec<f64> {
        self.until(to).iter().zip(self.until(from)).map(|(to, from)| to - from).collect()
    }
}

/// How many messages that the producer had sent a consumer had not read yet, whenever it noted how far it was while the
/// producer was at work. Both clocks are one, as for all that is timed here.
pub(super) fn behind(sent: &Track, read: &Track) -> Vec<f64> {
    let count = |counts: &[u64]| counts.iter().sum::<u64>() as f64;
    let so_far = |track: &Track| -> Vec<(u64, f64)> {
        let start = (track.begin, 0.0);
        let rows = track.rows.iter().scan(start, |(now, sum), (ticks, counts)| {
            *now += ticks;
            *sum += count(counts);
            Some((*now, *sum))
        });
        [start].into_iter().chain(rows).collect()
    };
    let sent = so_far(sent);
    let at = |moment: u64| -> Option<f64> {
        let next = sent.partition_point(|(then, _)| *then < moment);
        let ((from, before), (to, after)) = (*sent.get(next.checked_sub(1)?)?, *sent.get(next)?);
        let over = (moment - from) as f64 / (to - from).max(1) as f64;
        Some(before + (after - before) * over)
    };
    // The first is where it began.
    let read = so_far(read).into_iter().skip(1);
    read.filter_map(|(moment, sum)| Some((at(moment)? - sum).max(0.0))).collect()
}

/// The time in which all were at work.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Steady {
    /// Its length, ticks.
    pub(super) ticks: u64,
    /// Messages that came in it.
    pub(super) messages: f64,
    /// Messages of each peer; empty where nothing can be said about them.
    pub(super) served: Vec<f64>,
}

/// From `begin`, when all were at work, to `end`, when the first was done, if the consumers saw enough of it: a passage
/// so short that the object's buffers hold it has no such time. Then all of it is taken for the rate. But who has had
/// how much says nothing by then: producers are done when they have had the same.
pub(super) fn steady(tracks: &[Track], begin: u64, end: u64) -> Steady {
    let served = |from, to| -> Vec<f64> {
        tracks.iter().flat_map(|track| track.between(from, to)).collect()
    };
    let last = tracks.iter().map(Track::end).max().unwrap_or(begin);
    let inside = served(begin, end.max(begin));
    let all = served(0, last);
    // The shares of who is done first come to the n-th part at the least.
    let enough = all.iter().sum::<f64>() / (2 * inside.len().max(1)) as f64;
    let messages = inside.iter().sum::<f64>();
    if end > begin && messages >= enough {
        return Steady { ticks: end - begin, messages, served: inside };
    }
    let ticks = last.saturating_sub(begin);
    Steady { ticks, messages: all.iter().sum(), served: Vec::new() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hot::Spill;

    fn track(begin: u64, rows: &[(u64, &[u64])]) -> Track {
        let rows: Vec<_> = rows.iter().map(|(ticks, counts)| (*ticks, counts.to_vec())).collect();
        Track { begin, columns: rows.first().map_or(0, |row| row.1.len()), rows }
    }

    #[test]
    fn a_row_that_is_cut_counts_in_part() {
        let track = track(1000, &[(100, &[10, 30]), (100, &[20, 0]), (200, &[0, 40])]);
        assert_eq!(track.end(), 1400);
        assert_eq!(track.until(1000), [0.0, 0.0]);
        assert_eq!(track.until(1150), [20.0, 30.0]);
        assert_eq!(track.between(1050, 1300), [25.0, 35.0]);
        assert_eq!(track.between(0, 9999), [30.0, 70.0]);
    }

    #[test]
    fn a_tape_reads_back_with_what_did_not_fit_a_slot() {
        let tape: Vec<_> = [7, u32::MAX, 9, 1, 2, 3].map(AtomicU32::new).into();
        let left = Left { len: 6, spills: vec![Spill { index: 1, ticks: 1 << 40 }] };
        let track = Track::read(5, 2, &tape, &left);
        assert_eq!(track.rows, [(7, vec![1 << 40, 9]), (1, vec![2, 3])]);
    }

    #[test]
    fn only_the_time_in_which_all_were_at_work_counts() {
        let consumers = [track(0, &[(100, &[100])]), track(20, &[(80, &[40])])];
        let inside = Steady { ticks: 40, messages: 60.0, served: vec![40.0, 20.0] };
        assert_eq!(steady(&consumers, 20, 60), inside);
        // Done before much had come: all that came makes the rate, and nobody's share is known.
        let short = Steady { ticks: 95, messages: 140.0, served: Vec::new() };
        assert_eq!(steady(&consumers, 5, 10), short);
    }

    #[test]
    fn how_far_a_consumer_is_behind_counts_while_the_producer_is_at_work() {
        let sent = track(100, &[(100, &[10]), (100, &[30])]);
        // At 150 five were sent, at 250 it is 25; at 400 the producer is done.
        let read = track(120, &[(30, &[2]), (100, &[18]), (150, &[20])]);
        assert_eq!(behind(&sent, &read), [3.0, 5.0]);
        // What was noted a little earlier than it was sent is not ahead of it.
        assert_eq!(behind(&sent, &track(100, &[(50, &[9])])), [0.0]);
        assert!(behind(&sent, &track(0, &[(50, &[0])])).is_empty());
    }

    #[test]
    fn nothing_moved_only_while_none_of_several_moved_anything() {
        let busy = track(0, &[(100, &[10]), (900, &[10]), (100, &[10])]).gaps();
        let starved = track(0, &[(1100, &[1])]).gaps();
        let mut gaps = Gaps::default();
        gaps.add_beside(&[busy, starved]);
        assert_eq!(gaps, Gaps { longest: 900, sum: 2200, count: 4 });
        gaps.add_beside(&[starved]);
        assert_eq!(gaps.longest, 1100);
    }

    #[test]
    fn a_monopoly_until_the_first_is_done_counts_as_one() {
        let consumer = [track(0, &[(100, &[50, 0, 0, 0]), (300, &[0, 50, 50, 50])])];
        assert_eq!(steady(&consumer, 0, 100).served, [50.0, 0.0, 0.0, 0.0]);
    }
}

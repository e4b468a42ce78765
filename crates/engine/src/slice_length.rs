//! How long a timed region goes on. What an operation takes is known from the warm-up, and badly: it may have met
//! another state of the machine, or have been held up. So the region is cut into segments, and whether there is another
//! one is decided by nothing but the time they have taken together: never by how long single operations were.

/// Fewest samples of a timed region in a closed loop.
pub(crate) const FEWEST: u64 = 8;

/// A region that has come so far is over: what is missing is not worth another passing of the gate, which takes about
/// 100 us where both ends sleep.
const ENOUGH: f64 = 0.9;

/// A segment has so many times the fewest samples, where the region has as many: those that lead in shall be few.
const LEAST: u64 = 4;

/// Segments of which nothing arrived that could be timed: then there is no other one. Waiting for what is lost takes long.
const EMPTY: u32 = 5;

/// A warm-up ends once a segment had so many operations: the first ones run on cold caches, and one that was held up for as
/// long as the whole warm-up says nothing of those to come.
const SETTLED: u64 = 8;

/// A segment of a warm-up has at most so many times the operations of the last one: the first ones run on cold caches.
const GROWTH: u64 = 8;

/// Where operations are too long for that, a warm-up ends after so many times its planned length.
const LONGEST: u64 = 4;

/// Operations of a sample, of which the median one and one reading of the clock take so many ticks. An operation is timed
/// by itself from 20 times the cost of reading the clock on. Below, no single operation can be told anyway, so a batch is
/// long enough for the clock to cost 1 %.
pub(crate) fn batch(median: u64, overhead: u64) -> u64 {
    if median >= 20 * overhead { 1 } else { (100 * overhead).div_ceil(median.max(1)) }
}

/// What to expect after the warm-up, by its segment of most operations: those before ran on cold caches, and one that only
/// fills up the time is mostly the passing of the gate.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Expected {
    operations: u64,
    /// Ticks per operation, seen from outside.
    pub(crate) per_operation: f64,
    /// The median operation, ticks; 0 for patterns the lead does not time.
    pub(crate) median: u64,
}

impl Default for Expected {
    fn default() -> Self {
        Self { operations: 0, per_operation: f64::INFINITY, median: 0 }
    }
}

impl Expected {
    /// By one segment alone.
    pub(crate) fn of(operations: u64, ticks: u64, median: u64) -> Self {
        Self { operations, per_operation: ticks as f64 / operations as f64, median }
    }

    /// A segment is over.
    pub(crate) fn add(&mut self, operations: u64, ticks: u64, median: u64) {
        if operations >= self.operations {
            *self = Self { operations, per_operation: ticks as f64 / operations as f64, median };
        }
    }

    /// Operations of the next segment; 0: the warm-up is over. Planned and spent are ticks, and the last segment had `last`
    /// operations.
    pub(crate) fn next(&self, planned: u64, spent: u64, last: u64) -> u64 {
        let is_early = spent >= planned && self.operations < SETTLED;
        let left = if is_early { LONGEST * planned } else { planned }.saturating_sub(spent);
        if left == 0 {
            return 0;
        }
        ((left as f64 / self.per_operation) as u64).clamp(1, last * GROWTH)
    }
}

/// Windows of a program's warm-up that have to agree.
const AGREEING: usize = 3;

/// So far apart they may be: the slowest over the quickest.
const APART: f64 = 1.1;

/// The warm-up of a program, which may be quicker after thousands of operations than at first: windows of one length, until
/// the last ones agree.
#[derive(Clone, Debug)]
pub(crate) struct Settling {
    /// Length of a window, ticks.
    window: u64,
    /// It is over after so many ticks, whatever the windows say.
    most: u64,
    /// Ticks per operation in windows of the length.
    windows: Vec<f64>,
}

impl Settling {
    /// With windows of this length, for so many ticks at the most.
    pub(crate) fn new(window: u64, most: u64) -> Self {
        Self { window: window.clamp(1, most.max(1)), most, windows: Vec::new() }
    }

    /// Operations of the next window, after one of so many that took `ticks`, at `now` ticks of the clock since the first; 0:
    /// it is over.
    pub(crate) fn next(&mut self, operations: u64, ticks: u64, now: u64) -> u64 {
        let each = ticks as f64 / operations as f64;
        if ticks >= self.window / 2 {
            self.windows.push(each);
        }
        let last = self.windows.last_chunk::<AGREEING>();
        let agree = last.is_some_and(|last| {
            let (least, most) = last.iter().fold((f64::INFINITY, 0.0_f64), |(least, most), one| {
                (least.min(*one), most.max(*one))
            });
            most <= APART * least
        });
        if agree || now >= self.most {
            return 0;
        }
        let left = self.window.min(self.most - now);
        ((left as f64 / each) as u64).clamp(1, operations * GROWTH)
    }
}

/// Operations of the next segment of a warm-up of exactly so many, of which some are done, `last` of them in the last
/// segment; 0: it is over.
pub(crate) fn counted(all: u64, done: u64, last: u64) -> u64 {
    all.saturating_sub(done).min(last * GROWTH)
}

/// How far a timed region has come.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SliceLength {
    goal: Goal,
    /// Samples so far, without those that lead in.
    done: u64,
    /// What they took, ticks.
    spent: f64,
    /// What one was expected to take.
    expected: f64,
    /// Segments in which nothing was timed, because all of it was lost.
    empty: u32,
}

#[derive(Clone, Copy, Debug)]
enum Goal {
    /// So many samples, however long they take.
    Samples(u64),
    /// So many ticks, in segments of at most so many; the first has at least `fewest` samples, and no other is worth while
    /// that has fewer than half of these.
    Time { planned: f64, piece: f64, fewest: u64 },
}

impl SliceLength {
    /// So many samples, however long they take: messages that have a time of their own, or a number that was asked for.
    pub(crate) fn of_samples(count: u64) -> Self {
        let (goal, expected) = (Goal::Samples(count), f64::INFINITY);
        Self { goal, done: 0, spent: 0.0, expected, empty: 0 }
    }

    /// So many ticks, in which a sample is expected to take `expected`, in so many segments if that is right. What is
    /// expected of operations can be wrong by as much as it likes: then the region is longer by what is wrong in one
    /// segment.
    pub(crate) fn of_time(planned: u64, expected: f64, fewest: u64, segments: u32) -> Self {
        let planned = planned as f64;
        let goal = Goal::Time { planned, piece: planned / f64::from(segments), fewest };
        Self { goal, done: 0, spent: 0.0, expected, empty: 0 }
    }

    /// Samples of the next segment; 0: the region is over.
    pub(crate) fn next(&self) -> u64 {
        match self.goal {
            Goal::Samples(count) => count.saturating_sub(self.done),
            Goal::Time { planned, .. } if self.spent >= ENOUGH * planned => 0,
            // Twice as many in all: a sender that nothing stops was done before its receiver had looked.
            Goal::Time { .. } if self.empty > 0 && self.spent <= 0.0 => {
                if self.empty < EMPTY {
                    self.done
                } else {
                    0
                }
            }
            Goal::Time { planned, piece, fewest } => {
                let left = planned - self.spent;
                // A rest that is shorter than half a segment goes with the last one.
                let ticks = if left < 1.5 * piece { left } else { piece };
                let fitting = |ticks: f64| (ticks / self.per_sample()) as u64;
                let samples = fitting(ticks).max(LEAST * fewest).min(fitting(left));
                match self.done {
                    0 => samples.max(fewest),
                    _ if samples < fewest / 2 => 0,
                    _ => samples,
                }
            }
        }
    }

    /// Ticks of a sample, as far as known.
    pub(crate) fn per_sample(&self) -> f64 {
        if self.done == 0 { self.expected } else { self.spent / self.done as f64 }
    }

    /// So many samples took so many ticks.
    pub(crate) fn took(&mut self, samples: u64, ticks: f64) {
        self.done += samples;
        self.spent += ticks;
        self.empty += u32::from(ticks <= 0.0);
    }

    /// Samples so far.
    pub(crate) fn done(&self) -> u64 {
        self.done
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ipcperf_stats::Rng;

    const PLANNED: u64 = 15_000_000;

    /// Ticks and segments of a region in which operations take what `of` says of each at its begin.
    fn region(mut length: SliceLength, mut of: impl FnMut(f64) -> f64) -> (f64, Vec<u64>) {
        let (mut now, mut segments) = (0.0, Vec::new());
        while let samples @ 1.. = length.next() {
            assert!(segments.len() < 50, "it does not end: {segments:?}");
            let begin = now;
            for _ in 0..samples {
                now += of(now);
            }
            length.took(samples, now - begin);
            segments.push(samples);
        }
        (now / PLANNED as f64, segments)
    }

    fn in_pieces(count: u32, expected: f64, of: impl FnMut(f64) -> f64) -> (f64, Vec<u64>) {
        region(SliceLength::of_time(PLANNED, expected, FEWEST, count), of)
    }

    /// Ticks and segments of a warm-up of 1000 ticks in which operations take what `of` says of each, in order.
    fn warm_up(of: impl Fn(u64) -> u64) -> (u64, Vec<u64>) {
        let (mut spent, mut segments, mut expected) = (0, vec![1], Expected::default());
        let mut done = 0;
        loop {
            let last = segments[segments.len() - 1];
            let ticks = (done..done + last).map(&of).sum();
            (spent, done) = (spent + ticks, done + last);
            expected.add(last, ticks, 0);
            match expected.next(1000, spent, last) {
                0 => return (spent, segments),
                next => segments.push(next),
            }
        }
    }

    #[test]
    fn a_warm_up_takes_its_time_and_an_operation_that_is_held_up_does_not_end_it() {
        assert_eq!(warm_up(|_| 1), (1000, vec![1, 8, 64, 512, 415]));
        assert_eq!(warm_up(|at| if at == 0 { 3000 } else { 1 }).1, [1, 1, 8]);
        // Operations as long as that are rare enough to wait for.
        assert_eq!(warm_up(|_| 500), (4000, vec![1, 1, 6]));
        assert_eq!(warm_up(|_| 5000), (5000, vec![1]));
    }

    /// Operations and ticks of the warm-up of a program whose operations take what `of` says of each, in order.
    fn settled(of: impl Fn(u64) -> u64) -> (u64, u64) {
        let mut settling = Settling::new(1000, 100_000);
        let (mut done, mut now, mut next) = (0, 0, 1);
        while next > 0 {
            let ticks = (done..done + next).map(&of).sum::<u64>();
            (done, now) = (done + next, now + ticks);
            next = settling.next(next, ticks, now);
        }
        (done, now)
    }

    #[test]
    fn the_warm_up_of_a_program_ends_when_windows_agree_or_the_time_is_over() {
        let (_, steady) = settled(|_| 10);
        assert!((2000..6000).contains(&steady), "{steady}");
        // Each is quicker than the one before it, less and less so.
        let (done, ticks) = settled(|at| 10 + 2000 / (at + 1));
        assert!(done > 100 && ticks < 100_000, "{done} in {ticks}");
        // Windows that never agree.
        let (_, longest) = settled(|at| 600 + 600 * (at % 2));
        assert!((100_000..102_000).contains(&longest), "{longest}");
        assert_eq!(settled(|_| 300_000).0, 1, "one operation may take longer than all of it");
    }

    #[test]
    fn a_warm_up_that_is_counted_has_so_many_operations_in_growing_segments() {
        for all in [1, 2, 9, 10, 500, 10_000, 100_000_000] {
            let mut segments = vec![1];
            while let next @ 1.. = counted(all, segments.iter().sum(), segments[segments.len() - 1])
            {
                segments.push(next);
            }
            assert_eq!(segments.iter().sum::<u64>(), all, "{segments:?}");
            assert!(segments.windows(2).all(|pair| pair[1] <= 8 * pair[0]), "{segments:?}");
        }
        assert_eq!([counted(500, 1, 1), counted(500, 9, 8), counted(500, 500, 427)], [8, 64, 0]);
    }

    #[test]
    fn a_region_takes_its_time_whatever_the_warm_up_let_expect() {
        for factor in [0.01, 0.2, 0.5, 0.8, 1.0, 1.25, 2.0, 5.0] {
            for pieces in [1, 2, 4] {
                let (took, segments) = in_pieces(pieces, 5000.0, |_| 5000.0 * factor);
                // No longer than its first segment, if that alone is too long.
                let most = (factor / f64::from(pieces)).max(1.0) + 0.01;
                assert!((ENOUGH..=most).contains(&took), "{factor}: {took} in {segments:?}");
            }
        }
    }

    #[test]
    fn operations_that_jump_between_two_states_fill_the_region_too() {
        let mut all = Vec::new();
        for seed in 0..200 {
            let mut rng = Rng::from_seed(seed);
            let (mut fast, mut until) = (true, 0.0);
            let (took, _) = in_pieces(4, 400.0, |now| {
                if now >= until {
                    fast = !fast;
                    until = now + rng.exponential(3e6);
                }
                if fast { 400.0 } else { 6000.0 }
            });
            // A segment may begin in the fast state and end in the slow one, 15 times as long.
            assert!((ENOUGH..=1.0 + 15.0 / 4.0).contains(&took), "seed {seed}: {took}");
            all.push(took);
        }
        all.sort_by(f64::total_cmp);
        assert!(all[100] < 1.3 && all[180] < 2.5, "{} and {}", all[100], all[180]);
    }

    #[test]
    fn a_region_that_goes_as_expected_has_no_more_segments_than_asked_for() {
        assert_eq!(in_pieces(4, 5000.0, |_| 5000.0).1, [750; 4]);
        assert_eq!(in_pieces(4, 5000.0, |_| 5100.0).1.len(), 4);
        assert_eq!(in_pieces(4, 5000.0, |_| 4900.0).1.len(), 4);
        assert_eq!(in_pieces(2, 5000.0, |_| 5000.0).1, [1500; 2]);
        assert_eq!(in_pieces(1, 5000.0, |_| 4600.0).1, [3000]);
        // Too few samples to be cut, or to be worth another segment.
        assert_eq!(in_pieces(4, 500_000.0, |_| 500_000.0).1, [30]);
        assert_eq!(in_pieces(4, 200_000.0, |_| 200_000.0).1, [32, 32, 11]);
        assert_eq!(in_pieces(4, 5e6, |_| 1e6).1, [8, 7]);
        assert_eq!(in_pieces(4, 5e6, |_| 1.3e6).1, [8]);
    }

    #[test]
    fn where_all_was_lost_more_is_tried_and_not_for_ever() {
        let mut length = SliceLength::of_time(PLANNED, 5000.0, FEWEST, 2);
        let mut segments = Vec::new();
        while let samples @ 1.. = length.next() {
            length.took(samples, 0.0);
            segments.push(samples);
        }
        assert_eq!(segments, [1500, 1500, 3000, 6000, 12_000]);
        let mut length = SliceLength::of_time(PLANNED, 5000.0, FEWEST, 2);
        length.took(1500, 0.0);
        length.took(1500, 5e6);
        assert_eq!(length.next(), 6000);
    }

    #[test]
    fn a_number_that_was_asked_for_is_moved_however_long_it_takes() {
        let mut length = SliceLength::of_samples(1000);
        length.took(600, 1e12);
        assert_eq!((length.next(), length.done()), (400, 600));
        length.took(400, 1.0);
        assert_eq!(length.next(), 0);
    }

    #[test]
    fn what_an_operation_takes_is_not_told_by_a_segment_that_is_mostly_gate() {
        let mut expected = Expected::default();
        // The gate costs 60,000 ticks, an operation 400.
        for operations in [1, 8, 64, 512, 4096, 3] {
            expected.add(operations, 60_000 + 400 * operations, 400);
        }
        assert!((expected.per_operation - 414.6).abs() < 0.1, "{expected:?}");
    }
}

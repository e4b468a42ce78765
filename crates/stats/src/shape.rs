//! Do the values of one sample fall into modes?
//!
//! A mechanism that spins before it sleeps has two kinds of round trips in one slice: most take half a microsecond, and
//! those in which an end fell asleep take ten. Their median tells of the first only, their mean of neither.

use crate::histogram::Histogram;

/// Bins for each doubling of the value. Modes that are [`RATIO`] apart are then five bins apart.
const BINS: f64 = 8.0;
/// A valley is less than this share of the lower of the peaks beside it.
const VALLEY: f64 = 0.5;
/// ... and lower than it by this many standard errors of the difference of two counts: a bin of a small sample is empty
/// by chance.
const ERRORS: f64 = 3.0;
/// A mode holds at least this share of the values. What is rarer (a clock tick, an interrupt, the tail) is no mode.
pub const SHARE: f64 = 0.05;
/// A mode is at least this many times the one below it, as between rounds ([`crate::modes`]).
const RATIO: f64 = 1.5;

/// One mode of a sample.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SampleMode {
    /// The smallest value that belongs to it, to the resolution of a bucket.
    pub from: u64,
    /// The largest, likewise.
    pub to: u64,
    /// Their median.
    pub median: u64,
    /// How many of all values belong to it, of 1.
    pub share: f64,
    /// Their part of the sum of all values, of 1.
    pub sum_share: f64,
}

/// Divides a sample into its modes, smallest first; empty if it has one only.
///
/// The values are counted in bins of equal width on a logarithmic scale, which are smoothed by their neighbours. The
/// peaks of this curve are modes if every valley between two of them falls below half of the lower one, by more than
/// chance explains, if each holds 5 % of the values, and if they are a factor of 1.5 apart. Peaks that are not are taken
/// together with their neighbour, the least prominent first. Every value belongs to one mode.
///
/// Of 100 samples each (`crates/stats/src/shape.rs`, tests): 1 and 3 µs half and half are always found; lognormal samples
/// up to σ = 1, Pareto tails from α = 0.8 on, and the clock tick of a busy CPU are never divided.
#[must_use]
pub fn modes(sample: &Histogram) -> Vec<SampleMode> {
    let Some(mut hills) = Hills::of(sample) else { return Vec::new() };
    while let Some(cut) = hills.wrong() {
        hills.join(cut);
    }
    if hills.tops.len() < 2 { Vec::new() } else { hills.modes(sample) }
}

/// Peaks of the curve, and the cuts between each and the next.
struct Hills {
    /// Bin of the smallest value.
    first: i64,
    /// Values in each bin.
    counts: Vec<f64>,
    /// The same, smoothed.
    curve: Vec<f64>,
    tops: Vec<usize>,
    /// Lowest place between two tops; the hill on the right begins there.
    cuts: Vec<usize>,
}

/// The bin of a value.
fn bin(value: u64) -> i64 {
    ((value.max(1) as f64).log2() * BINS).floor() as i64
}

impl Hills {
    /// All peaks, whatever they are worth.
    fn of(sample: &Histogram) -> Option<Self> {
        let (first, last) = (bin(sample.min()?), bin(sample.max()?));
        let bins = usize::try_from(last - first).ok()? + 1;
        let mut counts = vec![0.0; bins];
        for (low, high, n) in sample.buckets() {
            counts[place(first, bins, low, high)] += n as f64;
        }
        let at = |at: Option<usize>| at.and_then(|at| counts.get(at)).copied().unwrap_or(0.0);
        let smooth = |i: usize| (at(i.checked_sub(1)) + 2.0 * at(Some(i)) + at(Some(i + 1))) / 4.0;
        let curve: Vec<f64> = (0..counts.len()).map(smooth).collect();
        let (mut tops, mut cuts) = (Vec::new(), Vec::new());
        let (mut lowest, mut rising) = (0, true);
        for i in 0..curve.len() {
            let next = curve.get(i + 1).copied().unwrap_or(0.0);
            if rising && next < curve[i] {
                if !tops.is_empty() {
                    cuts.push(lowest);
                }
                tops.push(i);
                (lowest, rising) = (i + 1, false);
            } else if !rising && curve[i] < curve[lowest] {
                lowest = i;
            }
            rising |= next > curve[i];
        }
        Some(Self { first, counts, curve, tops, cuts })
    }

    /// A cut that does not part two modes; `None` if all do.
    fn wrong(&self) -> Option<usize> {
        let all = || 0..self.cuts.len();
        let shallow = all().filter(|cut| !self.is_deep(*cut));
        let least = shallow.min_by(|a, b| self.depth(*a).total_cmp(&self.depth(*b)));
        let close = || all().find(|cut| self.are_close(*cut));
        least.or_else(|| self.rare()).or_else(close)
    }

    /// How far the curve falls from the lower of the tops beside a cut.
    fn depth(&self, cut: usize) -> f64 {
        self.lower(cut) - self.curve[self.cuts[cut]]
    }

    fn lower(&self, cut: usize) -> f64 {
        self.curve[self.tops[cut]].min(self.curve[self.tops[cut + 1]])
    }

    fn is_deep(&self, cut: usize) -> bool {
        let (valley, peak) = (self.curve[self.cuts[cut]], self.lower(cut));
        valley < VALLEY * peak && peak - valley > ERRORS * (peak + valley).sqrt()
    }

    fn are_close(&self, cut: usize) -> bool {
        ((self.tops[cut + 1] - self.tops[cut]) as f64) < RATIO.log2() * BINS
    }

    /// The shallower cut beside a hill that holds too little.
    fn rare(&self) -> Option<usize> {
        let least = SHARE * self.counts.iter().sum::<f64>();
        let rare = (0..self.tops.len()).find(|hill| {
            let (from, to) = self.range(*hill);
            self.counts[from..to].iter().sum::<f64>() < least
        })?;
        let beside = [rare.checked_sub(1), (rare < self.cuts.len()).then_some(rare)];
        let height = |cut: &usize| self.curve[self.cuts[*cut]];
        beside.into_iter().flatten().max_by(|a, b| height(a).total_cmp(&height(b)))
    }

    /// Bins of a hill: the first, and the one after its last.
    fn range(&self, hill: usize) -> (usize, usize) {
        let from = hill.checked_sub(1).map_or(0, |cut| self.cuts[cut]);
        (from, self.cuts.get(hill).copied().unwrap_or(self.counts.len()))
    }

    /// Makes one hill of the two beside a cut; its top is the higher of theirs.
    fn join(&mut self, cut: usize) {
        let is_left = self.curve[self.tops[cut]] >= self.curve[self.tops[cut + 1]];
        self.tops.remove(if is_left { cut + 1 } else { cut });
        self.cuts.remove(cut);
    }

    fn modes(&self, sample: &Histogram) -> Vec<SampleMode> {
        let mut hills = vec![Histogram::new(); self.tops.len()];
        let mut edges = vec![(u64::MAX, 0); self.tops.len()];
        for (low, high, n) in sample.buckets() {
            let at = place(self.first, self.counts.len(), low, high);
            let hill = self.cuts.iter().take_while(|cut| **cut <= at).count();
            hills[hill].record_n(low + (high - low) / 2, n);
            edges[hill] = (edges[hill].0.min(low), edges[hill].1.max(high));
        }
        let count: u64 = hills.iter().map(Histogram::count).sum();
        let sum: f64 = hills.iter().map(|hill| hill.sum() as f64).sum();
        let mode = |(hill, (from, to)): (&Histogram, (u64, u64))| SampleMode {
            from,
            to,
            median: hill.quantile(0.5).unwrap_or(from),
            share: hill.count() as f64 / count as f64,
            sum_share: hill.sum() as f64 / sum,
        };
        hills.iter().zip(edges).map(mode).collect()
    }
}

/// Where a bucket is counted. Its middle may lie before the smallest value or beyond the largest.
fn place(first: i64, bins: usize, low: u64, high: u64) -> usize {
    let at = (bin(low + (high - low) / 2) - first).max(0);
    usize::try_from(at).unwrap_or(0).min(bins - 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Rng;

    /// `n` values, in picoseconds of so many nanoseconds.
    fn sample(n: usize, mut draw: impl FnMut() -> f64) -> Histogram {
        let mut histogram = Histogram::new();
        (0..n).for_each(|_| histogram.record((draw() * 1e3) as u64));
        histogram
    }

    /// How many of 100 samples of one source have more than one mode.
    fn divided(seed: u64, n: usize, draw: impl Fn(&mut Rng) -> f64) -> usize {
        let mut rng = Rng::from_seed(seed);
        (0..100).filter(|_| !modes(&sample(n, || draw(&mut rng))).is_empty()).count()
    }

    fn lognormal(rng: &mut Rng, median: f64, sigma: f64) -> f64 {
        median * (sigma * rng.normal()).exp()
    }

    #[test]
    fn one_and_three_microseconds_are_two_modes_of_every_sample() {
        let mut rng = Rng::from_seed(1);
        for n in [400, 1_000, 20_000] {
            for sigma in [0.0, 0.05, 0.2] {
                for _ in 0..100 {
                    let draw = || {
                        let median = if rng.below(2) == 0 { 1_000.0 } else { 3_000.0 };
                        lognormal(&mut rng, median, sigma)
                    };
                    let modes = modes(&sample(n, draw));
                    let [low, high] = modes.as_slice() else { panic!("{n} {sigma}: {modes:?}") };
                    let near =
                        |mode: &SampleMode, ns: f64| (mode.median as f64 / 1e3 / ns - 1.0).abs();
                    assert!(near(low, 1_000.0) < 0.1 && near(high, 3_000.0) < 0.1, "{modes:?}");
                    assert!((low.share - 0.5).abs() < 0.15, "{modes:?}");
                    assert!((low.share + high.share - 1.0).abs() < 1e-9);
                    assert!((low.sum_share + high.sum_share - 1.0).abs() < 1e-9);
                    // Three of four nanoseconds are spent in the slower half.
                    assert!((high.sum_share - 0.75).abs() < 0.1, "{modes:?}");
                    assert!(low.to < high.from, "{modes:?}");
                }
            }
        }
    }

    #[test]
    fn a_lognormal_sample_has_one_mode() {
        for sigma in [0.02, 0.1, 0.3, 1.0] {
            for n in [40, 300, 2_000, 10_000] {
                let found = divided(2, n, |rng| lognormal(rng, 1_000.0, sigma));
                assert!(found <= 1, "{found} of 100 samples of {n} at {sigma}");
            }
        }
    }

    #[test]
    fn a_heavy_tail_is_no_mode() {
        for alpha in [0.8, 1.5, 3.0] {
            for n in [300, 2_000, 10_000] {
                let pareto = |rng: &mut Rng| 1_000.0 * (1.0 - rng.unit()).powf(-1.0 / alpha);
                let found = divided(3, n, pareto);
                assert!(found <= 1, "{found} of 100 samples of {n} at {alpha}");
            }
        }
    }

    /// A tick every 4 ms adds 3 to 60 µs to the operation it falls into: the longer these are, the more of them it meets
    /// and the less it adds to each.
    #[test]
    fn the_clock_tick_is_no_mode_of_operations_of_any_length() {
        for ns in [300.0, 2_000.0, 10_000.0, 60_000.0, 400_000.0] {
            for tick in [3_000.0, 20_000.0, 60_000.0] {
                let found = divided(4, 3_000, |rng| {
                    let took = lognormal(rng, ns, 0.05);
                    took + if rng.unit() < (took + tick) / 4e6 { tick } else { 0.0 }
                });
                assert!(found <= 1, "{found} of 100 samples of {ns} ns, ticks of {tick}");
            }
        }
    }

    #[test]
    fn what_rarely_falls_asleep_is_two_modes_and_most_of_the_time_is_in_the_rare_one() {
        let mut rng = Rng::from_seed(5);
        let draw = || {
            let (median, sigma) = if rng.unit() < 0.15 { (10_000.0, 0.4) } else { (461.0, 0.1) };
            lognormal(&mut rng, median, sigma)
        };
        let modes = modes(&sample(20_000, draw));
        let [low, high] = modes.as_slice() else { panic!("{modes:?}") };
        assert!((low.median as f64 / 461e3 - 1.0).abs() < 0.02, "{modes:?}");
        assert!((high.share - 0.15).abs() < 0.02 && high.sum_share > 0.75, "{modes:?}");
    }

    #[test]
    fn three_modes_are_three_and_a_twentieth_part_is_needed() {
        let of = |counts: [u64; 3]| {
            let mut histogram = Histogram::new();
            for (value, n) in [1_000, 4_000, 16_000].into_iter().zip(counts) {
                histogram.record_n(value, n);
            }
            modes(&histogram).len()
        };
        assert_eq!(of([400, 300, 300]), 3);
        assert_eq!(of([660, 300, 40]), 2);
        assert_eq!(of([960, 40, 0]), 0);
        assert_eq!(of([600, 0, 400]), 2);
    }

    #[test]
    fn what_is_less_than_half_apart_or_too_small_a_sample_has_one_mode() {
        for values in [&[][..], &[7], &[7; 500], &[1_000, 3_000, 1_000, 3_000]] {
            let mut histogram = Histogram::new();
            values.iter().for_each(|value| histogram.record(*value));
            assert_eq!(modes(&histogram), [], "{values:?}");
        }
        let mut comb = Histogram::new();
        (0..12).for_each(|step| comb.record_n((1_000.0 * 1.2_f64.powi(step)) as u64, 200));
        assert_eq!(modes(&comb), [], "the steps of a coarse clock");
        let mut extremes = Histogram::new();
        extremes.record_n(0, 100);
        extremes.record_n(u64::MAX, 100);
        assert_eq!(modes(&extremes).len(), 2);
    }
}

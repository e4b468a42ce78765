//! A log-linear histogram: every quantile of a sample within 0.1 %, in memory that does not grow
//! with the number of values.
//!
//! # Error bound
//! An octave `[2^e, 2^(e+1))` is cut into 1024 buckets of equal width, so a bucket is at most
//! 1/1024 = 0.098 % of its lower bound wide and its midpoint is within 0.049 % of every value in
//! it. Below 2048 a bucket holds a single integer and nothing is lost.

use std::borrow::Cow;

use crate::rank::nearest_rank;
use ipcperf_core::result::{Buckets, HistogramData};

const SUB_BITS: u32 = 10;
/// Buckets per octave: 2^10 is the smallest power of two whose width stays below 0.1 %.
const SUB: usize = 1 << SUB_BITS;

/// The distribution of `u64` values (ticks or nanoseconds), with exact extremes, sum and count.
///
/// Counts saturate at `u64::MAX`, the sum at `u128::MAX`. Two histograms are equal exactly when
/// they hold the same buckets, extremes and sum, however they came about.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Histogram {
    // Entry 0 holds the values below 1024, entry i the octave [2^(i+9), 2^(i+10)). An octave
    // exists only once it holds a value; `Eq` relies on that.
    octaves: Vec<Option<Box<[u64]>>>,
    min: u64,
    max: u64,
    sum: u128,
    count: u64,
}

/// The octave and the position in it where `value` is counted.
fn locate(value: u64) -> (usize, usize) {
    if value < SUB as u64 {
        return (0, value as usize);
    }
    let exponent = value.ilog2();
    let position = (value >> (exponent - SUB_BITS)) as usize - SUB;
    ((exponent - SUB_BITS) as usize + 1, position)
}

/// The smallest and the largest value counted at `position` of `octave`.
fn bounds(octave: usize, position: usize) -> (u64, u64) {
    if octave == 0 {
        return (position as u64, position as u64);
    }
    let shift = octave - 1;
    let low = ((SUB + position) as u64) << shift;
    (low, low + ((1 << shift) - 1))
}

/// `value * factor`, rounded to the nearest integer and saturated to the range of `u64`.
fn scale(value: u64, factor: f64) -> u64 {
    (value as f64 * factor).round() as u64
}

/// As a document has it; values are in ps.
impl From<&Histogram> for HistogramData {
    fn from(histogram: &Histogram) -> Self {
        let buckets = histogram.buckets().map(|(low, _, count)| (low, count));
        Self {
            min: histogram.min().unwrap_or(0),
            max: histogram.max().unwrap_or(0),
            sum: u64::try_from(histogram.sum()).unwrap_or(u64::MAX),
            buckets: Buckets::new(buckets).expect("buckets of a histogram"),
        }
    }
}

/// The values of one round, however they are kept: of thousands of rounds nobody holds all histograms at once.
pub trait Sample {
    /// The number of values.
    fn count(&self) -> u64;
    /// As [`Histogram::buckets`].
    fn buckets(&self) -> impl Iterator<Item = (u64, u64, u64)>;
    /// All of it.
    fn whole(&self) -> Cow<'_, Histogram>;
}

impl Sample for Histogram {
    fn count(&self) -> u64 {
        self.count
    }

    fn buckets(&self) -> impl Iterator<Item = (u64, u64, u64)> {
        self.buckets()
    }

    fn whole(&self) -> Cow<'_, Histogram> {
        Cow::Borrowed(self)
    }
}

/// As [`Histogram::quantile`], of buckets in ascending order, the exact extremes and the number of values.
pub fn quantile_of_buckets(
    buckets: impl IntoIterator<Item = (u64, u64, u64)>,
    [min, max]: [u64; 2],
    count: u64,
    q: f64,
) -> Option<u64> {
    let rank = nearest_rank(count, q)?;
    if rank == 1 {
        return Some(min);
    }
    if rank == count {
        return Some(max);
    }
    let mut seen = 0_u64;
    for (low, high, n) in buckets {
        seen = seen.saturating_add(n);
        if seen >= rank {
            return Some(midpoint(low, high).clamp(min, max));
        }
    }
    Some(max)
}

const fn midpoint(low: u64, high: u64) -> u64 {
    low + (high - low) / 2
}

impl Histogram {
    /// An empty histogram.
    pub fn new() -> Self {
        Self::default()
    }

    /// Counts `value` once.
    pub fn record(&mut self, value: u64) {
        self.record_n(value, 1);
    }

    /// Counts `value` `n` times; nothing happens for `n = 0`.
    pub fn record_n(&mut self, value: u64, n: u64) {
        if n == 0 {
            return;
        }
        self.widen(value, value);
        let (octave, position) = locate(value);
        let slot = &mut self.octave_mut(octave)[position];
        *slot = slot.saturating_add(n);
        self.count = self.count.saturating_add(n);
        self.sum = self.sum.saturating_add(u128::from(value) * u128::from(n));
    }

    /// Adds all values of `other`: the result equals the histogram of the union.
    pub fn merge(&mut self, other: &Self) {
        if other.count == 0 {
            return;
        }
        self.widen(other.min, other.max);
        for (octave, theirs) in other.octaves.iter().enumerate() {
            let Some(theirs) = theirs else { continue };
            for (mine, n) in self.octave_mut(octave).iter_mut().zip(theirs) {
                *mine = mine.saturating_add(*n);
            }
        }
        self.count = self.count.saturating_add(other.count);
        self.sum = self.sum.saturating_add(other.sum);
    }

    /// The smallest value, exact; `None` when empty.
    pub fn min(&self) -> Option<u64> {
        (self.count > 0).then_some(self.min)
    }

    /// The largest value, exact; `None` when empty.
    pub fn max(&self) -> Option<u64> {
        (self.count > 0).then_some(self.max)
    }

    /// The sum of all values, exact.
    pub fn sum(&self) -> u128 {
        self.sum
    }

    /// The number of values.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// The nearest-rank quantile: the midpoint of the bucket of the ⌈q·n⌉-th smallest value.
    ///
    /// Within 0.049 % of the exact value; the first and the last value are exact. `None` when the
    /// histogram is empty or `q` lies outside 0..=1. Says nothing about whether the sample is
    /// large enough: see [`support`](crate::support).
    pub fn quantile(&self, q: f64) -> Option<u64> {
        let ends = [self.min, self.max];
        quantile_of_buckets(self.buckets(), ends, self.count, q)
    }

    /// The non-empty buckets in ascending order, as (lowest, highest, count); both ends belong to
    /// the bucket.
    pub fn buckets(&self) -> impl Iterator<Item = (u64, u64, u64)> + '_ {
        self.octaves.iter().enumerate().flat_map(|(octave, counts)| {
            counts.iter().flat_map(|counts| counts.iter().enumerate()).filter_map(
                move |(position, &n)| {
                    let (low, high) = bounds(octave, position);
                    (n > 0).then_some((low, high, n))
                },
            )
        })
    }

    /// The number of values above `x`, to the resolution of a bucket: values that share the bucket
    /// of `x` count as not above it. Exact when `x` is the upper bound of a bucket, and below 2048.
    pub fn count_above(&self, x: u64) -> u64 {
        if x < self.min {
            return self.count;
        }
        self.buckets().filter(|&(low, ..)| low > x).map(|(.., n)| n).fold(0, u64::saturating_add)
    }

    /// The distribution in another unit, for instance ticks turned into nanoseconds.
    ///
    /// Each bucket moves as a whole, by its midpoint; extremes and sum are scaled themselves, so
    /// they carry no bucket error. Results saturate; a factor that is negative or not a number
    /// gives zeros.
    pub fn scaled(&self, factor: f64) -> Self {
        let mut scaled = Self::new();
        if self.count == 0 {
            return scaled;
        }
        // One value stands exactly at either end. They are recorded as such, because the midpoint
        // of their bucket may land in a neighbouring bucket of the new scale.
        scaled.record(scale(self.min, factor));
        if self.count > 1 {
            scaled.record(scale(self.max, factor));
        }
        let (first, last) = (locate(self.min), locate(self.max));
        for (low, high, n) in self.buckets() {
            let place = locate(low);
            let ends = u64::from(place == first) + u64::from(self.count > 1 && place == last);
            scaled.record_n(scale(self.midpoint(low, high), factor), n.saturating_sub(ends));
        }
        scaled.sum = (self.sum as f64 * factor).round() as u128;
        scaled
    }

    /// Rebuilds a histogram from what [`buckets`](Self::buckets), `min`, `max` and `sum` exported;
    /// `parts` are the lower bounds and counts. An empty histogram has zeros and no parts.
    ///
    /// # Errors
    /// Input that no histogram exports is refused: a result file may come from anywhere.
    pub fn from_parts(min: u64, max: u64, sum: u128, parts: &[(u64, u64)]) -> Result<Self, String> {
        let mut histogram = Self::new();
        let mut before = None;
        for &(low, n) in parts {
            let (octave, position) = locate(low);
            if bounds(octave, position).0 != low {
                return Err(format!("{low} is not the lower bound of a bucket"));
            }
            if before.is_some_and(|before| before >= low) {
                return Err(format!("bucket {low} is out of order"));
            }
            if n == 0 {
                return Err(format!("bucket {low} has a count of zero"));
            }
            before = Some(low);
            let too_many = || format!("the counts add up to more than {}", u64::MAX);
            histogram.count = histogram.count.checked_add(n).ok_or_else(too_many)?;
            histogram.octave_mut(octave)[position] = n;
        }
        let first = parts.first().map_or(0, |part| part.0);
        if locate(min) != locate(first) {
            return Err("the minimum is not in the first bucket".into());
        }
        let single = histogram.count <= 1 && min != max;
        if locate(max) != locate(before.unwrap_or(0)) || max < min || single {
            return Err("the maximum is not in the last bucket".into());
        }
        // Scaling rounds each extreme by up to half a unit while the sum keeps its precision, so
        // one unit per value of play is allowed, and f64 precision on top.
        let n = u128::from(histogram.count);
        let least = n * u128::from(min.saturating_sub(1));
        let most = n * (u128::from(max) + 1);
        let play = most >> 50;
        if sum < least - least.min(play) || sum > most.saturating_add(play) {
            return Err("the sum does not fit the count and the extremes".into());
        }
        (histogram.min, histogram.max, histogram.sum) = (min, max, sum);
        Ok(histogram)
    }

    /// One as a document has it; `None` where that is no histogram's.
    #[must_use]
    pub fn recorded(data: &HistogramData) -> Option<Self> {
        let parts = data.buckets.read()?;
        Self::from_parts(data.min, data.max, data.sum.into(), &parts).ok()
    }

    fn midpoint(&self, low: u64, high: u64) -> u64 {
        midpoint(low, high).clamp(self.min, self.max)
    }

    fn widen(&mut self, min: u64, max: u64) {
        let empty = self.count == 0;
        self.min = if empty { min } else { self.min.min(min) };
        self.max = if empty { max } else { self.max.max(max) };
    }

    fn octave_mut(&mut self, octave: usize) -> &mut [u64] {
        if self.octaves.len() <= octave {
            self.octaves.resize(octave + 1, None);
        }
        self.octaves[octave].get_or_insert_with(|| vec![0; SUB].into())
    }
}

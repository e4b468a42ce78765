//! Histograms as a run keeps them.

use crate::hot::Recorder;
use ipcperf_core::result::{Buckets, HistogramData};
use ipcperf_stats::{Histogram, Sample};
use std::borrow::Cow;

/// A histogram at rest: a run keeps one or more for each slice until it ends. Its buckets are the text that the document
/// will have: 1.2 bytes for each that is not empty, 1.5 where many hold more than eight values.
#[derive(Clone, Debug, Default)]
pub struct Compact {
    min: u64,
    max: u64,
    sum: u128,
    count: u64,
    buckets: Buckets,
}

impl Compact {
    pub(crate) fn min(&self) -> Option<u64> {
        (self.count > 0).then_some(self.min)
    }

    pub(crate) fn max(&self) -> Option<u64> {
        (self.count > 0).then_some(self.max)
    }

    /// In another unit: [`Histogram::scaled`].
    pub(crate) fn scaled(&self, factor: f64) -> Self {
        Self::from(&Histogram::from(self).scaled(factor))
    }
}

impl Sample for Compact {
    fn count(&self) -> u64 {
        self.count
    }

    fn buckets(&self) -> impl Iterator<Item = (u64, u64, u64)> {
        let buckets = self.buckets.iter().map_while(|bucket| bucket);
        buckets.map(|(low, count)| (low, Buckets::upper_edge(low), count))
    }

    fn whole(&self) -> Cow<'_, Histogram> {
        Cow::Owned(self.into())
    }
}

impl From<&Histogram> for Compact {
    fn from(histogram: &Histogram) -> Self {
        Self {
            min: histogram.min().unwrap_or(0),
            max: histogram.max().unwrap_or(0),
            sum: histogram.sum(),
            count: histogram.count(),
            buckets: Buckets::new(histogram.buckets().map(|(low, _, count)| (low, count)))
                .expect("buckets of a histogram"),
        }
    }
}

impl From<&Compact> for Histogram {
    fn from(compact: &Compact) -> Self {
        let parts = compact.buckets.read().expect("what was written is read");
        Self::from_parts(compact.min, compact.max, compact.sum, &parts)
            .expect("parts of a histogram make one")
    }
}

/// As the document has it, where the values are in ps.
impl From<&Compact> for HistogramData {
    fn from(compact: &Compact) -> Self {
        let Compact { min, max, sum, buckets, .. } = compact.clone();
        Self { min, max, sum: u64::try_from(sum).unwrap_or(u64::MAX), buckets }
    }
}

/// Adds the samples whose answer came; returns how many others there are.
pub(super) fn collect(histogram: &mut Histogram, samples: &[u64]) -> u64 {
    let mut unanswered = 0;
    for ticks in samples {
        match *ticks {
            Recorder::LOST => unanswered += 1,
            ticks => histogram.record(ticks),
        }
    }
    unanswered
}

#[cfg(test)]
mod tests {
    use super::*;
    use ipcperf_stats::{Rng, across_rounds};

    #[test]
    fn a_histogram_at_rest_is_the_same_and_its_rounds_have_the_same_quantiles() {
        let mut rng = Rng::from_seed(7);
        let round = |_| {
            let (level, mut histogram) = (5000 + rng.below(900), Histogram::new());
            (0..4000).for_each(|_| histogram.record(level + (rng.exponential(700.0)) as u64));
            histogram
        };
        let rounds: Vec<Histogram> = (0..9).map(round).collect();
        let resting: Vec<Compact> = rounds.iter().map(Compact::from).collect();
        for (histogram, compact) in rounds.iter().zip(&resting) {
            assert_eq!(&Histogram::from(compact), histogram);
            assert!(Sample::buckets(compact).eq(histogram.buckets()));
            assert_eq!((compact.min(), compact.max()), (histogram.min(), histogram.max()));
            assert_eq!(HistogramData::from(compact), HistogramData::from(histogram));
        }
        let (rounds, resting): (Vec<_>, Vec<_>) = rounds.iter().zip(&resting).unzip();
        for q in [0.5, 0.99] {
            assert_eq!(across_rounds(&rounds, q), across_rounds(&resting, q));
        }
        assert_eq!((Compact::default().min(), Compact::default().max()), (None, None));
    }

    /// Of 20,000 values on a wide scale. As pairs of numbers they took 16 bytes each.
    #[test]
    fn a_bucket_at_rest_takes_less_than_two_bytes() {
        let (mut rng, mut histogram) = (Rng::from_seed(8), Histogram::new());
        (0..20_000).for_each(|_| histogram.record(9000 + (rng.exponential(2500.0)) as u64));
        let text = serde_json::to_string(&Compact::from(&histogram).buckets).expect("a text");
        let buckets = histogram.buckets().count();
        assert!(buckets > 1000 && text.len() < 2 * buckets, "{} of {buckets}", text.len());
    }
}

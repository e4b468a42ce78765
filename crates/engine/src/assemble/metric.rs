//! Summaries of rounds: medians with intervals, modes, tails.

use super::sliced::Sliced;
use crate::slice::Compact;
use ipcperf_core::result::{Metric, Mode, OperationMode, Spread};
use ipcperf_core::{Figure, map_of};
use ipcperf_stats::{
    Estimate, Histogram, Sample, across_rounds, median, median_estimate, modes, shape, support,
};
use std::collections::BTreeMap;

/// Quantiles of a round trip, with the names of the document.
const QUANTILES: [(&str, f64); 6] = [
    ("p50", 0.5),
    ("p90", 0.9),
    ("p99", 0.99),
    ("p99.9", 0.999),
    ("p99.99", 0.9999),
    ("p99.999", 0.99999),
];

fn too_few(rounds: usize) -> String {
    format!("a 95 % interval needs 6 rounds, has {rounds}")
}

pub(super) fn interval(estimate: Estimate) -> Option<[f64; 2]> {
    estimate.ci95.map(|interval| [interval.low, interval.high])
}

pub(super) fn times(metric: &Metric, factor: f64) -> Metric {
    Metric {
        value: metric.value.map(|value| value * factor),
        ci95: metric.ci95.map(|[low, high]| [low * factor, high * factor]),
        modes: metric
            .modes
            .iter()
            .map(|mode| Mode { value: mode.value * factor, ..mode.clone() })
            .collect(),
        ..metric.clone()
    }
}

/// Median over rounds with its interval. Rounds that fall into two modes are never mixed: the mode with more rounds
/// speaks (the slower, more cautious one in a draw), both are named, and only its slices are returned.
pub(super) fn centre<'a>(accepted: &[&'a Sliced], figure: Figure) -> (Metric, Vec<&'a Sliced>) {
    // A slice in which too little arrived for a rate has no figure; it must not take away those of the others.
    let accepted: Vec<&Sliced> =
        accepted.iter().copied().filter(|slice| slice.centre.is_finite()).collect();
    let values: Vec<f64> = accepted.iter().map(|slice| slice.centre).collect();
    let (metric, kept) = modal(&values, figure == Figure::Time);
    (metric, kept.into_iter().filter_map(|at| accepted.get(at).copied()).collect())
}

/// Median over rounds with its interval, of the main mode where there are two, and which rounds these are.
pub(crate) fn modal(values: &[f64], slower_is_high: bool) -> (Metric, Vec<usize>) {
    let Some(split) = modes::split(values) else {
        return (over_rounds(values), (0..values.len()).collect());
    };
    let (low, high) = (&split.low, &split.high);
    let chosen = match low.rounds.len().cmp(&high.rounds.len()) {
        std::cmp::Ordering::Greater => low,
        std::cmp::Ordering::Less => high,
        std::cmp::Ordering::Equal if slower_is_high => high,
        std::cmp::Ordering::Equal => low,
    };
    let kept: Vec<f64> = chosen.rounds.iter().filter_map(|at| values.get(*at).copied()).collect();
    let mode = |mode: &modes::Mode| Mode { value: mode.median, rounds: mode.rounds.len() as u64 };
    let modes = vec![mode(low), mode(high)];
    (Metric { modes, ..over_rounds(&kept) }, chosen.rounds.clone())
}

/// Least, median and most of these readings, each times `factor`; `None` without any.
pub(crate) fn spread(readings: &[f64], factor: f64) -> Option<Spread> {
    Some(Spread {
        min: readings.iter().copied().reduce(f64::min)? * factor,
        median: median(readings)? * factor,
        max: readings.iter().copied().reduce(f64::max)? * factor,
        n: readings.len() as u64,
    })
}

/// Median over rounds with its interval.
pub(crate) fn over_rounds(values: &[f64]) -> Metric {
    match median_estimate(values) {
        Some(estimate) => Metric {
            value: Some(estimate.value),
            ci95: interval(estimate),
            reason: estimate.ci95.is_none().then(|| too_few(values.len())),
            method: Some("rounds".into()),
            modes: Vec::new(),
        },
        None => Metric::missing("no round has a value"),
    }
}

/// The operations of one slice. One whose answer never came took longer than any other.
#[derive(Clone, Copy)]
pub(super) struct Timed<'a> {
    pub(super) histogram: &'a Compact,
    pub(super) unanswered: u64,
}

/// Why a quantile is missing that falls among operations whose answer never came.
const LOST: &str = "lost";

/// Where the quantile `q` of all operations lies among those that were answered; `None` if it lies beyond them.
pub(super) fn among_answered(answered: u64, unanswered: u64, q: f64) -> Option<f64> {
    let among = q * (answered as f64 + unanswered as f64) / answered as f64;
    (among <= 1.0).then_some(among)
}

impl<'a> Timed<'a> {
    pub(super) fn of(slices: &[&'a Sliced]) -> Vec<Self> {
        let timed =
            |slice: &&'a Sliced| Self { histogram: &slice.histogram, unanswered: slice.unanswered };
        slices.iter().map(timed).collect()
    }

    /// Operations that all have an answer.
    pub(super) fn answered(histograms: impl IntoIterator<Item = &'a Compact>) -> Vec<Self> {
        let answered = |histogram| Self { histogram, unanswered: 0 };
        histograms.into_iter().map(answered).collect()
    }
}

pub(super) fn round_trips(
    all: &[&Sliced],
    kept: &[&Sliced],
    batch: u64,
    centre: Metric,
) -> BTreeMap<String, Metric> {
    let mut table = if batch > 1 {
        let batched = || {
            Metric::missing(format!("timed in batches of {batch}: no single operation was timed"))
        };
        let names = QUANTILES.iter().map(|(name, _)| *name).chain(["min", "max"]);
        map_of(names.map(|name| (name.to_owned(), batched())))
    } else {
        distribution(&Timed::of(all), &Timed::of(kept))
    };
    table.insert("mean".to_owned(), mean(kept));
    let is_lost = centre.value.is_none() && all.iter().any(|slice| slice.unanswered > 0);
    table.insert("p50".to_owned(), if is_lost { Metric::missing(LOST) } else { centre });
    table
}

/// Median over rounds of the mean operation. A round in which an answer never came has none that is finite.
fn mean(kept: &[&Sliced]) -> Metric {
    let metric = over_rounds(&kept.iter().map(|slice| slice.mean).collect::<Vec<_>>());
    let is_finite = |value: &f64| value.is_finite();
    if !metric.value.as_ref().is_some_and(is_finite) {
        return Metric::missing(LOST);
    }
    match &metric.ci95 {
        Some(ends) if !ends.iter().all(is_finite) => {
            Metric { ci95: None, reason: Some(LOST.into()), ..metric }
        }
        _ => metric,
    }
}

/// The modes of the single operations of these rounds, the fastest first; none where there is one only.
pub(super) fn operation_modes(kept: &[&Sliced]) -> Vec<OperationMode> {
    let mut all = Histogram::new();
    for slice in kept {
        all.merge(&slice.histogram.whole());
    }
    let in_round = |slice: &&&Sliced, mode: &shape::SampleMode| {
        let histogram = slice.histogram.whole();
        let within =
            histogram.count_above(mode.from.saturating_sub(1)) - histogram.count_above(mode.to);
        within > 0 && within as f64 >= shape::SHARE * histogram.count() as f64
    };
    let mode = |mode: &shape::SampleMode| OperationMode {
        value: mode.median as f64 * PICOS,
        share: mode.share,
        time_share: mode.sum_share,
        rounds: kept.iter().filter(|slice| in_round(slice, mode)).count() as u64,
    };
    shape::modes(&all).iter().map(mode).collect()
}

/// The quantiles of what was timed, ns, from histograms of picoseconds: extremes of all rounds, the rest of those kept.
pub(super) fn distribution(all: &[Timed<'_>], kept: &[Timed<'_>]) -> BTreeMap<String, Metric> {
    let quantiles = QUANTILES.iter().map(|(name, q)| ((*name).to_owned(), quantile(kept, *q)));
    map_of(quantiles.chain(extremes(all)))
}

fn extremes(slices: &[Timed<'_>]) -> [(String, Metric); 2] {
    let exact = |picos: Option<u64>| match picos {
        Some(picos) => Metric {
            value: Some(picos as f64 * PICOS),
            method: Some("exact".into()),
            ..Metric::default()
        },
        None => Metric::missing("no samples"),
    };
    let histograms = || slices.iter().map(|slice| slice.histogram);
    let max = if slices.iter().any(|slice| slice.unanswered > 0) {
        Metric::missing(LOST)
    } else {
        exact(histograms().filter_map(Compact::max).max())
    };
    [
        ("min".to_owned(), exact(histograms().filter_map(Compact::min).min())),
        ("max".to_owned(), max),
    ]
}

/// Nanoseconds of a picosecond.
const PICOS: f64 = 1e-3;

/// A quantile: of the middle the median over rounds where every slice supports it by itself, else that of all slices
/// merged, else nothing. What is rare comes in bursts that most rounds do not have: a median over rounds would be that of
/// rounds without.
fn quantile(slices: &[Timed<'_>], q: f64) -> Metric {
    let supported =
        |slice: &Timed<'_>| support(slice.histogram.count() + slice.unanswered, q).is_ok();
    let of_round = |slice: &Timed<'_>| {
        let among = among_answered(slice.histogram.count(), slice.unanswered, q)?;
        slice.histogram.whole().quantile(among).map(|picos| picos as f64 * PICOS)
    };
    if q <= 0.5
        && slices.iter().all(supported)
        && let Some(values) = slices.iter().map(of_round).collect::<Option<Vec<f64>>>()
        && !values.is_empty()
    {
        return over_rounds(&values);
    }
    merged(slices, q)
}

/// A quantile of all slices together.
pub(super) fn merged(slices: &[Timed<'_>], q: f64) -> Metric {
    let answered: u64 = slices.iter().map(|slice| slice.histogram.count()).sum();
    let unanswered: u64 = slices.iter().map(|slice| slice.unanswered).sum();
    let samples = answered + unanswered;
    if let Err(needed) = support(samples, q) {
        return Metric::missing(format!("needs {} samples, has {samples}", needed.samples));
    }
    let Some(among) = among_answered(answered, unanswered, q) else { return Metric::missing(LOST) };
    let histograms: Vec<&Compact> = slices.iter().map(|slice| slice.histogram).collect();
    match across_rounds(&histograms, among) {
        Some(estimate) => Metric {
            value: Some(estimate.value * PICOS),
            ci95: interval(estimate).map(|[low, high]| [low * PICOS, high * PICOS]),
            method: Some("merged".into()),
            reason: estimate
                .ci95
                .is_none()
                .then(|| "an interval over rounds needs 8 rounds".into()),
            modes: Vec::new(),
        },
        None => Metric::missing("no samples"),
    }
}

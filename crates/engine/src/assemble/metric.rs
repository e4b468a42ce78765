//! What rounds add up to: medians with intervals, modes, tails.

use super::cell::Sliced;
use ipcperf_core::result::{Metric, Mode};
use ipcperf_stats::{Estimate, Histogram, across_rounds, median_estimate, modes, support};
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
pub(super) fn centre<'a>(accepted: &[&'a Sliced]) -> (Metric, Vec<&'a Sliced>) {
    // A slice in which too little arrived for a rate has no figure; it must not take away those of the others.
    let accepted: Vec<&Sliced> =
        accepted.iter().copied().filter(|slice| slice.centre.is_finite()).collect();
    let values: Vec<f64> = accepted.iter().map(|slice| slice.centre).collect();
    let split = modes::split(&values);
    let kept: Vec<&Sliced> = match &split {
        None => accepted.clone(),
        Some(split) => {
            let slower_is_high = accepted.iter().any(|slice| slice.round.p50_ns.is_some());
            let (low, high) = (&split.low, &split.high);
            let chosen = match low.rounds.len().cmp(&high.rounds.len()) {
                std::cmp::Ordering::Greater => low,
                std::cmp::Ordering::Less => high,
                std::cmp::Ordering::Equal if slower_is_high => high,
                std::cmp::Ordering::Equal => low,
            };
            chosen.rounds.iter().map(|index| accepted[*index]).collect()
        }
    };
    let values: Vec<f64> = kept.iter().map(|slice| slice.centre).collect();
    let mut metric = over_rounds(&values);
    if let Some(split) = split {
        let mode =
            |mode: &modes::Mode| Mode { value: mode.median, rounds: mode.rounds.len() as u64 };
        metric.modes = vec![mode(&split.low), mode(&split.high)];
    }
    (metric, kept)
}

/// Median over rounds with its interval.
pub(super) fn over_rounds(values: &[f64]) -> Metric {
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

/// Quantiles of the calls of the peers of a fan.
pub(super) fn calls(all: &[&Sliced], kept: &[&Sliced]) -> BTreeMap<String, Metric> {
    let histograms: Vec<&Histogram> = kept.iter().map(|slice| &slice.histogram).collect();
    let samples: u64 = histograms.iter().map(|histogram| histogram.count()).sum();
    let quantiles = QUANTILES.map(|(name, q)| (name, quantile(&histograms, samples, q)));
    let everything = || all.iter().map(|slice| &slice.histogram);
    let extremes = [
        ("min", everything().filter_map(Histogram::min).min()),
        ("max", everything().filter_map(Histogram::max).max()),
    ];
    let exact = extremes.map(|(name, extreme)| {
        let metric = Metric {
            value: extreme.map(|picos| picos as f64 / 1e3),
            reason: extreme.is_none().then(|| "no samples".into()),
            method: Some("exact".into()),
            ..Metric::default()
        };
        (name, metric)
    });
    quantiles.into_iter().chain(exact).map(|(name, metric)| (name.to_owned(), metric)).collect()
}

pub(super) fn round_trips(
    all: &[&Sliced],
    kept: &[&Sliced],
    batch: u64,
    centre: Metric,
) -> BTreeMap<String, Metric> {
    let histograms: Vec<&Histogram> = kept.iter().map(|slice| &slice.histogram).collect();
    let everything: Vec<&Histogram> = all.iter().map(|slice| &slice.histogram).collect();
    distribution(&everything, &histograms, batch, Some(centre))
}

/// The quantiles of what was timed, ns, from histograms of picoseconds: extremes of all rounds, the rest of those kept.
pub(super) fn distribution(
    everything: &[&Histogram],
    histograms: &[&Histogram],
    batch: u64,
    centre: Option<Metric>,
) -> BTreeMap<String, Metric> {
    let mut table = BTreeMap::new();
    let samples: u64 = histograms.iter().map(|histogram| histogram.count()).sum();
    let batched =
        || Metric::missing(format!("timed in batches of {batch}: no single operation was timed"));
    for (name, q) in QUANTILES {
        let metric = match &centre {
            Some(centre) if name == "p50" => centre.clone(),
            _ if batch > 1 => batched(),
            _ => quantile(histograms, samples, q),
        };
        table.insert(name.to_owned(), metric);
    }
    let everything = everything.iter().copied();
    let extremes = [
        ("min", everything.clone().filter_map(Histogram::min).min()),
        ("max", everything.filter_map(Histogram::max).max()),
    ];
    for (name, extreme) in extremes {
        let metric = match extreme {
            Some(picos) => Metric {
                value: Some(picos as f64 / 1e3),
                method: Some("exact".into()),
                ..Metric::default()
            },
            None => batched(),
        };
        table.insert(name.to_owned(), metric);
    }
    table
}

/// All quantiles of what these histograms hold, picoseconds, and the extremes; the median, too, is one of all samples of
/// a round.
pub(super) fn quantiles(histograms: &[&Histogram]) -> BTreeMap<String, Metric> {
    let samples: u64 = histograms.iter().map(|histogram| histogram.count()).sum();
    let mut table: BTreeMap<String, Metric> = QUANTILES
        .iter()
        .map(|(name, q)| ((*name).to_owned(), quantile(histograms, samples, *q)))
        .collect();
    let smallest = histograms.iter().filter_map(|histogram| histogram.min()).min();
    let largest = histograms.iter().filter_map(|histogram| histogram.max()).max();
    for (name, extreme) in [("min", smallest), ("max", largest)] {
        let metric = Metric {
            value: extreme.map(|picos| picos as f64 / 1e3),
            method: Some("exact".into()),
            ..Metric::default()
        };
        table.insert(name.to_owned(), metric);
    }
    table
}

/// A tail quantile: the median over rounds where every slice supports it by itself, else that of all slices merged,
/// else nothing.
fn quantile(histograms: &[&Histogram], samples: u64, q: f64) -> Metric {
    const PICOS: f64 = 1e-3;
    if histograms.iter().all(|histogram| support(histogram.count(), q).is_ok()) {
        let values: Vec<f64> = histograms
            .iter()
            .filter_map(|histogram| histogram.quantile(q))
            .map(|picos| picos as f64 * PICOS)
            .collect();
        if !values.is_empty() {
            return over_rounds(&values);
        }
    }
    match support(samples, q) {
        Err(needed) => Metric::missing(format!("needs {} samples, has {samples}", needed.samples)),
        Ok(()) => match across_rounds(histograms, q) {
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
        },
    }
}

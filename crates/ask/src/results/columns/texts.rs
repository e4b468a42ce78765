//! What rows show in columns that are more than a number.

use crate::results::chapters::{Row, label, marked_label};
use crate::results::marks;
use ipcperf_core::Figure;
use ipcperf_core::result::{self, Cell, Metric};
use ipcperf_judge::figures::{NONE, or_none};
use ipcperf_judge::{MetricKind, figures};
use ipcperf_render::text;
use ipcperf_stats::{Factor, Interval};
use std::collections::BTreeMap;

/// Where a ratio and its interval end, and what is said of the margin begins.
const WITHIN: &str = "] (within";

/// `1.50x [1.48, 1.53]`; without an interval where there are too few rounds.
pub(super) fn beside(other: &result::Beside) -> String {
    ratio_with(other.ratio, other.ci95)
}

fn ratio_with(ratio: f64, ci95: Option<[f64; 2]>) -> String {
    let with =
        |[low, high]: [f64; 2]| figures::factor(Factor { ratio, interval: Interval { low, high } });
    ci95.map_or_else(|| figures::times(ratio), with)
}

/// One of the ratios to the cell without a neighbour.
pub(super) fn of_alone(
    row: &Row<'_>,
    one: impl Fn(&result::OfAlone) -> Option<result::RoundsRatio>,
) -> Option<String> {
    let result::RoundsRatio { ratio, ci95 } = one(row.cell.of_alone.as_ref()?)?;
    Some(ratio_with(ratio, ci95))
}

/// The mechanism with its knobs.
pub(super) fn mechanism(row: &Row<'_>) -> String {
    match row.is_floor {
        true => format!("{} (floor)", label(row.cell)),
        false => marked_label(row.cell),
    }
}

/// In how many rounds it had the other one of two modes.
pub(crate) fn rounds_of_other_mode(row: &Row<'_>) -> String {
    let modes = row.metric().map(|metric| metric.modes.as_slice()).unwrap_or_default();
    let rounds: u64 = modes.iter().map(|mode| mode.rounds).fold(0, u64::saturating_add);
    other_mode(row).map_or_else(String::new, |other| {
        format!("  in {} of {}", text::grouped(other.1), text::counted(rounds, "round"))
    })
}

/// The primary metric.
pub(crate) fn figure(row: &Row<'_>) -> String {
    let cell = row.cell;
    let Some(metric) = cell.figure() else { return NONE.to_owned() };
    let words = |value| MetricKind::of(cell.key.pattern).words(value, cell.key.size_bytes);
    metric
        .value
        .map_or_else(|| why(metric).to_owned(), |value| format!("{}{}", words(value), mark(cell)))
}

/// The other one of two modes.
pub(crate) fn figure_of_other_mode(row: &Row<'_>) -> String {
    let kind = MetricKind::of(row.cell.key.pattern);
    let words = |value| format!("{}*", kind.words(value, row.cell.key.size_bytes));
    other_mode(row).map_or_else(String::new, |other| words(other.0))
}

/// The uncertainty of what a row is compared by.
pub(crate) fn spread(row: &Row<'_>) -> String {
    let cell = row.cell;
    // A value that was not confirmed has no interval.
    if cell.is_unconfirmed() {
        return NONE.to_owned();
    }
    match row.kind {
        MetricKind::Cpu => or_none(cell.cpu_ns_per_message.as_ref(), |cost| {
            figures::spread(&cost.figure(), figures::NANOS)
        }),
        MetricKind::Primary(_) | MetricKind::P99 | MetricKind::P999 | MetricKind::Above(_) => {
            let unit = MetricKind::of(cell.key.pattern).unit(cell.key.size_bytes);
            or_none(row.metric(), |metric| figures::spread(metric, unit))
        }
    }
}

/// The ratio to the reference. The addition `within 10 %` has a line of its own.
pub(super) fn ratio(row: &Row<'_>) -> String {
    or_none(row.relation, |relation| {
        let words = relation.words(row.margin);
        words.split_once(WITHIN).map_or(words.clone(), |(first, _)| format!("{first}]"))
    })
}

/// That addition.
pub(super) fn margin(row: &Row<'_>) -> String {
    let words = row.relation.map(|relation| relation.words(row.margin)).unwrap_or_default();
    words.find(WITHIN).map_or_else(String::new, |at| words[at + 2..].to_owned())
}

/// A quantile of the operations, ns.
pub(crate) fn nanos_of(cell: &Cell, name: &str) -> Option<f64> {
    cell.times()?.get(name)?.value
}

/// A quantile, or the word for a missing answer.
pub(crate) fn quantile(row: &Row<'_>, name: &str) -> String {
    or_lost(row.cell.times(), name)
}

/// One of these times in words, or the word for a missing answer.
pub(super) fn or_lost(times: Option<&BTreeMap<String, Metric>>, name: &str) -> String {
    let Some(metric) = times.and_then(|times| times.get(name)) else { return NONE.to_owned() };
    match metric.value {
        Some(value) => figures::nanos(value),
        None if why(metric) == LOST => LOST.to_owned(),
        None => NONE.to_owned(),
    }
}

/// The median, or the word for a load that was too high for one.
pub(crate) fn median(row: &Row<'_>) -> String {
    match row.cell.times().and_then(|times| times.get("p50")) {
        Some(metric) if why(metric) == SATURATED => SATURATED.to_owned(),
        _ => quantile(row, "p50"),
    }
}

/// Answers that never came are slower than any figure.
const LOST: &str = "lost";

/// Messages came faster than they were answered.
pub(crate) const SATURATED: &str = "saturated";

/// The word for a missing figure, where there is one.
fn why(metric: &Metric) -> &'static str {
    match metric.reason.as_deref() {
        Some(LOST) => LOST,
        Some(SATURATED) => SATURATED,
        _ => NONE,
    }
}

/// The mode that is not the row's figure: value and rounds.
fn other_mode(row: &Row<'_>) -> Option<(f64, u64)> {
    other_mode_of(row.metric()?)
}

/// The mode that is not what a cell is ordered by: `190 ns in 3 of 7 rounds`.
pub(crate) fn other_mode_words(cell: &Cell, kind: MetricKind) -> Option<String> {
    let metric = kind.of_cell(cell)?;
    let (value, rounds) = other_mode_of(metric)?;
    let all = metric.modes.iter().map(|mode| mode.rounds).fold(0, u64::saturating_add);
    let words = kind.words(value, cell.key.size_bytes);
    Some(format!("{words} in {} of {}", text::grouped(rounds), text::counted(all, "round")))
}

/// The mode of a metric that is not its value: value and rounds.
pub(crate) fn other_mode_of(metric: &Metric) -> Option<(f64, u64)> {
    let value = metric.value?;
    if metric.modes.len() < 2 {
        return None;
    }
    let distance = |mode: f64| (mode - value).abs();
    let other =
        metric.modes.iter().max_by(|a, b| distance(a.value).total_cmp(&distance(b.value)))?;
    Some((other.value, other.rounds))
}

/// `3.10 us +-0.05`: the median and its uncertainty in one unit. A plain sign, so that the bound is never taken for an
/// interval.
pub(super) fn one_way(way: &result::OneWay) -> Option<String> {
    let value = way.quantiles.get("p50")?.value?;
    let words = figures::nanos(value);
    let (_, unit) = words.rsplit_once(' ')?;
    let scale = figures::NANOS.iter().find(|(_, name)| *name == unit)?.0;
    let bound = way.bound_ns?;
    Some(format!("{words} +-{}", figures::bound(bound / scale)))
}

/// The share of the peer or connection that was served least.
pub(super) fn least(cell: &Cell) -> Option<f64> {
    let fan = cell.fan.as_ref().map(|fan| &fan.least_share);
    fan.or_else(|| cell.serve.as_ref().map(|serve| &serve.least_share))?.value
}

/// CPU time per message or request, ns.
pub(crate) fn cost(cell: &Cell) -> Option<f64> {
    cell.cpu_ns_per_message.as_ref()?.figure().value
}

/// Signs after the figure; the legend explains them.
pub(crate) fn mark(cell: &Cell) -> &'static str {
    let is_batch = cell.timing.as_ref().is_some_and(|timing| timing.mode == "batch");
    match (cell.figure().is_some_and(|metric| metric.modes.len() > 1), is_batch) {
        (true, _) => marks::TWO_MODES,
        (false, true) if cell.key.pattern.facts().figure == Figure::Time => marks::BATCH,
        _ => "",
    }
}

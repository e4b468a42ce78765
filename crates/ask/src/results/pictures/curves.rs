//! Pictures of figures over another number: sizes, loads and pauses.

use super::cells::Anchors;
use super::picture::{axis_words, called, chart, nanos, per_second, prominent};
use crate::results::chapters::{Chapter, Row, label, many_words, name};
use ipcperf_core::result::{Cell, Metric};
use ipcperf_core::{Figure, PatternKind};
use ipcperf_judge::figures;
use ipcperf_judge::figures::NONE;
use ipcperf_render::doc::{Chart, Picture};
use ipcperf_render::svg::{Axis, Mark, Plane, Spot, Trace};
use ipcperf_render::text;

/// Metrics over another number of the cells of one name.
struct Curve<'a> {
    name: String,
    cell: &'a Cell,
    spots: Vec<Spot>,
}

fn spot(x: f64, metric: Option<&Metric>) -> Option<Spot> {
    let metric = metric?;
    let y = metric.value.filter(|value| *value > 0.0)?;
    (x > 0.0).then_some(Spot { x, y, interval: metric.ci95 })
}

/// Curves of at least two places, in the order in which their names come.
fn curves<'a>(cells: &mut dyn Iterator<Item = (&'a Cell, String, Spot)>) -> Vec<Curve<'a>> {
    let mut all: Vec<Curve> = Vec::new();
    for (cell, name, spot) in cells {
        match all.iter_mut().find(|one| one.name == name) {
            Some(one) => one.spots.push(spot),
            None => all.push(Curve { name, cell, spots: vec![spot] }),
        }
    }
    for one in &mut all {
        one.spots.sort_by(|a, b| a.x.total_cmp(&b.x));
        one.spots.dedup_by(|a, b| a.x == b.x);
    }
    all.retain(|one| one.spots.len() > 1);
    all
}

/// All places, in their order.
fn places(curves: &[Curve]) -> Vec<f64> {
    let mut all: Vec<f64> =
        curves.iter().flat_map(|curve| &curve.spots).map(|spot| spot.x).collect();
    all.sort_by(f64::total_cmp);
    all.dedup();
    all
}

/// The curves that get a name: first those that are the best at one of the places.
fn named(curves: &[Curve], is_less_better: bool) -> Vec<usize> {
    let best = |place: &f64| {
        let at = |curve: &Curve| Some(curve.spots.iter().find(|spot| spot.x == *place)?.y);
        let here = curves.iter().enumerate().filter_map(|(own, curve)| Some((own, at(curve)?)));
        let sign = if is_less_better { 1.0 } else { -1.0 };
        here.min_by(|(_, a), (_, b)| (sign * a).total_cmp(&(sign * b))).map(|(own, _)| own)
    };
    let ahead: Vec<usize> = places(curves).iter().filter_map(best).collect();
    let cells: Vec<&Cell> = curves.iter().map(|curve| curve.cell).collect();
    prominent(&cells, &ahead)
}

/// A picture of curves: heads of the figures are the places, and each curve is a row.
fn plane(
    (title, note): (String, String),
    (curves, named): (&[Curve], &[usize]),
    (x, y): (Axis, Axis),
    anchors: &Anchors,
    marks: Vec<Mark>,
) -> Option<Chart> {
    let places = places(curves);
    let heads = [String::new()].into_iter().chain(places.iter().map(|place| (x.words)(*place)));
    let heads: Vec<String> = heads.collect();
    let row = |curve: &Curve| {
        let figure = |place: &f64| {
            let spot = curve.spots.iter().find(|spot| spot.x == *place);
            spot.map_or_else(|| NONE.to_owned(), |spot| (y.words)(spot.y))
        };
        [curve.name.clone()].into_iter().chain(places.iter().map(figure)).collect::<Vec<_>>()
    };
    let rows: Vec<Vec<String>> = curves.iter().map(row).collect();
    let trace = |(at, curve): (usize, &Curve)| Trace {
        label: curve.name.clone(),
        link: anchors.link(curve.cell),
        is_named: named.contains(&at),
        is_marked: true,
        spots: curve.spots.clone(),
    };
    let traces: Vec<Trace> = curves.iter().enumerate().map(trace).collect();
    let label =
        format!("{title}: {} over {}.", text::counted(traces.len() as u64, "curve"), x.name);
    let picture = Picture::Plane(Plane { label, x, y, traces, front: Vec::new(), marks });
    (!curves.is_empty()).then(|| chart(title, note, picture, heads, rows))
}

fn size_words(value: f64) -> String {
    figures::size(value as u64)
}

/// Where two curves cross between neighbouring places at which their intervals are apart, on straight lines of logarithms.
fn crossings(a: &Curve, b: &Curve) -> Vec<(f64, f64)> {
    let pairs: Vec<(&Spot, &Spot)> = a
        .spots
        .iter()
        .filter_map(|own| Some((own, b.spots.iter().find(|other| other.x == own.x)?)))
        .collect();
    let is_apart = |(a, b): (&Spot, &Spot)| match (a.interval, b.interval) {
        (Some(a), Some(b)) => a[1] < b[0] || b[1] < a[0],
        _ => false,
    };
    let between = |pair: &[(&Spot, &Spot)]| {
        let [from, to] = [pair[0], pair[1]];
        let gap = |(a, b): (&Spot, &Spot)| a.y.ln() - b.y.ln();
        let (first, last) = (gap(from), gap(to));
        if first * last >= 0.0 || !is_apart(from) || !is_apart(to) {
            return None;
        }
        let share = first / (first - last);
        let along = |[from, to]: [f64; 2]| (from.ln() + share * (to.ln() - from.ln())).exp();
        Some((along([from.0.x, to.0.x]), along([from.0.y, to.0.y])))
    };
    pairs.windows(2).filter_map(between).collect()
}

pub(super) fn sizes(chapters: &[&Chapter], anchors: &Anchors) -> Vec<Chart> {
    let mut shown = Vec::new();
    for chapter in chapters.iter().filter(|one| !one.pattern.facts().is_open) {
        for part in &chapter.sections {
            let rows = part.blocks.iter().flat_map(|block| &block.rows).filter(|row| !row.is_floor);
            let place = |row: &Row<'_>| {
                let size = row.cell.key.size_bytes as f64;
                let many = many_words(row.cell).map(|many| format!(" ({many})"));
                let name = format!("{}{}", label(row.cell), many.unwrap_or_default());
                Some((size, name, spot(size, row.metric())?))
            };
            let mut cells =
                rows.filter_map(|row| place(row).map(|(_, name, spot)| (row.cell, name, spot)));
            let curves = curves(&mut cells);
            let figure = chapter.pattern.facts().figure;
            let chosen = named(&curves, figure == Figure::Time);
            let named: Vec<&Curve> = chosen.iter().map(|at| &curves[*at]).collect();
            let mut marks = Vec::new();
            let mut told = Vec::new();
            for (at, a) in named.iter().enumerate() {
                for b in &named[at + 1..] {
                    for (x, y) in crossings(a, b) {
                        let size = near(x);
                        marks.push(Mark { x, y, words: size.clone() });
                        told.push(format!("{} and {} cross near {size}", a.name, b.name));
                    }
                }
            }
            let what = match figure {
                Figure::Time => "median",
                Figure::Throughput => "throughput",
                Figure::Requests => "requests",
            };
            let way = part.way.words();
            let note = if told.is_empty() { way } else { format!("{way}. {}.", told.join("; ")) };
            let axes = (
                Axis { ticks: size_ticks(&curves), ..Axis::plain("message size", size_words) },
                Axis::plain(what, axis_words(figure, 1)),
            );
            let title = (chapter.title(), note);
            shown.extend(plane(title, (&curves, &chosen), axes, anchors, marks));
        }
    }
    shown
}

/// Two digits of a size between those that were measured: `12 KiB`.
fn near(size: f64) -> String {
    let units = [(1_048_576.0, "MiB"), (1024.0, "KiB"), (1.0, "B")];
    let (unit, name) = units.into_iter().find(|(unit, _)| size >= *unit).unwrap_or((1.0, "B"));
    let value = size / unit;
    let digits = if value < 9.95 { format!("{value:.1}") } else { format!("{value:.0}") };
    format!("{} {name}", digits.trim_end_matches(".0"))
}

/// Sizes that have a mark each at the axis; of more, round numbers have.
const MARKS: usize = 16;

/// The sizes that were measured, where they are few.
fn size_ticks(curves: &[Curve]) -> Vec<(f64, String)> {
    let all = places(curves);
    if all.len() > MARKS {
        return Vec::new();
    }
    all.into_iter().map(|size| (size, size_words(size))).collect()
}

/// Response times over what was offered: the median and the p99 of each mechanism.
pub(super) fn loads(chapters: &[&Chapter], anchors: &Anchors) -> Vec<Chart> {
    let mut shown = Vec::new();
    for chapter in chapters.iter().filter(|one| one.pattern.facts().is_open) {
        for part in &chapter.sections {
            let rows = || part.blocks.iter().flat_map(|block| &block.rows).map(|row| row.cell);
            let saturated: Vec<String> = rows()
                .filter(|cell| cell.figure().is_some_and(|metric| metric.value.is_none()))
                .map(called)
                .collect();
            for name in ["p50", "p99"] {
                let mut cells = rows().filter_map(|cell| {
                    let offered = cell.offered_per_second.as_ref()?.value?;
                    let metric = cell.rtt_ns.as_ref()?.get(name);
                    let size = figures::size(cell.key.size_bytes);
                    Some((cell, format!("{} {size}", label(cell)), spot(offered, metric)?))
                });
                let curves = curves(&mut cells);
                let way = part.way.words();
                let note = match saturated.as_slice() {
                    [] => way,
                    names => format!("{way}. Saturated, so without a time: {}.", text::join(names)),
                };
                let axes = (Axis::plain("offered", per_second), Axis::plain(name, nanos));
                let title = format!("{}, {name}", chapter.title());
                let curves = (&curves[..], &named(&curves, true)[..]);
                shown.extend(plane((title, note), curves, axes, anchors, Vec::new()));
            }
        }
    }
    shown
}

pub(super) fn pauses(chapters: &[&Chapter], anchors: &Anchors) -> Vec<Chart> {
    let mut shown = Vec::new();
    let closed = chapters.iter().filter(|one| one.pattern == PatternKind::PingPong);
    for chapter in closed {
        for part in &chapter.sections {
            let rows = part.blocks.iter().flat_map(|block| &block.rows);
            let mut cells = rows.filter_map(|row| {
                let pause = row.cell.key.load.think_ns as f64;
                let size = figures::size(row.cell.key.size_bytes);
                Some((row.cell, format!("{} {size}", name(row.cell)), spot(pause, row.metric())?))
            });
            let axes =
                (Axis::plain("pause before each round trip", nanos), Axis::plain("median", nanos));
            let title = chapter.title();
            let curves = curves(&mut cells);
            let chosen = named(&curves, true);
            let title = (title, part.way.words());
            shown.extend(plane(title, (&curves, &chosen), axes, anchors, Vec::new()));
        }
    }
    shown
}

//! Pictures of rankings: every round, tails, and CPU time against latency.

use super::cells::{Anchors, rounds};
use super::picture::{axis_words, called, chart, nanos, prominent};
use crate::results::chapters::{Block, Chapter, Row, Section, curve, many_words, name};
use ipcperf_core::Figure;
use ipcperf_core::result::{Cell, CpuCost};
use ipcperf_judge::{Operations, figures};
use ipcperf_render::doc::{Chart, Picture};
use ipcperf_render::svg::{Axis, Plane, Spot, Strip, StripRow, Trace};
use ipcperf_render::text;
use ipcperf_stats::support;

/// `Round trip, blocking mechanisms, 64 B, think=1ms`: all that tells a ranking from the others of its place.
fn title(chapter: &Chapter, block: &Block) -> String {
    let Some(cell) = block.rows.first().map(|row| row.cell) else { return chapter.title() };
    // An open loop has a ranking for each mechanism.
    let own = match chapter.pattern.facts().is_open {
        true => vec![name(cell)],
        false => curve(&cell.key.load).words(),
    };
    let size = figures::size(cell.key.size_bytes);
    let parts = [chapter.title(), size].into_iter().chain(many_words(cell)).chain(own);
    parts.collect::<Vec<_>>().join(", ")
}

pub(super) fn strip(
    chapter: &Chapter,
    part: &Section,
    block: &Block,
    anchors: &Anchors,
) -> Option<Chart> {
    let size = block.rows.first()?.cell.key.size_bytes;
    let row = |row: &Row| {
        let metric = row.metric()?;
        let value = metric.value?;
        Some(StripRow {
            label: called(row.cell),
            link: anchors.link(row.cell),
            rounds: rounds(row.cell),
            value,
            interval: metric.ci95.filter(|_| !row.cell.is_unconfirmed()),
            words: row.kind.words(value, size),
            is_best: row.is_best,
            ..StripRow::default()
        })
    };
    let shown = block.rows.iter().filter(|row| !row.is_floor);
    let rows: Vec<StripRow> = shown.filter_map(row).collect();
    let best = rows.first()?;
    let title = title(chapter, block);
    let label = format!(
        "{title}: rounds of {}; first {} with {}.",
        text::counted(rows.len() as u64, "cell"),
        best.label,
        best.words
    );
    let axis = Axis::plain("", axis_words(chapter.pattern.facts().figure, size));
    let picture = Some(Picture::Strip(Strip { label, axis, rows }));
    Some(Chart { title, note: part.way.words(), picture, ..Chart::default() })
}

/// Quantiles that have a mark at the axis.
const QUANTILES: [(f64, &str); 6] = [
    (0.5, "p50"),
    (0.1, "p90"),
    (0.01, "p99"),
    (1e-3, "p99.9"),
    (1e-4, "p99.99"),
    (1e-5, "p99.999"),
];

/// Places of a tail for each decade. The first is the tenth percentile: what is quicker is no tail.
const STEPS: i32 = 20;

/// Operations beyond a share, from all of them down to the last that the sample supports.
fn tail(cell: &Cell) -> Vec<Spot> {
    let Some(all) = Operations::of_cell(cell) else { return Vec::new() };
    let spot = |step: i32| {
        let beyond = 10_f64.powf(-f64::from(step) / f64::from(STEPS));
        let is_supported = support(all.count(), 1.0 - beyond).is_ok();
        let nanos = all.quantile(1.0 - beyond).filter(|_| is_supported)? as f64 / 1e3;
        Some(Spot { x: beyond, y: nanos, interval: None })
    };
    (1..=5 * STEPS).map_while(spot).collect()
}

/// Context is drawn as far as it lies within so many times of what has a name: what spins for a moment takes nanoseconds,
/// and would leave all others a corner.
const NEAR: f64 = 3.0;

pub(super) fn tails(
    chapter: &Chapter,
    part: &Section,
    block: &Block,
    anchors: &Anchors,
) -> Option<Chart> {
    let mut with_tails: Vec<(&Cell, Vec<Spot>)> = block
        .rows
        .iter()
        .map(|row| (row.cell, tail(row.cell)))
        .filter(|(_, spots)| spots.len() > 1)
        .collect();
    let cells: Vec<&Cell> = with_tails.iter().map(|(cell, _)| *cell).collect();
    let named = prominent(&cells, &[0, 1]);
    let told = named.iter().flat_map(|at| &with_tails[*at].1).map(|spot| spot.y);
    let least = told.clone().fold(f64::INFINITY, f64::min) / NEAR;
    let most = told.fold(0.0, f64::max) * NEAR;
    for (_, (_, spots)) in with_tails.iter_mut().enumerate().filter(|(at, _)| !named.contains(at)) {
        spots.retain(|spot| (least..=most).contains(&spot.y));
    }
    let traces: Vec<Trace> = with_tails
        .into_iter()
        .enumerate()
        .map(|(at, (cell, spots))| Trace {
            label: called(cell),
            link: anchors.link(cell),
            is_named: named.contains(&at),
            is_marked: false,
            spots,
        })
        .collect();
    if traces.is_empty() {
        return None;
    }
    let title = title(chapter, block);
    let heads = ["p50", "p90", "p99", "p99.9", "p99.99"];
    let words = |cell: &Cell, name: &str| {
        let value = cell.times().and_then(|times| times.get(name)?.value);
        figures::or_none(value, figures::nanos)
    };
    let row = |cell: &&Cell| {
        [called(cell)].into_iter().chain(heads.map(|name| words(cell, name))).collect::<Vec<_>>()
    };
    let rows: Vec<Vec<String>> = cells.iter().map(row).collect();
    let plane = Plane {
        label: format!("{title}: percentiles of {}.", text::counted(traces.len() as u64, "cell")),
        x: Axis {
            name: "quantile".to_owned(),
            words: |share| share.to_string(),
            ticks: QUANTILES.map(|(beyond, name)| (beyond, name.to_owned())).to_vec(),
            is_reversed: true,
        },
        y: Axis::plain("time", nanos),
        traces,
        front: Vec::new(),
        marks: Vec::new(),
    };
    let heads = [""].iter().chain(&heads).map(|head| (*head).to_owned()).collect();
    Some(chart(title, part.way.words(), Picture::Plane(plane), heads, rows))
}

/// Round trip and CPU time of a cell.
fn both(cell: &Cell) -> Option<[f64; 2]> {
    let cpu = cell.cpu_ns_per_message.as_ref().map(CpuCost::figure)?.value?;
    Some([cell.figure()?.value.filter(|value| *value > 0.0)?, cpu]).filter(|both| both[1] > 0.0)
}

/// Corners of what nothing beats in both figures, from the fastest to the cheapest.
fn front(points: &[[f64; 2]]) -> Vec<[f64; 2]> {
    let mut sorted = points.to_vec();
    sorted.sort_by(|a, b| a[0].total_cmp(&b[0]).then(a[1].total_cmp(&b[1])));
    let mut corners: Vec<[f64; 2]> = Vec::new();
    for point in sorted {
        if corners.last().is_none_or(|last| point[1] < last[1]) {
            corners.push(point);
        }
    }
    corners
}

/// CPU time and latency of the cells of one ranking.
pub(super) fn cost(
    chapter: &Chapter,
    part: &Section,
    block: &Block,
    anchors: &Anchors,
) -> Option<Chart> {
    let facts = chapter.pattern.facts();
    let rows = block.rows.iter().filter(|row| !row.is_floor).map(|row| row.cell);
    let mut known: Vec<(&Cell, [f64; 2])> =
        rows.filter_map(|cell| Some((cell, both(cell)?))).collect();
    if known.len() < 2 || facts.figure != Figure::Time || facts.is_open {
        return None;
    }
    known.sort_by(|a, b| a.1[0].total_cmp(&b.1[0]));
    let front = front(&known.iter().map(|(_, both)| *both).collect::<Vec<_>>());
    let is_ahead = |both: &[f64; 2]| front.contains(both);
    let ahead: Vec<usize> = (0..known.len()).filter(|at| is_ahead(&known[*at].1)).collect();
    let cells: Vec<&Cell> = known.iter().map(|(cell, _)| *cell).collect();
    let named = prominent(&cells, &ahead);
    let traces = known.iter().enumerate().map(|(at, (cell, [x, y]))| Trace {
        label: name(cell),
        link: anchors.link(cell),
        is_named: named.contains(&at),
        is_marked: true,
        spots: vec![Spot { x: *x, y: *y, interval: None }],
    });
    let row = |(cell, [time, cpu]): &(&Cell, [f64; 2])| {
        let ahead = if is_ahead(&[*time, *cpu]) { "yes" } else { "" };
        vec![name(cell), figures::nanos(*time), figures::nanos(*cpu), ahead.to_owned()]
    };
    let rows = known.iter().map(row).collect();
    let names = text::join(&ahead.iter().map(|at| name(cells[*at])).collect::<Vec<_>>());
    let note = match front.as_slice() {
        [_] => format!("{}. {names} has the least of both.", part.way.words()),
        _ => format!(
            "{}. The dotted line joins those that none beats in both: {names}.",
            part.way.words()
        ),
    };
    let title = title(chapter, block);
    let plane = Plane {
        label: format!("{title}: CPU time against latency. Not beaten in both: {names}."),
        x: Axis::plain("median", nanos),
        y: Axis::plain("CPU time of both ends for each message", nanos),
        traces: traces.collect(),
        front,
        marks: Vec::new(),
    };
    let heads = ["", "p50", "CPU/msg", "on the front"].map(ToOwned::to_owned).to_vec();
    Some(chart(title, note, Picture::Plane(plane), heads, rows))
}

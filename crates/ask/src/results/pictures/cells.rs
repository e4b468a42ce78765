//! Every cell as a row with an address of its own.

use crate::results::chapters::{Row as Alone, name};
use crate::results::columns;
use crate::results::columns::Column;
use ipcperf_core::Figure;
use ipcperf_core::result::{Cell, Metric, ResultSet, Status};
use ipcperf_judge::figures::NONE;
use ipcperf_judge::{MetricKind, figures};
use ipcperf_render::doc::{self, Cell as Words, Line, Row, Table, anchor};
use ipcperf_render::{Style, text};
use std::collections::HashMap;

/// Longest part of an identity in an address, in letters: with a number it is within what an address takes.
const LONGEST: usize = 52;

/// Where in the page each cell is: its identity in letters that an address takes.
pub(crate) struct Anchors {
    by_cell: HashMap<*const Cell, String>,
    by_id: HashMap<String, String>,
}

impl Anchors {
    /// Where nothing can be looked up there is none.
    pub(crate) fn of(set: &ResultSet, style: &Style) -> Self {
        let mut taken: HashMap<String, usize> = HashMap::new();
        let mut anchors = Self { by_cell: HashMap::new(), by_id: HashMap::new() };
        for cell in set.cells.iter().filter(|_| style.pictures) {
            // `c-pipe-ping-pong-64b-same-llc`.
            let base = anchor(&format!("c-{}", text::clip(&cell.id, LONGEST, false)));
            let mut own = base.clone();
            while taken.contains_key(&own) {
                let count = taken.entry(base.clone()).or_default();
                *count += 1;
                own = format!("{base}-{count}");
            }
            taken.insert(own.clone(), 1);
            anchors.by_id.entry(cell.id.clone()).or_insert_with(|| own.clone());
            anchors.by_cell.insert(std::ptr::from_ref(cell), own);
        }
        anchors
    }

    pub(crate) fn link(&self, cell: &Cell) -> Option<String> {
        self.by_cell.get(&std::ptr::from_ref(cell)).cloned()
    }

    pub(crate) fn by_id(&self, id: &str) -> Option<&str> {
        self.by_id.get(id).map(String::as_str)
    }
}

/// A column of numbers: its head, what is in it, and the number itself as the document has it.
struct Numbers {
    head: &'static str,
    words: fn(&Alone<'_>) -> String,
    value: fn(&Cell) -> Option<f64>,
}

/// The rate that speaks for a cell, or stands beside its time.
fn rate(cell: &Cell) -> Option<(f64, String)> {
    let figure = cell.key.pattern.facts().figure;
    if figure != Figure::Time {
        let value = cell.figure()?.value?;
        return Some((value, MetricKind::of(cell.key.pattern).words(value, cell.key.size_bytes)));
    }
    let beside = cell.achieved_per_second.as_ref().or(cell.messages_per_second.as_ref());
    let value = beside?.value?;
    Some((value, figures::per_second(value)))
}

/// Half of the interval as a share of the primary metric.
fn spread(cell: &Cell) -> Option<f64> {
    let Metric { value: Some(value), ci95: Some([low, high]), .. } = *cell.figure()? else {
        return None;
    };
    let share = (high - low).abs() / 2.0 / value.abs();
    share.is_finite().then_some(share)
}

/// One table with the figures of all patterns.
const FIGURES: [Numbers; 3] = [
    Numbers {
        head: "p50",
        words: |row| match row.cell.key.pattern.facts().figure {
            Figure::Time => columns::figure(row),
            _ => figures::or_none(columns::nanos_of(row.cell, "p50"), figures::nanos),
        },
        value: |cell| columns::nanos_of(cell, "p50"),
    },
    Numbers {
        head: "rate",
        words: |row| figures::or_none(rate(row.cell), |(_, words)| words),
        value: |cell| rate(cell).map(|(value, _)| value),
    },
    Numbers { head: "±", words: columns::spread, value: spread },
];

/// Where, and what was asked for beyond the pattern.
fn conditions(cell: &Cell) -> String {
    let key = &cell.key;
    let mut words = vec![key.placement.to_string()];
    if key.idle != ipcperf_core::Idle::default() {
        words.push(format!("idle={}", key.idle));
    }
    if key.touch != ipcperf_core::Touch::default() {
        words.push(format!("touch={}", key.touch));
    }
    words.extend(key.load.words());
    words.join(" ")
}

/// What else is to be known of a cell: why it has no figure, what was lost or counted, what was found.
fn remarks(cell: &Cell, found: &HashMap<&str, Vec<&str>>) -> String {
    let why = (cell.status != Status::Ok).then(|| {
        let reason = cell.reason.as_deref().unwrap_or("no reason");
        format!("{}: {reason}", cell.status)
    });
    let remark = Alone::alone(cell, MetricKind::of(cell.key.pattern)).remark(true);
    let modes = cell.figure().map(|metric| metric.modes.as_slice()).unwrap_or_default();
    let modes = (modes.len() > 1).then(|| {
        let told = modes.iter().map(|mode| {
            let words = MetricKind::of(cell.key.pattern).words(mode.value, cell.key.size_bytes);
            format!("{words} in {}", text::counted(mode.rounds, "round"))
        });
        format!("two modes: {}", text::join(&told.collect::<Vec<_>>()))
    });
    let found = found.get(cell.id.as_str()).map(|codes| codes.join(" "));
    why.into_iter().chain(modes).chain(remark).chain(found).collect::<Vec<_>>().join("; ")
}

/// Every cell, to look one up.
pub(crate) fn table(set: &ResultSet, anchors: &Anchors) -> Table {
    let has = |value: fn(&Cell) -> Option<f64>| set.cells.iter().any(|cell| value(cell).is_some());
    let figures: Vec<&Numbers> = FIGURES.iter().filter(|column| has(column.value)).collect();
    let others = columns::all().filter(|column| column.is_listed && has(column.value));
    let others: Vec<&Column> = others.collect();
    let mut found: HashMap<&str, Vec<&str>> = HashMap::new();
    for finding in &set.noise.findings {
        finding.cells.iter().for_each(|id| found.entry(id).or_default().push(&finding.code));
    }
    let mut columns = vec![
        doc::Column::whole("mechanism"),
        doc::Column::whole("pattern"),
        doc::Column::number("size"),
        doc::Column::whole("where"),
    ];
    let heads = figures.iter().map(|column| column.head);
    let heads = heads.chain(others.iter().map(|column| column.name));
    columns.extend(heads.map(doc::Column::number));
    columns.extend([doc::Column::number("rounds"), doc::Column::text("remarks")]);
    let rows = set.cells.iter().map(|cell| {
        let own = anchors.link(cell).unwrap_or_default();
        let alone = Alone::alone(cell, MetricKind::of(cell.key.pattern));
        let size = cell.key.size_bytes;
        let mut cells = vec![
            Words::from(Line::from(name(cell)).to(&own)),
            Words::from(cell.key.pattern.to_string()),
            Words::from(Line::from(figures::size(size)).worth(Some(size as f64))),
            Words::from(conditions(cell)),
        ];
        let figures = figures.iter().map(|column| ((column.words)(&alone), (column.value)(cell)));
        let others = others.iter().map(|column| (column.number(cell), (column.value)(cell)));
        let numbers = figures.chain(others);
        cells.extend(numbers.map(|(words, value)| Words::from(Line::from(words).worth(value))));
        cells.extend([Words::from(scatter(cell)), Words::from(remarks(cell, &found))]);
        Row { anchor: own, ..Row::new(cells) }
    });
    Table { label: "All cells".to_owned(), is_searched: true, ..Table::new(columns, rows) }
}

/// The rounds as a small picture, sorted by how far they lie apart.
fn scatter(cell: &Cell) -> Line {
    let rounds = rounds(cell);
    let least = rounds.iter().copied().fold(f64::INFINITY, f64::min);
    let most = rounds.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    if rounds.is_empty() {
        return Line::from(NONE);
    }
    let words = |value| MetricKind::of(cell.key.pattern).words(value, cell.key.size_bytes);
    let count = text::counted(rounds.len() as u64, "round");
    let line = Line::from(format!("{count}, {} to {}", words(least), words(most)));
    let ratio = Some(most / least).filter(|ratio| ratio.is_finite());
    Line { spark: rounds, ..line.worth(ratio) }
}

/// The figures of the accepted rounds.
pub(super) fn rounds(cell: &Cell) -> Vec<f64> {
    let accepted = cell.rounds.iter().filter(|round| round.rejected.is_none());
    accepted.filter_map(|round| cell.figure_of(round)).filter(|value| value.is_finite()).collect()
}

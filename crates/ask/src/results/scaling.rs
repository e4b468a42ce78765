//! Channels of the same kind at work at the same time: what all of them moved, how evenly, and how that grows with their
//! number.

use crate::results::{marks, words};
use ipcperf_core::PatternKind;
use ipcperf_core::result::{Cell, Channels, Metric, ResultSet, Scaling, Status};
use ipcperf_judge::figures;
use ipcperf_render::doc::{Blocks, Column, Line, Row, Table, Tone};
use ipcperf_render::text;
use ipcperf_stats::{Factor, Interval};

/// The heading.
const TITLE: &str = "Channels at the same time";

/// The table of all cells of several channels and what is said below it; empty for none.
pub(crate) fn blocks(set: &ResultSet, is_verbose: bool) -> Blocks {
    let mut measured: Vec<(&Cell, &Channels)> = set
        .cells
        .iter()
        .filter(|cell| cell.status == Status::Ok)
        .filter_map(|cell| Some((cell, cell.channels.as_ref()?)))
        .collect();
    measured.sort_by_key(|(cell, channels)| {
        let first = set.cells.iter().position(|other| other.differs_in_channels_from(cell));
        (first, channels.count)
    });
    let mut body = Blocks::default();
    if measured.is_empty() {
        return body;
    }
    body.section(TITLE, |body| {
        body.table(table(&measured));
        if measured.iter().any(|(_, channels)| channels.oversubscribed) {
            let legend = words::legend(marks::OVERSUBSCRIBED);
            body.lines(legend.map(|words| Line::new(Tone::Quiet, words)));
        }
        body.lines(laws(set).into_iter().map(|words| Line::new(Tone::Plain, words)));
        if is_verbose {
            body.lines(legend().map(|words| Line::new(Tone::Quiet, words)));
        }
    });
    body
}

fn table(measured: &[(&Cell, &Channels)]) -> Table {
    let columns = [
        Column::number("channels"),
        Column::number("sum"),
        Column::number("+/-").rank(6),
        Column::number("of ideal").rank(1),
        Column::number("median").rank(4),
        Column::number("slowest").rank(3),
        Column::number("Jain").rank(2),
        Column::number("CPU/msg").rank(5),
    ];
    let row = |(cell, channels): &(&Cell, &Channels)| {
        let shared = if channels.oversubscribed {
            format!(" {}", marks::OVERSUBSCRIBED)
        } else {
            String::new()
        };
        let value =
            |metric: &Metric, words: fn(f64) -> String| figures::or_none(metric.value, words);
        let cost = cell.cpu_ns_per_message.as_ref().and_then(|cost| cost.total);
        Row::new([
            format!("{}{shared}", channels.count),
            value(&channels.sum_per_second, figures::per_second),
            figures::spread(&channels.sum_per_second, figures::PER_SECOND),
            figures::or_none(channels.of_ideal.as_ref(), ratio),
            value(&channels.median_per_second, figures::per_second),
            value(&channels.slowest_of_fastest, figures::share),
            value(&channels.jain, figures::index),
            figures::or_none(cost, figures::nanos),
        ])
        .group(family(cell))
    };
    let rows: Vec<Row> = measured.iter().map(row).collect();
    let (label, groups) = (TITLE.to_owned(), "cell".to_owned());
    Table { label, groups, ..Table::new(columns, rows) }
}

/// The identity of a cell but for its number of channels.
fn family(cell: &Cell) -> String {
    cell.id.replace(&format!(" channels={}", cell.key.load.channels), "")
}

/// A ratio with its interval, where it has one.
fn ratio(metric: &Metric) -> String {
    match (metric.value, metric.ci95) {
        (Some(ratio), Some([low, high])) => {
            figures::factor(Factor { ratio, interval: Interval { low, high } })
        }
        (value, _) => figures::or_none(value, figures::times),
    }
}

/// The law of cells that differ in their number of channels, or why there is none: of those alike, once.
fn laws(set: &ResultSet) -> Vec<String> {
    let (mut lines, mut missing): (Vec<String>, Vec<(&str, Vec<String>)>) = Default::default();
    for one in &set.scaling {
        let first = one.cells.first().and_then(|id| set.cells.iter().find(|cell| cell.id == *id));
        let name = first.map(family).unwrap_or_default();
        match (one.contention.value, &one.contention.reason) {
            (None, Some(reason)) => match missing.iter_mut().find(|(known, _)| known == reason) {
                Some((_, names)) => names.push(name),
                None => missing.push((reason, vec![name])),
            },
            _ => lines.push(law(&name, one)),
        }
    }
    let of = |names: &[String]| match names {
        [first, rest @ ..] if rest.len() > 1 => format!("{first} and {} others", rest.len()),
        names => text::join(names),
    };
    lines.extend(missing.into_iter().map(|(reason, names)| {
        format!("No scalability law can be fitted to {}: {reason}.", of(&names))
    }));
    lines
}

fn law(name: &str, one: &Scaling) -> String {
    let of = |metric: &Metric| {
        let value = figures::or_none(metric.value, figures::share);
        match metric.ci95 {
            Some([low, high]) => {
                format!("{value} [{}, {}]", figures::share(low), figures::share(high))
            }
            None => value,
        }
    };
    let fitted: Vec<String> = one.fitted.iter().map(u64::to_string).collect();
    format!(
        "{name}: universal scalability law of {} channels: contention {}, coherency {}.",
        fitted.join(", "),
        of(&one.contention),
        of(&one.coherency)
    )
}

fn legend() -> impl Iterator<Item = String> {
    let what = format!(
        "Sum, median and slowest are of {} round trips or {} messages per second while all channels were at work; slowest is \
         the slowest channel over the fastest. Of ideal is the sum over that of one channel in the same round times their number, with its \
         95 % interval.",
        PatternKind::PingPong,
        PatternKind::Stream
    );
    let law = "Contention is the share of the work that one channel alone can do at a time, coherency what each pair of \
               channels costs; both are medians over rounds.";
    [what, law.to_owned()].into_iter()
}

#[cfg(test)]
mod tests {
    use crate::testing::{rendered, sample};
    use ipcperf_core::Placement;
    use ipcperf_core::result::{Cell, Channels, Metric, ResultSet, Scaling};
    use ipcperf_render::{Format, Style};

    fn known(value: f64, low: f64, high: f64) -> Metric {
        Metric { value: Some(value), ci95: Some([low, high]), ..Metric::default() }
    }

    /// Cells with these numbers of channels on a host with this number of CPUs, two for each.
    fn of(counts: &[u64], cpus: u64, law: [Metric; 2]) -> ResultSet {
        let cell = |count: &u64| {
            let mut cell = sample::cell("pipe", 64, Placement::SameLlc);
            cell.key.load.channels = *count;
            cell.id = format!("pipe ping-pong 64B same-llc channels={count}");
            let sum = 100_000.0 * *count as f64 * 0.9;
            let ideal = known(0.9, 0.87, 0.92);
            cell.channels = Some(Channels {
                count: *count,
                oversubscribed: 2 * count > cpus,
                sum_per_second: known(sum, sum * 0.98, sum * 1.02),
                median_per_second: known(90_000.0, 88_000.0, 92_000.0),
                slowest_of_fastest: known(0.75, 0.7, 0.8),
                jain: known(0.987, 0.98, 0.99),
                of_ideal: (*count > 1).then_some(ideal),
                ..Channels::default()
            });
            cell
        };
        let cells: Vec<Cell> = counts.iter().map(cell).collect();
        let [contention, coherency] = law;
        let scaling = Scaling {
            cells: cells.iter().map(|cell| cell.id.clone()).collect(),
            fitted: counts.iter().copied().filter(|count| 2 * count <= cpus).collect(),
            contention,
            coherency,
        };
        let mut set = ResultSet { scaling: vec![scaling], ..sample::set(cells) };
        set.invocation.plan.command = "run".to_owned();
        set
    }

    #[test]
    fn a_law_has_its_intervals_and_what_shares_cpus_is_marked() {
        let law = [known(0.031, 0.02, 0.04), known(0.002, -0.001, 0.004)];
        let shown = rendered(&of(&[1, 2, 4, 8, 16], 16, law), Format::Table, &Style::default());
        for words in [
            "Channels at the same time",
            "0.90x [0.87, 0.92]",
            "16 !",
            "! oversubscribed",
            "law of 1, 2, 4, 8 channels: contention 3.1% [2.0%, 4.0%], coherency 0.2% [-0.1%, 0.4%].",
            "75.0%",
        ] {
            let flat = shown.split_whitespace().collect::<Vec<_>>().join(" ");
            assert!(flat.contains(words), "{words}: {shown}");
        }
        assert!(!shown.contains("8 !"), "{shown}");
    }

    #[test]
    fn as_on_two_cpus_the_screen_says_that_no_law_can_be_fitted() {
        let none = || Metric::missing("a law needs 4 numbers of channels, has 1");
        let shown =
            rendered(&of(&[1, 2, 4], 2, [none(), none()]), Format::Table, &Style::default());
        let flat = shown.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(
            flat.contains(
                "No scalability law can be fitted to pipe ping-pong 64B same-llc: a law needs 4"
            ),
            "{shown}"
        );
        assert!(!flat.contains("contention"), "{shown}");
        for count in [2, 4] {
            assert!(flat.contains(&format!("{count} !")), "{shown}");
        }
    }
}

//! Pipelines of programs: what moved, how fast, and what each program took for it.

use ipcperf_core::result::{
    Counted, Metric, Pipeline, ProgramResult, ProofKind, ResultSet, Spread, Status,
};
use ipcperf_judge::figures;
use ipcperf_render::doc::{Blocks, Chart, Column, Line, Picture, Row, Table, Tone};
use ipcperf_render::svg::{Axis, Strip, StripRow};
use ipcperf_render::text;

/// Most system calls of a program that are named without `verbose`.
const CALLS: usize = 6;

/// The heading of all pipelines.
const TITLE: &str = "Programs connected by pipes";

/// How many of a set were measured, for its masthead.
pub(crate) fn tally(set: &ResultSet) -> String {
    let measured = set.pipelines.iter().filter(|one| one.status == Status::Ok).count();
    let all = text::counted(set.pipelines.len() as u64, "pipeline");
    format!("{measured} of {all} of programs measured")
}

/// What is said of a pipeline above its table.
fn sentences(one: &Pipeline, is_verbose: bool) -> Vec<String> {
    if one.status != Status::Ok {
        return Vec::new();
    }
    let figure = |metric: &Metric, show: fn(f64) -> String, unit| {
        let value = figures::or_none(metric.value, show);
        match figures::spread(metric, unit) {
            none if none == figures::NONE => value,
            spread => format!("{value} +/- {spread}"),
        }
    };
    let last = one.programs.last().map_or("", |program| program.command.as_str());
    let what = match one.counted {
        Some(Counted::Taken) => format!("what '{last}' has read"),
        Some(Counted::Arrived) | None => format!("what came out of '{last}'"),
    };
    let rounds = text::counted(one.rounds.len() as u64, "round");
    let mut lines = vec![format!(
        "{}: {} bytes ({what}) in {}, start of the programs included; {rounds}. CPU time of all: {}.",
        figure(&one.bytes_per_second, figures::bytes_per_second, figures::BYTES_PER_SECOND),
        count(&one.bytes),
        figure(&one.elapsed_ns, figures::nanos, figures::NANOS),
        figures::or_none(one.cpu_ns.value, figures::nanos),
    )];
    if let [low, high] = one.elapsed_ns.modes.as_slice() {
        let mode = |mode: &ipcperf_core::result::Mode| {
            format!("{} in {}", figures::nanos(mode.value), text::counted(mode.rounds, "round"))
        };
        lines.push(format!("Two modes: {}, {}.", mode(low), mode(high)));
    }
    lines.push(match (one.proof.kind, &one.proof.reason) {
        (ProofKind::Bytes, _) => "Proof: bytes. Every program has read all that the one before it \
                                  wrote, and all that came out was received."
            .to_owned(),
        (ProofKind::None, Some(reason)) => format!("No proof: {reason}."),
        (ProofKind::None, None) => "No proof.".to_owned(),
    });
    if one.traced_rounds > 0 {
        let rounds = text::counted(one.traced_rounds, "round");
        lines.push(format!("System calls, in {rounds} of their own under ptrace:"));
        let calls = |program: &ProgramResult| calls(program, is_verbose);
        lines.extend(one.programs.iter().map(calls));
    }
    lines
}

fn calls(program: &ProgramResult, is_verbose: bool) -> String {
    let mut all: Vec<(&String, &Spread)> = program.calls.iter().collect();
    all.sort_by(|a, b| b.1.median.total_cmp(&a.1.median));
    let shown = if is_verbose { all.len() } else { all.len().min(CALLS) };
    let (named, rest) = all.split_at(shown);
    let one = |(name, spread): &(&String, &Spread)| format!("{name} {}", whole(spread.median));
    let mut list: Vec<String> = named.iter().map(one).collect();
    if !rest.is_empty() {
        let more: f64 = rest.iter().map(|(_, spread)| spread.median).sum();
        list.push(format!("{} others {}", rest.len(), whole(more)));
    }
    format!("{}: {}", program.command, list.join(", "))
}

/// What each program took.
fn table(one: &Pipeline) -> Table {
    let columns = [
        Column::text("program"),
        Column::number("CPU"),
        Column::number("+/-").rank(7),
        Column::number("user").rank(3),
        Column::number("system").rank(4),
        Column::number("waits").rank(5),
        Column::number("preempted").rank(6),
        Column::number("bytes read").rank(2),
        Column::number("written").rank(1),
    ];
    let row = |program: &ProgramResult| {
        Row::new([
            program.command.clone(),
            time(&program.cpu_ns),
            figures::spread(&program.cpu_ns, figures::NANOS),
            time(&program.user_ns),
            time(&program.system_ns),
            count(&program.voluntary_switches),
            count(&program.involuntary_switches),
            count(&program.read_bytes),
            count(&program.written_bytes),
        ])
    };
    Table { label: one.id.clone(), ..Table::new(columns, one.programs.iter().map(row)) }
}

fn time(metric: &Metric) -> String {
    figures::or_none(metric.value, figures::nanos)
}

/// A count as such; the median of an even number of rounds may lie between two.
fn count(metric: &Metric) -> String {
    figures::or_none(metric.value, whole)
}

fn whole(value: f64) -> String {
    // Saturates, and what is negative or no number in a hostile document becomes 0.
    text::grouped(value.round() as u64)
}

/// Why there is no figure.
pub(crate) fn unmeasured(set: &ResultSet) -> impl Iterator<Item = (Status, String)> {
    let failed = set.pipelines.iter().filter(|one| one.status != Status::Ok);
    failed.map(|one| {
        let reason = one.reason.as_deref().unwrap_or("no reason given");
        // A lone program is named by its reason already.
        let who = if reason.contains(&one.id) { String::new() } else { format!("{}: ", one.id) };
        (one.status, format!("{who}{reason}"))
    })
}

/// How long each pipeline took; `None` where there is none.
pub(crate) fn picture(set: &ResultSet) -> Option<Chart> {
    let row = |one: &Pipeline| {
        let value = one.elapsed_ns.value?;
        Some(StripRow {
            label: one.id.clone(),
            rounds: one.rounds.iter().map(|round| round.elapsed_ns as f64).collect(),
            value,
            interval: one.elapsed_ns.ci95,
            words: figures::nanos(value),
            ..StripRow::default()
        })
    };
    let rows: Vec<StripRow> = set.pipelines.iter().filter_map(row).collect();
    if rows.is_empty() {
        return None;
    }
    let title = "From the start of the first program to the end of the last".to_owned();
    let axis = Axis::plain("", figures::nanos);
    Some(Chart {
        picture: Some(Picture::Strip(Strip { label: title.clone(), axis, rows })),
        title,
        note: "A point is a round; the line is the median, the bar its 95 % interval.".to_owned(),
        ..Chart::default()
    })
}

/// All pipelines that were measured; nothing where there are none.
pub(crate) fn blocks(set: &ResultSet, is_verbose: bool) -> Blocks {
    let mut blocks = Blocks::default();
    blocks.section(TITLE, |body| {
        for one in set.pipelines.iter().filter(|one| one.status == Status::Ok) {
            body.space();
            body.say(Tone::Title, &one.id);
            body.lines(sentences(one, is_verbose).into_iter().map(Line::from));
            body.table(table(one));
        }
    });
    blocks
}

/// The columns of a spreadsheet.
pub(crate) const COLUMNS: &[(&str, &str)] = &[
    ("id", "/id"),
    ("status", "/status"),
    ("reason", "/reason"),
    ("counted", "/counted"),
    ("bytes", "/bytes/value"),
    ("elapsed_ns", "/elapsed_ns/value"),
    ("elapsed_low_ns", "/elapsed_ns/ci95/0"),
    ("elapsed_high_ns", "/elapsed_ns/ci95/1"),
    ("bytes_per_second", "/bytes_per_second/value"),
    ("bytes_per_second_low", "/bytes_per_second/ci95/0"),
    ("bytes_per_second_high", "/bytes_per_second/ci95/1"),
    ("cpu_ns", "/cpu_ns/value"),
    ("proof", "/proof/kind"),
    ("proof_reason", "/proof/reason"),
];

/// A pipeline as a test has it.
#[cfg(test)]
pub(crate) fn sample() -> Pipeline {
    use ipcperf_core::result::{ByteProof, PipelineRound, ProgramRound};
    use std::collections::BTreeMap;
    let metric = |value: f64| crate::testing::sample::metric(value, value * 0.01);
    let calls = Spread { min: 9.0, median: 10.0, max: 12.0, n: 3 };
    let program = |command: &str| ProgramResult {
        command: command.to_owned(),
        cpu_ns: metric(300e6),
        user_ns: metric(100e6),
        system_ns: metric(200e6),
        voluntary_switches: metric(12_345.0),
        involuntary_switches: metric(67.0),
        read_bytes: metric(1_073_745_000.0),
        written_bytes: metric(1_073_741_824.0),
        calls: BTreeMap::from([("read".to_owned(), calls.clone())]),
    };
    let proof = ByteProof { kind: ProofKind::Bytes, reason: None };
    let round = |unread| ProgramRound { unread_bytes: unread, ..ProgramRound::default() };
    Pipeline {
        id: "head -c 1G /dev/zero | wc -c".to_owned(),
        status: Status::Ok,
        reason: None,
        counted: Some(Counted::Taken),
        bytes: metric(1_073_741_824.0),
        elapsed_ns: metric(1e9),
        bytes_per_second: metric(1.073_741_824e9),
        cpu_ns: metric(600e6),
        split_is_approximate: true,
        programs: vec![program("head -c 1G /dev/zero"), program("wc -c")],
        traced_rounds: 3,
        rounds: vec![PipelineRound {
            round: 0,
            order: 0,
            elapsed_ns: 1_000_000_000,
            arrived_bytes: 11,
            programs: vec![round(None), round(Some(0))],
            proof: proof.clone(),
        }],
        proof,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{rendered as in_format, sample as samples};
    use ipcperf_render::{Format, Style};

    fn set() -> ResultSet {
        let failed = Pipeline {
            id: "false".to_owned(),
            status: Status::Failed,
            reason: Some("false: exit code 1".to_owned()),
            ..sample()
        };
        ResultSet { pipelines: vec![sample(), failed], ..samples::set(Vec::new()) }
    }

    fn rendered(format: Format, width: usize) -> String {
        in_format(&set(), format, &Style { width, ..Style::default() })
    }

    #[test]
    fn figures_proof_and_reasons_are_shown_at_any_width() {
        let text = rendered(Format::Table, 120);
        for part in [
            "1 of 2 pipelines of programs measured",
            "1.07 GB/s +/- 1.0%: 1,073,741,824 bytes (what 'wc -c' has read) in 1.00 s",
            "Proof: bytes.",
            "head -c 1G /dev/zero: read 10",
            "12,345",
            "- false: exit code 1",
        ] {
            assert!(text.contains(part), "{part}: {text}");
        }
        assert!(!text.contains("No cell was measured"), "{text}");
        for width in [20, 40, 80] {
            for line in rendered(Format::Table, width).lines() {
                assert!(text::width(line) <= width, "{width}: {line}");
            }
        }
    }

    #[test]
    fn other_formats_have_the_same_figures() {
        let markdown = rendered(Format::Markdown, 80);
        assert!(markdown.contains("| wc -c | 300 ms |"), "{markdown}");
        assert!(markdown.contains("- false: exit code 1"), "{markdown}");
        let csv = rendered(Format::Csv, 80);
        let mut lines = csv.lines();
        assert!(lines.next().is_some_and(|head| head.starts_with("id,status,reason,counted")));
        assert!(lines.next().is_some_and(|row| row.contains(",taken,1073741824")), "{csv}");
        let lines = rendered(Format::Ndjson, 80);
        assert!(lines.lines().nth(1).is_some_and(|line| line.starts_with(r#"{"type":"pipeline""#)));
    }
}

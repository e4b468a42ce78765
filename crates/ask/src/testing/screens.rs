//! Everything that is shown to people, of samples of every kind, and what must hold of all of it.

use super::sample::{self, Build, TWO};
use super::{rendered, to_text};
use crate::compare::screen as compare;
use crate::compare::screen::comparison;
use crate::crossover::screen as crossover;
use crate::doctor::screen as doctor;
use crate::explain::screen as explain;
use crate::explain::screen::explain_word;
use crate::list::{describe, table as list};
use crate::results::pipelines;
use crate::trend::screen as trend;
use crate::trend::screen::trends;
use ipcperf_core::result::{Requirements, ResultSet, Severity, Status};
use ipcperf_core::{Idle, OnClose, PatternKind, Touch, Wait};
use ipcperf_kit::command::vocabulary;
use ipcperf_render::{Format, Style};
use ipcperf_testing::screens::{fits, heads, word_of};
use std::collections::BTreeSet;
use std::sync::LazyLock;

/// A result set of every kind.
pub(crate) fn sets() -> &'static [(&'static str, ResultSet)] {
    static SETS: LazyLock<Vec<(&str, ResultSet)>> = LazyLock::new(make);
    &SETS
}

fn make() -> Vec<(&'static str, ResultSet)> {
    let of = |command: &str, mut set: ResultSet| {
        set.invocation.plan.command = command.to_owned();
        set
    };
    let mut chosen = of("choose", sample::survey());
    chosen.invocation.plan.requirements =
        Some(Requirements { sizes: vec![64], ..Requirements::default() });
    let mut programs = of("exec", sample::set(Vec::new()));
    programs.pipelines.push(pipelines::sample());
    let long = sample::cell("unix-stream", 64, TWO).rtt(9e3, 1e4);
    let long = long.word("unix-stream.bind", "a-path-that-is-longer-than-a-column");
    vec![
        ("survey", sample::survey()),
        ("run", of("run", sample::survey())),
        ("one cell", of("run", sample::set(vec![sample::cell("pipe", 64, TWO).rtt(9e3, 1.0)]))),
        ("long names", of("run", sample::set(vec![long.clone()]))),
        ("long names in a survey", sample::set(vec![long])),
        ("nothing", of("run", sample::set(Vec::new()))),
        ("connect", sample::connections()),
        ("serve", sample::served()),
        ("choose", chosen),
        ("crossover", crossover::tests::search(&[(64, 0.5), (4096, 1.0), (65_536, 2.0)])),
        ("explain", explain::tests::document(&["a"])),
        ("explain two", explain::tests::document(&["a", "b"])),
        ("exec", programs),
    ]
}

/// All of it in a format, by names.
fn all(format: Format, style: &Style) -> Vec<(String, String)> {
    let mut all: Vec<(String, String)> = sets()
        .iter()
        .map(|(name, set)| ((*name).to_owned(), rendered(set, format, style)))
        .collect();
    let mut add = |name: &str, text: String| all.push((name.to_owned(), text));
    for document in [compare::tests::mixed(), compare::tests::live(1.05, 1.0)] {
        add("comparison", to_text(|out| comparison(&document, format, style, out)));
    }
    let examination = doctor::tests::examination();
    add("doctor", to_text(|out| doctor::doctor(&examination, format, style, out)));
    add(
        "list",
        to_text(|out| {
            list::list(
                &sample::list(),
                &ipcperf_core::result::Origin::default(),
                format,
                style,
                out,
            )
        }),
    );
    add("trend", to_text(|out| trends(&[trend::tests::sample()], format, style, out)));
    add(
        "trends",
        to_text(|out| {
            trends(&[trend::tests::sample(), trend::tests::sample()], format, style, out)
        }),
    );
    add(
        "words",
        to_text(|out| explain_word(&vocabulary(crate::COMMANDS), None, format, style, out)),
    );
    for row in &sample::list() {
        add("describe", to_text(|out| describe::describe(row, format, style, out)));
    }
    all
}

/// A column was cut off at the edge, and long names in the middle.
#[test]
fn no_text_is_lost_at_forty_columns_or_more() {
    for width in [40, 41, 48, 55, 56, 64, 72, 80] {
        let usual = Style { width, ..Style::default() };
        for style in [usual, Style { verbose: true, full: true, ..usual }] {
            for (name, text) in all(Format::Table, &style) {
                fits(&name, &text, width);
            }
        }
    }
}

#[test]
fn every_head_of_a_table_is_explained() {
    let style = Style { verbose: true, full: true, versus_bound: true, ..Style::default() };
    let mut seen = BTreeSet::new();
    for format in [Format::Markdown, Format::Html] {
        for (name, text) in all(format, &style) {
            seen.extend(heads(&text).into_iter().map(|head| (head, name.clone())));
        }
    }
    let patterns = PatternKind::ALL.iter();
    let columns = patterns.flat_map(|pattern| crate::results::columns::every(*pattern, &style));
    seen.extend(columns.map(|head| (head, "a column".to_owned())));
    let search = crossover::tests::search(&[(64, 0.5), (4096, 2.0)]);
    seen.extend(crossover::heads(&search).into_iter().map(|head| (head, "crossover".to_owned())));
    // What is named by a document: arms; and the scale of a trend.
    let own = ["", "a", "b", "pipe", "tcp", "word", "what it says", "what to do"];
    let units = [" B", " KiB", " MiB"];
    let is_size = |head: &str| units.iter().any(|unit| head.ends_with(unit));
    let is_own = |head: &str| {
        own.contains(&head)
            || head.contains(" .. ")
            || is_size(head)
            || head.ends_with(" round trip")
    };
    let of_document = seen.iter().filter(|(head, _)| !is_own(head));
    let words: Vec<(String, &str)> =
        of_document.map(|(head, from)| (word_of(head), from.as_str())).collect();
    let vocabulary = vocabulary(crate::COMMANDS);
    let unknown: Vec<_> = words.iter().filter(|(word, _)| !vocabulary.has(word)).collect();
    assert!(unknown.is_empty(), "not explained: {unknown:?}");
    assert!(words.len() > 100, "{}", words.len());
}

#[test]
fn every_part_of_a_cell_and_every_word_of_a_row_is_explained() {
    let mut words: Vec<&str> = PatternKind::ALL.iter().map(|one| one.name()).collect();
    words.extend(Idle::ALL.iter().map(|one| one.name()));
    words.extend(Touch::ALL.iter().map(|one| one.name()));
    words.extend(Wait::ALL.iter().map(|one| one.name()));
    words.extend(OnClose::ALL.iter().map(|one| one.name()));
    words.extend(ipcperf_core::Placement::words());
    words.extend(ipcperf_core::BackPressure::ALL.iter().map(|one| one.name()));
    words.extend([
        crate::results::marks::BRIEFLY,
        crate::results::marks::TWO_MODES,
        crate::results::marks::BATCH,
        crate::results::marks::OVERSUBSCRIBED,
        ipcperf_judge::figures::NONE,
        ipcperf_judge::figures::WIDE,
        crate::results::columns::SATURATED,
    ]);
    words.extend([
        "vs pipe",
        "undecided",
        "as fast",
        "reference",
        "screen only",
        "+/-",
        "\u{b1}",
        "slower",
        "faster",
        "MORE",
        "LESS",
        "CONFOUNDED",
    ]);
    words.extend(explain::PARTS);
    let severities = [Severity::Error, Severity::Warning, Severity::Info];
    let named = severities.map(|one| serde_json::to_string(&one).unwrap().replace('"', ""));
    words.extend([Status::Ok, Status::Failed, Status::Deadline].map(Status::name));
    let named = named.iter().map(String::as_str);
    let vocabulary = vocabulary(crate::COMMANDS);
    for word in words.into_iter().chain(named) {
        assert!(vocabulary.has(word), "'{word}' is not explained");
    }
}

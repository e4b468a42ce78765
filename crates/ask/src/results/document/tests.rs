//! What was stopped says so on every screen and page.

use super::stopped;
use crate::compare::screen::comparison;
use crate::testing::sample::{self, Build, TWO};
use crate::testing::screens::sets;
use crate::testing::{rendered, to_text};
use ipcperf_core::Placement;
use ipcperf_core::result::{Finding, ResultSet, Severity, Stage};
use ipcperf_render::{Format, Style};
use ipcperf_testing::screens::says_that_it_was_stopped;

fn styles() -> Vec<Style> {
    let usual = Style::default();
    vec![
        Style { width: 40, ..usual },
        Style { verbose: true, ..usual },
        Style { full: true, ..usual },
        usual,
    ]
}

/// Each document in each format and style, stopped and not.
fn check(name: &str, write: &dyn Fn(bool, Format, &Style) -> String) {
    for style in styles() {
        for format in [Format::Table, Format::Markdown, Format::Html] {
            let [stopped, whole] = [true, false].map(|stopped| write(stopped, format, &style));
            says_that_it_was_stopped(name, format.name(), &stopped, &whole);
        }
    }
}

#[test]
fn whatever_was_stopped_begins_with_it_on_every_screen_and_page() {
    for (name, set) in sets() {
        let of = |interrupted| ResultSet { interrupted, ..set.clone() };
        check(name, &|stopped, format, style| rendered(&of(stopped), format, style));
    }
    let compared = |stopped: bool, of_sides: bool| {
        let set = |interrupted| ResultSet { interrupted, ..sample::small() };
        let [a, b] = [false, stopped && of_sides]
            .map(|interrupted| [sample::recorded("x.json", &set(interrupted))]);
        let mut document = ipcperf_judge::compare_files(&a, &b, &ipcperf_judge::Terms::default())
            .expect("one machine");
        document.interrupted = stopped && !of_sides;
        document
    };
    for of_sides in [false, true] {
        check("comparison", &|stopped, format, style| {
            let document = compared(stopped, of_sides);
            to_text(|out| comparison(&document, format, style, out))
        });
    }
}

#[test]
fn how_far_it_came_is_said_in_rounds_where_rounds_are_missing() {
    let cell = sample::cell("pipe", 64, TWO).rtt(9e3, 1.0);
    let done = cell.by_round().count() as u64;
    let mut set = ResultSet { interrupted: true, ..sample::set(vec![cell]) };
    for (planned, told) in [
        (done + 41, format!("INTERRUPTED after {done} of {} rounds", done + 41)),
        (done, "INTERRUPTED before the plan was done".to_owned()),
    ] {
        set.invocation.plan.rounds = planned;
        let words = stopped(&set).unwrap_or_default();
        assert!(words.starts_with(&told), "{words}");
    }
}

#[test]
fn of_a_run_with_stages_the_stage_that_it_reached_is_said() {
    let question = |stage| ipcperf_core::result::Question {
        stage: Some(stage),
        ..ipcperf_core::result::Question::default()
    };
    let mut set = ResultSet { interrupted: true, ..sample::survey() };
    set.questions = vec![question(Stage::Screen), question(Stage::Screen)];
    let words = stopped(&set).unwrap();
    assert_eq!(words, "INTERRUPTED in the screen stage: nothing is confirmed.");
    set.questions[0].stage = Some(Stage::Confirm);
    let words = stopped(&set).unwrap();
    assert!(words.contains("confirm stage") && words.contains("of 1 of 2 questions"), "{words}");
    set.interrupted = false;
    assert_eq!(stopped(&set), None);
}

#[test]
fn a_run_is_one_screen_that_ends_in_the_answer_and_counts_what_it_leaves_to_v() {
    let cell = |name| sample::cell(name, 64, Placement::SameCpu).rtt(10_000.0, 10.0);
    let mut set = sample::set(vec![cell("pipe")]);
    set.invocation.plan.command = "run".to_owned();
    let finding = |code: &str| Finding {
        code: code.to_owned(),
        severity: Severity::Warning,
        text: format!("{code} was seen (worst: 8 %): it stretches times"),
        remedy: "rest".to_owned(),
        cells: Vec::new(),
        value: None,
        limit: None,
    };
    set.noise.findings = ["W-1", "W-2", "W-3", "W-4"].map(finding).to_vec();
    let shown = rendered(&set, Format::Table, &Style::default());
    assert!(shown.lines().count() <= 24, "{shown}");
    assert_eq!(shown.lines().last(), Some("pipe: 10.0 us (64 B, one CPU)."), "{shown}");
    assert!(
        shown.contains("- W-3: W-3 was seen (worst: 8 %).\n1 more finding, remedies"),
        "{shown}"
    );
    for hidden in ["How to read", "W-4", "stretches", "Remedy", "CPU per"] {
        assert!(!shown.contains(hidden), "{hidden}: {shown}");
    }
    let verbose = Style { verbose: true, ..Style::default() };
    let markdown = rendered(&set, Format::Markdown, &Style::default());
    for shown in [rendered(&set, Format::Table, &verbose), markdown] {
        for kept in ["How to read", "W-4", "stretches", "Remedy"] {
            assert!(shown.contains(kept), "{kept}: {shown}");
        }
        assert!(!shown.contains(": -v"), "{shown}");
    }
}

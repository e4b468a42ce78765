//! Cells over time.

use super::over_time::Latest;
use super::*;
use crate::testing::sample;
use crate::testing::sample::Build;
use ipcperf_core::result::{ResultSet, Status, Timing};
use ipcperf_render::{Format, Style};
use ipcperf_testing::sound::{HOSTILE, is_sound};
use ipcperf_testing::to_text;

const PIPE: &str = "pipe ping-pong 64B same-llc";

/// What a trend takes from a document in which a pipe takes that long.
fn document(p50: f64, change: impl Fn(&mut ResultSet)) -> (DatedResult, CellFigures) {
    let mut set = sample::set(vec![
        sample::cell("pipe", 64, sample::TWO).rtt(p50, p50 / 100.0),
        sample::cell("tcp", 64, sample::TWO).not_ok(Status::Failed, "it broke"),
    ]);
    set.host.microcode = Some("0x10".to_owned());
    set.cells[0].timing = Some(Timing { mode: "per-op".into(), batch: 1 });
    set.tool.build.insert("debug_assertions".to_owned(), "false".to_owned());
    change(&mut set);
    figures_of(String::new(), &set)
}

fn named(name: &str, document: DatedResult) -> DatedResult {
    DatedResult { name: name.to_owned(), ..document }
}

fn text(trend: &Trend, format: Format, width: usize) -> String {
    to_text(|out| {
        trends(std::slice::from_ref(trend), format, &Style { width, ..Style::default() }, out)
    })
}

/// A cell over documents of these changes, named a, b, c, ...
fn follow(cell: &str, documents: Vec<(DatedResult, CellFigures)>) -> Trend {
    let names = "abcdefg".chars().map(|name| format!("{name}.json"));
    let has = |(name, (document, mut cells)): (String, (DatedResult, CellFigures))| {
        Some((named(&name, document), cells.remove(cell)?))
    };
    let found: Vec<_> = names.zip(documents).filter_map(has).collect();
    let newest = found.last().map(|(result, _)| result.started_utc.clone()).unwrap_or_default();
    trend(cell, found, &newest)
}

/// A trend of two documents.
pub(crate) fn sample() -> Trend {
    follow(PIPE, vec![document(10_000.0, same), document(10_500.0, patched)])
}

fn same(_: &mut ResultSet) {}

fn patched(set: &mut ResultSet) {
    set.kernel.release = "6.19.1".to_owned();
    set.host.microcode = Some("0x11".to_owned());
}

#[test]
fn a_trend_marks_what_changed_between_documents() {
    let found = follow(
        PIPE,
        vec![
            document(10_000.0, same),
            document(10_500.0, same),
            document(12_000.0, patched),
            document(11_900.0, patched),
        ],
    );
    insta::assert_snapshot!(text(&found, Format::Table, 100));
    // A mark stands where something changed, and only there.
    let shown = text(&found, Format::Table, 80);
    assert_eq!(shown.matches("  -- ").count(), 2, "{shown}");
    assert!(shown.lines().all(|line| line.len() <= 80), "{shown}");
    let csv = text(&found, Format::Csv, 80);
    assert_eq!(csv.lines().count(), 5, "{csv}");
    assert!(csv.lines().nth(3).is_some_and(|line| line.contains("0x10 0x11")), "{csv}");
}

#[test]
fn what_cannot_be_compared_is_left_out_and_named() {
    let other = |set: &mut ResultSet| set.host.cpu_model = "Another CPU".to_owned();
    let debug = |set: &mut ResultSet| {
        set.tool.build.insert("debug_assertions".to_owned(), "true".to_owned());
    };
    let batch = |set: &mut ResultSet| {
        set.cells[0].timing = Some(Timing { mode: "batch".into(), batch: 64 });
    };
    let found = follow(
        PIPE,
        vec![
            document(1.0, other),
            document(10_000.0, debug),
            document(500.0, batch),
            document(10_000.0, same),
            document(2.0, other),
            document(10_100.0, same),
        ],
    );
    let shown = text(&found, Format::Table, 200);
    assert!(shown.contains("\n2 documents of "), "{shown}");
    assert!(
        shown.contains("- a.json and e.json: another machine (cpu: Another CPU -> "),
        "{shown}"
    );
    assert!(shown.contains("- b.json: a program that was optimised in another way"), "{shown}");
    assert!(shown.contains("- c.json: timed in another way: batch, not per-op"), "{shown}");
    // The document between them is of another machine, which is no change of this one.
    assert!(!shown.contains("  -- "), "{shown}");
    let csv = text(&found, Format::Csv, 80);
    assert_eq!(csv.matches("another machine").count(), 2, "{csv}");
}

#[test]
fn a_page_of_a_trend_has_the_figures_of_the_table_and_a_rule_for_each_change() {
    let found = follow(
        PIPE,
        vec![
            document(10_000.0, same),
            document(10_500.0, same),
            document(12_000.0, patched),
            document(2.0, |set| set.host.cpu_model = "Another CPU".to_owned()),
            document(15_000.0, patched),
        ],
    );
    let page = text(&found, Format::Html, 80);
    is_sound(&page);
    let headline = format!("<h1>{PIPE}: 25 % higher than in c.json, 15.0 us after 12.0 us</h1>");
    assert!(page.contains(&headline), "{page}");
    assert!(text(&found, Format::Table, 200).contains(": 25 % higher than in c.json, "));
    for row in text(&found, Format::Csv, 80).lines().skip(1).take(3) {
        let name = row.split(',').nth(1).unwrap();
        assert!(page.contains(&format!(">{name}</td>")), "{name}");
    }
    let facts: usize = found.machine.facts.values().map(|parts| parts.len()).sum();
    // The heads, a row for each document, and one for what changed.
    assert_eq!(page.matches("<tr>").count(), 1 + 4 + 1, "{page}");
    assert_eq!(page.matches("<dt>").count(), facts, "{page}");
    let chart = page.split_once("<svg").unwrap().1.split_once("</svg>").unwrap().0;
    assert_eq!(chart.matches("<circle").count(), 4 + 1, "points and the name beside them");
    assert_eq!(chart.matches("class=\"front\"").count(), 2, "{chart}");
    for words in ["kernel 6.19.1", "microcode 0x11", ">us<"] {
        assert!(chart.contains(words), "{words} in {chart}");
    }
    assert!(
        page.contains("<li class=\"doubt\">d.json: another machine (cpu: Another CPU -&gt; "),
        "{page}"
    );
}

#[test]
fn a_change_is_told_where_it_is_beyond_the_intervals_and_beyond_what_sessions_differ_by() {
    let step = |from: f64, to: f64, change: fn(&mut ResultSet)| {
        follow(PIPE, vec![document(from, same), document(to, change)]).step()
    };
    assert_eq!(
        step(10_000.0, 10_500.0, same),
        "no change is shown since a.json, 10.5 us after 10.0 us"
    );
    assert_eq!(
        step(12_000.0, 10_000.0, same),
        "16.7 % lower than in a.json, 10.0 us after 12.0 us"
    );
    let noisy = |set: &mut ResultSet| set.noise.grade = "F".to_owned();
    assert!(step(12_000.0, 10_000.0, noisy).starts_with("no change is shown since a.json"));
    let wide = |set: &mut ResultSet| {
        let figure = set.cells[0].rtt_ns.as_mut().and_then(|times| times.get_mut("p50"));
        figure.expect("a median").ci95 = Some([9_000.0, 12_000.0]);
    };
    assert!(step(12_000.0, 10_000.0, wide).starts_with("no change is shown since a.json"));
    let one = follow(PIPE, vec![document(12_000.0, same)]);
    assert_eq!(one.step(), "12.0 us in a.json, and nothing to compare it with");
}

#[test]
fn of_a_document_that_lost_the_figure_it_is_told_that_and_nothing_of_those_before_it() {
    let broken = |set: &mut ResultSet| {
        set.cells[0] = set.cells[0].clone().not_ok(Status::Failed, "it broke");
        set.cells[0].rtt_ns = None;
    };
    let all = || vec![document(10_000.0, same), document(10_001.0, same)];
    let step = |last: Vec<(DatedResult, CellFigures)>| follow(PIPE, [all(), last].concat()).step();
    assert_eq!(step(vec![document(1.0, broken)]), "c.json has no figure (failed)");
    let again = vec![document(1.0, broken), document(10_002.0, same)];
    assert_eq!(step(again), "no change is shown since b.json, 10.0 us after 10.0 us");
}

#[test]
fn a_result_that_is_given_twice_is_one_point() {
    let twice = || document(10_000.0, same);
    let found = follow(PIPE, vec![twice(), twice(), document(10_500.0, same)]);
    let shown = text(&found, Format::Table, 80);
    assert!(shown.contains("2 documents of "), "{shown}");
    assert!(shown.contains("- b.json: the same result as a.json\n"), "{shown}");
}

/// The copy of the latest result has another name, and every cell was said not to be in the latest result.
#[test]
fn a_copy_of_the_latest_result_hides_nothing() {
    let latest = || document(10_500.0, same);
    let found = follow(PIPE, vec![document(10_000.0, same), latest(), latest()]);
    assert_eq!((found.latest(), found.change().as_str()), (Latest::Unchanged, "no change shown"));
    let cell = document(10_000.0, same).1.remove(PIPE).unwrap();
    let absent = [(named("a.json", document(10_000.0, same).0), cell)];
    let absent = trend(PIPE, absent.to_vec(), "2030-01-01T00:00:00Z");
    assert_eq!(absent.latest(), Latest::Absent);
    assert_eq!(absent.step(), "10.0 us in a.json; not in the latest result, or not compared");
}

#[test]
fn screened_values_share_one_line_and_are_not_compared() {
    use ipcperf_core::result::{Round, Stage};
    let staged = |stage: Stage| {
        move |set: &mut ResultSet| {
            set.cells[0].rounds = vec![Round { stage: Some(stage), ..Round::default() }];
        }
    };
    let screened = || document(90_000.0, staged(Stage::Screen));
    let confirmed = |value| document(value, staged(Stage::Confirm));
    let documents = [confirmed(10_000.0), screened(), confirmed(10_100.0), screened()];
    let shown = text(&follow(PIPE, documents.to_vec()), Format::Table, 200);
    assert!(shown.contains("no change is shown since a.json, 10.1 us after 10.0 us"), "{shown}");
    assert!(shown.contains("\n2 documents of "), "{shown}");
    assert!(shown.contains("- b.json and d.json: measured only in the screen"), "{shown}");
    let shown = text(&follow(PIPE, vec![screened(), screened()]), Format::Table, 200);
    assert!(shown.contains("measured only in screens"), "{shown}");
    assert!(!shown.contains("90.0 us") && !shown.contains("0 documents"), "{shown}");
    // The rows still have every document.
    let csv = text(&follow(PIPE, vec![screened(), screened()]), Format::Csv, 80);
    assert_eq!(csv.matches("not compared").count(), 2, "{csv}");
}

#[test]
fn of_several_cells_those_that_changed_come_first() {
    let tcp = |set: &mut ResultSet| {
        set.cells[1] = sample::cell("tcp", 64, sample::TWO).rtt(20_000.0, 200.0);
    };
    let slower = |set: &mut ResultSet| {
        set.cells[1] = sample::cell("tcp", 64, sample::TWO).rtt(30_000.0, 200.0);
    };
    let documents = [document(10_000.0, tcp), document(10_010.0, slower)];
    let all = [PIPE, "tcp ping-pong 64B same-llc"].map(|cell| follow(cell, documents.to_vec()));
    let style = Style { width: 100, ..Style::default() };
    insta::assert_snapshot!(to_text(|out| trends(&all, Format::Table, &style, out)));
    let csv = to_text(|out| trends(&all, Format::Csv, &style, out));
    assert_eq!(csv.lines().count(), 1 + 4, "{csv}");
    let none = to_text(|out| trends(&all[..1], Format::Table, &style, out));
    assert!(none.starts_with(PIPE), "one cell has its chart: {none}");
}

/// A mechanism that broke stood among those without a change, or in no list at all.
#[test]
fn a_cell_that_lost_its_figure_is_listed_and_one_with_too_few_is_counted() {
    let works = |set: &mut ResultSet| {
        set.cells[1] = sample::cell("tcp", 64, sample::TWO).rtt(20_000.0, 200.0);
    };
    let tcp = "tcp ping-pong 64B same-llc";
    let broken = follow(tcp, vec![document(10_000.0, works), document(10_000.0, same)]);
    assert_eq!(broken.change(), "failed");
    let pipe = || follow(PIPE, vec![document(10_000.0, same), document(10_001.0, same)]);
    let gone = trend(
        PIPE,
        vec![(
            named("a.json", document(1e4, same).0),
            CellFigure { value: Some(1e4), ..CellFigure::default() },
        )],
        "2030-01-01T00:00:00Z",
    );
    let other = |set: &mut ResultSet| set.host.cpu_model = "Another CPU".to_owned();
    let moved =
        follow(PIPE, vec![document(1.0, other), document(1e4, same), document(10_001.0, same)]);
    let all = [broken, pipe(), gone, moved];
    let shown = |format, verbose| {
        let style = Style { width: 100, verbose, ..Style::default() };
        to_text(|out| trends(&all, format, &style, out))
    };
    let text = shown(Format::Table, false);
    assert!(text.starts_with("No change is shown in 2 cells; 1 cell lost its figure\n"), "{text}");
    assert!(
        text.contains(
            "\ntcp ping-pong 64B same-llc   failed                 -  20.0 us          2"
        ),
        "{text}"
    );
    assert!(text.contains("Not listed: 1 cell with fewer"), "{text}");
    assert!(text.contains("- a.json: another machine (cpu: Another CPU -> "), "{text}");
    assert!(shown(Format::Table, true).contains("not in the latest result"));
    assert_eq!(shown(Format::Csv, false).lines().count(), 1 + 2 + 2 + 1 + 3);
    assert_eq!(shown(Format::Ndjson, false).lines().count(), 2 + 2 + 1 + 3);
}

#[test]
fn a_cell_without_a_figure_has_a_line_that_says_why() {
    let tcp = "tcp ping-pong 64B same-llc";
    let found = follow(tcp, vec![document(1.0, same), document(1.0, same)]);
    let shown = text(&found, Format::Table, 80);
    assert_eq!(shown.matches("failed").count(), 2, "{shown}");
    for format in Format::ALL {
        text(&found, *format, 80);
    }
}

#[test]
fn hostile_names_and_values_are_printed_harmlessly() {
    let (mut summary, mut cells) = document(10_000.0, same);
    summary.grade = "\u{1b}[2J".to_owned();
    summary.started_utc = "\n".repeat(9);
    let cell = cells.get_mut(PIPE).unwrap();
    (cell.value, cell.ci95, cell.metric) =
        (Some(f64::MAX), Some([-1.0, f64::INFINITY]), "x".to_owned());
    let cell = cell.clone();
    let mut other = summary.clone();
    other.facts.insert(HOSTILE.to_owned(), [(HOSTILE.to_owned(), HOSTILE.to_owned())].into());
    summary.facts.insert(HOSTILE.to_owned(), [(HOSTILE.to_owned(), "x".to_owned())].into());
    for word in [HOSTILE, "\u{7}"] {
        let documents = [(HOSTILE, &summary), ("a\u{202e}.json", &other), (HOSTILE, &summary)];
        let documents =
            documents.map(|(name, summary)| (named(name, summary.clone()), cell.clone()));
        is_sound(&text(&trend(word, documents.to_vec(), ""), Format::Html, 80));
    }
    let one = named("a\u{202e}.json", summary);
    let shown = text(
        &trend("\u{7}", vec![(one.clone(), cell.clone()), (one, cell)], ""),
        Format::Table,
        80,
    );
    assert!(shown.chars().all(|sign| sign == '\n' || !sign.is_control()), "{shown:?}");
    assert!(!shown.contains('\u{202e}'));
}

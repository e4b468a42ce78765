//! Figures beside the primary one: the tail and the CPU time.

use super::{measured, plan, terms, text, wobble};
use crate::testing::sample;
use ipcperf_core::result::*;
use ipcperf_judge::{Arms, Outcome, Slower, compare_files, compare_live};
use ipcperf_render::Format;
use ipcperf_stats::{Histogram, Rng};

/// Single operations, ns, as a round has them.
fn operations(nanos: impl IntoIterator<Item = f64>) -> Option<HistogramData> {
    let mut histogram = Histogram::new();
    nanos.into_iter().for_each(|one| histogram.record((one * 1e3) as u64));
    Some(HistogramData::from(&histogram))
}

/// Twelve rounds of so many operations of 10 us, of which 1 in 50 takes `tail` times as long; the rounds of the arms
/// differ by a percent.
fn arm(count: u32, tail: f64, shift: usize) -> Cell {
    let level = |at: usize| 10_000.0 * wobble(at + shift, 0.01);
    let mut cell = measured("pipe", (0..12).map(level));
    for (at, round) in cell.rounds.iter_mut().enumerate() {
        let long = |one: u32| if one % 50 == 7 { tail * wobble(at + 2 * shift, 0.02) } else { 1.0 };
        round.histogram = operations((0..count).map(|one| level(at) * long(one)));
        round.unanswered = 0;
        round.saturated = false;
        round.messages = 1_000_000;
        round.moved = None;
        round.cpu_ns.lead = (4e9 * wobble(at + shift, 0.003)) as u64;
        round.cpu_ns.follow = 0;
    }
    cell
}

/// A run that nothing has disturbed.
fn quiet(cells: Vec<Cell>) -> ResultSet {
    let mut set = sample::set(cells);
    set.noise.findings.clear();
    set
}

fn live(a: &Cell, again: &Cell, b: &Cell) -> Comparison {
    let set = quiet(vec![a.clone(), again.clone(), b.clone()]);
    compare_live(&Arms { a: "a", b: "b", set: &set, other: None }, plan(), &terms())
        .expect("comparable")
}

fn beside<'a>(document: &'a Comparison, metric: &str) -> &'a FigureComparison {
    let mut figures = document.comparisons[0].secondary.iter();
    figures.find(|one| one.metric == metric).expect("the figure")
}

fn kind(gate: &str, document: &Comparison) -> &'static str {
    match gate.parse::<Slower>().expect("a gate").check(document) {
        Outcome::Passed => "passed",
        Outcome::Failed(_) => "failed",
        Outcome::CannotTell(_) => "open",
    }
}

#[test]
fn a_tail_and_cpu_time_are_judged_by_themselves_and_the_sentence_is_about_the_median() {
    let (a, again) = (arm(3_000, 3.0, 1), arm(3_000, 3.0, 4));
    let mut b = arm(3_000, 3.6, 7);
    b.rounds.iter_mut().for_each(|round| round.cpu_ns.lead = round.cpu_ns.lead * 9 / 10);
    let document = live(&a, &again, &b);
    let one = &document.comparisons[0];
    assert_ne!(one.primary.verdict, Difference::Slower);
    let tail = beside(&document, "rtt_ns.p99");
    assert_eq!((tail.verdict, tail.margin), (Difference::Slower, 0.05));
    assert!(tail.ratio.value.is_some_and(|ratio| (1.17..1.23).contains(&ratio)), "{tail:?}");
    assert!(tail.a_value.is_some_and(|value| (29_000.0..31_000.0).contains(&value)), "{tail:?}");
    let cpu = beside(&document, "cpu_ns_per_message");
    assert_eq!((cpu.verdict, cpu.margin), (Difference::Faster, 0.01));
    let shown = text(&document, Format::Table);
    assert!(shown.starts_with("B vs A: 1 "), "{shown}");
    assert!(!shown.lines().next().is_some_and(|line| line.contains("SLOWER")), "{shown}");
    assert!(shown.contains("p99 1.2") && shown.contains("] SLOWER"), "{shown}");
    assert!(shown.contains("CPU per message 0.90") && shown.contains("] LESS"), "{shown}");
    assert!(text(&document, Format::Markdown).contains("| p99 | CPU per message |"));
    assert_eq!(text(&document, Format::Csv).lines().count(), 4);
    assert_eq!(kind("slower:5%", &document), "passed");
    assert_eq!(kind("p99:slower:10%", &document), "failed");
    assert_eq!(kind("p99:slower:50%", &document), "passed");
    let same = live(&a, &again, &arm(3_000, 3.0, 7));
    assert_eq!(beside(&same, "rtt_ns.p99").verdict, Difference::None);
    // The control holds for each figure by itself.
    let failed = live(&a, &arm(3_000, 3.3, 4), &b);
    assert!(beside(&failed, "rtt_ns.p99").reason.starts_with("the control failed"), "{failed:?}");
    assert!(!failed.comparisons[0].primary.doubted);
}

#[test]
fn rounds_too_short_for_a_p99_are_asked_how_often_they_exceed_that_of_all() {
    let often = |every: u32, shift: usize| {
        let mut cell = arm(600, 1.0, shift);
        for (at, round) in cell.rounds.iter_mut().enumerate() {
            let long = |one: u32| one % every == at as u32 % every;
            let time = |one: u32| if long(one) { 30_000.0 } else { 10_000.0 + f64::from(one) };
            round.histogram = operations((0..600).map(time));
        }
        cell
    };
    let (a, again, b) = (often(200, 1), often(200, 4), often(40, 7));
    let there = live(&a, &again, &b);
    let tail = beside(&there, "above_p99");
    assert_eq!(tail.verdict, Difference::Slower, "{tail:?}");
    // e^(ln 1.05 x ln 100): 5 % of an exponential tail.
    assert!((tail.margin - 0.252).abs() < 0.001, "{}", tail.margin);
    assert_eq!(kind("p99:slower:10%", &there), "open", "a share is no time");
    let back = live(&b, &b, &a);
    let mirrored = beside(&back, "above_p99");
    assert_eq!((mirrored.verdict, mirrored.p_adjusted), (Difference::Faster, tail.p_adjusted));
    let (one, other) = (tail.ratio.value.unwrap(), mirrored.ratio.value.unwrap());
    assert!((one * other - 1.0).abs() < 1e-12, "{one} {other}");
    assert!(
        text(&there, Format::Table).contains("p99 of A exceeded "),
        "{}",
        text(&there, Format::Table)
    );
    // All together are too few as well.
    let short = arm(50, 3.0, 1);
    assert_eq!(live(&short, &short, &short).comparisons[0].secondary.len(), 1);
}

/// What is wrong with an arm.
type Change = fn(&mut Cell);

#[test]
fn a_tail_that_others_make_is_not_told() {
    let (a, again) = (arm(3_000, 3.0, 1), arm(3_000, 3.0, 4));
    let reason = |change: Change| {
        let mut b = arm(3_000, 3.6, 7);
        change(&mut b);
        let document = live(&a, &again, &b);
        let tail = beside(&document, "rtt_ns.p99");
        assert_eq!((tail.verdict, tail.doubted), (Difference::CannotTell, true));
        assert!(!document.comparisons[0].primary.doubted);
        tail.reason.clone()
    };
    assert_eq!(
        reason(|b| b.rounds[3].unanswered = 40),
        "the p99 of B is among messages never answered"
    );
    let two: Change = |b| {
        for round in b.rounds.iter_mut().skip(6) {
            let long = |one: u32| if one % 50 == 7 { 90_000.0 } else { 10_000.0 };
            round.histogram = operations((0..3_000).map(long));
        }
    };
    assert_eq!(reason(two), "the rounds of B have two tails");
    let mut set = quiet(vec![a, again, arm(3_000, 3.6, 7)]);
    let stolen = "2 % of the CPU time was stolen";
    set.noise.findings.push(sample::finding("W-STEAL", Severity::Warning, stolen));
    let arms = Arms { a: "a", b: "b", set: &set, other: None };
    let document = compare_live(&arms, plan(), &terms()).expect("comparable");
    let said = format!("the tail is the machine's: {stolen}");
    assert_eq!(beside(&document, "rtt_ns.p99").reason, said);
    assert!(!beside(&document, "cpu_ns_per_message").doubted);
    let shown = text(&document, Format::Table);
    assert!(shown.contains("CAN'T TELL: the tail is the machine's"), "{shown}");
}

#[test]
fn what_is_timed_in_batches_has_no_tail_and_older_documents_have_nothing_beside() {
    let mut cell = arm(3_000, 3.0, 1);
    cell.rounds[5].histogram = None;
    let document = live(&cell, &cell, &cell);
    assert_eq!(document.comparisons[0].secondary.len(), 1, "CPU time only");
    cell.rounds.iter_mut().for_each(|round| round.cpu_ns = SideCpu::default());
    assert!(live(&cell, &cell, &cell).comparisons[0].secondary.is_empty(), "nothing was counted");
    let mut older = serde_json::to_value(&document).unwrap();
    for key in ["adjustment", "incomparable", "attempt"] {
        older.as_object_mut().unwrap().remove(key);
    }
    older["comparisons"][0].as_object_mut().unwrap().remove("secondary");
    let read: Comparison = serde_json::from_value(older).unwrap();
    assert_eq!(read.comparisons[0].primary, document.comparisons[0].primary);
    assert!(read.comparisons[0].secondary.is_empty());
    assert_eq!(read.adjustment, Adjustment::Holm);
}

#[test]
fn recorded_tails_have_a_session_floor_three_times_as_high() {
    let side = |cell: Cell| [sample::recorded("x.json", &quiet(vec![cell]))];
    let compared = |tail: f64| {
        compare_files(&side(arm(3_000, 3.0, 1)), &side(arm(3_000, tail, 7)), &terms()).unwrap()
    };
    let (near, far) = (compared(3.8), compared(4.5));
    let [near, far] = [&near, &far].map(|document| beside(document, "rtt_ns.p99"));
    assert!(near.session_floor.is_some_and(|floor| (floor - 0.33).abs() < 1e-12));
    assert_eq!((near.verdict, far.verdict), (Difference::CannotTell, Difference::Slower));
}

#[test]
fn equal_tails_are_rarely_told_apart_and_their_operations_taken_together_often_are() {
    // Bursts of operations that take long come in one round of four: most of a tail is from a few rounds.
    let (trials, mut rng) = (150, Rng::stream(21, "tails"));
    let mut cell = |shift: usize| {
        let mut cell = arm(1, 1.0, shift);
        for round in &mut cell.rounds {
            let burst = if rng.below(4) == 0 { rng.below(40) } else { 0 };
            let time =
                |one: u64| if one < burst { 40_000.0 } else { 10_000.0 } + rng.exponential(900.0);
            round.histogram = operations((0..400).map(time));
        }
        cell
    };
    let (mut claims, mut held, mut naive) = (0, 0, 0);
    for _ in 0..trials {
        let cells = [cell(1), cell(4), cell(7)];
        let document = live(&cells[0], &cells[1], &cells[2]);
        let tail = beside(&document, "above_p99");
        claims += u64::from(tail.at_least.is_some());
        held += u64::from(tail.ratio.ci95.is_some_and(|[low, high]| low <= 1.0 && 1.0 <= high));
        // Two proportions of 4,800 operations each, as if each were an observation of its own.
        let above = |figures: &[f64]| figures.iter().map(|share| share * 401.0 - 0.5).sum::<f64>();
        let [one, other] = [above(&tail.a_rounds), above(&tail.b_rounds)];
        naive += u64::from((one - other).abs() > 1.96 * (one + other).sqrt());
    }
    assert!(claims <= trials / 20, "{claims} claims of {trials}");
    assert!(held >= trials * 92 / 100, "{held} of {trials}");
    assert!(naive > trials / 5, "{naive} of {trials}");
}

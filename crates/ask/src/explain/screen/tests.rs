//! Parts of round trips whose truth is simulated, and the screens that tell of them.

use super::arms::{Needed, WAKER, needed};
use super::parts::{Trip, TripPart, figure};
use crate::testing::render;
use crate::testing::{sample, to_text};
use ipcperf_core::result::{CallTime, CallTimes, Metric, ResultSet, Spread};
use ipcperf_core::{Idle, Load, Placement, Spec};
use ipcperf_engine::simulate::{Service, Shape, Simulated, Simulation};
use ipcperf_render::{Format, Style};
use std::collections::BTreeMap;

const PLACES: [Placement; 2] = [Placement::SameCpu, Placement::SameLlc];
const SIZE: u64 = 4096;

/// What is true of a machine and of two mechanisms, ns.
#[derive(Clone, Copy)]
struct Truth {
    /// A message sent and received while nobody waits, over `a` and over `b`.
    message: [f64; 2],
    /// Copying it once.
    copy: f64,
    /// Both wake-ups of a round trip, on one CPU and on two.
    wake: [f64; 2],
    /// Leaving idle, twice.
    idle: f64,
    /// What no arm has.
    rest: f64,
}

const TRUTH: Truth = Truth {
    message: [900.0, 700.0],
    copy: 150.0,
    wake: [2400.0, 3000.0],
    idle: 5000.0,
    rest: 600.0,
};

#[test]
fn arms_that_take_more_than_the_whole_are_marked_and_nothing_is_below_zero() {
    let set = Truth { rest: -1500.0, ..TRUTH }.document(&["a"], 3);
    let rendered = |set: &ResultSet, format, style: &Style| {
        to_text(|out| render(set, &specs, format, style, out))
    };
    let shown = rendered(&set, Format::Table, &Style { width: 120, ..Style::default() });
    let row = |name: &str| shown.lines().find(|line| line.trim_start().starts_with(name));
    let rest = row("unexplained").unwrap_or_else(|| panic!("{shown}"));
    assert!(rest.contains("0.0") && !rest.contains("-0") && !rest.contains("-1"), "{rest}");
    assert!(
        row("overlap, counted twice above").is_some_and(|line| line.contains("1.5")),
        "{shown}"
    );
    assert!(!shown.contains("-1.") && !shown.contains("-12 %"), "{shown}");
    let page = rendered(&set, Format::Html, &Style::default());
    let chart =
        page.split_once(">What each part takes</h3>").unwrap().1.split_once("</svg>").unwrap().0;
    assert!(!chart.contains(">-"), "an axis below zero: {chart}");
    let without = rendered(&document(&["a"]), Format::Table, &Style::default());
    assert!(!without.contains("overlap, counted"), "{without}");
}

/// A delay by its name, and where it is.
type Planted = (&'static str, fn(&mut Truth));

/// What only wakes, and what only copies, for each message.
const OTHERS: [f64; 2] = [400.0, 50.0];

impl Truth {
    fn takes(&self, one: &Needed) -> f64 {
        let place = usize::from(one.placement.is_two_cpus());
        let idle = if place == 1 && one.idle == Idle::AsIs { self.idle } else { 0.0 };
        let woken = self.wake[place] + idle;
        let message = match one.mechanism.as_str() {
            "a" => self.message[0],
            "b" => self.message[1],
            WAKER => OTHERS[0],
            _ => OTHERS[1],
        };
        let copies = match one.mechanism.as_str() {
            WAKER => 0.0,
            _ => 2.0,
        };
        let copied = if one.size > 1 { copies * self.copy } else { 0.0 };
        match one.burst {
            0 if one.mechanism == WAKER => 2.0 * message + woken,
            0 => 2.0 * (message + copied) + woken + self.rest,
            // The answer is short.
            burst => burst as f64 * (message + copied) + message + woken,
        }
    }

    fn document(&self, names: &[&str], seed: u64) -> ResultSet {
        let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        let cell = |one: Needed| {
            let times = Shape::LogNormal { median: self.takes(&one), sigma: 0.02 };
            let mut cell = Simulated::new(&one.mechanism, one.size, Service::of(times));
            cell.key.pattern = one.pattern();
            cell.key.placement = one.placement;
            cell.key.idle = one.idle;
            cell.key.cpus = if one.placement.is_two_cpus() { vec![0, 1] } else { vec![0, 0] };
            cell.key.load = Load { burst: one.burst, ..Load::default() };
            cell
        };
        let cells = needed(&names, SIZE, &PLACES).into_iter().map(cell).collect();
        let run = Simulation { seed, rounds: 20, operations: 200, cells, ..Simulation::default() };
        let mut set = run.document();
        set.invocation.plan.command = "explain".to_owned();
        set
    }
}

/// A document that explains these.
pub(crate) fn document(names: &[&str]) -> ResultSet {
    TRUTH.document(names, 7)
}

fn specs(_: &str) -> Option<&'static Spec> {
    sample::spec("pipe")
}

/// What each part takes on one CPU and on two, and what is left.
fn found(set: &ResultSet, name: &str) -> BTreeMap<(usize, Option<TripPart>), Metric> {
    let mut all = BTreeMap::new();
    let cells =
        set.cells.iter().filter(|cell| cell.key.mechanism == name && cell.key.load.burst == 0);
    for (place, cell) in cells.enumerate() {
        let trip = Trip::of(set, &specs, cell);
        for part in TripPart::ALL {
            all.insert(
                (place, Some(part)),
                figure(&trip.taken(part).unwrap_or_else(|| panic!("{part:?}"))),
            );
        }
        all.insert((place, None), figure(&trip.rest));
    }
    assert_eq!(all.len(), 2 * (TripPart::ALL.len() + 1), "two places");
    all
}

/// What takes the time so told.
fn truth(of: &Truth, place: usize, part: Option<TripPart>) -> f64 {
    match part {
        Some(TripPart::Calls) => 2.0 * of.message[0],
        Some(TripPart::Copies) => 4.0 * of.copy,
        Some(TripPart::WakeUp) => of.wake[place],
        Some(TripPart::Idle) => of.idle * place as f64,
        Some(TripPart::Migration | TripPart::CacheLine) => 0.0,
        None => of.rest,
    }
}

#[test]
fn a_delay_in_one_part_appears_in_that_part_and_in_no_other() {
    let planted: [Planted; 6] = [
        ("nothing", |_| {}),
        ("a call", |truth| truth.message[0] += 500.0),
        ("a copy", |truth| truth.copy += 500.0),
        ("a wake-up", |truth| truth.wake = truth.wake.map(|wake| wake + 1000.0)),
        ("leaving idle", |truth| truth.idle += 1000.0),
        ("nowhere", |truth| truth.rest += 1000.0),
    ];
    for (seed, (what, plant)) in (1..).zip(planted) {
        let mut of = TRUTH;
        plant(&mut of);
        for ((place, part), metric) in found(&of.document(&["a"], seed), "a") {
            let (value, truth) = (metric.value.unwrap(), truth(&of, place, part));
            // A part is off by what the cells of its arms are: medians of 20 rounds of 200 operations.
            let near = 0.02 * truth.max(2000.0);
            assert!(
                (value - truth).abs() < near,
                "{what}: {part:?} on {place}: {value}, not {truth}"
            );
            let [low, high] = metric.ci95.unwrap();
            assert!(low <= value && value <= high, "{part:?}");
        }
    }
}

#[test]
fn the_clock_is_in_no_part_twice() {
    // Each operation is timed with one reading, which is in the round trip and in the arm that wakes.
    let set = TRUTH.document(&["a"], 9);
    let trips = found(&set, "a");
    let rest = trips[&(0, None)].value.unwrap();
    assert!((rest - TRUTH.rest).abs() < 40.0, "{rest}");
}

fn screen(set: &ResultSet, width: usize) -> String {
    let style = Style { width, ..Style::default() };
    to_text(|out| render(set, &specs, Format::Table, &style, out))
}

#[test]
fn the_first_screen_says_what_dominates_within_forty_lines() {
    let set = TRUTH.document(&["a"], 2);
    let text = screen(&set, 80);
    assert!(text.lines().count() <= 40 && text.lines().all(|line| line.len() <= 80), "{text}");
    let flat = text.split_whitespace().collect::<Vec<_>>().join(" ");
    for part in [
        "On one CPU wake-up and switch takes most (45 %); the parts measured by themselves add up to 89 %.",
        "On two CPUs (same-llc) leaving idle takes most",
        "leaving idle: none, of two ends on one CPU one always runs",
        "migration: none, both ends are pinned",
        "The system calls of a were not timed.",
        "ipcperf explain a --what-if",
    ] {
        assert!(flat.contains(part), "{part}: {text}");
    }
    let mut noisy = set;
    noisy.noise.grade = "F".to_owned();
    let text = screen(&noisy, 200);
    assert!(text.contains("Too noisy to say what takes most"), "{text}");
    assert!(!text.contains(" takes most ("), "{text}");
}

#[test]
fn the_share_of_first_returns_on_one_cpu_is_told_where_it_was_measured() {
    let mut set = TRUTH.document(&["a"], 2);
    let flat = |set: &ResultSet| screen(set, 80).split_whitespace().collect::<Vec<_>>().join(" ");
    let words = "On one CPU the first return of a program after a switch of tasks takes 490 ns";
    assert!(!flat(&set).contains(words), "an older build measured none");
    let one = Spread { min: 490.0, median: 490.0, max: 490.0, n: 1 };
    set.bounds.return_after_switch_ns = Some(one);
    let text = flat(&set);
    assert!(text.contains(words) && text.contains("inside wake-up and switch."), "{text}");
    assert!(screen(&set, 80).lines().count() <= 40, "{text}");
}

/// A document may say anything: the sum of two counts ended the program.
#[test]
fn counts_of_any_size_are_shown() {
    let mut set = TRUTH.document(&["a"], 1);
    for round in set.cells.iter_mut().flat_map(|cell| &mut cell.rounds) {
        let lead = &mut round.covariates.lead;
        (lead.voluntary_switches, lead.involuntary_switches) = (u64::MAX, u64::MAX);
    }
    assert!(screen(&set, 80).contains("wake-up and switch"));
}

/// They had the tables of all arms only.
#[test]
fn other_formats_begin_with_the_answer() {
    let mut set = TRUTH.document(&["a"], 2);
    set.cells[0].key.mechanism = "a ````b".to_owned();
    let style = Style::default();
    let drawn = |format| to_text(|out| render(&set, &specs, format, &style, out));
    let markdown = drawn(Format::Markdown);
    let headline = "# Where the difference of a \\`\\`\\`\\`b and a comes from\n\n";
    assert!(markdown.starts_with(headline), "{markdown}");
    assert!(markdown.contains("\n## System calls\n\nThe system calls of a "), "{markdown}");
    assert!(markdown.contains("\n## "), "the tables are there, too");
    assert!(
        drawn(Format::Html).contains("<h1>Where the difference of a ````b and a comes from</h1>")
    );
}

#[test]
fn a_page_has_the_parts_of_the_screen_as_a_table_and_a_picture() {
    let set = TRUTH.document(&["a"], 2);
    let screen = screen(&set, 100);
    let page = to_text(|out| render(&set, &specs, Format::Html, &Style::default(), out));
    // Every cell of its tables stands in the page, and every sentence beside them.
    let rows = screen.lines().filter(|line| line.contains("..") && line.contains('%'));
    let cells: Vec<&str> = rows.flat_map(|row| row.split("  ")).collect();
    let cells = cells.iter().map(|cell| cell.trim()).filter(|cell| !cell.is_empty());
    assert!(cells.clone().count() > 30, "{screen}");
    for cell in cells {
        assert!(page.contains(&format!(">{cell}</td>")), "{cell} of {screen}");
    }
    let said = "On one CPU wake-up and switch takes most (45 %); the parts measured by themselves add up to 89 %.";
    assert!(page.contains(&format!("<li>{said}</li>")), "{page}");
    let answer =
        "Wake-up and switch takes most of a 4 KiB round trip over a on one CPU: 45 % of 5.42 us";
    assert!(page.contains(&format!("<h1>{answer}</h1>")), "{page}");
    assert!(
        page.contains(">Where the time of a round trip over a goes: 4 KiB round trips take "),
        "{page}"
    );
    let chart =
        page.split_once(">What each part takes</h3>").unwrap().1.split_once("</svg>").unwrap().0;
    assert!(
        chart.contains(">leaving idle</text>") && chart.contains(">unexplained</text>"),
        "{chart}"
    );
    assert!(!page.contains("<pre"));
    assert!(page.contains(">Where the time goes (us)</h2>"));
}

#[test]
fn a_difference_is_where_it_was_planted() {
    let set = TRUTH.document(&["a", "b"], 3);
    let text = screen(&set, 80);
    assert!(text.lines().count() <= 40, "{text}");
    let flat = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(flat.contains("less than a: most of it is send and receive ("), "{text}");
    // Two that do not differ have no difference to explain.
    let same = Truth { message: [900.0; 2], ..TRUTH }.document(&["a", "b"], 4);
    let flat = screen(&same, 80).split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(flat.contains("no difference of a and b is shown"), "{flat}");
    assert!(flat.contains("so that it has no shares") && !flat.contains("95 % share"), "{flat}");
    // Nor have two of whose noise nothing can be claimed.
    let mut noisy = set;
    noisy.noise.grade = "F".to_owned();
    let flat = screen(&noisy, 80).split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(flat.contains("no difference is claimed") && !flat.contains("most of it"), "{flat}");
}

/// An interval of thousands of nanoseconds stood beside figures in microseconds, without a unit.
#[test]
fn a_table_has_one_unit_for_figures_and_intervals() {
    let text = screen(&TRUTH.document(&["a"], 3), 200);
    let rows = text.lines().skip_while(|line| !line.starts_with("Where the time goes (us)"));
    let rows: Vec<&str> = rows.skip(2).take_while(|line| !line.contains("- On ")).collect();
    assert!(rows.len() >= 6, "{text}");
    let digits = |word: &str| word.split_once('.').map(|(_, digits)| digits.len());
    for row in rows {
        let numbers = row.split_whitespace().flat_map(|word| word.split("..")).filter_map(digits);
        assert!(numbers.clone().all(|digits| digits == 2), "{row}");
    }
    let mut few = TRUTH.document(&["a"], 3);
    few.cells.iter_mut().for_each(|cell| cell.rounds.truncate(3));
    let text = screen(&few, 80);
    assert!(text.contains("No interval below 6 rounds."), "{text}");
}

#[test]
fn calls_are_listed_and_their_absence_is_said() {
    let mut set = TRUTH.document(&["a"], 5);
    set.cells[0].calls = Some(CallTimes::default());
    assert!(
        screen(&set, 80).contains("a makes no system call on one CPU."),
        "{}",
        screen(&set, 80)
    );
    let call = |median_ns| CallTime { per_message: 1.0, median_ns, mean_ns: median_ns };
    let lead =
        BTreeMap::from([("write".to_owned(), call(900.0)), ("read".to_owned(), call(2700.0))]);
    set.cells[0].calls = Some(CallTimes { lead, ..CallTimes::default() });
    let text = screen(&set, 80);
    let row = text.lines().find(|line| line.contains("write")).unwrap_or_default();
    assert_eq!(row.split_whitespace().collect::<Vec<_>>().join(" "), "a, lead write 1 900 ns 25 %");
}

#[test]
fn an_arm_that_isolates_nothing_has_no_figure_and_says_why() {
    let mut set = TRUTH.document(&["a"], 6);
    let is_burst = |cell: &&mut ipcperf_core::result::Cell| {
        cell.key.mechanism == "a" && cell.key.load.burst > 1
    };
    set.cells.iter_mut().find(is_burst).unwrap().context_switches_per_message = Some(1.0);
    let flat = screen(&set, 80).split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(flat.contains("send and receive: not measured by itself, so part of what is unexplained, a burst of a did not go without wake-ups"), "{flat}");
    // Who never sleeps is not woken.
    for round in &mut set.cells[1].rounds {
        round.covariates.lead.voluntary_switches = 0;
        round.covariates.follow.voluntary_switches = 0;
    }
    let text = screen(&set, 80);
    assert!(text.contains("cache line") && text.contains("neither side sleeps"), "{text}");
}

#[test]
fn one_change_at_a_time_is_ranked_by_what_it_does() {
    let mut set = TRUTH.document(&["a"], 7);
    for (name, knob, factor) in [("a", "on", 1.5), ("a/spin", "", 0.5)] {
        let mut cell = set.cells[0].clone();
        cell.key.mechanism = name.to_owned();
        cell.id = format!("{name} {knob}");
        if !knob.is_empty() {
            let value = ipcperf_core::options::KnobValue::Word(knob.to_owned());
            let reading =
                ipcperf_core::result::KnobReading { requested: Some(value), ..Default::default() };
            cell.knobs.insert("a.fast".to_owned(), reading);
        }
        for round in &mut cell.rounds {
            round.p50_ns = round.p50_ns.map(|time| factor * time);
        }
        set.cells.push(cell);
    }
    let text = screen(&set, 80);
    let at = |words: &str| {
        text.lines().position(|line| line.starts_with(words)).unwrap_or_else(|| panic!("{text}"))
    };
    assert!(at("What if") < at("  a/spin") && at("  a/spin") < at("  a.fast=on"), "{text}");
    assert!(text.lines().nth(at("  a.fast=on")).unwrap().ends_with("slower"), "{text}");
    assert!(
        text.contains("One change at a time, all else as in a with 4 KiB; times is the ratio"),
        "{text}"
    );
    assert!(!text.contains("no interval below"), "{text}");
    let mut noisy = set.clone();
    noisy.noise.grade = "F".to_owned();
    assert!(!screen(&noisy, 80).contains("slower"), "{}", screen(&noisy, 80));
    assert!(text.lines().count() <= 40 && text.lines().all(|line| line.len() <= 80), "{text}");
}

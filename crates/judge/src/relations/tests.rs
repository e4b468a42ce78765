//! How cells compare with their reference.

use super::*;
use crate::ROUND_TRIP;
use crate::sample::{Build, TWO, cell};
use ipcperf_core::PatternKind;
use ipcperf_core::result::{ClockFacts, Round, Stage};
use ipcperf_stats::Rng;

/// Mechanisms of these tests, the fittest first.
const FITTEST: [&str; 5] = ["unix-stream", "tcp", "posix-mq", "fifo", "pipe"];

/// A cell whose rounds scatter around `level` by a share of 5 %, differently by its seed.
fn around(name: &str, level: f64, seed: u64, rounds: usize) -> Cell {
    let mut rng = Rng::from_seed(seed);
    let values: Vec<f64> = (0..rounds).map(|_| level * (0.05 * rng.normal()).exp()).collect();
    cell(name, 64, TWO).rtt(level, 0.0).of_rounds(&values)
}

fn reference(cell: Cell) -> Cell {
    Cell { is_reference: true, ..cell }
}

fn relations(cells: &[Cell]) -> Relations {
    let clock = ClockFacts::default();
    let read = |cell| (cell, ROUND_TRIP.reading(cell, &clock).unwrap());
    let cells: Vec<_> = cells.iter().map(read).collect();
    let fit = |cell: &Cell| FITTEST.iter().position(|name| *name == cell.key.mechanism);
    Relations::of(ROUND_TRIP, &cells, fit, 0.10).unwrap()
}

#[test]
fn tcp_at_one_and_a_half_times_is_slower_and_never_as_fast() {
    let cells = [
        reference(around("unix-stream", 50e3, 1, 60)),
        around("tcp", 75e3, 2, 60),
        around("pipe", 50e3, 3, 60),
        around("fifo", 35e3, 4, 60),
    ];
    let found = relations(&cells);
    assert!(found.relation(1).is_slower() && found.relation(2).is_as_fast());
    assert!(found.relation(3).is_faster());
    assert_eq!(found.order(), [3, 0, 2, 1].map(|at| at));
    assert_eq!(found.choice(), Choice::Use { cell: 3, open: vec![] });
    assert!(!found.is_chosen_by_same_rounds());
}

#[test]
fn a_cell_that_would_not_be_chosen_is_not_open() {
    // TCP is fitter than a queue, and a pipe less fit. Both may be more than 10 % faster than the reference.
    let wide = |name, seed| {
        let mut rng = Rng::from_seed(seed);
        let values: Vec<f64> = (0..60).map(|_| 46e3 * (0.4 * rng.normal()).exp()).collect();
        cell(name, 64, TWO).rtt(46e3, 0.0).of_rounds(&values)
    };
    let unix = || reference(around("unix-stream", 50e3, 1, 60));
    let open = |fast: &[Cell]| {
        let cells = [&[unix(), wide("tcp", 2), wide("pipe", 3)], fast].concat();
        let Choice::Use { cell, open } = relations(&cells).choice() else { panic!() };
        (cell, open)
    };
    assert_eq!(open(&[]), (0, vec![1, 2]));
    assert_eq!(open(&[around("posix-mq", 35e3, 4, 60)]), (3, vec![1]));
}

#[test]
fn nothing_is_as_fast_because_a_difference_was_not_proved() {
    let mut rng = Rng::from_seed(8);
    let wild: Vec<f64> = (0..9).map(|_| 60e3 * (0.8 * rng.normal()).exp()).collect();
    let cells = [
        reference(around("unix-stream", 50e3, 1, 9)),
        cell("tcp", 64, TWO).rtt(60e3, 0.0).of_rounds(&wild),
    ];
    let found = relations(&cells);
    assert!(matches!(found.relation(1), Relation::Stated(Statement::Undecided, _)), "{found:?}");
    let Choice::Use { cell: 0, open } = found.choice() else { panic!("{found:?}") };
    assert_eq!(open, [1], "it may be more than 10 % faster");
    assert!(found.rounds_to_tell(&open).is_some());
}

#[test]
fn fewer_than_six_pairs_say_nothing() {
    for rounds in 1..=9 {
        let cells =
            [reference(around("unix-stream", 50e3, 1, rounds)), around("tcp", 90e3, 2, rounds)];
        let found = relations(&cells);
        match rounds {
            ..6 => assert_eq!(found.relation(1), Relation::TooFewPairs(rounds)),
            _ => assert!(found.relation(1).is_slower(), "{rounds}"),
        }
        assert_eq!(found.choice() == Choice::Undecided, rounds < 6, "{rounds}");
    }
}

#[test]
fn a_reference_that_differs_from_itself_leaves_its_question_undecided() {
    let mut unix = reference(around("unix-stream", 50e3, 1, 60));
    unix.control = around("unix-stream", 60e3, 5, 60).rounds;
    let found = relations(&[unix.clone(), around("tcp", 75e3, 2, 60)]);
    assert!(matches!(found.relation(1), Relation::ControlFails(_)));
    assert_eq!(found.choice(), Choice::Undecided);
    unix.control = around("unix-stream", 50e3, 5, 60).rounds;
    assert!(relations(&[unix, around("tcp", 75e3, 2, 60)]).relation(1).is_slower());
}

#[test]
fn cells_of_the_screen_alone_are_in_no_statement() {
    let stage = |cell: Cell, stage| {
        let of = |round: Round| Round { stage: Some(stage), ..round };
        Cell { rounds: cell.rounds.into_iter().map(of).collect(), ..cell }
    };
    let cells = [
        reference(stage(around("unix-stream", 50e3, 1, 60), Stage::Confirm)),
        stage(around("tcp", 75e3, 2, 60), Stage::Confirm),
        stage(around("fifo", 10e3, 3, 8), Stage::Focus),
    ];
    let found = relations(&cells);
    assert_eq!(found.relation(2), Relation::Unconfirmed);
    assert_eq!(found.choice(), Choice::Use { cell: 0, open: vec![] });
    assert_eq!(found.order(), [0, 1, 2]);
    let alone = [cells[0].clone(), cells[2].clone()];
    assert_eq!(relations(&alone).choice(), Choice::Use { cell: 0, open: vec![] });
    let screen = cells.map(|cell| stage(cell, Stage::Screen));
    assert_eq!(relations(&screen).choice(), Choice::Undecided);
}

#[test]
fn without_a_reference_in_the_document_the_fittest_of_the_best_is_one_and_is_marked() {
    let cells = [
        around("pipe", 50e3, 1, 12),
        around("unix-stream", 50.1e3, 2, 12),
        around("tcp", 90e3, 3, 12),
    ];
    let found = relations(&cells);
    assert_eq!(found.reference(), 1, "two-way and with a listener");
    assert!(found.is_chosen_by_same_rounds() && found.relation(2).is_slower());
}

#[test]
fn of_rates_more_than_one_is_worse_as_well() {
    let kind = MetricKind::of(PatternKind::Stream);
    let mut rng = Rng::from_seed(4);
    let mut stream = |name, rate: f64| {
        let mut cell = cell(name, 1 << 20, TWO).rate(rate, 0.0);
        for round in &mut cell.rounds {
            let noise = (0.02 * rng.normal()).exp();
            round.messages_per_second = Some(rate * noise / (1 << 20) as f64);
        }
        cell
    };
    let cells = [reference(stream("unix-stream", 4e9)), stream("tcp", 2e9)];
    let read = |cell| (cell, kind.reading(cell, &ClockFacts::default()).unwrap());
    let cells: Vec<_> = cells.iter().map(read).collect();
    let found = Relations::of(kind, &cells, |_| (), 0.1).unwrap();
    let ratio = found.relation(1).ratio().unwrap();
    assert!(found.relation(1).is_slower() && (1.9..2.1).contains(&ratio), "{found:?}");
}

#[test]
fn what_the_reading_of_the_clock_explains_is_no_difference() {
    let reading = |value, clock| Reading { value, clock };
    let relative = Relative {
        pairs: 60,
        ratio: 1.07,
        joint: Some(Interval { low: 1.05, high: 1.09 }),
        alone: Some(Interval { low: 1.06, high: 1.08 }),
    };
    let said = |own, other| with_clock(relative, &own, &other).statement(0.1);
    assert_eq!(said(reading(620.0, 40.0), reading(580.0, 0.0)), Statement::AsFast);
    let alike = Statement::Slower { is_within: true };
    assert_eq!(said(reading(620.0, 40.0), reading(580.0, 40.0)), alike, "both have it");
    assert_eq!(said(reading(620.0, 10.0), reading(580.0, 0.0)), alike);
}

#[test]
fn each_statement_has_words_of_its_own() {
    let relative = |ratio: f64, joint: [f64; 2]| Relative {
        pairs: 60,
        ratio,
        joint: Some(Interval { low: joint[0], high: joint[1] }),
        alone: Some(Interval { low: joint[0], high: joint[1] }),
    };
    let said = |relative: Relative| Relation::Stated(relative.statement(0.1), relative).words(0.1);
    assert_eq!(said(relative(1.5, [1.2, 1.9])), "1.5x slower [1.2, 1.9]");
    assert_eq!(said(relative(1.05, [1.02, 1.08])), "1.05x slower [1.02, 1.08] (within 10 %)");
    assert_eq!(said(relative(0.8, [0.7, 0.9])), "1.2x faster [1.1, 1.4]");
    assert_eq!(said(relative(1.0, [0.95, 1.05])), "as fast (within 10 %)");
    assert_eq!(said(relative(1.1, [0.9, 1.4])), "undecided: 0.9x to 1.4x");
    assert_eq!(Relation::TooFewPairs(4).words(0.1), "undecided: 4 pairs");
    assert_eq!(Relation::Unconfirmed.words(0.1), "screen only");
}

#[test]
fn at_grade_f_nothing_is_as_fast_and_what_is_slower_stays_so() {
    let cells = [
        reference(around("unix-stream", 50e3, 1, 60)),
        around("tcp", 75e3, 2, 60),
        around("pipe", 50e3, 3, 60),
    ];
    let quiet = relations(&cells);
    assert!(quiet.relation(2).is_as_fast());
    let noisy = relations(&cells).at_grade("F");
    assert!(matches!(noisy.relation(2), Relation::TooNoisy(_)));
    assert_eq!(noisy.relation(2).words(0.1), "undecided: grade F");
    assert_eq!(noisy.relation(1), quiet.relation(1));
    assert_eq!(noisy.choice(), quiet.choice());
}

#[test]
fn seen_from_the_other_side_slower_is_faster_by_the_same_factor() {
    let cells = [reference(around("unix-stream", 50e3, 1, 60)), around("tcp", 75e3, 2, 60)];
    let slower = relations(&cells).relation(1);
    let back = slower.mirrored();
    assert!(slower.is_slower() && back.is_faster());
    assert!((slower.ratio().unwrap() * back.ratio().unwrap() - 1.0).abs() < 1e-12);
    assert_eq!(back.mirrored().words(0.1), slower.words(0.1));
}

#[test]
fn brief_words_leave_out_only_the_margin() {
    let relative = Relative {
        pairs: 60,
        ratio: 1.05,
        joint: Some(Interval { low: 1.02, high: 1.08 }),
        alone: Some(Interval { low: 1.02, high: 1.08 }),
    };
    let slower = Relation::Stated(relative.statement(0.1), relative);
    assert_eq!(slower.brief(0.1), "1.05x slower [1.02, 1.08]");
    assert!(slower.is_within());
    assert_eq!(Relation::Unconfirmed.brief(0.1), "screen only");
}

#[test]
fn what_has_too_few_rounds_is_no_reference_where_others_have_enough() {
    let cells = [around("unix-stream", 50e3, 1, 5), around("tcp", 75e3, 2, 60)];
    let found = relations(&cells);
    assert_eq!((found.reference(), found.relation(0)), (1, Relation::TooFewPairs(5)));
}

#[test]
fn the_end_of_a_range_is_never_written_as_nothing() {
    let words = |low, high| range(Interval { low, high });
    assert_eq!(words(0.04, 1.4), "0.04x to 1.40x");
    assert_eq!(words(0.8, 1.4), "0.8x to 1.4x");
    assert_eq!(words(0.8, 1.02), "0.80x to 1.02x");
}

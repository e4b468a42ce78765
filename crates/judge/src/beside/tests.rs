//! What stands beside what, and what the ratio is.

use super::*;
use crate::sample::{Build, TWO, cell, set};
use ipcperf_core::result::{Beside, KnobReading, Mode};
use ipcperf_core::{LoadKey, Wait};

const ROUNDS: [f64; 7] = [10.0, 20.0, 15.0, 12.0, 30.0, 11.0, 14.0];

fn of(mechanism: &str, wait: Wait, p50: &[f64]) -> Cell {
    let mut cell = cell(mechanism, 64, TWO).rtt(p50[0], 1.0).of_rounds(p50);
    cell.key.wait = wait;
    cell
}

/// The library takes exactly twice the bare time of its round, which differs from round to round.
fn both() -> [Cell; 2] {
    [
        of("library", Wait::Block, &ROUNDS.map(|p50| 2.0 * p50)),
        of("unix-stream/epoll", Wait::Epoll, &ROUNDS),
    ]
}

/// What is said of the first.
fn told(cells: Vec<Cell>) -> Option<Beside> {
    let mut all = set(cells);
    beside(&mut all, |name| (name == "library").then_some("unix-stream/epoll"));
    assert!(all.cells[1..].iter().all(|cell| cell.of_bare.is_none() && cell.of_ours.is_none()));
    let first = all.cells.swap_remove(0);
    first.of_bare.or(first.of_ours)
}

#[test]
fn a_library_stands_beside_the_bare_mechanism_round_by_round() {
    let found = told(both().to_vec()).expect("both were measured");
    assert_eq!(found.mechanism, "unix-stream/epoll");
    let [low, high] = found.ci95.expect("seven rounds");
    for ratio in [found.ratio, low, high] {
        assert!((ratio - 2.0).abs() < 1e-9, "{found:?}");
    }
}

#[test]
fn a_program_stands_beside_our_own_follow_under_the_same_knobs() {
    let [mut program, ours] = both();
    program.key = ours.key.clone();
    program.key.load.follow = vec!["./echo".to_owned()];
    let found = told(vec![program.clone(), ours.clone()]).expect("both were measured");
    assert_eq!((found.mechanism.as_str(), found.ci95.is_some()), ("unix-stream/epoll", true));
    assert!((found.ratio - 2.0).abs() < 1e-9, "{found:?}");
    assert_eq!(told(vec![program, ours.knob("unix-stream.sndbuf", Some(1), 1)]), None);
}

#[test]
fn a_cell_with_a_neighbour_stands_beside_the_same_one_alone_under_the_same_load() {
    let [mut near, alone] = both();
    near.key = alone.key.clone();
    near.key.load.set(LoadKey::Neighbour, "cpu:1@lead").expect("a neighbour");
    for (at, round) in near.rounds.iter_mut().enumerate() {
        // Half as much in each round, however much that is.
        round.messages = 1000 * (at as u64 + 1);
    }
    let mut alone = alone;
    for (at, round) in alone.rounds.iter_mut().enumerate() {
        round.messages = 2000 * (at as u64 + 1);
    }
    let of = |cells: Vec<Cell>| {
        let mut all = set(cells);
        beside(&mut all, |_| None);
        assert!(all.cells[1..].iter().all(|cell| cell.of_alone.is_none()));
        all.cells.swap_remove(0).of_alone
    };
    let found = of(vec![near.clone(), alone.clone()]).expect("both were measured");
    let [p50, rate] = [found.p50, found.rate].map(|one| one.expect("seven rounds"));
    assert!((p50.ratio - 2.0).abs() < 1e-9 && p50.ci95.is_some(), "{found:?}");
    assert!((rate.ratio - 0.5).abs() < 1e-9 && rate.ci95.is_some(), "{found:?}");
    assert_eq!(found.p99, None, "no round has single operations");
    let mut think = alone;
    think.key.load.set(LoadKey::Think, "1ms").expect("a pause");
    assert_eq!(of(vec![near, think]), None);
}

#[test]
fn what_a_document_says_of_it_is_kept() {
    let mut all = both();
    let said = Beside { mechanism: "pipe".to_owned(), ratio: 7.0, ci95: None };
    all[0].of_bare = Some(said.clone());
    assert_eq!(told(all.to_vec()), Some(said));
}

#[test]
fn rounds_that_one_of_them_lacks_do_not_count() {
    let [mut library, mut bare] = both();
    library.rounds[0].rejected = Some("moved".to_owned().into());
    library.rounds[0].p50_ns = Some(1e6);
    bare.rounds.remove(1);
    let found = told(vec![library, bare]).expect("five rounds");
    assert!((found.ratio - 2.0).abs() < 1e-9 && found.ci95.is_none(), "{found:?}");
}

#[test]
fn nothing_is_told_of_cells_that_differ_in_more_or_have_no_one_figure() {
    let [library, bare] = both();
    let mut other_size = bare.clone();
    other_size.key.size_bytes = 1;
    let failed = bare.clone().not_ok(Status::Failed, "it failed");
    let mut split = bare.clone();
    let modes = vec![Mode { value: 1.0, rounds: 3 }, Mode { value: 2.0, rounds: 4 }];
    split.rtt_ns.as_mut().unwrap().get_mut("p50").unwrap().modes = modes;
    for other in [other_size, failed, split] {
        assert_eq!(told(vec![library.clone(), other]), None);
    }
    assert_eq!(told(vec![library]), None);
}

#[test]
fn a_bare_cell_as_it_comes_is_taken_before_one_with_knobs() {
    let [library, bare] = both();
    let mut with_knob = of("unix-stream/epoll", Wait::Epoll, &[1.0; 7]);
    let asked = KnobReading { requested: Some(1_u64.into()), ..KnobReading::default() };
    with_knob.knobs.insert("unix-stream.sndbuf".to_owned(), asked);
    let found = told(vec![library, with_knob, bare]).expect("both were measured");
    assert!((found.ratio - 2.0).abs() < 1e-9, "{found:?}");
}

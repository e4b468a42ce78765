//! The sentence at the end of a run, and what it says where it has none.

use super::*;
use ipcperf_core::PatternKind;
use ipcperf_judge::lost_too_much;

fn sentences(set: &ResultSet) -> Vec<String> {
    crate::results::sentence::sentences(set, &sample::spec)
}

/// As many cells, each 1.3 times the one before, of so many rounds.
fn apart(cells: usize, rounds: usize) -> Vec<Cell> {
    let one = |at: usize| {
        let nanos = 10_000.0 * 1.3_f64.powi(at as i32);
        measured(&format!("m{at}"), (0..rounds).map(move |round| nanos * wobble(round + at, 0.01)))
    };
    (0..cells).map(one).collect()
}

#[test]
fn too_few_rounds_are_said_with_the_number_that_is_enough() {
    for cells in 2..=8 {
        let said = |rounds| sentences(&run(apart(cells, rounds)));
        let short =
            "Too few rounds to compare (64 B, one CPU): it takes 6, and 5 count (--rounds).";
        assert_eq!(said(5), [short]);
        // Joint intervals of seven others take more than a few rounds.
        assert!(said(24)[0].starts_with("m1 is 1.30x slower ["), "{:?}", said(24));
        assert!(said(24)[0].contains("] than m0 (64 B, one CPU)"), "{:?}", said(24));
    }
    assert_eq!(sentences(&run(apart(1, 3))), ["m0: 10.0 us (64 B, one CPU)."]);
}

#[test]
fn what_is_undecided_is_said_with_its_interval_and_never_called_as_fast() {
    let other = measured("fifo", (0..12).map(|at| 10_100.0 * wobble(at + 5, 0.3)));
    let said = sentences(&run(vec![around("pipe", 10_000.0, 0.3), other]));
    assert_eq!(said, ["Undecided against fifo (64 B, one CPU): pipe (0.7x to 1.3x)."]);
}

#[test]
fn rounds_that_are_too_few_for_joint_intervals_are_called_so() {
    let said = sentences(&run(apart(3, 6)));
    let few = "Undecided against m0 (64 B, one CPU): m1 (6 rounds are too few) and m2 (6 rounds are too few).";
    assert_eq!(said, [few]);
}

#[test]
fn each_way_has_a_clause_and_more_than_three_are_counted() {
    let wide = measured("wide", (0..12).map(|at| 10_100.0 * wobble(at + 5, 0.6)));
    let mut cells = apart(6, 12);
    cells[0].is_reference = true;
    let near = measured("near", (0..12).map(|at| 10_000.0 * wobble(at + 5, 0.05)));
    cells.extend([near, wide]);
    let said = sentences(&run(cells)).remove(0);
    assert!(
        said.starts_with("m1 is 1.30x slower [1.29, 1.32] than m0 (64 B, one CPU), m2 1.69x ["),
        "{said}"
    );
    assert!(said.contains(", and 2 more are slower; near is as fast (within 10 %); "), "{said}");
    assert!(said.contains("wide is undecided (0."), "{said}");
}

#[test]
fn a_control_that_fails_leaves_the_sentence_undecided() {
    let mut cells = apart(2, 12);
    cells[0].is_reference = true;
    cells[0].control = around("m0", 14_000.0, 0.01).rounds;
    let said = sentences(&run(cells));
    assert_eq!(said, ["Undecided (64 B, one CPU): m0 measured twice differs from itself."]);
}

#[test]
fn of_many_groups_it_is_said_how_to_see_one() {
    let group = |size: u64| {
        let mut cells = apart(2, 12);
        cells.iter_mut().for_each(|cell| cell.key.size_bytes = size);
        cells
    };
    let mut set = run([1, 64, 1024, 4096].into_iter().flat_map(group).collect());
    assert_eq!(sentences(&set).len(), 4);
    set.cells.extend(group(65_536));
    let said = sentences(&set);
    let expected = "5 groups of cells were compared, too many for sentences; of one: ipcperf report FILE -p ping-pong -s 1 \
                    --place same-cpu";
    assert_eq!(said, [expected]);
}

#[test]
fn a_cell_without_a_figure_does_not_silence_the_others() {
    let mut cells = apart(3, 12);
    let figures = cells[0].rtt_ns.as_mut().unwrap();
    figures.insert("p50".to_owned(), Metric::missing("saturated"));
    let said = sentences(&run(cells));
    assert!(said[0].starts_with("m2 is 1.3"), "{said:?}");
    assert!(said[0].contains("slower [") && said[0].contains("than m1 (64 B"), "{said:?}");
}

#[test]
fn batches_and_single_operations_are_not_told_apart_by_more_rounds() {
    let mut cells = apart(2, 12);
    cells[0].timing.as_mut().unwrap().mode = "batch".to_owned();
    assert!(sentences(&run(cells)).is_empty());
}

#[test]
fn a_run_ends_in_a_sentence_where_it_can_tell() {
    let said = |cells: Vec<Cell>| sentences(&run(cells));
    let two = said(vec![around("pipe", 10_000.0, 0.01), around("unix-stream", 12_800.0, 0.012)]);
    assert_eq!(two.len(), 1);
    assert!(two[0].starts_with("unix-stream is 1.28x slower ["), "{two:?}");
    assert!(two[0].ends_with("] than pipe (64 B, one CPU)."), "{two:?}");
    // The same whichever stands first.
    let turned = said(vec![around("unix-stream", 12_800.0, 0.012), around("pipe", 10_000.0, 0.01)]);
    assert_eq!(turned, two);
    let same = said(vec![around("pipe", 10_000.0, 0.001), around("fifo", 10_000.0, 0.001)]);
    assert_eq!(same, ["pipe is as fast as fifo within 10 % (64 B, one CPU)."]);
    let knob = around("pipe", 13_000.0, 0.02).knob("pipe.size", Some(4096), 4096);
    let knobs = said(vec![around("pipe", 10_000.0, 0.01), knob]);
    assert!(knobs[0].starts_with("pipe size=4K is 1.3"), "{knobs:?}");
    let three = said(vec![
        around("tcp", 20_000.0, 0.02),
        around("pipe", 10_000.0, 0.01),
        around("fifo", 10_050.0, 0.03),
    ]);
    assert!(three[0].starts_with("tcp is 1.99x slower ["), "{three:?}");
    assert!(
        three[0].ends_with("than fifo (64 B, one CPU); pipe is as fast (within 10 %)."),
        "{three:?}"
    );
    let rates = said(vec![
        sample::cell("tcp", 1 << 20, TWO).rate(2.8e9, 1e7),
        sample::cell("pipe", 1 << 20, TWO).rate(1.4e9, 1e7),
    ]);
    assert!(rates[0].starts_with("pipe is 2.00x slower ["), "more is better: {rates:?}");
}

#[test]
fn a_run_says_nothing_where_there_is_nothing_to_say() {
    let pair = || vec![around("pipe", 10_000.0, 0.01), around("fifo", 12_000.0, 0.01)];
    assert_eq!(sentences(&run(pair())).len(), 1);
    assert!(sentences(&sample::set(pair())).is_empty(), "a survey has answers");
    let mut noisy = run(pair());
    noisy.noise.grade = "F".to_owned();
    assert!(sentences(&noisy)[0].starts_with("fifo is 1.20x slower ["), "{:?}", sentences(&noisy));
    noisy.cells = vec![around("pipe", 10_000.0, 0.001), around("fifo", 10_000.0, 0.001)];
    let said = ["Undecided against fifo (64 B, one CPU): pipe (grade F)."];
    assert_eq!(sentences(&noisy), said, "no equality in such noise");
    let silent = |cells| assert!(sentences(&run(cells)).is_empty());
    // A tenth of what each does at most is another load for each.
    let tenth = |mut cell: Cell| {
        cell.key.load.rate = Some(ipcperf_core::Offered::OfPeak(0.1));
        cell
    };
    silent(pair().into_iter().map(tenth).collect());
    let one = vec![around("pipe", 10_000.0, 0.01)];
    assert_eq!(sentences(&run(one)), ["pipe: 10.0 us (64 B, one CPU)."]);
    // Spinning beside blocking, other sizes, unproved.
    silent(vec![around("pipe", 10_000.0, 0.01), around("pipe/spin", 1_000.0, 0.01)]);
    let mut large = around("fifo", 12_000.0, 0.01);
    large.key.size_bytes = 4096;
    silent(vec![around("pipe", 10_000.0, 0.01), large]);
    let mut unproved = pair();
    unproved[1].verified = false;
    silent(unproved);
    // What has no place in the table: it lost its messages, or nobody touched the payload.
    let mut lossy = pair();
    (lossy[1].messages, lossy[1].lost) = (30_000, 70_000);
    silent(lossy);
    let mut untouched = pair();
    untouched.iter_mut().for_each(|cell| cell.key.touch = ipcperf_core::Touch::None);
    silent(untouched);
}

#[test]
fn what_lost_as_much_as_a_tie_is_wide_has_no_place() {
    let mut cell = around("udp", 10_000.0, 0.01);
    for (messages, lost, is_too_much) in [
        (100, 0, false),
        (100, 3, false),
        (100, 4, true),
        (3, 7, true),
        (0, 1, true),
        (0, 0, false),
    ] {
        (cell.messages, cell.lost) = (messages, lost);
        assert_eq!(lost_too_much(&cell), is_too_much, "{lost} beside {messages}");
    }
}

#[test]
fn of_those_that_are_equally_fast_the_fittest_is_named() {
    let near = |name: &str, nanos: f64, turn: usize| {
        measured(name, (0..14).map(move |at| nanos * wobble(at + turn, 0.05)))
    };
    let far = near("pipe/epoll", 20_000.0, 3);
    let said = sentences(&run(vec![near("fifo", 9_990.0, 0), near("tcp", 10_000.0, 5), far]));
    assert!(said[0].starts_with("pipe/epoll is "), "{said:?}");
    assert!(
        said[0].ends_with("than tcp (64 B, one CPU); fifo is as fast (within 10 %)."),
        "{said:?}"
    );
}

#[test]
fn the_grids_of_one_mechanism_are_compared_by_their_sides() {
    let grid = |(writers, readers): (u64, u64), rate: f64| {
        let mut cell = sample::cell("pipe", 64, ONE).rate(rate, rate / 200.0);
        cell.key.pattern = PatternKind::Grid;
        (cell.key.load.writers, cell.key.load.readers) = (writers, readers);
        cell
    };
    let cells = vec![grid((1, 1), 4e6), grid((1, 5), 2e6), grid((5, 5), 3e6)];
    let said = sentences(&run(cells.clone()));
    let [one] = said.as_slice() else { panic!("{said:?}") };
    assert!(one.starts_with("pipe, writers x readers: 5x5 is 1.33x slower ["), "{one}");
    assert!(one.contains("] than 1x1 (64 B, one CPU) and 1x5 2.00x ["), "{one}");
    // With another mechanism each grid is compared with the same one of the other.
    let mut other = cells[1].clone();
    other.key.mechanism = "fifo".to_owned();
    let said = sentences(&run([cells, vec![other]].concat()));
    assert!(said[0].contains("(64 B, one CPU, writers=1, readers=5)"), "{said:?}");
}

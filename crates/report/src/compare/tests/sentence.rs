//! What a run says where it has no sentence.

use super::*;
use crate::compare::sentences;

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
    for (cells, enough) in [(2, 6), (3, 7), (4, 8), (5, 9), (6, 10)] {
        let said = |rounds| sentences(&run(apart(cells, rounds)));
        let short = format!(
            "Which is faster is not said: that takes {enough} rounds at the least, and {} count (--rounds).",
            enough - 1
        );
        assert_eq!(said(enough - 1), [short]);
        assert!(said(enough)[0].contains(" as long as m0"), "{:?}", said(enough));
    }
    assert!(sentences(&run(apart(1, 3))).is_empty());
}

#[test]
fn what_cannot_be_told_apart_is_said_as_well() {
    let other = measured("fifo", (0..12).map(|at| 10_100.0 * wobble(at + 5, 0.3)));
    let said = sentences(&run(vec![around("pipe", 10_000.0, 0.3), other]));
    assert_eq!(said, ["pipe and fifo cannot be told apart at 64 B on one CPU: more --rounds may."]);
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
    let expected = "5 groups of cells differ, too many for sentences; of one: ipcperf report FILE -p ping-pong -s 1 \
                    --place same-cpu";
    assert_eq!(said, [expected]);
}

#[test]
fn a_cell_without_a_figure_does_not_silence_the_others() {
    let mut cells = apart(3, 12);
    let figures = cells[0].rtt_ns.as_mut().unwrap();
    figures.insert("p50".to_owned(), Metric::missing("saturated"));
    let said = sentences(&run(cells));
    assert!(said[0].starts_with("m2 takes 1.3"), "{said:?}");
    assert!(said[0].contains("as long as m1 at 64 B"), "{said:?}");
}

#[test]
fn batches_and_single_operations_are_not_told_apart_by_more_rounds() {
    let mut cells = apart(2, 12);
    cells[0].timing.as_mut().unwrap().mode = "batch".to_owned();
    assert!(sentences(&run(cells)).is_empty());
}

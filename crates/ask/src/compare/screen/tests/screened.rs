//! Documents that were measured in stages.

use super::*;

/// All its rounds belong to this stage.
fn at(stage: Stage, mut cell: Cell) -> Cell {
    cell.rounds.iter_mut().for_each(|round| round.stage = Some(stage));
    cell
}

#[test]
fn cells_of_the_screen_are_counted_in_one_line_and_not_compared() {
    let cells = |of_fifo: Stage, micros: f64| {
        vec![
            at(Stage::Confirm, around("pipe", micros * 1e3, 0.01)),
            at(of_fifo, around("fifo", micros * 1e3, 0.01)),
            at(Stage::Screen, around("tcp", micros * 1e3, 0.01)),
        ]
    };
    let old = recorded("old.json", cells(Stage::Confirm, 10.0));
    let new = recorded("new.json", cells(Stage::Focus, 20.0));
    let document = files(&[old], &[new]);
    let compared: Vec<&str> = document.comparisons.iter().map(|one| one.a.as_str()).collect();
    assert_eq!(compared, ["pipe ping-pong 64B same-cpu"]);
    assert_eq!(document.family, 1);
    assert_eq!(document.not_confirmed, ["tcp ping-pong 64B same-cpu"]);
    let missing = "fifo ping-pong 64B same-cpu: the other side has rounds of the screen alone";
    assert_eq!(document.only_a, [missing]);
    assert!(document.only_b.is_empty(), "{:?}", document.only_b);
    // A gate does not pass over a cell that the baseline has.
    let Outcome::CannotTell(open) = "slower:500%".parse::<Slower>().unwrap().check(&document)
    else {
        panic!("the gate passed over fifo");
    };
    assert!(open.iter().any(|words| words.starts_with("fifo ")), "{open:?}");
    let text = text(&document, Format::Table);
    let line = "Not compared: 1 cell with rounds of the screen alone";
    assert_eq!(text.matches(line).count(), 1, "{text}");
}

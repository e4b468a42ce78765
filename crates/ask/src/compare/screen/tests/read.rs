//! What of the cells of a document is read for a comparison.

use super::*;
use ipcperf_core::result::{read, read_cells};
use ipcperf_judge::Arm;
use serde_json::Error;

/// Four rounds: a rejected one, one without single operations, one with operations that were never answered.
fn cell() -> Cell {
    let cell = sample::cell("pipe", 64, ONE).rtt(100.0, 1.0).with_round();
    let round = |at: u64| Round {
        round: at,
        rejected: (at == 1).then(|| "moved".to_owned().into()),
        messages: 100 + at,
        moved: (at != 0).then_some(110),
        unanswered: if at == 3 { 2 } else { 0 },
        p50_ns: (at != 2).then_some(90.5 + at as f64),
        histogram: (at != 2).then(|| HistogramData {
            min: 1000,
            max: 3000,
            sum: 4000,
            buckets: Buckets::new([(1000, 1), (2000 + 2 * at, 3)]).expect("edges"),
        }),
        cpu_ns: SideCpu { lead: 7 * at, follow: 9, ..SideCpu::default() },
        ..cell.rounds[0].clone()
    };
    Cell { rounds: (0..4).map(round).collect(), ..cell }
}

/// The text of a document whose cells are these.
fn document(cells: &[&Value]) -> String {
    let mut document = serde_json::to_value(sample::small()).unwrap();
    document["cells"] = json!(cells);
    document.to_string()
}

fn arm(cell: &Value) -> Result<String, Error> {
    let mut arms = Vec::new();
    let set = read_cells(&document(&[cell]), &mut |cell| arms.push(Arm::of(cell)))?;
    assert!(set.cells.is_empty());
    Ok(format!("{:?}", arms[0]))
}

#[test]
fn cells_come_in_their_order_and_are_named_once() {
    let named = |id: &str| serde_json::to_value(Cell { id: id.to_owned(), ..cell() }).unwrap();
    let text = document(&[&named("a"), &named("b")]);
    let mut ids = Vec::new();
    let set = read_cells(&text, &mut |cell| ids.push(cell.id)).unwrap();
    assert_eq!((ids, set.cells.len()), (vec!["a".to_owned(), "b".to_owned()], 0));
    assert_eq!(read(&text).unwrap().cells.len(), 2);
    for (broken, what) in [
        (text.replacen("\"cells\":", "\"sells\":", 1), "missing field `cells`"),
        (text.replacen("\"cells\":", "\"cells\":[],\"cells\":", 1), "duplicate field `cells`"),
        (text.replacen("\"cells\":", "\"cells\":7,\"sells\":", 1), "a list of cells"),
        (text.replacen("\"duration_s\":", "\"no\":", 1), "missing field `duration_s`"),
        (text.clone() + "x", "trailing characters"),
    ] {
        let error = read_cells(&broken, &mut drop).unwrap_err();
        assert!(error.to_string().contains(what) && error.line() == 1, "{error}");
    }
}

#[test]
fn of_a_document_the_same_is_compared_as_of_a_cell_in_memory() {
    let lost = Proof { holds: false, ..cell().rounds[0].proof.clone() };
    let unproved = |at: usize| {
        let mut cell = cell();
        cell.rounds[at].proof = lost.clone();
        cell
    };
    let none = Cell { rounds: Vec::new(), status: Status::Failed, ..cell() };
    let saturated = Round { saturated: true, ..cell().rounds[0].clone() };
    let saturated = Cell { rounds: vec![saturated, cell().rounds[2].clone()], ..cell() };
    for cell in [cell(), unproved(0), none, saturated] {
        let mut written = serde_json::to_value(&cell).unwrap();
        let rows: Vec<Value> =
            cell.rounds.iter().map(|one| serde_json::to_value(one).unwrap()).collect();
        let expected = format!("{:?}", Arm::of(cell));
        assert!(written["rounds"].is_object());
        assert_eq!(arm(&written).unwrap(), expected);
        written["rounds"] = rows.into();
        assert_eq!(arm(&written).unwrap(), expected, "version 1");
    }
}

#[test]
fn columns_that_are_none_are_an_error() {
    for (place, value) in [
        ("/rounds/messages", json!([1, 2])),
        ("/rounds/messages", json!([1, 2, 3, null])),
        ("/rounds/messages", json!([])),
        ("/rounds/p50_ns", json!([1.0, 2.0, 3.0, 4.0, 5.0])),
        ("/rounds/p50_ns", json!(["long", null, null, null])),
        ("/rounds/cpu_ns", json!([1, 2, 3, 4])),
        ("/rounds/cpu_ns/lead", json!([1])),
        ("/rounds/histogram/min", json!([1, null, null, null])),
        ("/rounds/proof/holds", json!([true, true, true])),
        ("/rounds/proof", json!({})),
        ("/rounds/round", json!([])),
        ("/rounds/round", json!([1, null, 2, 3])),
        ("/rounds", json!(3)),
        ("/rounds", json!([3])),
        ("/rounds", json!(null)),
    ] {
        let mut broken = serde_json::to_value(cell()).unwrap();
        *broken.pointer_mut(place).unwrap() = value.clone();
        assert!(arm(&broken).is_err(), "{place} {value}");
    }
}

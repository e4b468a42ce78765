//! The cells of a run in stages: what was confirmed takes the place of what it was selected by.

use crate::measured::Part;
use ipcperf_core::result::{Cell, Metric, Stage, Status};

/// Puts the parts of each cell together; `stages` says which stage begins with which round. Cells are in the order of the
/// plan, parts behind them.
pub(super) fn joined(mut cells: Vec<Cell>, parts: &[Part], stages: &[(u64, Stage)]) -> Vec<Cell> {
    if stages.is_empty() {
        return cells;
    }
    for round in cells.iter_mut().flat_map(|cell| &mut cell.rounds) {
        let stage = stages.iter().rev().find(|(first, _)| *first <= round.round);
        round.stage = stage.map(|(_, stage)| *stage);
    }
    let planned = parts.iter().filter(|part| **part == Part::Whole).count();
    let rest = cells.split_off(planned);
    for (mut part, of) in rest.into_iter().zip(&parts[planned..]) {
        match *of {
            // It may have been planned and never reached.
            Part::Confirm(cell) if part.status != Status::Skipped => {
                let own = std::mem::take(&mut cells[cell]);
                part.selection = own.selection.into_iter().chain(own.rounds).collect();
                part.is_reference = own.is_reference;
                part.control = own.control;
                // What went wrong before went wrong.
                if matches!(own.status, Status::Failed | Status::Deadline) {
                    (part.status, part.reason) = (own.status, own.reason);
                }
                cells[cell] = part;
            }
            Part::Superseded(cell) => {
                part.rounds.iter_mut().for_each(|round| round.stage = Some(Stage::Focus));
                cells[cell].selection.append(&mut part.rounds);
            }
            Part::Control(cell) if part.status != Status::Skipped => {
                cells[cell].is_reference = true;
                cells[cell].control = part.rounds;
            }
            Part::Whole | Part::Confirm(_) | Part::Control(_) => {}
        }
    }
    for cell in cells.iter_mut().filter(|cell| cell.is_unconfirmed()) {
        forget_intervals(cell);
    }
    for cell in &mut cells {
        cell.selection.sort_by_key(|round| round.round);
    }
    cells
}

/// Values that decided what to confirm are too good for some cells and too bad for others: an interval around them would
/// promise what it does not hold.
fn forget_intervals(cell: &mut Cell) {
    let forget = |metric: &mut Metric| metric.ci95 = None;
    let tables = [&mut cell.rtt_ns, &mut cell.service_ns, &mut cell.pacing_ns];
    tables.into_iter().flatten().flat_map(|table| table.values_mut()).for_each(forget);
    let metrics = [
        &mut cell.bytes_per_second,
        &mut cell.messages_per_second,
        &mut cell.offered_per_second,
        &mut cell.achieved_per_second,
    ];
    metrics.into_iter().flatten().for_each(forget);
    if let Some(cost) = &mut cell.cpu_ns_per_message {
        cost.ci95 = None;
    }
}

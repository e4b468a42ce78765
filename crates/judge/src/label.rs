//! What a cell is called in tables and sentences.

use ipcperf_core::result::{Cell, KnobReading};
use ipcperf_core::{KnobValue, Load};

/// The part of a load that makes a curve in one table and has no column there.
pub fn curve(load: &Load) -> Load {
    let Load { think_ns, burst, window, .. } = *load;
    Load { think_ns, burst, window, ..Load::default() }
}

/// The mechanism and whatever knobs the user turned, with what the kernel made of them: `pipe size=5000 (got 8K)`. Knobs
/// of which it granted less than usual are included: `pipe size=64K (got 8K)`.
pub fn name(cell: &Cell) -> String {
    let mut name = cell.key.mechanism.clone();
    for (knob, KnobReading { requested, effective, shortage }) in &cell.knobs {
        let usual = || Some(KnobValue::Number(shortage.as_ref()?.usual));
        let Some(requested) = &requested.clone().or_else(usual) else { continue };
        let knob = knob.rsplit_once('.').map_or(knob.as_str(), |(_, knob)| knob);
        name.push_str(&format!(" {knob}={requested}"));
        if let Some(effective) = effective.as_ref().filter(|effective| *effective != requested) {
            name.push_str(&format!(" (got {effective})"));
        }
    }
    name
}

/// The name, and where the cell is on a curve: `pipe think=1ms`.
pub fn label(cell: &Cell) -> String {
    let mut label = name(cell);
    for word in curve(&cell.key.load).words() {
        label.push_str(&format!(" {word}"));
    }
    if let Some(end) = cell.key.load.end() {
        label.push_str(&format!(" with {end}"));
    }
    label
}

//! What the median of a mechanism that spins before it sleeps does not tell.

use super::contest::{Basis, Contest, Ground, RankedCell, has_same_knobs, sleeps_at_once};
use ipcperf_core::result::{Cell, CellKey, OperationMode};
use ipcperf_core::units::format_nanos;
use ipcperf_core::{Load, PatternKind};
use ipcperf_judge::{ROUND_TRIP, figures};

/// `, mean 2.01 us, since 15.0% of them (near 8.10 us) take 81.0% of the time`; nothing where the document has no mean.
pub(super) fn beside_the_median(cell: &Cell) -> String {
    let mean = cell.rtt_ns.as_ref().and_then(|table| table.get("mean")?.value);
    let Some(mean) = mean else { return String::new() };
    let slow = |mode: &OperationMode| {
        format!(
            ", since {} of them (near {}) take {} of the time",
            figures::share(mode.share),
            figures::nanos(mode.value),
            figures::share(mode.time_share)
        )
    };
    let modes = cell.operation_modes.last().map(slow).unwrap_or_default();
    format!(", mean {}{modes}", figures::nanos(mean))
}

/// What it takes after a pause, beside the best that sleeps at once, or that this was not measured.
pub(super) fn after_a_pause(cell: &Cell, loaded: &[RankedCell], ground: Ground) -> String {
    let paused = || loaded.iter().filter(|other| is_paused(other.cell));
    let same = paused().map(|one| one.cell).find(|other| is_same_but_paused(other, cell));
    let measured = same.and_then(|same| Some((same, ground.reading(ROUND_TRIP, same)?)));
    let Some((same, reading)) = measured else {
        return "That holds back to back; after a pause, in which the ends fall asleep, nothing was measured (--think)."
            .to_owned();
    };
    let pause = format_nanos(same.key.load.think_ns as f64);
    let takes = figures::nanos(reading.value);
    let own = format!("That holds back to back: after a pause of {pause} it takes {takes}");
    let basis = Basis::of(same);
    let rivals = paused().filter(|RankedCell { cell: other, .. }| {
        sleeps_at_once(other)
            && basis.has(other)
            && (other.key.size_bytes, &other.key.load) == (same.key.size_bytes, &same.key.load)
    });
    let rivals: Vec<&RankedCell> = rivals.collect();
    match Contest::new(&rivals, ground, ROUND_TRIP, basis.clone(), same.key.size_bytes) {
        Some(rivals) => {
            let best = rivals.first();
            let value = figures::nanos(best.reading.value);
            format!("{own}, and {}, which sleeps at once, {value}.", best.cell.key.mechanism)
        }
        None => format!("{own}."),
    }
}

/// A round trip after a pause, and nothing else that is asked of it.
fn is_paused(cell: &Cell) -> bool {
    let load = &cell.key.load;
    let pause = Load { think_ns: load.think_ns, ..Load::default() };
    cell.key.pattern == PatternKind::PingPong && load.think_ns > 0 && *load == pause
}

fn is_same_but_paused(paused: &Cell, cell: &Cell) -> bool {
    let back_to_back = CellKey { load: cell.key.load.clone(), ..paused.key.clone() };
    back_to_back == cell.key && has_same_knobs(paused, cell)
}

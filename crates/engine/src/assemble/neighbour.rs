//! What the neighbour of a cell did.

use super::metric::over_rounds;
use crate::plan::CellPlan;
use ipcperf_core::result::{NeighbourLoad, NeighbourRound, Round};

/// Over these rounds; `None` where none was asked for or none was measured.
pub(super) fn load<'a>(
    plan: &CellPlan,
    rounds: impl Iterator<Item = &'a Round>,
) -> Option<NeighbourLoad> {
    let neighbour = plan.key.load.neighbour.as_ref()?;
    let did: Vec<NeighbourRound> = rounds.filter_map(|round| round.neighbour).collect();
    let over = |of: fn(&NeighbourRound) -> f64| {
        let all = did.iter().filter(|one| one.window_ns > 0);
        over_rounds(&all.map(|one| of(one) / one.window_ns as f64).collect::<Vec<_>>())
    };
    (!did.is_empty()).then(|| NeighbourLoad {
        per_second: over(|one| one.units as f64 * 1e9),
        unit: neighbour.work.unit().to_owned(),
        cpus: over(|one| one.cpu_ns as f64),
    })
}

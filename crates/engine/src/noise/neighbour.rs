//! Cells with a neighbour: what it causes is no disturbance.

use ipcperf_core::findings;
use ipcperf_core::result::{Cell, Finding, Round};
use ipcperf_core::units::percent;
use ipcperf_core::{Neighbour, Seat};

/// Share of its work that a neighbour must have done, as the sentence of the finding says.
const ENOUGH: f64 = 0.9;

/// How much the rounds of cells differ: of those without a neighbour, where there are some.
pub(super) fn undisturbed<'a>(spreads: &'a [(&Cell, f64)]) -> impl Iterator<Item = &'a f64> {
    let is_alone = |(cell, _): &(&Cell, f64)| cell.key.load.neighbour.is_none();
    let has_alone = spreads.iter().any(is_alone);
    spreads.iter().filter(move |one| !has_alone || is_alone(one)).map(|(_, spread)| spread)
}

/// For how long an end of a slice was ready but not running, ns, apart from what its neighbour can have caused: the CPU time
/// of that, where it may use the CPU of the end.
pub(super) fn waited(cell: &Cell, round: &Round, end: Seat) -> Option<u64> {
    let side = match end {
        Seat::Lead => &round.covariates.lead,
        Seat::Follow => &round.covariates.follow,
    };
    let delay = side.run_delay_ns?;
    let is_one_cpu = cell.key.placement.is_one_cpu();
    let reaches = |one: &&Neighbour| one.reaches(end, is_one_cpu);
    let own = cell.key.load.neighbour.as_ref().filter(reaches).and(round.neighbour);
    Some(delay.saturating_sub(own.map_or(0, |did| did.cpu_ns)))
}

/// Neighbours that did less than they were to do.
pub(super) fn dose(cells: &[Cell]) -> Option<Finding> {
    let share = |cell: &Cell| {
        let dose = cell.key.load.neighbour.as_ref()?.work.dose()? as f64;
        Some(cell.neighbour.as_ref()?.per_second.value? / dose)
    };
    let all = cells.iter().filter_map(|cell| Some((cell, share(cell)?)));
    let hit: Vec<(&Cell, f64)> = all.filter(|(_, share)| *share < ENOUGH).collect();
    let (cell, least) = hit.iter().min_by(|a, b| a.1.total_cmp(&b.1))?;
    let detail = format!(" (least: {}, {})", cell.id, percent(*least));
    let finding = findings::DOSE.found(&[&detail]).against(*least, ENOUGH);
    Some(finding.of(hit.iter().map(|(cell, _)| *cell)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use ipcperf_core::LoadKey;
    use ipcperf_core::result::{CellKey, Metric, NeighbourLoad, NeighbourRound};

    fn cell(neighbour: &str, per_second: f64) -> Cell {
        let mut key = CellKey::default();
        key.load.set(LoadKey::Neighbour, neighbour).expect("a neighbour");
        let per_second = Metric { value: Some(per_second), ..Metric::default() };
        let neighbour_load = NeighbourLoad { per_second, ..NeighbourLoad::default() };
        let mut round = Round::default();
        round.covariates.lead.run_delay_ns = Some(5_000_000);
        round.covariates.follow.run_delay_ns = Some(5_000_000);
        round.neighbour = Some(NeighbourRound { cpu_ns: 4_000_000, ..NeighbourRound::default() });
        let id = format!("cell {neighbour}");
        Cell { id, key, neighbour: Some(neighbour_load), rounds: vec![round], ..Cell::default() }
    }

    #[test]
    fn what_an_end_waited_for_its_neighbour_is_no_load_and_what_it_waited_for_others_is() {
        let of = |neighbour: &str| {
            let mut cell = cell(neighbour, 0.0);
            cell.key.placement = ipcperf_core::Placement::SameLlc;
            Seat::BOTH.map(|end| waited(&cell, &cell.rounds[0], end).unwrap_or_default())
        };
        assert_eq!(of("none"), [5_000_000; 2]);
        assert_eq!(of("cpu:1@lead"), [1_000_000, 5_000_000]);
        assert_eq!(of("cpu:1@follow"), [5_000_000, 1_000_000]);
        assert_eq!(of("cpu:1@other"), [5_000_000; 2]);
        assert_eq!(of("cpu:1@free"), [1_000_000; 2]);
    }

    #[test]
    fn the_spread_with_a_neighbour_counts_only_where_there_is_no_other() {
        let [beside, alone] = [cell("cpu:1", 0.0), cell("none", 0.0)];
        let of = |spreads: &[(&Cell, f64)]| undisturbed(spreads).copied().collect::<Vec<_>>();
        assert_eq!(of(&[(&beside, 0.5), (&alone, 0.01)]), [0.01]);
        assert_eq!(of(&[(&beside, 0.5)]), [0.5]);
    }

    #[test]
    fn a_neighbour_that_falls_behind_its_dose_is_found() {
        let all = [cell("timer:1000/s", 899.0), cell("fork:100/s", 95.0), cell("cpu:1", 0.0)];
        assert_eq!(dose(&all).expect("a tenth is missing").cells, ["cell timer:1000/s"]);
        assert!(dose(&all[1..]).is_none());
    }
}

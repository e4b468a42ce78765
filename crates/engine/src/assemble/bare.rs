//! Cells of libraries beside those of the bare mechanisms that they are built on.

use ipcperf_core::result::{Cell, CellKey, OfBare, Status};
use ipcperf_stats::Evidence;
use std::collections::BTreeMap;

/// Puts each cell whose mechanism is built on another (`over`, in the order of the cells) beside the cell of that one, where
/// there is one that differs in nothing else.
pub(super) fn compare(cells: &mut [Cell], over: &[Option<&str>]) {
    for (at, bare) in over.iter().enumerate() {
        if let Some(bare) = bare {
            cells[at].of_bare = beside(cells, &cells[at], bare);
        }
    }
}

fn beside(cells: &[Cell], cell: &Cell, bare: &str) -> Option<OfBare> {
    let alike = |other: &&Cell| {
        let (mechanism, wait) = (cell.key.mechanism.clone(), cell.key.wait);
        let other_key = CellKey { mechanism, wait, ..other.key.clone() };
        other.key.mechanism == bare && other_key == cell.key
    };
    // Of several with knobs of their own the one that is most as it comes.
    let asked =
        |other: &&Cell| other.knobs.values().filter(|knob| knob.requested.is_some()).count();
    let other = cells.iter().filter(alike).min_by_key(asked)?;
    let (own, other) = (by_round(cell)?, by_round(other)?);
    let common = own.iter().filter_map(|(round, own)| Some((*other.get(round)?, *own)));
    let (other, own): (Vec<_>, Vec<_>) = common.unzip();
    let evidence = Evidence::paired(&other, &own)?;
    Some(OfBare {
        mechanism: bare.to_owned(),
        ratio: evidence.ratio(),
        ci95: evidence.interval(0.95).map(|interval| [interval.low, interval.high]),
    })
}

/// The primary metric of the rounds that count; `None` for a cell without a number, and for one of two modes, of which no
/// ratio is true.
fn by_round(cell: &Cell) -> Option<BTreeMap<u64, f64>> {
    let is_one = cell.figure().is_some_and(|figure| figure.modes.len() < 2);
    if cell.status != Status::Ok || !is_one {
        return None;
    }
    let accepted = cell.rounds.iter().filter(|round| round.rejected.is_none());
    Some(accepted.filter_map(|round| Some((round.round, cell.figure_of(round)?))).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::assemble::tests::empty_round;
    use ipcperf_core::Wait;
    use ipcperf_core::result::{KnobReading, Metric, Mode, Round};

    fn cell(mechanism: &str, wait: Wait, p50: &[f64]) -> Cell {
        let round = |(number, p50): (usize, &f64)| Round {
            round: number as u64,
            p50_ns: Some(*p50),
            ..empty_round()
        };
        let p50_of_all = Metric { value: Some(p50[0]), ..Metric::default() };
        Cell {
            key: CellKey { mechanism: mechanism.to_owned(), wait, ..CellKey::default() },
            status: Status::Ok,
            rounds: p50.iter().enumerate().map(round).collect(),
            rtt_ns: Some([("p50".to_owned(), p50_of_all)].into()),
            ..Cell::default()
        }
    }

    /// The library takes exactly twice the bare time of its round, which differs from round to round.
    fn both() -> [Cell; 2] {
        let bare = [10.0, 20.0, 15.0, 12.0, 30.0, 11.0, 14.0];
        [
            cell("library", Wait::Block, &bare.map(|p50| 2.0 * p50)),
            cell("bare/epoll", Wait::Epoll, &bare),
        ]
    }

    fn told(mut cells: Vec<Cell>) -> Option<OfBare> {
        let over: Vec<_> = cells
            .iter()
            .map(|cell| (cell.key.mechanism == "library").then_some("bare/epoll"))
            .collect();
        compare(&mut cells, &over);
        assert!(cells[1..].iter().all(|cell| cell.of_bare.is_none()));
        cells.swap_remove(0).of_bare
    }

    #[test]
    fn a_library_stands_beside_the_bare_mechanism_round_by_round() {
        let found = told(both().to_vec()).expect("both were measured");
        assert_eq!(found.mechanism, "bare/epoll");
        let [low, high] = found.ci95.expect("seven rounds");
        for ratio in [found.ratio, low, high] {
            assert!((ratio - 2.0).abs() < 1e-9, "{found:?}");
        }
    }

    #[test]
    fn rounds_that_one_of_them_lacks_do_not_count() {
        let [mut library, mut bare] = both();
        library.rounds[0].rejected = Some("moved".to_owned());
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
        let failed = Cell { status: Status::Failed, ..bare.clone() };
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
        let mut set = cell("bare/epoll", Wait::Epoll, &[1.0; 7]);
        let asked = KnobReading { requested: Some(1_u64.into()), ..KnobReading::default() };
        set.knobs.insert("bare.size".to_owned(), asked);
        let found = told(vec![library, set, bare]).expect("both were measured");
        assert!((found.ratio - 2.0).abs() < 1e-9, "{found:?}");
    }
}

//! Which cells of a result are shown.

use crate::args::OnlyArgs;
use crate::error::{Stop, unknown};
use crate::request;
use ipcperf_core::result::{Cell, ResultSet};
use std::collections::BTreeSet;

/// Whether some cells are to be left out: what is left is shown in tables of its own.
pub(crate) fn is_some(only: &OnlyArgs) -> bool {
    let OnlyArgs { mechanism, pattern, size, place, top } = only;
    [mechanism, pattern, size, place].into_iter().any(Option::is_some) || top.is_some()
}

/// Leaves out the cells that nobody asked for.
pub(crate) fn keep(set: &mut ResultSet, only: &OnlyArgs) -> Result<(), Stop> {
    if let Some(list) = &only.mechanism {
        let wanted = mechanisms(set, list)?;
        set.cells.retain(|cell| wanted.contains(&cell.key.mechanism));
    }
    if let Some(list) = &only.pattern {
        let wanted = request::patterns(list)?;
        retain(set, "pattern", list, |cell| wanted.contains(&cell.key.pattern))?;
    }
    if let Some(list) = &only.size {
        let wanted = request::sizes(list)?;
        let is_wanted = |cell: &Cell| wanted.iter().any(|size| *size as u64 == cell.key.size_bytes);
        retain(set, "size", list, is_wanted)?;
    }
    if let Some(list) = &only.place {
        let wanted = request::placements(list)?;
        retain(set, "placement", list, |cell| wanted.contains(&cell.key.placement))?;
    }
    // What was found of cells goes with them; what was found of the run or the machine stays.
    let left: BTreeSet<&str> = set.cells.iter().map(|cell| cell.id.as_str()).collect();
    set.noise.findings.retain_mut(|finding| {
        let is_of_cells = !finding.cells.is_empty();
        finding.cells.retain(|id| left.contains(id.as_str()));
        !is_of_cells || !finding.cells.is_empty()
    });
    Ok(())
}

fn retain(
    set: &mut ResultSet,
    what: &str,
    given: &str,
    is_wanted: impl Fn(&Cell) -> bool,
) -> Result<(), Stop> {
    set.cells.retain(is_wanted);
    match set.cells.is_empty() {
        true => Err(Stop::usage(format!("no cell left with {what} {given}"))),
        false => Ok(()),
    }
}

/// Names of the document, whatever this build knows: full names, `name/*` for all variants, `all`.
fn mechanisms(set: &ResultSet, list: &str) -> Result<BTreeSet<String>, Stop> {
    let known = || set.cells.iter().map(|cell| cell.key.mechanism.as_str());
    let mut wanted = BTreeSet::new();
    for name in list.split(',').map(str::trim) {
        let is_it = |other: &&str| match name.strip_suffix("/*") {
            _ if name == "all" => true,
            Some(base) => other.split('/').next() == Some(base),
            None => *other == name,
        };
        let found: BTreeSet<String> = known().filter(is_it).map(str::to_owned).collect();
        if found.is_empty() {
            return Err(unknown("mechanism", name, known(), "the result has no cell of it"));
        }
        wanted.extend(found);
    }
    Ok(wanted)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Findings about cells that were left out stood below the tables of the others.
    #[test]
    fn findings_go_with_their_cells_and_those_of_the_machine_stay() {
        let text = include_str!("../tests/it/fixtures/result-1.0.json");
        let mut set = ipcperf_report::load(text).expect("a document");
        let of = |mechanism: &str| {
            let mut cells = set.cells.iter().filter(|cell| cell.key.mechanism == mechanism);
            cells.next().expect("measured").id.clone()
        };
        let (pipe, other) = (of("pipe"), of("eventfd"));
        let mut finding = set.noise.findings.first().expect("a finding").clone();
        set.noise.findings.clear();
        for cells in [vec![], vec![other.clone()], vec![other, pipe.clone()]] {
            finding.cells = cells;
            set.noise.findings.push(finding.clone());
        }
        let only = OnlyArgs { mechanism: Some("pipe".to_owned()), ..OnlyArgs::default() };
        keep(&mut set, &only).expect("a cell is left");
        let left: Vec<Vec<String>> =
            set.noise.findings.into_iter().map(|finding| finding.cells).collect();
        assert_eq!(left, [vec![], vec![pipe]]);
    }
}

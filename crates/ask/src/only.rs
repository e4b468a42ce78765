//! Which cells of a result are shown.

use crate::args::{OnlyArgs, typed};
use ipcperf_core::result::{Cell, ResultSet};
use ipcperf_engine::registry::Registry;
use ipcperf_kit::error::{Stop, unknown};
use ipcperf_kit::request;
use std::collections::BTreeSet;

/// Whether some cells are to be left out: what is left is shown in tables of its own.
pub(crate) fn is_some(only: &OnlyArgs) -> bool {
    let OnlyArgs { mechanism, pattern, size, place, top } = only;
    [mechanism, pattern, size, place].into_iter().any(|list| !list.is_empty()) || top.is_some()
}

/// Leaves out the cells that nobody asked for.
pub(crate) fn keep(registry: &Registry, set: &mut ResultSet, only: &OnlyArgs) -> Result<(), Stop> {
    if !only.mechanism.is_empty() {
        keep_mechanisms(registry, set, &only.mechanism)?;
    }
    if let Some(list) = &typed(&only.pattern) {
        let wanted = request::patterns(list)?;
        retain(set, "pattern", list, |cell| wanted.contains(&cell.key.pattern))?;
    }
    if let Some(list) = &typed(&only.size) {
        let wanted = request::sizes(list)?;
        let is_wanted = |cell: &Cell| wanted.iter().any(|size| *size as u64 == cell.key.size_bytes);
        retain(set, "size", list, is_wanted)?;
    }
    if let Some(list) = &typed(&only.place) {
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

/// Keeps the cells of some mechanisms: those that [`request::asked`] means by a word, and such of the document that this
/// build does not know, by full name or `name/*`; `all`.
pub(crate) fn keep_mechanisms(
    registry: &Registry,
    set: &mut ResultSet,
    lists: &[String],
) -> Result<(), Stop> {
    let mut kept = vec![false; set.cells.len()];
    for item in lists.iter().flat_map(|list| list.split(',')).map(str::trim) {
        let meant = request::asked(registry, &[item.to_owned()], &[]);
        if item.contains(char::is_whitespace) {
            meant.as_ref().map_err(Stop::usage)?;
        }
        let is_it = |cell: &Cell| {
            let name = cell.key.mechanism.as_str();
            let is_named = match item.strip_suffix("/*") {
                Some(base) => name.split('/').next() == Some(base),
                None => name == item || item == "all",
            };
            is_named || meant.iter().flatten().any(|one| one.is_of(cell))
        };
        let found: Vec<usize> = (0..set.cells.len()).filter(|at| is_it(&set.cells[*at])).collect();
        if found.is_empty() {
            let known = set.cells.iter().map(|cell| cell.key.mechanism.as_str());
            return Err(unknown("mechanism", item, known, "the result has no cell of it"));
        }
        found.into_iter().for_each(|at| kept[at] = true);
    }
    let mut kept = kept.into_iter();
    set.cells.retain(|_| kept.next().unwrap_or(false));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use ipcperf_core::KnobValue;
    use ipcperf_core::result::KnobReading;

    /// Findings about cells that were left out stood below the tables of the others.
    #[test]
    fn findings_go_with_their_cells_and_those_of_the_machine_stay() {
        let text = include_str!("../../ipcperf/tests/it/fixtures/result-1.0.json");
        let mut set = ipcperf_judge::load(text).expect("a document");
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
        let only = OnlyArgs { mechanism: vec!["pipe".to_owned()], ..OnlyArgs::default() };
        keep(&ipcperf_builtin::builtin(), &mut set, &only).expect("a cell is left");
        let left: Vec<Vec<String>> =
            set.noise.findings.into_iter().map(|finding| finding.cells).collect();
        assert_eq!(left, [vec![], vec![pipe]]);
    }

    #[test]
    fn a_word_means_what_it_means_to_a_run_and_what_this_build_does_not_know_has_its_name() {
        let text = include_str!("../../ipcperf/tests/it/fixtures/result-1.0.json");
        let mut set = ipcperf_judge::load(text).expect("a document");
        let pipe = set.cells.iter().find(|cell| cell.key.mechanism == "pipe").expect("measured");
        let like = |name: &str| {
            let mut cell = pipe.clone();
            cell.key.mechanism = name.to_owned();
            cell.knobs.clear();
            cell
        };
        let mut bound = like("unix-stream");
        let word = KnobValue::Word("path".to_owned());
        let reading =
            KnobReading { requested: Some(word.clone()), effective: Some(word), shortage: None };
        bound.knobs.insert("unix-stream.bind".to_owned(), reading);
        set.cells = vec![
            like("pipe"),
            like("unix-stream"),
            bound,
            like("shm-ring/adaptive"),
            like("new/x"),
        ];
        let left = |lists: &[&str]| -> Result<Vec<String>, String> {
            let mut set = set.clone();
            let lists: Vec<String> = lists.iter().map(|list| (*list).to_owned()).collect();
            keep_mechanisms(&ipcperf_builtin::builtin(), &mut set, &lists)
                .map(|()| set.cells.into_iter().map(|cell| cell.key.mechanism).collect())
                .map_err(|stop| stop.to_string())
        };
        let unix = "unix-stream";
        for (lists, names) in [
            (&["unix"][..], &[unix, unix][..]),
            (&["unix bind=path"], &[unix]),
            (&["pipe", "shm-ring"], &["pipe", "shm-ring/adaptive"]),
            (&["new/*,pipe"], &["pipe", "new/x"]),
            (&["new/x"], &["new/x"]),
        ] {
            assert_eq!(left(lists), Ok(names.iter().map(|name| (*name).to_owned()).collect()));
        }
        assert_eq!(left(&["all"]).map(|all| all.len()), Ok(5));
        for (list, said) in [
            ("tcp", "unknown mechanism 'tcp'"),
            ("unix bind=abstract", "the result has no cell of it"),
            ("unix bnid=path", "did you mean 'unix-stream.bind'?"),
        ] {
            let told = left(&[list]).expect_err(list);
            assert!(told.contains(said), "{told}");
        }
    }
}

//! What a bench program found since its last run: the comparison of its own cells with an earlier result.

use crate::compare::margin_of;
use crate::compare::screen::ComparisonDocument;
use ipcperf_core::result::ResultSet;
use ipcperf_judge::{Recorded, Slower, Terms, compare_files};
use ipcperf_kit::args::OutputArgs;
use ipcperf_kit::document::Show;
use ipcperf_kit::error::{Code, Stop, note};
use ipcperf_kit::output::{self, Publication};
use ipcperf_kit::paths_in_text::without_home;
use ipcperf_kit::{gates, reading};
use ipcperf_render::Format;
use ipcperf_render::text::join;
use std::path::Path;

/// These cells of a result with the name of its file; `None` if it has none of them. A filter measures fewer than there
/// were, and what the mechanisms are compared with is not judged. One that was interrupted is compared with nothing.
pub(super) fn of_cells(
    path: &Path,
    mut set: ResultSet,
    ids: &[String],
) -> Result<Option<Recorded>, Stop> {
    set.cells.retain(|cell| ids.contains(&cell.id));
    if set.cells.is_empty() || set.interrupted {
        return Ok(None);
    }
    let text = serde_json::to_string(&set).map_err(Stop::internal)?;
    let name = without_home(&path.display().to_string());
    Recorded::read(name, &text).map(Some).map_err(Stop::internal)
}

/// Compares both, shows the comparison where a table is shown, and says how the gates end.
pub(super) fn compared(
    earlier: Option<Recorded>,
    new: Option<Recorded>,
    slower: &[Slower],
    output: &OutputArgs,
) -> Result<Option<Code>, Stop> {
    let Some((earlier, new)) = earlier.zip(new) else {
        if slower.is_empty() {
            return Ok(None);
        }
        let why =
            "there is no earlier result of these cells (in target/ipcperf, or named by --baseline)";
        note(&format!("--fail-on cannot tell: {why}"));
        return Ok(Some(Code::CannotTell));
    };
    let terms = Terms { margin: margin_of(slower), ..Terms::default() };
    let name = earlier.name.clone();
    let found = match compare_files(&[earlier], &[new], &terms) {
        Ok(found) => found,
        Err(why) if slower.is_empty() => {
            note(&format!("Not compared with {name}: {why}"));
            return Ok(None);
        }
        Err(why) => return Err(Stop::incomparable(why)),
    };
    let document = ComparisonDocument(found);
    let format = output::format(&output.look)?;
    let is_printed = output.output.as_deref().is_some_and(reading::is_stdin);
    if format == Format::Table && !is_printed {
        output::to_stdout(b"\n")?;
        let style = output::style(&output.look, false);
        let (quiet, screen) = (true, Some(Show::new(format, &style)));
        let name = "Comparison";
        Publication { name, document: &document, target: None, quiet, screen }.publish(|| ())?;
    }
    let outcome = gates::outcome(slower, &document.0);
    let new = &document.0.only_b;
    if slower.is_empty() || new.is_empty() {
        return Ok(outcome);
    }
    note(&format!("--fail-on cannot tell: the earlier result does not have {}", join(new)));
    Ok(outcome.or(Some(Code::CannotTell)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::sample::{self, Build, ONE};
    use ipcperf_core::result::{Cell, Round};
    use ipcperf_kit::args::LookArgs;

    /// A result of two mechanisms with twelve rounds around these times.
    fn set(mine: f64, other: f64) -> ResultSet {
        let cell = |mechanism: &str, nanos: f64| {
            let cell = sample::cell(mechanism, 64, ONE).rtt(nanos, 100.0).with_round();
            let first = cell.rounds[0].clone();
            let round = |at: u64| Round {
                round: at,
                rejected: None,
                p50_ns: Some(nanos * (1.0 + 0.001 * (at % 5) as f64)),
                ..first.clone()
            };
            Cell { rounds: (0..12).map(round).collect(), ..cell }
        };
        sample::set(vec![cell("pipe", mine), cell("tcp", other)])
    }

    /// How a gate over the first cells of the new result ends.
    fn code(old: Option<ResultSet>, mut new: ResultSet, own: usize, gate: &str) -> Option<Code> {
        let ids: Vec<String> = new.cells.iter().take(own).map(|cell| cell.id.clone()).collect();
        let slower = gates::slower(&[gate.to_owned()]).unwrap();
        let old = old.and_then(|old| of_cells(Path::new("old.json"), old, &ids).unwrap());
        new.origin.run_id = "another".to_owned();
        let new = of_cells(Path::new("new.json"), new, &ids).unwrap();
        let look = LookArgs { format: Some("json".to_owned()), ..LookArgs::default() };
        let output = OutputArgs { look, ..OutputArgs::default() };
        compared(old, new, &slower, &output).unwrap()
    }

    #[test]
    fn a_gate_fails_where_a_mechanism_of_the_bench_is_certainly_slower_than_before() {
        let old = || Some(set(10_000.0, 10_000.0));
        assert_eq!(code(old(), set(20_000.0, 10_000.0), 1, "slower:5%"), Some(Code::Slower));
        assert_eq!(code(old(), set(5_000.0, 10_000.0), 1, "slower:5%"), None);
        // A slower bare mechanism does not mean that the mechanism of the bench has changed.
        assert_eq!(code(old(), set(5_000.0, 20_000.0), 1, "slower:5%"), None);
    }

    #[test]
    fn a_gate_is_undecided_where_a_cell_was_not_measured_before() {
        let old = || {
            let mut old = set(10_000.0, 10_000.0);
            old.cells.truncate(1);
            Some(old)
        };
        assert_eq!(code(old(), set(5_000.0, 1.0), 1, "slower:5%"), None);
        assert_eq!(code(old(), set(5_000.0, 1.0), 2, "slower:5%"), Some(Code::CannotTell));
        assert_eq!(code(old(), set(20_000.0, 1.0), 2, "slower:5%"), Some(Code::Slower));
    }

    #[test]
    fn a_gate_is_undecided_where_there_is_nothing_to_compare() {
        let now = || set(10_000.0, 1.0);
        assert_eq!(code(None, now(), 1, "slower:5%"), Some(Code::CannotTell));
        let stopped = ResultSet { interrupted: true, ..now() };
        assert_eq!(code(Some(stopped), now(), 1, "slower:5%"), Some(Code::CannotTell));
    }
}

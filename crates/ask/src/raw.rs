//! Every operation or batch of operations that was timed, one a line, for gnuplot, pandas or R (`run --raw`).

use ipcperf_core::result::{ResultSet, Status};
use ipcperf_engine::run::Kept;
use ipcperf_kit::error::{Stop, note};
use ipcperf_kit::output;
use ipcperf_render::text::{clean, counted};
use std::io::{self, Write};
use std::path::Path;

/// The first two columns are those of Kamal Marhubi's programs.
const HEAD: &str = "iters\tns\tround\tcell\n";

/// Where the operations go.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Raw<'a>(&'a Path);

impl<'a> Raw<'a> {
    /// Decides, and fails now rather than after all measuring where they cannot be written.
    pub(crate) fn choose(raw: &'a Path, document: Option<&Path>) -> Result<Self, Stop> {
        Self::planned(raw, document)?;
        let one = Self(raw);
        if !one.is_stdout() {
            output::check(raw, "--raw")?;
        }
        Ok(one)
    }

    /// Where they will go, for a plan. Nothing is tried there.
    pub(crate) fn planned(raw: &Path, document: Option<&Path>) -> Result<String, Stop> {
        if document.is_some_and(|document| document == raw || output::is_same_file(document, raw)) {
            return Err(Stop::usage(format!(
                "--raw and -o are both '{}'; name two files",
                raw.display()
            )));
        }
        Ok(output::place(raw))
    }

    pub(crate) fn is_stdout(self) -> bool {
        self.0.as_os_str() == "-"
    }

    /// Writes those of the slices that count in a document, in its order.
    pub(crate) fn write(
        self,
        set: &ResultSet,
        (kept, ns): &(Vec<Kept>, f64),
        quiet: bool,
    ) -> Result<(), Stop> {
        let (slices, ns) = (accepted(set, kept), *ns);
        if self.is_stdout() {
            output::to_stdout(HEAD.as_bytes())?;
            for (id, slice) in &slices {
                let mut text = Vec::new();
                lines(id, slice, ns, &mut text)
                    .map_err(|error| Stop::internal(format!("--raw: {error}")))?;
                output::to_stdout(&text)?;
            }
            return Ok(());
        }
        output::to_file(self.0, |out| {
            out.write_all(HEAD.as_bytes())?;
            slices.iter().try_for_each(|(id, slice)| lines(id, slice, ns, out))
        })?;
        if !quiet {
            let all = slices.iter().map(|(_, slice)| slice.batch * slice.ticks.len() as u64).sum();
            note(&format!("{}: {}", counted(all, "operation"), self.0.display()));
        }
        Ok(())
    }
}

/// What was kept of slices that count, each with the name of its cell.
fn accepted<'a>(set: &ResultSet, kept: &'a [Kept]) -> Vec<(String, &'a Kept)> {
    let counts = |slice: &&Kept| {
        set.cells.get(slice.cell).is_some_and(|cell| {
            cell.status == Status::Ok
                && cell.rounds.iter().any(|round| {
                    (round.round, round.order) == (slice.round, slice.order)
                        && round.rejected.is_none()
                })
        })
    };
    let named = |slice: &'a Kept| (clean(&set.cells[slice.cell].id, true), slice);
    kept.iter().filter(counts).map(named).collect()
}

fn lines(id: &str, slice: &Kept, ns: f64, out: &mut dyn Write) -> io::Result<()> {
    let Kept { batch, round, .. } = slice;
    // To picoseconds, as the histograms of the document are.
    slice.ticks.iter().try_for_each(|ticks| {
        let whole = *ticks as f64 * ns;
        writeln!(out, "{batch}\t{whole:.3}\t{round}\t{id}")
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::tests::set;

    #[test]
    fn what_a_document_rejects_or_has_no_figure_of_is_no_line() {
        let mut set = set(&["ok", "failed"]);
        let round = |round: u64, rejected: &str| {
            let text = format!(
                r#"{{"round": {round}, "order": 3, {rejected} "cpus": [], "messages": 4, "bytes": 4, "elapsed_ns": 1.0,
                "cpu_ns": {{"lead": 1, "follow": 1, "user": 1, "system": 1}}, "covariates": {{"lead": {{"voluntary_switches": 0,
                "involuntary_switches": 0, "minor_faults": 0, "major_faults": 0}}, "follow": {{"voluntary_switches": 0,
                "involuntary_switches": 0, "minor_faults": 0, "major_faults": 0}}}}, "proof": {{"nonce": "", "lead_pid": 1,
                "follow_pid": 2, "lead": [1, 1], "follow": [1, 1], "fully_checked": 0, "holds": true}}}}"#
            );
            serde_json::from_str(&text).expect("a round")
        };
        for cell in &mut set.cells {
            cell.id = "pipe\t64B".to_owned();
            cell.rounds = vec![round(0, r#""rejected": "E-CLOCKJUMP","#), round(1, "")];
        }
        let slice = |cell, round, order, ticks| Kept { cell, round, order, batch: 2, ticks };
        let kept = vec![
            slice(0, 0, 3, vec![1]),
            slice(0, 1, 2, vec![2]),
            slice(0, 1, 3, vec![9, 3]),
            slice(1, 1, 3, vec![4]),
        ];
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("raw.tsv");
        let raw = Raw::choose(&path, None).expect("it can be written");
        raw.write(&set, &(kept, 0.5), true).expect("written");
        let text = std::fs::read_to_string(&path).expect("it is there");
        assert_eq!(text, format!("{HEAD}2\t4.500\t1\tpipe 64B\n2\t1.500\t1\tpipe 64B\n"));
        let told = Raw::choose(&path, Some(&path)).expect_err("one file").to_string();
        assert!(told.starts_with("--raw and -o are both"), "{told}");
    }
}

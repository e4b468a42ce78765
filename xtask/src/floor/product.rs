//! ipcperf's own cells, read from the document it prints. One round per call, so that its rounds
//! interleave with the bare ones.

use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use serde_json::Value;

use super::bounded::{self, Finished};
use super::case::Cpus;
use super::case::{Case, Pattern, Placements};

/// A call of one slice takes well under a second.
const LIMIT: Duration = Duration::from_secs(30);
/// Two different CPUs, from the nearest to the farthest.
const TWO_CPU_PLACES: [&str; 4] = ["same-llc", "cross-llc", "smt", "cross-node"];

/// The product under test.
pub(crate) struct Product {
    pub(crate) binary: PathBuf,
    pub(crate) slice: Duration,
    pub(crate) idle_poll: bool,
}

impl Product {
    /// Which placement names this machine has, and which CPUs ipcperf takes for them.
    pub(crate) fn placements(&self) -> Result<Placements> {
        let probe = |place: &str| -> Result<Option<(String, Cpus)>> {
            let document = self.document("pipe", Pattern::RoundTrip, 64, place)?;
            let cell = first_cell(&document)?;
            match status(cell)? {
                Ok(()) => Ok(Some((place.to_owned(), cpus(cell)?))),
                Err(_) if cell["status"] == "unavailable" => Ok(None),
                Err(reason) => bail!("pipe on {place}: {reason}"),
            }
        };
        let same = probe("same-cpu")?.context("ipcperf has no same-cpu placement here")?;
        for place in TWO_CPU_PLACES {
            if let Some(two) = probe(place)? {
                return Ok(Placements { same, two: Some(two) });
            }
        }
        Ok(Placements { same, two: None })
    }

    /// One round of the case: nanoseconds or bytes per second.
    pub(crate) fn measure(&self, case: &Case, place: &str, cpus: Cpus) -> Result<f64> {
        let document = self.document(case.mechanism, case.pattern, case.asked, place)?;
        value(&document, case.pattern, cpus)
    }

    /// Start to end of `ipcperf list`.
    pub(crate) fn list(&self) -> Result<Duration> {
        let finished = bounded::run(Command::new(&self.binary).arg("list"), LIMIT)?;
        if !finished.success {
            bail!("ipcperf list failed: {}", finished.stderr.trim());
        }
        Ok(finished.elapsed)
    }

    /// Peak resident set of a run of several rounds.
    pub(crate) fn peak_rss_bytes(&self) -> Result<u64> {
        let finished = self.run("pipe", Pattern::RoundTrip, 64, "same-cpu", 4)?;
        Ok(finished.peak_rss_bytes)
    }

    fn document(&self, name: &str, pattern: Pattern, size: usize, place: &str) -> Result<Value> {
        let finished = self.run(name, pattern, size, place, 1)?;
        serde_json::from_str(&finished.stdout).with_context(|| {
            let said = finished.stderr.lines().last().unwrap_or("nothing on stderr");
            format!("ipcperf run -m {name} printed no result document; it said: {said}")
        })
    }

    fn run(
        &self,
        name: &str,
        pattern: Pattern,
        size: usize,
        place: &str,
        rounds: u32,
    ) -> Result<Finished> {
        let mut command = Command::new(&self.binary);
        command
            .args(["run", "-m", name, "-p", pattern.name(), "-s", &size.to_string()])
            .args(["--place", place, "--rounds", &rounds.to_string()])
            .args(["--slice", &format!("{}ms", self.slice.as_millis())])
            .args(["--idle", if self.idle_poll { "poll" } else { "as-is" }])
            .args(["-o", "-", "-q", "--no-progress", "--format", "json"]);
        bounded::run(&mut command, LIMIT)
    }
}

/// The figure of the first cell, refused if it was measured elsewhere than on `wanted`.
fn value(document: &Value, pattern: Pattern, wanted: Cpus) -> Result<f64> {
    let cell = first_cell(document)?;
    if let Err(reason) = status(cell)? {
        bail!("{reason}");
    }
    let measured = cpus(cell)?;
    if measured != wanted {
        bail!("ran on CPUs {measured:?}, the bare loop on {wanted:?}");
    }
    let figure = match pattern {
        Pattern::RoundTrip => &cell["rtt_ns"]["p50"],
        Pattern::Stream => &cell["bytes_per_second"],
    };
    match figure["value"].as_f64() {
        Some(value) if value > 0.0 => Ok(value),
        _ => bail!("no figure: {figure}"),
    }
}

fn first_cell(document: &Value) -> Result<&Value> {
    document["cells"].get(0).context("the result document has no cell")
}

/// `Err` holds status and reason of a cell without a figure.
fn status(cell: &Value) -> Result<std::result::Result<(), String>> {
    match cell["status"].as_str() {
        Some("ok") => Ok(Ok(())),
        Some(other) => {
            Ok(Err(format!("{other}: {}", cell["reason"].as_str().unwrap_or("no reason given"))))
        }
        None => bail!("the cell has no status"),
    }
}

fn cpus(cell: &Value) -> Result<Cpus> {
    let at = |index: usize| cell["cpus"][index].as_u64().map(|cpu| cpu as usize);
    at(0).zip(at(1)).map(|(lead, follow)| [lead, follow]).context("the cell names no two CPUs")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn document(status: &str) -> Value {
        json!({"cells": [{"status": status, "reason": "why", "cpus": [0, 1],
            "rtt_ns": {"p50": {"value": 2100.5}}, "bytes_per_second": {"value": 5e9}}]})
    }

    #[test]
    fn the_figure_of_a_good_cell_is_read() {
        assert_eq!(value(&document("ok"), Pattern::RoundTrip, [0, 1]).unwrap(), 2100.5);
        assert_eq!(value(&document("ok"), Pattern::Stream, [0, 1]).unwrap(), 5e9);
    }

    #[test]
    fn a_cell_that_is_not_ok_gives_its_reason() {
        let error = value(&document("deadline"), Pattern::RoundTrip, [0, 1]).unwrap_err();
        assert_eq!(error.to_string(), "deadline: why");
    }

    #[test]
    fn a_figure_from_other_cpus_is_refused() {
        let error = value(&document("ok"), Pattern::RoundTrip, [1, 0]).unwrap_err();
        assert!(error.to_string().contains("CPUs"), "{error}");
    }

    #[test]
    fn a_withheld_figure_is_not_zero() {
        let withheld = json!({"cells": [{"status": "ok", "cpus": [0, 0],
            "rtt_ns": {"p50": {"value": null, "reason": "needs 2 samples"}}}]});
        let error = value(&withheld, Pattern::RoundTrip, [0, 0]).unwrap_err();
        assert!(error.to_string().contains("needs 2 samples"), "{error}");
    }
}

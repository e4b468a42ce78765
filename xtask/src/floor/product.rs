//! ipcperf's own cells, read from the document it prints. One round per call, so that its rounds interleave with the
//! bare ones.

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use serde_json::Value;

use super::case::{self, Case, Pattern, Place};
use super::policy;

/// Two different CPUs, from the nearest to the farthest.
const TWO_CPU_PLACES: [&str; 4] = ["same-llc", "cross-llc", "smt", "cross-node"];

/// The product under test.
pub(crate) struct Product {
    pub(crate) binary: PathBuf,
    pub(crate) slice_ms: u64,
    pub(crate) idle_poll: bool,
}

impl Product {
    /// One CPU, and two of them where this machine lends as many, as ipcperf names and chooses them; and what it says
    /// about the machine, as a Markdown list.
    pub(crate) fn places(&self) -> Result<(Vec<Place>, String)> {
        let mut places = Vec::new();
        let mut machine = String::new();
        for name in ["same-cpu"].into_iter().chain(TWO_CPU_PLACES) {
            let document = document(&mut self.command("pipe", Pattern::PingPong, 64, name))?;
            match &document["cells"][0]["status"] {
                Value::String(status) if status == "unavailable" => continue,
                _ => places.push(Place { name, cpus: cpus(cell(&document)?)? }),
            }
            machine = describe(&document);
            if name != "same-cpu" {
                break;
            }
        }
        Ok((places, machine))
    }

    /// One round of the case: nanoseconds or bytes per second, and the cache-line round trip between its two CPUs in
    /// nanoseconds.
    pub(crate) fn measure(&self, case: &Case) -> Result<(f64, Option<f64>)> {
        let asked = if case.carrier.only_wakes() { 0 } else { case.bytes };
        let mut command = self.command(&case.mechanism(), case.pattern, asked, case.place.name);
        if case.pattern == Pattern::Serve {
            command.args(["--conns", &case.conns.to_string()]);
        }
        let document = document(policy::without_preemption(case, &mut command))?;
        let line = document["bounds"]["pairs"][0]["cacheline_rtt_ns"]["median"].as_f64();
        Ok((figure(&document, case.pattern, case.place.cpus)?, line))
    }

    /// A pipe of 64 B on one CPU with this program as its follow, as a multiple of the same with our own follow, and the 95 %
    /// interval where there are rounds enough.
    pub(crate) fn of_ours(&self, program: &Path, rounds: u32) -> Result<(f64, Option<[f64; 2]>)> {
        let mut command = self.command("pipe", Pattern::PingPong, 64, "same-cpu");
        command.arg("--follow").arg(program).args(["--rounds", &rounds.to_string()]);
        let output = command.output()?;
        let document: Value = serde_json::from_slice(&output.stdout)
            .with_context(|| format!("ipcperf run --follow: {}", complaint(&output)))?;
        let cells = document["cells"].as_array().context("no cells")?;
        let found = cells.iter().find_map(|cell| cell.get("of_ours").filter(|one| one.is_object()));
        let found =
            found.context("ipcperf run --follow: no cell was compared with our own follow")?;
        let value = found["ratio"].as_f64().context("no ratio")?;
        Ok((value, serde_json::from_value(found["ci95"].clone())?))
    }

    /// Start to end of `ipcperf list`.
    pub(crate) fn list(&self) -> Result<Duration> {
        let start = Instant::now();
        let output = Command::new(&self.binary).arg("list").output()?;
        ensure!(output.status.success(), "ipcperf list: {}", complaint(&output));
        Ok(start.elapsed())
    }

    /// Peak resident set of a run of several rounds, the larger of coordinator and workers.
    pub(crate) fn peak_rss_bytes(&self) -> Result<u64> {
        let mut command = self.command("pipe", Pattern::PingPong, 64, "same-cpu");
        // Never reaped by `Child`, which does not say what it used.
        let child = command.args(["--rounds", "4"]).stdout(Stdio::null()).spawn()?;
        // SAFETY: all zeroes is a valid rusage, and both places are writable.
        let (status, usage) = unsafe {
            let (mut status, mut usage) = (0, std::mem::zeroed::<libc::rusage>());
            ensure!(libc::wait4(child.id() as i32, &mut status, 0, &mut usage) > 0, "wait4");
            (status, usage)
        };
        ensure!(status == 0, "ipcperf run ended with wait status {status:#x}");
        Ok(usage.ru_maxrss as u64 * 1024)
    }

    fn command(&self, name: &str, pattern: Pattern, size: usize, place: &str) -> Command {
        let mut command = Command::new(&self.binary);
        command
            .args(["run", "-m", name, "-p", &case::name(pattern), "-s", &size.to_string()])
            .args(["--place", place, "--slice", &format!("{}ms", self.slice_ms)])
            .args(["--idle", if self.idle_poll { "poll" } else { "as-is" }])
            .args(["-o", "-", "-q", "--no-progress", "--format", "json"]);
        command
    }
}

/// The document of one round.
fn document(command: &mut Command) -> Result<Value> {
    let output = command.args(["--rounds", "1"]).output()?;
    // A cell that cannot run is in the document, too.
    serde_json::from_slice(&output.stdout)
        .with_context(|| format!("ipcperf run: {}", complaint(&output)))
}

/// What the figures were measured on.
fn describe(document: &Value) -> String {
    let text = |value: &Value| value.as_str().unwrap_or("none").to_owned();
    let host = &document["host"];
    let cpus = host["cpus_allowed"].as_array().map_or(0, Vec::len);
    format!(
        "- CPU: {}\n- CPUs usable: {cpus}\n- kernel: {}\n- hypervisor: {}\n- clock: {}\n- date: {:.10}\n",
        text(&host["cpu_model"]),
        text(&document["kernel"]["release"]),
        text(&host["hypervisor"]),
        text(&document["clock"]["source"]),
        text(&document["started_utc"]),
    )
}

/// The figure of the first cell, refused if it was measured elsewhere than on `wanted`.
fn figure(document: &Value, pattern: Pattern, wanted: [usize; 2]) -> Result<f64> {
    let cell = cell(document)?;
    let measured = cpus(cell)?;
    ensure!(measured == wanted, "ran on CPUs {measured:?}, the bare loop on {wanted:?}");
    let figure = match pattern {
        Pattern::PingPong => &cell["rtt_ns"]["p50"],
        Pattern::Stream => &cell["bytes_per_second"],
        Pattern::Serve => &cell["serve"]["requests_per_second"],
    };
    match figure["value"].as_f64() {
        Some(value) if value > 0.0 && pattern == Pattern::Serve => Ok(1e9 / value),
        Some(value) if value > 0.0 => Ok(value),
        _ => bail!("no figure: {figure}"),
    }
}

/// The first cell, if it has a figure, or why it has none.
fn cell(document: &Value) -> Result<&Value> {
    let cell = &document["cells"][0];
    ensure!(cell["status"] == "ok", "{}: {}", cell["status"], cell["reason"]);
    Ok(cell)
}

fn cpus(cell: &Value) -> Result<[usize; 2]> {
    serde_json::from_value(cell["cpus"].clone()).context("the cell names no two CPUs")
}

/// How a program ended, and the last it said.
pub(super) fn complaint(output: &Output) -> String {
    let said = String::from_utf8_lossy(&output.stderr);
    format!("{}: {}", output.status, said.lines().last().unwrap_or("it said nothing"))
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
        assert_eq!(figure(&document("ok"), Pattern::PingPong, [0, 1]).unwrap(), 2100.5);
        assert_eq!(figure(&document("ok"), Pattern::Stream, [0, 1]).unwrap(), 5e9);
    }

    #[test]
    fn a_cell_that_is_not_ok_gives_its_reason() {
        let error = figure(&document("deadline"), Pattern::PingPong, [0, 1]).unwrap_err();
        assert_eq!(error.to_string(), "\"deadline\": \"why\"");
    }

    #[test]
    fn a_figure_from_other_cpus_is_refused() {
        let error = figure(&document("ok"), Pattern::PingPong, [1, 0]).unwrap_err();
        assert!(error.to_string().contains("CPUs"), "{error}");
    }

    #[test]
    fn a_withheld_figure_is_not_zero() {
        let withheld = json!({"cells": [{"status": "ok", "cpus": [0, 0],
            "rtt_ns": {"p50": {"value": null, "reason": "needs 2 samples"}}}]});
        let error = figure(&withheld, Pattern::PingPong, [0, 0]).unwrap_err();
        assert!(error.to_string().contains("needs 2 samples"), "{error}");
    }

    #[test]
    fn the_machine_is_described_by_the_document() {
        let text = describe(&json!({"started_utc": "2026-11-22T00:08:25Z",
            "host": {"cpu_model": "X1", "cpus_allowed": [0, 1], "hypervisor": null}}));
        for line in ["- CPU: X1\n", "usable: 2\n", "hypervisor: none\n", "date: 2026-11-22\n"] {
            assert!(text.contains(line), "{line} in {text}");
        }
    }
}

//! Observations as rows of columns that are always the same, for a spreadsheet, a data frame or a database: one row for
//! each cell, for each of its rounds, or for each document. `docs/RESULTS.md` lists the columns.

use crate::versus::Versus;
use crate::{Specs, pipelines, text};
use ipcperf_core::result::{Cell, ResultSet, Round, Severity, Status};
pub(crate) use ipcperf_render::csv::{Column, line, number, render_values};
use ipcperf_render::csv::{row, seen};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::{fmt, io};

/// What one row is about.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Rows {
    /// A cell.
    #[default]
    Cells,
    /// One round of a cell.
    Rounds,
    /// A document.
    Runs,
}

impl Rows {
    /// The columns, from left to right.
    fn columns(self) -> Vec<Column> {
        match self {
            Self::Cells => [RUN, WHICH, OF_A_CELL, ORIGIN].concat(),
            Self::Rounds => [RUN, WHICH, OF_A_ROUND, ORIGIN].concat(),
            Self::Runs => [RUN, OF_A_RUN, ORIGIN].concat(),
        }
    }

    /// The columns with their types, as an argument of DuckDB's `read_csv`. What it finds out by itself depends on the rows: a
    /// kernel `6.12.57` would be a date, and a column that is empty in one file a text.
    #[must_use]
    pub fn duckdb(self) -> String {
        let columns = self.columns();
        let typed = columns.iter().map(|(name, _)| format!("'{name}': '{}'", sql_type(name)));
        format!("columns = {{{}}}\n", typed.collect::<Vec<_>>().join(", "))
    }
}

/// What a column holds, in the words of SQL. Numbers are `DOUBLE` unless they are in this list.
fn sql_type(column: &str) -> &'static str {
    match column {
        "run" => "TIMESTAMP",
        "proved" | "saturated" | "verified" | "interrupted" | "autogroup" | "is_reference"
        | "within_margin" => "BOOLEAN",
        "size_bytes"
        | "round"
        | "order"
        | "lead_cpu"
        | "follow_cpu"
        | "batch"
        | "accepted_rounds"
        | "p50_modes"
        | "messages"
        | "moved"
        | "bytes"
        | "lost"
        | "unanswered"
        | "cells"
        | "measured"
        | "errors"
        | "warnings"
        | "pairs"
        | "hz"
        | "sched_rt_runtime_us" => "BIGINT",
        "machine" | "kernel" | "grade" | "id" | "mechanism" | "wait" | "pattern" | "placement"
        | "idle" | "touch" | "load" | "knobs" | "status" | "reason" | "timing" | "bound"
        | "rejected" | "command" | "findings" | "run_id" | "tool" | "cpu_model" | "microcode"
        | "frequency" | "idle_driver" | "mitigations" | "preemption" | "sched_ext"
        | "sched_features" | "shmem_huge_pages" | "host" | "labels" | "stage" | "reference"
        | "statement" => "VARCHAR",
        _ => "DOUBLE",
    }
}

/// Which run, and where: first in every row.
const RUN: &[Column] = &[
    ("run", "/run/started"),
    ("machine", "/run/machine"),
    ("kernel", "/run/kernel"),
    ("grade", "/run/grade"),
];

/// Which cell.
const WHICH: &[Column] = &[
    ("id", "/id"),
    ("mechanism", "/mechanism"),
    ("wait", "/wait"),
    ("pattern", "/pattern"),
    ("size_bytes", "/size_bytes"),
    ("placement", "/placement"),
    ("idle", "/idle"),
    ("touch", "/touch"),
    ("load", "/words/load"),
    ("knobs", "/words/knobs"),
    ("status", "/status"),
    ("reason", "/reason"),
];

const OF_A_CELL: &[Column] = &[
    ("lead_cpu", "/cpus/0"),
    ("follow_cpu", "/cpus/1"),
    ("timing", "/timing/mode"),
    ("batch", "/timing/batch"),
    ("accepted_rounds", "/words/rounds"),
    ("stage", "/words/stage"),
    ("is_reference", "/words/is_reference"),
    ("reference", "/versus/reference"),
    ("ratio", "/versus/ratio"),
    ("ratio_low", "/versus/ci95/0"),
    ("ratio_high", "/versus/ci95/1"),
    ("pairs", "/versus/pairs"),
    ("statement", "/versus/statement"),
    ("within_margin", "/versus/within_margin"),
    ("verified", "/verified"),
    ("messages", "/messages"),
    ("lost", "/lost"),
    ("min_ns", "/times/min/value"),
    ("p50_ns", "/times/p50/value"),
    ("p50_low_ns", "/times/p50/ci95/0"),
    ("p50_high_ns", "/times/p50/ci95/1"),
    ("p50_modes", "/words/modes"),
    ("mean_ns", "/times/mean/value"),
    ("mean_low_ns", "/times/mean/ci95/0"),
    ("mean_high_ns", "/times/mean/ci95/1"),
    ("p90_ns", "/times/p90/value"),
    ("p99_ns", "/times/p99/value"),
    ("p99_low_ns", "/times/p99/ci95/0"),
    ("p99_high_ns", "/times/p99/ci95/1"),
    ("p99_9_ns", "/times/p99.9/value"),
    ("p99_99_ns", "/times/p99.99/value"),
    ("p99_999_ns", "/times/p99.999/value"),
    ("max_ns", "/times/max/value"),
    ("bytes_per_second", "/bytes_per_second/value"),
    ("bytes_per_second_low", "/bytes_per_second/ci95/0"),
    ("bytes_per_second_high", "/bytes_per_second/ci95/1"),
    ("messages_per_second", "/messages_per_second/value"),
    ("messages_per_second_low", "/messages_per_second/ci95/0"),
    ("messages_per_second_high", "/messages_per_second/ci95/1"),
    ("requests_per_second", "/requests/value"),
    ("requests_per_second_low", "/requests/ci95/0"),
    ("requests_per_second_high", "/requests/ci95/1"),
    ("offered_per_second", "/offered_per_second/value"),
    ("achieved_per_second", "/achieved_per_second/value"),
    ("jain", "/jain/value"),
    ("cpu_ns_per_message", "/cpu_ns_per_message/total"),
    ("cpu_ns_per_message_low", "/cpu_ns_per_message/ci95/0"),
    ("cpu_ns_per_message_high", "/cpu_ns_per_message/ci95/1"),
    ("lead_cpu_ns_per_message", "/cpu_ns_per_message/lead"),
    ("follow_cpu_ns_per_message", "/cpu_ns_per_message/follow"),
    ("user_cpu_ns_per_message", "/cpu_ns_per_message/user"),
    ("system_cpu_ns_per_message", "/cpu_ns_per_message/system"),
    ("machine_cpu_ns_per_message", "/machine_cpu_ns_per_message/value"),
    ("energy_nj_per_message", "/energy_nj_per_message/value"),
    ("syscalls_per_message", "/syscalls_per_message"),
    ("context_switches_per_message", "/context_switches_per_message"),
    ("voluntary_switches_per_message", "/voluntary_switches_per_message"),
    ("involuntary_switches_per_message", "/involuntary_switches_per_message"),
    ("page_faults_per_message", "/page_faults_per_message"),
    ("ipis_per_message", "/ipis_per_message"),
    ("bound", "/bound/name"),
    ("bound_value", "/bound/value"),
    ("bound_ratio", "/bound/ratio"),
    ("bare", "/of_bare/mechanism"),
    ("of_bare", "/of_bare/ratio"),
    ("of_bare_low", "/of_bare/ci95/0"),
    ("of_bare_high", "/of_bare/ci95/1"),
    ("of_ours", "/of_ours/ratio"),
    ("of_ours_low", "/of_ours/ci95/0"),
    ("of_ours_high", "/of_ours/ci95/1"),
];

const OF_A_ROUND: &[Column] = &[
    ("round", "/round/round"),
    ("order", "/round/order"),
    ("stage", "/round/stage"),
    ("rejected", "/round/rejected"),
    ("proved", "/round/proof/holds"),
    ("lead_cpu", "/round/cpus/0"),
    ("follow_cpu", "/round/cpus/1"),
    ("messages", "/round/messages"),
    ("moved", "/round/moved"),
    ("bytes", "/round/bytes"),
    ("lost", "/round/lost"),
    ("unanswered", "/round/unanswered"),
    ("elapsed_ns", "/round/elapsed_ns"),
    ("planned_ns", "/round/planned_ns"),
    ("p50_ns", "/round/p50_ns"),
    ("mean_ns", "/round/mean_ns"),
    ("min_ns", "/words/min"),
    ("max_ns", "/words/max"),
    ("messages_per_second", "/round/messages_per_second"),
    ("offered_per_second", "/round/offered_per_second"),
    ("achieved_per_second", "/round/achieved_per_second"),
    ("saturated", "/round/saturated"),
    ("jain", "/round/fan/jain"),
    ("lead_cpu_ns", "/round/cpu_ns/lead"),
    ("follow_cpu_ns", "/round/cpu_ns/follow"),
    ("user_cpu_ns", "/round/cpu_ns/user"),
    ("system_cpu_ns", "/round/cpu_ns/system"),
    ("cacheline_rtt_ns", "/round/covariates/cacheline_rtt_ns"),
    ("cacheline_rtt_after_ns", "/round/covariates/cacheline_rtt_after_ns"),
    ("ipis", "/round/covariates/ipis"),
    ("steal_ns", "/round/covariates/steal_ns"),
    ("machine_window_ns", "/round/covariates/machine_window_ns"),
    ("machine_busy_ns", "/round/covariates/machine_busy_ns"),
    ("energy_uj", "/round/covariates/energy_uj"),
    ("lead_voluntary_switches", "/round/covariates/lead/voluntary_switches"),
    ("lead_involuntary_switches", "/round/covariates/lead/involuntary_switches"),
    ("lead_minor_faults", "/round/covariates/lead/minor_faults"),
    ("lead_major_faults", "/round/covariates/lead/major_faults"),
    ("lead_migrations", "/round/covariates/lead/migrations"),
    ("lead_run_delay_ns", "/round/covariates/lead/run_delay_ns"),
    ("lead_step_ns", "/round/covariates/lead/step_ns"),
    ("follow_voluntary_switches", "/round/covariates/follow/voluntary_switches"),
    ("follow_involuntary_switches", "/round/covariates/follow/involuntary_switches"),
    ("follow_minor_faults", "/round/covariates/follow/minor_faults"),
    ("follow_major_faults", "/round/covariates/follow/major_faults"),
    ("follow_migrations", "/round/covariates/follow/migrations"),
    ("follow_run_delay_ns", "/round/covariates/follow/run_delay_ns"),
    ("follow_step_ns", "/round/covariates/follow/step_ns"),
];

const OF_A_RUN: &[Column] = &[
    ("command", "/run/command"),
    ("duration_s", "/run/duration_s"),
    ("cells", "/run/cells"),
    ("measured", "/run/measured"),
    ("errors", "/run/errors"),
    ("warnings", "/run/warnings"),
    ("findings", "/run/findings"),
];

/// Where it comes from: last in every row.
const ORIGIN: &[Column] = &[
    ("run_id", "/run/run_id"),
    ("interrupted", "/run/interrupted"),
    ("tool", "/run/tool"),
    ("cpu_model", "/run/cpu_model"),
    ("microcode", "/run/microcode"),
    ("frequency", "/run/frequency"),
    ("idle_driver", "/run/idle_driver"),
    ("mitigations", "/run/mitigations"),
    ("preemption", "/run/preemption"),
    ("hz", "/run/hz"),
    ("sched_ext", "/run/sched_ext"),
    ("autogroup", "/run/autogroup"),
    ("sched_features", "/run/sched_features"),
    ("sched_rt_runtime_us", "/run/sched_rt_runtime_us"),
    ("shmem_huge_pages", "/run/shmem_huge_pages"),
    ("host", "/run/host"),
    ("labels", "/run/labels"),
];

/// What every row of a document has.
fn run(set: &ResultSet) -> Value {
    let cpus = text::counted(set.host.cpus_allowed.len() as u64, "CPU");
    let machine = [Some(&set.host.cpu_model), Some(&cpus), set.host.hypervisor.as_ref()];
    let machine: Vec<&str> = machine.into_iter().flatten().map(String::as_str).collect();
    let findings = &set.noise.findings;
    let count = |severity| findings.iter().filter(|one| one.severity == severity).count();
    let codes: BTreeSet<&str> = findings.iter().map(|one| one.code.as_str()).collect();
    let statuses = set.cells.iter().map(|cell| cell.status);
    let statuses = statuses.chain(set.pipelines.iter().map(|one| one.status));
    let labels = &set.origin.labels;
    let rt_runtime = set.kernel.rt_runtime_us().and_then(|us| us.parse::<i64>().ok());
    let features = &set.kernel.sched_features;
    let features = (!features.is_empty()).then(|| digest(features));
    json!({
        "started": set.started_utc,
        "machine": machine.join(", "),
        "kernel": set.kernel.release,
        "grade": set.noise.grade,
        "command": set.invocation.plan.command,
        "duration_s": set.duration_s,
        "cells": statuses.clone().count(),
        "measured": statuses.filter(|status| *status == Status::Ok).count(),
        "errors": count(Severity::Error),
        "warnings": count(Severity::Warning),
        "findings": codes,
        "run_id": set.origin.run_id,
        "interrupted": set.interrupted,
        "tool": set.tool.version,
        "cpu_model": set.host.cpu_model,
        "microcode": set.host.microcode,
        "frequency": set.host.frequency,
        "idle_driver": set.host.idle,
        "mitigations": digest(&set.kernel.mitigations),
        "preemption": set.kernel.preemption,
        "hz": set.kernel.hz,
        "sched_ext": set.kernel.sched_ext,
        "autogroup": set.kernel.autogroup,
        "sched_features": features,
        "sched_rt_runtime_us": rt_runtime,
        "shmem_huge_pages": set.kernel.shmem_huge_pages,
        "host": set.origin.host(),
        "labels": (!labels.is_empty()).then(|| json!(labels).to_string()),
    })
}

/// Settings as one short word that is the same where they are: FNV-1a of 64 bits.
fn digest(settings: &BTreeMap<String, impl fmt::Display>) -> String {
    let lines = settings.iter().map(|(name, value)| format!("{name}={value}\n"));
    let hash = lines.collect::<String>().bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    format!("{hash:016x}")
}

/// The cells of a document, or its programs where it has no cells.
pub(crate) fn render(set: &ResultSet, specs: &Specs, out: &mut dyn io::Write) -> io::Result<()> {
    if set.cells.is_empty() && !set.pipelines.is_empty() {
        return render_values(&set.pipelines, pipelines::COLUMNS, out);
    }
    Rows::Cells.head(out)?;
    Rows::Cells.write(set, specs, out)
}

impl Rows {
    /// The names of the columns, which come first.
    ///
    /// # Errors
    /// `out` refuses the bytes.
    pub fn head(self, out: &mut dyn io::Write) -> io::Result<()> {
        line(self.columns().iter().map(|(name, _)| (*name).to_owned()), out)
    }

    /// The rows of one document; `specs` has the facts by which an older one gets its references.
    ///
    /// # Errors
    /// `out` refuses the bytes.
    pub fn write(self, set: &ResultSet, specs: &Specs, out: &mut dyn io::Write) -> io::Result<()> {
        let run = json!({ "run": run(set) });
        let fields = |columns: &[Column], value: &Value| {
            row(columns.iter().map(|column| seen(value, column)))
        };
        let (first, origin) = (fields(RUN, &run), fields(ORIGIN, &run));
        if self == Self::Runs {
            return writeln!(out, "{first},{},{origin}", fields(OF_A_RUN, &run));
        }
        let versus = match self {
            Self::Cells => Versus::all(set, specs),
            Self::Rounds | Self::Runs => HashMap::new(),
        };
        for cell in &set.cells {
            let mut value = serde_json::to_value(Cell { rounds: Vec::new(), ..cell.clone() })?;
            let versus = versus.get(&std::ptr::from_ref(cell));
            value["words"] = words(cell, versus);
            value["versus"] = serde_json::to_value(versus)?;
            value["times"] = serde_json::to_value(cell.times())?;
            value["requests"] = serde_json::to_value(cell.requests_per_second())?;
            value["jain"] = serde_json::to_value(cell.jain())?;
            let which = fields(WHICH, &value);
            if self == Self::Cells {
                writeln!(out, "{first},{which},{},{origin}", fields(OF_A_CELL, &value))?;
                continue;
            }
            for round in &cell.rounds {
                let ends = round.histogram.as_ref().map(|times| [times.min, times.max]);
                let [min, max] =
                    ends.map_or([None; 2], |ends| ends.map(|ps| Some(ps as f64 / 1e3)));
                let value = json!({
                    "round": Round { histogram: None, ..round.clone() },
                    "words": { "min": min, "max": max },
                });
                writeln!(out, "{first},{which},{},{origin}", fields(OF_A_ROUND, &value))?;
            }
        }
        Ok(())
    }
}

/// What is no value of the document by itself.
fn words(cell: &Cell, versus: Option<&Versus>) -> Value {
    let knobs = cell.knobs.iter().filter_map(|(name, knob)| {
        let value = knob.effective.as_ref().or(knob.requested.as_ref())?;
        Some(format!("{name}={value}"))
    });
    let modes = cell.times().and_then(|times| times.get("p50")).map(|p50| p50.modes.len().max(1));
    let accepted = cell.rounds.iter().filter(|round| round.rejected.is_none()).count();
    json!({
        "load": cell.key.load.words().join(" "),
        "knobs": knobs.collect::<Vec<_>>().join(" "),
        "modes": modes,
        "rounds": accepted,
        "stage": cell.stage(),
        "is_reference": versus.map(|one| one.reference == cell.id),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::sample::{self, Build};
    use crate::testing::{rendered, to_text};
    use crate::{Format, Style};

    /// Reads RFC 4180 text back.
    fn parse(text: &str) -> Vec<Vec<String>> {
        let mut rows = vec![vec![String::new()]];
        let mut is_quoted = false;
        let mut signs = text.chars().peekable();
        while let Some(sign) = signs.next() {
            let row = rows.last_mut().expect("never empty");
            let field = row.last_mut().expect("never empty");
            match sign {
                '"' if is_quoted && signs.peek() == Some(&'"') => {
                    field.push('"');
                    signs.next();
                }
                '"' => is_quoted = !is_quoted,
                ',' if !is_quoted => row.push(String::new()),
                '\n' if !is_quoted => rows.push(vec![String::new()]),
                sign => field.push(sign),
            }
        }
        rows.pop();
        rows
    }

    fn table(set: &ResultSet) -> Vec<Vec<String>> {
        parse(&rendered(set, Format::Csv, &Style::default()))
    }

    #[test]
    fn every_figure_of_every_cell_reads_back() {
        let set = sample::survey();
        let table = table(&set);
        assert_eq!(table.len(), set.cells.len() + 1);
        let column = |name: &str| table[0].iter().position(|head| head == name).unwrap();
        for (row, cell) in table[1..].iter().zip(&set.cells) {
            assert_eq!(row.len(), table[0].len());
            assert_eq!(row[column("id")], cell.id);
            assert_eq!(row[column("size_bytes")], cell.key.size_bytes.to_string());
            let p50 = cell.rtt_ns.as_ref().and_then(|rtt| rtt["p50"].value);
            let told: Option<f64> = row[column("p50_ns")].parse().ok();
            assert_eq!(told.is_some(), p50.is_some());
            assert!(p50.is_none_or(|p50| (told.unwrap() / p50 - 1.0).abs() < 5e-6), "{told:?}");
        }
    }

    #[test]
    fn every_round_of_every_document_is_a_row_with_its_machine() {
        let [mut one, mut two] = [sample::small(), sample::survey()];
        (one.host.cpu_model, one.kernel.release) = ("A, \"B\"".to_owned(), "6.1".to_owned());
        two.noise.grade = "D".to_owned();
        let sets = [one, two];
        let table = parse(&to_text(|out| {
            Rows::Rounds.head(out)?;
            sets.iter().try_for_each(|set| Rows::Rounds.write(set, &sample::spec, out))
        }));
        let column = |name: &str| table[0].iter().position(|head| head == name).unwrap();
        let rounds = sets.iter().flat_map(|set| {
            let cells = set.cells.iter();
            cells.flat_map(move |cell| cell.rounds.iter().map(move |round| (set, cell, round)))
        });
        let mut count = 0;
        for (row, (set, cell, round)) in table[1..].iter().zip(rounds.clone()) {
            assert!(row[column("machine")].starts_with(&set.host.cpu_model));
            assert_eq!(row[column("kernel")], set.kernel.release);
            assert_eq!(row[column("grade")], set.noise.grade);
            assert_eq!((&row[column("id")], row.len()), (&cell.id, table[0].len()));
            assert_eq!(row[column("round")], round.round.to_string());
            assert_eq!(row[column("elapsed_ns")].parse(), Ok(round.elapsed_ns));
            let told: Option<f64> = row[column("p50_ns")].parse().ok();
            let ratio = told.zip(round.p50_ns).map(|(told, p50)| told / p50);
            assert_eq!(told.is_some(), round.p50_ns.is_some());
            assert!(ratio.is_none_or(|ratio| (ratio - 1.0).abs() < 5e-6), "{told:?}");
            assert_eq!(row[column("proved")], round.proof.holds.to_string());
            count += 1;
        }
        assert_eq!((count, table.len() - 1), (rounds.clone().count(), rounds.count()));
    }

    #[test]
    fn a_row_has_the_facts_of_the_kernel_and_nothing_for_those_that_are_unknown() {
        let mut set = sample::without_scheduling(sample::small());
        let of = |set: &ResultSet, name: &str| {
            let table = table(set);
            table[1][table[0].iter().position(|head| head == name).unwrap()].clone()
        };
        let names = ["preemption", "hz", "sched_ext", "autogroup", "sched_features"];
        let names = [&names[..], &["sched_rt_runtime_us", "shmem_huge_pages"]].concat();
        for name in &names {
            assert_eq!(of(&set, name), "", "{name}");
        }
        let kernel = &mut set.kernel;
        (kernel.preemption, kernel.hz) = (Some("lazy".to_owned()), Some(250));
        (kernel.sched_ext, kernel.autogroup) = (Some("lavd".to_owned()), Some(false));
        kernel.sysctl.insert("kernel.sched_rt_runtime_us".to_owned(), "950000".to_owned());
        kernel.shmem_huge_pages = Some("advise".to_owned());
        kernel.sched_features = [("HRTICK".to_owned(), false)].into();
        let row = names.iter().map(|name| of(&set, name)).collect::<Vec<_>>();
        assert_eq!(row[..4], ["lazy", "250", "lavd", "false"]);
        assert_eq!((row[4].len(), &row[5], &row[6]), (16, &"950000".into(), &"advise".into()));
        set.kernel.sched_features.insert("HRTICK".to_owned(), true);
        assert_ne!(of(&set, "sched_features"), row[4]);
    }

    #[test]
    fn columns_are_those_of_the_manual_in_its_order() {
        let manual = include_str!("../../../docs/RESULTS.md");
        for (heading, columns) in [
            ("### Columns of every row", &[RUN, WHICH, ORIGIN].concat()[..]),
            ("### Columns of a cell", OF_A_CELL),
            ("### Columns of a round", OF_A_ROUND),
            ("### Columns of a run", OF_A_RUN),
        ] {
            let section = manual.split(heading).nth(1).unwrap().split("\n#").next().unwrap();
            let lines = section.lines().filter(|line| line.starts_with("| `"));
            let heads = lines.map(|line| line.split('|').nth(1).unwrap_or_default());
            let named: Vec<&str> =
                heads.flat_map(|head| head.split('`').skip(1).step_by(2)).collect();
            let names: Vec<&str> = columns.iter().map(|(name, _)| *name).collect();
            assert_eq!(named, names, "{heading}");
        }
    }

    #[test]
    fn commas_and_quotes_survive_and_a_row_is_a_line() {
        let mut cell = sample::cell("pipe", 64, sample::TWO);
        cell.reason = Some("a, \"b\"\nc".to_owned());
        let table = table(&sample::set(vec![cell]));
        let at = table[0].iter().position(|head| head == "reason").unwrap();
        assert_eq!(table[1][at], "a, \"b\" c");
    }

    #[test]
    fn a_text_is_no_formula_and_a_number_stays_one() {
        for (text, told) in [
            ("=1+2", "'=1+2"),
            ("@SUM(A1)", "'@SUM(A1)"),
            ("+cmd|' /C calc'!A0", "'+cmd|' /C calc'!A0"),
            ("-2+3", "'-2+3"),
            ("a;=1", "\"a;=1\""),
            ("=\"x\"", "\"'=\"\"x\"\"\""),
            ("-2", "-2"),
            ("-1.5e-3", "-1.5e-3"),
            ("a=b", "a=b"),
        ] {
            assert_eq!(ipcperf_render::csv::cell(text), told);
        }
        let mut cell = sample::cell("pipe", 64, sample::TWO);
        cell.reason = Some("=1+2".to_owned());
        assert!(table(&sample::set(vec![cell]))[1].iter().any(|cell| cell == "'=1+2"));
    }

    #[test]
    fn the_columns_are_the_same_whatever_the_cells_have() {
        let cell = sample::cell("pipe", 64, sample::TWO).knob("pipe.size", Some(5000), 8192);
        let with = table(&sample::set(vec![cell]));
        assert_eq!(table(&sample::set(Vec::new())), [with[0].clone()]);
        assert_eq!(table(&sample::connections())[0], with[0]);
        let knobs = with[0].iter().position(|head| head == "knobs").unwrap();
        assert_eq!(with[1][knobs], "pipe.size=8K");
    }
}

//! Observations as rows of columns that are always the same, for a spreadsheet, a data frame or a database: one row for
//! each cell, for each of its rounds, or for each document. `docs/RESULTS.md` lists the columns.

use crate::results::columns::field::{CsvField, count, flag, float, text, time};
use crate::results::columns::{NEXT, placed};
use crate::results::versus::Versus;
use crate::results::{columns, pipelines};
use ipcperf_core::result::{Cell, ResultSet, Round, Severity, Status};
use ipcperf_kit::document::Specs;
pub(crate) use ipcperf_render::csv::{Column, line, number, render_values};
use ipcperf_render::csv::{row, seen};
use ipcperf_render::text;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::LazyLock;
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
    /// The fields, from left to right.
    fn fields(self) -> Vec<CsvField> {
        match self {
            Self::Cells => [RUN, WHICH, OF_A_CELL.as_slice(), ORIGIN].concat(),
            Self::Rounds => [RUN, WHICH, OF_A_ROUND, ORIGIN].concat(),
            Self::Runs => [RUN, OF_A_RUN, ORIGIN].concat(),
        }
    }

    /// The columns with their types, as an argument of DuckDB's `read_csv`. What it finds out by itself depends on the rows: a
    /// kernel `6.12.57` would be a date, and a column that is empty in one file a text.
    #[must_use]
    pub fn duckdb(self) -> String {
        let fields = self.fields().into_iter();
        let typed = fields.map(|CsvField { column, holds }| format!("'{}': '{holds}'", column.0));
        format!("columns = {{{}}}\n", typed.collect::<Vec<_>>().join(", "))
    }
}

/// Which run, and where: first in every row.
const RUN: &[CsvField] = &[
    time("run", "/run/started"),
    text("machine", "/run/machine"),
    text("kernel", "/run/kernel"),
    text("grade", "/run/grade"),
];

/// Which cell.
const WHICH: &[CsvField] = &[
    text("id", "/id"),
    text("mechanism", "/mechanism"),
    text("wait", "/wait"),
    text("pattern", "/pattern"),
    count("size_bytes", "/size_bytes"),
    text("placement", "/placement"),
    text("idle", "/idle"),
    text("touch", "/touch"),
    text("load", "/words/load"),
    text("knobs", "/words/knobs"),
    text("status", "/status"),
    text("reason", "/reason"),
];

/// The values of a cell that rows of CSV can have; some are columns of tables, too.
static OF_A_CELL: LazyLock<Vec<CsvField>> = LazyLock::new(|| {
    let of_columns = columns::all().flat_map(|column| {
        let places = std::iter::once(column.csv_after).chain(std::iter::repeat(NEXT));
        places.zip(column.csv.iter().copied())
    });
    placed(OTHERS_OF_A_CELL.to_vec(), of_columns, |field| field.column.0)
});

const OTHERS_OF_A_CELL: &[CsvField] = &[
    count("lead_cpu", "/cpus/0"),
    count("follow_cpu", "/cpus/1"),
    text("timing", "/timing/mode"),
    count("batch", "/timing/batch"),
    count("accepted_rounds", "/words/rounds"),
    text("stage", "/words/stage"),
    flag("verified", "/verified"),
    count("messages", "/messages"),
    float("min_ns", "/times/min/value"),
    float("p99_99_ns", "/times/p99.99/value"),
    float("p99_999_ns", "/times/p99.999/value"),
];

const OF_A_ROUND: &[CsvField] = &[
    count("round", "/round/round"),
    count("order", "/round/order"),
    text("stage", "/round/stage"),
    text("rejected", "/round/rejected"),
    flag("proved", "/round/proof/holds"),
    count("lead_cpu", "/round/cpus/0"),
    count("follow_cpu", "/round/cpus/1"),
    count("messages", "/round/messages"),
    count("moved", "/round/moved"),
    count("bytes", "/round/bytes"),
    count("lost", "/round/lost"),
    count("unanswered", "/round/unanswered"),
    float("elapsed_ns", "/round/elapsed_ns"),
    float("planned_ns", "/round/planned_ns"),
    float("p50_ns", "/round/p50_ns"),
    float("mean_ns", "/round/mean_ns"),
    float("min_ns", "/words/min"),
    float("max_ns", "/words/max"),
    float("messages_per_second", "/round/messages_per_second"),
    float("offered_per_second", "/round/offered_per_second"),
    float("achieved_per_second", "/round/achieved_per_second"),
    flag("saturated", "/round/saturated"),
    float("jain", "/round/fan/jain"),
    float("lead_cpu_ns", "/round/cpu_ns/lead"),
    float("follow_cpu_ns", "/round/cpu_ns/follow"),
    float("user_cpu_ns", "/round/cpu_ns/user"),
    float("system_cpu_ns", "/round/cpu_ns/system"),
    float("cacheline_rtt_ns", "/round/covariates/cacheline_rtt_ns"),
    float("cacheline_rtt_after_ns", "/round/covariates/cacheline_rtt_after_ns"),
    float("ipis", "/round/covariates/ipis"),
    float("steal_ns", "/round/covariates/steal_ns"),
    float("machine_window_ns", "/round/covariates/machine_window_ns"),
    float("machine_busy_ns", "/round/covariates/machine_busy_ns"),
    float("energy_uj", "/round/covariates/energy_uj"),
    float("lead_voluntary_switches", "/round/covariates/lead/voluntary_switches"),
    float("lead_involuntary_switches", "/round/covariates/lead/involuntary_switches"),
    float("lead_minor_faults", "/round/covariates/lead/minor_faults"),
    float("lead_major_faults", "/round/covariates/lead/major_faults"),
    float("lead_migrations", "/round/covariates/lead/migrations"),
    float("lead_run_delay_ns", "/round/covariates/lead/run_delay_ns"),
    float("lead_step_ns", "/round/covariates/lead/step_ns"),
    float("follow_voluntary_switches", "/round/covariates/follow/voluntary_switches"),
    float("follow_involuntary_switches", "/round/covariates/follow/involuntary_switches"),
    float("follow_minor_faults", "/round/covariates/follow/minor_faults"),
    float("follow_major_faults", "/round/covariates/follow/major_faults"),
    float("follow_migrations", "/round/covariates/follow/migrations"),
    float("follow_run_delay_ns", "/round/covariates/follow/run_delay_ns"),
    float("follow_step_ns", "/round/covariates/follow/step_ns"),
];

const OF_A_RUN: &[CsvField] = &[
    text("command", "/run/command"),
    float("duration_s", "/run/duration_s"),
    count("cells", "/run/cells"),
    count("measured", "/run/measured"),
    count("errors", "/run/errors"),
    count("warnings", "/run/warnings"),
    text("findings", "/run/findings"),
];

/// Where it comes from: last in every row.
const ORIGIN: &[CsvField] = &[
    text("run_id", "/run/run_id"),
    flag("interrupted", "/run/interrupted"),
    text("tool", "/run/tool"),
    text("cpu_model", "/run/cpu_model"),
    text("microcode", "/run/microcode"),
    text("frequency", "/run/frequency"),
    text("idle_driver", "/run/idle_driver"),
    text("mitigations", "/run/mitigations"),
    text("preemption", "/run/preemption"),
    count("hz", "/run/hz"),
    text("sched_ext", "/run/sched_ext"),
    flag("autogroup", "/run/autogroup"),
    text("sched_features", "/run/sched_features"),
    count("sched_rt_runtime_us", "/run/sched_rt_runtime_us"),
    text("shmem_huge_pages", "/run/shmem_huge_pages"),
    text("host", "/run/host"),
    text("labels", "/run/labels"),
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
        line(self.fields().iter().map(|field| field.column.0.to_owned()), out)
    }

    /// The rows of one document; `specs` has the facts by which an older one gets its references.
    ///
    /// # Errors
    /// `out` refuses the bytes.
    pub fn write(self, set: &ResultSet, specs: &Specs, out: &mut dyn io::Write) -> io::Result<()> {
        let run = json!({ "run": run(set) });
        let fields = |fields: &[CsvField], value: &Value| {
            row(fields.iter().map(|field| seen(value, &field.column)))
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
                writeln!(out, "{first},{which},{},{origin}", fields(&OF_A_CELL, &value))?;
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
    use crate::testing::sample;
    use crate::testing::sample::Build;
    use crate::testing::{rendered, to_text};
    use ipcperf_render::{Format, Style};

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
        let manual = include_str!("../../../../docs/RESULTS.md");
        for (heading, columns) in [
            ("### Columns of every row", &[RUN, WHICH, ORIGIN].concat()[..]),
            ("### Columns of a cell", &OF_A_CELL),
            ("### Columns of a round", OF_A_ROUND),
            ("### Columns of a run", OF_A_RUN),
        ] {
            let section = manual.split(heading).nth(1).unwrap().split("\n#").next().unwrap();
            let lines = section.lines().filter(|line| line.starts_with("| `"));
            let heads = lines.map(|line| line.split('|').nth(1).unwrap_or_default());
            let named: Vec<&str> =
                heads.flat_map(|head| head.split('`').skip(1).step_by(2)).collect();
            let names: Vec<&str> = columns.iter().map(|field| field.column.0).collect();
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

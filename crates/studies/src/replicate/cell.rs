//! Work "cell": a cell of the engine, measured and assembled as `ipcperf run` does it.

use super::connect;
use crate::claims::{Measured, Readings};
use ipcperf_core::result::{Cell, Mode, Round, SideCovariates, Status};
use ipcperf_core::{Ends, Idle, KnobKind, LoadKey, OptionSet, PatternKind, Placement, Touch};
use ipcperf_engine::calls_of;
use ipcperf_engine::plan::{self, Host, Request};
use ipcperf_engine::registry::Registry;
use ipcperf_engine::run::{CellRun, Counts, HANG, Lengths};
use ipcperf_engine::slice::Data;
use ipcperf_engine::slice::crowd::connect::Model;
use ipcperf_kit::counts::MOST_OPERATIONS;
use ipcperf_kit::loads::{LoadArgs, loads, neighbour_programs};
use ipcperf_kit::measure::WARMUP;
use ipcperf_kit::{counts, request};
use ipcperf_stats::Histogram;
use serde::Deserialize;
use std::collections::{BTreeMap, BTreeSet};
use std::slice;
use std::time::Duration;

/// The warm-up of a cell: a time, or so many operations.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged, expecting = "'warmup' takes a time as text, or a number of operations")]
enum Warmup {
    Operations(u64),
    Time(String),
}

/// What an arm says.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ArmKeys {
    mechanism: String,
    pattern: Option<String>,
    size: Option<u64>,
    placement: String,
    idle: Option<String>,
    touch: Option<String>,
    /// Knobs with their full names.
    #[serde(default)]
    set: BTreeMap<String, toml::Value>,
    slice: Option<String>,
    warmup: Option<Warmup>,
    /// Round trips of a slice, messages of a stream, or requests of each client; 0: as many as fit. All other patterns go
    /// by time.
    #[serde(default)]
    samples: u64,
    /// Round trips that are timed together; 0: as the cost of the clock asks for, or 1 where samples are counted.
    #[serde(default)]
    batch: u64,
    /// Whether each system call is timed, and nothing else found out.
    #[serde(default, rename = "time-calls")]
    time_calls: bool,
    /// How the clients of the pattern `connect` call.
    #[serde(default)]
    client: Model,
    /// What is asked of the pattern.
    #[serde(skip)]
    load: LoadArgs,
}

/// A cell to measure.
#[derive(Debug)]
pub(crate) struct CellWork {
    pub(crate) run: CellRun,
    pub(crate) lengths: Lengths,
}

impl ArmKeys {
    pub(crate) fn of(keys: &toml::Table) -> Result<Self, String> {
        if let Some(number @ (toml::Value::Integer(_) | toml::Value::Float(_))) = keys.get("slice")
        {
            return Err(format!("slice: {number} has no unit: a time is needed, like 10ms"));
        }
        let mut load = LoadArgs::default();
        let mut others = toml::Table::new();
        for (name, value) in keys.clone() {
            match name.parse::<LoadKey>().ok().zip(request::word(&value)) {
                Some((LoadKey::Neighbour, text)) if !neighbour_programs(&text).is_empty() => {
                    return Err("neighbour: no program runs next to the arms of a study".to_owned());
                }
                Some((key, text)) => drop(load.0.insert(key, text)),
                None => drop(others.insert(name, value)),
            }
        }
        let keys: Self =
            others.try_into().map_err(|error: toml::de::Error| error.message().to_owned())?;
        let told = |stop: ipcperf_kit::error::Stop| stop.to_string();
        if keys.samples > MOST_OPERATIONS {
            return Err(format!("samples: {} is above {MOST_OPERATIONS}", keys.samples));
        }
        let is_batched = keys.pattern().is_none_or(|pattern| pattern.facts().is_batched);
        if keys.batch > 1 && !is_batched {
            return Err("batch: only the round trips of ping-pong are timed together".into());
        }
        if keys.samples.saturating_mul(keys.batch.max(1)) > MOST_OPERATIONS {
            let (samples, batch) = (keys.samples, keys.batch);
            return Err(format!(
                "samples: {samples} of batch {batch} are above {MOST_OPERATIONS} round trips"
            ));
        }
        if let Some(Warmup::Operations(count)) = keys.warmup {
            counts::count("warmup", Some(count), MOST_OPERATIONS).map_err(told)?;
        }
        Ok(Self { load, ..keys })
    }

    /// What the loop does; `None` for what a study does not say, or wrongly.
    pub(crate) fn pattern(&self) -> Option<PatternKind> {
        self.pattern.as_ref()?.parse().ok()
    }

    /// Whether each system call is timed, and nothing else found out.
    pub(crate) fn times_calls(&self) -> bool {
        self.time_calls
    }

    /// The paths that it names: of what each is one, and the parameter that says it.
    pub(crate) fn paths(&self) -> Vec<(String, String, String)> {
        let table = self.set.iter().map(|(knob, value)| (knob.clone(), value.clone())).collect();
        let settings = format!("set={}", toml::Value::Table(table));
        // As they will be understood: a key may hold an equals sign, too.
        let mut set = OptionSet::default();
        self.settings().iter().for_each(|setting| drop(set.set(setting)));
        let set = set.0.into_iter().filter(|(_, value)| KnobKind::is_path(value));
        let set = set.map(|(knob, path)| (knob, path, settings.clone()));
        let behind = request::knob_paths(slice::from_ref(&self.mechanism)).into_iter();
        let behind =
            behind.map(|(knob, path)| (knob, path, format!("mechanism={}", self.mechanism)));
        let knobs = set.chain(behind);
        let key = LoadKey::Payload;
        let files = self.load.0.get(&key).into_iter().flat_map(|list| list.split(','));
        let files = files.map(|file| {
            let file = file.trim();
            (key.to_string(), file.to_owned(), format!("{key}={file}"))
        });
        knobs.chain(files).collect()
    }

    /// Its knobs, as they would be typed.
    fn settings(&self) -> Vec<String> {
        let setting = |(knob, value): (&String, &toml::Value)| match value {
            toml::Value::String(text) => format!("{knob}={text}"),
            other => format!("{knob}={other}"),
        };
        self.set.iter().map(setting).collect()
    }

    /// The cell, which may have an objection.
    pub(crate) fn plan(&self, registry: &Registry, host: &Host) -> Result<CellWork, String> {
        let told = |stop: ipcperf_kit::error::Stop| stop.to_string();
        let settings = self.settings();
        let or = |given: &Option<String>, name: &str| given.clone().unwrap_or_else(|| name.into());
        let placements = match self.placement.as_str() {
            // The closest pair of CPUs that this machine has.
            "two-cpus" => vec![host.topology.two_cpus().unwrap_or(Placement::SameLlc)],
            other => request::placements(other).map_err(told)?,
        };
        let patterns =
            request::patterns(&or(&self.pattern, PatternKind::PingPong.name())).map_err(told)?;
        let touch = request::touch(&or(&self.touch, Touch::CacheLine.name())).map_err(told)?;
        let loads = loads(&self.load, &patterns, touch).map_err(told)?;
        let asked = request::asked(registry, slice::from_ref(&self.mechanism), &settings);
        let (mechanisms, options) = asked.and_then(request::block).map_err(told)?;
        let request = Request {
            mechanisms,
            patterns,
            sizes: request::sizes(&self.size.unwrap_or(1).to_string()).map_err(told)?,
            placements,
            idle: request::idle(&or(&self.idle, Idle::AsIs.name())).map_err(told)?,
            touch,
            loads,
            options,
        };
        let mut cells =
            plan::cells(&request, host).map_err(|error| told(request::refused(error)))?;
        let (Some(plan), None) = (cells.pop(), cells.pop()) else {
            return Err("an arm is one cell: one mechanism, pattern and placement".into());
        };
        let time = |name, text: &str| {
            let longest = Duration::from_secs(600);
            request::time(name, text, Duration::from_millis(1), longest).map_err(told)
        };
        let counts = Counts {
            samples: match plan.key.pattern {
                PatternKind::PingPong
                | PatternKind::Stream
                | PatternKind::Connect
                | PatternKind::Serve => self.samples,
                _ => 0,
            },
            warmup: match &self.warmup {
                Some(Warmup::Operations(_)) if plan.key.pattern.facts().ends != Ends::Pair => {
                    let pattern = plan.key.pattern;
                    return Err(format!("warmup: {pattern} is warmed up by time, as in \"20ms\""));
                }
                Some(Warmup::Operations(count)) => *count,
                _ => 0,
            },
            batch: self.batch,
        };
        let lengths = Lengths {
            warmup: match &self.warmup {
                Some(Warmup::Time(text)) => time("warmup", text)?,
                _ => WARMUP,
            },
            slice: time("slice", &or(&self.slice, "100ms"))?,
            counts,
            keeps_samples: false,
            client: self.client,
            time_calls: self.time_calls,
            patience: HANG,
            is_swapped: None,
        };
        Ok(CellWork { run: CellRun::new(plan), lengths })
    }
}

impl CellWork {
    /// What the system calls of the last slice took; an error where it does not count.
    pub(crate) fn calls(&mut self, ns_per_tick: f64) -> Result<Readings, String> {
        let rejected = self.run.slices.last().and_then(|slice| slice.rejected.as_ref());
        let rejected = rejected.map(ToString::to_string);
        let calls = calls_of(self.run.calls(), ns_per_tick);
        if let Some(reason) = rejected.or(calls.reason) {
            return Err(reason);
        }
        let mut readings = Readings::default();
        readings.set("empty_call_us", calls.empty_call_ns.unwrap_or(f64::NAN) / 1e3);
        for (end, calls) in [("send", &calls.lead), ("recv", &calls.follow)] {
            let all: f64 = calls.values().map(|call| call.per_message).sum();
            readings.set_certain(format!("calls.{end}"), all);
            for (name, call) in calls {
                readings.set(format!("call.{end}.{name}_times"), call.per_message);
                readings.set(format!("call.{end}.{name}_median_us"), call.median_ns / 1e3);
                readings.set(format!("call.{end}.{name}_mean_us"), call.mean_ns / 1e3);
            }
        }
        Ok(readings)
    }

    /// What a study reads off single slices and the document of a run does not have, by round and position in it.
    pub(crate) fn beside(&self, ns_per_tick: f64) -> Beside {
        let plan = &self.run.plan;
        let ends = plan.key.pattern.facts().ends;
        if !matches!(ends, Ends::Clients | Ends::Connected) {
            return Beside::new();
        }
        let found = plan.entry.listener(&plan.options).ok().and_then(Result::ok);
        let listener = found.map(|(listener, _)| listener);
        let slices = self.run.slices.iter().filter_map(|slice| {
            let Data::Crowd(crowd) = &slice.raw.data else { return None };
            let mut readings = Readings::default();
            connect::of_requests(&mut readings, &slice.raw, crowd, ns_per_tick);
            if ends == Ends::Clients {
                connect::add(&mut readings, &slice.raw, crowd, listener, ns_per_tick);
            }
            Some(((slice.round, slice.order), readings))
        });
        slices.collect()
    }
}

/// Readings by round and position in it.
pub(crate) type Beside = BTreeMap<(u64, u64), Readings>;

/// Keeps what an assembled cell has: the readings of its rounds, why some of them do not count, or why none does.
pub(crate) fn keep(measured: &mut Measured, cell: &Cell, mut beside: Beside) {
    if !matches!(cell.status, Status::Ok | Status::Skipped) && measured.ended.is_none() {
        measured.ended = Some((cell.status, cell.reason.clone().unwrap_or_default()));
    }
    for round in &cell.rounds {
        match &round.rejected {
            Some(rejection) => measured.reject(round.round, rejection.to_string()),
            None => {
                let first = beside.remove(&(round.round, round.order)).unwrap_or_default();
                measured.keep(round.round, round.order, readings(cell, round, first));
            }
        }
    }
    measured.set_aside(other_mode(cell));
}

/// The accepted rounds that fall into the mode that does not speak for a cell.
fn other_mode(cell: &Cell) -> BTreeSet<u64> {
    let Some(figure) = cell.figure().filter(|figure| figure.modes.len() > 1) else {
        return BTreeSet::new();
    };
    let nearest = |value: f64| {
        let distance = |mode: &Mode| (mode.value.ln() - value.ln()).abs();
        let modes = figure.modes.iter().map(distance).enumerate();
        modes.min_by(|a, b| a.1.total_cmp(&b.1)).map(|(at, _)| at)
    };
    let speaks = figure.value.and_then(nearest);
    let rounds = cell.rounds.iter().filter(|round| round.rejected.is_none());
    rounds
        .filter(|round| cell.figure_of(round).is_some_and(|value| nearest(value) != speaks))
        .map(|round| round.round)
        .collect()
}

/// Adds what a round says.
fn readings(cell: &Cell, round: &Round, mut readings: Readings) -> Readings {
    let messages = round.cost_messages().max(1) as f64;
    let cpu = &round.cpu_ns;
    readings.set("cpu_ns", (cpu.lead + cpu.follow) as f64 / messages);
    readings.set("user_ns", cpu.user as f64 / messages);
    readings.set("system_ns", cpu.system as f64 / messages);
    let sides = [&round.covariates.lead, &round.covariates.follow];
    let both = |of: fn(&SideCovariates) -> u64| {
        sides.iter().map(|side| of(side)).sum::<u64>() as f64 / messages
    };
    let switches = |side: &SideCovariates| side.voluntary_switches + side.involuntary_switches;
    readings.set("switches_per_message", both(switches));
    let faults = |side: &SideCovariates| side.minor_faults + side.major_faults;
    readings.set("page_faults_per_message", both(faults));
    if let [Some(lead), Some(follow)] = sides.map(|side| side.migrations) {
        readings.set("migrations_per_message", (lead + follow) as f64 / messages);
    }
    if let Some(ipis) = round.covariates.ipis {
        readings.set("ipis_per_message", ipis as f64 / messages);
    }
    readings.set("messages", round.messages as f64);
    readings.set("lost", round.lost as f64);
    if let Some(rate) = round.messages_per_second {
        readings.set("messages_per_second", rate);
        readings.set("bytes_per_second", rate * cell.key.size_bytes as f64);
    }
    if let Some(p50) = round.p50_ns {
        readings.set("p50_ns", p50);
    }
    let facts = cell.key.pattern.facts();
    if let Some(histogram) = round.histogram.as_ref().and_then(Histogram::recorded) {
        readings.singles(histogram);
    } else if facts.is_batched && round.messages > 0 {
        // Operations that were timed together.
        let operations = round.messages / facts.exchange.messages();
        readings.set("mean_ns", round.elapsed_ns / operations.max(1) as f64);
    }
    readings.facts.insert("CPUs".into(), format!("{:?}", cell.key.cpus));
    if let (Some(timing), true) = (&cell.timing, cell.rtt_ns.is_some() && round.histogram.is_none())
    {
        let text = format!("batches of {}, decided once for all rounds", timing.batch);
        readings.facts.insert("timing".into(), text);
    }
    for (knob, value) in &cell.knobs {
        if let Some(value) = &value.effective {
            readings.facts.insert(knob.clone(), value.to_string());
        }
    }
    readings
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::claims::{Findings, Study};
    use crate::replicate::readings::tests::of_one_arm;
    use crate::replication::{Scale, StudyResult};
    use ipcperf_core::result::{Metric, Noise};

    #[test]
    fn an_arm_may_have_a_neighbour_that_is_no_program() {
        let of = |neighbour: &str| {
            let keys = [("mechanism", "pipe"), ("placement", "same-cpu"), ("neighbour", neighbour)];
            let keys = keys.map(|(key, value)| (key.to_owned(), toml::Value::from(value)));
            ArmKeys::of(&keys.into_iter().collect()).map(drop)
        };
        assert_eq!(of("cpu:1@other"), Ok(()));
        let told = of("exec=true").expect_err("a program");
        assert!(told.contains("no program runs next to the arms of a study"), "{told}");
    }

    /// A cell as a run's document has it: the first of two rounds is too good to be true.
    fn cell(status: &str) -> Cell {
        let round = |round: u64, rejected: &str, p50: f64| {
            format!(
                r#"{{"round": {round}, "order": 0, {rejected} "cpus": [0, 0], "messages": 4, "bytes": 4,
                "elapsed_ns": 1e6, "p50_ns": {p50}, "cpu_ns": {{"lead": 8, "follow": 4, "user": 4, "system": 8}},
                "histogram": {{"unit": "ps", "min": 1000, "max": 1000, "sum": 2000, "buckets": [[1000, 2]]}},
                "covariates": {{"ipis": 2, "lead": {{"voluntary_switches": 3, "involuntary_switches": 1, "minor_faults": 2,
                "major_faults": 0, "migrations": 1}}, "follow": {{"voluntary_switches": 4, "involuntary_switches": 0,
                "minor_faults": 1, "major_faults": 1, "migrations": 0}}}}, "proof": {{"nonce": "", "lead_pid": 1, "follow_pid": 2,
                "lead": [1, 1], "follow": [1, 1], "fully_checked": 0, "holds": true}}}}"#
            )
        };
        let rounds = [round(0, r#""rejected": "E-IMPOSSIBLE: too fast","#, 1.0), round(1, "", 5.0)];
        let text = format!(
            r#"{{"id": "pipe", "mechanism": "pipe", "wait": "block", "pattern": "ping-pong", "size_bytes": 1,
            "placement": "same-cpu", "cpus": [0, 0], "idle": "as-is", "touch": "none",
            "knobs": {{"pipe.size": {{"requested": null, "effective": 65536}}}}, "status": "{status}",
            "reason": "as it is", "rounds": [{}], "messages": 4, "verified": true}}"#,
            rounds.join(",")
        );
        serde_json::from_str(&text).expect("a cell")
    }

    fn study_of_a_cell(more: &str) -> Study {
        let text = of_one_arm("work = \"cell\"", "p50_ns") + more;
        Study::parse(&text, &|_, _| Ok(())).expect("well formed")
    }

    fn kept(status: &str) -> StudyResult {
        let study = study_of_a_cell("");
        let mut measured = Measured::new(&study.arms[0]);
        let beside = [0, 1].map(|round| {
            let mut readings = Readings::default();
            readings.set("asked", 7.0);
            ((round, 0), readings)
        });
        keep(&mut measured, &cell(status), beside.into());
        Findings::new(&[measured], 2, Noise::default()).result(&study, Scale::Smoke, 1.0, false)
    }

    #[test]
    fn a_round_that_a_run_refuses_does_not_count_in_a_study_and_the_others_have_their_readings() {
        let study = kept("ok");
        let arm = &study.arms[0];
        assert_eq!(arm.facts["round 0 does not count"], "E-IMPOSSIBLE: too fast");
        assert_eq!(arm.facts["pipe.size"], "64K");
        assert_eq!(arm.rounds.len(), 1);
        for (name, value) in [
            ("p50_ns", 5.0),
            ("cpu_ns", 3.0),
            ("least_ns", 1.0),
            ("asked", 7.0),
            ("switches_per_message", 2.0),
            ("page_faults_per_message", 1.0),
            ("migrations_per_message", 0.25),
            ("ipis_per_message", 0.5),
        ] {
            assert_eq!(arm.rounds[0].values.get(name), Some(&value), "{name}");
        }
        assert_eq!(study.claims[0].measured.as_ref().and_then(|metric| metric.value), Some(5.0));
    }

    #[test]
    fn of_a_cell_in_two_modes_the_tables_show_the_one_that_speaks() {
        let mut cell = cell("ok");
        let round = cell.rounds.remove(1);
        cell.rounds = (0..8)
            .map(|at| Round {
                round: at,
                p50_ns: Some(if at < 3 { 50.0 } else { 5.0 }),
                ..round.clone()
            })
            .collect();
        let mode = |value, rounds| Mode { value, rounds };
        let modes = vec![mode(5.0, 5), mode(50.0, 3)];
        let figure = Metric { value: Some(5.0), modes, ..Metric::default() };
        cell.rtt_ns = Some([("p50".to_owned(), figure)].into());
        assert_eq!(other_mode(&cell), BTreeSet::from([0, 1, 2]));
        let table = "[[table]]\ntitle = \"t\"\nunit = \"ns\"\nstatistic = \"mean\"\ncolumns = [\"p50\"]\n\
                     [[table.row]]\nlabel = \"pipe\"\ncells = \"p50_ns(one)\"\n";
        let study = study_of_a_cell(table);
        let mut measured = Measured::new(&study.arms[0]);
        keep(&mut measured, &cell, BTreeMap::new());
        let arms = [measured];
        let found = Findings::new(&arms, 8, Noise::default());
        let result = found.result(&study, Scale::Smoke, 1.0, false);
        let shown = &result.tables[0].rows[0].measured[0];
        assert_eq!(shown.value, Some(5.0), "no mixture");
        assert_eq!(shown.modes, [mode(5.0, 5), mode(50.0, 3)], "and marked as one of two");
        assert_eq!(result.arms[0].facts["rounds in the other mode"], "0, 1, 2");
        assert_eq!(result.arms[0].rounds.len(), 8, "all are in the document");
    }

    #[test]
    fn a_cell_without_figures_is_an_arm_without_figures_for_the_same_reason() {
        for (status, expected) in [("failed", Status::Failed), ("rejected", Status::Rejected)] {
            let study = kept(status);
            let arm = &study.arms[0];
            assert_eq!((arm.status, arm.reason.as_deref()), (expected, Some("as it is")));
            assert!(study.claims[0].reason.contains("as it is"), "{}", study.claims[0].reason);
        }
    }
}

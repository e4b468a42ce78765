//! Work "cell": a cell of the engine, as `ipcperf run` measures it.

use super::connect;
use crate::loads::{LoadArgs, loads};
use crate::request;
use ipcperf_core::{Idle, LoadKey, OptionSet, PatternKind, Touch};
use ipcperf_engine::connect::Model;
use ipcperf_engine::plan::{self, Host, Request};
use ipcperf_engine::registry::Registry;
use ipcperf_engine::run::{CellRun, Lengths};
use ipcperf_engine::slice::Data;
use ipcperf_engine::{calls_of, round_of};
use ipcperf_study::Readings;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::time::Duration;

/// What an arm says.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Keys {
    mechanism: String,
    #[serde(default)]
    pattern: Option<String>,
    #[serde(default = "one")]
    size: u64,
    placement: String,
    #[serde(default)]
    idle: Option<String>,
    #[serde(default)]
    touch: Option<String>,
    /// Knobs with their full names.
    #[serde(default)]
    set: BTreeMap<String, toml::Value>,
    #[serde(default = "slice")]
    slice: String,
    #[serde(default = "warmup")]
    warmup: String,
    /// Round trips of a slice, messages of a stream, or requests of each client; 0: as many as fit. All other patterns go
    /// by time.
    #[serde(default)]
    samples: u64,
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

fn one() -> u64 {
    1
}

fn slice() -> String {
    "100ms".into()
}

fn warmup() -> String {
    "20ms".into()
}

/// A cell to measure.
#[derive(Debug)]
pub(crate) struct CellWork {
    pub(crate) run: CellRun,
    pub(crate) lengths: Lengths,
}

impl Keys {
    pub(crate) fn of(keys: &toml::Table) -> Result<Self, String> {
        let mut load = LoadArgs::default();
        let mut others = toml::Table::new();
        for (name, value) in keys.clone() {
            let words = match (name.parse::<LoadKey>(), &value) {
                (Ok(key), toml::Value::String(text)) => (key, text.clone()),
                (Ok(key), toml::Value::Integer(number)) => (key, number.to_string()),
                _ => {
                    others.insert(name, value);
                    continue;
                }
            };
            load.0.extend([words]);
        }
        let keys: Self =
            others.try_into().map_err(|error: toml::de::Error| error.message().to_owned())?;
        Ok(Self { load, ..keys })
    }

    /// The cell, which may have an objection.
    pub(crate) fn plan(&self, registry: &Registry, host: &Host) -> Result<CellWork, String> {
        let told = |stop: crate::error::Stop| stop.to_string();
        let settings: Vec<String> = self
            .set
            .iter()
            .map(|(knob, value)| match value {
                toml::Value::String(text) => format!("{knob}={text}"),
                other => format!("{knob}={other}"),
            })
            .collect();
        let or = |given: &Option<String>, name: &str| given.clone().unwrap_or_else(|| name.into());
        let two_cpus = host.topology.two_cpus();
        let placements = match self.placement.as_str() {
            // The closest pair of CPUs that this machine has.
            "two-cpus" => {
                vec![two_cpus.unwrap_or(ipcperf_core::Placement::SameLlc)]
            }
            other => request::placements(other).map_err(told)?,
        };
        let patterns =
            request::patterns(&or(&self.pattern, PatternKind::PingPong.name())).map_err(told)?;
        let loads = loads(&self.load, &patterns).map_err(told)?;
        let request = Request {
            mechanisms: request::mechanisms(registry, &self.mechanism).map_err(told)?,
            patterns,
            sizes: vec![usize::try_from(self.size).map_err(|error| error.to_string())?],
            placements,
            idle: request::idle(&or(&self.idle, Idle::AsIs.name())).map_err(told)?,
            touch: request::touch(&or(&self.touch, Touch::CacheLine.name())).map_err(told)?,
            loads,
            options: if settings.is_empty() {
                OptionSet::default()
            } else {
                request::options(registry, &settings).map_err(told)?
            },
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
        let lengths = Lengths {
            warmup: time("warmup", &self.warmup)?,
            slice: time("slice", &self.slice)?,
            operations: match plan.key.pattern {
                PatternKind::PingPong | PatternKind::Stream | PatternKind::Connect => self.samples,
                _ => 0,
            },
            client: self.client,
            time_calls: self.time_calls,
        };
        Ok(CellWork { run: CellRun::new(plan), lengths })
    }
}

impl CellWork {
    /// What the last slice found; an error where it does not count.
    pub(crate) fn readings(&mut self, ns_per_tick: f64) -> Result<Readings, String> {
        if self.lengths.time_calls {
            return self.calls(ns_per_tick);
        }
        let Some(slice) = self.run.slices.pop() else {
            let ended = self.run.ended.as_ref();
            return Err(ended.map_or_else(|| "not measured".into(), |(_, _, why)| why.clone()));
        };
        let knobs = slice.raw.effective.clone();
        let mut readings = Readings::default();
        if let Data::Connect(connect) = &slice.raw.data {
            let plan = &self.run.plan;
            let door = plan.entry.door(&plan.options).ok().and_then(Result::ok);
            connect::add(
                &mut readings,
                &slice.raw,
                connect,
                door.map(|(door, _)| door),
                ns_per_tick,
            );
        }
        let (round, histogram) = round_of(slice, self.run.plan.key.pattern, ns_per_tick);
        if let Some(reason) = round.rejected {
            return Err(reason);
        }
        if !round.proof.holds {
            return Err("no proof that two processes moved every message".into());
        }
        let moved = round.cost_messages().max(1) as f64;
        let cpu = &round.cpu_ns;
        readings.set("cpu_ns", (cpu.lead + cpu.follow) as f64 / moved);
        readings.set("user_ns", cpu.user as f64 / moved);
        readings.set("system_ns", cpu.system as f64 / moved);
        readings.set("messages", round.messages as f64);
        readings.set("lost", round.lost as f64);
        if let Some(rate) = round.messages_per_second {
            readings.set("messages_per_second", rate);
            readings.set("bytes_per_second", rate * self.run.plan.key.size_bytes as f64);
        }
        if let Some(p50) = round.p50_ns {
            readings.set("p50_ns", p50);
        }
        if histogram.count() > 0 {
            readings.singles(histogram);
        }
        readings.facts.insert("CPUs".into(), format!("{:?}", self.run.plan.key.cpus));
        for (knob, value) in knobs {
            readings
                .facts
                .insert(format!("{}.{knob}", self.run.plan.entry.spec.name), value.to_string());
        }
        Ok(readings)
    }

    /// What the system calls of the last slice took.
    fn calls(&mut self, ns_per_tick: f64) -> Result<Readings, String> {
        let calls = calls_of(self.run.calls(), ns_per_tick);
        if let Some(reason) = calls.reason {
            return Err(reason);
        }
        let mut readings = Readings::default();
        readings.set("empty_call_us", calls.empty_call_ns.unwrap_or(f64::NAN) / 1e3);
        for (end, calls) in [("send", &calls.lead), ("recv", &calls.follow)] {
            let all: f64 = calls.values().map(|call| call.per_message).sum();
            readings.set(format!("calls.{end}"), all);
            for (name, call) in calls {
                readings.set(format!("call.{end}.{name}_times"), call.per_message);
                readings.set(format!("call.{end}.{name}_median_us"), call.median_ns / 1e3);
                readings.set(format!("call.{end}.{name}_mean_us"), call.mean_ns / 1e3);
            }
        }
        Ok(readings)
    }
}

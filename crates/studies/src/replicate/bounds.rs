//! Works "clocks", "clocks-apart", "copying" and "self-loop": bounds of the engine.

use crate::claims::Readings;
use ipcperf_core::Placement;
use ipcperf_engine::bounds::{Bound, Chunks, Intervals, Trips};
use ipcperf_engine::plan::Host;
use ipcperf_stats::Histogram;
use ipcperf_sys::clock::Clock;
use serde::de::DeserializeOwned;
use std::collections::BTreeMap;

/// The kinds of work that are bounds.
pub(crate) const KINDS: [&str; 4] = ["clocks", APART, "copying", "self-loop"];

pub(super) const APART: &str = "clocks-apart";

/// A bound, before its CPUs are known.
#[derive(Clone, Debug)]
pub(crate) enum BoundWork {
    Clocks(Intervals),
    Apart,
    Copying(Chunks),
    SelfLoop(Trips),
}

impl BoundWork {
    /// What a study says of the kind of work `kind`.
    pub(crate) fn of(kind: &str, table: &toml::Table) -> Result<Self, String> {
        fn read<T: DeserializeOwned>(table: &toml::Table) -> Result<T, String> {
            table.clone().try_into().map_err(|error: toml::de::Error| error.message().to_owned())
        }
        Ok(match kind {
            "clocks" => {
                let asked: Intervals = read(table)?;
                asked.check()?;
                Self::Clocks(asked)
            }
            APART => match table.keys().next() {
                None => Self::Apart,
                Some(key) => return Err(format!("'{APART}' has no keys, and '{key}' is one")),
            },
            "copying" => {
                let asked: Chunks = read(table)?;
                asked.check()?;
                Self::Copying(asked)
            }
            _ => {
                // Of a cell it is a time.
                if let Some(text) = table.get("warmup").and_then(toml::Value::as_str) {
                    return Err(format!("warmup: '{text}' is not a number of round trips"));
                }
                let asked: Trips = read(table)?;
                asked.check()?;
                Self::SelfLoop(asked)
            }
        })
    }

    /// The bound, and the CPUs of its pair: two as close as separate cores are, or one twice where there is only one.
    pub(crate) fn on(&self, host: &Host) -> Result<(Bound, [usize; 2]), String> {
        let placement = host.topology.two_cpus().unwrap_or(Placement::SameCpu);
        let pair = host.topology.pair(placement).and_then(|pair| pair.try_into().ok());
        let cpus: [usize; 2] = pair.ok_or_else(|| host.topology.objection(placement))?;
        let bound = match self {
            Self::Clocks(asked) => Bound::Clocks(*asked, cpus),
            Self::Apart if placement.is_one_cpu() => {
                return Err(host.topology.objection(Placement::SameLlc));
            }
            Self::Apart => Bound::Apart,
            Self::Copying(asked) => Bound::Copying(asked.clone()),
            Self::SelfLoop(asked) => Bound::SelfLoop(*asked),
        };
        Ok((bound, cpus))
    }

    /// The CPUs of the workers that measure it: one process does it alone, but for what is between two.
    pub(crate) fn workers<'a>(&self, cpus: &'a [usize; 2]) -> &'a [usize] {
        if matches!(self, Self::Apart) { cpus } else { &cpus[1..] }
    }

    /// What was found, and what a reader must know beside it.
    pub(crate) fn readings(
        &self,
        values: BTreeMap<String, f64>,
        samples: &[u64],
        ns_per_tick: f64,
        cpus: [usize; 2],
    ) -> Readings {
        let mut readings = Readings { values, ..Readings::default() };
        let facts = &mut readings.facts;
        let mut fact = |name: &str, text: String| facts.insert(name.into(), text);
        match self {
            Self::Clocks(_) => {
                let (clock, objection) = Clock::choose();
                let trusted = || format!("{}, trusted by the kernel", clock.name());
                fact("counter", objection.unwrap_or_else(trusted));
                fact("CPUs", format!("a is {}, b is {}", cpus[0], cpus[1]));
                let named = match readings.values.get("nominal_mhz") {
                    Some(mhz) => format!("{mhz} MHz, as the processor names it"),
                    None => {
                        let lack = "this processor names no frequency";
                        fact("nominal_ns", lack.to_owned());
                        lack.to_owned()
                    }
                };
                fact("nominal_slope", named);
            }
            Self::Apart => {
                fact("CPUs", format!("{} and {}", cpus[0], cpus[1]));
                let value = |name: &str| readings.values.get(name).copied();
                let counter = value("counter_ticks").zip(value("counter_bound_ticks"));
                let counter = counter.map(|(at, bound)| (at * ns_per_tick, bound * ns_per_tick));
                let mono = value("mono_ns").zip(value("mono_bound_ns"));
                for (name, found) in [("counter", counter), ("mono", mono)] {
                    let Some((at, bound)) = found else { continue };
                    readings.set(format!("{name}_offset_ns"), at);
                    readings.set(format!("{name}_bound_ns"), bound);
                    readings.set(format!("{name}_apart_ns"), (at.abs() - bound).max(0.0));
                }
            }
            Self::Copying(_) => {}
            Self::SelfLoop(_) => {
                let is_refused = readings.values.get("refused") == Some(&1.0);
                readings.answer("refused", is_refused);
                let verdict =
                    if is_refused { "refused: the byte is not the peer's" } else { "accepted" };
                readings.facts.insert("proof".into(), verdict.into());
            }
        }
        let mut histogram = Histogram::new();
        for ticks in samples {
            histogram.record((*ticks as f64 * ns_per_tick * 1e3) as u64);
        }
        if histogram.count() > 0 {
            readings.singles(histogram);
        }
        readings
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clocks_are_apart_by_what_the_bound_does_not_explain() {
        let work = BoundWork::of(APART, &toml::Table::new()).expect("no keys");
        let values = [
            ("counter_ticks", -900.0),
            ("counter_bound_ticks", 100.0),
            ("mono_ns", 30.0),
            ("mono_bound_ns", 45.0),
        ];
        let values = values.map(|(name, value)| (name.to_owned(), value)).into();
        let readings = work.readings(values, &[], 0.5, [3, 7]);
        for (name, value) in [
            ("counter_offset_ns", -450.0),
            ("counter_bound_ns", 50.0),
            ("counter_apart_ns", 400.0),
            ("mono_offset_ns", 30.0),
            ("mono_apart_ns", 0.0),
        ] {
            assert_eq!(readings.values.get(name), Some(&value), "{name}");
        }
        assert_eq!(work.workers(&[3, 7]), [3, 7]);
        let error = BoundWork::of(APART, &"repeats = 3".parse().expect("a table"));
        assert!(error.expect_err("no such key").contains("'repeats' is one"));
    }

    #[test]
    fn a_machine_that_names_no_frequency_says_so_where_the_reading_lacks() {
        let asked = "longest_us = 10\nrepeats = 1\nspend_ms = 1".parse().expect("a table");
        let work = BoundWork::of("clocks", &asked).expect("good keys");
        let facts = |values| work.readings(values, &[], 0.5, [0, 1]).facts;
        let unnamed = facts(BTreeMap::new());
        for reading in ["nominal_slope", "nominal_ns"] {
            assert_eq!(unnamed[reading], "this processor names no frequency");
        }
        let named = facts(BTreeMap::from([("nominal_mhz".to_owned(), 2670.0)]));
        assert_eq!(named["nominal_slope"], "2670 MHz, as the processor names it");
        assert!(!named.contains_key("nominal_ns"), "it is told once");
        assert_eq!(work.workers(&[0, 1]), [1]);
    }
}

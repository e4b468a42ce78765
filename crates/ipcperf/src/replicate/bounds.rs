//! Works "clocks", "copying" and "self-loop": bounds of the engine.

use ipcperf_core::Placement;
use ipcperf_engine::bounds::{Chunks, Intervals, Trips};
use ipcperf_engine::job::Bound;
use ipcperf_engine::plan::Host;
use ipcperf_stats::Histogram;
use ipcperf_study::Readings;
use ipcperf_sys::clock::Clock;
use serde::de::DeserializeOwned;
use std::collections::BTreeMap;

/// The kinds of work that are bounds.
pub(crate) const KINDS: [&str; 3] = ["clocks", "copying", "self-loop"];

/// A bound, before its CPUs are known.
#[derive(Clone, Debug)]
pub(crate) enum BoundWork {
    Clocks(Intervals),
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
            "copying" => {
                let asked: Chunks = read(table)?;
                asked.check()?;
                Self::Copying(asked)
            }
            _ => {
                let asked: Trips = read(table)?;
                asked.check()?;
                Self::SelfLoop(asked)
            }
        })
    }

    /// The bound, and the CPUs for it: two as close as separate cores are, or one twice where there is only one.
    pub(crate) fn on(&self, host: &Host) -> Result<(Bound, [usize; 2]), String> {
        let placement = host.topology.two_cpus().unwrap_or(Placement::SameCpu);
        let pair = host.topology.pair(placement).and_then(|pair| pair.try_into().ok());
        let cpus: [usize; 2] = pair.ok_or_else(|| host.topology.objection(placement))?;
        let bound = match self {
            Self::Clocks(asked) => Bound::Clocks(*asked, cpus),
            Self::Copying(asked) => Bound::Copying(asked.clone()),
            Self::SelfLoop(asked) => Bound::SelfLoop(*asked),
        };
        Ok((bound, cpus))
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
        let mut fact = |name: &str, text: String| readings.facts.insert(name.into(), text);
        match self {
            Self::Clocks(_) => {
                let (clock, objection) = Clock::choose();
                let trusted = || format!("{}, trusted by the kernel", clock.name());
                fact("counter", objection.unwrap_or_else(trusted));
                fact("CPUs", format!("a is {}, b is {}", cpus[0], cpus[1]));
            }
            Self::Copying(_) => {}
            Self::SelfLoop(_) => {
                let is_refused = readings.values.get("refused") == Some(&1.0);
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

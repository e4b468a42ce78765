//! What calls through pointers add to a message: the same pipe as a mechanism of ipcperf and behind the table of a plug-in, in the
//! same rounds on one CPU. It is measured once for a program and a machine, and kept in the cache of the user.

use super::bench::Bench;
use crate::assemble::figures_of;
use crate::host;
use crate::measured::{CellRun, Settings};
use crate::plan::{self, Host, Request};
use crate::plugins;
use crate::registry::{Entry, Registry};
use ipcperf_core::result::Metric;
use ipcperf_core::{Idle, Load, Missing, OptionSet, PatternKind, Placement, Touch};
use ipcperf_stats::median_estimate;
use ipcperf_sys::cache;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;
use std::io;
use std::sync::OnceLock;
use std::time::Duration;

/// Rounds of the pair, and how long each of its slices is.
const ROUNDS: u64 = 24;
const SLICE: Duration = Duration::from_millis(20);
const WARMUP: Duration = Duration::from_millis(5);
const MESSAGE: usize = 64;

/// An interval that is wider, in ns, is of a busy machine: the next run measures again.
const WIDEST: f64 = 100.0;

/// The file in the cache.
const KEPT: &str = "plugin-calls.json";

/// The same pipe twice.
#[derive(Debug)]
struct PipePair {
    pipe: Entry,
    as_plugin: Entry,
    /// What the latter declares.
    declared: Value,
}

static PIPES: OnceLock<PipePair> = OnceLock::new();

/// From now on cells of plug-ins are measured with the price of their calls: a program calls it when a plug-in was named.
///
/// # Errors
/// It loads no plug-ins.
pub fn price_pointers(registry: &Registry) -> Result<(), Missing> {
    let loader = registry.loader()?;
    let declared = (loader.own_pipe)()?;
    let as_plugin = (loader.entry)(&declared)?;
    if let Some(pipe) = registry.find("pipe").copied() {
        PIPES.get_or_init(|| PipePair { pipe, as_plugin, declared });
    }
    Ok(())
}

/// What is kept: the figure, and the program and the machine that it is of.
#[derive(Debug, Serialize, Deserialize)]
struct KeptCalls {
    of: String,
    added_ns: Metric,
}

/// This program on this machine.
fn here() -> Option<String> {
    let (host, kernel) = (host::host(), host::kernel());
    let microcode = host.microcode.unwrap_or_default();
    let program = cache::program()?;
    Some(format!(
        "{program:?} {} {microcode} {} {}",
        host.cpu_model, kernel.release, kernel.version
    ))
}

/// What is kept in this text, if it is of this program and machine, and precise enough.
fn kept(text: &str, here: &str) -> Option<Metric> {
    let kept: KeptCalls = serde_json::from_str(text).ok()?;
    let is_precise = kept.added_ns.ci95.is_some_and(|[low, high]| high - low <= WIDEST);
    (kept.of == here && is_precise).then_some(kept.added_ns)
}

/// What a message takes longer, from the round trips of both, by round.
fn added(pipe: &BTreeMap<u64, f64>, as_plugin: &BTreeMap<u64, f64>) -> Option<Metric> {
    let of_round = |(round, ns): (&u64, &f64)| Some((as_plugin.get(round)? - ns) / 2.0);
    let each: Vec<f64> = pipe.iter().filter_map(of_round).collect();
    let estimate = median_estimate(&each)?;
    let ci95 = Some(estimate.ci95?).map(|interval| [interval.low, interval.high]);
    Some(Metric { value: Some(estimate.value), ci95, ..Metric::default() })
}

impl Bench<'_> {
    /// Finds what calls through pointers add, if one of these cells is of a plug-in; true if the user interrupted.
    pub(super) fn price_calls(&mut self, cells: &[CellRun]) -> io::Result<bool> {
        let is_asked = |cell: &CellRun| cell.plan.entry.is_plugin && cell.plan.objection.is_none();
        let Some(pair) = PIPES.get().filter(|_| cells.iter().any(is_asked)) else {
            return Ok(false);
        };
        let here = here();
        if let (Some(here), Some(text)) = (&here, cache::read(KEPT))
            && let Some(known) = kept(&text, here)
        {
            self.bounds.plugin_calls = Some(known);
            return Ok(false);
        }
        let Some(found) = plugins::with_own_pipe(&pair.declared, || self.measure_pipes(pair))?
        else {
            return Ok(true);
        };
        let [pipe, as_plugin] = found.map(|cell| figures_of(&cell, self.ns_per_tick()));
        self.bounds.plugin_calls = added(&pipe, &as_plugin);
        if let (Some(of), Some(added_ns)) = (here, self.bounds.plugin_calls.clone())
            && let Ok(text) = serde_json::to_string(&KeptCalls { of, added_ns })
        {
            cache::keep(KEPT, &text);
        }
        Ok(false)
    }

    /// The rounds of both; `None` if the user interrupted.
    fn measure_pipes(&mut self, pair: &PipePair) -> io::Result<Option<[CellRun; 2]>> {
        let host = Host::read()?;
        let cell = |entry: Entry| {
            let request = Request {
                mechanisms: vec![entry],
                patterns: vec![PatternKind::PingPong],
                sizes: vec![MESSAGE],
                placements: vec![Placement::SameCpu],
                idle: vec![Idle::AsIs],
                touch: Touch::CacheLine,
                loads: vec![Load::default()],
                options: OptionSet::default(),
            };
            let plan = plan::cells(&request, &host).ok().and_then(|mut cells| cells.pop());
            plan.map(CellRun::new).ok_or_else(|| io::Error::other("a pipe has one cell"))
        };
        let mut both = [cell(pair.pipe)?, cell(pair.as_plugin)?];
        let settings = Settings { slice: SLICE, warmup: WARMUP, ..Settings::default() };
        for round in 0..ROUNDS {
            // Each goes first in every other round.
            let order = if round % 2 == 0 { [0, 1] } else { [1, 0] };
            for (position, at) in (0..).zip(order) {
                let cell = &mut both[at];
                if cell.plan.objection.is_none()
                    && cell.ended.is_none()
                    && self.measure(cell, settings.lengths(), round, position)
                {
                    return Ok(None);
                }
            }
        }
        Ok(Some(both))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_of_what_a_round_trip_takes_longer_is_of_a_message_and_only_rounds_of_both_count() {
        let by_round = |from: u64, ns: f64| (from..from + 12).map(|round| (round, ns)).collect();
        let found = added(&by_round(0, 5000.0), &by_round(2, 5120.0)).expect("ten rounds");
        assert_eq!((found.value, found.ci95), (Some(60.0), Some([60.0, 60.0])));
        assert_eq!(added(&by_round(0, 5000.0), &by_round(12, 5000.0)), None);
    }

    #[test]
    fn what_is_kept_is_of_one_program_and_one_machine() {
        let text = |width| {
            let ci95 = Some([50.0, 50.0 + width]);
            let added_ns = Metric { value: Some(60.0), ci95, ..Metric::default() };
            serde_json::to_string(&KeptCalls { of: "here".into(), added_ns }).expect("JSON")
        };
        let found = kept(&text(20.0), "here").expect("it is of here");
        assert_eq!((found.value, found.ci95), (Some(60.0), Some([50.0, 70.0])));
        assert_eq!((kept(&text(20.0), "there"), kept("{", "here")), (None, None));
        assert_eq!(kept(&text(WIDEST + 1.0), "here"), None);
    }
}

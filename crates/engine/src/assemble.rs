//! From slices in ticks to the result document: medians over rounds, intervals, modes, bounds. No measurement here.

mod bound;
mod cell;
mod channels;
mod connect;
mod cost;
mod fan;
mod feed;
mod metric;
mod neighbour;
mod paced;
mod pipelines;
mod proof;
mod serve;
mod sliced;
mod special;
mod stages;
mod standstill;
mod stream;
mod trips;

pub use cell::{calls_of, figures_of};

use crate::accounting;
use crate::assemble::cost::Circumstances;
use crate::bounds::COPY_SIZES;
use crate::measured::{BoundReadings, CellRun, Findings, Part};
use crate::noise;
use crate::plan::CellPlan;
use crate::plugins;
use crate::topology::leave_out;
use ipcperf_core::result::{
    Bounds, Cell, ClockFacts, ClockReading, CopyBandwidth, Finding, Host, Invocation, Kernel, Mode,
    Noise, Origin, PairBounds, PluginFile, ResultSet, SCHEMA, Tool,
};
use ipcperf_core::{Idle, KnobValue, Placement, Reach, findings, map_of};
use ipcperf_stats::modes;
use ipcperf_sys::meter::Span;
use metric::spread;
use std::collections::BTreeMap;

/// What the document says about the run beside what was measured.
#[derive(Clone, Debug, Default)]
pub struct RunFacts {
    /// Which document it is.
    pub origin: Origin,
    /// When it started, UTC.
    pub started_utc: String,
    /// What measured.
    pub tool: Tool,
    /// What was asked for.
    pub invocation: Invocation,
}

/// The machine of a run, as its document describes it.
#[derive(Clone, Debug)]
pub(crate) struct Machine {
    pub(crate) host: Host,
    pub(crate) kernel: Kernel,
    /// What its settings mean for the figures.
    pub(crate) findings: Vec<Finding>,
    /// Whether the kernel says which CPUs share a cache.
    pub(crate) caches_described: bool,
    /// Why it says nothing of energy.
    pub(crate) no_energy: Option<String>,
    /// The step of the kernel's times, ns.
    pub(crate) tick_ns: u64,
}

/// Makes the document of a run on this machine.
pub(crate) fn document(mut findings: Findings, facts: RunFacts, machine: Machine) -> ResultSet {
    let ns = findings.fit.ns_per_tick();
    leave_out(&mut findings, ns);
    let floors = bound::Floors::of(&findings.bounds, ns);
    let clock = clock_facts(&findings, ns);
    let bounds = bounds(&findings.bounds, ns);
    let Machine { host, kernel, .. } = &machine;
    let around = Circumstances {
        is_guest: host.hypervisor.is_some(),
        is_precise: kernel.cpu_accounting == accounting::PRECISE,
        idle: findings.idle,
        no_energy: machine.no_energy.clone(),
        tick_ns: machine.tick_ns,
    };
    let is_precise = around.is_precise;
    let noise_input = noise::Input::of(
        &findings,
        &clock,
        &bounds,
        host,
        machine.caches_described,
        machine.tick_ns,
    );
    let is_on_loopback = |cell: &CellRun| {
        let CellPlan { key, entry, .. } = &cell.plan;
        entry.spec.reach == Reach::Network && !key.load.is_apart()
    };
    let uses_loopback = findings.cells.iter().any(is_on_loopback);
    let parts: Vec<Part> = findings.cells.iter().map(|cell| cell.part).collect();
    let cells = findings.cells.into_iter();
    let cells = cells
        .map(|cell| cell::assemble(cell, ns, &floors, &around, findings.interrupted))
        .collect();
    let mut cells = stages::joined(cells, &parts, &findings.stages);
    let scaling = channels::scaling(&mut cells);
    let short = cells.iter().flat_map(|cell| &cell.knobs).filter_map(|(name, knob)| {
        let usual = KnobValue::Number(knob.shortage.as_ref()?.usual);
        Some((name.clone(), format!("{} in place of {usual}", knob.effective.as_ref()?)))
    });
    let kernel = Kernel { quotas: map_of(short), ..machine.kernel };
    let interrupted = findings.interrupted;
    let pipelines = findings.pipelines.into_iter();
    let pipelines =
        pipelines.map(|one| pipelines::assemble(one, is_precise, interrupted)).collect();
    let noise = Noise {
        idle_busy_cpus: per_ns(findings.idle.busy_ns, &findings.idle),
        idle_watts: per_ns(findings.idle.energy_uj, &findings.idle).map(|power| power * 1e3),
        machine: machine
            .findings
            .into_iter()
            .filter(|finding| uses_loopback || !findings::LOOPBACK.is_of(finding))
            .collect(),
        ..noise::judge(&noise_input, &cells)
    };
    let set = ResultSet {
        schema: SCHEMA.into(),
        origin: facts.origin,
        started_utc: facts.started_utc,
        duration_s: findings.duration.as_secs_f64(),
        interrupted: findings.interrupted,
        tool: facts.tool,
        invocation: facts.invocation,
        host: machine.host,
        kernel,
        clock,
        noise,
        bounds,
        questions: findings.questions,
        plugins: plugin_files(&cells),
        cells,
        scaling,
        pipelines,
    };
    set.rounded()
}

/// The files of the plug-ins that cells are of.
fn plugin_files(cells: &[Cell]) -> Vec<PluginFile> {
    let all = plugins::all().into_iter();
    let mut files: Vec<PluginFile> =
        all.filter_map(|declared| serde_json::from_value(declared).ok()).collect();
    files.retain(|file| cells.iter().any(|cell| cell.key.mechanism == file.name));
    files
}

/// What grew by so much in this span, per nanosecond.
fn per_ns(grown: Option<u64>, span: &Span) -> Option<f64> {
    grown.filter(|_| span.window_ns > 0).map(|grown| grown as f64 / span.window_ns as f64)
}

fn clock_facts(findings: &Findings, ns: f64) -> ClockFacts {
    let readings = |readings: &BTreeMap<usize, BTreeMap<String, f64>>| {
        // A worker that could not be had has read nothing.
        readings
            .iter()
            .filter(|(_, values)| !values.is_empty())
            .map(|(cpu, values)| {
                let value = |name: &str| values.get(name).copied().unwrap_or_default();
                ClockReading {
                    cpu: *cpu,
                    min_ns: value("min") * ns,
                    p50_ns: value("p50") * ns,
                    p90_ns: value("p90") * ns,
                    p99_ns: value("p99") * ns,
                    granularity_ns: value("granularity") * ns,
                    negative: value("negative") as u64,
                }
            })
            .collect()
    };
    ClockFacts {
        source: findings.clock.name().into(),
        fallback_reason: findings.fallback.clone(),
        ticks_per_second: 1e9 / ns,
        worst_residual_ns: findings.fit.worst_residual_ns(),
        before: readings(&findings.bounds.clock[0]),
        after: readings(&findings.bounds.clock[1]),
    }
}

fn bounds(readings: &BoundReadings, ns: f64) -> Bounds {
    let memcpy = COPY_SIZES.into_iter().filter_map(|size| {
        let rate = |name: &str| {
            let ticks = readings.alone.get(&format!("{name}:{size}"))?;
            Some(size as f64 / (ticks * ns) * 1e9)
        };
        Some(CopyBandwidth {
            size_bytes: size as u64,
            bytes_per_second: rate("copy")?,
            half_bytes_per_second: rate("half"),
        })
    });
    let pair = |(placement, cpus): (&Placement, &Vec<usize>)| {
        let lines = readings.cacheline.get(placement).map_or(&[][..], Vec::as_slice);
        let futex =
            |idle| readings.futex.get(&(*placement, idle)).and_then(|ticks| spread(ticks, ns));
        let mode =
            |mode: &modes::Mode| Mode { value: mode.median * ns, rounds: mode.rounds.len() as u64 };
        PairBounds {
            placement: placement.to_string(),
            cpus: cpus.clone(),
            cacheline_rtt_ns: spread(lines, ns),
            cacheline_modes: modes::split(lines)
                .map(|split| vec![mode(&split.low), mode(&split.high)])
                .unwrap_or_default(),
            futex_wake_rtt_ns: futex(Idle::AsIs),
            futex_wake_rtt_idle_poll_ns: futex(Idle::Poll),
        }
    };
    let alone = |name: &str| readings.alone.get(name).and_then(|ticks| spread(&[*ticks], ns));
    Bounds {
        null_syscall_ns: alone("syscall"),
        memcpy: memcpy.collect(),
        pairs: readings.cpus.iter().map(pair).collect(),
        // A difference of two readings is below 0 where the noise is larger than it.
        return_after_switch_ns: alone("return:switch").filter(|spread| spread.median > 0.0),
        return_after_call_ns: alone("return:call").filter(|spread| spread.median > 0.0),
        plugin_call_ns: readings.plugin_calls.clone(),
    }
}

#[cfg(test)]
mod tests;

//! How disturbed a run was: its findings, and a grade that limits claims. The texts of findings are in
//! `core::findings`.

mod cells;
mod neighbour;
mod scheduled;

pub(crate) use cells::LONGEST_NS;

use crate::job::FailureKind;
use crate::measured::PipelineRun;
use crate::measured::{CellRun, Findings};
use cells::{
    connections, drifting, faults, fresh, load, loaded, lost, operation_modes, quotas, rejections,
    short, spread, stopped, two_modes, unstable,
};
use ipcperf_core::findings;
use ipcperf_core::result::{
    Bounds, Cell, ClockFacts, CoreKind, Finding, Host, Metric, Noise, Status,
};
use ipcperf_core::units::{counted, format_nanos, percent};
use ipcperf_core::{Neighbour, Placement};
use ipcperf_stats::median;
use ipcperf_sys::meter::Span;
use ipcperf_sys::rundir::RemovedObject;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

/// Below this many rounds no order statistic bounds the median at 95 %.
const ROUNDS_FOR_AN_INTERVAL: u64 = 6;

/// What the grade and findings need from the run, taken before its slices are consumed.
#[derive(Debug)]
pub(crate) struct Input {
    /// Share of all CPUs' time that was stolen.
    steal: Option<f64>,
    /// Share of all CPUs' time in which they were busy while this run did nothing.
    busy: Option<f64>,
    /// Share of slices that were rejected.
    rejected: f64,
    /// The CPU whose speed differs most, and by how much.
    speed: Option<(usize, f64)>,
    clock: ClockFacts,
    /// What a system call takes that does nothing, ns.
    null_call: Option<f64>,
    pairs: Vec<(String, Vec<f64>)>,
    /// What calls through pointers add to a message of a plug-in.
    plugin_calls: Option<Metric>,
    /// Rounds of the cell that has most, if not even it has enough for an interval.
    too_few: Option<u64>,
    reaped: Vec<RemovedObject>,
    /// Bounds that could not be measured.
    no_bounds: Vec<&'static str>,
    /// Why.
    why_no_bounds: Vec<String>,
    /// The clock could not be read again after the last round.
    is_clock_lost: bool,
    /// Whether the kernel says which CPUs share a cache.
    caches_described: bool,
    /// Kinds of cores, where there are several.
    kinds: Vec<CoreKind>,
    /// Cells in which a message was not the expected one, with the reason.
    invalid: Vec<(String, String)>,
    /// How much the rounds of programs differ: of each pipeline, and of each arm that is no cell.
    programs: Vec<f64>,
    /// For how long the coordinator did not run, and for how long the machine was suspended.
    stood: Duration,
    suspended: Duration,
}

impl Input {
    pub(crate) fn of(
        findings: &Findings,
        clock: &ClockFacts,
        bounds: &Bounds,
        host: &Host,
        caches_described: bool,
        tick_ns: u64,
    ) -> Self {
        let slices: Vec<_> = findings.cells.iter().flat_map(|cell| &cell.slices).collect();
        let rejected = slices.iter().filter(|slice| slice.rejected.is_some()).count();
        // What was stolen is told of all CPUs together, those that this run may not use included.
        let cpus = host.cpus_online.len().max(host.cpus_allowed.len()).max(1);
        let available = findings.duration.as_nanos() as f64 * cpus as f64;
        Self {
            steal: findings.steal_ns.map(|steal| steal as f64 / available),
            busy: busy(findings, host.cpus_online.len(), tick_ns),
            rejected: rejected as f64 / slices.len().max(1) as f64,
            speed: uneven(&findings.cells),
            clock: clock.clone(),
            null_call: bounds.null_syscall_ns.as_ref().map(|call| call.median),
            plugin_calls: bounds.plugin_call_ns.clone(),
            pairs: bounds
                .pairs
                .iter()
                .filter(|pair| pair.cacheline_modes.len() == 2)
                .map(|pair| {
                    let modes = pair.cacheline_modes.iter().map(|mode| mode.value).collect();
                    (format!("{} (CPUs {:?})", pair.placement, pair.cpus), modes)
                })
                .collect(),
            too_few: findings
                .cells
                .iter()
                .map(|cell| {
                    // What was measured once more is of the same round.
                    let rounds = cell.slices.iter().map(|slice| slice.round);
                    rounds.collect::<BTreeSet<u64>>().len() as u64
                })
                .chain(findings.pipelines.iter().map(|one| one.rounds.len() as u64))
                .max()
                .filter(|most| (1..ROUNDS_FOR_AN_INTERVAL).contains(most) && !findings.interrupted),
            reaped: findings.reaped.clone(),
            // A pipeline is measured against none.
            is_clock_lost: clock.after.len() < clock.before.len() && !findings.interrupted,
            why_no_bounds: findings.bounds.missing.iter().cloned().collect(),
            no_bounds: missing(bounds, findings.interrupted || findings.cells.is_empty()),
            caches_described,
            kinds: host.core_kinds.clone(),
            invalid: findings
                .cells
                .iter()
                .filter_map(|cell| match &cell.ended {
                    Some((_, FailureKind::Invalid | FailureKind::Truncated, reason)) => {
                        Some((cell.plan.id.clone(), reason.clone()))
                    }
                    _ => None,
                })
                .collect(),
            programs: findings
                .pipelines
                .iter()
                .filter_map(PipelineRun::spread)
                .chain(findings.spreads.iter().copied())
                .collect(),
            stood: findings.stood,
            suspended: findings.suspended,
        }
    }
}

/// How much longer the pauses of a run must be, all together, to show how busy the CPUs were: what they lack to ten steps of
/// the kernel's times, ns.
pub(crate) fn lacking(idle: &Span, tick_ns: u64) -> u64 {
    (FEWEST_STEPS * tick_ns).saturating_sub(idle.window_ns)
}

/// Steps of the kernel's times that the pauses of a run have at the least, all of them together.
const FEWEST_STEPS: u64 = 10;

/// What one pause may be off by, in steps of the kernel's times: its two ends are each cut off to a whole step, which
/// differ by 1/√6 of one (standard deviation), and twice that is taken.
const BLUR: f64 = 0.82;

/// How much of the machine other programs used in the pauses of the run; `None` if unknown. What rounding of the kernel's
/// times can produce counts as nothing.
fn busy(findings: &Findings, cpus: usize, tick_ns: u64) -> Option<f64> {
    let idle = &findings.idle;
    let busy = idle.busy_ns.filter(|_| cpus > 0 && lacking(idle, tick_ns) == 0)? as f64;
    let blur = BLUR * tick_ns as f64 * (findings.pauses as f64).sqrt();
    Some(if busy <= blur { 0.0 } else { busy / (idle.window_ns as f64 * cpus as f64) })
}

/// The CPU whose speed differs most between slices of one placement and one neighbour (how fast a thread of a core is depends on what the
/// other one does), and half of the range of the middle 80 % of its readings, relative to their median. A deviation from the
/// median would not see what is slower in fewer than half of the slices.
fn uneven(cells: &[CellRun]) -> Option<(usize, f64)> {
    let mut steps: BTreeMap<(Placement, Option<&Neighbour>, usize), Vec<f64>> = BTreeMap::new();
    for cell in cells {
        for side in cell.slices.iter().flat_map(|slice| &slice.raw.sides) {
            let key = &cell.plan.key;
            let place = (key.placement, key.load.neighbour.as_ref(), side.cpu);
            let seen = steps.entry(place).or_default();
            seen.extend(side.step.iter().flatten());
        }
    }
    let spread = |((.., cpu), mut seen): ((Placement, Option<&Neighbour>, usize), Vec<f64>)| {
        seen.sort_by(f64::total_cmp);
        let at = |share: f64| seen[((seen.len() - 1) as f64 * share).round() as usize];
        let is_enough = seen.len() as u64 >= 2 * ROUNDS_FOR_AN_INTERVAL;
        is_enough.then(|| (cpu, (at(0.9) - at(0.1)) / 2.0 / at(0.5)))
    };
    steps.into_iter().filter_map(spread).max_by(|(_, a), (_, b)| a.total_cmp(b))
}

/// What calls through pointers add: `60 ns [50, 70]`.
fn pointers(added: &Metric) -> Option<Finding> {
    let (value, [low, high]) = (added.value?, added.ci95?);
    let words = format!("{value:.0} ns [{low:.0}, {high:.0}]");
    Some(findings::POINTERS.measured(value, &[&words]))
}

/// Missing bounds: without them no result of that kind can be rejected as impossible.
fn missing(bounds: &Bounds, is_unasked: bool) -> Vec<&'static str> {
    let two_cpus =
        |placement: &str| placement.parse::<Placement>().is_ok_and(Placement::is_two_cpus);
    let mut list = Vec::new();
    if bounds.null_syscall_ns.is_none() {
        list.push("the null system call");
    }
    if bounds.memcpy.is_empty() {
        list.push("memcpy");
    }
    if bounds.pairs.iter().any(|pair| two_cpus(&pair.placement) && pair.cacheline_rtt_ns.is_none())
    {
        list.push("the cache-line round trip");
    }
    if is_unasked { Vec::new() } else { list }
}

/// One row of the grading table: limits for A, B, C and D; above is F. The worst row counts.
pub(crate) struct Row {
    pub(crate) limits: [f64; 4],
    /// The figure in words.
    pub(crate) words: fn(f64) -> String,
}

/// Robust coefficient of variation of the rounds, median over cells.
const SPREAD: Row = Row {
    limits: [0.01, 0.03, 0.10, 0.25],
    words: |share| format!("the rounds of a typical cell differ by {}", percent(share)),
};
/// Stolen share of CPU time.
pub(crate) const STEAL: Row =
    Row { limits: [0.001, 0.01, 0.05, 0.15], words: |share| format!("steal {}", percent(share)) };
/// Share of the time in which a spinning end was ready but not running.
const LOAD: Row = Row {
    limits: [0.001, 0.01, 0.05, 0.15],
    words: |share| {
        format!(
            "other work on the CPUs, busy-waiting processes waited {} of the time",
            percent(share)
        )
    },
};
/// Share of all CPUs' time that others used in the pauses. Wider than the share of a spinning end: they need not be the
/// CPUs of the ends, and a machine that runs nothing else has its own services.
pub(crate) const BUSY: Row = Row {
    limits: [0.02, 0.05, 0.10, 0.25],
    words: |share| format!("other work between the rounds, {} of all CPUs", percent(share)),
};
/// Half of the range of the middle 80 % of the readings of a CPU's speed.
const SPEED: Row = Row {
    limits: [0.005, 0.02, 0.05, 0.15],
    words: |share| format!("CPU speed varied by {}", percent(share)),
};
/// Rejected share of slices.
const REJECTED: Row = Row {
    limits: [0.0, 0.05, 0.10, 0.25],
    words: |share| format!("{} of the slices rejected", percent(share)),
};

impl Row {
    pub(crate) fn grade(&self, value: f64) -> char {
        let passed = self.limits.iter().filter(|limit| value > **limit).count();
        ['A', 'B', 'C', 'D', 'F'][passed]
    }
}

/// The word for the grade of a run that has none.
const NO_GRADE: &str = "none";

/// What comes of a row whose figure is not known.
enum Without {
    /// There is no grade, for this reason.
    NoGrade(&'static str),
    /// The grade does without what has this name.
    Goes(&'static str),
}

const NO_SPREAD: Without =
    Without::NoGrade("the spread of the rounds is unknown: that takes two rounds");
const NO_BUSY: Without = Without::NoGrade("the load of the CPUs is unknown");

/// The grade, and what gave it its value; or that there is none, and why. No row that is not known makes an F better.
fn graded(rows: &[(Row, Option<f64>, Without)]) -> (String, Vec<String>) {
    let graded =
        || rows.iter().filter_map(|(row, value, _)| Some((row, row.grade((*value)?), (*value)?)));
    let worst = graded().map(|(_, grade, _)| grade).max().unwrap_or('F');
    let missing = rows.iter().filter_map(|row| match row {
        (_, None, Without::NoGrade(why)) => Some((*why).to_owned()),
        _ => None,
    });
    let missing: Vec<String> = missing.collect();
    if worst < 'F' && !missing.is_empty() {
        return (NO_GRADE.to_owned(), missing);
    }
    let decides = graded().filter(|(_, grade, _)| *grade == worst && worst > 'A');
    (worst.to_string(), decides.map(|(row, _, value)| (row.words)(value)).collect())
}

/// What the grade does without.
fn unread(rows: &[(Row, Option<f64>, Without)]) -> Vec<String> {
    let unread = rows.iter().filter_map(|row| match row {
        (_, None, Without::Goes(name)) => Some((*name).to_owned()),
        _ => None,
    });
    unread.collect()
}

/// Judges the run.
pub(crate) fn judge(input: &Input, cells: &[Cell]) -> Noise {
    let spreads: Vec<(&Cell, f64)> = cells
        .iter()
        .filter(|cell| cell.status == Status::Ok)
        .filter_map(|cell| Some((cell, spread(cell)?)))
        .collect();
    let all = neighbour::undisturbed(&spreads).chain(&input.programs);
    let typical = median(&all.copied().collect::<Vec<_>>());
    let rows = [
        (SPREAD, typical, NO_SPREAD),
        (STEAL, input.steal, Without::Goes("steal")),
        (LOAD, load(cells), Without::Goes("load")),
        (BUSY, input.busy, NO_BUSY),
        (SPEED, input.speed.map(|(_, spread)| spread), Without::Goes("speed")),
        (REJECTED, Some(input.rejected), Without::Goes("rejections")),
    ];
    let has_cell = cells.iter().any(|cell| cell.status == Status::Ok);
    // That every slice was rejected says something of the machine; that there is none does not.
    let is_measured = has_cell || !input.programs.is_empty() || input.rejected > 0.0;
    let (grade, causes, unread) = if is_measured {
        let (grade, causes) = graded(&rows);
        (grade, causes, unread(&rows))
    } else {
        (NO_GRADE.to_owned(), Vec::new(), Vec::new())
    };
    let mut findings = Vec::new();
    findings.extend(payload(input));
    findings.extend(rejections(cells));
    findings.extend(cells.iter().filter_map(two_modes));
    findings.extend(operation_modes(cells));
    findings.extend(fresh(cells));
    findings.extend(unstable(&spreads));
    findings.extend(drifting(cells));
    findings.extend(lost(cells));
    findings.extend(short(cells));
    findings.extend(quotas(cells));
    findings.extend(stopped(cells));
    findings.extend(neighbour::dose(cells));
    findings.extend(scheduled::uncontested(cells));
    findings.extend(scheduled::grouped(cells));
    findings.extend(cells::mixed(cells, &input.kinds));
    findings.extend(connections(cells));
    findings.extend(loaded(cells));
    findings.extend(cells::saturated(cells));
    findings.extend(cells::late_sender(cells));
    findings.extend(disturbances(input, cells));
    findings.sort_by_key(|finding: &Finding| finding.severity);
    Noise { grade, causes, unread, findings, ..Noise::default() }
}

/// The coordinator was stopped, or the whole machine; two clocks are not read at the same moment, hence the limit of 100 ms.
fn interrupted_by_others(input: &Input) -> impl Iterator<Item = Finding> {
    let pauses = [(findings::PAUSED, input.stood), (findings::SUSPENDED, input.suspended)];
    let pauses = pauses.into_iter().map(|(row, time)| (row, time.as_nanos() as f64));
    pauses.filter(|(row, ns)| row.is_passed(*ns)).map(|(row, ns)| row.measured(ns, &[]))
}

/// A clock that enters the kernel for each reading: of short operations hardly anything else is timed.
fn slow_clock(input: &Input) -> Option<Finding> {
    let slowest = input.clock.before.iter().map(|one| one.p50_ns).reduce(f64::max)?;
    let call = input.null_call.filter(|call| slowest >= *call)?;
    let detail = format!(" ({} and {})", format_nanos(slowest), format_nanos(call));
    let operations = format!("operations of less than {}", format_nanos(20.0 * slowest));
    Some(findings::SLOWCLOCK.found(&[&detail, &operations]).against(slowest, call))
}

fn payload(input: &Input) -> Option<Finding> {
    let (id, reason) = input.invalid.first()?;
    let count = input.invalid.len();
    let have = if count == 1 { "has" } else { "have" };
    let cells = format!("{} {have}", counted(count as u64, "cell"));
    let detail = format!(" (first: {id}: {reason})");
    let mut finding = findings::PAYLOAD.measured(count as f64, &[&cells, &detail]);
    finding.cells = input.invalid.iter().map(|(id, _)| id.clone()).collect();
    Some(finding)
}

fn disturbances(input: &Input, cells: &[Cell]) -> Vec<Finding> {
    let mut list = Vec::new();
    for (row, share) in [(findings::STOLEN, input.steal), (findings::BUSY, input.busy)] {
        list.extend(
            share.filter(|share| row.is_passed(*share)).map(|share| row.measured(share, &[])),
        );
    }
    if let Some((cpu, spread)) =
        input.speed.filter(|(_, spread)| findings::SPEED.is_passed(*spread))
    {
        list.push(findings::SPEED.measured(spread, &[&format!("CPU {cpu}")]));
    }
    for (pair, modes) in &input.pairs {
        let detail = format!(
            " ({} in some slices, {} in others)",
            format_nanos(modes[0]),
            format_nanos(modes[1])
        );
        list.push(findings::TOPOLOGY.measured(modes[1] / modes[0], &[pair, &detail]));
    }
    for before in &input.clock.before {
        let Some(after) = input.clock.after.iter().find(|after| after.cpu == before.cpu) else {
            continue;
        };
        let moved = (after.p50_ns - before.p50_ns).abs();
        if moved > 0.2 * before.p50_ns && findings::CLOCK.is_passed(moved) {
            let [first, last] = [before.p50_ns, after.p50_ns].map(format_nanos);
            let words = [format!(" on CPU {}", before.cpu), format!(" from {first} to {last}")];
            list.push(findings::CLOCK.measured(moved, &[&words[0], &words[1]]));
        }
    }
    if input.is_clock_lost {
        list.push(findings::CLOCK_LOST.found(&[]));
    }
    list.extend(slow_clock(input));
    list.extend(interrupted_by_others(input));
    let backwards: u64 =
        input.clock.before.iter().chain(&input.clock.after).map(|one| one.negative).sum();
    if backwards > 0 {
        let times = format!(" {}", counted(backwards, "time"));
        list.push(findings::BACKWARDS.measured(backwards as f64, &[&times]));
    }
    if let Some(rounds) = input.too_few {
        list.push(findings::FEWROUNDS.measured(rounds as f64, &[]));
    }
    if !input.no_bounds.is_empty() {
        let (bounds, why) = (input.no_bounds.join(", "), input.why_no_bounds.join("; "));
        let why = if why.is_empty() { why } else { format!(" ({why})") };
        list.push(findings::NOBOUND.found(&[&bounds, &why]));
    }
    if !input.caches_described {
        list.push(findings::UNKNOWN_CPUS.found(&[]));
    }
    list.extend(faults(cells));
    list.extend(input.plugin_calls.as_ref().and_then(pointers));
    if cfg!(debug_assertions) {
        list.push(findings::DEBUGBUILD.found(&[]));
    }
    if !input.reaped.is_empty() {
        let names: Vec<String> = input.reaped.iter().map(RemovedObject::without_folder).collect();
        let finding = findings::REAPED.found(&[&format!(": {}", names.join(", "))]);
        list.push(Finding { value: Some(input.reaped.len() as f64), ..finding });
    }
    list
}

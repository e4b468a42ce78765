//! How disturbed a run was: findings with value, limit, consequence and remedy, and a grade that limits claims.

mod cells;
mod open;

use crate::exec::PipelineRun;
use crate::job::FailureKind;
use crate::run::{CellRun, Findings};
use cells::{
    connections, drifting, faults, load, loaded, lost, operation_modes, quotas, rejections, short,
    spread, stopped, two_modes, unstable,
};
use ipcperf_core::Placement;
use ipcperf_core::result::{Bounds, Cell, ClockFacts, Finding, Host, Noise, Status};
use ipcperf_core::units::{counted, format_nanos};
use ipcperf_stats::median;
use ipcperf_sys::meter::Span;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

/// Below this many rounds no order statistic bounds the median at 95 %.
const ROUNDS_FOR_AN_INTERVAL: u64 = 6;

/// What the judgement needs of the run, taken before its slices are used up.
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
    /// Rounds of the cell that has most, if not even it has enough for an interval.
    too_few: Option<u64>,
    reaped: Vec<String>,
    /// Bounds that could not be measured.
    no_bounds: Vec<&'static str>,
    /// Why.
    why_no_bounds: Vec<String>,
    /// The clock could not be read again after the last round.
    is_clock_lost: bool,
    /// Whether the kernel says which CPUs share a cache.
    caches_described: bool,
    /// Cells in which a message was not the expected one, with the reason.
    invalid: Vec<(String, String)>,
    /// How much the rounds of each pipeline of programs differ.
    pipelines: Vec<f64>,
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
            invalid: findings
                .cells
                .iter()
                .filter_map(|cell| match &cell.ended {
                    Some((_, FailureKind::Invalid, reason)) => {
                        Some((cell.plan.id.clone(), reason.clone()))
                    }
                    _ => None,
                })
                .collect(),
            pipelines: findings.pipelines.iter().filter_map(PipelineRun::spread).collect(),
            stood: findings.stood,
            suspended: findings.suspended,
        }
    }
}

/// Whether the pauses of a run are long enough together to tell how busy the CPUs were: what they lack to ten steps of the
/// kernel's times, ns.
pub(crate) fn lacking(idle: &Span, tick_ns: u64) -> u64 {
    (FEWEST_STEPS * tick_ns).saturating_sub(idle.window_ns)
}

/// Steps of the kernel's times that the pauses of a run have at the least, all of them together.
const FEWEST_STEPS: u64 = 10;

/// What one pause may be off by, in steps of the kernel's times: its two ends are each cut off to a whole step, which
/// differ by 1/√6 of one (standard deviation), and twice that is taken.
const BLUR: f64 = 0.82;

/// How much of the machine others used in the pauses of the run. `None` where it cannot be told. What the steps of the
/// kernel's times may amount to is none.
fn busy(findings: &Findings, cpus: usize, tick_ns: u64) -> Option<f64> {
    let idle = &findings.idle;
    let busy = idle.busy_ns.filter(|_| cpus > 0 && lacking(idle, tick_ns) == 0)? as f64;
    let blur = BLUR * tick_ns as f64 * (findings.pauses as f64).sqrt();
    Some(if busy <= blur { 0.0 } else { busy / (idle.window_ns as f64 * cpus as f64) })
}

/// The CPU whose speed differs most between slices of one placement (how fast a thread of a core is depends on what the
/// other one does), and half of the range of the middle 80 % of its readings, relative to their median. A deviation from the
/// median would not see what is slower in fewer than half of the slices.
fn uneven(cells: &[CellRun]) -> Option<(usize, f64)> {
    let mut steps: BTreeMap<(Placement, usize), Vec<f64>> = BTreeMap::new();
    for cell in cells {
        for side in cell.slices.iter().flat_map(|slice| &slice.raw.sides) {
            let seen = steps.entry((cell.plan.key.placement, side.cpu)).or_default();
            seen.extend(side.step.iter().flatten());
        }
    }
    let spread = |((_, cpu), mut seen): (_, Vec<f64>)| {
        seen.sort_by(f64::total_cmp);
        let at = |share: f64| seen[((seen.len() - 1) as f64 * share).round() as usize];
        let is_enough = seen.len() as u64 >= 2 * ROUNDS_FOR_AN_INTERVAL;
        is_enough.then(|| (cpu, (at(0.9) - at(0.1)) / 2.0 / at(0.5)))
    };
    steps.into_iter().filter_map(spread).max_by(|(_, a), (_, b)| a.total_cmp(b))
}

/// What of the bounds is missing: without it no result of that kind can be refused as impossible.
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
    words: |share| format!("other work on the CPUs, spinning ends waited {}", percent(share)),
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
    words: |share| format!("the speed of a CPU differs by {}", percent(share)),
};
/// Rejected share of slices.
const REJECTED: Row = Row {
    limits: [0.0, 0.05, 0.10, 0.25],
    words: |share| format!("{} of the slices rejected", percent(share)),
};

pub(crate) fn percent(share: f64) -> String {
    let percent = share * 100.0;
    format!("{percent:.*} %", usize::from(percent < 10.0))
}

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
    Without::NoGrade("how far the rounds differ is not known: that takes two rounds");
const NO_BUSY: Without = Without::NoGrade("how busy the CPUs were is not known");

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
    let all = spreads.iter().map(|(_, spread)| spread).chain(&input.pipelines);
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
    let is_measured = has_cell || !input.pipelines.is_empty() || input.rejected > 0.0;
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
    findings.extend(unstable(&spreads));
    findings.extend(drifting(cells));
    findings.extend(lost(cells));
    findings.extend(short(cells));
    findings.extend(quotas(cells));
    findings.extend(stopped(cells));
    findings.extend(connections(cells));
    findings.extend(loaded(cells));
    findings.extend(open::saturated(cells));
    findings.extend(open::late_sender(cells));
    findings.extend(disturbances(input, cells));
    findings.sort_by_key(|finding: &Finding| finding.severity);
    Noise { grade, causes, unread, findings, ..Noise::default() }
}

/// That the coordinator was stopped, or the whole machine.
fn interrupted_by_others(input: &Input) -> impl Iterator<Item = Finding> {
    // Two clocks are not read at the same moment.
    const LIMIT: Duration = Duration::from_millis(100);
    let remedy = "let it run, and repeat the run";
    let told = |time: Duration, what: &str, consequence: &str| {
        let [ns, limit] = [time, LIMIT].map(|time| time.as_nanos() as f64);
        let text = format!("{what} for at least {}: {consequence}", format_nanos(ns));
        (time > LIMIT).then(|| Finding::new("W-STOPPED", text, remedy).against(ns, limit))
    };
    let of_all = "what lies before it and behind it was measured at different times";
    let own = told(input.stood, "ipcperf itself was stopped", of_all);
    own.into_iter().chain(told(input.suspended, "the machine was suspended", of_all))
}

/// A clock that enters the kernel for each reading: of short operations hardly anything else is timed.
fn slow_clock(input: &Input) -> Option<Finding> {
    let slowest = input.clock.before.iter().map(|one| one.p50_ns).reduce(f64::max)?;
    let call = input.null_call.filter(|call| slowest >= *call)?;
    let text = format!(
        "reading the clock takes {}, as long as a system call ({}): operations of less than {} are timed in batches",
        format_nanos(slowest),
        format_nanos(call),
        format_nanos(20.0 * slowest),
    );
    let remedy =
        "a clock source that is read without the kernel: tsc, where the CPU has a constant one";
    Some(Finding::new("W-SLOWCLOCK", text, remedy).against(slowest, call))
}

fn payload(input: &Input) -> Option<Finding> {
    let (id, reason) = input.invalid.first()?;
    let count = input.invalid.len();
    let cells = counted(count as u64, "cell");
    let text =
        format!("{cells} without a figure because a message was wrong; first: {id}: {reason}");
    let remedy = "nothing measured over this mechanism can be believed: report it";
    let mut finding = Finding::new("E-PAYLOAD", text, remedy).against(count as f64, 0.0);
    finding.cells = input.invalid.iter().map(|(id, _)| id.clone()).collect();
    Some(finding)
}

fn disturbances(input: &Input, cells: &[Cell]) -> Vec<Finding> {
    let mut list = Vec::new();
    if let Some(steal) = input.steal.filter(|steal| *steal > 0.01) {
        let text = format!(
            "the hypervisor took {:.1} % of the CPU time: tails measure the host",
            steal * 100.0
        );
        let remedy = "a quieter host, or more rounds";
        list.push(Finding::new("W-STEAL", text, remedy).against(steal, 0.01));
    }
    if let Some(busy) = input.busy.filter(|busy| *busy > BUSY.limits[2]) {
        let text = format!("{}: they may run beside the cells, too", (BUSY.words)(busy));
        let remedy = "stop other work, and repeat the run";
        list.push(Finding::new("W-LOAD", text, remedy).against(busy, BUSY.limits[2]));
    }
    if let Some((cpu, spread)) = input.speed.filter(|(_, spread)| *spread > SPEED.limits[1]) {
        let text = format!(
            "the speed of CPU {cpu} differs by {} from slice to slice: its frequency changes, or its core is shared",
            percent(spread)
        );
        let remedy = "a fixed frequency (governor performance, no turbo), and no work on the other thread of the core";
        list.push(Finding::new("W-SPEED", text, remedy).against(spread, SPEED.limits[1]));
    }
    for (pair, modes) in &input.pairs {
        let text = format!(
            "{pair}: the cache line took {} in some slices and {} in others: the CPUs were moved (a VM's are threads of its host)",
            format_nanos(modes[0]),
            format_nanos(modes[1])
        );
        let remedy = "pin the VM's CPUs on its host";
        list.push(Finding::new("W-TOPOLOGY", text, remedy).against(modes[1] / modes[0], 1.5));
    }
    for before in &input.clock.before {
        let Some(after) = input.clock.after.iter().find(|after| after.cpu == before.cpu) else {
            continue;
        };
        let moved = (after.p50_ns - before.p50_ns).abs();
        if moved > (0.2 * before.p50_ns).max(3.0) {
            let text = format!(
                "reading the clock on CPU {} took {} before the run and {} after it",
                before.cpu,
                format_nanos(before.p50_ns),
                format_nanos(after.p50_ns)
            );
            let remedy = "frequency or neighbours changed: repeat";
            list.push(Finding::new("W-CLOCK", text, remedy).against(moved, 3.0));
        }
    }
    if input.is_clock_lost {
        let text =
            "the clock after the last round was not measured: whether it changed cannot be told";
        let remedy = "more memory and processes for this user";
        list.push(Finding::new("W-CLOCK", text.into(), remedy));
    }
    list.extend(slow_clock(input));
    list.extend(interrupted_by_others(input));
    let backwards: u64 =
        input.clock.before.iter().chain(&input.clock.after).map(|one| one.negative).sum();
    if backwards > 0 {
        let times = counted(backwards, "time");
        let text = format!("the clock ran backwards {times}: no figure of this run can be trusted");
        let remedy = "use another clock source";
        list.push(Finding::new("E-CLOCK", text, remedy).against(backwards as f64, 0.0));
    }
    if let Some(rounds) = input.too_few {
        let had = counted(rounds, "round");
        let text = format!("only {had}: no confidence interval below {ROUNDS_FOR_AN_INTERVAL}");
        let finding = Finding::new("W-FEWROUNDS", text, "a larger --budget or more --rounds");
        list.push(finding.against(rounds as f64, ROUNDS_FOR_AN_INTERVAL as f64));
    }
    if !input.no_bounds.is_empty() {
        let (bounds, why) = (input.no_bounds.join(", "), input.why_no_bounds.join("; "));
        let text = format!(
            "not measured: {bounds}{}; results that are too good to be true cannot be told",
            if why.is_empty() { String::new() } else { format!(" ({why})") }
        );
        list.push(Finding::new("W-NOBOUND", text, "mend what refused them"));
    }
    if !input.caches_described {
        let text = "the kernel does not say which CPUs share a cache: the names of placements on two CPUs are a guess";
        let remedy = "mount /sys, or name CPUs by taskset";
        list.push(Finding::new("W-UNKNOWN-CPUS", text.into(), remedy));
    }
    list.extend(faults(cells));
    if cfg!(debug_assertions) {
        let text = "this is a debug build: its figures are those of slow code".into();
        list.push(Finding::new("W-DEBUGBUILD", text, "cargo build --release"));
    }
    if !input.reaped.is_empty() {
        // A document may be shared, and in which directory that was is nobody's business.
        let named = |left: &String| match left.split_once(" /") {
            Some((kind, path)) => format!("{kind} {}", path.rsplit('/').next().unwrap_or(path)),
            None => left.clone(),
        };
        let names: Vec<String> = input.reaped.iter().map(named).collect();
        let text = format!("removed what a killed run had left: {}", names.join(", "));
        let value = Some(input.reaped.len() as f64);
        list.push(Finding { value, ..Finding::new("I-REAPED", text, "") });
    }
    list
}

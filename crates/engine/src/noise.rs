//! How disturbed a run was: findings with value, limit, consequence and remedy, and a grade that limits claims.

use crate::job::FailureKind;
use crate::run::Findings;
use ipcperf_core::result::{
    Bounds, Cell, ClockFacts, Finding, Kernel, Metric, Noise, Severity, Status,
};
use ipcperf_core::units::{format_bytes_per_second, format_nanos, format_per_second};
use ipcperf_stats::{median, robust_cv};

/// Below this many rounds no order statistic bounds the median at 95 %.
const ROUNDS_FOR_AN_INTERVAL: u64 = 6;

/// What the judgement needs of the run, taken before its slices are used up.
#[derive(Debug)]
pub(crate) struct Input {
    /// Share of all CPUs' time that was stolen.
    steal: Option<f64>,
    /// Share of slices that were rejected.
    rejected: f64,
    aslr_off: bool,
    clock: ClockFacts,
    pairs: Vec<(String, Vec<f64>)>,
    /// Rounds of the cell that has most, if not even it has enough for an interval.
    too_few: Option<u64>,
    reaped: Vec<String>,
    /// Cells in which a message was not the expected one, with the reason.
    invalid: Vec<(String, String)>,
}

impl Input {
    pub(crate) fn of(
        findings: &Findings,
        kernel: &Kernel,
        clock: &ClockFacts,
        bounds: &Bounds,
    ) -> Self {
        let slices: Vec<_> = findings.cells.iter().flat_map(|cell| &cell.slices).collect();
        let rejected = slices.iter().filter(|slice| slice.rejected.is_some()).count();
        let cpus = ipcperf_sys::affinity::allowed_cpus().map_or(1, |cpus| cpus.len().max(1));
        let available = findings.duration.as_nanos() as f64 * cpus as f64;
        Self {
            steal: findings.steal_ns.map(|steal| steal as f64 / available),
            rejected: rejected as f64 / slices.len().max(1) as f64,
            aslr_off: kernel
                .sysctl
                .get("kernel.randomize_va_space")
                .is_some_and(|value| value == "0"),
            clock: clock.clone(),
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
                .map(|cell| cell.slices.len() as u64)
                .max()
                .filter(|most| (1..ROUNDS_FOR_AN_INTERVAL).contains(most) && !findings.interrupted),
            reaped: findings.reaped.clone(),
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
        }
    }
}

/// One row of the grading table: limits for A, B, C and D; above is F. The worst row counts.
const LIMITS: [(&str, [f64; 4]); 3] = [
    // Robust coefficient of variation of the rounds, median over cells.
    ("spread", [0.01, 0.03, 0.10, 0.25]),
    // Stolen share of CPU time.
    ("steal", [0.001, 0.01, 0.05, 0.15]),
    // Rejected share of slices.
    ("rejected", [0.0, 0.05, 0.10, 0.25]),
];

fn grade(name: &str, value: f64) -> char {
    let limits =
        LIMITS.iter().find(|(known, _)| *known == name).map_or([0.0; 4], |(_, limits)| *limits);
    limits
        .iter()
        .zip("ABCD".chars())
        .find(|(limit, _)| value <= **limit)
        .map_or('F', |(_, grade)| grade)
}

/// Judges the run.
pub(crate) fn judge(input: &Input, cells: &[Cell]) -> Noise {
    let spreads: Vec<(&Cell, f64)> = cells
        .iter()
        .filter(|cell| cell.status == Status::Ok)
        .filter_map(|cell| Some((cell, spread(cell)?)))
        .collect();
    let typical = median(&spreads.iter().map(|(_, spread)| *spread).collect::<Vec<_>>());
    let rows = [
        typical.map(|value| grade("spread", value)),
        input.steal.map(|value| grade("steal", value)),
        Some(grade("rejected", input.rejected)),
    ];
    let mut findings = Vec::new();
    findings.extend(payload(input));
    findings.extend(rejections(cells));
    findings.extend(cells.iter().filter_map(two_modes));
    findings.extend(unstable(&spreads));
    findings.extend(disturbances(input, cells));
    findings.sort_by_key(|finding: &Finding| finding.severity);
    Noise { grade: rows.into_iter().flatten().max().unwrap_or('F').to_string(), findings }
}

fn finding(
    code: &str,
    text: String,
    value: Option<f64>,
    limit: Option<f64>,
    remedy: &str,
) -> Finding {
    let severity = match code.split('-').next() {
        Some("E") => Severity::Error,
        Some("W") => Severity::Warning,
        _ => Severity::Info,
    };
    Finding {
        code: code.into(),
        severity,
        text,
        value,
        limit,
        cells: Vec::new(),
        remedy: remedy.into(),
    }
}

/// Spread of the rounds of the mode that speaks.
fn spread(cell: &Cell) -> Option<f64> {
    let centre = centre(cell)?;
    let values: Vec<f64> = cell
        .rounds
        .iter()
        .filter(|round| round.rejected.is_none())
        .filter_map(|round| round.p50_ns.or(round.messages_per_second))
        .filter(|value| {
            centre.modes.len() < 2
                || nearest_mode(&centre, *value)
                    == nearest_mode(&centre, centre.value.unwrap_or(*value))
        })
        .collect();
    robust_cv(&values)
}

/// The metric a cell is ranked by.
fn centre(cell: &Cell) -> Option<Metric> {
    match &cell.rtt_ns {
        Some(table) => table.get("p50").cloned(),
        None => cell.messages_per_second.clone(),
    }
}

fn nearest_mode(metric: &Metric, value: f64) -> Option<usize> {
    let distance = |mode: f64| (mode.ln() - value.ln()).abs();
    (0..metric.modes.len()).min_by(|a, b| {
        distance(metric.modes[*a].value).total_cmp(&distance(metric.modes[*b].value))
    })
}

fn two_modes(cell: &Cell) -> Option<Finding> {
    let metric = centre(cell)?;
    let [low, high] = metric.modes.as_slice() else { return None };
    let format = |value: f64| match (&cell.rtt_ns, cell.size_bytes) {
        (Some(_), _) => format_nanos(value),
        (None, 0) => format_per_second(value),
        (None, size) => format_bytes_per_second(value * size as f64),
    };
    let text = format!(
        "{}: {} rounds near {}, {} near {}; never averaged, the figure is that of the mode with more rounds",
        cell.id,
        low.rounds,
        format(low.value),
        high.rounds,
        format(high.value)
    );
    let mut finding = finding(
        "W-MULTIMODAL",
        text,
        Some(high.value / low.value),
        Some(1.5),
        "look at cacheline_rtt_ns of the rounds; pin the VM's CPUs on its host, or try --idle poll",
    );
    finding.cells.push(cell.id.clone());
    Some(finding)
}

fn unstable(spreads: &[(&Cell, f64)]) -> Option<Finding> {
    const LIMIT: f64 = 0.05;
    let wide: Vec<_> = spreads.iter().filter(|(_, spread)| *spread > LIMIT).collect();
    let worst = wide.iter().map(|(_, spread)| *spread).reduce(f64::max)?;
    let text = format!(
        "the rounds of {} of {} cells differ by more than 5 % (worst {:.0} %): trust their intervals, not their digits",
        wide.len(),
        spreads.len(),
        worst * 100.0
    );
    let mut finding = finding(
        "W-UNSTABLE",
        text,
        Some(worst),
        Some(LIMIT),
        "a quieter machine, more rounds or longer slices",
    );
    finding.cells = wide.iter().map(|(cell, _)| cell.id.clone()).collect();
    Some(finding)
}

fn payload(input: &Input) -> Option<Finding> {
    let (id, reason) = input.invalid.first()?;
    let count = input.invalid.len();
    let text = format!(
        "{count} cells without a figure because a message was wrong; first: {id}: {reason}"
    );
    let remedy = "nothing measured over this mechanism can be believed: report it";
    let mut finding = finding("E-PAYLOAD", text, Some(count as f64), Some(0.0), remedy);
    finding.cells = input.invalid.iter().map(|(id, _)| id.clone()).collect();
    Some(finding)
}

fn rejections(cells: &[Cell]) -> Vec<Finding> {
    ["E-IMPOSSIBLE", "E-MIGRATE", "E-CLOCKJUMP"]
        .into_iter()
        .filter_map(|code| {
            let hit: Vec<(&Cell, &str)> = cells
                .iter()
                .flat_map(|cell| cell.rounds.iter().map(move |round| (cell, round)))
                .filter_map(|(cell, round)| Some((cell, round.rejected.as_deref()?)))
                .filter(|(_, reason)| reason.starts_with(code))
                .collect();
            let (cell, reason) = hit.first()?;
            let detail = reason.trim_start_matches(code).trim_start_matches(": ");
            let text = format!("{} slices rejected; first: {}: {detail}", hit.len(), cell.id);
            let remedy = match code {
                "E-IMPOSSIBLE" => "the clock or the machine changed under the run: repeat it",
                "E-MIGRATE" => {
                    "something moves processes off their CPUs: look for cpuset managers and taskset"
                }
                _ => "the machine was paused or moved: repeat the run",
            };
            let mut finding = finding(code, text, Some(hit.len() as f64), Some(0.0), remedy);
            finding.cells = hit.iter().map(|(cell, _)| cell.id.clone()).collect();
            finding.cells.dedup();
            Some(finding)
        })
        .collect()
}

fn disturbances(input: &Input, cells: &[Cell]) -> Vec<Finding> {
    let mut list = Vec::new();
    if let Some(steal) = input.steal.filter(|steal| *steal > 0.01) {
        let text = format!(
            "the hypervisor took {:.1} % of the CPU time: tails measure the host",
            steal * 100.0
        );
        list.push(finding(
            "W-STEAL",
            text,
            Some(steal),
            Some(0.01),
            "a quieter host, or more rounds",
        ));
    }
    for (pair, modes) in &input.pairs {
        let text = format!(
            "{pair}: the cache line took {} in some slices and {} in others: the CPUs were moved (a VM's are threads of its host)",
            format_nanos(modes[0]),
            format_nanos(modes[1])
        );
        let remedy = "pin the VM's CPUs on its host";
        list.push(finding("W-TOPOLOGY", text, Some(modes[1] / modes[0]), Some(1.5), remedy));
    }
    for (before, after) in input.clock.before.iter().zip(&input.clock.after) {
        let moved = (after.p50_ns - before.p50_ns).abs();
        if moved > (0.2 * before.p50_ns).max(3.0) {
            let text = format!(
                "reading the clock on CPU {} took {} before the run and {} after it",
                before.cpu,
                format_nanos(before.p50_ns),
                format_nanos(after.p50_ns)
            );
            list.push(finding(
                "W-CLOCK",
                text,
                Some(moved),
                Some(3.0),
                "frequency or neighbours changed: repeat",
            ));
        }
    }
    let backwards: u64 =
        input.clock.before.iter().chain(&input.clock.after).map(|one| one.negative).sum();
    if backwards > 0 {
        let text = format!(
            "the clock ran backwards {backwards} times: no figure of this run can be trusted"
        );
        list.push(finding(
            "E-CLOCK",
            text,
            Some(backwards as f64),
            Some(0.0),
            "use another clock source",
        ));
    }
    if input.aslr_off {
        let text =
            "address randomisation is off: every slice has the same memory layout, good or bad"
                .into();
        list.push(finding("W-ASLR", text, None, None, "sysctl kernel.randomize_va_space=2"));
    }
    if let Some(rounds) = input.too_few {
        let text =
            format!("only {rounds} rounds: no confidence interval below {ROUNDS_FOR_AN_INTERVAL}");
        let (value, limit) = (Some(rounds as f64), Some(ROUNDS_FOR_AN_INTERVAL as f64));
        list.push(finding("W-FEWROUNDS", text, value, limit, "a larger --budget or more --rounds"));
    }
    list.extend(faults(cells));
    if cfg!(debug_assertions) {
        let text = "this is a debug build: its figures are those of slow code".into();
        list.push(finding("W-DEBUGBUILD", text, None, None, "cargo build --release"));
    }
    if !input.reaped.is_empty() {
        let text = format!("removed what a killed run had left: {}", input.reaped.join(", "));
        list.push(finding("I-REAPED", text, Some(input.reaped.len() as f64), None, ""));
    }
    list
}

/// Page faults in timed regions: memory that was not resident. A few per slice come from the harness's own report.
fn faults(cells: &[Cell]) -> Option<Finding> {
    const LIMIT: u64 = 16;
    let hit: Vec<(&Cell, u64)> = cells
        .iter()
        .filter_map(|cell| {
            let worst = cell
                .rounds
                .iter()
                .map(|round| {
                    round.covariates.lead.minor_faults.max(round.covariates.follow.minor_faults)
                })
                .max()?;
            (worst > LIMIT).then_some((cell, worst))
        })
        .collect();
    let (cell, worst) = hit.iter().max_by_key(|(_, worst)| *worst)?;
    let text = format!(
        "{worst} page faults inside a timed region ({}): first touches are in its tail",
        cell.id
    );
    let mut finding = finding(
        "W-FAULT",
        text,
        Some(*worst as f64),
        Some(LIMIT as f64),
        "free memory; a mechanism that allocates per message shows this by nature",
    );
    finding.cells = hit.iter().map(|(cell, _)| cell.id.clone()).collect();
    Some(finding)
}

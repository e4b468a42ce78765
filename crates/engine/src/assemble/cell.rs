//! One cell: its slices become rounds, its rounds become metrics.

use super::bound::Floors;
use super::connect;
use super::cost::{Circumstances, costs};
use super::fan;
use super::metric::{among_answered, centre, over_rounds, round_trips, times};
use super::paced::{self, PacedSlice};
use super::special::{self, Ways};
use crate::job::{FailureKind, SideReport};
use crate::plan::CellPlan;
use crate::run::{CellRun, SliceRun};
use crate::slice::StormSlice;
use ipcperf_core::result::{
    Cell, Covariates, HistogramData, KnobReading, Proof, Round, SideCovariates, SideCpu, Status,
    Timing,
};
use ipcperf_core::{KnobValue, PatternKind, units};
use ipcperf_stats::Histogram;
use std::collections::BTreeMap;

/// One slice in nanoseconds.
pub(super) struct Sliced {
    pub(super) round: Round,
    /// Per-operation samples, picoseconds; empty in batch timing.
    pub(super) histogram: Histogram,
    pub(super) ways: Ways,
    /// What a transform and its undoing cost alone.
    pub(super) transform_ns: Option<[f64; 2]>,
    /// The number this slice contributes to the centre: p50 in ns, or messages per second.
    pub(super) centre: f64,
    /// Of connections for single requests.
    pub(super) storm: Option<Box<StormSlice>>,
    /// Operations whose answer never came.
    pub(super) unanswered: u64,
    /// Where round trips began at times of their own.
    pub(super) paced: Option<PacedSlice>,
}

pub(super) fn assemble(
    run: CellRun,
    ns: f64,
    floors: &Floors,
    around: &Circumstances,
    interrupted: bool,
) -> Cell {
    let CellRun { plan, slices, ended } = run;
    let batch = slices.first().map_or(1, |slice| slice.raw.batch);
    let granted: Vec<_> =
        slices.first().map(|slice| slice.raw.effective.clone()).unwrap_or_default();
    let is_floor = plan.entry.spec.is_floor();
    let mut sliced: Vec<Sliced> =
        slices.into_iter().map(|slice| convert(slice, plan.pattern, batch, ns)).collect();
    for slice in &mut sliced {
        refuse_the_impossible(slice, &plan, floors);
    }
    let (status, reason) = verdict(&plan, ended.as_ref(), &sliced, interrupted);
    let accepted: Vec<&Sliced> =
        sliced.iter().filter(|slice| slice.round.rejected.is_none()).collect();
    let mut cell = Cell {
        id: plan.id.clone(),
        mechanism: plan.entry.spec.full_name(),
        wait: plan.entry.spec.wait,
        pattern: plan.pattern,
        size_bytes: plan.size as u64,
        placement: plan.placement,
        cpus: plan.cpus.clone(),
        idle: plan.idle,
        touch: plan.touch,
        load: plan.load.clone(),
        knobs: knobs(&plan, &granted),
        status,
        reason,
        timing: None,
        rounds: Vec::new(),
        messages: accepted.iter().map(|slice| slice.round.messages).sum(),
        lost: accepted.iter().map(|slice| slice.round.lost).sum(),
        events: summed(accepted.iter().map(|slice| &slice.round.events)),
        verified: !is_floor
            && !accepted.is_empty()
            && accepted.iter().all(|slice| slice.round.proof.holds),
        rtt_ns: None,
        one_way_ns: None,
        service_ns: None,
        pacing_ns: None,
        offered_per_second: None,
        achieved_per_second: None,
        peak_per_second: None,
        bytes_per_second: None,
        messages_per_second: None,
        fan: None,
        connect: None,
        cpu_ns_per_message: None,
        machine_cpu_ns_per_message: None,
        energy_nj_per_message: None,
        syscalls_per_message: plan.entry.spec.syscalls.per_message(),
        context_switches_per_message: None,
        voluntary_switches_per_message: None,
        involuntary_switches_per_message: None,
        page_faults_per_message: None,
        ipis_per_message: None,
        transform: None,
        bound: None,
    };
    if status == Status::Ok {
        measure(&mut cell, &accepted, batch, &plan, floors, (around, ns));
    }
    cell.rounds = sliced.into_iter().map(|slice| slice.round).collect();
    cell
}

/// Counts of the same name, added up.
fn summed<'a>(counts: impl Iterator<Item = &'a BTreeMap<String, u64>>) -> BTreeMap<String, u64> {
    let mut sums = BTreeMap::new();
    for (name, count) in counts.flatten() {
        *sums.entry(name.clone()).or_insert(0) += count;
    }
    sums
}

fn verdict(
    plan: &CellPlan,
    ended: Option<&(Status, FailureKind, String)>,
    sliced: &[Sliced],
    interrupted: bool,
) -> (Status, Option<String>) {
    if let Some(missing) = &plan.objection {
        return (Status::Unavailable, Some(missing.to_string()));
    }
    // A wrong message, a crash or a hang in any round spoils the cell: the other rounds prove nothing about it.
    if let Some((status, _, reason)) = ended {
        return (*status, Some(reason.clone()));
    }
    if let Some(unproved) = sliced.iter().find(|slice| !slice.round.proof.holds) {
        let reason = format!(
            "round {} has no proof that two processes moved every message",
            unproved.round.round
        );
        return (Status::Failed, Some(reason));
    }
    if sliced.iter().any(|slice| slice.round.rejected.is_none()) {
        return (Status::Ok, None);
    }
    match sliced.first().and_then(|slice| slice.round.rejected.clone()) {
        Some(reason) => (Status::Rejected, Some(format!("every slice was rejected: {reason}"))),
        None if interrupted => (Status::Skipped, Some("interrupted before its turn".into())),
        None => (Status::Skipped, Some("the budget ended before its turn".into())),
    }
}

pub(super) fn convert(slice: SliceRun, pattern: PatternKind, batch: u64, ns: f64) -> Sliced {
    let ways = Ways::of(&slice, ns);
    let SliceRun { round, order, cpus, nonce, raw, rejected, steal_ns } = slice;
    let [lead, follow] = &raw.sides;
    let (forth, back) = (&raw.counts[0], &raw.counts[1]);
    let ticks = Histogram::from(&raw.histogram);
    let p50 = among_answered(ticks.count(), raw.unanswered, 0.5)
        .and_then(|q| ticks.quantile(q))
        .map(|ticks| ticks as f64 * ns / raw.batch.max(1) as f64);
    let per_second = |messages: u64, ticks: u64| {
        (ticks > 0).then(|| messages as f64 / (ticks as f64 * ns) * 1e9)
    };
    let (messages, lost) = match pattern {
        PatternKind::PingPong | PatternKind::Rate => {
            (2 * raw.operations.saturating_sub(forth.lost), forth.lost)
        }
        PatternKind::Connect => (raw.operations, forth.lost),
        PatternKind::Stream | PatternKind::FanIn | PatternKind::FanOut => {
            (raw.operations, back.lost)
        }
        PatternKind::Burst => (raw.operations.saturating_sub(back.lost), back.lost),
    };
    let rate = match pattern {
        PatternKind::Stream | PatternKind::FanIn | PatternKind::FanOut | PatternKind::Connect => {
            per_second(raw.window.0, raw.window.1)
        }
        PatternKind::Burst => per_second(messages, raw.elapsed),
        PatternKind::PingPong | PatternKind::Rate => None,
    };
    let is_timed =
        matches!(pattern, PatternKind::PingPong | PatternKind::Rate | PatternKind::Burst);
    let centre = if is_timed { p50 } else { rate }.unwrap_or(f64::NAN);
    let histogram = if pattern.is_fan() || (pattern != PatternKind::Stream && batch == 1) {
        ticks.scaled(ns * 1000.0)
    } else {
        Histogram::new()
    };
    let paced = raw.paced.as_ref().map(|paced| PacedSlice::of(paced, lead, ns));
    let rates = paced.as_ref().and_then(|paced| paced.rates);
    let saturated = paced.as_ref().is_some_and(|paced| paced.saturated);
    let counts_agree = match pattern {
        PatternKind::PingPong | PatternKind::Rate => {
            forth.sent == forth.received + forth.lost
                && back.received == back.sent
                && back.received + back.lost == forth.sent
                && back.received >= forth.received
        }
        PatternKind::Stream | PatternKind::FanIn | PatternKind::FanOut | PatternKind::Burst => {
            back.received + back.lost == forth.sent
        }
        PatternKind::Connect => raw.storm.as_ref().is_some_and(|storm| storm.after.doubt.is_none()),
    };
    let nothing_to_move = forth.sent == 0;
    let proof = Proof {
        nonce: format!("{nonce:016x}"),
        lead_pid: lead.pid,
        follow_pid: follow.pid,
        lead: [forth.sent, forth.received],
        follow: [back.sent, back.received],
        fully_checked: lead.verified,
        holds: counts_agree
            && !nothing_to_move
            && lead.pid != follow.pid
            && lead.cpu_ns > 0
            && follow.cpu_ns > 0,
    };
    let round = Round {
        round,
        order,
        rejected,
        cpus,
        messages,
        bytes: 0,
        lost,
        events: summed(raw.sides.iter().map(|side| &side.events)),
        elapsed_ns: raw.elapsed as f64 * ns,
        p50_ns: p50.filter(|_| is_timed && !saturated),
        messages_per_second: rate,
        offered_per_second: rates.map(|[offered, _]| offered),
        achieved_per_second: rates.map(|[_, achieved]| achieved),
        saturated,
        histogram: (histogram.count() > 0).then(|| exported(&histogram)),
        fan: raw.fan.as_ref().map(fan::round),
        cpu_ns: SideCpu {
            lead: lead.cpu_ns,
            follow: follow.cpu_ns,
            user: lead.user_ns + follow.user_ns,
            system: lead.system_ns + follow.system_ns,
        },
        covariates: Covariates {
            cacheline_rtt_ns: lead.cacheline[0].map(|ticks| ticks * ns),
            ipis: lead.ipis,
            steal_ns,
            machine_window_ns: lead.machine.window_ns,
            machine_busy_ns: lead.machine.busy_ns,
            energy_uj: lead.machine.energy_uj,
            lead: side(lead),
            follow: side(follow),
        },
        proof,
    };
    let (unanswered, storm) = (raw.unanswered, raw.storm);
    let transform_ns = raw.sides[0].transform.map(|ticks| ticks.map(|ticks| ticks * ns));
    Sliced { round, histogram, ways, transform_ns, centre, storm, unanswered, paced }
}

fn side(report: &SideReport) -> SideCovariates {
    SideCovariates {
        voluntary_switches: report.voluntary_switches,
        involuntary_switches: report.involuntary_switches,
        minor_faults: report.minor_faults,
        major_faults: report.major_faults,
        migrations: report.migrations,
        run_delay_ns: report.run_delay_ns,
        cpu: Some(report.cpu),
    }
}

fn exported(histogram: &Histogram) -> HistogramData {
    HistogramData {
        unit: "ps".into(),
        min: histogram.min().unwrap_or(0),
        max: histogram.max().unwrap_or(0),
        sum: u64::try_from(histogram.sum()).unwrap_or(u64::MAX),
        buckets: histogram.buckets().map(|(low, _, count)| (low, count)).collect(),
    }
}

fn refuse_the_impossible(slice: &mut Sliced, plan: &CellPlan, floors: &Floors) {
    let impossible = match plan.pattern {
        PatternKind::PingPong | PatternKind::Rate | PatternKind::Burst => floors
            .round_trip_floor(plan)
            .filter(|(floor, _)| slice.centre < *floor)
            .map(|(floor, what)| {
                let (got, least) = (units::format_nanos(slice.centre), units::format_nanos(floor));
                format!("E-IMPOSSIBLE: a round trip of {got} is below {least} ({what})")
            }),
        PatternKind::Stream | PatternKind::FanIn | PatternKind::FanOut => {
            let rate = slice.centre * plan.size as f64;
            floors.stream_ceiling(plan).filter(|(ceiling, _)| rate > *ceiling).map(
                |(ceiling, what)| {
                    let (got, most) = (
                        units::format_bytes_per_second(rate),
                        units::format_bytes_per_second(ceiling),
                    );
                    format!("E-IMPOSSIBLE: {got} is above {most} ({what})")
                },
            )
        }
        PatternKind::Connect => None,
    };
    if slice.round.rejected.is_none() {
        slice.round.rejected = impossible;
    }
    slice.round.bytes = slice.round.messages * plan.size as u64;
}

fn knobs(plan: &CellPlan, granted: &[(String, KnobValue)]) -> BTreeMap<String, KnobReading> {
    let name = plan.entry.spec.name;
    plan.entry
        .knobs
        .iter()
        .map(|knob| {
            let full = format!("{name}.{}", knob.name);
            let requested = plan.options.0.get(&full).and_then(|text| {
                ipcperf_core::options::check(name, plan.entry.knobs, knob.name, text).ok()
            });
            let effective = granted
                .iter()
                .find(|(known, _)| known == knob.name)
                .map(|(_, value)| value.clone());
            (full, KnobReading { requested, effective })
        })
        .collect()
}

fn measure(
    cell: &mut Cell,
    accepted: &[&Sliced],
    batch: u64,
    plan: &CellPlan,
    floors: &Floors,
    (around, ns): (&Circumstances, f64),
) {
    let (mut centre, kept) = centre(accepted);
    let per_second =
        matches!(plan.pattern, PatternKind::Stream | PatternKind::FanIn | PatternKind::FanOut);
    let mode = if batch == 1 { "per-op" } else { "batch" };
    cell.timing = Some(Timing { mode: if per_second { "batch" } else { mode }.into(), batch });
    cell.bound = centre.value.and_then(|value| {
        floors.ratio(plan, if per_second { value * plan.size as f64 } else { value })
    });
    match plan.pattern {
        PatternKind::PingPong | PatternKind::Rate | PatternKind::Burst => {
            if batch > 1 {
                centre.reason.get_or_insert_with(|| {
                    format!("mean of {batch} operations, too short to time singly")
                });
            }
            cell.rtt_ns = Some(round_trips(accepted, &kept, batch, centre));
            cell.one_way_ns = plan.load.one_way.then(|| special::one_way(&kept));
            // Of a burst; a round trip has none.
            let rates: Vec<f64> =
                kept.iter().filter_map(|slice| slice.round.messages_per_second).collect();
            cell.messages_per_second = (!rates.is_empty()).then(|| over_rounds(&rates));
            paced::measure(cell, &kept);
        }
        PatternKind::Stream | PatternKind::FanIn | PatternKind::FanOut => {
            cell.fan = plan.pattern.is_fan().then(|| fan::cell(accepted, &kept, plan.load.peers));
            if plan.size > 0 {
                cell.bytes_per_second = Some(times(&centre, plan.size as f64));
            }
            cell.messages_per_second = Some(centre);
        }
        PatternKind::Connect => {
            cell.connect = connect::connections(accepted, &kept, plan, centre, ns);
        }
    }
    cell.transform = special::transform(plan, &kept);
    costs(cell, &kept, plan, around);
}

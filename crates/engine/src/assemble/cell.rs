//! One cell: its slices become rounds, its rounds become metrics.

use super::bound::Floors;
use super::cost::{Circumstances, costs};
use super::metric::centre;
use super::proof::counts_agree;
use super::sliced::{OwnData, SliceReading, Sliced, summed};
use super::standstill::standstill;
use super::{channels, connect, fan, feed, neighbour, serve, special, stream, trips};
use crate::job::{CallsReport, FailureKind, SideReport};
use crate::measured::{CellRun, SliceRun};
use crate::plan::CellPlan;
use crate::slice::Data;
use crate::slice::crowd::serve::parts;
use ipcperf_core::result::{
    CallTime, CallTimes, Cell, Covariates, KnobReading, ProgramEnd, Proof, Round, Scheduled,
    Shortage, SideCovariates, SideCpu, Status, Timing,
};
use ipcperf_core::{Ends, Exchange, Figure, KnobValue, PatternKind, Rated, Seat, map_of};
use ipcperf_stats::Sample;
use std::collections::BTreeMap;

pub(super) fn assemble(
    run: CellRun,
    ns: f64,
    floors: &Floors,
    around: &Circumstances,
    interrupted: bool,
) -> Cell {
    let CellRun { plan, slices, ended, calls, .. } = run;
    let batch = slices.first().map_or(1, |slice| slice.raw.batch);
    let scheduled = slices.first().and_then(|slice| scheduled(&slice.raw.sides));
    let granted: Vec<_> =
        slices.first().map(|slice| slice.raw.effective.clone()).unwrap_or_default();
    let is_floor = plan.entry.spec.is_floor();
    let read = |slice: SliceRun| {
        let standstill = standstill(&slice, &plan.key.load, ns);
        let mut sliced = convert(slice, plan.key.pattern, batch, ns);
        sliced.round.standstill = standstill;
        sliced
    };
    let mut sliced: Vec<Sliced> = slices.into_iter().map(read).collect();
    for slice in &mut sliced {
        refuse_the_impossible(slice, &plan, floors);
    }
    let (status, reason) = verdict(&plan, ended.as_ref(), &sliced, interrupted);
    let accepted: Vec<&Sliced> =
        sliced.iter().filter(|slice| slice.round.rejected.is_none()).collect();
    let mut cell = Cell {
        id: plan.id.clone(),
        key: plan.key.clone(),
        knobs: knobs(&plan, &granted),
        status,
        reason,
        messages: accepted.iter().map(|slice| slice.round.messages).sum(),
        lost: accepted.iter().map(|slice| slice.round.lost).sum(),
        events: summed(accepted.iter().map(|slice| &slice.round.events)),
        verified: !is_floor
            && !accepted.is_empty()
            && accepted.iter().all(|slice| slice.round.proof.holds),
        syscalls_per_message: plan.entry.spec.syscalls.per_message(),
        scheduled,
        neighbour: neighbour::load(&plan, accepted.iter().map(|slice| &slice.round)),
        calls: calls.map(|calls| calls_of(calls, ns)),
        ..Cell::default()
    };
    if status == Status::Ok {
        measure(&mut cell, &accepted, batch, &plan, floors, (around, ns));
    }
    cell.rounds = sliced.into_iter().map(|slice| slice.round).collect();
    cell
}

/// How the kernel scheduled both ends.
fn scheduled([lead, follow]: &[SideReport; 2]) -> Option<Scheduled> {
    Some(Scheduled { lead: lead.scheduled.clone()?, follow: follow.scheduled.clone()? })
}

/// What the system calls of both ends took, as the document has it; `ns` is the length of a tick.
#[must_use]
pub fn calls_of(calls: Result<[CallsReport; 2], String>, ns: f64) -> CallTimes {
    let ends = match calls {
        Ok(ends) => ends,
        Err(reason) => return CallTimes { reason: Some(reason), ..CallTimes::default() },
    };
    let empty = ends.iter().map(|end| end.empty * ns).fold(0.0, f64::max);
    let [lead, follow] = ends.map(|end| {
        let messages = end.messages.max(1) as f64;
        let one = |(name, (times, median, mean))| {
            let per_message = times as f64 / messages;
            (name, CallTime { per_message, median_ns: median * ns, mean_ns: mean * ns })
        };
        map_of(end.calls.into_iter().map(one))
    });
    CallTimes { reason: None, empty_call_ns: Some(empty), lead, follow }
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

fn read(slice: &SliceRun, pattern: PatternKind, batch: u64, ns: f64) -> SliceReading {
    match &slice.raw.data {
        Data::Trips(data) => trips::reading(data, slice, pattern.facts(), batch, ns),
        Data::Stream(window) => stream::reading(*window, &slice.raw, ns),
        Data::Fan(data) => fan::reading(data, &slice.raw, pattern.facts().to_each, ns),
        Data::Feed(data) => feed::reading(data, &slice.raw, ns),
        Data::Crowd(data) if pattern.facts().ends == Ends::Connected => {
            serve::reading(data, &slice.raw, ns)
        }
        Data::Crowd(data) => connect::reading(data, ns),
    }
}

/// The primary metric of a cell in each round that counts so far: to decide what is measured next. The document
/// may leave out more of them. `ns` is the length of a tick.
#[must_use]
pub fn figures_of(cell: &CellRun, ns: f64) -> BTreeMap<u64, f64> {
    let pattern = cell.plan.key.pattern;
    let batch = cell.slices.first().map_or(1, |slice| slice.raw.batch);
    let counts = cell.slices.iter().filter(|slice| slice.rejected.is_none());
    let figure = |slice: &SliceRun| {
        let SliceReading { p50, rate, own, .. } = read(slice, pattern, batch, ns);
        let saturated = own.paced().is_some_and(|one| one.saturated);
        match pattern.facts().figure {
            Figure::Time => p50.filter(|_| !saturated),
            Figure::Throughput | Figure::Requests => rate,
        }
    };
    map_of(counts.filter_map(|slice| Some((slice.round, figure(slice)?))))
}

pub(super) fn convert(slice: SliceRun, pattern: PatternKind, batch: u64, ns: f64) -> Sliced {
    let facts = pattern.facts();
    let lost = slice.raw.counts[facts.exchange.counted_by().index()].lost;
    let agrees = match &slice.raw.data {
        Data::Crowd(crowd) => crowd.after.doubt.is_none(),
        _ => counts_agree(&slice.raw.counts, facts.exchange),
    };
    let reading = read(&slice, pattern, batch, ns);
    let SliceRun { round, order, cpus, nonce, raw, rejected, steal_ns, planned } = slice;
    let ([lead, follow], [forth, back]) = (&raw.sides, &raw.counts);
    let SliceReading { operations, p50, mean, rate, histogram, unanswered, fan, own } = reading;
    let paced = own.paced();
    let feed = if let OwnData::Feed(feed) = &own { Some(feed.round.clone()) } else { None };
    let is_answers = facts.rate == Some(Rated::Answered);
    let saturated = paced.is_some_and(|paced| paced.saturated);
    let program = follow.program.as_ref().map(|program| {
        let [first, warmup] = lead.answered.unwrap_or_default();
        ProgramEnd {
            first_answer_ns: first.saturating_sub(program.start_ns) as f64,
            warmup_ns: warmup as f64,
            processes: program.most[0],
            threads: program.most[1],
            is_incomplete: program.is_incomplete,
            said: program.said.clone(),
        }
    });
    // Of a crowd the consumption of the timed region is its share of the answers, and none where none came in time: what both
    // consumed from the first request on is the evidence.
    let used_cpu = |end: Seat| match &raw.data {
        Data::Crowd(crowd) => crowd.after.spent[end.index()].cpu_ns > 0,
        _ => raw.sides[end.index()].spent.cpu_ns > 0,
    };
    let proof = Proof {
        nonce: format!("{nonce:016x}"),
        lead_pid: lead.pid,
        follow_pid: follow.pid,
        lead: [forth.sent, forth.received],
        follow: [back.sent, back.received],
        fully_checked: lead.verified,
        holds: agrees
            && raw.channels.as_ref().is_none_or(|all| channels::all_proved(all, facts.exchange))
            && forth.sent > 0
            && lead.pid != follow.pid
            && used_cpu(Seat::Lead)
            && (used_cpu(Seat::Follow) || program.as_ref().is_some_and(|one| one.is_incomplete)),
    };
    let moved = match &raw.data {
        Data::Crowd(crowd) => crowd.after.timed(crowd.after.all[1]),
        _ => forth.received + back.received,
    };
    let round = Round {
        round,
        stage: None,
        order,
        rejected,
        cpus,
        messages: operations * facts.exchange.messages(),
        moved: Some(moved),
        bytes: 0,
        lost,
        events: summed(raw.sides.iter().map(|side| &side.events)),
        unanswered,
        elapsed_ns: raw.elapsed as f64 * ns,
        planned_ns: planned.map(|ticks| ticks as f64 * ns),
        p50_ns: p50.filter(|_| !saturated),
        mean_ns: mean.filter(|_| !saturated),
        messages_per_second: rate.filter(|_| !is_answers),
        offered_per_second: paced.and_then(|paced| paced.offered),
        achieved_per_second: rate.filter(|_| is_answers),
        saturated,
        histogram: (histogram.count() > 0).then(|| (&histogram).into()),
        fan,
        feed,
        channels: raw.channels.as_ref().map(|all| channels::round(all, facts.exchange, ns)),
        program,
        standstill: None,
        neighbour: lead.neighbour,
        cpu_ns: SideCpu {
            lead: lead.spent.cpu_ns,
            follow: follow.spent.cpu_ns,
            user: lead.spent.user_ns + follow.spent.user_ns,
            system: lead.spent.system_ns + follow.spent.system_ns,
        },
        covariates: Covariates {
            cacheline_rtt_ns: lead.cacheline[0].map(|ticks| ticks * ns),
            cacheline_rtt_after_ns: lead.cacheline[1].map(|ticks| ticks * ns),
            ipis: lead.ipis,
            steal_ns,
            machine_window_ns: lead.machine.window_ns,
            machine_busy_ns: lead.machine.busy_ns,
            energy_uj: lead.machine.energy_uj,
            lead: side(lead, ns),
            follow: side(follow, ns),
        },
        proof,
    };
    let centre = if facts.figure == Figure::Time { p50 } else { rate }.unwrap_or(f64::NAN);
    let transform_ns = lead.transform.map(|ticks| ticks.map(|ticks| ticks * ns));
    let mean = mean.unwrap_or(f64::INFINITY);
    let lines = lead.cacheline.map(|line| line.map(|ticks| ticks * ns));
    Sliced { round, histogram, unanswered, transform_ns, mean, lines, centre, own }
}

fn side(report: &SideReport, ns: f64) -> SideCovariates {
    let step = |[before, after]: [Option<f64>; 2]| Some((before? + after?) / 2.0 * ns);
    SideCovariates {
        voluntary_switches: report.spent.voluntary_switches,
        involuntary_switches: report.spent.involuntary_switches,
        minor_faults: report.spent.minor_faults,
        major_faults: report.spent.major_faults,
        migrations: report.migrations,
        run_delay_ns: report.run_delay_ns,
        cpu: Some(report.cpu),
        tracer: report.tracer,
        step_ns: step(report.step),
    }
}

fn refuse_the_impossible(slice: &mut Sliced, plan: &CellPlan, floors: &Floors) {
    let impossible = match plan.key.pattern.facts().figure {
        // The limits are those of a round trip.
        Figure::Time if plan.key.pattern.many().is_some() => None,
        Figure::Time => {
            // A neighbour may have slowed down the readings around a slice and not the slice.
            let is_alone = plan.key.load.neighbour.is_none();
            floors.too_fast(plan, slice.lines.map(|line| line.filter(|_| is_alone)), slice.centre)
        }
        // What one channel can carry is no limit of several.
        Figure::Throughput => {
            let channels = plan.key.load.channels.max(1) as f64;
            floors.too_much(plan, slice.centre / channels * plan.key.size_bytes as f64)
        }
        Figure::Requests => None,
    };
    if slice.round.rejected.is_none() {
        slice.round.rejected = impossible;
    }
    if let Some(crowd) = slice.crowd()
        && plan.key.pattern.facts().ends == Ends::Connected
    {
        slice.round.bytes = serve::bytes(crowd, &parts(&plan.key));
        return;
    }
    let Round { messages, bytes, .. } = &mut slice.round;
    let answer = plan.key.load.answer(plan.key.pattern, plan.key.size()) as u64;
    *bytes = match plan.key.pattern.facts().exchange {
        Exchange::RoundTrip => *messages / 2 * (plan.key.size_bytes + answer),
        Exchange::OneWay | Exchange::Request => *messages * plan.key.size_bytes,
    };
}

fn knobs(plan: &CellPlan, granted: &[(String, KnobValue)]) -> BTreeMap<String, KnobReading> {
    let name = plan.entry.spec.name;
    map_of(plan.entry.knobs.iter().map(|knob| {
        let full = format!("{name}.{}", knob.name);
        let requested = plan.options.0.get(&full).and_then(|text| {
            ipcperf_core::options::check(name, plan.entry.knobs, knob.name, text).ok()
        });
        let effective =
            granted.iter().find(|(known, _)| known == knob.name).map(|(_, value)| value.clone());
        let usual = plan.usual.as_ref().filter(|usual| {
            let is_less = |value: &KnobValue| matches!(value, KnobValue::Number(value) if *value < usual.value);
            usual.knob == knob.name && requested.is_none() && effective.as_ref().is_some_and(is_less)
        });
        let shortage = usual.map(|usual| Shortage {
            usual: usual.value,
            reason: usual.less.what.clone(),
            remedy: usual.less.how.clone(),
        });
        (full, KnobReading { requested, effective, shortage })
    }))
}

fn measure(
    cell: &mut Cell,
    accepted: &[&Sliced],
    batch: u64,
    plan: &CellPlan,
    floors: &Floors,
    (around, ns): (&Circumstances, f64),
) {
    let figure = plan.key.pattern.facts().figure;
    let (centre, kept) = centre(accepted, figure);
    let is_single = batch == 1 && figure != Figure::Throughput;
    cell.timing = Some(Timing { mode: if is_single { "per-op" } else { "batch" }.into(), batch });
    let size = if figure == Figure::Throughput { plan.key.size_bytes as f64 } else { 1.0 };
    let is_one = plan.key.load.channels <= 1;
    let bound = |value| floors.ratio(plan, value * size).filter(|_| is_one);
    cell.bound = centre.value.and_then(bound);
    match figure {
        Figure::Time => {
            trips::measure(cell, accepted, &kept, batch, centre);
            cell.feed = feed::cell(accepted, &kept);
        }
        Figure::Throughput => {
            let is_fan = cell.key.pattern.is_shared();
            cell.fan = is_fan.then(|| fan::cell(accepted, &kept, &cell.key));
            stream::measure(cell, centre);
        }
        Figure::Requests if cell.key.pattern.facts().ends == Ends::Connected => {
            serve::measure(cell, accepted, &kept, plan, centre, ns);
        }
        Figure::Requests => {
            cell.connect = connect::connections(accepted, &kept, plan, centre, ns);
        }
    }
    if plan.key.load.channels > 0 {
        cell.channels = Some(channels::cell(&kept, plan));
    }
    cell.transform = special::transform(plan, &kept);
    costs(cell, &kept, plan, around);
}

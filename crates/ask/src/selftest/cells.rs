//! Results that a cell must show whatever the machine is: nothing wrong in sound runs, exact counts, and every planted
//! fault.

use super::check::{Found, cannot_tell, failed, passed, told};
use super::injectors::{Does, Injector};
use super::sign::{errors, listed};
use super::stage::{Act, Halt, Stage};
use ipcperf_core::Seat;
use ipcperf_core::result::{Cell, Round, Status};
use ipcperf_core::units::format_nanos;
use ipcperf_engine::inject::{BURNT, Effect, Injection};
use ipcperf_stats::{Histogram, median, robust_cv};

/// Where nothing is wrong nothing is told: every message arrives, and no slice is left out.
pub(super) fn sound(stage: &Stage<'_>) -> Result<Found, Halt> {
    let act = Act { rounds: 2, slice_ms: 50, bounds: true, ..Act::of("pipe 64 same-cpu") };
    let set = stage.play(&act, &[&[]])?;
    let Some(cell) = set.cells.first() else { return Ok(failed("no cell")) };
    let wrong = errors(&set);
    let is_sound = cell.status == Status::Ok && cell.verified && wrong.is_empty();
    let reason = cell.reason.clone().unwrap_or_default();
    let what = if is_sound {
        format!("{} messages of a pipe, each proved", cell.messages)
    } else {
        let wrong = listed(&wrong);
        format!("a pipe: {:?} {reason} {wrong}", cell.status).trim_end().to_owned()
    };
    Ok(told(is_sound, what))
}

/// The noise grade of a cell that spins on two CPUs, which other work cannot hide from, or of a pipe on one.
pub(super) fn quiet_machine(stage: &Stage<'_>) -> Result<Found, Halt> {
    let act = Act { rounds: 8, slice_ms: 100, ..Act::of("shm-ring/spin 64") };
    let set = match stage.play(&act, &[&[]]) {
        Err(Halt::Missing(_)) => stage.play(&Act { cell: "pipe 64 same-cpu", ..act }, &[&[]])?,
        played => played?,
    };
    let grade = &set.noise.grade;
    let because =
        if set.noise.causes.is_empty() { "quiet".into() } else { set.noise.causes.join("; ") };
    let what = format!("noise grade {grade} ({because})");
    if grade == "none" {
        return Ok(cannot_tell(what));
    }
    let wrong = errors(&set).pop_first();
    Ok(match (grade.as_str(), wrong) {
        ("A" | "B" | "C", None) => passed(what),
        ("A" | "B" | "C", Some(sign)) => cannot_tell(format!("{what}, {sign}")),
        ("D", _) => cannot_tell(format!("{what}: only differences of 10 % and more")),
        _ => failed(format!("{what}: it measures other work")),
    })
}

/// A stop of 100 ms stands in the tail of an open loop, and in that of a closed one it does not.
pub(super) fn omission(stage: &Stage<'_>) -> Result<Found, Halt> {
    let act = |cell| Act { slice_ms: 2_200, ..Act::of(cell) };
    let open = stage.play_one(&act("pipe 64 same-cpu rate rate=10k stall=100ms"))?;
    let closed = stage.play_one(&act("pipe 64 same-cpu stall=100ms"))?;
    let figure = |cell: &Cell, name: &str| {
        cell.rtt_ns.as_ref().and_then(|table| table.get(name)).and_then(|metric| metric.value)
    };
    let (Some(shown), Some(hidden), Some(longest)) =
        (figure(&open, "p99.9"), figure(&closed, "p99.9"), figure(&closed, "max"))
    else {
        let why = [&open, &closed].into_iter().find_map(|cell| cell.reason.clone());
        return Ok(cannot_tell(why.unwrap_or_else(|| "too few messages for p99.9".into())));
    };
    let what =
        format!("100 ms stop: p99.9 open {}, closed {}", format_nanos(shown), format_nanos(hidden));
    // Of 100 ms in 2.2 s one message in 22 is late; one in a thousand by 98 ms.
    let is_so = shown >= 85e6 && longest >= 95e6 && hidden < shown / 3.0;
    Ok(told(is_so, what))
}

/// How long the producer of a feed is held up before one message, and what more a machine may add to it.
const HELD_UP_NS: u64 = 5_000_000;
const MORE_NS: f64 = 0.3e6;

/// A feed whose producer is held up once shows it in the longest time and in all messages that were due meanwhile.
pub(super) fn feed(stage: &Stage<'_>) -> Result<Found, Halt> {
    let act = Act {
        slice_ms: 100,
        ..Act::of("pipe 64 same-cpu feed rate=10k arrivals=constant peers=1")
    };
    // Of about 1,000, in their middle.
    let once = Injection::once(Seat::Lead, Effect::Stall, HELD_UP_NS, 500);
    let cell = stage.play_with(&act, &[Injector { name: "held-up", does: Does::Port(once) }])?;
    let round = cell.rounds.first();
    let data = round.and_then(|round| round.histogram.as_ref());
    let Some(times) = data.and_then(Histogram::recorded).filter(|times| times.count() > 0) else {
        return Ok(cannot_tell(cell.reason.unwrap_or_else(|| "no message was timed".into())));
    };
    let longest = times.max().unwrap_or(0) as f64 / 1e3;
    // One each 0.1 ms: 40 of them were due in the first 4 ms.
    let late = times.count_above(1_000_000_000);
    let wanted = HELD_UP_NS as f64;
    let what =
        format!("5 ms before one message: max {}, {late} late by 1 ms", format_nanos(longest));
    Ok(if longest < wanted || late < 40 {
        failed(what)
    } else if longest > wanted + MORE_NS {
        cannot_tell(format!("{what}: other work held it up, too"))
    } else {
        passed(what)
    })
}

/// What each message burns: long, so that what is called between two of them is less than a thousandth.
const BURNT_NS: u64 = 20_000_000;

/// The CPU time of a process is what it used, to half a percent.
pub(super) fn cpu(stage: &Stage<'_>) -> Result<Found, Halt> {
    let burn = Injector {
        name: "burn",
        does: Does::Port(Injection {
            every: 1,
            ..Injection::once(Seat::Lead, Effect::Burn, BURNT_NS, 17)
        }),
    };
    // As long as it takes at the least; what it has to do decides.
    let act = Act { operations: 20, slice_ms: 400, ..Act::of("null same-cpu") };
    let cell = stage.play_with(&act, &[burn])?;
    let Some(round) = cell.rounds.first() else { return Ok(failed("no round")) };
    let used = round.events.get(BURNT).copied().unwrap_or(0) as f64;
    let share = round.cpu_ns.lead as f64 / used;
    let what = format!("{} used, {:.2} % accounted for", format_nanos(used), share * 100.0);
    Ok(told((share - 1.0).abs() <= 0.005, what))
}

/// A round trip over a pipe is four system calls, and nothing else is called while it is timed; the floor makes none. No
/// page is touched for the first time.
pub(super) fn calls(stage: &Stage<'_>) -> Result<Found, Halt> {
    let timed = |cell| Act { operations: 1000, time_calls: true, ..Act::of(cell) };
    let mut total = 0.0;
    for (name, wanted) in [("null same-cpu", &[][..]), ("pipe 64 same-cpu", &["read", "write"])] {
        let cell = stage.play_one(&timed(name))?;
        let Some(calls) = cell.calls else { return Ok(failed("no calls were timed")) };
        if let Some(reason) = calls.reason {
            return Ok(cannot_tell(reason));
        }
        for end in [&calls.lead, &calls.follow] {
            let names: Vec<&str> = end.keys().map(String::as_str).collect();
            let each: Vec<f64> = end.values().map(|call| call.per_message).collect();
            if names != wanted || each.iter().any(|times| *times != 1.0) {
                let what = format!("{name}: {names:?}, {each:?} times a message");
                return Ok(failed(what));
            }
            total += each.iter().sum::<f64>();
        }
    }
    let faults = |round: &Round| {
        let [lead, follow] = [&round.covariates.lead, &round.covariates.follow];
        lead.minor_faults.max(follow.minor_faults) + lead.major_faults + follow.major_faults
    };
    let act = Act { rounds: 3, slice_ms: 50, ..Act::of("pipe 64 same-cpu") };
    // What is touched for the first time is so in every slice; what the kernel does to a page is not.
    let least = stage.play_one(&act)?.rounds.iter().map(faults).min().unwrap_or(u64::MAX);
    let what = format!("{total:.2} calls a round trip, {least} page faults a slice");
    Ok(told(total == 4.0 && least == 0, what))
}

/// 50 ns more in each round trip are found, to 10 ns. Both arms do work: its ends overlap with the readings of the clock
/// around it, which hid 10 to 20 of the 50 ns beside an arm that did none.
pub(super) fn planted(stage: &Stage<'_>) -> Result<Found, Halt> {
    const PLANTED: f64 = 50.0;
    const LIMIT: f64 = 10.0;
    let delay = |ns| [Injector::always("planted", Effect::Delay, ns)];
    let act = Act { rounds: 12, slice_ms: 20, bounds: true, ..Act::of("null same-cpu") };
    let set = stage.play(&act, &[&delay(50), &delay(100)])?;
    let [without, with] = set.cells.as_slice() else { return Ok(failed("no cells")) };
    let times = |cell: &Cell| cell.rounds.iter().filter_map(|round| round.p50_ns).collect();
    let [without, with]: [Vec<f64>; 2] = [times(without), times(with)];
    let found: Vec<f64> = without.iter().zip(&with).map(|(without, with)| with - without).collect();
    let (Some(typical), Some(spread)) = (median(&found), robust_cv(&found)) else {
        return Ok(failed("no round has a figure"));
    };
    let what = format!("50 ns more in each round trip, found as {typical:.1} ns");
    Ok(if (typical - PLANTED).abs() <= LIMIT {
        passed(what)
    } else if (typical - PLANTED).abs() <= PLANTED / 2.0 {
        // Work was calibrated in long runs, and a CPU may do it faster in short ones or later.
        cannot_tell(format!("{what}: the work itself is not known better"))
    } else if spread * typical.abs() > LIMIT {
        cannot_tell(format!("{what}; the rounds differ by {:.0} %", spread * 100.0))
    } else {
        failed(what)
    })
}

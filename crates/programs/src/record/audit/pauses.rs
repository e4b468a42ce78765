//! Ends that sleep in what is timed, and schedules that a slow answer keeps back.

use super::examined::{Examined, Said, length, listed, of, timed, times, weighed};
use super::findings;
use super::group::{FEW, Group};
use super::spans::{calls_of, share};
use super::timed::Timed;
use crate::record::calls::{Act, Call};
use crate::record::channels::Move;
use crate::record::intervals::Intervals;
use ipcperf_core::result::{Finding, Severity};
use std::collections::BTreeMap;

/// Sleeps that are less than this share of what is timed are those of a scheduler in the program.
const NOTED: f64 = 0.001;

/// A shorter sleep is one turn of a loop that waits for a word in memory, ns.
const SPIN: u64 = 50_000;

/// An end that answers sleeps at least so often for each message that it takes, or it is only slow at times.
const OFTEN: f64 = 0.2;

/// Lengths of sleeps until a time differ by less than this share of them where each may be the same.
const SAME: f64 = 0.03;

/// When the process that reads the clock waits for others.
fn waiting(examined: &Examined<'_>, group: &Group, timed: &Timed) -> Intervals {
    let is_end = group.processes.contains_key(&timed.process);
    let waits = |call: &&Call| {
        call.process == timed.process
            && (call.awaited() || call.takes() || matches!(call.act(), Act::Read(_)))
    };
    if is_end && !timed.is_mixed {
        let all = examined.log.calls.iter().filter(waits).map(|call| (call.begun, call.ended));
        Intervals::of(all.collect())
    } else {
        Intervals::of(timed.spans.clone())
    }
}

/// What its process moves next after a call, and moved last before it.
fn around<'a>(moves: &'a [Move], call: &Call) -> [Option<&'a Move>; 2] {
    let next = moves.partition_point(|one| one.ended <= call.ended);
    [moves.get(next), next.checked_sub(1).and_then(|before| moves.get(before))]
}

/// It let time pass, and went on by itself.
fn is_asleep(call: &Call, moves: &[Move]) -> bool {
    let is_long = call.sleep_length().is_none_or(|length| length >= SPIN);
    if call.sleeps() {
        return is_long;
    }
    // What runtimes sleep by is a wait until a time, after which they write without having read anything.
    call.timed_out() && matches!(around(moves, call), [Some(next), _] if next.is_out)
}

/// How long it was to sleep, ns.
fn wanted(call: &Call) -> Option<u64> {
    let until = call.sleeps_until().map(|until| until.saturating_sub(call.begun));
    call.sleep_length().or(until)
}

/// Whether the lengths of sleeps differ; `None` where that cannot be said: what was to last until a time may have begun later.
fn differ(calls: &[&Call]) -> Option<bool> {
    let lengths: Option<Vec<u64>> = calls.iter().map(|call| call.sleep_length()).collect();
    if let Some(lengths) = lengths {
        return Some(differences(lengths)? > 0.0);
    }
    let until: Option<Vec<u64>> = calls.iter().map(|call| wanted(call)).collect();
    (differences(until?)? > SAME).then_some(true)
}

/// How much the values differ from the middle one, as a share of it.
fn differences(mut values: Vec<u64>) -> Option<f64> {
    let middle = |all: &mut Vec<u64>| {
        all.sort_unstable();
        all.get(all.len() / 2).copied()
    };
    let usual = middle(&mut values)?;
    let mut differences = values.iter().map(|value| value.abs_diff(usual)).collect();
    Some(middle(&mut differences)? as f64 / usual.max(1) as f64)
}

/// Sleeps that come first in spans of single messages: such a time may begin when the message is due.
fn is_until_due(timed: &Timed, group: &Group, calls: &[&Call]) -> bool {
    let Some(moves) = group.processes.get(&timed.process) else { return false };
    let is_first = |call: &&&Call| {
        let first = timed.spans.partition_point(|span| span.1 <= call.begun);
        let span = timed.spans.get(first);
        span.is_some_and(|span| {
            moves.iter().all(|one| one.ended <= span.0 || one.begun >= call.begun)
        })
    };
    timed.rounds().is_none()
        && calls.iter().filter(is_first).count() * 2 > calls.len()
        && differ(calls) != Some(false)
}

pub(super) fn sleeping(examined: &Examined<'_>) -> Said {
    let mut found = Vec::new();
    for timed in timed(examined)? {
        let Some(group) = examined.groups.get(timed.group) else { continue };
        let spans = Intervals::of(timed.spans.clone());
        let waiting = waiting(examined, group, timed);
        let mut threads: BTreeMap<u32, (u64, Vec<&Call>)> = BTreeMap::new();
        for (call, part) in calls_of(examined, group, &spans) {
            let moves = group.processes.get(&call.process).map_or(&[][..], Vec::as_slice);
            // A thread that moves no data, or none any longer, does not delay messages by its sleep.
            let is_between = moves.iter().any(|one| one.thread == call.thread)
                && moves.last().is_some_and(|last| last.ended > call.begun);
            if !is_between || !is_asleep(call, moves) {
                continue;
            }
            let is_own = call.process == timed.process;
            let part =
                if is_own { part } else { waiting.overlap(call.begun, call.ended).min(part) };
            if part > 0 {
                // Threads of some runtimes take turns.
                let (sum, calls) = threads.entry(call.process).or_default();
                *sum += part;
                calls.push(call);
            }
        }
        let longest = threads.into_values().max_by_key(|(sum, _)| *sum);
        let Some((sum, calls)) = longest else { continue };
        let Some(first) = calls.first() else { continue };
        if (sum as f64) < NOTED * length(&timed.spans) as f64 {
            continue;
        }
        let words = format!(
            "{} sleeps {} inside the timed span ({}): {}",
            examined.log.program(first.process),
            times(calls.len(), "time"),
            listed(&calls),
            share(sum, &timed.spans),
        );
        let finding = weighed(sum, length(&timed.spans), findings::SLEEP_TIMED.found(&[&words]));
        let is_own = first.process == timed.process;
        let reads =
            group.processes.get(&first.process).into_iter().flatten().filter(|one| !one.is_out);
        let is_rare = !is_own && (calls.len() as f64) < OFTEN * reads.count() as f64;
        let is_doubtful = timed.is_mixed || is_rare || is_own && is_until_due(timed, group, &calls);
        let finding = Finding {
            severity: if is_doubtful { Severity::Info } else { finding.severity },
            ..finding
        };
        found.push(of(group, finding));
    }
    Ok(found)
}

/// A message of a schedule: it is sent after a sleep, or at once if an earlier answer came late.
struct Sent<'a> {
    at: &'a Move,
    /// What was slept before it, since the message before.
    slept: Option<&'a Call>,
    /// A clock was read between the sleep and the message.
    is_timed: bool,
}

/// At least this share of the messages are timed after a sleep.
const MOSTLY: f64 = 0.5;

/// So many messages at least are sent after a sleep, and so many later than they are due.
const SOME: usize = 5;

/// Deadlines of sleeps are as far from each other as the usual ones, to this share, and so are most of them.
const EVENLY: f64 = 0.01;
const MOST: f64 = 0.8;

pub(super) fn omission(examined: &Examined<'_>) -> Said {
    let mut found = Vec::new();
    for timed in timed(examined)?.iter().filter(|timed| timed.rounds().is_none()) {
        let Some(group) = examined.groups.get(timed.group) else { continue };
        if let Some(words) = omits(examined, group, timed) {
            found.push(of(group, findings::OMISSION.found(&[&words])));
        }
    }
    Ok(found)
}

fn omits(examined: &Examined<'_>, group: &Group, timed: &Timed) -> Option<String> {
    let moves = group.processes.get(&timed.process)?;
    let sleeps: Vec<&Call> = examined
        .log
        .calls
        .iter()
        .filter(|call| call.process == timed.process && is_asleep(call, moves))
        .filter(|call| wanted(call).is_none_or(|length| length >= SPIN))
        .collect();
    let mut sent: Vec<Sent<'_>> = Vec::new();
    let mut last = 0;
    for (at, one) in moves.iter().enumerate().filter(|(_, one)| one.is_out) {
        // Only the first part of a message is sent when it is due.
        if at > 0 && moves[at - 1].is_out {
            continue;
        }
        let slept = sleeps.partition_point(|call| call.ended <= one.begun);
        let slept =
            slept.checked_sub(1).map(|before| sleeps[before]).filter(|call| call.begun >= last);
        let from = slept.map_or(last, |call| call.ended);
        let is_timed = timed
            .spans
            .iter()
            .any(|span| span.0 >= from && span.0 <= one.begun && span.1 > one.ended);
        sent.push(Sent { at: one, slept, is_timed });
        last = one.ended;
    }
    let slept: Vec<&Call> = sent.iter().filter_map(|one| one.slept).collect();
    // Where the time begins when a message is due, no clock is read between the sleep and the message.
    let timed_after = sent.iter().filter(|one| one.slept.is_some() && one.is_timed).count();
    let is_timed = timed_after as f64 >= MOSTLY * slept.len() as f64;
    let is_scheduled = is_scheduled(examined, timed);
    let least = if is_scheduled { 1 } else { SOME };
    if sent.len() < FEW || !is_timed || slept.len() < least {
        return None;
    }
    let late = sent.len() - slept.len();
    let is_late = late >= SOME && differ(&slept) == Some(true);
    (is_late || is_scheduled || looks_twice(timed, &sent)).then(|| {
        let who = examined.log.program(timed.process);
        let kept_back = match is_late {
            true => format!("; {} were sent late", times(late, "message")),
            false => String::new(),
        };
        format!(
            "{who} sleeps until each of {} is due and reads the clock only then{kept_back}",
            times(sent.len(), "message")
        )
    })
}

/// Deadlines that the program has set by itself lie evenly, those that were over as well.
fn is_scheduled(examined: &Examined<'_>, timed: &Timed) -> bool {
    let own = examined.log.calls.iter().filter(|call| call.process == timed.process);
    let until: Vec<u64> = own.filter_map(Call::sleeps_until).collect();
    let mut steps: Vec<u64> = until.windows(2).map(|two| two[1].saturating_sub(two[0])).collect();
    steps.sort_unstable();
    let usual = steps.get(steps.len() / 2).copied().unwrap_or(0);
    let is_even = |step: &&u64| step.abs_diff(usual) as f64 <= EVENLY * usual as f64;
    let even = steps.iter().filter(is_even).count();
    usual > 0 && even >= FEW && even as f64 >= MOST * steps.len() as f64
}

/// The clock is read twice between an answer and the next sleep: at the end of the one message, and to learn how long it is until
/// the next one is due.
fn looks_twice(timed: &Timed, sent: &[Sent<'_>]) -> bool {
    let looks = |from: u64, to: u64| {
        let before = |time: u64| timed.looks.partition_point(|look| *look < time);
        before(to).saturating_sub(before(from))
    };
    let between = sent.windows(2).filter_map(|two| Some((two[0].at.ended, two[1].slept?.begun)));
    let between: Vec<(u64, u64)> = between.collect();
    let twice = between.iter().filter(|(from, to)| looks(*from, *to) >= 2).count();
    !timed.is_mixed && twice as f64 >= MOSTLY * between.len() as f64
}

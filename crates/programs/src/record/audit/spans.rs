//! What is included in the time that a benchmark measures, beside its messages.

use super::examined::{Examined, Said, length, listed, of, rounds, times, weighed, weighed_calls};
use super::findings;
use super::group::{FEW, Group};
use super::looks::has_runtime;
use super::timed::{Timed, calls_within};
use crate::record::calls::{Act, Call};
use crate::record::intervals::Intervals;
use ipcperf_core::result::Finding;
use ipcperf_core::units::{format_nanos, percent};
use ipcperf_sys::trace::name;
use std::collections::{BTreeMap, BTreeSet};

/// A wait for a timeout that is longer than this is noticed, ns.
const LONG: u64 = 50_000_000;

/// More such waits than this are how the program works, not how it ends.
const ONCE: usize = 2;

/// Processes that are started less often than this for each message are no part of the messages.
const SELDOM: f64 = 0.1;

/// Something is done with each message if it is done with this share of them.
const EACH: f64 = 0.5;

/// A first message, or a gap, is noticed that takes longer than this (ns), so many times longer than the next longest gap, and
/// more than this share of what is timed: busy machines have others.
const SLOW: u64 = 40_000_000;
const SLOWER: u64 = 3;
const SLOW_SHARE: f64 = 0.1;

/// `20.7 ms of 2.31 s`, and in how many rounds if there are several.
pub(super) fn share(part: u64, spans: &[(u64, u64)]) -> String {
    let of = format!("{} of {}", format_nanos(part as f64), format_nanos(length(spans) as f64));
    match spans.len() {
        1 => of,
        many => format!("{of} in {}", times(many, "round")),
    }
}

/// The call that made a process with an end of the channel which was not ready when the clock was read (it had not used a
/// channel, not waited, and not signalled that it runs), and the time from that look until it was ready.
fn begun_within<'a>(
    examined: &Examined<'a>,
    group: &Group,
    timed: &Timed,
    spans: &[(u64, u64)],
) -> Option<(&'a Call, u64)> {
    let mut longest = None;
    for made in group.processes.keys().filter(|process| **process != timed.process) {
        let is_of = |call: &&Call| {
            call.made() == Some(*made) && examined.is_of(call.process, timed.process)
        };
        let Some(call) = examined.log.calls.iter().find(is_of) else { continue };
        let loaded = examined.log.loaded.get(made).copied().unwrap_or(0);
        let mut own =
            examined.log.calls.iter().filter(|call| call.process == *made && call.begun >= loaded);
        let Some(ready) = own.find(|call| {
            examined.log.kind(call.object).is_some() && !call.closes() || call.is_ready()
        }) else {
            continue;
        };
        let span = spans.iter().find(|span| span.0 >= call.begun && ready.begun < span.1);
        let time = span.map_or(0, |span| ready.begun.saturating_sub(span.0));
        if time > 0 && longest.is_none_or(|(_, most)| time > most) {
            longest = Some((call, time));
        }
    }
    longest
}

pub(super) fn setup(examined: &Examined<'_>) -> Said {
    let mut found = Vec::new();
    for (timed, group, spans) in rounds(examined)? {
        let has_many = Examined::connects_often(group);
        let (mut calls, mut part, mut within) = (Vec::new(), 0, 0);
        for span in spans {
            let of_span =
                || group.writes.iter().filter(|one| one.begun > span.0 && one.begun < span.1);
            let Some(first) = of_span().next().map(|one| one.begun) else { continue };
            let last = of_span().next_back().map_or(first, |one| one.begun);
            let is_of = |call: &&Call| examined.is_of(call.process, timed.process);
            let before: Vec<&Call> = calls_within(examined.log, (span.0, first))
                .filter(is_of)
                .filter(|call| examined.starts(call) || call.connects() && !has_many)
                .collect();
            // Runtimes make sockets for themselves.
            let before = if before.iter().any(|call| examined.starts(call) || !call.makes())
                || !has_runtime(examined.log, timed.process)
            {
                before
            } else {
                Vec::new()
            };
            part += if before.is_empty() { 0 } else { first - span.0 };
            calls.extend(before);
            // Processes that are made between messages; one for each message is what is measured.
            let between: Vec<&Call> = calls_within(examined.log, (first, last))
                .filter(is_of)
                .filter(|call| examined.starts(call))
                .collect();
            if (between.len() as f64) < SELDOM * of_span().count() as f64 {
                let lengths = between.iter().map(|call| call.ended.saturating_sub(call.begun));
                part += lengths.sum::<u64>();
                within += between.len();
                calls.extend(between);
            }
        }
        if !calls.is_empty() {
            let when = if within == calls.len() {
                "among the messages"
            } else {
                "before the first message"
            };
            let words = format!(
                "{} reads the clock before the calls {}: {} {when}",
                examined.log.program(timed.process),
                listed(&calls),
                share(part, spans),
            );
            let finding = findings::SETUP_TIMED.found(&[&words]);
            let of_all = [part, length(spans)];
            found.push(of(group, weighed_calls(of_all, &calls, timed.messages, finding)));
        }
    }
    Ok(found)
}

pub(super) fn late_start(examined: &Examined<'_>) -> Said {
    let mut found = Vec::new();
    for (timed, group, spans) in rounds(examined)? {
        // What is started within what is timed is set-up.
        let is_made_before =
            |call: &Call| !spans.iter().any(|span| span.0 < call.ended && call.ended < span.1);
        let Some((call, time)) =
            begun_within(examined, group, timed, spans).filter(|(call, _)| is_made_before(call))
        else {
            continue;
        };
        let words = format!(
            "{} starts {} and reads the clock before it runs: {}",
            examined.log.program(timed.process),
            examined.log.program(call.made().unwrap_or(0)),
            share(time, spans),
        );
        let finding = findings::LATE_START.found(&[&words]);
        let of_all = [time, length(spans)];
        found.push(of(group, weighed_calls(of_all, &[call], timed.messages, finding)));
    }
    Ok(found)
}

pub(super) fn teardown(examined: &Examined<'_>) -> Said {
    let mut found = Vec::new();
    for (timed, group, spans) in rounds(examined)? {
        let has_many = Examined::connects_often(group);
        let (mut calls, mut part) = (Vec::new(), 0);
        for span in spans {
            let moves = group.processes.values().flatten().map(|one| one.ended);
            let within = moves.filter(|ended| *ended > span.0 && *ended < span.1);
            let Some(last) = within.max() else { continue };
            let closes = |call: &Call| call.process == timed.process && call.closes();
            // What is closed with each message, as a descriptor that came along, is a part of it.
            let before = calls_within(examined.log, (span.0, last)).filter(|call| closes(call));
            let closes_often = has_many || before.count() >= FEW;
            let ends = |call: &&Call| {
                call.process == timed.process && call.reaped() || closes(call) && !closes_often
            };
            let after: Vec<&Call> =
                calls_within(examined.log, (last, span.1)).filter(ends).collect();
            part += if after.is_empty() { 0 } else { span.1 - last };
            calls.extend(after);
        }
        if !calls.is_empty() {
            let words = format!(
                "after the last message, {} calls {} before it reads the clock: {}",
                examined.log.program(timed.process),
                listed(&calls),
                share(part, spans),
            );
            let finding = findings::TEARDOWN_TIMED.found(&[&words]);
            let of_all = [part, length(spans)];
            found.push(of(group, weighed_calls(of_all, &calls, timed.messages, finding)));
        }
    }
    Ok(found)
}

/// An end: when its last byte moved, over which channel, and what is timed of all its channels.
#[derive(Default)]
struct Last<'a> {
    at: u64,
    channel: Option<&'a Group>,
    spans: Vec<(u64, u64)>,
    waits: Vec<&'a Call>,
}

pub(super) fn late_wait(examined: &Examined<'_>) -> Said {
    let mut ends: BTreeMap<u32, Last<'_>> = BTreeMap::new();
    for (at, group) in examined.groups.iter().enumerate() {
        let timed = examined.timed.iter().filter(|timed| timed.group == at);
        let spans: Vec<(u64, u64)> = timed.flat_map(|timed| timed.spans.iter().copied()).collect();
        for (process, moves) in &group.processes {
            let end = ends.entry(*process).or_default();
            end.spans.extend(&spans);
            let last = moves.last().map_or(0, |one| one.ended);
            if last >= end.at {
                (end.at, end.channel) = (last, Some(group));
            }
        }
    }
    for call in &examined.log.calls {
        let Some(end) = ends.get_mut(&call.process) else { continue };
        // A pause comes before another round, and is not how the program ends.
        let goes_on = examined.starts(call)
            || call.connects()
            || matches!(call.act(), Act::Read(_)) && examined.log.kind(call.object).is_some();
        if goes_on {
            end.waits.retain(|wait| wait.ended > call.begun);
        }
        let is_late = call.timed_out()
            && call.begun >= end.at
            && call.ended.saturating_sub(call.begun) >= LONG;
        if is_late {
            end.waits.push(call);
        }
    }
    let said = |(process, end): (u32, Last<'_>)| {
        let within = |call: &Call| {
            let within =
                |span: &(u64, u64)| call.ended.min(span.1).saturating_sub(call.begun.max(span.0));
            end.spans.iter().map(within).sum::<u64>()
        };
        // What happens often is how the program works.
        let channel = end.channel.filter(|_| end.waits.len() <= ONCE)?;
        let timed = end.waits.iter().find(|call| within(call) >= LONG);
        let (row, wait) = match (timed, end.waits.first()) {
            (Some(wait), _) => (findings::LATE_WAIT, wait),
            // A clock around the whole program would include it.
            (None, Some(wait)) if end.spans.is_empty() => (findings::UNTIMED_WAIT, wait),
            _ => return None,
        };
        let words = format!(
            "{} waits {} in {} after its last byte, until a timeout",
            examined.log.program(process),
            format_nanos((wait.ended - wait.begun) as f64),
            name(wait.number),
        );
        let finding = row.found(&[&words]);
        let whole = end.spans.iter().map(|span| span.1 - span.0).max().unwrap_or(0);
        let finding = if timed.is_some() { weighed(within(wait), whole, finding) } else { finding };
        Some(of(channel, finding))
    };
    Ok(ends.into_iter().filter_map(said).collect())
}

/// Calls of ends of a channel that overlap with what is timed, each with how much of it is.
pub(super) fn calls_of<'a>(
    examined: &'a Examined<'_>,
    group: &'a Group,
    spans: &Intervals,
) -> Vec<(&'a Call, u64)> {
    let all = examined.log.calls.iter().filter(|call| group.processes.contains_key(&call.process));
    let timed = all.map(|call| (call, spans.overlap(call.begun, call.ended)));
    timed.filter(|(_, part)| *part > 0).collect()
}

pub(super) fn printing(examined: &Examined<'_>) -> Said {
    let mut found = Vec::new();
    for timed in super::examined::timed(examined)? {
        let Some(group) = examined.groups.get(timed.group) else { continue };
        let objects: BTreeSet<u64> = group.objects.iter().copied().collect();
        let spans = Intervals::of(timed.spans.clone());
        let mut all = calls_of(examined, group, &spans);
        let prints = |call: &Call| {
            let is_to_file =
                matches!(call.act(), Act::Wrote(_)) && examined.log.is_file(call.object);
            (call.prints() || is_to_file) && !objects.contains(&call.object)
        };
        all.retain(|(call, _)| prints(call));
        let part = all.iter().map(|(_, part)| part).sum();
        if all.len() < FEW || (all.len() as f64) < EACH * timed.messages as f64 / 2.0 {
            continue;
        }
        let calls: Vec<&Call> = all.into_iter().map(|(call, _)| call).collect();
        let Some(first) = calls.first() else { continue };
        let words = format!(
            "{} writes to {} {} during the {} that are timed: {}",
            examined.log.program(first.process),
            match first.arguments[0] {
                1 => "its standard output",
                2 => "its standard error",
                _ => "a file",
            },
            times(calls.len(), "time"),
            times(timed.messages, "message"),
            share(part, &timed.spans),
        );
        let finding = findings::PRINT_TIMED.found(&[&words]);
        found.push(of(group, weighed(part, length(&timed.spans), finding)));
    }
    Ok(found)
}

/// What is timed by such a clock, and by no precise one of the same process, of what started it or of what it has started.
fn only_by<'a>(
    examined: &'a Examined<'_>,
    by: &'a [Timed],
) -> impl Iterator<Item = (&'a Timed, &'a Group)> {
    let is_better = |one: &Timed| {
        let same = |it: &&Timed| {
            let is_near =
                examined.is_of(one.process, it.process) || examined.is_of(it.process, one.process);
            it.group == one.group && is_near && !it.is_mixed
        };
        examined.timed.iter().any(|it| same(&it))
    };
    let all = by.iter().filter(move |one| !one.is_mixed && !is_better(one));
    all.filter_map(|one| Some((one, examined.groups.get(one.group)?)))
}

pub(super) fn cpu_clock(examined: &Examined<'_>) -> Said {
    let said = |(timed, group): (&Timed, &Group)| {
        let words = format!(
            "{} reads a CPU-time clock around {}, and no clock of elapsed time",
            examined.log.program(timed.process),
            times(timed.messages, "message"),
        );
        of(group, findings::CPU_CLOCK.found(&[&words]))
    };
    Ok(only_by(examined, &examined.by_cpu).map(said).collect())
}

pub(super) fn coarse_clock(examined: &Examined<'_>) -> Said {
    let said = |(timed, group): (&Timed, &Group)| {
        let spans = timed.spans.len() as u64;
        let each = length(&timed.spans) / spans.max(1);
        let words = format!(
            "{} times {} with a clock that advances in steps of milliseconds or seconds, {} at a time",
            examined.log.program(timed.process),
            times(timed.messages, "message"),
            format_nanos(each as f64),
        );
        of(group, findings::COARSE_CLOCK.found(&[&words]))
    };
    Ok(only_by(examined, &examined.by_coarse).map(said).collect())
}

/// How long the first message of a span takes with its answer, what each of the others takes on average, and the longest time
/// in which nothing moved.
pub(super) struct MessageTimes {
    pub(super) first: u64,
    pub(super) usual: u64,
    pub(super) gap: u64,
    /// The next longest one.
    pub(super) next: u64,
}

/// Of a span with messages.
pub(super) fn message_times(group: &Group, process: u32, span: (u64, u64)) -> Option<MessageTimes> {
    let within = |ended: u64, begun: u64| begun > span.0 && ended < span.1;
    let mut moves: Vec<_> = group
        .processes
        .values()
        .flatten()
        .filter(|one| within(one.ended, one.begun))
        .copied()
        .collect();
    moves.sort_by_key(|one| one.ended);
    let first = moves.iter().map(|one| one.begun).min()?;
    let reads = || moves.iter().filter(|one| !one.is_out);
    let answers = || reads().filter(|one| one.process == process);
    // Where there are no answers to single messages it is over when it has arrived.
    let is_answered =
        answers().count() as f64 >= EACH * (moves.len() - reads().count()) as f64 / 2.0;
    let answer = if is_answered { answers().next() } else { reads().next() }?;
    let at = moves.partition_point(|one| one.ended <= answer.ended);
    let gaps = moves[at.saturating_sub(1)..].windows(2).map(|two| two[1].ended - two[0].ended);
    let mut gaps: Vec<u64> = gaps.collect();
    gaps.sort_unstable();
    let usual = gaps.get(gaps.len() / 2).copied()?;
    let mut longest = gaps.iter().rev().copied();
    let [gap, next] = [longest.next().unwrap_or(0), longest.next().unwrap_or(0)];
    Some(MessageTimes { first: answer.ended - first, usual, gap, next })
}

pub(super) fn first_message(examined: &Examined<'_>) -> Said {
    let mut found = Vec::new();
    for (timed, group, spans) in rounds(examined)? {
        for span in spans {
            let Some(times) = message_times(group, timed.process, *span) else { continue };
            let whole = span.1 - span.0;
            let is_slow = |time: u64, next: u64| {
                time >= SLOW && time >= SLOWER * next && time as f64 >= SLOW_SHARE * whole as f64
            };
            let slow = [
                (times.first, times.gap, findings::FIRST_MESSAGE, "the first message takes"),
                (times.gap, times.next, findings::LARGE_GAP, "one gap takes"),
            ];
            let slow = slow.into_iter().filter(|(time, next, ..)| is_slow(*time, *next));
            for (time, _, row, what) in slow {
                let words = format!(
                    "{what} {} of the {} that {} times ({}); usually {} pass between two calls",
                    format_nanos(time as f64),
                    format_nanos(whole as f64),
                    examined.log.program(timed.process),
                    percent(time as f64 / whole.max(1) as f64),
                    format_nanos(times.usual as f64),
                );
                found.push(of(group, row.found(&[&words])));
            }
        }
    }
    Ok(found)
}

/// Findings of one of the rules that are found together.
pub(super) fn only(said: &Said, code: &str) -> Said {
    match said {
        Ok(all) => Ok(all.iter().filter(|one: &&Finding| one.code == code).cloned().collect()),
        Err(why) => Err(why),
    }
}

//! The rules. Each one takes everything that was seen, and says what it has found, or why it cannot look.

use super::delivery::{Carried, carried, not_awaited, other_size, unread};
use super::examined::{Examined, MOSTLY, Said, each, listed, times};
use super::findings;
use super::group::Group;
use super::nagle::nagle;
use super::pauses::{omission, sleeping};
use super::spans::{
    coarse_clock, cpu_clock, first_message, late_start, late_wait, only, printing, setup, teardown,
};
use super::timed::calls_within;
use crate::profile::Audit;
use crate::record::calls::{Call, WAITING};
use ipcperf_core::findings::Row;
use ipcperf_core::result::Finding;
use ipcperf_core::units::grouped;
use std::collections::{BTreeMap, BTreeSet};

/// Calls for each message by which two sides may differ.
const DIFFERENCE: f64 = 0.5;

/// Less often than this for each message is hardly ever.
const RARELY: f64 = 0.1;

/// Looks for everything.
pub(super) fn apply(examined: &Examined<'_>, audit: &mut Audit) {
    let slow = first_message(examined);
    let rules: [(Row, Said); 21] = [
        (findings::OWN_BYTES, own_bytes(examined)),
        (findings::SETUP_TIMED, setup(examined)),
        (findings::LATE_START, late_start(examined)),
        (findings::TEARDOWN_TIMED, teardown(examined)),
        (findings::LATE_WAIT, late_wait(examined)),
        (findings::SLEEP_TIMED, sleeping(examined)),
        (findings::PRINT_TIMED, printing(examined)),
        (findings::CPU_CLOCK, cpu_clock(examined)),
        (findings::COARSE_CLOCK, coarse_clock(examined)),
        (findings::FIRST_MESSAGE, only(&slow, findings::FIRST_MESSAGE.code)),
        (findings::LARGE_GAP, only(&slow, findings::LARGE_GAP.code)),
        (findings::OMISSION, omission(examined)),
        (findings::NAGLE, nagle(examined)),
        (findings::NOT_AWAITED, not_awaited(examined)),
        (findings::UNREAD, unread(examined)),
        (findings::OTHER_SIZE, other_size(examined)),
        (findings::ONE_PROCESS, one_process(examined)),
        (findings::UNEQUAL_CALLS, unequal(examined)),
        (findings::SHARED_CPU, shared_cpu(examined)),
        (findings::NOT_PINNED, not_pinned(examined)),
        (findings::NOT_TOUCHED, not_touched(examined)),
    ];
    for (row, said) in rules {
        let code = row.code.to_owned();
        match said {
            Ok(found) if found.is_empty() => audit.passed.push(code),
            Ok(found) => audit.findings.extend(found),
            Err(why) => {
                audit.unchecked.insert(code, why.to_owned());
            }
        }
    }
    audit.findings.sort_by_key(|finding| finding.severity);
}

fn own_bytes(examined: &Examined<'_>) -> Said {
    Ok(each(examined, |group| {
        let Carried { messages, same_thread, .. } = carried(group);
        let (who, _) = group.processes.iter().max_by_key(|(_, moves)| moves.len())?;
        (same_thread as f64 >= MOSTLY * messages as f64).then(|| {
            let (own, all) = (grouped(same_thread as u64), times(messages, "message"));
            let who = examined.log.program(*who);
            let words = format!(
                "{who} reads back {own} of {all} over {} that the same thread wrote",
                group.kind
            );
            findings::OWN_BYTES.found(&[&words])
        })
    }))
}

fn one_process(examined: &Examined<'_>) -> Said {
    Ok(each(examined, |group| {
        let Carried { messages, same_thread, same_process, .. } = carried(group);
        let is_within = same_process == messages && (same_thread as f64) < MOSTLY * messages as f64;
        is_within.then(|| {
            let words = format!(
                "threads of one process exchange all {} over {}",
                times(messages, "message"),
                group.kind
            );
            findings::ONE_PROCESS.found(&[&words])
        })
    }))
}

/// Calls for each message, by side and purpose, in the turns that a channel takes with others.
fn calls_each(
    examined: &Examined<'_>,
    group: &Group,
    others: &[&Group],
) -> BTreeMap<(bool, &'static str), f64> {
    let of_askers: BTreeSet<u32> = group
        .connections
        .iter()
        .filter_map(|one| one.asker.as_ref())
        .flat_map(|end| end.moves.iter().map(|one| one.process))
        .collect();
    let questions = group.writes.iter().filter(|one| of_askers.contains(&one.process)).count();
    let messages = if questions > 0 { questions } else { group.writes.len() };
    let mut counts: BTreeMap<(bool, &'static str), f64> = BTreeMap::new();
    let turns = group.turns(others);
    for call in turns.iter().flat_map(|turn| calls_within(examined.log, *turn)) {
        let is_of = group.processes.contains_key(&call.process);
        if let Some(purpose) = call.purpose().filter(|_| is_of) {
            *counts.entry((of_askers.contains(&call.process), purpose)).or_default() += 1.0;
        }
    }
    counts.values_mut().for_each(|count| *count /= messages as f64);
    counts
}

fn unequal(examined: &Examined<'_>) -> Said {
    // Channels of one program that works through them at the same time are not compared with each other.
    let mut sides: Vec<&Group> = Vec::new();
    for group in &examined.groups {
        if sides.iter().all(|side| side.takes_turns_with(group)) {
            sides.push(group);
        }
    }
    let Some((first, others)) = sides.split_first().filter(|(_, others)| !others.is_empty()) else {
        return Err("no two channels were used one after the other");
    };
    let usual = calls_each(examined, first, &sides);
    let mut found = Vec::new();
    for group in others {
        let calls = calls_each(examined, group, &sides);
        let all: BTreeSet<_> = usual.keys().chain(calls.keys()).collect();
        let differences = all.into_iter().filter_map(|key| {
            let [a, b] = [&usual, &calls].map(|of| of.get(key).copied().unwrap_or(0.0));
            let side = if key.0 { "the asking end" } else { "the answering end" };
            let differs = match key.1 {
                // How often a runtime does depends on time, whether it does does not.
                WAITING => a.min(b) < RARELY && a.max(b) > 1.0 - RARELY,
                _ => (a - b).abs() >= DIFFERENCE,
            };
            differs.then(|| format!("{} {a:.1} and {b:.1} at {side}", key.1))
        });
        let differences: Vec<String> = differences.collect();
        if !differences.is_empty() {
            let words = format!(
                "{} and {} make different calls for each message ({})",
                first.kind,
                group.kind,
                differences.join("; ")
            );
            let cells = vec![first.name.clone(), group.name.clone()];
            found.push(Finding { cells, ..findings::UNEQUAL_CALLS.found(&[&words]) });
        }
    }
    Ok(found)
}

/// The CPUs that each end of a channel may use.
fn cpus(examined: &Examined<'_>, group: &Group) -> [BTreeSet<usize>; 2] {
    let of = |asks: bool| {
        let ends = group
            .connections
            .iter()
            .filter_map(|one| if asks { one.asker.as_ref() } else { one.answerer.as_ref() });
        let threads: BTreeSet<u32> =
            ends.flat_map(|end| end.moves.iter().map(|one| one.thread)).collect();
        let cpus = threads.iter().filter_map(|thread| examined.log.cpus.get(thread));
        cpus.flatten().copied().collect()
    };
    [of(true), of(false)]
}

/// `a > b over pipe and c > d over tcp`.
fn joined(names: &[&str]) -> String {
    match names {
        [] => String::new(),
        [one] => (*one).to_owned(),
        [rest @ .., last] => format!("{} and {last}", rest.join(", ")),
    }
}

/// One finding of all channels for which the same is said of their CPUs.
fn about_cpus(
    examined: &Examined<'_>,
    row: &Row,
    said: impl Fn(&Group) -> Option<(&'static str, String)>,
) -> Vec<Finding> {
    let mut channels: BTreeMap<(&str, String), Vec<&str>> = BTreeMap::new();
    for group in &examined.groups {
        if let Some(said) = said(group) {
            channels.entry(said).or_default().push(&group.name);
        }
    }
    let finding = |((which, may), names): ((&str, String), Vec<&str>)| {
        let words = format!("{which} of {} may run {may}", joined(&names));
        let cells = names.into_iter().map(str::to_owned).collect();
        Finding { cells, ..row.found(&[&words]) }
    };
    channels.into_iter().map(finding).collect()
}

fn shared_cpu(examined: &Examined<'_>) -> Said {
    Ok(about_cpus(examined, &findings::SHARED_CPU, |group| {
        let [a, b] = cpus(examined, group);
        let cpu = a.first().filter(|_| a.len() == 1 && a == b && !same_thread(group))?;
        Some(("both ends", format!("only on CPU {cpu}")))
    }))
}

fn same_thread(group: &Group) -> bool {
    let Carried { messages, same_thread, .. } = carried(group);
    same_thread as f64 >= MOSTLY * messages as f64
}

fn not_pinned(examined: &Examined<'_>) -> Said {
    if !ipcperf_sys::affinity::allowed_cpus().is_ok_and(|cpus| cpus.len() > 1) {
        return Err("there is only one CPU here");
    }
    Ok(about_cpus(examined, &findings::NOT_PINNED, |group| {
        let counts = cpus(examined, group).map(|cpus| cpus.len());
        let which = match counts.map(|count| count > 1) {
            [true, true] => "either end",
            [true, false] => "the end that asks or sends",
            [false, true] => "the end that answers or receives",
            [false, false] => return None,
        };
        Some((which, format!("on {} CPUs", counts.into_iter().max().unwrap_or(0))))
    }))
}

fn not_touched(examined: &Examined<'_>) -> Said {
    let span = |group: &Group| {
        let (first, last) = group.span();
        (first.saturating_sub(1), last.saturating_add(1))
    };
    Ok(each(examined, |group| {
        let calls: Vec<&Call> = calls_within(examined.log, span(group))
            .filter(|call| call.passes_on() && group.processes.contains_key(&call.process))
            .collect();
        let bytes: u64 = calls.iter().map(|call| call.result.cast_unsigned()).sum();
        let who = calls.first().map(|call| examined.log.program(call.process))?;
        let words = format!("{who} passes on {} B by {}", grouped(bytes), listed(&calls));
        Some(findings::NOT_TOUCHED.found(&[&words]))
    }))
}

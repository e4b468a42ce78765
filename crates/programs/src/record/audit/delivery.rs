//! Whether messages have arrived: bytes that return to their sender, that no process read, that the sender did not wait for, and
//! messages of another size.

use super::examined::{Examined, MOSTLY, Said, each, of, timed, times};
use super::findings;
use super::group::{FEW, Group};
use super::looks::has_runtime;
use super::timed::{Timed, calls_within};
use crate::record::calls::{Act, Call};
use crate::record::channels::Move;
use ipcperf_core::units::grouped;
use std::collections::{BTreeMap, BTreeSet};

/// Less than this share of the bytes may stay behind: a last message that tells the other end to stop.
const BEHIND: f64 = 0.01;

/// Where the bytes of a channel went.
#[derive(Debug, Default)]
pub(super) struct Carried {
    pub(super) messages: usize,
    /// Read by the thread that wrote them.
    pub(super) same_thread: usize,
    pub(super) same_process: usize,
    pub(super) written: u64,
    read: u64,
}

impl Carried {
    /// Follows bytes in their order from the writes to the reads.
    fn follow<'a>(
        &mut self,
        writes: impl Iterator<Item = &'a Move>,
        reads: impl Iterator<Item = &'a Move>,
    ) {
        let mut reads = reads.peekable();
        let mut passed = 0;
        for write in writes {
            while reads.peek().is_some_and(|read| passed + read.bytes <= self.written) {
                passed += reads.next().map_or(0, |read| read.bytes);
            }
            self.messages += 1;
            if let Some(read) = reads.peek() {
                self.same_thread += usize::from(read.thread == write.thread);
                self.same_process += usize::from(read.process == write.process);
            }
            self.written += write.bytes;
        }
        self.read += passed + reads.map(|read| read.bytes).sum::<u64>();
    }
}

pub(super) fn carried(group: &Group) -> Carried {
    let mut all = Carried::default();
    for connection in &group.connections {
        let (Some(a), Some(b)) = (&connection.asker, &connection.answerer) else { continue };
        for (from, to) in [(a, b), (b, a)] {
            let mut one = Carried::default();
            let writes = from.moves.iter().filter(|one| one.is_out);
            one.follow(writes, to.moves.iter().filter(|one| !one.is_out));
            all.messages += one.messages;
            all.same_thread += one.same_thread;
            all.same_process += one.same_process;
            all.written += one.written;
            all.read += one.read;
        }
    }
    all
}

/// Whether an answer may come by memory, which is not seen: threads of a process have all of it in common.
fn answers_by_memory(examined: &Examined<'_>, group: &Group, process: u32) -> bool {
    let mut others = group.processes.keys().filter(|other| **other != process).peekable();
    let share = |other: &u32| {
        // A runtime makes memory that others could have, and no other has it.
        if has_runtime(examined.log, process) {
            examined.log.between.iter().any(|all| all.contains(&process) && all.contains(other))
        } else {
            examined.shares_memory(process) && examined.shares_memory(*other)
        }
    };
    others.peek().is_none() || others.any(share)
}

/// Each look at the clock goes with one write, and is no begin and end of a time: receivers compare such looks with their own.
/// So may those of a runtime.
fn are_stamps(timed: &Timed) -> bool {
    timed.is_mixed
        || timed.rounds().is_none() && timed.adjacent as f64 >= MOSTLY * timed.spans.len() as f64
}

pub(super) fn not_awaited(examined: &Examined<'_>) -> Said {
    let mut found = Vec::new();
    let mut is_hidden = false;
    for timed in timed(examined)? {
        let Some(group) = examined.groups.get(timed.group) else { continue };
        let Some(moves) = group.processes.get(&timed.process) else { continue };
        if are_stamps(timed) {
            continue;
        }
        if answers_by_memory(examined, group, timed.process) {
            is_hidden = true;
            continue;
        }
        let is_within = |one: &Move, span: &(u64, u64)| one.begun >= span.0 && one.ended <= span.1;
        let within = |one: &&Move| timed.spans.iter().any(|span| is_within(one, span));
        let (writes, reads): (Vec<&Move>, Vec<&Move>) =
            moves.iter().filter(within).partition(|one| one.is_out);
        if !reads.is_empty() || writes.len() < FEW {
            continue;
        }
        // Data from any channel may be the answer.
        let is_answer = |call: &&Call| {
            let data = matches!(call.act(), Act::Read(_)) || call.met_the_end();
            call.process == timed.process && (data || call.awaited())
        };
        let is_awaited = |span: &(u64, u64)| {
            let of_span = writes.iter().filter(|one| is_within(one, span));
            let from = match timed.rounds() {
                Some(_) => of_span.map(|one| one.ended).max().unwrap_or(span.0),
                None => span.0,
            };
            calls_within(examined.log, (from, span.1)).any(|call| is_answer(&call))
        };
        if !timed.spans.iter().any(is_awaited) {
            let who = examined.log.program(timed.process);
            let words = match timed.rounds() {
                Some(_) => format!(
                    "after the last of {}, {who} reads the clock without waiting for anything",
                    times(writes.len(), "message")
                ),
                None => {
                    format!("{who} times {} and waits for no answer", times(writes.len(), "write"))
                }
            };
            found.push(of(group, findings::NOT_AWAITED.found(&[&words])));
        }
    }
    if found.is_empty() && is_hidden {
        return Err("both ends share memory, so an answer may arrive unseen");
    }
    Ok(found)
}

pub(super) fn unread(examined: &Examined<'_>) -> Said {
    if examined.is_cut {
        return Err("programs were stopped before they finished, or not all calls were kept");
    }
    if examined.log.calls.iter().any(|call| call.hides().is_some()) {
        return Err("the data of some calls cannot be seen");
    }
    // A program that audit ended might have read the rest.
    let is_cut = |group: &Group| {
        let tasks = group.processes.values().flatten().flat_map(|one| [one.thread, one.process]);
        tasks.into_iter().any(|task| examined.log.cut.contains(&task))
    };
    let found = each(examined, |group| {
        let Carried { written, read, .. } = carried(group);
        let left = written.saturating_sub(read);
        // A counter that is read once holds what was written to it several times.
        let is_left =
            !["eventfd", "sysv-sem"].contains(&group.kind) && left as f64 > BEHIND * written as f64;
        (is_left && !is_cut(group)).then(|| {
            let words = format!(
                "{} of {} B over {} were never read",
                grouped(left),
                grouped(written),
                group.kind
            );
            findings::UNREAD.found(&[&words])
        })
    });
    if found.is_empty() && examined.groups.iter().any(is_cut) {
        return Err("ipcperf ended programs that were still running");
    }
    Ok(found)
}

/// The most frequent size, and how many have it.
fn usual(moves: &[Move]) -> Option<(u64, usize)> {
    let mut counts: BTreeMap<u64, usize> = BTreeMap::new();
    for one in moves {
        *counts.entry(one.bytes).or_default() += 1;
    }
    counts.into_iter().max_by_key(|(_, count)| *count)
}

pub(super) fn other_size(examined: &Examined<'_>) -> Said {
    let mut found = each(examined, |group| {
        let short = short_writes(examined, group);
        (short > 0).then(|| {
            let words = format!(
                "{} over {} were cut short, and the rest was not written",
                times(short, "write"),
                group.kind
            );
            findings::OTHER_SIZE.found(&[&words])
        })
    });
    let Some(size) = examined.size else {
        return if found.is_empty() {
            Err("--size was not given; no write was cut short")
        } else {
            Ok(found)
        };
    };
    found.extend(each(examined, |group| {
        let asked = group.writes.iter().filter(|one| one.bytes == size).count();
        let (usual, count) = usual(&group.writes)?;
        // Of a question and its answer one has the size.
        let is_other = (asked as f64) < MOSTLY * (1.0 - BEHIND) * group.writes.len() as f64;
        is_other.then(|| {
            let words = format!(
                "{} of {} over {} had {} B, and {} had the {} B of --size",
                grouped(count as u64),
                times(group.writes.len(), "write"),
                group.kind,
                grouped(usual),
                grouped(asked as u64),
                grouped(size),
            );
            findings::OTHER_SIZE.found(&[&words])
        })
    }));
    Ok(found)
}

/// Writes to streams that took less than they were given, where the next one does not go on with the rest.
fn short_writes(examined: &Examined<'_>, group: &Group) -> usize {
    let threads: BTreeSet<u32> = group.writes.iter().map(|one| one.thread).collect();
    let mut rests: BTreeMap<(u32, u64), u64> = BTreeMap::new();
    let mut short = 0;
    let span = group.span();
    let calls = calls_within(examined.log, (span.0.saturating_sub(1), span.1.saturating_add(1)));
    for call in calls.filter(|call| threads.contains(&call.thread)) {
        let Some((given, taken)) = call.given_and_taken() else { continue };
        if examined.log.kind(call.object) != Some(group.kind) {
            continue;
        }
        let place = (call.thread, call.object);
        short += usize::from(rests.remove(&place).is_some_and(|rest| rest != given));
        if taken < given {
            rests.insert(place, given - taken);
        }
    }
    short + rests.len()
}

//! Where the time goes that a benchmark measures.

use super::examined::{Examined, length};
use super::group::Group;
use super::spans::message_times;
use super::timed::Timed;
use crate::profile::TimedShares;
use crate::record::calls::{Act, Call};
use crate::record::intervals::Intervals;
use std::collections::BTreeMap;

/// What is known of it. Shares may overlap: the longest gap may be a sleep.
pub(super) fn shares(examined: &Examined<'_>, group: &Group, timed: &Timed) -> TimedShares {
    let whole = length(&timed.spans).max(1) as f64;
    let spans = Intervals::of(timed.spans.clone());
    let is_end = group.processes.contains_key(&timed.process);
    let (mut waiting, mut sending, mut other_writes, mut set_up) = (0, 0, 0, 0);
    let mut sleeping: BTreeMap<u32, u64> = BTreeMap::new();
    for call in &examined.log.calls {
        let part = spans.overlap(call.begun, call.ended);
        if part == 0 || !examined.is_of(call.process, timed.process) && !is_of_end(group, call) {
            continue;
        }
        let is_channel = group.objects.contains(&call.object);
        let is_own = call.process == timed.process;
        match call.act() {
            _ if examined.starts(call) || call.connects() => set_up += part,
            _ if call.sleeps() => *sleeping.entry(call.thread).or_default() += part,
            Act::Read(_) if is_own && is_channel => waiting += part,
            Act::Wrote(_) if is_own && is_channel => sending += part,
            Act::Wrote(_) if !is_channel => other_writes += part,
            _ if is_own && call.awaited() => waiting += part,
            _ => {}
        }
    }
    let rounds = timed.rounds().unwrap_or_default().iter();
    let times: Vec<_> =
        rounds.filter_map(|span| message_times(group, timed.process, *span)).collect();
    let share = |part: u64| (part as f64 / whole).min(1.0);
    TimedShares {
        waiting: is_end.then(|| share(waiting)),
        sending: is_end.then(|| share(sending)),
        sleeping: share(sleeping.into_values().max().unwrap_or(0)),
        other_writes: share(other_writes),
        set_up: share(set_up),
        first_message: share(times.iter().map(|one| one.first).sum()),
        largest_gap: share(times.iter().map(|one| one.gap).max().unwrap_or(0)),
    }
}

fn is_of_end(group: &Group, call: &Call) -> bool {
    group.processes.contains_key(&call.process)
}

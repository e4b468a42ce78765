//! What a benchmark times: messages between two looks at a clock.

use super::super::log::Log;
use super::group::{FEW, Group};
use crate::record::calls::Call;
use std::collections::{BTreeMap, HashSet};

/// Who times less than this share of what another one times does not time the benchmark.
const NEARLY: f64 = 0.9;

/// Messages of a channel that lie between looks at a clock.
pub(super) struct Timed {
    /// Which channel.
    pub(super) group: usize,
    /// Who looks, or for whom: of a script it is the script.
    pub(super) process: u32,
    /// From the end of a look to the begin of the next, ns.
    pub(super) spans: Vec<(u64, u64)>,
    /// Messages within them.
    pub(super) messages: usize,
}

impl Timed {
    /// The span that has most of the messages, if one has.
    pub(super) fn whole(&self) -> Option<(u64, u64)> {
        match self.spans[..] {
            [one] => Some(one),
            _ => None,
        }
    }
}

/// Looks at one clock: when each began and ended.
type Looks = Vec<(u64, u64)>;

/// All looks by process and clock. A look by a program that does nothing else with the channels, as `date` in a script, is one
/// of the script.
fn looks(log: &Log, groups: &[Group]) -> BTreeMap<(u32, u64), Looks> {
    let mut looks: BTreeMap<(u32, u64), Looks> = BTreeMap::new();
    for call in &log.calls {
        if let Some(clock) = call.clock() {
            looks.entry((call.process, clock)).or_default().push((call.begun, call.ended));
        }
    }
    let is_end = |process: &u32| groups.iter().any(|group| group.processes.contains_key(process));
    let single = |((process, _), looks): &(&(u32, u64), &Looks)| {
        looks.len() == 1 && !is_end(process) && log.parents.contains_key(process)
    };
    let moved: Vec<(u32, u64)> = looks.iter().filter(single).map(|(key, _)| *key).collect();
    for (process, clock) in moved {
        let root = ancestors(log, process).last().unwrap_or(process);
        let of_one = looks.remove(&(process, clock)).unwrap_or_default();
        looks.entry((root, clock)).or_default().extend(of_one);
    }
    looks.values_mut().for_each(|looks| looks.sort_unstable());
    looks
}

/// The parent of a process, its parent, and so on.
pub(super) fn ancestors(log: &Log, process: u32) -> impl Iterator<Item = u32> {
    let mut seen = HashSet::from([process]);
    let parent = |process: &u32| log.parents.get(process).copied();
    std::iter::successors(parent(&process), move |process| parent(process))
        .take_while(move |process| seen.insert(*process))
}

/// What is timed of each channel, by each process that has an end of it or has started one.
pub(super) fn timed(log: &Log, groups: &[Group]) -> Vec<Timed> {
    let mut found = Vec::new();
    let looks = looks(log, groups);
    for (at, group) in groups.iter().enumerate() {
        let mut concerned: HashSet<u32> = group.processes.keys().copied().collect();
        concerned.extend(group.processes.keys().flat_map(|process| ancestors(log, *process)));
        let of_concerned = looks.iter().filter(|((process, _), _)| concerned.contains(process));
        let all =
            of_concerned.filter_map(|((process, _), looks)| between(group, at, *process, looks));
        let all: Vec<Timed> = all.collect();
        // A runtime that looks at a clock now and then has fewer messages in between.
        let most = all.iter().map(|timed| timed.messages).max().unwrap_or(0);
        found.extend(all.into_iter().filter(|one| one.messages as f64 >= NEARLY * most as f64));
    }
    found
}

fn between(group: &Group, at: usize, process: u32, looks: &[(u64, u64)]) -> Option<Timed> {
    let writes = &group.writes;
    let before = |time: u64| writes.partition_point(|one| one.begun < time);
    let spans = looks.iter().zip(looks.iter().skip(1)).map(|(one, next)| (one.1, next.0));
    let with: Vec<_> = spans
        .map(|span| (span, before(span.1).saturating_sub(before(span.0))))
        .filter(|(_, count)| *count > 0)
        .collect();
    let half = writes.len().div_ceil(2);
    if let Some((span, messages)) = with.iter().find(|(_, count)| *count >= half) {
        return Some(Timed { group: at, process, spans: vec![*span], messages: *messages });
    }
    let messages = with.iter().map(|(_, count)| count).sum();
    let spans: Vec<_> = with.into_iter().map(|(span, _)| span).collect();
    (messages >= half && spans.len() >= FEW).then_some(Timed {
        group: at,
        process,
        spans,
        messages,
    })
}

/// Calls that returned within a span.
pub(super) fn calls_within(log: &Log, span: (u64, u64)) -> impl Iterator<Item = &Call> {
    let first = log.calls.partition_point(|call| call.ended <= span.0);
    log.calls[first..].iter().take_while(move |call| call.ended < span.1)
}

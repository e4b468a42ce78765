//! What a benchmark times: messages between two looks at a clock.

use super::super::log::Log;
use super::group::{FEW, Group};
use crate::record::calls::{Act, Call, Clock};
use std::collections::{BTreeMap, HashMap, HashSet};

/// Who times less than this share of what another one times does not time the benchmark.
const NEARLY: f64 = 0.9;

/// Another round has at least this share of the messages of the largest.
const ROUND: f64 = 0.1;

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
    /// How many spans begin with the look that ends the one before.
    pub(super) adjacent: usize,
    /// Each span has many.
    has_rounds: bool,
}

impl Timed {
    /// Its spans, if each has many messages: one, or rounds.
    pub(super) fn rounds(&self) -> Option<&[(u64, u64)]> {
        self.has_rounds.then_some(&self.spans)
    }
}

/// A look at a clock: when it began and ended, and of an interpreter where on its stack the time was stored.
type Look = (u64, u64, u64);

/// Whose looks, and at which clock.
type Looker = (u32, u64);

/// Looks of an interpreter that are so many bytes apart on its stack come from one function, and belong together.
const NEAR: u64 = 512;

/// All looks by process and clock. A look by a program that does nothing else with the channels, as `date` in a script, is one
/// of the script. An interpreter reads clocks for its own sake as well, as before it loads a module.
fn looks(
    log: &Log,
    groups: &[Group],
    clock: impl Fn(Clock) -> Option<u64>,
) -> BTreeMap<Looker, Vec<Look>> {
    let mut looks: BTreeMap<Looker, Vec<Look>> = BTreeMap::new();
    // Of a process with an end, only the main thread and the threads that move data time messages.
    let mut threads: HashMap<u32, HashSet<u32>> = HashMap::new();
    for one in groups.iter().flat_map(|group| group.processes.values().flatten()) {
        threads.entry(one.process).or_default().insert(one.thread);
    }
    let concerns = |call: &Call| {
        let threads = threads.get(&call.process);
        threads.is_none_or(|all| call.thread == call.process || all.contains(&call.thread))
    };
    let mut recent: HashMap<u32, Vec<Looker>> = HashMap::new();
    for call in &log.calls {
        // A launcher reads clocks for itself, not for the program that it becomes.
        if call.loads_program() {
            looks.retain(|(process, ..), _| *process != call.process);
            recent.remove(&call.process);
        } else if call.opens() {
            for looker in recent.remove(&call.process).unwrap_or_default() {
                looks.entry(looker).or_default().pop();
            }
        } else if call.connects() || call.made().is_some() || log.kind(call.object).is_some() {
            recent.remove(&call.process);
        }
        let Some(clock) = call.reads_clock().and_then(&clock) else { continue };
        if concerns(call) {
            let has_runtime = has_runtime(log, call.process);
            // Where the time is to be stored.
            let place = if has_runtime { call.arguments[1] } else { 0 };
            let looker = (call.process, clock);
            looks.entry(looker).or_default().push((call.begun, call.ended, place));
            if has_runtime {
                recent.entry(call.process).or_default().push(looker);
            }
        }
    }
    let is_end = |process: &u32| groups.iter().any(|group| group.processes.contains_key(process));
    let single = |((process, ..), looks): &(&Looker, &Vec<Look>)| {
        looks.len() == 1 && !is_end(process) && log.parents.contains_key(process)
    };
    let moved: Vec<Looker> = looks.iter().filter(single).map(|(key, _)| *key).collect();
    for looker in moved {
        let root = ancestors(log, looker.0).last().unwrap_or(looker.0);
        let of_one = looks.remove(&looker).unwrap_or_default();
        looks.entry((root, looker.1)).or_default().extend(of_one);
    }
    looks.values_mut().for_each(|looks| looks.sort_unstable());
    looks
}

/// A process runs an interpreter, which reads clocks for its own sake.
pub(super) fn has_runtime(log: &Log, process: u32) -> bool {
    const RUNTIMES: [&str; 5] = ["python", "pypy", "ruby", "perl", "php"];
    let program = log.program(process);
    RUNTIMES.iter().any(|runtime| program.starts_with(runtime))
}

/// The parent of a process, its parent, and so on.
pub(super) fn ancestors(log: &Log, process: u32) -> impl Iterator<Item = u32> {
    let mut seen = HashSet::from([process]);
    let parent = |process: &u32| log.parents.get(process).copied();
    std::iter::successors(parent(&process), move |process| parent(process))
        .take_while(move |process| seen.insert(*process))
}

/// What is timed of each channel by such clocks, by each process that has an end of it or has started one.
pub(super) fn timed(
    log: &Log,
    groups: &[Group],
    clock: impl Fn(Clock) -> Option<u64>,
) -> Vec<Timed> {
    let mut found = Vec::new();
    let looks = looks(log, groups, clock);
    for (at, group) in groups.iter().enumerate() {
        let mut concerned: HashSet<u32> = group.processes.keys().copied().collect();
        concerned.extend(group.processes.keys().flat_map(|process| ancestors(log, *process)));
        let of_concerned = looks.iter().filter(|((process, ..), _)| concerned.contains(process));
        let all =
            of_concerned.filter_map(|((process, ..), looks)| between(group, at, *process, looks));
        let mut all: Vec<Timed> = all.filter(|one| has_figure(log, group, one)).collect();
        // A runtime that looks at a clock now and then has fewer messages in between.
        let most = all.iter().map(|timed| timed.messages).max().unwrap_or(0);
        all.retain(|one| one.messages as f64 >= NEARLY * most as f64);
        // What times itself needs no clock around it: `date`, `time` and a driver are no part of its figure.
        let is_within = |one: &Timed| {
            let is_started_by = |other: &&Timed| {
                ancestors(log, other.process).any(|parent| parent == one.process)
                    && other.spans.iter().all(|span| one.covers(*span))
            };
            !group.processes.contains_key(&one.process) && all.iter().any(|it| is_started_by(&it))
        };
        let outer: Vec<bool> = all.iter().map(is_within).collect();
        found.extend(all.into_iter().zip(outer).filter(|(_, outer)| !outer).map(|(one, _)| one));
    }
    found
}

/// Something was written after the last look at the clock, and not to the peer: otherwise there is no figure.
fn has_figure(log: &Log, group: &Group, timed: &Timed) -> bool {
    let Some(last) = timed.spans.last() else { return false };
    let first = log.calls.partition_point(|call| call.ended <= last.1);
    let is_of = |one: u32, other: u32| ancestors(log, one).any(|parent| parent == other);
    let is_figure = |call: &Call| {
        // The other end of the channel prints its own figures.
        let is_near = call.process == timed.process
            || !group.processes.contains_key(&call.process)
                && (is_of(call.process, timed.process) || is_of(timed.process, call.process));
        matches!(call.act(), Act::Wrote(_)) && !group.objects.contains(&call.object) && is_near
    };
    log.calls[first..].iter().any(is_figure)
}

impl Timed {
    fn covers(&self, span: (u64, u64)) -> bool {
        self.spans.iter().any(|own| own.0 <= span.0 && span.1 <= own.1)
    }
}

fn between(group: &Group, at: usize, process: u32, looks: &[Look]) -> Option<Timed> {
    let writes = &group.writes;
    let before = |time: u64| writes.partition_point(|one| one.begun < time);
    let messages = |span: (u64, u64)| before(span.1).saturating_sub(before(span.0));
    let counted = looks.iter().zip(looks.iter().skip(1)).map(|(one, next)| {
        let span = (one.1, next.0);
        (span, if one.2.abs_diff(next.2) <= NEAR { messages(span) } else { 0 })
    });
    let counted: Vec<_> = counted.collect();
    let adjacent = counted.iter().zip(counted.iter().skip(1));
    let adjacent = adjacent.filter(|(one, next)| one.1 > 0 && next.1 > 0).count();
    let with: Vec<_> = counted.into_iter().filter(|(_, count)| *count > 0).collect();
    let half = writes.len().div_ceil(2);
    let of = |kept: Vec<((u64, u64), usize)>, has_rounds| {
        let messages = kept.iter().map(|(_, count)| count).sum();
        let spans = kept.into_iter().map(|(span, _)| span).collect();
        Timed { group: at, process, spans, messages, has_rounds, adjacent }
    };
    // Rounds have about as many messages as the largest one, and together most of them.
    let most = with.iter().map(|(_, count)| *count).max().unwrap_or(0);
    let is_round = |count: usize| count >= FEW && count as f64 >= ROUND * most as f64;
    let rounds: Vec<_> = with.iter().copied().filter(|(_, count)| is_round(*count)).collect();
    let rounds = of(rounds, true);
    if rounds.messages >= half {
        return Some(rounds);
    }
    let single = of(with, false);
    (single.messages >= half && single.spans.len() >= FEW).then_some(single)
}

/// Calls that returned within a span.
pub(super) fn calls_within(log: &Log, span: (u64, u64)) -> impl Iterator<Item = &Call> {
    let first = log.calls.partition_point(|call| call.ended <= span.0);
    log.calls[first..].iter().take_while(move |call| call.ended < span.1)
}

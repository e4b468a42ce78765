//! What rules look at, and what several of them need.

use super::group::{FEW, Group};
use super::looks::ancestors;
use super::timed::Timed;
use crate::record::calls::Call;
use crate::record::log::Log;
use ipcperf_core::result::{Finding, Severity};
use ipcperf_core::units::{counted, percent};
use ipcperf_sys::trace::name;
use std::collections::{BTreeMap, BTreeSet};

/// Of this share of messages something is said of all of them.
pub(super) const MOSTLY: f64 = 0.5;

/// What takes less than this share of a figure is a note, and no fault.
const MATTERS: f64 = 0.01;

/// What a message takes on a usual machine from one process to another (`ipcperf run`: 2 to 10 us), ns.
const MESSAGE: u64 = 5_000;

/// What rules look at.
pub(super) struct Examined<'a> {
    pub(super) log: &'a Log,
    pub(super) groups: Vec<Group>,
    pub(super) timed: Vec<Timed>,
    /// The same by clocks that count CPU time, and by coarse ones.
    pub(super) by_cpu: Vec<Timed>,
    pub(super) by_coarse: Vec<Timed>,
    /// The size of a message that was asked for.
    pub(super) size: Option<u64>,
    /// Programs were ended from outside, or not all calls were kept.
    pub(super) is_cut: bool,
}

/// What a rule has found, or why it could not look.
pub(super) type Said = Result<Vec<Finding>, &'static str>;

/// A finding about a channel.
pub(super) fn of(group: &Group, finding: Finding) -> Finding {
    Finding { cells: vec![group.name.clone()], ..finding }
}

pub(super) fn each(
    examined: &Examined<'_>,
    rule: impl Fn(&Group) -> Option<Finding>,
) -> Vec<Finding> {
    examined.groups.iter().filter_map(|group| Some(of(group, rule(group)?))).collect()
}

pub(super) fn times(count: usize, what: &str) -> String {
    counted(count as u64, what)
}

/// What takes `part` of a figure of `whole`, as a fault or, if it is little, as a note; its text says the share.
pub(super) fn weighed(part: u64, whole: u64, finding: Finding) -> Finding {
    as_share(part as f64 / whole.max(1) as f64, finding)
}

fn as_share(share: f64, finding: Finding) -> Finding {
    if share >= MATTERS {
        return finding;
    }
    let text = format!("{} ({} of the figure in this run)", finding.text, percent(share));
    Finding { severity: Severity::Info, text, ..finding }
}

/// The same of calls that take `part` of `whole` here, where a tracer stretches messages more than long calls: what counts is the
/// larger of both shares, here and with what such calls and so many messages take on a usual machine.
pub(super) fn weighed_calls(
    [part, whole]: [u64; 2],
    calls: &[&Call],
    messages: usize,
    finding: Finding,
) -> Finding {
    let usual: u64 = calls.iter().map(|call| call.usual_ns()).sum();
    let of = usual + MESSAGE * messages as u64;
    let share = |part: u64, whole: u64| part as f64 / whole.max(1) as f64;
    as_share(share(part, whole).max(share(usual, of)), finding)
}

/// What is timed, where the clock is read by a call.
pub(super) fn timed<'a>(examined: &'a Examined<'_>) -> Result<&'a [Timed], &'static str> {
    match &examined.timed[..] {
        [] => Err("no two clock readings have half of a channel's messages between them"),
        some => Ok(some),
    }
}

/// Who times what of which channel, in which rounds.
pub(super) type Rounds<'a> = (&'a Timed, &'a Group, &'a [(u64, u64)]);

/// Who times rounds of many messages, each one once: a script may use several channels at a time.
pub(super) fn rounds<'a>(
    examined: &'a Examined<'_>,
) -> Result<impl Iterator<Item = Rounds<'a>>, &'static str> {
    let all = timed(examined)?;
    if all.iter().all(|timed| timed.rounds().is_none()) {
        return Err("clocks are read between single messages, by the benchmark or by its runtime");
    }
    let mut seen = BTreeSet::new();
    Ok(all.iter().filter_map(move |timed| {
        let spans = timed.rounds().filter(|spans| seen.insert((timed.process, spans.to_vec())))?;
        Some((timed, examined.groups.get(timed.group)?, spans))
    }))
}

/// How long all spans are, ns.
pub(super) fn length(spans: &[(u64, u64)]) -> u64 {
    spans.iter().map(|span| span.1.saturating_sub(span.0)).sum()
}

/// `fork 2, connect 1`.
pub(super) fn listed(calls: &[&Call]) -> String {
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for call in calls {
        *counts.entry(name(call.number)).or_default() += 1;
    }
    let words: Vec<_> = counts.iter().map(|(name, count)| format!("{name} {count}")).collect();
    words.join(", ")
}

impl Examined<'_> {
    /// A process, or one that it has started, directly or not.
    pub(super) fn is_of(&self, process: u32, ancestor: u32) -> bool {
        process == ancestor || ancestors(self.log, process).any(|parent| parent == ancestor)
    }

    /// It made a process, or loaded a program into one.
    pub(super) fn starts(&self, call: &Call) -> bool {
        let is_process = |made: u32| self.log.parents.contains_key(&made);
        call.loads_program() || call.made().is_some_and(is_process)
    }

    /// The process has memory that others can write to as well: what comes by it is not seen.
    pub(super) fn shares_memory(&self, process: u32) -> bool {
        let is_of = |sharer: &u32| self.is_of(process, *sharer);
        self.log.sharers.iter().any(is_of)
    }

    /// A connection for each message or so is what such a benchmark measures.
    pub(super) fn connects_often(group: &Group) -> bool {
        group.connections.len() * 2 >= group.writes.len().max(FEW)
    }
}

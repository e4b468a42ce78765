//! What is wrong with somebody's benchmark, as far as its calls tell: of the channels with most messages each rule looks at one
//! thing, and says what it has seen.

mod rules;
mod timed;

use super::channels::{Connection, End, Move, connections};
use super::log::Log;
use ipcperf_core::result::{Audit, TimedMessages};
use std::collections::BTreeMap;
use timed::Timed;

/// A channel with fewer messages than this is no benchmark.
const FEW: usize = 10;

/// Nor is one with less than this share of the messages of the largest.
const SMALL: f64 = 0.1;

/// All connections of one kind between two programs, as in a profile.
struct Group {
    /// `client > server over tcp 6379`.
    name: String,
    kind: &'static str,
    connections: Vec<Connection>,
    /// Whatever was written, in the order of time.
    writes: Vec<Move>,
    /// Everything that moved, by process.
    processes: BTreeMap<u32, Vec<Move>>,
}

impl Group {
    fn ends(&self) -> impl Iterator<Item = &End> {
        self.connections.iter().flat_map(|one| [&one.asker, &one.answerer]).flatten()
    }

    /// From the first byte to the last, ns.
    fn span(&self) -> (u64, u64) {
        let all = || self.processes.values().flatten();
        let first = all().map(|one| one.begun).min().unwrap_or(0);
        (first, all().map(|one| one.ended).max().unwrap_or(0))
    }
}

/// What rules look at.
struct Examined<'a> {
    log: &'a Log,
    groups: Vec<Group>,
    timed: Vec<Timed>,
    /// The size of a message that was asked for.
    size: Option<u64>,
    /// Programs were ended from outside, or not all calls were kept.
    is_cut: bool,
}

/// Applies all rules. `size` is that which messages should have; `is_cut` says that it did not end by itself.
pub(super) fn audit(log: &Log, size: Option<u64>, is_cut: bool) -> Audit {
    let groups = groups(log);
    let timed = timed::timed(log, &groups);
    let examined = Examined { log, groups, timed, size, is_cut };
    let timed = examined.timed.iter().filter_map(|one| {
        let group = examined.groups.get(one.group)?;
        Some(TimedMessages {
            channel: group.name.clone(),
            program: log.program(one.process).to_owned(),
            spans: one.spans.len() as u64,
            messages: one.messages as u64,
            of: group.writes.len() as u64,
        })
    });
    let messages = examined.groups.iter().map(|group| group.writes.len() as u64).sum();
    let mut audit = Audit { messages, timed: timed.collect(), ..Audit::default() };
    rules::apply(&examined, &mut audit);
    audit
}

/// The channels with most messages, in the order of time.
fn groups(log: &Log) -> Vec<Group> {
    let mut found: BTreeMap<String, Group> = BTreeMap::new();
    for (kind, name, connection) in connections(log) {
        let ends = [&connection.asker, &connection.answerer];
        // What goes to a terminal or to a program that was not recorded is no part of it.
        let [Some(a), Some(b)] = ends.map(|end| end.as_ref().and_then(End::process)) else {
            continue;
        };
        let over = format!("{kind} {name}");
        let name = format!("{} > {} over {}", log.program(a), log.program(b), over.trim_end());
        let group = found.entry(name.clone()).or_insert_with(|| Group {
            name,
            kind,
            connections: Vec::new(),
            writes: Vec::new(),
            processes: BTreeMap::new(),
        });
        group.connections.push(connection);
    }
    let mut groups: Vec<Group> = found.into_values().collect();
    for group in &mut groups {
        let all: Vec<Move> = group.ends().flat_map(|end| &end.moves).copied().collect();
        group.writes = all.iter().filter(|one| one.is_out).copied().collect();
        group.writes.sort_by_key(|one| one.begun);
        for one in all {
            group.processes.entry(one.process).or_default().push(one);
        }
        group.processes.values_mut().for_each(|all| all.sort_by_key(|one| one.ended));
    }
    let most = groups.iter().map(|group| group.writes.len()).max().unwrap_or(0);
    let least = FEW.max((most as f64 * SMALL) as usize);
    groups.retain(|group| group.writes.len() >= least);
    groups.sort_by_key(|group| group.span());
    groups
}

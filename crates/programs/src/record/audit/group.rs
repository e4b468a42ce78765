//! The channels that are examined: those with most messages.

use super::super::channels::{Connection, ConnectionEnd, Move, connections};
use super::super::log::Log;
use std::collections::{BTreeMap, HashSet};

/// A channel with fewer messages than this is no benchmark.
pub(super) const FEW: usize = 10;

/// Nor is one with less than this share of the messages of the largest.
const SMALL: f64 = 0.1;

/// Threads wake each other by messages of at most so many bytes.
pub(super) const WORD: u64 = 8;

/// All connections of one kind between two programs, as in a profile.
pub(super) struct Group {
    /// `client > server over tcp 6379`.
    pub(super) name: String,
    pub(super) kind: &'static str,
    pub(super) connections: Vec<Connection>,
    /// Whatever was written, in the order of time.
    pub(super) writes: Vec<Move>,
    /// What was written to and read from, as calls name it.
    pub(super) objects: HashSet<u64>,
    /// Everything that moved, by process.
    pub(super) processes: BTreeMap<u32, Vec<Move>>,
}

impl Group {
    /// `client > server`.
    fn programs(&self) -> &str {
        self.name.split(" over ").next().unwrap_or_default()
    }

    /// Whether two channels are used one after the other: once, or in turns of many messages between the same programs.
    pub(super) fn takes_turns_with(&self, other: &Self) -> bool {
        let [own, theirs] = [self.span(), other.span()];
        if own.1 <= theirs.0 || theirs.1 <= own.0 {
            return true;
        }
        let mut all: Vec<(u64, bool)> = self.writes.iter().map(|one| (one.begun, true)).collect();
        all.extend(other.writes.iter().map(|one| (one.begun, false)));
        all.sort_unstable();
        let turns = all.windows(2).filter(|two| two[0].1 != two[1].1).count();
        self.programs() == other.programs() && turns * FEW <= all.len()
    }

    /// From the first byte to the last of each turn.
    pub(super) fn turns(&self, others: &[&Self]) -> Vec<(u64, u64)> {
        let of_others = others.iter().filter(|other| other.name != self.name);
        let mut writes: Vec<u64> =
            of_others.flat_map(|other| &other.writes).map(|one| one.begun).collect();
        writes.sort_unstable();
        let mut moves: Vec<_> =
            self.processes.values().flatten().map(|one| (one.begun, one.ended)).collect();
        moves.sort_unstable();
        let mut turns: Vec<(u64, u64)> = Vec::new();
        for (begun, ended) in moves {
            match turns.last_mut() {
                Some(turn)
                    if writes.partition_point(|at| *at < turn.0)
                        == writes.partition_point(|at| *at < begun) =>
                {
                    turn.1 = turn.1.max(ended);
                }
                _ => turns.push((begun, ended)),
            }
        }
        turns
    }

    fn ends(&self) -> impl Iterator<Item = &ConnectionEnd> {
        self.connections.iter().flat_map(|one| [&one.asker, &one.answerer]).flatten()
    }

    /// From the first byte to the last, ns.
    pub(super) fn span(&self) -> (u64, u64) {
        let all = || self.processes.values().flatten();
        let first = all().map(|one| one.begun).min().unwrap_or(0);
        (first, all().map(|one| one.ended).max().unwrap_or(0))
    }
}

/// A process runs a shell.
fn is_shell(log: &Log, process: u32) -> bool {
    ["sh", "bash", "dash", "ash", "ksh", "mksh", "zsh", "busybox"].contains(&log.program(process))
}

/// The channels with most messages, in the order of time.
pub(super) fn groups(log: &Log) -> Vec<Group> {
    let mut found: BTreeMap<String, Group> = BTreeMap::new();
    for (kind, name, mut connection) in connections(log) {
        // What a launcher moved before it became the benchmark is no part of it.
        let began = |process: u32| log.loaded.get(&process).copied().unwrap_or(0);
        let known = [&mut connection.asker, &mut connection.answerer];
        known.into_iter().flatten().for_each(|end| end.since(began));
        let ends = [&connection.asker, &connection.answerer];
        // What goes to a terminal or to a program that was not recorded is no part of it.
        let [Some(a), Some(b)] = ends.map(|end| end.as_ref().and_then(ConnectionEnd::process))
        else {
            continue;
        };
        let over = format!("{kind} {name}");
        let name = format!("{} > {} over {}", log.program(a), log.program(b), over.trim_end());
        let group = found.entry(name.clone()).or_insert_with(|| Group {
            name,
            kind,
            connections: Vec::new(),
            writes: Vec::new(),
            objects: HashSet::new(),
            processes: BTreeMap::new(),
        });
        group.connections.push(connection);
    }
    let mut groups: Vec<Group> = found.into_values().collect();
    // Nor is what shells say to each other who find out what to start.
    let is_of_shells =
        |group: &Group| group.ends().all(|end| end.process().is_some_and(|it| is_shell(log, it)));
    if !groups.iter().all(is_of_shells) {
        groups.retain(|group| !is_of_shells(group));
    }
    for group in &mut groups {
        let all: Vec<Move> = group.ends().flat_map(|end| &end.moves).copied().collect();
        group.writes = all.iter().filter(|one| one.is_out).copied().collect();
        group.writes.sort_by_key(|one| one.begun);
        for one in all {
            group.objects.insert(one.object);
            group.processes.entry(one.process).or_default().push(one);
        }
        group.processes.values_mut().for_each(|all| all.sort_by_key(|one| one.ended));
    }
    // Nor is what a runtime tells itself, if programs exchange messages.
    let is_inner = |group: &Group| {
        let is_own = |one: &Connection| {
            let [a, b] = [&one.asker, &one.answerer]
                .map(|end| end.as_ref().and_then(ConnectionEnd::process));
            a == b
        };
        ["eventfd", "pipe"].contains(&group.kind)
            && group.connections.iter().all(is_own)
            && group.writes.iter().all(|one| one.bytes <= WORD)
    };
    if groups.iter().any(|group| !is_inner(group) && group.writes.len() >= FEW) {
        groups.retain(|group| !is_inner(group));
    }
    let most = groups.iter().map(|group| group.writes.len()).max().unwrap_or(0);
    let least = FEW.max((most as f64 * SMALL) as usize);
    groups.retain(|group| group.writes.len() >= least);
    groups.sort_by_cached_key(Group::span);
    groups
}

//! What moved at the ends of a connection.

use crate::profile::ChannelNeed;
use std::collections::{BTreeMap, BTreeSet};

/// Data that moved at an end.
#[derive(Clone, Copy, Debug)]
pub(in crate::record) struct Move {
    pub(super) at: u64,
    /// When the call was entered and when it returned, ns.
    pub(in crate::record) begun: u64,
    pub(in crate::record) ended: u64,
    pub(in crate::record) bytes: u64,
    pub(in crate::record) is_out: bool,
    /// Its thread has turned to something else since the last transfer.
    pub(super) is_unasked: bool,
    pub(in crate::record) thread: u32,
    pub(in crate::record) process: u32,
    pub(in crate::record) object: u64,
}

/// One end of a connection, or a pipe with both.
#[derive(Debug, Default)]
pub(in crate::record) struct ConnectionEnd {
    pub(in crate::record) moves: Vec<Move>,
    /// Processes with the number of their transfers.
    pub(super) processes: BTreeMap<u32, u64>,
    pub(super) connects: bool,
    pub(super) needs: BTreeSet<ChannelNeed>,
}

impl ConnectionEnd {
    /// The process with most transfers.
    pub(in crate::record) fn process(&self) -> Option<u32> {
        self.processes.iter().max_by_key(|(_, count)| **count).map(|(process, _)| *process)
    }

    /// Leaves out what a process moved before such a time.
    pub(in crate::record) fn since(&mut self, began: impl Fn(u32) -> u64) {
        self.moves.retain(|one| one.begun >= began(one.process));
        self.processes.clear();
        for one in &self.moves {
            *self.processes.entry(one.process).or_default() += 1;
        }
    }

    /// Whether data is seen to leave and to come. Calls that hide what they move (io_uring, `recvmmsg`) may hide one of them.
    pub(super) fn sees_both(&self) -> bool {
        self.moves.iter().any(|one| one.is_out) && self.moves.iter().any(|one| !one.is_out)
    }

    pub(super) fn span(&self) -> (u64, u64) {
        (self.moves.first().map_or(0, |one| one.at), self.moves.last().map_or(0, |one| one.at))
    }

    pub(super) fn sort(&mut self) {
        self.moves.sort_by_key(|one| one.at);
    }

    /// The same from the other side, where only this one is known.
    pub(super) fn turned(&self) -> Vec<Move> {
        self.moves.iter().map(|one| Move { is_out: !one.is_out, ..*one }).collect()
    }
}

/// A connection: what either end did. Of some only one end is known.
#[derive(Debug, Default)]
pub(in crate::record) struct Connection {
    pub(in crate::record) asker: Option<ConnectionEnd>,
    pub(in crate::record) answerer: Option<ConnectionEnd>,
}

impl Connection {
    /// Whether data moved both ways.
    pub(super) fn is_mutual(&self) -> bool {
        let back = |end: &Option<ConnectionEnd>, is_out: bool| {
            end.iter().flat_map(|end| &end.moves).any(|one| one.is_out == is_out)
        };
        back(&self.asker, false) || back(&self.answerer, true)
    }
}

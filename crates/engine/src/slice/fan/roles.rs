//! Which processes a cell of a fan, a broadcast, a feed or a grid has, and what they leave.

use super::tapes;
use ipcperf_core::result::CellKey;
use ipcperf_core::{Ends, PatternKind, Seat};

/// The processes of both sides.
#[derive(Clone, Copy, Debug)]
pub(super) struct Roles {
    pattern: PatternKind,
    pub(super) producers: u64,
    pub(super) consumers: u64,
}

impl Roles {
    pub(super) const fn of(key: &CellKey) -> Self {
        let [producers, consumers] = key.load.sides(key.pattern);
        Self { pattern: key.pattern, producers, consumers }
    }

    /// How many stand on a side.
    pub(super) const fn on(self, seat: Seat) -> u64 {
        match seat {
            Seat::Lead => self.producers,
            Seat::Follow => self.consumers,
        }
    }

    pub(super) const fn all(self) -> u64 {
        self.producers + self.consumers
    }

    /// The side that has several processes; `None` in a grid.
    pub(super) const fn many(self) -> Option<Seat> {
        self.pattern.many()
    }

    /// The side whose workers are started first: the one with several processes, in a grid the producers.
    pub(super) fn first(self) -> Seat {
        self.many().unwrap_or(Seat::Lead)
    }

    pub(super) fn fans_in(self) -> bool {
        self.many() == Some(Seat::Lead)
    }

    pub(super) fn is_grid(self) -> bool {
        self.pattern.facts().ends == Ends::Grid
    }

    /// Whether its messages are due at times of their own.
    pub(super) fn is_feed(self) -> bool {
        self.pattern == PatternKind::Feed
    }

    /// Whether every consumer gets every message.
    pub(super) const fn to_each(self) -> bool {
        self.pattern.facts().to_each
    }

    /// Whether a consumer notes the messages of each producer.
    pub(super) fn notes_producers(self) -> bool {
        self.fans_in() || self.is_grid()
    }

    /// How many processes time their calls: the producers if there are several, otherwise the consumers.
    pub(super) fn peers(self) -> u64 {
        if self.notes_producers() { self.producers } else { self.consumers }
    }

    /// Processes that share the messages: all of a grid, otherwise those of the larger side.
    pub(super) fn sharing(self) -> u64 {
        if self.is_grid() { self.all() } else { self.producers.max(self.consumers) }
    }

    /// Tapes of calls: one for each peer, and in a feed one for the producer.
    pub(super) fn tapes(self) -> u64 {
        self.peers() + u64::from(self.is_feed())
    }

    /// Slots of the page that the tapes take.
    pub(super) fn slots(self) -> usize {
        tapes::slots(self.tapes(), if self.is_grid() { self.consumers } else { 1 })
    }
}

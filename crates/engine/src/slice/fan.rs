//! Several producers and one consumer, one producer and several consumers, or several of both (a grid), over one object: each
//! in a process of its own, all of them attached to the same wiring of their side. In a broadcast each consumer has a channel
//! of its own to the producer.
//!
//! The coordinator leads: before each phase (verification, warm-up in growing steps, the timed one) every worker says
//! what it did in the last one and waits for what to do next. So no worker is ahead by more than a phase, and the
//! death of one is noticed at once.

pub(crate) mod feed;
mod objection;
mod roles;
mod slice;
mod tapes;
mod track;
pub(crate) mod worker;

pub(crate) use objection::objection;
use objection::pieces;
use roles::Roles;
pub(crate) use slice::{run, together};

use crate::hot::Spill;
use crate::hot::fan::Tally;
use crate::job::{Job, SideReport};
use crate::offset::Offset;
use crate::protocol::Kind;
use crate::slice::samples;
use ipcperf_core::{KnobValue, PatternKind, Shape};
use serde::{Deserialize, Serialize};
use std::num::NonZeroU64;
use std::sync::atomic::AtomicU32;

/// The name under which a worker is sent here.
pub(crate) const TASK: &str = "fan";

/// What a worker is told and tells.
pub(crate) const KINDS: [Kind; 3] = [
    Kind::of::<FanPart>("fan: part"),
    Kind::of::<Order>("fan: order"),
    Kind::of::<Said>("fan: said"),
];

/// One worker's part.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct FanPart {
    job: Job,
    /// Which of its side it is.
    number: u64,
    /// Pieces of a message.
    #[serde(default = "one_piece", skip_serializing_if = "is_one_piece")]
    pieces: NonZeroU64,
    /// Whether ends of this mechanism never sleep.
    spins: bool,
}

const fn one_piece() -> NonZeroU64 {
    NonZeroU64::MIN
}

fn is_one_piece(pieces: &NonZeroU64) -> bool {
    *pieces == NonZeroU64::MIN
}

impl FanPart {
    /// All processes.
    fn roles(&self) -> Roles {
        Roles::of(&self.job.key)
    }

    /// Whether it is one of the many.
    fn is_peer(&self) -> bool {
        self.roles().many() == Some(self.job.seat)
    }
}

/// What the channel to one of the consumers of a broadcast has to carry: a stream, under a number of its own.
fn channel(of: &Shape, consumer: u64) -> Shape {
    Shape { pattern: PatternKind::Stream, ..of.numbered(consumer) }
}

/// What to do next.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
enum Order {
    /// Move messages.
    Run(Phase),
    /// That was all.
    End,
}

/// One passage of messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Phase {
    /// Whether every byte is written and compared, whatever the touch policy.
    is_verification: bool,
    /// Number of the first message of each producer.
    first: u64,
    /// Messages each producer sends.
    count: u64,
    /// A peer times one call in so many.
    every: u64,
    /// Messages between two readings of the clock at a consumer.
    batch: u64,
    /// Whether its messages are due at times of their own; those of a feed that verify are not.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    is_paced: bool,
}

/// What a worker says before it waits for an order.
#[derive(Debug, Serialize, Deserialize)]
enum Said {
    /// It is attached; the knobs as granted.
    Attached(Vec<(String, KnobValue)>),
    /// A phase is over.
    Ran(Box<PhaseResult>),
}

/// What one worker did in one phase.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct PhaseResult {
    /// When all had come to begin, ticks.
    met: u64,
    tally: Tally,
    /// How much it left in the tapes of the page, and what did not fit a slot.
    rows: Left,
    calls: Left,
    side: SideReport,
    /// How the clock of the consumers differs from its own; of the producer of a feed where it verifies.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    offset: Option<Offset>,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct Left {
    len: u64,
    spills: Vec<Spill>,
}

impl Left {
    /// The numbers of the tape.
    fn read(&self, tape: &[AtomicU32]) -> Vec<u64> {
        samples(tape, self.len, &self.spills)
    }
}

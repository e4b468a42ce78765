//! The only code of cells of two ends and of fans that runs timed. Elsewhere are what a client of `connect` times, bounds,
//! and what a study pipes.
//!
//! Rules of this folder
//! 1. Only integers, the port, the clock and the recorder: no `dyn`, no allocation, no lock, no formatting, no system
//!    call but the mechanism's own. `cargo xtask asm` looks at the emitted code. Four ports are behind a table all
//!    the same: messages in packets, where an operation is many calls; the channels of a broadcast, for which every mechanism
//!    would need a second pair of loops; the self-loop, which is a bound; and the one in which things go wrong on purpose.
//! 2. `lead` and `follow` are `#[inline(never)]`, so that each port has named symbols; everything they call is inlined,
//!    and what happens on a fault is `#[cold]`. What differs between messages is data ([`AnyWork`]), and not a loop.
//! 3. A loop ends on a count both ends knew before it began: a wake-up mechanism has no room for an in-band stop. Only
//!    the consumers of a fan-out cannot know theirs; each ends on a mark of its own.
//! 4. Verification, warm-up and measurement run the same function with the same recorder type; another type would be
//!    other machine code.
//! 5. Overhead is shown, never subtracted.
//! 6. A port may block for ever. Nobody times it out in here; the coordinator does, from outside.

pub mod account;
mod any_work;
pub mod broadcast;
mod closed;
mod credit;
pub mod fan;
pub mod fan_in;
pub mod fan_out;
pub mod feed;
pub mod grid;
mod lossy;
mod pace;
mod paced;
mod private;
mod recorder;
mod special;
mod stamp;
mod stream;
mod times;
mod touch;
mod trip;
mod work;

pub use any_work::AnyWork;
pub use closed::Closed;
pub use pace::Pace;
pub use paced::{Paced, Request};
pub use private::Private;
pub use recorder::{Recorder, Spill};
pub use special::{Content, SharedTranscoder, Special};
pub use stamp::Stamp;
pub use stream::Stream;
pub use times::Times;
pub(crate) use times::place;
pub use touch::{Full, Lines};
pub use trip::Trip;
pub use work::Work;

use ipcperf_core::result::CellKey;
use ipcperf_core::{Fault, PatternKind, Port};
use ipcperf_sys::clock::Clock;
use std::sync::atomic::AtomicU64;

/// What a loop is to do; only validated integers.
#[derive(Clone, Copy, Debug)]
pub struct Plan<'a> {
    /// Bytes the port is asked to move per message.
    pub len: usize,
    /// Bytes of an answer or a credit.
    pub answer: usize,
    /// How many times the recorder is fed.
    pub samples: u64,
    /// Operations per sample.
    pub batch: u64,
    /// Sequence number of the first message.
    pub first: u64,
    /// Messages under way before the sender waits for a credit, or for an answer; 0: no credits, one answer at a time.
    pub window: u64,
    /// Messages before each answer, at least 1; 1 where the pattern has none.
    pub burst: u64,
    /// When round trips begin, where they do not follow each other at once.
    pub pace: Pace<'a>,
    /// Where the lead of a stream over a mechanism that loses messages tells the follow how many it has sent, by the number
    /// of the next one, whenever it waits. Without it a follow cannot tell a lead that waits from one that is held up.
    pub sent: Option<&'a AtomicU64>,
}

impl Default for Plan<'_> {
    /// Nothing to do.
    fn default() -> Self {
        let pace = Pace::default();
        Self {
            len: 0,
            answer: 0,
            samples: 0,
            batch: 0,
            first: 0,
            window: 0,
            burst: 1,
            pace,
            sent: None,
        }
    }
}

impl Plan<'_> {
    /// Operations (round trips, messages of bursts, or messages of a stream after its first one).
    #[must_use]
    pub fn operations(&self) -> u64 {
        self.samples * self.batch * self.burst
    }
}

/// What one end did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Messages sent, credits not counted.
    pub sent: u64,
    /// Messages received, credits not counted.
    pub received: u64,
    /// Messages that never came (lossy mechanisms).
    pub lost: u64,
    /// When the timed region began, ticks.
    pub begin: u64,
    /// When it ended, ticks.
    pub end: u64,
}

/// What the loop does, generic over everything it touches.
pub trait Pattern {
    /// Messages beyond [`Plan::operations`] that one run moves: the first message of a stream only starts the clock.
    const EXTRA: u64;

    /// Samples at the start of a timed segment that still carry the passing of the gate.
    const LEAD_IN: u64;

    /// How many times a sample feeds the recorder.
    const SLOTS: u64;

    /// The same messages without pauses: verifies and warms up.
    type Eager: Pattern;

    /// The end that starts.
    ///
    /// # Errors
    /// The first [`Fault`].
    fn lead<P: Port, W: Work>(
        port: &mut P,
        clock: Clock,
        plan: Plan<'_>,
        work: W,
        recorder: &mut Recorder<'_>,
    ) -> Result<Tally, Fault>;

    /// The end that answers.
    ///
    /// # Errors
    /// The first [`Fault`].
    fn follow<P: Port, W: Work>(
        port: &mut P,
        clock: Clock,
        plan: Plan<'_>,
        work: W,
        recorder: &mut Recorder<'_>,
    ) -> Result<Tally, Fault>;
}

/// What is to be done with the loops of a cell, whichever they are.
pub(crate) trait Choice {
    /// What comes of it.
    type Outcome;

    /// The loops are those of `A`.
    fn take<A: Pattern>(self) -> Self::Outcome;
}

/// Gives the loops of a cell to `choice`; `None` where the pattern has workers of its own.
pub(crate) fn loops<C: Choice>(key: &CellKey, choice: C) -> Option<C::Outcome> {
    match key.pattern {
        PatternKind::PingPong if key.load.think_ns > 0 => Some(choice.take::<Paced>()),
        PatternKind::PingPong | PatternKind::Burst => Some(choice.take::<Closed>()),
        PatternKind::Stream => Some(choice.take::<Stream>()),
        PatternKind::Rate => Some(choice.take::<Paced>()),
        PatternKind::Request => Some(choice.take::<Request>()),
        PatternKind::FanIn
        | PatternKind::FanOut
        | PatternKind::Grid
        | PatternKind::Broadcast
        | PatternKind::Feed
        | PatternKind::Connect
        | PatternKind::Serve => None,
    }
}

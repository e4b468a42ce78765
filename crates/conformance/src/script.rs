//! Messages between the coordinator and the workers of the suite: steps to play, and their results.

use crate::census::Descriptors;
use ipcperf_core::{Fault, FollowIn, KnobValue, Lends, OptionSet, Seat, Shape};
use serde::{Deserialize, Serialize};

/// What a worker is for.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct WorkerPart {
    /// Full name of the mechanism.
    pub(crate) mechanism: String,
    pub(crate) seat: Seat,
    pub(crate) options: OptionSet,
    /// CPU to pin to.
    pub(crate) cpu: Option<usize>,
    /// System calls that are refused from the attaching on.
    pub(crate) refused: Vec<i64>,
    /// Namespaces that it enters before it attaches to its first channel.
    pub(crate) enters: Option<FollowIn>,
    /// Messages are sent from memory that is gone when the call returns.
    pub(crate) is_fleeting: bool,
}

/// One channel: attach, play, drop the port.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Scenario {
    pub(crate) shape: Shape,
    pub(crate) steps: Vec<Step>,
}

/// What a worker tells before it waits.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum Told {
    /// It has its part.
    Idle,
    /// Attached, and waiting at a [`Step::Hold`].
    Holding,
    /// What came of the steps; shorter than the scenario if one of them stopped it.
    Done(Vec<StepOutcome>),
    /// No port came about.
    Refused {
        /// The host cannot run it, as the mechanism itself says.
        unavailable: bool,
        reason: String,
    },
}

/// One thing an end does.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) enum Step {
    Send(Batch),
    Receive(Batch),
    /// Round trips; the lead speaks first.
    Exchange(Batch),
    Finish,
    /// Tells the coordinator, and waits for its word.
    Hold,
    /// What is open in this process.
    Census,
    /// One message at a time, so that nobody has to wait, each transfer behind the warm-up between marks.
    Counted {
        from: Seat,
        batch: Batch,
        warm_up: u64,
    },
    /// Round trips between two marks.
    Watched(Batch),
    /// Round trips, with the calls for memory that they made and the page faults they took. The last step of a process:
    /// what looks at its calls stays.
    WatchedMemory(Batch),
    /// From now on signals interrupt system calls.
    Interruptible,
    /// How many signals have interrupted this process.
    Interruptions,
    /// Values of knobs that attaching has reported.
    Knobs,
    /// Round trips, and in what memory their messages were shown.
    Places(Batch),
}

/// A run of messages. Both ends get the same one, or two that differ only in how they cut the bytes.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Batch {
    pub(crate) until: Until,
    pub(crate) sizes: Sizes,
    /// Messages under way before the sender waits for a credit; 0: no credits.
    pub(crate) window: u64,
    /// A fault ends this step and not the scenario.
    pub(crate) tolerant: bool,
    /// Messages may be missing, but not doubled, swapped or damaged.
    pub(crate) gaps: bool,
    /// Each message is handed over at once, so that what counts as sent is under way.
    pub(crate) prompt: bool,
}

/// When a batch is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Until {
    /// After so many messages.
    Count(u64),
    /// After so many bytes of a stream, which are cut at each end's own pleasure.
    Bytes(u64),
}

/// Lengths of the messages, known to both ends.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) enum Sizes {
    /// These, over and over.
    List(Vec<usize>),
    /// Random ones.
    Random { seed: u64, low: usize, high: usize },
}

/// What came of one step.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct StepOutcome {
    /// Messages moved; a round trip is one.
    pub(crate) count: u64,
    /// Bytes moved.
    pub(crate) bytes: u64,
    /// Fingerprint of all of them.
    pub(crate) hash: u64,
    /// The fault that ended it.
    pub(crate) end: Option<SentFault>,
    /// In words.
    pub(crate) detail: String,
    /// That was not part of the plan.
    pub(crate) stopped: bool,
    pub(crate) census: Option<Descriptors>,
    /// Page faults without disk access, or interruptions.
    pub(crate) events: u64,
    /// Calls for memory by name, and how often each was made.
    pub(crate) memory: Vec<(String, u64)>,
    pub(crate) knobs: Vec<(String, KnobValue)>,
    /// In what memory the messages that were sent, and those that were received, were shown.
    pub(crate) lent: [Option<Lends>; 2],
}

impl StepOutcome {
    /// A step that stopped the scenario, and why.
    pub(crate) fn stopped(why: impl ToString) -> Self {
        Self { detail: why.to_string(), stopped: true, ..Self::default() }
    }
}

/// A [`Fault`] that can travel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum SentFault {
    Closed,
    PeerDied,
    TooLong,
    Truncated,
    Overrun,
    Corrupt,
    Timeout,
    Other,
}

impl From<Fault> for SentFault {
    fn from(fault: Fault) -> Self {
        match fault {
            Fault::Closed => Self::Closed,
            Fault::PeerDied => Self::PeerDied,
            Fault::TooLong => Self::TooLong,
            Fault::Truncated => Self::Truncated,
            Fault::Overrun => Self::Overrun,
            Fault::Corrupt => Self::Corrupt,
            Fault::Timeout => Self::Timeout,
            _ => Self::Other,
        }
    }
}

impl Batch {
    /// `count` messages of the given sizes.
    pub(crate) fn new(count: u64, sizes: Sizes, window: u64) -> Self {
        Self {
            until: Until::Count(count),
            sizes,
            window,
            tolerant: false,
            gaps: false,
            prompt: false,
        }
    }

    /// Messages until something ends them.
    pub(crate) fn endless(size: usize, window: u64) -> Self {
        Self {
            tolerant: true,
            prompt: true,
            ..Self::new(u64::MAX, Sizes::List(vec![size]), window)
        }
    }

    /// One message, or the fault in its place.
    pub(crate) fn attempt(size: usize) -> Self {
        Self { tolerant: true, ..Self::new(1, Sizes::List(vec![size]), 0) }
    }
}

/// What both ends play.
#[derive(Clone, Debug, Default)]
pub(crate) struct Script(pub(crate) [Vec<Step>; 2]);

impl Script {
    /// One end does something, the other does not.
    pub(crate) fn only(mut self, seat: Seat, step: Step) -> Self {
        self.0[seat.index()].push(step);
        self
    }

    /// Both ends do the same.
    pub(crate) fn both(self, step: Step) -> Self {
        self.only(Seat::Lead, step.clone()).only(Seat::Follow, step)
    }

    /// One end sends, the other receives.
    pub(crate) fn send(self, from: Seat, batch: Batch) -> Self {
        self.only(from, Step::Send(batch.clone())).only(from.other(), Step::Receive(batch))
    }

    /// Messages there and back.
    pub(crate) fn exchange(self, batch: Batch) -> Self {
        self.both(Step::Exchange(batch))
    }
}

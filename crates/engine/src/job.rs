//! The job that workers receive, and their report.

use crate::hot::Spill;
use crate::inject::Injection;
use crate::offset::Offset;
use ipcperf_core::result::{CellKey, NeighbourRound, ScheduledEnd};
use ipcperf_core::{Attach, Fault, KnobValue, Meet, OptionSet, Seat, SetupError, Shape, Wiring};
use ipcperf_sys::clock::Clock;
use ipcperf_sys::limits;
use ipcperf_sys::meter::Span;
use ipcperf_sys::procfs::Consumption;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

/// One end of a slice.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Job {
    /// What is measured.
    pub key: CellKey,
    /// Which end.
    pub seat: Seat,
    /// What the channel carries.
    pub shape: Shape,
    /// Knobs as set.
    pub options: OptionSet,
    /// Bytes the port is asked to move: the size, or the word of a wake-up mechanism.
    pub len: usize,
    /// Messages under way before the sender waits for a credit or an answer; 0: as the mechanism itself stops it.
    pub window: u64,
    /// Messages under way for which it is tried whether the channel keeps them; 0 where nobody need ask.
    pub trial: u64,
    /// CPU to pin to; `None`: not pinned.
    pub cpu: Option<usize>,
    /// Both CPUs of the slice, lead first, which the key has in even rounds; empty unless both ends are pinned.
    pub cpus: Vec<usize>,
    /// Whether the CPU counter is the clock.
    pub counter: bool,
    /// Length of a tick, as known by now.
    pub ns_per_tick: f64,
    /// What the arrivals of an open loop are drawn from.
    pub seed: u64,
    /// Median cost of one start-stop pair, ticks.
    pub overhead: u64,
    /// Warm-up, ticks.
    pub warmup: u64,
    /// Operations of the warm-up; 0: as many as fit into it.
    #[serde(default)]
    pub warmup_operations: u64,
    /// Timed region, ticks.
    pub slice: u64,
    /// Open loop: ticks of a round trip in a closed loop of its family. `None`: the slice finds it out, and nothing else.
    #[serde(default)]
    pub peak: Option<f64>,
    /// Samples of the timed region; 0: as many as fit into it.
    pub operations: u64,
    /// Operations per sample; 0: decide from the warm-up, or 1 where samples are counted.
    pub batch: u64,
    /// How many messages are checked byte by byte before the warm-up.
    pub verify: u64,
    /// Whether each system call of the timed region is timed, and the slice yields nothing else.
    #[serde(default)]
    pub time_calls: bool,
    /// The control group that this end enters; absent if none was made for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group: Option<PathBuf>,
    /// How long an end of a real-time class may use its CPU without waiting; absent where none is of such a class.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub realtime_for: Option<Duration>,
    /// Which of several channels this is an end of, from 0.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub channel: u64,
    /// The process of the neighbour; absent if there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub neighbour: Option<u32>,
    /// What is to go wrong on purpose.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub injections: Vec<Injection>,
    /// The program that is the follow; `None`: our own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub program: Option<ProgramJob>,
}

/// A program at the place of the follow.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ProgramJob {
    /// The program and its arguments; none where an end is running already.
    pub words: Vec<String>,
    /// The process that listens, where an end is running already and the kernel names it, and when the lead connected
    /// (`CLOCK_MONOTONIC`), ns.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub running: Option<(Option<u32>, u64)>,
    /// How many leading bytes of a message an answer complements.
    pub flip: usize,
    /// How long all of it may take until the last answer.
    pub patience: Duration,
    /// Open files of the program, the soft and the hard limit.
    pub files: Option<[Option<u64>; 2]>,
}

/// What is known of a program at the place of the follow.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ProgramReport {
    /// When it was started (`CLOCK_MONOTONIC`), ns.
    pub start_ns: u64,
    /// Most processes and threads that were seen together.
    pub most: [u64; 2],
    /// A process was lost before anybody had its account.
    pub is_incomplete: bool,
    /// What it said.
    pub said: Vec<String>,
}

impl Job {
    /// Whether both ends have a CPU of their own.
    pub(crate) fn is_apart(&self) -> bool {
        matches!(self.cpus.as_slice(), [lead, follow] if lead != follow)
    }

    /// The clock of the slice.
    pub(crate) fn clock(&self) -> Clock {
        if self.counter { Clock::counter() } else { Clock::monotonic() }
    }

    /// The CPU that this end is pinned to.
    pub(crate) fn cpu_of(&self, end: Seat) -> Option<usize> {
        self.cpus.get(end.index()).copied().or_else(|| self.key.placement.alone(end))
    }

    /// What this end attaches with.
    pub fn end<'a>(&'a self, wiring: Wiring, meet: &'a mut dyn Meet) -> Attach<'a, OptionSet> {
        Attach { wiring, seat: self.seat, shape: &self.shape, options: &self.options, meet }
    }
}

/// One timed segment as one end saw it.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Segment {
    /// Messages sent.
    pub sent: u64,
    /// Messages received.
    pub received: u64,
    /// Messages lost.
    pub lost: u64,
    /// Begin, ticks.
    pub begin: u64,
    /// End, ticks.
    pub end: u64,
    /// Open loop: when the last message was due, ticks after the begin.
    #[serde(default)]
    pub due: u64,
    /// The first of its slots.
    #[serde(default)]
    pub at: u64,
    /// Samples in the slots.
    pub samples: u64,
    /// Operations per sample.
    pub batch: u64,
    /// Samples at the start that belong to the start-up of the segment.
    pub lead_in: u64,
    /// Samples that did not fit a slot.
    pub spills: Vec<Spill>,
    /// Sequence number of its first message.
    pub first: u64,
    /// How the counters of the two CPUs differ, where each way is timed; lead only.
    pub offset: Option<Offset>,
}

impl Segment {
    /// Adds what another segment counted.
    pub(crate) fn count(&mut self, other: &Self) {
        self.sent += other.sent;
        self.received += other.received;
        self.lost += other.lost;
        self.samples += other.samples;
    }
}

/// What one end consumed and where it ran.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct SideReport {
    /// The last timed segments, which lie in the slots one behind the other.
    pub segments: Vec<Segment>,
    /// Process.
    pub pid: u32,
    /// What it consumed in the timed segments.
    pub spent: Consumption,
    /// When the ends of all channels had come to begin, ticks; absent where there is one channel.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub began: u64,
    /// Migrations.
    pub migrations: Option<u64>,
    /// Run delay, ns.
    pub run_delay_ns: Option<u64>,
    /// Inter-processor interrupts on the slice's CPUs; lead only.
    pub ipis: Option<u64>,
    /// The whole machine around the timed segments; lead only.
    pub machine: Span,
    /// CPU at the end.
    pub cpu: usize,
    /// CPUs allowed at the end.
    pub allowed: Option<Vec<usize>>,
    /// The process that traced it at the end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tracer: Option<u32>,
    /// Median cache-line round trip before and after the timed segments, ticks; lead only, two CPUs only.
    pub cacheline: [Option<f64>; 2],
    /// The speed of its CPU before and after the timed segments, ticks of a step (`bounds::step`); of the lead alone where
    /// both share a CPU.
    #[serde(default)]
    pub step: [Option<f64>; 2],
    /// The difference of the counters again, after the timed segments; lead only.
    pub offset: Option<Offset>,
    /// What changing a message and changing it back cost by themselves, ticks; lead only.
    pub transform: Option<[f64; 2]>,
    /// Open loop: ticks of a round trip in a closed loop, mean: found out, or as it was told.
    #[serde(default)]
    pub peak: Option<f64>,
    /// Messages checked byte by byte.
    pub verified: u64,
    /// What the port counted in the timed segments.
    pub events: BTreeMap<String, u64>,
    /// Knobs as granted to this end.
    pub effective: Vec<(String, KnobValue)>,
    /// What its system calls took, where they were timed.
    #[serde(default)]
    pub calls: Option<CallsReport>,
    /// The program that was the follow; of the follow only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub program: Option<ProgramReport>,
    /// How the kernel schedules it; absent where nothing was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scheduled: Option<ScheduledEnd>,
    /// What the neighbour did in the timed segments; of the lead only, absent if there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub neighbour: Option<NeighbourRound>,
    /// When the first answer of a program was right (`CLOCK_MONOTONIC`), and how long the warm-up after it took, ns; of the
    /// lead only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answered: Option<[u64; 2]>,
}

/// What the system calls of one end took in the timed segments, ticks.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct CallsReport {
    /// By name: how many there were, their median and their mean.
    pub calls: BTreeMap<String, (u64, f64, f64)>,
    /// Messages sent, or received if those are more.
    pub messages: u64,
    /// Median of a call that does nothing.
    pub empty: f64,
}

/// Why a worker gave up.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Failure {
    /// The kind decides status and exit code.
    pub kind: FailureKind,
    /// In words.
    pub reason: String,
}

/// What kind of failure it was.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum FailureKind {
    /// The host cannot run it.
    Unavailable,
    /// A message was wrong: the measurement is invalid.
    Invalid,
    /// A message arrived shortened, which is wrong as well.
    Truncated,
    /// The worker ended before it was done.
    Died,
    /// The peer is gone.
    PeerGone,
    /// Anything else.
    Failed,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the signature serde asks for")]
fn is_zero(number: &u64) -> bool {
    *number == 0
}

/// Adds values of knobs that are not known yet.
pub(crate) fn note(known: &mut Vec<(String, KnobValue)>, granted: Vec<(String, KnobValue)>) {
    for (knob, value) in granted {
        if !known.iter().any(|(name, _)| *name == knob) {
            known.push((knob, value));
        }
    }
}

impl From<SetupError> for Failure {
    fn from(error: SetupError) -> Self {
        let kind = match error {
            SetupError::Unavailable(_) => FailureKind::Unavailable,
            _ => FailureKind::Failed,
        };
        let reason = match error {
            SetupError::Sys { call, code } => format!("{call}: {}", limits::text(code)),
            other => other.to_string(),
        };
        Self { kind, reason }
    }
}

impl From<Fault> for Failure {
    fn from(fault: Fault) -> Self {
        let kind = match fault {
            Fault::Corrupt | Fault::Overrun => FailureKind::Invalid,
            Fault::Truncated => FailureKind::Truncated,
            Fault::Closed | Fault::PeerDied => FailureKind::PeerGone,
            _ => FailureKind::Failed,
        };
        let reason = match fault {
            Fault::Sys(code) => format!("system call failed: {}", limits::text(code)),
            other => other.to_string(),
        };
        Self { kind, reason }
    }
}

impl From<std::io::Error> for Failure {
    fn from(error: std::io::Error) -> Self {
        Self { kind: FailureKind::Failed, reason: error.to_string() }
    }
}

impl From<String> for Failure {
    fn from(reason: String) -> Self {
        Self { kind: FailureKind::Failed, reason }
    }
}

impl From<serde_json::Error> for Failure {
    fn from(error: serde_json::Error) -> Self {
        format!("control message: {error}").into()
    }
}

//! One cell: its identity, its rounds, and their summary.

use super::call_times::CallTimes;
use super::columns;
use super::histogram::HistogramData;
use super::metric::{Metric, OperationMode};
use super::neighbour::{NeighbourLoad, NeighbourRound, OfAlone};
use super::pattern::{
    Channels, ChannelsRound, Connections, Fan, FanRound, Feed, FeedRound, OneWay, ProgramEnd,
    Served, TransformCost,
};
use super::rejection::Rejection;
use super::scheduled::Scheduled;
use crate::load::{Load, is_zero};
use crate::load_value::Offered;
use crate::map_of;
use crate::names;
use crate::names::{Axis, Idle, Touch};
use crate::options::{KnobValue, OptionSet};
use crate::pattern::{Figure, PatternKind};
use crate::placement::Placement;
use crate::spec::Wait;
use crate::units::format_bytes;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What is measured, where and how: with the knobs the identity of a cell, from the plan to the document.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CellKey {
    /// `pipe`, `shm-ring/spin`.
    pub mechanism: String,
    /// How an end waits.
    pub wait: Wait,
    /// What the loop does.
    pub pattern: PatternKind,
    /// Bytes of one message; 0 for wake-ups.
    pub size_bytes: u64,
    /// Where the ends run.
    pub placement: Placement,
    /// CPUs of lead and follow in even rounds (swapped in odd rounds unless they were named); empty for `free` or if only
    /// one end is pinned.
    pub cpus: Vec<usize>,
    /// What idle CPUs do.
    pub idle: Idle,
    /// What happens to the payload.
    pub touch: Touch,
    /// Load options; absent if there are none.
    #[serde(default, skip_serializing_if = "Load::is_plain")]
    pub load: Load,
}

impl CellKey {
    /// Whether its messages are due at times of their own, so that its rate is what was asked for.
    #[must_use]
    pub fn is_open(&self) -> bool {
        self.pattern.facts().is_open || self.load.rate.is_some()
    }

    /// Bytes of one message, as lengths in memory are counted.
    #[must_use]
    pub fn size(&self) -> usize {
        usize::try_from(self.size_bytes).unwrap_or(usize::MAX)
    }

    /// Where it lies on an axis, in bytes, clients, messages per second or nanoseconds; `None` for a rate that is a share.
    #[must_use]
    pub fn place_on(&self, axis: Axis) -> Option<u64> {
        match axis {
            Axis::Size => Some(self.size_bytes),
            Axis::Conns => Some(self.load.conns),
            Axis::Think => Some(self.load.think_ns),
            Axis::Rate => match self.load.rate? {
                Offered::PerSecond(rate) => Some(rate.round() as u64),
                Offered::OfPeak(_) => None,
            },
        }
    }

    /// It in words, with these knobs: `pipe ping-pong 64B same-llc pipe.size=1M`.
    #[must_use]
    pub fn words(&self, options: &OptionSet) -> String {
        let size = match self.size_bytes {
            size if size >= 1024 => format_bytes(size),
            size => format!("{size}B"),
        };
        // Numbers alone would be taken for sizes.
        let is_word = Placement::words().any(|word| self.placement.to_string() == word);
        let key = if is_word { "" } else { "place=" };
        let (mechanism, pattern, place) = (&self.mechanism, self.pattern, self.placement);
        let mut words = vec![format!("{mechanism} {pattern} {size} {key}{place}")];
        if self.idle != Idle::AsIs {
            words.push(format!("idle={}", self.idle));
        }
        if self.touch != Touch::CacheLine {
            words.push(format!("touch={}", self.touch));
        }
        words.extend(self.load.words());
        words.extend(options.0.iter().map(|(knob, value)| format!("{knob}={value}")));
        words.join(" ")
    }
}

/// What gets a number. A metric that the pattern does not have is absent.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(extend(
    "if" = {"properties": {"status": {"not": {"const": "ok"}}}},
    "then" = {"required": ["reason"]}
)))]
pub struct Cell {
    /// The identity in words: `pipe ping-pong 64B same-llc`.
    pub id: String,
    /// What is measured, where and how.
    #[serde(flatten)]
    pub key: CellKey,
    /// Knobs by full name, `pipe.size`.
    pub knobs: BTreeMap<String, KnobReading>,
    /// Whether there is a number, and why not.
    pub status: Status,
    /// Why there is no number; absent when `ok`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// How operations were timed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timing: Option<Timing>,
    /// Slices as columns: a list of values under each key, one per slice; empty if there are none.
    #[serde(with = "columns")]
    #[cfg_attr(feature = "schema", schemars(with = "Round"))]
    pub rounds: Vec<Round>,
    /// Messages of all accepted rounds; a round trip counts as two.
    pub messages: u64,
    /// Messages of all accepted rounds that never arrived (lossy mechanisms).
    #[serde(default)]
    pub lost: u64,
    /// Events that the mechanism counted in all accepted rounds, both ends together: "torn reads".
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub events: BTreeMap<String, u64>,
    /// Every accepted round carries its proof. Never for the floor, which moves nothing.
    pub verified: bool,
    /// Full round trip, never halved: `min`, `mean`, `p50`, `p90`, `p99`, `p99.9`, `p99.99`, `p99.999`, `max`, in ns. Of
    /// an open loop the response time, from when the message was due until its reply; of a burst until the reply to its
    /// last message; of `serve` from when the request was sent, or due, until its answer. `mean` is the median over rounds of the mean of all operations of a round, in batch timing too.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rtt_ns: Option<BTreeMap<String, Metric>>,
    /// Modes of the single operations of `rtt_ns`, fastest first; absent with one mode and in batch timing. `modes` of
    /// `p50` are modes of whole rounds.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub operation_modes: Vec<OperationMode>,
    /// One way from lead to follow, with `--one-way`. Never half of a round trip.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub one_way_ns: Option<OneWay>,
    /// Open loop: from when the message was sent until its reply, in the same form.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub service_ns: Option<BTreeMap<String, Metric>>,
    /// Open loop, and ping-pong with pauses: how late the sender was while no earlier reply was due, `p50` and `p99` of
    /// all rounds together, in ns.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pacing_ns: Option<BTreeMap<String, Metric>>,
    /// Open loop: messages due per second.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub offered_per_second: Option<Metric>,
    /// Open loop: messages answered per second.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub achieved_per_second: Option<Metric>,
    /// Open loop: peak rate of a closed loop, measured once before the rounds for all cells that differ only in load. A
    /// rate in percent is a share of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub peak_per_second: Option<Metric>,
    /// Payload bytes that arrived, per second.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes_per_second: Option<Metric>,
    /// Messages that arrived, per second.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub messages_per_second: Option<Metric>,
    /// Shares and calls of the peers of a fan.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fan: Option<Fan>,
    /// Staleness, loss and backlog of a feed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub feed: Option<Feed>,
    /// Channels at work at the same time, with `--channels`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub channels: Option<Channels>,
    /// Requests of the pattern `connect`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub connect: Option<Connections>,
    /// Requests of the pattern `serve`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub serve: Option<Served>,
    /// CPU time of both processes, per message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu_ns_per_message: Option<CpuCost>,
    /// Busy time of all CPUs above the idle baseline, per message, ns, including soft interrupts and kernel threads. Of all
    /// rounds together; no value if the total is too small for the kernel's 10 ms steps.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub machine_cpu_ns_per_message: Option<Metric>,
    /// Energy of all processor packages above the idle baseline, per message, nJ.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub energy_nj_per_message: Option<Metric>,
    /// System calls of both ends per message if nobody waits, as declared; `null` if polls depend on timing.
    pub syscalls_per_message: Option<f64>,
    /// Voluntary and involuntary switches of both processes, per message. This and the counts below are totals of all
    /// rounds over their messages, without interval: the median of a rare event would be 0.
    pub context_switches_per_message: Option<f64>,
    /// Switches in which an end waited.
    #[serde(default)]
    pub voluntary_switches_per_message: Option<f64>,
    /// Switches in which an end was preempted.
    #[serde(default)]
    pub involuntary_switches_per_message: Option<f64>,
    /// Page faults of both processes, per message.
    #[serde(default)]
    pub page_faults_per_message: Option<f64>,
    /// Rescheduling and function-call interrupts on the CPUs used, per message; `null` if not
    /// readable or not pinned.
    #[serde(default)]
    pub ipis_per_message: Option<f64>,
    /// The transform of messages and its cost.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub transform: Option<TransformCost>,
    /// How the ends were scheduled; absent if nothing was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scheduled: Option<Scheduled>,
    /// The load that ran at the same time; absent if none was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub neighbour: Option<NeighbourLoad>,
    /// Times of single system calls, from a slice of their own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub calls: Option<CallTimes>,
    /// The bound of this cell, and the cell's ratio to it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bound: Option<BoundRatio>,
    /// A library compared with the bare mechanism that it is built on; absent unless the run measured both alike.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub of_bare: Option<Beside>,
    /// A program in place of the follow compared with our own follow; absent unless the run measured both alike.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub of_ours: Option<Beside>,
    /// This cell, which has a neighbour, compared with the same cell alone; absent unless the run measured both alike.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub of_alone: Option<OfAlone>,
    /// This cell is the reference of its question, as `questions` of the document has it: the others are compared with it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_reference: bool,
    /// Slices, as in `rounds`, that decided whether the cell is confirmed. They count in no figure.
    #[serde(default, skip_serializing_if = "Vec::is_empty", with = "columns")]
    #[cfg_attr(feature = "schema", schemars(with = "Round"))]
    pub selection: Vec<Round>,
    /// Slices, as in `rounds`, of the reference measured a second time in its rounds. They count in no figure; if they
    /// differ from `rounds`, nothing is said of the question.
    #[serde(default, skip_serializing_if = "Vec::is_empty", with = "columns")]
    #[cfg_attr(feature = "schema", schemars(with = "Round"))]
    pub control: Vec<Round>,
}

impl Cell {
    /// Its primary metric.
    #[must_use]
    pub fn figure(&self) -> Option<&Metric> {
        match self.key.pattern.facts().figure {
            Figure::Time => self.rtt_ns.as_ref()?.get("p50"),
            Figure::Throughput if self.key.size_bytes == 0 => self.messages_per_second.as_ref(),
            Figure::Throughput => self.bytes_per_second.as_ref(),
            Figure::Requests => self.requests_per_second(),
        }
    }

    /// Requests answered per second, of a pattern that has requests.
    #[must_use]
    pub fn requests_per_second(&self) -> Option<&Metric> {
        let connect = self.connect.as_ref().map(|one| &one.requests_per_second);
        connect.or_else(|| self.serve.as_ref().map(|one| &one.requests_per_second))
    }

    /// How evenly peers, connections or channels were served, from 1/n to 1, of a pattern that has several.
    #[must_use]
    pub fn jain(&self) -> Option<&Metric> {
        let fan = self.fan.as_ref().map(|one| &one.jain);
        let serve = || self.serve.as_ref().map(|one| &one.jain);
        fan.or_else(serve).or_else(|| self.channels.as_ref().map(|one| &one.jain))
    }

    /// The same figure of one of its rounds.
    #[must_use]
    pub fn figure_of(&self, round: &Round) -> Option<f64> {
        match self.key.pattern.facts().figure {
            Figure::Time => round.p50_ns,
            Figure::Throughput => {
                round.messages_per_second.map(|rate| rate * self.key.size_bytes.max(1) as f64)
            }
            Figure::Requests => round.messages_per_second,
        }
    }

    /// The quantiles of its operations, ns: round trips, calls of the peers of a fan, requests.
    #[must_use]
    pub fn times(&self) -> Option<&BTreeMap<String, Metric>> {
        let calls = || self.fan.as_ref().map(|fan| &fan.call_ns);
        let requests = || self.connect.as_ref().map(|connect| &connect.request_ns);
        self.rtt_ns.as_ref().or_else(calls).or_else(requests)
    }
}

/// The machine's limit beside a cell.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct BoundRatio {
    /// Which bound: `cacheline_rtt_ns`, `futex_wake_rtt_ns`, `null_syscall_ns`, `memcpy`.
    pub name: String,
    /// The bound's value in ns (round trips) or bytes per second (streams).
    pub value: f64,
    /// Cell over bound.
    pub ratio: f64,
}

/// A cell beside another, which differs in one thing.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Beside {
    /// The mechanism of the other: `unix-stream/epoll`.
    pub mechanism: String,
    /// The primary metric as a multiple of that of the other, within rounds. Above 1 a time is longer, a rate higher.
    pub ratio: f64,
    /// Its 95 % interval; `null` with fewer than six common rounds.
    pub ci95: Option<[f64; 2]>,
}

/// Requested and granted value of a knob.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct KnobReading {
    /// As the user set it; `null` if not set.
    pub requested: Option<KnobValue>,
    /// As read back from the kernel; `null` if nothing was opened.
    pub effective: Option<KnobValue>,
    /// Why the kernel granted less than usual; absent if it did not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shortage: Option<Shortage>,
}

/// Less than usual because of a quota of the user.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Shortage {
    /// The usual value.
    pub usual: u64,
    /// The quota and its value.
    pub reason: String,
    /// What raises it.
    pub remedy: String,
}

names! {
    /// What a round of a staged run is for.
    "stage" Stage {
        /// A first value of every cell.
        Screen = "screen",
        /// It decides which cells are confirmed.
        Focus = "focus",
        /// It counts for what is said of the cells.
        Confirm = "confirm",
    }
}

names! {
    /// Whether a cell has a number.
    #[derive(Default)]
    "status" Status {
        /// Measured and proved.
        Ok = "ok",
        /// This host cannot run it; `reason` says what is missing.
        Unavailable = "unavailable",
        /// It ran and went wrong.
        Failed = "failed",
        /// It did not end in time.
        Deadline = "deadline",
        /// It ran, but no slice can be accepted (moved between CPUs, clock jump, below its floor).
        Rejected = "rejected",
        /// The run ended before its turn came.
        #[default]
        Skipped = "skipped",
    }
}

/// How operations were timed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Timing {
    /// `per-op`, or `batch` where one operation is below 20 times the cost of reading the clock: then the figures are
    /// medians of means of `batch` operations, and no per-operation quantiles exist. The first slice of a cell decides
    /// for all. Streams are always timed in batches.
    pub mode: String,
    /// Operations per clock reading; of streams in the first round, later rounds choose anew.
    pub batch: u64,
}

/// CPU time per message, from the CPU clocks of both processes. Its parts are shares of `total`, as the CPU time of all
/// rounds together is divided: `lead` and `follow` add up to it, and so do `user` and `system`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CpuCost {
    /// Both processes, ns: median over rounds. Absent in documents of older builds, where the parts are sums over all
    /// rounds and `ci95` belongs to another value.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub total: Option<f64>,
    /// Of the lead process, ns.
    pub lead: f64,
    /// Of the follow process, ns.
    pub follow: f64,
    /// User share of both, ns.
    pub user: f64,
    /// System share of both, ns.
    pub system: f64,
    /// User and system share are estimates, because the kernel samples at ticks (or does not say how it counts); their sum
    /// is exact.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub split_is_approximate: bool,
    /// The machine is a guest: CPU time of the hypervisor on its behalf is not included.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub excludes_hypervisor: bool,
    /// The ends wait by polling, so their CPU time is the duration of the exchange.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub spinning: bool,
    /// 95 % interval of `total` over rounds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ci95: Option<[f64; 2]>,
}

impl Cell {
    /// Its slices by round: one, or a second one that was measured because the first was rejected.
    pub fn by_round(&self) -> impl Iterator<Item = &[Round]> {
        self.rounds.chunk_by(|a, b| a.round == b.round)
    }

    /// The stage that its rounds reached; `None` where all rounds of the run are alike.
    #[must_use]
    pub fn stage(&self) -> Option<Stage> {
        self.rounds.iter().filter_map(|round| round.stage).max()
    }

    /// Whether the run measured it only to decide what to confirm: its values have no interval, and nothing is said of it.
    #[must_use]
    pub fn is_unconfirmed(&self) -> bool {
        self.stage().is_some_and(|stage| stage < Stage::Confirm)
    }

    /// The knobs as they were asked for.
    #[must_use]
    pub fn requested(&self) -> OptionSet {
        let text = |knob: &KnobReading| Some(knob.requested.as_ref()?.to_string());
        let asked = self.knobs.iter().filter_map(|(name, knob)| Some((name.clone(), text(knob)?)));
        OptionSet(map_of(asked))
    }
}

impl CpuCost {
    /// What speaks for it, with its interval. A sum over rounds, which older documents have, has none.
    #[must_use]
    pub fn figure(&self) -> Metric {
        let (value, ci95) = match self.total {
            Some(total) => (total, self.ci95),
            None => (self.lead + self.follow, None),
        };
        Metric { value: Some(value), ci95, ..Metric::default() }
    }
}

/// One slice.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Round {
    /// Index of the round.
    pub round: u64,
    /// What the round is for; absent where all rounds of the run are alike.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stage: Option<Stage>,
    /// Position of this cell in the round's random order.
    pub order: u64,
    /// Why the slice does not count; absent when accepted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<String>"))]
    pub rejected: Option<Rejection>,
    /// CPUs of lead and follow; empty for `free` or if only one end is pinned.
    pub cpus: Vec<usize>,
    /// Messages measured; a round trip counts as two.
    pub messages: u64,
    /// Messages that arrived while costs were counted, including dropped first ones and the drain: the divisor of costs.
    /// Absent in documents of older versions, which divided by `messages`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub moved: Option<u64>,
    /// Payload bytes of these messages.
    pub bytes: u64,
    /// Messages that never arrived.
    #[serde(default)]
    pub lost: u64,
    /// Events that the mechanism counted, both ends together.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub events: BTreeMap<String, u64>,
    /// Operations without an answer: slower than any in quantiles, and not in the histogram.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub unanswered: u64,
    /// Length of the timed region.
    pub elapsed_ns: f64,
    /// Planned length, ns; absent if operations were counted, and in documents of older versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub planned_ns: Option<f64>,
    /// Median round trip of this slice, ns; in batch timing the median of batch means.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p50_ns: Option<f64>,
    /// Mean of all round trips of this slice, ns, in batch timing too. Absent if an answer never came.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mean_ns: Option<f64>,
    /// Messages per second that arrived inside both sides' steady window.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub messages_per_second: Option<f64>,
    /// Open loop: messages due per second.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub offered_per_second: Option<f64>,
    /// Open loop: messages answered per second.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub achieved_per_second: Option<f64>,
    /// Open loop: messages came faster than they were answered, so the slice has no response time.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub saturated: bool,
    /// Single round trips of this slice, or calls of a fan's peers; absent in batch timing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub histogram: Option<HistogramData>,
    /// What each peer of a fan did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fan: Option<FanRound>,
    /// What the consumers of a feed did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub feed: Option<FeedRound>,
    /// What each of several channels did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub channels: Option<ChannelsRound>,
    /// The program that was the follow; absent where that is our own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub program: Option<ProgramEnd>,
    /// An end that was stopped. Absent if none was, and in documents of older versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub standstill: Option<Standstill>,
    /// What the neighbour did in the timed region; absent if there was none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub neighbour: Option<NeighbourRound>,
    /// CPU time in the timed region.
    pub cpu_ns: SideCpu,
    /// What disturbed it.
    pub covariates: Covariates,
    /// Evidence that two processes moved every message.
    pub proof: Proof,
}

/// An end of a slice that stood still.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Standstill {
    /// For how long at the least, ns.
    pub ns: f64,
    /// Which one (`lead`, `producer 2 of 3`), where the kernel says that a signal stopped it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub who: Option<String>,
}

impl Round {
    /// What its costs are divided by: the messages that moved while they were counted.
    #[must_use]
    pub fn cost_messages(&self) -> u64 {
        self.moved.unwrap_or(self.messages)
    }

    /// Whether all that both ends consumed is known: of a program whose children were lost it is not.
    #[must_use]
    pub fn is_cpu_known(&self) -> bool {
        self.program.as_ref().is_none_or(|program| !program.is_incomplete)
    }

    /// CPU time of both ends for each message, ns; `None` where none moved, or where it is unknown.
    #[must_use]
    pub fn cpu_ns_per_message(&self) -> Option<f64> {
        let messages = self.cost_messages();
        let both = self.cpu_ns.lead.saturating_add(self.cpu_ns.follow);
        (messages > 0 && self.is_cpu_known()).then(|| both as f64 / messages as f64)
    }
}

/// CPU time of both sides.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SideCpu {
    /// Of the lead, ns.
    pub lead: u64,
    /// Of the follow, ns.
    pub follow: u64,
    /// User share of both, ns.
    pub user: u64,
    /// System share of both, ns.
    pub system: u64,
}

/// What can disturb a slice, measured beside it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Covariates {
    /// Median round trip of a cache line between the slice's CPUs just before it, ns; only on two CPUs.
    #[serde(default)]
    pub cacheline_rtt_ns: Option<f64>,
    /// The same just after it; absent in documents of older builds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cacheline_rtt_after_ns: Option<f64>,
    /// Rescheduling and function-call interrupts on the CPUs used.
    #[serde(default)]
    pub ipis: Option<u64>,
    /// Time stolen by the hypervisor from all CPUs, ns (10 ms steps).
    #[serde(default)]
    pub steal_ns: Option<u64>,
    /// Length of the windows in which the machine was observed, ns: the timed region and a little around it.
    #[serde(default)]
    pub machine_window_ns: u64,
    /// Busy time of all CPUs in these windows, ns (10 ms steps).
    #[serde(default)]
    pub machine_busy_ns: Option<u64>,
    /// Energy of all processor packages in these windows, uJ; `null` if not readable or a window is below 1 s.
    #[serde(default)]
    pub energy_uj: Option<u64>,
    /// Of the lead.
    pub lead: SideCovariates,
    /// Of the follow.
    pub follow: SideCovariates,
}

/// Covariates of one process in the timed region.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SideCovariates {
    /// Voluntary context switches (it waited).
    pub voluntary_switches: u64,
    /// Involuntary context switches (it was preempted).
    pub involuntary_switches: u64,
    /// Page faults without disk access.
    pub minor_faults: u64,
    /// Page faults with disk access.
    pub major_faults: u64,
    /// Migrations between CPUs; `null` if not readable.
    #[serde(default)]
    pub migrations: Option<u64>,
    /// Time ready but not running, ns; `null` if not readable.
    #[serde(default)]
    pub run_delay_ns: Option<u64>,
    /// CPU at the end of the slice.
    #[serde(default)]
    pub cpu: Option<usize>,
    /// Process that traced it by `ptrace(2)` at the end of the slice (`strace -f`, `gdb`); absent if none did, and in
    /// documents of older builds. A traced slice does not count.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tracer: Option<u32>,
    /// Speed of that CPU: time of one step of a dependent calculation, ns, mean of before and after the timed region. If
    /// both ends share a CPU only the lead has it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step_ns: Option<f64>,
}

/// The evidence of one slice.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Proof {
    /// The slice's own number, part of every stamp, in hexadecimal.
    pub nonce: String,
    /// Process of the lead.
    pub lead_pid: u32,
    /// Process of the follow.
    pub follow_pid: u32,
    /// Messages the lead sent and received.
    pub lead: [u64; 2],
    /// Messages the follow sent and received.
    pub follow: [u64; 2],
    /// Messages whose every byte was written and compared before the timed region.
    pub fully_checked: u64,
    /// Counts agree, every stamp was checked, both processes used CPU time.
    pub holds: bool,
}

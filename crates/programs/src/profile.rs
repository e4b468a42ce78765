//! The profile document: who talked to whom while `ipcperf record` or `ipcperf audit` looked on.
//!
//! Schema `ipcperf.profile/1`. The same conventions as the result document. It holds no byte that was sent, no argument, no
//! address and no user: programs by name, sockets by the last part of their path or by their port.

use ipcperf_core::names;
use ipcperf_core::result::{Finding, Kernel, Origin, Tool};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The schema this build writes.
pub const PROFILE_SCHEMA: &str = "ipcperf.profile/1";

names! {
    /// How calls were seen.
    "way of recording" RecordedBy {
        /// By programs in the kernel.
        Bpf = "bpf",
        /// By `ptrace(2)`, which stops a program at each call: times, and how many calls a request takes, are not those of a
        /// program that runs free.
        Ptrace = "ptrace",
    }
}

names! {
    /// How two ends exchange data.
    "exchange" Exchange {
        /// A question in one call, then its answer.
        Closed = "closed",
        /// Questions and answers, with several calls for a question: in pieces, or several questions at a time.
        Pipelined = "pipelined",
        /// One direction alone.
        OneWay = "one-way",
    }
}

names! {
    /// What a substitute for a channel has to have.
    "need" ChannelNeed {
        /// Descriptors are passed along.
        Descriptors = "descriptors",
        /// The peer's credentials are asked for or passed along.
        Credentials = "credentials",
        /// One direction is ended while the other goes on.
        HalfClose = "half-close",
    }
}

/// What was recorded. Newer minor versions add keys; readers ignore the ones they do not know.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Profile {
    /// Kind and version of this document.
    #[cfg_attr(feature = "schema", schemars(regex(pattern = r"^ipcperf\.profile/1(\.[0-9]+)*$")))]
    pub schema: String,
    /// Which document it is.
    #[serde(flatten)]
    pub origin: Origin,
    /// What recorded.
    pub tool: Tool,
    /// The kernel and its settings.
    pub kernel: Kernel,
    /// When it began (UTC).
    pub started_utc: String,
    /// Seconds that were recorded.
    pub duration_s: f64,
    /// How.
    pub by: RecordedBy,
    /// It was stopped before the programs had ended or the time was over.
    #[serde(default)]
    pub interrupted: bool,
    /// It ended early since no more calls are kept.
    #[serde(default)]
    pub is_full: bool,
    /// Calls that were recorded.
    pub calls: u64,
    /// Events that were lost. If there are any, counts are too low and nothing is claimed.
    pub lost: u64,
    /// What recording added to each recorded call, ns: calls of ipcperf itself with and without it, measured beforehand.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub price_ns: Option<f64>,
    /// CPU time that ipcperf itself used meanwhile to take in what the programs in the kernel reported, ns.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub own_cpu_ns: Option<u64>,
    /// The programs, those with most calls first.
    pub programs: Vec<RecordedProgram>,
    /// The channels between them, those with most requests first.
    pub channels: Vec<RecordedChannel>,
    /// Memory that several processes can write to: what is exchanged there is not seen.
    pub shared: Vec<SharedMapping>,
    /// What was not seen: what it is, and how many calls show that it was there.
    pub unseen: BTreeMap<String, u64>,
    /// What is wrong with the programs as a benchmark, if `ipcperf audit` looked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub audit: Option<Audit>,
}

/// What `ipcperf audit` says of a benchmark.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Audit {
    /// Messages of the channels that were examined: of those with most, down to a tenth of them.
    pub messages: u64,
    /// What was found, faults first. `cells` are channels.
    pub findings: Vec<Finding>,
    /// Codes of what was looked for and not found.
    pub passed: Vec<String>,
    /// Codes of what could not be looked for, each with the reason.
    pub unchecked: BTreeMap<String, String>,
    /// What was timed, as far as clocks were read around messages.
    pub timed: Vec<TimedMessages>,
}

/// Messages between two looks at a clock.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TimedMessages {
    /// The channel.
    pub channel: String,
    /// The program that read the clock.
    pub program: String,
    /// From one look to the next: one span, or one for each few messages.
    pub spans: u64,
    /// Messages of the channel within them.
    pub messages: u64,
    /// All messages of the channel.
    pub of: u64,
    /// Where that time goes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shares: Option<TimedShares>,
}

/// Where the time goes that is measured, as shares of it from 0 to 1. They overlap, and are stretched by the tracer like the
/// time itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TimedShares {
    /// Calls in which the process that reads the clock takes data from the channel or waits for it; absent if it has no end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waiting: Option<f64>,
    /// Its calls that give data to the channel; absent likewise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sending: Option<f64>,
    /// Sleeps, of the thread with most of them at either end.
    pub sleeping: f64,
    /// Writes of either end to something else.
    pub other_writes: f64,
    /// Calls that start processes and make or connect ends.
    pub set_up: f64,
    /// The first message of each span, with its answer if there is one; 0 where single messages are timed.
    pub first_message: f64,
    /// The longest time in which nothing moved.
    pub largest_gap: f64,
}

/// Processes of one name.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RecordedProgram {
    /// The name that the kernel has for it, at most 15 bytes.
    pub name: String,
    /// How many processes.
    pub processes: u64,
    /// How many threads made calls.
    pub threads: u64,
    /// Their CPU time while recorded, ns; with a client, from its start to its end. It includes what recording added.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu_ns: Option<u64>,
    /// Calls by name.
    pub calls: BTreeMap<String, u64>,
}

/// All connections of one kind between two programs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RecordedChannel {
    /// `tcp`, `unix-stream`, `pipe`, ...
    pub kind: String,
    /// The port that listens, the last part of a path, an abstract name; empty if it has none.
    pub name: String,
    /// The program that asks: it connected, or wrote first. Absent if it was not recorded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub asks: Option<String>,
    /// The program that answers, likewise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answers: Option<String>,
    /// Connections, or pipes.
    pub connections: u64,
    /// How data is exchanged.
    pub exchange: Exchange,
    /// Questions that were answered.
    pub requests: u64,
    /// Questions that were not.
    pub unanswered: u64,
    /// Bytes of questions.
    pub bytes_asked: u64,
    /// Bytes of answers.
    pub bytes_answered: u64,
    /// Messages that the program that answers sent without being asked again; absent if there are none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pushed: Option<PushedMessages>,
    /// Sizes of questions with those of their answers, the most frequent first; of one direction alone, sizes of its writes.
    pub sizes: Vec<RecordedSize>,
    /// Requests of other sizes than these.
    pub other_sizes: u64,
    /// Requests in flight on average, over all connections.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub in_flight: Option<f64>,
    /// From the begin of the first question to the end of the last answer, as askers see them, ns.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub span_ns: Option<u64>,
    /// At most so many at a time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub most_in_flight: Option<u64>,
    /// From the begin of a question to the end of its answer, as its asker sees it, ns.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub response: Option<RecordedTime>,
    /// From the last byte of a question to the begin of its answer, at the answerer, ns.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub service: Option<RecordedTime>,
    /// From the end of an answer to the next question of the same connection, ns.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub think: Option<RecordedTime>,
    /// Over TCP, writes that Nagle's algorithm held back until the write before was acknowledged (W-NAGLE); absent if there are
    /// none, or so few that they are chance.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delayed: Option<DelayedWrites>,
    /// Calls of the asker's threads for each request, by name.
    pub asker_calls: BTreeMap<String, f64>,
    /// Calls of the answerer's threads for each request, by name.
    pub answerer_calls: BTreeMap<String, f64>,
    /// What a substitute has to have.
    pub needs: Vec<ChannelNeed>,
}

/// Writes that arrived late because the one before was not acknowledged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DelayedWrites {
    /// How many.
    pub writes: u64,
    /// Writes that follow another write of the same end, and so can be held back.
    pub of: u64,
    /// From the end of such a write to the end of the call that reads it, ns: the mean.
    pub mean_ns: u64,
}

/// Messages that were not asked for, each by itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PushedMessages {
    /// How many.
    pub messages: u64,
    /// Their bytes.
    pub bytes: u64,
    /// From the begin of the first one to the end of the last one, ns.
    pub span_ns: u64,
    /// Their sizes, the most frequent first, as answers to questions of 0 bytes.
    pub sizes: Vec<RecordedSize>,
    /// Messages of other sizes than these.
    pub other_sizes: u64,
}

/// A question and its answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RecordedSize {
    /// Bytes of the question.
    pub question: u64,
    /// Bytes of the answer.
    pub answer: u64,
    /// How many.
    pub count: u64,
}

/// A time over all requests, ns.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RecordedTime {
    /// The median.
    pub p50_ns: u64,
    /// 90 % are not above it.
    pub p90_ns: u64,
    /// 99 % are not above it.
    pub p99_ns: u64,
}

/// Memory that several processes have mapped, shared and writable.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SharedMapping {
    /// Names of their programs.
    pub programs: Vec<String>,
    /// How many processes at a time.
    pub processes: u64,
    /// How much, bytes.
    pub bytes: u64,
}

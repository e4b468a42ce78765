//! Fields that only cells of some patterns and loads have.

use super::metric::Metric;
use crate::load::is_zero;
use crate::load_value::Transform;
use crate::names::{Closes, ServerStyle};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// How evenly the peers of one object were served, and how long they waited. Peers are the producers of a fan-in and
/// the consumers of a fan-out.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Fan {
    /// How many peers; of a grid its producers.
    pub peers: u64,
    /// Jain's index over messages of each peer while all were active, from 1/n (one had everything) to 1 (equal).
    pub jain: Metric,
    /// Smallest share of a peer, of 1.
    pub least_share: Metric,
    /// Largest share of a peer, of 1.
    pub most_share: Metric,
    /// Duration of one call of a peer, waiting included: a send in a fan-in, a receive in a fan-out. `min`, `p50` to
    /// `p99.999` and `max`, ns, of a sample of the calls.
    pub call_ns: BTreeMap<String, Metric>,
    /// Messages that the slowest consumer of a broadcast got per second; absent elsewhere.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slowest_per_second: Option<Metric>,
    /// How many messages that the producer of a broadcast had sent a consumer had not read yet: the median of a round.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub behind: Option<Metric>,
    /// The same: the most of a round.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub most_behind: Option<Metric>,
    /// The consumers of a grid; absent elsewhere.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub consumers: Option<GridConsumers>,
    /// Of a grid's messages that were sent in pieces, the share that one consumer received without interruption. Absent if
    /// messages were sent in one piece.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub whole: Option<Metric>,
    /// The share that one consumer received with pieces of other messages in between.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mixed: Option<Metric>,
    /// The share whose pieces reached several consumers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub split: Option<Metric>,
}

/// How evenly the consumers of a grid were served.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct GridConsumers {
    /// How many consumers.
    pub count: u64,
    /// Jain's index over messages of each consumer while all producers were at work, from 1/n to 1.
    pub jain: Metric,
    /// Smallest share of a consumer, of 1.
    pub least_share: Metric,
    /// Largest share of a consumer, of 1.
    pub most_share: Metric,
}

/// What each peer of a fan did in one slice.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FanRound {
    /// Messages of each peer while all were at work; empty where the first was done too soon to tell.
    pub served: Vec<u64>,
    /// Jain's index over them; `null` where there are none.
    pub jain: Option<f64>,
    /// Process of each peer.
    pub pids: Vec<u32>,
    /// Messages that each consumer of a broadcast got per second; absent elsewhere.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub per_second: Vec<f64>,
    /// How many messages that its producer had sent a consumer had not read yet: the median.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub behind: Option<f64>,
    /// The same: the most.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub most_behind: Option<f64>,
    /// Messages of each consumer of a grid while all were at work; absent elsewhere.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub taken: Vec<u64>,
    /// Of the messages of a grid that were cut into pieces: how many came whole, mixed with others, and split between
    /// consumers; absent elsewhere.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arrived: Option<[u64; 3]>,
}

/// Messages that were due at times of their own and went to all consumers. Their times, from when a message was due until a
/// consumer had read it, are in `rtt_ns` of the cell.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Feed {
    /// How many consumers.
    pub consumers: u64,
    /// The longest median of a consumer, ns.
    pub slowest_p50_ns: Metric,
    /// The longest p99 of a consumer, ns; missing where too few messages were read.
    pub slowest_p99_ns: Metric,
    /// The age of the newest message that a consumer has, from when it was due, in the moment in which the consumer gets the next
    /// one, in the form of `rtt_ns`.
    pub staleness_ns: BTreeMap<String, Metric>,
    /// Messages that were due and not sent yet: the most of a round.
    pub most_late: Metric,
    /// The same after the last message of a round was sent, when it should have been: how many were still missing then.
    pub late_at_end: Metric,
    /// Messages that were sent and that a consumer had not read yet: the most of a round, of any consumer.
    pub most_unread: Metric,
    /// The same in the moment in which the last message was sent.
    pub unread_at_end: Metric,
    /// Messages that each consumer never got, in all accepted rounds.
    pub lost: Vec<u64>,
    /// How far each time may be off, because the counters of two CPUs are compared, ns; 0 where all ends share one CPU.
    pub bound_ns: f64,
}

/// What a feed did in one slice.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FeedRound {
    /// Process of each consumer.
    pub pids: Vec<u32>,
    /// Messages that each consumer read.
    pub read: Vec<u64>,
    /// Messages that each consumer never got.
    pub lost: Vec<u64>,
    /// Messages that were due and not sent yet: the most, and when the last one was due.
    pub late: [u64; 2],
    /// Messages that were sent and that a consumer had not read yet: the most, and when the last one was sent.
    pub unread: [u64; 2],
}

/// Channels of the same kind that were at work at the same time. What counts is a round trip, or a message of a stream.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Channels {
    /// How many channels.
    pub count: u64,
    /// CPUs of lead and follow of each channel in even rounds; empty if they are not pinned.
    pub cpus: Vec<Vec<usize>>,
    /// There is no CPU for every end that could run, so that channels share CPUs.
    pub oversubscribed: bool,
    /// Per second, all channels together, while all were at work.
    pub sum_per_second: Metric,
    /// The same of the median channel.
    pub median_per_second: Metric,
    /// The slowest channel over the fastest, of 1.
    pub slowest_of_fastest: Metric,
    /// Jain's index over the channels, from 1/n (one had everything) to 1 (equal).
    pub jain: Metric,
    /// The sum over `count` times the sum of one channel in the same round; absent if the run did not measure one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub of_ideal: Option<Metric>,
}

/// What each channel did in one slice.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ChannelsRound {
    /// Round trips or messages of each channel per second while all were at work; empty if one was done before another
    /// had begun.
    pub per_second: Vec<f64>,
    /// Processes of lead and follow of each.
    pub pids: Vec<[u32; 2]>,
    /// Messages that arrived at the follow of each.
    pub arrived: Vec<u64>,
    /// Whether the proof of each holds, as that of the slice.
    pub proved: Vec<bool>,
}

/// How the rate of cells that differ in their number of channels alone grows with it: the universal scalability law, by
/// which n channels have n / (1 + contention (n - 1) + coherency n (n - 1)) times the rate of one.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Scaling {
    /// The cells by `id`, fewest channels first.
    pub cells: Vec<String>,
    /// The numbers of channels with a CPU for every end that could run: the law is fitted to these alone.
    pub fitted: Vec<u64>,
    /// The share of the work that only one channel can do at a time; the median of the fits of single rounds.
    pub contention: Metric,
    /// What each pair of channels costs, as a share of the work of one; likewise.
    pub coherency: Metric,
}

/// A program at the place of the follow, in one slice. What it consumed stands where that of any follow does, with all
/// processes that it started.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ProgramEnd {
    /// From its start to its first answer that was right, ns.
    pub first_answer_ns: f64,
    /// Warm-up after that, ns: until windows agree, at most 2 s.
    pub warmup_ns: f64,
    /// Most processes that were seen together.
    pub processes: u64,
    /// Most threads of all of them that were seen together.
    pub threads: u64,
    /// A process that it started was lost before anybody had its account, because its parent ignores the end of children: CPU
    /// time and switches are unknown, and no part of the proof.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_incomplete: bool,
    /// What it said by itself on descriptor 3, `name value` a line: not checked.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub said: Vec<String>,
}

/// Requests with a connection each. A message is an answered request, a lost one a failed request; together they are those
/// asked.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Connections {
    /// Clients at the same time.
    pub conns: u64,
    /// `threads` of one process, or `processes`.
    #[cfg_attr(feature = "schema", schemars(with = "crate::names::ClientKind"))]
    pub clients: String,
    /// How the server waits: `accept`, `epoll`.
    #[cfg_attr(feature = "schema", schemars(with = "crate::names::Serving"))]
    pub server: String,
    /// The side that closes first; absent in documents of older builds, where it is the server.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub closes: Option<Closes>,
    /// Connections that can wait at the server.
    pub backlog: u64,
    /// Requests of all accepted rounds.
    pub asked: u64,
    /// Requests with the right answer.
    pub answered: u64,
    /// Requests refused with `ECONNREFUSED`; part of `errors`.
    pub refused: u64,
    /// Repeated connects.
    pub retried: u64,
    /// Non-blocking connects that were not done at once, by the name of the error: `EINPROGRESS`, and `EAGAIN` where the
    /// backlog of a UNIX socket was full. Absent where clients block, and where there were none.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub not_at_once: BTreeMap<String, u64>,
    /// Requests sent again over a new connection after 1.5 s without an answer; TCP only.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub resent: u64,
    /// Connections that found the backlog full, of all programs in this network namespace; TCP only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub overflows: Option<u64>,
    /// Connection requests that TCP sent again, likewise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub syn_resent: Option<u64>,
    /// Failed requests by the name of the error.
    #[serde(default)]
    pub errors: BTreeMap<String, u64>,
    /// Errors at the server by name; `stranger`: connections that no client had made.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub server_errors: BTreeMap<String, u64>,
    /// Requests answered per second.
    pub requests_per_second: Metric,
    /// From before the socket is created until after it is closed, ns. A failed request counts as infinitely long: a
    /// quantile that falls on it has no value.
    pub request_ns: BTreeMap<String, Metric>,
    /// Creating the socket, ns.
    pub socket_ns: BTreeMap<String, Metric>,
    /// Connecting, ns.
    pub connect_ns: BTreeMap<String, Metric>,
    /// From then until the first byte arrived, ns.
    pub first_byte_ns: BTreeMap<String, Metric>,
    /// Closing, ns.
    pub close_ns: BTreeMap<String, Metric>,
    /// Connections in TIME_WAIT, of all programs, before the first round and after the last; TCP only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub time_wait: Option<BeforeAfter>,
    /// Ephemeral ports and how many were in use; TCP only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ephemeral_ports: Option<EphemeralPorts>,
}

/// Requests of clients that stay connected to one server. A message is an answered request, a lost one a failed request;
/// together they are those asked. Response times are in `rtt_ns` of the cell, those of an open loop also in `service_ns`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Served {
    /// Connections.
    pub conns: u64,
    /// Client processes.
    pub clients: u64,
    /// How the server is built.
    pub style: ServerStyle,
    /// Requests of all accepted rounds.
    pub asked: u64,
    /// Requests with the right answer.
    pub answered: u64,
    /// Failed requests by the name of the error.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub errors: BTreeMap<String, u64>,
    /// Connections that were refused in all accepted rounds, and then made: those who filled the backlog were turned away.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub refused: u64,
    /// Errors at the server by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub server_errors: BTreeMap<String, u64>,
    /// Calls of the clients that found nothing to read or no room, in all accepted rounds with their warm-ups.
    pub client_eagain: u64,
    /// Calls of the server, likewise.
    pub server_eagain: u64,
    /// Requests due that were never sent, because they came faster than they were answered; they were not asked.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub unsent: u64,
    /// The kinds of requests of a mix, in its order; absent where all have one size.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub mix: Vec<ServedPart>,
    /// Requests answered per second.
    pub requests_per_second: Metric,
    /// CPU time of the server for each request, ns.
    pub server_cpu_ns: Metric,
    /// CPU time of all clients for each request, ns.
    pub client_cpu_ns: Metric,
    /// CPU time of the server over the time in which requests were sent and answered: 1 is one CPU.
    pub server_busy: Metric,
    /// CPU time of the busiest client process, likewise.
    pub client_busy: Metric,
    /// What was busy for at least 85 % of that time: `server`, `clients`, `both`, `cpu` (one CPU, which both share), or
    /// `neither`.
    pub limit: String,
    /// Jain's index over the answers of each connection, from 1/n (one had everything) to 1 (equal).
    pub jain: Metric,
    /// Smallest share of a connection, of 1.
    pub least_share: Metric,
    /// CPU time of the server over `rest_ns` before the first request, while all connections are idle: 1 is one CPU.
    pub rest_busy: Metric,
    /// For how long that was looked at in each round, ns.
    pub rest_ns: u64,
    /// Response times by client process; absent with one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub by_client: Vec<ServedClient>,
}

/// One kind of request.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ServedPart {
    /// Bytes of a request.
    pub request_bytes: u64,
    /// Bytes of its answer.
    pub reply_bytes: u64,
    /// Those answered in all accepted rounds.
    pub answered: u64,
}

/// The requests of one client process.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ServedClient {
    /// Requests answered in all accepted rounds.
    pub answered: u64,
    /// Response times, in the form of `rtt_ns`.
    pub response_ns: BTreeMap<String, Metric>,
}

/// A count before and after.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct BeforeAfter {
    /// Before.
    pub before: u64,
    /// After.
    pub after: u64,
}

/// Ephemeral ports.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct EphemeralPorts {
    /// The first.
    pub first: u16,
    /// The last.
    pub last: u16,
    /// Ports in use by all programs.
    pub in_use: BeforeAfter,
}

/// One way of a message, from before the lead writes it until the follow has read it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct OneWay {
    /// `min`, `p50`, `p90`, `p99`, `p99.9`, `p99.99`, `p99.999`, `max`, in ns; empty if there is a `reason`.
    #[serde(default)]
    pub quantiles: BTreeMap<String, Metric>,
    /// Possible error of each, from the offset between two CPUs' counters, ns; 0 with both ends on one CPU.
    pub bound_ns: Option<f64>,
    /// Why there are no values.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// A transform of the payload. The cell's times contain it; here it is measured alone.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TransformCost {
    /// Its name.
    pub name: Transform,
    /// Library and setting.
    pub library: String,
    /// Bytes of a message divided by its transformed bytes.
    pub ratio: f64,
    /// Bytes moved per message: the longest transformed one, its length, and the stamp.
    pub wire_bytes: u64,
    /// Transforming a message, ns.
    pub compress_ns: f64,
    /// Restoring and comparing it, ns.
    pub decompress_ns: f64,
}

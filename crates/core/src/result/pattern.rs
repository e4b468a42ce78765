//! What only cells of some patterns and loads have.

use super::metric::Metric;
use crate::load::is_zero;
use crate::load_value::Transform;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// How evenly the peers of one object were served, and how long they waited. Peers are the producers of a fan-in and
/// the consumers of a fan-out.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Fan {
    /// How many peers.
    pub peers: u64,
    /// Jain's index over what each peer moved while all were at work, from 1/n (one had everything) to 1 (all alike).
    pub jain: Metric,
    /// Share of the peer that moved least, of 1.
    pub least_share: Metric,
    /// Share of the peer that moved most, of 1.
    pub most_share: Metric,
    /// How long one call of a peer took, waiting included: a send of a producer in a fan-in, a receive of a consumer
    /// in a fan-out. `min`, `p50` to `p99.999` and `max` as of a round trip, ns, of a sample of the calls.
    pub call_ns: BTreeMap<String, Metric>,
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
}

/// Requests that each took a connection of its own. A message of such a cell is an answered request, and one that is
/// lost is a request that failed; the two add up to those asked.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Connections {
    /// Clients at the same time.
    pub conns: u64,
    /// What they are: `threads` of one process, or `processes`.
    #[cfg_attr(feature = "schema", schemars(with = "crate::names::Crowd"))]
    pub clients: String,
    /// How the server waits: `accept`, `epoll`.
    #[cfg_attr(feature = "schema", schemars(with = "crate::names::Serving"))]
    pub server: String,
    /// How many could wait at the server.
    pub backlog: u64,
    /// Requests of all accepted rounds.
    pub asked: u64,
    /// Those with the right answer.
    pub answered: u64,
    /// Those that nobody took (`ECONNREFUSED`); part of the errors.
    pub refused: u64,
    /// Connects that were tried again.
    pub retried: u64,
    /// Requests that were asked again over a new connection, because nothing had come for a second and a half; over TCP only.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub resent: u64,
    /// Times that a connection found no room at a server, of everybody in this network namespace; over TCP only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub overflows: Option<u64>,
    /// Segments of connections that begin which TCP sent again, likewise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub syn_resent: Option<u64>,
    /// Those that failed, by the name of the error.
    #[serde(default)]
    pub errors: BTreeMap<String, u64>,
    /// What went wrong at the server, by the name of the error; `stranger`: connections that no client had made.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub server_errors: BTreeMap<String, u64>,
    /// Requests answered per second.
    pub requests_per_second: Metric,
    /// From before the socket is made until after it is closed, ns. A request that failed counts as one that took for
    /// ever: a quantile that falls on it has no value.
    pub request_ns: BTreeMap<String, Metric>,
    /// Making the socket, ns.
    pub socket_ns: BTreeMap<String, Metric>,
    /// Connecting, ns.
    pub connect_ns: BTreeMap<String, Metric>,
    /// From then until the first byte has come, ns.
    pub first_byte_ns: BTreeMap<String, Metric>,
    /// Closing, ns.
    pub close_ns: BTreeMap<String, Metric>,
    /// Connections in TIME_WAIT, of everybody: before the first round and after the last; over TCP only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub time_wait: Option<BeforeAfter>,
    /// Ports that the kernel hands out, and how many were used; over TCP only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ephemeral_ports: Option<EphemeralPorts>,
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

/// Ports for those who connect without naming one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct EphemeralPorts {
    /// The first.
    pub first: u16,
    /// The last.
    pub last: u16,
    /// How many were in use, by everybody.
    pub in_use: BeforeAfter,
}

/// The way of a message from the lead, before it is written, to the follow, when it has been looked at.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct OneWay {
    /// `min`, `p50`, `p90`, `p99`, `p99.9`, `p99.99`, `p99.999`, `max`, in ns; empty where it is refused.
    #[serde(default)]
    pub quantiles: BTreeMap<String, Metric>,
    /// How far every one of them may be off, because the difference of two CPUs' counters is known only so well, ns; 0
    /// with both ends on one CPU.
    pub bound_ns: Option<f64>,
    /// Why there are no figures.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// A transform of the payload. The figures of its cell contain it; here it is by itself, without any mechanism.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TransformCost {
    /// Which.
    pub name: Transform,
    /// What does it, at which setting.
    pub library: String,
    /// Bytes of a message over those it is changed into.
    pub ratio: f64,
    /// Bytes that the mechanism moves for a message: the longest changed one, its length, and the stamp.
    pub wire_bytes: u64,
    /// Changing a message, ns.
    pub compress_ns: f64,
    /// Changing it back and comparing it, ns.
    pub decompress_ns: f64,
}

//! Programs of others, connected by pipes: the results of `ipcperf exec`.

use super::cell::Status;
use super::environment::Spread;
use super::metric::Metric;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Programs, each reading what the one before it writes. It is no cell and is never ranked with cells.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(extend(
    "if" = {"properties": {"status": {"not": {"const": "ok"}}}},
    "then" = {"required": ["reason"]}
)))]
pub struct Pipeline {
    /// The programs as they were typed, with bars between them: `head -c 1G /dev/zero | wc -c`.
    pub id: String,
    /// Whether there is a number, and why not.
    pub status: Status,
    /// Why there is no number; absent when `ok`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Which bytes `bytes` counts; absent where there are none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub counted: Option<Counted>,
    /// Bytes of one run, as `counted` says.
    pub bytes: Metric,
    /// From before the first program is started until all have ended, ns.
    pub elapsed_ns: Metric,
    /// `bytes` over `elapsed_ns` of each round.
    pub bytes_per_second: Metric,
    /// CPU time of all programs together, ns.
    pub cpu_ns: Metric,
    /// User and system share of every program are an estimate, because the kernel samples at ticks which of them runs
    /// (or does not say how it counts); their sum is exact.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub split_is_approximate: bool,
    /// The programs, in the order in which the bytes pass them.
    pub programs: Vec<ProgramResult>,
    /// Rounds in which system calls were counted. They yield nothing else.
    #[serde(default)]
    pub traced_rounds: u64,
    /// Its runs.
    pub rounds: Vec<PipelineRound>,
    /// That the bytes arrived in every round.
    pub proof: ByteProof,
}

/// Which bytes stand for a pipeline: the larger of these two counts in its first round.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Counted {
    /// What the last program has written to its standard output; all of it was received and counted here.
    Arrived,
    /// What the last program has read of what the one before it wrote, by the kernel's count.
    Taken,
}

/// One program over all rounds. Its own children that it has waited for are in every count.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ProgramResult {
    /// As it was typed.
    pub command: String,
    /// CPU time, ns.
    pub cpu_ns: Metric,
    /// CPU time in user mode, ns.
    pub user_ns: Metric,
    /// CPU time in the kernel, ns.
    pub system_ns: Metric,
    /// Context switches because it waited.
    pub voluntary_switches: Metric,
    /// Context switches because it was preempted.
    pub involuntary_switches: Metric,
    /// Bytes that its calls have read, by the kernel's count (`rchar` of `/proc/PID/io`), libraries and files included.
    pub read_bytes: Metric,
    /// Bytes that its calls have written (`wchar`), without its standard error.
    pub written_bytes: Metric,
    /// System calls by name, over the traced rounds; empty where none were counted.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub calls: BTreeMap<String, Spread>,
}

/// One run of a pipeline.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PipelineRound {
    /// Index of the round.
    pub round: u64,
    /// Position of this pipeline in the round's random order.
    pub order: u64,
    /// From before the first program is started until all have ended, ns.
    pub elapsed_ns: u64,
    /// Bytes that came out of the last program.
    pub arrived_bytes: u64,
    /// The programs.
    pub programs: Vec<ProgramRound>,
    /// Whether the counts agree at every joint and at the end.
    pub proof: ByteProof,
}

/// One program in one round.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ProgramRound {
    /// Its process.
    pub pid: u32,
    /// CPU time in user mode, ns.
    pub user_ns: u64,
    /// CPU time in the kernel, ns.
    pub system_ns: u64,
    /// Context switches because it waited.
    pub voluntary_switches: u64,
    /// Context switches because it was preempted.
    pub involuntary_switches: u64,
    /// Bytes read, libraries and files included; `null` where the kernel does not count.
    pub read_bytes: Option<u64>,
    /// Bytes written, without its standard error; `null` where the kernel does not count.
    pub written_bytes: Option<u64>,
    /// Bytes in the pipe before it that it left there when it ended; `null` for the first program.
    pub unread_bytes: Option<u64>,
}

/// What proves that the bytes arrived.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum ProofKind {
    /// Nothing does.
    #[default]
    None,
    /// Every program has read what the one before it wrote, to the last byte, and what the last one wrote was received
    /// here.
    Bytes,
}

/// The evidence of a pipeline or of one of its rounds.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ByteProof {
    /// What there is.
    pub kind: ProofKind,
    /// Why there is none; absent where there is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

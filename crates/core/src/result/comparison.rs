//! The comparison document: two arms, or two sets of result documents, and what may be said of the second beside the
//! first.
//!
//! Schema `ipcperf.comparison/1`. The same conventions as the result document.

use super::environment::{Finding, Tool};
use super::metric::Metric;
use super::origin::Origin;
use crate::load::is_zero;
use crate::names;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The schema this build writes.
pub const COMPARISON_SCHEMA: &str = "ipcperf.comparison/1";

names! {
    /// What may be said of B beside A.
    "verdict" Difference {
        /// The 95 % interval lies beyond the margin, on the better side.
        Faster = "FASTER",
        /// It lies beyond the margin, on the worse side.
        Slower = "SLOWER",
        /// The 90 % interval lies within the margin.
        None = "NO DIFFERENCE",
        /// Neither, or the figures may not be believed.
        CannotTell = "CAN'T TELL",
    }
}

names! {
    /// How claims are adjusted for the number of cells.
    #[derive(Default)]
    "adjustment" Adjustment {
        /// So that at most 5 % of comparisons hold a false claim. What older documents have.
        #[default]
        Holm = "holm",
        /// So that at most 5 % of claims are false: to find out where to look, and no ground for a decision.
        BenjaminiHochberg = "benjamini-hochberg",
    }
}

names! {
    /// How the figures of A and B were found.
    "design" Design {
        /// In rounds that measure A, A again and B in random order, each in fresh processes.
        Live = "live",
        /// The same, with B measured by another program.
        LiveBinary = "live-binary",
        /// In runs of their own, recorded before.
        Files = "files",
    }
}

/// Two arms, or two sets of result documents, compared cell by cell. Newer minor versions add keys; readers ignore the ones
/// they do not know.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Comparison {
    /// Kind and version of this document.
    #[cfg_attr(
        feature = "schema",
        schemars(regex(pattern = r"^ipcperf\.comparison/1(\.[0-9]+)*$"))
    )]
    pub schema: String,
    /// Which document it is.
    #[serde(flatten)]
    pub origin: Origin,
    /// How the figures were found.
    pub design: Design,
    /// It was stopped before its plan was done; the rounds that were complete are here.
    #[serde(default)]
    pub interrupted: bool,
    /// What a live comparison was going to do; absent of files.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan: Option<ComparisonPlan>,
    /// Of a live comparison that was written to a file which held one of the same arms: how many there were, this one
    /// included. Those written elsewhere, or not at all, are not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attempt: Option<u64>,
    /// Where the figures of A are from.
    pub a: Side,
    /// Where the figures of B are from.
    pub b: Side,
    /// What differs between the two that may explain a difference by itself: name, and what it is of A and of B.
    pub factors: BTreeMap<String, [String; 2]>,
    /// Those of them that were not named as what is compared: they confound every verdict.
    pub confounded_by: Vec<String>,
    /// What they must not differ in and do, compared all the same because it was forced: nothing is claimed then. Name, and
    /// what it is of A and of B.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub incomparable: BTreeMap<String, [String; 2]>,
    /// How many cells were compared with each other. Claims are adjusted for those that are judged, at 5 %.
    pub family: u64,
    /// How they are adjusted.
    #[serde(default)]
    pub adjustment: Adjustment,
    /// Of a client and a server whose sockets were exchanged (`ipcperf predict`): what ran.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub programs: Option<ExchangedPrograms>,
    /// The cells that both have, in the order of A.
    pub comparisons: Vec<CellComparison>,
    /// Cells that only A has, in words.
    pub only_a: Vec<String>,
    /// Cells that only B has, in words.
    pub only_b: Vec<String>,
    /// Cells that both have with rounds of the screen alone; they are not compared.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub not_confirmed: Vec<String>,
}

/// A client and its server, as they are (A) and with other sockets (B).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ExchangedPrograms {
    /// The command of the server.
    pub server: String,
    /// The command of the client.
    pub client: String,
    /// The command of the server of B, where nothing is exchanged and the user has configured both; absent if it is the same.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server_b: Option<String>,
    /// The command of the client of B, likewise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client_b: Option<String>,
    /// How many requests the client makes, if it was said. CPU time is of each of them, else of each unit of the figure,
    /// else of a whole run of the client.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub requests: Option<u64>,
    /// The expression that found the client's own figure in what it said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub figure: Option<String>,
    /// CPUs that the server used on average while the client worked, of A and of B: medians over rounds.
    pub server_cpus: [f64; 2],
    /// CPUs that the client used, likewise.
    pub client_cpus: [f64; 2],
    /// CPU time of processes is missing: who started them did not wait for them.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub cpu_is_incomplete: bool,
    /// Connections of the client that were exchanged, in the last round.
    pub connections: u64,
    /// Options that the new sockets lack, and how often each was set in the last round and did nothing.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub options: BTreeMap<String, u64>,
    /// Why sockets were not exchanged, and how many of the last round.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub left: BTreeMap<String, u64>,
    /// What the filter of both arms adds to each system call that is not handed over, ns: the median over rounds.
    pub filter_ns: f64,
    /// The share of a run of A and of B in which ipcperf answers calls that the programs make: medians over rounds.
    #[serde(default)]
    pub answering: [f64; 2],
    /// The server's setting for such sockets, where B is faster and the server is a known one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub setting: Option<String>,
    /// How long a run of A and of B takes, s: medians over rounds; 0 in older documents.
    #[serde(default)]
    pub run_s: [f64; 2],
    /// The client's option for a longer run, where the client is a known one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub longer: Option<String>,
    /// The same comparison with B configured by hand, which shows how far the exchange is off.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by_hand: Option<ComparisonByHand>,
    /// Runs that failed and were repeated.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub repeated: u64,
    /// What was found in the recorded runs, as in W-NAGLE; `cells` are the arms, `A` and `B`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub findings: Vec<Finding>,
    /// How much of what A and B did: `connections` of timed runs (medians), and of one recorded run of each `requests`, where
    /// they can be counted, `bytes asked` and `bytes answered`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub work: BTreeMap<String, [u64; 2]>,
    /// In what the work of A and of B differs, in words: then there is no verdict unless it is allowed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub different: Vec<String>,
    /// Why the work may differ, as the user said it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub different_because: Option<String>,
}

impl ExchangedPrograms {
    /// Whether B has exchanged sockets, rather than a configuration by hand.
    #[must_use]
    pub fn is_exchanged(&self) -> bool {
        self.by_hand.is_some() || (self.server_b.is_none() && self.client_b.is_none())
    }
}

/// Programs as they are and as a user has configured them by hand, in the rounds of an exchange, without its filter.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ComparisonByHand {
    /// The figure that decides, by rounds: of the programs as they are.
    pub a_rounds: Vec<f64>,
    /// Of those configured by hand.
    pub b_rounds: Vec<f64>,
    /// B over A, with its 95 % interval.
    pub ratio: Metric,
    /// The ratio of the exchange over this one, with its 95 % interval: 1 if the exchange is right.
    pub exchange: Metric,
}

/// What a live comparison was going to do, as it was said before it began.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ComparisonPlan {
    /// Rounds of the pilot, which count for nothing else.
    pub pilot_rounds: u64,
    /// Spread of the log-ratio of two arms in one round of the pilot: the median distance between two rounds (Shamos) over
    /// all pairs of arms, as a standard deviation; the largest of all cells. In documents of older builds 1.4826 MAD of B
    /// over A.
    pub spread: Option<f64>,
    /// Rounds.
    pub rounds: u64,
    /// Rounds of each session, where there were several: their ratios are what is compared. Empty where there was one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sessions: Vec<u64>,
    /// Timed length of a slice, ms.
    pub slice_ms: f64,
    /// Expected duration of the rounds, s.
    pub expected_s: f64,
    /// How long they took, s.
    pub duration_s: f64,
    /// The smallest true difference that these rounds find with 95 % power at that spread: 0.05 is 5 %.
    pub smallest_effect: Option<f64>,
    /// Seed of every random choice.
    pub seed: u64,
}

/// Where figures are from.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Side {
    /// Files, or the arm in words.
    pub names: Vec<String>,
    /// Sessions: recorded at least half an hour apart.
    pub sessions: u64,
    /// Noise grades of the runs.
    pub grades: Vec<String>,
    /// How many of the runs were stopped before their plan was done.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub interrupted: u64,
    /// The program that measured.
    pub tool: Tool,
}

/// One cell of A beside one of B.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CellComparison {
    /// The cell of A in words.
    pub a: String,
    /// The cell of B in words.
    pub b: String,
    /// The primary metric of the cells.
    #[serde(flatten)]
    pub primary: FigureComparison,
    /// Figures beside it, each a family of its own: `rtt_ns.p99` or how often it is exceeded, and `cpu_ns_per_message`.
    /// Neither the sentence nor a gate on `slower` asks them. Absent where a cell has none, and in documents of older
    /// builds.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub secondary: Vec<FigureComparison>,
    /// What differs between the two cells themselves: granted knobs, CPUs. Name, and what it is of A and of B.
    pub factors: BTreeMap<String, [String; 2]>,
}

/// One figure of a cell of A beside the same of B.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FigureComparison {
    /// The figure compared: `rtt_ns.p50`, `bytes_per_second`, `messages_per_second`, `connect.requests_per_second`; beside
    /// them `rtt_ns.p99` (of each round), `above_p99` (share of operations above the p99 of all rounds of both arms, where
    /// single rounds are too short for a p99), `cpu_ns_per_message`.
    pub metric: String,
    /// More of it is better.
    pub more_is_better: bool,
    /// Median of A's figures: ns, per second, or a share of 1.
    pub a_value: Option<f64>,
    /// Median of B's figures.
    pub b_value: Option<f64>,
    /// B over A (Hodges-Lehmann) with its 95 % interval, per cell and not adjusted for the number of cells.
    pub ratio: Metric,
    /// The 90 % interval of the same, which shows that there is no difference.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ci90: Option<[f64; 2]>,
    /// A again over A, 99 % interval: must hold 1. Absent of files.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub control: Option<[f64; 2]>,
    /// Ratios within 1 ± this do not matter.
    pub margin: f64,
    /// What may be said of B beside A. Of CPU time SLOWER is more.
    pub verdict: Difference,
    /// The figures may not be believed, whatever their interval: `reason` says why.
    pub doubted: bool,
    /// Of too few sessions for anything smaller: only a difference beyond this is claimed, and no equality.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_floor: Option<f64>,
    /// By how much at the least: 0.05 is 5 %. Only of a claim.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at_least: Option<f64>,
    /// How likely such figures are where there is nothing to claim, adjusted for the number of cells that this figure was
    /// compared of.
    pub p_adjusted: Option<f64>,
    /// Why it cannot be told, or what else a reader must know; empty where there is nothing to add.
    pub reason: String,
    /// Rounds: of both arms together where they are paired, else of A and of B.
    pub rounds: Vec<u64>,
    /// 1.4826 MAD of the log-ratios of single rounds, where they are paired.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spread: Option<f64>,
    /// The smallest true difference that so many rounds find with 95 % power: 0.05 is 5 %.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub smallest_effect: Option<f64>,
    /// Rounds that would settle what cannot be told, if the ratio is what it seems to be.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rounds_to_settle: Option<u64>,
    /// Figures of A, round by round.
    pub a_rounds: Vec<f64>,
    /// Figures of A again, of the same rounds; absent of files.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub control_rounds: Vec<f64>,
    /// Figures of B; of the same rounds where they are paired.
    pub b_rounds: Vec<f64>,
}

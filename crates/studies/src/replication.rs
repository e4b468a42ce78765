//! The replication document: published experiments run again, beside the published figures, claim by claim.
//!
//! Schema `ipcperf.replication/1`. The same conventions as the result document.

use ipcperf_core::names;
use ipcperf_core::result::{Host, Invocation, Kernel, Metric, Noise, Origin, Status, Tool};
use ipcperf_judge::Repeatable;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;

/// The schema this build writes.
pub const REPLICATION_SCHEMA: &str = "ipcperf.replication/1";

names! {
    /// How much of a study is run.
    "scale" Scale {
        /// The whole matrix, shrunk to a minute at most.
        Smoke = "smoke",
        /// Two to twelve minutes.
        Quick = "quick",
        /// The published counts.
        Full = "full",
    }
}

names! {
    /// What a replication says of a claim. The first four are said of what was published, and of nothing else.
    "verdict" Verdict {
        /// The whole interval lies within a factor of 1.5 of what was published, of a ratio also by its logarithm, and on its
        /// side; or what was stated holds.
        Reproduced = "REPRODUCED",
        /// The direction holds; that the size does is not shown.
        Direction = "DIRECTION",
        /// The interval excludes what would have been accepted, corrected for the number of tests.
        NotReproduced = "NOT REPRODUCED",
        /// The interval does not decide, or the machine was too noisy for a verdict.
        Inconclusive = "INCONCLUSIVE",
        /// It cannot be measured here, or not at all.
        Untestable = "UNTESTABLE",
        /// Nothing was published that the figure could be held against.
        Measured = "MEASURED",
        /// A self-check holds in every round.
        Holds = "HOLDS",
        /// A self-check fails in some round.
        Fails = "FAILS",
    }
}

names! {
    /// Whose a claim is.
    #[derive(Default)]
    "kind of claim" ClaimKind {
        /// The original's: it published figures, or stated what the tests spell out.
        #[default]
        Claim = "claim",
        /// Read off a table or a figure of the original, whose text does not say it. It is judged like a claim.
        Reading = "reading",
        /// Ours: nothing was published, and it gets figures and no judgement.
        Extension = "extension",
        /// Of this program: what must hold whatever the machine is.
        Check = "self-check",
    }
}

impl ClaimKind {
    /// Whether something was published that it is held against.
    #[must_use]
    pub const fn is_published(self) -> bool {
        matches!(self, Self::Claim | Self::Reading)
    }
}

names! {
    /// How a table is drawn.
    "kind of plot" PlotKind {
        /// A line for each row, over the columns.
        Lines = "lines",
        /// A group of bars for each row, one for each column.
        Bars = "bars",
    }
}

/// A figure of the original, drawn again from a table.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Plot {
    /// What its file is called after the study: `tails` of `marhubi` is `marhubi-tails.svg`.
    pub name: String,
    /// How it is drawn.
    pub kind: PlotKind,
    /// What the columns are, at their axis; empty: the heads say it.
    #[serde(default)]
    pub x: String,
    /// Whether the heads of the columns are numbers on a logarithmic scale.
    #[serde(default)]
    pub log_x: bool,
    /// Whether figures are on a logarithmic scale.
    #[serde(default)]
    pub log_y: bool,
    /// Heads of the columns that are drawn; none: all.
    #[serde(default)]
    pub columns: Vec<String>,
}

/// What was published: a figure, several, a text, or nothing.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(untagged)]
pub enum Published {
    /// Nothing.
    #[default]
    Nothing,
    /// A figure.
    Number(f64),
    /// Words.
    Text(String),
    /// Several.
    Many(Vec<Published>),
}

impl Published {
    /// The figure at `index`; of a single one at every index.
    #[must_use]
    pub fn number(&self, index: usize) -> Option<f64> {
        match self {
            Self::Number(number) => Some(*number),
            Self::Many(all) => all.get(index).and_then(|one| one.number(0)),
            Self::Nothing | Self::Text(_) => None,
        }
    }
}

impl fmt::Display for Published {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Nothing => Ok(()),
            Self::Number(number) => number.fmt(out),
            Self::Text(text) => out.write_str(text),
            Self::Many(all) => {
                for (index, one) in all.iter().enumerate() {
                    write!(out, "{}{one}", if index == 0 { "" } else { ", " })?;
                }
                Ok(())
            }
        }
    }
}

/// Published experiments run again, beside what was published, claim by claim. Newer minor versions add keys; readers
/// ignore the ones they do not know.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Replication {
    /// Kind and version of this document.
    #[cfg_attr(
        feature = "schema",
        schemars(regex(pattern = r"^ipcperf\.replication/1(\.[0-9]+)*$"))
    )]
    pub schema: String,
    /// Which document it is.
    #[serde(flatten)]
    pub origin: Origin,
    /// When it started, UTC, RFC 3339.
    pub started_utc: String,
    /// Wall-clock seconds of all of it.
    pub duration_s: f64,
    /// It was stopped before it was done.
    #[serde(default)]
    pub interrupted: bool,
    /// The program that measured.
    pub tool: Tool,
    /// What was asked for.
    pub invocation: Invocation,
    /// The machine.
    pub host: Host,
    /// The kernel and its settings.
    pub kernel: Kernel,
    /// The studies.
    pub studies: Vec<StudyResult>,
}

/// How much of a study was asked for, in words of its own, by which two runs of it can be told apart.
pub(crate) fn amount(name: &str, scale: Scale, rounds: u64) -> [String; 2] {
    [format!("{name} at scale {scale}"), format!("{name} in {rounds} rounds")]
}

/// One study.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct StudyResult {
    /// By which it is called: `marhubi`.
    pub name: String,
    /// Of the original.
    pub title: String,
    /// Where the original can be read; empty if that is not known.
    pub url: String,
    /// When the original appeared, as far as it says.
    pub date: String,
    /// The machine of the original.
    pub machine: String,
    /// What the original did.
    pub summary: String,
    /// What the original printed: "median of 10 runs".
    pub statistic: String,
    /// What a reader must know.
    pub notes: Vec<String>,
    /// How much was run.
    pub scale: Scale,
    /// Rounds that were planned, each with every arm once. An interrupted study has fewer.
    pub rounds: u64,
    /// What was left out, in sentences: to fit a budget, or because only some claims were asked for. Empty where it was run
    /// as its file says.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cuts: Vec<String>,
    /// Wall-clock seconds.
    pub duration_s: f64,
    /// How disturbed it was, as of a run; findings name arms. At grade `F` no claim is judged. Absent in documents of
    /// older builds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub noise: Option<Noise>,
    /// What was measured, in the order of the study.
    pub arms: Vec<ArmResult>,
    /// The original's tables, with what came out here.
    pub tables: Vec<TableResult>,
    /// The original's claims, our extensions and self-checks.
    pub claims: Vec<ClaimResult>,
    /// What is wrong with the original.
    pub errata: Vec<Erratum>,
}

/// One thing that a study measures.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ArmResult {
    /// By which tables and claims name it.
    pub id: String,
    /// As a reader sees it.
    pub label: String,
    /// The kind of work.
    pub work: String,
    /// Whether there are numbers.
    pub status: Status,
    /// Why there are none; absent when `ok`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// What every round found.
    pub rounds: Vec<ArmRound>,
    /// What a reader must know: buffer sizes, file systems, programs used.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub facts: BTreeMap<String, String>,
}

/// One round of one arm.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ArmRound {
    /// Which round.
    pub round: u64,
    /// Position in its random order.
    pub order: u64,
    /// Numbers by name; the unit is part of the name.
    pub values: BTreeMap<String, f64>,
}

/// A table of the original.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TableResult {
    /// What it shows.
    pub title: String,
    /// Of all figures in it.
    pub unit: String,
    /// How the figures measured here were formed: `median`, `mean`, `least`, `merged`, or `runs`.
    #[cfg_attr(feature = "schema", schemars(extend("enum" = ["median", "mean", "least", "merged", "runs"])))]
    pub statistic: String,
    /// Heads of the figures.
    pub columns: Vec<String>,
    /// Its rows.
    pub rows: Vec<RowResult>,
    /// How it is drawn; absent where the original has no such figure, and in documents of older builds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plot: Option<Plot>,
}

/// A row of a table.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RowResult {
    /// Its head.
    pub label: String,
    /// What was published, one for each column: numbers or texts, `null` where nothing was.
    pub published: Vec<Published>,
    /// What was measured, one for each column.
    pub measured: Vec<Metric>,
    /// The claims that are tested on what is in this row.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub claims: Vec<String>,
}

/// A claim and what came of it.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ClaimResult {
    /// `s0.c1`.
    pub id: String,
    /// Whose it is.
    #[serde(default)]
    pub kind: ClaimKind,
    /// What is claimed.
    pub text: String,
    /// The published figure or figures, or what was stated in words; nothing where nothing was published.
    pub published: Published,
    /// What was measured: the part that decided; absent where nothing could be.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub measured: Option<Metric>,
    /// What is said of it.
    pub verdict: Verdict,
    /// Why.
    pub reason: String,
    /// Each test of the claim by itself.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tests: Vec<TestResult>,
    /// What a reader must know.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// What else than the mechanisms makes the claim come out as published, where that is known: a claim that is reproduced
    /// then is no finding about them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub artefact: Option<String>,
    /// In a few words, why the claim may come out otherwise here than on the machine of its author. Absent where that is not
    /// known, and in documents of older builds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
}

/// One test of a claim.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TestResult {
    /// What the figure is, in words; empty where only the expression says it, and in documents of older builds.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub label: String,
    /// The expression over arms.
    pub test: String,
    /// What was published for it, if a number was.
    pub published: Option<f64>,
    /// Which figures would be accepted as the direction of the claim; empty of an extension.
    pub accept: String,
    /// What was measured.
    pub measured: Metric,
    /// What is said of it.
    pub verdict: Verdict,
}

/// What is wrong with the original.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Erratum {
    /// The claims it concerns.
    pub claims: Vec<String>,
    /// What is wrong.
    pub text: String,
}

impl Repeatable for Replication {
    fn is_in(&self, other: &Self) -> bool {
        let run = |one: &'_ Self| {
            let words =
                [&one.origin.run_id, &one.started_utc, &one.host.cpu_model, &one.kernel.release];
            (words.map(Clone::clone), one.invocation.seed)
        };
        let values = |round: &ArmRound| (round.round, round.values.clone());
        let arms = |one: &'_ Self| -> Vec<_> {
            let studies = one.studies.iter();
            let arms = studies.flat_map(|study| study.arms.iter().map(|arm| (&study.name, arm)));
            arms.map(|(study, arm)| {
                (study.clone(), arm.id.clone(), arm.rounds.iter().map(values).collect::<Vec<_>>())
            })
            .collect()
        };
        let others = arms(other);
        run(self) == run(other) && arms(self).iter().all(|arm| others.contains(arm))
    }
}

//! A study as a file: what was published, what is run for it here, and how its claims are tested. docs/STUDIES.md
//! describes the format.

use crate::claims::accept::Test;
use crate::claims::expression::Expression;
use crate::replication::{ClaimKind, Erratum, Plot, Published, Scale};
use serde::Deserialize;
use std::collections::BTreeMap;

/// A study, checked.
#[derive(Debug)]
pub struct Study {
    pub(crate) head: Head,
    pub(crate) scales: BTreeMap<Scale, Amount>,
    /// What is measured.
    pub arms: Vec<Arm>,
    pub(crate) tables: Vec<Table>,
    pub(crate) claims: Vec<Claim>,
    pub(crate) errata: Vec<Erratum>,
    pub(crate) files: Vec<CsvFile>,
}

/// Where it comes from.
#[derive(Clone, Debug)]
pub(crate) struct Head {
    pub(crate) name: String,
    pub(crate) title: String,
    pub(crate) url: String,
    pub(crate) date: String,
    pub(crate) machine: String,
    pub(crate) summary: String,
    pub(crate) statistic: String,
    pub(crate) notes: Vec<String>,
}

/// How much of it is run at one scale.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Amount {
    /// Rounds, each with every arm once.
    pub(crate) rounds: u64,
    /// How long it takes, as a reader should expect it: "4 h". Only told.
    pub(crate) expected: Option<String>,
    /// Keys for every arm of a kind of work, for an arm with all its values, or for one of them.
    #[serde(flatten)]
    pub(crate) keys: BTreeMap<String, toml::Table>,
}

/// One thing to measure.
#[derive(Clone, Debug)]
pub struct Arm {
    /// The name that expressions use.
    pub id: String,
    /// The id without the value it stands for.
    pub(crate) base: String,
    /// The value it stands for among its like.
    pub(crate) each: String,
    /// The name that readers see.
    pub label: String,
    /// The kind of work that measures it.
    pub work: String,
    pub(crate) keys: toml::Table,
}

/// How the figures of a table are formed from the rounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Statistic {
    /// Median over rounds.
    Median,
    /// Arithmetic mean over rounds.
    Mean,
    /// The smallest of all rounds.
    Least,
    /// Quantiles of all rounds together.
    Merged,
    /// Every round by itself.
    Runs,
}

impl Statistic {
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Median => "median",
            Self::Mean => "mean",
            Self::Least => "least",
            Self::Merged => "merged",
            Self::Runs => "runs",
        }
    }
}

/// A table of the original.
#[derive(Debug)]
pub(crate) struct Table {
    pub(crate) title: String,
    pub(crate) unit: String,
    pub(crate) statistic: Statistic,
    pub(crate) columns: Vec<String>,
    pub(crate) rows: Vec<StudyRow>,
    pub(crate) plot: Option<Plot>,
    /// The file in which it is written as Ruby's Benchmark prints its times.
    pub(crate) benchmark: Option<String>,
}

#[derive(Debug)]
pub(crate) struct StudyRow {
    pub(crate) label: String,
    /// `None` where nothing is measured.
    pub(crate) cells: Vec<Option<Expression>>,
    pub(crate) published: Vec<Published>,
}

/// A claim of the original, a reading of its tables, an extension of ours, or a self-check.
#[derive(Debug)]
pub(crate) struct Claim {
    pub(crate) id: String,
    pub(crate) kind: ClaimKind,
    pub(crate) text: String,
    /// Figures, or what was stated in words.
    pub(crate) published: Published,
    pub(crate) note: Option<String>,
    /// What else than the mechanisms makes it come out as published.
    pub(crate) artefact: Option<String>,
    /// In what the arms differ that it divides by each other.
    pub(crate) differs: Vec<Factor>,
    /// In a few words, why each of its tests may come out otherwise here: as many as there are tests, of which some are empty, or
    /// none at all.
    pub(crate) why: Vec<String>,
    /// It says that something can happen, which no machine refutes where it does not.
    pub(crate) can: bool,
    pub(crate) how: How,
}

impl Claim {
    /// What it is tested by; nothing where nobody can test it.
    pub(crate) fn tests(&self) -> &[Test] {
        match &self.how {
            How::Untestable(_) => &[],
            How::Tests { tests, .. } => tests,
        }
    }

    /// The metric and the arm of every reading that it is tested on.
    pub(crate) fn readings(&self) -> impl Iterator<Item = (&str, &str)> {
        self.tests().iter().flat_map(|test| test.expression.readings())
    }
}

/// A key of cells in which arms may differ beside what a claim is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Factor {
    Touch,
    Placement,
    Size,
    Align,
}

ipcperf_core::words! {
    "factor" Factor {
        Touch = "touch",
        Placement = "placement",
        Size = "size",
        Align = "align",
    }
}

/// How a claim is tested.
#[derive(Debug)]
pub(crate) enum How {
    /// Not at all, and why.
    Untestable(String),
    /// By all of these.
    Tests {
        tests: Vec<Test>,
        /// The figures are no ratios: they may be 0 or negative.
        is_value: bool,
    },
}

/// A file in the original's own format.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct CsvFile {
    pub(crate) file: String,
    pub(crate) header: Vec<String>,
    pub(crate) arms: Vec<String>,
    pub(crate) values: Vec<String>,
}

impl CsvFile {
    /// What a column can have beside readings.
    pub(crate) const OWN: [&str; 3] = ["round", "each", "arm"];
}

/// Whether a kind of work exists and understands these keys; what is wrong, in words.
pub type Check<'a> = dyn Fn(&str, &toml::Table) -> Result<(), String> + 'a;

impl Study {
    /// The word it goes by.
    pub fn name(&self) -> &str {
        &self.head.name
    }

    /// How many claims it has of a kind.
    pub fn claim_count(&self, kind: ClaimKind) -> usize {
        self.claims.iter().filter(|claim| claim.kind == kind).count()
    }

    /// The metric and the arm of every reading, and where it is.
    pub(crate) fn readings(&self) -> impl Iterator<Item = (String, &str, &str)> {
        let of_claims = self.claims.iter().flat_map(|claim| {
            claim.readings().map(|(metric, arm)| (format!("claim {}", claim.id), metric, arm))
        });
        let rows =
            self.tables.iter().flat_map(|table| table.rows.iter().map(move |row| (table, row)));
        let of_tables = rows.flat_map(|(table, row)| {
            let place = format!("table '{}', row '{}'", table.title, row.label);
            let readings = row.cells.iter().flatten().flat_map(Expression::readings);
            readings.map(move |(metric, arm)| (place.clone(), metric, arm))
        });
        let of_files = self.files.iter().flat_map(move |file| {
            let values = file.values.iter().filter(|value| !CsvFile::OWN.contains(&value.as_str()));
            values.flat_map(move |value| {
                let arms = self.arms.iter().filter(|arm| file.arms.contains(&arm.base));
                arms.map(move |arm| (format!("csv {}", file.file), value.as_str(), arm.id.as_str()))
            })
        });
        of_claims.chain(of_tables).chain(of_files)
    }

    /// Rounds of a scale.
    pub fn rounds(&self, scale: Scale) -> u64 {
        self.scales.get(&scale).map_or(1, |amount| amount.rounds)
    }

    /// How long a scale takes, as a reader should expect it.
    pub fn expected(&self, scale: Scale) -> Option<&str> {
        self.scales.get(&scale)?.expected.as_deref()
    }

    /// What an arm is told at a scale: its own keys, over them those of the scale for its kind of work, over both those of
    /// the scale for the arm and all its values, and over all those for this value.
    pub fn keys(&self, arm: &Arm, scale: Scale) -> toml::Table {
        let mut keys = arm.keys.clone();
        for of in [&arm.work, &arm.base, &arm.id] {
            let more = self.scales.get(&scale).and_then(|amount| amount.keys.get(of));
            for (key, value) in more.into_iter().flatten() {
                keys.insert(key.clone(), value.clone());
            }
        }
        keys
    }
}

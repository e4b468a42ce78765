//! What a word is.

use std::borrow::Cow;

/// What kind of word it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WordKind {
    /// A mark in tables.
    Mark,
    /// Something that a run finds.
    Finding,
    /// Something that `ipcperf audit` finds.
    Benchmark,
    /// Something that `ipcperf doctor` checks; as a finding of a result its code starts with `W-` or `I-`.
    Machine,
    /// Of the noise.
    Grade,
    /// Of `ipcperf compare`.
    Difference,
    /// Of `ipcperf replicate`.
    Claim,
    /// Of a cell.
    Status,
    /// The head of a column.
    Column,
    /// A part of what a cell is.
    Setting,
    /// What stands in rows and sentences.
    Shown,
}

impl WordKind {
    /// All of them, in the order of docs/WORDS.md.
    pub const ALL: [Self; 11] = [
        Self::Mark,
        Self::Finding,
        Self::Benchmark,
        Self::Machine,
        Self::Grade,
        Self::Difference,
        Self::Claim,
        Self::Status,
        Self::Column,
        Self::Setting,
        Self::Shown,
    ];

    /// One of them, and all of them.
    #[must_use]
    pub const fn names(self) -> (&'static str, &'static str) {
        match self {
            Self::Mark => ("a mark in tables", "Marks in tables"),
            Self::Finding => ("a finding of a run", "Findings of a run"),
            Self::Benchmark => ("a finding about a benchmark", "Findings about benchmarks (audit)"),
            Self::Machine => ("a finding about the machine", "Findings about the machine (doctor)"),
            Self::Grade => ("a noise grade", "Noise grades"),
            Self::Difference => ("a verdict of compare", "Verdicts of compare"),
            Self::Claim => ("a verdict of replicate", "Verdicts of replicate"),
            Self::Status => ("a status of a cell", "Statuses of cells"),
            Self::Column => ("a column of a table", "Columns of tables"),
            Self::Setting => ("a part of a cell's identity", "What identifies a cell"),
            Self::Shown => ("a word in tables and sentences", "Words in tables and sentences"),
        }
    }
}

/// A word that the program says.
#[derive(Clone, Debug)]
pub struct Word {
    /// As it is printed.
    pub name: &'static str,
    /// What kind of word it is.
    pub kind: WordKind,
    /// What it means, without the stop at its end.
    pub meaning: Cow<'static, str>,
    /// What to do about it, without the stop at its end.
    pub advice: Cow<'static, str>,
}

/// A word with what it means and what to do about it, both without the stop at their ends.
#[must_use]
pub const fn word(
    name: &'static str,
    kind: WordKind,
    meaning: &'static str,
    advice: &'static str,
) -> Word {
    Word { name, kind, meaning: Cow::Borrowed(meaning), advice: Cow::Borrowed(advice) }
}

//! The words of the output that can be explained.

use ipcperf_core::findings;
use std::borrow::Cow;

/// What kind of word it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WordKind {
    /// What the documents are about.
    Term,
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
    pub const ALL: [Self; 12] = [
        Self::Term,
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
            Self::Term => ("a term of the documents", "Terms"),
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

/// What a finding or check means, as a word of its own.
fn of_finding(row: &findings::Row) -> Word {
    let kind = match row.subject {
        "" if row.is_of_audit => WordKind::Benchmark,
        "" => WordKind::Finding,
        _ => WordKind::Machine,
    };
    let (meaning, advice) = (Cow::Owned(row.meaning()), Cow::Owned(row.advice()));
    Word { name: row.name(), kind, meaning, advice }
}

/// Every word of the output: the findings of every run, and what commands add.
#[derive(Clone, Debug)]
pub struct Vocabulary(Vec<Word>);

impl Vocabulary {
    /// The findings of every run, and these findings and words.
    #[must_use]
    pub fn new<'a>(
        more: impl Iterator<Item = &'a findings::Row>,
        words: impl Iterator<Item = &'a Word>,
    ) -> Self {
        Self(findings::ALL.iter().chain(more).map(of_finding).chain(words.cloned()).collect())
    }

    /// All of them.
    pub fn words(&self) -> impl Iterator<Item = &Word> + Clone {
        self.0.iter()
    }

    /// The names of all of them.
    pub fn names(&self) -> impl Iterator<Item = &'static str> {
        self.0.iter().map(|word| word.name)
    }

    /// Whether a word can be explained.
    #[must_use]
    pub fn has(&self, given: &str) -> bool {
        !self.find(given).is_empty()
    }

    /// The words of this name, in the same case or else in any; findings about the machine with and without the prefix of their
    /// severity. One name may mean several things: A is a grade, and a side of a comparison.
    #[must_use]
    pub fn find(&self, given: &str) -> Vec<&Word> {
        // The head of a column of ratios names its reference: `vs unix-stream`.
        if given.starts_with("vs ") {
            return self.words().filter(|word| word.name.starts_with("vs ")).collect();
        }
        let given = if matches!(given, "+-" | "\u{b1}") { "+/-" } else { given };
        let exactly: Vec<&Word> = self.words().filter(|word| word.name == given).collect();
        if !exactly.is_empty() {
            return exactly;
        }
        let named =
            |name: &str| self.words().filter(|word| word.name.eq_ignore_ascii_case(name)).collect();
        let found: Vec<&Word> = named(given);
        let Some((severity, code)) = given.split_once('-').filter(|_| found.is_empty()) else {
            return found;
        };
        let mut found: Vec<&Word> = named(code);
        let is_severity = ["W", "I"].iter().any(|one| severity.eq_ignore_ascii_case(one));
        found.retain(|word| is_severity && word.kind == WordKind::Machine);
        found
    }
}

//! The words of results: every mark, grade, verdict, status, column head and row word, with what it means and what to do
//! about it. `ipcperf explain`, docs/WORDS.md and the legends of tables read it.

mod columns;
mod shown;
mod terms;

use crate::results::columns::{self as tables, Column, Entry, placed};
use crate::results::marks::{BATCH, BRIEFLY, OVERSUBSCRIBED, TWO_MODES};

use ipcperf_kit::word::{Word, WordKind};
use std::borrow::Cow;
use std::sync::LazyLock;

/// Marks in tables.
const MARKS: &[Entry] = &[
    (
        BRIEFLY,
        "spins briefly before it sleeps: fast if the peer answers at once, slow after a pause",
        "measure it with your program's pauses: ipcperf run --think 200us",
    ),
    (
        TWO_MODES,
        "The rounds fall into two modes: both values are shown if there is room, the larger mode first, never an average",
        "look for what switches: CPUs that a host moves, idle states (--idle poll); more rounds do not help",
    ),
    (
        BATCH,
        "is the median of batch means, because one round trip is too short to time alone or --batch was given; it hides single slow ones",
        "read the mean as well; single operations have no quantiles here, however long the run is",
    ),
    (
        OVERSUBSCRIBED,
        "oversubscribed: there is no CPU for every end that could run, so that channels share CPUs",
        "use fewer channels to see what the mechanism itself limits",
    ),
    (
        "+/-",
        "half of the 95 % interval over rounds, as a share of the value; above 50 %, the interval itself",
        "ignore digits smaller than the interval; more rounds narrow it, and a quieter machine even more",
    ),
    (
        "-",
        "not available, or too few samples",
        "read the line below the table, which says what would help, such as a longer --slice",
    ),
];

/// Noise grades.
const GRADES: &[Entry] = &[
    (
        "grade",
        "says how disturbed a run was, from A to F, by the worst of six measures: spread of the rounds, stolen time, other work on busy-waiting CPUs (load) and between the rounds, CPU speed, rejected slices. Steal, load and speed may be missing, which the output says",
        "read the causes shown with it, and 'ipcperf explain A' to F for what each grade allows",
    ),
    (
        "A",
        "a quiet run: rounds differ by up to 1 %, and almost nothing was stolen or rejected",
        "claim differences of a few percent if the intervals support them",
    ),
    ("B", "a normal, quiet run: rounds differ by up to 3 %", "claim what the intervals support"),
    (
        "C",
        "a noisy run: rounds differ by up to 10 %, or up to 5 % of the time was stolen",
        "trust large differences, ignore the last digits; more rounds or a quieter machine narrow the intervals",
    ),
    (
        "D",
        "a very noisy run: only large differences are certain",
        "claim factors only, or repeat the run on a quieter machine",
    ),
    (
        "F",
        "too noisy for figures, tails and equality: only slower and faster within rounds are stated",
        "stop other work ('ipcperf doctor' looks for it), and repeat the run",
    ),
    (
        "none",
        "no cell was measured; or the spread of the rounds (a run of one round) or the load of the CPUs is unknown",
        "read the reason shown with it; use at least two rounds",
    ),
];

/// Verdicts of comparisons.
const DIFFERENCES: &[Entry] = &[
    (
        "FASTER",
        "the whole 95 % interval of the ratio lies beyond the margin on the better side, and the control agrees",
        "choose B if this metric matters to you",
    ),
    (
        "SLOWER",
        "the whole 95 % interval of the ratio lies beyond the margin on the worse side, and the control agrees",
        "keep A; --fail-on slower:5% turns this into a gate",
    ),
    (
        "NO DIFFERENCE",
        "the 90 % interval of the ratio lies within the margin, which excludes a difference that matters",
        "choose by something else; a smaller --margin asks a finer question",
    ),
    (
        "CAN'T TELL",
        "the interval decides neither way, or the values cannot be trusted",
        "use the number of rounds given below, or remove what confounds the two",
    ),
];

/// Statuses of cells.
const STATUSES: &[Entry] = &[
    ("ok", "it was measured, and the data was proved to arrive", "read its values"),
    (
        "unavailable",
        "this machine cannot run it",
        "read the reason, which says what is missing and how to get it",
    ),
    (
        "failed",
        "it ran and failed, so it has no value",
        "read the reason; if a message was wrong, report it",
    ),
    (
        "deadline",
        "it did not finish in time and was killed",
        "repeat it alone; if it hangs again, report it",
    ),
    ("rejected", "it ran, but every slice was rejected", "look at the findings that start with E-"),
    (
        "skipped",
        "the run ended before it was measured",
        "use a larger --budget, or let the run finish",
    ),
];

/// Words of one kind.
fn of_kind(kind: WordKind, entries: &[Entry]) -> impl Iterator<Item = Word> {
    entries.iter().map(move |(name, meaning, advice)| Word {
        name,
        kind,
        meaning: Cow::Borrowed(meaning),
        advice: Cow::Borrowed(advice),
    })
}

/// Heads of columns: of the tables of results, and of others.
fn heads() -> Vec<Entry> {
    placed(columns::OTHERS.to_vec(), tables::all().flat_map(Column::headings), |head| head.0)
}

static ALL: LazyLock<Vec<Word>> = LazyLock::new(|| {
    let heads = heads();
    [
        (WordKind::Term, terms::TERMS),
        (WordKind::Mark, MARKS),
        (WordKind::Grade, GRADES),
        (WordKind::Difference, DIFFERENCES),
        (WordKind::Status, STATUSES),
        (WordKind::Column, heads.as_slice()),
        (WordKind::Setting, shown::SETTINGS),
        (WordKind::Shown, shown::SHOWN),
    ]
    .into_iter()
    .flat_map(|(kind, entries)| of_kind(kind, entries))
    .collect()
});

/// All of them.
pub(crate) fn all() -> &'static [Word] {
    &ALL
}

/// The term that another word stands for: `lead` for `initiator`.
pub(crate) fn term_of(given: &str) -> Option<&'static str> {
    let mut all = terms::SYNONYMS.iter().chain(terms::OTHER_WORDS);
    all.find(|(word, _)| word.eq_ignore_ascii_case(given)).map(|(_, term)| *term)
}

/// A mark with its meaning, for a legend.
pub(crate) fn legend(mark: &str) -> Option<String> {
    let word = all().iter().find(|word| word.name == mark);
    word.map(|word| format!("{} {}.", word.name, word.meaning))
}

#[cfg(test)]
mod tests;

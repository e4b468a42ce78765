//! A question, its answer, and what any answer says of a figure with two modes.

use crate::columns::other_mode_words;
use crate::judge::MetricKind;
use ipcperf_core::result::Cell;
use serde::Serialize;

/// What a reader of a survey wants to know.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Question {
    /// Shortest round trip of a small message without burning a CPU.
    SmallBlocking,
    /// The same if each end may spin briefly before it sleeps.
    SpinThenSleep,
    /// Highest throughput of large messages without burning a CPU.
    LargeBlocking,
    /// Shortest round trip of a small message if each end may burn a CPU.
    Spinning,
    /// Least CPU time for a small message.
    CheapestCpu,
    /// Price of a socket that unrelated processes can connect to.
    Unrelated,
    /// Shortest wake-up without payload.
    WakeUp,
    /// What idle polling makes of blocking mechanisms on two CPUs.
    IdlePoll,
}

/// One answer.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Answer {
    /// To which question.
    pub question: Question,
    /// In words, with the numbers, complete.
    pub sentence: String,
    /// The best, by full name and knobs; `None` where the sentence only says why there is no figure.
    pub mechanism: Option<String>,
    /// Its figure: ns (round trips, CPU per message), bytes per second (throughput), a ratio (price of a socket).
    pub value: Option<f64>,
    /// Others that the data cannot tell from the best.
    pub ties: Vec<String>,
    /// The first that is certainly behind.
    pub runner_up: Option<String>,
    /// Its figure, in the same unit.
    pub runner_up_value: Option<f64>,
}

/// The reading a two-mode cell is quoted with needs its other mode beside it.
pub(super) fn modes_words(cell: &Cell, kind: MetricKind) -> String {
    let other = other_mode_words(cell, kind);
    other.map_or_else(String::new, |words| format!(" (two modes: {words})"))
}

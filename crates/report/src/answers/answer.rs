//! A question, its answer, and what any answer says of a figure with two modes.

use crate::rank::{Reading, Yardstick};
use crate::text;
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
pub(super) fn modes_words(cell: &Cell, yardstick: Yardstick, reading: &Reading) -> String {
    let modes = yardstick.metric(cell).map(|metric| metric.modes.as_slice()).unwrap_or_default();
    let distance = |value: f64| (value - reading.value).abs();
    let other = modes.iter().max_by(|a, b| distance(a.value).total_cmp(&distance(b.value)));
    match other.filter(|_| modes.len() > 1) {
        Some(other) => {
            let rounds: u64 = modes.iter().map(|mode| mode.rounds).fold(0, u64::saturating_add);
            let words = yardstick.words(other.value, cell.key.size_bytes);
            let all = text::counted(rounds, "round");
            format!(" (two modes: {words} in {} of {all})", text::grouped(other.rounds))
        }
        None => String::new(),
    }
}

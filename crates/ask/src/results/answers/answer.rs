//! A question, its answer, and what any answer says of a figure with two modes.

use crate::results::columns::other_mode_words;
use ipcperf_core::result::Cell;
use ipcperf_core::{OnClose, Spec, Wait};
use ipcperf_judge::MetricKind;
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
    /// The one to use, by full name and knobs; `None` where that is undecided, or where the sentence only says why there is
    /// no figure.
    pub mechanism: Option<String>,
    /// Its figure: ns (round trips, CPU per message), bytes per second (throughput), a ratio (price of a socket).
    pub value: Option<f64>,
    /// The one that the others are compared with; `None` where nothing is compared.
    pub reference: Option<String>,
    /// What the one to use is to the reference: `reference`, `1.3x faster [1.2, 1.4]`.
    pub relation: Option<String>,
    /// Others that are shown to be as good within the margin.
    pub ties: Vec<String>,
    /// Others that may be better than the reference by more than the margin, and would then be named; of an undecided
    /// answer all that may be the best.
    pub open: Vec<String>,
    /// The nearest that is certainly worse.
    pub runner_up: Option<String>,
    /// Its figure, in the same unit.
    pub runner_up_value: Option<f64>,
    /// What it is to the one to use: `1.5x slower [1.4, 1.6]`.
    pub runner_up_relation: Option<String>,
}

impl Answer {
    /// Words alone.
    pub(super) fn without_figures(question: Question, sentence: String) -> Self {
        Self {
            question,
            sentence,
            mechanism: None,
            value: None,
            reference: None,
            relation: None,
            ties: Vec::new(),
            open: Vec::new(),
            runner_up: None,
            runner_up_value: None,
            runner_up_relation: None,
        }
    }
}

/// The reading a two-mode cell is quoted with needs its other mode beside it.
pub(super) fn modes_words(cell: &Cell, kind: MetricKind) -> String {
    let other = other_mode_words(cell, kind);
    other.map_or_else(String::new, |words| format!(" (two modes: {words})"))
}

/// What it costs beside time, and what it does not tell.
pub(crate) fn caveats(cell: &Cell, spec: Option<&Spec>) -> Vec<String> {
    let waits = match cell.key.wait {
        Wait::Spin => Some("100 % of both CPUs"),
        Wait::SpinThenBlock => Some("spins before it sleeps"),
        _ => None,
    };
    let death = spec.map(|spec| match spec.on_death {
        OnClose::Told => "notices a dead peer",
        OnClose::Late => "notices a dead peer late",
        _ => "peer death goes unnoticed",
    });
    waits.into_iter().chain(death).map(str::to_owned).collect()
}

/// `or 190 ns in 3 of 7 rounds`.
pub(crate) fn modes(cell: &Cell, kind: MetricKind) -> Option<String> {
    Some(format!("or {}", other_mode_words(cell, kind)?))
}

//! An answer in one line, as the overview of a survey shows it.

use super::contest::Contest;
use crate::Specs;
use crate::chapters::label;
use crate::columns::other_mode_words;
use crate::rank::Yardstick;
use crate::text;
use ipcperf_core::result::Cell;
use ipcperf_core::{OnClose, Spec, Wait};

/// What to use for a purpose.
pub(crate) struct Choice<'a> {
    pub(crate) purpose: &'static str,
    /// The best; of several that tie the fittest.
    pub(crate) cell: &'a Cell,
    pub(crate) figure: String,
    /// What whoever takes it should know.
    pub(crate) notes: Vec<String>,
    /// Under which conditions it was measured, in words.
    pub(crate) basis: String,
    pub(crate) size: u64,
}

impl<'a> Choice<'a> {
    pub(super) fn of(
        purpose: &'static str,
        contest: &Contest<'a>,
        yardstick: Yardstick,
        specs: &Specs,
    ) -> Self {
        let best = contest.best();
        let winner = contest.winner();
        let spec = specs(&winner.cell.key.mechanism);
        let mut notes = caveats(winner.cell, spec);
        notes.extend(modes(winner.cell, yardstick));
        // With their knobs: one that ties with itself of another knob is two.
        let others: Vec<String> = best[1..].iter().map(|other| label(other.cell)).collect();
        notes.extend(ties(&others.iter().map(String::as_str).collect::<Vec<_>>(), TIED));
        Self {
            purpose,
            cell: winner.cell,
            figure: yardstick.words(winner.reading.value, contest.size),
            notes,
            basis: contest.basis.words(),
            size: contest.size,
        }
    }
}

/// What it costs beside time, and what it does not tell.
pub(crate) fn caveats(cell: &Cell, spec: Option<&Spec>) -> Vec<String> {
    let waits = match cell.key.wait {
        Wait::Spin => Some("burns both CPUs"),
        Wait::SpinThenBlock => Some("spins before it sleeps"),
        Wait::Block | Wait::Epoll => None,
    };
    let death = spec.map(|spec| match spec.on_death {
        OnClose::Told => "told of death",
        OnClose::Late => "told late of death",
        OnClose::Undetected => "not told of death",
    });
    waits.into_iter().chain(death).map(str::to_owned).collect()
}

/// `or 190 ns in 3 of 7 rounds`.
pub(crate) fn modes(cell: &Cell, yardstick: Yardstick) -> Option<String> {
    Some(format!("or {}", other_mode_words(cell, yardstick)?))
}

/// How many of those that tie have their names on the line of a purpose.
const TIED: usize = 3;

/// `ties with pipe, fifo, tcp and 20 more`: at most so many by their names.
pub(crate) fn ties(others: &[&str], most: usize) -> Option<String> {
    if others.is_empty() {
        return None;
    }
    let mut named: Vec<String> = others.iter().take(most).map(|one| (*one).to_owned()).collect();
    if others.len() > most {
        named.push(format!("{} more", others.len() - most));
    }
    Some(format!("ties with {}", text::join(&named)))
}

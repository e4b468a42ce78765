//! What one should know of a mechanism that is chosen.

use crate::columns::other_mode_words;
use crate::judge::MetricKind;
use crate::text;
use ipcperf_core::result::Cell;
use ipcperf_core::{OnClose, Spec, Wait};

/// What it costs beside time, and what it does not tell.
pub(crate) fn caveats(cell: &Cell, spec: Option<&Spec>) -> Vec<String> {
    let waits = match cell.key.wait {
        Wait::Spin => Some("100 % of both CPUs"),
        Wait::SpinThenBlock => Some("spins before it sleeps"),
        Wait::Block | Wait::Epoll => None,
    };
    let death = spec.map(|spec| match spec.on_death {
        OnClose::Told => "notices a dead peer",
        OnClose::Late => "notices a dead peer late",
        OnClose::Undetected => "peer death goes unnoticed",
    });
    waits.into_iter().chain(death).map(str::to_owned).collect()
}

/// `or 190 ns in 3 of 7 rounds`.
pub(crate) fn modes(cell: &Cell, kind: MetricKind) -> Option<String> {
    Some(format!("or {}", other_mode_words(cell, kind)?))
}

/// `is as fast as pipe, fifo, tcp and 20 more`: at most so many by their names.
pub(crate) fn ties(others: &[&str], most: usize) -> Option<String> {
    if others.is_empty() {
        return None;
    }
    let mut named: Vec<String> = others.iter().take(most).map(|one| (*one).to_owned()).collect();
    if others.len() > most {
        named.push(format!("{} more", others.len() - most));
    }
    Some(format!("is as fast as {}", text::join(&named)))
}

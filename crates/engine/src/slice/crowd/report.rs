//! What the workers of a crowd report: the requests that each side counted, and what it used.

use ipcperf_core::KnobValue;
use ipcperf_sys::meter::Span;
use ipcperf_sys::procfs::Consumption;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Requests of one region.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Counts {
    pub(super) asked: u64,
    /// Of each kind.
    pub(super) answered: Vec<u64>,
    /// Requests that failed, by `errno`.
    pub(super) errors: BTreeMap<i32, u64>,
    /// A connection for each: sequence numbers of the answers, added up.
    pub(super) sum: u64,
    /// Likewise: connects that had to be tried again.
    pub(super) retried: u64,
    /// Likewise: connects that were not done at once where none blocks, by `errno`.
    pub(super) not_at_once: BTreeMap<i32, u64>,
    /// Likewise: requests that were asked again because nothing came.
    pub(super) resent: u64,
    /// Likewise: answers that were not the server's.
    pub(super) wrong: u64,
}

impl Counts {
    /// None yet, of so many kinds.
    pub(super) fn of_kinds(kinds: usize) -> Self {
        Self { answered: vec![0; kinds], ..Self::default() }
    }

    /// Answers of all kinds.
    pub(super) fn answers(&self) -> u64 {
        self.answered.iter().sum()
    }

    pub(super) fn merge(&mut self, other: &Self) {
        self.asked += other.asked;
        self.answered.resize(self.answered.len().max(other.answered.len()), 0);
        for (sum, count) in self.answered.iter_mut().zip(&other.answered) {
            *sum += count;
        }
        self.sum = self.sum.wrapping_add(other.sum);
        self.retried += other.retried;
        self.resent += other.resent;
        self.wrong += other.wrong;
        merge(&mut self.errors, &other.errors);
        merge(&mut self.not_at_once, &other.not_at_once);
    }
}

/// What a process of clients reports.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct ClientReport {
    pub(super) pid: u32,
    /// Before the timed region, and of it.
    pub(super) counts: [Counts; 2],
    /// Begin and end of the timed region, ticks; where connections stay and requests are counted, it ends with the last
    /// answer.
    pub(super) region: [u64; 2],
    /// The longest request, ticks; of several clients in one process the shortest of these.
    pub(super) longest: u64,
    /// In warm-up and timed region.
    pub(super) spent: Consumption,
    /// Likewise, of the whole machine.
    pub(super) machine: Span,
    pub(super) cpu: usize,
    /// The process that traced it at the end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) tracer: Option<u32>,
    /// Connections that stay: begin of the warm-up and end of the last answer, ticks.
    pub(super) whole: [u64; 2],
    /// Likewise: answers inside the timed region on each connection, whenever they were asked for.
    pub(super) moved: Vec<u64>,
    /// Likewise: requests due that were never sent.
    pub(super) unsent: u64,
    /// Likewise: calls that found nothing to read, or no room.
    pub(super) eagain: u64,
    /// Open loop: how long the timed region had requests due, ticks.
    pub(super) due: u64,
    /// Open loop: requests came faster than they were answered.
    pub(super) saturated: bool,
    /// Knobs of channels, as granted.
    pub(super) effective: Vec<(String, KnobValue)>,
}

/// What a process of the server reports, of warm-up and timed region.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct ServerReport {
    pub(super) pid: u32,
    /// Requests that got the whole answer.
    pub(super) served: u64,
    /// A connection for each: their sequence numbers, added up.
    pub(super) sum: u64,
    /// What went wrong, by `errno`.
    pub(super) errors: BTreeMap<i32, u64>,
    /// Ticks in `accept` calls that returned a connection; `None` where such calls may have waited.
    pub(super) accept: Option<u64>,
    /// Calls that found nothing to read, or no room.
    pub(super) eagain: u64,
    pub(super) spent: Consumption,
    /// When that was read, ticks: it hears of the end of its clients after they have read their own. 0 where connections do not
    /// stay.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub(super) ended: u64,
    pub(super) cpu: usize,
    /// The process that traced it at the end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) tracer: Option<u32>,
    /// Knobs of channels, as granted.
    pub(super) effective: Vec<(String, KnobValue)>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the signature serde asks for")]
fn is_zero(number: &u64) -> bool {
    *number == 0
}

impl ServerReport {
    /// Adds what another part of the same process counted.
    pub(super) fn merge(&mut self, other: &Self) {
        self.served += other.served;
        self.eagain += other.eagain;
        merge(&mut self.errors, &other.errors);
    }
}

/// Counts one more of these.
#[cold]
pub(super) fn add(errors: &mut BTreeMap<i32, u64>, code: i32) {
    *errors.entry(code).or_insert(0) += 1;
}

/// Adds counts of the same `errno`.
pub(super) fn merge(into: &mut BTreeMap<i32, u64>, from: &BTreeMap<i32, u64>) {
    for (code, count) in from {
        *into.entry(*code).or_insert(0) += count;
    }
}

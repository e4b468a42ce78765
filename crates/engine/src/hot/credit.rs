//! Credits: what lets a sender go on, where a window limits the messages under way.

use super::Plan;

/// Bytes of a credit: room for a whole stamp, but never more than the messages are long.
#[inline(always)]
pub(super) fn credit_len(plan: &Plan<'_>) -> usize {
    plan.len.min(8)
}

/// The follow grants after this many messages: half the window, so that the lead need not stop in the usual case.
#[inline(always)]
pub(super) const fn grant_every(window: u64) -> u64 {
    window.div_ceil(2)
}

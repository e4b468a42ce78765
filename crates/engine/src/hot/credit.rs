//! Credits: they let a sender go on where a window limits the messages under way.

/// The follow grants after this many messages: half the window, so that the lead need not stop in the usual case.
#[inline(always)]
pub(super) const fn grant_every(window: u64) -> u64 {
    window.div_ceil(2)
}

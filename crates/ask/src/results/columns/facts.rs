//! Which patterns have a column, by their facts.

use ipcperf_core::{Ends, Figure, PatternFacts};

/// Several peers on one side.
pub(super) const fn is_fan(facts: &PatternFacts) -> bool {
    matches!(facts.ends, Ends::Many(_))
}

/// Several processes on both sides of one object.
pub(super) const fn is_grid(facts: &PatternFacts) -> bool {
    matches!(facts.ends, Ends::Grid)
}

/// Several processes on a side.
const fn is_crowd(facts: &PatternFacts) -> bool {
    is_fan(facts) || is_grid(facts)
}

/// Clients that stay connected.
pub(super) fn is_connected(facts: &PatternFacts) -> bool {
    facts.ends == Ends::Connected
}

/// Peers or connections that share what is sent: each consumer of a broadcast gets the same.
pub(super) fn is_shared(facts: &PatternFacts) -> bool {
    (is_crowd(facts) && !facts.to_each) || is_connected(facts)
}

/// Messages that are due at some time.
pub(super) fn is_due(facts: &PatternFacts) -> bool {
    facts.is_open || is_connected(facts) || is_feed(facts)
}

/// Every message goes to all consumers as fast as they take it.
pub(super) fn is_copied(facts: &PatternFacts) -> bool {
    facts.to_each && !is_feed(facts)
}

/// Every message goes to all consumers when it is due.
pub(super) fn is_feed(facts: &PatternFacts) -> bool {
    facts.to_each && facts.figure == Figure::Time
}

/// A closed loop. The sender of an open loop watches the clock with what is left of the CPU time.
pub(super) const fn is_closed(facts: &PatternFacts) -> bool {
    !facts.is_open
}

/// A closed loop whose system calls and interrupts are counted.
pub(super) fn is_counted(facts: &PatternFacts) -> bool {
    is_closed(facts) && facts.ends != Ends::Clients && !is_connected(facts)
}

/// Operations whose tail is known.
pub(super) fn has_tail(facts: &PatternFacts) -> bool {
    is_crowd(facts) || facts.figure != Figure::Throughput
}

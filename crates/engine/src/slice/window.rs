//! Messages, and the time that they took.

/// The time in which all ends were at work.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Window {
    /// Messages that arrived in it.
    pub messages: u64,
    /// Its length, ticks.
    pub ticks: u64,
}

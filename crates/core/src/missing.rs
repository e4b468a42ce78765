//! Why something cannot be had, and how to get it.

use std::fmt;

/// Why something cannot run here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Missing {
    /// What is missing or refused: "no POSIX message queues in this kernel".
    pub what: String,
    /// How to get it; empty if there is no way.
    pub how: String,
}

impl Missing {
    /// Both parts at once.
    #[must_use]
    pub fn new(what: impl Into<String>, how: impl Into<String>) -> Self {
        Self { what: what.into(), how: how.into() }
    }
}

impl fmt::Display for Missing {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.what)?;
        if self.how.is_empty() { Ok(()) } else { write!(out, "; {}", self.how) }
    }
}

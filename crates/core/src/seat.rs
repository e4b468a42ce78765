//! Which end of a channel a worker is.

use serde::{Deserialize, Serialize};

/// One of the two ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Seat {
    /// Starts the exchange; the sender of a stream.
    Lead,
    /// Answers; the receiver of a stream.
    Follow,
}

impl Seat {
    /// Both seats, lead first.
    pub const BOTH: [Self; 2] = [Self::Lead, Self::Follow];

    /// The other end.
    #[must_use]
    pub const fn other(self) -> Self {
        match self {
            Self::Lead => Self::Follow,
            Self::Follow => Self::Lead,
        }
    }

    /// 0 for lead, 1 for follow: the index of pairs.
    #[must_use]
    pub const fn index(self) -> usize {
        self as usize
    }
}

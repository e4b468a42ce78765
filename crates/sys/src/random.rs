//! Numbers that nobody can guess: for names that no other user may take first.

use std::hash::{BuildHasher, Hasher, RandomState};

/// A random number that has nothing to do with any seed.
#[must_use]
pub fn number() -> u64 {
    RandomState::new().build_hasher().finish()
}

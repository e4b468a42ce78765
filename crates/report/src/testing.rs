//! What tests of several modules share, and tests of what all modules write.

pub(crate) mod growth;
pub(crate) mod sample;
pub(crate) mod schema;
pub(crate) mod sound;

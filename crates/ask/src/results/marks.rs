//! Marks next to the figures and names in tables.

/// The mark of a mechanism that spins before it sleeps.
pub(crate) const BRIEFLY: &str = "~";
/// The mark of rounds in two modes.
pub const TWO_MODES: &str = "*";
/// What that mark means if there is room for one value.
pub(crate) const ONE_OF_TWO: &str = "* two modes, the larger one is shown";
/// The mark of round trips timed in batches.
pub(crate) const BATCH: &str = "^";
/// The mark of channels that share CPUs.
pub(crate) const OVERSUBSCRIBED: &str = "!";
/// The head of the column of ratios where references of a table differ; otherwise it names the reference.
pub(crate) const VERSUS: &str = "vs reference";

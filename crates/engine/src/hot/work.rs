//! Payload work: the stamp that proves the transfer, and the touch policy.
//!
//! The stamp of message `seq` is `tag ^ seq` in the first 8 bytes (4 bytes of 4..7, 1 byte of 1..3), where the tag is
//! made from the slice's nonce; replies use the complement. A process that reads back its own message, a stale slot
//! of an earlier slice, a lost, doubled or reordered message all show a wrong stamp.

use ipcperf_core::Fault;

/// How a message is written and checked. `Copy`, because both closures of an exchange are alive together.
pub trait Work: Copy {
    /// Writes message `seq`.
    fn fill(self, out: &mut [u8], seq: u64);

    /// Checks that this is message `seq`.
    ///
    /// # Errors
    /// [`Fault::Corrupt`] if it is not.
    fn check(self, message: &[u8], seq: u64) -> Result<(), Fault>;

    /// The same for the other direction.
    #[must_use]
    fn reversed(self) -> Self;

    /// Which message this is, read from its stamp; `near` is the expected one (short stamps wrap around). `None` if
    /// the stamp is not of this slice and direction.
    fn sequence(self, message: &[u8], near: u64) -> Option<u64>;
}

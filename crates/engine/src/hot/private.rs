//! Touch `copy`: the private memory of an end, in which its messages begin and end.

use super::{Stamp, Work};
use ipcperf_core::{Fault, Lends};
use std::cell::Cell;
use std::hint::black_box;

/// A message is stamped and checked in here. What the port lends is another memory where that is shared: then the whole
/// message is copied into it, or out of it, by one `memcpy`.
#[derive(Clone, Copy)]
pub struct Private<'a> {
    /// A cell and no lock, since there is one thread; empty while a message is looked at.
    memory: &'a Cell<&'a mut [u8]>,
    sends: bool,
    receives: bool,
}

impl<'a> Private<'a> {
    /// Beside a port that lends such memory, with as many bytes as its longest message.
    #[must_use]
    pub fn new(memory: &'a Cell<&'a mut [u8]>, [sends, receives]: [Lends; 2]) -> Self {
        let is_shared = |lends| lends == Lends::Shared;
        Self { memory, sends: is_shared(sends), receives: is_shared(receives) }
    }

    /// Whether messages are copied in either direction.
    #[must_use]
    pub const fn copies(self) -> bool {
        self.sends || self.receives
    }

    /// Writes message `seq`. One that is too long stays unwritten, which its receiver finds.
    #[inline(always)]
    pub(super) fn fill(self, stamp: Stamp, out: &mut [u8], seq: u64) {
        if !self.sends {
            return stamp.fill(out, seq);
        }
        let memory = self.memory.take();
        if let Some(own) = memory.get_mut(..out.len()) {
            stamp.fill(own, seq);
            out.copy_from_slice(black_box(own));
        }
        self.memory.set(memory);
    }

    /// Looks at a message that was received.
    #[inline(always)]
    pub(super) fn look<T>(self, message: &[u8], look: impl FnOnce(&[u8]) -> T) -> Result<T, Fault> {
        if !self.receives {
            return Ok(look(message));
        }
        let memory = self.memory.take();
        let seen = memory.get_mut(..message.len()).map(|own| {
            own.copy_from_slice(message);
            // Otherwise all but the stamp could be left where it is.
            look(black_box(own))
        });
        self.memory.set(memory);
        seen.ok_or(Fault::Corrupt)
    }
}

impl std::fmt::Debug for Private<'_> {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { sends, receives, .. } = self;
        out.debug_struct("Private").field("sends", sends).field("receives", receives).finish()
    }
}

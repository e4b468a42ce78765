//! What a mechanism hands to the engine when a channel is open.

use crate::options::KnobValue;
use std::any::Any;
use std::fmt;
use std::os::fd::OwnedFd;

/// An open channel as the coordinator owns it: one [`Wiring`] for each seat, and the guards of whatever has a name.
///
/// A worker never holds the peer's ends, so end-of-file and close-on-exec hygiene hold by construction.
#[derive(Debug, Default)]
pub struct Link {
    /// What the lead needs to attach.
    pub lead: Wiring,
    /// What the follow needs to attach.
    pub follow: Wiring,
    /// Removed when dropped, also when a worker was killed.
    pub guards: Vec<Guard>,
    /// Knob values the kernel really granted, as read back in the coordinator.
    pub effective: Vec<(String, KnobValue)>,
}

/// What travels to one worker.
#[derive(Debug, Default)]
pub struct Wiring {
    /// Open descriptors, in the order the mechanism's `attach` expects.
    pub fds: Vec<OwnedFd>,
    /// Names and paths.
    pub names: Vec<String>,
    /// Numbers: ports, identifiers, sizes.
    pub words: Vec<u64>,
}

impl Wiring {
    /// A wiring of descriptors alone.
    #[must_use]
    pub fn of_fds(fds: impl IntoIterator<Item = OwnedFd>) -> Self {
        Self { fds: fds.into_iter().collect(), ..Self::default() }
    }

    /// The descriptors as an array, or `None` when there are not exactly `N`.
    #[must_use]
    pub fn into_fds<const N: usize>(self) -> Option<[OwnedFd; N]> {
        self.fds.try_into().ok()
    }
}

/// Owner of a kernel object that outlives processes; dropping it removes the object.
pub struct Guard(#[expect(dead_code, reason = "held for its Drop")] Box<dyn Any>);

impl Guard {
    /// Keeps `owner` until the channel is closed.
    #[must_use]
    pub fn new(owner: impl Any) -> Self {
        Self(Box::new(owner))
    }
}

impl fmt::Debug for Guard {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("Guard")
    }
}

//! The channel that a mechanism hands to the engine once it is open.

use crate::options::KnobValue;
use crate::seat::Seat;
use std::any::Any;
use std::collections::BTreeMap;
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
    /// Knob values the kernel really granted, as read back in the coordinator, by the knob's own name (`size`).
    pub effective: Vec<(String, KnobValue)>,
    /// What says more about an end that failed, where the mechanism has it.
    pub trail: Option<Box<dyn Trail>>,
}

/// What an end leaves to explain a failure, even after it was killed.
pub trait Trail: fmt::Debug {
    /// The call that it has not returned from.
    fn call(&self, seat: Seat) -> Option<&'static str>;

    /// The last of what it wrote; empty if it wrote nothing.
    fn written(&self, seat: Seat) -> String;

    /// Lets go of the channel, where that can fail; returns what was counted meanwhile, by name.
    ///
    /// # Errors
    /// What went wrong.
    fn close(&mut self) -> Result<BTreeMap<String, u64>, String>;
}

impl Link {
    /// A channel of descriptors alone: those of the lead, then those of the follow.
    #[must_use]
    pub fn of_fds(
        lead: impl IntoIterator<Item = OwnedFd>,
        follow: impl IntoIterator<Item = OwnedFd>,
    ) -> Self {
        Self { lead: Wiring::of_fds(lead), follow: Wiring::of_fds(follow), ..Self::default() }
    }

    /// With `owner` kept until the channel is closed.
    #[must_use]
    pub fn guarded(mut self, owner: impl Any) -> Self {
        self.guards.push(Guard::new(owner));
        self
    }

    /// With the value of a knob that the kernel granted.
    #[must_use]
    pub fn granted(mut self, knob: &str, value: impl Into<KnobValue>) -> Self {
        self.effective.push((knob.to_owned(), value.into()));
        self
    }
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

    /// A wiring of numbers alone.
    #[must_use]
    pub fn of_words(words: impl IntoIterator<Item = u64>) -> Self {
        Self { words: words.into_iter().collect(), ..Self::default() }
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

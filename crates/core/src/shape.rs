//! The messages that a channel must be able to carry.

use crate::missing::Missing;
use crate::namespace::Network;
use crate::pattern::PatternKind;
use crate::seat::Seat;
use serde::{Deserialize, Serialize};
use std::net::IpAddr;
use std::path::{Path, PathBuf};

/// What is asked of one channel. Who makes one takes what it does not know from the default, so that it can be told more.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Shape {
    /// Bytes of one message; 0 for wake-up mechanisms.
    pub size: usize,
    /// The pattern that will run over it.
    pub pattern: PatternKind,
    /// A number no other slice has: names are made from it, handshakes and stamps carry it.
    pub nonce: u64,
    /// Where private message buffers start inside their page (below 4096). A multiple of 64, varied from slice to slice so
    /// that one lucky alignment cannot decide a result, unless an alignment was asked for.
    pub buffer_offset: usize,
    /// The run's own directory (mode 0700) for everything that needs a path, where one can be made.
    pub directory: Option<PathBuf>,
    /// Whether the ends are in namespaces of their own: then the follow makes whatever has an address or a name itself, where
    /// it is, and tells the lead.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_apart: bool,
    /// What lies between the addresses of both ends.
    #[serde(default, skip_serializing_if = "Network::is_loopback")]
    pub network: Network,
}

impl Shape {
    /// The run's own directory.
    ///
    /// # Errors
    /// None could be made. A mechanism that needs one asks for it in its probe, which says why.
    pub fn directory(&self) -> Result<&Path, Missing> {
        let what = "no run directory (XDG_RUNTIME_DIR, TMPDIR) can be made";
        self.directory.as_deref().ok_or_else(|| Missing::new(what, "TMPDIR=DIRECTORY"))
    }

    /// The address of an end that has this one on the loopback interface.
    #[must_use]
    pub const fn address(&self, seat: Seat, loopback: IpAddr) -> IpAddr {
        self.network.address(seat.index(), loopback)
    }

    /// The same for one of several channels of a slice.
    #[must_use]
    pub fn numbered(&self, number: u64) -> Self {
        // The multiples of an odd number are different ones.
        let own = (number + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        Self { nonce: self.nonce ^ own, ..self.clone() }
    }

    /// A path for an object of this channel, which no other one has.
    ///
    /// # Errors
    /// There is no directory.
    pub fn path(&self, what: &str) -> Result<PathBuf, Missing> {
        Ok(self.directory()?.join(self.name(what)))
    }

    /// A name for a kernel object of this channel, unique on the host.
    #[must_use]
    pub fn name(&self, what: &str) -> String {
        format!("ipcperf-{:016x}-{what}", self.nonce)
    }
}

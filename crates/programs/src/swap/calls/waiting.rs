//! Calls whose answer takes a while: what waits for room or for data is tried again, and a signal interrupts it.

use super::client::ClientAddresses;
use super::place::ListenerPlace;
use super::transfer::PendingTransfer;
use crate::swap::calls::handed::PendingCall;
use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

/// A call whose answer takes a while.
#[derive(Debug)]
pub(super) enum DelayedAnswer {
    /// There is no room in the backlog.
    Connects { call: PendingCall, socket: OwnedFd, place: ListenerPlace, client: ClientAddresses },
    /// Nobody has connected.
    Accepts { call: PendingCall, listener: OwnedFd, until: Option<Instant> },
    /// There is no room for what is sent, or nothing to receive.
    Transfers(PendingTransfer),
}

impl DelayedAnswer {
    pub(super) const fn call(&self) -> &PendingCall {
        match self {
            Self::Connects { call, .. } | Self::Accepts { call, .. } => call,
            Self::Transfers(transfer) => &transfer.call,
        }
    }

    /// When the program's own limit of time is over.
    pub(super) const fn until(&self) -> Option<Instant> {
        match self {
            Self::Connects { .. } => None,
            Self::Accepts { until, .. } => *until,
            Self::Transfers(transfer) => transfer.until,
        }
    }

    /// What is readable when it is due; none where nothing announces that.
    pub(super) fn awaited(&self) -> Option<&OwnedFd> {
        match self {
            Self::Accepts { listener, .. } => Some(listener),
            Self::Transfers(transfer) if transfer.call.number == libc::SYS_recvfrom => {
                Some(&transfer.socket)
            }
            _ => None,
        }
    }
}

/// How soon a signal interrupts a call that is answered here and waits: the kernel does not say that one has come, and looking
/// takes 20 us.
pub(crate) const SIGNALS_WITHIN: Duration = Duration::from_millis(100);

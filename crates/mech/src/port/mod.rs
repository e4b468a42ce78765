//! What ports of several families share: a port beside its own mechanisms is in their folder.

pub mod batch;
pub mod incoming;
pub mod message;
pub mod outgoing;
pub(crate) mod patience;
pub(crate) mod reach;

use ipcperf_core::{Fault, SetupError, Wiring};
use ipcperf_sys::io::errno;
use std::os::fd::OwnedFd;

/// The descriptors of a wiring.
///
/// # Errors
/// There are not exactly `N`.
pub(crate) fn descriptors<const N: usize>(wiring: Wiring) -> Result<[OwnedFd; N], SetupError> {
    let given = wiring.fds.len();
    wiring
        .into_fds()
        .ok_or_else(|| SetupError::Protocol(format!("{given} descriptors arrived instead of {N}")))
}

/// Lets the peer see the end of a pipe, which comes once the last writer is gone. The read end takes the place of the
/// write end and refuses writes.
pub(crate) fn end_pipe(rx: &OwnedFd, tx: &mut OwnedFd) -> Result<(), i32> {
    let stand_in = rx.try_clone();
    *tx = stand_in.map_err(|error| error.raw_os_error().unwrap_or(0))?;
    Ok(())
}

/// What an `errno` means to a loop.
#[cold]
#[inline(never)]
pub(crate) fn fault(code: i32) -> Fault {
    match code {
        errno::EPIPE | errno::ECONNRESET | errno::ECONNREFUSED | errno::EIDRM => Fault::Closed,
        errno::ESRCH | errno::EOWNERDEAD => Fault::PeerDied,
        errno::EMSGSIZE => Fault::TooLong,
        errno::E2BIG => Fault::Truncated,
        errno::EAGAIN => Fault::Timeout,
        code => Fault::Sys(code),
    }
}

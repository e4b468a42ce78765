//! The few port types that all mechanisms share: a pipe and a TCP socket run the same machine code, and only the
//! kernel differs.

pub mod batch;
pub mod carried;
pub mod cell;
#[cfg_attr(not(feature = "dbus"), path = "dbus/absent.rs")]
pub mod dbus;
pub mod file_queue;
pub mod handover;
pub mod incoming;
pub mod message;
pub mod named;
pub mod outgoing;
pub mod packet;
pub(crate) mod patience;
pub mod queue;
mod reach;
pub mod relay;
pub mod remote;
pub mod ring;
pub mod sctp;
pub mod sem;
pub mod signal;
pub mod slotted;
pub mod stream;
pub mod taking;
pub mod uring;
pub mod wake;
pub mod word;
pub mod zerocopy;

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
fn end_pipe(rx: &OwnedFd, tx: &mut OwnedFd) -> Result<(), i32> {
    let stand_in = rx.try_clone();
    *tx = stand_in.map_err(|error| error.raw_os_error().unwrap_or(0))?;
    Ok(())
}

/// What an `errno` means to a loop.
#[cold]
#[inline(never)]
fn fault(code: i32) -> Fault {
    match code {
        errno::EPIPE | errno::ECONNRESET | errno::ECONNREFUSED | errno::EIDRM => Fault::Closed,
        errno::ESRCH | errno::EOWNERDEAD => Fault::PeerDied,
        errno::EMSGSIZE => Fault::TooLong,
        errno::E2BIG => Fault::Truncated,
        errno::EAGAIN => Fault::Timeout,
        code => Fault::Sys(code),
    }
}

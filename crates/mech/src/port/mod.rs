//! Ports that mechanisms of several families share; other ports are in the folder of their family.

pub mod batch;
pub mod incoming;
pub mod message;
pub mod outgoing;
pub(crate) mod patience;
pub(crate) mod reach;

pub use ipcperf_core::fault;
use ipcperf_core::{Fault, SetupError, Wiring};
use ipcperf_sys::io::{errno, socket};
use std::os::fd::OwnedFd;

/// The first number of a wiring: where the other end is.
///
/// # Errors
/// There is none, or it is out of range.
pub(crate) fn number<T: TryFrom<u64>>(wiring: &Wiring) -> Result<T, SetupError> {
    let number = wiring.words.first().and_then(|number| T::try_from(*number).ok());
    number.ok_or_else(|| SetupError::Protocol("no port arrived".into()))
}

/// Lets the peer see the end of a pipe, which comes once the last writer is gone. The read end takes the place of the
/// write end and refuses writes.
pub(crate) fn end_pipe(rx: &OwnedFd, tx: &mut OwnedFd) -> Result<(), i32> {
    let stand_in = rx.try_clone();
    *tx = stand_in.map_err(|error| error.raw_os_error().unwrap_or(0))?;
    Ok(())
}

/// Lets the peer see the end of a stream, whether it is a socket or a pair of pipes.
pub(crate) fn end_stream(rx: &OwnedFd, tx: &mut OwnedFd) -> Result<(), Fault> {
    match socket::shutdown_send(&*tx) {
        Err(errno::ENOTSOCK) => end_pipe(rx, tx).map_err(fault),
        other => other.map_err(fault),
    }
}

/// What a step of a transfer that is not over moved: nothing if it was interrupted.
///
/// # Errors
/// The [`Fault`] of the call.
#[inline(always)]
pub(crate) fn counted(step: Result<usize, i32>) -> Result<usize, Fault> {
    match step {
        Err(errno::EINTR) => Ok(0),
        other => other.map_err(fault),
    }
}

/// The same where to move nothing is the end, of a message of which `done` bytes were moved before.
///
/// # Errors
/// The end, or the [`Fault`] of the call.
#[inline(always)]
pub(crate) fn moved(step: Result<usize, i32>, done: usize) -> Result<usize, Fault> {
    match step {
        Ok(0) => Err(if done == 0 { Fault::Closed } else { Fault::Truncated }),
        other => counted(other),
    }
}

/// Makes a call that moves all of a message or nothing until nothing interrupts it; `first` is what it came to so far.
///
/// # Errors
/// [`Fault::Truncated`] for a message of another length than `len`, or the [`Fault`] of the call.
pub(crate) fn whole(
    len: usize,
    first: Result<usize, i32>,
    mut again: impl FnMut() -> Result<usize, i32>,
) -> Result<(), Fault> {
    let mut step = first;
    while step == Err(errno::EINTR) {
        step = again();
    }
    if step.map_err(fault)? == len { Ok(()) } else { Err(Fault::Truncated) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{self, ErrorKind};

    #[test]
    fn an_error_of_the_standard_library_means_what_its_number_means() {
        for (code, expected) in [
            (errno::EPIPE, Fault::Closed),
            (errno::ECONNRESET, Fault::Closed),
            (errno::ECONNREFUSED, Fault::Closed),
            (errno::EIDRM, Fault::Closed),
            (errno::ENOTCONN, Fault::Closed),
            (errno::ESRCH, Fault::PeerDied),
            (errno::EOWNERDEAD, Fault::PeerDied),
            (errno::EMSGSIZE, Fault::TooLong),
            (errno::E2BIG, Fault::Truncated),
            (errno::EAGAIN, Fault::Timeout),
            (errno::EINVAL, Fault::Sys(errno::EINVAL)),
        ] {
            assert_eq!(Fault::from(io::Error::from_raw_os_error(code)), expected);
            assert_eq!(fault(code), expected);
        }
        assert_eq!(Fault::from(io::Error::from(ErrorKind::UnexpectedEof)), Fault::Closed);
        assert_eq!(Fault::from(io::Error::from(ErrorKind::InvalidData)), Fault::Corrupt);
    }
}

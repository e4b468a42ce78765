//! What a program writes.

use super::Error;
use ipcperf_sys::io::pipe::{self, splice};
use ipcperf_sys::io::{errno, stream};
use ipcperf_sys::program::waiting_bytes;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

/// Bytes of what a program writes that are kept: for a reason, a version, a table of figures.
const KEPT: usize = 2048;

/// The end of a pipe that programs write to: all of it is counted, and the first of it kept.
#[derive(Debug)]
pub struct Outlet {
    fd: OwnedFd,
    kept: Vec<u8>,
    bytes: u64,
    is_closed: bool,
    /// Where the rest goes, once there is any.
    null: Option<OwnedFd>,
}

impl Outlet {
    /// Makes the pipe; the other end is for the writer.
    ///
    /// # Errors
    /// The kernel's.
    pub fn open() -> Result<(Self, OwnedFd), Error> {
        let failed = |error: ipcperf_core::SetupError| Error::Failed(error.to_string());
        let pair = pipe::pair().map_err(failed)?;
        pipe::set_nonblocking(&pair.read).map_err(failed)?;
        let (kept, bytes, is_closed, null) = (Vec::new(), 0, false, None);
        Ok((Self { fd: pair.read, kept, bytes, is_closed, null }, pair.write))
    }

    /// Readable when there is something to take; none if the writers have closed it.
    #[must_use]
    pub fn awaited(&self) -> Option<BorrowedFd<'_>> {
        (!self.is_closed).then(|| self.fd.as_fd())
    }

    /// How many bytes were taken.
    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Takes some of what is there; false if nothing is.
    pub(super) fn take(&mut self) -> Result<bool, Error> {
        let mut buffer = [0; KEPT];
        match stream::read(self.fd.as_fd(), &mut buffer) {
            Ok(taken) => {
                self.bytes += taken as u64;
                self.is_closed = taken == 0;
                let room = KEPT - self.kept.len();
                self.kept.extend(buffer.iter().take(taken.min(room)));
            }
            Err(errno::EAGAIN) => return Ok(false),
            Err(errno::EINTR) => return Ok(true),
            Err(code) => return Err(io::Error::from_raw_os_error(code).into()),
        }
        // The rest goes without a way through this process, so that it slows no program down.
        let waiting = waiting_bytes(&self.fd)?;
        if waiting > 0 && self.kept.len() == KEPT {
            let len = usize::try_from(waiting).unwrap_or(usize::MAX);
            let null = match self.null.take() {
                Some(null) => null,
                None => splice::null().map_err(|error| Error::Failed(error.to_string()))?,
            };
            let moved = splice::splice(self.fd.as_fd(), self.null.insert(null).as_fd(), len);
            self.bytes += moved.map_err(io::Error::from_raw_os_error)? as u64;
        }
        Ok(!self.is_closed)
    }

    /// Takes all that is there. A process that was left behind may hold the other end open for ever.
    ///
    /// # Errors
    /// The kernel's.
    pub fn take_all(&mut self) -> Result<(), Error> {
        while !self.is_closed && self.take()? {}
        Ok(())
    }

    /// The first of what was taken.
    #[must_use]
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.kept).into_owned()
    }
}

//! Messages in files that get their name when they are complete, in a directory that the receiver watches.

use crate::by_reference::handover_port::{read_rest, write_rest};
use crate::port::fault;
use ipcperf_core::{Fault, Port, SetupError, Shape};
use ipcperf_sys::io::file::store;
use ipcperf_sys::io::file::watch::{self, Arrival};
use ipcperf_sys::io::{Buffer, errno, stream};
use std::ffi::{CStr, CString};
use std::os::fd::{AsFd, OwnedFd};

/// One end: a directory to watch, and names to send under.
pub struct NamedPort {
    watcher: OwnedFd,
    /// Path of the watched directory with a slash at its end, and room for a name.
    path: Vec<u8>,
    prefix: usize,
    /// Where a file lies until it is complete.
    staged: CString,
    /// The names it gets, in turn.
    names: Vec<CString>,
    next: usize,
    out: Buffer,
    into: Buffer,
}

impl NamedPort {
    /// Watches with `watcher` the directory `watched`, and sends by giving the file `staged` one of `names` after the
    /// other; there are more of them than messages may be under way.
    ///
    /// # Errors
    /// There is no memory.
    pub fn new(
        watcher: OwnedFd,
        watched: &CStr,
        staged: CString,
        names: Vec<CString>,
        shape: &Shape,
    ) -> Result<Self, SetupError> {
        let mut path = watched.to_bytes().to_vec();
        path.push(b'/');
        let prefix = path.len();
        path.resize(prefix + watch::NAME, 0);
        let out = Buffer::new(shape.size, shape.buffer_offset)?;
        // One byte more than wanted tells a longer file.
        let into = Buffer::new(shape.size.saturating_add(1), shape.buffer_offset)?;
        Ok(Self { watcher, path, prefix, staged, names, next: 0, out, into })
    }

    /// Waits for a file and makes its path.
    #[inline(always)]
    fn arrival(&mut self) -> Result<(), Fault> {
        let mut arrival = Arrival::default();
        let step = watch::next(self.watcher.as_fd(), &mut arrival);
        if step != Ok(size_of::<Arrival>()) {
            self.arrival_again(&mut arrival, step)?;
        }
        let name = arrival.name().ok_or(Fault::Corrupt)?.to_bytes_with_nul();
        let room = self.path.get_mut(self.prefix..).and_then(|room| room.get_mut(..name.len()));
        room.ok_or(Fault::Corrupt)?.copy_from_slice(name);
        Ok(())
    }

    #[cold]
    #[inline(never)]
    fn arrival_again(&self, arrival: &mut Arrival, first: Result<usize, i32>) -> Result<(), Fault> {
        let mut step = first;
        loop {
            match step {
                Ok(bytes) if bytes == size_of::<Arrival>() => return Ok(()),
                // An overflow, or the end of the watch, has no name: messages are lost.
                Ok(_) => return Err(Fault::Corrupt),
                Err(errno::EINTR) => {}
                Err(code) => return Err(fault(code)),
            }
            step = watch::next(self.watcher.as_fd(), arrival);
        }
    }
}

impl Port for NamedPort {
    #[inline(always)]
    fn send(&mut self, len: usize, fill: impl FnOnce(&mut [u8])) -> Result<(), Fault> {
        let message = self.out.get_mut(len).ok_or(Fault::TooLong)?;
        fill(message);
        let file = store::create(&self.staged).map_err(fault)?;
        let step = stream::write(file.fd(), message);
        if step != Ok(len) {
            write_rest(file.fd(), message, step)?;
        }
        drop(file);
        let name = self.names.get(self.next).ok_or(Fault::TooLong)?;
        store::rename(&self.staged, name).map_err(fault)?;
        self.next = if self.next + 1 < self.names.len() { self.next + 1 } else { 0 };
        Ok(())
    }

    #[inline(always)]
    fn recv<T>(
        &mut self,
        len: usize,
        take: impl FnOnce(&[u8]) -> Result<T, Fault>,
    ) -> Result<T, Fault> {
        self.arrival()?;
        let path = CStr::from_bytes_until_nul(&self.path).map_err(|_| Fault::Corrupt)?;
        let file = store::open_existing(path).map_err(fault)?;
        let into = self.into.get_mut(len.saturating_add(1)).ok_or(Fault::TooLong)?;
        let step = stream::read(file.fd(), into);
        if step != Ok(len) {
            read_rest(file.fd(), into, len, step)?;
        }
        store::unlink(path).map_err(fault)?;
        drop(file);
        take(into.get(..len).ok_or(Fault::TooLong)?)
    }

    fn finish(&mut self) -> Result<(), Fault> {
        // A directory has no end that could be closed.
        Ok(())
    }
}

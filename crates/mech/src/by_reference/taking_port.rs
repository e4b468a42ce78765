//! Messages in files that the receiver takes out of the sender, with turns in shared memory.

use crate::port::fault;
use crate::port::reach::{Lending, introduce, sweep};
use ipcperf_core::{Fault, Meet, Port, SetupError, Shape};
use ipcperf_sys::io::file::fresh::{self, Access, Handle, Mapping};
use ipcperf_sys::io::memory::turns::Turns;
use ipcperf_sys::io::{errno, peer};
use std::os::fd::{AsFd, OwnedFd};

/// Files that their maker keeps mapped.
type Files = Vec<(Handle, Mapping)>;

/// One end: files for the peer to take, and the peer, out of which its files are taken one by one.
pub struct TakingPort {
    reached: Lending<Files>,
    process: OwnedFd,
    /// What the peer calls its files.
    numbers: Vec<u32>,
    largest: usize,
}

impl TakingPort {
    /// Makes `count` files for messages of `shape`, meets the peer and tries to take its first file.
    ///
    /// # Errors
    /// `Unavailable` where the kernel does not allow it; otherwise what went wrong.
    pub fn new(
        turns: Turns,
        count: usize,
        shape: &Shape,
        meet: &mut dyn Meet,
    ) -> Result<Self, SetupError> {
        sweep();
        let make = |_| {
            let file = fresh::memfd(shape.size)?;
            let mut mapping = Mapping::new(file.fd(), shape.size, Access::Write)?;
            // Resident before the first use.
            mapping.bytes_mut().into_iter().for_each(|bytes| bytes.fill(0));
            Ok((file, mapping))
        };
        let files: Result<Files, i32> = (0..count).map(make).collect();
        let files = files.map_err(|code| SetupError::sys("memfd_create or mmap", code))?;
        let own = files.iter().map(|(file, _)| u64::from(file.number())).collect();
        let (pid, told) = introduce(meet, own)?;
        let numbers: Vec<u32> = told.into_iter().filter_map(|word| word.try_into().ok()).collect();
        let process = peer::open(pid)?;
        let first = numbers.first().copied().unwrap_or(u32::MAX);
        let tried = peer::take(process.as_fd(), first).map(drop);
        tried.map_err(|code| match code {
            // It is another process that has this number here, not another kernel.
            errno::EBADF => SetupError::sys("pidfd_getfd", code),
            code => peer::refused("pidfd_getfd", code).into(),
        })?;
        let reached = Lending::new(turns, files);
        Ok(Self { reached, process, numbers, largest: shape.size })
    }
}

impl Port for TakingPort {
    #[inline(always)]
    fn send(&mut self, len: usize, fill: impl FnOnce(&mut [u8])) -> Result<(), Fault> {
        if len > self.largest {
            return Err(Fault::TooLong);
        }
        let reached = self.reached.get()?;
        let slot = reached.turns.free_slot()?;
        let (_, mapping) = reached.object.get_mut(slot).ok_or(Fault::Corrupt)?;
        let message = mapping.bytes_mut().and_then(|all| all.get_mut(..len));
        fill(message.ok_or(Fault::TooLong)?);
        reached.turns.announce(len);
        Ok(())
    }

    #[inline(always)]
    fn recv<T>(
        &mut self,
        len: usize,
        take: impl FnOnce(&[u8]) -> Result<T, Fault>,
    ) -> Result<T, Fault> {
        let (slot, sent) = self.reached.get()?.turns.next_slot()?;
        if sent != len {
            self.reached.get()?.turns.release();
            return Err(Fault::Truncated);
        }
        let number = self.numbers.get(slot).copied().ok_or(Fault::Corrupt)?;
        let file = peer::take(self.process.as_fd(), number).map_err(fault)?;
        let mapping = Mapping::new(file.fd(), len, Access::Read).map_err(fault)?;
        let taken = take(mapping.bytes());
        drop(mapping);
        self.reached.get()?.turns.release();
        taken
    }

    fn finish(&mut self) -> Result<(), Fault> {
        self.reached.get()?.turns.end();
        Ok(())
    }
}

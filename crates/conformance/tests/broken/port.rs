//! One end of a toy.

use super::{Broken, Bug, LIMIT, unread};
use ipcperf_core::{Fault, Port};
use std::fs::File;
use std::io::{ErrorKind, Read, Write};
use std::marker::PhantomData;
use std::net::Shutdown;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::time::Duration;

fn fault(error: &std::io::Error) -> Fault {
    match error.kind() {
        ErrorKind::UnexpectedEof | ErrorKind::BrokenPipe | ErrorKind::ConnectionReset => {
            Fault::Closed
        }
        ErrorKind::WouldBlock => Fault::Timeout,
        _ => Fault::Sys(error.raw_os_error().unwrap_or(0)),
    }
}

/// One end.
pub(crate) struct ToyPort<B: Broken> {
    pub(super) rx: File,
    /// Until it finishes.
    pub(super) tx: Option<File>,
    /// The peer's end, held open.
    pub(super) kept: Option<OwnedFd>,
    pub(super) buffer: Vec<u8>,
    /// What is read before anything that arrives.
    pub(super) early: Vec<u8>,
    /// Memory that has never been used.
    pub(super) fresh: Vec<u8>,
    /// A message that waits to be overtaken.
    pub(super) held: Option<Vec<u8>>,
    pub(super) sent: u64,
    pub(super) bug: PhantomData<B>,
}

/// The message that meets the bug.
const UNLUCKY: u64 = 1000;
/// Messages before an end gets impatient, and how long it then waits.
const PATIENT: (u64, Duration) = (100, Duration::from_millis(40));
/// More pages than any case sends messages from one end, of those that count page faults.
pub(super) const FRESH: usize = 16_384 * PAGE;
const PAGE: usize = 4096;

impl<B: Broken> ToyPort<B> {
    fn put(&mut self, message: &[u8]) -> Result<(), Fault> {
        let mut out = Vec::with_capacity(message.len() + 4);
        if !matches!(B::BUG, Bug::MergesMessages | Bug::IgnoresShortWrites) {
            out.extend((message.len() as u32).to_le_bytes());
        }
        out.extend(message);
        let mut tx = self.tx.as_ref().ok_or(Fault::Closed)?;
        if B::BUG == Bug::IgnoresShortWrites {
            return tx.write(&out).map(drop).map_err(|error| fault(&error));
        }
        match tx.write_all(&out) {
            Err(_) if B::BUG == Bug::DiesWithItsPeer => std::process::abort(),
            Err(error) if B::BUG == Bug::PanicsOnErrors => panic!("{error}"),
            done => done.map_err(|error| fault(&error)),
        }
    }

    fn get(&mut self, len: usize) -> Result<(), Fault> {
        let into = &mut self.buffer[..len];
        let early = self.early.len().min(len);
        for (to, from) in into.iter_mut().zip(self.early.drain(..early)) {
            *to = from;
        }
        if B::BUG != Bug::FailsWhenInterrupted {
            return self.rx.read_exact(&mut into[early..]).map_err(|error| fault(&error));
        }
        let mut done = 0;
        while done < len {
            match self.rx.read(&mut into[done..]).map_err(|error| fault(&error))? {
                0 => return Err(Fault::Closed),
                bytes => done += bytes,
            }
        }
        Ok(())
    }
}

impl<B: Broken> Drop for ToyPort<B> {
    fn drop(&mut self) {
        if B::BUG == Bug::KeepsWhatWasUnread {
            let rx = OwnedFd::from(self.rx.try_clone().expect("there are descriptors"));
            let socket = UnixStream::from(rx);
            socket.set_nonblocking(true).expect("it is a socket");
            // It ends with WouldBlock where the peer has not closed.
            let _ = self.rx.read_to_end(&mut unread());
        }
        if B::BUG == Bug::TakesItsMessagesAlong
            && let Some(kept) = self.kept.take()
        {
            let mut peers = UnixStream::from(kept);
            peers.set_nonblocking(true).expect("it is a socket");
            let _ = peers.read_to_end(&mut Vec::new());
            peers.set_nonblocking(false).expect("it is a socket");
        }
    }
}

impl<B: Broken> Port for ToyPort<B> {
    fn send(&mut self, len: usize, fill: impl FnOnce(&mut [u8])) -> Result<(), Fault> {
        if len > LIMIT.min(self.buffer.len()) {
            if B::BUG != Bug::TakesTooMuch {
                return Err(Fault::TooLong);
            }
            self.buffer.resize(len, 0);
        }
        let mut message = vec![0; len];
        fill(&mut message);
        self.sent += 1;
        let is_unlucky = self.sent == UNLUCKY;
        match B::BUG {
            Bug::LosesAMessage if is_unlucky => return Ok(()),
            Bug::CallsTwice => drop(self.rx.metadata()),
            Bug::TouchesFreshMemory => self.fresh[self.sent as usize * PAGE % FRESH] = 1,
            Bug::GivesUpOnASlowPeer if self.sent == PATIENT.0 => {
                let rx = self.rx.try_clone().map_err(|error| fault(&error))?;
                let socket = UnixStream::from(OwnedFd::from(rx));
                socket.set_read_timeout(Some(PATIENT.1)).map_err(|error| fault(&error))?;
            }
            Bug::DoublesAMessage if is_unlucky => self.put(&message)?,
            Bug::SwapsTwoMessages | Bug::MissesAWakeUp if is_unlucky => {
                self.held = Some(message);
                return Ok(());
            }
            Bug::CutsLongMessages => message.truncate(2000),
            _ => {}
        }
        if B::BUG == Bug::MissesAWakeUp
            && let Some(late) = self.held.take()
        {
            self.put(&late)?;
        }
        self.put(&message)?;
        match self.held.take() {
            Some(overtaken) => self.put(&overtaken),
            None => Ok(()),
        }
    }

    fn recv<T>(
        &mut self,
        len: usize,
        take: impl FnOnce(&[u8]) -> Result<T, Fault>,
    ) -> Result<T, Fault> {
        let arrived = match B::BUG {
            Bug::MergesMessages | Bug::IgnoresShortWrites => len,
            _ => {
                self.get(4)?;
                let length = [0, 1, 2, 3].map(|index| self.buffer[index]);
                u32::from_le_bytes(length) as usize
            }
        };
        self.buffer.resize(self.buffer.len().max(arrived).max(len), 0);
        self.get(arrived)?;
        if arrived != len && B::BUG != Bug::CutsLongMessages {
            return Err(Fault::Truncated);
        }
        take(&self.buffer[..len])
    }

    fn finish(&mut self) -> Result<(), Fault> {
        if B::BUG == Bug::NeverTellsTheEnd {
            return Ok(());
        }
        let tx = self.tx.take();
        if let (Some(tx), true) = (tx, B::BUG != Bug::SharesItsNames) {
            let socket = UnixStream::from(OwnedFd::from(tx));
            socket.shutdown(Shutdown::Write).map_err(|error| fault(&error))?;
        }
        Ok(())
    }
}

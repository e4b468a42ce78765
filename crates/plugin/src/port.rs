//! The port over an end of a plug-in.

use crate::calls::{CallOutcome, TransportEnd};
use crate::declared::kept;
use ipcperf_core::text::clean;
use ipcperf_core::{Fault, Part, Port, SetupError, Shape};
use ipcperf_sys::io::Buffer;
use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

/// Stands behind the memory that a plug-in receives into, and is there afterwards.
const FENCE: [u8; 8] = [0xa7, 0x1c, 0x5e, 0xd3, 0x38, 0x9b, 0x64, 0xf1];

/// What a plug-in is counted for: it asked to be called again.
const AGAIN: &str = "back-pressure";

/// One end.
pub(crate) struct PluginPort<const LOSSY: bool> {
    end: TransportEnd,
    buffer: Buffer,
    /// Messages are sent from a copy that is gone when the call returns; the next copy is made before.
    fleeting: Option<(usize, Buffer)>,
    again: u64,
}

impl<const LOSSY: bool> PluginPort<LOSSY> {
    pub(crate) fn new(
        end: TransportEnd,
        shape: &Shape,
        is_fleeting: bool,
    ) -> Result<Self, SetupError> {
        let buffer = Buffer::new(shape.size + FENCE.len(), shape.buffer_offset)?;
        let offset = shape.buffer_offset;
        let copy = is_fleeting.then(|| Buffer::new(shape.size, offset)).transpose()?;
        Ok(Self { end, buffer, fleeting: copy.map(|copy| (offset, copy)), again: 0 })
    }

    #[cold]
    fn again(&mut self, is_recv: bool) {
        self.again += 1;
        self.end.wait(is_recv);
    }

    /// The same message until it is handed over.
    #[inline(always)]
    fn send_buffer(&mut self, len: usize, fill: impl FnOnce(&mut [u8])) -> Result<(), Fault> {
        fill(self.buffer.get_mut(len).ok_or(Fault::TooLong)?);
        if self.fleeting.is_some() {
            return self.send_fleeting(len);
        }
        loop {
            let message = self.buffer.get_mut(len).ok_or(Fault::TooLong)?;
            match self.end.send(message) {
                CallOutcome::Done => return Ok(()),
                CallOutcome::Again => self.again(false),
                CallOutcome::Failed(fault) => return Err(fault),
            }
        }
    }

    /// Sends a copy in memory that is unmapped as soon as it is sent. The next copy is mapped before that, so that the address
    /// leads nowhere while the next message is sent: a plug-in that still looks there fails.
    #[cold]
    fn send_fleeting(&mut self, len: usize) -> Result<(), Fault> {
        let no_memory = Fault::Sys(libc::ENOMEM);
        let (offset, mut copy) = self.fleeting.take().ok_or(no_memory)?;
        if let (Some(to), Some(from)) = (copy.get_mut(len), self.buffer.get_mut(len)) {
            to.copy_from_slice(from);
        }
        let sent = loop {
            let message = copy.get_mut(len).ok_or(Fault::TooLong)?;
            match self.end.send(message) {
                CallOutcome::Done => break Ok(()),
                CallOutcome::Again => self.again(false),
                CallOutcome::Failed(fault) => break Err(fault),
            }
        };
        let next = Buffer::new(copy.all_mut().len(), offset).map_err(|_| no_memory)?;
        self.fleeting = Some((offset, next));
        sent
    }
}

/// What is known of a message by its length.
#[inline(always)]
fn of_length(received: usize, len: usize) -> Result<(), Fault> {
    match received.cmp(&len) {
        std::cmp::Ordering::Equal => Ok(()),
        std::cmp::Ordering::Less => Err(Fault::Truncated),
        std::cmp::Ordering::Greater => Err(Fault::Overrun),
    }
}

impl<const LOSSY: bool> Port for PluginPort<LOSSY> {
    const LOSSY: bool = LOSSY;

    #[inline(always)]
    fn send(&mut self, len: usize, fill: impl FnOnce(&mut [u8])) -> Result<(), Fault> {
        if !self.end.reserves() {
            return self.send_buffer(len, fill);
        }
        loop {
            match self.end.reserve(len) {
                (CallOutcome::Done, Some(memory)) => {
                    fill(memory);
                    break;
                }
                // There is less than was asked for.
                (CallOutcome::Done, None) => {
                    self.end.abort();
                    return self.send_buffer(len, fill);
                }
                (CallOutcome::Again, _) => self.again(false),
                (CallOutcome::Failed(fault), _) => return Err(fault),
            }
        }
        loop {
            match self.end.commit(len) {
                CallOutcome::Done => return Ok(()),
                CallOutcome::Again => self.again(false),
                CallOutcome::Failed(fault) => return Err(fault),
            }
        }
    }

    #[inline(always)]
    fn recv<T>(
        &mut self,
        len: usize,
        take: impl FnOnce(&[u8]) -> Result<T, Fault>,
    ) -> Result<T, Fault> {
        if self.end.peeks() {
            loop {
                match self.end.peek(len) {
                    (CallOutcome::Done, at, received) => {
                        let taken = of_length(received, len)
                            .and_then(|()| take(self.end.peeked(at, len).ok_or(Fault::Corrupt)?));
                        self.end.release();
                        return taken;
                    }
                    (CallOutcome::Again, ..) => self.again(true),
                    (CallOutcome::Failed(fault), ..) => return Err(fault),
                }
            }
        }
        loop {
            let memory = self.buffer.get_mut(len + FENCE.len()).ok_or(Fault::TooLong)?;
            memory[len..].copy_from_slice(&FENCE);
            let (answer, received) = self.end.recv(memory, len);
            if memory[len..] != FENCE {
                return Err(Fault::Overrun);
            }
            match answer {
                CallOutcome::Done => {
                    of_length(received, len)?;
                    return take(&memory[..len]);
                }
                CallOutcome::Again => self.again(true),
                CallOutcome::Failed(fault) => return Err(fault),
            }
        }
    }

    fn flush(&mut self) -> Result<(), Fault> {
        loop {
            match self.end.flush() {
                CallOutcome::Done => return Ok(()),
                CallOutcome::Again => self.again(false),
                CallOutcome::Failed(fault) => return Err(fault),
            }
        }
    }

    fn expect(&mut self, part: Part) {
        self.end.expect(match part {
            Part::All => usize::MAX,
            Part::Stamp => Part::STAMP,
        });
    }

    fn events(&self, report: &mut dyn FnMut(&'static str, u64)) {
        for (name, count) in self.end.events() {
            report(event_name(name), count);
        }
        if self.again > 0 {
            report(AGAIN, self.again);
        }
    }

    fn finish(&mut self) -> Result<(), Fault> {
        loop {
            match self.end.finish() {
                CallOutcome::Done => return Ok(()),
                CallOutcome::Again => self.again(false),
                CallOutcome::Failed(fault) => return Err(fault),
            }
        }
    }
}

/// A name of an event, which lives as long as the process: each is kept once.
fn event_name(name: String) -> &'static str {
    static NAMES: Mutex<BTreeMap<String, &'static str>> = Mutex::new(BTreeMap::new());
    let mut names = NAMES.lock().unwrap_or_else(PoisonError::into_inner);
    names
        .entry(name)
        .or_insert_with_key(|name| kept(&clean(name, true).chars().take(64).collect::<String>()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_length_that_is_not_the_expected_one_has_its_own_fault() {
        assert_eq!(of_length(8, 8), Ok(()));
        assert_eq!(of_length(7, 8), Err(Fault::Truncated));
        assert_eq!(of_length(9, 8), Err(Fault::Overrun));
    }

    #[test]
    fn the_name_of_an_event_is_kept_once() {
        let [one, other] = [(); 2].map(|()| event_name("torn reads".into()));
        assert!(std::ptr::eq(one, other));
    }
}

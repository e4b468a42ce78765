//! Two rings in shared memory, one for each direction. The sender writes into the slot; the receiver copies out of
//! it, or reads in place.

use ipcperf_core::{Fault, Port, SetupError, Shape};
use ipcperf_sys::io::Buffer;
use ipcperf_sys::io::ring::{Ends, Strategy};

/// One end. `COPIES`: a message is copied into a private buffer and its slot goes back before anybody looks at it, as
/// in a receive into the caller's memory; otherwise it is read where it lies, and the slot goes back afterwards.
pub struct RingPort<S: Strategy, const COPIES: bool> {
    ends: Ends<S>,
    buffer: Buffer,
}

impl<S: Strategy, const COPIES: bool> RingPort<S, COPIES> {
    /// One end of a channel for `shape`.
    ///
    /// # Errors
    /// There is no memory.
    pub fn new(ends: Ends<S>, shape: &Shape) -> Result<Self, SetupError> {
        let bytes = if COPIES { shape.size } else { 0 };
        Ok(Self { ends, buffer: Buffer::new(bytes, shape.buffer_offset)? })
    }
}

impl<S: Strategy, const COPIES: bool> Port for RingPort<S, COPIES> {
    #[inline(always)]
    fn send(&mut self, len: usize, fill: impl FnOnce(&mut [u8])) -> Result<(), Fault> {
        self.ends.send(len, fill)
    }

    #[inline(always)]
    fn recv<T>(
        &mut self,
        len: usize,
        take: impl FnOnce(&[u8]) -> Result<T, Fault>,
    ) -> Result<T, Fault> {
        if !COPIES {
            return self.ends.receive(|message| {
                if message.len() == len { take(message) } else { Err(Fault::Truncated) }
            })?;
        }
        let own = self.buffer.get_mut(len).ok_or(Fault::TooLong)?;
        self.ends.receive(|message| {
            if message.len() != own.len() {
                return Err(Fault::Truncated);
            }
            own.copy_from_slice(message);
            Ok(())
        })??;
        take(own)
    }

    fn events(&self, report: &mut dyn FnMut(&'static str, u64)) {
        if let Some([sleeps, wakes]) = self.ends.counts() {
            report("sleeps", sleeps);
            report("wake-ups", wakes);
        }
    }

    fn finish(&mut self) -> Result<(), Fault> {
        self.ends.close();
        Ok(())
    }
}

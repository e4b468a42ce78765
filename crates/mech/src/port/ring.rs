//! Two rings in shared memory, one for each direction. The slices lent are the slots themselves.

use ipcperf_core::{Fault, Port, SetupError};
use ipcperf_sys::io::ring::{Receiver, Sender, Strategy};
use std::os::fd::OwnedFd;

/// One end.
pub struct RingPort<S: Strategy> {
    rx: Receiver<S>,
    tx: Sender<S>,
}

impl<S: Strategy> RingPort<S> {
    /// Claims the receiving end of one ring and the sending end of another.
    ///
    /// # Errors
    /// A descriptor is no ring, or its end is taken.
    pub fn new(rx: OwnedFd, tx: OwnedFd) -> Result<Self, SetupError> {
        Ok(Self { rx: Receiver::attach(rx)?, tx: Sender::attach(tx)? })
    }
}

impl<S: Strategy> Port for RingPort<S> {
    #[inline(always)]
    fn send(&mut self, len: usize, fill: impl FnOnce(&mut [u8])) -> Result<(), Fault> {
        self.tx.send(len, fill)
    }

    #[inline(always)]
    fn recv<T>(
        &mut self,
        len: usize,
        take: impl FnOnce(&[u8]) -> Result<T, Fault>,
    ) -> Result<T, Fault> {
        self.rx.receive(
            |message| {
                if message.len() == len { take(message) } else { Err(Fault::Truncated) }
            },
        )?
    }

    fn finish(&mut self) -> Result<(), Fault> {
        self.tx.close();
        Ok(())
    }
}

//! Latest-value cells in shared memory, one for each direction. Neither end ever waits for the other to go on.

use crate::port::patience::Patience;
use ipcperf_core::{Fault, Port, SetupError, Shape};
use ipcperf_sys::io::Buffer;
use ipcperf_sys::io::memory::seqlock::{Cells, Look};
use std::hint::spin_loop;

/// One end. Values pass through private buffers: the memory between is written while it is read.
pub struct CellPort {
    cells: Cells,
    outgoing: Buffer,
    incoming: Buffer,
    torn: u64,
    overtaken: u64,
}

impl CellPort {
    /// One end of a channel for `shape`.
    ///
    /// # Errors
    /// There is no memory.
    pub fn new(cells: Cells, shape: &Shape) -> Result<Self, SetupError> {
        let buffer = || Buffer::new(shape.size, shape.buffer_offset);
        Ok(Self { cells, outgoing: buffer()?, incoming: buffer()?, torn: 0, overtaken: 0 })
    }
}

impl Port for CellPort {
    const LOSSY: bool = true;

    #[inline(always)]
    fn send(&mut self, len: usize, fill: impl FnOnce(&mut [u8])) -> Result<(), Fault> {
        let value = self.outgoing.get_mut(len).ok_or(Fault::TooLong)?;
        fill(value);
        self.cells.write(value);
        Ok(())
    }

    #[inline(always)]
    fn recv<T>(
        &mut self,
        len: usize,
        take: impl FnOnce(&[u8]) -> Result<T, Fault>,
    ) -> Result<T, Fault> {
        let value = self.incoming.get_mut(len).ok_or(Fault::TooLong)?;
        let mut patience = Patience::default();
        loop {
            match self.cells.look(value) {
                Look::Fresh { len: sent, overtaken } => {
                    self.overtaken = self.overtaken.wrapping_add(overtaken);
                    return if sent == len { take(value) } else { Err(Fault::Truncated) };
                }
                Look::Torn => self.torn = self.torn.wrapping_add(1),
                Look::Nothing => {}
                Look::Closed => return Err(Fault::Closed),
            }
            if patience.is_over() {
                return Err(Fault::Timeout);
            }
            spin_loop();
        }
    }

    fn events(&self, report: &mut dyn FnMut(&'static str, u64)) {
        report("torn reads", self.torn);
        report("values overtaken", self.overtaken);
    }

    fn finish(&mut self) -> Result<(), Fault> {
        self.cells.close();
        Ok(())
    }
}

//! One buffer for each direction, guarded by two semaphores.

use ipcperf_core::{Fault, Port, SetupError, Shape};
use ipcperf_sys::io::Buffer;
use ipcperf_sys::io::memory::shm_sem::Ends;

/// One end. The sender writes into the shared buffer, the receiver copies out of it.
pub struct SemPort {
    ends: Ends,
    buffer: Buffer,
}

impl SemPort {
    /// One end of a channel for `shape`.
    ///
    /// # Errors
    /// There is no memory.
    pub fn new(ends: Ends, shape: &Shape) -> Result<Self, SetupError> {
        Ok(Self { ends, buffer: Buffer::new(shape.size, shape.buffer_offset)? })
    }
}

impl Port for SemPort {
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
        let own = self.buffer.get_mut(len).ok_or(Fault::TooLong)?;
        self.ends.receive(own)?;
        take(own)
    }

    fn finish(&mut self) -> Result<(), Fault> {
        self.ends.close()
    }
}

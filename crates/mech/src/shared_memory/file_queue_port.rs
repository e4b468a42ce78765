//! Two queues in mapped files, one for each direction, whose every access is under a lock.

use ipcperf_core::{Fault, Port, SetupError, Shape};
use ipcperf_sys::io::Buffer;
use ipcperf_sys::io::file::file_lock::Lock;
use ipcperf_sys::io::file::file_queue::Queue;

/// One end. `AMORTISED`: one lock serves all messages that are there, and several that are sent; otherwise each
/// message has its own.
pub struct FileQueuePort<L, const AMORTISED: bool> {
    rx: Queue<L>,
    tx: Queue<L>,
    buffer: Buffer,
}

impl<L: Lock, const AMORTISED: bool> FileQueuePort<L, AMORTISED> {
    /// One end of a channel for `shape`.
    ///
    /// # Errors
    /// There is no memory.
    pub fn new(rx: Queue<L>, tx: Queue<L>, shape: &Shape) -> Result<Self, SetupError> {
        Ok(Self { rx, tx, buffer: Buffer::new(shape.size, shape.buffer_offset)? })
    }
}

impl<L: Lock, const AMORTISED: bool> Port for FileQueuePort<L, AMORTISED> {
    #[inline(always)]
    fn send(&mut self, len: usize, fill: impl FnOnce(&mut [u8])) -> Result<(), Fault> {
        if AMORTISED { self.tx.send_amortised(len, fill) } else { self.tx.send(len, fill) }
    }

    #[inline(always)]
    fn recv<T>(
        &mut self,
        len: usize,
        take: impl FnOnce(&[u8]) -> Result<T, Fault>,
    ) -> Result<T, Fault> {
        let own = self.buffer.get_mut(len).ok_or(Fault::TooLong)?;
        if AMORTISED {
            self.tx.flush()?;
            self.rx.receive_amortised(own)?;
        } else {
            self.rx.receive(own)?;
        }
        take(own)
    }

    #[inline(always)]
    fn flush(&mut self) -> Result<(), Fault> {
        if AMORTISED { self.tx.flush() } else { Ok(()) }
    }

    fn finish(&mut self) -> Result<(), Fault> {
        self.tx.close()
    }
}

//! System V message queues, one for each direction. They are no descriptors.

use crate::port::fault;
use crate::wait::Wait;
use ipcperf_core::{Fault, Port, SetupError, Shape, Wait as Class};
use ipcperf_sys::io::errno;
use ipcperf_sys::io::queue::sysv;
use std::marker::PhantomData;

/// One end.
pub struct SysvPort<W> {
    rx: sysv::Id,
    tx: sysv::Id,
    message: sysv::Message,
    _wait: PhantomData<W>,
}

impl<W: Wait<Gate = ()>> SysvPort<W> {
    /// Whether calls return instead of sleeping; a queue has no descriptor that could hold this as a flag.
    const NOWAIT: bool = matches!(W::CLASS, Class::Spin);

    /// One queue for each direction.
    ///
    /// # Errors
    /// There is no memory.
    pub fn new(rx: sysv::Id, tx: sysv::Id, shape: &Shape) -> Result<Self, SetupError> {
        let message = sysv::Message::new(shape.size, shape.buffer_offset)?;
        Ok(Self { rx, tx, message, _wait: PhantomData })
    }

    #[inline(always)]
    fn send_one(&mut self, len: usize) -> Result<usize, i32> {
        W::send(&(), || self.message.send(self.tx, len, Self::NOWAIT))
    }

    #[inline(always)]
    fn receive_one(&mut self, len: usize) -> Result<usize, i32> {
        W::receive(&(), || self.message.receive(self.rx, len, Self::NOWAIT))
    }

    #[cold]
    #[inline(never)]
    fn send_again(&mut self, len: usize, mut code: i32) -> Result<(), Fault> {
        while code == errno::EINTR {
            match self.send_one(len) {
                Ok(_) => return Ok(()),
                Err(again) => code = again,
            }
        }
        // msgsnd says EINVAL both for a length above kernel.msgmax and for a queue that is gone for good.
        if code == errno::EINVAL && sysv::exists(self.tx) {
            return Err(Fault::TooLong);
        }
        Err(if code == errno::EINVAL { Fault::Closed } else { fault(code) })
    }

    #[cold]
    #[inline(never)]
    fn receive_again(&mut self, len: usize, first: Result<usize, i32>) -> Result<(), Fault> {
        let mut step = first;
        loop {
            match step {
                Ok(bytes) if bytes == len => return Ok(()),
                Ok(_) => return Err(Fault::Truncated),
                Err(errno::EINTR) => {}
                Err(errno::EINVAL) => return Err(Fault::Closed),
                Err(code) => return Err(fault(code)),
            }
            step = self.receive_one(len);
        }
    }
}

impl<W: Wait<Gate = ()>> Port for SysvPort<W> {
    #[inline(always)]
    fn send(&mut self, len: usize, fill: impl FnOnce(&mut [u8])) -> Result<(), Fault> {
        fill(self.message.payload(len).ok_or(Fault::TooLong)?);
        match self.send_one(len) {
            Ok(_) => Ok(()),
            Err(code) => self.send_again(len, code),
        }
    }

    #[inline(always)]
    fn recv<T>(
        &mut self,
        len: usize,
        take: impl FnOnce(&[u8]) -> Result<T, Fault>,
    ) -> Result<T, Fault> {
        let step = self.receive_one(len);
        if step != Ok(len) {
            self.receive_again(len, step)?;
        }
        take(self.message.payload(len).ok_or(Fault::TooLong)?)
    }

    fn finish(&mut self) -> Result<(), Fault> {
        // A queue has no end that could be closed.
        Ok(())
    }
}

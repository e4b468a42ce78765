//! The ends of one ring in shared memory whose messages reach several consumers, each of them.

use crate::shared_memory::memory;
use crate::shared_memory::ring_port::RingWait;
use ipcperf_core::{Attach, DynPort, Fault, Port, SetupError};
use ipcperf_sys::io::Buffer;
use ipcperf_sys::io::memory::ring::{Sink, Source, Strategy};
use ipcperf_sys::io::memory::segment::Kind;

/// The end of the consumer of this number, or of the producer.
pub(crate) fn attach<W: RingWait, O>(
    mut end: Attach<'_, O>,
    kind: Kind,
    consumer: Option<u64>,
) -> Result<Box<dyn DynPort>, SetupError>
where
    W::Strategy: Send,
{
    let ring = memory::attach(kind, &mut end.wiring)?;
    let waits = W::waits(std::mem::take(&mut end.wiring.fds));
    let [wait, _] = waits.ok_or_else(|| SetupError::Protocol("it takes no counters".into()))?;
    let Some(number) = consumer else {
        return Ok(Box::new(SourcePort(Source::attach(ring, wait)?)));
    };
    let number = u32::try_from(number).unwrap_or(u32::MAX);
    let bytes = if W::COPIES > 0 { end.shape.size } else { 0 };
    let buffer = Buffer::new(bytes, end.shape.buffer_offset)?;
    let sink = Sink::attach(ring, number, wait)?;
    Ok(Box::new(SinkPort { sink, copies: W::COPIES > 0, buffer }))
}

/// The producer's end.
struct SourcePort<S>(Source<S>);

impl<S: Strategy> Port for SourcePort<S> {
    #[inline(always)]
    fn send(&mut self, len: usize, fill: impl FnOnce(&mut [u8])) -> Result<(), Fault> {
        self.0.send(len, fill)
    }

    /// Nothing comes back over it.
    fn recv<T>(&mut self, _: usize, _: impl FnOnce(&[u8]) -> Result<T, Fault>) -> Result<T, Fault> {
        Err(Fault::Closed)
    }

    fn events(&self, report: &mut dyn FnMut(&'static str, u64)) {
        tell(self.0.counts(), report);
    }

    fn finish(&mut self) -> Result<(), Fault> {
        self.0.close();
        Ok(())
    }
}

/// A consumer's end, which copies a message before anybody looks at it, or reads it where it lies.
struct SinkPort<S> {
    sink: Sink<S>,
    copies: bool,
    buffer: Buffer,
}

impl<S: Strategy> Port for SinkPort<S> {
    /// Nothing goes back over it.
    fn send(&mut self, _: usize, _: impl FnOnce(&mut [u8])) -> Result<(), Fault> {
        Err(Fault::Closed)
    }

    #[inline(always)]
    fn recv<T>(
        &mut self,
        len: usize,
        take: impl FnOnce(&[u8]) -> Result<T, Fault>,
    ) -> Result<T, Fault> {
        if !self.copies {
            return self.sink.receive(|message| {
                if message.len() == len { take(message) } else { Err(Fault::Truncated) }
            })?;
        }
        let own = self.buffer.get_mut(len).ok_or(Fault::TooLong)?;
        self.sink.receive(|message| {
            if message.len() != own.len() {
                return Err(Fault::Truncated);
            }
            own.copy_from_slice(message);
            Ok(())
        })??;
        take(own)
    }

    fn events(&self, report: &mut dyn FnMut(&'static str, u64)) {
        tell(self.sink.counts(), report);
    }

    fn finish(&mut self) -> Result<(), Fault> {
        Ok(())
    }
}

fn tell(counts: Option<[u64; 2]>, report: &mut dyn FnMut(&'static str, u64)) {
    if let Some([sleeps, wakes]) = counts {
        report("sleeps", sleeps);
        report("wake-ups", wakes);
    }
}

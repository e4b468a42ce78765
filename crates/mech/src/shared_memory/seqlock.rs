//! Latest-value cells in shared memory, guarded by a sequence number: one for each direction.

use crate::budget;
use crate::port::patience::Patience;
use crate::shared_memory::{SHARED_MEMORY, memory};
use ipcperf_core::prelude::*;
use ipcperf_core::{Exchange, ToEach};
use ipcperf_sys::io::Buffer;
use ipcperf_sys::io::memory::segment::Kind;
use ipcperf_sys::io::memory::seqlock::{self, Cells, Look};
use std::hint::spin_loop;

/// Bytes that a number needs with which a reader finds its place again after any gap.
const PROOF: usize = 4;

/// Two cells.
#[derive(Debug)]
pub struct SeqLock;

impl Mechanism for SeqLock {
    const SPEC: &'static Spec = &Spec {
        name: "seqlock",
        wait: Wait::Spin,
        summary: "One latest-value cell in shared memory for each direction, guarded by sequence numbers; readers never block the writer.",
        manual: &["shm_overview(7)", "memfd_create(2)", "mmap(2)"],
        pitfalls: &[
            "A reader sees the newest value, not every value: a stream counts what it saw, and how many were overtaken.",
            "A read that meets a write is torn and made again; with a single slot a writer that never rests starves readers, so there are several.",
            "Values are copied in and out word by word through private buffers, since both ends may touch a slot at once.",
            "Fewer than 4 bytes cannot say which of many values was seen, so streams of such values are refused.",
            "A writer that dies leaves its last whole value, and readers do not notice that no other will come.",
        ],
        payload: Payload::up_to(seqlock::MAX_VALUE, "the layout of a cell"),
        direction: Direction::OneWay,
        reach: Reach::Related,
        producers: Peers::One,
        consumers: Peers::Many,
        back_pressure: BackPressure::Overwrites,
        copies: 2,
        syscalls: Syscalls { send: Some(0.0), recv: Some(0.0) },
        needs: &["memfd_create (Linux 3.17)"],
        ..SHARED_MEMORY
    };
    type Options = NoOptions;
    type Port = SeqLockPort;
    // Consumers write nothing, so any number can read the cell of the lead.
    const TO_EACH: Option<ToEach<NoOptions>> = Some(ToEach {
        open: |shape, _, options| Self::open(shape, options),
        attach: |end, _| Ok(Box::new(Self::attach(end)?)),
    });

    fn probe(_: &NoOptions) -> Result<(), Missing> {
        seqlock::create(1, None, "ipcperf-trial").map(drop).map_err(crate::missing)
    }

    fn open(shape: &Shape, _: &NoOptions) -> Result<Link, SetupError> {
        let skips = shape.pattern.facts().exchange == Exchange::OneWay;
        if skips && (1..PROOF).contains(&shape.size) {
            let what = "a reader that skips values cannot tell which of them a smaller one is";
            return Err(Missing::new(what, format!("values of {PROOF} bytes or more")).into());
        }
        budget::memory(seqlock::bytes(shape.size), "two cells", "smaller values")?;
        let cells = seqlock::create(shape.size, shape.directory.as_deref(), &shape.name("cells"))?;
        memory::link(cells)
    }

    fn attach(mut end: Attach<'_, NoOptions>) -> Result<SeqLockPort, SetupError> {
        let cells = memory::attach(Kind::DEFAULT, &mut end.wiring)?;
        SeqLockPort::new(Cells::attach(cells, end.seat, end.shape.size)?, end.shape)
    }
}

/// One end. Values pass through private buffers: the memory between is written while it is read.
pub struct SeqLockPort {
    cells: Cells,
    outgoing: Buffer,
    incoming: Buffer,
    torn: u64,
    overtaken: u64,
}

impl SeqLockPort {
    /// One end of a channel for `shape`.
    ///
    /// # Errors
    /// There is no memory.
    pub fn new(cells: Cells, shape: &Shape) -> Result<Self, SetupError> {
        let buffer = || Buffer::new(shape.size, shape.buffer_offset);
        Ok(Self { cells, outgoing: buffer()?, incoming: buffer()?, torn: 0, overtaken: 0 })
    }
}

impl Port for SeqLockPort {
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

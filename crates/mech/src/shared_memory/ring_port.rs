//! Two rings in shared memory, one for each direction. The sender writes into the slot; the receiver copies out of
//! it, or reads in place.

use crate::shared_memory::memory;
use crate::wait;
use ipcperf_core::{Attach, Fault, Lends, Port, SetupError, Shape, Wait};
use ipcperf_sys::io::memory::ring::{self, Bell, Ends, Futex, Layout, Spin, Strategy};
use ipcperf_sys::io::memory::segment::Kind;
use ipcperf_sys::io::{Buffer, futex};
use std::os::fd::OwnedFd;

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

/// How the ends of a ring wait, and where the receiver reads: what tells the variants apart.
pub trait RingWait: 'static {
    /// The variant's name.
    const VARIANT: &'static str;
    /// The class it is ranked in.
    const CLASS: Wait;
    /// One sentence.
    const SUMMARY: &'static str;
    /// System calls of one receive when nobody has to wait.
    const RECEIVE: Option<f64>;
    /// Copies of the payload.
    const COPIES: u8;
    /// In what memory the receiver looks at messages.
    const RECEIVES: Lends;
    /// Whether it takes two event counters for each direction: one rings for data, one for room.
    const BELLS: bool;
    /// The ring's name for it.
    type Strategy: Strategy + Send;
    /// The motion.
    type Port: Port;

    /// The waits for receiving and for sending, each with its own and its peer's counter; `None` if `bells` are too
    /// few or too many.
    fn waits(bells: Vec<OwnedFd>) -> Option<[Self::Strategy; 2]>;

    /// One end in motion.
    ///
    /// # Errors
    /// There is no memory.
    fn port(ends: Ends<Self::Strategy>, shape: &Shape) -> Result<Self::Port, SetupError>;
}

/// The end of rings in memory of this kind.
pub(crate) fn attach<W: RingWait, O>(
    mut end: Attach<'_, O>,
    kind: Kind,
    layout: Layout,
) -> Result<W::Port, SetupError> {
    let rings = memory::attach(kind, &mut end.wiring)?;
    let waits = W::waits(end.wiring.fds);
    let waits = waits.ok_or_else(|| SetupError::Protocol("four counters were expected".into()))?;
    W::port(Ends::attach(rings, layout, end.seat, waits)?, end.shape)
}

macro_rules! ring_wait {
    ($name:ty {
        variant: $variant:literal,
        summary: $summary:literal,
        class: $class:ident,
        receive: $receive:expr,
        copies: $copies:literal,
        bells: $bells:literal,
        strategy: $strategy:ty,
        waits: $waits:expr,
    }) => {
        impl RingWait for $name {
            const VARIANT: &'static str = $variant;
            const CLASS: Wait = Wait::$class;
            const SUMMARY: &'static str = $summary;
            const RECEIVE: Option<f64> = $receive;
            const COPIES: u8 = $copies;
            const RECEIVES: Lends = if $copies > 0 { Lends::Buffer } else { Lends::Shared };
            const BELLS: bool = $bells;
            type Strategy = $strategy;
            type Port = RingPort<$strategy, { $copies > 0 }>;

            fn waits(bells: Vec<OwnedFd>) -> Option<[$strategy; 2]> {
                let waits: fn(Vec<OwnedFd>) -> Option<[$strategy; 2]> = $waits;
                waits(bells)
            }

            fn port(ends: Ends<$strategy>, shape: &Shape) -> Result<Self::Port, SetupError> {
                RingPort::new(ends, shape)
            }
        }
    };
}

ring_wait! {wait::Spin {
    variant: "spin",
    summary: "Two rings in shared memory; both ends watch the slot and never sleep.",
    class: Spin,
    receive: Some(0.0),
    copies: 1,
    bells: false,
    strategy: Spin,
    waits: |_| Some([Spin; 2]),
}}

ring_wait! {wait::Futex {
    variant: "futex",
    summary: "Two rings in shared memory; an end that finds nothing sleeps in a futex at once.",
    class: Block,
    receive: None,
    copies: 1,
    bells: false,
    strategy: Futex,
    waits: |_| Some([ring::futex(0), ring::futex(0)]),
}}

ring_wait! {wait::Adaptive {
    variant: "adaptive",
    summary: "Two rings in shared memory; an end watches the slot for a few microseconds, then sleeps in a futex.",
    class: SpinThenBlock,
    receive: None,
    copies: 1,
    bells: false,
    strategy: Futex,
    waits: |_| Some([ring::futex(futex::SPINS), ring::futex(futex::SPINS)]),
}}

ring_wait! {wait::Bell {
    variant: "eventfd",
    summary: "Two rings in shared memory; an end that finds nothing sleeps in read of an event counter, which could be polled.",
    class: Block,
    receive: None,
    copies: 1,
    bells: true,
    strategy: Bell,
    waits: |bells| {
        let [rx_own, rx_peers, tx_own, tx_peers] = bells.try_into().ok()?;
        Some([ring::bell(rx_own, rx_peers), ring::bell(tx_own, tx_peers)])
    },
}}

ring_wait! {wait::CopyFree {
    variant: "copy-free",
    summary: "Two rings in shared memory that wait like adaptive; the receiver reads the message where it lies.",
    class: SpinThenBlock,
    receive: None,
    copies: 0,
    bells: false,
    strategy: Futex,
    waits: |_| Some([ring::futex(futex::SPINS), ring::futex(futex::SPINS)]),
}}

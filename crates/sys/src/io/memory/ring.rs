//! The rings of `ipcperf-ring` in memory that processes map: one for each direction, or one whose messages reach all.
//!
//! # Safety
//! - An end holds its mapping, declared after the ring's ports so that it is dropped after them: the memory is valid
//!   for as long as the ports live.
//! - The memory is zeroed and initialised by [`create`] or [`create_for_all`] before a ticket of it leaves the process, and is accessed
//!   through ring ports only.

use crate::io::memory::segment::{Kind, Segment};
use crate::io::{futex, stream};
use ipcperf_core::{Fault, Seat, SetupError};
use ipcperf_ring::{Audience, Consumer, Geometry, Producer, Sleep, Sleeper, Stop, Wait};
use std::cell::Cell;
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;
use std::sync::atomic::AtomicU32;

pub use ipcperf_ring::Spin;

/// The largest message of a ring: 1 GiB.
pub const MAX_MESSAGE: usize = ipcperf_ring::MAX_PAYLOAD as usize;

/// How the ends of a ring wait, as a type, so that the spinning one contains no trace of sleeping.
pub trait Strategy: Wait + 'static {
    /// How often this end went to sleep, and how often it woke the other; `None` where nobody sleeps.
    fn counts(&self) -> Option<[u64; 2]>;
}

impl Strategy for Spin {
    fn counts(&self) -> Option<[u64; 2]> {
        None
    }
}

impl<S: Sleeper + Counted + 'static> Strategy for Sleep<S> {
    fn counts(&self) -> Option<[u64; 2]> {
        Some(self.sleeper.counts())
    }
}

/// A sleeper that counts. Counting happens beside a system call, never on the way of a message that needs none.
pub trait Counted {
    /// Sleeps and wake-ups.
    fn counts(&self) -> [u64; 2];
}

#[inline(always)]
fn count(counter: &Cell<u64>) {
    counter.set(counter.get().wrapping_add(1));
}

/// Sleeps in a futex; a system call is made only if somebody sleeps.
pub type Futex = Sleep<SharedFutex>;
/// Sleeps in `read(2)` of an event counter; a system call is made only if somebody sleeps.
pub type Bell = Sleep<Bells>;

/// Waits that look at the slot `spins` times, then sleep in a futex.
#[must_use]
pub fn futex(spins: u32) -> Futex {
    Sleep { spins, sleeper: SharedFutex::default() }
}

/// Waits that sleep at once, in `own`, and wake the peer by `peers`.
#[must_use]
pub fn bell(own: OwnedFd, peers: OwnedFd) -> Bell {
    Sleep { spins: 0, sleeper: Bells { own, peers, sleeps: Cell::new(0), wakes: Cell::new(0) } }
}

/// The futex between processes.
#[derive(Debug, Default)]
pub struct SharedFutex {
    sleeps: Cell<u64>,
    wakes: Cell<u64>,
}

// SAFETY: neither call writes to the word.
unsafe impl Sleeper for SharedFutex {
    #[inline(always)]
    fn sleep(&self, word: &AtomicU32, expected: u32) {
        count(&self.sleeps);
        futex::wait(word, expected);
    }

    #[inline(always)]
    fn wake(&self, word: &AtomicU32) {
        count(&self.wakes);
        futex::wake(word);
    }
}

impl Counted for SharedFutex {
    fn counts(&self) -> [u64; 2] {
        [self.sleeps.get(), self.wakes.get()]
    }
}

/// Two event counters of one direction: one wakes the receiver, one the sender.
#[derive(Debug)]
pub struct Bells {
    own: OwnedFd,
    peers: OwnedFd,
    sleeps: Cell<u64>,
    wakes: Cell<u64>,
}

// SAFETY: neither call has the address of the word. A wake-up is never missed: it comes only after this end has
// announced itself in the word, and the counter keeps it until it is read. One that was kept from an earlier word only
// ends a sleep early.
unsafe impl Sleeper for Bells {
    #[inline(always)]
    fn sleep(&self, _: &AtomicU32, _: u32) {
        count(&self.sleeps);
        // Whatever came of it (woken, interrupted), the caller looks again.
        let _ = stream::read(self.own.as_fd(), &mut [0; 8]);
    }

    #[inline(always)]
    fn wake(&self, _: &AtomicU32) {
        count(&self.wakes);
        let one = 1_u64.to_ne_bytes();
        // Not interruptible short of an overflow, which 2^64 unread wake-ups would take.
        let _ = stream::write(self.peers.as_fd(), &one);
    }
}

impl Counted for Bells {
    fn counts(&self) -> [u64; 2] {
        [self.sleeps.get(), self.wakes.get()]
    }
}

/// How many slots of which size the ring of each direction has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout(Geometry);

impl Layout {
    /// A ring for messages of `size` bytes in about `budget` bytes of memory. It has at least two slots, so it
    /// outgrows the budget where two messages do.
    #[must_use]
    pub fn ring(size: usize, budget: usize) -> Self {
        Self(Geometry::for_message(size, budget))
    }

    /// One slot: the sender waits until the receiver has taken what is in it.
    #[must_use]
    pub fn mailbox(size: usize) -> Self {
        let Geometry { payload, .. } = Geometry::for_message(size, 0);
        Self(Geometry { slots: 1, payload })
    }

    /// Bytes of one direction.
    #[must_use]
    pub fn bytes(self) -> usize {
        self.0.bytes()
    }

    /// Bytes from one direction to the other: whole pages.
    fn stride(self) -> usize {
        self.bytes().saturating_add(4095) & !4095
    }
}

/// Makes the rings of both directions, the first the one that the lead sends into.
///
/// # Errors
/// See [`Segment::create`].
pub fn create(
    layout: Layout,
    kind: Kind,
    directory: Option<&Path>,
    name: &str,
) -> Result<Segment, SetupError> {
    let stride = layout.stride();
    let memory = Segment::create(kind, directory, name, stride.saturating_mul(2))?;
    for index in 0..2 {
        // SAFETY: fresh, zeroed, page-aligned, and `bytes()` fit each of the two rings; no other process has it yet.
        unsafe { ipcperf_ring::init(memory.as_ptr().add(index * stride), layout.0) };
    }
    Ok(memory)
}

fn for_all(layout: Layout, consumers: u32) -> Audience {
    Audience { geometry: layout.0, consumers }
}

/// Bytes of the ring whose messages reach so many consumers, each of them.
#[must_use]
pub fn bytes_for_all(layout: Layout, consumers: u32) -> usize {
    for_all(layout, consumers).bytes()
}

/// Makes a ring whose messages reach so many consumers, each of them.
///
/// # Errors
/// See [`Segment::create`].
pub fn create_for_all(
    layout: Layout,
    consumers: u32,
    kind: Kind,
    directory: Option<&Path>,
    name: &str,
) -> Result<Segment, SetupError> {
    let audience = for_all(layout, consumers);
    let memory = Segment::create(kind, directory, name, audience.bytes())?;
    // SAFETY: fresh, zeroed, page-aligned, and `bytes()` long; no other process has it yet.
    unsafe { ipcperf_ring::init_for_all(memory.as_ptr(), audience) };
    Ok(memory)
}

/// The end of a ring that sends to all of its consumers.
#[derive(Debug)]
pub struct Source<S> {
    tx: ipcperf_ring::Source,
    wait: S,
    _memory: Segment,
}

impl<S: Strategy> Source<S> {
    /// Claims it.
    ///
    /// # Errors
    /// The memory holds no such ring, or the end is taken.
    pub fn attach(memory: Segment, wait: S) -> Result<Self, SetupError> {
        // SAFETY: see the module.
        let tx = unsafe { ipcperf_ring::source(memory.as_ptr(), memory.len()) };
        Ok(Self { tx: tx.map_err(refused)?, wait, _memory: memory })
    }

    /// Waits until every consumer has done with a slot, lets `fill` write `len` bytes into it, and hands it to all of them.
    ///
    /// # Errors
    /// [`Fault::TooLong`], or [`Fault::Closed`].
    #[inline(always)]
    pub fn send(&mut self, len: usize, fill: impl FnOnce(&mut [u8])) -> Result<(), Fault> {
        self.tx.send(&self.wait, len, fill).map_err(fault)
    }

    /// The consumers drain, then see the end.
    pub fn close(&mut self) {
        self.tx.close(&self.wait);
    }

    /// Sleeps and wake-ups of this end; `None` where nobody sleeps.
    pub fn counts(&self) -> Option<[u64; 2]> {
        self.wait.counts()
    }
}

/// The end of one of its consumers.
#[derive(Debug)]
pub struct Sink<S> {
    rx: ipcperf_ring::Sink,
    wait: S,
    _memory: Segment,
}

impl<S: Strategy> Sink<S> {
    /// Claims the end of the consumer of this number.
    ///
    /// # Errors
    /// The memory holds no such ring, there is no such consumer, or the end is taken.
    pub fn attach(memory: Segment, consumer: u32, wait: S) -> Result<Self, SetupError> {
        // SAFETY: see the module.
        let rx = unsafe { ipcperf_ring::sink(memory.as_ptr(), memory.len(), consumer) };
        Ok(Self { rx: rx.map_err(refused)?, wait, _memory: memory })
    }

    /// Waits for a message and shows it to `take`; the slot goes back for this consumer's part when it returns.
    ///
    /// # Errors
    /// [`Fault::Closed`].
    #[inline(always)]
    pub fn receive<T>(&mut self, take: impl FnOnce(&[u8]) -> T) -> Result<T, Fault> {
        self.rx.recv(&self.wait, take).map_err(fault)
    }

    /// Sleeps and wake-ups of this end; `None` where nobody sleeps.
    pub fn counts(&self) -> Option<[u64; 2]> {
        self.wait.counts()
    }
}

fn refused(error: ipcperf_ring::AttachError) -> SetupError {
    SetupError::Protocol(format!("ring: {error}"))
}

#[cold]
fn fault(stop: Stop) -> Fault {
    match stop {
        Stop::Closed => Fault::Closed,
        Stop::TooLong => Fault::TooLong,
    }
}

/// One end of a channel: it receives from one ring and sends into the other.
#[derive(Debug)]
pub struct Ends<S> {
    rx: Consumer,
    tx: Producer,
    rx_wait: S,
    tx_wait: S,
    _memory: Segment,
}

impl<S: Strategy> Ends<S> {
    /// Claims the ends of `seat`. `waits` are those for receiving and for sending.
    ///
    /// # Errors
    /// The memory holds no such rings, or an end is taken.
    pub fn attach(
        memory: Segment,
        layout: Layout,
        seat: Seat,
        waits: [S; 2],
    ) -> Result<Self, SetupError> {
        let (base, stride) = (memory.as_ptr(), layout.stride());
        if memory.len() / 2 < stride {
            return Err(SetupError::Protocol("the memory is smaller than two rings".into()));
        }
        // The lead sends into the first ring.
        let [tx, rx] = [seat, seat.other()].map(|from| from.index() * stride);
        // SAFETY: see the module; both rings lie inside the mapping (checked above).
        let rx = unsafe { ipcperf_ring::consumer(base.add(rx), stride) }.map_err(refused)?;
        // SAFETY: as above.
        let tx = unsafe { ipcperf_ring::producer(base.add(tx), stride) }.map_err(refused)?;
        let [rx_wait, tx_wait] = waits;
        Ok(Self { rx, tx, rx_wait, tx_wait, _memory: memory })
    }

    /// Waits for a free slot, lets `fill` write `len` bytes into it, and hands it over.
    ///
    /// # Errors
    /// [`Fault::TooLong`], or [`Fault::Closed`].
    #[inline(always)]
    pub fn send(&mut self, len: usize, fill: impl FnOnce(&mut [u8])) -> Result<(), Fault> {
        self.tx.send(&self.tx_wait, len, fill).map_err(fault)
    }

    /// Waits for a message and shows it to `take`; the slot goes back when it returns.
    ///
    /// # Errors
    /// [`Fault::Closed`].
    #[inline(always)]
    pub fn receive<T>(&mut self, take: impl FnOnce(&[u8]) -> T) -> Result<T, Fault> {
        self.rx.recv(&self.rx_wait, take).map_err(fault)
    }

    /// Ends the direction in which this end sends: the receiver drains, then sees the end.
    pub fn close(&mut self) {
        self.tx.close(&self.tx_wait);
    }

    /// Sleeps and wake-ups of this end, in both directions; `None` where nobody sleeps.
    pub fn counts(&self) -> Option<[u64; 2]> {
        let ([a, b], [c, d]) = (self.rx_wait.counts()?, self.tx_wait.counts()?);
        Some([a + c, b + d])
    }
}

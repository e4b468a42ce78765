//! A ring with one producer and several consumers, each of which gets every message.
//!
//! A message lies in its slot once. For each slot a consumer has a turn word of its own, in a lane that it shares with the
//! producer alone: the producer waits until the words of all consumers are empty, fills the slot, and turns them all; a
//! consumer takes the message and turns its own. So the slowest consumer stops the producer, a whole round ahead of it.
//!
//! ```text
//! 0     header, one 128-byte line
//! 128   slot 0: unused u32 | len u32 | payload bytes | padding up to the stride; slot 1 ...
//! ...   lane of consumer 0: claim u32, padding up to 128; a word u32 for each slot, padding up to 128
//!       lane of consumer 1 ...
//! ```
//!
//! # Safety
//!
//! - **B1** `memory` points to `span` bytes of live, initialised memory with this layout, all of whose parts are aligned.
//! - **B2** `HEAD + room - 1 <= stride`, so a payload shorter than `room` lies within its slot.
//! - **B3** there is at most one [`Source`], and at most one [`Sink`] for each consumer, ever, for one initialised ring.
//! - **B4** the producer accesses a slot between seeing the words of all consumers empty and turning the first of them; a
//!   consumer between seeing its own word full and turning it, and only reads. W1 of `wait` does the rest.

use core::slice;

use crate::geometry::{Geometry, MAX_PAYLOAD};
use crate::header::{HEAD, SlotHead};
use crate::layout::AttachError;
use crate::spsc::Stop;
use crate::sync::{AtomicU32, Ordering, Site, UnsafeCell};
use crate::wait::{EMPTY, FULL, Wait};

/// "ipcbcst" and the version of this layout.
const MAGIC: u64 = u64::from_ne_bytes(*b"ipcbcst\x01");

/// Most consumers of one ring.
pub const MOST_CONSUMERS: u32 = 256;

/// What parts begin at multiples of: two lines, because the adjacent-line prefetcher of x86 moves lines in pairs.
const ALIGN: usize = 128;

#[derive(Clone, Copy)]
#[repr(C)]
struct Facts {
    magic: u64,
    slots: u32,
    payload: u32,
    consumers: u32,
}

#[repr(C, align(128))]
struct Header {
    facts: Facts,
    claim: AtomicU32,
    closed: AtomicU32,
}

/// How many slots of which size, for how many consumers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Audience {
    /// The slots.
    pub geometry: Geometry,
    /// Consumers, 1 to [`MOST_CONSUMERS`].
    pub consumers: u32,
}

impl Audience {
    fn slots(&self) -> usize {
        self.geometry.slots as usize
    }

    /// Bytes from one lane to the next.
    fn lane(&self) -> usize {
        ALIGN + self.slots().saturating_mul(size_of::<AtomicU32>()).next_multiple_of(ALIGN)
    }

    /// Where the first lane begins.
    fn lanes(&self) -> usize {
        let slots = self.slots().saturating_mul(self.geometry.stride());
        size_of::<Header>().saturating_add(slots).saturating_add(ALIGN - 1) & !(ALIGN - 1)
    }

    /// Bytes of memory the ring takes.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.lanes().saturating_add((self.consumers as usize).saturating_mul(self.lane()))
    }

    fn is_sound(&self) -> bool {
        self.geometry.slots.is_power_of_two()
            && self.geometry.payload <= MAX_PAYLOAD
            && (1..=MOST_CONSUMERS).contains(&self.consumers)
    }
}

/// Writes the header, the slots' heads and the lanes. Done once, before anybody attaches. An impossible audience is written
/// as far as the header goes, and refused by [`source`] and [`sink`].
///
/// # Safety
/// `memory` is aligned to 128, valid for reads and writes of `audience.bytes()` bytes, zeroed (as a fresh mapping is), and
/// nobody else accesses it during the call.
pub unsafe fn init_for_all(memory: *mut u8, audience: Audience) {
    let Audience { geometry: Geometry { slots, payload }, consumers } = audience;
    let facts = Facts { magic: MAGIC, slots, payload, consumers };
    let header = Header { facts, claim: AtomicU32::new(0), closed: AtomicU32::new(0) };
    // SAFETY: the caller gives aligned, writable, unshared memory for at least a header.
    unsafe { memory.cast::<Header>().write(header) };
    if !audience.is_sound() {
        return;
    }
    for index in 0..audience.slots() {
        let head = SlotHead { word: AtomicU32::new(0), len: UnsafeCell::new(0) };
        // SAFETY: the offset is below `bytes()`, which the caller says is one live allocation.
        let slot = unsafe { memory.add(size_of::<Header>() + index * audience.geometry.stride()) };
        // SAFETY: as above; strides are multiples of the head's alignment (see `layout`).
        unsafe { slot.cast::<SlotHead>().write(head) };
    }
    for consumer in 0..consumers as usize {
        let lane = audience.lanes() + consumer * audience.lane();
        let words = (0..audience.slots()).map(|slot| ALIGN + slot * size_of::<AtomicU32>());
        for at in [0].into_iter().chain(words) {
            // SAFETY: as above.
            let word = unsafe { memory.add(lane + at) };
            // SAFETY: as above; both the lane and the word in it are aligned.
            unsafe { word.cast::<AtomicU32>().write(AtomicU32::new(0)) };
        }
    }
}

/// What an end knows of the ring: checked when it attached, and never read again.
#[derive(Debug)]
struct View {
    memory: *mut u8,
    audience: Audience,
    lanes: usize,
    lane: usize,
    stride: usize,
    /// Of the slot that comes next.
    next: usize,
    /// One more than the largest message; 0 once the producer has closed.
    room: usize,
}

// SAFETY: the pointer leads to memory that belongs to no thread; all access goes through the protocol, and B3 makes this the
// only end of its kind.
unsafe impl Send for View {}

impl View {
    /// # Safety
    /// As [`source`].
    unsafe fn attach(memory: *mut u8, len: usize) -> Result<Self, AttachError> {
        let header: *const Header = memory.cast();
        if memory.is_null() || !header.is_aligned() {
            return Err(AttachError::Address);
        }
        if len < size_of::<Header>() {
            return Err(AttachError::NotARing);
        }
        // SAFETY: aligned, `len` covers the header, any bit pattern is valid, and nobody writes the facts after `init`.
        let facts = unsafe { (*header).facts };
        if facts.magic != MAGIC {
            return Err(AttachError::NotARing);
        }
        let geometry = Geometry { slots: facts.slots, payload: facts.payload };
        let audience = Audience { geometry, consumers: facts.consumers };
        if !audience.is_sound() || audience.bytes() > len {
            return Err(AttachError::Geometry);
        }
        Ok(Self {
            memory,
            audience,
            lanes: audience.lanes(),
            lane: audience.lane(),
            stride: geometry.stride(),
            next: 0,
            room: geometry.payload as usize + 1,
        })
    }

    fn header(&self) -> &Header {
        // SAFETY: B1; shared references to its atomic fields overlap nothing that is written otherwise after `init`.
        unsafe { &*self.memory.cast::<Header>() }
    }

    /// The head and the payload's address of the slot that comes next.
    #[inline(always)]
    fn slot(&self) -> (&SlotHead, *mut u8) {
        // SAFETY: `next` is below the number of slots, and B1.
        let slot = unsafe { self.memory.add(size_of::<Header>() + self.next * self.stride) };
        // SAFETY: B1: every multiple of the stride holds a head; it is never moved or freed.
        let head = unsafe { &*slot.cast::<SlotHead>() };
        // SAFETY: `HEAD <= stride`, so this is at most one past the slot.
        (head, unsafe { slot.add(HEAD) })
    }

    /// The word at this place of a consumer's lane. `consumer` is below the number of consumers, `at` inside a lane.
    #[inline(always)]
    fn in_lane(&self, consumer: usize, at: usize) -> &AtomicU32 {
        // SAFETY: B1: the callers below name a consumer that there is, and the claim or a word of one of the slots.
        let word = unsafe { self.memory.add(self.lanes + consumer * self.lane + at) };
        // SAFETY: as above; both lanes and the words in them are aligned, and never moved or freed.
        unsafe { &*word.cast::<AtomicU32>() }
    }

    /// The turn word of a consumer for the slot that comes next.
    #[inline(always)]
    fn word(&self, consumer: usize) -> &AtomicU32 {
        self.in_lane(consumer, ALIGN + self.next * size_of::<AtomicU32>())
    }

    #[inline(always)]
    fn step(&mut self) {
        self.next = (self.next + 1) & (self.audience.slots() - 1);
    }

    #[inline(always)]
    fn consumers(&self) -> core::ops::Range<usize> {
        0..self.audience.consumers as usize
    }
}

fn claim(word: &AtomicU32) -> Result<(), AttachError> {
    // Relaxed: see `attach` in `layout`.
    let claimed = word.compare_exchange(0, 1, Ordering::Relaxed, Ordering::Relaxed);
    claimed.map(drop).map_err(|_| AttachError::Claimed)
}

/// The end that sends to all.
#[derive(Debug)]
pub struct Source {
    view: View,
}

/// One of the ends that receive.
#[derive(Debug)]
pub struct Sink {
    view: View,
    consumer: usize,
}

/// Attaches as the producer.
///
/// # Errors
/// [`AttachError`]: the memory holds no such ring, one that cannot be, or one whose producer is claimed.
///
/// # Safety
/// `memory` is valid for reads and writes of `len` bytes for as long as the end lives, may be shared with the ends of this
/// ring only, and holds what [`init_for_all`] wrote there, zeros, or other bytes whose header is refused. `init_for_all`
/// happened before this call.
pub unsafe fn source(memory: *mut u8, len: usize) -> Result<Source, AttachError> {
    // SAFETY: the caller's promise is the same.
    let view = unsafe { View::attach(memory, len) }?;
    claim(&view.header().claim)?;
    Ok(Source { view })
}

/// Attaches as the consumer of this number.
///
/// # Errors
/// As [`source`]; [`AttachError::Geometry`] where the ring has no such consumer.
///
/// # Safety
/// As [`source`].
pub unsafe fn sink(memory: *mut u8, len: usize, consumer: u32) -> Result<Sink, AttachError> {
    // SAFETY: the caller's promise is the same.
    let view = unsafe { View::attach(memory, len) }?;
    if consumer >= view.audience.consumers {
        return Err(AttachError::Geometry);
    }
    let consumer = consumer as usize;
    claim(view.in_lane(consumer, 0))?;
    Ok(Sink { view, consumer })
}

impl Source {
    /// Waits until every consumer has taken what is in the slot that comes next, lets `fill` write `len` bytes into it, and
    /// passes it to all of them. If `fill` unwinds, nothing was sent.
    ///
    /// # Errors
    /// [`Stop::TooLong`] before waiting. [`Stop::Closed`] if this end has closed.
    #[inline(always)]
    pub fn send<W: Wait>(
        &mut self,
        wait: &W,
        len: usize,
        fill: impl FnOnce(&mut [u8]),
    ) -> Result<(), Stop> {
        let view = &mut self.view;
        if len >= view.room {
            return Err(if view.room == 0 { Stop::Closed } else { Stop::TooLong });
        }
        for consumer in view.consumers() {
            if !wait.until(view.word(consumer), EMPTY, &view.header().closed) {
                return Err(Stop::Closed);
            }
        }
        let (slot, payload) = view.slot();
        slot.len.with_mut(|stated| {
            // SAFETY: `len < room`, so the bytes are in the slot (B2), which is live (B1) and this end's alone (B4).
            fill(unsafe { slice::from_raw_parts_mut(payload, len) });
            // SAFETY: as above. Less than `room`, which fits.
            unsafe { *stated = len as u32 };
        });
        for consumer in view.consumers() {
            wait.turn(view.word(consumer), FULL);
        }
        view.step();
        Ok(())
    }

    /// Closes the ring: each consumer gets what was sent, then [`Stop::Closed`]; those that sleep are woken.
    pub fn close<W: Wait>(&mut self, wait: &W) {
        self.view.room = 0;
        // Release guards the last messages: see `is_set` in `wait`.
        self.view.header().closed.store(1, Site::Close.release());
        // A consumer sleeps only on an empty word, when it has caught up: the producer's next.
        for consumer in self.view.consumers() {
            wait.rouse(self.view.word(consumer));
        }
    }
}

impl Sink {
    /// Waits for a message, lends it to `take`, and hands the slot back for its part. If `take` unwinds, the message comes
    /// again.
    ///
    /// # Errors
    /// [`Stop::Closed`] if the producer has closed and every message that it sent was received.
    #[inline(always)]
    pub fn recv<T, W: Wait>(&mut self, wait: &W, take: impl FnOnce(&[u8]) -> T) -> Result<T, Stop> {
        let view = &mut self.view;
        let word = view.word(self.consumer);
        if !wait.until(word, FULL, &view.header().closed) {
            return Err(Stop::Closed);
        }
        let (slot, payload) = view.slot();
        let taken = slot.len.with(|stated| {
            // SAFETY: the slot is live (B1), and nobody writes to it until this end's turn (B4).
            let mut len = unsafe { *stated } as usize;
            if len >= view.room {
                // The producer wrote nonsense, which is cut to the slot.
                len = view.room - 1;
            }
            // SAFETY: `len < room`, so the bytes are in the slot (B2); otherwise as above.
            take(unsafe { slice::from_raw_parts(payload, len) })
        });
        wait.turn(word, EMPTY);
        view.step();
        Ok(taken)
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn no_two_parts_overlap_and_each_lane_begins_a_line_of_its_own() {
        for (slots, payload, consumers) in [(1, 0, 1), (2, 4, 3), (8, 64, 64), (1024, 200, 2)] {
            let audience = Audience { geometry: Geometry { slots, payload }, consumers };
            let slots_end = size_of::<Header>() + slots as usize * audience.geometry.stride();
            assert!(audience.lanes() >= slots_end && audience.lanes().is_multiple_of(ALIGN));
            let words = ALIGN + slots as usize * size_of::<AtomicU32>();
            assert!(audience.lane() >= words && audience.lane().is_multiple_of(ALIGN));
            let lanes = consumers as usize * audience.lane();
            assert_eq!(audience.bytes(), audience.lanes() + lanes);
        }
        let huge = Geometry { slots: u32::MAX, payload: u32::MAX };
        assert!(Audience { geometry: huge, consumers: u32::MAX }.bytes() > 1 << 60);
    }
}

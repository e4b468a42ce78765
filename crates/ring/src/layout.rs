//! What lies where in the shared memory, and who may attach to it.
//!
//! ```text
//! 0     header, one 128-byte line: facts (never change), claims (set once), closed (set once)
//! 128   slot 0: word u32 | len u32 | payload bytes | padding up to the stride
//!       slot 1 ...
//! ```
//!
//! We trust the peer: it is the same binary, started by the same coordinator. A peer that writes
//! outside its turn is outside the memory model, as for any shared mapping. What is cheap to check
//! is checked anyway, so that a dead or confused peer cannot crash us: geometry is checked once and
//! then held locally, no index is ever read from shared memory, and a length is clamped.
//!
//! # Safety
//!
//! The invariants the rest of the crate relies on, established by [`init`] and [`attach`]:
//! - **L1** `slots` points to `span` bytes of live, initialised memory: slots of `stride` bytes,
//!   a [`SlotHead`] at the start of each, aligned.
//! - **L2** `HEAD + room - 1 <= stride`, so a payload shorter than `room` lies within its slot.
//! - **L3** there is at most one [`End`] per [`Side`], ever, for one initialised ring.

use core::fmt;

use crate::geometry::{Geometry, LINE, MAX_PAYLOAD};
use crate::header::{Facts, HEAD, HEADER_BYTES, Header, SlotHead};
use crate::sync::{AtomicU32, Ordering, UnsafeCell};

/// "ipcring" and the version of this layout, in the byte order of the machine: memory shared with
/// something else, or with another version, is refused.
const MAGIC: u64 = u64::from_ne_bytes(*b"ipcring\x01");

impl Facts {
    fn of(geometry: Geometry) -> Facts {
        let stride = u32::try_from(geometry.stride()).expect("MAX_PAYLOAD and a line fit a u32");
        Facts { magic: MAGIC, slots: geometry.slots, payload: geometry.payload, stride }
    }
}

/// Why an end could not attach.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum AttachError {
    /// The address is null or not a multiple of 128.
    Address,
    /// The memory does not begin with the header of a ring of this version.
    NotARing,
    /// The header's geometry contradicts itself or does not fit the memory.
    Geometry,
    /// This end has been claimed before. A claim lasts as long as the ring.
    Claimed,
}

impl fmt::Display for AttachError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Address => "ring memory is null or not aligned to 128 bytes",
            Self::NotARing => "the memory does not hold a ring of this version",
            Self::Geometry => "the ring's geometry is impossible or larger than the memory",
            Self::Claimed => "this end of the ring is already in use",
        })
    }
}

impl core::error::Error for AttachError {}

/// Which end of the ring; the value is the index of its claim.
#[derive(Clone, Copy)]
pub(crate) enum Side {
    Producer = 0,
    Consumer = 1,
}

/// Writes the header and the slots' words. Done once, before anybody attaches. An impossible
/// geometry is written as it is, and refused by [`producer`](crate::producer) and
/// [`consumer`](crate::consumer).
///
/// # Safety
/// `memory` is aligned to 128, valid for reads and writes of `geometry.bytes()` bytes, zeroed (as a
/// fresh mapping is), and nobody else accesses it during the call.
pub unsafe fn init(memory: *mut u8, geometry: Geometry) {
    let header = Header {
        facts: Facts::of(geometry),
        claims: [AtomicU32::new(0), AtomicU32::new(0)],
        closed: AtomicU32::new(0),
    };
    // SAFETY: the caller gives aligned, writable, unshared memory for at least a header.
    unsafe { memory.cast::<Header>().write(header) };
    for index in 0..geometry.slots as usize {
        let head = SlotHead { word: AtomicU32::new(0), len: UnsafeCell::new(0) };
        // SAFETY: the offset is below `bytes()`, which the caller says is one live allocation.
        let slot = unsafe { memory.add(HEADER_BYTES + index * geometry.stride()) };
        // SAFETY: as above; the stride is a multiple of the head's alignment (checked below).
        unsafe { slot.cast::<SlotHead>().write(head) };
    }
}

const _: () = {
    let smallest = Geometry { slots: 1, payload: 0 };
    assert!(smallest.stride().is_multiple_of(align_of::<SlotHead>()));
    assert!(LINE.is_multiple_of(align_of::<SlotHead>()));
    assert!(HEADER_BYTES.is_multiple_of(128));
};

/// The layout is what two processes agree on. Loom's atomics are larger.
#[cfg(not(loom))]
const _: () = assert!(HEAD == 8 && HEADER_BYTES == 128);

/// One end's local view: everything here was checked at attach and is never read again.
#[derive(Debug)]
pub(crate) struct End {
    slots: *mut u8,
    header: *const Header,
    /// Of the slot that comes next: a multiple of `stride` below `span`.
    offset: usize,
    stride: usize,
    span: usize,
    /// One more than the largest message; 0 once this end has closed, which then refuses every
    /// length through the check that is made anyway.
    pub(crate) room: usize,
}

// SAFETY: the pointers lead to memory that belongs to no thread; all access goes through the
// protocol, and L3 makes this the only end of its side.
unsafe impl Send for End {}

impl End {
    /// The head and the payload's address of the slot that comes next.
    #[inline(always)]
    pub(crate) fn slot(&self) -> (&SlotHead, *mut u8) {
        // SAFETY: `offset < span`, and L1.
        let slot = unsafe { self.slots.add(self.offset) };
        // SAFETY: L1: every multiple of the stride holds a head; it is never moved or freed.
        let head = unsafe { &*slot.cast::<SlotHead>() };
        // SAFETY: `HEAD <= stride`, so this is at most one past the slot.
        (head, unsafe { slot.add(HEAD) })
    }

    /// Moves on to the next slot.
    #[inline(always)]
    pub(crate) fn step(&mut self) {
        self.offset += self.stride;
        if self.offset == self.span {
            self.offset = 0;
        }
    }

    /// Set by whichever end closes first.
    #[inline(always)]
    pub(crate) fn closed(&self) -> &AtomicU32 {
        // SAFETY: the header precedes the slots in the same live memory (L1); a shared reference to
        // this atomic field overlaps nothing that is written otherwise after `init`.
        unsafe { &(*self.header).closed }
    }
}

/// Checks the geometry and claims one end.
///
/// # Safety
/// As [`producer`](crate::producer).
pub(crate) unsafe fn attach(memory: *mut u8, len: usize, side: Side) -> Result<End, AttachError> {
    let header: *const Header = memory.cast();
    if memory.is_null() || !header.is_aligned() {
        return Err(AttachError::Address);
    }
    if len < HEADER_BYTES {
        return Err(AttachError::NotARing);
    }
    // SAFETY: aligned, `len` covers the header, any bit pattern is valid, and the facts are
    // written by nobody after `init`.
    let facts = unsafe { (*header).facts };
    if facts.magic != MAGIC {
        return Err(AttachError::NotARing);
    }
    let geometry = Geometry { slots: facts.slots, payload: facts.payload };
    let stride = geometry.stride();
    let sound = geometry.slots.is_power_of_two()
        && geometry.payload <= MAX_PAYLOAD
        && facts.stride as usize == stride
        && geometry.bytes() <= len;
    if !sound {
        return Err(AttachError::Geometry);
    }
    // SAFETY: as above; the magic says that `init` has written the claims.
    let claim = unsafe { &(*header).claims[side as usize] };
    // Relaxed: the claim passes no data on and is never given back; exclusivity (L3) comes from the
    // exchange being atomic, not from its order.
    claim
        .compare_exchange(0, 1, Ordering::Relaxed, Ordering::Relaxed)
        .map_err(|_| AttachError::Claimed)?;
    Ok(End {
        // SAFETY: `len` is at least `bytes()`, which is more than the header.
        slots: unsafe { memory.add(HEADER_BYTES) },
        header,
        offset: 0,
        stride,
        span: stride * geometry.slots as usize,
        room: geometry.payload as usize + 1,
    })
}

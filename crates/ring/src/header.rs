//! What stands before the slots, and before the payload of each.
//!
//! # Safety
//!
//! No unsafe code. `layout` relies on both being `repr(C)`: two processes read them.

use crate::sync::{AtomicU32, UnsafeCell};

/// Bytes before the first slot.
pub const HEADER_BYTES: usize = size_of::<Header>();

/// Bytes of a slot before its payload.
pub(crate) const HEAD: usize = size_of::<SlotHead>();

#[derive(Clone, Copy)]
#[repr(C)]
pub(crate) struct Facts {
    pub(crate) magic: u64,
    pub(crate) slots: u32,
    pub(crate) payload: u32,
    pub(crate) stride: u32,
}

/// 128: two lines, because the adjacent-line prefetcher of x86 moves lines in pairs. Nothing in it
/// is written while messages flow, so that the reads of `closed` while waiting hit the own cache.
#[repr(C, align(128))]
pub(crate) struct Header {
    pub(crate) facts: Facts,
    pub(crate) claims: [AtomicU32; 2],
    pub(crate) closed: AtomicU32,
}

/// The start of a slot. `len` is guarded by `word`, and so is the payload behind it: every access
/// to the payload happens inside an access to `len`, which is how loom sees it.
#[repr(C)]
pub(crate) struct SlotHead {
    pub(crate) word: AtomicU32,
    pub(crate) len: UnsafeCell<u32>,
}

//! The one file that differs under loom: atomics, the cell, the spin hint, and orderings that can be weakened.
//!
//! # Safety
//!
//! No unsafe code; the cell only hands out raw pointers.

#[cfg(not(loom))]
pub(crate) use core::{
    hint::spin_loop,
    sync::atomic::{AtomicU32, Ordering},
};
#[cfg(loom)]
pub(crate) use loom::{
    cell::UnsafeCell,
    hint::spin_loop,
    sync::atomic::{AtomicU32, Ordering},
};

/// The standard cell with loom's interface: an access is a call, so that loom can see its extent.
#[cfg(not(loom))]
#[repr(transparent)]
pub(crate) struct UnsafeCell<T>(core::cell::UnsafeCell<T>);

#[cfg(not(loom))]
impl<T> UnsafeCell<T> {
    pub(crate) const fn new(value: T) -> Self {
        Self(core::cell::UnsafeCell::new(value))
    }

    #[inline(always)]
    pub(crate) fn with<R>(&self, read: impl FnOnce(*const T) -> R) -> R {
        read(self.0.get())
    }

    #[inline(always)]
    pub(crate) fn with_mut<R>(&self, write: impl FnOnce(*mut T) -> R) -> R {
        write(self.0.get())
    }
}

/// Where the ring orders memory. Under loom each can be weakened, to see that a check fails then.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(not(loom), expect(unreachable_pub, reason = "loom's tests reach it"))]
pub enum Site {
    /// A look at whose turn it is, which guards the slot's bytes.
    Look,
    /// A look at whether the peer has closed, which guards its last messages.
    LookAtClosed,
    /// Passing a slot on without a look for sleepers.
    TurnOfSpin,
    /// Passing a slot on with a look for sleepers.
    TurnOfSleep,
    /// Rousing a peer that may sleep, after closing.
    Rouse,
    /// Announcing that this end is about to sleep.
    Announce,
    /// Closing.
    Close,
}

impl Site {
    /// All of them.
    #[cfg(loom)]
    pub const ALL: [Self; 7] = [
        Self::Look,
        Self::LookAtClosed,
        Self::TurnOfSpin,
        Self::TurnOfSleep,
        Self::Rouse,
        Self::Announce,
        Self::Close,
    ];

    /// Acquire, where loom has not weakened this site.
    #[cfg_attr(not(loom), inline(always))]
    pub(crate) fn acquire(self) -> Ordering {
        if self.is_weak() { Ordering::Relaxed } else { Ordering::Acquire }
    }

    /// Release, where loom has not weakened this site.
    #[cfg_attr(not(loom), inline(always))]
    pub(crate) fn release(self) -> Ordering {
        if self.is_weak() { Ordering::Relaxed } else { Ordering::Release }
    }

    #[cfg(not(loom))]
    #[inline(always)]
    const fn is_weak(self) -> bool {
        false
    }

    #[cfg(loom)]
    fn is_weak(self) -> bool {
        WEAK.get() == Some(self)
    }

    /// Makes this site Relaxed in all that this thread does from now on.
    #[cfg(loom)]
    pub fn weaken(self) {
        WEAK.set(Some(self));
    }
}

#[cfg(loom)]
extern crate std;

#[cfg(loom)]
std::thread_local! {
    /// Loom runs the threads of a check on the thread that started it.
    static WEAK: core::cell::Cell<Option<Site>> = const { core::cell::Cell::new(None) };
}

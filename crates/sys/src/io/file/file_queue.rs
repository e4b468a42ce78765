//! A queue in a mapped file, one for each direction: two indices, then slots. An end that reads or moves an index holds
//! the lock; an end that finds the queue full or empty lets go of it and yields the processor before it looks again.
//!
//! # Safety
//! - A queue's file has the layout both ends compute from the same numbers; it was checked to be long enough when it
//!   was attached, and the mapping lives as long as the [`Queue`].
//! - A slot belongs to the sender from the moment it has read, under the lock, that the slot is free until it has moved
//!   the tail beyond it, again under the lock; then to the receiver, until it has moved the head beyond it. So a
//!   slice into a slot never meets another access, whether or not the lock is held meanwhile. There is one sender
//!   and one receiver.

use crate::io::file::file_lock::{Lock, MUTEX};
use crate::io::memory::segment::Segment;
use crate::io::names::Unlink;
use crate::io::raw;
use ipcperf_core::{Fault, SetupError};
use std::marker::PhantomData;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// The largest message: 1 GiB.
pub const MAX_MESSAGE: usize = 1 << 30;

/// Messages that an amortising end fills before it takes the lock, where there are twice as many slots: one lock for
/// sixteen messages makes its cost small beside theirs, and still shows them soon.
const BATCH: u64 = 16;

/// The start of the file. The mutex has the lines behind it.
#[repr(C, align(128))]
struct FileQueueHead {
    /// Messages taken so far.
    head: AtomicU64,
    /// Messages filled so far.
    tail: AtomicU64,
    closed: AtomicU32,
}

/// Where the first slot is.
const SLOTS: usize = MUTEX + 128;
const _: () = assert!(size_of::<FileQueueHead>() <= MUTEX);

/// Bytes of a slot before its payload: the length.
const LEN: usize = 8;

/// How many slots of which size a queue has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QueueLayout {
    /// A power of two.
    slots: usize,
    stride: usize,
    size: usize,
}

impl QueueLayout {
    /// Slots for messages of up to `size` bytes in about `budget` bytes, between 2 and 1024 of them.
    #[must_use]
    pub fn new(size: usize, budget: usize) -> Self {
        let size = size.min(MAX_MESSAGE);
        // Whole cache lines, so that no two slots share one.
        let stride = (size + LEN).next_multiple_of(64);
        // Half as much again before rounding down to a power of two: rounding to the nearest.
        let slots = 1 << (budget.saturating_add(budget / 2) / stride).clamp(2, 1024).ilog2();
        Self { slots, stride, size }
    }

    /// Bytes of the file.
    #[must_use]
    pub fn bytes(self) -> usize {
        SLOTS + self.slots * self.stride
    }
}

/// Makes the file of one direction, which goes with the value returned.
///
/// # Errors
/// There is no space, or the call that failed.
pub fn create<L: Lock>(path: PathBuf, layout: QueueLayout) -> Result<Unlink, SetupError> {
    let (memory, name) = Segment::create_named(path, layout.bytes())?;
    L::init(&memory)?;
    // Some file systems have no locks.
    L::lock(&memory)?;
    L::unlock(&memory)?;
    Ok(name)
}

/// One end of one direction.
#[derive(Debug)]
pub struct Queue<L> {
    memory: Segment,
    layout: QueueLayout,
    /// Messages this end has filled or taken.
    mine: u64,
    /// How many of them the peer has been told of.
    told: u64,
    /// How far this end may go as it has last read under the lock: to the end of the free slots, or of the full ones.
    bound: u64,
    batch: u64,
    _lock: PhantomData<L>,
}

impl<L: Lock> Queue<L> {
    /// Opens the sending end of a queue.
    ///
    /// # Errors
    /// The file cannot be opened or mapped, or is too short.
    pub fn sender(path: &Path, layout: QueueLayout) -> Result<Self, SetupError> {
        Self::attach(path, layout, layout.slots as u64)
    }

    /// Opens the receiving end of a queue.
    ///
    /// # Errors
    /// As [`Queue::sender`].
    pub fn receiver(path: &Path, layout: QueueLayout) -> Result<Self, SetupError> {
        Self::attach(path, layout, 0)
    }

    fn attach(path: &Path, layout: QueueLayout, bound: u64) -> Result<Self, SetupError> {
        let memory = Segment::open_named(path)?;
        if memory.len() < layout.bytes() {
            return Err(SetupError::Protocol("the file is shorter than its queue".into()));
        }
        let batch = BATCH.min(layout.slots as u64 / 2);
        Ok(Self { memory, layout, mine: 0, told: 0, bound, batch, _lock: PhantomData })
    }

    #[inline(always)]
    fn indices(&self) -> &FileQueueHead {
        // SAFETY: the start of the mapping, which is longer; atomics only.
        unsafe { &*self.memory.as_ptr().cast::<FileQueueHead>() }
    }

    /// Address of the slot that comes next.
    #[inline(always)]
    fn slot(&self) -> *mut u8 {
        let index = self.mine as usize & (self.layout.slots - 1);
        // SAFETY: the index is below the number of slots, all of which lie in the mapping.
        unsafe { self.memory.as_ptr().add(SLOTS + index * self.layout.stride) }
    }

    /// Writes the next message into its slot.
    #[inline(always)]
    fn fill(&mut self, len: usize, fill: impl FnOnce(&mut [u8])) {
        let slot = self.slot();
        // SAFETY: the slot is this end's (see the module) and begins with room for a length, aligned to 64.
        unsafe { slot.cast::<u64>().write(len as u64) };
        // SAFETY: `len` was compared with the size of a slot; the bytes are initialised, as all of the file is.
        fill(unsafe { std::slice::from_raw_parts_mut(slot.add(LEN), len) });
        self.mine += 1;
    }

    /// Copies the next message out of its slot.
    #[inline(always)]
    fn take(&mut self, out: &mut [u8]) -> Result<(), Fault> {
        let slot = self.slot();
        // SAFETY: the slot is this end's (see the module) and begins with its length.
        let len = unsafe { slot.cast::<u64>().read() };
        self.mine += 1;
        if len != out.len() as u64 || out.len() > self.layout.size {
            return Err(Fault::Truncated);
        }
        // SAFETY: as above; the length was compared with the size of a slot.
        out.copy_from_slice(unsafe { std::slice::from_raw_parts(slot.add(LEN), out.len()) });
        Ok(())
    }

    /// With the lock held: tells the peer of what was filled, and learns how many slots are free.
    #[inline(always)]
    fn meet_as_sender(&mut self) {
        self.told = self.mine;
        self.indices().tail.store(self.mine, Ordering::Release);
        self.bound = self.indices().head.load(Ordering::Acquire) + self.layout.slots as u64;
    }

    /// With the lock held: gives back what was taken, and learns how many messages there are.
    #[inline(always)]
    fn meet_as_receiver(&mut self) {
        self.told = self.mine;
        self.indices().head.store(self.mine, Ordering::Release);
        self.bound = self.indices().tail.load(Ordering::Acquire);
    }

    /// Sends one message: waits for a free slot, fills it and tells the peer, all under one lock.
    ///
    /// # Errors
    /// [`Fault::TooLong`], or what the lock says.
    #[inline(always)]
    pub fn send(&mut self, len: usize, fill: impl FnOnce(&mut [u8])) -> Result<(), Fault> {
        if len > self.layout.size {
            return Err(Fault::TooLong);
        }
        L::lock(&self.memory)?;
        self.meet_as_sender();
        while self.mine == self.bound {
            self.let_go()?;
            self.meet_as_sender();
        }
        self.fill(len, fill);
        self.meet_as_sender();
        L::unlock(&self.memory)
    }

    /// Receives one message into `out`: waits for it, copies it and gives the slot back, all under one lock.
    ///
    /// # Errors
    /// [`Fault::Closed`], [`Fault::Truncated`] for a message of another length, or what the lock says.
    #[inline(always)]
    pub fn receive(&mut self, out: &mut [u8]) -> Result<(), Fault> {
        L::lock(&self.memory)?;
        self.meet_as_receiver();
        while self.mine == self.bound {
            self.closed()?;
            self.let_go()?;
            self.meet_as_receiver();
        }
        let taken = self.take(out);
        self.meet_as_receiver();
        L::unlock(&self.memory)?;
        taken
    }

    /// Fills one message and tells the peer when a batch is full, or when there is no free slot left.
    ///
    /// # Errors
    /// As [`Queue::send`].
    #[inline(always)]
    pub fn send_amortised(
        &mut self,
        len: usize,
        fill: impl FnOnce(&mut [u8]),
    ) -> Result<(), Fault> {
        if len > self.layout.size {
            return Err(Fault::TooLong);
        }
        if self.mine == self.bound {
            self.wait_for_room()?;
        }
        self.fill(len, fill);
        if self.mine - self.told >= self.batch { self.publish() } else { Ok(()) }
    }

    /// Tells the peer of what was filled since it was last told.
    ///
    /// # Errors
    /// What the lock says.
    #[inline(always)]
    pub fn flush(&mut self) -> Result<(), Fault> {
        if self.mine == self.told { Ok(()) } else { self.publish() }
    }

    /// Receives one message of those that were there when the lock was last held; takes it only when none is left.
    ///
    /// # Errors
    /// As [`Queue::receive`].
    #[inline(always)]
    pub fn receive_amortised(&mut self, out: &mut [u8]) -> Result<(), Fault> {
        if self.mine == self.bound {
            self.wait_for_messages()?;
        }
        self.take(out)
    }

    #[inline(never)]
    fn publish(&mut self) -> Result<(), Fault> {
        L::lock(&self.memory)?;
        self.meet_as_sender();
        L::unlock(&self.memory)
    }

    #[inline(never)]
    fn wait_for_room(&mut self) -> Result<(), Fault> {
        L::lock(&self.memory)?;
        self.meet_as_sender();
        while self.mine == self.bound {
            self.let_go()?;
            self.meet_as_sender();
        }
        L::unlock(&self.memory)
    }

    #[inline(never)]
    fn wait_for_messages(&mut self) -> Result<(), Fault> {
        L::lock(&self.memory)?;
        self.meet_as_receiver();
        while self.mine == self.bound {
            self.closed()?;
            self.let_go()?;
            self.meet_as_receiver();
        }
        L::unlock(&self.memory)
    }

    /// With the lock held and nothing to receive: gives the lock back and says so if nothing will come.
    #[inline(always)]
    fn closed(&self) -> Result<(), Fault> {
        if self.indices().closed.load(Ordering::Relaxed) == 0 {
            return Ok(());
        }
        L::unlock(&self.memory)?;
        Err(Fault::Closed)
    }

    /// Lets the peer have the lock and the processor, then takes the lock again.
    #[inline(never)]
    fn let_go(&self) -> Result<(), Fault> {
        L::unlock(&self.memory)?;
        // SAFETY: takes nothing, changes nothing. It cannot fail on Linux.
        let _ = unsafe { raw::call3(libc::SYS_sched_yield, 0, 0, 0) };
        L::lock(&self.memory)
    }

    /// Ends the direction: the receiver drains, then sees the end.
    ///
    /// # Errors
    /// What the lock says.
    pub fn close(&mut self) -> Result<(), Fault> {
        L::lock(&self.memory)?;
        self.meet_as_sender();
        self.indices().closed.store(1, Ordering::Relaxed);
        L::unlock(&self.memory)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::io::file::file_lock::{FileLock, RobustMutex};

    fn drains<L: Lock>(amortised: bool) {
        let home = tempfile::tempdir().expect("a directory");
        let (path, layout) = (home.path().join("queue"), QueueLayout::new(100, 4096));
        let name = create::<L>(path.clone(), layout).expect("a queue");
        let mut tx = Queue::<L>::sender(&path, layout).expect("the sending end");
        let mut rx = Queue::<L>::receiver(&path, layout).expect("the receiving end");
        let sender = std::thread::spawn(move || {
            for number in 0..1000_u32 {
                let len = number as usize % 101;
                let fill = |out: &mut [u8]| out.fill(number as u8);
                if amortised { tx.send_amortised(len, fill) } else { tx.send(len, fill) }
                    .expect("room comes");
            }
            assert_eq!(tx.send(101, |_| ()), Err(Fault::TooLong));
            tx.close().expect("a lock");
        });
        for number in 0..1000_u32 {
            let mut out = [0; 100];
            let out = &mut out[..number as usize % 101];
            if amortised { rx.receive_amortised(out) } else { rx.receive(out) }
                .expect("a message comes");
            assert!(out.iter().all(|byte| *byte == number as u8), "message {number}");
        }
        assert_eq!(rx.receive(&mut []), Err(Fault::Closed));
        sender.join().expect("it does not panic");
        drop(name);
        assert!(!path.exists());
    }

    #[test]
    fn everything_arrives_in_order_and_then_the_end() {
        // Not with record locks: they belong to the process, so two threads do not exclude each other.
        drains::<FileLock>(false);
        drains::<FileLock>(true);
        drains::<RobustMutex>(false);
    }

    #[test]
    fn a_holder_that_died_is_told_and_the_lock_is_free_again() {
        let home = tempfile::tempdir().expect("a directory");
        let path = home.path().join("queue");
        let (memory, _name) = Segment::create_named(path, 1).expect("memory");
        RobustMutex::init(&memory).expect("a mutex");
        let memory = std::thread::spawn(move || {
            // A thread that ends is to the mutex what a process is.
            RobustMutex::lock(&memory).expect("it is free");
            memory
        });
        let memory = memory.join().expect("it does not panic");
        assert_eq!(RobustMutex::lock(&memory), Err(Fault::PeerDied));
        assert_eq!(RobustMutex::lock(&memory), Ok(()));
        assert_eq!(RobustMutex::unlock(&memory), Ok(()));
    }
}

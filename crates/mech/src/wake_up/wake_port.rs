//! Wake-ups: the mechanism's own word carries the proof.

use crate::port::whole;
use crate::wait::{self, Wait};
use ipcperf_core::options::NoOptions;
use ipcperf_core::{Attach, Fault, Port, Seat, SetupError};
use ipcperf_sys::io::epoll::Interest;
use ipcperf_sys::io::wake::word::WakeWords;
use ipcperf_sys::io::{errno, futex, stream};
use std::hint::spin_loop;
use std::marker::PhantomData;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::atomic::{AtomicU32, Ordering};

/// Two event counters. The eight bytes of a message are added to the peer's counter, and a receive takes and clears
/// the sum; one message at a time may be under way.
pub struct CounterPort<W: Wait> {
    reader: W::Gate,
    writer: W::Gate,
    rx: OwnedFd,
    tx: OwnedFd,
    _wait: PhantomData<W>,
}

impl<W: Wait> CounterPort<W> {
    /// One counter for each direction.
    ///
    /// # Errors
    /// Waiting could not be set up.
    pub fn new(rx: OwnedFd, tx: OwnedFd) -> Result<Self, SetupError> {
        let reader = W::gate(&rx, Interest::Readable)?;
        let writer = W::gate(&tx, Interest::Writable)?;
        Ok(Self { reader, writer, rx, tx, _wait: PhantomData })
    }

    #[cold]
    #[inline(never)]
    fn add_again(&self, word: [u8; 8], first: Result<usize, i32>) -> Result<(), Fault> {
        let add = || W::send(&self.writer, || stream::write(self.tx.as_fd(), &word));
        match whole(word.len(), first, add) {
            // The value was u64::MAX, which a counter cannot hold.
            Err(Fault::Sys(errno::EINVAL)) => Err(Fault::TooLong),
            added => added,
        }
    }

    #[cold]
    #[inline(never)]
    fn take_again(&self, first: Result<usize, i32>) -> Result<[u8; 8], Fault> {
        let mut word = [0; 8];
        let take = || W::receive(&self.reader, || stream::read(self.rx.as_fd(), &mut word));
        whole(size_of::<u64>(), first, take)?;
        Ok(word)
    }
}

impl<W: Wait> Port for CounterPort<W> {
    #[inline(always)]
    fn send(&mut self, _: usize, fill: impl FnOnce(&mut [u8])) -> Result<(), Fault> {
        let mut word = [0; 8];
        fill(&mut word);
        let step = W::send(&self.writer, || stream::write(self.tx.as_fd(), &word));
        if step == Ok(8) { Ok(()) } else { self.add_again(word, step) }
    }

    #[inline(always)]
    fn recv<T>(
        &mut self,
        _: usize,
        take: impl FnOnce(&[u8]) -> Result<T, Fault>,
    ) -> Result<T, Fault> {
        let mut word = [0; 8];
        let step = W::receive(&self.reader, || stream::read(self.rx.as_fd(), &mut word));
        if step != Ok(8) {
            word = self.take_again(step)?;
        }
        take(&word)
    }

    fn finish(&mut self) -> Result<(), Fault> {
        // A counter has no end that could be closed.
        Ok(())
    }
}

/// How the ends of a futex word sleep and wake, as a type.
pub trait Sleep: Sized + 'static {
    /// How often the receiver looks at the word before it goes to sleep.
    const SPINS: u32;

    /// What an end needs for it.
    ///
    /// # Errors
    /// The host refuses it.
    fn new() -> Result<Self, SetupError>;

    /// Wakes one sleeper.
    ///
    /// # Errors
    /// The failed call.
    fn wake(&mut self, word: &AtomicU32) -> Result<(), Fault>;

    /// Sleeps while the word is as `seen`; may return early.
    ///
    /// # Errors
    /// The failed call.
    fn wait(&mut self, word: &AtomicU32, seen: u32) -> Result<(), Fault>;
}

macro_rules! by_call {
    ($name:ident, $spins:expr) => {
        impl Sleep for wait::$name {
            const SPINS: u32 = $spins;

            fn new() -> Result<Self, SetupError> {
                Ok(Self)
            }

            #[inline(always)]
            fn wake(&mut self, word: &AtomicU32) -> Result<(), Fault> {
                futex::wake(word);
                Ok(())
            }

            #[inline(always)]
            fn wait(&mut self, word: &AtomicU32, seen: u32) -> Result<(), Fault> {
                futex::wait(word, seen);
                Ok(())
            }
        }
    };
}

by_call!(Block, 0);
by_call!(Adaptive, futex::SPINS);

/// Two words in shared memory with a futex each. Every send wakes, every receive that comes first sleeps in the end.
pub struct FutexPort<S> {
    words: WakeWords,
    seat: Seat,
    /// The turn of the last wake-up received.
    seen: u32,
    sleep: S,
}

impl<S: Sleep> FutexPort<S> {
    /// The end that has attached.
    ///
    /// # Errors
    /// The wiring is not of such a channel, or the host refuses it.
    pub fn new(mut end: Attach<'_, NoOptions>) -> Result<Self, SetupError> {
        let [memory] = end.descriptors()?;
        let words = WakeWords::attach(memory)?;
        Ok(Self { words, seat: end.seat, seen: 0, sleep: S::new()? })
    }
}

impl<S: Sleep> Port for FutexPort<S> {
    #[inline(always)]
    fn send(&mut self, _: usize, fill: impl FnOnce(&mut [u8])) -> Result<(), Fault> {
        let mut word = [0; 4];
        fill(&mut word);
        let line = self.words.of(self.seat);
        // This end is the only writer of the line, so a load and a store are an increment. Release: a reader that sees the
        // turn sees the value.
        line.value.store(u32::from_ne_bytes(word), Ordering::Relaxed);
        line.turn.store(line.turn.load(Ordering::Relaxed).wrapping_add(1), Ordering::Release);
        self.sleep.wake(&line.turn)
    }

    #[inline(always)]
    fn recv<T>(
        &mut self,
        _: usize,
        take: impl FnOnce(&[u8]) -> Result<T, Fault>,
    ) -> Result<T, Fault> {
        let line = self.words.of(self.seat.other());
        let mut turn = line.turn.load(Ordering::Acquire);
        let mut spins = S::SPINS;
        while turn == self.seen {
            if spins > 0 {
                spins -= 1;
                spin_loop();
            } else {
                self.sleep.wait(&line.turn, self.seen)?;
            }
            turn = line.turn.load(Ordering::Acquire);
        }
        self.seen = self.seen.wrapping_add(1);
        if turn != self.seen {
            // Two wake-ups became one: the sender did not wait for its credit.
            return Err(Fault::Corrupt);
        }
        take(&line.value.load(Ordering::Relaxed).to_ne_bytes())
    }

    fn finish(&mut self) -> Result<(), Fault> {
        // A word has no end that could be closed.
        Ok(())
    }
}

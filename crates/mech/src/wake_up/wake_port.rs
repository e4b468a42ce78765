//! Wake-ups: the mechanism's own word carries the proof.

use crate::port::fault;
use crate::wait::{self, Wait};
use ipcperf_core::{Fault, Port, Seat, SetupError};
use ipcperf_sys::io::epoll::Interest;
use ipcperf_sys::io::wake::word::WakeWords;
use ipcperf_sys::io::{errno, futex, stream};
use std::hint::spin_loop;
use std::marker::PhantomData;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::atomic::Ordering;

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
        let mut step = first;
        loop {
            match step {
                Ok(8) => return Ok(()),
                Ok(_) => return Err(Fault::Truncated),
                Err(errno::EINTR) => {}
                // The value was u64::MAX, which a counter cannot hold.
                Err(errno::EINVAL) => return Err(Fault::TooLong),
                Err(code) => return Err(fault(code)),
            }
            step = W::send(&self.writer, || stream::write(self.tx.as_fd(), &word));
        }
    }

    #[cold]
    #[inline(never)]
    fn take_again(&self, first: Result<usize, i32>) -> Result<[u8; 8], Fault> {
        let mut word = [0; 8];
        let mut step = first;
        loop {
            match step {
                Ok(8) => return Ok(word),
                Ok(_) => return Err(Fault::Truncated),
                Err(errno::EINTR) => {}
                Err(code) => return Err(fault(code)),
            }
            step = W::receive(&self.reader, || stream::read(self.rx.as_fd(), &mut word));
        }
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

/// How the receiver of a futex word waits, as a type.
pub trait Sleep: 'static {
    /// Looks at the word before it goes to sleep.
    const SPINS: u32;
}

impl Sleep for wait::Block {
    const SPINS: u32 = 0;
}

impl Sleep for wait::Adaptive {
    const SPINS: u32 = futex::SPINS;
}

/// Two words in shared memory with a futex each. Every send wakes, every receive that comes first sleeps in the end.
pub struct FutexPort<S> {
    words: WakeWords,
    seat: Seat,
    /// The turn of the last wake-up received.
    seen: u32,
    _sleep: PhantomData<S>,
}

impl<S: Sleep> FutexPort<S> {
    /// The end of `seat`: the lead sends on the first word.
    #[must_use]
    pub fn new(words: WakeWords, seat: Seat) -> Self {
        Self { words, seat, seen: 0, _sleep: PhantomData }
    }
}

impl<S: Sleep> Port for FutexPort<S> {
    #[inline(always)]
    fn send(&mut self, _: usize, fill: impl FnOnce(&mut [u8])) -> Result<(), Fault> {
        let mut word = [0; 4];
        fill(&mut word);
        let line = match self.seat {
            Seat::Lead => self.words.ping(),
            Seat::Follow => self.words.pong(),
        };
        // This end is the only writer of the line, so a load and a store are an increment. Release: whoever sees the
        // turn sees the value.
        line.value.store(u32::from_ne_bytes(word), Ordering::Relaxed);
        line.turn.store(line.turn.load(Ordering::Relaxed).wrapping_add(1), Ordering::Release);
        futex::wake(&line.turn);
        Ok(())
    }

    #[inline(always)]
    fn recv<T>(
        &mut self,
        _: usize,
        take: impl FnOnce(&[u8]) -> Result<T, Fault>,
    ) -> Result<T, Fault> {
        let line = match self.seat {
            Seat::Lead => self.words.pong(),
            Seat::Follow => self.words.ping(),
        };
        let mut turn = line.turn.load(Ordering::Acquire);
        let mut spins = S::SPINS;
        while turn == self.seen {
            if spins > 0 {
                spins -= 1;
                spin_loop();
            } else {
                futex::wait(&line.turn, self.seen);
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

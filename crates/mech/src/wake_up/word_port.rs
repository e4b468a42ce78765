//! Wake-ups of eight bytes, and wake-ups without room whose eight bytes lie in shared memory.

use crate::port::fault;
use ipcperf_core::{Fault, Port};
use ipcperf_sys::io::errno;
use ipcperf_sys::io::wake::proof::Words;

/// One end of what moves eight bytes with a wake-up.
pub trait Courier: 'static {
    /// Sends one word.
    ///
    /// # Errors
    /// The `errno`. After `EINTR`, and after `EAGAIN` where there was no room, nothing has been sent.
    fn give(&mut self, word: u64) -> Result<(), i32>;

    /// Takes one word; sleeps while there is none.
    ///
    /// # Errors
    /// The `errno`. After `EINTR` nothing has been taken.
    fn take(&mut self) -> Result<u64, i32>;
}

/// One end of a channel of words.
pub struct WordPort<C>(C);

impl<C: Courier> WordPort<C> {
    /// A port over `courier`.
    #[must_use]
    pub fn new(courier: C) -> Self {
        Self(courier)
    }

    #[cold]
    #[inline(never)]
    fn give_again(&mut self, word: u64, mut code: i32) -> Result<(), Fault> {
        loop {
            match code {
                errno::EINTR => {}
                // Full. Nothing tells when there is room again.
                errno::EAGAIN => std::thread::yield_now(),
                code => return Err(fault(code)),
            }
            match self.0.give(word) {
                Ok(()) => return Ok(()),
                Err(again) => code = again,
            }
        }
    }

    #[cold]
    #[inline(never)]
    fn take_again(&mut self, mut code: i32) -> Result<u64, Fault> {
        while code == errno::EINTR {
            match self.0.take() {
                Ok(word) => return Ok(word),
                Err(again) => code = again,
            }
        }
        Err(fault(code))
    }
}

impl<C: Courier> Port for WordPort<C> {
    #[inline(always)]
    fn send(&mut self, _: usize, fill: impl FnOnce(&mut [u8])) -> Result<(), Fault> {
        let mut word = [0; 8];
        fill(&mut word);
        let word = u64::from_ne_bytes(word);
        match self.0.give(word) {
            Ok(()) => Ok(()),
            Err(code) => self.give_again(word, code),
        }
    }

    #[inline(always)]
    fn recv<T>(
        &mut self,
        _: usize,
        take: impl FnOnce(&[u8]) -> Result<T, Fault>,
    ) -> Result<T, Fault> {
        let word = match self.0.take() {
            Ok(word) => word,
            Err(code) => self.take_again(code)?,
        };
        take(&word.to_ne_bytes())
    }

    fn finish(&mut self) -> Result<(), Fault> {
        // What only wakes has no end that could be closed.
        Ok(())
    }
}

/// One end of a wake-up that carries nothing.
pub trait Bell: 'static {
    /// Wakes the peer.
    ///
    /// # Errors
    /// As [`Courier::give`].
    fn ring(&mut self) -> Result<(), i32>;

    /// Waits to be woken.
    ///
    /// # Errors
    /// As [`Courier::take`].
    fn hear(&mut self) -> Result<(), i32>;
}

/// A bell with words of proof beside it: written before the wake-up, read after it.
pub struct Beside<B> {
    bell: B,
    words: Words,
}

impl<B> Beside<B> {
    /// Puts the words of a channel beside its bell.
    #[must_use]
    pub fn new(bell: B, words: Words) -> Self {
        Self { bell, words }
    }
}

impl<B: Bell> Courier for Beside<B> {
    #[inline(always)]
    fn give(&mut self, word: u64) -> Result<(), i32> {
        self.words.write(word);
        self.bell.ring()?;
        self.words.sent();
        Ok(())
    }

    #[inline(always)]
    fn take(&mut self) -> Result<u64, i32> {
        self.bell.hear()?;
        Ok(self.words.read())
    }
}

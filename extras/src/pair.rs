//! One end of a pair of sockets of a library that tells nothing of a peer that closes, and loses what that has not read by
//! then: an end here says that it ends, and waits until its peer has read.

use ipcperf::prelude::*;
use ipcperf::tools::fault;
use ipcperf::tools::{Buffer, errno};
use std::time::{Duration, Instant};

/// What ends tell each other beside messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Word {
    /// No message comes after this.
    End,
    /// All was read up to the peer's end.
    Read,
}

/// A socket of a pair. Errors are those of `errno`, of which `EINTR` means to try again.
pub trait Pair {
    /// Copies a message to the library, and waits where there is no room.
    fn send(&mut self, message: &[u8]) -> Result<(), i32>;
    /// Says a word, at once or not at all (`EAGAIN`).
    fn try_tell(&mut self, word: Word) -> Result<(), i32>;
    /// Waits for what comes next, a message or a word, in place of what came last.
    fn receive(&mut self) -> Result<(), i32>;
    /// The same if there is one (`EAGAIN`).
    fn try_receive(&mut self) -> Result<(), i32>;
    /// What came last, if it is a word.
    fn word(&self) -> Option<Word>;
    /// What came last, if it is a message.
    fn message(&mut self) -> &[u8];
}

/// One end: a socket, and the memory that a message is written in.
pub struct PairPort<P: Pair> {
    pair: P,
    buffer: Buffer,
    /// A message was received and not shown yet.
    is_held: bool,
    /// The peer has finished.
    has_ended: bool,
    /// This end has finished, and has not heard that its peer has read all.
    awaits: bool,
}

/// Makes a call until nothing interrupts it.
fn whole<T>(mut call: impl FnMut() -> Result<T, i32>) -> Result<T, Fault> {
    loop {
        match call() {
            Err(errno::EINTR) => {}
            done => return done.map_err(fault),
        }
    }
}

impl<P: Pair> PairPort<P> {
    pub(crate) fn new(pair: P, shape: &Shape) -> Result<Self, SetupError> {
        let buffer = Buffer::new(shape.size, shape.buffer_offset)?;
        Ok(Self { pair, buffer, is_held: false, has_ended: false, awaits: false })
    }

    fn hear(&mut self, word: Word) {
        match word {
            Word::End => {
                self.has_ended = true;
                // A peer that is gone need not know.
                let _ = self.pair.try_tell(Word::Read);
            }
            Word::Read => self.awaits = false,
        }
    }
}

impl<P: Pair> Port for PairPort<P> {
    fn send(&mut self, len: usize, fill: impl FnOnce(&mut [u8])) -> Result<(), Fault> {
        let out = self.buffer.get_mut(len).ok_or(Fault::TooLong)?;
        fill(out);
        whole(|| self.pair.send(out))
    }

    fn recv<T>(
        &mut self,
        len: usize,
        take: impl FnOnce(&[u8]) -> Result<T, Fault>,
    ) -> Result<T, Fault> {
        while !self.has_ended {
            if !std::mem::take(&mut self.is_held) {
                whole(|| self.pair.receive())?;
            }
            let Some(word) = self.pair.word() else {
                let message = self.pair.message();
                return if message.len() == len { take(message) } else { Err(Fault::Truncated) };
            };
            self.hear(word);
        }
        Err(Fault::Closed)
    }

    fn finish(&mut self) -> Result<(), Fault> {
        let began = Instant::now();
        loop {
            match self.pair.try_tell(Word::End) {
                Ok(()) => break,
                Err(errno::EAGAIN) => {}
                Err(errno::EINTR) => continue,
                Err(code) => return Err(fault(code)),
            }
            // There is no room, or nobody: a peer that has finished may be gone, and need not know.
            if self.has_ended || began.elapsed() > LINGER {
                return Ok(());
            }
            if !self.is_held && self.pair.try_receive().is_ok() {
                match self.pair.word() {
                    Some(word) => self.hear(word),
                    None => self.is_held = true,
                }
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        self.awaits = true;
        Ok(())
    }
}

/// How long an end that finishes waits for room, and then for its peer to read.
const LINGER: Duration = Duration::from_secs(30);

/// The same where the peer has finished too, and may be gone, or this end is let go of as it is.
const SHORT: Duration = Duration::from_millis(500);

/// What a socket is given for its last word, which nobody answers.
const PARTING: Duration = Duration::from_millis(5);

impl<P: Pair> Drop for PairPort<P> {
    fn drop(&mut self) {
        let (began, has_finished) = (Instant::now(), self.awaits);
        let limit = if has_finished { LINGER } else { SHORT };
        let mut is_untold = !has_finished;
        while (self.awaits || is_untold)
            && began.elapsed() < if self.has_ended { SHORT } else { limit }
        {
            if is_untold && self.pair.try_tell(Word::End).is_ok() {
                (is_untold, self.awaits) = (false, true);
            }
            match self.pair.try_receive() {
                // Messages come while nobody waits for them any more.
                Ok(()) => {
                    if let Some(word) = self.pair.word() {
                        self.hear(word);
                    }
                }
                Err(errno::EAGAIN | errno::EINTR) => {
                    std::thread::sleep(Duration::from_micros(200));
                }
                Err(_) => return,
            }
        }
        // The answer to what the peer told last is under way.
        if self.has_ended {
            std::thread::sleep(PARTING);
        }
    }
}

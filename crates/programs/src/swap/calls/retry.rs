//! Trying again what waits for room or for data.

use super::waiting::DelayedAnswer;
use super::{Answer, Exchange, transfer};
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::time::{Duration, Instant};

/// As many of those calls are looked at each time.
const LOOKED_AT: usize = 4;

impl Exchange {
    /// Whether something waits that nobody announces: [`Self::retry`] is due within a few ms.
    #[must_use]
    pub(crate) fn is_waiting(&self) -> bool {
        self.waiting.iter().any(|waiting| waiting.awaited().is_none())
    }

    /// Whether something waits that a signal would interrupt: [`Self::retry`] is due within [`super::SIGNALS_WITHIN`].
    #[must_use]
    pub(crate) fn may_be_interrupted(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// From now on signals are looked for at each [`Self::retry`]: programs are asked to end.
    pub(crate) const fn expect_signals(&mut self) {
        self.looks_every = Duration::ZERO;
    }

    /// Descriptors that are readable when [`Self::retry`] is due.
    pub(crate) fn awaited(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        self.waiting.iter().filter_map(DelayedAnswer::awaited).map(AsFd::as_fd)
    }

    /// Tries again what waits.
    ///
    /// # Errors
    /// The listener's.
    pub(crate) fn retry(&mut self) -> io::Result<()> {
        if self.waiting.is_empty() {
            return Ok(());
        }
        let now = Instant::now();
        let mut to_look = 0;
        if now - self.looked >= self.looks_every {
            self.looked = now;
            to_look = LOOKED_AT;
        }
        let mut waiting = std::mem::take(&mut self.waiting);
        for waiting in waiting.iter().take(to_look) {
            let (waits, is_alone) = waiting.call().signal();
            if waits {
                waiting.call().interrupt(is_alone)?;
            }
        }
        if waiting.len() > to_look {
            waiting.rotate_left(to_look);
        }
        for waiting in waiting {
            let call = waiting.call().clone();
            if !call.waits() {
                continue;
            }
            let is_over = waiting.until().is_some_and(|until| now >= until);
            let is_due = waiting.awaited().is_none_or(transfer::is_readable);
            let answer = match waiting {
                waiting if !is_due && !is_over => {
                    self.waiting.push(waiting);
                    continue;
                }
                _ if is_over && !is_due => Ok(Answer::Value(Err(libc::EAGAIN))),
                DelayedAnswer::Connects { socket, place, client, .. } => {
                    self.reach(&call, socket, &place, client)
                }
                DelayedAnswer::Accepts { listener, until, .. } => self.take(&call, listener, until),
                DelayedAnswer::Transfers(transfer) => self.go_through(transfer),
            };
            self.finish(&call, answer)?;
        }
        Ok(())
    }
}

//! Where each end leaves how far it has come, and how the ends take turns: on the page that they share with their
//! coordinator.

use ipcperf_core::Seat;
use ipcperf_engine::page;
use ipcperf_sys::io::futex;
use std::sync::atomic::Ordering;

/// No more turns: an end has stopped.
const OVER: u32 = u32::MAX;

/// The page.
#[derive(Debug)]
pub(crate) struct Page(pub(crate) page::Page);

impl Page {
    /// A seat begins a step.
    pub(crate) fn begin(&self, seat: Seat, step: usize) {
        self.moved(seat, 0);
        self.0.progress(seat)[0].store(step as u64 + 1, Ordering::Release);
    }

    /// A seat has moved one more message of its step.
    pub(crate) fn moved(&self, seat: Seat, count: u64) {
        self.0.progress(seat)[1].store(count, Ordering::Release);
    }

    /// The step a seat is at, counted from 1 (0: not attached yet), and messages moved in it.
    pub(crate) fn progress(&self, seat: Seat) -> (u64, u64) {
        let [step, count] = self.0.progress(seat);
        (step.load(Ordering::Acquire), count.load(Ordering::Acquire))
    }

    /// Sleeps until it is this turn; `false` if it will never be.
    pub(crate) fn await_turn(&self, turn: u32) -> bool {
        let word = self.0.line();
        loop {
            match word.load(Ordering::Acquire) {
                OVER => return false,
                now if now == turn => return true,
                now => futex::wait(word, now),
            }
        }
    }

    /// It is this turn now.
    pub(crate) fn pass_turn(&self, turn: u32) {
        let word = self.0.line();
        word.store(turn, Ordering::Release);
        futex::wake(word);
    }

    /// Nobody shall wait for this end any more.
    pub(crate) fn end_turns(&self) {
        self.pass_turn(OVER);
    }
}

//! Where each end leaves how far it has come: a page that both workers and their coordinator map.

use ipcperf_core::Seat;
use ipcperf_sys::io::futex;
use ipcperf_sys::shm::SharedMemory;
use std::io;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::sync::atomic::Ordering;

/// Bytes of a seat's part: lines of their own, so that one end's count does not slow the other.
const PART: usize = 128;
/// The word that says whose turn it is, behind the parts of both seats.
const TURN: usize = 2 * PART;
/// No more turns: an end has stopped.
const OVER: u32 = u32::MAX;

/// The page.
#[derive(Debug)]
pub(crate) struct Page(SharedMemory);

impl Page {
    pub(crate) fn create() -> io::Result<Self> {
        SharedMemory::create("ipcperf-conformance", 3 * PART).map(Self)
    }

    pub(crate) fn from_fd(fd: OwnedFd) -> io::Result<Self> {
        SharedMemory::from_fd(fd).map(Self)
    }

    pub(crate) fn fd(&self) -> BorrowedFd<'_> {
        self.0.fd()
    }

    /// Bytes of a page of memory.
    pub(crate) fn bytes(&self) -> usize {
        self.0.len()
    }

    /// A seat begins a step.
    pub(crate) fn begin(&self, seat: Seat, step: usize) {
        self.0.word64(PART * seat.index() + 8).store(0, Ordering::Relaxed);
        self.0.word64(PART * seat.index()).store(step as u64 + 1, Ordering::Release);
    }

    /// A seat has moved one more message of its step.
    pub(crate) fn moved(&self, seat: Seat, count: u64) {
        self.0.word64(PART * seat.index() + 8).store(count, Ordering::Release);
    }

    /// The step a seat is at, counted from 1 (0: not attached yet), and messages moved in it.
    pub(crate) fn progress(&self, seat: Seat) -> (u64, u64) {
        let step = self.0.word64(PART * seat.index()).load(Ordering::Acquire);
        (step, self.0.word64(PART * seat.index() + 8).load(Ordering::Acquire))
    }

    /// Sleeps until it is this turn; `false` if it will never be.
    pub(crate) fn await_turn(&self, turn: u32) -> bool {
        let word = self.0.word(TURN);
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
        let word = self.0.word(TURN);
        word.store(turn, Ordering::Release);
        futex::wake(word);
    }

    /// Nobody shall wait for this end any more.
    pub(crate) fn end_turns(&self) {
        self.pass_turn(OVER);
    }

    /// For the next channel.
    pub(crate) fn reset(&self) {
        self.0.word(TURN).store(0, Ordering::Release);
        for seat in Seat::BOTH {
            self.0.word64(PART * seat.index()).store(0, Ordering::Release);
            self.moved(seat, 0);
        }
    }
}

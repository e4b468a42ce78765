//! Event counters that are semaphores, `EFD_SEMAPHORE` of `eventfd(2)`: one for each direction.

use crate::wake_up::WAKE_UP;
use crate::wake_up::word_port::{Bell, Beside, WordPort};
use ipcperf_core::prelude::*;
use ipcperf_sys::io::stream;
use ipcperf_sys::io::wake::counter;
use ipcperf_sys::io::wake::proof::{self, Words};
use std::os::fd::{AsFd, OwnedFd};

/// Two event counters of which each read takes one.
#[derive(Debug)]
pub struct EventFdSemaphore;

/// One end of both.
pub struct Counters {
    rx: OwnedFd,
    tx: OwnedFd,
}

impl Bell for Counters {
    #[inline(always)]
    fn ring(&mut self) -> Result<(), i32> {
        // A write to a counter is all or nothing.
        stream::write(self.tx.as_fd(), &1_u64.to_ne_bytes()).map(drop)
    }

    #[inline(always)]
    fn hear(&mut self) -> Result<(), i32> {
        // So is a read, and what it reads is always 1.
        stream::read(self.rx.as_fd(), &mut [0; 8]).map(drop)
    }
}

impl Mechanism for EventFdSemaphore {
    const SPEC: &'static Spec = &Spec {
        name: "eventfd-semaphore",
        wait: Wait::Block,
        summary: "Two event counters in semaphore mode, where a write adds one and a read takes one; a reader sleeps in read.",
        manual: &["eventfd(2)"],
        pitfalls: &[
            "A read returns 1 and nothing else: the eight bytes of proof lie in shared memory next to the counter.",
            "Wake-ups are counted and not merged, so a receiver makes as many reads as there were writes.",
            "A writer blocks only at 2^64 - 2; here the proof limits the window to 64.",
            "Both ends hold the same object, so neither notices that the other is gone.",
        ],
        direction: Direction::OneWay,
        reach: Reach::Related,
        producers: Peers::Many,
        consumers: Peers::Many,
        back_pressure: BackPressure::Blocks,
        syscalls: Syscalls { send: Some(1.0), recv: Some(1.0) },
        window: Some(proof::WINDOW),
        needs: &["CONFIG_EVENTFD (EFD_SEMAPHORE: Linux 2.6.30)"],
        ..WAKE_UP
    };
    type Options = NoOptions;
    type Port = WordPort<Beside<Counters>>;

    fn probe(_: &NoOptions) -> Result<(), Missing> {
        counter::create_semaphore().and_then(|_| Words::create()).map(drop).map_err(crate::missing)
    }

    fn open(_: &Shape, _: &NoOptions) -> Result<Link, SetupError> {
        let (ping, ping_too) = counter::create_semaphore()?;
        let (pong, pong_too) = counter::create_semaphore()?;
        let [words, words_too] = Words::create()?;
        Ok(Link::of_fds([pong, ping, words], [ping_too, pong_too, words_too]))
    }

    fn attach(mut end: Attach<'_, NoOptions>) -> Result<Self::Port, SetupError> {
        let [rx, tx, words] = end.descriptors()?;
        let words = Words::attach(words, end.seat)?;
        Ok(WordPort::new(Beside::new(Counters { rx, tx }, words)))
    }
}

//! POSIX semaphores in shared memory, `sem_overview(7)`: one for each direction.

use crate::wake_up::WAKE_UP;
use crate::wake_up::word_port::{Bell, Beside, WordPort};
use ipcperf_core::prelude::*;
use ipcperf_sys::io::wake::proof::{self, Words};
use ipcperf_sys::io::wake::semaphore::Semaphores;

/// Two POSIX semaphores.
#[derive(Debug)]
pub struct PosixSem;

impl Bell for Semaphores {
    #[inline(always)]
    fn ring(&mut self) -> Result<(), i32> {
        self.post()
    }

    #[inline(always)]
    fn hear(&mut self) -> Result<(), i32> {
        self.wait()
    }
}

impl Mechanism for PosixSem {
    const SPEC: &'static Spec = &Spec {
        name: "posix-sem",
        wait: Wait::Block,
        summary: "Two POSIX semaphores of the C library in shared memory; a receiver sleeps in sem_wait.",
        manual: &["sem_overview(7)", "sem_init(3)", "sem_post(3)", "sem_wait(3)", "futex(2)"],
        pitfalls: &[
            "It carries nothing: the eight bytes of proof lie in shared memory next to the semaphore.",
            "The declared system calls are for the fast path: a post calls futex only if a peer sleeps, and a wait only if the count is zero.",
            "Nothing slows a sender down before SEM_VALUE_MAX (2^31 - 1), where a post fails; here the proof limits the window to 64.",
            "A process that dies between wait and post keeps the count it took, and the peer never notices.",
        ],
        direction: Direction::OneWay,
        reach: Reach::Related,
        producers: Peers::Many,
        consumers: Peers::Many,
        back_pressure: BackPressure::None,
        syscalls: Syscalls { send: Some(0.0), recv: Some(0.0) },
        window: Some(proof::WINDOW),
        needs: &["CONFIG_FUTEX"],
        ..WAKE_UP
    };
    type Options = NoOptions;
    type Port = WordPort<Beside<Semaphores>>;

    fn probe(_: &NoOptions) -> Result<(), Missing> {
        Semaphores::create().and_then(|_| Words::create()).map(drop).map_err(crate::missing)
    }

    fn open(_: &Shape, _: &NoOptions) -> Result<Link, SetupError> {
        let [lead, follow] = Semaphores::create()?;
        let [words, words_too] = Words::create()?;
        Ok(Link::of_fds([lead, words], [follow, words_too]))
    }

    fn attach(mut end: Attach<'_, NoOptions>) -> Result<Self::Port, SetupError> {
        let [semaphores, words] = end.descriptors()?;
        let (bell, words) =
            (Semaphores::attach(semaphores, end.seat)?, Words::attach(words, end.seat)?);
        Ok(WordPort::new(Beside::new(bell, words)))
    }
}

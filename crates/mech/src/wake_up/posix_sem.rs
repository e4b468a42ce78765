//! POSIX semaphores in shared memory, `sem_overview(7)`: one for each direction.

use crate::port::descriptors;
use crate::wake_up::word_port::{Bell, Beside, WordPort};
use ipcperf_core::options::NoOptions;
use ipcperf_core::{
    BackPressure, Direction, Family, Link, Mechanism, Meet, Memory, Missing, OnClose, Payload,
    Peers, Reach, Seat, SetupError, Shape, Spec, Syscalls, Wait, Wiring,
};
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
        variant: None,
        family: Family::WakeUp,
        wait: Wait::Block,
        default: true,
        summary: "Two POSIX semaphores in shared memory, those of the C library; a receiver sleeps in sem_wait.",
        manual: &["sem_overview(7)", "sem_init(3)", "sem_post(3)", "sem_wait(3)", "futex(2)"],
        pitfalls: &[
            "It carries nothing: the eight bytes of proof lie in shared memory beside the semaphore.",
            "The system calls declared are those of the fast path: a post wakes by futex only where somebody sleeps, and a wait calls only where the count is zero.",
            "Nothing holds a sender back before SEM_VALUE_MAX (2^31 - 1), where a post fails; here the words of proof end the window at 64.",
            "A process that dies between wait and post keeps what it took, and nobody is told.",
        ],
        payload: Payload::Wake { word: 8 },
        direction: Direction::OneWay,
        reach: Reach::Related,
        producers: Peers::Many,
        consumers: Peers::Many,
        back_pressure: BackPressure::None,
        on_close: OnClose::Undetected,
        on_death: OnClose::Undetected,
        descriptors: false,
        memory: Memory::Reused,
        copies: 0,
        syscalls: Syscalls { send: Some(0.0), recv: Some(0.0) },
        window: Some(proof::WINDOW),
        needs: &["CONFIG_FUTEX"],
    };
    type Options = NoOptions;
    type Port = WordPort<Beside<Semaphores>>;

    fn probe(_: &NoOptions) -> Result<(), Missing> {
        Semaphores::create().and_then(|_| Words::create()).map(drop).map_err(crate::missing)
    }

    fn open(_: &Shape, _: &NoOptions) -> Result<Link, SetupError> {
        let [lead, follow] = Semaphores::create()?;
        let [words, words_too] = Words::create()?;
        Ok(Link {
            lead: Wiring::of_fds([lead, words]),
            follow: Wiring::of_fds([follow, words_too]),
            ..Link::default()
        })
    }

    fn attach(
        wiring: Wiring,
        seat: Seat,
        _: &Shape,
        _: &NoOptions,
        _: &mut dyn Meet,
    ) -> Result<Self::Port, SetupError> {
        let [semaphores, words] = descriptors(wiring)?;
        let (bell, words) = (Semaphores::attach(semaphores, seat)?, Words::attach(words, seat)?);
        Ok(WordPort::new(Beside::new(bell, words)))
    }
}

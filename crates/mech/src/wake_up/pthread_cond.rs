//! A mutex and a condition variable in shared memory, `pthreads(7)`: one of each for each direction.

use crate::port::descriptors;
use crate::wake_up::word_port::{Courier, WordPort};
use ipcperf_core::options::NoOptions;
use ipcperf_core::{
    BackPressure, Direction, Family, Link, Mechanism, Meet, Memory, Missing, OnClose, Payload,
    Peers, Reach, Seat, SetupError, Shape, Spec, Syscalls, Wait, Wiring,
};
use ipcperf_sys::io::wake::condition::Mailboxes;

/// Two words, each guarded by a robust mutex and announced by a condition variable.
#[derive(Debug)]
pub struct PthreadCond;

impl Courier for Mailboxes {
    #[inline(always)]
    fn give(&mut self, word: u64) -> Result<(), i32> {
        self.put(word)
    }

    #[inline(always)]
    fn take(&mut self) -> Result<u64, i32> {
        Self::take(self)
    }
}

impl Mechanism for PthreadCond {
    const SPEC: &'static Spec = &Spec {
        name: "pthread-cond",
        variant: None,
        family: Family::WakeUp,
        wait: Wait::Block,
        default: true,
        summary: "Two words in shared memory, each guarded by a robust mutex; a receiver sleeps in pthread_cond_wait.",
        manual: &[
            "pthread_cond_init(3)",
            "pthread_mutex_lock(3)",
            "pthread_mutexattr_setrobust(3)",
            "pthread_mutex_consistent(3)",
            "futex(2)",
        ],
        pitfalls: &[
            "The condition carries nothing: the eight bytes are what its mutex guards.",
            "The system calls declared are those of the fast path: a free mutex and a condition nobody waits for take none.",
            "The sender signals after it has unlocked; signalling before lets the woken end run into the locked mutex.",
            "A peer that dies with the mutex in its hands is told by EOWNERDEAD, at the next lock; one that dies at any other moment is not, and who waits for it waits for ever.",
            "Condition variables are not robust: a peer killed inside pthread_cond_signal may leave one that blocks others.",
        ],
        payload: Payload::Wake { word: 8 },
        direction: Direction::OneWay,
        reach: Reach::Related,
        producers: Peers::Many,
        consumers: Peers::Many,
        back_pressure: BackPressure::Merges,
        on_close: OnClose::Undetected,
        on_death: OnClose::Undetected,
        descriptors: false,
        memory: Memory::Reused,
        copies: 0,
        syscalls: Syscalls { send: Some(0.0), recv: Some(0.0) },
        window: Some(1),
        needs: &["CONFIG_FUTEX"],
    };
    type Options = NoOptions;
    type Port = WordPort<Mailboxes>;

    fn probe(_: &NoOptions) -> Result<(), Missing> {
        Mailboxes::create().map(drop).map_err(crate::missing)
    }

    fn open(_: &Shape, _: &NoOptions) -> Result<Link, SetupError> {
        let [lead, follow] = Mailboxes::create()?;
        Ok(Link {
            lead: Wiring::of_fds([lead]),
            follow: Wiring::of_fds([follow]),
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
        let [mailboxes] = descriptors(wiring)?;
        Ok(WordPort::new(Mailboxes::attach(mailboxes, seat)?))
    }
}

//! A mutex and a condition variable in shared memory, `pthreads(7)`: one of each for each direction.

use crate::wake_up::WAKE_UP;
use crate::wake_up::word_port::{Courier, WordPort};
use ipcperf_core::prelude::*;
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
        wait: Wait::Block,
        summary: "Two words in shared memory, each guarded by a robust mutex; a receiver sleeps in pthread_cond_wait.",
        manual: &[
            "pthread_cond_init(3)",
            "pthread_mutex_lock(3)",
            "pthread_mutexattr_setrobust(3)",
            "pthread_mutex_consistent(3)",
            "futex(2)",
        ],
        pitfalls: &[
            "The condition carries no data; the eight bytes are in memory that its mutex guards.",
            "The declared system calls are for the fast path: a free mutex and a condition without waiters take none.",
            "The sender signals after it unlocks; signalling before would wake the peer into a locked mutex.",
            "If a peer dies while it holds the mutex, the next lock returns EOWNERDEAD; if it dies at any other moment, the other end waits for ever.",
            "Condition variables are not robust: a peer killed inside pthread_cond_signal may leave one that blocks others.",
        ],
        direction: Direction::OneWay,
        reach: Reach::Related,
        producers: Peers::Many,
        consumers: Peers::Many,
        syscalls: Syscalls { send: Some(0.0), recv: Some(0.0) },
        needs: &["CONFIG_FUTEX"],
        ..WAKE_UP
    };
    type Options = NoOptions;
    type Port = WordPort<Mailboxes>;

    fn probe(_: &NoOptions) -> Result<(), Missing> {
        Mailboxes::create().map(drop).map_err(crate::missing)
    }

    fn open(_: &Shape, _: &NoOptions) -> Result<Link, SetupError> {
        let [lead, follow] = Mailboxes::create()?;
        Ok(Link::of_fds([lead], [follow]))
    }

    fn attach(mut end: Attach<'_, NoOptions>) -> Result<Self::Port, SetupError> {
        let [mailboxes] = end.descriptors()?;
        Ok(WordPort::new(Mailboxes::attach(mailboxes, end.seat)?))
    }
}

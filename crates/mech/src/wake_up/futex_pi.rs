//! Locks with priority inheritance, handed over from sender to receiver: `FUTEX_LOCK_PI` of `futex(2)`.

use crate::wake_up::WAKE_UP;
use crate::wake_up::word_port::{Bell, Beside, WordPort};
use ipcperf_core::prelude::*;
use ipcperf_sys::io::errno;
use ipcperf_sys::io::wake::futex_pi::{self, Baton};
use ipcperf_sys::io::wake::proof::Words;

/// Three locks for each direction.
#[derive(Debug)]
pub struct FutexPi;

impl Bell for Baton {
    #[inline(always)]
    fn ring(&mut self) -> Result<(), i32> {
        self.pass()
    }

    #[inline(always)]
    fn hear(&mut self) -> Result<(), i32> {
        self.receive()
    }
}

impl Mechanism for FutexPi {
    const SPEC: &'static Spec = &Spec {
        name: "futex-pi",
        // While the holder runs on another CPU, the kernel spins for it (rtmutex_spin_on_owner).
        wait: Wait::SpinThenBlock,
        summary: "Three futexes with priority inheritance for each direction; a sender unlocks the one its receiver waits for in the kernel.",
        manual: &["futex(2)", "pthread_mutexattr_setprotocol(3)"],
        pitfalls: &[
            "It is a lock, not a message: the eight bytes of proof lie in shared memory next to it.",
            "The declared system calls are for the fast path; a contended lock takes one to get, one to hand over, and one to release, since the kernel marks a lock that it hands over.",
            "A process that asks for a lock whose holder runs on another CPU spins in the kernel until the holder stops running: fast, but it burns a CPU, which top shows as system time.",
            "Only the thread that locked may unlock, so the right to wake is bound to one thread.",
            "A lock whose holder died is passed on with a mark (FUTEX_OWNER_DIED), or asking for it fails with ESRCH; if another thread has reused the dead thread's number, the death goes unnoticed.",
            "Both ends run at the same priority here, so priority inheritance is paid for but not used.",
        ],
        direction: Direction::OneWay,
        reach: Reach::Related,
        // The word holds the owner's thread number.
        shares: Namespaces::PID,
        producers: Peers::One,
        consumers: Peers::One,
        on_death: OnClose::Told,
        syscalls: Syscalls { send: Some(0.0), recv: Some(0.0) },
        needs: &["CONFIG_FUTEX_PI"],
        ..WAKE_UP
    };
    type Options = NoOptions;
    type Port = WordPort<Beside<Baton>>;
    const MEETS: bool = true;

    fn probe(_: &NoOptions) -> Result<(), Missing> {
        match futex_pi::probe() {
            Err(SetupError::Sys { code: errno::ENOSYS, .. }) => Err(Missing::new(
                "this kernel has no futexes with priority inheritance",
                "a kernel with CONFIG_FUTEX_PI",
            )),
            tried => tried.and_then(|()| Words::create()).map(drop).map_err(crate::missing),
        }
    }

    fn open(_: &Shape, _: &NoOptions) -> Result<Link, SetupError> {
        let [lead, follow] = Baton::create()?;
        let [words, words_too] = Words::create()?;
        Ok(Link::of_fds([lead, words], [follow, words_too]))
    }

    fn attach(mut end: Attach<'_, NoOptions>) -> Result<Self::Port, SetupError> {
        let [locks, words] = end.descriptors()?;
        let bell = Baton::attach(locks, end.seat)?;
        // Neither end may ask for a lock before the other holds it.
        end.meet.swap(Wiring::default())?;
        Ok(WordPort::new(Beside::new(bell, Words::attach(words, end.seat)?)))
    }
}

//! Locks with priority inheritance, handed over from sender to receiver: `FUTEX_LOCK_PI` of `futex(2)`.

use crate::port::descriptors;
use crate::wake_up::word_port::{Bell, Beside, WordPort};
use ipcperf_core::options::NoOptions;
use ipcperf_core::{
    BackPressure, Direction, Family, Link, Mechanism, Meet, Memory, Missing, OnClose, Payload,
    Peers, Reach, Seat, SetupError, Shape, Spec, Syscalls, Wait, Wiring,
};
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
        variant: None,
        family: Family::WakeUp,
        // While the holder runs on another CPU, the kernel spins for it (rtmutex_spin_on_owner).
        wait: Wait::SpinThenBlock,
        default: true,
        summary: "Three futexes with priority inheritance for each direction; a sender unlocks the one its receiver waits for in the kernel.",
        manual: &["futex(2)", "pthread_mutexattr_setprotocol(3)"],
        pitfalls: &[
            "It is a lock and no message: the eight bytes of proof lie in shared memory beside it.",
            "The system calls declared are those of the fast path; a lock somebody waits for takes one to get, one to hand over, and one to give back, since the kernel marks what it hands over.",
            "Whoever asks for a lock whose holder runs on another CPU spins in the kernel until that one stops running: fast, but a CPU is burnt, and top calls it system time.",
            "Only the thread that locked may unlock, so the right to wake is bound to one thread.",
            "A lock whose holder died is handed on with a mark (FUTEX_OWNER_DIED), or asking for it fails with ESRCH; if another thread has got the number of the dead one meanwhile, nobody is told.",
            "Both ends run at the same priority here, so the inheritance itself is paid for and not used.",
        ],
        payload: Payload::Wake { word: 8 },
        direction: Direction::OneWay,
        reach: Reach::Related,
        producers: Peers::One,
        consumers: Peers::One,
        back_pressure: BackPressure::Merges,
        on_close: OnClose::Undetected,
        on_death: OnClose::Told,
        descriptors: false,
        memory: Memory::Reused,
        copies: 0,
        syscalls: Syscalls { send: Some(0.0), recv: Some(0.0) },
        window: Some(1),
        needs: &["CONFIG_FUTEX_PI"],
    };
    type Options = NoOptions;
    type Port = WordPort<Beside<Baton>>;

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
        meet: &mut dyn Meet,
    ) -> Result<Self::Port, SetupError> {
        let [locks, words] = descriptors(wiring)?;
        let bell = Baton::attach(locks, seat)?;
        // Neither end may ask for a lock before the other holds it.
        meet.swap(Wiring::default())?;
        Ok(WordPort::new(Beside::new(bell, Words::attach(words, seat)?)))
    }
}

//! System V semaphores, `sysvipc(7)`: one set with one for each direction.

use crate::wake_up::WAKE_UP;
use crate::wake_up::word_port::{Bell, Beside, WordPort};
use ipcperf_core::prelude::*;
use ipcperf_sys::io::wake::proof::{self, Words};
use ipcperf_sys::io::wake::sysv_semaphore::{Semaphores, Set};

/// One set of System V semaphores.
#[derive(Debug)]
pub struct SysvSem;

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

impl Mechanism for SysvSem {
    const SPEC: &'static Spec = &Spec {
        name: "sysv-sem",
        wait: Wait::Block,
        summary: "A set of two System V semaphores; a receiver sleeps in semop.",
        manual: &["sysvipc(7)", "semget(2)", "semop(2)", "semctl(2)"],
        pitfalls: &[
            "It carries nothing: the eight bytes of proof lie in shared memory next to the set.",
            "Every operation is a system call, even without contention: there is no fast path.",
            "Nothing slows a sender down before 32767 (SEMVMX), where semop fails; here the proof limits the window to 64.",
            "A set stays until it is removed (ipcrm), and no end notices that the other is gone; SEM_UNDO, which reverts what a dead process did, is not used here.",
        ],
        direction: Direction::TwoWay,
        reach: Reach::Named,
        shares: Namespaces::IPC,
        shares_by_name: Namespaces::IPC,
        on_restart: OnRestart::GoesOn,
        producers: Peers::Many,
        consumers: Peers::Many,
        back_pressure: BackPressure::None,
        syscalls: Syscalls { send: Some(1.0), recv: Some(1.0) },
        window: Some(proof::WINDOW),
        needs: &["CONFIG_SYSVIPC"],
        ..WAKE_UP
    };
    type Options = NoOptions;
    type Port = WordPort<Beside<Semaphores>>;

    fn probe(_: &NoOptions) -> Result<(), Missing> {
        let (_run, shape) = crate::trial()?;
        let tried = Set::create(shape.directory()?).and_then(|set| {
            // Both directions at once: a wake-up to itself, as a peer would send and take it.
            for (seat, other) in [(Seat::Lead, Seat::Follow), (Seat::Follow, Seat::Lead)] {
                let moved = Semaphores::attach(set.id(), seat)
                    .post()
                    .and_then(|()| Semaphores::attach(set.id(), other).wait());
                moved.map_err(|code| SetupError::sys("semop", code))?;
            }
            Words::create()
        });
        tried.map(drop).map_err(crate::missing)
    }

    fn open(shape: &Shape, _: &NoOptions) -> Result<Link, SetupError> {
        let set = Set::create(shape.directory()?)?;
        let [words, words_too] = Words::create()?;
        // An identifier is never negative.
        let wiring = |words| Wiring {
            words: vec![u64::from(set.id().cast_unsigned())],
            ..Wiring::of_fds([words])
        };
        Ok(Link {
            lead: wiring(words),
            follow: wiring(words_too),
            guards: vec![Guard::new(set)],
            ..Link::default()
        })
    }

    fn attach(mut end: Attach<'_, NoOptions>) -> Result<Self::Port, SetupError> {
        let id = match end.wiring.words[..] {
            [id] => i32::try_from(id).ok(),
            _ => None,
        };
        let id = id.ok_or_else(|| {
            SetupError::Protocol("the identifier of one set of semaphores was expected".into())
        })?;
        let [words] = end.descriptors()?;
        let words = Words::attach(words, end.seat)?;
        Ok(WordPort::new(Beside::new(Semaphores::attach(id, end.seat), words)))
    }
}

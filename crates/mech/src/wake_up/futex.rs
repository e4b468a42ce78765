//! Words in shared memory that wake by `futex(2)`: one for each direction.

use crate::port::descriptors;
use crate::wake_up::wake_port::{FutexPort, Sleep};
use ipcperf_core::options::NoOptions;
use ipcperf_core::{
    BackPressure, Direction, Family, Link, Mechanism, Meet, Memory, Missing, OnClose, Payload,
    Peers, Reach, Seat, SetupError, Shape, Spec, Syscalls, Wait, Wiring,
};
use ipcperf_sys::io::wake::word::WakeWords;
use std::marker::PhantomData;

/// Two futex words.
#[derive(Debug)]
pub struct Futex<S>(PhantomData<S>);

impl<S: Sleep> Mechanism for Futex<S> {
    const SPEC: &'static Spec = &Spec {
        name: "futex",
        variant: if S::SPINS == 0 { None } else { Some("spin") },
        family: Family::WakeUp,
        wait: if S::SPINS == 0 { Wait::Block } else { Wait::SpinThenBlock },
        default: S::SPINS == 0,
        summary: if S::SPINS == 0 {
            "Two words in shared memory; a receiver sleeps on its word, a sender always wakes."
        } else {
            "Two words in shared memory; a receiver watches its word for a few microseconds, then sleeps; a sender always wakes."
        },
        manual: &["futex(2)", "futex(7)", "memfd_create(2)"],
        pitfalls: &[
            "It wakes and carries 4 bytes: it is the price list for what is built on it.",
            "A sender here always makes the system call; skipping it when nobody sleeps hides the cost.",
            "A value that nobody has looked at yet is overwritten.",
        ],
        payload: Payload::Wake { word: 4 },
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
        syscalls: Syscalls { send: Some(1.0), recv: None },
        window: Some(1),
        needs: &["CONFIG_FUTEX"],
    };
    type Options = NoOptions;
    type Port = FutexPort<S>;

    fn probe(_: &NoOptions) -> Result<(), Missing> {
        WakeWords::create().map(drop).map_err(crate::missing)
    }

    fn open(_: &Shape, _: &NoOptions) -> Result<Link, SetupError> {
        let words = WakeWords::create()?;
        Ok(Link {
            lead: Wiring::of_fds([words.duplicate_fd()?]),
            follow: Wiring::of_fds([words.duplicate_fd()?]),
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
        let [memory] = descriptors(wiring)?;
        Ok(FutexPort::new(WakeWords::from_fd(memory)?, seat))
    }
}

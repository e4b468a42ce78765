//! Words in shared memory that wake by `futex(2)`: one for each direction.

use crate::wake_up::WAKE_UP;
use crate::wake_up::wake_port::{FutexPort, Sleep};
use ipcperf_core::prelude::*;
use ipcperf_sys::io::wake::word::WakeWords;
use std::marker::PhantomData;

/// Two futex words.
#[derive(Debug)]
pub struct Futex<S>(PhantomData<S>);

impl<S: Sleep> Mechanism for Futex<S> {
    const SPEC: &'static Spec = &Spec {
        name: "futex",
        variant: if S::SPINS == 0 { None } else { Some("spin") },
        wait: if S::SPINS == 0 { Wait::Block } else { Wait::SpinThenBlock },
        default: S::SPINS == 0,
        summary: if S::SPINS == 0 {
            "Two words in shared memory; a receiver sleeps on its word, a sender always wakes."
        } else {
            "Two words in shared memory; a receiver watches its word for a few microseconds, then sleeps; a sender always wakes."
        },
        manual: &["futex(2)", "futex(7)", "memfd_create(2)"],
        pitfalls: &[
            "It wakes the peer and carries 4 bytes: the base cost of everything built on futexes.",
            "A sender here always makes the system call; skipping it when no peer sleeps would hide the cost.",
            "A value that has not been read yet is overwritten.",
        ],
        payload: Payload::Wake { word: 4 },
        direction: Direction::OneWay,
        reach: Reach::Related,
        producers: Peers::Many,
        consumers: Peers::Many,
        syscalls: Syscalls { send: Some(1.0), recv: None },
        needs: &["CONFIG_FUTEX"],
        ..WAKE_UP
    };
    type Options = NoOptions;
    type Port = FutexPort<S>;

    fn probe(_: &NoOptions) -> Result<(), Missing> {
        WakeWords::create().map(drop).map_err(crate::missing)
    }

    fn open(_: &Shape, _: &NoOptions) -> Result<Link, SetupError> {
        let [lead, follow] = WakeWords::create()?;
        Ok(Link::of_fds([lead], [follow]))
    }

    fn attach(end: Attach<'_, NoOptions>) -> Result<Self::Port, SetupError> {
        FutexPort::new(end)
    }
}

//! Words in shared memory that wake by futex operations of `io_uring(7)`: one for each direction.

use crate::io_uring::IO_URING;
use crate::port::fault;
use crate::wake_up::wake_port::{FutexPort, Sleep};
use ipcperf_core::prelude::*;
use ipcperf_sys::io::uring::FutexRing;
use ipcperf_sys::io::wake::word::WakeWords;
use std::sync::atomic::AtomicU32;

/// Two futex words and a ring for each end.
#[derive(Debug)]
pub struct UringFutex;

impl Sleep for FutexRing {
    const SPINS: u32 = 0;

    fn new() -> Result<Self, SetupError> {
        Self::new()
    }

    #[inline(always)]
    fn wake(&mut self, word: &AtomicU32) -> Result<(), Fault> {
        self.wake(word).map_err(fault)
    }

    #[inline(always)]
    fn wait(&mut self, word: &AtomicU32, seen: u32) -> Result<(), Fault> {
        self.wait(word, seen).map_err(fault)
    }
}

impl Mechanism for UringFutex {
    const SPEC: &'static Spec = &Spec {
        name: "uring-futex",
        wait: Wait::Block,
        summary: "Two words in shared memory; a receiver sleeps on its word and a sender wakes by operations of io_uring.",
        manual: &["io_uring(7)", "io_uring_enter(2)", "futex(2)"],
        pitfalls: &[
            "It wakes, and carries 4 bytes next to the operation: compare it with futex, which does the same by system calls.",
            "Its purpose is to wait for a futex and for input in one place; used only for the futex it costs more.",
            "A sender here always wakes, through its ring and a call into the kernel.",
            "A value that has not been read yet is overwritten.",
            "Containers (seccomp) and administrators (kernel.io_uring_disabled) often forbid it.",
        ],
        payload: Payload::Wake { word: 4 },
        direction: Direction::OneWay,
        reach: Reach::Related,
        producers: Peers::Many,
        consumers: Peers::Many,
        back_pressure: BackPressure::Merges,
        on_close: OnClose::Undetected,
        on_death: OnClose::Undetected,
        copies: 0,
        syscalls: Syscalls { send: Some(1.0), recv: None },
        window: Some(1),
        needs: &["CONFIG_IO_URING", "Linux 6.7", "kernel.io_uring_disabled=0"],
        ..IO_URING
    };
    type Options = NoOptions;
    type Port = FutexPort<FutexRing>;

    fn probe(_: &NoOptions) -> Result<(), Missing> {
        // One for each end at the same time.
        let rings = || Ok([FutexRing::new()?, FutexRing::new()?]);
        WakeWords::create().and_then(|_| rings()).map(drop).map_err(crate::missing)
    }

    fn open(_: &Shape, _: &NoOptions) -> Result<Link, SetupError> {
        let [lead, follow] = WakeWords::create()?;
        Ok(Link::of_fds([lead], [follow]))
    }

    fn attach(end: Attach<'_, NoOptions>) -> Result<Self::Port, SetupError> {
        FutexPort::new(end)
    }
}

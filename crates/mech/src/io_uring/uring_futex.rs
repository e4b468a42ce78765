//! Words in shared memory that wake by futex operations of `io_uring(7)`: one for each direction.

use crate::io_uring::uring_port::UringFutexPort;
use crate::port::descriptors;
use ipcperf_core::options::NoOptions;
use ipcperf_core::{
    BackPressure, Direction, Family, Link, Mechanism, Meet, Memory, Missing, OnClose, Payload,
    Peers, Reach, Seat, SetupError, Shape, Spec, Syscalls, Wait, Wiring,
};
use ipcperf_sys::io::uring::FutexRing;
use ipcperf_sys::io::wake::word::WakeWords;

/// Two futex words and a ring for each end.
#[derive(Debug)]
pub struct UringFutex;

impl Mechanism for UringFutex {
    const SPEC: &'static Spec = &Spec {
        name: "uring-futex",
        variant: None,
        family: Family::IoUring,
        wait: Wait::Block,
        default: true,
        summary: "Two words in shared memory; a receiver sleeps on its word and a sender wakes by operations of io_uring.",
        manual: &["io_uring(7)", "io_uring_enter(2)", "futex(2)"],
        pitfalls: &[
            "It wakes and carries 4 bytes beside the operation: compare it with futex, which does the same by system calls.",
            "Its purpose is to wait for a futex and for input in one place; alone it only costs more.",
            "A sender here always wakes, through its ring and a call into the kernel.",
            "A value that nobody has looked at yet is overwritten.",
            "Often forbidden in containers (seccomp) and by administrators (kernel.io_uring_disabled).",
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
        needs: &["CONFIG_IO_URING", "Linux 6.7", "kernel.io_uring_disabled=0"],
    };
    type Options = NoOptions;
    type Port = UringFutexPort;

    fn probe(_: &NoOptions) -> Result<(), Missing> {
        WakeWords::create().and_then(|_| FutexRing::new()).map(drop).map_err(crate::missing)
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
        UringFutexPort::new(WakeWords::from_fd(memory)?, seat)
    }
}

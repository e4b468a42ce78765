//! Messages between two io_urings, `IORING_OP_MSG_RING`.

use crate::wake_up::WAKE_UP;
use crate::wake_up::word_port::{Courier, WordPort};
use ipcperf_core::prelude::*;
use ipcperf_sys::io::uring::message::{self, Inbox, Outbox, Permission, WINDOW};
use ipcperf_sys::process;
use std::os::fd::OwnedFd;

/// Two rings at each end.
#[derive(Debug)]
pub struct UringMsgRing;

/// One end.
pub struct Rings {
    rx: Inbox,
    tx: Outbox,
}

impl Courier for Rings {
    #[inline(always)]
    fn give(&mut self, word: u64) -> Result<(), i32> {
        self.tx.send(word)
    }

    #[inline(always)]
    fn take(&mut self) -> Result<u64, i32> {
        self.rx.receive()
    }
}

/// The process and the number of the ring in it.
fn address(wiring: Wiring) -> Option<(OwnedFd, u32, i32)> {
    let [pid, number] = wiring.words[..] else { return None };
    let [process] = wiring.fds.try_into().ok()?;
    Some((process, pid.try_into().ok()?, number.try_into().ok()?))
}

impl Mechanism for UringMsgRing {
    const SPEC: &'static Spec = &Spec {
        name: "uring-msg-ring",
        wait: Wait::Block,
        summary: "Completions posted straight into the io_uring of the peer; a receiver looks into its queue, then sleeps in io_uring_enter.",
        manual: &["io_uring(7)", "io_uring_enter(2)", "pidfd_getfd(2)"],
        pitfalls: &[
            "Eight bytes of user data and four of result are all a message carries.",
            "The declared receive finds its message in shared memory, without a system call; one that comes first sleeps in one.",
            "Rings cannot be sent over sockets any more (Linux 6.8); here each end fetches the other's with pidfd_getfd, which needs the right to trace it.",
            "Nothing slows a sender down: completions that do not fit the queue wait in kernel memory.",
            "A ring lives as long as a process holds it, so a sender never notices that its peer is gone.",
        ],
        direction: Direction::OneWay,
        reach: Reach::Related,
        shares: Namespaces::USER,
        producers: Peers::Many,
        consumers: Peers::One,
        back_pressure: BackPressure::None,
        syscalls: Syscalls { send: Some(1.0), recv: Some(0.0) },
        window: Some(WINDOW),
        needs: &["CONFIG_IO_URING (IORING_OP_MSG_RING: Linux 5.18)", "pidfd_getfd (Linux 5.6)"],
        ..WAKE_UP
    };
    type Options = NoOptions;
    type Port = WordPort<Rings>;
    const MEETS: bool = true;

    fn probe(_: &NoOptions) -> Result<(), Missing> {
        message::probe().map_err(crate::missing)
    }

    fn open(_: &Shape, _: &NoOptions) -> Result<Link, SetupError> {
        // A ring belongs to a process: each end makes its own.
        Ok(Link::default())
    }

    fn attach(end: Attach<'_, NoOptions>) -> Result<Self::Port, SetupError> {
        let rx = Inbox::new()?;
        // A descriptor is never negative.
        let number = u64::from(rx.number().cast_unsigned());
        let mine = Wiring {
            words: vec![process::own_pid().into(), number],
            ..Wiring::of_fds([message::own_process()?])
        };
        let Some((process, pid, number)) = address(end.meet.swap(mine)?) else {
            return Err(SetupError::Protocol("a process and its ring were expected".into()));
        };
        let permission = Permission::grant(pid);
        end.meet.swap(Wiring::default())?;
        let tx = message::fetch(&process, number).and_then(Outbox::to);
        // The peer has fetched this end's by now, or failed to.
        end.meet.swap(Wiring::default())?;
        drop(permission);
        Ok(WordPort::new(Rings { rx, tx: tx? }))
    }
}

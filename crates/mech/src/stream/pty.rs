//! A pseudo-terminal in raw mode: the lead holds the master, the follow the slave.

use crate::stream::STREAM;
use crate::stream::stream_port::StreamPort;
use crate::wait::{Block, waiting};
use ipcperf_core::prelude::*;
use ipcperf_sys::io::{duplicate, pty};

/// A pseudo-terminal.
#[derive(Debug)]
pub struct Pty;

impl Mechanism for Pty {
    const SPEC: &'static Spec = &Spec {
        name: "pty",
        summary: "A pseudo-terminal in raw mode, as between a terminal emulator and a program; a reader sleeps in read.",
        manual: &["pty(7)", "termios(3)", "ioctl_tty(2)"],
        pitfalls: &[
            "By default it echoes, waits for whole lines and turns some bytes into signals: set raw mode first.",
            "A kernel worker thread on any CPU carries the bytes: no process is charged for its time.",
            "A read brings at most 4 KiB, whatever the size of the message.",
            "A slave loses what it has not read when the last master closes; here a second one is kept until the end.",
            "A master that reads after the slave closed drains and gets EIO; what it writes then is lost silently.",
            "Neither end can be closed for sending only, so an end that stops sending looks like a slow one.",
        ],
        direction: Direction::TwoWay,
        reach: Reach::Named,
        shares_by_name: Namespaces::MNT,
        producers: Peers::Many,
        consumers: Peers::Many,
        // A slave whose master goes is told and does not drain; with a second master it drains and is not told.
        on_close: OnClose::Undetected,
        on_death: OnClose::Undetected,
        // Into the terminal's own memory, its queue, the line discipline's buffer, the reader's piece of 64 bytes on the
        // kernel's stack, and out (drivers/tty: tty_io.c, tty_buffer.c, n_tty.c).
        copies: 5,
        needs: &["CONFIG_UNIX98_PTYS", "a mounted devpts"],
        ..waiting::<Block>(STREAM)
    };
    type Options = NoOptions;
    type Port = StreamPort<Block>;

    fn probe(_: &NoOptions) -> Result<(), Missing> {
        pty::pair().map(drop).map_err(crate::missing)
    }

    fn open(_: &Shape, _: &NoOptions) -> Result<Link, SetupError> {
        let pair = pty::pair()?;
        // With the last master goes what the slave has not read: a lead that is done must not take its messages back.
        let second = duplicate(&pair.master)?;
        Ok(Link {
            lead: Wiring::of_fds([pair.master]),
            follow: Wiring::of_fds([pair.slave]),
            guards: vec![Guard::new(second)],
            ..Link::default()
        })
    }

    fn attach(mut end: Attach<'_, NoOptions>) -> Result<Self::Port, SetupError> {
        let [own] = end.descriptors()?;
        let second = duplicate(&own)?;
        StreamPort::new(own, second, end.shape)
    }
}

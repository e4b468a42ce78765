//! A watched file, `inotify(7)`: one for each direction.

use crate::wake_up::WAKE_UP;
use crate::wake_up::word_port::{Bell, Beside, WordPort};
use ipcperf_core::prelude::*;
use ipcperf_sys::io::file::watch;
use ipcperf_sys::io::names::Unlink;
use ipcperf_sys::io::stream;
use ipcperf_sys::io::wake::inotify;
use ipcperf_sys::io::wake::proof::Words;
use std::os::fd::{AsFd, OwnedFd};

/// Two watched files.
#[derive(Debug)]
pub struct Inotify;

/// One end: the instance that watches one file, and the other file.
pub struct Watch {
    rx: OwnedFd,
    tx: OwnedFd,
}

impl Bell for Watch {
    #[inline(always)]
    fn ring(&mut self) -> Result<(), i32> {
        inotify::modify(self.tx.as_fd()).map(drop)
    }

    #[inline(always)]
    fn hear(&mut self) -> Result<(), i32> {
        let mut event = inotify::Event::default();
        loop {
            stream::read(self.rx.as_fd(), &mut event)?;
            if inotify::is_modification(&event) {
                return Ok(());
            }
        }
    }
}

/// A file that is watched: what is read from, what is written to, and its name.
fn watched(shape: &Shape, what: &str) -> Result<(OwnedFd, OwnedFd, Unlink), SetupError> {
    let path = Unlink::new(shape.path(what)?);
    let tx = inotify::create_file(path.path())?;
    let rx = inotify::watch(path.path())?;
    Ok((rx, tx, path))
}

impl Mechanism for Inotify {
    const SPEC: &'static Spec = &Spec {
        name: "inotify",
        wait: Wait::Block,
        summary: "Two watched files: the sender writes one byte, and the receiver sleeps in read of its inotify instance.",
        manual: &["inotify(7)", "inotify_add_watch(2)", "pwrite(2)"],
        pitfalls: &[
            "An event says that a file was written to, not what: the eight bytes of proof lie in shared memory next to it.",
            "Equal events that have not been read yet merge into one.",
            "The write to a file is part of the cost, and so is the file system of the run directory.",
            "Events report writes to a file; that a writer has gone, nothing reports.",
            "Instances and watches are limited for each user (fs.inotify.max_user_instances, max_user_watches).",
        ],
        direction: Direction::OneWay,
        reach: Reach::Named,
        shares_by_name: Namespaces::MNT,
        on_restart: OnRestart::GoesOn,
        producers: Peers::Many,
        consumers: Peers::Many,
        syscalls: Syscalls { send: Some(1.0), recv: Some(1.0) },
        needs: &["CONFIG_INOTIFY_USER"],
        ..WAKE_UP
    };
    type Options = NoOptions;
    type Port = WordPort<Beside<Watch>>;

    fn probe(_: &NoOptions) -> Result<(), Missing> {
        let (_run, shape) = crate::trial()?;
        let file = Unlink::new(shape.path("trial")?);
        let tried = inotify::create_file(file.path()).and_then(|_| watch::try_out(file.path()));
        tried.and_then(|()| Words::create()).map(drop).map_err(crate::missing)
    }

    fn open(shape: &Shape, _: &NoOptions) -> Result<Link, SetupError> {
        let (ping_rx, ping_tx, ping) = watched(shape, "ping")?;
        let (pong_rx, pong_tx, pong) = watched(shape, "pong")?;
        let [words, words_too] = Words::create()?;
        Ok(Link {
            lead: Wiring::of_fds([pong_rx, ping_tx, words]),
            follow: Wiring::of_fds([ping_rx, pong_tx, words_too]),
            guards: [ping, pong].map(Guard::new).into(),
            ..Link::default()
        })
    }

    fn attach(mut end: Attach<'_, NoOptions>) -> Result<Self::Port, SetupError> {
        let [rx, tx, words] = end.descriptors()?;
        Ok(WordPort::new(Beside::new(Watch { rx, tx }, Words::attach(words, end.seat)?)))
    }
}

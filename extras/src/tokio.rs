//! tokio: a UNIX stream socket under a runtime of one thread.

use crate::library::LIBRARY;
use ::tokio::io::{AsyncReadExt, AsyncWriteExt};
use ::tokio::net::UnixStream;
use ::tokio::runtime::{Builder, Runtime};
use ipcperf::prelude::*;
use ipcperf::tools::Buffer;
use ipcperf::tools::socket::{self, Kind};
use std::os::fd::OwnedFd;
use std::os::unix::net;

/// `tokio::net::UnixStream` with the current-thread runtime.
#[derive(Debug)]
pub struct Tokio;

impl Mechanism for Tokio {
    const SPEC: &'static Spec = &Spec {
        name: "tokio",
        wait: Wait::Epoll,
        summary: "A UNIX stream socket under tokio's current-thread runtime; an end sleeps in epoll_wait, edge-triggered.",
        manual: &["unix(7)", "epoll(7)"],
        pitfalls: &[
            "Each send and each receive enters the runtime anew (block_on); the tasks of a program stay inside it.",
            "It waits for edges, of room to send too: compare it with unix-stream/epoll-edge, which waits likewise.",
            "A runtime of several threads hands tasks over between them, which is another mechanism and not this one.",
        ],
        payload: Payload::Stream,
        direction: Direction::TwoWay,
        reach: Reach::Named,
        // The descriptors of a pair are handed over.
        shares: Namespaces::NONE,
        shares_by_name: Namespaces::MNT,
        producers: Peers::One,
        consumers: Peers::One,
        on_death: OnClose::Told,
        on_restart: OnRestart::Reopens,
        memory: Memory::Reused,
        copies: 2,
        // A read is tried before each wait, and the driver is polled now and then.
        syscalls: Syscalls { send: None, recv: None },
        needs: &["CONFIG_UNIX"],
        over: Some("unix-stream/epoll"),
        ..LIBRARY
    };
    type Options = NoOptions;
    type Port = TokioPort;

    fn probe(_: &NoOptions) -> Result<(), Missing> {
        let tried = socket::pair(Kind::Stream).and_then(|(own, _)| registered(own));
        tried.map(drop).map_err(ipcperf::tools::missing)
    }

    fn open(_: &Shape, _: &NoOptions) -> Result<Link, SetupError> {
        let (lead, follow) = socket::pair(Kind::Stream)?;
        Ok(Link::of_fds([lead], [follow]))
    }

    fn attach(mut end: Attach<'_, NoOptions>) -> Result<TokioPort, SetupError> {
        let [own] = end.descriptors()?;
        let (stream, runtime) = registered(own)?;
        let buffer = Buffer::new(end.shape.size, end.shape.buffer_offset)?;
        Ok(TokioPort { stream, runtime, buffer })
    }
}

/// A socket, and a runtime that waits for it.
fn registered(own: OwnedFd) -> Result<(UnixStream, Runtime), SetupError> {
    let runtime = Builder::new_current_thread().enable_io().build();
    let runtime = runtime.map_err(SetupError::io("start a runtime"))?;
    let own = net::UnixStream::from(own);
    own.set_nonblocking(true).map_err(SetupError::io("FIONBIO"))?;
    let stream = {
        let _inside = runtime.enter();
        UnixStream::from_std(own).map_err(SetupError::io("epoll_ctl"))?
    };
    Ok((stream, runtime))
}

/// One end: the stream, and the runtime that waits for it.
pub struct TokioPort {
    // Dropped before the runtime, which it is registered with.
    stream: UnixStream,
    runtime: Runtime,
    buffer: Buffer,
}

impl Port for TokioPort {
    fn send(&mut self, len: usize, fill: impl FnOnce(&mut [u8])) -> Result<(), Fault> {
        let out = self.buffer.get_mut(len).ok_or(Fault::TooLong)?;
        fill(out);
        self.runtime.block_on(self.stream.write_all(out)).map_err(Fault::from)
    }

    fn recv<T>(
        &mut self,
        len: usize,
        take: impl FnOnce(&[u8]) -> Result<T, Fault>,
    ) -> Result<T, Fault> {
        let into = self.buffer.get_mut(len).ok_or(Fault::TooLong)?;
        let stream = &mut self.stream;
        self.runtime.block_on(async {
            let mut done = 0;
            while done < len {
                match stream.read(&mut into[done..]).await {
                    Ok(0) if done == 0 => return Err(Fault::Closed),
                    Ok(0) => return Err(Fault::Truncated),
                    Ok(more) => done += more,
                    Err(error) => return Err(error.into()),
                }
            }
            Ok(())
        })?;
        take(into)
    }

    fn finish(&mut self) -> Result<(), Fault> {
        self.runtime.block_on(self.stream.shutdown()).map_err(Fault::from)
    }
}

//! Anonymous pipes, `pipe2(2)`: one for each direction.

use crate::stream::STREAM;
use crate::stream::stream_port::StreamPort;
use crate::wait::{Wait, by_class, waiting};
use ipcperf_core::prelude::*;
use ipcperf_sys::io::pipe;
use std::marker::PhantomData;

ipcperf_core::options! {
    /// Knobs of pipes.
    pub struct PipeOptions {
        /// Capacity of each of the two pipes; the kernel rounds up to a power of two of pages.
        pub size: Option<u64> = (None, "kernel default (64K)", Bytes { min: 4096, max: 1 << 30 }),
    }
}

/// Two anonymous pipes.
#[derive(Debug)]
pub struct Pipe<W>(PhantomData<W>);

impl<W: Wait> Mechanism for Pipe<W> {
    const SPEC: &'static Spec = &Spec {
        name: "pipe",
        summary: by_class(
            W::CLASS,
            "Two anonymous pipes; a reader sleeps in read.",
            "Two anonymous pipes, not blocking; both ends ask again and again.",
            "Two anonymous pipes, not blocking; a reader sleeps in epoll_wait, then reads.",
        ),
        manual: &["pipe(7)", "pipe(2)", "fcntl(2)"],
        pitfalls: &[
            "A message larger than the free room is moved in pieces, so the capacity decides for large sizes.",
            "End-of-file comes only when every copy of the write end is closed.",
            "Writes up to PIPE_BUF (4096 bytes) are atomic; larger ones of several writers mix.",
        ],
        direction: Direction::OneWay,
        reach: Reach::Related,
        producers: Peers::Many,
        consumers: Peers::Many,
        ..waiting::<W>(STREAM)
    };
    type Options = PipeOptions;
    type Port = StreamPort<W>;
    const SHARES: bool = true;

    fn probe(options: &PipeOptions) -> Result<(), Missing> {
        try_out(options.size)
    }

    fn usual() -> Option<Usual> {
        Some(usual())
    }

    fn open(_: &Shape, options: &PipeOptions) -> Result<Link, SetupError> {
        open_pipes(options.size)
    }

    fn attach(mut end: Attach<'_, PipeOptions>) -> Result<Self::Port, SetupError> {
        let [rx, tx] = end.descriptors()?;
        StreamPort::new(rx, tx, end.shape)
    }
}

/// Whether two pipes of this capacity can be had.
pub(crate) fn try_out(size: Option<u64>) -> Result<(), Missing> {
    open_pipes(size).map(drop).map_err(crate::missing)
}

/// The capacity of a pipe as it mostly is.
pub(crate) fn usual() -> Usual {
    Usual { knob: "size", value: pipe::usual_capacity(), less: pipe::shortage() }
}

/// A pipe for each direction. Each seat gets its read end, then its write end.
pub(crate) fn open_pipes(size: Option<u64>) -> Result<Link, SetupError> {
    let (ping, pong) = (pipe::pair()?, pipe::pair()?);
    let granted = pipe::set_capacity(&ping.write, size)?;
    pipe::set_capacity(&pong.write, size)?;
    let link = Link::of_fds([pong.read, ping.write], [ping.read, pong.write]);
    Ok(link.granted("size", granted))
}

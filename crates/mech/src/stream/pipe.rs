//! Anonymous pipes, `pipe2(2)`: one for each direction.

use crate::port::descriptors;
use crate::stream::stream_port::StreamPort;
use crate::wait::{Wait, by_class};
use ipcperf_core::{
    BackPressure, Direction, Family, KnobValue, Link, Mechanism, Meet, Memory, Missing, OnClose,
    Payload, Peers, Reach, Seat, SetupError, Shape, Spec, Wiring,
};
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
        variant: W::VARIANT,
        family: Family::Stream,
        wait: W::CLASS,
        default: W::VARIANT.is_none(),
        summary: by_class(
            W::CLASS,
            "Two anonymous pipes; a reader sleeps in read.",
            "Two anonymous pipes, not blocking; both ends ask again and again.",
            "Two anonymous pipes, not blocking; a reader sleeps in epoll_wait, then reads.",
        ),
        manual: &["pipe(7)", "pipe(2)", "fcntl(2)"],
        pitfalls: &[
            "A message larger than the free room is handed over in pieces, so capacity decides large sizes.",
            "End-of-file comes only when every copy of the write end is closed.",
            "Writes up to PIPE_BUF (4096 bytes) are atomic; larger ones of several writers mix.",
        ],
        payload: Payload::Stream,
        direction: Direction::OneWay,
        reach: Reach::Related,
        producers: Peers::Many,
        consumers: Peers::Many,
        back_pressure: BackPressure::Blocks,
        on_close: OnClose::Told,
        on_death: OnClose::Told,
        descriptors: false,
        memory: Memory::Reused,
        copies: 2,
        syscalls: W::SYSCALLS,
        window: None,
        needs: &[],
    };
    type Options = PipeOptions;
    type Port = StreamPort<W>;
    const SHARES: bool = true;

    fn probe(options: &PipeOptions) -> Result<(), Missing> {
        try_out(options.size)
    }

    fn open(_: &Shape, options: &PipeOptions) -> Result<Link, SetupError> {
        let (mut link, size) = open_pipes(options.size)?;
        link.effective = vec![("pipe.size".into(), KnobValue::Number(size))];
        Ok(link)
    }

    fn attach(
        wiring: Wiring,
        _: Seat,
        shape: &Shape,
        _: &PipeOptions,
        _: &mut dyn Meet,
    ) -> Result<Self::Port, SetupError> {
        let [rx, tx] = descriptors(wiring)?;
        StreamPort::new(rx, tx, shape)
    }
}

/// Whether a pipe of this capacity can be had.
pub(crate) fn try_out(size: Option<u64>) -> Result<(), Missing> {
    let tried = pipe::pair().and_then(|pipe| pipe::set_capacity(&pipe.write, size));
    tried.map(drop).map_err(crate::missing)
}

/// A pipe for each direction, and the capacity in force. Each seat gets its read end, then its write end.
pub(crate) fn open_pipes(size: Option<u64>) -> Result<(Link, u64), SetupError> {
    let (ping, pong) = (pipe::pair()?, pipe::pair()?);
    let granted = pipe::set_capacity(&ping.write, size)?;
    pipe::set_capacity(&pong.write, size)?;
    let link = Link {
        lead: Wiring::of_fds([pong.read, ping.write]),
        follow: Wiring::of_fds([ping.read, pong.write]),
        ..Link::default()
    };
    Ok((link, granted))
}

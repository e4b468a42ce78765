//! Named pipes, `mkfifo(3)`: one for each direction, in the run's directory.

use crate::stream::stream_port::StreamPort;
use crate::wait::{Wait, by_class};
use ipcperf_core::{
    BackPressure, Direction, Door, Family, Guard, KnobValue, Link, Mechanism, Meet, Memory,
    Missing, OnClose, Payload, Peers, Reach, Seat, SetupError, Shape, Spec, Wiring,
};
use ipcperf_sys::io::names::Unlink;
use ipcperf_sys::io::pipe::{self, End};
use std::marker::PhantomData;

ipcperf_core::options! {
    /// Knobs of FIFOs.
    pub struct FifoOptions {
        /// Capacity of each of the two FIFOs; the kernel rounds up to a power of two of pages.
        pub size: Option<u64> = (None, "kernel default (64K)", Bytes { min: 4096, max: 1 << 30 }),
    }
}

/// Two named pipes.
#[derive(Debug)]
pub struct Fifo<W>(PhantomData<W>);

impl<W: Wait> Mechanism for Fifo<W> {
    const SPEC: &'static Spec = &Spec {
        name: "fifo",
        variant: W::VARIANT,
        family: Family::Stream,
        wait: W::CLASS,
        default: W::VARIANT.is_none(),
        summary: by_class(
            W::CLASS,
            "Two named pipes: a pipe that unrelated processes open by path; a reader sleeps in read.",
            "Two named pipes, not blocking; both ends ask again and again.",
            "Two named pipes, not blocking; a reader sleeps in epoll_wait, then reads.",
        ),
        manual: &["fifo(7)", "mkfifo(3)", "pipe(7)"],
        pitfalls: &[
            "Once open it is a pipe, through the same code in the kernel: expect the same numbers.",
            "Opening sleeps until the other end is opened; two ends that open in opposite order deadlock.",
            "The name outlives the processes.",
        ],
        payload: Payload::Stream,
        direction: Direction::OneWay,
        reach: Reach::Named,
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
        needs: &["a file system that has FIFOs"],
    };
    type Options = FifoOptions;
    type Port = StreamPort<W>;
    const SHARES: bool = true;

    fn probe(options: &FifoOptions) -> Result<(), Missing> {
        // The directory of the run does not exist yet; a FIFO's capacity is a pipe's.
        let tried = pipe::may_make_fifos()
            .and_then(|()| pipe::pair())
            .and_then(|pipe| pipe::set_capacity(&pipe.write, options.size));
        tried.map(drop).map_err(crate::missing)
    }

    fn door(_: &FifoOptions) -> Option<Door> {
        Some(Door::Fifo)
    }

    fn open(shape: &Shape, _: &FifoOptions) -> Result<Link, SetupError> {
        let guards = ["ping", "pong"]
            .map(|which| pipe::make_fifo(shape.directory.join(shape.name(which))).map(Guard::new));
        Ok(Link { guards: guards.into_iter().collect::<Result<_, _>>()?, ..Link::default() })
    }

    fn attach(
        _: Wiring,
        seat: Seat,
        shape: &Shape,
        options: &FifoOptions,
        meet: &mut dyn Meet,
    ) -> Result<Self::Port, SetupError> {
        let [ping, pong] = ["ping", "pong"].map(|which| shape.directory.join(shape.name(which)));
        // Both seats open ping before pong, from opposite sides: each open finds its counterpart.
        let (rx, tx) = match seat {
            Seat::Lead => {
                let tx = pipe::open_fifo(&ping, End::Write)?;
                let rx = pipe::open_fifo(&pong, End::Read)?;
                // The follow has found both by now, so the names have done their work, unless others share this seat.
                if shape.pattern.crowd().is_none() {
                    drop([ping, pong].map(Unlink::new));
                }
                (rx, tx)
            }
            Seat::Follow => {
                let rx = pipe::open_fifo(&ping, End::Read)?;
                (rx, pipe::open_fifo(&pong, End::Write)?)
            }
        };
        let size = pipe::set_capacity(&tx, options.size)?;
        meet.effective("fifo.size", KnobValue::Number(size));
        StreamPort::new(rx, tx, shape)
    }
}

//! Named pipes, `mkfifo(3)`: one for each direction, in the run's directory.

use crate::stream::STREAM;
use crate::stream::pipe::try_out;
use crate::stream::stream_port::StreamPort;
use crate::wait::{Wait, waiting};
use ipcperf_core::prelude::*;
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
        summary: if W::VARIANT.is_none() {
            "Two named pipes: a pipe that unrelated processes open by path; a reader sleeps in read."
        } else {
            "Two named pipes, not blocking; both ends ask again and again."
        },
        manual: &["fifo(7)", "mkfifo(3)", "pipe(7)"],
        pitfalls: &[
            "Each read and write updates the times of its inode, which an anonymous pipe no longer does since Linux 6.15: small messages cost more.",
            "Opening sleeps until the other end is opened; two ends that open in opposite order deadlock.",
            "The name outlives the processes.",
        ],
        direction: Direction::OneWay,
        reach: Reach::Named,
        shares: Namespaces::MNT,
        shares_by_name: Namespaces::MNT,
        on_restart: OnRestart::GoesOn,
        producers: Peers::Many,
        consumers: Peers::Many,
        needs: &["a file system that has FIFOs"],
        ..waiting::<W>(STREAM)
    };
    type Options = FifoOptions;
    type Port = StreamPort<W>;
    const SHARES: bool = true;

    fn probe(options: &FifoOptions) -> Result<(), Missing> {
        let (_run, shape) = crate::trial()?;
        pipe::make_fifo(shape.path("ping")?).map_err(crate::missing)?;
        // Nobody reads it; its capacity is a pipe's.
        try_out(options.size)
    }

    fn listener(_: &FifoOptions) -> Option<ListenerKind> {
        Some(ListenerKind::Fifo)
    }

    fn usual() -> Option<Usual> {
        Some(crate::stream::pipe::usual())
    }

    fn open(shape: &Shape, _: &FifoOptions) -> Result<Link, SetupError> {
        let fifos = [pipe::make_fifo(shape.path("ping")?)?, pipe::make_fifo(shape.path("pong")?)?];
        Ok(Link { guards: fifos.map(Guard::new).into(), ..Link::default() })
    }

    fn attach(mut end: Attach<'_, FifoOptions>) -> Result<Self::Port, SetupError> {
        let (ping, pong) = (end.shape.path("ping")?, end.shape.path("pong")?);
        // Both seats open ping before pong, from opposite sides: each open finds its counterpart.
        let (rx, tx) = match end.seat {
            Seat::Lead => {
                let tx = pipe::open_fifo(&ping, End::Write)?;
                let rx = pipe::open_fifo(&pong, End::Read)?;
                // The follow has found both by now, so the names have done their work, unless others share this seat.
                if !end.shape.pattern.is_shared() {
                    drop([ping, pong].map(Unlink::new));
                }
                (rx, tx)
            }
            Seat::Follow => {
                let rx = pipe::open_fifo(&ping, End::Read)?;
                (rx, pipe::open_fifo(&pong, End::Write)?)
            }
        };
        let size = pipe::set_capacity(&tx, end.options.size)?;
        end.effective("size", size);
        StreamPort::new(rx, tx, end.shape)
    }
}

//! Pages in two pipes at once, `tee(2)`: one pipe for each direction, and one that each sender keeps.

use crate::kernel_copy::KERNEL_COPY;
use crate::kernel_copy::carried::{OverPipe, Twice};
use crate::kernel_copy::relay_port::{FromPipe, RelayPort};
use crate::stream::pipe::open_pipes;
use ipcperf_core::prelude::*;
use ipcperf_sys::io::pipe;
use ipcperf_sys::io::pipe::splice;

ipcperf_core::options! {
    /// Knobs of tee.
    pub struct TeeOptions {
        /// Capacity of each pipe; the kernel rounds up to a power of two of pages.
        pub size: Option<u64> = (None, "kernel default (64K)", Bytes { min: 4096, max: 1 << 28 }),
    }
}

/// Two pipes, each fed by tee from another.
#[derive(Debug)]
pub struct Tee;

impl Mechanism for Tee {
    const SPEC: &'static Spec = &Spec {
        name: "tee",
        wait: Wait::Block,
        summary: "Written to a pipe, duplicated to the receiver's pipe by reference, dropped from the first: what it costs to let one more listen.",
        manual: &["tee(2)", "splice(2)", "pipe(7)"],
        pitfalls: &[
            "It makes a second reference to the same pages; the first must be consumed too, here by a splice to /dev/null.",
            "A reference takes a slot of the pipe, however few bytes it stands for, so small messages fill the pipe early.",
            "Bytes that the receiver does not read are dropped inside the kernel by one more call, splice to /dev/null.",
        ],
        direction: Direction::OneWay,
        reach: Reach::Related,
        producers: Peers::Many,
        consumers: Peers::Many,
        copies: 2,
        // write, tee, splice; read.
        syscalls: Syscalls { send: Some(3.0), recv: Some(1.0) },
        ..KERNEL_COPY
    };
    type Options = TeeOptions;
    type Port = RelayPort<FromPipe, OverPipe<Twice>>;

    fn probe(options: &TeeOptions) -> Result<(), Missing> {
        let tried = || {
            let (one, two) = (pipe::pair()?, pipe::pair()?);
            pipe::set_capacity(&one.write, options.size)?;
            pipe::set_capacity(&two.write, options.size)?;
            splice::try_tee(&one, &two)
        };
        tried().map_err(crate::missing)
    }

    fn usual() -> Option<Usual> {
        Some(crate::stream::pipe::usual())
    }

    fn open(_: &Shape, options: &TeeOptions) -> Result<Link, SetupError> {
        open_pipes(options.size)
    }

    fn attach(mut end: Attach<'_, TeeOptions>) -> Result<Self::Port, SetupError> {
        let [rx, tx] = end.descriptors()?;
        let own = pipe::pair()?;
        let size = pipe::set_capacity(&own.write, end.options.size)?;
        let capacity = usize::try_from(size).unwrap_or(usize::MAX);
        let outlet = OverPipe::new(own, capacity, Twice::new(tx)?, end.shape)?;
        RelayPort::new(FromPipe::new(rx)?, outlet, end.shape)
    }
}

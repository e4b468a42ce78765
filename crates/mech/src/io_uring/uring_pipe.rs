//! Anonymous pipes, driven through `io_uring(7)`.

use crate::io_uring::uring_port::{self, UringPort};
use crate::stream::pipe;
use ipcperf_core::prelude::*;
use ipcperf_sys::io::uring::{self as rings, Drive, Kind};
use std::marker::PhantomData;

ipcperf_core::options! {
    /// Knobs of pipes driven through a ring.
    pub struct UringPipeOptions {
        /// Capacity of each of the two pipes; the kernel rounds up to a power of two of pages.
        pub size: Option<u64> = (None, "kernel default (64K)", Bytes { min: 4096, max: 1 << 30 }),
        /// How the kernel gets to know the buffer: in each operation, registered beforehand, or provided for receives.
        pub buffers: String = ("plain".into(), "plain", Choice { words: &["plain", "registered", "provided"] }),
    }
}

/// Two anonymous pipes and a ring for each end.
#[derive(Debug)]
pub struct UringPipe<D>(PhantomData<D>);

impl<D: Drive> Mechanism for UringPipe<D> {
    const SPEC: &'static Spec = &Spec {
        name: "uring-pipe",
        summary: if D::KERNEL_THREAD {
            "Two pipes read and written through io_uring; a kernel thread polls each ring, and an end watches for completions, then sleeps."
        } else {
            "Two pipes read and written through io_uring; one io_uring_enter submits an operation and sleeps until it is done."
        },
        manual: &["io_uring(7)", "io_uring_enter(2)", "io_uring_setup(2)", "pipe(7)"],
        direction: Direction::OneWay,
        reach: Reach::Related,
        producers: Peers::Many,
        consumers: Peers::Many,
        ..uring_port::driven::<D>()
    };
    type Options = UringPipeOptions;
    type Port = UringPort<D>;

    fn probe(options: &UringPipeOptions) -> Result<(), Missing> {
        pipe::try_out(options.size)?;
        rings::probe::<D>(Kind::Pipe, uring_port::buffers(&options.buffers)).map_err(crate::missing)
    }

    fn usual() -> Option<Usual> {
        Some(crate::stream::pipe::usual())
    }

    fn open(_: &Shape, options: &UringPipeOptions) -> Result<Link, SetupError> {
        pipe::open_pipes(options.size)
    }

    fn attach(mut end: Attach<'_, UringPipeOptions>) -> Result<Self::Port, SetupError> {
        let [rx, tx] = end.descriptors()?;
        let port =
            UringPort::of_pipes(rx, tx, uring_port::buffers(&end.options.buffers), end.shape)?;
        end.effective("buffers", &end.options.buffers);
        Ok(port)
    }
}

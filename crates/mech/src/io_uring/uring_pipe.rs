//! Anonymous pipes, driven through `io_uring(7)`.

use crate::io_uring::uring_port::{self, UringPort};
use crate::port::descriptors;
use crate::stream::pipe;
use ipcperf_core::{
    BackPressure, Direction, Family, KnobValue, Link, Mechanism, Meet, Memory, Missing, OnClose,
    Payload, Peers, Reach, Seat, SetupError, Shape, Spec, Wiring,
};
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
        variant: uring_port::variant::<D>(),
        family: Family::IoUring,
        wait: uring_port::class::<D>(),
        default: !D::KERNEL_THREAD,
        summary: if D::KERNEL_THREAD {
            "Two pipes read and written through io_uring; a kernel thread polls each ring, and an end watches for completions, then sleeps."
        } else {
            "Two pipes read and written through io_uring; one io_uring_enter submits an operation and sleeps until it is done."
        },
        manual: &["io_uring(7)", "io_uring_enter(2)", "io_uring_setup(2)", "pipe(7)"],
        pitfalls: if D::KERNEL_THREAD { uring_port::SQPOLL_PITFALLS } else { uring_port::PITFALLS },
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
        syscalls: uring_port::syscalls::<D>(),
        window: None,
        needs: uring_port::NEEDS,
    };
    type Options = UringPipeOptions;
    type Port = UringPort<D>;

    fn probe(options: &UringPipeOptions) -> Result<(), Missing> {
        pipe::try_out(options.size)?;
        rings::probe::<D>(Kind::Pipe, uring_port::buffers(&options.buffers)).map_err(crate::missing)
    }

    fn open(_: &Shape, options: &UringPipeOptions) -> Result<Link, SetupError> {
        let (mut link, size) = pipe::open_pipes(options.size)?;
        link.effective = vec![("uring-pipe.size".into(), KnobValue::Number(size))];
        Ok(link)
    }

    fn attach(
        wiring: Wiring,
        _: Seat,
        shape: &Shape,
        options: &UringPipeOptions,
        meet: &mut dyn Meet,
    ) -> Result<Self::Port, SetupError> {
        let [rx, tx] = descriptors(wiring)?;
        let port = UringPort::of_pipes(rx, tx, uring_port::buffers(&options.buffers), shape)?;
        meet.effective("uring-pipe.buffers", KnobValue::Word(options.buffers.clone()));
        Ok(port)
    }
}

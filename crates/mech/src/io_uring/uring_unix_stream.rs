//! UNIX stream sockets, driven through `io_uring(7)`.

use crate::io_uring::uring_port::{self, UringPort};
use ipcperf_core::prelude::*;
use ipcperf_sys::io::socket;
use ipcperf_sys::io::uring::{self as rings, Drive, Kind};
use std::marker::PhantomData;

ipcperf_core::options! {
    /// Knobs of UNIX stream sockets driven through a ring.
    pub struct UringUnixStreamOptions {
        /// Send buffer (SO_SNDBUF); the kernel doubles what is asked for.
        pub sndbuf: Option<u64> = (None, "net.core.wmem_default (208K)", Bytes { min: 2048, max: 1 << 30 }),
        /// How the kernel gets to know the buffer: in each operation, registered beforehand, or provided for receives.
        pub buffers: String = ("plain".into(), "plain", Choice { words: &["plain", "registered", "provided"] }),
    }
}

/// A pair of UNIX stream sockets and a ring for each end.
#[derive(Debug)]
pub struct UringUnixStream<D>(PhantomData<D>);

impl<D: Drive> Mechanism for UringUnixStream<D> {
    const SPEC: &'static Spec = &Spec {
        name: "uring-unix-stream",
        summary: if D::KERNEL_THREAD {
            "A pair of UNIX stream sockets used through io_uring; a kernel thread polls each ring, and an end watches for completions, then sleeps."
        } else {
            "A pair of UNIX stream sockets used through io_uring; one io_uring_enter submits an operation and sleeps until it is done."
        },
        manual: &["io_uring(7)", "io_uring_enter(2)", "io_uring_setup(2)", "unix(7)"],
        direction: Direction::TwoWay,
        reach: Reach::Related,
        producers: Peers::One,
        consumers: Peers::One,
        descriptors: true,
        ..uring_port::driven::<D>()
    };
    type Options = UringUnixStreamOptions;
    type Port = UringPort<D>;

    fn probe(options: &UringUnixStreamOptions) -> Result<(), Missing> {
        let tried = socket::pair(socket::Kind::Stream)
            .and_then(|(one, _)| socket::set_buffers(one, options.sndbuf, None))
            .and_then(|_| rings::probe::<D>(Kind::Socket, uring_port::buffers(&options.buffers)));
        tried.map_err(crate::missing)
    }

    fn open(_: &Shape, options: &UringUnixStreamOptions) -> Result<Link, SetupError> {
        let (lead, follow) = socket::pair(socket::Kind::Stream)?;
        let granted = socket::set_buffers(&lead, options.sndbuf, None)?.send;
        socket::set_buffers(&follow, options.sndbuf, None)?;
        Ok(Link::of_fds([lead], [follow]).granted("sndbuf", granted))
    }

    fn attach(mut end: Attach<'_, UringUnixStreamOptions>) -> Result<Self::Port, SetupError> {
        let [own] = end.descriptors()?;
        let port = UringPort::of_socket(own, uring_port::buffers(&end.options.buffers), end.shape)?;
        end.effective("buffers", &end.options.buffers);
        Ok(port)
    }
}

//! TCP over the loopback interface, driven through `io_uring(7)`.

use crate::io_uring::uring_port::{self, UringPort};
use crate::stream::tcp::{LOOPBACK, tcp_knobs};
use ipcperf_core::prelude::*;
use ipcperf_sys::io::socket::meeting;
use ipcperf_sys::io::uring::{self as rings, Drive, Kind};
use std::marker::PhantomData;

ipcperf_core::options! {
    /// Knobs of TCP driven through a ring.
    pub struct UringTcpOptions {
        /// Send small segments at once (TCP_NODELAY).
        pub nodelay: bool = (true, "on", Flag),
        /// Send buffer (SO_SNDBUF); the kernel doubles what is asked for and stops tuning it.
        pub sndbuf: Option<u64> = (None, "tuned by the kernel (net.ipv4.tcp_wmem)", Bytes { min: 2048, max: 1 << 30 }),
        /// Receive buffer (SO_RCVBUF); the kernel doubles what is asked for and stops tuning it.
        pub rcvbuf: Option<u64> = (None, "tuned by the kernel (net.ipv4.tcp_rmem)", Bytes { min: 2048, max: 1 << 30 }),
        /// Microseconds for which a receive polls the network device before it sleeps (SO_BUSY_POLL).
        pub busy_poll: Option<u64> = (None, "net.core.busy_read (0)", Count { min: 0, max: 1_000_000 }),
        /// Connections that may wait at the listener.
        pub backlog: u64 = (meeting::backlog(), "511, or net.core.somaxconn", Count { min: 0, max: 65_535 }),
        /// How the kernel gets to know the buffer: in each operation, registered beforehand, or provided for receives.
        pub buffers: String = ("plain".into(), "plain", Choice { words: &["plain", "registered", "provided"] }),
    }
}

tcp_knobs!(UringTcpOptions);

/// A TCP connection to 127.0.0.1 and a ring for each end.
#[derive(Debug)]
pub struct UringTcp<D>(PhantomData<D>);

impl<D: Drive> Mechanism for UringTcp<D> {
    const SPEC: &'static Spec = &Spec {
        name: "uring-tcp",
        summary: if D::KERNEL_THREAD {
            "A TCP connection over 127.0.0.1 used through io_uring; a kernel thread polls each ring, and an end watches for completions, then sleeps."
        } else {
            "A TCP connection over 127.0.0.1 used through io_uring; one io_uring_enter submits an operation and sleeps until it is done."
        },
        manual: &["io_uring(7)", "io_uring_enter(2)", "io_uring_setup(2)", "tcp(7)"],
        direction: Direction::TwoWay,
        reach: Reach::Network,
        shares: Namespaces::NET,
        shares_by_name: Namespaces::NET,
        on_restart: OnRestart::Reopens,
        producers: Peers::One,
        consumers: Peers::One,
        needs: uring_port::TCP_NEEDS,
        ..uring_port::driven::<D>()
    };
    type Options = UringTcpOptions;
    type Port = UringPort<D>;

    fn probe(options: &UringTcpOptions) -> Result<(), Missing> {
        options.tcp().probe(LOOPBACK)?;
        rings::probe::<D>(Kind::Socket, uring_port::buffers(&options.buffers))
            .map_err(crate::missing)
    }

    fn open(shape: &Shape, options: &UringTcpOptions) -> Result<Link, SetupError> {
        options.tcp().listen(LOOPBACK, shape)
    }

    fn attach(mut end: Attach<'_, UringTcpOptions>) -> Result<Self::Port, SetupError> {
        let socket = end.options.tcp().connect(LOOPBACK, &mut end)?;
        let port =
            UringPort::of_socket(socket, uring_port::buffers(&end.options.buffers), end.shape)?;
        end.effective("buffers", &end.options.buffers);
        Ok(port)
    }
}

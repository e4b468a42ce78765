//! TCP over the loopback interface, driven through `io_uring(7)`.

use crate::io_uring::uring_port::{self, UringPort};
use crate::stream::tcp::{self, Site, TcpOptions};
use ipcperf_core::{
    BackPressure, Direction, Family, KnobValue, Link, Mechanism, Meet, Memory, Missing, OnClose,
    Payload, Peers, Reach, Seat, SetupError, Shape, Spec, Wiring,
};
use ipcperf_sys::io::socket::meeting;
use ipcperf_sys::io::uring::{self as rings, Drive, Kind};
use std::marker::PhantomData;

const SITE: Site = Site { name: "uring-tcp", ..tcp::SITE };

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
        pub backlog: u64 = (meeting::BACKLOG, "8", Count { min: 0, max: 65_535 }),
        /// How the kernel gets to know the buffer: in each operation, registered beforehand, or provided for receives.
        pub buffers: String = ("plain".into(), "plain", Choice { words: &["plain", "registered", "provided"] }),
    }
}

impl UringTcpOptions {
    /// What does not concern the ring.
    fn tcp(&self) -> TcpOptions {
        TcpOptions {
            nodelay: self.nodelay,
            sndbuf: self.sndbuf,
            rcvbuf: self.rcvbuf,
            busy_poll: self.busy_poll,
            backlog: self.backlog,
        }
    }
}

/// A TCP connection to 127.0.0.1 and a ring for each end.
#[derive(Debug)]
pub struct UringTcp<D>(PhantomData<D>);

impl<D: Drive> Mechanism for UringTcp<D> {
    const SPEC: &'static Spec = &Spec {
        name: "uring-tcp",
        variant: uring_port::variant::<D>(),
        family: Family::IoUring,
        wait: uring_port::class::<D>(),
        default: !D::KERNEL_THREAD,
        summary: if D::KERNEL_THREAD {
            "A TCP connection over 127.0.0.1 used through io_uring; a kernel thread polls each ring, and an end watches for completions, then sleeps."
        } else {
            "A TCP connection over 127.0.0.1 used through io_uring; one io_uring_enter submits an operation and sleeps until it is done."
        },
        manual: &["io_uring(7)", "io_uring_enter(2)", "io_uring_setup(2)", "tcp(7)"],
        pitfalls: if D::KERNEL_THREAD { uring_port::SQPOLL_PITFALLS } else { uring_port::PITFALLS },
        payload: Payload::Stream,
        direction: Direction::TwoWay,
        reach: Reach::Network,
        producers: Peers::One,
        consumers: Peers::One,
        back_pressure: BackPressure::Blocks,
        on_close: OnClose::Told,
        on_death: OnClose::Told,
        descriptors: false,
        memory: Memory::Reused,
        copies: 2,
        syscalls: uring_port::syscalls::<D>(),
        window: None,
        needs: uring_port::TCP_NEEDS,
    };
    type Options = UringTcpOptions;
    type Port = UringPort<D>;

    fn probe(options: &UringTcpOptions) -> Result<(), Missing> {
        SITE.probe(&options.tcp())?;
        rings::probe::<D>(Kind::Socket, uring_port::buffers(&options.buffers))
            .map_err(crate::missing)
    }

    fn open(_: &Shape, options: &UringTcpOptions) -> Result<Link, SetupError> {
        SITE.listen(&options.tcp())
    }

    fn attach(
        wiring: Wiring,
        seat: Seat,
        shape: &Shape,
        options: &UringTcpOptions,
        meet: &mut dyn Meet,
    ) -> Result<Self::Port, SetupError> {
        let socket = SITE.connect(wiring, seat, shape, &options.tcp(), meet)?;
        let port = UringPort::of_socket(socket, uring_port::buffers(&options.buffers), shape)?;
        meet.effective("uring-tcp.buffers", KnobValue::Word(options.buffers.clone()));
        Ok(port)
    }
}

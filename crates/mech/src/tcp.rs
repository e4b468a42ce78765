//! TCP over the loopback interface.

use crate::port::descriptors;
use crate::port::stream::StreamPort;
use crate::wait::{Wait, by_class};
use ipcperf_core::{
    BackPressure, Direction, Family, KnobValue, Link, Mechanism, Meet, Memory, Missing, OnClose,
    Payload, Peers, Reach, Seat, SetupError, Shape, Spec, Wiring,
};
use ipcperf_sys::io::{meeting, socket};
use std::marker::PhantomData;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::os::fd::OwnedFd;

pub(crate) const HOST: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

ipcperf_core::options! {
    /// Knobs of TCP.
    pub struct TcpOptions {
        /// Send small segments at once (TCP_NODELAY).
        pub nodelay: bool = (true, "on", Flag),
        /// Send buffer (SO_SNDBUF); the kernel doubles what is asked for and stops tuning it.
        pub sndbuf: Option<u64> = (None, "tuned by the kernel (net.ipv4.tcp_wmem)", Bytes { min: 2048, max: 1 << 30 }),
        /// Receive buffer (SO_RCVBUF); the kernel doubles what is asked for and stops tuning it.
        pub rcvbuf: Option<u64> = (None, "tuned by the kernel (net.ipv4.tcp_rmem)", Bytes { min: 2048, max: 1 << 30 }),
    }
}

/// A TCP connection to 127.0.0.1.
#[derive(Debug)]
pub struct Tcp<W>(PhantomData<W>);

impl<W: Wait> Mechanism for Tcp<W> {
    const SPEC: &'static Spec = &Spec {
        name: "tcp",
        variant: W::VARIANT,
        family: Family::Stream,
        wait: W::CLASS,
        default: W::VARIANT.is_none(),
        summary: by_class(
            W::CLASS,
            "A TCP connection over 127.0.0.1; a reader sleeps in read.",
            "A TCP connection over 127.0.0.1, not blocking; both ends ask again and again.",
            "A TCP connection over 127.0.0.1, not blocking; a reader sleeps in epoll_wait, then reads.",
        ),
        manual: &["tcp(7)", "ip(7)", "socket(7)"],
        pitfalls: &[
            "Without TCP_NODELAY a small segment may wait for the acknowledgement of the one before, 40 ms and more.",
            "Firewall rules, packet capture and traffic shaping apply to the loopback interface too.",
            "Buffer sizes that are not set are tuned while the connection runs: the effective value is the first.",
            "Whoever closes first keeps the port pair in TIME_WAIT for a minute.",
        ],
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
        syscalls: W::SYSCALLS,
        window: None,
        needs: &["CONFIG_INET", "the loopback interface up"],
    };
    type Options = TcpOptions;
    type Port = StreamPort<W>;

    fn probe(_: &TcpOptions) -> Result<(), Missing> {
        meeting::loopback(HOST)
    }

    fn open(_: &Shape, options: &TcpOptions) -> Result<Link, SetupError> {
        listen(HOST, options)
    }

    fn attach(
        wiring: Wiring,
        seat: Seat,
        shape: &Shape,
        options: &TcpOptions,
        meet: &mut dyn Meet,
    ) -> Result<Self::Port, SetupError> {
        let socket = connect(wiring, (HOST, seat), shape, options)?;
        report(["tcp.nodelay", "tcp.sndbuf", "tcp.rcvbuf"], &socket, options, meet)?;
        StreamPort::of_socket(socket, shape)
    }
}

/// In the coordinator: a listener for the follow and its port for the lead.
pub(crate) fn listen(host: IpAddr, options: &TcpOptions) -> Result<Link, SetupError> {
    // The buffers of a listener are inherited, and those of both ends decide the window in the handshake.
    let listener = socket::tcp(host)?;
    socket::set_buffers(&listener, options.sndbuf, options.rcvbuf)?;
    let port = meeting::listen_tcp(&listener, host)?;
    let lead = Wiring { words: vec![port.into()], ..Wiring::default() };
    Ok(Link { lead, follow: Wiring::of_fds([listener]), ..Link::default() })
}

/// In a worker: the lead connects, the follow admits it.
pub(crate) fn connect(
    wiring: Wiring,
    (host, seat): (IpAddr, Seat),
    shape: &Shape,
    options: &TcpOptions,
) -> Result<OwnedFd, SetupError> {
    match seat {
        Seat::Lead => {
            let own = socket::tcp(host)?;
            socket::set_buffers(&own, options.sndbuf, options.rcvbuf)?;
            let port = wiring.words.first().and_then(|port| u16::try_from(*port).ok());
            let port = port.ok_or_else(|| SetupError::Protocol("no port arrived".into()))?;
            meeting::connect_tcp(&own, SocketAddr::new(host, port), shape.nonce)?;
            Ok(own)
        }
        Seat::Follow => {
            let [listener] = descriptors(wiring)?;
            meeting::admit(&listener, shape.nonce)
        }
    }
}

/// Sets what a connection takes only now, and tells what is in force under the names of the knobs: `nodelay`,
/// `sndbuf`, `rcvbuf`.
pub(crate) fn report(
    [nodelay, sndbuf, rcvbuf]: [&str; 3],
    socket: &OwnedFd,
    options: &TcpOptions,
    meet: &mut dyn Meet,
) -> Result<(), SetupError> {
    let is_on = socket::set_nodelay(socket, options.nodelay)?;
    let buffers = socket::set_buffers(socket, None, None)?;
    meet.effective(nodelay, KnobValue::Flag(is_on));
    meet.effective(sndbuf, KnobValue::Number(buffers.send));
    meet.effective(rcvbuf, KnobValue::Number(buffers.receive));
    Ok(())
}

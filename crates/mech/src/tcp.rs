//! TCP over the loopback interface.

use crate::port::descriptors;
use crate::port::stream::StreamPort;
use crate::wait::{Wait, by_class};
use ipcperf_core::{
    BackPressure, Direction, Family, KnobValue, Link, Mechanism, Meet, Missing, OnClose, Payload,
    Peers, Reach, Seat, SetupError, Shape, Spec, Wiring,
};
use ipcperf_sys::io::{meeting, socket};
use std::marker::PhantomData;

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
        copies: 2,
        syscalls: W::SYSCALLS,
        window: None,
        needs: &["CONFIG_INET", "the loopback interface up"],
    };
    type Options = TcpOptions;
    type Port = StreamPort<W>;

    fn probe(_: &TcpOptions) -> Result<(), Missing> {
        meeting::loopback()
    }

    fn open(_: &Shape, options: &TcpOptions) -> Result<Link, SetupError> {
        // The buffers of a listener are inherited, and those of both ends decide the window in the handshake.
        let listener = socket::tcp()?;
        socket::set_buffers(&listener, options.sndbuf, options.rcvbuf)?;
        let port = meeting::listen_tcp(&listener)?;
        let lead = Wiring { words: vec![port.into()], ..Wiring::default() };
        Ok(Link { lead, follow: Wiring::of_fds([listener]), ..Link::default() })
    }

    fn attach(
        wiring: Wiring,
        seat: Seat,
        shape: &Shape,
        options: &TcpOptions,
        meet: &mut dyn Meet,
    ) -> Result<Self::Port, SetupError> {
        let own = match seat {
            Seat::Lead => {
                let own = socket::tcp()?;
                socket::set_buffers(&own, options.sndbuf, options.rcvbuf)?;
                let port = wiring.words.first().and_then(|port| u16::try_from(*port).ok());
                let port = port.ok_or_else(|| SetupError::Protocol("no port arrived".into()))?;
                meeting::connect_tcp(&own, port, shape.nonce)?;
                own
            }
            Seat::Follow => {
                let [listener] = descriptors(wiring)?;
                meeting::admit(&listener, shape.nonce)?
            }
        };
        let nodelay = socket::set_nodelay(&own, options.nodelay)?;
        let buffers = socket::set_buffers(&own, None, None)?;
        meet.effective("tcp.nodelay", KnobValue::Flag(nodelay));
        meet.effective("tcp.sndbuf", KnobValue::Number(buffers.send));
        meet.effective("tcp.rcvbuf", KnobValue::Number(buffers.receive));
        StreamPort::of_socket(own, shape)
    }
}

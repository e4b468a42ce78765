//! TCP over the loopback interface.

use crate::port::descriptors;
use crate::stream::stream_port::StreamPort;
use crate::wait::{Wait, by_class};
use ipcperf_core::{
    BackPressure, Direction, Door, Family, KnobValue, Link, Mechanism, Meet, Memory, Missing,
    OnClose, Payload, Peers, Reach, Seat, SetupError, Shape, Spec, Wiring,
};
use ipcperf_sys::io::socket;
use ipcperf_sys::io::socket::inet::{self, Inet, Protocol};
use ipcperf_sys::io::socket::meeting;
use std::marker::PhantomData;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::os::fd::OwnedFd;

pub(crate) const SITE: Site = Site {
    name: "tcp",
    inet: Inet { host: IpAddr::V4(Ipv4Addr::LOCALHOST), protocol: Protocol::Tcp },
};

ipcperf_core::options! {
    /// Knobs of TCP.
    pub struct TcpOptions {
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
            "Busy polling asks the queue of a network device, and the loopback interface has none: it changes nothing here.",
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

    fn probe(options: &TcpOptions) -> Result<(), Missing> {
        SITE.probe(options)
    }

    fn door(_: &TcpOptions) -> Option<Door> {
        Some(Door::Tcp)
    }

    fn open(_: &Shape, options: &TcpOptions) -> Result<Link, SetupError> {
        SITE.listen(options)
    }

    fn attach(
        wiring: Wiring,
        seat: Seat,
        shape: &Shape,
        options: &TcpOptions,
        meet: &mut dyn Meet,
    ) -> Result<Self::Port, SetupError> {
        let socket = SITE.connect(wiring, seat, shape, options, meet)?;
        StreamPort::of_socket(socket, shape)
    }
}

/// What the mechanisms that are TCP to their users differ in: the name of their knobs, and where their ends meet.
pub(crate) struct Site {
    pub(crate) name: &'static str,
    pub(crate) inet: Inet,
}

impl Site {
    /// Whether a connection comes about and the knobs are allowed.
    pub(crate) fn probe(&self, options: &TcpOptions) -> Result<(), Missing> {
        meeting::loopback(self.inet)?;
        meeting::allow_backlog(options.backlog)?;
        let tried = inet::socket(self.inet)
            .and_then(|socket| inet::set_busy_poll(&socket, options.busy_poll));
        tried.map(drop).map_err(crate::missing)
    }

    /// In the coordinator: a listener for the follow and its port for the lead.
    pub(crate) fn listen(&self, options: &TcpOptions) -> Result<Link, SetupError> {
        // The buffers of a listener are inherited, and those of both ends decide the window in the handshake.
        let listener = inet::socket(self.inet)?;
        socket::set_buffers(&listener, options.sndbuf, options.rcvbuf)?;
        let port = meeting::listen_inet(&listener, self.inet, options.backlog)?;
        Ok(Link {
            lead: Wiring { words: vec![port.number.into()], ..Wiring::default() },
            follow: Wiring::of_fds([listener]),
            guards: Vec::new(),
            effective: vec![(format!("{}.backlog", self.name), KnobValue::Number(port.backlog))],
        })
    }

    /// In a worker: the lead connects, the follow admits it; both tell what their knobs became.
    pub(crate) fn connect(
        &self,
        wiring: Wiring,
        seat: Seat,
        shape: &Shape,
        options: &TcpOptions,
        meet: &mut dyn Meet,
    ) -> Result<OwnedFd, SetupError> {
        let own = match seat {
            Seat::Lead => {
                let own = inet::socket(self.inet)?;
                socket::set_buffers(&own, options.sndbuf, options.rcvbuf)?;
                let port = wiring.words.first().and_then(|port| u16::try_from(*port).ok());
                let port = port.ok_or_else(|| SetupError::Protocol("no port arrived".into()))?;
                meeting::connect_inet(&own, SocketAddr::new(self.inet.host, port), shape.nonce)?;
                own
            }
            Seat::Follow => {
                let [listener] = descriptors(wiring)?;
                meeting::admit(&listener, shape.nonce)?
            }
        };
        let is_on = inet::set_nodelay(&own, options.nodelay)?;
        let busy_poll = inet::set_busy_poll(&own, options.busy_poll)?;
        let buffers = socket::set_buffers(&own, None, None)?;
        let values = [
            ("nodelay", KnobValue::Flag(is_on)),
            ("sndbuf", KnobValue::Number(buffers.send)),
            ("rcvbuf", KnobValue::Number(buffers.receive)),
            ("busy_poll", KnobValue::Number(busy_poll)),
        ];
        for (knob, value) in values {
            meet.effective(&format!("{}.{knob}", self.name), value);
        }
        Ok(own)
    }
}

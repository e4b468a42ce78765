//! TCP over the loopback interface.

use crate::port::number;
use crate::stream::STREAM;
use crate::stream::stream_port::StreamPort;
use crate::wait::{Wait, by_class, waiting};
use ipcperf_core::prelude::*;
use ipcperf_sys::io::socket;
use ipcperf_sys::io::socket::inet::{self, Inet, Protocol};
use ipcperf_sys::io::socket::meeting::{self, Port};
use std::marker::PhantomData;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::os::fd::OwnedFd;

/// Where the ends meet.
pub(crate) const LOOPBACK: Inet =
    Inet { host: IpAddr::V4(Ipv4Addr::LOCALHOST), protocol: Protocol::Tcp };

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
        pub backlog: u64 = (meeting::backlog(), "511, or net.core.somaxconn", Count { min: 0, max: 65_535 }),
    }
}

/// A TCP connection to 127.0.0.1.
#[derive(Debug)]
pub struct Tcp<W>(PhantomData<W>);

impl<W: Wait> Mechanism for Tcp<W> {
    const SPEC: &'static Spec = &Spec {
        name: "tcp",
        summary: by_class(
            W::CLASS,
            "A TCP connection over 127.0.0.1; a reader sleeps in read.",
            "A TCP connection over 127.0.0.1, not blocking; both ends ask again and again.",
            "A TCP connection over 127.0.0.1, not blocking; a reader sleeps in epoll_wait, then reads.",
        ),
        manual: &["tcp(7)", "ip(7)", "socket(7)"],
        pitfalls: &[
            "Without TCP_NODELAY a small segment may wait for the acknowledgement of the one before, 40 ms and more.",
            "Firewall rules, packet capture and traffic shaping also apply to the loopback interface.",
            "Buffer sizes that are not set are tuned while the connection runs: the effective value is the initial one.",
            "The receive window grows with the bytes that arrive: a new connection carries less per second at first (--fresh).",
            "The end that closes first keeps the port pair in TIME_WAIT for a minute.",
            "Busy polling asks the queue of a network device, and the loopback interface has none: it changes nothing here.",
        ],
        direction: Direction::TwoWay,
        reach: Reach::Network,
        shares: Namespaces::NET,
        shares_by_name: Namespaces::NET,
        on_restart: OnRestart::Reopens,
        producers: Peers::One,
        consumers: Peers::One,
        needs: &["CONFIG_INET", "the loopback interface up"],
        ..waiting::<W>(STREAM)
    };
    type Options = TcpOptions;
    type Port = StreamPort<W>;

    fn probe(options: &TcpOptions) -> Result<(), Missing> {
        options.probe(LOOPBACK)
    }

    fn listener(_: &TcpOptions) -> Option<ListenerKind> {
        Some(ListenerKind::Tcp)
    }

    fn open(shape: &Shape, options: &TcpOptions) -> Result<Link, SetupError> {
        options.listen(LOOPBACK, shape)
    }

    fn attach(mut end: Attach<'_, TcpOptions>) -> Result<Self::Port, SetupError> {
        let socket = end.options.connect(LOOPBACK, &mut end)?;
        StreamPort::of_socket(socket, end.shape)
    }
}

/// What all mechanisms share that are TCP to their users; they differ in where their ends meet.
impl TcpOptions {
    /// Whether a connection comes about and the knobs are allowed.
    pub(crate) fn probe(&self, at: Inet) -> Result<(), Missing> {
        meeting::loopback(at)?;
        meeting::allow_backlog(self.backlog)?;
        let tried =
            inet::socket(at).and_then(|socket| inet::set_busy_poll(&socket, self.busy_poll));
        tried.map(drop).map_err(crate::missing)
    }

    /// In the coordinator: a listener for the follow and its port for the lead.
    pub(crate) fn listen(&self, at: Inet, shape: &Shape) -> Result<Link, SetupError> {
        let (link, backlog) = listen(at, (self.sndbuf, self.rcvbuf), self.backlog, shape)?;
        Ok(link.granted("backlog", backlog))
    }

    /// In a worker: the connection; tells what its knobs became.
    pub(crate) fn connect<O>(
        &self,
        at: Inet,
        end: &mut Attach<'_, O>,
    ) -> Result<OwnedFd, SetupError> {
        let own = connect(at, (self.sndbuf, self.rcvbuf), self.backlog, end)?;
        end.effective("nodelay", inet::set_nodelay(&own, self.nodelay)?);
        end.effective("busy_poll", inet::set_busy_poll(&own, self.busy_poll)?);
        let buffers = socket::set_buffers(&own, None, None)?;
        end.effective("sndbuf", buffers.send);
        end.effective("rcvbuf", buffers.receive);
        Ok(own)
    }
}

/// Knobs that are those of any TCP connection, among others or within other bounds: a method for what they share.
macro_rules! tcp_knobs {
    ($options:ident) => {
        impl $options {
            fn tcp(&self) -> $crate::stream::tcp::TcpOptions {
                $crate::stream::tcp::TcpOptions {
                    nodelay: self.nodelay,
                    sndbuf: self.sndbuf,
                    rcvbuf: self.rcvbuf,
                    busy_poll: self.busy_poll,
                    backlog: self.backlog,
                }
            }
        }
    };
}

pub(crate) use tcp_knobs;

/// A listener for the follow and its port for the lead, and how many connections may wait at it. Ends that are apart make
/// them themselves.
pub(crate) fn listen(
    at: Inet,
    buffers: (Option<u64>, Option<u64>),
    backlog: u64,
    shape: &Shape,
) -> Result<(Link, u64), SetupError> {
    if shape.is_apart {
        return Ok((Link::default(), backlog));
    }
    let (listener, port) = listener(at, buffers, backlog)?;
    let lead = Wiring::of_words([port.number.into()]);
    Ok((Link { lead, follow: Wiring::of_fds([listener]), ..Link::default() }, port.backlog))
}

fn listener(
    at: Inet,
    (sndbuf, rcvbuf): (Option<u64>, Option<u64>),
    backlog: u64,
) -> Result<(OwnedFd, Port), SetupError> {
    // The buffers of a listener are inherited, and those of both ends decide the window in the handshake.
    let listener = inet::socket(at)?;
    socket::set_buffers(&listener, sndbuf, rcvbuf)?;
    let port = meeting::listen_inet(&listener, at, backlog)?;
    Ok((listener, port))
}

/// The lead connects, the follow admits it.
pub(crate) fn connect<O>(
    at: Inet,
    buffers: (Option<u64>, Option<u64>),
    backlog: u64,
    end: &mut Attach<'_, O>,
) -> Result<OwnedFd, SetupError> {
    let at = Inet { host: end.shape.address(Seat::Follow, at.host), ..at };
    match end.seat {
        // Somebody has connected to an end that was there before.
        Seat::Lead if !end.wiring.fds.is_empty() => {
            let [own] = end.descriptors()?;
            Ok(own)
        }
        Seat::Lead => {
            if end.shape.is_apart {
                end.wiring = end.meet.swap(Wiring::default())?;
            }
            let own = inet::socket(at)?;
            socket::set_buffers(&own, buffers.0, buffers.1)?;
            let to = SocketAddr::new(at.host, number(&end.wiring)?);
            meeting::connect_inet(&own, to, end.shape.nonce)?;
            Ok(own)
        }
        Seat::Follow => {
            let listener = if end.shape.is_apart {
                let (listener, port) = listener(at, buffers, backlog)?;
                end.meet.swap(Wiring::of_words([port.number.into()]))?;
                listener
            } else {
                let [listener] = end.descriptors()?;
                listener
            };
            meeting::admit(&listener, end.shape.nonce)
        }
    }
}

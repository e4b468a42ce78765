//! SCTP over the loopback interface, one-to-one.

use crate::datagram::chunks::Chunks;
use crate::port::descriptors;
use crate::port::message::MessagePort;
use crate::wait::{Wait, by_class};
use ipcperf_core::{
    BackPressure, Direction, Family, KnobValue, Limit, Link, Mechanism, Meet, Memory, Missing,
    OnClose, Payload, Peers, Reach, Seat, SetupError, Shape, Spec, Wiring,
};
use ipcperf_sys::io::socket;
use ipcperf_sys::io::socket::Kind;
use ipcperf_sys::io::socket::inet::{self, Inet, Protocol};
use ipcperf_sys::io::socket::meeting;
use std::marker::PhantomData;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};

const LOOPBACK: Inet = Inet { host: IpAddr::V4(Ipv4Addr::LOCALHOST), protocol: Protocol::Sctp };

ipcperf_core::options! {
    /// Knobs of SCTP.
    pub struct SctpOptions {
        /// Send small messages at once (SCTP_NODELAY).
        pub nodelay: bool = (true, "on", Flag),
        /// Send buffer (SO_SNDBUF), which also limits the message; the kernel doubles what is asked for.
        pub sndbuf: Option<u64> = (None, "net.core.wmem_default (208K)", Bytes { min: 8192, max: 1 << 30 }),
        /// Receive buffer (SO_RCVBUF), which also limits the message; the kernel doubles what is asked for.
        pub rcvbuf: Option<u64> = (None, "net.core.rmem_default (208K)", Bytes { min: 8192, max: 1 << 30 }),
    }
}

/// An SCTP association with 127.0.0.1.
#[derive(Debug)]
pub struct Sctp<W>(PhantomData<W>);

impl<W: Wait> Mechanism for Sctp<W> {
    const SPEC: &'static Spec = &Spec {
        name: "sctp",
        variant: W::VARIANT,
        family: Family::Datagram,
        wait: W::CLASS,
        default: W::VARIANT.is_none(),
        summary: by_class(
            W::CLASS,
            "An SCTP association over 127.0.0.1, which keeps boundaries; a receiver sleeps in recv.",
            "An SCTP association over 127.0.0.1, not blocking; both ends ask again and again.",
            "An SCTP association over 127.0.0.1, not blocking; a receiver sleeps in epoll_wait, then receives.",
        ),
        manual: &["sctp(7)", "ip(7)", "socket(7)"],
        pitfalls: &[
            "Each message keeps a header of its own on the way, where TCP packs bytes together: expect it behind tcp.",
            "A receive into less room than the message has leaves the rest for the next one, as if it were a stream.",
            "A message large against the receive buffer may come in parts; one above a quarter of it is refused here.",
            "Without SCTP_NODELAY a small message may wait for the acknowledgement of the one before.",
            "There are no empty messages: the kernel refuses them with EINVAL.",
        ],
        payload: Payload::Message { max: None },
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
        needs: &["CONFIG_IP_SCTP (module sctp)", "the loopback interface up"],
    };
    type Options = SctpOptions;
    type Port = MessagePort<Chunks, W>;

    fn probe(_: &SctpOptions) -> Result<(), Missing> {
        meeting::loopback(LOOPBACK)
    }

    fn limit(options: &SctpOptions) -> Option<Limit> {
        // Any socket tells what becomes of buffer sizes, also where there is no SCTP.
        let socket = inet::socket(LOOPBACK)
            .or_else(|_| socket::pair(Kind::Stream).map(|(one, _)| one))
            .ok()?;
        let buffers = socket::set_buffers(&socket, options.sndbuf, options.rcvbuf).ok()?;
        let bytes = usize::try_from((buffers.send / 2).min(buffers.receive / 4)).ok()?;
        Some(Limit {
            bytes,
            set_by: "half of SO_SNDBUF, or a quarter of SO_RCVBUF",
            raise: "--set sctp.sndbuf=BYTES and sctp.rcvbuf=BYTES, up to net.core.wmem_max and rmem_max",
        })
    }

    fn open(shape: &Shape, options: &SctpOptions) -> Result<Link, SetupError> {
        if shape.size == 0 {
            let missing = Missing::new("SCTP has no empty messages", "use a size of at least 1");
            return Err(missing.into());
        }
        if let Some(limit) = Self::limit(options).filter(|limit| shape.size > limit.bytes) {
            let what = format!("{} bytes are above {} ({})", shape.size, limit.bytes, limit.set_by);
            return Err(Missing::new(what, limit.raise).into());
        }
        let listener = inet::socket(LOOPBACK)?;
        socket::set_buffers(&listener, options.sndbuf, options.rcvbuf)?;
        let port = meeting::listen_inet(&listener, LOOPBACK, meeting::BACKLOG)?;
        let lead = Wiring { words: vec![port.number.into()], ..Wiring::default() };
        Ok(Link { lead, follow: Wiring::of_fds([listener]), ..Link::default() })
    }

    fn attach(
        wiring: Wiring,
        seat: Seat,
        shape: &Shape,
        options: &SctpOptions,
        meet: &mut dyn Meet,
    ) -> Result<Self::Port, SetupError> {
        let own = match seat {
            Seat::Lead => {
                let own = inet::socket(LOOPBACK)?;
                socket::set_buffers(&own, options.sndbuf, options.rcvbuf)?;
                let port = wiring.words.first().and_then(|port| u16::try_from(*port).ok());
                let port = port.ok_or_else(|| SetupError::Protocol("no port arrived".into()))?;
                meeting::connect_inet(&own, SocketAddr::new(LOOPBACK.host, port), shape.nonce)?;
                own
            }
            Seat::Follow => {
                let [listener] = descriptors(wiring)?;
                meeting::admit(&listener, shape.nonce)?
            }
        };
        let is_on = inet::set_sctp_nodelay(&own, options.nodelay)?;
        let buffers = socket::set_buffers(&own, options.sndbuf, options.rcvbuf)?;
        meet.effective("sctp.nodelay", KnobValue::Flag(is_on));
        meet.effective("sctp.sndbuf", KnobValue::Number(buffers.send));
        meet.effective("sctp.rcvbuf", KnobValue::Number(buffers.receive));
        MessagePort::of_socket(own, shape)
    }
}

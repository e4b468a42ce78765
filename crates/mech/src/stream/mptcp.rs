//! Multipath TCP over the loopback interface.

use crate::stream::STREAM;
use crate::stream::stream_port::StreamPort;
use crate::stream::tcp::tcp_knobs;
use crate::wait::{Block, waiting};
use ipcperf_core::prelude::*;
use ipcperf_sys::io::socket::inet::{self, Inet, Protocol};
use ipcperf_sys::io::socket::meeting;
use std::net::{IpAddr, Ipv4Addr};

/// Where the ends meet.
const LOOPBACK: Inet = Inet { host: IpAddr::V4(Ipv4Addr::LOCALHOST), protocol: Protocol::Mptcp };

ipcperf_core::options! {
    /// Knobs of MPTCP.
    pub struct MptcpOptions {
        /// Send small segments at once (TCP_NODELAY).
        pub nodelay: bool = (true, "on", Flag),
        /// Send buffer (SO_SNDBUF); the kernel doubles what is asked for and stops tuning it.
        pub sndbuf: Option<u64> = (None, "tuned by the kernel (net.ipv4.tcp_wmem)", Bytes { min: 16_384, max: 1 << 30 }),
        /// Receive buffer (SO_RCVBUF); with too little room for two layers, bytes only move by timers of 200 ms.
        pub rcvbuf: Option<u64> = (None, "tuned by the kernel (net.ipv4.tcp_rmem)", Bytes { min: 16_384, max: 1 << 30 }),
        /// Microseconds for which a receive polls the network device before it sleeps (SO_BUSY_POLL).
        pub busy_poll: Option<u64> = (None, "net.core.busy_read (0)", Count { min: 0, max: 1_000_000 }),
        /// Connections that may wait at the listener.
        pub backlog: u64 = (meeting::backlog(), "511, or net.core.somaxconn", Count { min: 0, max: 65_535 }),
    }
}

tcp_knobs!(MptcpOptions);

/// A multipath TCP connection to 127.0.0.1.
#[derive(Debug)]
pub struct Mptcp;

impl Mechanism for Mptcp {
    const SPEC: &'static Spec = &Spec {
        name: "mptcp",
        summary: "A multipath TCP connection over 127.0.0.1, on one path; a reader sleeps in read.",
        manual: &["tcp(7)", "ip(7)", "ip-mptcp(8)"],
        pitfalls: &[
            "A TCP connection carries the bytes and a second layer numbers and queues them again: expect it to be slower than tcp.",
            "A peer or firewall that does not know MPTCP turns the connection into plain TCP; here that is refused.",
            "More paths only come with other addresses (ip mptcp endpoint); over the loopback interface there is one.",
            "A receiver that dies with nothing unread is reported a minute late: its sender fills the buffers and sleeps meanwhile.",
            "Without TCP_NODELAY a small segment may wait for the acknowledgement of the one before, 40 ms and more.",
        ],
        direction: Direction::TwoWay,
        reach: Reach::Network,
        shares: Namespaces::NET,
        shares_by_name: Namespaces::NET,
        on_restart: OnRestart::Reopens,
        producers: Peers::One,
        consumers: Peers::One,
        on_death: OnClose::Late,
        needs: &["CONFIG_MPTCP", "net.mptcp.enabled", "the loopback interface up"],
        ..waiting::<Block>(STREAM)
    };
    type Options = MptcpOptions;
    type Port = StreamPort<Block>;

    fn probe(options: &MptcpOptions) -> Result<(), Missing> {
        options.tcp().probe(LOOPBACK)
    }

    fn listener(_: &MptcpOptions) -> Option<ListenerKind> {
        Some(ListenerKind::Mptcp)
    }

    fn open(shape: &Shape, options: &MptcpOptions) -> Result<Link, SetupError> {
        options.tcp().listen(LOOPBACK, shape)
    }

    fn attach(mut end: Attach<'_, MptcpOptions>) -> Result<Self::Port, SetupError> {
        let socket = end.options.tcp().connect(LOOPBACK, &mut end)?;
        inet::still_mptcp(&socket)?;
        StreamPort::of_socket(socket, end.shape)
    }
}

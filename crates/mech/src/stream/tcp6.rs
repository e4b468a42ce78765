//! TCP over the loopback interface, by IPv6.

use crate::stream::STREAM;
use crate::stream::stream_port::StreamPort;
use crate::stream::tcp::TcpOptions;
use crate::wait::{Block, waiting};
use ipcperf_core::prelude::*;
use ipcperf_sys::io::socket::inet::{Inet, Protocol};
use std::net::{IpAddr, Ipv6Addr};

/// Where the ends meet.
const LOOPBACK: Inet = Inet { host: IpAddr::V6(Ipv6Addr::LOCALHOST), protocol: Protocol::Tcp };

/// A TCP connection to ::1.
#[derive(Debug)]
pub struct Tcp6;

impl Mechanism for Tcp6 {
    const SPEC: &'static Spec = &Spec {
        name: "tcp6",
        summary: "A TCP connection over ::1; a reader sleeps in read.",
        manual: &["ipv6(7)", "tcp(7)", "socket(7)"],
        pitfalls: &[
            "The same code as tcp except for address lookup and a header 20 bytes longer. A round trip of 64 bytes on one CPU took 1.03 times as long as over tcp (Linux 6.18, an EPYC); for streams of 64 KiB the intervals were too wide to tell.",
            "IPv6 may be switched off, for all interfaces or for one, even if the kernel has it built in.",
            "Buffers are tuned by the sysctls of tcp, net.ipv4.tcp_wmem and tcp_rmem: there are none under net.ipv6.",
            "Packet filters have separate rules for IPv6, which also apply to the loopback interface.",
        ],
        direction: Direction::TwoWay,
        reach: Reach::Network,
        shares: Namespaces::NET,
        shares_by_name: Namespaces::NET,
        on_restart: OnRestart::Reopens,
        producers: Peers::One,
        consumers: Peers::One,
        needs: &["CONFIG_IPV6", "the loopback interface up"],
        ..waiting::<Block>(STREAM)
    };
    type Options = TcpOptions;
    type Port = StreamPort<Block>;

    fn probe(options: &TcpOptions) -> Result<(), Missing> {
        options.probe(LOOPBACK)
    }

    fn listener(_: &TcpOptions) -> Option<ListenerKind> {
        Some(ListenerKind::Tcp6)
    }

    fn open(shape: &Shape, options: &TcpOptions) -> Result<Link, SetupError> {
        options.listen(LOOPBACK, shape)
    }

    fn attach(mut end: Attach<'_, TcpOptions>) -> Result<Self::Port, SetupError> {
        let socket = end.options.connect(LOOPBACK, &mut end)?;
        StreamPort::of_socket(socket, end.shape)
    }
}

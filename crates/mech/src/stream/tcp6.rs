//! TCP over the loopback interface, by IPv6.

use crate::stream::stream_port::StreamPort;
use crate::stream::tcp::{Site, TcpOptions};
use crate::wait::{Wait, by_class};
use ipcperf_core::{
    BackPressure, Direction, Door, Family, Link, Mechanism, Meet, Memory, Missing, OnClose,
    Payload, Peers, Reach, Seat, SetupError, Shape, Spec, Wiring,
};
use ipcperf_sys::io::socket::inet::{Inet, Protocol};
use std::marker::PhantomData;
use std::net::{IpAddr, Ipv6Addr};

const SITE: Site = Site {
    name: "tcp6",
    inet: Inet { host: IpAddr::V6(Ipv6Addr::LOCALHOST), protocol: Protocol::Tcp },
};

/// A TCP connection to ::1.
#[derive(Debug)]
pub struct Tcp6<W>(PhantomData<W>);

impl<W: Wait> Mechanism for Tcp6<W> {
    const SPEC: &'static Spec = &Spec {
        name: "tcp6",
        variant: W::VARIANT,
        family: Family::Stream,
        wait: W::CLASS,
        default: W::VARIANT.is_none(),
        summary: by_class(
            W::CLASS,
            "A TCP connection over ::1; a reader sleeps in read.",
            "A TCP connection over ::1, not blocking; both ends ask again and again.",
            "A TCP connection over ::1, not blocking; a reader sleeps in epoll_wait, then reads.",
        ),
        manual: &["ipv6(7)", "tcp(7)", "socket(7)"],
        pitfalls: &[
            "Through the same code as tcp but for the address lookup and a header 20 bytes longer: expect the same numbers.",
            "A host may have IPv6 switched off, for all interfaces or for one, also where the kernel has it built in.",
            "Buffers are tuned by the sysctls of tcp, net.ipv4.tcp_wmem and tcp_rmem: there are none under net.ipv6.",
            "Packet filters have rules of their own for IPv6, which also apply to the loopback interface.",
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
        needs: &["CONFIG_IPV6", "the loopback interface up"],
    };
    type Options = TcpOptions;
    type Port = StreamPort<W>;

    fn probe(options: &TcpOptions) -> Result<(), Missing> {
        SITE.probe(options)
    }

    fn door(_: &TcpOptions) -> Option<Door> {
        Some(Door::Tcp6)
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

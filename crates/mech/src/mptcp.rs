//! Multipath TCP over the loopback interface.

use crate::port::stream::StreamPort;
use crate::tcp::{Site, TcpOptions};
use crate::wait::{Wait, by_class};
use ipcperf_core::{
    BackPressure, Direction, Family, Link, Mechanism, Meet, Memory, Missing, OnClose, Payload,
    Peers, Reach, Seat, SetupError, Shape, Spec, Wiring,
};
use ipcperf_sys::io::inet::{self, Inet, Protocol};
use std::marker::PhantomData;
use std::net::{IpAddr, Ipv4Addr};

const SITE: Site = Site {
    name: "mptcp",
    inet: Inet { host: IpAddr::V4(Ipv4Addr::LOCALHOST), protocol: Protocol::Mptcp },
};

/// A multipath TCP connection to 127.0.0.1.
#[derive(Debug)]
pub struct Mptcp<W>(PhantomData<W>);

impl<W: Wait> Mechanism for Mptcp<W> {
    const SPEC: &'static Spec = &Spec {
        name: "mptcp",
        variant: W::VARIANT,
        family: Family::Stream,
        wait: W::CLASS,
        default: W::VARIANT.is_none(),
        summary: by_class(
            W::CLASS,
            "A multipath TCP connection over 127.0.0.1, on one path; a reader sleeps in read.",
            "A multipath TCP connection over 127.0.0.1, on one path, not blocking; both ends ask again and again.",
            "A multipath TCP connection over 127.0.0.1, on one path, not blocking; a reader sleeps in epoll_wait.",
        ),
        manual: &["tcp(7)", "ip(7)", "ip-mptcp(8)"],
        pitfalls: &[
            "A TCP connection carries the bytes and a second layer numbers and queues them again: expect it behind tcp.",
            "A peer, or a firewall between, that knows nothing of it turns the connection into plain TCP; here that is refused.",
            "More paths only come with other addresses (ip mptcp endpoint); over the loopback interface there is one.",
            "A receiver that dies with nothing unread is reported a minute late: its sender fills the buffers and sleeps.",
            "Without TCP_NODELAY a small segment may wait for the acknowledgement of the one before, 40 ms and more.",
        ],
        payload: Payload::Stream,
        direction: Direction::TwoWay,
        reach: Reach::Network,
        producers: Peers::One,
        consumers: Peers::One,
        back_pressure: BackPressure::Blocks,
        on_close: OnClose::Told,
        on_death: OnClose::Undetected,
        descriptors: false,
        memory: Memory::Reused,
        copies: 2,
        syscalls: W::SYSCALLS,
        window: None,
        needs: &["CONFIG_MPTCP", "net.mptcp.enabled", "the loopback interface up"],
    };
    type Options = TcpOptions;
    type Port = StreamPort<W>;

    fn probe(options: &TcpOptions) -> Result<(), Missing> {
        SITE.probe(options)
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
        if !inet::is_mptcp(&socket) {
            let missing = Missing::new(
                "the connection fell back to plain TCP, or the kernel cannot tell",
                "Linux 5.16 or newer, and a firewall that leaves TCP options alone",
            );
            return Err(missing.into());
        }
        StreamPort::of_socket(socket, shape)
    }
}

//! SCTP over the loopback interface, one-to-one.

use crate::budget;
use crate::datagram::DATAGRAM;
use crate::port::message::{Carrier, MessagePort};
use crate::stream::tcp;
use crate::wait::{Block, waiting};
use ipcperf_core::prelude::*;
use ipcperf_sys::io::socket::Kind;
use ipcperf_sys::io::socket::inet::{self, Inet, Protocol};
use ipcperf_sys::io::socket::meeting;
use ipcperf_sys::io::socket::sctp;
use ipcperf_sys::io::{datagram, errno, socket};
use std::net::{IpAddr, Ipv4Addr};
use std::os::fd::BorrowedFd;

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

/// One-to-one SCTP sockets.
#[derive(Debug, Default)]
pub struct Chunks;

impl Carrier for Chunks {
    const ENDS: bool = true;

    #[inline(always)]
    fn send(&self, tx: BorrowedFd<'_>, message: &[u8]) -> Result<usize, i32> {
        match datagram::send(tx, message) {
            // The association went away with the peer.
            Err(errno::ESRCH) => Err(errno::EPIPE),
            done => done,
        }
    }

    #[inline(always)]
    fn receive(rx: BorrowedFd<'_>, into: &mut [u8]) -> Result<usize, i32> {
        sctp::receive(rx, into)
    }
}

/// An SCTP association with 127.0.0.1.
#[derive(Debug)]
pub struct Sctp;

impl Mechanism for Sctp {
    const SPEC: &'static Spec = &Spec {
        name: "sctp",
        summary: "An SCTP association over 127.0.0.1, which keeps boundaries; a receiver sleeps in recv.",
        manual: &["sctp(7)", "ip(7)", "socket(7)"],
        pitfalls: &[
            "Each message travels with its own header, where TCP packs bytes together: expect it to be slower than tcp.",
            "A receive into too small a buffer leaves the rest for the next receive, as a stream does.",
            "A message large against the receive buffer may come in parts; one above a quarter of it is refused here.",
            "Without SCTP_NODELAY a small message may wait for the acknowledgement of the one before.",
            "There are no empty messages: the kernel refuses them with EINVAL.",
        ],
        direction: Direction::TwoWay,
        reach: Reach::Network,
        shares: Namespaces::NET,
        shares_by_name: Namespaces::NET,
        on_restart: OnRestart::Reopens,
        producers: Peers::One,
        consumers: Peers::One,
        on_close: OnClose::Told,
        on_death: OnClose::Told,
        needs: &["CONFIG_IP_SCTP (module sctp)", "the loopback interface up"],
        ..waiting::<Block>(DATAGRAM)
    };
    type Options = SctpOptions;
    type Port = MessagePort<Chunks, Block>;

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

    fn listener(_: &SctpOptions) -> Option<ListenerKind> {
        Some(ListenerKind::Sctp)
    }

    fn open(shape: &Shape, options: &SctpOptions) -> Result<Link, SetupError> {
        budget::not_empty(shape.size, "SCTP has no empty messages")?;
        budget::within(Self::limit(options), shape.size)?;
        let buffers = (options.sndbuf, options.rcvbuf);
        Ok(tcp::listen(LOOPBACK, buffers, meeting::backlog(), shape)?.0)
    }

    fn attach(mut end: Attach<'_, SctpOptions>) -> Result<Self::Port, SetupError> {
        let buffers = (end.options.sndbuf, end.options.rcvbuf);
        let own = tcp::connect(LOOPBACK, buffers, meeting::backlog(), &mut end)?;
        let is_on = inet::set_sctp_nodelay(&own, end.options.nodelay)?;
        let buffers = socket::set_buffers(&own, end.options.sndbuf, end.options.rcvbuf)?;
        end.effective("nodelay", is_on);
        end.effective("sndbuf", buffers.send);
        end.effective("rcvbuf", buffers.receive);
        MessagePort::of_socket(own, end.shape)
    }
}

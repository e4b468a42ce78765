//! UNIX sequenced-packet sockets: `socketpair(2)`, or a listener found by path.

use crate::datagram::DATAGRAM;
use crate::datagram::unix_pair::{self, UnixPairOptions};
use crate::port::message::{MessagePort, Packets};
use crate::wait::{Wait, by_class, waiting};
use ipcperf_core::prelude::*;
use ipcperf_sys::io::socket::Kind;
use std::marker::PhantomData;

/// A UNIX sequenced-packet socket.
#[derive(Debug)]
pub struct UnixSeqpacket<W>(PhantomData<W>);

impl<W: Wait> Mechanism for UnixSeqpacket<W> {
    const SPEC: &'static Spec = &Spec {
        name: "unix-seqpacket",
        summary: by_class(
            W::CLASS,
            "Two UNIX sequenced-packet sockets: a connection that keeps boundaries; a receiver sleeps in recv.",
            "Two UNIX sequenced-packet sockets, not blocking; both ends ask again and again.",
            "Two UNIX sequenced-packet sockets, not blocking; a receiver sleeps in epoll_wait, then receives.",
        ),
        manual: &["unix(7)", "socketpair(2)", "socket(7)"],
        pitfalls: &[
            "Measured over a socketpair, which only related processes share, unless bind=path is given; the data path is the same.",
            "A path outlives its socket.",
            "Several processes on one side share its descriptor, as after a fork; a listener gives each client a connection of its own.",
            "An empty message looks like the end of the connection: messages have at least 1 byte.",
            "The largest message follows SO_SNDBUF; very large ones fail when memory is fragmented (ENOBUFS).",
            "A peer that closes with unread messages is reported once before its own last messages.",
            "The end may be reported once ahead of a message sent just before it: only an end read twice is the end.",
        ],
        direction: Direction::TwoWay,
        reach: Reach::Named,
        shares_by_name: Namespaces::MNT,
        on_restart: OnRestart::Reopens,
        // Processes that share the descriptor of one end, as after a fork.
        producers: Peers::Many,
        consumers: Peers::Many,
        on_close: OnClose::Told,
        on_death: OnClose::Told,
        descriptors: true,
        needs: &["CONFIG_UNIX"],
        ..waiting::<W>(DATAGRAM)
    };
    type Options = UnixPairOptions;
    type Port = MessagePort<Packets, W>;
    const SHARES: bool = true;

    fn probe(options: &UnixPairOptions) -> Result<(), Missing> {
        unix_pair::probe(Kind::SeqPacket, options)
    }

    fn limit(options: &UnixPairOptions) -> Option<Limit> {
        let raise = "--set unix-seqpacket.sndbuf=BYTES, up to net.core.wmem_max";
        unix_pair::limit(Kind::SeqPacket, options, raise)
    }

    fn listener(_: &UnixPairOptions) -> Option<ListenerKind> {
        Some(ListenerKind::UnixSeqpacket)
    }

    fn shares(options: &UnixPairOptions) -> Namespaces {
        options.shares()
    }

    fn open(shape: &Shape, options: &UnixPairOptions) -> Result<Link, SetupError> {
        unix_pair::open(Kind::SeqPacket, shape, options)
    }

    fn attach(end: Attach<'_, UnixPairOptions>) -> Result<Self::Port, SetupError> {
        unix_pair::attach(Kind::SeqPacket, end)
    }
}

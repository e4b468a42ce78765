//! UNIX sequenced-packet sockets: `socketpair(2)`.

use crate::datagram::unix_pair::{self, UnixPairOptions};
use crate::port::message::{MessagePort, Packets};
use crate::wait::{Wait, by_class};
use ipcperf_core::{
    BackPressure, Direction, Door, Family, Limit, Link, Mechanism, Meet, Memory, Missing, OnClose,
    Payload, Peers, Reach, Seat, SetupError, Shape, Spec, Wiring,
};
use ipcperf_sys::io::socket::Kind;
use std::marker::PhantomData;

/// A UNIX sequenced-packet socket.
#[derive(Debug)]
pub struct UnixSeqpacket<W>(PhantomData<W>);

impl<W: Wait> Mechanism for UnixSeqpacket<W> {
    const SPEC: &'static Spec = &Spec {
        name: "unix-seqpacket",
        variant: W::VARIANT,
        family: Family::Datagram,
        wait: W::CLASS,
        default: W::VARIANT.is_none(),
        summary: by_class(
            W::CLASS,
            "A pair of UNIX sequenced-packet sockets: a connection that keeps boundaries; a receiver sleeps in recv.",
            "A pair of UNIX sequenced-packet sockets, not blocking; both ends ask again and again.",
            "A pair of UNIX sequenced-packet sockets, not blocking; a receiver sleeps in epoll_wait, then receives.",
        ),
        manual: &["unix(7)", "socketpair(2)", "socket(7)"],
        pitfalls: &[
            "Measured over a socketpair, which only relatives share; sockets with names exist for unrelated processes.",
            "An empty message looks like the end of the connection: messages have at least 1 byte.",
            "The largest message follows SO_SNDBUF; very large ones fail when memory is fragmented (ENOBUFS).",
            "A peer that closes with unread messages is reported once before its own last messages.",
            "The end may be reported once ahead of a message sent just before it: only an end read twice is the end.",
        ],
        payload: Payload::Message { max: None },
        direction: Direction::TwoWay,
        reach: Reach::Related,
        producers: Peers::One,
        consumers: Peers::One,
        back_pressure: BackPressure::Blocks,
        on_close: OnClose::Told,
        on_death: OnClose::Told,
        descriptors: true,
        memory: Memory::Reused,
        copies: 2,
        syscalls: W::SYSCALLS,
        window: None,
        needs: &["CONFIG_UNIX"],
    };
    type Options = UnixPairOptions;
    type Port = MessagePort<Packets, W>;

    fn probe(options: &UnixPairOptions) -> Result<(), Missing> {
        unix_pair::probe(Kind::SeqPacket, options)
    }

    fn limit(options: &UnixPairOptions) -> Option<Limit> {
        let raise = "--set unix-seqpacket.sndbuf=BYTES, up to net.core.wmem_max";
        unix_pair::limit(Kind::SeqPacket, options, raise)
    }

    fn door(_: &UnixPairOptions) -> Option<Door> {
        Some(Door::UnixSeqpacket)
    }

    fn open(_: &Shape, options: &UnixPairOptions) -> Result<Link, SetupError> {
        unix_pair::open("unix-seqpacket", Kind::SeqPacket, options)
    }

    fn attach(
        wiring: Wiring,
        _: Seat,
        shape: &Shape,
        _: &UnixPairOptions,
        _: &mut dyn Meet,
    ) -> Result<Self::Port, SetupError> {
        unix_pair::attach(wiring, shape)
    }
}

//! UNIX datagram sockets: `socketpair(2)`.

use crate::datagram::unix_pair::{self, UnixPairOptions};
use crate::port::message::{Datagrams, MessagePort};
use crate::wait::{Wait, by_class};
use ipcperf_core::{
    BackPressure, Direction, Family, Limit, Link, Mechanism, Meet, Memory, Missing, OnClose,
    Payload, Peers, Reach, Seat, SetupError, Shape, Spec, Wiring,
};
use ipcperf_sys::io::socket::Kind;
use std::marker::PhantomData;

/// A UNIX datagram socket.
#[derive(Debug)]
pub struct UnixDgram<W>(PhantomData<W>);

impl<W: Wait> Mechanism for UnixDgram<W> {
    const SPEC: &'static Spec = &Spec {
        name: "unix-dgram",
        variant: W::VARIANT,
        family: Family::Datagram,
        wait: W::CLASS,
        default: W::VARIANT.is_none(),
        summary: by_class(
            W::CLASS,
            "A pair of UNIX datagram sockets, reliable and in order; a receiver sleeps in recv.",
            "A pair of UNIX datagram sockets, not blocking; both ends ask again and again.",
            "A pair of UNIX datagram sockets, not blocking; a receiver sleeps in epoll_wait, then receives.",
        ),
        manual: &["unix(7)", "socketpair(2)", "socket(7)"],
        pitfalls: &[
            "Measured over a socketpair, which only relatives share; sockets with names exist for unrelated processes.",
            "At a named receiver net.unix.max_dgram_qlen (10 by default) messages may wait; the two ends of a pair are exempt.",
            "Nothing tells a receiver that its peer is gone; a sender gets ECONNREFUSED.",
            "The largest message follows SO_SNDBUF; very large ones fail when memory is fragmented (ENOBUFS).",
        ],
        payload: Payload::Message { max: None },
        direction: Direction::TwoWay,
        reach: Reach::Related,
        producers: Peers::Many,
        consumers: Peers::One,
        back_pressure: BackPressure::Blocks,
        on_close: OnClose::Undetected,
        on_death: OnClose::Undetected,
        descriptors: true,
        memory: Memory::Reused,
        copies: 2,
        syscalls: W::SYSCALLS,
        window: None,
        needs: &["CONFIG_UNIX"],
    };
    type Options = UnixPairOptions;
    type Port = MessagePort<Datagrams, W>;
    const SHARES: bool = true;

    fn probe(options: &UnixPairOptions) -> Result<(), Missing> {
        unix_pair::probe(Kind::Datagram, options)
    }

    fn limit(options: &UnixPairOptions) -> Option<Limit> {
        let raise = "--set unix-dgram.sndbuf=BYTES, up to net.core.wmem_max";
        unix_pair::limit(Kind::Datagram, options, raise)
    }

    fn open(_: &Shape, options: &UnixPairOptions) -> Result<Link, SetupError> {
        unix_pair::open("unix-dgram", Kind::Datagram, options)
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

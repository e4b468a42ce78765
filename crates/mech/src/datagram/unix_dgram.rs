//! UNIX datagram sockets: `socketpair(2)`, or found by path.

use crate::datagram::DATAGRAM;
use crate::datagram::unix_pair::{self, UnixPairOptions};
use crate::port::message::{Datagrams, MessagePort};
use crate::wait::{Wait, by_class, waiting};
use ipcperf_core::prelude::*;
use ipcperf_sys::io::socket::Kind;
use std::marker::PhantomData;

/// A UNIX datagram socket.
#[derive(Debug)]
pub struct UnixDgram<W>(PhantomData<W>);

impl<W: Wait> Mechanism for UnixDgram<W> {
    const SPEC: &'static Spec = &Spec {
        name: "unix-dgram",
        summary: by_class(
            W::CLASS,
            "Two UNIX datagram sockets, reliable and in order; a receiver sleeps in recv.",
            "Two UNIX datagram sockets, not blocking; both ends ask again and again.",
            "Two UNIX datagram sockets, not blocking; a receiver sleeps in epoll_wait, then receives.",
        ),
        manual: &["unix(7)", "socketpair(2)", "socket(7)"],
        pitfalls: &[
            "Measured over a socketpair, which only related processes share, unless bind=path is given; the data path is the same.",
            "A path outlives its socket, and both ends need one if answers are to come back.",
            "At a named receiver net.unix.max_dgram_qlen (10 by default) messages may wait; two that are connected to each other are exempt.",
            "A receiver does not notice that its peer is gone; a sender gets ECONNREFUSED.",
            "The largest message follows SO_SNDBUF; very large ones fail when memory is fragmented (ENOBUFS).",
        ],
        direction: Direction::TwoWay,
        reach: Reach::Named,
        shares_by_name: Namespaces::MNT,
        on_restart: OnRestart::Reopens,
        producers: Peers::Many,
        consumers: Peers::One,
        descriptors: true,
        needs: &["CONFIG_UNIX"],
        ..waiting::<W>(DATAGRAM)
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

    fn shares(options: &UnixPairOptions) -> Namespaces {
        options.shares()
    }

    fn open(shape: &Shape, options: &UnixPairOptions) -> Result<Link, SetupError> {
        unix_pair::open(Kind::Datagram, shape, options)
    }

    fn attach(end: Attach<'_, UnixPairOptions>) -> Result<Self::Port, SetupError> {
        unix_pair::attach(Kind::Datagram, end)
    }
}

//! Shared by UNIX sockets that keep message boundaries: knobs, limit and setup, as a pair or found by path.

use crate::budget;
use crate::port::message::{Carrier, MessagePort};
use crate::stream::unix_stream;
use crate::wait::Wait;
use ipcperf_core::prelude::*;
use ipcperf_sys::io::socket::meeting::{self, Name};
use ipcperf_sys::io::socket::{self, Kind};

ipcperf_core::options! {
    /// Knobs of UNIX sockets that keep message boundaries.
    pub struct UnixPairOptions {
        /// How the ends meet; the data then takes the same path.
        pub bind: String = ("socketpair".into(), "socketpair", Choice { words: &["socketpair", "path"] }),
        /// Send buffer (SO_SNDBUF), which also limits the message; the kernel doubles what is asked for.
        pub sndbuf: Option<u64> = (None, "net.core.wmem_default (208K)", Bytes { min: 2048, max: 1 << 30 }),
        /// Receive buffer (SO_RCVBUF); UNIX sockets do not use it.
        pub rcvbuf: Option<u64> = (None, "net.core.rmem_default (208K)", Bytes { min: 2048, max: 1 << 30 }),
    }
}

impl UnixPairOptions {
    fn has_path(&self) -> bool {
        self.bind == "path"
    }

    /// The namespaces that both ends must share.
    pub(crate) fn shares(&self) -> Namespaces {
        if self.has_path() { Namespaces::MNT } else { Namespaces::NONE }
    }

    /// Where a connection is found that is no pair.
    fn listener(&self, kind: Kind, shape: &Shape) -> Result<Option<Name>, Missing> {
        let listens = self.has_path() && kind != Kind::Datagram;
        listens.then(|| name(shape, Seat::Follow)).transpose()
    }
}

/// Where an end is found that has a path.
fn name(shape: &Shape, seat: Seat) -> Result<Name, Missing> {
    let end = match seat {
        Seat::Lead => "lead",
        Seat::Follow => "follow",
    };
    Ok(Name::Path(shape.path(end)?))
}

pub(crate) fn probe(kind: Kind, options: &UnixPairOptions) -> Result<(), Missing> {
    if options.has_path() {
        let (_run, shape) = crate::trial()?;
        bound(kind, &shape, options).map_err(crate::missing)?;
    }
    let tried = socket::pair(kind)
        .and_then(|(one, _)| socket::set_buffers(one, options.sndbuf, options.rcvbuf));
    tried.map(drop).map_err(crate::missing)
}

pub(crate) fn limit(kind: Kind, options: &UnixPairOptions, raise: &'static str) -> Option<Limit> {
    let bytes = socket::largest_message(|| socket::pair(kind), options.sndbuf).ok()?;
    Some(Limit { bytes, set_by: "SO_SNDBUF less 32 bytes", raise })
}

pub(crate) fn open(
    kind: Kind,
    shape: &Shape,
    options: &UnixPairOptions,
) -> Result<Link, SetupError> {
    if kind == Kind::SeqPacket {
        budget::not_empty(shape.size, "an empty message of such a socket looks like its end")?;
    }
    Ok(bound(kind, shape, options)?.granted("bind", &options.bind))
}

fn bound(kind: Kind, shape: &Shape, options: &UnixPairOptions) -> Result<Link, SetupError> {
    let listener = options.listener(kind, shape)?;
    if !options.has_path() || listener.is_some() {
        return unix_stream::listen(kind, listener.as_ref(), meeting::backlog(), shape);
    }
    // Without a listener each end has a name, and has it before the other one looks for it.
    let (lead, lead_path) = meeting::bind_unix(kind, &name(shape, Seat::Lead)?)?;
    let (follow, follow_path) = meeting::bind_unix(kind, &name(shape, Seat::Follow)?)?;
    Ok(Link::of_fds([lead], [follow]).guarded(lead_path).guarded(follow_path))
}

pub(crate) fn attach<C: Carrier, W: Wait>(
    kind: Kind,
    mut end: Attach<'_, UnixPairOptions>,
) -> Result<MessagePort<C, W>, SetupError> {
    let listener = end.options.listener(kind, end.shape)?;
    let own = unix_stream::connect(kind, listener.as_ref(), meeting::backlog(), &mut end)?;
    if end.options.has_path() && listener.is_none() {
        meeting::call_unix(&own, &name(end.shape, end.seat.other())?)?;
    }
    let buffers = socket::set_buffers(&own, end.options.sndbuf, end.options.rcvbuf)?;
    end.effective("sndbuf", buffers.send);
    end.effective("rcvbuf", buffers.receive);
    MessagePort::of_socket(own, end.shape)
}

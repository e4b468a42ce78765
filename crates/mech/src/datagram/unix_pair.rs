//! What UNIX sockets that keep message boundaries share: knobs, limit and setup, as a pair or found by path.

use crate::port::message::{Carrier, MessagePort};
use crate::wait::Wait;
use ipcperf_core::prelude::*;
use ipcperf_sys::io::socket::meeting::{self, BACKLOG, Name};
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
}

/// Where an end is found that has a path.
fn name(shape: &Shape, seat: Seat) -> Name {
    let end = match seat {
        Seat::Lead => "lead",
        Seat::Follow => "follow",
    };
    Name::Path(shape.directory.join(shape.name(end)))
}

pub(crate) fn probe(kind: Kind, options: &UnixPairOptions) -> Result<(), Missing> {
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
    let link = match (options.has_path(), kind) {
        (false, _) => {
            let (lead, follow) = socket::pair(kind)?;
            Link::of_fds([lead], [follow])
        }
        // Without a listener each end has a name, and has it before the other one looks for it.
        (true, Kind::Datagram) => {
            let (lead, lead_path) = meeting::bind_unix(kind, &name(shape, Seat::Lead))?;
            let (follow, follow_path) = meeting::bind_unix(kind, &name(shape, Seat::Follow))?;
            Link::of_fds([lead], [follow]).guarded(lead_path).guarded(follow_path)
        }
        (true, _) => {
            let name = name(shape, Seat::Follow);
            let (listener, path) = meeting::listen_unix(kind, &name, BACKLOG)?;
            Link::of_fds([], [listener]).guarded(path)
        }
    };
    Ok(link.granted("bind", &options.bind))
}

pub(crate) fn attach<C: Carrier, W: Wait>(
    kind: Kind,
    mut end: Attach<'_, UnixPairOptions>,
) -> Result<MessagePort<C, W>, SetupError> {
    let has_path = end.options.has_path();
    let own = if has_path && kind != Kind::Datagram && end.seat == Seat::Lead {
        meeting::connect_unix(kind, &name(end.shape, Seat::Follow), end.shape.nonce)?
    } else {
        let [own] = end.descriptors()?;
        match (has_path, kind) {
            (false, _) => own,
            (true, Kind::Datagram) => {
                meeting::call_unix(&own, &name(end.shape, end.seat.other()))?;
                own
            }
            (true, _) => meeting::admit(&own, end.shape.nonce)?,
        }
    };
    let buffers = socket::set_buffers(&own, end.options.sndbuf, end.options.rcvbuf)?;
    end.effective("sndbuf", buffers.send);
    end.effective("rcvbuf", buffers.receive);
    MessagePort::of_socket(own, end.shape)
}

//! What pairs of UNIX sockets that keep message boundaries share: knobs, limit and setup.

use crate::port::descriptors;
use crate::port::message::{Carrier, MessagePort};
use crate::wait::Wait;
use ipcperf_core::{KnobValue, Limit, Link, Missing, SetupError, Shape, Wiring};
use ipcperf_sys::io::socket::{self, Kind};

ipcperf_core::options! {
    /// Knobs of pairs of UNIX sockets.
    pub struct UnixPairOptions {
        /// Send buffer (SO_SNDBUF), which also limits the message; the kernel doubles what is asked for.
        pub sndbuf: Option<u64> = (None, "net.core.wmem_default (208K)", Bytes { min: 2048, max: 1 << 30 }),
        /// Receive buffer (SO_RCVBUF); UNIX sockets do not use it.
        pub rcvbuf: Option<u64> = (None, "net.core.rmem_default (208K)", Bytes { min: 2048, max: 1 << 30 }),
    }
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

pub(crate) fn open(name: &str, kind: Kind, options: &UnixPairOptions) -> Result<Link, SetupError> {
    let (lead, follow) = socket::pair(kind)?;
    let buffers = socket::set_buffers(&lead, options.sndbuf, options.rcvbuf)?;
    socket::set_buffers(&follow, options.sndbuf, options.rcvbuf)?;
    Ok(Link {
        lead: Wiring::of_fds([lead]),
        follow: Wiring::of_fds([follow]),
        guards: Vec::new(),
        effective: vec![
            (format!("{name}.sndbuf"), KnobValue::Number(buffers.send)),
            (format!("{name}.rcvbuf"), KnobValue::Number(buffers.receive)),
        ],
    })
}

pub(crate) fn attach<C: Carrier, W: Wait>(
    wiring: Wiring,
    shape: &Shape,
) -> Result<MessagePort<C, W>, SetupError> {
    let [own] = descriptors(wiring)?;
    MessagePort::of_socket(own, shape)
}

//! What the variants of UNIX stream sockets share: knobs, and how the ends meet.

use crate::port::descriptors;
use ipcperf_core::{Door, Guard, KnobValue, Link, Meet, Missing, Seat, SetupError, Shape, Wiring};
use ipcperf_sys::io::names::Unlink;
use ipcperf_sys::io::socket::meeting::{self, Name};
use ipcperf_sys::io::socket::{self, Kind};
use std::os::fd::OwnedFd;

ipcperf_core::options! {
    /// Knobs of UNIX stream sockets.
    pub struct UnixStreamOptions {
        /// How the ends meet; the data then takes the same path.
        pub bind: String = ("socketpair".into(), "socketpair", Choice { words: &["socketpair", "path", "abstract"] }),
        /// Send buffer (SO_SNDBUF); the kernel doubles what is asked for.
        pub sndbuf: Option<u64> = (None, "net.core.wmem_default (208K)", Bytes { min: 2048, max: 1 << 30 }),
        /// Receive buffer (SO_RCVBUF); UNIX sockets do not use it.
        pub rcvbuf: Option<u64> = (None, "net.core.rmem_default (208K)", Bytes { min: 2048, max: 1 << 30 }),
        /// Connections that may wait at the listener of a name; a pair has no listener, and 0 is told.
        pub backlog: u64 = (meeting::BACKLOG, "8", Count { min: 0, max: 65_535 }),
        /// Messages of one call; read by unix-stream/mmsg alone, and 1 everywhere else.
        pub batch: u64 = (16, "16", Count { min: 1, max: 64 }),
    }
}

impl UnixStreamOptions {
    /// Where the ends meet; `None` for a pair.
    fn name(&self, shape: &Shape) -> Option<Name> {
        match self.bind.as_str() {
            "path" => Some(Name::Path(shape.directory.join(shape.name("socket")))),
            "abstract" => Some(Name::Abstract(shape.name("socket"))),
            _ => None,
        }
    }

    /// A pair has no listener; who connects then meets the server at a path.
    pub(crate) fn door(&self) -> Door {
        if self.bind == "abstract" { Door::UnixAbstract } else { Door::UnixPath }
    }

    pub(crate) fn probe(&self) -> Result<(), Missing> {
        meeting::allow_backlog(self.backlog)?;
        let tried = socket::pair(Kind::Stream)
            .and_then(|(one, _)| socket::set_buffers(one, self.sndbuf, self.rcvbuf));
        tried.map(drop).map_err(crate::missing)
    }

    pub(crate) fn open(&self, shape: &Shape) -> Result<Link, SetupError> {
        let effective = |backlog| {
            vec![
                ("unix-stream.bind".into(), KnobValue::Word(self.bind.clone())),
                ("unix-stream.backlog".into(), KnobValue::Number(backlog)),
            ]
        };
        let Some(name) = self.name(shape) else {
            let (lead, follow) = socket::pair(Kind::Stream)?;
            return Ok(Link {
                lead: Wiring::of_fds([lead]),
                follow: Wiring::of_fds([follow]),
                guards: Vec::new(),
                effective: effective(0),
            });
        };
        // The kernel does not tell the number of a UNIX listener, but it takes every one that is not above its limit.
        let (listener, guard) = meeting::listen_unix(&name, self.backlog)?;
        Ok(Link {
            lead: Wiring::default(),
            follow: Wiring::of_fds([listener]),
            guards: guard.map(Guard::new).into_iter().collect(),
            effective: effective(self.backlog),
        })
    }

    /// In a worker: the own end, and what its knobs became.
    pub(crate) fn join(
        &self,
        wiring: Wiring,
        seat: Seat,
        shape: &Shape,
        meet: &mut dyn Meet,
    ) -> Result<OwnedFd, SetupError> {
        let own = match (self.name(shape), seat) {
            (None, _) => {
                let [own] = descriptors(wiring)?;
                own
            }
            (Some(name), Seat::Lead) => meeting::connect_unix(&name, shape.nonce)?,
            (Some(name), Seat::Follow) => {
                let [listener] = descriptors(wiring)?;
                let own = meeting::admit(&listener, shape.nonce)?;
                if let Name::Path(path) = name {
                    drop(Unlink::new(path));
                }
                own
            }
        };
        let buffers = socket::set_buffers(&own, self.sndbuf, self.rcvbuf)?;
        meet.effective("unix-stream.sndbuf", KnobValue::Number(buffers.send));
        meet.effective("unix-stream.rcvbuf", KnobValue::Number(buffers.receive));
        Ok(own)
    }
}

//! The four ways between a source and a sink, and how the two workers of a run find each other.

use super::super::work::Turn;
use super::plan::{Method, Plan};
use ipcperf_engine::task::{TaskError, WorkerContext};
use ipcperf_sys::io::names::Unlink;
use ipcperf_sys::io::pipe::{self, End};
use ipcperf_sys::io::socket::Kind;
use ipcperf_sys::io::socket::inet::{self, Inet, Protocol};
use ipcperf_sys::io::socket::meeting::{self, Name};
use serde::{Deserialize, Serialize};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::PathBuf;

/// Where a worker finds its end.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) enum Way {
    /// It was given it.
    Given,
    /// At this path; the reader and the writer open it.
    Fifo(PathBuf),
    /// The sink was given the listener.
    Unix(PathBuf, u64),
    /// The sink was given the listener at this port.
    Tcp(u16, u64),
}

const LOCAL: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);
const TCP: Inet = Inet { host: LOCAL, protocol: Protocol::Tcp };

/// What the coordinator holds for a run.
#[derive(Debug)]
pub(super) struct Arranged {
    pub(super) way: Way,
    source: Option<OwnedFd>,
    sink: Option<OwnedFd>,
    _guard: Option<Unlink>,
}

impl Arranged {
    /// Makes what must be there before the two ends start. Sockets listen already: there is no race to lose.
    pub(super) fn make(plan: &Plan, turn: &Turn<'_>) -> Result<Self, TaskError> {
        let path = turn.directory.join(format!("{}-{:x}", plan.method.name(), turn.nonce));
        let made = match plan.method {
            Method::AnonymousPipe => pipe::pair().and_then(|pair| {
                pipe::set_capacity(&pair.write, plan.pipe_bytes)?;
                Ok(Self {
                    way: Way::Given,
                    source: Some(pair.write),
                    sink: Some(pair.read),
                    _guard: None,
                })
            }),
            Method::NamedPipe => pipe::make_fifo(path.clone()).map(|guard| Self {
                way: Way::Fifo(path),
                source: None,
                sink: None,
                _guard: Some(guard),
            }),
            Method::UnixStream => {
                let name = Name::Path(path.clone());
                meeting::listen_unix(Kind::Stream, &name, meeting::backlog()).map(
                    |(listener, guard)| Self {
                        way: Way::Unix(path, turn.nonce),
                        source: None,
                        sink: Some(listener),
                        _guard: guard,
                    },
                )
            }
            Method::Tcp => inet::socket(TCP).and_then(|listener| {
                let port = meeting::listen_inet(&listener, TCP, meeting::backlog())?;
                let way = Way::Tcp(port.number, turn.nonce);
                Ok(Self { way, source: None, sink: Some(listener), _guard: None })
            }),
        };
        made.map_err(|error| TaskError::Failed(error.to_string()))
    }

    /// What the worker at that end must be given.
    pub(super) fn given(&self, end: End) -> Vec<BorrowedFd<'_>> {
        let given = match end {
            End::Write => &self.source,
            End::Read => &self.sink,
        };
        given.iter().map(AsFd::as_fd).collect()
    }

    /// The coordinator's own copies would keep the end of the stream from being seen.
    pub(super) fn let_go(&mut self) {
        self.source = None;
        self.sink = None;
    }
}

/// Opens one end, in a worker. Either end may have to sleep until the other is there.
pub(super) fn open(
    way: &Way,
    end: End,
    context: &mut WorkerContext<'_>,
) -> Result<OwnedFd, String> {
    let given = context.fds.pop();
    let opened = match (way, end, given) {
        (Way::Given, _, Some(fd)) => Ok(fd),
        (Way::Fifo(path), end, _) => pipe::open_fifo(path, end),
        (Way::Unix(_, nonce) | Way::Tcp(_, nonce), End::Read, Some(listener)) => {
            meeting::admit(&listener, *nonce)
        }
        (Way::Unix(path, nonce), End::Write, _) => {
            meeting::connect_unix(Kind::Stream, &Name::Path(path.clone()), *nonce)
        }
        (Way::Tcp(port, nonce), End::Write, _) => inet::socket(TCP).and_then(|socket| {
            meeting::connect_inet(&socket, SocketAddr::new(LOCAL, *port), *nonce)?;
            Ok(socket)
        }),
        (_, End::Read, None) | (Way::Given, _, None) => return Err("no descriptor came".into()),
    };
    opened.map_err(|error| error.to_string())
}

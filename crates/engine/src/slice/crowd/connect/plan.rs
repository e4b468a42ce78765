//! The plan of a connect slice, and the address where it takes place.

use super::answer::Answers;
use ipcperf_core::{Closes, ListenerKind, Missing, Serving};
use ipcperf_sys::clock::Clock;
use ipcperf_sys::io::socket::Kind;
use ipcperf_sys::io::socket::inet::Protocol;
use ipcperf_sys::io::socket::listener::Site;
use ipcperf_sys::io::socket::meeting::Name;
use ipcperf_sys::random;
use ipcperf_sys::rundir::RunDirectory;
use ipcperf_sys::signals::Interrupts;
use serde::{Deserialize, Serialize};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

pub(super) const fn is_tcp(listener: ListenerKind) -> bool {
    matches!(listener, ListenerKind::Tcp | ListenerKind::Tcp6)
}

/// Whether it lies in the run's directory.
pub(crate) const fn has_path(listener: ListenerKind) -> bool {
    matches!(listener, ListenerKind::UnixPath | ListenerKind::UnixSeqpacket | ListenerKind::Fifo)
}

/// How long a client waits over TCP for something to come before it hangs up and asks again. TCP sends what was dropped
/// again after 1 s, so that comes first.
pub(super) const PATIENCE: Duration = Duration::from_millis(1500);

/// What is missing here to open it; tried, not guessed.
///
/// # Errors
/// What.
pub fn probe(listener: ListenerKind) -> Result<(), Missing> {
    let directory = has_path(listener).then(RunDirectory::create).transpose()?;
    let base = directory.as_ref().map_or(Path::new("/"), RunDirectory::path);
    site(listener, &base.join("trial"), random::number(), 0).probe()
}

/// Where it is in one slice.
pub(crate) fn site(listener: ListenerKind, base: &Path, nonce: u64, port: u32) -> Site {
    let path = || Name::Path(base.with_extension("sock"));
    let inet = |protocol, host: IpAddr| {
        Site::Inet(protocol, SocketAddr::new(host, u16::try_from(port).unwrap_or(0)))
    };
    let loopback = IpAddr::V4(Ipv4Addr::LOCALHOST);
    match listener {
        ListenerKind::UnixPath => Site::Unix(Kind::Stream, path()),
        ListenerKind::UnixSeqpacket => Site::Unix(Kind::SeqPacket, path()),
        ListenerKind::UnixAbstract => {
            Site::Unix(Kind::Stream, Name::Abstract(format!("ipcperf-connect-{nonce:016x}")))
        }
        ListenerKind::Tcp => inet(Protocol::Tcp, loopback),
        ListenerKind::Tcp6 => inet(Protocol::Tcp, Ipv6Addr::LOCALHOST.into()),
        ListenerKind::Mptcp => inet(Protocol::Mptcp, loopback),
        ListenerKind::Sctp => inet(Protocol::Sctp, loopback),
        ListenerKind::Vsock => Site::Vsock(port),
        ListenerKind::Fifo => Site::Fifo(base.to_owned()),
    }
}

/// How a client makes its calls.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Model {
    /// Every call sleeps until it is done.
    #[default]
    Blocking,
    /// Over TCP nothing blocks: connect, poll, connect again until it is done, poll before what there is to read. All
    /// other listeners as in `Blocking`. The published comparison had clients like this.
    AsPublished,
    /// Every call on a socket holds a lock that all clients share: a stand-in for the lock of an interpreter.
    OneLock,
    /// Both: nothing blocks over TCP, and every call on a socket holds the lock. A client that polls does not hold it.
    AsPublishedOneLock,
}

impl Model {
    /// Whether a client of this listener connects without blocking, and polls.
    pub(super) fn polls(self, listener: ListenerKind) -> bool {
        matches!(self, Self::AsPublished | Self::AsPublishedOneLock) && is_tcp(listener)
    }

    /// Whether all clients share a lock.
    pub(super) fn locks(self) -> bool {
        matches!(self, Self::OneLock | Self::AsPublishedOneLock)
    }
}

/// A connect slice.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ConnectPlan {
    /// What is connected to.
    pub listener: ListenerKind,
    /// How the server waits.
    pub serving: Serving,
    /// How the clients call.
    pub model: Model,
    /// How many there are.
    pub clients: u64,
    /// Requests of each at most.
    pub requests: u64,
    /// Timed region: no request begins after it; ticks.
    pub slice: u64,
    /// Before it; ticks.
    pub warmup: u64,
    /// Bytes of an answer, at least [`super::SHORTEST`].
    pub answer_bytes: usize,
    /// How many may wait at the server.
    pub backlog: u64,
    /// The side that closes first.
    pub closes: Closes,
    /// Whether clients connect and read without blocking, over whatever it is.
    pub nonblocking: bool,
}

impl ConnectPlan {
    /// Whether its clients connect without blocking, and poll.
    pub(super) fn polls(&self) -> bool {
        self.nonblocking || self.model.polls(self.listener)
    }

    /// Whether more may come at the same time than find room (one more than the backlog), and who finds none is not told:
    /// over a UNIX socket a client sleeps until there is room, TCP forgets it until it asks again.
    pub(super) fn drops(&self) -> bool {
        is_tcp(self.listener) && self.clients > self.backlog.saturating_add(1)
    }

    /// How much longer it may take since clients wait in vain and ask again.
    pub(crate) fn waiting(&self) -> Duration {
        if self.drops() { 10 * PATIENCE } else { Duration::ZERO }
    }
}

/// Where and when it takes place.
#[derive(Clone, Debug)]
pub struct Around<'a> {
    /// For listeners that have a path.
    pub directory: &'a Path,
    /// A number no other connect slice has.
    pub nonce: u64,
    /// CPUs of clients and server; `None`: not pinned.
    pub cpus: [Option<usize>; 2],
    /// Whether the CPU counter is the clock; otherwise a tick is a nanosecond.
    pub counter: bool,
    /// Extra bytes of environment, clients and server.
    pub pads: [usize; 2],
    /// When all must be over.
    pub deadline: Instant,
    /// Interrupts of the user.
    pub interrupts: Option<&'a Interrupts>,
}

/// What a process of a connect slice is told.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Ask {
    pub(super) plan: ConnectPlan,
    /// What has a path begins with it.
    pub(super) base: PathBuf,
    pub(super) nonce: u64,
    /// Where the server waits, once it does.
    pub(super) port: u32,
    /// Numbers of the clients in this process; the server has none.
    pub(super) clients: Range<u64>,
    pub(super) cpu: Option<usize>,
    pub(super) counter: bool,
}

impl Ask {
    /// What all processes are told.
    pub(super) fn of(plan: &ConnectPlan, around: &Around<'_>) -> Self {
        Self {
            plan: plan.clone(),
            base: around.directory.join(format!("{:016x}", around.nonce)),
            nonce: around.nonce,
            port: 0,
            clients: 0..0,
            cpu: None,
            counter: around.counter,
        }
    }

    /// Where the server is.
    pub(super) fn site(&self) -> Site {
        site(self.plan.listener, &self.base, self.nonce, self.port)
    }

    /// What the server says.
    pub(super) fn answers(&self) -> Answers {
        Answers::new(self.nonce, self.plan.answer_bytes)
    }

    pub(super) fn clock(&self) -> Clock {
        if self.counter { Clock::counter() } else { Clock::monotonic() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What was published is both at once, and was no model: each alone differs in one thing from what blocks.
    #[test]
    fn a_model_polls_over_tcp_only_and_locks_over_everything() {
        let model =
            |name: &str| -> Model { serde_json::from_str(&format!("\"{name}\"")).expect(name) };
        for (name, polls, locks) in [
            ("blocking", false, false),
            ("as-published", true, false),
            ("one-lock", false, true),
            ("as-published-one-lock", true, true),
        ] {
            let model = model(name);
            assert_eq!((model.polls(ListenerKind::Tcp), model.locks()), (polls, locks), "{name}");
            assert!(!model.polls(ListenerKind::UnixPath), "{name}");
        }
    }
}

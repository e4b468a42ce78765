//! Two ends that find each other by name or port, and the handshake that keeps strangers out.

use crate::control::wait_any;
use crate::io::failed;
use crate::io::names::{self, Unlink};
use crate::io::socket::inet::{self, Inet};
use crate::io::socket::{Kind, get_option};
use crate::sysctl;
use ipcperf_core::{Address, Missing, SetupError};
use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::fs::Mode;
use rustix::io::Errno;
use rustix::net::{self, AddressFamily, RecvFlags, SendFlags, SocketFlags, sockopt};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// How long an end waits for its peer to connect and say its nonce.
const ADMISSION: Duration = Duration::from_secs(10);
/// How many may wait at a time who have not said their nonce.
const CANDIDATES: usize = 64;
/// Bytes of a nonce.
const NONCE: usize = size_of::<u64>();
/// Bytes with which an end introduces itself over TCP: the nonce, and zeros up to a page. A TCP sender's bytes lie one behind
/// the other in pages of the kernel, so that 8 bytes alone would put all that follows 8 bytes behind where it lies at the
/// sender. With a buffer that begins a page a stream of 512 KiB then had 2.2 GB/s instead of 3.9 (AMD EPYC, Linux 6.18;
/// the same in a plain program that sends 8 bytes first).
const PAGE: usize = 4096;

/// What servers take (nginx, Redis, Node.js): 511, for which Linux once made room for 512.
const SERVERS_TAKE: u64 = 511;

/// Connections that may wait at a listener unless somebody asks for another number: as many as at usual servers, or as
/// the system allows.
#[must_use]
pub fn backlog() -> u64 {
    sysctl::number("net/core/somaxconn").map_or(SERVERS_TAKE, |limit| limit.min(SERVERS_TAKE))
}

/// Where a UNIX listener is found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Name {
    /// A path in the file system.
    Path(PathBuf),
    /// A name without a file, in the network namespace.
    Abstract(String),
}

/// Of which kind it is; the name itself is random.
impl std::fmt::Display for Name {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Path(path) => write!(out, "to a path in {}", names::place(path)),
            Self::Abstract(_) => out.write_str("to an abstract name"),
        }
    }
}

impl Name {
    pub(crate) fn address(&self) -> Result<net::SocketAddrUnix, SetupError> {
        match self {
            Self::Path(path) => match net::SocketAddrUnix::new(path) {
                Err(Errno::NAMETOOLONG) => Err(too_long(path)),
                other => other.map_err(failed("address of a path")),
            },
            Self::Abstract(name) => net::SocketAddrUnix::new_abstract_name(name.as_bytes())
                .map_err(failed("address of an abstract name")),
        }
    }
}

/// `sun_path` of `unix(7)` has 108 bytes, and the last one is a zero.
fn too_long(path: &Path) -> SetupError {
    let bytes = path.as_os_str().len();
    let place = names::place(path);
    let what = format!("a path in {place} has {bytes} bytes, and the path of a socket at most 107");
    Missing::new(what, "a shorter XDG_RUNTIME_DIR or TMPDIR").into()
}

fn unix_socket(kind: Kind) -> Result<OwnedFd, SetupError> {
    net::socket_with(AddressFamily::UNIX, kind.socket_type(), SocketFlags::CLOEXEC, None)
        .map_err(failed("socket"))
}

/// Whether so many connections may wait at a listener; the kernel would cut the number without a word.
///
/// # Errors
/// It is above the limit.
pub fn allow_backlog(backlog: u64) -> Result<(), Missing> {
    match sysctl::number("net/core/somaxconn") {
        Some(limit) if backlog > limit => Err(Missing::new(
            format!("a backlog of {backlog} is above net.core.somaxconn ({limit})"),
            format!("sysctl net.core.somaxconn={backlog}"),
        )),
        _ => Ok(()),
    }
}

fn listen(socket: &OwnedFd, backlog: u64, what: &str) -> Result<(), SetupError> {
    allow_backlog(backlog)?;
    let backlog = i32::try_from(backlog).unwrap_or(i32::MAX);
    net::listen(socket, backlog).map_err(failed(format!("listen {what}")))
}

/// A UNIX socket under `name`; the guard unlinks a path.
///
/// # Errors
/// The call that failed; a path longer than 107 bytes is one of the reasons.
pub fn bind_unix(kind: Kind, name: &Name) -> Result<(OwnedFd, Option<Unlink>), SetupError> {
    let socket = unix_socket(kind)?;
    // The mode of the socket becomes the mode of the file that `bind` makes: no moment in which others may connect.
    rustix::fs::fchmod(&socket, Mode::RUSR | Mode::WUSR).map_err(failed("fchmod"))?;
    net::bind(&socket, &name.address()?).map_err(failed(format!("bind {name}")))?;
    let guard = match name {
        Name::Path(path) => Some(Unlink::new(path.clone())),
        Name::Abstract(_) => None,
    };
    Ok((socket, guard))
}

/// Listens under `name`; the guard unlinks a path.
///
/// # Errors
/// As [`bind_unix`], or the backlog is above the limit.
pub fn listen_unix(
    kind: Kind,
    name: &Name,
    backlog: u64,
) -> Result<(OwnedFd, Option<Unlink>), SetupError> {
    let (socket, guard) = bind_unix(kind, name)?;
    listen(&socket, backlog, &name.to_string())?;
    Ok((socket, guard))
}

/// Connects to a listener of [`listen_unix`] and introduces itself.
///
/// # Errors
/// The call that failed.
pub fn connect_unix(kind: Kind, name: &Name, nonce: u64) -> Result<OwnedFd, SetupError> {
    let socket = unix_socket(kind)?;
    call_unix(&socket, name)?;
    introduce(&socket, nonce)?;
    Ok(socket)
}

/// Connects to the process that listens there, and sends nothing; returns the process that listens, where the kernel names it.
///
/// # Errors
/// The call that failed.
pub fn call(kind: Kind, address: &Address) -> Result<(OwnedFd, Option<u32>), SetupError> {
    match address {
        Address::Unix(path) => {
            let socket = unix_socket(kind)?;
            let name = net::SocketAddrUnix::new(path).map_err(failed("address of a path"))?;
            net::connect(&socket, &name).map_err(|error| match error {
                Errno::PROTOTYPE => {
                    let what = format!("the end at {address} listens with another kind of socket");
                    Missing::new(what, "-m unix-stream, or -m unix-seqpacket").into()
                }
                error => failed(format!("connect {address}"))(error),
            })?;
            let process = u32::try_from(credentials(&socket)?.pid).ok().filter(|pid| *pid != 0);
            Ok((socket, process))
        }
        Address::Tcp(port) => {
            let host = IpAddr::V4(Ipv4Addr::LOCALHOST);
            let socket = inet::socket(Inet { host, protocol: inet::Protocol::Tcp })?;
            let to = SocketAddr::new(host, *port);
            connect_within(&socket, &to, ADMISSION)
                .map_err(failed(format!("connect {address}")))?;
            Ok((socket, None))
        }
    }
}

/// Connects a socket to the one that has this name. Of a datagram socket: what it sends goes there, and nobody else may
/// send to it.
///
/// # Errors
/// The call that failed.
pub fn call_unix(socket: &OwnedFd, name: &Name) -> Result<(), SetupError> {
    net::connect(socket, &name.address()?).map_err(failed(format!("connect {name}")))
}

/// A listener on an address of this host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Port {
    /// Its port, which the kernel chose.
    pub number: u16,
    /// How many connections may wait at it.
    pub backlog: u64,
}

/// Listens on an address of this host.
///
/// # Errors
/// The call that failed.
pub fn listen_inet(socket: &OwnedFd, inet: Inet, backlog: u64) -> Result<Port, SetupError> {
    let number = inet::bind(socket, inet.host)?;
    listen(socket, backlog, &format!("{} port {number}", inet.host))?;
    Ok(Port { number, backlog: inet::backlog_in_force(socket).unwrap_or(backlog) })
}

/// Connects to a listener of [`listen_inet`] and introduces itself.
///
/// # Errors
/// The call that failed.
pub fn connect_inet(socket: &OwnedFd, to: SocketAddr, nonce: u64) -> Result<(), SetupError> {
    net::connect(socket, &to).map_err(failed(format!("connect {to}")))?;
    introduce(socket, nonce)
}

/// Connects, but waits for an answer no longer than this. By itself the kernel tries for two minutes where packets are
/// dropped (`net.ipv4.tcp_syn_retries`).
fn connect_within(socket: &OwnedFd, to: &SocketAddr, limit: Duration) -> Result<(), Errno> {
    rustix::io::ioctl_fionbio(socket, true)?;
    match net::connect(socket, to) {
        Err(Errno::INPROGRESS) => await_connection(socket, Instant::now() + limit)?,
        other => other?,
    }
    rustix::io::ioctl_fionbio(socket, false)
}

fn await_connection(socket: &OwnedFd, deadline: Instant) -> Result<(), Errno> {
    loop {
        let left = deadline.saturating_duration_since(Instant::now());
        let left = Timespec::try_from(left).unwrap_or_default();
        match rustix::event::poll(&mut [PollFd::new(socket, PollFlags::OUT)], Some(&left)) {
            Err(Errno::INTR) => {}
            Ok(0) => return Err(Errno::TIMEDOUT),
            other => {
                other?;
                return sockopt::socket_error(socket)?;
            }
        }
    }
}

/// How long a probe waits for an address of this host. A connection to a listener of one's own takes 50 us, and its first
/// packet is repeated after a second.
const PROBE: Duration = Duration::from_secs(2);

/// What was silent: a dozen mechanisms try the same address, and each trial would take as long.
static SILENT: Mutex<Vec<Inet>> = Mutex::new(Vec::new());

/// Whether a loopback address can be reached; tried, not guessed. It takes two seconds at the most.
///
/// # Errors
/// What is missing.
pub fn loopback(inet: Inet) -> Result<(), Missing> {
    let mut silent = SILENT.lock().unwrap_or_else(PoisonError::into_inner);
    if silent.contains(&inet) {
        return Err(inet::silent(inet));
    }
    let tried = inet::socket(inet).and_then(|listener| {
        let port = listen_inet(&listener, inet, backlog())?;
        let to = SocketAddr::new(inet.host, port.number);
        let socket = inet::socket(inet)?;
        connect_within(&socket, &to, PROBE).map_err(failed(format!("connect {to}")))?;
        introduce(&socket, 0)
    });
    tried.map_err(|error| match error {
        SetupError::Sys { code: libc::ETIMEDOUT, .. } => {
            silent.push(inet);
            inet::silent(inet)
        }
        error => inet::missing(inet, error),
    })
}

/// How an end introduces itself with `nonce` over such a socket.
fn introduction(socket: &OwnedFd, nonce: u64) -> Result<Vec<u8>, SetupError> {
    let family = sockopt::socket_domain(socket).map_err(failed("SO_DOMAIN"))?;
    let is_inet = [AddressFamily::INET, AddressFamily::INET6].contains(&family);
    let mut all = nonce.to_ne_bytes().to_vec();
    all.resize(if is_inet { PAGE } else { NONCE }, 0);
    Ok(all)
}

pub(crate) fn introduce(socket: &OwnedFd, nonce: u64) -> Result<(), SetupError> {
    let all = introduction(socket, nonce)?;
    let sent = net::send(socket, &all, SendFlags::NOSIGNAL).map_err(failed("send of the nonce"))?;
    if sent == all.len() {
        Ok(())
    } else {
        Err(SetupError::Protocol("the nonce did not fit the socket".into()))
    }
}

/// Accepts connections until one introduces itself with `nonce`; over UNIX sockets it must also belong to this user.
/// Strangers are closed, and nobody is kept waiting by one who says nothing.
///
/// # Errors
/// `accept` failed, or nobody came within ten seconds.
pub fn admit(listener: &OwnedFd, nonce: u64) -> Result<OwnedFd, SetupError> {
    let deadline = Instant::now() + ADMISSION;
    let mut candidates: Vec<Candidate> = Vec::new();
    while let Some(ready) = readable(listener, &candidates, deadline)? {
        let [has_come, have_spoken @ ..] = ready.as_slice() else { break };
        let mut silent = Vec::new();
        for (mut candidate, has_spoken) in candidates.into_iter().zip(have_spoken) {
            match has_spoken.then(|| candidate.says_all()).flatten() {
                Some(true) => return Ok(candidate.socket),
                Some(false) => {}
                None => silent.push(candidate),
            }
        }
        candidates = silent;
        if !has_come {
            continue;
        }
        match net::accept_with(listener, SocketFlags::CLOEXEC) {
            Ok(socket) if is_own_user(&socket)? => {
                candidates.push(Candidate::new(introduction(&socket, nonce)?, socket));
            }
            // A stranger, or the connection went away again between the two calls.
            Ok(_) | Err(Errno::INTR | Errno::CONNABORTED) => {}
            Err(Errno::MFILE) if !candidates.is_empty() => drop(candidates.remove(0)),
            Err(error) => return Err(failed("accept4")(error)),
        }
        if candidates.len() > CANDIDATES {
            // The peer says who it is as soon as it is connected; who has been here longest is not it.
            candidates.remove(0);
        }
    }
    Err(SetupError::Protocol(format!("the peer did not connect within {} s", ADMISSION.as_secs())))
}

/// Somebody who has connected and not said yet who it is.
struct Candidate {
    socket: OwnedFd,
    /// What it must say.
    wanted: Vec<u8>,
    said: Vec<u8>,
    filled: usize,
}

impl Candidate {
    fn new(wanted: Vec<u8>, socket: OwnedFd) -> Self {
        Self { socket, said: vec![0; wanted.len()], wanted, filled: 0 }
    }

    /// Whether it has said what it must; `None` if it has not said all yet.
    fn says_all(&mut self) -> Option<bool> {
        match net::recv(&self.socket, &mut self.said[self.filled..], RecvFlags::DONTWAIT) {
            Err(Errno::INTR | Errno::AGAIN) => return None,
            Ok((_, bytes @ 1..)) => self.filled += bytes,
            Ok(_) | Err(_) => return Some(false),
        }
        (self.filled == self.wanted.len()).then(|| self.said == self.wanted)
    }
}

/// Who is at the other end of a UNIX socket. The process is 0 where it is in a PID namespace that cannot be seen from this one.
fn credentials(socket: &OwnedFd) -> Result<libc::ucred, SetupError> {
    let mut peer = libc::ucred { pid: 0, uid: 0, gid: 0 };
    get_option(socket, libc::SOL_SOCKET, libc::SO_PEERCRED, &mut peer)
        .map_err(failed("SO_PEERCRED"))?;
    Ok(peer)
}

fn is_own_user(candidate: &OwnedFd) -> Result<bool, SetupError> {
    let family = sockopt::socket_domain(candidate).map_err(failed("SO_DOMAIN"))?;
    if family != AddressFamily::UNIX {
        // Only UNIX sockets know who connected; elsewhere the nonce decides alone.
        return Ok(true);
    }
    Ok(credentials(candidate)?.uid == rustix::process::geteuid().as_raw())
}

/// Waits until somebody comes or says something: who, the listener first; `None` once the deadline has passed.
fn readable(
    listener: &OwnedFd,
    candidates: &[Candidate],
    deadline: Instant,
) -> Result<Option<Vec<bool>>, SetupError> {
    let all = std::iter::once(listener).chain(candidates.iter().map(|one| &one.socket));
    let fds: Vec<_> = all.map(AsFd::as_fd).collect();
    let ready = wait_any(&fds, deadline)
        .map_err(|error| SetupError::sys("poll", error.raw_os_error().unwrap_or(libc::EIO)))?;
    Ok(ready.contains(&true).then_some(ready))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read;
    use std::os::unix::net::UnixStream;

    #[test]
    fn a_stranger_is_turned_away_and_the_peer_is_let_in() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("listener");
        let (listener, guard) =
            listen_unix(Kind::Stream, &Name::Path(path.clone()), backlog()).expect("a listener");
        let mut stranger = UnixStream::from(
            connect_unix(Kind::Stream, &Name::Path(path.clone()), 1).expect("a queue"),
        );
        let friend = connect_unix(Kind::Stream, &Name::Path(path.clone()), 2).expect("a queue");
        let admitted = admit(&listener, 2).expect("the second connection");
        assert_eq!(stranger.read(&mut [0]).expect("closed, not reset"), 0);
        crate::io::stream::write(friend.as_fd(), b"x").expect("room");
        let mut got = [0];
        assert_eq!(crate::io::stream::read(admitted.as_fd(), &mut got), Ok(1));
        drop(guard);
        assert!(!path.exists());
    }

    #[test]
    fn strangers_who_say_nothing_keep_nobody_waiting() {
        let directory = tempfile::tempdir().expect("a directory");
        let name = Name::Path(directory.path().join("listener"));
        let (listener, _guard) = listen_unix(Kind::Stream, &name, 4096).expect("a listener");
        let knock = || {
            let socket = unix_socket(Kind::Stream).expect("a socket");
            net::connect(&socket, &name.address().expect("short")).expect("a queue");
            socket
        };
        let strangers: Vec<OwnedFd> = (0..200).map(|_| knock()).collect();
        for half in strangers.iter().take(50) {
            net::send(half, &[2, 0, 0], SendFlags::NOSIGNAL).expect("room");
        }
        let friend = connect_unix(Kind::Stream, &name, 2).expect("a queue");
        let began = Instant::now();
        let admitted = admit(&listener, 2).expect("the last connection");
        // Each of them was waited for a second; only that is excluded here.
        assert!(began.elapsed() < ADMISSION, "{:?}", began.elapsed());
        crate::io::stream::write(friend.as_fd(), b"x").expect("room");
        assert_eq!(crate::io::stream::read(admitted.as_fd(), &mut [0]), Ok(1));
    }

    /// A full queue drops what asks for a connection, as a firewall does; the kernel then asks again for two minutes.
    #[test]
    fn who_does_not_answer_is_waited_for_no_longer_than_was_said() {
        let host = IpAddr::V4(Ipv4Addr::LOCALHOST);
        let inet = Inet { host, protocol: inet::Protocol::Tcp };
        let socket = || inet::socket(inet).expect("a socket");
        let listener = socket();
        let port = listen_inet(&listener, inet, 0).expect("a listener");
        let to = SocketAddr::new(host, port.number);
        let connect = |limit| {
            let socket = socket();
            connect_within(&socket, &to, limit).map(|()| socket)
        };
        let admitted = connect(PROBE).expect("an empty queue");
        let flags = rustix::fs::fcntl_getfl(&admitted).expect("flags");
        assert!(!flags.contains(rustix::fs::OFlags::NONBLOCK), "as it was");
        let mut waiting = Vec::new();
        let refused = loop {
            match connect(Duration::from_millis(50)) {
                Ok(socket) => waiting.push(socket),
                Err(error) => break error,
            }
            assert!(waiting.len() < 8, "the queue has room for one or two");
        };
        assert_eq!(refused, Errno::TIMEDOUT);
        drop(listener);
        assert_eq!(connect(PROBE).map(drop), Err(Errno::CONNREFUSED));
        assert_eq!(loopback(inet), Ok(()));
    }

    #[test]
    fn nobody_but_this_user_may_open_the_path() {
        use std::os::unix::fs::PermissionsExt;
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("listener");
        let _open =
            listen_unix(Kind::Stream, &Name::Path(path.clone()), backlog()).expect("a listener");
        let mode = path.metadata().expect("it exists").permissions().mode();
        assert_eq!(mode & 0o077, 0);
    }
}

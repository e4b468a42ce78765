//! Two ends that find each other by name or port, and the handshake that keeps strangers out.

use super::names::Unlink;
use super::socket::{bind, tcp};
use super::sysctl;
use ipcperf_core::{Missing, SetupError};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::Mode;
use rustix::io::Errno;
use rustix::net::{self, AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, sockopt};
use std::net::{IpAddr, SocketAddr};
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// How long an end waits for its peer to connect and say its nonce.
const ADMISSION: Duration = Duration::from_secs(10);
/// How long one connection may take to say its nonce before the next is looked at.
const INTRODUCTION: Duration = Duration::from_secs(1);

/// Where a UNIX listener is found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Name {
    /// A path in the file system.
    Path(PathBuf),
    /// A name without a file, in the network namespace.
    Abstract(String),
}

impl Name {
    fn address(&self) -> Result<net::SocketAddrUnix, SetupError> {
        match self {
            Self::Path(path) => net::SocketAddrUnix::new(path)
                .map_err(super::failed(format!("address {}", path.display()))),
            Self::Abstract(name) => net::SocketAddrUnix::new_abstract_name(name.as_bytes())
                .map_err(super::failed(format!("address @{name}"))),
        }
    }
}

fn unix_stream() -> Result<OwnedFd, SetupError> {
    net::socket_with(AddressFamily::UNIX, SocketType::STREAM, SocketFlags::CLOEXEC, None)
        .map_err(super::failed("socket"))
}

/// Listens under `name`; the guard unlinks a path.
///
/// # Errors
/// The call that failed; a path longer than 107 bytes is one of the reasons.
pub fn listen_unix(name: &Name) -> Result<(OwnedFd, Option<Unlink>), SetupError> {
    let socket = unix_stream()?;
    // The mode of the socket becomes the mode of the file that `bind` makes: no moment in which others may connect.
    rustix::fs::fchmod(&socket, Mode::RUSR | Mode::WUSR).map_err(super::failed("fchmod"))?;
    net::bind(&socket, &name.address()?).map_err(super::failed(format!("bind {name:?}")))?;
    let guard = match name {
        Name::Path(path) => Some(Unlink::new(path.clone())),
        Name::Abstract(_) => None,
    };
    net::listen(&socket, 8).map_err(super::failed(format!("listen {name:?}")))?;
    Ok((socket, guard))
}

/// Connects to a listener of [`listen_unix`] and introduces itself.
///
/// # Errors
/// The call that failed.
pub fn connect_unix(name: &Name, nonce: u64) -> Result<OwnedFd, SetupError> {
    let socket = unix_stream()?;
    net::connect(&socket, &name.address()?).map_err(super::failed(format!("connect {name:?}")))?;
    introduce(&socket, nonce)?;
    Ok(socket)
}

/// Listens on an address of this host and returns the port the kernel chose.
///
/// # Errors
/// The call that failed.
pub fn listen_tcp(socket: &OwnedFd, host: IpAddr) -> Result<u16, SetupError> {
    let port = bind(socket, host)?;
    net::listen(socket, 8).map_err(super::failed(format!("listen {host} port {port}")))?;
    Ok(port)
}

/// Connects to a listener of [`listen_tcp`] and introduces itself.
///
/// # Errors
/// The call that failed.
pub fn connect_tcp(socket: &OwnedFd, to: SocketAddr, nonce: u64) -> Result<(), SetupError> {
    net::connect(socket, &to).map_err(super::failed(format!("connect {to}")))?;
    introduce(socket, nonce)
}

/// Whether `host`, the loopback address of its family, can be reached; tried, not guessed.
///
/// # Errors
/// What is missing.
pub fn loopback(host: IpAddr) -> Result<(), Missing> {
    let tried = tcp(host).and_then(|listener| {
        let port = listen_tcp(&listener, host)?;
        connect_tcp(&tcp(host)?, SocketAddr::new(host, port), 0)
    });
    tried.map_err(|error| match error {
        SetupError::Sys { code: libc::EADDRNOTAVAIL, .. }
            if host.is_ipv6() && sysctl::number("net/ipv6/conf/lo/disable_ipv6") == Some(1) =>
        {
            Missing::new(
                "IPv6 is switched off on the loopback interface",
                "sysctl net.ipv6.conf.lo.disable_ipv6=0",
            )
        }
        SetupError::Sys { code: libc::EAFNOSUPPORT, .. } if host.is_ipv6() => Missing::new(
            "this kernel has no IPv6, or was started with ipv6.disable=1",
            "a kernel with CONFIG_IPV6, started without that parameter",
        ),
        SetupError::Sys { code: libc::ENETUNREACH | libc::EADDRNOTAVAIL, .. } => Missing::new(
            "the loopback interface is down in this network namespace",
            "ip link set lo up",
        ),
        SetupError::Sys { code: libc::EAFNOSUPPORT, .. } => {
            Missing::new("this kernel has no IPv4", "a kernel with CONFIG_INET")
        }
        other => Missing::new(format!("{host} cannot be reached: {other}"), ""),
    })
}

fn introduce(socket: &OwnedFd, nonce: u64) -> Result<(), SetupError> {
    let sent = net::send(socket, &nonce.to_ne_bytes(), SendFlags::NOSIGNAL)
        .map_err(super::failed("send of the nonce"))?;
    if sent == size_of::<u64>() {
        Ok(())
    } else {
        Err(SetupError::Protocol("the nonce did not fit the socket".into()))
    }
}

/// Accepts connections until one introduces itself with `nonce`; over UNIX sockets it must also belong to this user.
/// Strangers are closed.
///
/// # Errors
/// `accept` failed, or nobody came within ten seconds.
pub fn admit(listener: &OwnedFd, nonce: u64) -> Result<OwnedFd, SetupError> {
    let deadline = Instant::now() + ADMISSION;
    while readable(listener, deadline)? {
        let candidate = match net::accept_with(listener, SocketFlags::CLOEXEC) {
            Ok(candidate) => candidate,
            // The connection went away again between the two calls.
            Err(Errno::INTR | Errno::CONNABORTED) => continue,
            Err(error) => return Err(super::failed("accept4")(error)),
        };
        if is_own_user(&candidate)? && knows(&candidate, nonce)? {
            return Ok(candidate);
        }
    }
    Err(SetupError::Protocol(format!("the peer did not connect within {} s", ADMISSION.as_secs())))
}

fn is_own_user(candidate: &OwnedFd) -> Result<bool, SetupError> {
    let family = sockopt::socket_domain(candidate).map_err(super::failed("SO_DOMAIN"))?;
    if family != AddressFamily::UNIX {
        // Only UNIX sockets know who connected; elsewhere the nonce decides alone.
        return Ok(true);
    }
    let peer = sockopt::socket_peercred(candidate).map_err(super::failed("SO_PEERCRED"))?;
    Ok(peer.uid == rustix::process::geteuid())
}

fn knows(candidate: &OwnedFd, nonce: u64) -> Result<bool, SetupError> {
    let deadline = Instant::now() + INTRODUCTION;
    let mut said = [0_u8; 8];
    let mut filled = 0;
    while filled < said.len() && readable(candidate, deadline)? {
        match net::recv(candidate, &mut said[filled..], RecvFlags::DONTWAIT) {
            Ok((_, 0)) => return Ok(false),
            Ok((_, bytes)) => filled += bytes,
            Err(Errno::INTR | Errno::AGAIN) => {}
            Err(_) => return Ok(false),
        }
    }
    Ok(filled == said.len() && said == nonce.to_ne_bytes())
}

/// Waits until `fd` is readable; `false` once the deadline has passed.
fn readable(fd: &OwnedFd, deadline: Instant) -> Result<bool, SetupError> {
    loop {
        let left = deadline.saturating_duration_since(Instant::now());
        let left = Timespec::try_from(left).unwrap_or_default();
        match poll(&mut [PollFd::new(fd, PollFlags::IN)], Some(&left)) {
            Ok(ready) => return Ok(ready > 0),
            Err(Errno::INTR) => {}
            Err(error) => return Err(super::failed("poll")(error)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read;
    use std::os::fd::AsFd;
    use std::os::unix::net::UnixStream;

    #[test]
    fn a_stranger_is_turned_away_and_the_peer_is_let_in() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("door");
        let (listener, guard) = listen_unix(&Name::Path(path.clone())).expect("a listener");
        let mut stranger =
            UnixStream::from(connect_unix(&Name::Path(path.clone()), 1).expect("a queue"));
        let friend = connect_unix(&Name::Path(path.clone()), 2).expect("a queue");
        let admitted = admit(&listener, 2).expect("the second connection");
        assert_eq!(stranger.read(&mut [0]).expect("closed, not reset"), 0);
        super::super::stream::write(friend.as_fd(), b"x").expect("room");
        let mut got = [0];
        assert_eq!(super::super::stream::read(admitted.as_fd(), &mut got), Ok(1));
        drop(guard);
        assert!(!path.exists());
    }

    #[test]
    fn nobody_but_this_user_may_open_the_path() {
        use std::os::unix::fs::PermissionsExt;
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("door");
        let _open = listen_unix(&Name::Path(path.clone())).expect("a listener");
        let mode = path.metadata().expect("it exists").permissions().mode();
        assert_eq!(mode & 0o077, 0);
    }
}

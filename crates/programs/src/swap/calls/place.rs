//! Where a listener is that was exchanged, and who is there by what the kernel tells of all sockets.

use super::name::Name;
use super::wanted::{To, Wanted};
use ipcperf_sys::io::socket::vsock;
use rustix::fs::OFlags;
use rustix::io::Errno;
use rustix::net::{self, AddressFamily, SocketAddrAny, SocketAddrUnix, SocketFlags, SocketType};
use std::collections::HashSet;
use std::ffi::OsStr;
use std::fmt;
use std::fs;
use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

/// Where a listener is that was exchanged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum ListenerPlace {
    Path(PathBuf),
    Abstract(Vec<u8>),
    Port(SocketAddr),
    /// Of a VM socket.
    Vm(u32),
}

impl fmt::Display for ListenerPlace {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Path(path) => write!(out, "{}", path.display()),
            Self::Abstract(name) => write!(out, "@{}", String::from_utf8_lossy(name)),
            Self::Port(address) => write!(out, "{address}"),
            Self::Vm(port) => write!(out, "vsock port {port}"),
        }
    }
}

impl ListenerPlace {
    pub(super) fn of(name: &SocketAddrAny) -> Option<Self> {
        if let Ok(address) = SocketAddr::try_from(name.clone()) {
            return Some(Self::Port(address));
        }
        if let Some(port) = vsock::port(name) {
            return Some(Self::Vm(port));
        }
        let name = SocketAddrUnix::try_from(name.clone()).ok()?;
        if let Some(name) = name.abstract_name() {
            return Some(Self::Abstract(name.to_owned()));
        }
        Some(Self::Path(OsStr::from_bytes(name.path_bytes()?).into()))
    }

    /// Binds a socket to a place of its own, which stands for `name`.
    pub(super) fn bind(socket: &OwnedFd, name: &Name, wanted: &Wanted) -> io::Result<Self> {
        match name {
            Name::Ip(_) if wanted.to == To::Vsock => {
                vsock::bind_raw(socket, libc::VMADDR_PORT_ANY)?;
                Ok(Self::Vm(vsock::bound_port(socket)?))
            }
            Name::Ip(address) if wanted.knobs.is_abstract => {
                let folder = wanted.folder.file_name().unwrap_or_default();
                let name = [folder.as_bytes(), b"-", file_name(*address).as_bytes()].concat();
                net::bind(socket, &SocketAddrUnix::new_abstract_name(&name)?)?;
                Ok(Self::Abstract(name))
            }
            Name::Ip(address) => {
                let path = wanted.folder.join(format!("{}.sock", file_name(*address)));
                // Of one that was closed.
                let _ = fs::remove_file(&path);
                net::bind(socket, &SocketAddrUnix::new(&path)?)?;
                Ok(Self::Path(path))
            }
            _ => {
                net::bind(socket, &SocketAddr::from((Ipv4Addr::LOCALHOST, 0)))?;
                Ok(Self::Port(net::getsockname(socket)?.try_into()?))
            }
        }
    }

    /// Connects a socket to it. Where a blocking one would wait for room, it says so: `connect(2)` waits as long as a send may.
    /// A VM listener refuses where it has no room, so its clients can block: a connection takes microseconds.
    pub(super) fn connect(&self, socket: &OwnedFd) -> Result<(), Errno> {
        let flags = rustix::fs::fcntl_getfl(socket)?;
        let meanwhile = match self {
            Self::Vm(_) => flags - OFlags::NONBLOCK,
            _ => flags | OFlags::NONBLOCK,
        };
        rustix::fs::fcntl_setfl(socket, meanwhile)?;
        let connected = match self {
            Self::Path(path) => net::connect(socket, &SocketAddrUnix::new(path)?),
            Self::Abstract(name) => net::connect(socket, &SocketAddrUnix::new_abstract_name(name)?),
            Self::Port(address) => net::connect(socket, address),
            Self::Vm(port) => vsock::connect_raw(socket, *port),
        };
        rustix::fs::fcntl_setfl(socket, flags)?;
        connected
    }

    /// Whether a socket that is bound to it is still open, listening or not.
    pub(super) fn is_there(&self) -> bool {
        let trial =
            |family| net::socket_with(family, SocketType::STREAM, SocketFlags::CLOEXEC, None);
        match self {
            Self::Path(_) | Self::Abstract(_) => open_names().contains(&self.to_string()),
            // None of those that hold it lets another one in.
            Self::Port(address) => {
                trial(AddressFamily::INET).is_ok_and(|trial| net::bind(&trial, address).is_err())
            }
            Self::Vm(port) => trial(AddressFamily::VSOCK)
                .is_ok_and(|trial| vsock::bind_raw(&trial, *port).is_err()),
        }
    }

    pub(super) const fn is_unix(&self) -> bool {
        matches!(self, Self::Path(_) | Self::Abstract(_))
    }
}

/// Names of all UNIX sockets that are open and were not accepted: `Num RefCount Protocol Flags Type St Inode Path`.
pub(super) fn open_names() -> HashSet<String> {
    let all = fs::read_to_string("/proc/net/unix").unwrap_or_default();
    let name = |line: &str| {
        let mut words = line.split_whitespace();
        // One that was accepted has the name of its listener.
        let is_accepted = words.nth(5)? == CONNECTED;
        let name = words.nth(1)?;
        // It may have spaces.
        let begin = line.len()
            - line.rsplit_once(&format!(" {name}")).map(|(_, rest)| rest.len() + name.len())?;
        (!is_accepted).then(|| line[begin..].to_owned())
    };
    all.lines().filter_map(name).collect()
}

/// `6379`; with the address where it is not the usual one.
fn file_name(address: SocketAddr) -> String {
    let (ip, port) = (address.ip(), address.port());
    match ip {
        IpAddr::V4(Ipv4Addr::LOCALHOST) => port.to_string(),
        ip => format!("{ip}-{port}"),
    }
}

/// `SS_CONNECTED` (`linux/net.h`), as `/proc/net/unix` writes it.
const CONNECTED: &str = "03";

//! Where a listener is that was exchanged.

use super::name::Name;
use super::wanted::{To, Wanted};
use ipcperf_sys::io::socket::vsock;
use rustix::fs::OFlags;
use rustix::io::Errno;
use rustix::net::{self, SocketAddrAny, SocketAddrUnix};
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

    /// Binds a socket to a place of its own, which stands for `name` in the network namespace with this number.
    pub(super) fn bind(
        socket: &OwnedFd,
        name: &Name,
        namespace: usize,
        wanted: &Wanted,
    ) -> io::Result<Self> {
        match name {
            Name::Ip(_) if wanted.to == To::Vsock => {
                vsock::bind_raw(socket, libc::VMADDR_PORT_ANY)?;
                Ok(Self::Vm(vsock::bound_port(socket)?))
            }
            Name::Ip(address) if wanted.knobs.is_abstract => {
                let folder = wanted.folder.file_name().unwrap_or_default();
                let name =
                    [folder.as_bytes(), b"-", file_name(*address, namespace).as_bytes()].concat();
                net::bind(socket, &SocketAddrUnix::new_abstract_name(&name)?)?;
                Ok(Self::Abstract(name))
            }
            Name::Ip(address) => {
                let path = wanted.folder.join(format!("{}.sock", file_name(*address, namespace)));
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
}

/// `6379`; with the address where it is not the usual one, and the number of a network namespace that is not ours.
fn file_name(address: SocketAddr, namespace: usize) -> String {
    let (ip, port) = (address.ip(), address.port());
    let name = match ip {
        IpAddr::V4(Ipv4Addr::LOCALHOST) => port.to_string(),
        ip => format!("{ip}-{port}"),
    };
    if namespace == 0 { name } else { format!("{name}-n{namespace}") }
}

//! Where a listener is that was exchanged, and who is there by what the kernel tells of all sockets.

use rustix::net::{self, AddressFamily, SocketAddrAny, SocketAddrUnix, SocketFlags, SocketType};
use std::ffi::OsStr;
use std::fmt;
use std::fs;
use std::net::{IpAddr, SocketAddr};
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

/// Where a listener is that was exchanged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Place {
    Path(PathBuf),
    Abstract(Vec<u8>),
    Port(SocketAddr),
}

impl fmt::Display for Place {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Path(path) => write!(out, "{}", path.display()),
            Self::Abstract(name) => write!(out, "@{}", String::from_utf8_lossy(name)),
            Self::Port(address) => write!(out, "{address}"),
        }
    }
}

impl Place {
    pub(super) fn of(name: &SocketAddrAny) -> Option<Self> {
        if let Ok(address) = SocketAddr::try_from(name.clone()) {
            return Some(Self::Port(address));
        }
        let name = SocketAddrUnix::try_from(name.clone()).ok()?;
        if let Some(name) = name.abstract_name() {
            return Some(Self::Abstract(name.to_owned()));
        }
        Some(Self::Path(OsStr::from_bytes(name.path_bytes()?).into()))
    }

    /// Whether somebody listens there.
    pub(super) fn is_listening(&self) -> bool {
        match self {
            Self::Path(_) | Self::Abstract(_) => {
                self.sockets("/proc/net/unix", |words| words[3] == ACCEPTS)
            }
            Self::Port(_) => self.sockets("/proc/net/tcp", |words| words[3] == LISTENS),
        }
    }

    /// Whether a socket that is bound to it is still open, listening or not.
    pub(super) fn is_there(&self) -> bool {
        match self {
            // One that was accepted has the name of its listener.
            Self::Path(_) | Self::Abstract(_) => {
                self.sockets("/proc/net/unix", |words| words[5] != CONNECTED)
            }
            // None of those that hold it lets another one in.
            Self::Port(address) => {
                let trial = net::socket_with(
                    AddressFamily::INET,
                    SocketType::STREAM,
                    SocketFlags::CLOEXEC,
                    None,
                );
                trial.is_ok_and(|trial| net::bind(&trial, address).is_err())
            }
        }
    }

    /// Whether one of the sockets that are bound to it is so: `Num RefCount Protocol Flags Type St Inode Path` of UNIX sockets,
    /// and `sl local_address rem_address st` of those of TCP.
    fn sockets(&self, file: &str, is_so: impl Fn(&[&str]) -> bool) -> bool {
        let name = match self {
            Self::Path(_) | Self::Abstract(_) => format!(" {self}"),
            // In the order of the bytes of this machine, as 32 bits.
            Self::Port(address) => match address.ip() {
                IpAddr::V4(ip) => {
                    let ip = u32::from_ne_bytes(ip.octets());
                    format!(" {ip:08X}:{:04X} ", address.port())
                }
                IpAddr::V6(_) => return false,
            },
        };
        let all = fs::read_to_string(file).unwrap_or_default();
        let has_name = |line: &&str| match self {
            Self::Path(_) | Self::Abstract(_) => line.ends_with(&name),
            Self::Port(_) => line.contains(&name),
        };
        all.lines().filter(has_name).any(|line| {
            let words: Vec<&str> = line.split_whitespace().collect();
            words.len() > 6 && is_so(&words)
        })
    }
}

/// `__SO_ACCEPTCON` and `SS_CONNECTED` (`linux/net.h`), as `/proc/net/unix` writes them, and `TCP_LISTEN`
/// (`net/tcp_states.h`).
const ACCEPTS: &str = "00010000";
const CONNECTED: &str = "03";
const LISTENS: &str = "0A";

//! Addresses of sockets, as programs give them and are told them.

use crate::swap::calls::handed::PendingCall;
use rustix::net::{self, AddressFamily, SocketAddrUnix};
use std::ffi::OsStr;
use std::fmt;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// Bytes of the longest address (`struct sockaddr_storage`).
pub(super) const LONGEST: usize = 128;

/// An address of IP or of a UNIX socket (`ip(7)`, `ipv6(7)`, `unix(7)`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Name {
    Ip(SocketAddr),
    Path(PathBuf),
    Abstract(Vec<u8>),
    Unnamed,
}

impl fmt::Display for Name {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ip(address) => write!(out, "{address}"),
            Self::Path(path) => write!(out, "{}", path.display()),
            Self::Abstract(name) => write!(out, "@{}", String::from_utf8_lossy(name)),
            Self::Unnamed => out.write_str("a socket without a name"),
        }
    }
}

impl Name {
    /// What `bind` and `connect` are given; none of another family.
    ///
    /// # Errors
    /// The program's memory cannot be read.
    pub(super) fn given(call: &PendingCall) -> io::Result<Option<Self>> {
        let [_, address, len, ..] = call.args;
        Self::at(call, address, len)
    }

    /// The same of an address that is another argument.
    ///
    /// # Errors
    /// As [`Self::given`].
    pub(super) fn at(call: &PendingCall, address: u64, len: u64) -> io::Result<Option<Self>> {
        match len as u32 as usize {
            // What is longer than any address the kernel refuses.
            len if len <= LONGEST => Ok(Self::read(&call.read(address, len)?)),
            _ => Ok(None),
        }
    }

    /// Whether `connect` is given no address, which ends a connection (`AF_UNSPEC`).
    ///
    /// # Errors
    /// As [`Self::given`].
    pub(super) fn is_unspecified(call: &PendingCall) -> io::Result<bool> {
        let [_, address, len, ..] = call.args;
        let family = size_of::<libc::sa_family_t>();
        Ok(len as u32 as usize >= family && call.read(address, family)? == [0; 2])
    }

    /// What a socket of ours or of a program has bound itself to; none of another family.
    pub(super) fn of(socket: &OwnedFd) -> Option<Self> {
        let name = net::getsockname(socket).ok()?;
        if let Ok(address) = SocketAddr::try_from(name.clone()) {
            return Some(Self::Ip(address));
        }
        let name = SocketAddrUnix::try_from(name).ok()?;
        Some(match (name.abstract_name(), name.path_bytes()) {
            (Some(name), _) if !name.is_empty() => Self::Abstract(name.to_owned()),
            (_, Some(path)) => Self::Path(Path::new(OsStr::from_bytes(path)).to_owned()),
            (_, None) => Self::Unnamed,
        })
    }

    fn read(bytes: &[u8]) -> Option<Self> {
        let family = u16::from_ne_bytes(bytes.get(..2)?.try_into().ok()?);
        let rest = bytes.get(2..)?;
        let ip = |ip: IpAddr| {
            let port = u16::from_be_bytes(rest.get(..2)?.try_into().ok()?);
            Some(Self::Ip(SocketAddr::new(ip, port)))
        };
        match i32::from(family) {
            libc::AF_INET if bytes.len() >= size_of::<libc::sockaddr_in>() => {
                ip(<[u8; 4]>::try_from(rest.get(2..6)?).ok()?.into())
            }
            libc::AF_INET6 => {
                let Self::Ip(mut address) =
                    ip(<[u8; 16]>::try_from(rest.get(6..22)?).ok()?.into())?
                else {
                    return None;
                };
                // An address of 24 bytes has none (RFC 2133).
                if let (SocketAddr::V6(address), Some(scope)) = (&mut address, rest.get(22..26)) {
                    address.set_scope_id(u32::from_ne_bytes(scope.try_into().ok()?));
                }
                Some(Self::Ip(address))
            }
            libc::AF_UNIX => Some(match rest {
                [] => Self::Unnamed,
                [0, name @ ..] => Self::Abstract(name.to_owned()),
                path => {
                    let end = path.iter().position(|byte| *byte == 0).unwrap_or(path.len());
                    Self::Path(Path::new(OsStr::from_bytes(&path[..end])).to_owned())
                }
            }),
            _ => None,
        }
    }

    fn written(&self) -> Vec<u8> {
        let family = |family: i32| (family as u16).to_ne_bytes().to_vec();
        match self {
            Self::Ip(SocketAddr::V4(address)) => {
                let (port, ip) = (address.port().to_be_bytes(), address.ip().octets());
                [&family(libc::AF_INET)[..], &port, &ip, &[0; 8]].concat()
            }
            Self::Ip(SocketAddr::V6(address)) => {
                let (port, ip) = (address.port().to_be_bytes(), address.ip().octets());
                let scope = address.scope_id().to_ne_bytes();
                [&family(libc::AF_INET6)[..], &port, &[0; 4], &ip, &scope].concat()
            }
            Self::Path(path) => {
                [&family(libc::AF_UNIX)[..], path.as_os_str().as_bytes(), &[0]].concat()
            }
            Self::Abstract(name) => [&family(libc::AF_UNIX)[..], &[0], name].concat(),
            Self::Unnamed => family(libc::AF_UNIX),
        }
    }

    /// Tells it to a call: at this place as much as there is room for, and its length at the other.
    ///
    /// # Errors
    /// The program's memory cannot be written, or the room is less than nothing.
    fn tell(&self, call: &PendingCall, place: u64, len: u64) -> io::Result<()> {
        let bytes = self.written();
        let room = call.room(len)?.map_err(io::Error::from_raw_os_error)?;
        call.write(place, bytes.get(..room).unwrap_or(&bytes))?;
        call.write(len, &(bytes.len() as u32).to_ne_bytes())
    }

    /// The same as an answer to the call.
    pub(super) fn told(&self, call: &PendingCall, place: u64, len: u64) -> Result<i64, i32> {
        let told = self.tell(call, place, len);
        told.map(|()| 0).map_err(|error| error.raw_os_error().unwrap_or(libc::EFAULT))
    }

    /// Whether a socket of this family takes it as an address.
    pub(super) fn is_of(&self, family: AddressFamily) -> bool {
        match self {
            Self::Ip(SocketAddr::V4(_)) => family == AddressFamily::INET,
            Self::Ip(SocketAddr::V6(_)) => family == AddressFamily::INET6,
            Self::Path(_) | Self::Abstract(_) | Self::Unnamed => family == AddressFamily::UNIX,
        }
    }

    /// The same, where it names every address of this host: by which of them a listener was reached.
    pub(super) fn reached(&self) -> Self {
        match self {
            Self::Ip(address) if address.ip().to_canonical().is_unspecified() => {
                let ip: IpAddr = match address.ip() {
                    IpAddr::V4(_) => Ipv4Addr::LOCALHOST.into(),
                    IpAddr::V6(Ipv6Addr::UNSPECIFIED) => Ipv6Addr::LOCALHOST.into(),
                    IpAddr::V6(_) => Ipv4Addr::LOCALHOST.to_ipv6_mapped().into(),
                };
                Self::Ip(SocketAddr::new(ip, address.port()))
            }
            other => other.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_reads_back_the_same() {
        let of = |text: &str| Name::Ip(text.parse().expect("an address"));
        for name in [
            of("127.0.0.1:80"),
            of("[::1]:6379"),
            of("[fe80::1%2]:6379"),
            Name::Path("/run/x.sock".into()),
            Name::Abstract(b"a\0b".to_vec()),
            Name::Unnamed,
        ] {
            assert_eq!(Name::read(&name.written()), Some(name));
        }
        assert_eq!(Name::read(&[]), None);
        assert_eq!(Name::read(&[16, 0, 1, 2, 3, 4]), None);
        assert_eq!(Name::read(&[2, 0, 0, 80, 127]), None);
    }
}

//! The listeners that were exchanged. The socket that was there before keeps the name taken, in the program's own network
//! namespace, for as long as the listener is open.

use super::name::Name;
use super::options;
use super::place::ListenerPlace;
use super::rights::ProgramRights;
use crate::swap::calls::handed::PendingCall;
use rustix::event::epoll;
use rustix::fs::{Access, AtFlags, Mode, OFlags};
use rustix::io::Errno;
use rustix::net::sockopt;
use rustix::process::{Pid, PidfdFlags, PidfdGetfdFlags, pidfd_getfd, pidfd_open};
use std::collections::HashSet;
use std::fs;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::path::{Path, PathBuf};

/// A program's listener, exchanged.
#[derive(Debug)]
pub(super) struct Bound {
    /// What the program calls it.
    pub(super) name: Name,
    /// Of a path the file, which other names may lead to.
    pub(super) file: Option<FileIdentity>,
    /// The network namespace in which it has that name, as the kernel numbers it.
    pub(super) namespace: u64,
    /// Where it is.
    pub(super) place: ListenerPlace,
    /// Of the new socket.
    pub(super) cookie: u64,
    /// Of the socket before, which other descriptors may still lead to.
    pub(super) before: u64,
    /// Of the socket before (`IPPROTO_TCP`, `IPPROTO_MPTCP`).
    pub(super) protocol: u32,
    /// Where programs have it: a process and a descriptor of it.
    pub(super) owners: Vec<(u32, RawFd)>,
    /// The socket before. None once the listener was closed; what it had accepted may still be open.
    pub(super) holder: Option<OwnedFd>,
}

impl Bound {
    /// Whether a socket in this namespace that is bound to `name` would get some of its connections.
    pub(super) fn overlaps(&self, namespace: u64, name: &Name, is_v6_only: bool) -> bool {
        let Some(holder) = self.holder.as_ref().filter(|_| self.namespace == namespace) else {
            return false;
        };
        let (Name::Ip(own), Name::Ip(other)) = (&self.name, name) else {
            return self.name == *name;
        };
        if own.port() != other.port() {
            return false;
        }
        let own_only = sockopt::ipv6_v6only(holder).unwrap_or(false);
        let takes = |address: &SocketAddr, is_only: bool, ip: IpAddr| match address.ip() {
            IpAddr::V6(any) if any.is_unspecified() => ip.is_ipv6() || !is_only,
            IpAddr::V4(any) if any.is_unspecified() => ip.to_canonical().is_ipv4(),
            exact => exact.to_canonical() == ip.to_canonical(),
        };
        takes(own, own_only, other.ip()) || takes(other, is_v6_only, own.ip())
    }

    /// Whether a connection to this address of this namespace would arrive at it, and whether that is its very address: one that
    /// listens at every address gets only what no other one does. `is_own`: the address is one of the host.
    pub(super) fn answers(&self, namespace: u64, to: SocketAddr, is_own: bool) -> Option<bool> {
        let holder = self.holder.as_ref().filter(|_| self.namespace == namespace)?;
        let Name::Ip(own) = &self.name else { return None };
        let (own_ip, ip) = (own.ip(), to.ip().to_canonical());
        let arrives = match own_ip.to_canonical() {
            any if !any.is_unspecified() => any == ip,
            IpAddr::V4(_) => is_own && ip.is_ipv4(),
            IpAddr::V6(_) => {
                is_own && (ip.is_ipv6() || !sockopt::ipv6_v6only(holder).unwrap_or(false))
            }
        };
        let is_exact = !own_ip.to_canonical().is_unspecified();
        (arrives && own.port() == to.port()).then_some(is_exact)
    }

    /// Its socket, from a program that has it still.
    pub(super) fn shared(&self) -> Option<OwnedFd> {
        self.owners.iter().find_map(|(pid, number)| {
            let process =
                pidfd_open(Pid::from_raw(pid.cast_signed())?, PidfdFlags::empty()).ok()?;
            let socket = pidfd_getfd(process, *number, PidfdGetfdFlags::empty()).ok()?;
            (sockopt::socket_cookie(&socket) == Ok(self.cookie)).then_some(socket)
        })
    }
}

/// Which listeners are open in some program. An epoll forgets a file once its last descriptor is closed, and the kernel lists what
/// an epoll watches.
#[derive(Debug)]
pub(super) struct OpenListeners(OwnedFd);

impl OpenListeners {
    /// None yet.
    pub(super) fn new() -> Result<Self, Errno> {
        Ok(Self(epoll::create(epoll::CreateFlags::CLOEXEC)?))
    }

    /// A socket with this cookie, which ipcperf closes itself.
    pub(super) fn add(&self, socket: &OwnedFd, cookie: u64) -> Result<(), Errno> {
        epoll::add(&self.0, socket, epoll::EventData::new_u64(cookie), epoll::EventFlags::empty())
    }

    /// Cookies of those that are open.
    pub(super) fn cookies(&self) -> io::Result<HashSet<u64>> {
        let told = fs::read_to_string(format!("/proc/self/fdinfo/{}", self.0.as_raw_fd()))?;
        let cookie = |line: &str| {
            let data = line.split_once("data:")?.1.split_whitespace().next()?;
            u64::from_str_radix(data, 16).ok()
        };
        Ok(told.lines().filter_map(cookie).collect())
    }
}

/// Device and number of a file.
pub(super) type FileIdentity = (u64, u64);

fn identity(path: &Path) -> Result<FileIdentity, Errno> {
    let facts = rustix::fs::stat(path)?;
    Ok((facts.st_dev, facts.st_ino))
}

/// The folder of a path as the program reaches it, kept open, and the path of the file through that folder.
#[derive(Debug)]
pub(super) struct ReachedPath {
    _folder: OwnedFd,
    path: PathBuf,
}

impl ReachedPath {
    /// A path that the thread which calls is about to bind.
    pub(super) fn of(call: &PendingCall, path: &Path) -> Result<Self, Errno> {
        let file = path.file_name().ok_or(Errno::INVAL)?;
        let folder = path.parent().filter(|folder| *folder != Path::new(""));
        let folder = folder.unwrap_or(Path::new("."));
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let rights = ProgramRights::of(call).map_err(|_| Errno::SRCH)?;
        let folder = rights.act(|| rustix::fs::open(folder, flags, Mode::empty()))?;
        let path = Path::new("/proc/self/fd").join(folder.as_raw_fd().to_string()).join(file);
        Ok(Self { _folder: folder, path })
    }

    /// The file that is there.
    pub(super) fn identity(&self) -> Option<FileIdentity> {
        identity(&self.path).ok()
    }
}

/// The file that a path of the program leads to, if the program may connect to it.
pub(super) fn file_named(call: &PendingCall, name: &Name) -> Option<FileIdentity> {
    let Name::Path(path) = name else { return None };
    let rights = ProgramRights::of(call).ok()?;
    if rights.are_ours() {
        return ReachedPath::of(call, path).ok()?.identity();
    }
    let reached = rights.act(|| {
        rustix::fs::accessat(rustix::fs::CWD, path, Access::WRITE_OK, AtFlags::EACCESS)?;
        identity(path)
    });
    reached.ok()
}

/// `SO_NETNS_COOKIE` (`asm-generic/socket.h`), Linux 5.14.
const SO_NETNS_COOKIE: u32 = 71;

/// The network namespace of a socket, as the kernel numbers it; older kernels do not tell, and then all count as one.
pub(super) fn namespace(socket: &OwnedFd) -> u64 {
    let told = options::get(socket, options::SOCKET, SO_NETNS_COOKIE, size_of::<u64>());
    told.ok().and_then(|told| told.try_into().ok()).map_or(0, u64::from_ne_bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::net::{AddressFamily, SocketType};

    fn bound(at: &str, is_v6_only: bool) -> Bound {
        let at: SocketAddr = at.parse().expect("an address");
        let family = if at.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
        let holder = rustix::net::socket(family, SocketType::STREAM, None).expect("a socket");
        if at.is_ipv6() {
            sockopt::set_ipv6_v6only(&holder, is_v6_only).expect("a new socket");
        }
        Bound {
            name: Name::Ip(at),
            file: None,
            namespace: 7,
            place: ListenerPlace::Vm(1),
            cookie: 1,
            before: 2,
            protocol: 6,
            owners: Vec::new(),
            holder: Some(holder),
        }
    }

    #[test]
    fn a_listener_answers_at_every_address_that_it_has() {
        for (listens, is_v6_only, connects, is_own, answers) in [
            ("0.0.0.0:80", false, "127.0.0.1:80", true, Some(false)),
            ("0.0.0.0:80", false, "10.0.0.1:80", true, Some(false)),
            ("0.0.0.0:80", false, "10.0.0.1:80", false, None),
            ("0.0.0.0:80", false, "[::1]:80", true, None),
            ("[::]:80", false, "127.0.0.1:80", true, Some(false)),
            ("[::]:80", true, "127.0.0.1:80", true, None),
            ("[::]:80", true, "[::ffff:127.0.0.1]:80", true, None),
            ("[::]:80", true, "[::1]:80", true, Some(false)),
            ("127.0.0.1:80", false, "[::ffff:127.0.0.1]:80", true, Some(true)),
            ("127.0.0.1:80", false, "127.0.0.1:81", true, None),
            ("127.0.0.1:80", false, "127.0.0.2:80", true, None),
        ] {
            let to = connects.parse().expect("an address");
            let bound = bound(listens, is_v6_only);
            assert_eq!(bound.answers(7, to, is_own), answers, "{listens} {connects}");
            assert_eq!(bound.answers(8, to, is_own), None, "in another namespace");
        }
    }
}

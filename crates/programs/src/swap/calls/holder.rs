//! The names that programs bind: who has them, and sockets of ours that keep them taken.

use super::name::Name;
use super::place::{ListenerPlace, open_names};
use super::rights::ProgramRights;
use crate::swap::calls::handed::PendingCall;
use rustix::fs::{Access, AtFlags, Mode, OFlags};
use rustix::io::Errno;
use rustix::net::{self, AddressFamily, SocketAddrUnix, SocketFlags, SocketType, sockopt};
use rustix::process::{Pid, PidfdFlags, PidfdGetfdFlags, pidfd_getfd, pidfd_open};
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
    /// Where it is.
    pub(super) place: ListenerPlace,
    /// It was seen to listen.
    pub(super) listens: bool,
    /// Of the new socket.
    pub(super) cookie: Option<u64>,
    /// Of the socket before (`IPPROTO_TCP`, `IPPROTO_MPTCP`).
    pub(super) protocol: u32,
    /// Where programs have it: a process and a descriptor of it.
    pub(super) owners: Vec<(u32, RawFd)>,
    /// The name is taken as long as this lives; none once the listener was seen closed. What it had accepted may still be open.
    pub(super) holder: Option<OwnedFd>,
}

impl Bound {
    /// Whether a VM socket that was refused there will find room later: its kernel does not let connections wait for it.
    pub(super) fn is_full(&self, place: &ListenerPlace) -> bool {
        self.listens && self.place == *place && self.place.is_there()
    }

    /// Whether a socket that is bound to `name` would get some of its connections.
    pub(super) fn overlaps(&self, name: &Name, is_v6_only: bool) -> bool {
        let (Name::Ip(own), Name::Ip(other)) = (&self.name, name) else {
            return self.name == *name;
        };
        let holder = self.holder.as_ref();
        let own_only = holder.is_some_and(|own| sockopt::ipv6_v6only(own).unwrap_or(false));
        let takes = |address: &SocketAddr, is_only: bool, ip: IpAddr| match address.ip() {
            IpAddr::V6(any) if any.is_unspecified() => ip.is_ipv6() || !is_only,
            IpAddr::V4(any) if any.is_unspecified() => ip.to_canonical().is_ipv4(),
            exact => exact.to_canonical() == ip.to_canonical(),
        };
        holder.is_some()
            && own.port() == other.port()
            && (takes(own, own_only, other.ip()) || takes(other, is_v6_only, own.ip()))
    }

    /// Its socket, from a program that has it still.
    pub(super) fn shared(&self) -> Option<OwnedFd> {
        self.owners.iter().find_map(|(pid, number)| {
            let process =
                pidfd_open(Pid::from_raw(pid.cast_signed())?, PidfdFlags::empty()).ok()?;
            let socket = pidfd_getfd(process, *number, PidfdGetfdFlags::empty()).ok()?;
            (sockopt::socket_cookie(&socket).ok() == self.cookie).then_some(socket)
        })
    }

    /// Lets its name go if nothing is open there any more.
    pub(super) fn let_go(&mut self) {
        if self.holder.is_some() && !self.place.is_there() {
            self.holder = None;
            self.listens = false;
        }
    }
}

/// Lets all names go at which nothing is open any more.
pub(super) fn let_go(all: &mut [Bound]) {
    let names = open_names();
    for bound in all.iter_mut().filter(|bound| bound.holder.is_some()) {
        if bound.place.is_unix() && !names.contains(&bound.place.to_string()) {
            bound.holder = None;
            bound.listens = false;
        } else if !bound.place.is_unix() {
            bound.let_go();
        }
    }
}

/// A socket of ipcperf that keeps the name of a program's socket taken.
#[derive(Debug)]
pub(super) struct Held {
    pub(super) holder: OwnedFd,
    /// The name that it got.
    pub(super) name: Name,
    /// Of a path its file.
    pub(super) file: Option<FileIdentity>,
}

/// Device and number of a file.
pub(super) type FileIdentity = (u64, u64);

fn identity(path: &Path) -> Result<FileIdentity, Errno> {
    let facts = rustix::fs::stat(path)?;
    Ok((facts.st_dev, facts.st_ino))
}

/// Takes a name with the program's rights: another user's folder, a port below 1024 or a name that is taken are refused as the
/// program itself would be.
pub(super) fn held(rights: &ProgramRights, socket: &OwnedFd, name: &Name) -> Result<Held, Errno> {
    let open = |family| net::socket_with(family, SocketType::STREAM, SocketFlags::CLOEXEC, None);
    match name {
        Name::Ip(address) => {
            let is_v4 = address.is_ipv4();
            let holder = open(if is_v4 { AddressFamily::INET } else { AddressFamily::INET6 })?;
            sockopt::set_socket_reuseaddr(&holder, sockopt::socket_reuseaddr(socket)?)?;
            sockopt::set_socket_reuseport(&holder, sockopt::socket_reuseport(socket)?)?;
            if !is_v4 {
                sockopt::set_ipv6_v6only(&holder, sockopt::ipv6_v6only(socket)?)?;
            }
            rights.act(|| net::bind(&holder, address))?;
            let real: SocketAddr = net::getsockname(&holder)?.try_into()?;
            Ok(Held { holder, name: Name::Ip(real), file: None })
        }
        Name::Path(path) => {
            let holder = open(AddressFamily::UNIX)?;
            let file = rights.act(|| {
                net::bind(&holder, &SocketAddrUnix::new(path)?)?;
                identity(path)
            })?;
            Ok(Held { holder, name: name.clone(), file: Some(file) })
        }
        Name::Abstract(bytes) => {
            let holder = open(AddressFamily::UNIX)?;
            net::bind(&holder, &SocketAddrUnix::new_abstract_name(bytes)?)?;
            Ok(Held { holder, name: name.clone(), file: None })
        }
        Name::Unnamed => Err(Errno::INVAL),
    }
}

/// A path of the program as one of ours, through its folder, which is kept open.
fn reached(call: &PendingCall, path: &Path) -> Result<(OwnedFd, PathBuf), Errno> {
    let base = match path.is_absolute() {
        true => format!("/proc/{}/root", call.thread),
        false => format!("/proc/{}/cwd", call.thread),
    };
    let file = path.file_name().ok_or(Errno::INVAL)?;
    let folder = path.parent().unwrap_or(Path::new(""));
    let folder = Path::new(&base).join(folder.strip_prefix("/").unwrap_or(folder));
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let folder = rustix::fs::open(&folder, flags, Mode::empty())?;
    let path = Path::new("/proc/self/fd").join(folder.as_raw_fd().to_string()).join(file);
    Ok((folder, path))
}

/// The file that a path of the program leads to, if the program may connect to it.
pub(super) fn file_named(call: &PendingCall, name: &Name) -> Option<FileIdentity> {
    let Name::Path(path) = name else { return None };
    let rights = ProgramRights::of(call).ok()?;
    if rights.are_ours() {
        let (_folder, path) = reached(call, path).ok()?;
        return identity(&path).ok();
    }
    let reached = rights.act(|| {
        rustix::fs::accessat(rustix::fs::CWD, path, Access::WRITE_OK, AtFlags::EACCESS)?;
        identity(path)
    });
    reached.ok()
}

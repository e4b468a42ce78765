//! TCP sockets of a program exchanged for UNIX sockets while it binds and connects them. What it sends and receives afterwards
//! goes over the other socket by its own calls.
//!
//! A port that is bound stays taken: a TCP socket of ours has it, so that addresses are refused as ever and a port of 0 is a
//! real one.
//!
//! # Safety
//! Calls that `rustix` does not have get numbers and structures that live through them.

use crate::handed::Call;
use rustix::io::Errno;
use rustix::net::{
    self, AddressFamily, SocketAddrAny, SocketAddrUnix, SocketFlags, SocketType, ipproto, sockopt,
};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The calls that a program hands over; the last two only where the addresses of peers are asked for.
const CALLS: [(&str, i64); 7] = [
    ("bind", libc::SYS_bind),
    ("connect", libc::SYS_connect),
    ("setsockopt", libc::SYS_setsockopt),
    ("getsockname", libc::SYS_getsockname),
    ("getpeername", libc::SYS_getpeername),
    ("accept", libc::SYS_accept),
    ("accept4", libc::SYS_accept4),
];

/// Levels of `setsockopt(2)` that a UNIX socket does not have.
const LEVELS_OF_IP: [u64; 3] =
    [libc::IPPROTO_TCP as u64, libc::IPPROTO_IP as u64, libc::IPPROTO_IPV6 as u64];

/// As short as a limit of time can be (`SO_RCVTIMEO`).
const AT_ONCE: Duration = Duration::from_micros(1);

/// Bytes of the longest address (`struct sockaddr_storage`).
const LONGEST: usize = 128;

/// The first of the ports that clients seem to have: what `getpeername(2)` says of a UNIX socket.
const FIRST_PORT: u16 = 32_768;

/// What is exchanged.
#[derive(Clone, Debug)]
pub struct Wanted {
    /// `true`: messages with boundaries (`SOCK_SEQPACKET`).
    pub in_packets: bool,
    /// This port alone; all, if there is none.
    pub port: Option<u16>,
    /// What `accept(2)` tells of a peer is an address of IP, as before: each is accepted here, which takes longer.
    pub fakes_peers: bool,
    /// Where the sockets get their names.
    pub folder: PathBuf,
}

/// A program's listener, exchanged.
#[derive(Debug)]
struct Bound {
    address: SocketAddr,
    path: PathBuf,
    /// The port is taken as long as this lives.
    _holder: OwnedFd,
}

/// What has been exchanged, and what could not be.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Exchanged {
    /// Addresses that were bound, with the path that each has now.
    pub bound: Vec<(SocketAddr, PathBuf)>,
    /// Connections that go another way now.
    pub connected: u64,
    /// Options of TCP and IP that a UNIX socket does not have: how often each was set and did nothing.
    pub options: BTreeMap<String, u64>,
    /// Why what was asked for kept its TCP socket.
    pub left: BTreeMap<String, u64>,
    /// Calls that were handed over.
    pub handed: u64,
}

/// What answers the calls of a program.
#[derive(Debug)]
pub struct Exchange {
    wanted: Wanted,
    bound: Vec<Bound>,
    waiting: Vec<Waiting>,
    clients: u32,
    /// So far.
    pub exchanged: Exchanged,
}

/// A call whose answer takes a while.
#[derive(Debug)]
enum Waiting {
    /// There is no room in the backlog of a path.
    Connects { call: Call, socket: OwnedFd, path: PathBuf },
    /// Nobody has connected.
    Accepts { call: Call, listener: OwnedFd },
}

/// What became of a call.
enum Answer {
    GoOn,
    Value(Result<i64, i32>),
    Later,
}

impl Exchange {
    /// Nothing is exchanged yet.
    #[must_use]
    pub fn new(wanted: Wanted) -> Self {
        Self {
            wanted,
            bound: Vec::new(),
            waiting: Vec::new(),
            clients: 0,
            exchanged: Exchanged::default(),
        }
    }

    /// Which calls a program has to hand over.
    #[must_use]
    pub fn calls(&self) -> Vec<i64> {
        let count = if self.wanted.fakes_peers { CALLS.len() } else { CALLS.len() - 2 };
        CALLS.iter().take(count).map(|(_, number)| *number).collect()
    }

    /// Whether something waits that nobody announces: [`Self::retry`] is due within a few ms.
    #[must_use]
    pub fn is_waiting(&self) -> bool {
        self.waiting.iter().any(|waiting| matches!(waiting, Waiting::Connects { .. }))
    }

    /// Descriptors that are readable when [`Self::retry`] is due.
    pub fn awaited(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        self.waiting.iter().filter_map(|waiting| match waiting {
            Waiting::Accepts { listener, .. } => Some(listener.as_fd()),
            Waiting::Connects { .. } => None,
        })
    }

    /// Answers a call.
    ///
    /// # Errors
    /// The listener's. What the program has asked for and cannot have is its own error.
    pub fn answer(&mut self, call: Call) -> io::Result<()> {
        self.exchanged.handed += 1;
        let answer = match call.number {
            libc::SYS_bind => self.bind(&call),
            libc::SYS_connect => self.connect(&call),
            libc::SYS_setsockopt => Ok(self.set_option(&call)),
            libc::SYS_getsockname => self.own_name(&call),
            libc::SYS_getpeername => self.name_of_peer(&call),
            libc::SYS_accept | libc::SYS_accept4 => self.accept(&call),
            _ => Ok(Answer::GoOn),
        };
        self.finish(&call, answer)
    }

    /// Tries again what waits for room.
    ///
    /// # Errors
    /// The listener's.
    pub fn retry(&mut self) -> io::Result<()> {
        for waiting in std::mem::take(&mut self.waiting) {
            let (Waiting::Connects { call, .. } | Waiting::Accepts { call, .. }) = &waiting;
            if !call.waits() {
                continue;
            }
            let call = call.clone();
            let answer = match waiting {
                Waiting::Connects { socket, path, .. } => self.reach(&call, socket, &path),
                Waiting::Accepts { listener, .. } => self.take(&call, listener),
            };
            self.finish(&call, answer)?;
        }
        Ok(())
    }

    fn finish(&mut self, call: &Call, answer: io::Result<Answer>) -> io::Result<()> {
        match answer {
            Ok(Answer::GoOn) => call.go_on(),
            Ok(Answer::Value(value)) => call.answer(value),
            Ok(Answer::Later) => Ok(()),
            Err(error) => {
                // What is wrong with the call itself, the kernel says.
                let is_its_own = [
                    libc::EBADF,
                    libc::ENOTSOCK,
                    libc::ENOTCONN,
                    libc::EFAULT,
                    libc::ENOENT,
                    libc::ESRCH,
                ];
                if !error.raw_os_error().is_some_and(|code| is_its_own.contains(&code)) {
                    let known = CALLS.iter().find(|(_, number)| *number == call.number);
                    let name = known.map_or("", |(name, _)| name);
                    self.left(format!("{name}: {error}"));
                }
                call.go_on()
            }
        }
    }

    fn is_wanted(&self, address: SocketAddr) -> bool {
        self.wanted.port.is_none_or(|port| port == address.port())
    }

    fn left(&mut self, why: impl Into<String>) -> Answer {
        *self.exchanged.left.entry(why.into()).or_default() += 1;
        Answer::GoOn
    }

    fn bind(&mut self, call: &Call) -> io::Result<Answer> {
        let Some(address) = address_of(call)? else { return Ok(Answer::GoOn) };
        if !self.is_wanted(address) {
            return Ok(Answer::GoOn);
        }
        let socket = call.descriptor(call.fd())?;
        if !is_tcp(&socket) {
            return Ok(Answer::GoOn);
        }
        let state = State::of(call)?;
        // One that was closed is free again.
        self.bound.retain(|bound| bound.address.port() != address.port() || is_there(&bound.path));
        let holder = match held(&socket, address) {
            Ok(holder) => holder,
            Err(errno) => return Ok(Answer::Value(Err(errno.raw_os_error()))),
        };
        let real: SocketAddr = net::getsockname(&holder)?.try_into()?;
        if self.bound.iter().any(|bound| bound.address == real) {
            return Ok(self.left(format!(
                "{real}: several listeners share the port (SO_REUSEPORT), and a path has one"
            )));
        }
        let path = self.wanted.folder.join(format!("{}.sock", file_name(real)));
        let made = self.unix_socket(&state)?;
        let _ = fs::remove_file(&path);
        net::bind(&made, &SocketAddrUnix::new(&path)?)?;
        if self.wanted.fakes_peers {
            sockopt::set_socket_timeout(&made, sockopt::Timeout::Recv, Some(AT_ONCE))?;
        }
        exchange(call, &state, made)?;
        self.exchanged.bound.push((real, path.clone()));
        self.bound.push(Bound { address: real, path, _holder: holder });
        Ok(Answer::Value(Ok(0)))
    }

    fn connect(&mut self, call: &Call) -> io::Result<Answer> {
        let Some(address) = address_of(call)? else { return Ok(Answer::GoOn) };
        let Some(path) = self.path_of(address) else { return Ok(Answer::GoOn) };
        let socket = call.descriptor(call.fd())?;
        // One that was bound to a port of its own before is exchanged already.
        if !is_tcp(&socket) && self.listens_at(&net::getsockname(&socket)?).is_none() {
            return Ok(Answer::GoOn);
        }
        let made = self.unix_socket(&State::of(call)?)?;
        self.clients += 1;
        let own = self.wanted.folder.join(format!("c{}", self.clients));
        net::bind(&made, &SocketAddrUnix::new(&own)?)?;
        // The kernel keeps the name that it tells, and nobody has to find the file.
        fs::remove_file(&own)?;
        self.reach(call, made, &path)
    }

    /// Connects a socket and exchanges it, now or as soon as there is room.
    fn reach(&mut self, call: &Call, socket: OwnedFd, path: &Path) -> io::Result<Answer> {
        match without_waiting(&socket, &SocketAddrUnix::new(path)?) {
            Ok(()) => {
                exchange(call, &State::of(call)?, socket)?;
                self.exchanged.connected += 1;
                Ok(Answer::Value(Ok(0)))
            }
            Err(Errno::AGAIN) => {
                let (call, path) = (call.clone(), path.to_owned());
                self.waiting.push(Waiting::Connects { call, socket, path });
                Ok(Answer::Later)
            }
            Err(errno) => Ok(Answer::Value(Err(errno.raw_os_error()))),
        }
    }

    fn accept(&mut self, call: &Call) -> io::Result<Answer> {
        let listener = call.descriptor(call.fd())?;
        match self.is_ours(&listener) {
            true => self.take(call, listener),
            false => Ok(Answer::GoOn),
        }
    }

    /// Accepts in the program's place, now or as soon as somebody connects.
    fn take(&mut self, call: &Call, listener: OwnedFd) -> io::Result<Answer> {
        let [_, place, len, flags, ..] = call.args;
        let flags = if call.number == libc::SYS_accept4 { flags as i32 } else { 0 };
        let blocks = match flags & libc::SOCK_NONBLOCK {
            0 => SocketFlags::empty(),
            _ => SocketFlags::NONBLOCK,
        };
        // The listener has a limit of time, so that this does not wait where another process was first.
        match net::acceptfrom_with(&listener, SocketFlags::CLOEXEC | blocks) {
            Ok((socket, peer)) => {
                let number = call.add(socket.as_fd(), flags & libc::SOCK_CLOEXEC != 0)?;
                let bound = self.listens_at(&net::getsockname(&listener)?);
                let port = peer.and_then(|peer| self.client(&peer)).unwrap_or(FIRST_PORT);
                if let Some(bound) = bound.filter(|_| place != 0 && len != 0) {
                    tell(call, SocketAddr::new(local(bound.address.ip()), port))?;
                }
                Ok(Answer::Value(Ok(i64::from(number))))
            }
            Err(Errno::AGAIN) if !State::of(call)?.is_nonblocking => {
                self.waiting.push(Waiting::Accepts { call: call.clone(), listener });
                Ok(Answer::Later)
            }
            Err(errno) => Ok(Answer::Value(Err(errno.raw_os_error()))),
        }
    }

    fn set_option(&mut self, call: &Call) -> Answer {
        let [_, level, option, ..] = call.args;
        if !LEVELS_OF_IP.contains(&level) {
            return Answer::GoOn;
        }
        match call.descriptor(call.fd()).is_ok_and(|socket| self.is_ours(&socket)) {
            true => {
                *self.exchanged.options.entry(option_name(level, option)).or_default() += 1;
                Answer::Value(Ok(0))
            }
            false => Answer::GoOn,
        }
    }

    fn own_name(&self, call: &Call) -> io::Result<Answer> {
        let socket = call.descriptor(call.fd())?;
        let name = net::getsockname(&socket)?;
        let address = match (self.listens_at(&name), self.client(&name)) {
            (Some(bound), _) => match net::getpeername(&socket).ok().flatten() {
                // What a listener of all addresses has accepted came by one of them.
                Some(_) => SocketAddr::new(local(bound.address.ip()), bound.address.port()),
                None => bound.address,
            },
            (None, Some(port)) => match self.peer(&socket) {
                Some(peer) => SocketAddr::new(local(peer.ip()), port),
                None => return Ok(Answer::GoOn),
            },
            (None, None) => return Ok(Answer::GoOn),
        };
        tell(call, address)
    }

    fn name_of_peer(&self, call: &Call) -> io::Result<Answer> {
        let socket = call.descriptor(call.fd())?;
        let own = net::getsockname(&socket)?;
        let address = match self.listens_at(&own) {
            Some(bound) => {
                let Some(peer) = net::getpeername(&socket)? else { return Ok(Answer::GoOn) };
                // A client that connects by the path itself has no name.
                let port = self.client(&peer).unwrap_or(FIRST_PORT);
                SocketAddr::new(local(bound.address.ip()), port)
            }
            None => match self.client(&own).and_then(|_| self.peer(&socket)) {
                Some(address) => address,
                None => return Ok(Answer::GoOn),
            },
        };
        tell(call, address)
    }

    /// The address that the peer of a client of ours has bound.
    fn peer(&self, client: &OwnedFd) -> Option<SocketAddr> {
        let bound = self.listens_at(&net::getpeername(client).ok().flatten()?)?;
        Some(SocketAddr::new(local(bound.address.ip()), bound.address.port()))
    }

    fn is_ours(&self, socket: &OwnedFd) -> bool {
        net::getsockname(socket)
            .is_ok_and(|name| self.listens_at(&name).is_some() || self.client(&name).is_some())
    }

    fn listens_at(&self, name: &SocketAddrAny) -> Option<&Bound> {
        let path = path(name)?;
        self.bound.iter().find(|bound| bound.path == path)
    }

    /// The port that a client of ours seems to have.
    fn client(&self, name: &SocketAddrAny) -> Option<u16> {
        let path = path(name)?;
        let number = path.strip_prefix(&self.wanted.folder).ok()?.to_str()?.strip_prefix('c')?;
        let number: u32 = number.parse().ok()?;
        // They begin again where there are no more, as those of the kernel do.
        let many = u32::from(u16::MAX - FIRST_PORT);
        u16::try_from(u32::from(FIRST_PORT) + number % many).ok()
    }

    /// The path that stands for an address now.
    fn path_of(&self, address: SocketAddr) -> Option<PathBuf> {
        let to = |bound: &&Bound| {
            let (ip, of) = (bound.address.ip(), address.ip().to_canonical());
            bound.address.port() == address.port()
                && (ip.to_canonical() == of
                    || (ip.is_unspecified() && (of.is_loopback() || of.is_unspecified())))
        };
        self.bound.iter().find(to).map(|bound| bound.path.clone())
    }

    fn unix_socket(&self, state: &State) -> io::Result<OwnedFd> {
        let kind = match self.wanted.in_packets {
            true => SocketType::SEQPACKET,
            false => SocketType::STREAM,
        };
        let blocks = match state.is_nonblocking {
            true => SocketFlags::NONBLOCK,
            false => SocketFlags::empty(),
        };
        Ok(net::socket_with(AddressFamily::UNIX, kind, SocketFlags::CLOEXEC | blocks, None)?)
    }
}

/// Puts a socket in the place of the one that a call is about, where it is watched as that was.
fn exchange(call: &Call, state: &State, socket: OwnedFd) -> io::Result<()> {
    for watch in &state.watches {
        watch.add(call, &socket)?;
    }
    call.install(socket.as_fd(), call.fd(), state.closes_on_exec)
}

/// How a program holds a descriptor.
struct State {
    closes_on_exec: bool,
    is_nonblocking: bool,
    watches: Vec<Watch>,
}

/// An epoll that watches a descriptor.
struct Watch {
    epoll: RawFd,
    events: u32,
    data: u64,
}

impl State {
    fn of(call: &Call) -> io::Result<Self> {
        let folder = format!("/proc/{}/fdinfo", call.pid);
        let told = fs::read_to_string(format!("{folder}/{}", call.fd()))?;
        let flags = told.lines().find_map(|line| line.strip_prefix("flags:"));
        let flags = flags.and_then(|octal| i32::from_str_radix(octal.trim(), 8).ok());
        let flags = flags.ok_or(io::ErrorKind::InvalidData)?;
        let all = fs::read_dir(folder)?.flatten().map(|entry| entry.path());
        Ok(Self {
            closes_on_exec: flags & libc::O_CLOEXEC != 0,
            is_nonblocking: flags & libc::O_NONBLOCK != 0,
            watches: all.filter_map(|path| Watch::of(call.fd(), &path)).collect(),
        })
    }
}

impl Watch {
    /// Reads `tfd: 5 events: 19 data: 5 ...` in what is told of an epoll (`proc_pid_fdinfo(5)`); the numbers after the first
    /// are hexadecimal.
    fn of(watched: RawFd, told: &Path) -> Option<Self> {
        let text = fs::read_to_string(told).ok()?;
        let epoll = told.file_name()?.to_str()?.parse().ok()?;
        text.lines().filter(|line| line.starts_with("tfd:")).find_map(|line| {
            let words: Vec<&str> = line.split_whitespace().collect();
            let ["tfd:", fd, "events:", events, "data:", data, ..] = words[..] else { return None };
            (fd.parse() == Ok(watched)).then_some(())?;
            let events = u32::from_str_radix(events, 16).ok()?;
            Some(Self { epoll, events, data: u64::from_str_radix(data, 16).ok()? })
        })
    }

    /// Adds a socket that takes the place of the watched one. An epoll knows a file by its number in the process that added
    /// it: this is done under the program's number, in a thread with descriptors of its own.
    fn add(&self, call: &Call, socket: &OwnedFd) -> io::Result<()> {
        let number = call.fd();
        let epoll = call.descriptor(self.epoll)?;
        // Out of the way of the number.
        let epoll = rustix::io::fcntl_dupfd_cloexec(epoll, number + 1)?;
        let added = || {
            // SAFETY: from here on this thread has a table of descriptors of its own, which ends with it: none that others
            // use is closed. `event` lives through the call.
            unsafe {
                if libc::unshare(libc::CLONE_FILES) != 0
                    || libc::dup3(socket.as_raw_fd(), number, libc::O_CLOEXEC) < 0
                {
                    return Err(io::Error::last_os_error());
                }
                let mut event = libc::epoll_event { events: self.events, u64: self.data };
                match libc::epoll_ctl(
                    epoll.as_raw_fd(),
                    libc::EPOLL_CTL_ADD,
                    number,
                    &raw mut event,
                ) {
                    0 => Ok(()),
                    _ => Err(io::Error::last_os_error()),
                }
            }
        };
        std::thread::scope(|scope| scope.spawn(added).join())
            .unwrap_or_else(|_| Err(io::ErrorKind::Other.into()))
    }
}

/// The address that `bind` and `connect` are given, where it is one of IP.
fn address_of(call: &Call) -> io::Result<Option<SocketAddr>> {
    let [_, address, len, ..] = call.args;
    let bytes = call.read(address, (len as usize).min(LONGEST))?;
    Ok(parsed(&bytes))
}

/// `struct sockaddr_in` and `struct sockaddr_in6` (`ip(7)`, `ipv6(7)`).
fn parsed(bytes: &[u8]) -> Option<SocketAddr> {
    let family = u16::from_ne_bytes(bytes.get(..2)?.try_into().ok()?);
    let port = u16::from_be_bytes(bytes.get(2..4)?.try_into().ok()?);
    let ip = match i32::from(family) {
        libc::AF_INET => {
            let bytes: [u8; 4] = bytes.get(4..8)?.try_into().ok()?;
            IpAddr::from(bytes)
        }
        libc::AF_INET6 => {
            let bytes: [u8; 16] = bytes.get(8..24)?.try_into().ok()?;
            IpAddr::from(bytes)
        }
        _ => return None,
    };
    Some(SocketAddr::new(ip, port))
}

fn written(address: SocketAddr) -> Vec<u8> {
    let family = if address.is_ipv4() { libc::AF_INET } else { libc::AF_INET6 };
    let mut bytes = (family as u16).to_ne_bytes().to_vec();
    bytes.extend(address.port().to_be_bytes());
    match address.ip() {
        IpAddr::V4(ip) => {
            bytes.extend(ip.octets());
            bytes.extend([0; 8]);
        }
        IpAddr::V6(ip) => {
            bytes.extend([0; 4]);
            bytes.extend(ip.octets());
            bytes.extend([0; 4]);
        }
    }
    bytes
}

/// Answers `getsockname` and `getpeername`: as much as there is room for, and how long it is.
fn tell(call: &Call, address: SocketAddr) -> io::Result<Answer> {
    let [_, place, len, ..] = call.args;
    let bytes = written(address);
    let room: [u8; 4] = call.read(len, 4)?.try_into().map_err(|_| io::ErrorKind::InvalidData)?;
    let room = u32::from_ne_bytes(room) as usize;
    call.write(place, bytes.get(..room).unwrap_or(&bytes))?;
    call.write(len, &(bytes.len() as u32).to_ne_bytes())?;
    Ok(Answer::Value(Ok(0)))
}

/// A socket of ours that takes a program's address, as that would.
fn held(socket: &OwnedFd, address: SocketAddr) -> Result<OwnedFd, Errno> {
    let family = if address.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
    let holder = net::socket_with(family, SocketType::STREAM, SocketFlags::CLOEXEC, None)?;
    sockopt::set_socket_reuseaddr(&holder, sockopt::socket_reuseaddr(socket)?)?;
    if address.is_ipv6() {
        sockopt::set_ipv6_v6only(&holder, sockopt::ipv6_v6only(socket)?)?;
    }
    net::bind(&holder, &address)?;
    Ok(holder)
}

fn is_tcp(socket: &OwnedFd) -> bool {
    let domain = sockopt::socket_domain(socket);
    matches!(domain, Ok(AddressFamily::INET | AddressFamily::INET6))
        && sockopt::socket_type(socket) == Ok(SocketType::STREAM)
        && matches!(sockopt::socket_protocol(socket), Ok(Some(protocol)) if protocol == ipproto::TCP)
}

/// Where a blocking socket would wait for room, it says so: `connect(2)` waits as long as a send may.
fn without_waiting(socket: &OwnedFd, name: &SocketAddrUnix) -> Result<(), Errno> {
    let flags = rustix::fs::fcntl_getfl(socket)?;
    rustix::fs::fcntl_setfl(socket, flags | rustix::fs::OFlags::NONBLOCK)?;
    let connected = net::connect(socket, name);
    rustix::fs::fcntl_setfl(socket, flags)?;
    connected
}

fn path(name: &SocketAddrAny) -> Option<PathBuf> {
    let name = SocketAddrUnix::try_from(name.clone()).ok()?;
    let bytes = name.path_bytes()?;
    Some(PathBuf::from(OsStr::from_bytes(bytes)))
}

/// By which address of this host a listener was reached.
fn local(ip: IpAddr) -> IpAddr {
    match ip {
        IpAddr::V4(ip) if ip.is_unspecified() => Ipv4Addr::LOCALHOST.into(),
        IpAddr::V6(ip) if ip.is_unspecified() => Ipv6Addr::LOCALHOST.into(),
        other => other,
    }
}

/// `6379.sock`; with the address where it is not every one or the usual one.
fn file_name(address: SocketAddr) -> String {
    let (ip, port) = (address.ip(), address.port());
    match ip {
        IpAddr::V4(ip) if ip == Ipv4Addr::LOCALHOST => port.to_string(),
        ip => format!("{ip}-{port}"),
    }
}

/// By its name in the headers, where it is one that servers set.
fn option_name(level: u64, option: u64) -> String {
    let known = match (level as i32, option as i32) {
        (libc::IPPROTO_TCP, libc::TCP_NODELAY) => "TCP_NODELAY",
        (libc::IPPROTO_TCP, libc::TCP_CORK) => "TCP_CORK",
        (libc::IPPROTO_TCP, libc::TCP_QUICKACK) => "TCP_QUICKACK",
        (libc::IPPROTO_TCP, libc::TCP_KEEPIDLE) => "TCP_KEEPIDLE",
        (libc::IPPROTO_TCP, libc::TCP_KEEPINTVL) => "TCP_KEEPINTVL",
        (libc::IPPROTO_TCP, libc::TCP_KEEPCNT) => "TCP_KEEPCNT",
        (libc::IPPROTO_TCP, libc::TCP_USER_TIMEOUT) => "TCP_USER_TIMEOUT",
        (libc::IPPROTO_TCP, libc::TCP_DEFER_ACCEPT) => "TCP_DEFER_ACCEPT",
        (libc::IPPROTO_TCP, libc::TCP_FASTOPEN) => "TCP_FASTOPEN",
        (libc::IPPROTO_IPV6, libc::IPV6_V6ONLY) => "IPV6_V6ONLY",
        _ => return format!("option {option} of level {level}"),
    };
    known.to_owned()
}

/// Whether somebody listens at a path.
#[must_use]
pub fn is_listening(path: &Path) -> bool {
    sockets_at(path, |flags, _| flags == ACCEPTS)
}

/// Whether a socket that is bound to a path is still open, listening or not.
fn is_there(path: &Path) -> bool {
    // One that was accepted has the name of its listener.
    sockets_at(path, |_, state| state != CONNECTED)
}

/// Whether one of the UNIX sockets with this path has such flags and such a state.
fn sockets_at(path: &Path, is_such: impl Fn(&str, &str) -> bool) -> bool {
    let all = fs::read_to_string("/proc/net/unix").unwrap_or_default();
    let name = path.to_string_lossy();
    // Num RefCount Protocol Flags Type St Inode Path
    all.lines().any(|line| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let [_, _, _, flags, _, state, _, path] = words[..] else { return false };
        path == name && is_such(flags, state)
    })
}

/// `__SO_ACCEPTCON` and `SS_CONNECTED` (`linux/net.h`), as `/proc/net/unix` writes them.
const ACCEPTS: &str = "00010000";
const CONNECTED: &str = "03";

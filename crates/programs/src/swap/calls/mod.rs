//! Sockets of a program exchanged for those of another kind while it binds and connects them. What it sends and receives
//! afterwards goes over the other socket by its own calls.
//!
//! A name that is bound stays taken: a socket of ours has it, so that addresses are refused as ever, a port of 0 is a real one,
//! and a path can be found.

mod held;
mod name;
mod place;
mod wanted;

use held::{Epolls, exchange, is_nonblocking};
use ipcperf_sys::handed::PendingCall;
use ipcperf_sys::io::socket::vsock;
use name::Name;
use place::ListenerPlace;
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use rustix::net::{
    self, AddressFamily, SocketAddrAny, SocketAddrUnix, SocketFlags, SocketType, ipproto, sockopt,
};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::io;
use std::net::SocketAddr;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::Duration;
pub(crate) use wanted::{Knobs, To, Wanted};

/// The calls that a program hands over; the last three only where they have to be answered.
const CALLS: &[(&str, i64)] = &[
    ("bind", libc::SYS_bind),
    ("connect", libc::SYS_connect),
    ("setsockopt", libc::SYS_setsockopt),
    ("getsockname", libc::SYS_getsockname),
    ("getpeername", libc::SYS_getpeername),
    #[cfg(target_arch = "x86_64")]
    ("epoll_create", libc::SYS_epoll_create),
    ("epoll_create1", libc::SYS_epoll_create1),
    ("accept", libc::SYS_accept),
    ("accept4", libc::SYS_accept4),
    ("listen", libc::SYS_listen),
];

/// Levels of `setsockopt(2)` that a UNIX socket does not have.
const LEVELS_OF_IP: [u64; 3] =
    [libc::IPPROTO_TCP as u64, libc::IPPROTO_IP as u64, libc::IPPROTO_IPV6 as u64];

/// Options of `SOL_SOCKET` that only a UNIX socket has (`unix(7)`).
const SOCKET: u64 = libc::SOL_SOCKET as u64;
const OF_UNIX: [u64; 2] = [libc::SO_PASSCRED as u64, libc::SO_PASSSEC as u64];

/// As short as a limit of time can be (`SO_RCVTIMEO`).
const AT_ONCE: Duration = Duration::from_micros(1);

/// The first of the ports that clients seem to have: what `getpeername(2)` says of a UNIX socket.
const FIRST_PORT: u16 = 32_768;

/// A program's listener, exchanged.
#[derive(Debug)]
struct Bound {
    /// What the program calls it.
    name: Name,
    /// Of a path the file, which other names may lead to.
    file: Option<(u64, u64)>,
    /// Where it is.
    place: ListenerPlace,
    /// It was seen to listen: known of those whose `listen(2)` is handed over.
    listens: bool,
    /// The name is taken as long as this lives.
    _holder: OwnedFd,
}

impl Bound {
    /// Whether a VM socket that was refused there will find room later: its kernel does not let connections wait for it.
    fn is_full(&self, place: &ListenerPlace) -> bool {
        self.listens && self.place == *place && self.place.is_there()
    }
}

/// What a socket is that was exchanged.
enum Role<'a> {
    Listens(&'a Bound),
    /// It came from a client with this port, or from one without a name.
    Accepted(&'a Bound, Option<u16>),
    /// It is a client with this port.
    Connected(&'a Bound, u16),
}

/// What has been exchanged, and what could not be.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Exchanged {
    /// Addresses that were bound, with the one that each has now.
    pub(crate) bound: Vec<(String, String)>,
    /// Connections that go another way now.
    pub(crate) connected: u64,
    /// Options that the other kind of socket does not have: how often each was set and did nothing.
    pub(crate) options: BTreeMap<String, u64>,
    /// Why what was asked for kept its socket.
    pub(crate) left: BTreeMap<String, u64>,
    /// Calls that were handed over.
    pub(crate) handed: u64,
}

/// What answers the calls of a program.
#[derive(Debug)]
pub(crate) struct Exchange {
    wanted: Wanted,
    bound: Vec<Bound>,
    waiting: Vec<DelayedAnswer>,
    clients: u32,
    epolls: Epolls,
    /// Sockets that would have been exchanged when they were bound, until one of them listens.
    unchanged: Vec<OwnedFd>,
    /// So far.
    pub(crate) exchanged: Exchanged,
}

/// A call whose answer takes a while.
#[derive(Debug)]
enum DelayedAnswer {
    /// There is no room in the backlog.
    Connects { call: PendingCall, socket: OwnedFd, place: ListenerPlace },
    /// Nobody has connected.
    Accepts { call: PendingCall, listener: OwnedFd },
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
    pub(crate) fn new(wanted: Wanted) -> Self {
        Self {
            wanted,
            bound: Vec::new(),
            waiting: Vec::new(),
            clients: 0,
            epolls: Epolls::default(),
            unchanged: Vec::new(),
            exchanged: Exchanged::default(),
        }
    }

    /// Which calls a program has to hand over.
    #[must_use]
    pub(crate) fn calls(&self) -> Vec<i64> {
        let is_answered = |number: &i64| match *number {
            libc::SYS_accept | libc::SYS_accept4 => self.accepts(),
            libc::SYS_listen => self.listens(),
            _ => true,
        };
        CALLS.iter().map(|(_, number)| *number).filter(is_answered).collect()
    }

    /// Whether connections are accepted here: for the addresses, and for buffers, which one of UNIX does not take over from its
    /// listener.
    fn accepts(&self) -> bool {
        let Wanted { knobs, to, .. } = &self.wanted;
        let is_unix = matches!(to, To::UnixStream | To::UnixSeqpacket);
        self.wanted.fakes_peers || (is_unix && knobs.buffers.iter().any(Option::is_some))
    }

    /// Whether sockets are made to listen here: for the backlog, and because nothing else tells that a VM socket listens.
    fn listens(&self) -> bool {
        self.wanted.knobs.backlog.is_some() || self.wanted.to == To::Vsock
    }

    /// Whether something waits that nobody announces: [`Self::retry`] is due within a few ms.
    #[must_use]
    pub(crate) fn is_waiting(&self) -> bool {
        self.waiting.iter().any(|waiting| matches!(waiting, DelayedAnswer::Connects { .. }))
    }

    /// Descriptors that are readable when [`Self::retry`] is due.
    pub(crate) fn awaited(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        self.waiting.iter().filter_map(|waiting| match waiting {
            DelayedAnswer::Accepts { listener, .. } => Some(listener.as_fd()),
            DelayedAnswer::Connects { .. } => None,
        })
    }

    /// Answers a call.
    ///
    /// # Errors
    /// The listener's. What the program has asked for and cannot have is its own error.
    pub(crate) fn answer(&mut self, call: PendingCall) -> io::Result<()> {
        self.exchanged.handed += 1;
        let answer = match call.number {
            _ if self.wanted.is_as_it_is => self.watch(&call),
            libc::SYS_bind => self.bind(&call),
            libc::SYS_connect => self.connect(&call),
            libc::SYS_setsockopt => Ok(self.set_option(&call)),
            libc::SYS_getsockname => self.own_name(&call),
            libc::SYS_getpeername => self.name_of_peer(&call),
            libc::SYS_accept | libc::SYS_accept4 => self.accept(&call),
            libc::SYS_listen => self.listen(&call),
            number if makes_epoll(number) => self.create_epoll(&call),
            _ => Ok(Answer::GoOn),
        };
        self.finish(&call, answer)
    }

    /// Tries again what waits for room.
    ///
    /// # Errors
    /// The listener's.
    pub(crate) fn retry(&mut self) -> io::Result<()> {
        for waiting in std::mem::take(&mut self.waiting) {
            let (DelayedAnswer::Connects { call, .. } | DelayedAnswer::Accepts { call, .. }) =
                &waiting;
            if !call.waits() {
                continue;
            }
            let call = call.clone();
            let answer = match waiting {
                DelayedAnswer::Connects { socket, place, .. } => self.reach(&call, socket, &place),
                DelayedAnswer::Accepts { listener, .. } => self.take(&call, listener),
            };
            self.finish(&call, answer)?;
        }
        Ok(())
    }

    fn finish(&mut self, call: &PendingCall, answer: io::Result<Answer>) -> io::Result<()> {
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

    /// Whether a socket that binds or connects to this name would be exchanged.
    fn is_wanted(&self, name: &Name) -> bool {
        match (name, self.wanted.to) {
            (Name::Ip(address), To::UnixStream | To::UnixSeqpacket | To::Vsock) => {
                self.wanted.port.is_none_or(|port| port == address.port())
            }
            (Name::Path(_) | Name::Abstract(_), To::Tcp) => true,
            _ => false,
        }
    }

    /// Whether a socket is of the kind that is exchanged.
    fn is_of_kind(&self, socket: &OwnedFd) -> bool {
        let (Ok(domain), Ok(kind)) = (sockopt::socket_domain(socket), sockopt::socket_type(socket))
        else {
            return false;
        };
        let is_right = match self.wanted.to {
            To::Tcp => domain == AddressFamily::UNIX,
            _ => {
                [AddressFamily::INET, AddressFamily::INET6].contains(&domain)
                    && sockopt::socket_protocol(socket) == Ok(Some(ipproto::TCP))
            }
        };
        is_right && kind == SocketType::STREAM
    }

    fn left(&mut self, why: impl Into<String>) -> Answer {
        *self.exchanged.left.entry(why.into()).or_default() += 1;
        Answer::GoOn
    }

    /// Whether a call connects to a name that is exchanged once it is bound.
    #[must_use]
    pub(crate) fn is_connect(&self, call: &PendingCall) -> bool {
        let named = || Name::given(call).ok().flatten().is_some_and(|name| self.is_wanted(&name));
        call.number == libc::SYS_connect && named()
    }

    /// Remembers what would have been exchanged.
    fn watch(&mut self, call: &PendingCall) -> io::Result<Answer> {
        if self.is_connect(call) {
            self.exchanged.connected += 1;
        } else if call.number == libc::SYS_bind
            && Name::given(call)?.is_some_and(|name| self.is_wanted(&name))
        {
            let socket = call.descriptor(call.fd())?;
            if self.is_of_kind(&socket) {
                self.unchanged.push(socket);
            }
        }
        Ok(Answer::GoOn)
    }

    fn bind(&mut self, call: &PendingCall) -> io::Result<Answer> {
        let Some(name) = Name::given(call)?.filter(|name| self.is_wanted(name)) else {
            return Ok(Answer::GoOn);
        };
        let socket = call.descriptor(call.fd())?;
        if !self.is_of_kind(&socket) {
            return Ok(Answer::GoOn);
        }
        // One that was closed is free again.
        self.bound.retain(|bound| !bound.name.answers(&name) || bound.place.is_there());
        let (holder, name) = match held(call, &socket, &name) {
            Ok(held) => held,
            Err(errno) => return Ok(Answer::Value(Err(errno.raw_os_error()))),
        };
        if matches!(name, Name::Ip(_)) && self.bound.iter().any(|bound| bound.name == name) {
            return Ok(self.left(format!(
                "{name}: several listeners share the port (SO_REUSEPORT), and a path has one"
            )));
        }
        let made = self.socket(&socket)?;
        let place = ListenerPlace::bind(&made, &name, &self.wanted)?;
        if self.accepts() {
            sockopt::set_socket_timeout(&made, sockopt::Timeout::Recv, Some(AT_ONCE))?;
        }
        exchange(call, &mut self.epolls, made)?;
        self.exchanged.bound.push((name.to_string(), place.to_string()));
        let file = file_named(call, &name);
        self.bound.push(Bound { name, file, place, listens: false, _holder: holder });
        Ok(Answer::Value(Ok(0)))
    }

    fn connect(&mut self, call: &PendingCall) -> io::Result<Answer> {
        let Some(name) = Name::given(call)?.filter(|name| self.is_wanted(name)) else {
            return Ok(Answer::GoOn);
        };
        let file = file_named(call, &name);
        let is_it = |bound: &&Bound| match &name {
            Name::Path(_) => file.is_some() && bound.file == file,
            name => bound.name.answers(name),
        };
        let Some(place) = self.bound.iter().find(is_it).map(|bound| bound.place.clone()) else {
            return Ok(Answer::GoOn);
        };
        let socket = call.descriptor(call.fd())?;
        // One that was bound to a name of its own before is exchanged already.
        let is_bound = || matches!(self.role(&socket), Some(Role::Listens(_)));
        if !self.is_of_kind(&socket) && !is_bound() {
            return Ok(Answer::GoOn);
        }
        let made = self.socket(&socket)?;
        if matches!(place, ListenerPlace::Path(_) | ListenerPlace::Abstract(_)) {
            self.clients += 1;
            // By its name the kernel tells whose client an accepted socket belongs to. A path would take three times as long.
            let folder = self.wanted.folder.file_name().unwrap_or_default();
            let own = [folder.as_bytes(), format!("-c{}", self.clients).as_bytes()].concat();
            net::bind(&made, &SocketAddrUnix::new_abstract_name(&own)?)?;
        }
        self.reach(call, made, &place)
    }

    /// Connects a socket and exchanges it, now or as soon as there is room.
    fn reach(
        &mut self,
        call: &PendingCall,
        socket: OwnedFd,
        place: &ListenerPlace,
    ) -> io::Result<Answer> {
        match place.connect(&socket) {
            Ok(()) => {
                exchange(call, &mut self.epolls, socket)?;
                self.exchanged.connected += 1;
                Ok(Answer::Value(Ok(0)))
            }
            Err(Errno::CONNRESET) if !self.bound.iter().any(|bound| bound.is_full(place)) => {
                Ok(Answer::Value(Err(libc::ECONNREFUSED)))
            }
            Err(Errno::AGAIN | Errno::INPROGRESS | Errno::ALREADY | Errno::CONNRESET) => {
                // It would be the answer to the next attempt as well.
                let _ = sockopt::socket_error(&socket)?;
                let (call, place) = (call.clone(), place.clone());
                self.waiting.push(DelayedAnswer::Connects { call, socket, place });
                Ok(Answer::Later)
            }
            Err(errno) => Ok(Answer::Value(Err(errno.raw_os_error()))),
        }
    }

    fn accept(&mut self, call: &PendingCall) -> io::Result<Answer> {
        let listener = call.descriptor(call.fd())?;
        match self.role(&listener).is_some() {
            true => self.take(call, listener),
            false => Ok(Answer::GoOn),
        }
    }

    /// Accepts in the program's place, now or as soon as somebody connects.
    fn take(&mut self, call: &PendingCall, listener: OwnedFd) -> io::Result<Answer> {
        let [_, place, len, flags, ..] = call.args;
        let flags = if call.number == libc::SYS_accept4 { flags as i32 } else { 0 };
        let blocks = match flags & libc::SOCK_NONBLOCK {
            0 => SocketFlags::empty(),
            _ => SocketFlags::NONBLOCK,
        };
        // The listener has a limit of time, so that this does not wait where another process was first.
        match net::acceptfrom_with(&listener, SocketFlags::CLOEXEC | blocks) {
            Ok((socket, peer)) => {
                self.set_buffers(&socket)?;
                let number = call.add(socket.as_fd(), flags & libc::SOCK_CLOEXEC != 0)?;
                if let Some(Role::Listens(bound)) = self.role(&listener)
                    && place != 0
                    && len != 0
                {
                    let port = peer.as_ref().and_then(|peer| self.client(peer));
                    bound.name.of_client(port.unwrap_or(FIRST_PORT)).tell(call)?;
                }
                Ok(Answer::Value(Ok(i64::from(number))))
            }
            Err(Errno::AGAIN) if !is_nonblocking(&listener)? => {
                self.waiting.push(DelayedAnswer::Accepts { call: call.clone(), listener });
                Ok(Answer::Later)
            }
            Err(errno) => Ok(Answer::Value(Err(errno.raw_os_error()))),
        }
    }

    /// Lets as many connections wait as was asked for.
    fn listen(&mut self, call: &PendingCall) -> io::Result<Answer> {
        let listener = call.descriptor(call.fd())?;
        let Some(Role::Listens(bound)) = self.role(&listener) else { return Ok(Answer::GoOn) };
        let place = bound.place.clone();
        let [_, backlog, ..] = call.args;
        let backlog = self.wanted.knobs.backlog.unwrap_or(backlog as i32);
        let listens = net::listen(&listener, backlog);
        for bound in &mut self.bound {
            bound.listens |= listens.is_ok() && bound.place == place;
        }
        Ok(Answer::Value(listens.map(|()| 0).map_err(Errno::raw_os_error)))
    }

    fn create_epoll(&mut self, call: &PendingCall) -> io::Result<Answer> {
        Ok(match self.epolls.create(call)? {
            Some(number) => Answer::Value(Ok(i64::from(number))),
            None => Answer::GoOn,
        })
    }

    fn set_option(&mut self, call: &PendingCall) -> Answer {
        let [_, level, option, ..] = call.args;
        let is_lacking = match self.wanted.to {
            To::Tcp => level == SOCKET && OF_UNIX.contains(&option),
            _ => LEVELS_OF_IP.contains(&level),
        };
        let is_ours = |socket: OwnedFd| self.role(&socket).is_some();
        if !is_lacking || !call.descriptor(call.fd()).is_ok_and(is_ours) {
            return Answer::GoOn;
        }
        *self.exchanged.options.entry(option_name(level, option)).or_default() += 1;
        Answer::Value(Ok(0))
    }

    fn own_name(&self, call: &PendingCall) -> io::Result<Answer> {
        let name = match self.role(&call.descriptor(call.fd())?) {
            Some(Role::Listens(bound)) => bound.name.clone(),
            Some(Role::Accepted(bound, _)) => bound.name.reached(),
            Some(Role::Connected(bound, port)) => bound.name.of_client(port),
            None => return Ok(Answer::GoOn),
        };
        name.tell(call).map(|()| Answer::Value(Ok(0)))
    }

    fn name_of_peer(&self, call: &PendingCall) -> io::Result<Answer> {
        let name = match self.role(&call.descriptor(call.fd())?) {
            // A client that connects to the place itself has no name.
            Some(Role::Accepted(bound, port)) => bound.name.of_client(port.unwrap_or(FIRST_PORT)),
            Some(Role::Connected(bound, _)) => bound.name.reached(),
            Some(Role::Listens(_)) | None => return Ok(Answer::GoOn),
        };
        name.tell(call).map(|()| Answer::Value(Ok(0)))
    }

    /// What a socket is, if it is one of ours.
    fn role(&self, socket: &OwnedFd) -> Option<Role<'_>> {
        let own = net::getsockname(socket).ok()?;
        let peer = net::getpeername(socket).ok().flatten();
        let at = |name: &SocketAddrAny| {
            let place = ListenerPlace::of(name)?;
            self.bound.iter().find(|bound| bound.place == place)
        };
        match (at(&own), peer) {
            (Some(bound), None) => Some(Role::Listens(bound)),
            (Some(bound), Some(peer)) => Some(Role::Accepted(bound, self.client(&peer))),
            (None, Some(peer)) => Some(Role::Connected(at(&peer)?, self.client(&own)?)),
            (None, None) => None,
        }
    }

    /// The port that a client of ours has or seems to have.
    fn client(&self, name: &SocketAddrAny) -> Option<u16> {
        let number: u32 = match ListenerPlace::of(name)? {
            ListenerPlace::Abstract(name) => {
                let folder = self.wanted.folder.file_name()?.as_bytes();
                let own = name.strip_prefix(folder)?.strip_prefix(b"-c")?;
                str::from_utf8(own).ok()?.parse().ok()?
            }
            ListenerPlace::Vm(port) => port,
            ListenerPlace::Port(address) => return Some(address.port()),
            ListenerPlace::Path(_) => return None,
        };
        // They begin again where there are no more, as those of the kernel do.
        let many = u32::from(u16::MAX - FIRST_PORT);
        u16::try_from(u32::from(FIRST_PORT) + number % many).ok()
    }

    /// A socket of the other kind, in the place of one that the program may have set up already.
    fn socket(&self, old: &OwnedFd) -> io::Result<OwnedFd> {
        let (family, kind) = match self.wanted.to {
            To::UnixStream => (AddressFamily::UNIX, SocketType::STREAM),
            To::UnixSeqpacket => (AddressFamily::UNIX, SocketType::SEQPACKET),
            To::Vsock => (AddressFamily::VSOCK, SocketType::STREAM),
            To::Tcp => (AddressFamily::INET, SocketType::STREAM),
        };
        let blocks = match is_nonblocking(old)? {
            true => SocketFlags::NONBLOCK,
            false => SocketFlags::empty(),
        };
        let socket = net::socket_with(family, kind, SocketFlags::CLOEXEC | blocks, None)?;
        for limit in [sockopt::Timeout::Recv, sockopt::Timeout::Send] {
            if let Some(time) = sockopt::socket_timeout(old, limit)? {
                sockopt::set_socket_timeout(&socket, limit, Some(time))?;
            }
        }
        held::copy_buffers(old, &socket)?;
        self.set_buffers(&socket)?;
        if self.wanted.to == To::Tcp {
            // A UNIX socket sends at once, too; what is accepted inherits it.
            sockopt::set_tcp_nodelay(&socket, !self.wanted.knobs.delays)?;
        }
        Ok(socket)
    }

    fn set_buffers(&self, socket: &OwnedFd) -> io::Result<()> {
        let Knobs { buffers: [send, receive], buffer, .. } = self.wanted.knobs;
        if self.wanted.to == To::Vsock {
            vsock::set_up(socket, buffer)?;
        }
        if let Some(bytes) = send {
            sockopt::set_socket_send_buffer_size(socket, bytes)?;
        }
        if let Some(bytes) = receive {
            sockopt::set_socket_recv_buffer_size(socket, bytes)?;
        }
        Ok(())
    }

    /// Whether anybody can connect to what was exchanged, or would have been. It is asked until it is so.
    pub(crate) fn is_listening(&mut self) -> bool {
        let accepts = |socket: &OwnedFd| sockopt::socket_acceptconn(socket) == Ok(true);
        if self.unchanged.iter().any(accepts) {
            // Held any longer, a socket would outlive its program.
            self.unchanged.clear();
            return true;
        }
        self.bound.iter().any(|bound| bound.listens || bound.place.is_listening())
    }
}

/// Whether a call makes an epoll.
fn makes_epoll(number: i64) -> bool {
    #[cfg(target_arch = "x86_64")]
    if number == libc::SYS_epoll_create {
        return true;
    }
    number == libc::SYS_epoll_create1
}

/// A socket of ours that takes a program's name, as that would, with the name that it got.
fn held(call: &PendingCall, socket: &OwnedFd, name: &Name) -> Result<(OwnedFd, Name), Errno> {
    let open = |family| net::socket_with(family, SocketType::STREAM, SocketFlags::CLOEXEC, None);
    match name {
        Name::Ip(address) => {
            let is_v4 = address.is_ipv4();
            let holder = open(if is_v4 { AddressFamily::INET } else { AddressFamily::INET6 })?;
            sockopt::set_socket_reuseaddr(&holder, sockopt::socket_reuseaddr(socket)?)?;
            if !is_v4 {
                sockopt::set_ipv6_v6only(&holder, sockopt::ipv6_v6only(socket)?)?;
            }
            net::bind(&holder, address)?;
            let real: SocketAddr = net::getsockname(&holder)?.try_into()?;
            Ok((holder, Name::Ip(real)))
        }
        Name::Path(path) => {
            let holder = open(AddressFamily::UNIX)?;
            let (_parent, reached) = reached(call, path)?;
            net::bind(&holder, &SocketAddrUnix::new(&reached)?)?;
            Ok((holder, name.clone()))
        }
        Name::Abstract(bytes) => {
            let holder = open(AddressFamily::UNIX)?;
            net::bind(&holder, &SocketAddrUnix::new_abstract_name(bytes)?)?;
            Ok((holder, name.clone()))
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

/// Device and number of the file that a path of the program leads to.
fn file_named(call: &PendingCall, name: &Name) -> Option<(u64, u64)> {
    let Name::Path(path) = name else { return None };
    let (_folder, path) = reached(call, path).ok()?;
    let facts = rustix::fs::stat(&path).ok()?;
    Some((facts.st_dev, facts.st_ino))
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
        (libc::SOL_SOCKET, libc::SO_PASSCRED) => "SO_PASSCRED",
        _ => return format!("option {option} of level {level}"),
    };
    known.to_owned()
}

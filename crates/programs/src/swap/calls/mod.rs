//! Sockets of a program exchanged for those of another kind while it binds and connects them. What it sends and receives
//! afterwards goes over the other socket by its own calls.
//!
//! A name that is bound stays taken: a socket of ours has it, so that addresses are refused as ever, a port of 0 is a real one,
//! and a path can be found.

mod client;
mod data_calls;
pub(crate) mod filter;
pub(crate) mod handed;
mod held;
mod holder;
mod name;
mod option_calls;
mod options;
mod place;
mod retry;
mod rights;
mod transfer;
mod waiting;
mod wanted;

use crate::swap::calls::filter::{HandedCall, When};
use crate::swap::calls::handed::PendingCall;
use client::{ClientAddresses, Clients};
use held::{Epolls, exchange, is_nonblocking, makes_epoll};
use holder::{Bound, Held, file_named, held};
use ipcperf_sys::io::socket::vsock;
use name::Name;
use options::Options;
use place::ListenerPlace;
use rights::ProgramRights;
use rustix::io::Errno;
use rustix::net::{self, AddressFamily, SocketAddrUnix, SocketFlags, SocketType, ipproto, sockopt};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::io;
use std::net::SocketAddr;
use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};
use waiting::DelayedAnswer;
pub(crate) use waiting::SIGNALS_WITHIN;
pub(crate) use wanted::{Knobs, To, Wanted};

/// The calls that a program hands over.
const CALLS: &[(&str, i64)] = &[
    ("recvfrom", libc::SYS_recvfrom),
    ("sendto", libc::SYS_sendto),
    ("bind", libc::SYS_bind),
    ("connect", libc::SYS_connect),
    ("setsockopt", libc::SYS_setsockopt),
    ("getsockopt", libc::SYS_getsockopt),
    ("getsockname", libc::SYS_getsockname),
    ("getpeername", libc::SYS_getpeername),
    #[cfg(target_arch = "x86_64")]
    ("epoll_create", libc::SYS_epoll_create),
    ("epoll_create1", libc::SYS_epoll_create1),
    ("accept", libc::SYS_accept),
    ("accept4", libc::SYS_accept4),
    ("listen", libc::SYS_listen),
];

/// What a socket is that was exchanged.
enum Role<'a> {
    /// It has a name of its own, and listens or may connect.
    Bound(&'a Bound),
    /// It came from this client, whose addresses are as this end is told of them.
    Accepted(&'a Bound, ClientAddresses),
    /// It is this client.
    Connected(ClientAddresses),
}

impl Role<'_> {
    /// The cookie of the listener that it was accepted from.
    const fn listener(&self) -> Option<u64> {
        match self {
            Self::Accepted(bound, _) => bound.cookie,
            Self::Bound(_) | Self::Connected(_) => None,
        }
    }
}

/// What has been exchanged, and what could not be.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Exchanged {
    /// Addresses that were bound, with the one that each has now.
    pub(crate) bound: Vec<(String, String)>,
    /// Connections that were exchanged.
    pub(crate) connected: u64,
    /// Options that the other kind of socket does not have: how often each was set and did nothing.
    pub(crate) options: BTreeMap<String, u64>,
    /// Options that report the state of a connection, which is not known: how often each was read.
    #[serde(default)]
    pub(crate) asked: BTreeMap<String, u64>,
    /// Calls that moved data and that ipcperf made in the program's place: how often each.
    #[serde(default)]
    pub(crate) carried: BTreeMap<String, u64>,
    /// Why what was asked for kept its socket.
    pub(crate) left: BTreeMap<String, u64>,
    /// Calls that the filter handed over to ipcperf.
    pub(crate) handed: u64,
}

/// What answers the calls of a program.
#[derive(Debug)]
pub(crate) struct Exchange {
    wanted: Wanted,
    bound: Vec<Bound>,
    /// With so many it is time to look for closed ones.
    sweeps_at: usize,
    waiting: Vec<DelayedAnswer>,
    /// When it was last looked for signals that would interrupt what waits, and how often that is due.
    looked: Instant,
    looks_every: Duration,
    clients: Clients,
    epolls: Epolls,
    options: Options,
    /// What the program serves that is not exchanged.
    other: Option<String>,
    /// Sockets that would have been exchanged when they were bound, until one of them listens.
    unchanged: Vec<OwnedFd>,
    /// So far.
    pub(crate) exchanged: Exchanged,
}

/// As many listeners may be closed before their names are let go: each of them takes one of our descriptors.
const SWEEPS_AT: usize = 64;

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
        let folder = wanted.folder.file_name().unwrap_or_default().to_string_lossy();
        let clients = Clients::new(&folder);
        Self {
            wanted,
            bound: Vec::new(),
            sweeps_at: SWEEPS_AT,
            waiting: Vec::new(),
            looked: Instant::now(),
            looks_every: SIGNALS_WITHIN,
            clients,
            epolls: Epolls::default(),
            options: Options::default(),
            other: None,
            unchanged: Vec::new(),
            exchanged: Exchanged::default(),
        }
    }

    /// Which calls a program has to hand over. Those that move data are first: they are the most frequent, and where an
    /// argument decides, the kernel goes through the filter each time.
    #[must_use]
    pub(crate) fn calls(&self) -> Vec<HandedCall> {
        let when = |number| match number {
            libc::SYS_sendto | libc::SYS_recvfrom => When::IsGiven(4),
            libc::SYS_accept | libc::SYS_accept4 if !self.sets_buffers() => When::IsGiven(1),
            libc::SYS_setsockopt => match self.wanted.to {
                To::Tcp => When::Option { levels: Vec::new(), of_socket: options::OF_UNIX.into() },
                _ => When::Option {
                    levels: options::LEVELS_OF_IP.into(),
                    of_socket: options::OF_IP.into(),
                },
            },
            libc::SYS_getsockopt => match self.wanted.to {
                To::Tcp => When::Option {
                    levels: Vec::new(),
                    of_socket: [&options::OF_UNIX[..], &options::OF_KIND].concat(),
                },
                _ => When::Option {
                    levels: options::LEVELS_OF_IP.into(),
                    of_socket: [&options::OF_IP[..], &options::OF_KIND].concat(),
                },
            },
            _ => When::Always,
        };
        // A socket of TCP ignores addresses by itself.
        let is_needed = |number| match number {
            libc::SYS_sendto | libc::SYS_recvfrom => self.wanted.to != To::Tcp,
            _ => true,
        };
        let numbers = CALLS.iter().map(|(_, number)| *number).filter(|number| is_needed(*number));
        numbers.map(|number| HandedCall { number, when: when(number) }).collect()
    }

    /// Whether what is accepted gets buffers, which a UNIX socket does not take over from its listener.
    fn sets_buffers(&self) -> bool {
        let Wanted { knobs, to, .. } = &self.wanted;
        let is_unix = matches!(to, To::UnixStream | To::UnixSeqpacket);
        is_unix && knobs.buffers.iter().any(Option::is_some)
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
            libc::SYS_setsockopt => self.set_option(&call),
            libc::SYS_getsockopt => self.option(&call),
            libc::SYS_getsockname => self.own_name(&call),
            libc::SYS_getpeername => self.name_of_peer(&call),
            libc::SYS_accept | libc::SYS_accept4 => self.accept(&call),
            libc::SYS_listen => self.listen(&call),
            libc::SYS_sendto | libc::SYS_recvfrom => self.transfer(&call),
            number if makes_epoll(number) => self.create_epoll(&call),
            _ => Ok(Answer::GoOn),
        };
        self.finish(&call, answer)
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

    /// Whether a socket has a name that is exchanged once it is bound.
    fn is_wanted_there(&self, socket: &OwnedFd) -> bool {
        let Ok(name) = net::getsockname(socket) else { return false };
        match SocketAddr::try_from(name) {
            Ok(address) => self.is_wanted(&Name::Ip(address)),
            Err(_) => self.wanted.to == To::Tcp,
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
                    && sockopt::socket_protocol(socket).is_ok_and(|protocol| {
                        // Servers that Go has built listen by the latter.
                        [Some(ipproto::TCP), Some(ipproto::MPTCP)].contains(&protocol)
                    })
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
            } else if let Some(name) = Name::given(call)? {
                self.look_at(&socket, &name);
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
            self.look_at(&socket, &name);
            return Ok(Answer::GoOn);
        }
        let protocol = sockopt::socket_protocol(&socket)?.map_or(0, |known| known.as_raw().get());
        for bound in &mut self.bound {
            if matches!((&bound.name, &name), (Name::Ip(own), Name::Ip(new)) if own.port() == new.port())
                || bound.name == name
            {
                bound.let_go();
            }
        }
        if self.bound.len() >= self.sweeps_at {
            self.sweep();
            let open = self.bound.iter().filter(|bound| bound.holder.is_some()).count();
            self.sweeps_at = self.bound.len() + open.max(SWEEPS_AT);
        }
        let Held { holder, name, file } = match held(&ProgramRights::of(call)?, &socket, &name) {
            Ok(held) => held,
            Err(errno) => return Ok(Answer::Value(Err(errno.raw_os_error()))),
        };
        let is_shared = matches!(name, Name::Ip(_)) && sockopt::socket_reuseport(&socket)?;
        let is_v6_only = !is_v4(&name) && sockopt::ipv6_v6only(&socket).unwrap_or(false);
        // The sockets that hold names here do not listen, so the kernel would allow a second one with SO_REUSEADDR.
        let overlaps = |bound: &&mut Bound| bound.overlaps(&name, is_v6_only);
        if let Some(bound) = self.bound.iter_mut().find(overlaps)
            && matches!(name, Name::Ip(_))
        {
            if !is_shared {
                return Ok(Answer::Value(Err(libc::EADDRINUSE)));
            }
            if bound.name == name {
                let Some(shared) = bound.shared() else {
                    return Ok(self.left(format!(
                        "{name}: the listener that this one shares its port with (SO_REUSEPORT) was not found"
                    )));
                };
                bound.owners.push((call.pid, call.fd()));
                exchange(call, &mut self.epolls, shared)?;
                return Ok(Answer::Value(Ok(0)));
            }
        }
        let made = self.socket(&socket)?;
        let place = ListenerPlace::bind(&made, &name, &self.wanted)?;
        self.options.exchanged(&socket, &made);
        let cookie = sockopt::socket_cookie(&made).ok();
        self.options.bound(cookie, &holder);
        exchange(call, &mut self.epolls, made)?;
        self.exchanged.bound.push((name.to_string(), place.to_string()));
        self.bound.retain(|bound| bound.place != place);
        let holder = Some(holder);
        let owners = vec![(call.pid, call.fd())];
        let listens = false;
        self.bound.push(Bound { name, file, place, listens, cookie, protocol, owners, holder });
        Ok(Answer::Value(Ok(0)))
    }

    /// Lets the names of listeners go that were closed, which nothing else says.
    pub(crate) fn sweep(&mut self) {
        holder::let_go(&mut self.bound);
    }

    fn connect(&mut self, call: &PendingCall) -> io::Result<Answer> {
        let name = Name::given(call)?;
        let Some(name) = name.filter(|name| self.is_wanted(name)) else { return Ok(Answer::GoOn) };
        let socket = call.descriptor(call.fd())?;
        let own = match self.role(&socket) {
            Some(Role::Connected(_) | Role::Accepted(..)) => {
                return Ok(Answer::Value(Err(libc::EISCONN)));
            }
            Some(Role::Bound(bound)) if bound.listens => {
                return Ok(Answer::Value(Err(libc::EISCONN)));
            }
            Some(Role::Bound(bound)) => Some(bound.name.clone()),
            None if self.is_of_kind(&socket) => None,
            None => return Ok(Answer::GoOn),
        };
        let file = file_named(call, &name);
        let is_it = |bound: &&Bound| match &name {
            _ if bound.holder.is_none() => false,
            Name::Path(_) => file.is_some() && bound.file == file,
            name => bound.name.answers(name),
        };
        let found = self.bound.iter().find(is_it);
        let Some((place, dialed)) = found.map(|bound| (bound.place.clone(), bound.name.clone()))
        else {
            if let Some(own) = own {
                self.undo(call, &socket, &own)?;
            }
            return Ok(Answer::GoOn);
        };
        let made = self.socket(&socket)?;
        let bound_to =
            || net::getsockname(&socket).ok().and_then(|name| SocketAddr::try_from(name).ok());
        let own = own.or_else(|| {
            // One that was bound and kept its socket, because it is not the port that is exchanged.
            bound_to().filter(|own| own.port() != 0).map(Name::Ip)
        });
        // A UNIX socket is told the name that was bound, by whichever path it came.
        let dialed = if matches!(name, Name::Ip(_)) { name } else { dialed };
        let client = self.clients.connects(own.as_ref(), &dialed);
        if matches!(place, ListenerPlace::Path(_) | ListenerPlace::Abstract(_)) {
            // By its name the kernel tells whose client an accepted socket belongs to. A path would take three times as long.
            net::bind(&made, &SocketAddrUnix::new_abstract_name(&self.clients.name(&client))?)?;
        }
        self.reach(call, made, &place, client)
    }

    /// Gives a socket back that was exchanged when it was bound, and connects to what was not exchanged.
    fn undo(&mut self, call: &PendingCall, socket: &OwnedFd, own: &Name) -> io::Result<()> {
        let Name::Ip(address) = own else { return Ok(()) };
        let family = if address.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
        let blocks = match is_nonblocking(socket)? {
            true => SocketFlags::NONBLOCK,
            false => SocketFlags::empty(),
        };
        let made =
            net::socket_with(family, SocketType::STREAM, SocketFlags::CLOEXEC | blocks, None)?;
        sockopt::set_socket_reuseaddr(&made, true)?;
        self.bound.retain(|bound| bound.name != *own);
        ProgramRights::of(call)?.act(|| net::bind(&made, address))?;
        exchange(call, &mut self.epolls, made)
    }

    /// Connects a socket and exchanges it, now or as soon as there is room.
    fn reach(
        &mut self,
        call: &PendingCall,
        socket: OwnedFd,
        place: &ListenerPlace,
        client: ClientAddresses,
    ) -> io::Result<Answer> {
        let connected = place.connect(&socket);
        // A socket of TCP that does not wait never says at once that it is connected.
        let is_later = self.wanted.to != To::Tcp && is_nonblocking(&socket)?;
        match connected {
            Ok(()) => {
                if let Some(own) = ListenerPlace::of(&net::getsockname(&socket)?) {
                    match own {
                        ListenerPlace::Vm(port) => self.clients.remember(port, client),
                        ListenerPlace::Port(own) => {
                            self.clients.remember(u32::from(own.port()), client);
                        }
                        ListenerPlace::Path(_) | ListenerPlace::Abstract(_) => {}
                    }
                }
                self.options.exchanged(&call.descriptor(call.fd())?, &socket);
                exchange(call, &mut self.epolls, socket)?;
                self.exchanged.connected += 1;
                Ok(Answer::Value(if is_later { Err(libc::EINPROGRESS) } else { Ok(0) }))
            }
            Err(Errno::CONNRESET | Errno::CONNREFUSED)
                if !self.bound.iter().any(|bound| bound.is_full(place)) =>
            {
                self.bound.iter_mut().filter(|bound| bound.place == *place).for_each(Bound::let_go);
                // What the program has says so in its own way, unless it is exchanged already.
                let is_ours = self.role(&call.descriptor(call.fd())?).is_some();
                Ok(match self.wanted.to == To::Tcp || is_ours {
                    true => Answer::Value(Err(libc::ECONNREFUSED)),
                    false => Answer::GoOn,
                })
            }
            Err(Errno::AGAIN | Errno::CONNRESET) if is_later => {
                self.left("connect: one that does not wait found no room in the backlog (EAGAIN)");
                Ok(Answer::Value(Err(libc::EAGAIN)))
            }
            Err(Errno::AGAIN | Errno::INPROGRESS | Errno::ALREADY | Errno::CONNRESET) => {
                // It would be the answer to the next attempt as well.
                let _ = sockopt::socket_error(&socket)?;
                let (call, place) = (call.clone(), place.clone());
                self.waiting.push(DelayedAnswer::Connects { call, socket, place, client });
                Ok(Answer::Later)
            }
            Err(errno) => Ok(Answer::Value(Err(errno.raw_os_error()))),
        }
    }

    /// Lets as many connections wait as was asked for, or else as many as the kernel allows: one to TCP that finds no room is
    /// tried again by the kernel, one to a UNIX socket fails.
    fn listen(&mut self, call: &PendingCall) -> io::Result<Answer> {
        let listener = call.descriptor(call.fd())?;
        let Some(Role::Bound(bound)) = self.role(&listener) else {
            if self.is_of_kind(&listener) && self.is_wanted_there(&listener) {
                let why = self.exchanged.left.keys().next().map_or("", String::as_str);
                let why = if why.is_empty() { String::new() } else { format!(" ({why})") };
                self.other =
                    Some(format!("the program listens at a socket that was not exchanged{why}"));
            }
            return Ok(Answer::GoOn);
        };
        let place = bound.place.clone();
        let backlog = self.wanted.knobs.backlog.unwrap_or(i32::MAX);
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

    fn own_name(&self, call: &PendingCall) -> io::Result<Answer> {
        let name = match self.role(&call.descriptor(call.fd())?) {
            Some(Role::Bound(bound)) => bound.name.clone(),
            Some(Role::Accepted(_, client)) => client.dialed,
            Some(Role::Connected(client)) => client.own,
            None => return Ok(Answer::GoOn),
        };
        let [_, place, len, ..] = call.args;
        name.tell(call, place, len).map(|()| Answer::Value(Ok(0)))
    }

    fn name_of_peer(&self, call: &PendingCall) -> io::Result<Answer> {
        let name = match self.role(&call.descriptor(call.fd())?) {
            Some(Role::Accepted(_, client)) => client.own,
            Some(Role::Connected(client)) => client.dialed,
            Some(Role::Bound(_)) | None => return Ok(Answer::GoOn),
        };
        let [_, place, len, ..] = call.args;
        name.tell(call, place, len).map(|()| Answer::Value(Ok(0)))
    }

    /// What a socket is, if it is one of ours.
    fn role(&self, socket: &OwnedFd) -> Option<Role<'_>> {
        let own = ListenerPlace::of(&net::getsockname(socket).ok()?)?;
        let peer = net::getpeername(socket).ok().flatten();
        let bound = self.bound.iter().find(|bound| bound.place == own);
        match (bound, peer) {
            (Some(bound), None) => Some(Role::Bound(bound)),
            (Some(bound), Some(peer)) => {
                let client = ListenerPlace::of(&peer).and_then(|peer| self.clients.find(&peer));
                let client = client.unwrap_or_else(|| Clients::stranger(&bound.name));
                Some(Role::Accepted(bound, client.at(&bound.name)))
            }
            (None, Some(_)) => Some(Role::Connected(self.clients.find(&own)?)),
            (None, None) => None,
        }
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

    /// What the program serves instead of what is exchanged, in words.
    pub(crate) fn other(&self) -> Option<&str> {
        self.other.as_deref()
    }

    /// Remembers a datagram socket that is bound to an address that was chosen: it serves something.
    fn look_at(&mut self, socket: &OwnedFd, name: &Name) {
        let is_chosen = match name {
            Name::Ip(address) => address.port() != 0,
            Name::Path(_) | Name::Abstract(_) => true,
            Name::Unnamed => false,
        };
        if is_chosen && sockopt::socket_type(socket) == Ok(SocketType::DGRAM) {
            let kind = if matches!(name, Name::Ip(_)) { "UDP" } else { "UNIX datagrams" };
            self.other = Some(format!("the program serves {kind} at {name}"));
        }
    }

    /// Whether anybody can connect to what was exchanged, or would have been. It is asked until it is so.
    pub(crate) fn is_listening(&mut self) -> bool {
        let accepts = |socket: &OwnedFd| sockopt::socket_acceptconn(socket) == Ok(true);
        if self.unchanged.iter().any(accepts) {
            // Held any longer, a socket would outlive its program.
            self.unchanged.clear();
            return true;
        }
        self.bound.iter().any(|bound| bound.listens)
    }
}

const fn is_v4(name: &Name) -> bool {
    matches!(name, Name::Ip(SocketAddr::V4(_)))
}

//! Exchanges a program's sockets for sockets of another kind when it listens and connects. What it sends and receives
//! afterwards goes over the other socket by its own calls.
//!
//! A name that is bound stays taken: the socket that had it before keeps it, so that addresses are refused as ever, a port of 0 is
//! a real one, and a path can be found.

mod client;
mod connects;
mod data_calls;
pub(crate) mod filter;
pub(crate) mod handed;
mod held;
mod holder;
mod listeners;
mod local;
mod name;
#[cfg(target_arch = "x86_64")]
mod narrow;
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
use held::{Epolls, is_nonblocking, makes_epoll};
use holder::{Bound, OpenListeners, ReachedPath};
use ipcperf_sys::io::socket::vsock;
pub(crate) use listeners::RELEASED_WITHIN;
use name::Name;
use options::Options;
use place::ListenerPlace;
use rustix::net::{self, AddressFamily, SocketFlags, SocketType, ipproto, sockopt};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::io;
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
            Self::Accepted(bound, _) => Some(bound.cookie),
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
    /// Of those the ones that a signal took back before ipcperf had them.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub(crate) taken_back: u64,
    /// Listeners beyond those in `bound`.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub(crate) more_bound: u64,
}

/// A report lists at most this many addresses, and this many names of what was counted, so that it fits into a message.
const NAMED: usize = 64;

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde wants a reference")]
const fn is_zero(number: &u64) -> bool {
    *number == 0
}

/// Counts one more of what has this name.
fn count(all: &mut BTreeMap<String, u64>, name: String) {
    let has_room = all.len() < NAMED || all.contains_key(&name);
    let name = if has_room { name } else { "and others".to_owned() };
    *all.entry(name).or_default() += 1;
}

impl Exchanged {
    /// How many listeners there were.
    pub(crate) fn listeners(&self) -> u64 {
        self.bound.len() as u64 + self.more_bound
    }

    /// The same with as many addresses as a report has room for.
    pub(crate) fn reported(mut self) -> Self {
        self.more_bound += self.bound.len().saturating_sub(NAMED) as u64;
        self.bound.truncate(NAMED);
        self
    }
}

/// What answers the calls of a program.
#[derive(Debug)]
pub(crate) struct Exchange {
    wanted: Wanted,
    bound: Vec<Bound>,
    /// Which of them are open.
    open: OpenListeners,
    /// When it was last looked for closed ones, and with how many that is due.
    released: Instant,
    looks_at: usize,
    /// Network namespaces of the programs, by the number of each.
    namespaces: Vec<u64>,
    /// By their cookies, sockets that were bound to paths and do not listen yet.
    paths: BTreeMap<u64, ReachedPath>,
    waiting: Vec<DelayedAnswer>,
    /// When it was last looked for signals that would interrupt what waits, and how often that is due.
    looked: Instant,
    looks_every: Duration,
    clients: Clients,
    /// Cookies of sockets that were said to be in progress: to connect them once more succeeds, the first time.
    unfinished: BTreeSet<u64>,
    epolls: Epolls,
    options: Options,
    /// What the program serves that is not exchanged.
    other: Option<String>,
    /// Sockets that would have been exchanged, until one of them listens.
    unchanged: Vec<OwnedFd>,
    /// So far.
    pub(crate) exchanged: Exchanged,
}

/// What became of a call.
enum Answer {
    GoOn,
    Value(Result<i64, i32>),
    Later,
}

impl Exchange {
    /// Nothing is exchanged yet.
    ///
    /// # Errors
    /// The kernel's.
    pub(crate) fn new(wanted: Wanted) -> io::Result<Self> {
        let folder = wanted.folder.file_name().unwrap_or_default().to_string_lossy();
        let clients = Clients::new(&folder);
        let ours = SocketFlags::CLOEXEC;
        let ours = net::socket_with(AddressFamily::UNIX, SocketType::STREAM, ours, None)?;
        Ok(Self {
            wanted,
            bound: Vec::new(),
            open: OpenListeners::new()?,
            released: Instant::now(),
            looks_at: 0,
            namespaces: vec![holder::namespace(&ours)],
            paths: BTreeMap::new(),
            waiting: Vec::new(),
            looked: Instant::now(),
            looks_every: SIGNALS_WITHIN,
            clients,
            unfinished: BTreeSet::new(),
            epolls: Epolls::default(),
            options: Options::default(),
            other: None,
            unchanged: Vec::new(),
            exchanged: Exchanged::default(),
        })
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
            Err(error) if error.raw_os_error() == Some(libc::EFAULT) && self.is_ours(call) => {
                call.answer(Err(libc::EFAULT))
            }
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

    /// Whether a call is about a socket that is exchanged.
    fn is_ours(&self, call: &PendingCall) -> bool {
        call.descriptor(call.fd()).is_ok_and(|socket| self.role(&socket).is_some())
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
                    && sockopt::socket_protocol(socket).is_ok_and(|protocol| {
                        // Servers that Go has built listen by the latter.
                        [Some(ipproto::TCP), Some(ipproto::MPTCP)].contains(&protocol)
                    })
            }
        };
        is_right && kind == SocketType::STREAM
    }

    fn left(&mut self, why: impl Into<String>) -> Answer {
        count(&mut self.exchanged.left, why.into());
        Answer::GoOn
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
        Ok(Answer::Value(name.told(call, place, len)))
    }

    fn name_of_peer(&self, call: &PendingCall) -> io::Result<Answer> {
        let name = match self.role(&call.descriptor(call.fd())?) {
            Some(Role::Accepted(_, client)) => client.own,
            Some(Role::Connected(client)) => client.dialed,
            Some(Role::Bound(_)) | None => return Ok(Answer::GoOn),
        };
        let [_, place, len, ..] = call.args;
        Ok(Answer::Value(name.told(call, place, len)))
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
        held::copy_options(old, &socket);
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
}

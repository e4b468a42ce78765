//! Connections: to what was exchanged by a socket of the other kind, to everything else as ever.

use super::client::ClientAddresses;
use super::handed::PendingCall;
use super::held::{exchange, is_nonblocking};
use super::holder::{Bound, file_named, namespace};
use super::local;
use super::name::Name;
use super::option_calls::model;
use super::options::Model;
use super::place::ListenerPlace;
use super::waiting::DelayedAnswer;
use super::{Answer, Exchange, Role, To};
use rustix::io::Errno;
use rustix::net::{self, AddressFamily, SocketAddrUnix, SocketFlags, SocketType, sockopt};
use std::io;
use std::os::fd::OwnedFd;

/// So many sockets are known whose program may still ask whether they are connected; the oldest are forgotten.
const KNOWN_UNFINISHED: usize = 1 << 14;

impl Exchange {
    /// Whether a call connects to a name that is exchanged once it is bound.
    #[must_use]
    pub(crate) fn is_connect(&self, call: &PendingCall) -> bool {
        let named = || Name::given(call).ok().flatten().is_some_and(|name| self.is_wanted(&name));
        call.number == libc::SYS_connect && named()
    }

    pub(super) fn connect(&mut self, call: &PendingCall) -> io::Result<Answer> {
        if Name::is_unspecified(call)? {
            return self.disconnect(call);
        }
        let [_, address, len, ..] = call.args;
        self.connect_to(call, Name::at(call, address, len)?)
    }

    /// Connects the socket that a call is about to this name.
    pub(super) fn connect_to(
        &mut self,
        call: &PendingCall,
        name: Option<Name>,
    ) -> io::Result<Answer> {
        let socket = call.descriptor(call.fd())?;
        if self.role(&socket).is_some() {
            let is_finished = self.unfinished.remove(&sockopt::socket_cookie(&socket)?);
            if is_finished && call.number == libc::SYS_connect {
                let error = sockopt::socket_error(&socket)?;
                return Ok(Answer::Value(error.map(|()| 0).map_err(Errno::raw_os_error)));
            }
            let has_family = call.args[2] as u32 as usize >= size_of::<libc::sa_family_t>();
            let errno = if has_family { libc::EISCONN } else { libc::EINVAL };
            return Ok(Answer::Value(Err(errno)));
        }
        let family = sockopt::socket_domain(&socket)?;
        let is_meant = |name: &Name| self.is_wanted(name) && name.is_of(family);
        let Some(name) = name.filter(is_meant) else { return Ok(Answer::GoOn) };
        // One that is connected as ever stays so.
        if !self.is_of_kind(&socket) || matches!(net::getpeername(&socket), Ok(Some(_))) {
            return Ok(Answer::GoOn);
        }
        let found = self.listener_at(call, &socket, &name);
        let Some((place, dialed)) = found.map(|bound| (bound.place.clone(), bound.name.clone()))
        else {
            return Ok(Answer::GoOn);
        };
        let made = self.socket(&socket)?;
        // What it has bound itself to.
        let own = match Name::of(&socket) {
            Some(Name::Ip(own)) if own.port() == 0 => None,
            own => own,
        };
        // A UNIX socket is told the name that was bound, by whichever path it came.
        let dialed = if matches!(name, Name::Ip(_)) { name } else { dialed };
        let client = self.clients.connects(own.as_ref(), &dialed);
        if matches!(place, ListenerPlace::Path(_) | ListenerPlace::Abstract(_)) {
            // The name of the peer of an accepted socket says which client it belongs to.
            net::bind(&made, &SocketAddrUnix::new_abstract_name(&self.clients.name(&client))?)?;
        }
        self.reach(call, made, &place, client)
    }

    /// The listener at which a connection to this name would arrive.
    fn listener_at(&self, call: &PendingCall, socket: &OwnedFd, name: &Name) -> Option<&Bound> {
        let namespace = namespace(socket);
        let open = self.bound.iter().filter(|bound| bound.holder.is_some());
        match name.reached() {
            Name::Ip(to) => {
                let at_port =
                    |bound: &&Bound| matches!(bound.name, Name::Ip(own) if own.port() == to.port());
                let all: Vec<&Bound> = open.filter(at_port).collect();
                let is_own = !all.is_empty() && local::is_own(call.thread, to.ip());
                let answers = |bound: &&Bound| bound.answers(namespace, to, is_own);
                let found = all.into_iter().filter(|bound| answers(bound).is_some());
                found.max_by_key(answers)
            }
            Name::Path(_) => {
                let file = file_named(call, name)?;
                open.into_iter().find(|bound| bound.file == Some(file))
            }
            name => {
                let mut same = open.filter(|bound| bound.namespace == namespace);
                same.find(|bound| bound.name == name)
            }
        }
    }

    /// Ends a connection so that its socket can be connected again, which UNIX sockets cannot: it becomes one of TCP.
    fn disconnect(&mut self, call: &PendingCall) -> io::Result<Answer> {
        let socket = call.descriptor(call.fd())?;
        let Some(role) = self.role(&socket) else { return Ok(Answer::GoOn) };
        if self.wanted.to == To::Tcp {
            return Ok(Answer::Value(Err(libc::EINVAL)));
        }
        let made = match &role {
            // Its name stays its own.
            Role::Bound(bound) => bound.holder.as_ref().map(OwnedFd::try_clone).transpose()?,
            Role::Accepted(..) | Role::Connected(_) => None,
        };
        let made = match made {
            Some(holder) => holder,
            None => tcp(model(&role), &socket)?,
        };
        self.options.restore(&socket, &made);
        exchange(call, &mut self.epolls, &socket, made)?;
        Ok(Answer::Value(Ok(0)))
    }

    /// Connects a socket and exchanges it, now or as soon as there is room.
    pub(super) fn reach(
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
                if is_later {
                    self.unfinished.insert(sockopt::socket_cookie(&socket)?);
                    if self.unfinished.len() > KNOWN_UNFINISHED {
                        self.unfinished.pop_first();
                    }
                }
                let before = call.descriptor(call.fd())?;
                self.options.exchanged(&before, &socket);
                exchange(call, &mut self.epolls, &before, socket)?;
                self.exchanged.connected += 1;
                match call.number {
                    _ if is_later => Ok(Answer::Value(Err(libc::EINPROGRESS))),
                    // What comes with the connection (`MSG_FASTOPEN`).
                    libc::SYS_sendto => self.carry(call),
                    _ => Ok(Answer::Value(Ok(0))),
                }
            }
            Err(Errno::CONNRESET | Errno::CONNREFUSED) if !self.is_full(place)? => {
                // What the program has says so in its own way.
                Ok(match self.wanted.to {
                    To::Tcp => Answer::Value(Err(libc::ECONNREFUSED)),
                    _ => Answer::GoOn,
                })
            }
            Err(Errno::AGAIN | Errno::CONNRESET) if is_later => {
                self.left(
                    "connect: the backlog was full for a socket that does not block (EAGAIN)",
                );
                Ok(Answer::Value(Err(libc::EAGAIN)))
            }
            Err(Errno::AGAIN | Errno::INPROGRESS | Errno::ALREADY | Errno::CONNRESET) => {
                // It would be the answer to the next attempt as well.
                if sockopt::socket_error(&socket)? == Err(Errno::CONNREFUSED) {
                    return Ok(Answer::Value(Err(libc::ECONNREFUSED)));
                }
                let (call, place) = (call.clone(), place.clone());
                self.waiting.push(DelayedAnswer::Connects { call, socket, place, client });
                Ok(Answer::Later)
            }
            Err(errno) => Ok(Answer::Value(Err(errno.raw_os_error()))),
        }
    }

    /// Whether a VM socket that was refused there will find room later: its kernel does not let connections wait for it.
    fn is_full(&mut self, place: &ListenerPlace) -> io::Result<bool> {
        self.release_closed()?;
        let is_vm = matches!(place, ListenerPlace::Vm(_));
        let is_open =
            || self.bound.iter().any(|bound| bound.holder.is_some() && bound.place == *place);
        Ok(is_vm && is_open())
    }
}

/// A new socket of TCP that blocks as the old one does.
fn tcp(model: Model, old: &OwnedFd) -> io::Result<OwnedFd> {
    let family = if model.is_v6 { AddressFamily::INET6 } else { AddressFamily::INET };
    let blocks = match is_nonblocking(old)? {
        true => SocketFlags::NONBLOCK,
        false => SocketFlags::empty(),
    };
    Ok(net::socket_with(family, SocketType::STREAM, SocketFlags::CLOEXEC | blocks, None)?)
}

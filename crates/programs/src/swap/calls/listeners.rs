//! Listeners. A program binds its socket by itself, with its own rights and in its own namespace. When it listens, a socket of the
//! other kind takes the place of that one, which stays bound so that the name stays taken.

use super::handed::PendingCall;
use super::held::exchange;
use super::holder::{Bound, ReachedPath, namespace};
use super::name::Name;
use super::place::ListenerPlace;
use super::{Answer, Exchange, Role};
use rustix::io::Errno;
use rustix::net::{self, SocketType, sockopt};
use std::fs;
use std::io;
use std::net::SocketAddr;
use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

/// As many listeners may be made before it is looked for closed ones.
const LOOKS_AFTER: usize = 64;

/// How soon the name of a closed listener is free for others; nothing announces that it was closed. For programs under the same
/// command it is free at once.
pub(crate) const RELEASED_WITHIN: Duration = Duration::from_millis(100);

/// So many sockets are known that were bound to a path and do not listen yet; the oldest are forgotten.
const KNOWN_PATHS: usize = 64;

impl Exchange {
    /// Remembers what would have been exchanged.
    pub(super) fn watch(&mut self, call: &PendingCall) -> io::Result<Answer> {
        if self.is_connect(call) {
            self.exchanged.connected += 1;
        } else if call.number == libc::SYS_listen {
            let socket = call.descriptor(call.fd())?;
            if self.is_of_kind(&socket) && self.own_name_of(&socket).is_some() {
                self.unchanged.push(socket);
            }
        } else if call.number == libc::SYS_bind
            && let Some(name) = Name::given(call)?.filter(|name| self.is_wanted(name))
        {
            self.look_at(&call.descriptor(call.fd())?, &name);
        }
        Ok(Answer::GoOn)
    }

    /// The name of a socket, if it would be exchanged with that.
    fn own_name_of(&self, socket: &OwnedFd) -> Option<Name> {
        Some(Name::of(socket)?).filter(|name| self.is_wanted(name))
    }

    /// Refuses an address at which something listens that was exchanged: the socket that holds it does not listen, so the kernel
    /// would allow a second one with `SO_REUSEADDR`.
    pub(super) fn bind(&mut self, call: &PendingCall) -> io::Result<Answer> {
        let Some(name) = Name::given(call)?.filter(|name| self.is_wanted(name)) else {
            return Ok(Answer::GoOn);
        };
        let socket = call.descriptor(call.fd())?;
        if !self.is_of_kind(&socket) {
            self.look_at(&socket, &name);
            return Ok(Answer::GoOn);
        }
        if !name.is_of(sockopt::socket_domain(&socket)?) {
            return Ok(Answer::GoOn);
        }
        self.release_closed_at(&socket, &name)?;
        match &name {
            Name::Ip(_) => {
                let is_taken = self.overlapping(&socket, &name).is_some();
                if is_taken && !sockopt::socket_reuseport(&socket)? {
                    return Ok(Answer::Value(Err(libc::EADDRINUSE)));
                }
            }
            // Once it listens, the program's working directory may be another one.
            Name::Path(path) => {
                let cookie = sockopt::socket_cookie(&socket)?;
                if let Ok(reached) = ReachedPath::of(call, path) {
                    self.paths.insert(cookie, reached);
                }
                if self.paths.len() > KNOWN_PATHS {
                    self.paths.pop_first();
                }
            }
            Name::Abstract(_) | Name::Unnamed => {}
        }
        Ok(Answer::GoOn)
    }

    /// The place of the listener that has this name of a socket already.
    fn overlapping(&self, socket: &OwnedFd, name: &Name) -> Option<usize> {
        let namespace = namespace(socket);
        let is_v6 = matches!(name, Name::Ip(SocketAddr::V6(_)));
        let is_v6_only = is_v6 && sockopt::ipv6_v6only(socket).unwrap_or(false);
        self.bound.iter().position(|bound| bound.overlaps(namespace, name, is_v6_only))
    }

    /// Puts a listener of the other kind in the place of a socket that is bound, or lets it be one again: a program may listen
    /// more than once.
    pub(super) fn listen(&mut self, call: &PendingCall) -> io::Result<Answer> {
        let socket = call.descriptor(call.fd())?;
        if let Some(Role::Bound(_)) = self.role(&socket) {
            let done = net::listen(&socket, self.backlog());
            return Ok(Answer::Value(done.map(|()| 0).map_err(Errno::raw_os_error)));
        }
        let is_connected = || matches!(net::getpeername(&socket), Ok(Some(_)));
        if !self.is_of_kind(&socket) || is_connected() {
            return Ok(Answer::GoOn);
        }
        let Some(name) = self.named(&socket)? else { return Ok(Answer::GoOn) };
        self.release_closed_at(&socket, &name)?;
        let before = sockopt::socket_cookie(&socket)?;
        let is_shared = |bound: &Bound| bound.before == before && bound.holder.is_some();
        // Another descriptor of a socket that listens already, of this process or of one that shares it.
        if let Some(at) = self.bound.iter().position(is_shared) {
            return self.share(call, &socket, at);
        }
        // A path that could be bound leads to another file than it did before.
        if matches!(name, Name::Ip(_))
            && let Some(at) = self.overlapping(&socket, &name)
        {
            if !sockopt::socket_reuseport(&socket)? {
                return Ok(Answer::Value(Err(libc::EADDRINUSE)));
            }
            if self.bound[at].name == name {
                return self.share(call, &socket, at);
            }
        }
        let replaced = self.replace(call, socket, name);
        if let Err(error) = &replaced {
            self.listens_as_before(&error.to_string());
        }
        replaced
    }

    /// Puts a new listener in the place of a socket with this name.
    fn replace(&mut self, call: &PendingCall, socket: OwnedFd, name: Name) -> io::Result<Answer> {
        let made = self.socket(&socket)?;
        let namespace = namespace(&socket);
        let number = self.number_of(namespace);
        let place = ListenerPlace::bind(&made, &name, number, &self.wanted)?;
        net::listen(&made, self.backlog())?;
        let [before, cookie] = [sockopt::socket_cookie(&socket)?, sockopt::socket_cookie(&made)?];
        self.options.exchanged(&socket, &made);
        self.options.bound(cookie, &socket);
        self.open.add(&made, cookie)?;
        exchange(call, &mut self.epolls, &socket, made)?;
        self.exchanged.bound.push((name.to_string(), place.to_string()));
        self.bound.retain(|bound| bound.place != place);
        let file = self.paths.remove(&before).and_then(|path| path.identity());
        let protocol = sockopt::socket_protocol(&socket)?.map_or(0, |known| known.as_raw().get());
        self.bound.push(Bound {
            name,
            file,
            namespace,
            place,
            cookie,
            before,
            protocol,
            owners: vec![(call.pid, call.fd())],
            holder: Some(socket),
        });
        Ok(Answer::Value(Ok(0)))
    }

    /// One to TCP that finds no room is tried again by the kernel, one to a UNIX socket fails: as many as the kernel allows.
    fn backlog(&self) -> i32 {
        self.wanted.knobs.backlog.unwrap_or(i32::MAX)
    }

    fn listens_as_before(&mut self, why: &str) {
        self.other =
            Some(format!("the program listens on a socket that was not exchanged ({why})"));
    }

    /// The name with which a socket listens, if it would be exchanged with that. TCP gives one to a socket that has none.
    fn named(&mut self, socket: &OwnedFd) -> io::Result<Option<Name>> {
        let Some(name) = self.own_name_of(socket) else { return Ok(None) };
        match name {
            Name::Ip(address) if address.port() == 0 => {
                net::bind(socket, &address)?;
                Ok(self.own_name_of(socket))
            }
            name => Ok(Some(name)),
        }
    }

    /// Gives a program the listener that another descriptor leads to already.
    fn share(&mut self, call: &PendingCall, socket: &OwnedFd, at: usize) -> io::Result<Answer> {
        let Some(bound) = self.bound.get_mut(at) else { return Ok(Answer::GoOn) };
        let Some(shared) = bound.shared() else {
            let why = format!("{}: another listener shares its port and was not found", bound.name);
            self.listens_as_before(&why);
            return Ok(self.left(why));
        };
        bound.owners.push((call.pid, call.fd()));
        exchange(call, &mut self.epolls, socket, shared)?;
        Ok(Answer::Value(Ok(0)))
    }

    /// Network namespaces are numbered as listeners are met in them.
    fn number_of(&mut self, namespace: u64) -> usize {
        let known = self.namespaces.iter().position(|known| *known == namespace);
        known.unwrap_or_else(|| {
            self.namespaces.push(namespace);
            self.namespaces.len() - 1
        })
    }

    /// Whether names are held that may have to be released.
    #[must_use]
    pub(crate) fn holds_names(&self) -> bool {
        self.bound.iter().any(|bound| bound.holder.is_some())
    }

    /// Releases the names of closed listeners, unless that was done a moment ago.
    ///
    /// # Errors
    /// The kernel's.
    pub(crate) fn release_in_time(&mut self, now: Instant) -> io::Result<()> {
        match now - self.released < RELEASED_WITHIN || !self.holds_names() {
            true => Ok(()),
            false => self.release_closed(),
        }
    }

    /// Releases names if one of them may be that of this socket, or if there are many: each takes one of our descriptors.
    fn release_closed_at(&mut self, socket: &OwnedFd, name: &Name) -> io::Result<()> {
        if self.bound.len() >= self.looks_at || self.overlapping(socket, name).is_some() {
            self.release_closed()?;
            let open = self.bound.iter().filter(|bound| bound.holder.is_some()).count();
            self.looks_at = self.bound.len() + open.max(LOOKS_AFTER);
        }
        Ok(())
    }

    /// Releases the names of listeners that every program has closed.
    pub(super) fn release_closed(&mut self) -> io::Result<()> {
        self.released = Instant::now();
        let open = self.open.cookies()?;
        for bound in &mut self.bound {
            if bound.holder.is_some() && !open.contains(&bound.cookie) {
                if let ListenerPlace::Path(path) = &bound.place {
                    let _ = fs::remove_file(path);
                }
                bound.holder = None;
            }
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
        !self.bound.is_empty()
    }
}

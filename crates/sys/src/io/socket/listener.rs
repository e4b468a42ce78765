//! Listeners: where a connection is opened for a single request. Every step of both sides is a call of its own, so that it
//! can be timed by itself, and says which `errno` it met.

use crate::control::retry;
use crate::io::epoll::{Epoll, Interest};
use crate::io::failed;
use crate::io::names::Unlink;
use crate::io::pipe;
use crate::io::socket::Kind;
use crate::io::socket::inet::{self, Inet, Protocol};
use crate::io::socket::meeting::{self, Name};
use crate::io::socket::vsock;
use ipcperf_core::{Missing, SetupError};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::fs::{FileType, Mode, OFlags};
use rustix::io::Errno;
use rustix::net::{self, AddressFamily, SendFlags, SocketAddrUnix, SocketFlags};
use std::ffi::CString;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// What a caller writes into the common FIFO to be told apart: its number.
const TICKET: usize = size_of::<u64>();
/// The number of no client: a server that reads it has only been woken.
const NOBODY: u64 = u64::MAX;

/// Where a listener is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Site {
    /// A UNIX socket.
    Unix(Kind, Name),
    /// A socket of such a protocol; port 0 lets the kernel choose when it is opened.
    Inet(Protocol, SocketAddr),
    /// A VM socket at a port of this machine; port 0 lets the kernel choose.
    Vsock(u32),
    /// FIFOs whose paths begin like this: a common one, into which a caller writes its number, and one for each caller,
    /// which it makes for its request, opens for reading while the server opens it for writing, and removes again.
    Fifo(PathBuf),
}

impl Site {
    /// Guards that remove what a killed server or client has left.
    #[must_use]
    pub fn sweep(&self, callers: u64) -> Vec<Unlink> {
        match self {
            Self::Unix(_, Name::Path(path)) => vec![Unlink::new(path.clone())],
            Self::Fifo(base) => {
                let own = (0..callers).map(|number| own_fifo(base, number));
                own.chain([common_fifo(base)]).map(Unlink::new).collect()
            }
            Self::Unix(..) | Self::Inet(..) | Self::Vsock(_) => Vec::new(),
        }
    }

    /// Whether anybody could be let in here; tried, not guessed.
    ///
    /// # Errors
    /// What is missing.
    pub fn probe(&self) -> Result<(), Missing> {
        let lacks = SetupError::into_missing;
        match self {
            Self::Unix(kind, name) => meeting::bind_unix(*kind, name).map(drop).map_err(lacks),
            Self::Inet(protocol, at) => {
                meeting::loopback(Inet { host: at.ip(), protocol: *protocol })
            }
            Self::Vsock(_) => vsock::probe(Kind::Stream, None).map_err(lacks),
            Self::Fifo(_) => pipe::may_make_fifos().map_err(lacks),
        }
    }
}

/// For so long a connection that is refused is made again.
const UNTIL_REFUSED: Duration = Duration::from_secs(2);

/// So long a connect takes at the most, ms: TCP drops what does not fit the backlog without a word, and asks again after 1 s.
const UNANSWERED_MS: i64 = 900;

/// Nobody listens, or there is no room for one more who waits.
const fn is_refusal(code: i32) -> bool {
    matches!(code, libc::ECONNREFUSED | libc::ECONNRESET | libc::EAGAIN | libc::ETIMEDOUT)
}

fn common_fifo(base: &Path) -> PathBuf {
    base.with_extension("listener")
}

fn own_fifo(base: &Path, number: u64) -> PathBuf {
    base.with_extension(format!("{number}"))
}

fn c_text(path: &Path) -> Result<CString, SetupError> {
    CString::new(path.as_os_str().as_bytes())
        .map_err(|_| SetupError::Protocol(format!("the path {} holds a zero", path.display())))
}

/// The inside of a listener.
#[derive(Debug)]
pub struct Listener {
    listener: OwnedFd,
    /// Where each caller waits: FIFOs only.
    own: Vec<CString>,
    epoll: Option<Epoll>,
    _guard: Option<Unlink>,
}

impl Listener {
    /// Opens the listener for callers with numbers below `callers`, of whom `backlog` may wait; says where it is.
    ///
    /// # Errors
    /// The call that failed.
    pub fn open(site: &Site, backlog: u64, callers: u64) -> Result<(Self, Site), SetupError> {
        let simple =
            |listener, guard| Self { listener, own: Vec::new(), epoll: None, _guard: guard };
        match site {
            Site::Unix(kind, name) => {
                let (listener, guard) = meeting::listen_unix(*kind, name, backlog)?;
                Ok((simple(listener, guard), site.clone()))
            }
            Site::Inet(protocol, at) => {
                let inet = Inet { host: at.ip(), protocol: *protocol };
                let listener = inet::socket(inet)?;
                let port = meeting::listen_inet(&listener, inet, backlog)?;
                let site = Site::Inet(*protocol, SocketAddr::new(at.ip(), port.number));
                Ok((simple(listener, None), site))
            }
            Site::Vsock(_) => {
                let (listener, port) = vsock::listen(Kind::Stream, None)?;
                let waiting = i32::try_from(backlog).unwrap_or(i32::MAX);
                net::listen(&listener, waiting).map_err(failed("listen"))?;
                Ok((simple(listener, None), Site::Vsock(port)))
            }
            Site::Fifo(base) => {
                let guard = pipe::make_fifo(common_fifo(base))?;
                // Open for writing too, so that it does not end whenever no caller has it open.
                let flags = OFlags::RDWR | OFlags::CLOEXEC;
                let listener = rustix::fs::open(guard.path(), flags, Mode::empty())
                    .map_err(failed("open of a FIFO"))?;
                let own = (0..callers).map(|number| c_text(&own_fifo(base, number)));
                let own = own.collect::<Result<_, _>>()?;
                Ok((Self { own, ..simple(listener, Some(guard)) }, site.clone()))
            }
        }
    }

    /// From now on [`Listener::accept`] returns `EAGAIN` when nobody waits, and [`Listener::await_caller`] waits.
    ///
    /// # Errors
    /// The call that failed.
    pub fn watch(&mut self) -> Result<(), SetupError> {
        pipe::set_nonblocking(&self.listener)?;
        self.epoll = Some(Epoll::watching(&self.listener, Interest::Readable)?);
        Ok(())
    }

    /// Sleeps until somebody calls; returns at once unless the listener is watched.
    ///
    /// # Errors
    /// The `errno`.
    #[inline]
    pub fn await_caller(&self) -> Result<(), i32> {
        self.epoll.as_ref().map_or(Ok(()), Epoll::wait)
    }

    /// Both ends of a new connection to `site`, where this listens, the caller's first, which does not block: for who has a
    /// connection before anybody is timed. The nonce tells the caller from strangers, who are turned away. Nothing waits for
    /// more to send. Also how often the connection was refused before: those who fill the backlog are turned away, and it is
    /// made again, for two seconds.
    ///
    /// # Errors
    /// The call that failed, or there is no connection at such a site.
    pub fn connection(&self, site: &Site, nonce: u64) -> Result<([OwnedFd; 2], u64), SetupError> {
        if matches!(site, Site::Fifo(_)) {
            let what = "a FIFO has one direction, and its reader cannot distinguish the writers";
            return Err(Missing::new(what, "a socket").into());
        }
        let (caller, begin, mut refused) = (Caller::new(site, 0)?, Instant::now(), 0);
        let outside = loop {
            match caller.reach() {
                Ok(socket) => break socket,
                Err(libc::EINTR) => {}
                Err(code) if is_refusal(code) && begin.elapsed() < UNTIL_REFUSED => {
                    refused += 1;
                    self.turn_away().map_err(failed("accept4"))?;
                    std::thread::sleep(Duration::from_millis(1));
                }
                Err(code) => return Err(SetupError::sys("connect", code)),
            }
        };
        meeting::introduce(&outside, nonce)?;
        let ends = [outside, meeting::admit(&self.listener, nonce)?];
        for end in &ends {
            match site {
                Site::Inet(Protocol::Sctp, _) => drop(inet::set_sctp_nodelay(end, true)?),
                Site::Inet(..) => drop(inet::set_nodelay(end, true)?),
                _ => {}
            }
            if matches!(site, Site::Inet(Protocol::Mptcp, _)) {
                inet::still_mptcp(end)?;
            }
        }
        Ok((ends, refused))
    }

    /// Lets in and closes all who wait, at most as many as can: none of them is a caller of ours.
    fn turn_away(&self) -> Result<(), Errno> {
        let now = rustix::event::Timespec { tv_sec: 0, tv_nsec: 0 };
        for _ in 0..=u16::MAX {
            let waits = || poll(&mut [PollFd::new(&self.listener, PollFlags::IN)], Some(&now));
            if retry(waits)? == 0 {
                break;
            }
            match net::accept_with(&self.listener, SocketFlags::CLOEXEC) {
                Ok(_) | Err(Errno::INTR | Errno::CONNABORTED) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Lets the next caller in; `None` when it was only somebody who wakes ([`Caller::wake`]).
    ///
    /// # Errors
    /// The `errno`.
    #[inline]
    pub fn accept(&self) -> Result<Option<OwnedFd>, i32> {
        if self.own.is_empty() {
            return net::accept_with(&self.listener, SocketFlags::CLOEXEC)
                .map(Some)
                .map_err(Errno::raw_os_error);
        }
        let mut ticket = [0; TICKET];
        let bytes = rustix::io::read(&self.listener, &mut ticket).map_err(Errno::raw_os_error)?;
        let number = u64::from_ne_bytes(ticket);
        if bytes != TICKET || number == NOBODY {
            return Ok(None);
        }
        let own = usize::try_from(number).ok().and_then(|number| self.own.get(number));
        let own = own.ok_or(libc::EINVAL)?;
        let flags = OFlags::WRONLY | OFlags::CLOEXEC;
        rustix::fs::open(own, flags, Mode::empty()).map(Some).map_err(Errno::raw_os_error)
    }
}

/// Says all of `answer` to somebody let in.
///
/// # Errors
/// The `errno`.
#[inline]
pub fn answer(to: &OwnedFd, site: &Site, mut answer: &[u8]) -> Result<(), i32> {
    while !answer.is_empty() {
        let sent = match site {
            Site::Fifo(_) => rustix::io::write(to, answer),
            _ => net::send(to, answer, SendFlags::NOSIGNAL),
        };
        match sent {
            Ok(bytes) => answer = answer.get(bytes..).unwrap_or_default(),
            Err(Errno::INTR) => {}
            Err(error) => return Err(error.raw_os_error()),
        }
    }
    Ok(())
}

/// The outside of a listener: somebody who calls again and again, one request at a time.
#[derive(Debug)]
pub struct Caller(Target);

#[derive(Debug)]
enum Target {
    Unix(Kind, SocketAddrUnix),
    Inet(Protocol, SocketAddr),
    Vsock(u32),
    Fifo { common: CString, own: CString, ticket: [u8; TICKET] },
}

/// A request under way: what will be connected, if there is anything before that.
#[derive(Debug)]
pub struct Call(Option<OwnedFd>);

impl Caller {
    /// Somebody with a number of its own.
    ///
    /// # Errors
    /// The place has no address.
    pub fn new(site: &Site, number: u64) -> Result<Self, SetupError> {
        let way = match site {
            Site::Unix(kind, name) => Target::Unix(*kind, name.address()?),
            Site::Inet(protocol, at) => Target::Inet(*protocol, *at),
            Site::Vsock(port) => Target::Vsock(*port),
            Site::Fifo(base) => Target::Fifo {
                common: c_text(&common_fifo(base))?,
                own: c_text(&own_fifo(base, number))?,
                ticket: number.to_ne_bytes(),
            },
        };
        Ok(Self(way))
    }

    /// Makes what will be connected: a socket, or a FIFO of its own.
    ///
    /// # Errors
    /// The `errno`.
    #[inline]
    pub fn socket(&self, nonblocking: bool) -> Result<Call, i32> {
        let wait = if nonblocking { SocketFlags::NONBLOCK } else { SocketFlags::empty() };
        let make = |family, kind: Kind, protocol| {
            let flags = SocketFlags::CLOEXEC | wait;
            net::socket_with(family, kind.socket_type(), flags, protocol).map(Some)
        };
        let made = match &self.0 {
            Target::Unix(kind, _) => make(AddressFamily::UNIX, *kind, None),
            Target::Inet(protocol, at) => {
                make(inet::family(at.ip()), Kind::Stream, inet::number(*protocol))
            }
            Target::Vsock(_) => make(AddressFamily::VSOCK, Kind::Stream, None),
            Target::Fifo { own, .. } => {
                let mode = Mode::RUSR | Mode::WUSR;
                rustix::fs::mknodat(rustix::fs::CWD, own, FileType::Fifo, mode, 0).map(|()| None)
            }
        };
        made.map(Call).map_err(Errno::raw_os_error)
    }

    /// Connects. Not blocking it may have to be tried again: `EINPROGRESS`, `EALREADY`, and `EISCONN` once it is done.
    ///
    /// # Errors
    /// The `errno`.
    #[inline]
    pub fn connect(&self, call: &mut Call) -> Result<(), i32> {
        let done = match (&self.0, &call.0) {
            (Target::Unix(_, address), Some(socket)) => net::connect(socket, address),
            (Target::Inet(_, address), Some(socket)) => net::connect(socket, address),
            (Target::Vsock(port), Some(socket)) => vsock::connect_raw(socket, *port),
            (Target::Fifo { common, own, ticket }, _) => {
                meet(common, own, ticket).map(|fd| call.0 = Some(fd))
            }
            (_, None) => Err(Errno::BADF),
        };
        done.map_err(Errno::raw_os_error)
    }

    /// A socket that is connected and does not block; `ETIMEDOUT` where nobody says that it is.
    fn reach(&self) -> Result<OwnedFd, i32> {
        let mut call = self.socket(true)?;
        let begun = self.connect(&mut call);
        let socket = call.0.ok_or(libc::EBADF)?;
        if begun == Err(libc::EINPROGRESS) {
            let limit = rustix::event::Timespec { tv_sec: 0, tv_nsec: UNANSWERED_MS * 1_000_000 };
            let over = || poll(&mut [PollFd::new(&socket, PollFlags::OUT)], Some(&limit));
            return match retry(over).map_err(Errno::raw_os_error)? {
                0 => Err(libc::ETIMEDOUT),
                _ => match net::sockopt::socket_error(&socket).map_err(Errno::raw_os_error)? {
                    Ok(()) => Ok(socket),
                    Err(error) => Err(error.raw_os_error()),
                },
            };
        }
        begun.map(|()| socket)
    }

    /// Ends a request, whatever became of it.
    #[inline]
    pub fn close(&self, call: Call) {
        drop(call);
        if let Target::Fifo { own, .. } = &self.0 {
            // It may never have been made.
            let _ = rustix::fs::unlink(own);
        }
    }

    /// Wakes the server: [`Listener::accept`] returns no client, or one that asks for nothing. A server that is gone need not
    /// be woken, nor one at which as many clients wait as may wait.
    ///
    /// # Errors
    /// The `errno`.
    pub fn wake(&self) -> Result<(), i32> {
        match self.knock() {
            // Nobody listens, the path is removed, or the FIFO has no reader any more.
            Err(
                libc::ECONNREFUSED | libc::ECONNRESET | libc::EPIPE | libc::ENOENT | libc::ENXIO,
            ) => Ok(()),
            // No room for one more who waits.
            Err(libc::EAGAIN) => Ok(()),
            knocked => knocked,
        }
    }

    fn knock(&self) -> Result<(), i32> {
        if let Target::Fifo { common, .. } = &self.0 {
            let flags = OFlags::WRONLY | OFlags::NONBLOCK | OFlags::CLOEXEC;
            let written = rustix::fs::open(common, flags, Mode::empty())
                .and_then(|fifo| rustix::io::write(&fifo, &NOBODY.to_ne_bytes()));
            return written.map(drop).map_err(Errno::raw_os_error);
        }
        let mut call = self.socket(true)?;
        let mut tried = self.connect(&mut call);
        if tried == Err(libc::EADDRNOTAVAIL) {
            // Those who called before have left every port in TIME_WAIT.
            (call, tried) = self.call_elsewhere()?;
        }
        match tried {
            Ok(()) | Err(libc::EINPROGRESS | libc::EISCONN) => {
                // The connection must stay until it is accepted: a listener need not tell of one that went away.
                call.0.as_ref().map_or(Ok(()), |fd| await_end(fd).or(Ok(())))
            }
            Err(error) => Err(error),
        }
    }
}

/// Ports that the kernel gives to nobody who asks for none, unless its range was changed.
const UNASKED: std::ops::Range<u16> = 2000..2100;

impl Caller {
    /// A TCP call from an address that no other call has.
    fn call_elsewhere(&self) -> Result<(Call, Result<(), i32>), i32> {
        let Target::Inet(_, at) = &self.0 else { return Err(libc::EADDRNOTAVAIL) };
        let own: Vec<SocketAddr> = match at.ip() {
            // All of 127.0.0.0/8 is this host.
            IpAddr::V4(_) => vec![any_port(IpAddr::from([127, 0, 0, 2]))],
            host @ IpAddr::V6(_) => UNASKED.map(|port| SocketAddr::new(host, port)).collect(),
        };
        for from in own {
            let mut call = self.socket(true)?;
            let is_bound = call.0.as_ref().is_some_and(|socket| net::bind(socket, &from).is_ok());
            if is_bound {
                let tried = self.connect(&mut call);
                return Ok((call, tried));
            }
        }
        Err(libc::EADDRNOTAVAIL)
    }
}

/// Says who waits, and waits: the open returns when the server has opened the other end.
fn meet(common: &CString, own: &CString, ticket: &[u8]) -> Result<OwnedFd, Errno> {
    let fifo = rustix::fs::open(common, OFlags::WRONLY | OFlags::CLOEXEC, Mode::empty())?;
    // Far below PIPE_BUF: written whole.
    rustix::io::write(&fifo, ticket)?;
    drop(fifo);
    retry(|| rustix::fs::open(own, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty()))
}

/// Waits, at most a second, until the other side has hung up, or has something to say.
///
/// # Errors
/// The `errno`; `ETIMEDOUT` after the second.
#[inline]
pub fn await_end(fd: &OwnedFd) -> Result<(), i32> {
    let limit = rustix::event::Timespec { tv_sec: 1, tv_nsec: 0 };
    match retry(|| poll(&mut [PollFd::new(fd, PollFlags::IN)], Some(&limit))) {
        Ok(0) => Err(libc::ETIMEDOUT),
        other => other.map(drop).map_err(Errno::raw_os_error),
    }
}

impl Call {
    /// Waits until it can be written to: a connect that was in progress is over.
    ///
    /// # Errors
    /// The `errno`; `EINTR` where a signal came.
    #[inline]
    pub fn await_writable(&self) -> Result<(), i32> {
        self.wait(PollFlags::OUT)
    }

    /// Waits until there is something to read, or the end.
    ///
    /// # Errors
    /// The `errno`; `EINTR` where a signal came.
    #[inline]
    pub fn await_readable(&self) -> Result<(), i32> {
        self.wait(PollFlags::IN)
    }

    fn wait(&self, what: PollFlags) -> Result<(), i32> {
        let fd = self.0.as_ref().ok_or(libc::EBADF)?;
        poll(&mut [PollFd::new(fd, what)], None).map(drop).map_err(Errno::raw_os_error)
    }

    /// Reads; 0 is the end.
    ///
    /// # Errors
    /// The `errno`; `EINTR` where a signal came.
    #[inline]
    pub fn read(&self, into: &mut [u8]) -> Result<usize, i32> {
        let fd = self.0.as_ref().ok_or(libc::EBADF)?;
        rustix::io::read(fd, into).map_err(Errno::raw_os_error)
    }
}

/// The loopback address of TCP that a listener gets, its port still open.
#[must_use]
pub const fn any_port(host: IpAddr) -> SocketAddr {
    SocketAddr::new(host, 0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::{Ipv4Addr, Ipv6Addr};

    #[test]
    fn both_ends_of_a_connection_are_those_that_belong_together() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = |name: &str| Name::Path(directory.path().join(name));
        let mut sites = vec![
            Site::Unix(Kind::Stream, path("stream")),
            Site::Unix(Kind::SeqPacket, path("packets")),
        ];
        let loopback = any_port(Ipv4Addr::LOCALHOST.into());
        let protocols =
            [("tcp", Protocol::Tcp), ("mptcp", Protocol::Mptcp), ("sctp", Protocol::Sctp)];
        for (name, protocol) in protocols {
            let site = Site::Inet(protocol, loopback);
            match site.probe() {
                Ok(()) => sites.push(site),
                Err(missing) => crate::skipped::skipped(name, missing),
            }
        }
        for site in sites {
            let (listener, at) = Listener::open(&site, 16, 0).expect("a listener");
            let ends = (0..20).map(|nonce| listener.connection(&at, nonce).expect("a connection"));
            let ends: Vec<_> = ends.collect();
            for (number, ([outside, inside], _)) in ends.iter().enumerate() {
                let said = [number as u8, 7];
                net::send(outside, &said, SendFlags::NOSIGNAL).expect("room");
                let mut heard = [0; 8];
                let bytes = rustix::io::read(inside, &mut heard).expect("what was said");
                assert_eq!(heard.get(..bytes), Some(&said[..]), "{site:?}");
            }
        }
    }

    #[test]
    fn a_connection_that_is_refused_while_others_fill_the_backlog_is_counted_and_made() {
        let directory = tempfile::tempdir().expect("a directory");
        for site in [
            Site::Unix(Kind::Stream, Name::Path(directory.path().join("s"))),
            Site::Inet(Protocol::Tcp, any_port(Ipv4Addr::LOCALHOST.into())),
        ] {
            let (listener, at) = Listener::open(&site, 1, 0).expect("a listener");
            let stranger = Caller::new(&at, 1).expect("an address");
            let mut crowd = Vec::new();
            // One more than may wait is let in, and the next is refused.
            loop {
                match stranger.reach() {
                    Ok(socket) => crowd.push(socket),
                    Err(code) => break assert!(is_refusal(code), "{site:?}: {code}"),
                }
                assert!(crowd.len() < 10, "{site:?}: a backlog without an end");
            }
            let ([outside, inside], refused) =
                listener.connection(&at, 7).unwrap_or_else(|error| panic!("{site:?}: {error}"));
            assert!(refused >= 1, "{site:?}");
            net::send(&outside, b"x", SendFlags::NOSIGNAL).expect("room");
            assert_eq!(rustix::io::read(&inside, &mut [0; 8]), Ok(1), "{site:?}");
        }
    }

    #[test]
    fn a_connection_that_stays_refused_is_an_error_that_names_it() {
        let loopback = any_port(Ipv4Addr::LOCALHOST.into());
        let site = Site::Inet(Protocol::Tcp, loopback);
        let (gone, nowhere) = Listener::open(&site, 1, 0).expect("a listener");
        let (listener, _) = Listener::open(&site, 1, 0).expect("a listener");
        drop(gone);
        let refused = listener.connection(&nowhere, 7).map(drop).expect_err("nobody listens there");
        assert!(refused.to_string().starts_with("connect: "), "{refused}");
        assert!(refused.to_string().contains("refused"), "{refused}");
    }

    fn one_request(site: &Site) {
        let (listener, at) = Listener::open(site, 4, 2).expect("a listener");
        let caller = Caller::new(&at, 1).expect("an address");
        let served = std::thread::scope(|scope| {
            let client = scope.spawn(|| {
                let mut call = caller.socket(false).expect("a socket");
                caller.connect(&mut call).expect("somebody listens");
                let mut got = [0; 8];
                let bytes = call.read(&mut got).expect("an answer");
                assert_eq!(call.read(&mut got[bytes..]), Ok(0));
                caller.close(call);
                got[..bytes].to_vec()
            });
            let inside = listener.accept().expect("a caller").expect("not only woken");
            answer(&inside, &at, b"here").expect("it listens");
            drop(inside);
            client.join().expect("no panic")
        });
        assert_eq!(served, b"here");
    }

    #[test]
    fn every_listener_answers_a_request() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = |name: &str| Name::Path(directory.path().join(name));
        let loopback = any_port(Ipv4Addr::LOCALHOST.into());
        let unnamed = Name::Abstract(format!("ipcperf-listeners-{}", std::process::id()));
        let mut sites = vec![
            Site::Unix(Kind::Stream, path("stream")),
            Site::Unix(Kind::SeqPacket, path("packets")),
            Site::Unix(Kind::Stream, unnamed),
            Site::Inet(Protocol::Tcp, loopback),
            Site::Fifo(directory.path().join("f")),
        ];
        for (name, site) in [
            ("tcp6", Site::Inet(Protocol::Tcp, any_port(Ipv6Addr::LOCALHOST.into()))),
            ("vsock", Site::Vsock(0)),
        ] {
            match site.probe() {
                Ok(()) => sites.push(site),
                Err(missing) => crate::skipped::skipped(name, missing),
            }
        }
        for site in sites {
            one_request(&site);
        }
        assert_eq!(directory.path().read_dir().expect("it exists").count(), 0, "all removed");
    }

    /// Anybody who connects wakes a server that is to end, and it removes its path.
    #[test]
    fn who_is_gone_or_awake_need_not_be_woken() {
        let directory = tempfile::tempdir().expect("a directory");
        let named = |name: &str| Site::Unix(Kind::Stream, Name::Path(directory.path().join(name)));
        let unnamed = Name::Abstract(format!("ipcperf-awake-{}", std::process::id()));
        for site in [
            named("gone"),
            Site::Unix(Kind::Stream, unnamed),
            Site::Inet(Protocol::Tcp, any_port(Ipv4Addr::LOCALHOST.into())),
            Site::Fifo(directory.path().join("f")),
        ] {
            let (listener, at) = Listener::open(&site, 4, 2).expect("a listener");
            drop(listener);
            assert_eq!(Caller::new(&at, 0).expect("an address").wake(), Ok(()), "{site:?}");
        }
        let (_door, at) = Listener::open(&named("full"), 0, 2).expect("a listener");
        let waiting = Caller::new(&at, 1).expect("an address");
        let mut call = waiting.socket(true).expect("a socket");
        waiting.connect(&mut call).expect("one may wait");
        assert_eq!(waiting.wake(), Ok(()));
    }

    /// A server that died leaves what has a path, and one that follows is told so; what has none is free at once.
    #[test]
    fn after_a_dead_server_another_one_listens_once_its_path_is_swept() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = |name: &str| Name::Path(directory.path().join(name));
        let unnamed = Name::Abstract(format!("ipcperf-restart-{}", std::process::id()));
        let in_use = ipcperf_core::errno::text(libc::EADDRINUSE);
        for (site, told) in [
            (Site::Unix(Kind::Stream, path("stream")), in_use.as_str()),
            (Site::Unix(Kind::SeqPacket, path("packets")), in_use.as_str()),
            (Site::Unix(Kind::Stream, unnamed), ""),
            (Site::Fifo(directory.path().join("f")), "File exists"),
        ] {
            let (mut listener, _) = Listener::open(&site, 4, 2).expect("a listener");
            // As when it is killed: its descriptors are closed, and nothing is removed.
            listener._guard.take().into_iter().for_each(std::mem::forget);
            drop(listener);
            let again = Listener::open(&site, 4, 2).err().map(|error| error.to_string());
            assert!(again.clone().unwrap_or_default().ends_with(told), "{site:?}: {again:?}");
            assert_eq!(again.is_some(), !told.is_empty(), "{site:?}: {again:?}");
            drop(site.sweep(2));
            one_request(&site);
        }
    }

    #[test]
    fn a_server_that_waits_in_a_fifo_is_woken() {
        let directory = tempfile::tempdir().expect("a directory");
        let (listener, at) =
            Listener::open(&Site::Fifo(directory.path().join("f")), 4, 1).expect("a listener");
        Caller::new(&at, 0).expect("a path").wake().expect("it is open");
        assert!(listener.accept().expect("a ticket").is_none());
    }
}

//! UNIX stream sockets: a pair, or a listener found by path or abstract name.

use crate::port::batch::BatchPort;
use crate::port::incoming::Pieces;
use crate::port::outgoing::Slots;
use crate::stream::STREAM;
use crate::stream::stream_port::StreamPort;
use crate::wait::{Block, Epoll, EpollEdge, Wait, by_class, waiting};
use ipcperf_core::prelude::*;
use ipcperf_sys::io::names::Unlink;
use ipcperf_sys::io::socket::batch;
use ipcperf_sys::io::socket::meeting::{self, Name};
use ipcperf_sys::io::socket::{self, Kind};
use std::marker::PhantomData;
use std::os::fd::OwnedFd;

ipcperf_core::options! {
    /// Knobs of UNIX stream sockets.
    pub struct UnixStreamOptions {
        /// How the ends meet; the data then takes the same path.
        pub bind: String = ("socketpair".into(), "socketpair", Choice { words: &["socketpair", "path", "abstract"] }),
        /// Send buffer (SO_SNDBUF); the kernel doubles what is asked for.
        pub sndbuf: Option<u64> = (None, "net.core.wmem_default (208K)", Bytes { min: 2048, max: 1 << 30 }),
        /// Receive buffer (SO_RCVBUF); UNIX sockets do not use it.
        pub rcvbuf: Option<u64> = (None, "net.core.rmem_default (208K)", Bytes { min: 2048, max: 1 << 30 }),
        /// Connections that may wait at the listener of a name; a pair has no listener, and 0 is told.
        pub backlog: u64 = (meeting::backlog(), "511, or net.core.somaxconn", Count { min: 0, max: 65_535 }),
        /// Messages of one call; read by unix-stream/mmsg alone, and 1 everywhere else.
        pub batch: u64 = (16, "16", Count { min: 1, max: 64 }),
    }
}

impl UnixStreamOptions {
    /// Where the ends meet; `None` for a pair.
    fn name(&self, shape: &Shape) -> Result<Option<Name>, Missing> {
        Ok(match self.bind.as_str() {
            "path" => Some(Name::Path(shape.path("socket")?)),
            "abstract" => Some(Name::Abstract(shape.name("socket"))),
            _ => None,
        })
    }

    /// A pair has no listener; who connects then meets the server at a path.
    fn listener(&self) -> ListenerKind {
        if self.bind == "abstract" { ListenerKind::UnixAbstract } else { ListenerKind::UnixPath }
    }

    fn shares(&self) -> Namespaces {
        match self.bind.as_str() {
            "path" => Namespaces::MNT,
            "abstract" => Namespaces::NET,
            _ => Namespaces::NONE,
        }
    }

    fn probe(&self) -> Result<(), Missing> {
        meeting::allow_backlog(self.backlog)?;
        let (_run, shape) = crate::trial_where(self.bind == "path")?;
        self.open(&shape).map_err(crate::missing)?;
        let tried = socket::pair(Kind::Stream)
            .and_then(|(one, _)| socket::set_buffers(one, self.sndbuf, self.rcvbuf));
        tried.map(drop).map_err(crate::missing)
    }

    fn open(&self, shape: &Shape) -> Result<Link, SetupError> {
        let name = self.name(shape)?;
        // The kernel does not tell the number of a UNIX listener, but it takes every one that is not above its limit.
        let backlog = if name.is_some() { self.backlog } else { 0 };
        let link = listen(Kind::Stream, name.as_ref(), backlog, shape)?;
        Ok(link.granted("bind", &self.bind).granted("backlog", backlog))
    }

    /// In a worker: the own end, and what its knobs became.
    fn join(end: &mut Attach<'_, Self>) -> Result<OwnedFd, SetupError> {
        let name = end.options.name(end.shape)?;
        let own = connect(Kind::Stream, name.as_ref(), end.options.backlog, end)?;
        if let (Some(Name::Path(path)), Seat::Follow) = (name, end.seat) {
            drop(Unlink::new(path));
        }
        let buffers = socket::set_buffers(&own, end.options.sndbuf, end.options.rcvbuf)?;
        end.effective("sndbuf", buffers.send);
        end.effective("rcvbuf", buffers.receive);
        Ok(own)
    }
}

/// In the coordinator: a pair, or a listener that is found by its name. Where the ends are apart, the follow makes it.
pub(crate) fn listen(
    kind: Kind,
    name: Option<&Name>,
    backlog: u64,
    shape: &Shape,
) -> Result<Link, SetupError> {
    let Some(name) = name else {
        let (lead, follow) = socket::pair(kind)?;
        return Ok(Link::of_fds([lead], [follow]));
    };
    if shape.is_apart {
        let guard = match name {
            Name::Path(path) => Some(Unlink::new(path.clone())),
            Name::Abstract(_) => None,
        };
        return Ok(Link::default().guarded(guard));
    }
    let (listener, guard) = meeting::listen_unix(kind, name, backlog)?;
    Ok(Link::of_fds([], [listener]).guarded(guard))
}

/// In a worker: the own end of what [`listen`] has made.
pub(crate) fn connect<O>(
    kind: Kind,
    name: Option<&Name>,
    backlog: u64,
    end: &mut Attach<'_, O>,
) -> Result<OwnedFd, SetupError> {
    if let (Some(name), Seat::Lead) = (name, end.seat) {
        if end.shape.is_apart {
            end.meet.swap(Wiring::default())?;
        }
        return meeting::connect_unix(kind, name, end.shape.nonce);
    }
    if let (Some(name), true) = (name, end.shape.is_apart) {
        let (listener, _guard) = meeting::listen_unix(kind, name, backlog)?;
        end.meet.swap(Wiring::default())?;
        return meeting::admit(&listener, end.shape.nonce);
    }
    let [own] = end.descriptors()?;
    if name.is_some() { meeting::admit(&own, end.shape.nonce) } else { Ok(own) }
}

/// A UNIX stream socket.
#[derive(Debug)]
pub struct UnixStream<W>(PhantomData<W>);

impl<W: Wait> Mechanism for UnixStream<W> {
    const SPEC: &'static Spec = &Spec {
        name: "unix-stream",
        summary: by_class(
            W::CLASS,
            "A UNIX stream socket; a reader sleeps in read.",
            "A UNIX stream socket, not blocking; both ends ask again and again.",
            "A UNIX stream socket, not blocking; a reader sleeps in epoll_wait, then reads.",
        ),
        manual: &["unix(7)", "socketpair(2)", "socket(7)"],
        pitfalls: &[
            "Each side of a pair must use its own end: an end reads only its peer's bytes.",
            "Only the send buffer limits a fast sender; SO_RCVBUF has no effect.",
            "A path outlives its listener, and an abstract name has no permissions.",
        ],
        direction: Direction::TwoWay,
        reach: Reach::Named,
        shares_by_name: Namespaces::MNT,
        on_restart: OnRestart::Reopens,
        producers: Peers::One,
        consumers: Peers::One,
        descriptors: true,
        needs: &["CONFIG_UNIX"],
        ..waiting::<W>(STREAM)
    };
    type Options = UnixStreamOptions;
    type Port = StreamPort<W>;

    fn probe(options: &UnixStreamOptions) -> Result<(), Missing> {
        options.probe()
    }

    fn listener(options: &UnixStreamOptions) -> Option<ListenerKind> {
        Some(options.listener())
    }

    fn shares(options: &UnixStreamOptions) -> Namespaces {
        options.shares()
    }

    fn open(shape: &Shape, options: &UnixStreamOptions) -> Result<Link, SetupError> {
        options.open(shape)
    }

    fn attach(mut end: Attach<'_, UnixStreamOptions>) -> Result<Self::Port, SetupError> {
        end.effective("batch", 1);
        StreamPort::of_socket(UnixStreamOptions::join(&mut end)?, end.shape)
    }
}

/// A UNIX stream socket whose ends wait as those of an asynchronous runtime.
#[derive(Debug)]
pub struct UnixStreamEdge;

impl Mechanism for UnixStreamEdge {
    const SPEC: &'static Spec = &Spec {
        summary: "A UNIX stream socket, not blocking; a reader reads, and sleeps in epoll_wait for an edge where there is nothing.",
        manual: &["epoll(7)", "unix(7)", "socketpair(2)"],
        pitfalls: &[
            "An edge is reported once: a reader that stops before EAGAIN gets no event for the rest.",
            "It makes more calls than level-triggered waiting: most reads come twice, and room to send wakes a reader too.",
            "A wake-up for room need not be a loss: the peer has just read, and the end is awake when its answer comes.",
        ],
        ..waiting::<EpollEdge>(*UnixStream::<Epoll>::SPEC)
    };
    type Options = UnixStreamOptions;
    type Port = StreamPort<EpollEdge>;

    fn probe(options: &UnixStreamOptions) -> Result<(), Missing> {
        options.probe()
    }

    fn open(shape: &Shape, options: &UnixStreamOptions) -> Result<Link, SetupError> {
        options.open(shape)
    }

    fn attach(mut end: Attach<'_, UnixStreamOptions>) -> Result<Self::Port, SetupError> {
        end.effective("batch", 1);
        StreamPort::of_socket(UnixStreamOptions::join(&mut end)?, end.shape)
    }
}

/// A UNIX stream socket that moves many messages with one call.
#[derive(Debug)]
pub struct UnixStreamMmsg;

impl Mechanism for UnixStreamMmsg {
    const SPEC: &'static Spec = &Spec {
        name: "unix-stream",
        variant: Some("mmsg"),
        default: false,
        summary: "A UNIX stream socket; sendmmsg hands over a batch, and recvmmsg sleeps, then takes what is there.",
        manual: &["sendmmsg(2)", "recvmmsg(2)", "unix(7)"],
        pitfalls: &[
            "One call at each end moves a whole batch when messages flow; the declared calls are for a message sent separately.",
            "A round trip gains nothing: each message is sent separately, by calls that cost more than read and write.",
            "A message waits until its batch is full or the sender flushes, so it has the latency of a batch.",
            "A stream has no boundaries: a slot may hold part of a message, which takes one more copy to assemble.",
        ],
        ..*UnixStream::<Block>::SPEC
    };
    type Options = UnixStreamOptions;
    type Port = BatchPort<Slots, Pieces>;

    fn probe(options: &UnixStreamOptions) -> Result<(), Missing> {
        options.probe()?;
        batch::may_send().and_then(|()| batch::may_receive()).map_err(crate::missing)
    }

    fn lends(_: &UnixStreamOptions) -> [Lends; 2] {
        // One message behind the other.
        [Lends::Place; 2]
    }

    fn shares(options: &UnixStreamOptions) -> Namespaces {
        options.shares()
    }

    fn open(shape: &Shape, options: &UnixStreamOptions) -> Result<Link, SetupError> {
        options.open(shape)
    }

    fn attach(mut end: Attach<'_, UnixStreamOptions>) -> Result<Self::Port, SetupError> {
        let own = UnixStreamOptions::join(&mut end)?;
        let (outgoing, incoming) =
            (Slots::new(end.options.batch, end.shape)?, Pieces::new(end.options.batch, end.shape)?);
        end.effective("batch", outgoing.count());
        Ok(BatchPort::new(own, outgoing, incoming))
    }
}

//! gRPC by tonic over a UNIX socket: one call, which has a stream of messages each way, or a call for each message.

use crate::library::LIBRARY;
use ::tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use ::tokio::net::UnixStream;
use ::tokio::runtime::{Builder, Runtime};
use ::tokio::sync::{Notify, mpsc, oneshot};
use ::tokio::task::JoinHandle;
use hyper_util::rt::TokioIo;
use ipcperf::prelude::*;
use ipcperf::tools::Buffer;
use ipcperf::tools::socket::{self, Kind};
use prost::Message as _;
use std::collections::VecDeque;
use std::convert::Infallible;
use std::io::{self, IoSlice};
use std::os::fd::OwnedFd;
use std::os::unix::net;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::task::{Context, Poll, ready};
use tonic::body::Body;
use tonic::codegen::http::uri::PathAndQuery;
use tonic::codegen::tokio_stream::wrappers::ReceiverStream;
use tonic::codegen::{BoxFuture, Bytes, Service, http, tokio_stream};
use tonic::transport::server::Connected;
use tonic::transport::{Channel, Endpoint, Server};
use tonic::{Code, Request, Response, Status, Streaming};
use tonic_prost::ProstCodec;

/// What holds of both.
const GRPC: Spec = Spec {
    name: "grpc",
    wait: Wait::Epoll,
    manual: &["unix(7)", "epoll(7)"],
    payload: Payload::Message { max: None },
    direction: Direction::TwoWay,
    reach: Reach::Named,
    // The descriptors of a pair are handed over.
    shares: Namespaces::NONE,
    shares_by_name: Namespaces::MNT,
    producers: Peers::One,
    consumers: Peers::One,
    on_death: OnClose::Told,
    on_restart: OnRestart::Reopens,
    // Into the library's memory, encoded, into the kernel, out of it, into a message.
    copies: 5,
    needs: &["CONFIG_UNIX"],
    over: Some("unix-stream/epoll"),
    ..LIBRARY
};

const RUNTIME: &str = "Both ends run in a runtime of one thread, which a call enters anew; a server that has several hands work over \
                       between them.";
const KERNEL: &str = "A send returns when the kernel has the message, and not, as in a program, when the library has it: nothing gathers.";
const LIMIT: &str =
    "By default tonic refuses to receive a message beyond 4 MiB; here the limit is raised.";

fn tried() -> Result<(), Missing> {
    let tried = socket::pair(Kind::Stream).and_then(|_| runtime());
    tried.map(drop).map_err(ipcperf::tools::missing)
}

fn pair() -> Result<Link, SetupError> {
    let (lead, follow) = socket::pair(Kind::Stream)?;
    Ok(Link::of_fds([lead], [follow]))
}

/// Messages of both ends in one call, which lasts as long as the channel.
#[derive(Debug)]
pub struct GrpcStream;

impl Mechanism for GrpcStream {
    const SPEC: &'static Spec = &Spec {
        variant: Some("stream"),
        summary: "One call of gRPC with a stream of messages each way, by tonic over a UNIX socket; an end sleeps in epoll_wait.",
        pitfalls: &[RUNTIME, KERNEL, LIMIT],
        ..GRPC
    };
    type Options = NoOptions;
    type Port = GrpcStreamPort;

    fn probe(_: &NoOptions) -> Result<(), Missing> {
        tried()
    }

    fn lends(_: &NoOptions) -> [Lends; 2] {
        [Lends::Buffer, Lends::Place]
    }

    fn open(_: &Shape, _: &NoOptions) -> Result<Link, SetupError> {
        pair()
    }

    fn attach(mut end: Attach<'_, NoOptions>) -> Result<GrpcStreamPort, SetupError> {
        let mut side = Side::new(&mut end)?;
        let (sender, received) = match end.seat {
            Seat::Lead => side.lead()?,
            Seat::Follow => side.follow()?,
        };
        Ok(GrpcStreamPort { sender: Some(sender), received, side })
    }
}

/// A call for each message of the lead, which the follow answers.
#[derive(Debug)]
pub struct GrpcUnary;

impl Mechanism for GrpcUnary {
    const SPEC: &'static Spec = &Spec {
        variant: Some("unary"),
        default: false,
        summary: "A call of gRPC for each message, answered by the next one back, by tonic over a UNIX socket; an end sleeps in \
                  epoll_wait.",
        pitfalls: &[
            RUNTIME,
            "Each call has headers and trailers of its own, each way, beside its message.",
            "The server cannot send unasked: what it sends is the answer to the oldest call.",
            LIMIT,
        ],
        exchange: Transfers::Calls,
        ..GRPC
    };
    type Options = NoOptions;
    type Port = GrpcUnaryPort;

    fn probe(_: &NoOptions) -> Result<(), Missing> {
        tried()
    }

    fn lends(_: &NoOptions) -> [Lends; 2] {
        [Lends::Buffer, Lends::Place]
    }

    fn open(_: &Shape, _: &NoOptions) -> Result<Link, SetupError> {
        pair()
    }

    fn attach(mut end: Attach<'_, NoOptions>) -> Result<GrpcUnaryPort, SetupError> {
        let mut side = Side::new(&mut end)?;
        let calls = match end.seat {
            Seat::Lead => Calls::Made { client: Some(side.client()?), waiting: VecDeque::new() },
            Seat::Follow => {
                let (to, received) = mpsc::unbounded_channel();
                side.serve(Unary(to));
                Calls::Answered { received, waiting: VecDeque::new(), count: 0 }
            }
        };
        Ok(GrpcUnaryPort { calls, side })
    }
}

fn runtime() -> Result<Runtime, SetupError> {
    let runtime = Builder::new_current_thread().enable_all().build();
    runtime.map_err(SetupError::io("start a runtime"))
}

/// `message Packet { bytes body = 1; }`, derived here, so that no protoc is needed.
#[derive(Clone, PartialEq, prost::Message)]
struct Packet {
    #[prost(bytes = "bytes", tag = "1")]
    body: Bytes,
}

/// What travels in the frames of data for it.
fn encoded(packet: &Packet) -> u64 {
    const PREFIX: usize = 5;
    (PREFIX + packet.encoded_len()) as u64
}

fn codec() -> ProstCodec<Packet, Packet> {
    ProstCodec::default()
}

fn path() -> PathAndQuery {
    PathAndQuery::from_static("/ipcperf.Port/Pass")
}

fn refused(status: &Status) -> Fault {
    match status.code() {
        Code::OutOfRange | Code::ResourceExhausted => Fault::TooLong,
        _ => Fault::Closed,
    }
}

/// One end of a connection: the runtime that drives it, and what it has written.
struct Side {
    runtime: Runtime,
    wire: Option<Wire>,
    written: Arc<Written>,
    /// What [`Written::data`] is when all has been written.
    due: u64,
    buffer: Buffer,
}

impl Side {
    fn new(end: &mut Attach<'_, NoOptions>) -> Result<Self, SetupError> {
        let [own] = end.descriptors()?;
        let runtime = runtime()?;
        let written = Arc::new(Written::default());
        let wire = {
            let _inside = runtime.enter();
            Wire::new(own, end.seat, Arc::clone(&written))?
        };
        let buffer = Buffer::new(end.shape.size, end.shape.buffer_offset)?;
        Ok(Self { runtime, wire: Some(wire), written, due: 0, buffer })
    }

    fn client(&mut self) -> Result<tonic::client::Grpc<Channel>, SetupError> {
        // A connection that is lost is not made again.
        let mut wire = self.wire.take();
        let connect = tower::service_fn(move |_| {
            let wire = wire.take().map(TokioIo::new);
            async move { wire.ok_or_else(|| io::Error::from(io::ErrorKind::NotConnected)) }
        });
        let endpoint = Endpoint::from_static("http://ipcperf");
        let connected = self.runtime.block_on(endpoint.connect_with_connector(connect));
        let channel = connected.map_err(|error| SetupError::Protocol(error.to_string()))?;
        Ok(tonic::client::Grpc::new(channel).max_decoding_message_size(usize::MAX))
    }

    fn serve<S>(&mut self, service: S)
    where
        S: Service<http::Request<Body>, Response = http::Response<Body>, Error = Infallible>,
        S: Clone + Send + 'static,
        S::Future: Send,
    {
        let wire = tokio_stream::iter(self.wire.take().map(Ok::<_, Infallible>));
        self.runtime.spawn(Server::builder().serve_with_incoming(service, wire));
    }

    /// In the client: the call that lasts, once the server has accepted it.
    fn lead(&mut self) -> Result<Ends, SetupError> {
        let mut client = self.client()?;
        let (sender, packets) = mpsc::channel(1);
        let answered = self.runtime.block_on(async {
            client.ready().await.map_err(|error| Status::from_error(error.into()))?;
            client.streaming(Request::new(ReceiverStream::new(packets)), path(), codec()).await
        });
        let answered = answered.map_err(|status| SetupError::Protocol(status.to_string()))?;
        Ok((sender, answered.into_inner()))
    }

    /// In the server: that call, once the client can know that it was accepted.
    fn follow(&mut self) -> Result<Ends, SetupError> {
        let (to, mut calls) = mpsc::channel(1);
        self.serve(Stream(to));
        let lost = || SetupError::Protocol("nobody called".into());
        self.runtime.block_on(async {
            let ends = calls.recv().await.ok_or_else(lost)?;
            self.written.until(|wire| &wire.heads, 1).await.map_err(|_| lost())?;
            Ok(ends)
        })
    }

    /// A message that `fill` writes.
    fn packet(&mut self, len: usize, fill: impl FnOnce(&mut [u8])) -> Result<Packet, Fault> {
        let out = self.buffer.get_mut(len).ok_or(Fault::TooLong)?;
        fill(out);
        Ok(Packet { body: Bytes::copy_from_slice(out) })
    }
}

/// Where messages are sent to, and where they come from.
type Ends = (mpsc::Sender<Packet>, Streaming<Packet>);

/// The service with one call that lasts.
#[derive(Clone)]
struct Stream(mpsc::Sender<Ends>);

impl tonic::server::StreamingService<Packet> for Stream {
    type Response = Packet;
    type ResponseStream =
        tokio_stream::adapters::Map<ReceiverStream<Packet>, fn(Packet) -> Result<Packet, Status>>;
    type Future = BoxFuture<Response<Self::ResponseStream>, Status>;

    fn call(&mut self, request: Request<Streaming<Packet>>) -> Self::Future {
        let (sender, packets) = mpsc::channel(1);
        let accepted = self.0.try_send((sender, request.into_inner()));
        Box::pin(async move {
            accepted.map_err(|_| Status::unavailable("one call only"))?;
            let packets = ReceiverStream::new(packets);
            Ok(Response::new(tokio_stream::StreamExt::map(packets, Ok as fn(_) -> _)))
        })
    }
}

/// What stands in code that is generated from a service elsewhere.
impl Service<http::Request<Body>> for Stream {
    type Response = http::Response<Body>;
    type Error = Infallible;
    type Future = BoxFuture<Self::Response, Infallible>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: http::Request<Body>) -> Self::Future {
        let service = self.clone();
        Box::pin(async move {
            let mut server =
                tonic::server::Grpc::new(codec()).max_decoding_message_size(usize::MAX);
            Ok(server.streaming(service, request).await)
        })
    }
}

/// One end of the call that lasts: where messages are sent to until this end has finished, and where they come from.
pub struct GrpcStreamPort {
    sender: Option<mpsc::Sender<Packet>>,
    received: Streaming<Packet>,
    // Dropped last: the others live in its runtime.
    side: Side,
}

impl Port for GrpcStreamPort {
    fn send(&mut self, len: usize, fill: impl FnOnce(&mut [u8])) -> Result<(), Fault> {
        let packet = self.side.packet(len, fill)?;
        let sender = self.sender.as_ref().ok_or(Fault::Closed)?;
        let Side { runtime, written, due, .. } = &mut self.side;
        *due += encoded(&packet);
        runtime.block_on(async {
            sender.send(packet).await.map_err(|_| Fault::Closed)?;
            written.until(|wire| &wire.data, *due).await
        })
    }

    fn recv<T>(
        &mut self,
        len: usize,
        take: impl FnOnce(&[u8]) -> Result<T, Fault>,
    ) -> Result<T, Fault> {
        match self.side.runtime.block_on(self.received.message()) {
            Ok(Some(packet)) if packet.body.len() == len => take(&packet.body),
            Ok(Some(_)) => Err(Fault::Truncated),
            Ok(None) => Err(Fault::Closed),
            Err(status) => Err(refused(&status)),
        }
    }

    fn finish(&mut self) -> Result<(), Fault> {
        self.sender = None;
        let Side { runtime, written, .. } = &self.side;
        // A peer that is gone need not know.
        let _ = runtime.block_on(written.until(|wire| &wire.ends, 1));
        Ok(())
    }
}

/// A message that was received, and where its answer goes.
type Call = (Packet, oneshot::Sender<Packet>);

/// The service with a call for each message.
#[derive(Clone)]
struct Unary(mpsc::UnboundedSender<Call>);

impl tonic::server::UnaryService<Packet> for Unary {
    type Response = Packet;
    type Future = BoxFuture<Response<Packet>, Status>;

    fn call(&mut self, request: Request<Packet>) -> Self::Future {
        let (to, answer) = oneshot::channel();
        let accepted = self.0.send((request.into_inner(), to));
        Box::pin(async move {
            let ended = || Status::unavailable("the server has finished");
            accepted.map_err(|_| ended())?;
            answer.await.map(Response::new).map_err(|_| ended())
        })
    }
}

impl Service<http::Request<Body>> for Unary {
    type Response = http::Response<Body>;
    type Error = Infallible;
    type Future = BoxFuture<Self::Response, Infallible>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: http::Request<Body>) -> Self::Future {
        let service = self.clone();
        Box::pin(async move {
            let mut server =
                tonic::server::Grpc::new(codec()).max_decoding_message_size(usize::MAX);
            Ok(server.unary(service, request).await)
        })
    }
}

/// The calls that have no answer yet, the oldest first.
enum Calls {
    Made {
        /// Until this end has finished.
        client: Option<tonic::client::Grpc<Channel>>,
        waiting: VecDeque<JoinHandle<Result<Packet, Status>>>,
    },
    Answered {
        received: mpsc::UnboundedReceiver<Call>,
        waiting: VecDeque<oneshot::Sender<Packet>>,
        /// How many have come.
        count: u64,
    },
}

/// One end of a connection: the lead calls, the follow answers.
pub struct GrpcUnaryPort {
    // Dropped before the runtime that it lives in.
    calls: Calls,
    side: Side,
}

impl Port for GrpcUnaryPort {
    fn send(&mut self, len: usize, fill: impl FnOnce(&mut [u8])) -> Result<(), Fault> {
        let packet = self.side.packet(len, fill)?;
        let Side { runtime, written, due, .. } = &mut self.side;
        match &mut self.calls {
            Calls::Made { client, waiting } => {
                *due += encoded(&packet);
                let mut client = client.clone().ok_or(Fault::Closed)?;
                waiting.push_back(runtime.spawn(async move {
                    client.ready().await.map_err(|error| Status::from_error(error.into()))?;
                    let answer = client.unary(Request::new(packet), path(), codec()).await?;
                    Ok(answer.into_inner())
                }));
                runtime.block_on(written.until(|wire| &wire.data, *due))
            }
            Calls::Answered { waiting, count, .. } => {
                let answer = waiting.pop_front().ok_or(Fault::Closed)?;
                answer.send(packet).map_err(|_| Fault::Closed)?;
                // An answer is none without its trailers.
                let answered = *count - waiting.len() as u64;
                runtime.block_on(written.until(|wire| &wire.ends, answered))
            }
        }
    }

    fn recv<T>(
        &mut self,
        len: usize,
        take: impl FnOnce(&[u8]) -> Result<T, Fault>,
    ) -> Result<T, Fault> {
        let Side { runtime, written, .. } = &self.side;
        let packet = match &mut self.calls {
            Calls::Made { waiting, .. } => match waiting.pop_front() {
                Some(call) => match runtime.block_on(call) {
                    Ok(answered) => answered.map_err(|status| refused(&status))?,
                    Err(_) => return Err(Fault::Closed),
                },
                // Nothing can come but the end.
                None => return Err(runtime.block_on(written.end())),
            },
            Calls::Answered { received, waiting, count } => {
                let (packet, answer) = runtime.block_on(received.recv()).ok_or(Fault::Closed)?;
                waiting.push_back(answer);
                *count += 1;
                packet
            }
        };
        if packet.body.len() == len { take(&packet.body) } else { Err(Fault::Truncated) }
    }

    fn finish(&mut self) -> Result<(), Fault> {
        let Side { runtime, written, .. } = &self.side;
        // A peer that is gone need not know.
        match &mut self.calls {
            Calls::Made { client, waiting } => {
                waiting.drain(..).for_each(|call| call.abort());
                *client = None;
                runtime.block_on(written.end());
            }
            Calls::Answered { received, waiting, count } => {
                received.close();
                waiting.clear();
                let _ = runtime.block_on(written.until(|wire| &wire.ends, *count));
            }
        }
        Ok(())
    }
}

/// What a side has written: nothing of tonic says when a message has left the process.
#[derive(Default)]
struct Written {
    /// Bytes in frames of data.
    data: AtomicU64,
    /// Frames of headers.
    heads: AtomicU64,
    /// Frames that are the last of a call.
    ends: AtomicU64,
    is_lost: AtomicBool,
    changed: Notify,
}

impl Written {
    /// Waits until so much was written.
    async fn until(&self, count: fn(&Self) -> &AtomicU64, due: u64) -> Result<(), Fault> {
        while count(self).load(Ordering::Relaxed) < due {
            if self.is_lost.load(Ordering::Relaxed) {
                return Err(Fault::Closed);
            }
            self.changed.notified().await;
        }
        Ok(())
    }

    /// Waits until the connection is over.
    async fn end(&self) -> Fault {
        while !self.is_lost.load(Ordering::Relaxed) {
            self.changed.notified().await;
        }
        Fault::Closed
    }
}

/// The socket of a side, which reads along what is written.
struct Wire {
    stream: UnixStream,
    written: Arc<Written>,
    /// Bytes to come before the next frame: of the greeting of a client, then of a frame.
    left: usize,
    /// What has come of the head of a frame.
    head: [u8; 9],
    has: usize,
}

impl Wire {
    fn new(own: OwnedFd, seat: Seat, written: Arc<Written>) -> Result<Self, SetupError> {
        /// Of RFC 9113, section 3.4.
        const GREETING: usize = 24;
        let own = net::UnixStream::from(own);
        own.set_nonblocking(true).map_err(SetupError::io("FIONBIO"))?;
        let stream = UnixStream::from_std(own).map_err(SetupError::io("epoll_ctl"))?;
        let left = if seat == Seat::Lead { GREETING } else { 0 };
        Ok(Self { stream, written, left, head: [0; 9], has: 0 })
    }

    /// Counts frames of RFC 9113, section 4.1.
    fn count(&mut self, mut bytes: &[u8]) {
        const DATA: u8 = 0;
        const HEADERS: u8 = 1;
        const END_STREAM: u8 = 1;
        while !bytes.is_empty() {
            let wanted = if self.left > 0 { self.left } else { self.head.len() - self.has };
            let (part, rest) = bytes.split_at(wanted.min(bytes.len()));
            bytes = rest;
            if self.left > 0 {
                self.left -= part.len();
                if self.has > 0 && self.head[3] == DATA {
                    self.written.data.fetch_add(part.len() as u64, Ordering::Relaxed);
                }
            } else {
                self.head[self.has..][..part.len()].copy_from_slice(part);
                self.has += part.len();
                if self.has < self.head.len() {
                    continue;
                }
                let [a, b, c, ..] = self.head;
                self.left = u32::from_be_bytes([0, a, b, c]) as usize;
            }
            if self.left == 0 {
                let [_, _, _, kind, flags, ..] = self.head;
                if std::mem::take(&mut self.has) == 0 {
                    continue;
                }
                let heads = u64::from(kind == HEADERS);
                self.written.heads.fetch_add(heads, Ordering::Relaxed);
                let is_end = matches!(kind, DATA | HEADERS) && flags & END_STREAM != 0;
                self.written.ends.fetch_add(u64::from(is_end), Ordering::Relaxed);
            }
        }
        self.written.changed.notify_one();
    }
}

impl Drop for Wire {
    fn drop(&mut self) {
        self.written.is_lost.store(true, Ordering::Relaxed);
        self.written.changed.notify_one();
    }
}

impl Connected for Wire {
    type ConnectInfo = ();

    fn connect_info(&self) {}
}

impl AsyncRead for Wire {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, into)
    }
}

/// What a peer that is gone no longer takes is dropped, uncounted: at the first write that fails, hyper would give up what the
/// peer has sent before as well.
fn is_gone(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::BrokenPipe | io::ErrorKind::ConnectionReset)
}

impl AsyncWrite for Wire {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        from: &[u8],
    ) -> Poll<io::Result<usize>> {
        let done = match ready!(Pin::new(&mut self.stream).poll_write(context, from)) {
            Err(error) if is_gone(&error) => return Poll::Ready(Ok(from.len())),
            done => done?,
        };
        self.count(&from[..done]);
        Poll::Ready(Ok(done))
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        from: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let done = match ready!(Pin::new(&mut self.stream).poll_write_vectored(context, from)) {
            Err(error) if is_gone(&error) => {
                return Poll::Ready(Ok(from.iter().map(|slice| slice.len()).sum()));
            }
            done => done?,
        };
        let mut left = done;
        for slice in from {
            let part = left.min(slice.len());
            self.count(&slice[..part]);
            left -= part;
        }
        Poll::Ready(Ok(done))
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}

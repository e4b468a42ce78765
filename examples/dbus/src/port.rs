//! Messages of D-Bus, by zbus, on one thread.

use crate::executor::Executor;
use futures_core::Stream;
use ipcperf::tools::{Buffer, errno, socket};
use ipcperf::{Fault, Meet, Port, Seat, SetupError, Shape, Wiring};
use serde_bytes::Bytes;
use std::future::poll_fn;
use std::io::ErrorKind;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::pin::Pin;
use std::time::{Duration, Instant};
use zbus::connection::Builder;
use zbus::{Connection, Guid, Message, MessageStream};

const PATH: &str = "/org/ipcperf/Channel";
const INTERFACE: &str = "org.ipcperf.Channel";
/// The member of a message.
const PAYLOAD: &str = "Message";
/// The member of the last signal: D-Bus itself cannot end one direction.
const END: &str = "End";

/// One end: a connection, the messages that have come, and the memory a message is written in.
pub struct DbusPort {
    // Dropped before the executor, which then has nothing more to do.
    messages: MessageStream,
    connection: Connection,
    executor: Executor,
    /// The peer's name on the bus.
    peer: Option<String>,
    buffer: Buffer,
    has_ended: bool,
    /// The socket, where a broker reads from it.
    to_broker: Option<UnixStream>,
}

/// A broker stops reading when it holds 8 MiB that nobody takes, and sometimes drops what a sender that closes has sent
/// meanwhile: on a busy machine 3 of 100 such senders lost their last messages. So an end closes when everything is read,
/// or after this time.
const LINGER: Duration = Duration::from_secs(5);

impl DbusPort {
    /// The end of `seat` of a connection without a bus. The follow is the server.
    ///
    /// # Errors
    /// The peer does not introduce itself as D-Bus asks for; there is no memory.
    pub fn direct(socket: OwnedFd, seat: Seat, shape: &Shape) -> Result<Self, SetupError> {
        let builder = Builder::unix_stream(unblocked(UnixStream::from(socket))?).p2p();
        let builder = match seat {
            Seat::Lead => builder,
            Seat::Follow => {
                let guid = format!("{:016x}{:016x}", !shape.nonce, shape.nonce);
                builder.server(Guid::try_from(guid).map_err(refused)?)
            }
        };
        Self::connect(builder, shape)
    }

    /// An end on the bus that listens at `door`; the ends tell each other their names.
    ///
    /// # Errors
    /// The bus cannot be reached or refuses; the peer is gone; there is no memory.
    pub fn over_bus(door: &Path, shape: &Shape, meet: &mut dyn Meet) -> Result<Self, SetupError> {
        let socket = UnixStream::connect(door).map_err(|error| {
            let code = error.raw_os_error().unwrap_or(errno::EINVAL);
            SetupError::sys(format!("connect {}", door.display()), code)
        })?;
        let to_broker = socket.try_clone().map_err(|error| {
            SetupError::sys("dup", error.raw_os_error().unwrap_or(errno::EINVAL))
        })?;
        let mut port = Self::connect(Builder::unix_stream(unblocked(socket)?), shape)?;
        port.to_broker = Some(to_broker);
        let own = port.connection.unique_name().map(ToString::to_string);
        let own = Wiring { names: own.into_iter().collect(), ..Wiring::default() };
        let peer = meet.swap(own)?.names.pop();
        port.peer = Some(peer.ok_or_else(|| SetupError::Protocol("no name arrived".into()))?);
        Ok(port)
    }

    fn connect(builder: Builder<'_>, shape: &Shape) -> Result<Self, SetupError> {
        let executor = Executor::default();
        let builder = builder.runtime(executor.clone());
        let connected = executor.block_on(async {
            let connection = builder.build().await?;
            // Before anything can have been received.
            let messages = MessageStream::from(&connection);
            Ok((connection, messages))
        });
        let (connection, messages) = connected.map_err(refused)?;
        let buffer = Buffer::new(shape.size, shape.buffer_offset)?;
        Ok(Self {
            messages,
            connection,
            executor,
            peer: None,
            buffer,
            has_ended: false,
            to_broker: None,
        })
    }

    fn post(&mut self, member: &str, len: usize) -> Result<(), Fault> {
        let body = self.buffer.get_mut(len).ok_or(Fault::TooLong)?;
        let message = Message::signal(PATH, INTERFACE, member);
        let message = match &self.peer {
            Some(peer) => message.destination(peer.as_str()),
            None => message,
        };
        let message = message.build(&Bytes::new(body)).map_err(|error| meaning(&error))?;
        let sent = self.executor.block_on(self.connection.send(&message));
        sent.map_err(|error| meaning(&error))
    }
}

impl Drop for DbusPort {
    fn drop(&mut self) {
        let Some(socket) = &self.to_broker else { return };
        let began = Instant::now();
        while socket::unread(socket).is_ok_and(|bytes| bytes > 0) && began.elapsed() < LINGER {
            std::thread::sleep(Duration::from_millis(1));
        }
    }
}

impl Port for DbusPort {
    fn send(&mut self, len: usize, fill: impl FnOnce(&mut [u8])) -> Result<(), Fault> {
        fill(self.buffer.get_mut(len).ok_or(Fault::TooLong)?);
        self.post(PAYLOAD, len)
    }

    fn recv<T>(
        &mut self,
        len: usize,
        take: impl FnOnce(&[u8]) -> Result<T, Fault>,
    ) -> Result<T, Fault> {
        while !self.has_ended {
            let messages = &mut self.messages;
            let next = poll_fn(|context| Pin::new(&mut *messages).poll_next(context));
            let message = match self.executor.block_on(next) {
                Some(Ok(message)) => message,
                Some(Err(error)) => match meaning(&error) {
                    Fault::Closed => break,
                    fault => return Err(fault),
                },
                None => break,
            };
            let header = message.header();
            if header.interface().is_none_or(|interface| interface != INTERFACE) {
                // The bus has something to say, such as which name was given.
                continue;
            }
            if header.member().is_none_or(|member| member != PAYLOAD) {
                break;
            }
            let body = message.body();
            let bytes = body.deserialize::<&[u8]>().map_err(|_| Fault::Corrupt)?;
            return if bytes.len() == len { take(bytes) } else { Err(Fault::Truncated) };
        }
        self.has_ended = true;
        Err(Fault::Closed)
    }

    fn finish(&mut self) -> Result<(), Fault> {
        match self.post(END, 0) {
            // A peer that is gone needs no last signal.
            Err(Fault::Closed) => Ok(()),
            other => other,
        }
    }
}

fn unblocked(socket: UnixStream) -> Result<UnixStream, SetupError> {
    let done = socket.set_nonblocking(true);
    done.map_err(|error| SetupError::sys("FIONBIO", error.raw_os_error().unwrap_or(0)))?;
    Ok(socket)
}

fn refused(error: zbus::Error) -> SetupError {
    SetupError::Protocol(format!("D-Bus: {error}"))
}

/// What an error means to a loop.
#[cold]
#[inline(never)]
fn meaning(error: &zbus::Error) -> Fault {
    match error {
        // The end of the socket, which zbus reports in either way.
        zbus::Error::InputOutput(error)
            if matches!(
                error.kind(),
                ErrorKind::UnexpectedEof | ErrorKind::BrokenPipe | ErrorKind::ConnectionReset
            ) =>
        {
            Fault::Closed
        }
        zbus::Error::InputOutput(error) => error.raw_os_error().map_or(Fault::Corrupt, Fault::Sys),
        // What zbus refuses to build is above the specification's limits.
        zbus::Error::ExcessData => Fault::TooLong,
        _ => Fault::Corrupt,
    }
}

//! ipc-channel, of the Servo project: channels of bytes between processes.

use crate::ffi;
use crate::library::{LIBRARY, has_unix};
use ::ipc_channel::IpcError;
use ::ipc_channel::ipc::{
    IpcBytesReceiver, IpcBytesSender, IpcOneShotServer, IpcSender, bytes_channel,
};
use ipcperf::prelude::*;
use ipcperf::tools::Buffer;
use ipcperf::tools::Scratch;
use ipcperf::tools::socket::Kind;
use std::io::ErrorKind;

/// Two channels of `ipc-channel`, one for each direction.
#[derive(Debug)]
pub struct IpcChannel;

/// What the lead gives to the follow: where it sends to, and where it receives from.
type Ends = (IpcBytesSender, IpcBytesReceiver);

impl Mechanism for IpcChannel {
    const SPEC: &'static Spec = &Spec {
        name: "ipc-channel",
        wait: Wait::Block,
        summary: "Two channels of bytes of the crate ipc-channel, over UNIX sequenced-packet sockets; a receiver sleeps in recvmsg.",
        manual: &["unix(7)", "sendmsg(2)", "recvmsg(2)"],
        pitfalls: &[
            "A message beyond the send buffer goes in fragments over a socket of its own, whose descriptor is sent first.",
            "Memory is made for each message received, and most of it is not what the message needs but the send buffer.",
            "Channels of bytes are measured: those of values serialise each message as well.",
        ],
        payload: Payload::Message { max: None },
        direction: Direction::OneWay,
        reach: Reach::Named,
        shares: Namespaces::MNT,
        shares_by_name: Namespaces::MNT,
        producers: Peers::Many,
        consumers: Peers::One,
        on_death: OnClose::Told,
        on_restart: OnRestart::Reopens,
        copies: 2,
        needs: &["CONFIG_UNIX"],
        over: Some("unix-seqpacket"),
        ..LIBRARY
    };
    type Options = NoOptions;
    type Port = IpcChannelPort;

    fn probe(_: &NoOptions) -> Result<(), Missing> {
        has_unix(Kind::SeqPacket)?;
        let tried = bytes_channel().map_err(SetupError::io("make a channel"));
        tried.map(drop).map_err(ipcperf::tools::missing)
    }

    fn lends(_: &NoOptions) -> [Lends; 2] {
        [Lends::Buffer, Lends::Place]
    }

    fn open(shape: &Shape, _: &NoOptions) -> Result<Link, SetupError> {
        // The library makes a directory with a socket in it, where TMPDIR says.
        let base = std::env::temp_dir();
        let scratch = Scratch::create(shape.directory()?, &base, &shape.name("channel"))?;
        let name = scratch.path().to_string_lossy().into_owned();
        let mut link = Link::default().guarded(scratch);
        link.follow.names.push(name);
        Ok(link)
    }

    fn attach(mut end: Attach<'_, NoOptions>) -> Result<IpcChannelPort, SetupError> {
        let (sender, receiver) = match end.seat {
            Seat::Follow => accept(&mut end)?,
            Seat::Lead => connect(&mut end)?,
        };
        let buffer = Buffer::new(end.shape.size, end.shape.buffer_offset)?;
        Ok(IpcChannelPort { sender: Some(sender), receiver, buffer })
    }
}

fn accept(end: &mut Attach<'_, NoOptions>) -> Result<Ends, SetupError> {
    let directory = end.wiring.names.pop();
    let directory = directory.ok_or_else(|| SetupError::Protocol("no directory arrived".into()))?;
    // The library panics where it cannot make its directory.
    std::fs::read_dir(&directory).map_err(SetupError::io("open the directory of the channel"))?;
    let served = ffi::with_temporary_directory(&directory, IpcOneShotServer::<Ends>::new);
    let (server, name) = served.map_err(SetupError::io("serve a channel"))?;
    end.meet.swap(Wiring { names: vec![name], ..Wiring::default() })?;
    let (_, ends) = server.accept().map_err(refused)?;
    Ok(ends)
}

fn connect(end: &mut Attach<'_, NoOptions>) -> Result<Ends, SetupError> {
    let name = end.meet.swap(Wiring::default())?.names.pop();
    let name = name.ok_or_else(|| SetupError::Protocol("no name arrived".into()))?;
    let to = IpcSender::<Ends>::connect(name).map_err(SetupError::io("connect to a channel"))?;
    let channel = || bytes_channel().map_err(SetupError::io("make a channel"));
    let ((ping, hears), (pong, receiver)) = (channel()?, channel()?);
    to.send((pong, hears)).map_err(refused)?;
    Ok((ping, receiver))
}

fn refused(error: IpcError) -> SetupError {
    match error {
        IpcError::Io(error) => SetupError::io("hand over a channel")(error),
        other => SetupError::Protocol(other.to_string()),
    }
}

/// One end: a channel to the peer until it has finished, and one from it.
pub struct IpcChannelPort {
    sender: Option<IpcBytesSender>,
    receiver: IpcBytesReceiver,
    buffer: Buffer,
}

impl Port for IpcChannelPort {
    fn send(&mut self, len: usize, fill: impl FnOnce(&mut [u8])) -> Result<(), Fault> {
        let out = self.buffer.get_mut(len).ok_or(Fault::TooLong)?;
        fill(out);
        let sender = self.sender.as_ref().ok_or(Fault::Closed)?;
        loop {
            match sender.send(out) {
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                done => return done.map_err(Fault::from),
            }
        }
    }

    fn recv<T>(
        &mut self,
        len: usize,
        take: impl FnOnce(&[u8]) -> Result<T, Fault>,
    ) -> Result<T, Fault> {
        loop {
            return match self.receiver.recv() {
                Ok(message) if message.len() == len => take(&message),
                Ok(_) => Err(Fault::Truncated),
                Err(IpcError::Io(error)) if error.kind() == ErrorKind::Interrupted => continue,
                Err(IpcError::Io(error)) => Err(error.into()),
                Err(IpcError::Disconnected) => Err(Fault::Closed),
                Err(IpcError::SerializationError(_)) => Err(Fault::Corrupt),
            };
        }
    }

    fn finish(&mut self) -> Result<(), Fault> {
        // A channel ends when its last sender is dropped.
        self.sender = None;
        Ok(())
    }
}

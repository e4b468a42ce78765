//! Mechanisms over a UNIX stream socket, each broken in one way, and a sound one beside them.

use ipcperf_core::options::NoOptions;
use ipcperf_core::{
    BackPressure, Direction, Family, Fault, Guard, Limit, Link, Mechanism, Meet, Missing, OnClose,
    Payload, Peers, Port, Reach, Seat, SetupError, Shape, Spec, Syscalls, Wait, Wiring,
};
use std::io::{ErrorKind, Read, Write};
use std::marker::PhantomData;
use std::net::Shutdown;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;

/// What is wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Bug {
    Sound,
    LosesAMessage,
    SwapsTwoMessages,
    DoublesAMessage,
    ReadsItsOwn,
    CutsLongMessages,
    MergesMessages,
    NeverTellsTheEnd,
    HoldsThePeersEnd,
    LeaksADescriptor,
    LeaksAName,
    TakesTooMuch,
    LiesAboutDropping,
}

/// The type of a bug.
pub(crate) trait Broken: 'static {
    const BUG: Bug;
    const NAME: &'static str;
}

macro_rules! bugs {
    ($($name:ident = $text:literal,)+) => { $(
        pub(crate) struct $name;

        impl Broken for $name {
            const BUG: Bug = Bug::$name;
            const NAME: &'static str = $text;
        }
    )+ };
}

bugs! {
    Sound = "sound",
    LosesAMessage = "loses-a-message",
    SwapsTwoMessages = "swaps-two-messages",
    DoublesAMessage = "doubles-a-message",
    ReadsItsOwn = "reads-its-own",
    CutsLongMessages = "cuts-long-messages",
    MergesMessages = "merges-messages",
    NeverTellsTheEnd = "never-tells-the-end",
    HoldsThePeersEnd = "holds-the-peers-end",
    LeaksADescriptor = "leaks-a-descriptor",
    LeaksAName = "leaks-a-name",
    TakesTooMuch = "takes-too-much",
    LiesAboutDropping = "lies-about-dropping",
}

/// The largest message it claims to carry.
const LIMIT: usize = 65_536;

/// A mechanism with one bug.
pub(crate) struct Toy<B>(PhantomData<B>);

impl<B: Broken> Mechanism for Toy<B> {
    const SPEC: &'static Spec = &Spec {
        name: B::NAME,
        variant: None,
        family: Family::Datagram,
        wait: Wait::Block,
        default: true,
        summary: "A UNIX stream socket with the length before each message.",
        manual: &["unix(7)"],
        pitfalls: &["Broken on purpose."],
        payload: Payload::Message {
            max: Some(Limit { bytes: LIMIT, set_by: "a constant", raise: "" }),
        },
        direction: Direction::TwoWay,
        reach: Reach::Related,
        producers: Peers::One,
        consumers: Peers::One,
        back_pressure: match B::BUG {
            Bug::LiesAboutDropping => BackPressure::Drops,
            _ => BackPressure::Blocks,
        },
        on_close: OnClose::Told,
        on_death: OnClose::Told,
        copies: 2,
        syscalls: Syscalls { send: 2.0, recv: Some(2.0) },
        window: None,
        needs: &[],
    };
    type Options = NoOptions;
    type Port = ToyPort<B>;

    fn probe(_: &NoOptions) -> Result<(), Missing> {
        Ok(())
    }

    fn open(shape: &Shape, _: &NoOptions) -> Result<Link, SetupError> {
        let (lead, follow) = UnixStream::pair().map_err(|error| setup(&error))?;
        let mut link = Link::default();
        if B::BUG == Bug::HoldsThePeersEnd {
            link.lead.fds.push(follow.try_clone().map_err(|error| setup(&error))?.into());
        }
        link.lead.fds.insert(0, lead.into());
        link.follow = Wiring::of_fds([OwnedFd::from(follow)]);
        if B::BUG == Bug::LeaksAName {
            let path = shape.directory.join(shape.name("left"));
            std::fs::write(path, "").map_err(|error| setup(&error))?;
        }
        link.guards.push(Guard::new(()));
        Ok(link)
    }

    fn attach(
        wiring: Wiring,
        _: Seat,
        shape: &Shape,
        _: &NoOptions,
        _: &mut dyn Meet,
    ) -> Result<ToyPort<B>, SetupError> {
        let mut fds = wiring.fds.into_iter();
        let fd = fds.next().ok_or_else(|| SetupError::Protocol("no descriptor".into()))?;
        let mut socket = UnixStream::from(fd);
        let mut own = None;
        if B::BUG == Bug::ReadsItsOwn {
            let (one, two) = UnixStream::pair().map_err(|error| setup(&error))?;
            (socket, own) = (one, Some(two));
        }
        if B::BUG == Bug::LeaksADescriptor {
            std::mem::forget(socket.try_clone().map_err(|error| setup(&error))?);
        }
        let buffer = vec![0; shape.size.max(8)];
        Ok(ToyPort { socket, own, kept: fds.next(), buffer, held: None, sent: 0, bug: PhantomData })
    }
}

fn setup(error: &std::io::Error) -> SetupError {
    SetupError::sys("toy", error.raw_os_error().unwrap_or(0))
}

fn fault(error: &std::io::Error) -> Fault {
    match error.kind() {
        ErrorKind::UnexpectedEof | ErrorKind::BrokenPipe | ErrorKind::ConnectionReset => {
            Fault::Closed
        }
        _ => Fault::Sys(error.raw_os_error().unwrap_or(0)),
    }
}

/// One end.
pub(crate) struct ToyPort<B> {
    socket: UnixStream,
    /// The other end of the socket, where this process reads what it wrote.
    own: Option<UnixStream>,
    #[expect(dead_code, reason = "held open: that is the bug")]
    kept: Option<OwnedFd>,
    buffer: Vec<u8>,
    /// A message that waits to be overtaken.
    held: Option<Vec<u8>>,
    sent: u64,
    bug: PhantomData<B>,
}

/// The message that meets the bug.
const UNLUCKY: u64 = 1000;

impl<B: Broken> ToyPort<B> {
    fn put(&mut self, message: &[u8]) -> Result<(), Fault> {
        let mut out = Vec::with_capacity(message.len() + 4);
        if B::BUG != Bug::MergesMessages {
            out.extend((message.len() as u32).to_le_bytes());
        }
        out.extend(message);
        self.socket.write_all(&out).map_err(|error| fault(&error))
    }
}

impl<B: Broken> Port for ToyPort<B> {
    fn send(&mut self, len: usize, fill: impl FnOnce(&mut [u8])) -> Result<(), Fault> {
        if len > LIMIT.min(self.buffer.len()) {
            if B::BUG != Bug::TakesTooMuch {
                return Err(Fault::TooLong);
            }
            self.buffer.resize(len, 0);
        }
        let mut message = vec![0; len];
        fill(&mut message);
        self.sent += 1;
        let is_unlucky = self.sent == UNLUCKY;
        match B::BUG {
            Bug::LosesAMessage if is_unlucky => return Ok(()),
            Bug::DoublesAMessage if is_unlucky => self.put(&message)?,
            Bug::SwapsTwoMessages if is_unlucky => {
                self.held = Some(message);
                return Ok(());
            }
            Bug::CutsLongMessages => message.truncate(2000),
            _ => {}
        }
        self.put(&message)?;
        match self.held.take() {
            Some(overtaken) => self.put(&overtaken),
            None => Ok(()),
        }
    }

    fn recv<T>(
        &mut self,
        len: usize,
        take: impl FnOnce(&[u8]) -> Result<T, Fault>,
    ) -> Result<T, Fault> {
        let mut from = self.own.as_ref().unwrap_or(&self.socket);
        let mut length = [0; 4];
        if B::BUG != Bug::MergesMessages {
            from.read_exact(&mut length).map_err(|error| fault(&error))?;
        }
        let arrived = match B::BUG {
            Bug::MergesMessages => len,
            _ => u32::from_le_bytes(length) as usize,
        };
        self.buffer.resize(self.buffer.len().max(arrived).max(len), 0);
        from.read_exact(&mut self.buffer[..arrived]).map_err(|error| fault(&error))?;
        if arrived != len && B::BUG != Bug::CutsLongMessages {
            return Err(Fault::Truncated);
        }
        take(&self.buffer[..len])
    }

    fn finish(&mut self) -> Result<(), Fault> {
        if B::BUG == Bug::NeverTellsTheEnd {
            return Ok(());
        }
        self.socket.shutdown(Shutdown::Write).map_err(|error| fault(&error))
    }
}

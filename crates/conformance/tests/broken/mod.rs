//! Mechanisms over a UNIX stream socket, each broken in one way, and a sound one beside them.

mod port;

use ipcperf_core::{
    Attach, BackPressure, Direction, Family, Guard, KnobValue, Lends, Limit, Link, Mechanism,
    Missing, Namespaces, OnClose, Payload, Seat, SetupError, Shape, Spec, Syscalls, Wiring,
};
use ipcperf_sys::io::pipe;
use port::{FRESH, ToyPort};
use std::fs::{File, OpenOptions};
use std::marker::PhantomData;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

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
    TakesItsMessagesAlong,
    CallsTwice,
    TouchesFreshMemory,
    HidesAKnob,
    GivesUpOnASlowPeer,
    DiesWithItsPeer,
    SharesItsNames,
    KeepsWhatWasUnread,
    FailsWhenInterrupted,
    MissesAWakeUp,
    PanicsOnErrors,
    HidesACopy,
    MistakesItsMemory,
    ClaimsDescriptors,
    HidesItsEnd,
    ProbesNothing,
    IgnoresShortWrites,
    ClaimsNamespaces,
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
    TakesItsMessagesAlong = "takes-its-messages-along",
    CallsTwice = "calls-twice",
    TouchesFreshMemory = "touches-fresh-memory",
    HidesAKnob = "hides-a-knob",
    GivesUpOnASlowPeer = "gives-up-on-a-slow-peer",
    DiesWithItsPeer = "dies-with-its-peer",
    SharesItsNames = "shares-its-names",
    KeepsWhatWasUnread = "keeps-what-was-unread",
    FailsWhenInterrupted = "fails-when-interrupted",
    MissesAWakeUp = "misses-a-wake-up",
    PanicsOnErrors = "panics-on-errors",
    HidesACopy = "hides-a-copy",
    MistakesItsMemory = "mistakes-its-memory",
    ClaimsDescriptors = "claims-descriptors",
    HidesItsEnd = "hides-its-end",
    ProbesNothing = "probes-nothing",
    IgnoresShortWrites = "ignores-short-writes",
    ClaimsNamespaces = "claims-namespaces",
}

/// The largest message it claims to carry.
const LIMIT: usize = 65_536;

ipcperf_core::options! {
    /// Knobs of all toys.
    pub(crate) struct ToyOptions {
        /// Does nothing, but is reported.
        pub(crate) depth: u64 = (1, "1", Count { min: 1, max: 10 }),
    }
}

/// A mechanism with one bug.
pub(crate) struct Toy<B>(PhantomData<B>);

impl<B: Broken> Mechanism for Toy<B> {
    const SPEC: &'static Spec = &Spec {
        name: B::NAME,
        family: Family::Datagram,
        summary: "A UNIX stream socket with the length before each message.",
        manual: &["unix(7)"],
        pitfalls: &["Broken on purpose."],
        shares: match B::BUG {
            Bug::ClaimsNamespaces => Namespaces::IPC,
            _ => Namespaces::NONE,
        },
        payload: match B::BUG {
            Bug::IgnoresShortWrites => Payload::Stream,
            _ => Payload::Message {
                max: Some(Limit { bytes: LIMIT, set_by: "a constant", raise: "" }),
            },
        },
        direction: Direction::TwoWay,
        back_pressure: match B::BUG {
            Bug::LiesAboutDropping => BackPressure::Drops,
            _ => BackPressure::Blocks,
        },
        on_close: match B::BUG {
            Bug::HidesItsEnd => OnClose::Undetected,
            _ => OnClose::Told,
        },
        on_death: match B::BUG {
            Bug::DiesWithItsPeer => OnClose::Undetected,
            _ => OnClose::Told,
        },
        descriptors: true,
        copies: if matches!(B::BUG, Bug::HidesACopy) { 0 } else { 2 },
        syscalls: Syscalls {
            send: Some(1.0),
            // The length, then the message.
            recv: Some(if matches!(B::BUG, Bug::MergesMessages) { 1.0 } else { 2.0 }),
        },
        ..Spec::NOTHING
    };
    type Options = ToyOptions;
    type Port = ToyPort<B>;

    fn probe(_: &ToyOptions) -> Result<(), Missing> {
        match B::BUG {
            Bug::ProbesNothing => Ok(()),
            _ => UnixStream::pair()
                .map(drop)
                .map_err(|error| Missing::new(format!("no sockets: {error}"), "")),
        }
    }

    fn lends(_: &ToyOptions) -> [Lends; 2] {
        match B::BUG {
            Bug::MistakesItsMemory => [Lends::Buffer, Lends::Shared],
            _ => [Lends::Place; 2],
        }
    }

    fn open(shape: &Shape, options: &ToyOptions) -> Result<Link, SetupError> {
        let effective = match B::BUG {
            Bug::HidesAKnob => Vec::new(),
            _ => vec![("depth".to_owned(), KnobValue::Number(options.depth))],
        };
        if matches!(B::BUG, Bug::SharesItsNames | Bug::ClaimsDescriptors) {
            // Where the names exist already, they must be its own: it has never heard of a second link.
            let made = names(shape.directory()?).map(pipe::make_fifo);
            let guards = made.into_iter().flatten().map(Guard::new).collect();
            return Ok(Link { guards, effective, ..Link::default() });
        }
        let (lead, follow) = UnixStream::pair().map_err(|error| setup(&error))?;
        let mut link = Link { effective, ..Link::default() };
        if matches!(B::BUG, Bug::HoldsThePeersEnd | Bug::TakesItsMessagesAlong) {
            link.lead.fds.push(follow.try_clone().map_err(|error| setup(&error))?.into());
        }
        link.lead.fds.insert(0, lead.into());
        link.follow = Wiring::of_fds([OwnedFd::from(follow)]);
        if B::BUG == Bug::LeaksAName {
            let path = shape.path("left")?;
            std::fs::write(path, "").map_err(|error| setup(&error))?;
        }
        link.guards.push(Guard::new(()));
        Ok(link)
    }

    fn attach(end: Attach<'_, ToyOptions>) -> Result<ToyPort<B>, SetupError> {
        let Attach { wiring, seat, shape, .. } = end;
        let mut fds = wiring.fds.into_iter();
        let ends = match B::BUG {
            Bug::SharesItsNames | Bug::ClaimsDescriptors => fifos(shape.directory()?, seat),
            Bug::ReadsItsOwn => UnixStream::pair().map(|(one, two)| [file(one), file(two)]),
            _ => {
                let fd = fds.next().ok_or_else(|| SetupError::Protocol("no descriptor".into()))?;
                let socket = UnixStream::from(fd);
                socket.try_clone().map(|rx| [file(rx), file(socket)])
            }
        };
        let [rx, tx] = ends.map_err(|error| setup(&error))?;
        if B::BUG == Bug::LeaksADescriptor {
            std::mem::forget(rx.try_clone().map_err(|error| setup(&error))?);
        }
        let early = match B::BUG {
            Bug::KeepsWhatWasUnread => std::mem::take(&mut *unread()),
            _ => Vec::new(),
        };
        let fresh = match B::BUG {
            Bug::TouchesFreshMemory => vec![0; FRESH],
            _ => Vec::new(),
        };
        let buffer = vec![0; shape.size.max(8)];
        let (kept, bug) = (fds.next(), PhantomData);
        Ok(ToyPort { rx, tx: Some(tx), kept, buffer, early, fresh, held: None, sent: 0, bug })
    }
}

fn file(socket: UnixStream) -> File {
    OwnedFd::from(socket).into()
}

/// Two names that every link of a run shares.
fn names(directory: &Path) -> [PathBuf; 2] {
    ["ping", "pong"].map(|name| directory.join(name))
}

/// To receive and to send: both seats open in the same order, or they would wait for each other.
fn fifos(directory: &Path, seat: Seat) -> std::io::Result<[File; 2]> {
    let read = |path: &Path| OpenOptions::new().read(true).open(path);
    let write = |path: &Path| OpenOptions::new().write(true).open(path);
    let [ping, pong] = names(directory);
    if seat == Seat::Lead {
        let tx = write(&ping)?;
        return Ok([read(&pong)?, tx]);
    }
    Ok([read(&ping)?, write(&pong)?])
}

/// What the last link of this process left unread.
fn unread() -> std::sync::MutexGuard<'static, Vec<u8>> {
    static UNREAD: Mutex<Vec<u8>> = Mutex::new(Vec::new());
    UNREAD.lock().unwrap_or_else(PoisonError::into_inner)
}

fn setup(error: &std::io::Error) -> SetupError {
    SetupError::sys("toy", error.raw_os_error().unwrap_or(0))
}

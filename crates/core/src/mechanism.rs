//! The interface of a mechanism to the rest of the program.

use crate::link::{Link, Wiring};
use crate::missing::Missing;
use crate::names::ListenerKind;
use crate::namespace::Namespaces;
use crate::options::{KnobValue, Options};
use crate::port::{DynPort, Fault, Port};
use crate::seat::Seat;
use crate::shape::Shape;
use crate::spec::{Limit, Payload, Spec};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::io;
use std::os::fd::OwnedFd;

/// One way for two processes on one host to pass messages or wake each other.
///
/// A mechanism does setup; its [`Port`] does motion. The `conformance` crate tries to refute what [`Spec`]
/// says about sizes, boundaries, order, back-pressure, closing and death.
pub trait Mechanism: Sized + 'static {
    /// What this is and what it promises. The only place these facts are written.
    const SPEC: &'static Spec;
    /// Knobs (`pipe.size=64K`), shared by the variants of one mechanism.
    type Options: Options;
    /// One end of an open channel.
    type Port: Port;
    /// Whether several processes can attach to what `open` made for one seat, and so stand on one side of one object
    /// where the facts say so: an end keeps no state that the others must know, and one call moves one message.
    const SHARES: bool = false;
    /// Whether its ends [ask each other](Meet::swap) for something while they attach, so that each has exactly one peer.
    const MEETS: bool = false;
    /// How one send reaches several consumers, where there is an object for that. Elsewhere each of them needs a channel of
    /// its own, over which the message is sent once more.
    const TO_EACH: Option<ToEach<Self::Options>> = None;

    /// Can this host run it with these options? Asked before anything is planned; leaves nothing behind.
    ///
    /// # Errors
    /// What is missing and how to get it.
    fn probe(options: &Self::Options) -> Result<(), Missing>;

    /// The largest message under these options on this host, where there is a limit.
    fn limit(_options: &Self::Options) -> Option<Limit> {
        match Self::SPEC.payload {
            Payload::Message { max: Some(limit) } => Some(limit),
            _ => None,
        }
    }

    /// How many messages of `size` bytes may be under way before the sender waits for a credit; `None` where the
    /// mechanism's own back-pressure is enough.
    fn window(_size: usize, _options: &Self::Options) -> Option<u32> {
        Self::SPEC.window
    }

    /// In what memory an end writes the messages that it sends, and looks at those that it receives.
    fn lends(_options: &Self::Options) -> [Lends; 2] {
        [Lends::Buffer; 2]
    }

    /// The namespaces that both ends must share under these options.
    fn shares(_options: &Self::Options) -> Namespaces {
        Self::SPEC.shares
    }

    /// The knob that the kernel sets lower where a quota of the user is used up, if there is one.
    fn usual() -> Option<Usual> {
        None
    }

    /// Where clients connect to for a single request; `None` for what has no listener, and for variants whose way of
    /// moving messages would be none of it.
    fn listener(_options: &Self::Options) -> Option<ListenerKind> {
        None
    }

    /// In the coordinator: creates the kernel objects. Never timed.
    ///
    /// # Errors
    /// What could not be created.
    fn open(shape: &Shape, options: &Self::Options) -> Result<Link, SetupError>;

    /// In a worker: becomes one end. Never timed.
    ///
    /// # Errors
    /// What could not be attached.
    fn attach(end: Attach<'_, Self::Options>) -> Result<Self::Port, SetupError>;
}

/// One object with one producer and several consumers, each of which gets every message.
pub struct ToEach<O> {
    /// In the coordinator: creates it for so many consumers. Its link has what the producer needs, and what each of the
    /// consumers needs.
    pub open: fn(&Shape, u64, &O) -> Result<Link, SetupError>,
    /// In a worker: becomes the consumer of this number, or the producer.
    pub attach: AttachToEach<O>,
}

/// How an end of such an object is attached.
pub type AttachToEach<O> = fn(Attach<'_, O>, Option<u64>) -> Result<Box<dyn DynPort>, SetupError>;

/// In what memory a port shows a message to the loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub enum Lends {
    /// A private buffer of the end, which begins at [`Shape::buffer_offset`] in a page.
    Buffer,
    /// Private memory of the end that begins where the mechanism has it.
    Place,
    /// Memory that is not the end's own: both processes map it, or it is made for the message and handed over.
    Shared,
}

/// What the kernel gives to a knob that nobody sets, unless a quota of the user is in the way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Usual {
    /// The knob by its own name: `size`.
    pub knob: &'static str,
    /// The value.
    pub value: u64,
    /// Why it may be less, and how to get it.
    pub less: Missing,
}

/// What a worker has when it becomes one end.
pub struct Attach<'a, O> {
    /// What [`Mechanism::open`] returned for this end.
    pub wiring: Wiring,
    /// Which end it is.
    pub seat: Seat,
    /// What the channel must carry.
    pub shape: &'a Shape,
    /// The knobs as they were set.
    pub options: &'a O,
    /// What may be asked of the outside.
    pub meet: &'a mut dyn Meet,
}

impl<O> Attach<'_, O> {
    /// The descriptors of the wiring, which has none afterwards.
    ///
    /// # Errors
    /// There are not exactly `N`.
    pub fn descriptors<const N: usize>(&mut self) -> Result<[OwnedFd; N], SetupError> {
        <[OwnedFd; N]>::try_from(std::mem::take(&mut self.wiring.fds)).map_err(|fds| {
            let given = fds.len();
            SetupError::Protocol(format!("{given} descriptors arrived instead of {N}"))
        })
    }

    /// Reports the value of a knob as the kernel granted it to this end.
    pub fn effective(&mut self, knob: &str, value: impl Into<KnobValue>) {
        self.meet.effective(knob, value.into());
    }
}

/// What a worker may ask of the outside while it attaches.
pub trait Meet {
    /// Gives `mine` to the peer and waits for what the peer gives.
    ///
    /// # Errors
    /// The peer or the coordinator is gone.
    fn swap(&mut self, mine: Wiring) -> Result<Wiring, SetupError>;

    /// Reports the value of a knob, under its own name (`size`), as the kernel granted it to this end.
    fn effective(&mut self, knob: &str, value: KnobValue);
}

/// A list of mechanism types. Each consumer erases it its own way: registry, conformance suite, documentation.
pub trait Visitor {
    /// Called once for each mechanism, in the order of the list.
    fn visit<M: Mechanism>(&mut self);
}

/// Why a channel could not be opened or attached.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum SetupError {
    /// The host cannot run it: a result, not a failure.
    Unavailable(Missing),
    /// A system call failed.
    Sys {
        /// The call and its object: "mq_open /ipcperf-1f-ping".
        call: String,
        /// Its `errno`.
        code: i32,
    },
    /// The other side did not do what was agreed.
    Protocol(String),
}

impl SetupError {
    /// A failed system call.
    #[must_use]
    pub fn sys(call: impl Into<String>, code: i32) -> Self {
        Self::Sys { call: call.into(), code }
    }

    /// The same as the standard library tells it, for `map_err`.
    pub fn io(call: impl Into<String>) -> impl FnOnce(io::Error) -> Self {
        |error| match error.raw_os_error() {
            Some(code) => Self::sys(call, code),
            None => Self::Protocol(format!("{}: {error}", call.into())),
        }
    }

    /// What a failed trial means for availability.
    #[must_use]
    pub fn into_missing(self) -> Missing {
        match self {
            Self::Unavailable(missing) => missing,
            other => Missing::new(other.to_string(), "a kernel and a sandbox that allow it"),
        }
    }
}

impl From<Missing> for SetupError {
    fn from(missing: Missing) -> Self {
        Self::Unavailable(missing)
    }
}

/// What it was about is not known: [`SetupError::io`] says it.
impl From<io::Error> for SetupError {
    fn from(error: io::Error) -> Self {
        Self::io("open or attach")(error)
    }
}

impl From<Fault> for SetupError {
    fn from(fault: Fault) -> Self {
        Self::Protocol(fault.to_string())
    }
}

impl fmt::Display for SetupError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unavailable(missing) => missing.fmt(out),
            Self::Sys { call, code } => write!(out, "{call}: {}", crate::errno::text(*code)),
            Self::Protocol(what) => out.write_str(what),
        }
    }
}

impl std::error::Error for SetupError {}

//! The facts of a mechanism, typed. There is no default but a base that promises nothing; facts that several share are
//! written out once, as a base of theirs.

use crate::names;
use crate::namespace::Namespaces;
use serde::{Deserialize, Serialize};

/// What a mechanism is and what it promises. Where a conformance case depends on a fact, it is this
/// one, so a wrong fact fails its case.
#[derive(Clone, Copy, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Spec {
    /// The mechanism: `pipe`. Knobs live under this name.
    pub name: &'static str,
    /// The variant after the slash: `spin`; none for the plain one.
    pub variant: Option<&'static str>,
    /// What kind of thing it is.
    pub family: Family,
    /// How an end waits.
    pub wait: Wait,
    /// Whether it stands for its mechanism when only one variant is wanted.
    pub default: bool,
    /// One sentence.
    pub summary: &'static str,
    /// Manual pages: `pipe(7)`.
    pub manual: &'static [&'static str],
    /// What a user or a benchmark easily gets wrong.
    pub pitfalls: &'static [&'static str],
    /// What one transfer carries.
    pub payload: Payload,
    /// Whether one object serves both directions.
    pub direction: Direction,
    /// Which processes can meet over it.
    pub reach: Reach,
    /// The namespaces that both ends must share, as ipcperf sets the channel up: none where the descriptors of a channel are handed
    /// over.
    #[cfg_attr(feature = "schema", schemars(with = "Vec<crate::namespace::Namespace>"))]
    pub shares: Namespaces,
    /// Those that they must share if nothing is handed over and they meet by a name or a number; none where they cannot.
    #[cfg_attr(feature = "schema", schemars(with = "Vec<crate::namespace::Namespace>"))]
    pub shares_by_name: Namespaces,
    /// How many producers one object can have.
    pub producers: Peers,
    /// How many consumers one object can have.
    pub consumers: Peers,
    /// What a sender meets when the receiver is slower.
    pub back_pressure: BackPressure,
    /// What the other end sees when one end finishes in order.
    pub on_close: OnClose,
    /// What the other end sees when one end is killed.
    pub on_death: OnClose,
    /// What it takes to go on when one end was killed and started again.
    pub on_restart: OnRestart,
    /// Whether open descriptors can travel with a message.
    pub descriptors: bool,
    /// Where the bytes of a message live.
    pub memory: Memory,
    /// Copies of the payload from the sender's bytes to the receiver's.
    pub copies: u8,
    /// System calls of one transfer when nobody has to wait.
    pub syscalls: Syscalls,
    /// Most messages under way before the receiver returns a credit; none: unbounded, the mechanism itself stops the
    /// sender.
    pub window: Option<u32>,
    /// What it needs from the host beyond a Linux kernel.
    pub needs: &'static [&'static str],
    /// The bare mechanism that it is built on, by its full name: `unix-stream/epoll`. None for what is bare itself.
    pub over: Option<&'static str>,
    /// Whether each message goes its own way, or is a call that has an answer.
    pub exchange: Transfers,
    /// Whether an end starts threads in addition to the one that sends and receives, threads of the kernel included.
    pub threads: bool,
    /// No fact: no other crate writes out all fields with it, so a new field breaks none. `non_exhaustive` would also refuse the
    /// bases that families of mechanisms share.
    #[doc(hidden)]
    #[serde(skip)]
    pub more: (),
}

/// What a user may require of a mechanism. Each follows from the facts of [`Spec`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Capability {
    /// Processes can meet that share no ancestor and were handed nothing.
    Unrelated,
    /// Other hosts can be reached in the same way.
    Network,
    /// Messages keep their boundaries.
    Boundaries,
    /// Open descriptors can travel with a message.
    FdPassing,
    /// One object serves both directions.
    TwoWay,
    /// One object takes messages of several producers.
    ManyProducers,
    /// Several consumers can share one object.
    ManyConsumers,
    /// A fast sender waits, and nothing is lost.
    BackPressure,
    /// A peer that closes its end is noticed.
    #[serde(rename = "told-of-close")]
    NoticesClose,
    /// A peer that dies is noticed.
    #[serde(rename = "told-of-death")]
    NoticesDeath,
    /// After one side was killed and restarted, the two find each other without help.
    Reconnect,
    /// The receiver sees the bytes that the sender wrote, without a copy.
    NoCopy,
    /// One side listens at a name, and each that connects gets a connection of its own.
    Listener,
    /// It carries a payload, rather than only waking.
    Payload,
}

crate::words! {
    "capability" Capability {
        Unrelated = "unrelated",
        Network = "network",
        Boundaries = "boundaries",
        FdPassing = "fd-passing",
        TwoWay = "two-way",
        ManyProducers = "many-producers",
        ManyConsumers = "many-consumers",
        BackPressure = "back-pressure",
        NoticesClose = "notices-close" | "told-of-close",
        NoticesDeath = "notices-death" | "told-of-death",
        Reconnect = "reconnect",
        NoCopy = "no-copy",
        Listener = "listener",
        Payload = "payload",
    }
}

impl Spec {
    /// The least that can be said: nothing is promised, and one plain variant blocks. Bases of families say more, and a
    /// mechanism says the rest; what the conformance suite cannot try, each mechanism says itself.
    pub const NOTHING: Self = Self {
        name: "",
        variant: None,
        family: Family::Floor,
        wait: Wait::Block,
        default: true,
        summary: "",
        manual: &[],
        pitfalls: &[],
        payload: Payload::Message { max: None },
        direction: Direction::OneWay,
        reach: Reach::Related,
        shares: Namespaces::NONE,
        shares_by_name: Namespaces::NONE,
        producers: Peers::One,
        consumers: Peers::One,
        back_pressure: BackPressure::None,
        on_close: OnClose::Undetected,
        on_death: OnClose::Undetected,
        on_restart: OnRestart::HandedOver,
        descriptors: false,
        memory: Memory::Reused,
        copies: 0,
        syscalls: Syscalls { send: None, recv: None },
        window: None,
        needs: &[],
        over: None,
        exchange: Transfers::Messages,
        threads: false,
        more: (),
    };

    /// Whether the facts say that it can do this.
    #[must_use]
    pub fn can(&self, capability: Capability) -> bool {
        let carries = !matches!(self.payload, Payload::Wake { .. });
        match capability {
            Capability::Unrelated => self.reach != Reach::Related,
            Capability::Network => self.reach == Reach::Network,
            Capability::Boundaries => matches!(self.payload, Payload::Message { .. }),
            Capability::FdPassing => self.descriptors,
            Capability::TwoWay => self.direction == Direction::TwoWay,
            Capability::ManyProducers => self.producers == Peers::Many,
            Capability::ManyConsumers => self.consumers == Peers::Many,
            Capability::BackPressure => self.back_pressure == BackPressure::Blocks,
            Capability::NoticesClose => self.on_close == OnClose::Told,
            Capability::NoticesDeath => self.on_death == OnClose::Told,
            Capability::Reconnect => self.on_restart != OnRestart::HandedOver,
            // One object for each peer, at a name at which the survivor of two connects again.
            Capability::Listener => {
                self.on_restart == OnRestart::Reopens
                    && self.direction == Direction::TwoWay
                    && (self.producers, self.consumers) == (Peers::One, Peers::One)
            }
            Capability::NoCopy => carries && self.copies == 0,
            Capability::Payload => carries,
        }
    }

    /// `pipe` or `pipe/spin`: how users write it.
    #[must_use]
    pub fn full_name(&self) -> String {
        match self.variant {
            Some(variant) => format!("{}/{variant}", self.name),
            None => self.name.to_owned(),
        }
    }

    /// Whether a text can be the name of a mechanism, or of a variant of one: 1 to 32 of a-z, 0-9 and '-'.
    #[doc(hidden)]
    #[must_use]
    pub fn is_name(text: &str) -> bool {
        let fits = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
        (1..=32).contains(&text.len()) && text.bytes().all(fits)
    }

    /// Whether a text can be a [`Spec::full_name`]: a name, or two with a slash in between.
    #[doc(hidden)]
    #[must_use]
    pub fn is_full_name(text: &str) -> bool {
        text.splitn(2, '/').all(Self::is_name)
    }

    /// Bytes a wake-up mechanism itself moves, where it is one.
    #[must_use]
    pub const fn wake_word(&self) -> Option<usize> {
        match self.payload {
            Payload::Wake { word } => Some(word),
            _ => None,
        }
    }

    /// The floor: moves nothing, so there is nothing to prove.
    #[must_use]
    pub fn is_floor(&self) -> bool {
        matches!(self.family, Family::Floor)
    }
}

names! {
    /// What kind of thing a mechanism is.
    #[non_exhaustive]
    "family" Family {
        /// Measures the harness itself.
        Floor = "floor",
        /// Bytes without boundaries.
        Stream = "stream",
        /// Messages with boundaries over a socket.
        Datagram = "datagram",
        /// Message queues of the kernel.
        Queue = "queue",
        /// Wake-ups without payload.
        WakeUp = "wake-up",
        /// Payload in memory that both processes map.
        SharedMemory = "shared-memory",
        /// Payload in an object of its own, handed over as a descriptor or a name.
        ByReference = "by-reference",
        /// Pages moved or copied by the kernel from one process to the other, without a copy in between.
        KernelCopy = "kernel-copy",
        /// Another carrier, driven through rings shared with the kernel.
        IoUring = "io-uring",
        /// Messages with types and names, over a bus or its protocol.
        Bus = "bus",
        /// What a library builds on another mechanism.
        Library = "library",
    }
}

names! {
    /// How an end waits. Rankings never mix waiting classes.
    #[derive(Default)]
    #[non_exhaustive]
    "wait" Wait {
        /// Sleeps in the kernel, in the call that moves the data.
        #[default]
        Block = "block",
        /// Sleeps in `epoll_wait`, then moves the data without blocking.
        Epoll = "epoll",
        /// Never sleeps: burns a CPU for each end.
        Spin = "spin",
        /// Spins for a bounded time, then sleeps.
        SpinThenBlock = "spin-then-block",
    }
}

impl Wait {
    /// Whether an end burns a whole CPU while it waits, so that two ends cannot share one.
    #[must_use]
    pub const fn burns_cpu(self) -> bool {
        matches!(self, Self::Spin)
    }
}

/// What one transfer carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "kind", rename_all = "lowercase")]
#[non_exhaustive]
pub enum Payload {
    /// A wake-up; the mechanism's own word (0, 4 or 8 bytes) carries the proof. The size of a cell is 0.
    Wake {
        /// Bytes of the word.
        word: usize,
    },
    /// Bytes without boundaries.
    Stream,
    /// Messages that keep their boundaries.
    Message {
        /// The largest, where it does not depend on options or the host.
        max: Option<Limit>,
    },
}

impl Payload {
    /// Messages of up to `bytes`, where nothing raises the limit that `set_by` names.
    #[must_use]
    pub const fn up_to(bytes: usize, set_by: &'static str) -> Self {
        Self::Message { max: Some(Limit { bytes, set_by, raise: "" }) }
    }
}

/// The largest message and what sets it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Limit {
    /// In bytes.
    pub bytes: usize,
    /// What sets it: "fs.mqueue.msgsize_max".
    pub set_by: &'static str,
    /// How to raise it; empty if it cannot be raised.
    pub raise: &'static str,
}

names! {
    /// Whether one object serves both directions.
    "direction" Direction {
        /// One direction; a round trip takes two objects.
        OneWay = "one-way",
        /// Both directions.
        TwoWay = "two-way",
    }
}

names! {
    /// Which processes can meet over it without passing a descriptor first.
    #[non_exhaustive]
    "reach" Reach {
        /// Only relatives, or a process that was passed a descriptor.
        Related = "related",
        /// Any process of the same user that knows the other's process number.
        SameUser = "same-user",
        /// Any process that may open the name (file permissions).
        Named = "named",
        /// Any process in the same network namespace, and other hosts where routed.
        Network = "network",
    }
}

names! {
    /// How many processes may stand on one side of one object.
    "peers" Peers {
        /// Exactly one.
        One = "one",
        /// Any number.
        Many = "many",
    }
}

names! {
    /// Whether each message goes its own way.
    #[non_exhaustive]
    "exchange" Transfers {
        /// A message needs no answer: either end sends when it likes.
        Messages = "messages",
        /// A call has one answer, and the next one follows it.
        Calls = "calls",
    }
}

names! {
    /// What a fast sender meets.
    #[non_exhaustive]
    "back-pressure" BackPressure {
        /// It waits.
        Blocks = "blocks",
        /// Messages are dropped.
        Drops = "drops",
        /// Transfers merge into one.
        Merges = "merges",
        /// A newer message replaces one that nobody has seen yet.
        Overwrites = "overwrites",
        /// Nothing ever fills.
        None = "none",
    }
}

names! {
    /// Where the bytes of a message live.
    #[non_exhaustive]
    "memory" Memory {
        /// In buffers that serve again and again: the timed path asks for no memory.
        Reused = "reused",
        /// In memory made for this message.
        Fresh = "fresh",
    }
}

names! {
    /// What the survivor sees.
    #[non_exhaustive]
    "end" OnClose {
        /// It drains what was sent and is then told.
        Told = "told",
        /// As `told`, but it may take a minute.
        Late = "late",
        /// Nothing tells it: the engine must notice.
        Undetected = "undetected",
    }
}

names! {
    /// What it takes to go on when one end was killed and started again.
    #[non_exhaustive]
    "restart" OnRestart {
        /// Nothing: the survivor's end reaches the new process too.
        GoesOn = "goes-on",
        /// The survivor opens or connects again, at the same name or address.
        Reopens = "reopens",
        /// Somebody hands the new process an end, or tells the survivor who it is.
        HandedOver = "handed-over",
    }
}

/// System calls of one transfer when nobody has to wait.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Syscalls {
    /// By the sender, per message; none where the number depends on timing.
    pub send: Option<f64>,
    /// By the receiver, per message; none where the number of polls depends on timing.
    pub recv: Option<f64>,
}

impl Syscalls {
    /// Whether most messages pass without one when nobody has to wait.
    #[must_use]
    pub const fn are_rare(self) -> bool {
        matches!(self.send, Some(calls) if calls < 1.0)
            && !matches!(self.recv, Some(calls) if calls >= 1.0)
    }

    /// Both sides, per message; `None` where it depends on timing.
    #[must_use]
    pub fn per_message(self) -> Option<f64> {
        Some(self.send? + self.recv?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_name_is_one_name_or_two_with_a_slash() {
        for name in ["pipe", "unix-stream/epoll", "a/2", &"x".repeat(32)] {
            assert!(Spec::is_full_name(name), "{name}");
        }
        for text in ["", "/", "pipe/", "/spin", "a/b/c", "Pipe", "a b", "a_b", &"x".repeat(33)] {
            assert!(!Spec::is_full_name(text), "{text}");
        }
    }
}

//! Facts one by one, for a mechanism of another crate.

use crate::namespace::Namespaces;
use crate::spec::{
    BackPressure, Direction, Family, Limit, Memory, OnClose, OnRestart, Payload, Peers, Reach,
    Spec, Syscalls, Transfers, Wait,
};

/// Functions that set one fact each.
macro_rules! facts {
    ($($(#[$doc:meta])* $fact:ident: $type:ty,)+) => {
        $($(#[$doc])*
        #[must_use]
        pub const fn $fact(self, $fact: $type) -> Self {
            Self { $fact, ..self }
        })+
    };
}

/// [`Spec::message`], [`Spec::stream`] and [`Spec::wake`] begin one, and a function with the name of a fact sets that fact:
///
/// ```
/// use ipcperf_core::{Direction, Spec};
///
/// const SPEC: Spec = Spec::message("mine")
///     .summary("Messages over a UNIX stream socket, each behind its length; a receiver sleeps in read.")
///     .over("unix-stream")
///     .direction(Direction::TwoWay)
///     .notices_close()
///     .copies(2);
/// assert_eq!((SPEC.full_name().as_str(), SPEC.over), ("mine", Some("unix-stream")));
/// ```
///
/// A fact that is added later has a value in [`Spec::NOTHING`], so that neither this nor `Spec { .., ..Spec::NOTHING }` breaks.
impl Spec {
    /// A mechanism whose messages keep their boundaries: the transport of a library, which blocks, waits where there is no
    /// room, and promises nothing else.
    #[must_use]
    pub const fn message(name: &'static str) -> Self {
        Self::of_library(name, Payload::Message { max: None })
    }

    /// The same of one that carries bytes without boundaries.
    #[must_use]
    pub const fn stream(name: &'static str) -> Self {
        Self::of_library(name, Payload::Stream)
    }

    /// The same of one that only wakes, by a word of 0, 4 or 8 bytes.
    #[must_use]
    pub const fn wake(name: &'static str, word: usize) -> Self {
        Self::of_library(name, Payload::Wake { word })
    }

    const fn of_library(name: &'static str, payload: Payload) -> Self {
        let (family, back_pressure) = (Family::Library, BackPressure::Blocks);
        Self { name, payload, family, back_pressure, ..Self::NOTHING }
    }

    /// The variant after the slash, which is one of several: `spin` of `mine/spin`. It is not what `mine` alone means.
    #[must_use]
    pub const fn variant(self, variant: &'static str) -> Self {
        Self { variant: Some(variant), default: false, ..self }
    }

    /// The bare mechanism that it is built on, by its full name: `unix-stream/epoll`. A bench measures it as well.
    #[must_use]
    pub const fn over(self, bare: &'static str) -> Self {
        Self { over: Some(bare), ..self }
    }

    /// The largest message in bytes and what sets it, where neither depends on knobs or the host ([`Mechanism::limit`]).
    ///
    /// [`Mechanism::limit`]: crate::Mechanism::limit
    #[must_use]
    pub const fn limit(self, bytes: usize, set_by: &'static str) -> Self {
        Self { payload: Payload::Message { max: Some(Limit { bytes, set_by, raise: "" }) }, ..self }
    }

    /// System calls of one transfer when neither end has to wait: of the sender and of the receiver. Leave it out where their
    /// number depends on timing.
    #[must_use]
    pub const fn syscalls(self, send: f64, recv: f64) -> Self {
        Self { syscalls: Syscalls { send: Some(send), recv: Some(recv) }, ..self }
    }

    /// A receiver drains what was sent, and notices that its peer has finished.
    #[must_use]
    pub const fn notices_close(self) -> Self {
        self.on_close(OnClose::Told)
    }

    /// A receiver notices that its peer was killed.
    #[must_use]
    pub const fn notices_death(self) -> Self {
        self.on_death(OnClose::Told)
    }

    /// Most messages under way before the receiver returns a credit, where messages are dropped or merged.
    #[must_use]
    pub const fn window(self, messages: u32) -> Self {
        Self { window: Some(messages), ..self }
    }

    facts! {
        /// What kind of thing it is. What a library is built on belongs to `Family::Library`.
        family: Family,
        /// How an end waits.
        wait: Wait,
        /// Whether a variant is what the name alone means.
        default: bool,
        /// One sentence.
        summary: &'static str,
        /// Manual pages: `pipe(7)`.
        manual: &'static [&'static str],
        /// What a user or a benchmark easily gets wrong.
        pitfalls: &'static [&'static str],
        /// Whether one object serves both directions.
        direction: Direction,
        /// Which processes can meet over it.
        reach: Reach,
        /// The namespaces that both ends must share, as the channel is set up.
        shares: Namespaces,
        /// Those that they must share if they meet by a name or a number.
        shares_by_name: Namespaces,
        /// How many producers one object can have.
        producers: Peers,
        /// How many consumers one object can have.
        consumers: Peers,
        /// What a sender meets when the receiver is slower.
        back_pressure: BackPressure,
        /// What the other end sees when one end finishes in order.
        on_close: OnClose,
        /// What the other end sees when one end is killed.
        on_death: OnClose,
        /// What it takes to go on when one end was killed and started again.
        on_restart: OnRestart,
        /// Whether open descriptors can travel with a message.
        descriptors: bool,
        /// Whether memory is made for each message: the suite counts what the timed path asks for.
        memory: Memory,
        /// Copies of the payload from the sender's bytes to the receiver's.
        copies: u8,
        /// What it needs from the host beyond a Linux kernel.
        needs: &'static [&'static str],
        /// Whether each message goes its own way, or is a call that has an answer.
        exchange: Transfers,
        /// Whether an end starts threads in addition to the one that sends and receives.
        threads: bool,
    }
}

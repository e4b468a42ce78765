//! The requirements that `ipcperf choose` takes.

use crate::load::{Load, is_zero};
use crate::load_value::{Arrivals, Offered};
use crate::names;
use crate::namespace::Namespace;
use crate::neighbour::Neighbour;
use crate::pattern::PatternKind;
use crate::placement::Placement;
use crate::spec::{BackPressure, Capability, Spec, Wait};
use serde::{Deserialize, Serialize};

/// What `choose` was asked for.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Requirements {
    /// Bytes of the messages, in the order in which they were asked for.
    pub sizes: Vec<u64>,
    /// Messages that come per second, whether those before them are answered or not; absent where each waits for the
    /// answer to the one before it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate_per_second: Option<f64>,
    /// How long the lead sleeps before each round trip, ns; 0 for no pause.
    #[serde(default)]
    pub think_ns: u64,
    /// Connections of clients that stay connected to one server; 0 where one end talks to one other.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub conns: u64,
    /// Requests in flight on each connection, where one does not reach the rate; 0 for one.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub inflight: u64,
    /// What was tried before with fewer requests in flight or fewer connections, and did not reach the rate.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub attempts: Vec<Attempt>,
    /// Consumers that each get every message of one producer; 0 where one end talks to one other.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub consumers: u64,
    /// The load that runs at the same time; absent if none was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub neighbour: Option<Neighbour>,
    /// Where the ends run; absent where nobody said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub placement: Option<Placement>,
    /// What it must be able to do.
    #[serde(default)]
    pub can: Vec<Capability>,
    /// The namespaces that both ends do not share.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub across: Vec<Namespace>,
    /// Whether no end may spin, not even briefly.
    #[serde(default)]
    pub no_spin: bool,
    /// The longest p99 that is allowed, ns; absent where any is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p99_ns: Option<f64>,
    /// The longest p99.9 that is allowed, ns; absent where any is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p999_ns: Option<f64>,
    /// What decides among those that meet all of this.
    pub by: Goal,
    /// The mechanisms that it is a choice among, where some were named.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub among: Vec<String>,
    /// Mechanisms that could run and were not measured, since their facts rule them out.
    #[serde(default)]
    pub left_out: Vec<String>,
}

/// What came nearest to a rate with these requests in flight and connections.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Attempt {
    /// Requests in flight on each connection.
    pub inflight: u64,
    /// Connections.
    pub conns: u64,
    /// The mechanism that answered the most requests, with its knobs.
    pub mechanism: String,
    /// Requests that it answered per second.
    pub achieved_per_second: f64,
}

names! {
    /// What decides among mechanisms that meet all needs.
    #[derive(Default)]
    "goal" Goal {
        /// The median of the times.
        #[default]
        P50 = "p50",
        /// Their tail of one in a hundred.
        P99 = "p99",
        /// The tail of one in a thousand.
        P999 = "p99.9",
        /// CPU time of both ends for a message.
        Cpu = "cpu",
        /// Bytes per second.
        Throughput = "throughput",
    }
}

/// One thing that is asked of a mechanism and is among its facts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Need {
    /// It is able to do this.
    Can(Capability),
    /// Its ends sleep as soon as there is nothing to do.
    NoSpin,
    /// Its ends meet although they are in two namespaces of a kind.
    Across {
        /// Which kind.
        kind: Namespace,
        /// Whether they meet by a name, with nothing handed over.
        by_name: bool,
    },
    /// It passes messages, each of them: no wake-ups, no latest value only.
    Messages,
}

impl Need {
    /// Whether these facts meet it.
    #[must_use]
    pub fn is_met(self, spec: &Spec) -> bool {
        match self {
            Self::Messages => {
                spec.wake_word().is_none() && spec.back_pressure != BackPressure::Overwrites
            }
            Self::Can(capability) => spec.can(capability),
            Self::NoSpin => matches!(spec.wait, Wait::Block | Wait::Epoll),
            Self::Across { kind, by_name } => {
                let needed = if by_name { spec.shares_by_name } else { spec.shares };
                !needed.has(kind)
            }
        }
    }

    /// How it was asked for: `notices-death`, `--no-spin`.
    #[must_use]
    pub const fn words(self) -> &'static str {
        match self {
            Self::Messages => "messages",
            Self::Can(capability) => capability.name(),
            Self::NoSpin => "--no-spin",
            Self::Across { kind, .. } => match kind {
                Namespace::Net => "--across net",
                Namespace::Ipc => "--across ipc",
                Namespace::Mnt => "--across mnt",
                Namespace::Pid => "--across pid",
                Namespace::User => "--across user",
            },
        }
    }
}

impl Requirements {
    /// Whether the ends must find each other by a name, so that a pair that is handed over does not do.
    #[must_use]
    pub fn is_by_name(&self) -> bool {
        let by_name = [Capability::Unrelated, Capability::Reconnect, Capability::Listener];
        by_name.iter().any(|capability| self.can.contains(capability))
    }

    /// What is asked of the facts of a mechanism, each once and in an order of its own.
    #[must_use]
    pub fn needs(&self) -> Vec<Need> {
        let is_needed = |one: &&Capability| {
            self.can.contains(one) || (**one == Capability::Listener && self.conns > 0)
        };
        let can = Capability::ALL.iter().filter(is_needed);
        let can = can.map(|one| Need::Can(*one));
        let by_name = self.is_by_name();
        let across = Namespace::ALL.iter().filter(|one| self.across.contains(one));
        let across = across.map(|one| Need::Across { kind: *one, by_name });
        can.chain(across)
            .chain(self.no_spin.then_some(Need::NoSpin))
            .chain([Need::Messages])
            .collect()
    }

    /// Whether requests go to a server that has several connections, or several requests in flight on one.
    #[must_use]
    pub const fn is_served(&self) -> bool {
        self.conns > 0 || self.inflight > 0
    }

    /// The highest p99 and p99.9 that are allowed, with the name of each, ns.
    pub fn limits(&self) -> impl Iterator<Item = (&'static str, f64)> + use<> {
        let named = [("p99", self.p99_ns), ("p99.9", self.p999_ns)];
        named.into_iter().filter_map(|(name, limit)| Some((name, limit?)))
    }

    /// Whether a tail has a limit.
    #[must_use]
    pub fn has_limit(&self) -> bool {
        self.limits().next().is_some()
    }

    /// The patterns that `--p99` and `--p99.9` limit.
    #[must_use]
    pub fn limited(&self) -> Vec<PatternKind> {
        if self.has_limit() { self.timed() } else { Vec::new() }
    }

    /// The same with any tail.
    #[must_use]
    pub fn without_limits(&self) -> Self {
        Self { p99_ns: None, p999_ns: None, ..self.clone() }
    }

    /// The needs that these facts do not meet.
    #[must_use]
    pub fn unmet(&self, spec: &Spec) -> Vec<Need> {
        self.needs().into_iter().filter(|need| !need.is_met(spec)).collect()
    }

    /// The patterns whose times count: requests of connected clients where there are some, messages to consumers
    /// where there are some, else messages that come at a rate,
    /// and round trips wherever pauses were asked for or no rate was.
    #[must_use]
    pub fn timed(&self) -> Vec<PatternKind> {
        if self.is_served() {
            return vec![PatternKind::Serve];
        }
        if self.consumers > 0 {
            return vec![PatternKind::Broadcast];
        }
        let open = self.rate_per_second.map(|_| PatternKind::Rate);
        let closed = (open.is_none() || self.think_ns > 0).then_some(PatternKind::PingPong);
        open.into_iter().chain(closed).collect()
    }

    /// What can decide: a broadcast has no answers, and so no times.
    #[must_use]
    pub fn goals(&self) -> &'static [Goal] {
        if self.consumers > 0 { &[Goal::Throughput, Goal::Cpu] } else { Goal::ALL }
    }

    /// The patterns whose figures decide.
    #[must_use]
    pub fn deciding(&self) -> Vec<PatternKind> {
        match self.by {
            _ if self.is_served() || self.consumers > 0 => self.timed(),
            Goal::P50 | Goal::P99 | Goal::P999 => self.timed(),
            // Who sends at a rate watches the clock in between, and burns a CPU with it.
            Goal::Cpu => vec![PatternKind::PingPong],
            Goal::Throughput => vec![PatternKind::Stream],
        }
    }

    /// What a pattern is asked to do.
    #[must_use]
    pub fn load(&self, pattern: PatternKind) -> Load {
        let load = Load {
            rate: self.rate_per_second.map(Offered::PerSecond),
            arrivals: Some(Arrivals::Poisson),
            think_ns: self.think_ns,
            conns: self.conns,
            inflight: self.inflight,
            peers: self.consumers,
            neighbour: self.neighbour.clone(),
            ..Load::default()
        };
        load.of(pattern)
    }

    /// The same without one of the needs.
    #[must_use]
    pub fn without(&self, need: Need) -> Self {
        let mut less = self.clone();
        match need {
            Need::Messages => {}
            Need::Can(capability) => less.can.retain(|one| *one != capability),
            Need::NoSpin => less.no_spin = false,
            Need::Across { kind, .. } => less.across.retain(|one| *one != kind),
        }
        less
    }
}

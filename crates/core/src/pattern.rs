//! Patterns: what the loop does, and all that follows from it. The word and the row of a pattern stand here; planning,
//! measuring, adding up, judging and showing read the row.

use crate::names;
use crate::seat::Seat;
use crate::units::{format_bytes_per_second, format_nanos, format_per_second};

names! {
    /// What the loop does.
    #[derive(Default)]
    "pattern" PatternKind {
        /// Closed loop: send, wait for the reply, repeat. Measures the round trip.
        #[default]
        PingPong = "ping-pong",
        /// One direction, as fast as the mechanism's own back-pressure allows; counted at the receiver.
        Stream = "stream",
        /// Open loop: messages are due at times fixed beforehand, whatever the replies do; the response time counts from
        /// when a message was due.
        Rate = "rate",
        /// Closed loop of several messages: so many back to back, then wait for one reply to the last.
        Burst = "burst",
        /// Closed loop of questions with answers of another size: so many are under way, each timed from its own departure.
        Request = "request",
        /// Several producers send to one consumer over one object, as fast as they can; counted at the consumer.
        FanIn = "fan-in",
        /// One producer sends to several consumers that share one object: each message goes to exactly one of them.
        FanOut = "fan-out",
        /// Several producers and several consumers on one object: each message goes to exactly one of the consumers.
        Grid = "grid",
        /// One producer and several consumers with a channel each: every message goes to all of them.
        Broadcast = "broadcast",
        /// Open loop in one direction: each message is due at a time fixed beforehand, goes to all consumers, and has no answer.
        Feed = "feed",
        /// A connection for each request: connect, read the answer to its end, close.
        Connect = "connect",
        /// Clients that stay connected to one server: each request waits for its answer on a connection made before.
        Serve = "serve",
    }
}

/// Who takes part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ends {
    /// Two processes, one at each end of a channel.
    Pair,
    /// Several processes on this side, one process on the other: over one object, or a channel each.
    Many(Seat),
    /// Several processes on both sides of one object.
    Grid,
    /// Clients, and a server to which each connects for every request.
    Clients,
    /// Clients, and a server to which they stay connected.
    Connected,
}

/// What moves, and so what counts as a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exchange {
    /// A message and its reply, both counted; what is lost is what the lead misses.
    RoundTrip,
    /// Messages in one direction, counted where they arrive.
    OneWay,
    /// Requests: one counts as a message when it has its answer, and as lost when it failed.
    Request,
}

impl Exchange {
    /// Messages of one operation that came to its end.
    #[must_use]
    pub const fn messages(self) -> u64 {
        match self {
            Self::RoundTrip => 2,
            Self::OneWay | Self::Request => 1,
        }
    }

    /// Whose count of lost messages is that of the cell.
    #[must_use]
    pub const fn counted_by(self) -> Seat {
        match self {
            Self::RoundTrip | Self::Request => Seat::Lead,
            Self::OneWay => Seat::Follow,
        }
    }
}

/// Which figure of a cell speaks for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Figure {
    /// The median time of an operation, ns; less is better.
    Time,
    /// Bytes that arrive per second, or messages where they have no bytes; more is better.
    Throughput,
    /// Requests answered per second; more is better.
    Requests,
}

impl Figure {
    /// A figure of cells of this size as it is written.
    #[must_use]
    pub fn words(self, value: f64, size: u64) -> String {
        match self {
            Self::Time => format_nanos(value),
            Self::Throughput if size > 0 => format_bytes_per_second(value),
            Self::Throughput | Self::Requests => format_per_second(value),
        }
    }
}

/// Which rate stands beside the time of an operation, or speaks itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rated {
    /// Messages that arrived, over the time of the operations.
    Arrived,
    /// Messages that were answered, over all the time.
    Answered,
}

/// Which limit of the machine a cell is held against.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limitation {
    /// A cache line or a futex wake, there and back.
    RoundTrip,
    /// Copying memory.
    Copy,
}

/// What is so of a pattern wherever it occurs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PatternFacts {
    /// Who takes part.
    pub ends: Ends,
    /// What counts as a message.
    pub exchange: Exchange,
    /// Whose clock makes the samples.
    pub timed_by: Seat,
    /// The primary metric of a cell.
    pub figure: Figure,
    /// Which rate is told; `None` where it is one over the time.
    pub rate: Option<Rated>,
    /// What a cell is held against; `None` where the machine has no such limit.
    pub bound: Option<Limitation>,
    /// Messages are due at times of their own: cells of one mechanism make a curve over the load, and have no rank.
    pub is_open: bool,
    /// Operations too short for the clock are timed in batches, of one length in all rounds.
    pub is_batched: bool,
    /// Every message goes to each of the many, over a channel of its own; they share no object.
    pub to_each: bool,
    /// The heading of its tables.
    pub title: &'static str,
    /// What is added to the heading where anything is asked for.
    pub when_loaded: &'static str,
    /// What its CPU time is for: "message of a stream".
    pub cost_of: &'static str,
    /// What a reader of its tables has to know; may be empty.
    pub legend: &'static str,
}

/// Closed loop of two ends. The other rows say what they do not share with it.
const PING_PONG: PatternFacts = PatternFacts {
    ends: Ends::Pair,
    exchange: Exchange::RoundTrip,
    timed_by: Seat::Lead,
    figure: Figure::Time,
    rate: None,
    bound: Some(Limitation::RoundTrip),
    is_open: false,
    is_batched: true,
    to_each: false,
    title: "Round trip",
    when_loaded: " in a closed loop",
    cost_of: "message of a round trip",
    legend: "",
};

const STREAM: PatternFacts = PatternFacts {
    exchange: Exchange::OneWay,
    timed_by: Seat::Follow,
    figure: Figure::Throughput,
    rate: Some(Rated::Arrived),
    bound: Some(Limitation::Copy),
    is_batched: false,
    title: "Throughput",
    when_loaded: "",
    cost_of: "message of a stream",
    ..PING_PONG
};

const RATE: PatternFacts = PatternFacts {
    rate: Some(Rated::Answered),
    is_open: true,
    is_batched: false,
    title: "Response time in an open loop",
    when_loaded: "",
    cost_of: "message of an open loop",
    legend: "In an open loop p50 to max count from when a message was due, service counts from when it was sent; \
             saturated: messages came faster than they were answered.",
    ..PING_PONG
};

const BURST: PatternFacts = PatternFacts {
    exchange: Exchange::OneWay,
    rate: Some(Rated::Arrived),
    // A burst is more than the one round trip that a bound is.
    bound: None,
    is_batched: false,
    title: "Bursts in a closed loop",
    when_loaded: "",
    cost_of: "message of a burst",
    legend: "A burst ends with the answer to its last message; the rate counts the messages of all bursts.",
    ..PING_PONG
};

const REQUEST: PatternFacts = PatternFacts {
    rate: Some(Rated::Answered),
    // It waits for those before it, and its answer may be any size.
    bound: None,
    is_batched: false,
    title: "Requests and answers",
    when_loaded: "",
    cost_of: "message of a request",
    legend: "A request lasts from its own departure until its answer has arrived; achieved is requests answered per \
             second, of all that are under way together.",
    ..PING_PONG
};

const FAN_IN: PatternFacts = PatternFacts {
    ends: Ends::Many(Seat::Lead),
    title: "Several producers, one consumer",
    cost_of: "message of several producers",
    legend: "Peers share one object, each in a process of its own; a message of a fan-out goes to exactly one of them. \
             Jain's index is 1 where all peers moved the same and 1/n where one moved everything; least is the smallest \
             share. A send or recv is one call of a peer, waiting included. CPU/msg is of all processes.",
    ..STREAM
};

const FAN_OUT: PatternFacts = PatternFacts {
    ends: Ends::Many(Seat::Follow),
    title: "One producer, several consumers",
    cost_of: "message of several consumers",
    ..FAN_IN
};

const GRID: PatternFacts = PatternFacts {
    ends: Ends::Grid,
    title: "Several producers and consumers",
    cost_of: "message of a grid",
    legend: "Producers and consumers share one object, each in a process of its own; a message goes to exactly one consumer. \
             Jain's index is 1 where all producers moved the same and 1/n where one moved everything, Jain cons. the same of \
             consumers. A send is one call of a producer, waiting included. CPU/msg is of all processes. Above 4 KiB the \
             pieces of 4 KiB that a pipe keeps whole are proved: whole is the share of messages whose pieces reached one \
             consumer in a row; the rest were split between consumers or mixed with other messages.",
    ..FAN_IN
};

const BROADCAST: PatternFacts = PatternFacts {
    to_each: true,
    title: "One producer, every message to several consumers",
    cost_of: "message of a broadcast",
    legend: "The producer sends each message once for each consumer, over a channel of its own, and over shm-ring once for \
             all; each copy that arrives counts. Slowest is what the slowest consumer got per second; behind is how many messages a consumer had not \
             read yet that were sent to it. A recv is one call of a consumer, waiting included.",
    ..FAN_OUT
};

const FEED: PatternFacts = PatternFacts {
    figure: Figure::Time,
    rate: Some(Rated::Answered),
    // A way to one of several consumers; the machine's limits are round trips and copies.
    bound: None,
    title: "A feed: one way, at a rate",
    cost_of: "message of a feed",
    legend: "p50 to max count from when a message was due until a consumer had read it, over all consumers; saturated: \
             messages came faster than they were sent or read. slowest p99 is of the consumer whose p99 is longest. stale is \
             the age, counted from when it was due, of the newest message that a consumer has, in the moment in which it gets \
             the next one: the oldest that its knowledge becomes; half of these ages are longer. late is how many messages \
             were due and not sent yet, at most; unread is how many were sent that a consumer had not read, at most. Each \
             consumer has a channel of its own, or one object reaches all.",
    ..BROADCAST
};

const CONNECT: PatternFacts = PatternFacts {
    ends: Ends::Clients,
    exchange: Exchange::Request,
    figure: Figure::Requests,
    bound: None,
    is_batched: false,
    title: "A connection for each request",
    when_loaded: "",
    cost_of: "request",
    legend: "A request makes a socket, connects, reads an answer of the size to its end, and closes; the server closes \
             first unless closes=client. CPU/req is the CPU time of both sides. Errors are requests that failed; quantiles count them as \
             the slowest.",
    ..PING_PONG
};

const SERVE: PatternFacts = PatternFacts {
    ends: Ends::Connected,
    title: "One server, connected clients",
    legend: "A request lasts from when it is sent (with --rate: from when it was due) until its answer has arrived; all \
             connections were made before. saturated: requests came faster than they were answered. limit is what was busy: the server, the clients, both, their one CPU, or \
             neither. Jain's index is 1 where all connections were answered alike and 1/n where one had everything. \
             CPU/req is the CPU time of both sides.",
    ..CONNECT
};

impl PatternKind {
    /// Its row.
    #[must_use]
    pub const fn facts(self) -> &'static PatternFacts {
        match self {
            Self::PingPong => &PING_PONG,
            Self::Stream => &STREAM,
            Self::Rate => &RATE,
            Self::Burst => &BURST,
            Self::Request => &REQUEST,
            Self::FanIn => &FAN_IN,
            Self::FanOut => &FAN_OUT,
            Self::Grid => &GRID,
            Self::Broadcast => &BROADCAST,
            Self::Feed => &FEED,
            Self::Connect => &CONNECT,
            Self::Serve => &SERVE,
        }
    }

    /// The side on which several processes stand; `None` where there is one on each.
    #[must_use]
    pub const fn many(self) -> Option<Seat> {
        match self.facts().ends {
            Ends::Many(seat) => Some(seat),
            Ends::Pair | Ends::Grid | Ends::Clients | Ends::Connected => None,
        }
    }

    /// Whether several processes stand on a side and share its end of an object.
    #[must_use]
    pub const fn is_shared(self) -> bool {
        matches!(self.facts().ends, Ends::Many(_) | Ends::Grid)
    }

    /// Whether two processes take part, one at each end of a channel.
    #[must_use]
    pub fn is_pair(self) -> bool {
        self.facts().ends == Ends::Pair
    }
}

/// Bytes of what acknowledges messages, if they are not shorter: room for a whole stamp.
pub(crate) const CREDIT: usize = 8;

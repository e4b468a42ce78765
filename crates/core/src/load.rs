//! Load: the work that a pattern does beyond moving messages of one size, part of a cell's identity. An option is one row:
//! its flag and key, its field in documents, how it is read and shown, which patterns take it, and its help.

use crate::load_value::{
    Address, Align, Arrivals, LoadError, MOST_PEERS, Mix, Offered, PayloadFile, Service, Transform,
    carried, count, nanos, packet, rate, reply,
};
use crate::missing::Missing;
use crate::names;
use crate::names::{Closes, ServerStyle};
use crate::namespace::{FollowIn, Network};
use crate::neighbour::Neighbour;
use crate::pattern::PatternKind::{
    self, Burst, Connect, Feed, Grid, PingPong, Rate, Request, Serve, Stream,
};
use crate::pattern::{CREDIT, Ends, Exchange};
use crate::scheduling::{CpuWeight, EachEnd, Nice, SchedClass};
use crate::seat::Seat;
use crate::spec::{BackPressure, Spec};
use crate::units::{format_duration, format_size};
use serde::{Deserialize, Serialize};
use std::str::FromStr;

/// What is so of an option wherever it occurs.
#[derive(Clone, Copy, Debug)]
pub struct LoadFacts {
    /// Whether this pattern takes it.
    pub takers: fn(PatternKind) -> bool,
    /// What stands for its values in help: "TIMES"; empty where it has none and is only switched on.
    pub values: &'static str,
    /// Its values that help lists; empty where it does not.
    pub words: &'static [&'static str],
    /// The value in a pattern that takes it if nothing else was asked for.
    pub default: Option<&'static str>,
    /// Whether it changes what the figures of a cell contain, so that it must be had in every pattern or in none.
    pub changes_figures: bool,
    /// One line for users.
    pub help: &'static str,
}

impl LoadFacts {
    /// The facts of an option whose row does not set them.
    const UNLESS_SAID: Self = Self {
        takers: |_| false,
        values: "",
        words: &[],
        default: None,
        changes_figures: false,
        help: "",
    };
}

/// Makes keys, fields of a load and all that is done with one option at a time from the rows of the options.
macro_rules! load_options {
    ($($(#[doc = $doc:literal])* $key:ident = $name:literal {
        $field:ident: $type:ty, parse: $parse:expr, show: $show:expr, $($facts:tt)*
    })*) => {
        names! {
            /// One thing that can be asked of a pattern: a flag of `run` and a key of job files.
            "load" LoadKey { $($(#[doc = $doc])* $key = $name,)* }
        }

        impl LoadKey {
            /// Its row.
            #[must_use]
            pub const fn facts(self) -> LoadFacts {
                match self {
                    $(Self::$key => LoadFacts { $($facts)* ..LoadFacts::UNLESS_SAID },)*
                }
            }
        }

        /// What a pattern is asked to do. A field that its pattern does not use has its default.
        #[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
        #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
        pub struct Load {
            $(
                $(#[doc = $doc])*
                #[serde(default, skip_serializing_if = "is_default")]
                pub $field: $type,
            )*
            /// Ping-pong and burst: the program and its arguments that are the follow; absent where that is our own.
            #[serde(default, skip_serializing_if = "Vec::is_empty")]
            pub follow: Vec<String>,
            /// Ping-pong and burst: where an end listens that is running already and is the follow, `unix:PATH` or
            /// `tcp:127.0.0.1:PORT`; absent where it is started.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            pub at: Option<Address>,
        }

        impl Load {
            /// Asks for this value of `key`.
            ///
            /// # Errors
            /// It is no such value, or one out of range.
            pub fn set(&mut self, key: LoadKey, text: &str) -> Result<(), LoadError> {
                match key {
                    $(LoadKey::$key => self.$field = $parse(text)?,)*
                }
                Ok(())
            }

            /// Asks for nothing of `key`.
            fn unset(&mut self, key: LoadKey) {
                match key {
                    $(LoadKey::$key => self.$field = Default::default(),)*
                }
            }

            /// What is asked of `key`, as it is written; `None` where nothing is.
            #[must_use]
            pub fn value(&self, key: LoadKey) -> Option<String> {
                match key {
                    $(LoadKey::$key => $show(&self.$field),)*
                }
            }
        }
    };
}

load_options! {
    /// Ping-pong: how long the lead sleeps before each round trip, ns. Serve: how long a connection rests after each answer.
    Think = "think" {
        think_ns: u64, parse: nanos, show: time,
        takers: |pattern| matches!(pattern, PingPong | Serve),
        values: "TIMES",
        help: "Ping-pong: pause before each round trip; serve: of a connection after each answer: 0,10us,1ms [default: 0]",
    }
    /// Rate: how much is asked for. Feed: messages per second. Serve: requests per second of all clients together; absent in a
    /// closed loop.
    Rate = "rate" {
        rate: Option<Offered>, parse: rate, show: word,
        takers: |pattern| matches!(pattern, Rate | Feed | Serve),
        values: "RATES",
        help: "Rate: messages per second: 50k; or percentages of the closed-loop rate: 25%,50%, 10%..95% \
               [default: 10%..95%]; feed: messages per second, which has no default; serve: requests per second of all \
               clients [default: a closed loop]",
    }
    /// Rate and feed: when messages are due; absent elsewhere.
    Arrivals = "arrivals" {
        arrivals: Option<Arrivals>, parse: given, show: unusual_word,
        takers: |pattern| matches!(pattern, Rate | Feed),
        values: "ARRIVALS",
        words: Arrivals::NAMES,
        default: Some("poisson"),
        help: "Rate, feed: how messages are spaced in time: poisson or constant [default: poisson]",
    }
    /// Rate and ping-pong: the follow is stopped (SIGSTOP) for so long once in each slice, ns: in its middle, early where
    /// no message has a time. To show what a load model hides. Serve: the first connection's client reads nothing.
    Stall = "stall" {
        stall_ns: u64, parse: nanos, show: time,
        takers: |pattern| matches!(pattern, PingPong | Rate | Serve),
        values: "TIMES",
        help: "Rate and ping-pong: freeze the responding process this long once per slice, to test the load model: 100ms; \
               serve: the client reads nothing from its first connection for so long",
    }
    /// Burst: messages sent back to back before the lead waits.
    Burst = "burst" {
        burst: u64, parse: count::<{ 1 << 16 }>, show: shown,
        takers: |pattern| matches!(pattern, Burst),
        values: "COUNTS",
        default: Some("16"),
        help: "Burst: messages sent back to back before waiting for the answer: 1,8,64 [default: 16]",
    }
    /// Stream: messages under way before the sender waits for a credit; 0: as the mechanism itself stops it.
    Window = "window" {
        window: u64, parse: count::<{ 1 << 20 }>, show: shown,
        takers: |pattern| matches!(pattern, Stream),
        values: "COUNTS",
        help: "Stream: messages in flight before the sender waits for a credit [default: as many as the mechanism allows]",
    }
    /// Stream: how many bytes are sent over a new channel, all of them timed; 0: the slice goes by time, after a warm-up.
    Fresh = "fresh" {
        fresh: u64, parse: carried, show: size,
        takers: |pattern| matches!(pattern, Stream),
        values: "SIZES",
        changes_figures: true,
        help: "Stream: send this many bytes over a new channel without warm-up; TCP is slower until its window has grown: 64M; \
               0,64M for both [default: 0, a warm-up and a slice by time]",
    }
    /// Ping-pong, stream and burst: messages go in packets of so many bytes; 0: as they are.
    Packet = "packet" {
        packet: u64, parse: packet, show: shown,
        takers: |pattern| matches!(pattern, PingPong | Stream | Burst),
        values: "SIZES",
        help: "Ping-pong, stream, burst: split messages into packets of this size, with an 8-byte header each: 6500,64K \
               [default: no split]",
    }
    /// Connect: clients at a time. Serve: connections.
    Conns = "conns" {
        conns: u64, parse: count::<{ Load::MOST_CONNS }>, show: shown,
        takers: |pattern| matches!(pattern, Connect | Serve),
        values: "COUNTS",
        default: Some("1"),
        help: "Connect: concurrent clients (threads of one process): 1,5,10; serve: connections, 1 to 1024: 1,16,64 \
               [default: 1]",
    }
    /// Connect: the side that closes first; absent where it is the server.
    Closes = "closes" {
        closes: Option<Closes>, parse: unusual, show: word,
        takers: |pattern| matches!(pattern, Connect),
        values: "SIDES",
        help: "Connect: which side closes first, client or server; over TCP its port stays in TIME_WAIT [default: server]",
    }
    /// Connect: clients connect and read without blocking.
    Nonblocking = "nonblocking" {
        nonblocking: bool, parse: on, show: switch,
        takers: |pattern| matches!(pattern, Connect),
        help: "Connect: clients connect and read without blocking, and count EINPROGRESS and EAGAIN",
    }
    /// Serve: client processes; 0: as many as the placement has CPUs for.
    Clients = "clients" {
        clients: u64, parse: count::<{ Load::MOST_CLIENTS }>, show: shown,
        takers: |pattern| matches!(pattern, Serve),
        values: "COUNTS",
        help: "Serve: client processes that share the connections, 1 to 64 [default: as many as the placement has CPUs for]",
    }
    /// Serve: how the server is built; absent for `epoll`.
    Style = "style" {
        style: Option<ServerStyle>, parse: unusual, show: word,
        takers: |pattern| matches!(pattern, Serve),
        values: "STYLES",
        words: ServerStyle::NAMES,
        help: "Serve: how the server is built: an epoll loop, a thread or a process for each connection, an io_uring, a loop \
               on edges, or one on edges whose reads report what waits (inq) [default: epoll]",
    }
    /// Serve: how long the server works on each request; absent if it answers at once.
    Service = "service" {
        service: Option<Service>, parse: Service::parsed, show: word,
        takers: |pattern| matches!(pattern, Serve),
        values: "TIMES",
        help: "Serve: how long the server keeps its CPU busy for each request: 20us, or exp:20us for random times of this \
               mean [default: 0]",
    }
    /// Serve: sizes of requests and answers; absent where all have one size.
    Mix = "mix" {
        mix: Option<Mix>, parse: given, show: word,
        takers: |pattern| matches!(pattern, Serve),
        values: "MIX",
        help: "Serve: requests of several sizes, with answers and shares: '36:5@90%,120:4K@10%'",
    }
    /// Fan-in, fan-out, broadcast, feed: producers or consumers.
    Peers = "peers" {
        peers: u64, parse: count::<MOST_PEERS>, show: shown,
        takers: |pattern| pattern.many().is_some(),
        values: "COUNTS",
        default: Some("4"),
        help: "Fan-in: producers; fan-out, broadcast and feed: consumers, 1 to 256: 1,2,4,8 [default: 4]",
    }
    /// Grid: producers.
    Writers = "writers" {
        writers: u64, parse: count::<{ Load::MOST_OF_GRID }>, show: shown,
        takers: |pattern| matches!(pattern, Grid),
        values: "COUNTS",
        default: Some("2"),
        help: "Grid: producers, 1 to 64: 1,2,5 [default: 2]",
    }
    /// Grid: consumers.
    Readers = "readers" {
        readers: u64, parse: count::<{ Load::MOST_OF_GRID }>, show: shown,
        takers: |pattern| matches!(pattern, Grid),
        values: "COUNTS",
        default: Some("2"),
        help: "Grid: consumers, 1 to 64: 1,5,10 [default: 2]",
    }
    /// Ping-pong and stream: channels that are at work at the same time, each with two processes of its own; 0: one, in
    /// the way of all other patterns.
    Channels = "channels" {
        channels: u64, parse: count::<{ Load::MOST_CHANNELS }>, show: shown,
        takers: |pattern| matches!(pattern, PingPong | Stream),
        values: "COUNTS",
        changes_figures: true,
        help: "Ping-pong, stream: channels of the same kind at work at the same time, two processes each, 1 to 64, with the \
               scaling against one: 1,2,4,8 [default: no such comparison]",
    }
    /// Ping-pong and stream: what is done to each message.
    Transform = "transform" {
        transform: Option<Transform>, parse: unusual, show: unusual_word,
        takers: |pattern| matches!(pattern, PingPong | Stream),
        values: "NAMES",
        words: Transform::NAMES,
        changes_figures: true,
        help: "Ping-pong, stream: transform each message before sending, undo it on arrival [default: none]",
    }
    /// Ping-pong: the way from lead to follow is timed by itself, too.
    OneWay = "one-way" {
        one_way: bool, parse: on, show: switch,
        takers: |pattern| matches!(pattern, PingPong),
        changes_figures: true,
        help: "Ping-pong: also time one direction alone, if the clocks of both CPUs are comparable",
    }
    /// Request and serve: bytes of an answer; 0: as many as the question has.
    Reply = "reply" {
        reply: u64, parse: reply, show: shown,
        takers: |pattern| matches!(pattern, Request | Serve),
        values: "SIZES",
        help: "Request and serve: size of the answer: 4,64K [default: the size of the request]",
    }
    /// Request: how many are under way. Serve: how many on each connection.
    Inflight = "inflight" {
        inflight: u64, parse: count::<{ Load::MOST_INFLIGHT }>, show: shown,
        takers: |pattern| matches!(pattern, Request | Serve),
        values: "COUNTS",
        default: Some("1"),
        help: "Request, serve: requests in flight on each connection, each timed: 1,8,64 [default: 1]",
    }
    /// The file that messages are cut from; absent where they are made from their size.
    Payload = "payload" {
        payload: Option<PayloadFile>, parse: given, show: word,
        takers: |pattern| pattern.is_pair(),
        values: "FILES",
        changes_figures: true,
        help: "Take message contents from this file, for --transform and --touch full; several files make several cells: \
               log.json,photo.jpg [default: generated]",
    }
    /// Where messages begin in the buffers of both ends: `page`, `malloc`, or so many bytes behind the start of a page.
    /// Absent where it is a multiple of 64 bytes, another one in each slice.
    Align = "align" {
        align: Option<Align>, parse: Align::parsed, show: word,
        takers: |pattern| pattern.is_pair() || pattern.is_shared(),
        values: "PLACES",
        changes_figures: true,
        help: "Alignment of messages in each side's own buffer: cacheline (a multiple of 64 bytes that varies by slice), page, \
               malloc (16 bytes after a page start), or 0 to 4095 bytes after a page start [default: cacheline]",
    }
    /// Namespaces that the follow enters before it attaches: `net`, `net+ipc`, `all`, or `pid:N`, those of a process. Absent
    /// where it stays in those of the lead.
    FollowIn = "follow-in" {
        follow_in: Option<FollowIn>, parse: FollowIn::parsed, show: word,
        takers: |pattern| pattern.is_pair(),
        values: "NAMESPACES",
        changes_figures: true,
        help: "Put the responding process into namespaces of its own before it opens its side: net, ipc, mnt (own /tmp and \
               /dev/shm), pid, user, several at once (net+ipc), all, or those of a running process (pid:N); several values make \
               several cells: none,net,all [default: none]",
    }
    /// What lies between the addresses of both ends; absent where it is the loopback interface.
    Net = "net" {
        net: Network, parse: Network::from_str, show: shown,
        takers: |pattern| pattern.is_pair(),
        values: "NETWORKS",
        words: Network::NAMES,
        changes_figures: true,
        help: "Mechanisms with addresses (tcp, udp): the network between both sides: loopback,veth. veth: a pair of virtual \
               Ethernet devices, two network namespaces; bridge: the same through a bridge [default: loopback]",
    }
    /// The scheduling class of the ends; absent if they inherit it from the process that started ipcperf.
    Sched = "sched" {
        sched: Option<EachEnd<SchedClass>>, parse: EachEnd::parsed, show: word,
        takers: |pattern| pattern.is_pair(),
        values: "CLASSES",
        changes_figures: true,
        help: "Scheduling class of both sides, or of one (lead=CLASS, follow=CLASS, lead=CLASS+follow=CLASS): other, \
               other:slice=100us, batch, idle, fifo:PRIORITY, rr:PRIORITY, deadline:RUNTIME/DEADLINE/PERIOD; several values \
               make several cells: none,fifo:10 [default: none, as ipcperf was started]",
    }
    /// The nice values of the ends; absent if they inherit theirs.
    Nice = "nice" {
        nice: Option<EachEnd<Nice>>, parse: EachEnd::parsed, show: word,
        takers: |pattern| pattern.is_pair(),
        values: "VALUES",
        changes_figures: true,
        help: "Nice value of both sides, or of one (lead=N, follow=N), -20 to 19: none,5,lead=-5 [default: none, as ipcperf \
               was started]",
    }
    /// The weights (`cpu.weight`) of the control groups of the ends; absent if the ends stay in ipcperf's group.
    CpuWeight = "cgroup-weight" {
        cgroup_weight: Option<EachEnd<CpuWeight>>, parse: EachEnd::parsed, show: word,
        takers: |pattern| pattern.is_pair(),
        values: "WEIGHTS",
        changes_figures: true,
        help: "Weight of a control group (version 2) for each side, or for one (lead=N, follow=N), 1 to 10000, next to other \
               groups with 100: none,20,500 [default: none, the group of ipcperf]",
    }
    /// The load that runs at the same time; absent if none was asked for.
    Neighbour = "neighbour" {
        neighbour: Option<Neighbour>, parse: Neighbour::parsed, show: word,
        takers: |pattern| pattern.is_pair(),
        values: "LOADS",
        changes_figures: true,
        help: "Run a load at the same time: cpu:THREADS, memory:2GB/s, fork:100/s, timer:1000/s or exec='CMD', on the CPU of a \
               side (@lead, @follow), on all others (@other) or anywhere (@free); several values make several cells, compared \
               with none: none,cpu:2@other [default: none]",
    }
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the signature serde asks for")]
pub(crate) fn is_zero(number: &u64) -> bool {
    *number == 0
}

/// A value of its own type.
fn given<T: FromStr>(text: &str) -> Result<Option<T>, T::Err> {
    text.parse().map(Some)
}

/// The same, where the usual value is the same as none.
fn unusual<T: FromStr + Default + PartialEq>(text: &str) -> Result<Option<T>, T::Err> {
    Ok(given(text)?.filter(|value| *value != T::default()))
}

/// What has no value is only switched on.
fn on(_: &str) -> Result<bool, LoadError> {
    Ok(true)
}

fn time(nanos: &u64) -> Option<String> {
    (*nanos > 0).then(|| format_duration(*nanos))
}

/// Bytes in their largest whole unit, in one word.
fn size(bytes: &u64) -> Option<String> {
    let text = format_size(*bytes);
    (*bytes > 0).then(|| text.strip_suffix(" B").map_or(text.replace(' ', ""), str::to_owned))
}

/// A number or a word that is not the usual one.
fn shown<T: Default + PartialEq + ToString>(value: &T) -> Option<String> {
    (!is_default(value)).then(|| value.to_string())
}

fn word<T: ToString>(value: &Option<T>) -> Option<String> {
    value.as_ref().map(T::to_string)
}

/// The same, where the usual value is the same as none.
fn unusual_word<T: Default + PartialEq + ToString>(value: &Option<T>) -> Option<String> {
    value.as_ref().and_then(shown)
}

fn switch(is_on: &bool) -> Option<String> {
    is_on.then(String::new)
}

impl PatternKind {
    /// Whether this can be asked of it.
    #[must_use]
    pub fn takes(self, key: LoadKey) -> bool {
        (key.facts().takers)(self)
    }
}

impl Load {
    /// Most requests under way: the loop has a place for the departure of each.
    pub const MOST_INFLIGHT: u64 = 1024;

    /// Most clients at the same time, and connections of a server.
    pub const MOST_CONNS: u64 = 1024;

    /// The most producers, and the most consumers of a grid: each pair of them has a count of its own in each row of a tape.
    pub const MOST_OF_GRID: u64 = 64;

    /// Most channels that are at work at the same time.
    pub const MOST_CHANNELS: u64 = 64;

    /// Most client processes of a server.
    pub const MOST_CLIENTS: u64 = 64;
    /// The number of lead processes and of follow processes, each at least 1.
    #[must_use]
    pub const fn sides(&self, pattern: PatternKind) -> [u64; 2] {
        match pattern.facts().ends {
            Ends::Many(Seat::Lead) => [self.peers, 1],
            Ends::Many(Seat::Follow) => [1, self.peers],
            Ends::Grid => [self.writers, self.readers],
            Ends::Pair | Ends::Clients | Ends::Connected => [1, 1],
        }
    }

    /// Whether nothing is asked for beyond the pattern itself.
    #[must_use]
    pub fn is_plain(&self) -> bool {
        *self == Self::default()
    }

    /// Whether its ends are in namespaces of their own.
    #[must_use]
    pub fn is_apart(&self) -> bool {
        self.follow_in.is_some() || !self.net.is_loopback()
    }

    /// Whether anything is asked of how the ends are scheduled.
    #[must_use]
    pub fn is_scheduled(&self) -> bool {
        Seat::BOTH.into_iter().any(|end| self.schedules(end))
    }

    /// Whether anything is asked of how this end is scheduled.
    #[must_use]
    pub fn schedules(&self, end: Seat) -> bool {
        self.sched.is_some_and(|all| all.of(end).is_some())
            || self.nice.is_some_and(|all| all.of(end).is_some())
            || self.cgroup_weight.is_some_and(|all| all.of(end).is_some())
    }

    /// What is done to each message, if anything.
    #[must_use]
    pub fn changes(&self) -> Option<Transform> {
        self.transform.filter(|transform| *transform != Transform::None)
    }

    /// The side that closes a connection first.
    #[must_use]
    pub fn closes(&self) -> Closes {
        self.closes.unwrap_or_default()
    }

    /// The part that concerns `pattern`, with the defaults of what nothing else is asked of.
    #[must_use]
    pub fn of(&self, pattern: PatternKind) -> Self {
        // What follows is kept, too: a pattern that cannot have it says so.
        let mut kept = self.clone();
        for key in LoadKey::ALL {
            if !pattern.takes(*key) {
                kept.unset(*key);
            } else if let (Some(default), None) = (key.facts().default, kept.value(*key)) {
                kept.set(*key, default).expect("a default is a value");
            }
        }
        kept.transform = kept.changes();
        // A share is one of a closed loop that only the pattern rate has.
        if pattern == Serve {
            kept.rate = kept.rate.filter(|rate| matches!(rate, Offered::PerSecond(_)));
        }
        kept
    }

    /// Bytes of what comes back for messages of `size` bytes.
    #[must_use]
    pub fn answer(&self, pattern: PatternKind, size: usize) -> usize {
        match pattern.facts().exchange {
            Exchange::RoundTrip | Exchange::Request if self.reply > 0 => {
                usize::try_from(self.reply).unwrap_or(usize::MAX)
            }
            Exchange::RoundTrip | Exchange::Request => size,
            Exchange::OneWay => size.min(CREDIT),
        }
    }

    /// How many messages are to be under way together, and what asks for it.
    #[must_use]
    pub fn under_way(&self) -> Option<(LoadKey, u64)> {
        let Self { window, burst, inflight, .. } = *self;
        [(LoadKey::Window, window), (LoadKey::Burst, burst), (LoadKey::Inflight, inflight)]
            .into_iter()
            .find(|(_, count)| *count > 0)
    }

    /// Why a mechanism with these facts cannot do it, where it is sure to keep `own` messages at a time, or makes the
    /// sender wait (0).
    #[must_use]
    pub fn objection(&self, spec: &Spec, own: u64) -> Option<Missing> {
        let is_wake = spec.wake_word().is_some();
        if self.packet > 0 && (is_wake || spec.is_floor()) {
            let what = "moves no bytes that could be split into packets";
            return Some(Missing::new(what, "no packets"));
        }
        if self.payload.is_some() && (is_wake || spec.is_floor()) {
            return Some(Missing::new("carries no content", "no payload"));
        }
        if self.window > 0 && spec.is_floor() {
            let what = "the floor moves nothing, not even credits";
            return Some(Missing::new(what, "no window"));
        }
        if self.fresh > 0 && spec.is_floor() {
            return Some(Missing::new("the floor has no channel", "no --fresh"));
        }
        if self.fresh > 0 && self.window > 0 {
            let what = "a window needs a warm-up, which finds how many messages the channel holds";
            return Some(Missing::new(what, "no --window, or no --fresh"));
        }
        if self.reply > 0 && is_wake {
            return Some(Missing::new("a wake-up and its answer have one size", "no --reply"));
        }
        if self.inflight > 1
            && matches!(spec.back_pressure, BackPressure::Drops | BackPressure::Overwrites)
        {
            let what = "it may lose messages, so that only one request can be in flight: a lost answer would look like a late one";
            return Some(Missing::new(
                what,
                "--inflight 1, or a mechanism that makes the sender wait",
            ));
        }
        let (key, asked) = self.under_way()?;
        (own > 0 && asked > own).then(|| {
            let kept =
                if own == 1 { "one message is".to_owned() } else { format!("{own} messages are") };
            Missing::new(
                format!("only {kept} sure to arrive at a time, --{key} {asked} asks for more"),
                format!("--{key} {own}, or a mechanism that makes the sender wait"),
            )
        })
    }

    /// Its numbers, as cells are sorted by them.
    #[must_use]
    pub fn order(&self) -> Vec<u64> {
        let mut order = vec![
            self.think_ns,
            self.stall_ns,
            self.burst,
            self.window,
            self.fresh,
            self.packet,
            self.conns,
            self.inflight,
            self.reply,
            self.align.map_or(0, |align| 1 + align.offset() as u64),
            self.follow_in.map_or(0, FollowIn::order),
            self.net as u64,
            self.clients,
            self.style.map_or(0, |style| style as u64),
            self.service.map_or(0, Service::mean_ns),
            self.channels,
            self.neighbour.as_ref().map_or(0, Neighbour::order),
        ];
        order.extend(EachEnd::order(self.sched));
        let raised = |nice: Nice| u64::from((nice.value() + 21).cast_unsigned());
        order.extend(EachEnd::orders(self.nice, raised));
        order.extend(EachEnd::orders(self.cgroup_weight, |weight| u64::from(weight.value())));
        order
    }

    /// Whether the follow is our own.
    #[must_use]
    pub fn is_ours(&self) -> bool {
        self.follow.is_empty() && self.at.is_none()
    }

    /// The same without a neighbour.
    #[must_use]
    pub fn alone(&self) -> Self {
        Self { neighbour: None, ..self.clone() }
    }

    /// The same with our own follow.
    #[must_use]
    pub fn with_ours(&self) -> Self {
        Self { follow: Vec::new(), at: None, ..self.clone() }
    }

    /// Whose end the follow is, in words: the program as it is typed, or where it listens; `None` where it is our own.
    #[must_use]
    pub fn end(&self) -> Option<String> {
        self.program().or_else(|| Some(self.at.as_ref()?.to_string()))
    }

    /// The program that is the follow, as it is typed; `None` where that is our own.
    #[must_use]
    pub fn program(&self) -> Option<String> {
        let is_plain = |word: &str| {
            let is_known = |sign: char| sign.is_alphanumeric() || "_@%+=:,./~-".contains(sign);
            !word.is_empty() && word.chars().all(is_known)
        };
        // One line, whatever it contains.
        let shown = |sign: char| match sign {
            '\'' => "'\\''".to_owned(),
            sign if sign.is_control() => sign.escape_default().to_string(),
            sign => sign.to_string(),
        };
        let quoted = |word: &String| match is_plain(word) {
            true => word.clone(),
            false => format!("'{}'", word.chars().map(shown).collect::<String>()),
        };
        let words: Vec<String> = self.follow.iter().map(quoted).collect();
        (!words.is_empty()).then(|| words.join(" "))
    }

    /// How it reads in a cell's identity: `think=1ms`, `rate=50000/s`. Empty for a plain load.
    #[must_use]
    pub fn words(&self) -> Vec<String> {
        let set = |key: &LoadKey| match (key, &self.payload) {
            (LoadKey::Payload, Some(payload)) => Some((*key, payload.word())),
            _ => Some((*key, self.value(*key)?)),
        };
        let word = |(key, value): (LoadKey, String)| match value.as_str() {
            "" => key.to_string(),
            value if key == LoadKey::Neighbour && value.contains(' ') => {
                format!("{key}=\"{value}\"")
            }
            value => format!("{key}={value}"),
        };
        let follow = self.program().map(|program| match program.contains(' ') {
            true => format!("follow=\"{program}\""),
            false => format!("follow={program}"),
        });
        let at = self.at.as_ref().map(|address| format!("at={address}"));
        LoadKey::ALL.iter().filter_map(set).map(word).chain(follow).chain(at).collect()
    }
}

#[cfg(test)]
mod tests;

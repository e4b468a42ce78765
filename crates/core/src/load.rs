//! Load: the work that a pattern does beyond moving messages of one size, part of a cell's identity. Each option is a
//! key, with its row for flags, help and job files, and a field.

use crate::load_value::{
    Address, Align, Arrivals, LoadError, MOST_PEERS, Mix, Offered, PEERS, PayloadFile, Service,
    Transform, count, nanos, packet, rate,
};
use crate::missing::Missing;
use crate::names;
use crate::names::{Closes, ServerStyle};
use crate::namespace::{FollowIn, Network};
use crate::spec::{BackPressure, Spec};
use crate::units::{format_duration, sizes};
use serde::{Deserialize, Serialize};

names! {
    /// One thing that can be asked of a pattern: a flag of `run` and a key of job files.
    "load" LoadKey {
        /// How long the lead sleeps before each round trip.
        Think = "think",
        /// How much is asked of an open loop.
        Rate = "rate",
        /// When its messages are due.
        Arrivals = "arrivals",
        /// The follow is stopped once in each slice.
        Stall = "stall",
        /// Messages sent back to back.
        Burst = "burst",
        /// Messages under way.
        Window = "window",
        /// Bytes of the packets that messages go in.
        Packet = "packet",
        /// Clients at the same time, or connections of a server.
        Conns = "conns",
        /// The side that closes first.
        Closes = "closes",
        /// Whether clients connect without blocking.
        Nonblocking = "nonblocking",
        /// Processes that share the connections of a server.
        Clients = "clients",
        /// How a server is built.
        Style = "style",
        /// How long a server works on a request.
        Service = "service",
        /// Sizes of requests and answers, and their shares.
        Mix = "mix",
        /// Producers or consumers.
        Peers = "peers",
        /// What is done to each message.
        Transform = "transform",
        /// Whether each way is timed.
        OneWay = "one-way",
        /// Bytes of an answer.
        Reply = "reply",
        /// Requests under way.
        Inflight = "inflight",
        /// What messages consist of.
        Payload = "payload",
        /// Where messages begin in the buffers of both ends.
        Align = "align",
        /// Namespaces that the follow enters.
        FollowIn = "follow-in",
        /// What lies between the addresses of both ends.
        Net = "net",
    }
}

/// What flags, help and job files know of it.
struct LoadRow {
    /// What stands for its values in help; empty where it has none.
    values: &'static str,
    /// What a pattern that takes it is given if nothing else was asked for.
    default: Option<&'static str>,
    /// One line for users.
    help: &'static str,
}

impl LoadKey {
    const fn row(self) -> LoadRow {
        let (values, default, help) = match self {
            Self::Think => (
                "TIMES",
                None,
                "Ping-pong: pause before each round trip; serve: of a connection after each answer: 0,10us,1ms [default: 0]",
            ),
            Self::Rate => (
                "RATES",
                Some("10%..95%"),
                "Rate: messages per second: 50k; or percentages of the closed-loop rate: 25%,50%, 10%..95% \
                 [default: 10%..95%]; serve: requests per second of all clients [default: a closed loop]",
            ),
            Self::Arrivals => (
                "ARRIVALS",
                Some("poisson"),
                "Rate: how messages are spaced in time [default: poisson]",
            ),
            Self::Stall => (
                "TIMES",
                None,
                "Rate and ping-pong: freeze the responding process for this long once per slice, to test how the load model \
                 shows it: 100ms; serve: the client reads nothing from its first connection meanwhile",
            ),
            Self::Burst => (
                "COUNTS",
                Some("16"),
                "Burst: messages sent back to back before waiting for the answer: 1,8,64 [default: 16]",
            ),
            Self::Window => (
                "COUNTS",
                None,
                "Stream: messages in flight before the sender waits for a credit [default: as many as the mechanism allows]",
            ),
            Self::Packet => (
                "SIZES",
                None,
                "Ping-pong, stream, burst: split messages into packets of this size, with an 8-byte header each: 6500,64K \
                 [default: no split]",
            ),
            Self::Conns => (
                "COUNTS",
                None,
                "Connect: concurrent clients (threads of one process): 1,5,10; serve: connections, 1 to 1024: 1,16,64 \
                 [default: 1]",
            ),
            Self::Clients => (
                "COUNTS",
                None,
                "Serve: client processes that share the connections, 1 to 64 [default: as many as the placement has CPUs for]",
            ),
            Self::Style => (
                "STYLES",
                None,
                "Serve: how the server is built: one epoll loop, or a thread or a process for each connection \
                 [default: epoll]",
            ),
            Self::Service => (
                "TIMES",
                None,
                "Serve: how long the server keeps its CPU busy for each request: 20us, or exp:20us for random times of this \
                 mean [default: 0]",
            ),
            Self::Mix => (
                "MIX",
                None,
                "Serve: requests of several sizes, each with its answer and its share: '36:5@90%,120:4K@10%'",
            ),
            Self::Closes => (
                "SIDES",
                None,
                "Connect: which side closes first, client or server; over TCP its port stays in TIME_WAIT [default: server]",
            ),
            Self::Nonblocking => (
                "",
                None,
                "Connect: clients connect and read without blocking, and count what was not done at once (EINPROGRESS, EAGAIN)",
            ),
            Self::Peers => (
                "COUNTS",
                None,
                "Fan-in: producers; fan-out and broadcast: consumers, 1 to 64: 1,2,4,8 [default: 4]",
            ),
            Self::Transform => (
                "NAMES",
                None,
                "Transform each message before sending and undo it on arrival [default: none]",
            ),
            Self::OneWay => (
                "",
                None,
                "Ping-pong: also time one direction alone, if the clocks of both CPUs are comparable",
            ),
            Self::Reply => (
                "SIZES",
                None,
                "Request and serve: size of the answer: 4,64K [default: the size of the request]",
            ),
            Self::Inflight => (
                "COUNTS",
                Some("1"),
                "Request and serve: requests in flight (serve: on each connection), each timed separately: 1,8,64 [default: 1]",
            ),
            Self::Payload => (
                "FILES",
                None,
                "Take message contents from this file, for --transform and --touch full; several files make several cells: \
                 log.json,photo.jpg [default: generated]",
            ),
            Self::Align => (
                "PLACES",
                None,
                "Alignment of messages in each side's own buffer: cacheline (a multiple of 64 bytes that varies by slice), page, \
                 malloc (16 bytes after a page start), or 0 to 4095 bytes after a page start [default: cacheline]",
            ),
            Self::FollowIn => (
                "NAMESPACES",
                None,
                "Put the responding process into namespaces of its own before it opens its side: net, ipc, mnt (own /tmp and \
                 /dev/shm), pid, user, several at once (net+ipc), all, or those of a running process (pid:N); several values make \
                 several cells: none,net,all [default: none]",
            ),
            Self::Net => (
                "NETWORKS",
                None,
                "Mechanisms with addresses (tcp, udp): what connects both sides: loopback; veth, a pair of virtual Ethernet \
                 devices between two network namespaces; bridge, the same through a bridge: loopback,veth [default: loopback]",
            ),
        };
        LoadRow { values, default, help }
    }

    /// What stands for its values in help: "TIMES"; empty where it has none and is only switched on.
    #[must_use]
    pub const fn values(self) -> &'static str {
        self.row().values
    }

    /// What a pattern that takes it is given if nothing else was asked for.
    #[must_use]
    pub const fn default(self) -> Option<&'static str> {
        self.row().default
    }

    /// One line for users.
    #[must_use]
    pub const fn help(self) -> &'static str {
        self.row().help
    }

    /// Whether it changes what the figures of a cell contain, so that it must be had in every pattern or in none.
    #[must_use]
    pub const fn changes_figures(self) -> bool {
        matches!(
            self,
            Self::Transform
                | Self::OneWay
                | Self::Payload
                | Self::Align
                | Self::FollowIn
                | Self::Net
        )
    }
}

/// What a pattern is asked to do. A field that its pattern does not use has its default.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Load {
    /// Ping-pong: how long the lead sleeps before each round trip, ns. Serve: how long a connection rests after each answer.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub think_ns: u64,
    /// Rate: how much is asked for. Serve: requests per second of all clients together; absent in a closed loop.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate: Option<Offered>,
    /// Rate: when messages are due; absent elsewhere.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arrivals: Option<Arrivals>,
    /// Rate and ping-pong: the follow is stopped (SIGSTOP) for so long once in each slice, ns: in its middle, early where
    /// no message has a time. To show what a load model hides. Serve: the first connection's client reads nothing.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub stall_ns: u64,
    /// Burst: messages sent back to back before the lead waits.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub burst: u64,
    /// Stream: messages under way before the sender waits for a credit; 0: as the mechanism itself stops it.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub window: u64,
    /// Ping-pong, stream and burst: messages go in packets of so many bytes; 0: as they are.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub packet: u64,
    /// Connect: clients at a time. Serve: connections.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub conns: u64,
    /// Connect: the side that closes first; absent where it is the server.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub closes: Option<Closes>,
    /// Connect: clients connect and read without blocking.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub nonblocking: bool,
    /// Serve: client processes; 0: as many as the placement has CPUs for.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub clients: u64,
    /// Serve: how the server is built; absent for `epoll`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub style: Option<ServerStyle>,
    /// Serve: how long the server works on each request; absent if it answers at once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub service: Option<Service>,
    /// Serve: sizes of requests and answers; absent where all have one size.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mix: Option<Mix>,
    /// Fan-in, fan-out, broadcast: producers or consumers.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub peers: u64,
    /// Ping-pong and stream: what is done to each message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub transform: Option<Transform>,
    /// Ping-pong: the way from lead to follow is timed by itself, too.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub one_way: bool,
    /// Request and serve: bytes of an answer; 0: as many as the question has.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub reply: u64,
    /// Request: how many are under way. Serve: how many on each connection.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub inflight: u64,
    /// The file that messages are cut from; absent where they are made from their size.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub payload: Option<PayloadFile>,
    /// Where messages begin in the buffers of both ends: `page`, `malloc`, or so many bytes behind the start of a page.
    /// Absent where it is a multiple of 64 bytes, another one in each slice.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub align: Option<Align>,
    /// Namespaces that the follow enters before it attaches: `net`, `net+ipc`, `all`, or `pid:N`, those of a process. Absent
    /// where it stays in those of the lead.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub follow_in: Option<FollowIn>,
    /// What lies between the addresses of both ends; absent where it is the loopback interface.
    #[serde(default, skip_serializing_if = "Network::is_loopback")]
    pub net: Network,
    /// Ping-pong and burst: the program and its arguments that are the follow; absent where that is our own.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub follow: Vec<String>,
    /// Ping-pong and burst: where an end listens that is running already and is the follow, `unix:PATH` or
    /// `tcp:127.0.0.1:PORT`; absent where it is started.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<Address>,
}

/// Bytes of an answer.
fn reply(text: &str) -> Result<u64, String> {
    match sizes(text).map_err(|error| error.to_string())?.as_slice() {
        [size] if *size > 0 => Ok(*size as u64),
        _ => Err(format!("'{text}' is not a size of at least 1")),
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the signature serde asks for")]
pub(crate) fn is_zero(number: &u64) -> bool {
    *number == 0
}

impl Load {
    /// Most requests under way: the loop has a place for the departure of each.
    pub const MOST_INFLIGHT: u64 = 1024;

    /// Most clients at the same time, and connections of a server.
    pub const MOST_CONNS: u64 = 1024;

    /// Most client processes of a server.
    pub const MOST_CLIENTS: u64 = 64;

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

    /// The part that these keys ask for.
    pub(crate) fn kept(&self, keys: &[LoadKey]) -> Self {
        fn kept<T: Default>(takes: bool, value: T) -> T {
            if takes { value } else { T::default() }
        }
        let takes = |key| keys.contains(&key);
        Self {
            think_ns: kept(takes(LoadKey::Think), self.think_ns),
            rate: kept(takes(LoadKey::Rate), self.rate),
            arrivals: kept(takes(LoadKey::Arrivals), self.arrivals),
            stall_ns: kept(takes(LoadKey::Stall), self.stall_ns),
            burst: kept(takes(LoadKey::Burst), self.burst),
            window: kept(takes(LoadKey::Window), self.window),
            packet: kept(takes(LoadKey::Packet), self.packet),
            conns: kept(takes(LoadKey::Conns), self.conns.max(1)),
            closes: kept(takes(LoadKey::Closes), self.closes),
            nonblocking: kept(takes(LoadKey::Nonblocking), self.nonblocking),
            clients: kept(takes(LoadKey::Clients), self.clients),
            style: kept(takes(LoadKey::Style), self.style),
            service: kept(takes(LoadKey::Service), self.service),
            mix: kept(takes(LoadKey::Mix), self.mix.clone()),
            peers: kept(takes(LoadKey::Peers), if self.peers == 0 { PEERS } else { self.peers }),
            transform: kept(takes(LoadKey::Transform), self.changes()),
            one_way: kept(takes(LoadKey::OneWay), self.one_way),
            reply: kept(takes(LoadKey::Reply), self.reply),
            inflight: kept(takes(LoadKey::Inflight), self.inflight.max(1)),
            payload: kept(takes(LoadKey::Payload), self.payload.clone()),
            align: kept(takes(LoadKey::Align), self.align),
            follow_in: kept(takes(LoadKey::FollowIn), self.follow_in),
            net: kept(takes(LoadKey::Net), self.net),
            // What cannot have one says so.
            follow: self.follow.clone(),
            at: self.at.clone(),
        }
    }

    /// Asks for this value of `key`.
    ///
    /// # Errors
    /// It is no such value, or one out of range.
    pub fn set(&mut self, key: LoadKey, text: &str) -> Result<(), LoadError> {
        match key {
            LoadKey::Think => self.think_ns = nanos(text)?,
            LoadKey::Rate => self.rate = Some(rate(text)?),
            LoadKey::Arrivals => self.arrivals = Some(text.parse()?),
            LoadKey::Stall => self.stall_ns = nanos(text)?,
            LoadKey::Burst => self.burst = count(text, 1 << 16)?,
            LoadKey::Window => self.window = count(text, 1 << 20)?,
            LoadKey::Packet => self.packet = packet(text)?,
            LoadKey::Closes => {
                self.closes = Some(text.parse()?).filter(|side| *side != Closes::default());
            }
            LoadKey::Nonblocking => self.nonblocking = true,
            LoadKey::Conns => self.conns = count(text, Self::MOST_CONNS)?,
            LoadKey::Clients => self.clients = count(text, Self::MOST_CLIENTS)?,
            LoadKey::Style => {
                self.style = Some(text.parse()?).filter(|style| *style != ServerStyle::default());
            }
            LoadKey::Service => self.service = Service::parsed(text)?,
            LoadKey::Mix => self.mix = Some(text.parse()?),
            LoadKey::Peers => self.peers = count(text, MOST_PEERS)?,
            LoadKey::Transform => {
                self.transform = Some(text.parse()?).filter(|name| *name != Transform::None);
            }
            LoadKey::OneWay => self.one_way = true,
            LoadKey::Reply => self.reply = reply(text)?,
            LoadKey::Inflight => self.inflight = count(text, Self::MOST_INFLIGHT)?,
            LoadKey::Payload => self.payload = Some(text.parse()?),
            LoadKey::Align if text == Align::DEFAULT => self.align = None,
            LoadKey::Align => self.align = Some(text.parse()?),
            LoadKey::FollowIn if text == FollowIn::NOWHERE => self.follow_in = None,
            LoadKey::FollowIn => self.follow_in = Some(text.parse()?),
            LoadKey::Net => self.net = text.parse()?,
        }
        Ok(())
    }

    /// What is asked of `key`, as it is written; `None` where nothing is.
    #[must_use]
    pub fn value(&self, key: LoadKey) -> Option<String> {
        let time = |nanos: u64| (nanos > 0).then(|| format_duration(nanos));
        let count = |number: u64| (number > 0).then(|| number.to_string());
        match key {
            LoadKey::Think => time(self.think_ns),
            LoadKey::Rate => self.rate.map(|rate| rate.to_string()),
            LoadKey::Arrivals => {
                self.arrivals.filter(|one| *one != Arrivals::Poisson).map(|one| one.to_string())
            }
            LoadKey::Stall => time(self.stall_ns),
            LoadKey::Burst => count(self.burst),
            LoadKey::Window => count(self.window),
            LoadKey::Packet => count(self.packet),
            LoadKey::Conns => count(self.conns),
            LoadKey::Closes => self.closes.map(|side| side.to_string()),
            LoadKey::Nonblocking => self.nonblocking.then(String::new),
            LoadKey::Clients => count(self.clients),
            LoadKey::Style => self.style.map(|style| style.to_string()),
            LoadKey::Service => self.service.map(|service| service.to_string()),
            LoadKey::Mix => self.mix.as_ref().map(ToString::to_string),
            LoadKey::Peers => count(self.peers),
            LoadKey::Transform => self.changes().map(|transform| transform.to_string()),
            LoadKey::OneWay => self.one_way.then(String::new),
            LoadKey::Reply => count(self.reply),
            LoadKey::Inflight => count(self.inflight),
            LoadKey::Payload => self.payload.as_ref().map(ToString::to_string),
            LoadKey::Align => self.align.map(|align| align.to_string()),
            LoadKey::FollowIn => self.follow_in.map(|which| which.to_string()),
            LoadKey::Net => (!self.net.is_loopback()).then(|| self.net.to_string()),
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
        vec![
            self.think_ns,
            self.stall_ns,
            self.burst,
            self.window,
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
        ]
    }

    /// Whether the follow is our own.
    #[must_use]
    pub fn is_ours(&self) -> bool {
        self.follow.is_empty() && self.at.is_none()
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

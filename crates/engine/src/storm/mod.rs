//! Storms of connections: a server, and clients who connect anew for every request. Both are processes of their own;
//! the clients are threads of one process, or a process each.
//!
//! A request is: make a socket, connect, read the first byte, read to the end, close. The server accepts, writes an
//! answer and hangs up first, so that where TCP keeps addresses waiting, it keeps the server's. Whatever was asked is
//! answered, refused or failed, and the three add up.

mod answer;
mod client;
mod server;
mod times;

pub use answer::SHORTEST;
pub use times::{PARTS, Times};

use crate::errand::{Errand, Hand, Mishap};
use crate::job::Machine;
use ipcperf_core::{Crowd, Door, Missing, Serving};
use ipcperf_sys::io::doors::{Caller, Site, any_port};
use ipcperf_sys::io::meeting::Name;
use ipcperf_sys::io::socket::Kind;
use ipcperf_sys::io::{errno, ports};
use ipcperf_sys::shm::SharedMemory;
use ipcperf_sys::signals::Interrupts;
use ipcperf_sys::{file, procfs};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs::File;
use std::net::{Ipv4Addr, Ipv6Addr};
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// What workers are sent to do.
pub(crate) const ERRANDS: &[Errand] =
    &[Errand { name: SERVER, run: server::serve }, Errand { name: CLIENTS, run: client::call }];
const SERVER: &str = "storm-server";
const CLIENTS: &str = "storm-clients";

/// Connections that may wait at a server unless somebody asks for another number: what Linux itself took for most for
/// twenty years.
pub const BACKLOG: u64 = 128;

const fn is_tcp(door: Door) -> bool {
    matches!(door, Door::Tcp | Door::Tcp6)
}

/// What is missing here to open it; tried, not guessed.
///
/// # Errors
/// What.
pub fn probe(door: Door) -> Result<(), Missing> {
    site(door, Path::new("/"), 0, 0).probe()
}

/// Where it is in one storm.
fn site(door: Door, base: &Path, nonce: u64, port: u32) -> Site {
    let path = || Name::Path(base.with_extension("sock"));
    let inet = |mut at: std::net::SocketAddr| {
        at.set_port(u16::try_from(port).unwrap_or(0));
        Site::Tcp(at)
    };
    match door {
        Door::UnixPath => Site::Unix(Kind::Stream, path()),
        Door::UnixSeqpacket => Site::Unix(Kind::SeqPacket, path()),
        Door::UnixAbstract => {
            Site::Unix(Kind::Stream, Name::Abstract(format!("ipcperf-storm-{nonce:016x}")))
        }
        Door::Tcp => inet(any_port(Ipv4Addr::LOCALHOST.into())),
        Door::Tcp6 => inet(any_port(Ipv6Addr::LOCALHOST.into())),
        Door::Vsock => Site::Vsock(port),
        Door::Fifo => Site::Fifo(base.to_owned()),
    }
}

/// How a client makes its calls.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Model {
    /// Every call sleeps until it is done.
    #[default]
    Blocking,
    /// Over TCP nothing blocks: connect, poll, connect again until it is done, poll before what there is to read. All
    /// other doors as in `Blocking`. The published comparison had clients like this.
    AsPublished,
    /// Every call on a socket holds a lock that all clients share: a stand-in for the lock of an interpreter.
    OneLock,
}

/// A storm.
#[derive(Clone, Debug)]
pub struct Storm {
    /// What is connected to.
    pub door: Door,
    /// How the server waits.
    pub serving: Serving,
    /// How the clients call.
    pub model: Model,
    /// What they are.
    pub crowd: Crowd,
    /// How many there are.
    pub clients: u64,
    /// Requests of each at most.
    pub requests: u64,
    /// Timed region: no request begins after it; ticks.
    pub slice: u64,
    /// Before it; ticks.
    pub warmup: u64,
    /// Bytes of an answer, at least [`SHORTEST`].
    pub answer_bytes: usize,
    /// How many may wait at the server.
    pub backlog: u64,
}

/// Where and when it takes place.
#[derive(Clone, Debug)]
pub struct Around<'a> {
    /// For what has a path.
    pub directory: &'a Path,
    /// A number no other storm has.
    pub nonce: u64,
    /// CPUs of clients and server; empty: not pinned.
    pub cpus: &'a [usize],
    /// Whether the CPU counter is the clock; otherwise a tick is a nanosecond.
    pub counter: bool,
    /// Extra bytes of environment, clients and server.
    pub pads: [usize; 2],
    /// When all must be over.
    pub deadline: Instant,
    /// Interrupts of the user.
    pub interrupts: Option<&'a Interrupts>,
}

/// What a side consumed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Spent {
    /// CPU time, ns.
    pub cpu_ns: u64,
    /// User share, ns.
    pub user_ns: u64,
    /// System share, ns.
    pub system_ns: u64,
    /// Voluntary context switches.
    pub voluntary_switches: u64,
    /// Involuntary context switches.
    pub involuntary_switches: u64,
    /// Page faults without disk access.
    pub minor_faults: u64,
    /// Page faults with disk access.
    pub major_faults: u64,
}

impl Spent {
    fn now() -> Self {
        let now = procfs::consumption();
        Self {
            cpu_ns: now.cpu_ns,
            user_ns: now.user_ns,
            system_ns: now.system_ns,
            voluntary_switches: now.voluntary_switches,
            involuntary_switches: now.involuntary_switches,
            minor_faults: now.minor_faults,
            major_faults: now.major_faults,
        }
    }

    fn each(&self, other: &Self, by: impl Fn(u64, u64) -> u64) -> Self {
        Self {
            cpu_ns: by(self.cpu_ns, other.cpu_ns),
            user_ns: by(self.user_ns, other.user_ns),
            system_ns: by(self.system_ns, other.system_ns),
            voluntary_switches: by(self.voluntary_switches, other.voluntary_switches),
            involuntary_switches: by(self.involuntary_switches, other.involuntary_switches),
            minor_faults: by(self.minor_faults, other.minor_faults),
            major_faults: by(self.major_faults, other.major_faults),
        }
    }

    fn since(&self, before: &Self) -> Self {
        self.each(before, u64::saturating_sub)
    }
}

/// Ports that the kernel hands out to who connects over TCP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ports {
    /// The first and the last.
    pub range: (u16, u16),
    /// How many were used before and after.
    pub in_use: [Option<u64>; 2],
}

impl Ports {
    /// How many there are.
    #[must_use]
    pub fn count(&self) -> u64 {
        u64::from(self.range.1.saturating_sub(self.range.0)) + 1
    }
}

/// What a storm left.
#[derive(Clone, Debug, Default)]
pub struct Aftermath {
    /// Requests of the timed region: all of them.
    pub asked: u64,
    /// Those with the right answer.
    pub answered: u64,
    /// Connects that were tried again.
    pub retried: u64,
    /// Those that failed, by the name of the `errno`.
    pub errors: BTreeMap<String, u64>,
    /// What went wrong at the server, likewise, in warm-up and timed region.
    pub server_errors: BTreeMap<String, u64>,
    /// Requests of warm-up and timed region.
    pub all_asked: u64,
    /// Those answered, likewise.
    pub all_answered: u64,
    /// What the server counted, in warm-up and timed region.
    pub served: u64,
    /// Why requests and answers do not prove each other.
    pub doubt: Option<String>,
    /// How long requests and their parts took: those answered, in ticks.
    pub times: Times,
    /// Ticks the server spent in `accept`, in warm-up and timed region; unknown where it waits there.
    pub accept: Option<u64>,
    /// Length of the timed region, from the first client's begin to the last one's end, ticks.
    pub elapsed: u64,
    /// Processes of clients and server.
    pub pids: [Vec<u32>; 2],
    /// What clients and server consumed in warm-up and timed region.
    pub spent: [Spent; 2],
    /// What the whole machine did while the (first) clients were at work, likewise.
    pub machine: Machine,
    /// Connections in TIME_WAIT before and after, over TCP.
    pub time_wait: [Option<u64>; 2],
    /// Ports, over TCP.
    pub ports: Option<Ports>,
}

impl Aftermath {
    /// Requests that failed.
    #[must_use]
    pub fn failed(&self) -> u64 {
        self.asked - self.answered
    }

    /// Requests that nobody took.
    #[must_use]
    pub fn refused(&self) -> u64 {
        self.errors.get("ECONNREFUSED").copied().unwrap_or(0)
    }
}

/// A warning that so many requests over TCP exceed the ports there are; `None` if they do not.
#[must_use]
pub fn port_warning(door: Door, requests: u64) -> Option<String> {
    let range = ports::ephemeral_range().filter(|_| is_tcp(door))?;
    let ports = Ports { range, in_use: [None; 2] }.count();
    (requests > ports).then(|| {
        format!(
            "{requests} connections through {ports} ephemeral ports ({} to {}): each is used again \
             while its last connection is in TIME_WAIT at the server, who closes first",
            range.0, range.1
        )
    })
}

/// Runs a storm in fresh processes. Nothing is left of it, whoever is killed.
///
/// # Errors
/// Why it was none.
pub fn run(storm: &Storm, around: &Around<'_>) -> Result<Aftermath, Mishap> {
    let base = around.directory.join(format!("{:016x}", around.nonce));
    let place = site(storm.door, &base, around.nonce, 0);
    let _swept = place.sweep(storm.clients);
    let memory = SharedMemory::create("ipcperf-storm", 1)?;
    let mut server = start_server(storm, around, &base, &memory)?;
    let port = server.ready::<u32>()?;
    let mut clients = start_clients(storm, around, &base, port)?;
    for (client, _) in &mut clients {
        client.ready::<()>()?;
    }
    let mut after = Aftermath { ports: used_ports(storm.door), ..Aftermath::default() };
    after.time_wait[0] = ports::time_wait().filter(|_| is_tcp(storm.door));
    server.go(&(), &[])?;
    for (client, _) in &clients {
        client.go(&(), &[])?;
    }
    let mut told = Vec::new();
    for (client, file) in &mut clients {
        told.push(client.done::<client::Told>()?);
        after.times.merge(&Times::read(file)?);
    }
    after.time_wait[1] = ports::time_wait().filter(|_| is_tcp(storm.door));
    if let (Some(ports), Some(now)) = (&mut after.ports, used_ports(storm.door)) {
        ports.in_use[1] = now.in_use[0];
    }
    memory.word(server::STOP).store(1, Ordering::Release);
    let caller = Caller::new(&site(storm.door, &base, around.nonce, port), 0)
        .map_err(|error| Mishap::Failed(error.to_string()))?;
    if let Err(code) = caller.wake() {
        // Then it is gone, and says so itself; or it is alive, and the deadline ends it.
        let gone = [errno::ECONNREFUSED, errno::ECONNRESET, errno::EPIPE];
        if !gone.contains(&code) {
            return Err(Mishap::Failed(format!("{}: {}", storm.door.name(), errno::name(code))));
        }
    }
    after.add(server.done::<server::Told>()?, &told);
    Ok(after)
}

fn used_ports(door: Door) -> Option<Ports> {
    let range = ports::ephemeral_range().filter(|_| is_tcp(door))?;
    Some(Ports { range, in_use: [ports::in_use(range), None] })
}

fn start_server<'a>(
    storm: &Storm,
    around: &Around<'a>,
    base: &Path,
    memory: &SharedMemory,
) -> Result<Hand<'a>, Mishap> {
    let ask = server::Ask {
        door: storm.door,
        base: base.to_owned(),
        nonce: around.nonce,
        serving: storm.serving,
        callers: storm.clients,
        backlog: storm.backlog,
        answer_bytes: storm.answer_bytes,
        cpu: around.cpus.get(1).copied(),
        counter: around.counter,
    };
    let Around { pads, deadline, interrupts, .. } = *around;
    Hand::start(SERVER, &ask, &[memory.fd()], pads[1], deadline, interrupts)
}

type Client<'a> = (Hand<'a>, File);

fn start_clients<'a>(
    storm: &Storm,
    around: &Around<'a>,
    base: &Path,
    port: u32,
) -> Result<Vec<Client<'a>>, Mishap> {
    let (processes, each) = match storm.crowd {
        Crowd::Threads => (1, storm.clients),
        Crowd::Processes => (storm.clients, 1),
    };
    let start = |number| {
        let ask = client::Ask {
            door: storm.door,
            base: base.to_owned(),
            nonce: around.nonce,
            port,
            model: storm.model,
            first: number,
            clients: each,
            answer_bytes: storm.answer_bytes,
            requests: storm.requests,
            slice: storm.slice,
            warmup: storm.warmup,
            cpu: around.cpus.first().copied(),
            counter: around.counter,
        };
        let file = file::unnamed("ipcperf-times")?;
        let Around { pads, deadline, interrupts, .. } = *around;
        let hand = Hand::start(CLIENTS, &ask, &[file.as_fd()], pads[0], deadline, interrupts)?;
        Ok((hand, file))
    };
    (0..processes).map(start).collect()
}

impl Aftermath {
    fn add(&mut self, server: server::Told, clients: &[client::Told]) {
        let mut all = client::Counts::default();
        let mut timed = client::Counts::default();
        for client in clients {
            all.merge(&client.warmup);
            all.merge(&client.timed);
            timed.merge(&client.timed);
            self.pids[0].push(client.pid);
            self.spent[0] = self.spent[0].each(&client.spent, |one, two| one + two);
        }
        let begin = clients.iter().map(|client| client.begin).min().unwrap_or(0);
        let end = clients.iter().map(|client| client.end).max().unwrap_or(0);
        self.elapsed = end.saturating_sub(begin);
        self.machine = clients.first().map(|client| client.machine).unwrap_or_default();
        self.asked = timed.asked;
        self.answered = timed.answered;
        self.retried = timed.retried;
        self.errors = named(&timed.errors);
        if timed.wrong > 0 {
            self.errors.insert("wrong answer".into(), timed.wrong);
        }
        self.server_errors = named(&server.errors);
        self.all_asked = all.asked;
        self.all_answered = all.answered;
        self.served = server.served;
        self.accept = server.accept;
        self.pids[1].push(server.pid);
        self.spent[1] = server.spent;
        self.doubt = doubt(&all, &server);
    }
}

/// Answers that a client got and the server did not give, or the other way round without a failure to explain it.
fn doubt(all: &client::Counts, server: &server::Told) -> Option<String> {
    let failed = all.asked - all.answered;
    let (answered, served) = (all.answered, server.served);
    if all.wrong > 0 {
        return Some(format!("{} answers were not the server's", all.wrong));
    }
    if answered > served || served - answered > failed {
        return Some(format!("{answered} requests were answered, but the server served {served}"));
    }
    if answered == served && all.sum != server.sum {
        return Some("the answers that came are not those that were given".into());
    }
    (all.errors.values().sum::<u64>() != failed)
        .then(|| format!("{failed} requests failed, but not each for a reason"))
}

fn named(errors: &BTreeMap<i32, u64>) -> BTreeMap<String, u64> {
    errors.iter().map(|(code, count)| (errno::name(*code), *count)).collect()
}

#[cold]
fn add(errors: &mut BTreeMap<i32, u64>, code: i32) {
    *errors.entry(code).or_insert(0) += 1;
}

/// What a server leaves that is killed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Remains {
    /// Files that are still there.
    pub paths: u64,
    /// Whether a new server can be opened at the very same place without removing anything.
    pub reopens: bool,
}

/// Opens a server, kills it, and looks at what it left.
///
/// # Errors
/// It could not be started.
pub fn kill_server(storm: &Storm, around: &Around<'_>) -> Result<Remains, Mishap> {
    let base: PathBuf = around.directory.join(format!("{:016x}", around.nonce));
    let swept = site(storm.door, &base, around.nonce, 0).sweep(storm.clients);
    let memory = SharedMemory::create("ipcperf-storm", 1)?;
    let mut server = start_server(storm, around, &base, &memory)?;
    server.ready::<u32>()?;
    server.worker().kill();
    match server.done::<server::Told>() {
        Err(Mishap::Failed(_)) => {}
        Err(other) => return Err(other),
        Ok(_) => return Err(Mishap::Failed("a killed server has nothing to say".into())),
    }
    let paths = swept.iter().filter(|guard| guard.path().exists()).count() as u64;
    let place = site(storm.door, &base, around.nonce, 0);
    let reopens = ipcperf_sys::io::doors::Door::open(&place, 1, 1).is_ok();
    Ok(Remains { paths, reopens })
}

/// A time in ticks of `CLOCK_MONOTONIC`, as storms take it that do not use the CPU counter.
#[must_use]
pub fn nanoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

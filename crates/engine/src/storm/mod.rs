//! Storms of connections: a server, and clients who connect anew for every request. Both are processes of their own;
//! the clients are threads of one process, or a process each.
//!
//! A request is: make a socket, connect, read the first byte, read to the end, close. The server accepts, writes an
//! answer and hangs up first, so that where TCP keeps addresses waiting, it keeps the server's. Whatever was asked is
//! answered, refused or failed, and the three add up.

mod aftermath;
mod answer;
mod client;
mod server;
mod times;

pub use aftermath::{Aftermath, Ports, Spent};
pub use answer::SHORTEST;
pub use times::{PARTS, Times};

use crate::task::{NamedTask, TaskError, WorkerHandle};
use ipcperf_core::{Crowd, Door, Missing, Serving};
use ipcperf_sys::file;
use ipcperf_sys::io::errno;
use ipcperf_sys::io::socket::Kind;
use ipcperf_sys::io::socket::doors::{Caller, Site, any_port};
use ipcperf_sys::io::socket::meeting::Name;
use ipcperf_sys::io::socket::ports;
use ipcperf_sys::shm::SharedMemory;
use ipcperf_sys::signals::Interrupts;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs::File;
use std::net::{Ipv4Addr, Ipv6Addr};
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// What workers are sent to do.
pub(crate) const TASKS: &[NamedTask] = &[
    NamedTask { name: SERVER, run: server::serve },
    NamedTask { name: CLIENTS, run: client::call },
];
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
pub fn run(storm: &Storm, around: &Around<'_>) -> Result<Aftermath, TaskError> {
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
        .map_err(|error| TaskError::Failed(error.to_string()))?;
    if let Err(code) = caller.wake() {
        // Then it is gone, and says so itself; or it is alive, and the deadline ends it.
        let gone = [errno::ECONNREFUSED, errno::ECONNRESET, errno::EPIPE];
        if !gone.contains(&code) {
            return Err(TaskError::Failed(format!("{}: {}", storm.door.name(), errno::name(code))));
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
) -> Result<WorkerHandle<'a>, TaskError> {
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
    WorkerHandle::start(SERVER, &ask, &[memory.fd()], pads[1], deadline, interrupts)
}

type Client<'a> = (WorkerHandle<'a>, File);

fn start_clients<'a>(
    storm: &Storm,
    around: &Around<'a>,
    base: &Path,
    port: u32,
) -> Result<Vec<Client<'a>>, TaskError> {
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
        let handle =
            WorkerHandle::start(CLIENTS, &ask, &[file.as_fd()], pads[0], deadline, interrupts)?;
        Ok((handle, file))
    };
    (0..processes).map(start).collect()
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
pub fn kill_server(storm: &Storm, around: &Around<'_>) -> Result<Remains, TaskError> {
    let base: PathBuf = around.directory.join(format!("{:016x}", around.nonce));
    let swept = site(storm.door, &base, around.nonce, 0).sweep(storm.clients);
    let memory = SharedMemory::create("ipcperf-storm", 1)?;
    let mut server = start_server(storm, around, &base, &memory)?;
    server.ready::<u32>()?;
    server.worker().kill();
    match server.done::<server::Told>() {
        Err(TaskError::Failed(_)) => {}
        Err(other) => return Err(other),
        Ok(_) => return Err(TaskError::Failed("a killed server has nothing to say".into())),
    }
    let paths = swept.iter().filter(|guard| guard.path().exists()).count() as u64;
    let place = site(storm.door, &base, around.nonce, 0);
    let reopens = ipcperf_sys::io::socket::doors::Door::open(&place, 1, 1).is_ok();
    Ok(Remains { paths, reopens })
}

/// A time in ticks of `CLOCK_MONOTONIC`, as storms take it that do not use the CPU counter.
#[must_use]
pub fn nanoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

//! A storm as its coordinator sees it.

use super::aftermath::{Aftermath, Ports};
use super::plan::{Around, Storm, is_tcp, site};
use super::times::Times;
use super::{client, server};
use crate::task::{TaskError, WorkerHandle};
use ipcperf_core::{Crowd, Door};
use ipcperf_sys::file;
use ipcperf_sys::io::errno;
use ipcperf_sys::io::socket::doors::Caller;
use ipcperf_sys::io::socket::ports;
use ipcperf_sys::shm::SharedMemory;
use std::fs::File;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;

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
    WorkerHandle::start(server::NAME, &ask, &[memory.fd()], pads[1], deadline, interrupts)
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
        let handle = WorkerHandle::start(
            client::NAME,
            &ask,
            &[file.as_fd()],
            pads[0],
            deadline,
            interrupts,
        )?;
        Ok((handle, file))
    };
    (0..processes).map(start).collect()
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

//! A connect slice as its coordinator sees it.

use super::super::report::{ClientReport, ServerReport};
use super::super::stats::{CrowdStats, Ports};
use super::super::times::Times;
use super::client::PARTS;
use super::plan::{Around, Ask, ConnectPlan, is_tcp};
use super::{client, server};
use crate::page::Page;
use crate::supervisor::{Stop, Supervisor};
use ipcperf_core::ListenerKind;
use ipcperf_stats::Histogram;
use ipcperf_sys::file;
use ipcperf_sys::io::errno;
use ipcperf_sys::io::socket::listener::Caller;
use ipcperf_sys::io::socket::ports;
use std::os::fd::AsFd;
use std::sync::atomic::Ordering;

/// A warning that so many requests over TCP exceed the ports there are; `None` if they do not.
#[must_use]
pub fn port_warning(listener: ListenerKind, requests: u64) -> Option<String> {
    let range = ports::ephemeral_range().filter(|_| is_tcp(listener))?;
    let ports = Ports { range, in_use: [None; 2] }.count();
    (requests > ports).then(|| {
        format!(
            "{requests} connections through {ports} ephemeral ports ({} to {}): each is used again \
             while its last connection is in TIME_WAIT at the server, who closes first",
            range.0, range.1
        )
    })
}

/// The server is the first worker of a connect slice.
const SERVER: usize = 0;

/// Runs a connect slice in fresh processes. Nothing is left of it, whichever process is killed.
///
/// # Errors
/// Why it was none.
pub(super) fn run(
    connect: &ConnectPlan,
    around: &Around<'_>,
) -> Result<(CrowdStats, [Histogram; PARTS.len()]), Stop> {
    let ask = Ask::of(connect, around);
    let _swept = ask.site().sweep(connect.clients);
    let page = Page::create(0)?;
    let mut workers = Supervisor::new(around.deadline, around.interrupts);
    let port = start_server(&mut workers, &ask, around, &page)?;
    let ask = Ask { port, clients: 0..connect.clients, cpu: around.cpus[0], ..ask };
    let file = file::unnamed("ipcperf-times")?;
    let client = workers.start(client::NAME, around.pads[0])?;
    workers.assign(client, client::NAME, &ask, &[file.as_fd()])?;
    workers.ready::<()>(client)?;
    let mut after = CrowdStats { clients: connect.clients, ..CrowdStats::default() };
    let connects = &mut after.connects;
    connects.ports = used_ports(connect.listener);
    connects.time_wait[0] = ports::time_wait().filter(|_| is_tcp(connect.listener));
    let crowding = || ports::crowding().filter(|_| is_tcp(connect.listener));
    let crowded = crowding();
    workers.go(SERVER, &())?;
    workers.go(client, &())?;
    let asked = workers.done::<ClientReport>(client)?;
    let times = Times::read(&file)?;
    let counts = crowding().zip(crowded);
    connects.crowding = counts.map(|(now, then)| [0, 1].map(|at| now[at].saturating_sub(then[at])));
    connects.time_wait[1] = ports::time_wait().filter(|_| is_tcp(connect.listener));
    if let (Some(ports), Some(now)) = (&mut connects.ports, used_ports(connect.listener)) {
        ports.in_use[1] = now.in_use[0];
    }
    page.line().store(1, Ordering::Release);
    let caller = Caller::new(&ask.site(), 0)?;
    caller.wake().map_err(|code| format!("{}: {}", connect.listener.name(), errno::name(code)))?;
    after.add_connects(workers.done(SERVER)?, asked);
    after.stopped = workers.stopped();
    Ok((after, times.parts))
}

fn used_ports(listener: ListenerKind) -> Option<Ports> {
    let range = ports::ephemeral_range().filter(|_| is_tcp(listener))?;
    Some(Ports { range, in_use: [ports::in_use(range), None] })
}

/// Returns the port on which it waits.
fn start_server(
    workers: &mut Supervisor<'_>,
    ask: &Ask,
    around: &Around<'_>,
    page: &Page,
) -> Result<u32, Stop> {
    let ask = Ask { cpu: around.cpus[1], ..ask.clone() };
    let server = workers.start(server::NAME, around.pads[1])?;
    workers.assign(server, server::NAME, &ask, &[page.fd()])?;
    workers.ready(server)
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
pub fn kill_server(connect: &ConnectPlan, around: &Around<'_>) -> Result<Remains, Stop> {
    let ask = Ask::of(connect, around);
    let swept = ask.site().sweep(connect.clients);
    let page = Page::create(0)?;
    let mut workers = Supervisor::new(around.deadline, around.interrupts);
    start_server(&mut workers, &ask, around, &page)?;
    workers.worker(SERVER).kill();
    match workers.done::<ServerReport>(SERVER) {
        Err(Stop::Failed(_)) => {}
        Err(other) => return Err(other),
        Ok(_) => return Err("a killed server has nothing to say".to_owned().into()),
    }
    let paths = swept.iter().filter(|guard| guard.path().exists()).count() as u64;
    let reopens = ipcperf_sys::io::socket::listener::Listener::open(&ask.site(), 1, 1).is_ok();
    Ok(Remains { paths, reopens })
}

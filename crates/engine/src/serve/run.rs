//! A serve slice as its coordinator sees it.

use super::plan::{Connected, ServePlan};
use super::server::{Rest, ServerReport};
use super::stats::ServeStats;
use super::{client, server};
use crate::connect::{Around, read_times, site};
use crate::supervisor::{Stop, Supervisor};
use ipcperf_core::{ListenerKind, ServerStyle, Wiring};
use ipcperf_stats::Histogram;
use ipcperf_sys::control::MAX_FDS;
use ipcperf_sys::file;
use ipcperf_sys::io::socket::listener::Listener;
use ipcperf_sys::io::socket::meeting;
use std::fs::File;
use std::ops::Range;
use std::os::fd::{AsFd, OwnedFd};

/// Between the word to go and the first request, ns, and for each client: all hear it before the first of them begins.
const NOTICE_NS: u64 = 1_000_000;
const NOTICE_EACH_NS: u64 = 100_000;

/// Distributions of one client process: responses, services, lateness; ticks.
pub(crate) type ClientTimes = [Histogram; 3];

/// Runs a serve slice in fresh processes. Nothing is left of it, whichever process is killed.
///
/// # Errors
/// Why it was none.
pub(crate) fn run(
    plan: &ServePlan,
    listener: ListenerKind,
    around: &Around<'_>,
) -> Result<(ServeStats, Vec<ClientTimes>), Stop> {
    let ([mut outside, mut inside], refused) = connections(plan, listener, around)?;
    let mut workers = Supervisor::new(around.deadline, around.interrupts);
    let shares: Vec<Range<u64>> = match plan.style() {
        ServerStyle::Epoll | ServerStyle::Threads | ServerStyle::Uring => {
            std::iter::once(0..plan.conns).collect()
        }
        ServerStyle::Process => (0..plan.conns).map(|number| number..number + 1).collect(),
    };
    let servers = 0..shares.len();
    for (number, share) in shares.iter().enumerate() {
        let name = match shares.len() {
            1 => "the server".to_owned(),
            all => format!("server {} of {all}", number + 1),
        };
        let who = workers.start(name, pad(around.pads[1], number))?;
        let (connections, cpu) = (share.clone(), around.cpus[1]);
        let ask = Connected { plan: plan.clone(), connections, cpu };
        workers.assign(who, server::NAME, &ask, &[])?;
        hand_over(&workers, who, &mut inside, share)?;
    }
    let mut files: Vec<File> = Vec::new();
    for number in 0..plan.clients {
        let share = plan.share(number);
        let name = format!("client {} of {}", number + 1, plan.clients);
        let who = workers.start(name, pad(around.pads[0], files.len()))?;
        let (connections, cpu) = (share.clone(), around.cpus[0]);
        let ask = Connected { plan: plan.clone(), connections, cpu };
        let file = file::unnamed("ipcperf-times")?;
        workers.assign(who, client::NAME, &ask, &[file.as_fd()])?;
        hand_over(&workers, who, &mut outside, &share)?;
        files.push(file);
    }
    let clients = servers.end..servers.end + files.len();
    for word in workers.gather(&mut |_| ())? {
        word.ready::<()>()?;
    }
    servers.clone().try_for_each(|who| workers.go(who, &()))?;
    let mut rests = Vec::new();
    for who in servers.clone() {
        rests.push(workers.ready::<Rest>(who)?);
    }
    servers.clone().try_for_each(|who| workers.go(who, &()))?;
    let notice = plan.ticks(NOTICE_NS + NOTICE_EACH_NS * plan.clients);
    let start = plan.clock().stop() + notice;
    clients.clone().try_for_each(|who| workers.go(who, &start))?;
    let (mut served, mut asked) = (Vec::new(), Vec::new());
    for (who, word) in workers.gather(&mut |_| ())?.into_iter().enumerate() {
        if who < servers.end {
            served.push(word.done::<ServerReport>()?);
        } else {
            asked.push(word.done::<client::ClientReport>()?);
        }
    }
    let mut after = ServeStats { clients: plan.clients, refused, ..ServeStats::default() };
    after.add(&rests, &served, &asked);
    after.stopped = workers.stopped();
    let times = files.iter().map(read_times).collect::<Result<_, _>>()?;
    Ok((after, times))
}

/// Processes beside each other differ in the layout of their stacks as rounds do.
fn pad(of_round: usize, number: usize) -> usize {
    (of_round + 528 * number) % 4096
}

/// Both ends of all connections, those of the clients first, and how many were refused before. The listener is gone when the
/// first request is sent.
fn connections(
    plan: &ServePlan,
    listener: ListenerKind,
    around: &Around<'_>,
) -> Result<([Vec<OwnedFd>; 2], u64), Stop> {
    let base = around.directory.join(format!("{:016x}", around.nonce));
    let asked = site(listener, &base, around.nonce, 0);
    let _swept = asked.sweep(0);
    let (listener, at) = Listener::open(&asked, meeting::backlog(), 0)?;
    let ([mut outside, mut inside], mut refused) = ([Vec::new(), Vec::new()], 0);
    for number in 0..plan.conns {
        let ([one, other], before) = listener.connection(&at, around.nonce.wrapping_add(number))?;
        refused += before;
        outside.push(one);
        inside.push(other);
    }
    // The last is handed over first.
    outside.reverse();
    inside.reverse();
    Ok(([outside, inside], refused))
}

/// Gives a worker its ends; the coordinator's copies are closed.
fn hand_over(
    workers: &Supervisor<'_>,
    who: usize,
    ends: &mut Vec<OwnedFd>,
    share: &Range<u64>,
) -> Result<(), Stop> {
    let mut left = usize::try_from(share.end - share.start).unwrap_or(0);
    while left > 0 {
        let some = left.min(MAX_FDS).min(ends.len());
        let mut fds = ends.split_off(ends.len() - some);
        fds.reverse();
        workers.wire(who..who + 1, Wiring { fds, ..Wiring::default() })?;
        left -= some;
    }
    Ok(())
}

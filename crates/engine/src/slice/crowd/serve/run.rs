//! A serve slice as its coordinator sees it.

use super::super::connect::{Around, site};
use super::super::report::{ClientReport, ServerReport};
use super::super::stats::CrowdStats;
use super::super::times::Times;
use super::channel::shape;
use super::channels;
use super::plan::{Connected, ServePlan, Way};
use super::server::Rest;
use super::{client, server};
use crate::job::note;
use crate::registry::Entry;
use crate::supervisor::{Stop, Supervisor};
use ipcperf_core::{Guard, KnobValue, ListenerKind, Seat, ServerStyle, Wiring};
use ipcperf_stats::Histogram;
use ipcperf_sys::file;
use ipcperf_sys::io::socket::listener::Listener;
use ipcperf_sys::io::socket::meeting;
use std::collections::VecDeque;
use std::fs::File;
use std::ops::Range;
use std::os::fd::AsFd;

/// Between the word to go and the first request, ns, and for each client: all hear it before the first of them begins.
const NOTICE_NS: u64 = 1_000_000;
const NOTICE_EACH_NS: u64 = 100_000;

/// Runs a serve slice in fresh processes; returns what it left, and the distributions of each client process: responses,
/// services, lateness; ticks. Nothing is left running, whichever process is killed.
///
/// # Errors
/// Why it was none.
pub(crate) fn run(
    plan: &ServePlan,
    entry: &Entry,
    way: Way,
    around: &Around<'_>,
) -> Result<(CrowdStats, Vec<[Histogram; 3]>), Stop> {
    let mut opened = match way {
        Way::Listener(listener) => Opened::of_listener(plan, listener, around)?,
        Way::Lines | Way::Threads => Opened::of_channels(plan, entry)?,
    };
    let [server, client] = match way {
        Way::Listener(_) | Way::Lines => [server::NAME, client::NAME],
        Way::Threads => [channels::SERVER, channels::CLIENTS],
    };
    let mut workers = Supervisor::new(around.deadline, around.interrupts);
    let shares: Vec<Range<u64>> = match plan.style() {
        ServerStyle::Process => (0..plan.conns()).map(|number| number..number + 1).collect(),
        _ => std::iter::once(0..plan.conns()).collect(),
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
        workers.assign(who, server, &ask, &[])?;
        opened.hand_over(&workers, who, Seat::Follow, share)?;
    }
    let mut files: Vec<File> = Vec::new();
    for number in 0..plan.clients {
        let share = plan.share(number);
        let name = format!("client {} of {}", number + 1, plan.clients);
        let who = workers.start(name, pad(around.pads[0], files.len()))?;
        let (connections, cpu) = (share.clone(), around.cpus[0]);
        let ask = Connected { plan: plan.clone(), connections, cpu };
        let file = file::unnamed("ipcperf-times")?;
        workers.assign(who, client, &ask, &[file.as_fd()])?;
        opened.hand_over(&workers, who, Seat::Lead, &share)?;
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
    let start = plan.job.clock().stop() + notice;
    clients.clone().try_for_each(|who| workers.go(who, &start))?;
    let (mut served, mut asked) = (Vec::new(), Vec::new());
    for (who, word) in workers.gather(&mut |_| ())?.into_iter().enumerate() {
        if who < servers.end {
            served.push(word.done::<ServerReport>()?);
        } else {
            asked.push(word.done::<ClientReport>()?);
        }
    }
    let mut after = CrowdStats {
        clients: plan.clients,
        refused: opened.refused,
        style: plan.style(),
        effective: std::mem::take(&mut opened.effective),
        ..CrowdStats::default()
    };
    after.add_stays(&served, &asked);
    // All rest beside each other.
    after.rest_ns[0] = rests.iter().map(|rest| rest.length_ns).max().unwrap_or(0);
    after.rest_ns[1] = rests.iter().map(|rest| rest.rest_cpu_ns).sum();
    after.stopped = workers.stopped();
    let times = files.iter().map(|file| Ok(Times::read(file)?.parts));
    let times = times.collect::<Result<_, std::io::Error>>()?;
    Ok((after, times))
}

/// Processes beside each other differ in the layout of their stacks as rounds do.
fn pad(of_round: usize, number: usize) -> usize {
    (of_round + 528 * number) % 4096
}

/// Both ends of all connections, before they are handed over.
#[derive(Default)]
struct Opened {
    /// Those of the clients, then those of the server.
    ends: [VecDeque<Wiring>; 2],
    /// How many connections were refused before.
    refused: u64,
    /// Kept until all workers are gone.
    guards: Vec<Guard>,
    /// Knobs as granted.
    effective: Vec<(String, KnobValue)>,
}

impl Opened {
    /// By connecting to a listener, which is gone when the first request is sent.
    fn of_listener(
        plan: &ServePlan,
        listener: ListenerKind,
        around: &Around<'_>,
    ) -> Result<Self, Stop> {
        let base = around.directory.join(format!("{:016x}", around.nonce));
        let asked = site(listener, &base, around.nonce, 0);
        let _swept = asked.sweep(0);
        let (listener, at) = Listener::open(&asked, meeting::backlog(), 0)?;
        let mut opened = Self::default();
        for number in 0..plan.conns() {
            let nonce = around.nonce.wrapping_add(number);
            let (ends, before) = listener.connection(&at, nonce)?;
            opened.refused += before;
            for (side, end) in opened.ends.iter_mut().zip(ends) {
                side.push_back(Wiring::of_fds([end]));
            }
        }
        Ok(opened)
    }

    /// A channel for each.
    fn of_channels(plan: &ServePlan, entry: &Entry) -> Result<Self, Stop> {
        let mut opened = Self::default();
        for number in 0..plan.conns() {
            let link = entry.open(&shape(&plan.job, number), &plan.job.options)?;
            opened.guards.extend(link.guards);
            note(&mut opened.effective, link.effective);
            for (side, end) in opened.ends.iter_mut().zip([link.lead, link.follow]) {
                side.push_back(end);
            }
        }
        Ok(opened)
    }

    /// Gives a worker its ends; the coordinator's copies are closed.
    fn hand_over(
        &mut self,
        workers: &Supervisor<'_>,
        who: usize,
        seat: Seat,
        share: &Range<u64>,
    ) -> Result<(), Stop> {
        let count = usize::try_from(share.end - share.start).unwrap_or(0);
        let side = &mut self.ends[seat.index()];
        for wiring in side.drain(..count.min(side.len())) {
            workers.wire(who..who + 1, wiring)?;
        }
        Ok(())
    }
}

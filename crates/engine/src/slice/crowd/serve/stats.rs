//! The results of a serve slice: counts and costs of both sides, and whether the two prove each other.

use super::super::connect::named;
use super::client::ClientReport;
use super::server::{Rest, ServerReport};
use crate::job::note;
use crate::slice::Window;
use crate::supervisor::Stopped;
use ipcperf_core::{KnobValue, ServerStyle};
use ipcperf_sys::meter::Span;
use ipcperf_sys::procfs::Consumption;
use std::collections::BTreeMap;

/// What a serve slice left.
#[derive(Clone, Debug, Default)]
pub struct ServeStats {
    /// Client processes.
    pub clients: u64,
    /// Connections that were refused before they were made.
    pub refused: u64,
    /// Requests of the timed region that were sent.
    pub asked: u64,
    /// Those of each kind with the right answer.
    pub answered: Vec<u64>,
    /// Those that failed, by the name of the `errno`.
    pub errors: BTreeMap<String, u64>,
    /// What went wrong at the server, likewise, in warm-up and timed region.
    pub server_errors: BTreeMap<String, u64>,
    /// Requests that were due and never sent.
    pub unsent: u64,
    /// Requests of warm-up and timed region: sent, and answered.
    pub all: [u64; 2],
    /// What the server answered, in warm-up and timed region.
    pub served: u64,
    /// Why requests and answers do not prove each other.
    pub doubt: Option<String>,
    /// Calls of clients and server that found nothing to read, or no room.
    pub eagain: [u64; 2],
    /// Answers that came inside the timed regions of all clients, and how long one region with as many would be, ticks.
    pub window: Window,
    /// These answers by connection.
    pub moved: Vec<u64>,
    /// Answers of the timed region by client process.
    pub by_client: Vec<u64>,
    /// Open loop: requests due in the timed region, and for how long they were, ticks.
    pub due: [u64; 2],
    /// Requests came faster than they were answered.
    pub saturated: bool,
    /// Processes of clients and server.
    pub pids: [Vec<u32>; 2],
    /// What clients and server consumed in warm-up and timed region.
    pub spent: [Consumption; 2],
    /// CPU time of the busiest client process, ns.
    pub busiest_ns: u64,
    /// From the begin of the warm-up to the last answer, ticks.
    pub whole: u64,
    /// Length of the server's rest and CPU time in it, ns.
    pub rest_ns: [u64; 2],
    /// What the whole machine did meanwhile.
    pub machine: Span,
    /// The CPUs on which clients and server were at the end.
    pub cpus: [usize; 2],
    /// The longest response of each client process, ticks: the shortest of these.
    pub longest: u64,
    /// Who was stopped by a signal meanwhile.
    pub stopped: Option<Stopped>,
    /// How the server was built.
    pub style: ServerStyle,
    /// Knobs of channels, as granted.
    pub effective: Vec<(String, KnobValue)>,
}

impl ServeStats {
    /// Answered requests of the timed region.
    #[must_use]
    pub fn answers(&self) -> u64 {
        self.answered.iter().sum()
    }

    /// Requests that failed.
    #[must_use]
    pub fn failed(&self) -> u64 {
        self.errors.values().sum()
    }

    /// What of a count over warm-up and timed region belongs to the timed region: counters of processes know nothing of
    /// warm-ups, so they are shared out by requests.
    #[must_use]
    pub fn timed(&self, count: u64) -> u64 {
        (count as f64 * self.asked as f64 / self.all[0].max(1) as f64).round() as u64
    }

    pub(super) fn add(
        &mut self,
        rests: &[Rest],
        servers: &[ServerReport],
        clients: &[ClientReport],
    ) {
        let [mut errors, mut server_errors] = [BTreeMap::new(), BTreeMap::new()];
        let merge = |into: &mut BTreeMap<i32, u64>, from: &BTreeMap<i32, u64>| {
            for (code, count) in from {
                *into.entry(*code).or_insert(0) += count;
            }
        };
        for client in clients {
            self.asked += client.asked;
            self.unsent += client.unsent;
            self.answered.resize(client.answered.len(), 0);
            for (sum, count) in self.answered.iter_mut().zip(&client.answered) {
                *sum += count;
            }
            self.by_client.push(client.answered.iter().sum());
            merge(&mut errors, &client.errors);
            for (sum, count) in self.all.iter_mut().zip(client.all) {
                *sum += count;
            }
            self.eagain[0] += client.eagain;
            self.moved.extend(&client.moved);
            self.saturated |= client.saturated;
            self.due[0] += client.asked + client.unsent;
            self.due[1] = self.due[1].max(client.due);
            self.pids[0].push(client.pid);
            self.spent[0] = self.spent[0].plus(&client.spent);
            self.busiest_ns = self.busiest_ns.max(client.spent.cpu_ns);
            note(&mut self.effective, client.effective.clone());
        }
        for server in servers {
            self.served += server.served;
            self.eagain[1] += server.eagain;
            merge(&mut server_errors, &server.errors);
            self.pids[1].push(server.pid);
            note(&mut self.effective, server.effective.clone());
            self.spent[1] = self.spent[1].plus(&server.spent);
        }
        // All rest beside each other.
        self.rest_ns[0] = rests.iter().map(|rest| rest.length_ns).max().unwrap_or(0);
        self.rest_ns[1] = rests.iter().map(|rest| rest.rest_cpu_ns).sum();
        let begin = clients.iter().map(|client| client.whole[0]).min().unwrap_or(0);
        let end = clients.iter().map(|client| client.whole[1]).max().unwrap_or(0);
        self.whole = end.saturating_sub(begin);
        // Each counts in a region of its own, which need not be those of the others to the tick: their rates add up.
        let rate = |client: &ClientReport| {
            let [begin, end] = client.region;
            client.moved.iter().sum::<u64>() as f64 / (end - begin).max(1) as f64
        };
        let rate: f64 = clients.iter().map(rate).sum();
        let messages = self.moved.iter().sum();
        let ticks = if rate > 0.0 { (messages as f64 / rate).round() as u64 } else { 0 };
        self.window = Window { messages, ticks };
        self.machine = clients.first().map(|client| client.machine).unwrap_or_default();
        self.longest = clients.iter().map(|client| client.longest).min().unwrap_or(0);
        self.cpus = [
            clients.first().map_or(0, |client| client.cpu),
            servers.first().map_or(0, |server| server.cpu),
        ];
        self.errors = named(&errors);
        self.server_errors = named(&server_errors);
        self.doubt = self.doubt();
    }

    /// Answers that a client got and the server did not give, or requests that came to no end. Each answer was checked by
    /// itself when it came.
    fn doubt(&self) -> Option<String> {
        let (asked, answers, failed) = (self.asked, self.answers(), self.failed());
        if asked != answers + failed {
            return Some(format!(
                "{asked} requests were asked, {answers} answered, {failed} failed"
            ));
        }
        let [all_asked, all_answered] = self.all;
        let is_whole = failed == 0 && self.server_errors.is_empty();
        let least = if is_whole { all_asked } else { all_answered };
        (!(least..=all_asked).contains(&self.served) || all_answered > self.served).then(|| {
            format!(
                "{all_asked} requests were sent and {all_answered} answered, but the server answered {}",
                self.served
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn client(asked: u64, answered: u64) -> ClientReport {
        let errors = (asked > answered).then(|| (104, asked - answered)).into_iter().collect();
        ClientReport {
            all: [asked + 5, answered + 5],
            asked,
            answered: vec![answered],
            errors,
            moved: vec![answered],
            ..ClientReport::default()
        }
    }

    fn doubt(clients: &[ClientReport], served: u64) -> Option<String> {
        let mut stats = ServeStats::default();
        stats.add(&[], &[ServerReport { served, ..ServerReport::default() }], clients);
        stats.doubt
    }

    #[test]
    fn counts_of_both_sides_must_agree() {
        assert_eq!(doubt(&[client(10, 10), client(7, 7)], 27), None);
        assert!(doubt(&[client(10, 10), client(7, 7)], 26).is_some());
        assert!(doubt(&[client(10, 10), client(7, 7)], 28).is_some());
        // A request that failed may have been answered, or not.
        for (served, is_doubted) in [(13, true), (14, false), (15, false), (16, true)] {
            assert_eq!(doubt(&[client(10, 9)], served).is_some(), is_doubted, "{served}");
        }
        let lost = ClientReport { errors: BTreeMap::new(), ..client(10, 9) };
        assert!(doubt(&[lost], 14).is_some());
    }
}

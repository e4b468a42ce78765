//! The results of a slice of a crowd: counts and costs of both sides, and whether the two prove each other.

use super::report::{ClientReport, Counts, ServerReport, merge};
use crate::job::note;
use crate::slice::Window;
use crate::supervisor::Stopped;
use ipcperf_core::{KnobValue, ServerStyle, map_of};
use ipcperf_sys::io::errno;
use ipcperf_sys::meter::Span;
use ipcperf_sys::procfs::Consumption;
use std::collections::BTreeMap;

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

/// What a slice of a crowd left, but for the times of its requests.
#[derive(Clone, Debug, Default)]
pub struct CrowdStats {
    /// Clients: processes if they stay connected, else threads of one process.
    pub clients: u64,
    /// Requests of the timed region: all that were sent.
    pub asked: u64,
    /// Those of each kind with the right answer.
    pub answered: Vec<u64>,
    /// Those that failed, by the name of the `errno`.
    pub errors: BTreeMap<String, u64>,
    /// What went wrong at the server, likewise, in warm-up and timed region.
    pub server_errors: BTreeMap<String, u64>,
    /// Requests of warm-up and timed region: sent, and answered.
    pub all: [u64; 2],
    /// What the server answered, in warm-up and timed region.
    pub served: u64,
    /// Why requests and answers do not prove each other.
    pub doubt: Option<String>,
    /// Answers, and how long the timed region was, ticks. Of clients that stay connected, those that came inside the regions
    /// of all of them, and how long one region with as many would be.
    pub window: Window,
    /// Processes of clients and server.
    pub pids: [Vec<u32>; 2],
    /// What clients and server consumed in warm-up and timed region.
    pub spent: [Consumption; 2],
    /// What the whole machine did while the (first) clients were at work, likewise.
    pub machine: Span,
    /// The CPUs on which clients and server were at the end.
    pub cpus: [usize; 2],
    /// A process that traced one of the clients or servers at the end.
    pub tracers: [Option<u32>; 2],
    /// The longest request of each client process, or of each client that is a thread, ticks: the shortest of these.
    pub longest: u64,
    /// Who was stopped by a signal meanwhile.
    pub stopped: Option<Stopped>,
    /// Where each request has a connection of its own.
    pub connects: Connects,
    /// How the server of connections that stay was built.
    pub style: ServerStyle,
    /// Connections that stay: how many were refused before they were made.
    pub refused: u64,
    /// Likewise: requests that were due and never sent.
    pub unsent: u64,
    /// Likewise: calls of clients and server that found nothing to read, or no room.
    pub eagain: [u64; 2],
    /// Likewise: the answers of the window by connection.
    pub moved: Vec<u64>,
    /// Answers of the timed region by client process.
    pub by_client: Vec<u64>,
    /// Open loop: requests due in the timed region, and for how long they were, ticks.
    pub due: [u64; 2],
    /// Open loop: requests came faster than they were answered.
    pub saturated: bool,
    /// CPU time of the busiest client process, ns.
    pub busiest_ns: u64,
    /// From the start of the warm-up until clients and server have read their CPU time, ticks.
    pub whole: u64,
    /// Length of the server's rest and CPU time in it, ns.
    pub rest_ns: [u64; 2],
    /// Knobs of channels, as granted.
    pub effective: Vec<(String, KnobValue)>,
}

/// What is known of connections for single requests.
#[derive(Clone, Debug, Default)]
pub struct Connects {
    /// Connects that were tried again.
    pub retried: u64,
    /// Connects that were not done at once where none blocks, by the name of the `errno`.
    pub not_at_once: BTreeMap<String, u64>,
    /// Requests that were asked again because nothing came.
    pub resent: u64,
    /// How often connections found no room, and segments of those that begin were sent again, over TCP: of everybody.
    pub crowding: Option<[u64; 2]>,
    /// Ticks the server spent in `accept`, in warm-up and timed region; unknown where it waits there.
    pub accept: Option<u64>,
    /// Connections in TIME_WAIT before and after, over TCP.
    pub time_wait: [Option<u64>; 2],
    /// Ports, over TCP.
    pub ports: Option<Ports>,
}

impl CrowdStats {
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

    /// Connects that nobody took.
    #[must_use]
    pub fn connects_refused(&self) -> u64 {
        self.errors.get("ECONNREFUSED").copied().unwrap_or(0)
    }

    /// Adds what all workers report; returns the requests of warm-up and timed region.
    fn add(&mut self, servers: &[ServerReport], clients: &[ClientReport]) -> Counts {
        let [mut all, mut timed] = [Counts::default(), Counts::default()];
        let mut server_errors = BTreeMap::new();
        for client in clients {
            let [_, own] = &client.counts;
            client.counts.iter().for_each(|counts| all.merge(counts));
            timed.merge(own);
            self.by_client.push(own.answers());
            self.unsent += client.unsent;
            self.eagain[0] += client.eagain;
            self.moved.extend(&client.moved);
            self.saturated |= client.saturated;
            self.due[0] += own.asked + client.unsent;
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
            self.spent[1] = self.spent[1].plus(&server.spent);
            note(&mut self.effective, server.effective.clone());
        }
        let begin = clients.iter().map(|client| client.whole[0]).min().unwrap_or(0);
        let ends = clients.iter().map(|client| client.whole[1]);
        let end = ends.chain(servers.iter().map(|server| server.ended)).max().unwrap_or(0);
        self.whole = end.saturating_sub(begin);
        self.machine = clients.first().map(|client| client.machine).unwrap_or_default();
        self.longest = clients.iter().map(|client| client.longest).min().unwrap_or(0);
        self.cpus = [
            clients.first().map_or(0, |client| client.cpu),
            servers.first().map_or(0, |server| server.cpu),
        ];
        self.tracers = [
            clients.iter().find_map(|client| client.tracer),
            servers.iter().find_map(|server| server.tracer),
        ];
        self.asked = timed.asked;
        self.all = [all.asked, all.answers()];
        self.errors = named(&timed.errors);
        if timed.wrong > 0 {
            self.errors.insert("wrong answer".into(), timed.wrong);
        }
        self.server_errors = named(&server_errors);
        self.connects.retried = timed.retried;
        self.connects.not_at_once = named(&timed.not_at_once);
        self.connects.resent = timed.resent;
        self.answered = timed.answered;
        all
    }

    /// Adds what is reported where each request has a connection of its own.
    pub(super) fn add_connects(&mut self, server: ServerReport, client: ClientReport) {
        let [begin, end] = client.region;
        let (servers, clients) = ([server], [client]);
        let all = self.add(&servers, &clients);
        let [server] = servers;
        self.window = Window { messages: self.answers(), ticks: end.saturating_sub(begin) };
        self.connects.accept = server.accept;
        if let Some(count @ 1..) = strangers(&all, &server) {
            self.server_errors.insert(STRANGER.into(), count);
        }
        self.doubt = doubt(&all, &server);
    }

    /// Adds what is reported where clients stay connected.
    pub(super) fn add_stays(&mut self, servers: &[ServerReport], clients: &[ClientReport]) {
        self.add(servers, clients);
        // Each counts in a region of its own, which need not be those of the others to the tick: their rates add up.
        let rate = |client: &ClientReport| {
            let [begin, end] = client.region;
            client.moved.iter().sum::<u64>() as f64 / (end - begin).max(1) as f64
        };
        let rate: f64 = clients.iter().map(rate).sum();
        let messages = self.moved.iter().sum();
        let ticks = if rate > 0.0 { (messages as f64 / rate).round() as u64 } else { 0 };
        self.window = Window { messages, ticks };
        self.doubt = self.doubt_stays();
    }

    /// Answers that a client got and the server did not give, or requests that came to no end. Each answer was checked by
    /// itself when it came.
    fn doubt_stays(&self) -> Option<String> {
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

/// What the server calls a connection that no client of this slice made.
pub(crate) const STRANGER: &str = "stranger";

/// How many the server has answered whom none of the clients knows: anybody on this machine may connect to a port, and a
/// server that asked who it is would be measured asking. `None` if fewer were served than answered.
fn strangers(all: &Counts, server: &ServerReport) -> Option<u64> {
    // A client that hung up and asked again may have been let in after all.
    let given_up = all.asked - all.answers() + all.resent;
    Some(server.served.checked_sub(all.answers())?.saturating_sub(given_up))
}

/// Answers that a client got and the server did not give. What it gave and no client got, failed requests or strangers
/// have: then the numbers of these answers are different ones of those that were given.
fn doubt(all: &Counts, server: &ServerReport) -> Option<String> {
    let failed = all.asked - all.answers();
    let (answered, served) = (all.answers(), server.served);
    if all.wrong > 0 {
        return Some(format!("{} answers were not the server's", all.wrong));
    }
    let Some(others) = served.checked_sub(answered) else {
        return Some(format!("{answered} requests were answered, but the server served {served}"));
    };
    let [served, others] = [served, others].map(u128::from);
    let least = others * others.saturating_sub(1) / 2;
    let most = others * served.saturating_sub(1) - least;
    let missing = u128::from(server.sum).checked_sub(u128::from(all.sum));
    if !missing.is_some_and(|missing| (least..=most).contains(&missing)) {
        return Some("the answers that came are not those that were given".into());
    }
    (all.errors.values().sum::<u64>() != failed)
        .then(|| format!("{failed} requests failed, but not each for a reason"))
}

/// Counts by the name of the `errno`.
fn named(errors: &BTreeMap<i32, u64>) -> BTreeMap<String, u64> {
    map_of(errors.iter().map(|(code, count)| (errno::name(*code), *count)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(asked: u64, answered: u64, sum: u64) -> Counts {
        let failed = asked - answered;
        let errors = if failed > 0 { BTreeMap::from([(1, failed)]) } else { BTreeMap::new() };
        Counts { asked, answered: vec![answered], sum, errors, ..Counts::default() }
    }

    fn server(served: u64, sum: u64) -> ServerReport {
        ServerReport { served, sum, ..ServerReport::default() }
    }

    #[test]
    fn counts_and_sums_of_both_sides_must_agree() {
        assert_eq!(doubt(&counts(10, 10, 45), &server(10, 45)), None);
        // A failure explains an answer that was given and never arrived.
        assert_eq!(doubt(&counts(10, 9, 40), &server(10, 45)), None);
        assert_eq!(doubt(&counts(10, 8, 28), &server(8, 28)), None);
        // So does a request that was asked again.
        let again = Counts { resent: 1, ..counts(10, 10, 52) };
        assert_eq!(
            (doubt(&again, &server(11, 55)), strangers(&again, &server(11, 55))),
            (None, Some(0))
        );
        assert_eq!(strangers(&counts(10, 9, 40), &server(10, 45)), Some(0));
        // Two answers nobody asked for, the fourth and the last of twelve.
        assert_eq!(doubt(&counts(10, 10, 52), &server(12, 66)), None);
        assert_eq!(strangers(&counts(10, 10, 52), &server(12, 66)), Some(2));
        for (clients, server) in [
            (counts(10, 10, 45), server(9, 36)),
            // Two numbers below twelve are 1 at the least and 21 at the most.
            (counts(10, 10, 66), server(12, 66)),
            (counts(10, 10, 44), server(12, 66)),
            // One answer came twice, another not at all.
            (counts(10, 10, 44), server(10, 45)),
            (Counts { wrong: 1, ..counts(10, 10, 45) }, server(10, 45)),
            (Counts { errors: BTreeMap::new(), ..counts(10, 9, 36) }, server(9, 36)),
        ] {
            assert!(doubt(&clients, &server).is_some(), "{clients:?} {server:?}");
        }
    }

    fn client(asked: u64, answered: u64) -> ClientReport {
        let errors = (asked > answered).then(|| (104, asked - answered)).into_iter().collect();
        let timed = Counts { errors, ..counts(asked, answered, 0) };
        ClientReport {
            counts: [counts(5, 5, 0), timed],
            moved: vec![answered],
            ..ClientReport::default()
        }
    }

    fn doubt_of(clients: &[ClientReport], served: u64) -> Option<String> {
        let mut stats = CrowdStats::default();
        stats.add_stays(&[server(served, 0)], clients);
        stats.doubt
    }

    #[test]
    fn cpu_time_is_a_share_of_the_time_until_the_last_side_has_read_it() {
        let whole = |ended: u64| {
            let mut stats = CrowdStats::default();
            let clients = [[100, 900], [120, 950]]
                .map(|whole| ClientReport { whole, ..ClientReport::default() });
            stats.add_stays(&[ServerReport { ended, ..ServerReport::default() }], &clients);
            stats.whole
        };
        assert_eq!((whole(1100), whole(940), whole(0)), (1000, 850, 850));
    }

    #[test]
    fn counts_of_both_sides_must_agree_where_clients_stay() {
        assert_eq!(doubt_of(&[client(10, 10), client(7, 7)], 27), None);
        assert!(doubt_of(&[client(10, 10), client(7, 7)], 26).is_some());
        assert!(doubt_of(&[client(10, 10), client(7, 7)], 28).is_some());
        // A request that failed may have been answered, or not.
        for (served, is_doubted) in [(13, true), (14, false), (15, false), (16, true)] {
            assert_eq!(doubt_of(&[client(10, 9)], served).is_some(), is_doubted, "{served}");
        }
        let mut lost = client(10, 9);
        lost.counts[1].errors.clear();
        assert!(doubt_of(&[lost], 14).is_some());
    }
}

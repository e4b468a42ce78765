//! The results of a connect slice: counts, times and costs of both sides, and whether the two prove each other.

use super::times::Times;
use super::{client, server};
use crate::supervisor::Stopped;
use ipcperf_core::map_of;
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

/// What a connect slice left.
#[derive(Clone, Debug, Default)]
pub struct ConnectStats {
    /// Requests of the timed region: all of them.
    pub asked: u64,
    /// Those with the right answer.
    pub answered: u64,
    /// Connects that were tried again.
    pub retried: u64,
    /// Connects that were not done at once where none blocks, by the name of the `errno`.
    pub not_at_once: BTreeMap<String, u64>,
    /// Requests that were asked again because nothing came.
    pub resent: u64,
    /// How often connections found no room, and segments of those that begin were sent again, over TCP: of everybody.
    pub crowding: Option<[u64; 2]>,
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
    pub spent: [Consumption; 2],
    /// What the whole machine did while the (first) clients were at work, likewise.
    pub machine: Span,
    /// Connections in TIME_WAIT before and after, over TCP.
    pub time_wait: [Option<u64>; 2],
    /// Ports, over TCP.
    pub ports: Option<Ports>,
    /// The longest request of each client, ticks: the shortest of these.
    pub longest: u64,
    /// Who was stopped by a signal meanwhile.
    pub stopped: Option<Stopped>,
}

impl ConnectStats {
    /// Requests that failed.
    #[must_use]
    pub fn failed(&self) -> u64 {
        self.asked - self.answered
    }

    /// What of a count over warm-up and timed region belongs to the timed region: counters of processes know nothing of
    /// warm-ups, so they are shared out by requests.
    #[must_use]
    pub fn timed(&self, count: u64) -> u64 {
        (count as f64 * self.asked as f64 / self.all_asked.max(1) as f64).round() as u64
    }

    /// Requests that nobody took.
    #[must_use]
    pub fn refused(&self) -> u64 {
        self.errors.get("ECONNREFUSED").copied().unwrap_or(0)
    }
}

impl ConnectStats {
    pub(super) fn add(&mut self, server: server::ServerReport, clients: &[client::ClientReport]) {
        let mut all = client::Counts::default();
        let mut timed = client::Counts::default();
        for client in clients {
            all.merge(&client.warmup);
            all.merge(&client.timed);
            timed.merge(&client.timed);
            self.pids[0].push(client.pid);
            self.spent[0] = self.spent[0].plus(&client.spent);
        }
        self.longest = clients.iter().map(|client| client.longest).min().unwrap_or(0);
        let begin = clients.iter().map(|client| client.begin).min().unwrap_or(0);
        let end = clients.iter().map(|client| client.end).max().unwrap_or(0);
        self.elapsed = end.saturating_sub(begin);
        self.machine = clients.first().map(|client| client.machine).unwrap_or_default();
        self.asked = timed.asked;
        self.answered = timed.answered;
        self.retried = timed.retried;
        self.not_at_once = named(&timed.not_at_once);
        self.resent = timed.resent;
        self.errors = named(&timed.errors);
        if timed.wrong > 0 {
            self.errors.insert("wrong answer".into(), timed.wrong);
        }
        self.server_errors = named(&server.errors);
        if let Some(count @ 1..) = strangers(&all, &server) {
            self.server_errors.insert(STRANGER.into(), count);
        }
        self.all_asked = all.asked;
        self.all_answered = all.answered;
        self.served = server.served;
        self.accept = server.accept;
        self.pids[1].push(server.pid);
        self.spent[1] = server.spent;
        self.doubt = doubt(&all, &server);
    }
}

/// What the server calls a connection that no client of this slice made.
pub(crate) const STRANGER: &str = "stranger";

/// How many the server has answered whom none of the clients knows: anybody on this machine may connect to a port, and a
/// server that asked who it is would be measured asking. `None` if fewer were served than answered.
fn strangers(all: &client::Counts, server: &server::ServerReport) -> Option<u64> {
    // A client that hung up and asked again may have been let in after all.
    let given_up = all.asked - all.answered + all.resent;
    Some(server.served.checked_sub(all.answered)?.saturating_sub(given_up))
}

/// Answers that a client got and the server did not give. What it gave and no client got, failed requests or strangers
/// have: then the numbers of these answers are different ones of those that were given.
fn doubt(all: &client::Counts, server: &server::ServerReport) -> Option<String> {
    let failed = all.asked - all.answered;
    let (answered, served) = (all.answered, server.served);
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
pub(crate) fn named(errors: &BTreeMap<i32, u64>) -> BTreeMap<String, u64> {
    map_of(errors.iter().map(|(code, count)| (errno::name(*code), *count)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(asked: u64, answered: u64, sum: u64) -> client::Counts {
        let failed = asked - answered;
        let errors = if failed > 0 { BTreeMap::from([(1, failed)]) } else { BTreeMap::new() };
        client::Counts { asked, answered, sum, errors, ..client::Counts::default() }
    }

    fn server(served: u64, sum: u64) -> server::ServerReport {
        server::ServerReport { served, sum, ..server::ServerReport::default() }
    }

    #[test]
    fn counts_and_sums_of_both_sides_must_agree() {
        assert_eq!(doubt(&counts(10, 10, 45), &server(10, 45)), None);
        // A failure explains an answer that was given and never arrived.
        assert_eq!(doubt(&counts(10, 9, 40), &server(10, 45)), None);
        assert_eq!(doubt(&counts(10, 8, 28), &server(8, 28)), None);
        // So does a request that was asked again.
        let again = client::Counts { resent: 1, ..counts(10, 10, 52) };
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
            (client::Counts { wrong: 1, ..counts(10, 10, 45) }, server(10, 45)),
            (client::Counts { errors: BTreeMap::new(), ..counts(10, 9, 36) }, server(9, 36)),
        ] {
            assert!(doubt(&clients, &server).is_some(), "{clients:?} {server:?}");
        }
    }
}

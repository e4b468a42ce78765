//! What a server and its client use while the client works.

use ipcperf_sys::process_tree::Account;
use ipcperf_sys::program::Ended;
use serde::{Deserialize, Serialize};
use std::time::{Duration, Instant};

/// What was seen while a client worked: from its first connection on, or from its start if it makes none, until its end.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) struct Worked {
    /// ns.
    pub(crate) elapsed_ns: u64,
    /// CPU time of the server with all that it has started meanwhile, ns.
    pub(crate) server_ns: u64,
    /// Of the client, likewise.
    pub(crate) client_ns: u64,
    /// A process of the server was lost before anybody had its account.
    pub(crate) is_incomplete: bool,
    /// Connections that were exchanged, or would have been, since the client was started.
    pub(crate) connections: u64,
    /// How long ipcperf took to answer calls meanwhile, ns. The calling threads waited for it.
    #[serde(default)]
    pub(crate) answering_ns: u64,
}

/// What server and client have used since the client began.
pub(super) struct Accounts {
    began: Instant,
    server: Account,
    client: Account,
    /// What they had used before, ns.
    before: [u64; 2],
    is_connected: bool,
    /// Connections before the client was started.
    connected: u64,
    answering: Duration,
}

impl Accounts {
    pub(super) fn of([server, client]: [u32; 2], connected: u64) -> Self {
        let (server, client) = (Account::of(server), Account::of(client));
        let mut accounts = Self {
            began: Instant::now(),
            server,
            client,
            before: [0; 2],
            is_connected: false,
            connected,
            answering: Duration::ZERO,
        };
        accounts.begin();
        accounts
    }

    /// What comes from now on counts.
    fn begin(&mut self) {
        self.before = [self.server.read().cpu_ns, self.client.read().cpu_ns];
        self.answering = Duration::ZERO;
        self.began = Instant::now();
    }

    /// The client connects; the first time it begins.
    pub(super) fn connects(&mut self) {
        if !std::mem::replace(&mut self.is_connected, true) {
            self.begin();
        }
    }

    /// Answers to calls took this long.
    pub(super) fn answered(&mut self, time: Duration) {
        self.answering += time;
    }

    /// The client has ended, and perhaps its server as well.
    pub(super) fn worked(
        mut self,
        end: Instant,
        [server, client]: [Option<&Ended>; 2],
        connected: u64,
    ) -> Worked {
        let whole = |ended: &Ended| ended.user_ns + ended.system_ns;
        let of_server = server.map_or_else(|| self.server.read().cpu_ns, whole);
        let used = [of_server, client.map_or(0, whole)];
        let [server_ns, client_ns] = [0, 1].map(|at| used[at].saturating_sub(self.before[at]));
        let elapsed_ns = (end - self.began).as_nanos() as u64;
        let is_incomplete = self.server.is_incomplete();
        let connections = connected.saturating_sub(self.connected);
        let answering_ns = self.answering.as_nanos() as u64;
        Worked { elapsed_ns, server_ns, client_ns, is_incomplete, connections, answering_ns }
    }
}

//! The plan of a serve slice, and why there can be none.

use super::super::connect;
use super::channel::{attach, entry};
use super::line::ServedConnection;
use crate::hot::AnyWork;
use crate::job::{Failure, Job, note};
use crate::registry::{Entry, OPEN_FILES, Registry};
use crate::task::WorkerContext;
use ipcperf_core::result::CellKey;
use ipcperf_core::units::{counted, format_size};
use ipcperf_core::{
    Capability, DynPort, ListenerKind, Missing, Mix, MixPart, Offered, OptionError, OptionSet,
    Payload, Seat, ServerStyle, SetupError, Shape,
};
use ipcperf_stats::Rng;
use ipcperf_sys::io::socket::inq;
use ipcperf_sys::io::{duplicate, uring};
use ipcperf_sys::limits;
use serde::{Deserialize, Serialize};
use std::ops::Range;
use std::os::fd::{AsRawFd, OwnedFd};

/// A serve slice.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ServePlan {
    /// What both sides are asked; its shape is as large as the longest request or answer.
    pub job: Job,
    /// Client processes, at most as many as connections.
    pub clients: u64,
    /// Whether messages keep their boundaries.
    pub keeps_boundaries: bool,
    /// Whether each connection is a channel, for want of a listener.
    pub has_channels: bool,
}

impl ServePlan {
    /// The slice that a job asks for, by so many clients unless it says how many.
    pub(crate) fn of(job: &Job, clients: u64, entry: &Entry, way: Way) -> Self {
        let load = &job.key.load;
        let clients = clients.clamp(1, load.conns.max(1));
        let shape = Shape { size: longest(&parts(&job.key)), ..job.shape.clone() };
        Self {
            clients: if load.clients > 0 { load.clients } else { clients },
            keeps_boundaries: entry.spec.payload != Payload::Stream,
            has_channels: !matches!(way, Way::Listener(_)),
            job: Job { shape, ..job.clone() },
        }
    }

    /// Connections.
    pub(super) fn conns(&self) -> u64 {
        self.job.key.load.conns.max(1)
    }

    /// How the server is built.
    #[must_use]
    pub fn style(&self) -> ServerStyle {
        self.job.key.load.style.unwrap_or_default()
    }

    /// How many requests of the timed region the connections before this one send, where they are counted.
    pub(super) fn requests_until(&self, connection: u64) -> u64 {
        let share =
            u128::from(self.job.operations) * u128::from(connection) / u128::from(self.conns());
        u64::try_from(share).unwrap_or(self.job.operations)
    }

    /// Requests per second of all clients; `None` in a closed loop.
    pub(super) fn rate(&self) -> Option<f64> {
        match self.job.key.load.rate? {
            Offered::PerSecond(rate) => Some(rate),
            Offered::OfPeak(_) => None,
        }
    }

    /// Whether the only client process runs on a CPU where no server runs.
    pub(super) fn has_own_cpu(&self) -> bool {
        self.clients == 1 && matches!(self.job.cpus.as_slice(), [lead, follow] if lead != follow)
    }

    /// So many ns in ticks.
    pub(super) fn ticks(&self, ns: u64) -> u64 {
        (ns as f64 / self.job.ns_per_tick) as u64
    }

    /// The kinds of requests.
    #[must_use]
    pub fn parts(&self) -> Vec<MixPart> {
        parts(&self.job.key)
    }

    /// Bytes at the begin of a request that say which kind it is.
    pub(super) fn head(&self) -> usize {
        usize::from(self.job.key.load.mix.is_some())
    }

    /// What proves the requests of one connection: of another slice or another connection no stamp is right.
    pub(super) fn work(&self, connection: u64) -> AnyWork<'static> {
        // The odd constant of SplitMix64 keeps the numbers of connections far apart.
        let nonce = self.job.shape.nonce ^ connection.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        AnyWork::touching(self.job.key.touch, nonce)
    }

    /// Which connections the client of this number has.
    pub(super) fn share(&self, client: u64) -> Range<u64> {
        let from = |client: u64| client * self.conns() / self.clients;
        from(client)..from(client + 1)
    }
}

/// The kinds of requests of a cell; one without a mix.
pub(crate) fn parts(key: &CellKey) -> Vec<MixPart> {
    match &key.load.mix {
        Some(mix) => mix.parts().to_vec(),
        None => {
            let reply = key.load.answer(key.pattern, key.size()) as u64;
            vec![MixPart { request: key.size_bytes, reply, share: Mix::WHOLE }]
        }
    }
}

/// Bytes of the longest request or answer.
fn longest(parts: &[MixPart]) -> usize {
    let longest = parts.iter().map(|part| part.request.max(part.reply)).max().unwrap_or(0);
    usize::try_from(longest).unwrap_or(usize::MAX)
}

/// Which kind of request is next.
#[inline]
pub(super) fn pick(parts: &[MixPart], rng: &mut Rng) -> usize {
    if parts.len() < 2 {
        return 0;
    }
    let mut left = rng.below(Mix::WHOLE);
    for (kind, part) in parts.iter().enumerate() {
        if left < part.share {
            return kind;
        }
        left -= part.share;
    }
    0
}

/// What a worker of a serve slice is told.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Connected {
    pub(super) plan: ServePlan,
    /// The connections of which it gets one end.
    pub(super) connections: Range<u64>,
    pub(super) cpu: Option<usize>,
}

impl Connected {
    /// Takes the ends of its connections, in their order.
    pub(super) fn lines(
        &self,
        registry: &Registry,
        seat: Seat,
        context: &mut WorkerContext<'_>,
        longest: u64,
    ) -> Result<Vec<ServedConnection>, Failure> {
        let count = usize::try_from(self.connections.end - self.connections.start).unwrap_or(0);
        let longest = usize::try_from(longest).unwrap_or(usize::MAX);
        let (plan, mut lines) = (&self.plan, Vec::with_capacity(count));
        for number in self.connections.clone() {
            let mut wiring = context.wiring()?;
            let found = if plan.has_channels {
                let entry = entry(registry, &plan.job.key.mechanism)?;
                let (port, granted) = attach(&plan.job, &entry, number, seat, wiring)?;
                note(&mut context.effective, granted);
                descriptors(&*port)?
            } else {
                wiring.fds.pop().map(|fd| (fd, None))
            };
            let found = found.ok_or_else(|| "serve: a connection has no descriptor".to_owned())?;
            let (reads, writes) = found;
            let (keeps, inflight) = (plan.keeps_boundaries, plan.job.key.load.inflight);
            lines.push(ServedConnection::new(reads, writes, keeps, longest, inflight));
        }
        Ok(lines)
    }
}

/// What an end reads from, and what it writes to where that is another one.
fn descriptors(port: &dyn DynPort) -> Result<Option<(OwnedFd, Option<OwnedFd>)>, Failure> {
    let Some([reads, writes]) = port.descriptors() else { return Ok(None) };
    let other = (writes.as_raw_fd() != reads.as_raw_fd()).then(|| duplicate(writes));
    Ok(Some((duplicate(reads)?, other.transpose()?)))
}

/// Why clients cannot stay connected to a server over this mechanism, and ask it so.
///
/// # Errors
/// A knob is refused.
pub(crate) fn objection(
    entry: &Entry,
    key: &CellKey,
    options: &OptionSet,
    cpus: usize,
    memory: Option<u64>,
) -> Result<Option<Missing>, OptionError> {
    let (spec, load) = (entry.spec, &key.load);
    let refused = |what: String, how: &str| Ok(Some(Missing::new(what, how)));
    // Of mechanisms that have no listener no variant has one.
    if let Some(variant) = spec.variant.filter(|_| spec.can(Capability::Listener)) {
        let what = format!("serve takes mechanisms, and {variant} is a variant");
        let how = format!("{}; --style says how its server waits", spec.name);
        return refused(what, &how);
    }
    let way = way(entry, key, options)?;
    let listener = match way {
        Way::Listener(listener) => Some(listener),
        Way::Lines | Way::Threads => None,
    };
    if listener.is_none()
        && let Some(missing) = channels_objection(entry, key, way, cpus)
    {
        return Ok(Some(missing));
    }
    for (knob, _) in options.of(spec.name) {
        if listener.is_some() && knob != "bind" {
            let what = format!("the connections of serve do not use the knob {knob}");
            return refused(what, "leave it out");
        }
    }
    if load.clients > load.conns {
        let what = format!(
            "{} cannot share {}",
            counted(load.clients, "client"),
            counted(load.conns, "connection")
        );
        return refused(what, "more --conns, or fewer --clients");
    }
    if load.rate.is_some() && load.think_ns > 0 {
        let what = "a request is due by --rate, or after --think, not both".to_owned();
        return refused(what, "leave one of them out");
    }
    let parts = parts(key);
    for size in parts.iter().flat_map(|part| [part.request, part.reply]) {
        let size = usize::try_from(size).unwrap_or(usize::MAX);
        if let Some(missing) = entry.size_objection(size, options)? {
            return Ok(Some(missing));
        }
    }
    // Both ends of each connection have a buffer each way.
    let longest = |of: fn(&MixPart) -> u64| parts.iter().map(of).max().unwrap_or(0);
    let each = longest(|part| part.request).saturating_add(longest(|part| part.reply));
    let needed = each.saturating_mul(2 * load.conns);
    if let Some(free) = memory.filter(|memory| needed > *memory) {
        let what = format!(
            "buffers of {} need {}, {} are free",
            counted(load.conns, "connection"),
            format_size(needed),
            format_size(free >> 20 << 20)
        );
        return refused(what, "fewer --conns, or smaller messages");
    }
    if let Some(missing) = too_many(key, way) {
        return Ok(Some(missing));
    }
    let ring = match key.load.style {
        Some(ServerStyle::Uring) => {
            uring::probe::<uring::Enter>(uring::Kind::Socket, uring::Buffers::Plain)
        }
        _ => Ok(()),
    };
    if load.style == Some(ServerStyle::Inq)
        && let Some(missing) = reports_objection(listener)
    {
        return Ok(Some(missing));
    }
    let ring = ring.map_err(SetupError::into_missing);
    Ok(ring.and_then(|()| listener.map_or(Ok(()), connect::probe)).err())
}

/// The sockets of this listener whose reads report what waits.
fn reporting(listener: ListenerKind) -> Option<inq::Reporting> {
    match listener {
        ListenerKind::UnixPath | ListenerKind::UnixAbstract => Some(inq::Reporting::Unix),
        ListenerKind::Tcp | ListenerKind::Tcp6 => Some(inq::Reporting::Tcp),
        _ => None,
    }
}

/// Why the reads of a server cannot report what waits.
fn reports_objection(listener: Option<ListenerKind>) -> Option<Missing> {
    match listener.and_then(reporting) {
        Some(family) => inq::probe(family).err(),
        None => {
            let what = "reads report what waits of UNIX stream sockets and TCP only";
            Some(Missing::new(what, "another --style"))
        }
    }
}

/// How the connections of a server are made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    /// The clients connect to this.
    Listener(ListenerKind),
    /// Each is a channel, and one process waits at all descriptors that it has of them.
    Lines,
    /// Each is a channel, and a thread or a process waits at it.
    Threads,
}

/// How they are made. A FIFO has one direction, and its writers cannot be told apart: each connection has two of its own.
pub(crate) fn way(entry: &Entry, key: &CellKey, options: &OptionSet) -> Result<Way, OptionError> {
    Ok(match (entry.listener(options)?, key.load.style.unwrap_or_default()) {
        (Ok((listener, _)), _) if listener != ListenerKind::Fifo => Way::Listener(listener),
        (_, ServerStyle::Epoll) => Way::Lines,
        _ => Way::Threads,
    })
}

/// Why a server cannot have a channel to each client.
fn channels_objection(entry: &Entry, key: &CellKey, way: Way, cpus: usize) -> Option<Missing> {
    let (spec, load) = (entry.spec, &key.load);
    let (what, how) = if spec.is_floor() {
        ("the floor moves nothing".to_owned(), "")
    } else if spec.wake_word().is_some() {
        ("a wake-up carries no request".to_owned(), "")
    } else if entry.is_lossy {
        ("it may lose a request, whose answer would be waited for without end".to_owned(), "")
    } else if entry.meets {
        let what = "its two ends name each other's process, and a server has several";
        (what.to_owned(), "")
    } else if load.style == Some(ServerStyle::Uring) {
        ("a ring receives from sockets".to_owned(), "--style epoll, threads or process")
    } else if matches!(load.style, Some(ServerStyle::Edge | ServerStyle::Inq)) {
        let what = "a server that waits for edges has sockets of a listener";
        (what.to_owned(), "--style epoll, threads or process")
    } else if way == Way::Lines && !entry.can_be_polled() {
        let what = "one process cannot wait for several of its channels";
        (what.to_owned(), "--style threads or process")
    } else if way == Way::Threads && (load.rate.is_some() || load.stall_ns > 0 || load.inflight > 1)
    {
        let what = "with a thread for each channel a client sends one request at a time";
        (what.to_owned(), "--style epoll, or no --rate, --stall and --inflight")
    } else if parts(key).iter().any(|part| part.request.min(part.reply) == 0) {
        ("requests and answers have a stamp".to_owned(), "sizes of at least 1")
    } else if spec.wait.burns_cpu() && 2 * load.conns > cpus as u64 {
        let ends = 2 * load.conns;
        let what = format!("{ends} ends that wait busily need {ends} CPUs, and there are {cpus}");
        (what, "fewer --conns, or a mechanism that sleeps")
    } else {
        return None;
    };
    Some(Missing::new(what, how))
}

/// Why so many cannot be had: the coordinator makes both ends of each connection, and has a control socket and a pidfd of each
/// worker.
fn too_many(key: &CellKey, way: Way) -> Option<Missing> {
    let (conns, clients) = (key.load.conns, key.load.clients.max(1));
    let (servers, threads) = match key.load.style.unwrap_or_default() {
        ServerStyle::Epoll | ServerStyle::Uring | ServerStyle::Edge | ServerStyle::Inq => (1, 0),
        ServerStyle::Threads => (1, conns),
        ServerStyle::Process => (conns, 0),
    };
    let (each, threads) = match way {
        Way::Listener(_) => (2, threads),
        Way::Lines => (OPEN_FILES, threads),
        Way::Threads => (OPEN_FILES, threads + conns),
    };
    let what = format!("a cell with {}", counted(conns, "connection"));
    let files = OPEN_FILES + each * conns + 2 * (servers + clients);
    limits::too_few_open_files(&what, files)
        .or_else(|| limits::too_few_processes(&what, servers + threads + clients))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hot::Work;
    use crate::testing;
    use ipcperf_core::{Load, Touch};

    #[test]
    fn a_stamp_of_another_connection_or_slice_is_wrong() {
        let load = Load { conns: 7, ..Load::default() };
        let job = testing::job(CellKey { touch: Touch::None, load, ..CellKey::default() });
        let plan = ServePlan { job, clients: 3, keeps_boundaries: false, has_channels: false };
        let mut message = [0; 64];
        plan.work(3).fill(&mut message, 9);
        assert!(plan.work(3).check(&message, 9).is_ok());
        assert!(plan.work(3).check(&message, 8).is_err());
        assert!(plan.work(4).check(&message, 9).is_err());
        assert!(plan.work(3).reversed().check(&message, 9).is_err());
        let mut other = plan.clone();
        other.job.shape.nonce += 1;
        assert!(other.work(3).check(&message, 9).is_err());
        let shares: Vec<_> = (0..3).map(|client| plan.share(client)).collect();
        assert_eq!(shares, [0..2, 2..4, 4..7]);
    }
}

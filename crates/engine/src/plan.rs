//! From the request to the cells that will be measured, each with the reason if it cannot be.

use crate::neighbour;
use crate::packets;
use crate::registry::{Entry, OPEN_FILES};
use crate::scheduled;
use crate::shim;
use crate::slice::crowd::{connect, serve};
use crate::slice::fan;
use crate::source::PayloadSource;
use crate::task;
use crate::transform::{self, Transcoder};
use ipcperf_core::result::CellKey;
use ipcperf_core::units::{counted, format_size};
use ipcperf_core::{
    Ends, Exchange, Idle, Lends, ListenerKind, Load, Missing, Mix, Namespace, OptionError,
    OptionSet, PatternKind, PayloadFile, Placement, Reach, Touch, Transfers, Transform, Usual,
    map_of, parted,
};
use ipcperf_sys::topology::Topology;
use ipcperf_sys::{limits, namespaces, procfs, qos};
use std::collections::HashSet;

/// A block of cells: every combination of its parts.
#[derive(Clone, Debug)]
pub struct Request {
    /// Mechanisms.
    pub mechanisms: Vec<Entry>,
    /// Patterns.
    pub patterns: Vec<PatternKind>,
    /// Message sizes, bytes; wake-up mechanisms have one cell whatever the sizes are.
    pub sizes: Vec<usize>,
    /// Placements.
    pub placements: Vec<Placement>,
    /// Idle policies.
    pub idle: Vec<Idle>,
    /// Touch policy.
    pub touch: Touch,
    /// Loads; each pattern takes what concerns it.
    pub loads: Vec<Load>,
    /// Knobs.
    pub options: OptionSet,
}

/// One cell to measure.
#[derive(Clone, Debug)]
pub struct CellPlan {
    /// Its identity in words.
    pub id: String,
    /// Its identity but for the knobs.
    pub key: CellKey,
    /// Its mechanism.
    pub entry: Entry,
    /// Bytes of a message on the way: another number where messages are changed.
    pub wire: usize,
    /// Bytes of a message over those it is changed into; 1 where none is changed.
    pub ratio: f64,
    /// Its knobs.
    pub options: OptionSet,
    /// Messages under way before the sender waits for a credit or an answer; 0: as the mechanism itself stops it.
    pub window: u64,
    /// Messages that the mechanism is sure to keep; 0 where it makes the sender wait.
    pub own: u64,
    /// Where several channels run that are at work at the same time.
    pub channels: ChannelPlaces,
    /// The knob that the kernel sets lower where a quota of the user is used up.
    pub usual: Option<Usual>,
    /// Why it cannot be measured here.
    pub objection: Option<Missing>,
}

/// Where several channels run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ChannelPlaces {
    /// CPUs of lead and follow of each; empty where they are not pinned, or where there is one channel.
    pub cpus: Vec<Vec<usize>>,
    /// There is no CPU for every end that could run: of a channel on one CPU one end at a time.
    pub is_oversubscribed: bool,
}

impl ChannelPlaces {
    /// Of a cell on this machine. When all CPUs are taken, they are shared out once more.
    fn of(key: &CellKey, topology: &Topology) -> Self {
        let count = usize::try_from(key.load.channels).unwrap_or(usize::MAX);
        if count == 0 {
            return Self::default();
        }
        let pairs = topology.pairs(key.placement, count);
        let has_own = if pairs.is_empty() { topology.cpus.len() / 2 } else { pairs.len() };
        let cpus = pairs.iter().cycle().take(if pairs.is_empty() { 0 } else { count });
        Self { cpus: cpus.cloned().collect(), is_oversubscribed: has_own < count }
    }
}

/// What open loops have in common that share a peak: all but their load, of which a closed loop has payload, alignment and
/// the places of its ends only.
#[derive(Clone, Debug, PartialEq)]
pub struct Family {
    key: CellKey,
    options: OptionSet,
}

impl Family {
    /// Of an open loop that can be measured.
    #[must_use]
    pub fn of(plan: &CellPlan) -> Option<Self> {
        let is_measured = plan.key.pattern.facts().is_open && plan.objection.is_none();
        is_measured.then(|| Self {
            key: CellKey {
                load: Load {
                    payload: plan.key.load.payload.clone(),
                    align: plan.key.load.align,
                    follow_in: plan.key.load.follow_in,
                    net: plan.key.load.net,
                    sched: plan.key.load.sched,
                    nice: plan.key.load.nice,
                    cgroup_weight: plan.key.load.cgroup_weight,
                    ..Load::default()
                },
                ..plan.key.clone()
            },
            options: plan.options.clone(),
        })
    }

    /// The closed loop that finds out the peak of one of its cells.
    pub(crate) fn plan(&self, cell: &CellPlan) -> CellPlan {
        CellPlan { key: self.key.clone(), ..cell.clone() }
    }

    /// Every family among these cells, once.
    pub fn all<'a>(plans: impl Iterator<Item = &'a CellPlan>) -> Vec<Self> {
        let mut all = Vec::new();
        for family in plans.filter_map(Self::of) {
            if !all.contains(&family) {
                all.push(family);
            }
        }
        all
    }
}

/// What of the machine decides whether a cell can run.
#[derive(Clone, Debug)]
pub struct Host {
    /// CPUs.
    pub topology: Topology,
    /// Why no process can be pinned.
    pub pinning_objection: Option<Missing>,
    /// Why idle polling cannot be asked for.
    pub idle_objection: Option<String>,
    /// Memory that can be used, bytes.
    pub memory: Option<u64>,
}

impl CellPlan {
    /// Bytes of the longest message that the mechanism itself carries: less than the message where it goes in packets.
    #[must_use]
    pub fn carried(&self) -> usize {
        carried(&self.key, self.wire)
    }

    /// How many messages under way it has to be tried for whether the channel keeps them, because each has an answer and
    /// the mechanism makes the sender wait; 0 for none.
    pub(crate) fn trial(&self) -> u64 {
        let answers = self.key.pattern.facts().exchange == Exchange::RoundTrip;
        if answers && self.window > 1 && self.own == 0 { self.window } else { 0 }
    }
}

impl Host {
    /// This machine.
    ///
    /// # Errors
    /// The affinity of the process is not readable.
    pub fn read() -> std::io::Result<Self> {
        let allowed = ipcperf_sys::affinity::allowed_cpus()?;
        Ok(Self {
            topology: Topology::read(&allowed),
            pinning_objection: task::pinning_objection(),
            idle_objection: qos::PollIdle::objection(),
            memory: procfs::available_bytes(),
        })
    }
}

/// All cells of `request`, in the order of its parts.
///
/// # Errors
/// A knob is refused.
pub fn cells(request: &Request, host: &Host) -> Result<Vec<CellPlan>, OptionError> {
    let mut cells = Vec::new();
    let mut changes = Changes::default();
    for entry in &request.mechanisms {
        let options = own_options(&request.options, entry);
        let probed = entry.probe(&options)?.err();
        let mut set = options.of(entry.spec.name).map(|(knob, _)| knob);
        let meeting = set.find(|knob| connect::KNOBS.contains(knob));
        for key in keys(request, entry, host) {
            let size = key.size();
            let changed = changes.of(&key.load, size);
            let (wire, ratio) = changed.clone().unwrap_or((size, 1.0));
            let channels = ChannelPlaces::of(&key, &host.topology);
            let own = under_way(entry, &key, wire, &options)?;
            // What no machine could do comes first.
            let mut objection = shim::objection(&key, entry.is_plain, meeting)
                .or_else(|| probed.clone())
                .or_else(|| changed.err());
            if objection.is_none() {
                objection = self::objection(entry, &key, wire, &options, host)?
                    .or_else(|| channels_objection(entry, &key, channels.is_oversubscribed))
                    .or_else(|| fan::objection(entry, &key, wire, host.topology.cpus.len()));
            }
            cells.push(CellPlan {
                id: key.words(&options),
                entry: *entry,
                wire,
                ratio,
                options: options.clone(),
                window: match (key.load.under_way(), key.pattern.facts().exchange) {
                    (Some((_, asked)), _) => asked,
                    (None, Exchange::OneWay) => own,
                    (None, _) => 1,
                },
                own,
                channels,
                usual: entry.usual(),
                objection: objection.or_else(|| key.load.objection(entry.spec, own)),
                key,
            });
        }
    }
    Ok(cells)
}

/// All cells of one mechanism.
fn keys(request: &Request, entry: &Entry, host: &Host) -> Vec<CellKey> {
    let own_sizes = if entry.spec.wake_word().is_some() { &[0][..] } else { &request.sizes };
    let mut keys = Vec::new();
    for &pattern in &request.patterns {
        let mut told = HashSet::new();
        let mut loads: Vec<Load> = request.loads.iter().map(|load| load.of(pattern)).collect();
        loads.retain(|load| told.insert(load.words()));
        for &placement in &request.placements {
            for &idle in &request.idle {
                for (at, &size) in own_sizes.iter().enumerate() {
                    // A mix says the sizes itself.
                    let is_said = |load: &&Load| at == 0 || load.mix.is_none();
                    keys.extend(loads.iter().filter(is_said).map(|load| CellKey {
                        mechanism: entry.spec.full_name(),
                        wait: entry.spec.wait,
                        pattern,
                        size_bytes: load.mix.as_ref().map_or(size as u64, Mix::longest_request),
                        placement,
                        cpus: host.topology.pair(placement).unwrap_or_default(),
                        idle,
                        touch: request.touch,
                        load: load.clone(),
                    }));
                }
            }
        }
    }
    keys
}

/// What transforms make of sizes and contents, found out once.
#[derive(Default)]
struct Changes(Vec<Change>);

/// What one transform makes of messages of one size and content.
struct Change {
    of: (Transform, usize, Option<PayloadFile>),
    /// Bytes on the way, and the ratio.
    found: (usize, f64),
}

impl Changes {
    /// Bytes on the way and the ratio, or why this cannot be.
    fn of(&mut self, load: &Load, size: usize) -> Result<(usize, f64), Missing> {
        let Some(transform) = load.transform else { return Ok((size, 1.0)) };
        if size == 0 {
            return Err(Missing::new("there is no payload to change", "use a size of at least 1"));
        }
        if size > transform::LARGEST {
            let most = format_size(transform::LARGEST as u64);
            return Err(Missing::new(format!("messages of up to {most} are changed"), ""));
        }
        let of = (transform, size, load.payload.clone());
        if let Some(known) = self.0.iter().find(|known| known.of == of) {
            return Ok(known.found);
        }
        let read = |file: &PayloadFile| match PayloadSource::read(file) {
            Ok((source, _)) => Ok(source.cut(size, size)),
            Err(error) => Err(Missing::new(format!("payload '{}': {error}", file.file), "")),
        };
        let cut = load.payload.as_ref().map(read).transpose()?;
        let transcoder = Transcoder::new(transform, size, Touch::None, cut.as_ref());
        let found = (transcoder.slot(), transcoder.ratio());
        self.0.push(Change { of, found });
        Ok(found)
    }
}

/// The settings that concern one mechanism: only they are part of its identity.
fn own_options(all: &OptionSet, entry: &Entry) -> OptionSet {
    let name = entry.spec.name;
    OptionSet(map_of(
        all.of(name).map(|(knob, value)| (format!("{name}.{knob}"), value.to_owned())),
    ))
}

/// Bytes of the longest message that the mechanism itself carries.
fn carried(key: &CellKey, wire: usize) -> usize {
    match key.load.packet {
        0 => wire.max(key.load.answer(key.pattern, wire)),
        packet => packets::longest(wire, packet),
    }
}

/// How many messages the mechanism is sure to keep; 0 where it makes the sender wait.
fn under_way(
    entry: &Entry,
    key: &CellKey,
    wire: usize,
    options: &OptionSet,
) -> Result<u64, OptionError> {
    let own = entry.window(carried(key, wire), options)?.map_or(0, u64::from);
    let each = if key.load.packet > 0 { packets::count(wire, key.load.packet) } else { 1 };
    Ok(if own > 0 { (own / each).max(1) } else { 0 })
}

fn objection(
    entry: &Entry,
    key: &CellKey,
    wire: usize,
    options: &OptionSet,
    host: &Host,
) -> Result<Option<Missing>, OptionError> {
    let size = carried(key, wire);
    let placement = key.placement;
    if host.topology.pair(placement).is_none() {
        return Ok(Some(Missing::new(host.topology.objection(placement), "")));
    }
    if placement != Placement::Free
        && let Some(missing) = &host.pinning_objection
    {
        return Ok(Some(missing.clone()));
    }
    // Not pinned, but with one CPU there is no other place to go.
    let shares = placement.is_one_cpu() || (placement.is_free() && host.topology.cpus.len() < 2);
    if entry.spec.wait.burns_cpu() && shares {
        return Ok(Some(Missing::new(
            "two busy-waiting processes cannot share one CPU",
            "place them on two CPUs",
        )));
    }
    if entry.spec.wait.burns_cpu() && matches!(placement, Placement::OneEnd { .. }) {
        return Ok(Some(Missing::new(
            "the scheduler may put both processes on one CPU, which two busy-waiting processes cannot share",
            "name a CPU for each, as 0,1",
        )));
    }
    if key.idle == Idle::Poll
        && let Some(reason) = &host.idle_objection
    {
        return Ok(Some(Missing::new(
            format!("idle polling needs {reason}"),
            "run as root or get write permission on the device",
        )));
    }
    if let Some(missing) = scheduled::objection(entry, key) {
        return Ok(Some(missing));
    }
    let allowed: Vec<usize> = host.topology.cpus.iter().map(|cpu| cpu.id).collect();
    if let Some(missing) = neighbour::objection(key, &allowed) {
        return Ok(Some(missing));
    }
    if let Some(missing) = files_objection(key) {
        return Ok(Some(missing));
    }
    if let Some(missing) = apart_objection(entry, &key.load, options)? {
        return Ok(Some(missing));
    }
    if let Some(align) = key.load.align {
        let missing = alignment_objection(entry, key, entry.lends(options)?);
        if let Some((what, how)) = missing {
            return Ok(Some(Missing::new(format!("--align {align}: {what}"), how)));
        }
    }
    match key.pattern.facts().ends {
        Ends::Clients => return connect_objection(entry, &key.load, size, options),
        Ends::Connected => {
            let cpus = host.topology.cpus.len();
            return serve::objection(entry, key, options, cpus, host.memory);
        }
        Ends::Pair | Ends::Many(_) | Ends::Grid => {}
    }
    if entry.spec.exchange == Transfers::Calls && !asks_for_each_answer(key) {
        return Ok(Some(Missing::new(
            "moves calls, each with an answer before the next one, and no messages without one",
            "-p ping-pong or rate, or request with --inflight 1; in no packets",
        )));
    }
    // Of a question and its answer the shorter one must not be too short either; packets have one length.
    let answer = key.load.answer(key.pattern, wire);
    let shortest = if key.load.packet > 0 { size } else { wire.min(answer) };
    for size in [size, shortest] {
        if let Some(missing) = entry.size_objection(size, options)? {
            return Ok(Some(missing));
        }
    }
    // Both ends keep a buffer each way, and a queue or ring holds at least two messages each way.
    let channels = match key.pattern.facts().to_each {
        true => key.load.peers,
        false => key.load.channels.max(1),
    };
    let needed = 8 * channels * size as u64;
    Ok(host.memory.filter(|memory| needed > *memory).map(|memory| {
        let free = format_size(memory >> 20 << 20);
        Missing::new(
            format!(
                "messages of this size need {} of memory, {free} are free",
                format_size(needed)
            ),
            "",
        )
    }))
}

/// Why several channels of a mechanism cannot be at work at the same time.
fn channels_objection(entry: &Entry, key: &CellKey, is_oversubscribed: bool) -> Option<Missing> {
    let how = "leave out --channels, or the other";
    Some(if key.load.channels == 0 {
        return None;
    } else if !key.load.is_ours() {
        Missing::new("a program at the place of the follow has one channel", how)
    } else if entry.is_plugin {
        Missing::new("a plug-in is measured over one channel at a time", "leave out --channels")
    } else if matches!(key.placement, Placement::OneEnd { .. }) {
        let what = "of several channels both ends have a CPU of their own, or none has";
        Missing::new(what, "--place free, or a class of CPUs")
    } else if entry.spec.wait.burns_cpu() && is_oversubscribed {
        let what = "busy-waiting processes cannot share a CPU, and there is none for each end";
        Missing::new(what, "fewer channels, or a mechanism that sleeps")
    } else {
        return None;
    })
}

/// Whether every message has its answer before the next one leaves.
fn asks_for_each_answer(key: &CellKey) -> bool {
    let Load { packet, inflight, .. } = key.load;
    key.pattern.facts().exchange == Exchange::RoundTrip && packet == 0 && inflight <= 1
}

/// Why it makes no difference where the buffers of both ends begin, over a mechanism that lends this memory, and what to do
/// instead.
fn alignment_objection(
    entry: &Entry,
    key: &CellKey,
    lends: [Lends; 2],
) -> Option<(&'static str, &'static str)> {
    if entry.spec.wake_word().is_some() {
        return Some(("a wake-up has no message that would lie in a buffer", "leave it out"));
    }
    if key.load.packet > 0 {
        let what = "messages in packets are put together in a buffer that has one place only";
        return Some((what, "leave out --align or --packet"));
    }
    let is_own = |lends: &Lends| match lends {
        Lends::Buffer => true,
        Lends::Shared => key.touch == Touch::Copy,
        _ => false,
    };
    if lends.iter().any(is_own) {
        return None;
    }
    Some(if lends.contains(&Lends::Shared) {
        let what =
            "neither end has a message in a buffer of its own: both look at memory that they share";
        (what, "add --touch copy, with which both have one")
    } else {
        let what = "the mechanism itself says where a message begins in its buffers";
        (what, "leave it out")
    })
}

/// Why its ends do not meet in namespaces of their own.
fn apart_objection(
    entry: &Entry,
    load: &Load,
    options: &OptionSet,
) -> Result<Option<Missing>, OptionError> {
    if !load.is_apart() {
        return Ok(None);
    }
    let mut needed = entry.shares(options)?;
    if !load.net.is_loopback() {
        if entry.spec.reach != Reach::Network || !needed.has(Namespace::Net) {
            let what = "its ends have no internet addresses, so that no network lies between them";
            return Ok(Some(Missing::new(what, "leave out --net, or use tcp, tcp6, udp or sctp")));
        }
        needed = needed.without(Namespace::Net);
    }
    let Some(which) = load.follow_in else { return Ok(None) };
    Ok(match namespaces::left(which) {
        Err(missing) => Some(missing),
        Ok(entered) if load.stall_ns > 0 && entered.has(Namespace::Pid) => Some(Missing::new(
            "a process in a PID namespace of its own cannot be stopped by its number here",
            "leave out --stall, or pid",
        )),
        Ok(entered) => parted(needed, entered),
    })
}

/// Why so many ends cannot be had: each worker takes its control socket and its pidfd in the coordinator, each client a
/// descriptor in the process of all clients.
fn files_objection(key: &CellKey) -> Option<Missing> {
    let (what, more) = match key.pattern.facts().ends {
        // What it takes was asked of the mechanism.
        Ends::Pair if key.load.channels > 0 => {
            (counted(key.load.channels, "channel"), OPEN_FILES * key.load.channels)
        }
        Ends::Pair | Ends::Connected => return None,
        // A broadcast has a channel for each.
        Ends::Many(_) if key.pattern.facts().to_each => {
            (counted(key.load.peers, "peer"), OPEN_FILES * key.load.peers)
        }
        Ends::Many(_) => (counted(key.load.peers, "peer"), 2 * key.load.peers),
        Ends::Grid => {
            let all: u64 = key.load.sides(key.pattern).iter().sum();
            (counted(all, "process"), 2 * all)
        }
        Ends::Clients => (counted(key.load.conns, "client"), key.load.conns),
    };
    limits::too_few_open_files(&format!("a cell with {what}"), OPEN_FILES + more)
}

/// Why nobody can connect for a single request and get an answer of `size` bytes.
fn connect_objection(
    entry: &Entry,
    load: &Load,
    size: usize,
    options: &OptionSet,
) -> Result<Option<Missing>, OptionError> {
    let listener = match entry.listener(options)? {
        Ok((listener, _)) => listener,
        Err(missing) => return Ok(Some(missing)),
    };
    for (knob, _) in options.of(entry.spec.name) {
        if !connect::KNOBS.contains(&knob) {
            let what = format!("a connection for one request does not use the knob {knob}");
            return Ok(Some(Missing::new(what, "leave it out")));
        }
    }
    if load.nonblocking && listener == ListenerKind::Fifo {
        let what =
            "a client opens a FIFO, and an open that does not block would not wait for its server";
        return Ok(Some(Missing::new(what, "leave out --nonblocking")));
    }
    if matches!(listener, ListenerKind::Mptcp | ListenerKind::Sctp) {
        let what = "its connections are measured where they stay, and not one for each request";
        return Ok(Some(Missing::new(what, "-p serve, or tcp")));
    }
    if size < connect::SHORTEST {
        let what = format!("an answer that proves itself has at least {} bytes", connect::SHORTEST);
        return Ok(Some(Missing::new(what, "-s 18, or more")));
    }
    Ok(connect::probe(listener).err())
}

#[cfg(test)]
mod tests;

//! A host whose truth is known, so that conclusions can be checked against it. It is for tests: the feature `simulate`.
//!
//! Time is virtual up to where workers have left their samples in the page and reported their segments: times of operations,
//! the clock and what is read around a slice are drawn from a seed. Everything after that is the code of a run: the loop over
//! rounds, recorder and histograms, the detectors of clock, placement and throttling, assembly, findings, grade. The same
//! simulation gives the same document, byte by byte.

mod clock;
mod level;
mod machine;
mod service;

pub use clock::{ClockFault, VirtualClock};
pub use level::Level;
pub use service::{Service, Shape};

use crate::arrivals;
use crate::assemble::{RunFacts, document};
use crate::fit::Fit;
use crate::hot::{Recorder, Trip};
use crate::job::{Segment, SideReport};
use crate::page::Page;
use crate::plan::{CellPlan, ChannelPlaces};
use crate::registry::Entry;
use crate::run::{Arm, Around, CellRun, Findings, Measure, SliceRun, rounds};
use crate::slice::{Data, RawSlice};
use crate::slice_length;
use clock::Time;
use ipcperf_core::result::{CellKey, Invocation, Origin, Plan, ResultSet, Tool};
use ipcperf_core::{Arrivals, Exchange, Load, OptionSet, PatternKind, Placement};
use ipcperf_stats::Rng;
use ipcperf_sys::clock::Clock;
use ipcperf_sys::meter::Span;
use ipcperf_sys::procfs::Consumption;
use level::{LevelState, Moved};
use service::SimulatedOperations;
use std::convert::Infallible;
use std::time::Duration;

/// Operations that lead in a segment of a closed loop, which take three times as long as the others.
const LEAD_IN: u64 = 4;

/// Operations of a segment at the most.
const SEGMENT: u64 = 1 << 16;

/// What is to be simulated.
#[derive(Clone, Debug)]
pub struct Simulation {
    /// Of all that is drawn.
    pub seed: u64,
    /// When it began, UTC: what is half an hour apart is another session.
    pub started_utc: String,
    /// Rounds.
    pub rounds: u64,
    /// Operations of a slice.
    pub operations: u64,
    /// What passes from the timed region of one slice to that of the next.
    pub between: Duration,
    /// Cells of the plan.
    pub cells: Vec<Simulated>,
    /// What moves the slices of all cells.
    pub levels: Vec<Level>,
    /// The clock.
    pub clock: VirtualClock,
    /// What else happens, each to a share of the slices.
    pub faults: Vec<(Fault, f64)>,
    /// Share of all CPUs that other programs use in the pauses.
    pub busy: f64,
}

/// A cell whose truth is known.
#[derive(Clone, Debug)]
pub struct Simulated {
    /// Its identity: a ping-pong, a burst, or an open loop (`rate`).
    pub key: CellKey,
    /// How long its operations take.
    pub service: Service,
    /// What moves its slices and those of no other cell.
    pub levels: Vec<Level>,
    /// Open loop: time from one message to the next, ns, on average.
    pub every_ns: f64,
}

impl Simulated {
    /// A blocking ping-pong on two CPUs.
    #[must_use]
    pub fn new(mechanism: &str, size_bytes: u64, service: Service) -> Self {
        let key = CellKey {
            mechanism: mechanism.to_owned(),
            size_bytes,
            placement: Placement::SameLlc,
            cpus: vec![0, 1],
            ..CellKey::default()
        };
        Self { key, service, levels: Vec::new(), every_ns: 0.0 }
    }

    /// An open loop in which a message is due every so many ns, at random.
    #[must_use]
    pub fn open(mechanism: &str, service: Service, every_ns: f64) -> Self {
        let mut cell = Self { every_ns, ..Self::new(mechanism, 64, service) };
        cell.key.pattern = PatternKind::Rate;
        cell.key.load = Load {
            rate: Some(ipcperf_core::Offered::PerSecond(1e9 / every_ns)),
            arrivals: Some(Arrivals::Poisson),
            ..Load::default()
        };
        cell
    }

    fn plan(&self) -> CellPlan {
        CellPlan {
            id: self.key.words(&OptionSet::default()),
            key: self.key.clone(),
            entry: Entry::simulated(&machine::SPEC),
            wire: self.key.size(),
            ratio: 1.0,
            options: OptionSet::default(),
            window: 1,
            own: 0,
            channels: ChannelPlaces::default(),
            usual: None,
            objection: None,
        }
    }
}

/// What happens to a slice beside its times.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Fault {
    /// An end is found on another CPU than it was put on.
    Moved,
    /// The CPUs of both ends are one core of the host, as the cache line says.
    OneCore,
    /// The CPU limit of a control group stops it.
    Throttled,
    /// The CPUs of both ends take so many times as long for a calculation.
    Slow(f64),
    /// An end is ready but does not run for this share of the time, because other work does.
    Waiting(f64),
}

impl Default for Simulation {
    /// Nine rounds of no cells on a quiet host.
    fn default() -> Self {
        Self {
            seed: 1,
            started_utc: "2026-01-01T00:00:00Z".to_owned(),
            rounds: 9,
            operations: 1000,
            between: Duration::from_millis(28),
            cells: Vec::new(),
            levels: Vec::new(),
            clock: VirtualClock::default(),
            faults: Vec::new(),
            busy: 0.0,
        }
    }
}

impl Simulation {
    /// The document of the run.
    ///
    /// # Panics
    /// The process can have no page of memory.
    #[must_use]
    pub fn document(&self) -> ResultSet {
        let plan = Plan {
            command: "simulation".to_owned(),
            cells: self.cells.len() as u64,
            rounds: self.rounds,
            ..Plan::default()
        };
        let facts = RunFacts {
            started_utc: self.started_utc.clone(),
            tool: Tool { name: "ipcperf".to_owned(), ..Tool::default() },
            origin: Origin::default(),
            invocation: Invocation { argv: Vec::new(), seed: self.seed, plan },
        };
        document(self.findings(), facts, machine::machine())
    }

    /// What a run on this host finds.
    fn findings(&self) -> Findings {
        let mut host = SimulatedHost::new(self);
        let mut order = Rng::stream(self.seed, "order");
        let Ok(_) = rounds(&mut host, self.rounds, None, &mut order, &mut |_| ());
        host.finish()
    }
}

/// The host while it runs.
struct SimulatedHost<'a> {
    of: &'a Simulation,
    cells: Vec<CellRun>,
    rng: Rng,
    page: Page,
    time: Time,
    fit: Fit,
    bounds: crate::run::BoundReadings,
    /// What moves all cells, and each by itself.
    levels: Vec<LevelState>,
    own: Vec<Vec<LevelState>>,
    /// Median operation of each cell, ns.
    medians: Vec<f64>,
    done: u64,
    steal_ns: u64,
}

/// What both ends of a slice see.
struct SimulatedEnds {
    raw: RawSlice,
    /// Length of the timed region, ns.
    elapsed: f64,
}

impl Measure for SimulatedHost<'_> {
    type Error = Infallible;

    fn arms(&self) -> Vec<Arm<'_>> {
        self.cells.iter().map(Arm::from).collect()
    }

    fn measure(&mut self, arm: usize, round: u64, position: u64) -> Result<bool, Infallible> {
        let (slice, around) = self.slice(arm, [round, position]);
        self.cells[arm].keep(slice, around, &mut self.bounds);
        Ok(false)
    }
}

impl<'a> SimulatedHost<'a> {
    fn new(of: &'a Simulation) -> Self {
        let mut rng = Rng::stream(of.seed, "simulation");
        let mut time = Time::start(of.clock);
        let first = time.pair(&mut rng);
        time.now += 10e6;
        let fit = Fit::of(Clock::counter(), [first, time.pair(&mut rng)]);
        let mut bounds = machine::bounds(|nanos| time.ticks(nanos));
        bounds.clock[0] = machine::on_each_cpu(|| time.cost(false, &mut rng));
        let states = |levels: &[Level], rng: &mut Rng| -> Vec<LevelState> {
            levels.iter().map(|level| LevelState::new(*level, rng)).collect()
        };
        let levels = states(&of.levels, &mut rng);
        let own = of.cells.iter().map(|cell| states(&cell.levels, &mut rng)).collect();
        let medians = of.cells.iter().map(|cell| cell.service.quantile(0.5)).collect();
        // Open loops are one segment.
        let slots = 3 * of.operations.max(SEGMENT) + LEAD_IN;
        let page = Page::create(usize::try_from(slots).unwrap_or(usize::MAX)).expect("memory");
        let cells = of.cells.iter().map(|cell| CellRun::new(cell.plan())).collect();
        Self { of, cells, rng, page, time, fit, bounds, levels, own, medians, done: 0, steal_ns: 0 }
    }

    /// One slice of a cell.
    fn slice(&mut self, cell: usize, [round, order]: [u64; 2]) -> (SliceRun, Around) {
        let (of, at) = (self.of, self.done);
        self.done += 1;
        self.time.go_wrong(at);
        self.time.now += of.between.as_nanos() as f64;
        let over = at as f64 / (of.rounds * of.cells.len() as u64).max(1) as f64;
        let mut moved = Moved::default();
        for state in self.levels.iter_mut().chain(&mut self.own[cell]) {
            let one = state.next(&mut self.rng, over);
            moved.log += one.log;
            moved.stolen += one.stolen;
            if one.burst.0 > 0 {
                moved.burst = one.burst;
            }
        }
        let simulated = &of.cells[cell];
        let is_open = simulated.key.pattern == PatternKind::Rate;
        let SimulatedEnds { mut raw, elapsed } =
            if is_open { self.open(simulated, moved) } else { self.closed(cell, moved) };
        let mut cpus = simulated.key.cpus.clone();
        if round % 2 == 1 {
            cpus.reverse();
        }
        let mut around = Around { throttled: Some(0), ..Around::default() };
        self.report(&mut raw, at, &cpus, elapsed);
        // An end sleeps once for each burst.
        let burst = simulated.key.load.burst.max(1);
        raw.sides.iter_mut().for_each(|side| side.spent.voluntary_switches /= burst);
        self.go_wrong(&mut raw, &mut around, elapsed);
        let stolen = (moved.stolen * elapsed) as u64;
        self.steal_ns += stolen;
        around.steal_ns = Some(stolen);
        let now = self.time.pair(&mut self.rng);
        around.jumped = self.fit.push(now);
        let nonce = self.rng.next_u64();
        let planned = Some(raw.elapsed);
        let (rejected, steal_ns) = (None, None);
        (SliceRun { round, order, cpus, nonce, raw, rejected, steal_ns, planned }, around)
    }

    /// A closed loop, in segments.
    fn closed(&mut self, cell: usize, moved: Moved) -> SimulatedEnds {
        let (began, overhead) = (self.time.now, self.bounds.overhead());
        let (median, cell) = (self.medians[cell], &self.of.cells[cell]);
        let mut operations = SimulatedOperations::new(&cell.service, &mut self.rng);
        let factor = moved.log.exp();
        let median = self.time.ticks(median * factor + self.time.clock.cost_ns);
        let batch = slice_length::batch(median as u64, overhead);
        let mut raw = RawSlice::of(Data::Trips(Box::default()));
        let mut left = self.of.operations.div_ceil(batch).max(1);
        let (mut first, (mut burst, times)) = (1, moved.burst);
        while left > 0 {
            let counted = left.min(SEGMENT);
            left -= counted;
            let samples = counted + LEAD_IN;
            let mut recorder = Recorder::new(self.page.slots());
            let begin = self.time.ticks_at(self.time.now);
            for sample in 0..samples {
                let mut slow = factor;
                if sample < LEAD_IN {
                    slow *= 3.0;
                } else if burst > 0 {
                    (slow, burst) = (slow * times, burst - 1);
                }
                let from = self.time.ticks_at(self.time.now);
                for _ in 0..batch {
                    self.time.now += operations.next(&mut self.rng) * slow;
                }
                self.time.now += self.time.clock.cost_ns;
                recorder.record(self.time.ticks_at(self.time.now).saturating_sub(from));
            }
            let sent = samples * batch * cell.key.load.burst.max(1);
            let is_answered = cell.key.pattern.facts().exchange == Exchange::RoundTrip;
            let lead = Segment {
                sent,
                received: if is_answered { sent } else { 0 },
                begin,
                end: self.time.ticks_at(self.time.now),
                samples,
                batch,
                lead_in: LEAD_IN,
                spills: recorder.spills().to_vec(),
                first,
                ..Segment::default()
            };
            first += samples * batch;
            let follow =
                Segment { sent: lead.received, received: sent, spills: Vec::new(), ..lead.clone() };
            raw.fold_all(&cell.key, &self.page, [vec![lead], vec![follow]]);
        }
        SimulatedEnds { raw, elapsed: self.time.now - began }
    }

    /// An open loop: messages that find another one before them wait for it at the sender.
    fn open(&mut self, cell: &Simulated, moved: Moved) -> SimulatedEnds {
        let began = self.time.now;
        let mut operations = SimulatedOperations::new(&cell.service, &mut self.rng);
        let count = self.of.operations;
        let every = self.time.ticks(cell.every_ns);
        let due = arrivals::schedule(Arrivals::Poisson, count, every, &mut self.rng);
        let mut recorder = Recorder::new(self.page.slots());
        let mut end = 0;
        for due in &due {
            let service = operations.next(&mut self.rng) * moved.log.exp();
            let service = self.time.ticks(service + self.time.clock.cost_ns) as u64;
            let start = end.max(*due);
            let trip = Trip { service, late: start - due, free: end <= *due };
            trip.kept().into_iter().for_each(|slot| recorder.record(slot));
            end = start + service;
        }
        let begin = self.time.ticks_at(began);
        let last = due.last().copied().unwrap_or(0);
        let lead = Segment {
            sent: count,
            received: count,
            begin,
            end: begin + end,
            due: last,
            samples: recorder.len(),
            batch: 1,
            spills: recorder.spills().to_vec(),
            first: 1,
            ..Segment::default()
        };
        let follow = Segment { spills: Vec::new(), ..lead.clone() };
        let mut raw = RawSlice::of(Data::Trips(Box::default()));
        raw.fold_all(&cell.key, &self.page, [vec![lead], vec![follow]]);
        self.time.now += end as f64 / self.time.ticks(1.0);
        SimulatedEnds { raw, elapsed: self.time.now - began }
    }

    /// What both ends report of themselves.
    fn report(&mut self, raw: &mut RawSlice, at: u64, cpus: &[usize], elapsed: f64) {
        let line = |rng: &mut Rng| machine::CACHE_LINE_NS * (0.03 * rng.normal()).exp();
        let lines = [line(&mut self.rng), line(&mut self.rng)];
        let lines = lines.map(|nanos| Some(self.time.ticks(nanos)));
        for (index, side) in raw.sides.iter_mut().enumerate() {
            let cpu = cpus.get(index).copied().unwrap_or(index);
            *side = SideReport {
                pid: u32::try_from(1000 + 2 * at).unwrap_or(1000) + index as u32,
                spent: Consumption {
                    cpu_ns: (0.5 * elapsed) as u64,
                    user_ns: (0.1 * elapsed) as u64,
                    system_ns: (0.4 * elapsed) as u64,
                    voluntary_switches: raw.counts[index].sent.max(raw.counts[index].received),
                    ..Consumption::default()
                },
                migrations: Some(0),
                run_delay_ns: Some(0),
                cpu,
                allowed: Some(vec![cpu]),
                verified: 16,
                step: [Some(self.time.ticks(machine::STEP_NS)); 2],
                ..SideReport::default()
            };
        }
        let [lead, _] = &mut raw.sides;
        lead.cacheline = lines;
        lead.ipis = Some(raw.counts[0].sent);
        let busy_ns = Some(elapsed as u64);
        lead.machine = Span { window_ns: elapsed as u64, busy_ns, energy_uj: None };
    }

    /// Lets happen what shall happen to this slice.
    fn go_wrong(&mut self, raw: &mut RawSlice, around: &mut Around, elapsed: f64) {
        for (fault, share) in &self.of.faults {
            if self.rng.unit() >= *share {
                continue;
            }
            let [lead, follow] = &mut raw.sides;
            match fault {
                Fault::Moved => (follow.cpu, follow.migrations) = (lead.cpu, Some(1)),
                Fault::OneCore => {
                    lead.cacheline[1] = Some(self.time.ticks(machine::ONE_CORE_NS));
                }
                Fault::Throttled => around.throttled = Some(2),
                Fault::Slow(times) => {
                    for side in [lead, follow] {
                        side.step = side.step.map(|ticks| ticks.map(|ticks| ticks * times));
                    }
                }
                Fault::Waiting(share) => follow.run_delay_ns = Some((share * elapsed) as u64),
            }
        }
    }

    fn finish(mut self) -> Findings {
        self.bounds.clock[1] = machine::on_each_cpu(|| self.time.cost(true, &mut self.rng));
        let pauses = Duration::from_millis(200 * self.of.rounds).as_nanos() as u64;
        let busy = self.of.busy * machine::CPUS as f64 * pauses as f64;
        Findings {
            cells: self.cells,
            pipelines: Vec::new(),
            questions: Vec::new(),
            stages: Vec::new(),
            spreads: Vec::new(),
            clock: Clock::counter(),
            fallback: None,
            duration: Duration::from_nanos((self.time.now - 3.6e12) as u64),
            fit: self.fit,
            bounds: self.bounds,
            interrupted: false,
            steal_ns: Some(self.steal_ns),
            idle: Span { window_ns: pauses, busy_ns: Some(busy as u64), energy_uj: None },
            pauses: self.of.rounds,
            stood: Duration::ZERO,
            suspended: Duration::ZERO,
            reaped: Vec::new(),
        }
    }
}

//! Result sets for tests, built in a few words.

use ipcperf_core::options::KnobValue;
use ipcperf_core::result::*;
use ipcperf_core::{
    Arrivals, BackPressure, Direction, Family, Idle, Load, Offered, OnClose, OnRestart,
    PatternKind, Payload, Peers, Placement, Reach, Spec, Syscalls, Wait,
};
use std::collections::BTreeMap;

pub mod requests;

pub use requests::{connections, served};

/// Two CPUs that share a cache.
pub const TWO: Placement = Placement::SameLlc;
/// One CPU.
pub const ONE: Placement = Placement::SameCpu;

const PIPE: Spec = Spec {
    name: "pipe",
    family: Family::Stream,
    summary: "Two anonymous pipes, one for each direction.",
    manual: &["pipe(7)", "pipe(2)"],
    pitfalls: &["Writes above PIPE_BUF (4096 bytes) may interleave with those of other writers."],
    payload: Payload::Stream,
    producers: Peers::Many,
    consumers: Peers::Many,
    back_pressure: BackPressure::Blocks,
    on_close: OnClose::Told,
    on_death: OnClose::Told,
    copies: 2,
    syscalls: Syscalls { send: Some(1.0), recv: Some(1.0) },
    ..Spec::NOTHING
};

/// The facts of the sample mechanisms.
pub static SPECS: &[Spec] = &[
    Spec {
        name: "null",
        family: Family::Floor,
        summary: "Moves nothing.",
        payload: Payload::Wake { word: 0 },
        copies: 0,
        syscalls: Syscalls { send: Some(0.0), recv: Some(0.0) },
        back_pressure: BackPressure::None,
        pitfalls: &[],
        ..PIPE
    },
    PIPE,
    Spec {
        variant: Some("spin"),
        wait: Wait::Spin,
        default: false,
        syscalls: Syscalls { send: Some(1.0), recv: None },
        ..PIPE
    },
    Spec { variant: Some("epoll"), wait: Wait::Epoll, default: false, ..PIPE },
    Spec { name: "fifo", reach: Reach::Named, on_restart: OnRestart::GoesOn, ..PIPE },
    Spec { name: "unix-stream", direction: Direction::TwoWay, ..PIPE },
    Spec {
        name: "tcp",
        direction: Direction::TwoWay,
        reach: Reach::Network,
        on_restart: OnRestart::Reopens,
        ..PIPE
    },
    Spec {
        name: "posix-mq",
        family: Family::Queue,
        reach: Reach::Named,
        on_restart: OnRestart::GoesOn,
        payload: Payload::Message { max: None },
        needs: &["CONFIG_POSIX_MQUEUE"],
        ..PIPE
    },
    Spec {
        name: "eventfd",
        family: Family::WakeUp,
        payload: Payload::Wake { word: 8 },
        back_pressure: BackPressure::Merges,
        window: Some(1),
        ..PIPE
    },
    Spec { name: "futex", family: Family::WakeUp, payload: Payload::Wake { word: 4 }, ..PIPE },
    Spec {
        name: "shm-ring",
        variant: Some("spin"),
        family: Family::SharedMemory,
        wait: Wait::Spin,
        default: false,
        payload: Payload::Message { max: None },
        producers: Peers::One,
        consumers: Peers::One,
        on_death: OnClose::Undetected,
        copies: 0,
        syscalls: Syscalls { send: Some(0.0), recv: None },
        ..PIPE
    },
    Spec {
        name: "shm-ring",
        variant: Some("futex"),
        family: Family::SharedMemory,
        wait: Wait::SpinThenBlock,
        payload: Payload::Message { max: None },
        copies: 0,
        ..PIPE
    },
];

/// A document as a comparison reads it.
pub fn recorded(name: &str, set: &ResultSet) -> crate::Recorded {
    let text = serde_json::to_string(set).expect("a document is JSON");
    crate::Recorded::read(name, &text).expect("what is written is read")
}

/// The facts of a sample mechanism.
pub fn spec(name: &str) -> Option<&'static Spec> {
    SPECS.iter().find(|spec| spec.full_name() == name)
}

/// A ping-pong cell without figures.
pub fn cell(mechanism: &str, size_bytes: u64, placement: Placement) -> Cell {
    let key = CellKey {
        mechanism: mechanism.to_owned(),
        wait: spec(mechanism).map_or(Wait::Block, |spec| spec.wait),
        size_bytes,
        placement,
        cpus: match placement {
            place if place.is_free() => vec![],
            Placement::SameCpu => vec![0, 0],
            named => named.named().unwrap_or([0, 1]).to_vec(),
        },
        ..CellKey::default()
    };
    Cell {
        id: format!("{mechanism} ping-pong {size_bytes}B {placement}"),
        key,
        status: Status::Ok,
        messages: 20_000,
        verified: true,
        syscalls_per_message: Some(2.0),
        context_switches_per_message: Some(1.0),
        voluntary_switches_per_message: Some(1.0),
        involuntary_switches_per_message: Some(0.0),
        page_faults_per_message: Some(0.0),
        ..Cell::default()
    }
}

/// Messages of a slice in the fixtures: enough for a cost of a nanosecond to be a whole number.
const MESSAGES: u64 = 1_000_000;

/// Rounds of a cell in the fixtures.
const ROUNDS: usize = 9;

/// Nine rounds whose 95 % interval is `half` to both sides of `value`: the second to the eighth of their order. Cells of
/// different names scatter differently.
fn rounds(cell: &Cell, value: f64, half: f64) -> [f64; ROUNDS] {
    const SCATTER: [f64; ROUNDS] = [0.0, -1.0, 0.5, 1.0, -0.8, -1.3, 0.8, 1.3, -0.5];
    let name = crate::label::label(cell);
    let turn = name.bytes().fold(0, |sum, byte| (7 * sum + usize::from(byte)) % ROUNDS);
    std::array::from_fn(|at| value + half * SCATTER[(at * (1 + turn / 5) + turn) % ROUNDS])
}

/// A slice without any figure.
fn slice(round: usize, messages: u64) -> Round {
    Round {
        stage: None,
        round: round as u64,
        order: 0,
        rejected: None,
        cpus: vec![0, 1],
        messages,
        moved: None,
        unanswered: 0,
        planned_ns: None,
        bytes: 0,
        lost: 0,
        events: BTreeMap::new(),
        elapsed_ns: 1e8,
        p50_ns: None,
        mean_ns: None,
        messages_per_second: None,
        offered_per_second: None,
        achieved_per_second: None,
        saturated: false,
        channels: None,
        fan: None,
        feed: None,
        program: None,
        standstill: None,
        neighbour: None,
        histogram: None,
        cpu_ns: SideCpu::default(),
        covariates: Covariates::default(),
        proof: Proof { nonce: "1f".to_owned(), holds: true, ..Proof::default() },
    }
}

/// A figure with an interval of `half` to both sides.
pub fn metric(value: f64, half: f64) -> Metric {
    Metric {
        value: Some(value),
        ci95: Some([value - half, value + half]),
        method: Some("rounds".to_owned()),
        ..Metric::default()
    }
}

/// What a test says about a cell.
pub trait Build {
    /// Median round trip and half its interval, ns; the tail follows from it.
    fn rtt(self, p50: f64, half: f64) -> Self;
    /// A stream of this many bytes per second, and half its interval.
    fn rate(self, bytes_per_second: f64, half: f64) -> Self;
    /// An open loop of so many messages per second; what it takes is what `rtt` says.
    fn open_loop(self, per_second: f64) -> Self;
    /// With this CPU time for each message, ns.
    fn cpu(self, nanos: f64) -> Self;
    /// Rounds with these median round trips.
    fn of_rounds(self, values: &[f64]) -> Self;
    /// With rounds in two modes, each with its number of rounds.
    fn modes(self, modes: [(f64, u64); 2]) -> Self;
    /// Under this idle policy.
    fn idle(self, idle: Idle) -> Self;
    /// With a knob, as asked for and as granted.
    fn knob(self, name: &str, requested: Option<u64>, effective: u64) -> Self;
    /// With a knob that has a word as its value.
    fn word(self, name: &str, word: &str) -> Self;
    /// Without figures, for this reason.
    fn not_ok(self, status: Status, reason: &str) -> Self;
    /// Next to a limit of the machine.
    fn bound(self, name: &str, value: f64, ratio: f64) -> Self;
    /// With one round.
    fn with_round(self) -> Self;
}

impl Build for Cell {
    fn rtt(mut self, p50: f64, half: f64) -> Self {
        let tail = |factor: f64| Metric {
            value: Some(p50 * factor),
            method: Some("merged".to_owned()),
            ..Metric::default()
        };
        let quantiles = [
            ("min", tail(0.8)),
            ("p50", metric(p50, half)),
            ("mean", metric(p50 * 1.05, half)),
            ("p90", tail(1.1)),
            ("p99", tail(1.5)),
            ("p99.9", Metric::missing("needs 20000 samples, has 10000")),
            ("max", tail(20.0)),
        ];
        self.rtt_ns = Some(quantiles.map(|(name, metric)| (name.to_owned(), metric)).into());
        let values = rounds(&self, p50, half);
        self.of_rounds(&values).cpu(p50 / 4.0)
    }

    fn rate(mut self, bytes_per_second: f64, half: f64) -> Self {
        self.key.pattern = PatternKind::Stream;
        self.id = self.id.replace("ping-pong", "stream");
        let size = self.key.size_bytes.max(1) as f64;
        self.bytes_per_second = Some(metric(bytes_per_second, half));
        self.messages_per_second = Some(metric(bytes_per_second / size, half / size));
        self.rounds = (0..ROUNDS).map(|round| slice(round, MESSAGES)).collect();
        let rates = rounds(&self, bytes_per_second / size, half / size);
        self.rounds.iter_mut().zip(rates).for_each(|(round, rate)| {
            round.messages_per_second = Some(rate);
        });
        self.cpu(2e9 * size / bytes_per_second)
    }

    fn open_loop(mut self, per_second: f64) -> Self {
        self.key.pattern = PatternKind::Rate;
        self.id = self.id.replace("ping-pong", "rate");
        self.key.load = Load {
            rate: Some(Offered::PerSecond(per_second)),
            arrivals: Some(Arrivals::Poisson),
            ..Load::default()
        };
        self.service_ns = self.rtt_ns.clone();
        self.pacing_ns = Some([("p99".to_owned(), metric(900.0, 10.0))].into());
        self.offered_per_second = Some(metric(per_second, 0.0));
        self.achieved_per_second = Some(metric(per_second * 0.999, 1.0));
        self.peak_per_second = Some(metric(14_000.0, 100.0));
        self
    }

    fn cpu(mut self, nanos: f64) -> Self {
        self.cpu_ns_per_message = Some(CpuCost {
            total: Some(nanos),
            lead: nanos / 2.0,
            follow: nanos / 2.0,
            user: nanos * 0.2,
            system: nanos * 0.8,
            ci95: Some([nanos * 0.99, nanos * 1.01]),
            split_is_approximate: true,
            excludes_hypervisor: true,
            spinning: self.key.wait.burns_cpu(),
        });
        self.machine_cpu_ns_per_message = Some(Metric {
            value: Some(nanos * 1.2),
            method: Some("/proc/stat less idle baseline".to_owned()),
            ..Metric::default()
        });
        self.energy_nj_per_message = Some(Metric::missing("the kernel shows no energy counters"));
        let costs = rounds(&self, nanos, nanos * 0.01);
        for (round, cost) in self.rounds.iter_mut().zip(costs.into_iter().cycle()) {
            let both = (cost * round.messages as f64) as u64;
            round.cpu_ns =
                SideCpu { lead: both / 2, follow: both - both / 2, ..SideCpu::default() };
        }
        self
    }

    fn of_rounds(mut self, values: &[f64]) -> Self {
        let round =
            |(at, value): (usize, &f64)| Round { p50_ns: Some(*value), ..slice(at, MESSAGES) };
        self.rounds = values.iter().enumerate().map(round).collect();
        self
    }

    fn modes(mut self, modes: [(f64, u64); 2]) -> Self {
        self = self.rtt(modes[0].0, modes[0].0 / 100.0);
        let metric = self.rtt_ns.as_mut().and_then(|rtt| rtt.get_mut("p50")).expect("a median");
        metric.modes = modes.map(|(value, rounds)| Mode { value, rounds }).into();
        let mode = |(value, rounds): (f64, u64)| (0..rounds).map(move |_| value);
        let values: Vec<f64> = modes.into_iter().flat_map(mode).collect();
        self.of_rounds(&values).cpu(modes[0].0 / 4.0)
    }

    fn idle(mut self, idle: Idle) -> Self {
        self.key.idle = idle;
        self
    }

    fn knob(mut self, name: &str, requested: Option<u64>, effective: u64) -> Self {
        let requested = requested.map(KnobValue::Number);
        let effective = Some(KnobValue::Number(effective));
        self.knobs.insert(name.to_owned(), KnobReading { requested, effective, shortage: None });
        self
    }

    fn word(mut self, name: &str, word: &str) -> Self {
        let word = Some(KnobValue::Word(word.to_owned()));
        let reading = KnobReading { requested: word.clone(), effective: word, shortage: None };
        self.knobs.insert(name.to_owned(), reading);
        self
    }

    fn not_ok(mut self, status: Status, reason: &str) -> Self {
        self.status = status;
        self.reason = Some(reason.to_owned());
        self
    }

    fn bound(mut self, name: &str, value: f64, ratio: f64) -> Self {
        self.bound = Some(BoundRatio { name: name.to_owned(), value, ratio });
        self
    }

    fn with_round(mut self) -> Self {
        self.timing = Some(Timing { mode: "per-op".to_owned(), batch: 1 });
        let rejected = Round {
            order: 3,
            rejected: Some("moved".to_owned().into()),
            moved: Some(20_008),
            bytes: 1_280_000,
            unanswered: 1,
            planned_ns: Some(1e8),
            p50_ns: Some(71_500.0),
            mean_ns: Some(73_000.0),
            messages_per_second: Some(28_000.0),
            offered_per_second: Some(10_000.0),
            achieved_per_second: Some(9_990.0),
            saturated: true,
            histogram: Some(HistogramData {
                min: 60_000_000,
                max: 60_000_000,
                sum: 120_000_000,
                buckets: Buckets::new([(59_998_208, 2)]).expect("a bucket"),
            }),
            cpu_ns: SideCpu { lead: 1, follow: 2, user: 1, system: 2 },
            ..slice(self.rounds.len(), 20_000)
        };
        self.rounds.insert(0, rejected);
        self
    }
}

/// A text without its colour sequences.
pub fn without_colour(text: &str) -> String {
    let mut plain = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("\u{1b}[") {
        plain.push_str(before);
        rest = after.split_once('m').expect("a closed sequence").1;
    }
    plain + rest
}

/// A finding about the whole run.
pub fn finding(code: &str, severity: Severity, text: &str) -> Finding {
    Finding {
        code: code.to_owned(),
        severity,
        text: text.to_owned(),
        value: Some(0.4),
        limit: Some(0.1),
        cells: Vec::new(),
        remedy: "use a quiet machine".to_owned(),
    }
}

/// A survey of these cells on a virtual machine with two CPUs.
pub fn set(cells: Vec<Cell>) -> ResultSet {
    let reading = ClockReading { cpu: 0, min_ns: 12.0, ..ClockReading::default() };
    let spread = Spread { min: 1.0, median: 2.0, max: 3.0, n: 5 };
    ResultSet {
        schema: SCHEMA.to_owned(),
        origin: Origin::default(),
        started_utc: "2026-08-21T10:00:00Z".to_owned(),
        duration_s: 58.1,
        interrupted: false,
        tool: Tool {
            name: "ipcperf".to_owned(),
            version: "0.1.0".to_owned(),
            build: [("profile".to_owned(), "release".to_owned())].into(),
        },
        invocation: Invocation {
            argv: vec!["ipcperf".to_owned()],
            seed: 1,
            plan: Plan {
                command: "survey".to_owned(),
                cells: cells.len() as u64,
                rounds: 5,
                slice_ms: 100.0,
                warmup_ms: 10.0,
                expected_s: 60.0,
                ..Plan::default()
            },
        },
        host: Host {
            arch: "x86_64".to_owned(),
            cpu_model: "Example CPU @ 2.10GHz".to_owned(),
            cpus_online: vec![0, 1],
            cpus_allowed: vec![0, 1],
            cores: 2,
            last_level_caches: 1,
            nodes: 1,
            memory_bytes: 8 << 30,
            hypervisor: Some("kvm".to_owned()),
            ..Host::default()
        },
        kernel: Kernel {
            release: "6.18.5".to_owned(),
            version: "#1 SMP".to_owned(),
            mitigations: [("spectre_v2".to_owned(), "Mitigation: IBRS".to_owned())].into(),
            sysctl: [("fs.pipe-max-size".to_owned(), "1048576".to_owned())].into(),
            cpu_accounting: "tick".to_owned(),
            preemption: Some("full".to_owned()),
            sched_ext: Some("disabled".to_owned()),
            autogroup: Some(true),
            sched_features: [("HRTICK".to_owned(), false)].into(),
            hz: Some(250),
            shmem_huge_pages: Some("never".to_owned()),
            ..Kernel::default()
        },
        clock: ClockFacts {
            source: "tsc".to_owned(),
            fallback_reason: Some("none".to_owned()),
            ticks_per_second: 2.1e9,
            worst_residual_ns: 40.0,
            before: vec![reading.clone()],
            after: vec![reading],
        },
        bounds: Bounds {
            null_syscall_ns: Some(spread.clone()),
            memcpy: vec![CopyBandwidth {
                size_bytes: 64,
                bytes_per_second: 8e9,
                half_bytes_per_second: Some(9e9),
            }],
            pairs: vec![PairBounds {
                placement: "same-llc".to_owned(),
                cpus: vec![0, 1],
                cacheline_rtt_ns: Some(spread.clone()),
                cacheline_modes: vec![Mode { value: 2.0, rounds: 5 }],
                futex_wake_rtt_ns: Some(spread),
                futex_wake_rtt_idle_poll_ns: None,
            }],
            return_after_switch_ns: None,
            return_after_call_ns: None,
            plugin_call_ns: None,
        },
        noise: Noise {
            grade: "B".to_owned(),
            machine: Vec::new(),
            causes: vec!["steal 0.4 %".to_owned()],
            unread: Vec::new(),
            findings: vec![finding("W-STEAL", Severity::Warning, "0.4 % of the time was stolen.")],
            idle_busy_cpus: Some(0.02),
            idle_watts: None,
        },
        cells,
        plugins: Vec::new(),
        scaling: Vec::new(),
        pipelines: Vec::new(),
        questions: Vec::new(),
    }
}

/// Three mechanisms, two of them tied, one missing.
pub fn small() -> ResultSet {
    set(vec![
        cell("pipe", 64, TWO).rtt(71_480.0, 1200.0),
        cell("fifo", 64, TWO).rtt(72_100.0, 1500.0),
        cell("tcp", 64, TWO).rtt(95_000.0, 900.0),
        cell("posix-mq", 64, TWO)
            .not_ok(Status::Unavailable, "no POSIX message queues in this kernel"),
    ])
}

/// Everything a survey of a small machine finds, in cells of every kind.
pub fn survey() -> ResultSet {
    let refused = "a spinning pair on one CPU waits for the scheduler and measures its time slice";
    let mut cells = small().cells;
    cells[0] = cells[0].clone().with_round().bound("futex_wake_rtt_ns", 60_000.0, 1.19);
    cells.extend([
        cell("pipe", 64, TWO).rtt(4_200.0, 60.0).idle(Idle::Poll),
        cell("pipe", 64, ONE).rtt(6_310.0, 40.0),
        cell("fifo", 64, ONE).rtt(6_350.0, 40.0),
        cell("tcp", 64, ONE).rtt(16_900.0, 150.0),
        cell("unix-stream", 64, TWO).rtt(75_900.0, 400.0),
        cell("unix-stream", 64, TWO).rtt(79_000.0, 400.0).word("unix-stream.bind", "path"),
        cell("shm-ring/futex", 64, TWO).modes([(58_000.0, 7), (1_900.0, 2)]),
        cell("pipe", 4096, TWO).rtt(73_000.0, 900.0),
        cell("tcp", 4096, TWO).rtt(99_000.0, 900.0).knob("tcp.sndbuf", Some(65_536), 131_072),
        cell("eventfd", 0, TWO).rtt(70_000.0, 900.0),
        cell("futex", 0, TWO).rtt(66_000.0, 300.0),
        cell("null", 0, TWO).rtt(21.0, 0.1),
        cell("pipe/spin", 64, TWO).rtt(2_110.0, 30.0).bound("cacheline_rtt_ns", 130.0, 16.2),
        cell("shm-ring/spin", 64, TWO).rtt(210.0, 3.0).bound("cacheline_rtt_ns", 130.0, 1.62),
        cell("pipe/spin", 64, ONE).not_ok(Status::Rejected, refused),
        cell("shm-ring/spin", 64, ONE).not_ok(Status::Rejected, refused),
        cell("pipe", 1 << 20, TWO).rate(1.39e9, 2e7).bound("memcpy", 8.4e9, 0.165),
        cell("tcp", 1 << 20, TWO).rate(2.81e9, 4e7),
        cell("unix-stream", 1 << 20, TWO).rate(2.60e9, 4e7),
        cell("shm-ring/spin", 1 << 20, TWO).rate(7.9e9, 1e8),
    ]);
    set(cells)
}

/// The same document by a program that did not know how the kernel schedules.
pub fn without_scheduling(mut set: ResultSet) -> ResultSet {
    let Kernel { release, version, mitigations, sysctl, quotas, cpu_accounting, .. } = set.kernel;
    let known = Kernel {
        release,
        version,
        mitigations,
        sysctl,
        quotas,
        cpu_accounting,
        ..Kernel::default()
    };
    set.kernel = known;
    set
}

//! Faults that can be planted: in the ports of a cell, beside its workers, or where a reading is taken.

use ipcperf_core::Seat;
use ipcperf_engine::inject::{Effect, Injection, Service};
use ipcperf_engine::run::SliceRun;
use ipcperf_sys::{affinity, procfs};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{JoinHandle, sleep, spawn};
use std::time::{Duration, Instant};

/// Something that goes wrong on purpose.
#[derive(Clone, Copy, Debug)]
pub(super) struct Injector {
    /// By which it is asked for.
    pub(super) name: &'static str,
    pub(super) does: Does,
}

/// Where it goes wrong.
#[derive(Clone, Copy, Debug)]
pub(super) enum Does {
    /// In the port of one end.
    Port(Injection),
    /// In the ports of both ends, with every message.
    Ports(Effect),
    /// In the port of the lead: every message of this round takes so many ns.
    Round(fn(u64) -> u64),
    /// The workers are let off their CPUs from outside.
    Unpin,
    /// A CPU of the workers is busy for this share of the time, percent.
    Hog(u64),
    /// Where a slice is read.
    Slice(fn(&mut SliceRun)),
    /// The end of an operation of the timer's own checks is read so many ns late.
    Late(f64),
    /// Where the clock is read beside `CLOCK_MONOTONIC_RAW`: the reading of this number, as (ticks, ns).
    Pair(fn(u64, (u64, u64)) -> (u64, u64)),
    /// Where the clock is read again and again: the reading of this number, ticks.
    Clock(fn(u64, u64) -> u64),
}

/// A message in the warm-up: after the verification, and before anything is timed.
const EARLY: u64 = 20;

/// The unit of service times, ns: what lies between two of them, clock and loop, is about 0.2 us.
pub(super) const UNIT_NS: u64 = 50_000;

impl Does {
    /// What goes wrong in the ports of a cell in this round.
    pub(super) fn injections(self, round: u64) -> Vec<Injection> {
        match self {
            Self::Port(injection) => vec![injection],
            Self::Ports(effect) => {
                Seat::BOTH.iter().map(|seat| Injection::always(*seat, effect, 0)).collect()
            }
            Self::Round(ns) => {
                vec![Injection::always(Seat::Lead, Effect::Serve(Service::Constant), ns(round))]
            }
            Self::Unpin
            | Self::Hog(_)
            | Self::Slice(_)
            | Self::Late(_)
            | Self::Pair(_)
            | Self::Clock(_) => Vec::new(),
        }
    }
}

impl Injector {
    /// With every message of the lead.
    pub(super) const fn always(name: &'static str, effect: Effect, amount: u64) -> Self {
        Self { name, does: Does::Port(Injection::always(Seat::Lead, effect, amount)) }
    }

    /// With one message, in the warm-up.
    const fn once(name: &'static str, seat: Seat, effect: Effect, amount: u64) -> Self {
        Self { name, does: Does::Port(Injection::once(seat, effect, amount, EARLY)) }
    }

    /// Round trips take times of this distribution.
    pub(super) const fn serving(name: &'static str, service: Service) -> Self {
        Self::always(name, Effect::Serve(service), UNIT_NS)
    }
}

pub(super) const CORRUPT: Injector = Injector::once("corrupt", Seat::Lead, Effect::Corrupt, 0);
/// In the verification, where every byte counts.
pub(super) const CORRUPT_BYTE: Injector = Injector {
    name: "corrupt-byte",
    does: Does::Port(Injection::once(Seat::Follow, Effect::Corrupt, u64::MAX, 9)),
};
pub(super) const DROP: Injector = Injector::once("drop", Seat::Lead, Effect::Drop, 0);
pub(super) const DUPLICATE: Injector =
    Injector::once("duplicate", Seat::Lead, Effect::Duplicate, 0);
pub(super) const REORDER: Injector = Injector::once("reorder", Seat::Lead, Effect::Reorder, 0);
pub(super) const STALE: Injector = Injector::once("stale", Seat::Lead, Effect::Stale, 0);
pub(super) const TRUNCATE: Injector = Injector::once("truncate", Seat::Lead, Effect::Truncate, 0);
/// For longer than anybody waits.
pub(super) const STALL: Injector =
    Injector::once("stall", Seat::Follow, Effect::Stall, 600_000_000_000);
pub(super) const DIE: Injector = Injector::once("die", Seat::Follow, Effect::Die, 0);
pub(super) const PRETEND: Injector =
    Injector { name: "pretend", does: Does::Ports(Effect::Pretend) };
pub(super) const LOSE: Injector = Injector {
    name: "lose",
    does: Does::Port(Injection {
        every: 50,
        ..Injection::once(Seat::Lead, Effect::Drop, 0, EARLY)
    }),
};
pub(super) const ALLOCATE: Injector = Injector::always("allocate", Effect::Allocate, 0);
pub(super) const CALL: Injector = Injector::always("call", Effect::Call, 0);
pub(super) const DELAY: Injector = Injector::always("delay", Effect::Delay, UNIT_NS);
pub(super) const SLOWER: Injector = Injector::always("slower", Effect::DelayShare, 50);
pub(super) const TWO_KINDS: Injector = Injector::serving("two-kinds", Service::Bimodal);
pub(super) const TWO_STATES: Injector =
    Injector { name: "two-states", does: Does::Round(|round| UNIT_NS * (1 + round % 2)) };
/// By 5 % in each round.
pub(super) const DRIFT: Injector =
    Injector { name: "drift", does: Does::Round(|round| UNIT_NS * (20 + round) / 20) };
pub(super) const LATE: Injector = Injector { name: "late", does: Does::Late(1000.0) };
pub(super) const UNPIN: Injector = Injector { name: "unpin", does: Does::Unpin };
pub(super) const HOG: Injector = Injector { name: "hog", does: Does::Hog(50) };
pub(super) const FAR: Injector = Injector {
    name: "far",
    does: Does::Slice(|slice| {
        let lines = &mut slice.raw.sides[0].cacheline;
        *lines =
            lines.map(|line| line.map(|ticks| if slice.round == 2 { 3.0 * ticks } else { ticks }));
    }),
};
/// By a fifth in every other round.
pub(super) const SLOW_CPU: Injector = Injector {
    name: "slow-cpu",
    does: Does::Slice(|slice| {
        let times = if slice.round.is_multiple_of(2) { 1.0 } else { 1.2 };
        for side in &mut slice.raw.sides {
            side.step = side.step.map(|step| step.map(|ticks| times * ticks));
        }
    }),
};
/// 5 ms, once.
pub(super) const CLOCK_JUMP: Injector = Injector {
    name: "clock-jump",
    does: Does::Pair(|at, (ticks, ns)| (ticks, if at >= 5 { ns + 5_000_000 } else { ns })),
};
/// 200 ppm of the ns of a reading, from one on.
pub(super) const CLOCK_DRIFT: Injector = Injector {
    name: "clock-drift",
    does: Does::Pair(|at, (ticks, ns)| {
        (ticks, ns + 200 * at.saturating_sub(5) * 60_000_000 / 1_000_000)
    }),
};
pub(super) const CLOCK_BACK: Injector = Injector {
    name: "clock-back",
    does: Does::Clock(
        |at, ticks| if at % 1000 == 999 { ticks.saturating_sub(1_000_000) } else { ticks },
    ),
};

/// What goes wrong beside the workers for as long as this lives.
pub(super) struct Disturbance {
    is_over: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
}

impl Disturbance {
    /// Lets it go wrong; the workers use these CPUs.
    pub(super) fn start(injectors: &[Injector], cpus: &[usize]) -> Self {
        let is_over = Arc::new(AtomicBool::new(false));
        let thread = |injector: &Injector| {
            let over = Arc::clone(&is_over);
            let cpu = cpus.first().copied();
            match injector.does {
                Does::Unpin => Some(spawn(move || unpin(&over))),
                Does::Hog(duty) => Some(spawn(move || hog(cpu, duty, &over))),
                _ => None,
            }
        };
        Self { threads: injectors.iter().filter_map(thread).collect(), is_over }
    }
}

impl Drop for Disturbance {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
        for thread in self.threads.drain(..) {
            // One that has panicked did what it could.
            let _ = thread.join();
        }
    }
}

/// Lets all workers run on all CPUs, those that are still to start as well.
fn unpin(is_over: &AtomicBool) {
    let cpus = affinity::allowed_cpus().unwrap_or_default();
    while !is_over.load(Ordering::Relaxed) {
        for pid in procfs::children() {
            // It may be gone by now.
            let _ = affinity::allow(pid, &cpus);
        }
        sleep(Duration::from_millis(2));
    }
}

/// Keeps a CPU busy for so many of a hundred parts of every hundredth of a second.
fn hog(cpu: Option<usize>, duty: u64, is_over: &AtomicBool) {
    const PERIOD: Duration = Duration::from_millis(10);
    if let Some(cpu) = cpu {
        // Elsewhere it disturbs less, and is not found: that is told.
        let _ = affinity::pin(cpu);
    }
    let busy = PERIOD.mul_f64(duty.min(100) as f64 / 100.0);
    while !is_over.load(Ordering::Relaxed) {
        let begin = Instant::now();
        while begin.elapsed() < busy {
            std::hint::spin_loop();
        }
        sleep(PERIOD.saturating_sub(begin.elapsed()));
    }
}

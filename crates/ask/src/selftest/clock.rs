//! The clock and the timer: known delays must be measured as long as they are.

use super::check::{Found, cannot_tell, failed, passed};
use super::injectors::{Does, Injector};
use super::stage::{Halt, Stage};
use ipcperf_core::findings;
use ipcperf_core::units::format_nanos;
use ipcperf_engine::bounds::clock_cost;
use ipcperf_engine::chain;
use ipcperf_engine::fit::Fit;
use ipcperf_stats::median;
use ipcperf_sys::affinity;
use ipcperf_sys::clock::Clock;
use std::cell::Cell;
use std::thread::{sleep, spawn};
use std::time::Duration;

/// The clock left its line.
pub(super) const JUMP: &str = findings::CLOCKJUMP.code;
/// It went backwards.
pub(super) const BACK: &str = findings::BACKWARDS.code;

/// Readings beside `CLOCK_MONOTONIC_RAW`, and how long lies between two: longer than the 50 ms from which on a change of
/// rate shows.
const READINGS: u64 = 12;
const APART: Duration = Duration::from_millis(60);

/// Pairs of readings that show what a reading costs: as many as a run takes.
const PAIRS: usize = 100_000;

/// What the program tells of the clock; some of it may go wrong on purpose.
pub(super) fn signs(wrong: &[Injector]) -> Vec<&'static str> {
    let clock = Clock::choose().0;
    let mut fit = Fit::start(clock);
    let mut jumps = 0;
    for at in 0..READINGS {
        sleep(APART);
        let changed = |pair, injector: &Injector| match injector.does {
            Does::Pair(change) => change(at, pair),
            _ => pair,
        };
        jumps += usize::from(fit.push(wrong.iter().fold(clock.pair(), changed)).is_some());
    }
    let at = Cell::new(0);
    let read = |ticks| {
        at.set(at.get() + 1);
        wrong.iter().fold(ticks, |ticks, injector| match injector.does {
            Does::Clock(change) => change(at.get(), ticks),
            _ => ticks,
        })
    };
    let costs = clock_cost(PAIRS, || read(clock.start()), || read(clock.stop()));
    let backwards = costs.iter().any(|(name, value)| name == "negative" && *value > 0.0);
    [(jumps > 0, JUMP), (backwards, BACK)]
        .into_iter()
        .filter_map(|(is_so, sign)| is_so.then_some(sign))
        .collect()
}

/// The counter and `CLOCK_MONOTONIC_RAW` agree, and no reading is before an earlier one.
pub(super) fn agrees(stage: &Stage<'_>) -> Result<Found, Halt> {
    let told = signs(&stage.sabotage);
    let name = Clock::choose().0.name();
    if told.is_empty() {
        let over = READINGS as f64 * APART.as_secs_f64();
        return Ok(passed(format!("{name} keeps to CLOCK_MONOTONIC_RAW over {over:.1} s")));
    }
    Ok(failed(format!("{name}: {}", told.join(", "))))
}

/// What times operations.
#[derive(Clone, Copy)]
struct Timer {
    clock: Clock,
    ns_per_tick: f64,
    /// By how much it reads an end too late, ns: nothing, unless that is to go wrong.
    late: f64,
}

impl Timer {
    /// Times of an operation, ns: each of so many by itself.
    fn singly(self, count: usize, mut operation: impl FnMut()) -> Vec<f64> {
        let one = |_| {
            let begin = self.clock.start();
            operation();
            (self.clock.stop() - begin) as f64 * self.ns_per_tick + self.late
        };
        (0..count).map(one).collect()
    }

    /// What a start and a stop cost, and the smallest step, ns.
    fn overhead(self) -> (f64, f64) {
        let costs = clock_cost(PAIRS, || self.clock.start(), || self.clock.stop());
        let ns = self.ns_per_tick;
        (named(&costs, "p50") * ns, named(&costs, "granularity") * ns)
    }
}

/// On the first CPU, in a thread of its own: pinning is for good.
fn pinned<T: Send + 'static>(
    late: f64,
    work: impl FnOnce(Timer) -> T + Send + 'static,
) -> Option<T> {
    let work = move || {
        let cpu = *affinity::allowed_cpus().ok()?.first()?;
        affinity::pin(cpu).ok()?;
        let clock = Clock::choose().0;
        let mut fit = Fit::start(clock);
        sleep(APART);
        fit.boundary();
        Some(work(Timer { clock, ns_per_tick: fit.ns_per_tick(), late }))
    };
    spawn(work).join().ok()?
}

/// How often a check of the timer is tried: what disturbs it is gone by then, and what is wrong with it is not.
const TRIES: usize = 5;

/// Tries until it is within the limit; the text says of the last one what it came to.
fn tried(stage: &Stage<'_>, attempt: fn(Timer) -> (bool, String)) -> Found {
    let late = |injector: &Injector| match injector.does {
        Does::Late(ns) => ns,
        _ => 0.0,
    };
    let all = pinned(stage.sabotage.iter().map(late).sum(), move |timer| {
        let mut found = (false, String::new());
        for _ in 0..TRIES {
            found = attempt(timer);
            if found.0 {
                break;
            }
        }
        found
    });
    match all {
        None => cannot_tell("no CPU can be had for it"),
        Some((true, text)) => passed(text),
        Some((false, text)) => failed(text),
    }
}

fn named(costs: &[(String, f64)], name: &str) -> f64 {
    costs.iter().find(|(known, _)| known == name).map_or(0.0, |(_, value)| *value)
}

/// An empty operation takes no time beside the clock: 2 ns or two steps of it.
pub(super) fn empty(stage: &Stage<'_>) -> Result<Found, Halt> {
    Ok(tried(stage, |timer| {
        let (cost, step) = timer.overhead();
        let got = median(&timer.singly(10_001, || ())).unwrap_or(f64::NAN);
        let net = got - cost;
        let limit = (2.0 * step).max(2.0);
        let text = format!("an empty operation: {net:.1} ns beside {cost:.1} ns");
        (net.abs() <= limit, text)
    }))
}

/// Work that is longer by 1.5, 2 and 3.5 % takes so much longer; the fastest of some tries, as lmbench does it.
pub(super) fn linear(stage: &Stage<'_>) -> Result<Found, Halt> {
    /// On a virtual machine; 0.25 % on hardware.
    const LIMIT: f64 = 0.01;
    const MORE: [f64; 4] = [1.0, 1.015, 1.02, 1.035];
    Ok(tried(stage, |timer| {
        let steps = 20_000.0 / chain::ns_per_step();
        let mut fastest = [f64::INFINITY; MORE.len()];
        for _ in 0..101 {
            for (least, more) in fastest.iter_mut().zip(MORE) {
                let took = timer.singly(1, || chain::run((steps * more) as u64));
                *least = took.into_iter().fold(*least, f64::min);
            }
        }
        let off = |(took, more): (&f64, f64)| (took / fastest[0] / more - 1.0).abs();
        let worst = fastest.iter().zip(MORE).map(off).fold(0.0, f64::max);
        let text = format!("1.5 to 3.5 % more work, to {:.2} %", worst * 100.0);
        (worst <= LIMIT, text)
    }))
}

/// Operations timed one by one take as long as they do in a batch: 3 % or 3 ns.
pub(super) fn batch(stage: &Stage<'_>) -> Result<Found, Halt> {
    const BATCH: u64 = 100;
    Ok(tried(stage, |timer| {
        let (cost, _) = timer.overhead();
        // So long that it does not matter how much of it a processor does while it still reads the clock.
        let steps = (100.0 * cost / chain::ns_per_step()) as u64;
        // In turn, so that what else this machine does slows both alike; and the fastest, because a batch is interrupted more
        // often than an operation where other work wants the CPU.
        let mut fastest = [f64::INFINITY; 2];
        for _ in 0..101 {
            let single = median(&timer.singly(50, || chain::run(steps))).unwrap_or(f64::NAN);
            let whole = timer.singly(1, || (0..BATCH).for_each(|_| chain::run(steps)))[0];
            fastest = [fastest[0].min(single), fastest[1].min(whole)];
        }
        let [single, whole] = fastest.map(|fastest| fastest - cost);
        let whole = whole / BATCH as f64;
        let text =
            format!("{} by itself, {} in a batch", format_nanos(single), format_nanos(whole));
        ((single - whole).abs() <= (0.03 * whole).max(3.0), text)
    }))
}

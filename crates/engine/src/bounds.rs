//! The machine's own limits, measured by workers in every run: nothing on this machine can beat them.

mod clocks;
mod copying;
mod job;
mod returns;
mod self_loop;

pub use clocks::Intervals;
pub use copying::Chunks;
pub use job::{Bound, BoundJob, BoundReport, Trips};

use crate::chain;
use crate::job::{Failure, FailureKind};
use crate::page::Page;
use ipcperf_core::{Seat, SetupError};
use ipcperf_sys::clock::Clock;
use ipcperf_sys::io::{Buffer, futex};
use ipcperf_sys::process::null_syscall;
use ipcperf_sys::procfs;
use std::sync::atomic::{AtomicU32, Ordering};

/// Its name as a task.
pub(crate) const TASK: &str = "bound";

/// Sizes at which copy bandwidth is measured, bytes: first-level cache, second-level, shared cache, memory.
pub(crate) const COPY_SIZES: [usize; 4] = [4 << 10, 64 << 10, 1 << 20, 16 << 20];

/// Runs one bound measurement in a worker.
///
/// # Errors
/// Why it could not.
pub(crate) fn measure(job: &BoundJob, page: &Page) -> Result<BoundReport, Failure> {
    let clock = if job.counter { Clock::counter() } else { Clock::monotonic() };
    let values = match &job.what {
        Bound::Clock => clock_cost(100_000, || clock.start(), || clock.stop()),
        Bound::Alone => alone(clock),
        Bound::CacheLine => {
            page.gate().meet();
            named("rtt", cache_line(page, job.seat, clock))
        }
        Bound::Offsets => by_offset(clock)?,
        Bound::Returns => returns::costs(page, job.seat, clock),
        Bound::Settle => {
            settle();
            Vec::new()
        }
        Bound::FutexWake => {
            page.gate().meet();
            named("rtt", futex_wake(page.line(), job.seat, clock))
        }
        Bound::Clocks(intervals, cpus) => clocks::errors_on(intervals, *cpus).map_err(failed)?,
        Bound::Apart => {
            page.gate().meet();
            clocks::apart(page, job.seat)
        }
        Bound::Copying(chunks) => copying::costs(chunks).map_err(failed)?,
        Bound::SelfLoop(trips) => return self_loop::talk(*trips, clock, page).map_err(failed),
    };
    Ok(BoundReport { values, ..BoundReport::default() })
}

fn failed(reason: String) -> Failure {
    Failure { kind: FailureKind::Failed, reason }
}

/// Sleeps until the idle governor of this CPU has gone back to halting. The haltpoll governor of guests remembers a
/// poll window after the PM QoS request has ended (`cpuidle_poll_time` sets it to a tick) and keeps polling as long as
/// every wait is shorter; each halt after a longer wait halves the window, so that 22 halts end a window of 4 ms.
/// Measured without this: 0.0 to 0.2 inter-processor interrupts per message of a blocking ping-pong in the quarter of
/// a second after the request, 1.0 afterwards.
fn settle() {
    for _ in 0..24 {
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
}

fn named(name: &str, value: Option<f64>) -> Vec<(String, f64)> {
    value.map(|value| (name.to_owned(), value)).into_iter().collect()
}

fn median(values: &mut [f64]) -> f64 {
    values.sort_unstable_by(f64::total_cmp);
    values[values.len() / 2]
}

/// Cost of one start-stop pair around nothing, which is what every per-operation sample contains, and the smallest
/// step between two readings that differ. Over so many pairs, of a clock that is read before an operation and after it.
pub fn clock_cost(
    pairs: usize,
    mut start: impl FnMut() -> u64,
    mut stop: impl FnMut() -> u64,
) -> Vec<(String, f64)> {
    let mut costs = Vec::with_capacity(pairs);
    let (mut granularity, mut negative) = (u64::MAX, 0_u32);
    let mut previous = stop();
    for _ in 0..pairs {
        let (start, stop) = (start(), stop());
        negative += u32::from(stop < start) + u32::from(start < previous);
        costs.push(stop.saturating_sub(start));
        for step in [stop.saturating_sub(start), start.saturating_sub(previous)] {
            if step > 0 {
                granularity = granularity.min(step);
            }
        }
        previous = stop;
    }
    costs.sort_unstable();
    // A reading may take longer than a step: then what readings took differs by one.
    let steps = costs.windows(2).map(|pair| pair[1] - pair[0]).filter(|step| *step > 0);
    granularity = steps.min().unwrap_or(granularity).min(granularity);
    // A clock that never moved has no step that is known.
    let granularity = if granularity == u64::MAX { 0 } else { granularity };
    let at = |share: f64| costs[((pairs - 1) as f64 * share) as usize] as f64;
    vec![
        ("min".into(), at(0.0)),
        ("p50".into(), at(0.5)),
        ("p90".into(), at(0.9)),
        ("p99".into(), at(0.99)),
        ("granularity".into(), granularity as f64),
        ("negative".into(), negative.into()),
    ]
}

/// Bytes of the side of a copy that stays in the first-level cache.
const PIECE: usize = 4 << 10;

/// What one process alone can be timed at: system call and copies. `half` is a copy of which one side, whichever is
/// faster, stays in the first-level cache: what stands between two ends may be small, but a message has its size where it
/// comes from and where it goes. That is a limit, so the fastest batch counts, as in `syscall:least`: where others want
/// this CPU too, the median batch is held up.
fn alone(clock: Clock) -> Vec<(String, f64)> {
    let mut calls = batches(clock, 101, 200, null_syscall);
    let mut values = vec![
        ("syscall".to_owned(), median(&mut calls)),
        ("syscall:least".to_owned(), calls.into_iter().fold(f64::INFINITY, f64::min)),
    ];
    let largest = COPY_SIZES[COPY_SIZES.len() - 1];
    let (source, mut target) = (vec![1_u8; largest], vec![2_u8; largest]);
    for size in COPY_SIZES {
        let repeats = ((1 << 20) / size).max(1);
        let mut ticks = batches(clock, 9, repeats, || {
            target[..size].copy_from_slice(std::hint::black_box(&source[..size]));
            std::hint::black_box(&mut target[..size]);
        });
        values.push((format!("copy:{size}"), median(&mut ticks)));
        let reads = batches(clock, 9, repeats, || {
            for piece in std::hint::black_box(&source[..size]).chunks(PIECE) {
                target[..PIECE].copy_from_slice(piece);
                std::hint::black_box(&mut target[..PIECE]);
            }
        });
        let writes = batches(clock, 9, repeats, || {
            for piece in std::hint::black_box(&mut target[..size]).chunks_mut(PIECE) {
                piece.copy_from_slice(std::hint::black_box(&source[..PIECE]));
            }
        });
        let fastest = reads.into_iter().chain(writes).fold(f64::INFINITY, f64::min);
        values.push((format!("half:{size}"), fastest));
    }
    values
}

/// Bytes of a page.
const PAGE: usize = 4096;

/// Copying half a mebibyte into whole pages and out of them again, page by page as the kernel does, where the buffer at the
/// other side begins a page (`page`), and where it begins as one of malloc(3) (`malloc`); medians of pairs, ticks.
fn by_offset(clock: Clock) -> Result<Vec<(String, f64)>, SetupError> {
    const SIZE: usize = 512 << 10;
    let mut pages = Buffer::new(SIZE, 0)?;
    let mut buffers = [Buffer::new(SIZE, 0)?, Buffer::new(SIZE, 16)?];
    let mut times = [Vec::new(), Vec::new()];
    // The first pair is not counted.
    for turn in 0..52 {
        for (buffer, times) in buffers.iter_mut().zip(&mut times) {
            let start = clock.start();
            for (page, piece) in
                pages.all_mut().chunks_mut(PAGE).zip(buffer.all_mut().chunks_mut(PAGE))
            {
                page.copy_from_slice(std::hint::black_box(piece));
                piece.copy_from_slice(std::hint::black_box(page));
            }
            let took = (clock.stop() - start) as f64;
            times.extend((turn > 0).then_some(took));
        }
    }
    let [page, malloc] = &mut times;
    Ok(vec![("page".to_owned(), median(page)), ("malloc".to_owned(), median(malloc))])
}

/// Means of `repeats` calls, ticks: so many of them.
fn batches(clock: Clock, count: usize, repeats: usize, mut call: impl FnMut()) -> Vec<f64> {
    call();
    (0..count)
        .map(|_| {
            let start = clock.start();
            for _ in 0..repeats {
                call();
            }
            (clock.stop() - start) as f64 / repeats as f64
        })
        .collect()
}

/// The speed of this CPU where no frequency can be read: what a step of [`chain::run`] takes, ticks. Median of nine pieces of
/// some 10 us, so that a process that comes between is in few of them.
pub(crate) fn step(clock: Clock) -> f64 {
    const STEPS: u64 = 5000;
    median(&mut batches(clock, 9, 1, || chain::run(STEPS))) / STEPS as f64
}

/// One word there and back between two spinning processes: median over 21 batches of 100, ticks; only the lead times.
/// Takes half a millisecond, short enough to stand beside every slice.
#[must_use]
pub(crate) fn cache_line(page: &Page, seat: Seat, clock: Clock) -> Option<f64> {
    const BATCHES: usize = 21;
    const TRIPS: usize = 100;
    let line = page.line();
    line.store(0, Ordering::Release);
    page.gate().meet();
    let mut value = 0_u32;
    let mut means = Vec::with_capacity(BATCHES);
    for _ in 0..BATCHES {
        let start = clock.start();
        for _ in 0..TRIPS {
            match seat {
                Seat::Lead => {
                    line.store(value + 1, Ordering::Release);
                    spin_until(line, value + 2);
                }
                Seat::Follow => {
                    spin_until(line, value + 1);
                    line.store(value + 2, Ordering::Release);
                }
            }
            value += 2;
        }
        means.push((clock.stop() - start) as f64 / TRIPS as f64);
    }
    (seat == Seat::Lead).then(|| median(&mut means))
}

fn spin_until(line: &AtomicU32, value: u32) {
    while line.load(Ordering::Acquire) != value {
        std::hint::spin_loop();
    }
}

/// Sleep and wake there and back: median of 300 single round trips after 30 that are not counted, ticks; `None` if
/// fewer than nine in ten really slept.
fn futex_wake(word: &AtomicU32, seat: Seat, clock: Clock) -> Option<f64> {
    let mut samples = Vec::with_capacity(330);
    let before = procfs::consumption().voluntary_switches;
    for turn in (0..660).step_by(2) {
        let start = clock.start();
        match seat {
            Seat::Lead => {
                word.store(turn + 1, Ordering::Release);
                futex::wake(word);
                sleep_until(word, turn + 2);
            }
            Seat::Follow => {
                sleep_until(word, turn + 1);
                word.store(turn + 2, Ordering::Release);
                futex::wake(word);
            }
        }
        samples.push((clock.stop() - start) as f64);
    }
    // Where the answer came before the sleep, nobody was woken and this is another figure.
    let slept = procfs::consumption().voluntary_switches - before;
    (seat == Seat::Lead && slept * 10 >= samples.len() as u64 * 9)
        .then(|| median(&mut samples[30..]))
}

fn sleep_until(word: &AtomicU32, value: u32) {
    loop {
        let now = word.load(Ordering::Acquire);
        if now == value {
            return;
        }
        futex::wait(word, now);
    }
}

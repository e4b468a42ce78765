//! Two fresh processes that run one bare loop: forked, pinned, prefaulted, warmed up, timed, and
//! gone afterwards on every path.

use std::os::fd::{AsRawFd, OwnedFd};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::*};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};

use super::bare_loops::Loops;
use super::bare_plumbing::{Ends, Mapping, Plumbing, Seat};
use super::bare_sys::{Errno, nanoseconds, start_ticks, stop_ticks};
use super::bounded;
use super::case::Cpus;

/// One bare measurement.
#[derive(Clone, Copy)]
pub(crate) struct Job {
    pub(crate) carrier: super::case::Carrier,
    pub(crate) pattern: super::case::Pattern,
    pub(crate) bytes: usize,
    pub(crate) cpus: Cpus,
    pub(crate) slice: Duration,
}

/// What one slice said.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Slice {
    /// Median round trip in ticks; 0 for a stream.
    pub(crate) median_ticks: u64,
    /// Messages of the timed phase.
    pub(crate) messages: u64,
    /// From go to the last message, as the receiver saw it.
    pub(crate) elapsed_ns: u64,
}

/// A pair that has not answered by then is killed.
const DEADLINE: Duration = Duration::from_secs(10);
/// Long enough for caches, branch predictors and the clock frequency to settle.
const WARM_UP_NS: u64 = 20_000_000;
/// 16 MiB of samples: more than a slice of 100 ms holds at 33 ns, the fastest round trip seen.
const SAMPLES: usize = 4 << 20;
/// Below this a median means little; a slow pair overruns its slice instead.
const FEWEST: u64 = 16;

/// What both ends share beside the carrier. One line per writer, so that nobody's wait disturbs.
#[repr(C, align(128))]
struct Control {
    lead: Lead,
    follow: Follow,
}

#[repr(C, align(128))]
struct Lead {
    /// How many messages the next phase has; 0 ends the pair.
    count: AtomicU64,
    phase: AtomicU32,
    median: AtomicU64,
    messages: AtomicU64,
}

#[repr(C, align(128))]
struct Follow {
    ready: AtomicU32,
    done: AtomicU32,
    elapsed: AtomicU64,
}

/// Runs one bare loop in two processes.
pub(crate) fn measure(job: Job) -> Result<Slice> {
    let one_cpu = job.cpus[0] == job.cpus[1];
    ensure!(!(one_cpu && job.carrier.spins()), "two spinning ends need two CPUs");
    let loops = Loops::of(job.carrier, job.pattern);
    let memory = Mapping::shared(size_of::<Control>())?;
    // SAFETY: zeroed, page-aligned, large enough, and every field is an atomic.
    let control = unsafe { &*memory.start().cast::<Control>() };
    let plumbing = Plumbing::lay(job.carrier, job.bytes)?;
    let mut lead = Child::fork(|| {
        let ends = plumbing.ends(Seat::Lead)?;
        pin(job.cpus[0])?;
        drive_lead(loops, ends, control, job.slice.as_nanos() as u64)
    })?;
    let mut follow = Child::fork(|| {
        let ends = plumbing.ends(Seat::Follow)?;
        pin(job.cpus[1])?;
        drive_follow(loops, ends, control)
    })?;
    let until = Instant::now() + DEADLINE;
    // Whoever ends first with an error takes the other along: the guards kill on return.
    let first = bounded::first_to_end(&[lead.pidfd.as_raw_fd(), follow.pidfd.as_raw_fd()], until)?;
    match first {
        Some(0) => (lead.finish(until)?, follow.finish(until)?),
        Some(_) => (follow.finish(until)?, lead.finish(until)?),
        None => bail!("no answer within {} s", DEADLINE.as_secs()),
    };
    Ok(Slice {
        median_ticks: control.lead.median.load(Acquire),
        messages: control.lead.messages.load(Acquire),
        elapsed_ns: control.follow.elapsed.load(Acquire),
    })
}

/// Doubles the count until the warm-up time has passed, then runs what fills the slice.
fn drive_lead(loops: Loops, mut ends: Ends, control: &Control, slice_ns: u64) -> Result<(), Errno> {
    let timed = loops.timed;
    let samples = Mapping::private(if timed { SAMPLES * 4 } else { 4096 })?;
    // SAFETY: page-aligned, zeroed, of that size, and nobody else has it.
    let samples =
        unsafe { std::slice::from_raw_parts_mut(samples.start().cast::<u32>(), samples.len() / 4) };
    let most = if timed { samples.len() as u64 } else { u64::MAX };
    let mut phase = 0;
    let mut run = |count: u64, batch: u64, samples: &mut [u32]| -> Result<u64, Errno> {
        phase += 1;
        ends.batch = batch;
        control.lead.count.store(count, Relaxed);
        control.lead.phase.store(phase, Release);
        yield_until(|| control.follow.ready.load(Acquire) == phase);
        let before = nanoseconds();
        (loops.lead)(&mut ends, count, samples)?;
        yield_until(|| control.follow.done.load(Acquire) == phase);
        Ok(nanoseconds() - before)
    };
    let (mut count, mut warm) = (1, 0);
    let (per_message, warm_count) = loop {
        let elapsed = run(count, 1, samples)?.max(1);
        warm += elapsed;
        if warm >= WARM_UP_NS {
            break (elapsed as f64 / count as f64, count);
        }
        count = (count * 2).min(most);
    };
    let count = ((slice_ns as f64 / per_message) as u64).max(FEWEST).min(most);
    // As ipcperf does: operations below 20 times the cost of the clock are timed in batches of at least 100 times it.
    let (cost, single) =
        (clock_cost(), if timed { median(samples, warm_count).max(1) } else { u64::MAX });
    let batch = if single >= 20 * cost { 1 } else { (100 * cost).div_ceil(single) };
    run(count, batch, samples)?;
    if timed {
        control.lead.median.store(median(samples, count), Relaxed);
    }
    control.lead.messages.store(count, Relaxed);
    control.lead.count.store(0, Relaxed);
    control.lead.phase.store(u32::MAX, Release);
    Ok(())
}

/// Nearest rank: the smallest sample that half of all samples do not exceed.
fn median(samples: &mut [u32], count: u64) -> u64 {
    let taken = &mut samples[..count as usize];
    let middle = (taken.len() - 1) / 2;
    u64::from(*taken.select_nth_unstable(middle).1)
}

/// Median cost of one pair of clock readings, ticks.
fn clock_cost() -> u64 {
    let mut pairs = [0_u32; 1001];
    for pair in &mut pairs {
        let start = start_ticks();
        *pair = super::bare_sys::elapsed(start, stop_ticks());
    }
    median(&mut pairs, 1001)
}

fn drive_follow(loops: Loops, mut ends: Ends, control: &Control) -> Result<(), Errno> {
    let mut last = 0;
    loop {
        yield_until(|| control.lead.phase.load(Acquire) != last);
        last = control.lead.phase.load(Acquire);
        let count = control.lead.count.load(Relaxed);
        if count == 0 {
            return Ok(());
        }
        control.follow.ready.store(last, Release);
        let before = nanoseconds();
        (loops.follow)(&mut ends, count)?;
        control.follow.elapsed.store(nanoseconds() - before, Relaxed);
        control.follow.done.store(last, Release);
    }
}

/// Between phases both ends may share a CPU, so whoever waits gives way.
fn yield_until(condition: impl Fn() -> bool) {
    while !condition() {
        // SAFETY: takes nothing, touches nothing.
        unsafe { libc::sched_yield() };
    }
}

/// The CPUs this process may run on, ascending.
pub(crate) fn usable_cpus() -> Vec<usize> {
    // SAFETY: a zeroed set is an empty one, of the size stated; CPU_ISSET checks its bounds.
    unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        libc::sched_getaffinity(0, size_of::<libc::cpu_set_t>(), &mut set);
        (0..libc::CPU_SETSIZE as usize).filter(|&cpu| libc::CPU_ISSET(cpu, &set)).collect()
    }
}

fn pin(cpu: usize) -> Result<(), Errno> {
    // SAFETY: a zeroed set is an empty one, and CPU_SET checks its bounds.
    let failed = unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        libc::CPU_SET(cpu, &mut set);
        libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), &set)
    } != 0;
    if failed { Err(-errno()) } else { Ok(()) }
}

fn errno() -> i32 {
    std::io::Error::last_os_error().raw_os_error().unwrap_or(libc::EIO)
}

/// A forked process; killed and reaped when dropped.
struct Child {
    pid: libc::pid_t,
    pidfd: OwnedFd,
    reaped: bool,
}

/// Exit status of a child whose loop panicked, and of one whose loop failed without an errno.
const PANICKED: i32 = 254;
const END_OF_FILE: i32 = 253;

impl Child {
    /// Runs `body` in a new process. The caller must have one thread only, or `body` must not wait
    /// for a lock another thread may hold.
    fn fork(body: impl FnOnce() -> Result<(), Errno>) -> Result<Self> {
        // SAFETY: the child runs `body` alone and leaves through `_exit`, never through the
        // caller's frames.
        let pid = unsafe { libc::fork() };
        if pid == 0 {
            // SAFETY: plain system calls of the child upon itself.
            unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) };
            let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(body));
            let status = match outcome {
                Ok(Ok(())) => 0,
                Ok(Err(0)) => END_OF_FILE,
                Ok(Err(errno)) => -errno,
                Err(_) => PANICKED,
            };
            // SAFETY: ends the process without running the parent's destructors a second time.
            unsafe { libc::_exit(status) };
        }
        if pid < 0 {
            return Err(std::io::Error::last_os_error()).context("fork");
        }
        match bounded::pidfd(pid) {
            Ok(pidfd) => Ok(Self { pid, pidfd, reaped: false }),
            Err(error) => {
                bounded::kill_and_reap(pid);
                Err(error)
            }
        }
    }

    /// Waits for the end until `until`; an error unless it ended well.
    fn finish(&mut self, until: Instant) -> Result<()> {
        let ended = bounded::first_to_end(&[self.pidfd.as_raw_fd()], until)?;
        ensure!(ended.is_some(), "no end within {} s", DEADLINE.as_secs());
        let (status, _) = bounded::reap(self.pid)?;
        self.reaped = true;
        match (libc::WIFEXITED(status), libc::WEXITSTATUS(status)) {
            (true, 0) => Ok(()),
            (true, PANICKED) => bail!("the bare loop panicked"),
            (true, END_OF_FILE) => bail!("the peer hung up"),
            (true, errno) => bail!("{}", std::io::Error::from_raw_os_error(errno)),
            _ => bail!("killed by signal {}", libc::WTERMSIG(status)),
        }
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        if !self.reaped {
            bounded::kill_and_reap(self.pid);
        }
    }
}

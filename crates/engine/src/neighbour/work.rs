//! A neighbour from the inside: the process that does its work. It ends with the coordinator, and does nothing any more once
//! its time is over.

use crate::error::{not_started, words};
use crate::job::Failure;
use crate::page::Page;
use crate::task::WorkerContext;
use ipcperf_core::{Neighbour, NeighbourWork, shell_words};
use ipcperf_sys::clock::monotonic_ns;
use ipcperf_sys::control::wait_any;
use ipcperf_sys::process::{describe_end, fork_once, outlive_coordinator};
use ipcperf_sys::process_tree::Account;
use ipcperf_sys::program::{Orphans, Program};
use ipcperf_sys::{affinity, limits, pause};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::hint::black_box;
use std::io;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

/// What it gets from the coordinator.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Duty {
    /// What to do.
    pub(super) work: Neighbour,
    /// The CPUs that it may use; none where it may use all.
    pub(super) cpus: Vec<usize>,
    /// How long at the most.
    pub(super) time: Duration,
    /// Open files of a program, the soft and the hard limit.
    pub(super) files: Option<[Option<u64>; 2]>,
}

/// Steps of a calculation between two looks at the clock.
const STEPS: u64 = 1 << 14;

/// Memory that is copied from one half to the other: more than most caches hold.
const MEMORY: usize = 64 << 20;

/// Copies per second, unless the least is too much.
const COPIES: u64 = 1000;

/// Bytes of a copy at the least.
const LEAST: usize = 32 << 10;

/// Work that is so late is left out: a load that was held up does not come all at once.
const LATEST_NS: u64 = 100_000_000;

/// CPU time after which a program is taken to have started up, and how long that is waited for at the most.
const BEGUN_NS: u64 = 30_000_000;
const BEGINS: Duration = Duration::from_secs(1);

/// The task.
pub(crate) fn serve(context: &mut WorkerContext<'_>) -> Result<Value, Failure> {
    let duty: Duty = context.params()?;
    let page = context.page(0)?;
    if !duty.cpus.is_empty() {
        let pinned = affinity::allow(std::process::id(), &duty.cpus);
        pinned.map_err(|error| format!("it cannot be pinned to its CPUs: {}", words(&error)))?;
    }
    let until = Instant::now() + duty.time;
    match &duty.work.work {
        NeighbourWork::Exec(command) => run(command, &duty, until, context)?,
        work => work_on(work, until, page, context)?,
    }
    Ok(Value::Null)
}

/// Works in threads, which end with the process.
fn work_on(
    work: &NeighbourWork,
    until: Instant,
    page: Page,
    context: &mut WorkerContext<'_>,
) -> Result<(), Failure> {
    let (page, dose) = (Arc::new(page), work.dose());
    let threads = if let NeighbourWork::Cpu(threads) = work { *threads } else { 1 };
    for _ in 0..threads {
        let mut unit = Unit::of(work);
        // What is impossible here is so at once.
        page.add_neighbour_units(unit.once()?);
        let page = Arc::clone(&page);
        let go_on = move || match dose {
            None => at_full_speed(&mut unit, until, &page),
            Some(rate) if matches!(unit, Unit::WakeUp) => wake_up(rate, until, &page),
            Some(rate) => at_rate(&mut unit, rate, until, &page),
        };
        thread::Builder::new().spawn(go_on)?;
    }
    context.ready(&())?;
    Ok(())
}

/// One unit of its work, or several that are done at once.
enum Unit {
    Steps(u64),
    Copy { memory: Vec<u8>, at: usize, len: usize },
    Process,
    WakeUp,
}

impl Unit {
    fn of(work: &NeighbourWork) -> Self {
        match work {
            NeighbourWork::Cpu(_) | NeighbourWork::Exec(_) => Self::Steps(1),
            NeighbourWork::Memory(rate) => {
                let len = usize::try_from(rate / COPIES / 2).unwrap_or(MEMORY);
                let len = len.clamp(LEAST, MEMORY / 2);
                // Not zeros, which the kernel need not have memory for.
                Self::Copy { memory: vec![1; MEMORY], at: 0, len }
            }
            NeighbourWork::Fork(_) => Self::Process,
            NeighbourWork::Timer(_) => Self::WakeUp,
        }
    }

    /// Does it; how many units that was.
    fn once(&mut self) -> io::Result<u64> {
        match self {
            Self::Steps(number) => {
                for _ in 0..STEPS {
                    // The generator of Marsaglia: each step needs the one before it.
                    *number ^= *number << 13;
                    *number ^= *number >> 7;
                    *number ^= *number << 17;
                }
                black_box(*number);
                Ok(STEPS)
            }
            Self::Copy { memory, at, len } => {
                let (from, to) = memory.split_at_mut(MEMORY / 2);
                if *at + *len > from.len() {
                    *at = 0;
                }
                let part = *at..*at + *len;
                to[part.clone()].copy_from_slice(&from[part]);
                black_box(to);
                *at += *len;
                Ok(2 * *len as u64)
            }
            Self::Process => fork_once().map(|()| 1).map_err(|error| {
                let what = "no process can be started";
                io::Error::new(error.kind(), format!("{what}: {}", limits::not_started(&error)))
            }),
            Self::WakeUp => Ok(1),
        }
    }
}

fn at_full_speed(unit: &mut Unit, until: Instant, page: &Page) {
    while Instant::now() < until {
        page.add_neighbour_units(unit.once().unwrap_or_default());
    }
}

/// Units at a rate per second, each when it is due.
fn at_rate(unit: &mut Unit, rate: u64, until: Instant, page: &Page) {
    // Without it the work is a little late.
    let _ = pause::sharpen();
    let (mut began_ns, mut done) = (monotonic_ns(), 0);
    while Instant::now() < until {
        let due_ns = began_ns + (done as f64 / rate as f64 * 1e9) as u64;
        let now_ns = monotonic_ns();
        if due_ns > now_ns {
            sleep(due_ns - now_ns, until);
            continue;
        }
        if now_ns - due_ns > LATEST_NS {
            (began_ns, done) = (now_ns, 0);
        }
        let units = unit.once().unwrap_or_default();
        page.add_neighbour_units(units);
        // What could not be done was due all the same.
        done += units.max(1);
    }
}

/// Sleeps at a rate per second. A time that has passed already is left out.
fn wake_up(rate: u64, until: Instant, page: &Page) {
    // Without it two of them may come together.
    let _ = pause::sharpen();
    let every_ns = 1_000_000_000 / rate;
    let mut due_ns = monotonic_ns();
    while Instant::now() < until {
        let now_ns = monotonic_ns();
        due_ns += ((now_ns.saturating_sub(due_ns)) / every_ns + 1) * every_ns;
        sleep(due_ns.saturating_sub(now_ns), until);
        page.add_neighbour_units(1);
    }
}

fn sleep(ns: u64, until: Instant) {
    let left = until.saturating_duration_since(Instant::now()).as_nanos();
    pause::sleep_ns(ns.min(u64::try_from(left).unwrap_or(u64::MAX)));
}

/// Runs a program until the slice is over.
fn run(
    command: &str,
    duty: &Duty,
    until: Instant,
    context: &mut WorkerContext<'_>,
) -> Result<(), Failure> {
    // Dropped last: whatever the program has left behind.
    let _orphans = Orphans::adopt()?;
    let end = outlive_coordinator()?;
    duty.files.into_iter().for_each(limits::take_of_programs);
    let words = shell_words::split(command)?;
    let (name, arguments) = words.split_first().ok_or("no program".to_owned())?;
    let mut command = Command::new(name);
    command.args(arguments).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let started = Program::start(&mut command);
    let what = format!("'{name}' cannot be started");
    let mut program = started.map_err(|error| not_started(&what, &error))?;
    begin(&mut program, until)?;
    context.announce(&())?;
    let ready = if program.ended().is_some() {
        vec![false, false, true]
    } else {
        wait_any(&[context.control().fd(), end.fd(), program.pidfd()], until)?
    };
    if ready.get(2) == Some(&true) {
        let how = describe_end(program.wait()?.status);
        return Err(format!("'{name}' ended before the slice did ({how})").into());
    }
    if end.arrived() {
        return Err("it was terminated".to_owned().into());
    }
    // It ends in time even if no word comes that the slice is over.
    drop(program);
    context.go()?;
    Ok(())
}

/// Waits until a program has started up, as far as its CPU time shows that.
fn begin(program: &mut Program, until: Instant) -> io::Result<()> {
    let mut account = Account::of(program.pid());
    let until = until.min(Instant::now() + BEGINS);
    while account.read().cpu_ns < BEGUN_NS && Instant::now() < until {
        program.try_wait()?;
        if program.ended().is_some() {
            break;
        }
        thread::sleep(Duration::from_millis(5));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn unit(work: &str) -> Unit {
        Unit::of(&work.parse().expect("work"))
    }

    #[test]
    fn each_unit_counts_what_it_did() {
        assert_eq!(unit("cpu:1").once().expect("steps"), STEPS);
        assert_eq!(unit("fork:1/s").once().expect("a process"), 1);
        let mut copy = unit("memory:200MB/s");
        let whole = MEMORY as u64 / 200_000;
        // Around the end of the memory.
        for _ in 0..whole + 2 {
            assert_eq!(copy.once().expect("a copy"), 200_000);
        }
        assert_eq!(unit("memory:1MB/s").once().expect("a copy"), 2 * LEAST as u64);
    }

    /// Lower bounds of time only.
    #[test]
    fn a_rate_is_never_exceeded_and_time_ends_it() {
        let page = Page::create(0).expect("memory");
        for (work, rate) in [("timer:200/s", 200), ("fork:50/s", 50)] {
            let (before, began) = (page.neighbour_units(), Instant::now());
            let until = began + Duration::from_millis(100);
            match unit(work) {
                Unit::WakeUp => wake_up(rate, until, &page),
                mut unit => at_rate(&mut unit, rate, until, &page),
            }
            let (units, took) = (page.neighbour_units() - before, began.elapsed());
            assert!(took >= Duration::from_millis(100), "{work}: {took:?}");
            let most = took.as_secs_f64() * rate as f64 + 2.0;
            assert!(units > 0 && units as f64 <= most, "{work}: {units} in {took:?}");
        }
    }
}

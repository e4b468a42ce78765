//! Where a process may run and where it runs.

use rustix::process::Pid;
use rustix::thread::CpuSet;
use std::io;

/// CPUs the calling thread may use, ascending.
///
/// # Errors
/// The kernel's.
pub fn allowed_cpus() -> io::Result<Vec<usize>> {
    let set = rustix::thread::sched_getaffinity(None)?;
    Ok((0..CpuSet::MAX_CPU).filter(|cpu| set.is_set(*cpu)).collect())
}

/// Pins the calling thread to one CPU.
///
/// # Errors
/// The kernel's: `EINVAL` if the CPU is offline or outside the cpuset.
pub fn pin(cpu: usize) -> io::Result<()> {
    if cpu >= CpuSet::MAX_CPU {
        return Err(rustix::io::Errno::INVAL.into());
    }
    let mut set = CpuSet::new();
    set.set(cpu);
    Ok(rustix::thread::sched_setaffinity(None, &set)?)
}

/// Lets another process of this user, if it has one thread, run on all these CPUs and no others.
///
/// # Errors
/// The kernel's: `ESRCH` if it is gone.
pub fn allow(pid: u32, cpus: &[usize]) -> io::Result<()> {
    let pid = i32::try_from(pid).ok().and_then(Pid::from_raw);
    let pid = pid.ok_or(rustix::io::Errno::SRCH)?;
    let mut set = CpuSet::new();
    for cpu in cpus.iter().filter(|cpu| **cpu < CpuSet::MAX_CPU) {
        set.set(*cpu);
    }
    Ok(rustix::thread::sched_setaffinity(Some(pid), &set)?)
}

/// The CPU this instruction runs on.
#[must_use]
pub fn current_cpu() -> usize {
    rustix::thread::sched_getcpu()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pinned_thread_runs_where_it_was_put() {
        let before = allowed_cpus().expect("affinity is readable");
        // In a thread of its own: affinity is per thread, and other tests share this process.
        std::thread::spawn(move || {
            for cpu in before {
                pin(cpu).expect("an allowed CPU");
                assert_eq!(current_cpu(), cpu);
                assert_eq!(allowed_cpus().expect("readable"), [cpu]);
            }
            assert!(pin(100_000).is_err());
        })
        .join()
        .expect("the thread ends");
    }
}

//! Where a process may run and where it runs.
//!
//! # Safety
//! The masks that the kernel reads and writes are live slices of integers, passed with their length in bytes.

use crate::io::raw;
use std::io;
use std::sync::OnceLock;

/// A set of CPUs as the kernel has it: bit N is CPU N.
type Mask = Vec<usize>;

/// CPUs of one word.
const WORD: usize = usize::BITS as usize;
/// The first length that is tried: 1,024 CPUs, as `cpu_set_t` of the C library has.
const USUAL: usize = 1024 / WORD;
/// The last: no kernel is built for so many CPUs.
const LONGEST: usize = (1 << 20) / WORD;

/// CPUs the calling thread may use, ascending.
///
/// # Errors
/// The kernel's.
pub fn allowed_cpus() -> io::Result<Vec<usize>> {
    cpus_of(0)
}

/// CPUs that a thread may use, ascending; 0 is the calling one.
///
/// # Errors
/// The kernel's: `ESRCH` if it is gone.
pub fn cpus_of(thread: u32) -> io::Result<Vec<usize>> {
    allowed(|mask| {
        let (thread, address) = (thread as usize, mask.as_mut_ptr() as usize);
        // SAFETY: the kernel writes at most so many bytes of integers to live ones.
        unsafe { raw::call3(libc::SYS_sched_getaffinity, thread, size_of_val(mask), address) }
    })
}

/// The kernel refuses a mask that is shorter than its own (`EINVAL`), which has room for all possible CPUs.
fn allowed(mut get: impl FnMut(&mut [usize]) -> Result<usize, i32>) -> io::Result<Vec<usize>> {
    let mut mask = vec![0; USUAL];
    loop {
        match get(&mut mask) {
            Ok(_) => break,
            Err(libc::EINVAL) if mask.len() < LONGEST => mask = vec![0; 2 * mask.len()],
            Err(code) => return Err(io::Error::from_raw_os_error(code)),
        }
    }
    let is_set = |cpu: &usize| mask[cpu / WORD] >> (cpu % WORD) & 1 == 1;
    Ok((0..mask.len() * WORD).filter(is_set).collect())
}

/// A mask of these CPUs, as long as they need; `None` without any, or with one beyond all kernels.
fn mask_of(cpus: &[usize]) -> Option<Mask> {
    let last = cpus.iter().max().filter(|last| **last < LONGEST * WORD)?;
    let mut mask = vec![0; last / WORD + 1];
    for cpu in cpus {
        mask[cpu / WORD] |= 1 << (cpu % WORD);
    }
    Some(mask)
}

/// What lies beyond a short mask is not in it, and of a long one the kernel looks at as much as it has CPUs for.
fn set(thread: u32, cpus: &[usize]) -> io::Result<()> {
    let done = mask_of(cpus).ok_or(libc::EINVAL).and_then(|mask| {
        let (bytes, address) = (size_of_val(mask.as_slice()), mask.as_ptr() as usize);
        // SAFETY: the kernel reads so many bytes of live integers.
        unsafe { raw::call3(libc::SYS_sched_setaffinity, thread as usize, bytes, address) }
    });
    done.map(drop).map_err(io::Error::from_raw_os_error)
}

/// The CPUs that the process had when a thread of it was first pinned.
static BEFORE: OnceLock<Vec<usize>> = OnceLock::new();

/// Pins the calling thread to one CPU.
///
/// # Errors
/// The kernel's: `EINVAL` if the CPU is offline or outside the cpuset.
pub fn pin(cpu: usize) -> io::Result<()> {
    if BEFORE.get().is_none() {
        let before = allowed_cpus()?;
        BEFORE.get_or_init(|| before);
    }
    set(0, &[cpu])
}

/// Does something on the CPUs that the process had before [`pin`], so that threads that it starts may use them all; the
/// calling thread is pinned again afterwards.
///
/// # Errors
/// The kernel's.
pub fn unpinned<T>(start: impl FnOnce() -> T) -> io::Result<T> {
    let Some(before) = BEFORE.get() else { return Ok(start()) };
    let own = allowed_cpus()?;
    set(0, before)?;
    let done = start();
    set(0, &own)?;
    Ok(done)
}

/// Lets another process of this user, if it has one thread, run on all these CPUs and no others.
///
/// # Errors
/// The kernel's: `ESRCH` if it is gone.
pub fn allow(pid: u32, cpus: &[usize]) -> io::Result<()> {
    // 0 would be the calling thread.
    if pid == 0 {
        return Err(io::Error::from_raw_os_error(libc::ESRCH));
    }
    set(pid, cpus)
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
        let before_all = before.clone();
        std::thread::spawn(move || {
            for cpu in before {
                pin(cpu).expect("an allowed CPU");
                assert_eq!(current_cpu(), cpu);
                assert_eq!(allowed_cpus().expect("readable"), [cpu]);
            }
            assert!(pin(100_000).is_err());
            // What is started unpinned has all CPUs again, and only that.
            let own = allowed_cpus().expect("readable");
            let started = unpinned(|| std::thread::spawn(allowed_cpus).join().expect("it ends"));
            let has = started.expect("allowed").expect("readable");
            assert!(before_all.iter().all(|cpu| has.contains(cpu)), "{has:?}");
            assert_eq!(allowed_cpus().expect("readable"), own);
        })
        .join()
        .expect("the thread ends");
    }

    /// A kernel for so many CPUs, of which these may be used.
    fn kernel(possible: usize, may: &[usize]) -> impl FnMut(&mut [usize]) -> Result<usize, i32> {
        let own = mask_of(may).expect("CPUs");
        move |mask| {
            if mask.len() * WORD < possible {
                return Err(libc::EINVAL);
            }
            mask[..own.len()].copy_from_slice(&own);
            Ok(possible.div_ceil(8))
        }
    }

    #[test]
    fn a_kernel_for_more_cpus_than_a_mask_has_is_given_a_longer_one() {
        for possible in [4, 1024, 1025, 8192, LONGEST * WORD] {
            let may = [0, 3, possible / 2, possible - 1];
            let mut expected = may.to_vec();
            expected.sort_unstable();
            expected.dedup();
            assert_eq!(allowed(kernel(possible, &may)).expect("a mask"), expected, "{possible}");
        }
        // It comes to an end where the kernel refuses whatever the length is.
        let refused = allowed(kernel(LONGEST * WORD + 1, &[0])).expect_err("no mask");
        assert_eq!(refused.raw_os_error(), Some(libc::EINVAL));
    }

    #[test]
    fn a_mask_is_as_long_as_its_highest_cpu_needs() {
        assert_eq!(mask_of(&[1, 0]), Some(vec![3]));
        assert_eq!(mask_of(&[1500]).map(|mask| mask.len()), Some(1500 / WORD + 1));
        assert_eq!(mask_of(&[]), None);
        assert_eq!(mask_of(&[usize::MAX]), None);
    }
}

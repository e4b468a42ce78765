//! The clock that times operations: the CPU's own counter where it can be trusted, else `CLOCK_MONOTONIC` through the
//! vDSO.
//!
//! # Safety
//! Reading the counter has no side effect; the inline assembly touches no memory.

use std::fs;

/// A clock that both workers and the coordinator agree on. Ticks are counter ticks, or nanoseconds in the fallback.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Clock {
    counter: bool,
}

impl Clock {
    /// The CPU counter. Only for machines where [`Clock::choose`] allows it.
    #[must_use]
    pub const fn counter() -> Self {
        Self { counter: true }
    }

    /// `CLOCK_MONOTONIC`: one tick is one nanosecond.
    #[must_use]
    pub const fn monotonic() -> Self {
        Self { counter: false }
    }

    /// The counter if the kernel itself trusts it (clock source, CPU flags) and reading it does not trap, else the
    /// fallback and the reason.
    #[must_use]
    pub fn choose() -> (Self, Option<String>) {
        match counter_objection(&SystemFacts::read()) {
            None => (Self::counter(), None),
            Some(reason) => (Self::monotonic(), Some(reason)),
        }
    }

    /// Whether this is the CPU counter.
    #[must_use]
    pub const fn is_counter(self) -> bool {
        self.counter
    }

    /// `tsc`, `cntvct` or `clock_monotonic`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match (self.counter, cfg!(target_arch = "x86_64")) {
            (true, true) => "tsc",
            (true, false) => "cntvct",
            (false, _) => "clock_monotonic",
        }
    }

    /// Before an operation: nothing of the operation runs before the reading, nothing earlier runs after it.
    #[inline(always)]
    #[must_use]
    pub fn start(self) -> u64 {
        if self.counter { counter_start() } else { monotonic_ns() }
    }

    /// After an operation: the whole operation has run before the reading.
    #[inline(always)]
    #[must_use]
    pub fn stop(self) -> u64 {
        if self.counter { counter_stop() } else { monotonic_ns() }
    }

    /// The tightest of 25 readings of this clock between two readings of `CLOCK_MONOTONIC_RAW`, as (ticks, ns).
    #[must_use]
    pub fn pair(self) -> (u64, u64) {
        (0..25)
            .map(|_| {
                let before = raw_ns();
                let ticks = self.stop();
                let after = raw_ns();
                (after - before, ticks, before + (after - before) / 2)
            })
            .min()
            .map(|(_, ticks, nanos)| (ticks, nanos))
            .expect("25 readings")
    }
}

#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn counter_start() -> u64 {
    let (low, high): (u32, u32);
    // SAFETY: module note. The first fence waits for everything before, the second holds back everything after.
    unsafe {
        std::arch::asm!("lfence", "rdtsc", "lfence", out("eax") low, out("edx") high, options(nostack, preserves_flags));
    }
    u64::from(high) << 32 | u64::from(low)
}

#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn counter_stop() -> u64 {
    let (low, high): (u32, u32);
    // SAFETY: module note. The fence waits for the operation to finish; what follows may overlap the reading, which
    // costs the next operation nothing because `start` fences again.
    unsafe {
        std::arch::asm!("lfence", "rdtsc", out("eax") low, out("edx") high, options(nostack, preserves_flags));
    }
    u64::from(high) << 32 | u64::from(low)
}

#[cfg(target_arch = "aarch64")]
#[inline(always)]
fn counter_start() -> u64 {
    let ticks: u64;
    // SAFETY: module note. CNTVCT_EL0 is readable from user space on Linux; ISB orders it.
    unsafe {
        std::arch::asm!("isb", "mrs {}, cntvct_el0", "isb", out(reg) ticks, options(nostack, preserves_flags));
    }
    ticks
}

#[cfg(target_arch = "aarch64")]
#[inline(always)]
fn counter_stop() -> u64 {
    let ticks: u64;
    // SAFETY: as `counter_start`.
    unsafe {
        std::arch::asm!("isb", "mrs {}, cntvct_el0", out(reg) ticks, options(nostack, preserves_flags));
    }
    ticks
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
fn counter_start() -> u64 {
    monotonic_ns()
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
fn counter_stop() -> u64 {
    monotonic_ns()
}

fn clock_ns(clock: libc::clockid_t) -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is a valid place for the result; these clocks exist on every Linux.
    unsafe { libc::clock_gettime(clock, &raw mut time) };
    time.tv_sec.cast_unsigned() * 1_000_000_000 + time.tv_nsec.cast_unsigned()
}

/// `CLOCK_MONOTONIC`, ns. Out of line, so that the counter path of the hot loop stays small.
#[cold]
#[inline(never)]
#[must_use]
pub fn monotonic_ns() -> u64 {
    clock_ns(libc::CLOCK_MONOTONIC)
}

/// `CLOCK_BOOTTIME`, ns: as `CLOCK_MONOTONIC`, and it goes on while the machine is suspended.
#[must_use]
pub fn boottime_ns() -> u64 {
    clock_ns(libc::CLOCK_BOOTTIME)
}

/// `CLOCK_MONOTONIC_RAW`, ns: not slewed by time synchronisation.
#[must_use]
pub fn raw_ns() -> u64 {
    clock_ns(libc::CLOCK_MONOTONIC_RAW)
}

/// The step of the coarse clocks, ns: the time between two timer interrupts, as the kernel rounds it. `None` where the
/// system call is refused.
#[must_use]
pub fn coarse_step_ns() -> Option<u64> {
    let mut step = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `step` is a valid place for the result.
    let read = unsafe { libc::clock_getres(libc::CLOCK_MONOTONIC_COARSE, &raw mut step) };
    let ns = step.tv_sec.cast_unsigned() * 1_000_000_000 + step.tv_nsec.cast_unsigned();
    (read == 0).then_some(ns)
}

/// CPU time of this process, ns.
#[must_use]
pub fn process_cpu_ns() -> u64 {
    clock_ns(libc::CLOCK_PROCESS_CPUTIME_ID)
}

/// CPU time of a process of others, all its threads together, ns; `None` where there is none.
#[must_use]
pub fn cpu_ns_of(pid: u32) -> Option<u64> {
    // `clock_getcpuclockid(3)` makes the same number: the complement of the process, and which of its clocks.
    let clock = (!pid.cast_signed() << 3) | 2;
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is a valid place for the result; a clock that does not exist is refused.
    let read = unsafe { libc::clock_gettime(clock, &raw mut time) };
    let ns = time.tv_sec.cast_unsigned() * 1_000_000_000 + time.tv_nsec.cast_unsigned();
    (read == 0).then_some(ns)
}

/// What the choice of the clock depends on; a value, so that it can be tested without such machines.
#[derive(Clone, Debug)]
struct SystemFacts {
    clock_source: Option<String>,
    cpu_flags: Option<String>,
    read_p50_ns: f64,
}

impl SystemFacts {
    fn read() -> Self {
        Self {
            clock_source: fs::read_to_string(
                "/sys/devices/system/clocksource/clocksource0/current_clocksource",
            )
            .ok()
            .map(|text| text.trim().to_owned()),
            cpu_flags: fs::read_to_string("/proc/cpuinfo").ok().and_then(|text| {
                text.lines().find(|line| line.starts_with("flags")).map(str::to_owned)
            }),
            read_p50_ns: counter_read_p50_ns(),
        }
    }
}

/// A counter that traps to the hypervisor costs microseconds; an honest one below 50 ns.
fn counter_read_p50_ns() -> f64 {
    const READS: u32 = 100;
    let mut batches: Vec<u64> = (0..11)
        .map(|_| {
            let before = raw_ns();
            for _ in 0..READS {
                std::hint::black_box(counter_stop());
            }
            raw_ns() - before
        })
        .collect();
    batches.sort_unstable();
    batches[batches.len() / 2] as f64 / f64::from(READS)
}

fn counter_objection(facts: &SystemFacts) -> Option<String> {
    if facts.read_p50_ns > 50.0 {
        return Some(format!(
            "reading the CPU counter takes {:.0} ns (it may trap)",
            facts.read_p50_ns
        ));
    }
    if cfg!(target_arch = "x86_64") {
        match facts.clock_source.as_deref() {
            Some("tsc") => {}
            Some(other) => return Some(format!("the kernel uses clock source '{other}', not tsc")),
            None => return Some("the kernel's clock source is not readable".into()),
        }
        let flags = facts.cpu_flags.as_deref().unwrap_or_default();
        for flag in ["constant_tsc", "nonstop_tsc"] {
            if !flags.split_ascii_whitespace().any(|word| word == flag) {
                return Some(format!("the CPU does not have {flag}"));
            }
        }
        None
    } else if cfg!(target_arch = "aarch64") {
        None
    } else {
        Some("no counter is known for this architecture".into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg(target_arch = "x86_64")]
    fn the_counter_is_used_only_where_the_kernel_trusts_it() {
        let good = || SystemFacts {
            clock_source: Some("tsc".into()),
            cpu_flags: Some("flags : fpu constant_tsc nonstop_tsc".into()),
            read_p50_ns: 9.0,
        };
        assert_eq!(counter_objection(&good()), None);
        let hpet = SystemFacts { clock_source: Some("hpet".into()), ..good() };
        assert!(counter_objection(&hpet).expect("refused").contains("hpet"));
        let unreadable = SystemFacts { clock_source: None, ..good() };
        assert!(counter_objection(&unreadable).is_some());
        let stops = SystemFacts { cpu_flags: Some("flags : constant_tsc".into()), ..good() };
        assert!(counter_objection(&stops).expect("refused").contains("nonstop_tsc"));
        let traps = SystemFacts { read_p50_ns: 1200.0, ..good() };
        assert!(counter_objection(&traps).expect("refused").contains("trap"));
    }

    #[test]
    fn both_clocks_run_forward() {
        for clock in [Clock::choose().0, Clock::monotonic()] {
            let mut last = clock.start();
            for _ in 0..10_000 {
                let now = clock.stop();
                assert!(now >= last);
                last = now;
            }
        }
    }
}

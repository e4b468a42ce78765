//! Facts that change from moment to moment and are therefore measured: load, steal, interrupts, the clock, wake-ups.

use super::standing::noted_if;
use crate::bounds::Bound;
use crate::noise::{BUSY, Row, STEAL};
use crate::run::{Bench, Bounded};
use ipcperf_core::result::{Check, Host};
use ipcperf_core::units::{format_nanos, percent, significant};
use ipcperf_core::{Idle, findings};
use ipcperf_sys::clock::{Clock, monotonic_ns};
use ipcperf_sys::qos::PollIdle;
use ipcperf_sys::signals::Interrupts;
use ipcperf_sys::{affinity, procfs};
use std::io;
use std::time::{Duration, Instant};

/// How long the machine is watched while nothing of ours runs. The kernel's times step by 10 ms, so this resolves 2 %
/// of one CPU.
const WATCH: Duration = Duration::from_millis(500);
/// How long a CPU is spun on to see what interrupts it: five ticks of a slow kernel's clock (100 Hz) are 50 ms.
const SPIN: Duration = Duration::from_millis(250);
/// How often a wake-up is measured until it has a figure.
const TRIES: usize = 3;
/// How long one measurement may take.
const PATIENCE: Duration = Duration::from_secs(10);
/// A gap between two readings of the clock is an interruption from here on, ns (METHOD.md), or from 20 readings on.
const LEAST_GAP_NS: f64 = 1000.0;

/// Up to this many interrupts per second are normal: timer ticks of any kernel (1000 Hz at most), and as many others.
const MOST_INTERRUPTS: f64 = 2000.0;

/// Copies that differ by this factor or more are reported.
const UNEVEN: f64 = 1.1;

/// A first return after a switch is reported from here on, ns: a return that is predicted takes about one.
const DEAR_RETURN_NS: f64 = 50.0;

/// Share of the time of a spinning CPU that was lost to interruptions (METHOD.md).
pub(super) const INTERRUPTED: Row = Row {
    limits: [0.001, 0.005, 0.03, 0.10],
    words: |share| format!("a busy-waiting CPU was interrupted {} of the time", percent(share)),
};

/// What was measured. What could not be had is absent.
#[derive(Debug, Default)]
pub(super) struct Moving {
    /// CPUs that were busy while nothing of ours ran.
    pub(super) busy_cpus: Option<f64>,
    /// Share of all CPU time that the hypervisor took meanwhile and while a CPU was spun on.
    pub(super) stolen: Option<f64>,
    /// The same since the machine was started.
    pub(super) stolen_ever: Option<f64>,
    /// Interrupts in a second, by CPU.
    pub(super) interrupts: Vec<(usize, f64)>,
    /// What interrupts a CPU that spins.
    pub(super) gaps: Vec<Gaps>,
    pub(super) clock: String,
    pub(super) fallback: Option<String>,
    /// One reading of the clock at both ends of an operation, ns.
    pub(super) clock_ns: Option<f64>,
    pub(super) null_call_ns: Option<f64>,
    /// Copying a large message in and out, ns: its buffer begins a page, and as one of malloc(3).
    pub(super) copied_ns: Option<[f64; 2]>,
    /// A futex wake-up round trip across two CPUs, ns: as the machine is, and with idle CPUs polling.
    pub(super) wake_ns: [Option<f64>; 2],
    /// The first return after a switch of tasks, and after a call without one, ns.
    pub(super) return_ns: Option<[f64; 2]>,
}

/// Interruptions of one CPU.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Gaps {
    pub(super) cpu: usize,
    /// Share of the time that went into them.
    pub(super) share: f64,
    /// How many in a second.
    pub(super) per_second: f64,
    /// The longest, ns.
    pub(super) longest_ns: f64,
}

/// Measures; `None` if the user interrupted.
pub(super) fn measure(host: &Host, interrupts: Option<&Interrupts>) -> io::Result<Option<Moving>> {
    let mut moving = Moving::default();
    let pair: Vec<usize> = host.cpus_allowed.iter().take(2).copied().collect();
    let (began, steal) = (Instant::now(), procfs::steal_ns());
    let rest = procfs::rest_ns();
    let fired = procfs::interrupts_by_cpu();
    std::thread::sleep(WATCH);
    let watched = began.elapsed().as_nanos() as f64;
    if let (Some((cpus, before)), Some((_, after))) = (rest, procfs::rest_ns()) {
        // The time that CPUs waited for a disk may shrink (`proc(5)`).
        let rested = after.saturating_sub(before) as f64;
        moving.busy_cpus = Some((cpus as f64 - rested / watched).max(0.0));
    }
    if let (Some(before), Some(after)) = (fired, procfs::interrupts_by_cpu()) {
        let rates = after.iter().filter(|(cpu, _)| pair.contains(*cpu)).map(|(cpu, count)| {
            let earlier = before.get(cpu).copied().unwrap_or(0);
            (*cpu, count.saturating_sub(earlier) as f64 / watched * 1e9)
        });
        moving.interrupts = rates.collect();
    }
    let mut bench = Bench::open(crate::run::fresh_seed(), interrupts)?;
    let ns = bench.ns_per_tick();
    let (clock, fallback) = Clock::choose();
    (moving.clock, moving.fallback) = (clock.name().to_owned(), fallback);
    let Some(first) = pair.first() else { return Ok(Some(moving)) };
    match bench.measure_bound(&Bound::Offsets, &[*first], PATIENCE)? {
        Bounded::Found { values, .. } => {
            let [page, malloc] =
                ["page", "malloc"].map(|name| values.get(name).map(|ticks| ticks * ns));
            moving.copied_ns = page.zip(malloc).map(|(page, malloc)| [page, malloc]);
        }
        Bounded::Interrupted => return Ok(None),
        Bounded::Failed(..) => {}
    }
    let mut one =
        |what: Bound, cpus: &[usize], name: &str| -> io::Result<Result<Option<f64>, ()>> {
            Ok(match bench.measure_bound(&what, cpus, PATIENCE)? {
                Bounded::Found { values, .. } => Ok(values.get(name).map(|ticks| ticks * ns)),
                Bounded::Interrupted => Err(()),
                Bounded::Failed(..) => Ok(None),
            })
        };
    let (Ok(clock_ns), Ok(null_call_ns)) =
        (one(Bound::Clock, &[*first], "p50")?, one(Bound::Alone, &[*first], "syscall")?)
    else {
        return Ok(None);
    };
    (moving.clock_ns, moving.null_call_ns) = (clock_ns, null_call_ns);
    if pair.len() == 2 {
        for (at, idle) in [Idle::AsIs, Idle::Poll].into_iter().enumerate() {
            let _held = match idle {
                Idle::AsIs => None,
                Idle::Poll if PollIdle::objection().is_some() => continue,
                Idle::Poll => Some(PollIdle::hold()?),
            };
            // An end that is held up may leave it without a figure.
            for _ in 0..TRIES {
                let Ok(wake) = one(Bound::FutexWake, &pair, "rtt")? else { return Ok(None) };
                moving.wake_ns[at] = wake;
                if wake.is_some() {
                    break;
                }
            }
        }
    }
    match bench.measure_bound(&Bound::Returns, &[*first; 2], PATIENCE)? {
        Bounded::Found { values, .. } => {
            let both = ["return:switch", "return:call"].map(|name| values.get(name).copied());
            moving.return_ns = match both {
                [Some(switch), Some(call)] => Some([switch * ns, call * ns]),
                _ => None,
            };
        }
        Bounded::Interrupted => return Ok(None),
        Bounded::Failed(..) => {}
    }
    for cpu in &pair {
        moving.gaps.extend(gaps_on(*cpu, clock_ns.unwrap_or(0.0)));
    }
    if let (Some(before), Some(after)) = (steal, procfs::steal_ns()) {
        let all = began.elapsed().as_nanos() as f64 * host.cpus_online.len().max(1) as f64;
        moving.stolen = Some(after.saturating_sub(before) as f64 / all);
    }
    moving.stolen_ever = procfs::stolen_share();
    Ok(Some(moving))
}

/// Spins on a CPU and looks for gaps between readings of the clock; `None` where the CPU cannot be had.
fn gaps_on(cpu: usize, clock_ns: f64) -> Option<Gaps> {
    let spin = move || {
        affinity::pin(cpu).ok()?;
        let least = LEAST_GAP_NS.max(20.0 * clock_ns) as u64;
        let begin = monotonic_ns();
        let end = begin + SPIN.as_nanos() as u64;
        let (mut last, mut gaps) = (begin, Vec::new());
        while last < end {
            let now = monotonic_ns();
            if now - last > least {
                gaps.push(now - last);
            }
            last = now;
        }
        Some(Gaps::of(cpu, &gaps, last - begin))
    };
    std::thread::Builder::new().spawn(spin).ok()?.join().ok()?
}

impl Gaps {
    fn of(cpu: usize, gaps: &[u64], all_ns: u64) -> Self {
        let all = all_ns.max(1) as f64;
        Self {
            cpu,
            share: gaps.iter().sum::<u64>() as f64 / all,
            per_second: gaps.len() as f64 / all * 1e9,
            longest_ns: gaps.iter().copied().max().unwrap_or(0) as f64,
        }
    }
}

impl Moving {
    /// What follows from it.
    pub(super) fn checks(&self, host: &Host) -> Vec<Check> {
        let mut checks = vec![self.clock_check()];
        checks.extend(self.call_check());
        checks.extend(self.copy_check());
        checks.extend(self.wake_check(host));
        checks.extend(self.load_check(host));
        checks.extend(self.steal_check(host));
        checks.extend(self.gap_check());
        checks.extend(self.interrupt_check());
        checks.push(self.return_check());
        checks
    }

    fn return_check(&self) -> Check {
        let Some([switch, call]) = self.return_ns else {
            let why = ipcperf_sys::returns::OBJECTION
                .unwrap_or("no figure was had; repeat ipcperf doctor");
            return findings::NO_RETURN.fine(format!("not measured: {why}"));
        };
        // What noise leaves of nothing may be below it.
        let [after_switch, after_call] = [switch, call].map(|ns| format_nanos(ns.max(0.0)));
        let found = format!(
            "{after_switch} after a switch of tasks, {after_call} after a call without one"
        );
        noted_if(switch > DEAR_RETURN_NS, &findings::RETURN, found)
    }

    fn clock_check(&self) -> Check {
        let mut found = self.clock.clone();
        if let Some(ns) = self.clock_ns {
            found.push_str(&format!(", {} for the two readings of an operation", format_nanos(ns)));
        }
        match &self.fallback {
            None => findings::FALLBACK.fine(found),
            Some(reason) => findings::FALLBACK.noted(found, &[&format!(" ({reason})")]),
        }
    }

    fn call_check(&self) -> Option<Check> {
        let ns = self.null_call_ns?;
        Some(findings::CALL.fine(format!("{} for one that does nothing", format_nanos(ns))))
    }

    fn copy_check(&self) -> Option<Check> {
        let [page, malloc] = self.copied_ns?;
        let found = format!(
            "512 KiB in and out, page by page: {} from a buffer at the start of a page, {} from 16 bytes after it, where \
             malloc(3) puts it",
            format_nanos(page),
            format_nanos(malloc)
        );
        let ratio = malloc / page;
        Some(match ratio < UNEVEN {
            true => findings::COPY.fine(found),
            false => {
                let times = format!(" (copying itself by {} times)", significant(ratio));
                findings::COPY.noted(found, &[&times])
            }
        })
    }

    fn wake_check(&self, host: &Host) -> Option<Check> {
        let [as_is, polled] = self.wake_ns;
        let Some(as_is) = as_is else {
            let is_possible = host.cpus_allowed.len() > 1;
            return is_possible.then(|| findings::NO_WAKEUP.noted("not measured", &[]));
        };
        let mut found = format!("{} per round trip across two CPUs (futex)", format_nanos(as_is));
        if let Some(polled) = polled {
            found.push_str(&format!(", {} with idle CPUs polling", format_nanos(polled)));
        }
        let is_idle = polled.is_some_and(|polled| as_is >= 2.0 * polled);
        let row = match (polled, host.may_poll_idle) {
            _ if is_idle => findings::WAKEUP_IDLE,
            (None, false) => findings::WAKEUP_ROOT,
            _ => findings::WAKEUP,
        };
        Some(row.noted(found, &[]))
    }

    fn load_check(&self, host: &Host) -> Option<Check> {
        let busy = self.busy_cpus?;
        let share = busy / host.cpus_online.len().max(1) as f64;
        let found = format!("{} of {} CPUs are busy", significant(busy), host.cpus_online.len());
        Some(noted_if(share > BUSY.limits[1], &findings::PROGRAMS, found))
    }

    fn steal_check(&self, host: &Host) -> Option<Check> {
        let stolen = self.stolen?;
        let ever = self.stolen_ever.map_or_else(String::new, |ever| {
            format!(", {} % since the start of the machine", significant(ever * 100.0))
        });
        let found = format!("{} % of the CPU time{ever}", significant(stolen * 100.0));
        if host.hypervisor.is_some() && stolen == 0.0 && self.stolen_ever == Some(0.0) {
            return Some(findings::HIDDEN_STEAL.noted(found, &[]));
        }
        Some(noted_if(stolen > STEAL.limits[1], &findings::STEAL, found))
    }

    fn gap_check(&self) -> Option<Check> {
        let worst = self.gaps.iter().max_by(|a, b| a.share.total_cmp(&b.share))?;
        let longest = self.gaps.iter().map(|gap| gap.longest_ns).fold(0.0, f64::max);
        let found = format!(
            "{} % of the time of CPU {}, {} per second, the longest {}",
            significant(worst.share * 100.0),
            worst.cpu,
            significant(worst.per_second),
            format_nanos(longest)
        );
        Some(noted_if(worst.share > INTERRUPTED.limits[1], &findings::GAPS, found))
    }

    fn interrupt_check(&self) -> Option<Check> {
        let found: Vec<String> = self
            .interrupts
            .iter()
            .map(|(cpu, rate)| format!("CPU {cpu} {}", significant(*rate)))
            .collect();
        if found.is_empty() {
            return None;
        }
        let are_many = self.interrupts.iter().any(|(_, rate)| *rate > MOST_INTERRUPTS);
        Some(noted_if(are_many, &findings::IRQ, found.join(", ")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ipcperf_core::result::Rating;

    #[test]
    fn gaps_are_a_share_a_rate_and_a_longest() {
        let gaps = Gaps::of(3, &[2_000, 8_000], 1_000_000);
        let wanted = Gaps { cpu: 3, share: 0.01, per_second: 2_000.0, longest_ns: 8_000.0 };
        assert_eq!(gaps, wanted);
        assert_eq!(Gaps::of(0, &[], 0).share, 0.0);
    }

    #[test]
    fn a_fallback_clock_is_a_warning_with_its_reason() {
        let moving =
            Moving { fallback: Some("the clock source is hpet".into()), ..Moving::default() };
        let check = moving.clock_check();
        assert_eq!(check.rating, Rating::Warning);
        assert!(check.consequence.contains("hpet"), "{}", check.consequence);
        assert_eq!(Moving::default().clock_check().rating, Rating::Fine);
    }

    #[test]
    fn copies_that_depend_on_where_a_buffer_begins_are_reported() {
        let check = |malloc| {
            let moving = Moving { copied_ns: Some([20_000.0, malloc]), ..Moving::default() };
            moving.copy_check().expect("measured")
        };
        assert_eq!((check(21_000.0).rating, check(15_000.0).rating), (Rating::Fine, Rating::Fine));
        let uneven = check(50_000.0);
        assert!(
            uneven.rating == Rating::Note && uneven.consequence.contains("2.50 times"),
            "{uneven:?}"
        );
        assert!(Moving::default().copy_check().is_none());
    }

    #[test]
    fn interrupts_beyond_those_of_the_clock_are_reported_with_what_they_cost() {
        let check = |rate| {
            let moving = Moving { interrupts: vec![(0, 100.0), (1, rate)], ..Moving::default() };
            moving.interrupt_check().expect("read")
        };
        assert_eq!(check(1000.0).rating, Rating::Fine);
        let many = check(30_000.0);
        assert!(many.rating == Rating::Note && many.remedy.contains("smp_affinity"), "{many:?}");
    }

    #[test]
    fn a_wake_up_says_what_it_means_and_whether_it_is_mostly_leaving_idle() {
        let wake = |as_is, polled| {
            let moving = Moving { wake_ns: [Some(as_is), polled], ..Moving::default() };
            let check = moving.wake_check(&Host::default()).expect("measured");
            assert!(check.rating == Rating::Note && !check.remedy.is_empty(), "{check:?}");
            // Every command is complete.
            assert!(!check.remedy.contains("run --"), "{check:?}");
            check.consequence
        };
        assert!(wake(50_000.0, Some(4_000.0)).contains("leaving idle"));
        for polled in [Some(4_000.0), None] {
            assert!(wake(5_000.0, polled).contains("the floor for blocking IPC"));
        }
        assert!(Moving::default().wake_check(&Host::default()).is_none());
        let two = Host { cpus_allowed: vec![0, 1], ..Host::default() };
        let check = Moving::default().wake_check(&two).expect("it says that nothing is known");
        assert_eq!((check.found.as_str(), check.rating), ("not measured", Rating::Note));
    }
}

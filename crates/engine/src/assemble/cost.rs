//! Costs of a message other than time: CPU of both processes and of the machine, energy, switches, faults.

use super::metric::interval;
use super::sliced::Sliced;
use crate::plan::CellPlan;
use ipcperf_core::result::{Cell, CpuCost, Metric, Round, Scheduled, SideCovariates, SideCpu};
use ipcperf_stats::median_estimate;
use ipcperf_sys::meter::{ENERGY_WINDOW_NS, Span};

/// Steps of the kernel's busy times that a figure of the whole machine needs, so that their width is a twentieth of it.
const FEWEST_TICKS: u64 = 20;

/// A machine that was busy for less than this share of what both ends used is none: that far the steps of the kernel's
/// times can be off.
const DISPLACED: f64 = 0.9;

/// What of the machine decides how its costs are to be read.
#[derive(Clone, Debug)]
pub(super) struct Circumstances {
    pub(super) is_guest: bool,
    /// Times are divided into user and system at every change.
    pub(super) is_precise: bool,
    /// The machine without a load.
    pub(super) idle: Span,
    /// Why no energy counter can be read.
    pub(super) no_energy: Option<String>,
    /// The step of the kernel's times, ns.
    pub(super) tick_ns: u64,
}

/// Fills in the costs of a measured cell from the rounds that speak for it.
pub(super) fn costs(cell: &mut Cell, kept: &[&Sliced], plan: &CellPlan, around: &Circumstances) {
    let rounds: Vec<&Round> = kept.iter().map(|slice| &slice.round).collect();
    let messages = rounds.iter().map(|round| round.cost_messages()).sum::<u64>().max(1) as f64;
    let per_message = |part: &dyn Fn(&Round) -> u64| {
        rounds.iter().map(|round| part(round)).sum::<u64>() as f64 / messages
    };
    // What some rounds do not know is not that of the others.
    let is_known = rounds.iter().all(|round| round.is_cpu_known());
    cell.cpu_ns_per_message = if is_known { cpu(&rounds, plan, around) } else { None };
    let sides = |count: fn(&SideCovariates) -> u64| {
        let both = |round: &Round| {
            count(&round.covariates.lead).saturating_add(count(&round.covariates.follow))
        };
        is_known.then(|| per_message(&both))
    };
    cell.context_switches_per_message =
        sides(|side| side.voluntary_switches + side.involuntary_switches);
    cell.voluntary_switches_per_message = sides(|side| side.voluntary_switches);
    cell.involuntary_switches_per_message = sides(|side| side.involuntary_switches);
    cell.page_faults_per_message = sides(|side| side.minor_faults + side.major_faults);
    cell.ipis_per_message = rounds
        .iter()
        .map(|round| round.covariates.ipis)
        .sum::<Option<u64>>()
        .filter(|_| !rounds.is_empty())
        .map(|count| count as f64 / messages);
    cell.machine_cpu_ns_per_message = Some(share(machine(&rounds, around), messages, "/proc/stat"));
    if let Some(Scheduled { lead, follow }) = &mut cell.scheduled {
        lead.run_delay_per_wakeup_ns = run_delay(&rounds, |round| &round.covariates.lead);
        follow.run_delay_per_wakeup_ns = run_delay(&rounds, |round| &round.covariates.follow);
    }
    cell.energy_nj_per_message = Some(share(energy(&rounds, around), messages, "RAPL packages"));
}

/// CPU time per message: the median over rounds, as of every figure with an interval, so that one round in which the host
/// put both CPUs on one core decides nothing. Its parts are shares of it. A kernel that divides times by ticks shows in
/// most rounds no user time at all, so that only all rounds together say how it is divided.
fn cpu(rounds: &[&Round], plan: &CellPlan, around: &Circumstances) -> Option<CpuCost> {
    let costs: Vec<f64> = rounds.iter().filter_map(|round| round.cpu_ns_per_message()).collect();
    let estimate = median_estimate(&costs)?;
    let sum = |part: fn(&SideCpu) -> u64| {
        rounds.iter().map(|round| part(&round.cpu_ns)).sum::<u64>() as f64
    };
    let divided = |a: f64, b: f64| {
        let first = if a + b > 0.0 { estimate.value * (a / (a + b)) } else { 0.0 };
        (first, estimate.value - first)
    };
    let (lead, follow) = divided(sum(|cpu| cpu.lead), sum(|cpu| cpu.follow));
    let (user, system) = divided(sum(|cpu| cpu.user), sum(|cpu| cpu.system));
    Some(CpuCost {
        total: Some(estimate.value),
        lead,
        follow,
        user,
        system,
        split_is_approximate: !around.is_precise,
        excludes_hypervisor: around.is_guest,
        spinning: plan.entry.spec.wait.burns_cpu(),
        ci95: interval(estimate),
    })
}

/// How long an end was ready but not running each time that it was woken, ns: it waits once for each voluntary switch.
fn run_delay(rounds: &[&Round], side: fn(&Round) -> &SideCovariates) -> Option<Metric> {
    let of_round = |round: &Round| {
        let SideCovariates { run_delay_ns, voluntary_switches, .. } = side(round);
        run_delay_ns
            .filter(|_| *voluntary_switches > 0)
            .map(|ns| ns as f64 / *voluntary_switches as f64)
    };
    let each: Vec<f64> = rounds.iter().filter_map(|round| of_round(round)).collect();
    let estimate = median_estimate(&each)?;
    Some(Metric { value: Some(estimate.value), ci95: interval(estimate), ..Metric::default() })
}

/// A total as a figure per message. Of all rounds together, and so without an interval: the kernel counts in steps that
/// are wider than most rounds are long.
fn share(total: Result<f64, String>, messages: f64, source: &str) -> Metric {
    match total {
        Ok(total) => Metric {
            value: Some(total / messages),
            method: Some(format!("{source} less idle baseline")),
            ..Metric::default()
        },
        Err(reason) => Metric::missing(reason),
    }
}

/// Length of the rounds' windows together, ns.
fn window_ns(rounds: &[&Round]) -> f64 {
    rounds.iter().map(|round| round.covariates.machine_window_ns).sum::<u64>() as f64
}

/// Busy time of the machine in the rounds that is not there without them, ns. The steps of the kernel's times are too
/// wide for one slice, so all rounds are taken together.
fn machine(rounds: &[&Round], around: &Circumstances) -> Result<f64, String> {
    // Only slices of two ends read it; where it could be read in the pauses, its absence here means another pattern.
    let unreadable = || match around.idle.busy_ns {
        Some(_) => "the machine is not watched in this pattern".to_owned(),
        None => "/proc/stat is not readable".to_owned(),
    };
    let busy = rounds.iter().map(|round| round.covariates.machine_busy_ns).sum::<Option<u64>>();
    let busy = busy.ok_or_else(unreadable)?;
    let idle = around.idle.busy_ns.ok_or_else(unreadable)?;
    let least = FEWEST_TICKS * around.tick_ns;
    if around.idle.window_ns < least {
        return Err(format!(
            "the idle baseline needs {} ms of pauses between slices, has {:.0}",
            least / 1_000_000,
            around.idle.window_ns as f64 / 1e6
        ));
    }
    let beside =
        rounds.iter().filter_map(|round| round.neighbour).map(|one| one.cpu_ns).sum::<u64>();
    let busy = busy.saturating_sub(beside);
    let total = busy as f64 - idle as f64 / around.idle.window_ns as f64 * window_ns(rounds);
    let ticks = total / around.tick_ns as f64;
    if ticks < FEWEST_TICKS as f64 {
        return Err(format!(
            "needs {FEWEST_TICKS} ticks of {} ms above the idle baseline, has {:.0}",
            around.tick_ns / 1_000_000,
            ticks.max(0.0)
        ));
    }
    // Where other programs want the CPUs, too, what they lose while the ends run is missing from the difference.
    let own = rounds.iter().map(|round| round.cpu_ns.lead + round.cpu_ns.follow).sum::<u64>();
    if total < own as f64 * DISPLACED {
        return Err("other programs were busy: less is left than both ends used".into());
    }
    Ok(total)
}

/// The same for energy, nJ.
fn energy(rounds: &[&Round], around: &Circumstances) -> Result<f64, String> {
    if let Some(reason) = &around.no_energy {
        return Err(reason.clone());
    }
    let measured = rounds.iter().map(|round| round.covariates.energy_uj).sum::<Option<u64>>();
    if rounds.iter().any(|round| round.neighbour.is_some()) {
        return Err("the neighbour needs energy, too, and no counter tells the two apart".into());
    }
    if rounds.iter().all(|round| round.covariates.machine_busy_ns.is_none()) {
        return Err("the machine is not watched in this pattern".into());
    }
    let (Some(drawn), Some(idle)) = (measured, around.idle.energy_uj) else {
        return Err(format!(
            "energy needs windows of {} s: --slice 1s",
            ENERGY_WINDOW_NS / 1_000_000_000
        ));
    };
    let above = drawn as f64 - idle as f64 / around.idle.window_ns as f64 * window_ns(rounds);
    if above > 0.0 { Ok(above * 1e3) } else { Err("not above the idle baseline".into()) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ipcperf_core::result::Covariates;

    fn round(busy_ms: u64, window_ms: u64, energy_uj: Option<u64>) -> Round {
        Round {
            covariates: Covariates {
                machine_window_ns: window_ms * 1_000_000,
                machine_busy_ns: Some(busy_ms * 1_000_000),
                energy_uj,
                ..Covariates::default()
            },
            ..super::super::tests::empty_round()
        }
    }

    fn around(window_ms: u64, busy_ms: u64) -> Circumstances {
        let idle = Span {
            window_ns: window_ms * 1_000_000,
            busy_ns: Some(busy_ms * 1_000_000),
            energy_uj: Some(window_ms * 1000),
        };
        Circumstances {
            is_guest: false,
            is_precise: true,
            idle,
            no_energy: None,
            tick_ns: 10_000_000,
        }
    }

    #[test]
    fn the_idle_baseline_is_taken_off_by_time() {
        let rounds = [round(150, 100, None), round(170, 100, None)];
        let rounds: Vec<&Round> = rounds.iter().collect();
        // A tenth of a CPU is busy anyway: 20 ms of the 200.
        assert_eq!(machine(&rounds, &around(1000, 100)), Ok(300e6));
        assert!(machine(&rounds, &around(1000, 1000)).expect_err("too few").contains("has 12"));
        assert!(machine(&rounds, &around(1000, 1900)).expect_err("none").contains("has 0"));
        assert!(machine(&rounds, &around(199, 0)).expect_err("short").contains("idle baseline"));
        let mut displaced = round(150, 100, None);
        displaced.cpu_ns.lead = 160_000_000;
        assert_eq!(machine(&[&displaced, &displaced], &around(1000, 0)), Ok(300e6));
        displaced.cpu_ns.follow = 10_000_000;
        assert!(machine(&[&displaced; 2], &around(1000, 0)).expect_err("lost").contains("other"));
        let blind = Circumstances { idle: Span::default(), ..around(1000, 0) };
        assert!(machine(&rounds, &blind).expect_err("blind").contains("not readable"));
    }

    #[test]
    fn energy_is_a_figure_or_a_reason_and_never_zero() {
        // 1 W at rest; 3 J in a second with the load.
        let loaded = round(0, 1000, Some(3_000_000));
        assert_eq!(energy(&[&loaded], &around(1000, 0)), Ok(2e9));
        let short = round(0, 100, None);
        assert!(
            energy(&[&loaded, &short], &around(1000, 0)).expect_err("short").contains("--slice")
        );
        let cooler = round(0, 1000, Some(900_000));
        assert!(energy(&[&cooler], &around(1000, 0)).is_err());
        let without = Circumstances { no_energy: Some("no counters".into()), ..around(1000, 0) };
        assert_eq!(energy(&[&loaded], &without), Err("no counters".into()));
        let missing = share(Err("no counters".into()), 10.0, "RAPL");
        assert_eq!((missing.value, missing.reason.as_deref()), (None, Some("no counters")));
    }

    #[test]
    fn a_run_delay_is_per_wake_up_and_none_where_an_end_was_never_woken() {
        let round = |delay, switches| {
            let mut round = Round::default();
            round.covariates.lead.run_delay_ns = delay;
            round.covariates.lead.voluntary_switches = switches;
            round
        };
        let of = |rounds: &[Round]| {
            let rounds: Vec<&Round> = rounds.iter().collect();
            run_delay(&rounds, |round| &round.covariates.lead)
        };
        let six = [100, 200, 300, 400, 500, 600].map(|ns| round(Some(ns), 10));
        let found = of(&six).expect("six rounds");
        assert_eq!((found.value, found.ci95), (Some(35.0), Some([10.0, 60.0])));
        let few = of(&[round(Some(100), 10), round(Some(100), 0)]).expect("one of two");
        assert_eq!((few.value, few.ci95), (Some(10.0), None));
        assert!(of(&[round(None, 10)]).is_none());
        assert!(of(&[round(Some(5), 0)]).is_none());
    }
}

//! Round trips that take times of a known distribution: its median and its tail come out again.

use super::check::{Found, Recovered, cannot_tell, failed, passed};
use super::injectors::{Injector, UNIT_NS};
use super::stage::{Act, Halt, Stage};
use ipcperf_engine::inject::Service;

/// How far a quantile may be off; how far noise may take it.
struct Limits {
    at: usize,
    name: &'static str,
    most: f64,
    /// How much longer other work may have made it, on a disturbed machine and on any: never shorter.
    excused: [f64; 2],
}

/// Most operations of 50 us are not interrupted, whatever else runs.
const P50: Limits = Limits { at: 0, name: "p50", most: 0.01, excused: [0.25, 0.0] };
/// One operation in a hundred may be interrupted by anything, also by what nobody is told of: the host of a machine.
const P99: Limits =
    Limits { at: 1, name: "p99", most: 0.03, excused: [f64::INFINITY, f64::INFINITY] };

/// The medians come out again.
pub(super) fn medians(stage: &Stage<'_>) -> Result<Found, Halt> {
    judge(stage, &P50)
}

/// The tails come out again.
pub(super) fn tails(stage: &Stage<'_>) -> Result<Found, Halt> {
    judge(stage, &P99)
}

fn judge(stage: &Stage<'_>, limits: &Limits) -> Result<Found, Halt> {
    let all = match stage.recovered.get() {
        Some(all) => all.clone(),
        None => {
            let each = Service::ALL.iter().map(|service| recover(stage, *service));
            let all: Vec<Recovered> = each.collect::<Result<_, _>>()?;
            stage.recovered.get_or_init(|| all).clone()
        }
    };
    Ok(verdict(&all, limits))
}

fn verdict(all: &[Recovered], limits: &Limits) -> Found {
    let off = |one: &Recovered| (one.ratios[limits.at] - 1.0).abs();
    let Some(worst) = all.iter().max_by(|a, b| off(a).total_cmp(&off(b))) else {
        return failed("nothing was measured");
    };
    let what = format!(
        "{} of {} distributions, to {:.1} % ({})",
        limits.name,
        all.len(),
        off(worst) * 100.0,
        worst.service.name()
    );
    let is_excused = |one: &Recovered| {
        let excess = one.ratios[limits.at] - 1.0;
        let most = limits.excused[usize::from(!one.is_disturbed)];
        off(one) <= limits.most || (excess > 0.0 && excess <= most)
    };
    if off(worst) <= limits.most {
        passed(what)
    } else if all.iter().all(is_excused) {
        cannot_tell(format!("{what}: not decided here, the machine interrupts"))
    } else {
        failed(what)
    }
}

/// Share of the time that the lead may wait for its turn on a quiet machine: the limit of grade A for run delay.
const QUIET: f64 = 0.001;

fn recover(stage: &Stage<'_>, service: Service) -> Result<Recovered, Halt> {
    // A whole cycle, so that nothing but what measuring adds can differ.
    let act = Act { rounds: 3, operations: Service::CYCLE, ..Act::of("null same-cpu") };
    let set = stage.play(&act, &[&[Injector::serving("known", service)]])?;
    let cell = set.cells.first();
    let table = cell.and_then(|cell| cell.rtt_ns.as_ref());
    let ratio = |(name, q): (&str, f64)| {
        let value = table.and_then(|table| table.get(name)).and_then(|metric| metric.value);
        value.unwrap_or(f64::NAN) / (service.quantile(q) * UNIT_NS as f64)
    };
    let ratios = [("p50", 0.5), ("p99", 0.99)].map(ratio);
    let rounds = || cell.into_iter().flat_map(|cell| &cell.rounds);
    let ran: f64 = rounds().map(|round| round.elapsed_ns).sum();
    let waited: f64 =
        rounds().filter_map(|round| round.covariates.lead.run_delay_ns).map(|ns| ns as f64).sum();
    let is_noisy = !["A", "B"].contains(&set.noise.grade.as_str());
    Ok(Recovered { service, ratios, is_disturbed: is_noisy || waited > QUIET * ran })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::selftest::document::TrialOutcome;

    #[test]
    fn what_is_off_never_passes_and_only_noise_excuses_what_is_longer() {
        let verdict = |ratio: f64, is_disturbed, limits: &Limits| {
            let service = Service::Constant;
            let fine = Recovered { service, ratios: [1.0; 2], is_disturbed: false };
            verdict(&[fine, Recovered { ratios: [ratio; 2], is_disturbed, ..fine }], limits).0
        };
        use TrialOutcome::{CannotTell, Failed, Passed};
        assert_eq!(verdict(1.009, true, &P50), Passed);
        assert_eq!(verdict(0.98, true, &P50), Failed);
        assert_eq!(verdict(1.02, false, &P50), Failed);
        assert_eq!(verdict(1.02, true, &P50), CannotTell);
        assert_eq!(verdict(2.0, true, &P50), Failed);
        assert_eq!(verdict(f64::NAN, true, &P50), Failed);
        assert_eq!(verdict(1.02, false, &P99), Passed);
        assert_eq!(verdict(9.0, false, &P99), CannotTell);
        assert_eq!(verdict(0.96, true, &P99), Failed);
        assert_eq!(verdict(f64::NAN, true, &P99), Failed);
    }
}

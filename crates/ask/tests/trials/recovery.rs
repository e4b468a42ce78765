//! What is told of operations is what is true of them.

use crate::common::{percent, run, tell, trials};
use ipcperf_core::result::{Cell, Metric, Round};
use ipcperf_engine::simulate::{Level, Service, Shape, Simulated, Simulation, VirtualClock};
use ipcperf_stats::{Histogram, median_interval};

/// Rounds of a document.
const ROUNDS: u64 = 10;

/// Operations of a round: a million in all.
const OPERATIONS: u64 = 100_000;

/// Quantiles with the share by which a figure may be off, or four of its standard errors where these are more: the p99.9
/// of a million operations with a Pareto tail of index 4 has one of 0.8 %.
const ALLOWED: [(&str, f64, f64); 3] =
    [("p50", 0.5, 0.005), ("p99", 0.99, 0.005), ("p99.9", 0.999, 0.02)];

/// A reading that costs nothing, so that the time of an operation is the figure.
const FREE: VirtualClock = VirtualClock { rate: 2.6, cost_ns: 0.0, step_ns: 0.0, fault: None };

fn services() -> Vec<(&'static str, Service)> {
    let lognormal = Shape::LogNormal { median: 5e3, sigma: 0.3 };
    let slow = Shape::LogNormal { median: 2e4, sigma: 0.2 };
    let pareto = Shape::Pareto { least: 5e3, alpha: 4.0 };
    let remembering = Service { memory: 0.5, ..Service::of(lognormal) };
    vec![
        ("constant", Service::of(Shape::Constant(5e3))),
        ("uniform", Service::of(Shape::Uniform([3e3, 9e3]))),
        ("lognormal", Service::of(lognormal)),
        ("lognormal in two modes", Service::mixed(vec![(0.8, lognormal), (0.2, slow)])),
        ("Pareto", Service::of(pareto)),
        ("lognormal, one in 20 Pareto", Service::mixed(vec![(0.95, lognormal), (0.05, pareto)])),
        ("lognormal, autoregressive", remembering),
    ]
}

fn measured(service: &Service, clock: VirtualClock, seed: usize) -> Cell {
    let cell = Simulated::new("m", 64, service.clone());
    let operations = OPERATIONS;
    Simulation { operations, clock, ..run(seed, ROUNDS, vec![cell]) }.document().cells.remove(0)
}

fn figure<'a>(cell: &'a Cell, name: &str) -> &'a Metric {
    &cell.rtt_ns.as_ref().expect("round trips")[name]
}

/// The relative standard error of a quantile x: sqrt(q (1 - q) / n) / f(x), divided by x (Shao, Mathematical
/// Statistics, theorem 5.10). 1 / f(x) is the slope of the quantile function.
fn standard_error(service: &Service, q: f64) -> f64 {
    let step = (1.0 - q) / 100.0;
    let slope = (service.quantile(q + step) - service.quantile(q - step)) / (2.0 * step);
    (q * (1.0 - q) / (ROUNDS * OPERATIONS) as f64).sqrt() * slope / service.quantile(q)
}

/// By how much each figure is off.
fn errors(cell: &Cell, service: &Service) -> [f64; 3] {
    ALLOWED.map(|(name, q, _)| {
        figure(cell, name).value.expect("supported") / service.quantile(q) - 1.0
    })
}

#[test]
fn quantiles_of_a_million_operations_are_those_of_their_distribution() {
    let count = trials(1);
    let (mut held, mut told) = (0, 0);
    for (name, service) in services() {
        let mut worst = [0.0_f64; 3];
        let mut within = 0;
        for seed in 0..count {
            let cell = measured(&service, FREE, seed);
            let errors = errors(&cell, &service);
            worst = std::array::from_fn(|at| worst[at].max(errors[at].abs()));
            let is_within = |(error, (_, q, allowed)): (&f64, (&str, f64, f64))| {
                error.abs() <= allowed.max(4.0 * standard_error(&service, q))
            };
            within += usize::from(errors.iter().zip(ALLOWED).all(is_within));
            if let Some([low, high]) = figure(&cell, "p99.99").ci95 {
                let truth = service.quantile(0.9999);
                told += 1;
                held += usize::from(low * 0.9995 <= truth && truth <= high * 1.0005);
            }
        }
        let [p50, p99, p999] = worst.map(|share| share * 100.0);
        tell(&format!(
            "{name}: {within} of {count} within; worst p50 {p50:.2} %, p99 {p99:.2} %, p99.9 {p999:.2} %"
        ));
        assert_eq!(within, count, "{name}: {worst:?}");
    }
    let share = percent(held, told);
    tell(&format!("p99.99 in its interval: {share:.1} % of {told}"));
    assert!(share >= 93.0 - 300.0 * (0.05 * 0.95 / told as f64).sqrt(), "{share} %");
}

#[test]
fn a_clock_whose_cost_is_in_the_figures_fails_the_same_check() {
    let service = Service::of(Shape::LogNormal { median: 5e3, sigma: 0.3 });
    let dear = VirtualClock { cost_ns: 100.0, ..FREE };
    let [p50, ..] = errors(&measured(&service, dear, 1), &service);
    assert!(p50 > ALLOWED[0].2 && p50 < 0.03, "{p50}");
}

#[test]
fn rounds_in_two_modes_are_both_told_and_what_is_too_few_is_not() {
    let mut cell =
        Simulated::new("m", 64, Service::of(Shape::LogNormal { median: 5e3, sigma: 0.3 }));
    cell.levels = vec![Level::Process { spread: 0.02 }, Level::Modes { factor: 3.0, share: 0.4 }];
    let count = trials(6);
    let found = (0..count).filter(|seed| {
        let run =
            Simulation { operations: 2500, clock: FREE, ..run(*seed, 20, vec![cell.clone()]) };
        let cell = run.document().cells.remove(0);
        let refused = figure(&cell, "p99.99");
        assert!(refused.value.is_none(), "{refused:?}");
        let reason = refused.reason.as_deref().unwrap_or_default();
        assert!(reason.starts_with("needs 200000 samples, has "), "{reason}");
        let near = |value: f64, truth: f64| (value / truth - 1.0).abs() < 0.03;
        matches!(figure(&cell, "p50").modes.as_slice(),
            [low, high] if near(low.value, 5e3) && near(high.value, 15e3))
    });
    let found = found.count();
    tell(&format!("two modes of rounds a factor 3 apart: {found} of {count} found"));
    assert!(percent(found, count) >= 98.0, "{found} of {count}");
    cell.levels.pop();
    let one = Simulation { operations: 2500, ..run(1, 20, vec![cell]) }.document();
    assert!(figure(&one.cells[0], "p50").modes.is_empty());
}

/// Of slices, one in three of which has a burst of 100 operations that take 20 times as long, the shares of intervals
/// that hold the true quantile of all operations, in %: as the document has them, and of medians over rounds.
fn bursty(count: usize) -> [[f64; 2]; 3] {
    const OPERATIONS: u64 = 25_000;
    let lognormal = |median| Shape::LogNormal { median, sigma: 0.3 };
    let (share, operations, times) = (1.0 / 3.0, 100, 20.0);
    let slow = share * operations as f64 / OPERATIONS as f64;
    let all = Service::mixed(vec![(1.0 - slow, lognormal(5e3)), (slow, lognormal(5e3 * times))]);
    let mut held = [[0; 2]; 3];
    for seed in 0..count {
        let cell = Simulated::new("m", 64, Service::of(lognormal(5e3)));
        let levels = vec![Level::Bursts { share, operations, times }];
        let one = run(seed, 20, vec![cell]);
        let one = Simulation { operations: OPERATIONS, clock: FREE, levels, ..one }.document();
        let rounds: Vec<Histogram> = one.cells[0].rounds.iter().map(histogram).collect();
        for (held, (name, q, _)) in held.iter_mut().zip(ALLOWED) {
            let truth = all.quantile(q);
            // A bucket is up to 0.1 % wide.
            let holds = |low: f64, high: f64| low * 0.9995 <= truth && truth <= high * 1.0005;
            let [low, high] = figure(&one.cells[0], name).ci95.expect("20 rounds");
            held[0] += usize::from(holds(low, high));
            let each: Vec<f64> =
                rounds.iter().filter_map(|one| Some(one.quantile(q)? as f64 / 1e3)).collect();
            let ci = median_interval(&each, 0.95).expect("20 rounds");
            held[1] += usize::from(holds(ci.low, ci.high));
        }
    }
    held.map(|held| held.map(|held| percent(held, count)))
}

fn histogram(round: &Round) -> Histogram {
    let kept = round.histogram.as_ref().expect("single operations");
    Histogram::recorded(kept).expect("a histogram")
}

#[test]
fn intervals_of_tails_hold_the_truth_under_bursts_and_medians_over_rounds_do_not() {
    let count = trials(6);
    let error = 300.0 * (0.05 * 0.95 / count as f64).sqrt();
    let held = bursty(count);
    for ([told, medians], (name, ..)) in held.into_iter().zip(ALLOWED) {
        tell(&format!(
            "bursts in one of three slices, {name}: {told:.1} % in its interval, of medians over rounds {medians:.1} %"
        ));
        assert!(told >= 92.0 - error, "{name}: {told} %");
    }
    assert!(held[2][1] < 80.0, "{held:?}");
}

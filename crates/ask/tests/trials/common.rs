//! How many repetitions, and their figures.

use ipcperf_core::result::{Comparison, ComparisonPlan, ResultSet};
use ipcperf_engine::simulate::{Service, Shape, Simulated, Simulation};
use ipcperf_judge::{Arms, Terms, compare_live};

/// Repetitions of a trial: so many unless `cargo xtask trial` asks for more.
pub(crate) fn trials(few: usize) -> usize {
    std::env::var("IPCPERF_TRIALS").ok().and_then(|count| count.parse().ok()).unwrap_or(few)
}

/// A figure of a trial.
#[expect(clippy::print_stdout, reason = "a trial is made for its figures")]
pub(crate) fn tell(figure: &str) {
    println!("{figure}");
}

pub(crate) fn percent(count: usize, of: usize) -> f64 {
    100.0 * count as f64 / of as f64
}

/// Operations that take 5 us, and 10 % more or less: the median of 40 differs by 2 %.
pub(crate) fn usual() -> Service {
    usual_times(1.0)
}

/// The same, so many times as long.
pub(crate) fn usual_times(factor: f64) -> Service {
    Service::of(Shape::LogNormal { median: 5e3 * factor, sigma: 0.1 })
}

/// A, A again and B, which takes `factor` times as long.
pub(crate) fn arms(factor: f64) -> Vec<Simulated> {
    let arm = |name, factor| Simulated::new(name, 64, usual_times(factor));
    vec![arm("a", 1.0), arm("a", 1.0), arm("b", factor)]
}

/// What `compare` says of the arms of a run.
pub(crate) fn compared(set: &ResultSet, margin: f64) -> Comparison {
    let arms = Arms { a: "a", b: "b", set, other: None };
    compare_live(&arms, ComparisonPlan::default(), &Terms { margin, ..Terms::default() })
        .expect("one run")
}

/// A run of so many rounds.
pub(crate) fn run(seed: usize, rounds: u64, cells: Vec<Simulated>) -> Simulation {
    Simulation { seed: seed as u64, rounds, operations: 40, cells, ..Simulation::default() }
}

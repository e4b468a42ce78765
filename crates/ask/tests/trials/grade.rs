//! Noise that is added never improves the grade.

use crate::common::{run, tell, trials, usual};
use ipcperf_core::Wait;
use ipcperf_engine::simulate::{Fault, Level, Simulated, Simulation};
use std::time::Duration;

/// Cells of a quiet host, one of which spins.
fn host(seed: usize) -> Simulation {
    let mut cells: Vec<Simulated> =
        ["m0", "m1", "m2", "m3"].map(|name| Simulated::new(name, 64, usual())).into();
    cells[3].key.wait = Wait::Spin;
    let between = Duration::from_millis(7);
    Simulation { operations: 1000, between, ..run(seed, 12, cells) }
}

type Adds = fn(&mut Simulation, f64);

/// Each by a dose from 0 to 1.
const NOISES: &[(&str, Adds)] = &[
    ("processes", |host, dose| host.levels.push(Level::Process { spread: 0.5 * dose })),
    ("stolen time", |host, dose| {
        // A slice of 1,000 operations is 5 of 12 ms.
        host.levels.push(Level::Steal { share: 1.0, most: 0.9 * dose });
    }),
    ("drift", |host, dose| host.levels.push(Level::Drift { total: 1.5 * dose })),
    ("other work", |host, dose| host.faults.push((Fault::Waiting(0.4 * dose), 1.0))),
    ("other work in the pauses", |host, dose| host.busy = 0.4 * dose),
    ("moved ends", |host, dose| host.faults.push((Fault::Moved, 0.6 * dose))),
    ("one core", |host, dose| host.faults.push((Fault::OneCore, 0.6 * dose))),
];

const DOSES: usize = 6;

#[test]
fn more_noise_never_improves_the_grade_and_enough_of_any_is_a_d_at_least() {
    let count = trials(1);
    let (mut steps, mut better) = (0, 0);
    for (what, adds) in NOISES {
        let mut grades = Vec::new();
        for seed in 0..count {
            grades.clear();
            for dose in 0..=DOSES {
                let mut host = host(seed);
                adds(&mut host, dose as f64 / DOSES as f64);
                grades.push(host.document().noise.grade);
            }
            assert!(grades[0].as_str() <= "B", "{what}: {grades:?}");
            assert!(grades[DOSES].as_str() >= "D", "{what}: {grades:?}");
            steps += DOSES;
            better += grades.windows(2).filter(|pair| pair[1] < pair[0]).count();
        }
        tell(&format!("{what}: {}", grades.join(" ")));
    }
    tell(&format!("steps to more noise: {steps}, better grades: {better}"));
    assert_eq!(better, 0);
}

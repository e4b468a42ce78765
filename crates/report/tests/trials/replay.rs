//! The same seed gives the same document, to the last byte.

use crate::common::{run, tell, trials, usual};
use ipcperf_engine::simulate::{Fault, Level, Simulated, Simulation, VirtualClock};
use ipcperf_report::{Format, Style, render};

/// A run in which about everything happens that is drawn.
fn simulation(seed: usize) -> Simulation {
    let mut cells: Vec<Simulated> =
        (0..4).map(|at| Simulated::new(&format!("m{at}"), 64 << at, usual())).collect();
    cells.push(Simulated::open("m0", usual(), 2e4));
    cells[1].levels = vec![Level::Modes { factor: 3.0, share: 0.3 }];
    let steal = Level::Steal { share: 0.2, most: 0.3 };
    let regimes = Level::Regimes { factor: 1.3, stay: 5.0 };
    Simulation {
        operations: 300,
        levels: vec![steal, regimes],
        faults: vec![(Fault::Moved, 0.05), (Fault::Throttled, 0.05)],
        ..run(seed, 8, cells)
    }
}

fn bytes(simulation: &Simulation) -> Vec<u8> {
    let mut bytes = Vec::new();
    let set = simulation.document();
    render(&set, &|_| None, Format::Json, &Style::default(), &mut bytes).expect("memory");
    bytes
}

#[test]
fn the_same_seed_gives_the_same_bytes_and_another_seed_or_clock_does_not() {
    let count = trials(3);
    for seed in 0..count {
        let (one, again) = (bytes(&simulation(seed)), bytes(&simulation(seed)));
        assert!(one.len() > 10_000 && one == again, "seed {seed}");
        let other = bytes(&simulation(seed + 1));
        assert!(one != other, "seed {seed}");
        let clock = VirtualClock { rate: 2.7, ..VirtualClock::default() };
        assert!(one != bytes(&Simulation { clock, ..simulation(seed) }), "seed {seed}");
    }
    tell(&format!(
        "{count} of {count} documents are the same bytes twice, and others by another seed"
    ));
}

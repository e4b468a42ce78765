//! The same seed gives the same document, to the last byte.

use crate::common::{run, tell, trials, usual};
use ipcperf_ask::results::document::render;
use ipcperf_core::digest::{hex, sha256};
use ipcperf_engine::simulate::{ClockFault, Fault, Level, Simulated, Simulation, VirtualClock};
use ipcperf_kit::document::Show;
use ipcperf_render::{Format, Style};
use serde_json::Value;
use std::time::Duration;

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
    render(&set, &Show::new(Format::Json, &Style::default()), &mut bytes).expect("memory");
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

/// The documents whose digests are kept, by what is special about each.
fn kept_simulations() -> [(&'static str, Simulation); 5] {
    let closed = |sizes: &[u64]| -> Vec<Simulated> {
        sizes.iter().map(|size| Simulated::new("m", *size, usual())).collect()
    };
    let mut bursts = closed(&[64]);
    bursts[0].key.load.burst = 8;
    let clock = |fault| VirtualClock { fault: Some(fault), ..VirtualClock::default() };
    [
        ("closed loops", run(3, 9, closed(&[1, 64, 4096]))),
        ("an open loop", run(4, 9, vec![Simulated::open("m", usual(), 2e4)])),
        ("faults, modes, stolen time, both loops", simulation(5)),
        (
            "every other fault of a slice, bursts",
            Simulation {
                faults: vec![
                    (Fault::OneCore, 0.2),
                    (Fault::Slow(1.2), 0.2),
                    (Fault::Waiting(0.2), 0.2),
                ],
                busy: 0.1,
                between: Duration::from_millis(3),
                ..run(6, 12, [bursts, closed(&[64])].concat())
            },
        ),
        (
            "a clock that jumps",
            Simulation {
                clock: clock(ClockFault::Jump { slice: 5, by_ns: 5e6 }),
                ..run(7, 9, closed(&[64, 128]))
            },
        ),
    ]
}

/// Keeps of all texts those of one word, names and codes: sentences may be worded differently at any time.
fn without_sentences(value: &mut Value) {
    match value {
        Value::String(text) if text.contains(' ') => text.clear(),
        Value::Array(all) => all.iter_mut().for_each(without_sentences),
        Value::Object(all) => all.values_mut().for_each(without_sentences),
        _ => {}
    }
}

/// Whether logarithms and exponentials are those of the digests: other C libraries, and processors without FMA, differ in the
/// last bit.
fn has_the_same_mathematics() -> bool {
    #[cfg(all(target_arch = "x86_64", target_env = "gnu"))]
    return std::arch::is_x86_feature_detected!("fma");
    #[cfg(not(all(target_arch = "x86_64", target_env = "gnu")))]
    return false;
}

/// Another digest means that rounds go in another order, or that something else is drawn, kept or computed. Only a change of
/// the document itself, such as its version, is a reason to write down a new one.
#[test]
fn documents_by_fixed_seeds_are_what_they_were() {
    if !has_the_same_mathematics() {
        return tell("skipped: digests of documents depend on the C library and the processor");
    }
    let digest = |(name, simulation): (&str, Simulation)| {
        let mut document: Value = serde_json::from_slice(&bytes(&simulation)).expect("JSON");
        if let Some(findings) = document["noise"]["findings"].as_array_mut() {
            findings.retain(|finding| finding["code"] != "W-DEBUGBUILD");
        }
        without_sentences(&mut document);
        let digest = sha256(document.to_string().as_bytes());
        format!("{} {name}", hex(&digest[..8]))
    };
    assert_eq!(
        kept_simulations().map(digest),
        [
            "ea4ab05e7f498f84 closed loops",
            "62ffb95f0d71ba25 an open loop",
            "d90305f44b1e2f41 faults, modes, stolen time, both loops",
            "5db9cc6433929af0 every other fault of a slice, bursts",
            "ff2efe8ee9daa7eb a clock that jumps",
        ]
    );
}

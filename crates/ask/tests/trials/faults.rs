//! What goes wrong with the clock, the CPUs or the host is found, each by its code, and nothing is found where nothing
//! goes wrong.

use crate::common::{run, tell, trials, usual};
use ipcperf_core::Wait;
use ipcperf_core::result::{ResultSet, Status};
use ipcperf_engine::simulate::{ClockFault, Fault, Level, Simulated, Simulation, VirtualClock};

/// Twelve rounds of three cells, one of which spins.
fn quiet(seed: usize) -> Simulation {
    let mut cells: Vec<Simulated> =
        ["m0", "m1", "m2"].map(|name| Simulated::new(name, 64, usual())).into();
    cells[2].key.wait = Wait::Spin;
    Simulation { operations: 400, ..run(seed, 12, cells) }
}

fn codes(set: &ResultSet) -> Vec<&str> {
    let found = set.noise.findings.iter().map(|finding| finding.code.as_str());
    // Of the build, not of the machine.
    found.filter(|code| *code != "W-DEBUGBUILD").collect()
}

fn clock(fault: ClockFault) -> VirtualClock {
    VirtualClock { fault: Some(fault), ..VirtualClock::default() }
}

type Breaks = fn(&mut Simulation);

/// Each with the finding that it must lead to.
const FAULTS: &[(&str, &str, Breaks)] = &[
    ("a jump of the clock by 5 ms", "E-CLOCKJUMP", |host| {
        host.clock = clock(ClockFault::Jump { slice: 17, by_ns: 5e6 });
    }),
    ("a drift of 200 ppm, slices 100 ms apart", "E-CLOCKJUMP", |host| {
        host.clock = clock(ClockFault::Drift { slice: 17, by: 200e-6 });
        host.between = std::time::Duration::from_millis(100);
    }),
    ("a drift of 200 ppm, slices 28 ms apart", "E-CLOCKJUMP", |host| {
        host.clock = clock(ClockFault::Drift { slice: 17, by: 200e-6 });
    }),
    ("a clock that runs backwards once in a thousand readings", "E-CLOCK", |host| {
        host.clock = clock(ClockFault::Backwards { share: 0.001, by_ns: 500.0 });
    }),
    ("a system call for each reading", "W-SLOWCLOCK", |host| host.clock.cost_ns = 180.0),
    ("a reading that costs half as much again after the run", "W-CLOCK", |host| {
        host.clock = clock(ClockFault::Slower { times: 1.5 });
    }),
    ("an end on another CPU in one slice of four", "E-MIGRATE", |host| {
        host.faults.push((Fault::Moved, 0.25));
    }),
    ("both ends on one core in one slice of four", "E-TOPOLOGY", |host| {
        host.faults.push((Fault::OneCore, 0.25));
    }),
    ("a CPU limit in one slice of four", "E-THROTTLE", |host| {
        host.faults.push((Fault::Throttled, 0.25));
    }),
    ("CPUs that are a tenth slower in half of the slices", "W-SPEED", |host| {
        host.faults.push((Fault::Slow(1.1), 0.5));
    }),
    ("stolen time in half of the slices", "W-STEAL", |host| {
        host.operations = 40_000;
        host.levels.push(Level::Steal { share: 0.5, most: 0.5 });
    }),
    ("other work on the CPUs of a spinning cell", "W-LOAD", |host| {
        host.faults.push((Fault::Waiting(0.3), 1.0));
    }),
    ("other work in the pauses", "W-LOAD", |host| host.busy = 0.2),
    ("rounds that become 20 % longer", "W-DRIFT", |host| {
        host.levels.push(Level::Drift { total: 0.2 });
    }),
    ("a cell in two modes", "W-MULTIMODAL", |host| {
        host.cells[0].levels.push(Level::Modes { factor: 5.0, share: 0.5 });
    }),
];

#[test]
fn every_fault_is_found_by_its_code() {
    let count = trials(4);
    for (what, code, breaks) in FAULTS {
        let found = (0..count).filter(|seed| {
            let mut host = quiet(*seed);
            breaks(&mut host);
            codes(&host.document()).contains(code)
        });
        let found = found.count();
        tell(&format!("{what}: {found} of {count} {code}"));
        // Faults that come by chance are in none of 36 slices once in 30,000 runs.
        assert_eq!(found, count, "{what}: {code}");
    }
}

#[test]
fn a_clean_run_has_no_finding() {
    let count = trials(20);
    let alarms: Vec<String> = (0..count)
        .filter_map(|seed| {
            let set = quiet(seed).document();
            let found = codes(&set).join(" ");
            (!found.is_empty()).then_some(found)
        })
        .collect();
    tell(&format!(
        "clean runs with a finding: {} of {count} ({})",
        alarms.len(),
        alarms.join(", ")
    ));
    assert!(alarms.len() <= count / 20, "{alarms:?}");
}

#[test]
fn a_jump_costs_its_slice_and_no_other_and_a_clean_quarter_of_an_hour_none() {
    let mut host = quiet(1);
    host.clock = clock(ClockFault::Jump { slice: 17, by_ns: 5e6 });
    let rejected = |set: &ResultSet| {
        let rounds = set.cells.iter().flat_map(|cell| &cell.rounds);
        rounds.filter(|round| round.rejected.is_some()).count()
    };
    let set = host.document();
    assert_eq!(rejected(&set), 1);
    assert!(set.cells.iter().all(|cell| cell.status == Status::Ok));
    let long = Simulation { rounds: 300, operations: 10, ..quiet(2) };
    let long = Simulation { between: std::time::Duration::from_secs(1), ..long };
    let set = long.document();
    assert!(set.duration_s > 900.0 && rejected(&set) == 0, "{}", set.duration_s);
    let rate = set.clock.ticks_per_second / 2.6e9 - 1.0;
    assert!(rate.abs() < 20e-6, "{rate}");
}

#[test]
fn the_cost_and_the_step_of_a_clock_are_found_and_short_operations_become_batches() {
    let mut host = quiet(1);
    (host.clock.cost_ns, host.clock.step_ns) = (30.0, 10.0);
    let set = host.document();
    let reading = &set.clock.before[0];
    assert!((reading.p50_ns - 30.0).abs() <= 1.0, "{reading:?}");
    assert!((reading.granularity_ns - 10.0).abs() <= 1.0, "{reading:?}");
    let timing = |set: &ResultSet| set.cells[0].timing.clone().expect("measured");
    assert_eq!((timing(&set).mode.as_str(), timing(&set).batch), ("per-op", 1));
    host.clock.cost_ns = 400.0;
    let slow = timing(&host.document());
    assert!(slow.mode == "batch" && slow.batch >= 7, "{slow:?}");
    // A reading that costs nothing to speak of tells an operation of five steps no better.
    (host.clock.cost_ns, host.clock.step_ns) = (30.0, 1000.0);
    let coarse = timing(&host.document());
    assert!(coarse.mode == "batch" && coarse.batch >= 9, "{coarse:?}");
    host.clock.step_ns = 100.0;
    assert_eq!(timing(&host.document()).mode, "per-op");
}

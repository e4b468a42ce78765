//! Slices whose CPUs were elsewhere.

use super::*;
use ipcperf_stats::Rng;

/// Slices whose cache line took so long before and after them, ticks.
fn placed(readings: &[[f64; 2]]) -> (Cell, ResultSet) {
    let slices = (0..).zip(readings).map(|(round, reading)| {
        // The slices that are elsewhere have the same latency as all others.
        let mut slice = round_trips(round, 5000, 100);
        slice.raw.sides[0].cacheline = reading.map(Some);
        slice
    });
    let run = CellRun { slices: slices.collect(), ..CellRun::new(plan(PatternKind::PingPong)) };
    let mut findings = findings(vec![run]);
    findings
        .bounds
        .cacheline
        .insert(Placement::SameLlc, readings.iter().flatten().copied().collect());
    let facts = Facts {
        started_utc: String::new(),
        tool: Tool::default(),
        invocation: Invocation::default(),
    };
    let set = result_set(findings, facts);
    (set.cells[0].clone(), set)
}

#[test]
fn a_slice_whose_cpus_were_on_one_core_is_left_out_by_its_own_readings() {
    let mut readings = vec![[65.0, 66.0]; 99];
    readings.push([65.0, 27.0]);
    let (cell, set) = placed(&readings);
    assert_eq!((cell.status, cell.messages), (Status::Ok, 99 * 200));
    let reason = cell.rounds[99].rejected.as_deref().expect("a reason");
    assert!(reason.starts_with("E-TOPOLOGY: a cache line took 27.0 ns"), "{reason}");
    assert!(reason.ends_with("the CPUs were nearer, perhaps one core"), "{reason}");
    assert!(has(&set, "E-TOPOLOGY"));
    let near =
        |value: Option<f64>, to: f64| value.is_some_and(|value| (value / to - 1.0).abs() < 0.01);
    let [before, after] = [
        cell.rounds[99].covariates.cacheline_rtt_ns,
        cell.rounds[99].covariates.cacheline_rtt_after_ns,
    ];
    assert!(near(before, 65.0) && near(after, 27.0), "both are kept");
    readings[99] = [330.0, 65.0];
    let (cell, _) = placed(&readings);
    let reason = cell.rounds[99].rejected.as_deref().expect("a reason");
    assert!(reason.ends_with("the CPUs were further apart"), "{reason}");
}

#[test]
fn what_the_cache_line_does_by_itself_rejects_nothing() {
    let mut rng = Rng::from_seed(3);
    let mut reading = || 65.0 * (0.1 * rng.normal()).exp();
    let readings: Vec<[f64; 2]> = (0..500).map(|_| [reading(), reading()]).collect();
    let (cell, set) = placed(&readings);
    assert!(cell.rounds.iter().all(|round| round.rejected.is_none()));
    assert_eq!(set.noise.grade, "A");
    // Five rounds have no interval, and cannot spare one.
    let (cell, _) = placed(&[[65.0; 2], [65.0; 2], [27.0; 2], [65.0; 2], [65.0; 2]]);
    assert!(cell.rounds.iter().all(|round| round.rejected.is_none()));
}

#[test]
fn where_a_quarter_of_the_slices_was_elsewhere_the_grade_is_f() {
    let elsewhere = |count: usize| {
        let readings: Vec<[f64; 2]> =
            (0..100).map(|at| if at < count { [27.0; 2] } else { [65.0; 2] }).collect();
        placed(&readings).1.noise
    };
    assert_eq!(elsewhere(25).grade, "D");
    let noise = elsewhere(26);
    assert_eq!(
        (noise.grade.as_str(), noise.causes.as_slice()),
        ("F", &["26 % of the slices rejected".to_owned()][..])
    );
}

//! Slices whose CPUs were elsewhere.

use super::*;
use crate::topology::{is_rejected, usual};
use ipcperf_core::result::CoreKind;
use ipcperf_core::{Network, Reach, Spec, findings};
use ipcperf_stats::Rng;

/// Slices whose cache line took so long before and after them, ticks.
fn placed(readings: &[[f64; 2]]) -> (Cell, ResultSet) {
    let rounds: Vec<_> = (0..).zip(readings.iter().copied()).collect();
    placed_in_rounds(&rounds)
}

/// A slice of this round whose cache line took so long before and after it, ticks.
fn beside(round: u64, reading: [f64; 2]) -> SliceRun {
    // The slices that are elsewhere have the same latency as all others.
    let mut slice = round_trips(round, 5000, 100);
    slice.raw.sides[0].cacheline = reading.map(Some);
    slice
}

fn placed_in_rounds(readings: &[(u64, [f64; 2])]) -> (Cell, ResultSet) {
    let slices = readings.iter().map(|(round, reading)| beside(*round, *reading));
    let run = CellRun { slices: slices.collect(), ..CellRun::new(plan(PatternKind::PingPong)) };
    let mut findings = findings(vec![run]);
    let seen = readings.iter().flat_map(|(_, reading)| *reading).collect();
    findings.bounds.cacheline.insert(Placement::SameLlc, seen);
    let set = result_set(findings, RunFacts::default());
    (set.cells[0].clone(), set)
}

#[test]
fn a_slice_whose_cpus_were_on_one_core_is_left_out_by_its_own_readings() {
    let mut readings = vec![[65.0, 66.0]; 99];
    readings.push([65.0, 27.0]);
    let (cell, set) = placed(&readings);
    assert_eq!((cell.status, cell.messages), (Status::Ok, 99 * 200));
    let rejection = cell.rounds[99].rejected.as_ref().expect("a reason");
    let reason = findings::MOVED.reason(rejection).expect("it was elsewhere");
    assert!(reason.starts_with("a cache-line round trip took 27.0 ns"), "{reason}");
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
    let rejection = cell.rounds[99].rejected.as_ref().expect("a reason");
    let reason = findings::MOVED.reason(rejection).expect("it was elsewhere");
    assert!(reason.ends_with("the CPUs were further apart"), "{reason}");
}

#[test]
fn cpus_that_are_moved_again_and_again_are_told_as_such() {
    let moved: Vec<_> =
        (0..20).map(|round| if round % 2 == 0 { [65.0, 66.0] } else { [150.0, 151.0] }).collect();
    let (_, set) = placed(&moved);
    let finding = set.noise.findings.iter().find(|finding| finding.code == "W-TOPOLOGY");
    let text = &finding.expect("a finding").text;
    assert!(text.contains("(65") && text.contains("in others"), "{text}");
    assert!(!has(&placed(&[[65.0, 66.0]; 20]).1, "W-TOPOLOGY"));
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

#[test]
fn a_slice_that_was_elsewhere_is_measured_once_more_in_its_round() {
    let mut cell = CellRun::new(plan(PatternKind::PingPong));
    let of = |took: f64| {
        let cacheline = std::collections::BTreeMap::from([(Placement::SameLlc, vec![took; 9])]);
        usual(&BoundReadings { cacheline, ..BoundReadings::default() })
    };
    let (here, elsewhere) = (of(65.0), of(30.0));
    assert!(!is_rejected(&cell, 0, Some(&here)), "it has no slice");
    cell.slices.push(beside(0, [65.0, 66.0]));
    assert!(!is_rejected(&cell, 0, Some(&here)) && is_rejected(&cell, 0, Some(&elsewhere)));
    assert!(!is_rejected(&cell, 1, Some(&elsewhere)), "a slice of another round");
    assert!(!is_rejected(&cell, 0, None), "too few rounds to spare one");
    cell.slices[0].rejected = Some("E-MIGRATE: pinned to CPU 0, found on CPU 1".to_owned().into());
    assert!(is_rejected(&cell, 0, Some(&here)) && is_rejected(&cell, 0, None));
    cell.ended = Some((Status::Failed, FailureKind::Failed, "over".into()));
    assert!(!is_rejected(&cell, 0, Some(&here)), "it has no more slices");
}

#[test]
fn a_slice_next_to_a_neighbour_is_held_against_others_next_to_it() {
    let near: ipcperf_core::Neighbour = "memory:2GB/s@other".parse().expect("a neighbour");
    let mut cell = CellRun::new(plan(PatternKind::PingPong));
    cell.plan.key.load.neighbour = Some(near.clone());
    let bounds = BoundReadings {
        cacheline: [(Placement::SameLlc, vec![65.0; 9])].into(),
        beside_neighbour: [((Placement::SameLlc, near), vec![200.0; 9])].into(),
        ..BoundReadings::default()
    };
    let usual = usual(&bounds);
    cell.slices.push(beside(0, [200.0, 210.0]));
    assert!(!is_rejected(&cell, 0, Some(&usual)), "the neighbour slows it down");
    cell.slices[0] = beside(0, [65.0, 66.0]);
    assert!(is_rejected(&cell, 0, Some(&usual)), "another pair of CPUs");
    cell.plan.key.load.neighbour = None;
    assert!(!is_rejected(&cell, 0, Some(&usual)), "as usual without a neighbour");
}

#[test]
fn of_a_round_that_was_measured_twice_one_slice_counts() {
    let mut readings: Vec<(u64, [f64; 2])> = (0..9).map(|round| (round, [65.0; 2])).collect();
    readings[3].1 = [65.0, 27.0];
    readings.insert(4, (3, [65.0; 2]));
    let (cell, _) = placed_in_rounds(&readings);
    let told: Vec<_> =
        cell.rounds.iter().map(|round| (round.round, round.rejected.is_some())).collect();
    let both = [(2, false), (3, true), (3, false), (4, false)];
    assert_eq!((told.len(), &told[2..6], cell.messages), (10, &both[..], 9 * 200));
    // What all readings say in the end is not what the first ones said: nothing was wrong with the first slice.
    readings[3].1 = [65.0; 2];
    let (cell, _) = placed_in_rounds(&readings);
    let rounds: Vec<u64> = cell.rounds.iter().map(|round| round.round).collect();
    assert_eq!((rounds, cell.messages), ((0..9).collect(), 9 * 200));
}

#[test]
fn caches_that_the_kernel_does_not_describe_make_names_of_placements_a_guess() {
    let told = |caches_described: bool| {
        let slices = (0..7).map(|round| round_trips(round, 5000, 100)).collect();
        let run = CellRun { slices, ..CellRun::new(plan(PatternKind::PingPong)) };
        let machine = Machine { caches_described, ..machine::here() };
        has(&document(findings(vec![run]), RunFacts::default(), machine), "W-UNKNOWN-CPUS")
    };
    assert!(told(false) && !told(true));
}

#[test]
fn a_loopback_interface_that_queues_concerns_only_what_sends_packets_over_it() {
    let is_reported = |reach: Reach, net: Network| {
        let slices = (0..7).map(|round| round_trips(round, 5000, 100)).collect();
        let mut plan = plan(PatternKind::PingPong);
        plan.entry.spec = Box::leak(Box::new(Spec { reach, ..*plan.entry.spec }));
        plan.key.load.net = net;
        let run = CellRun { slices, ..CellRun::new(plan) };
        let queued = findings::LOOPBACK.noted("MTU 1500", &[]);
        let machine =
            Machine { findings: queued.finding().into_iter().collect(), ..machine::here() };
        let set = document(findings(vec![run]), RunFacts::default(), machine);
        set.noise.machine.iter().any(|finding| finding.code == "W-LOOPBACK")
    };
    assert!(is_reported(Reach::Network, Network::Loopback));
    assert!(!is_reported(Reach::Named, Network::Loopback));
    assert!(!is_reported(Reach::Network, Network::Veth));
}

#[test]
fn ends_on_different_kinds_of_cores_are_told_unless_that_was_asked_for() {
    let told = |placement, kinds: [Vec<usize>; 2]| {
        let slices = (0..7).map(|round| round_trips(round, 5000, 100)).collect();
        let mut plan = plan(PatternKind::PingPong);
        plan.key.placement = placement;
        let run = CellRun { slices, ..CellRun::new(plan) };
        let mut machine = machine::here();
        let kind = |cpus| CoreKind { name: "a kind".into(), capacity: None, cpus };
        machine.host.core_kinds = kinds.map(kind).to_vec();
        let set = document(findings(vec![run]), RunFacts::default(), machine);
        let found = set.noise.findings.into_iter().find(|finding| finding.code == "W-KINDS");
        found.map(|finding| finding.text)
    };
    // The ends are on CPUs 0 and 1.
    let apart = [vec![0, 2], vec![1, 3]];
    let text = told(Placement::SameLlc, apart.clone()).expect("a finding");
    assert!(text.starts_with("the two ends of 7 slices were on different kinds"), "{text}");
    assert!(told(Placement::Free, apart.clone()).is_some());
    assert_eq!(told(Placement::CrossKind, apart.clone()), None);
    assert_eq!(told(Placement::Cpus { lead: 0, follow: 1 }, apart), None);
    assert_eq!(told(Placement::SameLlc, [vec![0, 1], vec![2, 3]]), None);
    assert_eq!(told(Placement::SameLlc, [vec![0], vec![2, 3]]), None, "nobody knows of CPU 1");
}

//! The grade of a run, what lowers it, and the cause that it names.

use super::*;
use ipcperf_core::Wait;
use ipcperf_core::result::Noise;
use ipcperf_sys::meter::Span;
use ipcperf_sys::rundir::RemovedObject;

/// The verdict on nine rounds of a spinning cell. An end was ready but not running for this share of each.
fn spinning(waited: [f64; 9], idle: Span, steal_ns: u64) -> Noise {
    let slices = (0..).zip(waited).map(|(round, share)| {
        let mut slice = round_trips(round, 5000, 1000);
        slice.raw.sides[1].run_delay_ns = Some((share * 5000.0 * 1000.0) as u64);
        slice
    });
    let mut plan = plan(PatternKind::PingPong);
    plan.key.wait = Wait::Spin;
    let run = CellRun { slices: slices.collect(), ..CellRun::new(plan) };
    let steal_ns = Some(steal_ns);
    result_set(Findings { idle, steal_ns, ..findings(vec![run]) }, RunFacts::default()).noise
}

/// Nine pauses of a second, in which CPUs were busy for so long.
fn pauses(busy_ms: u64) -> Span {
    let (window_ns, busy_ns) = (9_000_000_000, Some(busy_ms * 1_000_000));
    Span { window_ns, busy_ns, energy_uj: None }
}

#[test]
fn a_busy_loop_in_the_middle_of_a_run_lowers_the_grade_and_is_named() {
    let quiet = spinning([0.0; 9], pauses(0), 0);
    assert_eq!((quiet.grade.as_str(), quiet.causes.len()), ("A", 0));
    // Beside a spinning end on one of two CPUs it gets half of the time, in three of nine rounds.
    let middle = [0.0, 0.0, 0.0, 0.5, 0.5, 0.5, 0.0, 0.0, 0.0];
    let noise = spinning(middle, pauses(0), 0);
    assert_eq!(noise.grade, "F");
    let [cause] = noise.causes.as_slice() else { panic!("{noise:?}") };
    assert_eq!(cause, "other work on the CPUs, busy-waiting processes waited 17 % of the time");
    assert!(noise.findings.iter().any(|finding| finding.code == "W-LOAD"));
    assert!(
        spinning([0.0, 0.0, 0.0, 0.0, 0.5, 0.0, 0.0, 0.0, 0.0], pauses(0), 0).grade >= "D".into()
    );
    assert_eq!(spinning([0.0; 9], pauses(0), 0).grade, "A", "it recovers");
}

#[test]
fn cells_whose_rounds_differ_are_named_and_so_is_what_a_killed_run_had_left() {
    let noise = |medians: [u64; 9], reaped: Vec<RemovedObject>| {
        let slices = (0..).zip(medians).map(|(round, ticks)| round_trips(round, ticks, 1000));
        let run = CellRun { slices: slices.collect(), ..CellRun::new(plan(PatternKind::PingPong)) };
        result_set(Findings { reaped, ..findings(vec![run]) }, RunFacts::default()).noise
    };
    let find = |noise: &Noise, code: &str| {
        noise.findings.iter().find(|finding| finding.code == code).cloned()
    };
    let steady = noise([5000; 9], Vec::new());
    assert!(find(&steady, "W-UNSTABLE").is_none() && find(&steady, "I-REAPED").is_none());
    let wide = [5000, 5100, 5200, 5300, 5400, 5500, 5600, 5700, 5800];
    let left = RemovedObject { kind: "directory".into(), name: "/data/x/ipcperf-7".into() };
    let noisy = noise(wide, vec![left]);
    let unstable = find(&noisy, "W-UNSTABLE").expect("a finding");
    assert_eq!(unstable.cells.len(), 1);
    assert!(unstable.text.starts_with("the rounds of 1 of 1 cells differ"), "{}", unstable.text);
    let left = find(&noisy, "I-REAPED").expect("a finding");
    assert!(left.text.ends_with(": directory ipcperf-7"), "{}", left.text);
}

#[test]
fn no_end_waits_longer_than_it_was_watched() {
    // The lead was done at once; the follow had waited for its CPU much longer than that.
    let mut slice = round_trips(0, 5000, 10);
    slice.raw.sides[0].machine.window_ns = 60_000_000;
    slice.raw.sides[1].run_delay_ns = Some(30_000_000);
    let mut plan = plan(PatternKind::PingPong);
    plan.key.wait = Wait::Spin;
    let noise = set_of(plan, vec![slice]).noise;
    assert_eq!(
        noise.causes,
        ["other work on the CPUs, busy-waiting processes waited 50 % of the time"]
    );
}

#[test]
fn a_busy_loop_is_seen_in_the_pauses_where_no_end_spins() {
    let cpus = crate::host::host().cpus_online.len() as u64;
    // On half of the CPUs, for three of nine seconds.
    let noise = spinning([0.0; 9], pauses(3000 * cpus / 2), 0);
    assert_eq!(noise.grade, "D", "{noise:?}");
    assert_eq!(noise.causes, ["other work between the rounds, 17 % of all CPUs"]);
    let finding = noise.findings.iter().find(|finding| finding.code == "W-LOAD");
    assert!(finding.expect("a finding").text.contains("% of all CPUs"));
    // What the steps of the kernel's times may amount to in nine pauses is nothing.
    let stepped = Span { window_ns: 180_000_000, busy_ns: Some(24_000_000), energy_uj: None };
    assert_eq!(spinning([0.0; 9], stepped, 0).grade, "A");
}

/// What the grade is made of, and what it can do without.
#[test]
fn without_the_spread_of_rounds_or_the_business_of_cpus_there_is_no_grade_and_it_says_why() {
    let told = |noise: &Noise| (noise.grade.clone(), noise.causes.join("; "));
    let none = |why: &str| ("none".to_owned(), why.to_owned());
    let no_busy = none("the load of the CPUs is unknown");
    let short = Span { window_ns: 99_000_000, busy_ns: Some(0), energy_uj: None };
    let unread = Span { busy_ns: None, ..pauses(0) };
    for idle in [short, unread] {
        assert_eq!(told(&spinning([0.0; 9], idle, 0)), no_busy);
    }
    let one = |idle| {
        let run = CellRun {
            slices: vec![round_trips(0, 5000, 1000)],
            ..CellRun::new(plan(PatternKind::PingPong))
        };
        result_set(Findings { idle, ..findings(vec![run]) }, RunFacts::default()).noise
    };
    let cpus = crate::host::host().cpus_online.len() as u64;
    assert_eq!(
        told(&one(pauses(0))),
        none("the spread of the rounds is unknown: that takes two rounds")
    );
    // Nothing that is not known makes an F better.
    let worst = told(&one(pauses(9000 * cpus)));
    assert_eq!(worst, ("F".into(), "other work between the rounds, 100 % of all CPUs".into()));
}

#[test]
fn what_the_grade_does_without_is_said() {
    let quiet = spinning([0.0; 9], pauses(0), 0);
    assert_eq!((quiet.grade.as_str(), quiet.unread.join(", ").as_str()), ("A", "speed"));
    let slices = (0..9).map(|round| round_trips(round, 5000, 1000)).collect();
    let noise = set_of(plan(PatternKind::PingPong), slices).noise;
    assert_eq!((noise.grade.as_str(), noise.unread.join(", ").as_str()), ("A", "load, speed"));
}

#[test]
fn the_pauses_of_all_steps_of_a_search_are_counted() {
    let step = |first: u64| {
        let slices = (first..first + 9).map(|round| round_trips(round, 5000, 1000));
        CellRun { slices: slices.collect(), ..CellRun::new(plan(PatternKind::PingPong)) }
    };
    let cpus = crate::host::host().cpus_online.len() as u64;
    // 18 of 60 ms each, in which a fifth of all CPUs was at work.
    let busy_ns = Some(216_000_000 * cpus);
    let idle = Span { window_ns: 1_080_000_000, busy_ns, energy_uj: None };
    let found = Findings { idle, pauses: 18, ..findings(vec![step(0), step(9)]) };
    let noise = result_set(found, RunFacts::default()).noise;
    assert_eq!((noise.grade.as_str(), noise.causes.len()), ("D", 1), "{noise:?}");
}

#[test]
fn the_rows_that_decide_are_the_causes_and_no_other() {
    let stolen = |ns: u64| spinning([0.023; 9], pauses(0), ns);
    let cpus = crate::host::host().cpus_online.len() as u64;
    let both = stolen(30_000_000 * cpus);
    assert_eq!(both.grade, "C");
    let [steal, load] = both.causes.as_slice() else { panic!("{both:?}") };
    assert_eq!(steal, "steal 3.0 %");
    assert!(load.starts_with("other work on the CPUs, busy-waiting processes waited 2."), "{load}");
    let one = stolen(90_000_000 * cpus);
    assert_eq!((one.grade.as_str(), one.causes.as_slice()), ("D", &["steal 9.0 %".to_owned()][..]));
}

#[test]
fn more_noise_never_improves_the_grade() {
    let grade = |share: f64| spinning([share; 9], pauses(0), 0).grade;
    let grades: Vec<String> = (0..40).map(|step| grade(f64::from(step) / 100.0)).collect();
    assert!(grades.is_sorted(), "{grades:?}");
    assert_eq!((grades[0].as_str(), grades[39].as_str()), ("A", "F"));
}

#[test]
fn a_run_without_a_measured_cell_has_no_grade() {
    let (_, set) = cell_of(PatternKind::PingPong, Vec::new(), None);
    assert_eq!((set.noise.grade.as_str(), set.noise.causes.len()), ("none", 0));
    let mut slice = round_trips(0, 5000, 100);
    slice.rejected = Some("E-CLOCKJUMP: paused".to_owned().into());
    let (_, set) = cell_of(PatternKind::PingPong, vec![slice], None);
    assert_eq!(set.noise.grade, "F", "all that was tried was rejected");
}

#[test]
fn what_the_host_takes_is_a_share_of_all_cpus_and_not_of_those_allowed() {
    let slices = (0..9).map(|round| round_trips(round, 5000, 1000)).collect();
    let run = CellRun { slices, ..CellRun::new(plan(PatternKind::PingPong)) };
    // 2 % of sixteen CPUs in a second.
    let found = Findings { steal_ns: Some(320_000_000), ..findings(vec![run]) };
    let cpus_online = (0..16).collect();
    let host =
        ipcperf_core::result::Host { cpus_online, cpus_allowed: vec![0, 1], ..Default::default() };
    let noise = document(found, RunFacts::default(), Machine { host, ..machine::here() }).noise;
    assert_eq!(noise.causes, ["steal 2.0 %"]);
}

#[test]
fn a_round_that_was_measured_twice_is_one_of_too_few() {
    let mut slices: Vec<_> = (0..5).map(|round| round_trips(round, 5000, 1000)).collect();
    slices[4].rejected = Some("E-CLOCKJUMP: paused".to_owned().into());
    slices.push(round_trips(4, 5000, 1000));
    let (_, set) = cell_of(PatternKind::PingPong, slices, None);
    let found = set.noise.findings.iter().find(|finding| finding.code == "W-FEWROUNDS");
    assert!(found.expect("too few").text.starts_with("the run has 5 rounds"));
}

#[test]
fn a_cpu_whose_speed_changes_lowers_the_grade_and_is_named() {
    let noise = |times: f64| {
        let slices = (0..9).map(|round| {
            let mut slice = round_trips(round, 5000, 1000);
            let ticks = if (3..6).contains(&round) { times } else { 1.0 };
            slice.raw.sides[1].step = [Some(ticks); 2];
            slice
        });
        set_of(plan(PatternKind::PingPong), slices.collect()).noise
    };
    let told = |noise: &Noise| noise.findings.iter().any(|finding| finding.code == "W-SPEED");
    let steady = noise(1.0);
    assert_eq!((steady.grade.as_str(), told(&steady)), ("A", false));
    let slow = noise(1.24);
    assert_eq!((slow.grade.as_str(), told(&slow)), ("D", true));
    assert_eq!(slow.causes, ["CPU speed varied by 12 %"]);
}

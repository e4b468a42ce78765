//! Known slices in, known figures and refusals out.

mod grade;
mod open;
mod requests;
mod rounds;
mod special;
mod standstill;
mod topology;

use super::*;
use crate::fit::Fit;
use crate::job::{FailureKind, Segment, SideReport};
use crate::machine::{self, result_set};
use crate::measured::{CellRun, SliceRun};
use crate::plan::{self, CellPlan, Host, Request};
use crate::slice::{Compact, Data, RawSlice, Trips, Window};
use ipcperf_core::result::{Cell, Status};
use ipcperf_core::{OptionSet, PatternKind, Touch};
use ipcperf_sys::clock::Clock;
use ipcperf_sys::meter::Span;
use ipcperf_sys::procfs::Consumption;
use ipcperf_sys::topology::{Cpu, Topology};
use std::time::Duration;

/// Readings of a clock whose ticks are nanoseconds, so that figures can be read off.
fn findings(cells: Vec<CellRun>) -> Findings {
    let mut bounds = BoundReadings::default();
    // Held up by others, but for one batch.
    bounds.alone.insert("syscall".into(), 50_000.0);
    bounds.alone.insert("syscall:least".into(), 100.0);
    bounds.alone.insert("copy:4096".into(), 100.0);
    bounds.alone.insert("half:4096".into(), 80.0);
    bounds.alone.insert("half:1048576".into(), 80_000.0);
    bounds.cacheline.insert(Placement::SameLlc, vec![100.0, 120.0]);
    bounds.futex.insert((Placement::SameLlc, Idle::AsIs), vec![2000.0]);
    bounds.cpus.insert(Placement::SameLlc, vec![0, 1]);
    Findings {
        pipelines: Vec::new(),
        questions: Vec::new(),
        stages: Vec::new(),
        spreads: Vec::new(),
        cells,
        clock: Clock::monotonic(),
        fallback: None,
        fit: Fit::start(Clock::monotonic()),
        bounds,
        interrupted: false,
        duration: Duration::from_secs(1),
        steal_ns: Some(0),
        // Nobody else was at work.
        idle: Span { window_ns: 9_000_000_000, busy_ns: Some(0), energy_uj: None },
        pauses: 9,
        stood: Duration::ZERO,
        suspended: Duration::ZERO,
        reaped: Vec::new(),
    }
}

/// A round in which nothing happened.
pub(super) fn empty_round() -> ipcperf_core::result::Round {
    let text = r#"{"round": 0, "order": 0, "cpus": [], "messages": 0, "bytes": 0, "elapsed_ns": 0.0,
        "cpu_ns": {"lead": 0, "follow": 0, "user": 0, "system": 0},
        "covariates": {"lead": {"voluntary_switches": 0, "involuntary_switches": 0, "minor_faults": 0, "major_faults": 0},
            "follow": {"voluntary_switches": 0, "involuntary_switches": 0, "minor_faults": 0, "major_faults": 0}},
        "proof": {"nonce": "", "lead_pid": 0, "follow_pid": 0, "lead": [0, 0], "follow": [0, 0], "fully_checked": 0,
            "holds": true}}"#;
    serde_json::from_str(text).expect("a round")
}

fn plan(pattern: PatternKind) -> CellPlan {
    let cpus = (0..2).map(|id| Cpu { id, core: id, llc: 0, node: 0 }).collect();
    let request = Request {
        mechanisms: vec![crate::testing::entries()[0]],
        patterns: vec![pattern],
        sizes: vec![4096],
        placements: vec![Placement::SameLlc],
        idle: vec![Idle::AsIs],
        touch: Touch::CacheLine,
        loads: vec![ipcperf_core::Load::default()],
        options: OptionSet::default(),
    };
    let host = Host {
        topology: Topology { cpus, ..Topology::default() },
        pinning_objection: None,
        idle_objection: None,
        memory: None,
    };
    plan::cells(&request, &host).expect("good knobs").remove(0)
}

fn side(pid: u32, cpu: usize) -> SideReport {
    SideReport {
        pid,
        spent: Consumption { cpu_ns: 1000, ..Consumption::default() },
        cpu,
        allowed: Some(vec![cpu]),
        ipis: Some(10),
        ..SideReport::default()
    }
}

/// A slice of `samples` round trips that each took `ticks`.
pub(super) fn round_trips(round: u64, ticks: u64, samples: u64) -> SliceRun {
    let mut histogram = ipcperf_stats::Histogram::new();
    histogram.record_n(ticks, samples);
    let counts = Segment { sent: samples, received: samples, ..Segment::default() };
    let trips = Trips { histogram: Compact::from(&histogram), ..Trips::default() };
    let raw = RawSlice {
        operations: samples,
        elapsed: ticks * samples,
        counts: [counts.clone(), counts],
        sides: [side(10, 0), side(11, 1)],
        ..RawSlice::of(Data::Trips(Box::new(trips)))
    };
    SliceRun {
        round,
        order: 0,
        cpus: vec![0, 1],
        nonce: 7,
        raw,
        rejected: None,
        steal_ns: Some(0),
        planned: Some(ticks * samples),
    }
}

/// What the lead timed.
pub(super) fn trips(slice: &mut SliceRun) -> &mut Trips {
    let Data::Trips(trips) = &mut slice.raw.data else { panic!("the lead timed nothing") };
    trips
}

/// What arrived at the follow, and in which time.
fn arrived(messages: u64, ticks: u64) -> Data {
    Data::Stream(Window { messages, ticks })
}

fn cell_of(
    pattern: PatternKind,
    slices: Vec<SliceRun>,
    ended: Option<(Status, FailureKind, String)>,
) -> (Cell, ResultSet) {
    let run = CellRun { slices, ended, ..CellRun::new(plan(pattern)) };
    let set = result_set(findings(vec![run]), RunFacts::default());
    (set.cells[0].clone(), set)
}

/// The document of a run of one cell with these slices.
fn set_of(plan: CellPlan, slices: Vec<SliceRun>) -> ResultSet {
    result_set(findings(vec![CellRun { slices, ..CellRun::new(plan) }]), RunFacts::default())
}

/// A fan-in of these slices.
pub(super) fn fan_of(slices: Vec<SliceRun>) -> Cell {
    allowed(plan(PatternKind::FanIn), slices)
}

/// A cell of these slices, also where its mechanism would refuse it.
fn allowed(plan: CellPlan, slices: Vec<SliceRun>) -> Cell {
    let run = CellRun { slices, ..CellRun::new(CellPlan { objection: None, ..plan }) };
    let floors = bound::Floors::of(&findings(Vec::new()).bounds, 1.0);
    let around = Circumstances {
        is_guest: false,
        is_precise: true,
        idle: Span::default(),
        no_energy: None,
        tick_ns: 10_000_000,
    };
    cell::assemble(run, 1.0, &floors, &around, false)
}

fn has(set: &ResultSet, code: &str) -> bool {
    set.noise.findings.iter().any(|finding| finding.code == code)
}

#[test]
fn the_centre_is_the_median_over_rounds_with_an_interval_from_six_rounds_on() {
    let slices =
        |n: u64| (0..n).map(|round| round_trips(round, 5000 + round, 100)).collect::<Vec<_>>();
    let (cell, set) = cell_of(PatternKind::PingPong, slices(7), None);
    assert_eq!((cell.status, cell.verified, cell.messages), (Status::Ok, true, 1400));
    let p50 = &cell.rtt_ns.as_ref().expect("round trips")["p50"];
    assert!((p50.value.expect("a value") - 5003.0).abs() < 5.0, "{p50:?}");
    assert!(p50.ci95.is_some() && p50.modes.is_empty());
    assert_eq!(cell.ipis_per_message, Some(0.05));
    assert!((cell.bound.expect("a bound").ratio - 2.5).abs() < 0.01);
    assert!(!has(&set, "W-FEWROUNDS"));
    let (few, set) = cell_of(PatternKind::PingPong, slices(5), None);
    let p50 = &few.rtt_ns.as_ref().expect("round trips")["p50"];
    assert!(
        p50.ci95.is_none()
            && p50.reason.as_deref().is_some_and(|reason| reason.contains("6 rounds"))
    );
    assert!(has(&set, "W-FEWROUNDS"));
}

#[test]
fn costs_are_shared_by_all_messages_that_moved_while_they_were_counted() {
    // Eight round trips count, four lead in; of a stream every message counts, and those that lead in are among them.
    let trips = |round: u64| {
        let mut slice = round_trips(round, 5000, 8);
        for count in &mut slice.raw.counts {
            (count.sent, count.received) = (12, 12);
        }
        slice
    };
    let (cell, _) = cell_of(PatternKind::PingPong, (0..7).map(trips).collect(), None);
    let cost = cell.cpu_ns_per_message.as_ref().expect("measured");
    // Numbers have eight digits.
    assert!((cost.lead + cost.follow - 2000.0 / 24.0).abs() < 1e-5, "{cost:?}");
    let [low, high] = cost.ci95.expect("seven rounds");
    assert!(low <= high && (high - 2000.0 / 24.0).abs() < 1e-5, "{low} to {high}");
    assert_eq!(cell.ipis_per_message, Some(0.41666667));
    assert_eq!((cell.messages, cell.rounds[0].messages, cell.rounds[0].moved), (112, 16, Some(24)));
    // Documents of older versions do not say it.
    let old = ipcperf_core::result::Round { moved: None, ..cell.rounds[0].clone() };
    assert_eq!(old.cost_messages(), 16);
}

#[test]
fn a_round_without_a_rate_does_not_take_away_the_others() {
    let stream = |round: u64| {
        let mut slice = round_trips(round, 5000, 100);
        slice.raw.data = if round == 3 { arrived(0, 0) } else { arrived(1000, 1_000_000) };
        slice
    };
    let (cell, _) = cell_of(PatternKind::Stream, (0..9).map(stream).collect(), None);
    let rate = cell.messages_per_second.expect("a stream").value.expect("eight rounds have one");
    // The length of a tick is that of a real clock here.
    assert!((rate / 1e6 - 1.0).abs() < 0.01, "{rate}");
}

#[test]
fn a_quantile_the_sample_cannot_support_is_null_with_the_number_it_needs() {
    let slices = (0..8).map(|round| round_trips(round, 5000, 250)).collect();
    let (cell, _) = cell_of(PatternKind::PingPong, slices, None);
    let table = cell.rtt_ns.expect("round trips");
    assert_eq!(table["p50"].method.as_deref(), Some("rounds"));
    // What is rare is in few rounds: a median over them would be that of rounds without.
    assert_eq!(table["p90"].method.as_deref(), Some("merged"));
    // 2000 samples in all, but only 250 in a round: enough together, not alone.
    assert_eq!(table["p99"].method.as_deref(), Some("merged"));
    assert_eq!(table["p99.9"].value, None);
    assert!(
        table["p99.9"]
            .reason
            .as_deref()
            .is_some_and(|reason| reason.contains("needs 20000 samples, has 2000"))
    );
    assert_eq!(table["max"].method.as_deref(), Some("exact"));
}

#[test]
fn two_modes_are_both_named_and_never_mixed() {
    let slices = (0..12)
        .map(|round| {
            round_trips(round, if round % 3 == 0 { 3000 + round } else { 71_000 + round * 50 }, 300)
        })
        .collect();
    let (cell, set) = cell_of(PatternKind::PingPong, slices, None);
    let p50 = &cell.rtt_ns.as_ref().expect("round trips")["p50"];
    assert!(p50.value.expect("a value") > 70_000.0, "the mode with more rounds speaks");
    assert_eq!(p50.modes.iter().map(|mode| mode.rounds).collect::<Vec<_>>(), [4, 8]);
    let finding = set
        .noise
        .findings
        .iter()
        .find(|finding| finding.code == "W-MULTIMODAL")
        .expect("a finding");
    assert!(finding.text.contains("3.0") && finding.text.contains("71."), "{}", finding.text);
    let p90 = &cell.rtt_ns.as_ref().expect("round trips")["p90"];
    assert!(p90.value.expect("supported") > 70_000.0, "tails come from the same mode");
}

#[test]
fn a_round_trip_below_a_cache_line_is_rejected_as_impossible() {
    let slices = (0..6).map(|round| round_trips(round, 80, 100)).collect();
    let (cell, set) = cell_of(PatternKind::PingPong, slices, None);
    assert_eq!(cell.status, Status::Rejected);
    assert!(cell.reason.as_deref().is_some_and(|reason| reason.contains("E-IMPOSSIBLE")));
    assert!(has(&set, "E-IMPOSSIBLE") && cell.rtt_ns.is_none());
    let (slow_but_clean, set) = cell_of(
        PatternKind::PingPong,
        (0..6).map(|round| round_trips(round, 80_000_000, 100)).collect(),
        None,
    );
    assert_eq!(slow_but_clean.status, Status::Ok, "no latency is ever rejected for being high");
    assert!(!has(&set, "E-IMPOSSIBLE"));
}

#[test]
fn a_round_trip_is_held_against_the_cache_line_beside_its_own_slice() {
    // In this run a cache line took 100 ticks at the least and 110 usually: what is more than twice that is another test.
    let beside = |lines: [f64; 2]| {
        let slices = (0..6).map(|round| {
            let mut slice = round_trips(round, 150, 1000);
            slice.raw.sides[0].cacheline = lines.map(Some);
            slice
        });
        cell_of(PatternKind::PingPong, slices.collect(), None)
    };
    let (cell, set) = beside([200.0, 210.0]);
    let reason = cell.reason.unwrap_or_default();
    assert_eq!(cell.status, Status::Rejected);
    assert!(reason.contains("E-TOPOLOGY") && reason.contains("below 180 ns"), "{reason}");
    // The CPUs may have been moved; that is no lie of the measurement.
    assert!(has(&set, "E-TOPOLOGY") && !has(&set, "E-IMPOSSIBLE"));
    for lines in [[200.0, 110.0], [110.0, 200.0], [160.0, 160.0]] {
        assert_eq!(beside(lines).0.status, Status::Ok, "{lines:?}");
    }
}

/// The median system call took 50,000 ticks, because others wanted its CPU; the fastest ones took 100.
#[test]
fn a_round_trip_on_one_cpu_is_held_against_the_fastest_system_calls() {
    let floors = bound::Floors::of(&findings(Vec::new()).bounds, 1.0);
    let mut plan = plan(PatternKind::PingPong);
    plan.key.placement = Placement::SameCpu;
    let told = |ticks| floors.too_fast(&plan, [None; 2], ticks);
    assert_eq!(told(36_000.0), None);
    assert!(told(150.0).is_some_and(|reason| reason.reason.contains("two system calls")));
}

#[test]
fn a_stream_is_held_against_a_copy_of_its_own_messages() {
    // Of 4 KiB a copy reaches 41 GB/s here, of 1 MiB with one side in the cache 13 GB/s.
    let stream = |size: u64, touch: Touch, gigabytes: f64| {
        let slices = (0..6).map(|round| {
            let mut slice = round_trips(round, 1000, 1);
            slice.raw.operations = 1000;
            slice.raw.data = arrived(1000, (1000.0 * size as f64 / gigabytes) as u64);
            slice.raw.counts[0] = Segment { sent: 1000, ..Segment::default() };
            slice.raw.counts[1] = Segment { received: 1000, ..Segment::default() };
            slice
        });
        let plan = plan(PatternKind::Stream);
        let key = ipcperf_core::result::CellKey { size_bytes: size, touch, ..plan.key.clone() };
        allowed(CellPlan { key, ..plan }, slices.collect())
    };
    let large = stream(1 << 20, Touch::CacheLine, 20.0);
    let reason = large.reason.unwrap_or_default();
    assert_eq!(large.status, Status::Rejected);
    assert!(reason.contains("copying 1M, one side in the cache"), "{reason}");
    for (size, touch, gigabytes) in [
        (1 << 20, Touch::Full, 14.0),
        (1 << 30, Touch::CacheLine, 14.0),
        // Smaller messages than any that was measured, and what lies between two sizes.
        (64, Touch::CacheLine, 50.0),
        (1 << 19, Touch::CacheLine, 50.0),
        // Nobody looks at the rest, and so it need not be copied.
        (1 << 20, Touch::None, 40.0),
    ] {
        assert_eq!(stream(size, touch, gigabytes).status, Status::Ok, "{size} {touch}");
    }
    // The fastest of all copies, of 4 KiB with one side in the cache, reaches 51 GB/s.
    assert_eq!(stream(1 << 20, Touch::None, 60.0).status, Status::Rejected);
}

#[test]
fn a_stream_faster_than_copying_is_rejected_as_impossible() {
    let stream = |round: u64, messages: u64| {
        let mut slice = round_trips(round, 1000, 1);
        slice.raw.operations = messages;
        slice.raw.data = arrived(messages, 1_000_000);
        slice.raw.counts[0] = Segment { sent: messages, ..Segment::default() };
        slice.raw.counts[1] = Segment { received: messages, ..Segment::default() };
        slice
    };
    // 1000 messages of 4 KiB in a millisecond: 4 GB/s; memcpy does 41 GB/s here.
    let (cell, _) =
        cell_of(PatternKind::Stream, (0..6).map(|round| stream(round, 1000)).collect(), None);
    let rate = cell.bytes_per_second.expect("a rate").value.expect("a value");
    assert!((rate / 4.096e9 - 1.0).abs() < 0.001, "{rate}");
    assert!(cell.rtt_ns.is_none());
    let (cell, _) =
        cell_of(PatternKind::Stream, (0..6).map(|round| stream(round, 20_000)).collect(), None);
    assert_eq!(cell.status, Status::Rejected);
}

#[test]
fn a_slice_without_proof_is_no_number() {
    type Defect = fn(&mut SliceRun);
    let broken: [(&str, Defect); 4] = [
        ("a lost message", |slice| slice.raw.counts[1].received -= 1),
        ("one process", |slice| slice.raw.sides[1].pid = slice.raw.sides[0].pid),
        ("an idle process", |slice| slice.raw.sides[1].spent.cpu_ns = 0),
        ("nothing moved", |slice| slice.raw.counts = Default::default()),
    ];
    for (what, defect) in broken {
        let mut slices: Vec<_> = (0..6).map(|round| round_trips(round, 5000, 100)).collect();
        defect(&mut slices[3]);
        let (cell, _) = cell_of(PatternKind::PingPong, slices, None);
        assert_eq!((cell.status, cell.verified), (Status::Failed, false), "{what}");
        assert!(
            cell.reason.as_deref().is_some_and(|reason| reason.contains("round 3 has no proof")),
            "{what}"
        );
    }
}

#[test]
fn a_failure_in_any_round_spoils_the_cell_and_an_untouched_cell_is_skipped() {
    let ended = Some((Status::Deadline, FailureKind::Failed, "not done after 10 s".to_owned()));
    let (cell, _) = cell_of(PatternKind::PingPong, vec![round_trips(0, 5000, 100)], ended);
    assert_eq!(
        (cell.status, cell.reason.as_deref()),
        (Status::Deadline, Some("not done after 10 s"))
    );
    assert_eq!(cell.rounds.len(), 1, "what was measured stays in the document");
    let (cell, _) = cell_of(PatternKind::PingPong, Vec::new(), None);
    assert_eq!(cell.status, Status::Skipped);
}

#[test]
fn a_slice_that_ended_long_before_its_time_is_told() {
    let slices = |ended: u64| {
        let slices = (0..7).map(|round| {
            let mut slice = round_trips(round, 5000, 100);
            if round == 3 {
                slice.raw.elapsed = ended;
            }
            slice
        });
        cell_of(PatternKind::PingPong, slices.collect(), None)
    };
    let (cell, set) = slices(200_000);
    let finding = set.noise.findings.iter().find(|finding| finding.code == "W-SHORT");
    assert!(finding.expect("a finding").text.contains("40 %"), "{finding:?}");
    assert!((cell.rounds[3].planned_ns.expect("planned") / 500_000.0 - 1.0).abs() < 0.01);
    assert!(!has(&slices(300_000).1, "W-SHORT"));
}

#[test]
fn a_wrong_message_is_a_finding_of_its_own() {
    let ended = Some((Status::Failed, FailureKind::Invalid, "follow: wrong stamp".to_owned()));
    let (cell, set) = cell_of(PatternKind::PingPong, Vec::new(), ended);
    assert_eq!(cell.status, Status::Failed);
    let finding = set.noise.findings.iter().find(|finding| finding.code == "E-PAYLOAD");
    assert!(finding.expect("a finding").text.contains("follow: wrong stamp"));
    let crash = Some((Status::Failed, FailureKind::Failed, "killed by signal 9".to_owned()));
    assert!(!has(&cell_of(PatternKind::PingPong, Vec::new(), crash).1, "E-PAYLOAD"));
}

#[test]
fn loss_drift_and_missing_bounds_are_told() {
    let lossy = |round: u64| {
        let mut slice = round_trips(round, 5000, 100);
        slice.raw.counts[0].received -= 3;
        slice.raw.counts[0].lost = 3;
        slice
    };
    let (cell, set) = cell_of(PatternKind::PingPong, (0..6).map(lossy).collect(), None);
    assert_eq!((cell.lost, cell.messages), (18, 6 * 2 * 97), "what never arrived is no message");
    assert!(has(&set, "W-LOSS"));

    let rising = (0..12).map(|round| round_trips(round, 5000 + 100 * round, 100)).collect();
    assert!(has(&cell_of(PatternKind::PingPong, rising, None).1, "W-DRIFT"));
    let steady = (0..12).map(|round| round_trips(round, 5000 + 100 * (round % 2), 100)).collect();
    let (_, set) = cell_of(PatternKind::PingPong, steady, None);
    assert!(!has(&set, "W-DRIFT") && !has(&set, "W-LOSS") && !has(&set, "W-NOBOUND"));

    let run = CellRun::new(plan(PatternKind::PingPong));
    let mut blind = findings(vec![run]);
    blind.bounds.cacheline.clear();
    assert!(has(&result_set(blind, RunFacts::default()), "W-NOBOUND"));
}

#[test]
fn a_rejected_slice_stays_in_the_document_and_out_of_the_figures() {
    let mut slices: Vec<_> = (0..7).map(|round| round_trips(round, 5000, 100)).collect();
    slices[2].rejected = Some("E-MIGRATE: pinned to CPU 0, found on CPU 1".to_owned().into());
    slices[2].raw.data = round_trips(2, 9_000_000, 1000).raw.data;
    let (cell, set) = cell_of(PatternKind::PingPong, slices, None);
    assert_eq!((cell.status, cell.rounds.len(), cell.messages), (Status::Ok, 7, 1200));
    assert!(cell.rtt_ns.expect("round trips")["max"].value.expect("exact") < 6000.0);
    assert!(has(&set, "E-MIGRATE") && set.noise.grade != "A");
}

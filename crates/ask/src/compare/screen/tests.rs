//! Comparisons of documents built in a few words.

use super::comparison;
use crate::testing::sample::{self, Build, ONE, TWO};
use ipcperf_core::result::*;
use ipcperf_judge::{
    Arms, Class, Differences, Limit, Outcome, Recorded, Slower, Terms, changes, compare_files,
    compare_live, differences, facts,
};
use ipcperf_render::{Format, Style, text::width};
use ipcperf_testing::schema::is_described;
use ipcperf_testing::to_text;
use serde_json::{Value, json};

mod beside;
mod calls;
mod gates;
mod kernel_facts;
mod read;
mod saturated;
mod screened;
mod sentence;
mod shown;
mod terms;

/// The share by which round `at` is off, within 1 ± `spread`, in no order.
fn wobble(at: usize, spread: f64) -> f64 {
    let steps = [0.3, -0.8, 0.9, -0.2, 0.6, -0.5, -1.0, 0.1, 0.8, -0.3, -0.6, 0.5];
    (spread * steps[at % steps.len()]).exp()
}

/// A cell with rounds of this figure.
fn measured(mechanism: &str, figures: impl IntoIterator<Item = f64>) -> Cell {
    let figures: Vec<f64> = figures.into_iter().collect();
    let cell = sample::cell(mechanism, 64, ONE).rtt(figures[0], 100.0).with_round();
    let round = cell.rounds[0].clone();
    let round = |(at, figure): (usize, f64)| Round {
        round: at as u64,
        rejected: None,
        p50_ns: Some(figure),
        ..round.clone()
    };
    let rounds = figures.into_iter().enumerate().map(round).collect();
    Cell { rounds, ..cell }
}

/// Twelve rounds around this time.
fn around(mechanism: &str, nanos: f64, spread: f64) -> Cell {
    measured(mechanism, (0..12).map(|at| nanos * wobble(at, spread)))
}

fn recorded(name: &str, cells: Vec<Cell>) -> Recorded {
    sample::recorded(name, &sample::set(cells))
}

fn terms() -> Terms {
    Terms { margin: 0.01, ..Terms::default() }
}

fn files(a: &[Recorded], b: &[Recorded]) -> Comparison {
    compare_files(a, b, &terms()).expect("comparable")
}

/// A and B of one cell each, recorded once.
fn pair(a: f64, b: f64) -> Comparison {
    let side = |name: &str, nanos| [recorded(name, vec![around("pipe", nanos, 0.01)])];
    files(&side("old.json", a), &side("new.json", b))
}

fn plan() -> ComparisonPlan {
    ComparisonPlan {
        pilot_rounds: 8,
        spread: Some(0.02),
        sessions: Vec::new(),
        rounds: 12,
        slice_ms: 100.0,
        expected_s: 5.0,
        duration_s: 4.8,
        smallest_effect: Some(0.03),
        seed: 1,
    }
}

/// B `ratio` times A, with a control that is `off` times A, in twelve rounds side by side.
pub(crate) fn live(ratio: f64, off: f64) -> Comparison {
    let figures = |factor: f64, shift: usize| {
        (0..12).map(move |at| 10_000.0 * factor * wobble(at, 0.2) * wobble(at + shift, 0.01))
    };
    let set = sample::set(vec![
        measured("pipe", figures(1.0, 1)),
        measured("pipe", figures(off, 4)),
        measured("unix-stream", figures(ratio, 7)),
    ]);
    let arms = Arms { a: "pipe 64", b: "unix-stream 64", set: &set, other: None };
    compare_live(&arms, plan(), &terms()).expect("comparable")
}

fn verdict(document: &Comparison) -> (Difference, &str) {
    let one = &document.comparisons[0].primary;
    (one.verdict, &one.reason)
}

fn text(document: &Comparison, format: Format) -> String {
    in_style(document, format, &Style::default())
}

/// With everything that a screen leaves to `-v`.
fn whole(document: &Comparison) -> String {
    in_style(document, Format::Table, &Style { verbose: true, ..Style::default() })
}

fn in_style(document: &Comparison, format: Format, style: &Style) -> String {
    to_text(|out| comparison(document, format, style, out))
}

/// Every key below these of a result document that says what measured, where and how.
fn leaves(value: &Value, path: &str, found: &mut Vec<String>) {
    match value {
        Value::Object(keys) => {
            keys.iter().for_each(|(key, value)| leaves(value, &format!("{path}/{key}"), found));
        }
        _ => found.push(path.to_owned()),
    }
}

#[test]
fn every_field_has_its_class_and_no_other() {
    // What is not here is of no account.
    let table = [
        ("/tool/version", "tool", Class::Factor),
        ("/tool/build/rustc", "tool", Class::Factor),
        ("/tool/build/profile", "tool", Class::Factor),
        ("/tool/build/debug_assertions", "optimisation", Class::Hard),
        ("/tool/build/opt_level", "optimisation", Class::Hard),
        ("/invocation/plan/slice_ms", "slice", Class::Factor),
        ("/invocation/plan/warmup_ms", "slice", Class::Factor),
        ("/host/arch", "architecture", Class::Hard),
        ("/host/cpu_model", "cpu", Class::Factor),
        ("/host/microcode", "microcode", Class::Factor),
        ("/host/cpus_allowed", "topology", Class::Factor),
        ("/host/cores", "topology", Class::Factor),
        ("/host/last_level_caches", "topology", Class::Factor),
        ("/host/nodes", "topology", Class::Factor),
        ("/host/hypervisor", "hypervisor", Class::Factor),
        ("/host/container", "container", Class::Factor),
        ("/host/cpu_limit", "cpu-limit", Class::Factor),
        ("/host/frequency", "frequency", Class::Factor),
        ("/host/idle", "idle", Class::Factor),
        ("/kernel/release", "kernel", Class::Factor),
        ("/kernel/version", "kernel", Class::Factor),
        ("/kernel/mitigations/spectre_v2", "mitigations", Class::Factor),
        ("/kernel/sysctl/fs.pipe-max-size", "sysctl", Class::Factor),
        ("/kernel/sysctl/kernel.sched_rt_runtime_us", "rt-runtime", Class::Factor),
        ("/kernel/preemption", "preemption", Class::Factor),
        ("/kernel/sched_ext", "sched-ext", Class::Factor),
        ("/kernel/autogroup", "autogroup", Class::Factor),
        ("/kernel/sched_features/HRTICK", "sched-features", Class::Factor),
        ("/kernel/hz", "hz", Class::Factor),
        ("/kernel/shmem_huge_pages", "shmem-huge-pages", Class::Factor),
        ("/kernel/quotas/pipe.size", "quota", Class::Factor),
        ("/kernel/cpu_accounting", "accounting", Class::Factor),
        ("/clock/source", "clock", Class::Factor),
    ];
    let mut set = sample::small();
    for key in ["rustc", "debug_assertions", "opt_level"] {
        set.tool.build.insert(key.to_owned(), "x".to_owned());
    }
    set.kernel.quotas.insert("pipe.size".to_owned(), "8K in place of 64K".to_owned());
    set.kernel.sysctl.insert("kernel.sched_rt_runtime_us".to_owned(), "950000".to_owned());
    // A text where there may be none.
    for value in [
        &mut set.host.microcode,
        &mut set.host.container,
        &mut set.host.cpu_limit,
        &mut set.host.frequency,
        &mut set.host.idle,
    ] {
        *value = Some("x".to_owned());
    }
    let whole = serde_json::to_value(&set).unwrap();
    let mut paths = Vec::new();
    for part in ["tool", "invocation", "host", "kernel", "clock"] {
        leaves(&whole[part], &format!("/{part}"), &mut paths);
    }
    assert!(table.iter().all(|(path, ..)| paths.iter().any(|known| known == path)), "{paths:?}");
    for path in paths {
        let mut other = whole.clone();
        let value = other.pointer_mut(&path).unwrap();
        *value = match &*value {
            Value::String(text) => json!(format!("{text}?")),
            Value::Number(number) => json!(
                number.as_u64().map_or(json!(number.as_f64().unwrap() + 1.0), |n| json!(n + 1))
            ),
            Value::Bool(is) => json!(!is),
            Value::Array(_) => json!([]),
            other => panic!("{path}: {other}"),
        };
        let Ok(other) = serde_json::from_value::<ResultSet>(other) else { panic!("{path}") };
        let expected = table.iter().find(|(known, ..)| *known == path);
        for class in [Class::Hard, Class::Factor] {
            let found: Vec<String> = differences(&[&set], &[&other], class).into_keys().collect();
            let wanted: Vec<&str> = expected
                .filter(|(.., of)| *of == class)
                .map(|(_, name, _)| *name)
                .into_iter()
                .collect();
            assert_eq!(found, wanted, "{path} {class:?}");
        }
    }
}

#[test]
fn what_is_counted_differs_as_what_is_timed_does() {
    let mut counted = sample::small();
    let plan = &mut counted.invocation.plan;
    (plan.samples, plan.warmup_operations, plan.batch) = (Some(5000), Some(200), Some(8));
    let told = differences(&[&sample::small()], &[&counted], Class::Factor);
    let [(name, difference)] = &told.into_iter().collect::<Vec<_>>()[..] else { panic!("one") };
    assert_eq!(name, "slice");
    let words = format!("{difference:?}");
    assert!(words.contains("100.0 ms after 10.0 ms of warm-up"), "{words}");
    let of_counted = "5,000 samples in batches of 8 after 200 operations of warm-up";
    assert!(words.contains(of_counted), "{words}");
    for change in [
        |plan: &mut Plan| plan.samples = Some(5001),
        |plan: &mut Plan| plan.warmup_operations = Some(201),
        |plan: &mut Plan| plan.batch = Some(9),
    ] {
        let mut other = counted.clone();
        change(&mut other.invocation.plan);
        let found = differences(&[&counted], &[&other], Class::Factor);
        assert_eq!(found.into_keys().collect::<Vec<_>>(), ["slice"]);
    }
}

#[test]
fn only_the_parts_that_differ_are_told() {
    let old = sample::small();
    let mut new = sample::small();
    new.kernel.mitigations.insert("retbleed".to_owned(), "Vulnerable".to_owned());
    let found = differences(&[&old], &[&new], Class::Factor);
    assert_eq!(found["mitigations"], ["retbleed: none", "retbleed: Vulnerable"]);
    // A side that is not even like itself.
    assert_eq!(differences(&[&old, &new], &[&old, &new], Class::Factor).len(), 1);
}

#[test]
fn less_than_usual_by_a_quota_is_a_factor_and_no_other_cell() {
    let side = |name: &str, nanos, size| {
        recorded(name, vec![around("pipe", nanos, 0.01).knob("pipe.size", None, size)])
    };
    let old = [side("old.json", 10_000.0, 65_536)];
    let mut new = [side("new.json", 20_000.0, 8192)];
    assert!(files(&old, &new).confounded_by.is_empty());
    let less = "8K in place of 64K".to_owned();
    new[0].set.kernel.quotas.insert("pipe.size".to_owned(), less);
    let document = files(&old, &new);
    assert_eq!(document.comparisons.len(), 1, "the cells match");
    assert_eq!(document.confounded_by, ["quota"]);
    assert_eq!(document.factors["quota"], ["pipe.size: none", "pipe.size: 8K in place of 64K"]);
}

#[test]
fn what_a_document_does_not_say_differs_from_nothing() {
    let of = |microcode: Option<&str>| {
        let mut set = sample::small();
        set.host.microcode = microcode.map(ToOwned::to_owned);
        set
    };
    let (silent, one, two) = (of(None), of(Some("0x1")), of(Some("0x2")));
    let microcode =
        |a: &[&ResultSet], b: &[&ResultSet]| differences(a, b, Class::Factor).remove("microcode");
    assert_eq!(microcode(&[&silent], &[&one]), None);
    assert_eq!(microcode(&[&one], &[&two]), Some(["0x1".to_owned(), "0x2".to_owned()]));
    let told = microcode(&[&silent], &[&one, &two]);
    assert_eq!(told, Some(["not known".to_owned(), "0x1 / 0x2".to_owned()]));
    assert_eq!(changes(&facts(&silent), &facts(&one)), Differences::new());
    assert_eq!(changes(&facts(&one), &facts(&two))["microcode"], ["0x1", "0x2"]);
}

#[test]
fn one_session_a_side_is_believed_only_beyond_the_session_floor() {
    let (far, near) = (pair(10_000.0, 12_000.0), pair(10_000.0, 11_000.0));
    let assumed = "one session a side, which in virtual machines may differ by 11 %";
    assert_eq!(verdict(&far), (Difference::Slower, assumed));
    let expected = &format!("{assumed}: only more can be claimed");
    assert_eq!(verdict(&near), (Difference::CannotTell, expected.as_str()));
    assert_eq!(verdict(&pair(10_000.0, 10_000.0)), (Difference::CannotTell, expected.as_str()));
    assert_eq!(verdict(&pair(12_000.0, 10_000.0)).0, Difference::Faster);
    let bare = |nanos| {
        let mut one = recorded("x.json", vec![around("pipe", nanos, 0.005)]);
        one.set.host.hypervisor = None;
        [one]
    };
    let metal = files(&bare(10_000.0), &bare(10_500.0));
    assert_eq!(
        (verdict(&metal).0, metal.comparisons[0].primary.session_floor),
        (Difference::Slower, Some(0.03))
    );
}

#[test]
fn sessions_are_what_is_compared_where_there_are_four_of_each() {
    let side = |nanos: f64, count: usize| -> Vec<Recorded> {
        let session = |at: usize| {
            let mut one =
                recorded("x.json", vec![around("pipe", nanos * wobble(at, 0.005), 0.001)]);
            one.set.started_utc = format!("2026-08-{:02}T10:00:00Z", at + 1);
            one
        };
        (0..count).map(session).collect()
    };
    let four = files(&side(10_000.0, 4), &side(10_400.0, 4));
    assert_eq!((four.a.sessions, verdict(&four)), (4, (Difference::Slower, "")));
    let three = files(&side(10_000.0, 3), &side(10_400.0, 4));
    assert_eq!(verdict(&three).0, Difference::CannotTell);
    assert!(verdict(&three).1.starts_with("3 sessions a side"), "{}", verdict(&three).1);
    let equal = files(&side(10_000.0, 12), &side(10_000.0, 12));
    assert_eq!(verdict(&equal).0, Difference::None);
}

/// What is wrong with a document.
type Change = fn(&mut ResultSet);

#[test]
fn what_may_not_be_believed_is_not_told_however_far_apart() {
    let changed = |change: Change| {
        let mut new = sample::set(vec![around("pipe", 20_000.0, 0.01)]);
        change(&mut new);
        let old = recorded("old.json", vec![around("pipe", 10_000.0, 0.01)]);
        files(&[old], &[sample::recorded("new.json", &new)])
    };
    let cases: [(Change, &str); 4] = [
        (|set| set.noise.grade = "F".into(), "B has the noise grade F"),
        (
            |set| {
                set.noise.findings.push(sample::finding(
                    "E-CLOCK",
                    Severity::Error,
                    "it ran backwards",
                ))
            },
            "B is invalid: it ran backwards",
        ),
        (
            |set| set.cells[0].timing = Some(Timing { mode: "batch".into(), batch: 8 }),
            "timed in two ways: per-op and batch",
        ),
        (
            |set| set.cells[0].rounds.truncate(5),
            "too few rounds: 12 of A, 5 of B, and an interval needs 6",
        ),
    ];
    for (change, reason) in cases {
        let document = changed(change);
        assert_eq!(verdict(&document), (Difference::CannotTell, reason));
        assert!(document.comparisons[0].primary.doubted);
    }
    assert_eq!(verdict(&changed(|_| {})).0, Difference::Slower);
    let rejected = changed(|set| {
        set.cells[0].rounds.iter_mut().for_each(|one| one.rejected = Some("x".to_owned().into()))
    });
    assert_eq!(verdict(&rejected).1, "too few rounds: 12 of A, 0 of B, and an interval needs 6");
}

#[test]
fn what_is_timed_in_two_ways_within_a_side_is_not_told_either() {
    let one = |nanos: f64, mode: &str| {
        let mut cell = around("pipe", nanos, 0.01);
        cell.timing = Some(Timing { mode: mode.into(), batch: 1 });
        cell
    };
    let told = (Difference::CannotTell, "timed in two ways: per-op and batch");
    // The last document of A is timed as B is, and the first one is not.
    let old = ["per-op", "batch"].map(|mode| recorded("old.json", vec![one(10_000.0, mode)]));
    let new = [recorded("new.json", vec![one(20_000.0, "batch")])];
    assert_eq!(verdict(&files(&old, &new)), told);
    let arms = |again: &str| {
        let cells = [(10_000.0, "per-op"), (10_000.0, again), (20_000.0, "per-op")];
        let set = sample::set(cells.map(|(nanos, mode)| one(nanos, mode)).to_vec());
        compare_live(&Arms { a: "a", b: "b", set: &set, other: None }, plan(), &terms()).unwrap()
    };
    assert_eq!(verdict(&arms("batch")), told);
    assert_eq!(verdict(&arms("per-op")).0, Difference::Slower);
}

#[test]
fn what_loses_its_messages_is_not_judged_by_those_that_arrive() {
    let cell = |mechanism: &str, nanos, lost| {
        let cell = around(mechanism, nanos, 0.001);
        Cell { messages: 30_000, lost, ..cell }
    };
    let live = |lost| {
        let [a, b] = [cell("pipe", 10_000.0, 0), cell("udp", 5_000.0, lost)];
        let set = sample::set(vec![a.clone(), a, b]);
        compare_live(&Arms { a: "a", b: "b", set: &set, other: None }, plan(), &terms()).unwrap()
    };
    assert_eq!(verdict(&live(12)).0, Difference::Faster);
    let told = (Difference::CannotTell, "B: lost too many messages");
    assert_eq!(verdict(&live(70_000)), told);
}

#[test]
fn what_differs_confounds_unless_it_is_what_is_compared() {
    let old = [recorded("old.json", vec![around("pipe", 10_000.0, 0.01)])];
    let mut new = [recorded("new.json", vec![around("pipe", 20_000.0, 0.01)])];
    new[0].set.kernel.release = "7.0".to_owned();
    new[0].set.host.cpu_model = "Another".to_owned();
    let factors = |expected: &[&str]| {
        let expected: Vec<String> = expected.iter().map(ToString::to_string).collect();
        compare_files(&old, &new, &Terms { factors: expected, ..terms() }).unwrap().confounded_by
    };
    assert_eq!(factors(&[]), ["cpu", "kernel"]);
    assert_eq!(factors(&["kernel"]), ["cpu"]);
    assert!(factors(&["kernel", "cpu"]).is_empty());
    let document = files(&old, &new);
    assert!(text(&document, Format::Table).contains("CONFOUNDED by cpu and kernel"));
    assert!(text(&document, Format::Markdown).contains("CONFOUNDED by cpu and kernel: SLOWER"));
    new[0].set.host.arch = "aarch64".to_owned();
    let refused = compare_files(&old, &new, &terms()).unwrap_err().to_string();
    assert_eq!(
        refused,
        "these results cannot be compared: they differ in architecture (x86_64 and aarch64)"
    );
}

#[test]
fn cells_are_matched_by_what_was_asked_for_and_those_of_one_side_are_named() {
    let cell = |nanos| around("pipe", nanos, 0.01);
    let old = vec![
        cell(10_000.0),
        cell(5_000.0).knob("pipe.size", Some(4096), 4096),
        around("fifo", 9_000.0, 0.01),
        around("tcp", 9_000.0, 0.01),
    ];
    let mut moved = cell(20_000.0).knob("pipe.size", None, 65_536);
    moved.key.cpus = vec![1, 1];
    let new = vec![
        cell(7_000.0).knob("pipe.size", Some(4096), 8192),
        moved,
        around("tcp", 9_000.0, 0.01).not_ok(Status::Failed, "it hung"),
        around("unix-stream", 9_000.0, 0.01),
    ];
    let document = files(&[recorded("old.json", old)], &[recorded("new.json", new)]);
    let ratios: Vec<f64> =
        document.comparisons.iter().filter_map(|one| one.primary.ratio.value).collect();
    assert!((ratios[0] - 2.0).abs() < 1e-9 && (ratios[1] - 1.4).abs() < 1e-9, "{ratios:?}");
    assert_eq!(document.comparisons[0].factors["CPUs"], ["[0, 0]", "[1, 1]"]);
    assert_eq!(document.comparisons[1].factors["pipe.size"], ["4K", "8K"]);
    assert_eq!(
        document.only_a,
        ["fifo ping-pong 64B same-cpu", "tcp ping-pong 64B same-cpu: it hung"]
    );
    assert_eq!(document.only_b, ["unix-stream ping-pong 64B same-cpu"]);
}

#[test]
fn a_rate_that_falls_is_slower() {
    let stream = |rate: f64| {
        let mut cell = around("pipe", 1.0, 0.01).rate(rate, 1.0);
        cell.rounds.iter_mut().enumerate().for_each(|(at, round)| {
            round.messages_per_second = Some(rate / 64.0 * wobble(at, 0.01));
        });
        [recorded("x.json", vec![cell])]
    };
    let document = files(&stream(1e9), &stream(0.8e9));
    let one = &document.comparisons[0].primary;
    assert_eq!((one.metric.as_str(), one.verdict), ("bytes_per_second", Difference::Slower));
    // From 1 to 0.8 is 25 % slower, less what the interval takes.
    assert!(one.at_least.is_some_and(|least| (0.2..0.25).contains(&least)), "{one:?}");
}

#[test]
fn rounds_side_by_side_tell_what_common_noise_hides_and_the_control_must_agree() {
    // The level of a round moves by 20 %, the arms within it by 1 %.
    let found = live(1.05, 1.0);
    assert_eq!(verdict(&found), (Difference::Slower, ""));
    assert_eq!(verdict(&live(1.0 / 1.05, 1.0)).0, Difference::Faster);
    let failed = live(1.05, 1.05);
    assert_eq!(verdict(&failed).0, Difference::CannotTell);
    assert!(
        verdict(&failed).1.starts_with("the control failed: A beside itself is [1.0"),
        "{failed:?}"
    );
    assert_eq!(failed.comparisons[0].primary.rounds_to_settle, None, "no number of rounds does");
    let near = live(1.012, 1.0);
    assert!(verdict(&near).1.starts_with("leaning slower; 12 rounds find differences"), "{near:?}");
    assert!(near.comparisons[0].primary.rounds_to_settle.is_some_and(|rounds| rounds > 12));
}

#[test]
fn a_round_counts_for_all_arms_or_for_none() {
    let figures = |factor: f64| (0..12).map(move |at| 10_000.0 * factor * wobble(at, 0.01));
    let mut set = sample::set(vec![
        measured("pipe", figures(1.0)),
        measured("pipe", figures(1.0)),
        measured("fifo", figures(1.1)),
    ]);
    set.cells[0].rounds[2].rejected = Some("E-MIGRATE".to_owned().into());
    set.cells[1].rounds[5].p50_ns = None;
    set.cells[2].rounds[9].rejected = Some("E-MIGRATE".to_owned().into());
    let arms = Arms { a: "a", b: "b", set: &set, other: None };
    let document = compare_live(&arms, plan(), &terms()).unwrap();
    let one = &document.comparisons[0].primary;
    assert_eq!((one.rounds.as_slice(), one.verdict), (&[9][..], Difference::Slower));
    assert_eq!(one.a_rounds.len(), 9);
    assert_eq!((one.b_rounds.len(), one.control_rounds.len()), (9, 9));
    set.cells[2].reason = Some("round 3 has no proof".to_owned());
    let arms = Arms { a: "a", b: "b", set: &set, other: None };
    let document = compare_live(&arms, plan(), &terms()).unwrap();
    assert_eq!(verdict(&document), (Difference::CannotTell, "B: round 3 has no proof"));
}

#[test]
fn what_another_build_is_does_not_confound_and_the_machine_under_it_does() {
    let figures = |factor: f64| (0..12).map(move |at| 10_000.0 * factor * wobble(at, 0.01));
    let cells = || {
        vec![
            measured("pipe", figures(1.0)),
            measured("pipe", figures(1.0)),
            measured("pipe", figures(1.2)),
        ]
    };
    let (set, mut other) = (sample::set(cells()), sample::set(cells()));
    other.tool.version = "0.2.0".to_owned();
    let compared = |other: &ResultSet| {
        let arms = Arms { a: "a", b: "b", set: &set, other: Some(other) };
        compare_live(&arms, plan(), &terms())
    };
    let document = compared(&other).unwrap();
    assert_eq!((document.design, verdict(&document).0), (Design::LiveBinary, Difference::Slower));
    assert!(document.confounded_by.is_empty() && document.factors.contains_key("tool"));
    other.kernel.release = "7.0".to_owned();
    assert_eq!(compared(&other).unwrap().confounded_by, ["kernel"]);
    other.tool.build.insert("opt_level".to_owned(), "0".to_owned());
    assert!(compared(&other).unwrap_err().to_string().contains("optimisation"));
}

#[test]
fn of_many_cells_a_claim_must_survive_its_number() {
    // 6 beside 6 reach p = 2/924 at best: enough for one cell, not for one of thirty.
    let side = |factor: f64, count: usize| {
        let cell =
            |at: usize| measured(&format!("m{at}"), (0..6).map(|at| factor * wobble(at, 0.001)));
        [recorded("x.json", (0..count).map(cell).collect())]
    };
    let compared = |count: usize| files(&side(1.0, count), &side(1.5, count));
    let (alone, many) = (compared(1), compared(30));
    assert_eq!(verdict(&alone).0, Difference::Slower);
    let p = |document: &Comparison| document.comparisons[0].primary.p_adjusted.unwrap();
    assert!((p(&alone) - 2.0 / 924.0).abs() < 1e-9 && (p(&many) - 60.0 / 924.0).abs() < 1e-9);
    let expected = "by itself it would be SLOWER, but not as one of 30 cells: p is 0.06";
    assert_eq!(verdict(&many), (Difference::CannotTell, expected));
    assert!(many.comparisons.iter().all(|one| one.primary.at_least.is_none()));
    // A cell that is doubted takes nothing from the others, and is not counted.
    let side = |factor: f64| {
        let cell = |(name, rounds): (&str, usize)| {
            measured(name, (0..rounds).map(|at| factor * wobble(at, 0.001)))
        };
        [recorded("x.json", [("m0", 6), ("m1", 6), ("m2", 5)].map(cell).to_vec())]
    };
    let document = files(&side(1.0), &side(1.5));
    assert!((p(&document) - 4.0 / 924.0).abs() < 1e-9, "{}", p(&document));
    let shown = whole(&document);
    assert!(shown.contains("Claims are adjusted for 2 cells."), "{shown}");
}

pub(crate) fn mixed() -> Comparison {
    let old = recorded(
        "old.json",
        vec![
            around("pipe", 10_000.0, 0.01),
            around("fifo", 10_000.0, 0.01),
            around("tcp", 10_000.0, 0.3),
            around("unix-stream", 8_000.0, 0.01),
        ],
    );
    let mut new = recorded(
        "new.json",
        vec![
            around("pipe", 12_000.0, 0.01),
            around("fifo", 8_000.0, 0.01),
            around("tcp", 10_100.0, 0.3),
            sample::cell("posix-mq", 64, TWO).not_ok(Status::Unavailable, "no message queues"),
        ],
    );
    new.set.kernel.release = "6.19.0".to_owned();
    files(&[old], &[new])
}

#[test]
fn files_beside_each_other_on_80_columns() {
    let shown = text(&mixed(), Format::Table);
    assert!(shown.lines().all(|line| width(line) <= 80), "{shown}");
    insta::assert_snapshot!(shown);
}

#[test]
fn arms_beside_each_other_on_80_columns() {
    insta::assert_snapshot!(text(&live(1.05, 1.0), Format::Table));
}

#[test]
fn a_comparison_for_a_pull_request() {
    insta::assert_snapshot!(text(&mixed(), Format::Markdown));
}

#[test]
fn no_line_is_wider_than_asked_and_nothing_a_terminal_obeys_is_passed_on() {
    let mut document = mixed();
    document.comparisons[0].a = "a\u{1b}[2J\u{202e}b".repeat(40);
    document.only_b = vec!["x\u{7}".repeat(200)];
    for format in [Format::Table, Format::Markdown, Format::Csv] {
        let shown = text(&document, format);
        assert!(shown.chars().all(|sign| sign == '\n' || !sign.is_control()), "{format}");
    }
    for width in [20, 40, 80, 200] {
        let style = Style { width, ..Style::default() };
        let shown = in_style(&document, Format::Table, &style);
        assert!(
            shown.lines().all(|line| ipcperf_render::text::width(line) <= width),
            "{width}: {shown}"
        );
    }
}

#[test]
fn documents_are_valid_by_the_schema_which_names_every_key() {
    for document in [mixed(), live(1.05, 1.0), live(1.012, 1.0)] {
        let document: Value = serde_json::from_str(&text(&document, Format::Json)).unwrap();
        is_described("comparison", &document);
        let read: Comparison = serde_json::from_value(document.clone()).unwrap();
        assert_eq!(serde_json::to_value(&read).unwrap(), document);
    }
    // Two figures of each of three cells.
    assert_eq!(text(&mixed(), Format::Csv).lines().count(), 7);
    assert_eq!(text(&mixed(), Format::Ndjson).lines().count(), 3);
}

#[test]
fn a_gate_fails_on_what_is_certain_and_tells_what_is_not() {
    let gate: Slower = "slower:5%".parse().unwrap();
    let kind = |document: &Comparison| match gate.check(document) {
        Outcome::Passed => "passed",
        Outcome::Failed(_) => "failed",
        Outcome::CannotTell(_) => "open",
    };
    assert_eq!(kind(&live(1.10, 1.0)), "failed");
    assert_eq!(kind(&live(1.03, 1.0)), "passed", "slower, and certainly by less than that");
    assert_eq!(kind(&live(1.012, 1.0)), "passed", "cannot tell, and certainly by less than that");
    assert_eq!(kind(&live(1.05, 1.0)), "open");
    assert_eq!(kind(&live(0.5, 1.0)), "passed");
    assert_eq!(kind(&live(1.0, 1.05)), "open", "the control failed");
    assert_eq!(kind(&pair(10_000.0, 12_000.0)), "failed");
    assert_eq!(kind(&pair(10_000.0, 10_000.0)), "open", "a session may hide 11 %");
    assert_eq!(kind(&pair(12_000.0, 10_000.0)), "passed");
    let mut missing = live(1.0, 1.0);
    missing.only_a.push("fifo".into());
    assert_eq!(kind(&missing), "open");
    let mut confounded = live(1.5, 1.0);
    confounded.confounded_by.push("kernel".into());
    assert_eq!(kind(&confounded), "open");
    let nothing = Comparison { comparisons: Vec::new(), ..live(1.0, 1.0) };
    assert_eq!(kind(&nothing), "open");
    for text in ["slower", "slower:5", "faster:5%", "slower:-1%", "slower:nan%", ""] {
        let said = format!("'{text}' is not a gate (like slower:5% or p99:slower:10%)");
        assert_eq!(text.parse::<Slower>(), Err(said));
    }
}

/// A run of these cells.
fn run(cells: Vec<Cell>) -> ResultSet {
    let mut set = sample::set(cells);
    set.invocation.plan.command = "run".to_owned();
    set
}

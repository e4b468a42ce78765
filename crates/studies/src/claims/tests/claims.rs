//! Whether verdicts are right: of the published figures themselves, of simulated rounds, and at every scale.

use super::*;
use crate::claims::accept::{Accept, Judged, JudgedFigure, judge, overall};
use crate::claims::measured::QUANTILES;
use ipcperf_core::result::Status;
use ipcperf_stats::{Histogram, Rng, support};

/// A figure that is known without any uncertainty.
fn exact(value: f64) -> JudgedFigure {
    let interval = Some([value, value]);
    let metric = Metric { value: Some(value), ci95: interval, ..Metric::default() };
    JudgedFigure { metric, joint: interval }
}

/// The authors' own figures, by the code that judges ours. A range that excludes what was published is refused when the
/// file is read.
#[test]
fn the_published_figures_reproduce_their_own_claims() {
    let mut count = 0;
    for study in parsed() {
        for claim in &study.claims {
            let How::Tests { tests, is_value } = &claim.how else { continue };
            let figures = tests.iter().filter_map(|test| Some((test, test.published?)));
            let judged: Vec<Judged> = figures
                .map(|(test, figure)| judge(test, exact(figure), *is_value, tests.len()))
                .collect();
            count += judged.len();
            if judged.is_empty() {
                let is_told = matches!(claim.published, Published::Text(_));
                assert!(claim.kind != ClaimKind::Claim || is_told, "{}: neither", claim.id);
                continue;
            }
            assert_eq!(judged.len(), tests.len(), "{}: a figure for each test", claim.id);
            assert_eq!(overall(&judged), Verdict::Reproduced, "{}: {judged:?}", claim.id);
        }
    }
    assert!(count > 80, "{count} published figures");
}

/// What the authors' own tables contradict, in words that have no figure of their own.
const CONTRADICTED: [&str; 2] = ["s3.c10", "s3.c6.500.tcp"];

#[test]
fn a_range_that_excludes_what_was_published_is_refused() {
    for (published, accept, part) in [
        ("2.1", "> 3", "'> 3' excludes the published 2.1 itself"),
        ("2.1", "0.5 .. 2.0", "'0.5 .. 2' excludes the published 2.1 itself"),
        ("1", "> 1", "'> 1' excludes the published 1 itself"),
        ("1", ">= 1", ""),
        ("2.1", "report", ""),
    ] {
        let from = "published = 2.1\naccept = \"> 1\"";
        assert!(SMALL.contains(from));
        let text =
            SMALL.replacen(from, &format!("published = {published}\naccept = \"{accept}\""), 1);
        match Study::parse(&text, &anything) {
            Ok(_) => assert_eq!(part, "", "{published} {accept}"),
            Err(error) => {
                let is_told = !part.is_empty() && error.contains(part);
                assert!(is_told && error.contains("claim x.reproduced"), "{error}");
            }
        }
    }
}

/// Clocks that do not differ on one machine were no reason to say that they cannot.
#[test]
fn that_something_can_happen_is_refuted_by_no_machine_on_which_it_does_not() {
    let text =
        SMALL.replacen("text = \"b is faster\"", "text = \"b can be faster\"\ncan = true", 1);
    let study = Study::parse(&text, &anything).expect("well formed");
    let judged_at = |wall: f64| {
        let rounds = |wall: f64| vec![BTreeMap::from([("wall_s".to_owned(), wall)]); 9];
        let arms = study.arms.iter().zip([1.0, wall, wall]);
        let arms: Vec<Measured> = arms.map(|(arm, wall)| recorded(arm, &rounds(wall))).collect();
        judged(&study, &arms, 9).swap_remove(2)
    };
    assert_eq!(judged_at(0.5).verdict, Verdict::Reproduced);
    let not_here = judged_at(2.0);
    assert_eq!(not_here.verdict, Verdict::Inconclusive);
    let reason = "one machine on which it did not happen does not refute it";
    assert!(not_here.reason.ends_with(reason), "{}", not_here.reason);
    let ours = SMALL.replacen("kind = \"self-check\"", "kind = \"self-check\"\ncan = true", 1);
    let error = Study::parse(&ours, &anything).expect_err("nobody said it");
    assert!(error.contains("claim x.holds: 'can' is for what an author says"), "{error}");
    let can: Vec<String> = parsed()
        .into_iter()
        .flat_map(|study| study.claims)
        .filter(|one| one.can)
        .map(|one| one.id)
        .collect();
    assert_eq!(can, ["s0.q1", "s2.c13"]);
}

/// A ratio and its inverse are one question. With a tie that counted here as faster and there as slower, one claim was
/// REPRODUCED beside another that was not, of the same two arms.
#[test]
fn what_two_claims_ask_alike_they_accept_alike() {
    fn ends(accept: Accept) -> [f64; 2] {
        match accept {
            Accept::Range { low, high, .. } => [low, high],
            Accept::Report => [f64::NAN; 2],
        }
    }
    /// Of the inverse of a ratio.
    fn turned([low, high]: [f64; 2]) -> [f64; 2] {
        let low = if low.is_finite() { low } else { 0.0 };
        [1.0 / high, if low > 0.0 { 1.0 / low } else { f64::INFINITY }]
    }
    let mut twice = 0;
    // The other two claim sizes beside orders of the same arms, which are two questions.
    let asks_once = |study: &Study| ["inferno", "qiita", "baeldung"].contains(&study.name());
    for study in parsed().into_iter().filter(asks_once) {
        let mut seen: Vec<(String, Expression, [f64; 2])> = Vec::new();
        for claim in &study.claims {
            if claim.kind != ClaimKind::Claim || CONTRADICTED.contains(&claim.id.as_str()) {
                continue;
            }
            for test in claim.tests() {
                let Some(accept) = test.accept.filter(|accept| *accept != Accept::Report) else {
                    continue;
                };
                let inverse = match &test.expression {
                    Expression::Pair('/', over, under) => {
                        Some(Expression::Pair('/', under.clone(), over.clone()))
                    }
                    _ => None,
                };
                for (id, expression, range) in &seen {
                    let here = ends(accept).map(|end| end.max(0.0));
                    let there = range.map(|end| end.max(0.0));
                    let what = format!("{id} and {}: {}", claim.id, test.expression);
                    if *expression == test.expression {
                        assert_eq!(here, there, "{what}");
                        twice += 1;
                    } else if inverse.as_ref() == Some(expression) {
                        assert_eq!(turned(here), there, "{what}");
                        twice += 1;
                    }
                }
                seen.push((claim.id.clone(), test.expression.clone(), ends(accept)));
            }
        }
    }
    assert!(twice >= 10, "{twice} questions asked twice");
}

/// The same of what follows from the published tables, also for claims that have no figures of their own: each test whose
/// readings are all in a table comes out as the author said, or an erratum of the claim says why it cannot.
#[test]
fn the_published_tables_bear_out_every_claim_or_its_erratum_says_why_not() {
    let mut count = BTreeMap::new();
    for study in parsed() {
        let tables = published(&study);
        for claim in study.claims.iter().filter(|claim| claim.kind.is_published()) {
            let How::Tests { tests, is_value } = &claim.how else { continue };
            for test in tests {
                let value = test.expression.value(&mut |metric, arm| {
                    tables.get(&(metric.to_owned(), arm.to_owned())).copied().ok_or(())
                });
                let Ok(value) = value else { continue };
                let judged = judge(test, exact(value), *is_value, tests.len());
                *count.entry(study.head.name.clone()).or_insert(0) += 1;
                if judged.result.verdict != Verdict::Reproduced {
                    let has_erratum = study.errata.iter().any(|one| one.claims.contains(&claim.id));
                    let what = format!("{}: {value}: {}", claim.id, judged.reason);
                    assert!(has_erratum, "{what}");
                }
            }
        }
    }
    assert!(count.get("marhubi").is_some_and(|count| *count >= 30), "{count:?}");
    assert!(count.values().sum::<i32>() > 80, "{count:?}");
}

/// What an author's table shows and the text does not say is no claim of the author.
#[test]
fn what_is_read_off_a_table_is_marked_as_a_reading_and_judged_like_a_claim() {
    let readings = |name: &str| -> Vec<String> {
        let study = parsed().into_iter().find(|study| study.head.name == name).expect(name);
        let claims = study.claims.into_iter();
        claims.filter(|claim| claim.kind == ClaimKind::Reading).map(|claim| claim.id).collect()
    };
    assert_eq!(readings("qiita"), ["s1.c1.as-published", "s1.c5", "s1.x3", "s1.x4"]);
    assert_eq!(readings("wisconsin"), ["s2.c7"]);
    assert_eq!(
        readings("marhubi"),
        [
            "s4.c1.loop",
            "s4.c2",
            "s4.c3",
            "s4.c3.tail",
            "s4.c4",
            "s4.c5",
            "s4.c7.ns",
            "s4.c8",
            "s4.c9"
        ]
    );
    let text = SMALL.replacen("published = 2.1", "kind = \"reading\"\npublished = 2.1", 1);
    let study = Study::parse(&text, &anything).expect("well formed");
    let rounds = |wall: f64| vec![BTreeMap::from([("wall_s".to_owned(), wall)]); 9];
    let arms: Vec<Measured> = study
        .arms
        .iter()
        .zip([1.0, 2.0, 2.0])
        .map(|(arm, wall)| recorded(arm, &rounds(wall)))
        .collect();
    let first = judged(&study, &arms, 9).swap_remove(0);
    assert_eq!((first.kind, first.verdict), (ClaimKind::Reading, Verdict::Reproduced));
}

/// A value that a test accepts surely, or surely does not.
fn example(test: &Test, is_value: bool, is_accepted: bool) -> f64 {
    let candidates = [1e-6, 0.5, 0.9, 1.0, 1.1, 1.75, 3.0, 1e6, 0.0, -1e6].into_iter();
    let fits = |value: &f64| {
        let verdict = judge(test, exact(*value), is_value, 1).result.verdict;
        match is_accepted {
            true => matches!(verdict, Verdict::Reproduced | Verdict::Direction),
            false => verdict == Verdict::NotReproduced,
        }
    };
    candidates.chain(test.published).find(fits).unwrap_or_else(|| panic!("{test:?}"))
}

/// With rounds that leave no doubt, each claim can come out either way: there are enough of them for all its tests.
#[test]
fn every_claim_can_fail_and_hold_with_the_rounds_of_every_scale() {
    let mut count = 0;
    for study in parsed() {
        for scale in Scale::ALL {
            let rounds = usize::try_from(study.rounds(*scale)).expect("few");
            for claim in study.claims.iter().filter(|claim| claim.kind.is_published()) {
                let How::Tests { tests, is_value } = &claim.how else {
                    panic!("{}: nobody can test it", claim.id)
                };
                for test in tests {
                    let verdict = |is_accepted| {
                        let all = vec![example(test, *is_value, is_accepted); rounds];
                        let figure = JudgedFigure::of(&all, *is_value, tests.len());
                        judge(test, figure, *is_value, tests.len()).result.verdict
                    };
                    let what =
                        format!("{} at {scale}: {} tests, {rounds} rounds", claim.id, tests.len());
                    assert_eq!(verdict(false), Verdict::NotReproduced, "{what}");
                    assert!(verdict(true) <= Verdict::Direction, "{what}");
                    count += 1;
                }
            }
        }
    }
    assert!(count > 400, "{count} tests");
}

/// A quantile is tested on all rounds together where one alone does not support it. Where an arm says how many samples it
/// takes, the scale `full` has enough for every claim, and a claim that a smaller one cannot test says so.
#[test]
fn every_quantile_of_a_claim_has_its_samples_or_the_claim_says_from_which_scale_on() {
    let mut lacking = BTreeMap::new();
    for study in parsed() {
        for claim in &study.claims {
            let is_short = |scale: &&Scale| {
                claim.readings().any(|(metric, id)| {
                    let arm = study.arms.iter().find(|arm| arm.id == id).expect("checked");
                    let keys = study.keys(arm, **scale);
                    let samples = keys.get("samples").and_then(toml::Value::as_integer);
                    let quantile = QUANTILES.iter().find(|(name, _)| *name == metric);
                    samples.zip(quantile).is_some_and(|(samples, (_, q))| {
                        let each = u64::try_from(samples).expect("some");
                        support(each * study.rounds(**scale), *q).is_err()
                    })
                })
            };
            let words = match Scale::ALL.iter().filter(is_short).count() {
                0 => continue,
                1 => "from scale quick on",
                2 => "at scale full",
                _ => panic!("{}: no scale can test it", claim.id),
            };
            let note = claim.note.as_deref().unwrap_or_default();
            assert!(note.contains(words), "{}: '{words}' in '{note}'", claim.id);
            lacking.insert(claim.id.clone(), words);
        }
    }
    let expected = [
        ("s4.c3.tail", "from scale quick on"),
        ("s4.c5", "at scale full"),
        ("s4.c5.corrected", "at scale full"),
        ("s4.c9", "at scale full"),
    ];
    assert_eq!(lacking, expected.map(|(id, words)| (id.to_owned(), words)).into());
}

const TAILS: &str = r#"
name = "tails"
prefix = "t"
title = "Two arms"
scale.smoke.rounds = 12
scale.quick.rounds = 12
scale.full.rounds = 12
[[arm]]
id = "a"
work = "cell"
[[arm]]
id = "b"
work = "cell"
[[claim]]
id = "t.tail"
text = "b has the longer tail"
test = "p99.9_ns(b) / p99.9_ns(a)"
published = 2
accept = "> 1"
[[claim]]
id = "t.far"
text = "and further out"
test = "p99.999_ns(b) / p99.999_ns(a)"
stated = "longer"
accept = "> 1"
"#;

/// Two arms of 12 rounds of 2,500 operations: single ones spread by 30 %, and whole rounds of an arm by 10 %.
fn tails(study: &Study, factor: f64, rng: &mut Rng) -> Vec<ClaimResult> {
    let mut arm = |at: usize, factor: f64| {
        let mut measured = Measured::new(&study.arms[at]);
        for round in 0..12 {
            let level = 1e6 * factor * (0.1 * rng.normal()).exp();
            let mut operations = Histogram::new();
            for _ in 0..2500 {
                operations.record((level * (0.3 * rng.normal()).exp()) as u64);
            }
            let mut readings = Readings::default();
            readings.singles(operations);
            measured.keep(round, 0, readings);
        }
        measured
    };
    let arms = [arm(0, 1.0), arm(1, factor)];
    judged(study, &arms, 12)
}

/// No round has the 20,000 operations that a p99.9 needs, all of them together have 30,000.
#[test]
fn a_quantile_that_no_round_supports_is_judged_on_all_rounds_together() {
    let study = Study::parse(TAILS, &anything).expect("well formed");
    let mut rng = Rng::stream(7, "tails");
    let [longer, shorter] = [2.0, 0.5].map(|factor| tails(&study, factor, &mut rng));
    assert!(longer[0].verdict <= Verdict::Direction, "{}", longer[0].reason);
    assert_eq!(shorter[0].verdict, Verdict::NotReproduced, "{}", shorter[0].reason);
    let metric = longer[0].measured.clone().expect("a figure");
    assert_eq!(metric.method.as_deref(), Some("merged"));
    assert_eq!(longer[1].verdict, Verdict::Untestable);
    let reason = &longer[1].reason;
    assert!(reason.contains("needs 2000000 samples, all rounds together have 30000"), "{reason}");
}

/// Two million round trips do not make hardware threads: where a core has one, that is told, whichever test comes first.
#[test]
fn a_core_without_two_threads_is_told_before_samples_that_are_too_few() {
    let mut study = parsed().into_iter().find(|one| one.head.name == "marhubi").expect("ours");
    study.claims.retain(|claim| claim.id == "s4.c9");
    let reason = |study: &Study, has_threads: bool| {
        let of = |arm: &Arm| {
            let mut measured = Measured::new(arm);
            if arm.id == "same-core" && !has_threads {
                measured.ended = Some((Status::Unavailable, "no core has two threads".into()));
                return measured;
            }
            for round in 0..12 {
                let mut operations = Histogram::new();
                for _ in 0..100 {
                    operations.record(5_000_000);
                }
                let mut readings = Readings::default();
                readings.singles(operations);
                measured.keep(round, 0, readings);
            }
            measured
        };
        let arms: Vec<Measured> = study.arms.iter().map(of).collect();
        let claim = judged(study, &arms, 12).swap_remove(0);
        assert_eq!(claim.verdict, Verdict::Untestable, "{}", claim.reason);
        claim.reason
    };
    for _ in 0..2 {
        let told = reason(&study, false);
        assert!(told.contains("pipes, same core: no core has two threads"), "{told}");
        let few = told.find("needs 2000000 samples").expect("told after it");
        assert!(told.find("no core has").is_some_and(|threads| threads < few), "{told}");
        let told = reason(&study, true);
        assert!(told.contains("needs 2000000 samples, all rounds together have 1200"), "{told}");
        let How::Tests { tests, .. } = &mut study.claims[0].how else { panic!("it has tests") };
        tests.reverse();
    }
}

#[test]
fn the_interval_of_a_ratio_over_all_rounds_holds_the_true_one() {
    let study = Study::parse(TAILS, &anything).expect("well formed");
    let mut rng = Rng::stream(8, "tails");
    let runs = 40;
    let held = (0..runs).filter(|_| {
        let claims = tails(&study, 2.0, &mut rng);
        let metric = claims[0].measured.clone().expect("a figure");
        metric.ci95.is_some_and(|[low, high]| low <= 2.0 && 2.0 <= high)
    });
    let held = held.count();
    assert!(held >= 36, "{held} of {runs}");
}

/// How many of `runs` simulated replications of one claim get the verdict NOT REPRODUCED. `truth` has the true value of a
/// reading; every reading of every round has lognormal noise of 20 % of its own.
fn not_reproduced(
    of: (&str, &str),
    rounds: u64,
    runs: usize,
    truth: &dyn Fn(&str) -> f64,
) -> usize {
    let (name, id) = of;
    let mut study = parsed().into_iter().find(|one| one.head.name == name).expect(name);
    study.claims.retain(|claim| claim.id == id);
    let readings = study.claims.iter().flat_map(Claim::readings);
    let used = readings.map(|(metric, arm)| (arm.to_owned(), metric.to_owned()));
    let used: BTreeSet<(String, String)> = used.collect();
    assert!(!used.is_empty(), "{id}");
    let mut rng = Rng::stream(7, id);
    let mut replication = || {
        let mut arms: BTreeMap<&String, Vec<BTreeMap<String, f64>>> = BTreeMap::new();
        for (arm, metric) in &used {
            let rows = arms.entry(arm).or_insert_with(|| vec![BTreeMap::new(); rounds as usize]);
            for row in rows {
                row.insert(metric.clone(), truth(arm) * (0.2 * rng.normal()).exp());
            }
        }
        let find = |id: &String| study.arms.iter().find(|arm| arm.id == *id).expect("checked");
        let arms: Vec<Measured> = arms.iter().map(|(id, rows)| recorded(find(id), rows)).collect();
        judged(&study, &arms, rounds)[0].verdict
    };
    (0..runs).filter(|_| replication() == Verdict::NotReproduced).count()
}

/// The arms that are said to be ahead are by 10 %, half of the noise of a reading.
#[test]
fn claims_that_hold_by_ten_per_cent_are_not_refuted_by_noise_of_twenty() {
    fn ahead(arm: &str, first: &[&str], last: &[&str]) -> f64 {
        let is = |names: &[&str]| names.iter().any(|name| arm.starts_with(name));
        if is(first) {
            1.1
        } else if is(last) {
            1.0 / 1.1
        } else {
            1.0
        }
    }
    let mut refuted = BTreeMap::new();
    for (study, id, first, last) in [
        ("baeldung", "s3.c1", &["named"][..], &["unix"][..]),
        ("baeldung", "s3.c3", &["unix"], &["anon"]),
        ("baeldung", "s3.c5", &["unix", "tcp"], &[]),
        ("baeldung", "s3.c6.100", &["named", "anon"], &[]),
        ("baeldung", "s3.c6.500", &["named", "anon"], &[]),
        ("wisconsin", "s2.c2", &["udp"], &[]),
    ] {
        let count = not_reproduced((study, id), 50, 40, &|arm| ahead(arm, first, last));
        refuted.insert(id, count);
    }
    assert!(refuted.values().all(|count| *count <= 2), "of 40 each: {refuted:?}");
}

/// All arms alike, at the very edge of what a claim of twelve tests accepts: then chance is all that there is.
#[test]
fn twelve_tests_refute_a_claim_by_chance_no_more_often_than_one() {
    let count = not_reproduced(("baeldung", "s3.c7"), 12, 400, &|_| 1.0);
    assert!(count <= 20, "{count} of 400");
}

/// As a ratio it had no value where a round had no tick of the kernel in user code: UNTESTABLE at the smallest scale.
#[test]
fn user_time_of_rounds_without_a_tick_still_has_an_order() {
    let mut study = parsed().into_iter().find(|one| one.name() == "inferno").expect("ours");
    study.claims.retain(|claim| claim.id == "s0.c3");
    let arm = |id: &str, user_ns: [f64; 8]| {
        let rows = user_ns.map(|user_ns| BTreeMap::from([("user_ns".to_owned(), user_ns)]));
        recorded(study.arms.iter().find(|arm| arm.id == id).expect(id), &rows)
    };
    let ticks = [0.0, 450.0, 900.0, 0.0, 450.0, 0.0, 450.0, 900.0];
    let mut arms = [arm("message", ticks), arm("file", [4000.0; 8])];
    assert_eq!(judged(&study, &arms, 8)[0].verdict, Verdict::Reproduced);
    arms[1] = arm("file", [900.0, 0.0, 0.0, 450.0, 0.0, 900.0, 0.0, 450.0]);
    assert_eq!(judged(&study, &arms, 8)[0].verdict, Verdict::Inconclusive);
}

/// Divided by 1000 for another unit it had none.
#[test]
fn a_quantile_of_all_rounds_has_its_interval_in_every_unit() {
    let table = "[[table]]\ntitle = \"t\"\nunit = \"us\"\nstatistic = \"merged\"\ncolumns = [\"p50\"]\n\
                 [[table.row]]\nlabel = \"a\"\ncells = \"p50_ns(a)\"\n\
                 [[table.row]]\nlabel = \"b\"\ncells = \"p50_ns(a) / 1000\"\n";
    let study = Study::parse(&format!("{TAILS}{table}"), &anything).expect("well formed");
    let mut arm = Measured::new(&study.arms[0]);
    for round in 0..12 {
        let mut operations = Histogram::new();
        operations.record_n(5_000_000 + 10_000 * round, 100);
        let mut readings = Readings::default();
        readings.singles(operations);
        arm.keep(round, 0, readings);
    }
    let arms = [arm];
    let tables = Findings::new(&arms, 12, Noise::default()).tables(&study);
    let [ns, us] = [0, 1].map(|row| tables[0].rows[row].measured[0].ci95.expect("twelve rounds"));
    assert_eq!(us, ns.map(|end| end / 1e3));
}

/// Tables of single rounds and of all rounds together showed what a cell with a wrong message had found before.
#[test]
fn an_arm_that_failed_has_no_figure_in_any_table() {
    for statistic in ["median", "mean", "least", "merged", "runs"] {
        let text = ANSWERED
            .replace("statistic = \"mean\"", &format!("statistic = \"{statistic}\""))
            .replace("[\"missed\", \"lost\"]", "[\"p50_ns\", \"least_ns\"]");
        let study = Study::parse(&text, &anything).expect("well formed");
        let mut arm = Measured::new(&study.arms[0]);
        for round in 0..12 {
            let mut operations = Histogram::new();
            operations.record_n(5_000_000, 100);
            let mut readings = Readings::default();
            readings.singles(operations);
            arm.keep(round, 0, readings);
        }
        let figures = |arm: &Measured| -> Vec<Metric> {
            let arms = [arm.clone()];
            let tables = Findings::new(&arms, 12, Noise::default()).tables(&study);
            tables[0].rows.iter().flat_map(|row| row.measured.clone()).collect()
        };
        assert!(figures(&arm).iter().all(|one| one.value.is_some()), "{statistic}");
        arm.ended = Some((Status::Failed, "a wrong message".into()));
        for figure in figures(&arm) {
            let reason = figure.reason.as_deref().unwrap_or_default();
            assert!(
                figure.value.is_none() && reason.contains("a wrong message"),
                "{statistic}: {figure:?}"
            );
        }
    }
}

fn finding(code: &str, cells: &[&str]) -> Finding {
    Finding {
        code: code.into(),
        severity: Severity::Warning,
        text: format!("what {code} says"),
        value: None,
        limit: None,
        cells: cells.iter().map(|id| (*id).to_owned()).collect(),
        remedy: String::new(),
    }
}

/// One text stood for all tests of a claim, whichever of them had decided.
#[test]
fn why_a_claim_may_come_out_otherwise_is_of_the_test_that_decided() {
    let with = |why: &str| {
        let text = SMALL.replacen("id = \"x.not\"", &format!("id = \"x.not\"\nwhy = {why}"), 1);
        Study::parse(&text, &anything)
    };
    let why = |given: &str, wall: f64| {
        let study = with(given).expect("well formed");
        let rows = |wall: f64| vec![BTreeMap::from([("wall_s".to_owned(), wall)]); 9];
        let arms = [recorded(&study.arms[0], &rows(1.0)), recorded(&study.arms[1], &rows(wall))];
        let claim = judged(&study, &arms, 9).into_iter().find(|claim| claim.id == "x.not");
        claim.expect("it has it").why
    };
    assert_eq!(why("[\"b waits\", \"a waits\"]", 2.0).as_deref(), Some("b waits"));
    assert_eq!(why("\"either waits\"", 2.0).as_deref(), Some("either waits"));
    assert_eq!(why("[\"\", \"a waits\"]", 2.0), None);
    let error = with("[\"one\", \"two\", \"three\"]").expect_err("two tests");
    assert!(error.contains("claim x.not: one 'why' is needed, or as many as"), "{error}");
}

/// What no noise changes had no verdict on a disturbed machine either: "EMSGSIZE, 8 of 8" was left open.
#[test]
fn at_grade_f_what_no_noise_changes_keeps_its_verdict() {
    let study = Study::parse(ANSWERED, &anything).expect("well formed");
    let mut arm = Measured::new(&study.arms[0]);
    for round in 0..12 {
        let mut readings = Readings::default();
        readings.answer("missed", false);
        readings.set("lost", 0.0);
        arm.keep(round, 0, readings);
    }
    let arms = [arm];
    let noise = Noise { grade: "F".into(), ..Noise::default() };
    let claim = Findings::new(&arms, 12, noise).claims(&study).swap_remove(0);
    assert_eq!(claim.verdict, Verdict::Reproduced, "{}", claim.reason);
}

/// The same rounds on a quiet machine and on one of grade F.
#[test]
fn at_grade_f_no_claim_has_a_verdict_and_the_cause_is_told() {
    let study = Study::parse(SMALL, &anything).expect("well formed");
    let rows = |wall: f64| {
        vec![BTreeMap::from([("wall_s".to_owned(), wall), ("noise".to_owned(), 2.0)]); 9]
    };
    let arms = [
        recorded(&study.arms[0], &rows(1.0)),
        recorded(&study.arms[1], &rows(2.0)),
        recorded(&study.arms[2], &[]),
    ];
    let verdicts = |grade: &str| {
        let findings = vec![finding("W-STEAL", &[]), finding("W-MULTIMODAL", &["a"])];
        let causes = vec!["steal 20 %".to_owned()];
        let noise = Noise { grade: grade.into(), causes, findings, ..Noise::default() };
        Findings::new(&arms, 9, noise).claims(&study)
    };
    let [quiet, noisy] = ["D", "F"].map(verdicts);
    assert_eq!(quiet[0].verdict, Verdict::Reproduced);
    assert!(quiet[0].reason.ends_with("; in two modes: a"), "{}", quiet[0].reason);
    for (before, after) in quiet.iter().zip(&noisy) {
        let judged = after.kind.is_published() && before.verdict != Verdict::Untestable;
        let expected = if judged { Verdict::Inconclusive } else { before.verdict };
        assert_eq!(after.verdict, expected, "{}", after.id);
        assert!(!judged || after.tests.iter().all(|test| test.verdict == expected), "{}", after.id);
    }
    let reason = &noisy[0].reason;
    assert!(reason.contains("noise grade F") && reason.contains("steal 20 %"), "{reason}");
    assert!(noisy[0].measured.as_ref().is_some_and(|metric| metric.value.is_some()));
}

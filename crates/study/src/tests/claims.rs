//! Whether verdicts are right: of the published figures themselves, of simulated rounds, and at every scale.

use super::*;
use crate::accept::{Figure, judge};
use crate::measured::QUANTILES;
use ipcperf_stats::{Rng, support};

/// A figure that is known without any uncertainty.
fn exact(value: f64) -> Figure {
    let interval = Some([value, value]);
    let metric = Metric { value: Some(value), ci95: interval, ..Metric::default() };
    Figure { metric, joint: interval }
}

/// The authors' own figures, by the code that judges ours: a range that excludes what was published is a mistake in the
/// study's file.
#[test]
fn the_published_figures_reproduce_their_own_claims() {
    let mut count = 0;
    for study in embedded() {
        for claim in &study.claims {
            let How::Tests { tests, is_value } = &claim.how else { continue };
            for (at, test) in (1..).zip(tests) {
                let Some(published) = test.published else { continue };
                let judged = judge(test, exact(published), *is_value, tests.len());
                let what = format!("{} figure {at}: {published}: {}", claim.id, judged.reason);
                assert_eq!(judged.result.verdict, Verdict::Reproduced, "{what}");
                count += 1;
            }
        }
    }
    assert!(count > 80, "{count} published figures");
}

/// What an author's table shows and the text does not say is no claim of the author.
#[test]
fn what_is_read_off_a_table_is_marked_as_a_reading_and_judged_like_a_claim() {
    let readings = |name: &str| -> Vec<String> {
        let study = embedded().into_iter().find(|study| study.head.name == name).expect(name);
        let claims = study.claims.into_iter();
        claims.filter(|claim| claim.kind == ClaimKind::Reading).map(|claim| claim.id).collect()
    };
    assert_eq!(readings("wisconsin"), ["s2.c7"]);
    assert_eq!(readings("marhubi"), ["s4.c3", "s4.c4", "s4.c5", "s4.c8", "s4.c9"]);
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
    for study in embedded() {
        for scale in Scale::ALL {
            let rounds = usize::try_from(study.rounds(*scale)).expect("few");
            for claim in study.claims.iter().filter(|claim| claim.kind.is_published()) {
                let How::Tests { tests, is_value } = &claim.how else {
                    panic!("{}: nobody can test it", claim.id)
                };
                for test in tests {
                    let verdict = |is_accepted| {
                        let all = vec![example(test, *is_value, is_accepted); rounds];
                        let figure = Figure::of(&all, *is_value, tests.len());
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

/// A quantile has a reading only in rounds with enough samples. Where an arm says how many it takes, the scale `full` has
/// enough for every claim, and a claim that a smaller one cannot test says so.
#[test]
fn every_quantile_of_a_claim_has_its_samples_or_the_claim_says_at_which_scale() {
    let mut lacking = BTreeSet::new();
    for study in embedded() {
        for claim in &study.claims {
            let How::Tests { tests, .. } = &claim.how else { continue };
            for scale in Scale::ALL {
                let mut is_short = false;
                for test in tests {
                    test.expression.readings(&mut |metric, id| {
                        let arm = study.arms.iter().find(|arm| arm.id == id).expect("checked");
                        let keys = study.keys(arm, *scale);
                        let samples = keys.get("samples").and_then(toml::Value::as_integer);
                        let quantile = QUANTILES.iter().find(|(name, _)| *name == metric);
                        if let (Some(samples), Some((_, q))) = (samples, quantile) {
                            is_short |= support(u64::try_from(samples).expect("some"), *q).is_err();
                        }
                    });
                }
                if is_short {
                    assert_ne!(*scale, Scale::Full, "{}: no scale can test it", claim.id);
                    let note = claim.note.as_deref().unwrap_or_default();
                    assert!(note.contains("at scale full"), "{} at {scale}: {note}", claim.id);
                    lacking.insert(claim.id.clone());
                }
            }
        }
    }
    assert_eq!(lacking.into_iter().collect::<Vec<_>>(), ["s4.c5", "s4.c9"]);
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
    let mut study = embedded().into_iter().find(|one| one.head.name == name).expect(name);
    study.claims.retain(|claim| claim.id == id);
    let mut used = BTreeSet::new();
    for claim in &study.claims {
        let How::Tests { tests, .. } = &claim.how else { panic!("{id}") };
        for test in tests {
            test.expression.readings(&mut |metric, arm| {
                used.insert((arm.to_owned(), metric.to_owned()));
            });
        }
    }
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
        ("baeldung", "s3.c3", &["unix"], &["anon", "named"]),
        ("baeldung", "s3.c5", &["unix", "tcp"], &[]),
        ("baeldung", "s3.c6", &["named", "anon"], &[]),
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

//! Studies as files, and what recorded rounds come to.

use crate::claims::accept::Test;
use crate::claims::expression::Expression;
use crate::claims::measured::{Measured, Readings};
use crate::claims::outcome::Findings;
use crate::claims::study::{Arm, Claim, How, Statistic, Study, Table};
use crate::replication::{ClaimKind, ClaimResult, Published, Scale, Verdict};
use ipcperf_core::result::{Finding, Metric, Mode, Noise, Severity};
use ipcperf_stats::median;
use std::collections::{BTreeMap, BTreeSet};

mod claims;
mod differs;
mod mended;

/// The studies of this program.
const STUDIES: [(&str, &str); 8] = [
    ("inferno", include_str!("../../studies/inferno.toml")),
    ("qiita", include_str!("../../studies/qiita.toml")),
    ("baeldung", include_str!("../../studies/baeldung.toml")),
    ("wisconsin", include_str!("../../studies/wisconsin.toml")),
    ("marhubi", include_str!("../../studies/marhubi.toml")),
    ("ipcbench", include_str!("../../studies/ipcbench.toml")),
    ("mazzoli", include_str!("../../studies/mazzoli.toml")),
    ("uring", include_str!("../../studies/uring.toml")),
];

/// Every kind of work, whatever it is told.
fn anything(_: &str, _: &toml::Table) -> Result<(), String> {
    Ok(())
}

/// An arm with these rounds, each a list of readings.
fn recorded(arm: &Arm, rounds: &[BTreeMap<String, f64>]) -> Measured {
    let mut measured = Measured::new(arm);
    for (round, values) in rounds.iter().enumerate() {
        let readings = Readings { values: values.clone(), ..Readings::default() };
        measured.keep(round as u64, 0, readings);
    }
    measured
}

/// The claims of a study, judged on a quiet machine.
fn judged(study: &Study, arms: &[Measured], rounds: u64) -> Vec<ClaimResult> {
    Findings::new(arms, rounds, Noise::default()).claims(study)
}

fn parsed() -> Vec<Study> {
    STUDIES
        .iter()
        .map(|(name, text)| {
            Study::parse(text, &anything).unwrap_or_else(|error| panic!("{name}: {error}"))
        })
        .collect()
}

#[test]
fn a_round_counts_if_one_of_its_slices_does() {
    let mut measured = Measured::new(&parsed()[0].arms[0]);
    measured.reject(0, "moved".into());
    measured.reject(1, "moved".into());
    measured.keep(1, 5, Readings::default());
    measured.keep(2, 0, Readings::default());
    measured.reject(2, "throttled".into());
    let facts = measured.result(false).facts;
    let facts: Vec<_> = facts.iter().map(|(fact, why)| (fact.as_str(), why.as_str())).collect();
    let expected = [
        ("round 0 does not count", "moved"),
        ("round 1 was measured twice", "moved"),
        ("round 2 was measured twice", "throttled"),
    ];
    assert_eq!(facts, expected);
}

/// Lines of a paragraph were filled, and the claim with all keys was none any more.
#[test]
fn the_study_file_that_the_documentation_shows_is_well_formed() {
    let text = include_str!("../../../../docs/STUDIES.md");
    let (_, file) = text.split_once("```toml\n").expect("a study file");
    let (file, _) = file.split_once("```").expect("its end");
    let study = Study::parse(file, &anything).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(study.claim_ids().collect::<Vec<_>>(), ["m.c1", "m.c2", "m.c3", "m.x1", "m.x2"]);
    assert_eq!(study.claims[0].tests()[0].label, "socket / pipe");
}

#[test]
fn every_study_is_well_formed_and_goes_by_its_name() {
    for ((name, _), study) in STUDIES.iter().zip(parsed()) {
        assert_eq!(study.head.name, *name);
        for text in [&study.head.title, &study.head.summary, &study.head.statistic] {
            assert!(!text.is_empty(), "{name}");
        }
        assert!(!study.tables.is_empty() && !study.claims.is_empty(), "{name}");
        let rounds = |scale| study.scales.get(&scale).expect("checked").rounds;
        assert!(rounds(Scale::Smoke) >= 8 && rounds(Scale::Quick) >= 8, "{name}");
        let cells = study.tables.iter().flat_map(|table| &table.rows).flat_map(|row| &row.cells);
        let shown = cells.flatten().flat_map(Expression::readings);
        let tested = study.claims.iter().flat_map(Claim::readings);
        let used: BTreeSet<&str> = shown.chain(tested).map(|(_, arm)| arm).collect();
        let idle: Vec<_> = study
            .arms
            .iter()
            .filter(|arm| !used.contains(arm.id.as_str()))
            .map(|arm| &arm.id)
            .collect();
        assert!(idle.is_empty(), "{name}: measured for nothing: {idle:?}");
    }
}

/// The reading of a cell that has one, and what it was where the cell had this figure: they are in proportion, or their inverses
/// are.
fn reading_of(cell: &Expression, figure: f64) -> Option<((String, String), f64)> {
    let [(metric, arm)] = cell.readings()[..] else { return None };
    let [one, two] = [1.0, 2.0].map(|reading| cell.value::<()>(&mut |_, _| Ok(reading)));
    let (one, two) = (one.ok()?, two.ok()?);
    let reading = if two > one { figure / one } else { one / figure };
    Some(((metric.to_owned(), arm.to_owned()), reading))
}

/// What was published for the readings of cells that have one each.
fn published(study: &Study) -> BTreeMap<(String, String), f64> {
    let mut seen: BTreeMap<(String, String), Vec<f64>> = BTreeMap::new();
    for table in &study.tables {
        let width = table.columns.len();
        for row in &table.rows {
            for (at, figure) in row.published.iter().enumerate() {
                if let (Some(Some(cell)), Published::Number(number)) =
                    (row.cells.get(at % width), figure)
                    && let Some((reading, number)) = reading_of(cell, *number)
                {
                    seen.entry(reading).or_default().push(number);
                }
            }
        }
        assert!(
            table.statistic == Statistic::Runs
                || table.rows.iter().all(|row| row.published.len() <= width)
        );
    }
    seen.into_iter().filter_map(|(reading, numbers)| Some((reading, median(&numbers)?))).collect()
}

/// The published tables give the published ratios: a typing error in one of them is found.
#[test]
fn the_published_tables_reproduce_the_published_figures_of_the_claims() {
    let mut checked = BTreeMap::new();
    for study in parsed() {
        let tables = published(&study);
        for claim in &study.claims {
            for Test { expression, published, .. } in claim.tests() {
                let Some(figure) = *published else { continue };
                let value = expression.value(&mut |metric, arm| {
                    tables.get(&(metric.to_owned(), arm.to_owned())).copied().ok_or(())
                });
                if let Ok(value) = value {
                    let ratio = value / figure;
                    let what = format!("{} {}: {value} is not {figure}", study.head.name, claim.id);
                    assert!((0.98..=1.02).contains(&ratio), "{what}");
                    *checked.entry(study.head.name.clone()).or_insert(0) += 1;
                }
            }
        }
    }
    for (name, _) in STUDIES.iter().filter(|(name, _)| *name != "wisconsin") {
        assert!(checked.get(*name).is_some_and(|count| *count >= 2), "{name}: {checked:?}");
    }
}

/// Where an original printed its runs and no statistic, the tables show medians that are ours: of those very runs.
#[test]
fn published_medians_are_those_of_the_published_runs() {
    let mut checked = 0;
    for study in parsed() {
        let mut runs: BTreeMap<(&str, &str), Vec<f64>> = BTreeMap::new();
        let is_runs = |table: &&Table| table.statistic == Statistic::Runs;
        for is_raw in [true, false] {
            for table in study.tables.iter().filter(|table| is_runs(table) == is_raw) {
                for row in &table.rows {
                    for (at, figure) in row.published.iter().enumerate() {
                        let cell = row.cells.get(at % table.columns.len());
                        let (
                            Some(Some(Expression::Reading { metric, arm })),
                            Published::Number(number),
                        ) = (cell, figure)
                        else {
                            continue;
                        };
                        let seen = runs.get(&(metric.as_str(), arm.as_str()));
                        if is_raw {
                            runs.entry((metric, arm)).or_default().push(*number);
                        } else if let Some(middle) = seen.and_then(|runs| median(runs)) {
                            assert_eq!(middle, *number, "{metric}({arm})");
                            checked += 1;
                        }
                    }
                }
            }
        }
    }
    assert!(checked >= 36, "{checked} medians");
}

const SMALL: &str = r#"
name = "small"
prefix = "x"
title = "A small study"
summary = "Two things."
scale.smoke.rounds = 8
scale.quick.rounds = 8
scale.full.rounds = 8

[[arm]]
id = "a"
work = "self-loop"
samples = 10
[[arm]]
id = "b"
work = "self-loop"
each = { samples = [10, 20] }

[[table]]
title = "Times"
unit = "s"
statistic = "median"
columns = ["wall", "cpu"]
[[table.row]]
label = "first"
cells = "{}_s(a)"
published = [1.0, ""]
[[table.row]]
label = "second"
cells = ["wall_s(b[10])", ""]

[[claim]]
id = "x.reproduced"
text = "b takes twice as long"
test = "wall_s(b[10]) / wall_s(a)"
published = 2.1
accept = "> 1"
[[claim]]
id = "x.direction"
text = "b takes ten times as long"
test = "wall_s(b[10]) / wall_s(a)"
published = 10
accept = "> 1"
[[claim]]
id = "x.not"
text = "b is faster"
test = ["wall_s(b[10]) / wall_s(a)", "wall_s(a) / wall_s(a)"]
published = [0.5, 1]
accept = ["< 1", "report"]
[[claim]]
id = "x.inconclusive"
text = "noise is above one"
test = "noise(a)"
stated = "noise is large"
accept = "> 1"
[[claim]]
id = "x.untestable"
text = "b is never measured"
test = "wall_s(b[20]) / wall_s(a)"
published = 2
accept = "> 1"
[[claim]]
id = "x.never"
text = "nobody can say"
untestable = "there is no way"
[[claim]]
id = "x.ours"
text = "twice as long, which nobody has published"
test = "wall_s(b[{size}]) / wall_s(a)"
each = { size = [10] }
[[claim]]
id = "x.holds"
text = "what is measured is positive"
kind = "self-check"
test = "wall_s(a)"
accept = "> 0"
[[claim]]
id = "x.fails"
text = "noise is above one in every round"
kind = "self-check"
test = "noise(a)"
accept = "> 1"
"#;

#[test]
fn what_a_scale_says_of_one_arm_wins_over_what_it_says_of_all_its_values_and_of_its_work() {
    let text = SMALL.replace(
        "scale.smoke.rounds = 8",
        "scale.smoke.rounds = 8\nscale.smoke.self-loop = { samples = 1, warmup = 2 }\n\
         scale.smoke.b = { warmup = 4 }\nscale.smoke.\"b[20]\" = { samples = 3 }",
    );
    let study = Study::parse(&text, &anything).expect("well formed");
    let keys = |id: &str| {
        let arm = study.arms.iter().find(|arm| arm.id == id).expect("an arm");
        let keys = study.keys(arm, Scale::Smoke);
        [&keys["samples"], &keys["warmup"]].map(|value| value.as_integer())
    };
    assert_eq!(keys("a"), [Some(1), Some(2)]);
    assert_eq!(keys("b[10]"), [Some(1), Some(4)]);
    assert_eq!(keys("b[20]"), [Some(3), Some(4)]);
}

/// Recorded rounds with a verdict of every kind.
#[test]
fn claims_over_recorded_rounds_get_the_verdicts_they_should() {
    let study = Study::parse(SMALL, &anything).expect("well formed");
    let rounds = |factor: f64| -> Vec<BTreeMap<String, f64>> {
        (0..8)
            .map(|round| {
                let wall = factor * (1.0 + 0.01 * f64::from(round));
                let noise = if round % 2 == 0 { 0.5 } else { 2.0 };
                [("wall_s".to_owned(), wall), ("noise".to_owned(), noise)].into()
            })
            .collect()
    };
    let arms = [
        recorded(&study.arms[0], &rounds(1.0)),
        recorded(&study.arms[1], &rounds(2.0)),
        recorded(&study.arms[2], &[]),
    ];
    let findings = Findings::new(&arms, 8, Noise::default());
    let claims = findings.claims(&study);
    let verdicts: Vec<_> = claims.iter().map(|claim| claim.verdict).collect();
    assert_eq!(
        verdicts,
        [
            Verdict::Reproduced,
            Verdict::Direction,
            Verdict::NotReproduced,
            Verdict::Inconclusive,
            Verdict::Untestable,
            Verdict::Untestable,
            Verdict::Measured,
            Verdict::Holds,
            Verdict::Fails,
        ]
    );
    assert!(claims.iter().all(|claim| !claim.reason.is_empty()));
    let reason = "b 10 / a, wall: the interval excludes '< 1', as one of 2 tests";
    assert_eq!(claims[2].reason, reason);
    assert!(claims[4].reason.contains("b 20"), "{}", claims[4].reason);
    let accepted: Vec<&str> = claims[2].tests.iter().map(|test| test.accept.as_str()).collect();
    assert_eq!(accepted, ["< 1", "0.667 .. 1.5"], "each by itself, and no word of the file");
    let measured = claims[0].measured.clone().expect("a ratio");
    assert!((measured.value.expect("eight rounds") - 2.0).abs() < 1e-9);
    let tables = findings.tables(&study);
    let first = &tables[0].rows[0];
    assert_eq!(first.claims[..2], ["x.reproduced", "x.direction"]);
    assert!(!tables[0].rows[1].claims.contains(&"x.holds".to_owned()), "it reads a alone");
    assert!((first.measured[0].value.expect("measured") - 1.035).abs() < 1e-9);
    assert_eq!(first.published, [Published::Number(1.0), Published::Nothing]);
    assert!(
        first.measured[1].reason.as_deref().is_some_and(|why| why.contains("no reading cpu_s"))
    );
    assert_eq!(tables[0].rows[1].measured[1].reason.as_deref(), Some("not measured"));
}

const ANSWERED: &str = r#"
name = "answered"
title = "An end that misses the other, and messages that are lost"
scale.smoke.rounds = 12
scale.quick.rounds = 12
scale.full.rounds = 12
[[arm]]
id = "a"
work = "pipeline"
[[table]]
title = "Ends that miss each other"
unit = "of a run"
statistic = "mean"
columns = ["missed", "lost"]
[[table.row]]
label = "a"
cells = "{}(a)"
[[claim]]
id = "c"
text = "The ends find each other"
test = "missed(a)"
stated = "they do"
accept = "<= 0"
value = true
"#;

/// A mean of 0.083 with an interval below 0 said neither of how many rounds nor anything true about the others.
#[test]
fn a_yes_or_no_is_counted_in_rounds_and_a_number_that_is_0_or_1_is_not() {
    let study = Study::parse(ANSWERED, &anything).expect("well formed");
    let mut arm = Measured::new(&study.arms[0]);
    for round in 0..12 {
        let mut readings = Readings::default();
        readings.answer("missed", round == 3);
        readings.set("lost", f64::from(u8::from(round == 3)));
        arm.keep(round, 0, readings);
    }
    let arms = [arm];
    let findings = Findings::new(&arms, 12, Noise::default());
    let counted = [Mode { value: 0.0, rounds: 11 }, Mode { value: 1.0, rounds: 1 }];
    let claim = findings.claims(&study).swap_remove(0);
    let measured = claim.measured.expect("a figure");
    assert_eq!(claim.verdict, Verdict::Reproduced, "{}", claim.reason);
    assert_eq!((measured.method.as_deref(), &measured.modes[..]), (Some("answers"), &counted[..]));
    let tables = findings.tables(&study);
    let [missed, lost] = &tables[0].rows[0].measured[..] else { panic!("two columns") };
    assert_eq!((missed.ci95, &missed.modes[..]), (None, &counted[..]));
    assert_eq!((lost.method.as_deref(), lost.modes.len()), (Some("mean"), 0));
    assert!(lost.ci95.is_some());
}

#[test]
fn figures_have_the_labels_of_the_file_and_claims_their_artefact() {
    let text = SMALL
        .replacen(
            "published = 2.1",
            "published = 2.1\nlabel = \"b over a\"\nartefact = \"a wait\"",
            1,
        )
        .replacen("each = { size = [10] }", "each = { size = [10] }\nlabel = \"{size} over a\"", 1);
    let study = Study::parse(&text, &anything).expect("well formed");
    let claims = judged(&study, &[], 0);
    let label = |id: &str| {
        let claim = claims.iter().find(|claim| claim.id == id).expect(id);
        (claim.tests[0].label.as_str(), claim.artefact.as_deref())
    };
    assert_eq!(label("x.reproduced"), ("b over a", Some("a wait")));
    assert_eq!(label("x.ours"), ("10 over a", None));
    assert_eq!(label("x.direction"), ("b 10 / a, wall", None));
}

/// A reader who sees a figure sees what it is; a formula is for the details.
#[test]
fn every_figure_of_the_embedded_claims_has_a_label() {
    let mut nameless = Vec::new();
    for study in parsed() {
        for claim in &study.claims {
            let tests = claim.tests();
            // A single figure without a label is what the claim says.
            let figures = tests.iter().filter(|test| tests.len() > 1 && test.label.is_empty());
            nameless.extend(figures.map(|test| format!("{}: {}", claim.id, test.expression)));
        }
    }
    assert!(nameless.is_empty(), "{}", nameless.join("\n"));
}

#[test]
fn of_a_part_of_a_study_only_what_its_claims_need_is_left() {
    let mut study = Study::parse(SMALL, &anything).expect("well formed");
    study.only(&["x.holds".to_owned(), "y.of-another-study".to_owned()]);
    let arms: Vec<&str> = study.arms.iter().map(|arm| arm.id.as_str()).collect();
    assert_eq!((arms, study.tables.len(), study.tables[0].rows.len()), (vec!["a"], 1, 1));
    assert_eq!(study.claim_ids().collect::<Vec<_>>(), ["x.holds"]);
    study.only(&["x.never".to_owned()]);
    assert!(study.arms.is_empty() && study.tables.is_empty() && study.claims.is_empty());
}

#[test]
fn an_arm_that_is_left_out_takes_what_needs_it_along_and_nothing_else() {
    let whole = Study::parse(SMALL, &anything).expect("well formed");
    let mut study = Study::parse(SMALL, &anything).expect("well formed");
    assert!(study.leave_out(&["nobody".to_owned()]).is_empty());
    assert_eq!(format!("{study:?}"), format!("{whole:?}"));
    let lost = study.leave_out(&["b[10]".to_owned()]);
    let needs = |claim: &&Claim| claim.readings().any(|(_, arm)| arm == "b[10]");
    let needing: Vec<String> =
        whole.claims.iter().filter(needs).map(|claim| claim.id.clone()).collect();
    assert!(!lost.is_empty() && lost == needing, "{lost:?}");
    assert_eq!(study.arms.len() + 1, whole.arms.len());
    assert_eq!(study.claims.len() + lost.len(), whole.claims.len());
    let cells = study.tables.iter().flat_map(|table| &table.rows).flat_map(|row| &row.cells);
    let read = cells.flatten().flat_map(Expression::readings);
    assert!(read.map(|(_, arm)| arm).all(|arm| arm != "b[10]"));
}

#[test]
fn what_is_wrong_with_a_study_is_told_in_one_line_with_the_nearest_right_word() {
    for (from, to, part) in [
        ("title = \"A small study\"", "", "missing field `title`"),
        ("name = \"small\"", "name = \"../../x\"", "name '../../x': must be 1 to 64 letters"),
        ("name = \"small\"", "name = \"/tmp/x\"", "name '/tmp/x': must be 1 to 64 letters"),
        ("name = \"small\"", "name = \"\"", "name '': must be 1 to 64 letters"),
        ("name = \"small\"", "name = \"-x\"", "name '-x': must be 1 to 64 letters"),
        (
            "[[claim]]",
            "[[csv]]\nfile = \"../x.csv\"\nheader = []\narms = []\nvalues = []\n[[claim]]",
            "'../x.csv'",
        ),
        (
            "[[claim]]",
            "[[csv]]\nfile = \"x.sh\"\nheader = []\narms = []\nvalues = []\n[[claim]]",
            "'.csv' last",
        ),
        (
            "statistic = \"median\"",
            "statistic = \"median\"\nbenchmark = \"x.csv\"",
            "benchmark 'x.csv': must be 1 to 64 letters",
        ),
        (
            "statistic = \"median\"",
            "statistic = \"median\"\nbenchmark = \"x.txt\"",
            "benchmark 'x.txt': the columns must be user, system, total, real",
        ),
        ("prefix = \"x\"", "prefix = \"y\"", "claim x.reproduced: does not begin with 'y'"),
        ("scale.full.rounds = 8", "", "there is no [scale.full]"),
        ("scale.full.rounds = 8", "scale.full.rounds = 0", "[scale.full]: 0 rounds"),
        (
            "scale.full.rounds = 8",
            "scale.full.rounds = 8\nscale.full.cell = { size = 1 }",
            "no arm does this work",
        ),
        ("work = \"self-loop\"\nsamples", "samples", "arm a: no work is named"),
        ("id = \"a\"", "id = \"b[10]\"", "arm b[10]: there are two of them"),
        (
            "each = { samples = [10, 20] }",
            "each = { samples = 10 }",
            "'each' is one key with a list",
        ),
        ("wall_s(b[20])", "wall_s(b[21])", "did you mean 'b[2"),
        ("noise(a)", "noise(a", "')' expected"),
        (
            "accept = \"> 1\"\n[[claim]]\nid = \"x.direction\"",
            "[[claim]]\nid = \"x.direction\"",
            "'accept' is missing",
        ),
        ("accept = [\"< 1\", \"report\"]", "accept = [\"< 1\"]", "as many 'accept' as 'test'"),
        ("published = [0.5, 1]", "published = [0.5]", "as many 'published' as 'test'"),
        ("published = 2.1", "published = \"n/a\"", "what was said goes into 'stated'"),
        ("published = 2.1", "published = 2.1\nstated = \"x\"", "either 'published' or 'stated'"),
        ("published = 2.1", "", "'accept' needs 'published' or 'stated'"),
        ("stated = \"noise is large\"", "stated = \"\"", "'stated' is empty"),
        (
            "accept = \"> 1\"\n[[claim]]\nid = \"x.untestable\"",
            "accept = \"report\"\n[[claim]]\nid = \"x.untestable\"",
            "'report' needs a published figure",
        ),
        ("each = { size = [10] }", "each = { size = [10, 30] }", "there is no arm 'b[30]'"),
        ("each = { size = [10] }", "each = { size = [] }", "0 tests"),
        ("each = { size = [10] }", "each = { size = [10], way = [1] }", "there is no {way} in"),
        (
            "kind = \"self-check\"\ntest = \"wall",
            "kind = \"self-check\"\npublished = 1\ntest = \"wall",
            "nothing was published for our own self-check",
        ),
        (
            "published = 2.1",
            "kind = \"extension\"\npublished = 2.1",
            "nothing was published for our own extension",
        ),
        ("published = 2.1", "kind = \"reading\"", "a reading needs 'published' or 'stated'"),
        ("published = 2.1", "kind = \"claim\"", "a claim needs 'published' or 'stated'"),
        ("published = 2.1", "kind = \"guess\"\npublished = 2.1", "unknown variant `guess`"),
        ("x.direction", "x.reproduced", "there are two of them"),
        ("statistic = \"median\"", "statistic = \"average\"", "unknown variant `average`"),
        ("cells = [\"wall_s(b[10])\", \"\"]", "cells = [\"wall_s(b[10])\"]", "2 cells are needed"),
        ("published = [1.0, \"\"]", "published = [1.0, 2.0, 3.0]", "at most 2 figures"),
        ("published = 2.1", "published = 2.1\nlabel = [\"a\", \"b\"]", "as many 'label' as 'test'"),
        (
            "unit = \"s\"",
            "unit = \"s\"\nplot = { name = \"../x\", kind = \"lines\" }",
            "plot: name '../x'",
        ),
        (
            "unit = \"s\"",
            "unit = \"s\"\nplot = { name = \"x\", kind = \"pie\" }",
            "unknown variant `pie`",
        ),
        (
            "unit = \"s\"",
            "unit = \"s\"\nplot = { name = \"x\", kind = \"bars\", columns = [\"mean\"] }",
            "there is no column 'mean'",
        ),
    ] {
        let text = SMALL.replacen(from, to, 1);
        assert_ne!(text, SMALL, "{from}");
        let error = Study::parse(&text, &anything).expect_err(to);
        assert!(error.contains(part) && !error.contains('\n'), "{to}: {error}");
    }
    let refused = |work: &str, _: &toml::Table| Err(format!("there is no work '{work}'"));
    let error = Study::parse(SMALL, &refused).expect_err("no such work");
    assert_eq!(error, "arm a (smoke): there is no work 'self-loop'");
}

/// Rounds of programs fell into two modes, and nothing said so: only cells were looked at.
#[test]
fn rounds_of_programs_that_fall_into_two_modes_are_divided_and_named() {
    let study = Study::parse(SMALL, &anything).expect("well formed");
    let row = |wall: f64| BTreeMap::from([("wall_s".to_owned(), wall)]);
    let walls = [1.0, 1.01, 2.0, 1.02, 0.99, 2.02, 1.0, 2.01, 1.01, 1.0, 0.99, 1.0];
    let mut two = recorded(&study.arms[0], &walls.map(row));
    let finding = two.divide().expect("two modes");
    assert_eq!(
        (finding.code.as_str(), &finding.cells[..]),
        ("W-MULTIMODAL", &["a".to_owned()][..])
    );
    assert!(finding.text.contains("(9 near 1.00 s, 3 near 2.01 s)"), "{}", finding.text);
    let speaks = (0..12).filter(|round| two.speaks(*round)).collect::<Vec<_>>();
    assert_eq!(speaks, [0, 1, 3, 4, 6, 8, 9, 10, 11]);
    let one = [1.0; 12].map(row);
    assert!(recorded(&study.arms[0], &one).divide().is_none());
}

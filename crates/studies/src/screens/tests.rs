//! A replication in every format.

use super::*;
use crate::replication::{
    ArmResult, ArmRound, ClaimKind, ClaimResult, Erratum, Plot, PlotKind, Published,
    REPLICATION_SCHEMA, RowResult, Scale, StudyResult, TableResult, TestResult, Verdict,
};
use ipcperf_core::result::{Metric, Mode, Noise, Severity, Status};
use ipcperf_judge::{once, sample};
use ipcperf_kit::document::is_a;
use ipcperf_render::text;
use ipcperf_testing::schema::{is_described, schema};
use ipcperf_testing::sound::{is_sound, spoiled};
use ipcperf_testing::to_text;
use std::collections::BTreeMap;

mod screens;

fn metric(value: f64) -> Metric {
    let ci95 = Some([value * 0.9, value * 1.1]);
    Metric { value: Some(value), ci95, method: Some("median".into()), ..Metric::default() }
}

fn claim(verdict: Verdict, measured: Metric) -> ClaimResult {
    let kind = match verdict {
        Verdict::Measured => ClaimKind::Extension,
        Verdict::Holds | Verdict::Fails => ClaimKind::Check,
        _ => ClaimKind::Claim,
    };
    let test = TestResult {
        label: "one / another".into(),
        test: "(a(b) / c(d))".into(),
        published: Some(2.0),
        accept: "> 1".into(),
        measured: measured.clone(),
        verdict,
    };
    ClaimResult {
        id: "s9.c1".into(),
        kind,
        text: "One thing is much faster than another, which takes a sentence to say".into(),
        published: Published::Many(vec![Published::Number(2.0), Published::Text("a lot".into())]),
        measured: Some(measured),
        verdict,
        reason: "because".into(),
        tests: vec![test],
        note: Some("a note".into()),
        artefact: Some("a cause that is known".into()),
        why: Some("another kernel".into()),
    }
}

fn document() -> Replication {
    let set = sample::survey();
    let arm = |id: &str, status, reason: Option<&str>| ArmResult {
        id: id.into(),
        label: format!("the arm {id}"),
        work: "cell".into(),
        status,
        reason: reason.map(Into::into),
        rounds: vec![ArmRound {
            round: 0,
            order: 1,
            values: BTreeMap::from([("p50_ns".into(), 4.5)]),
        }],
        facts: BTreeMap::from([("buffer".into(), "64 KiB".into())]),
    };
    let table = TableResult {
        title: "Round trips of a title that is long enough for two lines at a small width".into(),
        unit: "ns".into(),
        statistic: "merged".into(),
        columns: (0..9).map(|at| format!("column {at}")).collect(),
        rows: vec![RowResult {
            label: "pipes".into(),
            published: vec![Published::Number(4255.0); 9],
            measured: (0..9)
                .map(|at| match at {
                    0 => Metric::missing("needs 20000 samples, has 3"),
                    1 => Metric {
                        modes: vec![
                            Mode { value: 2500.0, rounds: 7 },
                            Mode { value: 12_000.0, rounds: 5 },
                        ],
                        ..metric(2500.0)
                    },
                    at => metric(0.003 * 10_f64.powi(at)),
                })
                .collect(),
            claims: vec!["s9.c1".into()],
        }],
        plot: Some(Plot {
            name: "figure".into(),
            kind: PlotKind::Lines,
            x: "column".into(),
            log_x: false,
            log_y: true,
            columns: Vec::new(),
        }),
    };
    let read = ClaimResult {
        id: "s9.c2".into(),
        kind: ClaimKind::Reading,
        ..claim(Verdict::Direction, metric(1.9))
    };
    let study = StudyResult {
        name: "sample".into(),
        title: "A sample \u{1b}[31mstudy".into(),
        url: "http://example.org".into(),
        date: "2015".into(),
        machine: "a laptop".into(),
        summary: "What was done, | with a bar <and> more.".into(),
        statistic: "median of 10".into(),
        notes: vec!["A note.".into()],
        scale: Scale::Smoke,
        rounds: 8,
        cuts: vec!["Cut to fit the budget.".into()],
        duration_s: 3.0,
        noise: Some(Noise {
            grade: "D".into(),
            findings: vec![sample::finding("W-STEAL", Severity::Warning, "The host took a share.")],
            ..Noise::default()
        }),
        arms: vec![arm("a", Status::Ok, None), arm("b", Status::Unavailable, Some("missing"))],
        tables: vec![table],
        claims: Verdict::ALL
            .iter()
            .map(|verdict| claim(*verdict, metric(1.9)))
            .chain([read])
            .collect(),
        errata: vec![Erratum { claims: vec!["s9.c1".into()], text: "It is wrong.".into() }],
    };
    Replication {
        schema: REPLICATION_SCHEMA.into(),
        origin: ipcperf_core::result::Origin::default(),
        started_utc: set.started_utc,
        duration_s: 3.0,
        interrupted: false,
        tool: set.tool,
        invocation: set.invocation,
        host: set.host,
        kernel: set.kernel,
        studies: vec![study.clone(), study],
    }
}

fn shown(format: Format, style: &Style) -> String {
    to_text(|out| replication(&document(), format, style, Some("plots"), out))
}

/// A document without places for its pictures.
fn written(document: &Replication, format: Format, style: &Style) -> String {
    to_text(|out| replication(document, format, style, None, out))
}

#[test]
fn no_line_is_wider_than_asked_and_every_figure_is_there_at_every_width() {
    for width in [40, 60, 80, 120, 200] {
        let style = Style { width, verbose: true, ..Style::default() };
        let text = shown(Format::Table, &style);
        for line in text.lines() {
            assert!(text::width(line) <= width, "{width}: {line}");
        }
        for part in ["column 0", "column 8", "4255", "needs 20000 samples", "Errata", "UNTESTABLE"]
        {
            assert!(text.contains(part), "{width}: {part}");
        }
        assert!(!text.contains('\u{1b}'), "nothing a terminal obeys is passed on");
    }
}

#[test]
fn a_row_of_a_table_that_is_one_mode_of_two_says_so_in_words() {
    let words =
        "pipes: two modes, column 1 2500 in 7 rounds and 12000 in 5 rounds; one of them is shown";
    for format in [Format::Table, Format::Markdown] {
        let text = shown(format, &Style { width: 200, verbose: true, ..Style::default() });
        assert!(text.contains(words), "{text}");
    }
}

#[test]
fn what_is_read_off_tables_and_what_is_ours_is_tallied_apart_from_what_was_claimed() {
    let text = shown(Format::Table, &Style { width: 200, ..Style::default() });
    let tally = "All 10 claims: 2 REPRODUCED, 2 DIRECTION, 2 NOT REPRODUCED, 2 INCONCLUSIVE, 2 UNTESTABLE; \
                 readings of the author's tables: 2 DIRECTION; our extensions: 2 MEASURED; self-checks: 2 HOLDS, 2 FAILS";
    assert!(text.contains(tally), "{text}");
}

/// Of a page with one reading it said "All 0 claims".
#[test]
fn one_claim_of_an_author_is_tallied_as_one_and_none_is_not_tallied() {
    let mut document = document();
    document.studies.truncate(1);
    document.studies[0].claims.retain(|claim| claim.verdict == Verdict::Direction);
    let both = "One claim: 1 DIRECTION; readings of the author's tables: 1 DIRECTION";
    assert_eq!(words::total(&document), both);
    document.studies[0].claims.remove(0);
    assert_eq!(words::total(&document), "Readings of the author's tables: 1 DIRECTION");
}

#[test]
fn grade_and_findings_stand_in_every_format_for_people() {
    for format in [Format::Table, Format::Markdown] {
        let text = shown(format, &Style { width: 200, verbose: true, ..Style::default() });
        assert!(text.contains("Noise grade D"), "{text}");
        assert!(text.contains("warning W-STEAL: The host took a share."), "{text}");
    }
}

/// Parentheses in the name of an arm and in its reason were taken for those of a remark.
#[test]
fn a_missing_figure_has_the_reason_of_its_arm_or_what_that_remarks_of_the_reading() {
    let mut table = document().studies[0].tables[0].clone();
    let reason = "file (O_TMPFILE): no such file can be made (not supported)";
    let remark = "two clocks: no reading nominal_slope (this machine names no frequency)";
    table.rows[0].measured = [reason, remark].map(Metric::missing).into();
    assert_eq!(words::lacks(&table), [reason, "this machine names no frequency"]);
}

#[test]
fn of_many_figures_the_one_that_decided_is_shown_and_all_of_them_in_the_details() {
    let mut many = claim(Verdict::NotReproduced, metric(0.5));
    many.tests = (1..=9)
        .map(|at| TestResult {
            measured: metric(f64::from(at)),
            verdict: if at == 4 { Verdict::NotReproduced } else { Verdict::Reproduced },
            ..many.tests[0].clone()
        })
        .collect();
    let told = words::ClaimWords::of(&many, &document().studies[0]);
    let [author, here] = [told.published(), told.measured()];
    assert_eq!(
        [told.figure.as_str(), &author, &here],
        ["one / another (4 of 9)", "2", "4.00 [3.60, 4.40]"]
    );
    let words = detail::test_words(&many.tests[8]);
    let expected =
        "one / another = a(b) / c(d): 9.00 [8.10, 9.90]; published 2; accepted > 1; REPRODUCED";
    assert_eq!(words, expected);
}

/// A claim about 1, 5 and 10 clients showed 1 client only, where the author's case is 10.
#[test]
fn of_at_most_three_figures_all_are_shown_each_with_what_was_published() {
    let mut few = claim(Verdict::Reproduced, metric(0.5));
    let figure = |label: &str, value: f64, published: Option<f64>| TestResult {
        label: label.into(),
        measured: metric(value),
        published,
        ..few.tests[0].clone()
    };
    few.tests = vec![
        figure("tcp / unix, time, 1", 2.0, Some(1.5)),
        figure("tcp / unix, time, 5", 3.0, Some(4.5)),
        figure("tcp / unix, time, 10", 4.0, None),
    ];
    let study = &document().studies[0];
    let shown = words::ClaimWords::with_few(&few, study);
    assert_eq!(shown.figure, "tcp / unix, time, 1; 5; 10");
    assert_eq!(shown.author, ["1.5", "4.5", "-"]);
    assert_eq!(shown.here, ["2.00 [1.80, 2.20]", "3.00 [2.70, 3.30]", "4.00 [3.60, 4.40]"]);
    let named = |labels: [&str; 2]| {
        let mut two = few.clone();
        two.tests.truncate(2);
        for (test, label) in two.tests.iter_mut().zip(labels) {
            test.label = label.into();
        }
        words::ClaimWords::with_few(&two, study).figure
    };
    assert_eq!(
        named(["pipes / sockets, p50", "events / sockets, p50"]),
        "pipes; events / sockets, p50"
    );
    assert_eq!(named(["a / b, 64, p50", "a / b, 4K, p50"]), "a / b, 64; 4K, p50");
    assert_eq!(named(["a / b", "a / c"]), "a / b; a / c");
    assert_eq!(named(["a, x", "a"]), "a, x; a");
    assert_eq!(named(["a", ""]), "a (1 of 2)");
    // Names that begin alike within a word are whole.
    few.tests[2].label = "tcp, share".into();
    let shown = words::ClaimWords::with_few(&few, study);
    assert_eq!(shown.figure, "tcp / unix, time, 1; tcp / unix, time, 5; tcp, share");
    // One that is missing is said with its reason, and of four the one that decided is shown.
    few.tests[1].measured = Metric::missing("no such CPU");
    assert_eq!(words::ClaimWords::with_few(&few, study).here.len(), 1);
    few.tests[1].measured = metric(3.0);
    few.tests.push(few.tests[0].clone());
    assert_eq!(words::ClaimWords::with_few(&few, study).here.len(), 1);
}

/// The second of two figures that are missing is the one that no larger scale fixes, and the claim gives its reason.
#[test]
fn of_figures_that_are_missing_the_one_is_shown_whose_reason_the_claim_gives() {
    let mut missing = claim(Verdict::Untestable, Metric::default());
    let figure = |label: &str, reason: &str| TestResult {
        label: label.into(),
        measured: Metric::missing(reason),
        ..missing.tests[0].clone()
    };
    missing.tests = vec![
        figure("one / two", "one: p99.999 needs 2000000 samples, all rounds together have 30000"),
        figure("one / three", "three: no core has two hardware threads; one: too few samples"),
    ];
    missing.reason = missing.tests[1].measured.reason.clone().expect("it is missing");
    let told = words::ClaimWords::of(&missing, &document().studies[0]);
    let [figure, here, why] = [told.figure.clone(), told.measured(), told.why()];
    let expected = ["one / three (2 of 2)", "-", "no core has two hardware threads; erratum 1"];
    assert_eq!([figure.as_str(), &here, &why], expected);
}

/// Where one of two figures was there, neither it nor the reason of the other was told.
#[test]
fn of_an_extension_the_figures_that_there_are_are_told_and_why_the_others_are_missing() {
    let mut ours = claim(Verdict::Untestable, Metric::default());
    let figure =
        |measured: Metric, verdict| TestResult { measured, verdict, ..ours.tests[0].clone() };
    let is_missing = figure(Metric::missing("one: no such CPU"), Verdict::Untestable);
    let tests = vec![
        is_missing,
        figure(metric(2.0), Verdict::Measured),
        figure(metric(3.0), Verdict::Measured),
    ];
    (ours.kind, ours.text, ours.tests) = (ClaimKind::Extension, "ours".into(), tests);
    assert_eq!(words::finding(&ours), "ours: 2.00, 3.00; 1 missing: no such CPU");
    ours.tests.pop();
    assert_eq!(words::finding(&ours), "ours: 2.00 [1.80, 2.20]; 1 missing: no such CPU");
    ours.tests.pop();
    assert_eq!(words::finding(&ours), "ours: no such CPU");
}

#[test]
fn an_answer_is_shown_as_the_rounds_that_gave_it_and_is_no_mixture_of_two_modes() {
    let answers = |no: u64, yes: u64| Metric {
        value: Some(1.0),
        ci95: Some([1.0, 1.0]),
        method: Some("answers".into()),
        modes: vec![Mode { value: 0.0, rounds: no }, Mode { value: 1.0, rounds: yes }],
        ..Metric::default()
    };
    for (no, yes, shown) in [(0, 12, "12 of 12"), (1, 11, "11 of 12"), (12, 0, "0 of 12")] {
        assert_eq!(words::with_interval(&answers(no, yes)), shown);
        assert_eq!(words::bare(&answers(no, yes)), shown);
    }
    // A document may come from anybody.
    let all = u64::MAX;
    assert_eq!(words::with_interval(&answers(all, all)), format!("{all} of {all}"));
    let without = Metric { modes: Vec::new(), ..answers(0, 0) };
    assert_eq!(words::with_interval(&without), "1");
    let told =
        words::ClaimWords::of(&claim(Verdict::Reproduced, answers(1, 11)), &document().studies[0]);
    assert_eq!(told.measured(), "11 of 12");
    let mut table = document().studies[0].tables[0].clone();
    assert_eq!(words::modes(&table).len(), 1);
    table.rows[0].measured = vec![answers(1, 11)];
    assert_eq!(words::modes(&table), Vec::<String>::new());
}

/// A machine had 2.00 [2.00, 2.00] CPUs.
#[test]
fn what_does_not_vary_has_no_interval_and_a_count_no_decimals() {
    let same = |value: f64| Metric { ci95: Some([value; 2]), ..metric(value) };
    for (value, shown) in [(2.0, "2"), (0.0, "0"), (262_144.0, "262144"), (0.25, "0.250")] {
        assert_eq!(words::with_interval(&same(value)), shown);
        assert_eq!(words::bare(&same(value)), shown);
    }
    assert_eq!(words::with_interval(&metric(2.0)), "2.00 [1.80, 2.20]");
}

/// "12 of 12" stood under "1: yes, 0: no", and a table without a unit had two commas.
#[test]
fn the_title_of_a_table_says_what_its_figures_are() {
    let mut table = document().studies[0].tables[0].clone();
    table.unit = String::new();
    assert!(!words::table_title(&table).contains(", ("), "{}", words::table_title(&table));
    table.unit = "1: yes, 0: no".into();
    assert!(words::table_title(&table).contains("1: yes, 0: no"));
    let answers = Metric {
        value: Some(1.0),
        method: Some("answers".into()),
        modes: vec![Mode { value: 1.0, rounds: 12 }],
        ..Metric::default()
    };
    table.rows[0].measured = vec![answers, Metric::missing("not measured")];
    assert!(words::table_title(&table).ends_with(", rounds in which it is so"));
}

/// A study of 100 arms had hundreds of lines.
#[test]
fn a_fact_that_arms_share_is_told_once() {
    let mut document = document();
    let study = &mut document.studies[0];
    let arm = study.arms[0].clone();
    study.arms.clear();
    for id in ["a", "b[4]", "b[16]", "c"] {
        let fact = if id == "c" { "two" } else { "one" };
        let facts = [("buffer".to_owned(), fact.to_owned())].into();
        study.arms.push(ArmResult { id: id.into(), facts, ..arm.clone() });
    }
    let [_, (title, lines), _] = detail::endings(study);
    let lines: Vec<&str> = lines.iter().map(|line| line.words.as_str()).collect();
    let expected = ["a, b[4, 16]: buffer: one", "c: buffer: two"];
    assert_eq!((title, &lines[..]), ("Facts of the arms", &expected[..]));
}

#[test]
fn the_document_is_valid_reads_back_and_the_schema_names_every_key() {
    let json = shown(Format::Json, &Style::default());
    let value: serde_json::Value = serde_json::from_str(&json).expect("JSON");
    is_described("replication", &value);
    assert!(
        is_a::<Replication>(&json)
            && !is_a::<Replication>("{\"schema\": \"ipcperf.replication/12\"}")
    );
    let again = Replication::load(&json).expect("well formed");
    assert_eq!(written(&again, Format::Json, &Style::default()), json);
    for text in ["{\"schema\": \"ipcperf.replication/1\"}", "{", ""] {
        let error = Replication::load(text).expect_err("nothing in it").to_string();
        assert_eq!(error.lines().count(), 1, "{error}");
    }
}

#[test]
fn a_document_of_an_older_build_is_still_read() {
    let mut document = serde_json::to_value(document()).expect("JSON");
    for study in document["studies"].as_array_mut().expect("studies") {
        study.as_object_mut().expect("a study").remove("noise");
        for claim in study["claims"].as_array_mut().expect("claims") {
            claim.as_object_mut().expect("a claim").remove("kind");
        }
    }
    let old = Replication::load(&document.to_string()).expect("well formed");
    assert!(old.studies[0].noise.is_none());
    assert!(old.studies[0].claims.iter().all(|claim| claim.kind == ClaimKind::Claim));
    assert!(!written(&old, Format::Table, &Style::default()).contains("Noise grade"));
}

#[test]
fn what_two_documents_have_in_common_is_described_alike() {
    let (one, two) = (schema("result"), schema("replication"));
    for key in ["tool", "invocation", "host", "kernel"] {
        assert_eq!(one["properties"][key], two["properties"][key], "{key}");
    }
    let (one, two) = (one["$defs"].as_object().unwrap(), two["$defs"].as_object().unwrap());
    let common: Vec<_> = one.keys().filter(|name| two.contains_key(*name)).collect();
    assert!(common.len() >= 7, "{common:?}");
    for name in common {
        assert_eq!(one[name], two[name], "{name}");
    }
}

#[test]
fn a_wiki_and_a_spreadsheet_get_tables_of_their_own() {
    let text = shown(Format::Markdown, &Style::default());
    assert!(text.contains("\\| with a bar &lt;and>"), "{text}");
    assert!(text.contains("| s9.c1 "), "{text}");
    assert!(text.contains(" 1.90 \\[1.71, 2.09\\]; NOT REPRODUCED |"), "{text}");
    let text = shown(Format::Csv, &Style::default());
    assert!(text.contains("sample,b,\"unavailable\",0,1,p50_ns,4.5"), "{text}");
    assert_eq!(shown(Format::Ndjson, &Style::default()).lines().count(), 2);
}

#[test]
fn nothing_a_terminal_obeys_is_passed_on_in_any_format() {
    let nasty = || "=\u{1b}]52;c;QQ==\u{7}\u{9b}2J\u{202e}".to_owned();
    let mut document = document();
    for study in &mut document.studies {
        (study.name, study.notes, study.url) = (nasty(), vec![nasty()], nasty());
        (study.errata[0].text, study.claims[0].id) = (nasty(), nasty());
        (study.tables[0].title, study.tables[0].columns[0]) = (nasty(), nasty());
        (study.arms[0].id, study.arms[0].reason) = (nasty(), Some(nasty()));
        study.arms[0].rounds[0].values.insert(nasty(), 1.0);
    }
    for format in [Format::Table, Format::Markdown, Format::Csv, Format::Json, Format::Ndjson] {
        let style = Style { unicode: true, verbose: true, ..Style::default() };
        let text = written(&document, format, &style);
        let obeyed = |sign: char| sign != '\n' && text::is_unprinted(sign);
        assert_eq!(text.chars().find(|sign| obeyed(*sign)), None, "{format:?}");
        if format == Format::Csv {
            assert!(text.contains("\"'=?]52;"), "no formula either: {text}");
        }
        if format == Format::Json {
            assert_eq!(Replication::load(&text).expect("well formed").studies[0].name, nasty());
        }
    }
}

#[test]
fn a_page_has_every_claim_figure_and_picture_and_no_text_of_it_is_markup() {
    let shown = shown(Format::Html, &Style::default());
    is_sound(&shown);
    let document = document();
    for study in &document.studies {
        assert!(study.claims.iter().all(|claim| shown.contains(&format!(">{}</a>", claim.id))));
        for metric in
            study.tables.iter().flat_map(|table| &table.rows).flat_map(|row| &row.measured)
        {
            assert!(shown.contains(&words::with_interval(metric)), "{metric:?}");
        }
    }
    // Each for wide windows and for narrow ones; of several studies there is one more, of their verdicts.
    let pictures = plots(&document).len() + usize::from(document.studies.len() > 1);
    assert_eq!(shown.matches("<svg ").count(), 2 * pictures);
    let [heading, picture, claim] =
        ["<h1>", "<svg ", "<th scope=\"col\""].map(|part| shown.find(part).expect(part));
    assert!(heading < picture && picture < claim, "the answer, its picture, the claims");
    let spoiled: Replication = serde_json::from_value(spoiled(&document)).expect("a document");
    is_sound(&written(&spoiled, Format::Html, &Style::default()));
}

#[test]
fn a_replication_counts_once_as_well() {
    let text = include_str!("fixtures/marhubi.json");
    let one: Replication = serde_json::from_str(text).expect("stored by this program");
    let mut other = one.clone();
    other.studies[0].arms[0].rounds[0].values.insert("took_ns".to_owned(), 7.0);
    let given = [("a", one.clone()), ("b", one), ("c", other)];
    let (kept, told) = once(given.map(|(name, one)| (name.to_owned(), one)).to_vec());
    assert_eq!(kept.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>(), ["a", "c"]);
    assert_eq!(told, ["Left out: 'b' is the same result as 'a', or a part of it"]);
}

//! First screens, from stored documents: what a person sees, and how long it is.

use super::*;
use ipcperf_kit::command::vocabulary;
use ipcperf_testing::screens::{fits, heads, says_that_it_was_stopped, word_of};

/// A stored document of a real run.
fn stored(text: &str) -> Replication {
    Replication::load(text).expect("stored by this program")
}

fn marhubi() -> Replication {
    stored(include_str!("../fixtures/marhubi.json"))
}

fn baeldung() -> Replication {
    stored(include_str!("../fixtures/baeldung.json"))
}

fn at_grade_f() -> Replication {
    let mut document = marhubi();
    let study = &mut document.studies[0];
    study.noise = Some(Noise {
        grade: "F".into(),
        causes: vec!["steal 41 %".into(), "other work on the CPUs".into()],
        ..study.noise.clone().unwrap_or_default()
    });
    for claim in &mut study.claims {
        let is_judged = claim.kind.is_published() && claim.verdict != Verdict::Untestable;
        for verdict in
            claim.tests.iter_mut().map(|test| &mut test.verdict).chain([&mut claim.verdict])
        {
            if is_judged {
                *verdict = Verdict::Inconclusive;
            }
        }
    }
    document
}

fn interrupted() -> Replication {
    let mut document = marhubi();
    document.interrupted = true;
    for arm in &mut document.studies[0].arms {
        arm.rounds.retain(|round| round.round < 3);
    }
    document
}

fn with_failed_arms() -> Replication {
    let mut document = marhubi();
    let study = &mut document.studies[0];
    for (at, arm) in study.arms.iter_mut().enumerate().skip(1) {
        arm.status = Status::Failed;
        arm.reason = Some(format!("lead: message {at} was lost in each of the rounds so far"));
        arm.rounds.clear();
    }
    for claim in &mut study.claims {
        claim.verdict = Verdict::Untestable;
        claim.measured = None;
        for test in &mut claim.tests {
            test.measured =
                Metric::missing("eventfd: message 1 was lost; pipes: message 2 was lost");
            test.verdict = Verdict::Untestable;
        }
    }
    document
}

/// A study of very many claims, each with long texts.
fn crowded() -> Replication {
    let mut document = baeldung();
    let study = &mut document.studies[0];
    for at in 0..70 {
        let mut more = study.claims[at % study.claims.len()].clone();
        more.id = format!("{}.{at}", more.id);
        more.text = "what is said here takes many words ".repeat(9);
        study.claims.push(more);
    }
    document
}

/// The document of a run in which the rounds of one arm fell into two modes.
fn in_two_modes(mut document: Replication, arm: &str) -> Replication {
    let noise = document.studies[0].noise.as_mut().expect("stored with its findings");
    let mut split = sample::finding("W-MULTIMODAL", Severity::Warning, "Rounds near two figures.");
    split.cells.push(arm.to_owned());
    noise.findings.push(split);
    document
}

fn screen(document: &Replication, width: usize) -> String {
    written(document, Format::Table, &Style { width, ..Style::default() })
}

/// What a document claims in the words of its author.
fn of_author(document: &Replication) -> impl Iterator<Item = &ClaimResult> {
    let claims = document.studies.iter().flat_map(|study| &study.claims);
    claims.filter(|claim| claim.kind == ClaimKind::Claim)
}

/// Words one behind the other, whatever lines and columns they stand in.
fn letters(text: &str) -> Vec<String> {
    text.split_whitespace().map(ToOwned::to_owned).collect()
}

/// The headline of a study was in "and 3 more".
#[test]
fn a_first_screen_has_all_claims_of_the_author_with_their_figures_and_verdicts() {
    for document in [marhubi(), baeldung(), at_grade_f(), with_failed_arms(), crowded()] {
        for width in [40, 80, 100, 200] {
            let text = screen(&document, width);
            let all = letters(&text);
            for claim in of_author(&document) {
                let told = words::ClaimWords::with_few(claim, &document.studies[0]);
                let words = [&claim.id, &told.figure, &told.verdict, &told.errata];
                let words = words.into_iter().chain(&told.here);
                // Where there are few lines for many claims, the figures of a claim come before its words.
                let is_crowded = of_author(&document).count() > 12;
                let claim_words = letters(&told.claim).into_iter();
                let claim_words = claim_words.take(if is_crowded { 0 } else { 2 });
                for word in words.flat_map(|words| letters(words)).chain(claim_words) {
                    let is_there = all.iter().any(|one| one.contains(&word));
                    assert!(is_there, "{width}: {}: '{word}': {text}", claim.id);
                }
                assert!(!text.contains("more claims"), "{text}");
            }
        }
    }
}

#[test]
fn the_claims_of_the_author_come_first_and_ours_are_tallied_where_there_is_no_room() {
    let mut document = baeldung();
    let study = &mut document.studies[0];
    let ours = study.claims.iter().find(|claim| claim.kind == ClaimKind::Extension).cloned();
    study.claims.splice(0..0, std::iter::repeat_n(ours.expect("of baeldung"), 50));
    let text = screen(&document, 80);
    let at = |words: &str| text.find(words).unwrap_or_else(|| panic!("{words}: {text}"));
    assert!(at("The author's claims: ") < at("Readings of the author's tables: "));
    assert!(at("Readings of the author's tables: ") < at("Our extensions: 58 MEASURED"));
    assert!(!text.contains("\nMEASURED "), "{text}");
}

#[test]
fn a_first_screen_has_sixty_lines_and_the_conclusion_within_twelve() {
    for (name, document) in [
        ("complete", marhubi()),
        ("another", baeldung()),
        ("at grade F", at_grade_f()),
        ("interrupted", interrupted()),
        ("with failed arms", with_failed_arms()),
        ("crowded", crowded()),
        ("in two modes", in_two_modes(marhubi(), "pipes")),
        ("crowded and in two modes", in_two_modes(crowded(), "unix[100]")),
    ] {
        let study = &document.studies[0];
        let conclusion = conclusion::conclusion(&document, study);
        let is_crowded = name.starts_with("crowded");
        let last = conclusion.split_whitespace().last().expect("words");
        for width in [80, 100, 200] {
            let text = screen(&document, width);
            assert!(is_crowded || text.lines().count() <= 60, "{name} at {width}: {text}");
            assert!(
                text.lines().all(|line| text::width(line) <= width),
                "{name} at {width}: {text}"
            );
            let top: Vec<&str> = text.lines().take(12).collect();
            let top = top.join(" ");
            let words: Vec<&str> = top.split_whitespace().collect();
            assert!(words.join(" ").contains(&conclusion), "{name} at {width}: {last}: {text}");
        }
    }
}

#[test]
fn the_first_screen_of_a_complete_study() {
    insta::assert_snapshot!(screen(&marhubi(), 80));
}

#[test]
fn the_first_screen_of_a_study_with_many_claims() {
    insta::assert_snapshot!(screen(&baeldung(), 80));
}

#[test]
fn the_first_screen_at_grade_f() {
    insta::assert_snapshot!(screen(&at_grade_f(), 80));
}

/// libFuzzer has found it.
#[test]
fn the_last_round_that_there_can_be_is_counted() {
    let mut document = interrupted();
    document.studies[0].arms[0].rounds[0].round = u64::MAX;
    assert!(!screen(&document, 80).contains("Interrupted after"));
}

#[test]
fn the_first_screen_of_an_interrupted_study() {
    insta::assert_snapshot!(screen(&interrupted(), 80));
}

#[test]
fn the_first_screen_of_a_study_with_failed_arms() {
    insta::assert_snapshot!(screen(&with_failed_arms(), 80));
}

/// It said that there was no claim to judge, above the verdict on a reading.
#[test]
fn where_readings_alone_were_asked_for_they_are_what_is_concluded() {
    let mut document = marhubi();
    document.studies[0].claims.retain(|claim| claim.id == "s4.c4");
    document.studies[0].claims[0].verdict = Verdict::Direction;
    let said = |document: &Replication| conclusion::conclusion(document, &document.studies[0]);
    let holds = "TCP loopback takes about 1.7 times as long as pipes: its direction holds here, not its size (";
    assert!(said(&document).starts_with(holds), "{}", said(&document));
    document.studies[0].claims[0].verdict = Verdict::Inconclusive;
    let open = "TCP loopback takes about 1.7 times as long as pipes: left open here (";
    assert!(said(&document).starts_with(open), "{}", said(&document));
    document.studies[0].claims[0].kind = ClaimKind::Extension;
    assert_eq!(said(&document), "It has no claim to judge.");
}

/// The first claim of a study is its headline.
#[test]
fn a_conclusion_begins_with_what_became_of_the_headline_and_counts_the_others() {
    let mut document = marhubi();
    let said = |document: &Replication| conclusion::conclusion(document, &document.studies[0]);
    let first = "UNIX sockets are much faster than pipes, eventfd and TCP: not so here (";
    let text = said(&document);
    assert!(text.starts_with(first), "{text}");
    let counts = "Of the author's 4 claims 1 holds here; 1 does not; 2 cannot be tested.";
    assert!(text.contains(counts), "{text}");
    for (verdict, words) in [
        (Verdict::Reproduced, ": so it is here ("),
        (Verdict::Direction, ": its direction holds here, not its size ("),
        (Verdict::Inconclusive, ": left open here ("),
        (Verdict::Untestable, ": not tested here ("),
    ] {
        document.studies[0].claims[0].verdict = verdict;
        let text = said(&document);
        assert!(text.starts_with(&first.replace(": not so here (", words)), "{text}");
    }
    document.studies[0].claims[0].verdict = Verdict::Reproduced;
    document.studies[0].claims[0].artefact = Some("a wait".into());
    let text = said(&document);
    assert!(text.contains(": as published, but by an artefact: a wait ("), "{text}");
    assert_eq!(text.matches("a wait").count(), 1, "{text}");
}

#[test]
fn what_came_out_as_published_by_an_artefact_says_so_beside_its_verdict_and_in_the_conclusion() {
    let document = marhubi();
    let study = &document.studies[0];
    let claim = study.claims.iter().find(|claim| claim.id == "s4.c1.loop").expect("of marhubi");
    assert!(words::is_artefact(claim), "{:?}", claim.verdict);
    let cause = claim.artefact.as_deref().expect("known");
    let said = conclusion::conclusion(&document, study);
    assert!(said.contains(&format!("An artefact: {cause}.")), "{said}");
    for format in [Format::Table, Format::Markdown] {
        let style = Style { width: 400, ..Style::default() };
        let text = written(&document, format, &style);
        // A line for each of its three figures, then its verdict.
        let lines = text.lines().skip_while(|line| !line.contains("s4.c1.loop"));
        let lines = lines.take(4).collect::<Vec<_>>().join(" ");
        assert!(lines.contains("DIRECTION") && lines.contains("an artefact: "), "{lines}");
    }
}

#[test]
fn a_claim_on_an_arm_in_two_modes_has_a_mark_behind_its_verdict_and_the_mark_has_its_line() {
    let count = |text: &str| text.lines().filter(|line| *line == words::MARKED).count();
    let document = in_two_modes(marhubi(), "pipes");
    let study = &document.studies[0];
    let mark = |id: &str| {
        let claim = study.claims.iter().find(|claim| claim.id == id).expect(id);
        let told = words::ClaimWords::of(claim, study);
        told.verdict.trim_start_matches(claim.verdict.name()).to_owned()
    };
    let plain = screen(&marhubi(), 80);
    assert!(count(&plain) == 0 && !plain.contains("NOT REPRODUCED*"), "{plain}");
    let text = screen(&document, 80);
    assert!(count(&text) == 1 && text.contains("NOT REPRODUCED*"), "{text}");
    for id in ["s4.c1", "s4.c1.loop", "s4.c2"] {
        assert_eq!(mark(id), "*", "{id}");
    }
    // Of another arm; and of the pipes, without a figure.
    for id in ["s4.c1.proof", "s4.c5"] {
        assert_eq!(mark(id), "", "{id}");
    }
    let style = Style { width: 200, ..Style::default() };
    let text = written(&document, Format::Markdown, &style);
    let row = text.lines().find(|line| line.starts_with("| s4.c2 ")).expect("its row");
    assert!(row.contains("\\* |"), "{row}");
    assert!(text.contains("\n\\* Rounds of an arm fall into two modes"), "{text}");
}

#[test]
fn markdown_has_all_that_the_terminal_has() {
    for document in [marhubi(), baeldung()] {
        let style = Style { width: 100_000, verbose: true, ..Style::default() };
        let terminal = written(&document, Format::Table, &style);
        let markdown = written(&document, Format::Markdown, &style);
        let plain = |text: &str| -> String {
            let text = text.replace("&lt;", "<").replace("&amp;", "&").to_lowercase();
            let signs = text.chars().map(|sign| if sign.is_alphanumeric() { sign } else { ' ' });
            signs.collect()
        };
        let known: std::collections::BTreeSet<String> =
            plain(&markdown).split_whitespace().map(ToOwned::to_owned).collect();
        for word in plain(&terminal).split_whitespace() {
            assert!(known.contains(word), "'{word}' is on the terminal only");
        }
    }
}

#[test]
fn claims_and_rows_of_tables_name_each_other_and_every_erratum_stands_once() {
    let document = marhubi();
    let style = Style { width: 10_000, verbose: true, ..Style::default() };
    let text = written(&document, Format::Table, &style);
    assert!(text.contains("eventfd: see s4.c1, s4.c1.loop, s4.c2, s4.c3"), "{text}");
    assert!(text.contains("In the tables: 'Round trip by mechanism': pipes, eventfd"), "{text}");
    for erratum in &document.studies[0].errata {
        assert_eq!(text.matches(erratum.text.as_str()).count(), 1, "{}", erratum.text);
    }
    assert!(!text.contains("accepted report"), "{text}");
}

#[test]
fn every_picture_has_a_safe_name_of_its_own_and_markdown_shows_it() {
    let mut document = marhubi();
    let names: Vec<String> = plots(&document).into_iter().map(|(name, _)| name).collect();
    assert_eq!(names, ["marhubi-tails.svg", "marhubi-placements.svg"]);
    let (style, place) = (Style::default(), Some("my pictures/"));
    let text = to_text(|out| replication(&document, Format::Markdown, &style, place, out));
    assert!(text.contains("](<my pictures/marhubi-tails.svg>)"), "{text}");
    document.studies[0].name = "../../etc/x".into();
    for plot in document.studies[0].tables.iter_mut().filter_map(|table| table.plot.as_mut()) {
        plot.name = "/\u{1b}..".into();
    }
    for (name, svg) in plots(&document) {
        let is_fit = |sign: char| sign.is_ascii_alphanumeric() || "-_".contains(sign);
        assert!(name.trim_end_matches(".svg").chars().all(is_fit), "{name}");
        assert!(svg.starts_with("<svg") && !svg.contains("NaN"), "{svg}");
    }
}

/// Two machines: on the second one eventfd is slower, and one claim was not part of the run.
#[test]
fn claims_by_machines_say_what_turned_and_call_machines_by_their_facts() {
    let mut other = marhubi();
    other.host.cpu_model = "Another CPU".into();
    other.kernel.release = "7.1.0".into();
    other.started_utc = "2027-01-02T03:04:05Z".into();
    let study = &mut other.studies[0];
    study.claims.retain(|claim| claim.id != "s4.c9");
    for claim in study.claims.iter_mut().filter(|claim| claim.id == "s4.c1") {
        claim.verdict = Verdict::Reproduced;
        claim.tests.truncate(1);
        claim.tests[0].verdict = Verdict::Reproduced;
        claim.tests[0].measured = metric(3.1);
    }
    let documents = [marhubi(), other];
    let shown = |format, width| {
        let style = Style { width, ..Style::default() };
        to_text(|out| across(&documents, format, &style, out))
    };
    for width in [40, 80, 200] {
        let text = shown(Format::Table, width);
        assert!(text.lines().all(|line| text::width(line) <= width), "{text}");
    }
    insta::assert_snapshot!(shown(Format::Table, 80));
    let text = shown(Format::Markdown, 80);
    assert!(text.contains("- B: Another CPU, 2 CPUs, Linux 7.1.0"), "{text}");
    assert!(text.contains("- s4.c1 UNIX sockets are much faster"), "{text}");
    let text = shown(Format::Csv, 80);
    let line = "marhubi,s4.c1,\"Another CPU, 2 CPUs, Linux 7.1.0, hypervisor KVM, container docker\",2027-01-02T03:04:05Z,REPRODUCED,3.1,";
    assert!(text.contains(line), "{text}");
}

#[test]
fn machines_that_ran_no_claim_of_an_author_are_not_counted_over() {
    let mut document = marhubi();
    document.studies[0].claims.retain(|claim| claim.kind == ClaimKind::Reading);
    let text = to_text(|out| across(&[document], Format::Table, &Style::default(), out));
    assert!(text.starts_with("No claim of an author was part of these runs."), "{text}");
}

#[test]
fn nothing_a_terminal_obeys_is_passed_on_by_claims_of_machines() {
    let mut document = document();
    document.host.cpu_model = "=\u{1b}]52;c;QQ==\u{7}\u{9b}2J\u{202e}".into();
    for study in &mut document.studies {
        study.claims[0].text = document.host.cpu_model.clone();
        study.claims[0].id = document.host.cpu_model.clone();
    }
    for format in [Format::Table, Format::Markdown, Format::Csv] {
        let both = [document.clone(), document.clone()];
        let text = to_text(|out| across(&both, format, &Style::default(), out));
        let obeyed = |sign: char| sign != '\n' && text::is_unprinted(sign);
        assert_eq!(text.chars().find(|sign| obeyed(*sign)), None, "{format:?}");
    }
}

/// All that is shown of studies, by names.
fn shown(format: Format, style: &Style) -> Vec<(String, String)> {
    let documents = [marhubi(), baeldung()];
    let each = documents.iter().map(|document| {
        let text = to_text(|out| replication(document, format, style, None, out));
        (document.studies[0].name.clone(), text)
    });
    let text = to_text(|out| across(&documents, format, style, out));
    each.chain([("across".to_owned(), text)]).collect()
}

#[test]
fn no_text_is_lost_at_forty_columns_or_more() {
    for width in [40, 41, 48, 55, 56, 64, 72, 80] {
        let usual = Style { width, ..Style::default() };
        for style in [usual, Style { verbose: true, full: true, ..usual }] {
            for (name, text) in shown(Format::Table, &style) {
                fits(&name, &text, width);
            }
        }
    }
}

#[test]
fn every_head_of_a_table_is_explained_or_a_column_or_machine_of_the_documents() {
    let style = Style { verbose: true, full: true, ..Style::default() };
    let vocabulary = vocabulary(&[ipcperf_ask::COMMANDS, crate::COMMANDS].concat());
    let documents = [marhubi(), baeldung()];
    let studies = documents.iter().flat_map(|document| &document.studies);
    let columns = studies.flat_map(|study| &study.tables).flat_map(|table| &table.columns);
    let mut own: Vec<&str> = columns.map(String::as_str).collect();
    own.push("");
    let mut count = 0;
    for format in [Format::Markdown, Format::Html] {
        for (name, text) in shown(format, &style) {
            for head in heads(&text) {
                // Across machines a column is a machine, with its day behind it.
                let word = match head.split_once(" (") {
                    Some((machine, _)) if name == "across" => machine.to_owned(),
                    _ => word_of(&head),
                };
                let is_own = own.contains(&head.as_str());
                assert!(is_own || vocabulary.has(&word), "{name}: '{head}' is not explained");
                count += 1;
            }
        }
    }
    assert!(count > 20, "{count} heads");
}

#[test]
fn a_study_that_was_stopped_begins_with_it_on_every_screen_and_page() {
    for format in [Format::Table, Format::Markdown, Format::Html] {
        for style in [Style::default(), Style { full: true, ..Style::default() }] {
            let [stopped, whole] = [true, false].map(|interrupted| {
                let document = Replication { interrupted, ..marhubi() };
                to_text(|out| replication(&document, format, &style, None, out))
            });
            says_that_it_was_stopped("marhubi", format.name(), &stopped, &whole);
        }
    }
}

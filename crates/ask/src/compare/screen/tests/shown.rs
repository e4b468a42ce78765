//! What is shown of a comparison of many cells.

use super::*;
use ipcperf_testing::sound::{is_sound, spoiled};

/// Of two surveys a screen shows the cells with a claim first, however late they come; documents and `-v` have all.
#[test]
fn a_screen_shows_four_cells_claims_first_and_counts_the_rest() {
    let side = |first: f64| {
        let nanos = |at: usize| if at == 22 { first } else { 10_000.0 };
        let cell = |at: usize| {
            let mut cell = around("pipe", nanos(at), 0.002);
            cell.key.size_bytes = at as u64;
            cell.id = format!("pipe ping-pong {at}B");
            cell
        };
        [recorded("x.json", (0..23).map(cell).collect())]
    };
    let document = compare_files(&side(10_000.0), &side(20_000.0), &terms()).expect("comparable");
    let cells = |shown: &str| {
        let (above, _) = shown.split_once("Largest difference").unwrap();
        above.matches("ping-pong").count()
    };
    let shown = text(&document, Format::Table);
    assert_eq!(cells(&shown), 4, "{shown}");
    assert!(shown.contains("SLOWER         pipe ping-pong 22B"), "{shown}");
    assert!(shown.contains("19 more cells: 19 CAN'T TELL (-v shows them)"), "{shown}");
    assert!(shown.lines().count() <= 24, "{shown}");
    let last = shown.rsplit("\n\n").next().unwrap();
    assert!(last.starts_with("Largest difference: "), "the answer comes last: {shown}");
    for shown in [whole(&document), text(&document, Format::Markdown)] {
        assert!(cells(&shown) == 23 && !shown.contains("more cells"), "{shown}");
    }
}

/// A screen has room for figures of one cell; what a verdict rests on is left to `-v` and to documents.
#[test]
fn what_a_verdict_rests_on_is_in_documents_and_behind_v() {
    let document = mixed();
    let brief = text(&document, Format::Table);
    assert!(!brief.contains("control") && !brief.contains("at least"), "{brief}");
    assert!(brief.contains("the basis of each verdict: -v"), "{brief}");
    for shown in
        [whole(&document), text(&document, Format::Markdown), text(&document, Format::Html)]
    {
        assert!(shown.contains("margin 1 %") && !shown.contains(": -v"), "{shown}");
    }
}

/// What two documents have instead of common cells is left to `-v`.
#[test]
fn documents_without_a_common_cell_take_one_line() {
    let side = |name: &str, cell| [recorded(name, vec![around(cell, 10_000.0, 0.01)])];
    let document = files(&side("old.json", "pipe"), &side("new.json", "fifo"));
    let shown = text(&document, Format::Table);
    let expected = "Nothing to compare: no cell of old.json (1 cell) is in new.json (1 cell): -v\n";
    assert_eq!(shown, expected);
    assert!(whole(&document).contains("Only in A: 1"), "{}", whole(&document));
}

#[test]
fn what_holds_of_every_cell_is_said_once() {
    let side = |name: &str, grade: &str| {
        let cells = ["pipe", "fifo", "tcp"].map(|name| around(name, 10_000.0, 0.01));
        let mut set = sample::set(cells.to_vec());
        set.noise.grade = grade.to_owned();
        [sample::recorded(name, &set)]
    };
    let document = files(&side("old.json", "B"), &side("new.json", "F"));
    for format in [Format::Table, Format::Markdown, Format::Html] {
        let shown = text(&document, format);
        assert_eq!(shown.matches("B has the noise grade F").count(), 1, "{shown}");
        assert!(shown.contains("Of every cell: B has the noise grade F."), "{shown}");
    }
    let one = compare_files(
        &[recorded("old.json", vec![around("pipe", 10_000.0, 0.01)])],
        &side("new.json", "F"),
        &terms(),
    );
    assert!(!text(&one.expect("comparable"), Format::Table).contains("Of every cell"));
}

#[test]
fn a_page_has_every_verdict_with_what_it_rests_on_and_no_text_of_it_is_markup() {
    let page = |document: &Comparison| text(document, Format::Html);
    let document = mixed();
    let shown = page(&document);
    is_sound(&shown);
    for cell in &document.comparisons {
        let verdict = cell.primary.verdict.name().replace('\'', "&#39;");
        let told = format!("{verdict}</span>");
        assert!(shown.contains(&cell.a) && shown.contains(&told), "{} {told}", cell.a);
    }
    assert!(shown.contains("Only in A: 1"), "{shown}");
    is_sound(&page(&serde_json::from_value(spoiled(&document)).unwrap()));
}

#[test]
fn a_page_begins_with_the_answer_and_a_screen_ends_with_it() {
    let document = pair(10_000.0, 13_000.0);
    let (answer, _) = crate::compare::screen::in_a_sentence(&document).expect("a sentence");
    let page = text(&document, Format::Html);
    let (_, heading) = page.split_once("<h1").expect("a heading");
    let (heading, rest) = heading.split_once("</h1>").expect("its end");
    assert!(heading.contains(&answer) && !rest.contains(&answer), "{heading}");
    assert!(!page.contains("B vs A: "), "one verdict needs no tally");
    let drawn: Vec<&str> = rest.split("<svg").skip(1).collect();
    assert_eq!(drawn.len(), 2, "one picture, for wide windows and narrow ones");
    for side in ["A: old.json", "B: new.json"] {
        assert!(drawn.iter().all(|svg| svg.contains(side)), "{side} is whole");
    }
    let screen = text(&document, Format::Table);
    let flat = screen.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(screen.starts_with("B vs A: ") && flat.ends_with(&format!("{answer}.")), "{screen}");
}

#[test]
fn a_heading_has_whole_names_and_the_reason_of_doubt_is_below() {
    let mut document = pair(10_000.0, 13_000.0);
    document.a.names = vec!["old: a.json".to_owned()];
    let one = &mut document.comparisons[0].primary;
    (one.verdict, one.reason) = (Difference::CannotTell, "too noisy: grade F.".to_owned());
    let page = text(&document, Format::Html);
    let (heading, rest) = page.split_once("</h1>").expect("a heading");
    assert!(heading.contains(" or old: a.json is faster (pipe "), "{heading}");
    assert!(!heading.contains("too noisy") && rest.contains("too noisy: grade F."), "{page}");
    let screen = text(&document, Format::Table);
    assert!(screen.contains(": too noisy: grade F."), "{screen}");
}

//! What holds of every document in every format, so that no document has to show it again.

use crate::doc::Tone;
use crate::doc::{Blocks, Cell, Chart, Column, Doc, Layout, Line, Picture, Place, Row, Table};
use crate::svg::{Axis, Strip, StripRow};
use crate::{Format, Style, text};

/// Texts that a terminal, Markdown or a page would obey.
const HOSTILE: &str =
    "x</p><script>alert(1)</script>|\u{1b}[31m\u{202e}*b*`c`[l](u)\n# not a heading\n";

/// A word that every document has once for each place where a text can stand.
fn word(at: &str) -> String {
    format!("<{at}>{HOSTILE}")
}

fn table(layout: Layout) -> Table {
    let name = format!("{layout:?}");
    let columns = [
        Column::text(word(&format!("first{name}"))),
        Column::number("p50").rank(1).legend("half of all take longer"),
        Column::whole("here"),
        Column::text("changed").place(Place::Above),
    ];
    let row = |at: usize| {
        let cell = |what: &str| word(&format!("{what}{at}{name}"));
        Row::new([
            Cell::from(Line::from(cell("a")).after("c1 ").to("claims"))
                .below(Tone::Quiet, cell("b")),
            Cell::from(format!("{at}.00 us")),
            Cell::from("1.90 [1.71, 2.09]").below(Tone::Bad, "NOT REPRODUCED"),
            Cell::from(cell("d")),
        ])
        .tone(Tone::Doubt)
        .group(word(&format!("group{name}")))
    };
    Table { label: word("label"), ..Table::new(columns, [row(1), row(2)]).layout(layout) }
}

fn document() -> Doc {
    let mut doc = Doc::new(word("headline"));
    doc.stopped = Some("INTERRUPTED".to_owned());
    doc.foot = vec![word("foot")];
    let body = &mut doc.body;
    body.say(Tone::Doubt, word("doubt"));
    body.lines([Line::new(Tone::Best, word("best")).after("USE   ")]);
    body.list([word("item")]);
    body.facts([(word("name"), word("value"))]);
    let row = StripRow {
        label: word("row"),
        link: Some(word("link")),
        rounds: vec![1.0, 2.0],
        named: vec![(1, word("named"))],
        value: 1.5,
        interval: Some([1.0, f64::NAN]),
        words: word("words"),
        is_best: true,
    };
    let strip =
        Strip { label: word("strip"), axis: Axis::plain("", |_| String::new()), rows: vec![row] };
    let mut figures = Blocks::default();
    figures.say(Tone::Plain, word("figures"));
    body.chart(Chart {
        title: word("chart"),
        note: "how to read it".to_owned(),
        picture: Some(Picture::Strip(strip)),
        file: Some("a>b/\u{7}.svg".to_owned()),
        figures,
    });
    body.section(word("section"), |body| {
        for layout in [Layout::GiveWay, Layout::Blocks(2), Layout::Flow, Layout::Cards] {
            body.table(table(layout));
        }
        body.fold(word("fold"), |body| body.say(Tone::Quiet, word("folded")));
    });
    doc
}

fn written(format: Format, style: &Style) -> String {
    let mut bytes = Vec::new();
    document().write(format, style, &mut bytes).unwrap();
    String::from_utf8(bytes).unwrap()
}

fn on_terminal(width: usize) -> String {
    written(Format::Table, &Style { width, ..Style::default() })
}

/// The names of the places of all texts: `<...>`.
fn places(text: &str) -> std::collections::BTreeSet<String> {
    let whole: String = text.chars().filter(|sign| !sign.is_whitespace()).collect();
    let parts =
        whole.split('<').skip(1).filter_map(|rest| Some(rest.split_once('>')?.0.to_owned()));
    parts.filter(|name| !name.starts_with('/') && name != "script").collect()
}

#[test]
fn no_line_is_too_wide_and_no_text_is_lost_at_any_width() {
    let wide = places(&on_terminal(2_000));
    assert!(wide.len() > 30, "{wide:?}");
    for width in [20, 40, 80, 200] {
        let text = on_terminal(width);
        for line in text.lines() {
            assert!(text::width(line) <= width, "{width}: {line}");
        }
        // A cell that goes on in the next line has the rest of its row between its parts.
        let flat: String = text.chars().filter(|sign| sign.is_alphanumeric()).collect();
        for name in ["headline", "doubt", "best", "item", "value", "figures", "folded", "d2Cards"] {
            assert!(flat.contains(name), "{width}: {name}: {text}");
        }
        assert!(!text.contains('~'), "{width}: {text}");
    }
    assert!(on_terminal(40).contains("hidden at 40 columns: p50"), "{}", on_terminal(40));
    // A legend is only of what is shown, and cards need none.
    let legends = |width| on_terminal(width).matches("p50: half of all take longer.").count();
    assert_eq!([legends(40), legends(2_000)], [1, 3]);
}

#[test]
fn nothing_that_is_obeyed_gets_out_in_any_format() {
    for format in [Format::Table, Format::Markdown, Format::Html] {
        for unicode in [false, true] {
            let text = written(format, &Style { unicode, ..Style::default() });
            let obeyed = |sign: &char| *sign != '\n' && text::is_unprinted(*sign);
            assert_eq!(text.chars().find(obeyed), None, "{format}");
        }
    }
    let markdown = written(Format::Markdown, &Style::default());
    let headings = markdown.lines().filter(|line| line.starts_with('#')).count();
    assert_eq!(headings, 1 + 1 + 1 + 4 + 1, "{markdown}");
    assert!(!markdown.contains("<script") && !markdown.contains("[l]("), "{markdown}");
    assert!(markdown.contains("](<a%3Eb/?.svg>)"), "{markdown}");
    let rows = markdown.lines().filter(|line| line.starts_with('|'));
    for row in rows {
        assert_eq!(row.replace("\\|", "").matches('|').count(), 5, "{row}");
    }
    let page = written(Format::Html, &Style::default().within(Format::Html));
    assert_eq!(page.matches("<script>").count(), 1, "its own");
    assert!(page.contains("href=\"#claims\""), "{page}");
}

#[test]
fn a_document_that_was_stopped_says_so_first() {
    assert!(on_terminal(80).starts_with("INTERRUPTED\n"));
    assert!(written(Format::Markdown, &Style::default()).starts_with("**INTERRUPTED**\n"));
    let page = written(Format::Html, &Style::default().within(Format::Html));
    assert!(page.contains("<main id=\"main\"><p class=\"alarm\">INTERRUPTED</p>"), "{page}");
}

#[test]
fn a_line_that_may_take_so_many_ends_with_a_mark_between_words() {
    let mut blocks = Blocks::default();
    blocks.lines([Line::from("word ".repeat(99)).most(2)]);
    let doc = Doc { body: blocks, ..Doc::default() };
    let style = Style { width: 23, ..Style::default() };
    let mut bytes = Vec::new();
    doc.write(Format::Table, &style, &mut bytes).unwrap();
    assert_eq!(String::from_utf8(bytes).unwrap(), "word word word word\nword word word word ...\n");
    assert_eq!(doc.height(&style), 2);
}

#[test]
fn colour_only_repeats_what_the_text_says() {
    let colour = written(Format::Table, &Style { color: true, ..Style::default() });
    let mut plain = String::new();
    for (at, part) in colour.split('\u{1b}').enumerate() {
        plain.push_str(if at == 0 { part } else { part.split_once('m').unwrap().1 });
    }
    assert_eq!(plain, on_terminal(80));
}

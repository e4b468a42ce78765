//! What must hold of everything that is written, whatever was read.

use ipcperf_render::{Format, Style};

/// Styles with all that changes the layout.
pub fn styles() -> [Style; 5] {
    let plain = Style::default();
    [
        plain,
        Style { width: 200, unicode: true, full: true, versus_bound: true, ..plain },
        Style { verbose: true, top: Some(2), ..plain },
        Style { width: 40, full: true, ..plain },
        Style { width: 120, unicode: true, verbose: true, full: true, ..plain },
    ]
}

/// What a renderer wrote, which is UTF-8 in any format.
pub fn written(render: impl FnOnce(&mut dyn std::io::Write) -> std::io::Result<()>) -> String {
    let mut bytes = Vec::new();
    render(&mut bytes).expect("memory takes every byte");
    String::from_utf8(bytes).expect("UTF-8")
}

/// Checks a text in a format.
pub fn check(text: &str, format: Format, style: &Style) {
    printable(text);
    match format {
        Format::Table => fits(text, style),
        Format::Markdown => no_tag(&outside_fences(text)),
        Format::Csv => regular(text),
        Format::Json => drop(json(text)),
        Format::Ndjson => text.lines().for_each(|line| drop(json(line))),
        Format::Html => markup(text),
    }
}

/// Nothing that a terminal or an editor obeys: no control but the end of a line, nothing that turns text around.
pub fn printable(text: &str) {
    let obeyed = |sign: &char| {
        (sign.is_control() && *sign != '\n')
            || matches!(u32::from(*sign), 0x200B..=0x200F | 0x2028..=0x202E | 0x2060..=0x206F | 0xFEFF)
    };
    if let Some(sign) = text.chars().find(obeyed) {
        let line = text.lines().find(|line| line.contains(sign)).unwrap_or_default();
        panic!("{sign:?} in {line:?}");
    }
}

/// One line that says something.
pub fn one_line(error: &str) {
    assert!(!error.trim().is_empty() && !error.contains('\n'), "{error:?}");
}

/// No line of a table is wider than was asked for.
fn fits(text: &str, style: &Style) {
    if !style.unicode {
        assert!(text.is_ascii(), "plain means ASCII");
    }
    if let Some(line) = text.lines().find(|line| line.chars().count() > style.width) {
        panic!("wider than {}: {line}", style.width);
    }
}

fn no_tag(text: &str) {
    assert!(!text.to_lowercase().contains("<zz9"), "a text of the document opens a tag");
}

/// A text in Markdown without what stands between fences, where a tag is a text: a fence of backticks ends at a line that
/// begins with as many.
fn outside_fences(text: &str) -> String {
    let mut fence: Option<usize> = None;
    let mut outside = String::new();
    for line in text.lines() {
        let start = line.trim_start();
        let ticks = start.len() - start.trim_start_matches('`').len();
        match fence {
            None if ticks >= 3 => fence = Some(ticks),
            Some(open) if ticks >= open => fence = None,
            Some(_) => {}
            None => outside = outside + line + "\n",
        }
    }
    outside
}

fn json(text: &str) -> serde_json::Value {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("no JSON ({error}): {text}"))
}

/// A page or a picture whose only markup is its own.
pub fn markup(page: &str) {
    no_tag(page);
    assert!(!page.contains("\" onzz9=") && !page.contains("' onzz9="), "an attribute is left");
    for name in ["script", "style", "title"] {
        let [opened, closed] =
            ["<", "</"].map(|sign| page.matches(&format!("{sign}{name}")).count());
        assert_eq!(opened, closed, "<{name}>");
    }
}

/// As many cells in each row as in the first, and no cell that is a formula.
pub fn regular(text: &str) {
    let rows = rows(text);
    for row in &rows {
        assert_eq!(row.len(), rows[0].len(), "{row:?}");
        for cell in row {
            let is_formula = cell.starts_with(['=', '@', '+', '-', '\t', '\r']);
            assert!(!is_formula || cell.parse::<f64>().is_ok(), "a formula: {cell}");
        }
    }
}

/// RFC 4180, read strictly.
fn rows(text: &str) -> Vec<Vec<String>> {
    let mut rows = Vec::new();
    let mut signs = text.chars().peekable();
    while signs.peek().is_some() {
        let mut row = Vec::new();
        loop {
            let mut cell = String::new();
            if signs.next_if_eq(&'"').is_some() {
                loop {
                    match signs.next().expect("a quote is closed") {
                        '"' if signs.next_if_eq(&'"').is_some() => cell.push('"'),
                        '"' => break,
                        sign => cell.push(sign),
                    }
                }
            } else {
                while let Some(sign) = signs.next_if(|sign| !matches!(sign, ',' | '\n')) {
                    assert_ne!(sign, '"', "a quote within a cell that has none around it");
                    cell.push(sign);
                }
            }
            row.push(cell);
            match signs.next() {
                Some(',') => {}
                Some('\n') => break,
                other => panic!("{other:?} behind {row:?}"),
            }
        }
        rows.push(row);
    }
    rows
}

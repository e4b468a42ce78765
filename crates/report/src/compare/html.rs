//! A comparison as a page: the verdicts, a picture of every ratio, and what each rests on.

use super::in_a_sentence;
use super::judge::times;
use super::words::{
    alone, at_least, basis, beside, briefly, cells, course, differing, figure, own_reason, ratio,
    ratio_head, shared_reason, tally, verdict,
};
use crate::html::{Html, Page};
use crate::stopped::Stopped;
use crate::svg::{Axis, Strip, StripRow};
use crate::text::counted;
use ipcperf_core::result::{CellComparison, Comparison, Difference};
use std::io;

pub(super) fn write(document: &Comparison, out: &mut dyn io::Write) -> io::Result<()> {
    let mut page = Page::default();
    page.begin(document.stopped().as_deref());
    fill(&mut page, document);
    let title = format!(
        "ipcperf compare: {} beside {}",
        document.b.names.join(", "),
        document.a.names.join(", ")
    );
    page.write(&title, &["This page is one file and asks nobody for anything.".to_owned()], out)
}

/// All of a comparison; a page may have something else under it.
pub(crate) fn fill(page: &mut Page, document: &Comparison) {
    page.head(|html| {
        html.headline(&format!("B beside A: {}", tally(&document.comparisons)));
        if let Some(words) = in_a_sentence(document) {
            html.say("p", &[], &words);
        }
        html.list(&course(document));
    });
    if !document.comparisons.is_empty() {
        page.section("ratios", "Ratios", |html| ratios(html, document));
    }
    page.section("verdicts", "Before and after", |html| {
        verdicts(html, document);
        for (letter, only) in alone(document) {
            let title = format!("Only in {letter}: {}", only.len());
            html.fold(&title, false, |html| html.list(only));
        }
    });
}

/// Ratios that are drawn; all of them are in the table.
const DRAWN: usize = 40;

/// Each ratio with its interval over one axis, and where rounds are paired every round as a point. What is told comes
/// first.
fn ratios(html: &mut Html, document: &Comparison) {
    let row = |cell: &CellComparison| {
        let one = &cell.primary;
        let paired = one.rounds.len() == 1 && one.a_rounds.len() == one.b_rounds.len();
        let rounds = one.a_rounds.iter().zip(&one.b_rounds).filter(|_| paired);
        let value = one.ratio.value?;
        Some(StripRow {
            label: cells(cell),
            link: None,
            rounds: rounds.map(|(a, b)| b / a).collect(),
            value,
            interval: one.ratio.ci95,
            words: format!("{} {}", times(value), one.verdict),
            is_best: is_told(cell),
        })
    };
    let mut ordered: Vec<&CellComparison> = document.comparisons.iter().collect();
    ordered.sort_by_key(|cell| !is_told(cell));
    let mut rows: Vec<StripRow> = ordered.into_iter().filter_map(row).collect();
    let more = rows.len().saturating_sub(DRAWN);
    rows.truncate(DRAWN);
    if rows.is_empty() {
        return;
    }
    let label = format!(
        "B over A of {}: {}.",
        counted(rows.len() as u64, "cell"),
        tally(&document.comparisons)
    );
    let drawn = Strip { label, axis: Axis::plain("", factor), rows }.inline();
    let more = match more {
        0 => String::new(),
        more => format!(" {more} more are in the table."),
    };
    let note = format!(
        "Left of 1x the figure of B is smaller: better for a time, worse for a rate. The line is the ratio, the bar its 95 % interval; points are rounds in which both \
         were measured.{more}"
    );
    html.figure("B over A", &note, &drawn, |_| ());
}

/// A factor at an axis.
fn factor(value: f64) -> String {
    let digits = format!("{value:.3}");
    format!("{}x", digits.trim_end_matches('0').trim_end_matches('.'))
}

fn is_told(cell: &CellComparison) -> bool {
    matches!(cell.primary.verdict, Difference::Faster | Difference::Slower)
}

fn class(verdict: Difference) -> &'static str {
    match verdict {
        Difference::Faster => "verdict good",
        Difference::Slower => "verdict bad",
        Difference::CannotTell => "verdict doubt",
        Difference::None => "verdict",
    }
}

fn verdicts(html: &mut Html, document: &Comparison) {
    let of_ratio = ratio_head(document);
    let heads = [
        ("cell", "t"),
        ("A", "n"),
        ("B", "n"),
        (&of_ratio, "n"),
        ("verdict", "t"),
        ("beside it", "t"),
        ("rests on", "t"),
    ];
    let head = |html: &mut Html| {
        for (head, class) in heads {
            html.say("th", &[("scope", "col"), ("class", class)], head);
        }
    };
    html.rows("Before and after", head, |html| {
        let shared = shared_reason(document);
        document.comparisons.iter().for_each(|cell| row(html, document, cell, shared));
    });
}

fn row(html: &mut Html, document: &Comparison, cell: &CellComparison, shared: Option<&str>) {
    let one = &cell.primary;
    html.within("tr", &[], |html| {
        html.say("td", &[("class", "t")], &cells(cell));
        for value in [one.a_value, one.b_value] {
            html.say("td", &[("class", "n")], &figure(one, value));
        }
        html.say("td", &[("class", "n")], &ratio(one));
        html.within("td", &[("class", "t")], |html| {
            html.say("span", &[("class", class(one.verdict))], &verdict(document, one));
            let least = at_least(one).into_iter();
            let reason = own_reason(one, shared).map(ToOwned::to_owned);
            let differs = differing(&cell.factors).map(|words| format!("differs in {words}"));
            for words in least.chain(reason).chain(differs) {
                html.say("div", &[("class", "was")], &words);
            }
        });
        html.within("td", &[("class", "t long")], |html| {
            for (name, other) in beside(cell) {
                if let Some(other) = other {
                    html.say("div", &[], &format!("{name} {}", briefly(document, other)));
                }
            }
        });
        html.say("td", &[("class", "t")], &basis(one));
    });
}

//! What is told of a question, as the head of a page and its first sections.

use crate::html::{Html, Page};
use crate::page::Tone;
use crate::told::{Line, Part, Told};

/// What stands under the headline.
pub(super) fn lead(html: &mut Html, told: &Told) {
    told.under_headline().for_each(|line| say(html, line));
}

fn say(html: &mut Html, line: &Line) {
    let class = match line.tone {
        Tone::Quiet => "soft",
        Tone::Doubt => "alarm",
        _ => "plain",
    };
    html.say("p", &[("class", class)], &line.words);
}

/// A section for each part that has a name.
pub(super) fn fill(page: &mut Page, told: &Told) {
    for (at, part) in told.named().enumerate() {
        page.section(&format!("answer-{}", at + 1), &part.name, |html| put(html, part));
    }
}

fn put(html: &mut Html, part: &Part) {
    let (quiet, said): (Vec<&Line>, Vec<&Line>) =
        part.lines.iter().partition(|line| line.tone == Tone::Quiet);
    match said.as_slice() {
        [one] => say(html, one),
        all => html.list(&all.iter().map(|line| line.words.clone()).collect::<Vec<_>>()),
    }
    if let Some(chart) = &part.chart {
        let note = "Medians over rounds with their 95 % intervals; what has none is not drawn.";
        html.figure(&chart.title, note, &chart.inline(), |_| ());
    }
    if let Some(table) = &part.table {
        html.table(&part.name, &part.heads(table), &table.grid.right, &table.grid.rows);
        if table.is_best_first {
            let words = "The first row is the choice; nothing beats any other in p99, CPU time and rate at once.";
            html.say("p", &[("class", "soft")], words);
        }
    }
    quiet.into_iter().for_each(|line| say(html, line));
}

//! What is told of a question, as the head of a page and its first sections.

use crate::html::{Html, Page};
use crate::page::Tone;
use crate::told::{Line, Part, Told};

/// What stands under the headline, which says itself what a title alone says, and that nobody won.
pub(super) fn lead(html: &mut Html, told: &Told) {
    let titles = told.lead.iter().filter(|line| line.tone == Tone::Title).count();
    let (best, others): (Vec<&Line>, Vec<&Line>) =
        told.lead.iter().partition(|line| line.tone == Tone::Best);
    for line in best.into_iter().chain(others) {
        let is_said = match line.tone {
            Tone::Title => titles < 2,
            Tone::Bad => true,
            _ => line.words.is_empty(),
        };
        if !is_said {
            say(html, line);
        }
    }
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
    for (at, part) in told.parts.iter().filter(|part| !part.name.is_empty()).enumerate() {
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
        let mut heads = table.grid.heads.clone();
        // Where a terminal has the title in the table, the page has its heading.
        if let Some(first) = heads.first_mut().filter(|_| part.title.is_empty()) {
            first.clear();
        }
        html.table(&part.name, &heads, &table.grid.right, &table.grid.rows);
        if table.is_best_first {
            let words = "The first row is the choice; nothing beats any other in p99, CPU time and rate at once.";
            html.say("p", &[("class", "soft")], words);
        }
    }
    quiet.into_iter().for_each(|line| say(html, line));
}

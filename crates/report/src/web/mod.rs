//! A result set as a page: what to use first, then the machine, pictures of what the document has, and every cell.

mod cells;
mod charts;
mod curves;
mod head;
mod pairs;
mod picture;
mod rankings;
#[cfg(test)]
mod tests;

use crate::Style;
use crate::chapters::chapters;
use crate::html::{self, Page};
use crate::stopped::Stopped;
use crate::{Specs, asked, calls, overview, pipelines, table, text};
use cells::Anchors;
use ipcperf_core::result::{ResultSet, Status};
use ipcperf_render::doc::Doc;
use std::io;

/// How a text of a page is laid out, where layout is shared with other formats.
const STYLE: Style = Style {
    width: 80,
    color: false,
    unicode: true,
    versus_bound: false,
    verbose: true,
    full: true,
    pictures: true,
    top: None,
};

pub(crate) fn render(set: &ResultSet, specs: &Specs, out: &mut dyn io::Write) -> io::Result<()> {
    let mut page = Page::default();
    page.begin(set.stopped().as_deref());
    fill(&mut page, set, specs);
    page.write(&title(set), &foot(set), out)
}

pub(crate) fn title(set: &ResultSet) -> String {
    let command = if set.invocation.plan.command.is_empty() {
        "result"
    } else {
        &set.invocation.plan.command
    };
    format!("ipcperf {command}: {}, {}", set.host.cpu_model, set.started_utc)
}

/// All of a set; a page may have something else above it.
pub(crate) fn fill(page: &mut Page, set: &ResultSet, specs: &Specs) {
    let anchors = Anchors::of(set);
    let chapters = chapters(set, specs);
    match asked::doc(set, specs, &STYLE) {
        Some(doc) => html::fill(page, &Doc { stopped: None, ..doc }),
        None if overview::is_survey(set) => {
            page.head(|html| head::survey(html, set, specs, &anchors));
        }
        None => page.head(|html| head::run(html, set, specs, &chapters, &anchors)),
    }
    page.section("machine", "Machine", |html| head::machine(html, set, &anchors));
    charts::fill(page, set, &chapters, &anchors);
    html::sections(page, &pipelines::blocks(set, true));
    let lines = calls::lines(set);
    if !lines.is_empty() {
        page.section("calls", calls::TITLE, |html| html.list(&lines));
    }
    not_measured(page, set);
    if !set.cells.is_empty() {
        page.section("cells", "All cells", |html| {
            cells::table(html, set, &anchors);
            html.fold("How to read the columns", false, |html| {
                html.list(&table::legend_lines(set, &chapters, cells::EXPLAINED, &STYLE));
            });
        });
    }
}

fn not_measured(page: &mut Page, set: &ResultSet) {
    let reasons = table::reasons(set);
    if reasons.is_empty() {
        return;
    }
    page.section("missing", "Not measured", |html| {
        html.within("ul", &[], |html| {
            for (status, words) in reasons {
                let class = match status {
                    Status::Failed | Status::Deadline => "bad",
                    Status::Rejected => "doubt",
                    _ => "plain",
                };
                html.say("li", &[("class", class)], &words);
            }
        });
    });
}

/// Where the figures come from.
pub(crate) fn foot(set: &ResultSet) -> Vec<String> {
    let tool = &set.tool;
    // Some values say themselves what they are: `rustc 1.96.0`, `glibc 2.36`.
    let fact = |(name, value): (&String, &String)| match value.contains(name.as_str()) {
        true => value.clone(),
        false => format!("{name} {value}"),
    };
    let build: Vec<String> = tool.build.iter().map(fact).collect();
    vec![
        format!("Asked for: {} (seed {})", set.invocation.argv.join(" "), set.invocation.seed),
        format!("Measured by {} {}: {}", tool.name, tool.version, build.join(", ")),
        format!(
            "From a document of schema {} with {}. This page is one file and asks nobody for anything.",
            set.schema,
            text::counted(set.cells.len() as u64, "cell")
        ),
    ]
}

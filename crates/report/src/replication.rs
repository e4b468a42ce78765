//! A replication for people and programs: first what became of the study, claim by claim, then everything behind it.

mod across;
mod conclusion;
mod detail;
mod html;
mod markdown;
mod plots;
mod screen;
mod words;

use crate::csv::cell as csv_cell;
use crate::json;
use crate::page::{Page, Tone};
use crate::stopped;
use crate::{Format, Style};
use ipcperf_core::result::Replication;
use std::io::{self, Write};

pub use across::across;
pub use plots::plots;

/// Writes a replication in one of the formats. `pictures` says where its [`plots()`] are, as markdown shall refer to them.
///
/// # Errors
/// `out` refuses the bytes.
pub fn replication(
    document: &Replication,
    format: Format,
    style: &Style,
    pictures: Option<&str>,
    out: &mut dyn Write,
) -> io::Result<()> {
    stopped::first(document, format, style, out)?;
    match format {
        Format::Json => json::document(document, out),
        Format::Ndjson => document.studies.iter().try_for_each(|study| json::object(study, out)),
        Format::Csv => csv(document, out),
        Format::Markdown => markdown::write(document, style, pictures, out),
        Format::Table => page(document, &mut Page::new(out, style)),
        Format::Html => html::write(document, out),
    }
}

fn page(document: &Replication, page: &mut Page<'_>) -> io::Result<()> {
    for (index, study) in document.studies.iter().enumerate() {
        if index > 0 {
            page.blank()?;
        }
        screen::write(document, study, page)?;
        if page.style.is_whole() {
            detail::write(study, page)?;
        }
    }
    if document.studies.len() > 1 {
        page.blank()?;
        page.paragraph(Tone::Title, "", &words::total(document))?;
    }
    Ok(())
}

/// One line for each reading of each round.
fn csv(document: &Replication, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "study,arm,status,round,order,metric,value")?;
    for study in &document.studies {
        for arm in &study.arms {
            let status = serde_json::to_string(&arm.status)?;
            let start = format!("{},{},{status}", csv_cell(&study.name), csv_cell(&arm.id));
            for round in &arm.rounds {
                for (metric, value) in &round.values {
                    let (metric, number, order) = (csv_cell(metric), round.round, round.order);
                    writeln!(out, "{start},{number},{order},{metric},{value}")?;
                }
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;

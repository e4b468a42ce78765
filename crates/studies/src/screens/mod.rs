//! A replication for people and programs: first what became of the study, claim by claim, then everything behind it.

mod across;
mod conclusion;
mod detail;
mod doc;
mod plots;
pub(crate) mod verdicts;
mod words;

use crate::replication::{REPLICATION_SCHEMA, Replication, amount};
use ipcperf_core::result::Origin;
use ipcperf_judge::{LoadError, damaged};
use ipcperf_kit::document::{Document, Show, interrupted_after};
use ipcperf_kit::work::MeasuredWork;
use ipcperf_render::csv::cell as csv_cell;
use ipcperf_render::{Format, Output, Style};
use std::io::{self, Write};

pub use across::across;
use plots::plots;

impl Document for Replication {
    fn schema() -> &'static str {
        REPLICATION_SCHEMA
    }

    fn load(text: &str) -> Result<Self, LoadError> {
        serde_json::from_str(text).map_err(|error| damaged(&error, text))
    }

    fn command(&self) -> &'static str {
        "replicate"
    }

    fn work(&self) -> MeasuredWork {
        let studies = self.studies.iter().flat_map(|study| {
            let amount = amount(&study.name, study.scale, study.rounds);
            [study.name.clone()].into_iter().chain(amount).chain(study.cuts.iter().cloned())
        });
        MeasuredWork { subjects: studies.collect(), ..MeasuredWork::of(self.command()) }
    }

    fn origin(&self) -> &Origin {
        &self.origin
    }

    fn is_interrupted(&self) -> bool {
        self.interrupted
    }

    fn stopped(&self) -> Option<String> {
        self.interrupted.then(|| interrupted_after(0, 0))
    }

    fn pictures(&self) -> Option<Vec<(String, String)>> {
        Some(plots(self))
    }

    fn show(&self, show: &Show<'_>, out: &mut dyn Write) -> io::Result<()> {
        replication(self, show.format, show.style, show.pictures, out)
    }
}

/// Writes a replication in one of the formats. `pictures` says where its [`plots()`] are, as markdown shall refer to them.
///
/// # Errors
/// `out` refuses the bytes.
fn replication(
    document: &Replication,
    format: Format,
    style: &Style,
    pictures: Option<&str>,
    out: &mut dyn Write,
) -> io::Result<()> {
    if format == Format::Csv {
        return csv(document, out);
    }
    Output { document, rows: &document.studies, columns: &[] }.write(
        format,
        &style.whole(format),
        out,
        |style| doc::doc(document, style, pictures),
    )
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

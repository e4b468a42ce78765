//! The screen, and the rows of CSV.

use super::document::{NOOP_SCHEMA, Noop};
use ipcperf_core::result::Origin;
use ipcperf_core::units::format_nanos;

use crate::results::table::finding_text;
use ipcperf_judge::{LoadError, damaged};
use ipcperf_kit::document::{Document, Show};
use ipcperf_render::doc::{Column, Doc, Row, Table};
use ipcperf_render::{Output, csv};
use std::io;

const COLUMNS: &[csv::Column] = &[("started_ns", "/started_ns")];

impl Document for Noop {
    fn schema() -> &'static str {
        NOOP_SCHEMA
    }

    fn load(text: &str) -> Result<Self, LoadError> {
        serde_json::from_str(text).map_err(|error| damaged(&error, text))
    }

    fn command(&self) -> &'static str {
        "noop"
    }

    fn origin(&self) -> &Origin {
        &self.origin
    }

    fn is_interrupted(&self) -> bool {
        false
    }

    fn stopped(&self) -> Option<String> {
        None
    }

    fn show(&self, show: &Show<'_>, out: &mut dyn io::Write) -> io::Result<()> {
        let rows = [self];
        let output = Output { document: self, rows: rows.as_slice(), columns: COLUMNS };
        output.write(show.format, show.style, out, |_| {
            let mut doc = Doc::new("A worker process started");
            let row = Row::new([format_nanos(self.started_ns as f64)]);
            doc.body.table(Table::new([Column::number("started")], [row]));
            doc.body.list(self.findings.iter().map(|one| finding_text(one, 1)).collect::<Vec<_>>());
            doc
        })
    }
}

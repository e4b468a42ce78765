//! `noop`: how long a worker process takes to say that it is there. A feature with all that one can have.

mod document;
mod findings;
mod screen;
mod worker;

pub(crate) use document::Noop;

use crate::documents::schema;
use document::NOOP_SCHEMA;
use ipcperf_core::findings::Row;
use ipcperf_engine::tasks::TaskRow;
use ipcperf_kit::args::{LabelArgs, LookArgs, ProgressArgs};
use ipcperf_kit::command::{CommandArgs, CommandGroup, Context};
use ipcperf_kit::document::Show;
use ipcperf_kit::document_kind::DocumentKind;
use ipcperf_kit::error::Stop;
use ipcperf_kit::measure;
use ipcperf_kit::output::{self, Publication, Target};
use ipcperf_kit::word::{Word, WordKind, word};
use std::path::PathBuf;
use std::process::ExitCode;

#[derive(Clone, Debug, clap::Args)]
pub(crate) struct NoopArgs {
    /// Write the document to this file (JSON); '-' prints it instead of a table
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    #[command(flatten)]
    label: LabelArgs,
    #[command(flatten)]
    look: LookArgs,
    #[command(flatten)]
    progress: ProgressArgs,
}

/// The words of its screen.
const STARTED: &[Word] = &[word(
    "started",
    WordKind::Column,
    "the time from the start of a worker process to its first word",
    "compare it with the timed part of a slice",
)];

impl CommandArgs for NoopArgs {
    const NAME: &'static str = "noop";
    const GROUP: CommandGroup = CommandGroup::Machine;
    const ABOUT: &'static str = "Measure how long a worker process takes to start";
    const EXAMPLES: &'static str = "Examples:
  ipcperf noop -o noop.json                 how long a worker takes to start, in a document";
    const TASKS: &'static [TaskRow] = worker::TASKS;
    const DOCUMENTS: &'static [DocumentKind] =
        &[DocumentKind::of::<Noop>("noop", || schema("noop"))];
    const FINDINGS: &'static [Row] = findings::ALL;
    const WORDS: fn() -> &'static [Word] = || STARTED;

    fn run(&self, _: &Context<'_>) -> Result<ExitCode, Stop> {
        let format = output::format(&self.look)?;
        let origin = self.label.origin()?;
        let now = jiff::Timestamp::now();
        let path = self.output.as_deref();
        let target = path.map(|path| Target::choose(Some(path), &now)).transpose()?;
        let started_ns = worker::start(&measure::interrupts()?)?;
        let found = findings::SLOW_START.is_passed(started_ns as f64);
        let found = found.then(|| findings::SLOW_START.measured(started_ns as f64, &[]));
        let document = Noop {
            schema: NOOP_SCHEMA.to_owned(),
            origin,
            started_utc: now.strftime("%Y-%m-%dT%H:%M:%SZ").to_string(),
            started_ns,
            findings: found.into_iter().collect(),
        };
        let style = output::style(&self.look, false);
        let publication = Publication {
            name: "Noop",
            document: &document,
            target: target.as_ref(),
            quiet: self.progress.quiet,
            screen: Some(Show::new(format, &style)),
        };
        publication.publish(|| ())?;
        Ok(ExitCode::SUCCESS)
    }
}

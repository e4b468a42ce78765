//! `history`: the results saved with `--keep`.

use crate::args::LookArgs;
use crate::compare::arm;
use crate::error::{Stop, unknown};
use crate::kept::{Archive, Index, SIGN};
use crate::report::ReportArgs;
use crate::{output, report, request};
use ipcperf_engine::registry::Registry;
use ipcperf_report::{CellFigure, Kept, trend};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

pub(crate) const EXAMPLES: &str = "Examples:
  ipcperf run -m pipe --keep nightly        keeps a result
  ipcperf history
  ipcperf history trend 'pipe same-cpu' @nightly
  ipcperf compare @nightly~1 @nightly";

/// What to do with saved results.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct HistoryArgs {
    #[command(subcommand)]
    pub(crate) command: Option<HistoryCommand>,
}

#[derive(Clone, Debug, clap::Subcommand)]
pub(crate) enum HistoryCommand {
    /// List saved results, latest first (the default)
    List {
        /// List only results saved under this name
        #[arg(value_name = "@NAME")]
        name: Option<String>,
        #[command(flatten)]
        look: LookArgs,
    },
    /// Show a saved result, like 'ipcperf report'
    Show(ReportArgs),
    /// Show one measurement over time, with what changed in between, such as the kernel or microcode
    Trend {
        /// The cell, as results name it ('pipe ping-pong 64B same-cpu') or as for 'compare --live' ('pipe same-cpu')
        #[arg(value_name = "CELL")]
        cell: String,
        /// Use only results saved under this name
        #[arg(value_name = "@NAME")]
        name: Option<String>,
        /// Write to this file instead of standard output; its extension sets the format: .txt, .md, .csv, .json,
        /// .ndjson, .html
        #[arg(short, long, value_name = "FILE")]
        output: Option<PathBuf>,
        #[command(flatten)]
        look: LookArgs,
    },
    /// Delete saved results
    Rm {
        /// The results: @nightly is the latest of that name, @nightly~1 the one before it
        #[arg(value_name = "@NAME", required = true)]
        names: Vec<String>,
        /// Delete all results saved under these names
        #[arg(long)]
        all: bool,
    },
}

pub(crate) fn run(registry: &Registry, command: Option<HistoryCommand>) -> Result<ExitCode, Stop> {
    let Some(command) = command else { return list(None, &LookArgs::default()) };
    match command {
        HistoryCommand::List { name, look } => list(name.as_deref(), &look),
        HistoryCommand::Show(mut args) => {
            for file in &mut args.files {
                if let Some(word) = file.to_str().filter(|word| !word.starts_with(SIGN)) {
                    *file = format!("{SIGN}{word}").into();
                }
            }
            report::run(registry, &args)
        }
        HistoryCommand::Trend { cell, name, output, look } => {
            follow(registry, &cell, name.as_deref(), (output.as_deref(), &look))
        }
        HistoryCommand::Rm { names, all } => {
            let removed = Archive::open()?.remove(&names, all)?;
            output::lines(removed.iter().map(|name| format!("removed {name}")))
        }
    }
}

/// What is of this name: `@nightly`, `@nightly~1`, ...
fn is_of(kept: &Kept, name: Option<&str>) -> bool {
    name.is_none_or(|name| {
        let series = kept.name.split('~').next().unwrap_or_default();
        series.trim_start_matches(SIGN) == name.trim_start_matches(SIGN)
    })
}

/// What is kept, and its index. A name that nothing has is refused.
fn open(name: Option<&str>) -> Result<(Archive, Index), Stop> {
    let archive = Archive::open()?;
    name.map_or(Ok(()), |name| archive.knows(name))?;
    let index = Index::of(&archive);
    Ok((archive, index))
}

fn list(name: Option<&str>, look: &LookArgs) -> Result<ExitCode, Stop> {
    let format = output::format(look)?;
    let (archive, index) = open(name)?;
    let shown: Vec<Kept> =
        index.documents().rev().filter(|kept| is_of(kept, name)).cloned().collect();
    let (place, style) = (archive.place(), output::style(look, false));
    output::put(None, |out| ipcperf_report::kept(&shown, &place, format, &style, out))
}

fn follow(
    registry: &Registry,
    cell: &str,
    name: Option<&str>,
    (file, look): (Option<&Path>, &LookArgs),
) -> Result<ExitCode, Stop> {
    let format = output::format_of(look, file)?;
    let (_, index) = open(name)?;
    let mut found = cells(registry, &index, cell)?;
    if found.len() > 1 && !format.is_text() {
        return Err(Stop::usage(format!(
            "'{cell}' means {} cells, and {format} shows one; name one of them",
            found.len()
        )));
    }
    let mut trends = Vec::new();
    for (cell, documents) in &mut found {
        documents.retain(|(kept, _)| is_of(kept, name));
        if documents.is_empty() {
            let name = name.unwrap_or_default();
            return Err(Stop::usage(format!(
                "no document of the name '{name}' has the cell '{cell}'"
            )));
        }
        trends.push(trend(cell, std::mem::take(documents)));
    }
    let style = output::style(look, file.is_some());
    output::put(file, |out| {
        trends.iter().enumerate().try_for_each(|(at, trend)| {
            if at > 0 {
                writeln!(out)?;
            }
            trend.render(format, &style, out)
        })
    })
}

/// A cell, and the documents that have it.
type Found = (String, Vec<(Kept, CellFigure)>);

/// The cells that these words mean: as a document names one, whatever this build knows, or as a cell is typed.
fn cells(registry: &Registry, index: &Index, words: &str) -> Result<Vec<Found>, Stop> {
    let documents = index.with(words);
    if !documents.is_empty() {
        return Ok(vec![(words.to_owned(), documents)]);
    }
    let host = request::host()?;
    let planned = arm::cells(registry, &host, words, None)?;
    // As documents name them.
    let ids = planned.into_iter().map(|cell| output::without_home(&cell.id));
    let found = ids.map(|id| match index.with(&id) {
        documents if documents.is_empty() => {
            let known = index.cells();
            let listed = "no saved result has it";
            Err(unknown("cell", &id, known.iter().map(String::as_str), listed))
        }
        documents => Ok((id, documents)),
    });
    found.collect()
}

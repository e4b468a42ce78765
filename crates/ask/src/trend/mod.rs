//! `trend`: cells over results that were made at different times.

pub(crate) mod screen;

use crate::compare::arm;
use crate::files::{FilesArgs, FilesRead, Listed};
use crate::trend::screen::{CellFigure, CellFigures, DatedResult, Trend, figures_of, trend};
use ipcperf_engine::registry::Registry;
use ipcperf_kit::args::LookArgs;
use ipcperf_kit::command::{CommandArgs, CommandGroup, Context};
use ipcperf_kit::error::{Stop, unknown};
use ipcperf_kit::paths_in_text;
use ipcperf_kit::{output, reading, request};
use std::collections::BTreeSet;
use std::path::PathBuf;
use std::process::ExitCode;

#[derive(Clone, Debug, clap::Args)]
pub(crate) struct TrendArgs {
    #[command(flatten)]
    files: FilesArgs,
    /// Only this cell (repeatable), as results name it ('pipe ping-pong 64B same-cpu') or as for 'compare --live' ('pipe
    /// same-cpu') [default: every cell]
    #[arg(long, value_name = "CELL")]
    cell: Vec<String>,
    /// Write to this file instead of standard output; its extension sets the format: .txt, .md, .csv, .json, .ndjson,
    /// .html
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    #[command(flatten)]
    look: LookArgs,
}

impl CommandArgs for TrendArgs {
    const NAME: &'static str = "trend";
    const GROUP: CommandGroup = CommandGroup::Results;
    const ABOUT: &'static str = "Show what changed over time: cells over many results, with changes of kernel, microcode and settings";
    const EXAMPLES: &'static str = "Examples:
  ipcperf trend results                                   what changed last, of every cell
  ipcperf trend nightly-*.json --cell 'pipe same-cpu'     one cell with its chart
  ipcperf trend nightly-*.json --cell 'pipe same-cpu' -o trend.html

Results are put in the order of their start. Results of other machines are named and not compared, and neither are values \
that only the screen of a survey has measured.";

    fn run(&self, context: &Context<'_>) -> Result<ExitCode, Stop> {
        run(context, self)
    }
}

fn run(context: &Context<'_>, args: &TrendArgs) -> Result<ExitCode, Stop> {
    let file = args.output.as_deref();
    let format = output::format_of(&args.look, file)?;
    let listed = args.files.list()?;
    if let Some(file) = file {
        output::spares(file, &listed.files)?;
    }
    let (mut documents, code) = match listed.files.as_slice() {
        [file] => {
            let name = paths_in_text::without_home(&file.display().to_string());
            let one = figures_of(name, &reading::read_result(file)?);
            (vec![one], listed.end(ExitCode::SUCCESS))
        }
        _ => read(context, listed)?,
    };
    documents.sort_by(|(a, _), (b, _)| a.started_utc.cmp(&b.started_utc));
    let cells = cells(context.registry, &args.cell, &documents)?;
    let newest = documents.last().map_or("", |(result, _)| result.started_utc.as_str());
    let trends: Vec<Trend> =
        cells.iter().map(|cell| trend(cell, having(&documents, cell), newest)).collect();
    let style = output::style(&args.look, file.is_some());
    output::put(file, |out| crate::trend::screen::trends(&trends, format, &style, out))
        .map(|_| code)
}

/// What the results among several files say, and how the program ends if some are none.
fn read(
    context: &Context<'_>,
    Listed { files, others }: Listed,
) -> Result<(Vec<(DatedResult, CellFigures)>, ExitCode), Stop> {
    let mut reading = FilesRead::new(context.commands, others);
    let load = |text: &str| reading::load(text).map_err(|why| why.to_string());
    let sets = files.iter().filter_map(|file| reading.one(file, load));
    let documents = sets.map(|(name, set)| figures_of(name, &set)).collect();
    Ok((documents, reading.end()?))
}

/// The results that have a cell, with its figure.
fn having(documents: &[(DatedResult, CellFigures)], cell: &str) -> Vec<(DatedResult, CellFigure)> {
    let has = |(document, cells): &(DatedResult, CellFigures)| {
        Some((document.clone(), cells.get(cell)?.clone()))
    };
    documents.iter().filter_map(has).collect()
}

/// The cells that these words mean, or all: as a result names one, whether or not this build knows it, or as a cell is typed.
fn cells(
    registry: &Registry,
    asked: &[String],
    documents: &[(DatedResult, CellFigures)],
) -> Result<BTreeSet<String>, Stop> {
    let known: BTreeSet<&String> = documents.iter().flat_map(|(_, cells)| cells.keys()).collect();
    if asked.is_empty() {
        return Ok(known.into_iter().cloned().collect());
    }
    let host = request::host()?;
    let mut found = BTreeSet::new();
    for words in asked {
        if known.contains(words) {
            found.insert(words.clone());
            continue;
        }
        for cell in arm::cells(registry, &host, words, None)? {
            // As documents name it.
            let id = paths_in_text::without_home(&cell.id);
            if !known.contains(&id) {
                let names = known.iter().map(|name| name.as_str());
                return Err(unknown("cell", &id, names, "no result has it"));
            }
            found.insert(id);
        }
    }
    Ok(found)
}

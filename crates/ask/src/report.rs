//! `report`: shows a result file again.

use crate::args::OnlyArgs;
use crate::compare::screen::before_and_after;
use crate::files::{FilesArgs, FilesRead, Listed};
use crate::fleet::{HostResult, fleet_doc};
use crate::only;
use crate::results::csv::Rows;
use crate::results::document::ResultDocument;
use crate::results::words;
use ipcperf_core::result::ResultSet;
use ipcperf_judge::{Terms, compare_files, once, run_key};
use ipcperf_kit::args::{LookArgs, TableArgs};
use ipcperf_kit::command::{CommandArgs, CommandGroup, Context, screens};
use ipcperf_kit::document::{Document, Show};
use ipcperf_kit::error::{Stop, note};
use ipcperf_kit::reading;
use ipcperf_kit::reading::{
    beginning_of, cast, cast_mut, read_result, recorded, refused, same, text_of,
};
use ipcperf_kit::word::Word;
use ipcperf_kit::{output, request};
use ipcperf_render::text::clean;
use ipcperf_render::{Format, Style};
use ipcperf_stats::MARGIN;
use std::collections::HashMap;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

#[derive(Clone, Debug, clap::Args)]
pub(crate) struct ReportArgs {
    #[command(flatten)]
    pub(crate) files: FilesArgs,
    /// What a row of CSV stands for [default: cells]
    #[arg(long, value_enum)]
    pub(crate) rows: Option<RowChoice>,
    /// For a replication: also redraw the original's charts, with the values measured here, into this folder (SVG)
    #[arg(long, value_name = "DIR")]
    pub(crate) plots: Option<PathBuf>,
    /// Write to this file instead of standard output; its extension sets the format: .txt, .md, .csv, .json, .ndjson,
    /// .html
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) look: LookArgs,
    #[command(flatten)]
    pub(crate) tables: TableArgs,
    #[command(flatten)]
    pub(crate) only: OnlyArgs,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum RowChoice {
    /// A cell, summarised over its rounds
    Cells,
    /// One round of a cell
    Rounds,
    /// One document
    Runs,
}

impl CommandArgs for ReportArgs {
    const NAME: &'static str = "report";
    const GROUP: CommandGroup = CommandGroup::Results;
    const ABOUT: &'static str = "Show a result file in any format";
    const WORDS: fn() -> &'static [Word] = words::all;
    const EXAMPLES: &'static str = "Examples:
  ipcperf report ipcperf-20261122T060000Z.json --full
  ipcperf report ipcperf-20261122T060000Z.json -m 'pipe/*,unix-stream' --place same-cpu --top 5
  ipcperf report ipcperf-20261122T060000Z.json --format csv -o cells.csv

Several results are shown one after another; as csv they make one table. As html two make a page of before and after, and \
more a page of hosts by CPU and kernel.";

    fn run(&self, context: &Context<'_>) -> Result<ExitCode, Stop> {
        run(context, self)
    }
}

fn run(context: &Context<'_>, args: &ReportArgs) -> Result<ExitCode, Stop> {
    let format = output::format_of(&args.look, args.output.as_deref())?;
    let listed = args.files.list()?;
    if let Some(target) = &args.output {
        output::spares(target, &listed.files)?;
    }
    match args.only.top {
        Some(0) => return Err(Stop::usage("--top must be at least 1")),
        Some(_) if !format.is_text() => {
            return Err(Stop::usage(format!(
                "--top is for table and markdown: {format} has all rows, and -m, -p, -s and --place choose among them"
            )));
        }
        _ => {}
    }
    if args.plots.is_some() && (args.rows.is_some() || listed.files.len() != 1) {
        return Err(Stop::usage("--plots takes one file, a replication, and no --rows"));
    }
    let style = output::table_style(&args.look, &args.tables, args.output.is_some());
    let show = Chosen { context, args, format, style };
    let file = match listed.files.as_slice() {
        [file] if args.rows.is_none() => file,
        [before, after] if format.is_browsed() && args.rows.is_none() => {
            let code = show.both([before, after])?;
            return Ok(listed.end(code));
        }
        [_, _, _, ..] if format.is_browsed() && args.rows.is_none() => return show.hosts(listed),
        _ if format == Format::Table && args.rows.is_none() => return show.all(listed),
        _ => return show.rows(listed),
    };
    let document =
        reading::read(context.commands, &text_of(file)?).map_err(|error| refused(file, &error))?;
    let document = show.chosen(document)?;
    let code = output::put(args.output.as_deref(), |out| show.write(&*document, out))?;
    Ok(listed.end(code))
}

/// How documents are shown, and what of them.
struct Chosen<'a> {
    context: &'a Context<'a>,
    args: &'a ReportArgs,
    format: Format,
    style: Style,
}

impl Chosen<'_> {
    /// The cells that were asked for, with the pictures of a replication.
    fn chosen(&self, mut document: Box<dyn Document>) -> Result<Box<dyn Document>, Stop> {
        if let Some(folder) = &self.args.plots {
            let no_figures = || Stop::usage("--plots: only a replication has figures to draw");
            let pictures = document.pictures().ok_or_else(no_figures)?;
            output::folder("--plots", folder)?;
            output::pictures(folder, &pictures)?;
        } else if let Some(ResultDocument(set)) = cast_mut(&mut *document) {
            only::keep(self.context.registry, set, &self.args.only)?;
        }
        Ok(document)
    }

    fn write(&self, document: &dyn Document, out: &mut dyn Write) -> io::Result<()> {
        let Self { context, args, format, style } = self;
        let top = args.only.top;
        let full =
            style.full || (cast::<ResultDocument>(document).is_some() && only::is_some(&args.only));
        let style = Style { full, top, ..*style };
        let pictures = args.plots.as_ref().map(|folder| folder.to_string_lossy());
        let specs = request::specs(context.registry);
        let screens = screens(context.commands);
        let show = Show {
            specs: &specs,
            screens: &screens,
            pictures: pictures.as_deref(),
            ..Show::new(*format, &style)
        };
        document.show(&show, out)
    }

    /// The cells of a result that were asked for.
    fn kept(&self, mut set: ResultSet) -> Result<ResultSet, Stop> {
        only::keep(self.context.registry, &mut set, &self.args.only)?;
        Ok(set)
    }

    /// Writes what is made of several files while they are read: thousands do not fit into memory. Nothing is written where
    /// none is a result.
    fn streamed(
        &self,
        others: Vec<String>,
        write: impl FnOnce(&mut FilesRead<'_>, &mut dyn Write) -> Result<io::Result<()>, Stop>,
    ) -> Result<ExitCode, Stop> {
        let mut reading = FilesRead::new(self.context.commands, others);
        let mut stopped = None;
        let put = output::put(self.args.output.as_deref(), |out| match write(&mut reading, out) {
            Ok(written) if reading.count > 0 => written,
            Ok(_) => Err(io::Error::other("no result")),
            Err(stop) => {
                stopped = Some(stop);
                Err(io::Error::other("stopped"))
            }
        });
        if let Some(stop) = stopped {
            return Err(stop);
        }
        let code = reading.end()?;
        put.map(|_| code)
    }

    /// Several documents below each other, each under its name.
    fn all(&self, Listed { files, others }: Listed) -> Result<ExitCode, Stop> {
        self.streamed(others, |reading, out| {
            let mut before = "";
            for path in &files {
                let read = |text: &str| {
                    reading::read(self.context.commands, text).map_err(|why| why.to_string())
                };
                let Some((name, document)) = reading.one(path, read) else { continue };
                let document = self.chosen(document)?;
                let written = writeln!(out, "{before}==> {} <==", clean(&name, self.style.unicode))
                    .and_then(|()| self.write(&*document, out));
                if written.is_err() {
                    return Ok(written);
                }
                before = "\n\n";
            }
            Ok(Ok(()))
        })
    }

    /// The cells of results of any machines, or the rounds of their cells, in one table.
    fn rows(&self, listed: Listed) -> Result<ExitCode, Stop> {
        let Self { args, format, .. } = self;
        if *format != Format::Csv {
            return Err(Stop::usage(match args.rows {
                Some(_) => "--rows is for CSV: add --format csv, or -o FILE.csv",
                None => {
                    "several results become one CSV table or one page: add --format csv or html, or name the file so with \
                 -o; as tables they are shown below each other"
                }
            }));
        }
        let rows = match args.rows {
            Some(RowChoice::Rounds) => Rows::Rounds,
            Some(RowChoice::Runs) => Rows::Runs,
            Some(RowChoice::Cells) | None => Rows::Cells,
        };
        let specs = request::specs(self.context.registry);
        if let [path] = listed.files.as_slice() {
            // Of one file it is an error.
            let shown = path.display();
            let set = with_rows(read_result(path)?, args.rows);
            let set = self.kept(set.map_err(|why| Stop::usage(format!("'{shown}': {why}")))?)?;
            let code = output::put(args.output.as_deref(), |out| {
                rows.head(out)?;
                rows.write(&set, &specs, out)
            })?;
            return Ok(listed.end(code));
        }
        let read = |text: &str| with_rows(result_of(text)?, args.rows);
        let Listed { files, others } = listed;
        self.streamed(others, |reading, out| {
            let mut is_begun = false;
            for together in runs(&files) {
                let given = together.iter().filter_map(|path| reading.one(path, read)).collect();
                let (kept, told) = once(given);
                told.iter().for_each(|words| note(words));
                for (_, set) in kept {
                    let set = self.kept(set)?;
                    let head = if is_begun { Ok(()) } else { rows.head(out) };
                    is_begun = true;
                    let written = head.and_then(|()| rows.write(&set, &specs, out));
                    if written.is_err() {
                        return Ok(written);
                    }
                }
            }
            Ok(Ok(()))
        })
    }

    /// More than two results on one page: hosts by CPU and kernel, and those that are slow for them.
    fn hosts(&self, Listed { files, others }: Listed) -> Result<ExitCode, Stop> {
        self.streamed(others, |reading, out| {
            let mut results = Vec::new();
            for path in &files {
                let Some((name, set)) = reading.one(path, result_of) else { continue };
                results.push(HostResult::of(&name, &self.kept(set)?));
            }
            let is_one = results.len() > 1 && results.windows(2).all(|two| two[0].is_of(&two[1]));
            if is_one {
                return Err(Stop::usage(format!(
                    "all {} results are of one host: ipcperf trend shows one host over time",
                    results.len()
                )));
            }
            let style = Style::default().within(self.format);
            Ok(fleet_doc(results).write(self.format, &style, out))
        })
    }

    /// Two runs on one page: what the second is beside the first, as `compare` says it, and all of the second.
    fn both(&self, [before, after]: [&PathBuf; 2]) -> Result<ExitCode, Stop> {
        let Self { context, args, format, .. } = self;
        let terms = Terms { margin: MARGIN, ..Terms::default() };
        let (a, b) = ([recorded(before)?], [recorded(after)?]);
        same(&a, &b).iter().for_each(|words| note(words));
        let document = compare_files(&a, &b, &terms);
        let document = document.map_err(Stop::incomparable)?;
        let set = self.kept(read_result(after)?)?;
        output::put(args.output.as_deref(), |out| {
            let style = Style::default();
            let (specs, screens) = (request::specs(context.registry), screens(context.commands));
            let show = Show { specs: &specs, screens: &screens, ..Show::new(*format, &style) };
            before_and_after(&document, &set, &show, out)
        })
    }
}

fn result_of(text: &str) -> Result<ResultSet, String> {
    ipcperf_judge::load(text).map_err(|why| why.to_string())
}

/// How much of a file says which run it is of.
const HEAD: u64 = 1 << 16;

/// The files with those together that may be of one run, which must be held beside each other. What can be read only once
/// is by itself.
fn runs(files: &[PathBuf]) -> Vec<Vec<&Path>> {
    let mut together: Vec<Vec<&Path>> = Vec::new();
    let mut places = HashMap::new();
    for path in files {
        let key = path.is_file().then(|| beginning_of(path, HEAD).ok()).flatten();
        let next = together.len();
        let key = key.and_then(|text| run_key(&text));
        let place = key.map_or(next, |key| *places.entry(key).or_insert(next));
        if place == next {
            together.push(Vec::new());
        }
        together[place].push(path);
    }
    together
}

fn with_rows(set: ResultSet, rows: Option<RowChoice>) -> Result<ResultSet, String> {
    match rows == Some(RowChoice::Runs) || set.pipelines.is_empty() || !set.cells.is_empty() {
        true => Ok(set),
        false => Err("it has programs, and only cells have rows".to_owned()),
    }
}

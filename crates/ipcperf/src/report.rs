//! `report`: shows a result file again.

use crate::args::{ReportArgs, RowChoice};
use crate::error::Stop;
use crate::{kept, measure, only, output, request};
use ipcperf_core::result::{Replication, ResultSet};
use ipcperf_engine::registry::Registry;
use ipcperf_report::{Format, LoadError, Recorded, Rows, Specs, Style, Terms, compare_files};
use ipcperf_stats::MARGIN;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Reads the text of a document; '-' is standard input, and `@NAME` one that is kept.
fn text_of(path: &Path) -> Result<String, Stop> {
    let shown = path.display();
    let failed = |error: std::io::Error| {
        Stop::usage(format!("cannot read '{shown}': {}", output::words(&error)))
    };
    let mut bytes = Vec::new();
    let source: Box<dyn Read> = match kept::named(path) {
        Some(file) => Box::new(file?),
        None if path.as_os_str() == "-" => Box::new(std::io::stdin().lock()),
        None => Box::new(std::fs::File::open(path).map_err(failed)?),
    };
    source.take(output::MOST + 1).read_to_end(&mut bytes).map_err(failed)?;
    if bytes.len() as u64 > output::MOST {
        return Err(Stop::usage(format!("cannot read '{shown}': larger than 256 MiB")));
    }
    Ok(String::from_utf8(bytes)
        .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned()))
}

/// Why a document is refused.
fn refused(path: &Path, error: &LoadError) -> Stop {
    let shown = path.display();
    match error {
        LoadError::Schema(_) => Stop::incomparable(format!("'{shown}': {error}")),
        _ => Stop::usage(format!("'{shown}': {error}")),
    }
}

/// Reads a replication.
pub(crate) fn read_replication(path: &Path) -> Result<Replication, Stop> {
    let text = text_of(path)?;
    if !ipcperf_report::is_replication(&text) {
        let shown = path.display();
        return Err(Stop::incomparable(format!("'{shown}': no result of 'ipcperf replicate'")));
    }
    ipcperf_report::load_replication(&text).map_err(|error| refused(path, &error))
}

/// Reads a result document.
pub(crate) fn read_result(path: &Path) -> Result<ResultSet, Stop> {
    ipcperf_report::load(&text_of(path)?).map_err(|error| refused(path, &error))
}

/// Reads a result document with the name of its file, both without the home directory, which older ones have.
pub(crate) fn recorded(path: &Path) -> Result<Recorded, Stop> {
    let name = output::without_home(&path.display().to_string());
    let text = text_of(path)?;
    let text = measure::without_home(&text).unwrap_or(text);
    Recorded::read(name, &text).map_err(|error| refused(path, &error))
}

pub(crate) fn run(registry: &Registry, args: &ReportArgs) -> Result<ExitCode, Stop> {
    let format = output::format_of(&args.look, args.output.as_deref())?;
    let is_target =
        |file: &&PathBuf| args.output.as_ref().is_some_and(|to| output::is_same_file(file, to));
    if let Some(file) = args.files.iter().find(is_target) {
        let shown = file.display();
        return Err(Stop::usage(format!(
            "'{shown}' is read, and -o would replace it; name another"
        )));
    }
    match args.only.top {
        Some(0) => return Err(Stop::usage("--top: 0 rows are nothing to show; 1 is the least")),
        Some(_) if !matches!(format, Format::Table | Format::Markdown) => {
            return Err(Stop::usage(format!(
                "--top is for table and markdown: {format} has all rows, and -m, -p, -s and --place choose among them"
            )));
        }
        _ => {}
    }
    let specs = request::specs(registry);
    let file = match args.files.as_slice() {
        [file] if args.rows.is_none() => file,
        [before, after] if format == Format::Html && args.rows.is_none() => {
            return both(args, [before, after], &specs);
        }
        _ => return rows(args, format),
    };
    let text = text_of(file)?;
    let refused = |error: LoadError| refused(file, &error);
    let style = output::table_style(&args.look, &args.tables, args.output.is_some());
    if ipcperf_report::is_replication(&text) {
        let document = ipcperf_report::load_replication(&text).map_err(refused)?;
        if let Some(folder) = &args.plots {
            output::folder("--plots", folder)?;
            output::pictures(folder, &document)?;
        }
        let pictures = args.plots.as_ref().map(|folder| folder.to_string_lossy());
        return output::put(args.output.as_deref(), |out| {
            ipcperf_report::replication(&document, format, &style, pictures.as_deref(), out)
        });
    }
    if args.plots.is_some() {
        return Err(Stop::usage("--plots: only a replication has figures to draw"));
    }
    if ipcperf_report::is_comparison(&text) {
        let document = ipcperf_report::load_comparison(&text).map_err(refused)?;
        return output::put(args.output.as_deref(), |out| {
            ipcperf_report::comparison(&document, format, &style, out)
        });
    }
    let mut set = ipcperf_report::load(&text).map_err(refused)?;
    drop(text);
    only::keep(&mut set, &args.only)?;
    let full = style.full || only::is_some(&args.only);
    let style = Style { full, top: args.only.top, ..style };
    output::put(args.output.as_deref(), |out| {
        ipcperf_report::render(&set, &specs, format, &style, out)?;
        match format {
            Format::Table if full => ipcperf_report::bars(&set, &style, out),
            _ => Ok(()),
        }
    })
}

/// The cells of results of any machines, or the rounds of their cells, in one table.
fn rows(args: &ReportArgs, format: Format) -> Result<ExitCode, Stop> {
    if format != Format::Csv {
        return Err(Stop::usage(match args.rows {
            Some(_) => "--rows is for CSV: add --format csv, or -o FILE.csv",
            None => {
                "several results become one CSV table, or two a page of before and after: add --format csv or html, \
                 or name the file so with -o"
            }
        }));
    }
    if args.plots.is_some() {
        return Err(Stop::usage("--plots: only a replication has figures to draw"));
    }
    let mut sets = Vec::new();
    for path in &args.files {
        let mut set = read_result(path)?;
        if set.cells.is_empty() && !set.pipelines.is_empty() {
            let shown = path.display();
            return Err(Stop::usage(format!("'{shown}' has programs, and only cells have rows")));
        }
        only::keep(&mut set, &args.only)?;
        sets.push(set);
    }
    let rows = match args.rows {
        Some(RowChoice::Rounds) => Rows::Rounds,
        Some(RowChoice::Cells) | None => Rows::Cells,
    };
    output::put(args.output.as_deref(), |out| ipcperf_report::rows(&sets, rows, out))
}

/// Two runs on one page: what the second is beside the first, as `compare` says it, and all of the second.
fn both(args: &ReportArgs, files: [&PathBuf; 2], specs: &Specs) -> Result<ExitCode, Stop> {
    let [before, after] = files;
    let terms = Terms { margin: MARGIN, ..Terms::default() };
    let document = compare_files(&[recorded(before)?], &[recorded(after)?], &terms);
    let document = document.map_err(Stop::incomparable)?;
    let mut set = read_result(after)?;
    only::keep(&mut set, &args.only)?;
    output::put(args.output.as_deref(), |out| {
        ipcperf_report::before_and_after(&document, &set, specs, out)
    })
}

//! Where bytes go: standard output, and files that appear whole or not at all.

use crate::args::{ColorChoice, LookArgs};
use crate::error::{Stop, unknown};
use ipcperf_core::result::{Replication, ResultSet};
use ipcperf_report::{Format, Style};
use ipcperf_sys::file::WholeFile;
use ipcperf_sys::terminal;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Writes to standard output. A reader that has gone away (`| head -1`) wanted no more: that is no error.
pub(crate) fn to_stdout(bytes: &[u8]) -> Result<ExitCode, Stop> {
    let mut out = io::stdout().lock();
    match out.write_all(bytes).and_then(|()| out.flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            Err(Stop::internal(format!("standard output: {error}")))
        }
        _ => Ok(ExitCode::SUCCESS),
    }
}

/// Prints lines, whatever they quote.
pub(crate) fn lines(lines: impl IntoIterator<Item = String>) -> Result<ExitCode, Stop> {
    let text: String =
        lines.into_iter().map(|line| ipcperf_report::clean(&line, true) + "\n").collect();
    to_stdout(text.as_bytes())
}

/// The format asked for.
pub(crate) fn format(look: &LookArgs) -> Result<Format, Stop> {
    let Some(given) = &look.format else { return Ok(Format::Table) };
    given.parse().map_err(|error: ipcperf_core::UnknownName| {
        unknown(
            "format",
            given,
            error.known.iter().copied(),
            "known: table, markdown, csv, json, ndjson, html",
        )
    })
}

/// The format of what is no result, and has no page.
pub(crate) fn text_format(look: &LookArgs) -> Result<Format, Stop> {
    match format(look)? {
        Format::Html => Err(Stop::usage(
            "--format html: pages are made of results, replications and comparisons; known here: table, markdown, csv, json, ndjson",
        )),
        format => Ok(format),
    }
}

/// Widths that `COLUMNS` may ask for.
const WIDTHS: std::ops::RangeInclusive<usize> = 20..=1000;

/// The style of text for people.
pub(crate) fn style(look: &LookArgs, to_file: bool) -> Style {
    let variable = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
    let width = if to_file { None } else { terminal::stdout_width() };
    let terminal = width.is_some();
    // What a shell exports for those whose standard output is no terminal.
    let columns = variable("COLUMNS").and_then(|text| text.parse().ok());
    let columns = columns.filter(|columns| !to_file && WIDTHS.contains(columns));
    let locale = ["LC_ALL", "LC_CTYPE", "LANG"].into_iter().find_map(variable).unwrap_or_default();
    let color = match look.color {
        ColorChoice::Always => true,
        ColorChoice::Never => false,
        ColorChoice::Auto => {
            terminal
                && variable("NO_COLOR").is_none()
                && variable("TERM").is_some_and(|term| term != "dumb")
        }
    };
    Style {
        width: width.or(columns).unwrap_or(80),
        color,
        unicode: terminal && locale.to_ascii_lowercase().replace('-', "").contains("utf8"),
        versus_bound: look.versus_bound,
        verbose: look.verbose,
        full: look.full,
        top: None,
    }
}

/// Where the result document goes.
#[derive(Debug)]
pub(crate) enum Target {
    /// To standard output, instead of a table.
    Stdout,
    /// To a file, replacing what is there.
    File(PathBuf),
    /// To `STEM.json` in the current directory, or the first `STEM-N.json` that nobody has.
    Fresh(String),
}

impl Target {
    /// Decides, and fails now rather than after a minute of measuring if it cannot be written.
    pub(crate) fn choose(output: Option<&Path>, started: &jiff::Timestamp) -> Result<Self, Stop> {
        let target = match output {
            Some(path) if path.as_os_str() == "-" => return Ok(Self::Stdout),
            Some(path) => Self::File(path.to_owned()),
            None => Self::Fresh(format!("ipcperf-{}", started.strftime("%Y%m%dT%H%M%SZ"))),
        };
        let path = target.first_name();
        WholeFile::check(&path).map_err(|error| refused(&path, &error))?;
        Ok(target)
    }

    /// Where it will go, for a plan.
    pub(crate) fn planned(output: Option<&Path>) -> String {
        match output {
            None => "ipcperf-UTC.json".into(),
            Some(path) if path.as_os_str() == "-" => "standard output".into(),
            Some(path) if path.exists() => format!("{} (replaces what is there)", path.display()),
            Some(path) => path.display().to_string(),
        }
    }

    fn first_name(&self) -> PathBuf {
        match self {
            Self::Stdout => PathBuf::from("-"),
            Self::File(path) => path.clone(),
            Self::Fresh(stem) => PathBuf::from(format!("{stem}.json")),
        }
    }

    /// Writes the file and says where it is.
    pub(crate) fn write(
        &self,
        fill: impl FnOnce(&mut dyn Write) -> io::Result<()>,
    ) -> Result<PathBuf, Stop> {
        let first = self.first_name();
        let Self::Fresh(stem) = self else {
            return to_file(&first, fill).map(|()| first);
        };
        let file = filled(&first, fill)?;
        let more = (2..10_000).map(|number| format!("{stem}-{number}.json"));
        file.publish_new(std::iter::once(format!("{stem}.json")).chain(more))
            .map(PathBuf::from)
            .map_err(|error| cannot_write(&first, &error))
    }
}

fn refused(path: &Path, error: &io::Error) -> Stop {
    let (shown, why) = (path.display(), words(error));
    Stop::usage(format!("cannot write '{shown}': {why}; name another file with -o"))
}

/// An error without the number behind it.
pub(crate) fn words(error: &io::Error) -> String {
    error.raw_os_error().map_or_else(|| error.to_string(), ipcperf_core::errno::text)
}

fn cannot_write(path: &Path, error: &io::Error) -> Stop {
    Stop::internal(format!("cannot write '{}': {}", path.display(), words(error)))
}

fn filled(
    path: &Path,
    fill: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> Result<WholeFile, Stop> {
    let file = WholeFile::start(path).map_err(|error| refused(path, &error))?;
    let mut file = io::BufWriter::new(file);
    fill(&mut file).map_err(|error| cannot_write(path, &error))?;
    file.into_inner().map_err(|error| cannot_write(path, error.error()))
}

/// Writes bytes to a file that appears whole.
pub(crate) fn to_file(
    path: &Path,
    fill: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> Result<(), Stop> {
    filled(path, fill)?.publish().map_err(|error| cannot_write(path, &error))
}

/// Writes bytes to a file here that nobody has yet.
pub(crate) fn to_new_file(
    name: &str,
    fill: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> Result<(), Stop> {
    let path = Path::new(name);
    match filled(path, fill)?.publish_new([name.to_owned()]) {
        Ok(_) => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            Err(Stop::usage(format!("'{name}' is here already; name another file with -o")))
        }
        Err(error) => Err(cannot_write(path, &error)),
    }
}

/// Makes a folder now rather than after all measuring, if it cannot be made.
pub(crate) fn folder(flag: &str, path: &Path) -> Result<(), Stop> {
    std::fs::create_dir_all(path).map_err(|error| {
        let shown = path.display();
        Stop::usage(format!("{flag}: cannot make the folder '{shown}': {}", words(&error)))
    })
}

/// Writes pictures into a folder that is there.
pub(crate) fn pictures(path: &Path, document: &Replication) -> Result<(), Stop> {
    for (name, text) in ipcperf_report::plots(document) {
        to_file(&path.join(name), |out| out.write_all(text.as_bytes()))?;
    }
    Ok(())
}

/// Writes the document.
pub(crate) fn document(set: &ResultSet, out: &mut dyn Write) -> io::Result<()> {
    ipcperf_report::render(set, &|_| None, Format::Json, &Style::default(), out)
}

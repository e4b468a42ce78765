//! Where bytes go: standard output, and files that appear whole or not at all.

use crate::args::{ColorChoice, LookArgs};
use crate::error::{Stop, unknown};
use ipcperf_core::result::ResultSet;
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

/// The format asked for.
pub(crate) fn format(look: &LookArgs) -> Result<Format, Stop> {
    let Some(given) = &look.format else { return Ok(Format::Table) };
    given.parse().map_err(|error: ipcperf_core::UnknownName| {
        unknown(
            "format",
            given,
            error.known.iter().copied(),
            "known: table, markdown, csv, json, ndjson",
        )
    })
}

/// The style of text for people.
pub(crate) fn style(look: &LookArgs, to_file: bool) -> Style {
    let variable = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
    let width = if to_file { None } else { terminal::stdout_width() };
    let terminal = width.is_some();
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
        width: width.unwrap_or(80),
        color,
        unicode: terminal && locale.to_ascii_lowercase().replace('-', "").contains("utf8"),
        versus_bound: look.versus_bound,
        verbose: look.verbose,
    }
}

/// Where the result document goes.
#[derive(Debug)]
pub(crate) enum Target {
    /// To standard output, instead of a table.
    Stdout,
    /// To a file.
    File(PathBuf),
}

impl Target {
    /// Decides, and fails now rather than after a minute of measuring if it cannot be written.
    pub(crate) fn choose(output: Option<&Path>, started: &jiff::Timestamp) -> Result<Self, Stop> {
        let path = match output {
            Some(path) if path.as_os_str() == "-" => return Ok(Self::Stdout),
            Some(path) => path.to_owned(),
            None => unused(started),
        };
        drop(start(&path)?);
        Ok(Self::File(path))
    }
}

/// `ipcperf-UTC.json`, with a number behind it if two runs start within a second.
fn unused(started: &jiff::Timestamp) -> PathBuf {
    let stem = format!("ipcperf-{}", started.strftime("%Y%m%dT%H%M%SZ"));
    let mut path = PathBuf::from(format!("{stem}.json"));
    let mut number = 2;
    while path.exists() {
        path = PathBuf::from(format!("{stem}-{number}.json"));
        number += 1;
    }
    path
}

fn start(path: &Path) -> Result<WholeFile, Stop> {
    WholeFile::start(path).map_err(|error| {
        let text = ipcperf_core::errno::text(error.raw_os_error().unwrap_or(0));
        let text = if error.raw_os_error().is_some() { text } else { error.to_string() };
        Stop::usage(format!("cannot write '{}': {text}; name another file with -o", path.display()))
    })
}

/// Writes bytes to a file that appears whole.
pub(crate) fn to_file(
    path: &Path,
    fill: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> Result<(), Stop> {
    let mut file = io::BufWriter::new(start(path)?);
    let failed =
        |error: io::Error| Stop::internal(format!("cannot write '{}': {error}", path.display()));
    fill(&mut file).map_err(failed)?;
    let file = file.into_inner().map_err(|error| failed(error.into_error()))?;
    file.publish().map_err(failed)
}

/// Writes the document.
pub(crate) fn document(set: &ResultSet, out: &mut dyn Write) -> io::Result<()> {
    ipcperf_report::render(set, &|_| None, Format::Json, &Style::default(), out)
}

//! Where bytes go: standard output, and files that appear whole or not at all.

use crate::args::{ColorChoice, LookArgs, OutputArgs, TableArgs, Unnamed};
use crate::document::{Document, Show};
use crate::error::{Stop, note, unknown_name};
use clap::builder::StyledStr;
use flate2::Compression;
use flate2::write::GzEncoder;
use ipcperf_render::{Format, Style};
use ipcperf_sys::file::WholeFile;
use ipcperf_sys::{directory, signals, terminal};
use std::io::{self, IsTerminal, Read, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// The most bytes that a packed file may have unpacked. A survey's result takes 2 MiB.
pub const MOST: u64 = 256 << 20;

/// What people write takes less; what is larger than this is no job and no study: `/dev/zero`, a result file.
const MOST_WRITTEN: u64 = 1 << 20;

/// The text of a file that people write: a job, a study.
pub fn small_file(path: &Path) -> io::Result<String> {
    let mut text = String::new();
    let read = std::fs::File::open(path)?.take(MOST_WRITTEN + 1).read_to_string(&mut text)?;
    if read as u64 > MOST_WRITTEN { Err(io::Error::other("larger than 1 MiB")) } else { Ok(text) }
}

/// Writes to standard output. A reader that has gone away (`| head -1`) wanted no more: that is no error.
/// The reader may also have stopped reading: then a signal ends the wait.
pub fn to_stdout(bytes: &[u8]) -> Result<ExitCode, Stop> {
    stdout_is_open()?;
    signals::let_end();
    match terminal::write_stdout(bytes) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            Err(Stop::internal(format!("standard output: {}", words(&error))))
        }
        _ => Ok(ExitCode::SUCCESS),
    }
}

/// Fails where what is written to standard output would be lost.
fn stdout_is_open() -> Result<(), Stop> {
    match terminal::stdout_was_closed() {
        true => Err(Stop::internal("standard output is closed; use '> /dev/null' to discard it")),
        false => Ok(()),
    }
}

/// Writes what the command line says of itself to standard output.
pub fn styled(text: &StyledStr) -> Result<ExitCode, Stop> {
    let is_colored = io::stdout().is_terminal() && wants_color();
    let text = if is_colored { text.ansi().to_string() } else { text.to_string() };
    to_stdout(text.as_bytes())
}

/// Prints lines, whatever they quote.
pub fn lines(lines: impl IntoIterator<Item = String>) -> Result<ExitCode, Stop> {
    let text: String =
        lines.into_iter().map(|line| ipcperf_render::text::clean(&line, true) + "\n").collect();
    to_stdout(text.as_bytes())
}

/// The format asked for.
pub fn format(look: &LookArgs) -> Result<Format, Stop> {
    let Some(given) = &look.format else { return Ok(Format::Table) };
    given.parse().map_err(unknown_name)
}

/// The format of what goes to a file: its ending says it, or `--format`, and they must not contradict each other.
pub fn format_of(look: &LookArgs, file: Option<&Path>) -> Result<Format, Stop> {
    let asked = format(look)?;
    let Some(path) = file.filter(|path| path.as_os_str() != "-") else { return Ok(asked) };
    let shown = path.display();
    match (ending(path).and_then(Format::of_ending), &look.format) {
        (Some(named), Some(_)) if named != asked => Err(Stop::usage(format!(
            "'{shown}' means {named}, but --format says {asked}: drop one of them"
        ))),
        (Some(format), _) => Ok(format),
        (None, Some(_)) => Ok(asked),
        (None, None) => {
            let known: Vec<String> =
                Format::ALL.iter().map(|format| format!(".{}", format.endings()[0])).collect();
            let known = known.join(", ");
            Err(Stop::usage(format!(
                "'{shown}' has no known extension ({known}): use one, or add --format"
            )))
        }
    }
}

/// What a file's name ends in, if it is a word: not the day of `result.2026-11-22`. Of `result.json.gz` it is `json`.
fn ending(path: &Path) -> Option<&str> {
    let name = if is_packed(path) { Path::new(path.file_stem()?) } else { path };
    name.extension()?
        .to_str()
        .filter(|ending| ending.starts_with(|sign: char| sign.is_alphabetic()))
}

/// Whether what is written to this file is packed as gzip does.
fn is_packed(path: &Path) -> bool {
    path.extension().is_some_and(|ending| ending == "gz")
}

/// Whether the document of a command has hundreds of cells: then it takes a megabyte.
fn is_large(command: &str) -> bool {
    command == "survey"
}

/// What measures writes documents, and they are JSON whatever the file is called.
fn is_for_a_document(path: &Path) -> Result<(), Stop> {
    let Some(other) = ending(path).filter(|ending| Format::of_ending(ending) != Some(Format::Json))
    else {
        return Ok(());
    };
    let (shown, json) = (path.display(), path.with_extension("json"));
    let json = json.display();
    let then = match Format::of_ending(other) {
        Some(format) => format!("; 'ipcperf report {json} -o {shown}' makes {format} of it"),
        None => String::new(),
    };
    Err(Stop::usage(format!("-o names the document, which is JSON: '{json}', not '{shown}'{then}")))
}

/// The least and the most that `COLUMNS` may ask for.
const WIDTHS: [usize; 2] = [20, 1000];

/// The value of an environment variable that has one.
fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}

/// Whether a terminal is to have colours where nobody has said.
fn wants_color() -> bool {
    variable("NO_COLOR").is_none() && variable("TERM").is_some_and(|term| term != "dumb")
}

/// Columns of the terminal that standard output is, or else what a shell exports for programs whose standard output is no
/// terminal.
pub fn width() -> Option<usize> {
    terminal::stdout_width().or_else(columns)
}

fn columns() -> Option<usize> {
    let columns = variable("COLUMNS").and_then(|text| text.parse::<usize>().ok());
    columns.map(|columns| columns.clamp(WIDTHS[0], WIDTHS[1]))
}

/// The style of text for people.
pub fn style(look: &LookArgs, to_file: bool) -> Style {
    let width = if to_file { None } else { terminal::stdout_width() };
    let terminal = width.is_some();
    let columns = if to_file { None } else { columns() };
    let locale = ["LC_ALL", "LC_CTYPE", "LANG"].into_iter().find_map(variable).unwrap_or_default();
    let color = match look.color {
        ColorChoice::Always => true,
        ColorChoice::Never => false,
        ColorChoice::Auto => terminal && wants_color(),
    };
    Style {
        width: width.or(columns).unwrap_or(80),
        color,
        unicode: terminal && locale.to_ascii_lowercase().replace('-', "").contains("utf8"),
        versus_bound: false,
        verbose: look.verbose,
        full: false,
        pictures: false,
        top: None,
        bars: look.bars && terminal,
    }
}

/// The same with what was asked of tables.
pub fn table_style(look: &LookArgs, tables: &TableArgs, to_file: bool) -> Style {
    let TableArgs { full, versus_bound } = *tables;
    Style { full, versus_bound, ..style(look, to_file) }
}

/// Where the result document goes.
#[derive(Debug)]
pub enum Target {
    /// To standard output, instead of a table.
    Stdout,
    /// To a file, replacing what is there.
    File(PathBuf),
    /// To `STEM.json` in a folder, or the first `STEM-N.json` that does not exist; packed, to `STEM.json.gz`.
    Fresh {
        /// Where it lies; empty for the current directory.
        folder: PathBuf,
        /// What the name begins with.
        stem: String,
        /// Whether it is packed.
        packed: bool,
    },
}

impl Target {
    /// Decides, and fails now rather than after a minute of measuring if it cannot be written, or if what is shown could
    /// not.
    pub fn choose(output: Option<&Path>, started: &jiff::Timestamp) -> Result<Self, Stop> {
        Self::choose_or(output, &Unnamed::default(), started)
    }

    fn choose_or(
        output: Option<&Path>,
        unnamed: &Unnamed,
        started: &jiff::Timestamp,
    ) -> Result<Self, Stop> {
        stdout_is_open()?;
        let target = match output {
            Some(path) if path.as_os_str() == "-" => return Ok(Self::Stdout),
            Some(path) => {
                is_for_a_document(path)?;
                Self::File(path.to_owned())
            }
            None => Self::Fresh {
                folder: unnamed.folder.clone(),
                stem: format!("{}-{}", unnamed.stem, started.strftime("%Y%m%dT%H%M%SZ")),
                packed: false,
            },
        };
        let path = target.first_name();
        check(&path, "-o")?;
        Ok(target)
    }

    /// The same for a document that was interrupted: unless a name was typed, its name says so, and nobody takes it for whole.
    pub fn of(self, interrupted: bool) -> Self {
        match self {
            Self::Fresh { folder, stem, packed } if interrupted => {
                Self::Fresh { folder, stem: stem + ".interrupted", packed }
            }
            other => other,
        }
    }

    /// The same for the document of a command: unless a name was typed, one with hundreds of cells is packed.
    pub fn of_command(self, command: &str) -> Self {
        match self {
            Self::Fresh { folder, stem, .. } => {
                Self::Fresh { folder, stem, packed: is_large(command) }
            }
            other => other,
        }
    }

    /// The target that the arguments name; `None` with `--no-file`.
    pub fn typed(args: &OutputArgs, started: &jiff::Timestamp) -> Result<Option<Self>, Stop> {
        match args.no_file {
            true => stdout_is_open().map(|()| None),
            false => Self::choose_or(args.output.as_deref(), &args.unnamed, started).map(Some),
        }
    }

    /// Where it will go, for a plan. Nothing is tried there.
    pub fn planned(args: &OutputArgs, command: &str) -> Result<String, Stop> {
        Ok(match args.output.as_deref() {
            _ if args.no_file => "no file".into(),
            None => {
                let Unnamed { folder, stem } = &args.unnamed;
                let name = format!("{stem}-UTC.{}", ending_of(is_large(command)));
                folder.join(name).display().to_string()
            }
            Some(path) if path.as_os_str() == "-" => place(path),
            Some(path) => {
                is_for_a_document(path)?;
                place(path)
            }
        })
    }

    fn first_name(&self) -> PathBuf {
        match self {
            Self::Stdout => PathBuf::from("-"),
            Self::File(path) => path.clone(),
            Self::Fresh { folder, stem, packed } => {
                folder.join(format!("{stem}.{}", ending_of(*packed)))
            }
        }
    }

    /// Writes the file and says where it is. What cannot be where it was to be is kept elsewhere, and that is an error.
    pub fn write(&self, fill: impl Fn(&mut dyn Write) -> io::Result<()>) -> Result<PathBuf, Stop> {
        let first = self.first_name();
        let written = match self {
            Self::Fresh { folder, stem, packed } => fresh(folder, stem, ending_of(*packed), &fill),
            _ => filled(&first, &fill).and_then(WholeFile::publish).map(|()| first.clone()),
        };
        written.map_err(|error| {
            let folders = [PathBuf::from("."), std::env::temp_dir()];
            let kept = |folder: PathBuf| fresh(&folder, "ipcperf-result", "json", &fill).ok();
            let error = words(&error);
            Stop::internal(match folders.into_iter().find_map(kept) {
                Some(path) => format!(
                    "cannot write '{}': {error}; the result is in '{}'",
                    first.display(),
                    path.display()
                ),
                None => format!("cannot write '{}': {error}", first.display()),
            })
        })
    }
}

/// What writes a document, or what is shown of it.
type Fill<'a> = &'a dyn Fn(&mut dyn Write) -> io::Result<()>;

/// A document that is to be written and shown.
pub struct Publication<'a> {
    /// What the line that says where it is calls it.
    pub name: &'static str,
    /// What is written and shown.
    pub document: &'a dyn Document,
    /// Where it goes; `None` if it is only shown.
    pub target: Option<&'a Target>,
    /// Whether the line that says where it is stays away.
    pub quiet: bool,
    /// How it is shown; `None` where something else is printed in its place.
    pub screen: Option<Show<'a>>,
}

impl Publication<'_> {
    /// Writes the document first, because nobody may ever read the screen, then what goes beside it, and shows it last. A
    /// document that cannot be written is on the screen at least.
    pub fn publish<T>(self, beside: impl FnOnce() -> T) -> Result<T, Stop> {
        let Self { name, document, target, quiet, screen } = self;
        let whole = |out: &mut dyn Write| json(document, out);
        let shown = |out: &mut dyn Write| {
            screen.as_ref().map_or(Ok(()), |screen| document.show(screen, out))
        };
        let (written, screen): (_, Fill<'_>) = match target {
            Some(Target::Stdout) => (None, &whole),
            Some(target) => (Some(target.write(whole)), &shown),
            None => (None, &shown),
        };
        let beside = beside();
        let mut bytes = Vec::new();
        screen(&mut bytes).map_err(|error| Stop::internal(format!("{name}: {error}")))?;
        let shown = to_stdout(&bytes);
        let path = written.transpose()?;
        shown?;
        if let Some(path) = path.filter(|_| !quiet) {
            note(&format!("{name}: {}", path.display()));
        }
        Ok(beside)
    }
}

const fn ending_of(packed: bool) -> &'static str {
    if packed { "json.gz" } else { "json" }
}

/// Writes `STEM.ENDING` in a folder, or the first `STEM-N.ENDING` that does not exist.
fn fresh(
    folder: &Path,
    stem: &str,
    ending: &str,
    fill: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> io::Result<PathBuf> {
    let first = format!("{stem}.{ending}");
    let file = filled(&folder.join(&first), fill)?;
    let more = (2..10_000).map(|number| format!("{stem}-{number}.{ending}"));
    Ok(folder.join(file.publish_new(std::iter::once(first).chain(more))?))
}

/// Where something will go that was named, for a plan.
pub fn place(path: &Path) -> String {
    if path.as_os_str() == "-" {
        return "standard output".into();
    }
    let replaces = if path.exists() { " (replaces what is there)" } else { "" };
    format!("{}{replaces}", path.display())
}

/// Fails where a file of this name cannot be written, or must not be; `flag` names another one.
pub fn check(path: &Path, flag: &str) -> Result<(), Stop> {
    WholeFile::check(path).map_err(|error| refused(path, flag, &error))
}

/// Fails where a file that is read would be overwritten.
pub fn spares(target: &Path, files: &[PathBuf]) -> Result<(), Stop> {
    match files.iter().find(|file| is_same_file(file, target)) {
        None => Ok(()),
        Some(file) => {
            let shown = file.display();
            Err(Stop::usage(format!("-o would overwrite the input '{shown}': name another file")))
        }
    }
}

fn refused(path: &Path, flag: &str, error: &io::Error) -> Stop {
    let (shown, why) = (path.display(), words(error));
    Stop::usage(format!("cannot write '{shown}': {why}; name another file with {flag}"))
}

/// An error without the number behind it.
pub fn words(error: &io::Error) -> String {
    error.raw_os_error().map_or_else(|| error.to_string(), ipcperf_core::errno::text)
}

fn cannot_write(path: &Path, error: &io::Error) -> Stop {
    Stop::internal(format!("cannot write '{}': {}", path.display(), words(error)))
}

fn filled(
    path: &Path,
    fill: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> io::Result<WholeFile> {
    let mut file = io::BufWriter::new(WholeFile::start(path)?);
    if is_packed(path) {
        let mut packed = GzEncoder::new(&mut file, Compression::default());
        fill(&mut packed)?;
        packed.finish()?;
    } else {
        fill(&mut file)?;
    }
    file.into_inner().map_err(io::IntoInnerError::into_error)
}

/// Writes bytes to a file that appears whole.
pub fn to_file(
    path: &Path,
    fill: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> Result<(), Stop> {
    check(path, "-o")?;
    filled(path, fill).and_then(WholeFile::publish).map_err(|error| cannot_write(path, &error))
}

/// Writes to the file that was named, or to standard output.
pub fn put(
    file: Option<&Path>,
    render: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> Result<ExitCode, Stop> {
    match file {
        Some(path) if path.as_os_str() != "-" => to_file(path, render).map(|()| ExitCode::SUCCESS),
        _ => {
            stdout_is_open()?;
            let mut out = io::BufWriter::with_capacity(STDOUT_CHUNK, Stdout);
            match render(&mut out).and_then(|()| out.flush()) {
                Ok(()) => Ok(ExitCode::SUCCESS),
                Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(ExitCode::SUCCESS),
                Err(error) => Err(Stop::internal(format!("standard output: {}", words(&error)))),
            }
        }
    }
}

/// What is written to standard output at once; less appears whole or not at all.
const STDOUT_CHUNK: usize = 1 << 20;

struct Stdout;

impl Write for Stdout {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        signals::let_end();
        terminal::write_stdout(bytes).map(|()| bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Whether two names are of one file that is there.
pub fn is_same_file(one: &Path, other: &Path) -> bool {
    let place = |path: &Path| std::fs::canonicalize(path).ok();
    place(one).is_some_and(|one| place(other) == Some(one))
}

/// Writes a text beside a document.
pub fn beside(path: &Path, text: &[u8]) -> Result<(), Stop> {
    filled(path, |out| out.write_all(text))
        .and_then(WholeFile::publish)
        .map_err(|error| cannot_write(path, &error))
}

/// Writes bytes to a file here that nobody has yet.
pub fn to_new_file(
    name: &str,
    fill: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> Result<(), Stop> {
    let path = Path::new(name);
    check(path, "-o")?;
    match filled(path, fill).and_then(|file| file.publish_new([name.to_owned()])) {
        Ok(_) => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            Err(Stop::usage(format!("'{name}' is here already; name another file with -o")))
        }
        Err(error) => Err(cannot_write(path, &error)),
    }
}

/// Makes a folder now rather than after all measuring, if it cannot be made.
pub fn folder(flag: &str, path: &Path) -> Result<(), Stop> {
    directory::make(path, 0o777).map_err(|error| {
        let shown = path.display();
        Stop::usage(format!("{flag}: cannot make the folder '{shown}': {}", words(&error)))
    })
}

/// Writes pictures into a folder that is there.
pub fn pictures(path: &Path, pictures: &[(String, String)]) -> Result<(), Stop> {
    for (name, text) in pictures {
        beside(&path.join(name), text.as_bytes())?;
    }
    Ok(())
}

/// Writes a document as JSON.
pub fn json(document: &dyn Document, out: &mut dyn Write) -> io::Result<()> {
    document.show(&Show::new(Format::Json, &Style::default()), out)
}

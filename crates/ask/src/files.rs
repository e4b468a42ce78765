//! Commands that read several results: which files, and how others are reported.

use ipcperf_kit::command::Command;
use ipcperf_kit::error::{Code, Stop, note};
use ipcperf_kit::paths_in_text;
use ipcperf_kit::reading::{is_stdin, text_of};
use ipcperf_kit::{output, reading};
use ipcperf_sys::file::is_open_file;
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Which results are read.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct FilesArgs {
    /// A result file; '-' reads standard input, and a folder stands for the .json files in it. Among several, those that
    /// cannot be read are named and skipped (exit code 4)
    #[arg(required_unless_present = "files_from", value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
    /// Also read the files listed in FILE, one per line, relative to the current directory; '-' reads the list from
    /// standard input (find . -name '*.json' | ...)
    #[arg(long, value_name = "FILE")]
    pub(crate) files_from: Option<PathBuf>,
}

impl FilesArgs {
    /// Every file that was named, that lies in a named folder, or that the list names.
    pub(crate) fn list(&self) -> Result<Listed, Stop> {
        let Self { files, files_from } = self;
        let named = files.iter().chain(files_from);
        if named.filter(|file| is_stdin(file)).count() > 1 {
            return Err(Stop::usage("'-' is named twice, and standard input is read once"));
        }
        let list = files_from.as_deref().map(list_of).transpose()?.unwrap_or_default();
        let listed = list.lines().filter(|line| !line.is_empty()).map(PathBuf::from);
        let (mut all, mut others) = (Vec::new(), Vec::new());
        // What is named itself is read whatever it is: a pipe of the shell, for example.
        let named = files.iter().cloned().map(|path| (path, true));
        for (path, is_named) in named.chain(listed.map(|path| (path, false))) {
            if !path.is_dir() {
                match special(&path).filter(|_| !is_named) {
                    None => all.push(path),
                    Some(what) => others.push(cannot_read(&path, what)),
                }
                continue;
            }
            let shown = path.display();
            let entries = path.read_dir().map_err(|error| {
                Stop::usage(format!("cannot read '{shown}': {}", output::words(&error)))
            })?;
            let names = entries.flatten().map(|entry| entry.path());
            let mut found: Vec<PathBuf> = names.filter(|name| is_json(name)).collect();
            if found.is_empty() {
                // The error comes when it is read.
                all.push(path);
                continue;
            }
            found.sort();
            for path in found {
                match special(&path) {
                    None => all.push(path),
                    Some(what) => others.push(cannot_read(&path, what)),
                }
            }
        }
        match all.as_slice() {
            [] if !others.is_empty() => Err(none_is_a_result(others.len(), &named_of(others))),
            [] => Err(Stop::usage("--files-from names no file")),
            [folder] if folder.is_dir() => Err(Stop::usage(no_file_in(folder))),
            _ => Ok(Listed { files: all, others }),
        }
    }
}

/// Files that are to be read.
#[derive(Debug)]
pub(crate) struct Listed {
    pub(crate) files: Vec<PathBuf>,
    /// Why others, in a folder or a list, are not even opened.
    pub(crate) others: Vec<String>,
}

impl Listed {
    /// Says what was left out where all other files were read; the exit code is 4 if anything was.
    pub(crate) fn end(self, code: ExitCode) -> ExitCode {
        if self.others.is_empty() {
            return code;
        }
        left_out(self.others.len(), self.files.len() + self.others.len(), &named_of(self.others));
        Code::Incomparable.into()
    }
}

/// The text of a list of files. A pipe of the shell is one; a FIFO in a folder is not, since nobody may ever write to it.
fn list_of(path: &Path) -> Result<String, Stop> {
    match special(path).filter(|_| !is_stdin(path) && !is_open_file(path)) {
        None => text_of(path),
        Some(what) => {
            let why = cannot_read(path, what);
            Err(Stop::usage(format!("--files-from: {why}; '-' reads standard input")))
        }
    }
}

/// What an existing file is that is neither regular nor a folder. Reading it may wait forever, and opening a device may do
/// something.
fn special(path: &Path) -> Option<&'static str> {
    let kind = path.metadata().ok()?.file_type();
    if kind.is_fifo() {
        Some("it is a FIFO")
    } else if kind.is_char_device() || kind.is_block_device() {
        Some("it is a device")
    } else if kind.is_socket() {
        Some("it is a socket")
    } else {
        None
    }
}

fn cannot_read(path: &Path, why: &str) -> String {
    format!("cannot read '{}': {why}", paths_in_text::without_home(&path.display().to_string()))
}

fn no_file_in(folder: &Path) -> String {
    format!("no .json file in '{}'", folder.display())
}

/// Whether a folder stands for this file; not for the folders in it.
fn is_json(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    !path.is_dir() && [".json", ".json.gz"].iter().any(|ending| name.ends_with(ending))
}

/// How many files that are not results are named at most.
const NAMED: usize = 8;

/// Several files that are read one after another. Those that are not results are counted, named and left out, unless all
/// are.
#[derive(Debug)]
pub(crate) struct FilesRead<'a> {
    /// Whose documents are known.
    commands: &'a [Command],
    /// How many were results.
    pub(crate) count: usize,
    /// Why the others are none.
    others: Vec<String>,
    /// One of them cannot be read at all.
    is_lossy: bool,
}

impl<'a> FilesRead<'a> {
    /// Nothing yet but what is not opened.
    pub(crate) fn new(commands: &'a [Command], others: Vec<String>) -> Self {
        let is_lossy = !others.is_empty();
        Self { commands, count: 0, others, is_lossy }
    }

    /// What is read of a file, by its name.
    pub(crate) fn one<T>(
        &mut self,
        path: &Path,
        read: impl Fn(&str) -> Result<T, String>,
    ) -> Option<(String, T)> {
        let name = paths_in_text::without_home(&path.display().to_string());
        let text = match text_of(path) {
            Ok(text) => text,
            // The files of a folder are listed where there are any.
            Err(_) if path.is_dir() => {
                self.is_lossy = true;
                self.others.push(no_file_in(path));
                return None;
            }
            Err(stop) => {
                self.is_lossy = true;
                self.others.push(stop.to_string());
                return None;
            }
        };
        match read(&text) {
            Ok(one) => {
                self.count += 1;
                Some((name, one))
            }
            Err(why) => {
                // A document that has no rows, a study for example, is no loss.
                self.is_lossy |= reading::read(self.commands, &text).is_err();
                self.others.push(format!("'{name}' ({why})"));
                None
            }
        }
    }

    /// Says what was left out; the exit code is 4 if something cannot be read.
    pub(crate) fn end(self) -> Result<ExitCode, Stop> {
        let others = self.others.len();
        let all = self.count + others;
        let names = named_of(self.others);
        if self.count == 0 {
            return Err(none_is_a_result(all, &names));
        }
        if others > 0 {
            left_out(others, all, &names);
        }
        Ok(if self.is_lossy { Code::Incomparable.into() } else { ExitCode::SUCCESS })
    }
}

/// The first of them, and how many more there are.
fn named_of(mut others: Vec<String>) -> String {
    let more = others.len().saturating_sub(NAMED);
    others.truncate(NAMED);
    others.extend((more > 0).then(|| format!("{more} more")));
    others.join(", ")
}

fn none_is_a_result(all: usize, names: &str) -> Stop {
    Stop::usage(format!("none of {all} files is a result: {names}"))
}

fn left_out(others: usize, all: usize, names: &str) {
    let is = if others == 1 { "is not a result" } else { "are not results" };
    note(&format!("Left out: {others} of {all} files {is}: {names}"));
}

//! Commands that read several results: which files, and how others are reported.

use ipcperf_kit::command::Command;
use ipcperf_kit::error::{Code, Stop, note};
use ipcperf_kit::reading::{is_stdin, text_of};
use ipcperf_kit::{output, reading};
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
    pub(crate) fn list(&self) -> Result<Vec<PathBuf>, Stop> {
        let Self { files, files_from } = self;
        let named = files.iter().chain(files_from);
        if named.filter(|file| is_stdin(file)).count() > 1 {
            return Err(Stop::usage("'-' is named twice, and standard input is read once"));
        }
        let list = files_from.as_deref().map(text_of).transpose()?.unwrap_or_default();
        let listed = list.lines().filter(|line| !line.is_empty()).map(PathBuf::from);
        let mut all = Vec::new();
        for path in files.iter().cloned().chain(listed) {
            if !path.is_dir() {
                all.push(path);
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
                found.push(path);
            }
            found.sort();
            all.append(&mut found);
        }
        match all.as_slice() {
            [] => Err(Stop::usage("--files-from names no file")),
            [folder] if folder.is_dir() => Err(Stop::usage(no_file_in(folder))),
            _ => Ok(all),
        }
    }
}

fn no_file_in(folder: &Path) -> String {
    format!("no .json file in '{}'", folder.display())
}

/// Whether a folder stands for this file. A FIFO is left out, because reading one may wait forever.
fn is_json(path: &Path) -> bool {
    path.is_file() && path.extension().is_some_and(|extension| extension == "json")
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
    /// Nothing yet.
    pub(crate) const fn new(commands: &'a [Command]) -> Self {
        Self { commands, count: 0, others: Vec::new(), is_lossy: false }
    }

    /// What is read of a file, by its name.
    pub(crate) fn one<T>(
        &mut self,
        path: &Path,
        read: impl Fn(&str) -> Result<T, String>,
    ) -> Option<(String, T)> {
        let name = output::without_home(&path.display().to_string());
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
    pub(crate) fn end(mut self) -> Result<ExitCode, Stop> {
        let others = self.others.len();
        let all = self.count + others;
        self.others.truncate(NAMED);
        self.others.extend((others > NAMED).then(|| format!("{} more", others - NAMED)));
        let names = self.others.join(", ");
        if self.count == 0 {
            return Err(Stop::usage(format!("none of {all} files is a result: {names}")));
        }
        if others > 0 {
            let is = if others == 1 { "is not a result" } else { "are not results" };
            note(&format!("Left out: {others} of {all} files {is}: {names}"));
        }
        Ok(if self.is_lossy { Code::Incomparable.into() } else { ExitCode::SUCCESS })
    }
}

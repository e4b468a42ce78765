//! `ipcperf new-transport`: a small project that builds, passes the suite and runs.

use ipcperf_kit::command::{CommandArgs, CommandGroup, Context};
use ipcperf_kit::error::{Stop, unknown};
use ipcperf_kit::output;
use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

const HEADER: &str = include_str!("../../include/ipcperf.h");

/// The files of a language; `@name@` stands for the name of the transport.
type Files = &'static [(&'static str, &'static str)];

/// The languages.
const LANGUAGES: &[(&str, Files)] = &[
    (
        "c",
        &[
            ("transport.c", include_str!("../../templates/c/transport.c")),
            ("Makefile", include_str!("../../templates/c/Makefile")),
            ("ipcperf.h", HEADER),
        ],
    ),
    (
        "cpp",
        &[
            ("transport.cpp", include_str!("../../templates/cpp/transport.cpp")),
            ("Makefile", include_str!("../../templates/cpp/Makefile")),
            ("ipcperf.h", HEADER),
            ("ipcperf.hpp", include_str!("../../include/ipcperf.hpp")),
        ],
    ),
];

#[derive(Clone, Debug, clap::Args)]
pub(crate) struct NewTransportArgs {
    /// c or cpp
    #[arg(value_name = "LANGUAGE")]
    language: String,

    /// Folder that is made; its name is the name of the transport
    #[arg(value_name = "DIR")]
    directory: PathBuf,
}

impl CommandArgs for NewTransportArgs {
    const NAME: &'static str = "new-transport";
    const GROUP: CommandGroup = CommandGroup::Machine;
    const ABOUT: &'static str = "Write a small project for a transport of your own: a plug-in that builds, conforms and runs";
    const EXAMPLES: &'static str = "Examples:
  ipcperf new-transport c mine                  then: cd mine && make check run
  ipcperf new-transport cpp ~/src/mine";

    fn run(&self, _: &Context<'_>) -> Result<ExitCode, Stop> {
        let files = files(&self.language)?;
        let name = name(&self.directory)?;
        let place = self.directory.display();
        fs::create_dir(&self.directory).map_err(|error| {
            Stop::usage(format!("new-transport: {place}: {}", output::words(&error)))
        })?;
        for (file, text) in files {
            write_new(&self.directory.join(file), &text.replace("@name@", &name)).map_err(
                |error| Stop::internal(format!("{place}/{file}: {}", output::words(&error))),
            )?;
        }
        let text =
            format!("{place} has the transport '{name}'. Next: cd {place} && make check run\n");
        output::to_stdout(text.as_bytes())
    }
}

fn write_new(path: &Path, text: &str) -> io::Result<()> {
    OpenOptions::new().write(true).create_new(true).open(path)?.write_all(text.as_bytes())
}

fn files(language: &str) -> Result<Files, Stop> {
    let names = || LANGUAGES.iter().map(|(name, _)| *name);
    let found = LANGUAGES.iter().find(|(name, _)| *name == language);
    found.map(|(_, files)| *files).ok_or_else(|| {
        let known = format!("known: {}", names().collect::<Vec<_>>().join(", "));
        unknown("language", language, names(), &known)
    })
}

/// The name of a transport: what its folder is named, where that is a name.
fn name(directory: &Path) -> Result<String, Stop> {
    let name = directory.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let fits = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    match (1..=32).contains(&name.len()) && name.bytes().all(fits) {
        true => Ok(name),
        false => Err(Stop::usage(format!(
            "'{name}' cannot be the name of a transport: use 1 to 32 of a-z, 0-9 and '-'"
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_a_name_or_a_language_is_refused_by_name() {
        assert_eq!(name(Path::new("a/my-ipc/")).expect("a name"), "my-ipc");
        for folder in ["Mine", "a b", "..", ""] {
            assert!(name(Path::new(folder)).is_err(), "{folder}");
        }
        let error = files("cp").expect_err("no language").to_string();
        assert!(error.contains("did you mean 'cpp'?"), "{error}");
    }
}

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
    (
        "python",
        &[
            ("@name@.py", include_str!("../../templates/python/transport.py")),
            ("Makefile", include_str!("../../templates/python/Makefile")),
        ],
    ),
    (
        RUST,
        &[
            ("Cargo.toml", include_str!("../../templates/rust/package.toml")),
            ("src/lib.rs", include_str!("../../templates/rust/lib.rs")),
            ("benches/@name@.rs", include_str!("../../templates/rust/bench.rs")),
            ("benches/mechanism/mod.rs", include_str!("../../templates/rust/mechanism.rs")),
            ("tests/conformance.rs", include_str!("../../templates/rust/conformance.rs")),
        ],
    ),
];

/// A package that has ipcperf as a library, not a plug-in.
const RUST: &str = "rust";

/// What the example of a Rust package is named, whose files are the templates.
const EXAMPLE: &str = "framed";

#[derive(Clone, Debug, clap::Args)]
pub(crate) struct NewTransportArgs {
    /// c, cpp, python or rust
    #[arg(value_name = "LANGUAGE")]
    language: String,

    /// Folder that is made; its name is the name of the transport
    #[arg(value_name = "DIR")]
    directory: PathBuf,

    /// The folder crates/ipcperf of a checkout, for a package in Rust: version 1.0.0 is not published
    #[arg(long, value_name = "PATH")]
    ipcperf: Option<PathBuf>,
}

impl CommandArgs for NewTransportArgs {
    const NAME: &'static str = "new-transport";
    const GROUP: CommandGroup = CommandGroup::Machine;
    const ABOUT: &'static str =
        "Write a small project for a transport of your own that builds, conforms and runs";
    const EXAMPLES: &'static str = "Examples:
  ipcperf new-transport c mine                  then: cd mine && make check run
  ipcperf new-transport cpp ~/src/mine
  ipcperf new-transport python mine             a class; the loops and the clock are ipcperf's
  ipcperf new-transport rust mine --ipcperf ../ipcperf/crates/ipcperf      then: cd mine && cargo test && cargo bench";

    fn run(&self, _: &Context<'_>) -> Result<ExitCode, Stop> {
        let files = files(&self.language)?;
        let name = name(&self.directory)?;
        let library = self.library()?;
        let place = self.directory.display();
        let filled = |text: &str| {
            let text = text.replace("@name@", &name).replace("@ipcperf@", &library);
            match self.language == RUST {
                false => text,
                true => text
                    .replace(
                        &format!("use {EXAMPLE}::"),
                        &format!("use {}::", name.replace('-', "_")),
                    )
                    .replace(&format!("\"{EXAMPLE}\""), &format!("\"{name}\"")),
            }
        };
        fs::create_dir(&self.directory).map_err(|error| {
            Stop::usage(format!("new-transport: {place}: {}", output::words(&error)))
        })?;
        for (file, text) in files {
            let path = self.directory.join(filled(file));
            write_new(&path, &filled(text)).map_err(|error| {
                Stop::internal(format!("{}: {}", path.display(), output::words(&error)))
            })?;
        }
        let next =
            if self.language == RUST { "cargo test && cargo bench" } else { "make check run" };
        let text = format!("{place} has the transport '{name}'. Next: cd {place} && {next}\n");
        output::to_stdout(text.as_bytes())
    }
}

impl NewTransportArgs {
    /// The path of ipcperf's package for a package in Rust; empty for a plug-in, which needs none.
    fn library(&self) -> Result<String, Stop> {
        let rule =
            "new-transport rust: --ipcperf PATH names the folder crates/ipcperf of a checkout";
        match (&self.ipcperf, self.language == RUST) {
            (None, false) => Ok(String::new()),
            (Some(_), false) => {
                Err(Stop::usage("--ipcperf is for a package in Rust; a plug-in does not need it"))
            }
            (None, true) => Err(Stop::usage(rule)),
            (Some(path), true) => {
                let manifest = path.join("Cargo.toml");
                let is_ours = fs::read_to_string(&manifest)
                    .is_ok_and(|text| text.contains("name = \"ipcperf\""));
                let path = path.canonicalize().ok().filter(|_| is_ours);
                let path = path.and_then(|path| path.into_os_string().into_string().ok());
                path.filter(|path| !path.contains(['"', '\\', '\n'])).ok_or_else(|| {
                    Stop::usage(format!("{rule}; '{}' is not one", manifest.display()))
                })
            }
        }
    }
}

fn write_new(path: &Path, text: &str) -> io::Result<()> {
    path.parent().map_or(Ok(()), fs::create_dir_all)?;
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

//! The command line over a list of mechanisms and lists of commands.

use crate::command::{self, Command, Context};
use crate::error::Stop;
use crate::{documentation, hint, output};
use clap::ArgMatches;
use ipcperf_engine::registry::Registry;
use ipcperf_engine::{task, tasks};
use ipcperf_sys::{limits, process, signals};
use std::ffi::{OsStr, OsString};
use std::panic;
use std::process::ExitCode;

/// The command line. Workers are re-executions of the current program, so they know its mechanisms and tasks, too.
#[derive(Debug)]
pub struct Cli {
    registry: Registry,
    commands: Vec<Command>,
    documents: fn(&str) -> Option<String>,
}

impl Cli {
    /// Over these mechanisms, with no command.
    #[must_use]
    pub const fn new(registry: Registry) -> Self {
        Self { registry, commands: Vec::new(), documents: |_| None }
    }

    /// With the text of each document of [`documentation::NAMES`].
    #[must_use]
    pub const fn with_documents(mut self, documents: fn(&str) -> Option<String>) -> Self {
        self.documents = documents;
        self
    }

    /// With these commands as well. The first of all is what runs without a command.
    #[must_use]
    pub fn with(mut self, commands: &[Command]) -> Self {
        self.commands.extend(commands);
        self
    }

    /// Does what the process's arguments say.
    #[must_use]
    pub fn run(self) -> ExitCode {
        self.run_as(Self::does)
    }

    /// The same of a program with a command line of its own: its workers do their tasks, and `does` the rest.
    #[must_use]
    pub fn run_as(
        self,
        does: impl FnOnce(&Self, &[OsString]) -> Result<ExitCode, Stop>,
    ) -> ExitCode {
        // First of all: what comes next may not fit it.
        if let Err(error) = limits::stack() {
            return self.failed(&Stop::nothing_ran(error));
        }
        process::use_own_files();
        signals::outlive_large_files();
        self.obey(does)
    }

    #[inline(never)]
    fn obey(self, does: impl FnOnce(&Self, &[OsString]) -> Result<ExitCode, Stop>) -> ExitCode {
        let Self { registry, commands, .. } = &self;
        let mut words = std::env::args_os().skip(1);
        if words.next().is_some_and(|word| word == task::SUBCOMMAND) {
            let parent = words.next().and_then(|pid| pid.to_str()?.parse().ok()).unwrap_or(0);
            return tasks::main(registry, &command::tasks(commands), parent);
        }
        // Workers have what their coordinator has.
        limits::raise_open_files();
        let words: Vec<OsString> = std::env::args_os().skip(1).collect();
        if let Some(code) = command::failure(&self.commands, &words) {
            fail_with(code);
        }
        does(&self, &words).unwrap_or_else(|stop| self.failed(&stop))
    }

    /// Prints why it stopped; the exit code.
    fn failed(&self, stop: &Stop) -> ExitCode {
        let words: Vec<OsString> = std::env::args_os().skip(1).collect();
        let code = stop.tell();
        command::failure(&self.commands, &words).map_or(code, ExitCode::from)
    }

    /// Whether there is a command of this name.
    #[must_use]
    pub fn has(&self, word: &OsStr) -> bool {
        self.commands.iter().any(|command| command.is_named(word))
    }

    /// What a command can use, where this was typed of it.
    #[must_use]
    pub fn context<'a>(&'a self, typed: &'a ArgMatches) -> Context<'a> {
        Context { registry: &self.registry, commands: &self.commands, typed }
    }

    /// Does what these words say. Mechanisms without a command are compared if they are two, else measured.
    ///
    /// # Errors
    /// Why it stopped, with its exit code.
    pub fn does(&self, words: &[OsString]) -> Result<ExitCode, Stop> {
        let Self { registry, commands, documents } = self;
        if let Some(text) = documentation::asked(words).and_then(documents) {
            return output::to_stdout(text.as_bytes());
        }
        let whole = || command::command_line(commands);
        let error = match whole().try_get_matches_from(command::with_program(words)) {
            Ok(typed) => return command::dispatch(registry, commands, &typed),
            Err(error) => error,
        };
        if let Some(command) = hint::without_a_command(registry, words, &error) {
            return self.does(&[&[command.into()], words].concat());
        }
        if error.use_stderr() {
            return Err(hint::usage(
                registry,
                whole(),
                &command::subjects(commands),
                words,
                &error,
            ));
        }
        // Help and version.
        output::styled(&error.render())
    }
}
/// A panic ends this program with this code, after its message.
fn fail_with(code: u8) {
    let usual = panic::take_hook();
    panic::set_hook(Box::new(move |panic| {
        usual(panic);
        std::process::exit(code.into());
    }));
}

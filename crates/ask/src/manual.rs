//! Manual pages and shell completions, both made from the declared flags.

use clap::{Arg, Command};
use clap_complete::Shell;
use clap_mangen::Man;
use ipcperf_engine::registry::Registry;
use ipcperf_kit::command::{CommandArgs, CommandGroup, Context};
use ipcperf_kit::error::{Stop, unknown};
use ipcperf_kit::output;
use ipcperf_kit::words::Words;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

#[derive(Clone, Debug, clap::Args)]
pub(crate) struct ManArgs {
    /// The command whose page to print [default: ipcperf itself]
    pub(crate) command: Option<String>,
    /// Write the pages of all commands to this folder
    #[arg(long, value_name = "DIR", conflicts_with = "command")]
    pub(crate) dir: Option<PathBuf>,
}

impl CommandArgs for ManArgs {
    const NAME: &'static str = "man";
    const GROUP: CommandGroup = CommandGroup::Shell;
    const ABOUT: &'static str = "Print a manual page (roff), or write all of them to a folder";
    const EXAMPLES: &'static str = "Examples:
  ipcperf man run | man -l -
  ipcperf man --dir ~/.local/share/man/man1     all pages, where 'man ipcperf-run' finds them";

    fn run(&self, context: &Context<'_>) -> Result<ExitCode, Stop> {
        man(context.command_line(), self)
    }
}

/// Prints a page, or writes all of them into a folder.
fn man(mut all: Command, args: &ManArgs) -> Result<ExitCode, Stop> {
    match &args.dir {
        None => output::to_stdout(&manual(all, args.command.as_deref())?),
        Some(folder) => {
            output::folder("--dir", folder)?;
            all = all.disable_help_subcommand(true);
            all.build();
            write(&all, folder).map_err(Stop::usage).map(|()| ExitCode::SUCCESS)
        }
    }
}

/// Writes the pages of a command and of those below it, each as any other file here.
fn write(command: &Command, folder: &Path) -> Result<(), Stop> {
    for below in command.get_subcommands().filter(|below| !below.is_hide_set()) {
        write(below, folder)?;
    }
    let man = Man::new(command.clone());
    output::beside(&folder.join(man.get_filename()), &rendered(&man)?)
}

fn rendered(man: &Man) -> Result<Vec<u8>, Stop> {
    let mut bytes = Vec::new();
    man.render(&mut bytes).map_err(|error| Stop::internal(format!("manual page: {error}")))?;
    Ok(bytes)
}

fn manual(mut all: Command, name: Option<&str>) -> Result<Vec<u8>, Stop> {
    all.build();
    let command = match name {
        None => Some(&all),
        Some(name) => all.find_subcommand(name),
    };
    let command = command.ok_or_else(|| {
        let commands = all.get_subcommands().filter(|command| !command.is_hide_set());
        let names = commands.map(Command::get_name);
        unknown("command", name.unwrap_or_default(), names, "'ipcperf --help' shows them all")
    })?;
    rendered(&Man::new(command.clone()))
}

#[derive(Clone, Debug, clap::Args)]
pub(crate) struct CompletionsArgs {
    /// The shell
    shell: Shell,
}

impl CommandArgs for CompletionsArgs {
    const NAME: &'static str = "completions";
    const GROUP: CommandGroup = CommandGroup::Shell;
    const ABOUT: &'static str =
        "Print shell completions for commands, flags, mechanisms, patterns, placements and knobs";
    const EXAMPLES: &'static str = "Examples:
  ipcperf completions bash > ~/.local/share/bash-completion/completions/ipcperf
  ipcperf completions zsh > ~/.zfunc/_ipcperf
  ipcperf completions fish > ~/.config/fish/completions/ipcperf.fish";

    fn run(&self, context: &Context<'_>) -> Result<ExitCode, Stop> {
        completions(context.command_line(), context.registry, self.shell)
    }
}

/// Prints the completions of a shell.
fn completions(all: Command, registry: &Registry, shell: Shell) -> Result<ExitCode, Stop> {
    let mut bytes = Vec::new();
    clap_complete::generate(shell, &mut with_words(all, registry), "ipcperf", &mut bytes);
    output::to_stdout(&bytes)
}

/// The command line with the mechanisms and knobs of this build, which shells complete. A list completes its first word.
#[must_use]
pub fn with_words(all: Command, registry: &Registry) -> Command {
    let entries = registry.entries();
    let mechanisms: Vec<&str> =
        entries.iter().map(|entry| &*entry.spec.full_name().leak()).collect();
    let mut knobs: Vec<&str> = Vec::new();
    for entry in entries {
        for knob in entry.knobs {
            let word = format!("{}.{}=", entry.spec.name, knob.name);
            if !knobs.contains(&word.as_str()) {
                knobs.push(word.leak());
            }
        }
    }
    let complete = |arg: Arg| {
        // The parameters of a study have names that are not known here.
        let names = arg.get_value_names().unwrap_or_default();
        let is_ours = !names.iter().any(|name| name.as_str() == "KEY=VALUE");
        match arg.get_id().as_str() {
            "set" if is_ours => arg.value_parser(Words(knobs.clone())),
            "mechanism" | "name" | "names" | "mechanisms" | "arms" | "a" | "b" if is_ours => {
                arg.value_parser(Words(mechanisms.clone()))
            }
            _ => arg,
        }
    };
    completed(all, &complete)
}

/// A command and those below it.
fn completed(command: Command, complete: &dyn Fn(Arg) -> Arg) -> Command {
    command.mut_args(complete).mut_subcommands(|below| completed(below, complete))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::COMMANDS;
    use ipcperf_kit::command::command_line;

    #[test]
    fn every_command_has_a_page_and_a_wrong_one_names_the_nearest() {
        let all = command_line(COMMANDS);
        for command in all.get_subcommands().filter(|command| !command.is_hide_set()) {
            let name = command.get_name();
            let text = String::from_utf8(manual(command_line(COMMANDS), Some(name)).expect(name))
                .expect(name);
            assert!(text.contains(&format!(".TH ipcperf-{name}")), "{name}: {text}");
            assert!(name == "clean" || text.contains("Examples:"), "{name}: {text}");
        }
        let refused = manual(command_line(COMMANDS), Some("reprot")).expect_err("no such command");
        assert_eq!(refused.to_string(), "unknown command 'reprot'; did you mean 'report'?");
    }

    #[test]
    fn every_shell_completes_mechanisms_patterns_placements_knobs_and_files() {
        let registry = ipcperf_builtin::builtin();
        for shell in [Shell::Bash, Shell::Fish, Shell::Zsh] {
            let mut bytes = Vec::new();
            clap_complete::generate(
                shell,
                &mut with_words(command_line(COMMANDS), &registry),
                "ipcperf",
                &mut bytes,
            );
            let text = String::from_utf8(bytes).expect("UTF-8");
            for word in [
                "shm-ring/adaptive",
                "ping-pong",
                "same-llc",
                "pipe.size=",
                "throughput",
                "python",
                "zstd",
                "poisson",
            ] {
                assert!(text.contains(word), "{shell}: {word}");
            }
            // Also behind no command, and behind a command of a command.
            assert!(!text.contains("--format)\n                    COMPREPLY=($(compgen -f"));
            // Bash completes files wherever it knows nothing else.
            let completes_files = text.lines().any(|line| match shell {
                Shell::Zsh => line.contains("--payload=") && line.contains(":FILES:_files'"),
                Shell::Fish => line.contains("-l payload ") && line.ends_with(" -r -F"),
                _ => line.contains("--payload"),
            });
            assert!(completes_files, "{shell}");
        }
    }
}

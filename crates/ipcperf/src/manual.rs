//! The manual pages and the shell completions, both made from what can be typed.

use crate::args::{Args, ManArgs, named};
use crate::error::{Stop, unknown};
use crate::output;
use crate::packed::STUDY_NAMES;
use clap::builder::PossibleValuesParser;
use clap::{Arg, Command, CommandFactory};
use clap_complete::Shell;
use ipcperf_core::result::Goal;
use ipcperf_core::{
    Arrivals, Axis, Capability, Family, Idle, PatternKind, Placement, Touch, Transform,
};
use ipcperf_engine::registry::Registry;
use ipcperf_report::Format;
use ipcperf_report::snippet::Language;
use std::process::ExitCode;

/// Prints a page, or writes all of them into a folder.
pub(crate) fn man(args: &ManArgs) -> Result<ExitCode, Stop> {
    match &args.dir {
        None => output::to_stdout(&page(args.command.as_deref())?),
        Some(folder) => {
            output::folder("--dir", folder)?;
            clap_mangen::generate_to(Args::command(), folder).map_err(|error| {
                Stop::usage(format!("--dir '{}': {}", folder.display(), output::words(&error)))
            })?;
            Ok(ExitCode::SUCCESS)
        }
    }
}

fn page(name: Option<&str>) -> Result<Vec<u8>, Stop> {
    let mut all = Args::command();
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
    let mut bytes = Vec::new();
    clap_mangen::Man::new(command.clone())
        .render(&mut bytes)
        .map_err(|error| Stop::internal(format!("manual page: {error}")))?;
    Ok(bytes)
}

/// Prints the completions of a shell.
pub(crate) fn completions(registry: &Registry, shell: Shell) -> Result<ExitCode, Stop> {
    let mut bytes = Vec::new();
    clap_complete::generate(shell, &mut with_words(registry), "ipcperf", &mut bytes);
    output::to_stdout(&bytes)
}

/// The command line with the words that its values are made of. Values that are lists of words complete the first of
/// them.
fn with_words(registry: &Registry) -> Command {
    let entries = registry.entries();
    let mechanisms: Vec<String> = entries.iter().map(|entry| entry.spec.full_name()).collect();
    let mut knobs: Vec<String> = Vec::new();
    for entry in entries {
        for knob in entry.knobs {
            let word = format!("{}.{}=", entry.spec.name, knob.name);
            if !knobs.contains(&word) {
                knobs.push(word);
            }
        }
    }
    let lists: Vec<(&str, Vec<&'static str>)> = [
        ("mechanism", mechanisms.clone()),
        ("name", mechanisms.clone()),
        ("names", mechanisms.clone()),
        ("crossover", mechanisms),
        ("over", named(Axis::ALL)),
        ("by", named(Goal::ALL)),
        ("snippet", named(Language::ALL)),
        ("transform", named(Transform::ALL)),
        ("arrivals", named(Arrivals::ALL)),
        ("max_noise", ["A", "B", "C", "D"].map(str::to_owned).to_vec()),
        ("set", knobs),
        ("study", STUDY_NAMES.map(str::to_owned).to_vec()),
        ("pattern", named(PatternKind::ALL)),
        ("place", Placement::words().map(str::to_owned).collect()),
        ("idle", named(Idle::ALL)),
        ("touch", named(Touch::ALL)),
        ("family", named(Family::ALL)),
        ("can", named(Capability::ALL)),
        ("format", named(Format::ALL)),
    ]
    .into_iter()
    .map(|(id, words)| (id, words.into_iter().map(|word| &*word.leak()).collect()))
    .collect();
    let complete = |arg: Arg| match lists.iter().find(|(id, _)| *id == arg.get_id().as_str()) {
        Some((_, words)) => arg.value_parser(PossibleValuesParser::new(words)),
        None => arg,
    };
    completed(Args::command(), &complete)
}

/// A command and those below it.
fn completed(command: Command, complete: &dyn Fn(Arg) -> Arg) -> Command {
    command.mut_args(complete).mut_subcommands(|below| completed(below, complete))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_command_has_a_page_and_a_wrong_one_names_the_nearest() {
        let all = Args::command();
        for command in all.get_subcommands().filter(|command| !command.is_hide_set()) {
            let name = command.get_name();
            let text = String::from_utf8(page(Some(name)).expect(name)).expect(name);
            assert!(text.contains(&format!(".TH ipcperf-{name}")), "{name}: {text}");
            assert!(name == "clean" || text.contains("Examples:"), "{name}: {text}");
        }
        let refused = page(Some("reprot")).expect_err("no such command");
        assert_eq!(refused.to_string(), "unknown command 'reprot'; did you mean 'report'?");
    }

    #[test]
    fn every_shell_completes_mechanisms_patterns_placements_knobs_and_files() {
        let registry = crate::builtin();
        for shell in [Shell::Bash, Shell::Fish, Shell::Zsh] {
            let mut bytes = Vec::new();
            clap_complete::generate(shell, &mut with_words(&registry), "ipcperf", &mut bytes);
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
                Shell::Zsh => line.contains("'--payload=") && line.contains(":FILES:_files'"),
                Shell::Fish => line.contains("-l payload ") && line.ends_with(" -r -F"),
                _ => line.contains("--payload"),
            });
            assert!(completes_files, "{shell}");
        }
    }
}

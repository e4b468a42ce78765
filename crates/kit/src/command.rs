//! What a command is: a row.
//!
//! The command line, its help, manual pages, completions, hints, the dispatch, the tasks of workers, the documents that can be
//! read and the words that can be explained are made from the rows.

use crate::document::Screen;
use crate::document_kind::DocumentKind;
use crate::error::Stop;
use crate::hint::Subject;
use crate::word::{Vocabulary, Word};
use crate::{documentation, hint, output};
use clap::builder::{PossibleValue, StyledStr, Styles};
use clap::{ArgMatches, Args};
use ipcperf_core::findings;
use ipcperf_engine::registry::Registry;
use ipcperf_engine::tasks::TaskRow;
use ipcperf_render::text::wrap;
use std::ffi::{OsStr, OsString};
use std::process::ExitCode;

/// What the commands that stand together in the help are for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CommandGroup {
    /// Measuring mechanisms.
    Measure,
    /// Reading results.
    Results,
    /// Running programs of the user.
    Programs,
    /// Mechanisms and this machine.
    Machine,
    /// Shells and `man`.
    Shell,
}

impl CommandGroup {
    const ALL: [Self; 5] =
        [Self::Measure, Self::Results, Self::Programs, Self::Machine, Self::Shell];

    const fn heading(self) -> &'static str {
        match self {
            Self::Measure => "Measure",
            Self::Results => "Read results",
            Self::Programs => "Your own programs",
            Self::Machine => "Mechanisms and this machine",
            Self::Shell => "Shell",
        }
    }
}

/// Arguments that are a command.
pub trait CommandArgs: Args {
    /// The word that is typed.
    const NAME: &'static str;
    /// Where it stands in the help.
    const GROUP: CommandGroup;
    /// One line of help.
    const ABOUT: &'static str;
    /// What stands below the help of the command. Every line that begins with `ipcperf` can be typed.
    const EXAMPLES: &'static str;
    /// The flags that most people need, each with a line of help: all that `-h` shows, and a section of `--help`. Without
    /// one, `-h` shows all flags.
    const COMMON: &'static [(&'static str, &'static str)] = &[];
    /// Whether the help leaves it out.
    const IS_HIDDEN: bool = false;
    /// What its workers can be sent to do, beyond the tasks of the instrument.
    const TASKS: &'static [TaskRow] = &[];
    /// The kinds of documents that it writes.
    const DOCUMENTS: &'static [DocumentKind] = &[];
    /// What it can find, beyond what every run can.
    const FINDINGS: &'static [findings::Row] = &[];
    /// The words of its screens, beyond the findings of every run.
    const WORDS: fn() -> &'static [Word] = || &[];
    /// How the results begin that it makes.
    const SCREEN: Option<Screen> = None;
    /// What a user passes to it and may type in another place by mistake.
    const SUBJECT: Option<Subject> = None;
    /// The exit code of every failure, wrong usage included, where the caller of the command gives the usual ones another
    /// meaning.
    const FAILURE: Option<u8> = None;

    /// Completes the declaration with what depends on the list of all commands.
    #[must_use]
    fn declare(command: clap::Command, _commands: &[Command]) -> clap::Command {
        command
    }

    /// Does what the arguments say.
    ///
    /// # Errors
    /// Why it stopped, with its exit code.
    fn run(&self, context: &Context<'_>) -> Result<ExitCode, Stop>;
}

/// What a command can use besides its arguments.
#[derive(Clone, Copy, Debug)]
pub struct Context<'a> {
    /// The mechanisms.
    pub registry: &'a Registry,
    /// All commands.
    pub commands: &'a [Command],
    /// What was typed of this command.
    pub typed: &'a ArgMatches,
}

impl Context<'_> {
    /// The whole command line as it is declared.
    pub fn command_line(&self) -> clap::Command {
        command_line(self.commands)
    }
}

/// A command.
#[derive(Clone, Copy, Debug)]
pub struct Command {
    name: &'static str,
    group: CommandGroup,
    about: &'static str,
    examples: &'static str,
    common: &'static [(&'static str, &'static str)],
    is_hidden: bool,
    tasks: &'static [TaskRow],
    documents: &'static [DocumentKind],
    findings: &'static [findings::Row],
    words: fn() -> &'static [Word],
    screen: Option<Screen>,
    subject: Option<Subject>,
    failure: Option<u8>,
    arguments: fn(clap::Command) -> clap::Command,
    declare: fn(clap::Command, &[Command]) -> clap::Command,
    run: fn(&Context<'_>) -> Result<ExitCode, Stop>,
}

impl Command {
    /// The row of a command.
    pub const fn of<A: CommandArgs>() -> Self {
        Self {
            name: A::NAME,
            group: A::GROUP,
            about: A::ABOUT,
            examples: A::EXAMPLES,
            common: A::COMMON,
            is_hidden: A::IS_HIDDEN,
            tasks: A::TASKS,
            documents: A::DOCUMENTS,
            findings: A::FINDINGS,
            words: A::WORDS,
            screen: A::SCREEN,
            subject: A::SUBJECT,
            failure: A::FAILURE,
            arguments: A::augment_args,
            declare: A::declare,
            run: run::<A>,
        }
    }

    /// Whether this is what is typed.
    pub(crate) fn is_named(&self, word: &OsStr) -> bool {
        word == self.name
    }

    fn declared(&self, commands: &[Self]) -> clap::Command {
        // clap takes the comment on the type of the arguments for help, which it is not.
        let command = (self.arguments)(clap::Command::new(self.name));
        let command = command.about(self.about).long_about(None::<&str>).hide(self.is_hidden);
        let command = match self.examples {
            "" => command,
            examples if self.common.is_empty() => command.after_help(examples),
            examples => command.after_help(first(examples)).after_long_help(examples),
        };
        let command = (self.declare)(command, commands);
        match self.common {
            [] => command,
            common => command.mut_args(|arg| in_order_of_need(arg, common)),
        }
    }
}

/// A flag with its short help under one heading, or one that only `--help` shows.
fn in_order_of_need(arg: clap::Arg, common: &[(&'static str, &'static str)]) -> clap::Arg {
    let is_this = |(name, _): &&(&str, &str)| arg.get_id() == *name;
    let short = common.iter().find(is_this);
    let arg = with_values(arg);
    match short {
        Some((_, short)) => arg.help_heading(COMMON).help(*short),
        None => arg.hide_short_help(true),
    }
}

/// A flag with its values and its default in the sentences of its long help, where they would be paragraphs of their own.
fn with_values(arg: clap::Arg) -> clap::Arg {
    let help = arg.get_help().map(ToString::to_string).unwrap_or_default();
    if !arg.get_action().takes_values() {
        return arg.long_help(help);
    }
    let values = arg.get_possible_values();
    let is_named = |value: &PossibleValue| {
        help.split(|sign: char| !sign.is_alphanumeric() && sign != '-')
            .any(|word| word == value.get_name())
    };
    let words = |value: &PossibleValue| {
        let (name, help) = (value.get_name(), value.get_help().map(ToString::to_string));
        match help.filter(|help| !help.eq_ignore_ascii_case(name)) {
            Some(help) => format!("{name} ({}{})", help[..1].to_lowercase(), &help[1..]),
            None => name.to_owned(),
        }
    };
    let mut long = help.clone();
    if !values.iter().all(is_named) {
        let values: Vec<String> = values.iter().map(words).collect();
        long += &format!(" [possible values: {}]", values.join(", "));
    }
    let defaults = arg.get_default_values().iter().map(|value| value.to_string_lossy());
    let defaults = defaults.collect::<Vec<_>>().join(",");
    if !defaults.is_empty() {
        long += &format!(" [default: {defaults}]");
    }
    arg.hide_possible_values(true).hide_default_value(true).long_help(long)
}

/// The first examples, for the short help, without their descriptions.
fn first(examples: &'static str) -> String {
    let typed = |line: &'static str| line.split_once("   ").map_or(line, |(typed, _)| typed);
    let mut lines: Vec<&str> = examples.lines().take(1 + EXAMPLES).map(typed).collect();
    lines.push(MORE);
    lines.join("\n")
}

/// The section of flags that most people need.
const COMMON: &str = "Common options";

/// Examples of a short help.
const EXAMPLES: usize = 3;

/// Where the others are.
const MORE: &str = "More options by pattern, gates, output: --help";

fn run<A: CommandArgs>(context: &Context<'_>) -> Result<ExitCode, Stop> {
    let read = A::from_arg_matches(context.typed);
    let args = read.map_err(|error| {
        let words: Vec<OsString> = std::env::args_os().skip(1).collect();
        let subjects = subjects(context.commands);
        hint::usage(context.registry, context.command_line(), &subjects, &words, &error)
    })?;
    args.run(context)
}

/// The tasks that commands bring with them, each once.
pub fn tasks(commands: &[Command]) -> Vec<TaskRow> {
    let mut all: Vec<TaskRow> = Vec::new();
    for row in commands.iter().flat_map(|command| command.tasks) {
        if all.iter().all(|known| known.name != row.name) {
            all.push(*row);
        }
    }
    all
}

/// The kinds of documents that commands write, each once.
pub fn documents(commands: &[Command]) -> Vec<DocumentKind> {
    let mut all: Vec<DocumentKind> = Vec::new();
    for row in commands.iter().flat_map(|command| command.documents) {
        if all.iter().all(|known| known.name != row.name) {
            all.push(*row);
        }
    }
    all
}

/// The exit code with which the command of these words ends if it fails, where it has one of its own.
#[must_use]
pub fn failure(commands: &[Command], words: &[OsString]) -> Option<u8> {
    let word = words.first()?;
    commands.iter().find(|command| word == command.name)?.failure
}

/// How results begin, by the commands that make them.
#[must_use]
pub fn screens(commands: &[Command]) -> Vec<Screen> {
    commands.iter().filter_map(|command| command.screen).collect()
}

/// What commands are given, each with the name of its command.
#[must_use]
pub fn subjects(commands: &[Command]) -> Vec<(&'static str, Subject)> {
    commands.iter().filter_map(|command| Some((command.name, command.subject?))).collect()
}

/// The words of all output: the findings of every run, and what these commands add.
#[must_use]
pub fn vocabulary(commands: &[Command]) -> Vocabulary {
    let findings = commands.iter().flat_map(|command| command.findings);
    let words = commands.iter().flat_map(|command| (command.words)());
    Vocabulary::new(findings, words)
}

/// The whole command line. Without a command its arguments are those of the first.
pub fn command_line(commands: &[Command]) -> clap::Command {
    let all = clap::Command::new("ipcperf")
        .version(crate::build::VERSION.as_str())
        .term_width(width())
        .args_conflicts_with_subcommands(true)
        .after_help(format!("{}\n\n{EXIT_CODES}", documentation::line()))
        .help_template(template(commands));
    let default = |all| commands.iter().take(1).fold(all, |all, command| (command.arguments)(all));
    default(all)
        .about(ABOUT)
        .long_about(format!("{ABOUT}.\n\n{WITHOUT_A_COMMAND}"))
        .subcommands(commands.iter().map(|command| command.declared(commands)))
}

/// Words as clap takes them, behind the name of the program.
pub fn with_program(words: &[OsString]) -> impl Iterator<Item = OsString> {
    std::iter::once("ipcperf".into()).chain(words.iter().cloned())
}

/// The help of the whole: as clap writes it, with the commands by groups.
fn template(commands: &[Command]) -> StyledStr {
    let style = Styles::default();
    let (heading, word) = (style.get_header(), style.get_literal());
    let mut text = "{before-help}{about-with-newline}\n{usage-heading} {usage}\n\n".to_owned();
    let shown = || commands.iter().filter(|command| !command.is_hidden);
    let widest = shown().map(|command| command.name.len()).max().unwrap_or(0);
    let width = width();
    for group in CommandGroup::ALL {
        text += &format!("{heading}{}:{heading:#}\n", group.heading());
        for Command { name, about, .. } in shown().filter(|command| command.group == group) {
            let mut lines = wrap(&format!("  {name:widest$}  "), about, width).into_iter();
            let first = lines.next().unwrap_or_default();
            text += &first.replacen(name, &format!("{word}{name}{word:#}"), 1);
            lines.for_each(|line| text += &format!("\n{line}"));
            text.push('\n');
        }
        text.push('\n');
    }
    text += &format!("{heading}Options:{heading:#}\n{{options}}{{after-help}}");
    text.into()
}

/// The widest help, in columns.
const WIDEST: usize = 100;

/// How wide the help is.
fn width() -> usize {
    output::width().map_or(WIDEST, |width| width.min(WIDEST))
}

/// Does what was typed.
///
/// # Errors
/// As [`CommandArgs::run`].
pub fn dispatch(
    registry: &Registry,
    commands: &[Command],
    typed: &ArgMatches,
) -> Result<ExitCode, Stop> {
    let (command, typed) = match typed.subcommand() {
        Some((name, typed)) => (commands.iter().find(|command| command.name == name), typed),
        None => (commands.first(), typed),
    };
    let command = command.ok_or_else(|| Stop::internal("there is no such command"))?;
    (command.run)(&Context { registry, commands, typed })
}

const ABOUT: &str = "Measures every way two processes on one Linux host can exchange data, proves that the data really \
                     moved, and says which one to use";

const WITHOUT_A_COMMAND: &str = "Without a command, ipcperf runs the survey: every mechanism this machine has, in about a minute.";

const EXIT_CODES: &str = "Exit codes: 0 success, 1 internal error or failed cell, 2 usage error, 3 nothing could run \
here or nothing meets the requirements of choose, 4 document of another kind or version, or not comparable, 5 invalid \
measurement or a faulty benchmark, 6 slower than --fail-on allows, 7 a --fail-if condition is met, 8 noisier than \
--max-noise allows, 9 a gate is undecided, 130 interrupted (results so far are written).";

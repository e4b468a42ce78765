//! `list` and `describe`: all mechanisms, and whether this machine has them.

pub(crate) mod describe;
pub(crate) mod reference;
pub(crate) mod table;

use crate::documents;
use crate::list::table::ListRow;
use crate::snippets::{self, Language};
use ipcperf_core::{Capability, Family, OptionSet, Spec, UnknownName};
use ipcperf_engine::registry::{Entry, Registry};
use ipcperf_kit::args::{LabelArgs, LookArgs};
use ipcperf_kit::command::{CommandArgs, CommandGroup, Context};
use ipcperf_kit::document_kind::DocumentKind;
use ipcperf_kit::error::{Stop, unknown};
use ipcperf_kit::request::Asked;
use ipcperf_kit::words::Words;
use ipcperf_kit::{output, request};
use ipcperf_render::Format;
use ipcperf_sys::rundir::RunDirectory;
use ipcperf_sys::signals;
use std::process::ExitCode;
use std::str::FromStr;

#[derive(Clone, Debug, clap::Args)]
pub(crate) struct ListArgs {
    /// List only these families
    #[arg(long, value_name = "FAMILIES", value_parser = Words::of(Family::ALL, Family::name))]
    pub(crate) family: Vec<String>,
    /// List only mechanisms with all of these capabilities
    #[arg(long, value_name = "CAPABILITIES", value_parser = Words::of(Capability::ALL, Capability::name))]
    pub(crate) can: Vec<String>,
    #[command(flatten)]
    pub(crate) label: LabelArgs,
    #[command(flatten)]
    pub(crate) look: LookArgs,
    /// Do not test what this machine has; list all mechanisms
    #[arg(long)]
    pub(crate) no_probe: bool,
    /// The same as --format json
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Clone, Debug, clap::Args)]
pub(crate) struct DescribeArgs {
    /// The mechanism: pipe, unix-stream/spin
    pub(crate) name: String,
    /// Print a complete program that makes a round trip
    #[arg(long, value_name = "LANGUAGE", value_parser = Words::of(Language::ALL, Language::name), conflicts_with = "format")]
    pub(crate) snippet: Option<String>,
    #[command(flatten)]
    pub(crate) look: LookArgs,
}

/// What is known of a mechanism without trying it.
fn untried(entry: &Entry) -> ListRow {
    ListRow { spec: entry.spec, knobs: entry.knobs, tried: false, missing: None, limit: None }
}

fn tried(entry: &Entry, options: &OptionSet) -> Result<ListRow, Stop> {
    let refused = |error| Stop::internal(format!("{}: {error}", entry.spec.full_name()));
    Ok(ListRow {
        tried: true,
        missing: entry.probe(options).map_err(refused)?.err(),
        limit: entry.limit(options).map_err(refused)?,
        ..untried(entry)
    })
}

/// The words of a list such as `unrelated,boundaries`; each must be known.
pub(crate) fn words<T: FromStr<Err = UnknownName>>(
    lists: &[String],
    where_listed: &str,
) -> Result<Vec<T>, Stop> {
    let word = |word: &str| {
        let word = word.trim();
        word.parse()
            .map_err(|error: UnknownName| unknown(error.kind, word, error.known, where_listed))
    };
    lists.iter().flat_map(|list| list.split(',')).map(word).collect()
}

impl CommandArgs for ListArgs {
    const NAME: &'static str = "list";
    const GROUP: CommandGroup = CommandGroup::Machine;
    const ABOUT: &'static str = "List the mechanisms and whether this machine has them";
    const EXAMPLES: &'static str = "Examples:
  ipcperf list
  ipcperf list --can unrelated,boundaries       whole messages between any two processes
  ipcperf list --family shared-memory --format json";
    const DOCUMENTS: &'static [DocumentKind] = &[documents::MECHANISMS];

    fn run(&self, context: &Context<'_>) -> Result<ExitCode, Stop> {
        list(context.registry, self)
    }
}

fn list(registry: &Registry, args: &ListArgs) -> Result<ExitCode, Stop> {
    let format = if args.json { Format::Json } else { output::format(&args.look)? };
    let origin = args.label.origin_if(format == Format::Json)?;
    let families: Vec<Family> = words(&args.family, "'ipcperf list -h' shows the families")?;
    let wanted: Vec<Capability> = words(&args.can, "'ipcperf list -h' shows the capabilities")?;
    let is_wanted = |entry: &&Entry| {
        (args.family.is_empty() || families.contains(&entry.spec.family))
            && wanted.iter().all(|capability| entry.spec.can(*capability))
    };
    let entries = registry.entries().iter().filter(is_wanted);
    let rows = if args.no_probe {
        entries.map(untried).collect()
    } else {
        // All trials share one directory. If it cannot be made, the trials that need one report it.
        let _held = signals::hold();
        let _directory = RunDirectory::of_trials();
        entries.map(|entry| tried(entry, &OptionSet::default())).collect::<Result<Vec<_>, _>>()?
    };
    let style = output::style(&args.look, false);
    output::put(None, |out| crate::list::table::list(&rows, &origin, format, &style, out))
}

impl CommandArgs for DescribeArgs {
    const NAME: &'static str = "describe";
    const GROUP: CommandGroup = CommandGroup::Machine;
    const ABOUT: &'static str =
        "Describe one mechanism: facts, knobs (tunable settings), costs, pitfalls";
    const EXAMPLES: &'static str = "Examples:
  ipcperf describe unix-stream
  ipcperf describe shm-ring                     its default variant, shm-ring/adaptive";

    fn run(&self, context: &Context<'_>) -> Result<ExitCode, Stop> {
        describe(context.registry, self)
    }
}

fn describe(registry: &Registry, args: &DescribeArgs) -> Result<ExitCode, Stop> {
    let Asked { entry, options } = request::one(registry, &args.name)?;
    if let Some(language) = &args.snippet {
        let program = snippet(registry, entry.spec, self::language(language)?)?;
        return output::to_stdout(program.as_bytes());
    }
    let row = tried(&entry, &options)?;
    let style = output::style(&args.look, false);
    let format = output::format(&args.look)?;
    let origin = LabelArgs::default().origin_if(format == Format::Json)?;
    output::put(None, |out| match format.is_for_people() {
        true => crate::list::describe::describe(&row, format, &style, out),
        false => crate::list::table::list(&[row], &origin, format, &style, out),
    })
}

/// A language by its name.
pub(crate) fn language(word: &str) -> Result<Language, Stop> {
    word.parse().map_err(|error: UnknownName| {
        Stop::usage(format!(
            "unknown language '{}'; known: {}",
            error.given,
            error.known.join(", ")
        ))
    })
}

/// The program for a mechanism in a language as typed; where there is none, what has one.
pub(crate) fn snippet(
    registry: &Registry,
    spec: &Spec,
    language: Language,
) -> Result<&'static str, Stop> {
    let name = spec.full_name();
    snippets::program(&name, language).ok_or_else(|| {
        let near = snippets::nearest(spec, language, &request::specs(registry)).join(", ");
        let mut others = Language::ALL.iter().copied().filter(|other| *other != language);
        let here = match others.find(|other| snippets::program(&name, *other).is_some()) {
            Some(other) => format!("; there is one in {}", other.title()),
            None => String::new(),
        };
        Stop::usage(format!(
            "no program in {} for {name}{here}; the nearest that have one: {near}",
            language.title()
        ))
    })
}

#[derive(Clone, Copy, Debug, clap::Args)]
pub(crate) struct ReferenceArgs {}

impl CommandArgs for ReferenceArgs {
    const NAME: &'static str = "reference";
    const GROUP: CommandGroup = CommandGroup::Shell;
    const ABOUT: &'static str =
        "Print docs/MECHANISMS.md: the facts of all mechanisms, independent of this machine";
    const EXAMPLES: &'static str = "";
    const IS_HIDDEN: bool = true;

    fn run(&self, context: &Context<'_>) -> Result<ExitCode, Stop> {
        reference(context.registry)
    }
}

/// The reference of all mechanisms. Nothing of this host is asked for: the document is the same everywhere.
fn reference(registry: &Registry) -> Result<ExitCode, Stop> {
    let rows: Vec<_> = registry.entries().iter().map(untried).collect();
    output::put(None, |out| crate::list::reference::reference(&rows, out))
}

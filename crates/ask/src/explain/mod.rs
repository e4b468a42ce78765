//! `explain`: what a word means, and where the time of a round trip goes.

pub(crate) mod screen;

use crate::args::{places, typed};
use crate::documents;
use crate::experiment::Experiment;
use crate::explain::screen::{BURSTS, Needed, explain_word, needed};
use crate::results::document::render;
use crate::results::words::term_of;
use ipcperf_core::options::KnobKind;
use ipcperf_core::{Idle, Load, LoadKey, OptionSet, Placement};
use ipcperf_engine::plan::{self, CellPlan, Host, Request};
use ipcperf_engine::registry::{Entry, Registry};
use ipcperf_engine::run::Settings;
use ipcperf_kit::args::{OutputArgs, PlanArgs};
use ipcperf_kit::command::{CommandArgs, CommandGroup, Context, vocabulary};
use ipcperf_kit::document::{Screen, Show};
use ipcperf_kit::document_kind::DocumentKind;
use ipcperf_kit::error::{Stop, note, unknown};
use ipcperf_kit::gates::Gates;
use ipcperf_kit::loads::refused;
use ipcperf_kit::reading::read_result;
use ipcperf_kit::word::Vocabulary;
use ipcperf_kit::{output, request};
use ipcperf_render::{Format, Style};
use std::collections::HashSet;
use std::io::{self, Write};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

#[derive(Clone, Debug, clap::Args)]
pub(crate) struct ExplainArgs {
    /// A mechanism; two mechanisms, to explain their difference (unix-stream pipe); or a word of the output (W-LOSS,
    /// '~', grade, SLOWER) [default: list all words]
    #[arg(value_name = "NAME", num_args = 0..=2)]
    pub(crate) names: Vec<String>,
    /// Show the explanation stored in a result file instead of measuring
    #[arg(long, value_name = "RESULT.json", conflicts_with_all = ["names", "what_if", "size", "place", "set", "budget", "seed", "dry_run", "output"])]
    pub(crate) from: Option<PathBuf>,
    /// Also change one thing at a time (wait variant, knob, placement, idle policy, buffer alignment) and rank the
    /// effects (-v shows all of them)
    #[arg(long)]
    pub(crate) what_if: bool,
    /// Message size [default: 64]
    #[arg(short, long, value_name = "SIZE")]
    pub(crate) size: Option<String>,
    /// CPU placements [default: same-cpu and two close cores]
    #[arg(long, value_name = "PLACES", value_parser = places())]
    pub(crate) place: Vec<String>,
    /// Set a knob: unix-stream.bind=path (repeatable; 'ipcperf describe' lists them)
    #[arg(long, value_name = "MECHANISM.KNOB=VALUE")]
    pub(crate) set: Vec<String>,
    /// Time limit for the whole run [default: 40s]
    #[arg(long, value_name = "TIME")]
    pub(crate) budget: Option<String>,
    #[command(flatten)]
    pub(crate) plan: PlanArgs,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

/// Timed region of a slice: the parts are differences of medians, so rounds help more than long slices.
const SLICE: Duration = Duration::from_millis(25);

/// How long it may take unless asked otherwise.
const BUDGET: &str = "40s";

/// Most rounds: 60 leave of a spread of 10 % an interval of 3 %.
const ROUNDS: u64 = 60;

impl CommandArgs for ExplainArgs {
    const NAME: &'static str = "explain";
    const GROUP: CommandGroup = CommandGroup::Measure;
    const ABOUT: &'static str = "Break down the time of a round trip, or explain a word of the output: a mark, finding, grade or verdict";
    const EXAMPLES: &'static str = "Examples:
  ipcperf explain unix-stream               where the time of a round trip goes
  ipcperf explain unix-stream pipe          where the difference comes from
  ipcperf explain unix-stream --what-if     what one change at a time does
  ipcperf explain W-LOSS                    a finding; also marks ('~'), grades and verdicts (SLOWER)";
    const DOCUMENTS: &'static [DocumentKind] = &[documents::RESULT];
    const SCREEN: Option<Screen> = Some(screen::SCREEN);

    fn run(&self, context: &Context<'_>) -> Result<ExitCode, Stop> {
        run(context, self)
    }
}

fn run(context: &Context<'_>, args: &ExplainArgs) -> Result<ExitCode, Stop> {
    let registry = context.registry;
    let vocabulary = vocabulary(context.commands);
    if let Some(path) = &args.from {
        let set = read_result(path)?;
        if set.invocation.plan.command != "explain" {
            let shown = path.display();
            return Err(Stop::usage(format!(
                "'{shown}': no result of 'ipcperf explain NAME -o FILE'"
            )));
        }
        let specs = request::specs(registry);
        return show(
            |out, format, style| {
                let screens = &[screen::SCREEN];
                render(&set, &Show { specs: &specs, screens, ..Show::new(format, style) }, out)
            },
            args,
        );
    }
    let word = match args.names.as_slice() {
        [] => None,
        [name] if is_only_word(&vocabulary, registry, name) => Some(name.as_str()),
        [name] if term_of(name).is_some() && request::one(registry, name).is_err() => term_of(name),
        names => return round_trips(context, &vocabulary, names, args),
    };
    let format = output::format(&args.output.look)?;
    if !format.is_for_people() {
        return Err(Stop::usage(format!(
            "--format {format}: words are shown as table, markdown or html"
        )));
    }
    let ExplainArgs { what_if, size, place, set, budget, plan, output, .. } = args;
    let is_of_trips =
        *what_if || plan.dry_run || plan.seed.is_some() || !set.is_empty() || !place.is_empty();
    let texts = [size, budget].into_iter().any(Option::is_some);
    if is_of_trips || texts || output.output.is_some() {
        return Err(Stop::usage(
            "a word is explained from a table, and takes --format and --color alone; name a mechanism to measure",
        ));
    }
    show(|out, format, style| explain_word(&vocabulary, word, format, style, out), args)
}

fn show(
    write: impl FnOnce(&mut dyn Write, Format, &Style) -> io::Result<()>,
    args: &ExplainArgs,
) -> Result<ExitCode, Stop> {
    let look = &args.output.look;
    let format = output::format(look)?;
    let style = output::table_style(look, &args.output.tables, false);
    output::put(None, |out| write(out, format, &style))
}

fn is_only_word(vocabulary: &Vocabulary, registry: &Registry, name: &str) -> bool {
    vocabulary.has(name) && request::one(registry, name).is_err()
}

/// A mechanism; what is none may be a word as well.
fn mechanism(vocabulary: &Vocabulary, registry: &Registry, name: &str) -> Result<Entry, Stop> {
    if is_only_word(vocabulary, registry, name) {
        return Err(Stop::usage(format!("'{name}' is a word, not a mechanism; explain it alone")));
    }
    request::mechanism(registry, name).copied().map_err(|_| {
        let names: Vec<String> =
            registry.entries().iter().map(|entry| entry.spec.full_name()).collect();
        let mut known: Vec<&str> = names.iter().map(String::as_str).collect();
        vocabulary.names().for_each(|word| known.push(word));
        // Codes are said in capitals.
        let code = name.to_uppercase();
        let given = if name.get(1..2) == Some("-") { &code } else { name };
        unknown(
            "mechanism or word",
            given,
            known,
            "'ipcperf list' and 'ipcperf explain' show them all",
        )
    })
}

fn round_trips(
    context: &Context<'_>,
    vocabulary: &Vocabulary,
    names: &[String],
    args: &ExplainArgs,
) -> Result<ExitCode, Stop> {
    let registry = context.registry;
    for name in names {
        mechanism(vocabulary, registry, name.split_whitespace().next().unwrap_or_default())?;
    }
    let (entries, options) = request::block(request::asked(registry, names, &args.set)?)?;
    if let ([one], [_, _]) = (entries.as_slice(), names) {
        return Err(Stop::usage(format!("'{}' is named twice", one.spec.full_name())));
    }
    if args.what_if && entries.len() > 1 {
        return Err(Stop::usage("--what-if changes one mechanism; name one"));
    }
    let host = request::host()?;
    let sizes = request::sizes(args.size.as_deref().unwrap_or("64"))?;
    let [size] = sizes.as_slice() else {
        return Err(Stop::usage("--size: one size is explained at a time"));
    };
    let places = match typed(&args.place) {
        Some(list) => request::placements(&list)?,
        None => [Placement::SameCpu].into_iter().chain(host.topology.two_cpus()).collect(),
    };
    let planner = Planner { registry, host, options };
    let full: Vec<String> = entries.iter().map(|entry| entry.spec.full_name()).collect();
    let mut cells: Vec<CellPlan> = Vec::new();
    for one in needed(&full, *size as u64, &places) {
        cells.push(planner.arm(&one)?);
    }
    if let ([entry], true) = (entries.as_slice(), args.what_if) {
        cells.extend(planner.changes(entry, *size, &places)?);
    }
    for name in &full {
        let mut own = cells.iter().filter(|cell| cell.key.mechanism == *name);
        if let Some(missing) = own.next().and_then(|cell| cell.objection.as_ref())
            && own.all(|cell| cell.objection.is_some())
        {
            return Err(Stop::nothing_ran(format!("{name} cannot run here: {missing}")));
        }
    }
    let mut seen = HashSet::new();
    cells.retain(|cell| seen.insert(cell.id.clone()));
    let budget = request::time(
        "--budget",
        args.budget.as_deref().unwrap_or(BUDGET),
        Duration::from_secs(5),
        Duration::from_secs(24 * 3600),
    )?;
    let settings = Settings {
        rounds: ROUNDS,
        slice: SLICE,
        warmup: SLICE / 5,
        seed: args.plan.seed(),
        budget: Some(budget),
        time_calls: true,
        ..Settings::default()
    };
    let mut experiment = Experiment::new("explain", cells, settings);
    experiment.keep_budget();
    if !args.output.progress.quiet {
        experiment.short("an interval").iter().for_each(|words| note(words));
    }
    experiment.finish(context, args.plan.dry_run, &args.output, &Gates::default())
}

/// Where messages may begin in the buffers of programs: those that take whole pages, and those that take what malloc(3) gives.
const ALIGNMENTS: [&str; 2] = ["page", "malloc"];

/// What makes cells of what is needed.
struct Planner<'a> {
    registry: &'a Registry,
    host: Host,
    options: OptionSet,
}

impl Planner<'_> {
    fn plan(&self, entry: &Entry, one: &Needed, options: &OptionSet) -> Result<CellPlan, Stop> {
        self.loaded(entry, one, options, Load { burst: one.burst, ..Load::default() })
    }

    fn loaded(
        &self,
        entry: &Entry,
        one: &Needed,
        options: &OptionSet,
        load: Load,
    ) -> Result<CellPlan, Stop> {
        let request = Request {
            loads: vec![load],
            options: options.clone(),
            ..request::usual(&[*entry], one.pattern(), &[one.size], one.placement, one.idle)
        };
        let mut cells = plan::cells(&request, &self.host).map_err(request::refused)?;
        cells.pop().ok_or_else(|| Stop::internal("no cell was planned"))
    }

    /// The cell of an arm; of bursts that of most messages that the mechanism is sure to keep.
    fn arm(&self, one: &Needed) -> Result<CellPlan, Stop> {
        let entry = request::mechanism(self.registry, &one.mechanism).copied()?;
        let largest = self.plan(&entry, one, &self.options)?;
        for burst in BURSTS.into_iter().filter(|burst| *burst < one.burst) {
            if largest.objection.is_none() {
                break;
            }
            let fewer = Needed { burst, ..one.clone() };
            let cell = self.plan(&entry, &fewer, &self.options)?;
            if cell.objection.is_none() {
                return Ok(cell);
            }
        }
        Ok(largest)
    }

    /// Round trips that differ in one thing from those over `entry`.
    fn changes(
        &self,
        entry: &Entry,
        size: usize,
        places: &[Placement],
    ) -> Result<Vec<CellPlan>, Stop> {
        let trip = |mechanism: String, placement, idle| Needed {
            mechanism,
            size: size as u64,
            placement,
            idle,
            burst: 0,
        };
        let name = entry.spec.full_name();
        let variants = self.registry.entries().iter().filter(|other| {
            other.spec.name == entry.spec.name && other.spec.variant != entry.spec.variant
        });
        let mut cells = Vec::new();
        for place in places {
            for variant in variants.clone() {
                let one = trip(variant.spec.full_name(), *place, Idle::AsIs);
                cells.push(self.plan(variant, &one, &self.options)?);
            }
            for (knob, value) in settings(entry) {
                let key = format!("{}.{knob}", entry.spec.name);
                if self.options.0.contains_key(&key) {
                    continue;
                }
                let mut options = self.options.clone();
                options.0.insert(key, value);
                cells.push(self.plan(entry, &trip(name.clone(), *place, Idle::AsIs), &options)?);
            }
            for align in ALIGNMENTS.into_iter().filter(|_| entry.spec.wake_word().is_none()) {
                let mut load = Load::default();
                load.set(LoadKey::Align, align).map_err(|error| refused(LoadKey::Align, error))?;
                let one = trip(name.clone(), *place, Idle::AsIs);
                cells.push(self.loaded(entry, &one, &self.options, load)?);
            }
            if place.is_two_cpus() {
                cells.push(self.plan(
                    entry,
                    &trip(name.clone(), *place, Idle::Poll),
                    &self.options,
                )?);
            }
        }
        let others = [
            Placement::Smt,
            Placement::SameLlc,
            Placement::CrossLlc,
            Placement::CrossNode,
            Placement::ECores,
            Placement::CrossKind,
            Placement::Free,
        ];
        let others = others
            .into_iter()
            .filter(|place| !places.contains(place) && self.host.topology.pair(*place).is_some());
        for place in others {
            cells.push(self.plan(entry, &trip(name.clone(), place, Idle::AsIs), &self.options)?);
        }
        Ok(cells)
    }
}

/// Values of the knobs that say themselves which there are; of numbers the ends of a range that a program may use.
fn settings(entry: &Entry) -> Vec<(&'static str, String)> {
    let mut all = Vec::new();
    for knob in entry.knobs {
        let mut values: Vec<String> = match knob.kind {
            KnobKind::Flag => ["on", "off"].map(str::to_owned).to_vec(),
            KnobKind::Choice { words } | KnobKind::Place { words } => {
                words.iter().map(|word| (*word).to_owned()).collect()
            }
            KnobKind::Bytes { min, max } => {
                [4 << 10, 1 << 20].map(|bytes: u64| bytes.clamp(min, max).to_string()).to_vec()
            }
            KnobKind::Count { min, max } => {
                [min, (8 * min).clamp(min, max)].map(|count| count.to_string()).to_vec()
            }
            _ => Vec::new(),
        };
        values.dedup();
        let is_default = |value: &String| knob.default == value;
        all.extend(
            values.into_iter().filter(|value| !is_default(value)).map(|value| (knob.name, value)),
        );
    }
    all
}

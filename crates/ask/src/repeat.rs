//! `repeat`: the plan of a result, carried out again.

use crate::experiment::Experiment;
use crate::{documents, follow, questions};
use clap::Args;
use ipcperf_core::result::{Cell, CellKey};
use ipcperf_core::{KnobKind, Load, LoadKey, OptionSet, PayloadFile};
use ipcperf_engine::plan::{self, CellPlan, Host, Request};
use ipcperf_engine::registry::Registry;
use ipcperf_engine::run::Settings;
use ipcperf_kit::args::{GateArgs, OutputArgs};
use ipcperf_kit::command::{CommandArgs, CommandGroup, Context};
use ipcperf_kit::document_kind::DocumentKind;
use ipcperf_kit::error::Stop;
use ipcperf_kit::gates::Gates;
use ipcperf_kit::paths_in_text;
use ipcperf_kit::{counts, foreign, loads, measure, reading, request};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

#[derive(Clone, Debug, Default, Args)]
pub(crate) struct RepeatArgs {
    /// The result whose plan is carried out again: the same cells, rounds, times and seed
    #[arg(value_name = "RESULT.json")]
    result: PathBuf,
    /// A knob of the result that is a path outside the current directory (repeatable)
    #[arg(long, value_name = "MECHANISM.KNOB=VALUE")]
    set: Vec<String>,
    /// Payload files of the result that lie outside the current directory
    #[arg(long, value_name = "FILES")]
    payload: Vec<String>,
    /// Allow running the programs that the result names
    #[arg(long)]
    allow_exec: bool,
    /// Also write every timed operation to this file, one per line: iters, ns, round, cell, separated by tabs; '-'
    /// prints them instead of a table
    #[arg(long, value_name = "FILE")]
    raw: Option<PathBuf>,
    /// Print the plan and its expected duration without measuring
    #[arg(long)]
    dry_run: bool,
    #[command(flatten, next_help_heading = "Gates")]
    gates: GateArgs,
    #[command(flatten, next_help_heading = "Output")]
    output: OutputArgs,
}

impl CommandArgs for RepeatArgs {
    const NAME: &'static str = "repeat";
    const GROUP: CommandGroup = CommandGroup::Measure;
    const ABOUT: &'static str = "Measure again what a result measured";
    const EXAMPLES: &'static str = "Examples:
  ipcperf repeat ipcperf-20261122T060000Z.json
  ipcperf repeat ipcperf-20261122T060000Z.json --dry-run         what would be measured";
    const DOCUMENTS: &'static [DocumentKind] = &[documents::RESULT];

    fn run(&self, context: &Context<'_>) -> Result<ExitCode, Stop> {
        let mut experiment = plan(context.registry, self)?;
        experiment.write_raw(self.raw.clone())?;
        experiment.finish(context, self.dry_run, &self.output, &Gates::of(&self.gates)?)
    }
}

/// The plan of this result: the same cells in the same order, rounds, times and seed. Paths of it that lead out of the
/// current directory must be typed, too, since the result may be anybody's.
///
/// # Errors
/// It is no result of a run of mechanisms, or this build or host plans other cells; or flags say otherwise.
fn plan(registry: &Registry, args: &RepeatArgs) -> Result<Experiment, Stop> {
    let payloads = args.payload.iter().flat_map(|list| list.split(',')).map(str::trim);
    let mut typed =
        Typed { payloads: payloads.map(str::to_owned).collect(), knobs: OptionSet::default() };
    for setting in &args.set {
        typed.knobs.set(setting).map_err(Stop::usage)?;
    }
    let set = reading::read_result(&args.result)?;
    let shown = args.result.display();
    let refused = |why: String| Stop::usage(format!("'{shown}': {why}"));
    if let Some(pipeline) = set.pipelines.first() {
        let why = format!(
            "programs are not run again from a result; type them: ipcperf exec '{}'",
            pipeline.id
        );
        return Err(refused(why));
    }
    if let Some(plugin) = set.plugins.first() {
        let why = format!(
            "a result does not lead to the plug-in {}; type its path: ipcperf run -m ./{}",
            plugin.name, plugin.file
        );
        return Err(refused(why));
    }
    if set.cells.is_empty() {
        return Err(refused("it has no cells".into()));
    }
    if let Some(name) = typed.says_more_than(&set.cells) {
        return Err(refused(format!("its plan is repeated unchanged; '{name}' would change it")));
    }
    let may_exec = args.allow_exec || args.dry_run;
    let loads = || set.cells.iter().map(|cell| &cell.key.load);
    let beside = |load: &Load| Some(load.neighbour.as_ref()?.program()?.to_owned());
    let programs: BTreeSet<String> =
        loads().filter_map(Load::program).chain(loads().filter_map(beside)).collect();
    let programs: Vec<String> = programs.into_iter().collect();
    follow::permit(&format!("'{shown}'"), &programs, may_exec)?;
    if let Some(address) = set.cells.iter().find_map(|cell| cell.key.load.at.as_ref()) {
        let why = format!(
            "an end that is running already is not reached from a result; type it: --at {address}"
        );
        return Err(refused(why));
    }
    let host = request::host()?;
    let cell = |cell: &Cell| {
        typed.permits(cell).map_err(refused)?;
        again(registry, &host, cell).map_err(|why| refused(format!("cell '{}': {why}", cell.id)))
    };
    let cells = set.cells.iter().map(cell).collect::<Result<Vec<_>, _>>()?;
    let as_planned = &set.invocation.plan;
    let time = |name: &str, ms: f64, least: Duration, most: Duration| {
        let text = format!("{}us", (ms * 1e3).round().clamp(0.0, 1e12));
        request::time(name, &text, least, most).map_err(|stop| refused(stop.to_string()))
    };
    let (ms, s) = (Duration::from_millis(1), Duration::from_secs(1));
    if !(1..=10_000).contains(&as_planned.rounds) {
        return Err(refused(format!("{} rounds are not between 1 and 10000", as_planned.rounds)));
    }
    let counts = counts::counts(as_planned.samples, as_planned.warmup_operations, as_planned.batch)
        .map_err(|stop| refused(stop.to_string()))?;
    let staging = questions::again(registry, &set, &cells);
    let seconds = as_planned.expected_s;
    if staging.is_some() && !(1.0..=1e6).contains(&seconds) {
        return Err(refused(format!("{seconds} s are no budget")));
    }
    let settings = Settings {
        rounds: as_planned.rounds,
        slice: match counts.samples {
            0 => time("slice", as_planned.slice_ms, ms, 600 * s)?,
            _ => measure::SLICE,
        },
        warmup: match counts.warmup {
            0 => time("warm-up", as_planned.warmup_ms, ms, 60 * s)?,
            _ => measure::WARMUP,
        },
        counts,
        keeps_samples: false,
        seed: set.invocation.seed,
        budget: staging.as_ref().map(|_| Duration::from_secs_f64(seconds)),
        time_calls: set.cells.iter().any(|cell| cell.calls.is_some()),
    };
    counts::fits(&settings, cells.iter().map(|cell| (cell.key.pattern, &cell.key.load)))
        .map_err(|stop| refused(stop.to_string()))?;
    let mut known = ["survey", "choose", "explain"].into_iter();
    let command = known.find(|known| *known == as_planned.command).unwrap_or("run");
    let requirements = as_planned.requirements.clone();
    let margin = as_planned.margin;
    let experiment = Experiment::new(command, cells, settings);
    Ok(Experiment { requirements, margin, staging, ..experiment })
}

/// A path of a document, in which the home directory is shortened, as it was typed.
fn as_typed(path: &str) -> String {
    let home = path.strip_prefix("~/").zip(paths_in_text::home());
    home.map_or_else(|| path.to_owned(), |(rest, home)| format!("{home}/{rest}"))
}

/// Paths that were typed beside a result because it has them.
struct Typed {
    payloads: Vec<String>,
    knobs: OptionSet,
}

impl Typed {
    fn has_payload(&self, file: &str) -> bool {
        self.payloads.iter().any(|typed| as_typed(typed) == as_typed(file))
    }

    fn has_knob(&self, knob: &str, value: &str) -> bool {
        self.knobs.0.get(knob).is_some_and(|typed| as_typed(typed) == as_typed(value))
    }

    /// Refuses what lies outside the current directory and was not typed.
    fn permits(&self, cell: &Cell) -> Result<(), String> {
        let payload = cell.key.load.payload.as_ref().map(|payload| as_typed(&payload.file));
        if let Some(file) = payload
            && !foreign::stays_below(Path::new(&file))
            && !self.has_payload(&file)
        {
            return Err(foreign::leads_out("payload", &file, &format!("--payload {file}")));
        }
        for (knob, path) in
            cell.requested().0.into_iter().filter(|(_, path)| KnobKind::is_path(path))
        {
            if !self.has_knob(&knob, &path) {
                return Err(foreign::leads_out(&knob, &path, &format!("--set {knob}={path}")));
            }
        }
        Ok(())
    }

    /// The flag that was typed for something which none of these cells has.
    fn says_more_than(&self, cells: &[Cell]) -> Option<&'static str> {
        let files = cells.iter().filter_map(|cell| cell.key.load.payload.as_ref());
        let files: Vec<String> = files.map(|payload| as_typed(&payload.file)).collect();
        let knobs: Vec<OptionSet> = cells.iter().map(Cell::requested).collect();
        let is_known = |(knob, typed): (&String, &String)| {
            let known = knobs.iter().filter_map(|knobs| knobs.0.get(knob));
            known.into_iter().any(|known| as_typed(known) == as_typed(typed))
        };
        let unknown = |typed: &String| !files.contains(&as_typed(typed));
        if self.payloads.iter().any(unknown) {
            return Some(LoadKey::Payload.name());
        }
        (!self.knobs.0.iter().all(is_known)).then_some("set")
    }
}

/// The file that its messages were cut from, which has to have the same content.
fn payload(before: &PayloadFile) -> Result<PayloadFile, String> {
    let file = as_typed(&before.file);
    loads::payload(&PayloadFile { file, ..before.clone() }).map_err(|stop| stop.to_string())
}

/// Refuses a size or a load that nobody could have typed: the file may be anybody's.
fn check(key: &CellKey) -> Result<(), Stop> {
    request::sizes(&key.size_bytes.to_string())?;
    let mut load = Load::default();
    for asked in LoadKey::ALL {
        if let Some(value) = key.load.value(*asked) {
            load.set(*asked, &value).map_err(|error| loads::refused(*asked, error))?;
        }
    }
    Ok(())
}

/// The cell as it is planned here.
fn again(registry: &Registry, host: &Host, cell: &Cell) -> Result<CellPlan, String> {
    let (key, told) = (&cell.key, |stop: Stop| stop.to_string());
    check(key).map_err(told)?;
    let mut load = key.load.clone();
    load.payload = load.payload.as_ref().map(payload).transpose()?;
    load.follow.iter_mut().for_each(|word| *word = as_typed(word));
    follow::check(&load.follow, key.pattern, key.touch).map_err(told)?;
    let entry = *request::mechanism(registry, &key.mechanism).map_err(told)?;
    let request = Request {
        touch: key.touch,
        loads: vec![load],
        options: cell.requested(),
        ..request::usual(&[entry], key.pattern, &[key.size_bytes], key.placement, key.idle)
    };
    let mut cells = plan::cells(&request, host).map_err(|error| error.to_string())?;
    match (cells.pop(), cells.is_empty()) {
        (Some(one), true) if one.id == cell.id => Ok(one),
        (Some(other), _) => Err(format!("this build plans '{}' in its place", other.id)),
        (None, _) => Err("this build plans nothing in its place".into()),
    }
}

//! `crossover`: where one of two mechanisms overtakes the other as something grows. Points of a list first, then
//! such between the last certain win of one and the first of the other.

pub(crate) mod screen;

use crate::args::{self, CellArgs, LengthArgs, typed};
use crate::compare::arm;

use crate::experiment::{Experiment, settings};
use crate::{documents, experiment};
use clap::Args as ClapArgs;
use ipcperf_core::result::{CellKey, Crossover, Plan};
use ipcperf_core::{Axis, Figure, LoadKey, PatternKind, Touch};
use ipcperf_engine::figures_of;
use ipcperf_engine::plan::{CellPlan, Host};
use ipcperf_engine::registry::Registry;
use ipcperf_engine::run::{self, CellRun};
use ipcperf_judge::{metric_of, winner};
use ipcperf_kit::args::{GateArgs, MarginArgs, OutputArgs, PlanArgs};
use ipcperf_kit::command::{CommandArgs, CommandGroup, Context};
use ipcperf_kit::document::Screen;
use ipcperf_kit::document_kind::DocumentKind;
use ipcperf_kit::error::{Stop, note};
use ipcperf_kit::gates::Gates;
use ipcperf_kit::loads::{LoadArgs, loads};
use ipcperf_kit::words::Words;
use ipcperf_kit::{counts, request};
use ipcperf_stats::{Looked, next_point, rounds_for_points};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Instant;

/// Points beyond those of the list. From two that are 4 times apart, four on either side of what cannot be told end less
/// than a tenth apart; the rest is for curves that cross more than once.
const STEPS: u64 = 12;

/// Two points are no search, and with more than this nothing that differs by a few percent would be certain of any.
const POINTS: std::ops::RangeInclusive<usize> = 2..=64;

/// How many times as long as planned a search may take before no further point is begun: on a machine that is busy
/// otherwise slices take longer.
const LATE: u32 = 2;

/// What an axis is called on the command line, and where a search looks first unless it is told.
struct AxisRow {
    flag: &'static str,
    list: &'static str,
    pattern: PatternKind,
    key: Option<LoadKey>,
}

const fn row(axis: Axis) -> AxisRow {
    let trips = PatternKind::PingPong;
    let (flag, list, pattern, key) = match axis {
        Axis::Size => ("-s", "64..1M:*4", trips, None),
        Axis::Conns => ("--conns", "1,2,4,8,16,32,64", PatternKind::Connect, Some(LoadKey::Conns)),
        Axis::Rate => ("--rate", "1k,2k,4k,8k,16k,32k", PatternKind::Rate, Some(LoadKey::Rate)),
        Axis::Think => ("--think", "1us,10us,100us,1ms,10ms", trips, Some(LoadKey::Think)),
    };
    AxisRow { flag, list, pattern, key }
}

/// A number that can be had and is easily read: 5 digits of the size in binary, 2 of anything else.
fn rounded(axis: Axis, at: f64) -> u64 {
    let unit = match axis {
        Axis::Size => (at.max(16.0).log2().floor() - 4.0).exp2(),
        _ => 10_f64.powf((at.max(10.0).log10().floor() - 1.0).max(0.0)),
    };
    ((at / unit).round() * unit) as u64
}

#[derive(Clone, Debug, ClapArgs)]
pub(crate) struct CrossoverArgs {
    /// A mechanism. It may have knobs: 'pipe size=1M'
    #[arg(value_name = "A")]
    a: String,
    /// The mechanism that it is compared with
    #[arg(value_name = "B")]
    b: String,
    /// The parameter that grows; -s, --conns, --rate or --think list the first points
    #[arg(long, value_name = "AXIS", value_parser = Words::of(Axis::ALL, Axis::name))]
    over: String,
    #[command(flatten)]
    cells: CellArgs,
    #[command(flatten)]
    length: LengthArgs,
    /// Also write every timed operation to this file, one per line: iters, ns, round, cell, separated by tabs; '-'
    /// prints them instead of a table
    #[arg(long, value_name = "FILE")]
    raw: Option<PathBuf>,
    #[command(flatten)]
    margin: MarginArgs,
    #[command(flatten)]
    plan: PlanArgs,
    #[command(flatten, next_help_heading = "Gates")]
    gates: GateArgs,
    #[command(flatten, next_help_heading = "Output")]
    output: OutputArgs,
}

impl CommandArgs for CrossoverArgs {
    const NAME: &'static str = "crossover";
    const GROUP: CommandGroup = CommandGroup::Measure;
    const ABOUT: &'static str = "Find where one of two mechanisms overtakes the other";
    const EXAMPLES: &'static str = "Examples:
  ipcperf crossover memfd unix-stream --over size
  ipcperf crossover pipe 'pipe size=1M' --over size -p stream -s '4K..1M:*4'
  ipcperf crossover unix-stream tcp --over conns --conns 1,4,16,64";
    const DOCUMENTS: &'static [DocumentKind] = &[documents::RESULT];
    const SCREEN: Option<Screen> = Some(screen::SCREEN);

    fn run(&self, context: &Context<'_>) -> Result<ExitCode, Stop> {
        run(context, self)
    }
}

/// Two arms, and what they have in common at every point.
struct Search<'a> {
    registry: &'a Registry,
    host: Host,
    arms: [&'a str; 2],
    axis: Axis,
    /// Words of a cell.
    common: String,
}

fn run(context: &Context<'_>, args: &CrossoverArgs) -> Result<ExitCode, Stop> {
    let registry = context.registry;
    let rounds = args::rounds(args.length.rounds)?;
    let gates = Gates::of(&args.gates)?;
    let axis = request::axis(&args.over)?;
    let host = request::host()?;
    let pattern = typed(&args.cells.pattern).unwrap_or_else(|| row(axis).pattern.name().to_owned());
    let list = list(&args.cells, axis, &pattern)?;
    let common = common(&args.cells, axis, &pattern);
    let search = Search { registry, host, arms: [&args.a, &args.b], axis, common };
    let mut cells = Vec::new();
    for at in &list {
        cells.extend(search.cells(*at)?);
    }
    let names = search.check(&cells)?;
    let most_points = list.len() as u64 + STEPS;
    let least = rounds_for_points(most_points);
    if rounds < least {
        return Err(Stop::usage(format!(
            "--rounds: {rounds} rounds are too few for a search over up to {most_points} points; use at least {least}"
        )));
    }
    let settings = settings(&args.length, rounds, args.plan.seed(), args.raw.is_some())?;
    counts::fits(&settings, cells.iter().map(|cell| (cell.key.pattern, &cell.key.load)))?;
    let raw = args.raw.clone();
    let margin = args.margin.share()?;
    let [a, b] = names;
    let crossover = Some(Crossover { a, b, over: axis, most_points });
    let experiment = Experiment {
        margin,
        raw,
        crossover,
        ..Experiment::new(CrossoverArgs::NAME, cells, settings)
    };
    if args.plan.dry_run {
        return experiment.print(context, &args.output);
    }
    let (runnable, first) = (experiment.runnable(), experiment.expected());
    let step = first.saturating_sub(experiment::BOUNDS).mul_f64(2.0 / runnable.max(1) as f64);
    let longest = first + step.mul_f64(STEPS as f64);
    if !args.output.progress.quiet {
        note(&format!(
            "Search: {} points, {rounds} rounds each, about {:.0} s; then up to {STEPS} more between them, within {:.0} s",
            list.len(),
            first.as_secs_f64().max(1.0),
            longest.as_secs_f64().max(1.0),
        ));
    }
    let plan = Plan { expected_s: longest.as_secs_f64(), ..experiment.plan() };
    let asked = experiment.work(&plan);
    let Experiment { cells, settings, raw, .. } = experiment;
    let (began, mut steps) = (Instant::now(), 0);
    let mut next = |cells: &[CellRun], ns_per_tick: f64| {
        steps += 1;
        if steps > STEPS || began.elapsed() > longest * LATE {
            return Vec::new();
        }
        let looked = search.looked(cells, ns_per_tick, most_points);
        let cells = next_point(&looked, |at| rounded(axis, at)).map(|at| search.cells(at));
        cells.and_then(Result::ok).map(Vec::from).unwrap_or_default()
    };
    let shown = experiment::Shown {
        context,
        args: &args.output,
        raw: raw.as_deref(),
        gates: &gates,
        asked,
    };
    let run = experiment::record(
        plan,
        settings.seed,
        shown,
        |interrupts, progress| run::search(cells, &settings, Some(interrupts), progress, &mut next),
        |_| (),
    );
    run.map(|(code, _)| code)
}

/// Where to look first, in ascending order.
fn list(args: &CellArgs, axis: Axis, pattern: &str) -> Result<Vec<u64>, Stop> {
    let AxisRow { flag, list, key, .. } = row(axis);
    let mut points: Vec<u64> = match key {
        None => {
            let sizes = request::sizes(typed(&args.size).as_deref().unwrap_or(list))?;
            sizes.into_iter().map(|size| size as u64).collect()
        }
        Some(key) => {
            let given = args.load.0.get(&key).map_or(list, String::as_str);
            let given = LoadArgs([(key, given.to_owned())].into());
            let of = |load| CellKey { load, ..CellKey::default() }.place_on(axis);
            let patterns = request::patterns(pattern)?;
            let points = loads(&given, &patterns, Touch::CacheLine)?.into_iter().map(of);
            points.collect::<Option<Vec<u64>>>().ok_or_else(|| {
                Stop::usage(
                    "--rate: a search needs messages per second (like 1k,10k), not percentages",
                )
            })?
        }
    };
    points.sort_unstable();
    points.dedup();
    if !POINTS.contains(&points.len()) {
        let (least, most) = (POINTS.start(), POINTS.end());
        let many = points.len();
        return Err(Stop::usage(format!(
            "{flag}: a search begins with {least} to {most} points, not {many}"
        )));
    }
    Ok(points)
}

/// What is the same at every point, as words of a cell.
fn common(args: &CellArgs, axis: Axis, pattern: &str) -> String {
    let flag =
        |name: &str, value: &Option<String>| value.as_ref().map(|value| format!("{name}={value}"));
    let size = typed(&args.size).filter(|_| axis != Axis::Size);
    let load = args.load.0.iter().filter(|(key, _)| Some(**key) != row(axis).key);
    let load = load.map(|(key, value)| match key.facts().values {
        "" => key.to_string(),
        _ => format!("{key}={value}"),
    });
    let flags = [
        size,
        flag("place", &typed(&args.place)),
        flag("idle", &typed(&args.idle)),
        flag("touch", &args.touch),
    ];
    let words = flags.into_iter().flatten().chain(args.set.iter().cloned()).chain(load);
    [pattern.to_owned()].into_iter().chain(words).collect::<Vec<_>>().join(" ")
}

impl Search<'_> {
    /// Both arms at a point.
    fn cells(&self, at: u64) -> Result<[CellPlan; 2], Stop> {
        let place = match self.axis {
            Axis::Size => at.to_string(),
            Axis::Think if at == 0 => "think=0".to_owned(),
            Axis::Think => format!("think={at}ns"),
            Axis::Conns | Axis::Rate => format!("{}={at}", self.axis),
        };
        let cell = |arm: &str| {
            let text = format!("{arm} {} {place}", self.common);
            let mut cells = arm::cells(self.registry, &self.host, &text, None)?;
            match (cells.pop(), cells.is_empty()) {
                (Some(cell), true) => Ok(cell),
                _ => Err(Stop::usage(format!(
                    "'{arm}' is {} cells at each point; name one mechanism, placement, ...",
                    cells.len() + 1
                ))),
            }
        };
        let [a, b] = self.arms;
        Ok([cell(a)?, cell(b)?])
    }

    /// What the arms are called, if they can be set beside each other.
    fn check(&self, cells: &[CellPlan]) -> Result<[String; 2], Stop> {
        let [a, b] = &cells[..2] else { return Err(Stop::usage("no points")) };
        if a.id == b.id {
            return Err(Stop::usage(format!("A and B are the same, '{}'", a.id)));
        }
        let [of_a, of_b] = [a, b].map(|cell| metric_of(&cell.key));
        if of_a != of_b {
            let why = format!("'{}' gives {of_a} and '{}' gives {of_b}", a.id, b.id);
            return Err(Stop::usage(format!("{why}, which cannot be compared")));
        }
        for cell in &cells[2..] {
            let first = [a, b].into_iter().find(|one| one.id == cell.id);
            if let Some(same) = first {
                let why = format!("'{}' is the same at every {}", same.id, self.axis);
                return Err(Stop::usage(why));
            }
        }
        if let Some(missing) = self.nowhere(cells) {
            return Err(Stop::nothing_ran(missing));
        }
        Ok([a, b].map(name))
    }

    /// Why an arm cannot be measured at any point.
    fn nowhere(&self, cells: &[CellPlan]) -> Option<String> {
        (0..2).find_map(|arm| {
            let mut cells = cells.iter().skip(arm).step_by(2);
            let last = cells.clone().next_back()?;
            let missing = last.objection.as_ref()?;
            let is_none = cells.all(|cell| cell.objection.is_some());
            is_none.then(|| format!("{}: unavailable: {missing}", last.id))
        })
    }

    /// Who wins at the points so far.
    fn looked(&self, cells: &[CellRun], ns_per_tick: f64, most_points: u64) -> Vec<Looked> {
        let mut looked: Vec<Looked> = cells
            .chunks_exact(2)
            .filter(|pair| pair.iter().all(|cell| cell.plan.objection.is_none()))
            .filter_map(|pair| {
                let [a, b] = [&pair[0], &pair[1]].map(|cell| figures_of(cell, ns_per_tick));
                let both = a.iter().filter_map(|(round, a)| Some((*a, *b.get(round)?)));
                let (a, b): (Vec<f64>, Vec<f64>) = both.unzip();
                let key = &pair[0].plan.key;
                let more_is_better = key.pattern.facts().figure != Figure::Time;
                Some((key.place_on(self.axis)?, winner(&a, &b, more_is_better, most_points)))
            })
            .collect();
        looked.sort_by_key(|(at, _)| *at);
        looked
    }
}

/// What an arm is called in the document: its mechanism, and the knobs that were set.
fn name(cell: &CellPlan) -> String {
    let mut words = vec![cell.key.mechanism.clone()];
    let owner = cell.entry.spec.name;
    words.extend(cell.options.of(owner).map(|(knob, text)| {
        let value = ipcperf_core::options::check(owner, cell.entry.knobs, knob, text);
        format!("{knob}={}", value.map_or_else(|_| text.to_owned(), |value| value.to_string()))
    }));
    words.join(" ")
}

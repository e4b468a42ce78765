//! `survey`: every mechanism this machine has, within a budget.

pub(crate) mod screen;

use crate::documents;
use crate::experiment::{BOUNDS, Experiment};
use crate::questions;
use crate::questions::SLICE_OVERHEAD;
use ipcperf_core::{
    Family, Idle, KnobKind, Load, OptionError, OptionSet, PatternKind, Placement, Wait,
};
use ipcperf_engine::plan::{self, CellPlan, Host, Request};
use ipcperf_engine::registry::{Entry, Registry};
use ipcperf_engine::run::{QuestionPlan, SCREENED, Settings, Tail, conditions};
use ipcperf_kit::args::{GateArgs, MarginArgs, OutputArgs, PlanArgs};
use ipcperf_kit::command::{CommandArgs, CommandGroup, Context};
use ipcperf_kit::document::Screen;
use ipcperf_kit::document_kind::DocumentKind;
use ipcperf_kit::error::{Stop, note};
use ipcperf_kit::gates::Gates;
use ipcperf_kit::measure::rounds_within;
use ipcperf_kit::request;
use ipcperf_kit::request::Asked;
use ipcperf_stats::{FEWEST_CONFIRMED, FIRST_CONFIRMED, PRACTICAL_MARGIN};
use std::process::ExitCode;
use std::time::Duration;

#[derive(Clone, Debug, Default, clap::Args)]
pub(crate) struct SurveyArgs {
    /// Time limit for the whole run: 20s, 60s, 10m
    #[arg(long, value_name = "TIME", default_value = "60s")]
    pub(crate) budget: String,
    /// Measure only these mechanisms: pipe,'unix-stream bind=path','tcp/*',all [default: the default variant of each, and busy-waiting shared memory]
    #[arg(short, long, value_name = "NAMES", conflicts_with = "all")]
    pub(crate) mechanism: Vec<String>,
    /// Measure all cells in every round, for files that are compared later, instead of many rounds of the few that matter
    #[arg(long)]
    pub(crate) all_equal: bool,
    /// Measure every variant, not only each mechanism's default and the busy-waiting shared-memory ones
    #[arg(long)]
    pub(crate) all: bool,
    #[command(flatten)]
    pub(crate) margin: MarginArgs,
    #[command(flatten)]
    pub(crate) plan: PlanArgs,
    #[command(flatten)]
    pub(crate) gates: GateArgs,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

/// Rounds a run of many cells wants before its slices get longer: six that two cells share give an interval, and some are
/// left out.
const ROUNDS: u64 = 12;
/// The pause before each request with which those that spin before they sleep are measured, too: far longer than the few
/// microseconds that any of them spins, and still 40 round trips in the shortest slice.
const PAUSE: Duration = Duration::from_micros(200);
/// Shortest timed region of cells that are measured equally often: about 70 round trips of the slowest wake-ups seen (150 us).
pub(crate) const SHORTEST: Duration = Duration::from_millis(10);
/// Timed region and warm-up of a slice that such a survey should still have.
const COMFORTABLE: Duration = Duration::from_millis(10);
/// Longest: more rounds say more than longer slices.
const LONGEST: Duration = Duration::from_millis(100);
/// Share of the budget that the screen may take where there are questions that can wait.
const SCREEN: f64 = 0.25;
/// Below this budget there is only time to confirm the mechanisms that people choose between.
const SCREENABLE: Duration = Duration::from_secs(30);
/// Warm-up of the slices of a survey in stages: some twenty round trips.
const WARMUP: Duration = Duration::from_millis(1);

impl CommandArgs for SurveyArgs {
    const NAME: &'static str = "survey";
    const GROUP: CommandGroup = CommandGroup::Measure;
    const ABOUT: &'static str =
        "Measure every mechanism in about a minute and say which one to use (the default)";
    const EXAMPLES: &'static str = "Examples:
  ipcperf survey                            one screen: what to use on this machine, and why
  ipcperf survey --budget 10m --all         every variant, and more rounds
  ipcperf survey --dry-run                  what it would measure, and for how long";
    const DOCUMENTS: &'static [DocumentKind] = &[documents::RESULT];
    const SCREEN: Option<Screen> = Some(screen::SCREEN);

    fn run(&self, context: &Context<'_>) -> Result<ExitCode, Stop> {
        run(context, self)
    }
}

fn run(context: &Context<'_>, args: &SurveyArgs) -> Result<ExitCode, Stop> {
    let registry = context.registry;
    let gates = Gates::of(&args.gates)?;
    let margin = args.margin.share()?;
    let budget = request::budget("--budget", &args.budget)?;
    let host = request::host()?;
    let of = match (args.mechanism.as_slice(), args.all) {
        ([], true) => request::asked(registry, &["all".to_owned()], &[])?,
        ([], false) => standing(registry),
        (names, _) => request::asked(registry, names, &[])?,
    };
    let of = request::block(of)?;
    let seed = args.plan.seed();
    let mut experiment = match args.all_equal {
        true => equal(cells(of, &host, budget).map_err(request::refused)?, budget, seed),
        false => {
            let is_named = !args.mechanism.is_empty();
            in_stages(registry, of, &host, (budget, is_named, seed)).map_err(request::refused)?
        }
    };
    experiment.margin = margin;
    if let (Some(margin), Some(staging)) = (margin, &mut experiment.staging) {
        staging.margin = margin;
    }
    if !args.output.progress.quiet {
        experiment.short("a comparison").iter().for_each(|words| note(words));
    }
    experiment.finish(context, args.plan.dry_run, &args.output, &gates)
}

/// All cells in every round: for files that are compared later.
fn equal(cells: Vec<CellPlan>, budget: Duration, seed: u64) -> Experiment {
    let runnable = cells.iter().filter(|cell| cell.objection.is_none()).count();
    // The pause of a round is as long as a slice.
    let settings = settings(budget, runnable + 1, SHORTEST, seed);
    Experiment::new("survey", cells, settings)
}

/// A screen of all cells, a focus on those that may be shown, and as many rounds as fit to confirm the few that matter.
fn in_stages(
    registry: &Registry,
    (mechanisms, options): (Vec<Entry>, OptionSet),
    host: &Host,
    (budget, is_named, seed): (Duration, bool, u64),
) -> Result<Experiment, OptionError> {
    let (wishes, always) = wishes(&mechanisms, &options, host);
    let mut cells: Vec<CellPlan> = Vec::new();
    for (at, wish) in wishes.iter().enumerate() {
        let more = plan::cells(wish, host)?;
        let both = cells.iter().chain(&more).filter(|cell| cell.objection.is_none()).count();
        let screen =
            (questions::SHORT + WARMUP + SLICE_OVERHEAD).mul_f64((both as u64 * SCREENED) as f64);
        if at >= always && screen > budget.mul_f64(SCREEN) {
            break;
        }
        cells.extend(more);
    }
    let is_asked = |_: &CellPlan| is_named;
    let mut questions = questions::of(registry, &cells, is_asked);
    if budget < SCREENABLE && !is_named {
        cells = named(&cells, &questions, budget);
        questions = questions::of(registry, &cells, is_asked);
    }
    if let Some(first) = questions.first_mut() {
        first.tail = Tail::P99;
    }
    let staging = questions::staging(questions, &cells, questions::SHOWN, PRACTICAL_MARGIN);
    let settings = Settings {
        rounds: FIRST_CONFIRMED,
        slice: questions::SHORT,
        warmup: WARMUP,
        seed,
        budget: Some(budget),
        ..Settings::default()
    };
    let staging = Some(staging);
    Ok(Experiment { staging, ..Experiment::new("survey", cells, settings) })
}

/// The named cells of as many questions as a short budget has room for, and of the first one in any case.
fn named(cells: &[CellPlan], questions: &[QuestionPlan], budget: Duration) -> Vec<CellPlan> {
    let slice = (questions::SHORT + WARMUP + SLICE_OVERHEAD).as_secs_f64();
    let mut left = budget.saturating_sub(BOUNDS).as_secs_f64();
    let mut kept = Vec::new();
    for (at, question) in questions.iter().enumerate() {
        let rounds = if at == 0 { FIRST_CONFIRMED } else { FEWEST_CONFIRMED };
        let takes = rounds as f64 * slice * (question.named.len() + 1) as f64;
        if at > 0 && takes > left {
            break;
        }
        left -= takes;
        kept.extend(&question.named);
    }
    // Why a usual mechanism cannot be measured here belongs to the answer.
    let first = questions.first().map(|question| conditions(&cells[question.cells[0]].key));
    let is_missing = |cell: &CellPlan| {
        cell.objection.is_some() && Some(conditions(&cell.key)) == first && cell.entry.spec.default
    };
    let is_kept = |(at, cell): &(usize, &CellPlan)| kept.contains(at) || is_missing(cell);
    cells.iter().enumerate().filter(is_kept).map(|(_, cell)| cell.clone()).collect()
}

/// Whether a variant stands for its mechanism in a survey: the default one, and in shared memory also the one that
/// spins, since that is where spinning pays. A library stands for nothing but itself, and is measured when it is named.
fn stands(entry: &Entry) -> bool {
    let is_shared = entry.spec.family == Family::SharedMemory;
    let stands = entry.spec.default || (is_shared && entry.spec.variant == Some("spin"));
    stands && entry.spec.over.is_none()
}

/// Those that stand for their mechanisms.
pub(crate) fn standing(registry: &Registry) -> Vec<Asked> {
    let entries = registry.entries().iter().filter(|entry| stands(entry));
    entries.map(|entry| Asked { entry: *entry, options: OptionSet::default() }).collect()
}

/// Whether its ends can meet at a path, where they otherwise are a pair.
fn has_path(entry: &Entry) -> bool {
    let is_path = |kind| matches!(kind, KnobKind::Choice { words } if words.contains(&"path"));
    entry.knobs.iter().any(|knob| knob.name == "bind" && is_path(knob.kind))
}

/// Whether somebody has said how its ends meet.
fn is_bound(entry: &Entry, options: &OptionSet) -> bool {
    options.of(entry.spec.name).any(|(knob, _)| knob == "bind")
}

/// These knobs, and those with which unrelated processes meet over these mechanisms.
pub(crate) fn found_by_path(entries: &[Entry], options: &OptionSet) -> OptionSet {
    let bound = entries.iter().filter(|entry| has_path(entry) && !is_bound(entry, options));
    let mut all = options.clone();
    all.0.extend(bound.map(|entry| (format!("{}.bind", entry.spec.name), "path".into())));
    all
}

/// Requests in the order in which a reader wants them answered, and how many of them belong to every survey.
fn wishes(all: &[Entry], options: &OptionSet, host: &Host) -> (Vec<Request>, usize) {
    let data: Vec<Entry> =
        all.iter().filter(|entry| entry.spec.wake_word().is_none()).copied().collect();
    // Everybody has a feeling for it.
    let pipe = data.iter().find(|entry| entry.spec.full_name() == "pipe");
    let wish = |mechanisms: &[Entry], pattern, size, placement, idle| Request {
        options: options.clone(),
        ..request::usual(mechanisms, pattern, &[size], placement, idle)
    };
    let (trip, stream) = (PatternKind::PingPong, PatternKind::Stream);
    let one = Placement::SameCpu;
    let near = host.topology.two_cpus().unwrap_or(one);
    // What any process may connect to, rather than what a parent hands to its children; once, where that was asked for.
    let is_pair = |entry: &&Entry| has_path(entry) && !is_bound(entry, options);
    let sockets: Vec<Entry> =
        data.iter().filter(|entry| entry.spec.default).filter(is_pair).copied().collect();
    let mut by_name = wish(&sockets, trip, 64, near, Idle::AsIs);
    by_name.options = found_by_path(&sockets, options);
    // The questions of the first screen come first, in the order in which it answers them.
    let mut wishes = vec![wish(all, trip, 64, near, Idle::AsIs), by_name.clone()];
    if near != one {
        wishes.push(wish(all, trip, 64, one, Idle::AsIs));
        wishes.push(Request { placements: vec![one], ..by_name });
    }
    wishes.push(wish(&data, stream, 1 << 20, near, Idle::AsIs));
    wishes.push(wish(&data, trip, 4 << 10, near, Idle::AsIs));
    if near != one {
        // Back to back nobody falls asleep. A pipe stands beside them.
        let briefly = data.iter().filter(|entry| entry.spec.wait == Wait::SpinThenBlock);
        let mut paused: Vec<Entry> = briefly.copied().collect();
        if !paused.is_empty() {
            paused.extend(pipe);
            wishes.push(Request {
                loads: vec![Load { think_ns: PAUSE.as_nanos() as u64, ..Load::default() }],
                ..wish(&paused, trip, 64, near, Idle::AsIs)
            });
        }
        // One row tells what idle polling would make of all of them, where it may be asked for.
        if let (Some(pipe), None) = (pipe, &host.idle_objection) {
            wishes.push(wish(&[*pipe], trip, 64, near, Idle::Poll));
        }
    }
    let always = wishes.len();
    wishes.push(wish(&data, stream, 64 << 10, near, Idle::AsIs));
    wishes.push(wish(&data, stream, 4 << 10, near, Idle::AsIs));
    if near != one {
        wishes.push(wish(&data, trip, 4 << 10, one, Idle::AsIs));
        for size in [64 << 10, 1 << 20, 4 << 10] {
            wishes.push(wish(&data, stream, size, one, Idle::AsIs));
        }
    }
    (wishes, always)
}

/// The cells of as many wishes as the budget has room for.
fn cells(
    (mechanisms, options): (Vec<Entry>, OptionSet),
    host: &Host,
    budget: Duration,
) -> Result<Vec<CellPlan>, OptionError> {
    let (wishes, always) = wishes(&mechanisms, &options, host);
    let mut cells = Vec::new();
    for (at, wish) in wishes.iter().enumerate() {
        let more = plan::cells(wish, host)?;
        if at >= always && !has_room(&cells, &more, COMFORTABLE, budget) {
            break;
        }
        cells.extend(more);
    }
    Ok(cells)
}

/// How many rounds of so many cells fit into a budget, with slices of this length beside their overhead.
fn fitting(budget: Duration, cells: usize, slice: Duration) -> u64 {
    rounds_within(budget, BOUNDS, (slice + SLICE_OVERHEAD).mul_f64(cells as f64))
}

/// Whether all of these cells can have as many rounds as a plan wants, of slices of this length.
pub(crate) fn has_room(
    cells: &[CellPlan],
    more: &[CellPlan],
    slice: Duration,
    budget: Duration,
) -> bool {
    let runnable = cells.iter().chain(more).filter(|cell| cell.objection.is_none()).count();
    fitting(budget, runnable, slice) >= ROUNDS
}

/// Divides the budget: first twelve rounds of slices as long as fit, and no less than `shortest`, then, once slices are
/// 100 ms, more rounds.
pub(crate) fn settings(budget: Duration, cells: usize, shortest: Duration, seed: u64) -> Settings {
    let cells = cells.max(1);
    // Of the time beside the overhead a sixth is warm-up.
    let rounds = |timed: Duration| fitting(budget, cells, timed.mul_f64(1.2));
    let rounds = rounds(LONGEST).max(rounds(shortest).clamp(1, ROUNDS));
    let slot = budget.saturating_sub(BOUNDS).div_f64((cells as u64 * rounds) as f64);
    let timed = slot.saturating_sub(SLICE_OVERHEAD).mul_f64(5.0 / 6.0);
    let slice = timed.clamp(shortest, LONGEST.max(shortest));
    Settings { rounds, slice, warmup: slice / 5, seed, budget: Some(budget), ..Settings::default() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_plan_fits_its_budget_and_uses_it() {
        for (seconds, cells) in [(20, 60), (60, 130), (600, 130), (60, 10), (3600, 130)] {
            let budget = Duration::from_secs(seconds);
            let plan = settings(budget, cells, SHORTEST, 0);
            let slice = plan.slice + plan.warmup + SLICE_OVERHEAD;
            let needed = BOUNDS
                + slice
                    * u32::try_from(cells).expect("small")
                    * u32::try_from(plan.rounds).expect("small");
            assert!(needed <= budget.mul_f64(1.01), "{seconds} s: {needed:?}");
            assert!(needed >= budget.mul_f64(0.8), "{seconds} s: {needed:?}");
            assert!(plan.rounds >= 6, "{seconds} s: {} rounds", plan.rounds);
        }
    }

    #[test]
    fn every_survey_has_both_patterns_and_a_longer_one_has_more() {
        let (registry, host) = (ipcperf_builtin::builtin(), Host::read().expect("affinity"));
        let of = |seconds| {
            let all = request::block(standing(&registry)).expect("no knobs");
            cells(all, &host, Duration::from_secs(seconds)).expect("no knobs")
        };
        let (short, long) = (of(1), of(3600));
        for pattern in [PatternKind::PingPong, PatternKind::Stream] {
            assert!(short.iter().any(|cell| cell.key.pattern == pattern), "{pattern}");
        }
        assert!(short.len() < long.len());
        let ids: std::collections::BTreeSet<_> = long.iter().map(|cell| &cell.id).collect();
        assert_eq!(ids.len(), long.len(), "a cell stands in the plan twice");
        for entry in registry.entries().iter().filter(|entry| entry.spec.default) {
            assert!(short.iter().any(|cell| cell.entry.spec.name == entry.spec.name));
        }
    }

    #[test]
    fn what_spins_before_it_sleeps_is_measured_after_a_pause_as_well() {
        let (registry, host) = (ipcperf_builtin::builtin(), Host::read().expect("affinity"));
        let all = request::block(standing(&registry)).expect("no knobs");
        let cells = cells(all, &host, Duration::from_secs(1)).expect("no knobs");
        let near = host.topology.two_cpus();
        let on_two =
            |cell: &&CellPlan| Some(cell.key.placement) == near && cell.key.size_bytes == 64;
        let briefly = cells.iter().filter(on_two).filter(|cell| {
            cell.key.wait == Wait::SpinThenBlock && cell.key.pattern == PatternKind::PingPong
        });
        let (paused, back_to_back): (Vec<_>, Vec<_>) =
            briefly.partition(|cell| cell.key.load.think_ns > 0);
        assert_eq!((paused.len(), paused.is_empty()), (back_to_back.len(), near.is_none()));
        let pipe = cells
            .iter()
            .filter(on_two)
            .any(|cell| cell.key.mechanism == "pipe" && cell.key.load.think_ns == 200_000);
        assert_eq!(pipe, near.is_some(), "something to hold them against");
    }

    #[test]
    fn a_hopeless_budget_still_measures_everything_once() {
        let plan = settings(Duration::from_secs(1), 130, SHORTEST, 0);
        assert_eq!((plan.rounds, plan.slice), (1, SHORTEST));
    }
}

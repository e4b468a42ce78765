//! `choose`: which mechanism to use for given requirements.

mod attempts;
pub(crate) mod screen;
mod slices;

use crate::args::{places, typed};
use crate::documents;
use crate::experiment::{Beforehand, Experiment};
use crate::questions::SLICE_OVERHEAD;
use crate::results::document::render;
use crate::snippets::Language;
use crate::survey::{SHORTEST, found_by_path, has_room, settings, standing};
use crate::{list, only, questions};
use ipcperf_core::result::{Goal, Need, Requirements, ResultSet};
use ipcperf_core::units::{format_bytes, format_size};
use ipcperf_core::{
    Capability, Idle, KnobKind, Load, LoadKey, Namespace, Offered, OptionSet, PatternKind,
    Placement, Touch,
};
use ipcperf_engine::plan::{self, CellPlan, Family, Host, Request};
use ipcperf_engine::registry::{Entry, Registry};
use ipcperf_engine::run::{QuestionPlan, Settings, Staging, TRIALS, Tail};
use ipcperf_kit::args::{GateArgs, MarginArgs, OutputArgs, PlanArgs};
use ipcperf_kit::command::{CommandArgs, CommandGroup, Context};
use ipcperf_kit::document::{Screen, Show};
use ipcperf_kit::document_kind::DocumentKind;
use ipcperf_kit::error::{Code, Stop, note};
use ipcperf_kit::gates::Gates;
use ipcperf_kit::words::Words;
use ipcperf_kit::{loads, output, reading, request};
use ipcperf_render::Format;
use ipcperf_render::text::counted;
use ipcperf_stats::{FEWEST_ROUNDS, FIRST_CONFIRMED, PRACTICAL_MARGIN};
use std::collections::BTreeSet;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

/// The requirements, and how much time there is to measure.
#[derive(Clone, Debug, Default, clap::Args)]
pub(crate) struct ChooseArgs {
    /// Message sizes: 64, 4K, lists 1,64,4K [default: 64]
    #[arg(short, long, value_name = "SIZES")]
    pub(crate) size: Vec<String>,
    /// Open loop: messages per second, whether or not earlier ones are answered: 20k, 1000/s. Several requests in flight and
    /// connections are tried if one is not enough [default: closed loop]
    #[arg(long, value_name = "RATE")]
    pub(crate) rate: Option<String>,
    /// Pause before each round trip: 100us [default: none]
    #[arg(long, value_name = "TIME")]
    pub(crate) think: Option<String>,
    /// Connections that clients keep open to one server, 1 to 1024: 16 [default: two processes, one connection]
    #[arg(long, value_name = "COUNT")]
    pub(crate) conns: Option<String>,
    /// Consumers that each get every message of one producer, 1 to 64: 4 [default: two processes]
    #[arg(long, value_name = "COUNT", conflicts_with_all = ["conns", "rate", "think", "p99", "p999"])]
    pub(crate) consumers: Option<String>,
    /// Load that runs at the same time, as 'ipcperf run --neighbour' takes it: cpu:2, timer:1000/s@lead [default: none]
    #[arg(long, value_name = "LOAD", conflicts_with_all = ["conns", "consumers"])]
    pub(crate) neighbour: Option<String>,
    /// Capabilities that the mechanism must have
    #[arg(long, value_name = "CAPABILITIES", value_parser = Words::of(Capability::ALL, Capability::name))]
    pub(crate) can: Vec<String>,
    /// Namespaces that the two processes do not share, as in two containers: net,mnt
    #[arg(long, value_name = "NAMESPACES", value_parser = Words::of(Namespace::ALL, Namespace::name))]
    pub(crate) across: Vec<String>,
    /// Exclude busy-waiting, even brief
    #[arg(long)]
    pub(crate) no_spin: bool,
    /// Highest acceptable p99: 50us
    #[arg(long, value_name = "TIME")]
    pub(crate) p99: Option<String>,
    /// Highest acceptable p99.9: 1ms; it needs ten times as many messages as a p99
    #[arg(long = "p99.9", value_name = "TIME")]
    pub(crate) p999: Option<String>,
    /// Metric that ranks the mechanisms which meet all requirements [default: p50]
    #[arg(long, value_name = "METRIC", value_parser = Words::of(Goal::ALL, Goal::name))]
    pub(crate) by: Option<String>,
    /// Choose among these mechanisms and show all of them: pipe,'unix-stream bind=path','tcp/*',all [default: those of
    /// the survey]
    #[arg(short, long, value_name = "NAMES")]
    pub(crate) mechanism: Vec<String>,
    /// CPU placement: one of the words below (llc is the last-level cache, free is unpinned), two CPU numbers (0,1), or
    /// only one side pinned (0,free) [default: two close cores]
    #[arg(long, value_name = "PLACE", value_parser = places())]
    pub(crate) place: Option<String>,
    /// Also print a complete example program for the chosen mechanism (the same as 'ipcperf describe NAME --snippet')
    #[arg(long, value_name = "LANGUAGE", value_parser = Words::of(Language::ALL, Language::name))]
    pub(crate) snippet: Option<String>,
    /// Use this result instead of measuring
    #[arg(long, value_name = "RESULT.json", conflicts_with_all = ["budget", "seed", "dry_run", "output", "fail_if", "max_noise"])]
    pub(crate) from: Option<PathBuf>,
    /// Time limit for the whole run: 20s, 60s, 10m
    #[arg(long, value_name = "TIME", default_value = "60s")]
    pub(crate) budget: String,
    #[command(flatten)]
    pub(crate) margin: MarginArgs,
    #[command(flatten)]
    pub(crate) plan: PlanArgs,
    #[command(flatten)]
    pub(crate) gates: GateArgs,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

/// What only explains a choice has no room where it would leave shorter slices than this to what decides.
const EXPLAINING: Duration = Duration::from_millis(40);

/// What buffers are tried at, beside what they are: as much as most hosts allow without privileges.
const BUFFER: u64 = 1 << 20;

impl CommandArgs for ChooseArgs {
    const NAME: &'static str = "choose";
    const GROUP: CommandGroup = CommandGroup::Measure;
    const ABOUT: &'static str = "Recommend a mechanism for your requirements, from a one-minute measurement or from a result";
    const EXAMPLES: &'static str = "Examples:
  ipcperf choose -s 4K --rate 20k --can unrelated --no-spin
  ipcperf choose --conns 16 --rate 20k           for 16 connections to one server
  ipcperf choose --consumers 4                     for 4 consumers that each get every message
  ipcperf choose -s 64,4K --can notices-death --p99 50us --think 100us
  ipcperf choose --from ipcperf-20261122T060000Z.json --can unrelated,boundaries --by cpu
  ipcperf choose --neighbour cpu:2 --by p99      next to two threads that compute
  ipcperf choose --across net,mnt                for processes in two containers
  ipcperf choose --can unrelated --snippet c     and a C program to start from";
    const DOCUMENTS: &'static [DocumentKind] = &[documents::RESULT];
    const SCREEN: Option<Screen> = Some(screen::SCREEN);

    fn run(&self, context: &Context<'_>) -> Result<ExitCode, Stop> {
        run(context, self)
    }
}

fn run(context: &Context<'_>, args: &ChooseArgs) -> Result<ExitCode, Stop> {
    let registry = context.registry;
    let wanted = requirements(args)?;
    args.margin.share()?;
    let language = args.snippet.as_deref().map(list::language).transpose()?;
    let is_table = output::format(&args.output.look)? == Format::Table
        && args.output.output.as_deref().is_none_or(|path| path.as_os_str() != "-");
    if language.is_some() && !is_table {
        let why =
            "a program stands below a table; 'ipcperf describe NAME --snippet' prints it alone";
        return Err(Stop::usage(format!("--snippet: {why}")));
    }
    let (code, set) = match &args.from {
        Some(path) => (ExitCode::SUCCESS, from(registry, path, wanted, args)?),
        None => match measure(context, wanted, args)? {
            (code, Some(set)) => (code, set),
            (code, None) => return Ok(code),
        },
    };
    if code != ExitCode::SUCCESS {
        return Ok(code);
    }
    if let Some(language) = language {
        program(registry, &set, language)?;
    }
    Ok(match crate::choose::screen::is_met(&set, &request::specs(registry)) {
        true => code,
        false => Code::NothingRan.into(),
    })
}

/// What may be measured of those that miss one need, of all there is time for: the rest is for knobs.
const NEAR: f64 = 0.75;

/// What was asked for.
fn requirements(args: &ChooseArgs) -> Result<Requirements, Stop> {
    let given: Vec<Goal> =
        list::words(args.by.as_slice(), "known: p50, p99, p99.9, cpu, throughput")?;
    let by = match given.as_slice() {
        [] if args.consumers.is_some() => Goal::Throughput,
        [] => Goal::default(),
        [one] => *one,
        _ => return Err(Stop::usage("--by takes one metric")),
    };
    let mut load = Load::default();
    if let Some(given) = &args.think {
        let (least, most) = (Duration::ZERO, Duration::from_secs(1));
        load.think_ns = request::time("--think", given, least, most)?.as_nanos() as u64;
    }
    if let Some(given) = &args.rate {
        load.set(LoadKey::Rate, given).map_err(|_| {
            Stop::usage(format!(
                "--rate: '{given}' is not a rate (like 50k or 1000/s, at most 1000M/s)"
            ))
        })?;
    }
    if let Some(given) = &args.conns {
        load.set(LoadKey::Conns, given).map_err(|error| loads::refused(LoadKey::Conns, error))?;
        if load.rate.is_some() && load.think_ns > 0 {
            return Err(Stop::usage(
                "--conns: a request is due by --rate, or after --think: leave one of them out",
            ));
        }
    }
    if let Some(given) = &args.consumers {
        let refused = |error| loads::refused_as("consumers", error);
        load.set(LoadKey::Peers, given).map_err(refused)?;
        if !matches!(by, Goal::Throughput | Goal::Cpu) {
            let why = "consumers answer nothing, so there are no times: --by throughput or cpu";
            return Err(Stop::usage(format!("--by {by}: {why}")));
        }
    }
    if let Some(given) = &args.neighbour {
        let typed = loads::LoadArgs([(LoadKey::Neighbour, given.clone())].into());
        let mut all = loads::loads(&typed, &[PatternKind::PingPong], Touch::CacheLine)?;
        match (all.pop(), all.is_empty()) {
            (Some(one), true) => load.neighbour = one.neighbour,
            _ => return Err(Stop::usage("--neighbour: a choice is made next to one load")),
        }
    }
    let rate_per_second = match load.rate {
        Some(Offered::OfPeak(_)) => {
            let why = "a percentage means a different rate for each mechanism; give messages per second, like 20k";
            return Err(Stop::usage(format!("--rate: {why}")));
        }
        Some(Offered::PerSecond(rate)) => Some(rate),
        None => None,
    };
    let sizes = request::sizes(typed(&args.size).as_deref().unwrap_or("64"))?;
    if sizes.contains(&0) {
        return Err(Stop::usage("-s 0: a message has at least 1 byte"));
    }
    let mut places: Vec<Placement> = match &args.place {
        Some(given) => request::placements(given)?,
        None => Vec::new(),
    };
    if places.len() > 1 {
        return Err(Stop::usage("--place: a choice is made for one placement"));
    }
    let (short, long) = (Duration::from_nanos(1), Duration::from_secs(10));
    let limit = |flag: &str, given: &Option<String>| {
        let time =
            given.as_deref().map(|given| request::time(flag, given, short, long)).transpose()?;
        Ok::<_, Stop>(time.map(|time| time.as_secs_f64() * 1e9))
    };
    let wanted = Requirements {
        sizes: sizes.into_iter().map(|size| size as u64).collect(),
        rate_per_second,
        think_ns: load.think_ns,
        conns: load.conns,
        inflight: 0,
        attempts: Vec::new(),
        consumers: load.peers,
        neighbour: load.neighbour,
        placement: places.pop(),
        can: list::words(&args.can, "'ipcperf choose -h' shows the capabilities")?,
        across: list::words(&args.across, "known: net, ipc, mnt, pid, user")?,
        no_spin: args.no_spin,
        p99_ns: limit("--p99", &args.p99)?,
        p999_ns: limit("--p99.9", &args.p999)?,
        by,
        among: Vec::new(),
        left_out: Vec::new(),
    };
    slices::has_time_for_tails(&wanted)?;
    Ok(wanted)
}

/// The choice by what a document has.
fn from(
    registry: &Registry,
    path: &std::path::Path,
    wanted: Requirements,
    args: &ChooseArgs,
) -> Result<ResultSet, Stop> {
    let shown = path.display();
    let format = output::format(&args.output.look)?;
    if !format.is_for_people() {
        let why = format!("--from shows the choice; the figures are in '{shown}' already");
        return Err(Stop::usage(why));
    }
    let mut set = reading::read_result(path)?;
    let mut wanted = wanted;
    let before = set.invocation.plan.requirements.take();
    if let Some(before) = &before
        && crate::choose::screen::lacking(&set, &wanted).is_some()
    {
        wanted = with_several(wanted, before);
    }
    if !args.mechanism.is_empty() {
        only::keep_mechanisms(registry, &mut set, &args.mechanism)
            .map_err(|stop| Stop::usage(format!("'{shown}': {stop}")))?;
        let names = set.cells.iter().map(|cell| cell.key.mechanism.clone());
        wanted.among = names.collect::<BTreeSet<_>>().into_iter().collect();
    }
    if let Some(what) = crate::choose::screen::lacking(&set, &wanted) {
        return Err(Stop::usage(format!("'{shown}': {what}")));
    }
    set.invocation.plan.margin = args.margin.share()?.or(set.invocation.plan.margin);
    let left_out = before.map(|before| before.left_out).unwrap_or_default();
    set.invocation.plan.requirements = Some(Requirements { left_out, ..wanted });
    let specs = request::specs(registry);
    let style = output::table_style(&args.output.look, &args.output.tables, false);
    let show = Show { specs: &specs, screens: &[screen::SCREEN], ..Show::new(format, &style) };
    output::put(None, |out| render(&set, &show, out))?;
    Ok(set)
}

/// With the requests in flight that the rate took before, where there were several. Of another rate there are no cells, and
/// another number of connections was not asked for then.
fn with_several(wanted: Requirements, before: &Requirements) -> Requirements {
    if before.inflight == 0 || ![0, before.conns].contains(&wanted.conns) {
        return wanted;
    }
    let attempts = before.attempts.clone();
    Requirements { inflight: before.inflight, conns: before.conns, attempts, ..wanted }
}

/// Prints a program for the mechanism that is chosen, below the choice.
fn program(registry: &Registry, set: &ResultSet, language: Language) -> Result<(), Stop> {
    let chosen = crate::choose::screen::chosen(set, &request::specs(registry))
        .ok_or_else(|| Stop::nothing_ran("--snippet: nothing is chosen, so there is no program"))?;
    let program = list::snippet(registry, chosen, language)?;
    output::to_stdout(format!("\n{program}").as_bytes()).map(drop)
}

/// Measures those that meet the needs, then chooses; no result set of a dry run.
fn measure(
    context: &Context<'_>,
    mut wanted: Requirements,
    args: &ChooseArgs,
) -> Result<(ExitCode, Option<ResultSet>), Stop> {
    let registry = context.registry;
    let gates = Gates::of(&args.gates)?;
    let budget = request::budget("--budget", &args.budget)?;
    let host = request::host()?;
    let (candidates, options) = request::block(match args.mechanism.as_slice() {
        [] => standing(registry),
        names => request::asked(registry, names, &[])?,
    })?;
    if !args.mechanism.is_empty() {
        wanted.among = candidates.iter().map(|entry| entry.spec.full_name()).collect();
    }
    let seed = args.plan.seed();
    let mut beforehand = Beforehand::default();
    if attempts::are_made(&wanted) {
        if args.plan.dry_run {
            note(&attempts::words(&wanted));
        } else {
            let planned = |some: &[Entry], pattern, way: &Requirements| {
                planned(some, &[pattern], &options, &host, way)
            };
            let is_silent = args.output.progress.is_silent();
            (wanted, beforehand) =
                attempts::made(&candidates, &wanted, (budget, seed, is_silent), &planned)?;
        }
    }
    let slice = slices::shortest(&wanted).max(EXPLAINING);
    let left = budget.saturating_sub(beforehand.spent);
    let cells = cells((&candidates, &options), &host, &wanted, slice, left)?;
    let mut experiment = within((budget, beforehand), cells, &wanted, seed)?;
    let is_measured = |entry: &Entry| {
        experiment.cells.iter().any(|cell| cell.key.mechanism == entry.spec.full_name())
    };
    let left_out = candidates.iter().filter(|entry| !is_measured(entry));
    wanted.left_out = left_out.map(|entry| entry.spec.full_name()).collect();
    experiment.requirements = Some(wanted.clone());
    experiment.margin = args.margin.share()?;
    if !args.output.progress.quiet {
        experiment.short("an order").iter().for_each(|words| note(words));
    }
    let is_named = |_: &CellPlan| !args.mechanism.is_empty();
    experiment.staging = Some(staging(registry, &experiment.cells, &wanted, is_named));
    if let (Some(margin), Some(staging)) = (experiment.margin, &mut experiment.staging) {
        staging.margin = margin;
    }
    let slice = experiment.staging.iter().flat_map(|staging| &staging.slices).min().copied();
    let slice = slice.unwrap_or(SHORTEST);
    experiment.settings.rounds = FIRST_CONFIRMED;
    experiment.settings.slice = slice;
    experiment.settings.warmup = (slice / 5).max(Duration::from_millis(1));
    if args.plan.dry_run {
        return Ok((experiment.print(context, &args.output)?, None));
    }
    let (code, set) = experiment.carry_out(context, &args.output, &gates)?;
    Ok((code, Some(set)))
}

/// How these cells are measured: what decides comes first, and the same mechanisms are confirmed everywhere.
fn staging(
    registry: &Registry,
    cells: &[CellPlan],
    wanted: &Requirements,
    is_named: impl Fn(&CellPlan) -> bool,
) -> Staging {
    let mut questions = questions::of(registry, cells, is_named);
    let patterns = joined(wanted.deciding(), &wanted.limited());
    let decides =
        |question: &QuestionPlan| patterns.contains(&cells[question.cells[0]].key.pattern);
    questions.sort_by_key(|question| !decides(question));
    let deciding = questions.iter().filter(|question| decides(question)).count();
    for question in &mut questions[..deciding] {
        question.tail = slices::tail(wanted);
        question.decides = slices::decides(wanted);
    }
    let mut staging = questions::staging(questions, cells, deciding, PRACTICAL_MARGIN);
    staging.is_united = true;
    // How long the slices have to be for a tail is known when a median is.
    staging.is_screened |= slices::decides(wanted) != Tail::None;
    // Rates and pauses ask for longer slices than a median does.
    let shortest = slices::shortest(wanted);
    if shortest > SHORTEST {
        staging.slices.iter_mut().for_each(|slice| *slice = shortest.max(*slice));
    }
    staging
}

/// The plan of these cells that keeps what is left of the budget: where not enough rounds of all of them fit, of those alone
/// that decide.
fn within(
    (budget, beforehand): (Duration, Beforehand),
    cells: Vec<CellPlan>,
    wanted: &Requirements,
    seed: u64,
) -> Result<Experiment, Stop> {
    let budget = budget.saturating_sub(beforehand.spent);
    let plan = |cells: Vec<CellPlan>| {
        let shortest = slices::shortest(wanted);
        let runnable = cells.iter().filter(|cell| cell.objection.is_none()).count();
        let trials = Family::all(cells.iter()).len() as u64 * TRIALS;
        // A closed loop that finds a peak takes two fifths of a slice, and how long that is depends on what is left for slices.
        let beside = |slice: Duration| {
            let peaks = (slice.mul_f64(0.4) + SLICE_OVERHEAD).mul_f64(trials as f64);
            settings(budget.saturating_sub(peaks), runnable + 1, shortest, seed)
        };
        let settings = beside(beside(shortest).slice);
        // The budget of a run ends it; what was spent on peaks is part of it.
        let settings = Settings { budget: Some(budget), ..settings };
        let mut plan = Experiment { beforehand, ..Experiment::new("choose", cells, settings) };
        let fits = plan.keep_budget();
        (plan, fits)
    };
    let decides = |cell: &CellPlan| {
        let patterns = joined(wanted.deciding(), &wanted.limited());
        wanted.unmet(cell.entry.spec).is_empty() && patterns.contains(&cell.key.pattern)
    };
    let deciding: Vec<CellPlan> = cells.iter().filter(|cell| decides(cell)).cloned().collect();
    let (all, fits) = plan(cells);
    if fits && all.settings.rounds >= FEWEST_ROUNDS as u64 {
        return Ok(all);
    }
    let (few, fits) = plan(deciding);
    if fits {
        return Ok(few);
    }
    let attempts = match beforehand.spent.as_secs_f64() {
        0.0 => String::new(),
        spent => format!(" ({:.0} s went to attempts)", spent.ceil()),
    };
    Err(Stop::usage(format!(
        "--budget {}{attempts}: one round of {}{} takes about {:.0} s, and an order takes {FEWEST_ROUNDS}: --budget {}, or \
         fewer mechanisms (-m)",
        few.typed_budget(),
        counted(few.runnable(), "cell"),
        slices::load_words(wanted),
        few.expected().as_secs_f64().ceil(),
        few.enough(),
    )))
}

/// The cells of those that meet the needs, and, as far as there is room for slices of this length, of those that miss one
/// need, so that it can be said what the need costs, and with knobs turned.
fn cells(
    (candidates, options): (&[Entry], &OptionSet),
    host: &Host,
    wanted: &Requirements,
    slice: Duration,
    budget: Duration,
) -> Result<Vec<CellPlan>, Stop> {
    let missing = |count: usize| -> Vec<Entry> {
        // A server waits in its own way.
        let is_served = |entry: &Entry| !wanted.is_served() || entry.spec.variant.is_none();
        let is_it = |entry: &&Entry| {
            let unmet = wanted.unmet(entry.spec).len();
            !entry.spec.is_floor() && unmet == count && is_served(entry)
        };
        candidates.iter().filter(is_it).copied().collect()
    };
    let eligible = missing(0);
    if eligible.is_empty() {
        return Err(nobody(&missing(1), wanted));
    }
    let mut near: Vec<Entry> =
        missing(1).into_iter().filter(|entry| Need::Messages.is_met(entry.spec)).collect();
    // Those first that are likely to be missed: they copy less.
    near.sort_by_key(|entry| entry.spec.copies);
    let given = options;
    let options = match wanted.is_by_name() {
        true => found_by_path(&eligible, options),
        false => options.clone(),
    };
    // What times are of, what CPU time is of, what throughput is of.
    let is_of_two = !wanted.is_served() && wanted.consumers == 0;
    let explaining: &[PatternKind] = match is_of_two {
        true => &[PatternKind::PingPong, PatternKind::Stream],
        false => &[],
    };
    let of_all = joined(wanted.timed(), explaining);
    let mut all = planned(&eligible, &of_all, &options, host, wanted)?;
    if let Some(stop) = uncarried(&all, wanted) {
        return Err(stop);
    }
    let add = |all: &mut Vec<CellPlan>, more: Vec<CellPlan>, share: f64| {
        let has_room = has_room(all, &more, slice, budget.mul_f64(share));
        if has_room {
            all.extend(more);
        }
        has_room
    };
    if !is_of_two {
        // Who misses a need has no connections, and a server that has some takes no knobs; consumers are compared as they are.
        return Ok(all);
    }
    let of_near = joined(wanted.deciding(), &wanted.limited());
    for entry in near {
        let more = planned(&[entry], &of_near, given, host, wanted)?;
        if !add(&mut all, more, NEAR) {
            break;
        }
    }
    let largest = wanted.sizes.iter().copied().max().into_iter().collect();
    let at_most = Requirements { sizes: largest, ..wanted.clone() };
    let of_knobs = joined(wanted.deciding(), &[PatternKind::Stream]);
    for entry in &eligible {
        for (knob, value) in turned(entry) {
            let mut options = options.clone();
            let key = format!("{}.{knob}", entry.spec.name);
            if options.0.contains_key(&key) {
                continue;
            }
            options.0.insert(key, value);
            let shares = entry.shares(&options).map_err(request::refused)?;
            if wanted.across.iter().any(|kind| shares.has(*kind)) {
                continue;
            }
            let mut more = planned(&[*entry], &of_knobs, &options, host, &at_most)?;
            more.retain(|cell| cell.objection.is_none());
            if !add(&mut all, more, 1.0) {
                return Ok(all);
            }
        }
    }
    Ok(all)
}

/// These patterns and more, each once.
fn joined(mut patterns: Vec<PatternKind>, more: &[PatternKind]) -> Vec<PatternKind> {
    for pattern in more {
        if !patterns.contains(pattern) {
            patterns.push(*pattern);
        }
    }
    patterns
}

/// Values of knobs beside those that are set anyway: large buffers, and each other word.
fn turned(entry: &Entry) -> Vec<(&'static str, String)> {
    let mut turned = Vec::new();
    for knob in entry.knobs.iter().filter(|knob| knob.name != "bind") {
        match knob.kind {
            KnobKind::Bytes { min, max } => {
                turned.push((knob.name, format_bytes(BUFFER.clamp(min, max))));
            }
            KnobKind::Choice { words } => {
                let others = words.iter().filter(|word| **word != knob.default);
                turned.extend(others.map(|word| (knob.name, (*word).to_owned())));
            }
            _ => {}
        }
    }
    turned
}

fn planned(
    mechanisms: &[Entry],
    patterns: &[PatternKind],
    options: &OptionSet,
    host: &Host,
    wanted: &Requirements,
) -> Result<Vec<CellPlan>, Stop> {
    let place = wanted.placement.or(host.topology.two_cpus()).unwrap_or(Placement::SameCpu);
    let mut cells = Vec::new();
    for pattern in patterns {
        let request = Request {
            loads: vec![wanted.load(*pattern)],
            options: options.clone(),
            ..request::usual(mechanisms, *pattern, &wanted.sizes, place, Idle::AsIs)
        };
        cells.extend(plan::cells(&request, host).map_err(request::refused)?);
    }
    Ok(cells)
}

/// No mechanism has facts that meet all needs: what to leave out, and who is there then.
fn nobody(near: &[Entry], wanted: &Requirements) -> Stop {
    let mut told: Vec<(Need, String)> = Vec::new();
    for entry in near {
        let missed = wanted.unmet(entry.spec);
        if !told.iter().any(|(need, _)| missed.contains(need)) {
            told.extend(missed.first().map(|need| (*need, entry.spec.full_name())));
        }
    }
    let without = |(need, name): &(Need, String)| format!("; without {}: {name}", need.words());
    let without: String = told.iter().map(without).collect();
    Stop::nothing_ran(format!("no mechanism can do all of that{without}"))
}

/// A size that nobody can carry here, with the reason of one of them.
fn uncarried(cells: &[CellPlan], wanted: &Requirements) -> Option<Stop> {
    wanted.sizes.iter().find_map(|size| {
        let mut of_size = cells.iter().filter(|cell| cell.key.size_bytes == *size);
        let is_carried = of_size.clone().any(|cell| cell.objection.is_none());
        let (cell, why) = of_size.find_map(|cell| Some((cell, cell.objection.as_ref()?)))?;
        let size = format_size(*size);
        let name = &cell.key.mechanism;
        (!is_carried).then(|| {
            Stop::nothing_ran(format!(
                "nothing that meets the needs carries {size} here; {name}: {why}"
            ))
        })
    })
}

#[cfg(test)]
mod tests;

//! Arms measured side by side: a pilot, a plan that is said before it runs, and its rounds.

use super::plan::{self, Pilot, RoundsAsked};
use super::rounds::{self, Rounds};
use super::{arm, binary};
use crate::args::CompareArgs;
use crate::experiment;
use ipcperf_core::result::{Comparison, ComparisonPlan};
use ipcperf_engine::plan::{CellPlan, Host};
use ipcperf_engine::registry::Registry;
use ipcperf_engine::run::{Settings, fresh_seed};
use ipcperf_judge::{Arms, Terms, compare_live, metric_of};
use ipcperf_kit::error::{Code, Stop, note};
use ipcperf_kit::paths_in_text;
use ipcperf_kit::progress::ProgressLine;
use ipcperf_kit::{external, measure, request};
use ipcperf_stats::paired_spread;
use std::time::{Duration, Instant};

/// Warm-up of a slice, as in `run`.
const WARMUP: Duration = Duration::from_millis(20);

/// How long a comparison takes that nobody has said anything of: a sentence in the time that a person waits.
const USUAL: Duration = Duration::from_secs(10);

/// Arms, cell by cell: A, A again, and B.
struct ArmCells {
    a: String,
    b: String,
    threes: Vec<CellPlan>,
}

pub(super) fn run(
    registry: &Registry,
    args: &CompareArgs,
    live: &[String],
    terms: &Terms,
) -> Result<(Comparison, Option<Code>), Stop> {
    let host = request::host()?;
    let cells = cells(registry, &host, args, live)?;
    let build = args.live_binary.as_ref().map(|path| path.to_string_lossy());
    if let Some(reason) = build.as_deref().and_then(external::objection) {
        return Err(Stop::usage(format!("--live-binary: {reason}")));
    }
    let second = Duration::from_secs(1);
    let slice = match &args.slice {
        Some(text) => request::time("--slice", text, second / 1000, second * 600)?,
        None => plan::slice(&cells.threes, build.is_some()),
    };
    let settings = Settings {
        rounds: plan::pilot_rounds(slice),
        slice,
        warmup: WARMUP,
        seed: args.seed.unwrap_or_else(fresh_seed),
        ..Settings::default()
    };
    let asked = asked(args)?;
    let interrupts = measure::interrupts()?;
    let line = ProgressLine::counting("slices", args.progress.is_silent());
    let measured = |settings: &Settings| match &build {
        None => rounds::measure(&cells.threes, settings, &interrupts, &line),
        Some(path) => binary::measure(&cells.threes[0], path, settings, &interrupts, &line),
    };
    let compared = |rounds: &Rounds, plan| {
        let (a, b) = (cells.a.as_str(), cells.b.as_str());
        let arms = Arms { a, b, set: &rounds.set, other: rounds.other.as_ref() };
        compare_live(&arms, plan, terms).map_err(Stop::incomparable)
    };
    // Seeds differ: the pilot must not draw the order and the layout of the rounds that count.
    let began = Instant::now();
    let pilot = measured(&Settings { seed: settings.seed.wrapping_add(1), ..settings.clone() })?;
    let around = began.elapsed().saturating_sub(pilot.each.mul_f64(settings.rounds as f64));
    if pilot.set.interrupted {
        return Err(Stop::interrupted(
            "interrupted in the pilot, before there was anything to compare",
        ));
    }
    let found = compared(&pilot, ComparisonPlan::default())?;
    let spreads = found.comparisons.iter().map(|one| &one.primary);
    let spread = spreads
        .filter_map(|one| paired_spread(&[&one.a_rounds, &one.control_rounds, &one.b_rounds]))
        .reduce(f64::max);
    let Some(spread) = spread else {
        let reason = found.comparisons.first().map_or("", |one| one.primary.reason.as_str());
        let why = format!("the pilot found nothing to compare: {reason}");
        // All was measured, and may not be believed.
        return Err(match experiment::verdict(&pilot.set) {
            None => Stop::cannot_tell(why),
            Some(_) => Stop::internal(why),
        });
    };
    let mut plan = Pilot { spread, each: pilot.each, around }.plan(&asked, terms.margin, &settings);
    if !args.progress.quiet {
        tell(&plan, &pilot, build.is_some());
    }
    let began = Instant::now();
    let found = measured(&Settings { rounds: plan.rounds, ..settings })?;
    plan.duration_s = began.elapsed().as_secs_f64();
    Ok((compared(&found, plan)?, experiment::verdict(&found.set)))
}

fn asked(args: &CompareArgs) -> Result<RoundsAsked, Stop> {
    match (args.rounds, &args.time) {
        (Some(rounds), _) => request::rounds(rounds).map(RoundsAsked::Rounds),
        (None, Some(text)) => request::budget("--time", text).map(RoundsAsked::Time),
        // A gate and a margin ask for a decision, however long it takes.
        (None, None) if args.margin.is_some() || !args.fail_on.is_empty() => {
            Ok(RoundsAsked::Enough)
        }
        (None, None) => Ok(RoundsAsked::EnoughWithin(USUAL)),
    }
}

/// The plan, before it runs.
fn tell(plan: &ComparisonPlan, pilot: &Rounds, has_builds: bool) {
    let effect = plan.smallest_effect.map_or_else(
        || "Too few for any verdict".to_owned(),
        |effect| format!("Finds {:.1} % or more in 95 of 100 cases", effect * 100.0),
    );
    let spread = plan.spread.unwrap_or(0.0) * 100.0;
    note(&format!(
        "Plan: {} rounds of A, A again and B, about {:.0} s, seed {}",
        plan.rounds,
        plan.expected_s.max(1.0),
        plan.seed,
    ));
    let pilot_rounds = plan.pilot_rounds;
    note(&format!("{effect} ({pilot_rounds} pilot rounds: {spread:.1} % spread)"));
    if has_builds {
        note(&format!(
            "Each round starts ipcperf three times, each of which measures the bounds of the machine first: {:.1} s",
            pilot.each.as_secs_f64()
        ));
    }
}

/// The cells of both arms, checked against each other and this machine.
fn cells(
    registry: &Registry,
    host: &Host,
    args: &CompareArgs,
    live: &[String],
) -> Result<ArmCells, Stop> {
    let pattern = args.pattern.as_deref();
    let (a, b) = match (live, &args.live_binary) {
        ([a, b], None) => (a, b),
        ([one], Some(_)) => (one, one),
        (_, None) => return Err(Stop::usage("name two cells, or one and --live-binary")),
        (_, Some(_)) => {
            return Err(Stop::usage("--live-binary: both builds measure the same one cell"));
        }
    };
    let of_a = arm::cells(registry, host, a, pattern)?;
    let of_b = arm::cells(registry, host, b, pattern)?;
    if of_a.len() != of_b.len() || of_a.is_empty() {
        let (a, b) = (of_a.len(), of_b.len());
        return Err(Stop::usage(format!(
            "--live: A has {a} cells and B has {b}, so they cannot be paired"
        )));
    }
    if args.live_binary.is_some() && of_a.len() > 1 {
        return Err(Stop::usage("--live-binary: both builds measure the same one cell"));
    }
    for (a, b) in of_a.iter().zip(&of_b) {
        let (of_a, of_b) = (metric_of(&a.key), metric_of(&b.key));
        if of_a != of_b {
            let why = format!("'{}' gives {of_a} and '{}' gives {of_b}", a.id, b.id);
            return Err(Stop::usage(format!("--live: {why}, which cannot be compared")));
        }
        for cell in [a, b] {
            if let Some(missing) = &cell.objection {
                return Err(Stop::nothing_ran(format!("{}: unavailable: {missing}", cell.id)));
            }
        }
    }
    let words = |cells: &[CellPlan]| {
        cells.iter().map(|cell| cell.id.as_str()).collect::<Vec<_>>().join(", ")
    };
    let (a, mut b) = (words(&of_a), words(&of_b));
    if let Some(path) = &args.live_binary {
        let path = paths_in_text::without_home(&path.display().to_string());
        b = format!("{b} by {path}");
    }
    let threes = of_a.into_iter().zip(of_b).flat_map(|(a, b)| [a.clone(), a, b]).collect();
    Ok(ArmCells { a, b, threes })
}

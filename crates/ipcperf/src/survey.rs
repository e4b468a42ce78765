//! `survey`: every mechanism this machine has, within a budget.

use crate::args::SurveyArgs;
use crate::error::Stop;
use crate::measure::{BOUNDS, SLICE_OVERHEAD, Undertaking};
use crate::request;
use ipcperf_core::{Idle, OptionSet, PatternKind, Placement, Touch};
use ipcperf_engine::plan::{self, CellPlan, Ground, Request};
use ipcperf_engine::registry::{Entry, Registry};
use ipcperf_engine::run::{Settings, fresh_seed};
use std::process::ExitCode;
use std::time::Duration;

/// Rounds a survey wants before its slices get longer. From nine on the interval of the median leaves out the extreme
/// rounds (ranks 2 to 8), so that one disturbed round cannot make everything a tie.
const ROUNDS: u64 = 9;
/// Shortest timed region: about 70 round trips of the slowest wake-ups seen (150 us).
const SHORTEST: Duration = Duration::from_millis(10);
/// Longest: more rounds say more than longer slices.
const LONGEST: Duration = Duration::from_millis(100);
/// Below this budget only one size of each pattern is measured.
const FULL: Duration = Duration::from_secs(30);

pub(crate) fn run(registry: &Registry, args: &SurveyArgs) -> Result<ExitCode, Stop> {
    let budget = request::time(
        "--budget",
        &args.budget,
        Duration::from_secs(1),
        Duration::from_secs(24 * 3600),
    )?;
    let ground =
        Ground::read().map_err(|error| Stop::internal(format!("CPU affinity: {error}")))?;
    let cells = cells(registry, &ground, budget, args.all).map_err(request::refused)?;
    let runnable = cells.iter().filter(|cell| cell.objection.is_none()).count();
    let settings = settings(budget, runnable, args.seed.unwrap_or_else(fresh_seed));
    let undertaking = Undertaking { command: "survey", cells, settings };
    if args.dry_run { undertaking.print() } else { undertaking.carry_out(registry, &args.output) }
}

/// Whether a variant stands for its mechanism in a survey: the default one, and the one that spins.
fn stands(entry: &Entry) -> bool {
    entry.spec.default || entry.spec.wait.burns_cpu()
}

fn cells(
    registry: &Registry,
    ground: &Ground,
    budget: Duration,
    everything: bool,
) -> Result<Vec<CellPlan>, ipcperf_core::OptionError> {
    let all: Vec<Entry> =
        registry.entries().iter().filter(|entry| everything || stands(entry)).copied().collect();
    let data: Vec<Entry> =
        all.iter().filter(|entry| entry.spec.wake_word().is_none()).copied().collect();
    let mut places = vec![Placement::SameCpu];
    places.extend(ground.topology.two_cpus());
    let block =
        |mechanisms: &[Entry], pattern, sizes: &[usize], placements: &[Placement], idle| Request {
            mechanisms: mechanisms.to_vec(),
            patterns: vec![pattern],
            sizes: sizes.to_vec(),
            placements: placements.to_vec(),
            idle: vec![idle],
            touch: Touch::CacheLine,
            options: OptionSet::default(),
        };
    let (more, streams): (&[usize], &[usize]) = if budget < FULL {
        (&[], &[64 << 10])
    } else {
        (&[4 << 10], &[4 << 10, 64 << 10, 1 << 20])
    };
    let mut requests = vec![
        block(&all, PatternKind::PingPong, &[64], &places, Idle::AsIs),
        block(&data, PatternKind::PingPong, more, &places, Idle::AsIs),
        block(&data, PatternKind::Stream, streams, &places, Idle::AsIs),
    ];
    // What any process may connect to, rather than what a parent hands to its children.
    let mut by_name = block(
        &registry.find("unix-stream").copied().into_iter().collect::<Vec<_>>(),
        PatternKind::PingPong,
        &[64],
        &places,
        Idle::AsIs,
    );
    by_name.options.0.insert("unix-stream.bind".into(), "path".into());
    requests.push(by_name);
    // One row tells what idle polling would make of all of them, where it may be asked for.
    if let (Some(two), None) = (ground.topology.two_cpus(), &ground.idle_objection) {
        let sample: Vec<Entry> = registry.find("pipe").copied().into_iter().collect();
        requests.push(block(&sample, PatternKind::PingPong, &[64], &[two], Idle::Poll));
    }
    let mut cells = Vec::new();
    for request in requests {
        cells.extend(plan::cells(&request, ground)?);
    }
    Ok(cells)
}

/// Divides the budget: first nine rounds of slices as long as fit, then, once slices are 100 ms, more rounds.
fn settings(budget: Duration, cells: usize, seed: u64) -> Settings {
    let usable = budget.saturating_sub(BOUNDS);
    let slot = |rounds: u64| usable.div_f64((cells.max(1) as u64 * rounds) as f64);
    // Of the time beside the overhead a sixth is warm-up.
    let timed = |rounds: u64| slot(rounds).saturating_sub(SLICE_OVERHEAD).mul_f64(5.0 / 6.0);
    let mut rounds = ROUNDS;
    while rounds > 1 && timed(rounds) < SHORTEST {
        rounds -= 1;
    }
    while timed(rounds + 1) >= LONGEST {
        rounds += 1;
    }
    let slice = timed(rounds).clamp(SHORTEST, LONGEST);
    Settings { rounds, slice, warmup: slice / 5, seed, budget: Some(budget) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_plan_fits_its_budget_and_uses_it() {
        for (seconds, cells) in [(20, 60), (60, 130), (600, 130), (60, 10), (3600, 130)] {
            let budget = Duration::from_secs(seconds);
            let plan = settings(budget, cells, 0);
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
    fn a_hopeless_budget_still_measures_everything_once() {
        let plan = settings(Duration::from_secs(1), 130, 0);
        assert_eq!((plan.rounds, plan.slice), (1, SHORTEST));
    }
}

//! All rounds of a run: every cell once per round, in random order, each slice in fresh processes. What was spoiled in a
//! round is measured once more at its end.

mod bench;
mod bounds;
mod findings;
mod peak;
pub(crate) mod topology;

pub use bench::{Bench, HANG, Lengths, timed_calls};
pub use bounds::Bounded;
pub(crate) use findings::Around;
pub use findings::{
    BoundReadings, CellRun, Counts, Findings, Kept, PAUSE, Progress, Settings, SliceRun, pause,
};
pub use peak::TRIALS;

use crate::plan::CellPlan;
use ipcperf_core::Idle;
use ipcperf_stats::Rng;
use ipcperf_sys::signals::Interrupts;
use ipcperf_sys::{procfs, random};
use std::io;
use std::time::{Duration, Instant};

/// A seed for a run that was given none: below 2^53, so that every JSON reader gives it back unchanged.
#[must_use]
pub fn fresh_seed() -> u64 {
    random::number() >> 11
}

/// Measures all cells of `plan` that can be.
///
/// # Errors
/// No page, no run directory, or no worker can be had at all.
pub fn run(
    plan: Vec<CellPlan>,
    settings: &Settings,
    interrupts: Option<&Interrupts>,
    progress: &mut dyn FnMut(Progress<'_>),
) -> io::Result<Findings> {
    search(plan, settings, interrupts, progress, &mut |_, _| Vec::new())
}

/// What chooses the cells of the next step by what was found so far, and by the length of a tick in nanoseconds.
pub type Next<'a> = dyn FnMut(&[CellRun], f64) -> Vec<CellPlan> + 'a;

/// As [`run`], and then as many rounds of the cells that `next` chooses, again and again until it chooses none. The rounds
/// of all steps are counted on.
///
/// # Errors
/// As there.
pub fn search(
    plan: Vec<CellPlan>,
    settings: &Settings,
    interrupts: Option<&Interrupts>,
    progress: &mut dyn FnMut(Progress<'_>),
    next: &mut Next<'_>,
) -> io::Result<Findings> {
    let began = Instant::now();
    let mut run = Bench::open(settings.seed, interrupts)?;
    let mut cells: Vec<CellRun> = plan.into_iter().map(CellRun::new).collect();
    let steal_before = procfs::steal_ns();
    progress(Progress::Bounds);
    let mut interrupted = run.prepare(&cells)?;
    if !interrupted {
        interrupted = run.calibrate(&mut cells, settings.lengths())?;
    }
    let prepared = began.elapsed();
    let mut rounds = 0;
    let mut order = Rng::stream(settings.seed, "order");
    let mut first = 0;
    loop {
        let chosen = cells[first..].iter();
        let measurable = chosen.filter(|cell| cell.plan.objection.is_none()).count() as u64;
        let begin = rounds;
        // A round without a cell would be a pause.
        while rounds < begin + settings.rounds && !interrupted && cells[first..].iter().any(is_open)
        {
            let spent = began.elapsed();
            if settings.budget.is_some_and(|budget| !has_time(budget, spent, prepared, rounds)) {
                break;
            }
            if run.pause(pause(settings))? {
                interrupted = true;
                break;
            }
            let mut turn = turn(&cells[first..], &mut order);
            let once = turn.len();
            let mut position = 0;
            while let Some(index) = turn.get(position) {
                let done = (rounds - begin) * measurable + position.min(once) as u64;
                let cell = &mut cells[first + index];
                progress(Progress::Slice {
                    done,
                    total: settings.rounds * measurable,
                    id: &cell.plan.id,
                });
                if run.measure(cell, settings.lengths(), rounds, position as u64) {
                    interrupted = true;
                    break;
                }
                position += 1;
                if position == once {
                    let of_turn = turn.iter().map(|index| (*index, &cells[first + index]));
                    let each = began.elapsed().saturating_sub(spent).div_f64(once as f64);
                    let left = settings.budget.map(|budget| budget.saturating_sub(began.elapsed()));
                    let again = run.once_more(of_turn, (rounds, settings.rounds), each, left);
                    turn.extend(again);
                }
            }
            rounds += 1;
        }
        if interrupted {
            break;
        }
        let chosen = next(&cells, run.ns_per_tick());
        if chosen.is_empty() {
            break;
        }
        first = cells.len();
        cells.extend(chosen.into_iter().map(CellRun::new));
    }
    if settings.time_calls && !interrupted {
        interrupted = run.time_calls(&mut cells, settings, progress);
    }
    progress(Progress::Done);
    run.finish(cells, interrupted, began, steal_before)
}

/// Whether another round is likely to end within the budget, after so many rounds and what was done before the first. The
/// first is measured in any case.
fn has_time(budget: Duration, spent: Duration, prepared: Duration, rounds: u64) -> bool {
    let all = u32::try_from(rounds).unwrap_or(u32::MAX);
    let round = spent.saturating_sub(prepared).checked_div(all);
    round.is_none_or(|round| spent + round <= budget)
}

/// Whether a cell has more slices to come.
fn is_open(cell: &CellRun) -> bool {
    cell.plan.objection.is_none() && cell.ended.is_none()
}

/// The cells of one round in random order. Those with idle polling come in one block, first or last, so that the
/// machine has to settle only once.
pub(crate) fn turn(cells: &[CellRun], order: &mut Rng) -> Vec<usize> {
    let mut turn: Vec<usize> = (0..cells.len()).filter(|index| is_open(&cells[*index])).collect();
    order.shuffle(&mut turn);
    let first = if order.below(2) == 0 { Idle::AsIs } else { Idle::Poll };
    turn.sort_by_key(|index| cells[*index].plan.key.idle != first);
    turn
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::{self, Host, Request};
    use ipcperf_core::{OptionSet, PatternKind, Placement, Touch};
    use ipcperf_sys::topology::{Cpu, Topology};

    /// What was done before the rounds counted as part of each of them, so that a run which finds peaks had one round.
    #[test]
    fn what_came_before_the_rounds_is_no_part_of_the_next_one() {
        let s = Duration::from_secs;
        assert!(has_time(s(60), s(36), s(30), 1), "a round takes 6 s");
        assert!(has_time(s(60), s(54), s(30), 4));
        assert!(!has_time(s(60), s(55), s(30), 4));
        assert!(has_time(s(1), s(5), s(5), 0), "the first one");
    }

    #[test]
    fn every_round_takes_every_cell_once_and_idle_polling_in_one_block() {
        let cpus = (0..2).map(|id| Cpu { id, core: id, llc: 0, node: 0 }).collect();
        let host = Host {
            topology: Topology { cpus, ..Topology::default() },
            pinning_objection: None,
            idle_objection: None,
            memory: None,
        };
        let request = Request {
            mechanisms: vec![crate::testing::entries()[0]],
            patterns: PatternKind::ALL.to_vec(),
            sizes: vec![1, 64, 4096],
            placements: vec![Placement::SameLlc],
            idle: Idle::ALL.to_vec(),
            touch: Touch::CacheLine,
            loads: vec![ipcperf_core::Load::default()],
            options: OptionSet::default(),
        };
        let cells: Vec<CellRun> = plan::cells(&request, &host)
            .expect("good knobs")
            .into_iter()
            .map(CellRun::new)
            .collect();
        let runs = |at: &usize| cells[*at].plan.objection.is_none();
        let runnable: Vec<usize> = (0..cells.len()).filter(runs).collect();
        assert!(runnable.len() >= 24, "{} cells", runnable.len());
        let (mut order, mut first) = (Rng::from_seed(1), [0; 2]);
        for _ in 0..50 {
            let turn = turn(&cells, &mut order);
            let mut sorted = turn.clone();
            sorted.sort_unstable();
            assert_eq!(sorted, runnable);
            let idle: Vec<Idle> = turn.iter().map(|index| cells[*index].plan.key.idle).collect();
            assert_eq!(idle.windows(2).filter(|pair| pair[0] != pair[1]).count(), 1, "{idle:?}");
            first[usize::from(idle[0] == Idle::Poll)] += 1;
        }
        assert!(
            first.iter().all(|count| *count > 10),
            "either block comes first at times: {first:?}"
        );
    }
}

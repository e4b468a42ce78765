//! All rounds of an experiment: every arm once per round, in random order, each slice in fresh processes. What was rejected in
//! a round is measured once more at its end.

mod bench;
mod bounds;
mod peak;
mod pointer_calls;
mod stages;

#[cfg(any(test, feature = "simulate"))]
pub(crate) use crate::measured::Around;
pub use crate::measured::{
    BoundReadings, CellRun, Counts, Findings, Kept, PAUSE, Part, Progress, Settings, SliceRun,
    pause,
};
pub use bench::{Bench, HANG, Lengths, timed_calls};
pub use bounds::Bounded;
pub use peak::TRIALS;
pub use pointer_calls::price_pointers;
pub use stages::{
    FOCUSED, MOST_CONFIRMED, QuestionPlan, SCREENED, Staging, Tail, conditions, in_stages,
};

use crate::assemble::figures_of;
use crate::plan::CellPlan;
use ipcperf_core::Idle;
use ipcperf_core::result::CellKey;
use ipcperf_stats::{Rng, median};
use ipcperf_sys::random;
use ipcperf_sys::signals::Interrupts;
use std::borrow::Cow;
use std::io;
use std::time::{Duration, Instant};

/// A seed for a run that was given none: below 2^53, so that every JSON reader gives it back unchanged.
#[must_use]
pub fn fresh_seed() -> u64 {
    random::number() >> 11
}

/// What measures the arms of an experiment: cells of this program, programs, another build, a simulated host. [`rounds`]
/// decides which arm is measured when.
pub trait Measure {
    /// Why nothing can be measured any more.
    type Error;

    /// The arms so far, including those that have ended.
    fn arms(&self) -> Vec<Arm<'_>>;

    /// Does nothing for a while before a round, once a second at the most, to see the machine without load; true if the user
    /// interrupted.
    ///
    /// # Errors
    /// Nothing can be measured any more.
    fn pause(&mut self) -> Result<bool, Self::Error> {
        Ok(false)
    }

    /// Measures one slice of an arm, at this position of this round; true if the user interrupted.
    ///
    /// # Errors
    /// Nothing can be measured any more.
    fn measure(&mut self, arm: usize, round: u64, position: u64) -> Result<bool, Self::Error>;

    /// The median of the figures of an arm so far, in words, for those who watch.
    fn so_far(&self, _arm: usize) -> Option<String> {
        None
    }

    /// Which of these arms have a slice of this round that does not count and are to be measured once more.
    fn rejected(&self, _arms: &[usize], _round: u64) -> Vec<usize> {
        Vec::new()
    }

    /// The arm that is measured afresh with these, which were rejected: then they make a round of their own, so that both
    /// are neighbours. `None`: they are measured once more in their round.
    fn partner(&self, _rejected: &[usize]) -> Option<usize> {
        None
    }

    /// Whether an open arm has a slice in round `at` of this step, counted from 0. It is asked when the round begins, and
    /// before the step for its progress.
    fn takes_part(&self, _arm: usize, _at: u64) -> bool {
        true
    }

    /// Opens the arms of the next step by what was found so far, and says how many rounds they get; `None`: all is done.
    fn extend(&mut self) -> Option<u64> {
        None
    }
}

/// An arm of an experiment, as far as the loop knows it.
#[derive(Clone, Debug)]
pub struct Arm<'a> {
    /// What the user sees while it is measured.
    pub name: Cow<'a, str>,
    /// Whether it has more slices to come.
    pub is_open: bool,
    /// What idle CPUs are to do while it is measured; `None` where that is no property of an arm.
    pub idle: Option<Idle>,
    /// Arms with the same number are measured one after the other in each round, because slices that are neighbours have
    /// most of their noise in common.
    pub block: usize,
}

impl<'a> From<&'a CellRun> for Arm<'a> {
    fn from(cell: &'a CellRun) -> Self {
        let CellPlan { id, key, objection, .. } = &cell.plan;
        let is_open = objection.is_none() && cell.ended.is_none();
        Self { name: id.into(), is_open, idle: Some(key.idle), block: cell.block }
    }
}

/// A cell with more slices than this shows no median so far, because reading all of them after each slice would take longer than
/// the slices.
const WATCHED: usize = 100;

/// `30.1 us`: the median of the figures of a cell so far, where `ns` is the length of a tick.
fn so_far(cell: &CellRun, ns: f64) -> Option<String> {
    let is_short = cell.slices.len() <= WATCHED;
    let figures = is_short.then(|| figures_of(cell, ns))?;
    let value = median(&figures.into_values().collect::<Vec<_>>())?;
    Some(cell.plan.key.pattern.facts().figure.words(value, cell.plan.key.size_bytes))
}

/// How the rounds went.
#[derive(Clone, Copy, Debug)]
pub struct Ran {
    /// Rounds that were measured to their end, of all steps.
    pub rounds: u64,
    /// The user interrupted.
    pub interrupted: bool,
}

/// Measures `count` rounds of all open arms, then the rounds of the next step, until there is none. In each round the blocks
/// come in random order, and the arms of a block too. No round begins that is not expected to end before `until`, except for the
/// first one of all.
///
/// # Errors
/// Those of `measure`.
pub fn rounds<M: Measure>(
    measure: &mut M,
    count: u64,
    until: Option<Instant>,
    order: &mut Rng,
    progress: &mut dyn FnMut(Progress<'_>),
) -> Result<Ran, M::Error> {
    let mut pace = RoundPace { until, measured: 0, repeated: 0, round: 0 };
    let (mut ran, mut step) = (0, Some(count));
    while let Some(count) = step {
        let began = Instant::now();
        let total = (0..count).map(|round| open(measure, round).len() as u64).sum();
        let mut done = 0;
        for round in 0..count {
            let is_late =
                || until.is_some_and(|until| !has_time(until, Instant::now(), began, round));
            if !measure.arms().iter().any(|arm| arm.is_open) || is_late() {
                break;
            }
            let turn = open(measure, round);
            // A round without an arm would be a pause.
            if turn.is_empty() {
                continue;
            }
            if measure.pause()? {
                return Ok(Ran { rounds: ran, interrupted: true });
            }
            let (first, round_began) = (pace.round, Instant::now());
            let mut position = 0;
            for block in blocks(measure, turn, order) {
                let mut show = |id: &str, so_far: Option<&str>| {
                    progress(Progress::Slice { done, total, id, so_far });
                    done += 1;
                };
                if pace.block(measure, block, (first, &mut position), order, &mut show)? {
                    return Ok(Ran { rounds: ran, interrupted: true });
                }
            }
            progress(Progress::Round { round: ran, took: round_began.elapsed() });
            ran += 1;
            pace.round += 1;
        }
        step = measure.extend();
    }
    Ok(Ran { rounds: ran, interrupted: false })
}

/// The open arms that take part in a round of a step.
fn open<M: Measure>(measure: &M, at: u64) -> Vec<usize> {
    let arms = measure.arms().into_iter().enumerate();
    let open = arms.filter(|(_, arm)| arm.is_open).map(|(arm, _)| arm);
    open.filter(|arm| measure.takes_part(*arm, at)).collect()
}

/// How far the rounds have come.
struct RoundPace {
    until: Option<Instant>,
    /// Slices so far, and how many of them were measured because another was rejected.
    measured: usize,
    repeated: usize,
    /// The number of the last round. Slices that were measured once more may have had rounds of their own.
    round: u64,
}

impl RoundPace {
    /// Measures the arms of a block in this order, then once more the arms whose slices were rejected; true if the user
    /// interrupted.
    fn block<M: Measure>(
        &mut self,
        measure: &mut M,
        block: Vec<usize>,
        (round, position): (u64, &mut u64),
        order: &mut Rng,
        show: &mut dyn FnMut(&str, Option<&str>),
    ) -> Result<bool, M::Error> {
        let began = Instant::now();
        for arm in &block {
            show(&measure.arms()[*arm].name, measure.so_far(*arm).as_deref());
            self.measured += 1;
            if measure.measure(*arm, round, *position)? {
                return Ok(true);
            }
            *position += 1;
        }
        let each = began.elapsed().div_f64(block.len().max(1) as f64);
        let left = self.until.map(|until| until.saturating_duration_since(Instant::now()));
        let mut again = measure.rejected(&block, round);
        again.truncate(room(left, each, self.measured, self.repeated));
        if again.is_empty() {
            return Ok(false);
        }
        self.repeated += again.len();
        let partner = measure.partner(&again).filter(|partner| !again.contains(partner));
        let (mut round, mut own) = (round, 0);
        let position = if partner.is_some() { &mut own } else { position };
        if partner.is_some() {
            self.round += 1;
            round = self.round;
            again.extend(partner);
            order.shuffle(&mut again);
        }
        for arm in again {
            self.measured += 1;
            if measure.measure(arm, round, *position)? {
                return Ok(true);
            }
            *position += 1;
        }
        Ok(false)
    }
}

/// Whether another round is likely to end in time, if it takes as long as those since `began` on average. The first one is
/// measured in any case.
fn has_time(until: Instant, now: Instant, began: Instant, rounds: u64) -> bool {
    let each = (now - began).checked_div(u32::try_from(rounds).unwrap_or(u32::MAX));
    each.is_none_or(|each| now + each <= until)
}

/// The arms of one round: the blocks in random order, and the arms of each. Those with idle polling come first or last, so
/// that the machine has to settle only once.
fn blocks<M: Measure>(measure: &M, mut turn: Vec<usize>, order: &mut Rng) -> Vec<Vec<usize>> {
    order.shuffle(&mut turn);
    let arms = measure.arms();
    let idle_first = match turn.iter().any(|arm| arms[*arm].idle.is_some()) {
        true if order.below(2) == 0 => Some(Idle::AsIs),
        true => Some(Idle::Poll),
        false => None,
    };
    let group = |arm: &usize| (arms[*arm].idle != idle_first, arms[*arm].block);
    let mut groups: Vec<(bool, usize)> = turn.iter().map(group).collect();
    groups.sort_unstable();
    groups.dedup();
    order.shuffle(&mut groups);
    groups.sort_by_key(|(is_second, _)| *is_second);
    let of_group =
        |one: (bool, usize)| turn.iter().copied().filter(|arm| group(arm) == one).collect();
    groups.into_iter().map(of_group).collect()
}

/// How many slices may be measured once more, of which each takes so long: a quarter of all that were measured, less those
/// that were repeated already, because with more rejected the grade is F and there are no verdicts; and as many as there is
/// time left for. They come before further rounds: two cells have more rounds in common by eight whole ones than by nine that
/// each lost a tenth.
fn room(left: Option<Duration>, each: Duration, measured: usize, repeated: usize) -> usize {
    let most = measured.div_ceil(4).saturating_sub(repeated);
    let in_time = |left: Duration| (left.as_secs_f64() / each.as_secs_f64()) as usize;
    left.map_or(most, |left| most.min(in_time(left)))
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
    let mut bench = Bench::open(settings.seed, interrupts)?;
    let mut cells = in_blocks(plan, 0);
    progress(Progress::Bounds);
    let mut interrupted =
        bench.prepare(&cells)? || bench.calibrate(&mut cells, settings.lengths())?;
    let until = settings.budget.map(|budget| bench.began + budget);
    let mut run = CellsRun { bench, cells, settings, next, first: 0 };
    if !interrupted {
        let mut order = Rng::stream(settings.seed, "order");
        interrupted = rounds(&mut run, settings.rounds, until, &mut order, progress)?.interrupted;
    }
    let CellsRun { mut bench, mut cells, .. } = run;
    if settings.time_calls && !interrupted {
        interrupted = bench.time_calls(&mut cells, settings, progress);
    }
    progress(Progress::Done);
    bench.finish(cells, interrupted)
}

/// The cells of a plan, those in one block that differ in nothing but the mechanism and its knobs. `first` is the number of
/// the first block.
fn in_blocks(plan: Vec<CellPlan>, first: usize) -> Vec<CellRun> {
    let mut blocks: Vec<CellKey> = Vec::new();
    let run = |plan: CellPlan| {
        let key = conditions(&plan.key);
        let known = blocks.iter().position(|block| *block == key);
        let block = known.unwrap_or(blocks.len());
        if known.is_none() {
            blocks.push(key);
        }
        CellRun { block: first + block, ..CellRun::new(plan) }
    };
    plan.into_iter().map(run).collect()
}

/// The cells of a run.
struct CellsRun<'a, 'b> {
    bench: Bench<'b>,
    cells: Vec<CellRun>,
    settings: &'a Settings,
    next: &'a mut Next<'a>,
    /// The cells of this step begin here.
    first: usize,
}

impl Measure for CellsRun<'_, '_> {
    type Error = io::Error;

    fn arms(&self) -> Vec<Arm<'_>> {
        let arms = self.cells.iter().map(Arm::from).enumerate();
        arms.map(|(at, arm)| Arm { is_open: arm.is_open && at >= self.first, ..arm }).collect()
    }

    fn pause(&mut self) -> io::Result<bool> {
        self.bench.pause(pause(self.settings))
    }

    fn measure(&mut self, arm: usize, round: u64, position: u64) -> io::Result<bool> {
        let lengths = self.settings.lengths();
        Ok(self.bench.measure(&mut self.cells[arm], lengths, round, position))
    }

    fn so_far(&self, arm: usize) -> Option<String> {
        so_far(&self.cells[arm], self.bench.ns_per_tick())
    }

    fn rejected(&self, arms: &[usize], round: u64) -> Vec<usize> {
        let cells = arms.iter().map(|arm| (*arm, &self.cells[*arm]));
        self.bench.rejected(cells, round, self.settings.rounds)
    }

    fn extend(&mut self) -> Option<u64> {
        let more = (self.next)(&self.cells, self.bench.ns_per_tick());
        self.first = self.cells.len();
        self.cells.extend(in_blocks(more, self.first));
        (self.cells.len() > self.first).then_some(self.settings.rounds)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::convert::Infallible;

    /// Arms of which nothing is measured: which was asked for, round by round.
    #[derive(Default)]
    struct Fake {
        idle: Vec<Idle>,
        /// Arms whose first slice of each round is rejected.
        bad: Vec<usize>,
        /// Arms that the next step adds.
        more: usize,
        /// The arms of this step begin here.
        first: usize,
        /// The block of each arm; 0 of those behind the last.
        blocks: Vec<usize>,
        /// What is measured with arms that were rejected.
        partner: Option<usize>,
        /// Ends after so many slices, as if the user had interrupted.
        interrupt: Option<usize>,
        slices: Vec<(u64, usize)>,
    }

    impl Measure for Fake {
        type Error = Infallible;

        fn arms(&self) -> Vec<Arm<'_>> {
            let arm = |(at, idle): (usize, &Idle)| Arm {
                name: "".into(),
                is_open: at >= self.first,
                idle: Some(*idle),
                block: self.blocks.get(at).copied().unwrap_or_default(),
            };
            self.idle.iter().enumerate().map(arm).collect()
        }

        fn so_far(&self, arm: usize) -> Option<String> {
            let count = self.slices.iter().filter(|(_, other)| *other == arm).count();
            (count > 0).then(|| count.to_string())
        }

        fn measure(&mut self, arm: usize, round: u64, position: u64) -> Result<bool, Infallible> {
            let of_round = self.slices.iter().filter(|(of, _)| *of == round).count();
            assert_eq!(of_round as u64, position);
            self.slices.push((round, arm));
            Ok(self.interrupt == Some(self.slices.len()))
        }

        fn rejected(&self, arms: &[usize], _: u64) -> Vec<usize> {
            arms.iter().copied().filter(|arm| self.bad.contains(arm)).collect()
        }

        fn partner(&self, _: &[usize]) -> Option<usize> {
            self.partner
        }

        fn extend(&mut self) -> Option<u64> {
            self.first = self.idle.len();
            self.idle.extend(vec![Idle::AsIs; std::mem::take(&mut self.more)]);
            (self.idle.len() > self.first).then_some(2)
        }
    }

    impl Fake {
        fn of(arms: usize) -> Self {
            Self { idle: vec![Idle::AsIs; arms], ..Self::default() }
        }

        fn run(&mut self, count: u64, until: Option<Instant>) -> Ran {
            let Ok(ran) = rounds(self, count, until, &mut Rng::from_seed(1), &mut |_| ());
            ran
        }

        fn round(&self, round: u64) -> Vec<usize> {
            self.slices.iter().filter(|(of, _)| *of == round).map(|(_, arm)| *arm).collect()
        }
    }

    /// What was done before the rounds counted as part of each of them, so that a run which finds peaks had one round.
    #[test]
    fn what_came_before_the_rounds_is_no_part_of_the_next_one() {
        let start = Instant::now();
        let at = |seconds| start + Duration::from_secs(seconds);
        let has_time = |until, now, began, rounds| has_time(at(until), at(now), at(began), rounds);
        assert!(has_time(60, 36, 30, 1), "a round takes 6 s");
        assert!(has_time(60, 54, 30, 4));
        assert!(!has_time(60, 55, 30, 4));
        assert!(has_time(1, 5, 5, 0), "the first one");
    }

    #[test]
    fn every_round_takes_every_arm_once_and_idle_polling_in_one_block() {
        let idle = (0..24).map(|at| if at % 3 == 0 { Idle::Poll } else { Idle::AsIs });
        let mut fake = Fake { idle: idle.collect(), ..Fake::default() };
        assert_eq!(fake.run(50, None).rounds, 50);
        let mut first = [0; 2];
        for turn in (0..50).map(|round| fake.round(round)) {
            let mut sorted = turn.clone();
            sorted.sort_unstable();
            assert_eq!(sorted, (0..24).collect::<Vec<_>>());
            let idle: Vec<Idle> = turn.iter().map(|arm| fake.idle[*arm]).collect();
            assert_eq!(idle.windows(2).filter(|pair| pair[0] != pair[1]).count(), 1, "{idle:?}");
            first[usize::from(idle[0] == Idle::Poll)] += 1;
        }
        assert!(
            first.iter().all(|count| *count > 10),
            "either block comes first at times: {first:?}"
        );
    }

    #[test]
    fn progress_has_the_figure_that_an_arm_has_so_far() {
        let mut fake = Fake::of(1);
        let mut seen = Vec::new();
        let mut progress = |progress: Progress<'_>| {
            if let Progress::Slice { so_far, .. } = progress {
                seen.push(so_far.map(str::to_owned));
            }
        };
        let order = &mut Rng::stream(1, "order");
        let Ok(_) = rounds(&mut fake, 3, None, order, &mut progress);
        assert_eq!(seen, [None, Some("1".to_owned()), Some("2".to_owned())]);
    }

    #[test]
    fn rejected_slices_are_measured_once_more_at_the_end_of_their_round() {
        let mut fake = Fake { bad: vec![3], ..Fake::of(8) };
        fake.run(3, None);
        for turn in (0..3).map(|round| fake.round(round)) {
            assert_eq!((turn.len(), turn[8]), (9, 3), "{turn:?}");
        }
        let mut fake = Fake { bad: (0..8).collect(), ..Fake::of(8) };
        fake.run(2, None);
        assert_eq!([0, 1].map(|round| fake.round(round).len()), [10, 11], "a quarter of them");
    }

    #[test]
    fn arms_of_a_block_are_neighbours_and_blocks_come_in_random_order() {
        let mut fake = Fake { blocks: (0..24).map(|at| at % 4).collect(), ..Fake::of(24) };
        fake.run(40, None);
        let mut first = [0; 4];
        for turn in (0..40).map(|round| fake.round(round)) {
            let blocks: Vec<usize> = turn.iter().map(|arm| arm % 4).collect();
            let changes = blocks.windows(2).filter(|pair| pair[0] != pair[1]).count();
            assert_eq!((turn.len(), changes), (24, 3), "{blocks:?}");
            first[blocks[0]] += 1;
        }
        assert!(first.iter().all(|count| *count > 2), "{first:?}");
        assert_ne!(fake.round(0), fake.round(1));
    }

    #[test]
    fn what_was_rejected_is_measured_with_its_partner_in_a_round_of_its_own() {
        let mut fake = Fake { bad: vec![3], partner: Some(0), ..Fake::of(8) };
        let ran = fake.run(2, None);
        assert_eq!(ran.rounds, 2, "rounds of the plan");
        let sorted = |round| {
            let mut turn = fake.round(round);
            turn.sort_unstable();
            turn
        };
        assert_eq!(sorted(0), (0..8).collect::<Vec<_>>());
        assert_eq!((sorted(1), sorted(2).len(), sorted(3)), (vec![0, 3], 8, vec![0, 3]));
        let mut alone = Fake { bad: vec![0], partner: Some(0), ..Fake::of(8) };
        alone.run(1, None);
        assert_eq!(alone.round(0)[8], 0, "the partner itself is measured in its round");
    }

    #[test]
    fn a_step_of_a_search_has_rounds_of_its_own_arms_alone_and_an_interrupt_ends_all() {
        let mut fake = Fake { more: 2, ..Fake::of(3) };
        let ran = fake.run(2, None);
        assert_eq!((ran.rounds, ran.interrupted), (4, false));
        let of = |round| {
            let mut turn = fake.round(round);
            turn.sort_unstable();
            turn
        };
        assert_eq!([of(1), of(2), of(3)], [vec![0, 1, 2], vec![3, 4], vec![3, 4]]);
        let mut fake = Fake { interrupt: Some(4), ..Fake::of(3) };
        let ran = fake.run(5, None);
        assert_eq!((ran.rounds, ran.interrupted, fake.slices.len()), (1, true, 4));
        let mut fake = Fake::of(3);
        assert_eq!(fake.run(5, Some(Instant::now())).rounds, 1, "the first one in any case");
    }

    #[test]
    fn what_is_measured_once_more_is_a_quarter_of_all_and_fits_the_time_that_is_left() {
        let of = |left: Option<u64>, measured, repeated| {
            room(left.map(Duration::from_secs), Duration::from_millis(20), measured, repeated)
        };
        assert_eq!([0, 140, 150, 160].map(|repeated| of(None, 600, repeated)), [150, 10, 0, 0]);
        // A cell alone may lose one round of four.
        assert_eq!(
            [(1, 0), (2, 1), (4, 1), (5, 1)].map(|(all, repeated)| of(None, all, repeated)),
            [1, 0, 0, 1]
        );
        assert_eq!([10, 2, 1, 0].map(|left| of(Some(left), 300, 0)), [75, 75, 50, 0]);
    }
}

//! A run in stages: a first value of every cell (screen), more rounds of the cells that may be shown (focus), and then
//! fresh rounds of the few cells in each question that the report makes statements about (confirm).
//!
//! Rounds that select a cell count for no statement about it, so a statement holds as if its cells had been chosen
//! beforehand.
//! The number of confirm rounds is fixed before the first of them. The reference of a question is in its block twice; if the
//! two differ, something disturbs the comparison that pairing does not cancel.

mod tail;

pub use tail::Tail;

use super::{Arm, Bench, Lengths, Measure, rounds};
use crate::assemble::figures_of;
use crate::measured::{CellRun, Findings, Part, Progress, Settings, pause};
use crate::plan::CellPlan;
use crate::topology::{counting, usual};
use ipcperf_core::result::{CellKey, Question, Stage};
use ipcperf_core::{Figure, OptionSet};
use ipcperf_stats::{
    FEWEST_CONFIRMED, FEWEST_ROUNDS, FIRST_CONFIRMED, Rng, Selected, rounds_of_questions, select,
    successor,
};
use ipcperf_sys::signals::Interrupts;
use std::io;
use std::time::{Duration, Instant};

/// Rounds of the screen, as many as it takes to see a slice that was disturbed.
pub const SCREENED: u64 = 3;

/// Rounds of the focus. Together with the screen they are eight, enough to drop arms that are 1.4 times slower.
pub const FOCUSED: u64 = 5;

/// Arms of a question that the focus measures at the most.
const MOST_FOCUSED: usize = 16;

/// Arms of a question that are kept because they are the best, in addition to the named ones.
const BEST: usize = 4;

/// Arms of a question that are kept because they are the best of those that cannot be its reference.
const BEST_OF_OTHERS: usize = 2;

/// Arms of a question that are confirmed at the most.
pub const MOST_CONFIRMED: usize = 11;

/// Shares of the budget after which no further round of the screen, and none of the focus, begins: on a machine that is busy
/// with other work a slice takes ten times as long, and what is confirmed matters most.
const SCREEN: f64 = 0.25;
const FOCUS: f64 = 0.4;

/// Share of the time left that is planned. The rest is for slices that are measured once more and for what ends the run.
const PLANNED: f64 = 0.93;

/// What ends a run after its last round: the clock of each CPU once more.
const ENDING: Duration = Duration::from_millis(500);

/// Cells that are compared with each other.
#[derive(Clone, Debug)]
pub struct QuestionPlan {
    /// What they have in common.
    pub name: String,
    /// Their places in the plan.
    pub cells: Vec<usize>,
    /// Those of them that are confirmed whatever their figures are, the most important first.
    pub named: Vec<usize>,
    /// Those of them that may be the reference, the fittest first: the first one that may be the best to within
    /// the margin is the reference. What spins before
    /// it sleeps is measured with the others and never chosen.
    pub by_fitness: Vec<usize>,
    /// The tail of its cells that is shown: all rounds of a cell together have the operations for it.
    pub tail: Tail,
    /// The tail that its cells are compared by: each round has the operations for it.
    pub decides: Tail,
}

/// How the cells of a run are measured in stages.
#[derive(Clone, Debug)]
pub struct Staging {
    /// The most important question first.
    pub questions: Vec<QuestionPlan>,
    /// Whether screen and focus come first; otherwise all cells of the questions are confirmed.
    pub is_screened: bool,
    /// How many questions the focus is on.
    pub focused: usize,
    /// Whether the same mechanisms are confirmed in all questions, as one choice is made by all of them.
    pub is_united: bool,
    /// Ratios within this do not matter: 0.1.
    pub margin: f64,
    /// The timed region of each cell of the plan.
    pub slices: Vec<Duration>,
    /// How long a slice is expected to take in addition to its timed region and warm-up, before any was measured.
    pub overhead: Duration,
}

/// What the cells of a question have in common: all but the mechanism with its knobs, and what stands at its place.
#[must_use]
pub fn conditions(key: &CellKey) -> CellKey {
    let (mechanism, wait) = (String::new(), ipcperf_core::Wait::Block);
    let load = ipcperf_core::Load { net: Default::default(), ..key.load.with_ours() };
    CellKey { mechanism, wait, load, ..key.clone() }
}

/// Measures the cells of a plan in stages.
///
/// # Errors
/// No page, no run directory, or no worker can be had at all.
pub fn in_stages(
    plan: Vec<CellPlan>,
    staging: &Staging,
    settings: &Settings,
    interrupts: Option<&Interrupts>,
    progress: &mut dyn FnMut(Progress<'_>),
) -> io::Result<Findings> {
    let mut bench = Bench::open(settings.seed, interrupts)?;
    let mut cells: Vec<CellRun> = plan.into_iter().map(CellRun::new).collect();
    for (block, question) in staging.questions.iter().enumerate() {
        question.cells.iter().for_each(|cell| cells[*cell].block = block);
    }
    progress(Progress::Bounds);
    let mut interrupted =
        bench.prepare(&cells)? || bench.calibrate(&mut cells, settings.lengths())?;
    let until = settings.budget.map(|budget| bench.began + budget.saturating_sub(ENDING));
    let mut run = StagedRun::new(bench, cells, settings, staging, until);
    if !interrupted {
        let mut order = Rng::stream(settings.seed, "order");
        if let Some(count) = run.begin() {
            interrupted = rounds(&mut run, count, until, &mut order, progress)?.interrupted;
        }
    }
    progress(Progress::Done);
    run.finish(interrupted)
}

/// What the rounds of the next step are for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    Screen,
    Focus,
    /// The first question.
    First,
    /// All others, and the first one again if another cell became its reference.
    Rest,
}

/// The cells of a question that are to be confirmed, by their places in the plan.
#[derive(Clone, Debug)]
struct Chosen {
    cells: Vec<usize>,
    reference: usize,
}

/// A question and the cells to confirm in it: first with the fewest rounds that it should have, later with the rounds that
/// it gets.
#[derive(Clone, Debug)]
struct Candidate {
    question: usize,
    rounds: u64,
    chosen: Chosen,
}

/// The cells of a question that are confirmed.
#[derive(Clone, Debug)]
struct Confirmed {
    /// Places of the cells in the plan.
    cells: Vec<usize>,
    /// Place of the reference in the plan.
    reference: usize,
    /// Rounds that were planned.
    rounds: u64,
    seconds_per_round: f64,
    /// Where its arms are among all arms: of each cell, and of the control.
    arms: Vec<usize>,
    control: Option<usize>,
}

struct StagedRun<'a, 'b> {
    bench: Bench<'b>,
    cells: Vec<CellRun>,
    settings: &'a Settings,
    staging: &'a Staging,
    until: Option<Instant>,
    step: Step,
    /// Which stage begins with which round.
    stages: Vec<(u64, Stage)>,
    /// Of each arm, in which rounds of the step it takes part: so many of so many. 0: it is closed.
    shares: Vec<(u64, u64)>,
    /// The confirmed cells of each question, once its confirmation has begun.
    confirmed: Vec<Option<Confirmed>>,
    /// What slices of each cell of the plan took together, and how many there were.
    took: Vec<(Duration, u32)>,
    /// The timed region of each arm.
    slices: Vec<Duration>,
    /// Rounds of this step that have begun.
    begun: u64,
    /// Of each cell of the plan, whether the focus measured it.
    focused: Vec<bool>,
    /// The next round that no slice belongs to.
    next_round: u64,
    /// When the run began.
    began: Instant,
}

impl<'a, 'b> StagedRun<'a, 'b> {
    fn new(
        bench: Bench<'b>,
        cells: Vec<CellRun>,
        settings: &'a Settings,
        staging: &'a Staging,
        until: Option<Instant>,
    ) -> Self {
        Self {
            step: Step::Screen,
            stages: Vec::new(),
            shares: vec![(0, 1); cells.len()],
            confirmed: vec![None; staging.questions.len()],
            took: vec![(Duration::ZERO, 0); cells.len()],
            slices: staging.slices.clone(),
            begun: 0,
            focused: vec![false; cells.len()],
            next_round: 0,
            began: bench.began,
            bench,
            cells,
            settings,
            staging,
            until,
        }
    }

    /// Opens the arms of the first step; its rounds, `None` where there is nothing to measure.
    fn begin(&mut self) -> Option<u64> {
        if self.staging.is_screened {
            self.stage(Stage::Screen);
            self.shares.fill((SCREENED, SCREENED));
            return Some(SCREENED);
        }
        self.stage(Stage::Confirm);
        self.confirm_first()
    }

    /// The next rounds are for this.
    fn stage(&mut self, stage: Stage) {
        if self.stages.last().is_none_or(|(_, last)| *last != stage) {
            self.stages.push((self.next_round, stage));
        }
        self.begun = 0;
    }

    /// The logarithms of the figures of these arms by round, less is better.
    fn rows(&self, arms: &[usize]) -> Vec<Vec<Option<f64>>> {
        let usual = usual(&self.bench.bounds);
        let ns = self.bench.ns_per_tick();
        let rounds = usize::try_from(self.next_round).unwrap_or_default();
        let row = |arm: &usize| {
            let cell = &self.cells[*arm];
            let is_rate = cell.plan.key.pattern.facts().figure != Figure::Time;
            let mut row = vec![None; rounds];
            for (round, figure) in counting(cell, &usual, figures_of(cell, ns)) {
                let log = if is_rate { -figure.ln() } else { figure.ln() };
                row[round as usize] = Some(log).filter(|log| log.is_finite());
            }
            row
        };
        arms.iter().map(row).collect()
    }

    /// Cells of a question whose slices can be measured.
    fn runnable(&self, question: usize) -> Vec<usize> {
        let is_open = |cell: &&usize| Arm::from(&self.cells[**cell]).is_open;
        self.staging.questions[question].cells.iter().filter(is_open).copied().collect()
    }

    /// What the rounds up to now say of those cells of a question that may be its reference, or of the others. What the focus
    /// left out is out: its few rounds would leave everything open.
    fn selected(&self, question: usize, may_be_reference: bool) -> (Vec<usize>, Selected) {
        let by_fitness = &self.staging.questions[question].by_fitness;
        let mut cells = self.runnable(question);
        let is_focused = cells.iter().any(|cell| self.focused[*cell]);
        cells.retain(|cell| by_fitness.contains(cell) == may_be_reference);
        cells.retain(|cell| self.focused[*cell] || !is_focused);
        let found = select(&self.rows(&cells), self.staging.margin);
        (cells, found)
    }

    /// The cells of a question to go on with: those that are named, and so many of the best of each kind, which are `most`
    /// at the most.
    fn kept(&self, question: usize, best: [usize; 2], most: usize) -> Vec<usize> {
        let named = &self.staging.questions[question].named;
        let (runnable, by_fitness) =
            (self.runnable(question), &self.staging.questions[question].by_fitness);
        let others = runnable.iter().filter(|cell| !by_fitness.contains(cell)).count();
        let mut kept: Vec<usize> = Vec::new();
        for (may_be_reference, best) in [true, false].into_iter().zip(best) {
            let (cells, found) = self.selected(question, may_be_reference);
            // The others have a place, too.
            let reserved = if may_be_reference { others.min(BEST_OF_OTHERS) } else { 0 };
            let room = most.saturating_sub(kept.len() + reserved);
            // A cell with a knob must not take the place of another mechanism.
            let is_plain = |cell: &&usize| self.cells[**cell].plan.options.0.is_empty();
            let fittest: Vec<usize> = by_fitness.iter().filter(is_plain).copied().collect();
            let [named, fittest] = [named, &fittest].map(|list| places(list, &cells));
            let arms = found.keep(&named, &fittest, best, room);
            kept.extend(arms.into_iter().map(|arm| cells[arm]));
        }
        kept
    }

    /// Opens the arms of the focus; its rounds.
    fn focus(&mut self) -> u64 {
        self.shares.fill((0, 1));
        let questions = 0..self.staging.focused.min(self.staging.questions.len());
        let best = [MOST_FOCUSED; 2];
        let kept: Vec<usize> =
            questions.flat_map(|question| self.kept(question, best, 2 * MOST_FOCUSED)).collect();
        for cell in kept {
            self.shares[cell] = (FOCUSED, FOCUSED);
            self.focused[cell] = true;
        }
        self.stage(Stage::Focus);
        FOCUSED
    }

    /// The cells to confirm in a question, and its reference; `None` where it has no cell.
    fn choose(&self, question: usize) -> Option<Chosen> {
        let plan = &self.staging.questions[question];
        let mut kept = self.runnable(question);
        if self.staging.is_screened {
            kept = match self.staging.is_united {
                true => {
                    let all = self.kept_by_any();
                    kept.into_iter().filter(|cell| all.contains(&self.arm_of(*cell))).collect()
                }
                false => self.kept(question, [BEST, BEST_OF_OTHERS], MOST_CONFIRMED),
            };
        }
        let (cells, found) = self.selected(question, true);
        let may_be_best = |cell: &usize| {
            let at = cells.iter().position(|one| one == cell);
            !self.staging.is_screened || at.is_some_and(|at| found.may_be_best[at])
        };
        let fittest = || plan.by_fitness.iter().copied().filter(|cell| kept.contains(cell));
        let reference = fittest().find(may_be_best).or_else(|| fittest().next());
        // Where nothing may be the reference by its nature the best of the others is.
        let reference = reference.or_else(|| kept.first().copied())?;
        kept.sort_unstable();
        Some(Chosen { cells: kept, reference })
    }

    /// A mechanism with its knobs.
    fn arm_of(&self, cell: usize) -> (&str, &OptionSet) {
        let plan = &self.cells[cell].plan;
        (&plan.key.mechanism, &plan.options)
    }

    /// The arms that the questions of the focus keep, beginning with the first question.
    fn kept_by_any(&self) -> Vec<(&str, &OptionSet)> {
        let mut all = Vec::new();
        for question in 0..self.staging.focused.min(self.staging.questions.len()) {
            let kept = self.kept(question, [BEST, BEST_OF_OTHERS], MOST_CONFIRMED);
            for arm in kept.into_iter().map(|cell| self.arm_of(cell)) {
                if !all.contains(&arm) && all.len() < MOST_CONFIRMED {
                    all.push(arm);
                }
            }
        }
        all
    }

    /// What one slice of an arm of the plan takes, s.
    fn seconds(&self, cell: usize) -> f64 {
        match self.took[cell] {
            (_, 0) => {
                let own = self.slices[cell] + self.settings.warmup + self.staging.overhead;
                own.as_secs_f64()
            }
            (all, count) => all.as_secs_f64() / f64::from(count),
        }
    }

    /// The seconds that one round of these arms takes, the control included.
    fn seconds_per_round(&self, question: usize, Chosen { cells, reference }: &Chosen) -> f64 {
        let seconds = |cell: &usize| self.seconds_confirming(question, *cell);
        let control = if cells.len() > 1 { seconds(reference) } else { 0.0 };
        cells.iter().map(seconds).sum::<f64>() + control
    }

    /// Whether so much of the budget is spent.
    fn is_beyond(&self, share: f64) -> bool {
        let is_over = |until: Instant| self.began.elapsed() > (until - self.began).mul_f64(share);
        self.until.is_some_and(is_over)
    }

    /// The seconds that may be planned.
    fn left(&self) -> f64 {
        let left = |until: Instant| until.saturating_duration_since(Instant::now()).as_secs_f64();
        self.until.map_or(f64::INFINITY, |until| PLANNED * left(until))
    }

    /// Opens the arms of the first question; its rounds, `None` where nothing can be confirmed.
    fn confirm_first(&mut self) -> Option<u64> {
        self.step = Step::First;
        let chosen = (0..self.confirmed.len())
            .filter_map(|question| Some((question, self.choose(question)?)));
        let is_united = self.staging.is_united;
        let mut all: Vec<Candidate> = chosen
            .enumerate()
            .map(|(at, (question, chosen))| {
                let is_first = at == 0 && !is_united;
                let rounds = if is_first { FIRST_CONFIRMED } else { FEWEST_CONFIRMED };
                Candidate { question, rounds, chosen }
            })
            .collect();
        self.leave_room_for_tails(&mut all);
        let mut planned = self.share_out(all);
        if is_united {
            // One choice is made by all of them, so that a question without rounds would leave it open.
            self.step = Step::Rest;
            let least = planned.iter().map(|one| one.rounds).min()?;
            if least < FEWEST_CONFIRMED {
                let each = |one: &Candidate| self.seconds_per_round(one.question, &one.chosen);
                let each: f64 = planned.iter().map(each).sum();
                let rounds = (self.left() / each).clamp(0.0, FEWEST_CONFIRMED as f64);
                let rounds = (rounds as u64 / 2 * 2).max(2);
                planned.iter_mut().for_each(|one| one.rounds = rounds);
            }
            return self.open(planned);
        }
        let mut first = planned.into_iter().next()?;
        // Something is measured however short the budget is.
        first.rounds = first.rounds.max(2);
        self.open(vec![first])
    }

    /// Opens the arms of all other questions, and of the first one again if another cell became its reference.
    fn confirm_rest(&mut self) -> Option<u64> {
        self.step = Step::Rest;
        let candidate = |question: usize| match &self.confirmed[question] {
            Some(_) => {
                let chosen = self.superseding(question)?;
                Some(Candidate { question, rounds: FIRST_CONFIRMED, chosen })
            }
            None => {
                let chosen = self.choose(question)?;
                Some(Candidate { question, rounds: FEWEST_CONFIRMED, chosen })
            }
        };
        let all = (0..self.confirmed.len()).filter_map(candidate).collect();
        // Many rounds with another reference are worth more than a few rounds with this one.
        let is_enough = |one: &Candidate| {
            self.confirmed[one.question].is_none() || one.rounds >= FEWEST_CONFIRMED
        };
        let planned = self.share_out(all).into_iter().filter(is_enough).collect();
        self.open(planned)
    }

    /// The same with the rounds that each question gets.
    fn share_out(&self, mut questions: Vec<Candidate>) -> Vec<Candidate> {
        let cost =
            |one: &Candidate| (one.rounds, self.seconds_per_round(one.question, &one.chosen));
        let costs: Vec<_> = questions.iter().map(cost).collect();
        let rounds = rounds_of_questions(&costs, self.left());
        for (one, rounds) in questions.iter_mut().zip(rounds) {
            one.rounds = rounds;
        }
        questions
    }

    /// The cells of a question with the next reference, if the rounds prove a cell faster than the reference by more than the
    /// margin: the fittest other cell within the margin of the fastest.
    fn superseding(&self, question: usize) -> Option<Chosen> {
        let confirmed = self.confirmed[question].as_ref()?;
        let rows = self.rows(&confirmed.arms);
        let by_fitness = &self.staging.questions[question].by_fitness;
        let place = |cell: &usize| confirmed.cells.iter().position(|one| one == cell);
        let by_fitness: Vec<usize> = by_fitness.iter().filter_map(place).collect();
        let own = place(&confirmed.reference)?;
        let next = successor(&rows, &by_fitness, own, self.staging.margin)?;
        let reference = confirmed.cells[next];
        Some(Chosen { cells: confirmed.cells.clone(), reference })
    }

    /// Opens fresh arms for these questions; how many rounds there are in all.
    fn open(&mut self, questions: Vec<Candidate>) -> Option<u64> {
        let most = questions.iter().map(|one| one.rounds).max().filter(|most| *most > 0)?;
        self.shares.fill((0, 1));
        for Candidate { question, rounds, chosen } in questions {
            if rounds == 0 {
                continue;
            }
            if let Some(before) = self.confirmed[question].take() {
                for arm in before.arms.into_iter().chain(before.control) {
                    let cell = match self.cells[arm].part {
                        Part::Confirm(cell) | Part::Control(cell) => cell,
                        Part::Whole | Part::Superseded(_) => continue,
                    };
                    self.cells[arm].part = Part::Superseded(cell);
                }
            }
            let seconds_per_round = self.seconds_per_round(question, &chosen);
            let Chosen { cells, reference } = chosen;
            let mut add = |part, cell: usize| {
                let slice = self.slice_of(question, cell, rounds);
                let plan = self.cells[cell].plan.clone();
                let batch = self.cells[cell].batch;
                let block = self.cells[cell].block;
                self.cells.push(CellRun { block, part, batch, ..CellRun::new(plan) });
                self.shares.push((rounds, most));
                self.slices.push(slice);
                self.cells.len() - 1
            };
            let arms = cells.iter().map(|cell| add(Part::Confirm(*cell), *cell)).collect();
            // A reference without others has nothing to be compared with.
            let control = (cells.len() > 1).then(|| add(Part::Control(reference), reference));
            let confirmed =
                Confirmed { cells, reference, rounds, seconds_per_round, arms, control };
            self.confirmed[question] = Some(confirmed);
        }
        self.stage(Stage::Confirm);
        Some(most)
    }

    /// Which question an arm belongs to that confirms one, and its place in the plan.
    fn of_plan(&self, arm: usize) -> usize {
        match self.cells[arm].part {
            Part::Whole => arm,
            Part::Confirm(cell) | Part::Superseded(cell) | Part::Control(cell) => cell,
        }
    }

    /// Ends the run: what was confirmed is put to its questions.
    fn finish(self, interrupted: bool) -> io::Result<Findings> {
        let reached = |question: &QuestionPlan, confirmed: Option<&Confirmed>| match confirmed {
            Some(_) => Some(Stage::Confirm),
            None => {
                let slices = question.cells.iter().flat_map(|cell| &self.cells[*cell].slices);
                let last = slices.map(|slice| slice.round).max()?;
                self.stages.iter().rev().find(|(first, _)| *first <= last).map(|(_, stage)| *stage)
            }
        };
        let of = |(question, confirmed): (&QuestionPlan, &Option<Confirmed>)| {
            let confirmed = confirmed.as_ref();
            let id = |cell: &usize| self.cells[*cell].plan.id.clone();
            Question {
                name: question.name.clone(),
                stage: reached(question, confirmed),
                reference: confirmed.map(|one| id(&one.reference)),
                confirmed: confirmed
                    .map(|one| one.cells.iter().map(id).collect())
                    .unwrap_or_default(),
                rounds: confirmed.map_or(0, |one| one.rounds),
                seconds_per_round: confirmed.map_or(0.0, |one| one.seconds_per_round),
            }
        };
        let questions: Vec<Question> =
            self.staging.questions.iter().zip(&self.confirmed).map(of).collect();
        let stages = self.stages.clone();
        let findings = self.bench.finish(self.cells, interrupted)?;
        Ok(Findings { questions, stages, ..findings })
    }
}

/// Where these are in a list, of those that are.
fn places(of: &[usize], list: &[usize]) -> Vec<usize> {
    of.iter().filter_map(|one| list.iter().position(|other| other == one)).collect()
}

impl Measure for StagedRun<'_, '_> {
    type Error = io::Error;

    fn arms(&self) -> Vec<Arm<'_>> {
        let arms = self.cells.iter().map(Arm::from).zip(&self.shares);
        arms.map(|(arm, (own, _))| Arm { is_open: arm.is_open && *own > 0, ..arm }).collect()
    }

    fn so_far(&self, arm: usize) -> Option<String> {
        super::so_far(&self.cells[arm], self.bench.ns_per_tick())
    }

    fn pause(&mut self) -> io::Result<bool> {
        self.begun += 1;
        self.bench.pause(pause(self.settings))
    }

    fn measure(&mut self, arm: usize, round: u64, position: u64) -> io::Result<bool> {
        self.next_round = self.next_round.max(round + 1);
        // A question that is not in every round changes its CPUs whenever it comes.
        let (own, all) = self.shares[arm];
        let turn = self.begun.saturating_sub(1) * own / all;
        let lengths = Lengths {
            slice: self.slices[arm],
            is_swapped: Some(turn % 2 == 1),
            ..self.settings.lengths()
        };
        let began = Instant::now();
        let interrupted = self.bench.measure(&mut self.cells[arm], lengths, round, position);
        let of_plan = self.of_plan(arm);
        let (took, count) = &mut self.took[of_plan];
        *took += began.elapsed();
        *count += 1;
        Ok(interrupted)
    }

    fn rejected(&self, arms: &[usize], round: u64) -> Vec<usize> {
        let cells = arms.iter().map(|arm| (*arm, &self.cells[*arm]));
        self.bench.rejected(cells, round, FEWEST_ROUNDS as u64)
    }

    fn partner(&self, rejected: &[usize]) -> Option<usize> {
        let of_arm = |confirmed: &&Confirmed| {
            confirmed.arms.contains(&rejected[0]) || confirmed.control == Some(rejected[0])
        };
        let confirmed = self.confirmed.iter().flatten().find(of_arm)?;
        let place = confirmed.cells.iter().position(|cell| *cell == confirmed.reference)?;
        // Alone it has nobody to be compared with.
        (confirmed.cells.len() > 1).then_some(confirmed.arms[place])
    }

    fn takes_part(&self, arm: usize, at: u64) -> bool {
        let share = match self.step {
            Step::Screen => SCREEN,
            Step::Focus => FOCUS,
            Step::First | Step::Rest => 1.0,
        };
        if at > 0 && share < 1.0 && self.is_beyond(share) {
            return false;
        }
        let (own, all) = self.shares[arm];
        (at + 1) * own / all > at * own / all
    }

    fn extend(&mut self) -> Option<u64> {
        match self.step {
            Step::Screen if self.staging.focused > 0 && !self.is_beyond(FOCUS) => {
                self.step = Step::Focus;
                Some(self.focus())
            }
            Step::Screen | Step::Focus => self.confirm_first(),
            Step::First => self.confirm_rest(),
            Step::Rest => None,
        }
    }
}

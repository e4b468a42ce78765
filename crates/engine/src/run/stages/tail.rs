//! Tails: how long the slices are that a p99 or a p99.9 takes, and how many cells there is room for with them.

use super::{Candidate, StagedRun};
use crate::assemble::figures_of;
use crate::topology::{counting, usual};
use ipcperf_core::Figure;
use ipcperf_stats::{FIRST_CONFIRMED, median};
use std::time::Duration;

/// Operations that lead in the segments of a slice and are dropped.
const DROPPED: f64 = 16.0;

/// The longest slice that a p99, and that a p99.9 of all rounds together may ask for.
const LONGEST: Duration = Duration::from_millis(30);
const LONGEST_OF_P999: Duration = Duration::from_millis(300);

/// The longest slice that the tail of a round may ask for.
const LONGEST_OF_ROUND: Duration = Duration::from_secs(4);

/// How many times the operations that a tail needs a round should have: their mean is above their median, and rounds differ.
const TO_SPARE: f64 = 1.4;

/// Where tails leave fewer rounds than this, fewer cells are worth more; fewer than these are no choice.
const FEW_ROUNDS: f64 = 14.0;
const FEW_CELLS: usize = 4;

/// A tail that there must be enough operations for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Tail {
    /// None.
    #[default]
    None,
    /// The p99, which needs 2,000 operations.
    P99,
    /// The p99.9, which needs 20,000.
    P999,
}

impl Tail {
    /// How many operations all rounds of a cell should have together, with a tenth to spare, and the longest slice that
    /// they may ask for; `None` without a tail.
    const fn of_all_rounds(self) -> Option<(f64, Duration)> {
        match self {
            Self::None => None,
            Self::P99 => Some((2200.0, LONGEST)),
            Self::P999 => Some((22_000.0, LONGEST_OF_P999)),
        }
    }

    /// How many operations a round should have for a tail of its own; `None` without a tail.
    #[must_use]
    pub const fn of_each_round(self) -> Option<f64> {
        match self {
            Self::None => None,
            Self::P99 => Some(2000.0 * TO_SPARE),
            Self::P999 => Some(20_000.0 * TO_SPARE),
        }
    }
}

impl StagedRun<'_, '_> {
    /// The usual time of an operation of a cell by the rounds up to now, ns.
    fn operation(&self, cell: usize) -> Option<f64> {
        let figure = self.cells[cell].plan.key.pattern.facts().figure;
        let figures = counting(
            &self.cells[cell],
            &usual(&self.bench.bounds),
            figures_of(&self.cells[cell], self.bench.ns_per_tick()),
        );
        let found = median(&figures.into_values().collect::<Vec<_>>())?;
        match figure {
            Figure::Time => Some(found),
            Figure::Requests => Some(1e9 / found),
            Figure::Throughput => None,
        }
    }

    /// How long the slices of a cell have to be that confirm it, where a tail is shown or decides.
    pub(super) fn slice_of(&self, question: usize, cell: usize, rounds: u64) -> Duration {
        let own = self.slices[cell];
        let question = &self.staging.questions[question];
        let shown = question.tail.of_all_rounds();
        let shown = shown.map(|(all, longest)| (all / rounds as f64, longest));
        let decides = question.decides.of_each_round().map(|each| (each, LONGEST_OF_ROUND));
        let needs = [shown, decides];
        if needs.iter().all(Option::is_none) {
            return own;
        }
        let Some(operation) = self.operation(cell) else { return own };
        let length = |(operations, longest): (f64, Duration)| {
            let length = (operations + DROPPED) * operation / 1e9;
            Duration::from_secs_f64(length.clamp(0.0, longest.as_secs_f64()))
        };
        needs.into_iter().flatten().map(length).fold(own, Duration::max)
    }

    /// What one slice takes that confirms a cell, s.
    pub(super) fn seconds_confirming(&self, question: usize, cell: usize) -> f64 {
        let confirming = self.slice_of(question, cell, FIRST_CONFIRMED);
        self.seconds(cell) + confirming.saturating_sub(self.slices[cell]).as_secs_f64()
    }

    /// Leaves out the slowest of the screened cells for as long as the tails that decide leave too few rounds for all. Where
    /// every cell is named, none is left out.
    pub(super) fn leave_room_for_tails(&self, all: &mut [Candidate]) {
        let decides = |one: &&mut Candidate| {
            let question = &self.staging.questions[one.question];
            question.decides != Tail::None && question.named.len() < question.cells.len()
        };
        if !self.staging.is_screened || all.iter_mut().find(decides).is_none() {
            return;
        }
        let enough = self.left() / FEW_ROUNDS;
        let round = |one: &Candidate| self.seconds_per_round(one.question, &one.chosen);
        while all.iter().map(round).sum::<f64>() > enough {
            let Some(slowest) = all.iter().find_map(|one| self.slowest(one)) else { return };
            let arm = self.arm_of(slowest);
            for one in all.iter_mut() {
                let reference = one.chosen.reference;
                one.chosen.cells.retain(|cell| *cell == reference || self.arm_of(*cell) != arm);
            }
        }
    }

    /// The slowest cell of a question but its reference, where there is more than a choice takes.
    fn slowest(&self, Candidate { chosen, .. }: &Candidate) -> Option<usize> {
        let others = chosen.cells.iter().filter(|cell| **cell != chosen.reference);
        let others = others.filter_map(|cell| Some((self.operation(*cell)?, *cell)));
        let slowest = others.max_by(|a, b| a.0.total_cmp(&b.0))?;
        (chosen.cells.len() > FEW_CELLS).then_some(slowest.1)
    }
}

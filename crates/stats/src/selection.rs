//! Which arms of a question are worth confirming, and how many rounds each question gets.
//!
//! Selection looks at rounds that no statement counts (screen and focus), so it may use them as it likes. It is the subset
//! selection of Gupta (Technometrics 7, 1965) in the form for paired rounds that Nelson, Swann, Goldsman and Song give
//! (Operations Research 49, 2001).

use crate::distribution::student_t_quantile;
use crate::estimate::median;
use crate::relative::relative_to;

/// Chance that the truly best arm of a question is dropped, over all arms together.
const DROPPED: f64 = 0.1;

/// Chance that one arm, exactly at the margin, does not count as near the best.
const OVERLOOKED: f64 = 0.1;

/// Arms that are kept because they are the fittest of those near the best.
const FITTEST: usize = 2;

/// Rounds of a question below which its statements are not planned: it is shown as undecided by lack of time.
pub const FEWEST_CONFIRMED: u64 = 20;

/// Rounds of the first question of a survey: they prove that an arm is 1.2 times slower in more than 95 of 100 cases
/// (`cargo xtask trial answer`).
pub const FIRST_CONFIRMED: u64 = 60;

/// More rounds than this say nothing that a reader would notice: an interval is then about 3 % wide on each side.
const MOST: u64 = 400;

/// The arms of a question after screen or focus.
#[derive(Clone, Debug, PartialEq)]
pub struct Selected {
    /// All arms that have a figure, the best first.
    pub order: Vec<usize>,
    /// Of each arm, whether the rounds leave open that it is the best to within the margin.
    pub may_be_best: Vec<bool>,
    /// The same for each arm alone, without the adjustment for their number, so that fewer arms qualify.
    pub is_near_best: Vec<bool>,
}

impl Selected {
    /// The arms to go on with, at most `most`: all `named` ones and the best one, then of the others near the best the first two
    /// in `by_fitness`, because the fittest of equals is the one to use, and then those of the first `best` arms that may be the
    /// best. In the order of the arms.
    #[must_use]
    pub fn keep(
        &self,
        named: &[usize],
        by_fitness: &[usize],
        best: usize,
        most: usize,
    ) -> Vec<usize> {
        let mut kept: Vec<usize> =
            named.iter().copied().filter(|arm| self.order.contains(arm)).take(most).collect();
        let mut leading =
            self.order.iter().copied().take(best).filter(|arm| self.may_be_best[*arm]);
        let mut others: Vec<usize> = leading.next().into_iter().collect();
        let is_new =
            |arm: &usize| self.is_near_best[*arm] && !kept.contains(arm) && !others.contains(arm);
        let fittest: Vec<usize> = by_fitness.iter().copied().filter(is_new).take(FITTEST).collect();
        others.extend(fittest.into_iter().chain(leading));
        for arm in others {
            if kept.len() < most && !kept.contains(&arm) {
                kept.push(arm);
            }
        }
        kept.sort_unstable();
        kept
    }
}

/// Ranks the arms of a question by rounds that chose nothing yet. A row has the logarithm of one figure for each round,
/// less is better, `None` where the arm has none.
///
/// An arm may be the best while its mean distance to the leading arm, less the logarithm of 1 + `margin`, is at most Student's
/// t at 1 − 0.1/(k − 1) times the standard error of that distance. With a margin of 0.1 arms that are at most 10 % worse than
/// the leading one stay, so that which of them leads by chance decides nothing.
#[must_use]
pub fn select(rows: &[Vec<Option<f64>>], margin: f64) -> Selected {
    let centred = centred(rows);
    let level = |row: &Vec<Option<f64>>| median(&row.iter().flatten().copied().collect::<Vec<_>>());
    let levels: Vec<Option<f64>> = centred.iter().map(level).collect();
    let mut order: Vec<usize> = (0..rows.len()).filter(|arm| levels[*arm].is_some()).collect();
    let place = |arm: &usize| levels[*arm].unwrap_or(f64::INFINITY);
    order.sort_by(|a, b| place(a).total_cmp(&place(b)));
    let open = |dropped: f64| {
        let is_open = |arm: usize| match order.first() {
            Some(leader) if levels[arm].is_some() => {
                arm == *leader || is_near(&rows[arm], &rows[*leader], 1.0 - dropped, margin)
            }
            _ => false,
        };
        (0..rows.len()).map(is_open).collect()
    };
    let may_be_best = open(DROPPED / (order.len().max(2) - 1) as f64);
    Selected { may_be_best, is_near_best: open(OVERLOOKED), order }
}

/// The arm to be the reference of fresh rounds in place of `reference`: the first other one in `by_fitness` whose median ratio to
/// the fastest of these arms is within the margin. `None` unless the rounds prove that one of them is faster than `reference` by
/// more than the margin.
#[must_use]
pub fn successor(
    rows: &[Vec<Option<f64>>],
    by_fitness: &[usize],
    reference: usize,
    margin: f64,
) -> Option<usize> {
    let found = relative_to(&rows[reference], rows);
    let is_faster = |arm: &usize| found[*arm].is_some_and(|one| one.is_much_faster(margin));
    by_fitness.iter().find(|arm| is_faster(arm))?;
    let ratio = |arm: usize| found[arm].map_or(f64::INFINITY, |one| one.ratio);
    let fastest = by_fitness.iter().copied().min_by(|a, b| ratio(*a).total_cmp(&ratio(*b)))?;
    let to_fastest = relative_to(&rows[fastest], rows);
    let is_near = |arm: usize| to_fastest[arm].is_some_and(|one| one.ratio <= 1.0 + margin);
    by_fitness.iter().copied().find(|arm| *arm != reference && is_near(*arm))
}

/// Each value less the median of its round, so that a round that an arm missed does not move its place.
fn centred(rows: &[Vec<Option<f64>>]) -> Vec<Vec<Option<f64>>> {
    let rounds = rows.iter().map(Vec::len).max().unwrap_or(0);
    let finite = |row: &Vec<Option<f64>>, round: usize| {
        row.get(round).copied().flatten().filter(|value| value.is_finite())
    };
    let centre =
        |round| median(&rows.iter().filter_map(|row| finite(row, round)).collect::<Vec<_>>());
    let centres: Vec<Option<f64>> = (0..rounds).map(centre).collect();
    let of_row = |row: &Vec<Option<f64>>| -> Vec<Option<f64>> {
        let of_round = |round: usize| Some(finite(row, round)? - centres[round]?);
        (0..rounds).map(of_round).collect()
    };
    rows.iter().map(of_row).collect()
}

fn is_near(row: &[Option<f64>], leader: &[Option<f64>], point: f64, margin: f64) -> bool {
    let both = row.iter().zip(leader).filter_map(|(own, leader)| Some((*own)? - (*leader)?));
    let distances: Vec<f64> = both.filter(|one| one.is_finite()).collect();
    let n = distances.len();
    if n < 2 {
        return true;
    }
    let mean = distances.iter().sum::<f64>() / n as f64;
    let square: f64 = distances.iter().map(|one| (one - mean).powi(2)).sum();
    let error = (square / (n - 1) as f64 / n as f64).sqrt();
    student_t_quantile(point, n - 1).is_none_or(|t| mean - margin.ln_1p() <= t * error)
}

/// How many confirm rounds each question gets, in the order of their importance, from the fewest that each should have, the
/// seconds that one round of it takes, and the seconds that are left: the fewest for each as long as they last, then more for
/// those that have the fewest. A question for which the fewest are not left gets none, but the first, which gets as many as
/// there are. All are even, because the ends change their CPUs from round to round.
#[must_use]
pub fn rounds_of_questions(questions: &[(u64, f64)], budget: f64) -> Vec<u64> {
    let mut rounds = vec![0_u64; questions.len()];
    let mut left = budget;
    for (at, (fewest, seconds)) in questions.iter().enumerate() {
        let affordable = (left / seconds).clamp(0.0, MOST as f64);
        let affordable = if affordable.is_finite() { affordable as u64 / 2 * 2 } else { 0 };
        let given = affordable.min(*fewest);
        if at > 0 && given < *fewest {
            continue;
        }
        rounds[at] = given;
        left -= given as f64 * seconds;
    }
    loop {
        // Two rounds at a time to those that have the fewest.
        let open = (0..rounds.len()).filter(|at| rounds[*at] > 0 && rounds[*at] < MOST);
        let next = open.filter(|at| 2.0 * questions[*at].1 <= left).min_by_key(|at| rounds[*at]);
        let Some(next) = next else { return rounds };
        rounds[next] += 2;
        left -= 2.0 * questions[next].1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Rng;

    fn rows(levels: &[f64], rounds: usize, spread: f64) -> Vec<Vec<Option<f64>>> {
        let mut rng = Rng::from_seed(5);
        let moved: Vec<f64> = (0..rounds).map(|_| rng.normal()).collect();
        let mut row = |level: &f64| -> Vec<Option<f64>> {
            moved.iter().map(|round| Some(level + round + spread * rng.normal())).collect()
        };
        levels.iter().map(&mut row).collect()
    }

    #[test]
    fn what_is_far_behind_is_dropped_and_what_is_near_may_be_the_best() {
        let found = select(&rows(&[0.0, 0.02, 1.5, 0.05], 8, 0.1), 0.0);
        assert_eq!((found.order.len(), found.order[3]), (4, 2));
        assert!(!found.may_be_best[2] && found.may_be_best[found.order[0]], "{found:?}");
        let few = select(&rows(&[0.0, 0.2], 3, 0.2), 0.0);
        assert!(few.may_be_best.iter().all(|one| *one), "three rounds drop little: {few:?}");
    }

    #[test]
    fn an_arm_within_the_margin_of_the_best_stays_however_certain_its_place_is() {
        let all = rows(&[0.0, 0.05, 0.2], 20, 0.001);
        assert_eq!(select(&all, 0.0).may_be_best, [true, false, false]);
        assert_eq!(select(&all, 0.1).may_be_best, [true, true, false]);
    }

    #[test]
    fn fewer_arms_are_near_the_best_than_may_be_the_best() {
        let levels: Vec<f64> = (0..30).map(|arm| f64::from(arm) * 0.02).collect();
        let found = select(&rows(&levels, 8, 0.1), 0.1);
        let count = |all: &[bool]| all.iter().filter(|one| **one).count();
        let both = found.is_near_best.iter().zip(&found.may_be_best);
        assert!(both.clone().all(|(near, may)| *may || !near), "{found:?}");
        assert!(count(&found.is_near_best) < count(&found.may_be_best), "{found:?}");
    }

    #[test]
    fn named_arms_stay_and_the_best_of_the_others_join_them() {
        let rows = |spread| rows(&[1.0, 0.0, 2.0, 0.1, 0.2, 0.3, 0.25], 8, spread);
        let found = select(&rows(0.01), 0.0);
        assert_eq!(found.keep(&[2, 0], &[], 4, 11), [0, 1, 2], "{found:?}");
        let near = select(&rows(0.8), 0.0);
        assert!((3..=4).contains(&near.keep(&[2, 0], &[], 4, 4).len()), "{near:?}");
        assert_eq!(found.keep(&[2, 0, 5], &[], 4, 2), [0, 2], "no more than the most");
    }

    #[test]
    fn the_fittest_that_may_be_the_best_has_a_place_before_faster_ones() {
        let found = select(&rows(&[0.0, 0.01, 0.02, 0.03, 0.04, 0.5], 8, 0.001), 0.1);
        let by_fitness = [5, 0, 4, 3, 2, 1];
        assert_eq!(found.keep(&[0], &[], 2, 4), [0, 1]);
        assert_eq!(found.keep(&[0], &by_fitness, 2, 4), [0, 1, 3, 4], "0 is named, 5 far behind");
        assert_eq!(found.keep(&[0], &by_fitness, 2, 2), [0, 4], "it takes the last place");
        assert_eq!(found.keep(&[1], &by_fitness, 2, 2), [0, 1], "but not that of the best");
    }

    #[test]
    fn the_fittest_near_the_best_succeeds_a_reference_that_is_overtaken() {
        // The second and third are much faster than the first, and the second is the fitter one. It missed most rounds, so
        // that only the third is proved to be.
        let mut all = rows(&[0.2, 0.02, 0.0, 0.5], 60, 0.02);
        all[1][8..].fill(None);
        assert_eq!(successor(&all, &[3, 0, 1, 2], 0, 0.1), Some(1));
        assert_eq!(successor(&all, &[3, 0, 2, 1], 0, 0.1), Some(2));
        assert_eq!(successor(&all, &[3, 0, 1, 2], 3, 0.1), Some(1), "0 is overtaken as well");
        assert_eq!(successor(&all, &[3, 0, 1, 2], 2, 0.1), None, "nothing overtakes it");
        assert_eq!(successor(&all, &[3, 0], 0, 0.1), None, "those may not be the reference");
    }

    #[test]
    fn an_arm_that_missed_a_slow_round_gains_nothing_by_it() {
        let mut all = rows(&[0.0, 0.1], 8, 0.01);
        for row in &mut all {
            row[0] = row[0].map(|value| value + 5.0);
        }
        all[1][0] = None;
        assert_eq!(select(&all, 0.0).order, [0, 1]);
        let empty = select(&[vec![None; 3], vec![Some(1.0); 3]], 0.0);
        assert_eq!((empty.order, empty.may_be_best), (vec![1], vec![false, true]));
        assert!(select(&[], 0.0).order.is_empty());
    }

    #[test]
    fn the_first_question_comes_first_and_the_others_share_the_rest() {
        let of = |seconds: &[f64], budget: f64| {
            let fewest = |at| if at == 0 { FIRST_CONFIRMED } else { FEWEST_CONFIRMED };
            let one = |(at, seconds): (usize, &f64)| (fewest(at), *seconds);
            let questions: Vec<_> = seconds.iter().enumerate().map(one).collect();
            rounds_of_questions(&questions, budget)
        };
        assert_eq!(of(&[0.1; 4], 30.0), [76, 76, 74, 74]);
        assert_eq!(of(&[0.1, 0.1, 0.1], 10.0), [60, 20, 20]);
        assert_eq!(of(&[0.1, 0.1, 0.1], 9.0), [60, 30, 0]);
        assert_eq!(of(&[0.1, 0.1], 3.0), [30, 0]);
        assert_eq!(of(&[0.1, 0.1], 0.0), [0, 0]);
        assert_eq!(of(&[0.1, 5.0, 0.1], 16.0), [80, 0, 78], "one may be too dear");
        assert_eq!(of(&[1e-9], 60.0), [400]);
        for given in of(&[0.09, 0.08, 0.11, 0.07, 0.3], 35.0) {
            assert_eq!(given % 2, 0);
        }
    }
}

//! Which cells of a table are certainly below which others? One joint test for all pairs.
//!
//! A test for each pair by itself errs somewhere in almost every table: 30 cells are 435 pairs. Nine rounds are too few
//! for a correction pair by pair of a test by ranks or signs, since 2 of 2⁹ patterns of signs are 1 in 256. So the pairs are
//! tested together, by what chance makes of the most extreme of them (Westfall and Young, Resampling-Based Multiple
//! Testing, 1993; Romano and Wolf, JASA 100, 2005):
//!
//! - Cells of one round are compared with each other, by the differences of their logarithms, so that whatever moves all
//!   cells of a round cancels.
//! - What the differences of a pair have beside their mean is noise, and as likely to be +d as −d. So the noise of all pairs
//!   in any set of rounds may change its sign together, and the table could as well have come out like that (the wild
//!   bootstrap: Wu, Annals of Statistics 14, 1986).
//! - Of each such table of noise the most extreme pair counts. A pair is ordered if it is more extreme than that in all but
//!   1 of 64 tables. The pairs that are more extreme than it are left out, as long as they are ordered themselves
//!   (step-down).
//!
//! Signs of the differences themselves, not of their noise, would make the test exact for symmetrical noise, and useless
//! where a slice is now and then hit by a burst: two cells that differ in all rounds but that one agree perfectly under the
//! pattern that changes its sign. Of pairs a factor of 1.2 apart it found 8 % under such bursts, and this test 47 %. That
//! no more than 2 % of tables order what is equal is shown by simulation, `tests/it/order.rs`.

use crate::compare::ratio_of;
use crate::estimate::{Interval, median_of_sorted};
use crate::rng::Rng;
use crate::verdict::FEWEST_ROUNDS;
use std::cmp::Ordering;

/// A pair is ordered if in fewer than one of so many tables of noise any pair is as extreme. Six rounds have 32 patterns of
/// signs; there it must be none.
const TABLES: usize = 64;

/// All patterns of signs up to this many rounds; of more rounds 2¹¹ at random.
const ALL_PATTERNS: usize = 12;

/// Differences beyond this many times their median size count as if they were there. One round in which a neighbour woke up
/// would otherwise be most of the scatter, and hide a difference that all other rounds show: under bursts 38 % of pairs
/// are found without this, and 49 % with it. Two medians are 1.35 standard deviations of a normal distribution, where
/// Huber's estimate has 95 % of the efficiency of the mean (Huber, Annals of Mathematical Statistics 35, 1964).
const CLIP: f64 = 2.0;

/// Larger tables are compared with this many of their cells only, evenly spread over the order in which they are given.
/// What lies on both sides of one of them is ordered by it. This makes the time proportional to the number of cells.
const PIVOTS: usize = 128;

/// Which cells are certainly below which others.
#[derive(Clone, Debug)]
pub struct Order {
    /// Every so many cells one is compared with all.
    step: usize,
    /// Of each of these, where it is to each cell.
    verdicts: Vec<Vec<Ordering>>,
}

impl Order {
    /// The order of cells by the logarithms of their figures: one row for each cell, in it one value for each round, the
    /// same round at the same place, `None` where the cell has no figure. Rows may differ in length. What is not finite
    /// counts as missing. The rows must be in an order that does not depend on the values.
    ///
    /// For k cells and r ≤ 12 rounds this takes time of min(k, 128)·k·2^r, beyond that of min(k, 128)·k·2¹⁴.
    #[must_use]
    pub fn of(rows: &[Vec<Option<f64>>]) -> Self {
        let step = rows.len().div_ceil(PIVOTS).max(1);
        let rounds = rows.iter().map(Vec::len).max().unwrap_or(0);
        let mut differences = Differences { values: vec![None; rounds], ..Differences::default() };
        let mut pairs = pairs(rows, step, &mut differences);
        pairs.sort_by(|a, b| a.extremeness.total_cmp(&b.extremeness));
        let is_rare = rare(rows, &pairs, &mut differences);
        let mut verdicts = vec![vec![Ordering::Equal; rows.len()]; rows.len().div_ceil(step)];
        // The most extreme first, until one is not ordered.
        let ordered = pairs.iter().zip(is_rare).rev().take_while(|(_, is_rare)| *is_rare);
        for (pair, _) in ordered {
            verdicts[pair.pivot / step][pair.cell] = pair.verdict;
            if pair.cell.is_multiple_of(step) {
                verdicts[pair.cell / step][pair.pivot] = pair.verdict.reverse();
            }
        }
        Self { step, verdicts }
    }

    /// Whether cell `a` is certainly below cell `b`. Of tables above 128 cells only pairs are asked of which one cell is
    /// compared with all; what follows from two such pairs is for the caller to conclude.
    ///
    /// # Panics
    /// If there is no such cell.
    #[must_use]
    pub fn is_below(&self, a: usize, b: usize) -> bool {
        let verdict = |pivot: usize, other: usize| {
            pivot.is_multiple_of(self.step).then(|| self.verdicts[pivot / self.step][other])
        };
        match verdict(a, b) {
            Some(verdict) => verdict == Ordering::Less,
            None => verdict(b, a) == Some(Ordering::Greater),
        }
    }
}

/// A ratio and its interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Factor {
    /// The geometric mean over the common rounds.
    pub ratio: f64,
    /// What holds for all factors of a table together, at 95 %.
    pub interval: Interval,
}

/// Each row but the first as a multiple of the first; rows as [`Order::of`] takes them. `None` where the two have fewer
/// than six common rounds.
///
/// The intervals hold together: in at most 5 of 100 tables any of them misses. Each is as many of its own standard errors
/// wide as the most extreme row of a table of noise has in all but 1 of 64 such tables. Nothing is clipped here: clipped
/// to twice the median difference, intervals of eight rows and eight rounds held together in 88 of 100 tables.
#[must_use]
pub fn beside_first(rows: &[Vec<Option<f64>>]) -> Vec<Option<Factor>> {
    let Some((first, others)) = rows.split_first() else { return Vec::new() };
    let rounds = rows.iter().map(Vec::len).max().unwrap_or(0);
    let patterns = Patterns::of(rounds);
    let (mut sums, mut most_extreme) = (Vec::new(), vec![0.0_f64; patterns.count()]);
    let mut beside = |row: &Vec<Option<f64>>| {
        let difference = |at: usize| Some(row.get(at)?.as_ref()? - first.get(at)?.as_ref()?);
        let common: Vec<_> =
            (0..rounds).map(|at| difference(at).filter(|one| one.is_finite())).collect();
        let n = common.iter().flatten().count();
        if n < FEWEST_ROUNDS {
            return None;
        }
        let mean = common.iter().flatten().sum::<f64>() / n as f64;
        let noise: Vec<f64> = common.iter().map(|one| one.map_or(0.0, |one| one - mean)).collect();
        let square: f64 = noise.iter().map(|noise| noise * noise).sum();
        // Less is nothing but errors of rounding.
        if square > 1e-20 * n as f64 * mean * mean {
            patterns.sums(&noise, &mut sums);
            for (most, sum) in most_extreme.iter_mut().zip(&sums) {
                *most = most.max(extremeness(sum * sum / square, n));
            }
        }
        Some((mean, square, n))
    };
    let found: Vec<_> = others.iter().map(&mut beside).collect();
    most_extreme.sort_unstable_by(|a, b| b.total_cmp(a));
    let limit = most_extreme.get(patterns.allowed()).copied().unwrap_or(0.0);
    let factor = |(mean, square, rounds): (f64, f64, usize)| {
        let (n, most) = (rounds as f64, as_extreme(limit, rounds));
        let half = (most * square / (n * (n - most))).sqrt();
        let interval = Interval { low: ratio_of(mean - half), high: ratio_of(mean + half) };
        half.is_finite().then(|| Factor { ratio: ratio_of(mean), interval })
    };
    found.into_iter().map(|one| one.and_then(factor)).collect()
}

/// A pair of cells that can be compared.
struct Pair {
    pivot: usize,
    cell: usize,
    /// Where the first is to the second, if that is certain.
    verdict: Ordering,
    extremeness: f64,
}

/// All pairs of which one cell is a pivot, each once.
fn pairs(rows: &[Vec<Option<f64>>], step: usize, differences: &mut Differences) -> Vec<Pair> {
    let mut pairs = Vec::new();
    for pivot in (0..rows.len()).step_by(step) {
        let others = (0..rows.len()).filter(|cell| !cell.is_multiple_of(step) || *cell > pivot);
        for cell in others {
            if differences.take(&rows[pivot], &rows[cell]) {
                let Differences { rounds, sum, square, .. } = *differences;
                let extremeness = extremeness(sum * sum / square, rounds);
                pairs.push(Pair { pivot, cell, verdict: sum.total_cmp(&0.0), extremeness });
            }
        }
    }
    pairs
}

/// The differences of two cells.
#[derive(Default)]
struct Differences {
    /// Clipped; `None` in rounds that not both have.
    values: Vec<Option<f64>>,
    /// Common rounds.
    rounds: usize,
    /// The sum of the differences.
    sum: f64,
    /// The sum of their squares.
    square: f64,
    /// What they have beside their mean; 0 in rounds that not both have.
    noise: Vec<f64>,
    /// Their sizes, to sort.
    sizes: Vec<f64>,
}

impl Differences {
    /// Whether the two can be compared: they have enough common rounds, and differ in most of them.
    fn take(&mut self, a: &[Option<f64>], b: &[Option<f64>]) -> bool {
        for (at, difference) in self.values.iter_mut().enumerate() {
            let values = a.get(at).copied().flatten().zip(b.get(at).copied().flatten());
            *difference = values.map(|(a, b)| a - b).filter(|difference| difference.is_finite());
        }
        self.sizes.clear();
        self.sizes.extend(self.values.iter().flatten().map(|difference| difference.abs()));
        self.rounds = self.sizes.len();
        if self.rounds < FEWEST_ROUNDS {
            return false;
        }
        self.sizes.sort_unstable_by(f64::total_cmp);
        let most = CLIP * median_of_sorted(&self.sizes);
        (self.sum, self.square) = (0.0, 0.0);
        for difference in self.values.iter_mut().flatten() {
            *difference = difference.clamp(-most, most);
            self.sum += *difference;
            self.square += *difference * *difference;
        }
        self.square > 0.0
    }

    /// Puts what the differences have beside their mean into `noise`, and says what to multiply the squares of its sums by
    /// to have them in units of the sum of its squares: 0 where there is nothing but errors of rounding.
    fn take_noise(&mut self) -> f64 {
        let mean = self.sum / self.rounds as f64;
        let beside = |difference: &Option<f64>| difference.map_or(0.0, |value| value - mean);
        self.noise.clear();
        self.noise.extend(self.values.iter().map(beside));
        let square: f64 = self.noise.iter().map(|noise| noise * noise).sum();
        if square > 1e-20 * self.square { square.recip() } else { 0.0 }
    }
}

/// Wallace's factor, which turns Student's t with that many degrees of freedom into a nearly normal number: Wallace, Annals
/// of Mathematical Statistics 30, 1959.
fn wallace(freedom: f64) -> f64 {
    freedom * ((8.0 * freedom + 1.0) / (8.0 * freedom + 3.0)).powi(2)
}

/// The square of a sum, in units of the sum of the squares, on a scale that is the same for every number of rounds: the
/// square of the normal number that is as improbable as Student's t of these values. Since t² = (n − 1)·u/(n − u), it is
/// a multiple of ln(1 + t²/(n − 1)) = −ln(1 − u/n). How improbable it really is say the patterns of signs.
fn extremeness(square: f64, rounds: usize) -> f64 {
    let n = rounds as f64;
    -wallace(n - 1.0) * (1.0 - square / n).max(f64::MIN_POSITIVE).ln()
}

/// The square that is as extreme.
fn as_extreme(extremeness: f64, rounds: usize) -> f64 {
    let n = rounds as f64;
    n * (1.0 - (-extremeness / wallace(n - 1.0)).exp())
}

/// Of each pair, whether it is more extreme than the noise of all pairs that are no more extreme than it, in all but one
/// of 64 patterns of signs. The least extreme pair comes first.
fn rare(rows: &[Vec<Option<f64>>], pairs: &[Pair], differences: &mut Differences) -> Vec<bool> {
    let patterns = Patterns::of(differences.values.len());
    let allowed = patterns.allowed();
    let mut sums = Vec::new();
    // By number of common rounds: the largest square for each pattern, of all pairs up to this one.
    let mut largest: Vec<(usize, Vec<f64>)> = Vec::new();
    let is_rare = |pair: &Pair| {
        differences.take(&rows[pair.pivot], &rows[pair.cell]);
        let unit = differences.take_noise();
        patterns.sums(&differences.noise, &mut sums);
        let known = largest.iter().position(|(rounds, _)| *rounds == differences.rounds);
        let at = known.unwrap_or(largest.len());
        if known.is_none() {
            largest.push((differences.rounds, vec![0.0; sums.len()]));
        }
        for (largest, sum) in largest[at].1.iter_mut().zip(&sums) {
            let square = sum * sum * unit;
            *largest = if square > *largest { square } else { *largest };
        }
        let limit = |(rounds, _): &(usize, Vec<f64>)| as_extreme(pair.extremeness, *rounds);
        let limits: Vec<f64> = largest.iter().map(limit).collect();
        let reaches = |pattern: &usize| {
            largest.iter().zip(&limits).any(|((_, squares), limit)| squares[*pattern] >= *limit)
        };
        (0..patterns.count()).filter(reaches).nth(allowed).is_none()
    };
    pairs.iter().map(is_rare).collect()
}

/// Patterns of signs, each up to a change of all signs. The first changes none.
struct Patterns {
    /// Of a random group: a round changes its sign in those patterns whose number has an odd number of bits in common
    /// with its own. `None`: all patterns.
    words: Option<Vec<usize>>,
    rounds: usize,
}

impl Patterns {
    fn of(rounds: usize) -> Self {
        let mut rng = Rng::stream(0, "patterns of signs");
        let mut word = |at: usize| match at {
            0 => 0,
            at if at < ALL_PATTERNS => 1 << (at - 1),
            _ => rng.below(1 << (ALL_PATTERNS - 1)) as usize,
        };
        let words = (rounds > ALL_PATTERNS).then(|| (0..rounds).map(&mut word).collect());
        Self { words, rounds }
    }

    fn count(&self) -> usize {
        match self.rounds {
            0 => 0,
            rounds => 1 << (rounds.min(ALL_PATTERNS) - 1),
        }
    }

    /// In how many of them the noise may be more extreme than what is certain; the actual pattern counts as one.
    fn allowed(&self) -> usize {
        (self.count() / TABLES).max(1) - 1
    }

    /// The sum of the values under each pattern.
    fn sums(&self, values: &[f64], sums: &mut Vec<f64>) {
        sums.clear();
        let Some(words) = &self.words else {
            sums.extend(values.first());
            for value in values.iter().skip(1) {
                let half = sums.len();
                sums.extend_from_within(..);
                let (same, changed) = sums.split_at_mut(half);
                same.iter_mut().for_each(|sum| *sum += value);
                changed.iter_mut().for_each(|sum| *sum -= value);
            }
            return;
        };
        // The fast Walsh-Hadamard transform.
        sums.resize(self.count(), 0.0);
        for (word, value) in words.iter().zip(values) {
            sums[*word] += value;
        }
        let mut half = 1;
        while half < sums.len() {
            for block in sums.chunks_exact_mut(2 * half) {
                let (even, odd) = block.split_at_mut(half);
                for (even, odd) in even.iter_mut().zip(odd) {
                    (*even, *odd) = (*even + *odd, *even - *odd);
                }
            }
            half *= 2;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Rng;
    use proptest::prelude::*;

    fn rows(values: &[&[f64]]) -> Vec<Vec<Option<f64>>> {
        values.iter().map(|row| row.iter().copied().map(Some).collect()).collect()
    }

    /// A row around `level` that differs from others by its `seed`.
    fn row(level: f64, seed: u64, rounds: usize) -> Vec<Option<f64>> {
        let mut rng = Rng::from_seed(seed);
        (0..rounds).map(|_| Some(level + 0.01 * rng.normal())).collect()
    }

    #[test]
    fn sums_under_all_patterns_are_those_added_one_by_one() {
        let values = [1.0, 2.0, 4.0, 8.0];
        let mut sums = Vec::new();
        Patterns::of(4).sums(&values, &mut sums);
        assert_eq!(sums, [15.0, 11.0, 7.0, 3.0, -1.0, -5.0, -9.0, -13.0]);
    }

    #[test]
    fn sums_under_a_random_group_are_those_added_one_by_one() {
        let values: Vec<f64> = (0..20).map(|at| f64::from(at) + 0.5).collect();
        let patterns = Patterns::of(20);
        let mut sums = Vec::new();
        patterns.sums(&values, &mut sums);
        assert_eq!(sums.len(), 2048);
        let words = patterns.words.as_ref().unwrap();
        for (pattern, sum) in sums.iter().enumerate() {
            let signed = words.iter().zip(&values).map(|(word, value)| {
                if (word & pattern).count_ones() % 2 == 1 { -value } else { *value }
            });
            assert!((signed.sum::<f64>() - sum).abs() < 1e-9, "{pattern}");
        }
    }

    #[test]
    fn from_six_common_rounds_on_cells_far_apart_are_ordered() {
        for rounds in 1..=40 {
            let order = Order::of(&[row(0.0, 1, rounds), row(0.5, 2, rounds)]);
            assert_eq!(order.is_below(0, 1), rounds >= FEWEST_ROUNDS, "{rounds}");
            assert!(!order.is_below(1, 0) && !order.is_below(0, 0));
        }
    }

    #[test]
    fn rounds_that_one_of_two_cells_missed_say_nothing() {
        let mut gaps = row(0.5, 2, 9);
        gaps[3] = None;
        gaps[7] = Some(f64::NAN);
        let cells = [row(0.0, 1, 9), gaps.clone()];
        assert!(Order::of(&cells).is_below(0, 1), "seven of nine");
        gaps[0] = None;
        gaps[1] = None;
        assert!(!Order::of(&[row(0.0, 1, 9), gaps]).is_below(0, 1), "five of nine");
    }

    #[test]
    fn one_wild_round_neither_makes_nor_hides_an_order() {
        let steady = [1.0, 1.02, 0.98, 1.01, 0.99, 1.0, 1.03, 0.97, 1.0];
        let mut slower = steady.map(|value| value + 0.2);
        (slower[0], slower[3], slower[5]) = (1.21, 1.19, 1.22);
        slower[4] += 3.0;
        assert!(Order::of(&rows(&[&steady, &slower])).is_below(0, 1));
        let mut wild = [1.01, 0.99, 1.0, 1.0, 1.02, 0.98, 1.01, 1.0, 0.99];
        wild[4] += 3.0;
        assert!(!Order::of(&rows(&[&steady, &wild])).is_below(0, 1));
    }

    #[test]
    fn rounds_of_two_kinds_give_no_order_to_what_lies_between() {
        let between = [2.0, 2.01, 1.99, 2.02, 1.98, 2.0, 2.01, 1.99, 2.0];
        let both = [1.0, 3.0, 1.01, 3.01, 0.99, 1.0, 2.99, 1.02, 3.0];
        let order = Order::of(&rows(&[&between, &both]));
        assert!(!order.is_below(0, 1) && !order.is_below(1, 0));
    }

    #[test]
    fn a_factor_takes_six_common_rounds() {
        for rounds in 1..=20 {
            let factors = beside_first(&[row(0.0, 1, rounds), row(0.5, 2, rounds)]);
            let factor = factors[0].filter(|one| one.interval.contains(0.5_f64.exp()));
            assert_eq!(factor.is_some(), rounds >= FEWEST_ROUNDS, "{rounds}: {factors:?}");
        }
        let exact = beside_first(&rows(&[&[1.0; 6], &[1.5; 6]]))[0].unwrap();
        let ratio = 0.5_f64.exp();
        assert_eq!(exact, Factor { ratio, interval: Interval { low: ratio, high: ratio } });
        assert!(beside_first(&[]).is_empty() && beside_first(&[Vec::new()]).is_empty());
        assert_eq!(beside_first(&[Vec::new(), Vec::new()]), [None]);
    }

    /// Eight rows that are equal but for noise, of which one slice in twelve is hit by a burst.
    #[test]
    fn intervals_of_a_table_hold_together_in_95_of_100_tables() {
        for (rounds, tables) in [(6, 1000), (8, 1000), (12, 200)] {
            let mut rng = Rng::from_seed(7);
            let mut value = || {
                let burst = if rng.below(12) == 0 { 8.0 } else { 0.0 };
                Some(rng.normal() + burst)
            };
            let mut held = 0;
            for _ in 0..tables {
                let rows: Vec<Vec<_>> =
                    (0..8).map(|_| (0..rounds).map(|_| value()).collect()).collect();
                let all = beside_first(&rows);
                held += usize::from(all.iter().flatten().all(|one| one.interval.contains(1.0)));
            }
            assert!(held * 100 >= tables * 95, "{rounds} rounds: {held} of {tables}");
        }
    }

    #[test]
    fn equal_cells_and_no_cells_have_no_order() {
        let order = Order::of(&rows(&[&[1.0; 9], &[1.0; 9], &[2.0; 9]]));
        assert!(!order.is_below(0, 1) && order.is_below(0, 2) && order.is_below(1, 2));
        assert!(Order::of(&[]).verdicts.is_empty());
        assert!(!Order::of(&[Vec::new(), Vec::new()]).is_below(0, 1));
    }

    #[test]
    fn a_large_table_is_compared_with_some_of_its_cells() {
        let cells: Vec<_> = (0..600).map(|at| row(at as f64, at, 9)).collect();
        let order = Order::of(&cells);
        assert_eq!((order.step, order.verdicts.len()), (5, 120));
        assert!(order.is_below(0, 599) && order.is_below(1, 300) && !order.is_below(300, 1));
        assert!(!order.is_below(1, 2), "neither is compared with all");
    }

    proptest! {
        // A failing input is printed; it becomes a test of its own rather than a file.
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn nobody_is_below_both_ways_and_neither_signs_nor_places_matter(
            table in prop::collection::vec(prop::collection::vec(prop::option::weighted(0.9, -3.0..3.0_f64), 9), 2..7),
            shift in -50.0..50.0_f64,
        ) {
            // Half of the cells stand apart, so that some are ordered.
            let moved = |(at, row): (usize, &Vec<Option<f64>>)| -> Vec<Option<f64>> {
                row.iter().map(|value| value.map(|value| value + shift * (at % 2) as f64)).collect()
            };
            let table: Vec<_> = table.iter().enumerate().map(moved).collect();
            let negative: Vec<Vec<_>> =
                table.iter().map(|row| row.iter().map(|value| value.map(|value| -value)).collect()).collect();
            let reversed: Vec<_> = table.iter().rev().cloned().collect();
            let (order, mirrored, turned) = (Order::of(&table), Order::of(&negative), Order::of(&reversed));
            let last = table.len() - 1;
            for a in 0..=last {
                for b in 0..=last {
                    let is_below = order.is_below(a, b);
                    prop_assert!(!is_below || !order.is_below(b, a));
                    prop_assert_eq!(is_below, mirrored.is_below(b, a));
                    prop_assert_eq!(is_below, turned.is_below(last - a, last - b));
                }
            }
        }
    }
}

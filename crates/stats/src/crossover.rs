//! Where one of two arms overtakes the other as something grows: which point to look at next, and what can be said of
//! those that were looked at.

use crate::evidence::Evidence;
use crate::verdict::{MARGIN, Rule};
use ipcperf_core::result::Difference;

/// How likely any point of a search names a wrong winner, all points together.
const LEVEL: f64 = 0.05;

/// Points less than this many times apart are close enough: an interval of 10 % is hardly ever reached, and what it
/// would be used for, a threshold in a program, is never this exact.
const CLOSE: f64 = 1.1;

/// One of two arms.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arm {
    /// The first.
    A,
    /// The second.
    B,
}

/// Which arm certainly wins at one of at most `points` points, by rounds that measured both. Each may be wrong once in
/// `points` times 20 (Bonferroni), so that all of them are right in 19 of 20 searches, whichever of them were chosen for
/// what others have shown.
#[must_use]
pub fn winner(evidence: &Evidence, more_is_better: bool, points: u64) -> Option<Arm> {
    let judgement = Rule { margin: MARGIN, more_is_better }.judge(evidence);
    let is_certain = judgement.p * points as f64 <= LEVEL;
    match judgement.verdict {
        Difference::Slower if is_certain => Some(Arm::A),
        Difference::Faster if is_certain => Some(Arm::B),
        _ => None,
    }
}

/// The fewest rounds in which a point among so many can have a winner: the least that the signed rank of n rounds can
/// come to is 2 in 2ⁿ.
#[must_use]
pub fn rounds_for_points(points: u64) -> u64 {
    let mut rounds = 1;
    while points as f64 * (1.0 - rounds as f64).exp2() > LEVEL {
        rounds += 1;
    }
    rounds
}

/// A point that was looked at, and who certainly wins there.
pub type Looked = (u64, Option<Arm>);

/// Where the winner changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Change {
    /// Who overtakes the other.
    pub to: Arm,
    /// The last point at which the other one certainly wins.
    pub last: u64,
    /// The first at which this one does.
    pub first: u64,
}

/// All changes of the winner over points in ascending order. If the curves cross once, they cross within the only one.
#[must_use]
pub fn changes(points: &[Looked]) -> Vec<Change> {
    let mut certain = points.iter().filter_map(|(at, winner)| Some((*at, (*winner)?)));
    let Some(mut before) = certain.next() else { return Vec::new() };
    let mut changes = Vec::new();
    for (at, winner) in certain {
        if winner != before.1 {
            changes.push(Change { to: winner, last: before.0, first: at });
        }
        before = (at, winner);
    }
    changes
}

/// The point to look at next: in the middle of the widest gap beside a change, that after its last certain point or that
/// before its first. `None` where all of them are close enough. The points are in ascending order, and `round` makes a
/// number of one that can be had.
#[must_use]
pub fn next_point(points: &[Looked], round: impl Fn(f64) -> u64) -> Option<u64> {
    let after = |at: u64| points.iter().map(|(other, _)| *other).find(|other| *other > at);
    let before = |at: u64| points.iter().rev().map(|(other, _)| *other).find(|other| *other < at);
    let gaps = changes(points).into_iter().flat_map(|change| {
        [(Some(change.last), after(change.last)), (before(change.first), Some(change.first))]
    });
    // A place of no pause at all has no logarithm.
    let log = |at: u64| (at.max(1) as f64).ln();
    let middles = gaps.filter_map(|(low, high)| {
        let (low, high) = low.zip(high)?;
        let (width, middle) = (log(high) - log(low), round(((log(low) + log(high)) / 2.0).exp()));
        (width > CLOSE.ln() && low < middle && middle < high).then_some((width, middle))
    });
    middles.max_by(|one, other| one.0.total_cmp(&other.0)).map(|(_, middle)| middle)
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: Option<Arm> = Some(Arm::A);
    const B: Option<Arm> = Some(Arm::B);

    fn whole(at: f64) -> u64 {
        at.round() as u64
    }

    #[test]
    fn a_change_lies_between_the_last_certain_win_of_one_and_the_first_of_the_other() {
        let change = |to, last, first| Change { to, last, first };
        for (points, expected) in [
            (&[][..], vec![]),
            (&[(1, None), (2, None)], vec![]),
            (&[(1, A), (2, None), (4, A)], vec![]),
            (&[(1, A), (2, B)], vec![change(Arm::B, 1, 2)]),
            (
                &[(1, None), (2, B), (4, None), (8, None), (16, A), (32, None)],
                vec![change(Arm::A, 2, 16)],
            ),
            (&[(1, A), (2, B), (4, B), (8, A)], vec![change(Arm::B, 1, 2), change(Arm::A, 4, 8)]),
        ] {
            assert_eq!(changes(points), expected, "{points:?}");
        }
    }

    #[test]
    fn the_next_point_is_in_the_widest_gap_beside_a_change() {
        for (points, expected) in [
            (&[(64, A), (256, None), (1024, A)][..], None),
            (&[(64, A), (256, A), (1024, B), (4096, B)], Some(512)),
            // What lies between the two sides of a change that is not certain is looked at no more.
            (&[(64, A), (256, None), (4096, None), (8192, B)], Some(128)),
            (&[(64, A), (128, None), (4096, None), (65536, B)], Some(16384)),
            (&[(1000, A), (1090, B)], None),
            (&[(1, A), (2, B)], None),
            (&[(0, A), (100, B)], Some(10)),
        ] {
            assert_eq!(next_point(points, whole), expected, "{points:?}");
        }
    }

    #[test]
    fn a_winner_needs_as_many_rounds_as_there_are_points() {
        for (points, rounds) in [(1, 6), (18, 10), (20, 10), (26, 11)] {
            assert_eq!(rounds_for_points(points), rounds, "{points}");
            let told = |rounds: u64| {
                let ones = vec![1.0; usize::try_from(rounds).unwrap()];
                let twos: Vec<f64> = ones.iter().map(|one| one * 2.0).collect();
                let evidence = Evidence::paired(&ones, &twos).unwrap();
                [false, true].map(|more_is_better| winner(&evidence, more_is_better, points))
            };
            assert_eq!(told(rounds), [A, B], "{points}");
            assert_eq!(told(rounds - 1), [None, None], "{points}");
        }
    }
}

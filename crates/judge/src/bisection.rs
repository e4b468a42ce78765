//! A step of a bisection: whether a ratio that was measured now is like those of good kernels or like those of bad ones.
//!
//! Absolute times move between boots, so a cell is measured next to a control in the same boot, and only their ratio
//! counts. The ratio moves between boots as well; several recordings of a side show by how much.

use ipcperf_core::result::{Comparison, Design};
use ipcperf_stats::student_t_quantile;

/// How surely the ratio lies on one side of the limit. This is about a kernel at the limit itself; the kernels of a bisection
/// are half of the change away from it, and fewer than one step in a hundred takes one for the other (see the tests). With
/// 95 % a change of 10 % would be found in 8 of 10 steps, where the ratio moves by 1.5 % between boots, and not in 9.
const CONFIDENCE: f64 = 0.9;

/// The normal quantiles of 95 %, which stands in where the spread between boots is unknown, and of one end of an interval.
const NORMAL: f64 = 1.645;
const END_OF_95: f64 = 1.96;

/// What a step has found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Likeness {
    /// Like good ones.
    Good,
    /// Like bad ones.
    Bad,
    /// Too near the limit between them.
    CannotTell,
}

/// A ratio, and what it was compared with. Ratios are those of the cell to its control.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BisectionStep {
    /// What it is like.
    pub likeness: Likeness,
    /// The ratio measured now.
    pub ratio: f64,
    /// How far from the limit it must be, as a share.
    pub reach: f64,
}

/// What good and bad kernels had.
#[derive(Clone, Debug, PartialEq)]
pub struct Bisection {
    cells: [String; 2],
    /// Means of logarithms: of good, of bad.
    centres: [f64; 2],
    /// Variance of the logarithm of one recording.
    variance: f64,
    /// Variance of the limit.
    of_limit: f64,
    quantile: f64,
    is_spread_known: bool,
}

/// The ratio of one recording, as a logarithm, and its standard error within its boot.
struct Recording {
    log: f64,
    error: f64,
}

impl Recording {
    fn of(comparison: &Comparison) -> Result<Self, String> {
        let [one] = comparison.comparisons.as_slice() else {
            return Err("it does not compare one cell with one control".to_owned());
        };
        if comparison.design != Design::Live {
            return Err("control and cell were not measured side by side".to_owned());
        }
        if comparison.interrupted {
            return Err("it was interrupted".to_owned());
        }
        if one.primary.doubted {
            return Err(one.primary.reason.clone());
        }
        let ratio = &one.primary.ratio;
        match (ratio.value, ratio.ci95) {
            (Some(value), Some([low, high])) if value > 0.0 && low > 0.0 => {
                Ok(Self { log: value.ln(), error: (high / low).ln() / (2.0 * END_OF_95) })
            }
            _ => Err("its ratio has no interval: too few rounds".to_owned()),
        }
    }
}

fn mean(values: impl Iterator<Item = f64> + Clone) -> f64 {
    values.clone().sum::<f64>() / values.count().max(1) as f64
}

impl Bisection {
    /// Of recordings of good and of bad kernels, each with a name.
    ///
    /// # Errors
    /// One of them has no ratio, they are of different cells, or good and bad cannot be distinguished.
    pub fn of(good: &[(String, Comparison)], bad: &[(String, Comparison)]) -> Result<Self, String> {
        let all = || good.iter().chain(bad);
        let cells_of = |comparison: &Comparison| {
            let one = comparison.comparisons.first();
            one.map(|one| [one.a.clone(), one.b.clone()])
        };
        let first = all().next().and_then(|(_, comparison)| cells_of(comparison));
        let cells = first.ok_or("there is no recording")?;
        let other = all().find(|(_, comparison)| cells_of(comparison).as_ref() != Some(&cells));
        if let Some((name, comparison)) = other {
            let [a, b] = cells_of(comparison).unwrap_or_default();
            let [control, cell] = cells;
            return Err(format!("'{name}' compares '{a}' and '{b}', not '{control}' and '{cell}'"));
        }
        let read = |side: &[(String, Comparison)]| {
            let each = side.iter().map(|(name, comparison)| {
                Recording::of(comparison).map_err(|why| format!("'{name}': {why}"))
            });
            each.collect::<Result<Vec<_>, String>>()
        };
        Self::between(cells, &[read(good)?, read(bad)?])
    }

    /// The same of what the recordings have.
    fn between(cells: [String; 2], sides: &[Vec<Recording>; 2]) -> Result<Self, String> {
        let centres = sides.each_ref().map(|side| mean(side.iter().map(|one| one.log)));
        let squares = sides
            .iter()
            .zip(centres)
            .flat_map(|(side, centre)| side.iter().map(move |one| (one.log - centre).powi(2)));
        let count = sides.iter().map(Vec::len).sum::<usize>();
        let freedom = count.saturating_sub(2);
        let within = mean(sides.iter().flatten().map(|one| one.error.powi(2)));
        let (between, quantile) = match student_t_quantile(CONFIDENCE, freedom) {
            Some(quantile) => (squares.sum::<f64>() / freedom as f64, quantile),
            None => (0.0, NORMAL),
        };
        // Few recordings may agree by chance: each is known no better than its own rounds say.
        let variance = between.max(within);
        let of_gap: f64 = sides.iter().map(|side| variance / side.len() as f64).sum();
        let gap = centres[1] - centres[0];
        if gap.abs() <= quantile * of_gap.sqrt() {
            return Err(format!(
                "good and bad cannot be distinguished: the ratio to the control is {:.3} and {:.3}",
                centres[0].exp(),
                centres[1].exp()
            ));
        }
        let is_spread_known = freedom > 0;
        Ok(Self { cells, centres, variance, of_limit: of_gap / 4.0, quantile, is_spread_known })
    }

    /// The control and the cell, in words.
    #[must_use]
    pub fn cells(&self) -> [&str; 2] {
        self.cells.each_ref().map(String::as_str)
    }

    /// The ratio of good kernels and of bad ones.
    #[must_use]
    pub fn ratios(&self) -> [f64; 2] {
        self.centres.map(f64::exp)
    }

    /// Whether a side has recordings of several boots.
    #[must_use]
    pub fn is_spread_known(&self) -> bool {
        self.is_spread_known
    }

    /// What a kernel is like that has this ratio.
    ///
    /// # Errors
    /// Why the comparison has none that may be believed.
    pub fn step(&self, now: &Comparison) -> Result<BisectionStep, String> {
        Recording::of(now).map(|now| self.of_recording(&now))
    }

    fn of_recording(&self, now: &Recording) -> BisectionStep {
        let [good, bad] = self.centres;
        let beyond = (now.log - f64::midpoint(good, bad)) * (bad - good).signum();
        let variance = self.variance.max(now.error.powi(2)) + self.of_limit;
        let reach = self.quantile * variance.sqrt();
        let likeness = match beyond {
            _ if beyond > reach => Likeness::Bad,
            _ if beyond < -reach => Likeness::Good,
            _ => Likeness::CannotTell,
        };
        BisectionStep { likeness, ratio: now.log.exp(), reach: reach.exp_m1() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::{self, Build};
    use ipcperf_core::result::{ComparisonPlan, Metric};
    use ipcperf_stats::Rng;

    /// A comparison whose ratio is this one, give or take a share.
    fn recording(ratio: f64, share: f64) -> Comparison {
        let cells = ["unix-stream", "unix-stream", "pipe"];
        let cells = cells.map(|name| sample::cell(name, 64, sample::ONE).with_round());
        let set = sample::set(cells.to_vec());
        let arms = crate::Arms { a: "control", b: "cell", set: &set, other: None };
        let terms = crate::Terms { margin: 0.01, ..crate::Terms::default() };
        let mut made = crate::compare_live(&arms, ComparisonPlan::default(), &terms).unwrap();
        let primary = &mut made.comparisons[0].primary;
        primary.doubted = false;
        let ends = [ratio / (1.0 + share), ratio * (1.0 + share)];
        primary.ratio = Metric { value: Some(ratio), ci95: Some(ends), ..Metric::default() };
        made
    }

    fn named(ratios: &[f64]) -> Vec<(String, Comparison)> {
        ratios.iter().map(|ratio| ("x.json".to_owned(), recording(*ratio, 0.01))).collect()
    }

    #[test]
    fn a_ratio_is_like_the_side_on_which_it_lies_whichever_is_larger() {
        for (good, bad) in [(1.0, 1.1), (1.1, 1.0)] {
            let steps = Bisection::of(&named(&[good]), &named(&[bad])).unwrap();
            assert!(!steps.is_spread_known());
            let like = |ratio| steps.step(&recording(ratio, 0.01)).unwrap().likeness;
            assert_eq!((like(good), like(bad)), (Likeness::Good, Likeness::Bad));
            assert_eq!(like(1.05), Likeness::CannotTell);
            // Beyond both it is as bad, or as good, as can be.
            assert_eq!(like(bad * bad / good), Likeness::Bad);
        }
    }

    #[test]
    fn what_differs_between_boots_and_what_is_imprecise_now_widens_the_reach() {
        let near = Bisection::of(&named(&[1.0, 1.001]), &named(&[1.1, 1.101])).unwrap();
        let far = Bisection::of(&named(&[0.98, 1.02]), &named(&[1.08, 1.12])).unwrap();
        let reach = |of: &Bisection, share| of.step(&recording(1.0, share)).unwrap().reach;
        assert!(reach(&far, 0.01) > reach(&near, 0.01) && near.is_spread_known());
        assert!(reach(&near, 0.1) > reach(&near, 0.01));
    }

    #[test]
    fn what_cannot_be_used_is_named() {
        let refused =
            |bad: &[(String, Comparison)]| Bisection::of(&named(&[1.0]), bad).unwrap_err();
        let same = refused(&named(&[1.005]));
        assert!(same.starts_with("good and bad cannot be distinguished"), "{same}");
        let mut other = named(&[1.1]);
        other[0].1.comparisons[0].b = "fifo".to_owned();
        let wrong = refused(&other);
        assert!(wrong.starts_with("'x.json' compares '") && wrong.contains("fifo"), "{wrong}");
        for (change, why) in [
            ((|one| one.interrupted = true) as fn(&mut Comparison), "interrupted"),
            (|one| one.design = Design::Files, "side by side"),
            (|one| one.comparisons[0].primary.ratio.ci95 = None, "too few rounds"),
        ] {
            let mut bad = named(&[1.1]);
            change(&mut bad[0].1);
            let text = refused(&bad);
            assert!(text.starts_with("'x.json': ") && text.contains(why), "{text}");
        }
    }

    /// How many of 10,000 steps under a bad kernel, which takes 10 % longer, end as bad, good and undecided; and how many under
    /// a good one end as bad. The ratio moves by `spread` from boot to boot.
    fn steps(spread: f64, recordings: usize, seed: u64) -> [u32; 4] {
        let mut rng = Rng::from_seed(seed);
        let [mut found, mut wrong, mut undecided, mut false_steps] = [0; 4];
        for _ in 0..10_000 {
            let mut boot =
                |ratio: f64| Recording { log: ratio.ln() + spread * rng.normal(), error: 0.005 };
            let sides = [1.0, 1.1].map(|ratio| (0..recordings).map(|_| boot(ratio)).collect());
            let Ok(steps) = Bisection::between(<[String; 2]>::default(), &sides) else { continue };
            let mut like = |ratio: f64| steps.of_recording(&boot(ratio)).likeness;
            match like(1.1) {
                Likeness::Bad => found += 1,
                Likeness::Good => wrong += 1,
                Likeness::CannotTell => undecided += 1,
            }
            false_steps += u32::from(like(1.0) == Likeness::Bad);
        }
        [found, wrong, undecided, false_steps]
    }

    #[test]
    fn nine_in_ten_steps_find_a_change_of_a_tenth_and_fewer_than_one_in_a_hundred_is_wrong() {
        for (spread, recordings) in
            [(0.005, 1), (0.01, 1), (0.005, 3), (0.01, 3), (0.015, 3), (0.015, 5)]
        {
            let all @ [found, wrong, undecided, false_steps] = steps(spread, recordings, 7);
            let of = format!("{spread}, {recordings} a side: {all:?}");
            assert!(found >= 9000 && wrong <= 50 && false_steps <= 50, "{of}");
            assert_eq!(found + wrong + undecided, 10_000, "{of}");
        }
        // A spread that hides the change costs commits that are skipped, not wrong answers.
        let [found, wrong, undecided, false_steps] = steps(0.03, 3, 7);
        assert!(
            undecided > found / 2 && wrong <= 100 && false_steps <= 100,
            "{wrong} {false_steps}"
        );
    }
}

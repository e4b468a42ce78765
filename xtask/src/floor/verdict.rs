//! From the rounds of a case to one line: which rounds may be compared, the ratio, the verdict.

use ipcperf_stats::modes::split;
use ipcperf_stats::{Ratio, median, paired_ratio};

use super::case::{Place, Target};

/// The rounds of one case; index i of each belongs to the same round.
#[derive(Clone, Debug, Default)]
pub(crate) struct Rounds {
    pub(crate) bare: Vec<f64>,
    pub(crate) product: Vec<f64>,
    /// The cache-line round trip just before, in nanoseconds; two CPUs only.
    pub(crate) line_ns: Vec<f64>,
    /// Why the first round without a pair of figures has none.
    pub(crate) failure: Option<String>,
}

/// How many rounds lie in each mode, and where.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct TwoModes {
    pub(crate) low: (f64, usize),
    pub(crate) high: (f64, usize),
}

/// What one case came to.
#[derive(Clone, Debug)]
pub(crate) struct Outcome {
    /// Medians over the rounds compared.
    pub(crate) bare: f64,
    pub(crate) product: f64,
    pub(crate) ratio: Ratio,
    pub(crate) verdict: Verdict,
    pub(crate) rounds: usize,
    /// Rounds left out because the two sides were in different modes.
    pub(crate) left_out: usize,
    pub(crate) bare_modes: Option<TwoModes>,
    pub(crate) product_modes: Option<TwoModes>,
}

/// Where the ratio lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// The estimate lies within the target.
    Within,
    /// Worse than the target, the whole interval too.
    Over,
    /// Better than a bare loop can be, the whole interval too: the bare loop needs looking at.
    BareSlower,
    /// The estimate misses the target, but the interval reaches it, the difference is one step of
    /// the clock, or there are too few rounds.
    Unclear,
}

impl std::fmt::Display for Verdict {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.pad(match self {
            Self::Within => "within",
            Self::Over => "over",
            Self::BareSlower => "bare slower",
            Self::Unclear => "unclear",
        })
    }
}

/// Judges one case; `Err` says why there is no ratio.
/// Two figures that differ by no more than `resolution` (in their unit) never miss a target: the
/// clock cannot tell them apart.
pub(crate) fn judge(
    rounds: &Rounds,
    place: Place,
    target: Target,
    resolution: f64,
) -> Result<Outcome, String> {
    let (bare, product) = (&rounds.bare, &rounds.product);
    if bare.is_empty() {
        return Err(rounds.failure.clone().unwrap_or_else(|| "not measured".to_owned()));
    }
    if product.is_empty() {
        return Err("bare loops only".to_owned());
    }
    // Only a pair of CPUs has modes that nobody chose (the host moves them onto one core or two).
    let modes = |values: &[f64]| match place {
        Place::SameCpu => None,
        Place::TwoCpus => classify(values),
    };
    let (of_bare, of_product) = (modes(bare), modes(product));
    let common: Vec<usize> = match (&of_bare, &of_product) {
        (None, None) => (0..bare.len()).collect(),
        (Some(a), Some(b)) => (0..bare.len()).filter(|&i| a.high[i] == b.high[i]).collect(),
        (Some(a), None) => {
            (0..bare.len()).filter(|&i| a.high[i] == a.nearer_high(product[i])).collect()
        }
        (None, Some(b)) => {
            (0..bare.len()).filter(|&i| b.high[i] == b.nearer_high(bare[i])).collect()
        }
    };
    let pick = |values: &[f64]| common.iter().map(|&i| values[i]).collect::<Vec<_>>();
    let (a, b) = (pick(bare), pick(product));
    let (bare_modes, product_modes) = (of_bare.map(|m| m.modes), of_product.map(|m| m.modes));
    if a.is_empty() {
        return Err("the two sides were never in the same mode".to_owned());
    }
    let ratio = paired_ratio(&a, &b).ok_or("a figure is not a positive number")?;
    let bare_median = median(&a).expect("at least one round is compared");
    let product_median = median(&b).expect("at least one round is compared");
    let mut verdict = verdict(&ratio, target);
    if verdict != Verdict::Within && (product_median - bare_median).abs() <= resolution {
        verdict = Verdict::Unclear;
    }
    Ok(Outcome {
        bare: bare_median,
        product: product_median,
        ratio,
        verdict,
        rounds: a.len(),
        left_out: bare.len() - a.len(),
        bare_modes,
        product_modes,
    })
}

fn verdict(ratio: &Ratio, target: Target) -> Verdict {
    let (low, high) = target.range();
    let interval = ratio.ci95;
    if interval.is_some() && (low..=high).contains(&ratio.value) {
        return Verdict::Within;
    }
    let above = interval.is_some_and(|ci| ci.low > high);
    let below = interval.is_some_and(|ci| ci.high < low);
    match (target, above, below) {
        (Target::AtLeast(_), _, true) | (_, true, _) => Verdict::Over,
        (_, _, true) => Verdict::BareSlower,
        _ => Verdict::Unclear,
    }
}

/// One side whose rounds fall into two modes.
struct Classified {
    modes: TwoModes,
    /// Per round, whether it lies in the high mode.
    high: Vec<bool>,
}

impl Classified {
    /// For a value of the other side, which has no modes of its own to go by.
    fn nearer_high(&self, value: f64) -> bool {
        value * value > self.modes.low.0 * self.modes.high.0
    }
}

fn classify(values: &[f64]) -> Option<Classified> {
    let split = split(values)?;
    let mut high = vec![false; values.len()];
    for &round in &split.high.rounds {
        high[round] = true;
    }
    let modes = TwoModes {
        low: (split.low.median, split.low.rounds.len()),
        high: (split.high.median, split.high.rounds.len()),
    };
    Some(Classified { modes, high })
}

#[cfg(test)]
mod tests {
    use super::*;

    const BETWEEN: Target = Target::Between(0.97, 1.05);

    fn rounds(bare: &[f64], factor: f64) -> Rounds {
        // A little noise, the same on both sides, so that the interval is not a point.
        let noise = |i: usize| 1.0 + 0.002 * ((i * 7) % 5) as f64;
        let product = bare.iter().enumerate().map(|(i, value)| value * factor * noise(i)).collect();
        Rounds { bare: bare.to_vec(), product, ..Rounds::default() }
    }

    #[test]
    fn a_product_as_fast_as_the_bare_loop_is_within() {
        let outcome = judge(&rounds(&[100.0; 12], 1.0), Place::SameCpu, BETWEEN, 0.0).unwrap();
        assert_eq!((outcome.verdict, outcome.rounds), (Verdict::Within, 12));
    }

    #[test]
    fn a_slower_product_is_over_and_a_faster_one_casts_doubt_on_the_bare_loop() {
        let verdict = |factor, target| {
            judge(&rounds(&[100.0; 12], factor), Place::SameCpu, target, 0.0).unwrap().verdict
        };
        assert_eq!(verdict(1.2, BETWEEN), Verdict::Over);
        assert_eq!(verdict(0.8, BETWEEN), Verdict::BareSlower);
        assert_eq!(verdict(0.8, Target::AtLeast(0.95)), Verdict::Over);
        assert_eq!(verdict(1.2, Target::AtLeast(0.95)), Verdict::Within);
        assert_eq!(verdict(0.8, Target::AtMost(1.15)), Verdict::Within);
    }

    #[test]
    fn too_few_rounds_are_not_a_verdict() {
        let outcome = judge(&rounds(&[100.0; 3], 1.0), Place::SameCpu, BETWEEN, 0.0).unwrap();
        assert_eq!(outcome.verdict, Verdict::Unclear);
    }

    #[test]
    fn rounds_in_different_modes_are_left_out() {
        let fast_and_slow =
            [33.0, 279.0, 33.1, 271.0, 33.2, 275.0, 33.0, 274.0, 33.3, 276.0, 33.1, 270.0];
        let mut rounds = rounds(&fast_and_slow, 1.0);
        rounds.product.swap(0, 1);
        let outcome = judge(&rounds, Place::TwoCpus, BETWEEN, 0.0).unwrap();
        assert_eq!((outcome.rounds, outcome.left_out), (10, 2));
        assert_eq!(outcome.verdict, Verdict::Within);
        assert_eq!(outcome.bare_modes.map(|modes| (modes.low.1, modes.high.1)), Some((6, 6)));
    }

    #[test]
    fn a_product_twice_as_slow_is_not_excused_as_another_mode() {
        let outcome = judge(&rounds(&[100.0; 12], 2.0), Place::TwoCpus, BETWEEN, 0.0).unwrap();
        assert_eq!((outcome.left_out, outcome.verdict), (0, Verdict::Over));
    }

    #[test]
    fn a_difference_of_one_step_of_the_clock_is_no_miss() {
        let verdict = |resolution| {
            judge(&rounds(&[100.0; 12], 1.09), Place::SameCpu, BETWEEN, resolution).unwrap().verdict
        };
        assert_eq!((verdict(5.0), verdict(10.0)), (Verdict::Over, Verdict::Unclear));
    }

    #[test]
    fn a_case_without_figures_says_why() {
        let rounds =
            Rounds { failure: Some("unavailable: no eventfd".into()), ..Rounds::default() };
        assert_eq!(
            judge(&rounds, Place::SameCpu, BETWEEN, 0.0).unwrap_err(),
            "unavailable: no eventfd"
        );
    }
}

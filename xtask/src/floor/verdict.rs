//! From the rounds of a case to one line: which rounds may be compared, the ratio, the verdict.

use ipcperf_stats::modes::split;
use ipcperf_stats::{Estimate, Evidence, median};

use super::case::{Case, Pattern};

/// The rounds of one case; index i of each belongs to the same round.
#[derive(Clone, Debug, Default)]
pub(crate) struct Rounds {
    pub(crate) bare: Vec<f64>,
    pub(crate) product: Vec<f64>,
    /// The cache-line round trip in the same round, in nanoseconds; two CPUs only.
    pub(crate) line_ns: Vec<f64>,
    /// Why the first round without a pair of figures has none.
    pub(crate) failure: Option<String>,
}

/// What one case came to.
#[derive(Clone, Debug)]
pub(crate) struct Outcome {
    /// Medians over the rounds compared.
    pub(crate) bare: f64,
    pub(crate) product: f64,
    pub(crate) ratio: Estimate,
    pub(crate) verdict: Verdict,
    /// Rounds left out because the two sides were in different modes.
    pub(crate) left_out: usize,
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
    /// The estimate misses the target, but the interval reaches it, or there are too few rounds.
    Unclear,
}

impl Verdict {
    /// For the table.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Within => "within",
            Self::Over => "over",
            Self::BareSlower => "bare slower",
            Self::Unclear => "unclear",
        }
    }

    /// Unclear is not a miss: it says that more rounds are needed, not that the product is slow.
    pub(crate) fn is_miss(self) -> bool {
        matches!(self, Self::Over | Self::BareSlower)
    }
}

/// Judges one case; `Err` says why there is no ratio.
pub(crate) fn judge(case: &Case, rounds: &Rounds) -> Result<Outcome, String> {
    let (bare, product) = (&rounds.bare, &rounds.product);
    if bare.is_empty() {
        return Err(rounds.failure.clone().unwrap_or_else(|| "not measured".to_owned()));
    }
    // Only a pair of CPUs has modes that nobody chose (the host moves them onto one core or two).
    let border = |values: &[f64]| {
        let modes = split(values).filter(|_| !case.place.is_one_cpu())?;
        Some((modes.low.median * modes.high.median).sqrt())
    };
    // A side without modes of its own is told apart by those of the other.
    let (of_bare, of_product) = (border(bare), border(product));
    let of_bare_or_product = of_bare.or(of_product).zip(of_product.or(of_bare));
    let is_compared = |pair: &(&f64, &f64)| match of_bare_or_product {
        Some((of_bare, of_product)) => (*pair.0 > of_bare) == (*pair.1 > of_product),
        None => true,
    };
    let (a, b): (Vec<f64>, Vec<f64>) = bare.iter().zip(product).filter(is_compared).unzip();
    let medians = median(&a).zip(median(&b));
    let (bare_median, product_median) =
        medians.ok_or("the two sides were never in the same mode")?;
    let evidence = Evidence::paired(&a, &b).ok_or("a figure is not a positive number")?;
    let ratio = Estimate { value: evidence.ratio(), ci95: evidence.interval(0.95) };
    Ok(Outcome {
        bare: bare_median,
        product: product_median,
        verdict: verdict(case, &ratio),
        ratio,
        left_out: bare.len() - a.len(),
    })
}

fn verdict(case: &Case, ratio: &Estimate) -> Verdict {
    let (low, high) = case.target();
    match ratio.ci95 {
        None => Verdict::Unclear,
        Some(_) if (low..=high).contains(&ratio.value) => Verdict::Within,
        Some(interval) if interval.low > high => Verdict::Over,
        Some(interval) if interval.high < low => match case.pattern {
            Pattern::PingPong | Pattern::Serve => Verdict::BareSlower,
            Pattern::Stream => Verdict::Over,
        },
        Some(_) => Verdict::Unclear,
    }
}

#[cfg(test)]
mod tests {
    use super::super::case::{Carrier, Place, Rival};
    use super::*;

    fn case(carrier: Carrier, pattern: Pattern, cpus: [usize; 2]) -> Case {
        Case {
            carrier,
            pattern,
            bytes: 8,
            place: Place { name: "", cpus },
            conns: 1,
            rival: Rival::Bare,
        }
    }

    /// A target of 0.97 to 1.05.
    fn trip(cpus: [usize; 2]) -> Case {
        case(Carrier::Pipe, Pattern::PingPong, cpus)
    }

    fn rounds(bare: &[f64], factor: f64) -> Rounds {
        // A little noise, the same on both sides, so that the interval is not a point.
        let noise = |i: usize| 1.0 + 0.002 * ((i * 7) % 5) as f64;
        let product = bare.iter().enumerate().map(|(i, value)| value * factor * noise(i)).collect();
        Rounds { bare: bare.to_vec(), product, ..Rounds::default() }
    }

    #[test]
    fn a_product_as_fast_as_the_bare_loop_is_within() {
        let outcome = judge(&trip([0, 0]), &rounds(&[100.0; 12], 1.0)).unwrap();
        assert_eq!((outcome.verdict, outcome.left_out), (Verdict::Within, 0));
    }

    #[test]
    fn a_slower_product_is_over_and_a_faster_one_casts_doubt_on_the_bare_loop() {
        let verdict =
            |factor, case: &Case| judge(case, &rounds(&[100.0; 12], factor)).unwrap().verdict;
        assert_eq!(verdict(1.2, &trip([0, 0])), Verdict::Over);
        assert_eq!(verdict(0.8, &trip([0, 0])), Verdict::BareSlower);
        let stream = case(Carrier::Pipe, Pattern::Stream, [0, 0]);
        assert_eq!(verdict(0.8, &stream), Verdict::Over);
        assert_eq!(verdict(1.2, &stream), Verdict::Within);
        for carrier in [Carrier::Flag, Carrier::Ring] {
            let spinning = case(carrier, Pattern::PingPong, [0, 1]);
            assert_eq!(verdict(0.8, &spinning), Verdict::Within);
            assert_eq!(verdict(1.2, &spinning), Verdict::Over);
        }
    }

    #[test]
    fn too_few_rounds_are_not_a_verdict() {
        let outcome = judge(&trip([0, 0]), &rounds(&[100.0; 3], 1.0)).unwrap();
        assert_eq!(outcome.verdict, Verdict::Unclear);
    }

    #[test]
    fn an_interval_that_reaches_the_target_is_not_a_miss() {
        let mut rounds = rounds(&[100.0; 12], 1.1);
        for product in rounds.product.iter_mut().step_by(3) {
            *product = 100.0;
        }
        let outcome = judge(&trip([0, 0]), &rounds).unwrap();
        assert_eq!(outcome.verdict, Verdict::Unclear);
    }

    #[test]
    fn rounds_in_different_modes_are_left_out() {
        let fast_and_slow =
            [33.0, 279.0, 33.1, 271.0, 33.2, 275.0, 33.0, 274.0, 33.3, 276.0, 33.1, 270.0];
        let mut rounds = rounds(&fast_and_slow, 1.0);
        rounds.product.swap(0, 1);
        let outcome = judge(&trip([0, 1]), &rounds).unwrap();
        assert_eq!((outcome.left_out, outcome.verdict), (2, Verdict::Within));
    }

    #[test]
    fn a_side_that_has_one_mode_is_compared_in_that_of_the_other() {
        let mut rounds = rounds(&[100.0; 12], 1.0);
        rounds.bare[3] = 900.0;
        rounds.bare[7] = 910.0;
        let outcome = judge(&trip([0, 1]), &rounds).unwrap();
        assert_eq!((outcome.left_out, outcome.verdict), (2, Verdict::Within));
    }

    #[test]
    fn a_product_twice_as_slow_is_not_excused_as_another_mode() {
        let outcome = judge(&trip([0, 1]), &rounds(&[100.0; 12], 2.0)).unwrap();
        assert_eq!((outcome.left_out, outcome.verdict), (0, Verdict::Over));
    }

    #[test]
    fn a_case_without_figures_says_why() {
        let rounds = Rounds { failure: Some("no eventfd".into()), ..Rounds::default() };
        assert_eq!(judge(&trip([0, 0]), &rounds).unwrap_err(), "no eventfd");
    }
}

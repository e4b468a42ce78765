//! When a claim is taken to hold, and what is said of it.

use ipcperf_core::result::{Metric, TestResult, Verdict};
use ipcperf_stats::{median_estimate, paired_ratio};
use std::fmt;
use std::str::FromStr;

/// What would be accepted as the direction of a claim: figures from `low` to `high`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Accept {
    /// The side of 1 (or 0, for what is no ratio) that was published.
    Report,
    /// A range; an end that is open does not belong to it.
    Range { low: f64, high: f64, low_open: bool, high_open: bool },
}

/// A figure is reproduced within this factor of the published one.
const FACTOR: f64 = 1.5;

impl FromStr for Accept {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong =
            || format!("'{text}' is no acceptance (like > 1, >= 1.5, < 2, 0.8 .. 1.1, report)");
        let number = |text: &str| -> Result<f64, String> {
            let number: f64 = text.trim().parse().map_err(|_| wrong())?;
            if number.is_finite() { Ok(number) } else { Err(wrong()) }
        };
        let text = text.trim();
        let (low, high) = (f64::NEG_INFINITY, f64::INFINITY);
        let range = |low, high, low_open, high_open| Self::Range { low, high, low_open, high_open };
        if text == "report" {
            Ok(Self::Report)
        } else if let Some((from, to)) = text.split_once("..") {
            let (from, to) = (number(from)?, number(to)?);
            if from <= to { Ok(range(from, to, false, false)) } else { Err(wrong()) }
        } else if let Some(rest) = text.strip_prefix(">=") {
            Ok(range(number(rest)?, high, false, true))
        } else if let Some(rest) = text.strip_prefix('>') {
            Ok(range(number(rest)?, high, true, true))
        } else if let Some(rest) = text.strip_prefix("<=") {
            Ok(range(low, number(rest)?, true, false))
        } else if let Some(rest) = text.strip_prefix('<') {
            Ok(range(low, number(rest)?, true, true))
        } else {
            Err(wrong())
        }
    }
}

impl fmt::Display for Accept {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Report => out.write_str("report"),
            Self::Range { low, high, low_open, high_open } => {
                match (low.is_finite(), high.is_finite()) {
                    (true, true) => write!(out, "{low} .. {high}"),
                    (true, false) => write!(out, "{} {low}", if low_open { ">" } else { ">=" }),
                    _ => write!(out, "{} {high}", if high_open { "<" } else { "<=" }),
                }
            }
        }
    }
}

/// Where an interval lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    Inside,
    Outside,
    Across,
}

/// The side of `neutral` that was published; around it, where it was published as no difference.
fn side(published: f64, neutral: f64) -> Accept {
    let range = |low, high, open| Accept::Range { low, high, low_open: open, high_open: open };
    if is_neutral(published, neutral) {
        return range(neutral.min(1.0) / FACTOR, neutral.max(1.0) * FACTOR, false);
    }
    if published > neutral {
        range(neutral, f64::INFINITY, true)
    } else {
        range(f64::NEG_INFINITY, neutral, true)
    }
}

/// Published as no difference: within 5 %.
fn is_neutral(published: f64, neutral: f64) -> bool {
    (published - neutral).abs() <= 0.05 * neutral.max(1.0)
}

impl Accept {
    /// Where an interval lies; `reported` is the side that [`Accept::Report`] stands for.
    fn place(self, [from, to]: [f64; 2], published: Option<f64>, neutral: f64) -> Place {
        let range = match (self, published) {
            (Self::Range { .. }, _) => self,
            (Self::Report, None) => return Place::Inside,
            (Self::Report, Some(published)) => side(published, neutral),
        };
        let Self::Range { low, high, low_open, high_open } = range else { return Place::Inside };
        let above = |x: f64| if low_open { x > low } else { x >= low };
        let below = |x: f64| if high_open { x < high } else { x <= high };
        if above(from) && below(to) {
            Place::Inside
        } else if !above(to) || !below(from) {
            Place::Outside
        } else {
            Place::Across
        }
    }
}

/// The centre of a figure over rounds: of ratios the Hodges-Lehmann estimate of their logarithms with the exact
/// signed-rank interval, of anything else the median with its order-statistic interval.
pub(crate) fn centre(rounds: &[f64], is_value: bool) -> Metric {
    let few = || (rounds.len() < 6).then(|| "an interval needs 6 rounds".to_owned());
    if let (false, Some(ratio)) = (is_value, paired_ratio(&vec![1.0; rounds.len()], rounds)) {
        return Metric {
            value: Some(ratio.value),
            ci95: ratio.ci95.map(|interval| [interval.low, interval.high]),
            reason: few(),
            method: Some("hodges-lehmann".into()),
            modes: Vec::new(),
        };
    }
    match median_estimate(rounds) {
        Some(estimate) if rounds.iter().all(|value| value.is_finite()) => Metric {
            value: Some(estimate.value),
            ci95: estimate.ci95.map(|interval| [interval.low, interval.high]),
            reason: few(),
            method: Some("rounds".into()),
            modes: Vec::new(),
        },
        _ if rounds.is_empty() => Metric::missing("no round has all readings"),
        _ => Metric::missing("a round gives no finite figure"),
    }
}

/// Judges one test of a claim. `is_stated`: what was published is a statement that the tests spell out, an order or a
/// fact, rather than a figure.
pub(crate) fn judge(
    test: String,
    accept: Accept,
    published: Option<f64>,
    measured: Metric,
    is_value: bool,
    is_stated: bool,
) -> TestResult {
    let neutral = if is_value { 0.0 } else { 1.0 };
    let verdict = match (measured.value, measured.ci95) {
        (None, _) => Verdict::Untestable,
        (Some(_), None) => Verdict::Inconclusive,
        (Some(value), Some(interval)) => match accept.place(interval, published, neutral) {
            Place::Outside => Verdict::NotReproduced,
            Place::Across => Verdict::Inconclusive,
            Place::Inside => match published {
                Some(published) if !is_close(value, published, interval, neutral) => {
                    Verdict::Direction
                }
                None if accept == Accept::Report => Verdict::Inconclusive,
                // What was claimed holds, but no figure was published that it could be near to.
                None if !is_stated => Verdict::Direction,
                _ => Verdict::Reproduced,
            },
        },
    };
    TestResult { test, published, accept: accept.to_string(), measured, verdict }
}

/// Within the factor of what was published, and surely on its side.
fn is_close(value: f64, published: f64, [low, high]: [f64; 2], neutral: f64) -> bool {
    let same_side = if published > neutral { low > neutral } else { high < neutral };
    let within = value * published > 0.0 && (1.0 / FACTOR..=FACTOR).contains(&(value / published));
    within && (same_side || is_neutral(published, neutral))
}

/// What all tests of a claim come to.
pub(crate) fn overall(tests: &[TestResult]) -> Verdict {
    let any = |verdict| tests.iter().any(|test| test.verdict == verdict);
    for verdict in
        [Verdict::NotReproduced, Verdict::Untestable, Verdict::Inconclusive, Verdict::Direction]
    {
        if any(verdict) {
            return verdict;
        }
    }
    if tests.is_empty() { Verdict::Untestable } else { Verdict::Reproduced }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Recorded rounds, published figure, acceptance, and the verdict that belongs to them.
    #[test]
    fn every_verdict_comes_of_the_data_it_should() {
        let near = |centre: f64| {
            (0..10).map(|i| centre * (1.0 + 0.002 * f64::from(i - 5))).collect::<Vec<f64>>()
        };
        let wide: Vec<f64> =
            (0..10).map(|i| if i % 2 == 0 { 0.5 } else { 2.0 + 0.01 * f64::from(i) }).collect();
        for (rounds, published, accept, verdict) in [
            (near(2.6), Some(2.72), ">= 1.5", Verdict::Reproduced),
            (near(8.0), Some(2.72), ">= 1.5", Verdict::Direction),
            (near(1.6), None, "> 1", Verdict::Direction),
            (near(1.2), Some(2.72), ">= 1.5", Verdict::NotReproduced),
            (near(0.5), Some(2.72), "report", Verdict::NotReproduced),
            (near(0.36), Some(0.4), "report", Verdict::Reproduced),
            (near(1.0), Some(1.005), "0.8 .. 1.1", Verdict::Reproduced),
            (near(1.0), Some(1.02), "> 1", Verdict::Inconclusive),
            (wide, Some(2.0), "> 1", Verdict::Inconclusive),
            (vec![2.0; 5], Some(2.0), "> 1", Verdict::Inconclusive),
            (vec![2.0, f64::NAN], Some(2.0), "> 1", Verdict::Untestable),
            (Vec::new(), Some(2.0), "> 1", Verdict::Untestable),
        ] {
            let measured = centre(&rounds, false);
            let accept: Accept = accept.parse().expect(accept);
            let result = judge("x".into(), accept, published, measured, false, false);
            assert_eq!(result.verdict, verdict, "{rounds:?} {published:?} {accept}");
        }
    }

    #[test]
    fn a_value_may_be_nought_or_negative() {
        let rounds: Vec<f64> = (0..9).map(|i| -3.0 + 0.1 * f64::from(i)).collect();
        let measured = centre(&rounds, true);
        assert_eq!(measured.method.as_deref(), Some("rounds"));
        let judged = |accept: &str, published| {
            let accept = accept.parse().expect("well formed");
            judge("x".into(), accept, published, measured.clone(), true, false).verdict
        };
        assert_eq!(judged("< 0", Some(-2.5)), Verdict::Reproduced);
        assert_eq!(judged("> 0", Some(2.5)), Verdict::NotReproduced);
        assert_eq!(judged("report", Some(-100.0)), Verdict::Direction);
    }

    #[test]
    fn a_statement_is_reproduced_when_it_holds_and_a_report_needs_something_to_compare_with() {
        let measured = centre(&[2.0, 2.1, 2.0, 1.9, 2.0, 2.2, 2.1], false);
        let judged = |accept: &str, is_stated| {
            let accept = accept.parse().expect("well formed");
            judge("x".into(), accept, None, measured.clone(), false, is_stated).verdict
        };
        assert_eq!(judged("> 1", true), Verdict::Reproduced);
        assert_eq!(judged("> 1", false), Verdict::Direction);
        assert_eq!(judged("< 1", true), Verdict::NotReproduced);
        assert_eq!(judged("report", true), Verdict::Inconclusive);
    }

    #[test]
    fn the_weakest_test_decides() {
        let test = |verdict| TestResult {
            test: String::new(),
            published: None,
            accept: String::new(),
            measured: Metric::default(),
            verdict,
        };
        use Verdict::{Direction, Inconclusive, NotReproduced, Reproduced, Untestable};
        for (all, verdict) in [
            (vec![Reproduced, Reproduced], Reproduced),
            (vec![Reproduced, Direction], Direction),
            (vec![Direction, Inconclusive], Inconclusive),
            (vec![Untestable, Inconclusive], Untestable),
            (vec![Untestable, NotReproduced, Reproduced], NotReproduced),
            (vec![], Untestable),
        ] {
            let tests: Vec<_> = all.iter().map(|verdict| test(*verdict)).collect();
            assert_eq!(overall(&tests), verdict, "{all:?}");
        }
    }

    #[test]
    fn acceptances_read_back_as_they_are_shown() {
        for text in ["report", "> 1", ">= 1.5", "< 0.2", "<= 2", "0.8 .. 1.1"] {
            assert_eq!(text.parse::<Accept>().expect(text).to_string(), text);
        }
        for text in ["", "1", "> x", "2 .. 1", "> inf", "= 1"] {
            assert!(text.parse::<Accept>().is_err(), "{text}");
        }
    }
}

//! When a claim is taken to hold, and what is said of it. docs/STUDIES.md has the table of verdicts.

use crate::claims::expression::Expression;
use crate::replication::{TestResult, Verdict};
use ipcperf_core::result::Metric;
use ipcperf_stats::{Interval, median_estimate, median_interval, ratio_estimate, ratio_interval};
use std::fmt;
use std::str::FromStr;

/// One test of a claim.
#[derive(Clone, Debug)]
pub(crate) struct Test {
    pub(crate) expression: Expression,
    /// What the figure is, in words; empty where only the expression says it.
    pub(crate) label: String,
    /// `None` of an extension: nothing was published that could be accepted.
    pub(crate) accept: Option<Accept>,
    pub(crate) published: Option<f64>,
    /// A figure no further from 0 than this cannot be told from 0, in the unit of the figure.
    pub(crate) resolution: Option<f64>,
}

/// What would be accepted as the direction of a claim: figures from `low` to `high`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Accept {
    /// The side of 1 (or 0, for what is no ratio) that was published.
    Report,
    /// A range; an end that is open does not belong to it.
    Range { low: f64, high: f64, low_open: bool, high_open: bool },
}

/// A figure is reproduced within this factor of the published one; a ratio also only where its logarithm is within this
/// factor of the published logarithm: 1.02 is within a factor of 1.5 of 1.3, and a fifteenth of what was published.
const FACTOR: f64 = 1.5;

/// How often a claim that holds may be called not reproduced, however many tests it has.
pub(crate) const ERROR: f64 = 0.05;

impl FromStr for Accept {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong =
            || format!("'{text}' is not an acceptance (like > 1, >= 1.5, < 2, 0.8 .. 1.1, report)");
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

impl Accept {
    /// Whether it accepts a figure that is known exactly; `report` accepts the side that this very figure is on.
    pub(crate) fn accepts(self, figure: f64) -> bool {
        self == Self::Report || place(self, [figure; 2]) == IntervalPlace::Inside
    }

    /// The range that it comes to beside what was published.
    fn beside(self, published: Option<f64>, neutral: f64) -> Self {
        match (self, published) {
            (Self::Report, Some(published)) => side(published, neutral),
            _ => self,
        }
    }
}

impl fmt::Display for Accept {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Report => out.write_str("report"),
            Self::Range { low, high, low_open, high_open } => {
                let [low, high] = [low, high].map(|end| (end * 1e3).round() / 1e3);
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
enum IntervalPlace {
    Inside,
    Outside,
    Across,
}

/// The side of `neutral` that was published; around it, where it was published as no difference.
fn side(published: f64, neutral: f64) -> Accept {
    let range = |low, high, open| Accept::Range { low, high, low_open: open, high_open: open };
    if is_neutral(published, neutral) {
        return range(neutral / FACTOR, neutral * FACTOR, false);
    }
    if published > neutral {
        range(neutral, f64::INFINITY, true)
    } else {
        range(f64::NEG_INFINITY, neutral, true)
    }
}

/// Published as no difference: within 5 %, of what is no ratio as 0 alone.
fn is_neutral(published: f64, neutral: f64) -> bool {
    (published - neutral).abs() <= 0.05 * neutral
}

/// Where an interval lies beside a range.
fn place(range: Accept, [from, to]: [f64; 2]) -> IntervalPlace {
    let Accept::Range { low, high, low_open, high_open } = range else {
        return IntervalPlace::Across;
    };
    let above = |x: f64| if low_open { x > low } else { x >= low };
    let below = |x: f64| if high_open { x < high } else { x <= high };
    if above(from) && below(to) {
        IntervalPlace::Inside
    } else if !above(to) || !below(from) {
        IntervalPlace::Outside
    } else {
        IntervalPlace::Across
    }
}

/// A figure over rounds, as it is shown and as it is judged.
#[derive(Clone, Debug)]
pub(crate) struct JudgedFigure {
    /// With its 95 % interval.
    pub(crate) metric: Metric,
    /// The interval that all figures of a claim hold together; `None` with too few rounds for it.
    pub(crate) joint: Option<[f64; 2]>,
}

impl JudgedFigure {
    /// None, for a reason.
    pub(crate) fn missing(reason: impl Into<String>) -> Self {
        Self { metric: Metric::missing(reason), joint: None }
    }

    /// Of rounds, for one of so many tests. Of ratios the Hodges-Lehmann estimate of their logarithms with the exact
    /// signed-rank interval, of anything else the median with its order-statistic interval.
    ///
    /// Of many tests that hold, some come out wrong by chance, and one is enough to call a claim not reproduced. So the
    /// error allowed is divided by their number (Bonferroni; the first step of Holm's procedure, and the only one that
    /// matters where one failing test decides). That they hold needs no correction: all of them must.
    pub(crate) fn of(rounds: &[f64], is_value: bool, tests: usize) -> Self {
        let joint = 1.0 - ERROR / tests.max(1) as f64;
        let both = |interval: Interval| [interval.low, interval.high];
        let few = || (rounds.len() < 6).then(|| "an interval needs 6 rounds".to_owned());
        let metric = |value, ci95: Option<Interval>, method: &str| Metric {
            value: Some(value),
            ci95: ci95.map(both),
            reason: few(),
            method: Some(method.into()),
            modes: Vec::new(),
        };
        if let (false, Some(estimate)) = (is_value, ratio_estimate(rounds)) {
            return Self {
                metric: metric(estimate.value, estimate.ci95, "hodges-lehmann"),
                joint: ratio_interval(rounds, joint).map(both),
            };
        }
        match median_estimate(rounds) {
            Some(estimate) if rounds.iter().all(|value| value.is_finite()) => Self {
                metric: metric(estimate.value, estimate.ci95, "rounds"),
                joint: median_interval(rounds, joint).map(both),
            },
            _ if rounds.is_empty() => Self::missing(NO_ROUND),
            _ => Self::missing("a round gives no finite figure"),
        }
    }
}

/// Why there is no figure of arms that have rounds, but none in common.
pub(crate) const NO_ROUND: &str = "no round in which all its arms count";

/// What is said of one test, and why.
#[derive(Clone, Debug)]
pub(crate) struct Judged {
    pub(crate) result: TestResult,
    pub(crate) reason: String,
}

/// Judges one of the `tests` tests of a claim. One without a published figure spells out what was stated.
pub(crate) fn judge(test: &Test, figure: JudgedFigure, is_value: bool, tests: usize) -> Judged {
    let JudgedFigure { metric, joint } = figure;
    let neutral = if is_value { 0.0 } else { 1.0 };
    let (verdict, reason) = match (metric.value, metric.ci95, test.accept) {
        (None, ..) => (Verdict::Untestable, metric.reason.clone().unwrap_or_default()),
        (Some(_), _, None) => {
            (Verdict::Measured, "nothing was published that it could be held against".to_owned())
        }
        (Some(_), None, _) => (Verdict::Inconclusive, metric.reason.clone().unwrap_or_default()),
        (Some(_), Some([low, high]), Some(_))
            if test.resolution.is_some_and(|least| -least <= low && high <= least) =>
        {
            let least = test.resolution.unwrap_or_default();
            (
                Verdict::Inconclusive,
                format!("a tie: not distinguishable from 0 at the resolution of {least}"),
            )
        }
        (Some(_), Some(interval), Some(accept)) => {
            against(test, accept, neutral, interval, (joint, tests))
        }
    };
    Judged { result: test.result(metric, verdict, neutral), reason }
}

/// The verdict on a figure that has an interval.
fn against(
    test: &Test,
    accept: Accept,
    neutral: f64,
    interval: [f64; 2],
    (joint, tests): (Option<[f64; 2]>, usize),
) -> (Verdict, String) {
    let (range, words) = match (accept, test.published) {
        (Accept::Report, Some(published)) => {
            (side(published, neutral), "the published side".to_owned())
        }
        _ => (accept, format!("'{accept}'")),
    };
    let excluded = format!("the interval excludes {words}");
    if joint.is_some_and(|joint| place(range, joint) == IntervalPlace::Outside) {
        let all = if tests > 1 { format!(", as one of {tests} tests") } else { String::new() };
        return (Verdict::NotReproduced, excluded + &all);
    }
    match place(range, interval) {
        IntervalPlace::Outside => {
            let text = format!("{excluded}, but not surely enough for one of {tests} tests");
            (Verdict::Inconclusive, text)
        }
        IntervalPlace::Across => {
            let direction = certain_direction(range, neutral, interval);
            (Verdict::Inconclusive, format!("{direction}the interval does not decide {words}"))
        }
        IntervalPlace::Inside => {
            match test.published.map(|published| size(published, neutral, interval)) {
                None => (Verdict::Reproduced, "holds as stated".to_owned()),
                Some(IntervalPlace::Inside) => {
                    let text = "as large as published, but for a factor of 1.5, and on its side";
                    (Verdict::Reproduced, text.to_owned())
                }
                Some(IntervalPlace::Outside) => {
                    let text = "the direction holds, the size differs by more than a factor of 1.5";
                    (Verdict::Direction, text.to_owned())
                }
                Some(IntervalPlace::Across) => {
                    let text = "the direction holds; whether the size is within a factor of 1.5, the interval does not decide";
                    (Verdict::Direction, text.to_owned())
                }
            }
        }
    }
}

/// The direction of a range that leaves out more than the other side of `neutral`, where the interval is certain of the direction
/// and not of the range; else empty.
fn certain_direction(range: Accept, neutral: f64, [from, to]: [f64; 2]) -> String {
    let Accept::Range { low, high, .. } = range else { return String::new() };
    if low > neutral && high.is_infinite() && from > neutral {
        format!("above {neutral}, as stated; ")
    } else if high < neutral && low.is_infinite() && to < neutral {
        format!("below {neutral}, as stated; ")
    } else {
        String::new()
    }
}

/// What is near to a published figure: within the factor of it, and of a ratio that was published as a difference also
/// within the factor by its logarithm, which is the narrower one below 3.4.
fn near(published: f64, neutral: f64) -> [f64; 2] {
    let [low, high] = [published / FACTOR, published * FACTOR];
    let [low, high] = [low.min(high), low.max(high)];
    if neutral == 0.0 || published <= 0.0 || is_neutral(published, neutral) {
        return [low, high];
    }
    let [less, more] = [published.powf(1.0 / FACTOR), published.powf(FACTOR)];
    [low.max(less.min(more)), high.min(less.max(more))]
}

/// Where an interval lies beside what is near to a published figure, and on its side.
fn size(published: f64, neutral: f64, interval: [f64; 2]) -> IntervalPlace {
    let [low, high] = near(published, neutral);
    let band = Accept::Range { low, high, low_open: false, high_open: false };
    match place(band, interval) {
        IntervalPlace::Inside if is_neutral(published, neutral) => IntervalPlace::Inside,
        IntervalPlace::Inside => match place(side(published, neutral), interval) {
            IntervalPlace::Inside => IntervalPlace::Inside,
            _ => IntervalPlace::Across,
        },
        other => other,
    }
}

/// Checks that a test holds in every round: no statistics, for what it tests does not vary.
pub(crate) fn check(test: &Test, rounds: &[f64], metric: Metric) -> Judged {
    let holds = |value: &&f64| {
        test.accept.is_some_and(|range| place(range, [**value; 2]) == IntervalPlace::Inside)
    };
    let (verdict, reason) = match rounds.iter().find(|value| !holds(value)) {
        _ if rounds.is_empty() => (Verdict::Untestable, metric.reason.clone().unwrap_or_default()),
        None => (Verdict::Holds, "in every round".to_owned()),
        Some(value) => (Verdict::Fails, format!("it was {value} in a round")),
    };
    Judged { result: test.result(metric, verdict, 1.0), reason }
}

impl Test {
    /// As the document has it.
    fn result(&self, measured: Metric, verdict: Verdict, neutral: f64) -> TestResult {
        let accepted = |accept: Accept| accept.beside(self.published, neutral).to_string();
        TestResult {
            label: self.label.clone(),
            test: self.expression.to_string(),
            published: self.published,
            accept: self.accept.map_or_else(String::new, accepted),
            measured,
            verdict,
        }
    }
}

/// What all tests of a claim come to: the weakest of them.
pub(crate) fn overall(tests: &[Judged]) -> Verdict {
    use Verdict::{
        Direction, Fails, Holds, Inconclusive, Measured, NotReproduced, Reproduced, Untestable,
    };
    let order =
        [NotReproduced, Fails, Untestable, Inconclusive, Direction, Measured, Holds, Reproduced];
    let said = |verdict: &Verdict| tests.iter().any(|test| test.result.verdict == *verdict);
    order.into_iter().find(said).unwrap_or(Untestable)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn test(accept: &str, published: Option<f64>) -> Test {
        Test {
            expression: Expression::Number(1.0),
            label: String::new(),
            accept: Some(accept.parse().expect(accept)),
            published,
            resolution: None,
        }
    }

    fn verdict(rounds: &[f64], published: Option<f64>, accept: &str, is_value: bool) -> Verdict {
        let figure = JudgedFigure::of(rounds, is_value, 1);
        judge(&test(accept, published), figure, is_value, 1).result.verdict
    }

    /// Ten rounds that differ by 2 %.
    fn near(centre: f64) -> Vec<f64> {
        (0..10).map(|i| centre * (1.0 + 0.002 * f64::from(i - 5))).collect()
    }

    #[test]
    fn a_direction_that_is_certain_is_said_where_the_accepted_range_is_not_decided() {
        let wide: Vec<f64> = (0..12).map(|i| if i % 2 == 0 { 1.3 } else { 2.7 }).collect();
        let reason = |accept: &str, rounds: &[f64]| {
            let figure = JudgedFigure::of(rounds, false, 1);
            let judged = judge(&test(accept, Some(3.0)), figure, false, 1);
            (judged.result.verdict, judged.reason)
        };
        let undecided = |words: &str| (Verdict::Inconclusive, words.to_owned());
        let words = "above 1, as stated; the interval does not decide '>= 2'";
        assert_eq!(reason(">= 2", &wide), undecided(words));
        let around: Vec<f64> = wide.iter().map(|value| value - 1.0).collect();
        let words = "the interval does not decide '>= 2'";
        let low: Vec<f64> = around.iter().map(|value| value * 2.0).collect();
        assert_eq!(reason(">= 2", &low), undecided(words), "not above 1 for sure");
        let inverse: Vec<f64> = wide.iter().map(|value| 1.0 / value).collect();
        let words = "below 1, as stated; the interval does not decide '< 0.5'";
        assert_eq!(reason("< 0.5", &inverse), undecided(words));
    }

    /// Recorded rounds, published figure, acceptance, and the verdict that belongs to them.
    #[test]
    fn every_verdict_comes_of_the_data_it_should() {
        let wide: Vec<f64> =
            (0..10).map(|i| if i % 2 == 0 { 0.5 } else { 2.0 + 0.01 * f64::from(i) }).collect();
        for (rounds, published, accept, expected) in [
            (near(2.6), Some(2.72), ">= 1.5", Verdict::Reproduced),
            (near(8.0), Some(2.72), ">= 1.5", Verdict::Direction),
            (near(1.6), None, "> 1", Verdict::Reproduced),
            (near(0.6), None, "> 1", Verdict::NotReproduced),
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
            assert_eq!(
                verdict(&rounds, published, accept, false),
                expected,
                "{rounds:?} {published:?} {accept}"
            );
        }
    }

    /// The estimate of these rounds is the published figure itself; how far they spread is what the verdict is about.
    #[test]
    fn a_size_is_reproduced_by_an_interval_and_not_by_its_middle() {
        let spread = |by: f64| -> Vec<f64> {
            (-4..=4).map(|i| 3.0 * (by * f64::from(i) / 4.0).exp()).collect()
        };
        assert_eq!(verdict(&spread(0.3), Some(3.0), "> 1", false), Verdict::Reproduced);
        assert_eq!(verdict(&spread(0.9), Some(3.0), "> 1", false), Verdict::Direction);
    }

    /// Within a factor of 1.5 of 1.294 is all from 0.86 on: a difference that has all but gone was the published one.
    #[test]
    fn near_1_a_size_is_as_far_from_1_as_published() {
        let judged = |rounds: &[f64], published| verdict(rounds, Some(published), "> 1", false);
        assert_eq!(judged(&near(1.20), 1.294), Verdict::Reproduced);
        for (centre, published, expected) in [
            (1.05, 1.294, Verdict::Direction),
            (1.40, 1.294, Verdict::Reproduced),
            (1.60, 1.294, Verdict::Direction),
            (2.0, 2.72, Verdict::Reproduced),
            (3.9, 2.72, Verdict::Reproduced),
            (1.9, 2.72, Verdict::Direction),
            // Far from 1 the factor of the ratio is the narrower one.
            (14.0, 19.0, Verdict::Reproduced),
            (9.0, 19.0, Verdict::Direction),
        ] {
            assert_eq!(judged(&near(centre), published), expected, "{centre} of {published}");
        }
        // As it was measured: 1.20 [1.13, 1.27].
        let wide: Vec<f64> = (-4..=4).map(|i| 1.2 * (0.08 * f64::from(i) / 4.0).exp()).collect();
        assert_eq!(judged(&wide, 1.294), Verdict::Direction);
        // The inverse of a ratio is judged as the ratio is.
        for centre in [1.05, 1.2, 1.4, 1.6, 1.9] {
            let inverse = verdict(&near(1.0 / centre), Some(1.0 / 1.294), "< 1", false);
            assert_eq!(inverse, judged(&near(centre), 1.294), "{centre}");
        }
        // Published as no difference.
        assert_eq!(verdict(&near(1.3), Some(1.02), "report", false), Verdict::Reproduced);
    }

    #[test]
    fn a_value_may_be_nought_or_negative() {
        let rounds: Vec<f64> = (0..9).map(|i| -3.0 + 0.1 * f64::from(i)).collect();
        assert_eq!(JudgedFigure::of(&rounds, true, 1).metric.method.as_deref(), Some("rounds"));
        let judged = |accept: &str, published| verdict(&rounds, published, accept, true);
        assert_eq!(judged("< 0", Some(-2.5)), Verdict::Reproduced);
        assert_eq!(judged("> 0", Some(2.5)), Verdict::NotReproduced);
        assert_eq!(judged("report", Some(-100.0)), Verdict::Direction);
        // It was taken for no difference, whatever its unit, and then not even its own sign was accepted.
        assert_eq!(judged("report", Some(-0.03)), Verdict::Direction);
    }

    /// Eight rounds, all on the wrong side: one test fails surely (2/2^8), one of ten cannot (10 times that).
    #[test]
    fn what_one_test_shows_one_of_many_does_not() {
        let rounds: Vec<f64> = (0..8).map(|i| 0.8 + 0.01 * f64::from(i)).collect();
        let of = |tests| {
            judge(&test("> 1", None), JudgedFigure::of(&rounds, false, tests), false, tests)
        };
        assert_eq!(of(1).result.verdict, Verdict::NotReproduced);
        assert_eq!(of(6).result.verdict, Verdict::NotReproduced);
        assert_eq!(of(10).result.verdict, Verdict::Inconclusive);
        assert!(of(10).reason.contains("one of 10 tests"), "{}", of(10).reason);
    }

    #[test]
    fn what_nobody_published_is_measured_and_not_judged() {
        let ours = Test { accept: None, ..test("> 1", None) };
        let judged = |rounds: &[f64]| judge(&ours, JudgedFigure::of(rounds, false, 1), false, 1);
        assert_eq!(judged(&near(2.0)).result.verdict, Verdict::Measured);
        assert_eq!(judged(&near(2.0)).result.accept, "");
        assert_eq!(judged(&[]).result.verdict, Verdict::Untestable);
    }

    #[test]
    fn a_self_check_must_hold_in_every_round() {
        let checked = |rounds: &[f64]| {
            check(&test("1 .. 1", None), rounds, JudgedFigure::of(rounds, true, 1).metric)
                .result
                .verdict
        };
        assert_eq!(checked(&[1.0; 3]), Verdict::Holds);
        assert_eq!(checked(&[1.0, 1.0, 0.0]), Verdict::Fails);
        assert_eq!(checked(&[]), Verdict::Untestable);
    }

    #[test]
    fn the_weakest_test_decides() {
        let judged = |verdict| Judged {
            result: test("> 1", None).result(Metric::default(), verdict, 1.0),
            reason: String::new(),
        };
        use Verdict::{
            Direction, Fails, Holds, Inconclusive, Measured, NotReproduced, Reproduced, Untestable,
        };
        for (all, verdict) in [
            (vec![Reproduced, Reproduced], Reproduced),
            (vec![Reproduced, Direction], Direction),
            (vec![Direction, Inconclusive], Inconclusive),
            (vec![Untestable, Inconclusive], Untestable),
            (vec![Untestable, NotReproduced, Reproduced], NotReproduced),
            (vec![Measured, Untestable], Untestable),
            (vec![Measured, Measured], Measured),
            (vec![Holds, Fails], Fails),
            (vec![], Untestable),
        ] {
            let tests: Vec<_> = all.iter().map(|verdict| judged(*verdict)).collect();
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

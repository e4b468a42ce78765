//! What the rounds of a study come to: its tables filled, its claims judged.

use crate::claims::accept::{ERROR, Judged, JudgedFigure, NO_ROUND, Test, check, judge, overall};
use crate::claims::expression::Expression;
use crate::claims::measured::{Measured, QUANTILES};
use crate::claims::study::{Claim, How, Statistic, Study, StudyRow, Table};
use crate::replication::{
    ClaimKind, ClaimResult, Published, RowResult, Scale, StudyResult, TableResult, Verdict,
};
use ipcperf_core::findings::MULTIMODAL;
use ipcperf_core::result::{Metric, Mode, Noise};
use ipcperf_stats::{
    Histogram, across_rounds, median_estimate, quantile_interval, student_t_quantile, support,
};
use std::collections::BTreeSet;

/// Rounds that a table of single runs shows where the original does not say how many it had.
const RUNS: usize = 3;

/// The method of a figure that counts rounds by what they answered.
const ANSWERS: &str = "answers";

/// Why a claim that something can happen is not decided where it did not.
const HAS_NOT_HAPPENED: &str = "one machine on which it did not happen does not refute it";

/// Why an expression has no value in any round.
struct Lack {
    reason: String,
    /// No larger scale fixes it.
    is_lasting: bool,
}

/// All arms of a study.
pub struct Findings<'a> {
    arms: &'a [Measured],
    rounds: u64,
    noise: Noise,
}

impl<'a> Findings<'a> {
    /// Arms after this many rounds, and how disturbed these were.
    pub fn new(arms: &'a [Measured], rounds: u64, noise: Noise) -> Self {
        Self { arms, rounds, noise }
    }

    fn arm(&self, id: &str) -> Option<&'a Measured> {
        self.arms.iter().find(|arm| arm.arm.id == id)
    }

    /// Values of an expression in every round that has all its readings.
    fn values(&self, expression: &Expression) -> Vec<f64> {
        self.values_where(expression, |_, _| true)
    }

    /// Values of an expression in the rounds that speak for all its arms; where there are none, in all.
    fn speaking(&self, expression: &Expression) -> Vec<f64> {
        let values = self.values_where(expression, Measured::speaks);
        if values.is_empty() { self.values(expression) } else { values }
    }

    fn values_where(
        &self,
        expression: &Expression,
        counts: impl Fn(&Measured, u64) -> bool,
    ) -> Vec<f64> {
        let value = |round| {
            expression.value(&mut |metric, id| {
                let arm = self.arm(id).filter(|arm| counts(arm, round));
                arm.and_then(|arm| arm.reading(metric, round)).ok_or(())
            })
        };
        (0..self.rounds).filter_map(|round| value(round).ok()).collect()
    }

    /// Why an expression has no value in any round: first what no scale fixes, then samples that are too few.
    fn lack(&self, expression: &Expression) -> Option<Lack> {
        let (mut lasting, mut few) = (BTreeSet::new(), BTreeSet::new());
        for (metric, id) in expression.readings() {
            let Some(arm) = self.arm(id) else { continue };
            let alone = QUANTILES.iter().find(|(name, _)| *name == metric);
            let most = arm.histograms.iter().map(Histogram::count).max().unwrap_or(0);
            if let Some(reason) = arm.reason() {
                lasting.insert(format!("{}: {reason}", arm.arm.label));
            } else if let Some(needed) = alone
                .filter(|_| {
                    most > 0 && arm.rounds.iter().all(|one| !one.values.contains_key(metric))
                })
                .and_then(|(_, q)| support(most, *q).err())
            {
                let name = metric.trim_end_matches("_ns");
                few.insert(format!(
                    "{}: {name} in every round needs {} samples, a round has {most}",
                    arm.arm.label, needed.samples
                ));
            } else if !arm.rounds.iter().any(|round| round.values.contains_key(metric)) {
                let why = arm.note(metric).unwrap_or_else(|| format!("no reading {metric}"));
                lasting.insert(format!("{}: {why}", arm.arm.label));
            }
        }
        let is_lasting = !lasting.is_empty();
        let reasons: Vec<String> = lasting.into_iter().chain(few).collect();
        (!reasons.is_empty()).then(|| Lack { reason: reasons.join("; "), is_lasting })
    }

    /// Of a reading that answers a question, how many rounds gave which answer: a share does not say of how many.
    fn answers(&self, expression: &Expression, values: &[f64]) -> Option<Vec<Mode>> {
        let Expression::Reading { metric, arm } = expression else { return None };
        self.arm(arm).filter(|arm| arm.is_answer(metric))?;
        let yes = values.iter().filter(|value| **value > 0.5).count() as u64;
        let modes = [(0.0, values.len() as u64 - yes), (1.0, yes)].into_iter();
        let given = modes.filter(|(_, rounds)| *rounds > 0);
        Some(given.map(|(value, rounds)| Mode { value, rounds }).collect())
    }

    /// The study as the document has it, after `duration_s` seconds.
    pub fn result(
        &self,
        study: &Study,
        scale: Scale,
        duration_s: f64,
        interrupted: bool,
    ) -> StudyResult {
        let head = study.head.clone();
        StudyResult {
            name: head.name,
            title: head.title,
            url: head.url,
            date: head.date,
            machine: head.machine,
            summary: head.summary,
            statistic: head.statistic,
            notes: head.notes,
            scale,
            rounds: self.rounds,
            cuts: Vec::new(),
            duration_s,
            noise: Some(self.noise.clone()),
            tables: self.tables(study),
            claims: self.claims(study),
            arms: self.arms.iter().map(|arm| arm.result(interrupted)).collect(),
            errata: study.errata.clone(),
        }
    }

    /// All tables of a study.
    pub(crate) fn tables(&self, study: &Study) -> Vec<TableResult> {
        let tested = tested(study);
        study.tables.iter().map(|table| self.table(table, &tested)).collect()
    }

    fn table(&self, table: &Table, tested: &Tested<'_>) -> TableResult {
        let mut rows = Vec::new();
        for row in &table.rows {
            let mut of_row = match table.statistic {
                Statistic::Runs => self.runs(table, row),
                statistic => vec![self.row(statistic, row)],
            };
            for one in &mut of_row {
                one.claims = claims_on(row, tested);
            }
            rows.append(&mut of_row);
        }
        TableResult {
            title: table.title.clone(),
            unit: table.unit.clone(),
            statistic: table.statistic.name().into(),
            columns: table.columns.clone(),
            rows,
            plot: table.plot.clone(),
        }
    }

    fn row(&self, statistic: Statistic, row: &StudyRow) -> RowResult {
        let figure = |cell: &Option<Expression>| match cell {
            None => Metric::missing("not measured"),
            Some(expression) => self.figure(statistic, expression),
        };
        RowResult {
            label: row.label.clone(),
            published: row.published.clone(),
            measured: row.cells.iter().map(figure).collect(),
            claims: Vec::new(),
        }
    }

    fn figure(&self, statistic: Statistic, expression: &Expression) -> Metric {
        if statistic == Statistic::Merged {
            return self.merged(expression);
        }
        if let Some(lack) = self.lack(expression) {
            return Metric::missing(lack.reason);
        }
        // An extreme is that of all rounds.
        let values = match statistic {
            Statistic::Least => self.values(expression),
            _ => self.speaking(expression),
        };
        let Some(estimate) = median_estimate(&values) else {
            return Metric::missing(NO_ROUND);
        };
        let interval = estimate.ci95.map(|interval| [interval.low, interval.high]);
        let (value, ci95) = match statistic {
            Statistic::Mean => mean(&values),
            Statistic::Least => (values.iter().copied().fold(f64::INFINITY, f64::min), None),
            Statistic::Median | Statistic::Merged | Statistic::Runs => (estimate.value, interval),
        };
        // Counts stand in place of an interval: that of Student's t is none of yes and no.
        if let Some(modes) = self.answers(expression, &values) {
            let method = Some(ANSWERS.into());
            return Metric { value: Some(value), method, modes, ..Metric::default() };
        }
        Metric {
            value: Some(value),
            ci95,
            method: Some(statistic.name().into()),
            modes: self.two_modes(expression),
            ..Metric::default()
        }
    }

    /// The two modes of a reading whose rounds fall into two, the smaller first: a table shows the primary one.
    fn two_modes(&self, expression: &Expression) -> Vec<Mode> {
        if !matches!(expression, Expression::Reading { .. }) {
            return Vec::new();
        }
        let mode = |speaks: bool| {
            let values = self.values_where(expression, |arm, round| arm.speaks(round) == speaks);
            let rounds = values.len() as u64;
            median_estimate(&values).map(|estimate| Mode { value: estimate.value, rounds })
        };
        let mut modes: Vec<Mode> =
            mode(true).zip(mode(false)).into_iter().flat_map(<[_; 2]>::from).collect();
        modes.sort_by(|a, b| a.value.total_cmp(&b.value));
        modes
    }

    /// Quantiles of all rounds together; of anything else the median over rounds.
    fn merged(&self, expression: &Expression) -> Metric {
        let mut short = None;
        let value = expression.value(&mut |metric, id| {
            let arm = self.arm(id).filter(|arm| arm.reason().is_none()).ok_or(())?;
            let all = arm.operations();
            let count: u64 = all.iter().map(|one| one.count()).sum();
            let quantile = QUANTILES.iter().find(|(name, _)| *name == metric);
            match quantile.filter(|_| count > 0) {
                Some((_, q)) => {
                    if let Err(needed) = support(count, *q) {
                        short = Some(format!("needs {} samples, has {count}", needed.samples));
                        return Err(());
                    }
                    across_rounds(&all, *q).map(|estimate| estimate.value / 1e3).ok_or(())
                }
                None => {
                    let speaking = (0..self.rounds).filter(|round| arm.speaks(*round));
                    let values: Vec<f64> =
                        speaking.filter_map(|round| arm.reading(metric, round)).collect();
                    median_estimate(&values).map(|estimate| estimate.value).ok_or(())
                }
            }
        });
        match value {
            Ok(value) => Metric {
                value: Some(value),
                ci95: merged_range(expression, 0.05, |id| Some(self.arm(id)?.operations())),
                method: Some("merged".into()),
                modes: self.two_modes(expression),
                ..Metric::default()
            },
            Err(()) => Metric::missing(
                short
                    .or_else(|| self.lack(expression).map(|lack| lack.reason))
                    .unwrap_or_else(|| "no samples".into()),
            ),
        }
    }

    /// An expression over quantiles of all rounds together, which support more than each round by itself. The error of its
    /// interval is divided by the number of tests, as in [`JudgedFigure::of`].
    ///
    /// The error says which quantile has too few samples, if that is why there is none.
    fn pooled(
        &self,
        expression: &Expression,
        tests: usize,
    ) -> Result<JudgedFigure, Option<String>> {
        let of = |metric: &str, id: &str| {
            let quantile = QUANTILES.iter().find(|(name, _)| *name == metric);
            let arm = self.arm(id).filter(|arm| arm.reason().is_none());
            let (arm, (_, q)) = arm.zip(quantile)?;
            let all = arm.all_operations();
            (!all.is_empty()).then_some((arm, all, *q))
        };
        let mut short = None;
        let value = expression.value(&mut |metric, id| {
            let (arm, all, q) = of(metric, id).ok_or(())?;
            let samples: u64 = all.iter().map(|one| one.count()).sum();
            if let Err(needed) = support(samples, q) {
                let (label, name) = (&arm.arm.label, metric.trim_end_matches("_ns"));
                let needed = needed.samples;
                short = Some(format!(
                    "{label}: {name} needs {needed} samples, all rounds together have {samples}"
                ));
                return Err(());
            }
            across_rounds(&all, q).map(|estimate| estimate.value / 1e3).ok_or(())
        });
        let Ok(value) = value else { return Err(short) };
        let operations = |id: &str| Some(self.arm(id)?.all_operations());
        let interval = |error: f64| merged_range(expression, error, operations);
        let ci95 = interval(0.05);
        let metric = Metric {
            value: Some(value),
            ci95,
            reason: ci95.is_none().then(|| "an interval needs 8 rounds".to_owned()),
            method: Some("merged".into()),
            modes: Vec::new(),
        };
        Ok(JudgedFigure { metric, joint: interval(ERROR / tests.max(1) as f64) })
    }

    /// A row for each of the first runs, as an original that printed raw values has them.
    fn runs(&self, table: &Table, row: &StudyRow) -> Vec<RowResult> {
        let width = table.columns.len().max(1);
        let published = row.published.chunks(width).map(<[Published]>::to_vec);
        let mut published: Vec<_> = published.collect();
        published.resize(published.len().max(RUNS), Vec::new());
        let run = |(at, mut published): (usize, Vec<Published>)| {
            published.resize(width, Published::Nothing);
            let measured = row.cells.iter().map(|cell| {
                let Some(expression) = cell else { return Metric::missing("not measured") };
                if let Some(lack) = self.lack(expression) {
                    return Metric::missing(lack.reason);
                }
                match self.values(expression).get(at) {
                    Some(value) => {
                        let method = Some("runs".into());
                        Metric { value: Some(*value), method, ..Metric::default() }
                    }
                    None => Metric::missing("no such run"),
                }
            });
            let label = format!("{}, run {}", row.label, at + 1);
            RowResult { label, published, measured: measured.collect(), claims: Vec::new() }
        };
        published.into_iter().enumerate().map(run).collect()
    }

    /// All claims of a study.
    pub(crate) fn claims(&self, study: &Study) -> Vec<ClaimResult> {
        study.claims.iter().map(|claim| self.claim(claim)).collect()
    }

    fn claim(&self, claim: &Claim) -> ClaimResult {
        let result = |verdict, reason, measured, tests| ClaimResult {
            id: claim.id.clone(),
            kind: claim.kind,
            text: claim.text.clone(),
            published: claim.published.clone(),
            measured,
            verdict,
            reason,
            tests,
            note: claim.note.clone(),
            artefact: claim.artefact.clone(),
            why: None,
        };
        let (tests, is_value) = match &claim.how {
            How::Untestable(reason) => {
                return result(Verdict::Untestable, reason.clone(), None, Vec::new());
            }
            How::Tests { tests, is_value } => (tests, *is_value),
        };
        let judge_one = |test: &Test| {
            let lack = self.lack(&test.expression);
            let is_lasting = lack.as_ref().is_some_and(|lack| lack.is_lasting);
            let (values, figure) = match lack {
                // All rounds together do not have it either.
                Some(lack) if is_lasting => (Vec::new(), JudgedFigure::missing(lack.reason)),
                Some(lack) => {
                    let pooled = self.pooled(&test.expression, tests.len());
                    let missing = |short: Option<String>| short.unwrap_or(lack.reason);
                    (
                        Vec::new(),
                        pooled.unwrap_or_else(|short| JudgedFigure::missing(missing(short))),
                    )
                }
                None => {
                    let values = self.values(&test.expression);
                    let mut figure = JudgedFigure::of(&values, is_value, tests.len());
                    if let Some(modes) = self.answers(&test.expression, &values) {
                        (figure.metric.method, figure.metric.modes) = (Some(ANSWERS.into()), modes);
                    }
                    (values, figure)
                }
            };
            let judged = match claim.kind {
                ClaimKind::Check => check(test, &values, figure.metric),
                _ => judge(test, figure, is_value, tests.len()),
            };
            (judged, is_lasting)
        };
        let (mut judged, lasting): (Vec<Judged>, Vec<bool>) = tests.iter().map(judge_one).unzip();
        if let (true, Some(cause)) = (claim.kind.is_published(), self.too_noisy()) {
            let of_tests = judged.iter_mut().zip(tests);
            let noisy = of_tests.filter(|(judged, test)| {
                judged.result.measured.value.is_some() && !self.is_certain(&test.expression)
            });
            for (test, _) in noisy {
                test.result.verdict = Verdict::Inconclusive;
                test.reason.clone_from(&cause);
            }
        }
        if claim.can {
            for test in judged.iter_mut().filter(|one| one.result.verdict == Verdict::NotReproduced)
            {
                test.result.verdict = Verdict::Inconclusive;
                test.reason = HAS_NOT_HAPPENED.to_owned();
            }
        }
        let verdict = overall(&judged);
        let decides = |test: &Judged| test.result.verdict == verdict;
        let lasts = judged.iter().zip(&lasting).position(|(test, lasts)| *lasts && decides(test));
        let deciding = lasts.or_else(|| judged.iter().position(decides));
        let mut reason = deciding.map_or_else(String::new, |at| explain(&judged, at));
        if let Some(modes) = self.modes(claim) {
            reason += &format!("; in two modes: {modes}");
        }
        let measured = deciding.and_then(|at| judged.get(at)).map(|one| &one.result.measured);
        let measured = measured.filter(|metric| metric.value.is_some()).cloned();
        let tests = judged.into_iter().map(|test| test.result).collect();
        let why = deciding.and_then(|at| claim.why.get(at)).filter(|why| !why.is_empty()).cloned();
        ClaimResult { why, ..result(verdict, reason, measured, tests) }
    }

    /// No noise changes any of its readings.
    fn is_certain(&self, expression: &Expression) -> bool {
        let is_certain = |(metric, id)| self.arm(id).is_some_and(|arm| arm.is_certain(metric));
        expression.readings().into_iter().all(is_certain)
    }

    /// Why no claim can be judged: the machine was too disturbed.
    fn too_noisy(&self) -> Option<String> {
        (self.noise.grade == "F")
            .then(|| format!("noise grade F supports no verdict: {}", self.noise.causes.join("; ")))
    }

    /// The arms of a claim whose rounds fall into two modes.
    fn modes(&self, claim: &Claim) -> Option<String> {
        let split = self.noise.findings.iter().filter(|one| MULTIMODAL.is_of(one));
        let split: BTreeSet<&str> =
            split.flat_map(|finding| &finding.cells).map(String::as_str).collect();
        let arms = claim.readings().map(|(_, arm)| arm);
        let arms: BTreeSet<&str> = arms.filter(|arm| split.contains(arm)).collect();
        (!arms.is_empty()).then(|| Vec::from_iter(arms).join(", "))
    }
}

/// Where an expression over quantiles of all rounds together lies but for this error. It runs over the intervals of the
/// quantiles, each so sure that all of them hold together: the error is divided by their number (Bonferroni). Unlike the
/// interval of a ratio within rounds it gains nothing from what slowed a whole round down. `None` where something else is
/// read than quantiles.
fn merged_range<'a>(
    expression: &Expression,
    error: f64,
    operations: impl Fn(&str) -> Option<Vec<&'a Histogram>>,
) -> Option<[f64; 2]> {
    let confidence = 1.0 - error / expression.readings().len().max(1) as f64;
    expression.range(&mut |metric, id| {
        let (_, q) = QUANTILES.iter().find(|(name, _)| *name == metric)?;
        let interval = quantile_interval(&operations(id)?, *q, confidence)?;
        Some([interval.low / 1e3, interval.high / 1e3])
    })
}

/// The arithmetic mean, with the interval of Student's t where a median would have one, too.
fn mean(values: &[f64]) -> (f64, Option<[f64; 2]>) {
    let count = values.len() as f64;
    let mean = values.iter().sum::<f64>() / count;
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    let of_mean = (squares / (count - 1.0) / count).sqrt();
    let quantile = student_t_quantile(0.975, values.len().saturating_sub(1));
    let half = quantile.filter(|_| values.len() >= 6).map(|quantile| quantile * of_mean);
    (mean, half.map(|half| [mean - half, mean + half]))
}

/// The readings that each claim is tested on.
type Tested<'a> = Vec<(&'a str, BTreeSet<(&'a str, &'a str)>)>;

fn tested(study: &Study) -> Tested<'_> {
    study.claims.iter().map(|claim| (claim.id.as_str(), claim.readings().collect())).collect()
}

/// The claims that are tested on a reading of this row.
fn claims_on(row: &StudyRow, tested: &Tested<'_>) -> Vec<String> {
    let shown: BTreeSet<_> = row.cells.iter().flatten().flat_map(Expression::readings).collect();
    let on = tested.iter().filter(|(_, readings)| !readings.is_disjoint(&shown));
    on.map(|(id, _)| (*id).to_owned()).collect()
}

/// Why the test that decided came out as it did.
fn explain(tests: &[Judged], at: usize) -> String {
    let Some(Judged { result, reason }) = tests.get(at) else { return String::new() };
    // Where all came out alike, none of them decided.
    let alike = tests.iter().all(|other| other.result.verdict == result.verdict);
    if alike {
        return reason.clone();
    }
    let text = if result.label.is_empty() { &result.test } else { &result.label };
    format!("{text}: {reason}")
}

#[cfg(test)]
mod tests {
    use super::mean;

    /// Seven values of mean 4 and variance 14/3; t of 6 degrees of freedom at 0.975 is 2.4469.
    #[test]
    fn a_mean_has_the_interval_of_students_t_and_of_few_rounds_none() {
        let (value, interval) = mean(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0]);
        let [low, high] = interval.expect("enough rounds");
        let half = 2.446_912 * (28.0_f64 / 6.0 / 7.0).sqrt();
        assert!((value - 4.0).abs() < 1e-12);
        assert!(
            (low - (4.0 - half)).abs() < 1e-4 && (high - (4.0 + half)).abs() < 1e-4,
            "{low} {high}"
        );
        assert_eq!(mean(&[1.0, 2.0, 3.0, 4.0, 5.0]), (3.0, None));
    }
}

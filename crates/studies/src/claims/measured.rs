//! What the rounds of an arm have found, as named numbers and, for single operations, their distribution.

use crate::claims::study::Arm;
use crate::replication::{ArmResult, ArmRound};
use ipcperf_core::findings;
use ipcperf_core::result::{Finding, Status};
use ipcperf_core::units::format_nanos;
use ipcperf_stats::modes::{Split, split};
use ipcperf_stats::{Histogram, support};
use std::collections::{BTreeMap, BTreeSet};

/// What one turn found out.
#[derive(Clone, Debug, Default)]
pub struct Readings {
    /// By name: `p50_ns`, `cpu_s`, `bits_per_second`.
    pub values: BTreeMap<String, f64>,
    /// Which of the values answer a question: 1 is yes, 0 is no.
    pub answers: BTreeSet<String>,
    /// Which of them no noise changes: answers, counts and sizes.
    pub certain: BTreeSet<String>,
    /// Single operations, picoseconds.
    pub histogram: Option<Histogram>,
    /// What a reader must know, once for the arm: "SO_SNDBUF 212992, max_dgram_qlen 10".
    pub facts: BTreeMap<String, String>,
}

/// Quantiles by the names of their readings.
pub(crate) const QUANTILES: &[(&str, f64)] = &[
    ("p50_ns", 0.5),
    ("p75_ns", 0.75),
    ("p90_ns", 0.9),
    ("p99_ns", 0.99),
    ("p99.9_ns", 0.999),
    ("p99.99_ns", 0.9999),
    ("p99.999_ns", 0.99999),
];

impl Readings {
    /// Adds what single operations say, in picoseconds: least, mean, and the quantiles that this round supports by
    /// itself.
    pub fn singles(&mut self, histogram: Histogram) {
        for (name, q) in QUANTILES {
            if support(histogram.count(), *q).is_ok()
                && let Some(picos) = histogram.quantile(*q)
            {
                self.set(*name, picos as f64 / 1e3);
            }
        }
        self.set("least_ns", histogram.min().unwrap_or(0) as f64 / 1e3);
        let mean = histogram.sum() as f64 / histogram.count().max(1) as f64;
        self.set("mean_ns", mean / 1e3);
        self.histogram = Some(histogram);
    }

    /// Adds a number.
    pub fn set(&mut self, name: impl Into<String>, value: f64) {
        self.values.insert(name.into(), value);
    }

    /// Adds a number that no noise changes.
    pub fn set_certain(&mut self, name: impl Into<String>, value: f64) {
        let name = name.into();
        self.certain.insert(name.clone());
        self.set(name, value);
    }

    /// Adds the answer to a question: what is shown of it is in how many rounds it was yes.
    pub fn answer(&mut self, name: &str, is_yes: bool) {
        self.set_certain(name, f64::from(u8::from(is_yes)));
        self.answers.insert(name.to_owned());
    }
}

/// An arm and what it has found so far.
#[derive(Clone, Debug)]
pub struct Measured {
    /// The arm.
    pub arm: Arm,
    /// Why there is no more.
    pub ended: Option<(Status, String)>,
    pub(crate) rounds: Vec<ArmRound>,
    /// Single operations, picoseconds, one for each of the rounds.
    pub(crate) histograms: Vec<Histogram>,
    /// Readings that answer a question.
    answers: BTreeSet<String>,
    /// Readings that no noise changes.
    certain: BTreeSet<String>,
    /// Rounds of a mode that does not speak for the arm.
    other_mode: BTreeSet<u64>,
    facts: BTreeMap<String, String>,
}

fn left_out(round: u64) -> String {
    format!("round {round} does not count")
}

fn measured_twice(round: u64) -> String {
    format!("round {round} was measured twice")
}

impl Measured {
    /// An arm that has not been measured yet.
    pub fn new(arm: &Arm) -> Self {
        Self {
            arm: arm.clone(),
            ended: None,
            rounds: Vec::new(),
            histograms: Vec::new(),
            answers: BTreeSet::new(),
            certain: BTreeSet::new(),
            other_mode: BTreeSet::new(),
            facts: BTreeMap::new(),
        }
    }

    /// Adds what a round found.
    pub fn keep(&mut self, round: u64, order: u64, readings: Readings) {
        let Readings { values, answers, certain, histogram, facts } = readings;
        let values = values.into_iter().filter(|(_, value)| value.is_finite()).collect();
        if let Some(reason) = self.facts.remove(&left_out(round)) {
            self.facts.insert(measured_twice(round), reason);
        }
        self.rounds.push(ArmRound { round, order, values });
        self.histograms.push(histogram.unwrap_or_default());
        self.answers.extend(answers);
        self.certain.extend(certain);
        self.facts.extend(facts);
    }

    /// Notes why a slice does not count. Its round does not either, unless another slice of it does.
    pub fn reject(&mut self, round: u64, reason: String) {
        let is_kept = self.rounds.iter().any(|kept| kept.round == round);
        self.facts.insert(if is_kept { measured_twice(round) } else { left_out(round) }, reason);
    }

    /// Notes which rounds fall into a mode that does not speak for the arm: tables leave them out, so that no figure is a
    /// mixture. Claims do not: an interval over all rounds covers both modes.
    pub fn set_aside(&mut self, rounds: BTreeSet<u64>) {
        if !rounds.is_empty() {
            let list: Vec<String> = rounds.iter().map(ToString::to_string).collect();
            self.facts.insert("rounds in the other mode".into(), list.join(", "));
        }
        self.other_mode = rounds;
    }

    /// Divides the rounds of programs by how long they took, if they fall into two modes, and sets the smaller one aside; the slower
    /// one speaks where both have as many rounds. What was found is for the reader.
    pub fn divide(&mut self) -> Option<Finding> {
        let timed = |one: &ArmRound| Some((one.round, *one.values.get("wall_s")?));
        let (rounds, times): (Vec<u64>, Vec<f64>) = self.rounds.iter().filter_map(timed).unzip();
        let Split { low, high } = split(&times)?;
        let other = if low.rounds.len() > high.rounds.len() { &high } else { &low };
        self.set_aside(other.rounds.iter().filter_map(|at| rounds.get(*at).copied()).collect());
        let [fast, slow] = [&low, &high]
            .map(|mode| format!("{} near {}", mode.rounds.len(), format_nanos(mode.median * 1e9)));
        let text = format!(" ({fast}, {slow})");
        let ratio = high.median / low.median;
        let finding = findings::MULTIMODAL.measured(ratio, &[&self.arm.id, &text]);
        Some(Finding { cells: vec![self.arm.id.clone()], ..finding })
    }

    /// Whether a round may stand for the arm.
    pub(crate) fn speaks(&self, round: u64) -> bool {
        !self.other_mode.contains(&round)
    }

    /// Single operations of the rounds that speak for it.
    pub(crate) fn operations(&self) -> Vec<&Histogram> {
        let rounds = self.rounds.iter().zip(&self.histograms);
        rounds
            .filter(|(round, all)| self.speaks(round.round) && all.count() > 0)
            .map(|(_, all)| all)
            .collect()
    }

    /// Single operations of all rounds.
    pub(crate) fn all_operations(&self) -> Vec<&Histogram> {
        self.histograms.iter().filter(|all| all.count() > 0).collect()
    }

    /// Why it has no figures.
    pub fn reason(&self) -> Option<String> {
        match &self.ended {
            Some((_, reason)) => Some(reason.clone()),
            None if self.rounds.is_empty() => Some(
                self.facts.values().next().cloned().unwrap_or_else(|| "not measured".to_owned()),
            ),
            None => None,
        }
    }

    /// Why the arm does not have a reading, where it says so.
    pub(crate) fn note(&self, metric: &str) -> Option<String> {
        let family = metric.split('.').next().unwrap_or(metric);
        self.facts.get(family).cloned()
    }

    /// Whether a reading is 1 for yes and 0 for no.
    pub(crate) fn is_answer(&self, metric: &str) -> bool {
        self.answers.contains(metric)
    }

    /// Whether no noise changes a reading.
    pub(crate) fn is_certain(&self, metric: &str) -> bool {
        self.certain.contains(metric)
    }

    /// A reading of the last round.
    pub fn last(&self, metric: &str) -> Option<f64> {
        self.rounds.last()?.values.get(metric).copied()
    }

    /// A reading of one round.
    pub(crate) fn reading(&self, metric: &str, round: u64) -> Option<f64> {
        let at = self.rounds.iter().find(|one| one.round == round)?;
        at.values.get(metric).copied()
    }

    /// The arm as the document has it.
    pub(crate) fn result(&self, interrupted: bool) -> ArmResult {
        let (status, reason) = match (&self.ended, self.rounds.is_empty()) {
            (Some((status, reason)), _) => (*status, Some(reason.clone())),
            (None, false) => (Status::Ok, None),
            (None, true) if interrupted => {
                (Status::Skipped, Some("interrupted before its turn".into()))
            }
            (None, true) => (Status::Rejected, self.reason()),
        };
        ArmResult {
            id: self.arm.id.clone(),
            label: self.arm.label.clone(),
            work: self.arm.work.clone(),
            status,
            reason,
            rounds: self.rounds.clone(),
            facts: self.facts.clone(),
        }
    }
}

//! One comparison side by side after the other, as a user would ask for them.

use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use ipcperf_stats::{median, student_t_quantile};
use serde_json::Value;

use super::binomial::fewest;
use super::options::Options;

/// What one comparison of two cells has found.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Found {
    pub(super) verdict: String,
    pub(super) reason: String,
    pub(super) ratio: f64,
    /// The 95 % interval of the ratio.
    pub(super) interval: [f64; 2],
    /// Median of A, ns.
    pub(super) a_ns: f64,
    /// Of the log-ratios of single rounds: of the pilot, and of the rounds that count.
    pub(super) spreads: [f64; 2],
    pub(super) rounds: u64,
    /// The smallest difference that the plan promised to find: 0.05 is 5 %.
    pub(super) smallest_effect: f64,
    /// How long the rounds were to take, and how long they took, s.
    pub(super) planned_s: f64,
    pub(super) taken_s: f64,
}

impl Found {
    fn read(document: &Value) -> Result<Self> {
        let (one, plan) = (&document["comparisons"][0], &document["plan"]);
        let number = |value: &Value, what: &str| {
            value.as_f64().with_context(|| format!("no {what}: {}", one["reason"]))
        };
        let end = |at: usize| number(&one["ratio"]["ci95"][at], "interval");
        Ok(Self {
            verdict: one["verdict"].as_str().unwrap_or_default().to_owned(),
            reason: one["reason"].as_str().unwrap_or_default().to_owned(),
            ratio: number(&one["ratio"]["value"], "ratio")?,
            interval: [end(0)?, end(1)?],
            a_ns: number(&one["a_value"], "figure of A")?,
            spreads: [number(&plan["spread"], "spread")?, number(&one["spread"], "spread")?],
            rounds: plan["rounds"].as_u64().unwrap_or_default(),
            smallest_effect: plan["smallest_effect"].as_f64().unwrap_or(f64::INFINITY),
            planned_s: number(&plan["expected_s"], "plan")?,
            taken_s: number(&plan["duration_s"], "duration")?,
        })
    }

    pub(super) fn is_claim(&self) -> bool {
        ["SLOWER", "FASTER"].contains(&self.verdict.as_str())
    }

    pub(super) fn holds(&self, ratio: f64) -> bool {
        self.interval[0] <= ratio && ratio <= self.interval[1]
    }

    /// Half of the interval, in logarithms.
    pub(super) fn half_width(&self) -> f64 {
        (self.interval[1] / self.interval[0]).ln() / 2.0
    }

    /// What the plan let expect of it: t₀.₉₇₅ s/√(0.955 R) with the spread of the pilot.
    fn planned_half_width(&self) -> Option<f64> {
        let freedom = usize::try_from(self.rounds).ok()?.checked_sub(1)?;
        let t = student_t_quantile(0.975, freedom)?;
        Some(t * self.spreads[0] / (0.955 * self.rounds as f64).sqrt())
    }
}

/// The comparisons of a trial.
pub(super) struct Trials {
    pub(super) found: Vec<Found>,
    /// Those that ended without a figure, and what the first of them said.
    failed: u64,
    complaint: Option<String>,
    took: Duration,
}

impl Trials {
    /// Compares these two cells again and again.
    pub(super) fn carry_out(
        binary: &Path,
        cells: [&str; 2],
        options: &Options,
        count: u64,
    ) -> Result<Self> {
        let began = Instant::now();
        let limit = options.minutes.map(|minutes| Duration::from_secs_f64(60.0 * minutes.max(0.0)));
        let mut all = Self { found: Vec::new(), failed: 0, complaint: None, took: began.elapsed() };
        let mut longest = Duration::ZERO;
        for at in 0..count {
            if limit.is_some_and(|limit| began.elapsed() + longest > limit) {
                break;
            }
            let from = Instant::now();
            let mut command = Command::new(binary);
            command.args(["compare", "--live"]).args(cells).args(["-q", "--format", "json"]);
            // The pilot of a comparison has the seed after that of its rounds.
            command.arg(format!("--seed={}", options.seed.wrapping_add(2 * at)));
            command.args(options.seconds.map(|seconds| format!("--time={seconds}s")));
            let output = command.output().with_context(|| binary.display().to_string())?;
            let document: Result<Value> = serde_json::from_slice(&output.stdout)
                .with_context(|| String::from_utf8_lossy(&output.stderr).trim().to_owned());
            match document.and_then(|document| Found::read(&document)) {
                Ok(found) => {
                    eprintln!(
                        "{} of {count}: {:13} {:.4}x [{:.4}, {:.4}], spread {:.1} %, {} rounds, {:.1} s (planned {:.1} s) {}",
                        at + 1,
                        found.verdict,
                        found.ratio,
                        found.interval[0],
                        found.interval[1],
                        found.spreads[1] * 100.0,
                        found.rounds,
                        found.taken_s,
                        found.planned_s,
                        found.reason,
                    );
                    all.found.push(found);
                }
                Err(error) => {
                    eprintln!("{} of {count}: {error:#}", at + 1);
                    all.failed += 1;
                    all.complaint.get_or_insert_with(|| format!("{error:#}"));
                }
            }
            longest = longest.max(from.elapsed());
        }
        all.took = began.elapsed();
        ensure!(
            !all.found.is_empty(),
            "no comparison has a figure: {}",
            all.complaint.as_deref().unwrap_or("there was no time for one")
        );
        Ok(all)
    }

    pub(super) fn len(&self) -> u64 {
        self.found.len() as u64
    }

    pub(super) fn count(&self, is_so: impl Fn(&Found) -> bool) -> u64 {
        self.found.iter().filter(|one| is_so(one)).count() as u64
    }

    pub(super) fn verdicts(&self, verdict: &str) -> u64 {
        self.count(|one| one.verdict == verdict)
    }

    pub(super) fn median(&self, of: impl Fn(&Found) -> f64) -> f64 {
        let values: Vec<f64> = self.found.iter().map(of).collect();
        median(&values).unwrap_or(f64::NAN)
    }

    /// Whether what was planned came true, in lines; and whether it did as often as asked for.
    pub(super) fn plans(&self) -> (String, bool) {
        let n = self.len();
        let in_time = self.count(|one| (0.75..=1.25).contains(&(one.taken_s / one.planned_s)));
        let narrow = self.count(|one| {
            let factor = one.planned_half_width().map(|planned| one.half_width() / planned);
            factor.is_some_and(|factor| (1.0 / 1.5..=1.5).contains(&factor))
        });
        let fewest = fewest(n, 0.9);
        let slowest = self.found.iter().map(|one| one.taken_s).fold(0.0, f64::max);
        let mut text = format!(
            "- {n} comparisons in {:.1} min; {:.0} rounds and {:.1} s each (medians), {slowest:.1} s at most; {} within 15 s\n\
             - paired spread of a round: {:.2} % (median), {:.2} % in the pilots\n\
             - half of the 95 % interval: {:.2} % (median)\n\
             - time within 25 % of the plan: {in_time} of {n} (90 of 100 are asked for; fewer than {fewest} of {n} are not \
             chance); half of the interval within a factor of 1.5: {narrow} of {n}\n",
            self.took.as_secs_f64() / 60.0,
            self.median(|one| one.rounds as f64),
            self.median(|one| one.taken_s),
            self.count(|one| one.taken_s <= 15.0),
            self.median(|one| one.spreads[1]) * 100.0,
            self.median(|one| one.spreads[0]) * 100.0,
            self.median(Found::half_width) * 100.0,
        );
        if let Some(complaint) = &self.complaint {
            text.push_str(&format!("- {} more without a figure: {complaint}\n", self.failed));
        }
        (text, in_time >= fewest && self.failed == 0)
    }

    /// Why nothing could be told, with how often.
    pub(super) fn doubts(&self) -> String {
        let count = |words: &str| self.count(|one| one.reason.starts_with(words));
        format!(
            "{} (the control failed in {}, noise grade F in {})",
            self.verdicts("CAN'T TELL"),
            count("the control failed"),
            count("this run has the noise grade F"),
        )
    }
}

/// Samples for tests.
#[cfg(test)]
impl Trials {
    /// So many comparisons of each kind.
    pub(super) fn of(kinds: &[(usize, Found)]) -> Self {
        let found = kinds.iter().flat_map(|(count, one)| vec![one.clone(); *count]).collect();
        Self { found, failed: 0, complaint: None, took: Duration::ZERO }
    }
}

#[cfg(test)]
impl Found {
    /// A comparison of 25 rounds whose pilot had a spread of 5 %, and whose interval is as wide as that lets expect.
    pub(super) fn sample(verdict: &str, ratio: f64) -> Self {
        Self {
            verdict: verdict.to_owned(),
            ratio,
            interval: [ratio / 1.02, ratio * 1.02],
            a_ns: 10_000.0,
            spreads: [0.05, 0.05],
            rounds: 25,
            smallest_effect: 0.05,
            planned_s: 10.0,
            taken_s: 11.0,
            ..Self::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_a_comparison_says_is_read_and_what_it_lacks_is_named() {
        let mut document = json!({
            "plan": {"spread": 0.02, "rounds": 20, "expected_s": 8.0, "duration_s": 9.0,
                "smallest_effect": 0.03},
            "comparisons": [{"verdict": "SLOWER", "reason": "", "spread": 0.03, "a_value": 5000.0,
                "ratio": {"value": 1.05, "ci95": [1.04, 1.06]}}],
        });
        let one = Found::read(&document).unwrap();
        assert!(one.is_claim() && one.holds(1.05) && !one.holds(1.0));
        assert_eq!((one.spreads, one.rounds, one.taken_s), ([0.02, 0.03], 20, 9.0));
        document["comparisons"][0]["ratio"] = json!({"value": 1.0});
        document["comparisons"][0]["reason"] = json!("too few rounds");
        let error = Found::read(&document).unwrap_err().to_string();
        assert_eq!(error, "no interval: \"too few rounds\"");
    }

    #[test]
    fn a_plan_came_true_where_time_and_interval_did() {
        // 2.064 x 5 % / sqrt(0.955 x 25) is 2.11 %.
        let sample = Found::sample("NO DIFFERENCE", 1.0);
        let planned = sample.planned_half_width().unwrap();
        assert!((planned - 0.02112).abs() < 1e-4, "{planned}");
        let trials = |taken_s: f64, half: f64| {
            let interval = [(-half).exp(), half.exp()];
            Trials::of(&[(20, Found { taken_s, interval, ..sample.clone() })])
        };
        assert!(trials(12.4, 0.03).plans().1);
        assert!(!trials(12.6, 0.03).plans().1, "too slow");
        assert!(!trials(7.4, 0.03).plans().1, "too quick");
        let (text, is_kept) = trials(12.4, 0.04).plans();
        assert!(is_kept && text.contains("1.5: 0 of 20"), "told, and not held against it: {text}");
        let lacking = Trials { failed: 1, complaint: Some("hung".into()), ..trials(10.0, 0.02) };
        let (text, is_kept) = lacking.plans();
        assert!(text.contains("1 more without a figure: hung") && !is_kept, "{text}");
    }
}

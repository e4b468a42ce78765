//! `p99 > 50us`: what no cell's figure may be.

use super::outcome::Outcome;
use ipcperf_core::result::{Cell, CpuCost, Metric, ResultSet, Status};
use ipcperf_core::units::{duration, format_bytes_per_second, format_nanos, format_per_second};
use ipcperf_core::{Offered, nearest};
use std::str::FromStr;

/// What a condition speaks of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ConditionOn {
    /// Of single operations, ns.
    Time,
    /// Messages or requests per second.
    Rate,
    /// Bytes per second.
    Throughput,
    /// CPU time per message, ns.
    Cpu,
}

/// The figures there are.
const FIGURES: &[(&str, ConditionOn)] = &[
    ("min", ConditionOn::Time),
    ("mean", ConditionOn::Time),
    ("p50", ConditionOn::Time),
    ("p90", ConditionOn::Time),
    ("p99", ConditionOn::Time),
    ("p99.9", ConditionOn::Time),
    ("p99.99", ConditionOn::Time),
    ("p99.999", ConditionOn::Time),
    ("max", ConditionOn::Time),
    ("rate", ConditionOn::Rate),
    ("throughput", ConditionOn::Throughput),
    ("cpu", ConditionOn::Cpu),
];

/// A condition on a figure of every cell that has it: what must not be.
#[derive(Clone, Debug, PartialEq)]
pub struct Limit {
    text: String,
    figure: &'static str,
    kind: ConditionOn,
    /// It forbids more than the value, not less.
    above: bool,
    value: f64,
}

impl FromStr for Limit {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let at = text.find(['<', '>']).ok_or_else(|| {
            format!("'{text}' is not a condition (like 'p99 > 50us' or 'rate < 100k/s')")
        })?;
        let (word, rest) = text.split_at(at);
        let (word, above) = (word.trim(), rest.starts_with('>'));
        let value = rest[1..].strip_prefix('=').unwrap_or(&rest[1..]).trim();
        let known = FIGURES.iter().find(|(name, _)| *name == word);
        let (figure, kind) = *known.ok_or_else(|| {
            let names = || FIGURES.iter().map(|(name, _)| *name);
            match nearest(word, names()) {
                Some(name) => format!("unknown metric '{word}'; did you mean '{name}'?"),
                None => {
                    let all: Vec<&str> = names().collect();
                    format!("unknown metric '{word}'; known: {}", all.join(", "))
                }
            }
        })?;
        let value = match kind {
            ConditionOn::Time | ConditionOn::Cpu => {
                let hint = match value.parse::<f64>() {
                    Ok(_) => format!("; did you mean '{word} {} {value}us'?", &rest[..1]),
                    Err(_) => String::new(),
                };
                let time = duration(value).map_err(|error| format!("{error}{hint}"))?;
                time.as_secs_f64() * 1e9
            }
            ConditionOn::Rate => match value.parse() {
                Ok(Offered::PerSecond(rate)) => rate,
                _ => return Err(format!("'{value}' is not a rate (like 100k/s)")),
            },
            ConditionOn::Throughput => bytes_per_second(value)
                .ok_or_else(|| format!("'{value}' is not a throughput (like 1.5GB/s)"))?,
        };
        Ok(Self { text: text.trim().to_owned(), figure, kind, above, value })
    }
}

/// `1.5GB/s`, in powers of 1000.
fn bytes_per_second(text: &str) -> Option<f64> {
    let text = text.strip_suffix("B/s")?.trim();
    let scales = [("k", 1e3), ("M", 1e6), ("G", 1e9), ("T", 1e12)];
    let found = scales.iter().find_map(|(name, scale)| Some((text.strip_suffix(name)?, *scale)));
    let (number, scale) = found.unwrap_or((text, 1.0));
    let number: f64 = number.trim().parse().ok()?;
    (number.is_finite() && number >= 0.0).then_some(number * scale)
}

impl Limit {
    /// What becomes of it: failed where the whole 95 % interval of a figure lies on the forbidden side, open where the
    /// interval holds the limit or there is none, else passed. Figures of a run of grade F decide nothing.
    #[must_use]
    pub fn check(&self, set: &ResultSet) -> Outcome {
        let text = &self.text;
        if set.noise.grade == "F" {
            return Outcome::CannotTell(vec![format!("{text}: the noise grade is F")]);
        }
        let (mut failed, mut open, mut seen) = (Vec::new(), Vec::new(), false);
        // Cells of the screen have no interval, and are in no gate.
        let counts = |cell: &&Cell| cell.status != Status::Unavailable && !cell.is_unconfirmed();
        for cell in set.cells.iter().filter(counts) {
            if cell.status != Status::Ok {
                open.push(format!("{text}: {} was not measured", cell.id));
                continue;
            }
            let Some(range) = self.range(cell) else { continue };
            seen = true;
            match range {
                Err(reason) => open.push(format!("{text}: {}: {reason}", cell.id)),
                Ok([low, high]) => {
                    let (surely, maybe) = if self.above {
                        (low > self.value, high > self.value)
                    } else {
                        (high < self.value, low < self.value)
                    };
                    let words = || {
                        let [low, high] = [low, high].map(|value| self.words(value));
                        let range = if low == high { low } else { format!("{low} to {high}") };
                        format!("{text}: {} of {} is {range}", self.figure, cell.id)
                    };
                    if surely {
                        failed.push(words());
                    } else if maybe {
                        open.push(words());
                    }
                }
            }
        }
        if !seen && open.is_empty() {
            open.push(format!("{text}: no cell has this figure"));
        }
        Outcome::of(failed, open)
    }

    fn words(&self, value: f64) -> String {
        match self.kind {
            ConditionOn::Time | ConditionOn::Cpu => format_nanos(value),
            ConditionOn::Rate => format_per_second(value),
            ConditionOn::Throughput => format_bytes_per_second(value),
        }
    }

    /// The figure's 95 % interval, or why there is none; `None` where the pattern has no such figure.
    fn range(&self, cell: &Cell) -> Option<Result<[f64; 2], String>> {
        let cost = cell.cpu_ns_per_message.as_ref().map(CpuCost::figure);
        let metric = match self.kind {
            ConditionOn::Time => cell.times()?.get(self.figure)?,
            ConditionOn::Throughput => cell.bytes_per_second.as_ref()?,
            ConditionOn::Rate => {
                let achieved =
                    cell.achieved_per_second.as_ref().or(cell.messages_per_second.as_ref());
                achieved.or_else(|| cell.requests_per_second())?
            }
            ConditionOn::Cpu => cost.as_ref()?,
        };
        Some(range(metric))
    }
}

fn no_interval(reason: &str) -> String {
    if reason.is_empty() { "no 95 % interval: more rounds".to_owned() } else { reason.to_owned() }
}

/// From the lowest to the highest that the figure may be. Extremes of all operations are exact.
fn range(metric: &Metric) -> Result<[f64; 2], String> {
    let reason = metric.reason.as_deref().unwrap_or_default();
    let value = metric.value.ok_or_else(|| no_interval(reason))?;
    let [low, high] = match (metric.ci95, metric.method.as_deref()) {
        (Some(ends), _) => ends,
        (None, Some("exact")) => [value, value],
        (None, _) => return Err(no_interval(reason)),
    };
    // Of two modes both must keep the limit.
    let modes = metric.modes.iter().map(|mode| mode.value);
    Ok(modes.fold([low, high], |[low, high], mode| [low.min(mode), high.max(mode)]))
}

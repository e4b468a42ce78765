//! `slower:5%`: no cell may be slower by more than that.

use super::outcome::Outcome;
use ipcperf_core::result::{CellComparison, Comparison, Difference};
use std::str::FromStr;

/// No cell of B may be slower than that of A by more than a share.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Slower {
    share: f64,
}

impl FromStr for Slower {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("'{text}' is not a gate (like slower:5%)");
        let percent = text.strip_prefix("slower:").and_then(|rest| rest.strip_suffix('%'));
        let percent: f64 = percent.and_then(|text| text.trim().parse().ok()).ok_or_else(wrong)?;
        (percent.is_finite() && (0.0..=1000.0).contains(&percent))
            .then_some(Self { share: percent / 100.0 })
            .ok_or_else(wrong)
    }
}

impl Slower {
    /// What becomes of it: failed by a claim whose whole interval lies beyond the share; open where the interval holds
    /// it, the figures are doubted or confounded, or a cell is missing; else passed.
    #[must_use]
    pub fn check(self, comparison: &Comparison) -> Outcome {
        let (mut failed, mut open) = (Vec::new(), Vec::new());
        let is_confounded = !comparison.confounded_by.is_empty();
        for one in &comparison.comparisons {
            let Some([low, high]) = slowdown(one).filter(|_| !one.doubted && !is_confounded) else {
                let why = if is_confounded && !one.doubted {
                    format!("confounded by {}", comparison.confounded_by.join(", "))
                } else {
                    one.reason.clone()
                };
                open.push(format!("{}: {why}", one.b));
                continue;
            };
            let floor = 1.0 + one.session_floor.unwrap_or(0.0);
            if one.verdict == Difference::Slower && low > 1.0 + self.share {
                failed.push(format!("{}: slower by at least {:.1} %", one.b, (low - 1.0) * 100.0));
            } else if high * floor > 1.0 + self.share {
                let (low, high) = ((low / floor - 1.0) * 100.0, (high * floor - 1.0) * 100.0);
                open.push(format!("{}: between {low:.1} and {high:.1} % slower", one.b));
            }
        }
        open.extend(comparison.only_a.iter().map(|cell| format!("{cell}: not in B")));
        if comparison.comparisons.is_empty() {
            open.push("no cell is in both".to_owned());
        }
        if comparison.interrupted {
            open.push("interrupted".to_owned());
        }
        Outcome::of(failed, open)
    }
}

/// The interval of how many times worse B is than A.
fn slowdown(one: &CellComparison) -> Option<[f64; 2]> {
    let [low, high] = one.ratio.ci95?;
    Some(if one.more_is_better { [1.0 / high, 1.0 / low] } else { [low, high] })
}

//! `slower:5%`: no cell may be slower by more than that, or have a tail that is.

use super::outcome::Outcome;
use ipcperf_core::result::{CellComparison, Comparison, Difference, FigureComparison};
use ipcperf_core::units;
use std::str::FromStr;

/// No cell of B may be slower than that of A by more than a share.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Slower {
    share: f64,
    /// It asks the p99, not the primary metric of a cell.
    of_tail: bool,
}

/// The largest share that makes sense: eleven times as long.
const MOST: f64 = 10.0;

impl FromStr for Slower {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let tail = text.strip_prefix("p99:");
        let share = tail.unwrap_or(text).strip_prefix("slower:").and_then(units::share);
        let share = share.filter(|share| *share <= MOST);
        share
            .map(|share| Self { share, of_tail: tail.is_some() })
            .ok_or_else(|| format!("'{text}' is not a gate (like slower:5% or p99:slower:10%)"))
    }
}

impl Slower {
    /// By how much the primary figure may be slower; `None` of a gate on the tail.
    #[must_use]
    pub fn allowed(self) -> Option<f64> {
        (!self.of_tail).then_some(self.share)
    }

    /// The figure that it asks, with what that is called.
    fn figure(self, cell: &CellComparison) -> Option<(&FigureComparison, String)> {
        if self.of_tail {
            let tail = cell.secondary.iter().find(|one| one.metric == "rtt_ns.p99")?;
            Some((tail, format!("p99 of {}", cell.b)))
        } else {
            Some((&cell.primary, cell.b.clone()))
        }
    }

    /// What becomes of it: failed by a claim whose whole interval lies beyond the share; open where the interval holds
    /// it, the figures are doubted or confounded, or a cell is missing; else passed.
    #[must_use]
    pub fn check(self, comparison: &Comparison) -> Outcome {
        let (mut failed, mut open) = (Vec::new(), Vec::new());
        let is_confounded = !comparison.confounded_by.is_empty();
        for cell in &comparison.comparisons {
            let Some((one, name)) = self.figure(cell) else {
                open.push(format!("{}: its rounds have no p99", cell.b));
                continue;
            };
            let Some([low, high]) = slowdown(one).filter(|_| !one.doubted && !is_confounded) else {
                let why = if is_confounded && !one.doubted {
                    format!("confounded by {}", comparison.confounded_by.join(", "))
                } else {
                    one.reason.clone()
                };
                open.push(format!("{name}: {why}"));
                continue;
            };
            let floor = 1.0 + one.session_floor.unwrap_or(0.0);
            if one.verdict == Difference::Slower && low > 1.0 + self.share {
                failed.push(format!("{name}: slower by at least {:.1} %", (low - 1.0) * 100.0));
            } else if high * floor > 1.0 + self.share {
                let (low, high) = ((low / floor - 1.0) * 100.0, (high * floor - 1.0) * 100.0);
                open.push(format!("{name}: between {low:.1} and {high:.1} % slower"));
            }
        }
        open.extend(comparison.only_a.iter().map(|cell| format!("{cell}: not in B")));
        if comparison.comparisons.is_empty() {
            open.push("no cell was compared".to_owned());
        }
        if comparison.interrupted {
            open.push("interrupted".to_owned());
        }
        Outcome::of(failed, open)
    }
}

/// The interval of how many times worse B is than A.
fn slowdown(one: &FigureComparison) -> Option<[f64; 2]> {
    let [low, high] = one.ratio.ci95?;
    Some(if one.more_is_better { [1.0 / high, 1.0 / low] } else { [low, high] })
}

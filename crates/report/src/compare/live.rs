//! Arms that were measured side by side, round by round, with their control.

use super::fields::{Class, Differences, Incomparable, differences};
use super::files::distrust;
use super::judge::{Pair, by_round, judge, metric};
use ipcperf_core::result::{
    COMPARISON_SCHEMA, Cell, CellKey, Comparison, ComparisonPlan, Design, ResultSet, Side,
};
use ipcperf_stats::Evidence;

/// Arms as they were asked for, and the documents that have them. The cells of `set` come in threes: A, A again, and B.
#[derive(Clone, Copy, Debug)]
pub struct Arms<'a> {
    /// Arm A in words.
    pub a: &'a str,
    /// Arm B in words.
    pub b: &'a str,
    /// What was measured.
    pub set: &'a ResultSet,
    /// What another program says of itself and the machine, if it measured B.
    pub other: Option<&'a ResultSet>,
}

/// The figure that speaks for a cell, by the name it has in the document: cells can be compared where it is the same.
#[must_use]
pub fn metric_of(key: &CellKey) -> &'static str {
    metric(key)
}

/// The figures of the rounds that count for all three: a round is left out for all arms or for none.
fn rounds(cells: [&Cell; 3]) -> [Vec<f64>; 3] {
    let [a, again, b] = cells.map(by_round);
    let common: Vec<u64> = a
        .keys()
        .filter(|round| again.contains_key(round) && b.contains_key(round))
        .copied()
        .collect();
    [a, again, b].map(|figures| common.iter().map(|round| figures[round]).collect())
}

/// A or B, where it could not be measured.
fn unmeasured(cells: [&Cell; 3]) -> Option<String> {
    let reason = |cell: &Cell| cell.reason.clone();
    let ([a, again, b], mode) =
        (cells, |cell: &Cell| cell.timing.as_ref().map(|one| one.mode.clone()));
    reason(a)
        .or_else(|| reason(again))
        .map(|reason| format!("A: {reason}"))
        .or_else(|| reason(b).map(|reason| format!("B: {reason}")))
        .or_else(|| {
            let [one, other] = [a, b].map(|cell| mode(cell).unwrap_or_default());
            (one != other).then(|| format!("timed in two ways: {one} and {other}"))
        })
}

/// Compares arms that were measured side by side.
///
/// # Errors
/// The other program says of itself what must not differ.
pub fn compare_live(
    arms: &Arms<'_>,
    plan: ComparisonPlan,
    margin: f64,
    expected: &[String],
) -> Result<Comparison, Incomparable> {
    let set = arms.set;
    let between =
        |class| arms.other.map_or_else(Differences::new, |b| differences(&[set], &[b], class));
    let hard = between(Class::Hard);
    if !hard.is_empty() {
        return Err(Incomparable(hard));
    }
    let factors = between(Class::Factor);
    // What the other program is, is what is compared.
    let is_confounding = |name: &&String| *name != "tool" && !expected.contains(name);
    let confounded_by: Vec<String> = factors.keys().filter(is_confounding).cloned().collect();
    let distrusted = distrust("this run", &[set]);
    let cells = set.cells.chunks_exact(3);
    let pairs: Vec<Pair<'_>> = cells
        .map(|three| {
            let three = [&three[0], &three[1], &three[2]];
            let [a_rounds, control_rounds, b_rounds] = rounds(three);
            Pair {
                a: three[0],
                b: three[2],
                evidence: Evidence::paired(&a_rounds, &b_rounds),
                a_rounds,
                b_rounds,
                control_rounds,
                margin,
                floor: None,
                doubt: distrusted.clone().or_else(|| unmeasured(three)),
            }
        })
        .collect();
    let side = |name: &str, of: &ResultSet| Side {
        names: vec![name.to_owned()],
        sessions: 1,
        grades: vec![set.noise.grade.clone()],
        tool: of.tool.clone(),
    };
    Ok(Comparison {
        schema: COMPARISON_SCHEMA.to_owned(),
        design: if arms.other.is_some() { Design::LiveBinary } else { Design::Live },
        interrupted: set.interrupted,
        plan: Some(plan),
        a: side(arms.a, set),
        b: side(arms.b, arms.other.unwrap_or(set)),
        factors,
        confounded_by,
        family: pairs.len() as u64,
        comparisons: judge(pairs),
        only_a: Vec::new(),
        only_b: Vec::new(),
    })
}

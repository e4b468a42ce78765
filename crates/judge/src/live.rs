//! Arms that were measured side by side, round by round, with their control.

use super::arm::{Arm, Opened};
use super::fields::{Class, Differences, Incomparable, differences};
use super::files::{Terms, disturbance, invalid, too_noisy};
use super::metric::MetricKind;
use super::pair::{Figure, FigurePair, Match, compare};
use ipcperf_core::result::{
    COMPARISON_SCHEMA, Comparison, ComparisonPlan, Design, Origin, ResultSet, Side,
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

/// The figures of the rounds that count for all three: a round is left out for all arms or for none. And whether an arm has
/// rounds without one.
fn rounds(cells: &[Opened<'_>; 3], kind: MetricKind) -> ([Vec<f64>; 3], [bool; 3]) {
    let all @ [a, again, b] = &cells.each_ref().map(|arm| kind.of_arm(arm));
    let is_lost = |at: usize| cells[at].arm.accepted() > all[at].len();
    let common: Vec<u64> = a
        .keys()
        .filter(|round| again.contains_key(round) && b.contains_key(round))
        .copied()
        .collect();
    let figures = [a, again, b].map(|all| common.iter().map(|round| all[round]).collect());
    (figures, [0, 1, 2].map(is_lost))
}

/// One figure of A, A again and B.
fn pair<'a>(
    cells: &[Opened<'a>; 3],
    kind: MetricKind,
    margin: f64,
    doubt: Option<&str>,
    (noisy, disturbed): (Option<&str>, Option<&str>),
) -> FigurePair {
    let ([a_rounds, control_rounds, b_rounds], [a, again, b]) = rounds(cells, kind);
    let of_rounds = || kind.objection([&[&cells[0], &cells[1]], &[&cells[2]]]);
    let is_tail = matches!(kind, MetricKind::P99 | MetricKind::P999 | MetricKind::Above(_));
    let of_noise = || noisy.filter(|_| is_tail).map(ToOwned::to_owned);
    let of_tail = || kind.doubt([a || again, b], [&a_rounds, &b_rounds], disturbed);
    FigurePair {
        figure: Figure::of(kind, &cells[0].arm.key),
        evidence: Evidence::paired(&a_rounds, &b_rounds),
        margin: kind.margin(margin),
        floor: None,
        no_equality: noisy.map(|why| format!("{why}, and equality is not claimed")),
        doubt: doubt.map(ToOwned::to_owned).or_else(of_rounds).or_else(of_noise).or_else(of_tail),
        a_rounds,
        b_rounds,
        control_rounds,
    }
}

/// Why A or B could not be measured, or that not all were timed in one way.
fn unmeasured([a, again, b]: [&Arm; 3]) -> Option<String> {
    let reason = |arm: &Arm| arm.reason.clone();
    reason(a)
        .or_else(|| reason(again))
        .map(|reason| format!("A: {reason}"))
        .or_else(|| reason(b).map(|reason| format!("B: {reason}")))
        .or_else(|| {
            let (one, others) = (a.mode(), [again.mode(), b.mode()]);
            let other = others.into_iter().find(|other| *other != one)?;
            Some(format!("timed in two ways: {one} and {other}"))
        })
}

/// Compares arms that were measured side by side.
///
/// # Errors
/// The other program says of itself what must not differ.
pub fn compare_live(
    arms: &Arms<'_>,
    plan: ComparisonPlan,
    terms: &Terms,
) -> Result<Comparison, Incomparable> {
    let set = arms.set;
    let between =
        |class| arms.other.map_or_else(Differences::new, |b| differences(&[set], &[b], class));
    let hard = between(Class::Hard);
    let forced = terms.admit(&hard)?;
    let factors = between(Class::Factor);
    // What the other program is, is what is compared.
    let is_confounding = |name: &&String| *name != "tool" && !terms.factors.contains(name);
    let confounded_by: Vec<String> = factors.keys().filter(is_confounding).cloned().collect();
    let distrusted = forced.or_else(|| invalid("this run", &[set]));
    let (noisy, disturbed) = (too_noisy("this run", set), disturbance(&[set]));
    let all: Vec<Arm> = set.cells.iter().cloned().map(Arm::of).collect();
    let matches: Vec<Match<'_>> = all
        .chunks_exact(3)
        .map(|three| {
            let arms = [&three[0], &three[1], &three[2]];
            let doubt = distrusted.clone().or_else(|| unmeasured(arms));
            let three = arms.map(Arm::open);
            let beside = MetricKind::beside(&[&three[0]], &[&three[2]]);
            let kinds = [MetricKind::of(arms[0].key.pattern)].into_iter().chain(beside);
            let noise = (noisy.as_deref(), disturbed.as_deref());
            let pair = |kind| pair(&three, kind, terms.margin, doubt.as_deref(), noise);
            Match::of(arms[0], arms[2], kinds.map(pair))
        })
        .collect();
    let side = |name: &str, of: &ResultSet| Side {
        names: vec![name.to_owned()],
        sessions: 1,
        grades: vec![set.noise.grade.clone()],
        interrupted: 0,
        tool: of.tool.clone(),
    };
    Ok(Comparison {
        schema: COMPARISON_SCHEMA.to_owned(),
        origin: Origin::default(),
        design: if arms.other.is_some() { Design::LiveBinary } else { Design::Live },
        interrupted: set.interrupted,
        plan: Some(plan),
        a: side(arms.a, set),
        b: side(arms.b, arms.other.unwrap_or(set)),
        factors,
        confounded_by,
        incomparable: hard,
        attempt: None,
        family: matches.len() as u64,
        adjustment: terms.adjustment,
        programs: None,
        comparisons: compare(matches, terms.adjustment),
        only_a: Vec::new(),
        only_b: Vec::new(),
        not_confirmed: Vec::new(),
    })
}

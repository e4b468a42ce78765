//! From the figures of pairs of cells to verdicts: evidence, doubts, the adjustment for their number.

use super::arm::Arm;
use super::metric::MetricKind;
use super::rounds::{lacking, short_name};
use crate::figures;
use ipcperf_core::result::{
    Adjustment, Cell, CellComparison, CellKey, Difference, FigureComparison, Metric,
};
use ipcperf_core::text::counted;
use ipcperf_core::{KnobValue, map_of};
use ipcperf_stats::{
    Evidence, FEWEST_ROUNDS, Interval, Judgement, MARGIN, Rule, benjamini_hochberg, holm, median,
    smallest_effect,
};
use std::collections::BTreeMap;

/// At most this share of families holds a false claim.
const LEVEL: f64 = 0.05;

/// Confidence at which the control must hold 1: it costs 1 % of what could be found.
const CONTROL: f64 = 0.99;

/// A cell of A and one of B.
pub(crate) struct Match<'a> {
    a: &'a Arm,
    b: &'a Arm,
    found: Vec<Found>,
}

impl<'a> Match<'a> {
    /// By their primary metric, and then by others.
    pub(crate) fn of(a: &'a Arm, b: &'a Arm, pairs: impl Iterator<Item = FigurePair>) -> Self {
        Self { a, b, found: pairs.map(Found::of).collect() }
    }
}

/// What is compared: its name in the document, and of which family of claims it is.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Figure {
    pub name: &'static str,
    pub more_is_better: bool,
    pub family: usize,
}

impl Figure {
    /// A metric of cells like this one.
    pub(crate) fn of(kind: MetricKind, key: &CellKey) -> Self {
        let (name, more_is_better) = (kind.name(key), kind.more_is_better());
        Self { name, more_is_better, family: kind.family() }
    }
}

/// One figure of a cell of A and of one of B.
pub(crate) struct FigurePair {
    pub figure: Figure,
    pub a_rounds: Vec<f64>,
    pub b_rounds: Vec<f64>,
    /// A again, of the same rounds; empty where there is none.
    pub control_rounds: Vec<f64>,
    /// What the ratio rests on.
    pub evidence: Option<Evidence>,
    pub margin: f64,
    /// Only a difference beyond this is claimed, and no equality; with the reason.
    pub floor: Option<(f64, String)>,
    /// Why no equality is claimed, although a difference may be.
    pub no_equality: Option<String>,
    /// Why the figures may not be believed.
    pub doubt: Option<String>,
}

impl FigurePair {
    /// The primary metric of two cells, in the rounds that count for both.
    pub(super) fn of_cells(a: &Cell, b: &Cell) -> Self {
        let kind = MetricKind::of(a.key.pattern);
        let (a_rounds, b_rounds) = kind.common(a, b);
        let mode = |cell: &Cell| cell.timing.as_ref().map(|timing| timing.mode.clone());
        let timed = || (mode(a) != mode(b)).then(|| "timed in two ways".to_owned());
        let lacks = |cell: &Cell| lacking(cell).map(|why| format!("{}: {why}", short_name(cell)));
        Self {
            figure: Figure::of(kind, &a.key),
            evidence: Evidence::paired(&a_rounds, &b_rounds),
            a_rounds,
            b_rounds,
            control_rounds: Vec::new(),
            margin: MARGIN,
            floor: None,
            no_equality: None,
            doubt: lacks(a).or_else(|| lacks(b)).or_else(timed),
        }
    }
}

/// A ratio with as many digits as tell two arms apart: `1.014x`, `28.1x`.
pub fn times(ratio: f64) -> String {
    if (0.1..10.0).contains(&ratio) { format!("{ratio:.3}x") } else { figures::times(ratio) }
}

/// `[1.002, 1.031]`.
pub fn between([low, high]: [f64; 2]) -> String {
    format!("[{}, {}]", times(low).trim_end_matches('x'), times(high).trim_end_matches('x'))
}

/// `5 %`, `0.5 %`, `4.32 %`.
pub fn percent(share: f64) -> String {
    let digits = figures::plain(share * 100.0);
    let short = if digits.contains('.') {
        digits.trim_end_matches('0').trim_end_matches('.')
    } else {
        digits.as_str()
    };
    format!("{short} %")
}

pub(super) fn ends(interval: Interval) -> [f64; 2] {
    [interval.low, interval.high]
}

/// What is known of a pair before it is one of several.
struct Found {
    pair: FigurePair,
    rule: Rule,
    control: Option<Interval>,
    judgement: Option<Judgement>,
    doubt: Option<String>,
}

impl Found {
    fn of(pair: FigurePair) -> Self {
        let floor = pair.floor.as_ref().map_or(0.0, |(floor, _)| *floor);
        let more_is_better = pair.figure.more_is_better;
        let rule = Rule { margin: pair.margin.max(floor), more_is_better };
        let control = Evidence::paired(&pair.a_rounds, &pair.control_rounds)
            .and_then(|evidence| evidence.interval(CONTROL));
        let doubt = pair.doubt.clone().or_else(|| too_few(&pair)).or_else(|| {
            let is_controlled = !pair.control_rounds.is_empty();
            is_controlled.then(|| controlled(control)).flatten()
        });
        let judgement = pair.evidence.as_ref().map(|evidence| rule.judge(evidence));
        Self { pair, rule, control, judgement, doubt }
    }

    /// The comparison, with the p-value adjusted for the size of its family.
    fn told(self, adjusted: Option<f64>, family: usize) -> FigureComparison {
        let Self { pair, rule, control, judgement, doubt } = self;
        let evidence = pair.evidence.as_ref();
        let fewest = pair.a_rounds.len().min(pair.b_rounds.len()) as u64;
        let spread = evidence.and_then(Evidence::spread);
        let smallest_effect =
            spread.and_then(|spread| smallest_effect(rule.margin, spread, fewest));
        let settle = evidence.and_then(|evidence| rule.rounds_to_settle(evidence));
        let (mut verdict, mut at_least) =
            judgement.map_or((Difference::CannotTell, None), |one| (one.verdict, one.at_least));
        let is_claim = at_least.is_some();
        let unequal = pair.no_equality.as_ref().filter(|_| verdict == Difference::None);
        let reason = match (&doubt, &pair.floor) {
            (Some(doubt), _) => doubt.clone(),
            (None, _) if unequal.is_some() => unequal.cloned().unwrap_or_default(),
            (None, Some((_, why))) if !is_claim => format!("{why}: only more can be claimed"),
            (None, _) if is_claim && adjusted.is_some_and(|p| p > LEVEL) => format!(
                "by itself it would be {verdict}, but not as one of {}: p is {:.2}",
                counted(family as u64, "cell"),
                adjusted.unwrap_or(1.0),
            ),
            (None, _) if verdict == Difference::CannotTell => {
                undecided(rule, evidence, smallest_effect, settle, fewest)
            }
            (None, Some((_, why))) => why.clone(),
            (None, None) => String::new(),
        };
        let is_open = doubt.is_some()
            || unequal.is_some()
            || (is_claim && adjusted.is_some_and(|p| p > LEVEL))
            || (!is_claim && pair.floor.is_some());
        if is_open {
            (verdict, at_least) = (Difference::CannotTell, None);
        }
        let interval = |confidence| evidence.and_then(|one| one.interval(confidence)).map(ends);
        let rounds = match pair.control_rounds.len() {
            0 => vec![pair.a_rounds.len() as u64, pair.b_rounds.len() as u64],
            paired => vec![paired as u64],
        };
        FigureComparison {
            metric: pair.figure.name.to_owned(),
            more_is_better: rule.more_is_better,
            a_value: median(&pair.a_rounds),
            b_value: median(&pair.b_rounds),
            ratio: Metric {
                value: evidence.map(Evidence::ratio),
                ci95: interval(0.95),
                reason: evidence.is_none().then(|| "no rounds to compare".to_owned()),
                ..Metric::default()
            },
            ci90: interval(0.90),
            control: control.map(ends),
            margin: pair.margin,
            verdict,
            doubted: doubt.is_some(),
            session_floor: pair.floor.map(|(floor, _)| floor),
            at_least,
            p_adjusted: adjusted,
            reason,
            rounds,
            spread,
            smallest_effect,
            rounds_to_settle: settle.filter(|_| verdict == Difference::CannotTell && !is_open),
            a_rounds: pair.a_rounds,
            control_rounds: pair.control_rounds,
            b_rounds: pair.b_rounds,
        }
    }
}

/// The verdicts of a family of pairs.
fn adjusted(found: Vec<Found>, adjustment: Adjustment) -> Vec<FigureComparison> {
    let is_judged = |one: &Found| one.doubt.is_none();
    let values = |one: &Found| one.judgement.filter(|_| is_judged(one)).map(|one| one.p);
    let chances: Vec<f64> = found.iter().filter_map(values).collect();
    let adjust = match adjustment {
        Adjustment::Holm => holm,
        Adjustment::BenjaminiHochberg => benjamini_hochberg,
    };
    let (family, mut adjusted) = (chances.len(), adjust(&chances).into_iter());
    found
        .into_iter()
        .map(|one| {
            let p = values(&one).and_then(|_| adjusted.next());
            one.told(p, family)
        })
        .collect()
}

/// The verdict of one figure that is no cell's.
pub(super) fn alone(pair: FigurePair) -> Option<FigureComparison> {
    adjusted(vec![Found::of(pair)], Adjustment::Holm).pop()
}

/// The verdicts of all cells, one family after the other: what speaks for them, their tails, their CPU time.
pub(crate) fn compare(matches: Vec<Match<'_>>, adjustment: Adjustment) -> Vec<CellComparison> {
    let mut families: [Vec<(usize, Found)>; 3] = Default::default();
    let mut cells = Vec::new();
    for (at, Match { a, b, found }) in matches.into_iter().enumerate() {
        cells.push((a, b, Vec::new()));
        for one in found {
            families[one.pair.figure.family].push((at, one));
        }
    }
    for family in families {
        let (places, found): (Vec<usize>, Vec<Found>) = family.into_iter().unzip();
        for (at, one) in places.into_iter().zip(adjusted(found, adjustment)) {
            cells[at].2.push(one);
        }
    }
    let told = |(a, b, figures): (&Arm, &Arm, Vec<FigureComparison>)| {
        let mut figures = figures.into_iter();
        Some(CellComparison {
            a: a.id.clone(),
            b: b.id.clone(),
            primary: figures.next()?,
            secondary: figures.collect(),
            factors: differing(a, b),
        })
    };
    cells.into_iter().filter_map(told).collect()
}

fn too_few(pair: &FigurePair) -> Option<String> {
    let (a, b) = (pair.a_rounds.len(), pair.b_rounds.len());
    (a.min(b) < FEWEST_ROUNDS).then(|| {
        format!("too few rounds: {a} of A, {b} of B, and an interval needs {FEWEST_ROUNDS}")
    })
}

/// What is wrong with the control.
fn controlled(control: Option<Interval>) -> Option<String> {
    match control {
        None => Some("too few rounds for the control, which needs 8".to_owned()),
        Some(interval) if interval.contains(1.0) => None,
        Some(interval) => Some(format!(
            "the control failed: A beside itself is {} (99 %)",
            between(ends(interval))
        )),
    }
}

/// Why it cannot be told, and what would settle it.
fn undecided(
    rule: Rule,
    evidence: Option<&Evidence>,
    smallest: Option<f64>,
    settle: Option<u64>,
    rounds: u64,
) -> String {
    let mut parts = Vec::new();
    match evidence.and_then(|evidence| rule.leaning(evidence)) {
        Some(side) => parts.push(format!("leaning {}", side.name().to_lowercase())),
        None => parts.push("too noisy".to_owned()),
    }
    if let Some(smallest) = smallest {
        let rounds = counted(rounds, "round");
        parts.push(format!("{rounds} find differences from {} on", percent(smallest)));
    }
    if evidence.is_some_and(|evidence| evidence.spread().is_some()) {
        parts.push(match settle {
            Some(settle) if settle > rounds => {
                format!("about {} would settle it", counted(settle, "round"))
            }
            Some(_) => "the same again should settle it".to_owned(),
            None => "it lies on the margin, where no number of rounds settles it".to_owned(),
        });
    }
    parts.join("; ")
}

/// What differs between two cells themselves: parts of their identity, and what knobs they share were granted.
fn differing(a: &Arm, b: &Arm) -> BTreeMap<String, [String; 2]> {
    let batch = |cell: &Arm| cell.timing.as_ref().map_or(0, |timing| timing.batch);
    let parts = |cell: &Arm| {
        let key = &cell.key;
        [
            ("mechanism", key.mechanism.clone()),
            ("wait", key.wait.to_string()),
            ("pattern", key.pattern.to_string()),
            ("size", key.size_bytes.to_string()),
            ("placement", key.placement.to_string()),
            ("CPUs", format!("{:?}", key.cpus)),
            ("idle", key.idle.to_string()),
            ("touch", key.touch.to_string()),
            ("load", key.load.words().join(" ")),
            ("batch", batch(cell).to_string()),
        ]
    };
    let granted =
        |value: &Option<KnobValue>| value.as_ref().map_or("?".into(), ToString::to_string);
    let knobs = a.knobs.iter().filter_map(|(name, kind)| {
        let other = b.knobs.get(name)?;
        let is_other = kind.effective != other.effective;
        is_other.then(|| (name.as_str(), granted(&kind.effective), granted(&other.effective)))
    });
    let is_other = a.key != b.key || batch(a) != batch(b);
    let identity = is_other.then(|| parts(a).into_iter().zip(parts(b))).into_iter().flatten();
    let all = identity.map(|((name, a), (_, b))| (name, a, b)).chain(knobs);
    let differ = all.filter(|(_, a, b)| a != b);
    map_of(differ.map(|(name, a, b)| (name.to_owned(), [a, b])))
}

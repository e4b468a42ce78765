//! A client and a server that were measured side by side as they are and with other sockets.

use super::files::{invalid, too_noisy};
use super::pair::{Figure, FigurePair, alone, ends};
use ipcperf_core::result::{
    Adjustment, COMPARISON_SCHEMA, CellComparison, Comparison, ComparisonByHand, ComparisonPlan,
    Design, ExchangedPrograms, Metric, Origin, ResultSet, Side,
};
use ipcperf_stats::{Evidence, MARGIN};
use std::collections::BTreeMap;

/// A figure of programs, round by round: as they are, the same again, and with other sockets.
#[derive(Clone, Debug)]
pub struct ProgramFigure {
    /// As the document calls it.
    pub name: &'static str,
    /// More of it is better.
    pub more_is_better: bool,
    /// The figures of the rounds.
    pub rounds: [Vec<f64>; 3],
}

/// What was measured.
#[derive(Clone, Debug)]
pub struct Programs<'a> {
    /// The programs as they are, in words.
    pub a: String,
    /// The programs with other sockets.
    pub b: String,
    /// What they are.
    pub facts: ExchangedPrograms,
    /// Their figures; the first one decides.
    pub figures: Vec<ProgramFigure>,
    /// The figure that decides of both configurations by hand, by rounds: as they are, and B.
    pub by_hand: Option<[Vec<f64>; 2]>,
    /// Rounds of each session; at least one.
    pub sessions: Vec<usize>,
    /// Why the figures may not be compared, whatever they are.
    pub doubt: Option<String>,
    /// The machine meanwhile.
    pub set: &'a ResultSet,
}

fn pair(
    figure: &ProgramFigure,
    sessions: &[usize],
    noisy: Option<&String>,
    doubt: Option<&String>,
) -> FigurePair {
    let [a_rounds, control_rounds, b_rounds] = figure.rounds.clone();
    FigurePair {
        figure: Figure { name: figure.name, more_is_better: figure.more_is_better, family: 0 },
        evidence: Evidence::of_sessions(&a_rounds, &b_rounds, sessions),
        margin: MARGIN,
        floor: None,
        no_equality: noisy.map(|why| format!("{why}, and equality is not claimed")),
        doubt: doubt.cloned(),
        a_rounds,
        b_rounds,
        control_rounds,
    }
}

/// How programs that were configured by hand compare, and how far an exchange in the same rounds is off.
fn compared_by_hand(
    [a_rounds, b_rounds]: [Vec<f64>; 2],
    [a, b]: [&Vec<f64>; 2],
    sessions: &[usize],
) -> ComparisonByHand {
    let metric = |evidence: Option<Evidence>| Metric {
        value: evidence.as_ref().map(Evidence::ratio),
        ci95: evidence.as_ref().and_then(|one| one.interval(0.95)).map(ends),
        reason: evidence.is_none().then(|| "no rounds to compare".to_owned()),
        ..Metric::default()
    };
    let ratios =
        |a: &[f64], b: &[f64]| -> Vec<f64> { a.iter().zip(b).map(|(a, b)| b / a).collect() };
    let compared = |a: &[f64], b: &[f64]| Evidence::of_sessions(a, b, sessions);
    let exchange = compared(&ratios(&a_rounds, &b_rounds), &ratios(a, b));
    let ratio = compared(&a_rounds, &b_rounds);
    ComparisonByHand { ratio: metric(ratio), exchange: metric(exchange), a_rounds, b_rounds }
}

/// Compares programs that were measured side by side.
#[must_use]
pub fn compare_programs(programs: Programs<'_>, mut plan: ComparisonPlan) -> Comparison {
    let Programs { a, b, mut facts, figures, by_hand, sessions, doubt, set } = programs;
    if sessions.len() > 1 {
        plan.sessions = sessions.iter().map(|rounds| *rounds as u64).collect();
    }
    let decides = figures.first().map(|figure| &figure.rounds);
    facts.by_hand = by_hand
        .zip(decides)
        .map(|(by_hand, [a, _, b])| compared_by_hand(by_hand, [a, b], &sessions));
    let noisy = too_noisy("this run", set);
    let doubt = doubt.or_else(|| invalid("this run", &[set]));
    let pair = |figure| pair(figure, &sessions, noisy.as_ref(), doubt.as_ref());
    let mut told = figures.iter().filter_map(|figure| alone(pair(figure)));
    let side = |name: &String| Side {
        names: vec![name.clone()],
        sessions: sessions.len() as u64,
        grades: vec![set.noise.grade.clone()],
        interrupted: 0,
        tool: set.tool.clone(),
    };
    let (of_a, of_b) = (side(&a), side(&b));
    let cell = told.next().map(|primary| CellComparison {
        a,
        b,
        primary,
        secondary: told.collect(),
        factors: BTreeMap::new(),
    });
    Comparison {
        schema: COMPARISON_SCHEMA.to_owned(),
        origin: Origin::default(),
        design: Design::Live,
        interrupted: set.interrupted,
        plan: Some(plan),
        attempt: None,
        a: of_a,
        b: of_b,
        factors: BTreeMap::new(),
        confounded_by: Vec::new(),
        incomparable: BTreeMap::new(),
        family: 1,
        adjustment: Adjustment::default(),
        programs: Some(facts),
        comparisons: cell.into_iter().collect(),
        only_a: Vec::new(),
        only_b: Vec::new(),
        not_confirmed: Vec::new(),
    }
}

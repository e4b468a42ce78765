//! Recorded runs: cells that both sides have, and what one session a side is good for.

use super::fields::{Class, Incomparable, differences};
use super::judge::{Pair, by_round, judge};
use super::session::{count, sessions};
use ipcperf_core::result::{
    COMPARISON_SCHEMA, Cell, Comparison, Design, Finding, ResultSet, Severity, Side, Status,
};
use ipcperf_stats::{Evidence, median};
use std::collections::BTreeMap;

/// Sessions a side from which on sessions are what is compared: 4 and 4 reach p = 0.029, 3 and 3 only 0.1.
const SESSIONS: usize = 4;

/// What a session of its own moves a figure by, in a virtual machine and on bare metal: the host, its neighbours, and which
/// of its cores a virtual CPU is.
const FLOORS: [f64; 2] = [0.05, 0.03];

/// A document and the name of its file.
#[derive(Clone, Debug)]
pub struct Recorded {
    /// As it was named.
    pub name: String,
    /// What it holds.
    pub set: ResultSet,
}

/// All that is known of one cell of one side.
struct Gathered<'a> {
    /// What it must have in common with a cell of the other side.
    identity: String,
    cell: &'a Cell,
    /// Figures of each session; none where it was not measured.
    sessions: BTreeMap<usize, Vec<f64>>,
}

impl Gathered<'_> {
    fn is_measured(&self) -> bool {
        !self.sessions.is_empty()
    }

    fn rounds(&self) -> Vec<f64> {
        self.sessions.values().flatten().copied().collect()
    }

    fn medians(&self) -> Vec<f64> {
        self.sessions.values().filter_map(|figures| median(figures)).collect()
    }
}

/// The cells of one side, in the order of their first document.
fn gather<'a>(sets: &[&'a ResultSet]) -> Vec<Gathered<'a>> {
    let mut all: Vec<Gathered<'a>> = Vec::new();
    let mut places = BTreeMap::new();
    for (set, session) in sets.iter().zip(sessions(sets)) {
        for cell in &set.cells {
            // Its key but for the CPUs, and the knobs as they were asked for.
            let identity = cell.key.words(&cell.requested());
            let at = *places.entry(identity.clone()).or_insert(all.len());
            if at == all.len() {
                all.push(Gathered { identity, cell, sessions: BTreeMap::new() });
            }
            if cell.status == Status::Ok {
                all[at].cell = cell;
                all[at].sessions.entry(session).or_default().extend(by_round(cell).into_values());
            }
        }
    }
    all
}

/// The cells of one side by what they have in common with those of the other.
type Twins<'s, 'a> = BTreeMap<&'s str, &'s Gathered<'a>>;

fn twins<'s, 'a>(side: &'s [Gathered<'a>]) -> Twins<'s, 'a> {
    side.iter().map(|one| (one.identity.as_str(), one)).collect()
}

/// What was measured on this side only, with the reason where the other side has tried.
fn only(side: &[Gathered<'_>], other: &Twins<'_, '_>) -> Vec<String> {
    let words = |one: &Gathered<'_>| match other.get(one.identity.as_str()) {
        Some(twin) if twin.is_measured() => None,
        Some(twin) => {
            let reason = twin.cell.reason.as_deref().unwrap_or("no figures");
            Some(format!("{}: {reason}", one.cell.id))
        }
        None => Some(one.cell.id.clone()),
    };
    side.iter().filter(|one| one.is_measured()).filter_map(words).collect()
}

/// How a cell was timed, where single operations and means of batches are two different figures.
fn mode(cell: &Cell) -> &str {
    cell.timing.as_ref().map_or("", |timing| timing.mode.as_str())
}

fn pair<'a>(a: &Gathered<'a>, b: &Gathered<'a>, terms: &Terms) -> Pair<'a> {
    let fewest = a.sessions.len().min(b.sessions.len());
    let is_enough = fewest >= SESSIONS;
    let evidence = if is_enough {
        Evidence::separate(&a.medians(), &b.medians())
    } else {
        Evidence::separate(&a.rounds(), &b.rounds())
    };
    let few = || match fewest {
        1 => "one session a side".to_owned(),
        few => format!("{few} sessions a side"),
    };
    let is_other = mode(a.cell) != mode(b.cell);
    let timed = || format!("timed in two ways: {} and {}", mode(a.cell), mode(b.cell));
    Pair {
        a: a.cell,
        b: b.cell,
        a_rounds: a.rounds(),
        b_rounds: b.rounds(),
        control_rounds: Vec::new(),
        evidence,
        margin: terms.margin,
        floor: (!is_enough).then(|| (terms.floor, few())),
        doubt: terms.doubt.clone().or_else(|| is_other.then(timed)),
    }
}

/// What holds for all pairs.
struct Terms {
    margin: f64,
    floor: f64,
    doubt: Option<String>,
}

/// Why nothing of these runs may be believed.
pub(super) fn distrust(side: &str, sets: &[&ResultSet]) -> Option<String> {
    sets.iter().find_map(|set| {
        if set.noise.grade == "F" {
            return Some(format!("{side} has the noise grade F"));
        }
        let is_invalid = |one: &&Finding| one.severity == Severity::Error && one.cells.is_empty();
        let finding = set.noise.findings.iter().find(is_invalid)?;
        Some(format!("{side} is invalid: {}", finding.text))
    })
}

fn side(recorded: &[Recorded], sets: &[&ResultSet]) -> Side {
    Side {
        names: recorded.iter().map(|one| one.name.clone()).collect(),
        sessions: count(&sessions(sets)) as u64,
        grades: recorded.iter().map(|one| one.set.noise.grade.clone()).collect(),
        tool: recorded.first().map(|one| one.set.tool.clone()).unwrap_or_default(),
    }
}

/// Compares recorded runs, B beside A. `expected` names the factors that are what is compared; whatever else differs
/// confounds the verdicts.
///
/// # Errors
/// They differ in what must not differ.
pub fn compare_files(
    a: &[Recorded],
    b: &[Recorded],
    margin: f64,
    expected: &[String],
) -> Result<Comparison, Incomparable> {
    let [a_sets, b_sets]: [Vec<&ResultSet>; 2] =
        [a, b].map(|side| side.iter().map(|one| &one.set).collect());
    let hard = differences(&a_sets, &b_sets, Class::Hard);
    if !hard.is_empty() {
        return Err(Incomparable(hard));
    }
    let factors = differences(&a_sets, &b_sets, Class::Factor);
    let is_virtual = a_sets.iter().chain(&b_sets).any(|set| set.host.hypervisor.is_some());
    let terms = Terms {
        margin,
        floor: if is_virtual { FLOORS[0] } else { FLOORS[1] },
        doubt: distrust("A", &a_sets).or_else(|| distrust("B", &b_sets)),
    };
    let (of_a, of_b) = (gather(&a_sets), gather(&b_sets));
    let (in_a, in_b) = (twins(&of_a), twins(&of_b));
    let both = of_a.iter().filter_map(|one| Some((one, *in_b.get(one.identity.as_str())?)));
    let pairs: Vec<Pair<'_>> = both
        .filter(|(one, twin)| one.is_measured() && twin.is_measured())
        .map(|(one, twin)| pair(one, twin, &terms))
        .collect();
    let is_confounding = |name: &&String| !expected.contains(name);
    Ok(Comparison {
        schema: COMPARISON_SCHEMA.to_owned(),
        design: Design::Files,
        interrupted: false,
        plan: None,
        a: side(a, &a_sets),
        b: side(b, &b_sets),
        confounded_by: factors.keys().filter(is_confounding).cloned().collect(),
        factors,
        family: pairs.len() as u64,
        only_a: only(&of_a, &in_b),
        only_b: only(&of_b, &in_a),
        comparisons: judge(pairs),
    })
}

//! Recorded runs: cells that both sides have, and what one session a side is good for.

use super::arm::{Arm, Opened};
use super::fields::{Class, Differences, Incomparable, differences};
use super::metric::MetricKind;
use super::pair::{Figure, FigurePair, Match, compare, percent};
use super::session::{count, sessions};
use crate::once::{Repeatable, run_of};
use crate::reading::{LoadError, load_with};
use ipcperf_core::findings;
use ipcperf_core::map_of;
use ipcperf_core::result::{
    Adjustment, COMPARISON_SCHEMA, Comparison, Design, Finding, Origin, ResultSet, Severity, Side,
    Status, read_cells,
};
use ipcperf_core::text::each_once;
use ipcperf_stats::{Evidence, median};
use std::collections::BTreeMap;
use std::panic::resume_unwind;
use std::thread;

/// Sessions a side from which on sessions are what is compared: 4 and 4 reach p = 0.029, 3 and 3 only 0.1.
const SESSIONS: usize = 4;

/// What single sessions of equal programs may differ by, in virtual machines and on bare metal: the host, its neighbours,
/// and which of its cores a virtual CPU is. 1.96 √2 times what one session moves a median by, so that one comparison in 20
/// goes beyond it: 4 % there and 1 % here (standard deviation). Two series of one virtual machine each have been published
/// that differ by 6 to 8.5 % without a change (microsoft/mssql-rs, issue 434).
const FLOORS: [(f64, &str); 2] = [(0.11, "virtual machines"), (0.03, "one machine")];

/// What single sessions of equal programs may differ by, and where.
pub fn session_floor(is_virtual: bool) -> (f64, &'static str) {
    if is_virtual { FLOORS[0] } else { FLOORS[1] }
}

/// The terms of a comparison.
#[derive(Clone, Debug, Default)]
pub struct Terms {
    /// Ratios within 1 ± this do not matter.
    pub margin: f64,
    /// The factors that are what is compared; whatever else differs confounds the verdicts.
    pub factors: Vec<String>,
    /// Show what must not be compared, and claim nothing.
    pub force: bool,
    /// How claims are adjusted for the number of cells.
    pub adjustment: Adjustment,
}

impl Terms {
    /// Why nothing is to be claimed of what was forced.
    pub(super) fn admit(&self, hard: &Differences) -> Result<Option<String>, Incomparable> {
        if hard.is_empty() {
            Ok(None)
        } else if self.force {
            Ok(Some(Incomparable(hard.clone()).to_string()))
        } else {
            Err(Incomparable(hard.clone()))
        }
    }
}

/// A document and the name of its file.
#[derive(Clone, Debug)]
pub struct Recorded {
    /// As it was named.
    pub name: String,
    /// All of it but its cells.
    pub set: ResultSet,
    arms: Vec<Arm>,
}

impl Recorded {
    /// Reads a document, of which no more is held than a comparison takes.
    ///
    /// # Errors
    /// As [`load`](crate::load()).
    pub fn read(name: impl Into<String>, text: &str) -> Result<Self, LoadError> {
        let mut arms = Vec::new();
        let set = load_with(text, |text| read_cells(text, &mut |cell| arms.push(Arm::of(cell))))?;
        Ok(Self { name: name.into(), set, arms })
    }
}

impl Repeatable for Recorded {
    fn is_in(&self, other: &Self) -> bool {
        let is_in = |arm: &Arm| other.arms.iter().any(|one| one.has_the_figures_of(arm));
        run_of(&self.set) == run_of(&other.set) && self.arms.iter().all(is_in)
    }
}

/// All that is known of one cell of one side.
struct Gathered<'a> {
    cell: &'a Arm,
    /// As it was measured in each session, where that was not by the screen alone.
    sessions: BTreeMap<usize, Vec<&'a Arm>>,
    /// In some document it has rounds of the screen alone.
    is_screened: bool,
}

impl<'a> Gathered<'a> {
    fn is_confirmed(&self) -> bool {
        !self.sessions.is_empty()
    }

    fn open(&self) -> OpenedCell<'a> {
        let opened = |arms: &Vec<&'a Arm>| arms.iter().map(|arm| arm.open()).collect();
        OpenedCell { cell: self.cell, sessions: self.sessions.values().map(opened).collect() }
    }
}

/// The same with the operations of all rounds.
struct OpenedCell<'a> {
    cell: &'a Arm,
    sessions: Vec<Vec<Opened<'a>>>,
}

impl<'a> OpenedCell<'a> {
    fn arms(&self) -> Vec<&Opened<'a>> {
        self.sessions.iter().flatten().collect()
    }

    /// Whether it has rounds without a figure, of which there are so many.
    fn has_more_than(&self, figures: usize) -> bool {
        self.arms().iter().map(|one| one.arm.accepted()).sum::<usize>() > figures
    }

    /// The figures of each session.
    fn figures(&self, kind: MetricKind) -> Vec<Vec<f64>> {
        let of = |arms: &Vec<Opened<'_>>| {
            arms.iter().flat_map(|arm| kind.of_arm(arm).into_values()).collect()
        };
        self.sessions.iter().map(of).collect()
    }
}

/// The cells of one side, in the order of their first document.
fn gather<'a>(side: &'a [Recorded], sets: &[&ResultSet]) -> Vec<Gathered<'a>> {
    let mut all: Vec<Gathered<'a>> = Vec::new();
    let mut places = BTreeMap::new();
    for (one, session) in side.iter().zip(sessions(sets)) {
        for cell in &one.arms {
            let at = *places.entry(cell.identity.as_str()).or_insert(all.len());
            if at == all.len() {
                all.push(Gathered { cell, sessions: BTreeMap::new(), is_screened: false });
            }
            if cell.status == Status::Ok && cell.is_unconfirmed {
                all[at].is_screened = true;
            } else if cell.status == Status::Ok {
                all[at].cell = cell;
                all[at].sessions.entry(session).or_default().push(cell);
            }
        }
    }
    all
}

/// The cells of one side by what they have in common with those of the other.
type Twins<'s, 'a> = BTreeMap<&'s str, &'s Gathered<'a>>;

fn twins<'s, 'a>(side: &'s [Gathered<'a>]) -> Twins<'s, 'a> {
    map_of(side.iter().map(|one| (one.cell.identity.as_str(), one)))
}

/// What was measured on this side only, with the reason where the other side has tried.
fn only(side: &[Gathered<'_>], other: &Twins<'_, '_>) -> Vec<String> {
    let words = |one: &Gathered<'_>| match other.get(one.cell.identity.as_str()) {
        Some(twin) if twin.is_confirmed() => None,
        Some(twin) if twin.is_screened => {
            Some(format!("{}: the other side has rounds of the screen alone", one.cell.id))
        }
        Some(twin) => {
            let reason = twin.cell.reason.as_deref().unwrap_or("no figures");
            Some(format!("{}: {reason}", one.cell.id))
        }
        None => Some(one.cell.id.clone()),
    };
    side.iter().filter(|one| one.is_confirmed()).filter_map(words).collect()
}

/// What holds for all pairs.
struct Frame<'a> {
    terms: &'a Terms,
    floor: (f64, &'a str),
    doubt: Option<String>,
    disturbed: Option<String>,
}

impl Frame<'_> {
    fn matched<'a>(&self, a: &Gathered<'a>, b: &Gathered<'a>) -> Match<'a> {
        let (a, b) = (a.open(), b.open());
        let pairs = [MetricKind::of(a.cell.key.pattern)]
            .into_iter()
            .chain(MetricKind::beside(&a.arms(), &b.arms()));
        Match::of(a.cell, b.cell, pairs.map(|one| self.pair(&a, &b, one)))
    }

    fn pair<'a>(&self, a: &OpenedCell<'a>, b: &OpenedCell<'a>, kind: MetricKind) -> FigurePair {
        let fewest = a.sessions.len().min(b.sessions.len());
        let (of_a, of_b) = (a.figures(kind), b.figures(kind));
        let (a_rounds, b_rounds) = (of_a.concat(), of_b.concat());
        let is_enough = fewest >= SESSIONS;
        let medians = |sessions: &[Vec<f64>]| {
            sessions.iter().filter_map(|figures| median(figures)).collect::<Vec<f64>>()
        };
        let few = || {
            let floor = kind.session_floor(self.floor.0);
            let sessions = match fewest {
                1 => "one session a side".to_owned(),
                few => format!("{few} sessions a side"),
            };
            (
                floor,
                format!("{sessions}, which in {} may differ by {}", self.floor.1, percent(floor)),
            )
        };
        let (arms_a, arms_b) = (a.arms(), b.arms());
        let modes = each_once(arms_a.iter().chain(&arms_b).map(|one| one.arm.mode()));
        let timed = || format!("timed in two ways: {}", modes.join(" and "));
        let of_rounds = || kind.objection([&arms_a, &arms_b]);
        let doubt = self.doubt.clone().or_else(|| (modes.len() > 1).then(timed)).or_else(of_rounds);
        let doubt = doubt.or_else(|| {
            let is_lost = [a.has_more_than(a_rounds.len()), b.has_more_than(b_rounds.len())];
            kind.doubt(is_lost, [&a_rounds, &b_rounds], self.disturbed.as_deref())
        });
        FigurePair {
            figure: Figure::of(kind, &a.cell.key),
            evidence: if is_enough {
                Evidence::separate(&medians(&of_a), &medians(&of_b))
            } else {
                Evidence::separate(&a_rounds, &b_rounds)
            },
            a_rounds,
            b_rounds,
            control_rounds: Vec::new(),
            margin: kind.margin(self.terms.margin),
            floor: (!is_enough).then(few),
            no_equality: None,
            doubt,
        }
    }
}

/// Why nothing of these runs may be believed that were made at different times: noise of grade F moves each by itself.
pub(crate) fn distrust(side: &str, sets: &[&ResultSet]) -> Option<String> {
    sets.iter().find_map(|set| too_noisy(side, set).or_else(|| invalid(side, &[set])))
}

/// At noise grade F neither absolute figures nor tails nor equality hold. A difference within rounds does, where its interval
/// and its control hold (`cargo xtask trial loaded`).
pub(super) fn too_noisy(side: &str, set: &ResultSet) -> Option<String> {
    (set.noise.grade == "F").then(|| format!("{side} has the noise grade F"))
}

/// Why nothing of these runs may be believed, however it was measured.
pub(super) fn invalid(side: &str, sets: &[&ResultSet]) -> Option<String> {
    sets.iter().find_map(|set| {
        let is_invalid = |one: &&Finding| one.severity == Severity::Error && one.cells.is_empty();
        let finding = set.noise.findings.iter().find(is_invalid)?;
        Some(format!("{side} is invalid: {}", finding.text))
    })
}

/// What disturbs the machine enough to make the tail of any cell: more than 1 in 100 of all time.
pub(super) fn disturbance(sets: &[&ResultSet]) -> Option<String> {
    let mut findings = sets.iter().flat_map(|set| &set.noise.findings);
    let found = findings
        .find(|finding| findings::STOLEN.is_of(finding) || findings::LOAD.is_of(finding))?;
    Some(found.text.trim_end_matches('.').to_owned())
}

fn side(recorded: &[Recorded], sets: &[&ResultSet]) -> Side {
    Side {
        names: recorded.iter().map(|one| one.name.clone()).collect(),
        sessions: count(&sessions(sets)) as u64,
        grades: recorded.iter().map(|one| one.set.noise.grade.clone()).collect(),
        interrupted: recorded.iter().filter(|one| one.set.interrupted).count() as u64,
        tool: recorded.first().map(|one| one.set.tool.clone()).unwrap_or_default(),
    }
}

/// Does two things at once; one after the other where there can be no thread.
pub fn at_once<A: Send, B>(one: impl Fn() -> A + Sync, other: impl FnOnce() -> B) -> (A, B) {
    thread::scope(|scope| match thread::Builder::new().spawn_scoped(scope, &one) {
        Ok(started) => {
            let other = other();
            (started.join().unwrap_or_else(|panic| resume_unwind(panic)), other)
        }
        Err(_) => (one(), other()),
    })
}

/// Compares recorded runs, B beside A.
///
/// # Errors
/// They differ in what must not differ, and nobody forces it.
pub fn compare_files<'a>(
    a: &'a [Recorded],
    b: &'a [Recorded],
    terms: &Terms,
) -> Result<Comparison, Incomparable> {
    let [a_sets, b_sets]: [Vec<&ResultSet>; 2] =
        [a, b].map(|side| side.iter().map(|one| &one.set).collect());
    let hard = differences(&a_sets, &b_sets, Class::Hard);
    let forced = terms.admit(&hard)?;
    let factors = differences(&a_sets, &b_sets, Class::Factor);
    let all: Vec<&ResultSet> = a_sets.iter().chain(&b_sets).copied().collect();
    let is_virtual = all.iter().any(|set| set.host.hypervisor.is_some());
    let distrusted = || distrust("A", &a_sets).or_else(|| distrust("B", &b_sets));
    let frame = Frame {
        terms,
        floor: session_floor(is_virtual),
        doubt: forced.or_else(distrusted),
        disturbed: disturbance(&all),
    };
    let (of_a, of_b) = (gather(a, &a_sets), gather(b, &b_sets));
    let (in_a, in_b) = (twins(&of_a), twins(&of_b));
    let both = of_a.iter().filter_map(|one| Some((one, *in_b.get(one.cell.identity.as_str())?)));
    let (both, others): (Vec<_>, Vec<_>) =
        both.partition(|(one, twin)| one.is_confirmed() && twin.is_confirmed());
    let is_open = |one: &Gathered<'_>| one.is_screened && !one.is_confirmed();
    let screened = others.iter().filter(|(one, twin)| is_open(one) && is_open(twin));
    let not_confirmed = screened.map(|(one, _)| one.cell.id.clone()).collect();
    let matched = |share: &[(&Gathered<'a>, &Gathered<'a>)]| -> Vec<Match<'a>> {
        share.iter().map(|(one, twin)| frame.matched(one, twin)).collect()
    };
    // Each pair is by itself until it is one of a family.
    let (half, other) = both.split_at(both.len() / 2);
    let (mut matches, others) = at_once(|| matched(half), || matched(other));
    matches.extend(others);
    let is_confounding = |name: &&String| !terms.factors.contains(name);
    Ok(Comparison {
        schema: COMPARISON_SCHEMA.to_owned(),
        origin: Origin::default(),
        design: Design::Files,
        interrupted: false,
        plan: None,
        attempt: None,
        a: side(a, &a_sets),
        b: side(b, &b_sets),
        confounded_by: factors.keys().filter(is_confounding).cloned().collect(),
        factors,
        incomparable: hard,
        family: matches.len() as u64,
        adjustment: terms.adjustment,
        only_a: only(&of_a, &in_b),
        only_b: only(&of_b, &in_a),
        not_confirmed,
        programs: None,
        comparisons: compare(matches, terms.adjustment),
    })
}

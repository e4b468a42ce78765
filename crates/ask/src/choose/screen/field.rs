//! Who can be chosen: mechanisms that meet all needs, with the cells that were measured of them; and who is left out.

use super::contest::Contest;
use super::trial::Workload;
use crate::results::answers::Basis;
use crate::results::chapters::{is_floor, place_order};
use crate::results::columns::SATURATED;
use crate::results::fittest::fitness;
use ipcperf_core::result::{Cell, ClockFacts, Need, Requirements, ResultSet, Status};
use ipcperf_core::{Idle, Namespace, Spec, Touch};
use ipcperf_judge::{ROUND_TRIP, figures, lost_its_rounds, lost_too_much, margin};
use ipcperf_kit::document::Specs;
use ipcperf_render::text;
use std::cmp::Reverse;

/// What cannot pass so many messages in a second.
const BEHIND: &str = "does not keep up with the rate";

/// Who may be chosen.
pub(super) struct Entrant<'a> {
    pub(super) name: &'a str,
    pub(super) spec: &'static Spec,
    /// All of its cells under the conditions that were asked for, with whatever knobs.
    pub(super) cells: Vec<&'a Cell>,
    /// Whether those of its cells stand for it whose ends met by name, where there are some.
    by_name: bool,
}

impl<'a> Entrant<'a> {
    /// The cell that stands for it: with no knob turned but the one that makes it known by name, if that is needed.
    pub(super) fn cell(&self, wanted: &Requirements, trial: Workload) -> Option<&'a Cell> {
        let turned = |cell: &Cell| {
            let requested = cell.requested().0;
            let bound = requested.keys().any(|knob| knob.ends_with(".bind"));
            (requested.len() - usize::from(bound), bound != self.by_name)
        };
        let of_trial = self.cells.iter().copied().filter(|cell| trial.is_of(wanted, cell));
        of_trial.min_by_key(|cell| (cell.status != Status::Ok, turned(cell)))
    }

    /// Cells that differ from this one in knobs that were turned beside, with those knobs: `sndbuf=1M`.
    pub(super) fn turned(&self, base: &Cell) -> Vec<(String, &'a Cell)> {
        let asked = base.requested().0;
        let more = |cell: &&'a Cell| {
            let mut knobs = cell.requested().0;
            let is_more = asked.iter().all(|(knob, value)| knobs.get(knob) == Some(value));
            knobs.retain(|knob, _| !asked.contains_key(knob));
            let is_alike = cell.key == base.key && cell.status == Status::Ok;
            let word = |(knob, value): (&String, &String)| {
                let knob = knob.rsplit_once('.').map_or(knob.as_str(), |(_, knob)| knob);
                format!("{knob}={value}")
            };
            let words: Vec<String> = knobs.iter().map(word).collect();
            (is_alike && is_more && !words.is_empty()).then(|| (words.join(" "), *cell))
        };
        self.cells.iter().filter_map(more).collect()
    }
}

/// Those of one reason.
pub(super) struct LeftOut {
    pub(super) reason: String,
    pub(super) names: Vec<String>,
}

/// Who can be chosen, and who cannot.
pub(super) struct Field<'a> {
    pub(super) wanted: Requirements,
    pub(super) basis: Option<Basis>,
    /// Those whose ends sleep as soon as there is nothing to do; where nobody is left of them, those that spin.
    pub(super) entrants: Vec<Entrant<'a>>,
    /// Those that spin beside them, who have an order of their own.
    pub(super) spinning: Option<Box<Self>>,
    pub(super) left_out: Vec<LeftOut>,
    /// One for each trial that decides and that all entrants have a figure of.
    pub(super) contests: Vec<Contest<'a>>,
    /// Everybody: the one that is chosen, then the others by their ratio to it.
    pub(super) standings: Vec<Standing>,
    /// Whether the first of them is chosen: something may be said in one of the contests.
    pub(super) is_decided: bool,
    /// Ratios within this do not matter.
    pub(super) margin: f64,
    clock: &'a ClockFacts,
}

/// The place of an entrant, and how far it is from the choice.
#[derive(Clone, Copy, Debug)]
pub(super) struct Standing {
    pub(super) at: usize,
    /// The largest of its ratios to the choice; `None` where it has none in any contest.
    ratio: Option<f64>,
}

impl<'a> Field<'a> {
    pub(super) fn of(set: &'a ResultSet, wanted: &Requirements, specs: &Specs) -> Self {
        let basis = basis(set, wanted);
        let mut field = Self { wanted: wanted.clone(), basis, ..Self::nobody(set) };
        let in_document = set.cells.iter().map(|cell| cell.key.mechanism.as_str());
        let unmeasured = set.invocation.plan.requirements.iter().flat_map(|asked| &asked.left_out);
        let among = wanted.among.iter().map(String::as_str);
        let mut names: Vec<&str> =
            text::each_once(in_document.chain(unmeasured.map(String::as_str)));
        if !wanted.among.is_empty() {
            names.retain(|name| among.clone().any(|one| one == *name));
        }
        let mut left_out = Vec::new();
        for name in names.into_iter().filter(|name| !is_floor(name, specs)) {
            match field.enter(set, name, specs(name)) {
                Ok(entrant) => field.entrants.push(entrant),
                Err(reason) => left_out.push((reason, name)),
            }
        }
        // Needs first, in their order.
        left_out.sort_by_key(|(reason, _)| (reason.need.is_none(), reason.need));
        let words = |(why, name): (Reason, &str)| (why.words, format!("{name}{}", why.figure));
        let groups = text::in_groups(left_out.into_iter().map(words)).into_iter();
        field.left_out = groups.map(|(reason, names)| LeftOut { reason, names }).collect();
        let entrants = std::mem::take(&mut field.entrants).into_iter();
        let (sleeping, spinning): (Vec<_>, Vec<_>) =
            entrants.partition(|entrant| Need::NoSpin.is_met(entrant.spec));
        if sleeping.is_empty() {
            return field.entered_by(spinning);
        }
        if !spinning.is_empty() {
            let basis = field.basis.clone();
            let others = Self { wanted: wanted.clone(), basis, ..Self::nobody(set) };
            field.spinning = Some(Box::new(others.entered_by(spinning)));
        }
        field.entered_by(sleeping)
    }

    /// With these, in their order.
    fn entered_by(mut self, entrants: Vec<Entrant<'a>>) -> Self {
        self.entrants = entrants;
        let trials = Workload::all(&self.wanted, &self.wanted.deciding()).into_iter();
        self.contests = trials.filter_map(|trial| self.contest(trial)).collect();
        let chosen = self.choice();
        if let Some(chosen) = chosen {
            self.contests.iter_mut().for_each(|contest| contest.compare_with(chosen));
        }
        self.is_decided = chosen.is_some();
        self.standings = self.ordered(chosen);
        self
    }

    /// A field of nobody, for nothing.
    fn nobody(set: &'a ResultSet) -> Self {
        Self {
            wanted: Requirements::default(),
            basis: None,
            entrants: Vec::new(),
            spinning: None,
            left_out: Vec::new(),
            contests: Vec::new(),
            standings: Vec::new(),
            is_decided: false,
            margin: margin(&set.invocation.plan),
            clock: &set.clock,
        }
    }

    /// A mechanism, or why it cannot be chosen.
    fn enter(
        &self,
        set: &'a ResultSet,
        name: &'a str,
        spec: Option<&'static Spec>,
    ) -> Result<Entrant<'a>, Reason> {
        let Some(spec) = spec else { return Err(Reason::of("unknown to this build")) };
        if let Some(need) = self.wanted.unmet(spec).first() {
            return Err(Reason::of_need(*need));
        }
        let wanted = &self.wanted;
        let is_here = |cell: &&Cell| {
            cell.key.mechanism == name && self.basis.as_ref().is_some_and(|basis| basis.has(cell))
        };
        let by_name = wanted.is_by_name();
        let cells = set.cells.iter().filter(is_here).collect();
        let entrant = Entrant { name, spec, cells, by_name };
        let deciding = Workload::all(wanted, &wanted.deciding());
        for trial in &deciding {
            let cell = self.measured(&entrant, *trial)?;
            let kind = trial.kind(wanted.by);
            if kind.reading(cell, self.clock).is_none() {
                let metric = kind.of_cell(cell).and_then(|metric| metric.reason.as_deref());
                return Err(match metric {
                    Some(SATURATED) => behind(cell),
                    _ => Reason::of(format!("no {}", wanted.by)),
                });
            }
        }
        for (name, limit) in wanted.limits() {
            let mut longest = 0.0_f64;
            for trial in Workload::all(wanted, &wanted.timed()) {
                let cell = self.measured(&entrant, trial)?;
                let Some(time) = quantile(cell, name) else {
                    return Err(Reason::of(format!("no {name} known")));
                };
                longest = longest.max(time);
            }
            if longest > limit {
                let figure = format!(" {}", figures::nanos(longest));
                return Err(Reason {
                    figure,
                    ..Reason::of(format!("{name} above {}", figures::nanos(limit)))
                });
            }
        }
        Ok(entrant)
    }

    /// The cell of a trial, where it can be believed.
    fn measured(&self, entrant: &Entrant<'a>, trial: Workload) -> Result<&'a Cell, Reason> {
        let Some(cell) = entrant.cell(&self.wanted, trial) else {
            return Err(Reason::of("not measured so"));
        };
        match (cell.status, &cell.reason) {
            (Status::Ok, _) if lost_too_much(cell) => Err(Reason::of("lost too many messages")),
            (Status::Ok, _) if lost_its_rounds(cell) => Err(match is_saturated(cell) {
                true => behind(cell),
                false => Reason::of("too many rounds rejected to compare it"),
            }),
            (Status::Ok, _) => Ok(cell),
            (Status::Unavailable, Some(reason)) => {
                Err(Reason::of(reason.split("; ").next().unwrap_or_default()))
            }
            _ => Err(Reason::of("gave no accepted figure")),
        }
    }

    fn contest(&self, trial: Workload) -> Option<Contest<'a>> {
        let kind = trial.kind(self.wanted.by);
        let read = |entrant: &Entrant<'a>| {
            let cell = entrant.cell(&self.wanted, trial)?;
            Some((cell, kind.reading(cell, self.clock)?))
        };
        let cells = self.entrants.iter().map(read).collect::<Option<_>>()?;
        let fitness = |cell: &Cell| {
            let mut entrants = self.entrants.iter();
            fitness(entrants.find(|one| one.name == cell.key.mechanism).map(|one| one.spec))
        };
        Contest::of(trial, kind, cells, fitness, self.margin)
    }

    /// The entrant to use: the one that is the least far behind where it is the furthest behind. Of those that are proved to
    /// be behind nowhere it is the one that leads in the most contests, and of these the fittest. `None` where nothing may
    /// be said in any contest.
    fn choice(&self) -> Option<usize> {
        let decided: Vec<&Contest> =
            self.contests.iter().filter(|contest| contest.leader.is_some()).collect();
        if decided.is_empty() {
            return None;
        }
        let all = (0..self.entrants.len()).map(|at| {
            let behind = decided.iter().map(|contest| contest.behind(at)).fold(1.0, f64::max);
            let leads = decided.iter().filter(|contest| contest.leader == Some(at)).count();
            let figures: f64 = decided.iter().map(|contest| contest.multiple(at)).product();
            (at, behind, leads, figures)
        });
        let best = all.min_by(|a, b| {
            let fitness = |at: usize| fitness(Some(self.entrants[at].spec));
            let names = || self.entrants[a.0].name.cmp(self.entrants[b.0].name);
            let behind = a.1.total_cmp(&b.1).then(Reverse(a.2).cmp(&Reverse(b.2)));
            let by_fitness = behind.then_with(|| fitness(a.0).cmp(&fitness(b.0)));
            by_fitness.then(a.3.total_cmp(&b.3)).then_with(names)
        });
        best.map(|(at, ..)| at)
    }

    /// Everybody: the chosen one, then the others by their largest ratio to it; where nothing may be said the fittest of the
    /// first contest, then the others by their figures.
    fn ordered(&self, chosen: Option<usize>) -> Vec<Standing> {
        let Some(first) = self.contests.first() else { return Vec::new() };
        let head = chosen.unwrap_or_else(|| first.reference());
        let standing = |at: usize| {
            let ratios = self.contests.iter().filter_map(|contest| contest.relation(at).ratio());
            Standing { at, ratio: chosen.and_then(|_| ratios.reduce(f64::max)) }
        };
        let mut all: Vec<Standing> = (0..self.entrants.len()).map(standing).collect();
        let figures = |one: &Standing| -> f64 {
            self.contests.iter().map(|contest| contest.multiple(one.at)).product()
        };
        all.sort_by(|a, b| {
            let ratio = |one: &Standing| one.ratio.unwrap_or(f64::INFINITY);
            let names = || self.entrants[a.at].name.cmp(self.entrants[b.at].name);
            let by_ratio = (a.at != head).cmp(&(b.at != head)).then(ratio(a).total_cmp(&ratio(b)));
            by_ratio.then_with(|| figures(a).total_cmp(&figures(b))).then_with(names)
        });
        all
    }
}

/// Why a mechanism cannot be chosen.
struct Reason {
    /// What of its facts rules it out.
    need: Option<Need>,
    words: String,
    /// What stands behind its name.
    figure: String,
}

impl Reason {
    fn of(words: impl Into<String>) -> Self {
        Self { need: None, words: words.into(), figure: String::new() }
    }

    fn of_need(need: Need) -> Self {
        let words = match need {
            Need::Messages => "passes no messages (only wake-ups or the latest value)".to_owned(),
            Need::Can(capability) => format!("not {capability}"),
            Need::NoSpin => "spins".to_owned(),
            Need::Across { kind, .. } => match kind {
                Namespace::Net => "ends at the network namespace",
                Namespace::Ipc => "ends at the IPC namespace",
                Namespace::Mnt => "ends at the mount namespace",
                Namespace::Pid => "ends at the PID namespace",
                Namespace::User => "ends at the user namespace",
            }
            .to_owned(),
        };
        Self { need: Some(need), ..Self::of(words) }
    }
}

/// What does not keep up, with what it achieved.
fn behind(cell: &Cell) -> Reason {
    let figure = achieved(cell).map(|rate| format!(" {}", figures::per_second(rate)));
    Reason { figure: figure.unwrap_or_default(), ..Reason::of(BEHIND) }
}

/// Requests that were answered in a second.
pub(crate) fn achieved(cell: &Cell) -> Option<f64> {
    cell.achieved_per_second.as_ref()?.value.filter(|rate| *rate > 0.0)
}

/// Whether messages came faster than they were answered.
pub(crate) fn is_saturated(cell: &Cell) -> bool {
    ROUND_TRIP.of_cell(cell).is_some_and(|time| time.reason.as_deref() == Some(SATURATED))
}

/// A quantile of single operations, ns.
pub(super) fn quantile(cell: &Cell, name: &str) -> Option<f64> {
    cell.times()?.get(name)?.value
}

/// Whether a cell ran as it is where nobody asks for anything else, and at the place that was asked for.
fn is_usual(wanted: &Requirements, cell: &Cell) -> bool {
    (cell.key.idle, cell.key.touch) == (Idle::AsIs, Touch::CacheLine)
        && wanted.placement.is_none_or(|place| place == cell.key.placement)
}

/// Where the cells ran that are looked at: where it was asked for, else on two CPUs, if that was measured.
fn basis(set: &ResultSet, wanted: &Requirements) -> Option<Basis> {
    let trials = Workload::all(wanted, &wanted.deciding());
    let is_asked = |cell: &&Cell| {
        is_usual(wanted, cell) && trials.iter().any(|trial| trial.is_of(wanted, cell))
    };
    let rank = |cell: &&Cell| (cell.status != Status::Ok, place_order(cell.key.placement));
    set.cells.iter().filter(is_asked).min_by_key(rank).map(Basis::of)
}

/// What a document does not have of what decides: a size, a rate or pauses; `None` where it has all of it.
pub(super) fn lacking(set: &ResultSet, wanted: &Requirements) -> Option<String> {
    let usual = || set.cells.iter().filter(move |cell| is_usual(wanted, cell));
    let trials = Workload::all(wanted, &wanted.deciding()).into_iter();
    let mut trials = trials.chain(Workload::all(wanted, &wanted.limited()));
    let missing = trials.find(|trial| !usual().any(|cell| trial.is_of(wanted, cell)))?;
    let load = wanted.load(missing.pattern);
    let is_alike = |cell: &&Cell| cell.key.pattern == missing.pattern && cell.key.load == load;
    let mut sizes: Vec<u64> = usual().filter(is_alike).map(|cell| cell.key.size_bytes).collect();
    sizes.retain(|size| *size > 0);
    sizes.sort_unstable();
    sizes.dedup();
    let known: Vec<String> = sizes.into_iter().map(figures::size).collect();
    let what = missing.words(wanted);
    let pattern = missing.pattern;
    Some(match known.as_slice() {
        [] => format!("the pattern {pattern} was not measured for {what}, nor for any other size"),
        known => format!(
            "the pattern {pattern} was not measured for {what}, only for {}",
            text::join(known)
        ),
    })
}

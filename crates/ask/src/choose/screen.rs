//! Which mechanism to take, for what somebody said is needed: the choice, why not another, and what would change it.

mod contest;
pub(crate) mod field;
mod front;
pub(crate) mod pace;
mod said;
#[cfg(test)]
mod tests;
mod trial;
mod views;

use crate::results::advice::{at_grade_f, has_places, without_p99};
use crate::results::answers::{caveats, modes};
use crate::results::chapters::name;
use crate::results::fittest::{FAMILIAR, fitness};
use crate::results::pictures::{Anchors, Mechanism, mechanisms};
use crate::results::table::{grade_words, masthead};
use contest::Contest;
use field::{Entrant, Field, LeftOut, Standing};
use ipcperf_core::result::{Attempt, Cell, Goal, Need, Requirements, ResultSet, Status};
use ipcperf_core::units::{format_bytes, format_per_second};
use ipcperf_core::{BackPressure, KnobValue, LoadKey, PatternKind, Spec};
use ipcperf_judge::{MetricKind, Reading, Relation, Relations, figures, percent};
use ipcperf_kit::document::Screen;
use ipcperf_kit::document::Specs;
use ipcperf_render::doc::{Chart, Doc, Line, Section, Tone};
use ipcperf_render::{Style, text};
use pace::Pace;
use trial::{Workload, in_flight, load_words};
use views::{cores, cores_words};

/// Most rows of the tables of all sizes together: with all that stands around them a screen of 40 lines.
const ROWS: usize = 9;

/// Most mechanisms of the picture of a page.
const DRAWN: usize = 12;

/// Most sizes with a table, most reasons, most names of a reason, and most lines of what would change the choice.
const SIZES: usize = 3;
const REASONS: usize = 7;
const REASON_NAMES: usize = 3;
const CHANGES: usize = 4;

/// Most names of those that somebody asked about and that are not chosen.
const ASKED: usize = 8;

/// Most names of those that are as fast as the choice, or undecided.
const NEAR: usize = 6;

const UNCHANGED: &str =
    "Nothing that was measured: no other size, goal or requirement makes another certainly better.";

/// What a document lacks that the choice needs; `None` where it has all of it.
#[must_use]
pub(crate) fn lacking(set: &ResultSet, wanted: &Requirements) -> Option<String> {
    field::lacking(set, wanted)
}

/// The mechanism that is chosen by what a document was asked for; `None` where nothing may be said of any two, or where
/// none meets the needs.
#[must_use]
pub(crate) fn chosen(set: &ResultSet, specs: &Specs) -> Option<&'static Spec> {
    let field = Field::of(set, set.invocation.plan.requirements.as_ref()?, specs);
    let choice = Choice { set, specs, field: &field };
    choice.chosen().map(|standing| choice.entrant(standing).spec)
}

/// Whether some mechanism meets all that a document was asked for.
#[must_use]
pub(crate) fn is_met(set: &ResultSet, specs: &Specs) -> bool {
    let wanted = set.invocation.plan.requirements.as_ref();
    wanted.is_some_and(|wanted| !Field::of(set, wanted, specs).standings.is_empty())
}

/// The screen of a choice.
pub(crate) const SCREEN: Screen = Screen::new(|set, specs, style| {
    let wanted = set.invocation.plan.requirements.as_ref()?;
    Some(doc(set, wanted, specs, style))
});

/// The choice, and what can be said of it; all of that where the style is verbose.
fn doc(set: &ResultSet, wanted: &Requirements, specs: &Specs, style: &Style) -> Doc {
    let field = Field::of(set, wanted, specs);
    let choice = Choice { set, specs, field: &field };
    let most = |most: usize| if style.verbose { usize::MAX } else { most };
    let mut doc = choice.head(most(NEAR));
    if style.pictures {
        // A page begins with a sentence.
        for (word, in_a_sentence) in [("USE ", "Use "), ("UNDECIDED", "Undecided")] {
            doc.headline = doc.headline.replacen(word, in_a_sentence, 1);
        }
        doc.picture = choice.picture(&Anchors::of(set, style));
    }
    let sizes = wanted.sizes.iter().take(most(SIZES));
    let last = sizes.clone().next_back();
    let rows = (ROWS / wanted.sizes.len().clamp(1, SIZES)).max(2);
    let mut fronts: Vec<Section> =
        sizes.filter_map(|size| choice.front(*size, most(rows), last == Some(size))).collect();
    if let Some(last) = fronts.last_mut() {
        last.body.lines(choice.tails().map(|words| Line::new(Tone::Quiet, words)));
    }
    let names = if wanted.among.is_empty() { REASON_NAMES } else { ASKED };
    let body = &mut doc.body;
    fronts.into_iter().for_each(|front| body.add(front));
    let chosen = choice.chosen().map(|chosen| choice.entrant(chosen).name).unwrap_or_default();
    body.section(format!("Not chosen, next to {chosen}"), |body| {
        body.lines(choice.not_chosen(most(ASKED)));
    });
    body.section("Left out", |body| {
        let most = |most: usize| if style.is_whole() { usize::MAX } else { most };
        body.lines(left_out(&field.left_out, most(REASONS), most(names)));
    });
    body.section("What would change it", |body| body.lines(choice.changes(most(CHANGES))));
    if let Some(chosen) = choice.chosen() {
        let name = choice.entrant(chosen).spec.name;
        body.section(format!("Knobs of {name}"), |body| body.lines(choice.knobs(most(CHANGES))));
    }
    body.space();
    body.lines(choice.next());
    doc
}

/// Who is left out: some reasons and some names of each, the known ones first.
fn left_out(groups: &[LeftOut], most: usize, most_names: usize) -> Vec<Line> {
    let mut lines: Vec<Line> = Vec::new();
    for group in groups.iter().take(most) {
        let mut names = group.names.clone();
        names.sort_by_key(|name| {
            let word = name.split(' ').next().unwrap_or_default();
            FAMILIAR.iter().position(|known| *known == word).unwrap_or(usize::MAX)
        });
        let more = names.len().saturating_sub(most_names);
        names.truncate(most_names);
        let names = names.join(", ");
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        lines.push(Line::from(format!("{}: {names}{more}", group.reason)));
    }
    let more = groups.len().saturating_sub(most);
    if more > 0 {
        let reasons = text::counted(more as u64, "more reason");
        lines.push(Line::new(Tone::Quiet, format!("and {reasons}")));
    }
    lines
}

#[derive(Clone, Copy)]
struct Choice<'a> {
    set: &'a ResultSet,
    specs: &'a Specs<'a>,
    field: &'a Field<'a>,
}

impl<'a> Choice<'a> {
    fn wanted(&self) -> &'a Requirements {
        &self.field.wanted
    }

    fn entrant(&self, standing: &Standing) -> &'a Entrant<'a> {
        &self.field.entrants[standing.at]
    }

    /// The one that is chosen; `None` where nothing may be said of any two. Noise of grade F leaves it open who keeps a limit
    /// of the p99.
    fn chosen(&self) -> Option<&'a Standing> {
        let is_open = !has_places(self.set) && self.wanted().has_limit();
        self.field.standings.first().filter(|_| self.field.is_decided && !is_open)
    }

    /// The cell that speaks for an entrant.
    fn cell(&self, entrant: &Entrant<'a>) -> Option<&'a Cell> {
        entrant.cell(self.wanted(), self.field.contests.first()?.trial)
    }

    fn name(&self, entrant: &Entrant<'a>) -> String {
        self.cell(entrant).map_or_else(|| entrant.name.to_owned(), name)
    }

    /// The choice in words, and what was asked for with it.
    fn head(&self, most: usize) -> Doc {
        let wanted = self.wanted();
        let sizes: Vec<String> = wanted.sizes.iter().map(|size| figures::size(*size)).collect();
        let loads: Vec<String> = wanted
            .timed()
            .into_iter()
            .map(|pattern| load_words(wanted, pattern).trim().to_owned())
            .filter(|words| !words.is_empty())
            .collect();
        let load =
            if loads.is_empty() { String::new() } else { format!(" {}", text::join(&loads)) };
        let basis = self.field.basis.as_ref().map(|basis| format!(" {}", basis.words()));
        let basis = basis.unwrap_or_default();
        let flight = in_flight(wanted);
        let what = format!("{}{load}{basis}", text::join(&sizes));
        let mut needs: Vec<&str> = wanted
            .needs()
            .into_iter()
            .filter(|need| *need != Need::Messages)
            .map(Need::words)
            .collect();
        let limit = |(name, limit)| format!("{name} of at most {}", figures::nanos(limit));
        let limits: Vec<String> = wanted.limits().map(limit).collect();
        needs.extend(limits.iter().map(String::as_str));
        let needs = match needs.as_slice() {
            [] => String::new(),
            needs => format!("Needed: {}. ", needs.join(", ")),
        };
        let others = wanted.goals().iter().filter(|goal| **goal != wanted.by);
        let others: Vec<String> = others.map(ToString::to_string).collect();
        let by = goal_words(wanted.by);
        let mut contests = self.field.contests.iter();
        let is_same = contests.any(|contest| contest.relations().is_chosen_by_same_rounds());
        let same = match is_same && self.chosen().is_some() {
            true => " The choice and the ratios come from the same rounds.",
            false => "",
        };
        let words = format!("{needs}Ranked by {by} (--by has {}, too).{same}", text::join(&others));
        let winner = self.winner();
        let headline = match (&winner, self.field.standings.as_slice()) {
            (Some([name, figure, _]), _) if figure.is_empty() => {
                format!("USE {name}{flight} for {what}")
            }
            (Some([name, figure, _]), _) => format!("USE {name}{flight}: {figure} for {what}"),
            (None, _) if !has_places(self.set) && wanted.has_limit() => {
                let limits: Vec<&str> = wanted.limits().map(|(name, _)| name).collect();
                let limits = limits.join(" or ");
                format!("UNDECIDED for {what}{flight}: at noise grade F no {limits} can be judged")
            }
            (None, []) => format!("No mechanism meets all of this for {what}{flight}"),
            (None, _) => {
                let [between, tell] = self.undecided();
                format!("UNDECIDED{between} for {what}{flight}{tell}")
            }
        };
        let mut doc = Doc::new(headline);
        let body = &mut doc.body;
        if let Some([_, _, notes]) = winner.filter(|[_, _, notes]| !notes.is_empty()) {
            body.say(Tone::Best, notes);
        }
        let doubts = at_grade_f(self.set).into_iter().chain(self.why_undecided());
        doubts.for_each(|words| body.say(Tone::Doubt, words));
        body.lines(self.others(most));
        body.lines(self.spinning().map(Line::from));
        if self.field.standings.is_empty() {
            let pace = Pace::of(self.set, self.wanted(), self.specs);
            body.lines(pace.map(|pace| Line::from(pace.achieved())));
        }
        body.lines(attempts(wanted).map(Line::from));
        body.say(Tone::Quiet, words);
        body.lines(masthead(self.set).into_iter().map(|words| Line::new(Tone::Quiet, words)));
        if has_places(self.set) {
            body.say(Tone::Quiet, grade_words(&self.set.noise));
        }
        doc
    }

    /// What the choice is decided by, of those that meet all of it.
    fn picture(&self, anchors: &Anchors) -> Option<Chart> {
        let contest = self.field.contests.first()?;
        let (trial, kind) = (contest.trial, contest.kind);
        let chosen = self.chosen().map(|chosen| chosen.at);
        let rows = self.field.standings.iter().take(DRAWN).filter_map(|standing| {
            Some(Mechanism {
                cell: self.entrant(standing).cell(self.wanted(), trial)?,
                elsewhere: None,
                is_reference: chosen == Some(standing.at),
            })
        });
        let title = format!("{}, {}", trial.pattern.facts().title, trial.words(self.wanted()));
        let by = match self.wanted().by {
            Goal::P50 => "p50",
            Goal::P99 => "p99",
            Goal::P999 => "p99.9",
            Goal::Cpu => "CPU/msg",
            Goal::Throughput => "rate",
        };
        mechanisms((title, kind), [by, ""], &rows.collect::<Vec<_>>(), anchors)
    }

    /// Who is chosen with its figure, and what one should know.
    fn winner(&self) -> Option<[String; 3]> {
        let chosen = self.chosen()?;
        let entrant = self.entrant(chosen);
        let (cell, contest) = self.cell(entrant).zip(self.field.contests.first())?;
        let mut notes = caveats(cell, Some(entrant.spec));
        if entrant.spec.back_pressure == BackPressure::Drops {
            notes.push("drops what does not fit".to_owned());
        }
        if self.wanted().is_by_name() && is_pair(cell) {
            notes.push(
                "measured as a socket pair; with a name the data path is the same".to_owned(),
            );
        }
        let at_rate = |rate: f64| {
            let cores = self.field.wanted.sizes.iter().filter_map(|size| {
                let of = |pattern| entrant.cell(self.wanted(), Workload { pattern, size: *size });
                of(PatternKind::Rate)?.figure()?.value?;
                cores(of(PatternKind::PingPong)?, rate)
            });
            let most = cores.reduce(f64::max)?;
            Some(format!("{} CPU at {}", cores_words(most), format_per_second(rate)))
        };
        if has_places(self.set) {
            notes.extend(self.wanted().rate_per_second.and_then(at_rate));
            notes.extend(modes(cell, contest.kind));
        }
        notes.extend(self.replaced(chosen).into_iter().chain(self.nowhere_best(chosen)));
        let figure = self.figure(chosen);
        let figure = figure.trim_start_matches(", ").to_owned();
        Some([self.name(entrant), figure, notes.join("; ")])
    }

    /// How much faster it is than the reference that it takes the place of.
    fn replaced(&self, chosen: &Standing) -> Option<String> {
        let [contest] = self.field.contests.as_slice() else { return None };
        let former = contest.reference();
        if former == chosen.at {
            return None;
        }
        // That of the contest is next to its own reference.
        let words = contest.to_reference(chosen.at).words(self.field.margin);
        Some(format!("{words} than the reference, {}", self.field.entrants[former].name))
    }

    /// Where it is proved to be the furthest behind.
    fn nowhere_best(&self, chosen: &Standing) -> Option<String> {
        let decided = self.field.contests.iter();
        let decided = decided.filter(|contest| contest.to_leader(chosen.at).is_slower());
        let worst = decided.max_by(|a, b| a.behind(chosen.at).total_cmp(&b.behind(chosen.at)))?;
        let words = self.words(worst.to_leader(chosen.at));
        let leader = self.field.entrants[worst.leader?].name;
        Some(format!(
            "nothing is best in everything; at the worst, for {}, this is {words} than {leader}",
            worst.trial.words(self.wanted())
        ))
    }

    /// `, 72.1 us (64 B)`: the first of its figures that decide.
    fn figure(&self, standing: &Standing) -> String {
        let Some(contest) = self.field.contests.first() else { return String::new() };
        let figure = self.figure_in(contest, standing.at);
        match (figure.is_empty(), self.of(contest, "")) {
            (false, of) if !of.is_empty() => format!("{figure} ({of})"),
            _ => figure,
        }
    }

    /// The best of those that spin, where it was not the choice.
    fn spinning(&self) -> Option<String> {
        let beside = Choice { field: self.field.spinning.as_deref()?, ..*self };
        let entrant = beside.entrant(beside.chosen()?);
        let cell = beside.cell(entrant)?;
        let figure = beside.figure(beside.chosen()?);
        let notes = caveats(cell, Some(entrant.spec)).join("; ");
        Some(format!(
            "If ends may spin: {}{figure}; {notes} (-m {})",
            beside.name(entrant),
            entrant.name
        ))
    }

    /// Why some of them have no p99.
    fn tails(&self) -> Option<String> {
        // Messages to consumers have no answers, so no times were asked for.
        if self.wanted().consumers > 0 {
            return None;
        }
        let trials = Workload::all(self.wanted(), &self.wanted().timed());
        let of = |trial: &Workload| {
            let cells = self.field.standings.iter();
            let trial = *trial;
            cells.filter_map(move |one| self.entrant(one).cell(self.wanted(), trial))
        };
        without_p99(self.set, trials.iter().flat_map(of))
    }

    /// What would change the choice.
    fn changes(&self, most: usize) -> Vec<Line> {
        let Some(chosen) = self.chosen() else { return self.nearest() };
        let wanted = self.wanted();
        let mut changes: Vec<String> = Vec::new();
        for contest in &self.field.contests {
            let best = self.fastest(contest, contest.relations());
            changes.extend(best.map(|best| {
                let name = self.name(&self.field.entrants[best]);
                let words = self.words(contest.relation(best));
                let figures = self.figures_in(contest, best, chosen.at);
                format!("{}: {name}, {words}{figures}", contest.trial.words(wanted))
            }));
        }
        let needs = wanted.needs().into_iter().filter(|need| *need != Need::Messages);
        for need in needs {
            let without = format!("without {}", need.words());
            changes.extend(match need {
                Need::NoSpin => self.without_no_spin(&without),
                _ => self.other(&wanted.without(need), &without),
            });
        }
        for (name, _) in wanted.limits() {
            changes.extend(self.other(&without_limit(wanted, name), &format!("without --{name}")));
        }
        for by in wanted.goals().iter().filter(|by| **by != wanted.by) {
            let other = Requirements { by: *by, ..wanted.clone() };
            changes.extend(self.other(&other, &format!("with --by {by}")));
        }
        changes.truncate(most);
        if changes.is_empty() {
            changes.push(UNCHANGED.to_owned());
        }
        changes.into_iter().map(Line::from).collect()
    }

    /// Of those that are proved to be faster than the reference, the one with the best figure.
    fn fastest(&self, contest: &Contest, relations: &Relations) -> Option<usize> {
        let is_faster = |one: &usize| relations.relation(*one).is_faster();
        (0..self.field.entrants.len()).filter(is_faster).min_by(|a, b| contest.order(*a, *b))
    }

    /// Where nothing meets all of it: what would be chosen with one requirement less.
    fn nearest(&self) -> Vec<Line> {
        let is_measured = self.set.cells.iter().any(|cell| cell.status == Status::Ok);
        let is_open = !has_places(self.set) && self.wanted().has_limit();
        if !self.field.standings.is_empty() || is_open || !is_measured {
            return Vec::new();
        }
        let wanted = self.wanted();
        let needs = wanted.needs().into_iter().filter(|need| *need != Need::Messages);
        let mut less: Vec<(String, Requirements)> =
            needs.map(|need| (need.words().to_owned(), wanted.without(need))).collect();
        less.extend(
            wanted.limits().map(|(name, _)| (format!("--{name}"), without_limit(wanted, name))),
        );
        if wanted.rate_per_second.is_some() && wanted.attempts.is_empty() {
            let slower = Requirements { rate_per_second: None, ..wanted.clone() };
            less.push(("--rate".to_owned(), slower));
        }
        let found = less.iter().filter_map(|(what, wanted)| {
            let field = Field::of(self.set, wanted, self.specs);
            let best = field.standings.first().filter(|_| field.is_decided)?.at;
            let contest = field.contests.first()?;
            let name = field.entrants[best].cell(wanted, contest.trial).map(name)?;
            let trial = contest.trial.words(wanted);
            let figure = self.figure_in(contest, best);
            Some(format!("without {what}: {name}{figure} ({trial})"))
        });
        let mut found: Vec<String> = found.collect();
        if found.is_empty() {
            found.push("To drop any one requirement is not enough.".to_owned());
        }
        found.splice(
            0..0,
            Pace::of(self.set, self.wanted(), self.specs)
                .into_iter()
                .flat_map(|pace| pace.remedies()),
        );
        found.into_iter().map(Line::from).collect()
    }

    /// Who of those that meet other requirements is proved to be better than the chosen one somewhere; the first of them.
    fn other(&self, wanted: &Requirements, when: &str) -> Option<String> {
        let own = self.entrant(self.chosen()?).name;
        let field = Field::of(self.set, wanted, self.specs);
        let other = Choice { field: &field, ..*self };
        let Some(own) = field.entrants.iter().position(|entrant| entrant.name == own) else {
            // It spins, and somebody who does not is enough then.
            let best = other.chosen()?;
            let (name, figure) = (other.name(other.entrant(best)), other.figure(best));
            return Some(format!("{when}: {name}{figure}, which does not spin"));
        };
        let decided = field.contests.iter().filter(|contest| contest.leader.is_some());
        let next_to_own: Vec<(&Contest, Relations)> =
            decided.map(|contest| (contest, contest.next_to(own))).collect();
        let (best, contest, relation) = field.standings.iter().find_map(|one| {
            let (contest, relations) =
                next_to_own.iter().find(|(_, relations)| relations.relation(one.at).is_faster())?;
            Some((one.at, *contest, relations.relation(one.at)))
        })?;
        let entrant = &field.entrants[best];
        let name = entrant.cell(wanted, contest.trial).map_or_else(String::new, name);
        let (words, figures) = (self.words(relation), self.figures_in(contest, best, own));
        let what = contest.trial.words(wanted);
        Some(format!("{when}: {name}, {words}{figures} ({what})"))
    }

    /// The best of those that spin, if they may.
    fn without_no_spin(&self, when: &str) -> Option<String> {
        let field = Field::of(self.set, &self.wanted().without(Need::NoSpin), self.specs);
        let other = Choice { field: field.spinning.as_deref()?, ..*self };
        let best = other.chosen()?;
        let (name, figure) = (other.name(other.entrant(best)), other.figure(best));
        Some(format!("{when}: {name}{figure}"))
    }

    /// Knobs of the chosen one that were measured.
    fn knobs(&self, most: usize) -> Vec<Line> {
        let Some(chosen) = self.chosen() else { return Vec::new() };
        let wanted = self.wanted();
        let entrant = self.entrant(chosen);
        let (mut matter, mut others): (Vec<String>, Vec<(String, Relation)>) =
            (Vec::new(), Vec::new());
        let mut patterns = wanted.deciding();
        if !patterns.contains(&PatternKind::Stream) {
            patterns.push(PatternKind::Stream);
        }
        for trial in Workload::all(wanted, &patterns) {
            let Some(base) = entrant.cell(wanted, trial) else { continue };
            let kind = trial.kind(wanted.by);
            let read = |cell| kind.reading(cell, &self.set.clock).map(|one| (cell, one));
            let Some(base_read) = read(base) else { continue };
            let (mut knobs, mut cells) = (Vec::new(), vec![base_read]);
            for (turned, cell) in entrant.turned(base) {
                if let Some(read) = read(cell) {
                    knobs.push(turned);
                    cells.push(read);
                }
            }
            let relations = self.relations_of_knobs(kind, &cells);
            for (at, turned) in knobs.into_iter().enumerate() {
                let relation = relations.relation(at + 1);
                if relation.is_slower() || relation.is_faster() {
                    let figure = |(_, one): &(&Cell, Reading)| kind.words(one.value, trial.size);
                    let figures = match has_places(self.set) {
                        true => {
                            format!(", {} and not {}", figure(&cells[at + 1]), figure(&cells[0]))
                        }
                        false => String::new(),
                    };
                    let words = self.words(relation);
                    let what = trial.words(wanted);
                    matter.push(format!("{turned}: {words}{figures} ({what})"));
                } else {
                    others.push((turned, relation));
                }
            }
        }
        others.retain(|(knob, _)| !matter.iter().any(|line| line.starts_with(&format!("{knob}:"))));
        matter.truncate(most);
        let mut lines: Vec<Line> = matter.into_iter().map(Line::from).collect();
        // Undecided in one contest comes before as fast in another.
        let is_equal =
            |(_, relation): &&(String, Relation)| relation.is_as_fast() && has_places(self.set);
        let names = |all: Vec<&(String, Relation)>| {
            text::each_once(all.into_iter().map(|(knob, _)| knob.clone())).join(", ")
        };
        let (equal, open): (Vec<_>, Vec<_>) = others.iter().partition(is_equal);
        let open = names(open);
        let equal = names(
            equal
                .into_iter()
                .filter(|(knob, _)| !open.split(", ").any(|one| one == knob))
                .collect(),
        );
        let margin = percent(self.field.margin);
        for (what, names) in
            [(format!("as fast (within {margin})"), equal), ("undecided".to_owned(), open)]
        {
            if !names.is_empty() {
                lines.push(Line::new(Tone::Quiet, format!("{what}: {names}")));
            }
        }
        lines
    }

    /// Cells with knobs turned next to the first, without.
    fn relations_of_knobs(&self, kind: MetricKind, cells: &[(&Cell, Reading)]) -> Relations {
        Relations::next_to(kind, cells, 0, |_| fitness(None), self.field.margin)
    }

    /// Where to go from a screen.
    fn next(&self) -> Vec<Line> {
        let all = "All figures, and all that is left out: ipcperf report FILE --full".to_owned();
        let next = self.chosen().map(|chosen| {
            format!("Next: ipcperf describe {}", self.entrant(chosen).spec.full_name())
        });
        [all].into_iter().chain(self.with_several()).chain(next).map(Line::from).collect()
    }

    /// The command that measures several requests in flight, where the choice has them.
    fn with_several(&self) -> Option<String> {
        let wanted = self.wanted();
        let name = self.entrant(self.chosen()?).spec.full_name();
        let load = wanted.load(PatternKind::Serve);
        let keys = [LoadKey::Rate, LoadKey::Conns, LoadKey::Inflight].into_iter();
        let keys = keys.filter(|key| *key != LoadKey::Conns || wanted.conns > 0);
        let words: Vec<String> =
            keys.filter_map(|key| Some(format!("--{key} {}", load.value(key)?))).collect();
        let size = wanted.sizes.first().map(|size| format_bytes(*size)).unwrap_or_default();
        let words = words.join(" ");
        (wanted.inflight > 0)
            .then(|| format!("The same load: ipcperf run -m {name} -p serve -s {size} {words}"))
    }
}

/// The same with any p99, or with any p99.9.
fn without_limit(wanted: &Requirements, name: &str) -> Requirements {
    match name {
        "p99" => Requirements { p99_ns: None, ..wanted.clone() },
        _ => Requirements { p999_ns: None, ..wanted.clone() },
    }
}

/// The first and the last that did not reach the rate: `Not enough for 20.0 k/s: tcp with 1 request in flight 11.0 k/s.`
fn attempts(wanted: &Requirements) -> Option<String> {
    let wanted_rate = wanted.rate_per_second?;
    let answered = |one: &Attempt| {
        let of = in_flight(&Requirements {
            inflight: one.inflight,
            conns: if one.conns > 1 { one.conns } else { 0 },
            ..wanted.clone()
        });
        let over = match one.conns {
            0 | 1 => String::new(),
            conns => format!(" over {conns} connections"),
        };
        let rate = match figures::per_second(one.achieved_per_second.min(wanted_rate)) {
            // Slices that begin with requests of the warm-up answer more than came in them.
            same if same == figures::per_second(wanted_rate) => {
                ", which falls behind at times".into()
            }
            less => format!(" {less}"),
        };
        format!("{}{of}{over}{rate}", one.mechanism)
    };
    let (first, last) = (wanted.attempts.first()?, wanted.attempts.last()?);
    let rate = figures::per_second(wanted_rate);
    let more = match wanted.attempts.len() {
        1 => String::new(),
        _ => format!(", {}", answered(last)),
    };
    Some(format!("Not enough for {rate}: {}{more}.", answered(first)))
}

/// Whether it was measured as a pair of sockets, which only relatives share.
fn is_pair(cell: &Cell) -> bool {
    let is_word =
        |value: &KnobValue| matches!(value, KnobValue::Word(word) if word == "socketpair");
    let mut knobs = cell.knobs.iter().filter(|(name, _)| name.ends_with(".bind"));
    knobs.any(|(_, reading)| reading.effective.as_ref().is_some_and(is_word))
}

fn goal_words(by: Goal) -> &'static str {
    match by {
        Goal::P50 => "the median time",
        Goal::P99 => "the p99 of the times",
        Goal::P999 => "the p99.9 of the times",
        Goal::Cpu => "CPU time for a message",
        Goal::Throughput => "throughput",
    }
}

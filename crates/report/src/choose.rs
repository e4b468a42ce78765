//! Which mechanism to take, for what somebody said is needed: the choice, why not another, and what would change it.

mod field;
mod pace;
#[cfg(test)]
mod tests;
mod views;

use crate::advice::{caution, has_places, without_p99};
use crate::answers::{caveats, modes, ties};
use crate::chapters::{marked_name, name};
use crate::figures;
use crate::fittest::{FAMILIAR, merits};
use crate::judge::{MetricKind, Ranking, Ratio};
use crate::table::{grade_words, masthead};
use crate::{Specs, Style, text};
use field::{Contest, Entrant, Field, LeftOut, Standing, Trial, dominates, load_words};
use ipcperf_core::result::{Cell, Goal, Need, Requirements, ResultSet, Status};
use ipcperf_core::units::format_per_second;
use ipcperf_core::{BackPressure, KnobValue, PatternKind, Spec};
use ipcperf_render::doc::{Column, Doc, Line, Row, Section, Table, Tone};
use pace::Pace;
use views::{View, What, cores, cores_words, idle_words, views};

/// Most rows of the tables of all sizes together: with all that stands around them a screen of 40 lines.
const ROWS: usize = 9;

/// Most sizes with a table, most reasons, most names of a reason, and most lines of what would change the choice.
const SIZES: usize = 3;
const REASONS: usize = 7;
const NAMES: usize = 3;
const CHANGES: usize = 4;

/// Most names of those that somebody asked about and that are not chosen.
const ASKED: usize = 8;

/// Most names of those that tie.
const TIED: usize = 6;

/// What is said where no round has a p99 of its own.
const TAILS_TIE: &str = "No order can be given: a round needs 2,000 operations for a p99 of its own, so that all tie. \
                         A longer --budget or fewer mechanisms (-m) help.";

const UNCHANGED: &str =
    "Nothing that was measured: no other size, goal or requirement makes another certainly better.";

/// What a document lacks that the choice needs; `None` where it has all of it.
#[must_use]
pub fn lacking(set: &ResultSet, wanted: &Requirements) -> Option<String> {
    field::lacking(set, wanted)
}

/// The mechanism that is chosen by what a document was asked for; nobody where the noise supports no claim, or where
/// nobody meets the needs.
#[must_use]
pub fn chosen(set: &ResultSet, specs: &Specs) -> Option<&'static Spec> {
    let field = Field::of(set, set.invocation.plan.requirements.as_ref()?, specs);
    let choice = Choice { set, specs, field: &field };
    choice.chosen().map(|standing| choice.entrant(standing).spec)
}

/// Whether some mechanism meets all that a document was asked for.
#[must_use]
pub fn is_met(set: &ResultSet, specs: &Specs) -> bool {
    let wanted = set.invocation.plan.requirements.as_ref();
    wanted.is_some_and(|wanted| !Field::of(set, wanted, specs).standings.is_empty())
}

/// The choice, and what can be said of it; all of that where the style is verbose.
pub(crate) fn doc(set: &ResultSet, wanted: &Requirements, specs: &Specs, style: &Style) -> Doc {
    let field = Field::of(set, wanted, specs);
    let choice = Choice { set, specs, field: &field };
    let most = |most: usize| if style.verbose { usize::MAX } else { most };
    let mut doc = choice.head(most(TIED));
    let sizes = wanted.sizes.iter().take(most(SIZES));
    let rows = (ROWS / wanted.sizes.len().clamp(1, SIZES)).max(2);
    let mut fronts: Vec<Section> =
        sizes.filter_map(|size| choice.front(*size, most(rows))).collect();
    if let Some(last) = fronts.last_mut() {
        let notes = choice.tails().into_iter().chain(choice.idle_legend());
        last.body.lines(notes.map(|words| Line::new(Tone::Quiet, words)));
    }
    let names = if wanted.among.is_empty() { NAMES } else { ASKED };
    let body = &mut doc.body;
    fronts.into_iter().for_each(|front| body.add(front));
    body.section("Not chosen", |body| body.lines(choice.not_chosen(most(ASKED))));
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

    /// The one that is chosen; nobody where the noise supports no claim.
    fn chosen(&self) -> Option<&'a Standing> {
        self.field.standings.first().filter(|_| has_places(self.set))
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
        let what = format!("{}{load}{basis}", text::join(&sizes));
        let mut needs: Vec<&str> = wanted
            .needs()
            .into_iter()
            .filter(|need| *need != Need::Messages)
            .map(Need::words)
            .collect();
        let limit = wanted.p99_ns.map(|limit| format!("p99 of at most {}", figures::nanos(limit)));
        needs.extend(limit.as_deref());
        let needs = match needs.as_slice() {
            [] => String::new(),
            needs => format!("Needed: {}. ", needs.join(", ")),
        };
        let others = wanted.goals().iter().filter(|goal| **goal != wanted.by);
        let others: Vec<String> = others.map(ToString::to_string).collect();
        let by = goal_words(wanted.by);
        let words = format!("{needs}Ranked by {by} (--by has {}, too).", text::join(&others));
        let headline = match (self.winner(), self.field.standings.as_slice()) {
            (Some([name, figure, _]), _) => format!("{name}: {figure} for {what}"),
            (None, []) => format!("No mechanism meets all of this for {what}"),
            (None, _) => format!("No choice for {what}"),
        };
        let mut doc = Doc::new(headline);
        let body = &mut doc.body;
        if let Some([_, _, notes]) = self.winner().filter(|[_, _, notes]| !notes.is_empty()) {
            body.say(Tone::Best, notes);
        }
        let cells = self.field.standings.iter().filter_map(|one| self.cell(self.entrant(one)));
        if let Some(caution) = caution(self.set) {
            body.say(Tone::Doubt, caution);
        } else if wanted.by == Goal::P99
            && cells.clone().all(|cell| !MetricKind::P99.has_enough_rounds(cell))
        {
            body.say(Tone::Doubt, TAILS_TIE);
        }
        let said = self.tie(most).into_iter().chain(self.spinning());
        body.lines(said.map(Line::from));
        if self.field.standings.is_empty() {
            let pace = Pace::of(self.set, self.wanted(), self.specs);
            body.lines(pace.map(|pace| Line::from(pace.achieved())));
        }
        body.say(Tone::Quiet, words);
        body.lines(masthead(self.set).into_iter().map(|words| Line::new(Tone::Quiet, words)));
        body.say(Tone::Quiet, grade_words(&self.set.noise));
        doc
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
                let of = |pattern| entrant.cell(self.wanted(), Trial { pattern, size: *size });
                of(PatternKind::Rate)?.figure()?.value?;
                cores(of(PatternKind::PingPong)?, rate)
            });
            let most = cores.reduce(f64::max)?;
            Some(format!("{} CPU at {}", cores_words(most), format_per_second(rate)))
        };
        notes.extend(self.wanted().rate_per_second.and_then(at_rate));
        notes.extend(modes(cell, contest.kind));
        if chosen.behind > 1.0 {
            // Where nobody is certainly better, too: the tables show those figures.
            let ratios = self.field.contests.iter().map(|contest| contest.ratio(chosen.at));
            let most = figures::times(ratios.fold(1.0, f64::max));
            notes.push(format!(
                "nothing is best in everything; this is never more than {most} the best"
            ));
        }
        Some([self.name(entrant), self.figure(chosen)?, notes.join("; ")])
    }

    /// The first of its figures that decide.
    fn figure(&self, standing: &Standing) -> Option<String> {
        let contest = self.field.contests.first()?;
        let of = match self.field.contests.len() {
            1 => String::new(),
            _ => format!(" ({})", contest.trial.words(self.wanted())),
        };
        Some(format!("{}{of}", contest.figure(standing.at)))
    }

    /// Who else is as good as the one that is chosen, and what decided; too few rounds for any order are told above.
    fn tie(&self, most: usize) -> Option<String> {
        let (chosen, contest) = self.chosen().zip(self.field.contests.first())?;
        let ties = ties(&self.tied(chosen), most).filter(|_| chosen.behind <= 1.0)?;
        let merits = match merits(self.entrant(chosen).spec) {
            merits if merits.is_empty() => "what is usual".to_owned(),
            merits => format!("what it can do ({merits})"),
        };
        let mut cells = self.field.standings.iter().filter_map(|one| self.cell(self.entrant(one)));
        let why = match cells.any(|cell| contest.kind.has_enough_rounds(cell)) {
            true => format!(
                ": {} differs by less than 3 %, or its order is not certain in these rounds; a longer --budget may tell",
                goal_words(self.wanted().by)
            ),
            false => String::new(),
        };
        Some(format!("It {ties}{why}. Chosen for {merits}."))
    }

    /// The best of those that spin, where it was not the choice.
    fn spinning(&self) -> Option<String> {
        let beside = Choice { field: self.field.spinning.as_deref()?, ..*self };
        let entrant = beside.entrant(beside.chosen()?);
        let cell = beside.cell(entrant)?;
        let figure = beside.figure(beside.chosen()?)?;
        let notes = caveats(cell, Some(entrant.spec)).join("; ");
        Some(format!(
            "If ends may spin: {}, {figure}; {notes} (-m {})",
            beside.name(entrant),
            entrant.name
        ))
    }

    /// Those that are certainly worse nowhere either.
    fn tied(&self, chosen: &Standing) -> Vec<&'a str> {
        let is_tied = |one: &&Standing| one.at != chosen.at && one.behind <= 1.0;
        let others = self.field.standings.iter().filter(is_tied);
        others.map(|one| self.entrant(one).name).collect()
    }

    /// Those that somebody asked about and that are not chosen, and how far they are behind.
    fn not_chosen(&self, most: usize) -> Vec<Line> {
        let Some(chosen) = self.chosen().filter(|_| !self.wanted().among.is_empty()) else {
            return Vec::new();
        };
        let lost = self.field.standings.iter().filter(|one| one.at != chosen.at);
        let mut lines: Vec<String> =
            lost.filter_map(|one| self.beside_chosen(one, chosen)).collect();
        if let Some(field) = self.field.spinning.as_deref() {
            let beside = Choice { field, ..*self };
            lines.extend(field.standings.iter().filter_map(|one| {
                let name = beside.name(beside.entrant(one));
                Some(format!("{name}: {}, spins", beside.figure(one)?))
            }));
        }
        let more = lines.len().saturating_sub(most);
        lines.truncate(most);
        let more = (more > 0).then(|| Line::new(Tone::Quiet, format!("and {more} more")));
        lines.into_iter().map(Line::from).chain(more).collect()
    }

    /// `pipe: 14.0 us, 1.40x [1.38, 1.42] what tcp takes`; of several sizes where it is the furthest behind.
    fn beside_chosen(&self, one: &Standing, chosen: &Standing) -> Option<String> {
        let beside = |contest: &'a Contest| {
            let [own, other] = [one, chosen]
                .map(|standing| self.entrant(standing).cell(self.wanted(), contest.trial));
            Some((contest, contest.kind.ratio(own?, other?)?))
        };
        let of = |ratio: &Ratio| ratio.value.max(ratio.value.recip());
        let all = self.field.contests.iter().filter_map(beside);
        let worst = all.max_by(|(_, a), (_, b)| of(a).total_cmp(&of(b)));
        let name = self.name(self.entrant(one));
        let Some((contest, ratio)) = worst else {
            return Some(format!("{name}: {}", self.figure(one)?));
        };
        let where_ = match self.field.contests.len() {
            1 => String::new(),
            _ => format!(" ({})", contest.trial.words(self.wanted())),
        };
        let interval = ratio.ci95.map_or_else(String::new, |[low, high]| {
            format!(" [{}, {}]", figures::times(low), figures::times(high))
        });
        let is_apart = contest.is_better(chosen.at, one.at) || contest.is_better(one.at, chosen.at);
        let tie = if is_apart { "" } else { ", no certain difference" };
        Some(format!(
            "{name}: {}, {}{interval} that of {}{tie}{where_}",
            contest.figure(one.at),
            figures::times(ratio.value),
            self.entrant(chosen).name,
        ))
    }

    /// What nobody beats in everything, at one size.
    fn front(&self, size: u64, most: usize) -> Option<Section> {
        let wanted = self.wanted();
        let mut views = views(wanted);
        let trial = |pattern| Trial { pattern, size };
        let cell = |standing: &Standing, pattern| {
            let cell = self.entrant(standing).cell(wanted, trial(pattern))?;
            (cell.status == Status::Ok).then_some(cell)
        };
        let standings = &self.field.standings;
        // Few samples are large enough for it.
        let has_p999 = |view: &View| {
            let mut cells = standings.iter().filter_map(|one| cell(one, view.pattern));
            view.what != What::P999 || cells.any(|cell| view.read(cell, wanted).is_some())
        };
        views.retain(has_p999);
        let figures = |standing: &Standing| -> Vec<Option<f64>> {
            let keeps_up = || cell(standing, PatternKind::Rate)?.figure()?.value;
            let read = |view: &View| {
                let value = view.read(cell(standing, view.pattern)?, wanted)?;
                // What it would cost at a rate that it does not reach is no cost.
                let is_reached = view.what != What::Cores || keeps_up().is_some();
                is_reached.then_some(value)
            };
            views.iter().map(read).collect()
        };
        let all: Vec<(&Standing, Vec<Option<f64>>)> =
            standings.iter().map(|standing| (standing, figures(standing))).collect();
        let is_on_front = |(_, own): &&(&Standing, Vec<Option<f64>>)| {
            let price = |figures: &[Option<f64>]| {
                let counts = views.iter().zip(figures).filter(|(view, _)| view.what.is_price());
                counts.map(|(view, figure)| view.less_is_better(*figure)).collect::<Vec<_>>()
            };
            !all.iter().any(|(_, other)| dominates(&price(other), &price(own)))
        };
        let is_chosen = |one: &Standing| self.chosen().is_some_and(|chosen| chosen.at == one.at);
        let rows: Vec<_> = all.iter().filter(|one| is_chosen(one.0) || is_on_front(one)).collect();
        if rows.is_empty() {
            return None;
        }
        let hidden = rows.len().saturating_sub(most);
        let name = |standing: &Standing| {
            // Not every size may have been measured with the same knobs.
            let own = wanted.deciding().first().and_then(|pattern| cell(standing, *pattern));
            own.map_or_else(|| self.entrant(standing).name.to_owned(), marked_name)
        };
        let numbers = views.iter().enumerate();
        let numbers = numbers.map(|(at, view)| Column::number(view.head(wanted)).rank(at + 1));
        let row = |(standing, figures): &&(&Standing, Vec<Option<f64>>)| {
            let figures = views.iter().zip(figures);
            let figures = figures.map(|(view, figure)| view.words(*figure, size));
            let tone = if is_chosen(standing) { Tone::Best } else { Tone::Plain };
            let (idle, _) = idle_words(self.entrant(standing).spec.wait);
            let cells = std::iter::once(name(standing)).chain(figures).chain([idle.to_owned()]);
            Row::new(cells).tone(tone)
        };
        let idle = Column::text("idle CPU").rank(views.len() + 1);
        let columns = std::iter::once(Column::text("mechanism")).chain(numbers).chain([idle]);
        let table = Table::new(columns, rows.iter().take(most).map(row));
        let more = if hidden > 0 { format!(" ({hidden} more)") } else { String::new() };
        let size = figures::size(size);
        let front = match self.chosen() {
            Some(_) => "the choice and what nothing else beats",
            None => "what nothing else beats",
        };
        let what =
            if wanted.consumers > 0 { "rate and CPU time" } else { "p99, CPU time and rate" };
        let title = format!("{size}: {front} in {what}{more}");
        Some(Section::new(title, |body| body.table(table)))
    }

    /// Why some of them have no p99.
    fn tails(&self) -> Option<String> {
        let trials = Trial::all(self.wanted(), &self.wanted().timed());
        let of = |trial: &Trial| {
            let cells = self.field.standings.iter();
            let trial = *trial;
            cells.filter_map(move |one| self.entrant(one).cell(self.wanted(), trial))
        };
        without_p99(self.set, trials.iter().flat_map(of))
    }

    /// How the CPU time of idle ends is known.
    fn idle_legend(&self) -> Option<String> {
        let all = self.field.standings.iter();
        let all = all.map(|one| idle_words(self.entrant(one).spec.wait));
        let all = text::each_once(all);
        let words: Vec<String> = all.iter().map(|(idle, why)| format!("{idle} = {why}")).collect();
        let words = text::join(&words);
        (!all.is_empty())
            .then(|| format!("idle CPU follows from how the ends wait (not measured): {words}"))
    }

    /// What would change the choice.
    fn changes(&self, most: usize) -> Vec<Line> {
        let Some(chosen) = self.chosen() else { return self.nearest() };
        let wanted = self.wanted();
        let mut changes: Vec<String> = Vec::new();
        for contest in &self.field.contests {
            let is_better = |other: &usize| contest.is_better(*other, chosen.at);
            let order = |a: &usize, b: &usize| {
                let value = |at: usize| contest.readings[at].value;
                contest.kind.order(value(*a), value(*b))
            };
            let best = (0..self.field.entrants.len()).filter(is_better).min_by(order);
            changes.extend(best.map(|best| {
                let name = self.name(&self.field.entrants[best]);
                let (its, own) = (contest.figure(best), contest.figure(chosen.at));
                format!("{}: {name}, {its} and not {own}", contest.trial.words(wanted))
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
        if wanted.p99_ns.is_some() {
            let without = Requirements { p99_ns: None, ..wanted.clone() };
            changes.extend(self.other(&without, "without --p99"));
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

    /// Where nothing meets all of it: what would be chosen with one requirement less.
    fn nearest(&self) -> Vec<Line> {
        let is_measured = self.set.cells.iter().any(|cell| cell.status == Status::Ok);
        if !self.field.standings.is_empty() || !has_places(self.set) || !is_measured {
            return Vec::new();
        }
        let wanted = self.wanted();
        let needs = wanted.needs().into_iter().filter(|need| *need != Need::Messages);
        let mut less: Vec<(String, Requirements)> =
            needs.map(|need| (need.words().to_owned(), wanted.without(need))).collect();
        if wanted.p99_ns.is_some() {
            less.push(("--p99".to_owned(), Requirements { p99_ns: None, ..wanted.clone() }));
        }
        if wanted.rate_per_second.is_some() {
            let slower = Requirements { rate_per_second: None, ..wanted.clone() };
            less.push(("--rate".to_owned(), slower));
        }
        let found = less.iter().filter_map(|(what, wanted)| {
            let field = Field::of(self.set, wanted, self.specs);
            let best = field.standings.first()?.at;
            let contest = field.contests.first()?;
            let name = field.entrants[best].cell(wanted, contest.trial).map(name)?;
            let trial = contest.trial.words(wanted);
            Some(format!("without {what}: {name}, {} ({trial})", contest.figure(best)))
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

    /// Who of those that meet other requirements is certainly better than the chosen one somewhere; the first of them.
    fn other(&self, wanted: &Requirements, when: &str) -> Option<String> {
        let own = self.entrant(self.chosen()?).name;
        let field = Field::of(self.set, wanted, self.specs);
        let Some(own) = field.entrants.iter().position(|entrant| entrant.name == own) else {
            // It spins, and somebody who does not is enough then.
            let other = Choice { field: &field, ..*self };
            let best = other.chosen()?;
            let (name, figure) = (other.name(other.entrant(best)), other.figure(best)?);
            return Some(format!("{when}: {name}, {figure}, which does not spin"));
        };
        // Who has the best figures may tie with all others where its rounds differ much.
        let (best, contest) = field.standings.iter().find_map(|one| {
            let contest = field.contests.iter().find(|contest| contest.is_better(one.at, own))?;
            Some((one.at, contest))
        })?;
        let entrant = &field.entrants[best];
        let name = entrant.cell(wanted, contest.trial).map_or_else(String::new, name);
        let (its, own) = (contest.figure(best), contest.figure(own));
        let what = contest.trial.words(wanted);
        Some(format!("{when}: {name}, {its} and not {own} ({what})"))
    }

    /// The best of those that spin, if they may.
    fn without_no_spin(&self, when: &str) -> Option<String> {
        let field = Field::of(self.set, &self.wanted().without(Need::NoSpin), self.specs);
        let other = Choice { field: field.spinning.as_deref()?, ..*self };
        let best = other.chosen()?;
        let (name, figure) = (other.name(other.entrant(best)), other.figure(best)?);
        Some(format!("{when}: {name}, {figure}"))
    }

    /// Knobs of the chosen one that were measured.
    fn knobs(&self, most: usize) -> Vec<Line> {
        let Some(chosen) = self.chosen() else { return Vec::new() };
        let wanted = self.wanted();
        let entrant = self.entrant(chosen);
        let (mut matter, mut others): (Vec<String>, Vec<String>) = (Vec::new(), Vec::new());
        let mut patterns = wanted.deciding();
        if !patterns.contains(&PatternKind::Stream) {
            patterns.push(PatternKind::Stream);
        }
        for trial in Trial::all(wanted, &patterns) {
            let Some(base) = entrant.cell(wanted, trial) else { continue };
            let kind = trial.kind(wanted.by);
            for (turned, cell) in entrant.turned(base) {
                let read = |cell| kind.reading(cell, &self.set.clock).map(|one| (cell, one));
                let Some((own, other)) = read(base).zip(read(cell)) else { continue };
                let ranking = Ranking::of(kind, &[own, other]);
                let figure = |value| kind.words(value, trial.size);
                if ranking.is_better(0, 1) || ranking.is_better(1, 0) {
                    let (with, without) = (figure(other.1.value), figure(own.1.value));
                    let what = trial.words(wanted);
                    matter.push(format!("{turned}: {with} and not {without} ({what})"));
                } else if !others.contains(&turned) {
                    others.push(turned);
                }
            }
        }
        others.retain(|knob| !matter.iter().any(|line| line.starts_with(&format!("{knob}:"))));
        matter.truncate(most);
        let mut lines: Vec<Line> = matter.into_iter().map(Line::from).collect();
        if !others.is_empty() {
            let words = format!("no certain difference: {}", others.join(", "));
            lines.push(Line::new(Tone::Quiet, words));
        }
        lines
    }

    /// Where to go from a screen.
    fn next(&self) -> Vec<Line> {
        let all = "All figures, and all that is left out: ipcperf report FILE --full".to_owned();
        let next = self.chosen().map(|chosen| {
            format!("Next: ipcperf describe {}", self.entrant(chosen).spec.full_name())
        });
        [all].into_iter().chain(next).map(Line::from).collect()
    }
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
        Goal::Cpu => "CPU time for a message",
        Goal::Throughput => "throughput",
    }
}

//! What nothing else is proved to beat, at one size.

use super::Choice;
use super::field::Standing;
use super::trial::Workload;
use super::views::{View, What, idle_words, views};
use crate::results::chapters::marked_name;
use crate::results::fittest::fitness;
use ipcperf_core::PatternKind;
use ipcperf_core::result::{Cell, Goal, Status};
use ipcperf_judge::{Reading, Relations, figures};
use ipcperf_render::doc::{Column, Row, Section, Table, Tone};
use ipcperf_render::text;

/// The figures of an entrant, one for each column.
type Figures = Vec<Option<f64>>;

impl<'a> Choice<'a> {
    /// A table of the choice and of what nothing else is proved to beat, at one size; the last of them says what its columns
    /// mean.
    pub(super) fn front(&self, size: u64, most: usize, is_last: bool) -> Option<Section> {
        let wanted = self.wanted();
        let mut views = views(wanted);
        let cell = |standing: &Standing, pattern| self.cell_at(standing, pattern, size);
        let standings = &self.field.standings;
        // Few samples are large enough for it.
        let has_p999 = |view: &View| {
            let mut cells = standings.iter().filter_map(|one| cell(one, view.pattern));
            view.what != What::P999 || cells.any(|cell| view.read(cell, wanted).is_some())
        };
        views.retain(has_p999);
        let figures = |standing: &Standing| -> Figures {
            let keeps_up = || cell(standing, PatternKind::Rate)?.figure()?.value;
            let read = |view: &View| {
                let value = view.read(cell(standing, view.pattern)?, wanted)?;
                // What it would cost at a rate that it does not reach is no cost.
                let is_reached = view.what != What::Cores || keeps_up().is_some();
                is_reached.then_some(value)
            };
            views.iter().map(read).collect()
        };
        let all: Vec<(&Standing, Figures)> =
            standings.iter().map(|standing| (standing, figures(standing))).collect();
        let beaten = self.beaten(size, &views, &all);
        let is_chosen = |one: &Standing| self.chosen().is_some_and(|chosen| chosen.at == one.at);
        let shown = all.iter().zip(beaten).filter(|(one, beaten)| is_chosen(one.0) || !beaten);
        let mut rows: Vec<_> = shown.map(|(one, _)| one).collect();
        if rows.is_empty() {
            return None;
        }
        let contest = self.field.contests.iter().find(|contest| contest.trial.size == size);
        let relation = |one: &Standing| {
            contest.filter(|_| self.field.is_decided).map(|contest| self.relation(contest, one.at))
        };
        rows.sort_by(|(a, _), (b, _)| {
            let ratio = |one| relation(one).and_then(|one| one.ratio()).unwrap_or(f64::INFINITY);
            is_chosen(b).cmp(&is_chosen(a)).then(ratio(a).total_cmp(&ratio(b)))
        });
        let hidden = rows.len().saturating_sub(most);
        let name = |standing: &Standing| {
            // Not every size may have been measured with the same knobs.
            let own = wanted.deciding().first().and_then(|pattern| cell(standing, *pattern));
            own.map_or_else(|| self.entrant(standing).name.to_owned(), marked_name)
        };
        let to_choice = self.chosen().map(|chosen| self.entrant(chosen).name);
        let numbers = views.iter().enumerate();
        let numbers = numbers.map(|(at, view)| Column::number(view.head(wanted)).rank(at + 2));
        let row = |(standing, figures): &&(&Standing, Figures)| {
            let figures = views.iter().zip(figures);
            let figures = figures.map(|(view, figure)| view.words(*figure, size));
            let tone = if is_chosen(standing) { Tone::Best } else { Tone::Plain };
            let (idle, _) = idle_words(self.entrant(standing).spec.wait);
            let words = relation(standing).map_or_else(String::new, |one| self.words(one));
            let words = to_choice.is_some().then_some(words);
            let cells = std::iter::once(name(standing)).chain(figures);
            Row::new(cells.chain([idle.to_owned()]).chain(words)).tone(tone)
        };
        let idle = Column::text("idle CPU").rank(views.len() + 2);
        let idle = if is_last { idle.legend(self.idle_legend()) } else { idle };
        let ratio = to_choice.map(|name| Column::text(format!("vs {name}")).rank(1));
        let columns = std::iter::once(Column::text("mechanism")).chain(numbers).chain([idle]);
        let table = Table::new(columns.chain(ratio), rows.iter().take(most).map(row));
        let more = if hidden > 0 { format!(" ({hidden} more)") } else { String::new() };
        let size = figures::size(size);
        let front = match self.chosen() {
            Some(_) => "the choice and what nothing is proved to beat",
            None => "what nothing is proved to beat",
        };
        let what = match wanted.by {
            _ if wanted.consumers > 0 => "rate and CPU time",
            Goal::P999 => "p99.9, CPU time and rate",
            Goal::P50 | Goal::P99 | Goal::Cpu | Goal::Throughput => "p99, CPU time and rate",
        };
        let title = format!("{size}: {front} in {what}{more}");
        Some(Section::new(title, |body| body.table(table)))
    }

    /// How the CPU time of idle ends is known.
    fn idle_legend(&self) -> String {
        let all = self.field.standings.iter();
        let all = text::each_once(all.map(|one| idle_words(self.entrant(one).spec.wait)));
        let words: Vec<String> = all.iter().map(|(idle, why)| format!("{idle} = {why}")).collect();
        format!("from how the ends wait, not measured ({})", text::join(&words))
    }

    fn cell_at(&self, standing: &Standing, pattern: PatternKind, size: u64) -> Option<&'a Cell> {
        let cell = self.entrant(standing).cell(self.wanted(), Workload { pattern, size })?;
        (cell.status == Status::Ok).then_some(cell)
    }

    /// Of each, whether another one is as good in all prices by its figures and proved to be better in one.
    fn beaten(&self, size: u64, views: &[View], all: &[(&Standing, Figures)]) -> Vec<bool> {
        let prices: Vec<(usize, &View)> = views
            .iter()
            .enumerate()
            .filter(|(_, view)| view.what.is_price(self.wanted().by))
            .collect();
        let proofs: Vec<Proofs> =
            prices.iter().map(|(_, view)| self.proofs(size, view, all)).collect();
        let price = |one: usize, (column, view): &(usize, &View)| {
            view.less_is_better(all[one].1[*column]).unwrap_or(f64::INFINITY)
        };
        let beats = |one: usize, other: usize| {
            let is_as_good = |column: &(usize, &View)| price(one, column) <= price(other, column);
            let is_better = |proofs: &Proofs| proofs.is_better(one, other);
            prices.iter().all(is_as_good) && proofs.iter().any(is_better)
        };
        let count = 0..all.len();
        count.clone().map(|one| count.clone().any(|other| beats(other, one))).collect()
    }

    /// Who is proved to be better than whom in one price.
    fn proofs(&self, size: u64, view: &View, all: &[(&Standing, Figures)]) -> Proofs {
        let mut places = vec![None; all.len()];
        let Some(kind) = view.kind() else { return Proofs { places, next_to: Vec::new() } };
        let mut cells: Vec<(&Cell, Reading)> = Vec::new();
        for (place, (standing, _)) in places.iter_mut().zip(all) {
            let cell = self.cell_at(standing, view.pattern, size);
            let read = cell.and_then(|cell| Some((cell, kind.reading(cell, &self.set.clock)?)));
            *place = read.is_some().then_some(cells.len());
            cells.extend(read);
        }
        let next_to = |one: usize| {
            Relations::next_to(kind, &cells, one, |_| fitness(None), self.field.margin)
        };
        Proofs { places, next_to: (0..cells.len()).map(next_to).collect() }
    }
}

/// Who is proved to be better than whom in one price.
struct Proofs {
    /// The place of each among those that have this price.
    places: Vec<Option<usize>>,
    /// All of them next to each of them.
    next_to: Vec<Relations>,
}

impl Proofs {
    fn is_better(&self, one: usize, other: usize) -> bool {
        let places = self.places[one].zip(self.places[other]);
        places.is_some_and(|(one, other)| self.next_to[one].relation(other).is_slower())
    }
}

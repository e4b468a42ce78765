//! How the others compare with the choice, and which further rounds would decide more.

use super::contest::Contest;
use super::field::Standing;
use super::{Choice, REASON_NAMES};
use crate::results::advice::has_places;
use crate::results::fittest::merits;
use ipcperf_core::result::Goal;
use ipcperf_judge::{MetricKind, Relation, percent};
use ipcperf_render::doc::{Line, Tone};
use ipcperf_render::text;
use ipcperf_stats::{FEWEST_ROUNDS, Statement};

/// More rounds than this are no advice.
const MOST_ROUNDS: u64 = 10_000;

/// An entrant next to the choice, over all contests.
enum NextToChoice<'a> {
    /// Proved to be slower somewhere.
    Slower,
    /// Shown to be as fast everywhere.
    AsFast,
    /// Faster somewhere, and slower or undecided nowhere.
    Faster(&'a Contest<'a>),
    /// Undecided somewhere.
    Undecided(&'a Contest<'a>),
    /// Somewhere it has rounds of the screen alone.
    Unconfirmed,
}

fn is_undecided(relation: Relation) -> bool {
    matches!(
        relation,
        Relation::Stated(Statement::Undecided, _)
            | Relation::TooFewPairs(_)
            | Relation::ControlFails(_)
    )
}

impl<'a> Choice<'a> {
    /// The relation of an entrant to the choice in one contest.
    pub(super) fn relation(&self, contest: &Contest, at: usize) -> Relation {
        match (contest.relation(at), self.chosen()) {
            // This contest is undecided and has its own reference in place of the choice.
            (Relation::Reference, Some(chosen)) if chosen.at != at => contest.relation(chosen.at),
            (relation, _) => relation,
        }
    }

    /// The same in words. Noise of grade F leaves it open whether two are equal.
    pub(super) fn words(&self, relation: Relation) -> String {
        match relation.is_as_fast() && !has_places(self.set) {
            true => "undecided: grade F".to_owned(),
            false => relation.words(self.field.margin),
        }
    }

    fn next_to_choice(&self, at: usize) -> NextToChoice<'a> {
        let contests = || self.field.contests.iter();
        let first = |is_so: &dyn Fn(Relation) -> bool| {
            contests().find(|contest| is_so(self.relation(contest, at)))
        };
        let is_open = |relation: Relation| {
            is_undecided(relation) || (relation.is_as_fast() && !has_places(self.set))
        };
        if first(&Relation::is_slower).is_some() {
            NextToChoice::Slower
        } else if first(&|relation| relation == Relation::Unconfirmed).is_some() {
            NextToChoice::Unconfirmed
        } else if let Some(contest) = first(&is_open) {
            NextToChoice::Undecided(contest)
        } else if let Some(contest) = first(&Relation::is_faster) {
            NextToChoice::Faster(contest)
        } else {
            NextToChoice::AsFast
        }
    }

    /// The mechanisms that are not proved to be slower than the choice, and what would decide whether one of them is faster.
    pub(super) fn others(&self, most: usize) -> Vec<Line> {
        let Some(chosen) = self.chosen() else { return Vec::new() };
        let (mut as_fast, mut ahead) = (Vec::new(), Vec::new());
        let (mut undecided, mut screen) = (Vec::new(), Vec::new());
        for one in self.field.standings.iter().filter(|one| one.at != chosen.at) {
            let name = self.entrant(one).name;
            let with = |contest: &Contest| {
                let words = self.words(self.relation(contest, one.at));
                let words = words.trim_start_matches("undecided: ").to_owned();
                format!("{name} ({words}{})", self.of(contest, ", "))
            };
            match self.next_to_choice(one.at) {
                NextToChoice::Slower => {}
                NextToChoice::AsFast => as_fast.push(name.to_owned()),
                NextToChoice::Faster(contest) => ahead.push(with(contest)),
                NextToChoice::Undecided(contest) => undecided.push(with(contest)),
                NextToChoice::Unconfirmed => screen.push(name.to_owned()),
            }
        }
        let margin = percent(self.field.margin);
        let mut lines: Vec<Line> = Vec::new();
        let mut say = |words: String| lines.push(Line::from(words));
        let is_near = !(as_fast.is_empty() && ahead.is_empty() && undecided.is_empty());
        if !ahead.is_empty() {
            let named = named(&ahead, most);
            say(format!("Faster, but not proved to be so by more than {margin}: {named}."));
        }
        if !as_fast.is_empty() {
            say(format!("As fast (within {margin}): {}.", named(&as_fast, most)));
        }
        if !undecided.is_empty() {
            say(format!("Undecided: {}.", named(&undecided, most)));
        }
        self.open().into_iter().for_each(&mut say);
        if is_near {
            say(match merits(self.entrant(chosen).spec) {
                merits if merits.is_empty() => "Chosen for what is usual.".to_owned(),
                merits => format!("Chosen for what it can do ({merits})."),
            });
        }
        if !screen.is_empty() {
            let words = format!("Not confirmed (screen only): {}.", named(&screen, REASON_NAMES));
            lines.push(Line::new(Tone::Quiet, words));
        }
        lines
    }

    /// Those that may be faster by more than the margin, and what would tell.
    fn open(&self) -> Option<String> {
        let mut names: Vec<String> = Vec::new();
        let mut rounds: Option<(u64, &Contest)> = None;
        for contest in self.field.contests.iter().filter(|contest| contest.leader.is_some()) {
            let relations = contest.relations();
            let ipcperf_judge::Choice::Use { open, .. } = relations.choice() else { continue };
            let own = open.iter().map(|at| self.field.entrants[*at].name.to_owned());
            names.extend(own);
            let needed = relations.rounds_to_tell(&open).map(|rounds| (rounds, contest));
            rounds = rounds.into_iter().chain(needed).max_by_key(|(rounds, _)| *rounds);
        }
        let names = text::each_once(names);
        if names.is_empty() {
            return None;
        }
        let margin = percent(self.field.margin);
        let tell = rounds.and_then(|(rounds, contest)| self.would_tell(rounds, contest));
        let tell = tell.unwrap_or_else(|| "more rounds may tell".to_owned());
        let named = named(&names, REASON_NAMES);
        Some(format!("Open whether more than {margin} faster: {named}; {tell}."))
    }

    /// `40 more rounds would tell (about 25 s)`.
    fn would_tell(&self, rounds: u64, contest: &Contest) -> Option<String> {
        if !(1..=MOST_ROUNDS).contains(&rounds) {
            return None;
        }
        let ids: Vec<&str> =
            (0..self.field.entrants.len()).map(|at| contest.cell(at).id.as_str()).collect();
        let is_of = |id: &String| ids.contains(&id.as_str());
        let mut questions = self.set.questions.iter();
        let question = questions.find(|question| question.confirmed.iter().any(is_of));
        let plan = &self.set.invocation.plan;
        let each = match question {
            Some(question) => question.seconds_per_round,
            None => self.set.duration_s / plan.rounds as f64,
        };
        let seconds = rounds as f64 * each;
        let time = match seconds {
            seconds if !seconds.is_finite() || seconds <= 0.0 => String::new(),
            seconds if seconds < 100.0 => format!(" (about {:.0} s)", seconds.ceil()),
            seconds => format!(" (about {:.0} min)", (seconds / 60.0).ceil()),
        };
        let more = text::counted(rounds, "more round");
        Some(format!("{more} would tell{time}"))
    }

    /// ` between A and B` and `: 4 more rounds would tell`, where nothing may be said.
    pub(super) fn undecided(&self) -> [String; 2] {
        let contest = self.field.contests.first();
        let is_confirmed = |one: &&Standing| {
            contest.is_some_and(|contest| contest.relation(one.at) != Relation::Unconfirmed)
        };
        let all: Vec<&Standing> = self.field.standings.iter().collect();
        let confirmed: Vec<&Standing> = all.iter().copied().filter(is_confirmed).collect();
        let some = if confirmed.len() > 1 { confirmed } else { all };
        let names: Vec<String> = some.iter().map(|one| self.entrant(one).name.to_owned()).collect();
        let between = match names.as_slice() {
            [] | [_] => String::new(),
            names => format!(" between {}", named(names, REASON_NAMES)),
        };
        let places: Vec<usize> = some.iter().map(|one| one.at).collect();
        let tell = contest.and_then(|contest| {
            let rounds = contest.relations().rounds_to_tell(&places)?;
            self.would_tell(rounds, contest)
        });
        [between, tell.map_or_else(String::new, |tell| format!(": {tell}"))]
    }

    /// Why nothing may be said.
    pub(super) fn why_undecided(&self) -> Option<String> {
        let mut cells =
            self.field.standings.iter().filter_map(|one| self.cell(self.entrant(one))).peekable();
        let by = self.wanted().by;
        let tail = match by {
            Goal::P99 => Some((MetricKind::P99, "2,000 operations for a p99")),
            Goal::P999 => Some((MetricKind::P999, "20,000 operations for a p99.9")),
            Goal::P50 | Goal::Cpu | Goal::Throughput => None,
        };
        let mut is_missing = |kind: MetricKind| {
            cells.peek().is_some() && cells.all(|cell| !kind.has_enough_rounds(cell))
        };
        if let Some((_, needed)) = tail.filter(|(kind, _)| is_missing(*kind)) {
            return Some(format!(
                "Nothing can be said of tails: {FEWEST_ROUNDS} rounds need {needed} of their own. A longer --budget or fewer \
                 mechanisms (-m) help."
            ));
        }
        if self.field.is_decided {
            return None;
        }
        let contest = self.field.contests.first()?;
        let relations = || self.field.standings.iter().map(|one| contest.relation(one.at));
        if relations().any(|relation| matches!(relation, Relation::ControlFails(_))) {
            let name = self.field.entrants[contest.reference()].name;
            return Some(format!(
                "The control fails: {name} was measured twice and differs from itself, so no ratio holds."
            ));
        }
        let pairs = relations().filter_map(|relation| match relation {
            Relation::TooFewPairs(pairs) => Some(pairs as u64),
            _ => None,
        });
        Some(match pairs.max() {
            Some(most) => {
                let rounds = text::counted(most, "round");
                format!(
                    "A ratio takes {FEWEST_ROUNDS} rounds with figures of both, and this run has {rounds}."
                )
            }
            None => "No round was left to confirm what the screen shows.".to_owned(),
        })
    }

    /// The mechanisms that were asked about and are not chosen, and how they compare with the choice.
    pub(super) fn not_chosen(&self, most: usize) -> Vec<Line> {
        let Some(chosen) = self.chosen().filter(|_| !self.wanted().among.is_empty()) else {
            return Vec::new();
        };
        let lost = self.field.standings.iter().filter(|one| one.at != chosen.at);
        let mut lines: Vec<String> = lost.filter_map(|one| self.beside_chosen(one)).collect();
        if let Some(field) = self.field.spinning.as_deref() {
            let spinning = Choice { field, ..*self };
            lines.extend(field.standings.iter().map(|one| {
                let name = spinning.name(spinning.entrant(one));
                format!("{name}{}: spins", spinning.figure(one))
            }));
        }
        let more = lines.len().saturating_sub(most);
        lines.truncate(most);
        let more = (more > 0).then(|| Line::new(Tone::Quiet, format!("and {more} more")));
        lines.into_iter().map(Line::from).chain(more).collect()
    }

    /// `pipe, 14.0 us: 1.4x slower [1.38, 1.42]`; of several sizes where it is the furthest behind.
    fn beside_chosen(&self, one: &Standing) -> Option<String> {
        let of = |contest: &'a Contest<'a>| (contest, self.relation(contest, one.at));
        let worst = self.field.contests.iter().map(of).max_by(|(_, a), (_, b)| {
            let ratio = |relation: &Relation| relation.ratio().unwrap_or(0.0);
            a.is_slower().cmp(&b.is_slower()).then(ratio(a).total_cmp(&ratio(b)))
        });
        let (contest, relation) = worst?;
        let name = self.name(self.entrant(one));
        let figure = self.figure_in(contest, one.at);
        Some(format!("{name}{figure}: {}{}", self.words(relation), self.of(contest, " for ")))
    }

    /// `, 14.0 us`; nothing where the noise makes figures untrue.
    pub(super) fn figure_in(&self, contest: &Contest, at: usize) -> String {
        match has_places(self.set) {
            true => format!(", {}", contest.figure(at)),
            false => String::new(),
        }
    }

    /// `, 14.0 us and not 17.0 us`; nothing where the noise makes figures untrue.
    pub(super) fn figures_in(&self, contest: &Contest, one: usize, other: usize) -> String {
        match has_places(self.set) {
            true => format!(", {} and not {}", contest.figure(one), contest.figure(other)),
            false => String::new(),
        }
    }

    /// What a contest is of, where there are several.
    pub(super) fn of(&self, contest: &Contest, before: &str) -> String {
        match self.field.contests.len() {
            0 | 1 => String::new(),
            _ => format!("{before}{}", contest.trial.words(self.wanted())),
        }
    }
}

/// `pipe, fifo and 20 more`: at most so many by their names.
fn named(names: &[String], most: usize) -> String {
    let mut shown: Vec<String> = names.iter().take(most).cloned().collect();
    let more = names.len().saturating_sub(most);
    if more > 0 {
        shown.push(format!("{more} more"));
    }
    text::join(&shown)
}

//! What to use and why, what is open, and what would decide it.

use super::rows::{base, custom};
use super::{LONGEST_S, Overview, fails, in_words, names, value};
use crate::results::answers::{Contest, Contestant};
use crate::results::chapters::label;
use crate::results::fittest::FACTS;
use ipcperf_core::result::{Cell, Question};
use ipcperf_core::{Capability, Spec};
use ipcperf_judge::{Relation, figures, percent};
use ipcperf_render::text;
use ipcperf_stats::FEWEST_ROUNDS;

impl<'a> Overview<'a> {
    pub(super) fn headline(&self) -> String {
        let Some(contest) = &self.contest else {
            return "No round trip of a message was measured.".to_owned();
        };
        let Some(first) = self.first() else { return self.undecided(contest) };
        let cell = first.cell;
        let cpu = cell.cpu_ns_per_message.as_ref().and_then(|cost| cost.figure().value);
        let cpu = cpu.map(|cpu| format!(", {} CPU per message", figures::nanos(cpu)));
        let gloss = if cell.key.mechanism.starts_with("unix-") { " (a UNIX socket)" } else { "" };
        let name = label(cell);
        let comparison = match contest.is_overtaken() {
            true => {
                let words = first.relation.brief(contest.margin);
                format!(", {words} than {}", label(contest.reference().cell))
            }
            false => String::new(),
        };
        format!(
            "USE {name}{gloss}: {} round trip{comparison}{}",
            value(cell),
            cpu.unwrap_or_default()
        )
    }

    /// The answer as the heading of a page.
    pub(super) fn sentence(&self) -> String {
        let (Some(contest), Some(first)) = (&self.contest, self.first()) else {
            let words = self.headline();
            return words.replacen("UNDECIDED", "Undecided", 1);
        };
        let comparison = match contest.is_overtaken() {
            true => {
                let words = first.relation.brief(contest.margin);
                format!(", {words} than {}", label(contest.reference().cell))
            }
            false => String::new(),
        };
        let (name, takes) = (label(first.cell), value(first.cell));
        let (size, place) = (in_words(contest.size), contest.basis.words());
        format!("Use {name}: a {size} round trip takes {takes} {place}{comparison}")
    }

    /// The one to use; the only one that was measured is it, whatever its rounds say.
    pub(super) fn first(&self) -> Option<&Contestant<'a>> {
        let contest = self.contest.as_ref()?;
        let is_alone = contest.ordered().len() == 1;
        contest.winner().or_else(|| is_alone.then(|| contest.reference()))
    }

    /// `UNDECIDED between pipe, tcp, unix-stream: 25 s more would tell`.
    fn undecided(&self, contest: &Contest) -> String {
        let mut open: Vec<&Contestant> = contest.open().collect();
        if open.is_empty() {
            open = contest.ordered().iter().collect();
        }
        let names = names(&open).join(", ");
        let what = match contest.ordered().iter().find_map(|one| fails(one.relation)) {
            Some(_) => "measure again".to_owned(),
            None => self.more(contest),
        };
        format!("UNDECIDED between {names}: {what}")
    }

    /// The question of the document that a contest answers.
    fn question(&self, contest: &Contest) -> Option<&'a Question> {
        let id = &contest.reference().cell.id;
        let is_it =
            |one: &&Question| one.reference.as_ref() == Some(id) || one.confirmed.contains(id);
        self.set.questions.iter().find(is_it)
    }

    /// What would decide what is open: `25 s more would tell`.
    fn more(&self, contest: &Contest) -> String {
        let question = self.question(contest);
        let planned = || question.filter(|_| !contest.is_confirmed()).map(|one| one.rounds);
        let rounds = contest.rounds_to_tell.or_else(planned).filter(|rounds| *rounds > 0);
        let per_round = question.map(|one| one.seconds_per_round).filter(|one| *one > 0.0);
        match (rounds, per_round) {
            (None, _) => "more rounds would tell".to_owned(),
            (Some(rounds), None) => {
                format!("{} would tell", text::counted(rounds, "more round"))
            }
            (Some(rounds), Some(per_round)) => match rounds as f64 * per_round {
                long if long > LONGEST_S => "that would take more than an hour".to_owned(),
                long if long > 100.0 => format!("{:.0} min more would tell", (long / 60.0).ceil()),
                short => format!("{:.0} s more would tell", short.ceil().max(1.0)),
            },
        }
    }

    /// Why this one, and what is open.
    pub(super) fn reasons(&self) -> Vec<String> {
        let Some(contest) = &self.contest else { return Vec::new() };
        let reference = base(&contest.reference().cell.key.mechanism);
        let margin = percent(contest.margin);
        let Some(first) = self.first() else {
            let control = contest.ordered().iter().find_map(|one| fails(one.relation));
            return vec![match control {
                Some(()) => format!(
                    "{reference} measured twice in the same rounds differs from itself: no ratio holds."
                ),
                None if !contest.is_confirmed() => {
                    format!("Nothing was confirmed: {}.", self.why_unconfirmed())
                }
                None => {
                    format!("A ratio takes {FEWEST_ROUNDS} rounds in which both have a figure.")
                }
            }];
        };
        let others: Vec<&Contestant> =
            contest.ordered().iter().filter(|one| !std::ptr::eq(one.cell, first.cell)).collect();
        let judged = || others.iter().filter(|one| one.relation != Relation::Unconfirmed);
        let open: Vec<&Contestant> = contest.open().collect();
        let of_first = base(&first.cell.key.mechanism);
        let mut reasons = Vec::new();
        if others.is_empty() {
            reasons.push("Nothing else of its kind was measured.".to_owned());
        } else if contest.is_overtaken() {
            let why = self.merits(contest.reference(), std::iter::once(first.cell));
            let why = why.unwrap_or_else(|| "is the usual one".to_owned());
            reasons.push(format!("{reference} {why}, but is more than {margin} slower."));
        } else if judged().all(|one| one.relation.is_slower()) {
            let next = judged().min_by(|a, b| {
                let ratio = |one: &Contestant| one.relation.ratio().unwrap_or(f64::INFINITY);
                ratio(a).total_cmp(&ratio(b))
            });
            let how = next.map(|next| {
                format!(
                    "All others compared are slower: {} {}.",
                    next.name,
                    next.relation.brief(contest.margin)
                )
            });
            reasons.extend(how);
        } else if open.is_empty() {
            let near = judged().filter(|one| !one.relation.is_slower()).map(|one| one.cell);
            let why = self.merits(first, near).map(|why| format!("; {of_first} {why}"));
            let why = why.unwrap_or_default();
            // What spins first is in the table and never chosen.
            let is_among = contest.others().iter().any(|one| one.relation.is_faster());
            let which = if is_among { " that sleep at once" } else { "" };
            reasons.push(format!(
                "Of the others compared{which}, none is more than {margin} faster{why}."
            ));
        }
        if !open.is_empty() {
            let mut known = open.clone();
            known.sort_by_key(|one| custom(base(&one.cell.key.mechanism)));
            let names = text::join(&names(&known));
            let (than, more) = (contest.than_reference(), self.more(contest));
            reasons.push(format!("{names} may be more than {margin} faster{than}: {more}."));
        }
        reasons
    }

    /// Why cells were measured in the first stage alone.
    pub(super) fn why_unconfirmed(&self) -> &'static str {
        if self.set.interrupted { "interrupted" } else { "no time left" }
    }

    /// What the first has that some of these lack.
    fn merits(&self, first: &Contestant, others: impl Iterator<Item = &'a Cell>) -> Option<String> {
        let others: Vec<Option<&Spec>> = others.map(|cell| self.spec(cell)).collect();
        let own = self.spec(first.cell);
        let lacks =
            |fact: &Capability| others.iter().any(|spec| !spec.is_some_and(|one| one.can(*fact)));
        let facts = FACTS.iter().filter(|fact| own.is_some_and(|spec| spec.can(**fact)));
        let facts = facts.filter(|fact| lacks(fact)).map(|fact| match fact {
            Capability::TwoWay => "is two-way".to_owned(),
            Capability::NoticesDeath => "notices a dead peer".to_owned(),
            Capability::Listener => "has a listener".to_owned(),
            Capability::Reconnect => "reconnects after a restart".to_owned(),
            other => format!("has {other}"),
        });
        Some(text::join(&facts.collect::<Vec<_>>())).filter(|words| !words.is_empty())
    }
}

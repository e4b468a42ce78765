//! The survey's answer in plain sentences: what to use, with the number and the runner-up.

mod answer;
mod briefly;
mod contest;
mod idle;
#[cfg(test)]
mod tests;

pub use answer::{Answer, Question};
pub(crate) use answer::{caveats, modes};
pub(crate) use contest::{Basis, Contest, Contestant, MOST_ARMS, RankedCell, sleeps_at_once};

use crate::results::chapters::{is_comparable, is_floor};
use contest::Ground;
use ipcperf_core::result::{KnobReading, ResultSet, Status};
use ipcperf_core::units::format_size;
use ipcperf_core::{BackPressure, KnobValue, PatternKind, Reach, Wait};
use ipcperf_judge::{MetricKind, ROUND_TRIP, Relation, figures, lost_its_rounds};
use ipcperf_kit::document::Specs;
use ipcperf_stats::Statement;

/// Answers whatever the cells of a set can answer, in the order of [`Question`].
///
/// Small is the smallest size of at least one byte that was measured, large the largest. Two CPUs are the basis where
/// they were measured. Neither the floor, nor a payload that nobody touched, nor what lost too many messages ever wins.
/// Named is the fittest of those that may be the best, unless another is certainly better by more than the margin.
#[must_use]
pub fn answers(set: &ResultSet, specs: &Specs) -> Vec<Answer> {
    let survey = Survey::of(set, specs);
    [
        survey.small(),
        survey.spin_then_sleep(),
        survey.large(),
        survey.spinning(),
        survey.cpu(),
        survey.unrelated(),
        survey.wake_up(),
        idle::answer(set, &survey.entries),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// The cells that may win something.
pub(crate) struct Survey<'a> {
    entries: Vec<RankedCell<'a>>,
    /// Cells that were asked for more than their pattern.
    loaded: Vec<RankedCell<'a>>,
    ground: Ground<'a>,
    /// Judges few cells of each question, where there are no rounds for more.
    is_brief: bool,
}

impl<'a> Survey<'a> {
    pub(crate) fn of(set: &'a ResultSet, specs: &Specs) -> Self {
        let all: Vec<RankedCell> = set
            .cells
            .iter()
            .filter(|cell| cell.status == Status::Ok && !is_floor(&cell.key.mechanism, specs))
            .filter(|cell| is_comparable(cell) && !lost_its_rounds(cell))
            .map(|cell| RankedCell { cell, spec: specs(&cell.key.mechanism) })
            .filter(passes_messages)
            .collect();
        // What is sent after a pause or in any other way of its own only stands beside what the questions are about.
        let (entries, loaded) = all.into_iter().partition(|entry| entry.cell.key.load.is_plain());
        Self { entries, loaded, ground: Ground::of(set), is_brief: false }
    }

    /// The same for one screen: of a run without stages it judges no more cells of a question than a few rounds can prove
    /// something of.
    pub(crate) fn brief(self) -> Self {
        Self { is_brief: true, ..self }
    }

    /// Whether the rounds of the run belong to stages.
    pub(crate) fn is_staged(&self) -> bool {
        self.ground.is_staged
    }

    /// Whether unrelated processes can meet over it as it was measured.
    pub(crate) fn is_for_unrelated(entry: &RankedCell) -> bool {
        reach(entry).is_some_and(|reach| reach != Reach::Related)
    }

    /// Cells of one question on its basis.
    fn contest(
        &self,
        pattern: PatternKind,
        kind: MetricKind,
        size: SizeChoice,
        is_eligible: impl Fn(&RankedCell) -> bool,
    ) -> Option<Contest<'a>> {
        let (eligible, basis, size) = self.eligible(pattern, size, is_eligible)?;
        match self.is_brief {
            true => Contest::among_few(&eligible, self.ground, kind, &basis, size),
            false => Contest::new(&eligible, self.ground, kind, basis, size),
        }
    }

    /// What may win a question, under which conditions and at which size.
    fn eligible(
        &self,
        pattern: PatternKind,
        size: SizeChoice,
        is_eligible: impl Fn(&RankedCell) -> bool,
    ) -> Option<(Vec<&RankedCell<'a>>, Basis, u64)> {
        let eligible: Vec<&RankedCell<'a>> = self
            .entries
            .iter()
            .filter(|entry| entry.cell.key.pattern == pattern && is_eligible(entry))
            .filter(|entry| (entry.cell.key.size_bytes == 0) == (size == SizeChoice::Wake))
            .collect();
        let basis = Basis::choose(&eligible)?;
        let on_basis = || eligible.iter().filter(|entry| basis.has(entry.cell));
        let sizes = on_basis().map(|entry| entry.cell.key.size_bytes);
        let size = match size {
            SizeChoice::Large => sizes.max()?,
            SizeChoice::Small | SizeChoice::Wake => sizes.min()?,
        };
        let of_size = on_basis().filter(|entry| entry.cell.key.size_bytes == size).copied();
        let of_size: Vec<&RankedCell<'a>> = of_size.collect();
        Some((of_size, basis, size))
    }

    pub(crate) fn small_contest(
        &self,
        is_eligible: impl Fn(&RankedCell) -> bool,
    ) -> Option<Contest<'a>> {
        let is_data = |entry: &RankedCell| sleeps_at_once(entry.cell) && is_eligible(entry);
        self.contest(PatternKind::PingPong, ROUND_TRIP, SizeChoice::Small, is_data)
    }

    /// The same, with the mechanisms that spin before they sleep: they are compared and never chosen.
    pub(crate) fn small_contest_with_spinning(
        &self,
        is_shown: impl Fn(&RankedCell) -> bool,
    ) -> Option<Contest<'a>> {
        let sleeps = |entry: &RankedCell| sleeps_at_once(entry.cell) && is_shown(entry);
        let (eligible, basis, size) =
            self.eligible(PatternKind::PingPong, SizeChoice::Small, sleeps)?;
        let others = self.entries.iter().filter(|entry| {
            let key = &entry.cell.key;
            (key.pattern, key.size_bytes, key.wait)
                == (PatternKind::PingPong, size, Wait::SpinThenBlock)
                && basis.has(entry.cell)
                && is_shown(entry)
        });
        let others: Vec<&RankedCell<'a>> = others.collect();
        Contest::with_others(&eligible, &others, self.ground, ROUND_TRIP, basis, size)
    }

    fn small(&self) -> Option<Answer> {
        let contest = self.small_contest(|_| true)?;
        let size = format_size(contest.size);
        let mut sentence = format!(
            "Small messages, blocking: {} for a round trip of {size} {}; {}.",
            contest.winner_words(),
            contest.basis.words(),
            contest.others_words(),
        );
        sentence.push_str(&self.same_cpu(&contest));
        Some(contest.answer(Question::SmallBlocking, sentence))
    }

    /// What the winner of two CPUs takes on one, where that was measured.
    fn same_cpu(&self, contest: &Contest) -> String {
        if !contest.basis.placement.is_two_cpus() {
            return String::new();
        }
        let basis = Basis { placement: ipcperf_core::Placement::SameCpu, ..contest.basis.clone() };
        let entries = self.entries.iter().filter(|RankedCell { cell, .. }| {
            cell.key.pattern == PatternKind::PingPong
                && sleeps_at_once(cell)
                && cell.key.size_bytes == contest.size
                && basis.has(cell)
        });
        let entries: Vec<&RankedCell> = entries.collect();
        let Some(here) = Contest::new(&entries, self.ground, ROUND_TRIP, basis, contest.size)
        else {
            return String::new();
        };
        let name = &contest.first().name;
        match here.of_name(name) {
            Some(_) if here.winner().is_some_and(|one| one.name == *name) => {
                format!(" With both ends on one CPU it is {} as well.", here.winner_words())
            }
            Some(one) => {
                let (relation, than) = here.compared(one);
                format!(
                    " With both ends on one CPU {name} takes {}: {} ({}).",
                    figures::nanos(one.reading.value),
                    words_against(relation, here.margin, &than.name),
                    here.figure(than)
                )
            }
            None => format!(" With both ends on one CPU the best is {}.", here.winner_words()),
        }
    }

    fn spin_then_sleep(&self) -> Option<Answer> {
        let contest =
            self.contest(PatternKind::PingPong, ROUND_TRIP, SizeChoice::Small, |entry| {
                entry.cell.key.wait == Wait::SpinThenBlock
            })?;
        let best = contest.first().cell;
        let sentence = format!(
            "If busy-waiting briefly is fine: {} for a round trip of {} {}{}; {}. {}",
            contest.winner_words(),
            format_size(contest.size),
            contest.basis.words(),
            briefly::beside_the_median(best),
            contest.others_words(),
            briefly::after_a_pause(best, &self.loaded, self.ground),
        );
        Some(contest.answer(Question::SpinThenSleep, sentence))
    }

    /// A stream leaves no pause in which an end could fall asleep, so that what spins before it sleeps may win here.
    pub(crate) fn large_contest(&self) -> Option<Contest<'a>> {
        let rate = MetricKind::of(PatternKind::Stream);
        self.contest(PatternKind::Stream, rate, SizeChoice::Large, |entry| {
            !entry.cell.key.wait.burns_cpu()
        })
    }

    fn large(&self) -> Option<Answer> {
        let contest = self.large_contest()?;
        let sentence = format!(
            "Large messages, blocking: {} with messages of {} {}; {}.",
            contest.winner_words(),
            format_size(contest.size),
            contest.basis.words(),
            contest.others_words(),
        );
        Some(contest.answer(Question::LargeBlocking, sentence))
    }

    pub(crate) fn spinning_contest(&self) -> Option<Contest<'a>> {
        self.contest(PatternKind::PingPong, ROUND_TRIP, SizeChoice::Small, |entry| {
            entry.cell.key.wait.burns_cpu()
        })
    }

    fn spinning(&self) -> Option<Answer> {
        let contest = self.spinning_contest()?;
        let sentence = format!(
            "If busy-waiting is fine: {} for a round trip of {} {}; {}.",
            contest.winner_words(),
            format_size(contest.size),
            contest.basis.words(),
            contest.others_words(),
        );
        Some(contest.answer(Question::Spinning, sentence))
    }

    fn cpu(&self) -> Option<Answer> {
        let contest =
            self.contest(PatternKind::PingPong, MetricKind::Cpu, SizeChoice::Small, |entry| {
                sleeps_at_once(entry.cell)
            })?;
        let sentence = format!(
            "Cheapest in CPU: {} of CPU time for a message of {} (both ends together, blocking) {}; {}.",
            contest.winner_words(),
            format_size(contest.size),
            contest.basis.words(),
            contest.others_words(),
        );
        Some(contest.answer(Question::CheapestCpu, sentence))
    }

    pub(crate) fn wake_up_contest(&self) -> Option<Contest<'a>> {
        self.contest(PatternKind::PingPong, ROUND_TRIP, SizeChoice::Wake, |entry| {
            sleeps_at_once(entry.cell)
        })
    }

    fn wake_up(&self) -> Option<Answer> {
        let contest = self.wake_up_contest()?;
        let sentence = format!(
            "Signalling without data: {} for a round trip {}; {}.",
            contest.winner_words(),
            contest.basis.words(),
            contest.others_words(),
        );
        Some(contest.answer(Question::WakeUp, sentence))
    }

    /// The best socket that strangers can connect to against the best of all, on the same basis and size.
    fn unrelated(&self) -> Option<Answer> {
        let all = self.small_contest(|_| true)?;
        let of = |is_eligible: &dyn Fn(&RankedCell) -> bool| {
            let entries = self.entries.iter().filter(|entry| {
                entry.cell.key.pattern == PatternKind::PingPong
                    && sleeps_at_once(entry.cell)
                    && entry.cell.key.size_bytes == all.size
                    && all.basis.has(entry.cell)
                    && Self::is_for_unrelated(entry)
                    && is_eligible(entry)
            });
            let entries: Vec<&RankedCell> = entries.collect();
            Contest::new(&entries, self.ground, ROUND_TRIP, all.basis.clone(), all.size)
        };
        let sockets = of(&is_socket)?;
        let own = all.of_cell(sockets.first().cell)?;
        let (relation, best) = all.compared(own);
        let figure = figures::nanos(best.reading.value);
        let price = if std::ptr::eq(own.cell, all.first().cell) {
            "the best of any kind".to_owned()
        } else {
            let is_best = std::ptr::eq(best.cell, all.first().cell);
            let what = if is_best { "the best of any kind" } else { "the reference" };
            let words = words_against(relation, all.margin, what);
            format!("{words} ({}, {figure})", best.name)
        };
        let mut sentence = format!(
            "A socket that unrelated processes can connect to: {} for a round trip of {} {}, {price}; {}.",
            sockets.winner_words(),
            format_size(all.size),
            all.basis.words(),
            sockets.others_words(),
        );
        if let Some(named) = of(&|entry| !is_socket(entry)) {
            sentence.push_str(&format!(" Without a socket, by name: {}.", named.winner_words()));
        }
        let answer = sockets.answer(Question::Unrelated, sentence);
        let ratio = |name: &Option<String>| {
            let (relation, _) = all.compared(all.of_name(name.as_ref()?)?);
            relation.ratio()
        };
        let (value, runner_up_value) = (ratio(&answer.mechanism), ratio(&answer.runner_up));
        Some(Answer { value, runner_up_value, ..answer })
    }
}

/// `1.5x slower [1.2, 1.9] than pipe`, `as fast (within 10 %) as pipe`, `undecided: 0.9x to 1.4x against pipe`.
fn words_against(relation: Relation, margin: f64, other: &str) -> String {
    let words = relation.words(margin);
    let link = match relation {
        Relation::Stated(Statement::Slower { .. } | Statement::Faster { .. }, _) => "than",
        Relation::Stated(Statement::AsFast, _) => "as",
        _ => "against",
    };
    format!("{words} {link} {other}")
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum SizeChoice {
    Wake,
    Small,
    Large,
}

/// Who can meet over it, as it was measured: a knob `bind` that names an address widens what the mechanism says of
/// itself, and one that says `socketpair` narrows it.
fn reach(entry: &RankedCell) -> Option<Reach> {
    let spec = entry.spec?;
    let bind = entry.cell.knobs.iter().find(|(name, _)| name.ends_with(".bind"));
    let word = bind.and_then(|(_, KnobReading { requested, effective, .. })| {
        match effective.as_ref().or(requested.as_ref()) {
            Some(KnobValue::Word(word)) => Some(word.as_str()),
            _ => None,
        }
    });
    Some(match word {
        Some("socketpair") => Reach::Related,
        // Of a document from before they had the knob: they were pairs.
        None if matches!(spec.name, "unix-dgram" | "unix-seqpacket") => Reach::Related,
        Some(_) if spec.reach == Reach::Related => Reach::Named,
        _ => spec.reach,
    })
}

/// Sockets that strangers can connect to have a port or are bound to a name.
fn is_socket(entry: &RankedCell) -> bool {
    let has_port = entry.spec.is_some_and(|spec| spec.reach == Reach::Network);
    has_port || entry.cell.knobs.keys().any(|name| name.ends_with(".bind"))
}

/// A cell that shows the latest value only is no way to pass messages.
fn passes_messages(entry: &RankedCell) -> bool {
    entry.spec.is_none_or(|spec| spec.back_pressure != BackPressure::Overwrites)
}

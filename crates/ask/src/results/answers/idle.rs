//! What idle polling makes of blocking mechanisms on two CPUs.

use super::answer::{Answer, Question, modes_words};
use super::contest::{RankedCell, has_same_knobs};
use crate::results::chapters::{label, place_order};
use crate::results::fittest::fitness;
use ipcperf_core::result::{Cell, CellKey, ClockFacts, Plan, ResultSet, Spread};
use ipcperf_core::units::format_size;
use ipcperf_core::{Idle, PatternKind, map_of};
use ipcperf_judge::{ROUND_TRIP, Reading, Relations, TIE_FACTOR, figures, margin};
use ipcperf_render::text::counted;
use ipcperf_stats::FEWEST_ROUNDS;

/// One line: the best-known pair of cells that differ in nothing but the idle policy, or the bound measured both
/// ways, or why there is neither. `None` where no blocking row on two CPUs exists that it could be about.
pub(super) fn answer(set: &ResultSet, entries: &[RankedCell]) -> Option<Answer> {
    let subjects: Vec<&Cell> = entries
        .iter()
        .map(|entry| entry.cell)
        .filter(|cell| cell.key.pattern == PatternKind::PingPong && !cell.key.wait.burns_cpu())
        .filter(|cell| cell.key.placement.is_two_cpus() && cell.key.idle == Idle::AsIs)
        .collect();
    if subjects.is_empty() {
        return None;
    }
    if let Some((as_is, polled)) = pair(&set.clock, &subjects, entries) {
        return of_pair(&set.clock, &set.invocation.plan, as_is, polled);
    }
    of_bounds(set).or_else(|| not_permitted(set))
}

/// The pair of the best-known mechanism: `pipe` if it is there, since everybody has a feeling for it.
fn pair<'a>(
    clock: &ClockFacts,
    subjects: &[&'a Cell],
    entries: &[RankedCell<'a>],
) -> Option<(&'a Cell, &'a Cell)> {
    let pairs = subjects.iter().filter_map(|as_is| {
        ROUND_TRIP.reading(as_is, clock)?;
        let polled = entries.iter().map(|entry| entry.cell).find(|cell| {
            cell.key.idle == Idle::Poll
                && same_but_idle(cell, as_is)
                && ROUND_TRIP.reading(cell, clock).is_some()
        })?;
        Some((*as_is, polled))
    });
    pairs.min_by_key(|(as_is, _)| {
        (
            as_is.key.mechanism != "pipe",
            as_is.key.size_bytes == 0,
            as_is.key.size_bytes,
            place_order(as_is.key.placement),
        )
    })
}

fn same_but_idle(a: &Cell, b: &Cell) -> bool {
    CellKey { idle: b.key.idle, ..a.key.clone() } == b.key && has_same_knobs(a, b)
}

fn of_pair(clock: &ClockFacts, plan: &Plan, as_is: &Cell, polled: &Cell) -> Option<Answer> {
    let reading = |cell| ROUND_TRIP.reading(cell, clock);
    let figure = |cell: &Cell, reading: &Reading| {
        let modes = modes_words(cell, ROUND_TRIP);
        format!("{}{modes}", figures::nanos(reading.value))
    };
    let (before, after) = (reading(as_is)?, reading(polled)?);
    let size = match as_is.key.size_bytes {
        0 => String::new(),
        bytes => format!(" of {}", format_size(bytes)),
    };
    let name = label(as_is);
    let comparison = Comparison {
        what: format!("a round trip{size} over {name} on two CPUs ({})", as_is.key.placement),
        mechanism: Some(name),
        as_is: figure(as_is, &before),
        polled: figure(polled, &after),
        effect: "idle CPUs then poll instead of sleeping".to_owned(),
    };
    let is_two_mode = |cell| ROUND_TRIP.of_cell(cell).is_some_and(|metric| metric.modes.len() > 1);
    Some(if is_two_mode(as_is) || is_two_mode(polled) {
        comparison.of_modes()
    } else {
        let pair = [(as_is, before), (polled, after)];
        let relations = Relations::of(ROUND_TRIP, &pair, |_| fitness(None), margin(plan))?;
        let is_certain = (0..pair.len()).any(|at| {
            let relation = relations.relation(at);
            relation.is_slower() || relation.is_faster()
        });
        let doubt = (!is_certain).then(|| why_not(as_is, polled));
        comparison.of(before.value, after.value, doubt)
    })
}

/// Why the rounds of two cells do not show that their figures differ.
fn why_not(as_is: &Cell, polled: &Cell) -> String {
    let screened = match (as_is.is_unconfirmed(), polled.is_unconfirmed()) {
        (true, true) => Some("it was measured only in the screen"),
        (true, false) => Some("it was measured without polling only in the screen"),
        (false, true) => Some("it was measured with polling only in the screen"),
        (false, false) => None,
    };
    if let Some(words) = screened {
        return words.to_owned();
    }
    let rounds = |cell: &Cell| {
        let accepted = cell.rounds.iter().filter(|round| round.rejected.is_none());
        map_of(accepted.filter_map(|round| Some((round.round, cell.figure_of(round)?))))
    };
    let (before, after) = (rounds(as_is), rounds(polled));
    let both: Vec<(f64, f64)> =
        before.iter().filter_map(|(round, as_is)| Some((*as_is, *after.get(round)?))).collect();
    let count = counted(both.len() as u64, "round");
    if both.len() < FEWEST_ROUNDS {
        return format!("{count} had both, and an order takes {FEWEST_ROUNDS}");
    }
    let faster = both.iter().filter(|(as_is, polled)| polled < as_is).count();
    format!("polling was faster in {faster} of {count} that had both")
}

/// Of so many measurements each the ranges of two that do not differ lie apart in 1 case of 126: 2·5!·5!/10!.
const FOR_A_RANGE: u64 = 5;

/// The futex wake-up of the bounds, measured both ways.
fn of_bounds(set: &ResultSet) -> Option<Answer> {
    let both = set.bounds.pairs.iter().find_map(|pair| {
        let as_is = pair.futex_wake_rtt_ns.as_ref()?;
        let polled = pair.futex_wake_rtt_idle_poll_ns.as_ref()?;
        (pair.cacheline_rtt_ns.is_some()).then_some((pair, as_is, polled))
    });
    let (pair, as_is, polled) = both?;
    let comparison = Comparison {
        what: format!("a futex wake-up round trip on two CPUs ({})", pair.placement),
        mechanism: None,
        as_is: figures::nanos(as_is.median),
        polled: figures::nanos(polled.median),
        effect: "blocking rows on two CPUs would gain about as much".to_owned(),
    };
    let below = |a: &Spread, b: &Spread| a.max < b.min && a.median * TIE_FACTOR <= b.median;
    let fewest = as_is.n.min(polled.n);
    let range =
        |one: &Spread| format!("{} to {}", figures::nanos(one.min), figures::nanos(one.max));
    let doubt = if fewest < FOR_A_RANGE {
        Some(format!(
            "{} of each, and an order takes {FOR_A_RANGE}",
            counted(fewest, "measurement")
        ))
    } else if below(as_is, polled) || below(polled, as_is) {
        None
    } else {
        Some(format!(
            "single ones took {} with polling and {} without",
            range(polled),
            range(as_is)
        ))
    };
    Some(comparison.of(as_is.median, polled.median, doubt))
}

/// From this ratio on the sentence gives both figures and says that the run does not confirm the difference.
const FAR: f64 = 2.0;

/// The same thing measured under both idle policies, in words.
struct Comparison {
    what: String,
    mechanism: Option<String>,
    as_is: String,
    polled: String,
    /// What follows where polling is faster.
    effect: String,
}

impl Comparison {
    /// What the two figures say, unless there is a reason to doubt that they differ.
    fn of(self, as_is: f64, polled: f64, doubt: Option<String>) -> Answer {
        let Self { what, as_is: before, polled: after, effect, .. } = &self;
        if let Some(doubt) = doubt {
            if as_is >= FAR * polled {
                let sentence = format!(
                    "With --idle poll, {what} takes {after} instead of {before}, which this run does not confirm: {doubt}."
                );
                return Answer { value: Some(polled), ..self.answer(sentence) };
            }
            // Of figures that hardly differ nobody asks why.
            let is_apart = as_is.max(polled) >= TIE_FACTOR * as_is.min(polled);
            let why = if is_apart { format!("; {doubt}") } else { String::new() };
            let sentence = format!(
                "This run cannot tell a difference between --idle poll and as-is: {what} takes {after} with polling \
                 and {before} without{why}."
            );
            let ties = self.mechanism.iter().cloned().collect();
            return Answer { value: Some(polled), ties, ..self.answer(sentence) };
        }
        if polled > as_is {
            let sentence = format!(
                "This run cannot tell a difference in favour of --idle poll: {what} takes {after} with it and {before} \
                 without."
            );
            return Answer { value: Some(polled), ..self.answer(sentence) };
        }
        let sentence =
            format!("With --idle poll, {what} takes {after} instead of {before}: {effect}.");
        Answer {
            value: Some(polled),
            runner_up: self.mechanism.clone(),
            runner_up_value: Some(as_is),
            ..self.answer(sentence)
        }
    }

    /// Of two modes either may be what polling changed, so that the figures are only named.
    fn of_modes(self) -> Answer {
        let sentence = format!(
            "What --idle poll changes this run cannot tell, since rounds fell into two modes: {} takes {} with polling \
             and {} without.",
            self.what, self.polled, self.as_is,
        );
        Answer { mechanism: None, ..self.answer(sentence) }
    }

    /// An answer without figures.
    fn answer(&self, sentence: String) -> Answer {
        Answer {
            mechanism: self.mechanism.clone(),
            ..Answer::without_figures(Question::IdlePoll, sentence)
        }
    }
}

fn not_permitted(set: &ResultSet) -> Option<Answer> {
    let sentence = "What idle polling would make of the blocking rows on two CPUs was not measured: this user may not \
                    hold /dev/cpu_dma_latency.";
    (!set.host.may_poll_idle)
        .then(|| Answer::without_figures(Question::IdlePoll, sentence.to_owned()))
}

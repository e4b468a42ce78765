//! What idle polling makes of blocking mechanisms on two CPUs.

use super::contest::Entry;
use super::{Answer, Question, modes_words};
use crate::chapters::{label, place_order};
use crate::figures;
use crate::rank::{Reading, Yardstick};
use ipcperf_core::result::{Cell, ResultSet};
use ipcperf_core::units::format_size;
use ipcperf_core::{Idle, PatternKind};

/// One line: the best-known pair of cells that differ in nothing but the idle policy, or the bound measured both
/// ways, or why there is neither. `None` where no blocking row on two CPUs exists that it could be about.
pub(super) fn answer(set: &ResultSet, entries: &[Entry]) -> Option<Answer> {
    let subjects: Vec<&Cell> = entries
        .iter()
        .map(|entry| entry.cell)
        .filter(|cell| cell.pattern == PatternKind::PingPong && !cell.wait.burns_cpu())
        .filter(|cell| cell.placement.is_two_cpus() && cell.idle == Idle::AsIs)
        .collect();
    if subjects.is_empty() {
        return None;
    }
    if let Some((as_is, polled)) = pair(&subjects, entries) {
        return Some(of_pair(as_is, polled));
    }
    of_bounds(set).or_else(|| not_permitted(set))
}

/// The pair of the best-known mechanism: `pipe` if it is there, since everybody has a feeling for it.
fn pair<'a>(subjects: &[&'a Cell], entries: &[Entry<'a>]) -> Option<(&'a Cell, &'a Cell)> {
    let pairs = subjects.iter().filter_map(|as_is| {
        Yardstick::RoundTrip.reading(as_is)?;
        let polled = entries.iter().map(|entry| entry.cell).find(|cell| {
            cell.idle == Idle::Poll
                && same_but_idle(cell, as_is)
                && Yardstick::RoundTrip.reading(cell).is_some()
        })?;
        Some((*as_is, polled))
    });
    pairs.min_by_key(|(as_is, _)| {
        (
            as_is.mechanism != "pipe",
            as_is.size_bytes == 0,
            as_is.size_bytes,
            place_order(as_is.placement),
        )
    })
}

fn same_but_idle(a: &Cell, b: &Cell) -> bool {
    let requested = |cell: &Cell| {
        let knobs = cell.knobs.iter().map(|(name, knob)| (name.clone(), knob.requested.clone()));
        knobs.filter(|(_, value)| value.is_some()).collect::<Vec<_>>()
    };
    (&a.mechanism, a.pattern, a.size_bytes, a.placement, a.touch)
        == (&b.mechanism, b.pattern, b.size_bytes, b.placement, b.touch)
        && requested(a) == requested(b)
}

fn of_pair(as_is: &Cell, polled: &Cell) -> Answer {
    let reading = |cell| Yardstick::RoundTrip.reading(cell);
    let figure = |cell: &Cell, reading: Option<Reading>| match reading {
        Some(reading) => {
            let modes = modes_words(cell, Yardstick::RoundTrip, &reading);
            format!("{}{modes}", figures::nanos(reading.value))
        }
        None => figures::NONE.to_owned(),
    };
    let trip = match as_is.size_bytes {
        0 => "a round trip".to_owned(),
        bytes => format!("a round trip of {}", format_size(bytes)),
    };
    let name = label(as_is);
    let sentence = format!(
        "With --idle poll, {trip} over {name} on two CPUs ({}) takes {} instead of {}: idle CPUs then poll instead of \
         sleeping.",
        as_is.placement,
        figure(polled, reading(polled)),
        figure(as_is, reading(as_is)),
    );
    Answer {
        question: Question::IdlePoll,
        sentence,
        mechanism: Some(name.clone()),
        value: reading(polled).map(|reading| reading.value),
        ties: Vec::new(),
        runner_up: Some(name),
        runner_up_value: reading(as_is).map(|reading| reading.value),
    }
}

/// The futex wake-up of the bounds, measured both ways.
fn of_bounds(set: &ResultSet) -> Option<Answer> {
    let both = set.bounds.pairs.iter().find_map(|pair| {
        let as_is = pair.futex_wake_rtt_ns.as_ref()?.median;
        let polled = pair.futex_wake_rtt_idle_poll_ns.as_ref()?.median;
        (pair.cacheline_rtt_ns.is_some()).then_some((pair, as_is, polled))
    });
    let (pair, as_is, polled) = both?;
    let sentence = format!(
        "With --idle poll a futex wake-up there and back on two CPUs ({}) takes {} instead of {}; blocking rows on two \
         CPUs would gain about as much.",
        pair.placement,
        figures::nanos(polled),
        figures::nanos(as_is),
    );
    Some(Answer {
        question: Question::IdlePoll,
        sentence,
        mechanism: None,
        value: Some(polled),
        ties: Vec::new(),
        runner_up: None,
        runner_up_value: Some(as_is),
    })
}

fn not_permitted(set: &ResultSet) -> Option<Answer> {
    (!set.host.may_poll_idle).then(|| Answer {
        question: Question::IdlePoll,
        sentence: "What idle polling would make of the blocking rows on two CPUs was not measured: this user may not \
                   hold /dev/cpu_dma_latency."
            .to_owned(),
        mechanism: None,
        value: None,
        ties: Vec::new(),
        runner_up: None,
        runner_up_value: None,
    })
}

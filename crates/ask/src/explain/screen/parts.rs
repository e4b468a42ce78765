//! What each part of a round trip takes, round by round.

use super::arms::{self, COPIER, WAKER};
use ipcperf_core::result::{Cell, Metric, ResultSet, Round};
use ipcperf_core::{Idle, map_of};
use ipcperf_kit::document::Specs;
use ipcperf_stats::median_estimate;
use std::collections::BTreeMap;

/// Switches for each message beyond those of a burst's own wake-ups from which on its messages were woken for one by one,
/// so that the burst isolates nothing.
const DISTURBED: f64 = 0.25;

/// With fewer switches for each message nobody sleeps for it.
const AWAKE: f64 = 0.1;

/// A part of a round trip.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum TripPart {
    Calls,
    Copies,
    WakeUp,
    Idle,
    Migration,
    CacheLine,
}

impl TripPart {
    pub(crate) const ALL: [Self; 6] =
        [Self::Calls, Self::Copies, Self::WakeUp, Self::Idle, Self::Migration, Self::CacheLine];

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Calls => "send and receive",
            Self::Copies => "copies",
            Self::WakeUp => "wake-up and switch",
            Self::Idle => "leaving idle",
            Self::Migration => "migration",
            Self::CacheLine => "cache line",
        }
    }
}

/// A figure of each round.
pub(crate) type Rounds = BTreeMap<u64, f64>;

/// Why a part has no figure.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Why {
    /// There is no such part, so that it takes nothing; otherwise it is somewhere in what is left.
    pub(crate) is_nothing: bool,
    pub(crate) text: String,
}

impl Why {
    fn nothing(text: impl Into<String>) -> Self {
        Self { is_nothing: true, text: text.into() }
    }

    fn unknown(text: impl Into<String>) -> Self {
        Self { is_nothing: false, text: text.into() }
    }
}

impl From<String> for Why {
    fn from(text: String) -> Self {
        Self::unknown(text)
    }
}

/// A round trip and its parts.
pub(crate) struct Trip<'a> {
    pub(crate) cell: &'a Cell,
    pub(crate) whole: Rounds,
    pub(crate) parts: Vec<(TripPart, Result<Rounds, Why>)>,
    /// What no arm has.
    pub(crate) rest: Rounds,
}

/// Median over rounds with its interval.
pub(crate) fn figure(rounds: &Rounds) -> Metric {
    let values: Vec<f64> = rounds.values().copied().collect();
    match median_estimate(&values) {
        None => Metric::missing("no round has all that it takes"),
        Some(found) => Metric {
            value: Some(found.value),
            ci95: found.ci95.map(|one| [one.low, one.high]),
            ..Metric::default()
        },
    }
}

fn accepted(cell: &Cell) -> impl Iterator<Item = &Round> {
    cell.rounds.iter().filter(|round| round.rejected.is_none())
}

fn rounds(cell: &Cell) -> Rounds {
    map_of(accepted(cell).filter_map(|round| Some((round.round, round.p50_ns?))))
}

/// A figure of what all of them are in a round, in the rounds that all have.
fn each<const N: usize>(all: [&Rounds; N], figure: impl Fn([f64; N]) -> f64) -> Rounds {
    let Some(first) = all.first() else { return Rounds::new() };
    let rounds = first.keys().filter_map(|round| {
        let mut values = [0.0; N];
        for (value, one) in values.iter_mut().zip(all) {
            *value = *one.get(round)?;
        }
        Some((*round, figure(values)))
    });
    map_of(rounds.filter(|(_, value)| value.is_finite()))
}

/// How much the second is beyond the first.
pub(crate) fn beyond(first: &Rounds, second: &Rounds) -> Rounds {
    each([first, second], |[first, second]| second - first)
}

fn times(factor: f64, rounds: &Rounds) -> Rounds {
    each([rounds], |[value]| factor * value)
}

/// Switches of both ends for each message.
pub(crate) fn switches(cell: &Cell) -> Rounds {
    let of = |round: &Round| {
        let sides = [&round.covariates.lead, &round.covariates.follow];
        let each = sides.map(|side| [side.voluntary_switches, side.involuntary_switches]);
        let count: f64 = each.as_flattened().iter().map(|one| *one as f64).sum();
        (round.round, count / round.cost_messages().max(1) as f64)
    };
    map_of(accepted(cell).map(of))
}

/// One message more in a burst: sent and received while nobody waits.
fn message(set: &ResultSet, mechanism: &str, size: u64) -> Result<Rounds, Why> {
    let [many, one] = arms::bursts(mechanism, size);
    let (many, one) = (many.of(set)?, one.of(set)?);
    let count = many.key.load.burst as f64;
    let switches = many.context_switches_per_message.unwrap_or(0.0);
    if switches > 2.0 / count + DISTURBED {
        return Err(Why::unknown(format!(
            "a burst of {mechanism} did not go without wake-ups: {switches:.2} switches for each message"
        )));
    }
    Ok(times(1.0 / (count - 1.0), &beyond(&rounds(one), &rounds(many))))
}

/// What copying a message of this size once takes.
fn copy(set: &ResultSet, size: u64) -> Result<Rounds, Why> {
    let [large, small] = arms::copies(size);
    let (large, small) = (large.of(set)?, small.of(set)?);
    let each = 1.0 / large.key.load.burst.max(1) as f64;
    Ok(times(each, &beyond(&rounds(small), &rounds(large))))
}

/// What takes the time of what only wakes, as often as the ends of this cell are switched.
fn woken(cell: &Cell, arm: &Cell, taken: &Rounds) -> Rounds {
    each([taken, &switches(cell), &switches(arm)], |[taken, own, arm]| taken * own / arm)
}

/// The cache line beside each slice.
fn cache_line(cell: &Cell) -> Rounds {
    let of = |round: &Round| {
        let found = &round.covariates;
        let before = found.cacheline_rtt_ns?;
        let after = found.cacheline_rtt_after_ns.unwrap_or(before);
        Some((round.round, f64::midpoint(before, after)))
    };
    map_of(accepted(cell).filter_map(of))
}

fn parts(set: &ResultSet, specs: &Specs, cell: &Cell) -> Vec<(TripPart, Result<Rounds, Why>)> {
    let key = &cell.key;
    let place = key.placement;
    let switched = figure(&switches(cell)).value.unwrap_or(0.0);
    let is_awake = switched < AWAKE;
    let awake =
        || Why::nothing(format!("neither side sleeps ({switched:.2} switches for each message)"));
    let arm = |idle| arms::wake(place, idle).of(set);
    let may_idle = !place.is_one_cpu() && key.idle == Idle::AsIs;
    let wake_up = || {
        // Without leaving idle where that can be had by itself.
        let polling = arm(Idle::Poll).ok().filter(|_| may_idle);
        let arm = polling.map_or_else(|| arm(key.idle), Ok)?;
        let message = message(set, WAKER, 0)?;
        let taken = each([&rounds(arm), &message], |[trip, message]| trip - 2.0 * message);
        Ok(woken(cell, arm, &taken))
    };
    let idle = || {
        let (polling, as_is) = (arm(Idle::Poll)?, arm(Idle::AsIs)?);
        Ok(woken(cell, as_is, &beyond(&rounds(polling), &rounds(as_is))))
    };
    let copied = || {
        let copies = |name: &str| specs(name).map(|spec| f64::from(spec.copies));
        match (key.size_bytes, copies(&key.mechanism), copies(COPIER)) {
            (0 | 1, ..) => Err(Why::nothing("there is nothing to copy")),
            (_, Some(0.0), _) => Err(Why::nothing("it copies nothing")),
            (size, Some(own), Some(arm)) => Ok(times(2.0 * own / arm, &copy(set, size)?)),
            _ => Err(Why::unknown("how often it copies is not known")),
        }
    };
    let taken = |part| match part {
        TripPart::Calls => message(set, &key.mechanism, 1).map(|one| times(2.0, &one)),
        TripPart::Copies => copied(),
        TripPart::WakeUp | TripPart::Idle if is_awake => Err(awake()),
        TripPart::WakeUp => wake_up(),
        TripPart::Idle if may_idle => idle(),
        TripPart::Idle if place.is_one_cpu() => {
            Err(Why::nothing("of two ends on one CPU one always runs"))
        }
        TripPart::Idle => Err(Why::nothing("idle CPUs poll")),
        TripPart::Migration if place.is_free() => {
            Err(Why::unknown("the scheduler moves the ends, here as in the arm of the wake-up"))
        }
        TripPart::Migration => Err(Why::nothing("both ends are pinned")),
        TripPart::CacheLine if is_awake && !place.is_one_cpu() => Ok(cache_line(cell)),
        TripPart::CacheLine => Err(Why::nothing("it is in the arm of the wake-up")),
    };
    TripPart::ALL.into_iter().map(|part| (part, taken(part))).collect()
}

impl<'a> Trip<'a> {
    /// Of this cell.
    pub(crate) fn of(set: &ResultSet, specs: &Specs, cell: &'a Cell) -> Self {
        let whole = rounds(cell);
        let parts = parts(set, specs, cell);
        let measured = parts.iter().filter_map(|(_, taken)| taken.as_ref().ok());
        let rest = measured.fold(whole.clone(), |rest, part| beyond(part, &rest));
        Self { cell, rest, parts, whole }
    }

    /// What a part takes; nothing where there is no such part.
    pub(crate) fn taken(&self, part: TripPart) -> Option<Rounds> {
        match &self.parts.iter().find(|(other, _)| *other == part)?.1 {
            Ok(rounds) => Some(rounds.clone()),
            Err(why) if why.is_nothing => {
                Some(map_of(self.whole.keys().map(|round| (*round, 0.0))))
            }
            Err(_) => None,
        }
    }

    /// Whether there is no such part.
    pub(crate) fn lacks(&self, part: TripPart) -> bool {
        let is_it = |(other, taken): &(TripPart, Result<Rounds, Why>)| {
            *other == part && taken.as_ref().is_err_and(|why| why.is_nothing)
        };
        self.parts.iter().any(is_it)
    }

    /// The largest part, or that nobody knows it.
    pub(crate) fn largest(&self) -> Option<(Option<TripPart>, f64)> {
        let whole = figure(&self.whole).value?;
        let parts = self.parts.iter().filter_map(|(part, taken)| {
            Some((Some(*part), figure(taken.as_ref().ok()?).value? / whole))
        });
        let rest = figure(&self.rest).value.map(|rest| (None, rest / whole));
        parts.chain(rest).max_by(|a, b| a.1.total_cmp(&b.1))
    }

    /// The time that no arm explains. If the arms take more than the whole, it is 0, and the second value is their overlap.
    pub(crate) fn rest_and_overlap(&self) -> (Rounds, Option<Rounds>) {
        match figure(&self.rest).value {
            Some(rest) if rest < 0.0 => (times(0.0, &self.rest), Some(times(-1.0, &self.rest))),
            _ => (self.rest.clone(), None),
        }
    }

    /// The share that arms of their own have.
    pub(crate) fn covered(&self) -> Option<f64> {
        Some(1.0 - figure(&self.rest).value? / figure(&self.whole).value?)
    }
}

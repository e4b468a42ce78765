//! What a benchmark times: messages between two looks at a clock.

use super::super::log::Log;
use super::group::{FEW, Group, WORD};
use super::looks::{ClockReading, Series, ancestors, looks};
use crate::record::calls::{Act, Call, Clock};
use std::collections::HashSet;

/// Who times less than this share of what another one times does not time the benchmark.
const NEARLY: f64 = 0.9;

/// Another round has at least this share of the messages of the largest; a warm-up has fewer.
const ROUND: f64 = 0.4;

/// At least this share of the looks of a series begin or end a round, where it is the benchmark that looks. It may also look at
/// other times, as before each set-up.
const PURE: f64 = 0.3;

/// Nearly all looks of a series begin or end a message.
const ALL: f64 = 0.9;

/// Messages of a channel that lie between looks at a clock.
pub(super) struct Timed {
    /// Which channel.
    pub(super) group: usize,
    /// Who looks, or for whom: of a script it is the script.
    pub(super) process: u32,
    /// From the end of a look to the begin of the next, ns.
    pub(super) spans: Vec<(u64, u64)>,
    /// Messages within them.
    pub(super) messages: usize,
    /// How many spans begin with the look that ends the one before.
    pub(super) adjacent: usize,
    /// When it looks at the clock, ns.
    pub(super) looks: Vec<u64>,
    /// Each span has many.
    has_rounds: bool,
    /// Looks of a runtime may be among those that begin and end the spans.
    pub(super) is_mixed: bool,
    /// Other looks of the process are left out.
    is_part: bool,
    is_common: bool,
    is_by_place: bool,
    /// Of the looks of its series, how many begin or end a span.
    purity: f64,
}

impl Timed {
    /// Its spans, if each has many messages: one, or rounds.
    pub(super) fn rounds(&self) -> Option<&[(u64, u64)]> {
        self.has_rounds.then_some(&self.spans)
    }
}

/// What is timed of each channel by such clocks, by each process that has an end of it or has started one.
pub(super) fn timed(
    log: &Log,
    groups: &[Group],
    clock: impl Fn(Clock) -> Option<u64>,
) -> Vec<Timed> {
    let mut found = Vec::new();
    let looks = looks(log, groups, clock);
    let mut writes: Vec<u64> =
        groups.iter().flat_map(|group| &group.writes).map(|one| one.begun).collect();
    writes.sort_unstable();
    for (at, group) in groups.iter().enumerate() {
        let mut concerned: HashSet<u32> = group.processes.keys().copied().collect();
        concerned.extend(group.processes.keys().flat_map(|process| ancestors(log, *process)));
        let of_concerned = looks.iter().filter(|(process, _)| concerned.contains(process));
        let best = |(process, series): (&u32, &Vec<Series>)| {
            let all = series.iter().filter_map(|one| between(group, at, *process, one, &writes));
            best(group, all.filter(|one| has_figure(log, group, one)).collect())
        };
        let mut all: Vec<Timed> = of_concerned.filter_map(best).collect();
        // A runtime that looks at a clock now and then has fewer messages in between.
        let most = all.iter().map(|timed| timed.messages).max().unwrap_or(0);
        all.retain(|one| one.messages as f64 >= NEARLY * most as f64);
        // What a runtime may time says nothing beside what a benchmark does.
        if all.iter().any(|one| !one.is_mixed) {
            all.retain(|one| !one.is_mixed);
        }
        // What times itself needs no clock around it: `date`, `time` and a driver are no part of its figure.
        let is_within = |one: &Timed| {
            let is_started_by = |other: &&Timed| {
                ancestors(log, other.process).any(|parent| parent == one.process)
                    && other.spans.iter().all(|span| one.covers(*span))
            };
            !group.processes.contains_key(&one.process) && all.iter().any(|it| is_started_by(&it))
        };
        let outer: Vec<bool> = all.iter().map(is_within).collect();
        found.extend(all.into_iter().zip(outer).filter(|(_, outer)| !outer).map(|(one, _)| one));
    }
    found
}

/// Something was written after the last look at the clock, and not to the peer: otherwise there is no figure.
fn has_figure(log: &Log, group: &Group, timed: &Timed) -> bool {
    let Some(last) = timed.spans.last() else { return false };
    let first = log.calls.partition_point(|call| call.ended <= last.1);
    let is_of = |one: u32, other: u32| ancestors(log, one).any(|parent| parent == other);
    let is_figure = |call: &Call| {
        // The other end of the channel prints its own figures.
        let is_near = call.process == timed.process
            || !group.processes.contains_key(&call.process)
                && (is_of(call.process, timed.process) || is_of(timed.process, call.process));
        // Threads of a runtime wake each other by small messages.
        let is_text = call.prints() || log.is_file(call.object) || log.kind(call.object).is_none();
        let is_said = matches!(call.act(), Act::Wrote(bytes) if is_text || bytes > WORD);
        is_said && !group.objects.contains(&call.object) && is_near
    };
    log.calls[first..].iter().any(is_figure)
}

impl Timed {
    fn covers(&self, span: (u64, u64)) -> bool {
        self.spans.iter().any(|own| own.0 <= span.0 && span.1 <= own.1)
    }
}

/// Of what may be timed by one process, what it times: single messages with their answers, by looks that do nothing else; or else the
/// shortest rounds, by looks of which few do something else; or else what lies between looks that may be those of the runtime.
fn best(group: &Group, mut all: Vec<Timed>) -> Option<Timed> {
    // Rounds by looks that mostly do something else are no rounds.
    all.retain(|one| !one.has_rounds || one.purity >= PURE);
    let most = all.iter().map(|one| one.messages).max().unwrap_or(0);
    all.retain(|one| one.messages as f64 >= NEARLY * most as f64);
    for one in &mut all {
        // A loop that waits for events looks at the clock before and after it waits.
        one.is_mixed |= one.is_part && !one.has_rounds && !has_trips(group, one);
    }
    let rank = |one: &Timed| match one.has_rounds {
        _ if one.is_mixed => 4,
        // Each look begins or ends one.
        false if one.adjacent == 0 && one.purity >= ALL => 0,
        true => 1,
        false if one.adjacent * 2 < one.spans.len() => 2,
        false => 3,
    };
    let length =
        |one: &Timed| one.spans.iter().map(|span| span.1.saturating_sub(span.0)).sum::<u64>();
    all.into_iter().min_by_key(|one| (one.is_common, rank(one), length(one), one.is_by_place))
}

/// In most spans a message leaves the process and then one comes.
fn has_trips(group: &Group, timed: &Timed) -> bool {
    let Some(moves) = group.processes.get(&timed.process) else { return false };
    let has_trip = |span: &&(u64, u64)| {
        let first = moves.partition_point(|one| one.ended <= span.0);
        let mut within = moves[first..].iter().take_while(|one| one.ended < span.1);
        within.any(|one| one.is_out) && within.any(|one| !one.is_out)
    };
    timed.spans.iter().filter(has_trip).count() * 2 > timed.spans.len()
}

/// What a process times of a group by such looks. `all` says when messages of any group were written.
fn between(group: &Group, at: usize, process: u32, series: &Series, all: &[u64]) -> Option<Timed> {
    let writes = &group.writes;
    let written = |span: (u64, u64)| {
        let before = |time: u64| all.partition_point(|begun| *begun < time);
        before(span.1).saturating_sub(before(span.0))
    };
    let mut looks: Vec<ClockReading> = Vec::with_capacity(series.looks.len());
    for look in &series.looks {
        // What only ends something ends nothing where nothing was written: it is the runtime that looks.
        let ends_nothing = |last: &ClockReading| written((last.ended, look.begun)) == 0;
        if !look.only_ends || !looks.last().is_none_or(ends_nothing) {
            looks.push(*look);
        }
    }
    let before = |time: u64| writes.partition_point(|one| one.begun < time);
    let messages = |span: (u64, u64)| before(span.1).saturating_sub(before(span.0));
    let counted = looks.windows(2).map(|two: &[ClockReading]| {
        let span = (two[0].ended, two[1].begun);
        (span, messages(span))
    });
    let counted: Vec<_> = counted.collect();
    let adjacent = counted.iter().zip(counted.iter().skip(1));
    let adjacent = adjacent.filter(|(one, next)| one.1 > 0 && next.1 > 0).count();
    let with: Vec<_> = counted.into_iter().filter(|(_, count)| *count > 0).collect();
    let half = writes.len().div_ceil(2);
    let of = |kept: Vec<((u64, u64), usize)>, has_rounds| {
        let messages = kept.iter().map(|(_, count)| count).sum();
        let spans: Vec<_> = kept.into_iter().map(|(span, _)| span).collect();
        let Series { is_mixed, is_part, is_common, is_by_place, .. } = *series;
        // Rounds of other groups are rounds, too.
        let is_span = |two: &&[ClockReading]| {
            written((two[0].ended, two[1].begun)) >= if has_rounds { FEW } else { 1 }
        };
        let ends = 2.0 * looks.windows(2).filter(is_span).count() as f64;
        let purity = if is_part { ends / looks.len() as f64 } else { 1.0 };
        let looks = looks.iter().map(|one| one.begun).collect();
        Timed {
            looks,
            is_part,
            is_common,
            is_by_place,
            group: at,
            process,
            spans,
            messages,
            has_rounds,
            adjacent,
            is_mixed,
            purity,
        }
    };
    // Rounds have about as many messages as the largest one, and together most of them.
    let most = with.iter().map(|(_, count)| *count).max().unwrap_or(0);
    let is_round = |count: usize| count >= FEW && count as f64 >= ROUND * most as f64;
    let rounds: Vec<_> = with.iter().copied().filter(|(_, count)| is_round(*count)).collect();
    let rounds = of(rounds, true);
    if rounds.messages >= half && !series.is_mixed {
        return Some(rounds);
    }
    let single = of(with, false);
    (single.messages >= half && single.spans.len() >= FEW).then_some(single)
}

/// Calls that returned within a span.
pub(super) fn calls_within(log: &Log, span: (u64, u64)) -> impl Iterator<Item = &Call> {
    let first = log.calls.partition_point(|call| call.ended <= span.0);
    log.calls[first..].iter().take_while(move |call| call.ended < span.1)
}

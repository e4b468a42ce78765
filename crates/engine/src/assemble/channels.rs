//! Channels that were at work at the same time: from rounds to metrics, and how cells scale that differ in their number.

use super::metric::{interval, over_rounds};
use super::proof::counts_agree;
use super::sliced::Sliced;
use crate::plan::CellPlan;
use crate::slice::{RawChannel, RawChannels};
use ipcperf_core::result::{Cell, Channels, ChannelsRound, Metric, Round, Scaling, Status};
use ipcperf_core::{Exchange, map_of};
use ipcperf_stats::{FEWEST_POINTS, ScalabilityLaw, jain, median, ratio_estimate};
use std::collections::BTreeMap;

/// Why there is no figure.
const APART: &str = "in no round were all channels at work at the same time; use longer slices (--slice) or fewer channels";

pub(super) fn round(all: &RawChannels, exchange: Exchange, ns: f64) -> ChannelsRound {
    let seconds = all.ticks as f64 * ns / 1e9;
    let at_once = all.each.iter().filter(|_| seconds > 0.0);
    ChannelsRound {
        per_second: at_once.map(|channel| channel.served / seconds).collect(),
        pids: all.each.iter().map(|channel| channel.pids).collect(),
        arrived: all.each.iter().map(|channel| channel.counts[1].received).collect(),
        proved: all.each.iter().map(|channel| is_proved(channel, exchange)).collect(),
    }
}

pub(super) fn all_proved(all: &RawChannels, exchange: Exchange) -> bool {
    all.each.iter().all(|channel| is_proved(channel, exchange))
}

/// As the proof of a slice of one channel. All stamps have the number of their channel, and were checked.
fn is_proved(channel: &RawChannel, exchange: Exchange) -> bool {
    let RawChannel { counts, pids: [lead, follow], used_cpu, .. } = channel;
    counts_agree(counts, exchange) && counts[0].sent > 0 && lead != follow && *used_cpu
}

pub(super) fn cell(kept: &[&Sliced], plan: &CellPlan) -> Channels {
    let rounds = || kept.iter().filter_map(|slice| slice.round.channels.as_ref());
    let over = |value: fn(&ChannelsRound) -> Option<f64>| -> Metric {
        let values: Vec<f64> = rounds().filter_map(value).collect();
        if values.is_empty() { Metric::missing(APART) } else { over_rounds(&values) }
    };
    Channels {
        count: plan.key.load.channels,
        cpus: plan.channels.cpus.clone(),
        oversubscribed: plan.channels.is_oversubscribed,
        sum_per_second: over(sum),
        median_per_second: over(|round| median(&round.per_second)),
        slowest_of_fastest: over(|round| {
            let slowest = round.per_second.iter().copied().reduce(f64::min)?;
            let fastest = round.per_second.iter().copied().reduce(f64::max)?;
            (fastest > 0.0).then(|| slowest / fastest)
        }),
        jain: over(|round| jain(&round.per_second)),
        of_ideal: None,
    }
}

fn sum(round: &ChannelsRound) -> Option<f64> {
    (!round.per_second.is_empty()).then(|| round.per_second.iter().sum())
}

/// The sums of a cell by rounds, of those that count.
fn sums(cell: &Cell) -> BTreeMap<u64, f64> {
    let counting = cell.rounds.iter().filter(|round| round.rejected.is_none());
    let of_round = |round: &Round| Some((round.round, sum(round.channels.as_ref()?)?));
    map_of(counting.filter_map(of_round).filter(|(_, sum)| *sum > 0.0))
}

/// Compares cells that differ in their number of channels alone with the one that has one, and fits the law to them.
pub(super) fn scaling(cells: &mut [Cell]) -> Vec<Scaling> {
    let mut families: Vec<Vec<usize>> = Vec::new();
    for (at, cell) in cells.iter().enumerate() {
        if cell.status != Status::Ok || cell.channels.is_none() {
            continue;
        }
        let is_same = |family: &&mut Vec<usize>| cells[family[0]].differs_in_channels_from(cell);
        match families.iter_mut().find(is_same) {
            Some(family) => family.push(at),
            None => families.push(vec![at]),
        }
    }
    families.retain(|family| family.len() > 1);
    for family in &mut families {
        family.sort_by_key(|at| cells[*at].key.load.channels);
        compare(cells, family);
    }
    families.iter().map(|family| law(cells, family)).collect()
}

/// Adds the ratio to as many times one channel.
fn compare(cells: &mut [Cell], family: &[usize]) {
    let Some(single) = family.first().map(|at| &cells[*at]) else { return };
    if single.key.load.channels != 1 {
        return;
    }
    let single = sums(single);
    for at in family {
        let cell = &mut cells[*at];
        let count = cell.key.load.channels as f64;
        let ratio = |(round, sum): (u64, f64)| Some(sum / count / single.get(&round)?);
        let ratios: Vec<f64> = sums(cell).into_iter().filter_map(ratio).collect();
        let metric = match ratio_estimate(&ratios) {
            Some(estimate) => Metric {
                value: Some(estimate.value),
                ci95: interval(estimate),
                reason: estimate.ci95.is_none().then(|| {
                    format!(
                        "an interval needs more rounds that both cells have than {}",
                        ratios.len()
                    )
                }),
                method: Some("rounds".into()),
                ..Metric::default()
            },
            None => Metric::missing("no round has both this cell and one channel"),
        };
        if let Some(channels) = cell.channels.as_mut().filter(|one| one.count > 1) {
            channels.of_ideal = Some(metric);
        }
    }
}

/// The law of a family: of each round that all its cells have, and the median of these.
fn law(cells: &[Cell], family: &[usize]) -> Scaling {
    let has_cpus =
        |at: &&usize| cells[**at].channels.as_ref().is_some_and(|one| !one.oversubscribed);
    let fitted: Vec<(u64, BTreeMap<u64, f64>)> = family
        .iter()
        .filter(has_cpus)
        .map(|at| (cells[*at].key.load.channels, sums(&cells[*at])))
        .collect();
    let rounds = fitted.first().map(|(_, sums)| sums.keys().copied().collect::<Vec<_>>());
    let of_round = |round: u64| {
        let point = |(count, sums): &(u64, BTreeMap<u64, f64>)| Some((*count, *sums.get(&round)?));
        ScalabilityLaw::fit(&fitted.iter().map(point).collect::<Option<Vec<_>>>()?)
    };
    let laws: Vec<ScalabilityLaw> = rounds.into_iter().flatten().filter_map(of_round).collect();
    let metric = |part: fn(&ScalabilityLaw) -> f64| {
        if fitted.len() < FEWEST_POINTS {
            let has = match fitted.len() {
                0 => "none".to_owned(),
                some => some.to_string(),
            };
            return Metric::missing(format!(
                "a law needs {FEWEST_POINTS} numbers of channels with a CPU for every end that could run, has {has}"
            ));
        }
        if laws.is_empty() {
            return Metric::missing("no round has a figure of each number of channels");
        }
        over_rounds(&laws.iter().map(part).collect::<Vec<_>>())
    };
    Scaling {
        cells: family.iter().map(|at| cells[*at].id.clone()).collect(),
        fitted: fitted.iter().map(|(count, _)| *count).collect(),
        contention: metric(|law| law.contention),
        coherency: metric(|law| law.coherency),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A cell of this number of channels, with these sums in its rounds.
    fn cell_of(count: u64, oversubscribed: bool, sums: impl IntoIterator<Item = f64>) -> Cell {
        let round = |(round, sum): (u64, f64)| Round {
            round,
            channels: Some(ChannelsRound {
                per_second: vec![sum / count as f64; count as usize],
                ..ChannelsRound::default()
            }),
            ..Round::default()
        };
        let mut cell = Cell {
            id: format!("pipe channels={count}"),
            status: Status::Ok,
            rounds: (0..).zip(sums).map(round).collect(),
            channels: Some(Channels { count, oversubscribed, ..Channels::default() }),
            ..Cell::default()
        };
        cell.key.load.channels = count;
        cell
    }

    /// Nine rounds of a law, each at a speed of its own.
    fn of_law(count: u64, oversubscribed: bool) -> Cell {
        let law = ScalabilityLaw { single: 1e6, contention: 0.05, coherency: 0.001 };
        let speed = |round: u32| 1.0 + f64::from(round % 3) / 10.0;
        cell_of(count, oversubscribed, (0..9).map(|round| law.work(count) * speed(round)))
    }

    #[test]
    fn cells_are_held_against_one_channel_and_have_the_law_of_those_with_cpus_alone() {
        let mut cells = [8, 1, 4, 2].map(|count| of_law(count, false)).to_vec();
        // Sixteen have not enough CPUs: what they do is no part of the law.
        cells.push(cell_of(16, true, [1e6; 9]));
        let all = scaling(&mut cells);
        let [found] = all.as_slice() else { panic!("one family: {all:?}") };
        assert_eq!(found.cells.len(), 5);
        assert_eq!(found.fitted, [1, 2, 4, 8]);
        let near = |metric: &Metric, to: f64| {
            assert!(metric.value.is_some_and(|value| (value - to).abs() < 1e-9), "{metric:?}");
            assert!(metric.ci95.is_some(), "{metric:?}");
        };
        near(&found.contention, 0.05);
        near(&found.coherency, 0.001);
        let of_ideal = |at: usize| cells[at].channels.as_ref().unwrap().of_ideal.as_ref();
        near(of_ideal(3).unwrap(), 1.0 / (1.0 + 0.05 + 0.002));
        assert_eq!(of_ideal(1), None, "one channel is the ideal");
    }

    #[test]
    fn as_on_two_cpus_no_law_can_be_fitted_and_it_says_why() {
        let mut cells = vec![of_law(1, false), of_law(2, false), of_law(4, true), of_law(8, true)];
        let found = scaling(&mut cells).remove(0);
        assert_eq!((found.fitted, found.contention.value), (vec![1, 2], None));
        let reason = found.contention.reason.unwrap();
        assert!(reason.contains("has 2"), "{reason}");
        assert!(cells[3].channels.as_ref().unwrap().of_ideal.is_some());
    }

    #[test]
    fn rejected_rounds_and_other_cells_are_no_part_of_it() {
        let mut cells = vec![of_law(1, false), of_law(2, false)];
        cells[1].rounds[0].rejected = Some(ipcperf_core::findings::TRACED.rejection("7"));
        cells[1].rounds[0].channels = Some(ChannelsRound::default());
        cells.push(Cell { status: Status::Ok, ..Cell::default() });
        let mut other = of_law(4, false);
        other.key.size_bytes = 64;
        cells.push(other);
        assert_eq!(scaling(&mut cells).len(), 1, "one alone is no family");
        let ideal = cells[1].channels.as_ref().unwrap().of_ideal.clone().unwrap();
        assert!(ideal.value.is_some_and(|value| value < 1.0) && ideal.ci95.is_some());
    }
}

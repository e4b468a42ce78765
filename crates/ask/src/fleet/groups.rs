//! Hosts by CPU and kernel, and which of them are slow.
//!
//! The host is the unit, as in `deploy/sql/fleet.sql`: rounds of one host share its state. The spread of a group of 30 is
//! its own; smaller groups share one, since the spread of a few hosts does not show what is unusual.

use super::host::{HostFigure, HostResult};
use ipcperf_core::map_of;
use ipcperf_stats::{median, robust_spread};
use std::collections::{BTreeMap, BTreeSet};

/// Robust standard deviations above its group from which on a host is slow, and the least that it must be slower.
pub(super) const DEVIATIONS: f64 = 4.0;
pub(super) const LEAST: f64 = 0.03;
/// Hosts of a group that has a spread of its own, or of all smaller groups that share one.
pub(super) const OWN_SPREAD: usize = 30;
/// Hosts of a group whose median says what is usual. Of simulated equal hosts that differ by 3 %, 1 of 750 is called
/// slow with 12 of them, and 1 of 140 with 5.
pub(super) const FEWEST: usize = 12;
/// The share of a group that must have a fact for a host without it to be unusual.
const USUAL: f64 = 0.8;

/// A host within its group.
#[derive(Clone, Debug)]
pub(super) struct Placed {
    pub(super) result: HostResult,
    /// The median over its cells of the logarithm of its figure over the group's, from the middle of its group; `None`
    /// where no cell has both.
    pub(super) score: Option<f64>,
    /// It is slow.
    pub(super) is_slow: bool,
    /// The cell in which it is furthest behind, and how far: a factor.
    pub(super) worst: Option<(String, f64)>,
}

/// Hosts of one CPU and kernel.
#[derive(Clone, Debug)]
pub(super) struct HostGroup {
    /// What it is called: `A`, and from the 27th on `G27`.
    pub(super) letter: String,
    pub(super) cpu: String,
    pub(super) kernel: String,
    /// By name.
    pub(super) hosts: Vec<Placed>,
    /// The median over hosts of each cell.
    pub(super) medians: BTreeMap<String, HostFigure>,
    /// Whether a slow host would be found.
    pub(super) is_judged: bool,
}

/// All hosts, the largest group first, and how many results were left out because their host has a later one.
pub(super) fn groups(results: Vec<HostResult>) -> (Vec<HostGroup>, usize) {
    let all = results.len();
    let mut latest: BTreeMap<String, HostResult> = BTreeMap::new();
    for result in results {
        let is_older = |known: &HostResult| known.started_utc >= result.started_utc;
        if !latest.get(&result.host).is_some_and(is_older) {
            latest.insert(result.host.clone(), result);
        }
    }
    let older = all - latest.len();
    let mut by_kind: BTreeMap<(String, String), Vec<HostResult>> = BTreeMap::new();
    for result in latest.into_values() {
        by_kind.entry((result.cpu.clone(), result.kernel.clone())).or_default().push(result);
    }
    let groups = by_kind.into_iter().map(|((cpu, kernel), hosts)| group(cpu, kernel, hosts));
    let mut groups: Vec<HostGroup> = groups.collect();
    groups.sort_by_key(|group| std::cmp::Reverse(group.hosts.len()));
    for (at, group) in groups.iter_mut().enumerate() {
        group.letter = letter(at);
    }
    judge(&mut groups);
    (groups, older)
}

fn letter(at: usize) -> String {
    match u8::try_from(at) {
        Ok(at @ 0..26) => char::from(b'A' + at).to_string(),
        _ => format!("G{}", at + 1),
    }
}

fn group(cpu: String, kernel: String, hosts: Vec<HostResult>) -> HostGroup {
    let names: BTreeSet<&String> = hosts.iter().flat_map(|host| host.cells.keys()).collect();
    let medians = names.into_iter().filter_map(|name| {
        let figures: Vec<&HostFigure> =
            hosts.iter().filter_map(|host| host.cells.get(name)).collect();
        let value = median(&figures.iter().map(|one| one.value).collect::<Vec<_>>())?;
        Some((name.clone(), HostFigure { value, ..(*figures.first()?).clone() }))
    });
    let medians: BTreeMap<String, HostFigure> = map_of(medians);
    let placed = |result: HostResult| {
        let behind: Vec<(&String, f64)> = result
            .cells
            .iter()
            .filter_map(|(name, own)| {
                let usual = medians.get(name)?.slowness();
                Some((name, (own.slowness() / usual).ln()))
            })
            .collect();
        let score = median(&behind.iter().map(|(_, behind)| *behind).collect::<Vec<_>>());
        let worst = behind.into_iter().max_by(|a, b| a.1.total_cmp(&b.1));
        let worst = worst.map(|(name, behind)| (name.clone(), behind.exp()));
        Placed { result, score, is_slow: false, worst }
    };
    let mut hosts: Vec<Placed> = hosts.into_iter().map(placed).collect();
    let middle = median(&hosts.iter().filter_map(|host| host.score).collect::<Vec<_>>());
    for host in &mut hosts {
        host.score = host.score.map(|score| score - middle.unwrap_or(0.0));
    }
    HostGroup { letter: String::new(), cpu, kernel, hosts, medians, is_judged: false }
}

/// Says which hosts are slow.
fn judge(groups: &mut [HostGroup]) {
    let is_large = |group: &HostGroup| group.hosts.len() >= OWN_SPREAD;
    let small = || groups.iter().filter(|group| !is_large(group) && group.hosts.len() >= FEWEST);
    let scores = |group: &HostGroup| -> Vec<f64> {
        group.hosts.iter().filter_map(|host| host.score).collect()
    };
    let shared: Vec<f64> = small().flat_map(scores).collect();
    let shared = (shared.len() >= OWN_SPREAD).then(|| robust_spread(&shared, 0.0)).flatten();
    for group in groups {
        let spread = match is_large(group) {
            true => robust_spread(&scores(group), 0.0),
            false => shared.filter(|_| group.hosts.len() >= FEWEST),
        };
        let Some(spread) = spread else { continue };
        group.is_judged = true;
        for host in &mut group.hosts {
            let is_slow = |score: f64| score > DEVIATIONS * spread && score.exp_m1() >= LEAST;
            host.is_slow = host.score.is_some_and(is_slow);
        }
    }
}

impl HostGroup {
    /// How far its hosts are behind another group over the cells that both have: a factor of each host.
    pub(super) fn behind(&self, base: &Self) -> Vec<f64> {
        let factor = |host: &Placed| {
            let cells = host.result.cells.iter().filter_map(|(name, own)| {
                Some((own.slowness() / base.medians.get(name)?.slowness()).ln())
            });
            median(&cells.collect::<Vec<_>>()).map_or(f64::NAN, f64::exp)
        };
        self.hosts.iter().map(factor).collect()
    }

    /// The facts in which a host differs from most of its group: `governor powersave (most: performance)`.
    pub(super) fn unusual(&self, host: &Placed) -> Vec<String> {
        let mut words = Vec::new();
        for (field, parts) in &host.result.facts {
            if field == "host" {
                continue;
            }
            for (part, own) in parts {
                let of = |one: &Placed| one.result.facts.get(field)?.get(part).cloned();
                let mut counts: BTreeMap<String, usize> = BTreeMap::new();
                for value in self.hosts.iter().filter_map(of) {
                    *counts.entry(value).or_default() += 1;
                }
                let most = counts.into_iter().max_by_key(|(_, count)| *count);
                let Some((usual, count)) = most else { continue };
                if usual != *own && count as f64 >= USUAL * self.hosts.len() as f64 {
                    let name = [field.as_str(), part].join(" ");
                    words.push(format!("{} {own} (most: {usual})", name.trim_end()));
                }
            }
        }
        words
    }

    pub(super) fn slow(&self) -> impl Iterator<Item = &Placed> {
        self.hosts.iter().filter(|host| host.is_slow)
    }
}

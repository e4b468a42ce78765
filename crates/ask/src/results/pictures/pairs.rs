//! A figure for each pair of CPUs.

use super::picture::chart;
use crate::results::chapters::name;
use ipcperf_core::PatternKind;
use ipcperf_core::result::{ResultSet, Spread};
use ipcperf_judge::figures;
use ipcperf_judge::figures::NONE;
use ipcperf_render::doc::{Chart, Picture};
use ipcperf_render::svg::Matrix;
use ipcperf_render::text;
use std::collections::{BTreeMap, HashMap};

/// A figure for each pair of CPUs, by lead and follow.
type Pairs = BTreeMap<(usize, usize), f64>;

/// More CPUs than this are no picture that anybody can read.
const MOST_CPUS: usize = 64;

fn matrix(title: String, note: String, pairs: &Pairs) -> Option<Chart> {
    let mut cpus: Vec<usize> = pairs.keys().flat_map(|(lead, follow)| [*lead, *follow]).collect();
    cpus.sort_unstable();
    cpus.dedup();
    // A pair of CPUs and one of them alone, which every survey has, are no picture.
    if pairs.len() < 3 || (pairs.len() == 3 && cpus.len() == 2) || cpus.len() > MOST_CPUS {
        return None;
    }
    let figure = |lead: &usize, follow: &usize| {
        pairs.get(&(*lead, *follow)).map(|value| (*value, figures::nanos(*value)))
    };
    let rows: Vec<Vec<Option<(f64, String)>>> =
        cpus.iter().map(|lead| cpus.iter().map(|follow| figure(lead, follow)).collect()).collect();
    let heads: Vec<String> = cpus.iter().map(ToString::to_string).collect();
    let text = |row: &[Option<(f64, String)>]| {
        row.iter()
            .map(|one| one.as_ref().map_or(NONE, |(_, words)| words).to_owned())
            .collect::<Vec<_>>()
    };
    let table = heads.iter().zip(&rows).map(|(head, row)| [vec![head.clone()], text(row)].concat());
    let figures = [vec!["lead".to_owned()], heads.clone()].concat();
    let table = table.collect();
    let label =
        format!("{title}: {} of {} CPUs.", text::counted(pairs.len() as u64, "pair"), cpus.len());
    let axes = ["lead", "follow"].map(ToOwned::to_owned);
    let picture = Picture::Matrix(Matrix { label, axes, heads, rows });
    Some(chart(title, note, picture, figures, table))
}

pub(super) fn pairs(set: &ResultSet) -> Vec<Chart> {
    let mut groups: Vec<(String, String, Pairs)> = Vec::new();
    let mut places: HashMap<(String, String), usize> = HashMap::new();
    let mut lines = Pairs::new();
    for pair in &set.bounds.pairs {
        let (&[a, b], Some(Spread { median, .. })) = (pair.cpus.as_slice(), &pair.cacheline_rtt_ns)
        else {
            continue;
        };
        lines.extend([((a, b), *median), ((b, a), *median)]);
    }
    if !lines.is_empty() {
        let title = "Round trip of one cache line".to_owned();
        let note = "Both ends spin; what no mechanism on these CPUs can beat.".to_owned();
        groups.push((title, note, lines));
    }
    for cell in set.cells.iter().filter(|cell| cell.key.pattern == PatternKind::PingPong) {
        let (&[lead, follow], Some(value)) =
            (cell.key.cpus.as_slice(), cell.figure().and_then(|metric| metric.value))
        else {
            continue;
        };
        let load: String = cell.key.load.words().iter().map(|word| format!(", {word}")).collect();
        let note = format!("idle {}, touch {}{load}", cell.key.idle, cell.key.touch);
        let title = format!("{}, {}", name(cell), figures::size(cell.key.size_bytes));
        let at = *places.entry((title.clone(), note.clone())).or_insert_with(|| {
            groups.push((title, note, Pairs::new()));
            groups.len() - 1
        });
        let group = &mut groups[at].2;
        group.insert((lead, follow), value);
        // CPUs that were not named are swapped in odd rounds.
        if cell.key.placement.named().is_none() {
            group.insert((follow, lead), value);
        }
    }
    groups.into_iter().filter_map(|(title, note, pairs)| matrix(title, note, &pairs)).collect()
}

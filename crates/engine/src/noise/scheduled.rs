//! Findings about ends that were scheduled as was asked for: where it can have had no effect.

use ipcperf_core::findings;
use ipcperf_core::result::{Cell, Finding, SchedGroup, ScheduledEnd};
use ipcperf_core::units::percent;
use ipcperf_core::{SchedClass, Seat};
use std::collections::BTreeMap;

/// Share of the time that an end must have waited for its CPU, so that how it is scheduled can have had an effect; as the
/// sentence of the finding says.
const CONTESTED: f64 = 0.01;

/// The share of the time in which an end was ready but not running, in the rounds that count.
fn waited(cell: &Cell, end: Seat) -> Option<f64> {
    let rounds = cell.rounds.iter().filter(|round| round.rejected.is_none());
    let [mut waited, mut ran] = [0.0; 2];
    for round in rounds {
        let side = match end {
            Seat::Lead => &round.covariates.lead,
            Seat::Follow => &round.covariates.follow,
        };
        waited += side.run_delay_ns? as f64;
        ran += round.elapsed_ns.max(round.covariates.machine_window_ns as f64);
    }
    (ran > 0.0).then_some(waited / ran)
}

/// Ends of a fair class that waited little for their CPU. One of another class goes first, so that it waits for none of the
/// processes from which it takes the CPU.
pub(super) fn uncontested(cells: &[Cell]) -> Option<Finding> {
    let of = |cell: &Cell| {
        let scheduled = cell.scheduled.as_ref()?;
        let is_it =
            |end: &Seat| cell.key.load.schedules(*end) && scheduled.end(*end).class.is_fair();
        let ends = Seat::BOTH.into_iter().filter(is_it);
        ends.filter_map(|end| waited(cell, end)).reduce(f64::min)
    };
    let hit: Vec<(&Cell, f64)> = cells
        .iter()
        .filter_map(|cell| Some((cell, of(cell)?)))
        .filter(|(_, share)| *share < CONTESTED)
        .collect();
    let (cell, least) = hit.iter().min_by(|a, b| a.1.total_cmp(&b.1))?;
    let detail = format!(" (least: {}, {})", cell.id, percent(*least));
    let finding = findings::UNCONTESTED.found(&[&detail]).against(*least, CONTESTED);
    Some(finding.of(hit.iter().map(|(cell, _)| *cell)))
}

/// Whether what is asked of an end counts within its group only.
fn is_inside(cell: &Cell, end: Seat, found: &ScheduledEnd) -> bool {
    let load = &cell.key.load;
    let is_nice = load.nice.is_some_and(|all| all.of(end).is_some());
    let is_idle = load.sched.is_some_and(|all| all.of(end) == Some(SchedClass::Idle));
    found.class.is_fair() && (is_nice || is_idle)
}

/// Ends whose nice value or class counts within a group only, by group.
pub(super) fn grouped(cells: &[Cell]) -> Vec<Finding> {
    let mut groups: BTreeMap<&SchedGroup, Vec<&Cell>> = BTreeMap::new();
    for cell in cells {
        let Some(scheduled) = &cell.scheduled else { continue };
        let ends = Seat::BOTH.map(|end| (end, scheduled.end(end)));
        let inside = ends.into_iter().filter(|(end, found)| is_inside(cell, *end, found));
        if let Some(group) = inside.filter_map(|(_, found)| found.within.as_ref()).next() {
            groups.entry(group).or_default().push(cell);
        }
    }
    let finding = |(group, hit): (&SchedGroup, Vec<&Cell>)| {
        let remedy = match group {
            SchedGroup::Session(_) => {
                "sysctl kernel.sched_autogroup_enabled=0, --cgroup-weight, or the other processes in the same session"
            }
            SchedGroup::ControlGroup(_) => {
                "--cgroup-weight, or the other processes in the same group"
            }
        };
        let detail = format!(" ({} first)", hit[0].id);
        findings::GROUPED.found(&[&group.to_string(), &detail, remedy]).of(hit)
    };
    groups.into_iter().map(finding).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use ipcperf_core::Load;
    use ipcperf_core::result::{CellKey, Round, Scheduled};

    fn cell(load: &str, delay_ns: u64, within: Option<&SchedGroup>) -> Cell {
        let (key, value) = load.split_once('=').expect("a key and a value");
        let mut load = Load::default();
        load.set(key.parse().expect("a key"), value).expect("a value");
        let end = ScheduledEnd {
            class: SchedClass::Other { slice_ns: 0 },
            nice: 0,
            cgroup_weight: None,
            within: within.cloned(),
            run_delay_per_wakeup_ns: None,
        };
        let mut round = Round { elapsed_ns: 1e9, ..Round::default() };
        round.covariates.lead.run_delay_ns = Some(0);
        round.covariates.follow.run_delay_ns = Some(delay_ns);
        Cell {
            id: format!("cell {value}"),
            key: CellKey { load, ..CellKey::default() },
            scheduled: Some(Scheduled { lead: end.clone(), follow: end }),
            rounds: vec![round],
            ..Cell::default()
        }
    }

    #[test]
    fn an_end_that_never_waited_for_its_cpu_is_found_and_its_peer_is_not_asked() {
        let contested = cell("sched=follow=batch", 20_000_000, None);
        let alone = cell("sched=batch", 20_000_000, None);
        assert!(uncontested(std::slice::from_ref(&contested)).is_none());
        let found = uncontested(&[contested, alone]).expect("the lead never waited");
        assert_eq!(found.cells, ["cell batch"]);
        let mut unknown = cell("sched=batch", 0, None);
        unknown.rounds[0].covariates.lead.run_delay_ns = None;
        unknown.rounds[0].covariates.follow.run_delay_ns = None;
        assert!(uncontested(&[unknown]).is_none());
        let mut first = cell("sched=lead=fifo:3", 0, None);
        first.scheduled.as_mut().expect("ends").lead.class = SchedClass::Fifo(3);
        assert!(uncontested(&[first]).is_none(), "it goes first, so that it never waits");
    }

    #[test]
    fn a_nice_value_counts_within_its_group_and_a_slice_everywhere() {
        let session = SchedGroup::Session("autogroup-9".to_owned());
        let control = SchedGroup::ControlGroup("/x".to_owned());
        let cells = [
            cell("nice=5", 0, Some(&session)),
            cell("sched=follow=idle", 0, Some(&control)),
            cell("sched=other:slice=1ms", 0, Some(&session)),
            cell("nice=3", 0, None),
        ];
        let found = grouped(&cells);
        let named: Vec<_> = found.iter().map(|finding| finding.cells.clone()).collect();
        assert_eq!(named, [["cell follow=idle"], ["cell 5"]]);
    }
}

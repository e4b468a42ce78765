//! The machine's own limits, measured before the first round; the clock once more after the last.

use super::bench::HANG;
use super::{Bench, CellRun};
use crate::job::{Bound, BoundJob, Task, Word};
use crate::stage::{Event, Stage};
use ipcperf_core::{Idle, Seat};
use ipcperf_sys::qos::PollIdle;
use std::collections::BTreeMap;
use std::io;
use std::time::Instant;

impl Bench<'_> {
    /// Bounds of every placement used; true if the user interrupted.
    pub(super) fn measure_bounds(&mut self, cells: &[CellRun]) -> io::Result<bool> {
        for cell in cells
            .iter()
            .filter(|cell| cell.plan.objection.is_none() && !cell.plan.key.cpus.is_empty())
        {
            self.bounds.cpus.insert(cell.plan.key.placement, cell.plan.key.cpus.clone());
        }
        if self.measure_clock(cells, 0)? {
            return Ok(true);
        }
        let cpu = self.used_cpus(cells)[0];
        match self.bound(Bound::Alone, &[cpu])? {
            Some(values) => self.bounds.alone = values,
            None => return Ok(true),
        }
        let may_poll = PollIdle::objection().is_none();
        for (placement, cpus) in self.bounds.cpus.clone() {
            if placement.is_two_cpus() {
                let Some(values) = self.bound(Bound::CacheLine, &cpus)? else { return Ok(true) };
                self.bounds.cacheline.entry(placement).or_default().extend(values.get("rtt"));
            }
            for idle in [Idle::AsIs, Idle::Poll] {
                if idle == Idle::Poll && !(may_poll && placement.is_two_cpus()) {
                    continue;
                }
                let Some(_held) = self.idle(idle)? else { return Ok(true) };
                for _ in 0..3 {
                    let Some(values) = self.bound(Bound::FutexWake, &cpus)? else {
                        return Ok(true);
                    };
                    self.bounds
                        .futex
                        .entry((placement, idle))
                        .or_default()
                        .extend(values.get("rtt"));
                }
            }
        }
        Ok(false)
    }

    /// Cost of the clock on every CPU used; true if the user interrupted.
    pub(super) fn measure_clock(&mut self, cells: &[CellRun], when: usize) -> io::Result<bool> {
        for cpu in self.used_cpus(cells) {
            match self.bound(Bound::Clock, &[cpu])? {
                Some(values) => self.bounds.clock[when].insert(cpu, values),
                None => return Ok(true),
            };
        }
        let medians = self.bounds.clock[0].values().filter_map(|values| values.get("p50"));
        self.overhead = medians.fold(1.0_f64, |worst, one| worst.max(*one)) as u64;
        Ok(false)
    }

    fn used_cpus(&self, cells: &[CellRun]) -> Vec<usize> {
        let mut cpus: Vec<_> = cells.iter().flat_map(|cell| &cell.plan.key.cpus).copied().collect();
        if cpus.is_empty() {
            cpus.push(ipcperf_sys::affinity::current_cpu());
        }
        cpus.sort_unstable();
        cpus.dedup();
        cpus
    }

    /// After idle polling: waits until the CPUs used have gone back to what they do by themselves; true if the user
    /// interrupted.
    pub(super) fn settle(&mut self) -> io::Result<bool> {
        if !std::mem::take(&mut self.polled) {
            return Ok(false);
        }
        let mut cpus: Vec<usize> = self.bounds.cpus.values().flatten().copied().collect();
        cpus.sort_unstable();
        cpus.dedup();
        for pair in cpus.chunks(2) {
            if self.bound(Bound::Settle, pair)?.is_none() {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// One bound on one CPU or a pair; `None` if the user interrupted. A worker that dies or hangs is tried again; a
    /// bound that cannot be had is missing, and the rows have no multiple of it.
    fn bound(&mut self, what: Bound, cpus: &[usize]) -> io::Result<Option<BTreeMap<String, f64>>> {
        const TRIES: usize = 3;
        for _ in 0..TRIES {
            match self.try_bound(what, cpus)? {
                Reading::Values(values) => return Ok(Some(values)),
                Reading::Interrupted => return Ok(None),
                Reading::Failed => {}
            }
        }
        Ok(Some(BTreeMap::new()))
    }

    fn try_bound(&mut self, what: Bound, cpus: &[usize]) -> io::Result<Reading> {
        self.page.reset();
        let mut stage = Stage::start(cpus.len(), [0; 2], Instant::now() + HANG, self.interrupts)?;
        for (seat, cpu) in Seat::BOTH.into_iter().zip(cpus) {
            let job = BoundJob { seat, cpu: *cpu, counter: self.clock.is_counter(), what };
            if stage.assign(seat, &Task::Bound(job), &self.page).is_err() {
                return Ok(Reading::Failed);
            }
        }
        let (mut values, mut told) = (BTreeMap::new(), 0);
        while told < cpus.len() {
            match stage.event()? {
                Event::Said(_, Word::Bound(found)) => {
                    values.extend(found);
                    told += 1;
                }
                Event::Interrupted => return Ok(Reading::Interrupted),
                // One that has told its values ends before the other.
                Event::Died(..) if told > 0 => {}
                Event::Died(..) | Event::Deadline | Event::Alarm | Event::Said(..) => {
                    return Ok(Reading::Failed);
                }
            }
        }
        Ok(Reading::Values(values))
    }
}

/// What a try at a bound came to.
enum Reading {
    Values(BTreeMap<String, f64>),
    Interrupted,
    Failed,
}

//! The machine's own limits, measured before the first round; the clock once more after the last.

use super::bench::{Bench, HANG};
use crate::bounds::{Bound, BoundJob, BoundReport};
use crate::measured::CellRun;
use crate::supervisor::{Stop, Supervisor};
use crate::{bounds, slice};
use ipcperf_core::result::Status;
use ipcperf_core::{Idle, Seat};
use ipcperf_sys::qos::PollIdle;
use std::collections::BTreeMap;
use std::io;
use std::time::{Duration, Instant};

impl Bench<'_> {
    /// Measures the bounds that these cells are read against, the cost of the clock among them; true if the user
    /// interrupted.
    ///
    /// # Errors
    /// No worker can be had.
    pub fn prepare(&mut self, cells: &[CellRun]) -> io::Result<bool> {
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
        let Some(values) = self.bound(Bound::Returns, &[cpu; 2])? else { return Ok(true) };
        self.bounds.alone.extend(values);
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
        self.price_calls(cells)
    }

    /// Cost of the clock on every CPU used; true if the user interrupted.
    pub(super) fn measure_clock(&mut self, cells: &[CellRun], when: usize) -> io::Result<bool> {
        for cpu in self.used_cpus(cells) {
            match self.bound(Bound::Clock, &[cpu])? {
                Some(values) => self.bounds.clock[when].insert(cpu, values),
                None => return Ok(true),
            };
        }
        self.overhead = self.bounds.overhead();
        Ok(false)
    }

    fn used_cpus(&self, cells: &[CellRun]) -> Vec<usize> {
        let of = |cell: &CellRun| {
            let alone = Seat::BOTH.into_iter().filter_map(|end| cell.plan.key.placement.alone(end));
            cell.plan.key.cpus.iter().copied().chain(alone).collect::<Vec<_>>()
        };
        let mut cpus: Vec<_> = cells.iter().flat_map(of).collect();
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
        let mut why = String::new();
        for _ in 0..TRIES {
            match self.measure_bound(&what, cpus, HANG) {
                Ok(Bounded::Found { values, .. }) => return Ok(Some(values)),
                Ok(Bounded::Interrupted) => return Ok(None),
                // Before the first bound nothing is lost by an end; later all that was measured would be.
                Err(error) if self.bounds.clock[0].is_empty() => return Err(error),
                Ok(Bounded::Failed(_, reason)) => why = reason,
                Err(error) => why = error.to_string(),
            }
        }
        self.bounds.missing.insert(why);
        Ok(Some(BTreeMap::new()))
    }

    /// Measures one bound on one CPU or a pair, in fresh workers that must be done by `patience`.
    ///
    /// # Errors
    /// No worker can be had.
    pub fn measure_bound(
        &mut self,
        what: &Bound,
        cpus: &[usize],
        patience: Duration,
    ) -> io::Result<Bounded> {
        self.page.reset(cpus.len() as u32);
        let pads = [self.pad(), self.pad()];
        let mut workers = Supervisor::new(Instant::now() + patience, self.interrupts);
        let (counter, page) = (self.clock.is_counter(), &self.page);
        for (seat, cpu) in Seat::BOTH.into_iter().zip(cpus) {
            let who = workers.start(slice::name(seat), pads[seat.index()])?;
            let job = BoundJob { seat, cpu: *cpu, counter, what: what.clone() };
            workers.assign(who, bounds::TASK, &job, &[page.fd()])?;
        }
        let mut attempt = || -> Result<_, Stop> {
            let (mut values, mut samples) = (BTreeMap::new(), Vec::new());
            for word in workers.gather(&mut |_| ())? {
                let report: BoundReport = word.done()?;
                samples.extend(slice::samples(page.slots(), report.samples, &report.spills));
                values.extend(report.values);
            }
            Ok(Bounded::Found { values, samples })
        };
        Ok(match attempt() {
            Ok(found) => found,
            Err(Stop::Interrupted) => Bounded::Interrupted,
            Err(Stop::Failed(failure)) => Bounded::Failed(Status::Failed, failure.reason),
            Err(Stop::Deadline(_)) => {
                let reason = format!("not done after {} s", patience.as_secs());
                Bounded::Failed(Status::Deadline, reason)
            }
        })
    }
}

/// What a bound came to.
#[derive(Clone, Debug)]
pub enum Bounded {
    /// It was measured.
    Found {
        /// Named values, ticks unless the name says otherwise.
        values: BTreeMap<String, f64>,
        /// Single operations, ticks, where it has some.
        samples: Vec<u64>,
    },
    /// The user interrupted.
    Interrupted,
    /// Why there is nothing.
    Failed(Status, String),
}

//! The loops of a fan over a port, behind one table for all ports.

use crate::hot::account::Account;
use crate::hot::fan::{Plan, Tally};
use crate::hot::grid::{GridPlan, GridWords};
use crate::hot::{AnyWork, Pace, Recorder, broadcast, fan_in, fan_out, feed, grid};
use ipcperf_core::{DynPort, Erased, Fault, Part, Port};
use ipcperf_sys::clock::Clock;

/// Which loop of a fan a worker runs.
#[derive(Clone, Copy)]
pub(crate) struct Role<'a> {
    pub(crate) fans_in: bool,
    pub(crate) is_peer: bool,
    /// Of the producers of a fan-in.
    pub(crate) accounts: &'a [Account<'a>],
    /// There are several on both sides, and whether this end sends.
    pub(crate) grid: Option<(GridPlan, GridWords<'a>, bool)>,
    /// When the messages of a feed are due; `None` of all others.
    pub(crate) pace: Option<Pace<'a>>,
}

/// The loops of a fan over a port; one virtual call for a whole phase.
pub(crate) trait FanLoops {
    fn run(
        &mut self,
        role: Role<'_>,
        clock: Clock,
        plan: Plan,
        work: AnyWork<'_>,
        rows: &mut Recorder<'_>,
        calls: &mut Recorder<'_>,
    ) -> Result<Tally, Fault>;

    /// See [`Port::expect`].
    fn expect(&mut self, part: Part);
}

impl<P: Port> FanLoops for P {
    fn run(
        &mut self,
        role: Role<'_>,
        clock: Clock,
        plan: Plan,
        work: AnyWork<'_>,
        rows: &mut Recorder<'_>,
        calls: &mut Recorder<'_>,
    ) -> Result<Tally, Fault> {
        if let Some((of_grid, words, sends)) = role.grid {
            return match sends {
                true => grid::lead(self, clock, (plan, of_grid), work, words, calls),
                false => grid::follow(self, clock, (plan, of_grid), work, words, rows),
            };
        }
        match (role.fans_in, role.is_peer) {
            (true, true) => {
                let own = usize::try_from(plan.producer).ok();
                let own = own.and_then(|own| role.accounts.get(own)).ok_or(Fault::TooLong)?;
                fan_in::lead(self, clock, plan, work, *own, calls)
            }
            (true, false) => fan_in::follow(self, clock, plan, work, role.accounts, rows),
            (false, true) => fan_out::follow(self, clock, plan, work, rows, calls),
            (false, false) => fan_out::lead(self, clock, plan, work),
        }
    }

    fn expect(&mut self, part: Part) {
        Port::expect(self, part);
    }
}

/// The ends of channels: all of them at the producer of a broadcast, its own at a consumer; of an object for all one at each.
pub(crate) struct Channels {
    pub(crate) ports: Vec<Box<dyn DynPort>>,
    /// Messages may be lost; in a broadcast only because a consumer sees the newest one alone.
    pub(crate) drops: bool,
}

impl FanLoops for Channels {
    fn run(
        &mut self,
        role: Role<'_>,
        clock: Clock,
        plan: Plan,
        work: AnyWork<'_>,
        rows: &mut Recorder<'_>,
        calls: &mut Recorder<'_>,
    ) -> Result<Tally, Fault> {
        let ports = self.ports.iter_mut().map(|port| Erased::<false>(&mut **port));
        let mut ports: Vec<_> = ports.collect();
        if let Some(pace) = role.pace {
            let account = role.accounts.first();
            return match ports.as_mut_slice() {
                [own] if role.is_peer => {
                    feed::follow(own, clock, plan, self.drops, work, account, calls)
                }
                all => feed::lead(all, clock, plan, pace, work, account, calls),
            };
        }
        match ports.as_mut_slice() {
            [own] if role.is_peer && self.drops => {
                broadcast::follow_newest(own, clock, plan, work, rows, calls)
            }
            [own] if role.is_peer => broadcast::follow(own, clock, plan, work, rows, calls),
            all => broadcast::lead(all, clock, plan, work, rows),
        }
    }

    fn expect(&mut self, part: Part) {
        for port in &mut self.ports {
            Port::expect(&mut Erased::<false>(&mut **port), part);
        }
    }
}

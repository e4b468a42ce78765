//! One direction, as fast as the mechanism's own back-pressure allows. The follow counts and times what arrives: its
//! first message starts the clock, then every batch is one sample.
//!
//! Mechanisms that merge or drop get a window: the follow returns a credit (the number of messages it has seen) each
//! time half the window has arrived, and the lead waits while a whole window is under way. Over mechanisms that lose
//! messages the lead says beside the mechanism how many it has sent, so that no credit is for one that was not.

use super::credit::grant_every;
use super::{Pattern, Plan, Recorder, Tally, Work, lossy};
use ipcperf_core::{Fault, Port};
use ipcperf_sys::clock::Clock;

/// The pattern `stream`.
#[derive(Clone, Copy, Debug)]
pub struct Stream;

impl Pattern for Stream {
    const EXTRA: u64 = 1;
    const LEAD_IN: u64 = 4;
    const SLOTS: u64 = 1;
    type Eager = Self;

    #[inline(never)]
    fn lead<P: Port, W: Work>(
        port: &mut P,
        clock: Clock,
        plan: Plan<'_>,
        work: W,
        _recorder: &mut Recorder<'_>,
    ) -> Result<Tally, Fault> {
        let back = work.reversed();
        let total = plan.operations() + 1;
        let mut credited = plan.first;
        let begin = clock.start();
        for seq in plan.first..plan.first + total {
            while plan.window != 0 && seq - credited >= plan.window {
                if P::LOSSY {
                    lossy::tell(port, plan, seq)?;
                }
                credited = lossy::await_credit(port, plan.answer, back, credited)?;
            }
            port.send(plan.len, |out| work.fill(out, seq))?;
        }
        port.flush()?;
        let end = clock.stop();
        if P::LOSSY {
            lossy::tell(port, plan, plan.first + total)?;
        } else if plan.window != 0 {
            // The follow could not give its last credits to a mechanism that still holds one.
            let every = grant_every(plan.window);
            let last = plan.first + plan.operations() / every * every;
            while credited < last {
                credited = lossy::await_credit(port, plan.answer, back, credited)?;
            }
        }
        Ok(Tally { sent: total, received: 0, lost: 0, begin, end })
    }

    #[inline(never)]
    fn follow<P: Port, W: Work>(
        port: &mut P,
        clock: Clock,
        plan: Plan<'_>,
        work: W,
        recorder: &mut Recorder<'_>,
    ) -> Result<Tally, Fault> {
        if P::LOSSY {
            return lossy::drain(port, clock, plan, work, recorder);
        }
        let back = work.reversed();
        let mut granted = plan.first;
        let mut seq = plan.first;
        port.recv(plan.len, |message| work.check(message, seq))?;
        seq += 1;
        let begin = clock.stop();
        let mut last = begin;
        for _ in 0..plan.samples {
            for _ in 0..plan.batch {
                if plan.window != 0 && seq - granted >= grant_every(plan.window) {
                    granted = seq;
                    port.send(plan.answer, |out| back.fill(out, seq))?;
                }
                port.recv(plan.len, |message| work.check(message, seq))?;
                seq += 1;
            }
            let now = clock.stop();
            recorder.record(now - last);
            last = now;
        }
        Ok(Tally { sent: 0, received: seq - plan.first, lost: 0, begin, end: last })
    }
}

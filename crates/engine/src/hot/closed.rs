//! Closed loop: one message or a burst of them back to back, then wait for the answer, repeat. The lead times each round
//! trip.

use super::{Pattern, Plan, Recorder, Tally, Work, lossy};
use ipcperf_core::{Fault, Port};
use ipcperf_sys::clock::Clock;

/// The patterns `ping-pong` and `burst`.
#[derive(Clone, Copy, Debug)]
pub struct Closed;

impl Pattern for Closed {
    const EXTRA: u64 = 0;
    const LEAD_IN: u64 = 4;
    const SLOTS: u64 = 1;
    type Eager = Self;

    #[inline(never)]
    fn lead<P: Port, W: Work>(
        port: &mut P,
        clock: Clock,
        plan: Plan<'_>,
        work: W,
        recorder: &mut Recorder<'_>,
    ) -> Result<Tally, Fault> {
        let back = work.reversed();
        let mut seq = plan.first;
        let mut lost = 0;
        let begin = clock.start();
        for _ in 0..plan.samples {
            let lost_before = lost;
            let start = clock.start();
            for _ in 0..plan.batch {
                let last = seq + plan.burst - 1;
                while seq < last {
                    port.send(plan.len, |out| work.fill(out, seq))?;
                    seq += 1;
                }
                port.send(plan.len, |out| work.fill(out, seq))?;
                let answered = port.recv(plan.answer, |message| back.check(message, seq));
                if let Err(fault) = answered {
                    if !P::LOSSY {
                        return Err(fault);
                    }
                    lost += lossy::await_reply(port, plan.answer, back, seq, fault)?;
                }
                seq += 1;
            }
            let ticks = clock.stop() - start;
            if P::LOSSY && lost > lost_before {
                recorder.lose();
            } else {
                recorder.record(ticks);
            }
        }
        let end = clock.stop();
        let received = plan.samples * plan.batch - lost;
        Ok(Tally { sent: plan.operations(), received, lost, begin, end })
    }

    #[inline(never)]
    fn follow<P: Port, W: Work>(
        port: &mut P,
        clock: Clock,
        plan: Plan<'_>,
        work: W,
        _recorder: &mut Recorder<'_>,
    ) -> Result<Tally, Fault> {
        if P::LOSSY {
            return lossy::answer(port, clock, plan, work);
        }
        let back = work.reversed();
        let begin = clock.start();
        let answers = plan.samples * plan.batch;
        let mut seq = plan.first;
        for _ in 0..answers {
            let last = seq + plan.burst - 1;
            while seq < last {
                port.recv(plan.len, |message| work.check(message, seq))?;
                seq += 1;
            }
            port.recv(plan.len, |message| work.check(message, seq))?;
            port.send(plan.answer, |out| back.fill(out, seq))?;
            seq += 1;
        }
        port.flush()?;
        let end = clock.stop();
        Ok(Tally { sent: answers, received: plan.operations(), lost: 0, begin, end })
    }
}

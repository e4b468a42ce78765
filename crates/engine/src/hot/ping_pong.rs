//! Closed loop: send, wait for the reply, repeat. The lead times full round trips.

use super::{Pattern, Plan, Recorder, Tally, Work, lossy};
use ipcperf_core::{Fault, Port};
use ipcperf_sys::clock::Clock;

/// The pattern `ping-pong`.
#[derive(Clone, Copy, Debug)]
pub struct PingPong;

impl Pattern for PingPong {
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
                let exchanged = port.exchange(
                    plan.len,
                    |out| work.fill(out, seq),
                    |message| back.check(message, seq),
                );
                if let Err(fault) = exchanged {
                    if !P::LOSSY {
                        return Err(fault);
                    }
                    lost += lossy::await_reply(port, plan.len, back, seq, fault)?;
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
        let sent = plan.operations();
        Ok(Tally { sent, received: sent - lost, lost, begin, end })
    }

    #[inline(never)]
    fn follow<P: Port, W: Work>(
        port: &mut P,
        clock: Clock,
        plan: Plan<'_>,
        work: W,
        _recorder: &mut Recorder<'_>,
    ) -> Result<Tally, Fault> {
        let back = work.reversed();
        let begin = clock.start();
        if P::LOSSY {
            let (received, lost) = lossy::answer(port, clock, plan, work)?;
            let end = clock.stop();
            return Ok(Tally { sent: received, received, lost, begin, end });
        }
        let total = plan.operations();
        for seq in plan.first..plan.first + total {
            port.recv(plan.len, |message| work.check(message, seq))?;
            port.send(plan.len, |out| back.fill(out, seq))?;
        }
        port.flush()?;
        let end = clock.stop();
        Ok(Tally { sent: total, received: total, lost: 0, begin, end })
    }
}

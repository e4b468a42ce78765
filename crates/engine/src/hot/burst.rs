//! Closed loop of several messages: a burst back to back, then wait for one answer to its last message. The lead times
//! whole bursts. The answer is as short as a credit and, like one, not counted.

use super::stream::credit_len;
use super::{Pattern, Plan, Recorder, Tally, Work, lossy};
use ipcperf_core::{Fault, Port};
use ipcperf_sys::clock::Clock;

/// The pattern `burst`.
#[derive(Clone, Copy, Debug)]
pub struct Burst;

impl Pattern for Burst {
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
        let begin = clock.start();
        for _ in 0..plan.samples {
            let start = clock.start();
            for _ in 1..plan.burst {
                port.send(plan.len, |out| work.fill(out, seq))?;
                seq += 1;
            }
            port.send(plan.len, |out| work.fill(out, seq))?;
            let answered = port.recv(credit_len(&plan), |answer| back.check(answer, seq));
            let mut missing = 0;
            if let Err(fault) = answered {
                if !P::LOSSY {
                    return Err(fault);
                }
                missing = lossy::await_reply(port, credit_len(&plan), back, seq, fault)?;
            }
            let now = clock.stop();
            if P::LOSSY && missing > 0 {
                recorder.lose();
            } else {
                recorder.record(now - start);
            }
            seq += 1;
        }
        let end = clock.stop();
        Ok(Tally { sent: plan.operations(), received: 0, lost: 0, begin, end })
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
            let (received, lost) = answer_bursts(port, plan, work)?;
            let end = clock.stop();
            return Ok(Tally { sent: 0, received, lost, begin, end });
        }
        let mut seq = plan.first;
        for _ in 0..plan.samples {
            for _ in 0..plan.burst.max(1) {
                port.recv(plan.len, |message| work.check(message, seq))?;
                seq += 1;
            }
            port.send(credit_len(&plan), |out| back.fill(out, seq - 1))?;
        }
        port.flush()?;
        let end = clock.stop();
        Ok(Tally { sent: 0, received: plan.operations(), lost: 0, begin, end })
    }
}

/// The follow of a mechanism that may lose messages: answers the last message of every burst that comes, until that of
/// the last burst has come or nothing comes any more. Returns how many messages came and how many never did.
#[inline(never)]
fn answer_bursts<P: Port, W: Work>(
    port: &mut P,
    plan: Plan<'_>,
    work: W,
) -> Result<(u64, u64), Fault> {
    let back = work.reversed();
    let last = plan.first + plan.operations();
    let (mut next, mut received, mut silent) = (plan.first, 0, 0);
    while next < last && silent < lossy::PATIENCE {
        match port.recv(plan.len, |message| work.sequence(message, next).ok_or(Fault::Corrupt)) {
            Ok(seen) if seen >= next && seen < last => {
                next = seen + 1;
                if (next - plan.first).is_multiple_of(plan.burst) {
                    port.send(credit_len(&plan), |out| back.fill(out, seen))?;
                }
                received += 1;
                silent = 0;
            }
            Ok(_) => return Err(Fault::Corrupt),
            Err(Fault::Timeout) => silent += 1,
            Err(fault) => return Err(fault),
        }
    }
    port.flush()?;
    Ok((received, plan.operations() - received))
}

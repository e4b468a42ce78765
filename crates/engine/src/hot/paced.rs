//! Round trips that begin at times of their own: open loop (when a message is due, whatever the replies do), or a closed
//! loop with a pause before each. One round trip is under way at a time; in the open loop a message that is due earlier
//! waits at the sender, as it would at a server.
//!
//! Every round trip feeds the recorder three times: how long it took, and how late it began.

use super::trip::{FREE, LOW, SLOTS};
use super::{Closed, Pattern, Plan, Recorder, Tally, Work, lossy};
use ipcperf_core::{Fault, Port};
use ipcperf_sys::clock::Clock;

/// The pattern `rate`, and `ping-pong` with a pause.
#[derive(Clone, Copy, Debug)]
pub struct Paced;

impl Pattern for Paced {
    const EXTRA: u64 = 0;
    // The pause before the first round trip keeps the passing of the gate out of it.
    const LEAD_IN: u64 = 0;
    const SLOTS: u64 = SLOTS;
    type Eager = Closed;

    #[inline(never)]
    fn lead<P: Port, W: Work>(
        port: &mut P,
        clock: Clock,
        plan: Plan<'_>,
        work: W,
        recorder: &mut Recorder<'_>,
    ) -> Result<Tally, Fault> {
        let (back, pace) = (work.reversed(), plan.pace);
        let mut schedule = pace.due.iter();
        let (mut seq, mut lost) = (plan.first, 0);
        let begin = clock.start();
        let mut end = begin;
        for _ in 0..plan.samples {
            let due = match schedule.next() {
                Some(after) => begin + after,
                None => end + pace.pause,
            };
            let free = if end <= due { FREE } else { 0 };
            pace.wait(clock, due);
            let start = clock.start();
            port.send(plan.len, |out| work.fill(out, seq))?;
            let answered = port.recv(plan.answer, |message| back.check(message, seq));
            let mut missing = 0;
            if let Err(fault) = answered {
                if !P::LOSSY {
                    return Err(fault);
                }
                missing = lossy::await_reply(port, plan.answer, back, seq, fault)?;
            }
            end = clock.stop();
            if P::LOSSY && missing > 0 {
                lost += missing;
                recorder.lose();
            } else {
                recorder.record(end - start);
            }
            let late = start.saturating_sub(due);
            recorder.record(late & ((1 << LOW) - 1));
            recorder.record((late >> LOW) & (FREE - 1) | free);
            seq += 1;
        }
        Ok(Tally { sent: plan.samples, received: plan.samples - lost, lost, begin, end })
    }

    #[inline(always)]
    fn follow<P: Port, W: Work>(
        port: &mut P,
        clock: Clock,
        plan: Plan<'_>,
        work: W,
        recorder: &mut Recorder<'_>,
    ) -> Result<Tally, Fault> {
        Closed::follow(port, clock, plan, work, recorder)
    }
}

#[cfg(test)]
#[path = "tests/paced.rs"]
mod tests;

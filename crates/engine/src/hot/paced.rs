//! Round trips that begin at times of their own: open loop (when a message is due, whatever the replies do), or a closed
//! loop with a pause before each. One round trip is under way at a time; in the open loop a message that is due earlier
//! waits at the sender, as it would at a server.
//!
//! Every round trip feeds the recorder three times: how long it took, and how late it began.

use super::trip::{FREE, LOW, SLOTS};
use super::{Closed, Pattern, Plan, Recorder, Tally, Work, lossy};
use ipcperf_core::{Fault, Port};
use ipcperf_sys::clock::Clock;
use ipcperf_sys::pause;

/// The pattern `rate`, and `ping-pong` with a pause.
#[derive(Clone, Copy, Debug)]
pub struct Paced;

/// When round trips begin.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Pace<'a> {
    /// Open loop: when each message is due, ticks after the begin. Empty: each follows a pause.
    pub due: &'a [u64],
    /// That pause, ticks.
    pub pause: u64,
    /// The longest time for which nothing is due, ticks: so long silence means nothing.
    pub longest: u64,
    /// So many ticks before it is due the sender stops sleeping and watches the clock.
    pub near: u64,
    /// Whether the CPU is given away at each look at the clock, because the follow may need it.
    pub yields: bool,
    /// Length of a tick.
    pub ns_per_tick: f64,
}

impl Pace<'_> {
    /// Returns when it is time.
    #[inline(never)]
    fn wait(self, clock: Clock, due: u64) {
        loop {
            let left = due.saturating_sub(clock.stop());
            if left == 0 {
                return;
            }
            if left > self.near {
                pause::sleep_ns(((left - self.near) as f64 * self.ns_per_tick) as u64);
            } else if self.yields {
                std::thread::yield_now();
            } else {
                std::hint::spin_loop();
            }
        }
    }
}

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

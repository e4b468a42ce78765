//! Round trips that are each timed from their own departure.
//!
//! Requests: so many are under way, and the next one leaves when an answer has come. Or round trips that begin at times
//! of their own: open loop (when a message is due, whatever the replies do), or a closed loop with a pause before each.
//! Of these one is under way at a time; in the open loop a message that is due earlier waits at the sender, as it would
//! at a server. They feed the recorder three times: how long it took, and how late it began.

use super::trip::{FREE, LOW, SLOTS};
use super::{Closed, Pattern, Plan, Recorder, Tally, Work, lossy};
use ipcperf_core::{Fault, Load, Port};
use ipcperf_sys::clock::Clock;

/// Places for departures.
const PLACES: usize = Load::MOST_INFLIGHT as usize;

/// The pattern `request`.
#[derive(Clone, Copy, Debug)]
pub struct Request;

impl Pattern for Request {
    const EXTRA: u64 = 0;
    const LEAD_IN: u64 = 4;
    const SLOTS: u64 = 1;
    type Eager = Self;

    #[inline(always)]
    fn lead<P: Port, W: Work>(
        port: &mut P,
        clock: Clock,
        plan: Plan<'_>,
        work: W,
        recorder: &mut Recorder<'_>,
    ) -> Result<Tally, Fault> {
        lead(port, clock, plan, false, work, recorder)
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

/// The pattern `rate`, and `ping-pong` with a pause.
#[derive(Clone, Copy, Debug)]
pub struct Paced;

impl Pattern for Paced {
    const EXTRA: u64 = 0;
    // The pause before the first round trip keeps the passing of the gate out of it.
    const LEAD_IN: u64 = 0;
    const SLOTS: u64 = SLOTS;
    type Eager = Closed;

    #[inline(always)]
    fn lead<P: Port, W: Work>(
        port: &mut P,
        clock: Clock,
        plan: Plan<'_>,
        work: W,
        recorder: &mut Recorder<'_>,
    ) -> Result<Tally, Fault> {
        lead(port, clock, plan, true, work, recorder)
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

/// The lead of both: one loop for each port. `has_time`: round trips begin at times of their own.
#[inline(never)]
fn lead<P: Port, W: Work>(
    port: &mut P,
    clock: Clock,
    plan: Plan<'_>,
    has_time: bool,
    work: W,
    recorder: &mut Recorder<'_>,
) -> Result<Tally, Fault> {
    let (back, pace) = (work.reversed(), plan.pace);
    let mut schedule = pace.due.iter();
    // Of those under way: when each left, how late, and whether nobody held it up.
    let mut departures = [[0; 3]; PLACES];
    let under_way = plan.window.max(1);
    let last = plan.first + plan.samples;
    let (mut next, mut lost) = (plan.first, 0);
    let begin = clock.start();
    let mut end = begin;
    for seq in plan.first..last {
        while next < last && next - seq < under_way {
            let (mut due, mut free) = (0, FREE);
            if has_time {
                due = match schedule.next() {
                    Some(after) => begin + after,
                    None => end + pace.pause,
                };
                free = if end <= due { FREE } else { 0 };
                pace.wait(clock, due);
            }
            let start = clock.start();
            port.send(plan.len, |out| work.fill(out, next))?;
            departures[next as usize % PLACES] = [start, start.saturating_sub(due), free];
            next += 1;
        }
        let answered = port.recv(plan.answer, |message| back.check(message, seq));
        let mut missing = 0;
        if let Err(fault) = answered {
            if !P::LOSSY {
                return Err(fault);
            }
            missing = lossy::await_reply(port, plan.answer, back, seq, fault)?;
        }
        end = clock.stop();
        let [start, late, free] = departures[seq as usize % PLACES];
        if P::LOSSY && missing > 0 {
            lost += missing;
            recorder.lose();
        } else {
            recorder.record(end - start);
        }
        if has_time {
            recorder.record(late & ((1 << LOW) - 1));
            recorder.record((late >> LOW) & (FREE - 1) | free);
        }
    }
    Ok(Tally { sent: plan.samples, received: plan.samples - lost, lost, begin, end })
}

#[cfg(test)]
#[path = "tests/paced.rs"]
mod tests;

#[cfg(test)]
mod requests {
    use super::super::Stamp;
    use super::*;
    use std::collections::VecDeque;
    use std::sync::atomic::AtomicU32;

    /// A port whose answers are the messages, turned round and cut; it knows how many were under way.
    struct Mirror {
        under_way: VecDeque<Vec<u8>>,
        most: usize,
        swaps: bool,
    }

    impl Port for Mirror {
        fn send(&mut self, len: usize, fill: impl FnOnce(&mut [u8])) -> Result<(), Fault> {
            let mut message = vec![0; len];
            fill(&mut message);
            self.under_way.push_back(message);
            self.most = self.most.max(self.under_way.len());
            Ok(())
        }

        fn recv<T>(
            &mut self,
            len: usize,
            take: impl FnOnce(&[u8]) -> Result<T, Fault>,
        ) -> Result<T, Fault> {
            if self.swaps && self.under_way.len() > 1 {
                self.under_way.swap(0, 1);
            }
            let mut message = self.under_way.pop_front().ok_or(Fault::Closed)?;
            message.resize(len, 0);
            take(&message.iter().map(|byte| !byte).collect::<Vec<u8>>())
        }

        fn finish(&mut self) -> Result<(), Fault> {
            Ok(())
        }
    }

    fn ask(inflight: u64, samples: u64, swaps: bool) -> (Result<Tally, Fault>, usize, u64) {
        let slots: Vec<_> = (0..samples).map(|_| AtomicU32::new(0)).collect();
        let mut recorder = Recorder::new(&slots);
        let mut port = Mirror { under_way: VecDeque::new(), most: 0, swaps };
        let plan = Plan {
            len: 64,
            answer: 8,
            samples,
            batch: 1,
            first: 7,
            window: inflight,
            ..Plan::default()
        };
        let tally =
            Request::lead(&mut port, Clock::monotonic(), plan, Stamp::new(5), &mut recorder);
        assert!(swaps || port.under_way.is_empty());
        (tally, port.most, recorder.len())
    }

    #[test]
    fn so_many_are_under_way_as_asked_for_and_each_has_its_own_time() {
        for (inflight, samples) in [(0, 5), (1, 5), (2, 1), (8, 100), (1024, 3000)] {
            let (tally, most, recorded) = ask(inflight, samples, false);
            let tally = tally.expect("answered");
            assert_eq!((tally.sent, tally.received, tally.lost), (samples, samples, 0));
            assert_eq!((most as u64, recorded), (inflight.clamp(1, samples), samples));
        }
    }

    #[test]
    fn an_answer_out_of_its_turn_is_no_answer() {
        assert_eq!(ask(2, 10, true).0, Err(Fault::Corrupt));
        assert!(ask(1, 10, true).0.is_ok());
    }
}

//! The patterns over a port that loses messages.

use super::super::{Closed, Pace, Paced, Pattern, Stamp, Stream};
use super::*;
use crate::packets::Packets;
use ipcperf_core::Erased;
use std::sync::atomic::{AtomicU32, AtomicU64};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::Duration;

/// A port over channels that drops the messages whose numbers are listed.
struct Leaky {
    to: Sender<Vec<u8>>,
    from: Receiver<Vec<u8>>,
    sent: u64,
    drop: Vec<u64>,
}

impl Port for Leaky {
    const LOSSY: bool = true;

    fn send(&mut self, len: usize, fill: impl FnOnce(&mut [u8])) -> Result<(), Fault> {
        let mut message = vec![0; len];
        fill(&mut message);
        if !self.drop.contains(&self.sent) {
            let _ = self.to.send(message);
        }
        self.sent += 1;
        Ok(())
    }

    fn recv<T>(
        &mut self,
        len: usize,
        take: impl FnOnce(&[u8]) -> Result<T, Fault>,
    ) -> Result<T, Fault> {
        // Long enough that a thread which has to wait for its CPU does not look like a lost message.
        match self.from.recv_timeout(Duration::from_millis(200)) {
            Ok(message) if message.len() == len => take(&message),
            Ok(_) => Err(Fault::Truncated),
            Err(RecvTimeoutError::Timeout) => Err(Fault::Timeout),
            Err(RecvTimeoutError::Disconnected) => Err(Fault::Closed),
        }
    }

    fn finish(&mut self) -> Result<(), Fault> {
        Ok(())
    }
}

/// Tallies of both ends, and how many samples the follow recorded.
fn run<A: Pattern>(
    plan: Plan<'_>,
    lead_drops: &[u64],
    follow_drops: &[u64],
) -> (Tally, Tally, u64) {
    let (to_follow, from_lead) = channel();
    let (to_lead, from_follow) = channel();
    let mut lead = Leaky { to: to_follow, from: from_follow, sent: 0, drop: lead_drops.to_vec() };
    let mut follow = Leaky { to: to_lead, from: from_lead, sent: 0, drop: follow_drops.to_vec() };
    let slots: Vec<_> = (0..1000).map(|_| AtomicU32::new(0)).collect();
    let more: Vec<_> = (0..1000).map(|_| AtomicU32::new(0)).collect();
    let sent = AtomicU64::new(0);
    let plan = Plan { sent: Some(&sent), ..plan };
    std::thread::scope(|scope| {
        let other = scope.spawn(|| {
            let mut recorder = Recorder::new(&more);
            let clock = Clock::monotonic();
            let tally = A::follow(&mut follow, clock, plan, Stamp::new(5), &mut recorder);
            (tally.expect("the follow ends"), recorder.len())
        });
        let mine =
            A::lead(&mut lead, Clock::monotonic(), plan, Stamp::new(5), &mut Recorder::new(&slots))
                .expect("the lead ends");
        let (theirs, samples) = other.join().expect("the follow does not panic");
        (mine, theirs, samples)
    })
}

fn plan(len: usize, window: u64) -> Plan<'static> {
    Plan { len, answer: len, samples: 50, batch: 2, first: 1000, window, ..Plan::default() }
}

#[test]
fn ping_pong_counts_every_lost_message_and_every_lost_reply() {
    for len in [1, 4, 64] {
        let (lead, follow, _) = run::<Closed>(plan(len, 0), &[3, 50, 99], &[10]);
        assert_eq!((lead.sent, lead.received, lead.lost), (100, 96, 4), "{len} bytes");
        assert_eq!((follow.received, follow.lost), (97, 3), "{len} bytes");
    }
}

#[test]
fn a_stream_counts_gaps_a_lost_tail_and_survives_lost_credits() {
    for len in [1, 4, 64] {
        let (lead, follow, samples) = run::<Stream>(plan(len, 16), &[0, 20, 21, 40, 100], &[2, 5]);
        assert_eq!(lead.sent, 101, "{len} bytes");
        assert_eq!((follow.received, follow.lost), (96, 5), "{len} bytes");
        // The first message starts the clock; lost ones are no part of the rate.
        assert_eq!(samples, 95 / 2, "{len} bytes");
    }
}

#[test]
fn a_credit_is_given_again_when_it_is_lost_and_never_for_what_was_not_sent() {
    // The only credit of a window; all credits of one; a message and the credit after the next one.
    for (window, lead_drops, follow_drops) in [
        (1, &[][..], &[0, 7][..]),
        (4, &[], &[0, 1, 8, 9, 10]),
        (1, &[5, 6], &[9]),
        (2, &[9], &[3]),
    ] {
        let (lead, follow, _) = run::<Stream>(plan(8, window), lead_drops, follow_drops);
        let lost = lead_drops.len() as u64;
        assert_eq!((lead.sent, follow.received, follow.lost), (101, 101 - lost, lost), "{window}");
    }
}

/// A lead that stands still at one of its packets.
struct HeldUp {
    port: Leaky,
    at: u64,
    pause: Duration,
}

impl Port for HeldUp {
    const LOSSY: bool = true;

    fn send(&mut self, len: usize, fill: impl FnOnce(&mut [u8])) -> Result<(), Fault> {
        if self.port.sent == self.at {
            std::thread::sleep(self.pause);
        }
        self.port.send(len, fill)
    }

    fn recv<T>(
        &mut self,
        len: usize,
        take: impl FnOnce(&[u8]) -> Result<T, Fault>,
    ) -> Result<T, Fault> {
        self.port.recv(len, take)
    }

    fn finish(&mut self) -> Result<(), Fault> {
        Ok(())
    }
}

#[test]
fn a_lead_that_is_held_up_within_a_message_of_many_packets_goes_on_without_loss() {
    // 33 packets of which 3 may be under way, so that the window is one message. The third message is held up for three waits
    // of the follow: at its first packet, within it, and where it has just waited for a credit.
    for at in [66, 71, 80] {
        let (to_follow, from_lead) = channel();
        let (to_lead, from_follow) = channel();
        let port = Leaky { to: to_follow, from: from_follow, sent: 0, drop: Vec::new() };
        let mut lead = HeldUp { port, at, pause: Duration::from_millis(700) };
        let mut follow = Leaky { to: to_lead, from: from_lead, sent: 0, drop: Vec::new() };
        let sent = AtomicU64::new(0);
        let plan = Plan {
            len: 1000,
            answer: 8,
            samples: 8,
            batch: 1,
            first: 1000,
            window: 1,
            sent: Some(&sent),
            ..Plan::default()
        };
        let packets = |port| Packets::<true>::new(port, plan.len, 39, Some(3));
        let (mine, theirs) = std::thread::scope(|scope| {
            let other = scope.spawn(|| {
                let recorder = &mut Recorder::new(&[]);
                let mut port = packets(Erased(&mut follow));
                Stream::follow(&mut port, Clock::monotonic(), plan, Stamp::new(5), recorder)
            });
            let recorder = &mut Recorder::new(&[]);
            let mut port = packets(Erased(&mut lead));
            let mine = Stream::lead(&mut port, Clock::monotonic(), plan, Stamp::new(5), recorder);
            (mine, other.join().expect("the follow does not panic"))
        });
        let (mine, theirs) = (mine.expect("the lead ends"), theirs.expect("the follow ends"));
        assert_eq!((mine.sent, theirs.received, theirs.lost), (9, 9, 0), "packet {at}");
    }
}

#[test]
fn without_loss_nothing_is_counted_as_lost() {
    let (lead, follow, samples) = run::<Stream>(plan(8, 4), &[], &[]);
    assert_eq!((lead.sent, follow.received, follow.lost), (101, 101, 0));
    assert_eq!(samples, 50);
    let (lead, follow, _) = run::<Closed>(plan(8, 0), &[], &[]);
    assert_eq!((lead.lost, follow.lost, follow.received), (0, 0, 100));
}

/// What a follow says of a lead that begins after so long, with messages of an earlier segment under way.
fn late<A: Pattern>(plan: Plan<'_>, held_up: Duration) -> Tally {
    let (to_follow, from_lead) = channel();
    let (to_lead, from_follow) = channel();
    let mut lead = Leaky { to: to_follow, from: from_follow, sent: 0, drop: Vec::new() };
    let mut follow = Leaky { to: to_lead, from: from_lead, sent: 0, drop: Vec::new() };
    let sent = AtomicU64::new(0);
    let plan = Plan { sent: Some(&sent), ..plan };
    std::thread::scope(|scope| {
        let other = scope.spawn(|| {
            let recorder = &mut Recorder::new(&[]);
            A::follow(&mut follow, Clock::monotonic(), plan, Stamp::new(5), recorder)
        });
        for seq in plan.first - 3..plan.first {
            lead.send(plan.len, |out| Stamp::new(5).fill(out, seq)).expect("it is a channel");
        }
        std::thread::sleep(held_up);
        let recorder = &mut Recorder::new(&[]);
        let _ = A::lead(&mut lead, Clock::monotonic(), plan, Stamp::new(5), recorder);
        other.join().expect("the follow does not panic").expect("late is not wrong")
    })
}

#[test]
fn what_comes_late_is_counted_and_what_belongs_to_an_earlier_segment_is_not() {
    for len in [1, 4, 64] {
        // Longer than one wait of the follow, which gives the window up, and much shorter than its patience.
        for held_up in [0, 300].map(Duration::from_millis) {
            let follow = late::<Stream>(plan(len, 16), held_up);
            assert_eq!((follow.received, follow.lost), (101, 0), "{len} bytes, {held_up:?}");
        }
        let follow = late::<Closed>(plan(len, 0), Duration::ZERO);
        assert_eq!((follow.received, follow.lost), (100, 0), "{len} bytes");
    }
}

#[test]
fn bursts_count_what_never_came_and_miss_no_answer_but_those_that_are_lost() {
    for len in [1, 4, 64] {
        let answer = len.min(8);
        let loads = Plan { len, answer, samples: 20, batch: 1, first: 1000, ..Plan::default() };
        let burst = Plan { burst: 5, ..loads };
        // Two in the middle of bursts, the last of one, and two answers.
        let (lead, follow, _) = run::<Closed>(burst, &[2, 11, 49], &[5, 12]);
        assert_eq!((lead.sent, follow.received, follow.lost), (100, 97, 3), "{len} bytes");
    }
}

#[test]
fn paced_round_trips_count_every_lost_message_and_outlast_long_silence() {
    // 300 ms between two messages is more than the patience of a follow that expects them at once.
    let due: Vec<u64> = (0..20).map(|at| at * 20_000 + u64::from(at > 9) * 300_000_000).collect();
    let pace = Pace { due: &due, longest: 300_000_000, ns_per_tick: 1.0, ..Pace::default() };
    let plan =
        Plan { len: 8, answer: 8, samples: 20, batch: 1, first: 1000, pace, ..Plan::default() };
    let (lead, follow, _) = run::<Paced>(plan, &[3, 12], &[10]);
    assert_eq!((lead.sent, lead.received, lead.lost), (20, 17, 3));
    assert_eq!((follow.received, follow.lost), (18, 2));
}

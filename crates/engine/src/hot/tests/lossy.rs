//! The patterns over a port that loses messages.

use super::super::{Closed, Pace, Paced, Pattern, Stamp, Stream};
use super::*;
use crate::packets::PacketPort;
use ipcperf_core::Erased;
use std::collections::VecDeque;
use std::sync::atomic::{AtomicU32, AtomicU64};
use std::sync::{Arc, Condvar, Mutex};

/// What is under way between two ends, and who waits for it. Where both wait for what does not come, the one that has
/// waited longer gives up: no time passes otherwise, so that nothing depends on how busy the machine is.
#[derive(Default)]
struct Air {
    under_way: [VecDeque<Vec<u8>>; 2],
    /// In which order they began to wait.
    waits: [Option<u64>; 2],
    began: u64,
    gives_up: [bool; 2],
    is_gone: [bool; 2],
}

/// A port that drops the messages whose numbers are listed.
struct Leaky {
    air: Arc<(Mutex<Air>, Condvar)>,
    own: usize,
    sent: u64,
    drop: Vec<u64>,
    received: u64,
    /// So many waits in vain before so many messages have come.
    silence: (u32, u64),
}

/// Both ends; the second of them waits in vain.
fn pair(drop: [&[u64]; 2], silence: (u32, u64)) -> [Leaky; 2] {
    let air = Arc::default();
    let end = |own: usize, silence| Leaky {
        air: Arc::clone(&air),
        own,
        sent: 0,
        drop: drop[own].to_vec(),
        received: 0,
        silence,
    };
    [end(0, (0, 0)), end(1, silence)]
}

impl Port for Leaky {
    const LOSSY: bool = true;

    fn send(&mut self, len: usize, fill: impl FnOnce(&mut [u8])) -> Result<(), Fault> {
        let mut message = vec![0; len];
        fill(&mut message);
        if !self.drop.contains(&self.sent) {
            let (air, changed) = &*self.air;
            air.lock().expect("no panic").under_way[self.own].push_back(message);
            changed.notify_all();
        }
        self.sent += 1;
        Ok(())
    }

    fn recv<T>(
        &mut self,
        len: usize,
        take: impl FnOnce(&[u8]) -> Result<T, Fault>,
    ) -> Result<T, Fault> {
        let (vain, before) = &mut self.silence;
        if *vain > 0 && self.received == *before {
            *vain -= 1;
            return Err(Fault::Timeout);
        }
        let ((air, changed), own, other) = (&*self.air, self.own, 1 - self.own);
        let mut air = air.lock().expect("no panic");
        air.began += 1;
        air.waits[own] = Some(air.began);
        let message = loop {
            if let Some(message) = air.under_way[other].pop_front() {
                break Some(message);
            }
            if std::mem::take(&mut air.gives_up[own]) || air.is_gone[other] {
                break None;
            }
            let is_stuck = air.waits[other].is_some() && air.under_way[own].is_empty();
            if is_stuck && !air.gives_up[other] {
                if air.waits[own] < air.waits[other] {
                    break None;
                }
                air.gives_up[other] = true;
                changed.notify_all();
            }
            air = changed.wait(air).expect("no panic");
        };
        air.waits[own] = None;
        drop(air);
        self.received += u64::from(message.is_some());
        match message {
            Some(message) if message.len() == len => take(&message),
            Some(_) => Err(Fault::Truncated),
            None => Err(Fault::Timeout),
        }
    }

    fn finish(&mut self) -> Result<(), Fault> {
        Ok(())
    }
}

impl Drop for Leaky {
    fn drop(&mut self) {
        let (air, changed) = &*self.air;
        if let Ok(mut air) = air.lock() {
            air.is_gone[self.own] = true;
        }
        changed.notify_all();
    }
}

/// Tallies of both ends, and how many samples the follow recorded.
fn run<A: Pattern>(
    plan: Plan<'_>,
    lead_drops: &[u64],
    follow_drops: &[u64],
) -> (Tally, Tally, u64) {
    heard::<A>(plan, [lead_drops, follow_drops], (0, 0))
}

/// The same, with silence for the follow.
fn heard<A: Pattern>(
    plan: Plan<'_>,
    drops: [&[u64]; 2],
    silence: (u32, u64),
) -> (Tally, Tally, u64) {
    let [lead, mut follow] = pair(drops, silence);
    let slots: Vec<_> = (0..1000).map(|_| AtomicU32::new(0)).collect();
    let more: Vec<_> = (0..1000).map(|_| AtomicU32::new(0)).collect();
    let sent = AtomicU64::new(0);
    let plan = Plan { sent: Some(&sent), ..plan };
    std::thread::scope(|scope| {
        // Gone with its end, also where that is a panic.
        let (mut lead, more) = (lead, &more);
        let other = scope.spawn(move || {
            let mut recorder = Recorder::new(more);
            let clock = Clock::monotonic();
            let tally = A::follow(&mut follow, clock, plan, Stamp::new(5), &mut recorder);
            (tally.expect("the follow ends"), recorder.len())
        });
        let mine =
            A::lead(&mut lead, Clock::monotonic(), plan, Stamp::new(5), &mut Recorder::new(&slots))
                .expect("the lead ends");
        drop(lead);
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

/// 33 packets a message of 1000 bytes, of which 3 may be under way.
fn packets(port: &mut Leaky, len: usize) -> PacketPort<'_, true> {
    PacketPort::new(Erased(port), len, 39, Some(3))
}

/// Credits were given for messages that the lead, held up within one of many packets, had not sent: it panicked.
#[test]
fn a_lead_that_is_held_up_within_a_message_of_many_packets_goes_on_without_loss() {
    // 33 packets of which 3 may be under way, so that the window is one message. The follow waits three times in vain in the
    // third message: before its first packet, within it, and where it has just given a credit.
    for at in [66, 71, 80] {
        let [mut lead, mut follow] = pair([&[], &[]], (3, at));
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
        let (mine, theirs) = std::thread::scope(|scope| {
            let other = scope.spawn(move || {
                let recorder = &mut Recorder::new(&[]);
                let mut port = packets(&mut follow, plan.len);
                Stream::follow(&mut port, Clock::monotonic(), plan, Stamp::new(5), recorder)
            });
            let recorder = &mut Recorder::new(&[]);
            let mut port = packets(&mut lead, plan.len);
            let mine = Stream::lead(&mut port, Clock::monotonic(), plan, Stamp::new(5), recorder);
            drop(lead);
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

/// What a follow says of a lead that begins after it has waited so often in vain, with messages of an earlier segment
/// under way.
fn late<A: Pattern>(plan: Plan<'_>, in_vain: u32) -> Tally {
    let earlier = 3;
    let [lead, mut follow] = pair([&[], &[]], (in_vain, earlier));
    let sent = AtomicU64::new(0);
    let plan = Plan { sent: Some(&sent), ..plan };
    std::thread::scope(|scope| {
        let mut lead = lead;
        for seq in plan.first - earlier..plan.first {
            lead.send(plan.len, |out| Stamp::new(5).fill(out, seq)).expect("it is sent");
        }
        let other = scope.spawn(move || {
            let recorder = &mut Recorder::new(&[]);
            A::follow(&mut follow, Clock::monotonic(), plan, Stamp::new(5), recorder)
        });
        let recorder = &mut Recorder::new(&[]);
        let _ = A::lead(&mut lead, Clock::monotonic(), plan, Stamp::new(5), recorder);
        drop(lead);
        other.join().expect("the follow does not panic").expect("late is not wrong")
    })
}

#[test]
fn what_comes_late_is_counted_and_what_belongs_to_an_earlier_segment_is_not() {
    for len in [1, 4, 64] {
        // After one wait in vain the follow gives the window up.
        for in_vain in [0, 1] {
            let follow = late::<Stream>(plan(len, 16), in_vain);
            assert_eq!((follow.received, follow.lost), (101, 0), "{len} bytes, {in_vain}");
        }
        let follow = late::<Closed>(plan(len, 0), 0);
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
    // Longer than a follow waits for messages that it expects at once.
    let silence = (PATIENCE + 2, 8);
    let due: Vec<u64> = (0..20).map(|at| at * 20_000).collect();
    let pace = Pace { due: &due, longest: 60_000_000_000, ns_per_tick: 1.0, ..Pace::default() };
    let plan =
        Plan { len: 8, answer: 8, samples: 20, batch: 1, first: 1000, pace, ..Plan::default() };
    let (lead, follow, _) = heard::<Paced>(plan, [&[3, 12], &[10]], silence);
    assert_eq!((lead.sent, lead.received, lead.lost), (20, 17, 3));
    assert_eq!((follow.received, follow.lost), (18, 2));
}

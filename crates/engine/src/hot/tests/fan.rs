//! The loops of a fan over messages that were written down before.

use super::super::{Recorder, Stamp, Work, broadcast, fan_in, fan_out};
use super::*;
use ipcperf_core::{Fault, Port};
use ipcperf_sys::clock::Clock;
use std::collections::VecDeque;
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::Acquire;

const WORK: Stamp = Stamp::new(5);

/// Gives out stamps in order; `None` is a wait that ends in a timeout. What is sent is kept.
#[derive(Default)]
struct Script<const LOSSY: bool> {
    coming: VecDeque<Option<u64>>,
    sent: Vec<u64>,
}

impl<const LOSSY: bool> Port for Script<LOSSY> {
    const LOSSY: bool = LOSSY;

    fn send(&mut self, len: usize, fill: impl FnOnce(&mut [u8])) -> Result<(), Fault> {
        let mut message = vec![0; len];
        fill(&mut message);
        self.sent.push(WORK.sequence(&message, 0).expect("a stamp"));
        Ok(())
    }

    fn recv<T>(
        &mut self,
        len: usize,
        take: impl FnOnce(&[u8]) -> Result<T, Fault>,
    ) -> Result<T, Fault> {
        let number = self.coming.pop_front().ok_or(Fault::Closed)?.ok_or(Fault::Timeout)?;
        let mut message = vec![0; len];
        WORK.fill(&mut message, number);
        take(&message)
    }

    fn finish(&mut self) -> Result<(), Fault> {
        Ok(())
    }
}

const PLAN: Plan =
    Plan { len: 16, producer: 0, first: 7, count: 3, marks: 0, window: 0, every: 1, batch: 2 };

fn from(producer: u64, number: u64) -> Option<u64> {
    Some(producer << SHIFT | number)
}

/// What the consumer makes of messages of two producers, and its rows without the ticks.
fn consumed<const LOSSY: bool>(coming: &[Option<u64>]) -> Result<(Tally, Vec<[u32; 2]>), Fault> {
    let words: [[AtomicU32; 3]; 2] = Default::default();
    let accounts = words.each_ref().map(|words| Account::new(words, true));
    // The producers have sent everything, so that what is missing is lost.
    accounts.iter().for_each(|account| account.close(PLAN.first + PLAN.count));
    let mut port = Script::<LOSSY> { coming: coming.iter().copied().collect(), sent: Vec::new() };
    let slots: Vec<_> = (0..60).map(|_| AtomicU32::new(0)).collect();
    let mut rows = Recorder::new(&slots);
    let clock = Clock::monotonic();
    let tally = fan_in::follow(&mut port, clock, PLAN, WORK, &accounts, &mut rows)?;
    let noted: Vec<u32> =
        slots[..rows.len() as usize].iter().map(|slot| slot.load(Acquire)).collect();
    Ok((tally, noted.chunks(3).map(|row| [row[1], row[2]]).collect()))
}

const IN_ORDER: [(u64, u64); 6] = [(1, 7), (0, 7), (0, 8), (0, 9), (1, 8), (1, 9)];

fn script(messages: &[(u64, u64)]) -> Vec<Option<u64>> {
    messages.iter().map(|(producer, number)| from(*producer, *number)).collect()
}

#[test]
fn the_messages_of_each_producer_are_counted_whatever_their_mixture() {
    let (tally, rows) = consumed::<false>(&script(&IN_ORDER)).expect("complete and in order");
    assert_eq!((tally.received, tally.lost), (6, 0));
    assert_eq!(rows, [[1, 1], [2, 0], [0, 2], [0, 0]]);
}

#[test]
fn a_message_lost_doubled_reordered_or_of_nobody_is_noticed() {
    let wrongs = [(2, 0, 9), (2, 0, 7), (0, 1, 8), (5, 1, 10), (3, 2, 7), (3, 0, 10)];
    for (at, producer, number) in wrongs {
        let wrong = from(producer, number);
        let mut messages = script(&IN_ORDER);
        messages[at] = wrong;
        assert_eq!(consumed::<false>(&messages), Err(Fault::Corrupt), "{at} {wrong:?}");
    }
    assert_eq!(consumed::<false>(&script(&IN_ORDER[..5])), Err(Fault::Closed));
}

#[test]
fn what_a_lossy_mechanism_drops_is_counted_exactly() {
    // One in the middle shows by the next, one at the end by two waits in vain.
    let mut messages = script(&[(1, 7), (0, 7), (0, 9), (1, 8)]);
    messages.extend([None, None]);
    let (tally, _) = consumed::<true>(&messages).expect("losses are no error");
    assert_eq!((tally.received, tally.lost), (4, 2));
    // A message that comes after it was given up is an error: it would count twice.
    let mut late = script(&[(1, 7), (0, 8), (0, 7)]);
    late.push(None);
    assert_eq!(consumed::<true>(&late), Err(Fault::Corrupt));
    // One of an earlier phase, which was given up there, has nothing to do with this one.
    let mut earlier = script(&IN_ORDER);
    earlier.splice(1..1, [from(0, 5), from(1, 6)]);
    let (tally, _) = consumed::<true>(&earlier).expect("late is not wrong");
    assert_eq!((tally.received, tally.lost), (6, 0));
    assert_eq!(consumed::<false>(&earlier), Err(Fault::Corrupt));
    // One wait in vain says nothing yet.
    let mut slow = script(&IN_ORDER);
    slow.insert(3, None);
    assert_eq!(consumed::<true>(&slow).expect("all came").0.lost, 0);
}

#[test]
fn who_sees_the_newest_message_alone_counts_what_it_missed() {
    let plan = Plan { count: 10, ..PLAN };
    let follow = |numbers: &[Option<u64>]| {
        let coming = numbers.iter().copied().collect();
        let mut port = Script::<true> { coming, sent: Vec::new() };
        let slots: Vec<_> = (0..40).map(|_| AtomicU32::new(0)).collect();
        let (rows, calls) = slots.split_at(20);
        let [mut rows, mut calls] = [Recorder::new(rows), Recorder::new(calls)];
        broadcast::follow_newest(&mut port, Clock::monotonic(), plan, WORK, &mut rows, &mut calls)
    };
    // 7 to 16 come; 6 is still there from before, and waits in vain mean nothing.
    let tally =
        follow(&[Some(6), None, Some(8), Some(9), None, Some(12), Some(16)]).expect("whole");
    assert_eq!((tally.received, tally.lost), (4, 6));
    assert_eq!((tally.sum, tally.xor), (8 + 9 + 12 + 16, 8 ^ 9 ^ 12 ^ 16));
    let every: Vec<_> = (7..17).map(Some).collect();
    assert_eq!(follow(&every).map(|tally| (tally.received, tally.lost)), Ok((10, 0)));
    for wrong in [[Some(9), Some(8)], [Some(9), Some(9)], [Some(9), Some(17)]] {
        assert_eq!(follow(&wrong).map(drop), Err(Fault::Corrupt), "{wrong:?}");
    }
    assert_eq!(follow(&[Some(9)]).map(drop), Err(Fault::Closed), "the last one never came");
}

#[test]
fn a_producer_numbers_its_messages_and_times_one_of_several_sends() {
    let words = <[AtomicU32; 3]>::default();
    let slots: Vec<_> = (0..9).map(|_| AtomicU32::new(0)).collect();
    let mut calls = Recorder::new(&slots);
    let plan = Plan { producer: 2, count: 5, every: 3, ..PLAN };
    let (mut port, account) = (Script::<false>::default(), Account::new(&words, false));
    let clock = Clock::monotonic();
    let tally = fan_in::lead(&mut port, clock, plan, WORK, account, &mut calls).expect("sent");
    let expected: Vec<u64> = (7..12).map(|number| 2 << SHIFT | number).collect();
    assert_eq!((tally.sent, &port.sent, calls.len()), (5, &expected, 2));
}

#[test]
fn each_consumer_ends_on_a_mark_and_takes_only_what_is_newer() {
    let plan = Plan { marks: 2, count: 4, ..PLAN };
    let mut producer = Script::<false>::default();
    let tally = fan_out::lead(&mut producer, Clock::monotonic(), plan, WORK).expect("sent");
    assert_eq!((tally.sent, producer.sent.len()), (4, 6));
    let consume = |numbers: &[u64]| {
        let coming = numbers.iter().copied().map(Some).collect();
        let mut port = Script::<false> { coming, sent: Vec::new() };
        let slots: Vec<_> = (0..9).map(|_| AtomicU32::new(0)).collect();
        let more: Vec<_> = (0..2).map(|_| AtomicU32::new(0)).collect();
        let (mut rows, mut calls) = (Recorder::new(&slots), Recorder::new(&more));
        let clock = Clock::monotonic();
        let tally = fan_out::follow(&mut port, clock, plan, WORK, &mut rows, &mut calls);
        tally.map(|tally| (tally.received, tally.sum, tally.xor, rows.len(), calls.len()))
    };
    let mark = producer.sent[5];
    assert_eq!(consume(&[7, 9, 10, mark]), Ok((3, 26, 7 ^ 9 ^ 10, 4, 2)), "two calls fit");
    assert_eq!(consume(&[mark]), Ok((0, 0, 0, 2, 0)));
    for wrong in [[7, 7], [8, 7]] {
        assert_eq!(consume(&wrong), Err(Fault::Corrupt), "{wrong:?}");
    }
    assert_eq!(consume(&[7]), Err(Fault::Closed), "no mark");
}

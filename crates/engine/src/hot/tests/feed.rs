//! The loops of a feed over a port that keeps what is sent.

use super::super::Stamp;
use super::*;
use std::collections::VecDeque;
use std::sync::atomic::AtomicU32;
use std::thread::sleep;
use std::time::Duration;

const NS: u64 = 1_000_000;

/// A port that keeps what is sent; a planted delay comes before one of the messages, and some are not delivered.
#[derive(Default)]
struct Kept {
    messages: VecDeque<Vec<u8>>,
    sent: u64,
    delay: Option<(u64, Duration)>,
    drops: Vec<u64>,
}

impl Port for Kept {
    fn send(&mut self, len: usize, fill: impl FnOnce(&mut [u8])) -> Result<(), Fault> {
        self.sent += 1;
        if let Some((_, time)) = self.delay.filter(|(at, _)| *at == self.sent) {
            sleep(time);
        }
        let mut message = vec![0; len];
        fill(&mut message);
        if !self.drops.contains(&self.sent) {
            self.messages.push_back(message);
        }
        Ok(())
    }

    fn recv<T>(
        &mut self,
        _: usize,
        take: impl FnOnce(&[u8]) -> Result<T, Fault>,
    ) -> Result<T, Fault> {
        take(&self.messages.pop_front().ok_or(Fault::Timeout)?)
    }

    fn finish(&mut self) -> Result<(), Fault> {
        Ok(())
    }
}

fn plan(count: u64) -> Plan {
    Plan { len: 16, producer: 0, first: 40, count, marks: 1, window: 0, every: 1, batch: 1 }
}

fn slots(count: u64) -> Vec<AtomicU32> {
    (0..count).map(|_| AtomicU32::new(0)).collect()
}

/// When each of `count` messages was due and sent, ns.
fn sent(port: &mut Kept, count: u64, every: u64) -> (Vec<u64>, Vec<u64>) {
    let due: Vec<u64> = (1..=count).map(|at| at * every).collect();
    let pace = Pace { due: &due, pause: NS, ns_per_tick: 1.0, ..Pace::default() };
    let slots = slots(count);
    let mut tape = Recorder::new(&slots);
    let ports = std::slice::from_mut(port);
    let clock = Clock::monotonic();
    let before = clock.start();
    let tally = lead(ports, clock, plan(count), pace, Stamp::new(5), None, &mut tape);
    let tally = tally.expect("sent");
    assert_eq!((tally.sent, tape.len()), (count, count));
    assert!(tally.begin >= before + NS, "it starts a pause later");
    let mut now = tally.begin;
    let moment = |slot: &AtomicU32| {
        now += Recorder::read(slot);
        now
    };
    let sent: Vec<u64> = slots.iter().map(moment).collect();
    assert_eq!(sent.last(), Some(&tally.end));
    (due.iter().map(|after| tally.begin + after).collect(), sent)
}

#[test]
fn no_message_is_sent_before_it_is_due() {
    let (due, sent) = sent(&mut Kept::default(), 50, NS / 10);
    assert!(due.iter().zip(&sent).all(|(due, sent)| sent >= due));
}

#[test]
fn a_planted_delay_makes_all_late_that_were_due_meanwhile() {
    let delay = Some((10, Duration::from_millis(5)));
    let (due, sent) = sent(&mut Kept { delay, ..Kept::default() }, 100, NS / 10);
    let late: Vec<u64> = due.iter().zip(&sent).map(|(due, sent)| sent - due).collect();
    // The tenth waits 5 ms; the eleventh was due 0.1 ms later, and so on.
    for after in 0..50 {
        let least = 5 * NS - after * NS / 10;
        assert!(late[9 + after as usize] >= least, "{after}: {late:?}");
    }
}

#[test]
fn a_consumer_knows_what_it_has_missed_and_leaves_its_place_free() {
    let mut port = Kept { drops: vec![2, 3, 6], ..Kept::default() };
    sent(&mut port, 6, 10);
    let words = [40, 40, 46].map(AtomicU32::new);
    let account = Account::new(&words, true);
    let slots = slots(6);
    let mut tape = Recorder::new(&slots);
    let clock = Clock::monotonic();
    let tally = follow(&mut port, clock, plan(6), true, Stamp::new(5), Some(&account), &mut tape);
    let tally = tally.expect("read");
    assert_eq!((tally.received, tally.lost, tape.len()), (3, 3, 6));
    assert_eq!(tally.sum, 40 + 43 + 44);
    let lost: Vec<bool> = slots.iter().map(|slot| Recorder::read(slot) == Recorder::LOST).collect();
    assert_eq!(lost, [false, true, true, false, false, true]);
}

#[test]
fn where_nothing_may_be_lost_a_gap_is_no_feed() {
    for (drops, fault) in [(vec![2], Fault::Corrupt), (vec![6], Fault::Timeout)] {
        let mut port = Kept { drops, ..Kept::default() };
        sent(&mut port, 6, 10);
        let slots = slots(6);
        let mut tape = Recorder::new(&slots);
        let clock = Clock::monotonic();
        let read = follow(&mut port, clock, plan(6), false, Stamp::new(5), None, &mut tape);
        assert_eq!(read.err(), Some(fault));
    }
}

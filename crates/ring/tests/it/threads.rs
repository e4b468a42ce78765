//! A million messages between two threads, in both ways of waiting.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::thread;

use crate::memory::Memory;
use ipcperf_ring::{AttachError, Audience, Geometry, Sleep, Sleeper, Spin, Stop, Wait};

const MESSAGES: u64 = 1_000_000;
const PAYLOAD: u32 = 200;

/// A futex made of a mutex and a condition variable, shared by both ends.
#[derive(Clone, Default)]
struct Bell(Arc<(Mutex<()>, Condvar, AtomicU64)>);

// SAFETY: the word is only read.
unsafe impl Sleeper for Bell {
    fn sleep(&self, word: &AtomicU32, expected: u32) {
        let (lock, bell, sleeps) = &*self.0;
        let held = lock.lock().unwrap();
        if word.load(Ordering::Relaxed) == expected {
            sleeps.fetch_add(1, Ordering::Relaxed);
            drop(bell.wait(held).unwrap());
        }
    }
    fn wake(&self, _word: &AtomicU32) {
        let (lock, bell, _) = &*self.0;
        let _held = lock.lock().unwrap();
        bell.notify_all();
    }
}

/// xorshift64 (Marsaglia, 2003): lengths and bytes both ends can predict.
fn next(state: &mut u64) -> u64 {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    *state
}

fn million<W: Wait + Clone + Send + 'static>(slots: u32, wait: W) {
    let memory = Memory::ring(Geometry { slots, payload: PAYLOAD });
    let mut producer = memory.producer().unwrap();
    let mut consumer = memory.consumer().unwrap();
    let theirs = wait.clone();
    let kept = Arc::clone(&memory);
    let sender = thread::spawn(move || {
        let mut seed = 0x9E37_79B9_7F4A_7C15;
        for _ in 0..MESSAGES {
            let value = next(&mut seed);
            let len = (value % (u64::from(PAYLOAD) + 1)) as usize;
            producer.send(&theirs, len, |slot| slot.fill((value >> 32) as u8)).unwrap();
        }
        producer.close(&theirs);
        drop(kept);
    });
    let mut seed = 0x9E37_79B9_7F4A_7C15;
    let mut received = 0u64;
    loop {
        let value = next(&mut seed);
        let len = (value % (u64::from(PAYLOAD) + 1)) as usize;
        let intact = consumer.recv(&wait, |slot| {
            slot.len() == len && slot.iter().all(|&byte| byte == (value >> 32) as u8)
        });
        match intact {
            Ok(intact) => assert!(intact, "message {received}"),
            Err(stop) => {
                assert_eq!(stop, Stop::Closed);
                break;
            }
        }
        received += 1;
    }
    sender.join().unwrap();
    assert_eq!(received, MESSAGES);
}

#[test]
fn a_million_messages_arrive_intact_and_in_order_by_spinning() {
    // With two CPUs and other tests beside this one, a spinner may have to wait for a time slice
    // whenever the ring runs full or empty: 1024 slots keep that to some thousand times.
    million(1024, Spin);
}

#[test]
fn a_million_messages_arrive_intact_and_in_order_by_sleeping() {
    let bell = Bell::default();
    million(16, Sleep { spins: 0, sleeper: bell.clone() });
    assert!(bell.0.2.load(Ordering::Relaxed) > 0, "nobody slept: the test tested nothing");
}

fn to_all<W: Wait + Clone + Send + 'static>(slots: u32, wait: W) {
    const CONSUMERS: u32 = 3;
    let audience =
        Audience { geometry: Geometry { slots, payload: PAYLOAD }, consumers: CONSUMERS };
    let memory = Memory::for_all(audience);
    let mut source = memory.source().unwrap();
    let consumers: Vec<_> = (0..CONSUMERS)
        .map(|number| {
            let mut sink = memory.sink(number).unwrap();
            let (kept, wait) = (Arc::clone(&memory), wait.clone());
            thread::spawn(move || {
                let mut seed = 0x9E37_79B9_7F4A_7C15;
                for at in 0..MESSAGES / 10 {
                    let value = next(&mut seed);
                    let len = (value % (u64::from(PAYLOAD) + 1)) as usize;
                    let is_intact = |slot: &[u8]| {
                        slot.len() == len && slot.iter().all(|&byte| byte == (value >> 32) as u8)
                    };
                    assert_eq!(sink.recv(&wait, is_intact), Ok(true), "message {at}");
                }
                assert_eq!(sink.recv(&wait, |_| ()), Err(Stop::Closed));
                drop(kept);
            })
        })
        .collect();
    let mut seed = 0x9E37_79B9_7F4A_7C15;
    for _ in 0..MESSAGES / 10 {
        let value = next(&mut seed);
        let len = (value % (u64::from(PAYLOAD) + 1)) as usize;
        source.send(&wait, len, |slot| slot.fill((value >> 32) as u8)).unwrap();
    }
    assert_eq!(source.send(&wait, PAYLOAD as usize + 1, |_| ()), Err(Stop::TooLong));
    source.close(&wait);
    assert_eq!(source.send(&wait, 1, |_| ()), Err(Stop::Closed));
    for consumer in consumers {
        consumer.join().unwrap();
    }
}

#[test]
fn every_message_reaches_every_consumer_intact_and_in_order() {
    to_all(1024, Spin);
    let bell = Bell::default();
    to_all(16, Sleep { spins: 0, sleeper: bell.clone() });
    assert!(bell.0.2.load(Ordering::Relaxed) > 0, "nobody slept: the test tested nothing");
}

#[test]
fn of_a_ring_for_all_each_end_is_claimed_once_and_one_that_cannot_be_is_refused() {
    let geometry = Geometry { slots: 2, payload: 8 };
    let memory = Memory::for_all(Audience { geometry, consumers: 2 });
    assert!(memory.source().is_ok() && memory.sink(1).is_ok() && memory.sink(0).is_ok());
    assert_eq!(memory.source().err(), Some(AttachError::Claimed));
    assert_eq!(memory.sink(1).err(), Some(AttachError::Claimed));
    assert_eq!(memory.sink(2).err(), Some(AttachError::Geometry));
    let ring = Memory::ring(geometry);
    assert_eq!(ring.source().err(), Some(AttachError::NotARing));
    for (slots, consumers) in [(3, 2), (2, 0), (2, 257)] {
        let geometry = Geometry { slots, payload: 8 };
        let memory = Memory::for_all(Audience { geometry, consumers });
        assert_eq!(memory.source().err(), Some(AttachError::Geometry), "{slots}, {consumers}");
    }
}

//! Any sequence of operations in one thread against a `VecDeque`.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::cell::Cell;
use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::AtomicU32;

use crate::memory::Memory;
use ipcperf_ring::{Geometry, Sleep, Sleeper, Stop};
use proptest::prelude::*;

/// Unwinds instead of sleeping, which makes every call non-blocking, and counts the wakes.
#[derive(Default)]
struct Refuse {
    wakes: Cell<u32>,
}

struct WouldSleep;

// SAFETY: the word is not touched.
unsafe impl Sleeper for &Refuse {
    fn sleep(&self, _word: &AtomicU32, _expected: u32) {
        resume_unwind(Box::new(WouldSleep));
    }
    fn wake(&self, _word: &AtomicU32) {
        self.wakes.set(self.wakes.get() + 1);
    }
}

/// `None` where the call would have slept.
fn now<T>(call: impl FnOnce() -> T) -> Option<T> {
    match catch_unwind(AssertUnwindSafe(call)) {
        Ok(value) => Some(value),
        Err(payload) if payload.is::<WouldSleep>() => None,
        Err(payload) => resume_unwind(payload),
    }
}

#[derive(Clone, Copy, Debug)]
enum Step {
    Send(usize),
    Recv,
    CloseProducer,
    CloseConsumer,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        40 => (0usize..80).prop_map(Step::Send),
        40 => Just(Step::Recv),
        1 => Just(Step::CloseProducer),
        1 => Just(Step::CloseConsumer),
    ]
}

proptest! {
    #[test]
    fn the_ring_behaves_like_a_bounded_queue(
        power in 0u32..4,
        payload in 0u32..72,
        spins in 0u32..2,
        steps in prop::collection::vec(step(), 1..400),
    ) {
        let geometry = Geometry { slots: 1 << power, payload };
        let memory = Memory::ring(geometry);
        let (mut producer, mut consumer) =
            (memory.producer().unwrap(), memory.consumer().unwrap());
        let refuse = Refuse::default();
        let wait = Sleep { spins, sleeper: &refuse };

        let mut queue: VecDeque<Vec<u8>> = VecDeque::new();
        let (mut producer_closed, mut consumer_closed) = (false, false);
        // At most one end can be stuck; every hand-over or close by the other must wake it.
        let (mut producer_stuck, mut consumer_stuck, mut wakes) = (false, false, 0);
        for (number, step) in steps.into_iter().enumerate() {
            match step {
                Step::Send(len) => {
                    let message: Vec<u8> = (0..len).map(|i| (number + i) as u8).collect();
                    let sent = now(|| producer.send(&wait, len, |s| s.copy_from_slice(&message)));
                    let full = queue.len() == geometry.slots as usize;
                    let expected = if producer_closed {
                        Some(Err(Stop::Closed))
                    } else if len > payload as usize {
                        Some(Err(Stop::TooLong))
                    } else if !full {
                        wakes += u32::from(std::mem::take(&mut consumer_stuck));
                        queue.push_back(message);
                        Some(Ok(()))
                    } else {
                        producer_stuck = true;
                        consumer_closed.then_some(Err(Stop::Closed))
                    };
                    prop_assert_eq!(sent, expected);
                }
                Step::Recv => {
                    let received = now(|| consumer.recv(&wait, <[u8]>::to_vec));
                    let expected = if consumer_closed {
                        // A look at an empty slot announces a sleeper before it finds the closing.
                        consumer_stuck |= queue.is_empty();
                        Some(Err(Stop::Closed))
                    } else if let Some(message) = queue.pop_front() {
                        wakes += u32::from(std::mem::take(&mut producer_stuck));
                        Some(Ok(message))
                    } else {
                        consumer_stuck = true;
                        producer_closed.then_some(Err(Stop::Closed))
                    };
                    prop_assert_eq!(received, expected);
                }
                Step::CloseProducer => {
                    producer.close(&wait);
                    producer_closed = true;
                    // On a full ring the producer's next slot is the one it is stuck on itself.
                    let stuck = if queue.len() == geometry.slots as usize {
                        &mut producer_stuck
                    } else {
                        &mut consumer_stuck
                    };
                    wakes += u32::from(std::mem::take(stuck));
                }
                Step::CloseConsumer => {
                    consumer.close(&wait);
                    consumer_closed = true;
                    let stuck = if queue.is_empty() {
                        &mut consumer_stuck
                    } else {
                        &mut producer_stuck
                    };
                    // With messages queued but room left, nobody can be stuck.
                    wakes += u32::from(std::mem::take(stuck));
                }
            }
            prop_assert_eq!(refuse.wakes.get(), wakes, "after step {}", number);
        }
    }

    #[test]
    fn an_unwinding_closure_moves_nothing(messages in prop::collection::vec(0u8..3, 1..50)) {
        let memory = Memory::ring(Geometry { slots: 1, payload: 1 });
        let (mut producer, mut consumer) =
            (memory.producer().unwrap(), memory.consumer().unwrap());
        let refuse = Refuse::default();
        let wait = Sleep { spins: 0, sleeper: &refuse };
        for message in messages {
            let unsent = now(|| producer.send(&wait, 1, |_| resume_unwind(Box::new(WouldSleep))));
            prop_assert_eq!(unsent, None);
            producer.send(&wait, 1, |slot| slot[0] = message).unwrap();
            let untaken =
                now(|| consumer.recv(&wait, |_| -> u8 { resume_unwind(Box::new(WouldSleep)) }));
            prop_assert_eq!(untaken, None);
            prop_assert_eq!(consumer.recv(&wait, |slot| slot[0]), Ok(message));
        }
    }
}

//! Every interleaving, and every value the memory model lets a load return, of small runs.
//!
//! `RUSTFLAGS="--cfg loom" LOOM_MAX_PREEMPTIONS=3 cargo test -p ipcperf-ring --release --test it`
#![allow(clippy::unwrap_used, reason = "a test may panic")]
#![expect(clippy::print_stderr, reason = "a check that explored nothing must be seen to")]

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed as Counting};

use crate::memory::Memory;
use ipcperf_ring::{Audience, Geometry, Site, Sleep, Sleeper, Spin, Stop, Wait};
use loom::sync::atomic::{AtomicU32, Ordering::Relaxed};
use loom::sync::{Condvar, Mutex};
use loom::thread;

const MESSAGES: u8 = 3;

/// Counted over all executions of one check, outside loom's view.
#[derive(Default)]
struct Tally {
    executions: AtomicUsize,
    slept: AtomicUsize,
    closed_early: AtomicUsize,
}

/// A futex: the comparison and going to sleep are one step with respect to a wake.
#[derive(Clone)]
struct Futex {
    kernel: Arc<(Mutex<()>, Condvar)>,
    tally: Arc<Tally>,
}

// SAFETY: the word is only read.
unsafe impl Sleeper for Futex {
    fn sleep(&self, word: &AtomicU32, expected: u32) {
        let (lock, bell) = &*self.kernel;
        let held = lock.lock().unwrap();
        if word.load(Relaxed) == expected {
            self.tally.slept.fetch_add(1, Counting);
            drop(bell.wait(held).unwrap());
        }
    }
    fn wake(&self, _word: &AtomicU32) {
        let (lock, bell) = &*self.kernel;
        let _held = lock.lock().unwrap();
        bell.notify_all();
    }
}

/// Makes the way of waiting anew for each execution: loom's objects live no longer.
trait Kind: Copy + Send + Sync + 'static {
    type Wait: Wait + Clone + Send + 'static;
    const SLEEPS: bool;
    fn fresh(self, tally: &Arc<Tally>) -> Self::Wait;
}

#[derive(Clone, Copy)]
struct Spinning;

impl Kind for Spinning {
    type Wait = Spin;
    const SLEEPS: bool = false;
    fn fresh(self, _: &Arc<Tally>) -> Spin {
        Spin
    }
}

#[derive(Clone, Copy)]
struct Sleeping {
    spins: u32,
}

impl Kind for Sleeping {
    type Wait = Sleep<Futex>;
    const SLEEPS: bool = true;
    fn fresh(self, tally: &Arc<Tally>) -> Self::Wait {
        let kernel = Arc::new((Mutex::new(()), Condvar::new()));
        Sleep { spins: self.spins, sleeper: Futex { kernel, tally: Arc::clone(tally) } }
    }
}

/// What the ends do in one check.
#[derive(Clone, Copy)]
struct Script {
    slots: u32,
    /// Messages sent before the producer closes.
    sends: u8,
    /// Messages received before the consumer closes; `None`: it receives until closed.
    receives: Option<u8>,
    /// Whether the producer closes when done; otherwise only the consumer does.
    producer_closes: bool,
}

fn check<K: Kind>(name: &str, kind: K, script: Script) -> Arc<Tally> {
    let tally = Arc::new(Tally::default());
    let counted = Arc::clone(&tally);
    loom::model::Builder::new().check(move || {
        counted.executions.fetch_add(1, Counting);
        run(kind.fresh(&counted), script, &counted);
    });
    let executions = tally.executions.load(Counting);
    let slept = tally.slept.load(Counting);
    let early = tally.closed_early.load(Counting);
    eprintln!("loom: {name}: {executions} executions, {slept} sleeps, {early} closed early");
    assert!(executions > 1, "{name}: nothing was explored");
    assert!(!K::SLEEPS || slept > 0, "{name}: nobody slept in any execution");
    tally
}

fn run<W: Wait + Clone + Send + 'static>(wait: W, script: Script, tally: &Arc<Tally>) {
    let memory = Memory::ring(Geometry { slots: script.slots, payload: 4 });
    let mut producer = memory.producer().unwrap();
    let mut consumer = memory.consumer().unwrap();
    let (kept, theirs, early) = (Arc::clone(&memory), wait.clone(), Arc::clone(tally));
    let sender = thread::spawn(move || {
        for number in 0..script.sends {
            let len = usize::from(number) + 1;
            match producer.send(&theirs, len, |slot| slot.fill(number)) {
                Ok(()) => {}
                Err(stop) => {
                    assert_eq!(stop, Stop::Closed);
                    assert!(script.receives.is_some(), "closed, but the consumer does not close");
                    early.closed_early.fetch_add(1, Counting);
                    break;
                }
            }
        }
        if script.producer_closes {
            producer.close(&theirs);
        }
        drop(kept);
    });
    let mut received = 0;
    while script.receives.is_none_or(|most| received < most) {
        let message =
            consumer.recv(&wait, |slot| (slot.len(), slot.iter().all(|&b| b == received)));
        match message {
            Ok(message) => assert_eq!(message, (usize::from(received) + 1, true)),
            Err(stop) => {
                assert_eq!(stop, Stop::Closed);
                assert_eq!(received, script.sends, "messages were lost at the close");
                assert_eq!(consumer.recv(&wait, |_| ()), Err(Stop::Closed), "closed for good");
                break;
            }
        }
        received += 1;
    }
    if script.receives.is_some() {
        consumer.close(&wait);
    }
    sender.join().unwrap();
    drop(memory);
}

/// The producer sends everything and closes; the consumer gets all of it and then the close.
const ALL: Script = Script { slots: 1, sends: MESSAGES, receives: None, producer_closes: true };
/// The producer closes without a word: the consumer may be asleep.
const MUTE: Script = Script { sends: 0, ..ALL };
/// The producer closes after the first of the messages.
const SHORT: Script = Script { sends: 1, ..ALL };
/// The consumer closes after one message; the producer may be asleep on a full ring. One message
/// more than two slots and that one can take, so that the last is always stopped.
const LEAVES: Script =
    Script { slots: 1, sends: MESSAGES + 1, receives: Some(1), producer_closes: false };
/// The consumer closes at once.
const REFUSES: Script = Script { receives: Some(0), ..LEAVES };
/// Both close, at any time relative to each other.
const BOTH: Script = Script { receives: Some(1), sends: 2, ..ALL };

#[test]
fn every_message_arrives_by_spinning() {
    check("spin, 1 slot", Spinning, ALL);
    check("spin, 2 slots", Spinning, Script { slots: 2, ..ALL });
}

#[test]
fn every_message_arrives_by_sleeping() {
    check("sleep, 1 slot", Sleeping { spins: 0 }, ALL);
    check("sleep, 2 slots", Sleeping { spins: 0 }, Script { slots: 2, ..ALL });
    check("spin once, then sleep", Sleeping { spins: 1 }, SHORT);
}

#[test]
fn a_producer_that_closes_in_the_middle_is_noticed() {
    for slots in [1, 2] {
        check("spin, producer mute", Spinning, Script { slots, ..MUTE });
        check("spin, producer closes", Spinning, Script { slots, ..SHORT });
        check("sleep, producer mute", Sleeping { spins: 0 }, Script { slots, ..MUTE });
        check("sleep, producer closes", Sleeping { spins: 0 }, Script { slots, ..SHORT });
    }
}

#[test]
fn a_consumer_that_closes_in_the_middle_is_noticed() {
    for slots in [1, 2] {
        for script in [LEAVES, REFUSES] {
            let script = Script { slots, ..script };
            for tally in [
                check("spin, consumer closes", Spinning, script),
                check("sleep, consumer closes", Sleeping { spins: 0 }, script),
            ] {
                assert!(tally.closed_early.load(Counting) > 0, "no producer was ever stopped");
            }
        }
    }
}

#[test]
fn both_ends_may_close_at_once() {
    check("spin, both close", Spinning, BOTH);
    check("sleep, both close", Sleeping { spins: 0 }, BOTH);
}

/// A producer and two consumers, each of which must get every message and then the close.
fn to_two<K: Kind>(name: &str, kind: K, slots: u32, sends: u8) {
    let tally = Arc::new(Tally::default());
    let counted = Arc::clone(&tally);
    let mut builder = loom::model::Builder::new();
    // Three threads have too many interleavings for more, and look at their words more often than two.
    builder.preemption_bound = Some(1);
    builder.max_branches = 10_000;
    builder.check(move || {
        counted.executions.fetch_add(1, Counting);
        let wait = kind.fresh(&counted);
        let geometry = Geometry { slots, payload: 4 };
        let memory = Memory::for_all(Audience { geometry, consumers: 2 });
        let mut source = memory.source().unwrap();
        let receive = |number: u32| {
            let mut sink = memory.sink(number).unwrap();
            let (kept, wait) = (Arc::clone(&memory), wait.clone());
            move || {
                for expected in 0..sends {
                    let got =
                        sink.recv(&wait, |slot| (slot.len(), slot.iter().all(|&b| b == expected)));
                    assert_eq!(got, Ok((usize::from(expected) + 1, true)));
                }
                assert_eq!(sink.recv(&wait, |_| ()), Err(Stop::Closed));
                drop(kept);
            }
        };
        let sinks = [thread::spawn(receive(0)), thread::spawn(receive(1))];
        for number in 0..sends {
            source.send(&wait, usize::from(number) + 1, |slot| slot.fill(number)).unwrap();
        }
        source.close(&wait);
        for sink in sinks {
            sink.join().unwrap();
        }
        drop(memory);
    });
    let (executions, slept) = (tally.executions.load(Counting), tally.slept.load(Counting));
    eprintln!("loom: {name}: {executions} executions, {slept} sleeps");
    assert!(executions > 1, "{name}: nothing was explored");
    assert!(!K::SLEEPS || slept > 0, "{name}: nobody slept in any execution");
}

/// Of one slot a single message: a producer that waits for two others looks too often to explore more.
#[test]
fn every_message_reaches_both_consumers_by_spinning() {
    to_two("spin, 2 consumers, 1 slot", Spinning, 1, 1);
    to_two("spin, 2 consumers, 8 slots", Spinning, 8, 3);
}

#[test]
fn every_message_reaches_both_consumers_by_sleeping() {
    to_two("sleep, 2 consumers, 1 slot", Sleeping { spins: 0 }, 1, 2);
    to_two("sleep, 2 consumers, 8 slots", Sleeping { spins: 0 }, 8, 2);
}

#[test]
fn of_two_claims_at_once_exactly_one_succeeds() {
    let executions = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&executions);
    loom::model::Builder::new().check(move || {
        counted.fetch_add(1, Counting);
        let memory = Memory::ring(Geometry { slots: 1, payload: 4 });
        let other = Arc::clone(&memory);
        let rival = thread::spawn(move || other.producer().is_ok());
        let mine = memory.producer().is_ok();
        assert!(mine ^ rival.join().unwrap());
    });
    let executions = executions.load(Counting);
    eprintln!("loom: claims: {executions} executions");
    assert!(executions > 1, "nothing was explored");
}

/// The comments of the ring say of each of its orderings that a check fails without it.
#[test]
fn every_ordering_is_needed() {
    const CHECKS: [fn(); 5] = [
        every_message_arrives_by_spinning,
        every_message_arrives_by_sleeping,
        a_producer_that_closes_in_the_middle_is_noticed,
        a_consumer_that_closes_in_the_middle_is_noticed,
        both_ends_may_close_at_once,
    ];
    for site in Site::ALL {
        site.weaken();
        let passes = |check: &fn()| std::panic::catch_unwind(check).is_ok();
        assert!(!CHECKS.iter().all(passes), "{site:?} may be Relaxed, and nothing fails");
        eprintln!("loom: {site:?} as Relaxed: a check fails");
    }
}

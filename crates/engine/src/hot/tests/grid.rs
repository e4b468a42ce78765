//! The loops of a grid over pieces that were written down before.

use super::super::fan::Arrived;
use super::super::{Stamp, Work};
use super::*;
use std::collections::VecDeque;
use std::sync::atomic::AtomicU32;

const WORK: Stamp = Stamp::new(5);
const PRODUCERS: u64 = 2;
const CONSUMERS: u64 = 2;

/// An object that several share: pieces in their order. What is sent is kept.
#[derive(Default)]
struct Object {
    coming: VecDeque<u64>,
    sent: Vec<u64>,
    pieces: usize,
}

impl Object {
    /// Pieces of messages: producer, message, piece; `None` is a piece of an end mark.
    fn of(pieces: usize, coming: &[Option<(u64, u64, u64)>]) -> Self {
        let number = |one: &Option<(u64, u64, u64)>| match one {
            Some((producer, message, piece)) => {
                producer << SHIFT | (message * pieces as u64 + piece)
            }
            None => MARK,
        };
        Self { coming: coming.iter().map(number).collect(), sent: Vec::new(), pieces }
    }

    fn len(&self) -> usize {
        if self.pieces == 1 { 16 } else { self.pieces * PIECE }
    }
}

impl Port for Object {
    fn send(&mut self, len: usize, fill: impl FnOnce(&mut [u8])) -> Result<(), Fault> {
        let mut message = vec![0; len];
        fill(&mut message);
        let pieces = message.chunks(len / self.pieces);
        self.sent.extend(pieces.map(|piece| WORK.sequence(piece, 0).expect("a stamp")));
        Ok(())
    }

    fn recv<T>(
        &mut self,
        len: usize,
        take: impl FnOnce(&[u8]) -> Result<T, Fault>,
    ) -> Result<T, Fault> {
        let mut message = vec![0; len];
        for piece in message.chunks_mut(len / self.pieces) {
            WORK.fill(piece, self.coming.pop_front().ok_or(Fault::Closed)?);
        }
        take(&message)
    }

    fn finish(&mut self) -> Result<(), Fault> {
        Ok(())
    }
}

#[derive(Default)]
struct SharedWords([AtomicU64; 3]);

impl SharedWords {
    fn shared(&self) -> GridWords<'_> {
        let [finished, taken, left] = &self.0;
        GridWords { finished, taken, left }
    }

    fn values(&self) -> [u64; 3] {
        self.0.each_ref().map(|word| word.load(SeqCst))
    }
}

fn plans(object: &Object, producer: u64, count: u64) -> (Plan, GridPlan) {
    let (len, marks) = (object.len(), CONSUMERS);
    let plan = Plan { len, producer, first: 7, count, marks, window: 0, every: 1, batch: 2 };
    let pieces = NonZeroU64::new(object.pieces as u64).expect("one at the least");
    (plan, GridPlan { producers: PRODUCERS, pieces })
}

/// What a consumer makes of what comes, one message of each producer being sent, and its rows without the ticks.
fn consumed(object: &mut Object, words: &SharedWords) -> Result<(Tally, Vec<[u32; 2]>), Fault> {
    let slots: Vec<_> = (0..60).map(|_| AtomicU32::new(0)).collect();
    let mut rows = Recorder::new(&slots);
    let plans = plans(object, 0, 1);
    let tally = follow(object, Clock::monotonic(), plans, WORK, words.shared(), &mut rows)?;
    let noted: Vec<u32> = slots[..rows.len() as usize]
        .iter()
        .map(|slot| slot.load(std::sync::atomic::Ordering::Acquire))
        .collect();
    Ok((tally, noted.chunks(3).map(|row| [row[1], row[2]]).collect()))
}

#[test]
fn the_last_producer_that_finishes_sends_the_end_marks() {
    let words = SharedWords::default();
    let produced = |producer| {
        let mut object = Object::of(1, &[]);
        let mut calls = Recorder::new(&[]);
        let plans = plans(&object, producer, 2);
        let tally = lead(&mut object, Clock::monotonic(), plans, WORK, words.shared(), &mut calls);
        (tally.expect("room for all").sent, object.sent)
    };
    assert_eq!(produced(1), (2, vec![1 << SHIFT | 7, 1 << SHIFT | 8]));
    assert_eq!(produced(0), (2, vec![7, 8, MARK, MARK | 1]));
    assert_eq!(words.values(), [0; 3], "the next phase begins with none");
}

#[test]
fn a_message_of_several_pieces_has_a_stamp_in_each() {
    let words = SharedWords::default();
    let mut object = Object::of(3, &[]);
    let plans = plans(&object, 1, 2);
    let mut calls = Recorder::new(&[]);
    let tally = lead(&mut object, Clock::monotonic(), plans, WORK, words.shared(), &mut calls);
    assert_eq!(tally.expect("room for all").sent, 6);
    assert_eq!(object.sent, (21..27).map(|own| 1 << SHIFT | own).collect::<Vec<_>>());
}

#[test]
fn consumers_know_what_came_whole_what_was_mixed_and_what_was_split() {
    let piece = |producer, piece| Some((producer, 7, piece));
    let words = SharedWords::default();
    // Both messages to one consumer: the second one between the pieces of the first.
    let mixed = [piece(0, 0), piece(1, 0), piece(1, 1), piece(0, 1), None, None];
    let (tally, rows) = consumed(&mut Object::of(2, &mixed), &words).expect("in order");
    assert_eq!((tally.received, tally.arrived), (4, Arrived { whole: 1, mixed: 1 }));
    assert_eq!(rows, [[2, 2], [0, 0]]);
    assert_eq!(words.values(), [0, 3, 1], "it has left with the first end mark");
    // One message is split: its second piece comes to the other consumer, with a part of a mark.
    let words = SharedWords::default();
    let first = [piece(0, 0), piece(1, 0), piece(1, 1), None];
    let (one, _) = consumed(&mut Object::of(2, &first), &words).expect("in order");
    let (other, _) = consumed(&mut Object::of(2, &[piece(0, 1), None, None, None]), &words)
        .expect("the rest of the marks is taken, too");
    assert_eq!((one.received, one.arrived), (3, Arrived { whole: 1, mixed: 0 }));
    assert_eq!((other.received, other.arrived), (1, Arrived::default()));
    assert_eq!(words.values(), [0; 3], "the next phase begins with none");
    let number = |producer: u64, piece: u64| producer << SHIFT | (14 + piece);
    let all = [number(0, 0), number(1, 0), number(1, 1), number(0, 1)];
    assert_eq!(one.sum.wrapping_add(other.sum), all.iter().sum::<u64>());
}

#[test]
fn a_piece_that_comes_twice_or_late_or_from_nowhere_is_no_message() {
    let refused = |coming: &[Option<(u64, u64, u64)>]| {
        consumed(&mut Object::of(2, coming), &SharedWords::default()).err()
    };
    let piece = |producer, message, piece| Some((producer, message, piece));
    for coming in [
        [piece(0, 7, 0), piece(0, 7, 0)],
        [piece(0, 7, 1), piece(0, 7, 0)],
        [piece(0, 6, 1), piece(0, 7, 0)],
        [piece(2, 7, 0), piece(0, 7, 0)],
    ] {
        assert_eq!(refused(&coming), Some(Fault::Corrupt), "{coming:?}");
    }
    // A message behind the last end mark.
    let late = [None, None, piece(0, 7, 0), piece(0, 7, 1)];
    let words = SharedWords::default();
    assert!(consumed(&mut Object::of(2, &[None, None]), &words).is_ok());
    assert_eq!(consumed(&mut Object::of(2, &late), &words).err(), Some(Fault::Corrupt));
}

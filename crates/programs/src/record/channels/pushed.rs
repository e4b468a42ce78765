//! Messages that an end sends without being asked again, as brokers do to their subscribers. They are no answers.

use super::connection::{Connection, Move};
use crate::profile::{PushedMessages, RecordedSize};
use crate::record::calls::{Act, Call, Does, does};
use std::collections::{HashMap, HashSet};

/// An end pushes if it sends this many messages at the least that were not asked for, and this many for each question.
const FEWEST: u64 = 3;
const FOR_EACH_QUESTION: u64 = 10;

/// Pieces of this size and more are those of a large answer, which a proxy passes on as they come: its buffers have a page at the
/// least.
const PIECE: u64 = 4096;

/// What threads did between two transfers of an end.
#[derive(Debug, Default)]
pub(super) struct ThreadActivity {
    /// How often each thread has waited, or moved data of any object.
    by_thread: HashMap<u32, u64>,
    /// Of each object, the thread of its last transfer, and that number then.
    last: HashMap<u64, (u32, u64)>,
    /// Objects at which the last write came to a stop: what follows is the rest of it.
    held_up: HashSet<u64>,
}

impl ThreadActivity {
    /// Takes a call, in their order; true if it writes after its thread has turned to something else: another object, or a wait
    /// that was not for room at this one.
    pub(super) fn has_turned(&mut self, call: &Call, act: Act) -> bool {
        let done = does(call.number);
        if done == Some(Does::Writes) {
            let is_short = call.result >= 0
                && [libc::SYS_write, libc::SYS_sendto].contains(&call.number)
                && call.result.cast_unsigned() < call.arguments[2];
            if is_short || call.result == -i64::from(libc::EAGAIN) {
                let has_turned = is_short && self.moved(call);
                return self.held_up.insert(call.object) && has_turned;
            }
        }
        match act {
            Act::Read(_) | Act::Wrote(_) => {
                let has_turned = self.moved(call);
                !self.held_up.remove(&call.object) && has_turned && matches!(act, Act::Wrote(_))
            }
            _ => {
                if done == Some(Does::Waits) {
                    *self.by_thread.entry(call.thread).or_default() += 1;
                }
                false
            }
        }
    }

    /// A transfer; whether its thread did something else since the last one of this object.
    fn moved(&mut self, call: &Call) -> bool {
        let count = self.by_thread.entry(call.thread).or_default();
        let before = *count;
        *count += 1;
        let last = self.last.insert(call.object, (call.thread, *count));
        last.is_some_and(|last| last != (call.thread, before))
    }
}

/// Takes the messages that the answering end of a connection pushes out of its transfers, with the size of each.
pub(super) fn taken(connection: &mut Connection) -> Vec<Move> {
    let Some(end) = &mut connection.answerer else { return Vec::new() };
    let is_unasked: Vec<bool> = std::iter::once(false)
        .chain(end.moves.windows(2).map(|two| two[0].is_out && two[1].is_out && two[1].is_unasked))
        .collect();
    let questions = end.moves.windows(2).filter(|two| !two[0].is_out && two[1].is_out).count();
    let mut messages: Vec<Move> = Vec::new();
    let mut kept = Vec::new();
    let mut is_within = false;
    for (one, is_unasked) in end.moves.iter().zip(is_unasked) {
        match (one.is_out, is_unasked) {
            (true, true) => messages.push(*one),
            // The rest of one.
            (true, false) if is_within => {
                if let Some(message) = messages.last_mut() {
                    message.bytes += one.bytes;
                    message.ended = one.ended;
                }
            }
            _ => kept.push(*one),
        }
        is_within = one.is_out && (is_unasked || is_within);
    }
    let count = messages.len() as u64;
    let mut sizes: Vec<u64> = messages.iter().map(|one| one.bytes).collect();
    sizes.sort_unstable();
    let is_small = sizes.get(sizes.len() / 2).is_some_and(|size| *size < PIECE);
    if count < FEWEST.max(FOR_EACH_QUESTION * questions as u64) || !is_small {
        return Vec::new();
    }
    end.moves = kept;
    // The end that reads cannot tell them from answers.
    if let Some(asker) = connection.asker.take() {
        end.needs.extend(asker.needs);
    }
    messages
}

/// What all connections of a channel push.
pub(super) fn pushed(
    messages: &[Move],
    frequent: impl FnOnce(Vec<(u64, u64)>) -> (Vec<RecordedSize>, u64),
) -> Option<PushedMessages> {
    let began = messages.iter().map(|one| one.begun).min()?;
    let ended = messages.iter().map(|one| one.ended).max()?;
    let (sizes, other_sizes) = frequent(messages.iter().map(|one| (0, one.bytes)).collect());
    Some(PushedMessages {
        messages: messages.len() as u64,
        bytes: messages.iter().map(|one| one.bytes).sum(),
        span_ns: ended.saturating_sub(began),
        sizes,
        other_sizes,
    })
}

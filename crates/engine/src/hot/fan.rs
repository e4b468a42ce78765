//! Shared by the loops of a fan: the numbers of their messages, and what a consumer knows of its producers.

use super::account::Account;
use ipcperf_core::MOST_PEERS;
use serde::{Deserialize, Serialize};

/// Most peers.
pub const MOST: usize = MOST_PEERS as usize;

/// A message is numbered by its producer and, in the bits below, by how many that one sent before.
pub(crate) const SHIFT: u32 = 40;
pub(super) const BELOW: u64 = (1 << SHIFT) - 1;

/// Bytes that this number takes, so that a shorter message could not prove where it came from.
pub const LEAST: usize = 8;

/// What one end is to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Plan {
    /// Bytes the port is asked to move per message.
    pub len: usize,
    /// Which producer this is; 0 in a fan-out.
    pub producer: u64,
    /// Number of the first message of each producer.
    pub first: u64,
    /// Messages each producer sends.
    pub count: u64,
    /// Consumers of a fan-out or a broadcast; of a fan-out each needs an end mark. 0 in a fan-in, which ends by count.
    pub marks: u64,
    /// Messages a producer may have under way before it waits for a credit; 0: no credits.
    pub window: u32,
    /// A peer times one call in so many.
    pub every: u64,
    /// Messages between two readings of the clock at a consumer.
    pub batch: u64,
}

/// How messages of several pieces came.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Arrived {
    /// All pieces to one consumer, one after the other.
    pub whole: u64,
    /// All pieces to one consumer, with pieces of other messages between them.
    pub mixed: u64,
}

impl Arrived {
    pub(crate) fn is_none(&self) -> bool {
        *self == Self::default()
    }
}

/// What one end did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tally {
    /// Messages sent, end marks not counted.
    pub sent: u64,
    /// Messages received, end marks not counted.
    pub received: u64,
    /// Messages that never came.
    pub lost: u64,
    /// Sum of the numbers of the received messages, modulo 2^64.
    pub sum: u64,
    /// Their exclusive or.
    pub xor: u64,
    /// Before the first message, ticks.
    pub begin: u64,
    /// After the last one, ticks.
    pub end: u64,
    /// Of a grid, where sent and received count pieces: how its messages came.
    #[serde(default, skip_serializing_if = "Arrived::is_none")]
    pub arrived: Arrived,
}

/// Waits in a row that end in a timeout before the producers are taken to have finished.
const PATIENCE: u32 = 10;

/// What the consumer knows of one producer.
#[derive(Clone, Copy)]
pub(super) struct Seen {
    /// Number of its next message.
    pub(super) next: u64,
    /// Its messages since the last row.
    pub(super) in_row: u64,
    /// Its last credit.
    pub(super) granted: u64,
    /// What it said at the first timeout that it had sent.
    pub(super) sent: u64,
}

/// Nothing has come for a while. Loopback delivers within the call that sends, so what was sent before the last such
/// while and is not here is lost; returns how many these are. Who waits for credits for them gets them.
#[cold]
#[inline(never)]
pub(super) fn miss(seen: &mut [Seen], accounts: &[Account<'_>], silent: u32, end: u64) -> u64 {
    let mut lost = 0;
    for (from, account) in seen.iter_mut().zip(accounts) {
        if silent > 0 {
            let sent = if silent >= PATIENCE { end } else { from.sent.max(from.next) };
            lost += sent - from.next;
            from.next = sent;
            from.granted = sent;
            account.grant(sent);
        }
        from.sent = account.sent(from.next);
    }
    lost
}

#[cfg(test)]
#[path = "tests/fan.rs"]
mod tests;

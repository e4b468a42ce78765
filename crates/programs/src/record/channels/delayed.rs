//! Writes that wait for an acknowledgement of the one before: Nagle's algorithm at one end of a TCP connection holds a small
//! write back until all earlier data is acknowledged, and the other end delays its acknowledgement by 40 ms or more (`tcp(7)`).

use super::connection::{Connection, ConnectionEnd, Move};
use crate::profile::DelayedWrites;
use crate::record::calls::{Call, Kind};
use crate::record::intervals::Intervals;
use crate::record::log::Log;
use std::collections::{HashMap, HashSet};

/// How long an acknowledgement is delayed, with some room, ns: `TCP_DELACK_MIN` is 40 ms, `TCP_DELACK_MAX` 200 ms
/// (`net/tcp.h`).
const DELAY: std::ops::Range<u64> = 36_000_000..260_000_000;

/// Fewer delays than this are taken for chance, and so is a smaller share than this of the writes that follow another write.
const SOME: u64 = 3;
const SHARE: f64 = 0.2;

/// The reader must wait in its calls for this share of the delay: otherwise it was late itself.
const MOSTLY: f64 = 0.8;

/// What the calls of a recording say of TCP connections: when each thread waits in a call, and which sockets have TCP_NODELAY.
pub(in crate::record) struct TcpDelays {
    waits: HashMap<u32, Intervals>,
    without_delay: HashSet<u64>,
}

/// Writes that were held back.
#[derive(Debug, Default)]
struct HeldWrites {
    count: u64,
    time_ns: u64,
    /// Writes that follow another write.
    of: u64,
}

impl TcpDelays {
    /// `None` if no socket of the recording uses TCP.
    pub(in crate::record) fn of(log: &Log) -> Option<Self> {
        let is_tcp = |kind: &Kind| matches!(kind, Kind::Internet(libc::SOCK_STREAM, _));
        if !log.objects.values().any(|object| is_tcp(&object.kind)) {
            return None;
        }
        let mut waits: HashMap<u32, Vec<(u64, u64)>> = HashMap::new();
        let blocks = |call: &&Call| call.awaited() || call.takes();
        for call in log.calls.iter().filter(blocks) {
            waits.entry(call.thread).or_default().push((call.begun, call.ended));
        }
        let waits = waits.into_iter().map(|(thread, all)| (thread, Intervals::of(all))).collect();
        // The last setting counts: runtimes turn the option on, and programs turn it off again.
        let mut without_delay = HashSet::new();
        for call in &log.calls {
            match call.sets_no_delay() {
                Some(true) => without_delay.insert(call.object),
                Some(false) => without_delay.remove(&call.object),
                None => continue,
            };
        }
        Some(Self { waits, without_delay })
    }

    /// Writes of these connections that were held back, if they are too many for chance.
    pub(in crate::record) fn writes(&self, connections: &[Connection]) -> Option<DelayedWrites> {
        let mut held = HeldWrites::default();
        for Connection { asker, answerer } in connections {
            let (Some(a), Some(b)) = (asker, answerer) else { continue };
            for (from, to) in [(a, b), (b, a)] {
                if !from.moves.iter().any(|one| self.without_delay.contains(&one.object)) {
                    self.add(from, to, &mut held);
                }
            }
        }
        let HeldWrites { count, time_ns, of } = held;
        let is_some = count >= SOME && count as f64 >= SHARE * of as f64;
        is_some.then(|| DelayedWrites { writes: count, of, mean_ns: time_ns / count })
    }

    fn add(&self, from: &ConnectionEnd, to: &ConnectionEnd, held: &mut HeldWrites) {
        let mut reads = to.moves.iter().filter(|one| !one.is_out).peekable();
        let (mut written, mut passed) = (0, 0);
        let mut before: Option<&Move> = None;
        for one in &from.moves {
            // Only a write that follows another one can be held back by it.
            let follows = before.replace(one).is_some_and(|before| before.is_out);
            if !one.is_out {
                continue;
            }
            while reads.peek().is_some_and(|read| passed + read.bytes <= written) {
                passed += reads.next().map_or(0, |read| read.bytes);
            }
            written += one.bytes;
            let Some(read) = reads.peek().filter(|_| follows) else { continue };
            held.of += 1;
            let delay = read.ended.saturating_sub(one.ended);
            let waits = self.waits.get(&read.thread);
            let waited = waits.map_or(0, |waits| waits.overlap(one.ended, read.ended));
            if DELAY.contains(&delay) && waited as f64 >= MOSTLY * delay as f64 {
                held.count += 1;
                held.time_ns += delay;
            }
        }
    }
}

//! Messages that wait for an acknowledgement of the one before: Nagle's algorithm at one end of a TCP connection keeps a small
//! write back until all before it is acknowledged, and the other end delays that by 40 ms and more (`tcp(7)`).

use super::examined::{Examined, Said, of, times};
use super::findings;
use super::group::Group;
use super::spans::Intervals;
use crate::record::calls::Call;
use crate::record::channels::{Connection, ConnectionEnd, Move};
use ipcperf_core::units::format_nanos;
use std::collections::{HashMap, HashSet};

/// How long an acknowledgement is delayed, with some room, ns: `TCP_DELACK_MIN` is 40 ms, `TCP_DELACK_MAX` 200 ms
/// (`net/tcp.h`).
const DELAY: std::ops::Range<u64> = 36_000_000..260_000_000;

/// Fewer such delays come by chance, as do those of less than this share of the writes that may have one.
const SOME: usize = 3;
const SHARE: f64 = 0.2;

/// Of this share of the delay the reader waits in its calls.
const MOSTLY: f64 = 0.8;

/// Writes that were kept back, how long that took, and how many might have been.
#[derive(Debug, Default)]
struct Stalls {
    count: usize,
    time: u64,
    of: usize,
}

/// When each thread waits in a call.
type Waits = HashMap<u32, Intervals>;

fn waits(examined: &Examined<'_>) -> Waits {
    let mut waits: HashMap<u32, Vec<(u64, u64)>> = HashMap::new();
    let blocks = |call: &&Call| call.awaited() || call.takes();
    for call in examined.log.calls.iter().filter(blocks) {
        waits.entry(call.thread).or_default().push((call.begun, call.ended));
    }
    waits.into_iter().map(|(thread, all)| (thread, Intervals::of(all))).collect()
}

fn stalls(waits: &Waits, from: &ConnectionEnd, to: &ConnectionEnd, found: &mut Stalls) {
    let mut reads = to.moves.iter().filter(|one| !one.is_out).peekable();
    let (mut written, mut passed) = (0, 0);
    let mut before: Option<&Move> = None;
    for one in &from.moves {
        // Only a write that follows another one can be kept back by it.
        let follows = before.replace(one).is_some_and(|before| before.is_out);
        if !one.is_out {
            continue;
        }
        while reads.peek().is_some_and(|read| passed + read.bytes <= written) {
            passed += reads.next().map_or(0, |read| read.bytes);
        }
        written += one.bytes;
        let Some(read) = reads.peek().filter(|_| follows) else { continue };
        found.of += 1;
        let delay = read.ended.saturating_sub(one.ended);
        let waits = waits.get(&read.thread);
        let waited = waits.map_or(0, |waits| waits.overlap(one.ended, read.ended));
        if DELAY.contains(&delay) && waited as f64 >= MOSTLY * delay as f64 {
            found.count += 1;
            found.time += delay;
        }
    }
}

/// The stalls of a channel. Sockets in `without_delay` have TCP_NODELAY.
fn of_group(without_delay: &HashSet<u64>, waits: &Waits, group: &Group) -> Stalls {
    let mut found = Stalls::default();
    for Connection { asker, answerer } in &group.connections {
        let (Some(a), Some(b)) = (asker, answerer) else { continue };
        for (from, to) in [(a, b), (b, a)] {
            if !from.moves.iter().any(|one| without_delay.contains(&one.object)) {
                stalls(waits, from, to, &mut found);
            }
        }
    }
    found
}

pub(super) fn nagle(examined: &Examined<'_>) -> Said {
    let is_tcp = |group: &&Group| ["tcp", "tcp6"].contains(&group.kind);
    if !examined.groups.iter().any(|group| is_tcp(&group)) {
        return Err("no channel uses TCP");
    }
    let waits = waits(examined);
    // The last word counts: runtimes set it, and programs take it back.
    let mut without_delay = HashSet::new();
    for call in &examined.log.calls {
        match call.sets_no_delay() {
            Some(true) => without_delay.insert(call.object),
            Some(false) => without_delay.remove(&call.object),
            None => continue,
        };
    }
    let said = |group: &Group| {
        let Stalls { count, time, of: all } = of_group(&without_delay, &waits, group);
        let is_some = count >= SOME && count as f64 >= SHARE * all as f64;
        is_some.then(|| {
            let words = format!(
                "{} over {} that follow another write arrive {} late on average",
                times(count, "write"),
                group.kind,
                format_nanos(time as f64 / count as f64),
            );
            of(group, findings::NAGLE.found(&[&words]))
        })
    };
    Ok(examined.groups.iter().filter(is_tcp).filter_map(said).collect())
}

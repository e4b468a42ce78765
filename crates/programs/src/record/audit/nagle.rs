//! Messages that wait for an acknowledgement of the one before: Nagle's algorithm at one end of a TCP connection keeps a small
//! write back until all before it is acknowledged, and the other end delays that by 40 ms and more (`tcp(7)`).

use super::examined::{Examined, Said, of, times};
use super::findings;
use super::group::Group;
use crate::record::calls::Call;
use crate::record::channels::{Connection, ConnectionEnd, Move};
use ipcperf_core::units::format_nanos;
use std::collections::HashMap;

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

/// The calls in which a thread waits, by their begin.
type Waits = HashMap<u32, Vec<(u64, u64)>>;

fn waits(examined: &Examined<'_>) -> Waits {
    let mut waits = Waits::new();
    let blocks = |call: &&Call| call.awaited() || call.takes();
    for call in examined.log.calls.iter().filter(blocks) {
        waits.entry(call.thread).or_default().push((call.begun, call.ended));
    }
    waits.values_mut().for_each(|all| all.sort_unstable());
    waits
}

/// How much of a time a thread waits.
fn waited(waits: &Waits, thread: u32, from: u64, to: u64) -> u64 {
    let all = waits.get(&thread).map_or(&[][..], Vec::as_slice);
    // A thread is in one call at a time.
    let first = all.partition_point(|one| one.1 <= from);
    let within = all[first..].iter().take_while(|one| one.0 < to);
    within.map(|one| one.1.min(to).saturating_sub(one.0.max(from))).sum()
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
        let waits = waited(waits, read.thread, one.ended, read.ended) as f64;
        if DELAY.contains(&delay) && waits >= MOSTLY * delay as f64 {
            found.count += 1;
            found.time += delay;
        }
    }
}

/// Whether an end has asked not to wait.
fn has_no_delay(examined: &Examined<'_>, end: &ConnectionEnd) -> bool {
    let own = |call: &&Call| end.moves.iter().any(|one| one.object == call.object);
    examined.log.calls.iter().filter(|call| call.ends_delay()).any(|call| own(&call))
}

fn of_group(examined: &Examined<'_>, waits: &Waits, group: &Group) -> Stalls {
    let mut found = Stalls::default();
    for Connection { asker, answerer } in &group.connections {
        let (Some(a), Some(b)) = (asker, answerer) else { continue };
        for (from, to) in [(a, b), (b, a)] {
            if !has_no_delay(examined, from) {
                stalls(waits, from, to, &mut found);
            }
        }
    }
    found
}

pub(super) fn nagle(examined: &Examined<'_>) -> Said {
    let is_tcp = |group: &&Group| ["tcp", "tcp6"].contains(&group.kind);
    if !examined.groups.iter().any(|group| is_tcp(&group)) {
        return Err("no channel is one of TCP");
    }
    let waits = waits(examined);
    let said = |group: &Group| {
        let Stalls { count, time, of: all } = of_group(examined, &waits, group);
        let is_some = count >= SOME && count as f64 >= SHARE * all as f64;
        is_some.then(|| {
            let words = format!(
                "{} over {} that follow another one arrive {} late on average",
                times(count, "write"),
                group.kind,
                format_nanos(time as f64 / count as f64),
            );
            of(group, findings::NAGLE.found(&[&words]))
        })
    };
    Ok(examined.groups.iter().filter(is_tcp).filter_map(said).collect())
}

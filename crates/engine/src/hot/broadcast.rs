//! One producer, several consumers, a channel for each or one object for all: every message goes to all of them, in order. A
//! consumer knows how many come, and which is next, unless the object keeps the newest message alone.

use super::fan::{Plan, Tally};
use super::{Recorder, Work};
use ipcperf_core::{Fault, Port};
use ipcperf_sys::clock::Clock;

/// The producer: sends each message over every channel, or once to all, before the next one. Each row it leaves is the ticks since the last
/// row, then the messages in it.
///
/// # Errors
/// The first [`Fault`].
#[inline(never)]
pub fn lead<P: Port, W: Work>(
    ports: &mut [P],
    clock: Clock,
    plan: Plan,
    work: W,
    rows: &mut Recorder<'_>,
) -> Result<Tally, Fault> {
    let mut in_row = 0;
    let begin = clock.start();
    let mut last = begin;
    for number in plan.first..plan.first + plan.count {
        for port in ports.iter_mut() {
            port.send(plan.len, |out| work.fill(out, number))?;
        }
        in_row += 1;
        if in_row == plan.batch {
            let now = clock.stop();
            rows.record(now - last);
            rows.record(in_row);
            (last, in_row) = (now, 0);
        }
    }
    for port in ports.iter_mut() {
        port.flush()?;
    }
    let end = clock.stop();
    rows.record(end - last);
    rows.record(in_row);
    Ok(Tally { sent: plan.count * plan.marks, begin, end, ..Tally::default() })
}

/// A consumer of an object that keeps the newest message alone: it takes what it sees, which is whole and newer than the one
/// before, and counts what it has missed. The last message stays, so it ends like any other. Rows and `calls` are as those
/// of [`follow`].
///
/// # Errors
/// The first [`Fault`] but a timeout; [`Fault::Corrupt`] for what is no message of this passage or one before.
#[inline(never)]
pub fn follow_newest<P: Port, W: Work>(
    port: &mut P,
    clock: Clock,
    plan: Plan,
    work: W,
    rows: &mut Recorder<'_>,
    calls: &mut Recorder<'_>,
) -> Result<Tally, Fault> {
    let mut tally = Tally::default();
    let (mut in_row, mut untimed) = (0, 0);
    tally.begin = clock.start();
    let mut last = tally.begin;
    let (mut next, end) = (plan.first, plan.first + plan.count);
    while next < end {
        let is_timed = untimed == 0;
        let since = if is_timed { clock.start() } else { 0 };
        let taken = port.recv(plan.len, |message| {
            let number = work.sequence(message, next).ok_or(Fault::Corrupt)?;
            work.check(message, number).map(|()| number)
        });
        let number = match taken {
            Ok(number) if (next..end).contains(&number) => number,
            // The last one of the passage before.
            Ok(number) if number < plan.first => continue,
            Ok(_) => return Err(Fault::Corrupt),
            // The producer does not have its CPU.
            Err(Fault::Timeout) => continue,
            Err(fault) => return Err(fault),
        };
        if is_timed {
            calls.record(clock.stop().saturating_sub(since));
            untimed = plan.every;
        }
        untimed -= 1;
        tally.received += 1;
        tally.lost += number - next;
        tally.sum = tally.sum.wrapping_add(number);
        tally.xor ^= number;
        next = number + 1;
        in_row += 1;
        if in_row == plan.batch {
            let now = clock.stop();
            rows.record(now - last);
            rows.record(in_row);
            (last, in_row) = (now, 0);
        }
    }
    tally.end = clock.stop();
    rows.record(tally.end - last);
    rows.record(in_row);
    Ok(tally)
}

/// A consumer. Its rows are as those of the producer; how long a receive took, waiting for a message included, goes to
/// `calls`.
///
/// # Errors
/// The first [`Fault`]; [`Fault::Corrupt`] for a message that is not the next one.
#[inline(never)]
pub fn follow<P: Port, W: Work>(
    port: &mut P,
    clock: Clock,
    plan: Plan,
    work: W,
    rows: &mut Recorder<'_>,
    calls: &mut Recorder<'_>,
) -> Result<Tally, Fault> {
    let mut tally = Tally::default();
    let (mut in_row, mut untimed) = (0, 0);
    tally.begin = clock.start();
    let mut last = tally.begin;
    for number in plan.first..plan.first + plan.count {
        let is_timed = untimed == 0;
        let since = if is_timed { clock.start() } else { 0 };
        port.recv(plan.len, |message| work.check(message, number))?;
        if is_timed {
            calls.record(clock.stop().saturating_sub(since));
            untimed = plan.every;
        }
        untimed -= 1;
        tally.received += 1;
        tally.sum = tally.sum.wrapping_add(number);
        tally.xor ^= number;
        in_row += 1;
        if in_row == plan.batch {
            let now = clock.stop();
            rows.record(now - last);
            rows.record(in_row);
            (last, in_row) = (now, 0);
        }
    }
    tally.end = clock.stop();
    rows.record(tally.end - last);
    rows.record(in_row);
    Ok(tally)
}

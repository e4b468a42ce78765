//! One producer, several consumers, a channel for each or one object for all: every message goes to all of them, in order. A consumer knows how
//! many come, and which is next.

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

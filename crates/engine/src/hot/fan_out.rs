//! One producer, several consumers, one object: each message goes to exactly one of them. A consumer cannot know how
//! many it will get, so after the last message the producer sends an end mark for each, and each leaves after one.

use super::fan::{Plan, SHIFT, Tally};
use super::{Recorder, Work};
use ipcperf_core::{Fault, Port};
use ipcperf_sys::clock::Clock;

/// Stands where the number of a second producer would.
const MARK: u64 = 1 << SHIFT;

/// The producer. Its end is before the marks.
///
/// # Errors
/// The first [`Fault`].
#[inline(never)]
pub fn lead<P: Port, W: Work>(
    port: &mut P,
    clock: Clock,
    plan: Plan,
    work: W,
) -> Result<Tally, Fault> {
    let begin = clock.start();
    for number in plan.first..plan.first + plan.count {
        port.send(plan.len, |out| work.fill(out, number))?;
    }
    port.flush()?;
    let end = clock.stop();
    for mark in 0..plan.marks {
        port.send(plan.len, |out| work.fill(out, MARK | mark))?;
    }
    port.flush()?;
    Ok(Tally { sent: plan.count, begin, end, ..Tally::default() })
}

/// A consumer. Each row it leaves is the ticks since the last row, then its messages in it; how long a receive took,
/// waiting for a message included, goes to `calls`.
///
/// # Errors
/// The first [`Fault`]; [`Fault::Corrupt`] for a message that is not newer than the last one.
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
    let (mut next, mut in_row, mut untimed) = (plan.first, 0, 0);
    tally.begin = clock.start();
    let mut last = tally.begin;
    loop {
        let is_timed = untimed == 0;
        let since = if is_timed { clock.start() } else { 0 };
        let number = port.recv(plan.len, |message| {
            let number = work.sequence(message, next).ok_or(Fault::Corrupt)?;
            work.check(message, number).map(|()| number)
        })?;
        if number >= MARK {
            break;
        }
        if is_timed {
            // A consumer that gets many times its share has more to time than there is room for.
            if calls.len() < calls.capacity() {
                calls.record(clock.stop().saturating_sub(since));
            }
            untimed = plan.every;
        }
        untimed -= 1;
        if number < next {
            return Err(Fault::Corrupt);
        }
        next = number + 1;
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

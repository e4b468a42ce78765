//! One producer on a schedule and several consumers, a channel for each or one object for all: every message goes to all of
//! them and none is answered. What a message took is known afterwards, from three things: when it was due, when it was sent,
//! and when each consumer had read it.

use super::account::Account;
use super::fan::{Plan, Tally};
use super::{Pace, Recorder, Work};
use ipcperf_core::{Fault, Port};
use ipcperf_sys::clock::Clock;

/// The producer: sends each message over every channel, or once to all, when it is due, and at once where it is late. Messages
/// count as due from `begin` of its tally on, which is a pause after all have come, so that consumers wait by then. To `sent`
/// goes how long after the message before each one was sent.
///
/// # Errors
/// The first [`Fault`].
#[inline(never)]
pub fn lead<P: Port, W: Work>(
    ports: &mut [P],
    clock: Clock,
    plan: Plan,
    pace: Pace<'_>,
    work: W,
    account: Option<&Account<'_>>,
    sent: &mut Recorder<'_>,
) -> Result<Tally, Fault> {
    let begin = clock.start() + pace.pause;
    let (mut due, mut last) = (pace.due.iter(), begin);
    for number in plan.first..plan.first + plan.count {
        // What has no time is due at once: it verifies.
        if let Some(after) = due.next() {
            pace.wait(clock, begin + after);
        }
        for port in ports.iter_mut() {
            port.send(plan.len, |out| work.fill(out, number))?;
            port.flush()?;
        }
        let now = clock.stop();
        sent.record(now.saturating_sub(last));
        last = last.max(now);
    }
    if let Some(account) = account {
        account.close(plan.first + plan.count);
    }
    Ok(Tally { sent: plan.count * plan.marks, begin, end: last, ..Tally::default() })
}

/// A consumer: reads what comes, in order. To `read` goes how long after the one before it had read each message; the first
/// counts from `begin` of its tally. Where messages may be lost (`loses`) those that never came are left out there, and it
/// stops to wait when nothing more has come since the producer said that it was done.
///
/// # Errors
/// The first [`Fault`] but a timeout; [`Fault::Corrupt`] for a message that is not the next one, or where some may be lost
/// none of those that may come.
#[inline(never)]
pub fn follow<P: Port, W: Work>(
    port: &mut P,
    clock: Clock,
    plan: Plan,
    loses: bool,
    work: W,
    account: Option<&Account<'_>>,
    read: &mut Recorder<'_>,
) -> Result<Tally, Fault> {
    let mut tally = Tally { begin: clock.start(), ..Tally::default() };
    let mut last = tally.begin;
    let (mut next, end) = (plan.first, plan.first + plan.count);
    // What the producer had sent when a wait last ended without a message.
    let mut was_sent = plan.first;
    while next < end {
        let taken = port.recv(plan.len, |message| {
            let number = work.sequence(message, next).ok_or(Fault::Corrupt)?;
            work.check(message, number).map(|()| number)
        });
        let number = match taken {
            Ok(number) if number == next => number,
            Ok(number) if loses && (next..end).contains(&number) => number,
            // The last ones of the passage before.
            Ok(number) if loses && number < plan.first => continue,
            Ok(_) => return Err(Fault::Corrupt),
            Err(Fault::Timeout) if loses => {
                if was_sent >= end {
                    break;
                }
                was_sent = account.map_or(was_sent, |account| account.sent(next));
                continue;
            }
            Err(fault) => return Err(fault),
        };
        let now = clock.stop();
        for _ in next..number {
            read.lose();
        }
        read.record(now - last);
        last = now;
        tally.received += 1;
        tally.lost += number - next;
        tally.sum = tally.sum.wrapping_add(number);
        tally.xor ^= number;
        next = number + 1;
    }
    for _ in next..end {
        read.lose();
    }
    tally.lost += end - next;
    tally.end = last;
    Ok(tally)
}

#[cfg(test)]
#[path = "tests/feed.rs"]
mod tests;

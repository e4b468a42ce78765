//! Several producers, one consumer, one object. The consumer checks that the messages of each producer are complete
//! and in order, and notes from time to time how many of each have come.

use super::account::Account;
use super::credit::grant_every;
use super::fan::{BELOW, MOST, Plan, SHIFT, Seen, Tally, miss};
use super::{Recorder, Work};
use ipcperf_core::{Fault, Port};
use ipcperf_sys::clock::Clock;

/// A producer; how long a send took, waiting for room or for a credit included, goes to `calls`.
///
/// # Errors
/// The first [`Fault`].
#[inline(never)]
pub fn lead<P: Port, W: Work>(
    port: &mut P,
    clock: Clock,
    plan: Plan,
    work: W,
    account: Account<'_>,
    calls: &mut Recorder<'_>,
) -> Result<Tally, Fault> {
    let producer = plan.producer << SHIFT;
    let end_of_all = plan.first + plan.count;
    let mut untimed = 0;
    let begin = clock.start();
    for number in plan.first..end_of_all {
        let is_timed = untimed == 0;
        let since = if is_timed { clock.start() } else { 0 };
        account.admit(number, plan.window);
        port.send(plan.len, |out| work.fill(out, producer | number))?;
        if is_timed {
            calls.record(clock.stop().saturating_sub(since));
            untimed = plan.every;
        }
        untimed -= 1;
    }
    port.flush()?;
    let end = clock.stop();
    account.close(end_of_all);
    Ok(Tally { sent: plan.count, begin, end, ..Tally::default() })
}

/// The consumer. Each row it leaves is the ticks since the last row, then the messages of each producer in it.
///
/// # Errors
/// The first [`Fault`]; [`Fault::Corrupt`] for a message that is not the next one of its producer.
#[inline(never)]
pub fn follow<P: Port, W: Work>(
    port: &mut P,
    clock: Clock,
    plan: Plan,
    work: W,
    accounts: &[Account<'_>],
    rows: &mut Recorder<'_>,
) -> Result<Tally, Fault> {
    let fresh = Seen { next: plan.first, in_row: 0, granted: plan.first, sent: plan.first };
    let mut all = [fresh; MOST];
    let seen = all.get_mut(..accounts.len()).ok_or(Fault::TooLong)?;
    let expected = plan.count * seen.len() as u64;
    let grant_every = grant_every(plan.window.into());
    let (mut received, mut lost, mut in_row, mut silent) = (0, 0, 0, 0);
    let begin = clock.start();
    let mut last = begin;
    while received + lost < expected {
        let got = port.recv(plan.len, |message| {
            let number = work.sequence(message, 0).ok_or(Fault::Corrupt)?;
            work.check(message, number).map(|()| number)
        });
        match got {
            Ok(number) => {
                let producer = (number >> SHIFT) as usize;
                let from = seen.get_mut(producer).ok_or(Fault::Corrupt)?;
                if P::LOSSY && number & BELOW < plan.first {
                    // Late: of a phase before this one, which counts it as lost.
                    continue;
                }
                let skipped = (number & BELOW).checked_sub(from.next).ok_or(Fault::Corrupt)?;
                if skipped != 0 && !P::LOSSY {
                    return Err(Fault::Corrupt);
                }
                lost += skipped;
                from.next += skipped + 1;
                from.in_row += 1;
                if plan.window != 0 && from.next - from.granted >= grant_every {
                    from.granted = from.next;
                    if let Some(account) = accounts.get(producer) {
                        account.grant(from.next);
                    }
                }
                received += 1;
                in_row += 1;
                silent = 0;
            }
            Err(Fault::Timeout) if P::LOSSY => {
                lost += miss(seen, accounts, silent, plan.first + plan.count);
                silent += 1;
            }
            Err(fault) => return Err(fault),
        }
        if in_row == plan.batch {
            let now = clock.stop();
            note(seen, now - last, rows);
            (last, in_row) = (now, 0);
        }
    }
    let end = clock.stop();
    note(seen, end - last, rows);
    for (from, account) in seen.iter().zip(accounts) {
        account.grant(from.next);
    }
    // The count alone could be that of one producer too many and of another too few.
    let complete = seen.iter().all(|from| from.next == plan.first + plan.count);
    if !complete {
        return Err(Fault::Corrupt);
    }
    Ok(Tally { received, lost, begin, end, ..Tally::default() })
}

#[inline(always)]
fn note(seen: &mut [Seen], ticks: u64, rows: &mut Recorder<'_>) {
    rows.record(ticks);
    for from in seen {
        rows.record(from.in_row);
        from.in_row = 0;
    }
}

//! The patterns over mechanisms that may lose messages: count the losses, go on, and never wait for ever. On loopback
//! almost nothing is lost, so this is the cold half of each pattern.

use super::credit::grant_every;
use super::{Plan, Recorder, Tally, Work};
use ipcperf_core::{Fault, Port};
use ipcperf_sys::clock::Clock;
use std::sync::atomic::Ordering::{Acquire, Release};

/// Waits in a row that end in a timeout before the peer is taken to have finished.
pub(super) const PATIENCE: u32 = 10;

/// The lead of a closed loop got `fault` instead of the reply to `seq`: drops replies to older messages, waits for the
/// right one, and says how many messages are lost (0 or 1).
#[cold]
#[inline(never)]
pub(super) fn await_reply<P: Port, W: Work>(
    port: &mut P,
    len: usize,
    back: W,
    seq: u64,
    mut fault: Fault,
) -> Result<u64, Fault> {
    loop {
        match fault {
            Fault::Timeout => return Ok(1),
            Fault::Corrupt => {}
            other => return Err(other),
        }
        let seen = port.recv(len, |message| back.sequence(message, seq).ok_or(Fault::Corrupt));
        match seen {
            Ok(seen) if seen == seq => return Ok(0),
            // A late reply to a message already counted as lost.
            Ok(seen) if seen < seq => fault = Fault::Corrupt,
            Ok(_) => return Err(Fault::Corrupt),
            Err(Fault::Timeout) => return Ok(1),
            Err(other) => return Err(other),
        }
    }
}

/// The follow of a closed loop: answers the last message of every burst that comes, until that of the last one has come
/// or nothing comes any more. Silence while nothing is due means nothing.
#[inline(never)]
pub(super) fn answer<P: Port, W: Work>(
    port: &mut P,
    clock: Clock,
    plan: Plan<'_>,
    work: W,
) -> Result<Tally, Fault> {
    let back = work.reversed();
    let begin = clock.start();
    let last = plan.first + plan.operations();
    let (mut next, mut received, mut sent, mut silent) = (plan.first, 0, 0, 0);
    let mut heard = begin;
    while next < last && (silent < PATIENCE || clock.stop() - heard < 2 * plan.pace.longest) {
        match port.recv(plan.len, |message| work.sequence(message, next).ok_or(Fault::Corrupt)) {
            Ok(seen) if seen >= next && seen < last => {
                heard = clock.stop();
                next = seen + 1;
                if plan.burst == 1 || (next - plan.first).is_multiple_of(plan.burst) {
                    port.send(plan.answer, |out| back.fill(out, seen))?;
                    sent += 1;
                }
                received += 1;
                silent = 0;
            }
            // Late: of a segment before this one, which counts it as lost.
            Ok(seen) if seen < plan.first => {}
            Ok(_) => return Err(Fault::Corrupt),
            Err(Fault::Timeout) => silent += 1,
            Err(fault) => return Err(fault),
        }
    }
    port.flush()?;
    let end = clock.stop();
    Ok(Tally { sent, received, lost: plan.operations() - received, begin, end })
}

/// The lead of a stream says that everything before `seq` is on its way.
#[cold]
#[inline(never)]
pub(super) fn tell<P: Port>(port: &mut P, plan: Plan<'_>, seq: u64) -> Result<(), Fault> {
    // None of them may be held back for a batch.
    port.flush()?;
    if let Some(sent) = plan.sent {
        sent.store(seq, Release);
    }
    Ok(())
}

/// The lead of a stream waits until the follow says it has seen more than `credited` messages.
#[inline(always)]
pub(super) fn await_credit<P: Port, W: Work>(
    port: &mut P,
    len: usize,
    back: W,
    credited: u64,
) -> Result<u64, Fault> {
    let mut silent = 0;
    loop {
        match port.recv(len, |credit| back.sequence(credit, credited).ok_or(Fault::Corrupt)) {
            // Credits are cumulative, so an old one that arrives late is harmless.
            Ok(seen) => return Ok(seen.max(credited)),
            Err(Fault::Timeout) if P::LOSSY && silent < PATIENCE => silent += 1,
            Err(fault) => return Err(fault),
        }
    }
}

/// The follow of a stream.
#[inline(never)]
pub(super) fn drain<P: Port, W: Work>(
    port: &mut P,
    clock: Clock,
    plan: Plan<'_>,
    work: W,
    recorder: &mut Recorder<'_>,
) -> Result<Tally, Fault> {
    let back = work.reversed();
    let last = plan.first + plan.operations() + 1;
    // What has been given up lies between the first that was not seen and the next that is due.
    let (mut unseen, mut next, mut granted) = (plan.first, plan.first, plan.first);
    // What the lead had sent when a wait last ended in vain.
    let mut sent = plan.first;
    let (mut received, mut silent) = (0, 0);
    let mut begin = clock.stop();
    let (mut previous, mut in_batch) = (begin, 0);
    while next < last && silent < PATIENCE {
        let mut is_due = false;
        match port.recv(plan.len, |message| work.sequence(message, next).ok_or(Fault::Corrupt)) {
            Ok(seen) if seen >= unseen && seen < last => {
                if received == 0 {
                    begin = clock.stop();
                    previous = begin;
                } else {
                    in_batch += 1;
                }
                received += 1;
                silent = 0;
                unseen = seen + 1;
                next = next.max(unseen);
            }
            // Late: of a segment before this one, which counts it as lost.
            Ok(seen) if seen < plan.first => {}
            Ok(_) => return Err(Fault::Corrupt),
            // The lead is held up, or it waits for a credit: then the last one was lost, or all that it has sent since.
            // Loopback delivers within the call that sends, so what was sent before this wait began is lost. Credit for
            // more would let two windows be under way.
            Err(Fault::Timeout) => {
                silent += 1;
                next = next.max(sent);
                sent = plan.sent.map_or(sent, |word| word.load(Acquire).clamp(sent, last));
                is_due = true;
            }
            Err(fault) => return Err(fault),
        }
        if in_batch == plan.batch {
            let now = clock.stop();
            recorder.record(now - previous);
            previous = now;
            in_batch = 0;
        }
        is_due |= next - granted >= grant_every(plan.window);
        if plan.window != 0 && next < last && is_due {
            granted = next;
            port.send(plan.answer, |out| back.fill(out, next))?;
        }
    }
    let total = plan.operations() + 1;
    Ok(Tally { sent: 0, received, lost: total - received, begin, end: previous })
}

#[cfg(test)]
#[path = "tests/lossy.rs"]
mod tests;

//! Whether a channel has room for the messages that will be under way on it.
//!
//! Where each of several messages under way has its answer, both ends may wait for room: the lead to send one more
//! message, the follow to send one more answer, and nobody reads. That cannot be so where one of the two ways keeps all
//! that can be under way. Nobody knows how much a socket or a pipe keeps (the kernel counts its own memory, and a page
//! that was read in part has no room), so it is tried: the end that sends the shorter messages sends twice as many, and
//! the other one reads none of them before all are sent.

use super::end::End;
use crate::hot::{AnyWork, Work};
use crate::job::Failure;
use ipcperf_core::{Missing, Seat, SetupError, Touch};
use ipcperf_sys::pause;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// A sender who makes no progress for so long waits for room.
const STUCK: Duration = Duration::from_secs(1);

/// How often the reader looks, ns.
const LOOK_NS: u64 = 50_000;

/// Tries it; all bytes are compared.
pub(super) fn prove(end: &mut End<'_>) -> Result<(), Failure> {
    let (job, page) = (end.job, end.page);
    let total = 2 * job.trial;
    if total == 0 {
        return Ok(());
    }
    let answer = job.key.load.answer(job.key.pattern, job.len);
    let work = AnyWork::touching(Touch::Full, job.shape.nonce);
    let (sender, len, work) = if answer < job.len {
        (Seat::Follow, answer, work.reversed())
    } else {
        (Seat::Lead, job.len, work)
    };
    let sent = page.reading();
    let messages = end.next..end.next + total;
    end.next += total;
    sent.store(0, Ordering::Relaxed);
    page.gate().meet();
    if job.seat == sender {
        for (count, seq) in (1..).zip(messages) {
            end.runner.port().send(len, &mut |out| work.fill(out, seq))?;
            end.runner.port().flush()?;
            sent.store(count, Ordering::Release);
        }
        return Ok(());
    }
    // Making room in memory takes time, too.
    let patience = STUCK + Duration::from_secs_f64(len as f64 / 50e6);
    let (mut seen, mut since) = (0, Instant::now());
    while seen < total {
        let now = sent.load(Ordering::Acquire);
        if now > seen {
            (seen, since) = (now, Instant::now());
        } else if since.elapsed() > patience {
            return Err(SetupError::from(too_few(end, seen, len)).into());
        } else {
            pause::sleep_ns(LOOK_NS);
        }
    }
    for seq in messages {
        end.runner.port().recv(len, &mut |message| work.check(message, seq))?;
    }
    Ok(())
}

fn too_few(end: &End<'_>, kept: u64, len: usize) -> Missing {
    let asked = end.job.key.load.under_way();
    let (key, count) = asked.map_or(("window", end.job.window), |(key, count)| (key.name(), count));
    let largest = (kept / 2).max(1);
    Missing::new(
        format!(
            "with --{key} {count} both ends could wait for room: unread, the channel keeps {kept} x {len} bytes"
        ),
        format!("--{key} {largest}, or knobs that give it more room"),
    )
}

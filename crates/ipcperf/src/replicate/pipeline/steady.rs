//! The way alone: a writer, a reader, and nobody between. Timed by the reader, from a tenth of the bytes on.

use super::super::work::Turn;
use super::plan::{Plan, Run};
use super::relay::{self, Duty, SINK, SOURCE, Seen, again, complete, failed, share};
use super::way::{self, Arranged};
use ipcperf_engine::task::{TaskError, WorkerContext};
use ipcperf_sys::clock::monotonic_ns;
use ipcperf_sys::io::pipe::End;
use ipcperf_sys::io::stream;
use ipcperf_sys::procfs::consumption;
use std::hint::black_box;
use std::os::fd::{AsFd, BorrowedFd};

/// Measures the steady part of one run; and how many bytes that is.
pub(super) fn measure(plan: &Plan, turn: &Turn<'_>) -> Result<(Run, u64), TaskError> {
    let mut arranged = Arranged::make(plan, turn)?;
    let mut ends = relay::start(plan, turn, false, &arranged, || {})?;
    arranged.let_go();
    let () = ends.ready(SOURCE)?;
    let () = ends.ready(SINK)?;
    ends.go(SINK, &())?;
    ends.go(SOURCE, &())?;
    let sent: Seen = ends.done(SOURCE)?;
    let received: Seen = ends.done(SINK)?;
    complete(plan, "the writer sent", sent.bytes)?;
    complete(plan, "the reader got", received.bytes)?;
    if received.steady_bytes == 0 || received.steady_ns == 0 {
        return Err(TaskError::Failed(format!("{} bytes have no steady part", plan.bytes)));
    }
    let run = Run {
        wall_ns: received.steady_ns,
        user_ns: sent.user_ns + received.user_ns,
        system_ns: sent.system_ns + received.system_ns,
        races_lost: 0,
        port: 0,
    };
    Ok((run, received.steady_bytes))
}

pub(super) fn serve(
    duty: &Duty,
    end: End,
    context: &mut WorkerContext<'_>,
) -> Result<Seen, String> {
    let way = way::open(&duty.way, end, context)?;
    let mut buffer = vec![0; duty.block];
    // Zeros that were never written are one page of the kernel, over and over.
    black_box(&mut buffer).fill(0);
    context.ready(&())?;
    let before = consumption();
    let seen = match end {
        End::Write => send(way.as_fd(), &mut buffer, duty.bytes)?,
        End::Read => receive(way.as_fd(), &mut buffer, duty.bytes)?,
    };
    Ok(seen.used(before))
}

fn send(to: BorrowedFd<'_>, buffer: &mut [u8], bytes: u64) -> Result<Seen, String> {
    let mut sent = 0;
    while sent < bytes {
        let block = share(buffer, bytes - sent);
        relay::write_all(to, block)?;
        sent += block.len() as u64;
    }
    Ok(Seen { bytes: sent, ..Seen::default() })
}

/// Takes all there is; more than expected is noticed, not cut off.
fn receive(from: BorrowedFd<'_>, buffer: &mut [u8], expected: u64) -> Result<Seen, String> {
    let mut seen = Seen::default();
    let (mut marked, mut marked_ns) = (0, 0);
    loop {
        let got = again(|| stream::read(from, buffer)).map_err(|code| failed("read", code))?;
        if got == 0 {
            break;
        }
        seen.bytes += got as u64;
        if marked_ns == 0 && seen.bytes >= expected / 10 {
            (marked, marked_ns) = (seen.bytes, monotonic_ns());
        }
        // Before the end of the stream is seen, which takes the writer's end as well.
        if seen.bytes == expected {
            seen.steady_ns = monotonic_ns().saturating_sub(marked_ns);
            seen.steady_bytes = seen.bytes - marked;
        }
    }
    Ok(seen)
}

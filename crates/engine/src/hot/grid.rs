//! Several producers, several consumers, one object: each message goes to exactly one of the consumers. A message may be cut
//! into pieces that the object keeps whole, each with a stamp of its own; consumers note which messages came whole.

use super::fan::{BELOW, Plan, SHIFT, Tally};
use super::{Recorder, Work};
use ipcperf_core::{Fault, Load, Port};
use ipcperf_sys::clock::Clock;
use std::num::NonZeroU64;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::SeqCst;

/// Bytes of a piece: what a pipe keeps whole (`PIPE_BUF`, `pipe(7)`), and no more than a page of any machine.
pub(crate) const PIECE: usize = 4096;

/// Most producers.
const MOST: usize = Load::MOST_OF_GRID as usize;

/// Stands where the number of one more producer would.
const MARK: u64 = (MOST as u64) << SHIFT;

/// What one end of a grid is to do beyond the plan of a fan.
#[derive(Clone, Copy, Debug)]
pub(crate) struct GridPlan {
    pub(crate) producers: u64,
    /// Pieces of a message; one message is one piece where the object keeps messages whole.
    pub(crate) pieces: NonZeroU64,
}

/// What the ends of a grid share beside the mechanism. All words are zero before a phase.
#[derive(Clone, Copy, Debug)]
pub(crate) struct GridWords<'a> {
    /// Producers that have sent everything.
    pub(crate) finished: &'a AtomicU64,
    /// Messages and marks that consumers who have left have taken.
    pub(crate) taken: &'a AtomicU64,
    /// Consumers that have left.
    pub(crate) left: &'a AtomicU64,
}

/// A producer; how long a send took, waiting for room included, goes to `calls`. The last one that finishes sends the end
/// marks: nothing comes behind them.
///
/// # Errors
/// The first [`Fault`].
#[inline(never)]
pub(crate) fn lead<P: Port, W: Work>(
    port: &mut P,
    clock: Clock,
    (plan, grid): (Plan, GridPlan),
    work: W,
    words: GridWords<'_>,
    calls: &mut Recorder<'_>,
) -> Result<Tally, Fault> {
    let (producer, pieces) = (plan.producer << SHIFT, grid.pieces);
    let mut untimed = 0;
    let begin = clock.start();
    for number in plan.first..plan.first + plan.count {
        let is_timed = untimed == 0;
        let since = if is_timed { clock.start() } else { 0 };
        port.send(plan.len, |out| fill(work, out, pieces, producer | (number * pieces.get())))?;
        if is_timed {
            calls.record(clock.stop().saturating_sub(since));
            untimed = plan.every;
        }
        untimed -= 1;
    }
    port.flush()?;
    let end = clock.stop();
    if words.finished.fetch_add(1, SeqCst) + 1 == grid.producers {
        words.finished.store(0, SeqCst);
        for mark in 0..plan.marks {
            port.send(plan.len, |out| fill(work, out, pieces, MARK | (mark * pieces.get())))?;
        }
        port.flush()?;
    }
    Ok(Tally { sent: plan.count * pieces.get(), begin, end, ..Tally::default() })
}

/// A consumer; it leaves after what has an end mark in it. Each row it leaves is the ticks since the last row, then the pieces
/// of each producer in it.
///
/// # Errors
/// The first [`Fault`]; [`Fault::Corrupt`] for a piece that is not newer than the last one of its producer.
#[inline(never)]
pub(crate) fn follow<P: Port, W: Work>(
    port: &mut P,
    clock: Clock,
    (plan, grid): (Plan, GridPlan),
    work: W,
    words: GridWords<'_>,
    rows: &mut Recorder<'_>,
) -> Result<Tally, Fault> {
    let pieces = grid.pieces;
    let fresh = Producer { next: plan.first * pieces.get(), ..Producer::default() };
    let mut all = [fresh; MOST];
    let producers = all.get_mut(..grid.producers as usize).ok_or(Fault::TooLong)?;
    let mut tally = Tally::default();
    let (mut taken, mut in_row, mut latest) = (0, 0, MOST);
    tally.begin = clock.start();
    let mut last = tally.begin;
    loop {
        let marks = port.recv(plan.len, |message| {
            take(work, message, pieces, producers, &mut latest, &mut tally)
        })?;
        taken += 1;
        in_row += 1;
        if marks > 0 {
            break;
        }
        if in_row >= plan.batch {
            let now = clock.stop();
            note(producers, now - last, rows);
            (last, in_row) = (now, 0);
        }
    }
    tally.end = clock.stop();
    note(producers, tally.end - last, rows);
    if pieces.get() == 1 {
        tally.arrived.whole = tally.received;
    }
    words.taken.fetch_add(taken, SeqCst);
    if words.left.fetch_add(1, SeqCst) + 1 == plan.marks {
        // Marks that completed a message of another consumer were enough for it, so some may be left.
        let expected = plan.count * grid.producers + plan.marks;
        for _ in words.taken.load(SeqCst)..expected {
            port.recv(plan.len, |message| only_marks(work, message, pieces))?;
        }
        words.taken.store(0, SeqCst);
        words.left.store(0, SeqCst);
    }
    Ok(tally)
}

/// What a consumer knows of one producer.
#[derive(Clone, Copy, Default)]
struct Producer {
    /// Its next piece is this one or a later one.
    next: u64,
    /// Its pieces since the last row.
    in_row: u64,
    /// Pieces of its latest message that came here.
    here: u64,
    /// Another piece came between them.
    is_mixed: bool,
}

#[inline(always)]
fn fill<W: Work>(work: W, out: &mut [u8], pieces: NonZeroU64, first: u64) {
    if pieces.get() == 1 {
        return work.fill(out, first);
    }
    for (number, piece) in (first..).zip(out.chunks_exact_mut(PIECE)) {
        work.fill(piece, number);
    }
}

/// Checks what came; how many end marks are in it.
#[inline(always)]
fn take<W: Work>(
    work: W,
    message: &[u8],
    pieces: NonZeroU64,
    producers: &mut [Producer],
    latest: &mut usize,
    tally: &mut Tally,
) -> Result<u64, Fault> {
    if pieces.get() == 1 {
        return take_piece(work, message, pieces, producers, latest, tally);
    }
    let mut marks = 0;
    for piece in message.chunks_exact(PIECE) {
        marks += take_piece(work, piece, pieces, producers, latest, tally)?;
    }
    Ok(marks)
}

/// Checks one piece; 1 for an end mark.
#[inline(always)]
fn take_piece<W: Work>(
    work: W,
    piece: &[u8],
    pieces: NonZeroU64,
    producers: &mut [Producer],
    latest: &mut usize,
    tally: &mut Tally,
) -> Result<u64, Fault> {
    let number = work.sequence(piece, 0).ok_or(Fault::Corrupt)?;
    work.check(piece, number)?;
    if number >= MARK {
        return Ok(1);
    }
    let producer = (number >> SHIFT) as usize;
    let from = producers.get_mut(producer).ok_or(Fault::Corrupt)?;
    let own = number & BELOW;
    if own < from.next {
        return Err(Fault::Corrupt);
    }
    if pieces.get() > 1 {
        let is_next = own == from.next && from.here > 0;
        if !is_next || own % pieces == 0 {
            (from.here, from.is_mixed) = (0, false);
        }
        from.is_mixed |= from.here > 0 && *latest != producer;
        from.here += 1;
        if from.here == pieces.get() {
            let arrived = &mut tally.arrived;
            *(if from.is_mixed { &mut arrived.mixed } else { &mut arrived.whole }) += 1;
        }
        *latest = producer;
    }
    from.next = own + 1;
    from.in_row += 1;
    tally.received += 1;
    tally.sum = tally.sum.wrapping_add(number);
    tally.xor ^= number;
    Ok(0)
}

/// What is left of the end marks.
#[inline(always)]
fn only_marks<W: Work>(work: W, message: &[u8], pieces: NonZeroU64) -> Result<(), Fault> {
    let is_mark = |piece: &[u8]| work.sequence(piece, 0).is_some_and(|number| number >= MARK);
    let all =
        if pieces.get() == 1 { is_mark(message) } else { message.chunks_exact(PIECE).all(is_mark) };
    if all { Ok(()) } else { Err(Fault::Corrupt) }
}

#[inline(always)]
fn note(producers: &mut [Producer], ticks: u64, rows: &mut Recorder<'_>) {
    rows.record(ticks);
    for from in producers {
        rows.record(from.in_row);
        from.in_row = 0;
    }
}

#[cfg(test)]
#[path = "tests/grid.rs"]
mod tests;

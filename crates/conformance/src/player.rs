//! One end at play: the steps of a scenario over an attached port.

use crate::census::{self, Descriptors};
use crate::page::Page;
use crate::payload::{Pattern, Stuff, explain};
use crate::run::{Run, Stop};
use crate::script::{Batch, Scenario, SentFault, Step, StepOutcome, Told, Until};
use ipcperf_core::{Fault, Lends, Port, Seat};
use ipcperf_engine::task::WorkerContext;
use ipcperf_sys::call_times::CallTimes;
use ipcperf_sys::clock::Clock;
use ipcperf_sys::trace::{Mark, mark};
use ipcperf_sys::{procfs, signals};

/// Waits of a lossy mechanism in a row that end in a timeout before its message is called lost: a peer that merely
/// runs late on a busy machine has lost nothing.
const PATIENCE: u32 = 25;

/// How many messages may be missing in a row where gaps are allowed.
const WIDEST_GAP: u64 = 100_000;

/// Plays all steps, or up to the first that is stopped.
pub(crate) fn play<P: Port>(
    port: &mut P,
    seat: Seat,
    word: Option<usize>,
    scenario: &Scenario,
    (context, page): (&mut WorkerContext<'_>, &Page),
) -> Vec<StepOutcome> {
    let nonce = scenario.shape.nonce;
    let credit = word.unwrap_or(scenario.shape.size.min(8));
    let mut player = Player {
        port,
        seat,
        word,
        nonce,
        credit,
        context,
        page,
        moved: [0; 2],
        credits: [0; 2],
        offset: scenario.shape.buffer_offset,
        lent: None,
    };
    let mut all = Vec::new();
    for (index, step) in scenario.steps.iter().enumerate() {
        page.begin(seat, index);
        let seen = player.step(step);
        let stopped = seen.stopped;
        all.push(seen);
        if stopped {
            break;
        }
    }
    all
}

struct Player<'a, 'b, P> {
    port: &'a mut P,
    seat: Seat,
    word: Option<usize>,
    nonce: u64,
    /// Bytes of a credit.
    credit: usize,
    context: &'a mut WorkerContext<'b>,
    page: &'a Page,
    /// Messages from each seat so far.
    moved: [u64; 2],
    /// Credits from each seat so far.
    credits: [u64; 2],
    /// Where a private buffer begins in its page.
    offset: usize,
    /// In what memory messages sent and received were shown, where that is asked: a mapping may be gone when the call is
    /// over.
    lent: Option<[Option<Lends>; 2]>,
}

/// Messages between two credits: half the window.
const fn grant_every(window: u64) -> u64 {
    window.div_ceil(2)
}

impl<P: Port> Player<'_, '_, P> {
    fn step(&mut self, step: &Step) -> StepOutcome {
        match step {
            Step::Send(batch) => self.run(batch, Self::send_all),
            Step::Receive(batch) => self.run(batch, Self::receive_all),
            Step::Exchange(batch) => self.run(batch, Self::exchange_all),
            Step::Finish => match self.port.finish() {
                Ok(()) => StepOutcome::default(),
                Err(fault) => StepOutcome {
                    end: Some(fault.into()),
                    ..StepOutcome::stopped(format!("finish: {fault}"))
                },
            },
            Step::Hold => match self.context.ready(&Told::Holding) {
                Ok(_) => StepOutcome::default(),
                Err(why) => StepOutcome::stopped(why),
            },
            Step::Census => {
                StepOutcome { census: Some(Descriptors::take()), ..StepOutcome::default() }
            }
            Step::Counted { from, batch, warm_up } => {
                let mut run = Run::new(batch);
                let result = self.counted(*from, *warm_up, &mut run);
                self.page.end_turns();
                mark(Mark::Done);
                run.over(result)
            }
            Step::Watched(batch) => {
                mark(Mark::Begin);
                let seen = self.run(batch, Self::exchange_all);
                mark(Mark::End);
                mark(Mark::Done);
                seen
            }
            Step::WatchedMemory(batch) => match CallTimes::watch_memory(Clock::monotonic()) {
                Ok(calls) => {
                    let before = procfs::consumption().minor_faults;
                    calls.record(true);
                    let seen = self.run(batch, Self::exchange_all);
                    calls.record(false);
                    let events = procfs::consumption().minor_faults - before;
                    match calls.finish(seen.count) {
                        Ok((times, _)) => {
                            let counted = times.into_iter().map(|(name, call)| (name, call.times));
                            StepOutcome { events, memory: counted.collect(), ..seen }
                        }
                        Err(error) => StepOutcome::stopped(error),
                    }
                }
                Err(error) => StepOutcome::stopped(error),
            },
            Step::Interruptible => match signals::count_interruptions() {
                Ok(()) => StepOutcome::default(),
                Err(error) => StepOutcome::stopped(error),
            },
            Step::Interruptions => {
                StepOutcome { events: signals::interruptions(), ..StepOutcome::default() }
            }
            Step::Places(batch) => {
                self.lent = Some([None; 2]);
                let seen = self.run(batch, Self::exchange_all);
                StepOutcome { lent: self.lent.take().unwrap_or_default(), ..seen }
            }
            Step::Knobs => {
                StepOutcome { knobs: self.context.effective.clone(), ..StepOutcome::default() }
            }
        }
    }

    fn run(
        &mut self,
        batch: &Batch,
        all: fn(&mut Self, &mut Run<'_>) -> Result<(), Stop>,
    ) -> StepOutcome {
        let mut run = Run::new(batch);
        let result = all(self, &mut run);
        run.over(result)
    }

    fn send_all(&mut self, run: &mut Run<'_>) -> Result<(), Stop> {
        let (window, every) = (run.batch.window, grant_every(run.batch.window));
        let mut granted = 0;
        // No credit is due for the last messages: on the way back it would meet what the peer sends next.
        while let Some(len) = run.next() {
            while window > 0 && run.seen.count - granted >= window {
                self.take_credit()?;
                granted += every;
            }
            if run.batch.prompt {
                self.send_now(len, run)?;
            } else {
                self.send(len, run)?;
            }
        }
        while window > 0 && granted + every < run.seen.count {
            self.take_credit()?;
            granted += every;
        }
        Ok(self.port.flush()?)
    }

    fn receive_all(&mut self, run: &mut Run<'_>) -> Result<(), Stop> {
        let (window, every) = (run.batch.window, grant_every(run.batch.window));
        let first = self.moved[self.seat.other().index()];
        while let Some(len) = run.next() {
            let received = self.receive(len, run);
            if run.batch.gaps && matches!(received, Err(Stop { end: SentFault::Timeout, .. })) {
                break;
            }
            received?;
            if window > 0 && run.seen.count.is_multiple_of(every) && !run.is_complete() {
                match self.give_credit() {
                    // The peer is gone and takes no credit. What it has sent still waits here, and then its end.
                    Err(Stop { end: SentFault::Closed | SentFault::PeerDied, .. }) => {}
                    given => given?,
                }
            }
        }
        if let (true, Until::Count(count)) = (run.batch.gaps, run.batch.until) {
            self.moved[self.seat.other().index()] = first + count;
        }
        Ok(())
    }

    fn exchange_all(&mut self, run: &mut Run<'_>) -> Result<(), Stop> {
        while let Some(len) = run.next() {
            // The length is drawn once, and a round trip counts once.
            let (count, bytes) = (run.seen.count, run.seen.bytes);
            if self.seat == Seat::Lead {
                self.send(len, run)?;
                run.seen.count = count;
                self.receive(len, run)?;
            } else {
                self.receive(len, run)?;
                run.seen.count = count;
                self.send(len, run)?;
            }
            run.seen.bytes = bytes + 2 * len as u64;
        }
        Ok(self.port.flush()?)
    }

    /// The ends take turns by another way than the one under test, so that the end that moves a message need not wait.
    fn counted(&mut self, from: Seat, warm_up: u64, run: &mut Run<'_>) -> Result<(), Stop> {
        let is_sender = self.seat == from;
        let mut turn = u32::from(!is_sender);
        while let Some(len) = run.next() {
            if !self.page.await_turn(turn) {
                let detail = "the other end has stopped".to_owned();
                return Err(Stop { end: SentFault::Other, detail });
            }
            let is_marked = run.seen.count >= warm_up;
            if is_marked {
                mark(Mark::Begin);
            }
            let moved = if is_sender { self.send_now(len, run) } else { self.receive(len, run) };
            if is_marked {
                mark(Mark::End);
            }
            moved?;
            self.page.pass_turn(turn + 1);
            turn += 2;
        }
        if is_sender {
            // The receiver may still be on its way to its last turn, which must not be called off.
            self.page.await_turn(turn);
        }
        Ok(())
    }

    /// A mechanism that fills batches may hold the message back.
    fn send(&mut self, len: usize, run: &mut Run<'_>) -> Result<(), Stop> {
        self.hand_over(len, run)?;
        self.page.moved(self.seat, run.seen.count);
        Ok(())
    }

    /// Nothing is held back for a batch: a message counts as moved when its flush is over, not before.
    fn send_now(&mut self, len: usize, run: &mut Run<'_>) -> Result<(), Stop> {
        self.hand_over(len, run)?;
        self.port.flush()?;
        self.page.moved(self.seat, run.seen.count);
        Ok(())
    }

    fn hand_over(&mut self, len: usize, run: &mut Run<'_>) -> Result<(), Stop> {
        let (seq, at) = (self.moved[self.seat.index()], run.seen.bytes);
        let (nonce, seat, hash) = (self.nonce, self.seat, &mut run.hash);
        let is_stream = matches!(run.batch.until, Until::Bytes(_));
        let (lent, offset) = (&mut self.lent, self.offset);
        self.port.send(self.word.unwrap_or(len), |out| {
            if let Some([sent, _]) = lent {
                note_place(sent, out.as_ptr().addr(), offset);
            }
            if is_stream {
                Pattern::new(nonce, seat, Stuff::Bytes, 0).write(out, at);
                hash.bytes(out);
            } else {
                Pattern::new(nonce, seat, Stuff::Message, seq).write(out, 0);
                hash.message(out);
            }
        })?;
        self.moved[self.seat.index()] += 1;
        run.seen.bytes += len as u64;
        run.seen.count += 1;
        Ok(())
    }

    fn receive(&mut self, len: usize, run: &mut Run<'_>) -> Result<(), Stop> {
        let peer = self.seat.other();
        let (seq, at) = (self.moved[peer.index()], run.seen.bytes);
        let (nonce, hash, gaps) = (self.nonce, &mut run.hash, run.batch.gaps);
        let is_stream = matches!(run.batch.until, Until::Bytes(_));
        let wanted = self.word.unwrap_or(len);
        let mut detail = None;
        let mut silent = 0;
        let found = loop {
            let (lent, offset) = (&mut self.lent, self.offset);
            let found = self.port.recv(wanted, |got| {
                if let Some([_, received]) = lent {
                    note_place(received, got.as_ptr().addr(), offset);
                }
                let checked = if got.len() != wanted {
                    Err(format!("{} bytes were shown in place of {wanted}", got.len()))
                } else if is_stream {
                    hash.bytes(got);
                    let pattern = Pattern::new(nonce, peer, Stuff::Bytes, 0);
                    let wrong = pattern.difference(got, at);
                    wrong.map_or(Ok(seq), |wrong| {
                        Err(format!("the stream is wrong at byte {}", at + wrong as u64))
                    })
                } else {
                    hash.message(got);
                    identify(got, nonce, peer, seq, gaps)
                };
                checked.map_err(|text| {
                    detail = Some(text);
                    Fault::Corrupt
                })
            });
            match found {
                Err(Fault::Timeout) if P::LOSSY && !gaps && silent < PATIENCE => silent += 1,
                found => break found,
            }
        };
        let found = found.map_err(|fault| Stop {
            end: fault.into(),
            detail: detail.unwrap_or_else(|| fault.to_string()),
        })?;
        self.moved[peer.index()] = found + 1;
        run.seen.bytes += len as u64;
        run.seen.count += 1;
        self.page.moved(self.seat, run.seen.count);
        Ok(())
    }

    fn give_credit(&mut self) -> Result<(), Stop> {
        let seq = self.credits[self.seat.index()];
        self.credits[self.seat.index()] += 1;
        let pattern = Pattern::new(self.nonce, self.seat, Stuff::Credit, seq);
        Ok(self.port.send(self.credit, |out| pattern.write(out, 0))?)
    }

    fn take_credit(&mut self) -> Result<(), Stop> {
        let peer = self.seat.other();
        let seq = self.credits[peer.index()];
        self.credits[peer.index()] += 1;
        let pattern = Pattern::new(self.nonce, peer, Stuff::Credit, seq);
        let mut silent = 0;
        loop {
            let taken = self.port.recv(self.credit, |got| {
                if pattern.difference(got, 0).is_none() { Ok(()) } else { Err(Fault::Corrupt) }
            });
            match taken {
                Err(Fault::Timeout) if P::LOSSY && silent < PATIENCE => silent += 1,
                Err(fault) => {
                    let detail = format!("in place of credit {seq}: {fault}");
                    return Err(Stop { end: fault.into(), detail });
                }
                Ok(()) => return Ok(()),
            }
        }
    }
}

/// Notes where a message was shown. A private buffer is one only if all messages were at the same place in their page.
fn note_place(lent: &mut Option<Lends>, address: usize, offset: usize) {
    let found = census::is_shared(address).map(|is_shared| match (is_shared, *lent) {
        (true, _) | (_, Some(Lends::Shared)) => Lends::Shared,
        (false, Some(Lends::Place)) => Lends::Place,
        _ if address % 4096 == offset => Lends::Buffer,
        _ => Lends::Place,
    });
    *lent = found;
}

/// Which message this is: `seq`, or a later one where some may be missing.
fn identify(got: &[u8], nonce: u64, from: Seat, seq: u64, gaps: bool) -> Result<u64, String> {
    let difference =
        |seq, bytes| Pattern::new(nonce, from, Stuff::Message, seq).difference(bytes, 0);
    let Some(wrong) = difference(seq, got) else { return Ok(seq) };
    let start = &got[..got.len().min(8)];
    let is_later = |later: &u64| difference(*later, start).is_none();
    match (seq + 1..seq + WIDEST_GAP).find(is_later).filter(|_| gaps) {
        Some(later) if difference(later, got).is_none() => Ok(later),
        _ => Err(explain(got, nonce, from, seq, wrong)),
    }
}

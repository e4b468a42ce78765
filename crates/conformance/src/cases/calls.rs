//! C18, C21: memory allocated and system calls made while an end moves messages.

use super::refusal::can_filter;
use crate::pair::WorkerPair;
use crate::scene::{Amount, Scene, Trouble, ensure, mirror};
use crate::script::{Batch, Script, Sizes, Step};
use ipcperf_core::{OptionSet, Seat};
use ipcperf_sys::trace::{self, CallTally, Trace};
use std::time::{Duration, Instant};

/// Messages before the first that counts.
const WARM_UP: u64 = 100;
/// Messages that count. Each call of theirs is stopped at twice, so that more of them would take long.
const MESSAGES: Amount = Amount { short: 50, long: 250 };

/// C21: one message at a time, each end needs exactly the system calls it declares. Where their number depends on
/// timing, it makes none that neither moves data nor waits for it.
pub(crate) fn declared_system_calls(scene: &Scene<'_>) -> Result<(), Trouble> {
    let options = OptionSet::default();
    let size = scene.size(64, &options);
    let declared = scene.entry.spec().syscalls;
    let messages = scene.amount(MESSAGES);
    for from in Seat::BOTH {
        let batch = Batch::new(WARM_UP + messages, Sizes::List(vec![size]), 0);
        let script = Script::default().both(Step::Hold).both(Step::Counted {
            from,
            batch,
            warm_up: WARM_UP,
        });
        let tallies = traced(scene, size, script, messages)?;
        for (seat, tally) in Seat::BOTH.into_iter().zip(&tallies) {
            let (side, declared) =
                if seat == from { ("send", declared.send) } else { ("recv", declared.recv) };
            let Some(declared) = declared else {
                let stray = tally.calls.keys().find(|call| trace::transfer(**call).is_none());
                ensure(stray.is_none(), || {
                    let text = describe(tally);
                    format!("{seat:?}, {side}: a call that neither moves data nor waits: {text}")
                })?;
                continue;
            };
            let counted = tally.total() as f64 / messages as f64;
            ensure(tally.total() as f64 == declared * messages as f64, || {
                let text = describe(tally);
                format!(
                    "syscalls.{side}: {declared}, but the {seat:?} made {counted} per message: {text}"
                )
            })?;
        }
    }
    Ok(())
}

/// Round trips before the first that counts: every slot and every buffer has been used by then.
const WARM_TRIPS: u64 = 2000;
/// Round trips that count.
const TRIPS: Amount = Amount { short: 1000, long: 3000 };
/// Page faults that have other causes: the process comes back from a stop, the kernel moves a page.
const FEW: u64 = 16;
/// How often more of them than that are looked for anew: when the kernel writes a file to its disk, each page of a mapping
/// faults once more, and where much else is written it does so in the middle of a run.
const ATTEMPTS: u64 = 3;

/// How often the kernel looks for pages to write to a disk (`vm.dirty_writeback_centisecs`).
const WRITE_BACK: Duration = Duration::from_secs(5);

/// C18: the timed path gets no memory, neither by a system call nor by touching pages for the first time.
pub(crate) fn no_allocation(scene: &Scene<'_>) -> Result<(), Trouble> {
    can_filter()?;
    let mut attempt = 1;
    loop {
        let began = Instant::now();
        let faults = page_faults(scene)?;
        // On a busy machine the round trips of ends that yield take minutes, in which pages are written again and again.
        let most = FEW * (1 + began.elapsed().as_secs() / WRITE_BACK.as_secs());
        let touched = Seat::BOTH.into_iter().zip(faults).find(|(_, faults)| *faults > most);
        match touched {
            None => return Ok(()),
            Some((seat, faults)) if attempt == ATTEMPTS => {
                let trips = scene.amount(TRIPS);
                return Err(Trouble::failed(format!(
                    "{seat:?}: {trips} round trips touched {faults} pages for the first time"
                )));
            }
            Some(_) => attempt += 1,
        }
    }
}

/// Those of each end, which must have called for no memory.
fn page_faults(scene: &Scene<'_>) -> Result<Vec<u64>, Trouble> {
    let options = OptionSet::default();
    let size = scene.size(64, &options);
    let trips = scene.amount(TRIPS);
    let batch = |count| Batch::new(count, Sizes::List(vec![size]), 0);
    let script =
        Script::default().exchange(batch(WARM_TRIPS)).both(Step::WatchedMemory(batch(trips)));
    let seen = scene.play(&options, size, script)?;
    mirror(&seen)?;
    let mut faults = Vec::new();
    for (seat, seen) in Seat::BOTH.into_iter().zip(&seen) {
        let Some(seen) = seen.last() else { continue };
        ensure(seen.memory.is_empty(), || {
            format!("{seat:?}: {trips} round trips called for memory: {:?}", seen.memory)
        })?;
        faults.push(seen.events);
    }
    Ok(faults)
}

fn traced(
    scene: &Scene<'_>,
    size: usize,
    script: Script,
    spans: u64,
) -> Result<Vec<CallTally>, Trouble> {
    let mut pair = scene.pair(&OptionSet::default())?;
    let tallies = follow(scene, &mut pair, size, script, (spans, None))?;
    mirror(&pair.done()?)?;
    Ok(tallies)
}

/// Messages whose transfers are shortened, and their largest.
const SHORTENED: Amount = Amount { short: 100, long: 300 };
const LARGEST: usize = 9000;

/// C06: a kernel may move less of a stream than it is asked to, whenever it likes. An end goes on where it stopped.
pub(crate) fn short_transfers(scene: &Scene<'_>) -> Result<(), Trouble> {
    if !Trace::CAN_FAIL {
        let text = "calls cannot be shortened on this architecture; x86-64 can";
        return Err(Trouble::Unavailable(text.into()));
    }
    let batch = Batch::new(scene.amount(SHORTENED), scene.sizes(1, LARGEST), 0);
    let script = Script::default().both(Step::Hold).both(Step::Watched(batch));
    let mut pair = scene.pair(&OptionSet::default())?;
    let seed = Some(scene.draw());
    let tallies = follow(scene, &mut pair, LARGEST, script, (1, seed))?;
    mirror(&pair.done()?)?;
    if tallies.iter().all(|tally| tally.shortened == 0) {
        // What the kernel takes from a ring, or as a list of messages, has its length in memory.
        let text = "no call carries the length of a transfer";
        return Err(Trouble::NotApplicable(text.into()));
    }
    Ok(())
}

/// Plays a script whose ends hold and then set marks, and counts between those so many spans. With a seed, transfers
/// are shortened.
fn follow(
    scene: &Scene<'_>,
    pair: &mut WorkerPair<'_>,
    size: usize,
    script: Script,
    (spans, seed): (u64, Option<u64>),
) -> Result<Vec<CallTally>, Trouble> {
    pair.open(size, script)?;
    pair.attached()?;
    let trace = pair.trace()?;
    let trace = match seed {
        Some(seed) => trace.shortening(seed),
        None => trace,
    };
    pair.go_both()?;
    let counted = trace.count(scene.deadline);
    let Ok(tallies) = counted else {
        return Err(pair.trouble("the ends to be done while their system calls are counted"));
    };
    // What went wrong is the better reason why marks are missing.
    pair.done()?;
    ensure(tallies.iter().all(|tally| tally.spans == spans), || {
        format!("the suite itself: {tallies:?}, where {spans} spans were marked")
    })?;
    Ok(tallies)
}

fn describe(tally: &CallTally) -> String {
    let calls: Vec<_> = tally
        .calls
        .iter()
        .map(|(number, count)| format!("{} {count} times", trace::name(*number)))
        .collect();
    if calls.is_empty() { "none".into() } else { calls.join(", ") }
}

//! C02, C03, C04, C06: messages arrive whole, once and in order, whatever their size.

use super::LARGEST;
use crate::pair::WorkerPair;
use crate::scene::{Amount, Scene, Trouble, mirror};
use crate::script::{Batch, Script, Sizes, Step};
use ipcperf_core::{OptionSet, Payload, Seat};
use ipcperf_sys::io::pipe::splice;

/// Bytes a pipe takes as one piece (`pipe(7)`).
const PIPE_BUF: usize = 4096;

/// C02: sizes around every boundary known to matter. A channel made for the largest carries all of them; the
/// smallest, one page and the largest also get channels of their own, since mechanisms lay out memory by the size.
pub(crate) fn sizes(scene: &Scene<'_>) -> Result<(), Trouble> {
    let options = OptionSet::default();
    let largest = scene.size(LARGEST, &options);
    let page = splice::page();
    let mut all = vec![1, 7, 8, 63, 64, 65, 64 << 10, largest];
    for boundary in [PIPE_BUF, page] {
        all.extend([boundary - 1, boundary, boundary + 1]);
    }
    let below = |largest: usize| scene.between(1, largest.max(1) as u64) as usize;
    all.extend(
        (0..14).map(|index| below(if index < 12 { largest.min(64 << 10) } else { largest })),
    );
    all.retain(|size| *size <= largest);
    let mut pair = scene.pair(&options)?;
    exchange(&mut pair, largest, all)?;
    for size in [1, PIPE_BUF.min(largest), largest] {
        exchange(&mut pair, size, vec![size])?;
    }
    if matches!(scene.entry.spec().payload, Payload::Message { .. }) {
        match exchange(&mut pair, 0, vec![0]) {
            // A mechanism that has no empty messages says so before one is lost.
            Err(Trouble::Unavailable(_)) => {}
            other => other?,
        }
    }
    Ok(())
}

/// Three round trips of each size.
fn exchange(pair: &mut WorkerPair<'_>, largest: usize, sizes: Vec<usize>) -> Result<(), Trouble> {
    let (count, text) = (3 * sizes.len() as u64, format!("channel for {largest} bytes"));
    let script = Script::default().exchange(Batch::new(count, Sizes::List(sizes), 0));
    pair.open(largest, script)?;
    let seen = pair.done().map_err(|trouble| match trouble {
        Trouble::Failed(reason) => Trouble::Failed(format!("{text}: {reason}")),
        other => other,
    })?;
    mirror(&seen)
}

/// Numbered messages of the lead; the follow sends a tenth of them.
const NUMBERED: Amount = Amount { short: 10_000, long: 100_000 };

/// C03: numbered messages in each direction; a tenth as many calls, because a call goes in both directions.
pub(crate) fn ordering(scene: &Scene<'_>) -> Result<(), Trouble> {
    let options = OptionSet::default();
    let size = scene.size(8, &options);
    let batch = |count| scene.batch(count, Sizes::List(vec![size]), size);
    let count = scene.amount(NUMBERED) / if scene.calls() { 10 } else { 1 };
    let script = scene.flow(Script::default(), Seat::Lead, batch(count));
    let script = scene.flow(script, Seat::Follow, batch(count / 10));
    let mut pair = WorkerPair::start(scene, &options, scene.near_cpus()?, &[], None)?;
    pair.open(size, script)?;
    mirror(&pair.done()?)
}

/// Messages of random sizes from each end.
const RANDOM: Amount = Amount { short: 1500, long: 5000 };

/// C04: counts and fingerprints of both ends agree over messages of random sizes.
pub(crate) fn no_loss(scene: &Scene<'_>) -> Result<(), Trouble> {
    let options = OptionSet::default();
    let largest = scene.size(4096, &options);
    let batch = || scene.batch(scene.amount(RANDOM), scene.sizes(largest.min(1), largest), largest);
    let script = scene.flow(Script::default(), Seat::Lead, batch());
    let script = scene.flow(script, Seat::Follow, batch());
    let mut pair = WorkerPair::start(scene, &options, scene.near_cpus()?, &[], None)?;
    pair.open(largest, script)?;
    mirror(&pair.done()?)
}

/// The smallest send buffer Linux grants a socket on 64-bit machines (`SOCK_MIN_SNDBUF`), larger than any other
/// smallest buffer here.
const SMALLEST_BUFFER: usize = 4608;

/// C06: every numeric knob at its minimum, and messages 16 times as large as the smallest buffer.
pub(crate) fn smallest_buffers(scene: &Scene<'_>) -> Result<(), Trouble> {
    let options = scene.entry.smallest().unwrap_or_default();
    let largest = scene.size(16 * SMALLEST_BUFFER, &options);
    let window = scene.entry.window(largest, &options);
    let batch = |count| {
        let sizes = scene.sizes(largest.div_ceil(2), largest);
        Batch::new(count, sizes, window)
    };
    let script = Script::default().exchange(batch(4));
    let script = scene.flow(script, Seat::Lead, batch(8));
    let script = scene.flow(script, Seat::Follow, batch(8));
    mirror(&scene.play(&options, largest, script)?)
}

/// C25: memory that was sent belongs to the sender again. It is unmapped as soon as the call returns.
pub(crate) fn returned_memory(scene: &Scene<'_>) -> Result<(), Trouble> {
    const MESSAGES: u64 = 200;
    scene.is_fleeting.set(true);
    let options = OptionSet::default();
    for size in [64, 4096].map(|size| scene.size(size, &options)) {
        let batch = scene.batch(MESSAGES, Sizes::List(vec![size]), size);
        for from in Seat::BOTH {
            let script = scene.flow(Script::default(), from, batch.clone()).both(Step::Finish);
            mirror(&scene.play(&options, size, script)?)?;
        }
    }
    Ok(())
}

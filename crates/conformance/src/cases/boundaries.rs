//! C05: message boundaries are kept, and the bytes of a stream may be cut anywhere.

use crate::scene::{Scene, Trouble, ensure};
use crate::script::{Batch, Script, SentFault, Sizes, Step, StepOutcome, Until};
use ipcperf_core::{OptionSet, Payload, Seat};

pub(crate) fn boundaries(scene: &Scene<'_>) -> Result<(), Trouble> {
    match scene.entry.spec().payload {
        Payload::Stream => stream(scene),
        _ => {
            burst(scene)?;
            mismatch(scene, 2, [8, 16], "two messages of 8 bytes were received as one of 16")?;
            mismatch(scene, 1, [16, 8], "a message of 16 bytes was received as one of 8")
        }
    }
}

/// Both ends cut the same bytes at different places.
fn stream(scene: &Scene<'_>) -> Result<(), Trouble> {
    const LARGEST: usize = 9000;
    let batch =
        |low| Batch { until: Until::Bytes(1 << 20), ..Batch::new(0, scene.sizes(low, LARGEST), 0) };
    let mut script = Script::default();
    for from in Seat::BOTH {
        script = script
            .only(from, Step::Send(batch(1)))
            .only(from.other(), Step::Receive(batch(LARGEST / 8)));
    }
    let [lead, follow] = scene.play(&OptionSet::default(), LARGEST, script)?;
    let total = |seen: &StepOutcome| (seen.bytes, seen.hash);
    for (lead, follow) in lead.iter().zip(&follow) {
        ensure(total(lead) == total(follow), || {
            "the bytes received are not the bytes sent".into()
        })?;
    }
    Ok(())
}

/// Messages of very different lengths wait side by side before the first is taken.
fn burst(scene: &Scene<'_>) -> Result<(), Trouble> {
    let options = OptionSet::default();
    let largest = scene.size(2000, &options);
    let sizes = [1, 1000, 7, 2000, 64, 1, 1, 333].map(|size| largest.min(size)).to_vec();
    for from in Seat::BOTH {
        let batch = scene.batch(80, Sizes::List(sizes.clone()), largest);
        scene.play_late(&options, largest, (from, batch), |_| Ok(()))?;
    }
    Ok(())
}

/// A receive of another length than was sent must be refused: bytes that fit together by chance are no message.
fn mismatch(
    scene: &Scene<'_>,
    count: u64,
    [sent, wanted]: [usize; 2],
    text: &str,
) -> Result<(), Trouble> {
    let options = OptionSet::default();
    let largest = scene.size(16, &options);
    if largest < 16 {
        return Ok(());
    }
    let script = Script::default()
        .only(Seat::Lead, Step::Send(scene.batch(count, Sizes::List(vec![sent]), largest)))
        .only(Seat::Follow, Step::Hold)
        .only(Seat::Follow, Step::Receive(Batch::attempt(wanted)));
    let mut pair = scene.opened(&options, largest, script)?;
    pair.wait("the receiver to attach", |ends| ends[1].is_holding)?;
    pair.settle(Seat::Lead)?;
    pair.go(Seat::Follow)?;
    pair.wait("a receive of another length", |ends| ends[1].done.is_some())?;
    let end = pair.ends[1].done.iter().flatten().last().and_then(|seen| seen.end);
    ensure(
        matches!(end, Some(SentFault::Truncated | SentFault::Overrun | SentFault::TooLong)),
        || format!("payload: message, but {text} ({end:?})"),
    )
}

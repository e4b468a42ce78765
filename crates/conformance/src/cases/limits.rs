//! C10: a message that is too long is refused before any of it moves.

use super::LARGEST;
use crate::scene::{Scene, Trouble, ensure, mirror};
use crate::script::{Batch, Script, SentFault, Sizes, Step};
use ipcperf_core::{OptionSet, Seat};

pub(crate) fn oversized(scene: &Scene<'_>) -> Result<(), Trouble> {
    let limit = scene.entry.limit(&OptionSet::default()).unwrap_or(usize::MAX);
    if limit < LARGEST {
        // The channel was promised more than the mechanism carries: an honest one refuses already here.
        match refused(scene, limit + 1, limit + 1) {
            Err(Trouble::Unavailable(_)) => {}
            other => other?,
        }
    }
    let size = limit.min(LARGEST);
    refused(scene, size, size + 1)
}

/// Over a channel for `size` bytes, `excess` bytes are refused and the message behind them is intact.
fn refused(scene: &Scene<'_>, size: usize, excess: usize) -> Result<(), Trouble> {
    for from in Seat::BOTH {
        let next = scene.batch(1, Sizes::List(vec![size.min(excess - 1)]), size);
        let script = Script::default()
            .only(from, Step::Send(Batch::attempt(excess)))
            .only(from, Step::Send(next.clone()))
            .only(from.other(), Step::Receive(next));
        let mut pair = scene.opened(&OptionSet::default(), size, script)?;
        pair.wait("the sender to be refused", |ends| ends[from.index()].done.is_some())?;
        let attempt = pair.ends[from.index()].done.iter().flatten().next().cloned();
        let attempt = attempt.unwrap_or_default();
        ensure(attempt.end == Some(SentFault::TooLong), || {
            let end = attempt.end.map_or("no fault".into(), |end| format!("{end:?}"));
            format!(
                "limit: {excess} bytes over a channel for {} bytes met {end} in place of TooLong",
                excess - 1
            )
        })?;
        let mut seen = pair.done()?;
        seen[from.index()].remove(0);
        mirror(&seen)?;
    }
    Ok(())
}

//! C08: the end of a finished peer differs from the silence of a slow one.

use crate::scene::{Scene, Trouble, ensure};
use crate::script::{Batch, Script, SentFault, Sizes, Step};
use ipcperf_core::{OptionSet, Seat};

/// The receiver drains everything and is then told, as often as it asks, while the sender still holds its end: it is
/// `finish` that tells, not the end of a process.
pub(crate) fn end_of_stream(scene: &Scene<'_>) -> Result<(), Trouble> {
    let options = OptionSet::default();
    let size = scene.size(64, &options);
    for from in Seat::BOTH {
        let batch = scene.batch(3, Sizes::List(vec![size]), size);
        let after = Step::Receive(Batch::attempt(size));
        let script = Script::default()
            .only(from, Step::Send(batch.clone()))
            .only(from, Step::Finish)
            .only(from, Step::Hold)
            .only(from.other(), Step::Hold)
            .only(from.other(), Step::Receive(batch.clone()))
            .only(from.other(), after.clone())
            .only(from.other(), after.clone())
            .only(from.other(), after);
        let mut pair = scene.opened(&options, size, script)?;
        let receiver = from.other().index();
        pair.wait("the receiver to attach", |ends| ends[receiver].is_holding)?;
        pair.settle(from)?;
        pair.go(from.other())?;
        pair.wait("the receiver to notice the end", |ends| ends[receiver].done.is_some())?;
        let seen = pair.ends[receiver].done.clone().unwrap_or_default();
        pair.wait("the sender to finish", |ends| ends[from.index()].is_holding)?;
        let ends: Vec<_> = seen.iter().skip(2).map(|seen| seen.end).collect();
        ensure(ends == [Some(SentFault::Closed); 3], || {
            format!("on_close: told, but receives after the last message met {ends:?}")
        })?;
        pair.go(from)?;
        let sent = pair.done()?[from.index()][0].hash;
        ensure(seen[1].hash == sent, || "what was drained is not what was sent".into())?;
    }
    Ok(())
}

//! C07: a fast sender meets the back-pressure that the mechanism declares.

use crate::scene::{Scene, Trouble, ensure};
use crate::script::{Batch, Script, Sizes, Step};
use ipcperf_core::{BackPressure, OptionSet, Seat};

/// More than any kernel buffers by default for one channel: `net.ipv4.tcp_wmem` and `tcp_rmem` allow 4 and 6 MiB.
const FLOOD: usize = 16 << 20;

pub(crate) fn back_pressure(scene: &Scene<'_>) -> Result<(), Trouble> {
    let options = OptionSet::default();
    let size = scene.size(64 << 10, &options);
    let count = (FLOOD / size.max(1)).clamp(16, 4096) as u64;
    let declared = scene.entry.spec().back_pressure;
    let loses = matches!(declared, BackPressure::Drops | BackPressure::Overwrites);
    ensure(loses == scene.entry.base.is_lossy, || {
        format!("back_pressure: {declared}, but LOSSY: {}", scene.entry.base.is_lossy)
    })?;
    for from in Seat::BOTH {
        if loses {
            drops(scene, from, size, count)?;
        } else {
            stops(scene, from, size, count)?;
        }
        if declared == BackPressure::Overwrites {
            overtakes(scene, from, size, count)?;
        }
    }
    Ok(())
}

/// The sender comes to rest, and nothing is lost. Nor is it where what came to rest is all that is sent, so that the sender
/// closes before the first message is received, or waits with that.
fn stops(scene: &Scene<'_>, from: Seat, size: usize, count: u64) -> Result<(), Trouble> {
    let options = OptionSet::default();
    let batch = |count| scene.batch(count, Sizes::List(vec![size]), size);
    let window = batch(count).window;
    let sent = scene.play_late(&options, size, (from, batch(count)), |pair| {
        let (_, sent) = pair.progress(from);
        ensure(pair.ends[from.index()].done.is_none() && sent < count, || {
            let declared = scene.entry.spec().back_pressure;
            format!(
                "back_pressure: {declared}, but {count} messages of {size} bytes went out unread"
            )
        })?;
        ensure(window == 0 || sent <= window, || {
            format!("{sent} messages are under way in a window of {window}")
        })?;
        Ok(sent)
    })?;
    match sent {
        0 => Ok(()),
        sent => scene.play_late(&options, size, (from, batch(sent)), |_| Ok(())),
    }
}

/// The sender never rests, some messages are lost, those that arrive are whole and in order, and within the window
/// (one at a time where they replace each other) all arrive again.
fn drops(scene: &Scene<'_>, from: Seat, size: usize, count: u64) -> Result<(), Trouble> {
    let sizes = Sizes::List(vec![size]);
    let flood = Batch { gaps: true, tolerant: true, ..Batch::new(count, sizes.clone(), 0) };
    let after = scene.batch(100, sizes, size);
    let script = Script::default()
        .only(from, Step::Send(flood.clone()))
        .only(from, Step::Hold)
        .only(from, Step::Send(after.clone()))
        .only(from.other(), Step::Hold)
        .only(from.other(), Step::Receive(flood))
        .only(from.other(), Step::Hold)
        .only(from.other(), Step::Receive(after));
    let mut pair = scene.opened(&OptionSet::default(), size, script)?;
    let (sender, receiver) = (from.index(), from.other().index());
    pair.wait("the sender to drop messages instead of waiting", |ends| {
        ends.iter().all(|end| end.is_holding)
    })?;
    pair.go(from.other())?;
    pair.wait("the receiver to read what was not dropped", |ends| ends[receiver].is_holding)?;
    pair.go(from.other())?;
    pair.go(from)?;
    let seen = pair.done()?;
    let (sent, received) = (&seen[sender], &seen[receiver]);
    ensure(received[1].end.is_none(), || received[1].detail.clone())?;
    ensure(received[1].count < sent[0].count, || {
        let declared = scene.entry.spec().back_pressure;
        format!("back_pressure: {declared}, but all {count} messages of {size} bytes arrived")
    })?;
    ensure(received[3].hash == sent[2].hash, || "messages within the window differ".into())
}

/// Values are replaced while they are read: what is read is whole, and never older than what was read before.
fn overtakes(scene: &Scene<'_>, from: Seat, size: usize, count: u64) -> Result<(), Trouble> {
    let flood =
        Batch { gaps: true, tolerant: true, ..Batch::new(count * 4, Sizes::List(vec![size]), 0) };
    let script = Script::default().both(Step::Hold).send(from, flood);
    let mut pair = scene.opened(&OptionSet::default(), size, script)?;
    pair.attached()?;
    pair.go_both()?;
    let seen = pair.done()?;
    let received = &seen[from.other().index()][1];
    ensure(received.end.is_none(), || received.detail.clone())
}

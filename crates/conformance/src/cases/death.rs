//! C09: an end is killed in the middle of things.

use crate::pair::WorkerPair;
use crate::scene::{Scene, Trouble, ensure};
use crate::script::{Batch, Script, SentFault, StepOutcome};
use ipcperf_core::{OnClose, OptionSet, Payload, Seat};
use std::time::{Duration, Instant};

/// Kills for each seat.
const ROUNDS: u64 = 3;
/// The kill comes up to this long after the first message.
const LATEST_US: u64 = 3000;

/// The sender is killed; the receiver gets what was sent and is then told.
pub(crate) fn while_receiving(scene: &Scene<'_>) -> Result<(), Trouble> {
    each(scene, |victim| victim)
}

/// The receiver is killed; the sender is told.
pub(crate) fn while_sending(scene: &Scene<'_>) -> Result<(), Trouble> {
    each(scene, Seat::other)
}

/// Kills each seat in turn, while the seat that `sender` names sends.
fn each(scene: &Scene<'_>, sender: fn(Seat) -> Seat) -> Result<(), Trouble> {
    let options = OptionSet::default();
    for round in 0..ROUNDS {
        for victim in Seat::BOTH {
            let size = scene.size([64, 4096, 64 << 10][round as usize % 3], &options);
            let from = sender(victim);
            let mut pair = killed(scene, size, from, victim)?;
            pair.wait("the end of the killed process", |ends| ends[victim.index()].died.is_some())?;
            if scene.entry.spec().on_death == OnClose::Told {
                told(&mut pair, scene, victim, from)?;
            }
        }
    }
    Ok(())
}

/// A channel over which `from` sends without end, and whose end `victim` was killed in the middle of that.
pub(crate) fn killed<'a>(
    scene: &'a Scene<'a>,
    size: usize,
    from: Seat,
    victim: Seat,
) -> Result<WorkerPair<'a>, Trouble> {
    let options = OptionSet::default();
    let batch = Batch::endless(size, scene.entry.window(size, &options));
    let mut pair = scene.opened(&options, size, scene.flow(Script::default(), from, batch))?;
    under_way(&mut pair, scene)?;
    pair.kill(victim);
    Ok(pair)
}

/// Waits until messages flow, and then for a random moment.
fn under_way(pair: &mut WorkerPair<'_>, scene: &Scene<'_>) -> Result<(), Trouble> {
    while Seat::BOTH.iter().any(|seat| pair.progress(*seat).1 == 0) {
        pair.turn(Instant::now() + Duration::from_millis(1))?;
        let is_over = pair.ends.iter().any(|end| end.done.is_some() || end.died.is_some());
        if is_over || Instant::now() >= scene.deadline {
            return Err(pair.trouble("the first message"));
        }
    }
    std::thread::sleep(Duration::from_micros(scene.between(0, LATEST_US)));
    Ok(())
}

/// The survivor's side of it.
fn told(
    pair: &mut WorkerPair<'_>,
    scene: &Scene<'_>,
    victim: Seat,
    from: Seat,
) -> Result<(), Trouble> {
    let survivor = victim.other();
    let (_, sent) = pair.progress(victim);
    pair.wait("the survivor to notice the death", |ends| ends[survivor.index()].done.is_some())?;
    let seen = pair.ends[survivor.index()].done.clone().unwrap_or_default();
    let Some(StepOutcome { end: Some(end), count, detail, .. }) = seen.first() else {
        return Err(Trouble::failed("the survivor went on as if nothing had happened"));
    };
    // A stream may be cut inside a message; a mechanism that keeps boundaries may not.
    let may_be_cut = from == victim && scene.entry.spec().payload == Payload::Stream;
    let is_told = match end {
        SentFault::Closed | SentFault::PeerDied => true,
        SentFault::Truncated => may_be_cut,
        _ => false,
    };
    ensure(is_told, || format!("on_death: told, but the survivor met {end:?}: {detail}"))?;
    // What was asked and not answered does not count as a call.
    ensure(from != victim || scene.calls() || *count >= sent, || {
        format!("{sent} messages were sent before the death, but only {count} were received")
    })
}

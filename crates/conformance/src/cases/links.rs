//! C16, C17: links know nothing of each other, neither beside each other nor one after another.

use crate::scene::{Amount, Scene, Trouble, mirror};
use crate::script::{Batch, Script, Sizes, Step};
use ipcperf_core::{OptionSet, Seat};

/// Links open at the same time.
const BESIDE: usize = 4;
/// Messages of each that wait at once, where the window allows so many; those for which there is no room wait in
/// their sender.
const WAITING: u64 = 4;
/// Round trips of each.
const TRIPS: Amount = Amount { short: 20, long: 100 };

/// C16: messages wait in all links at once, and the receivers come in the opposite order.
pub(crate) fn isolation(scene: &Scene<'_>) -> Result<(), Trouble> {
    let options = OptionSet::default();
    let size = scene.size(64, &options);
    // Ends that burn a CPU each would only take it from each other: they play in turn, over links that are all open,
    // and none waits for room meanwhile.
    let is_together = !scene.entry.spec().wait.burns_cpu();
    let waiting = match scene.entry.window(size, &options) {
        _ if !is_together || scene.calls() => 1,
        0 => WAITING,
        window => WAITING.min(window),
    };
    let batch = |count| Batch::new(count, Sizes::List(vec![size]), 0);
    let mut pairs = Vec::new();
    for _ in 0..BESIDE {
        let script = Script::default()
            .only(Seat::Lead, Step::Send(batch(waiting)))
            .only(Seat::Follow, Step::Hold)
            .only(Seat::Follow, Step::Receive(batch(waiting)))
            .both(Step::Hold)
            .exchange(batch(scene.amount(TRIPS)));
        let mut pair = scene.opened(&options, size, script)?;
        pair.wait("the receiver to attach", |ends| ends[Seat::Follow.index()].is_holding)?;
        pair.settle(Seat::Lead)?;
        pairs.push(pair);
    }
    let mut rest = pairs.as_mut_slice();
    while let [others @ .., pair] = rest {
        pair.go(Seat::Follow)?;
        pair.wait("what waited", |ends| ends.iter().all(|end| end.is_holding))?;
        pair.go_both()?;
        if !is_together {
            pair.done()?;
        }
        rest = others;
    }
    for pair in &mut pairs {
        let [mut lead, mut follow] = pair.done()?;
        lead.remove(1);
        follow.remove(0);
        follow.remove(1);
        mirror(&[lead, follow])?;
    }
    Ok(())
}

/// Links in sequence with the default setup, and with each other one.
const SEQUENCE: Amount<[usize; 2]> = Amount { short: [12, 6], long: [50, 10] };

/// C17: links one after another in the same processes, of changing sizes. Each is let go of with a message unread,
/// which nobody must ever see.
pub(crate) fn reuse(scene: &Scene<'_>) -> Result<(), Trouble> {
    for (index, options) in scene.entry.setups().iter().enumerate() {
        let mut pair = scene.pair(options)?;
        for link in 0..scene.amount(SEQUENCE)[index.min(1)] {
            let size = scene.size([64, 4096, 1][link % 3], options);
            let batch = |count| Batch::new(count, Sizes::List(vec![size]), 0);
            // A server has nothing to send unasked.
            let from = if scene.calls() { Seat::Lead } else { Seat::BOTH[link % 2] };
            let script = Script::default()
                .exchange(batch(5))
                .both(Step::Hold)
                .only(from, Step::Send(batch(1)))
                .only(from.other(), Step::Hold);
            pair.open(size, script)?;
            let (sender, receiver) = (from.index(), from.other().index());
            let numbered = |trouble| match trouble {
                Trouble::Failed(text) => Trouble::Failed(format!("link {}: {text}", link + 1)),
                other => other,
            };
            pair.wait("both ends to hold", |ends| ends.iter().all(|end| end.is_holding))
                .map_err(numbered)?;
            pair.go_both()?;
            pair.wait("an unread message", |ends| {
                ends[sender].done.is_some() && ends[receiver].is_holding
            })
            .map_err(numbered)?;
            pair.go(from.other())?;
            let mut seen = pair.done().map_err(numbered)?;
            for seen in &mut seen {
                seen.truncate(1);
            }
            mirror(&seen).map_err(numbered)?;
        }
    }
    Ok(())
}

//! C20: what a mechanism declares of itself, where another case does not try it already.

use crate::pair::Pair;
use crate::scene::{Scene, Trouble, ensure};
use crate::script::{Batch, End, Script, Seen, Sizes, Step};
use ipcperf_core::{OnClose, OptionSet, Seat};
use ipcperf_sys::io::descriptor;
use std::os::fd::AsFd;
use std::time::{Duration, Instant};

/// Copies: what both ends were shown of a message in memory that they share needs none, and what both were shown in
/// memory of their own needs at least one.
pub(crate) fn declared_copies(scene: &Scene<'_>) -> Result<(), Trouble> {
    let options = OptionSet::default();
    let size = scene.size(4096, &options);
    let declared = scene.entry.spec().copies;
    let batch = Batch::new(1, Sizes::List(vec![size]), 0);
    let script = Script::default().exchange(batch).both(Step::Places);
    for (seat, seen) in Seat::BOTH.into_iter().zip(&scene.play(&options, size, script)?) {
        let shared = seen.last().map_or([None; 2], |seen| seen.shared);
        let [Some(sent), Some(received)] = shared else {
            return Err(Trouble::failed("a message was shown where nothing is mapped"));
        };
        let fits = match (sent, received) {
            (true, true) => declared == 0,
            (false, false) => declared >= 1,
            _ => declared == 1,
        };
        ensure(fits, || {
            let words = |is_shared| if is_shared { "shared" } else { "private" };
            format!(
                "copies: {declared}, but the {seat:?} wrote into {} and read from {} memory",
                words(sent),
                words(received)
            )
        })?;
    }
    Ok(())
}

/// Descriptors: one can be sent over what the lead holds and comes out of what the follow holds.
pub(crate) fn declared_descriptors(scene: &Scene<'_>) -> Result<(), Trouble> {
    let options = OptionSet::default();
    let link = scene.entry.base.open(&scene.shape(scene.size(64, &options)), &options)?;
    let passes = link.lead.fds.iter().any(|lead| {
        let sent = descriptor::send(lead.as_fd(), lead.as_fd());
        sent.is_ok() && link.follow.fds.iter().any(|fd| descriptor::arrives(fd.as_fd()))
    });
    ensure(passes, || "descriptors: true, but none came through".into())
}

/// How long an end is given to be told something.
const WHILE: Duration = Duration::from_millis(300);

/// Ends that are said to go unnoticed: nothing tells the other end of them.
pub(crate) fn declared_silence(scene: &Scene<'_>) -> Result<(), Trouble> {
    let options = OptionSet::default();
    let spec = scene.entry.spec();
    let size = scene.size(64, &options);
    for from in Seat::BOTH {
        let batch = scene.batch(1, Sizes::List(vec![size]), size);
        let waits = Step::Receive(Batch::attempt(size));
        let script = Script::default()
            .only(from, Step::Send(batch.clone()))
            .only(from, Step::Finish)
            .only(from, Step::Hold)
            .only(from.other(), Step::Receive(batch.clone()))
            .only(from.other(), waits.clone());
        if spec.on_close == OnClose::Undetected {
            let mut pair = scene.pair(&options)?;
            pair.open(size, script)?;
            pair.wait("the sender to finish", |ends| ends[from.index()].is_holding)?;
            unnoticed(&mut pair, from.other(), "on_close")?;
        }
        if spec.on_death == OnClose::Undetected {
            let script = Script::default()
                .only(from, Step::Send(batch.clone()))
                .only(from, Step::Hold)
                .only(from.other(), Step::Receive(batch))
                .only(from.other(), waits);
            let mut pair = scene.pair(&options)?;
            pair.open(size, script)?;
            pair.wait("the sender to hold", |ends| ends[from.index()].is_holding)?;
            pair.kill(from);
            unnoticed(&mut pair, from.other(), "on_death")?;
        }
    }
    Ok(())
}

fn unnoticed(pair: &mut Pair<'_>, survivor: Seat, fact: &str) -> Result<(), Trouble> {
    let until = Instant::now() + WHILE;
    while pair.ends[survivor.index()].done.is_none() && Instant::now() < until {
        pair.turn(until)?;
    }
    let seen = pair.ends[survivor.index()].done.iter().flatten().last();
    match seen {
        Some(Seen { end: Some(end @ (End::Closed | End::PeerDied)), .. }) => {
            Err(Trouble::failed(format!("{fact}: undetected, but the survivor met {end:?}")))
        }
        _ => Ok(()),
    }
}

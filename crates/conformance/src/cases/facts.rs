//! C20: facts that a mechanism declares of itself and no other case tries.

use crate::cases::death;
use crate::pair::WorkerPair;
use crate::scene::{Scene, Trouble, ensure};
use crate::script::{Batch, Script, SentFault, Sizes, Step, StepOutcome};
use ipcperf_core::{Lends, OnClose, OptionError, OptionSet, Seat};
use ipcperf_sys::control::Control;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::time::{Duration, Instant};

/// Copies: what both ends were shown of a message in memory that they share needs none, and what both were shown in
/// memory of their own needs at least one.
pub(crate) fn declared_copies(scene: &Scene<'_>) -> Result<(), Trouble> {
    let options = OptionSet::default();
    let size = scene.size(4096, &options);
    let declared = scene.entry.spec().copies;
    let batch = Batch::new(1, Sizes::List(vec![size]), 0);
    let script = Script::default().both(Step::Places(batch));
    for (seat, seen) in Seat::BOTH.into_iter().zip(&scene.play(&options, size, script)?) {
        let [sent, received] = lent(seen)?.map(|lends| lends == Lends::Shared);
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

/// In what memory an end was shown what it sent and what it received.
fn lent(seen: &[StepOutcome]) -> Result<[Lends; 2], Trouble> {
    let [Some(sent), Some(received)] = seen.last().map_or([None; 2], |seen| seen.lent) else {
        return Err(Trouble::failed("a message was shown where nothing is mapped"));
    };
    Ok([sent, received])
}

/// Memory: what is said to be shared is, and nothing else; and what is said to be a private buffer begins where the shape
/// says. With every knob that is a choice.
pub(crate) fn declared_memory(scene: &Scene<'_>) -> Result<(), Trouble> {
    for options in scene.entry.setups() {
        let size = scene.size(4096, &options);
        let refused = |error: OptionError| Trouble::failed(error.to_string());
        let declared = scene.entry.base.lends(&options).map_err(refused)?;
        let batch = Batch::new(3, Sizes::List(vec![size]), 0);
        let script = Script::default().both(Step::Places(batch));
        let played = match scene.play(&options, size, script) {
            // The probe of another setup cannot know all that a channel takes.
            Err(Trouble::Unavailable(_)) if !options.0.is_empty() => continue,
            played => played?,
        };
        for (seat, seen) in Seat::BOTH.into_iter().zip(&played) {
            let found = lent(seen)?;
            for ((what, declared), found) in ["sends", "receives"].iter().zip(declared).zip(found) {
                let fits = match declared {
                    // It may begin anywhere.
                    Lends::Place => found != Lends::Shared,
                    _ => found == declared,
                };
                ensure(fits, || {
                    format!("lends: {declared:?}, but what the {seat:?} {what} is in {found:?}")
                })?;
            }
        }
    }
    Ok(())
}

/// Descriptors: one can be sent over what the lead holds and comes out of what the follow holds.
pub(crate) fn declared_descriptors(scene: &Scene<'_>) -> Result<(), Trouble> {
    let options = OptionSet::default();
    let link = scene.entry.base.open(&scene.shape(scene.size(64, &options)), &options)?;
    let arrives = || link.follow.fds.iter().any(|fd| has_arrived(fd).is_ok_and(|has| has));
    let passes = link.lead.fds.iter().any(|lead| send_itself(lead).is_ok() && arrives());
    ensure(passes, || "descriptors: true, but none came through".into())
}

fn send_itself(socket: &OwnedFd) -> io::Result<()> {
    Control::from_fd(socket.try_clone()?).send("d", &[socket.as_fd()])
}

/// Whether a message has come that brings a descriptor. It is taken out.
fn has_arrived(socket: &OwnedFd) -> io::Result<bool> {
    let soon = Instant::now() + Duration::from_millis(10);
    let parcel = Control::from_fd(socket.try_clone()?).receive(Some(soon))?;
    Ok(!parcel.fds.is_empty())
}

/// How long an end is given to be told something.
const WHILE: Duration = Duration::from_millis(300);

/// Ends that are said to go unnoticed: nothing tells the other end of them, or not whatever it is doing. All channels
/// of one seat are watched at the same time.
pub(crate) fn declared_silence(scene: &Scene<'_>) -> Result<(), Trouble> {
    let options = OptionSet::default();
    let spec = scene.entry.spec();
    let size = scene.size(64, &options);
    let first = scene.batch(1, Sizes::List(vec![size]), size);
    let receives = Step::Receive(Batch::attempt(size));
    let sends = Step::Send(Batch::endless(size, scene.entry.window(size, &options)));
    for from in Seat::BOTH {
        let begin = Script::default()
            .only(from, Step::Send(first.clone()))
            .only(from.other(), Step::Receive(first.clone()));
        let mut closed = None;
        if spec.on_close == OnClose::Undetected {
            let script = begin
                .clone()
                .only(from, Step::Finish)
                .only(from, Step::Hold)
                .only(from.other(), receives.clone());
            closed = Some(ending(scene, size, script, from, false)?);
        }
        let mut dead = Vec::new();
        if spec.on_death == OnClose::Undetected {
            for next in [&receives, &sends] {
                let script = begin.clone().only(from, Step::Hold).only(from.other(), next.clone());
                dead.push(ending(scene, size, script, from, true)?);
            }
            // One that had kept up with the sender.
            dead.push(death::killed(scene, size, from.other(), from)?);
        }
        let until = Instant::now() + WHILE;
        let mut meets = |pair: &mut WorkerPair<'_>| told(pair, from.other(), until);
        let closed = closed.as_mut().map(&mut meets).transpose()?.flatten();
        let dead = dead.iter_mut().map(meets).collect::<Result<Vec<_>, _>>()?;
        ensure(closed.is_none(), || {
            format!("on_close: undetected, but the survivor met {closed:?}")
        })?;
        ensure(dead.is_empty() || dead.iter().any(Option::is_none), || {
            format!("on_death: undetected, but a receive or send met {dead:?}")
        })?;
    }
    Ok(())
}

/// A channel whose end `from` has finished and holds, or is dead.
fn ending<'a>(
    scene: &'a Scene<'a>,
    size: usize,
    script: Script,
    from: Seat,
    by_death: bool,
) -> Result<WorkerPair<'a>, Trouble> {
    let mut pair = scene.opened(&OptionSet::default(), size, script)?;
    pair.wait("the sender to hold", |ends| ends[from.index()].is_holding)?;
    if by_death {
        pair.kill(from);
    }
    Ok(pair)
}

/// What tells the survivor of the end of the other; `None` where nothing has before `until`.
fn told(
    pair: &mut WorkerPair<'_>,
    survivor: Seat,
    until: Instant,
) -> Result<Option<SentFault>, Trouble> {
    let survivor = survivor.index();
    // What has come in by then is looked at, even if this process comes late.
    while pair.ends[survivor].done.is_none() && pair.turn(until)? {}
    let seen = pair.ends[survivor].done.iter().flatten().last();
    Ok(seen
        .and_then(|seen| seen.end)
        .filter(|end| matches!(end, SentFault::Closed | SentFault::PeerDied)))
}

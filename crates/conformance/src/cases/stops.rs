//! C11, C12: signals. An end that is interrupted, stopped, or left alone by a dead peer goes on, or reports what happened.

use super::death::killed;
use crate::pair::WorkerPair;
use crate::scene::{Amount, Scene, Trouble, ensure, mirror};
use crate::script::{Batch, Script, Sizes, Step, StepOutcome};
use ipcperf_core::{OptionSet, Seat};
use std::time::{Duration, Instant};

/// Between two signals to each end.
const PERIOD: Duration = Duration::from_millis(1);
/// Round trips under signals, the first time: few, because a terminal on an emulated machine beside other work makes 150 a
/// second, and so do ends that share two CPUs with two busy threads of the kernel.
const TRIPS: Amount = Amount { short: 250, long: 2000 };
/// Messages large enough that a signal meets some of them half moved.
const LARGE: (usize, u64) = (64 << 10, 100);
/// Signals that must have been heard.
const HEARD: u64 = 50;

/// C11: signals that interrupt system calls are nobody's concern.
pub(crate) fn interrupted_calls(scene: &Scene<'_>) -> Result<(), Trouble> {
    let mut trips = scene.amount(TRIPS);
    while interrupted(scene, trips)? < HEARD {
        trips *= 8;
    }
    Ok(())
}

/// Returns how many signals the end heard that heard fewer.
fn interrupted(scene: &Scene<'_>, trips: u64) -> Result<u64, Trouble> {
    let options = OptionSet::default();
    let (small, large) = (scene.size(64, &options), scene.size(LARGE.0, &options));
    let flow = || scene.batch(LARGE.1, Sizes::List(vec![large]), large);
    let script = Script::default().both(Step::Interruptible).both(Step::Hold).exchange(Batch::new(
        trips,
        Sizes::List(vec![small]),
        0,
    ));
    let script = scene.flow(script, Seat::Lead, flow());
    let script = scene.flow(script, Seat::Follow, flow()).both(Step::Interruptions);
    let mut pair = WorkerPair::start(scene, &options, scene.near_cpus()?, &[], None)?;
    pair.open(large, script)?;
    pair.attached()?;
    pair.go_both()?;
    while !is_over(&pair) && Instant::now() < scene.deadline {
        for seat in Seat::BOTH {
            pair.worker(seat).interrupt();
        }
        rest(&mut pair, PERIOD)?;
    }
    let seen = pair.done()?;
    mirror(&seen)?;
    let heard = |seen: &Vec<StepOutcome>| seen.last().map_or(0, |seen| seen.events);
    Ok(seen.iter().map(heard).min().unwrap_or(0))
}

/// How long an end is stopped.
const STOPPED: Amount<Duration> =
    Amount { short: Duration::from_millis(70), long: Duration::from_millis(120) };

/// C12: while the peer is stopped an end waits, and goes on with it.
pub(crate) fn stopped_peer(scene: &Scene<'_>) -> Result<(), Trouble> {
    for seat in Seat::BOTH {
        // Of ends that yield to eight busy programs one takes 40 ms.
        let mut trips = 500;
        while !stopped(scene, seat, trips)? {
            trips *= 8;
        }
    }
    Ok(())
}

/// Stops an end somewhere among so many round trips; `false` if it was through before.
fn stopped(scene: &Scene<'_>, seat: Seat, trips: u64) -> Result<bool, Trouble> {
    const SETTLED: u64 = 200;
    let options = OptionSet::default();
    let size = scene.size(64, &options);
    let script = Script::default().exchange(Batch::new(trips, Sizes::List(vec![size]), 0));
    let mut pair = scene.opened(&options, size, script)?;
    while pair.progress(seat).1 < SETTLED && !is_over(&pair) && Instant::now() < scene.deadline {
        pair.turn(Instant::now() + Duration::from_micros(100))?;
    }
    pair.worker(seat).pause();
    rest(&mut pair, scene.amount(STOPPED))?;
    let is_middle = pair.progress(seat).1 < trips;
    pair.worker(seat).resume();
    mirror(&pair.done()?)?;
    Ok(is_middle)
}

/// How long a sender is watched after its peer was killed.
const WATCHED: Duration = Duration::from_millis(150);

/// C12: a process that sends to a dead peer is not killed for it; it meets a fault, or nothing.
pub(crate) fn no_death_by_a_dead_peer(scene: &Scene<'_>) -> Result<(), Trouble> {
    let options = OptionSet::default();
    let size = scene.size(4096, &options);
    for victim in Seat::BOTH {
        let survivor = victim.other();
        let mut pair = killed(scene, size, survivor, victim)?;
        pair.wait("the end of the killed process", |ends| ends[victim.index()].died.is_some())?;
        rest(&mut pair, WATCHED)?;
        let died = &pair.ends[survivor.index()].died;
        ensure(died.is_none(), || {
            let how = died.as_deref().unwrap_or_default();
            format!("the survivor that went on sending ended too: {how}")
        })?;
    }
    Ok(())
}

fn is_over(pair: &WorkerPair<'_>) -> bool {
    pair.ends.iter().any(|end| end.done.is_some() || end.died.is_some())
}

/// Takes in what happens for so long.
fn rest(pair: &mut WorkerPair<'_>, time: Duration) -> Result<(), Trouble> {
    let until = Instant::now() + time;
    while pair.turn(until)? {}
    Ok(())
}

//! C14: whatever happens to the processes, nothing with a name of its own stays on the host.

use crate::census;
use crate::scene::{Scene, Trouble, ensure};
use crate::script::{Batch, Script, Sizes, Step};
use crate::task::{Task, VICTIM};
use ipcperf_core::{OptionSet, Seat};
use ipcperf_engine::supervisor::Supervisor;
use ipcperf_engine::task::TaskError;
use ipcperf_sys::{process, rundir};
use std::collections::BTreeSet;
use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::time::{Duration, Instant};

/// A name is called leaked when it is still there after this long: other processes of the host make names too, and
/// theirs come and go.
const GRACE: Duration = Duration::from_millis(1500);

pub(crate) fn name_leaks(scene: &Scene<'_>) -> Result<(), Trouble> {
    for options in scene.entry.setups() {
        let before = census::names(scene.run.path());
        success(scene, &options)?;
        nothing_left(scene, &before, "after success")?;
        // Where panics abort, a panic is cleaned up as the killed coordinator below.
        if cfg!(panic = "unwind") {
            panic(scene, &options)?;
            nothing_left(scene, &before, "after a panic between open and drop")?;
        }
        for seat in Seat::BOTH {
            worker_killed(scene, &options, seat)?;
            nothing_left(scene, &before, "after a worker was killed")?;
        }
        coordinator_killed(scene, &options)?;
        nothing_left(scene, &before, "after the coordinator was killed and its run was reaped")?;
    }
    Ok(())
}

fn success(scene: &Scene<'_>, options: &OptionSet) -> Result<(), Trouble> {
    let size = scene.size(64, options);
    let script = Script::default().exchange(Batch::new(1, Sizes::List(vec![size]), 0));
    scene.play(options, size, script).map(drop)
}

fn panic(scene: &Scene<'_>, options: &OptionSet) -> Result<(), Trouble> {
    let shape = scene.shape(scene.size(64, options));
    let unwound = catch_unwind(AssertUnwindSafe(|| -> Result<(), Trouble> {
        let _link = scene.entry.base.open(&shape, options)?;
        // Unwinds as a panic does, without the message that would alarm a reader.
        resume_unwind(Box::new("in the middle"))
    }));
    unwound.unwrap_or(Ok(()))
}

fn worker_killed(scene: &Scene<'_>, options: &OptionSet, seat: Seat) -> Result<(), Trouble> {
    let script = Script::default().both(Step::Hold);
    let mut pair = scene.opened(options, scene.size(64, options), script)?;
    pair.attached()?;
    pair.kill(seat);
    pair.wait("the end of the killed process", |ends| ends[seat.index()].died.is_some())
}

fn coordinator_killed(scene: &Scene<'_>, options: &OptionSet) -> Result<(), Trouble> {
    let mut victims = Supervisor::new(scene.deadline, None);
    let victim = victims.start("a second run", 0)?;
    let task = Task {
        mechanism: scene.entry.spec().full_name(),
        case: String::new(),
        options: options.clone(),
        base: scene.base.to_owned(),
        seed: scene.draw(),
        deadline: scene.deadline.saturating_duration_since(Instant::now()),
        is_long: false,
    };
    victims.assign(victim, VICTIM, &task, &[])?;
    let workers: [u32; 2] = victims.ready(victim).map_err(|stop| {
        Trouble::Failed(format!("a second run did not start: {}", TaskError::from(stop)))
    })?;
    drop(victims);
    while workers.into_iter().any(is_running) {
        ensure(Instant::now() < scene.deadline, || "workers outlive their coordinator".into())?;
        std::thread::sleep(Duration::from_millis(2));
    }
    rundir::reap(scene.base)?;
    let left: Vec<_> = fs::read_dir(scene.base)?
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| path != scene.run.path())
        .collect();
    ensure(left.is_empty(), || format!("reaping left {left:?}"))
}

/// An orphan that has ended may stay a zombie until the process that adopted it looks.
fn is_running(pid: u32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let state = stat.rsplit(") ").next().and_then(|rest| rest.chars().next());
    process::exists(pid) && !matches!(state, Some('Z' | 'X') | None)
}

fn nothing_left(scene: &Scene<'_>, before: &BTreeSet<String>, when: &str) -> Result<(), Trouble> {
    let new = |known: &BTreeSet<String>| -> BTreeSet<String> {
        census::names(scene.run.path()).difference(known).cloned().collect()
    };
    let mut left = new(before);
    let until = Instant::now() + GRACE;
    while !left.is_empty() && Instant::now() < until {
        std::thread::sleep(Duration::from_millis(20));
        let still = new(before);
        left.retain(|name| still.contains(name));
    }
    ensure(left.is_empty(), || {
        format!("{when} there is still: {}", left.into_iter().collect::<Vec<_>>().join(", "))
    })
}

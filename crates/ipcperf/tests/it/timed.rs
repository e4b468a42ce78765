//! Timed regions as they are seen from outside: who else runs meanwhile, and ends that somebody moves.

use crate::common::{Sandbox, cells, rounds, skipped, valid, wait_for};
use crate::watch::{holds_pipes, workers};
use ipcperf_sys::affinity;
use std::collections::BTreeMap;
use std::fs;
use std::thread::sleep;
use std::time::{Duration, Instant};

/// Slices with an end that was moved, each of which must be told.
const WANTED: usize = 50;

/// The shortest slices. An end that is moved within a fifth of a slice after it was pinned is moved before the end of its timed
/// region, if that takes more than half a slice.
const SLICE: Duration = Duration::from_millis(100);

/// The CPU that a process may use, if it is one alone.
fn pinned_to(pid: u32) -> Option<usize> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let allowed = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"))?;
    allowed.trim().parse().ok()
}

/// Lets all ends of a run with slices of this length off their CPUs, as soon as they are pinned. Returns how many slices had an
/// end that was moved while it was timed, and that each was left out for it.
fn moved_and_told(everywhere: &[usize], slice: Duration) -> usize {
    let sandbox = Sandbox::new();
    let words = ["run", "-m", "pipe", "--place", "same-cpu", "--rounds", "50"];
    let length = format!("{}ms", slice.as_millis());
    let more = ["--slice", &length, "--warmup", "5ms", "-o", "moved.json"];
    let mut running = sandbox.start(&[&words[..], &more].concat());
    // The CPUs of those that were moved in time.
    let mut moved = BTreeMap::new();
    let mut last = Instant::now();
    wait_for("the end of the run", || {
        // Who is pinned now was not at the last look, or it would have been moved then.
        let look = Instant::now();
        for pid in workers(&sandbox) {
            if let Some(cpu) = pinned_to(pid)
                && affinity::allow(pid, everywhere).is_ok()
                && last.elapsed() < slice / 5
            {
                moved.insert(u64::from(pid), cpu);
            }
        }
        last = look;
        running.child.try_wait().expect("our own child")
    });
    let ended = running.end();
    let text = sandbox.read("moved.json").unwrap_or_else(|_| panic!("{}", ended.stderr));
    let document = valid("result", &text);
    let [cell] = cells(&document) else { panic!("one cell was asked for") };
    let mut told = 0;
    for round in rounds(cell) {
        let mut is_moved = false;
        for (at, pid) in ["lead_pid", "follow_pid"].into_iter().enumerate() {
            let pid = round["proof"][pid].as_u64().expect("a process");
            if let Some(cpu) = moved.get(&pid) {
                assert_eq!(round["cpus"][at], *cpu, "where the kernel had it: {round}");
                is_moved = true;
            }
        }
        let why = round["rejected"].as_str().unwrap_or_default();
        // A jump of the clock is told before anything else.
        let is_long = round["elapsed_ns"].as_f64() > Some((slice / 2).as_nanos() as f64);
        if is_moved && is_long && !why.starts_with("E-CLOCKJUMP") {
            assert!(why.starts_with("E-MIGRATE"), "{round}");
            told += 1;
        }
    }
    told
}

#[test]
fn ends_that_somebody_moves_are_told_fifty_times_of_fifty() {
    let everywhere = affinity::allowed_cpus().expect("affinity is readable");
    if everywhere.len() < 2 {
        return skipped("two CPUs", "on one nobody can be moved");
    }
    let mut told = 0;
    // Where much else runs, ends are seen too late to be sure: the longer a slice, the later may that be.
    for doubled in 0..7 {
        told += moved_and_told(&everywhere, SLICE * (1 << doubled));
        if told >= WANTED {
            return;
        }
    }
    panic!("only {told} slices had an end that was moved in time");
}

/// How often the threads of a process have gone to sleep; `None` where it has ended.
fn sleeps(pid: u32) -> Option<u64> {
    let threads = fs::read_dir(format!("/proc/{pid}/task")).ok()?;
    let of = |thread: std::io::Result<fs::DirEntry>| -> Option<u64> {
        let text = fs::read_to_string(thread.ok()?.path().join("status")).ok()?;
        let count = text.lines().find_map(|line| line.strip_prefix("voluntary_ctxt_switches:"))?;
        count.trim().parse().ok()
    };
    threads.map(of).sum()
}

/// The coordinator sleeps until an end has something to say, and has no thread that does anything meanwhile; four times a second
/// it looks whether an end stands still.
#[test]
fn nobody_but_the_ends_runs_while_they_are_timed() {
    let words = ["run", "-m", "pipe", "--place", "same-cpu", "--rounds", "1", "-o", "long.json"];
    let words = [&words[..], &["--slice", "60s", "--warmup", "5ms"]].concat();
    let mut told = Vec::new();
    // Where much else runs, the ends may take longer to begin.
    for begun_ms in [500, 1000, 2000, 4000, 8000, 16_000] {
        let sandbox = Sandbox::new();
        let running = sandbox.start(&words);
        let at_work = || {
            let pair = workers(&sandbox);
            (pair.len() == 2 && pair.iter().all(|pid| holds_pipes(*pid))).then_some(pair)
        };
        let pair = wait_for("a pair of workers with pipes", at_work);
        // Now their wiring is there, and they agree among themselves.
        sleep(Duration::from_millis(begun_ms));
        let began = Instant::now();
        let before = sleeps(running.child.id());
        sleep(Duration::from_millis(500));
        let after = sleeps(running.child.id());
        let looks = began.elapsed().as_millis() as u64 / 250 + 1;
        let is_quiet = before.zip(after).is_some_and(|(before, after)| after - before <= looks);
        if at_work() == Some(pair) && is_quiet {
            return;
        }
        told.push((before, after, looks));
    }
    panic!("the coordinator ran more often than it looks: {told:?}");
}

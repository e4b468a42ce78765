//! Runs that are interrupted or killed at any moment: what was measured is kept, and nothing is left behind.

use crate::common::{Ended, Sandbox, at_once, cells, rounds, valid, wait_for};
use crate::watch::{Objects, has_sent, holds_pipes, signal, workers};
use ipcperf_report::RESULT_SCHEMA;
use serde_json::Value;
use std::collections::BTreeSet;
use std::fs;
use std::hash::{BuildHasher, RandomState};
use std::os::unix::process::ExitStatusExt;
use std::process::Command;
use std::thread::sleep;
use std::time::Duration;

const SIGINT: i32 = 2;
const SIGKILL: i32 = 9;

/// Everything that has a name in the file system or the kernel.
const NAMED: [&str; 4] =
    ["-m", "sysv-mq,fifo,unix-stream,posix-mq", "--set", "unix-stream.bind=path"];

/// Random moments that can be had again.
struct Moments {
    seed: u64,
    count: u64,
}

impl Moments {
    /// From `IPCPERF_TEST_SEED`, or another seed each time.
    #[expect(
        clippy::print_stderr,
        reason = "a failure must be repeatable, and the harness shows this only then"
    )]
    fn new() -> Self {
        let given = std::env::var("IPCPERF_TEST_SEED").ok();
        let seed = given
            .map_or_else(|| RandomState::new().hash_one(0), |text| text.parse().expect("a number"));
        eprintln!("IPCPERF_TEST_SEED={seed}");
        Self { seed, count: 0 }
    }

    /// A number below `limit`.
    fn below(&mut self, limit: u64) -> u64 {
        // splitmix64 (Steele, Lea, Flood 2014).
        self.count += 1;
        let mut word = self.seed.wrapping_add(self.count.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (word ^ (word >> 31)) % limit
    }

    fn wait_up_to(&mut self, most: Duration) {
        let most = u64::try_from(most.as_millis()).expect("short");
        sleep(Duration::from_millis(self.below(most)));
    }
}

fn run<'a>(words: &[&'a str]) -> Vec<&'a str> {
    [&["run"], words].concat()
}

/// A document that lies where it was to be written.
fn document(sandbox: &Sandbox, name: &str) -> Value {
    valid(RESULT_SCHEMA, &sandbox.read(name).expect("it was written"))
}

fn no_panic(ended: &Ended) {
    assert!(!ended.stderr.contains("panicked"), "{}", ended.stderr);
}

/// No process, no run directory, no kernel object; in the output folder nothing but whole documents.
fn nothing_is_left(sandbox: &Sandbox, before: &Objects) {
    wait_for("the end of every worker", || workers(sandbox).is_empty().then_some(()));
    // A run killed between making its directory and locking it is given two seconds of grace.
    wait_for("an empty folder of run directories", || {
        let cleaned = sandbox.run(&["clean"]);
        assert_eq!(cleaned.status.code(), Some(0), "{}", cleaned.stderr);
        let mut left = fs::read_dir(sandbox.run_directories()).expect("a folder");
        left.next().is_none().then_some(())
    });
    // Somebody else's objects come and go; ours would stay.
    let ours = Objects::now().since(before);
    wait_for(&format!("the end of {ours:?}"), || Objects::now().none_of(&ours).then_some(()));
    assert_eq!(fs::read_dir(sandbox.temporary()).expect("a folder").count(), 0);
    for file in fs::read_dir(sandbox.home()).expect("a folder") {
        let name = file.expect("a file").file_name().into_string().expect("UTF-8");
        assert!(name.ends_with(".json") && !name.starts_with('.'), "half-written: {name}");
        document(sandbox, &name);
    }
}

#[test]
fn an_interrupted_run_writes_what_it_measured() {
    let (sandbox, before) = (Sandbox::new(), Objects::now());
    let words = ["-m", "pipe,unix-stream", "--place", "same-cpu", "--rounds", "10000"];
    let running =
        sandbox.start(&run(&[&words[..], &["--slice", "30ms", "-o", "part.json"]].concat()));
    // The third pair of workers with pipes: two slices of the pipe are done.
    let mut seen = BTreeSet::new();
    wait_for("slices", || {
        seen.extend(workers(&sandbox).into_iter().filter(|pid| holds_pipes(*pid)));
        (seen.len() > 4).then_some(())
    });
    signal("INT", running.child.id());
    let ended = running.end();
    assert_eq!(ended.status.code(), Some(130), "{}", ended.stderr);
    no_panic(&ended);
    assert!(ended.stdout.contains("pipe"), "what was measured is shown: {}", ended.stdout);
    let document = document(&sandbox, "part.json");
    assert_eq!(document["interrupted"], true);
    let pipe = cells(&document).iter().find(|cell| cell["mechanism"] == "pipe").expect("asked for");
    assert_eq!((&pipe["status"], &pipe["verified"]), (&"ok".into(), &true.into()));
    assert!(rounds(pipe).len() >= 2);
    nothing_is_left(&sandbox, &before);
}

#[test]
fn a_run_interrupted_at_once_explains_every_cell() {
    let sandbox = Sandbox::new();
    let words = ["-m", "pipe,fifo", "--place", "same-cpu", "--slice", "60s", "-o", "part.json"];
    let running = sandbox.start(&run(&words));
    // The first worker measures a bound. Signals are caught by then, and no slice ends for a minute.
    wait_for("a worker", || (!workers(&sandbox).is_empty()).then_some(()));
    signal("INT", running.child.id());
    let ended = running.end();
    assert_eq!(ended.status.code(), Some(130), "{}", ended.stderr);
    let document = document(&sandbox, "part.json");
    for cell in cells(&document) {
        assert_eq!(cell["status"], "skipped", "{cell}");
        assert!(cell["reason"].as_str().is_some_and(|reason| reason.contains("interrupted")));
    }
}

/// A shell ignores SIGINT for every job that a script puts into the background, and `nohup` ignores SIGHUP for good.
#[test]
fn an_ignored_interrupt_still_interrupts_and_an_ignored_hang_up_does_not() {
    let sandbox = Sandbox::new();
    let ignoring = |which: &str| {
        let mut shell = Command::new("sh");
        let line = format!("trap '' {which}; exec \"$0\" \"$@\"");
        shell.args(["-c", &line, env!("CARGO_BIN_EXE_ipcperf")]);
        let words = ["-m", "pipe", "--place", "same-cpu", "--slice", "60s", "-o", "part.json"];
        let running = sandbox.spawn(sandbox.surround(shell, &run(&words)));
        wait_for("a worker", || (!workers(&sandbox).is_empty()).then_some(()));
        running
    };
    let mut running = ignoring("HUP");
    signal("HUP", running.child.id());
    sleep(Duration::from_millis(200));
    assert!(running.child.try_wait().expect("our own child").is_none(), "it goes on");
    drop(running);
    wait_for("the end of every worker", || workers(&sandbox).is_empty().then_some(()));
    let running = ignoring("INT");
    signal("INT", running.child.id());
    assert_eq!(running.end().status.code(), Some(130));
}

#[test]
fn a_killed_worker_costs_its_cell_and_not_the_run() {
    at_once([(0, "KILL", 9), (1, "KILL", 9), (1, "TERM", 15)], |(seat, name, number)| {
        let (sandbox, before) = (Sandbox::new(), Objects::now());
        let words = ["-m", "pipe,unix-stream", "--place", "same-cpu", "--rounds", "2"];
        let more = ["--slice", "2s", "--warmup", "5ms", "-o", "rest.json"];
        let running = sandbox.start(&run(&[&words[..], &more].concat()));
        let pair = wait_for("a pair of workers with pipes", || {
            let pair = workers(&sandbox);
            (pair.len() == 2 && pair.iter().all(|pid| holds_pipes(*pid))).then_some(pair)
        });
        signal(name, pair[seat]);
        let ended = running.end();
        assert_eq!(ended.status.code(), Some(1), "{}", ended.stderr);
        no_panic(&ended);
        let document = document(&sandbox, "rest.json");
        assert_eq!(document["interrupted"], false);
        let [pipe, socket] = cells(&document) else { panic!("two cells were asked for") };
        assert_eq!(pipe["status"], "failed");
        let reason = pipe["reason"].as_str().expect("a reason");
        assert!(reason.contains(&format!("killed by signal {number}")), "{reason}");
        assert!(pipe.get("rtt_ns").is_none(), "no figure of a cell that went wrong");
        assert_eq!((&socket["status"], &socket["verified"]), (&"ok".into(), &true.into()));
        assert_eq!(rounds(socket).len(), 2);
        nothing_is_left(&sandbox, &before);
    });
}

#[test]
fn a_hung_worker_ends_in_a_deadline_and_costs_its_cell_only() {
    let (sandbox, before) = (Sandbox::new(), Objects::now());
    let words = ["-m", "pipe,unix-stream", "--place", "same-cpu", "--rounds", "2"];
    let more = ["--slice", "50ms", "--warmup", "5ms", "-o", "rest.json"];
    let running = sandbox.start(&run(&[&words[..], &more].concat()));
    let pair = wait_for("a pair of workers with pipes", || {
        let pair = workers(&sandbox);
        (pair.len() == 2 && pair.iter().all(|pid| holds_pipes(*pid))).then_some(pair)
    });
    signal("STOP", pair[1]);
    let ended = running.end();
    assert_eq!(ended.status.code(), Some(1), "{}", ended.stderr);
    no_panic(&ended);
    let document = document(&sandbox, "rest.json");
    let [pipe, socket] = cells(&document) else { panic!("two cells were asked for") };
    assert_eq!(pipe["status"], "deadline");
    assert!(pipe["reason"].as_str().is_some_and(|reason| reason.starts_with("not done after")));
    assert_eq!((&socket["status"], &socket["verified"]), (&"ok".into(), &true.into()));
    nothing_is_left(&sandbox, &before);
}

#[test]
fn a_killed_coordinator_takes_its_workers_along_and_the_next_run_cleans_up() {
    let (sandbox, before) = (Sandbox::new(), Objects::now());
    let mut moments = Moments::new();
    let endless = ["--rounds", "10000", "--slice", "20ms", "--warmup", "2ms", "-o", "lost.json"];
    let mut removed = String::new();
    for attempt in 0..6 {
        let mut running = sandbox.start(&run(&[&NAMED[..], &endless].concat()));
        wait_for("workers", || (!workers(&sandbox).is_empty()).then_some(()));
        moments.wait_up_to(Duration::from_millis(1500));
        running.child.kill().expect("our own child");
        let ended = running.end();
        assert_eq!(ended.status.signal(), Some(SIGKILL), "it measures until it is killed");
        wait_for("the end of every worker", || workers(&sandbox).is_empty().then_some(()));
        let left = fs::read_dir(sandbox.run_directories()).expect("a folder").count();
        assert_eq!(left, 1, "the ledger of the killed run; none of the run before");
        if attempt % 2 == 0 {
            removed += &sandbox.run(&["clean"]).stdout;
        } else {
            let next = [
                "-m",
                "pipe",
                "--place",
                "same-cpu",
                "--rounds",
                "1",
                "--slice",
                "1ms",
                "-o",
                "next.json",
            ];
            assert_eq!(sandbox.run(&run(&next)).status.code(), Some(0));
        }
        let left = fs::read_dir(sandbox.run_directories()).expect("a folder").count();
        assert_eq!(left, 0, "{removed}");
    }
    assert_eq!(
        removed.matches("removed directory").count(),
        3,
        "clean says what it does: {removed}"
    );
    assert!(sandbox.read("lost.json").is_err(), "nothing was written");
    nothing_is_left(&sandbox, &before);
}

/// A worker that waits for a peer which was killed, and whom nobody is left to tell, would wait for ever.
#[test]
fn a_worker_dies_with_its_coordinator_even_if_it_waits() {
    let (sandbox, before) = (Sandbox::new(), Objects::now());
    let words = ["-m", "sysv-mq", "--place", "same-cpu", "--slice", "600s", "-o", "lost.json"];
    let mut running = sandbox.start(&run(&words));
    let pair = wait_for("a pair of workers that has exchanged messages", || {
        let pair = workers(&sandbox);
        pair.iter().all(|pid| has_sent(*pid)).then_some(pair).filter(|pair| pair.len() == 2)
    });
    running.child.kill().expect("our own child");
    signal("KILL", pair[0]);
    nothing_is_left(&sandbox, &before);
}

#[test]
fn surveys_ended_at_any_moment_leave_nothing() {
    let (sandbox, before) = (Sandbox::new(), Objects::now());
    let mut moments = Moments::new();
    for attempt in 0..10 {
        let name = format!("survey-{attempt}.json");
        let running = sandbox.start(&["survey", "--budget", "2s", "-o", &name]);
        let which = ["INT", "KILL"][usize::from(moments.below(2) == 1)];
        moments.wait_up_to(Duration::from_millis(2500));
        signal(which, running.child.id());
        let ended = running.end();
        no_panic(&ended);
        match (ended.status.code(), ended.status.signal()) {
            // Done before the signal came, or while it came.
            (Some(0), _) => {
                document(&sandbox, &name);
            }
            (Some(130), _) => assert_eq!(document(&sandbox, &name)["interrupted"], true),
            // Before it caught signals there was nothing to write.
            (None, Some(SIGINT)) => assert!(sandbox.read(&name).is_err()),
            (None, Some(SIGKILL)) if which == "KILL" => {}
            other => panic!("attempt {attempt} ({which}): {other:?}: {}", ended.stderr),
        }
    }
    nothing_is_left(&sandbox, &before);
}

//! Runs that are interrupted or killed at any moment: what was measured is kept, and nothing is left behind.

use crate::common::{
    Ended, Sandbox, at_once, can_run, cells, kind_of, rounds, skipped, valid, wait_for, words,
};
use crate::watch::{Objects, has_sent, holds_pipes, processes, signal, workers};
use serde_json::Value;
use std::collections::BTreeSet;
use std::fs;
use std::io::Write;
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command, ExitStatus};
use std::thread::sleep;
use std::time::Duration;

const SIGINT: i32 = 2;
const SIGKILL: i32 = 9;

/// Everything that has a name in the file system or the kernel.
const NAMED: [&str; 6] = [
    "-m",
    "sysv-mq,fifo,unix-stream,unix-dgram,posix-mq",
    "--set",
    "unix-stream.bind=path",
    "--set",
    "unix-dgram.bind=path",
];

/// Random moments that can be had again.
pub(crate) struct Moments {
    seed: u64,
    count: u64,
}

impl Moments {
    /// The same each time, unless `IPCPERF_TEST_SEED` is another seed.
    #[expect(
        clippy::print_stderr,
        reason = "a failure must be repeatable, and the harness shows this only then"
    )]
    pub(crate) fn new() -> Self {
        let given = std::env::var("IPCPERF_TEST_SEED").ok();
        let seed = given.map_or(0, |text| text.parse().expect("a number"));
        eprintln!("IPCPERF_TEST_SEED={seed}");
        Self { seed, count: 0 }
    }

    /// Those of one of several that happen at the same time.
    pub(crate) fn of(&self, place: u64) -> Self {
        Self { seed: self.seed.wrapping_add(place << 32), count: 0 }
    }

    /// A number below `limit`.
    pub(crate) fn below(&mut self, limit: u64) -> u64 {
        // splitmix64 (Steele, Lea, Flood 2014).
        self.count += 1;
        let mut word = self.seed.wrapping_add(self.count.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (word ^ (word >> 31)) % limit
    }

    pub(crate) fn wait_up_to(&mut self, most: Duration) {
        let most = u64::try_from(most.as_millis()).expect("short");
        sleep(Duration::from_millis(self.below(most)));
    }
}

fn run<'a>(words: &[&'a str]) -> Vec<&'a str> {
    [&["run"], words].concat()
}

pub(crate) fn no_panic(ended: &Ended) {
    assert!(!ended.stderr.contains("panicked"), "{}", ended.stderr);
}

/// No process of the run nor of what it started, no run directory, no kernel object; in the output folder nothing but whole
/// documents.
pub(crate) fn nothing_is_left(sandbox: &Sandbox, before: &Objects) {
    wait_for("the end of every process", || processes(sandbox).is_empty().then_some(()));
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
    let left = fs::read_dir(sandbox.temporary()).expect("a folder").flatten();
    let left: Vec<_> = left.map(|entry| entry.path()).collect();
    assert!(left.is_empty(), "{left:?}");
    for file in fs::read_dir(sandbox.home()).expect("a folder") {
        let name = file.expect("a file").file_name().into_string().expect("UTF-8");
        assert!(name.ends_with(".json") && !name.starts_with('.'), "half-written: {name}");
        let text = sandbox.read(&name).expect("it is there");
        valid(&kind_of(&text).unwrap_or_else(|| panic!("{name} is of no kind")), &text);
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
    let document = sandbox.result("part.json");
    assert_eq!(document["interrupted"], true);
    let pipe = cells(&document).iter().find(|cell| cell["mechanism"] == "pipe").expect("asked for");
    assert_eq!((&pipe["status"], &pipe["verified"]), (&"ok".into(), &true.into()));
    assert!(rounds(pipe).len() >= 2);
    nothing_is_left(&sandbox, &before);
}

#[test]
fn a_run_interrupted_at_once_explains_every_cell() {
    let sandbox = Sandbox::new();
    // No name is typed: the one that it gets says that it is not whole.
    let words = ["-m", "pipe,fifo", "--place", "same-cpu", "--slice", "60s"];
    let running = sandbox.start(&run(&words));
    // The first worker measures a bound. Signals are caught by then, and no slice ends for a minute.
    wait_for("a worker", || (!workers(&sandbox).is_empty()).then_some(()));
    signal("INT", running.child.id());
    let ended = running.end();
    assert_eq!(ended.status.code(), Some(130), "{}", ended.stderr);
    let written = fs::read_dir(sandbox.home()).expect("a folder").flatten().next();
    let name = written.expect("a result").file_name().into_string().expect("a name");
    assert!(name.starts_with("ipcperf-") && name.ends_with("Z.interrupted.json"), "{name}");
    let document = sandbox.result(&name);
    for cell in cells(&document) {
        assert_eq!(cell["status"], "skipped", "{cell}");
        assert!(cell["reason"].as_str().is_some_and(|reason| reason.contains("interrupted")));
    }
}

/// A shell ignores SIGINT for every job that a script puts into the background, and `nohup` ignores SIGHUP.
#[test]
fn a_signal_that_is_ignored_stays_ignored() {
    at_once(["INT", "TERM", "HUP"], |name| {
        let sandbox = Sandbox::new();
        let mut shell = Command::new("sh");
        let line = format!("trap '' {name}; exec \"$0\" \"$@\"");
        shell.args(["-c", &line, env!("CARGO_BIN_EXE_ipcperf")]);
        let words = ["-m", "pipe", "--place", "same-cpu", "--rounds", "2", "-o", "whole.json"];
        let running = sandbox.spawn(sandbox.surround(shell, &run(&words)));
        wait_for("a worker", || (!workers(&sandbox).is_empty()).then_some(()));
        signal(name, running.child.id());
        let ended = running.end();
        assert_eq!(ended.status.code(), Some(0), "{name}: {}", ended.stderr);
        assert_eq!(sandbox.result("whole.json")["interrupted"], false, "{name}");
    });
}

/// Asks it to end until it has; once may be before it waits.
fn interrupted_until_it_ends(child: &mut Child) -> ExitStatus {
    wait_for("the end of an interrupted program", || {
        signal("INT", child.id());
        sleep(Duration::from_millis(20));
        child.try_wait().expect("our own child")
    })
}

#[test]
fn a_wait_for_a_reader_that_never_comes_can_be_interrupted() {
    let sandbox = Sandbox::new();
    let made = Command::new("mkfifo").arg(sandbox.home().join("fifo")).status().expect("coreutils");
    assert!(made.success());
    let words = ["-m", "pipe", "--place", "same-cpu", "--rounds", "1", "--slice", "1ms"];
    let mut running = sandbox.start(&run(&[&words[..], &["-o", "fifo"]].concat()));
    has_measured(&sandbox);
    let status = interrupted_until_it_ends(&mut running.child);
    assert_eq!(status.signal(), Some(SIGINT), "{}", running.told());
}

#[test]
fn a_document_is_kept_before_anybody_reads_the_screen_and_who_never_does_can_be_left() {
    let sandbox = Sandbox::new();
    // What a pipe holds (`pipe(7)`).
    let (_reader, mut full) = std::io::pipe().expect("a pipe");
    full.write_all(&[0; 1 << 16]).expect("room");
    let words = ["-m", "pipe", "--place", "same-cpu", "--rounds", "1", "--slice", "1ms"];
    let mut command = sandbox.command(&run(&[&words[..], &["-o", "kept.json"]].concat()));
    let mut child = command.stdout(full).spawn().expect("the program starts");
    let _ = wait_for("the document", || sandbox.read("kept.json").ok());
    assert_eq!(interrupted_until_it_ends(&mut child).signal(), Some(SIGINT));
    assert_eq!(cells(&sandbox.result("kept.json")).len(), 1);
}

/// Waits until a run has begun and its own directory is gone again.
fn has_measured(sandbox: &Sandbox) {
    let count = || fs::read_dir(sandbox.run_directories()).expect("a folder").count();
    wait_for("a run directory", || (count() > 0).then_some(()));
    wait_for("the end of measuring", || (count() == 0).then_some(()));
}

/// The coordinator takes these signals from a descriptor and blocks them for it. A process that inherited that could not be
/// ended by them.
#[test]
fn neither_workers_nor_programs_inherit_blocked_signals() {
    let sandbox = Sandbox::new();
    for words in [
        &["run", "-m", "pipe", "--place", "same-cpu", "--rounds=1", "--slice=60s"][..],
        &["exec", "sleep 60", "--rounds=1"],
    ] {
        let running = sandbox.start(&[words, &["-o", "it.json"]].concat());
        let coordinator = running.child.id();
        let others = || {
            let mut all = processes(&sandbox);
            // The watch over programs has them from a descriptor as well.
            let watch = if words.contains(&"exec") { workers(&sandbox) } else { Vec::new() };
            all.retain(|pid| *pid != coordinator && !watch.contains(pid));
            (!all.is_empty()).then_some(all)
        };
        let masks = |pids: Vec<u32>| -> Option<Vec<String>> {
            let mask = |pid: u32| {
                let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
                let line = status.lines().find_map(|line| line.strip_prefix("SigBlk:"))?;
                Some(line.trim().to_owned())
            };
            pids.into_iter().map(mask).collect()
        };
        // A process has the mask of its parent until it has become another program.
        wait_for("processes that no signal is blocked in", || {
            let (all, own) = (masks(others()?)?, masks(vec![coordinator])?);
            let is_none = |mask: &String| mask.bytes().all(|digit| digit == b'0');
            // The coordinator blocks some by then: what it tries before that is not meant.
            (all.iter().all(is_none) && !own.iter().all(is_none)).then_some(())
        });
        signal("TERM", coordinator);
        running.end();
    }
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
        let document = sandbox.result("rest.json");
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

/// No descriptor is left for the next worker, neither for the cell nor for the clock at the end.
#[test]
fn a_run_that_gets_no_more_workers_keeps_what_it_measured() {
    if !can_run("prlimit", &["--core=0", "true"]) {
        return;
    }
    let (sandbox, before) = (Sandbox::new(), Objects::now());
    let words = ["-m", "pipe", "--place", "same-cpu", "--rounds", "10000"];
    let running =
        sandbox.start(&run(&[&words[..], &["--slice", "30ms", "-o", "part.json"]].concat()));
    let mut seen = BTreeSet::new();
    wait_for("two slices", || {
        seen.extend(workers(&sandbox).into_iter().filter(|pid| holds_pipes(*pid)));
        (seen.len() > 4).then_some(())
    });
    let limit = format!("--pid={}", running.child.id());
    let set = Command::new("prlimit").args([&limit, "--nofile=8:8"]).status().expect("util-linux");
    assert!(set.success());
    let ended = running.end();
    assert_eq!(ended.status.code(), Some(1), "{}", ended.stderr);
    no_panic(&ended);
    let document = sandbox.result("part.json");
    let [pipe] = cells(&document) else { panic!("one cell was asked for") };
    assert_eq!(pipe["status"], "failed");
    assert!(
        pipe["reason"].as_str().is_some_and(|why| why.contains("Too many open files")),
        "{pipe}"
    );
    assert!(rounds(pipe).len() >= 2);
    let findings = document["noise"]["findings"].to_string();
    assert!(
        findings.contains("the clock could not be measured after the last round"),
        "{findings}"
    );
    nothing_is_left(&sandbox, &before);
}

#[test]
fn a_result_that_cannot_be_where_it_was_to_be_is_kept_elsewhere() {
    let sandbox = Sandbox::new();
    let folder = sandbox.home().join("gone");
    fs::create_dir(&folder).expect("a folder");
    let words = ["-m", "pipe", "--place", "same-cpu", "--rounds", "1", "--slice", "1s"];
    let running = sandbox.start(&run(&[&words[..], &["-o", "gone/run.json"]].concat()));
    wait_for("a worker", || (!workers(&sandbox).is_empty()).then_some(()));
    fs::remove_dir(&folder).expect("it is empty");
    let ended = running.end();
    assert_eq!(ended.status.code(), Some(1), "{}", ended.stderr);
    assert!(ended.stdout.contains("pipe"), "it is shown: {}", ended.stdout);
    let told = "cannot write 'gone/run.json': No such file or directory; the result is in \
                './ipcperf-result.json'";
    assert!(ended.stderr.contains(told), "{}", ended.stderr);
    assert_eq!(cells(&sandbox.result("ipcperf-result.json")).len(), 1);
}

/// A worker of a pipe is stopped while it measures; the document, and how the run ended. `None` where the machine was so busy
/// that nobody saw such a worker in time.
fn hung(sandbox: &Sandbox, slice: &str) -> Option<(Value, Ended)> {
    let words = ["-m", "pipe,unix-stream", "--place", "same-cpu", "--rounds", "2"];
    let more = ["--slice", slice, "--warmup", "5ms", "-o", "rest.json"];
    let mut running = sandbox.start(&run(&[&words[..], &more].concat()));
    let pair = wait_for("a pair of workers with pipes, or the end", || {
        let pair = workers(sandbox);
        if pair.len() == 2 && pair.iter().all(|pid| holds_pipes(*pid)) {
            return Some(Some(pair));
        }
        running.child.try_wait().expect("our own child").map(|_| None)
    });
    signal("STOP", pair?[1]);
    let ended = running.end();
    let document = sandbox.result("rest.json");
    // It may have ended a moment before.
    let was_stopped = cells(&document)[0]["status"] != "ok";
    was_stopped.then_some((document, ended))
}

#[test]
fn a_hung_worker_ends_in_a_deadline_and_costs_its_cell_only() {
    let (sandbox, before) = (Sandbox::new(), Objects::now());
    // Where a slice was over before it was seen, the next ones are longer.
    let slices = ["100ms", "1s", "5s", "10s"];
    let (document, ended) = slices
        .iter()
        .find_map(|slice| {
            let _ = fs::remove_file(sandbox.home().join("rest.json"));
            hung(&sandbox, slice)
        })
        .expect("a worker is seen within ten seconds");
    assert_eq!(ended.status.code(), Some(1), "{}", ended.stderr);
    no_panic(&ended);
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
            let next = "run -m pipe --place same-cpu --rounds 1 --slice 1ms -o next.json";
            sandbox.done(&words(next));
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
    if let Err(error) = fs::metadata("/proc/sysvipc/msg") {
        return skipped("sysv-mq", error);
    }
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

/// What is tried to find out what a host has is made and removed within moments; a signal may come between the two. Who is
/// asked to end removes it first, and what a kill leaves is found by `clean`.
#[test]
fn a_kill_while_something_is_tried_leaves_nothing() {
    if !can_run("strace", &["-V"]) {
        return;
    }
    let by_key = ["run", "-m", "shm-ring", "--set", "shm-ring.backing=sysv", "--dry-run"];
    let tries: [(&str, &[&str]); 6] = [
        ("mkdir", &["list"]),
        ("mkdirat", &["list"]),
        ("mq_open", &["list"]),
        ("msgget", &["list"]),
        ("semget", &["list"]),
        ("shmget", &by_key),
    ];
    at_once(["KILL", "INT", "TERM"], |name| {
        let (sandbox, before) = (Sandbox::new(), Objects::now());
        for (call, words) in tries {
            let mut strace = Command::new("strace");
            let trace = format!("trace={call}");
            let inject = format!("inject={call}:signal=SIG{name}:when=1");
            strace.args(["-qq", "-o", "/dev/null", "-e", &trace, "-e", &inject]);
            strace.arg(env!("CARGO_BIN_EXE_ipcperf"));
            let ended = sandbox.spawn(sandbox.surround(strace, words)).end();
            assert!(!ended.status.success(), "{name}, {call}: {ended:?}");
            if name != "KILL" {
                sandbox.leaves_nothing();
            }
            nothing_is_left(&sandbox, &before);
        }
    });
}

/// A name that can be guessed can be taken by any other user, and what is tried under it would seem to be missing.
#[test]
fn another_user_cannot_take_the_names_that_a_probe_uses() {
    if let Err(error) = fs::metadata("/dev/shm") {
        return skipped("/dev/shm", error);
    }
    let sandbox = Sandbox::new();
    let names = "for name in ipcperf-trial-$$ ipcperf-trial-$$-0 ipcperf-trial-$$-1 ipcperf-trial-$$-2; do \
                 mkdir /dev/shm/$name $XDG_RUNTIME_DIR/$name $TMPDIR/$name; done; echo $$; exec $0 list --json";
    let mut shell = Command::new("sh");
    shell.args(["-c", names, env!("CARGO_BIN_EXE_ipcperf")]);
    let ended = sandbox.spawn(sandbox.surround(shell, &[])).end();
    let (pid, list) = ended.stdout.split_once('\n').expect("the number of the process");
    for number in ["", "-0", "-1", "-2"] {
        fs::remove_dir(format!("/dev/shm/ipcperf-trial-{pid}{number}")).expect("made above");
    }
    let available = |list: &str| -> BTreeSet<String> {
        let list: Value = serde_json::from_str(list).expect("JSON");
        let all = list["mechanisms"].as_array().expect("a list").iter();
        let here = all.filter(|one| one["available"] == true);
        here.map(|one| one["name"].to_string()).collect()
    };
    assert_eq!(available(list), available(&sandbox.run(&["list", "--json"]).stdout));
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
                sandbox.result(&name);
            }
            (Some(130), _) => assert_eq!(sandbox.result(&name)["interrupted"], true),
            // Before it catches signals there is nothing to write, and when all is written it lets them end it.
            (None, Some(SIGINT)) => {
                let is_done = |_| sandbox.result(&name)["interrupted"] == false;
                assert!(sandbox.read(&name).map_or(true, is_done), "{name}");
            }
            (None, Some(SIGKILL)) if which == "KILL" => {}
            other => panic!("attempt {attempt} ({which}): {other:?}: {}", ended.stderr),
        }
    }
    nothing_is_left(&sandbox, &before);
}

//! Faults that strike real runs at random moments. Whatever happens: nothing is left, nothing is half written, nobody
//! panics, and exit code and document tell the truth. Tests start in the order of their names; this one takes longest, so
//! its name must not come late. `cargo xtask siege --minutes N --seed S` runs it for longer.

use crate::common::{Ended, Running, Sandbox, at_once, can_run, kind_of, valid};
use crate::interruption::{Moments, no_panic, nothing_is_left};
use crate::namespaces::may_enter;
use crate::strangers::{SecondUser, Somebody, disturb, nonsense};
use crate::watch::{Objects, elsewhere, processes, signal, signal_group, workers};
use ipcperf_sys::seccomp::{self, Refusal};
use serde_json::Value;
use std::collections::BTreeMap;
use std::io::{ErrorKind, Write};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::Command;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// Runs that are struck at the same time: most of their time they wait.
const AT_ONCE: u64 = 3;

/// Each kind strikes so often where a time is given, and the siege goes on beyond that time until it has.
const FEWEST: usize = 5;

/// Only against hangs: how much longer it goes on for a kind that does not come to strike.
const PATIENCE: Duration = Duration::from_secs(1800);

/// How long a coordinator stands still that must tell of it.
const STOPPED: Duration = Duration::from_secs(3);

/// Those of the exit codes that a run without gates can have (docs/RECIPES.md).
const CODES: [i32; 7] = [0, 1, 2, 3, 5, 9, 130];

/// Runs of every pattern, of programs, of each study and of a comparison, short enough to be struck at any place.
const JOBS: [&str; 25] = [
    "run -m sysv-mq,fifo,unix-stream,posix-mq,tcp --set unix-stream.bind=path --place same-cpu",
    "run -m shm-ring/futex,mmap-queue/fcntl,eventfd,memfd,fd-pass --place same-cpu",
    "run -p stream -m pipe,sysv-mq,uring-pipe,sendfile -s 4K --place same-cpu",
    "run -p rate -m pipe,udp --rate 10% --place same-cpu",
    "run -p burst -m unix-dgram,posix-mq --burst 4 --place same-cpu",
    "run -p request -m unix-stream,shm-ring/futex --reply 256 --inflight 2 --place same-cpu",
    "run -p fan-in -m pipe,unix-dgram --peers 3 --place free",
    "run -p fan-out -m sysv-mq,posix-mq --peers 3 --place free",
    "run -p connect -m unix-stream,tcp --conns 2 --place free",
    "run -p serve -m unix-stream,tcp --conns 3 --clients 2 --style epoll,process --place free",
    "run -p serve -m unix-seqpacket --conns 4 --style threads --rate 500 --stall 20ms --place free",
    "exec 'sh -c \"setsid sleep 600 </dev/null >/dev/null 2>&1 & sleep 0.3; exec head -c 64M /dev/zero\"' cat \
     'wc -c'",
    "run -m unix-stream,pipe --place same-cpu --follow 'sh -c \"setsid sleep 600 <&- >&- & exec perl -e \\\"while (sysread STDIN, \\\\\\$m, 64) { syswrite STDOUT, ~\\\\\\$m }\\\"\"'",
    "run -m pipe,unix-stream,shm-ring/futex --follow-in all,net+pid --place same-cpu",
    "run -m tcp,udp --net veth,bridge --place same-cpu",
    "run -m pipe,shm-ring/futex --sched fifo:5,idle,lead=batch --place same-cpu",
    "run -m pipe --nice 3 --cgroup-weight 50 --place same-cpu",
    "survey --budget 2s",
    "replicate inferno --only s0.c6 --rounds 2",
    "replicate qiita --only s1.c4 --rounds 2",
    "replicate wisconsin --only s2.c7 --rounds 2",
    "replicate baeldung --only s3.c4 --rounds 2",
    "replicate marhubi --only s4.c2 --rounds 2",
    "compare --live 'pipe same-cpu' 'fifo same-cpu' --rounds 20 --slice 5ms",
    "choose -m fifo,unix-stream,posix-mq --budget 2s",
];

/// What goes wrong.
#[derive(Clone, Copy, Debug)]
enum Fault {
    /// The process that the user started gets a signal.
    Coordinator(&'static str),
    /// It is killed while programs of others run, which have started others in turn.
    CoordinatorOfPrograms,
    /// One of the processes that it started gets it: a worker or, where there is none, a program.
    Worker(&'static str),
    /// Killed while one of the ends is in other namespaces: the coordinator, or the first or last of the processes that are
    /// there: the lead, the end that entered, or who stands for it.
    Elsewhere(Victim),
    /// The coordinator alone stands still for a while.
    Paused,
    /// The same for so long that it must be told.
    Stopped,
    /// All processes of the run stand still for a while, as on a machine that is suspended.
    Suspended,
    /// What the shell takes from new files, for a user who is not root.
    Mask(&'static str),
    /// A limit of the shell, by its letter.
    Limit(&'static str, &'static str),
    /// A file system with room for so much is mounted over the place of results, of run directories, or of shared memory.
    Full(&'static str, &'static str),
    /// A system call fails.
    Refused(i64, Refusal),
    /// From then on the coordinator cannot start any process (`EAGAIN` of `fork`, `RLIMIT_NPROC`): it runs as a user who is
    /// not root.
    NoProcess,
    /// Somebody connects to every listening socket and talks.
    Stranger,
    /// Another user connects to them, too, takes names, and sends signals.
    OtherUser,
}

#[derive(Clone, Copy, Debug)]
enum Victim {
    Coordinator,
    First,
    Last,
}

use Fault::{
    Coordinator, CoordinatorOfPrograms, Elsewhere, Full, Limit, Mask, NoProcess, OtherUser, Paused,
    Refused, Stopped, Stranger, Suspended, Worker,
};

const FAULTS: [(&str, Fault); 40] = [
    ("kill the coordinator", Coordinator("KILL")),
    ("kill the coordinator of programs", CoordinatorOfPrograms),
    ("interrupt the coordinator", Coordinator("INT")),
    ("terminate the coordinator", Coordinator("TERM")),
    ("hang up on the coordinator", Coordinator("HUP")),
    ("crash the coordinator", Coordinator("SEGV")),
    ("kill a worker", Worker("KILL")),
    ("stop a worker", Worker("STOP")),
    ("terminate a worker", Worker("TERM")),
    ("crash a worker", Worker("SEGV")),
    ("kill the coordinator of ends elsewhere", Elsewhere(Victim::Coordinator)),
    ("kill the first process elsewhere", Elsewhere(Victim::First)),
    ("kill the last process elsewhere", Elsewhere(Victim::Last)),
    ("pause the coordinator", Paused),
    ("stop the coordinator", Stopped),
    ("suspend everything", Suspended),
    ("8 descriptors", Limit("n", "8")),
    ("20 descriptors", Limit("n", "20")),
    ("64 MB of addresses", Limit("v", "64000")),
    ("300 MB of addresses", Limit("v", "300000")),
    ("files of 512 bytes", Limit("f", "1")),
    ("a stack of 64 KiB", Limit("s", "64")),
    ("a umask without own write", Mask("0277")),
    ("no room for results", Full("home", "4k")),
    ("no room for run directories", Full("run", "4k")),
    ("no room for shared memory", Full("/dev/shm", "16k")),
    ("no processes left", NoProcess),
    ("no pipes left", Refused(libc::SYS_pipe2, Refusal::With(libc::EMFILE))),
    ("no sockets left", Refused(libc::SYS_socket, Refusal::With(libc::ENFILE))),
    ("no pairs of sockets left", Refused(libc::SYS_socketpair, Refusal::With(libc::ENFILE))),
    ("no memory for files in memory", Refused(libc::SYS_memfd_create, Refusal::With(libc::ENOMEM))),
    ("no eventfds left", Refused(libc::SYS_eventfd2, Refusal::With(libc::EMFILE))),
    ("no queues left", Refused(libc::SYS_mq_open, Refusal::With(libc::ENOSPC))),
    ("no room to grow a file", Refused(libc::SYS_ftruncate, Refusal::With(libc::ENOSPC))),
    ("a disk that fails to sync", Refused(libc::SYS_fsync, Refusal::With(libc::EIO))),
    ("no hard links", Refused(libc::SYS_linkat, Refusal::NotPermitted)),
    ("no affinity", Refused(libc::SYS_sched_setaffinity, Refusal::NotPermitted)),
    ("no descriptors of processes", Refused(libc::SYS_pidfd_open, Refusal::NotImplemented)),
    ("a stranger who connects", Stranger),
    ("a second user", OtherUser),
];

/// The program in the surroundings that a fault asks for, as `somebody` where it asks for that.
fn started(
    sandbox: &Sandbox,
    somebody: Option<&Somebody>,
    fault: Fault,
    words: &[&str],
) -> Running {
    let shell = |line: &str, before: &[&str]| {
        let mut command = Command::new(before.first().unwrap_or(&"sh"));
        command.args(before.get(1..).unwrap_or_default());
        command.args(["-c", line, env!("CARGO_BIN_EXE_ipcperf")]);
        sandbox.surround(command, words)
    };
    let mut command = match fault {
        Limit(letter, value) => {
            shell(&format!("ulimit -{letter} {value}; exec \"$0\" \"$@\""), &[])
        }
        Full(place, size) => {
            let place = match place {
                "home" => sandbox.home(),
                "run" => sandbox.run_directories(),
                other => other.into(),
            };
            let (place, home) = (place.display(), sandbox.home());
            let mount = format!(
                "mount -t tmpfs -o size={size},mode=1777 tmpfs '{place}' && cd '{}' && exec \"$0\" \"$@\"",
                home.display()
            );
            shell(&mount, &["unshare", "--mount", "sh"])
        }
        Mask(mask) => {
            let line = format!("umask {mask}; exec \"$0\" \"$@\"");
            let masked = ["sh", "-c", &line];
            somebody.map_or_else(|| shell(&line, &[]), |one| one.command(&masked, words))
        }
        _ => somebody.map_or_else(|| sandbox.command(words), |one| one.command(&[], words)),
    };
    command.process_group(0);
    let Refused(call, refusal) = fault else { return sandbox.spawn(command) };
    // A filter cannot be taken back, but it is a matter of threads; what this one starts inherits it.
    let inside = || {
        seccomp::refuse(&[call], refusal).expect("this kernel has filters");
        sandbox.spawn(command)
    };
    std::thread::scope(|scope| scope.spawn(inside).join().expect("it starts"))
}

/// Lets a fault strike that needs a moment; whether it did.
fn strike(
    sandbox: &Sandbox,
    somebody: Option<&Somebody>,
    fault: Fault,
    running: &Running,
    moments: &mut Moments,
) -> bool {
    let coordinator = running.child.id();
    match fault {
        Coordinator(name) => signal(name, coordinator),
        CoordinatorOfPrograms => {
            // Beside the two of ours.
            if processes(sandbox).len() < 3 {
                return false;
            }
            signal("KILL", coordinator);
        }
        Worker(name) => {
            let mut all = workers(sandbox);
            if all.is_empty() {
                all = processes(sandbox);
                all.retain(|pid| *pid != coordinator);
            }
            let Some(pid) = all.get(moments.below(all.len().max(1) as u64) as usize) else {
                return false;
            };
            signal(name, *pid);
        }
        Elsewhere(victim) => {
            // They are there for a part of each slice only.
            while elsewhere(sandbox).is_empty() {
                if !processes(sandbox).contains(&coordinator) {
                    return false;
                }
                sleep(Duration::from_millis(1));
            }
            moments.wait_up_to(Duration::from_millis(60));
            let all = elsewhere(sandbox);
            let pid = match victim {
                Victim::Coordinator => Some(&coordinator).filter(|_| !all.is_empty()),
                Victim::First => all.first(),
                Victim::Last => all.last(),
            };
            let Some(pid) = pid else { return false };
            signal("KILL", *pid);
        }
        Paused => {
            signal("STOP", coordinator);
            sleep(Duration::from_millis(50 + moments.below(400)));
            signal("CONT", coordinator);
        }
        Stopped => return stand_still(sandbox, coordinator),
        Suspended => {
            // The group of the coordinator, which its workers are in as well.
            signal_group("STOP", coordinator);
            sleep(Duration::from_millis(50 + moments.below(400)));
            signal_group("CONT", coordinator);
        }
        NoProcess => return somebody.is_some_and(|one| one.forbid_processes(coordinator)),
        Mask(_) | Limit(..) | Full(..) | Refused(..) | Stranger | OtherUser => {}
    }
    true
}

/// What the end and the document of a run must say, whatever happened to it. `was_measuring`: workers were alive when the
/// fault struck, so that signals were caught.
fn judge(
    sandbox: &Sandbox,
    (fault, job): (Fault, &str),
    was_measuring: bool,
    ended: &Ended,
) -> Result<(), String> {
    no_panic(ended);
    let told = || format!("{:?}: {}", ended.status, ended.stderr);
    let document = match sandbox.read("it.json") {
        Ok(text) => {
            let kind = kind_of(&text).ok_or("a document of no kind")?;
            Some(valid(&kind, &text))
        }
        Err(why) if why.kind() == ErrorKind::NotFound => None,
        Err(why) => return Err(format!("a document that cannot be read: {why}")),
    };
    let Some(code) = ended.status.code() else {
        let (is_meant, is_early) = match (fault, ended.status.signal()) {
            (Coordinator("KILL") | CoordinatorOfPrograms, Some(9))
            | (Elsewhere(Victim::Coordinator), Some(9))
            | (Coordinator("SEGV"), Some(11)) => (true, true),
            // Before it catches them there is nothing to write, and when all is written it lets them end it.
            (Coordinator("INT"), Some(2))
            | (Coordinator("TERM"), Some(15))
            | (Coordinator("HUP"), Some(1)) => (true, !was_measuring),
            _ => (false, false),
        };
        return match is_meant && (is_early || document.is_some()) {
            true => Ok(()),
            false => Err(told()),
        };
    };
    let interrupted = document.as_ref().map(|one| one["interrupted"] == Value::Bool(true));
    let statuses = document.as_ref().map(statuses).unwrap_or_default();
    let with = |wanted: &[&str]| statuses.iter().any(|one| wanted.contains(one));
    let goes_on = matches!(
        fault,
        Worker(_)
            | Elsewhere(Victim::First | Victim::Last)
            | Paused
            | Stopped
            | Suspended
            | Stranger
            | OtherUser
            | Refused(libc::SYS_linkat, _)
    );
    let is_asked_to_end = matches!(fault, Coordinator("INT" | "TERM" | "HUP"));
    let wrong = match (code, interrupted) {
        _ if !CODES.contains(&code) => "no code of ours",
        // In a mount of its own nobody else sees what was written.
        (0, None) if matches!(fault, Full("home", _)) => return Ok(()),
        (0, None) => "done without a document",
        (0, Some(true)) => "done, but interrupted",
        (0, _) if with(&["failed", "deadline"]) => "done, but something failed",
        (3, _) if with(&["ok"]) => "something ran",
        (130, Some(false)) => "interrupted, but done",
        (130, _) if !is_asked_to_end => "interrupted by nobody",
        // A comparison has nothing to keep before its pilot is over, and says so.
        (1 | 9 | 130, None) if ended.stderr.contains("pilot") && job.starts_with("compare") => {
            return Ok(());
        }
        (_, None) if goes_on || is_asked_to_end => "nothing is kept",
        // On one CPU nothing of some jobs can run.
        (3, _) if !statuses.is_empty() && !with(&["failed", "deadline", "skipped"]) => {
            return Ok(());
        }
        (2.., _) if goes_on => "it does not go on",
        (0, _) if matches!(fault, Stopped) && was_measuring && !tells_of_a_stop(&document) => {
            "that it was stopped is not told"
        }
        (1, _) if matches!(fault, Stranger | OtherUser) => "it does not go on",
        (1, _) if matches!(fault, NoProcess) && !names_what_was_not_started(&document, ended) => {
            "what could not be started is not named"
        }
        (1.., None) if ended.stderr.trim().is_empty() => "no reason is told",
        _ => return Ok(()),
    };
    Err(format!("{wrong}: {}", told()))
}

/// How cells, programs and arms ended, as the document has it. Of a comparison nothing is said there.
fn statuses(document: &Value) -> Vec<&str> {
    let arms = document["studies"].as_array().into_iter().flatten().map(|study| &study["arms"]);
    let lists = arms.chain([&document["cells"], &document["pipelines"]]);
    let all = lists.filter_map(Value::as_array).flatten();
    all.filter_map(|one| one["status"].as_str()).collect()
}

/// Stops the coordinator while it has workers, and lets it go on much later; whether it came to that. Stopped, it can
/// neither end nor forget one of them.
fn stand_still(sandbox: &Sandbox, coordinator: u32) -> bool {
    while processes(sandbox).contains(&coordinator) {
        signal("STOP", coordinator);
        sleep(Duration::from_millis(20));
        let has_workers = !workers(sandbox).is_empty();
        if has_workers {
            sleep(STOPPED);
        }
        signal("CONT", coordinator);
        if has_workers {
            return true;
        }
        sleep(Duration::from_millis(5));
    }
    false
}

/// Whether the document says that the coordinator was stopped. It cannot where the kernel does not say how long a process
/// waits for a CPU.
fn tells_of_a_stop(document: &Option<Value>) -> bool {
    let is_known = std::fs::read_to_string("/proc/self/schedstat").is_ok();
    let text = document.as_ref().map(Value::to_string).unwrap_or_default();
    !is_known || text.contains("ipcperf itself was stopped")
}

/// Whether it says, in the document or in its line, that a worker or which program could not be started, and why.
fn names_what_was_not_started(document: &Option<Value>, ended: &Ended) -> bool {
    let kept = document.as_ref().map(Value::to_string);
    let said = [ended.stderr.as_str(), kept.as_deref().unwrap_or_default()];
    let names = |text: &str| {
        text.contains("(ulimit -u)")
            && (text.contains("worker process: ") || text.contains(": cannot be started: "))
    };
    said.into_iter().any(names)
}

/// A document that could not be written where it was to be lies whole in the temporary directory, and is told of.
fn saved_elsewhere(sandbox: &Sandbox, ended: &Ended) {
    let path = sandbox.temporary().join("ipcperf-result.json");
    let Ok(text) = std::fs::read_to_string(&path) else { return };
    assert!(ended.stderr.contains("ipcperf-result.json"), "{}", ended.stderr);
    valid(&kind_of(&text).expect("a kind"), &text);
    std::fs::remove_file(path).expect("ours");
}

/// One run and what strikes it; whether it did.
fn attempt(fault: Fault, job: &str, moments: &mut Moments) -> Result<bool, String> {
    let (own, before) = (Sandbox::new(), Objects::now());
    let somebody = matches!(fault, NoProcess | Mask(_)).then(Somebody::new).flatten();
    let somebody = somebody.as_ref();
    let sandbox = somebody.map_or(&own, |one| &one.sandbox);
    let mut other = matches!(fault, OtherUser).then(|| SecondUser::start(sandbox)).flatten();
    let besetting = other.as_mut();
    let words = words(job);
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let is_over = AtomicBool::new(false);
    let running = started(sandbox, somebody, fault, &words);
    let coordinator = running.child.id();
    let (struck, was_measuring, ended) = std::thread::scope(|scope| {
        if matches!(fault, Stranger) {
            scope.spawn(|| disturb(sandbox, coordinator, &is_over, nonsense));
        }
        if let Some(other) = besetting {
            let is_over = &is_over;
            scope.spawn(move || other.beset(sandbox, coordinator, is_over));
        }
        moments.wait_up_to(Duration::from_millis(900));
        let was_measuring = !workers(sandbox).is_empty();
        let struck = strike(sandbox, somebody, fault, &running, moments);
        let ended = running.end();
        is_over.store(true, Ordering::Relaxed);
        (struck, was_measuring, ended)
    });
    let refused = other.map(SecondUser::end);
    somebody.into_iter().for_each(Somebody::leave);
    saved_elsewhere(sandbox, &ended);
    nothing_is_left(sandbox, &before);
    let struck = match fault {
        // A run that needed no further process was not struck.
        NoProcess => struck && ended.status.code() != Some(0),
        OtherUser => refused.is_some_and(|signals| signals > 0),
        _ => struck,
    };
    let was_measuring = if matches!(fault, Stopped) { struck } else { was_measuring };
    judge(sandbox, (fault, job), was_measuring, &ended)?;
    Ok(struck)
}

/// The faults that can be had here.
fn faults() -> Vec<(&'static str, Fault)> {
    let mount = "mount -t tmpfs tmpfs /tmp";
    let has_mounts = can_run("unshare", &["--mount", "sh", "-c", mount]);
    let has_somebody = Somebody::new().is_some();
    let sandbox = Sandbox::new();
    let has_other = SecondUser::start(&sandbox).map(SecondUser::end).is_some();
    let may_enter = may_enter(&sandbox);
    let can_be_had = |fault: Fault| match fault {
        Full(..) => has_mounts,
        NoProcess | Mask(_) => has_somebody,
        OtherUser => has_other,
        Elsewhere(_) => may_enter,
        _ => true,
    };
    FAULTS.into_iter().filter(|(_, fault)| can_be_had(*fault)).collect()
}

/// Whether a job does what the fault makes fail.
fn comes_to(fault: Fault, job: &str) -> bool {
    let names: &[&str] = match fault {
        Refused(libc::SYS_mq_open, _) => &["posix-mq", "survey"],
        Refused(libc::SYS_eventfd2, _) => &["eventfd", "survey"],
        Stranger => &["tcp", "unix-stream", "survey"],
        CoordinatorOfPrograms => &["setsid"],
        Elsewhere(_) => &["--follow-in", "--net"],
        // Of what is tried before a study or a comparison nothing is kept.
        Stopped => &["run -m", "run -p", "survey"],
        _ => return true,
    };
    names.iter().any(|name| job.contains(name))
}

/// What was tried, and what did not come out right.
#[derive(Default)]
struct Tally {
    struck: BTreeMap<&'static str, usize>,
    wrong: Vec<String>,
    longest: (Duration, String),
}

#[test]
#[expect(clippy::print_stderr, reason = "what was tried is the result of this test")]
fn whatever_strikes_nothing_is_left_and_the_truth_is_told() {
    let given = std::env::var("IPCPERF_SIEGE_SECONDS").ok().and_then(|text| text.parse().ok());
    let (time, least) =
        given.map_or((Duration::ZERO, 1), |seconds| (Duration::from_secs(seconds), FEWEST));
    let (faults, begin, moments) = (faults(), Instant::now(), Moments::new());
    let (next, tally) = (AtomicU64::new(0), Mutex::new(Tally::default()));
    let is_rare = |struck: &BTreeMap<&str, usize>, name: &str| {
        struck.get(name).is_none_or(|count| *count < least)
    };
    at_once(0..AT_ONCE, |_| {
        loop {
            let at = next.fetch_add(1, Ordering::Relaxed);
            // What is lacking here has its numbers, too: the choices of the others are the same everywhere.
            let (name, fault) = FAULTS[at as usize % FAULTS.len()];
            if !faults.iter().any(|(here, _)| *here == name) {
                continue;
            }
            {
                let mut tally = tally.lock().expect("no panic");
                let struck = &mut tally.struck;
                if begin.elapsed() >= time {
                    let are_all_done = !faults.iter().any(|(name, _)| is_rare(struck, name));
                    if are_all_done || begin.elapsed() >= time + PATIENCE {
                        break;
                    }
                    if !is_rare(struck, name) {
                        continue;
                    }
                }
                // What is under way counts until it has missed.
                *struck.entry(name).or_default() += 1;
            }
            // Its choices are those of its number, whichever thread comes to it.
            let mut moments = moments.of(at);
            let jobs: Vec<&str> = JOBS.into_iter().filter(|job| comes_to(fault, job)).collect();
            let job = jobs[moments.below(jobs.len() as u64) as usize];
            let what = format!("{at}: {name}, ipcperf {job}");
            eprintln!("striking {what}");
            let start = Instant::now();
            let result = attempt(fault, job, &mut moments);
            let mut tally = tally.lock().expect("no panic");
            *tally.struck.entry(name).or_default() -= usize::from(result == Ok(false));
            tally.longest = (start.elapsed(), what.clone()).max(tally.longest.clone());
            tally.wrong.extend(result.err().map(|why| format!("{what}: {why}")));
        }
    });
    let Tally { struck, wrong, longest } = tally.into_inner().expect("no panic");
    let next = "run -m pipe --place same-cpu --rounds 1 --slice 1ms -o next.json";
    let next = Sandbox::new().run(&next.split(' ').collect::<Vec<_>>());
    assert_eq!(next.status.code(), Some(0), "{}", next.stderr);
    for (name, count) in &struck {
        eprintln!("{count:>6}  {name}");
    }
    eprintln!("longest: {:.1} s, {}", longest.0.as_secs_f64(), longest.1);
    let all: usize = struck.values().sum();
    let fewest = struck.values().min().copied().unwrap_or(0);
    let (kinds, survived) = (struck.len(), all - wrong.len());
    let told = format!(
        "siege: {all} faults of {kinds} kinds, each at least {fewest} times; {survived} survived"
    );
    // Past the harness, which shows only what failed.
    writeln!(std::io::stderr(), "{told}").expect("standard error");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    let rare = faults.iter().map(|(name, _)| *name).filter(|name| is_rare(&struck, name));
    let rare: Vec<&str> = rare.collect();
    assert!(rare.is_empty(), "struck less than {least} times: {}", rare.join(", "));
}

/// The words of a job, with what makes it short.
fn words(job: &str) -> Vec<String> {
    let mut words = Vec::new();
    for (at, part) in job.split('\'').enumerate() {
        match at % 2 {
            0 => words.extend(part.split_whitespace().map(str::to_owned)),
            _ => words.push(part.to_owned()),
        }
    }
    if job.starts_with("run -") {
        words.extend(["--rounds=2", "--slice=20ms", "--warmup=2ms"].map(str::to_owned));
    }
    if job.starts_with("exec ") {
        words.push("--rounds=2".to_owned());
    }
    words.extend(["-o", "it.json", "--no-progress"].map(str::to_owned));
    words
}

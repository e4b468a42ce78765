//! Faults that strike real runs at random moments. Whatever happens: nothing is left, nothing is half written, nobody
//! panics, and exit code and document tell the truth. `cargo xtask siege --minutes N --seed S` runs it for longer.

use crate::common::{Ended, Running, Sandbox, at_once, schema_of, valid};
use crate::interruption::{Moments, no_panic, nothing_is_left};
use crate::watch::{Objects, signal, signal_group, workers};
use ipcperf_sys::seccomp::{self, Refusal};
use serde_json::Value;
use std::collections::BTreeMap;
use std::io::Write;
use std::net::TcpStream;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixStream};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::Command;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// Runs that are struck at the same time: most of their time they wait.
const AT_ONCE: u64 = 3;

/// Exit codes that the README names.
const CODES: [i32; 9] = [0, 1, 2, 3, 5, 7, 8, 9, 130];

/// Runs of every pattern, of programs, of a study and of a comparison, short enough to be struck at any place.
const JOBS: [&str; 12] = [
    "run -m sysv-mq,fifo,unix-stream,posix-mq,tcp --set unix-stream.bind=path --place same-cpu",
    "run -m shm-ring/futex,mmap-queue/fcntl,eventfd,memfd,fd-pass --place same-cpu",
    "run -p stream -m pipe,sysv-mq,uring-pipe,sendfile -s 4K --place same-cpu",
    "run -p rate -m pipe,udp --rate 10% --place same-cpu",
    "run -p burst -m unix-dgram,posix-mq --burst 4 --place same-cpu",
    "run -p request -m unix-stream,shm-ring/futex --reply 256 --inflight 2 --place same-cpu",
    "run -p fan-in -m pipe,unix-dgram --peers 3 --place free",
    "run -p fan-out -m sysv-mq,posix-mq --peers 3 --place free",
    "run -p connect -m unix-stream,tcp --conns 2 --place free",
    "run --exec 'head -c 64M /dev/zero' --exec cat --exec 'wc -c'",
    "survey --budget 2s",
    "replicate marhubi --only s4.c2 --rounds 2",
];

/// What goes wrong.
#[derive(Clone, Copy, Debug)]
enum Fault {
    /// The process that the user started gets a signal.
    Coordinator(&'static str),
    /// One of the processes that it started gets it.
    Worker(&'static str),
    /// All processes of the run stand still for a while, as on a machine that is suspended.
    Suspended,
    /// A limit of the shell, by its letter.
    Limit(&'static str, &'static str),
    /// A file system with room for so much is mounted over the place of results, of run directories, or of shared memory.
    Full(&'static str, &'static str),
    /// A system call fails.
    Refused(i64, Refusal),
    /// Somebody connects to every listening socket and talks.
    Stranger,
}

use Fault::{Coordinator, Full, Limit, Refused, Stranger, Suspended, Worker};

const FAULTS: [(&str, Fault); 30] = [
    ("kill the coordinator", Coordinator("KILL")),
    ("interrupt the coordinator", Coordinator("INT")),
    ("terminate the coordinator", Coordinator("TERM")),
    ("hang up on the coordinator", Coordinator("HUP")),
    ("crash the coordinator", Coordinator("SEGV")),
    ("kill a worker", Worker("KILL")),
    ("stop a worker", Worker("STOP")),
    ("terminate a worker", Worker("TERM")),
    ("crash a worker", Worker("SEGV")),
    ("suspend everything", Suspended),
    ("8 descriptors", Limit("n", "8")),
    ("20 descriptors", Limit("n", "20")),
    ("64 MB of addresses", Limit("v", "64000")),
    ("300 MB of addresses", Limit("v", "300000")),
    ("files of 512 bytes", Limit("f", "1")),
    ("a stack of 64 KiB", Limit("s", "64")),
    ("no room for results", Full("home", "4k")),
    ("no room for run directories", Full("run", "4k")),
    ("no room for shared memory", Full("/dev/shm", "16k")),
    ("no pipes left", Refused(libc::SYS_pipe2, Refusal::With(libc::EMFILE))),
    ("no sockets left", Refused(libc::SYS_socket, Refusal::With(libc::ENFILE))),
    ("no pairs of sockets left", Refused(libc::SYS_socketpair, Refusal::With(libc::ENFILE))),
    ("no memory for files in memory", Refused(libc::SYS_memfd_create, Refusal::With(libc::ENOMEM))),
    ("no eventfds left", Refused(libc::SYS_eventfd2, Refusal::With(libc::EMFILE))),
    ("no queues left", Refused(libc::SYS_mq_open, Refusal::With(libc::ENOSPC))),
    ("no room to grow a file", Refused(libc::SYS_ftruncate, Refusal::With(libc::ENOSPC))),
    ("a disk that fails to sync", Refused(libc::SYS_fsync, Refusal::With(libc::EIO))),
    ("no affinity", Refused(libc::SYS_sched_setaffinity, Refusal::NotPermitted)),
    ("no descriptors of processes", Refused(libc::SYS_pidfd_open, Refusal::NotImplemented)),
    ("a stranger who connects", Stranger),
];

/// The program in the surroundings that a fault asks for.
fn started(sandbox: &Sandbox, fault: Fault, words: &[&str]) -> Running {
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
        _ => sandbox.command(words),
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

/// Lets a fault strike that needs a moment.
fn strike(sandbox: &Sandbox, fault: Fault, running: &Running, moments: &mut Moments) {
    let coordinator = running.child.id();
    match fault {
        Coordinator(name) => signal(name, coordinator),
        Worker(name) => {
            let all = workers(sandbox);
            if let Some(pid) = all.get(moments.below(all.len().max(1) as u64) as usize) {
                signal(name, *pid);
            }
        }
        Suspended => {
            // The group of the coordinator, which its workers are in as well.
            signal_group("STOP", coordinator);
            sleep(Duration::from_millis(50 + moments.below(400)));
            signal_group("CONT", coordinator);
        }
        Limit(..) | Full(..) | Refused(..) | Stranger => {}
    }
}

/// Connects to whatever a run listens on and says something, until the run is over.
fn disturb(sandbox: &Sandbox, coordinator: u32, is_over: &AtomicBool) {
    while !is_over.load(Ordering::Relaxed) {
        let mut theirs = sockets(coordinator);
        theirs.extend(workers(sandbox).into_iter().flat_map(sockets));
        let rows = |table: &str, inode: usize| {
            let text = std::fs::read_to_string(table).unwrap_or_default();
            let rows = text.lines().skip(1).map(|line| line.split_whitespace().map(str::to_owned));
            let rows = rows.map(Iterator::collect::<Vec<String>>);
            rows.filter(|row| row.get(inode).is_some_and(|inode| theirs.contains(inode)))
                .collect::<Vec<_>>()
        };
        for row in rows("/proc/net/tcp", 9).iter().filter(|row| row[3] == "0A") {
            let port = row[1].strip_prefix("0100007F:").map(|port| u16::from_str_radix(port, 16));
            let Some(Ok(port)) = port else { continue };
            say(TcpStream::connect(("127.0.0.1", port)));
        }
        // The flag of a socket that listens (__SO_ACCEPTCON).
        for row in rows("/proc/net/unix", 6).iter().filter(|row| row[3] == "00010000") {
            let Some(name) = row.get(7) else { continue };
            say(match name.strip_prefix('@') {
                Some(name) => SocketAddr::from_abstract_name(name)
                    .and_then(|address| UnixStream::connect_addr(&address)),
                None => UnixStream::connect(name),
            });
        }
        sleep(Duration::from_millis(1));
    }
}

fn say(stream: std::io::Result<impl Write>) {
    if let Ok(mut stream) = stream {
        let _ = stream.write_all(b"I am nobody that you know.\n");
    }
}

/// The inodes of a process's sockets.
fn sockets(pid: u32) -> Vec<String> {
    let open = std::fs::read_dir(format!("/proc/{pid}/fd")).into_iter().flatten().flatten();
    let targets = open
        .filter_map(|one| std::fs::read_link(one.path()).ok()?.into_os_string().into_string().ok());
    targets
        .filter_map(|target| Some(target.strip_prefix("socket:[")?.strip_suffix(']')?.to_owned()))
        .collect()
}

/// Whether a run that is struck so goes on, or ends in good order.
fn keeps_what_it_has(fault: Fault) -> bool {
    matches!(fault, Worker(_) | Suspended | Stranger | Coordinator("INT" | "TERM" | "HUP"))
}

/// What the end and the document of a run must say, whatever happened to it.
fn judge(sandbox: &Sandbox, fault: Fault, ended: &Ended) -> Result<(), String> {
    no_panic(ended);
    let told = || format!("{:?}: {}", ended.status, ended.stderr);
    let document = match sandbox.read("it.json") {
        Ok(text) => {
            let schema = schema_of(&text).ok_or("a document of no kind")?;
            Some(valid(schema, &text))
        }
        Err(_) => None,
    };
    let number = match fault {
        Coordinator("KILL") => Some(9),
        Coordinator("SEGV") => Some(11),
        // Before it caught them there was nothing to write.
        Coordinator("INT") => Some(2),
        Coordinator("TERM") => Some(15),
        Coordinator("HUP") => Some(1),
        // The kernel ends a program that cannot even be loaded.
        Limit("v" | "s", _) => ended.status.signal(),
        _ => None,
    };
    match (ended.status.code(), ended.status.signal()) {
        (None, signal) if signal == number && document.is_none() => Ok(()),
        // Killed after the document was published.
        (None, signal) if signal == number && matches!(fault, Coordinator(_)) => Ok(()),
        // A program that cannot be loaded is told of by the loader or the shell.
        (Some(126 | 127), _) if matches!(fault, Limit(..)) && document.is_none() => Ok(()),
        (Some(code), _) if CODES.contains(&code) => {
            let interrupted = document.as_ref().map(|one| one["interrupted"] == Value::Bool(true));
            match (code, interrupted) {
                // In a mount of its own nobody else sees what was written.
                (0, None) if matches!(fault, Full("home", _)) => Ok(()),
                (0, None) => Err(format!("done without a document: {}", told())),
                (0, Some(true)) => Err(format!("done, but interrupted: {}", told())),
                (130, Some(false)) => Err(format!("interrupted, but done: {}", told())),
                (_, None) if keeps_what_it_has(fault) => {
                    Err(format!("nothing is kept: {}", told()))
                }
                (0 | 130, _) => Ok(()),
                _ if matches!(fault, Stranger) => Err(format!("it does not go on: {}", told())),
                _ if ended.stderr.trim().is_empty() && document.is_none() => {
                    Err(format!("no reason is told: {}", told()))
                }
                _ => Ok(()),
            }
        }
        _ => Err(told()),
    }
}

/// A document that could not be written where it was to be lies whole in the temporary directory, and is told of.
fn saved_elsewhere(sandbox: &Sandbox, ended: &Ended) {
    let path = sandbox.temporary().join("ipcperf-result.json");
    let Ok(text) = std::fs::read_to_string(&path) else { return };
    assert!(ended.stderr.contains("ipcperf-result.json"), "{}", ended.stderr);
    valid(schema_of(&text).expect("a kind"), &text);
    std::fs::remove_file(path).expect("ours");
}

/// One run and what strikes it.
fn attempt(name: &str, fault: Fault, job: &str, moments: &mut Moments) -> Result<(), String> {
    let (sandbox, before) = (Sandbox::new(), Objects::now());
    let words = words(job);
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let is_over = AtomicBool::new(false);
    let running = started(&sandbox, fault, &words);
    let coordinator = running.child.id();
    let ended = std::thread::scope(|scope| {
        if matches!(fault, Stranger) {
            scope.spawn(|| disturb(&sandbox, coordinator, &is_over));
        }
        moments.wait_up_to(Duration::from_millis(900));
        strike(&sandbox, fault, &running, moments);
        let ended = running.end();
        is_over.store(true, Ordering::Relaxed);
        ended
    });
    saved_elsewhere(&sandbox, &ended);
    nothing_is_left(&sandbox, &before);
    judge(&sandbox, fault, &ended).map_err(|why| format!("{name}, ipcperf {job}: {why}"))
}

#[test]
#[expect(clippy::print_stderr, reason = "what was tried is the result of this test")]
fn whatever_strikes_nothing_is_left_and_the_truth_is_told() {
    let given = |name: &str| std::env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
    let time = given("IPCPERF_SIEGE_SECONDS").map(Duration::from_secs);
    let begin = Instant::now();
    let next = AtomicUsize::new(0);
    let moments = Moments::new();
    let (struck, wrong) = (Mutex::new(BTreeMap::new()), Mutex::new(Vec::new()));
    let longest = Mutex::new((Duration::ZERO, String::new()));
    at_once(0..AT_ONCE, |place| {
        let mut moments = moments.of(place);
        loop {
            let at = next.fetch_add(1, Ordering::Relaxed);
            if time.map_or(at >= FAULTS.len(), |time| begin.elapsed() >= time) {
                break;
            }
            let (name, fault) = FAULTS[at % FAULTS.len()];
            let job = JOBS[moments.below(JOBS.len() as u64) as usize];
            let start = Instant::now();
            let result = attempt(name, fault, job, &mut moments);
            let took = (start.elapsed(), format!("{name}, ipcperf {job}"));
            let mut longest = longest.lock().expect("no panic");
            *longest = took.max(longest.clone());
            *struck.lock().expect("no panic").entry(name).or_insert(0_usize) += 1;
            wrong.lock().expect("no panic").extend(result.err());
        }
    });
    let (struck, wrong) =
        (struck.into_inner().expect("no panic"), wrong.into_inner().expect("no panic"));
    let next = "run -m pipe --place same-cpu --rounds 1 --slice 1ms -o next.json";
    let next = Sandbox::new().run(&next.split(' ').collect::<Vec<_>>());
    assert_eq!(next.status.code(), Some(0), "{}", next.stderr);
    for (name, count) in &struck {
        eprintln!("{count:>6}  {name}");
    }
    let (longest, which) = longest.into_inner().expect("no panic");
    eprintln!("longest: {:.1} s, {which}", longest.as_secs_f64());
    let all: usize = struck.values().sum();
    eprintln!("siege: {all} faults of {} kinds, {} survived", struck.len(), all - wrong.len());
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
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
    if job.starts_with("run -") && !job.contains("--exec") {
        words.extend(["--rounds=2", "--slice=20ms", "--warmup=2ms"].map(str::to_owned));
    }
    if job.contains("--exec") {
        words.push("--rounds=2".to_owned());
    }
    words.extend(["-o", "it.json", "--no-progress"].map(str::to_owned));
    words
}

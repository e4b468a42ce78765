//! Other users of the same machine, who connect to every port they can find, take names, and send signals.

use crate::common::{Ended, Sandbox, at_once, cells, is_here, skipped, valid, wait_for};
use crate::watch::workers;
use ipcperf_sys::io::socket::Kind;
use ipcperf_sys::io::socket::meeting::{self, Name};
use serde_json::Value;
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::os::fd::OwnedFd;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::os::unix::net::{SocketAddr as UnixAddress, UnixStream};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::thread::sleep;
use std::time::Duration;

/// Connects to whatever a run listens on, until the run is over; what is done then is another's choice.
pub(crate) fn disturb(
    sandbox: &Sandbox,
    coordinator: u32,
    is_over: &AtomicBool,
    mut inside: impl FnMut(File),
) {
    while !is_over.load(Ordering::Relaxed) {
        for listener in listeners(sandbox, coordinator) {
            call(&listener).into_iter().for_each(&mut inside);
        }
        sleep(Duration::from_millis(1));
    }
}

/// Nothing that anybody here waits for.
pub(crate) fn nonsense(mut to: File) {
    let _ = to.write_all(b"I am nobody that you know.\n");
}

/// Where a run listens: addresses, abstract names behind an `@`, and paths.
fn listeners(sandbox: &Sandbox, coordinator: u32) -> Vec<String> {
    let mut theirs = sockets(coordinator);
    theirs.extend(workers(sandbox).into_iter().flat_map(sockets));
    let is_theirs = |inode: Option<&String>| inode.is_some_and(|inode| theirs.contains(inode));
    let mut listeners = Vec::new();
    for (table, loopback, host) in [
        ("/proc/net/tcp", "0100007F", "127.0.0.1"),
        ("/proc/net/tcp6", "00000000000000000000000001000000", "[::1]"),
    ] {
        let listening = rows(table).into_iter();
        let listening = listening.filter(|row| row[3] == "0A" && is_theirs(row.get(9)));
        listeners.extend(listening.filter_map(|row| {
            let (_, port) = row[1].split_once(':').filter(|(at, _)| *at == loopback)?;
            Some(format!("{host}:{}", u16::from_str_radix(port, 16).ok()?))
        }));
    }
    // The flag of a socket that listens (__SO_ACCEPTCON).
    let unix = rows("/proc/net/unix").into_iter();
    let unix = unix.filter(|row| row[3] == "00010000" && is_theirs(row.get(6)));
    listeners.extend(unix.filter_map(|row| row.get(7).cloned()));
    listeners
}

/// The rows of a table of sockets. Of TCP those who listen come first, and the rest is long after many connections.
fn rows(table: &str) -> Vec<Vec<String>> {
    let Ok(table) = File::open(table) else { return Vec::new() };
    let lines = BufReader::new(table).lines().skip(1).map_while(Result::ok);
    let rows = lines.map(|line| line.split_whitespace().map(str::to_owned).collect());
    rows.take_while(|row: &Vec<String>| row.get(3).is_none_or(|state| state != "06")).collect()
}

/// The inodes of a process's sockets.
fn sockets(pid: u32) -> Vec<String> {
    let open = fs::read_dir(format!("/proc/{pid}/fd")).into_iter().flatten().flatten();
    let targets =
        open.filter_map(|one| fs::read_link(one.path()).ok()?.into_os_string().into_string().ok());
    targets
        .filter_map(|target| Some(target.strip_prefix("socket:[")?.strip_suffix(']')?.to_owned()))
        .collect()
}

/// Connects to one of [`listeners`].
fn call(listener: &str) -> io::Result<File> {
    let called = match listener.strip_prefix('@') {
        Some(name) => UnixAddress::from_abstract_name(name)
            .and_then(|at| UnixStream::connect_addr(&at))
            .map(OwnedFd::from),
        None if listener.starts_with('/') => match UnixStream::connect(listener) {
            // It keeps boundaries. Who calls there says a number that is not the peer's.
            Err(error) if error.raw_os_error() == Some(libc::EPROTOTYPE) => {
                let name = Name::Path(listener.into());
                meeting::connect_unix(Kind::SeqPacket, &name, 0)
                    .map_err(|error| io::Error::other(error.to_string()))
            }
            other => other.map(OwnedFd::from),
        },
        None => TcpStream::connect(listener).map(OwnedFd::from),
    };
    called.map(File::from)
}

/// Lets all users into the folders of a sandbox, as into the temporary directory of a machine.
pub(crate) fn open_to_all(sandbox: &Sandbox) {
    let home = sandbox.home();
    let whole = home.parent().expect("it has one").to_owned();
    for folder in [whole, home, sandbox.run_directories(), sandbox.temporary()] {
        fs::set_permissions(folder, PermissionsExt::from_mode(0o1777)).expect("ours");
    }
}

/// A user of whom nothing else runs, in a sandbox that is open to it.
pub(crate) struct Somebody {
    pub(crate) sandbox: Sandbox,
    uid: u32,
}

impl Somebody {
    /// `None` where only root can be somebody else, and this is not root.
    pub(crate) fn new() -> Option<Self> {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        // No system has users of these numbers; tests that run at the same time have others.
        let uid = 0x2000_0000 + std::process::id() % 0x100_0000 * 16;
        let somebody =
            Self { sandbox: Sandbox::new(), uid: uid + COUNT.fetch_add(1, Ordering::Relaxed) };
        open_to_all(&somebody.sandbox);
        fs::copy(env!("CARGO_BIN_EXE_ipcperf"), somebody.program()).expect("a copy");
        // A process that another thread is just starting may have it open for writing, and then nobody executes it.
        let works = |_| {
            let tried = somebody.command(&["prlimit", "--core=0"], &["--version"]).output();
            tried.is_ok_and(|output| output.status.success())
        };
        if (0..5).any(works) {
            return Some(somebody);
        }
        skipped("another user", "it takes root, setpriv and prlimit to be one");
        None
    }

    /// A copy of the program that this user may execute.
    pub(crate) fn program(&self) -> PathBuf {
        self.sandbox.home().join("ipcperf")
    }

    /// These words, as this user.
    pub(crate) fn starting(&self, words: &[&str]) -> Command {
        let mut command = Command::new("setpriv");
        let user = format!("--reuid={}", self.uid);
        command.args([&user, "--regid=65534", "--clear-groups"]).args(words);
        command
    }

    /// The program, started by these words if there are any, as this user.
    pub(crate) fn command(&self, by: &[&str], words: &[&str]) -> Command {
        let mut command = self.starting(by);
        command.arg(self.program());
        self.sandbox.surround(command, words)
    }

    pub(crate) fn run(&self, by: &[&str], words: &[&str]) -> Ended {
        self.sandbox.spawn(self.command(by, words)).end()
    }

    /// From now on this process of this user starts no other one; `false` where it cannot be told so any more.
    pub(crate) fn forbid_processes(&self, pid: u32) -> bool {
        let limited = self.starting(&["prlimit", &format!("--pid={pid}"), "--nproc=1:1"]).output();
        limited.is_ok_and(|output| output.status.success())
    }

    /// Waits for the end of all that runs as this user, and takes the program away.
    pub(crate) fn leave(&self) {
        let is_its = |entry: &fs::DirEntry| {
            let is_process =
                entry.file_name().to_str().is_some_and(|name| name.parse::<u32>().is_ok());
            is_process && entry.metadata().is_ok_and(|facts| facts.uid() == self.uid)
        };
        wait_for("the end of all processes of a user", || {
            let mut all = fs::read_dir("/proc").expect("proc is mounted").flatten();
            (!all.any(|entry| is_its(&entry))).then_some(())
        });
        fs::remove_file(self.program()).expect("a copy");
    }

    /// Ports of this host's IPv4 address on which this user waits for connections.
    fn listeners(&self) -> Vec<u16> {
        // `proc(5)`: number, local and remote address, state (0A: it listens), four fields more, then the user. Those who
        // listen come first, and the rest is long after many connections.
        let table = BufReader::new(File::open("/proc/net/tcp").expect("proc is mounted"));
        let lines = table.lines().skip(1).map_while(Result::ok);
        let rows = lines.take_while(|line| line.contains(" 0A ")).filter_map(|line| {
            let fields: Vec<&str> = line.split_whitespace().collect();
            let [_, local, _, "0A", _, _, _, user, ..] = fields[..] else { return None };
            let port = local.strip_prefix("0100007F:")?;
            (user.parse() == Ok(self.uid)).then(|| u16::from_str_radix(port, 16).ok())?
        });
        rows.collect()
    }
}

/// Runs it while a stranger does something at each of its listeners, again and again.
fn beside(
    somebody: &Somebody,
    words: &[&str],
    mut knock: impl FnMut(SocketAddr) + Send,
) -> (Ended, Value) {
    let is_over = AtomicBool::new(false);
    let ended = std::thread::scope(|scope| {
        scope.spawn(|| {
            while !is_over.load(Ordering::Relaxed) {
                for port in somebody.listeners() {
                    knock((Ipv4Addr::LOCALHOST, port).into());
                }
                sleep(Duration::from_micros(200));
            }
        });
        let ended = somebody.run(&[], words);
        is_over.store(true, Ordering::Relaxed);
        ended
    });
    let document = somebody.sandbox.read("run.json").unwrap_or_else(|_| panic!("{ended:?}"));
    (ended, valid("result", &document))
}

#[test]
fn strangers_who_connect_and_say_nothing_keep_no_cell_from_its_figures() {
    let Some(somebody) = Somebody::new() else { return };
    let words = ["run", "-m", "tcp,uring-tcp", "--place", "free", "--rounds", "3"];
    let more = ["--slice", "10ms", "--warmup", "2ms", "-o", "run.json"];
    // A listener that is open for moments is missed where much else runs.
    wait_for("a stranger", || {
        let mut held = Vec::new();
        let (ended, document) = beside(&somebody, &[&words[..], &more].concat(), |listener| {
            held.extend(TcpStream::connect_timeout(&listener, Duration::from_millis(2)));
        });
        assert_eq!(ended.status.code(), Some(0), "{}{}", ended.stdout, ended.stderr);
        for cell in cells(&document) {
            assert!(!is_here(cell) || cell["status"] == "ok", "{cell}");
        }
        (!held.is_empty()).then_some(())
    });
}

#[test]
fn strangers_at_a_server_for_single_requests_are_counted_and_told() {
    let Some(somebody) = Somebody::new() else { return };
    let words = ["run", "-m", "tcp,tcp/epoll", "-p", "connect", "--conns", "2", "--place", "free"];
    let more = ["--rounds", "3", "--slice", "50ms", "--warmup", "2ms", "-o", "run.json"];
    wait_for("a stranger at each server", || {
        let (ended, document) = beside(&somebody, &[&words[..], &more].concat(), |listener| {
            if let Ok(mut call) = TcpStream::connect_timeout(&listener, Duration::from_millis(50)) {
                let _ = call.read(&mut [0; 100]);
            }
        });
        assert_eq!(ended.status.code(), Some(0), "{}{}", ended.stdout, ended.stderr);
        let mut met = Vec::new();
        for cell in cells(&document) {
            let said = (&cell["status"], &cell["verified"]);
            assert_eq!(said, (&"ok".into(), &true.into()), "{cell}");
            met.push(cell["connect"]["server_errors"]["stranger"].as_u64().unwrap_or(0));
        }
        let findings = document["noise"]["findings"].to_string();
        let is_told = findings.contains("W-STRANGERS");
        assert_eq!(is_told, met.iter().any(|count| *count > 0), "{met:?}: {findings}");
        met.iter().all(|count| *count > 0).then_some(())
    });
}

#[test]
fn strangers_at_a_server_that_keeps_its_connections_are_turned_away() {
    let Some(somebody) = Somebody::new() else { return };
    let words = ["run", "-m", "tcp", "-p", "serve", "--conns", "64", "--place", "free"];
    let more = ["--rounds", "5", "--slice", "5ms", "--warmup", "1ms", "-o", "run.json"];
    wait_for("a stranger at the listener", || {
        let mut held = Vec::new();
        let (ended, document) = beside(&somebody, &[&words[..], &more].concat(), |listener| {
            if let Ok(mut call) = TcpStream::connect_timeout(&listener, Duration::from_millis(50)) {
                let _ = call.write_all(&[7; 100]);
                held.push(call);
            }
        });
        assert_eq!(ended.status.code(), Some(0), "{}{}", ended.stdout, ended.stderr);
        let [cell] = cells(&document) else { panic!("one cell: {document}") };
        assert_eq!((&cell["status"], &cell["verified"]), (&"ok".into(), &true.into()), "{cell}");
        assert_eq!(cell["serve"].get("server_errors"), None, "{cell}");
        (!held.is_empty()).then_some(())
    });
}

/// What somebody does who has found the listener.
#[derive(Clone, Copy, Debug)]
enum Manner {
    /// Says nothing, and stays.
    Silent,
    /// Says what nobody asked for, and hangs up.
    Nonsense,
    /// Hangs up at once.
    Gone,
}

/// Processes of the same user are strangers as well: a name in the file system and an abstract one are found by all of
/// them. The ends of a channel go on without them, and a server for single requests counts them.
#[test]
fn a_stranger_at_a_name_costs_no_cell_its_figures() {
    let manners = [Manner::Silent, Manner::Nonsense, Manner::Gone];
    let all = ["path", "abstract"].map(|bind| manners.map(|manner| (bind, manner)));
    at_once(all.concat(), |(bind, manner)| {
        wait_for("a stranger", || found(bind, manner).then_some(()));
    });
}

/// A run beside somebody who does that wherever it finds a listener; whether it found one.
fn found(bind: &str, manner: Manner) -> bool {
    let sandbox = Sandbox::new();
    let set = format!("unix-stream.bind={bind}");
    let sockets = "unix-stream,unix-stream/epoll,unix-seqpacket,tcp,tcp6";
    let words = ["run", "-m", sockets, "-p", "ping-pong,connect", "--conns", "2"];
    let more = ["--set", &set, "--set", "unix-seqpacket.bind=path", "--place", "free"];
    let brief = ["--rounds", "1", "--slice", "100ms", "--warmup", "2ms", "-o", "run.json"];
    let running = sandbox.start(&[&words[..], &more, &brief].concat());
    let (pid, is_over) = (running.child.id(), AtomicBool::new(false));
    let (mut came, mut held) = (0, Vec::new());
    let ended = std::thread::scope(|scope| {
        scope.spawn(|| {
            disturb(&sandbox, pid, &is_over, |call| {
                came += 1;
                match manner {
                    Manner::Silent => held.push(call),
                    Manner::Nonsense => nonsense(call),
                    Manner::Gone => drop(call),
                }
                held.truncate(100);
            });
        });
        let ended = running.end();
        is_over.store(true, Ordering::Relaxed);
        ended
    });
    assert_eq!(ended.status.code(), Some(0), "{bind} {manner:?}: {}", ended.stdout);
    for cell in cells(&sandbox.result("run.json")) {
        if cell["mechanism"] == "tcp6" && !is_here(cell) {
            continue;
        }
        let said = (&cell["status"], &cell["verified"]);
        assert_eq!(said, (&"ok".into(), &true.into()), "{bind} {manner:?}: {cell}");
    }
    came > 0
}

/// The user `nobody`.
const NOBODY: u32 = 65_534;

/// Where the second user may put files; who finds it in its environment is that user.
const FOLDERS: &str = "IPCPERF_TEST_FOLDERS";

/// What stands before the number of signals that it could not send.
const REFUSED: &str = "refused: ";

/// Another user: this program, started again as `nobody` for the test below, which does what it is told line by line.
pub(crate) struct SecondUser(Child);

impl SecondUser {
    /// `None` where only root can be somebody else, and this is not root.
    pub(crate) fn start(sandbox: &Sandbox) -> Option<Self> {
        open_to_all(sandbox);
        let own = [sandbox.run_directories(), sandbox.temporary()];
        let all = own.into_iter().chain(["/dev/shm", "/dev/mqueue"].map(PathBuf::from));
        // Not by its path, which may lead through folders of root.
        let mut command = Command::new("/proc/self/exe");
        command
            .args(["strangers::another_user_can_do_nothing_to_a_run", "--exact", "--nocapture"])
            .env(FOLDERS, std::env::join_paths(all).expect("no colons"))
            .uid(NOBODY)
            .gid(NOBODY)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::piped());
        match command.spawn() {
            Ok(child) => Some(Self(child)),
            Err(error) => {
                skipped("another user", error);
                None
            }
        }
    }

    /// Sets it on a run until that is over: on its listeners, on its names, and on one of its processes after the other.
    pub(crate) fn beset(&mut self, sandbox: &Sandbox, coordinator: u32, is_over: &AtomicBool) {
        let Some(orders) = &mut self.0.stdin else { return };
        for turn in 0.. {
            if is_over.load(Ordering::Relaxed) {
                break;
            }
            let mut pids = workers(sandbox);
            pids.push(coordinator);
            let calls = listeners(sandbox, coordinator)
                .into_iter()
                .map(|listener| format!("call {listener}"));
            let mut lines: Vec<String> = calls.collect();
            lines.extend(["look".to_owned(), format!("signal {}", pids[turn % pids.len()])]);
            // It has failed if it reads no more; that is told at its end.
            let _ = writeln!(orders, "{}", lines.join("\n"));
            // A few milliseconds are what it takes to follow them.
            sleep(Duration::from_millis(20));
        }
    }

    /// Has it take away all that it has put anywhere; how many signals it could not send.
    pub(crate) fn end(mut self) -> usize {
        drop(self.0.stdin.take());
        let status = wait_for("the second user", || self.0.try_wait().expect("our own child"));
        let mut told = String::new();
        let read = self.0.stderr.take().map(|mut stderr| stderr.read_to_string(&mut told));
        assert!(matches!(read, Some(Ok(_))) && status.success(), "the second user: {told}");
        let count = told.lines().find_map(|line| line.strip_prefix(REFUSED)?.parse().ok());
        count.expect("a number of signals")
    }
}

/// What the second user does.
fn second_user(folders: &OsStr) {
    let folders: Vec<PathBuf> = std::env::split_paths(folders).collect();
    let (mut own, mut held, mut refused) = (Vec::new(), Vec::new(), 0);
    // It looks like what a killed run has left.
    squat(&folders, &format!("ipcperf-0-{:016x}", std::process::id()), &mut own);
    for (turn, order) in io::stdin().lines().map_while(Result::ok).enumerate() {
        match order.split_once(' ') {
            Some(("call", listener)) => {
                let call = call(listener);
                assert!(call.is_err() || !listener.starts_with('/'), "{listener} is open to all");
                match (call, turn % 3) {
                    (Ok(call), 0) => held.push(call),
                    (Ok(call), 1) => nonsense(call),
                    // Gone at once.
                    _ => {}
                }
                held.truncate(100);
            }
            Some((_, pid)) => refused += usize::from(cannot_end(pid)),
            None => look(&folders, &mut own),
        }
    }
    for path in own {
        assert!(path.symlink_metadata().is_ok(), "{} was taken away", path.display());
        fs::remove_dir_all(&path).or_else(|_| fs::remove_file(&path)).expect("its own");
    }
    writeln!(io::stderr(), "{REFUSED}{refused}").expect("standard error");
}

/// Takes a name in each of these folders, where it is not taken.
fn squat<'a>(folders: impl IntoIterator<Item = &'a PathBuf>, name: &str, own: &mut Vec<PathBuf>) {
    for path in folders.into_iter().map(|folder| folder.join(name)) {
        // A queue, where there can be nothing else.
        if fs::create_dir(&path).or_else(|_| File::create_new(&path).map(drop)).is_ok() {
            // The mark of a run directory whose owner had locked it.
            let _ = File::create_new(path.join("locked"));
            own.push(path);
        }
    }
}

/// Tries what can be seen of runs, and takes their names wherever else they could be used.
fn look(folders: &[PathBuf], own: &mut Vec<PathBuf>) {
    for folder in folders {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            let name = entry.file_name().to_string_lossy().into_owned();
            let is_others = entry.metadata().is_ok_and(|facts| facts.uid() != NOBODY);
            if !is_of_a_run(&name) || !is_others {
                continue;
            }
            let path = entry.path();
            assert!(File::open(&path).is_err(), "{} can be opened", path.display());
            let moved = fs::rename(&path, folder.join("ipcperf-moved"));
            let removed = fs::remove_file(&path).or_else(|_| fs::remove_dir(&path));
            assert!(moved.is_err() && removed.is_err(), "{} can be taken away", path.display());
            squat(folders.iter().filter(|other| *other != folder), &name, own);
        }
    }
}

/// Run directories and objects of runs have sixteen digits in their names, and what other tests make has not.
fn is_of_a_run(name: &str) -> bool {
    let is_random =
        |part: &str| part.len() == 16 && part.bytes().all(|byte| byte.is_ascii_hexdigit());
    name.strip_prefix("ipcperf-").is_some_and(|rest| rest.split('-').any(is_random))
}

/// Whether it may not send a signal to a process, which may have ended by itself.
fn cannot_end(pid: &str) -> bool {
    let words = ["-c", "kill -s TERM \"$0\"", pid];
    let sent = Command::new("sh").args(words).env("LC_ALL", "C").output();
    let sent = sent.expect("there is a shell");
    assert!(!sent.status.success(), "process {pid} got a signal");
    String::from_utf8_lossy(&sent.stderr).contains("not permitted")
}

/// Names are taken, listeners knocked at, and signals sent, by this very test as another user.
#[test]
fn another_user_can_do_nothing_to_a_run() {
    if let Some(folders) = std::env::var_os(FOLDERS) {
        return second_user(&folders);
    }
    let sandbox = Sandbox::new();
    let Some(mut other) = SecondUser::start(&sandbox) else { return };
    let all = "tcp,uring-tcp,unix-stream,unix-dgram,posix-mq,sysv-mq,shm-ring/futex,temp-file";
    let words = ["run", "-m", all, "-p", "ping-pong,connect", "--conns", "2"];
    let named = ["unix-stream.bind=abstract", "unix-dgram.bind=path", "shm-ring.backing=dev-shm"];
    let set = named.map(|knob| ["--set", knob]).concat();
    let brief = ["--place", "free", "--rounds", "2", "--slice", "50ms", "--warmup", "2ms"];
    let running = sandbox.start(&[&words[..], &set, &brief, &["-o", "run.json"]].concat());
    let (pid, is_over) = (running.child.id(), AtomicBool::new(false));
    let ended = std::thread::scope(|scope| {
        scope.spawn(|| other.beset(&sandbox, pid, &is_over));
        let ended = running.end();
        is_over.store(true, Ordering::Relaxed);
        ended
    });
    assert!(other.end() > 0, "it came to no process");
    assert_eq!(ended.status.code(), Some(0), "{}{}", ended.stdout, ended.stderr);
    let document = sandbox.result("run.json");
    for cell in cells(&document) {
        let is_proved = cell["status"] == "ok" && cell["verified"] == true;
        let has_no_door = cell["reason"].as_str().is_some_and(|why| why.contains("no listener"));
        assert!(is_proved || has_no_door || !is_here(cell), "{cell}");
    }
    let is_ok = |cell: &&Value| cell["status"] == "ok";
    assert!(cells(&document).iter().filter(is_ok).count() > 5, "{document}");
}

/// What Kubernetes mounts as an `emptyDir` is root's, for everybody and not sticky.
#[test]
fn in_directories_for_all_that_are_not_sticky_an_ordinary_user_measures_and_cleans() {
    let Some(somebody) = Somebody::new() else { return };
    for folder in [somebody.sandbox.run_directories(), somebody.sandbox.temporary()] {
        fs::set_permissions(folder, PermissionsExt::from_mode(0o777)).expect("ours");
    }
    let words = ["run", "-m", "fifo,unix-stream,unix-seqpacket", "-p", "ping-pong,connect"];
    let named = ["--set", "unix-stream.bind=path", "--set", "unix-seqpacket.bind=path"];
    let brief = ["--conns", "2", "--place", "free", "--rounds", "3", "--slice", "10ms"];
    let ended = somebody.run(&[], &[&words[..], &named, &brief, &["-o", "run.json"]].concat());
    assert_eq!(ended.status.code(), Some(0), "{}{}", ended.stdout, ended.stderr);
    let document = valid("result", &somebody.sandbox.read("run.json").expect("written"));
    for cell in cells(&document) {
        assert!(cell["status"] != "failed" && cell["status"] != "unavailable", "{cell}");
    }
    let clean = |said: &str| {
        let cleaned = somebody.run(&[], &["clean"]);
        assert_eq!(cleaned.status.code(), Some(0), "{cleaned:?}");
        assert!(cleaned.stdout.contains(said), "{}", cleaned.stdout);
    };
    clean("nothing was left behind");
    let long = ["run", "-m", "fifo", "--rounds", "1", "--slice", "60s"];
    let mut running = somebody.sandbox.spawn(somebody.command(&[], &long));
    wait_for("a run directory", || {
        let made = fs::read_dir(somebody.sandbox.temporary()).ok()?.flatten();
        { made }.find(|one| one.path().join("locked").exists())
    });
    running.child.kill().expect("it runs");
    running.end();
    clean("removed directory");
    somebody.leave();
}

//! Other users of the same machine, who connect to every port they can find.

use crate::common::{Ended, Sandbox, at_once, cells, skipped, valid};
use crate::faults::{disturb, nonsense};
use ipcperf_report::RESULT_SCHEMA;
use serde_json::Value;
use std::fs::{self, File};
use std::io::{BufRead, BufReader, Read};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::process::Command;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::thread::sleep;
use std::time::Duration;

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
        let home = somebody.sandbox.home();
        let whole = home.parent().expect("it has one").to_owned();
        for folder in
            [whole, home.clone(), somebody.sandbox.run_directories(), somebody.sandbox.temporary()]
        {
            fs::set_permissions(folder, PermissionsExt::from_mode(0o1777)).expect("ours");
        }
        fs::copy(env!("CARGO_BIN_EXE_ipcperf"), home.join("ipcperf")).expect("a copy");
        let works = somebody.command(&[], &["--version"]).output();
        if works.is_ok_and(|output| output.status.success()) {
            return Some(somebody);
        }
        skipped("it takes root and setpriv to be another user")
    }

    /// The program, started by these words if there are any, as this user.
    fn command(&self, by: &[&str], words: &[&str]) -> Command {
        let mut command = Command::new("setpriv");
        let user = format!("--reuid={}", self.uid);
        command.args([&user, "--regid=65534", "--clear-groups"]).args(by);
        command.arg(self.sandbox.home().join("ipcperf"));
        self.sandbox.surround(command, words)
    }

    pub(crate) fn run(&self, by: &[&str], words: &[&str]) -> Ended {
        self.sandbox.spawn(self.command(by, words)).end()
    }

    /// Ports of this host's IPv4 address on which this user waits for connections.
    fn doors(&self) -> Vec<u16> {
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

/// Runs it while a stranger does something at each of its doors, again and again.
fn beside(
    somebody: &Somebody,
    words: &[&str],
    mut knock: impl FnMut(SocketAddr) + Send,
) -> (Ended, Value) {
    let is_over = AtomicBool::new(false);
    let ended = std::thread::scope(|scope| {
        scope.spawn(|| {
            while !is_over.load(Ordering::Relaxed) {
                for port in somebody.doors() {
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
    (ended, valid(RESULT_SCHEMA, &document))
}

#[test]
fn strangers_who_connect_and_say_nothing_keep_no_cell_from_its_figures() {
    let Some(somebody) = Somebody::new() else { return };
    let words = ["run", "-m", "tcp,uring-tcp", "--place", "free", "--rounds", "3"];
    let more = ["--slice", "10ms", "--warmup", "2ms", "-o", "run.json"];
    let mut held = Vec::new();
    let (ended, document) = beside(&somebody, &[&words[..], &more].concat(), |door| {
        held.extend(TcpStream::connect_timeout(&door, Duration::from_millis(2)));
    });
    assert!(!held.is_empty(), "nobody came");
    assert_eq!(ended.status.code(), Some(0), "{}{}", ended.stdout, ended.stderr);
    for cell in cells(&document) {
        let status = cell["status"].as_str().unwrap_or_default();
        assert!(matches!(status, "ok" | "unavailable"), "{cell}");
    }
}

#[test]
fn strangers_at_a_server_for_single_requests_are_counted_and_told() {
    let Some(somebody) = Somebody::new() else { return };
    let words = ["run", "-m", "tcp,tcp/epoll", "-p", "connect", "--conns", "2", "--place", "free"];
    let more = ["--rounds", "3", "--slice", "50ms", "--warmup", "2ms", "-o", "run.json"];
    let (ended, document) = beside(&somebody, &[&words[..], &more].concat(), |door| {
        if let Ok(mut call) = TcpStream::connect_timeout(&door, Duration::from_millis(50)) {
            let _ = call.read(&mut [0; 100]);
        }
    });
    assert_eq!(ended.status.code(), Some(0), "{}{}", ended.stdout, ended.stderr);
    for cell in cells(&document) {
        assert_eq!((&cell["status"], &cell["verified"]), (&"ok".into(), &true.into()), "{cell}");
        let met = &cell["connect"]["server_errors"]["stranger"];
        assert!(met.as_u64().is_some_and(|count| count > 0), "{}", cell["connect"]);
    }
    let findings = document["noise"]["findings"].to_string();
    assert!(findings.contains("W-STRANGERS"), "{findings}");
}

/// What somebody does who has found the door.
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
fn whoever_finds_a_name_and_whatever_it_does_no_cell_loses_its_figures() {
    let manners = [Manner::Silent, Manner::Nonsense, Manner::Gone];
    let all = ["path", "abstract"].map(|bind| manners.map(|manner| (bind, manner)));
    at_once(all.concat(), |(bind, manner)| {
        let sandbox = Sandbox::new();
        let set = format!("unix-stream.bind={bind}");
        let words = ["run", "-m", "unix-stream,unix-stream/epoll,tcp", "-p", "ping-pong,connect"];
        let more = ["--set", &set, "--conns", "2", "--place", "free", "--rounds", "1"];
        let brief = ["--slice", "100ms", "--warmup", "2ms", "-o", "run.json"];
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
        assert!(came > 0, "{bind} {manner:?}: nobody came");
        assert_eq!(ended.status.code(), Some(0), "{bind} {manner:?}: {}", ended.stdout);
        let document = sandbox.read("run.json").expect("it was written");
        for cell in cells(&valid(RESULT_SCHEMA, &document)) {
            let said = (&cell["status"], &cell["verified"]);
            assert_eq!(said, (&"ok".into(), &true.into()), "{bind} {manner:?}: {cell}");
        }
    });
}

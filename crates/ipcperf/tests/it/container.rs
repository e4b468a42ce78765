//! What containers, namespaces and old kernels take away: system calls, locked memory, queues, shared memory, the network,
//! privileges. The program says what is missing and measures the rest.

use crate::common::{Sandbox, at_once, cells, note, skipped, tries_all, valid};
use crate::strangers::open_to_all;
use ipcperf_sys::seccomp::{self, Refusal};
use serde_json::Value;
use std::io;
use std::process::{Command, Output};

/// The system calls of io_uring, which container runtimes refuse by default.
const IO_URING: [&str; 3] = ["io_uring_setup", "io_uring_enter", "io_uring_register"];

/// A place where the program may do less than here.
#[derive(Debug)]
struct Place {
    /// Starts the shell that prepares it.
    by: &'static str,
    /// Prepares it, in shell.
    mounts: &'static str,
    /// Starts what runs in it.
    then: &'static str,
    /// A mechanism that cannot run there, and a word of the reason.
    lacks: [(&'static str, &'static str); 2],
}

/// A tiny `/dev/shm`, no `/dev/mqueue`, 64 KiB of locked memory, as nobody.
const CONTAINER: Place = Place {
    by: "unshare --mount",
    mounts: "mount -t tmpfs -o size=1m,mode=1777 tmpfs /dev/shm && { umount -l /dev/mqueue 2>/dev/null; :; }",
    then: "exec prlimit --memlock=65536:65536 setpriv --reuid=65534 --regid=65534 --clear-groups",
    lacks: [("uring-pipe", "io_uring"), ("uring-msg-ring", "io_uring")],
};

/// What a user without rights makes of namespaces: no network, a `/dev` of only what every program needs, so neither
/// `/dev/shm` nor `/dev/mqueue`, and a `/sys` that only can be read.
const NAMESPACES: Place = Place {
    by: "setpriv --reuid=65534 --regid=65534 --clear-groups unshare --user --map-root-user --net --mount",
    mounts: "d=$TMPDIR/dev && mkdir $d && mount -n -t tmpfs tmpfs $d && \
             for n in null zero full random urandom tty; do : >$d/$n && mount -n --bind /dev/$n $d/$n || exit; done && \
             mkdir $d/pts && mount -n --rbind /dev/pts $d/pts && ln -s pts/ptmx $d/ptmx && \
             mount -n --move $d /dev && rmdir $d && mount -n -o remount,bind,ro /sys",
    then: "exec",
    lacks: [("tcp", "loopback"), ("temp-file", "/dev/shm")],
};

impl Place {
    /// Runs a line of shell in it, and without io_uring. `Err` tells why such a place cannot be had here.
    fn runs(&self, line: &str, sandbox: &Sandbox) -> Result<Output, String> {
        let whole = format!("{} && {} sh -c '{line}'", self.mounts, self.then);
        let mut by = self.by.split(' ');
        let mut command = Command::new(by.next().unwrap_or_default());
        command.args(by).args(["sh", "-c", &whole]);
        command.env("XDG_RUNTIME_DIR", sandbox.run_directories());
        command.env("TMPDIR", sandbox.temporary());
        command.current_dir(sandbox.home()).env("NO_COLOR", "1");
        let refused: Vec<i64> = seccomp::OFTEN_REFUSED
            .iter()
            .filter(|(name, _)| IO_URING.contains(name))
            .map(|(_, number)| *number)
            .collect();
        assert_eq!(refused.len(), IO_URING.len());
        without(&refused, Refusal::NotPermitted, || command.output())
            .and_then(|output| output)
            .map_err(|error| error.to_string())
    }

    /// A copy of the program where everybody may execute it; `None` with the reason where no such place can be made.
    fn made(&self) -> Option<(Sandbox, String)> {
        let sandbox = Sandbox::new();
        open_to_all(&sandbox);
        let program = sandbox.home().join("ipcperf");
        std::fs::copy(env!("CARGO_BIN_EXE_ipcperf"), &program).expect("a copy");
        let why = match self.runs("true", &sandbox) {
            Ok(output) if output.status.success() => {
                return Some((sandbox, program.display().to_string()));
            }
            Ok(output) => String::from_utf8_lossy(&output.stderr).into_owned(),
            Err(error) => error,
        };
        skipped(self.by, why);
        None
    }
}

/// Does something in a thread that these calls are refused to, and what it starts: a filter cannot be taken back.
pub(crate) fn without<T: Send>(
    calls: &[i64],
    refusal: Refusal,
    what: impl FnOnce() -> T + Send,
) -> io::Result<T> {
    let refused = || seccomp::refuse(calls, refusal).map(|()| what());
    std::thread::scope(|scope| scope.spawn(refused).join()).expect("it ends")
}

/// The mechanisms that cannot run, each with a reason of one line; and how many there are.
fn missing(list: &str) -> (Vec<(String, String)>, usize) {
    let list = valid("mechanisms", list);
    let mechanisms = list["mechanisms"].as_array().expect("a list");
    let text =
        |mechanism: &Value, key: &str| mechanism[key].as_str().unwrap_or_default().to_owned();
    let missing = mechanisms.iter().filter(|mechanism| mechanism["available"] != true);
    let missing: Vec<_> =
        missing.map(|mechanism| (text(mechanism, "name"), text(mechanism, "missing"))).collect();
    for (name, what) in &missing {
        assert!(what.len() > 10 && !what.contains('\n'), "{name}: {what}");
    }
    (missing, mechanisms.len())
}

/// Every cell is measured or says in a line what is missing; at least so many are measured.
fn is_complete(document: &str, least: usize) {
    let document = valid("result", document);
    let (ok, others): (Vec<_>, Vec<_>) =
        cells(&document).iter().partition(|cell| cell["status"] == "ok");
    assert!(ok.len() >= least, "{} cells", ok.len());
    for cell in others {
        let reason = cell["reason"].as_str().unwrap_or_default();
        if cell["status"] == "deadline" {
            note("a quiet machine", format!("{}: {reason}", cell["id"]));
            continue;
        }
        assert_eq!(cell["status"], "unavailable", "{cell}");
        assert!(reason.len() > 10 && !reason.contains('\n'), "{cell}");
    }
}

const ALL_CELLS: &str = "run -m all -p ping-pong -s 64 --place same-cpu --rounds 1 --slice 1ms --warmup 1ms \
                         --no-progress -q -o run.json";

#[test]
fn the_list_says_what_is_missing_and_ends_well() {
    for place in [CONTAINER, NAMESPACES] {
        let Some((sandbox, program)) = place.made() else { continue };
        let output = place.runs(&format!("{program} list --json"), &sandbox).expect("as before");
        let told = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success() && told.is_empty(), "{told}");
        let (missing, all) = missing(&String::from_utf8_lossy(&output.stdout));
        for (name, why) in place.lacks {
            let is_told =
                |(missing, what): &(String, String)| missing == name && what.contains(why);
            assert!(missing.iter().any(is_told), "{name}: {missing:?}");
        }
        assert!(missing.len() < all / 2, "{} of {all}", missing.len());
    }
}

#[test]
fn what_can_run_there_is_measured_and_the_rest_explained() {
    at_once([CONTAINER, NAMESPACES], |place| {
        let Some((sandbox, program)) = place.made() else { return };
        let output = place.runs(&format!("{program} {ALL_CELLS}"), &sandbox).expect("as before");
        let told = String::from_utf8_lossy(&output.stderr);
        // 1 where the machine is too busy for a cell.
        let is_over = matches!(output.status.code(), Some(0 | 1));
        assert!(is_over, "{told}{}", String::from_utf8_lossy(&output.stdout));
        is_complete(&sandbox.read("run.json").expect("it was written"), 40);
    });
}

/// Kernels that must do, 5.4 and 5.15: the number of the first system call that each does not have, and what cannot run
/// without it and those after it. Since Linux 5.1 new calls have one number on all architectures and follow each other
/// (`asm-generic/unistd.h`): 436 is `close_range`, after which came `openat2`, `pidfd_getfd`, `faccessat2` and all others,
/// 449 `futex_waitv`.
const OLD_KERNELS: [(i64, &[&str]); 2] = [(436, &["uring-msg-ring", "pidfd-getfd"]), (449, &[])];

/// This imitates calls that are missing, and not old kernels: what calls do, their flags and the operations of io_uring
/// are those of the kernel that runs.
#[test]
fn without_the_calls_that_old_kernels_lack_all_cells_are_measured_or_say_what_is_missing() {
    if let Err(error) = without(&[], Refusal::NotImplemented, || ()) {
        return skipped("seccomp", error);
    }
    at_once(OLD_KERNELS, |(first, lost)| {
        let sandbox = Sandbox::new();
        let newer: Vec<i64> = (first..first + 100).collect();
        let told = |words: &str| {
            let words: Vec<&str> = words.split_whitespace().collect();
            let ended =
                without(&newer, Refusal::NotImplemented, || sandbox.run(&words)).expect("a filter");
            // 1 where the machine is too busy for a cell.
            let measures = ["run", "survey"].contains(&words[0]);
            let is_over = ended.status.success() || measures && ended.status.code() == Some(1);
            assert!(is_over, "without {first}, {words:?}: {ended:?}");
            ended.stdout
        };
        let (here, _) = missing(&sandbox.run(&["list", "--json"]).stdout);
        let (mut there, _) = missing(&told("list --json"));
        there.retain(|mechanism| !here.contains(mechanism));
        let names: Vec<&str> = there.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, lost, "without {first}");
        valid("doctor", &told("doctor --format json"));
        // Without the older calls the newer ones are missing as well.
        if first > OLD_KERNELS[0].0 && !tries_all() {
            return;
        }
        told(ALL_CELLS);
        is_complete(&sandbox.read("run.json").expect("it was written"), 40);
        told("survey --all-equal --budget 1s -q -o survey.json");
        is_complete(&sandbox.read("survey.json").expect("it was written"), 10);
    });
}

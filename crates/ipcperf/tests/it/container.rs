//! What a container takes away: system calls, locked memory, queues, shared memory, privileges. The program says what
//! is missing and measures the rest.

use crate::common::{Sandbox, cells, skipped, valid};
use ipcperf_report::{MECHANISMS_SCHEMA, RESULT_SCHEMA};
use ipcperf_sys::seccomp::{self, Refusal};
use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Output};

/// The system calls of io_uring, which container runtimes refuse by default.
const IO_URING: [&str; 3] = ["io_uring_setup", "io_uring_enter", "io_uring_register"];

/// Runs a line of shell with a tiny `/dev/shm` of its own, no `/dev/mqueue`, 64 KiB of locked memory, as nobody, and
/// without io_uring. `Err` tells why such a place cannot be had here.
fn contained(line: &str, sandbox: &Sandbox) -> Result<Output, String> {
    let mounts = "mount -t tmpfs -o size=1m,mode=1777 tmpfs /dev/shm && { umount -l /dev/mqueue 2>/dev/null; :; }";
    let limits = "prlimit --memlock=65536:65536";
    let nobody = "setpriv --reuid=65534 --regid=65534 --clear-groups";
    let whole = format!("{mounts} && exec {limits} {nobody} sh -c '{line}'");
    let mut command = Command::new("unshare");
    command.args(["--mount", "sh", "-c", &whole]);
    command.env("XDG_RUNTIME_DIR", sandbox.run_directories()).env("TMPDIR", sandbox.temporary());
    command.current_dir(sandbox.home()).env("NO_COLOR", "1");
    let refused: Vec<i64> = seccomp::OFTEN_REFUSED
        .iter()
        .filter(|(name, _)| IO_URING.contains(name))
        .map(|(_, number)| *number)
        .collect();
    assert_eq!(refused.len(), IO_URING.len());
    // A filter cannot be taken back, but it is a matter of threads; what this one starts inherits it.
    let started = std::thread::spawn(move || {
        seccomp::refuse(&refused, Refusal::NotPermitted)
            .and_then(|()| command.output())
            .map_err(|error| error.to_string())
    });
    started.join().map_err(|_| "a panic".to_owned())?
}

/// Folders that nobody else than root made, but anybody may use.
fn open_to_all(sandbox: &Sandbox) {
    let folders = [sandbox.home(), sandbox.run_directories(), sandbox.temporary()];
    let parent = sandbox.home().parent().map(std::path::Path::to_owned);
    for folder in folders.into_iter().chain(parent) {
        std::fs::set_permissions(folder, PermissionsExt::from_mode(0o1777)).expect("ours");
    }
}

fn lacks(why: &str) -> String {
    format!("no mount namespace, prlimit or setpriv here: {why}")
}

/// A copy of the program where everybody may execute it; `None` with the reason where no such place can be made.
fn place() -> Option<(Sandbox, String)> {
    let sandbox = Sandbox::new();
    open_to_all(&sandbox);
    let program = sandbox.home().join("ipcperf");
    std::fs::copy(env!("CARGO_BIN_EXE_ipcperf"), &program).expect("a copy");
    let works = contained("true", &sandbox);
    match works {
        Ok(output) if output.status.success() => Some((sandbox, program.display().to_string())),
        Ok(output) => skipped(&lacks(&String::from_utf8_lossy(&output.stderr))),
        Err(error) => skipped(&lacks(&error)),
    }
}

#[test]
fn the_list_says_what_is_missing_and_ends_well() {
    let Some((sandbox, program)) = place() else { return };
    let output = contained(&format!("{program} list --json"), &sandbox).expect("it just worked");
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && told.is_empty(), "{told}");
    let list = valid(MECHANISMS_SCHEMA, &String::from_utf8_lossy(&output.stdout));
    let mechanisms = list["mechanisms"].as_array().expect("a list");
    let (here, missing): (Vec<_>, Vec<_>) =
        mechanisms.iter().partition(|mechanism| mechanism["available"] == true);
    for mechanism in &missing {
        let what = mechanism["missing"].as_str().unwrap_or_default();
        assert!(what.len() > 10 && !what.contains('\n'), "{mechanism}");
    }
    let is_missing = |name: &str| missing.iter().any(|mechanism| mechanism["name"] == name);
    assert!(is_missing("uring-pipe") && is_missing("uring-msg-ring"), "{missing:?}");
    assert!(here.len() > mechanisms.len() / 2, "{} of {}", here.len(), mechanisms.len());
}

#[test]
fn what_can_run_there_is_measured_and_the_rest_explained() {
    let Some((sandbox, program)) = place() else { return };
    let line = format!(
        "{program} run -m all -p ping-pong -s 64 --place same-cpu --rounds 1 --slice 1ms --warmup 1ms \
         --no-progress -q -o run.json"
    );
    let output = contained(&line, &sandbox).expect("it just worked");
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{told}{}", String::from_utf8_lossy(&output.stdout));
    let document = valid(RESULT_SCHEMA, &sandbox.read("run.json").expect("it was written"));
    for cell in cells(&document) {
        let status = cell["status"].as_str().unwrap_or_default();
        assert!(matches!(status, "ok" | "unavailable"), "{cell}");
        assert!(status == "ok" || cell["reason"].as_str().is_some_and(|why| why.len() > 10));
    }
}

//! Limits and places that a user or an administrator has set: what cannot be done under them is one line that names
//! them, and never a signal, a panic or a backtrace.

use crate::common::{Ended, Sandbox, can_run, cells, valid};
use crate::strangers::Somebody;
use ipcperf_sys::program::counts_bytes;
use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::process::Command;

const SMALL: [&str; 9] =
    ["run", "-m", "pipe", "--place", "same-cpu", "--rounds", "1", "--slice", "1ms"];

/// The program under a limit, as `prlimit` has it.
fn under(sandbox: &Sandbox, limit: &str) -> Ended {
    let mut command = Command::new("prlimit");
    command.args([limit, env!("CARGO_BIN_EXE_ipcperf")]);
    sandbox.spawn(sandbox.surround(command, &[&SMALL[..], &["-o", "run.json"]].concat())).end()
}

fn is_one_line(ended: &Ended, part: &str) {
    assert_eq!(ended.status.code(), Some(3), "{ended:?}");
    assert_eq!(ended.stderr.lines().count(), 1, "{}", ended.stderr);
    assert!(ended.stderr.starts_with("ipcperf: ") && ended.stderr.contains(part), "{ended:?}");
}

#[test]
fn a_limit_that_is_too_small_is_one_line() {
    if !can_run("prlimit", &["--core=0", "true"]) {
        return;
    }
    let sandbox = Sandbox::new();
    let line = "a stack (ulimit -s) of 64 KiB is too small: 1 MiB is the least; ";
    is_one_line(&under(&sandbox, "--stack=65536:65536"), line);
    let line = "an address space (ulimit -v) of 60 MiB is too small: 128 MiB is the least";
    is_one_line(&under(&sandbox, "--as=62914560:62914560"), line);
}

#[test]
fn a_place_whose_name_is_no_text_is_told() {
    let sandbox = Sandbox::new();
    let place = OsString::from_vec(b"no\xfftext".to_vec());
    std::fs::create_dir(sandbox.home().join(&place)).expect("a folder");
    let mut command = sandbox.command(&["run", "-m", "fifo", "--place", "free", "-o", "run.json"]);
    command.env_remove("XDG_RUNTIME_DIR").env("TMPDIR", sandbox.home().join(&place));
    command.env("COLUMNS", "1000");
    let ended = sandbox.spawn(command).end();
    assert_eq!(ended.status.code(), Some(3), "{ended:?}");
    assert!(ended.stdout.contains("its name is not UTF-8"), "{ended:?}");
}

#[test]
fn where_no_run_directory_can_be_made_the_temporary_directory_does() {
    let sandbox = Sandbox::new();
    let mut command = sandbox.command(&[&SMALL[..], &["-o", "run.json"]].concat());
    // It is root's, and takes no directories of anybody.
    command.env("XDG_RUNTIME_DIR", "/proc");
    let ended = sandbox.spawn(command).end();
    assert_eq!(ended.status.code(), Some(0), "{}", ended.stderr);
    assert_eq!(std::fs::read_dir(sandbox.temporary()).expect("a folder").count(), 0);
}

#[test]
fn a_program_that_is_replaced_while_it_runs_goes_on_as_it_was() {
    let sandbox = Sandbox::new();
    let program = sandbox.home().join("ipcperf");
    std::fs::copy(env!("CARGO_BIN_EXE_ipcperf"), &program).expect("a copy");
    let words = [&SMALL[..], &["-o", "run.json"]].concat();
    let running = sandbox.spawn(sandbox.surround(Command::new(&program), &words));
    // It is loaded by now; its workers are not.
    std::fs::remove_file(&program).expect("it was there");
    std::fs::write(&program, "no program").expect("a file");
    let ended = running.end();
    assert_eq!(ended.status.code(), Some(0), "{}{}", ended.stdout, ended.stderr);
    let document = sandbox.result("run.json");
    assert!(cells(&document).iter().all(|cell| cell["status"] == "ok"), "{document}");
}

#[test]
fn clients_that_are_more_threads_than_allowed_are_said_so_and_nobody_waits_for_them() {
    let Some(somebody) = Somebody::new() else { return };
    let words = ["run", "-m", "unix-stream", "-p", "connect", "--conns", "10", "--place", "free"];
    let more = ["--rounds", "1", "--slice", "5ms", "-o", "run.json"];
    let ended = somebody.run(&["prlimit", "--nproc=6:6"], &[&words[..], &more].concat());
    assert_eq!(ended.status.code(), Some(3), "{}{}", ended.stdout, ended.stderr);
    assert!(!ended.stderr.contains("panicked"), "{}", ended.stderr);
    let document = somebody.sandbox.result("run.json");
    let [cell] = cells(&document) else { panic!("one cell was asked for") };
    let reason = cell["reason"].as_str().unwrap_or_default();
    assert!(reason.contains("10 clients") && reason.contains("ulimit -u"), "{cell}");
}

#[test]
fn a_server_with_more_threads_or_processes_than_allowed_is_refused_before_it_starts() {
    let Some(somebody) = Somebody::new() else { return };
    for style in ["threads", "process"] {
        let words = ["run", "-m", "unix-stream", "-p", "serve", "--conns", "10", "--style", style];
        let more = ["--place", "free", "--rounds", "1", "--slice", "5ms", "-o", "run.json"];
        let ended = somebody.run(&["prlimit", "--nproc=6:6"], &[&words[..], &more].concat());
        assert_eq!(ended.status.code(), Some(3), "{}{}", ended.stdout, ended.stderr);
        let document = somebody.sandbox.result("run.json");
        let [cell] = cells(&document) else { panic!("one cell was asked for") };
        let reason = cell["reason"].as_str().unwrap_or_default();
        assert_eq!(cell["status"], "unavailable");
        assert!(reason.contains("10 connections needs 1"), "{reason}");
        assert!(reason.contains("ulimit -u") || reason.contains("prlimit"), "{reason}");
    }
}

#[test]
fn more_cells_than_anybody_can_read_are_refused_before_they_are_planned() {
    let sandbox = Sandbox::new();
    let list = |from: u32, unit: &str| {
        let words: Vec<String> =
            (from..from + 400).map(|number| format!("{number}{unit}")).collect();
        words.join(",")
    };
    let (think, packet, size) = (list(1, "us"), list(16, ""), list(16, ""));
    let words = ["run", "-m", "pipe", "--dry-run", "--think", &think];
    for (more, told) in [
        (["--packet", &packet], "400 x 400 = 160000 combinations of flags"),
        (["-s", &size], "1 x 1 x 400 x "),
    ] {
        let ended = sandbox.run(&[&words[..], &more].concat());
        assert_eq!((ended.status.code(), ended.stderr.lines().count()), (Some(2), 1), "{more:?}");
        assert!(ended.stderr.contains(told) && ended.stderr.contains("100000 are"), "{ended:?}");
    }
}

/// The account of a process that has ended is root's (`/proc/PID/io`).
#[test]
fn what_the_programs_of_an_ordinary_user_move_is_counted_as_well() {
    let Some(somebody) = Somebody::new() else { return };
    let programs = ["exec", "head -c 100000 /dev/zero", "wc -c"];
    let ended = somebody.run(&[], &[&programs[..], &["--rounds", "3", "-o", "exec.json"]].concat());
    assert_eq!(ended.status.code(), Some(0), "{}", ended.stderr);
    let document = valid("result", &somebody.sandbox.read("exec.json").expect("written"));
    let one = &document["pipelines"][0];
    if counts_bytes() {
        assert_eq!((&one["counted"], &one["bytes"]["value"]), (&"taken".into(), &100_000.0.into()));
        assert_eq!(one["proof"]["kind"], "bytes", "{one}");
    }
    somebody.leave();
}

#[test]
fn what_cannot_be_started_is_named_with_the_limit_and_what_raises_it() {
    let Some(somebody) = Somebody::new() else { return };
    let told = "head -c 1000 /dev/zero: cannot be started: this user may have 2 processes and threads (ulimit -u); \
                sudo prlimit --pid $$ --nproc=1024:1024";
    let program = ["exec", "head -c 1000 /dev/zero", "wc -c", "-o", "run.json"];
    let ended = somebody.run(&["prlimit", "--nproc=2:2"], &program);
    assert_eq!(ended.status.code(), Some(1), "{}", ended.stderr);
    let kept = somebody.sandbox.read("run.json").unwrap_or_default();
    assert!(kept.contains(told), "{kept} {}", ended.stderr);
    // Lines are broken at spaces.
    let squeezed = |text: &str| text.split_whitespace().collect::<String>();
    assert!(squeezed(&ended.stdout).contains(&squeezed(told)), "{}", ended.stdout);
    somebody.leave();
}

//! Readers that go away early, places that take no bytes, and terminals on which nothing can be drawn.

use crate::common::{Sandbox, cells, skipped};
use ipcperf_sys::io::pty::{self, Pair};
use std::fs::File;
use std::io::Read;
use std::process::{Command, Output, Stdio};

/// Runs it with a standard output whose reader has gone before the first byte.
fn unread(mut command: Command) -> Output {
    let (reader, writer) = std::io::pipe().expect("a pipe");
    drop(reader);
    command.stdout(writer).stderr(Stdio::piped()).output().expect("the program starts")
}

#[test]
fn a_reader_that_goes_away_wanted_no_more() {
    let sandbox = Sandbox::new();
    let cell = ["-m", "pipe", "--place", "same-cpu", "--rounds", "1", "--slice", "1ms"];
    let measured = [&["run"], &cell[..], &["-o", "unread.json"]].concat();
    let heard = sandbox.run(&[&["run"], &cell[..], &["-o", "result.json"]].concat());
    assert!(heard.status.success() && heard.stdout.contains("pipe"), "{}", heard.stderr);
    let commands = [
        &["--help"][..],
        &["--version"],
        &["list"],
        &["list", "--json"],
        &["describe", "pipe"],
        &["completions", "bash"],
        &["man"],
        &["clean"],
        &["survey", "--dry-run"],
        &measured,
        &["report", "result.json"],
        &["report", "result.json", "--format", "json"],
    ];
    for words in commands {
        let output = unread(sandbox.command(words));
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(0), "{words:?}: {said}");
        let result = words[0] == "run" && said == "Result: unread.json\n";
        assert!(said.is_empty() || result, "{words:?}: {said}");
    }
    assert_eq!(cells(&sandbox.result("unread.json")).len(), 1, "it was written all the same");
}

#[test]
fn nobody_listens_to_errors() {
    let sandbox = Sandbox::new();
    let (reader, writer) = std::io::pipe().expect("a pipe");
    drop(reader);
    let mut command = sandbox.command(&["run", "-m", "pip"]);
    let status = command.stdout(Stdio::null()).stderr(writer).status().expect("the program starts");
    assert_eq!(status.code(), Some(2));
}

#[test]
fn a_full_disk_is_an_error_of_one_line() {
    let sandbox = Sandbox::new();
    for words in [
        &["list"][..],
        &["describe", "pipe"],
        &["man"],
        &["survey", "--dry-run"],
        &["--help"],
        &["run", "--help"],
        &["--version"],
    ] {
        let full = File::options().write(true).open("/dev/full").expect("every Linux has it");
        let mut command = sandbox.command(words);
        let output = command.stdout(full).stderr(Stdio::piped()).output().expect("it starts");
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{words:?}: {said}");
        assert!(said.contains("No space left") && said.lines().count() == 1, "{words:?}: {said}");
    }
}

#[test]
fn a_standard_output_that_takes_nothing_is_told_before_anything_is_measured() {
    let sandbox = Sandbox::new();
    let ended = |redirected: &str, words: &[&str]| {
        let mut shell = Command::new("sh");
        let line = format!("exec \"$0\" \"$@\" {redirected}");
        shell.args(["-c", &line, env!("CARGO_BIN_EXE_ipcperf")]);
        sandbox.spawn(sandbox.surround(shell, words)).end()
    };
    let run = ["run", "-m", "pipe", "--place", "same-cpu", "--rounds", "1", "--slice", "1ms"];
    let run = [&run[..], &["-o", "run.json"]].concat();
    let all = [&["--help"][..], &["--version"], &["list"], &["man"], &["clean"], &run];
    for words in all {
        let ended = ended(">&-", words);
        assert_eq!(ended.status.code(), Some(1), "{words:?}: {}", ended.stderr);
        assert!(ended.stderr.starts_with("ipcperf: standard output is closed"), "{words:?}");
        assert_eq!(ended.stderr.lines().count(), 1, "{words:?}: {}", ended.stderr);
    }
    assert!(sandbox.read("run.json").is_err(), "it was measured");
    // Open, but not to be written to.
    for words in &all[..4] {
        let ended = ended("1</dev/null", words);
        assert_eq!(ended.status.code(), Some(1), "{words:?}: {}", ended.stderr);
        assert!(ended.stderr.contains("Bad file descriptor"), "{words:?}: {}", ended.stderr);
    }
    // Who writes to a file alone needs none.
    sandbox.done(&run);
    assert_eq!(ended(">&-", &["report", "run.json", "-o", "run.csv"]).status.code(), Some(0));
    assert_eq!(ended(">/dev/null", &["list"]).status.code(), Some(0));
}

#[test]
fn on_a_terminal_without_a_cursor_the_time_is_told_and_nothing_is_drawn() {
    let sandbox = Sandbox::new();
    let Pair { master, slave } = match pty::pair() {
        Ok(pair) => pair,
        Err(error) => return skipped("pty", error),
    };
    let words = ["run", "-m", "pipe", "--place", "same-cpu", "--rounds", "20", "-o", "run.json"];
    let mut command = sandbox.command(&words);
    let mut child =
        command.env("TERM", "dumb").stdout(Stdio::null()).stderr(slave).spawn().expect("it starts");
    // It holds the other end.
    drop(command);
    let mut said = Vec::new();
    // EIO when the last of its processes has gone.
    let _ = File::from(master).read_to_end(&mut said);
    assert!(child.wait().expect("our own child").success());
    let said = String::from_utf8(said).expect("text");
    let lines: Vec<&str> = said.lines().collect();
    let [first, "Result: run.json"] = lines[..] else { panic!("{said:?}") };
    assert!(first.starts_with("Measuring, about "), "{said:?}");
}

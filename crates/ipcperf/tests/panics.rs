//! A worker that panics, of whatever kind: its cell fails, and document and screen say where and why. This is a program of
//! its own, ipcperf with one mechanism more, whose ends panic: nothing in the program itself can be asked to.

use ipcperf_core::prelude::*;
use ipcperf_mech::stream::pipe::{Pipe, PipeOptions};
use ipcperf_mech::wait::Block;
use libtest_mimic::{Arguments, Failed, Trial};
use serde_json::Value;
use std::process::{Command, ExitCode, Output};

/// Set where this program is to be ipcperf.
const PLAYS: &str = "IPCPERF_PANICS";

/// What the panics say, behind their place: more than one line, more than is shown, and what would command a terminal.
const SAID: &str = "message 20 is \u{1b}[31mtoo much\u{202e} \"to bear\"";
const TOLD: &str = "message 20 is ?[31mtoo much? \"to bear\"";

ipcperf_core::options! {
    /// Knobs of a mechanism that panics.
    pub struct PanicOptions {
        /// The message at which an end panics that sends, 0 for the attachment.
        pub at: u64 = (20, "20", Count { min: 0, max: 1000 }),
    }
}

/// Pipes whose ends panic.
#[derive(Debug)]
struct Panics;

impl Mechanism for Panics {
    const SPEC: &'static Spec = &Spec {
        name: "panics",
        summary: "Pipes whose ends panic.",
        pitfalls: &["It is broken on purpose."],
        ..*Pipe::<Block>::SPEC
    };
    type Options = PanicOptions;
    type Port = Panicking<<Pipe<Block> as Mechanism>::Port>;
    const SHARES: bool = true;

    fn probe(_: &PanicOptions) -> Result<(), Missing> {
        Pipe::<Block>::probe(&PipeOptions::default())
    }

    fn open(shape: &Shape, _: &PanicOptions) -> Result<Link, SetupError> {
        Pipe::<Block>::open(shape, &PipeOptions::default())
    }

    fn attach(end: Attach<'_, PanicOptions>) -> Result<Self::Port, SetupError> {
        let Attach { wiring, seat, shape, meet, options } = end;
        let at = options.at;
        if at == 0 && seat == Seat::Follow {
            refuse(0);
        }
        let options = &PipeOptions::default();
        let port = Pipe::<Block>::attach(Attach { wiring, seat, shape, options, meet })?;
        Ok(Panicking { port, sent: 0, at })
    }
}

fn refuse(number: u64) -> ! {
    panic!("{}\nand {}", SAID.replace("20", &number.to_string()), "more ".repeat(200))
}

/// A port that panics at a message it sends.
#[derive(Debug)]
struct Panicking<P> {
    port: P,
    sent: u64,
    at: u64,
}

impl<P: Port> Port for Panicking<P> {
    fn send(&mut self, len: usize, fill: impl FnOnce(&mut [u8])) -> Result<(), Fault> {
        self.sent += 1;
        if self.sent == self.at {
            refuse(self.at);
        }
        self.port.send(len, fill)
    }

    fn recv<T>(
        &mut self,
        len: usize,
        take: impl FnOnce(&[u8]) -> Result<T, Fault>,
    ) -> Result<T, Fault> {
        self.port.recv(len, take)
    }

    fn flush(&mut self) -> Result<(), Fault> {
        self.port.flush()
    }

    fn finish(&mut self) -> Result<(), Fault> {
        self.port.finish()
    }
}

fn main() -> ExitCode {
    if std::env::var_os(PLAYS).is_some() {
        return ipcperf::cli(ipcperf::builtin().with::<Panics>()).run();
    }
    let runs = [
        ("ping_pong", "run -m panics --place same-cpu"),
        ("stream", "run -m panics -p stream --place same-cpu"),
        ("packets", "run -m panics -p burst --burst 2 -s 1K --packet 100 --place same-cpu"),
        ("rate", "run -m panics -p rate --rate 10% --place same-cpu"),
        ("fan_in", "run -m panics -p fan-in --peers 2 --place free"),
        ("fan_out", "run -m panics -p fan-out --peers 2 --place free"),
    ];
    let mut trials: Vec<Trial> = runs
        .into_iter()
        .map(|(name, line)| Trial::test(format!("panics_{name}"), move || is_told(line, 20)))
        .collect();
    let attaching = "run -m panics --set panics.at=0 --place same-cpu";
    trials.push(Trial::test("panics_attaching", move || is_told(attaching, 0)));
    trials.push(Trial::test("panics_in_a_study", in_a_study));
    libtest_mimic::run(&Arguments::from_args(), trials).exit_code()
}

/// Runs it in folders of its own.
fn played(folder: &tempfile::TempDir, words: &[&str]) -> Output {
    let mut command = Command::new(std::env::current_exe().expect("a program"));
    for key in ["HOME", "XDG_RUNTIME_DIR", "TMPDIR"] {
        command.env(key, folder.path());
    }
    command.env(PLAYS, "1").env("RUST_BACKTRACE", "0").args(words);
    command.args(["--no-progress", "-o", "it.json"]).current_dir(folder.path());
    command.output().expect("it starts")
}

/// The document says it of this list of cells or arms, and the screen says it.
fn says(
    folder: &tempfile::TempDir,
    output: &Output,
    list: impl Fn(&Value) -> &Value,
    number: u64,
) -> Result<(), Failed> {
    let shown = String::from_utf8_lossy(&output.stdout);
    let errors = String::from_utf8_lossy(&output.stderr);
    let text = std::fs::read_to_string(folder.path().join("it.json"))
        .map_err(|error| format!("{error}: {errors}"))?;
    let document: Value = serde_json::from_str(&text)?;
    let cell = &list(&document)[0];
    let reason = cell["reason"].as_str().unwrap_or_default();
    let told = TOLD.replace("20", &number.to_string());
    let is_right = output.status.code() == Some(1)
        && cell["status"] == "failed"
        && reason.contains("panicked at crates/ipcperf/tests/panics.rs:")
        && reason.ends_with(&told)
        && shown.split_whitespace().collect::<String>().contains(&*joined(&told));
    if is_right {
        return Ok(());
    }
    Err(format!("{:?}, {}: {reason}\n{shown}\n{errors}", output.status, cell["status"]).into())
}

/// Without spaces, since lines are broken at them.
fn joined(text: &str) -> String {
    text.split_whitespace().collect()
}

fn is_told(line: &str, number: u64) -> Result<(), Failed> {
    let folder = tempfile::tempdir().expect("a folder");
    let words: Vec<&str> = line.split(' ').collect();
    let more = ["--rounds", "1", "--slice", "5ms", "--warmup", "1ms"];
    let output = played(&folder, &[&words[..], &more].concat());
    says(&folder, &output, |document| &document["cells"], number)
}

/// An arm of a study, in a study file.
fn in_a_study() -> Result<(), Failed> {
    const STUDY: &str = r#"
name = "panicking"
prefix = "p0"
title = "A mechanism that panics"
url = "https://example.org"
date = "today"
machine = "any"
summary = "It panics."
statistic = "none"

[scale.smoke]
rounds = 1
expected = "1 s"
[scale.quick]
rounds = 1
expected = "1 s"
[scale.full]
rounds = 1
expected = "1 s"

[[arm]]
id = "panics"
label = "panics"
work = "cell"
mechanism = "panics"
pattern = "ping-pong"
size = 64
placement = "same-cpu"
"#;
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join("study.toml"), STUDY)?;
    let output = played(&folder, &["replicate", "./study.toml"]);
    says(&folder, &output, |document| &document["studies"][0]["arms"], 20)
}

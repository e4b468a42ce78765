//! A bench program, as an author has it: what it prints, what it keeps, what it is compared with, and how it ends. This is a
//! program of its own, because workers are re-executions of the bench.

use ipcperf::prelude::*;
use ipcperf_mech::stream::unix_stream::UnixStream;
use ipcperf_mech::wait::Block;
use libtest_mimic::{Arguments, Failed, Trial};
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Output};

/// Set where this program is to be a bench; its value says which.
const PLAYS: &str = "IPCPERF_BENCH_OF";

type Socket = UnixStream<Block>;

/// A UNIX stream socket under another name.
#[derive(Debug)]
struct Mine<const IS_NAMED: bool>;

impl<const IS_NAMED: bool> Mechanism for Mine<IS_NAMED> {
    const SPEC: &'static Spec = &Spec {
        name: if IS_NAMED { "mine" } else { "pipe" },
        over: Some("unix-stream"),
        ..*Socket::SPEC
    };
    type Options = <Socket as Mechanism>::Options;
    type Port = <Socket as Mechanism>::Port;

    fn probe(options: &Self::Options) -> Result<(), Missing> {
        Socket::probe(options)
    }

    fn open(shape: &Shape, options: &Self::Options) -> Result<Link, SetupError> {
        Socket::open(shape, options)
    }

    fn attach(end: Attach<'_, Self::Options>) -> Result<Self::Port, SetupError> {
        Socket::attach(end)
    }
}

fn main() -> ExitCode {
    match std::env::var(PLAYS).as_deref() {
        Ok("bench") => {
            ipcperf::bench(|b| b.mechanism::<Mine<true>>().places("same-cpu").sizes([64]))
        }
        Ok("clash") => ipcperf::bench(|b| b.mechanism::<Mine<false>>()),
        Ok("nothing") => ipcperf::bench(|b| b),
        _ => {}
    }
    let trials: [(&str, Tried); 6] = [
        ("without_bench_one_round_shows_that_each_cell_works", tries),
        ("cells_are_listed_for_people_and_for_runners_of_tests", lists),
        ("a_bench_is_compared_with_what_it_is_built_on_and_with_its_last_run", measures),
        ("what_cannot_be_asked_for_is_one_clear_error", refuses),
        ("a_gate_without_an_earlier_figure_is_undecided", is_undecided),
        ("a_bench_has_all_commands", has_commands),
    ];
    let trials = trials.into_iter().map(|(name, run)| Trial::test(name, run)).collect();
    libtest_mimic::run(&Arguments::from_args(), trials).exit_code()
}

type Tried = fn() -> Result<(), Failed>;

/// A target folder with the program in it.
struct Target {
    folder: tempfile::TempDir,
}

impl Target {
    fn new() -> Self {
        // On the same file system, so that the program need not be copied.
        let program = std::env::current_exe().expect("a program");
        let near = program.parent().expect("a folder");
        let folder = tempfile::tempdir_in(near).expect("a folder");
        fs::write(folder.path().join("CACHEDIR.TAG"), "").expect("a file");
        let deps = folder.path().join("debug/deps");
        fs::create_dir_all(&deps).expect("a folder");
        fs::hard_link(&program, deps.join("mine-0123456789abcdef")).expect("a link");
        Self { folder }
    }

    fn played(&self, bench: &str, words: &[&str]) -> (Option<i32>, String, String) {
        let folder = self.folder.path();
        let mut command = Command::new(folder.join("debug/deps/mine-0123456789abcdef"));
        for key in ["HOME", "XDG_RUNTIME_DIR", "TMPDIR"] {
            command.env(key, folder);
        }
        command.env(PLAYS, bench).env_remove("CARGO_TARGET_DIR").args(words).current_dir(folder);
        let Output { status, stdout, stderr } = command.output().expect("it starts");
        let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
        (status.code(), text(stdout), text(stderr))
    }

    fn results(&self) -> Vec<PathBuf> {
        let files = fs::read_dir(self.folder.path().join("ipcperf"));
        let mut files: Vec<PathBuf> =
            files.into_iter().flatten().map(|file| file.expect("a file").path()).collect();
        files.sort();
        files
    }
}

fn read(path: &Path) -> Value {
    serde_json::from_str(&fs::read_to_string(path).expect("a file")).expect("a document")
}

/// Fails with all that was printed.
fn ensure(holds: bool, played: &(Option<i32>, String, String)) -> Result<(), Failed> {
    if holds { Ok(()) } else { Err(format!("{:?}\n{}\n{}", played.0, played.1, played.2).into()) }
}

const SHORT: [&str; 7] = ["--bench", "--rounds", "6", "--slice", "5ms", "--warmup", "1ms"];

fn tries() -> Result<(), Failed> {
    let target = Target::new();
    let played = target.played("bench", &[]);
    let lines: Vec<&str> = played.1.lines().collect();
    let expected = [
        "test mine ping-pong 64B same-cpu ... ok",
        "test unix-stream ping-pong 64B same-cpu ... ok",
    ];
    ensure(played.0 == Some(0) && lines == expected && target.results().is_empty(), &played)
}

fn lists() -> Result<(), Failed> {
    let target = Target::new();
    for words in [
        &["--list"][..],
        &["--list", "--format", "terse"],
        &["--bench", "--list"],
        &["--list", "--include-ignored"],
        &["--list", "--skip", "128B"],
    ] {
        let played = target.played("bench", words);
        let is_listed = played.1 == "mine ping-pong 64B same-cpu: benchmark\n";
        ensure(played.0 == Some(0) && is_listed, &played)?;
    }
    for words in [&["--list", "--format", "terse", "--ignored"][..], &["--list", "--skip", "64B"]] {
        let played = target.played("bench", words);
        ensure(played.0 == Some(0) && played.1.is_empty(), &played)?;
    }
    Ok(())
}

fn measures() -> Result<(), Failed> {
    let target = Target::new();
    let first = target.played("bench", &SHORT);
    ensure(first.0 == Some(0), &first)?;
    let files = target.results();
    let [file] = files.as_slice() else { return ensure(false, &first) };
    let name = file.file_name().and_then(|name| name.to_str()).unwrap_or_default().to_owned();
    ensure(name.starts_with("mine-2") && first.2.contains(&name), &first)?;
    let document = read(file);
    let cells = document["cells"].as_array().expect("cells");
    let cell = |mechanism: &str| {
        let is_it = |cell: &&Value| cell["mechanism"] == mechanism;
        cells.iter().find(is_it).expect("both mechanisms were measured")
    };
    let (mine, bare) = (cell("mine"), cell("unix-stream"));
    ensure(mine["of_bare"]["mechanism"] == "unix-stream", &first)?;
    ensure(bare["is_reference"] == true && mine["is_reference"] != true, &first)?;
    let is_said = first.1.lines().any(|line| line.contains("mine") && line.contains("unix-stream"));
    ensure(is_said && !first.1.contains("B vs A"), &first)?;
    // The bare mechanism is measured and not judged.
    let second = target.played("bench", &[&SHORT[..], &["--fail-on", "slower:5%"]].concat());
    let is_gate = match second.0 {
        Some(0) => true,
        Some(6 | 9) => second.2.contains("--fail-on"),
        _ => false,
    };
    let shown = second.1.split_once("B vs A").map(|(_, shown)| shown).unwrap_or_default();
    ensure(is_gate && shown.contains("mine ping-pong") && !shown.contains("unix-stream"), &second)?;
    ensure(shown.contains(&name), &second)
}

fn refuses() -> Result<(), Failed> {
    let target = Target::new();
    for (bench, words, said) in [
        (
            "bench",
            &["--bench", "--against", "pip"][..],
            "unknown mechanism 'pip'; did you mean 'pipe'?",
        ),
        ("bench", &["--tmie", "3s"], "unexpected argument '--tmie' found"),
        ("bench", &["--bench", "--fail-on", "faster"], "--fail-on: "),
        ("bench", &["--bench", "--if-done", "skip"], "--if-done: name the file with -o"),
        ("bench", &["--bench", "--baseline", "no.json"], "cannot read 'no.json'"),
        ("clash", &[], "there is another mechanism 'pipe'"),
        ("nothing", &[], "this bench has no mechanism"),
    ] {
        let played = target.played(bench, words);
        let is_one_line = played.2.lines().count() == 1 && played.2.contains(said);
        ensure(played.0 == Some(2) && is_one_line && played.1.is_empty(), &played)?;
    }
    Ok(())
}

fn is_undecided() -> Result<(), Failed> {
    let target = Target::new();
    let gate = ["--fail-on", "slower:5%"];
    let none = target.played("bench", &[&["--bench", "nonsense"], &gate[..]].concat());
    ensure(none.0 == Some(9) && none.2.contains("no cell has 'nonsense' in its name"), &none)?;
    let none = target.played("bench", &["--bench", "nonsense"]);
    ensure(none.0 == Some(0), &none)?;
    let first = target.played("bench", &[&SHORT[..], &gate].concat());
    ensure(first.0 == Some(9) && first.2.contains("there is no earlier result"), &first)?;
    let more = target.played("bench", &[&SHORT[..], &["-s", "64,128"], &gate].concat());
    let lacks = "the earlier result does not have mine ping-pong 128B same-cpu";
    ensure(matches!(more.0, Some(6 | 9)) && more.2.contains(lacks), &more)
}

fn has_commands() -> Result<(), Failed> {
    let target = Target::new();
    let help = target.played("bench", &["--help"]);
    ensure(help.1.contains("[default: target/ipcperf/mine-UTC.json]"), &help)?;
    let played = target.played("bench", &["describe", "mine"]);
    ensure(
        played.0 == Some(0) && played.1.contains("A UNIX stream socket; a reader sleeps in read."),
        &played,
    )
}

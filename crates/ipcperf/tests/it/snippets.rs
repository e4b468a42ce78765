//! The programs that are printed for mechanisms: each compiles without a warning, answers, and leaves nothing behind.

use crate::common::{Ended, Sandbox, at_once, can_run, go_cache, skipped, tries_all};
use ipcperf_ask::snippets;
use ipcperf_ask::snippets::Language;
use ipcperf_core::{OptionSet, Payload};
use ipcperf_engine::registry::Entry;
use ipcperf_sys::io::queue::mqueue;
use std::fs;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

const SIZES: [u64; 3] = [1, 64, 64 << 10];
/// More than any socket buffer or queue takes in one message.
const TOO_MUCH: u64 = 32 << 20;

#[test]
fn programs_in_c_compile_answer_and_leave_nothing() {
    try_all(Language::C, "cc", &["--version"], compile_c);
}

#[test]
fn programs_in_rust_compile_answer_and_leave_nothing() {
    let with = |source: &Path, program: &Path| {
        let mut compiler = Command::new("rustc");
        compiler.args(["--edition", "2024", "-D", "warnings", "-o"]).arg(program).arg(source);
        compiler
    };
    try_all(Language::Rust, "rustc", &["--version"], with);
}

#[test]
fn programs_in_python_answer_and_leave_nothing() {
    let new_enough = ["-c", "import sys; sys.exit(sys.version_info < (3, 10))"];
    try_all(Language::Python, "python3", &new_enough, copied);
}

/// The program is its source.
fn copied(source: &Path, program: &Path) -> Command {
    let mut copy = Command::new("cp");
    copy.arg(source).arg(program);
    copy
}

#[test]
fn programs_in_go_compile_answer_and_leave_nothing() {
    let with = |source: &Path, program: &Path| {
        let mut compiler = Command::new("go");
        compiler.env("GO111MODULE", "off").env("GOCACHE", go_cache());
        compiler.args(["build", "-o"]).arg(program).arg(source);
        compiler
    };
    try_all(Language::Go, "go", &["version"], with);
}

#[test]
fn programs_in_node_answer_and_leave_nothing() {
    let new_enough =
        ["-e", "process.exit(Number(process.versions.node.split('.')[0]) < 18 ? 1 : 0)"];
    try_all(Language::Node, "node", &new_enough, copied);
}

#[test]
fn programs_in_java_answer_and_leave_nothing() {
    try_all(Language::Java, "javac", &["--release", "17", "--version"], copied);
}

/// Of most mechanisms the end of a peer is told, of the others a wait has a limit, here of a second. What sleeps for ever
/// is opening a FIFO that nobody else opens, as its program says.
#[test]
fn programs_in_c_end_with_an_error_when_the_peer_dies() {
    if !can_run("cc", &["--version"]) {
        return;
    }
    at_once(snippets::mechanisms(Language::C).filter(|name| *name != "fifo"), |name| {
        let mut text = snippets::program(name, Language::C).expect("one of the list").to_owned();
        for (ten, one) in
            [("tv_sec = 10", "tv_sec = 1"), ("+= 10", "+= 1"), ("+ 10)", "+ 1)"), ("10000", "1000")]
        {
            text = text.replace(ten, one);
        }
        let (head, tail) = text.split_once(" == 0) {").expect("what the peer does");
        let sandbox = Sandbox::new();
        let source = sandbox.temporary().join("source.c");
        fs::write(&source, format!("{head} == 0) {{ _exit(0);{tail}")).expect("our own folder");
        let program = sandbox.temporary().join("program");
        let compiled = sandbox.spawn(compile_c(&source, &program)).end();
        assert!(compiled.status.success(), "{name}: {}", compiled.stderr);
        let ended = run(&sandbox, Language::C, &program, None);
        assert_eq!((ended.stdout.as_str(), ended.status.code()), ("", Some(1)), "{name}");
        assert_eq!(ended.stderr.lines().count(), 1, "{name}: {}", ended.stderr);
    });
}

fn compile_c(source: &Path, program: &Path) -> Command {
    let mut compiler = Command::new("cc");
    compiler.args(["-O2", "-Wall", "-Wextra", "-Werror", "-o"]).arg(program).arg(source);
    compiler
}

/// Makes and runs every program of a language, where `tool` can be had.
fn try_all(
    language: Language,
    tool: &str,
    trial: &[&str],
    compile: impl Fn(&Path, &Path) -> Command,
) {
    if !can_run(tool, trial) {
        return;
    }
    let registry = ipcperf::builtin();
    let place = |name| registry.entries().iter().position(|entry| entry.spec.full_name() == name);
    assert!(snippets::mechanisms(language).map(place).is_sorted(), "in the order of the list");
    for name in snippets::mechanisms(language) {
        let entry = registry.find(name).expect("a mechanism of the list");
        let sandbox = Sandbox::new();
        let printed = sandbox.run(&["describe", name, "--snippet", language.name()]);
        assert_eq!((printed.stderr.as_str(), printed.status.code()), ("", Some(0)));
        assert_eq!(Some(printed.stdout.as_str()), snippets::program(name, language));
        let source = sandbox.temporary().join(match language {
            Language::C => "source.c",
            Language::Rust => "source.rs",
            Language::Python => "source.py",
            Language::Go => "source.go",
            Language::Node => "source.mjs",
            Language::Java => "source.java",
        });
        fs::write(&source, printed.stdout).expect("our own folder");
        let program = sandbox.temporary().join("program");
        let compiled = sandbox.spawn(compile(&source, &program)).end();
        assert!(compiled.status.success(), "{name}: {}{}", compiled.stdout, compiled.stderr);
        assert_eq!(compiled.stderr, "", "{name}");
        answers(&sandbox, language, &program, entry);
    }
}

fn answers(sandbox: &Sandbox, language: Language, program: &Path, entry: &Entry) {
    let name = entry.spec.full_name();
    let options = OptionSet::default();
    if let Err(missing) = entry.probe(&options).expect("default knobs") {
        return skipped(&name, missing);
    }
    if matches!(entry.spec.payload, Payload::Wake { .. }) {
        let ended = run(sandbox, language, program, None);
        assert_eq!((ended.stderr.as_str(), ended.status.code()), ("", Some(0)), "{name}");
        assert_eq!(ended.stdout, format!("{name}: woken and answered\n"));
        return;
    }
    let limit = entry.limit(&options).expect("default knobs").map(|limit| limit.bytes as u64);
    let mut sizes = SIZES.to_vec();
    sizes.retain(|size| limit.is_none_or(|limit| *size <= limit));
    // A runtime takes longer to start than all of its messages to move.
    let is_slow = matches!(language, Language::Java | Language::Node | Language::Python);
    if is_slow && !tries_all() {
        sizes.drain(..sizes.len() - 1);
    }
    for size in sizes {
        let ended = run(sandbox, language, program, Some(size));
        assert_eq!((ended.stderr.as_str(), ended.status.code()), ("", Some(0)), "{name} {size}");
        assert_eq!(ended.stdout, format!("{name}: {size} bytes sent, echoed and checked\n"));
    }
    if limit.is_some_and(|limit| limit < TOO_MUCH) {
        let ended = run(sandbox, language, program, Some(TOO_MUCH));
        assert_eq!((ended.stdout.as_str(), ended.status.code()), ("", Some(1)), "{name}");
        let is_told = |words| ended.stderr.contains(words);
        assert!(
            is_told("Message too long") || is_told("Invalid argument"),
            "{name}: {}",
            ended.stderr
        );
        // The other end waited for what nobody had sent, until its own wait ended.
        let has_waited = is_told("temporarily unavailable") || is_told("timed out");
        assert!(!has_waited, "{name}: {}", ended.stderr);
    }
}

/// Runs it in an empty folder; whatever it has made has to be gone with it.
fn run(sandbox: &Sandbox, language: Language, program: &Path, size: Option<u64>) -> Ended {
    let mut command = match language {
        Language::Python => {
            let mut python = Command::new("python3");
            python.args(["-W", "error"]).arg(program);
            python
        }
        // Their programs go by their names.
        Language::Node | Language::Java => {
            let (name, file) = match language {
                Language::Node => ("node", "source.mjs"),
                _ => ("java", "source.java"),
            };
            let mut command = Command::new(name);
            if language == Language::Java {
                // What runs once is not worth the second compiler's time.
                command.arg("-XX:TieredStopAtLevel=1");
            }
            command.arg(program.with_file_name(file));
            command
        }
        Language::C | Language::Rust | Language::Go => Command::new(program),
    };
    command.args(size.map(|size| size.to_string())).current_dir(sandbox.home()).process_group(0);
    let running = sandbox.spawn(command);
    let group = running.child.id();
    let ended = running.end();
    let mut left: Vec<PathBuf> = entries(&sandbox.home());
    let own = format!("example-{group}");
    left.extend(entries(Path::new("/dev/shm")).into_iter().filter(|path| {
        path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(&own))
    }));
    assert!(left.is_empty(), "{left:?}");
    for end in ["there", "back"] {
        assert_eq!(mqueue::unlink(&format!("{own}-{end}")), Ok(false), "a queue was left");
    }
    // Where the program failed, a child that nothing tells of it lives until its own wait ends.
    if ended.status.success() {
        let alive = members(group);
        assert!(alive.is_empty(), "{alive:?}");
    }
    ended
}

fn entries(folder: &Path) -> Vec<PathBuf> {
    fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path()).collect()
}

/// What lives of a process group, as `/proc` has it; the dead that wait for their parent do not.
fn members(group: u32) -> Vec<String> {
    let stat = |path: PathBuf| fs::read_to_string(path.join("stat")).ok();
    let is_alive_in_group = |stat: &String| {
        // The name, in brackets, may hold anything; behind it are state, parent and group.
        let facts = stat.rsplit_once(')').map_or("", |(_, facts)| facts);
        let facts: Vec<&str> = facts.split_whitespace().take(3).collect();
        matches!(facts[..], [state, _, of] if state != "Z" && of == group.to_string())
    };
    entries(Path::new("/proc")).into_iter().filter_map(stat).filter(is_alive_in_group).collect()
}

#[test]
fn what_has_no_program_is_told_in_a_line_with_what_has_one() {
    let sandbox = Sandbox::new();
    for (name, language, told) in [
        ("pipe/spin", "c", "no program in C for pipe/spin; the nearest that have one: pipe"),
        (
            "memfd",
            "python",
            "no program in Python for memfd; there is one in C; the nearest that have one: pipe, unix-stream, tcp, \
             unix-dgram, unix-seqpacket, eventfd, shm-sem",
        ),
        ("pipe", "rush", "unknown language 'rush'; known: c, rust, python, go, node, java"),
        ("pipe", "perl", "unknown language 'perl'; known: c, rust, python, go, node, java"),
    ] {
        let ended = sandbox.run(&["describe", name, "--snippet", language]);
        assert_eq!(ended.stderr, format!("ipcperf: {told}\n"));
        assert_eq!((ended.stdout.as_str(), ended.status.code()), ("", Some(2)));
    }
}

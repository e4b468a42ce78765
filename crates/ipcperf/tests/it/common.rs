//! The program in surroundings of its own: home, working folder and run directories nobody else uses.

use ipcperf_sys::signals;
pub(crate) use ipcperf_sys::skipped::{note, skipped};
use ipcperf_testing::schema::{errors, schema};
use serde_json::Value;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// Only against hangs: whatever takes longer than this does not end at all. The largest study takes three minutes of a
/// machine that has four times as much to do as it can.
const DEADLINE: Duration = Duration::from_secs(600);

/// Tries again until `attempt` gives something, or fails as a hang would.
pub(crate) fn wait_for<T>(what: &str, mut attempt: impl FnMut() -> Option<T>) -> T {
    let begin = Instant::now();
    loop {
        if let Some(found) = attempt() {
            return found;
        }
        assert!(begin.elapsed() < DEADLINE, "timed out waiting for {what}");
        sleep(Duration::from_millis(1));
    }
}

/// Does `job` with all of them at the same time: what mostly waits need not wait in turn.
pub(crate) fn at_once<T: Send>(all: impl IntoIterator<Item = T>, job: impl Fn(T) + Sync) {
    let job = &job;
    std::thread::scope(|scope| {
        // Of the same name: it is what a skip is told of.
        let test = std::thread::current().name().unwrap_or_default().to_owned();
        let start = |one| {
            let thread = std::thread::Builder::new().name(test.clone());
            thread.spawn_scoped(scope, || job(one)).expect("a thread")
        };
        let all: Vec<_> = all.into_iter().map(start).collect();
        for one in all {
            // With its own words: those of the scope name nothing.
            one.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        }
    });
}

/// Whether every combination is tried, as `.ci/long` does. Other runs try what shows each fault once.
pub(crate) fn tries_all() -> bool {
    std::env::var_os("IPCPERF_LONG_CASES").is_some_and(|on| on == "1")
}

/// Where Go keeps what it has compiled. Its standard library takes 8 s of CPU time, once for all tests.
pub(crate) fn go_cache() -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join("go")
}

/// Whether a tool can be had; where not, the test is skipped.
pub(crate) fn can_run(tool: &str, trial: &[&str]) -> bool {
    let why = match Command::new(tool).args(trial).output() {
        Ok(output) if output.status.success() => return true,
        Ok(output) if output.stderr.is_empty() => "it is too old".to_owned(),
        Ok(output) => String::from_utf8_lossy(&output.stderr).into_owned(),
        Err(error) => error.to_string(),
    };
    skipped(tool, why);
    false
}

/// Folders of one test, removed with it.
#[derive(Debug)]
pub(crate) struct Sandbox {
    folder: TempDir,
}

/// A program that runs. Dropping it kills it, so that a failed test leaves nothing.
#[derive(Debug)]
pub(crate) struct Running {
    pub(crate) child: Child,
    stdout: PathBuf,
    stderr: PathBuf,
}

/// How a program ended and what it said.
#[derive(Debug)]
pub(crate) struct Ended {
    pub(crate) status: ExitStatus,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Sandbox {
    pub(crate) fn new() -> Self {
        // A shell ignores it for tests in the background.
        signals::heed_interrupt();
        let sandbox = Self { folder: TempDir::new().expect("a temporary folder") };
        for folder in
            [sandbox.home(), sandbox.run_directories(), sandbox.temporary(), sandbox.said()]
        {
            fs::create_dir(folder).expect("a folder in the temporary folder");
        }
        sandbox
    }

    /// Home directory and working folder.
    pub(crate) fn home(&self) -> PathBuf {
        self.folder.path().join("home")
    }

    /// `XDG_RUNTIME_DIR`.
    pub(crate) fn run_directories(&self) -> PathBuf {
        self.folder.path().join("run")
    }

    /// `TMPDIR`.
    pub(crate) fn temporary(&self) -> PathBuf {
        self.folder.path().join("tmp")
    }

    /// What the programs say is kept here.
    fn said(&self) -> PathBuf {
        self.folder.path().join("said")
    }

    /// The program, not yet started.
    pub(crate) fn command(&self, words: &[&str]) -> Command {
        self.surround(Command::new(env!("CARGO_BIN_EXE_ipcperf")), words)
    }

    /// Anything that starts the program, in the program's surroundings.
    pub(crate) fn surround(&self, mut command: Command, words: &[&str]) -> Command {
        command
            .args(words)
            .current_dir(self.home())
            .env("HOME", self.home())
            .env("XDG_RUNTIME_DIR", self.run_directories())
            .env("TMPDIR", self.temporary())
            .env_remove("XDG_CACHE_HOME")
            .env_remove("IPCPERF_LABELS")
            .stdin(Stdio::null());
        command
    }

    /// Starts it. Its output goes to files: a pipe that nobody reads would stop it.
    pub(crate) fn start(&self, words: &[&str]) -> Running {
        self.spawn(self.command(words))
    }

    /// Starts a command that is ready but for its output.
    pub(crate) fn spawn(&self, mut command: Command) -> Running {
        let said = tempfile::tempdir_in(self.said()).expect("a folder").keep();
        let [stdout, stderr] = ["stdout", "stderr"].map(|name| said.join(name));
        let file = |path: &Path| File::create(path).expect("a file");
        command.stdout(file(&stdout)).stderr(file(&stderr));
        // A child of another test that has not executed its program yet still has a copy open that this test has written.
        let mut started = command.spawn();
        for _ in 0..500 {
            let is_busy = |error: &io::Error| error.kind() == io::ErrorKind::ExecutableFileBusy;
            if !started.as_ref().is_err_and(is_busy) {
                break;
            }
            sleep(Duration::from_millis(10));
            started = command.spawn();
        }
        let child = started.expect("the program starts");
        Running { child, stdout, stderr }
    }

    /// Builds a program in the working folder by such a command of a compiler that is there.
    pub(crate) fn builds(&self, compiler: &str, words: &[&str]) {
        let mut command = Command::new(compiler);
        command.args(words).current_dir(self.home());
        command.env("GO111MODULE", "off").env("GOCACHE", go_cache());
        let built = command.output().expect("it was tried before");
        assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
    }

    /// With a server and a client in C, whose traffic is known to the byte; `None` without a compiler.
    pub(crate) fn of_pair() -> Option<Self> {
        const SOURCE: &str =
            concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/fixtures/programs/pair.c");
        if !can_run("cc", &["--version"]) {
            return None;
        }
        let sandbox = Self::new();
        sandbox.builds("cc", &["-O2", "-Wall", "-Werror", "-o", "server", SOURCE]);
        let copied = fs::copy(sandbox.home().join("server"), sandbox.home().join("client"));
        copied.expect("a program");
        Some(sandbox)
    }

    /// Runs it to its end.
    pub(crate) fn run(&self, words: &[&str]) -> Ended {
        self.start(words).end()
    }

    /// Runs it to a good end.
    pub(crate) fn done(&self, words: &[&str]) -> Ended {
        let ended = self.run(words);
        // What is printed says which cells failed, and of what.
        let said = format!("{}{}", ended.stderr, ended.stdout);
        assert_eq!(ended.status.code(), Some(0), "{words:?}: {said}");
        ended
    }

    /// Runs what it must refuse, in one line with these words in it.
    pub(crate) fn refuses(&self, words: &[&str], told: &str) {
        let ended = self.run(words);
        let seen = (ended.status.code(), ended.stdout.as_str(), ended.stderr.lines().count());
        assert_eq!(seen, (Some(2), "", 1), "{words:?}: {}", ended.stderr);
        assert!(ended.stderr.contains(told), "{words:?}: {}", ended.stderr);
    }

    /// The result that it wrote into its working folder.
    pub(crate) fn result(&self, name: &str) -> Value {
        valid("result", &self.read(name).expect("it was written"))
    }

    /// Nothing lies where runs keep what is theirs.
    pub(crate) fn leaves_nothing(&self) {
        for folder in [self.run_directories(), self.temporary()] {
            let left: Vec<_> = fs::read_dir(folder).expect("a folder").flatten().collect();
            assert!(left.is_empty(), "{left:?}");
        }
    }

    /// Reads a file the program wrote into its working folder.
    pub(crate) fn read(&self, name: &str) -> io::Result<String> {
        fs::read_to_string(self.home().join(name))
    }
}

impl Running {
    /// What it has said to its standard error so far.
    pub(crate) fn told(&self) -> String {
        fs::read_to_string(&self.stderr).expect("what it said is UTF-8")
    }

    /// Waits for its end.
    pub(crate) fn end(mut self) -> Ended {
        let child = &mut self.child;
        let status =
            wait_for("the end of the program", || child.try_wait().expect("our own child"));
        let text = |path: &Path| fs::read_to_string(path).expect("what it said is UTF-8");
        Ended { status, stdout: text(&self.stdout), stderr: text(&self.stderr) }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The words of a command line.
pub(crate) fn words(line: &str) -> Vec<&str> {
    line.split(' ').collect()
}

/// Refuses a document that the schema of this kind refuses; gives it parsed.
pub(crate) fn valid(kind: &str, text: &str) -> Value {
    let document = serde_json::from_str(text).expect("the document is JSON");
    let errors = errors(&schema(kind), &document);
    assert!(errors.is_empty(), "{errors:#?}");
    document
}

/// The kind of a document, by what it says of itself.
pub(crate) fn kind_of(text: &str) -> Option<String> {
    let document: Value = serde_json::from_str(text).ok()?;
    let kind = document["schema"].as_str()?.strip_prefix("ipcperf.")?;
    Some(kind.split('/').next()?.to_owned())
}

pub(crate) fn text<'a>(value: &'a Value, key: &str) -> &'a str {
    value[key].as_str().unwrap_or_else(|| panic!("{key} is no text in {value}"))
}

pub(crate) fn list<'a>(value: &'a Value, key: &str) -> &'a [Value] {
    value[key].as_array().unwrap_or_else(|| panic!("{key} is no list in {value}"))
}

/// The cells of a result document.
pub(crate) fn cells(document: &Value) -> &[Value] {
    document["cells"].as_array().expect("a list")
}

/// The rounds of a cell, each as an object; the document has them as columns.
pub(crate) fn rounds(cell: &Value) -> Vec<Value> {
    let cell: ipcperf_core::result::Cell = serde_json::from_value(cell.clone()).expect("a cell");
    let object = |round| serde_json::to_value(round).expect("numbers and words");
    cell.rounds.iter().map(object).collect()
}

/// Lower edges (ps) and counts of the histogram of a round.
pub(crate) fn buckets(round: &Value) -> Vec<(u64, u64)> {
    let buckets = round["histogram"]["buckets"].clone();
    let buckets: ipcperf_core::result::Buckets = serde_json::from_value(buckets).expect("buckets");
    buckets.read().expect("buckets")
}

/// Whether a cell could be had here; where not, this part of the test is skipped. Two spinning ends have no CPU in common
/// anywhere.
pub(crate) fn is_here(cell: &Value) -> bool {
    if cell["status"] != "unavailable" {
        return true;
    }
    let reason = text(cell, "reason");
    if !reason.contains("two busy-waiting processes") {
        let variant = cell["variant"].as_str().map_or_else(String::new, |name| format!("/{name}"));
        skipped(&format!("{}{variant}", text(cell, "mechanism")), reason);
    }
    false
}

//! Every input under bytes that libFuzzer chooses by what they reach, on the stable toolchain: the code is instrumented by
//! LLVM's own pass, which `rustc` takes the name of, and without a sanitizer, which it would not.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};

use crate::cargo::cargo;

/// The arguments of `cargo xtask fuzz`.
#[derive(clap::Args)]
pub(crate) struct Options {
    /// A target, as the folders of fuzz/corpus are called [default: each of them]
    target: Option<String>,
    /// For how long each target is tried; 0: only what is in its corpus [default: 1, or with --quiet as long as that takes]
    #[arg(long)]
    minutes: Option<f64>,
    /// End a target once it has reached nothing new for so many minutes
    #[arg(long, value_parser = in_minutes)]
    quiet: Option<Duration>,
    /// Put into the corpus of the repository what reaches something that nothing in it reaches
    #[arg(long)]
    keep: bool,
}

fn in_minutes(text: &str) -> Result<Duration> {
    Ok(Duration::try_from_secs_f64(text.parse::<f64>()? * 60.0)?)
}

/// An instrumented build needs each of these; `rustc` instruments nothing of its own library.
const INSTRUMENTED: &str = "--cfg fuzzing -Cpasses=sancov-module \
    -Cllvm-args=-sanitizer-coverage-level=4 -Cllvm-args=-sanitizer-coverage-inline-8bit-counters \
    -Cllvm-args=-sanitizer-coverage-pc-table";
/// What each comparison compares, too.
const COMPARISONS: &str = " -Cllvm-args=-sanitizer-coverage-trace-compares";

/// One input may take this long, in seconds that pass, and this much memory, in MiB.
const LIMITS: [&str; 2] = ["-timeout=60", "-rss_limit_mb=2048"];
/// Longest input, bytes: a document of one cell has ten thousand.
const LONGEST: &str = "-max_len=16384";
/// Targets whose inputs are, for the most part, changes of a document. A change is found without what libFuzzer is told of
/// compared values and keeps of rare edges: keeping it took 40 % of the time of whole documents (118 executions a second with
/// it, 190 without), telling it 45 % of what was left. Messages: 7,800 with both, 17,700 with neither.
const DOCUMENTS: [&str; 6] = ["comparison", "message", "profile", "replication", "result", "text"];
/// Longest input that `--keep` takes into the repository.
const LONGEST_KEPT: &str = "-max_len=2048";

/// The status that libFuzzer ends with where it was told to stop: `InterruptExitCode` of its options.
const STOPPED: i32 = 72;

/// What became of a target.
#[derive(Default)]
struct Told {
    executions: u64,
    edges: u64,
    inputs: u64,
    /// When something new was reached last, since the start.
    last: Duration,
    whole: Duration,
    found: Vec<String>,
}

/// Tries the targets one after the other, prints a row for each, and says whether nothing was found.
pub(crate) fn run(options: &Options) -> Result<bool> {
    let metadata = cargo_metadata::MetadataCommand::new().no_deps().exec()?;
    let root = metadata.workspace_root.as_std_path();
    let mut names = Vec::new();
    for folder in std::fs::read_dir(root.join("fuzz/corpus"))? {
        names.push(folder?.file_name().to_string_lossy().into_owned());
    }
    names.sort();
    if let Some(target) = &options.target {
        ensure!(names.contains(target), "no target '{target}'; known: {}", names.join(", "));
        names.retain(|name| name == target);
    }
    let [mut whole, mut others] = [None, None];
    println!("target        executions   edges  inputs  minutes  nothing new for");
    let mut is_sound = true;
    for name in names {
        let is_document = DOCUMENTS.contains(&name.as_str());
        let built = if is_document { &mut whole } else { &mut others };
        let program = match built {
            Some(program) => program,
            None => built.insert(build(root, is_document)?),
        };
        let told = tried(root, program, &name, options)?;
        let minutes = |time: Duration| time.as_secs_f64() / 60.0;
        println!(
            "{name:<12} {:>11} {:>7} {:>7} {:>8.1} {:>12.1} min",
            told.executions,
            told.edges,
            told.inputs,
            minutes(told.whole),
            minutes(told.whole.saturating_sub(told.last)),
        );
        told.found.iter().for_each(|line| println!("  {line}"));
        is_sound &= told.found.is_empty();
    }
    Ok(is_sound)
}

/// The instrumented program. Naming the target keeps the flags from build scripts and macros.
fn build(root: &Path, is_document: bool) -> Result<PathBuf> {
    let host = host()?;
    let (folder, more) = if is_document { ("documents", "") } else { ("others", COMPARISONS) };
    let output = root.join("target/fuzz").join(folder);
    let status = cargo()
        .args(["build", "--quiet", "--package", "ipcperf-fuzz", "--features", "libfuzzer"])
        .args(["--profile", "fuzz", "--target", &host, "--target-dir"])
        .arg(&output)
        .env("RUSTFLAGS", format!("{INSTRUMENTED}{more}"))
        .status()
        .context("cannot start cargo")?;
    ensure!(status.success(), "the fuzz targets do not compile");
    Ok(output.join(host).join("fuzz/ipcperf-fuzz"))
}

fn host() -> Result<String> {
    let output = Command::new("rustc").arg("-vV").output().context("cannot start rustc")?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let host = text.lines().find_map(|line| line.strip_prefix("host: "));
    host.map(str::to_owned).context("rustc does not say for which host it is")
}

/// Tries one target from what is known of it.
fn tried(root: &Path, program: &Path, name: &str, options: &Options) -> Result<Told> {
    let corpus = root.join("fuzz/corpus").join(name);
    let grown = root.join("target/fuzz/corpus").join(name);
    let found = root.join("target/fuzz/found");
    for folder in [&grown, &found] {
        std::fs::create_dir_all(folder)?;
    }
    let command = || {
        let mut command = Command::new(program);
        command.env("IPCPERF_FUZZ", name).args(LIMITS);
        command.arg(format!("-artifact_prefix={}/{name}-", found.display()));
        command
    };
    let mut fuzzed = command();
    fuzzed.args([LONGEST, "-len_control=5", "-print_final_stats=1"]);
    fuzzed.args(match DOCUMENTS.contains(&name) {
        true => ["-use_value_profile=0", "-entropic=0"],
        false => ["-use_value_profile=1", "-entropic=1"],
    });
    let minutes = options.minutes.or(options.quiet.is_none().then_some(1.0));
    fuzzed.args(minutes.map(|minutes| match minutes > 0.0 {
        true => format!("-max_total_time={:.0}", (minutes * 60.0).max(1.0)),
        false => "-runs=0".to_owned(),
    }));
    let words = root.join("fuzz/words").join(name);
    if words.exists() {
        fuzzed.arg(format!("-dict={}", words.display()));
    }
    let told = watched(fuzzed.arg(&grown).arg(&corpus), options.quiet)?;
    if options.keep && told.found.is_empty() {
        let status = command()
            .args(["-merge=1", LONGEST_KEPT])
            .arg(&corpus)
            .arg(&grown)
            .stderr(Stdio::null())
            .status()?;
        ensure!(status.success(), "{name}: the corpus cannot be merged");
    }
    Ok(told)
}

/// Runs libFuzzer, until it has reached nothing new for so long, and reads what it says.
fn watched(command: &mut Command, mut quiet: Option<Duration>) -> Result<Told> {
    let began = Instant::now();
    let mut child = command.stderr(Stdio::piped()).stdout(Stdio::null()).spawn()?;
    let mut told = Told::default();
    let said = BufReader::new(child.stderr.take().context("a pipe was asked for")?);
    let (give, lines) = mpsc::channel();
    let reader = std::thread::spawn(move || said.split(b'\n').try_for_each(|line| give.send(line)));
    let mut last_words = Vec::new();
    loop {
        let left = |quiet| (told.last + quiet).saturating_sub(began.elapsed());
        let line = match lines.recv_timeout(quiet.map_or(Duration::MAX, left)) {
            Ok(line) => String::from_utf8_lossy(&line?).into_owned(),
            Err(mpsc::RecvTimeoutError::Disconnected) => break,
            Err(mpsc::RecvTimeoutError::Timeout) => {
                // SIGTERM: it prints its figures and ends.
                let pid = child.id().to_string();
                let status =
                    Command::new("kill").arg(&pid).status().context("cannot start kill")?;
                ensure!(status.success(), "process {pid} cannot be told to stop");
                quiet = None;
                continue;
            }
        };
        let after = |key: &str| {
            let (_, rest) = line.split_once(key)?;
            rest.split_whitespace().next()?.parse::<u64>().ok()
        };
        if let Some(edges) = after("cov: ") {
            told.last = if edges > told.edges { began.elapsed() } else { told.last };
            told.edges = edges;
            let inputs = line.split_once("corp: ").and_then(|(_, rest)| rest.split('/').next());
            told.inputs = inputs.and_then(|count| count.parse().ok()).unwrap_or(told.inputs);
        }
        told.executions = after("stat::number_of_executed_units: ").unwrap_or(told.executions);
        let is_news = ["panicked at", "ERROR: libFuzzer", "Test unit written"];
        if is_news.iter().any(|words| line.contains(words)) || last_words.len() == 1 {
            last_words.push(line);
        }
    }
    let _ = reader.join();
    let status = child.wait()?;
    told.whole = began.elapsed();
    if !status.success() && status.code() != Some(STOPPED) {
        told.found = last_words;
        told.found.push(format!("libFuzzer ended with {status}"));
    }
    Ok(told)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(script: &str, quiet: Duration) -> Told {
        watched(Command::new("sh").args(["-c", script]), Some(quiet)).expect("it is watched")
    }

    #[test]
    fn what_is_quiet_is_stopped_and_is_no_find() {
        let quiet = r#"trap 'echo "stat::number_of_executed_units: 7" >&2; exit 72' TERM
            echo '#2 INITED cov: 5 ft: 9 corp: 3/9b' >&2
            for _ in $(seq 600); do sleep 0.1; done"#;
        let told = told(quiet, Duration::from_secs(2));
        assert_eq!((told.executions, told.edges, told.inputs), (7, 5, 3));
        assert!(told.found.is_empty(), "{:?}", told.found);
    }

    #[test]
    fn what_does_not_hold_is_a_find() {
        let told = told("echo 'thread panicked at x' >&2; exit 77", Duration::from_secs(60));
        assert!(told.found.iter().any(|line| line.contains("panicked at x")));
    }
}

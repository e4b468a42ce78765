//! What can be typed. What it means is worked out in `request`.

use crate::examples;
use crate::loads::LoadArgs;
use clap::{Args as ClapArgs, Parser, Subcommand, ValueEnum};
use ipcperf_core::{Capability, PatternKind};
use std::ffi::OsString;
use std::path::PathBuf;

/// Measures inter-process communication on Linux: every mechanism two processes on a host can use, with proof that
/// the data really moved, and says which one to use.
///
/// Without a command it runs the survey: every mechanism this machine has, in about a minute.
#[derive(Debug, Parser)]
#[command(name = "ipcperf", version = crate::build::VERSION, max_term_width = 100, args_conflicts_with_subcommands = true)]
#[command(
    after_help = "Exit codes: 0 done, 1 internal error or a failed cell, 2 usage, 3 nothing could run here, or nothing meets what choose was asked for, \
4 a document of another kind or version, or documents that cannot be compared, 5 a measurement was invalid, \
6 slower than --fail-on allows, 7 a figure that --fail-if forbids, 8 noisier than --max-noise allows, \
9 a gate that cannot tell, 130 interrupted (what was measured is written)."
)]
pub(crate) struct Args {
    #[command(subcommand)]
    pub(crate) command: Option<Command>,
    #[command(flatten)]
    pub(crate) survey: SurveyArgs,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Measure every mechanism in about a minute and say which one to use (the default)
    #[command(after_help = examples::SURVEY)]
    Survey(SurveyArgs),
    /// Measure chosen mechanisms, patterns, sizes and placements
    #[command(after_help = examples::RUN)]
    Run(Box<RunArgs>),
    /// Say which mechanism to use for what is needed: measured here in a minute, or read from a result
    #[command(after_help = examples::CHOOSE)]
    Choose(Box<ChooseArgs>),
    /// List the mechanisms and whether this machine has them
    #[command(after_help = examples::LIST)]
    List(ListArgs),
    /// Describe one mechanism: facts, knobs, costs, pitfalls
    #[command(after_help = examples::DESCRIBE)]
    Describe(DescribeArgs),
    /// Say where the time of a round trip goes, or what a word of the output means: a mark, finding, grade or verdict
    #[command(after_help = examples::EXPLAIN)]
    Explain(Box<ExplainArgs>),
    /// Say whether the second of two cells, builds or results is faster, slower, no different, or that it cannot be told
    #[command(after_help = examples::COMPARE)]
    Compare(Box<CompareArgs>),
    /// Run published experiments again, beside what was published, claim by claim
    #[command(after_help = examples::REPLICATE)]
    Replicate(ReplicateArgs),
    /// Show a result file again, in any format
    #[command(after_help = examples::REPORT)]
    Report(ReportArgs),
    /// List what was kept with --keep, show it, follow a cell through it, remove it
    #[command(after_help = examples::HISTORY)]
    History(HistoryArgs),
    /// Look whether this machine is fit to measure: what is in the way, what it means, what to do; changes no setting
    #[command(after_help = examples::DOCTOR)]
    Doctor(DoctorArgs),
    /// Test the measuring itself on this machine, in less than a minute: what is known comes out, what is wrong is found
    #[command(after_help = examples::SELFTEST)]
    Selftest(SelftestArgs),
    /// Print the JSON Schema of a document
    #[command(after_help = examples::SCHEMA)]
    Schema {
        /// Which: result, comparison, replication, mechanisms, doctor, selftest
        #[arg(default_value = "result")]
        document: String,
    },
    /// Remove what killed runs of this user left behind
    Clean,
    /// Print shell completions: of commands, flags, mechanisms, patterns, placements and knobs
    #[command(after_help = examples::COMPLETIONS)]
    Completions {
        /// The shell
        shell: clap_complete::Shell,
    },
    /// Print a manual page (roff), or write all of them
    #[command(after_help = examples::MAN)]
    Man(ManArgs),
    /// Print docs/MECHANISMS.md: the facts of all mechanisms, nothing of this machine
    #[command(hide = true)]
    Reference,
}

/// Where results go and how they look; common to everything that measures.
#[derive(Clone, Debug, Default, ClapArgs)]
pub(crate) struct OutputArgs {
    /// Result file; '-' prints the document to standard output [default: ipcperf-UTC.json here]
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// Also keep the document as the latest of this name in the user's data directory: @NAME then stands for it, and
    /// @NAME~1 for the one kept before it ('ipcperf history')
    #[arg(long, value_name = "NAME")]
    pub(crate) keep: Option<String>,
    #[command(flatten)]
    pub(crate) look: LookArgs,
    #[command(flatten)]
    pub(crate) tables: TableArgs,
    /// Only results: no progress, no notes
    #[arg(short, long)]
    pub(crate) quiet: bool,
    /// No progress line, even on a terminal
    #[arg(long)]
    pub(crate) no_progress: bool,
}

/// How results look.
#[derive(Clone, Debug, Default, ClapArgs)]
pub(crate) struct LookArgs {
    /// Format of standard output: table, markdown, csv, json, ndjson, html [default: table]
    #[arg(long, value_name = "FORMAT")]
    pub(crate) format: Option<String>,
    /// Colours
    #[arg(long, value_enum, default_value_t)]
    pub(crate) color: ColorChoice,
    /// All findings instead of the worst five, all cells of a comparison, and all columns in markdown
    #[arg(short, long)]
    pub(crate) verbose: bool,
}

/// How much of a result is shown.
#[derive(Clone, Debug, Default, ClapArgs)]
pub(crate) struct TableArgs {
    /// All tables, findings and sentences of a survey or a study, rather than one screen
    #[arg(long)]
    pub(crate) full: bool,
    /// Show each row as a multiple of the machine's own limit for it
    #[arg(long)]
    pub(crate) versus_bound: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum ColorChoice {
    /// If standard output is a terminal and NO_COLOR is not set
    #[default]
    Auto,
    /// Always
    Always,
    /// Never
    Never,
}

/// Conditions that end a run with a code of their own.
#[derive(Clone, Debug, Default, ClapArgs)]
pub(crate) struct GateArgs {
    /// Exit 7 if this is certainly so of any cell, 9 if that cannot be told (repeatable): 'p99 > 50us', 'rate < 100k/s'.
    /// Figures: min, mean, p50 to p99.999, max, rate, throughput, cpu
    #[arg(long, value_name = "CONDITION")]
    pub(crate) fail_if: Vec<String>,
    /// Exit 8 if the noise grade is worse: A, B, C, D
    #[arg(long, value_name = "GRADE")]
    pub(crate) max_noise: Option<String>,
}

#[derive(Clone, Debug, Default, ClapArgs)]
pub(crate) struct SurveyArgs {
    /// How long it may take: 20s, 60s, 10m
    #[arg(long, value_name = "TIME", default_value = "60s")]
    pub(crate) budget: String,
    /// Only these mechanisms: pipe,'unix-stream bind=path','tcp/*',all [default: those that stand for their kind]
    #[arg(short, long, value_name = "NAMES", conflicts_with = "all")]
    pub(crate) mechanism: Vec<String>,
    /// Every variant, not only the default one of each mechanism and what spins in shared memory
    #[arg(long)]
    pub(crate) all: bool,
    /// Seed of every random choice [default: a random one, recorded in the result]
    #[arg(long)]
    pub(crate) seed: Option<u64>,
    /// Print the plan and the time it needs, measure nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
    #[command(flatten)]
    pub(crate) gates: GateArgs,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

/// What is needed, and how much time there is to find it.
#[derive(Clone, Debug, Default, ClapArgs)]
pub(crate) struct ChooseArgs {
    /// Message sizes: 64, 4K, lists 1,64,4K [default: 64]
    #[arg(short, long, value_name = "SIZES")]
    pub(crate) size: Vec<String>,
    /// Messages come at this rate, answered or not: 20k, 1000/s [default: each waits for the answer to the one before]
    #[arg(long, value_name = "RATE")]
    pub(crate) rate: Option<String>,
    /// The pause before each round trip: 100us [default: none]
    #[arg(long, value_name = "TIME")]
    pub(crate) think: Option<String>,
    #[arg(long, value_name = "CAPABILITIES", help = can("It must be able to do all of this"))]
    pub(crate) can: Vec<String>,
    /// No end may spin while it waits, not even briefly
    #[arg(long)]
    pub(crate) no_spin: bool,
    /// The longest p99: 50us
    #[arg(long, value_name = "TIME")]
    pub(crate) p99: Option<String>,
    /// What decides among those that meet all of it: p50, p99, cpu, throughput [default: p50]
    #[arg(long, value_name = "FIGURE")]
    pub(crate) by: Option<String>,
    /// Choose among these mechanisms, and show all of them: pipe,'unix-stream bind=path','tcp/*',all [default: those of a
    /// survey]
    #[arg(short, long, value_name = "NAMES")]
    pub(crate) mechanism: Vec<String>,
    /// Placement: same-cpu, smt, same-llc, cross-llc, cross-node, free, two CPUs, as 0,1, or one end pinned alone, as 0,free
    /// [default: two close cores]
    #[arg(long, value_name = "PLACE")]
    pub(crate) place: Option<String>,
    /// Also print a complete program for the mechanism that is chosen: c, rust, python ('ipcperf describe NAME --snippet'
    /// prints it alone)
    #[arg(long, value_name = "LANGUAGE")]
    pub(crate) snippet: Option<String>,
    /// Choose by this result, and measure nothing
    #[arg(long, value_name = "RESULT.json", conflicts_with_all = ["budget", "seed", "dry_run", "output", "keep", "fail_if", "max_noise"])]
    pub(crate) from: Option<PathBuf>,
    /// How long it may take: 20s, 60s, 10m
    #[arg(long, value_name = "TIME", default_value = "60s")]
    pub(crate) budget: String,
    /// Seed of every random choice [default: a random one, recorded in the result]
    #[arg(long)]
    pub(crate) seed: Option<u64>,
    /// Print the plan and the time it needs, measure nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
    #[command(flatten)]
    pub(crate) gates: GateArgs,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

/// A list as it was typed, with commas or with its flag again and again; `None` where it was not.
pub(crate) fn typed(lists: &[String]) -> Option<String> {
    (!lists.is_empty()).then(|| lists.join(","))
}

/// The words of a list.
pub(crate) fn named<T: ToString>(all: &[T]) -> Vec<String> {
    all.iter().map(ToString::to_string).collect()
}

fn patterns() -> String {
    let names = named(PatternKind::ALL).join(", ");
    format!("Patterns: {names} [default: {}]", PatternKind::default())
}

fn can(what: &str) -> String {
    format!("{what}: {}", named(Capability::ALL).join(", "))
}

#[derive(Clone, Debug, Default, ClapArgs)]
pub(crate) struct RunArgs {
    /// Mechanisms, as -m takes them; or a job file (TOML) with the same names as the long flags, which win over it. What
    /// is no mechanism, contains '/' or ends in .toml is a file. The paths in a job stay below the current directory
    #[arg(value_name = "MECHANISM|JOB.toml")]
    pub(crate) mechanisms: Vec<OsString>,
    /// Repeat the plan of a result: the same cells, rounds, times and seed
    #[arg(long, value_name = "RESULT.json")]
    pub(crate) from: Option<PathBuf>,
    /// Mechanisms: pipe,unix-stream/spin; 'pipe/*' for all variants, 'all' for everything; with knobs: 'pipe size=1M'
    #[arg(short, long, value_name = "NAMES")]
    pub(crate) mechanism: Vec<String>,
    #[arg(short, long, value_name = "PATTERNS", help = patterns())]
    pub(crate) pattern: Vec<String>,
    /// Message sizes: 64, 4K, lists 1,64,4K, sweeps 64..64K:*4 [default: 64]
    #[arg(short, long, value_name = "SIZES")]
    pub(crate) size: Vec<String>,
    /// Placements: same-cpu, smt, same-llc, cross-llc, cross-node, free, the CPUs of lead and follow, as 0,1, one end pinned
    /// alone, as 0,free or free,0, or pairs: every two CPUs [default: same-cpu and two close cores]
    #[arg(long, value_name = "PLACES")]
    pub(crate) place: Vec<String>,
    /// Knobs: pipe.size=1M, or size=1M where there is one mechanism (repeatable; see 'ipcperf describe')
    #[arg(long, value_name = "MECHANISM.KNOB=VALUE")]
    pub(crate) set: Vec<String>,
    /// Idle policies: as-is, poll (poll holds /dev/cpu_dma_latency at 0) [default: as-is]
    #[arg(long, value_name = "POLICIES")]
    pub(crate) idle: Vec<String>,
    /// Search for where one of two mechanisms overtakes the other as something grows (--over). Each may have knobs: 'pipe
    /// size=1M'
    #[arg(
        long,
        value_names = ["A", "B"],
        num_args = 2,
        requires = "over",
        conflicts_with_all = ["mechanism", "mechanisms", "exec", "from"]
    )]
    pub(crate) crossover: Vec<String>,
    /// With --crossover: what grows: size, conns, rate, think; -s, --conns, --rate or --think list where to look first
    #[arg(long, value_name = "AXIS", requires = "crossover")]
    pub(crate) over: Option<String>,
    /// What happens to the payload: none, header, cacheline, full, copy [default: cacheline]
    #[arg(long, value_name = "TOUCH")]
    pub(crate) touch: Option<String>,
    #[command(flatten)]
    pub(crate) load: LoadArgs,
    /// A program to run, without a shell, in place of mechanisms: 'head -c 1G /dev/zero'. Repeated, each reads what the
    /// one before it writes; ',' in place of a program begins another pipeline
    #[arg(long, value_name = "PROGRAM ARGS")]
    pub(crate) exec: Vec<String>,
    /// With --exec: how long one run may take before it is killed [default: 60s]
    #[arg(long, value_name = "TIME")]
    pub(crate) deadline: Option<String>,
    /// With --exec: also count system calls by ptrace, in rounds of their own that yield no times
    #[arg(long)]
    pub(crate) trace_calls: bool,
    /// With -m: also time each system call of both ends, in a slice of its own after all rounds that yields nothing else
    #[arg(long)]
    pub(crate) time_calls: bool,
    /// Run the programs that a job file names
    #[arg(long)]
    pub(crate) allow_exec: bool,
    /// How many rounds; a 95 % interval needs 6 [default: 12]
    #[arg(long, value_name = "N")]
    pub(crate) rounds: Option<u64>,
    /// Timed length of a slice [default: 100ms]
    #[arg(long, value_name = "TIME")]
    pub(crate) slice: Option<String>,
    /// Exactly so many samples of a slice, however long they take: round trips, messages of a stream, bursts, requests; with
    /// --batch batches of round trips
    #[arg(long, value_name = "N", conflicts_with = "slice")]
    pub(crate) samples: Option<u64>,
    /// Warm-up before it [default: 20ms]
    #[arg(long, value_name = "TIME")]
    pub(crate) warmup: Option<String>,
    /// Warm-up of exactly so many operations, however long they take
    #[arg(long, value_name = "N", conflicts_with = "warmup")]
    pub(crate) warmup_ops: Option<u64>,
    /// Round trips of one sample, timed together: above 1 there are no quantiles of single ones [default: 1, and more where
    /// one is too short for the clock]
    #[arg(long, value_name = "N")]
    pub(crate) batch: Option<u64>,
    /// Also write every operation that was timed to this file, a line each: iters, ns, round, cell, separated by tabs; '-'
    /// prints them instead of a table
    #[arg(long, value_name = "FILE")]
    pub(crate) raw: Option<PathBuf>,
    /// Seed of every random choice [default: a random one, recorded in the result]
    #[arg(long)]
    pub(crate) seed: Option<u64>,
    /// Print the plan and the time it needs, measure nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
    #[command(flatten)]
    pub(crate) gates: GateArgs,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

/// What is compared, how, and what may come of it.
#[derive(Clone, Debug, ClapArgs)]
pub(crate) struct CompareArgs {
    /// Two mechanisms, measured side by side as by --live; or two result files, the old one (A) and the new one (B):
    /// @NAME is one that is kept, @last the latest of them. What is no mechanism, contains '/' or ends in .json is a file
    #[arg(value_name = "A B")]
    pub(crate) arms: Vec<OsString>,
    /// A result file of A (repeatable, with --new)
    #[arg(long, value_name = "FILE", requires = "new", conflicts_with = "arms")]
    pub(crate) old: Vec<PathBuf>,
    /// A result file of B (repeatable, with --old)
    #[arg(long, value_name = "FILE", requires = "old", conflicts_with = "arms")]
    pub(crate) new: Vec<PathBuf>,
    /// Measure two cells side by side: 'pipe 64 same-cpu' 'unix-stream 64 same-cpu'. A cell is a mechanism, then in any
    /// order size, placement, pattern, and key=value: a knob, idle, touch, or what 'ipcperf run' has as a flag
    #[arg(
        long,
        value_names = ["CELL A", "CELL B"],
        num_args = 1..=2,
        conflicts_with_all = ["arms", "old", "new"]
    )]
    pub(crate) live: Vec<String>,
    /// With one cell: let this other build of ipcperf measure it as B
    #[arg(long, value_name = "PATH")]
    pub(crate) live_binary: Option<PathBuf>,
    #[arg(short, long, value_name = "PATTERN", help = patterns())]
    pub(crate) pattern: Option<String>,
    /// Side by side: how many rounds [default: 20 to 400, enough to find 5 % as far as the pilot can say]
    #[arg(long, value_name = "N")]
    pub(crate) rounds: Option<u64>,
    /// Side by side: how long the rounds may take, in place of their number
    #[arg(long, value_name = "TIME", conflicts_with = "rounds")]
    pub(crate) time: Option<String>,
    /// Side by side: timed length of a slice, of which p99 wants 2,000 operations [default: 20ms for closed loops of round trips
    /// and bursts, else 100ms]
    #[arg(long, value_name = "TIME")]
    pub(crate) slice: Option<String>,
    /// Side by side: seed of every random choice [default: a random one, recorded in the result]
    #[arg(long)]
    pub(crate) seed: Option<u64>,
    /// Differences up to this do not matter [default: 1%]
    #[arg(long, value_name = "SHARE")]
    pub(crate) margin: Option<String>,
    /// What A and B may differ in, because it is what you compare: kernel, cpu, mitigations, tool (separated by commas)
    #[arg(long, value_name = "FACTORS")]
    pub(crate) factor: Option<String>,
    /// Compare what must not be compared as well, and claim nothing of it
    #[arg(long)]
    pub(crate) force: bool,
    /// Of many cells claim more than holds for all of them together: of these claims 1 in 20 may be false
    /// (Benjamini-Hochberg in place of Holm)
    #[arg(long, conflicts_with = "fail_on")]
    pub(crate) explore: bool,
    /// Exit 6 if a cell is certainly slower by more than this, 9 if that cannot be told (repeatable): slower:5%, or of its
    /// tail p99:slower:10%
    #[arg(long, value_name = "slower:SHARE")]
    pub(crate) fail_on: Vec<String>,
    /// Write the comparison as a document (JSON) to this file; '-' prints it instead of a table
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) look: LookArgs,
    /// Only results: no progress, no notes
    #[arg(short, long)]
    pub(crate) quiet: bool,
    /// No progress line, even on a terminal
    #[arg(long)]
    pub(crate) no_progress: bool,
}

#[derive(Clone, Debug, ClapArgs)]
pub(crate) struct ReplicateArgs {
    /// The study: inferno, qiita, wisconsin, baeldung, marhubi, or the path of a study file [default: all five]
    #[arg(value_name = "STUDY")]
    pub(crate) study: Option<String>,
    /// How much of it: smoke (the whole matrix in a minute), quick (five minutes), full (the published counts)
    #[arg(long, value_name = "SCALE", default_value = "smoke")]
    pub(crate) scale: String,
    /// How many rounds; an interval needs 6 [default: as the study says]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=10_000))]
    pub(crate) rounds: Option<u64>,
    /// How long it may take: rounds are cut to fit, then the scale, and what was cut is said: 10m, 1h
    #[arg(long, value_name = "TIME")]
    pub(crate) budget: Option<String>,
    /// Only these claims, and only what they need (repeatable, or with commas): s4.c1
    #[arg(long, value_name = "CLAIM")]
    pub(crate) only: Vec<String>,
    /// Set a parameter of the study (repeatable): of all arms that have it (samples=5000), of a kind of work
    /// (cell.slice=20ms) or of one arm (pipes.samples=100)
    #[arg(long, value_name = "KEY=VALUE")]
    pub(crate) set: Vec<String>,
    /// Write the file of a study to STUDY.toml, to be read or changed, and measure nothing; -o names another file
    #[arg(long, value_name = "STUDY", conflicts_with_all = ["study", "across", "only", "set", "budget", "files", "csv", "plots", "keep"])]
    pub(crate) export: Option<String>,
    /// Show which claims hold where, by result files of several machines or days, and measure nothing
    #[arg(long, value_name = "RESULT.json", num_args = 1.., conflicts_with_all = ["study", "only", "set", "budget", "files", "csv", "plots", "keep"])]
    pub(crate) across: Vec<PathBuf>,
    /// Run the programs that a study file names
    #[arg(long)]
    pub(crate) allow_exec: bool,
    /// Of qiita: also run the author's own two files, server.rb and client.rb in this folder, which takes minutes in every
    /// round; Ruby, celluloid-io and parallel must be installed
    #[arg(long, value_name = "DIR")]
    pub(crate) files: Option<PathBuf>,
    /// Also write files in the original's own format into this folder
    #[arg(long, value_name = "DIR")]
    pub(crate) csv: Option<PathBuf>,
    /// Also draw the figures of the original again, with ours beside them, into this folder (SVG)
    #[arg(long, value_name = "DIR")]
    pub(crate) plots: Option<PathBuf>,
    /// Seed of every random choice [default: a random one, recorded in the result]
    #[arg(long)]
    pub(crate) seed: Option<u64>,
    /// Print what would be measured, measure nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

#[derive(Clone, Debug, ClapArgs)]
pub(crate) struct ListArgs {
    /// Only these families: stream, datagram, queue, wake-up, shared-memory, by-reference, kernel-copy, io-uring, bus
    #[arg(long, value_name = "FAMILIES")]
    pub(crate) family: Vec<String>,
    #[arg(long, value_name = "CAPABILITIES", help = can("Only what can do all of this"))]
    pub(crate) can: Vec<String>,
    #[command(flatten)]
    pub(crate) look: LookArgs,
    /// Do not try what can run here: only what there is
    #[arg(long)]
    pub(crate) no_probe: bool,
    /// The same as --format json
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Clone, Debug, ClapArgs)]
pub(crate) struct DescribeArgs {
    /// The mechanism: pipe, unix-stream/spin
    pub(crate) name: String,
    /// Print a complete program that sends a message there and back: c, rust, python
    #[arg(long, value_name = "LANGUAGE", conflicts_with = "format")]
    pub(crate) snippet: Option<String>,
    #[command(flatten)]
    pub(crate) look: LookArgs,
}

#[derive(Clone, Debug, ClapArgs)]
pub(crate) struct ManArgs {
    /// The command whose page is printed [default: that of ipcperf itself]
    pub(crate) command: Option<String>,
    /// Write the pages of all commands into this folder
    #[arg(long, value_name = "DIR", conflicts_with = "command")]
    pub(crate) dir: Option<PathBuf>,
}

#[derive(Clone, Debug, ClapArgs)]
pub(crate) struct ExplainArgs {
    /// A mechanism, or two to explain their difference: unix-stream pipe; or a word: W-LOSS, '~', grade, SLOWER [default:
    /// all words]
    #[arg(value_name = "NAME", num_args = 0..=2)]
    pub(crate) names: Vec<String>,
    /// Show the explanation that a result file holds, and measure nothing
    #[arg(long, value_name = "RESULT.json", conflicts_with_all = ["names", "what_if", "size", "place", "set", "budget", "seed", "dry_run", "output", "keep"])]
    pub(crate) from: Option<PathBuf>,
    /// Also change one thing at a time, wait variant, knob, placement, idle policy or alignment of buffers, and rank what
    /// that does (-v: all of it)
    #[arg(long)]
    pub(crate) what_if: bool,
    /// Message size [default: 64]
    #[arg(short, long, value_name = "SIZE")]
    pub(crate) size: Option<String>,
    /// Placements [default: same-cpu and two close cores]
    #[arg(long, value_name = "PLACES")]
    pub(crate) place: Vec<String>,
    /// Knobs: unix-stream.bind=path (repeatable; see 'ipcperf describe')
    #[arg(long, value_name = "MECHANISM.KNOB=VALUE")]
    pub(crate) set: Vec<String>,
    /// How long it may take [default: 40s]
    #[arg(long, value_name = "TIME")]
    pub(crate) budget: Option<String>,
    /// Seed of every random choice [default: a random one, recorded in the result]
    #[arg(long)]
    pub(crate) seed: Option<u64>,
    /// Print the plan and the time it needs, measure nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

#[derive(Clone, Debug, ClapArgs)]
pub(crate) struct DoctorArgs {
    #[command(flatten)]
    pub(crate) look: LookArgs,
}

#[derive(Clone, Debug, ClapArgs)]
pub(crate) struct SelftestArgs {
    /// Only the checks whose names begin so: timer,clock
    #[arg(long, value_name = "CHECKS")]
    pub(crate) only: Option<String>,
    /// Lets something go wrong in every check: then one of them fails
    #[arg(long, value_name = "FAULT", hide = true)]
    pub(crate) inject: Option<String>,
    /// Does not hear what detectors tell: then each of their checks fails
    #[arg(long, hide = true)]
    pub(crate) blind: bool,
    #[command(flatten)]
    pub(crate) look: LookArgs,
    /// Only results: no progress, no notes
    #[arg(short, long)]
    pub(crate) quiet: bool,
    /// No progress line, even on a terminal
    #[arg(long)]
    pub(crate) no_progress: bool,
}

#[derive(Clone, Debug, ClapArgs)]
pub(crate) struct ReportArgs {
    /// A result file; '-' reads standard input, @NAME is one that is kept, @last the latest of them. Several are shown below
    /// each other; two become a page of before and after (html), and any number of them, of any machines, one CSV file.
    /// What is no result among several is left out and named (the exit code stays 0 as long as one is)
    #[arg(required = true, value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
    /// What a row of a CSV file is about
    #[arg(long, value_enum)]
    pub(crate) rows: Option<RowChoice>,
    /// Of a replication: also draw the figures of the original again, with ours beside them, into this folder (SVG)
    #[arg(long, value_name = "DIR")]
    pub(crate) plots: Option<PathBuf>,
    /// Write to this file instead of standard output. Its ending says the format: .txt, .md, .csv, .json, .ndjson, .html
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) look: LookArgs,
    #[command(flatten)]
    pub(crate) tables: TableArgs,
    #[command(flatten)]
    pub(crate) only: OnlyArgs,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum RowChoice {
    /// A cell: what its rounds come to
    Cells,
    /// One round of a cell
    Rounds,
}

/// What is done with documents that are kept.
#[derive(Clone, Debug, ClapArgs)]
pub(crate) struct HistoryArgs {
    #[command(subcommand)]
    pub(crate) command: Option<HistoryCommand>,
}

#[derive(Clone, Debug, Subcommand)]
pub(crate) enum HistoryCommand {
    /// List the documents, the latest first (the default)
    List {
        /// Only those of this name
        #[arg(value_name = "@NAME")]
        name: Option<String>,
        #[command(flatten)]
        look: LookArgs,
    },
    /// Show a document, as 'ipcperf report' does
    Show(ReportArgs),
    /// Show how a cell fared from one document to the next, with what changed between them: the kernel, the microcode
    Trend {
        /// The cell, as documents name it ('pipe ping-pong 64B same-cpu') or as 'compare --live' takes it ('pipe same-cpu')
        #[arg(value_name = "CELL")]
        cell: String,
        /// Only the documents of this name
        #[arg(value_name = "@NAME")]
        name: Option<String>,
        /// Write to this file instead of standard output. Its ending says the format: .txt, .md, .csv, .json, .ndjson, .html
        #[arg(short, long, value_name = "FILE")]
        output: Option<PathBuf>,
        #[command(flatten)]
        look: LookArgs,
    },
    /// Remove documents
    Rm {
        /// What they are called: @nightly the latest of that name, @nightly~1 the one before it
        #[arg(value_name = "@NAME", required = true)]
        names: Vec<String>,
        /// All documents of these names
        #[arg(long)]
        all: bool,
    },
}

/// Which cells of a result are shown; places are those among them.
#[derive(Clone, Debug, Default, ClapArgs)]
#[command(next_help_heading = "Only these cells")]
pub(crate) struct OnlyArgs {
    /// Mechanisms: pipe,'unix-stream/*'
    #[arg(short, long, value_name = "NAMES")]
    pub(crate) mechanism: Vec<String>,
    /// Patterns: ping-pong,stream
    #[arg(short, long, value_name = "PATTERNS")]
    pub(crate) pattern: Vec<String>,
    /// Message sizes: 64,4K
    #[arg(short, long, value_name = "SIZES")]
    pub(crate) size: Vec<String>,
    /// Placements: same-cpu,same-llc
    #[arg(long, value_name = "PLACEMENTS")]
    pub(crate) place: Vec<String>,
    /// The first rows of each ranking
    #[arg(long, value_name = "ROWS")]
    pub(crate) top: Option<usize>,
}

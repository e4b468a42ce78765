//! Commands and flags: their names, values and help are declared here, and job files, manual pages and completions follow.
//! `request` works out what they mean.

use crate::examples;
use crate::loads::LoadArgs;
use crate::packed::STUDY_NAMES;
use crate::words::Words;
use clap::{Args as ClapArgs, Parser, Subcommand, ValueEnum};
use ipcperf_core::result::Goal;
use ipcperf_core::{Axis, Capability, Family, Idle, PatternKind, Placement, Touch};
use ipcperf_report::Format;
use ipcperf_report::snippet::Language;
use std::ffi::OsString;
use std::path::PathBuf;

/// Measures every way two processes on one Linux host can exchange data, proves that the data really moved, and says
/// which one to use.
///
/// Without a command, ipcperf runs the survey: every mechanism this machine has, in about a minute.
#[derive(Debug, Parser)]
#[command(name = "ipcperf", version = crate::build::VERSION, max_term_width = 100, args_conflicts_with_subcommands = true)]
#[command(
    after_help = "Exit codes: 0 success, 1 internal error or failed cell, 2 usage error, 3 nothing could run here or nothing meets the requirements of choose, \
4 document of another kind or version, or not comparable, 5 invalid measurement, \
6 slower than --fail-on allows, 7 a --fail-if condition is met, 8 noisier than --max-noise allows, \
9 a gate is undecided, 130 interrupted (results so far are written)."
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
    /// Recommend a mechanism for your requirements, from a one-minute measurement or from a result
    #[command(after_help = examples::CHOOSE)]
    Choose(Box<ChooseArgs>),
    /// List the mechanisms and whether this machine has them
    #[command(after_help = examples::LIST)]
    List(ListArgs),
    /// Describe one mechanism: facts, knobs (tunable settings), costs, pitfalls
    #[command(after_help = examples::DESCRIBE)]
    Describe(DescribeArgs),
    /// Break down the time of a round trip, or explain a word of the output: a mark, finding, grade or verdict
    #[command(after_help = examples::EXPLAIN)]
    Explain(Box<ExplainArgs>),
    /// Compare two cells (measurements), builds or results: faster, slower, the same, or undecided
    #[command(after_help = examples::COMPARE)]
    Compare(Box<CompareArgs>),
    /// Rerun published experiments and check their claims one by one
    #[command(after_help = examples::REPLICATE)]
    Replicate(ReplicateArgs),
    /// Show a result file in any format
    #[command(after_help = examples::REPORT)]
    Report(ReportArgs),
    /// Manage saved results: list, show, plot a cell over time, delete
    #[command(after_help = examples::HISTORY)]
    History(HistoryArgs),
    /// Check this machine for measurement problems and suggest fixes (read-only)
    #[command(after_help = examples::DOCTOR)]
    Doctor(DoctorArgs),
    /// Verify ipcperf on this machine in under a minute: known delays are measured, injected faults are detected
    #[command(after_help = examples::SELFTEST)]
    Selftest(SelftestArgs),
    /// Print the JSON Schema of a document
    #[command(after_help = examples::SCHEMA)]
    Schema {
        /// The document: result, comparison, replication, mechanisms, doctor, selftest
        #[arg(default_value = "result")]
        document: String,
    },
    /// Remove files and kernel objects left behind by killed runs of this user
    Clean,
    /// Print shell completions for commands, flags, mechanisms, patterns, placements and knobs
    #[command(after_help = examples::COMPLETIONS)]
    Completions {
        /// The shell
        shell: clap_complete::Shell,
    },
    /// Print a manual page (roff), or write all of them to a folder
    #[command(after_help = examples::MAN)]
    Man(ManArgs),
    /// Print docs/MECHANISMS.md: the facts of all mechanisms, independent of this machine
    #[command(hide = true)]
    Reference,
}

/// Where results go and how they look; shared by all commands that measure.
#[derive(Clone, Debug, Default, ClapArgs)]
pub(crate) struct OutputArgs {
    /// Result file; '-' prints the document to standard output [default: ipcperf-UTC.json here]
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// Also save the result as NAME; refer to it as @NAME, to the previous one as @NAME~1 ('ipcperf history' lists
    /// them)
    #[arg(long, value_name = "NAME")]
    pub(crate) keep: Option<String>,
    #[command(flatten)]
    pub(crate) look: LookArgs,
    #[command(flatten)]
    pub(crate) tables: TableArgs,
    /// Print only results: no progress, no notes
    #[arg(short, long)]
    pub(crate) quiet: bool,
    /// Show no progress line, even on a terminal
    #[arg(long)]
    pub(crate) no_progress: bool,
}

/// How results look.
#[derive(Clone, Debug, Default, ClapArgs)]
pub(crate) struct LookArgs {
    /// Output format [default: table]
    #[arg(long, value_name = "FORMAT", value_parser = Words::of(Format::ALL, Format::name))]
    pub(crate) format: Option<String>,
    /// When to use colours
    #[arg(long, value_enum, default_value_t)]
    pub(crate) color: ColorChoice,
    /// Show all findings instead of the worst five, all cells of a comparison, and all columns in Markdown
    #[arg(short, long)]
    pub(crate) verbose: bool,
}

/// How much of a result is shown.
#[derive(Clone, Debug, Default, ClapArgs)]
pub(crate) struct TableArgs {
    /// Show all tables, findings and explanations of a survey or study, not just one screen
    #[arg(long)]
    pub(crate) full: bool,
    /// Show each row as a multiple of the hardware limit measured on this machine
    #[arg(long)]
    pub(crate) versus_bound: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum ColorChoice {
    /// On a terminal, unless NO_COLOR is set
    #[default]
    Auto,
    /// Always
    Always,
    /// Never
    Never,
}

/// Conditions under which a run fails with an exit code of its own.
#[derive(Clone, Debug, Default, ClapArgs)]
pub(crate) struct GateArgs {
    /// Exit 7 if any cell certainly meets this condition, 9 if undecided (repeatable): 'p99 > 50us', 'rate < 100k/s'.
    /// Metrics: min, mean, p50 to p99.999, max, rate, throughput, cpu
    #[arg(long, value_name = "CONDITION")]
    pub(crate) fail_if: Vec<String>,
    /// Exit 8 if the noise grade is worse
    #[arg(long, value_name = "GRADE", value_parser = Words(vec!["A", "B", "C", "D"]))]
    pub(crate) max_noise: Option<String>,
}

#[derive(Clone, Debug, Default, ClapArgs)]
pub(crate) struct SurveyArgs {
    /// Time limit for the whole run: 20s, 60s, 10m
    #[arg(long, value_name = "TIME", default_value = "60s")]
    pub(crate) budget: String,
    /// Measure only these mechanisms: pipe,'unix-stream bind=path','tcp/*',all [default: the default variant of each, and busy-waiting shared memory]
    #[arg(short, long, value_name = "NAMES", conflicts_with = "all")]
    pub(crate) mechanism: Vec<String>,
    /// Measure every variant, not only each mechanism's default and the busy-waiting shared-memory ones
    #[arg(long)]
    pub(crate) all: bool,
    /// Seed for all random choices [default: random, recorded in the result]
    #[arg(long)]
    pub(crate) seed: Option<u64>,
    /// Print the plan and its expected duration without measuring
    #[arg(long)]
    pub(crate) dry_run: bool,
    #[command(flatten)]
    pub(crate) gates: GateArgs,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

/// The requirements, and how much time there is to measure.
#[derive(Clone, Debug, Default, ClapArgs)]
pub(crate) struct ChooseArgs {
    /// Message sizes: 64, 4K, lists 1,64,4K [default: 64]
    #[arg(short, long, value_name = "SIZES")]
    pub(crate) size: Vec<String>,
    /// Open loop: messages per second, whether or not earlier ones are answered: 20k, 1000/s [default: closed loop]
    #[arg(long, value_name = "RATE")]
    pub(crate) rate: Option<String>,
    /// Pause before each round trip: 100us [default: none]
    #[arg(long, value_name = "TIME")]
    pub(crate) think: Option<String>,
    /// Capabilities that the mechanism must have
    #[arg(long, value_name = "CAPABILITIES", value_parser = Words::of(Capability::ALL, Capability::name))]
    pub(crate) can: Vec<String>,
    /// Exclude busy-waiting, even brief
    #[arg(long)]
    pub(crate) no_spin: bool,
    /// Highest acceptable p99: 50us
    #[arg(long, value_name = "TIME")]
    pub(crate) p99: Option<String>,
    /// Metric that ranks the mechanisms which meet all requirements [default: p50]
    #[arg(long, value_name = "METRIC", value_parser = Words::of(Goal::ALL, Goal::name))]
    pub(crate) by: Option<String>,
    /// Choose among these mechanisms and show all of them: pipe,'unix-stream bind=path','tcp/*',all [default: those of
    /// the survey]
    #[arg(short, long, value_name = "NAMES")]
    pub(crate) mechanism: Vec<String>,
    /// CPU placement: one of the words below (llc is the last-level cache, free is unpinned), two CPU numbers (0,1), or
    /// only one side pinned (0,free) [default: two close cores]
    #[arg(long, value_name = "PLACE", value_parser = places())]
    pub(crate) place: Option<String>,
    /// Also print a complete example program for the chosen mechanism (the same as 'ipcperf describe NAME --snippet')
    #[arg(long, value_name = "LANGUAGE", value_parser = Words::of(Language::ALL, Language::name))]
    pub(crate) snippet: Option<String>,
    /// Use this result instead of measuring
    #[arg(long, value_name = "RESULT.json", conflicts_with_all = ["budget", "seed", "dry_run", "output", "keep", "fail_if", "max_noise"])]
    pub(crate) from: Option<PathBuf>,
    /// Time limit for the whole run: 20s, 60s, 10m
    #[arg(long, value_name = "TIME", default_value = "60s")]
    pub(crate) budget: String,
    /// Seed for all random choices [default: random, recorded in the result]
    #[arg(long)]
    pub(crate) seed: Option<u64>,
    /// Print the plan and its expected duration without measuring
    #[arg(long)]
    pub(crate) dry_run: bool,
    #[command(flatten)]
    pub(crate) gates: GateArgs,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

/// A list as it was typed, comma-separated or with a repeated flag; `None` if it was not typed.
pub(crate) fn typed(lists: &[String]) -> Option<String> {
    (!lists.is_empty()).then(|| lists.join(","))
}

fn patterns() -> Words {
    Words::of(PatternKind::ALL, PatternKind::name)
}

fn places() -> Words {
    Words(Placement::words().collect())
}

#[derive(Clone, Debug, Default, ClapArgs)]
pub(crate) struct RunArgs {
    /// Mechanisms, as for -m, or a job file (TOML) whose keys are the long flags; flags override it. An argument that
    /// is not a mechanism and contains '/' or ends in .toml is a file. Paths in a job file must stay below the current
    /// directory
    #[arg(value_name = "MECHANISM|JOB.toml")]
    pub(crate) mechanisms: Vec<OsString>,
    /// Repeat a result's plan: the same cells, rounds, times and seed
    #[arg(long, value_name = "RESULT.json")]
    pub(crate) from: Option<PathBuf>,
    /// Mechanisms: pipe,unix-stream/spin; 'pipe/*' for all variants, 'all' for all mechanisms; with knobs: 'pipe
    /// size=1M'
    #[arg(short, long, value_name = "NAMES")]
    pub(crate) mechanism: Vec<String>,
    /// Patterns [default: ping-pong]
    #[arg(short, long, value_name = "PATTERNS", value_parser = patterns())]
    pub(crate) pattern: Vec<String>,
    /// Message sizes: 64, 4K, lists 1,64,4K, sweeps 64..64K:*4 [default: 64]
    #[arg(short, long, value_name = "SIZES")]
    pub(crate) size: Vec<String>,
    /// CPU placements: the words below (llc is the last-level cache, free is unpinned), the CPUs of lead (the side that
    /// starts) and follow (the side that answers) as 0,1, only one side pinned (0,free or free,0), or pairs (every pair
    /// of CPUs) [default: same-cpu and two close cores]
    #[arg(long, value_name = "PLACES", value_parser = places())]
    pub(crate) place: Vec<String>,
    /// Set a knob: pipe.size=1M, or size=1M if there is one mechanism (repeatable; 'ipcperf describe' lists them)
    #[arg(long, value_name = "MECHANISM.KNOB=VALUE")]
    pub(crate) set: Vec<String>,
    /// What idle CPUs do; poll keeps them awake through /dev/cpu_dma_latency [default: as-is]
    #[arg(long, value_name = "POLICIES", value_parser = Words::of(Idle::ALL, Idle::name))]
    pub(crate) idle: Vec<String>,
    /// Find where one of two mechanisms overtakes the other as a parameter grows (--over). Each may have knobs: 'pipe
    /// size=1M'
    #[arg(
        long,
        value_names = ["A", "B"],
        num_args = 2,
        requires = "over",
        conflicts_with_all = ["mechanism", "mechanisms", "exec", "from"]
    )]
    pub(crate) crossover: Vec<String>,
    /// With --crossover: the parameter that grows; -s, --conns, --rate or --think list the first points
    #[arg(long, value_name = "AXIS", requires = "crossover", value_parser = Words::of(Axis::ALL, Axis::name))]
    pub(crate) over: Option<String>,
    /// How each side touches the payload [default: cacheline]
    #[arg(long, value_name = "TOUCH", value_parser = Words::of(Touch::ALL, Touch::name))]
    pub(crate) touch: Option<String>,
    #[command(flatten)]
    pub(crate) load: LoadArgs,
    /// Run a program (without a shell) instead of a mechanism: 'head -c 1G /dev/zero'. Repeat it to build a pipeline;
    /// ',' starts another pipeline
    #[arg(long, value_name = "PROGRAM ARGS")]
    pub(crate) exec: Vec<String>,
    /// With --exec: kill a run that takes longer than this [default: 60s]
    #[arg(long, value_name = "TIME")]
    pub(crate) deadline: Option<String>,
    /// With --exec: also count system calls with ptrace, in separate untimed rounds
    #[arg(long)]
    pub(crate) trace_calls: bool,
    /// With -m: also time each system call of both sides, in a separate slice after all rounds
    #[arg(long)]
    pub(crate) time_calls: bool,
    /// Allow running the programs that a job file names
    #[arg(long)]
    pub(crate) allow_exec: bool,
    /// Number of rounds (each measures every cell once); a 95 % interval needs 6 [default: 12]
    #[arg(long, value_name = "N")]
    pub(crate) rounds: Option<u64>,
    /// Timed length of a slice (one measurement of one cell) [default: 100ms]
    #[arg(long, value_name = "TIME")]
    pub(crate) slice: Option<String>,
    /// Exact number of samples per slice, however long they take: round trips, streamed messages, bursts, requests;
    /// with --batch, batches of round trips
    #[arg(long, value_name = "N", conflicts_with = "slice")]
    pub(crate) samples: Option<u64>,
    /// Warm-up before each slice [default: 20ms]
    #[arg(long, value_name = "TIME")]
    pub(crate) warmup: Option<String>,
    /// Exact number of warm-up operations, however long they take
    #[arg(long, value_name = "N", conflicts_with = "warmup")]
    pub(crate) warmup_ops: Option<u64>,
    /// Round trips timed together as one sample; above 1 there are no quantiles of single round trips [default: 1, or
    /// more if one is too short for the clock]
    #[arg(long, value_name = "N")]
    pub(crate) batch: Option<u64>,
    /// Also write every timed operation to this file, one per line: iters, ns, round, cell, separated by tabs; '-'
    /// prints them instead of a table
    #[arg(long, value_name = "FILE")]
    pub(crate) raw: Option<PathBuf>,
    /// Seed for all random choices [default: random, recorded in the result]
    #[arg(long)]
    pub(crate) seed: Option<u64>,
    /// Print the plan and its expected duration without measuring
    #[arg(long)]
    pub(crate) dry_run: bool,
    #[command(flatten)]
    pub(crate) gates: GateArgs,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

/// What to compare, and how.
#[derive(Clone, Debug, ClapArgs)]
pub(crate) struct CompareArgs {
    /// Two mechanisms to measure side by side (as --live does), or two result files, the old one (A) and the new one
    /// (B); @NAME is a saved result, @last the latest. An argument that is not a mechanism and contains '/' or ends in
    /// .json is a file
    #[arg(value_name = "A B")]
    pub(crate) arms: Vec<OsString>,
    /// Result file for A (repeatable, with --new)
    #[arg(long, value_name = "FILE", requires = "new", conflicts_with = "arms")]
    pub(crate) old: Vec<PathBuf>,
    /// Result file for B (repeatable, with --old)
    #[arg(long, value_name = "FILE", requires = "old", conflicts_with = "arms")]
    pub(crate) new: Vec<PathBuf>,
    // No documentation comment, in which brackets would be links.
    #[arg(
        long,
        help = "Measure two cells side by side: 'pipe 64 same-cpu' 'unix-stream 64 same-cpu'. CELL: 'MECHANISM [SIZE] \
                [PLACEMENT] [PATTERN] [KEY=VALUE]...', where KEY is a knob or a flag of 'ipcperf run'",
        value_names = ["CELL A", "CELL B"],
        num_args = 1..=2,
        conflicts_with_all = ["arms", "old", "new"]
    )]
    pub(crate) live: Vec<String>,
    /// With one cell: measure it with this other ipcperf build as B
    #[arg(long, value_name = "PATH")]
    pub(crate) live_binary: Option<PathBuf>,
    /// Side by side: the pattern [default: ping-pong]
    #[arg(short, long, value_name = "PATTERN", value_parser = patterns())]
    pub(crate) pattern: Option<String>,
    /// Side by side: number of rounds [default: 20 to 400, enough to detect 5 % according to a pilot run]
    #[arg(long, value_name = "N")]
    pub(crate) rounds: Option<u64>,
    /// Side by side: total time of the rounds, instead of their number
    #[arg(long, value_name = "TIME", conflicts_with = "rounds")]
    pub(crate) time: Option<String>,
    /// Side by side: timed length of a slice; p99 needs 2,000 operations in it [default: 20ms for closed-loop round
    /// trips and bursts, else 100ms]
    #[arg(long, value_name = "TIME")]
    pub(crate) slice: Option<String>,
    /// Side by side: seed for all random choices [default: random, recorded in the result]
    #[arg(long)]
    pub(crate) seed: Option<u64>,
    /// Ignore differences up to this size [default: 1%]
    #[arg(long, value_name = "SHARE")]
    pub(crate) margin: Option<String>,
    /// Differences between A and B that you compare on purpose: kernel, cpu, mitigations, tool (comma-separated)
    #[arg(long, value_name = "FACTORS")]
    pub(crate) factor: Option<String>,
    /// Also show cells that are not comparable, without a verdict
    #[arg(long)]
    pub(crate) force: bool,
    /// Exploratory: report more differences, of which about 1 in 20 may be false (Benjamini-Hochberg instead of Holm)
    #[arg(long, conflicts_with = "fail_on")]
    pub(crate) explore: bool,
    /// Exit 6 if a cell is certainly slower by more than this, 9 if undecided (repeatable): slower:5%, or for the tail
    /// p99:slower:10%
    #[arg(long, value_name = "slower:SHARE")]
    pub(crate) fail_on: Vec<String>,
    /// Write the comparison to this file (JSON); '-' prints it instead of a table
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) look: LookArgs,
    /// Print only results: no progress, no notes
    #[arg(short, long)]
    pub(crate) quiet: bool,
    /// Show no progress line, even on a terminal
    #[arg(long)]
    pub(crate) no_progress: bool,
}

#[derive(Clone, Debug, ClapArgs)]
pub(crate) struct ReplicateArgs {
    /// A published study, or a study file [default: all five studies]
    #[arg(value_name = "STUDY", value_parser = Words(STUDY_NAMES.to_vec()))]
    pub(crate) study: Option<String>,
    /// How thorough: smoke (the whole matrix in a minute), quick (five minutes), full (the published counts)
    #[arg(long, value_name = "SCALE", default_value = "smoke")]
    pub(crate) scale: String,
    /// Number of rounds; an interval needs 6 [default: set by the study]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=10_000))]
    pub(crate) rounds: Option<u64>,
    /// Time limit: 10m, 1h; rounds are reduced to fit, then the scale, and the output says so
    #[arg(long, value_name = "TIME")]
    pub(crate) budget: Option<String>,
    /// Check only these claims and measure only what they need (repeatable or comma-separated): s4.c1
    #[arg(long, value_name = "CLAIM")]
    pub(crate) only: Vec<String>,
    /// Set a study parameter (repeatable): for all arms (the things compared) that have it (samples=5000), for a kind
    /// of arm (cell.slice=20ms) or for one arm (pipes.samples=100)
    #[arg(long, value_name = "KEY=VALUE")]
    pub(crate) set: Vec<String>,
    /// Write a study's file to STUDY.toml, or to the file named by -o, without measuring
    #[arg(long, value_name = "STUDY", value_parser = Words(STUDY_NAMES.to_vec()), conflicts_with_all = ["study", "across", "only", "set", "budget", "files", "csv", "plots", "keep"])]
    pub(crate) export: Option<String>,
    /// Show which claims hold in these results from several machines or days, without measuring
    #[arg(long, value_name = "RESULT.json", num_args = 1.., conflicts_with_all = ["study", "only", "set", "budget", "files", "csv", "plots", "keep"])]
    pub(crate) across: Vec<PathBuf>,
    /// Allow running the programs that a study file names
    #[arg(long)]
    pub(crate) allow_exec: bool,
    /// With qiita: also run the author's server.rb and client.rb from this folder, which takes minutes per round and
    /// needs Ruby with celluloid-io and parallel
    #[arg(long, value_name = "DIR")]
    pub(crate) files: Option<PathBuf>,
    /// Also write files in the original's format into this folder
    #[arg(long, value_name = "DIR")]
    pub(crate) csv: Option<PathBuf>,
    /// Also redraw the original's charts, with the values measured here, into this folder (SVG)
    #[arg(long, value_name = "DIR")]
    pub(crate) plots: Option<PathBuf>,
    /// Seed for all random choices [default: random, recorded in the result]
    #[arg(long)]
    pub(crate) seed: Option<u64>,
    /// Print what would be measured, without measuring
    #[arg(long)]
    pub(crate) dry_run: bool,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

#[derive(Clone, Debug, ClapArgs)]
pub(crate) struct ListArgs {
    /// List only these families
    #[arg(long, value_name = "FAMILIES", value_parser = Words::of(Family::ALL, Family::name))]
    pub(crate) family: Vec<String>,
    /// List only mechanisms with all of these capabilities
    #[arg(long, value_name = "CAPABILITIES", value_parser = Words::of(Capability::ALL, Capability::name))]
    pub(crate) can: Vec<String>,
    #[command(flatten)]
    pub(crate) look: LookArgs,
    /// Do not test what this machine has; list all mechanisms
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
    /// Print a complete program that makes a round trip
    #[arg(long, value_name = "LANGUAGE", value_parser = Words::of(Language::ALL, Language::name), conflicts_with = "format")]
    pub(crate) snippet: Option<String>,
    #[command(flatten)]
    pub(crate) look: LookArgs,
}

#[derive(Clone, Debug, ClapArgs)]
pub(crate) struct ManArgs {
    /// The command whose page to print [default: ipcperf itself]
    pub(crate) command: Option<String>,
    /// Write the pages of all commands to this folder
    #[arg(long, value_name = "DIR", conflicts_with = "command")]
    pub(crate) dir: Option<PathBuf>,
}

#[derive(Clone, Debug, ClapArgs)]
pub(crate) struct ExplainArgs {
    /// A mechanism; two mechanisms, to explain their difference (unix-stream pipe); or a word of the output (W-LOSS,
    /// '~', grade, SLOWER) [default: list all words]
    #[arg(value_name = "NAME", num_args = 0..=2)]
    pub(crate) names: Vec<String>,
    /// Show the explanation stored in a result file instead of measuring
    #[arg(long, value_name = "RESULT.json", conflicts_with_all = ["names", "what_if", "size", "place", "set", "budget", "seed", "dry_run", "output", "keep"])]
    pub(crate) from: Option<PathBuf>,
    /// Also change one thing at a time (wait variant, knob, placement, idle policy, buffer alignment) and rank the
    /// effects (-v shows all of them)
    #[arg(long)]
    pub(crate) what_if: bool,
    /// Message size [default: 64]
    #[arg(short, long, value_name = "SIZE")]
    pub(crate) size: Option<String>,
    /// CPU placements [default: same-cpu and two close cores]
    #[arg(long, value_name = "PLACES", value_parser = places())]
    pub(crate) place: Vec<String>,
    /// Set a knob: unix-stream.bind=path (repeatable; 'ipcperf describe' lists them)
    #[arg(long, value_name = "MECHANISM.KNOB=VALUE")]
    pub(crate) set: Vec<String>,
    /// Time limit for the whole run [default: 40s]
    #[arg(long, value_name = "TIME")]
    pub(crate) budget: Option<String>,
    /// Seed for all random choices [default: random, recorded in the result]
    #[arg(long)]
    pub(crate) seed: Option<u64>,
    /// Print the plan and its expected duration without measuring
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
    /// Run only the checks whose names start with one of these: timer,clock
    #[arg(long, value_name = "CHECKS")]
    pub(crate) only: Option<String>,
    /// Inject this fault into every check, so that one of them fails
    #[arg(long, value_name = "FAULT", hide = true)]
    pub(crate) inject: Option<String>,
    /// Ignore what detectors report, so that each of their checks fails
    #[arg(long, hide = true)]
    pub(crate) blind: bool,
    #[command(flatten)]
    pub(crate) look: LookArgs,
    /// Print only results: no progress, no notes
    #[arg(short, long)]
    pub(crate) quiet: bool,
    /// Show no progress line, even on a terminal
    #[arg(long)]
    pub(crate) no_progress: bool,
}

#[derive(Clone, Debug, ClapArgs)]
pub(crate) struct ReportArgs {
    /// A result file; '-' reads standard input, @NAME is a saved result, @last the latest. Several are shown one after
    /// another; as html, two make a before-and-after page; as csv, all make one table. Among several files, those that
    /// are not results are skipped and named (exit code 0 if at least one is a result)
    #[arg(required = true, value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
    /// What a CSV row stands for
    #[arg(long, value_enum)]
    pub(crate) rows: Option<RowChoice>,
    /// For a replication: also redraw the original's charts, with the values measured here, into this folder (SVG)
    #[arg(long, value_name = "DIR")]
    pub(crate) plots: Option<PathBuf>,
    /// Write to this file instead of standard output; its extension sets the format: .txt, .md, .csv, .json, .ndjson,
    /// .html
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
    /// A cell, summarised over its rounds
    Cells,
    /// One round of a cell
    Rounds,
}

/// What to do with saved results.
#[derive(Clone, Debug, ClapArgs)]
pub(crate) struct HistoryArgs {
    #[command(subcommand)]
    pub(crate) command: Option<HistoryCommand>,
}

#[derive(Clone, Debug, Subcommand)]
pub(crate) enum HistoryCommand {
    /// List saved results, latest first (the default)
    List {
        /// List only results saved under this name
        #[arg(value_name = "@NAME")]
        name: Option<String>,
        #[command(flatten)]
        look: LookArgs,
    },
    /// Show a saved result, like 'ipcperf report'
    Show(ReportArgs),
    /// Show one measurement over time, with what changed in between, such as the kernel or microcode
    Trend {
        /// The cell, as results name it ('pipe ping-pong 64B same-cpu') or as for 'compare --live' ('pipe same-cpu')
        #[arg(value_name = "CELL")]
        cell: String,
        /// Use only results saved under this name
        #[arg(value_name = "@NAME")]
        name: Option<String>,
        /// Write to this file instead of standard output; its extension sets the format: .txt, .md, .csv, .json,
        /// .ndjson, .html
        #[arg(short, long, value_name = "FILE")]
        output: Option<PathBuf>,
        #[command(flatten)]
        look: LookArgs,
    },
    /// Delete saved results
    Rm {
        /// The results: @nightly is the latest of that name, @nightly~1 the one before it
        #[arg(value_name = "@NAME", required = true)]
        names: Vec<String>,
        /// Delete all results saved under these names
        #[arg(long)]
        all: bool,
    },
}

/// Which cells of a result to show; ranks are computed among these.
#[derive(Clone, Debug, Default, ClapArgs)]
#[command(next_help_heading = "Show only these cells")]
pub(crate) struct OnlyArgs {
    /// Mechanisms: pipe,'unix-stream/*'
    #[arg(short, long, value_name = "NAMES")]
    pub(crate) mechanism: Vec<String>,
    /// Patterns: ping-pong,stream
    #[arg(short, long, value_name = "PATTERNS", value_parser = patterns(), hide_possible_values = true)]
    pub(crate) pattern: Vec<String>,
    /// Message sizes: 64,4K
    #[arg(short, long, value_name = "SIZES")]
    pub(crate) size: Vec<String>,
    /// Placements: same-cpu,same-llc
    #[arg(long, value_name = "PLACEMENTS", value_parser = places(), hide_possible_values = true)]
    pub(crate) place: Vec<String>,
    /// Show only this many rows of each ranking
    #[arg(long, value_name = "ROWS")]
    pub(crate) top: Option<usize>,
}

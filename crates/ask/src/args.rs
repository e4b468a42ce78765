//! Flags that several commands share, those of `run` and `compare`, and the cells that a result is reduced to.

use clap::Args as ClapArgs;
use ipcperf_core::{Idle, PatternKind, Placement, Touch};
use ipcperf_kit::args::{
    GateArgs, LabelArgs, LookArgs, MarginArgs, OutputArgs, PlanArgs, ProgressArgs,
};
use ipcperf_kit::counts;
use ipcperf_kit::error::Stop;
use ipcperf_kit::loads::LoadArgs;
use ipcperf_kit::request;
use ipcperf_kit::words::Words;
use std::ffi::OsString;
use std::path::PathBuf;

/// A list as it was typed, comma-separated or with a repeated flag; `None` if it was not typed.
pub(crate) fn typed(lists: &[String]) -> Option<String> {
    (!lists.is_empty()).then(|| lists.join(","))
}

pub(crate) fn patterns() -> Words {
    Words::of(PatternKind::ALL, PatternKind::name)
}

pub(crate) fn places() -> Words {
    Words(Placement::words().collect())
}

/// Which cells are measured, and under which load; shared by the commands that measure cells of a user's choice.
#[derive(Clone, Debug, Default, ClapArgs)]
pub(crate) struct CellArgs {
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
    /// How each side touches the payload [default: cacheline]
    #[arg(long, value_name = "TOUCH", value_parser = Words::of(Touch::ALL, Touch::name))]
    pub(crate) touch: Option<String>,
    #[command(flatten)]
    pub(crate) load: LoadArgs,
}

/// How long each cell is measured.
#[derive(Clone, Debug, Default, ClapArgs)]
pub(crate) struct LengthArgs {
    /// Number of rounds (each measures every cell once); a 95 % interval needs 6 [default: 12]
    #[arg(help_heading = "How long", long, value_name = "N")]
    pub(crate) rounds: Option<u64>,
    /// Timed length of a slice (one measurement of one cell) [default: 100ms]
    #[arg(help_heading = "How long", long, value_name = "TIME")]
    pub(crate) slice: Option<String>,
    /// Exact number of samples per slice (20000, 20k, 1M), however long they take: round trips, streamed messages, bursts,
    /// requests; with --batch, batches of round trips
    #[arg(help_heading = "How long", long, value_name = "N", value_parser = counts::amount, conflicts_with = "slice")]
    pub(crate) samples: Option<u64>,
    /// Warm-up before each slice [default: 20ms]
    #[arg(help_heading = "How long", long, value_name = "TIME")]
    pub(crate) warmup: Option<String>,
    /// Exact number of warm-up operations, however long they take
    #[arg(help_heading = "How long", long, value_name = "N", value_parser = counts::amount, conflicts_with = "warmup")]
    pub(crate) warmup_ops: Option<u64>,
    /// Round trips timed together as one sample; above 1 there are no quantiles of single round trips [default: 1, or
    /// more if one is too short for the clock]
    #[arg(help_heading = "How long", long, value_name = "N", value_parser = counts::amount)]
    pub(crate) batch: Option<u64>,
}

/// Rounds unless a user gives their number: enough for an interval of the median with half of the rounds in another mode.
const ROUNDS: u64 = 12;

/// The number of rounds, as it was given or as it is by default.
pub(crate) fn rounds(given: Option<u64>) -> Result<u64, Stop> {
    request::rounds(given.unwrap_or(ROUNDS))
}

#[derive(Clone, Debug, Default, ClapArgs)]
pub(crate) struct RunArgs {
    /// Mechanisms, as for -m, or a job file (TOML) whose keys are the long flags; flags override it. An argument that
    /// is not a mechanism and contains '/' or ends in .toml is a file. Paths in a job file must stay below the current
    /// directory
    #[arg(value_name = "MECHANISM|JOB.toml")]
    pub(crate) mechanisms: Vec<OsString>,
    /// Mechanisms: pipe,unix-stream/spin; 'pipe/*' for all variants, 'all' for all mechanisms; with knobs: 'pipe
    /// size=1M'
    #[arg(short, long, value_name = "NAMES")]
    pub(crate) mechanism: Vec<String>,
    #[command(flatten)]
    pub(crate) cells: CellArgs,
    /// Ping-pong and burst: also measure with this program (started without a shell) as the follow, in the same rounds as our
    /// own (repeatable): 'python3 echo.py'. How it answers: 'ipcperf help ends'
    #[arg(help_heading = "Programs of others", long, value_name = "PROGRAM ARGS")]
    pub(crate) follow: Vec<String>,
    /// Ping-pong and burst: also measure with an end that is running already and listens at unix:PATH or
    /// tcp:127.0.0.1:PORT, as the follow; one size. Prints the environment to start it with
    #[arg(help_heading = "Programs of others", long, value_name = "ADDRESS")]
    pub(crate) at: Option<String>,
    /// Allow running the programs that a job file names
    #[arg(help_heading = "Programs of others", long)]
    pub(crate) allow_exec: bool,
    /// Also time each system call of both sides, in a separate slice after all rounds
    #[arg(long)]
    pub(crate) time_calls: bool,
    #[command(flatten)]
    pub(crate) length: LengthArgs,
    /// Also write every timed operation to this file, one per line: iters, ns, round, cell, separated by tabs; '-'
    /// prints them instead of a table
    #[arg(long, value_name = "FILE")]
    pub(crate) raw: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) margin: MarginArgs,
    #[command(flatten)]
    pub(crate) plan: PlanArgs,
    #[command(flatten, next_help_heading = "Gates")]
    pub(crate) gates: GateArgs,
    #[command(flatten, next_help_heading = "Output")]
    pub(crate) output: OutputArgs,
}

/// What to compare, and how.
#[derive(Clone, Debug, ClapArgs)]
pub(crate) struct CompareArgs {
    /// Two mechanisms to measure side by side (as --live does), or two result files, the old one (A) and the new one
    /// (B). An argument that is not a mechanism and contains '/' or ends in .json is a file
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
    /// Side by side: number of rounds [default: as many as fit 10 s; with --margin or --fail-on 20 to 400, enough to detect
    /// twice the margin according to a pilot run]
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
    /// Ignore differences up to this size [default: 10%, or what --fail-on allows]
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
    pub(crate) label: LabelArgs,
    #[command(flatten)]
    pub(crate) look: LookArgs,
    #[command(flatten)]
    pub(crate) progress: ProgressArgs,
}

/// Which cells of a result to show; references and ratios are computed among these.
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
    /// Show only this many rows of each table, the best first
    #[arg(long, value_name = "ROWS")]
    pub(crate) top: Option<usize>,
}

//! Flags that several commands take: their names, values and help are declared here, and job files, manual pages and
//! completions follow. A command has its own flags in its file.

use crate::error::Stop;
use crate::words::Words;
use clap::{Args as ClapArgs, ValueEnum};
use ipcperf_core::result::Origin;
use ipcperf_core::units;
use ipcperf_engine::run::fresh_seed;
use ipcperf_render::Format;
use ipcperf_sys::random;
use std::path::PathBuf;

/// Where results go and how they look; shared by all commands that measure.
#[derive(Clone, Debug, Default, ClapArgs)]
pub struct OutputArgs {
    /// Result file, '-' for standard output [default: ./ipcperf-UTC.json, .json.gz of a survey]
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Where it goes without a name.
    #[arg(skip)]
    pub unnamed: Unnamed,
    /// Write no result file, only show the result
    #[arg(long, conflicts_with_all = ["output", "if_done"])]
    pub no_file: bool,
    /// What to do if FILE of -o already holds a whole result of the same work on this host, for jobs that may be started again
    /// [default: measure again]
    #[arg(long, value_name = "WHAT")]
    pub if_done: Option<IfDone>,
    /// Labels of the result.
    #[command(flatten)]
    pub label: LabelArgs,
    /// How it looks.
    #[command(flatten)]
    pub look: LookArgs,
    /// How much of it is shown.
    #[command(flatten)]
    pub tables: TableArgs,
    /// How much is said meanwhile.
    #[command(flatten)]
    pub progress: ProgressArgs,
}

/// Where a result goes that was given no name: to `STEM-UTC.json` in a folder.
#[derive(Clone, Debug)]
pub struct Unnamed {
    /// Empty for the current directory.
    pub folder: PathBuf,
    /// What its name begins with.
    pub stem: String,
}

impl Default for Unnamed {
    fn default() -> Self {
        Self { folder: PathBuf::new(), stem: "ipcperf".to_owned() }
    }
}

/// What happens where the result is there already.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum IfDone {
    /// Measure nothing, and exit as a run with this result would, gates included
    Skip,
}

/// What its user says of a result; shared by all commands that write a document.
#[derive(Clone, Debug, Default, ClapArgs)]
pub struct LabelArgs {
    /// Label the result (repeatable): host=n1. IPCPERF_LABELS=host=n1,job=17 labels every run. Of one key the last value
    /// counts, and --label wins
    #[arg(long, value_name = "KEY=VALUE")]
    pub label: Vec<String>,
}

/// Labels of every run, with commas between them.
const LABELS: &str = "IPCPERF_LABELS";

impl LabelArgs {
    /// A new document with these labels; one that was typed holds before one of the environment.
    pub fn origin(&self) -> Result<Origin, Stop> {
        self.origin_if(true)
    }

    /// The same where it may be that no document is written, but a text for people that has no labels: then those of the
    /// environment are not read, because what is wrong with them concerns other commands.
    pub fn origin_if(&self, is_written: bool) -> Result<Origin, Stop> {
        let [high, low] = [random::number(), random::number()];
        let mut origin = Origin { run_id: format!("{high:016x}{low:016x}"), ..Origin::default() };
        let around = std::env::var_os(LABELS).filter(|_| is_written).unwrap_or_default();
        let around = around.to_string_lossy();
        for label in around.split(',').map(str::trim).filter(|label| !label.is_empty()) {
            origin.label(label).map_err(|why| Stop::usage(format!("{LABELS}: {why}")))?;
        }
        for label in &self.label {
            origin.label(label).map_err(|why| Stop::usage(format!("--label: {why}")))?;
        }
        Ok(origin)
    }
}

/// How much is said while a command runs.
#[derive(Clone, Copy, Debug, Default, ClapArgs)]
pub struct ProgressArgs {
    /// Print only results: no progress, no notes
    #[arg(short, long)]
    pub quiet: bool,
    /// Show no progress line, even on a terminal
    #[arg(long)]
    pub no_progress: bool,
}

impl ProgressArgs {
    /// Whether there is no progress line.
    pub const fn is_silent(self) -> bool {
        self.quiet || self.no_progress
    }
}

/// How a measurement is planned; shared by all commands that measure.
#[derive(Clone, Copy, Debug, Default, ClapArgs)]
pub struct PlanArgs {
    /// Seed for all random choices [default: random, recorded in the result]
    #[arg(long)]
    pub seed: Option<u64>,
    /// Print the plan and its expected duration without measuring
    #[arg(long)]
    pub dry_run: bool,
}

impl PlanArgs {
    /// The seed that was typed, or a random one.
    pub fn seed(self) -> u64 {
        self.seed.unwrap_or_else(fresh_seed)
    }
}

/// From which difference on one mechanism is taken for another; shared by `run`, `survey` and `choose`.
#[derive(Clone, Debug, Default, ClapArgs)]
pub struct MarginArgs {
    /// Mechanisms that differ by no more than this are as fast as each other, and one that is faster replaces the
    /// fittest only if it is so by more [default: 10%]
    #[arg(long, value_name = "SHARE")]
    pub margin: Option<String>,
}

impl MarginArgs {
    /// The share that was typed: 0.1 of `10%`.
    pub fn share(&self) -> Result<Option<f64>, Stop> {
        let Some(text) = &self.margin else { return Ok(None) };
        match units::share(text).filter(|share| *share > 0.0 && *share <= 1.0) {
            Some(share) => Ok(Some(share)),
            None => Err(Stop::usage(format!(
                "--margin: '{text}' is not a share above 0 % and up to 100 % (like 10%)"
            ))),
        }
    }
}

/// How results look.
#[derive(Clone, Debug, Default, ClapArgs)]
pub struct LookArgs {
    /// Output format [default: table]
    #[arg(long, value_name = "FORMAT", value_parser = Words::of(Format::ALL, Format::name))]
    pub format: Option<String>,
    /// When to use colours
    #[arg(long, value_enum, default_value_t)]
    pub color: ColorChoice,
    /// Show everything: all findings with remedies, how to read the columns, all cells of a comparison or trend, all
    /// columns in Markdown
    #[arg(short, long)]
    pub verbose: bool,
    /// Draw bars next to the figures of a table; a pipe or a file gets none
    #[arg(long)]
    pub bars: bool,
}

/// How much of a result is shown.
#[derive(Clone, Debug, Default, ClapArgs)]
pub struct TableArgs {
    /// Show all tables, findings and explanations of a survey or study, not just one screen
    #[arg(long)]
    pub full: bool,
    /// Show each row as a multiple of the hardware limit measured on this machine
    #[arg(long)]
    pub versus_bound: bool,
}

/// When colours are used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum ColorChoice {
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
pub struct GateArgs {
    /// Exit 7 if any cell certainly meets this condition, 9 if undecided (repeatable): 'p99 > 50us', 'rate < 100k/s'.
    /// Metrics: min, mean, p50 to p99.999, max, rate, throughput, cpu
    #[arg(long, value_name = "CONDITION")]
    pub fail_if: Vec<String>,
    /// Exit 8 if the noise grade is worse
    #[arg(long, value_name = "GRADE", value_parser = Words(vec!["A", "B", "C", "D"]))]
    pub max_noise: Option<String>,
}

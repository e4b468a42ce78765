//! `bisect-step`: measures one cell next to its control and ends as `git bisect run` expects.

use crate::compare::arm;
use crate::compare::screen::ComparisonDocument;
use crate::compare::{plan, rounds};
use ipcperf_core::result::{Comparison, ComparisonPlan, Status};
use ipcperf_engine::plan::{CellPlan, Host};
use ipcperf_engine::registry::Registry;
use ipcperf_engine::run::{Settings, fresh_seed};
use ipcperf_judge::{Arms, Bisection, Likeness, Terms, compare_live};
use ipcperf_kit::args::ProgressArgs;
use ipcperf_kit::command::{CommandArgs, CommandGroup, Context};
use ipcperf_kit::document::Document;
use ipcperf_kit::error::{Code, Stop, note};
use ipcperf_kit::progress::ProgressLine;
use ipcperf_kit::word::{Word, WordKind, word};
use ipcperf_kit::{measure, output, reading, request};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

/// What `git bisect run` takes for a commit that is to be skipped.
const SKIP: u8 = 125;

/// The least that ends `git bisect run` and leaves the bisection unchanged.
const STOP: u8 = 128;

/// When no further round begins, unless less was asked for: the last one and the sums leave it below 30 s.
const TIME: Duration = Duration::from_secs(25);

/// Warm-up of a slice, as in `compare`, which makes the recordings.
const WARMUP: Duration = Duration::from_millis(20);

/// The fewest rounds that say something, and the most.
const FEWEST: usize = 10;
const MOST: u64 = 400;

/// What it says of a kernel.
const GOOD: &str = "like good";
const BAD: &str = "like bad";
const CANNOT_TELL: &str = "cannot tell";

#[derive(Clone, Debug, clap::Args)]
pub(crate) struct BisectStepArgs {
    /// The cell that became slower or faster: 'pipe 64K same-cpu'
    #[arg(long, value_name = "CELL")]
    cell: String,
    /// Comparison of a control (A) and the cell (B) on a good kernel, from 'ipcperf compare A B -o FILE' (repeatable, one
    /// for each boot)
    #[arg(long, value_name = "FILE", required = true)]
    good: Vec<PathBuf>,
    /// The same on a bad kernel (repeatable)
    #[arg(long, value_name = "FILE", required = true)]
    bad: Vec<PathBuf>,
    /// How long it may take, 25s at most [default: 25s]
    #[arg(long, value_name = "TIME")]
    time: Option<String>,
    #[command(flatten)]
    progress: ProgressArgs,
}

impl CommandArgs for BisectStepArgs {
    const NAME: &'static str = "bisect-step";
    const GROUP: CommandGroup = CommandGroup::Measure;
    const ABOUT: &'static str =
        "Say for 'git bisect run' whether this kernel is like good or like bad ones";
    const EXAMPLES: &'static str = "Exit codes: 0 like good, 1 like bad, 125 cannot tell, 128 anything else, which stops 'git bisect run'.
'ipcperf help bisect' has the whole loop.

Examples:
  ipcperf compare 'pipe 64 same-cpu' 'pipe 64K same-cpu' --time 20s -o good.json
  ipcperf bisect-step --cell 'pipe 64K same-cpu' --good good.json --bad bad.json
  ipcperf bisect-step --cell 'pipe 64K same-cpu' --good g1.json --good g2.json --bad b1.json --bad b2.json";
    const FAILURE: Option<u8> = Some(STOP);
    const WORDS: fn() -> &'static [Word] = || WORDS;

    fn run(&self, context: &Context<'_>) -> Result<ExitCode, Stop> {
        let steps = recorded(self)?;
        let host = request::host();
        let measured = host.and_then(|host| measured(context.registry, &host, self, &steps));
        let now = match measured {
            Ok(now) => now,
            // This kernel cannot run the cell, or not well enough: another one may.
            Err(stop)
                if [Code::NothingRan, Code::CannotTell, Code::Invalid].contains(&stop.code()) =>
            {
                note(&format!("ipcperf: {CANNOT_TELL}: {stop}"));
                return Ok(SKIP.into());
            }
            Err(stop) => return Err(stop),
        };
        let step = match steps.step(&now) {
            Ok(step) => step,
            Err(why) => {
                note(&format!("ipcperf: {CANNOT_TELL}: {why}"));
                return Ok(SKIP.into());
            }
        };
        let (words, code) = match step.likeness {
            Likeness::Good => (GOOD, 0),
            Likeness::Bad => (BAD, 1),
            Likeness::CannotTell => (CANNOT_TELL, SKIP),
        };
        let ([control, cell], [good, bad]) = (steps.cells(), steps.ratios());
        let spread = match steps.is_spread_known() {
            true => "",
            false => "; one file a side: the spread between boots is unknown",
        };
        output::lines([format!(
            "{words}: the ratio of {cell} to {control} is {:.3} (good {good:.3}, bad {bad:.3}; undecided within {:.1} % of {:.3}{spread})",
            step.ratio,
            step.reach * 100.0,
            (good * bad).sqrt(),
        )])?;
        Ok(code.into())
    }
}

/// What it says, explained.
const WORDS: &[Word] = &[
    word(
        GOOD,
        WordKind::Shown,
        "of a step of a bisection: the ratio of the cell to its control is surely on the side of the good kernels (exit code 0)",
        "leave the next step to 'git bisect run'",
    ),
    word(
        BAD,
        WordKind::Shown,
        "of a step of a bisection: the ratio of the cell to its control is surely on the side of the bad kernels (exit code 1)",
        "leave the next step to 'git bisect run'",
    ),
    word(
        CANNOT_TELL,
        WordKind::Shown,
        "of a step of a bisection: the ratio is too near the limit between good and bad kernels, or this kernel cannot run the cell (exit code 125)",
        "record more boots a side, or choose a control that is more like the cell",
    ),
];

/// What good and bad kernels had.
fn recorded(args: &BisectStepArgs) -> Result<Bisection, Stop> {
    let read = |paths: &[PathBuf]| {
        let each = paths.iter().map(|path| {
            let document = ComparisonDocument::load(&reading::text_of(path)?);
            let document = document.map_err(|error| reading::refused(path, &error))?;
            Ok((path.display().to_string(), document.0))
        });
        each.collect::<Result<Vec<(String, Comparison)>, Stop>>()
    };
    Bisection::of(&read(&args.good)?, &read(&args.bad)?).map_err(Stop::incomparable)
}

/// The comparison of the control and the cell, by this kernel.
fn measured(
    registry: &Registry,
    host: &Host,
    args: &BisectStepArgs,
    steps: &Bisection,
) -> Result<Comparison, Stop> {
    let time = match &args.time {
        Some(text) => request::time("--time", text, Duration::from_secs(1), TIME)?,
        None => TIME,
    };
    let [control, cell] = steps.cells();
    let asked = one(registry, host, &args.cell)?;
    if asked.id != cell {
        return Err(Stop::usage(format!("--cell is '{}', and the files have '{cell}'", asked.id)));
    }
    let control = one(registry, host, control)?;
    for cell in [&control, &asked] {
        if let Some(missing) = &cell.objection {
            return Err(Stop::nothing_ran(format!("{}: unavailable: {missing}", cell.id)));
        }
    }
    let (a, b) = (control.id.clone(), asked.id.clone());
    let cells = [control.clone(), control, asked];
    let settings = Settings {
        rounds: MOST,
        slice: plan::slice(&cells, false),
        warmup: WARMUP,
        seed: fresh_seed(),
        budget: Some(time),
        ..Settings::default()
    };
    let interrupts = measure::interrupts()?;
    let line = ProgressLine::counting("slices", args.progress.is_silent());
    let found = rounds::measure(&cells, &settings, &interrupts, &line)?;
    if found.set.interrupted {
        return Err(Stop::interrupted("interrupted: nothing is known of this kernel"));
    }
    let whole = found.set.cells.iter().map(|cell| cell.rounds.len()).min().unwrap_or(0);
    let is_measured = found.set.cells.iter().all(|cell| cell.status == Status::Ok);
    if is_measured && whole < FEWEST {
        return Err(Stop::cannot_tell(format!(
            "{whole} rounds in {} s, and {} are needed",
            time.as_secs(),
            FEWEST
        )));
    }
    let arms = Arms { a: &a, b: &b, set: &found.set, other: None };
    compare_live(&arms, ComparisonPlan::default(), &Terms::default()).map_err(Stop::incomparable)
}

/// The one cell that these words name.
fn one(registry: &Registry, host: &Host, text: &str) -> Result<CellPlan, Stop> {
    let mut cells = arm::cells(registry, host, text, None)?;
    match (cells.pop(), cells.len()) {
        (Some(cell), 0) => Ok(cell),
        (_, more) => {
            Err(Stop::usage(format!("'{text}' is {} cells, and one is measured", more + 1)))
        }
    }
}

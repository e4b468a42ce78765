//! An experiment from its plan on: how long it takes, its dry run, measuring, writing, showing.

use crate::args::LengthArgs;
use crate::questions;
use crate::questions::SLICE_OVERHEAD;
use crate::raw::Raw;
use crate::results::document::ResultDocument;
use crate::work::work;
use ipcperf_core::result::{Cell, CellKey, Crossover, Plan, Requirements, ResultSet, Status};
use ipcperf_core::{OptionSet, PayloadFile, findings, units};
use ipcperf_engine::plan::{CellPlan, Family};
use ipcperf_engine::run::{self, Counts, Settings, Staging};
use ipcperf_engine::slice::MOST_KEPT;
use ipcperf_kit::args::OutputArgs;
use ipcperf_kit::command::{Context, screens};
use ipcperf_kit::counts::{counts, each_alone, fits};
use ipcperf_kit::document::Show;
use ipcperf_kit::error::{Code, Stop};
use ipcperf_kit::gates::Gates;
use ipcperf_kit::output::{Publication, Target};
use ipcperf_kit::progress::ProgressLine;
use ipcperf_kit::reading::cast_box;
use ipcperf_kit::work::MeasuredWork;
use ipcperf_kit::{measure, output, reading, request};
use ipcperf_render::text::{counted, in_groups};
use ipcperf_stats::FEWEST_ROUNDS;
use ipcperf_sys::signals::Interrupts;
use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

/// The bounds before the first and after the last round.
pub(crate) const BOUNDS: Duration = Duration::from_millis(1200);

/// What an operation is expected to take where their number is given: a round trip over a pipe takes 5 us on one CPU, and
/// some 10 to 50 between two.
const OPERATION: Duration = Duration::from_micros(10);

/// A slice by time has so many samples, however long they are, and those that lead in.
const FEWEST_BATCHES: u64 = 12;

/// What a slice takes at the least: some 36 messages (verification, warm-up, twelve samples, both ways).
fn fewest(size: u64) -> Duration {
    moving(36, size)
}

/// What moving so many messages takes where they are large: at 3 GB/s what caches hold, beyond that at 1 GB/s. Of 128 MiB
/// pipes, sockets and rings move 0.7 to 1.2 GB/s.
fn moving(messages: u64, size: u64) -> Duration {
    const CACHED: u64 = 16 << 20;
    let rate = if size <= CACHED { 3e9 } else { 1e9 };
    Duration::from_secs_f64(messages as f64 * size as f64 / rate)
}

/// What timing the system calls of a cell takes, where each operation has two wake-ups.
fn timing_calls(size: u64) -> Duration {
    let operations = run::timed_calls(size);
    Duration::from_micros(100 * operations) + moving(2 * operations + 24, size)
}

/// What a program takes more than our own end: its start, and the windows of its warm-up.
const PROGRAM: Duration = Duration::from_millis(250);

/// The processes of a slice: two, two for each channel, or all peers of a fan and the other end.
fn starting(cell: &CellPlan) -> Duration {
    let load = &cell.key.load;
    let processes = if load.channels > 0 { 2 * load.channels } else { load.peers.max(1) + 1 };
    let ours = SLICE_OVERHEAD.mul_f64(processes as f64 / 2.0);
    if cell.key.load.is_ours() { ours } else { ours + PROGRAM }
}

/// Cells, and how they are to be measured.
#[derive(Debug)]
pub(crate) struct Experiment {
    /// `survey`, `run`, `choose` or `explain`.
    pub(crate) command: &'static str,
    /// All cells, including those that cannot run here.
    pub(crate) cells: Vec<CellPlan>,
    pub(crate) settings: Settings,
    /// What `choose` was asked for.
    pub(crate) requirements: Option<Requirements>,
    /// Arms that differ by no more than this share are as fast as each other; `None` unless it was typed.
    pub(crate) margin: Option<f64>,
    /// The search that adds cells, if it is one.
    pub(crate) crossover: Option<Crossover>,
    /// The file that every operation is written to, if there is one.
    pub(crate) raw: Option<PathBuf>,
    /// How they are measured in stages; `None`: all of them in every round.
    pub(crate) staging: Option<Staging>,
    /// What the budget that was typed was spent on before; `settings` has the rest.
    pub(crate) beforehand: Beforehand,
}

/// Time of a budget that is not for a plan itself.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Beforehand {
    pub(crate) spent: Duration,
    /// What a longer budget would be spent on as well.
    pub(crate) skipped: Duration,
}

/// So many cells a dry run names one by one; of more it says how many there are of each kind.
const LISTED: usize = 40;

impl Experiment {
    /// All cells in every round, with nothing else asked for.
    pub(crate) fn new(command: &'static str, cells: Vec<CellPlan>, settings: Settings) -> Self {
        let (requirements, margin, crossover, raw, staging) = (None, None, None, None, None);
        let beforehand = Beforehand::default();
        Self { command, cells, settings, requirements, margin, crossover, raw, staging, beforehand }
    }

    /// How many cells can run here.
    pub(crate) fn runnable(&self) -> u64 {
        self.cells.iter().filter(|cell| cell.objection.is_none()).count() as u64
    }

    pub(crate) fn expected(&self) -> Duration {
        match (&self.staging, self.settings.budget) {
            // Its last stage takes what is left.
            (Some(_), Some(budget)) => budget,
            _ => self.expected_of(self.settings.rounds),
        }
    }

    /// How long so many rounds take.
    pub(crate) fn expected_of(&self, rounds: u64) -> Duration {
        let Counts { samples, warmup, batch } = self.settings.counts;
        let counted = |operations: u64| OPERATION.mul_f64(operations as f64);
        let slice = match samples {
            0 => self.settings.slice.max(counted(batch * FEWEST_BATCHES)),
            samples => counted(samples * batch.max(1)),
        } + if warmup > 0 { counted(warmup) } else { self.settings.warmup };
        let one = |cell: &CellPlan| {
            let load = &cell.key.load;
            // A pause longer than the slice, and the stop.
            let [pause, stop] = [load.think_ns, load.stall_ns].map(Duration::from_nanos);
            slice.max(fewest(cell.key.size_bytes)).max(pause) + stop + starting(cell)
        };
        let runnable = self.cells.iter().filter(|cell| cell.objection.is_none());
        let calls: Duration = match self.settings.time_calls {
            true => {
                let of = |cell: &CellPlan| timing_calls(cell.key.size_bytes) + starting(cell);
                runnable.clone().map(of).sum()
            }
            false => Duration::ZERO,
        };
        let round: Duration = runnable.map(one).sum();
        // The closed loops that find the peaks of open ones.
        let trial = self.settings.warmup + self.settings.slice / 5 + SLICE_OVERHEAD;
        let trials = Family::all(self.cells.iter()).len() as u64 * run::TRIALS;
        BOUNDS
            + calls
            + trial.mul_f64(trials as f64)
            + (round + run::pause(&self.settings)).mul_f64(rounds as f64)
    }

    /// Plans as many of its rounds as fit into its budget, and one at the least; whether that one fits.
    pub(crate) fn keep_budget(&mut self) -> bool {
        let Some(budget) = self.settings.budget else { return true };
        let beside = self.expected_of(0);
        let fitting =
            measure::rounds_within(budget, beside, self.expected_of(1).saturating_sub(beside));
        self.settings.rounds = fitting.clamp(1, self.settings.rounds);
        fitting > 0
    }

    /// What its budget is too short for, and what would do: one round, or as many as `what` takes.
    pub(crate) fn short(&self, what: &str) -> Option<String> {
        let budget = self.settings.budget?;
        let given = self.typed_budget();
        let enough = self.enough();
        let (rounds, one) = (self.settings.rounds, self.expected_of(1));
        if one > budget {
            let takes = one.as_secs_f64().ceil();
            return Some(format!(
                "One round takes about {takes} s and is measured, although --budget is {given}; {what} takes \
                 {FEWEST_ROUNDS}: --budget {enough}"
            ));
        }
        (rounds < FEWEST_ROUNDS as u64).then(|| {
            let fit = if rounds == 1 { "fits" } else { "fit" };
            let rounds = format!("{} {fit}", counted(rounds, "round"));
            format!("{rounds} into --budget {given}, and {what} takes {FEWEST_ROUNDS}: --budget {enough}")
        })
    }

    /// The budget that has room for as many rounds as anything certain takes.
    pub(crate) fn enough(&self) -> String {
        let Beforehand { spent, skipped } = self.beforehand;
        let enough = self.expected_of(FEWEST_ROUNDS as u64) + spent + skipped;
        format!("{}s", enough.as_secs_f64().ceil())
    }

    /// The budget as it was asked for.
    pub(crate) fn typed_budget(&self) -> String {
        let typed = self.settings.budget.unwrap_or_default() + self.beforehand.spent;
        units::format_duration(typed.as_nanos() as u64)
    }

    /// Carries the plan out, or only prints it.
    pub(crate) fn finish(
        self,
        context: &Context<'_>,
        dry_run: bool,
        args: &OutputArgs,
        gates: &Gates,
    ) -> Result<ExitCode, Stop> {
        self.has_room_for_raw()?;
        if dry_run {
            self.print(context, args)
        } else {
            self.carry_out(context, args, gates).map(|(code, _)| code)
        }
    }

    /// What would be measured, with the exit code that measuring it would have.
    pub(crate) fn print(&self, context: &Context<'_>, args: &OutputArgs) -> Result<ExitCode, Stop> {
        let amount = match &self.staging {
            Some(staging) => format!(
                "{} in {}: at most {:.0} s, seed {}",
                counted(self.runnable(), "cell"),
                counted(staging.questions.len() as u64, "question"),
                self.expected().as_secs_f64(),
                self.settings.seed,
            ),
            None => self.amount(),
        };
        let stages =
            self.staging.iter().flat_map(|one| questions::plan_words(one, self.runnable()));
        let raw = self.raw.as_deref().map(|raw| Raw::planned(raw, args.output.as_deref()));
        let raw = raw.transpose()?.map(|place| format!("Every operation: {place}"));
        let payloads = self.cells.iter().filter_map(|cell| cell.key.load.payload.as_ref());
        let contents: BTreeSet<String> = payloads.map(PayloadFile::sentence).collect();
        let is_whole = args.look.verbose || self.cells.len() <= LISTED;
        let cells = if is_whole { self.listed() } else { self.summed_up() };
        if self.runnable() == 0 {
            output::format(&args.look)?;
            args.label.origin()?;
            output::lines(std::iter::once(amount).chain(cells))?;
            return Ok(Code::NothingRan.into());
        }
        let lines = stages.chain(raw).chain(contents).chain(cells);
        measure::dry_run(context.commands, &self.work(&self.plan()), &amount, args, lines)
    }

    /// How much is measured where every round has all cells.
    fn amount(&self) -> String {
        if self.runnable() == 0 {
            return format!(
                "Nothing to measure: none of {} can run",
                counted(self.cells.len() as u64, "cell")
            );
        }
        format!(
            "{} x {} x ({} + {} warm-up): about {:.0} s, seed {}",
            counted(self.runnable(), "cell"),
            counted(self.settings.rounds, "round"),
            self.slice_words(),
            match self.settings.counts.warmup {
                0 => format!("{:.0} ms", self.settings.warmup.as_secs_f64() * 1e3),
                operations => counted(operations, "operation"),
            },
            self.expected().as_secs_f64().max(1.0),
            self.settings.seed,
        )
    }

    /// How long the timed part of a slice is.
    fn slice_words(&self) -> String {
        let Counts { samples, batch, .. } = self.settings.counts;
        let of =
            if batch > 1 { format!(" of {}", counted(batch, "round trip")) } else { String::new() };
        match samples {
            0 => format!("{:.0} ms", self.settings.slice.as_secs_f64() * 1e3),
            samples => counted(samples, "sample") + &of,
        }
    }

    /// Also writes every operation to this file, where there is one.
    pub(crate) fn write_raw(&mut self, raw: Option<PathBuf>) -> Result<(), Stop> {
        if raw.is_some() {
            self.settings.keeps_samples = true;
            self.settings.counts = each_alone(self.settings.counts);
            let cells = self.cells.iter().map(|cell| (cell.key.pattern, &cell.key.load));
            fits(&self.settings, cells)?;
        }
        self.raw = raw;
        Ok(())
    }

    /// Refuses more operations than are kept one by one, where it is known how many there will be.
    fn has_room_for_raw(&self) -> Result<(), Stop> {
        let Settings { rounds, counts: Counts { samples, .. }, keeps_samples, .. } = self.settings;
        let cells = self.runnable();
        let all = samples.saturating_mul(rounds).saturating_mul(cells);
        if !keeps_samples || all <= MOST_KEPT {
            return Ok(());
        }
        let [rounds, cells] =
            [(rounds, "round"), (cells, "cell")].map(|(n, what)| counted(n, what));
        Err(Stop::usage(format!(
            "--raw: --samples {samples} x {rounds} x {cells} are {all} operations, and a run keeps {MOST_KEPT} at the most"
        )))
    }

    /// Every cell.
    fn listed(&self) -> Vec<String> {
        let line = |cell: &CellPlan| match &cell.objection {
            None => format!("  {}", cell.id),
            Some(missing) => format!("  {}: unavailable: {missing}", cell.id),
        };
        self.cells.iter().map(line).collect()
    }

    /// How many there are of each kind, and each reason once why some cannot run.
    fn summed_up(&self) -> Vec<String> {
        let (mut kinds, mut reasons) = (Vec::new(), Vec::new());
        for cell in &self.cells {
            match &cell.objection {
                None => {
                    let key = CellKey { mechanism: String::new(), ..cell.key.clone() };
                    kinds.push((key.words(&OptionSet::default()).trim().to_owned(), ()));
                }
                Some(missing) => reasons.push((missing.to_string(), cell.key.mechanism.clone())),
            }
        }
        let kinds = in_groups(kinds)
            .into_iter()
            .map(|(kind, cells)| format!("  {kind}: {}", counted(cells.len() as u64, "cell")));
        let reasons = in_groups(reasons).into_iter().map(|(reason, mut names)| {
            let cells = counted(names.len() as u64, "cell");
            names.sort();
            names.dedup();
            format!("  unavailable, {cells}: {}: {reason}", names.join(", "))
        });
        kinds.chain(reasons).chain(["Every cell by its name: -v".to_owned()]).collect()
    }

    /// The plan as the document has it.
    pub(crate) fn plan(&self) -> Plan {
        Plan {
            requirements: self.requirements.clone(),
            margin: self.margin,
            crossover: self.crossover.clone(),
            ..plan(self.command, self.runnable(), &self.settings, self.expected())
        }
    }

    /// What it is asked to measure.
    pub(crate) fn work(&self, plan: &Plan) -> MeasuredWork {
        work(plan, self.cells.iter().map(|cell| cell.id.clone()), self.staging.is_some())
    }

    /// Measures all of it; how the program ends, and what came out.
    pub(crate) fn carry_out(
        self,
        context: &Context<'_>,
        args: &OutputArgs,
        gates: &Gates,
    ) -> Result<(ExitCode, ResultSet), Stop> {
        // In stages the reference is chosen before the rounds that count; otherwise it is the fittest, whatever its figures.
        let is_compared = self.staging.is_none() && ["run", "survey"].contains(&self.command);
        let planned = if is_compared { self.cells.clone() } else { Vec::new() };
        self.carry_out_with(context, args, gates, |set| {
            questions::mark_references(context.registry, &planned, set);
        })
    }

    /// The same, where something else is added to the document before it is written.
    pub(crate) fn carry_out_with(
        self,
        context: &Context<'_>,
        args: &OutputArgs,
        gates: &Gates,
        amend: impl FnOnce(&mut ResultSet),
    ) -> Result<(ExitCode, ResultSet), Stop> {
        let plan = self.plan();
        let asked = self.work(&plan);
        let Self { cells, settings, raw, staging, .. } = self;
        let raw = raw.as_deref();
        let shown = Shown { context, args, raw, gates, asked };
        record(
            plan,
            settings.seed,
            shown,
            |interrupts, progress| match &staging {
                Some(staging) => {
                    run::in_stages(cells, staging, &settings, Some(interrupts), progress)
                }
                None => run::run(cells, &settings, Some(interrupts), progress),
            },
            amend,
        )
    }
}

/// How a run goes that was asked for so many rounds.
pub(crate) fn settings(
    length: &LengthArgs,
    rounds: u64,
    seed: u64,
    keeps_samples: bool,
) -> Result<Settings, Stop> {
    let second = Duration::from_secs(1);
    let time = |name: &str, given: &Option<String>, default: Duration, most: Duration| match given {
        Some(text) => request::time(name, text, second / 1000, most),
        None => Ok(default),
    };
    let counts = counts(length.samples, length.warmup_ops, length.batch)?;
    Ok(Settings {
        rounds,
        slice: time("--slice", &length.slice, measure::SLICE, 600 * second)?,
        warmup: time("--warmup", &length.warmup, measure::WARMUP, 60 * second)?,
        counts: if keeps_samples { each_alone(counts) } else { counts },
        keeps_samples,
        seed,
        budget: None,
        time_calls: false,
    })
}

/// A plan as the document has it.
pub(crate) fn plan(command: &str, cells: u64, settings: &Settings, expected: Duration) -> Plan {
    let Counts { samples, warmup, batch } = settings.counts;
    let counted = |count: u64| (count > 0).then_some(count);
    Plan {
        command: command.into(),
        cells,
        rounds: settings.rounds,
        slice_ms: if samples > 0 { 0.0 } else { settings.slice.as_secs_f64() * 1e3 },
        warmup_ms: if warmup > 0 { 0.0 } else { settings.warmup.as_secs_f64() * 1e3 },
        samples: counted(samples),
        warmup_operations: counted(warmup),
        batch: counted(batch),
        expected_s: expected.as_secs_f64(),
        ..Plan::default()
    }
}

/// How a result is written and shown, and what it has to meet.
pub(crate) struct Shown<'a> {
    pub(crate) context: &'a Context<'a>,
    pub(crate) args: &'a OutputArgs,
    /// The file that every operation is written to, if there is one.
    pub(crate) raw: Option<&'a Path>,
    pub(crate) gates: &'a Gates,
    /// What is to be measured.
    pub(crate) asked: MeasuredWork,
}

/// Measures, writes the document, to which `amend` may add, and shows the result.
pub(crate) fn record(
    plan: Plan,
    seed: u64,
    shown: Shown<'_>,
    measured: impl FnOnce(&Interrupts, &mut dyn FnMut(run::Progress<'_>)) -> io::Result<run::Findings>,
    amend: impl FnOnce(&mut ResultSet),
) -> Result<(ExitCode, ResultSet), Stop> {
    let Shown { context, args, raw, gates, asked } = shown;
    let format = output::format(&args.look)?;
    let origin = args.label.origin()?;
    let done = reading::done(context.commands, &asked, args)?;
    if let Some(ResultDocument(set)) = done.and_then(cast_box).map(|document| *document) {
        let code = verdict(&set).or(gates.check(&set)).map_or(ExitCode::SUCCESS, ExitCode::from);
        return Ok((code, set));
    }
    let raw = raw.map(|raw| Raw::choose(raw, args.output.as_deref())).transpose()?;
    let started = jiff::Timestamp::now();
    let target = Target::typed(args, &started)?.map(|target| target.of_command(&plan.command));
    let interrupts = measure::interrupts()?;
    let expected = Duration::try_from_secs_f64(plan.expected_s).unwrap_or_default();
    let line = ProgressLine::new(expected, args.progress.is_silent());
    let mut show = |progress: run::Progress<'_>| line.show(progress);
    let mut kept_one_by_one = (Vec::new(), 1.0);
    let mut set = measure::take(plan, seed, origin, &started, || {
        let mut found = measured(&interrupts, &mut show)?;
        kept_one_by_one = found.take_kept();
        Ok(found)
    })?;
    amend(&mut set);
    let target = target.map(|target| target.of(set.interrupted));
    // The lines are in the place of the screen where they are printed.
    let shows = !raw.is_some_and(Raw::is_stdout);
    let style = output::table_style(&args.look, &args.tables, false);
    let specs = request::specs(context.registry);
    let screens = screens(context.commands);
    let document = ResultDocument(set);
    let publication = Publication {
        name: "Result",
        document: &document,
        target: target.as_ref(),
        quiet: args.progress.quiet,
        screen: shows.then(|| Show {
            specs: &specs,
            screens: &screens,
            ..Show::new(format, &style)
        }),
    };
    let published = publication.publish(|| ());
    let ResultDocument(set) = document;
    let written = raw.map(|raw| raw.write(&set, &kept_one_by_one, args.progress.quiet));
    published?;
    written.transpose()?;
    let gate = gates.check(&set);
    let code = verdict(&set).or(gate).map_or(ExitCode::SUCCESS, ExitCode::from);
    Ok((code, set))
}

/// How the program ends: interruption first, then the worst thing that happened; `None` if all is well.
pub(crate) fn verdict(set: &ResultSet) -> Option<Code> {
    let cells = set.cells.iter().map(|cell| cell.status);
    let pipelines = set.pipelines.iter().map(|one| one.status);
    // The cell has figures, but not of what was asked for.
    let is_refused = set.noise.findings.iter().any(|finding| findings::REFUSED.is_of(finding));
    let refused = is_refused.then_some(Status::Failed);
    let statuses: Vec<Status> = cells.chain(pipelines).chain(refused).collect();
    let unproved = |cell: &Cell| {
        cell.status == Status::Failed && cell.rounds.iter().any(|round| !round.proof.holds)
    };
    let is_invalid = measure::invalid(&set.noise) || set.cells.iter().any(unproved);
    measure::worst(set.interrupted, is_invalid, &statuses)
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use ipcperf_core::result::{
        Bounds, ClockFacts, Finding, Host, Invocation, Kernel, Noise, Origin, Severity, Tool,
    };

    /// A document of cells that ended so.
    pub(crate) fn set(statuses: &[&str]) -> ResultSet {
        let cell = |status: &&str| {
            let text = format!(
                r#"{{"id": "x", "mechanism": "pipe", "wait": "block", "pattern": "ping-pong", "size_bytes": 1,
                "placement": "same-cpu", "cpus": [0, 0], "idle": "as-is", "touch": "none", "knobs": {{}},
                "status": "{status}", "rounds": [], "messages": 0, "verified": false}}"#
            );
            serde_json::from_str(&text).unwrap()
        };
        ResultSet {
            schema: ipcperf_core::result::SCHEMA.into(),
            origin: Origin::default(),
            started_utc: String::new(),
            duration_s: 0.0,
            interrupted: false,
            tool: Tool::default(),
            invocation: Invocation::default(),
            host: Host::default(),
            kernel: Kernel::default(),
            clock: ClockFacts::default(),
            bounds: Bounds::default(),
            noise: Noise::default(),
            cells: statuses.iter().map(cell).collect(),
            plugins: Vec::new(),
            scaling: Vec::new(),
            pipelines: Vec::new(),
            questions: Vec::new(),
        }
    }

    fn with_finding(code: &str) -> ResultSet {
        let mut set = set(&["ok"]);
        set.noise.findings.push(Finding {
            code: code.into(),
            severity: Severity::Error,
            text: String::new(),
            value: None,
            limit: None,
            cells: Vec::new(),
            remedy: String::new(),
        });
        set
    }

    #[test]
    fn the_exit_code_tells_the_worst_thing_that_happened() {
        assert_eq!(verdict(&set(&["ok", "unavailable", "rejected", "skipped"])), None);
        assert_eq!(verdict(&set(&["unavailable"])), Some(Code::NothingRan));
        assert_eq!(verdict(&set(&["ok", "failed"])), Some(Code::Internal));
        assert_eq!(verdict(&set(&["ok", "deadline"])), Some(Code::Internal));
        for code in ["E-IMPOSSIBLE", "E-CLOCK", "E-PAYLOAD"] {
            assert_eq!(verdict(&with_finding(code)), Some(Code::Invalid), "{code}");
        }
        assert_eq!(verdict(&with_finding("E-REFUSED")), Some(Code::Internal));
        assert_eq!(verdict(&with_finding("W-REFUSED")), None);
        assert_eq!(verdict(&with_finding("E-MIGRATE")), None);
        let interrupted = ResultSet { interrupted: true, ..with_finding("E-PAYLOAD") };
        assert_eq!(verdict(&interrupted), Some(Code::Interrupted));
    }
}

//! A bench program: mechanisms of another package and those that they are built on, with a document, and a comparison with
//! the last one. What it measures is a `run`.

mod args;
mod folder;
mod since;

use crate::args::{CellArgs, rounds, typed};
use crate::experiment::{Experiment, verdict};
use crate::run;
use args::BenchArgs;
use clap::error::ErrorKind;
use ipcperf_core::Spec;
use ipcperf_core::result::{CellKey, Origin, ResultSet, Status};
use ipcperf_engine::plan::CellPlan;
use ipcperf_engine::registry::Registry;
use ipcperf_engine::run::{Settings, conditions};
use ipcperf_judge::beside;
use ipcperf_kit::args::{OutputArgs, Unnamed};
use ipcperf_kit::cli::Cli;
use ipcperf_kit::command::Context;
use ipcperf_kit::error::{Code, Stop, note};
use ipcperf_kit::gates::{self, Gates};
use ipcperf_kit::measure::{self, rounds_within};
use ipcperf_kit::progress::ProgressLine;
use ipcperf_kit::reading::read_result;
use ipcperf_kit::{output, request};
use ipcperf_render::text::counted;
use ipcperf_stats::FEWEST_ROUNDS;
use std::ffi::OsString;
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

/// What a bench measures unless its command line says otherwise. Every list is as `ipcperf run` takes it.
#[derive(Clone, Debug, Default)]
pub struct BenchProgram {
    /// Full names of the mechanisms that it brings.
    pub mechanisms: Vec<String>,
    /// Mechanisms that they are compared with, the reference first. Without one it is what each is built on (`Spec::over`).
    pub against: Vec<String>,
    /// Sizes of messages.
    pub sizes: Vec<String>,
    /// Patterns.
    pub patterns: Vec<String>,
    /// Placements.
    pub places: Vec<String>,
    /// Knobs: `mine.size=1M`.
    pub settings: Vec<String>,
}

impl BenchProgram {
    /// Does what the words behind the name of the program say: measures, tries, lists, or, where the first of several words is a
    /// command of ipcperf and cargo gave none, what that command does.
    ///
    /// # Errors
    /// Why it stopped, with its exit code.
    pub fn run(&self, cli: &Cli, words: &[OsString]) -> Result<ExitCode, Stop> {
        if let [command, _, ..] = words
            && cli.has(command)
            && !words.iter().any(|word| word == "--bench")
        {
            return cli.does(words);
        }
        let program = std::env::current_exe().unwrap_or_default();
        let name = folder::name(&program);
        let (args, matches) = match BenchArgs::of(&name, words) {
            Ok(read) => read,
            Err(error) if error.kind() == ErrorKind::DisplayHelp => {
                return output::styled(&error.render());
            }
            Err(error) => return Err(args::refused(&name, &error)),
        };
        let context = cli.context(&matches);
        has_own_names(context.registry, &self.mechanisms)?;
        let gates = Gates::of(&args.gates)?;
        let slower = gates::slower(&args.fail_on)?;
        let bench = AskedBench { program: self, args: &args, context };
        let (experiment, against) = bench.experiment()?;
        let own = |cell: &&CellPlan| self.mechanisms.contains(&cell.key.mechanism);
        let ids: Vec<String> =
            experiment.cells.iter().filter(own).map(|cell| cell.id.clone()).collect();
        if args.cargo.list {
            let listed = ids.iter().filter(|_| !args.cargo.ignored);
            return output::lines(listed.map(|id| format!("{id}: benchmark")));
        }
        if ids.is_empty() || args.cargo.ignored {
            let why = match args.cargo.skip.is_empty() {
                true => format!("no cell has '{}' in its name", args.filter.join(" ")),
                false => "no cell is left to measure".to_owned(),
            };
            note(&format!("{name}: {why}; --list shows all"));
            // What was to be gated was not measured.
            let is_gated = !slower.is_empty() && !args.is_trial();
            return Ok(if is_gated { Code::CannotTell.into() } else { ExitCode::SUCCESS });
        }
        let results = folder::results(&program);
        let unnamed = Unnamed { folder: results.clone(), stem: name.clone() };
        let into = OutputArgs { unnamed, ..args.output.clone() };
        if args.plan.dry_run {
            return experiment.print(&context, &into);
        }
        if args.is_trial() {
            return trial(experiment);
        }
        // Before a minute of measuring: whether it can be read.
        let earlier = match args.baseline.clone() {
            Some(path) => Some((read_result(&path)?, path)),
            None => folder::last(&results, &name, &ids),
        };
        let earlier = match earlier {
            Some((set, path)) => since::of_cells(&path, set, &ids)?,
            None => None,
        };
        if into.output.is_none() && !into.no_file {
            output::folder("-o", &results)?;
        }
        let amend = |set: &mut ResultSet| refer(set, &self.mechanisms, &against);
        let (code, set) = experiment.carry_out_with(&context, &into, &gates, amend)?;
        let file = into.output.as_deref();
        let new = since::of_cells(file.unwrap_or(Path::new("this run")), set, &ids)?;
        let compared = since::compared(earlier, new, &slower, &into)?;
        Ok(if code == ExitCode::SUCCESS { compared.map_or(code, ExitCode::from) } else { code })
    }
}

/// A bench program with what was typed.
struct AskedBench<'a> {
    program: &'a BenchProgram,
    args: &'a BenchArgs,
    context: Context<'a>,
}

impl AskedBench<'_> {
    /// What is to be measured, and full names of what it is compared with.
    fn experiment(&self) -> Result<(Experiment, Vec<String>), Stop> {
        let Self { program, args, context } = self;
        let registry = context.registry;
        let against = self.against()?;
        let or = |typed: &[String], own: &[String]| match typed {
            [] => own.to_vec(),
            typed => typed.to_vec(),
        };
        let cells = CellArgs {
            size: or(&args.cells.size, &program.sizes),
            pattern: or(&args.cells.pattern, &program.patterns),
            place: or(&args.cells.place, &program.places),
            set: [&program.settings[..], &args.cells.set].concat(),
            ..args.cells.clone()
        };
        let mut names = program.mechanisms.clone();
        names.extend(against.iter().cloned());
        let run_args = args.run(names, cells);
        let mut experiment = run::plan(registry, &run_args, rounds(args.length.rounds)?)?;
        self.choose(&mut experiment.cells);
        if let Some(text) = &args.time {
            self.fill(&mut experiment, request::budget("--time", text)?);
        }
        Ok((experiment, against))
    }

    /// What the mechanisms are compared with: as typed, as the bench says, or what they are built on.
    fn against(&self) -> Result<Vec<String>, Stop> {
        let Self { program, args, context } = self;
        let named = typed(&args.against).map_or_else(|| program.against.clone(), |list| vec![list]);
        let bare = || {
            let entries = program.mechanisms.iter().filter_map(|name| context.registry.find(name));
            entries.filter_map(|entry| entry.spec.over).map(str::to_owned).collect()
        };
        let named: Vec<String> = if named.is_empty() { bare() } else { named };
        let mut against: Vec<String> = Vec::new();
        for one in request::asked(context.registry, &named, &[])? {
            let name = one.entry.spec.full_name();
            if !program.mechanisms.contains(&name) && !against.contains(&name) {
                against.push(name);
            }
        }
        if against.is_empty() {
            note(
                "Measured alone: name what it is built on in SPEC (over), or what it competes with (against)",
            );
        }
        Ok(against)
    }

    /// Keeps the cells that the filter names, and what they are compared with.
    fn choose(&self, cells: &mut Vec<CellPlan>) {
        let Self { program, args, .. } = self;
        let skip = &args.cargo.skip;
        let is_hit = |cell: &CellPlan| match args.cargo.exact {
            true => {
                (args.filter.is_empty() || args.filter.contains(&cell.id))
                    && !skip.contains(&cell.id)
            }
            false => {
                args.filter.iter().all(|word| cell.id.contains(word))
                    && !skip.iter().any(|word| cell.id.contains(word))
            }
        };
        let is_own = |cell: &CellPlan| program.mechanisms.contains(&cell.key.mechanism);
        let kept: Vec<CellKey> = cells
            .iter()
            .filter(|cell| is_own(cell) && is_hit(cell))
            .map(|cell| conditions(&cell.key))
            .collect();
        cells.retain(|cell| {
            if is_own(cell) { is_hit(cell) } else { kept.contains(&conditions(&cell.key)) }
        });
    }

    /// Plans as many rounds as fit into this time, and one at the least.
    fn fill(&self, experiment: &mut Experiment, time: Duration) {
        const MOST: u64 = 10_000;
        let fixed = experiment.expected_of(0);
        let each = experiment.expected_of(1).saturating_sub(fixed);
        let fitting = rounds_within(time, Duration::ZERO, each);
        experiment.settings.rounds = fitting.clamp(1, MOST);
        if fitting < FEWEST_ROUNDS as u64 && !self.args.is_trial() {
            let needed = (each * FEWEST_ROUNDS as u32).as_secs_f64().ceil();
            let rounds = counted(experiment.settings.rounds, "round");
            note(&format!(
                "--time has room for {rounds}; an interval takes {FEWEST_ROUNDS}: --time {needed}s"
            ));
        }
    }
}

/// Marks what each cell is compared with as the reference of its question, and adds the ratios of the mechanisms of the bench to it.
fn refer(set: &mut ResultSet, own: &[String], against: &[String]) {
    let Some(first) = against.first() else { return };
    let key = |key: &CellKey| (conditions(key), key.wait.burns_cpu());
    let mut marked = Vec::new();
    for name in against {
        for cell in &mut set.cells {
            let is_one = cell.key.mechanism == *name && cell.status == Status::Ok;
            if is_one && !marked.contains(&key(&cell.key)) {
                marked.push(key(&cell.key));
                cell.is_reference = true;
            }
        }
    }
    let is_own = |mechanism: &str| own.iter().any(|name| name == mechanism);
    beside(set, |mechanism| is_own(mechanism).then_some(first.as_str()));
}

/// One short round of every cell, which shows that it works, and leaves no file.
fn trial(experiment: Experiment) -> Result<ExitCode, Stop> {
    let settings = Settings {
        rounds: 1,
        slice: crate::questions::SHORT,
        warmup: Duration::from_millis(1),
        ..experiment.settings.clone()
    };
    let plan = crate::experiment::plan("run", experiment.runnable(), &settings, Duration::ZERO);
    let interrupts = measure::interrupts()?;
    let line = ProgressLine::new(Duration::ZERO, true);
    let cells = experiment.cells;
    let started = jiff::Timestamp::now();
    let set = measure::take(plan, settings.seed, Origin::default(), &started, || {
        let mut show = |progress: ipcperf_engine::run::Progress<'_>| line.show(progress);
        ipcperf_engine::run::run(cells, &settings, Some(&interrupts), &mut show)
    })?;
    output::lines(set.cells.iter().map(|cell| {
        let outcome = match (cell.status, cell.reason.as_deref().unwrap_or_default()) {
            (Status::Ok, _) => "ok".to_owned(),
            (Status::Unavailable, why) => format!("ignored, {why}"),
            (status, why) => format!("FAILED ({status}): {why}"),
        };
        format!("test {} ... {outcome}", cell.id)
    }))?;
    // What cannot run here is ignored, as a test would be.
    let code = verdict(&set).filter(|code| *code != Code::NothingRan);
    Ok(code.map_or(ExitCode::SUCCESS, ExitCode::from))
}

/// Refuses a mechanism whose name cannot be typed or is taken.
fn has_own_names(registry: &Registry, own: &[String]) -> Result<(), Stop> {
    for name in own {
        if !Spec::is_full_name(name) {
            return Err(Stop::usage(format!(
                "SPEC: '{name}' is not a mechanism name: use 1 to 32 of a-z, 0-9 and '-', with one '/' before a variant"
            )));
        }
        if registry.entries().iter().filter(|entry| entry.spec.full_name() == *name).count() > 1 {
            return Err(Stop::usage(format!(
                "SPEC: there is another mechanism '{name}' ('ipcperf describe {name}'): use a name of its own"
            )));
        }
    }
    if own.is_empty() {
        return Err(Stop::usage("this bench has no mechanism: add .mechanism::<Mine>()"));
    }
    Ok(())
}

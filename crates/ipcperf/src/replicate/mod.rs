//! `replicate`: published experiments, run again here and judged claim by claim.

mod accept;
mod expression;
mod files;
mod outcome;
mod rounds;
mod study;
pub(crate) mod work;

pub(crate) use work::ERRANDS;

use crate::args::ReplicateArgs;
use crate::error::{Code, Stop, note, unknown};
use crate::measure::arguments;
use crate::output::{self, Target};
use crate::progress::Line;
use ipcperf_core::result::{Invocation, Plan, REPLICATION_SCHEMA, Replication, Scale, StudyResult};
use ipcperf_engine::host;
use ipcperf_engine::plan::Ground;
use ipcperf_engine::registry::Registry;
use ipcperf_engine::run::{Bench, Progress, fresh_seed};
use ipcperf_sys::signals::Interrupts;
use outcome::Findings;
use rounds::House;
use std::io::Read;
use std::path::Path;
use std::process::ExitCode;
use std::time::Instant;
use study::Study;

/// The studies of this program, by name.
const STUDIES: &[(&str, &str)] = &[
    ("inferno", include_str!("../../../../studies/inferno.toml")),
    ("qiita", include_str!("../../../../studies/qiita.toml")),
    ("baeldung", include_str!("../../../../studies/baeldung.toml")),
    ("wisconsin", include_str!("../../../../studies/wisconsin.toml")),
    ("marhubi", include_str!("../../../../studies/marhubi.toml")),
];

/// The largest study file that is read.
const LARGEST: u64 = 1 << 20;

pub(crate) fn run(registry: &Registry, args: &ReplicateArgs) -> Result<ExitCode, Stop> {
    let scale = scale(&args.scale)?;
    let studies = choose(args.study.as_deref(), scale, args.allow_exec || args.dry_run)?;
    let format = output::format(&args.output.look)?;
    if let Some(folder) = &args.csv {
        files::prepare(folder)?;
    }
    let ground =
        Ground::read().map_err(|error| Stop::internal(format!("CPU affinity: {error}")))?;
    for study in &studies {
        if let Some(objection) = rounds::objection(study, scale, registry, &ground) {
            return Err(Stop::usage(format!("study {}: {objection}", study.head.name)));
        }
    }
    if args.dry_run {
        return output::to_stdout(plan(&studies, scale, args.rounds).as_bytes());
    }
    let started = jiff::Timestamp::now();
    let began = Instant::now();
    let target = Target::choose(args.output.output.as_deref(), &started)?;
    if !args.output.quiet && scale != Scale::Smoke {
        note(&expectation(&studies, scale));
    }
    let seed = args.seed.unwrap_or_else(fresh_seed);
    let interrupts = Interrupts::catch()
        .map_err(|error| Stop::internal(format!("signal descriptor: {error}")))?;
    let line = Line::new(args.output.quiet || args.output.no_progress);
    let mut show = |progress: Progress<'_>| line.show(progress);
    let failed = |error: std::io::Error| Stop::internal(format!("cannot measure: {error}"));
    let mut bench = Bench::open(seed, Some(&interrupts)).map_err(failed)?;
    if !args.output.quiet && !bench.reaped.is_empty() {
        note(&format!("removed what a killed run had left: {}", bench.reaped.join(", ")));
    }
    let mut document = Replication {
        schema: REPLICATION_SCHEMA.into(),
        started_utc: started.strftime("%Y-%m-%dT%H:%M:%SZ").to_string(),
        duration_s: 0.0,
        interrupted: false,
        tool: crate::build::tool(),
        invocation: Invocation { argv: arguments(), seed, plan: Plan::default() },
        host: host::host(),
        kernel: host::kernel(),
        studies: Vec::new(),
    };
    for study in &studies {
        let mut house = House {
            registry,
            ground: &ground,
            bench: &mut bench,
            interrupts: Some(&interrupts),
            progress: &mut show,
        };
        let rounds = rounds_of(study, scale, args.rounds);
        let (result, interrupted) =
            replicate(study, scale, rounds, seed, &mut house).map_err(failed)?;
        document.studies.push(result);
        if interrupted {
            document.interrupted = true;
            break;
        }
    }
    document.duration_s = began.elapsed().as_secs_f64();
    document.invocation.plan.command = "replicate".into();
    if let Some(folder) = &args.csv {
        files::write(folder, &studies, &document)?;
    }
    publish(&document, args, format, &target)?;
    Ok(if document.interrupted { Code::Interrupted.into() } else { ExitCode::SUCCESS })
}

fn replicate(
    study: &Study,
    scale: Scale,
    rounds: u64,
    seed: u64,
    house: &mut House<'_, '_>,
) -> std::io::Result<(StudyResult, bool)> {
    let began = Instant::now();
    let (arms, interrupted) = rounds::measure(study, scale, rounds, seed, house)?;
    let findings = Findings::new(&arms, rounds);
    let head = study.head.clone();
    let result = StudyResult {
        name: head.name,
        title: head.title,
        url: head.url,
        date: head.date,
        machine: head.machine,
        summary: head.summary,
        statistic: head.statistic,
        notes: head.notes,
        scale,
        rounds,
        duration_s: began.elapsed().as_secs_f64(),
        tables: findings.tables(study),
        claims: findings.claims(study),
        arms: arms.iter().map(|arm| arm.result(interrupted)).collect(),
        errata: study.errata.clone(),
    };
    Ok((result, interrupted))
}

/// The studies that are meant: all, one by name, or one in a file, whose programs must be allowed.
fn choose(given: Option<&str>, scale: Scale, may_exec: bool) -> Result<Vec<Study>, Stop> {
    let embedded = |(name, text): &(&str, &str)| {
        Study::parse(text).map_err(|error| Stop::internal(format!("study {name}: {error}")))
    };
    let Some(given) = given else { return STUDIES.iter().map(embedded).collect() };
    if let Some(known) = STUDIES.iter().find(|(name, _)| *name == given) {
        return Ok(vec![embedded(known)?]);
    }
    let path = Path::new(given);
    let is_path = given.contains('/')
        || path.extension().is_some_and(|extension| extension == "toml")
        || path.is_file();
    if !is_path {
        let names = STUDIES.iter().map(|(name, _)| *name);
        let known: Vec<_> = names.clone().collect();
        let list = format!("known: {}; or the path of a study file", known.join(", "));
        return Err(unknown("study", given, names, &list));
    }
    let text = read(path)
        .map_err(|error| Stop::usage(format!("study file '{given}': {}", output::words(&error))))?;
    let study = Study::parse(&text)
        .map_err(|error| Stop::usage(format!("study file '{given}': {error}")))?;
    for arm in study.arms.iter().filter(|arm| arm.work == work::exec::KIND) {
        let commands = work::exec::commands(&study.keys(arm, scale)).map_err(Stop::usage)?;
        crate::exec::permit(&format!("study file '{given}'"), &commands, may_exec)?;
    }
    Ok(vec![study])
}

fn read(path: &Path) -> std::io::Result<String> {
    let mut text = String::new();
    let file = std::fs::File::open(path)?;
    if file.take(LARGEST + 1).read_to_string(&mut text)? as u64 > LARGEST {
        return Err(std::io::Error::other("larger than 1 MiB"));
    }
    Ok(text)
}

fn scale(word: &str) -> Result<Scale, Stop> {
    word.parse().map_err(|error: ipcperf_core::UnknownName| {
        let list = format!("known: {}", error.known.join(", "));
        unknown("scale", word, error.known, &list)
    })
}

fn rounds_of(study: &Study, scale: Scale, asked: Option<u64>) -> u64 {
    asked.unwrap_or_else(|| study.scales.get(&scale).map_or(1, |amount| amount.rounds))
}

/// What would be done.
fn plan(studies: &[Study], scale: Scale, rounds: Option<u64>) -> String {
    let mut text = expectation(studies, scale) + "\n";
    for study in studies {
        let rounds = rounds_of(study, scale, rounds);
        let (name, claims) = (&study.head.name, study.claims.len());
        text += &format!("{name}: {} arms x {rounds} rounds, {claims} claims\n", study.arms.len());
        for arm in &study.arms {
            text += &format!("  {} ({}): {}\n", arm.id, arm.work, arm.label);
        }
    }
    text
}

/// How long it takes, as far as the studies say.
fn expectation(studies: &[Study], scale: Scale) -> String {
    let of = |study: &Study| {
        let expected = study.scales.get(&scale).and_then(|amount| amount.expected.clone());
        let expected = expected.unwrap_or_else(|| "as long as it takes".into());
        format!("{} {expected}", study.head.name)
    };
    let all: Vec<String> = studies.iter().map(of).collect();
    format!("Scale {scale}, expected: {}", all.join(", "))
}

fn publish(
    document: &Replication,
    args: &ReplicateArgs,
    format: ipcperf_report::Format,
    target: &Target,
) -> Result<(), Stop> {
    let mut json = Vec::new();
    ipcperf_report::replication(
        document,
        ipcperf_report::Format::Json,
        &output::style(&args.output.look, true),
        &mut json,
    )
    .map_err(|error| Stop::internal(format!("document: {error}")))?;
    if let Target::Stdout = target {
        return output::to_stdout(&json).map(drop);
    }
    let mut bytes = Vec::new();
    let style = output::style(&args.output.look, false);
    ipcperf_report::replication(document, format, &style, &mut bytes)
        .map_err(|error| Stop::internal(format!("report: {error}")))?;
    let shown = output::to_stdout(&bytes);
    let path = target.write(|out| out.write_all(&json))?;
    shown?;
    if !args.output.quiet {
        note(&format!("Result: {}", path.display()));
    }
    Ok(())
}

#[cfg(test)]
mod tests;

//! `replicate`: published experiments, run again here and judged claim by claim.

mod after_kill;
mod bounds;
mod cell;
mod connect;
mod emsgsize;
mod exec;
mod facts;
mod files;
mod kinds;
mod pipeline;
mod rounds;
mod work;

pub(crate) use kinds::TASKS;

use crate::args::ReplicateArgs;
use crate::error::{Code, Stop, note, unknown};
use crate::measure::arguments;
use crate::output::{self, Target};
use crate::progress::Line;
use ipcperf_core::result::{
    ClaimKind, Invocation, Plan, REPLICATION_SCHEMA, Replication, Scale, StudyResult,
};
use ipcperf_engine::host;
use ipcperf_engine::plan::Host;
use ipcperf_engine::registry::Registry;
use ipcperf_engine::run::{Progress, fresh_seed};
use ipcperf_study::{EMBEDDED, Findings, Study};
use ipcperf_sys::signals::Interrupts;
use rounds::{Context, Found};
use std::io::Read;
use std::path::Path;
use std::process::ExitCode;
use std::time::Instant;

/// The largest study file that is read.
const LARGEST: u64 = 1 << 20;

pub(crate) fn run(registry: &Registry, args: &ReplicateArgs) -> Result<ExitCode, Stop> {
    let scale = scale(&args.scale)?;
    let studies = choose(args.study.as_deref(), scale, args.allow_exec || args.dry_run)?;
    let format = output::format(&args.output.look)?;
    if let Some(folder) = &args.csv {
        files::prepare(folder)?;
    }
    let host = Host::read().map_err(|error| Stop::internal(format!("CPU affinity: {error}")))?;
    for study in &studies {
        if let Some(objection) = rounds::objection(study, scale, registry, &host) {
            return Err(Stop::usage(format!("study {}: {objection}", study.name())));
        }
    }
    if args.dry_run {
        return output::lines(plan(&studies, scale, args));
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
        let mut context =
            Context { registry, host: &host, interrupts: Some(&interrupts), progress: &mut show };
        let rounds = args.rounds.unwrap_or_else(|| study.rounds(scale));
        let (result, interrupted) =
            replicate(study, scale, rounds, seed, &mut context).map_err(failed)?;
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
    context: &mut Context<'_, '_>,
) -> std::io::Result<(StudyResult, bool)> {
    let began = Instant::now();
    let Found { arms, noise, interrupted } = rounds::measure(study, scale, rounds, seed, context)?;
    let findings = Findings::new(&arms, rounds, noise);
    let result = findings.result(study, scale, began.elapsed().as_secs_f64(), interrupted);
    Ok((result, interrupted))
}

/// The studies that are meant: all, one by name, or one in a file, whose programs must be allowed.
fn choose(given: Option<&str>, scale: Scale, may_exec: bool) -> Result<Vec<Study>, Stop> {
    let embedded = |(name, text): &(&str, &str)| {
        Study::parse(text, &kinds::check)
            .map_err(|error| Stop::internal(format!("study {name}: {error}")))
    };
    let Some(given) = given else { return EMBEDDED.iter().map(embedded).collect() };
    if let Some(known) = EMBEDDED.iter().find(|(name, _)| *name == given) {
        return Ok(vec![embedded(known)?]);
    }
    let path = Path::new(given);
    let is_path = given.contains('/')
        || path.extension().is_some_and(|extension| extension == "toml")
        || path.is_file();
    if !is_path {
        let names = EMBEDDED.iter().map(|(name, _)| *name);
        let known: Vec<_> = names.clone().collect();
        let list = format!("known: {}; or the path of a study file", known.join(", "));
        return Err(unknown("study", given, names, &list));
    }
    let text = read(path)
        .map_err(|error| Stop::usage(format!("study file '{given}': {}", output::words(&error))))?;
    let study = Study::parse(&text, &kinds::check)
        .map_err(|error| Stop::usage(format!("study file '{given}': {error}")))?;
    for arm in study.arms.iter().filter(|arm| arm.work == exec::KIND) {
        let commands = exec::commands(&study.keys(arm, scale)).map_err(Stop::usage)?;
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

/// What would be done.
fn plan(studies: &[Study], scale: Scale, args: &ReplicateArgs) -> Vec<String> {
    let result = Target::planned(args.output.output.as_deref());
    let mut lines = vec![format!("{}, result: {result}", expectation(studies, scale))];
    for study in studies {
        let rounds = args.rounds.unwrap_or_else(|| study.rounds(scale));
        let claims = ClaimKind::ALL.iter().map(|kind| (study.claim_count(*kind), kind));
        let claims = claims.filter(|(count, _)| *count > 0);
        let claims: Vec<String> = claims.map(|(count, kind)| counted(count, *kind)).collect();
        let (name, arms) = (study.name(), study.arms.len());
        lines.push(format!("{name}: {arms} arms x {rounds} rounds, {}", claims.join(", ")));
        for arm in &study.arms {
            lines.push(format!("  {} ({}): {}", arm.id, arm.work, arm.label));
        }
    }
    lines
}

fn counted(count: usize, kind: ClaimKind) -> String {
    format!("{count} {kind}{}", if count == 1 { "" } else { "s" })
}

/// How long it takes, as far as the studies say.
fn expectation(studies: &[Study], scale: Scale) -> String {
    let of = |study: &Study| {
        let expected = study.expected(scale).unwrap_or("as long as it takes");
        format!("{} {expected}", study.name())
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
        None,
        &mut json,
    )
    .map_err(|error| Stop::internal(format!("document: {error}")))?;
    if let Target::Stdout = target {
        return output::to_stdout(&json).map(drop);
    }
    let mut bytes = Vec::new();
    let style = output::style(&args.output.look, false);
    ipcperf_report::replication(document, format, &style, None, &mut bytes)
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
mod tests {
    use super::*;

    #[test]
    fn every_embedded_study_names_work_that_exists() {
        assert_eq!(choose(None, Scale::Smoke, true).expect("well formed").len(), EMBEDDED.len());
    }

    #[test]
    fn an_arm_is_told_what_its_work_does_not_understand() {
        for (work, keys, part) in [
            ("self-loop", "samples = 0", "samples: 0"),
            ("self-loop", "sample = 10", "unknown field `sample`"),
            ("self-lop", "samples = 10", "did you mean 'self-loop'?"),
        ] {
            let keys = keys.parse().expect("a table");
            let error = kinds::check(work, &keys).expect_err(part);
            assert!(error.contains(part) && !error.contains('\n'), "{part}: {error}");
        }
    }

    #[test]
    fn a_word_that_is_no_study_names_the_nearest_and_a_missing_file_is_told() {
        let error =
            choose(Some("marhubbi"), Scale::Smoke, true).expect_err("no such study").to_string();
        assert!(error.contains("did you mean 'marhubi'"), "{error}");
        let error = choose(Some("./no-such.toml"), Scale::Smoke, true)
            .expect_err("no such file")
            .to_string();
        assert!(error.contains("study file './no-such.toml'"), "{error}");
        assert!(scale("smok").expect_err("no such scale").to_string().contains("'smoke'"));
    }
}

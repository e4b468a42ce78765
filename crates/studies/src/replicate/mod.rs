//! `replicate`: published experiments, run again here and judged claim by claim.

mod after_kill;
mod asked;
mod author;
mod blocks;
mod bounds;
mod cell;
mod connect;
mod emsgsize;
mod exec;
mod expect;
mod export;
mod facts;
mod kinds;
mod pipeline;
mod readings;
mod rounds;
mod work;

use crate::claims::{Findings, Study};
use crate::packed::{self, STUDY_NAMES};
use crate::replication::{ClaimKind, REPLICATION_SCHEMA, Replication, Scale, StudyResult, amount};
use crate::screens::{across as across_machines, verdicts};
use expect::{Expected, Extent};
use ipcperf_core::result::{Invocation, Plan, Status};
use ipcperf_core::units;
use ipcperf_engine::host;
use ipcperf_engine::run::Progress;
use ipcperf_kit::args::{OutputArgs, PlanArgs};
use ipcperf_kit::command::{CommandArgs, CommandGroup};
use ipcperf_kit::document::{Document, Show, is_a};
use ipcperf_kit::document_kind::DocumentKind;
use ipcperf_kit::error::{Code, Stop, note, unknown, unknown_name};
use ipcperf_kit::hint::Subject;
use ipcperf_kit::measure::arguments;
use ipcperf_kit::output::{Publication, Target};
use ipcperf_kit::progress::ProgressLine;
use ipcperf_kit::reading::{cast, refused, text_of};
use ipcperf_kit::word::Word;
use ipcperf_kit::words::Words;
use ipcperf_kit::work::MeasuredWork;
use ipcperf_kit::{command, external, measure, output, reading, request};
use ipcperf_render::Format;
use rounds::{Context, Limits};
use std::cell::RefCell;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};

#[derive(Clone, Debug, clap::Args)]
pub(crate) struct ReplicateArgs {
    /// A published study, or a study file [default: all studies]
    #[arg(value_name = "STUDY", value_parser = Words(STUDY_NAMES.to_vec()))]
    pub(crate) study: Option<String>,
    /// How thorough: smoke (the whole matrix in a minute), quick (2 to 12 minutes), full (the published counts)
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
    /// Also measure blocks of these sizes (baeldung, wisconsin): 4096,65536. They have no claims, but columns in the tables
    #[arg(long, value_name = "SIZES")]
    pub(crate) blocks: Option<String>,
    /// Write a study's file to STUDY.toml, or to the file named by -o, without measuring
    #[arg(long, value_name = "STUDY", value_parser = Words(STUDY_NAMES.to_vec()), conflicts_with_all = ["study", "across", "only", "set", "budget", "files", "csv", "plots"])]
    pub(crate) export: Option<String>,
    /// Write a shell script of a study's published programs (baeldung) to STUDY.sh, or to the file named by -o, without
    /// measuring
    #[arg(long, value_name = "STUDY", value_parser = Words(STUDY_NAMES.to_vec()), conflicts_with_all = ["study", "export", "across", "only", "set", "budget", "files", "csv", "plots"])]
    pub(crate) export_script: Option<String>,
    /// Show which claims hold in these results from several machines or days, without measuring
    #[arg(long, value_name = "RESULT.json", num_args = 1.., conflicts_with_all = ["study", "only", "set", "budget", "files", "csv", "plots"])]
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
    #[command(flatten)]
    pub(crate) plan: PlanArgs,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

impl CommandArgs for ReplicateArgs {
    const NAME: &'static str = "replicate";
    const GROUP: CommandGroup = CommandGroup::Measure;
    const ABOUT: &'static str = "Rerun published experiments and check their claims one by one";
    const EXAMPLES: &'static str = "Examples:
  ipcperf replicate                             all studies, a minute or less each
  ipcperf replicate marhubi --scale quick --plots pictures
  ipcperf replicate wisconsin --only s2.c11 --set cell.slice=50ms
  ipcperf replicate --across laptop.json server.json";

    const DOCUMENTS: &'static [DocumentKind] =
        &[DocumentKind::of::<Replication>("replication", packed::schema)];
    const WORDS: fn() -> &'static [Word] = || verdicts::WORDS;
    const SUBJECT: Option<Subject> = Some(Subject {
        what: "study",
        names: &STUDY_NAMES,
        is_in: |text| read_study(text).is_ok(),
    });

    fn run(&self, context: &command::Context<'_>) -> Result<ExitCode, Stop> {
        run(context, self)
    }
}

/// A study from the text of its file, all its work checked. Nothing is tried or measured.
///
/// # Errors
/// What is wrong with it.
pub fn read_study(text: &str) -> Result<Study, String> {
    let study = Study::parse(text, &kinds::check)?;
    readings::check(&study)?;
    Ok(study)
}

fn run(command: &command::Context<'_>, args: &ReplicateArgs) -> Result<ExitCode, Stop> {
    let registry = command.registry;
    if let Some(name) = &args.export {
        return export::export(name, args.output.output.as_deref(), args.output.progress.quiet);
    }
    if !args.across.is_empty() {
        return across(args);
    }
    let format = output::format(&args.output.look)?;
    let scale = scale(&args.scale)?;
    let may_exec = args.allow_exec || args.plan.dry_run;
    let blocks = blocks(args.blocks.as_deref())?;
    let named = args.study.as_deref().or(args.export_script.as_deref());
    let mut studies = choose(named, &blocks, scale, may_exec)?;
    if let ([study], true) = (studies.as_slice(), args.export_script.is_some()) {
        let amount = (scale, args.rounds.unwrap_or_else(|| study.rounds(scale)));
        let OutputArgs { output, progress, .. } = &args.output;
        return export::script(study, amount, output.as_deref(), progress.quiet);
    }
    let only = asked::only(&mut studies, &args.only)?;
    let set = asked::set(&mut studies, &args.set, scale)?;
    let files = author::ask(&mut studies, args.files.as_deref(), &args.only, scale)?;
    let more = args.blocks.as_ref().map(|sizes| format!("Also blocks of these sizes: {sizes}."));
    let asked: Vec<String> = only.into_iter().chain(set).chain(files).chain(more).collect();
    let longest = Duration::from_secs(7 * 24 * 3600);
    let budget = args
        .budget
        .as_deref()
        .map(|text| request::time("--budget", text, Duration::from_secs(1), longest));
    let budget = budget.transpose()?;
    for (flag, folder) in [("--csv", &args.csv), ("--plots", &args.plots)] {
        if let (Some(folder), false) = (folder, args.plan.dry_run) {
            output::folder(flag, folder)?;
        }
    }
    let host = request::host()?;
    for study in &studies {
        let objection = asked::path(study, &args.set, scale);
        if let Some(objection) =
            objection.or_else(|| rounds::objection(study, scale, registry, &host))
        {
            return Err(Stop::usage(format!("study {}: {objection}", study.name())));
        }
    }
    let work = work(&studies, (scale, args.rounds, budget), &asked);
    if args.plan.dry_run {
        let amount = format!("Scale {scale}");
        return measure::dry_run(
            command.commands,
            &work,
            &amount,
            &args.output,
            plan(&studies, scale, args),
        );
    }
    if args.files.is_some() {
        author::lacking(&studies, scale)?;
    }
    let origin = args.output.label.origin()?;
    let done = reading::done(command.commands, &work, &args.output)?;
    if let Some(document) = done.as_deref().and_then(cast::<Replication>) {
        return Ok(verdict(document).map_or(ExitCode::SUCCESS, ExitCode::from));
    }
    let started = jiff::Timestamp::now();
    let began = Instant::now();
    let target = Target::typed(&args.output, &started)?;
    let seed = args.plan.seed();
    let interrupts = measure::interrupts()?;
    let line = ProgressLine::counting("slices", args.output.progress.is_silent());
    let mut show = |progress: Progress<'_>| line.show(progress);
    let failed = |error: std::io::Error| Stop::internal(format!("cannot measure: {error}"));
    let mut document = Replication {
        schema: REPLICATION_SCHEMA.into(),
        origin,
        started_utc: started.strftime("%Y-%m-%dT%H:%M:%SZ").to_string(),
        duration_s: 0.0,
        interrupted: false,
        tool: ipcperf_kit::build::tool(),
        invocation: Invocation { argv: arguments(), seed, plan: Plan::default() },
        host: host::host(),
        kernel: host::kernel(),
        studies: Vec::new(),
    };
    let watch = RefCell::default();
    let context = Context { registry, host: &host, interrupts: &interrupts, watch: &watch };
    for (at, study) in studies.iter().enumerate() {
        let wanted =
            Extent { scale, rounds: args.rounds.unwrap_or_else(|| study.rounds(scale)), cut: None };
        // What is left of the time is divided among the studies that are left.
        let left = u32::try_from(studies.len() - at).unwrap_or(u32::MAX);
        let room = budget.map(|budget| budget.saturating_sub(began.elapsed()) / left);
        let is_told = !args.output.progress.quiet;
        let (mut result, expected_s, interrupted) =
            replicate(study, wanted, (room, is_told), seed, context, &mut show).map_err(failed)?;
        result.cuts.splice(0..0, asked.iter().cloned());
        document.invocation.plan.expected_s += expected_s;
        document.studies.push(result);
        if interrupted {
            document.interrupted = true;
            break;
        }
    }
    document.duration_s = began.elapsed().as_secs_f64();
    document.invocation.plan.command = "replicate".into();
    let document = reading::shareable(document, |text| Replication::load(text).ok());
    let style = output::table_style(&args.output.look, &args.output.tables, false);
    let plots = args.plots.as_ref().map(|folder| folder.to_string_lossy());
    let target = target.map(|target| target.of(document.interrupted));
    let publication = Publication {
        name: "Result",
        document: &document,
        target: target.as_ref(),
        quiet: args.output.progress.quiet,
        screen: Some(Show { pictures: plots.as_deref(), ..Show::new(format, &style) }),
    };
    let beside = publication.publish(|| {
        let files = args.csv.iter().map(|folder| export::write(folder, &studies, &document));
        let plots = document.pictures().filter(|_| args.plots.is_some()).unwrap_or_default();
        let pictures = args.plots.iter().map(|folder| output::pictures(folder, &plots));
        files.chain(pictures).collect::<Vec<_>>()
    })?;
    beside.into_iter().collect::<Result<(), Stop>>()?;
    Ok(verdict(&document).map_or(ExitCode::SUCCESS, ExitCode::from))
}

/// What is asked for. Within a budget scale and rounds follow from the time that is left, so they do not count.
fn work(
    studies: &[Study],
    (scale, rounds, budget): (Scale, Option<u64>, Option<Duration>),
    asked: &[String],
) -> MeasuredWork {
    let mut subjects: BTreeSet<String> = asked.iter().cloned().collect();
    for study in studies {
        let name = study.name().to_owned();
        if budget.is_none() {
            let rounds = rounds.unwrap_or_else(|| study.rounds(scale));
            subjects.extend(amount(&name, scale, rounds));
        }
        subjects.insert(name);
    }
    MeasuredWork { subjects, grows: budget.is_some(), ..MeasuredWork::of("replicate") }
}

/// How it ends: as a run of the same arms would.
fn verdict(document: &Replication) -> Option<Code> {
    let arms = document.studies.iter().flat_map(|study| &study.arms);
    let statuses: Vec<Status> = arms.map(|arm| arm.status).collect();
    let mut noises = document.studies.iter().filter_map(|study| study.noise.as_ref());
    measure::worst(document.interrupted, noises.any(measure::invalid), &statuses)
}

/// What a study is said to take at scale smoke.
const SHORT: Duration = Duration::from_secs(60);

/// Measures what fits into `room`; what was found, how many seconds were expected, and whether the user interrupted.
fn replicate(
    study: &Study,
    wanted: Extent,
    (room, is_told): (Option<Duration>, bool),
    seed: u64,
    context: Context<'_>,
    progress: &mut dyn FnMut(Progress<'_>),
) -> std::io::Result<(StudyResult, f64, bool)> {
    let began = Instant::now();
    let mut limits = Limits { until: room.map(|room| began + room), ..Limits::default() };
    let mut extent = wanted.clone();
    let mut expected = Duration::ZERO;
    // Scale smoke is what the first round of the others is: nothing is expected of it but to be short, as it is said to be.
    if wanted.scale == Scale::Smoke && room.is_none() {
        limits.expected = is_told.then_some(Expected::Most(SHORT));
    }
    if wanted.scale != Scale::Smoke || room.is_some() {
        let once = (Scale::Smoke, 1);
        let found = rounds::measure(study, once, Limits::default(), seed, context, progress)?;
        if found.interrupted {
            let findings = Findings::new(&found.arms, wanted.rounds, found.noise);
            let seconds = began.elapsed().as_secs_f64();
            return Ok((findings.result(study, Scale::Smoke, seconds, true), 0.0, true));
        }
        let pilot = found.pilot;
        let round = |scale| pilot.round(study, scale, context.registry, context.host);
        if let Some(room) = room {
            let least = Scale::ALL.iter().map(|scale| study.rounds(*scale)).min().unwrap_or(1);
            let room = room.saturating_sub(began.elapsed());
            extent = expect::fit(&wanted, least, (room, pilot.beside), &round);
        }
        let one = round(extent.scale);
        expected = pilot.beside + one * u32::try_from(extent.rounds).unwrap_or(u32::MAX);
        limits.expected = is_told.then_some(Expected::Round(one));
        if is_told {
            note(&format!(
                "{} at scale {}: {}, about {}",
                study.name(),
                extent.scale,
                ipcperf_render::text::counted(extent.rounds, "round"),
                expect::words(expected)
            ));
            if let Some(cut) = &extent.cut {
                note(cut);
            }
        }
    }
    let Extent { scale, mut rounds, cut } = extent;
    let found = rounds::measure(study, (scale, rounds), limits, seed, context, progress)?;
    let mut cuts: Vec<String> = cut.into_iter().collect();
    if !found.interrupted && found.rounds < rounds {
        cuts.push(format!("Stopped after {} of {rounds} rounds: the time was over.", found.rounds));
        rounds = found.rounds;
    }
    let findings = Findings::new(&found.arms, rounds, found.noise);
    let seconds = began.elapsed().as_secs_f64();
    let mut result = findings.result(study, scale, seconds, found.interrupted);
    result.cuts = cuts;
    Ok((result, expected.as_secs_f64(), found.interrupted))
}

/// Claims by machines, from their result files.
fn across(args: &ReplicateArgs) -> Result<ExitCode, Stop> {
    let format = output::format_of(&args.output.look, args.output.output.as_deref())?;
    if matches!(format, Format::Json | Format::Ndjson) {
        return Err(Stop::usage("--across has the formats table, markdown, html and csv"));
    }
    let read = |path: &PathBuf| {
        let (text, shown) = (text_of(path)?, path.display().to_string());
        if !is_a::<Replication>(&text) {
            let why = format!("'{shown}': no result of 'ipcperf replicate'");
            return Err(Stop::incomparable(why));
        }
        let document = Replication::load(&text).map_err(|error| refused(path, &error))?;
        Ok((shown, document))
    };
    let given = args.across.iter().map(read).collect::<Result<_, Stop>>()?;
    let (kept, told) = ipcperf_judge::once(given);
    told.iter().for_each(|words| note(words));
    let documents: Vec<Replication> = kept.into_iter().map(|(_, document)| document).collect();
    let style = output::style(&args.output.look, args.output.output.is_some());
    output::put(args.output.output.as_deref(), |out| {
        across_machines(&documents, format, &style, out)
    })
}

/// The studies that are meant: all, one by name, or one in a file, whose programs must be allowed.
fn choose(
    given: Option<&str>,
    blocks: &[u64],
    scale: Scale,
    may_exec: bool,
) -> Result<Vec<Study>, Stop> {
    let ours = |name: &str, text: &str| {
        read_study(text).map_err(|error| Stop::internal(format!("study {name}: {error}")))
    };
    let widened = |text: String| match blocks {
        [] => Ok(text),
        sizes => blocks::widened(&text, sizes),
    };
    let Some(given) = given else {
        if !blocks.is_empty() {
            return Err(Stop::usage("--blocks: name one study, baeldung or wisconsin"));
        }
        return packed::studies().iter().map(|(name, text)| ours(name, text)).collect();
    };
    if let Some(text) = packed::study(given) {
        let text = widened(text)?;
        return Ok(vec![
            read_study(&text).map_err(|error| Stop::usage(format!("study {given}: {error}")))?,
        ]);
    }
    let path = Path::new(given);
    let is_path = given.contains('/')
        || path.extension().is_some_and(|extension| extension == "toml")
        || path.is_file();
    if !is_path {
        let list = format!("known: {}; or the path of a study file", STUDY_NAMES.join(", "));
        return Err(unknown("study", given, STUDY_NAMES, &list));
    }
    let text = output::small_file(path)
        .map_err(|error| Stop::usage(format!("study file '{given}': {}", output::words(&error))))?;
    let read = |text: &str| {
        read_study(text).map_err(|error| Stop::usage(format!("study file '{given}': {error}")))
    };
    let study = read(&text)?;
    let study = if blocks.is_empty() { study } else { read(&widened(text)?)? };
    for arm in study.arms.iter().filter(|arm| arm.work == exec::KIND) {
        let commands = exec::commands(&study.keys(arm, scale)).map_err(Stop::usage)?;
        external::permit(&format!("study file '{given}'"), &commands, may_exec)?;
    }
    Ok(vec![study])
}

/// Sizes of blocks, in bytes.
fn blocks(list: Option<&str>) -> Result<Vec<u64>, Stop> {
    let sizes = list.map(units::sizes).transpose();
    let sizes = sizes.map_err(|error| Stop::usage(format!("--blocks: {error}")))?;
    Ok(sizes.unwrap_or_default().into_iter().map(|size| size as u64).collect())
}

fn scale(word: &str) -> Result<Scale, Stop> {
    word.parse().map_err(unknown_name)
}

/// What would be measured.
fn plan(studies: &[Study], scale: Scale, args: &ReplicateArgs) -> Vec<String> {
    let mut lines = Vec::new();
    for study in studies {
        let rounds = args.rounds.unwrap_or_else(|| study.rounds(scale));
        let claims = ClaimKind::ALL.iter().map(|kind| (study.claim_count(*kind), kind));
        let claims = claims.filter(|(count, _)| *count > 0);
        let claims: Vec<String> = claims.map(|(count, kind)| counted(count, *kind)).collect();
        let (name, arms) = (study.name(), study.arms.len());
        let took = study.expected(scale).map(|time| format!("; elsewhere it took {time}"));
        let (claims, took) = (claims.join(", "), took.unwrap_or_default());
        lines.push(format!("{name}: {arms} arms x {rounds} rounds, {claims}{took}"));
        for arm in &study.arms {
            lines.push(format!("  {} ({}): {}", arm.id, arm.work, arm.label));
        }
        lines.push(format!("  claims: {}", study.claim_ids().collect::<Vec<_>>().join(", ")));
    }
    lines
}

fn counted(count: usize, kind: ClaimKind) -> String {
    format!("{count} {kind}{}", if count == 1 { "" } else { "s" })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_embedded_study_names_work_that_exists() {
        assert_eq!(
            choose(None, &[], Scale::Smoke, true).expect("well formed").len(),
            STUDY_NAMES.len()
        );
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
        let error = choose(Some("marhubbi"), &[], Scale::Smoke, true)
            .expect_err("no such study")
            .to_string();
        assert!(error.contains("did you mean 'marhubi'"), "{error}");
        let error = choose(Some("./no-such.toml"), &[], Scale::Smoke, true)
            .expect_err("no such file")
            .to_string();
        assert!(error.contains("study file './no-such.toml'"), "{error}");
        assert!(scale("smok").expect_err("no such scale").to_string().contains("'smoke'"));
    }
}

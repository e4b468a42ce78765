//! `compare`: whether one of two arms is faster, from recorded results or measured side by side.

pub(crate) mod arm;
mod binary;
mod live;
pub(crate) mod plan;
pub(crate) mod rounds;
pub(crate) mod screen;

use crate::args::CompareArgs;
use crate::compare::screen::ComparisonDocument;
use crate::documents;
use ipcperf_core::result::{Adjustment, Comparison};
use ipcperf_core::units;
use ipcperf_engine::registry::Registry;
use ipcperf_judge::{Recorded, Slower, Terms, at_once, compare_files, factor_names, once};
use ipcperf_kit::command::{CommandArgs, CommandGroup, Context};
use ipcperf_kit::document::{Document, Show};
use ipcperf_kit::document_kind::DocumentKind;
use ipcperf_kit::error::{Stop, note, unknown};
use ipcperf_kit::output::{Publication, Target};
use ipcperf_kit::reading::{recorded, same};
use ipcperf_kit::{gates, output, reading, request};
use ipcperf_render::Format;
use ipcperf_stats::{MARGIN, PRACTICAL_MARGIN};
use ipcperf_sys::file::regular;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// What the layout of a program alone moves its figures by: no two programs differ by less.
const LAYOUT: f64 = 0.01;

/// What `compare` and `predict` write.
const DOCUMENT: DocumentKind =
    DocumentKind::around::<ComparisonDocument, Comparison>("comparison", || {
        documents::schema("comparison")
    });

impl CommandArgs for CompareArgs {
    const NAME: &'static str = "compare";
    const GROUP: CommandGroup = CommandGroup::Measure;
    const ABOUT: &'static str = "Compare two cells (measurements), builds or results: faster, slower, the same, or undecided";
    const EXAMPLES: &'static str = "Examples:
  ipcperf compare pipe unix-stream              which is faster, measured side by side
  ipcperf compare 'pipe stream 64K' 'pipe stream 64K size=1M'
  ipcperf compare 'pipe 64 same-cpu' --live-binary ../after/ipcperf --fail-on slower:5%
  ipcperf compare old.json new.json --factor kernel";
    const DOCUMENTS: &'static [DocumentKind] = &[DOCUMENT];

    fn run(&self, context: &Context<'_>) -> Result<ExitCode, Stop> {
        run(context.registry, self)
    }
}

fn run(registry: &Registry, args: &CompareArgs) -> Result<ExitCode, Stop> {
    let format = output::format(&args.look)?;
    let live = cells(registry, args)?;
    let gates = gates::slower(&args.fail_on)?;
    let terms = Terms {
        margin: margin(args, &live, &gates)?,
        factors: factors(args)?,
        force: args.force,
        adjustment: if args.explore { Adjustment::BenjaminiHochberg } else { Adjustment::Holm },
    };
    let is_written = args.output.is_some() || format == Format::Json;
    let origin = args.label.origin_if(is_written)?;
    let target = match args.output.as_deref() {
        Some(path) => Some(Target::choose(Some(path), &jiff::Timestamp::now())?),
        None => None,
    };
    let (mut document, ended) = match live.as_slice() {
        [] => {
            let (old, new) = sides(args)?;
            // Reading takes longer than comparing.
            let (old, new) = at_once(|| all(&old), || all(&new));
            let ((old, of_old), (new, of_new)) = (old?, new?);
            of_old.iter().chain(&of_new).for_each(|words| note(words));
            same(&old, &new).iter().for_each(|words| note(words));
            let document = compare_files(&old, &new, &terms);
            (document.map_err(Stop::incomparable)?, None)
        }
        live => {
            let (document, ended) = live::run(registry, args, live, &terms)?;
            // First: an older document in its place has the home directory shortened, too.
            (
                reading::shareable(document, |text| {
                    ComparisonDocument::load(text).ok().map(|read| read.0)
                }),
                ended,
            )
        }
    };
    document.origin = origin;
    if let Some(path) = args.output.as_deref().filter(|_| !live.is_empty()) {
        document.attempt = attempt(&document, path);
    }
    let style = output::style(&args.look, false);
    let document = ComparisonDocument(document);
    let publication = Publication {
        name: "Comparison",
        document: &document,
        target: target.as_ref(),
        quiet: args.progress.quiet,
        screen: Some(Show::new(format, &style)),
    };
    publication.publish(|| ())?;
    let gate = gates::outcome(&gates, &document.0);
    Ok(ended.or(gate).map_or(ExitCode::SUCCESS, ExitCode::from))
}

/// How often these arms have been measured side by side for this file, if it holds such a comparison already. Nobody
/// waits for what a FIFO or a terminal might say.
fn attempt(document: &Comparison, path: &Path) -> Option<u64> {
    let (file, _) = regular(path).ok()?;
    let mut text = String::new();
    file.take(output::MOST).read_to_string(&mut text).ok()?;
    let before = ComparisonDocument::load(&text).ok()?.0;
    let question = |one: &Comparison| (one.design, one.a.names.clone(), one.b.names.clone());
    (question(&before) == question(document)).then(|| before.attempt.unwrap_or(1).saturating_add(1))
}

/// What the strictest of these gates allows, or what matters in practice.
pub(crate) fn margin_of(gates: &[Slower]) -> f64 {
    let allowed = gates.iter().filter_map(|gate| Some(gate.allowed()?.max(MARGIN)));
    allowed.fold(PRACTICAL_MARGIN, f64::min)
}

/// Differences up to this do not matter: what was typed, or what the strictest gate allows, or what matters in practice.
fn margin(args: &CompareArgs, live: &[String], gates: &[Slower]) -> Result<f64, Stop> {
    let Some(text) = &args.margin else { return Ok(margin_of(gates)) };
    let margin = units::share(text)
        .filter(|share| *share <= 1.0)
        .ok_or_else(|| Stop::usage(format!("--margin: '{text}' is not a share (like 1%)")))?;
    let is_one_program = !live.is_empty() && args.live_binary.is_none();
    if margin < LAYOUT && !is_one_program {
        let why = "memory layout alone makes two runs or programs differ by 1 %";
        return Err(Stop::usage(format!("--margin: {text} is too small: {why}")));
    }
    Ok(margin)
}

/// The factors that are what is compared.
fn factors(args: &CompareArgs) -> Result<Vec<String>, Stop> {
    let Some(list) = &args.factor else { return Ok(Vec::new()) };
    let names = factor_names();
    list.split(',')
        .map(str::trim)
        .map(|name| match names.contains(&name) {
            true => Ok(name.to_owned()),
            false => {
                let known = format!("known: {}", names.join(", "));
                Err(unknown("factor", name, names.iter().copied(), &known))
            }
        })
        .collect()
}

/// The cells that are measured side by side: those of `--live`, or the arguments without a flag if they are mechanisms;
/// none where results are compared.
fn cells(registry: &Registry, args: &CompareArgs) -> Result<Vec<String>, Stop> {
    if !args.live.is_empty() {
        return Ok(args.live.clone());
    }
    let (names, files): (Vec<_>, Vec<_>) =
        args.arms.iter().partition(|word| request::is_mechanism(registry, word));
    let names: Vec<String> =
        names.into_iter().map(|name| name.to_string_lossy().into_owned()).collect();
    let Some(file) = files.first().map(|file| file.to_string_lossy()) else {
        if let ([name], None) = (names.as_slice(), &args.live_binary) {
            let why = format!(
                "compare '{name}' with what? name two mechanisms, or one and --live-binary"
            );
            return Err(Stop::usage(why));
        }
        return match names.len() {
            0 => only_side_by_side(args).map(|()| names),
            1 | 2 => Ok(names),
            _ => Err(Stop::usage(format!(
                "compare takes two; 'ipcperf run {}' measures any number",
                names.join(" ")
            ))),
        };
    };
    if !request::looks_like_a_file(&file) && !Path::new(&*file).exists() {
        request::mechanism(registry, &file)?;
    }
    if let Some(name) = names.first() {
        return Err(Stop::usage(format!(
            "'{name}' is a mechanism and '{file}' a file: compare two mechanisms or two files; a file named {name} \
             is ./{name}"
        )));
    }
    only_side_by_side(args).map(|()| names)
}

/// Refuses what only cells that are measured side by side can be asked for.
fn only_side_by_side(args: &CompareArgs) -> Result<(), Stop> {
    for (name, is_given) in [
        ("--live-binary", args.live_binary.is_some()),
        ("--pattern", args.pattern.is_some()),
        ("--rounds", args.rounds.is_some()),
        ("--time", args.time.is_some()),
        ("--slice", args.slice.is_some()),
        ("--seed", args.seed.is_some()),
    ] {
        if is_given {
            let why = "is for mechanisms measured side by side; results are compared as they are";
            return Err(Stop::usage(format!("{name} {why}")));
        }
    }
    Ok(())
}

/// The files of A and of B.
fn sides(args: &CompareArgs) -> Result<(Vec<PathBuf>, Vec<PathBuf>), Stop> {
    match args.arms.as_slice() {
        [old, new] => Ok((vec![old.into()], vec![new.into()])),
        [_, _, _, ..] => Err(Stop::usage(
            "two result files are compared; --old FILE and --new FILE, each repeatable, take more of a side",
        )),
        [one] => Err(Stop::usage(format!(
            "compare '{}' with what? name two result files (OLD.json NEW.json)",
            one.to_string_lossy()
        ))),
        _ if !args.old.is_empty() => Ok((args.old.clone(), args.new.clone())),
        _ => Err(Stop::usage(
            "compare what? name two mechanisms (pipe tcp) or two result files (OLD.json NEW.json)",
        )),
    }
}

/// The results of one side, each once. What was left out is said when all of them have been read.
fn all(paths: &[PathBuf]) -> Result<(Vec<Recorded>, Vec<String>), Stop> {
    let read = |path: &PathBuf| recorded(path).map(|one| (one.name.clone(), one));
    let (kept, told) = once(paths.iter().map(read).collect::<Result<_, _>>()?);
    Ok((kept.into_iter().map(|(_, one)| one).collect(), told))
}

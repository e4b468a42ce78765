//! `compare`: whether one of two arms is faster, from recorded results or measured side by side.

pub(crate) mod arm;
mod binary;
mod live;
mod rounds;

use crate::args::CompareArgs;
use crate::error::{Code, Stop, note, unknown};
use crate::gates::tell;
use crate::output::{self, Target};
use crate::report::read_result;
use ipcperf_core::result::Comparison;
use ipcperf_engine::registry::Registry;
use ipcperf_report::{Format, Recorded, Slower, compare_files, comparison, factor_names};
use std::path::PathBuf;
use std::process::ExitCode;

/// Ratios within 1 ± this do not matter, unless asked otherwise.
const MARGIN: f64 = 0.01;

/// What the layout of a program alone moves its figures by: no two programs differ by less.
const LAYOUT: f64 = 0.01;

pub(crate) fn run(registry: &Registry, args: &CompareArgs) -> Result<ExitCode, Stop> {
    let format = output::format(&args.look)?;
    let margin = margin(args)?;
    let factors = factors(args)?;
    let gate = args
        .fail_on
        .as_deref()
        .map(|text| {
            text.parse::<Slower>().map_err(|error| Stop::usage(format!("--fail-on: {error}")))
        })
        .transpose()?;
    let target = match args.output.as_deref() {
        Some(path) => Some(Target::choose(Some(path), &jiff::Timestamp::now())?),
        None => None,
    };
    let (document, ended) = match args.live.as_slice() {
        [] => {
            let (old, new) = sides(args)?;
            let document = compare_files(&recorded(&old)?, &recorded(&new)?, margin, &factors);
            (document.map_err(Stop::incomparable)?, None)
        }
        live => live::run(registry, args, live, margin, &factors)?,
    };
    publish(&document, args, format, target.as_ref())?;
    let gate = gate.and_then(|gate| tell("--fail-on", gate.check(&document), Code::Slower));
    Ok(ended.or(gate).map_or(ExitCode::SUCCESS, ExitCode::from))
}

fn publish(
    document: &Comparison,
    args: &CompareArgs,
    format: Format,
    target: Option<&Target>,
) -> Result<(), Stop> {
    let format = if matches!(target, Some(Target::Stdout)) { Format::Json } else { format };
    let mut bytes = Vec::new();
    comparison(document, format, &output::style(&args.look, false), &mut bytes)
        .map_err(|error| Stop::internal(format!("comparison: {error}")))?;
    let shown = output::to_stdout(&bytes);
    if let Some(target @ (Target::File(_) | Target::Fresh(_))) = target {
        let style = ipcperf_report::Style::default();
        let path = target.write(|out| comparison(document, Format::Json, &style, out))?;
        if !args.quiet {
            note(&format!("Comparison: {}", path.display()));
        }
    }
    shown.map(drop)
}

/// A share as it is written: `1%`, `0.5%`.
fn share(text: &str) -> Option<f64> {
    let percent: f64 = text.trim().strip_suffix('%')?.trim().parse().ok()?;
    (0.0..=100.0).contains(&percent).then_some(percent / 100.0)
}

fn margin(args: &CompareArgs) -> Result<f64, Stop> {
    let Some(text) = &args.margin else { return Ok(MARGIN) };
    let margin = share(text)
        .ok_or_else(|| Stop::usage(format!("--margin: '{text}' is not a share (like 1%)")))?;
    let is_one_program = !args.live.is_empty() && args.live_binary.is_none();
    if margin < LAYOUT && !is_one_program {
        let why = "two runs or programs differ by 1 % through their layout in memory alone";
        return Err(Stop::usage(format!("--margin: {text} is below what can be told: {why}")));
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

/// The files of A and of B.
fn sides(args: &CompareArgs) -> Result<(Vec<PathBuf>, Vec<PathBuf>), Stop> {
    match args.files.as_slice() {
        [old, new] => Ok((vec![old.clone()], vec![new.clone()])),
        _ if !args.old.is_empty() => Ok((args.old.clone(), args.new.clone())),
        _ => Err(Stop::usage(
            "what is to be compared? name two result files (OLD.json NEW.json), or two cells with --live",
        )),
    }
}

fn recorded(paths: &[PathBuf]) -> Result<Vec<Recorded>, Stop> {
    let read = |path: &PathBuf| {
        let name = crate::measure::without_home(&path.display().to_string());
        read_result(path).map(|set| Recorded { name, set })
    };
    paths.iter().map(read).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_has_its_sign() {
        for (text, expected) in [
            ("1%", Some(0.01)),
            ("0.5 %", Some(0.005)),
            ("0%", Some(0.0)),
            ("1", None),
            ("-1%", None),
            ("nan%", None),
        ] {
            assert_eq!(share(text), expected, "{text}");
        }
    }
}

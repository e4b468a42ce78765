//! The file of a study, to be read or changed.

use super::pipeline;
use crate::claims::{Arm, Study, benchmarks, csv_files};
use crate::packed::{self, STUDY_NAMES};
use crate::replication::{Replication, Scale};
use ipcperf_kit::error::{Stop, note, unknown};
use ipcperf_kit::output;
use ipcperf_render::csv::row as csv_row;
use std::path::Path;
use std::process::ExitCode;

/// Writes it to `STUDY.toml` here, if nothing has that name; to the file that is named, whatever is there; or to standard
/// output.
pub(crate) fn export(name: &str, to: Option<&Path>, is_quiet: bool) -> Result<ExitCode, Stop> {
    let Some(text) = packed::study(name) else {
        let list = format!("known: {}", STUDY_NAMES.join(", "));
        return Err(unknown("study", name, STUDY_NAMES, &list));
    };
    written("Study", &text, &format!("{name}.toml"), to, is_quiet)
}

/// Writes the script of a study's published programs, which run in so many rounds, to `STUDY.sh`, likewise.
pub(super) fn script(
    study: &Study,
    (scale, rounds): (Scale, u64),
    to: Option<&Path>,
    is_quiet: bool,
) -> Result<ExitCode, Stop> {
    let name = study.name();
    let run = |arm: &Arm| {
        let keys = study.keys(arm, scale);
        let script = (arm.work == pipeline::KIND).then(|| pipeline::script(&keys));
        Some((arm.label.clone(), pipeline::bytes(&keys)?, script??))
    };
    let runs = study.arms.iter().filter_map(run);
    let lines: Vec<String> = runs
        .map(|(label, bytes, script)| {
            let quoted = |text: String| format!("'{}'", text.replace('\'', "'\\''"));
            let [label, script] = [label, script].map(quoted);
            format!("  run {label} {bytes} {script}")
        })
        .collect();
    if lines.is_empty() {
        return Err(Stop::usage(format!(
            "--export-script: {name} runs no programs that a shell can start; baeldung does"
        )));
    }
    let text = format!(
        "#!/bin/sh
# The programs of {name} at scale {scale}, without ipcperf: prints what ran and Mbit/s, timed from
# outside as in the original, so that the start of both processes is in the figure.
folder=$(mktemp -d) && cd \"$folder\" || exit 1
trap 'cd / && rm -r \"$folder\"' EXIT
run() {{
  begin=$(date +%s%N)
  sh -c \"$3\" > /dev/null 2>&1
  end=$(date +%s%N)
  printf '%s\\t%s\\n' \"$1\" $(($2 * 8000 / (end - begin)))
}}
round=0
while [ \"$round\" -lt {rounds} ]; do
{}
  round=$((round + 1))
done
",
        lines.join("\n")
    );
    written("Script", &text, &format!("{name}.sh"), to, is_quiet)
}

/// Writes a text to the file that is named, or to a new one of this name.
fn written(
    what: &str,
    text: &str,
    file: &str,
    to: Option<&Path>,
    is_quiet: bool,
) -> Result<ExitCode, Stop> {
    let said = |words: &str| {
        if !is_quiet {
            note(words);
        }
    };
    match to {
        Some(path) if path.as_os_str() == "-" => return output::to_stdout(text.as_bytes()),
        Some(path) => {
            let more = if path.exists() { ", in place of what was there" } else { "" };
            output::to_file(path, |out| out.write_all(text.as_bytes()))?;
            said(&format!("{what}: {}{more}", path.display()));
        }
        None => {
            output::to_new_file(file, |out| out.write_all(text.as_bytes()))?;
            said(&format!("{what}: {file}"));
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// Writes every file that the studies describe.
pub(crate) fn write(folder: &Path, studies: &[Study], document: &Replication) -> Result<(), Stop> {
    for (study, result) in studies.iter().zip(&document.studies) {
        for (name, rows) in csv_files(study, result) {
            let text: String = rows.iter().map(|row| csv_row(row) + "\n").collect();
            output::beside(&folder.join(name), text.as_bytes())?;
        }
        for (name, text) in benchmarks(study, result) {
            output::beside(&folder.join(name), text.as_bytes())?;
        }
    }
    Ok(())
}

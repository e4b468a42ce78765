//! Files of an original's author, which are not shipped: some arms run them, where the user says in which folder they are.

use super::{exec, kinds};
use crate::claims::{Arm, Study};
use crate::replication::Scale;
use ipcperf_core::nearest;
use ipcperf_kit::error::Stop;
use ipcperf_kit::output;
use std::path::Path;

fn files(study: &Study, arm: &Arm, scale: Scale) -> Vec<String> {
    if arm.work == exec::KIND { exec::files(&study.keys(arm, scale)) } else { Vec::new() }
}

/// Tells the arms that run such files where they are, and says so. Without a folder these arms are left out; `only` are
/// claims that were asked for.
pub(crate) fn ask(
    studies: &mut [Study],
    folder: Option<&Path>,
    only: &[String],
    scale: Scale,
) -> Result<Option<String>, Stop> {
    let arms = |study: &Study| {
        let has_files = |arm: &&Arm| !files(study, arm, scale).is_empty();
        study.arms.iter().filter(has_files).map(|arm| arm.id.clone()).collect::<Vec<_>>()
    };
    let Some(folder) = folder else {
        for study in studies {
            let arms = arms(study);
            let lost = study.leave_out(&arms);
            let asked = only.iter().flat_map(|list| list.split(',')).map(str::trim);
            if let Some(id) = asked.into_iter().find(|id| lost.iter().any(|lost| lost == id)) {
                return Err(Stop::usage(format!(
                    "claim {id} is of the author's own files: --files DIR says where they are"
                )));
            }
        }
        return Ok(None);
    };
    let shown = folder.display();
    let wrong = |what: String| Stop::usage(format!("--files: {what}"));
    let names = studies.iter().flat_map(|study| {
        let of = |arm: &Arm| files(study, arm, scale);
        study.arms.iter().flat_map(of).collect::<Vec<_>>()
    });
    let names: Vec<String> = names.collect();
    if names.is_empty() {
        return Err(wrong("nothing that is measured runs files of an author; qiita does".into()));
    }
    let entries = folder.read_dir().map_err(|error| {
        wrong(format!("'{shown}' cannot be read as a folder: {}", output::words(&error)))
    })?;
    let entries = entries.flatten().filter_map(|entry| entry.file_name().into_string().ok());
    let entries: Vec<String> = entries.collect();
    if let Some(name) = names.iter().find(|name| !folder.join(name).is_file()) {
        let near = nearest(name, entries.iter().map(String::as_str));
        let hint = near.map_or(String::new(), |near| format!("; did you mean '{near}'?"));
        return Err(wrong(format!("there is no file '{name}' in '{shown}'{hint}")));
    }
    let path = std::path::absolute(folder).ok().and_then(|path| path.to_str().map(str::to_owned));
    let path = path.ok_or_else(|| wrong(format!("the path of '{shown}' is not UTF-8")))?;
    let path = toml::Value::String(path);
    for study in studies {
        for id in arms(study) {
            study.set(Some(&id), "folder", &path, scale, &kinds::check).map_err(wrong)?;
        }
    }
    Ok(Some(format!("The author's own files were run, too: {}.", names.join(", "))))
}

/// What the arms that run such files lack here.
pub(crate) fn lacking(studies: &[Study], scale: Scale) -> Result<(), Stop> {
    let told = |why: &dyn std::fmt::Display| Stop::usage(format!("--files: {why}"));
    for study in studies {
        for arm in study.arms.iter().filter(|arm| !files(study, arm, scale).is_empty()) {
            let work = kinds::make(&arm.work, &study.keys(arm, scale)).map_err(|why| told(&why))?;
            work.look(None).map_err(|why| told(&why.to_string()))?;
        }
    }
    Ok(())
}

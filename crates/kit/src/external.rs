//! Programs of others, as a user types them: pipelines, and whether there are such programs.

use crate::error::Stop;
use crate::paths_in_text;
use ipcperf_core::{nearest, shell_words};
use ipcperf_engine::exec::PipelinePlan;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

/// Begins another pipeline.
pub const NEXT: &str = ",";

/// What a file says is run only if the user has seen it.
pub fn permit(file: &str, commands: &[String], is_allowed: bool) -> Result<(), Stop> {
    if is_allowed {
        return Ok(());
    }
    let pipelines = commands.split(|command| command == NEXT).map(|one| one.join(" | "));
    let all = pipelines.collect::<Vec<_>>().join(" , ");
    Err(Stop::usage(format!("{file} runs programs: {all}; --allow-exec lets it")))
}

/// One pipeline, as typed.
pub fn plan(commands: &[String]) -> Result<PipelinePlan, Stop> {
    if commands.is_empty() {
        return Err(Stop::usage(format!("no program on one side of '{NEXT}'")));
    }
    let words = |command: &String| {
        let words = shell_words::split(command)
            .map_err(|error| Stop::usage(format!("program '{command}': {error}")))?;
        match words.first() {
            None => Err(Stop::usage(format!("'{command}' names no program"))),
            Some(_) => Ok(words),
        }
    };
    let programs = commands.iter().map(words).collect::<Result<_, _>>()?;
    let commands = commands.iter().map(|command| paths_in_text::without_home(command.trim()));
    Ok(PipelinePlan { programs, commands: commands.collect() })
}

/// Which program of a pipeline there is not, or may not be run, and what there is instead.
pub fn missing(plan: &PipelinePlan) -> Option<String> {
    plan.programs.iter().filter_map(|words| words.first()).find_map(|program| objection(program))
}

/// Where a program may be: wherever it says, or in PATH.
fn folders(program: &str) -> Vec<PathBuf> {
    match program.contains('/') {
        true => vec![PathBuf::new()],
        false => std::env::split_paths(&std::env::var_os("PATH").unwrap_or_default()).collect(),
    }
}

/// The file that would be run.
pub fn file_of(program: &str) -> Option<PathBuf> {
    let is_executable = |path: &PathBuf| {
        path.metadata()
            .is_ok_and(|facts| facts.is_file() && facts.permissions().mode() & 0o111 != 0)
    };
    folders(program).into_iter().map(|folder| folder.join(program)).find(is_executable)
}

/// Why there is no such program, or why it may not be run.
pub fn objection(program: &str) -> Option<String> {
    if file_of(program).is_some() {
        return None;
    }
    let folders = folders(program);
    let present = folders.iter().map(|folder| folder.join(program)).find(|path| path.exists());
    Some(match present {
        Some(path) if path.is_dir() => format!("'{}' is a directory", path.display()),
        Some(path) => format!("'{}' is not executable (chmod +x)", path.display()),
        None if program.contains('/') => format!("there is no file '{program}'"),
        None => {
            let entries = folders.iter().filter_map(|folder| folder.read_dir().ok()).flatten();
            let names: Vec<String> = entries
                .flatten()
                .filter_map(|entry| entry.file_name().into_string().ok())
                .collect();
            match nearest(program, names.iter().map(String::as_str)) {
                Some(name) => format!("no program '{program}' in PATH; did you mean '{name}'?"),
                None => format!("no program '{program}' in PATH"),
            }
        }
    })
}

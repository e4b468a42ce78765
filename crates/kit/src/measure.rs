//! What every command that measures does: its plan without measuring, its document, its exit code.

use crate::args::OutputArgs;
use crate::command::Command;
use crate::error::{Code, Stop};
use crate::output;
use crate::output::Target;
use crate::paths_in_text;
use crate::reading;
use crate::reading::shareable;
use crate::work::MeasuredWork;
use ipcperf_core::findings;
use ipcperf_core::result::{self, Invocation, Noise, Origin, Plan, ResultSet, Status};
use ipcperf_engine::{RunFacts, run};
use ipcperf_judge::beside;
use ipcperf_sys::signals::Interrupts;
use std::collections::BTreeMap;
use std::io;
use std::process::ExitCode;
use std::time::Duration;

/// How many rounds fit into a budget, where each takes `round` and all that comes once takes `beside`.
pub fn rounds_within(budget: Duration, beside: Duration, round: Duration) -> u64 {
    let rounds = budget.saturating_sub(beside).as_nanos() / round.as_nanos().max(1);
    u64::try_from(rounds).unwrap_or(u64::MAX)
}

/// The timed length of a slice unless asked otherwise.
pub const SLICE: Duration = Duration::from_millis(100);
/// The warm-up before a slice unless asked otherwise.
pub const WARMUP: Duration = Duration::from_millis(20);

/// Prints how much would be measured, where the result would go, and a line or more for each arm. What a run refuses before
/// it begins is refused here as well.
pub fn dry_run(
    commands: &[Command],
    asked: &MeasuredWork,
    amount: &str,
    args: &OutputArgs,
    arms: impl IntoIterator<Item = String>,
) -> Result<ExitCode, Stop> {
    output::format(&args.look)?;
    args.label.origin()?;
    if reading::done(commands, asked, args)?.is_some() {
        return Ok(ExitCode::SUCCESS);
    }
    let head = format!("{amount}, result: {}", Target::planned(args, &asked.command)?);
    output::lines(std::iter::once(head).chain(arms))
}

/// Catches what the user may send to end a run.
pub fn interrupts() -> Result<Interrupts, Stop> {
    Interrupts::catch().map_err(|error| Stop::internal(format!("signal descriptor: {error}")))
}

/// Measures, and makes the document.
pub fn take(
    plan: Plan,
    seed: u64,
    origin: Origin,
    started: &jiff::Timestamp,
    measure: impl FnOnce() -> io::Result<run::Findings>,
) -> Result<ResultSet, Stop> {
    let invocation = Invocation { argv: arguments(), seed, plan };
    let started_utc = started.strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
    let facts = RunFacts { origin, started_utc, tool: crate::build::tool(), invocation };
    let found = measure().map_err(|error| Stop::internal(format!("cannot measure: {error}")))?;
    let plans = found.cells.iter().map(|cell| &cell.plan);
    let over = plans.filter_map(|plan| Some((plan.key.mechanism.clone(), plan.entry.spec.over?)));
    let over: BTreeMap<String, _> = over.collect();
    let mut set = ipcperf_engine::result_set(found, facts);
    beside(&mut set, |mechanism| over.get(mechanism).copied());
    Ok(shareable(set, |text| result::read(text).ok()))
}

/// The command line with the names of files in place of their paths: a result file may be shared.
pub fn arguments() -> Vec<String> {
    let words = std::env::args_os().enumerate();
    let word = |(index, word): (usize, std::ffi::OsString)| match index {
        0 => "ipcperf".into(),
        _ => argument(&word.to_string_lossy()),
    };
    words.map(word).collect()
}

/// A word of the command line. A path may stand right behind the letter of its flag, and that behind `-q` and `-v`.
fn argument(word: &str) -> String {
    let letters = word.strip_prefix('-').unwrap_or_default().trim_start_matches(['q', 'v']);
    let path = letters.get(1..).filter(|path| path.starts_with('/')).unwrap_or(word);
    let flag = &word[..word.len() - path.len()];
    // First: the home directory itself has the name of its user.
    flag.to_owned() + &paths_in_text::names_only(&paths_in_text::without_home(path))
}

/// The worst of how cells, programs or arms ended; `None` if all is well.
pub fn worst(interrupted: bool, is_invalid: bool, statuses: &[Status]) -> Option<Code> {
    let with = |status: Status| statuses.contains(&status);
    if interrupted {
        Some(Code::Interrupted)
    } else if is_invalid {
        Some(Code::Invalid)
    } else if with(Status::Failed) || with(Status::Deadline) {
        Some(Code::Internal)
    } else if !with(Status::Ok) {
        Some(Code::NothingRan)
    } else {
        None
    }
}

/// A figure below its floor, a clock that ran backwards, a message that was wrong.
pub fn invalid(noise: &Noise) -> bool {
    let worst = [findings::IMPOSSIBLE, findings::BACKWARDS, findings::PAYLOAD];
    noise.findings.iter().any(|finding| worst.iter().any(|row| row.is_of(finding)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_told_without_paths() {
        for (word, told) in [
            ("/data/x/run.json", "run.json"),
            ("-o/data/x/run.json", "-orun.json"),
            ("-o=/data/x/run.json", "-o=run.json"),
            ("-qvo/data/x/run.json", "-qvorun.json"),
            ("--output=/data/x/run.json", "--output=run.json"),
            ("--payload=/data/a.json,b.json", "--payload=a.json,b.json"),
            ("/usr/bin/wc -c", "wc -c"),
            ("-mpipe/spin", "-mpipe/spin"),
            ("-", "-"),
            ("-q", "-q"),
            ("--", "--"),
        ] {
            assert_eq!(argument(word), told);
        }
    }
}

//! `ipcperf conformance`: the suite over what is named.

use ipcperf_conformance::{Outcome, Suite, TASKS};
use ipcperf_core::text::clean;
use ipcperf_core::units;
use ipcperf_engine::tasks::TaskRow;
use ipcperf_kit::command::{CommandArgs, CommandGroup, Context};
use ipcperf_kit::error::{Code, Stop, unknown};
use ipcperf_kit::{output, request};
use std::process::ExitCode;

#[derive(Clone, Debug, clap::Args)]
pub(crate) struct ConformanceArgs {
    /// A plug-in (./libmine.so) or another mechanism, or several with commas
    #[arg(value_name = "MECHANISM")]
    mechanism: String,

    /// Run only cases whose names contain one of these words: C03, ordering
    #[arg(value_name = "CASE")]
    cases: Vec<String>,

    /// Time that a case may take until it counts as a hang
    #[arg(long, value_name = "DURATION", default_value = "30s")]
    deadline: String,
}

impl CommandArgs for ConformanceArgs {
    const NAME: &'static str = "conformance";
    const GROUP: CommandGroup = CommandGroup::Machine;
    const ABOUT: &'static str = "Try to refute what a plug-in or another mechanism promises: losses, order, closing, death, leaks";
    const EXAMPLES: &'static str = "Examples:
  ipcperf conformance ./libmine.so              every case, about a minute
  ipcperf conformance ./libmine.so C03 C09      order; the death of the peer

Exit codes: 0 all cases passed, 5 a promise is refuted, 3 nothing can run here";
    const TASKS: &'static [TaskRow] = TASKS;

    fn run(&self, context: &Context<'_>) -> Result<ExitCode, Stop> {
        let deadline = units::duration(&self.deadline)
            .map_err(|error| Stop::usage(format!("--deadline: {error}")))?;
        let cases = wanted(&self.cases)?;
        let asked = request::asked(context.registry, std::slice::from_ref(&self.mechanism), &[])?;
        let suite = Suite::over(context.registry).with_deadline(deadline);
        let (mut passed, mut failed) = (0, 0);
        for one in &asked {
            let name = one.entry.spec.full_name();
            for case in &cases {
                let words = match suite.outcome(&name, case) {
                    Outcome::Passed => {
                        passed += 1;
                        "passed".to_owned()
                    }
                    Outcome::Failed(why) => {
                        failed += 1;
                        format!("FAILED: {why}")
                    }
                    Outcome::NotApplicable(why) => format!("does not apply ({why})"),
                    Outcome::Unavailable(why) => format!("cannot be tried here ({why})"),
                };
                let title = case.replacen('_', " ", 1).replace('_', " ");
                // It may quote the plug-in.
                let words = clean(&words, true);
                output::to_stdout(format!("{name}  {title}: {words}\n").as_bytes())?;
            }
        }
        output::to_stdout(format!("{passed} passed, {failed} failed\n").as_bytes())?;
        Ok(match (passed, failed) {
            (_, 1..) => Code::Invalid.into(),
            (0, _) => Code::NothingRan.into(),
            _ => ExitCode::SUCCESS,
        })
    }
}

/// The cases whose names contain one of the words.
fn wanted(words: &[String]) -> Result<Vec<String>, Stop> {
    let all: Vec<String> = Suite::cases().collect();
    for word in words {
        if !all.iter().any(|case| case.contains(word.as_str())) {
            let known = format!("known: {}", all.join(", "));
            return Err(unknown("case", word, all.iter().map(String::as_str), &known));
        }
    }
    let is_wanted =
        |case: &String| words.is_empty() || words.iter().any(|word| case.contains(word.as_str()));
    Ok(all.into_iter().filter(is_wanted).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_choose_cases_and_an_unknown_one_is_named() {
        let cases = wanted(&["C03".into(), "end_of_stream".into()]).expect("known");
        assert_eq!(cases, ["C03_ordering", "C08_end_of_stream"]);
        let error = wanted(&["C03_ordring".into()]).expect_err("no such case").to_string();
        assert!(error.contains("did you mean 'C03_ordering'?"), "{error}");
    }
}

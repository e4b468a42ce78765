//! Gates: `--fail-if` and `--max-noise` of a run, `--fail-on` of a comparison. What they find ends in an exit code of its own.

use crate::args::GateArgs;
use crate::error::{Code, Stop, note};
use ipcperf_core::result::{Comparison, ResultSet};
use ipcperf_judge::{Limit, Outcome, Slower};

/// Grades that a limit can name, best first.
const GRADES: [&str; 4] = ["A", "B", "C", "D"];

/// Nothing is worse than this.
const WORST: &str = "F";

/// Conditions that are read before anything is measured.
#[derive(Debug, Default)]
pub struct Gates {
    limits: Vec<Limit>,
    worst: Option<String>,
}

impl Gates {
    /// What was typed.
    ///
    /// # Errors
    /// A condition or grade that there is not.
    pub fn of(args: &GateArgs) -> Result<Self, Stop> {
        let limit = |text: &String| {
            text.parse().map_err(|error| Stop::usage(format!("--fail-if: {error}")))
        };
        if let Some(grade) = args.max_noise.as_deref().filter(|grade| !GRADES.contains(grade)) {
            let known = GRADES.join(", ");
            return Err(Stop::usage(format!(
                "--max-noise: '{grade}' is not a grade (known: {known})"
            )));
        }
        let limits = args.fail_if.iter().map(limit).collect::<Result<_, _>>()?;
        Ok(Self { limits, worst: args.max_noise.clone() })
    }

    /// Says what is wrong; `None` if nothing is. Figures of a run that is too noisy, or of which that is not known, are not
    /// looked at where that was asked for.
    pub fn check(&self, set: &ResultSet) -> Option<Code> {
        let grade = set.noise.grade.as_str();
        if let Some(worst) = &self.worst {
            if !GRADES.contains(&grade) && grade != WORST {
                let why = match set.noise.causes.as_slice() {
                    [] => "no cell was measured".to_owned(),
                    causes => causes.join("; "),
                };
                note(&format!(
                    "--max-noise {worst} is undecided, because there is no noise grade: {why}"
                ));
                return Some(Code::CannotTell);
            }
            if grade > worst.as_str() {
                note(&format!("--max-noise {worst}: the noise grade is {grade}"));
                return Some(Code::Noise);
            }
        }
        let codes: Vec<Code> = self
            .limits
            .iter()
            .filter_map(|limit| tell("--fail-if", limit.check(set), Code::Limit))
            .collect();
        codes.iter().find(|code| **code == Code::Limit).or(codes.first()).copied()
    }
}

/// The gates of `--fail-on`.
pub fn slower(texts: &[String]) -> Result<Vec<Slower>, Stop> {
    let gate = |text: &String| {
        text.parse::<Slower>().map_err(|error| Stop::usage(format!("--fail-on: {error}")))
    };
    texts.iter().map(gate).collect()
}

/// What they come to of a comparison: a failure before doubt.
pub fn outcome(gates: &[Slower], document: &Comparison) -> Option<Code> {
    let outcomes = gates.iter().map(|gate| tell("--fail-on", gate.check(document), Code::Slower));
    let codes: Vec<Code> = outcomes.flatten().collect();
    codes.iter().find(|code| **code == Code::Slower).or(codes.first()).copied()
}

/// Prints why a gate did not pass; the code that it ends in.
pub fn tell(gate: &str, outcome: Outcome, failed: Code) -> Option<Code> {
    let (words, code, reasons) = match outcome {
        Outcome::Passed => return None,
        Outcome::Failed(reasons) => ("failed", failed, reasons),
        Outcome::CannotTell(reasons) => ("cannot tell", Code::CannotTell, reasons),
    };
    for reason in reasons {
        note(&format!("{gate} {words}: {reason}"));
    }
    Some(code)
}

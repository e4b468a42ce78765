//! How the program ends when it does not end well: one clear line and the exit code the manual promises.

use ipcperf_core::{UnknownName, nearest};
use std::fmt::Display;
use std::io::Write;
use std::process::ExitCode;

/// Exit codes of the manual.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Code {
    /// Something went wrong inside, or a cell failed.
    Internal = 1,
    /// The user asked for something that makes no sense.
    Usage = 2,
    /// Nothing of what was asked for can run here.
    NothingRan = 3,
    /// A document of another version, or documents that cannot be compared.
    Incomparable = 4,
    /// A measurement was invalid.
    Invalid = 5,
    /// `--fail-on`: something is certainly slower than it may be.
    Slower = 6,
    /// `--fail-if`: a figure is certainly what it may not be.
    Limit = 7,
    /// `--max-noise`: the run was too disturbed.
    Noise = 8,
    /// A gate can neither pass nor fail, or the machine was too noisy to begin.
    CannotTell = 9,
    /// Interrupted by the user.
    Interrupted = 130,
}

impl From<Code> for ExitCode {
    fn from(code: Code) -> Self {
        Self::from(code as u8)
    }
}

/// The end of the program, with its reason.
#[derive(Debug)]
pub struct Stop {
    code: Code,
    text: String,
}

impl Display for Stop {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str(&self.text)
    }
}

impl Stop {
    /// The user asked for something that makes no sense (exit code 2).
    pub fn usage(text: impl Display) -> Self {
        Self { code: Code::Usage, text: text.to_string() }
    }

    /// Something went wrong inside (exit code 1).
    pub fn internal(text: impl Display) -> Self {
        Self { code: Code::Internal, text: text.to_string() }
    }

    /// Nothing of what was asked for can run here (exit code 3).
    pub fn nothing_ran(text: impl Display) -> Self {
        Self { code: Code::NothingRan, text: text.to_string() }
    }

    /// The user interrupted it (exit code 130).
    pub fn interrupted(text: impl Display) -> Self {
        Self { code: Code::Interrupted, text: text.to_string() }
    }

    /// What was measured says nothing (exit code 5).
    pub fn invalid(text: impl Display) -> Self {
        Self { code: Code::Invalid, text: text.to_string() }
    }

    /// A gate or the program cannot decide (exit code 9).
    pub fn cannot_tell(text: impl Display) -> Self {
        Self { code: Code::CannotTell, text: text.to_string() }
    }

    /// A document of another version, or documents that cannot be compared (exit code 4).
    pub fn incomparable(text: impl Display) -> Self {
        Self { code: Code::Incomparable, text: text.to_string() }
    }

    /// Its exit code.
    #[must_use]
    pub const fn code(&self) -> Code {
        self.code
    }

    /// Prints the reason as one line and gives the exit code.
    pub fn tell(&self) -> ExitCode {
        note(&format!("ipcperf: {}", self.text.trim_end()));
        self.code.into()
    }
}

/// One line to standard error, whatever it quotes; nobody listening is no error.
pub fn note(text: &str) {
    let _ = writeln!(std::io::stderr(), "{}", ipcperf_render::text::clean(text, true));
}

/// `unknown KIND 'GIVEN'`, with the nearest right one or, failing that, where to find the list.
pub fn unknown<'a>(
    kind: &str,
    given: &str,
    known: impl IntoIterator<Item = &'a str>,
    where_listed: &str,
) -> Stop {
    Stop::usage(match nearest(given, known) {
        Some(word) => format!("unknown {kind} '{given}'; did you mean '{word}'?"),
        None => format!("unknown {kind} '{given}'; {where_listed}"),
    })
}

/// The same of a word of a list that is short enough to be told whole.
pub fn unknown_name(error: UnknownName) -> Stop {
    let list = format!("known: {}", error.known.join(", "));
    unknown(error.kind, &error.given, error.known, &list)
}

/// What clap says is wrong, in one line.
pub fn one_line(error: &clap::Error) -> String {
    let text = error.to_string();
    let mut parts: Vec<&str> = Vec::new();
    for line in text.lines().map(str::trim) {
        // Everything after the blank line before "Usage:" repeats the manual.
        if line.starts_with("Usage:") || line.starts_with("For more information") {
            break;
        }
        // No file or mechanism begins with a dash: the advice to put one behind '--' leads nowhere.
        if !line.is_empty() && !line.starts_with("tip: to pass '") {
            parts.push(line);
        }
    }
    // A tip is a sentence of its own.
    let told = parts.join(" ").replace(" tip: ", "; ");
    told.trim_start_matches("error: ").to_owned()
}

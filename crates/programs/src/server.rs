//! What the commands that start a server and its client share.

use ipcperf_core::shell_words;
use ipcperf_kit::error::{Code, Stop};
use std::os::unix::process::ExitStatusExt;
use std::process::{ExitCode, ExitStatus};

/// The words of a program that was given as one argument.
pub(crate) fn split(flag: &str, command: &str) -> Result<Vec<String>, Stop> {
    let words = shell_words::split(command).map_err(|why| Stop::usage(format!("{flag}: {why}")))?;
    if words.is_empty() {
        return Err(Stop::usage(format!("{flag}: no program")));
    }
    Ok(words)
}

/// A command of which a shell, or [`split`], makes these words.
pub(crate) fn joined(words: &[String]) -> String {
    let is_plain = |word: &str| {
        let plain = |sign: char| sign.is_ascii_alphanumeric() || "-_./:=,@%+".contains(sign);
        !word.is_empty() && word.chars().all(plain)
    };
    let quoted = words.iter().map(|word| match is_plain(word) {
        true => word.clone(),
        false => format!("'{}'", word.replace('\'', r"'\''")),
    });
    quoted.collect::<Vec<_>>().join(" ")
}

/// The exit code of a program that ended so.
pub(crate) fn exit_code(status: ExitStatus) -> ExitCode {
    match (status.code(), status.signal()) {
        (Some(code), _) => ExitCode::from(code as u8),
        (None, Some(signal)) => ExitCode::from((128 + signal) as u8),
        (None, None) => Code::Internal.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_joined_command_is_split_into_the_same_words() {
        let words =
            ["sh", "-c", "echo \"it's\" $HOME; a|b", "", "tab\there", "--x=1"].map(str::to_owned);
        assert_eq!(split("--client", &joined(&words)).ok().as_deref(), Some(&words[..]));
    }
}

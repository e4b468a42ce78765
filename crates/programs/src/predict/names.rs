//! What a command runs: its program, behind the programs that only set something up for it.

use std::path::Path;

/// A program that starts another one: its name, its options that have a value of their own, and how many words stand between its
/// options and the program.
struct Launcher {
    name: &'static str,
    valued: &'static [&'static str],
    operands: usize,
}

const fn launcher(
    name: &'static str,
    valued: &'static [&'static str],
    operands: usize,
) -> Launcher {
    Launcher { name, valued, operands }
}

/// Those of util-linux and coreutils, and a few that come alone.
const LAUNCHERS: [Launcher; 10] = [
    launcher("taskset", &[], 1),
    launcher("env", &["-u", "--unset", "-C", "--chdir", "-S"], 0),
    launcher("nice", &["-n", "--adjustment"], 0),
    launcher("ionice", &["-c", "--class", "-n", "--classdata"], 0),
    launcher("chrt", &["-T", "-P", "-D"], 1),
    launcher("stdbuf", &["-i", "-o", "-e", "--input", "--output", "--error"], 0),
    launcher("nohup", &[], 0),
    launcher("setsid", &[], 0),
    launcher("timeout", &["-k", "--kill-after", "-s", "--signal"], 1),
    launcher("numactl", &["-N", "-m", "-C", "-i", "-P"], 0),
];

/// The name of a file without its folders.
fn file_name(program: &str) -> String {
    let name = Path::new(program).file_name();
    name.map_or(program.into(), |name| name.to_string_lossy()).into_owned()
}

/// The name of the program that a command runs in the end, without its folders: that of `taskset -c 1 X` is X.
pub(crate) fn program(words: &[String]) -> String {
    let mut rest = words;
    while let Some((first, after)) = rest.split_first() {
        let name = file_name(first);
        let Some(launcher) = LAUNCHERS.iter().find(|one| one.name == name) else { return name };
        match behind(launcher, after) {
            Some(program) => rest = program,
            None => return name,
        }
    }
    words.first().map_or_else(String::new, |first| file_name(first))
}

/// The words behind a launcher and all that is its own; `None` if nothing is left.
fn behind<'a>(launcher: &Launcher, mut words: &'a [String]) -> Option<&'a [String]> {
    let mut operands = launcher.operands;
    loop {
        let (word, after) = words.split_first()?;
        let is_setting = launcher.name == "env" && word.contains('=');
        words = match word.as_str() {
            "--" => {
                let own = operands.min(after.len());
                return Some(&after[own..]).filter(|rest| !rest.is_empty());
            }
            option if launcher.valued.contains(&option) => after.get(1..)?,
            option if option.starts_with('-') && option.len() > 1 => after,
            _ if is_setting => after,
            _ if operands > 0 => {
                operands -= 1;
                after
            }
            _ => return Some(words),
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_is_named_behind_what_starts_it() {
        for (command, name) in [
            ("redis-server --port 1", "redis-server"),
            ("taskset -c 1 /usr/bin/redis-server --port 1", "redis-server"),
            ("taskset 0x3 redis-server", "redis-server"),
            ("env A=b C=d X", "X"),
            ("env -u HOME -i A=b X y", "X"),
            ("nice X", "X"),
            ("nice -n 5 X", "X"),
            ("nice -5 X", "X"),
            ("chrt -f 50 nice ./X -n", "X"),
            ("timeout -k 1 10s X", "X"),
            ("taskset -c 0 env A=b nice -n 1 X taskset", "X"),
            ("env -- A", "A"),
            ("taskset -c 1", "taskset"),
            ("env", "env"),
            ("python3 taskset.py", "python3"),
        ] {
            let words: Vec<String> = command.split(' ').map(str::to_owned).collect();
            assert_eq!(program(&words), name, "{command}");
        }
        assert_eq!(program(&[]), "");
    }
}

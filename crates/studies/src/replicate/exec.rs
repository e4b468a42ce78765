//! Work "exec": programs that a study names, connected by pipes, as `ipcperf exec` measures them.

use super::work::{Turn, Work};
use crate::claims::Readings;
use ipcperf_core::result::ProofKind;
use ipcperf_engine::exec::PipelinePlan;
use ipcperf_engine::keeper::Programs;
use ipcperf_engine::task::TaskError;
use ipcperf_kit::{external, request};
use ipcperf_sys::signals::Interrupts;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// Its name in a study.
pub(crate) const KIND: &str = "exec";

/// Stands in a program for the run's own directory (mode 0700): for what needs a path.
const DIRECTORY: &str = "{directory}";
/// Stands for the folder with the files of the original's author.
const FOLDER: &str = "{folder}";

/// Stands for this program, for what runs another one under it.
const PROGRAM: &str = "{ipcperf}";

/// How long the author's own files may run, whose amount of work is written in them: no scale shortens it.
const AUTHORS: Duration = Duration::from_secs(3600);

/// How long a program may take to find out whether all is there that the others need.
const LOOKING: Duration = Duration::from_secs(10);

#[derive(Debug, Deserialize)]
struct ExecKeys {
    /// Each reads what the one before it writes.
    programs: Vec<String>,
    /// A program that ends well if all is there that they need.
    needs: Option<String>,
    /// What the last of them writes are figures, a name and a number in each line.
    #[serde(default)]
    figures: bool,
    /// Files of the original's author that they run: the arm is measured only where the user says where these are.
    #[serde(default)]
    files: Vec<String>,
    /// Their folder.
    folder: Option<String>,
    /// How many messages the programs exchange: readings per message are then formed, as a cell has them.
    messages: Option<u64>,
    /// What stands for a name in braces.
    #[serde(flatten)]
    words: BTreeMap<String, toml::Value>,
}

impl ExecKeys {
    fn of(table: &toml::Table) -> Result<Self, String> {
        let mut keys: Self = table.clone().try_into().map_err(|error| format!("exec: {error}"))?;
        if keys.messages == Some(0) {
            return Err("exec: messages: at least 1 is needed".into());
        }
        for text in &mut keys.programs {
            if let Some(count) = keys.messages {
                *text = text.replace("{messages}", &count.to_string());
            }
        }
        for (name, value) in std::mem::take(&mut keys.words) {
            let word = request::word(&value)
                .ok_or_else(|| format!("exec: {name}: {value} is not a word"))?;
            let place = format!("{{{name}}}");
            let texts = keys.programs.iter_mut().chain(&mut keys.needs);
            let texts: Vec<&mut String> = texts.filter(|text| text.contains(&place)).collect();
            if texts.is_empty() {
                return Err(format!(
                    "exec: unknown key '{name}', and no program has a {place} (a [scale] table may set it)"
                ));
            }
            for text in texts {
                *text = text.replace(&place, &word);
            }
        }
        Ok(keys)
    }
}

struct Exec {
    plan: PipelinePlan,
    needs: Option<PipelinePlan>,
    figures: bool,
    folder: Option<String>,
    messages: Option<u64>,
}

/// The files of the original's author that an arm runs.
pub(crate) fn files(table: &toml::Table) -> Vec<String> {
    ExecKeys::of(table).map(|keys| keys.files).unwrap_or_default()
}

/// The commands of an arm, for the user to see.
pub(crate) fn commands(table: &toml::Table) -> Result<Vec<String>, String> {
    let ExecKeys { programs, needs, .. } = ExecKeys::of(table)?;
    let first = needs.into_iter().flat_map(|needs| [needs, external::NEXT.to_owned()]);
    Ok(first.chain(programs).collect())
}

/// What it finds out of programs that print no figures.
const READINGS: &[&str] =
    &["bytes", "bits_per_second", "wall_s", "user_s", "system_s", "cpu_s", "cpu_s.*", "proof"];

/// Readings of programs whose number of messages the file gives, with the names that a cell has for them.
const PER_MESSAGE: &[&str] = &["cpu_ns", "user_ns", "system_ns", "messages_per_second"];

/// What it finds out of programs with these keys that print no figures.
pub(super) fn readings(table: &toml::Table) -> Vec<&'static str> {
    let keys = ExecKeys::of(table);
    let per_message =
        if keys.is_ok_and(|keys| keys.messages.is_some()) { PER_MESSAGE } else { &[] };
    [READINGS, per_message].concat()
}

/// Whether what the programs print are readings.
pub(super) fn has_figures(table: &toml::Table) -> bool {
    ExecKeys::of(table).is_ok_and(|keys| keys.figures)
}

/// Makes the work.
pub(crate) fn make(table: &toml::Table) -> Result<Box<dyn Work>, String> {
    let ExecKeys { programs, needs, figures, folder, messages, .. } = ExecKeys::of(table)?;
    let plan = |commands: &[String]| external::plan(commands).map_err(|stop| stop.to_string());
    let needs = needs.map(|needs| plan(&[needs])).transpose()?;
    Ok(Box::new(Exec { plan: plan(&programs)?, needs, figures, folder, messages }))
}

/// Whether a program finds what is needed, or what it says.
fn finds(needs: &PipelinePlan, interrupts: Option<&Interrupts>) -> Result<(), TaskError> {
    let words = needs.programs.first().and_then(|words| words.split_first());
    let Some((program, arguments)) = words else { return Ok(()) };
    let mut command = Command::new(program);
    command.args(arguments).stdin(Stdio::null()).stdout(Stdio::null());
    let mut programs = Programs::new(Instant::now() + LOOKING, interrupts);
    programs.start(program, &mut command, None)?;
    programs.finish(None)?;
    Ok(())
}

/// The figures that a program has written.
fn figures(text: &str) -> Result<Vec<(&str, f64)>, TaskError> {
    let each = text.lines().map(|line| {
        let named = line.split_once(' ');
        let figure = named.and_then(|(name, number)| Some((name, number.trim().parse().ok()?)));
        figure.ok_or_else(|| TaskError::Failed(format!("'{line}' is not a name and a number")))
    });
    each.collect()
}

/// The programs with folders in place of their names. The commands that are told keep the names.
fn placed(plan: &PipelinePlan, directory: &Path, folder: Option<&str>) -> PipelinePlan {
    let directory = directory.to_string_lossy();
    let own = std::env::current_exe().unwrap_or_else(|_| "ipcperf".into());
    let own = own.to_string_lossy();
    let place = |words: &Vec<String>| {
        let word = |word: &String| {
            let placed = word.replace(DIRECTORY, &directory).replace(PROGRAM, &own);
            folder.map_or_else(|| placed.clone(), |folder| placed.replace(FOLDER, folder))
        };
        words.iter().map(word).collect()
    };
    let programs = plan.programs.iter().map(place).collect();
    PipelinePlan { programs, commands: plan.commands.clone() }
}

impl Work for Exec {
    fn look(&self, interrupts: Option<&Interrupts>) -> Result<(), TaskError> {
        let all = [Some(&self.plan), self.needs.as_ref()];
        if let Some(missing) = all.into_iter().flatten().find_map(external::missing) {
            return Err(TaskError::Failed(missing));
        }
        self.needs.as_ref().map_or(Ok(()), |needs| finds(needs, interrupts))
    }

    fn measure(&mut self, turn: &Turn<'_>) -> Result<Readings, TaskError> {
        let plan = placed(&self.plan, turn.directory, self.folder.as_deref());
        let deadline = match self.folder {
            Some(_) => turn.deadline.max(Instant::now() + AUTHORS),
            None => turn.deadline,
        };
        let ran = turn.watch.borrow_mut().once(&plan, deadline, turn.interrupts)?;
        let mut readings = Readings::default();
        let seconds = |nanos: u64| nanos as f64 / 1e9;
        let bytes = ran.arrived_bytes.max(ran.taken_bytes().unwrap_or(0)) as f64;
        let wall_s = seconds(ran.elapsed_ns);
        let [mut user_s, mut system_s] = [0.0; 2];
        for (at, seen) in (1..).zip(&ran.programs) {
            user_s += seconds(seen.ended.user_ns);
            system_s += seconds(seen.ended.system_ns);
            let cpu_s = seconds(seen.ended.user_ns + seen.ended.system_ns);
            readings.set(format!("cpu_s.{at}"), cpu_s);
        }
        let proof = ran.proof(&self.plan.commands);
        let proofs = f64::from(u8::from(proof.kind == ProofKind::Bytes));
        for (name, value) in [
            ("bytes", bytes),
            ("bits_per_second", bytes * 8.0 / wall_s),
            ("wall_s", wall_s),
            ("user_s", user_s),
            ("system_s", system_s),
            ("cpu_s", user_s + system_s),
            ("proof", proofs),
        ] {
            readings.set(name, value);
        }
        if let Some(count) = self.messages {
            let each = |seconds: f64| seconds * 1e9 / count as f64;
            readings.set("cpu_ns", each(user_s + system_s));
            readings.set("user_ns", each(user_s));
            readings.set("system_ns", each(system_s));
            readings.set("messages_per_second", count as f64 / wall_s);
            let counted = format!("{count}, as the study file says; ipcperf does not count them");
            readings.facts.insert("messages".into(), counted);
        }
        if self.figures {
            for (name, value) in figures(&ran.start)? {
                readings.set(name, value);
            }
        }
        readings.facts.insert("programs".into(), self.plan.name());
        if let Some(reason) = proof.reason {
            readings.facts.insert("proof".into(), reason);
        }
        Ok(readings)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(text: &str) -> Result<Vec<String>, String> {
        commands(&text.parse().expect("a table"))
    }

    #[test]
    fn a_name_in_braces_stands_for_what_the_arm_says() {
        let text = "programs = ['x {of} {n}', 'y {n}']\nneeds = 'z {of}'\nof = 'a b'\nn = 7";
        assert_eq!(told(text).expect("well formed"), ["z a b", ",", "x a b 7", "y 7"]);
        for (wrong, part) in [
            ("programs = ['x']\nprogram = 'y'", "unknown key 'program'"),
            ("programs = ['x {n}']\nn = [1]", "is not a word"),
        ] {
            let error = told(wrong).expect_err(part);
            assert!(error.contains(part), "{error}");
        }
    }

    #[test]
    fn programs_whose_messages_are_counted_have_the_readings_of_a_cell() {
        let table: toml::Table =
            "programs = ['head -c {messages}00 /dev/zero', 'wc -c']\nmessages = 1000"
                .parse()
                .expect("a table");
        assert_eq!(commands(&table).expect("well formed")[0], "head -c 100000 /dev/zero");
        assert!(PER_MESSAGE.iter().all(|name| readings(&table).contains(name)));
        let uncounted: toml::Table = "programs = ['x']".parse().expect("a table");
        assert!(PER_MESSAGE.iter().all(|name| !readings(&uncounted).contains(name)));
        let none: toml::Table = "programs = ['x']\nmessages = 0".parse().expect("a table");
        let error = commands(&none).expect_err("nothing can be divided by none");
        assert!(error.contains("at least 1"), "{error}");
    }

    #[test]
    fn the_directory_of_the_run_stands_for_its_name_and_is_not_told() {
        let text = "programs = ['touch \"{directory}/a {n}\"', 'ls {folder}']\nn = 1";
        let told = told(text).expect("well formed");
        let plan = external::plan(&told).expect("commands");
        let plan = placed(&plan, Path::new("/run/x y"), Some("/home/z"));
        assert_eq!(plan.programs, [["touch", "/run/x y/a 1"], ["ls", "/home/z"]]);
        assert_eq!(plan.commands, told);
    }

    #[test]
    fn what_is_needed_and_not_there_is_told_and_figures_are_read() {
        let missing = |needs: &str| {
            let text = format!(
                "programs = ['printf \"a 1.5\\nb 2\\n\"']\nneeds = '{needs}'\nfigures = true"
            );
            let work = make(&text.parse().expect("a table")).expect("well formed");
            work.look(None).err().map(|error| error.to_string())
        };
        assert_eq!(missing("true"), None);
        let told = missing("sh -c \"echo no gem >&2; exit 1\"");
        assert_eq!(told.as_deref(), Some("sh: exit code 1: no gem"));
        let missing = missing("no-such-program-anywhere").expect("it is not there");
        assert!(missing.contains("no program 'no-such-program-anywhere' in PATH"), "{missing}");
        assert_eq!(figures("user_s 0.5\nreal_s 1\n"), Ok(vec![("user_s", 0.5), ("real_s", 1.0)]));
        assert!(figures("user_s\n").is_err() && figures("a b\n").is_err());
    }
}

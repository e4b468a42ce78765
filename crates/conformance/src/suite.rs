//! Every mechanism meets every case.

use crate::book;
use crate::case::{self, CASES, Case, Concurrency, Outcome};
use crate::entry::Entry;
use crate::filter::Filter;
use crate::matrix::{Matrix, OutcomeCounts};
use crate::payload::{Random, mix};
use crate::task::{CASE, Task, VICTIM};
use crate::worker;
use ipcperf_core::{OptionSet, Wait};
use ipcperf_engine::registry::Registry;
use ipcperf_engine::supervisor::Supervisor;
use ipcperf_engine::task::{SUBCOMMAND, TaskError};
use ipcperf_engine::tasks::{self, TaskRow};
use ipcperf_sys::{process, skipped};
use libtest_mimic::{Completion, Trial};
use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::{Duration, Instant};

/// A file that gets the matrix as a Markdown document.
const MATRIX: &str = "IPCPERF_MATRIX";
/// Other random choices than the usual ones.
const SEED: &str = "IPCPERF_SEED";
/// The full number of messages, channels and round trips of each case; other runs use fewer.
const LONG: &str = "IPCPERF_LONG_CASES";

/// The cases and a list of mechanisms, ready to run.
#[derive(Clone, Debug)]
pub struct Suite {
    list: Registry,
    deadline: Duration,
    seed: u64,
    is_long: bool,
    exempt: Option<&'static str>,
}

impl Suite {
    /// The suite over the mechanisms that `visit` shows it.
    ///
    /// The first thing a program does. Workers are re-executions of the program that calls this; in one of them it
    /// plays its role and does not return.
    #[must_use]
    pub fn of(visit: impl FnOnce(&mut Registry)) -> Self {
        let mut list = Registry::new();
        visit(&mut list);
        if let Some(code) = enter(&list) {
            std::process::exit(i32::from(code != ExitCode::SUCCESS));
        }
        let seed = std::env::var(SEED)
            .ok()
            .and_then(|text| u64::from_str_radix(text.trim_start_matches("0x"), 16).ok());
        Self {
            seed: seed.unwrap_or(0),
            is_long: std::env::var_os(LONG).is_some_and(|on| on == "1"),
            ..Self::over(&list)
        }
    }

    /// The suite over what a program has, which is an `ipcperf` with the tasks of [`TASKS`].
    #[must_use]
    pub fn over(list: &Registry) -> Self {
        Self {
            list: list.clone(),
            deadline: Duration::from_secs(900),
            // The same choices each time, so that a change is what makes a difference.
            seed: 0,
            is_long: false,
            exempt: None,
        }
    }

    /// Another deadline for each case. It only turns a hang into a failure; a quarter of an hour by default, since a
    /// machine may be busy with something else.
    #[must_use]
    pub fn with_deadline(mut self, deadline: Duration) -> Self {
        self.deadline = deadline;
        self
    }

    /// All cases that do not apply to a mechanism, in lines like `C10 C23: sendfile pty`. A whole run fails where another case
    /// does not apply, or a case of the list does.
    #[must_use]
    pub const fn exempting(mut self, exempt: &'static str) -> Self {
        self.exempt = Some(exempt);
        self
    }

    /// What comes of one case (`C08_end_of_stream`) for one mechanism (`pipe/spin`).
    #[must_use]
    pub fn outcome(&self, mechanism: &str, case: &str) -> Outcome {
        match (Entry::find(&self.list, mechanism), Case::find(case)) {
            (Some(entry), Some(case)) => match (case.objection(&entry), entry.missing()) {
                (Some(fact), _) => Outcome::NotApplicable(fact),
                (None, Some(missing)) => Outcome::Unavailable(missing.to_string()),
                (None, None) => self.conduct(&entry, case),
            },
            _ => Outcome::Failed(format!("there is no {mechanism} or no {case}")),
        }
    }

    /// Names of all cases.
    pub fn cases() -> impl Iterator<Item = String> {
        CASES.iter().map(Case::name)
    }

    /// Runs what the command line asks for, prints the matrix, and returns the exit code of a test program.
    #[must_use]
    pub fn run(self) -> ExitCode {
        let (filter, mut arguments) = Filter::of_command_line();
        // Four at a time: on two CPUs that is enough to fill the waits.
        arguments.test_threads = Some(arguments.test_threads.map_or(4, |threads| threads.min(4)));
        let matrix = Arc::new(Mutex::new(Matrix::default()));
        let times = Arc::new(Mutex::new(BTreeMap::new()));
        let alone = Arc::new(RwLock::new(()));
        let (seed, exempt) = (self.seed, self.exempt);
        let is_whole = filter == Filter::default();
        let suite = Arc::new(self);
        // What runs alone comes last: in between it would wait for the others, and they for it.
        let (mut trials, mut last) = (Vec::new(), Vec::new());
        for base in suite.list.entries() {
            let entry = Entry { base: *base };
            let mechanism = entry.spec().full_name();
            let missing = entry.missing();
            for case in CASES.iter().filter(|case| base.is_plugin || !case.is_of_plugins) {
                let name = format!("conformance::{mechanism}::{}", case.name());
                if !filter.takes(&name) {
                    continue;
                }
                let set = {
                    let (matrix, mechanism) = (Arc::clone(&matrix), mechanism.clone());
                    move |outcome| lock(&matrix).set(&mechanism, &case.name(), outcome)
                };
                if let Some(fact) = case.objection(&entry) {
                    set(Outcome::NotApplicable(fact));
                } else if let Some(missing) = &missing {
                    set(Outcome::Unavailable(missing.to_string()));
                } else {
                    // Keeps the row's place in the matrix.
                    set(Outcome::Failed("it did not run to its end".into()));
                    let (suite, alone) = (Arc::clone(&suite), Arc::clone(&alone));
                    // Its ends do, or a thread of the kernel does for them.
                    let spins = matches!(entry.spec().wait, Wait::Spin | Wait::SpinThenBlock);
                    let is_alone = match case.beside {
                        Concurrency::Any => false,
                        Concurrency::UnlessItSpins => spins,
                        Concurrency::None => true,
                    };
                    let times = Arc::clone(&times);
                    let trial = move || {
                        let _alone =
                            is_alone.then(|| alone.write().unwrap_or_else(PoisonError::into_inner));
                        let _beside = (!is_alone)
                            .then(|| alone.read().unwrap_or_else(PoisonError::into_inner));
                        let begin = Instant::now();
                        let outcome = suite.conduct(&entry, case);
                        *lock(&times).entry(case.id).or_default() += begin.elapsed();
                        set(outcome.clone());
                        match outcome {
                            Outcome::Failed(text) => Err(text.into()),
                            Outcome::Unavailable(what) => Ok(Completion::ignored_with(what)),
                            Outcome::Passed | Outcome::NotApplicable(_) => {
                                Ok(Completion::Completed)
                            }
                        }
                    };
                    let trials = if is_alone { &mut last } else { &mut trials };
                    trials.push(Trial::ignorable_test(name, trial));
                }
            }
        }
        trials.append(&mut last);
        if arguments.list || arguments.ignored {
            return libtest_mimic::run(&arguments, trials).exit_code();
        }
        // Only tidiness: what cannot be removed disturbs nobody.
        let _ = sweep();
        tell(&format!("seed {seed:#x} ({SEED} is another one)"));
        let conclusion = libtest_mimic::run(&arguments, trials);
        let matrix = lock(&matrix);
        tell(&matrix.to_string());
        tell(&longest(&lock(&times)));
        if !Path::new("/dev/mqueue").is_dir() {
            let why = "not mounted: C14 could not look for names of POSIX queues";
            skipped::note("/dev/mqueue", why);
        }
        if matrix.counts() == OutcomeCounts::default() && skipped::expects_all() {
            tell("IPCPERF_EXPECT_ALL=1: no trial has a name of these words");
            return ExitCode::FAILURE;
        }
        let lacking = matrix.lacking();
        lacking.iter().for_each(|(mechanism, why)| skipped::note(mechanism, why));
        let mut expected: Vec<&str> = lacking.into_iter().map(|(mechanism, _)| mechanism).collect();
        expected.retain(|mechanism| !skipped::may_lack(mechanism));
        expected.dedup();
        if !expected.is_empty() {
            let expected = expected.join(", ");
            tell(&format!("IPCPERF_EXPECT_ALL=1: expected to run here: {expected}"));
            return ExitCode::FAILURE;
        }
        if let Some(file) = std::env::var_os(MATRIX)
            && let Err(error) = fs::write(&file, book::text(&matrix))
        {
            tell(&format!("{MATRIX}={}: {error}", file.display()));
            return ExitCode::FAILURE;
        }
        if let (Some(exempt), true) = (exempt, is_whole)
            && let changes @ [_, ..] = &book::changes(exempt, &matrix)[..]
        {
            let changes = changes.join("; ");
            tell(&format!("the list of cases that do not apply is not true: {changes}"));
            return ExitCode::FAILURE;
        }
        conclusion.exit_code()
    }

    /// Runs one case in a process of its own.
    fn conduct(&self, entry: &Entry, case: &Case) -> Outcome {
        let mechanism = entry.spec().full_name();
        let name = format!("{mechanism} {}", case.name());
        let seed = name.bytes().fold(self.seed, |seed, byte| mix(seed ^ u64::from(byte)));
        let outcome = Scratch::create(seed).map_err(TaskError::from).and_then(|base| {
            let task = Task {
                mechanism,
                case: case.name(),
                options: OptionSet::default(),
                base: base.0.clone(),
                seed,
                deadline: self.deadline,
                is_long: self.is_long,
            };
            ask(&task)
        });
        match outcome {
            Ok(Outcome::Failed(text)) => {
                Outcome::Failed(format!("{text} ({SEED}={:#x})", self.seed))
            }
            Ok(outcome) => outcome,
            Err(error) => Outcome::Failed(format!("the suite itself: {error}")),
        }
    }
}

/// The suite's processes: a program's workers play their roles.
pub const TASKS: &[TaskRow] = &[
    TaskRow { name: worker::NAME, run: worker::serve, runs_mechanism: true, messages: &[] },
    TaskRow { name: CASE, run: case::serve, runs_mechanism: false, messages: &[] },
    TaskRow { name: VICTIM, run: case::victim, runs_mechanism: false, messages: &[] },
];

/// Starts the process of a case and waits for its answer. It kills its own workers in time; this is for when it
/// cannot.
fn ask(task: &Task) -> Result<Outcome, TaskError> {
    const RESERVE: Duration = Duration::from_secs(5);
    let deadline = Instant::now() + task.deadline + RESERVE;
    let mut supervisor = Supervisor::new(deadline, None);
    let coordinator = supervisor.start("the coordinator of the case", 0)?;
    supervisor.assign(coordinator, CASE, task, &[])?;
    Ok(supervisor.done(coordinator)?)
}

/// Where the run directories of one case are made; removed with all that is in it.
struct Scratch(PathBuf);

impl Scratch {
    fn create(seed: u64) -> io::Result<Self> {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let (pid, count) = (std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
        let unique = Random::new(seed).next() & 0xffff;
        // Short: what is bound inside must fit the 107 bytes of a socket's path.
        let path = std::env::temp_dir().join(format!("{PREFIX}{pid}-{count}-{unique:04x}"));
        fs::create_dir(&path)?;
        Ok(Self(path))
    }
}

/// What the names of scratch directories start with; the number of their process follows.
const PREFIX: &str = "ipcperf-c-";

/// Removes the scratch directories of test programs that were killed.
fn sweep() -> io::Result<()> {
    let own = fs::metadata("/proc/self")?.uid();
    for entry in fs::read_dir(std::env::temp_dir())? {
        let (path, name) = entry.map(|entry| (entry.path(), entry.file_name()))?;
        let pid = name.to_str().and_then(|name| name.strip_prefix(PREFIX)?.split('-').next());
        let is_dead = pid.and_then(|pid| pid.parse().ok()).is_some_and(|pid| !process::exists(pid));
        let is_ours =
            path.symlink_metadata().is_ok_and(|facts| facts.is_dir() && facts.uid() == own);
        if is_dead && is_ours {
            drop(Scratch(path));
        }
    }
    Ok(())
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // First what the ledgers of killed runs name, then the files.
        let _ = ipcperf_sys::rundir::reap(Path::new(&self.0));
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn lock<T>(shared: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Where the time has gone, longest first.
fn longest(times: &BTreeMap<&str, Duration>) -> String {
    let mut all: Vec<_> = times.iter().collect();
    all.sort_by_key(|(_, time)| std::cmp::Reverse(**time));
    let each = all.iter().map(|(case, time)| format!("{case} {:.1} s", time.as_secs_f64()));
    format!("time by case: {}", each.collect::<Vec<_>>().join(", "))
}

fn tell(text: &str) {
    // Nobody is left to tell where standard output is closed.
    let _ = writeln!(io::stdout().lock(), "{text}");
}

/// Does the task this process was started for and says how that went; `None` if this is the test program itself.
fn enter(list: &Registry) -> Option<ExitCode> {
    let mut arguments = std::env::args().skip(1);
    if arguments.next()? != SUBCOMMAND {
        return None;
    }
    let parent = arguments.next()?.parse().ok()?;
    Some(tasks::main(list, TASKS, parent))
}

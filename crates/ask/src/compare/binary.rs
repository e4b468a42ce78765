//! Arms that two builds of ipcperf measure: a process of its own for each arm of each round, so that both are treated
//! alike.

use super::arm;
use super::rounds::Rounds;
use ipcperf_core::findings;
use ipcperf_core::result::{Cell, Finding, ResultSet, Round, Severity, Status};
use ipcperf_core::units::format_duration;
use ipcperf_engine::keeper::{Error, Programs};
use ipcperf_engine::plan::CellPlan;
use ipcperf_engine::run::{Arm, Measure, Progress, Settings, rounds};
use ipcperf_kit::error::Stop;
use ipcperf_kit::progress::ProgressLine;
use ipcperf_kit::reading::read_result;
use ipcperf_stats::Rng;
use ipcperf_sys::rundir::RunDirectory;
use ipcperf_sys::signals::Interrupts;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// This program, whatever has become of its file.
const SELF: &str = "/proc/self/exe";

/// How long one start may take beside thirty times its slice; it is taken to hang then.
const PATIENCE: Duration = Duration::from_secs(60);

/// If a larger share of the rounds has a start of noise grade F, the comparison has this grade.
const MOST_DISTURBED: f64 = 0.25;

/// Findings of a machine that makes the tail of any cell.
const DISTURBANCES: [&str; 2] = [findings::STOLEN.code, findings::LOAD.code];

/// Measures rounds of A, A again and B in random order.
pub(super) fn measure(
    cell: &CellPlan,
    other: &str,
    settings: &Settings,
    interrupts: &Interrupts,
    line: &ProgressLine,
) -> Result<Rounds, Stop> {
    let directory = RunDirectory::create().map_err(Stop::nothing_ran)?;
    let mut run = BinaryRun {
        cell,
        programs: [SELF, SELF, other],
        settings,
        interrupts,
        file: directory.path().join("arm.json"),
        seeds: Rng::stream(settings.seed, "starts"),
        starts: Default::default(),
    };
    let mut order = Rng::stream(settings.seed, "order");
    let began = Instant::now();
    let mut show = |progress: Progress<'_>| line.show(progress);
    let ran = rounds(&mut run, settings.rounds, None, &mut order, &mut show)?;
    line.show(Progress::Done);
    let each = began.elapsed().div_f64(settings.rounds.max(1) as f64);
    let mut other = run.starts[2].first().map(|(.., set)| set.clone());
    let Some(mut set) = merged(run.starts) else {
        return Err(Stop::interrupted("interrupted before there was a round to compare"));
    };
    set.interrupted = ran.interrupted;
    set.invocation.plan.rounds = settings.rounds;
    // One round of its own says nothing of the plan: what is compared is how long the slices were.
    if let Some(other) = &mut other {
        other.invocation.plan.rounds = settings.rounds;
    }
    Ok(Rounds { set, other, each })
}

/// What the starts of one arm wrote, by round and position in it.
type Starts = Vec<(u64, u64, ResultSet)>;

/// A, A again and B while they are measured.
struct BinaryRun<'a> {
    cell: &'a CellPlan,
    programs: [&'a str; 3],
    settings: &'a Settings,
    interrupts: &'a Interrupts,
    /// What a start writes.
    file: PathBuf,
    seeds: Rng,
    starts: [Starts; 3],
}

impl Measure for BinaryRun<'_> {
    type Error = Stop;

    fn arms(&self) -> Vec<Arm<'_>> {
        let name = self.cell.id.as_str();
        vec![Arm { name: name.into(), is_open: true, idle: None, block: 0 }; self.starts.len()]
    }

    fn measure(&mut self, arm: usize, round: u64, position: u64) -> Result<bool, Stop> {
        let (program, file) = (self.programs[arm], &self.file);
        let words = words(self.cell, self.settings, self.seeds.next_u64() >> 11, file);
        match started(program, &words, self.settings, self.interrupts) {
            Ok(()) => {}
            Err(Error::Interrupted) => return Ok(true),
            // What was wrong with a start is in what it wrote.
            Err(_) if file.exists() => {}
            Err(error) => return Err(Stop::internal(error)),
        }
        if !file.exists() {
            let why = "wrote no result: is it a build of ipcperf?";
            return Err(Stop::usage(format!("--live-binary: '{program}' {why}")));
        }
        let set = read_result(file)?;
        // A build that writes nothing must not be taken for the one before it.
        std::fs::remove_file(file)
            .map_err(|error| Stop::internal(format!("a run directory: {error}")))?;
        self.starts[arm].push((round, position, set));
        Ok(false)
    }
}

/// The words of one start.
fn words(cell: &CellPlan, settings: &Settings, seed: u64, file: &Path) -> Vec<String> {
    let time = |time: Duration| format_duration(u64::try_from(time.as_nanos()).unwrap_or(u64::MAX));
    let mut words = vec!["run".to_owned()];
    words.extend(arm::command(cell));
    words.extend([
        "--rounds=1".to_owned(),
        format!("--slice={}", time(settings.slice)),
        format!("--warmup={}", time(settings.warmup)),
        format!("--seed={seed}"),
        format!("--output={}", file.display()),
        "--quiet".to_owned(),
    ]);
    words
}

fn started(
    program: &str,
    words: &[String],
    settings: &Settings,
    interrupts: &Interrupts,
) -> Result<(), Error> {
    let deadline = Instant::now() + PATIENCE + 30 * (settings.slice + settings.warmup);
    let mut command = Command::new(program);
    command.args(words).stdin(Stdio::null()).stdout(Stdio::null());
    let mut programs = Programs::new(deadline, Some(interrupts));
    programs.start(program, &mut command, None)?;
    programs.finish(None).map(drop)
}

/// One document of all starts: the cells A, A again and B, each with its rounds. Only slices that their own start
/// rejected are left out. Other work disturbs all arms of a round alike, and the control shows where it does not.
fn merged(arms: [Starts; 3]) -> Option<ResultSet> {
    let starts: Vec<(u64, &ResultSet)> =
        arms.iter().flatten().map(|(round, _, set)| (*round, set)).collect();
    // A start of one round has a grade only where it is F.
    let grades = starts.iter().map(|(_, set)| set.noise.grade.as_str());
    let mut grades: Vec<&str> = grades.filter(|grade| !["F", "none"].contains(grade)).collect();
    grades.sort_unstable();
    let disturbed = starts.iter().filter(|(_, set)| set.noise.grade == "F");
    let disturbed = disturbed.map(|(round, _)| *round).collect::<BTreeSet<u64>>().len();
    let rounds = arms.iter().map(Vec::len).max().unwrap_or(0);
    let findings = kept(&starts);
    let (grade, why) = if disturbed as f64 > MOST_DISTURBED * rounds as f64 {
        ("F", None)
    } else {
        match grades.get(grades.len() / 2) {
            Some(grade) => (*grade, None),
            None => ("none", Some("each start has one round".to_owned())),
        }
    };
    let mut set = arms[0].first()?.2.clone();
    set.noise.grade = grade.to_owned();
    set.noise.causes = why.into_iter().collect();
    set.noise.findings = findings;
    set.cells = arms.into_iter().map(joined).collect::<Option<Vec<Cell>>>()?;
    Some(set)
}

/// The findings that hold for all starts together: that one of them is invalid, and what disturbed most of them.
fn kept(starts: &[(u64, &ResultSet)]) -> Vec<Finding> {
    let has = |set: &ResultSet, code: &str| set.noise.findings.iter().any(|one| one.code == code);
    let mut kept: Vec<Finding> = Vec::new();
    for finding in starts.iter().flat_map(|(_, set)| &set.noise.findings) {
        let of = starts.iter().filter(|(_, set)| has(set, &finding.code)).count();
        let is_common = DISTURBANCES.contains(&finding.code.as_str()) && 2 * of > starts.len();
        let is_known = kept.iter().any(|one| one.code == finding.code);
        if !is_known && (is_common || finding.severity == Severity::Error) {
            kept.push(finding.clone());
        }
    }
    kept
}

/// The cell of one arm with the rounds of all its starts.
fn joined(starts: Starts) -> Option<Cell> {
    let mut joined: Option<Cell> = None;
    for (number, order, set) in starts {
        let mut cell = set.cells.into_iter().next()?;
        let rounds: Vec<Round> = std::mem::take(&mut cell.rounds)
            .into_iter()
            .map(|round| Round { round: number, order, ..round })
            .collect();
        let known = joined.get_or_insert(cell.clone());
        if known.status != Status::Ok && cell.status == Status::Ok {
            *known = Cell { rounds: std::mem::take(&mut known.rounds), ..cell.clone() };
        }
        known.rounds.extend(rounds);
        let mode = |cell: &Cell| cell.timing.as_ref().map(|timing| timing.mode.clone());
        if let (None, Some(one), Some(other)) = (&known.reason, mode(known), mode(&cell))
            && one != other
        {
            known.reason = Some(format!("its rounds are timed in two ways: {one} and {other}"));
        }
    }
    joined
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::tests::set;

    /// Three starts of each arm, each with a round; `change` is given the arm and the number of the round.
    fn starts(change: impl Fn(usize, u64, &mut ResultSet)) -> ResultSet {
        let arms = [0, 1, 2].map(|arm| {
            let start = |round: u64| {
                let mut one = set(&["ok"]);
                one.noise.grade = "B".to_owned();
                one.cells[0].rounds.push(Round::default());
                change(arm, round, &mut one);
                (round, 0, one)
            };
            (0..3).map(start).collect()
        });
        merged(arms).expect("all three have cells")
    }

    #[test]
    fn what_disturbed_most_starts_or_makes_one_invalid_is_found_in_all() {
        let found = |code: &str, most: u64| {
            let set = starts(|_, round, set| {
                if round < most {
                    set.noise.findings.push(Finding::new(code, String::new(), ""));
                }
            });
            set.noise.findings.iter().map(|one| one.code.clone()).collect::<Vec<_>>()
        };
        for code in DISTURBANCES {
            assert_eq!((found(code, 2), found(code, 1)), (vec![code.to_owned()], Vec::new()));
        }
        assert_eq!(
            (found("E-CLOCK", 1), found("W-FEWROUNDS", 3)),
            (vec!["E-CLOCK".into()], vec![])
        );
    }

    #[test]
    fn rounds_of_a_busy_machine_count_and_the_grade_says_so() {
        for (busy, grade) in [(0, "B"), (1, "F")] {
            let set = starts(|arm, round, set| {
                if (arm, round) == (1, 2) && busy == 1 {
                    set.noise.grade = "F".to_owned();
                }
            });
            assert_eq!(set.noise.grade, grade);
            let mut rounds = set.cells.iter().flat_map(|cell| &cell.rounds);
            assert!(rounds.all(|round| round.rejected.is_none()));
        }
    }

    #[test]
    fn a_start_whose_slice_was_rejected_leaves_its_arm_measured() {
        let set = starts(|arm, round, set| {
            if (arm, round) == (2, 0) {
                set.cells[0].status = Status::Rejected;
                set.cells[0].reason = Some("all rounds were rejected".to_owned());
                set.cells[0].rounds[0].rejected = Some("E-MIGRATE: moved".to_owned().into());
            }
        });
        let b = &set.cells[2];
        assert_eq!((b.status, b.reason.as_deref(), b.rounds.len()), (Status::Ok, None, 3));
        assert_eq!(b.rounds.iter().filter(|round| round.rejected.is_some()).count(), 1);
    }
}

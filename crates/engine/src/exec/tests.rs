//! Pipelines of programs that every machine has.

use super::*;
use crate::keeper::{Finished, Keeper};
use ipcperf_core::result::ProofKind;
use ipcperf_sys::clock::monotonic_ns;
use ipcperf_sys::skipped::skipped;
use ipcperf_sys::trace::Follow;
use std::time::{Duration, Instant};

fn plan(programs: &[&str]) -> PipelinePlan {
    let split = |command: &&str| command.split(' ').map(str::to_owned).collect();
    PipelinePlan {
        programs: programs.iter().map(split).collect(),
        commands: programs.iter().map(ToString::to_string).collect(),
    }
}

/// A pipeline as `once` runs it, but without adopting orphans: other tests have children, too.
fn ran(programs: &[&str], wait: Duration) -> Result<Ran, Error> {
    let plan = plan(programs);
    let mut running = Programs::new(Instant::now() + wait, None);
    let start_ns = monotonic_ns();
    let output = connect(&plan, &mut running)?;
    let Finished { programs, end_ns, arrived_bytes, start } = running.finish(Some(output))?;
    Ok(Ran { elapsed_ns: end_ns - start_ns, arrived_bytes, start, programs })
}

const LONG: Duration = Duration::from_secs(60);

/// Whether the kernel tells this user what programs have read and written.
fn counts() -> bool {
    let counts = ipcperf_sys::program::counts_bytes();
    if !counts {
        skipped("/proc/PID/io", "no bytes of programs that have ended");
    }
    counts
}

#[test]
fn every_byte_is_counted_at_every_joint() {
    let commands = ["head -c 3000000 /dev/zero", "cat", "wc -c"];
    let ran = ran(&commands, LONG).expect("they end");
    assert_eq!((ran.arrived_bytes, ran.start.as_str()), (8, "3000000\n"));
    assert_eq!(
        ran.programs.iter().map(|seen| seen.unread_bytes).collect::<Vec<_>>(),
        [None, Some(0), Some(0)]
    );
    assert!(ran.programs.iter().all(|seen| seen.ended.user_ns + seen.ended.system_ns > 0));
    if counts() {
        assert_eq!(ran.taken_bytes(), Some(3_000_000));
        let proof = ran.proof(&plan(&commands).commands);
        assert_eq!((proof.kind, proof.reason), (ProofKind::Bytes, None));
    }
}

/// Reasons had the whole source of a script, 72 times in one document.
#[test]
fn a_reason_names_a_program_of_several_lines_by_its_first() {
    let commands = ["yes", "head\n-c\n1000"];
    assert_eq!(plan(&commands).name(), "yes | head ...");
    let ran = ran(&["yes", "head -c 1000"], LONG).expect("yes is cut off");
    if counts() {
        let reason = ran.proof(&plan(&commands).commands).reason.expect("a reason");
        assert!(reason.starts_with("'head ...' left"), "{reason}");
    }
}

#[test]
fn what_is_left_unread_is_no_proof_and_no_fault() {
    let commands = ["yes", "head -c 100000"];
    let ran = ran(&commands, LONG).expect("yes is cut off");
    assert_eq!(ran.arrived_bytes, 100_000);
    if counts() {
        let proof = ran.proof(&plan(&commands).commands);
        assert_eq!(proof.kind, ProofKind::None);
        let reason = proof.reason.expect("a reason");
        assert!(reason.contains("'head -c 100000' left") && reason.contains("unread"), "{reason}");
    }
}

#[test]
fn errors_name_the_program() {
    let missing = ran(&["/nonexistent/program"], LONG).expect_err("it is missing");
    assert_eq!(
        missing.to_string(),
        "/nonexistent/program: cannot be started: No such file or directory"
    );
    let failed = ran(&["cat /nonexistent", "wc -c"], LONG).expect_err("there is no file");
    let words = failed.to_string();
    assert!(words.starts_with("cat /nonexistent: exit code 1: cat: "), "{words}");
    let late = ran(&["sleep 600", "cat"], Duration::from_millis(50)).expect_err("it sleeps");
    assert_eq!(late, Error::Deadline(vec!["sleep 600".into(), "cat".into()]));
}

#[test]
fn a_program_that_writes_without_an_end_is_late_as_well() {
    let late = ran(&["yes"], Duration::from_millis(50)).expect_err("it goes on");
    assert_eq!(late, Error::Deadline(vec!["yes".into()]));
}

#[test]
fn errors_that_are_long_stop_nobody() {
    // More than a pipe holds.
    let noisy = ["dd if=/dev/zero of=/dev/stderr bs=1000 count=300", "cat"];
    let ran = ran(&noisy, LONG).expect("it ends");
    assert_eq!(ran.arrived_bytes, 0);
    assert!(ran.programs[0].error_bytes > 300_000);
    if counts() {
        assert_eq!(ran.programs[0].written_bytes(), Some(0));
    }
}

#[test]
fn who_fails_under_a_tracer_has_no_calls_and_who_is_cut_off_has() {
    let traced = |commands: &[&str]| {
        let keeper = Keeper::Traced(Follow::new()?);
        watch::count_calls(&plan(commands), Programs::of(keeper, Instant::now() + LONG, None))
    };
    let failed = traced(&["cat /nonexistent", "wc -c"]).expect_err("there is no file").to_string();
    if failed.contains("ptrace is refused") {
        return skipped("ptrace", failed);
    }
    assert!(failed.starts_with("cat /nonexistent: exit code 1: cat: "), "{failed}");
    let cut = traced(&["yes", "head -c 100000"]).expect("yes is cut off");
    assert!(cut.len() == 2 && cut.iter().all(|calls| !calls.is_empty()), "{cut:?}");
}

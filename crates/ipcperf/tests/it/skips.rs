//! What is installed changes what is skipped, and never what passes.

use crate::common::Sandbox;
use std::process::Command;

/// This test program again, where no programs are.
#[test]
fn what_is_not_installed_is_told_and_is_a_failure_where_all_is_expected() {
    const TEST: &str = "snippets::programs_in_c_compile_answer_and_leave_nothing";
    let sandbox = Sandbox::new();
    let tested = |expects: &str| {
        let mut again = Command::new("/proc/self/exe");
        // With two threads even one test has a thread of its own, which has its name.
        again.args([TEST, "--exact", "--test-threads=2"]).env("PATH", sandbox.temporary());
        again.env("IPCPERF_SKIPPED", "skipped").env("IPCPERF_EXPECT_ALL", expects);
        again.env_remove("IPCPERF_MAY_LACK");
        let again = sandbox.surround(again, &[]);
        sandbox.spawn(again).end()
    };
    let ended = tested("0");
    assert!(ended.status.success(), "{ended:?}");
    let line = format!("skipped: cc: No such file or directory (os error 2) ({TEST})\n");
    // Past the harness, which would hide it.
    assert_eq!((&ended.stderr, sandbox.read("skipped").ok()), (&line, Some(line.clone())));
    let ended = tested("1");
    assert!(!ended.status.success(), "{ended:?}");
    assert!(ended.stdout.contains("IPCPERF_EXPECT_ALL=1, but cc: "), "{}", ended.stdout);
}

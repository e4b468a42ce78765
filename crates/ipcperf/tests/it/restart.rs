//! What the facts say of an end that is killed and started again, seen by programs of their own: the coordinator of a run
//! makes all that has a name and outlives both ends, so that nothing of a run could show it.

use crate::common::{Sandbox, at_once, can_run, skipped};
use ipcperf_core::{OnRestart, OptionSet, Reach};
use std::process::Command;

/// Seconds for which an end that should go on is tried: a busy machine takes a while. One that must be opened again has
/// its error at the first call behind the death.
const TRIED: [&str; 2] = ["30", "1"];

#[test]
fn after_a_restart_each_goes_on_or_reopens_as_its_facts_say() {
    if !can_run("python3", &["-c", "import sys; sys.exit(sys.version_info < (3, 10))"]) {
        return;
    }
    let registry = ipcperf::builtin();
    let stands = registry.entries().iter().filter(|entry| entry.spec.default);
    let named = stands.filter(|entry| entry.spec.on_restart != OnRestart::HandedOver);
    at_once(named.enumerate(), |(at, entry)| {
        let name = entry.spec.name;
        if let Err(missing) = entry.probe(&OptionSet::default()).expect("default knobs") {
            return skipped(name, missing);
        }
        let sandbox = Sandbox::new();
        let folder = sandbox.temporary();
        // Two for each, and others for another run at the same time.
        let number = 16_384 + std::process::id() as usize % 128 * 128 + 2 * at;
        let mut program = Command::new("python3");
        program.arg(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/fixtures/restart.py"));
        program.arg(name).arg(&folder).arg(number.to_string());
        let goes_on = entry.spec.on_restart == OnRestart::GoesOn;
        program.arg(TRIED[usize::from(!goes_on)]);
        let ended = sandbox.spawn(program).end();
        assert!(ended.status.success(), "{name}: {}", ended.stderr);
        assert_eq!(ended.stdout.trim(), entry.spec.on_restart.name(), "{name}: {}", ended.stderr);
    });
}

/// A number of a process and a descriptor are another one's after a restart.
#[test]
fn what_has_no_name_is_handed_over_again() {
    for entry in ipcperf::builtin().entries() {
        let spec = entry.spec;
        if matches!(spec.reach, Reach::Related | Reach::SameUser) {
            assert_eq!(spec.on_restart, OnRestart::HandedOver, "{}", spec.full_name());
        }
    }
}

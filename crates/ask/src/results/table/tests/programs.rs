//! Programs of others at the place of the follow.

use super::{run, wide, written};
use crate::testing::sample::{Build, TWO, cell, set};
use ipcperf_core::Touch;
use ipcperf_core::result::ProgramEnd;
use ipcperf_judge::beside;

#[test]
fn a_program_stands_beside_our_own_end_with_the_ratio_of_both() {
    let with = |follow: &[&str], time| {
        let mut cell = cell("pipe", 64, TWO).rtt(time, time / 200.0);
        cell.key.touch = Touch::Header;
        cell.key.load.follow = follow.iter().map(|word| (*word).to_owned()).collect();
        for round in cell.rounds.iter_mut().filter(|_| !follow.is_empty()) {
            round.program = Some(ProgramEnd {
                first_answer_ns: 2e6,
                warmup_ns: 7e7,
                processes: 1,
                threads: 3,
                is_incomplete: follow.len() > 1,
                said: vec!["runtime of a test".to_owned()],
            });
        }
        cell
    };
    let cells = vec![with(&["./echo"], 15_000.0), with(&[], 10_000.0), with(&["sh", "a b"], 3e4)];
    let mut both = set(cells);
    beside(&mut both, |_| None);
    let text = written(&run(both), &wide(120));
    let row = |name: &str| text.lines().find(|line| line.contains(name)).expect(name).to_owned();
    assert!(row(" mechanism ").contains("of ours"), "{text}");
    assert!(row("pipe with ./echo").contains("1.50x [1."), "{text}");
    assert!(row("pipe with sh 'a b'").contains("3.00x ["), "{text}");
    let said = text.split_whitespace().collect::<Vec<_>>().join(" ");
    for part in [
        "./echo: first answer 2.00 ms after its start, then 70.0 ms of warm-up (medians); 1 process, 3 threads; said by the \
         program, not checked: runtime of a test.",
        "3 threads; its CPU time is unknown: it ignores the end of processes that it started; said",
    ] {
        assert!(said.contains(part), "{part}: {text}");
    }
    // What was asked for is the last to go.
    let narrow = written(&run(set(vec![with(&["./echo"], 15_000.0), with(&[], 1e4)])), &wide(60));
    assert!(narrow.contains("of ours") && narrow.contains("hidden at 60 columns"), "{narrow}");
    let alone = written(&run(set(vec![with(&[], 10_000.0)])), &wide(120));
    assert!(!alone.contains("of ours"), "{alone}");
}

//! Arms that did not keep up with their rate.

use super::*;

#[test]
fn what_does_not_keep_up_is_not_judged_by_the_rounds_in_which_it_did() {
    let cell = |mechanism, factor: f64| {
        measured(mechanism, (0..20).map(|at| 10_000.0 * factor * wobble(at, 0.01)))
    };
    let saturated = |mechanism, rounds: usize| {
        let mut cell = cell(mechanism, 0.5);
        for round in &mut cell.rounds[..rounds] {
            (round.saturated, round.p50_ns) = (true, None);
        }
        cell
    };
    let live = |rounds| {
        let b = saturated("unix-stream", rounds);
        let set = sample::set(vec![cell("pipe", 1.0), cell("pipe", 1.0), b]);
        let arms = Arms { a: "pipe 64", b: "unix-stream 64", set: &set, other: None };
        compare_live(&arms, plan(), &terms()).expect("comparable")
    };
    let cannot = (Difference::CannotTell, "B: saturated in 13 of 20 rounds");
    assert_eq!(verdict(&live(13)), cannot);
    assert_eq!(verdict(&live(3)).0, Difference::Faster);
    let recorded = files(
        &[recorded("old.json", vec![cell("pipe", 1.0)])],
        &[recorded("new.json", vec![saturated("pipe", 13)])],
    );
    assert_eq!(verdict(&recorded), cannot);
}

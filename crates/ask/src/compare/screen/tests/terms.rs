//! What is asked of a comparison: forced, explored, by sessions.

use super::{around, measured, recorded, terms, text, wobble};
use ipcperf_core::result::*;
use ipcperf_judge::{Recorded, Terms, compare_files};
use ipcperf_render::Format;
use ipcperf_stats::Rng;

#[test]
fn what_was_forced_is_shown_and_nothing_is_claimed_of_it() {
    let old = [recorded("old.json", vec![around("pipe", 10_000.0, 0.01)])];
    let mut new = [recorded("new.json", vec![around("pipe", 20_000.0, 0.01)])];
    new[0].set.host.arch = "aarch64".to_owned();
    assert!(compare_files(&old, &new, &terms()).is_err());
    let forced = Terms { force: true, ..terms() };
    let document = compare_files(&old, &new, &forced).unwrap();
    assert_eq!(document.incomparable["architecture"], ["x86_64", "aarch64"]);
    let cell = &document.comparisons[0];
    for one in [&cell.primary].into_iter().chain(&cell.secondary) {
        assert_eq!((one.verdict, one.doubted, one.at_least), (Difference::CannotTell, true, None));
        assert!(one.reason.starts_with("these results cannot be compared: they differ in"));
    }
    assert!(cell.primary.ratio.ci95.is_some_and(|[low, _]| low > 1.9), "figures are shown");
    let shown = text(&document, Format::Table);
    assert!(shown.contains("Must not differ: architecture: x86_64 -> aarch64"), "{shown}");
    assert!(shown.contains("2.000x [1.98") && !shown.contains("SLOWER"), "{shown}");
    // Where nothing stands in the way it changes nothing.
    let same = compare_files(&old, &old, &forced).unwrap();
    assert_eq!(same, compare_files(&old, &old, &terms()).unwrap());
}

#[test]
fn exploring_claims_more_of_many_cells_and_says_so() {
    // 6 beside 6 reach p = 2/924 at best: with twelve of thirty cells so far apart Holm claims none.
    let side = |factor: f64| {
        let cell = |at: usize| {
            let factor = if at < 12 { factor } else { 1.0 };
            measured(&format!("m{at}"), (0..6).map(|at| factor * wobble(at, 0.001)))
        };
        [recorded("x.json", (0..30).map(cell).collect())]
    };
    let claims = |adjustment: Adjustment| {
        let terms = Terms { adjustment, ..terms() };
        let document = compare_files(&side(1.0), &side(1.5), &terms).unwrap();
        let found = document.comparisons.iter().filter(|one| one.primary.at_least.is_some());
        (found.count(), super::whole(&document))
    };
    let (holm, adjusted) = claims(Adjustment::Holm);
    let (explored, told) = claims(Adjustment::BenjaminiHochberg);
    assert_eq!((holm, explored), (0, 12));
    assert!(adjusted.contains("Claims are adjusted for 30 cells."), "{adjusted}");
    assert!(told.contains("1 in 20 may be false (Benjamini-Hochberg)"), "{told}");
}

/// A side of so many sessions, which differ by 4 % (standard deviation), as their documents say it.
fn side(rng: &mut Rng, sessions: usize, apart: bool) -> Vec<Recorded> {
    let session = |at: usize| {
        let level = 10_000.0 * (0.04 * rng.normal()).exp();
        let figures: Vec<f64> = (0..12).map(|_| level * (0.02 * rng.normal()).exp()).collect();
        let mut one = recorded("x.json", vec![measured("pipe", figures)]);
        let day = if apart { at + 1 } else { 1 };
        one.set.started_utc = format!("2026-08-{day:02}T10:00:00Z");
        one
    };
    (0..sessions).map(session).collect()
}

#[test]
fn sessions_of_equal_programs_are_rarely_told_apart_and_are_counted_by_when_they_were_recorded() {
    let (trials, mut rng) = (200, Rng::stream(31, "documents"));
    let mut claims = |sessions: usize, apart: bool, floor: bool| {
        let found = (0..trials).filter(|_| {
            let (a, b) = (side(&mut rng, sessions, apart), side(&mut rng, sessions, apart));
            let one = compare_files(&a, &b, &terms()).unwrap().comparisons.remove(0).primary;
            assert_eq!(one.session_floor.is_none(), apart && sessions >= 4);
            let beyond = |[low, high]: [f64; 2]| low > 1.01 || high < 1.0 / 1.01;
            if floor { one.at_least.is_some() } else { one.ratio.ci95.is_some_and(beyond) }
        });
        found.count()
    };
    let (four, one) = (claims(4, true, true), claims(1, true, true));
    assert!(four <= trials / 20 && one <= trials / 20, "{four} and {one} of {trials}");
    // Without the floor, and of runs in a row that are one session: rounds in place of sessions.
    let (without, in_a_row) = (claims(1, true, false), claims(4, false, false));
    assert!(without > trials / 2 && in_a_row > trials / 4, "{without} and {in_a_row} of {trials}");
}

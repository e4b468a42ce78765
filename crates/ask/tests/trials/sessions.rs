//! Recorded runs of equal programs on a host that is another one each day.

use crate::common::{percent, run, tell, trials, usual_times};
use ipcperf_core::result::{Difference, ResultSet};
use ipcperf_engine::simulate::{Level, Simulated, Simulation};
use ipcperf_judge::{Recorded, Terms, compare_files};
use ipcperf_stats::{Evidence, Rng, Rule};

/// Runs of one side on days of their own, each at a level of its own.
fn side(rng: &mut Rng, count: usize, effect: f64, first_day: usize) -> Vec<ResultSet> {
    let document = |day: usize| {
        let cell = Simulated::new("m", 64, usual_times((effect * rng.normal()).exp()));
        Simulation {
            started_utc: format!("2026-01-{day:02}T10:00:00Z"),
            levels: vec![Level::Process { spread: 0.02 }],
            ..run(rng.below(1 << 40) as usize, 12, vec![cell])
        }
        .document()
    };
    (first_day..first_day + count).map(document).collect()
}

/// Shares of comparisons of equal programs that claim a difference, in %: as `compare` makes them, and of all rounds
/// without a thought to sessions.
fn claims(count: usize, effect: f64) -> [f64; 2] {
    let trials = trials(20);
    let mut rng = Rng::stream(15, "sessions");
    let (mut told, mut pooled) = (0, 0);
    for _ in 0..trials {
        let a = side(&mut rng, count, effect, 1);
        let b = side(&mut rng, count, effect, 11);
        let recorded = |sets: &[ResultSet]| -> Vec<Recorded> {
            let text = |set| serde_json::to_string(set).expect("a document is JSON");
            let read = |set| Recorded::read("run.json", &text(set)).expect("a document");
            sets.iter().map(read).collect()
        };
        let found = compare_files(
            &recorded(&a),
            &recorded(&b),
            &Terms { margin: 0.01, ..Terms::default() },
        )
        .expect("the same machine");
        let verdict = found.comparisons[0].primary.verdict;
        told += usize::from(matches!(verdict, Difference::Faster | Difference::Slower));
        let [a, b] = [a, b].map(|side| {
            let rounds = side.iter().flat_map(|set| &set.cells[0].rounds);
            rounds.filter_map(|round| round.p50_ns).collect::<Vec<_>>()
        });
        let evidence = Evidence::separate(&a, &b).expect("figures");
        let rule = Rule { margin: 0.01, more_is_better: false };
        pooled += usize::from(rule.judge(&evidence).at_least.is_some());
    }
    [told, pooled].map(|count| percent(count, trials))
}

#[test]
fn sessions_that_differ_are_no_difference_of_programs() {
    let error = 300.0 * (0.05 * 0.95 / trials(20) as f64).sqrt();
    let [told, pooled] = claims(4, 0.04);
    tell(&format!(
        "four sessions a side, 4 % apart: {told:.1} % claims; of their rounds {pooled:.1} %"
    ));
    assert!(told <= 5.0 + error && pooled > 20.0, "{told} % and {pooled} %");
}

#[test]
fn one_session_a_side_is_believed_beyond_a_floor_only() {
    let error = 300.0 * (0.05 * 0.95 / trials(20) as f64).sqrt();
    let [told, pooled] = claims(1, 0.01);
    tell(&format!(
        "one session a side, 1 % apart: {told:.1} % claims; of their rounds {pooled:.1} %"
    ));
    assert!(told <= 5.0 + error, "{told} %");
    // Sessions that differ by more than the floor was made for: it helps and is not enough, so four a side are asked for.
    for effect in [0.02, 0.04] {
        let [told, pooled] = claims(1, effect);
        let apart = 100.0 * effect;
        tell(&format!(
            "one session a side, {apart:.0} % apart: {told:.1} % claims; of their rounds {pooled:.1} %"
        ));
        assert!(told < pooled, "{told} % and {pooled} %");
    }
}

//! Half a percent is shown to be no difference, and five percent are found, by as many rounds as the plan says.

use crate::common::{arms, compared, percent, run, tell, trials};
use ipcperf_core::result::Difference;
use ipcperf_engine::simulate::{Level, Simulation};
use ipcperf_stats::{Rule, rounds_to_find};

/// Between processes; two of them differ by the root of 2 times as much.
const SPREAD: f64 = 0.02;

/// What `compare` says at a margin of so much where B takes so many times as long.
fn verdicts(factor: f64, margin: f64, rounds: u64, count: usize) -> Vec<Difference> {
    let of = |seed| {
        let levels = vec![Level::Process { spread: SPREAD }];
        let run = Simulation { levels, operations: 200, ..run(seed, rounds, arms(factor)) };
        compared(&run.document(), margin).comparisons[0].primary.verdict
    };
    (0..count).map(of).collect()
}

fn share(verdicts: &[Difference], of: Difference) -> f64 {
    percent(verdicts.iter().filter(|verdict| **verdict == of).count(), verdicts.len())
}

/// Of a log-ratio of two slices, with what 200 operations add by themselves: 1.2533 x 0.1 / the root of 200 each.
fn paired() -> f64 {
    (2.0 * (SPREAD.powi(2) + (1.2533 * 0.1_f64).powi(2) / 200.0)).sqrt()
}

#[test]
fn no_difference_is_said_where_there_is_none_and_never_of_5_percent() {
    let count = trials(10);
    // 1.5 times what shows with 90 % power that there is no difference: ((1.645 + 1.645) s / ln 1.02)^2 / 0.955.
    let rounds = (1.5 * (3.29 * paired() / 1.02_f64.ln()).powi(2) / 0.955) as u64;
    let [half, five] =
        [1.005, 1.05].map(|factor| share(&verdicts(factor, 0.02, rounds, count), Difference::None));
    tell(&format!("{rounds} rounds: no difference of 0.5 % {half:.1} %, of 5 % {five:.1} %"));
    let error = 300.0 * (0.1 * 0.9 / count as f64).sqrt();
    assert!(half >= 85.0 - error && five <= 2.0, "{half} % and {five} %");
}

#[test]
fn five_percent_are_found_in_their_direction_by_the_planned_rounds() {
    let (count, margin) = (trials(10), 0.01);
    let rule = Rule { margin, more_is_better: false };
    let rounds = rounds_to_find(rule.margin, 0.05, paired(), 0.99).expect("a plan");
    for (factor, right, wrong) in [
        (1.05, Difference::Slower, Difference::Faster),
        (1.0 / 1.05, Difference::Faster, Difference::Slower),
    ] {
        let verdicts = verdicts(factor, margin, rounds, count);
        let (right, wrong) = (share(&verdicts, right), share(&verdicts, wrong));
        tell(&format!("{rounds} rounds, x{factor:.3}: found {right:.1} %, wrong way {wrong:.1} %"));
        let error = 300.0 * (0.02 * 0.98 / count as f64).sqrt();
        assert!(right >= 95.0 - error && wrong == 0.0, "{right} % and {wrong} %");
    }
}

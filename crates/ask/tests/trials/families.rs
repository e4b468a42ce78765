//! Many cells in which nothing differs: hardly a family of them holds a claim.

use crate::common::{compared, percent, run, tell, trials, usual};
use ipcperf_core::result::Difference;
use ipcperf_engine::simulate::{Level, Simulated, Simulation};

/// Mechanisms, each at so many sizes, and rounds.
const MECHANISMS: usize = 12;
const SIZES: usize = 8;
const ROUNDS: u64 = 16;

#[test]
fn a_family_of_96_equal_cells_rarely_holds_a_claim_and_without_adjusting_it_often_does() {
    let suites = trials(2);
    let strays = Level::Strays { share: 0.05, mean: 0.5 };
    let (mut claims, mut alone, mut cells_alone) = (0, 0, 0);
    for seed in 0..suites {
        let arms = (0..MECHANISMS * SIZES).flat_map(|at| {
            let name = format!("m{}", at / SIZES);
            vec![Simulated::new(&name, 64 << (at % SIZES), usual()); 3]
        });
        let levels = vec![strays, Level::Process { spread: 0.03 }];
        let suite = Simulation { levels, ..run(seed, ROUNDS, arms.collect()) };
        let found = compared(&suite.document(), 0.01);
        assert_eq!(found.family, (MECHANISMS * SIZES) as u64);
        let is_claim = |verdict| matches!(verdict, Difference::Faster | Difference::Slower);
        claims += usize::from(found.comparisons.iter().any(|one| is_claim(one.primary.verdict)));
        // What each would say by itself.
        let beyond = found.comparisons.iter().filter(|one| {
            let [low, high] = one.primary.ratio.ci95.expect("16 rounds");
            low > 1.01 || high < 1.0 / 1.01
        });
        let beyond = beyond.count();
        cells_alone += beyond;
        alone += usize::from(beyond > 0);
    }
    let [share, without] = [claims, alone].map(|count| percent(count, suites));
    tell(&format!("suites with a claim: {share:.1} %, without adjusting {without:.1} %"));
    assert!(share <= 5.0 + 300.0 * (0.05 * 0.95 / suites as f64).sqrt(), "{share} %");
    assert!(cells_alone > 0, "the noise is not hard enough");
}

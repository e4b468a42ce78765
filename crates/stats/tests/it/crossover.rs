//! Is a planted crossover found, and is none invented? Simulated searches with fixed seeds, each with its negative
//! control.

use crate::common::{Noise, contaminated, normal, percent};
use ipcperf_stats::{Arm, Change, Evidence, Looked, Rng, changes, next_point, winner};

/// Rounds at each point.
const ROUNDS: usize = 12;

/// Points that a search begins with, and looks at beyond them at the most.
const GRID: [u64; 8] = [64, 256, 1024, 4096, 16_384, 65_536, 262_144, 1_048_576];
const STEPS: usize = 12;

/// As wide as virtual machines make it.
fn wide(rng: &mut Rng) -> f64 {
    0.15 * rng.normal()
}

/// Looks at a point: times of A, and of B by this logarithm of their ratio.
fn look(rng: &mut Rng, noise: Noise, log: f64, points: u64) -> Option<Arm> {
    let mut arm = |log: f64| (0..ROUNDS).map(|_| (log + noise(rng)).exp()).collect::<Vec<f64>>();
    let (a, b) = (arm(0.0), arm(log));
    winner(&Evidence::paired(&a, &b).expect("figures"), false, points)
}

/// A search over a curve: the logarithm of B over A at a point.
fn search(rng: &mut Rng, noise: Noise, curve: &dyn Fn(u64) -> f64, adjusted: u64) -> Vec<Looked> {
    let mut look = |at: u64| (at, look(rng, noise, curve(at), adjusted));
    let mut points: Vec<Looked> = GRID.iter().map(|at| look(*at)).collect();
    for _ in 0..STEPS {
        let Some(at) = next_point(&points, |at| at.round() as u64) else { break };
        points.push(look(at));
        points.sort_by_key(|(at, _)| *at);
    }
    points
}

const POINTS: u64 = (GRID.len() + STEPS) as u64;

/// How often something holds of the changes that searches find, in %.
fn share(name: &str, trials: usize, mut holds: impl FnMut(&mut Rng) -> bool) -> f64 {
    let mut rng = Rng::stream(21, name);
    percent((0..trials).filter(|_| holds(&mut rng)).count(), trials)
}

#[test]
fn a_planted_crossover_lies_in_the_interval_at_the_nominal_rate_and_the_interval_is_narrow() {
    for (name, noise) in [("normal", normal as Noise), ("contaminated", contaminated)] {
        let mut widths = Vec::new();
        let found = share(name, 300, |rng| {
            // Anywhere between the second point and the last but one; steep or flat.
            let log = |at: u64| (at as f64).ln();
            let planted = log(GRID[1]) + rng.unit() * (log(GRID[6]) - log(GRID[1]));
            let slope = 0.1 + 0.4 * rng.unit();
            let points = search(rng, noise, &|at| slope * (planted - log(at)), POINTS);
            match changes(&points).as_slice() {
                [Change { to: Arm::B, last, first }] => {
                    widths.push(log(*first) - log(*last));
                    log(*last) <= planted && planted <= log(*first)
                }
                _ => false,
            }
        });
        assert!(found >= 95.0, "{name}: {found} %");
        widths.sort_by(f64::total_cmp);
        let median = widths[widths.len() / 2].exp();
        // The list alone gives 4 at the best, and that only where it is certain at both points beside the crossover.
        assert!(median < 3.5, "{name}: {median}");
    }
}

#[test]
fn an_absent_crossover_is_not_invented_and_without_the_adjustment_it_is() {
    let equal = |adjusted: u64| {
        let name = "equal";
        share(name, 400, |rng| {
            let points = search(rng, wide, &|_| 0.0, adjusted);
            points.iter().any(|(_, winner)| winner.is_some())
        })
    };
    let (held, loose) = (equal(POINTS), equal(1));
    assert!(held <= 5.0, "{held} % name a winner where there is none");
    assert!(loose > 10.0, "{loose} %: the adjustment would not be needed");
    let invented = share("apart", 400, |rng| {
        let points = search(rng, contaminated, &|_| 0.1, POINTS);
        !changes(&points).is_empty() || points.iter().any(|(_, winner)| *winner == Some(Arm::B))
    });
    assert!(invented <= 1.0, "{invented} %");
}

#[test]
fn curves_that_cross_twice_are_never_one_interval_and_those_that_touch_none() {
    // B wins in the middle: two changes, each around its own.
    let log = |at: u64| (at as f64).log2();
    let twice = share("twice", 200, |rng| {
        let points = search(rng, normal, &|at| 0.15 * ((log(at) - 13.0).abs() - 4.0), POINTS);
        match changes(&points).as_slice() {
            [down, up] => {
                let holds =
                    |change: &Change, at: f64| log(change.last) <= at && at <= log(change.first);
                (down.to, up.to) == (Arm::B, Arm::A) && holds(down, 9.0) && holds(up, 17.0)
            }
            _ => false,
        }
    });
    assert!(twice >= 95.0, "{twice} %");
    // They touch at 4096 and 65536, and A wins everywhere else: no change, and nobody wins there.
    let touch = share("touch", 200, |rng| {
        let curve = |at: u64| if [4096, 65_536].contains(&at) { 0.0 } else { 0.3 };
        let points = search(rng, normal, &curve, POINTS);
        let open: Vec<u64> =
            points.iter().filter(|(_, one)| one.is_none()).map(|(at, _)| *at).collect();
        changes(&points).is_empty() && open == [4096, 65_536]
    });
    assert!(touch >= 95.0, "{touch} %");
}

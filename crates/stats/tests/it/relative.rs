//! Statements of the first screen, tried on simulated surveys whose truth is known.
//!
//! A survey has one question with 33 arms. Three rounds screen them and five more decide which eleven are confirmed; the
//! reference is the first, in a fixed order of preference, of those that may be the best to within the margin
//! by these eight rounds. Sixty fresh
//! rounds follow, in which the reference is measured twice. Every arm of a survey has the same noise, so the ratio of two
//! arms is the ratio of their levels: an arm that was recorded twice, with a factor multiplied in. Nothing that was rejected
//! is measured again, so more pairs are lost here than in a survey.
//!
//! `cargo xtask trial answer` simulates 2,000 surveys.

mod noise;

use crate::common::percent;
use ipcperf_stats::{
    PRACTICAL_MARGIN, Relative, Rng, Statement, control_holds, median, median_interval,
    relative_to, select,
};
use noise::{Host, Noise};
use std::collections::BTreeMap;

const ARMS: usize = 33;
const SCREEN: usize = 3;
const FOCUS: usize = 5;
const CONFIRM: usize = 60;

/// Arms that a survey confirms, and how many of those that it does not name.
const MOST: usize = 11;
const BEST: usize = 4;

/// A survey reserves this many places for arms that cannot be its reference. The simulation has no such arms.
const RESERVED: usize = 1;

/// Rows of the first screen.
const SHOWN: usize = 8;

/// Pairs from which an arm that is 1.2 times slower is asked to be found.
const ENOUGH: usize = 20;

/// The kinds of noise, each in one survey of ten.
const NOISES: [Noise; 10] = [
    Noise::Normal,
    Noise::Normal,
    Noise::Normal,
    Noise::Neighbours(0.63),
    Noise::Neighbours(0.70),
    Noise::Neighbours(0.75),
    Noise::Machine,
    Noise::Arm,
    Noise::Modes,
    Noise::Rejected,
];

/// How many times longer than the first each arm takes, the one to prefer first. The first seven are named: a UNIX socket,
/// three others that are equal to it, two that take 1.2 times as long, and TCP, which takes 1.5 times as long.
const NAMED: usize = 7;
const USUAL: [f64; ARMS] = [
    1.0, 1.0, 1.0, 1.0, 1.2, 1.2, 1.5, 1.0, 1.0, 1.02, 1.05, 1.05, 1.08, 1.1, 1.1, 1.15, 1.2, 1.2,
    1.25, 1.3, 1.35, 1.4, 1.5, 1.5, 1.6, 1.8, 2.0, 2.0, 2.5, 3.0, 4.0, 6.0, 10.0,
];

/// How many surveys are simulated.
fn surveys() -> usize {
    std::env::var("IPCPERF_TRIALS").ok().and_then(|count| count.parse().ok()).unwrap_or(240)
}

/// The number and the seed of each simulated survey; seeds are consecutive.
fn seeds() -> impl Iterator<Item = (usize, u64)> {
    let first =
        std::env::var("IPCPERF_TRIAL_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or(0);
    (0..surveys()).zip(first..)
}

type Row = Vec<Option<f64>>;

/// `count` rounds of these arms, each a block in random order.
fn rounds(
    host: &mut Host,
    levels: &[f64],
    arms: &[usize],
    count: usize,
    rng: &mut Rng,
) -> Vec<Row> {
    let mut rows = vec![Vec::new(); arms.len()];
    let mut order: Vec<usize> = (0..arms.len()).collect();
    for _ in 0..count {
        host.next_round(rng);
        rng.shuffle(&mut order);
        for place in &order {
            // The second slice of the reference has noise of its own, which is the harder case for the control.
            let own = if *place == MOST { ARMS } else { arms[*place] };
            let noise = host.slice(own, rng);
            rows[*place].push(noise.map(|noise| levels[arms[*place]].ln() + noise));
        }
    }
    rows
}

/// What a survey has found.
struct Survey {
    reference: usize,
    /// The other confirmed arms.
    arms: Vec<usize>,
    relatives: Vec<Option<Relative>>,
    /// The interval of each arm alone, of independent rounds, at 95 %: what tools commonly print.
    common: Vec<bool>,
    control: Option<bool>,
    levels: [f64; ARMS],
}

impl Survey {
    fn carry_out(noise: Noise, levels: [f64; ARMS], rng: &mut Rng) -> Self {
        let mut host = Host::new(noise, ARMS + 1, rng);
        let all: Vec<usize> = (0..ARMS).collect();
        let named: Vec<usize> = (0..NAMED).collect();
        let mut rows = rounds(&mut host, &levels, &all, SCREEN, rng);
        // The arms that are still considered are measured again; the others keep what they have.
        let screened = select(&rows, PRACTICAL_MARGIN);
        let focused: Vec<usize> =
            all.iter().copied().filter(|arm| *arm < NAMED || screened.may_be_best[*arm]).collect();
        for (arm, more) in focused.iter().zip(rounds(&mut host, &levels, &focused, FOCUS, rng)) {
            rows[*arm].extend(more);
        }
        let selected = select(&rows, PRACTICAL_MARGIN);
        let kept = selected.keep(&named, &all, BEST, MOST - RESERVED);
        let may_be_best = |arm: &usize| selected.may_be_best[*arm];
        let reference = kept.iter().copied().find(may_be_best).unwrap_or(kept[0]);
        let mut arms: Vec<usize> = kept.iter().copied().filter(|arm| *arm != reference).collect();
        let mut block = vec![reference];
        block.extend(&arms);
        block.push(reference);
        let mut confirmed = rounds(&mut host, &levels, &block, CONFIRM, rng);
        let again = confirmed.pop().expect("the reference again");
        let others = confirmed.split_off(1);
        let own = confirmed.pop().expect("the reference");
        // Arms that follow the first eight in the order of the screen are confirmed and not shown.
        let place = |arm: &usize| (*arm >= NAMED, selected.order.iter().position(|one| one == arm));
        let relatives = relative_to(&own, &others);
        let truth = |arm: &usize| (levels[*arm] / levels[reference]).ln();
        let is_common = |(arm, row): (&usize, &Row)| {
            let both = own.iter().zip(row).filter_map(|(own, other)| Some((*other)? - (*own)?));
            let interval = median_interval(&both.collect::<Vec<_>>(), 0.95);
            interval.is_none_or(|interval| interval.contains(truth(arm)))
        };
        let common = arms.iter().zip(&others).map(is_common).collect();
        let mut order: Vec<usize> = (0..arms.len()).collect();
        order.sort_by_key(|at| place(&arms[*at]));
        let relatives = order.iter().map(|at| relatives[*at]).collect();
        arms = order.iter().map(|at| arms[*at]).collect();
        Self { reference, arms, relatives, common, control: control_holds(&own, &again), levels }
    }

    /// What the true ratio of an arm is.
    fn truth(&self, arm: usize) -> f64 {
        self.levels[arm] / self.levels[self.reference]
    }

    /// The statement about each arm, in the order in which they are shown.
    fn statements(&self) -> impl Iterator<Item = (usize, usize, Statement)> {
        self.arms.iter().zip(&self.relatives).map(|(arm, relative)| {
            let said = relative.filter(|_| self.control != Some(false));
            let statement =
                said.map_or(Statement::Undecided, |one| one.statement(PRACTICAL_MARGIN));
            (*arm, relative.map_or(0, |one| one.pairs), statement)
        })
    }

    /// The arm that the screen says to use; `None` where it says that this is undecided.
    fn choice(&self) -> Option<usize> {
        let are_few = self.relatives.iter().all(Option::is_none);
        if self.control == Some(false) || are_few {
            return None;
        }
        let is_faster =
            |one: &Option<Relative>| one.is_some_and(|one| one.is_much_faster(PRACTICAL_MARGIN));
        let faster = self.arms.iter().zip(&self.relatives).filter(|(_, one)| is_faster(one));
        Some(faster.map(|(arm, _)| *arm).min().unwrap_or(self.reference))
    }
}

/// How often something was so.
#[derive(Clone, Copy, Debug, Default)]
struct Share {
    count: usize,
    of: usize,
}

impl Share {
    fn add(&mut self, is_so: bool) {
        self.count += usize::from(is_so);
        self.of += 1;
    }

    fn join(&mut self, other: Self) {
        self.count += other.count;
        self.of += other.of;
    }

    /// The interval of the true share in % with so many standard errors (Wilson, JASA 22, 1927).
    fn within(self, z: f64) -> [f64; 2] {
        let (n, share) = (self.of as f64, self.count as f64 / self.of.max(1) as f64);
        if self.of == 0 {
            return [0.0, 100.0];
        }
        let centre = share + z * z / (2.0 * n);
        let half = z * (share * (1.0 - share) / n + z * z / (4.0 * n * n)).sqrt();
        [centre - half, centre + half].map(|end| 100.0 * end / (1.0 + z * z / n))
    }

    /// Whether it may truly be this many percent or more. Three standard errors are left to chance.
    fn is_at_least(self, percent: f64) -> bool {
        self.within(3.0)[1] >= percent
    }

    fn is_at_most(self, percent: f64) -> bool {
        self.within(3.0)[0] <= percent
    }
}

impl std::fmt::Display for Share {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let [low, high] = self.within(1.96);
        let share = percent(self.count, self.of.max(1));
        write!(f, "{share:.1} % [{low:.1}, {high:.1}] of {}", self.of)
    }
}

/// What the first screen must achieve, and how often it did.
#[derive(Clone, Debug, Default)]
struct Found {
    /// Arms that truly take 1.5 times as long as the reference and are stated to be slower.
    half: Share,
    /// Those that truly take 1.2 times as long, the same.
    fifth: Share,
    /// Arms equal to the reference that are stated to be slower or faster.
    claimed: Share,
    /// Arms equal to the reference that are stated to be as fast.
    equal: Share,
    /// Arms that truly take 1.2 times as long as the reference and are stated to be as fast.
    mistaken: Share,
    /// Questions whose joint intervals all contain the truth; the same for the intervals of each arm alone.
    covered: Share,
    common: Share,
    /// Questions whose control failed.
    failed: Share,
    /// Of each survey, the rows shown that are undecided.
    undecided: Vec<f64>,
    /// Half of each joint interval, as a logarithm.
    widths: Vec<f64>,
    pairs: Vec<f64>,
}

impl Found {
    fn add(&mut self, survey: &Survey) {
        let is = |arm: usize, factor: f64| (survey.truth(arm) - factor).abs() < 1e-9;
        for (arm, pairs, statement) in survey.statements() {
            let is_slower = matches!(statement, Statement::Slower { .. });
            let is_claim = is_slower || matches!(statement, Statement::Faster { .. });
            let has_enough = pairs >= ENOUGH;
            if is(arm, 1.5) && has_enough {
                self.half.add(is_slower);
            }
            if is(arm, 1.2) {
                self.mistaken.add(statement == Statement::AsFast);
                if has_enough {
                    self.fifth.add(is_slower);
                }
            }
            if is(arm, 1.0) {
                self.claimed.add(is_claim);
                self.equal.add(statement == Statement::AsFast);
            }
        }
        let shown = survey.statements().take(SHOWN - 1);
        let undecided = shown.filter(|(_, _, statement)| *statement == Statement::Undecided);
        self.undecided.push(undecided.count() as f64);
        let joint = |one: &Option<Relative>| one.and_then(|one| one.joint);
        let holds = |(arm, one): (&usize, &Option<Relative>)| {
            joint(one).is_none_or(|interval| {
                // The ends are exponentials of logarithms.
                let truth = survey.truth(*arm);
                interval.low <= truth * (1.0 + 1e-12) && truth * (1.0 - 1e-12) <= interval.high
            })
        };
        self.covered.add(survey.arms.iter().zip(&survey.relatives).all(holds));
        self.common.add(survey.common.iter().all(|holds| *holds));
        if let Some(holds) = survey.control {
            self.failed.add(!holds);
        }
        let intervals = survey.relatives.iter().filter_map(joint);
        self.widths.extend(intervals.map(|one| (one.high / one.low).ln() / 2.0));
        self.pairs.extend(survey.relatives.iter().flatten().map(|one| one.pairs as f64));
    }

    fn join(&mut self, other: &Self) {
        let shares = |one: &Self| {
            [
                one.half,
                one.fifth,
                one.claimed,
                one.equal,
                one.mistaken,
                one.covered,
                one.common,
                one.failed,
            ]
        };
        let mine = [
            &mut self.half,
            &mut self.fifth,
            &mut self.claimed,
            &mut self.equal,
            &mut self.mistaken,
            &mut self.covered,
            &mut self.common,
            &mut self.failed,
        ];
        for (mine, more) in mine.into_iter().zip(shares(other)) {
            mine.join(more);
        }
        self.undecided.extend(&other.undecided);
        self.widths.extend(&other.widths);
        self.pairs.extend(&other.pairs);
    }

    #[expect(clippy::print_stdout, reason = "a long run is made for its figures")]
    fn tell(&self, name: &str) {
        let middle = |values: &[f64]| median(values).unwrap_or(f64::NAN);
        println!(
            "{name}:\n\
             - 1.5x stated slower: {}; 1.2x: {}\n\
             - equal called slower or faster: {}; stated as fast: {}; 1.2x stated as fast: {}\n\
             - joint coverage: {}; each alone at 95 %: {}\n\
             - controls that fail: {}; undecided of seven rows: {} (median); half width {:.1} %; {} pairs",
            self.half,
            self.fifth,
            self.claimed,
            self.equal,
            self.mistaken,
            self.covered,
            self.common,
            self.failed,
            middle(&self.undecided),
            100.0 * middle(&self.widths),
            middle(&self.pairs),
        );
    }
}

/// Simulates surveys with each noise in turn.
fn simulate() -> BTreeMap<&'static str, Found> {
    let mut found: BTreeMap<&'static str, Found> = BTreeMap::new();
    for (at, seed) in seeds() {
        let noise = NOISES[at % NOISES.len()];
        let mut rng = Rng::stream(seed, "answer");
        found.entry(name(noise)).or_default().add(&Survey::carry_out(noise, USUAL, &mut rng));
    }
    found
}

fn name(noise: Noise) -> &'static str {
    match noise {
        Noise::Normal => "normal",
        Noise::Neighbours(_) => "neighbours",
        Noise::Machine => "machine",
        Noise::Arm => "arm",
        Noise::Modes => "modes",
        Noise::Rejected => "modes and rejected slices",
    }
}

/// How often surveys of one truth say to use the same arm as most of them, with each noise.
fn agreeing(levels: [f64; ARMS], label: &str) -> BTreeMap<&'static str, Share> {
    let mut choices: BTreeMap<&'static str, BTreeMap<Option<usize>, usize>> = BTreeMap::new();
    for (at, seed) in seeds() {
        let noise = NOISES[at % NOISES.len()];
        let mut rng = Rng::stream(seed, label);
        let choice = Survey::carry_out(noise, levels, &mut rng).choice();
        *choices.entry(name(noise)).or_default().entry(choice).or_default() += 1;
    }
    let most = |of: BTreeMap<Option<usize>, usize>| Share {
        count: of.values().copied().max().unwrap_or(0),
        of: of.values().sum(),
    };
    choices.into_iter().map(|(name, of)| (name, most(of))).collect()
}

#[test]
fn the_first_screen_says_what_is_true_and_finds_what_differs() {
    let found = simulate();
    let (mut all, mut steady) = (Found::default(), Found::default());
    for (name, one) in &found {
        one.tell(name);
        all.join(one);
        let has_modes = name.starts_with("modes");
        if !has_modes {
            steady.join(one);
        }
        assert!(one.covered.is_at_least(94.0), "{name}: joint coverage {}", one.covered);
        assert!(one.claimed.is_at_most(2.0), "{name}: equal arms apart {}", one.claimed);
        assert!(one.mistaken.is_at_most(2.0), "{name}: 1.2x as fast {}", one.mistaken);
        assert!(one.failed.is_at_most(0.5), "{name}: controls {}", one.failed);
        // Noise of single arms that lasts, and modes, take away what 60 rounds could prove.
        if !has_modes && *name != "arm" {
            assert!(one.half.is_at_least(99.0), "{name}: 1.5x slower {}", one.half);
            assert!(one.fifth.is_at_least(95.0), "{name}: 1.2x slower {}", one.fifth);
            assert!(one.equal.is_at_least(60.0), "{name}: equal as fast {}", one.equal);
            let undecided = median(&one.undecided).expect("surveys");
            assert!(undecided <= 2.0, "{name}: {undecided} of seven rows undecided");
        }
    }
    steady.tell("without modes");
    all.tell("all");
    assert!(steady.half.is_at_least(99.0) && steady.fifth.is_at_least(95.0), "{steady:?}");
    assert!(all.equal.is_at_least(60.0), "equal as fast {}", all.equal);
    // The wrong method on the same surveys: each interval alone, as if rounds were independent.
    assert!(all.common.is_at_most(85.0), "the noise is not hard enough: {}", all.common);
}

#[test]
#[expect(clippy::print_stdout, reason = "a long run is made for its figures")]
fn surveys_of_one_machine_say_to_use_the_same() {
    let mut near = USUAL;
    (near[1], near[2]) = (0.97, 0.95);
    let mut apart = USUAL;
    apart[2] = 0.5;
    for (levels, what) in [(near, "0.97 and 0.95 of the first"), (apart, "0.50 of the first")] {
        for (name, share) in agreeing(levels, what) {
            println!("USE is the same, {what}, {name}: {share}");
            if !name.starts_with("modes") {
                assert!(share.is_at_least(90.0), "{what}, {name}: {share}");
            }
        }
    }
}

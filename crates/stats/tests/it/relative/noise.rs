//! What disturbs the slices of a simulated survey.

use ipcperf_stats::Rng;

/// Slices of a round of the confirm stage: eleven arms and the reference once more.
const BLOCK: f64 = 12.0;

/// Standard deviations of a slice and of a round, measured on a virtual machine: logarithms of medians.
const SLICE: f64 = 0.158;
const ROUND: f64 = 0.068;

/// A kind of noise.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Noise {
    /// Slices are independent.
    Normal,
    /// Slices correlate with the one measured before them, by as much as this.
    Neighbours(f64),
    /// The machine is slow or fast for about three rounds.
    Machine,
    /// Each arm is slow or fast for some rounds, by itself.
    Arm,
    /// Slices have two modes, and many are rejected.
    Modes,
}

/// Rounds of a virtual machine in a bad hour: how a kind of mechanism behaved in it.
struct Behaviour {
    /// Accepted slices in the slow mode.
    slow: f64,
    /// The logarithm of how many times longer the slow mode takes.
    distance: f64,
}

/// Accepted slices of eleven arms in three runs of about 41 rounds: 33 to 12 of each arm. A UNIX stream socket took 60 us or
/// 1.3 ms in 0 of 33, 2 of 21 and 5 of 18 of them; splice in 0 of 31, 2 of 24, 1 of 13. Pipes took 70 or 320 us in 1 of 32,
/// 2 of 21, 5 of 14; TCP 100 or 350 us in 2 of 33, 4 of 21, 10 of 19; datagrams 75 or 320 us in 1 of 34, 6 of 27, 11 of 18.
/// What wakes by futex took 60 us in all of 129.
const BEHAVIOURS: &[Behaviour] = &[
    Behaviour { slow: 0.0, distance: 0.0 },
    Behaviour { slow: 0.08, distance: 3.04 },
    Behaviour { slow: 0.10, distance: 3.07 },
    Behaviour { slow: 0.28, distance: 3.07 },
    Behaviour { slow: 0.03, distance: 1.52 },
    Behaviour { slow: 0.10, distance: 1.52 },
    Behaviour { slow: 0.36, distance: 1.52 },
    Behaviour { slow: 0.06, distance: 1.25 },
    Behaviour { slow: 0.19, distance: 1.25 },
    Behaviour { slow: 0.53, distance: 1.25 },
];

/// The slow mode comes in spells: its indicator correlates 0.15 to 0.34 between neighbours and hardly less five slices on.
/// In a spell a slice is slow three times as often as outside, and a spell lasts 30 slices on average.
const SPELL: f64 = 30.0;

/// Rejected slices came in bursts of 4 to 5.
const BURST: f64 = 4.4;

/// A machine whose noise goes on from slice to slice.
pub(super) struct Host {
    noise: Noise,
    /// What the slice before has left, with a standard deviation of 1.
    carried: f64,
    /// Of this round, with a standard deviation of 1.
    round: f64,
    /// Of each arm, with a standard deviation of 1.
    of_arms: Vec<f64>,
    behaviour: &'static Behaviour,
    is_spell: bool,
    /// The share of rejected slices, and whether they are being rejected.
    rejected: f64,
    is_rejecting: bool,
}

impl Host {
    pub(super) fn new(noise: Noise, arms: usize, rng: &mut Rng) -> Self {
        let behaviour = &BEHAVIOURS[rng.below(BEHAVIOURS.len() as u64) as usize];
        let rejected = 0.2 + 0.4 * rng.unit();
        Self {
            noise,
            carried: rng.normal(),
            round: 0.0,
            of_arms: (0..arms).map(|_| rng.normal()).collect(),
            behaviour,
            is_spell: rng.unit() < 0.5,
            rejected,
            is_rejecting: rng.unit() < rejected,
        }
    }

    /// A round begins.
    pub(super) fn next_round(&mut self, rng: &mut Rng) {
        self.round = rng.normal();
        for arm in &mut self.of_arms {
            *arm = follow(*arm, 0.7, rng);
        }
    }

    /// The noise of the next slice, as a logarithm; `None` if it is rejected.
    pub(super) fn slice(&mut self, arm: usize, rng: &mut Rng) -> Option<f64> {
        let own = rng.normal();
        match self.noise {
            Noise::Normal => Some(SLICE * own + ROUND * self.round),
            Noise::Neighbours(correlation) => {
                self.carried = follow(self.carried, correlation, rng);
                Some(SLICE * self.carried + ROUND * self.round)
            }
            Noise::Machine => {
                self.carried = follow(self.carried, (-1.0 / (3.0 * BLOCK)).exp(), rng);
                Some(0.2 * self.carried + 0.12 * own)
            }
            Noise::Arm => Some(0.07 * self.of_arms[arm] + 0.14 * own),
            Noise::Modes => {
                self.is_spell ^= rng.unit() < 1.0 / SPELL;
                let chance = self.behaviour.slow * if self.is_spell { 1.5 } else { 0.5 };
                let slow = if rng.unit() < chance { self.behaviour.distance } else { 0.0 };
                let end = match self.is_rejecting {
                    true => 1.0 / BURST,
                    false => self.rejected / (1.0 - self.rejected) / BURST,
                };
                self.is_rejecting ^= rng.unit() < end;
                (!self.is_rejecting).then_some(SLICE * own + ROUND * self.round + slow)
            }
        }
    }
}

/// The next value of a first-order autoregressive process with a standard deviation of 1.
fn follow(before: f64, correlation: f64, rng: &mut Rng) -> f64 {
    correlation * before + (1.0 - correlation * correlation).sqrt() * rng.normal()
}

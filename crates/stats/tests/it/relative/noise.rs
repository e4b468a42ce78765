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
    /// Slices have two modes.
    Modes,
    /// The same, and 20 to 60 % of the slices are rejected.
    Rejected,
}

/// How slices of an arm were distributed in one hour.
struct Behaviour {
    /// Accepted slices in the slow mode, and all that were accepted.
    slow: [u32; 2],
    /// The logarithm of how many times longer the slow mode takes.
    distance: f64,
}

const fn behaviour(slow: u32, of: u32, distance: f64) -> Behaviour {
    Behaviour { slow: [slow, of], distance }
}

/// What three runs of about 41 rounds recorded in a bad hour of a virtual machine. A UNIX stream socket and splice took
/// 60 us or 1.3 ms, a pipe, eventfd and the other UNIX sockets 70 or 320 us, TCP 100 or 350 us, UDP 90 or 320 us. What wakes
/// by futex, and POSIX queues, took 60 us nearly always.
const BEHAVIOURS: &[Behaviour] = &[
    behaviour(1, 33, 3.04),  // unix-stream
    behaviour(0, 31, 3.04),  // splice
    behaviour(2, 32, 1.52),  // pipe
    behaviour(1, 30, 1.52),  // eventfd
    behaviour(2, 26, 1.52),  // unix-seqpacket
    behaviour(1, 34, 1.52),  // unix-dgram
    behaviour(3, 33, 1.25),  // tcp
    behaviour(1, 27, 1.29),  // udp
    behaviour(0, 33, 1.52),  // posix-mq
    behaviour(0, 63, 0.0),   // futex
    behaviour(2, 21, 3.04),  // unix-stream, the second run
    behaviour(3, 24, 3.04),  // splice
    behaviour(2, 21, 1.52),  // pipe
    behaviour(2, 20, 1.52),  // eventfd
    behaviour(4, 22, 1.52),  // unix-seqpacket
    behaviour(6, 27, 1.52),  // unix-dgram
    behaviour(5, 21, 1.25),  // tcp
    behaviour(4, 21, 1.29),  // udp
    behaviour(0, 23, 1.52),  // posix-mq
    behaviour(0, 49, 0.0),   // futex
    behaviour(6, 18, 3.04),  // unix-stream, the third run
    behaviour(3, 13, 3.04),  // splice
    behaviour(6, 14, 1.52),  // pipe
    behaviour(10, 17, 1.52), // eventfd
    behaviour(10, 18, 1.52), // unix-seqpacket
    behaviour(13, 18, 1.52), // unix-dgram
    behaviour(10, 19, 1.25), // tcp
    behaviour(5, 12, 1.29),  // udp
    behaviour(1, 14, 1.52),  // posix-mq
    behaviour(0, 32, 0.0),   // futex
];

/// The slow mode comes in spells: its indicator correlates 0.15 to 0.34 between neighbours and hardly less five slices on.
/// In a spell a slice is slow three times as often as outside, at most always, and a spell lasts 30 slices on average.
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
            Noise::Modes | Noise::Rejected => {
                self.is_spell ^= rng.unit() < 1.0 / SPELL;
                let [slow, of] = self.behaviour.slow.map(f64::from);
                let chance = slow / of * if self.is_spell { 1.5 } else { 0.5 };
                let slow = if rng.unit() < chance { self.behaviour.distance } else { 0.0 };
                let end = match self.is_rejecting {
                    true => 1.0 / BURST,
                    false => self.rejected / (1.0 - self.rejected) / BURST,
                };
                self.is_rejecting ^= rng.unit() < end;
                let is_rejected = self.is_rejecting && self.noise == Noise::Rejected;
                (!is_rejected).then_some(SLICE * own + ROUND * self.round + slow)
            }
        }
    }
}

/// The next value of a first-order autoregressive process with a standard deviation of 1.
fn follow(before: f64, correlation: f64, rng: &mut Rng) -> f64 {
    correlation * before + (1.0 - correlation * correlation).sqrt() * rng.normal()
}

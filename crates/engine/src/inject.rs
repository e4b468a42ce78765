//! Faults planted on purpose at one end of a slice, to see that they are found. No job file, study or flag leads here:
//! only the program's own tests and `selftest` ask for it.

use ipcperf_core::Seat;
use ipcperf_stats::Rng;
use serde::{Deserialize, Serialize};

/// The name under which a result tells how much CPU time [`Effect::Burn`] used.
pub const BURNT: &str = "CPU time used on purpose, ns";

/// Something wrong at one end.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Injection {
    /// At which end.
    pub seat: Seat,
    /// What.
    pub effect: Effect,
    /// How much of it, in the unit of what it is; 0 where it has none.
    pub amount: u64,
    /// The message it first happens to, counted from 1 as this end sends them; the first 16 are the verification.
    pub first: u64,
    /// After how many messages it happens again; 0: never.
    pub every: u64,
}

/// What happens to a message, or beside it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Effect {
    /// One byte of it is changed: that of this place from 0, or the last one if it is shorter.
    Corrupt,
    /// It is not sent.
    Drop,
    /// It is sent twice.
    Duplicate,
    /// It is sent after the next one.
    Reorder,
    /// The one before it is sent in its place.
    Stale,
    /// Its last byte is not sent.
    Truncate,
    /// No message is moved at all: the receiver makes up what it should get. At both ends, of one direction or a ping-pong.
    Pretend,
    /// The process ends.
    Die,
    /// The process sleeps before it for so many ns.
    Stall,
    /// The process works before it for so many ns.
    Delay,
    /// A round trip takes longer by so many percent of itself; lead only.
    DelayShare,
    /// The process uses so many ns of CPU time before it, by the kernel's account.
    Burn,
    /// The process makes a system call that does nothing.
    Call,
    /// The process writes to memory that it did not have.
    Allocate,
    /// The process spins before it for a time that is drawn from this; so many ns correspond to 1.
    Serve(Service),
}

impl Injection {
    /// With this message, and no other.
    #[must_use]
    pub const fn once(seat: Seat, effect: Effect, amount: u64, message: u64) -> Self {
        Self { seat, effect, amount, first: message, every: 0 }
    }

    /// With every message.
    #[must_use]
    pub const fn always(seat: Seat, effect: Effect, amount: u64) -> Self {
        Self { seat, effect, amount, first: 1, every: 1 }
    }

    /// Whether it happens to this message.
    pub(crate) fn strikes(&self, message: u64) -> bool {
        match message.checked_sub(self.first) {
            None => false,
            Some(since) => since == 0 || (self.every > 0 && since.is_multiple_of(self.every)),
        }
    }
}

/// What service times are drawn from, in multiples of a unit. Of the same seed they are the same in every slice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Service {
    /// 1.
    Constant,
    /// 0.5 to 1.5.
    Uniform,
    /// The logarithm is normal around 0 with a deviation of 0.3.
    LogNormal,
    /// Four in five take 1, the others 3.
    Bimodal,
    /// From 1 on, with an exponent of 3.
    Pareto,
    /// As the lognormal, but each logarithm is nine tenths of the one before it and something new.
    Autoregressive,
    /// 1 most of the time, and 2 for some fifty messages now and then: a quarter of all.
    Regimes,
}

impl Service {
    /// All of them.
    pub const ALL: [Self; 7] = [
        Self::Constant,
        Self::Uniform,
        Self::LogNormal,
        Self::Bimodal,
        Self::Pareto,
        Self::Autoregressive,
        Self::Regimes,
    ];

    /// How many times are drawn before they repeat: slices of a multiple of it have each time equally often, so that what
    /// is recovered differs from what is known by what measuring adds, and by no sampling error.
    pub const CYCLE: u64 = 2048;

    /// In one word.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Constant => "constant",
            Self::Uniform => "uniform",
            Self::LogNormal => "lognormal",
            Self::Bimodal => "bimodal",
            Self::Pareto => "Pareto",
            Self::Autoregressive => "AR(1)",
            Self::Regimes => "two regimes",
        }
    }

    /// The times of one cycle, in their order.
    #[must_use]
    pub fn times(self) -> Vec<f64> {
        let mut rng = Rng::stream(0, self.name());
        let (mut level, mut is_slow) = (0.0, false);
        let mut draw = || match self {
            Self::Constant => 1.0,
            Self::Uniform => 0.5 + rng.unit(),
            Self::LogNormal => (0.3 * rng.normal()).exp(),
            Self::Bimodal => [1.0, 3.0][usize::from(rng.below(5) == 0)],
            // The inverse of the distribution function.
            Self::Pareto => (1.0 - rng.unit()).powf(-1.0 / 3.0),
            Self::Autoregressive => {
                // The new part keeps the deviation at 0.3.
                level = 0.9 * level + 0.3 * (1.0_f64 - 0.81).sqrt() * rng.normal();
                level.exp()
            }
            Self::Regimes => {
                is_slow = if is_slow { rng.below(50) > 0 } else { rng.below(150) == 0 };
                [1.0, 2.0][usize::from(is_slow)]
            }
        };
        (0..Self::CYCLE).map(|_| draw()).collect()
    }

    /// Their quantile, by nearest rank.
    #[must_use]
    pub fn quantile(self, q: f64) -> f64 {
        let mut times = self.times();
        times.sort_unstable_by(f64::total_cmp);
        let rank = (q * times.len() as f64).ceil() as usize;
        times[rank.clamp(1, times.len()) - 1]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_happens_once_or_again_and_again() {
        let once = Injection::once(Seat::Lead, Effect::Drop, 0, 3);
        let again = Injection { every: 2, ..once };
        let always = Injection::always(Seat::Lead, Effect::Drop, 0);
        let hit = |one: Injection| (0..8).filter(|at| one.strikes(*at)).collect::<Vec<_>>();
        assert_eq!(hit(once), [3]);
        assert_eq!(hit(again), [3, 5, 7]);
        assert_eq!(hit(always), [1, 2, 3, 4, 5, 6, 7]);
    }

    /// Median and 99th percentile, of 2048 draws: the deviation of a quantile is `sqrt(q (1 - q) / 2048)` over the density
    /// there; four of them are allowed.
    #[test]
    fn service_times_have_the_quantiles_of_their_distribution() {
        for (service, p50, p99) in [
            (Service::Constant, (1.0, 0.0), (1.0, 0.0)),
            (Service::Uniform, (1.0, 0.05), (1.49, 0.01)),
            (Service::LogNormal, (1.0, 0.034), (2.009, 0.2)),
            (Service::Bimodal, (1.0, 0.0), (3.0, 0.0)),
            (Service::Pareto, (1.26, 0.04), (4.64, 1.4)),
            // Neighbours are alike: as many independent ones are (1 - 0.9) / (1 + 0.9) of them.
            (Service::Autoregressive, (1.0, 0.15), (2.009, 0.9)),
            (Service::Regimes, (1.0, 0.0), (2.0, 0.0)),
        ] {
            for (q, (wanted, error)) in [(0.5, p50), (0.99, p99)] {
                let got = service.quantile(q);
                assert!((got - wanted).abs() <= error, "{} {q}: {got}", service.name());
            }
            assert_eq!(service.times(), service.times());
        }
    }
}

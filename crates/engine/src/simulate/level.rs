//! Levels: the ways in which one slice differs from another as a whole.

use ipcperf_stats::Rng;

/// A disturbance that moves all operations of a slice by one factor.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Level {
    /// Each pair of processes has a level of its own: normal in logarithms, with this standard deviation.
    Process {
        /// Standard deviation of the logarithm.
        spread: f64,
    },
    /// Some slices are hit by something that has the tail of a Pareto distribution.
    Strays {
        /// Share of slices.
        share: f64,
        /// Mean of the logarithm of the factor, which is 1 over the exponent of the tail.
        mean: f64,
    },
    /// Each slice is much like the one before.
    Autoregressive {
        /// Share of a level that the next slice keeps.
        memory: f64,
        /// Standard deviation of the logarithm.
        spread: f64,
    },
    /// The host is in one of two states.
    Regimes {
        /// How much longer everything takes in the slower one.
        factor: f64,
        /// Slices that a state lasts, on average.
        stay: f64,
    },
    /// The logarithm moves by so much, evenly over the run.
    Drift {
        /// In all.
        total: f64,
    },
    /// The hypervisor takes the CPU away in some slices.
    Steal {
        /// Share of slices.
        share: f64,
        /// The largest share of a slice that is taken.
        most: f64,
    },
    /// Some slices have a stretch in which everything takes longer, and others have none.
    Bursts {
        /// Share of slices.
        share: f64,
        /// Operations of the stretch.
        operations: u64,
        /// How much longer they take.
        times: f64,
    },
    /// Each slice is in one of two modes, whatever the others are in.
    Modes {
        /// How much longer everything takes in the slower one.
        factor: f64,
        /// Share of slices in it.
        share: f64,
    },
}

/// What a slice has of a level.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Moved {
    /// Logarithm of the factor.
    pub(super) log: f64,
    /// Share of its time that was stolen.
    pub(super) stolen: f64,
    /// Operations at its beginning that are in a burst, and how much longer they take.
    pub(super) burst: (u64, f64),
}

/// A level over a run.
pub(super) struct LevelState {
    level: Level,
    /// Of regimes 0 or 1; of an autoregressive level its last value in standard deviations.
    state: f64,
}

impl LevelState {
    pub(super) fn new(level: Level, rng: &mut Rng) -> Self {
        let state = match level {
            Level::Regimes { .. } => rng.below(2) as f64,
            Level::Autoregressive { .. } => rng.normal(),
            _ => 0.0,
        };
        Self { level, state }
    }

    /// Of the next slice, when this share of the run is over.
    pub(super) fn next(&mut self, rng: &mut Rng, over: f64) -> Moved {
        let moved = |log| Moved { log, ..Moved::default() };
        match self.level {
            Level::Process { spread } => moved(spread * rng.normal()),
            Level::Strays { share, mean } => {
                moved(if rng.unit() < share { rng.exponential(mean) } else { 0.0 })
            }
            Level::Autoregressive { memory, spread } => {
                let fresh = (1.0 - memory * memory).sqrt() * rng.normal();
                self.state = memory * self.state + fresh;
                moved(spread * self.state)
            }
            Level::Regimes { factor, stay } => {
                if rng.unit() * stay < 1.0 {
                    self.state = 1.0 - self.state;
                }
                moved(self.state * factor.ln())
            }
            Level::Drift { total } => moved(total * over),
            Level::Steal { share, most } => {
                let stolen = if rng.unit() < share { most * rng.unit() } else { 0.0 };
                Moved { stolen, ..moved(-(1.0 - stolen).ln()) }
            }
            Level::Bursts { share, operations, times } => {
                let operations = if rng.unit() < share { operations } else { 0 };
                Moved { burst: (operations, times), ..moved(0.0) }
            }
            Level::Modes { factor, share } => {
                moved(if rng.unit() < share { factor.ln() } else { 0.0 })
            }
        }
    }
}

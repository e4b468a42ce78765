//! How long operations take, with the quantiles that are true of them.

use ipcperf_stats::{Rng, normal_cdf};

/// A distribution of times, ns.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Shape {
    /// Always this.
    Constant(f64),
    /// Anything between two times, all equally likely.
    Uniform([f64; 2]),
    /// Its logarithm is normal.
    LogNormal {
        /// Half of the times are shorter.
        median: f64,
        /// Standard deviation of the logarithm.
        sigma: f64,
    },
    /// Exceeds `x` with the probability (`least` / `x`)^`alpha`.
    Pareto {
        /// The shortest.
        least: f64,
        /// The smaller, the heavier the tail.
        alpha: f64,
    },
}

impl Shape {
    /// The time that is as rare as this value of a standard normal variable.
    fn at(self, z: f64) -> f64 {
        match self {
            Self::Constant(time) => time,
            Self::Uniform([low, high]) => low + (high - low) * normal_cdf(z),
            Self::LogNormal { median, sigma } => median * (sigma * z).exp(),
            Self::Pareto { least, alpha } => least * normal_cdf(-z).powf(-1.0 / alpha),
        }
    }

    /// The share of times up to this one.
    fn up_to(self, time: f64) -> f64 {
        match self {
            Self::Constant(always) => f64::from(u8::from(always <= time)),
            Self::Uniform([low, high]) => ((time - low) / (high - low)).clamp(0.0, 1.0),
            Self::LogNormal { median, sigma } => normal_cdf((time / median).ln() / sigma),
            Self::Pareto { least, alpha } => (1.0 - (least / time).powf(alpha)).max(0.0),
        }
    }
}

/// The times of the operations of a slice.
#[derive(Clone, Debug, PartialEq)]
pub struct Service {
    /// Distributions, each with the share of operations that it has.
    pub parts: Vec<(f64, Shape)>,
    /// How much of an operation's rank the next one keeps: 0 for independent operations, below 1.
    pub memory: f64,
}

impl Service {
    /// Independent operations of one distribution.
    #[must_use]
    pub fn of(shape: Shape) -> Self {
        Self::mixed(vec![(1.0, shape)])
    }

    /// Independent operations of several, by their shares, which add up to 1.
    #[must_use]
    pub fn mixed(parts: Vec<(f64, Shape)>) -> Self {
        Self { parts, memory: 0.0 }
    }

    /// The time below which the share `q` of all operations lies, ns.
    #[must_use]
    pub fn quantile(&self, q: f64) -> f64 {
        let up_to =
            |time| self.parts.iter().map(|(share, one)| share * one.up_to(time)).sum::<f64>();
        // In logarithms, from a picosecond to eleven days.
        let (mut low, mut high) = (1e-3_f64.ln(), 1e15_f64.ln());
        for _ in 0..100 {
            let middle = f64::midpoint(low, high);
            if up_to(middle.exp()) < q { low = middle } else { high = middle }
        }
        high.exp()
    }
}

/// Operations one after the other.
pub(super) struct SimulatedOperations<'a> {
    service: &'a Service,
    /// The rank of the last one, as a normal number.
    last: f64,
}

impl<'a> SimulatedOperations<'a> {
    pub(super) fn new(service: &'a Service, rng: &mut Rng) -> Self {
        Self { service, last: rng.normal() }
    }

    /// How long the next one takes, ns.
    pub(super) fn next(&mut self, rng: &mut Rng) -> f64 {
        let memory = self.service.memory;
        self.last = memory * self.last + (1.0 - memory * memory).sqrt() * rng.normal();
        let mut left = rng.unit();
        let parts = &self.service.parts;
        let chosen = parts.iter().find(|(share, _)| {
            left -= share;
            left < 0.0
        });
        chosen.or(parts.last()).map_or(0.0, |(_, shape)| shape.at(self.last))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_drawn_has_the_quantiles_that_are_told() {
        let lognormal = Shape::LogNormal { median: 5e3, sigma: 0.3 };
        let pareto = Shape::Pareto { least: 4e3, alpha: 3.0 };
        let mut remembering = Service::of(lognormal);
        remembering.memory = 0.5;
        for service in [
            Service::of(Shape::Constant(5e3)),
            Service::of(Shape::Uniform([4e3, 9e3])),
            Service::of(lognormal),
            Service::of(pareto),
            Service::mixed(vec![(0.8, lognormal), (0.2, Shape::Uniform([2e4, 3e4]))]),
            Service::mixed(vec![(0.95, lognormal), (0.05, pareto)]),
            remembering,
        ] {
            let mut rng = Rng::stream(1, "service");
            let mut operations = SimulatedOperations::new(&service, &mut rng);
            let mut times: Vec<f64> = (0..200_000).map(|_| operations.next(&mut rng)).collect();
            times.sort_by(f64::total_cmp);
            for q in [0.1, 0.5, 0.9, 0.99] {
                let (seen, told) = (times[(q * 2e5) as usize], service.quantile(q));
                assert!((seen / told - 1.0).abs() < 0.02, "{service:?} {q}: {seen} {told}");
            }
        }
    }
}

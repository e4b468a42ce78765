//! The universal scalability law (Gunther, Guerrilla Capacity Planning, 2007): n units do n / (1 + contention (n - 1) +
//! coherency n (n - 1)) times the work of one.

/// Numbers of units that a fit needs: one more than it has unknowns, so that there is something it could miss.
pub const FEWEST_POINTS: usize = 4;

/// The law of some measured points.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ScalabilityLaw {
    /// What one unit does.
    pub single: f64,
    /// The share of the work that one unit alone can do at a time. Below 0 where n units do more than n times
    /// the work of one, or by chance.
    pub contention: f64,
    /// What each pair of units costs, as a share of the work of one.
    pub coherency: f64,
}

impl ScalabilityLaw {
    /// The law that fits these points best, each a number of units and what they did together: of n / work, which is linear
    /// in the unknowns, the relative errors have the least squares. `None` with fewer than [`FEWEST_POINTS`] different
    /// numbers, or if a value is not a positive finite number.
    #[must_use]
    pub fn fit(points: &[(u64, f64)]) -> Option<Self> {
        let mut numbers: Vec<u64> = points.iter().map(|(units, _)| *units).collect();
        numbers.sort_unstable();
        numbers.dedup();
        let is_valid = |(units, work): &(u64, f64)| *units > 0 && *work > 0.0 && work.is_finite();
        if numbers.len() < FEWEST_POINTS || !points.iter().all(is_valid) {
            return None;
        }
        // Columns of about the same size: the squares of their products are added up.
        let most = *numbers.last()? as f64;
        let scale = points.iter().map(|(units, work)| work / *units as f64).fold(0.0, f64::max);
        let (linear, square) = (most - 1.0, most * (most - 1.0));
        let mut equations = [[0.0; 4]; 3];
        for (units, work) in points {
            let units = *units as f64;
            let weight = work / units / scale;
            let terms = [1.0, (units - 1.0) / linear, units * (units - 1.0) / square];
            let terms = terms.map(|term| term * weight);
            for (equation, own) in equations.iter_mut().zip(terms) {
                for (sum, term) in equation.iter_mut().zip(terms.into_iter().chain([1.0])) {
                    *sum += own * term;
                }
            }
        }
        let [one, contention, coherency] = solve(equations)?;
        let law = Self {
            single: scale / one,
            contention: contention / linear / one,
            coherency: coherency / square / one,
        };
        (law.single > 0.0 && law.contention.is_finite() && law.coherency.is_finite()).then_some(law)
    }

    /// What this number of units do.
    #[must_use]
    pub fn work(&self, units: u64) -> f64 {
        let units = units as f64;
        let share = 1.0 + (self.contention + self.coherency * units) * (units - 1.0);
        self.single * units / share
    }
}

/// The solution of three linear equations, each with its right side last; `None` if there is not one alone.
fn solve(mut equations: [[f64; 4]; 3]) -> Option<[f64; 3]> {
    for column in 0..3 {
        let largest = |row: &usize| equations[*row][column].abs();
        let pivot = (column..3).max_by(|a, b| largest(a).total_cmp(&largest(b)))?;
        equations.swap(column, pivot);
        let own = equations[column];
        if own[column].abs() < f64::EPSILON {
            return None;
        }
        for (row, equation) in equations.iter_mut().enumerate() {
            let factor = equation[column] / own[column];
            if row != column {
                equation.iter_mut().zip(own).for_each(|(value, own)| *value -= factor * own);
            }
        }
    }
    Some([0, 1, 2].map(|row| equations[row][3] / equations[row][row]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn too_few_numbers_of_units_have_no_law() {
        let points = [(1, 10.0), (2, 19.0), (4, 35.0)];
        assert_eq!(ScalabilityLaw::fit(&points), None);
        let twice: Vec<_> = points.into_iter().chain(points).collect();
        assert_eq!(ScalabilityLaw::fit(&twice), None, "the same numbers again are no others");
        for wrong in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            assert_eq!(ScalabilityLaw::fit(&[&points[..], &[(8, wrong)]].concat()), None);
        }
        assert!(ScalabilityLaw::fit(&[&points[..], &[(8, 50.0)]].concat()).is_some());
    }

    #[test]
    fn units_that_do_not_disturb_each_other_have_neither_contention_nor_coherency() {
        let points = [1, 2, 4, 8, 64].map(|units| (units, 3e6 * units as f64));
        let law = ScalabilityLaw::fit(&points).unwrap();
        assert!((law.single / 3e6 - 1.0).abs() < 1e-9, "{law:?}");
        assert!(law.contention.abs() < 1e-9 && law.coherency.abs() < 1e-9, "{law:?}");
    }

    /// Different numbers of units.
    fn units() -> impl Strategy<Value = Vec<u64>> {
        proptest::sample::subsequence((1..=64_u64).collect::<Vec<_>>(), FEWEST_POINTS..12)
    }

    fn law() -> impl Strategy<Value = ScalabilityLaw> {
        (1e-3..1e9, 0.0..0.9, 0.0..0.1).prop_map(|(single, contention, coherency)| ScalabilityLaw {
            single,
            contention,
            coherency,
        })
    }

    fn near(a: f64, b: f64, most: f64) -> bool {
        (a - b).abs() <= most
    }

    proptest! {
        #[test]
        fn points_of_a_law_have_that_law(law in law(), units in units()) {
            let points: Vec<_> = units.iter().map(|units| (*units, law.work(*units))).collect();
            let found = ScalabilityLaw::fit(&points).unwrap();
            // Numbers that lie close together say little of the three apart, but always of the work.
            for units in units {
                prop_assert!(near(found.work(units) / law.work(units), 1.0, 1e-6), "{found:?}");
            }
        }

        #[test]
        fn neither_the_unit_of_the_work_nor_the_order_of_the_points_matters(
            law in law(), units in units(), factor in 1e-3..1e3_f64, errors in proptest::collection::vec(0.9..1.1_f64, 12),
        ) {
            let points: Vec<_> =
                units.iter().zip(&errors).map(|(units, error)| (*units, law.work(*units) * error)).collect();
            let other: Vec<_> =
                points.iter().rev().map(|(units, work)| (*units, work * factor)).collect();
            match (ScalabilityLaw::fit(&points), ScalabilityLaw::fit(&other)) {
                (Some(a), Some(b)) => {
                    for units in units {
                        prop_assert!(near(b.work(units) / a.work(units) / factor, 1.0, 1e-5), "{a:?} {b:?}");
                    }
                }
                (a, b) => prop_assert!(a.is_none() && b.is_none(), "{a:?} {b:?}"),
            }
        }

        #[test]
        fn no_law_nearby_fits_the_points_better(
            law in law(), units in units(), errors in proptest::collection::vec(0.9..1.1_f64, 12),
            moved in proptest::array::uniform3(-0.1..0.1_f64),
        ) {
            let points: Vec<_> =
                units.iter().zip(&errors).map(|(units, error)| (*units, law.work(*units) * error)).collect();
            let missed = |law: &ScalabilityLaw| -> f64 {
                points.iter().map(|(units, work)| (1.0 - work / law.work(*units)).powi(2)).sum()
            };
            if let Some(best) = ScalabilityLaw::fit(&points) {
                let other = ScalabilityLaw {
                    single: best.single * (1.0 + moved[0]),
                    contention: best.contention + moved[1],
                    coherency: best.coherency + moved[2] * 0.1,
                };
                prop_assert!(missed(&best) <= missed(&other) + 1e-9, "{best:?} {other:?}");
            }
        }
    }
}

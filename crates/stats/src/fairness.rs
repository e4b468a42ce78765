//! How evenly a thing is shared.

/// The fairness index of Jain, Chiu and Hawe (1984): the square of the sum over `n` times the sum of the squares. 1
/// where all shares are equal, `1/n` where one has everything. `None` without shares, with nothing shared, or where a
/// share is negative or not a number.
pub fn jain(shares: &[f64]) -> Option<f64> {
    if shares.iter().any(|share| !(share.is_finite() && *share >= 0.0)) {
        return None;
    }
    let most = shares.iter().copied().reduce(f64::max).filter(|most| *most > 0.0)?;
    // Relative to the largest, so that no square overflows.
    let (sum, squares) = shares.iter().fold((0.0, 0.0), |(sum, squares), share| {
        let share = share / most;
        (sum + share, squares + share * share)
    });
    Some(sum * sum / (shares.len() as f64 * squares))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_shares_are_fair_and_a_monopoly_is_one_in_n() {
        assert_eq!(jain(&[7.0]), Some(1.0));
        assert_eq!(jain(&[3.0, 3.0, 3.0, 3.0]), Some(1.0));
        assert_eq!(jain(&[0.0, 5.0, 0.0, 0.0]), Some(0.25));
        // The example of the paper's section on boundedness: k of n served alike give k/n.
        let twenty: Vec<f64> = (0..100).map(|user| if user < 20 { 1.0 } else { 0.0 }).collect();
        assert!((jain(&twenty).unwrap() - 0.2).abs() < 1e-12);
    }

    #[test]
    fn it_does_not_depend_on_the_unit_and_lies_between_its_bounds() {
        for shares in [[1.0, 2.0, 3.0], [1e-9, 1.0, 1e9], [5.0, 0.0, 0.1]] {
            let index = jain(&shares).unwrap();
            assert!((1.0 / 3.0..=1.0).contains(&index), "{index}");
            let scaled = jain(&shares.map(|share| share * 1e200)).unwrap();
            assert!((scaled - index).abs() < 1e-12);
        }
        assert!((jain(&[1.0, 3.0]).unwrap() - 0.8).abs() < 1e-12);
    }

    #[test]
    fn what_is_no_share_has_no_index() {
        assert_eq!(jain(&[]), None);
        assert_eq!(jain(&[0.0, 0.0]), None);
        assert_eq!(jain(&[1.0, f64::NAN]), None);
        assert_eq!(jain(&[1.0, -1.0]), None);
    }
}

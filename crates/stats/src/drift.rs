//! Does a series of rounds move in one direction?

use crate::estimate::median;

/// The slope of a series per step: the median of the slopes between all pairs of its values
/// (Theil 1950, Sen 1968). Up to 29 % of the values may be arbitrary without carrying it away.
/// Time and memory grow with the square of the length.
///
/// `None` with fewer than two values, or if one is not finite.
pub fn theil_sen(values: &[f64]) -> Option<f64> {
    if !values.iter().all(|v| v.is_finite()) {
        return None;
    }
    let mut slopes = Vec::with_capacity(values.len() * values.len().saturating_sub(1) / 2);
    for (i, from) in values.iter().enumerate() {
        let later = values[i + 1..].iter().zip(1_u32..);
        slopes.extend(later.map(|(to, steps)| (to - from) / f64::from(steps)));
    }
    median(&slopes)
}

/// How far the series drifts from its first to its last value, relative to its median: 0.05 is a
/// rise of 5 %, a negative number a fall.
///
/// `None` where [`theil_sen`] gives none, or if the median is not positive.
pub fn relative_drift(values: &[f64]) -> Option<f64> {
    let centre = median(values).filter(|centre| *centre > 0.0)?;
    Some(theil_sen(values)? * (values.len() - 1) as f64 / centre)
}

/// How unlikely the order of the series is if nothing drifts: the Mann-Kendall statistic in standard deviations
/// (Mann 1945, Kendall 1948; ties make it smaller, never larger). Beyond 2.58 either way, chance does it in 1 of 100.
///
/// `None` with fewer than 8 values, where the normal approximation is poor.
pub fn trend_z(values: &[f64]) -> Option<f64> {
    if values.len() < 8 {
        return None;
    }
    let mut score = 0.0;
    for (i, from) in values.iter().enumerate() {
        for to in &values[i + 1..] {
            score += f64::from(i8::from(to > from) - i8::from(to < from));
        }
    }
    let n = values.len() as f64;
    let deviation = (n * (n - 1.0) * (2.0 * n + 5.0) / 18.0).sqrt();
    // Continuity correction, towards zero.
    let corrected = if score > 0.0 {
        score - 1.0
    } else if score < 0.0 {
        score + 1.0
    } else {
        0.0
    };
    Some(corrected / deviation)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_steady_rise_is_significant_and_shuffled_rounds_are_not() {
        let rise: Vec<f64> = (0..12).map(|i| 100.0 + f64::from(i)).collect();
        assert!(trend_z(&rise).unwrap() > 4.0);
        let fall: Vec<f64> = rise.iter().rev().copied().collect();
        assert_eq!(trend_z(&fall).unwrap(), -trend_z(&rise).unwrap());
        assert_eq!(trend_z(&rise[..7]), None);
        assert_eq!(trend_z(&[5.0; 9]), Some(0.0));
        let mut rng = crate::Rng::from_seed(1);
        let alarms = (0..1000)
            .filter(|_| {
                let values: Vec<f64> = (0..12).map(|_| rng.normal()).collect();
                trend_z(&values).unwrap().abs() > 2.576
            })
            .count();
        assert!((1..=20).contains(&alarms), "{alarms} of 1000");
    }

    #[test]
    fn a_straight_line_has_its_slope() {
        let values: Vec<f64> = (0..12).map(|i| 5.0 - 0.25 * f64::from(i)).collect();
        assert_eq!(theil_sen(&values), Some(-0.25));
    }

    #[test]
    fn stray_rounds_do_not_move_the_slope() {
        let mut values: Vec<f64> = (0..20).map(|i| 100.0 + f64::from(i)).collect();
        values[3] = 1e9;
        values[17] = 1.0;
        assert!((theil_sen(&values).unwrap() - 1.0).abs() < 0.05);
    }

    #[test]
    fn relative_drift_spans_the_whole_series() {
        let values: Vec<f64> = (0..=10).map(|i| 95.0 + f64::from(i)).collect();
        assert!((relative_drift(&values).unwrap() - 0.1).abs() < 1e-12);
        assert_eq!(relative_drift(&[3.0; 6]), Some(0.0));
    }

    #[test]
    fn a_series_without_direction_gives_none() {
        assert_eq!(theil_sen(&[]), None);
        assert_eq!(theil_sen(&[1.0]), None);
        assert_eq!(theil_sen(&[1.0, f64::INFINITY, f64::INFINITY]), None);
        assert_eq!(relative_drift(&[0.0, 0.0, 0.0]), None);
    }
}

//! Numbers as people read them: three significant digits, and a dash where there is none.

use ipcperf_core::result::Metric;
use ipcperf_core::units;

/// What is printed where a figure does not exist or the sample does not support it.
pub(crate) const NONE: &str = "-";

/// Longest figure of any sensible measurement (`999 GB/s` has 8 signs). Longer ones come from hostile files.
const LONGEST: usize = 12;

fn bounded(value: f64, words: impl FnOnce(f64) -> String) -> String {
    if !value.is_finite() {
        return NONE.to_owned();
    }
    // Beyond this the units module writes all digits, which for 1e308 are 309.
    if value.abs() >= 1e18 {
        return format!("{value:.2e}");
    }
    let text = words(value);
    if text.len() <= LONGEST { text } else { format!("{value:.2e}") }
}

pub(crate) fn nanos(value: f64) -> String {
    bounded(value, units::format_nanos)
}

pub(crate) fn bytes_per_second(value: f64) -> String {
    bounded(value, units::format_bytes_per_second)
}

pub(crate) fn per_second(value: f64) -> String {
    bounded(value, units::format_per_second)
}

pub(crate) fn plain(value: f64) -> String {
    bounded(value, units::significant)
}

/// A count per message: whole numbers as such, `2`, others as `0.37`.
pub(crate) fn count(value: f64) -> String {
    if value.fract() == 0.0 && value.abs() < 1000.0 {
        format!("{}", value + 0.0)
    } else {
        plain(value)
    }
}

/// `1.35x`.
pub(crate) fn times(ratio: f64) -> String {
    if ratio.is_finite() { format!("{}x", plain(ratio)) } else { NONE.to_owned() }
}

/// Half of the 95 % interval as a share of the value: `1.7%`, `<0.1%`.
pub(crate) fn spread(metric: &Metric) -> String {
    let (Some(value), Some([low, high])) = (metric.value, metric.ci95) else {
        return NONE.to_owned();
    };
    let percent = (high - low).abs() / 2.0 / value.abs() * 100.0;
    if !percent.is_finite() {
        NONE.to_owned()
    } else if percent < 0.1 {
        "<0.1%".to_owned()
    } else if percent < 9.95 {
        format!("{percent:.1}%")
    } else if percent < 999.5 {
        format!("{percent:.0}%")
    } else {
        ">999%".to_owned()
    }
}

/// A message size: `64 B`, `4 KiB`, and `wake` for mechanisms that only wake.
pub(crate) fn size(bytes: u64) -> String {
    if bytes == 0 { "wake".to_owned() } else { units::format_size(bytes) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_have_three_digits_and_never_run_away() {
        assert_eq!(nanos(5_000_000.0), "5.00 ms");
        assert_eq!(nanos(71_480.0), "71.5 us");
        assert_eq!(
            (count(2.0), count(0.37), count(-0.0)),
            ("2".into(), "0.370".into(), "0".into())
        );
        for value in [f64::NAN, f64::INFINITY, 1e308, -1e308, 1e17, f64::MIN_POSITIVE, -0.0] {
            for text in [
                nanos(value),
                bytes_per_second(value),
                per_second(value),
                plain(value),
                times(value),
            ] {
                assert!(text.len() <= LONGEST + 1, "{value}: {text}");
                assert!(!text.contains("NaN") && !text.contains("inf"), "{text}");
            }
        }
    }

    #[test]
    fn the_spread_is_half_the_interval() {
        let metric = |ci95| Metric { value: Some(100.0), ci95, ..Metric::default() };
        assert_eq!(spread(&metric(Some([98.0, 102.0]))), "2.0%");
        assert_eq!(spread(&metric(Some([50.0, 90.0]))), "20%");
        assert_eq!(spread(&metric(Some([100.0, 100.0]))), "<0.1%");
        assert_eq!(spread(&metric(Some([0.0, 9000.0]))), ">999%");
        assert_eq!(spread(&metric(None)), "-");
        assert_eq!(
            spread(&Metric { value: Some(0.0), ci95: Some([0.0, 0.0]), ..Metric::default() }),
            "-"
        );
    }
}

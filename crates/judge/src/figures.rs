//! Numbers as people read them: three significant digits, and a dash where there is none.

use ipcperf_core::result::Metric;
use ipcperf_core::{Figure, units};
use ipcperf_stats::Factor;

/// What is printed where a figure does not exist or the sample does not support it.
pub const NONE: &str = "-";

/// Longest figure of any sensible measurement (`999 GB/s` has 8 signs). Longer ones come from hostile files.
const LONGEST: usize = 12;

/// What there is in these words, or the sign that there is nothing.
pub fn or_none<T>(value: Option<T>, words: impl FnOnce(T) -> String) -> String {
    value.map_or_else(|| NONE.to_owned(), words)
}

/// `2026-11-20 02:00:05` of a time as the document has it.
pub fn moment(utc: &str) -> String {
    if utc.is_empty() { NONE.to_owned() } else { utc.replace('T', " ").replace('Z', "") }
}

/// A value in these words, where they are no longer than those of a sensible one.
pub fn bounded(value: f64, words: impl FnOnce(f64) -> String) -> String {
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

/// A time: `12.3 us`.
pub fn nanos(value: f64) -> String {
    bounded(value, units::format_nanos)
}

/// A throughput: `1.23 GB/s`.
pub fn bytes_per_second(value: f64) -> String {
    bounded(value, units::format_bytes_per_second)
}

/// A rate: `12.3 k/s`.
pub fn per_second(value: f64) -> String {
    bounded(value, units::format_per_second)
}

/// A figure that speaks for cells of this size.
pub fn of(figure: Figure, value: f64, size: u64) -> String {
    bounded(value, |value| figure.words(value, size))
}

/// An energy given in nanojoules.
pub fn nanojoules(value: f64) -> String {
    let (scale, unit) = match value.abs() {
        value if value < 1e3 => (1.0, "nJ"),
        value if value < 1e6 => (1e3, "uJ"),
        value if value < 1e9 => (1e6, "mJ"),
        _ => (1e9, "J"),
    };
    bounded(value, |value| format!("{} {unit}", units::significant(value / scale)))
}

/// A number with three significant digits.
pub fn plain(value: f64) -> String {
    bounded(value, units::significant)
}

/// A count per message: whole numbers as such, `2`, others as `0.370`, and `<0.001` for what hardly ever happens.
pub fn count(value: f64) -> String {
    if value.fract() == 0.0 && value.abs() < 1000.0 {
        format!("{}", value + 0.0)
    } else if value.abs() < 0.001 {
        "<0.001".to_owned()
    } else {
        plain(value)
    }
}

/// An index from 0 to 1: `0.973`.
pub fn index(value: f64) -> String {
    bounded(value, |value| format!("{value:.3}"))
}

/// A share of 1: `12.4%`.
pub fn share(value: f64) -> String {
    bounded(value, |value| format!("{:.1}%", value * 100.0))
}

/// An uncertainty in the unit of what it belongs to: two digits, `0` only where there is none.
pub fn bound(value: f64) -> String {
    match value.abs() {
        0.0 => "0".to_owned(),
        small if small < 0.005 => "<0.01".to_owned(),
        small if small < 9.95 => format!("{value:.2}"),
        _ => bounded(value, |value| format!("{value:.0}")),
    }
}

/// `1.35x`.
pub fn times(ratio: f64) -> String {
    if ratio.is_finite() { format!("{}x", plain(ratio)) } else { NONE.to_owned() }
}

/// A factor with its interval, and no more digits than that takes: `1.8x [1.6, 2.0]`, `1.08x [1.05, 1.11]`.
pub fn factor(Factor { ratio, interval }: Factor) -> String {
    let words = |value: f64, digits: usize| bounded(value, |value| format!("{value:.digits$}"));
    let is_enough = |digits: &usize| {
        let [low, high] = [interval.low, interval.high].map(|end| words(end, *digits));
        low != high && low.parse().is_ok_and(|low: f64| low != 1.0)
    };
    let digits = if ratio < 9.95 { (1..3).find(is_enough).unwrap_or(2) } else { 0 };
    let [ratio, low, high] = [ratio, interval.low, interval.high].map(|one| words(one, digits));
    format!("{ratio}x [{low}, {high}]")
}

/// Scales of a quantity and their names, smallest first.
pub type Unit = &'static [(f64, &'static str)];

/// Units of times, each with its number of nanoseconds.
pub const NANOS: Unit = &[(1.0, "ns"), (1e3, "us"), (1e6, "ms"), (1e9, "s")];
/// Units of throughput, each with its number of bytes per second.
pub const BYTES_PER_SECOND: Unit =
    &[(1.0, "B/s"), (1e3, "kB/s"), (1e6, "MB/s"), (1e9, "GB/s"), (1e12, "TB/s")];
/// Units of rates, each with its number per second.
pub const PER_SECOND: Unit = &[(1.0, "/s"), (1e3, "k/s"), (1e6, "M/s"), (1e9, "G/s")];

/// From here on three digits of a figure are those of the next unit (`999.6 ns` is `1.00 us`).
const ROUNDS_UP: f64 = 0.9995;

/// The scale and the name that suit a value.
pub fn suited(value: f64, unit: Unit) -> (f64, &'static str) {
    let suits = unit.iter().rev().find(|(scale, _)| value >= scale * ROUNDS_UP);
    suits.or(unit.first()).copied().unwrap_or((1.0, ""))
}

/// What stands for an interval that is too wide for a percentage where there is no room for the interval itself.
pub const WIDE: &str = ">50%";

/// Half of the 95 % interval as a share of the value: `1.7%`, `<0.1%`. Above 50 % a share says little, since the
/// interval is hardly ever symmetric: then it is the interval itself, `0.17-43us`.
pub fn spread(metric: &Metric, unit: Unit) -> String {
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
    } else if percent <= 50.0 {
        format!("{percent:.0}%")
    } else {
        interval(low.min(high), low.max(high), unit).unwrap_or_else(|| WIDE.to_owned())
    }
}

/// Whether a spread is an interval, which [`WIDE`] can stand for.
pub fn is_interval(spread: &str) -> bool {
    !spread.is_empty() && spread != NONE && !spread.ends_with('%')
}

/// Both ends in the unit of the upper one. `None` where that is long or the lower one is not a quantity.
fn interval(low: f64, high: f64, unit: Unit) -> Option<String> {
    // Two digits tell enough of something this uncertain.
    let digits = |value: f64| match value {
        value if value >= 9.95 => format!("{value:.0}"),
        value if value >= 0.995 => format!("{value:.1}"),
        value if value >= 0.005 => format!("{value:.2}"),
        _ => "0".to_owned(),
    };
    let (scale, name) = unit.iter().rev().find(|(scale, _)| high >= scale * ROUNDS_UP)?;
    let text = format!("{}-{}{name}", digits(low / scale), digits(high / scale));
    (low >= 0.0 && text.len() <= LONGEST).then_some(text)
}

/// A message size: `64 B`, `4 KiB`, and `wake` for mechanisms that only wake.
pub fn size(bytes: u64) -> String {
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
                of(Figure::Throughput, value, 1),
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
    fn a_factor_has_the_digits_that_its_interval_takes() {
        let of = |ratio, low, high| {
            factor(Factor { ratio, interval: ipcperf_stats::Interval { low, high } })
        };
        assert_eq!(of(1.8, 1.61, 2.04), "1.8x [1.6, 2.0]");
        assert_eq!(of(1.08, 1.03, 1.11), "1.08x [1.03, 1.11]");
        assert_eq!(of(1.28, 1.27, 1.29), "1.28x [1.27, 1.29]");
        assert_eq!(of(430.2, 399.0, 460.0), "430x [399, 460]");
    }

    #[test]
    fn counts_below_a_thousandth_are_not_written_as_digits() {
        assert_eq!(
            [0.0, 1e-9, 0.000_999, 0.001, 0.0123, 1.5, 3.0].map(count),
            ["0", "<0.001", "<0.001", "0.00100", "0.0123", "1.50", "3"]
        );
    }

    #[test]
    fn the_spread_is_half_the_interval() {
        let spread_of =
            |value, ci95| spread(&Metric { value: Some(value), ci95, ..Metric::default() }, NANOS);
        assert_eq!(spread_of(100.0, Some([98.0, 102.0])), "2.0%");
        assert_eq!(spread_of(100.0, Some([50.0, 90.0])), "20%");
        assert_eq!(spread_of(100.0, Some([100.0, 100.0])), "<0.1%");
        assert_eq!(spread_of(100.0, Some([50.0, 150.0])), "50%");
        assert_eq!(spread_of(100.0, None), "-");
        assert_eq!(spread_of(0.0, Some([0.0, 0.0])), "-");
    }

    #[test]
    fn a_spread_above_half_of_the_figure_is_the_interval_itself() {
        let spread_of = |value, ci95, unit| {
            spread(&Metric { value: Some(value), ci95: Some(ci95), ..Metric::default() }, unit)
        };
        assert_eq!(spread_of(20_000.0, [170.0, 43_000.0], NANOS), "0.17-43us");
        assert_eq!(spread_of(100.0, [0.0, 9000.0], NANOS), "0-9.0us");
        assert_eq!(spread_of(100.0, [49.0, 151.0], NANOS), "49-151ns");
        assert_eq!(spread_of(1e9, [5.2e8, 2.8e9], BYTES_PER_SECOND), "0.52-2.8GB/s");
        assert_eq!(spread_of(1e3, [5.2e2, 2.8e3], PER_SECOND), "0.52-2.8k/s");
        for strange in [[-5.0, 900.0], [0.0, 1e300], [0.1, 0.9]] {
            assert_eq!(spread_of(0.2, strange, NANOS), WIDE, "{strange:?}");
        }
        assert!(["49-151ns", "0-9.0us"].into_iter().all(is_interval));
        assert!(!["", NONE, "50%", "<0.1%", WIDE].into_iter().any(is_interval));
    }
}

//! Sizes, sweeps and times as users write them, and numbers as users read them.

use std::fmt;
use std::time::Duration;

/// The largest message that can be asked for: 1 GiB. Larger ones do not fit the 32-bit length fields of several
/// mechanisms and measure memory, not IPC.
pub const MAX_SIZE: usize = 1 << 30;

/// Why a text is not a size, sweep, time or count.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnitError(String);

impl fmt::Display for UnitError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.0)
    }
}

impl std::error::Error for UnitError {}

fn error<T>(text: impl Into<String>) -> Result<T, UnitError> {
    Err(UnitError(text.into()))
}

/// Bytes: `64`, `4K` (4096), `1M`, `2G`. Suffixes are powers of 1024; `KiB`, `MiB`, `GiB` and a trailing `B` mean the
/// same.
///
/// # Errors
/// The text is not a whole number with such a suffix, or does not fit 64 bits.
pub fn bytes(text: &str) -> Result<u64, UnitError> {
    let trimmed = text.trim();
    let digits = trimmed.bytes().take_while(u8::is_ascii_digit).count();
    let (number, suffix) = trimmed.split_at(digits);
    let shift = match suffix.trim().to_ascii_lowercase().as_str() {
        "" | "b" => 0,
        "k" | "kb" | "kib" => 10,
        "m" | "mb" | "mib" => 20,
        "g" | "gb" | "gib" => 30,
        _ => return error(format!("'{trimmed}' is not a size (like 64, 4K, 1M)")),
    };
    let Ok(number) = number.parse::<u64>() else {
        return error(format!("'{trimmed}' is not a size (like 64, 4K, 1M)"));
    };
    match number.checked_mul(1 << shift) {
        Some(bytes) => Ok(bytes),
        None => error(format!("size '{trimmed}' is too large")),
    }
}

/// A list of message sizes: `1,64,4K`, sweeps `64..64K:*4` (each times 4) and `64..256:+64` (each plus 64), mixed.
/// The end of a sweep is included when a step hits it. Duplicates are dropped, the order is kept.
///
/// # Errors
/// A part is not a size or sweep, is above [`MAX_SIZE`], or a sweep makes no progress or more than 1000 steps.
pub fn sizes(text: &str) -> Result<Vec<usize>, UnitError> {
    let mut list = Vec::new();
    for part in text.split(',') {
        for size in sweep(part.trim())? {
            if size > MAX_SIZE as u64 {
                return error(format!(
                    "size '{}' is above 1G, the largest message ipcperf measures",
                    part.trim()
                ));
            }
            let size = usize::try_from(size)
                .map_err(|_| UnitError(format!("size '{part}' is too large")))?;
            if !list.contains(&size) {
                list.push(size);
            }
        }
    }
    Ok(list)
}

fn sweep(text: &str) -> Result<Vec<u64>, UnitError> {
    let Some((from, rest)) = text.split_once("..") else {
        return Ok(vec![bytes(text)?]);
    };
    let Some((to, step)) = rest.split_once(':') else {
        return error(format!("sweep '{text}' needs a step, like {from}..{rest}:*4"));
    };
    let (from, to) = (bytes(from)?, bytes(to)?);
    if from > to {
        return error(format!("sweep '{text}' runs downwards"));
    }
    let next: Box<dyn Fn(u64) -> Option<u64>> = match step.split_at_checked(1) {
        Some(("*", factor)) => match factor.parse::<u64>() {
            Ok(factor) if factor >= 2 && from > 0 => Box::new(move |size| size.checked_mul(factor)),
            _ => {
                return error(format!(
                    "sweep '{text}' needs a start above 0 and a factor of at least 2"
                ));
            }
        },
        Some(("+", step)) => match bytes(step) {
            Ok(step) if step >= 1 => Box::new(move |size| size.checked_add(step)),
            _ => return error(format!("sweep '{text}' needs a step of at least 1")),
        },
        _ => return error(format!("sweep '{text}' needs a step like *4 or +64")),
    };
    let mut list = vec![from];
    let mut size = from;
    while let Some(larger) = next(size).filter(|larger| *larger <= to) {
        if list.len() == 1000 {
            return error(format!("sweep '{text}' has more than 1000 sizes"));
        }
        list.push(larger);
        size = larger;
    }
    Ok(list)
}

/// A time: `100ms`, `10s`, `1m`, `1m30s`, `2h`, `50us`. A number alone is refused, since nobody could tell its unit.
///
/// # Errors
/// The text is not a sum of such parts.
pub fn duration(text: &str) -> Result<Duration, UnitError> {
    let wrong = || UnitError(format!("'{text}' is not a time (like 100ms, 10s, 1m30s)"));
    let mut rest = text.trim();
    let mut total = Duration::ZERO;
    if rest.is_empty() {
        return Err(wrong());
    }
    while !rest.is_empty() {
        let digits = rest.bytes().take_while(|byte| byte.is_ascii_digit() || *byte == b'.').count();
        let (number, tail) = rest.split_at(digits);
        let letters = tail.bytes().take_while(u8::is_ascii_alphabetic).count();
        let (unit, tail) = tail.split_at(letters);
        let seconds = match unit {
            "ns" => 1e-9,
            "us" => 1e-6,
            "ms" => 1e-3,
            "s" => 1.0,
            "m" | "min" => 60.0,
            "h" => 3600.0,
            _ => return Err(wrong()),
        };
        let number = number.parse::<f64>().map_err(|_| wrong())?;
        let part = Duration::try_from_secs_f64(number * seconds).map_err(|_| wrong())?;
        total = total.checked_add(part).ok_or_else(wrong)?;
        rest = tail.trim_start();
    }
    Ok(total)
}

/// A share as it is written, `5%` or `0.5 %`: 0.05, 0.005. Never negative.
#[must_use]
pub fn share(text: &str) -> Option<f64> {
    let percent: f64 = text.trim().strip_suffix('%')?.trim().parse().ok()?;
    (percent.is_finite() && percent >= 0.0).then_some(percent / 100.0)
}

/// Bytes as users write them, the inverse of [`bytes`]: `64`, `4K`, `1M`; the largest suffix that loses nothing.
#[must_use]
pub fn format_bytes(bytes: u64) -> String {
    for (shift, suffix) in [(30, "G"), (20, "M"), (10, "K")] {
        if bytes >= 1 << shift && bytes.trailing_zeros() >= shift {
            return format!("{}{suffix}", bytes >> shift);
        }
    }
    bytes.to_string()
}

/// A size with its unit for reading: `64 B`, `4 KiB`, `1 MiB`.
#[must_use]
pub fn format_size(bytes: u64) -> String {
    for (shift, unit) in [(30, "GiB"), (20, "MiB"), (10, "KiB")] {
        if bytes >= 1 << shift && bytes.trailing_zeros() >= shift {
            return format!("{} {unit}", bytes >> shift);
        }
    }
    format!("{bytes} B")
}

/// Three significant digits without exponent: `1.23`, `12.3`, `123`, `1230`.
#[must_use]
pub fn significant(value: f64) -> String {
    if value == 0.0 || !value.is_finite() {
        return if value == 0.0 { "0".into() } else { "n/a".into() };
    }
    for decimals in [0_usize, 1, 2] {
        let scale = 10_f64.powi(i32::try_from(decimals).expect("at most 2"));
        // Rounding may carry into the next digit (99.96 reads 100), so the rounded value decides.
        let rounded = (value.abs() * scale).round() / scale;
        if rounded * scale >= 100.0 {
            return format!("{value:.decimals$}");
        }
    }
    let magnitude = value.abs().log10().floor();
    if magnitude < -6.0 {
        "0".into()
    } else {
        format!("{value:.*}", (2.0 - magnitude).max(2.0) as usize)
    }
}

fn scaled(value: f64, steps: &[(f64, &str)]) -> String {
    // A value that rounds up to 1000 of a unit reads better as 1.00 of the next.
    let step =
        steps.iter().rev().find(|(scale, _)| value.abs() >= scale * 0.9995).unwrap_or(&steps[0]);
    format!("{} {}", significant(value / step.0), step.1)
}

/// Nanoseconds with a fitting unit and three significant digits: `820 ns`, `2.11 us`, `71.5 us`, `8.02 ms`.
#[must_use]
pub fn format_nanos(nanos: f64) -> String {
    scaled(nanos, &[(1.0, "ns"), (1e3, "us"), (1e6, "ms"), (1e9, "s")])
}

/// A time as users write it, the inverse of [`duration`]: `100us`, `1500us`; the largest unit that loses nothing.
#[must_use]
pub fn format_duration(nanos: u64) -> String {
    let units = [(1_000_000_000, "s"), (1_000_000, "ms"), (1000, "us"), (1, "ns")];
    let fitting = units.into_iter().find(|(unit, _)| nanos.is_multiple_of(*unit));
    let (unit, name) = fitting.unwrap_or((1, "ns"));
    format!("{}{name}", nanos / unit)
}

/// Bytes per second in powers of 1000: `139 MB/s`, `8.36 GB/s`.
#[must_use]
pub fn format_bytes_per_second(rate: f64) -> String {
    scaled(rate, &[(1.0, "B/s"), (1e3, "kB/s"), (1e6, "MB/s"), (1e9, "GB/s"), (1e12, "TB/s")])
}

/// Messages per second: `14.0 k/s`, `2.20 M/s`.
#[must_use]
pub fn format_per_second(rate: f64) -> String {
    scaled(rate, &[(1.0, "/s"), (1e3, "k/s"), (1e6, "M/s"), (1e9, "G/s")])
}

/// A whole number in groups of three digits: `30,000`.
#[must_use]
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (at, digit) in digits.char_indices() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A share as percent: `2.3 %`, `17 %`.
#[must_use]
pub fn percent(share: f64) -> String {
    let percent = share * 100.0;
    format!("{percent:.*} %", usize::from(percent < 10.0))
}

/// `1 round`, `2 rounds`.
#[must_use]
pub fn counted(number: u64, noun: &str) -> String {
    format!("{} {noun}{}", grouped(number), if number == 1 { "" } else { "s" })
}

#[cfg(test)]
mod tests;

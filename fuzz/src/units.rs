//! Sizes, sweeps, times and shares: what was read is written so that it is read as the same.

use ipcperf_core::units::{
    MAX_SIZE, bytes, duration, format_bytes, format_bytes_per_second, format_duration,
    format_nanos, format_per_second, format_size, share, significant, sizes,
};

pub fn check(input: &[u8]) {
    let text = String::from_utf8_lossy(input);
    if let Ok(size) = bytes(&text) {
        assert_eq!(bytes(&format_bytes(size)), Ok(size), "{text}");
        assert!(!format_size(size).is_empty());
    }
    if let Ok(list) = sizes(&text) {
        assert!(!list.is_empty() && list.iter().all(|size| *size <= MAX_SIZE), "{text}");
        let written: Vec<String> = list.iter().map(|size| format_bytes(*size as u64)).collect();
        assert_eq!(sizes(&written.join(",")), Ok(list), "{text}");
    }
    if let Ok(time) = duration(&text) {
        if let Ok(nanos) = u64::try_from(time.as_nanos()) {
            let again = duration(&format_duration(nanos)).expect("a time");
            // Times are read by way of a float.
            assert!(again.abs_diff(time).as_secs_f64() <= time.as_secs_f64() * 1e-15, "{text}");
        }
        assert!(
            duration(&format!("{text}{text}")).is_ok_and(|twice| twice >= time)
                || time.as_secs() > 1 << 62
        );
    }
    if let Some(share) = share(&text) {
        assert!(share.is_finite() && share >= 0.0, "{text}: {share}");
    }
    if let Some(eight) = input.first_chunk() {
        figures(f64::from_le_bytes(*eight));
    }
}

/// A figure for readers is short, and not another one.
fn figures(value: f64) {
    for text in [
        significant(value),
        format_nanos(value),
        format_per_second(value),
        format_bytes_per_second(value),
    ] {
        assert!(!text.is_empty() && !text.contains(char::is_control), "{value}: {text}");
    }
    let shown = significant(value);
    if value.is_finite() && value.abs() > 1e-6 {
        let again: f64 = shown.parse().expect("a number");
        assert!((again / value - 1.0).abs() < 0.0051, "{value}: {shown}");
    }
}

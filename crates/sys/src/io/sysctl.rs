//! Limits of the kernel, read where it publishes them.

/// A number from below `/proc/sys`, such as `fs/mqueue/msgsize_max`; `None` where it cannot be read.
#[must_use]
pub fn number(path: &str) -> Option<u64> {
    std::fs::read_to_string(format!("/proc/sys/{path}"))
        .ok()?
        .split_ascii_whitespace()
        .next()?
        .parse()
        .ok()
}

/// Bytes of memory that could be used without pushing anything out (`MemAvailable`).
#[must_use]
pub fn memory_available() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find(|line| line.starts_with("MemAvailable:"))?;
    line.split_ascii_whitespace().nth(1)?.parse::<u64>().ok()?.checked_mul(1024)
}

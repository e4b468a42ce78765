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

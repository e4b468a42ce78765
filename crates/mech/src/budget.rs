//! How much may be under way where memory is the only limit, and sizes of messages that are refused.

use ipcperf_core::units::format_size;
use ipcperf_core::{Limit, Missing, SetupError};
use ipcperf_sys::procfs;

/// How many messages of `size` bytes fit into `bytes`: at least 2, so that both ends work at once, and at most `most`.
pub(crate) fn messages(size: usize, bytes: usize, most: u32) -> u32 {
    u32::try_from(bytes / size.max(1)).unwrap_or(u32::MAX).clamp(2, most.max(2))
}

/// Refuses what would take more than half of the memory available: pages are taken when first touched, and the kernel
/// would end a process instead.
///
/// # Errors
/// `Unavailable`, with `how` to need less.
pub(crate) fn memory(bytes: usize, what: &str, how: &str) -> Result<(), SetupError> {
    let bytes = bytes as u64;
    match procfs::available_bytes() {
        Some(available) if bytes > available / 2 => {
            let what = format!(
                "{what} of together {} would take more than half of the {} of memory available",
                format_size(bytes),
                format_size(available)
            );
            Err(Missing::new(what, how).into())
        }
        _ => Ok(()),
    }
}

/// Refuses messages without any bytes; `what` says why there are none.
///
/// # Errors
/// `Unavailable`.
pub(crate) fn not_empty(size: usize, what: &str) -> Result<(), SetupError> {
    if size == 0 {
        return Err(Missing::new(what, "use a size of at least 1").into());
    }
    Ok(())
}

/// Refuses messages above the limit.
///
/// # Errors
/// `Unavailable`, with what raises the limit.
pub(crate) fn within(limit: Option<Limit>, size: usize) -> Result<(), SetupError> {
    match limit {
        Some(limit) if size > limit.bytes => {
            let what = format!("{size} bytes are above {} ({})", limit.bytes, limit.set_by);
            Err(Missing::new(what, limit.raise).into())
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn large_messages_leave_room_for_two_and_small_ones_for_no_more_than_said() {
        assert_eq!(messages(usize::MAX, 1 << 20, 64), 2);
        assert_eq!(messages(64 << 10, 1 << 20, 64), 16);
        assert_eq!(messages(0, 1 << 20, 64), 64);
    }

    #[test]
    fn more_than_there_is_is_refused() {
        assert!(memory(4096, "a page", "less").is_ok());
        assert!(matches!(memory(usize::MAX, "all", "less"), Err(SetupError::Unavailable(_))));
    }
}

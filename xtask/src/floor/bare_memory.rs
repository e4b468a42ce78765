//! How much memory the loops in shared memory take, and what lies where.

/// A cache line; the adjacent-line prefetcher pulls lines in pairs, so unrelated words keep two.
const LINE: usize = 64;

/// What the slots of a ring take in all, about: a cache-sized ring beats a larger one by half.
const RING_BUDGET: usize = 1 << 20;

/// A slot: its turn, then the payload in the same line, then more lines. Small ones share a line, as in the product.
pub(crate) fn stride(bytes: usize) -> usize {
    let needed = 8 + bytes;
    if needed <= LINE { needed.next_power_of_two() } else { needed.next_multiple_of(LINE) }
}

/// A power of two, so that the turn of a slot is a shift away.
pub(crate) fn slots(bytes: usize) -> usize {
    let fitting = (RING_BUDGET / stride(bytes)).clamp(2, 1024);
    1 << fitting.ilog2()
}

/// Bytes of the ring for messages of `bytes`.
pub(crate) fn ring_bytes(bytes: usize) -> usize {
    slots(bytes) * stride(bytes)
}

/// Bytes of one direction of the flag loop: the flag, then the payload, in one line if it fits.
pub(crate) fn lane_bytes(bytes: usize) -> usize {
    (payload_offset(bytes) + bytes).next_multiple_of(2 * LINE)
}

pub(crate) fn payload_offset(bytes: usize) -> usize {
    if bytes <= LINE - 8 { 8 } else { LINE }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ring_is_about_a_mebibyte_unless_messages_are_tiny_or_huge() {
        for bytes in [64, 4 << 10, 64 << 10] {
            assert!((RING_BUDGET / 16..=RING_BUDGET).contains(&ring_bytes(bytes)), "{bytes}");
        }
        assert_eq!((stride(1), stride(8), stride(57)), (16, 16, 128));
        assert_eq!(slots(1 << 20), 2);
    }

    #[test]
    fn a_small_payload_shares_the_line_of_its_flag() {
        assert_eq!((lane_bytes(8), payload_offset(8)), (2 * LINE, 8));
        assert_eq!(payload_offset(57), LINE);
    }
}

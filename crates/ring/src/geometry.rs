//! How many slots of which size: the arithmetic of the layout.
//!
//! # Safety
//!
//! No unsafe code. `layout` relies on [`Geometry::stride`] being at least the head and the payload
//! (up to [`MAX_PAYLOAD`]), and on [`Geometry::bytes`] covering every slot.

use crate::header::{HEAD, HEADER_BYTES};

/// Largest payload of one slot in bytes: 1 GiB, so that a stride always fits the header's `u32`.
pub const MAX_PAYLOAD: u32 = 1 << 30;

/// Bytes of a cache line on the machines this is tuned for; wrong elsewhere costs speed only.
pub(crate) const LINE: usize = 64;

/// The smallest and the largest number of slots [`Geometry::for_message`] chooses. Two let both
/// ends work at once; 1024 absorb any pause worth absorbing at the smallest sizes in 16 KiB.
const SLOTS: core::ops::RangeInclusive<usize> = 2..=1024;

/// How many slots of which size a ring has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Geometry {
    /// Number of slots: a power of two, at least 1.
    pub slots: u32,
    /// Largest message in bytes: 0 to [`MAX_PAYLOAD`].
    pub payload: u32,
}

impl Geometry {
    /// The default budget in bytes: 1 MiB. Measured on a VM with two CPUs: sixteen slots of 64 KiB
    /// stream 1.5 times as fast as sixty-four.
    pub const BUDGET: usize = 1 << 20;

    /// A ring for messages of up to `payload` bytes that takes between three quarters and one and a
    /// half times `budget_bytes`, unless that would be fewer than 2 or more than 1024 slots.
    /// A payload above [`MAX_PAYLOAD`] gives a ring for that much; `send` refuses longer messages.
    #[must_use]
    pub fn for_message(payload: usize, budget_bytes: usize) -> Geometry {
        let payload = u32::try_from(payload).unwrap_or(MAX_PAYLOAD).min(MAX_PAYLOAD);
        let one = Geometry { slots: 1, payload };
        // Half as much again before rounding down to a power of two: rounding to the nearest.
        let fitting = budget_bytes.saturating_add(budget_bytes / 2) / one.stride();
        let slots = 1usize << fitting.clamp(*SLOTS.start(), *SLOTS.end()).ilog2();
        Geometry { slots: u32::try_from(slots).expect("at most 1024"), payload }
    }

    /// Bytes of memory the ring takes with its header; `usize::MAX` where that cannot be addressed.
    #[must_use]
    pub const fn bytes(&self) -> usize {
        HEADER_BYTES.saturating_add((self.slots as usize).saturating_mul(self.stride()))
    }

    /// Bytes from one slot to the next. Up to one line in all, a power of two, so that no slot
    /// straddles a line; above, whole lines, so that no two slots share one.
    pub(crate) const fn stride(&self) -> usize {
        let payload = if self.payload < MAX_PAYLOAD { self.payload } else { MAX_PAYLOAD };
        let whole = HEAD + payload as usize;
        if whole <= LINE { whole.next_power_of_two() } else { whole.next_multiple_of(LINE) }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn a_slot_is_a_power_of_two_up_to_a_line_and_whole_lines_above() {
        let strides = [(0, 8), (1, 16), (8, 16), (9, 32), (24, 32), (25, 64), (56, 64)]
            .into_iter()
            .chain([(57, 128), (120, 128), (121, 192), (65_536, 65_600)]);
        for (payload, stride) in strides {
            assert_eq!(Geometry { slots: 1, payload }.stride(), stride, "payload {payload}");
        }
    }

    #[test]
    fn slots_are_chosen_by_bytes_within_two_and_1024() {
        let chosen = [(0, 1024), (8, 1024), (64, 1024), (4096, 256), (65_536, 16), (1 << 20, 2)];
        for (payload, slots) in chosen {
            let geometry = Geometry::for_message(payload, Geometry::BUDGET);
            assert_eq!(geometry.slots, slots, "payload {payload}");
            assert_eq!(geometry.payload as usize, payload);
        }
        assert_eq!(Geometry::for_message(1 << 20, 0).slots, 2);
        assert_eq!(Geometry::for_message(8, usize::MAX).slots, 1024);
        assert_eq!(Geometry::for_message(usize::MAX, 0).payload, MAX_PAYLOAD);
    }

    #[test]
    fn bytes_saturate_instead_of_wrapping() {
        let geometry = Geometry { slots: u32::MAX, payload: u32::MAX };
        assert!(geometry.bytes() as u128 <= (1u128 << 32) * (1u128 << 31));
        assert!(geometry.bytes() >= (1 << 30) * 4);
    }
}

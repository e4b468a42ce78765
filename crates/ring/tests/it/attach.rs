//! Who may attach, and what is refused.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use crate::memory::Memory;
use ipcperf_ring::{AttachError, Geometry, HEADER_BYTES, MAX_PAYLOAD, Spin, Stop, producer};

const SMALL: Geometry = Geometry { slots: 2, payload: 8 };

#[test]
fn a_second_claim_of_either_end_is_refused_even_after_the_first_is_dropped() {
    let memory = Memory::ring(SMALL);
    {
        let _first = memory.producer().expect("free");
        assert_eq!(memory.producer().unwrap_err(), AttachError::Claimed);
    }
    assert_eq!(memory.producer().unwrap_err(), AttachError::Claimed);
    let _first = memory.consumer().expect("free");
    assert_eq!(memory.consumer().unwrap_err(), AttachError::Claimed);
}

#[test]
fn impossible_geometry_is_refused() {
    for slots in [0, 3, 6, 1023] {
        let memory = Memory::ring(Geometry { slots, payload: 8 });
        assert_eq!(memory.producer().unwrap_err(), AttachError::Geometry, "{slots} slots");
        assert_eq!(memory.consumer().unwrap_err(), AttachError::Geometry, "{slots} slots");
    }
}

#[test]
fn a_hostile_header_is_refused_wherever_it_is_wrong() {
    // Byte offsets of the header's fields: magic 0, slots 8, payload 12, stride 16.
    let cases: [(usize, u32, AttachError); 13] = [
        (0, 0, AttachError::NotARing),
        (4, 0, AttachError::NotARing),
        (8, 0, AttachError::Geometry),
        (8, 3, AttachError::Geometry),
        (8, 4, AttachError::Geometry),
        (8, 1 << 31, AttachError::Geometry),
        (8, u32::MAX, AttachError::Geometry),
        (12, 9, AttachError::Geometry),
        (12, MAX_PAYLOAD, AttachError::Geometry),
        (12, u32::MAX, AttachError::Geometry),
        (16, 0, AttachError::Geometry),
        (16, 8, AttachError::Geometry),
        (16, u32::MAX, AttachError::Geometry),
    ];
    for (offset, value, error) in cases {
        let memory = Memory::ring(SMALL);
        // SAFETY: within the header, and no end is attached.
        unsafe { memory.base.wrapping_add(offset).cast::<u32>().write(value) };
        assert_eq!(memory.producer().unwrap_err(), error, "{value:#x} at {offset}");
    }
}

#[test]
fn memory_that_is_short_misaligned_null_or_blank_is_refused() {
    let memory = Memory::ring(SMALL);
    let attach = |base: *mut u8, len: usize| {
        // SAFETY: never more than there is.
        unsafe { producer(base, len) }.map(|_| ()).unwrap_err()
    };
    assert_eq!(attach(memory.base, SMALL.bytes() - 1), AttachError::Geometry);
    assert_eq!(attach(memory.base, HEADER_BYTES - 1), AttachError::NotARing);
    assert_eq!(attach(memory.base, 0), AttachError::NotARing);
    assert_eq!(attach(memory.base.wrapping_add(64), 64), AttachError::Address);
    assert_eq!(attach(std::ptr::null_mut(), usize::MAX), AttachError::Address);
    assert_eq!(Memory::zeroed(4096).producer().unwrap_err(), AttachError::NotARing);
    assert!(memory.producer().is_ok(), "a refusal claims nothing");
}

#[test]
fn a_length_beyond_the_slot_is_cut_to_the_payload() {
    let memory = Memory::ring(SMALL);
    let (mut producer, mut consumer) = (memory.producer().unwrap(), memory.consumer().unwrap());
    producer.send(&Spin, 8, |slot| slot.fill(7)).unwrap();
    // SAFETY: the length of the first slot; nobody accesses it at the moment.
    unsafe { memory.base.wrapping_add(HEADER_BYTES + 4).cast::<u32>().write(u32::MAX) };
    assert_eq!(consumer.recv(&Spin, <[u8]>::to_vec), Ok(vec![7; 8]));
}

#[test]
fn a_message_too_long_is_refused_and_the_next_is_intact() {
    let memory = Memory::ring(SMALL);
    let (mut producer, mut consumer) = (memory.producer().unwrap(), memory.consumer().unwrap());
    let refused = producer.send(&Spin, 9, |_| unreachable!("nothing may be written"));
    assert_eq!(refused, Err(Stop::TooLong));
    assert_eq!(producer.send(&Spin, usize::MAX, |_| ()), Err(Stop::TooLong));
    producer.send(&Spin, 8, |slot| slot.fill(9)).unwrap();
    assert_eq!(consumer.recv(&Spin, <[u8]>::to_vec), Ok(vec![9; 8]));
}

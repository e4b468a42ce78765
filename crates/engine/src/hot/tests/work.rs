//! Messages that are accepted, and those that are not.

use super::super::stamp::SEQUENCES;
use super::super::{Full, Lines, Stamp};
use super::*;
use proptest::prelude::*;

fn all(nonce: u64) -> (Stamp, Lines, Full) {
    (Stamp::new(nonce), Lines::new(nonce), Full::new(nonce, usize::MAX))
}

fn round_trip<W: Work>(work: W, len: usize, seq: u64) -> Result<(), TestCaseError> {
    let mut message = vec![0xAA; len];
    work.fill(&mut message, seq);
    prop_assert_eq!(work.check(&message, seq), Ok(()));
    if len > 0 {
        prop_assert_eq!(work.check(&message, seq + 1), Err(Fault::Corrupt));
        prop_assert_eq!(work.reversed().check(&message, seq), Err(Fault::Corrupt));
        for near in [seq.saturating_sub(100), seq, seq + 100] {
            prop_assert_eq!(work.sequence(&message, near), Some(seq));
        }
    }
    Ok(())
}

proptest! {
    #[test]
    fn a_message_is_accepted_as_itself_and_as_nothing_else(nonce: u64, len in 0_usize..300, seq in 0_u64..1 << 40) {
        let (stamp, lines, full) = all(nonce);
        round_trip(stamp, len, seq)?;
        round_trip(lines, len, seq)?;
        round_trip(full, len, seq)?;
    }

    #[test]
    fn the_answer_of_a_stamp_and_of_full_touch_is_the_complement_of_every_byte(nonce: u64, len in 0_usize..300, limit in 0_usize..300, seq in 0_u64..1 << 40) {
        fn is_complement<W: Work>(work: W, len: usize, touched: usize, seq: u64) -> Result<(), TestCaseError> {
            let (mut forth, mut back) = (vec![0; len], vec![0xFF; len]);
            work.fill(&mut forth, seq);
            work.reversed().fill(&mut back, seq);
            for (at, (forth, back)) in forth.iter().zip(&back).enumerate() {
                prop_assert_eq!(*back, !forth, "byte {} of {}", at, len);
            }
            let mut answer = forth;
            answer.iter_mut().take(touched).for_each(|byte| *byte = !*byte);
            prop_assert_eq!(work.reversed().check(&answer, seq), Ok(()));
            Ok(())
        }
        is_complement(Stamp::new(nonce), len, len, seq)?;
        is_complement(Full::new(nonce, usize::MAX), len, len, seq)?;
        is_complement(Full::new(nonce, limit), len, len.min(limit), seq)?;
    }

    #[test]
    fn an_answer_that_complements_the_first_bytes_leaves_the_others_as_they_were(nonce: u64, len in 1_usize..300, at: prop::sample::Index, seq in 0_u64..1 << 40) {
        let flip = len.min(64);
        let work = Full::flipping(nonce, flip);
        let mut answer = vec![0; len];
        work.fill(&mut answer, seq);
        answer.iter_mut().take(flip).for_each(|byte| *byte = !*byte);
        prop_assert_eq!(work.reversed().check(&answer, seq), Ok(()));
        let mut ours = vec![0; len];
        work.reversed().fill(&mut ours, seq);
        prop_assert_eq!(&ours, &answer);
        answer[at.index(len)] ^= 0x10;
        prop_assert_eq!(work.reversed().check(&answer, seq), Err(Fault::Corrupt));
    }

    #[test]
    fn full_touch_notices_any_changed_byte(nonce: u64, len in 1_usize..300, at: prop::sample::Index, seq in 0_u64..1 << 40) {
        let full = Full::new(nonce, usize::MAX);
        let mut message = vec![0; len];
        full.fill(&mut message, seq);
        message[at.index(len)] ^= 0x10;
        prop_assert_eq!(full.check(&message, seq), Err(Fault::Corrupt));
    }

    #[test]
    fn cacheline_touch_notices_a_stale_line(nonce: u64, lines in 1_usize..20, at: prop::sample::Index) {
        let work = Lines::new(nonce);
        let mut message = vec![0; lines * 64];
        work.fill(&mut message, 7);
        let stale = at.index(lines) * 64;
        let mut older = vec![0; lines * 64];
        work.fill(&mut older, 6);
        message[stale..stale + 64].copy_from_slice(&older[stale..stale + 64]);
        prop_assert_eq!(work.check(&message, 7), Err(Fault::Corrupt));
    }

    #[test]
    fn an_eventfd_can_carry_every_stamp(nonce: u64, seq in 0_u64..SEQUENCES) {
        let (forth, back) = (Stamp::new(nonce), Stamp::new(nonce).reversed());
        for word in [forth.word(seq), back.word(seq)] {
            prop_assert!(word != 0 && word != u64::MAX);
        }
        prop_assert_ne!(forth.half(seq), forth.half(seq + 1));
        prop_assert_ne!(forth.half(seq), 0);
    }
}

#[test]
fn header_touch_leaves_the_rest_alone() {
    let header = Full::new(9, 64);
    let mut message = vec![0xAA; 200];
    header.fill(&mut message, 1);
    assert!(message[64..].iter().all(|byte| *byte == 0xAA));
    assert_eq!(header.check(&message, 1), Ok(()));
}

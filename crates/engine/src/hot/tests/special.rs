//! Messages with something special about them are accepted as themselves and as nothing else.

use super::super::place as place_of;
use super::*;
use crate::source::PayloadSource;
use ipcperf_core::{Lends, Touch, Transform};
use ipcperf_sys::clock::Clock;
use std::sync::atomic::{AtomicU32, Ordering};

fn round_trip(work: Special<'_>, len: usize) {
    let mut message = vec![0xAA; len];
    for seq in [1, 2, 77, 1 << 39] {
        work.fill(&mut message, seq);
        assert_eq!(work.check(&message, seq), Ok(()), "{work:?} {seq}");
        assert_eq!(work.check(&message, seq + 1), Err(Fault::Corrupt), "{work:?} {seq}");
        assert_eq!(work.reversed().check(&message, seq), Err(Fault::Corrupt), "{work:?} {seq}");
        assert_eq!(work.sequence(&message, seq + 1), Some(seq), "{work:?}");
    }
}

#[test]
fn each_content_is_what_the_plain_policy_makes_of_it() {
    let nonce = 0x1234_5678_9ABC_DEF0;
    let (stamp, lines) = (Full::new(nonce, 8), Lines::new(nonce));
    let full = Full::new(nonce, usize::MAX);
    for content in [Content::Full(stamp), Content::Lines(lines), Content::Full(full)] {
        round_trip(Special::new(content, None), 200);
    }
    let (mut plain, mut special) = ([0; 200], [0; 200]);
    Stamp::new(nonce).fill(&mut plain, 9);
    Special::new(Content::Full(stamp), None).fill(&mut special, 9);
    assert_eq!(plain, special);
    let mut plain = [0; 200];
    let mut special = [0; 200];
    full.fill(&mut plain, 9);
    Special::new(Content::Full(full), None).fill(&mut special, 9);
    assert_eq!(plain, special);
}

#[test]
fn a_message_of_a_file_is_accepted_as_itself_and_any_changed_byte_is_noticed() {
    let text: Vec<u8> = (0..1000).map(|at| (at * 7 % 256) as u8).collect();
    for len in [8, 9, 64, 200, 3000] {
        let cut = PayloadSource::of(&text).cut(len, len);
        let work = Special::new(Content::Cut(Stamp::new(77), &cut), None);
        round_trip(work, len);
    }
    for len in [1, 3, 4, 7, 8, 200] {
        let cut = PayloadSource::of(&text).cut(len, len);
        let work = Special::new(Content::Cut(Stamp::new(77), &cut), None);
        let mut message = vec![0; len];
        work.fill(&mut message, 5);
        let behind = Stamp::bytes_of(len);
        let begin = 5 * len % 1000;
        assert_eq!(message[behind..], text[begin + behind..begin + len], "{len}");
        assert_eq!(work.check(&message, 5), Ok(()), "{len}");
        for at in 0..len {
            message[at] ^= 0x20;
            assert_eq!(work.check(&message, 5), Err(Fault::Corrupt), "{len} {at}");
            assert!(len < 8 || work.sequence(&message, 5) != Some(5), "{len} {at}");
            message[at] ^= 0x20;
        }
    }
    let short = PayloadSource::of(&text).cut(5, 5);
    // A late credit of the verifying pass, which is as long as the messages are.
    let mut late = [0; 5];
    Full::new(77, usize::MAX).fill(&mut late, 2);
    assert_eq!(
        Special::new(Content::Cut(Stamp::new(77), &short), None).sequence(&late, 9),
        Some(2)
    );
    // A credit is a stamp; an answer may be longer than its question.
    let cut = PayloadSource::of(&text).cut(64, 300);
    let back = Special::new(Content::Cut(Stamp::new(77), &cut), None).reversed();
    let (mut credit, mut answer) = ([0; 8], [0; 300]);
    back.fill(&mut credit, 3);
    assert_eq!(back.sequence(&credit, 0), Some(3));
    back.fill(&mut answer, 3);
    assert_eq!((back.check(&answer, 3), &answer[8..]), (Ok(()), &text[200..492]));
}

#[test]
fn a_changed_message_is_proved_by_its_stamp_and_its_record() {
    let transcoder = Box::new(Transcoder::new(Transform::Gzip, 4096, Touch::Full, None));
    let slot = transcoder.slot();
    let place = Cell::new(Some(transcoder));
    let work = Special::new(Content::Changed(Stamp::new(77), SharedTranscoder::new(&place)), None);
    round_trip(work, slot);
    // The stamp of one message before the record of another: a slot that was reused too early.
    let (mut here, mut other) = (vec![0; slot], vec![0; slot]);
    work.fill(&mut here, 5);
    work.fill(&mut other, 6);
    here[8..].copy_from_slice(&other[8..]);
    assert_eq!(work.check(&here, 5), Err(Fault::Corrupt));
    assert_eq!(work.sequence(&here, 5), None);
    // A credit is a stamp.
    let mut credit = [0; 8];
    work.reversed().fill(&mut credit, 3);
    assert_eq!(work.reversed().sequence(&credit, 0), Some(3));
}

#[test]
fn departure_and_arrival_are_noted_on_the_way_there_only() {
    let places = || (0..8).map(|_| AtomicU32::new(0)).collect::<Vec<_>>();
    let (left, arrived) = (places(), places());
    let times = Times::new(Clock::monotonic(), &left, &arrived);
    let work = Special::new(Content::Full(Full::new(1, 8)), Some(times));
    let mut message = [0; 8];
    for seq in 16..24 {
        work.fill(&mut message, seq);
        work.check(&message, seq).expect("its own");
        let back = work.reversed();
        back.fill(&mut message, seq + 1);
        back.check(&message, seq + 1).expect("its own");
    }
    for seq in 16..24 {
        let [left, arrived] = [&left, &arrived]
            .map(|places| place_of(places, seq).expect("a place").load(Ordering::Relaxed));
        assert!(left != 0 && arrived.wrapping_sub(left) < 1 << 31, "{seq}: {left} {arrived}");
    }
    let before: Vec<u32> = arrived.iter().map(|place| place.load(Ordering::Relaxed)).collect();
    work.fill(&mut message, 30);
    assert_eq!(work.check(&message, 31), Err(Fault::Corrupt));
    let after: Vec<u32> = arrived.iter().map(|place| place.load(Ordering::Relaxed)).collect();
    assert_eq!(before, after, "what is not accepted has not arrived");
}

#[test]
fn a_copied_message_is_moved_whole_between_private_and_shared_memory_and_otherwise_not_at_all() {
    let stamp = Stamp::new(77);
    let plain = |seq| {
        let mut message = [0; 8];
        stamp.fill(&mut message, seq);
        message
    };
    for (lends, [sends, receives]) in [
        ([Lends::Shared; 2], [true, true]),
        ([Lends::Shared, Lends::Buffer], [true, false]),
        ([Lends::Place, Lends::Shared], [false, true]),
        ([Lends::Buffer, Lends::Place], [false, false]),
    ] {
        let mut own: Vec<u8> = (0..300).map(|at| at as u8).collect();
        let memory = Cell::new(own.as_mut_slice());
        let private = Private::new(&memory, lends);
        assert_eq!(private.copies(), sends || receives);
        let work = Special::new(Content::Copied(stamp, private), None);
        round_trip(work, 200);
        let (mut out, arrived) = ([0xAA; 200], {
            let mut message = [0x55; 200];
            stamp.fill(&mut message, 6);
            message
        });
        work.fill(&mut out, 5);
        assert_eq!(out[..8], plain(5));
        assert_eq!(work.check(&arrived, 6), Ok(()));
        let own = memory.take();
        let untouched = own[8..300].iter().zip(8..).all(|(byte, at)| *byte == at as u8);
        if sends && !receives {
            assert!(out[8..] == own[8..200] && own[..8] == plain(5) && untouched, "{lends:?}");
        } else {
            assert_eq!(receives, own[..200] == arrived, "{lends:?}");
            assert!(sends || out[8..] == [0xAA; 192], "{lends:?}");
            assert!(receives || untouched, "{lends:?}");
        }
        memory.set(own);
        // What is longer than the memory cannot have been of this slice.
        let (mut long, other) = ([0xAA; 301], arrived.map(|byte| !byte));
        work.fill(&mut long, 5);
        assert_eq!(long == [0xAA; 301], sends, "{lends:?}");
        stamp.fill(&mut long, 5);
        assert_eq!(work.check(&long, 5).is_err(), receives, "{lends:?}");
        assert_eq!(work.check(&other, 6), Err(Fault::Corrupt), "{lends:?}");
    }
}

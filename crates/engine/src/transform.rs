//! Transforms: each message is compressed, or gets a check sum, before it is sent, and this is undone when it has
//! arrived.
//!
//! A message that is changed has another length on the wire than in the program, and a port must be told the length by
//! both ends beforehand. So every message has a *slot*: the proof's stamp, the length of what follows, and the changed
//! record, in as many bytes as the longest of them needs. The records are cut from a file, or made from nothing but their
//! size, half of their bytes random: real data lie between that and text. So both ends have the same, and what a
//! transform makes of them is known before the first message moves.

mod codec;

use crate::source::{self, Cut};
use codec::Codec;
use ipcperf_core::{Touch, Transform};
use ipcperf_stats::Rng;
use ipcperf_sys::clock::Clock;
use std::rc::Rc;
use std::time::{Duration, Instant};

/// The largest message that may be changed.
pub(crate) const LARGEST: usize = source::MOST;

/// Bytes of the stamp.
const STAMP: usize = 8;

/// Bytes before the changed record: stamp and length.
pub(crate) const HEADER: usize = STAMP + 4;

/// Most different records, and most bytes of all of them: one record again and again would be easier for the
/// predictors of a CPU than any program's data.
const RECORDS: usize = 16;
const ALL: usize = 1 << 20;

/// How long the cost of a transform is measured, beyond the first pass over all records.
const MEASURING: Duration = Duration::from_millis(20);

/// Everything one end needs to change messages and to change them back.
#[derive(Debug)]
pub(crate) struct Transcoder {
    codec: Codec,
    records: Vec<Rc<[u8]>>,
    /// Where a record arrives.
    arrived: Vec<u8>,
    /// Bytes of a message on the wire.
    slot: usize,
    ratio: f64,
    /// One word in so many is compared, of so many bytes.
    step: usize,
    extent: usize,
}

impl Transcoder {
    /// A transcoder for records of `size` bytes, cut from a file or made from their size.
    pub(crate) fn new(transform: Transform, size: usize, touch: Touch, cut: Option<&Cut>) -> Self {
        let records = match cut {
            Some(cut) => (0..cut.turn()).map(|seq| cut.message(seq, size).into()).collect(),
            None => records(size, (ALL / size.max(1)).clamp(1, RECORDS)),
        };
        let count = records.len();
        let (step, extent) = match touch {
            Touch::None | Touch::Copy => (1, 0),
            Touch::Header => (1, 64),
            Touch::CacheLine => (8, usize::MAX),
            Touch::Full => (1, usize::MAX),
        };
        let mut transcoder = Self {
            codec: Codec::new(transform, size),
            records,
            arrived: vec![0; size],
            slot: 0,
            ratio: 1.0,
            step,
            extent,
        };
        let mut changed = vec![0; transcoder.codec.longest(size)];
        let lengths: Vec<usize> = (0..count as u64)
            .map(|seq| transcoder.change(seq, &mut changed).unwrap_or(0))
            .collect();
        transcoder.slot = HEADER + lengths.iter().max().copied().unwrap_or(0);
        transcoder.ratio = (size * count) as f64 / lengths.iter().sum::<usize>().max(1) as f64;
        transcoder
    }

    /// Bytes of a message on the wire.
    pub(crate) fn slot(&self) -> usize {
        self.slot
    }

    /// Bytes of a record, over those it is changed into.
    pub(crate) fn ratio(&self) -> f64 {
        self.ratio
    }

    fn record(&self, seq: u64) -> Option<&Rc<[u8]>> {
        self.records.get(usize::try_from(seq % self.records.len().max(1) as u64).ok()?)
    }

    /// Writes the changed record of message `seq` and returns its length; `None` if it does not fit.
    fn change(&mut self, seq: u64, out: &mut [u8]) -> Option<usize> {
        let record = Rc::clone(self.record(seq)?);
        self.codec.change(&record, out)
    }

    /// Writes length and changed record of message `seq` behind the stamp.
    pub(crate) fn fill(&mut self, out: &mut [u8], seq: u64) {
        let Some((head, body)) = out.split_at_mut_checked(HEADER) else { return };
        // No record has length 0, so that a failure here is one at the receiver.
        let length = self.change(seq, body).and_then(|length| u32::try_from(length).ok());
        if let Some(place) = head.last_chunk_mut::<4>() {
            *place = length.unwrap_or(0).to_le_bytes();
        }
    }

    /// Changes message `seq` back and compares it, as far as the touch policy asks for.
    pub(crate) fn is_right(&mut self, message: &[u8], seq: u64) -> bool {
        let Some((head, body)) = message.split_at_checked(HEADER) else { return false };
        let length = head.last_chunk::<4>().map_or(0, |length| u32::from_le_bytes(*length));
        let body = usize::try_from(length).ok().and_then(|length| body.get(..length));
        let Some(body) = body.filter(|body| !body.is_empty()) else { return false };
        if !self.codec.change_back(body, &mut self.arrived) {
            return false;
        }
        let Some(record) = self.record(seq) else { return false };
        let seen = self.extent.min(record.len());
        let (Some(here), Some(there)) = (self.arrived.get(..seen), record.get(..seen)) else {
            return false;
        };
        if self.step == 1 {
            return here == there;
        }
        let words = here.chunks(8).zip(there.chunks(8)).step_by(self.step);
        words.fold(true, |same, (a, b)| same & (a == b))
    }

    /// What changing and changing back cost by themselves: medians of single calls, ticks.
    pub(crate) fn cost(&mut self, clock: Clock) -> [f64; 2] {
        let mut slot = vec![0; self.slot];
        let (mut there, mut back) = (Vec::new(), Vec::new());
        let begin = Instant::now();
        let pass = self.records.len() as u64;
        let mut seq = 0;
        // The first pass is on cold caches and does not count.
        while seq < 2 * pass || begin.elapsed() < MEASURING {
            let start = clock.start();
            self.fill(&mut slot, seq);
            let middle = clock.stop();
            std::hint::black_box(self.is_right(&slot, seq));
            let end = clock.stop();
            if seq >= pass {
                there.push(middle.saturating_sub(start));
                back.push(end.saturating_sub(middle));
            }
            seq += 1;
        }
        [there, back].map(|mut ticks| {
            let middle = ticks.len() / 2;
            *ticks.select_nth_unstable(middle).1 as f64
        })
    }
}

/// Words of a closed vocabulary between as many random bytes.
fn records(size: usize, count: usize) -> Vec<Rc<[u8]>> {
    const WORDS: [&[u8; 16]; 8] = [
        b"\"level\": \"info\",",
        b"\"level\": \"warn\",",
        b"\"path\": \"/index\"",
        b"\"path\": \"/login\"",
        b"\"method\": \"GET\",",
        b"\"method\": \"PUT\",",
        b"\"status\": \"200\",",
        b"\"status\": \"404\",",
    ];
    let mut random = Rng::stream(size as u64, "records");
    (0..count)
        .map(|_| {
            let mut record = Vec::with_capacity(size + 32);
            while record.len() < size {
                record.extend_from_slice(&random.next_u64().to_le_bytes());
                record.extend_from_slice(&random.next_u64().to_le_bytes());
                let word = usize::try_from(random.below(WORDS.len() as u64)).unwrap_or(0);
                record.extend_from_slice(WORDS.get(word).copied().unwrap_or(WORDS[0]));
            }
            record.truncate(size);
            record.into()
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::PayloadSource;

    const ALL_OF_THEM: [Transform; 4] =
        [Transform::Gzip, Transform::Lz4, Transform::Zstd, Transform::Crc32];

    #[test]
    fn what_is_changed_comes_back_and_nothing_else_does() {
        for transform in ALL_OF_THEM {
            for size in [1, 3, 64, 1000, 4096, 140_000] {
                let mut lead = Transcoder::new(transform, size, Touch::Full, None);
                let mut follow = Transcoder::new(transform, size, Touch::Full, None);
                assert_eq!(lead.slot(), follow.slot(), "{transform} {size}");
                let mut slot = vec![0xAA; lead.slot()];
                let mut refused = 0_u64;
                let messages = if size > 4096 { 4 } else { 40 };
                for seq in 0..messages {
                    lead.fill(&mut slot, seq);
                    assert!(follow.is_right(&slot, seq), "{transform} {size} {seq}");
                    if size >= 64 && lead.records.len() > 1 {
                        assert!(!follow.is_right(&slot, seq + 1), "{transform} {size} {seq}");
                    }
                    if size >= 64 {
                        let at = HEADER + (seq as usize * 37) % (slot.len() - HEADER);
                        slot[at] ^= 0x10;
                        refused += u64::from(!follow.is_right(&slot, seq));
                    }
                }
                // A bit behind the end of a shorter record, or one that means the same, changes nothing.
                assert!(size < 64 || refused * 3 > messages * 2, "{transform} {size}: {refused}");
                slot[STAMP..HEADER].fill(0);
                assert!(!follow.is_right(&slot, 1) && !follow.is_right(&[], 1));
                slot[STAMP..HEADER].fill(0xFF);
                assert!(!follow.is_right(&slot, 1));
            }
        }
    }

    #[test]
    fn records_are_those_of_a_file_and_its_content_decides_what_becomes_of_them() {
        let text = b"the quick brown fox jumps over the lazy dog; ".repeat(40);
        let mut random = Rng::stream(7, "a file");
        let noise: Vec<u8> = (0..2000).flat_map(|_| random.next_u64().to_le_bytes()).collect();
        for transform in ALL_OF_THEM {
            let ratio = |bytes: &[u8]| {
                let cut = PayloadSource::of(bytes).cut(1000, 1000);
                let mut lead = Transcoder::new(transform, 1000, Touch::Full, Some(&cut));
                let mut follow = Transcoder::new(transform, 1000, Touch::Full, Some(&cut));
                assert_eq!(lead.records.len(), bytes.len().div_ceil(1000));
                let mut slot = vec![0; lead.slot()];
                for seq in 0..40 {
                    lead.fill(&mut slot, seq);
                    assert!(follow.is_right(&slot, seq), "{transform} {seq}");
                    assert!(!follow.is_right(&slot, seq + 1), "{transform} {seq}");
                    assert_eq!(*follow.arrived, *cut.message(seq, 1000), "{transform} {seq}");
                }
                lead.ratio()
            };
            let [of_text, of_noise] = [ratio(&text), ratio(&noise)];
            let is_compressed = transform != Transform::Crc32;
            assert_eq!(of_text > 5.0, is_compressed, "{transform}: {of_text}");
            assert!(of_noise < 1.0, "{transform}: {of_noise}");
        }
    }

    #[test]
    fn half_of_a_record_can_be_compressed() {
        for (transform, least, most) in [
            (Transform::Gzip, 1.6, 2.1),
            (Transform::Lz4, 1.4, 2.1),
            (Transform::Zstd, 1.4, 2.1),
            (Transform::Crc32, 0.99, 1.0),
        ] {
            let ratio = Transcoder::new(transform, 16 << 10, Touch::CacheLine, None).ratio();
            assert!((least..=most).contains(&ratio), "{transform}: {ratio}");
        }
    }

    #[test]
    fn the_touch_policy_says_how_much_is_compared() {
        let mut lead = Transcoder::new(Transform::Crc32, 4096, Touch::Full, None);
        let mut slot = vec![0; lead.slot()];
        lead.fill(&mut slot, 5);
        for (touch, first) in [(Touch::None, 0), (Touch::Header, 64)] {
            let mut transcoder = Transcoder::new(Transform::Crc32, 4096, touch, None);
            let other: Vec<u8> = lead.records[4].iter().copied().take(first).collect();
            assert_eq!(transcoder.is_right(&slot, 4), other.is_empty(), "{touch}");
        }
        let mut lines = Transcoder::new(Transform::Crc32, 4096, Touch::CacheLine, None);
        assert!(lines.is_right(&slot, 5) && !lines.is_right(&slot, 4));
    }

    #[test]
    fn the_cost_alone_is_measured() {
        for transform in ALL_OF_THEM {
            let cost =
                Transcoder::new(transform, 4096, Touch::CacheLine, None).cost(Clock::monotonic());
            assert!(cost.iter().all(|ticks| *ticks > 0.0), "{transform}: {cost:?}");
        }
    }
}

//! The bytes of messages: every byte depends on the channel, the direction, the message and its place in it, so that a
//! lost, doubled, swapped, stale or damaged message cannot look like the expected one.
//!
//! Nothing here is shared with the stamps of the engine: a mistake there must not hide from the suite.

use ipcperf_core::Seat;

/// 2^64 divided by the golden ratio, made odd: multiples spread over all bits (Knuth, TAOCP 3, 6.4).
const SPREAD: u64 = 0x9e37_79b9_7f4a_7c15;

/// Mixes all bits of a word: the finalizer of SplitMix64 (Steele, Lea, Flood 2014).
pub(crate) const fn mix(word: u64) -> u64 {
    let word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    word ^ (word >> 31)
}

/// What a sequence number counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stuff {
    /// Messages.
    Message,
    /// Credits: the receiver's word that so many have arrived.
    Credit,
    /// The one endless run of bytes of a direction.
    Bytes,
}

/// The bytes of one message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Pattern(u64);

impl Pattern {
    /// Number `seq` of what `from` sends over the channel with this nonce.
    pub(crate) const fn new(nonce: u64, from: Seat, stuff: Stuff, seq: u64) -> Self {
        let lane = from.index() as u64 * 4 + stuff as u64 + 1;
        Self(mix(mix(nonce ^ lane.wrapping_mul(SPREAD)).wrapping_add(seq.wrapping_mul(SPREAD))))
    }

    /// Eight bytes. The first is neither 0 nor 0xff, so that a wake-up word of any length is neither 0 nor all ones,
    /// which an event counter cannot carry.
    fn word(self, index: u64) -> [u8; 8] {
        let mut word = mix(self.0.wrapping_add(index.wrapping_mul(SPREAD))).to_le_bytes();
        word[0] = word[0] & 0x3f | 0x40;
        word
    }

    /// Writes the bytes from position `at` on.
    pub(crate) fn write(self, out: &mut [u8], at: u64) {
        let skipped = (at % 8) as usize;
        let mut index = at / 8;
        let head = if skipped == 0 { 0 } else { out.len().min(8 - skipped) };
        let (head, rest) = out.split_at_mut(head);
        if !head.is_empty() {
            head.copy_from_slice(&self.word(index)[skipped..skipped + head.len()]);
            index += 1;
        }
        let (words, tail) = rest.as_chunks_mut();
        for word in words {
            *word = self.word(index);
            index += 1;
        }
        tail.copy_from_slice(&self.word(index)[..tail.len()]);
    }

    /// Where `got`, which stands at position `at`, first differs; `None` if it does not.
    pub(crate) fn difference(self, got: &[u8], at: u64) -> Option<usize> {
        let skipped = (at % 8) as usize;
        let mut index = at / 8;
        let (head, rest) = got.split_at(if skipped == 0 { 0 } else { got.len().min(8 - skipped) });
        if !head.is_empty() {
            let wanted = self.word(index);
            if head != &wanted[skipped..skipped + head.len()] {
                return head.iter().zip(&wanted[skipped..]).position(|(got, wanted)| got != wanted);
            }
            index += 1;
        }
        let (words, tail) = rest.as_chunks();
        let wrong = |got: &[u8], index| {
            let wanted = self.word(index);
            got.iter().zip(&wanted).position(|(got, wanted)| got != wanted)
        };
        let mut place = head.len();
        for word in words {
            if *word != self.word(index) {
                return wrong(word, index).map(|inside| place + inside);
            }
            place += word.len();
            index += 1;
        }
        wrong(tail, index).map(|inside| place + inside)
    }
}

/// How far around the expected number a foreign message is looked for.
const NEAR: u64 = 1024;

/// Says what arrived instead of message `seq` of `from`.
pub(crate) fn explain(got: &[u8], nonce: u64, from: Seat, seq: u64, wrong: usize) -> String {
    let is = |from, stuff, seq| Pattern::new(nonce, from, stuff, seq).difference(got, 0).is_none();
    if got.len() >= 4 {
        for other in seq.saturating_sub(NEAR)..seq + NEAR {
            if is(from, Stuff::Message, other) {
                return format!("message {other} arrived in place of message {seq}");
            }
            if is(from.other(), Stuff::Message, other) {
                return format!("in place of message {seq} this end got its own message {other}");
            }
        }
    }
    format!("message {seq} of {} bytes is wrong from byte {wrong} on", got.len())
}

/// A fingerprint of everything that passed, in its order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Rolling(pub(crate) u64);

impl Rolling {
    fn fold(&mut self, word: u64) {
        // The multiplier of 64-bit FNV-1a; the rotation lets high bits act on low ones.
        self.0 = (self.0 ^ word).wrapping_mul(0x0100_0000_01b3).rotate_left(29);
    }

    /// Adds a message: its boundaries count.
    pub(crate) fn message(&mut self, bytes: &[u8]) {
        self.fold(bytes.len() as u64);
        let (words, tail) = bytes.as_chunks();
        for word in words {
            self.fold(u64::from_le_bytes(*word));
        }
        if !tail.is_empty() {
            let mut word = [0; 8];
            word[..tail.len()].copy_from_slice(tail);
            self.fold(u64::from_le_bytes(word));
        }
    }

    /// Adds bytes without boundaries: only their order counts.
    pub(crate) fn bytes(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.fold(u64::from(*byte));
        }
    }
}

/// Random numbers that a seed repeats: SplitMix64.
#[derive(Clone, Debug)]
pub(crate) struct Random(u64);

impl Random {
    pub(crate) const fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(SPREAD);
        mix(self.0)
    }

    /// A number from `low` to `high`, both possible.
    pub(crate) fn between(&mut self, low: u64, high: u64) -> u64 {
        // The bias of a remainder is below 2^-32 for the ranges used here.
        low + self.next() % (high.saturating_sub(low) + 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_written_anywhere_make_the_same_bytes() {
        let pattern = Pattern::new(7, Seat::Lead, Stuff::Bytes, 0);
        let mut whole = [0; 100];
        pattern.write(&mut whole, 0);
        let mut random = Random::new(1);
        let mut pieces = Vec::new();
        while pieces.len() < whole.len() {
            let len = random.between(1, 13).min((whole.len() - pieces.len()) as u64);
            let mut piece = vec![0; len as usize];
            pattern.write(&mut piece, pieces.len() as u64);
            assert_eq!(pattern.difference(&piece, pieces.len() as u64), None);
            pieces.extend(piece);
        }
        assert_eq!(pieces, whole);
        whole[41] ^= 1;
        assert_eq!(pattern.difference(&whole, 0), Some(41));
        assert_eq!(pattern.difference(&whole[3..], 3), Some(38));
    }

    #[test]
    fn no_wake_up_word_is_zero_or_all_ones() {
        for seq in 0..10_000 {
            let mut word = [0; 8];
            Pattern::new(3, Seat::Follow, Stuff::Message, seq).write(&mut word, 0);
            assert!(!matches!(u64::from_ne_bytes(word), 0 | u64::MAX));
            let half = u32::from_ne_bytes([word[0], word[1], word[2], word[3]]);
            assert!(!matches!(half, 0 | u32::MAX));
        }
    }

    #[test]
    fn a_foreign_message_is_named() {
        let mut message = [0; 16];
        Pattern::new(9, Seat::Lead, Stuff::Message, 12).write(&mut message, 0);
        let text = explain(&message, 9, Seat::Lead, 10, 0);
        assert!(text.contains("message 12 arrived in place of message 10"), "{text}");
        let text = explain(&message, 9, Seat::Follow, 12, 0);
        assert!(text.contains("its own message 12"), "{text}");
        let text = explain(&message, 8, Seat::Lead, 12, 3);
        assert!(text.contains("wrong from byte 3"), "{text}");
    }

    #[test]
    fn the_fingerprint_sees_boundaries_of_messages_but_not_of_bytes() {
        let fold = |parts: &[&[u8]], fold: fn(&mut Rolling, &[u8])| {
            let mut rolling = Rolling::default();
            for part in parts {
                fold(&mut rolling, part);
            }
            rolling
        };
        let (one, two): (&[&[u8]], &[&[u8]]) = (&[b"abc", b"d"], &[b"ab", b"cd"]);
        assert_ne!(fold(one, Rolling::message), fold(two, Rolling::message));
        assert_eq!(fold(one, Rolling::bytes), fold(two, Rolling::bytes));
    }
}

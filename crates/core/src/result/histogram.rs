//! The histogram of a round, with its buckets as a short text.

use serde::de::{Error, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use std::fmt;

/// A log-linear histogram in picoseconds (a whole nanosecond is 0.2 % of a fast round trip): 1024 buckets per octave,
/// relative width at most 0.098 %.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct HistogramData {
    /// Exact smallest, ps.
    pub min: u64,
    /// Exact largest, ps.
    pub max: u64,
    /// Sum of all, ps.
    pub sum: u64,
    /// Non-empty buckets as a text; docs/RESULTS.md has a function that reads it.
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub buckets: Buckets,
}

/// Buckets that are not empty, with their counts, in ascending order.
///
/// Bucket `i` holds `i` alone below 1024; above, it is the `i % 1024`-th of the 1024 equal parts of an octave. A bucket
/// is written as one letter for how many buckets after the one before it lies (1 to 8) and how many values it holds (1
/// to 8). Digits of base 13 before the letter add eights: one set of digits to the distance, another to the count. Two
/// of three buckets of a survey take one character, and all of them 1.2 on average, in place of 13 as numbers.
#[derive(Clone, Default, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct Buckets(String);

/// The character of 0. From here on all that ASCII can print, but for the backslash, which JSON would double.
const FIRST: u8 = b'#';
const STEP: u64 = 8;
const BASE: u64 = 13;
/// Letters, digits of the distance, digits of the count.
const LETTERS: u64 = STEP * STEP;

fn sign(value: u64) -> char {
    // At most LETTERS + 2 * BASE.
    let byte = FIRST + value as u8;
    char::from(if byte < b'\\' { byte } else { byte + 1 })
}

fn value(byte: u8) -> Option<u64> {
    let behind = u8::from(byte > b'\\');
    (byte != b'\\').then(|| byte.checked_sub(FIRST + behind).map(u64::from)).flatten()
}

fn index(low: u64) -> u64 {
    if low < 1024 {
        return low;
    }
    let octave = u64::from(low.ilog2()) - 9;
    octave * 1024 + (low >> (octave - 1)) - 1024
}

fn lower_edge(index: u64) -> Option<u64> {
    let (octave, part) = (index / 1024, index % 1024);
    match octave {
        0 => Some(part),
        1..=54 => Some((1024 + part) << (octave - 1)),
        _ => None,
    }
}

fn digits(mut number: u64, zero: u64, text: &mut String) {
    let mut written = Vec::new();
    while number > 0 {
        written.push(sign(zero + number % BASE));
        number /= BASE;
    }
    text.extend(written.iter().rev());
}

/// The next bucket of a text, behind the one before `next`.
fn bucket(text: &mut std::str::Bytes<'_>, next: &mut u64) -> Option<(u64, u64)> {
    // A letter alone, as most are.
    let first = value(text.next()?)?;
    if first < LETTERS {
        let index = next.saturating_add(first / STEP);
        *next = index.saturating_add(1);
        return Some((lower_edge(index)?, first % STEP + 1));
    }
    let (mut distance, mut more, mut sign) = (0_u64, 0_u64, first);
    let put = |to: &mut u64, digit: u64| {
        *to = to.checked_mul(BASE)?.checked_add(digit)?;
        Some(())
    };
    let letter = loop {
        match sign {
            letter if letter < LETTERS => break letter,
            digit if digit < LETTERS + BASE => put(&mut distance, digit - LETTERS)?,
            digit if digit < LETTERS + 2 * BASE => put(&mut more, digit - LETTERS - BASE)?,
            _ => return None,
        }
        sign = value(text.next()?)?;
    };
    let eights = |number: u64, rest: u64| number.checked_mul(STEP)?.checked_add(rest);
    let index = next.checked_add(eights(distance, letter / STEP)?)?;
    *next = index.checked_add(1)?;
    Some((lower_edge(index)?, eights(more, letter % STEP)?.checked_add(1)?))
}

impl Buckets {
    /// Of lower edges and counts, in ascending order; `None` where they are none of a histogram.
    pub fn new(buckets: impl IntoIterator<Item = (u64, u64)>) -> Option<Self> {
        let mut text = String::new();
        let mut next = 0;
        for (low, count) in buckets {
            let index = index(low);
            let (distance, more) = (index.checked_sub(next)?, count.checked_sub(1)?);
            if lower_edge(index) != Some(low) {
                return None;
            }
            digits(distance / STEP, LETTERS, &mut text);
            digits(more / STEP, LETTERS + BASE, &mut text);
            text.push(sign(distance % STEP * STEP + more % STEP));
            next = index + 1;
        }
        // A run keeps thousands of them.
        text.shrink_to_fit();
        Some(Self(text))
    }

    /// The largest value of the bucket with this lower edge.
    #[must_use]
    pub fn upper_edge(low: u64) -> u64 {
        lower_edge(index(low) + 1).map_or(u64::MAX, |next| next - 1)
    }

    /// Lower edges and counts, in ascending order; `None` where the text is none of buckets.
    #[must_use]
    pub fn read(&self) -> Option<Vec<(u64, u64)>> {
        // There are as many as characters at most, and nearly as many in fact.
        let mut buckets = Vec::with_capacity(self.0.len().min(4096));
        for bucket in self.iter() {
            buckets.push(bucket?);
        }
        Some(buckets)
    }

    /// The same one after the other. What comes after a `None` means nothing.
    pub fn iter(&self) -> impl Iterator<Item = Option<(u64, u64)>> + '_ {
        let (mut rest, mut next) = (self.0.bytes(), 0);
        std::iter::from_fn(move || (rest.len() > 0).then(|| bucket(&mut rest, &mut next)))
    }
}

impl fmt::Debug for Buckets {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.read().fmt(out)
    }
}

/// A text, or the pairs of numbers that documents of version 1 have.
impl<'de> Deserialize<'de> for Buckets {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Either;
        impl<'de> Visitor<'de> for Either {
            type Value = Buckets;

            fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
                out.write_str("the buckets of a histogram")
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<Buckets, E> {
                Ok(Buckets(text.to_owned()))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Buckets, A::Error> {
                let mut pairs: Vec<(u64, u64)> = Vec::new();
                while let Some(pair) = list.next_element()? {
                    pairs.push(pair);
                }
                Buckets::new(pairs).ok_or_else(|| A::Error::custom("no buckets of a histogram"))
            }
        }
        deserializer.deserialize_any(Either)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_bucket_next_to_the_one_before_it_takes_one_character() {
        let edge = |index| lower_edge(index).expect("a bucket");
        let dense: Vec<(u64, u64)> = (20_000..21_000).map(|at| (edge(at), 1 + at % 8)).collect();
        let buckets = Buckets::new(dense.clone()).expect("ascending");
        // 20,000 is 2,500 eights, four digits of base 13.
        assert_eq!(buckets.0.len(), 4 + 1000);
        assert_eq!(buckets.read(), Some(dense));
    }

    #[test]
    fn the_text_is_as_it_was_and_json_escapes_nothing_of_it() {
        let pairs = vec![(3, 1), (4, 9), (2048, 2), (60_000_000, 700), (u64::MAX / 1024 * 1024, 1)];
        let pairs: Vec<(u64, u64)> =
            pairs.into_iter().map(|(value, n)| (lower_edge(index(value)).unwrap(), n)).collect();
        let buckets = Buckets::new(pairs.clone()).expect("ascending");
        assert_eq!(buckets.read(), Some(pairs));
        assert_eq!(serde_json::to_string(&buckets).unwrap(), format!("\"{}\"", buckets.0));
    }

    #[test]
    fn what_is_no_text_of_buckets_is_none() {
        let long = ["p".repeat(40) + "#", "}".repeat(40) + "#", "p".repeat(16) + "#"];
        let texts = ["d", "#q", "\\", "\u{e9}", " ", "~", &long[0], &long[1], &long[2]];
        for text in texts {
            assert_eq!(Buckets(text.to_owned()).read(), None, "{text}");
        }
        for pairs in [&[(5, 1), (5, 1)][..], &[(5, 0)], &[(6, 1), (5, 1)], &[(2049, 1)]] {
            assert_eq!(Buckets::new(pairs.iter().copied()), None, "{pairs:?}");
        }
    }

    proptest! {
        #[test]
        fn what_is_written_is_read_back(
            values in prop::collection::btree_map(any::<u64>().prop_map(|v| v >> (v % 64)), 1_u64.., 0..200)
        ) {
            let mut pairs: Vec<(u64, u64)> = Vec::new();
            for (value, count) in values {
                let low = lower_edge(index(value)).expect("every value has a bucket");
                prop_assert!(low <= value && value - low <= low / 1024);
                if pairs.last().is_none_or(|last| last.0 < low) {
                    pairs.push((low, count));
                }
            }
            let buckets = Buckets::new(pairs.iter().copied()).expect("ascending");
            prop_assert_eq!(buckets.read(), Some(pairs));
        }
    }
}
